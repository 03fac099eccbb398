/* Registers for one copy of the loop's body; the other copies have the same at a distance. Values
 * that are the same for all elements are made once, before the loop; they stay in registers while
 * there are some, else on the stack. When a copy has no register left, the value whose last reader
 * is farthest goes to the stack. */
#include <string.h>

#include "cpu/emit/micro.h"

#define M(name) TT_CPU_MICRO_##name

enum { NOWHERE = -1, UNROLL_MAX = 4, MASKS = 6, SHARED_MASKS_MAX = 2, FOLDS_MAX = 8 };

typedef struct value_place {
  int16_t reg;  /* as in tt_cpu_machine_op; NOWHERE */
  int16_t slot; /* NOWHERE */
  bool looped;  /* an invariant that the loop reads */
  bool passing; /* brought to a register for one op alone */
} value_place;

typedef struct state {
  const tt_cpu_build *b;
  tt_cpu_allocation *out;
  value_place *places;
  int16_t owner[32], mask_owner[8]; /* values, or NOWHERE */
  uint32_t limit, masks_limit;
  uint32_t locked, locked_masks; /* registers of the op at hand */
  uint32_t shared_left, shared_masks_left;
  uint32_t folds, next_fold; /* their registers are the first of each copy */
  uint32_t masks_top;
  bool once;
} state;

typedef struct pressure {
  uint32_t vectors, masks;                     /* at most live in the loop */
  uint32_t invariant_vectors, invariant_masks; /* that the loop reads */
  uint32_t folds;
} pressure;

static bool in_mask_register(const tt_cpu_build *b, int v) {
  return b->isa == TT_CPU_ISA_AVX512 && b->micros[v].mask;
}

static bool has_result(const tt_cpu_micro *m) { return m->code != M(STORE) && m->code != M(FOLD); }

/* LOAD and SCALAR have the number of an input there, CONST a constant, STORE and FOLD an output. */
static bool is_value(const tt_cpu_micro *m, int k) {
  if (m->code == M(LOAD) || m->code == M(SCALAR) || m->code == M(CONST))
    return false;
  if ((m->code == M(STORE) || m->code == M(FOLD)) && k > 0)
    return false;
  return m->in[k] >= 0;
}

static bool seen_before(const tt_cpu_micro *m, int k) {
  return (k > 0 && m->in[0] == m->in[k]) || (k > 1 && m->in[1] == m->in[k]);
}

/* ---- how many are live ---- */

