/* Makes tile programs: picks loops, wraps ops on narrow dtypes in conversions, gives registers. */
#include <string.h>

#include "cpu/emit/emit.h"
#include "cpu/kernel.h"
#include "cpu/tile/tile.h"

enum { WIDEST = 16 };

/* A slot before registers are given: a value of the program. */
typedef struct program_value {
  int32_t slot; /* of an input or an output; -1: a register */
  int32_t last; /* instruction that reads it */
  int32_t wide; /* the value that is this one in its computing dtype, or -1 */
} program_value;

typedef struct program {
  tt_arena scratch;
  const tt_cpu_tile_op *ops;
  uint32_t ops_count, ins, outs;
  program_value *values;            /* inputs, then one for each instruction */
  tt_cpu_instruction *instructions; /* with values for slots */
  uint32_t values_count, instructions_count, capacity;
  int32_t *results;        /* [ops_count]: values */
  tt_cpu_emit_op *emitted; /* as the instructions, for code */
  tt_dtype *dtypes;        /* of the inputs */
  int bytes;               /* of the widest element */
} program;

/* The dtypes of an op's operand that are computed with. */
static tt_dtype compute_dtype(const tt_hlo_op *op, uint32_t i) {
  return tt_cpu_compute_dtype(op->code, op->operands[i]->type.dtype);
}

/* The dtype that a loop is found by. */
static tt_dtype loop_dtype(const tt_hlo_op *op) {
  return compute_dtype(op, op->code == TT_HLO_SELECT || op->code == TT_HLO_CLAMP ? 1 : 0);
}

/* The dtype that the loop gives. */
static tt_dtype given_dtype(const tt_hlo_op *op) {
  return tt_cpu_compute_dtype(op->code, op->results[0].type.dtype);
}

static tt_error *unimplemented(const tt_hlo_op *op) {
  return tt_error_new(TT_UNIMPLEMENTED, "%s is not implemented for %s%s%s",
                      tt_hlo_ops[op->code].mnemonic,
                      tt_dtype_name(op->operands[op->operands_count > 1 ? 1 : 0]->type.dtype),
                      op->code == TT_HLO_CONVERT ? " to " : "",
                      op->code == TT_HLO_CONVERT ? tt_dtype_name(op->results[0].type.dtype) : "");
}

tt_error *tt_cpu_tile_check(const tt_hlo_op *op) {
  tt_cpu_loop loops[3];
  tt_dtype via[3];
  bool there;
  if (op->code == TT_HLO_CONVERT)
    there =
        tt_cpu_convert_path(op->operands[0]->type.dtype, op->results[0].type.dtype, loops, via) > 0;
  else
    there = tt_cpu_loop_find(op->code, loop_dtype(op)) != NULL;
  return there ? NULL : unimplemented(op);
}

static void note_bytes(program *p, tt_dtype dtype) {
  p->bytes = tt_dtype_bytes(dtype) > p->bytes ? tt_dtype_bytes(dtype) : p->bytes;
}

/* For code: what the instruction is, without its loop. */
static void note_op(program *p, int32_t at, const tt_hlo_op *op, tt_dtype from, tt_dtype gives) {
  tt_cpu_emit_op *to = &p->emitted[at];
  const tt_hlo_attr *direction =
      op == NULL ? NULL : tt_hlo_op_attr(op, TT_HLO_COMPARISON_DIRECTION);
  const tt_hlo_attr *type = op == NULL ? NULL : tt_hlo_op_attr(op, TT_HLO_COMPARE_TYPE);
  to->code = op == NULL ? TT_HLO_CONVERT : op->code;
  to->from = from;
  to->to = gives;
  to->direction = direction == NULL ? TT_HLO_EQ : (tt_hlo_direction)direction->i64;
  to->total = type != NULL && type->i64 == TT_HLO_COMPARE_TOTALORDER;
  memcpy(to->in, p->instructions[at].in, sizeof to->in);
}

static int32_t emit(program *p, tt_cpu_loop loop, const tt_hlo_op *op, const int32_t *in,
                    uint32_t ins, tt_dtype from, tt_dtype gives) {
  int32_t at = (int32_t)p->instructions_count++, made = (int32_t)p->values_count++;
  tt_cpu_instruction *to = &p->instructions[at];
  *to = (tt_cpu_instruction){.loop = loop, .op = op, .out = (uint16_t)made};
  for (uint32_t i = 0; i < 3; i++) {
    to->in[i] = (uint16_t)in[i < ins ? i : 0];
    p->values[to->in[i]].last = at;
  }
  p->values[made] = (program_value){-1, -1, -1};
  note_op(p, at, op, from, gives);
  note_bytes(p, gives);
  return made;
}

static int32_t emit_convert(program *p, int32_t from, tt_dtype from_dtype, tt_dtype to) {
  tt_cpu_loop loops[3];
  tt_dtype via[3];
  int count = tt_cpu_convert_path(from_dtype, to, loops, via);
  for (int i = 0; i < count; i++)
    from = emit(p, loops[i], NULL, &from, 1, i == 0 ? from_dtype : via[i - 1], via[i]);
  return from;
}

