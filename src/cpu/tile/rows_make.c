/* Makes row programs. Ops are put in levels: what reads the result of a reduction along rows, even
 * through others, is one level above it. A level runs its ops on one element per row, then those on
 * all elements, then its reductions. */
#include <math.h>
#include <string.h>

#include "cpu/kernel.h"
#include "cpu/tile/rows.h"

enum { OPS_MAX = 64, PHASES_MAX = 2 * OPS_MAX, NEAR = 32 << 10 };

typedef struct maker {
  tt_arena *arena;
  tt_cpu_code **codes;
  tt_cpu_rows *rows;
  const tt_cpu_rows_op *ops;
  const tt_cpu_rows_in *in;
  uint32_t ops_count;
  uint32_t levels[OPS_MAX], phase_of[OPS_MAX];
  uint32_t phase_levels[PHASES_MAX]; /* [phase] */
  bool folds[OPS_MAX];               /* a reduction that a row's code may make */
  bool crosses[OPS_MAX];             /* read by another phase than its own */
  int32_t slots[OPS_MAX];
  int64_t full; /* bytes in a row that a block has in scratch or reads and writes */
} maker;

static bool is_reduce(const tt_cpu_rows_op *op) { return op->op->code == TT_HLO_REDUCE; }
static uint32_t operands_count(const tt_cpu_rows_op *op) {
  return is_reduce(op) ? 1 : op->op->operands_count;
}
static int result_bytes(const tt_cpu_rows_op *op) {
  return tt_dtype_bytes(op->op->results[0].type.dtype);
}

static uint32_t find_levels(maker *m) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < m->ops_count; i++) {
    m->levels[i] = 0;
    for (uint32_t k = 0; k < operands_count(&m->ops[i]); k++) {
      int32_t made = m->ops[i].in[k].made;
      uint32_t level = made < 0 ? 0 : m->levels[made] + is_reduce(&m->ops[made]);
      m->levels[i] = level > m->levels[i] ? level : m->levels[i];
    }
    most = m->levels[i] > most ? m->levels[i] : most;
  }
  return most;
}

/* ---- phases ---- */

/* 0: ops on one element per row, 1: on all elements, 2: reductions. */
static int stage_of(const tt_cpu_rows_op *op) {
  return is_reduce(op) ? 2 : op->gives == TT_CPU_ROWS_EACH ? 0 : 1;
}

/* What the reduction begins with, of f32 or f64. */
static double init_of(const tt_cpu_rows_op *op) {
  return tt_cpu_load(op->op->operands[0]->type.dtype, op->init, 0, NULL);
}

static tt_cpu_fold fold_of(const tt_cpu_rows_op *op) {
  tt_dtype dtype = op->op->operands[0]->type.dtype;
  if (!is_reduce(op) || op->gives != TT_CPU_ROWS_EACH || (dtype != TT_F32 && dtype != TT_F64))
    return TT_CPU_FOLD_NONE;
  switch (tt_cpu_region_binary(op->op->regions[0])) {
    case TT_HLO_ADD: /* code's sums begin with 0: from -0, the sum of -0 and -0 is -0 */
      return init_of(op) == 0 && signbit(init_of(op)) ? TT_CPU_FOLD_NONE : TT_CPU_FOLD_SUM;
    case TT_HLO_MAXIMUM:
      return TT_CPU_FOLD_MAX;
    case TT_HLO_MINIMUM:
      return TT_CPU_FOLD_MIN;
    default:
      return TT_CPU_FOLD_NONE;
  }
}

/* Stage 1 is there for reductions too that its code may make. */
static bool in_stage(const maker *m, uint32_t i, uint32_t level, int stage) {
  return m->levels[i] == level && (stage_of(&m->ops[i]) == stage || (stage == 1 && m->folds[i]));
}

static void number_stage(maker *m, uint32_t level, int stage) {
  tt_cpu_rows *r = m->rows;
  bool any = false;
  for (uint32_t i = 0; i < m->ops_count; i++) {
    if (!in_stage(m, i, level, stage))
      continue;
    r->phases_count += stage == 2 && any;
    m->phase_of[i] = r->phases_count;
    m->phase_levels[r->phases_count] = level;
    any = true;
  }
  r->phases_count += any;
}

static void number_phases(maker *m, uint32_t levels) {
  for (uint32_t i = 0; i < m->ops_count; i++)
    m->folds[i] = fold_of(&m->ops[i]) != TT_CPU_FOLD_NONE;
  for (uint32_t level = 0; level <= levels; level++)
    for (int stage = 0; stage < 3; stage++)
      number_stage(m, level, stage);
  for (uint32_t i = 0; i < m->ops_count; i++)
    for (uint32_t k = 0; k < operands_count(&m->ops[i]); k++) {
      int32_t made = m->ops[i].in[k].made;
      if (made >= 0 && m->phase_of[made] != m->phase_of[i])
        m->crosses[made] = true;
    }
}

