/* Compiles programs for a TPU that is not there:
 *
 *   tt_aot LIBTPU TOPOLOGY < list of files
 *
 * Prints a line a file: "ok SECONDS FILE" or "failed SECONDS FILE: message". Exits with 0 when it
 * has come to the end of the list, whatever failed on the way. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "pjrt/pjrt.h"

typedef struct compiler {
  tt_pj_plugin *plugin;
  tt_pj_topology *topology;
  tt_bytes options;
} compiler;

static tt_error *begin(const char *library, const char *name, compiler *c) {
  tt_pj_device_info info;
  tt_pj_compile_options options = {0};
  TT_RETURN_IF_ERROR(tt_pj_plugin_open(library, NULL, 0, TT_PJ_USE_TOPOLOGY, &c->plugin));
  TT_RETURN_IF_ERROR(tt_pj_topology_create(c->plugin, name, NULL, 0, &c->topology));
  TT_RETURN_IF_ERROR(tt_pj_topology_device(c->topology, 0, &info));
  options.device_ids = &info.id;
  return tt_pj_compile_options_encode(&options, &c->options);
}

static tt_error *compile(const compiler *c, const char *path) {
  tt_bytes text = {0};
  tt_pj_executable *executable = NULL;
  tt_error *err = tt_file_read(path, &text);
  if (err == NULL) {
    tt_pj_program program = {.format = "mlir",
                             .code = text.data,
                             .code_size = text.size,
                             .options = c->options.data,
                             .options_size = c->options.size};
    err = tt_pj_topology_compile(c->topology, &program, &executable);
  }
  tt_pj_executable_free(executable);
  tt_bytes_free(&text);
  return err;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(const char *path, double seconds, const tt_error *err) {
  printf("%s %.3f %s", err == NULL ? "ok" : "failed", seconds, path);
  if (err != NULL)
    printf(": ");
  for (const char *c = err != NULL ? tt_error_message(err) : ""; *c != '\0'; c++)
    putchar(*c == '\n' ? ' ' : *c);
  putchar('\n');
  fflush(stdout);
}

int main(int argc, char **argv) {
  char path[4096];
  compiler c = {0};
  tt_error *err;
  if (argc != 3) {
    fprintf(stderr, "usage: %s LIBTPU TOPOLOGY < list of files\n", argv[0]);
    return 2;
  }
  err = begin(argv[1], argv[2], &c);
  if (err != NULL) {
    fprintf(stderr, "%s\n", tt_error_message(err));
    return 1;
  }
  while (fgets(path, sizeof path, stdin) != NULL) {
    double start = now();
    path[strcspn(path, "\n")] = '\0';
    err = compile(&c, path);
    report(path, now() - start, err);
    tt_error_free(err);
  }
  tt_pj_topology_free(c.topology);
  tt_bytes_free(&c.options);
  tt_pj_plugin_free(c.plugin);
  return 0;
}
