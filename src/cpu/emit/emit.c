#include "cpu/emit/emit.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/emit/memory.h"
#include "cpu/emit/micro.h"

#if defined(__x86_64__)
enum { HERE = 1 };
#else
enum { HERE = 0 };
#endif

static bool make_micros(const tt_cpu_emit_program *program, tt_cpu_isa isa, tt_arena *scratch,
                        tt_cpu_build *b, tt_cpu_allocation *a) {
  memset(b, 0, sizeof *b);
  b->program = program;
  b->arena = scratch;
  b->isa = isa;
  if (!HERE || isa == TT_CPU_ISA_BASE || program->outs == 0 || program->count <= 0)
    return false;
  tt_cpu_build_program(b);
  if (b->failed || b->count == 0)
    return false;
  tt_cpu_allocate(b, a);
  return !a->failed;
}

/* The function and what its caller must know. */
static tt_cpu_code *new_code(const tt_cpu_build *b, const tt_cpu_allocation *a, void *function,
                             uint32_t size) {
  const tt_cpu_emit_program *p = b->program;
  tt_cpu_code *code = malloc(sizeof *code + p->ins + p->outs);
  if (code == NULL)
    return NULL;
  *code = (tt_cpu_code){.size = size,
                        .ins = p->ins,
                        .outs = p->outs,
                        .lanes = (uint8_t)b->lanes,
                        .unroll = (uint8_t)a->unroll,
                        .whole = b->isa != TT_CPU_ISA_AVX512};
  memcpy(&code->function, &function, sizeof function);
  for (uint32_t i = 0; i < p->ins; i++)
    code->bytes[i] = p->in[i].scalar ? 0 : (uint8_t)tt_dtype_bytes(p->in[i].dtype);
  for (uint32_t i = 0; i < p->outs; i++) {
    code->bytes[p->ins + i] = (uint8_t)tt_dtype_bytes(p->out[i].dtype);
    code->folds = code->folds || p->out[i].fold != TT_CPU_FOLD_NONE;
  }
  return code;
}

tt_cpu_code *tt_cpu_emit(const tt_cpu_emit_program *program, tt_cpu_isa isa, tt_arena *scratch) {
  tt_cpu_build b;
  tt_cpu_allocation a;
  uint32_t size = 0;
  if (!make_micros(program, isa, scratch, &b, &a))
    return NULL;
  const uint8_t *bytes = tt_cpu_assemble(&b, &a, &size);
  void *function = bytes == NULL ? NULL : tt_cpu_code_memory_put(bytes, size);
  if (function == NULL)
    return NULL;
  tt_cpu_code *code = new_code(&b, &a, function, size);
  if (code == NULL)
    tt_cpu_code_memory_free(function, size);
  return code;
}

void tt_cpu_code_free(tt_cpu_code *code) {
  void *function;
  if (code == NULL)
    return;
  memcpy(&function, &code->function, sizeof function);
  tt_cpu_code_memory_free(function, code->size);
  free(code);
}

void tt_cpu_codes_free(tt_cpu_code *first) {
  while (first != NULL) {
    tt_cpu_code *next = first->next;
    tt_cpu_code_free(first);
    first = next;
  }
}

/* ---- counts that are no whole vectors ---- */

enum { PART = 64, POINTERS_MAX = 256 };

/* One vector, of which `count` elements are there. */
static void run_last(const tt_cpu_code *code, void *const *pointers, int64_t begin, int64_t count) {
  _Alignas(64) char parts[POINTERS_MAX][PART];
  void *local[POINTERS_MAX] = {NULL};
  uint32_t all = code->ins + code->outs;
  for (uint32_t i = 0; i < all; i++) {
    int64_t bytes = code->bytes[i];
    local[i] = bytes == 0 ? pointers[i] : parts[i];
    if (i < code->ins && bytes > 0) {
      memset(parts[i], 0, PART);
      memcpy(parts[i], (const char *)pointers[i] + begin * bytes, (size_t)(count * bytes));
    }
  }
  code->function(local, code->lanes);
  for (uint32_t i = code->ins; i < all; i++)
    memcpy((char *)pointers[i] + begin * code->bytes[i], parts[i],
           (size_t)(count * code->bytes[i]));
}

void tt_cpu_code_run(const tt_cpu_code *code, void *const *pointers, int64_t count) {
  int64_t rest = code->whole ? count % code->lanes : 0;
  if (count > rest || code->folds)
    code->function(pointers, count - rest);
  if (rest > 0)
    run_last(code, pointers, count - rest, rest);
}

/* ---- print ---- */

static void print_register(tt_bytes *out, uint8_t reg) {
  tt_bytes_printf(out, " %c%d", reg >= TT_CPU_SHARED ? 's' : 'r', reg % TT_CPU_SHARED);
}

static void print_op(const tt_cpu_machine_op *op, bool once, tt_bytes *out) {
  static const char *const places[] = {"", "constant", "slot", "shared slot"};
  tt_bytes_printf(out, "%s%s.%d", once ? "once " : "     ", tt_cpu_micros[op->code].name,
                  8 << op->lane);
  print_register(out, op->dst);
  tt_bytes_text(out, " =");
  for (int k = 0; k < 3; k++)
    print_register(out, op->in[k]);
  if (op->place == TT_CPU_PLACE_REGISTER)
    tt_bytes_printf(out, " @%d #%d\n", op->at, op->imm);
  else
    tt_bytes_printf(out, " [%s %d] #%d\n", places[op->place], op->at, op->imm);
}

static void print_bytes(const uint8_t *bytes, uint32_t size, tt_bytes *out) {
  for (uint32_t i = 0; i < size; i++)
    tt_bytes_printf(out, "%02x%c", bytes[i], i % 32 == 31 || i + 1 == size ? '\n' : ' ');
}

tt_error *tt_cpu_emit_print(const tt_cpu_emit_program *program, tt_cpu_isa isa,
                            tt_bytes *out_text) {
  tt_arena scratch = {0};
  tt_cpu_build b;
  tt_cpu_allocation a;
  uint32_t size = 0;
  if (!make_micros(program, isa, &scratch, &b, &a)) {
    tt_bytes_text(out_text, "no code\n");
  } else {
    const uint8_t *bytes = tt_cpu_assemble(&b, &a, &size);
    tt_bytes_printf(out_text, "lanes %u, unroll %u, registers %u each\n", b.lanes, a.unroll,
                    a.each);
    for (uint32_t i = 0; i < a.count; i++)
      print_op(&a.ops[i], i < a.once, out_text);
    if (bytes != NULL)
      print_bytes(bytes, size, out_text);
  }
  tt_arena_reset(&scratch);
  return tt_bytes_status(out_text);
}