/* ---- slots ---- */

static int32_t add_slot(maker *m, tt_cpu_rows_slot slot) {
  m->rows->slots[m->rows->slots_count] = slot;
  return (int32_t)m->rows->slots_count++;
}

/* Inputs have the first slots. What leaves a phase has one; scratch offsets are of one row until
 * the block is chosen. */
static void give_slots(maker *m) {
  tt_cpu_rows *r = m->rows;
  for (uint32_t i = 0; i < r->ins; i++) {
    add_slot(m, (tt_cpu_rows_slot){TT_CPU_ROWS_IN, i, 0, 0});
    m->full += m->in[i].period == 0 ? m->in[i].bytes : 0;
  }
  for (uint32_t i = 0; i < m->ops_count; i++) {
    const tt_cpu_rows_op *op = &m->ops[i];
    int64_t stride = result_bytes(op) * (op->gives == TT_CPU_ROWS_FULL ? r->row : 1);
    m->slots[i] = -1;
    m->full +=
        op->gives == TT_CPU_ROWS_FULL && (op->out >= 0 || m->crosses[i]) ? result_bytes(op) : 0;
    if (op->out >= 0)
      m->slots[i] = add_slot(m, (tt_cpu_rows_slot){TT_CPU_ROWS_OUT, (uint32_t)op->out, 0, stride});
    else if (m->crosses[i])
      m->slots[i] = add_slot(m, (tt_cpu_rows_slot){TT_CPU_ROWS_SCRATCH, 0, 0, stride});
  }
}

/* A block's rows fit in the nearest cache, if they are not too long. */
static void choose_block(maker *m) {
  tt_cpu_rows *r = m->rows;
  int64_t bytes = m->full * r->row;
  r->block = bytes == 0 ? 64 : NEAR / bytes;
  r->block = r->block < 1 ? 1 : r->block > 64 ? 64 : r->block;
  r->block = r->block > r->rows ? r->rows : r->block;
  for (uint32_t i = 0; i < r->slots_count; i++) {
    tt_cpu_rows_slot *slot = &r->slots[i];
    if (slot->place != TT_CPU_ROWS_SCRATCH)
      continue;
    slot->offset = r->scratch;
    /* Not all at one offset in the pages: they would share the few places of the cache. */
    r->scratch += (r->block * slot->stride + 63) / 64 * 64 + 128;
  }
}

/* ---- tiles ---- */

typedef struct tile_build {
  uint32_t ops_count, ins, outs;
  tt_cpu_tile_op ops[OPS_MAX];
  int32_t local[OPS_MAX]; /* [op of the whole]: op of the tile, or -1 */
  tt_cpu_tile_in in[3 * OPS_MAX];
  uint16_t in_slots[3 * OPS_MAX], out_slots[OPS_MAX];
  tt_cpu_tile_out out[OPS_MAX];
  bool unwritten[OPS_MAX]; /* [out] */
  uint32_t folds_count;
  tt_cpu_tile_fold folds[OPS_MAX];
  uint16_t fold_slots[OPS_MAX];
} tile_build;

/* Other phases read the value for the reductions alone that its own phase's code may make. */
static bool only_folded(const maker *m, uint32_t value) {
  for (uint32_t i = 0; i < m->ops_count; i++)
    for (uint32_t k = 0; k < operands_count(&m->ops[i]); k++)
      if (m->ops[i].in[k].made == (int32_t)value && m->phase_of[i] != m->phase_of[value] &&
          !(m->folds[i] && m->levels[i] == m->levels[value]))
        return false;
  return true;
}

static int32_t tile_input(tile_build *t, uint16_t slot, tt_cpu_tile_in form) {
  uint32_t i = 0;
  while (i < t->ins &&
         (t->in_slots[i] != slot || t->in[i].inner != form.inner || t->in[i].period != form.period))
    i++;
  t->in_slots[i] = slot;
  t->in[i] = form;
  t->ins += i == t->ins;
  return -1 - (int32_t)i;
}