static void measure(state *s, pressure *p) {
  const tt_cpu_build *b = s->b;
  uint32_t live[2] = {0, 0}, most[2] = {0, 0};
  for (uint32_t i = 0; i < b->count; i++) {
    const tt_cpu_micro *m = &b->micros[i];
    p->folds += m->code == M(FOLD);
    if (m->invariant && has_result(m))
      continue;
    bool both =
        m->code == M(FMA) && m->in[1] <= TT_CPU_CONSTANT_FIRST && m->in[2] <= TT_CPU_CONSTANT_FIRST;
    if (both && live[0] + 1 > most[0])
      most[0] = live[0] + 1;
    for (int k = 0; k < 3; k++) {
      if (!is_value(m, k) || seen_before(m, k))
        continue;
      int v = m->in[k];
      if (!b->micros[v].invariant)
        live[in_mask_register(b, v)] -= b->micros[v].last == (int16_t)i;
      else if (!s->places[v].looped) {
        s->places[v].looped = true;
        *(in_mask_register(b, v) ? &p->invariant_masks : &p->invariant_vectors) += 1;
      }
    }
    if (!has_result(m))
      continue;
    bool mask = in_mask_register(b, (int)i);
    live[mask]++;
    most[mask] = live[mask] > most[mask] ? live[mask] : most[mask];
    live[mask] -= m->last < 0;
  }
  p->vectors = most[0] == 0 ? 1 : most[0];
  p->masks = most[1];
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* As many copies as have registers; then as many invariants. */
static void divide_registers(state *s, const pressure *p, uint32_t unroll) {
  tt_cpu_allocation *out = s->out;
  bool evex = s->b->isa == TT_CPU_ISA_AVX512;
  uint32_t total = evex ? 31 : 15, masks = MASKS - (p->folds > 0), each = p->vectors + p->folds;
  uint32_t shared_masks = least(p->invariant_masks, SHARED_MASKS_MAX);
  while (unroll > 1 && (unroll * each + least(p->invariant_vectors, 1) > total ||
                        unroll * p->masks + shared_masks > masks))
    unroll--;
  uint32_t room = total > unroll * each ? total - unroll * each : 0;
  uint32_t shared = least(p->invariant_vectors, room);
  out->failed = p->folds > FOLDS_MAX;
  out->unroll = unroll;
  out->each = (total - shared) / unroll;
  out->masks_each = (masks - shared_masks) / unroll;
  s->limit = out->each;
  s->masks_limit = out->masks_each;
  s->shared_left = shared;
  s->shared_masks_left = shared_masks;
  s->folds = p->folds;
  s->masks_top = masks;
}

/* ---- machine ops ---- */

static tt_cpu_machine_op *emit(state *s, tt_cpu_machine_op op) {
  tt_cpu_allocation *out = s->out;
  if (out->count == out->capacity) {
    uint32_t capacity = out->capacity == 0 ? s->b->count + s->b->count / 4 + 32 : 2 * out->capacity;
    tt_cpu_machine_op *ops = tt_arena_array(s->b->arena, capacity, sizeof *ops);
    if (ops == NULL) {
      out->failed = true;
      out->count = 0;
      return NULL;
    }
    if (out->count > 0)
      memcpy(ops, out->ops, out->count * sizeof *ops);
    out->ops = ops;
    out->capacity = capacity;
  }
  out->ops[out->count] = op;
  return &out->ops[out->count++];
}

static void release(state *s, int v) {
  value_place *place = &s->places[v];
  int16_t reg = place->reg;
  if (reg == NOWHERE || reg >= TT_CPU_SHARED)
    return;
  if (in_mask_register(s->b, v))
    s->mask_owner[reg] = NOWHERE;
  else
    s->owner[reg] = NOWHERE;
  place->reg = NOWHERE;
}

/* To the stack, once: a value does not change. */
static void spill(state *s, int v) {
  value_place *place = &s->places[v];
  if (place->slot == NOWHERE && s->b->micros[v].code != M(CONST)) {
    place->slot = (int16_t)(s->once ? s->out->shared_slots++ : s->out->slots++);
    emit(s, (tt_cpu_machine_op){.code = in_mask_register(s->b, v) ? M(SPILL_MASK) : M(SPILL),
                                .lane = s->b->micros[v].lane,
                                .in = {(uint8_t)place->reg},
                                .place = s->once ? TT_CPU_PLACE_SHARED_SLOT : TT_CPU_PLACE_SLOT,
                                .at = place->slot});
  }
  release(s, v);
}

/* Frees the register of the value that is read last, among those that the op at hand does not use.
 */
static int evict(state *s, const int16_t *owner, uint32_t first, uint32_t limit, uint32_t locked) {
  int best = NOWHERE;
  for (uint32_t r = first; r < limit; r++)
    if ((locked >> r & 1) == 0 &&
        (best == NOWHERE || s->b->micros[owner[r]].last > s->b->micros[owner[best]].last))
      best = (int)r;
  if (best == NOWHERE) {
    s->out->failed = true;
    return (int)first;
  }
  spill(s, owner[best]);
  return best;
}

static int take(state *s, int v) {
  bool mask = in_mask_register(s->b, v);
  int16_t *owner = mask ? s->mask_owner : s->owner;
  uint32_t *locked = mask ? &s->locked_masks : &s->locked;
  uint32_t first = mask ? 0 : s->folds, limit = mask ? s->masks_limit : s->limit;
  int reg = NOWHERE;
  for (uint32_t r = first; r < limit && reg == NOWHERE; r++)
    if (owner[r] == NOWHERE)
      reg = (int)r;
  if (reg == NOWHERE)
    reg = evict(s, owner, first, limit, *locked);
  owner[reg] = (int16_t)v;
  *locked |= UINT32_C(1) << reg;
  s->places[v].reg = (int16_t)reg;
  return reg;
}

static void set_memory(const state *s, tt_cpu_machine_op *op, int operand) {
  if (operand <= TT_CPU_CONSTANT_FIRST) {
    op->place = TT_CPU_PLACE_CONSTANT;
    op->at = (int16_t)(TT_CPU_CONSTANT_FIRST - operand);
  } else if (s->b->micros[operand].code == M(CONST)) {
    set_memory(s, op, s->b->micros[operand].in[0]);
  } else {
    op->place = s->b->micros[operand].invariant ? TT_CPU_PLACE_SHARED_SLOT : TT_CPU_PLACE_SLOT;
    op->at = s->places[operand].slot;
  }
}

/* Register `dst` gets what is in memory. */
static void load(state *s, int operand, int lane, int dst) {
  tt_cpu_machine_op op = {.code = M(RELOAD), .lane = (uint8_t)lane, .dst = (uint8_t)dst};
  set_memory(s, &op, operand);
  if (op.place == TT_CPU_PLACE_CONSTANT)
    op.code = M(CONST);
  else if (in_mask_register(s->b, operand))
    op.code = M(RELOAD_MASK);
  emit(s, op);
}

static bool in_register(const state *s, int operand) {
  return operand >= 0 && s->places[operand].reg != NOWHERE;
}

static void lock(state *s, int v) {
  int16_t reg = s->places[v].reg;
  if (reg < TT_CPU_SHARED)
    *(in_mask_register(s->b, v) ? &s->locked_masks : &s->locked) |= UINT32_C(1) << reg;
}

static uint8_t get(state *s, int v) {
  if (s->places[v].reg == NOWHERE) {
    int reg = take(s, v);
    load(s, v, s->b->micros[v].lane, reg);
    s->places[v].passing = s->b->micros[v].invariant;
  }
  lock(s, v);
  return (uint8_t)s->places[v].reg;
}

static bool dies(const state *s, int v, uint32_t i) {
  const tt_cpu_micro *m = &s->b->micros[v];
  if (s->places[v].reg >= TT_CPU_SHARED)
    return false;
  if (s->places[v].passing)
    return true;
  return m->last == (int16_t)i && (!m->invariant || (s->once && !s->places[v].looped));
}

static void release_dying(state *s, uint32_t i) {
  const tt_cpu_micro *m = &s->b->micros[i];
  for (int k = 0; k < 3; k++)
    if (is_value(m, k) && s->places[m->in[k]].reg != NOWHERE && dies(s, m->in[k], i)) {
      s->places[m->in[k]].passing = false;
      release(s, m->in[k]);
    }
}

/* ---- one micro-op ---- */

/* The register of the result: of an invariant that the loop reads a shared one while there are. */
static int result(state *s, uint32_t i) {
  if (s->once && s->places[i].looped) {
    bool mask = in_mask_register(s->b, (int)i);
    uint32_t total = s->b->isa == TT_CPU_ISA_AVX512 ? 31 : 15;
    if (mask && s->shared_masks_left > 0)
      s->places[i].reg = (int16_t)(TT_CPU_SHARED + s->masks_top - --s->shared_masks_left);
    else if (!mask && s->shared_left > 0)
      s->places[i].reg = (int16_t)(TT_CPU_SHARED + total - s->shared_left--);
    if (s->places[i].reg != NOWHERE)
      return s->places[i].reg;
  }
  return take(s, (int)i);
}

/* The result is where the operand `v` is, that dies; or in a register of its own, with its value.
 */
static int tie(state *s, uint32_t i, int v) {
  bool kept = s->once && s->places[i].looped;
  if (!kept && dies(s, v, i)) {
    int16_t reg = s->places[v].reg;
    s->places[v].reg = NOWHERE;
    s->places[v].passing = false;
    s->places[i].reg = reg;
    s->owner[reg] = (int16_t)i;
    return reg;
  }
  int reg = result(s, i);
  emit(s, (tt_cpu_machine_op){.code = M(MOVE),
                              .lane = s->b->micros[i].lane,
                              .dst = (uint8_t)reg,
                              .in = {(uint8_t)s->places[v].reg}});
  return reg;
}

/* dst (+)= of three forms, by which operand's register may be written and which is in memory. */
static void fma_op(state *s, uint32_t i) {
  const tt_cpu_micro *m = &s->b->micros[i];
  int x = m->in[0], y = m->in[1], z = m->in[2];
  tt_cpu_machine_op op = {.lane = m->lane};
  if (!in_register(s, x) && in_register(s, y)) {
    x = m->in[1];
    y = m->in[0];
  }
  op.in[0] = get(s, x);
  if (in_register(s, y))
    lock(s, y);
  if (in_register(s, z))
    lock(s, z);
  bool y_is = in_register(s, y), z_is = in_register(s, z);
  if (!z_is && !y_is) { /* z to the result's register */
    int dst = result(s, i);
    load(s, z, m->lane, dst);
    op.code = M(FMA231);
    op.dst = (uint8_t)dst;
    set_memory(s, &op, y);
  } else if (!z_is && dies(s, y, i) && !dies(s, x, i)) {
    op.code = M(FMA213);
    op.dst = (uint8_t)tie(s, i, y);
    set_memory(s, &op, z);
  } else if (!z_is) {
    uint8_t other = (uint8_t)s->places[y].reg;
    op.code = M(FMA213);
    op.dst = (uint8_t)tie(s, i, x);
    op.in[0] = other;
    set_memory(s, &op, z);
  } else if (!y_is && dies(s, x, i) && !dies(s, z, i)) {
    op.code = M(FMA132);
    op.in[0] = (uint8_t)s->places[z].reg;
    op.dst = (uint8_t)tie(s, i, x);
    set_memory(s, &op, y);
  } else if (y_is && !dies(s, z, i) && (dies(s, x, i) || dies(s, y, i))) {
    int over = dies(s, x, i) ? x : y, other = over == x ? y : x;
    op.code = M(FMA213);
    op.in[0] = (uint8_t)s->places[other].reg;
    op.in[1] = (uint8_t)s->places[z].reg;
    op.dst = (uint8_t)tie(s, i, over);
  } else {
    op.code = M(FMA231);
    if (y_is)
      op.in[1] = (uint8_t)s->places[y].reg;
    op.dst = (uint8_t)tie(s, i, z);
    if (!y_is)
      set_memory(s, &op, y);
  }
  emit(s, op);
  release_dying(s, i);
}

static void copysign_op(state *s, uint32_t i) {
  const tt_cpu_micro *m = &s->b->micros[i];
  tt_cpu_machine_op op = {.code = m->code, .lane = m->lane, .imm = m->imm};
  get(s, m->in[0]);
  op.in[0] = get(s, m->in[1]);
  set_memory(s, &op, m->in[2]);
  op.dst = (uint8_t)tie(s, i, m->in[0]);
  emit(s, op);
  release_dying(s, i);
}

/* The operand that may be memory; -1: none. */
static int memory_operand(const tt_cpu_micro *m) {
  switch (m->code) {
    case M(SELECT):
    case M(MASKED):
    case M(CMP):
    case M(ICMP):
    case M(UCMP):
      return 1;
    default:
      return tt_cpu_micros[m->code].kind == TT_CPU_RRM  ? 1
             : tt_cpu_micros[m->code].kind == TT_CPU_RM ? 0
                                                        : -1;
  }
}

static void plain_op(state *s, uint32_t i) {
  const tt_cpu_micro *m = &s->b->micros[i];
  tt_cpu_machine_op op = {.code = m->code, .lane = m->lane, .imm = m->imm};
  int memory = memory_operand(m);
  if (m->code == M(LOAD) || m->code == M(SCALAR))
    op.at = m->in[0];
  if (m->code == M(STORE) || m->code == M(FOLD))
    op.at = m->in[1];
  if (m->code == M(CONST))
    set_memory(s, &op, m->in[0]);
  for (int k = 0; k < 3; k++)
    if (is_value(m, k) && in_register(s, m->in[k]))
      lock(s, m->in[k]);
  for (int k = 0; k < 3; k++) {
    if (k == memory && m->in[k] != TT_CPU_NO_OPERAND && !in_register(s, m->in[k]))
      set_memory(s, &op, m->in[k]);
    else if (is_value(m, k))
      op.in[k] = get(s, m->in[k]);
  }
  release_dying(s, i);
  if (has_result(m))
    op.dst = (uint8_t)result(s, i);
  else if (m->code == M(FOLD))
    op.dst = (uint8_t)s->next_fold++;
  emit(s, op);
}

static void allocate_micro(state *s, uint32_t i) {
  const tt_cpu_micro *m = &s->b->micros[i];
  s->locked = s->locked_masks = 0;
  if (m->code == M(FMA))
    fma_op(s, i);
  else if (m->code == M(COPYSIGN))
    copysign_op(s, i);
  else
    plain_op(s, i);
  if (!has_result(m) || s->out->failed)
    return;
  if (s->once && s->places[i].looped && s->places[i].reg < TT_CPU_SHARED)
    spill(s, (int)i);
  else if (m->last < 0)
    release(s, (int)i);
}

/* False: some op found no register, or there is no memory. */
static bool allocate(const tt_cpu_build *b, uint32_t unroll, tt_cpu_allocation *out) {
  state s = {.b = b, .out = out};
  pressure p = {0};
  *out = (tt_cpu_allocation){0};
  s.places = tt_arena_array(b->arena, b->count, sizeof *s.places);
  if (s.places == NULL) {
    out->failed = true;
    return false;
  }
  for (uint32_t i = 0; i < b->count; i++)
    s.places[i].reg = s.places[i].slot = NOWHERE;
  memset(s.owner, 0xff, sizeof s.owner);
  memset(s.mask_owner, 0xff, sizeof s.mask_owner);
  measure(&s, &p);
  divide_registers(&s, &p, unroll);
  s.once = true;
  for (uint32_t i = 0; i < b->count && !out->failed; i++) {
    const tt_cpu_micro *m = &b->micros[i];
    bool wanted = m->code != M(CONST) || (s.places[i].looped && s.shared_left > 0);
    if (m->invariant && has_result(m) && wanted)
      allocate_micro(&s, i);
  }
  out->once = out->count;
  s.once = false;
  for (uint32_t i = 0; i < b->count && !out->failed; i++)
    if (!b->micros[i].invariant || !has_result(&b->micros[i]))
      allocate_micro(&s, i);
  return !out->failed;
}

/* Invariants that stay on the stack want a register where they are read, which is not counted. */
void tt_cpu_allocate(const tt_cpu_build *b, tt_cpu_allocation *out) {
  uint32_t unroll = b->count > 800 ? 1 : b->count > 250 ? 2 : UNROLL_MAX;
  if (b->program->count <= TT_CPU_EMIT_FEW)
    unroll = 1;
  while (!allocate(b, unroll, out) && unroll > 1)
    unroll /= 2;
}
