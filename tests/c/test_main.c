#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "test_alloc.h"

typedef struct run_options {
  const char *filter; /* part of "module.name" */
  bool torture, list, verbose;
  long fail_at; /* run once with this allocation failing; 0: not */
} run_options;

static tt_test *first_test;
static const tt_test *current_test;
static bool current_failed, current_skipped, tortured;

void tt_test_register(tt_test *test) {
  tt_test **at = &first_test;
  while (*at != NULL)
    at = &(*at)->next;
  *at = test;
}

bool tt_test_tortured(void) { return tortured; }

static void fail(const char *file, int line, const char *fmt, ...) TT_PRINTF(3, 4);
static void fail(const char *file, int line, const char *fmt, ...) {
  current_failed = true;
  if (tortured)
    return;
  va_list args;
  va_start(args, fmt);
  printf("%s:%d: %s.%s: ", file, line, current_test->module, current_test->name);
  vprintf(fmt, args);
  putchar('\n');
  va_end(args);
}

bool tt_test_true(const char *file, int line, const char *text, bool ok) {
  if (!ok)
    fail(file, line, "not true: %s", text);
  return ok;
}

bool tt_test_int(const char *file, int line, const char *text, long long got, long long want) {
  if (got != want)
    fail(file, line, "%s is %lld (0x%llx), not %lld (0x%llx)", text, got, (unsigned long long)got,
         want, (unsigned long long)want);
  return got == want;
}

bool tt_test_double(const char *file, int line, const char *text, double got, double want,
                    double tolerance) {
  bool ok = (isnan(got) && isnan(want)) || got == want || fabs(got - want) <= tolerance;
  if (!ok)
    fail(file, line, "%s is %.17g, not %.17g within %g", text, got, want, tolerance);
  return ok;
}

bool tt_test_str(const char *file, int line, const char *text, const char *got, const char *want) {
  bool ok = got == NULL || want == NULL ? got == want : strcmp(got, want) == 0;
  if (!ok)
    fail(file, line, "%s is\n  \"%s\", not\n  \"%s\"", text, got == NULL ? "(NULL)" : got,
         want == NULL ? "(NULL)" : want);
  return ok;
}

bool tt_test_contains(const char *file, int line, const char *text, const char *got,
                      const char *part) {
  bool ok = got != NULL && strstr(got, part) != NULL;
  if (!ok)
    fail(file, line, "%s is\n  \"%s\", without\n  \"%s\"", text, got == NULL ? "(NULL)" : got,
         part);
  return ok;
}

bool tt_test_bytes(const char *file, int line, const char *text, const void *got, const void *want,
                   size_t size) {
  const unsigned char *a = got, *b = want;
  size_t i = 0;
  if (a == NULL || b == NULL) {
    fail(file, line, "%s: NULL", text);
    return false;
  }
  while (i < size && a[i] == b[i])
    i++;
  if (i < size)
    fail(file, line, "%s: byte %zu of %zu is 0x%02x, not 0x%02x", text, i, size, a[i], b[i]);
  return i == size;
}

bool tt_test_ok(const char *file, int line, const char *text, tt_error *err) {
  bool ok = err == NULL;
  if (!ok)
    fail(file, line, "%s: %s: %s", text, tt_code_name(tt_error_code(err)), tt_error_message(err));
  tt_error_free(err);
  return ok;
}

bool tt_test_err(const char *file, int line, const char *text, tt_error *err, tt_code code,
                 const char *part) {
  bool ok = tt_error_code(err) == code && strstr(tt_error_message(err), part) != NULL;
  if (!ok)
    fail(file, line, "%s: got %s \"%s\", not %s with \"%s\"", text,
         tt_code_name(tt_error_code(err)), tt_error_message(err), tt_code_name(code), part);
  tt_error_free(err);
  return ok;
}

void tt_test_skip(const char *reason) {
  if (!tortured && !current_skipped)
    printf("skipped %s.%s: %s\n", current_test->module, current_test->name, reason);
  current_skipped = true;
}

static void run_once(const tt_test *test) {
  current_test = test;
  current_failed = false;
  current_skipped = false;
  test->run();
}

/* In a child process. Each failing allocation up to the 256th, then ever wider steps, so that a
 * test of 100000 allocations takes some 1800 runs. */
static int torture_here(const tt_test *test, volatile long *at) {
  tortured = true;
  for (long n = 1;; n += 1 + n / 256) {
    *at = n;
    tt_test_fail_at(n);
    run_once(test);
    bool reached = tt_test_has_failed();
    tt_test_fail_at(0);
    if (!reached || current_skipped)
      break;
  }
  *at = 0;
  return tt_test_leaked() ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Sets current_failed when the child crashed or leaked. */
static void torture(const tt_test *test) {
  volatile long *at =
      mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    perror("mmap");
    exit(EXIT_FAILURE);
  }
  fflush(stdout);
  int status = 0;
  pid_t child = fork();
  if (child == 0)
    _exit(torture_here(test, at));
  if (child < 0 || waitpid(child, &status, 0) < 0) {
    perror("fork");
    exit(EXIT_FAILURE);
  }
  current_failed = status != 0;
  if (status != 0 && *at != 0)
    printf("%s.%s: crashed with allocation %ld failing; to see it: --fail-at=%ld %s.%s\n",
           test->module, test->name, *at, *at, test->module, test->name);
  else if (status != 0)
    printf("%s.%s: leaks when an allocation fails (report above)\n", test->module, test->name);
  munmap((void *)at, sizeof *at);
}

static bool matches(const tt_test *test, const char *filter) {
  char full[256];
  snprintf(full, sizeof full, "%s.%s", test->module, test->name);
  return filter == NULL || strstr(full, filter) != NULL;
}

static void run_as_asked(const tt_test *test, const run_options *options) {
  if (options->torture) {
    torture(test);
    return;
  }
  tortured = options->fail_at > 0;
  tt_test_fail_at(options->fail_at);
  run_once(test);
  tt_test_fail_at(0);
}

static int run_all(const run_options *options) {
  int passed = 0, failed = 0, skipped = 0;
  for (const tt_test *test = first_test; test != NULL; test = test->next) {
    if (!matches(test, options->filter) || (options->torture && !test->torture))
      continue;
    if (options->list || options->verbose)
      printf("%s.%s\n", test->module, test->name);
    if (options->list)
      continue;
    run_as_asked(test, options);
    failed += current_failed;
    skipped += !current_failed && current_skipped;
    passed += !current_failed && !current_skipped;
  }
  if (options->list)
    return EXIT_SUCCESS;
  printf("%d passed, %d failed", passed, failed);
  if (skipped > 0)
    printf(", %d skipped", skipped);
  printf("\n");
  return failed > 0 || (options->filter != NULL && passed + skipped == 0) ? EXIT_FAILURE
                                                                          : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  run_options options = {0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--torture") == 0) {
      options.torture = true;
    } else if (strcmp(argv[i], "--list") == 0) {
      options.list = true;
    } else if (strcmp(argv[i], "-v") == 0) {
      options.verbose = true;
    } else if (sscanf(argv[i], "--fail-at=%ld", &options.fail_at) == 1) {
      continue;
    } else if (argv[i][0] == '-') {
      fprintf(stderr, "usage: %s [-v] [--list] [--torture | --fail-at=N] [part of module.name]\n",
              argv[0]);
      return 2;
    } else {
      options.filter = argv[i];
    }
  }
  return run_all(&options);
}
