#include "cpu/dump.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu/compile.h"

enum { PATH_SIZE = 4096 };

tt_cpu_dump tt_cpu_dump_begin(void) {
  static _Atomic uint32_t programs;
  const char *folder = getenv("TT_CPU_DUMP");
  if (folder == NULL || folder[0] == '\0')
    return (tt_cpu_dump){NULL, 0, 0};
  return (tt_cpu_dump){folder, atomic_fetch_add(&programs, 1), 0};
}

static tt_error *write_file(const tt_cpu_dump *dump, const char *name, const char *mode,
                            const tt_bytes *text) {
  char path[PATH_SIZE];
  TT_RETURN_IF_ERROR(tt_bytes_status(text));
  int size = snprintf(path, sizeof path, "%s/%d-%04u-%s", dump->folder, (int)getpid(),
                      dump->program, name);
  if (size < 0 || (size_t)size >= sizeof path)
    return tt_error_new(TT_INVALID_ARGUMENT, "TT_CPU_DUMP: a path of %d bytes, at most %d", size,
                        PATH_SIZE - 1);
  FILE *file = fopen(path, mode);
  bool ok = file != NULL && fwrite(text->data, 1, text->size, file) == text->size;
  int why = errno;
  if (file != NULL && fclose(file) != 0 && ok) {
    why = errno;
    ok = false;
  }
  return ok ? NULL : tt_error_new(TT_INVALID_ARGUMENT, "TT_CPU_DUMP: %s: %s", path, strerror(why));
}

tt_error *tt_cpu_dump_module(tt_cpu_dump *dump, const char *pass, tt_hlo_module *module) {
  char name[64];
  tt_bytes text = {0};
  if (dump->folder == NULL)
    return NULL;
  snprintf(name, sizeof name, "%u-%s.mlir", dump->part++, pass);
  tt_error *err = tt_hlo_module_print(module, &text);
  if (err == NULL)
    err = write_file(dump, name, "w", &text);
  tt_bytes_free(&text);
  return err;
}

/* ---- steps ---- */

static void print_ref(tt_bytes *text, tt_cpu_ref ref) {
  if (ref.base == TT_CPU_BASE_ABSOLUTE)
    tt_bytes_text(text, "constant");
  else if (ref.base == TT_CPU_BASE_FRAME)
    tt_bytes_printf(text, "frame+%lld", (long long)ref.offset);
  else
    tt_bytes_printf(text, "b%u", ref.base);
}

static void print_refs(tt_bytes *text, const tt_cpu_maker *m, const tt_cpu_step *step,
                       uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) {
    tt_bytes_text(text, i == first ? " " : ", ");
    print_ref(text, step->refs[i]);
    tt_bytes_printf(text, " [%lld]", (long long)m->values[step->values[i]].bytes);
  }
}

/* The op, or those of a group; "spread" writes out a value whose elements come again. */
static void print_ops(tt_bytes *text, const tt_cpu_step *step) {
  const tt_cpu_group *group = step->attention != NULL ? step->attention->group : step->group;
  if (step->attention != NULL)
    tt_bytes_text(text, "attention: dot_general");
  else if (group != NULL)
    tt_bytes_text(text, step->rows != NULL ? "rows:" : "tile:");
  for (uint32_t i = 0; group != NULL && i < group->ops_count; i++)
    tt_bytes_printf(text, " %s", strchr(tt_hlo_ops[group->ops[i]->code].mnemonic, '.') + 1);
  if (step->attention != NULL)
    tt_bytes_text(text, " dot_general");
  if (group == NULL)
    tt_bytes_text(text, step->op == NULL ? "spread" : tt_hlo_ops[step->op->code].mnemonic);
  if (step->tile != NULL && step->tile->code != NULL)
    tt_bytes_text(text, " (code)");
  if (step->absorbed != NULL && step->absorbed->adds_row)
    tt_bytes_text(text, " (adds a row)");
  for (int i = 0; step->absorbed != NULL && i < 2; i++)
    if (step->absorbed->views[i].strides != NULL)
      tt_bytes_printf(text, " (operand %d is a view)", i);
}

static void print_block(tt_bytes *text, const tt_cpu_maker *m, const tt_cpu_block *block,
                        int depth) {
  tt_bytes_printf(text, "%*sarguments from b%u, results from b%u\n", 2 * depth, "", block->args,
                  block->results);
  for (const tt_cpu_step *step = block->first; step != NULL; step = step->next) {
    tt_bytes_printf(text, "%*s", 2 * depth, "");
    print_ops(text, step);
    print_refs(text, m, step, 0, step->ins);
    tt_bytes_text(text, " ->");
    print_refs(text, m, step, step->ins, step->outs + step->extras);
    tt_bytes_char(text, '\n');
    for (uint32_t i = 0; step->blocks != NULL && i < step->op->regions_count; i++)
      print_block(text, m, &step->blocks[i], depth + 1);
  }
}

tt_error *tt_cpu_dump_body(const tt_cpu_dump *dump, const tt_cpu_maker *m) {
  tt_bytes text = {0};
  if (dump->folder == NULL)
    return NULL;
  tt_bytes_printf(&text, "@%s: a frame of %lld bytes\n", m->body->func->name,
                  (long long)m->body->frame);
  print_block(&text, m, &m->body->block, 1);
  tt_error *err = write_file(dump, "steps.txt", "a", &text);
  tt_bytes_free(&text);
  return err;
}