static tt_cpu_tile_operand tile_operand(const maker *m, tile_build *t, const tt_cpu_rows_op *op,
                                        uint32_t k) {
  int32_t made = op->in[k].made;
  if (made < 0) {
    const tt_cpu_rows_in *in = &m->in[-1 - made];
    return (tt_cpu_tile_operand){
        tile_input(t, (uint16_t)(-1 - made),
                   (tt_cpu_tile_in){.inner = in->inner, .period = in->period, .bytes = in->bytes})};
  }
  if (t->local[made] >= 0)
    return (tt_cpu_tile_operand){t->local[made]};
  const tt_cpu_rows_op *from = &m->ops[made];
  bool spread = from->gives == TT_CPU_ROWS_EACH && op->gives == TT_CPU_ROWS_FULL;
  tt_cpu_tile_in form = {.inner = spread ? m->rows->row : 0,
                         .period = spread ? m->rows->rows : 0,
                         .bytes = result_bytes(from)};
  return (tt_cpu_tile_operand){tile_input(t, (uint16_t)m->slots[made], form)};
}

static void collect_tile(const maker *m, uint32_t phase, tile_build *t) {
  memset(t->local, 0xff, sizeof t->local);
  for (uint32_t i = 0; i < m->ops_count; i++) {
    const tt_cpu_rows_op *op = &m->ops[i];
    tt_cpu_tile_op *to = &t->ops[t->ops_count];
    if (m->phase_of[i] != phase)
      continue;
    to->op = op->op;
    to->out = -1;
    for (uint32_t k = 0; k < op->op->operands_count; k++)
      to->in[k] = tile_operand(m, t, op, k);
    t->local[i] = (int32_t)t->ops_count++;
    if (m->slots[i] < 0)
      continue;
    to->out = (int32_t)t->outs;
    t->out[t->outs].bytes = result_bytes(op);
    t->unwritten[t->outs] = op->out < 0 && only_folded(m, i);
    t->out_slots[t->outs++] = (uint16_t)m->slots[i];
  }
}

/* The reductions along rows of the phase's level. */
static void collect_folds(const maker *m, uint32_t phase, tile_build *t) {
  for (uint32_t i = 0; i < m->ops_count; i++) {
    if (!m->folds[i] || m->levels[i] != m->phase_levels[phase])
      continue;
    t->folds[t->folds_count].value = tile_operand(m, t, &m->ops[i], 0);
    t->folds[t->folds_count].dtype = m->ops[i].op->operands[0]->type.dtype;
    t->folds[t->folds_count].fold = fold_of(&m->ops[i]);
    t->fold_slots[t->folds_count++] = (uint16_t)m->slots[i];
  }
}

/* From one row to the next, in bytes. */
static int64_t row_step(const maker *m, const tt_cpu_tile_in *in) {
  if (in->period == 0)
    return in->bytes * m->rows->row;
  return in->period > 1 && in->inner == m->rows->row ? in->bytes : 0;
}

/* Where the code's pointers begin, and how they go on. */
static tt_error *aim_code(const maker *m, const tile_build *t, tt_cpu_code *code,
                          tt_cpu_rows_phase *phase) {
  uint32_t count = 0;
  int64_t *steps = tt_arena_array(m->arena, t->ins + t->outs + t->folds_count, sizeof *steps);
  uint16_t *slots = tt_arena_array(m->arena, t->ins + t->outs + t->folds_count, sizeof *slots);
  if (steps == NULL || slots == NULL)
    return tt_error_no_memory(0);
  for (uint32_t i = 0; i < t->ins; i++) {
    steps[count] = row_step(m, &t->in[i]);
    slots[count++] = t->in_slots[i];
  }
  for (uint32_t i = 0; i < t->outs; i++) {
    if (t->unwritten[i])
      continue;
    steps[count] = t->out[i].bytes * m->rows->row;
    slots[count++] = t->out_slots[i];
  }
  for (uint32_t i = 0; i < t->folds_count; i++) {
    steps[count] = tt_dtype_bytes(t->folds[i].dtype);
    slots[count++] = t->fold_slots[i];
  }
  phase->row_code = code;
  phase->row_steps = steps;
  phase->row_slots = slots;
  phase->row_pointers = count;
  return NULL;
}

static tt_error *make_tile(maker *m, uint32_t number, bool each, tt_cpu_rows_phase *phase) {
  tile_build t = {0};
  tt_cpu_rows *r = m->rows;
  phase->kind = TT_CPU_ROWS_TILE;
  phase->each = each;
  collect_tile(m, number, &t);
  if (!each)
    collect_folds(m, number, &t);
  tt_cpu_tile_in *in = tt_arena_array(m->arena, t.ins, sizeof *in);
  tt_cpu_tile_out *out = tt_arena_array(m->arena, t.outs, sizeof *out);
  phase->slots = tt_arena_array(m->arena, t.ins + t.outs, sizeof *phase->slots);
  if (in == NULL || out == NULL || phase->slots == NULL)
    return tt_error_no_memory(0);
  memcpy(in, t.in, t.ins * sizeof *in);
  memcpy(out, t.out, t.outs * sizeof *out);
  memcpy(phase->slots, t.in_slots, t.ins * sizeof *phase->slots);
  memcpy(phase->slots + t.ins, t.out_slots, t.outs * sizeof *phase->slots);
  tt_cpu_tile_row row = {r->row, t.folds_count, t.folds, t.unwritten, NULL};
  TT_RETURN_IF_ERROR(tt_cpu_tile_make(m->arena, m->codes, t.ops, t.ops_count,
                                      each ? r->rows : r->rows * r->row, in, t.ins, out, t.outs,
                                      each ? NULL : &row, &phase->tile));
  r->cost += phase->tile->cost * (each ? 1 : (double)r->row);
  if (row.code == NULL)
    return NULL;
  for (uint32_t i = 0; i < m->ops_count; i++)
    if (m->folds[i] && m->levels[i] == m->phase_levels[number])
      r->phases[m->phase_of[i]].folded = true;
  return aim_code(m, &t, row.code, phase);
}

