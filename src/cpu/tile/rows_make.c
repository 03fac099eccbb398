/* Makes row programs. Ops are put in levels: what reads the result of a reduction along rows, even
 * through others, is one level above it. A level runs its ops on one element per row, then those on
 * all elements, then its reductions. */
#include <string.h>

#include "cpu/kernel.h"
#include "cpu/tile/rows.h"

enum { OPS_MAX = 64, NEAR = 32 << 10 };

typedef struct maker {
  tt_arena *arena;
  tt_cpu_code **codes;
  tt_cpu_rows *rows;
  const tt_cpu_rows_op *ops;
  const tt_cpu_rows_in *in;
  uint32_t ops_count;
  uint32_t levels[OPS_MAX], phase_of[OPS_MAX];
  bool crosses[OPS_MAX]; /* read by another phase than its own */
  int32_t slots[OPS_MAX];
  int64_t full; /* bytes in a row that a block has in scratch or reads and writes */
} maker;

static tt_error *no_memory(void) { return tt_error_no_memory(0); }

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

static void number_phases(maker *m, uint32_t levels) {
  tt_cpu_rows *r = m->rows;
  for (uint32_t level = 0; level <= levels; level++)
    for (int stage = 0; stage < 3; stage++) {
      bool any = false;
      for (uint32_t i = 0; i < m->ops_count; i++) {
        if (m->levels[i] != level || stage_of(&m->ops[i]) != stage)
          continue;
        r->phases_count += stage == 2 && any;
        m->phase_of[i] = r->phases_count;
        any = true;
      }
      r->phases_count += any;
    }
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
} tile_build;

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
    t->out_slots[t->outs++] = (uint16_t)m->slots[i];
  }
}

static tt_error *make_tile(maker *m, uint32_t i, tt_cpu_rows_phase *phase) {
  tile_build t = {0};
  tt_cpu_rows *r = m->rows;
  phase->kind = TT_CPU_ROWS_TILE;
  phase->each = m->ops[i].gives == TT_CPU_ROWS_EACH;
  collect_tile(m, m->phase_of[i], &t);
  tt_cpu_tile_in *in = tt_arena_array(m->arena, t.ins, sizeof *in);
  tt_cpu_tile_out *out = tt_arena_array(m->arena, t.outs, sizeof *out);
  phase->slots = tt_arena_array(m->arena, t.ins + t.outs, sizeof *phase->slots);
  if (in == NULL || out == NULL || phase->slots == NULL)
    return no_memory();
  memcpy(in, t.in, t.ins * sizeof *in);
  memcpy(out, t.out, t.outs * sizeof *out);
  memcpy(phase->slots, t.in_slots, t.ins * sizeof *phase->slots);
  memcpy(phase->slots + t.ins, t.out_slots, t.outs * sizeof *phase->slots);
  TT_RETURN_IF_ERROR(tt_cpu_tile_make(m->arena, m->codes, t.ops, t.ops_count,
                                      phase->each ? r->rows : r->rows * r->row, in, t.ins, out,
                                      t.outs, &phase->tile));
  r->cost += phase->tile->cost * (phase->each ? 1 : (double)r->row);
  return NULL;
}

/* ---- reductions ---- */

static tt_error *make_reduce(maker *m, uint32_t i, tt_cpu_rows_phase *phase) {
  const tt_cpu_rows_op *op = &m->ops[i];
  tt_cpu_rows *r = m->rows;
  int32_t made = op->in[0].made;
  phase->kind = op->gives == TT_CPU_ROWS_COLUMN ? TT_CPU_ROWS_REDUCE_COLUMNS : TT_CPU_ROWS_REDUCE;
  phase->bytes = result_bytes(op);
  phase->reducer = tt_cpu_reducer_of(op->op);
  phase->slots = tt_arena_array(m->arena, 2, sizeof *phase->slots);
  if (phase->slots == NULL)
    return no_memory();
  phase->slots[0] = (uint16_t)(made < 0 ? -1 - made : m->slots[made]);
  phase->slots[1] = (uint16_t)m->slots[i];
  memcpy(phase->init, op->init, (size_t)phase->bytes);
  if (phase->kind == TT_CPU_ROWS_REDUCE_COLUMNS) {
    phase->part = r->sums;
    r->sums += (2 * r->row * phase->bytes + 63) / 64 * 64;
  }
  r->cost += 5 + 0.1 * (double)r->row;
  return NULL;
}

/* ---- the program ---- */

static tt_error *make_phases(maker *m) {
  for (uint32_t i = 0; i < m->ops_count; i++) {
    tt_cpu_rows_phase *phase = &m->rows->phases[m->phase_of[i]];
    if (phase->slots != NULL)
      continue;
    TT_RETURN_IF_ERROR(is_reduce(&m->ops[i]) ? make_reduce(m, i, phase) : make_tile(m, i, phase));
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
    return no_memory();
  *r = (tt_cpu_rows){.rows = rows, .row = row, .ins = ins, .outs = outs};
  number_phases(&m, find_levels(&m));
  r->slots = tt_arena_array(arena, ins + ops_count, sizeof *r->slots);
  r->phases = tt_arena_array(arena, r->phases_count, sizeof *r->phases);
  if (r->slots == NULL || r->phases == NULL)
    return no_memory();
  give_slots(&m);
  choose_block(&m);
  return make_phases(&m);
}