/* The value in the dtype that is computed with, converted once. */
static int32_t widen(program *p, int32_t value, tt_dtype dtype, tt_dtype to) {
  if (dtype == to)
    return value;
  if (p->values[value].wide < 0) {
    int32_t wide = emit_convert(p, value, dtype, to);
    p->values[value].wide = wide;
  }
  return p->values[value].wide;
}

static void add_op(program *p, uint32_t i) {
  const tt_cpu_tile_op *from = &p->ops[i];
  const tt_hlo_op *op = from->op;
  tt_dtype result = op->results[0].type.dtype;
  int32_t in[3] = {0};
  for (uint32_t k = 0; k < op->operands_count; k++) {
    in[k] = from->in[k].made >= 0 ? p->results[from->in[k].made] : -1 - from->in[k].made;
    if (from->in[k].made < 0)
      p->dtypes[in[k]] = op->operands[k]->type.dtype;
  }
  if (op->code == TT_HLO_CONVERT) {
    p->results[i] = emit_convert(p, in[0], op->operands[0]->type.dtype, result);
    return;
  }
  for (uint32_t k = 0; k < op->operands_count; k++)
    in[k] = widen(p, in[k], op->operands[k]->type.dtype, compute_dtype(op, k));
  tt_dtype given = given_dtype(op);
  int32_t made = emit(p, tt_cpu_loop_find(op->code, loop_dtype(op)), op, in, op->operands_count,
                      loop_dtype(op), given);
  p->results[i] = given == result ? made : emit_convert(p, made, given, result);
}

/* ---- registers ---- */

typedef struct registers {
  uint64_t free[4]; /* a bit each */
  uint32_t count;
} registers;

static uint32_t take_register(registers *r) {
  for (uint32_t i = 0; i < 4; i++)
    if (r->free[i] != 0) {
      uint32_t bit = (uint32_t)__builtin_ctzll(r->free[i]);
      r->free[i] &= r->free[i] - 1;
      return 64 * i + bit;
    }
  return r->count++;
}

static void give_register(registers *r, uint32_t i) { r->free[i / 64] |= UINT64_C(1) << (i % 64); }

/* Instructions are rewritten from values to slots. An operand's register is not given to the result
 * of the instruction that reads it last: elements may differ in size. */
static uint32_t give_registers(program *p) {
  registers r = {{0}, 0};
  uint32_t base = p->ins + p->outs;
  for (uint32_t i = 0; i < p->instructions_count; i++) {
    tt_cpu_instruction *at = &p->instructions[i];
    uint16_t in[3] = {at->in[0], at->in[1], at->in[2]};
    program_value *made = &p->values[at->out];
    if (made->slot < 0)
      made->slot = (int32_t)(base + take_register(&r));
    at->out = (uint16_t)made->slot;
    for (uint32_t k = 0; k < 3; k++) {
      at->in[k] = (uint16_t)p->values[in[k]].slot;
      bool again = (k > 0 && in[k] == in[0]) || (k > 1 && in[k] == in[1]);
      if (!again && p->values[in[k]].last == (int32_t)i && at->in[k] >= base)
        give_register(&r, at->in[k] - base);
    }
    if (made->last < 0 && at->out >= base)
      give_register(&r, at->out - base);
  }
  return r.count;
}

/* ---- the program ---- */

static tt_error *begin_program(program *p) {
  p->capacity = 8 * p->ops_count + 4;
  p->values = tt_arena_array(&p->scratch, p->ins + p->capacity, sizeof *p->values);
  p->instructions = tt_arena_array(&p->scratch, p->capacity, sizeof *p->instructions);
  p->results = tt_arena_array(&p->scratch, p->ops_count, sizeof *p->results);
  p->emitted = tt_arena_array(&p->scratch, p->capacity, sizeof *p->emitted);
  p->dtypes = tt_arena_array(&p->scratch, p->ins, sizeof *p->dtypes);
  if (p->values == NULL || p->instructions == NULL || p->results == NULL || p->emitted == NULL ||
      p->dtypes == NULL)
    return tt_error_no_memory(p->capacity * sizeof *p->values);
  for (uint32_t i = 0; i < p->ins; i++)
    p->values[i] = (program_value){(int32_t)i, -1, -1};
  p->values_count = p->ins;
  return NULL;
}

/* The instruction that makes the value of an output writes it there; a value that is an output and
 * an input, or two outputs, does not happen: they are results of different ops. */
static void aim_outputs(program *p, tt_cpu_tile_out *out) {
  for (uint32_t i = 0; i < p->ops_count; i++) {
    if (p->ops[i].out < 0)
      continue;
    int32_t value = p->results[i];
    p->values[value].slot = (int32_t)p->ins + p->ops[i].out;
    out[p->ops[i].out].first = value - (int32_t)p->ins;
  }
}