/* ---- reductions ---- */

/* What a fold begins with anyway. */
static bool begins_plain(const tt_cpu_rows_op *op) {
  tt_cpu_fold fold = fold_of(op);
  double plain = fold == TT_CPU_FOLD_SUM ? 0 : fold == TT_CPU_FOLD_MAX ? -INFINITY : INFINITY;
  return fold != TT_CPU_FOLD_NONE && init_of(op) == plain;
}

static tt_error *make_reduce(maker *m, uint32_t i, tt_cpu_rows_phase *phase) {
  const tt_cpu_rows_op *op = &m->ops[i];
  tt_cpu_rows *r = m->rows;
  int32_t made = op->in[0].made;
  phase->kind = op->gives == TT_CPU_ROWS_COLUMN ? TT_CPU_ROWS_REDUCE_COLUMNS : TT_CPU_ROWS_REDUCE;
  phase->bytes = result_bytes(op);
  phase->reducer = tt_cpu_reducer_of(op->op);
  phase->slots = tt_arena_array(m->arena, 2, sizeof *phase->slots);
  if (phase->slots == NULL)
    return tt_error_no_memory(0);
  phase->slots[0] = (uint16_t)(made < 0 ? -1 - made : m->slots[made]);
  phase->slots[1] = (uint16_t)m->slots[i];
  memcpy(phase->init, op->init, (size_t)phase->bytes);
  phase->plain = begins_plain(op);
  if (phase->kind == TT_CPU_ROWS_REDUCE_COLUMNS) {
    phase->part = r->sums;
    r->sums += (2 * r->row * phase->bytes + 63) / 64 * 64;
  }
  r->cost += 5 + 0.1 * (double)r->row;
  return NULL;
}

/* ---- the program ---- */

/* The op that the phase is for: the first of its tile, or the reduction; -1: only folds. */
static int32_t first_of(const maker *m, uint32_t phase) {
  for (uint32_t i = 0; i < m->ops_count; i++)
    if (m->phase_of[i] == phase)
      return (int32_t)i;
  return -1;
}

static tt_error *make_phases(maker *m) {
  for (uint32_t i = 0; i < m->rows->phases_count; i++) {
    tt_cpu_rows_phase *phase = &m->rows->phases[i];
    int32_t first = first_of(m, i);
    if (first >= 0 && is_reduce(&m->ops[first]))
      TT_RETURN_IF_ERROR(make_reduce(m, (uint32_t)first, phase));
    else
      TT_RETURN_IF_ERROR(
          make_tile(m, i, first >= 0 && m->ops[first].gives == TT_CPU_ROWS_EACH, phase));
  }
  return NULL;
}

tt_error *tt_cpu_rows_make(tt_arena *arena, tt_cpu_code **codes, int64_t rows, int64_t row,
                           const tt_cpu_rows_op *ops, uint32_t ops_count, const tt_cpu_rows_in *in,
                           uint32_t ins, uint32_t outs, tt_cpu_rows **out_rows) {
  tt_cpu_rows *r = tt_arena_alloc(arena, sizeof *r);
  maker m = {
      .arena = arena, .codes = codes, .rows = r, .ops = ops, .in = in, .ops_count = ops_count};
  *out_rows = r;
  if (r == NULL)
    return tt_error_no_memory(0);
  *r = (tt_cpu_rows){.rows = rows, .row = row, .ins = ins, .outs = outs};
  number_phases(&m, find_levels(&m));
  r->slots = tt_arena_array(arena, ins + ops_count, sizeof *r->slots);
  r->phases = tt_arena_array(arena, r->phases_count, sizeof *r->phases);
  if (r->slots == NULL || r->phases == NULL)
    return tt_error_no_memory(0);
  give_slots(&m);
  choose_block(&m);
  return make_phases(&m);
}