static double op_cost(const tt_hlo_op *op) {
  switch (op->code) {
    case TT_HLO_ADD:
    case TT_HLO_SUBTRACT:
    case TT_HLO_MULTIPLY:
    case TT_HLO_SELECT:
    case TT_HLO_COMPARE:
    case TT_HLO_CONVERT:
    case TT_HLO_MAXIMUM:
    case TT_HLO_MINIMUM:
    case TT_HLO_NEGATE:
    case TT_HLO_ABS:
      return 0.05;
    case TT_HLO_EXPONENTIAL:
    case TT_HLO_LOG:
    case TT_HLO_TANH:
    case TT_HLO_LOGISTIC:
    case TT_HLO_DIVIDE:
    case TT_HLO_SQRT:
    case TT_HLO_RSQRT:
      return 0.3;
    default:
      return op->code >= TT_HLO_CHLO_ACOS ? 5 : 1;
  }
}

static void finish_tile(const program *p, uint32_t registers_count, tt_cpu_tile *tile) {
  int64_t buffers = registers_count;
  int bytes = p->bytes;
  bool spread = false;
  for (uint32_t i = 0; i < p->ins; i++) {
    spread = spread || tile->in[i].period > 0;
    buffers += tile->in[i].period > 0;
    bytes = tile->in[i].bytes > bytes ? tile->in[i].bytes : bytes;
    tile->in[i].last = p->values[i].last;
  }
  bytes = bytes == 0 ? WIDEST : bytes;
  int64_t length = TT_CPU_TILE_SCRATCH / ((buffers == 0 ? 1 : buffers) * bytes) & ~INT64_C(15);
  tile->length = length > TT_CPU_TILE ? TT_CPU_TILE : length;
  tile->buffer = tile->length * bytes;
  tile->direct = p->instructions_count == 1 && !spread;
  for (uint32_t i = 0; i < p->ops_count; i++)
    tile->cost += op_cost(p->ops[i].op);
  tile->cost += 0.1 * (tile->ins + tile->outs);
}

/* One simple loop over memory gains nothing. */
static bool gains_nothing(const program *p, const tt_cpu_tile *tile) {
  return tile->instructions_count == 0 || (tile->direct && op_cost(p->ops[0].op) < 0.1);
}

static void add_code(program *p, tt_cpu_tile *tile, tt_cpu_code **codes, tt_cpu_tile_row *row) {
  int32_t *outs = tt_arena_array(&p->scratch, p->outs, sizeof *outs);
  uint32_t folds_count = row == NULL ? 0 : row->folds_count;
  int32_t *folds = tt_arena_array(&p->scratch, folds_count, sizeof *folds);
  if (codes == NULL || outs == NULL || folds == NULL)
    return;
  for (uint32_t i = 0; i < p->ops_count; i++)
    if (p->ops[i].out >= 0)
      outs[p->ops[i].out] = p->results[i];
  for (uint32_t i = 0; i < folds_count; i++) {
    int32_t made = row->folds[i].value.made;
    folds[i] = made >= 0 ? p->results[made] : -1 - made;
    if (made >= 0)
      continue;
    p->dtypes[-1 - made] = row->folds[i].dtype;
    tile->in[-1 - made].last = INT32_MAX; /* no output lies over it */
  }
  if (row != NULL &&
      tt_cpu_tile_add_row_code(tile, codes, &p->scratch, p->emitted, p->dtypes, outs, folds, row))
    return;
  if (!gains_nothing(p, tile))
    tt_cpu_tile_add_code(tile, codes, &p->scratch, p->emitted, p->dtypes, outs);
}

tt_error *tt_cpu_tile_make(tt_arena *arena, tt_cpu_code **codes, const tt_cpu_tile_op *ops,
                           uint32_t ops_count, int64_t count, tt_cpu_tile_in *in, uint32_t ins,
                           tt_cpu_tile_out *out, uint32_t outs, tt_cpu_tile_row *row,
                           tt_cpu_tile **out_tile) {
  tt_error *err = NULL;
  program p = {.ops = ops, .ops_count = ops_count, .ins = ins, .outs = outs};
  tt_cpu_tile *tile = tt_arena_alloc(arena, sizeof *tile);
  uint32_t registers_count = 0;
  *out_tile = tile;
  if (tile == NULL)
    return tt_error_no_memory(sizeof *tile);
  *tile = (tt_cpu_tile){.count = count, .ins = ins, .outs = outs, .in = in, .out = out};
  TT_TRY(begin_program(&p));
  for (uint32_t i = 0; i < ops_count; i++)
    add_op(&p, i);
  aim_outputs(&p, out);
  registers_count = give_registers(&p);
  tile->slots = ins + outs + registers_count;
  tile->instructions_count = p.instructions_count;
  tile->instructions =
      tt_arena_copy(arena, p.instructions, p.instructions_count * sizeof *p.instructions);
  if (tile->instructions == NULL) {
    err = tt_error_no_memory(p.instructions_count * sizeof *p.instructions);
  } else {
    finish_tile(&p, registers_count, tile);
    add_code(&p, tile, codes, row);
  }
out:
  tt_arena_reset(&p.scratch);
  return err;
}
