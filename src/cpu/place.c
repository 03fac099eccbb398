/* Where values live. Every step has a time; a value lives from the step that makes it to the last
 * one that reads it (for a value from outside a region: to the end of the op that holds the region,
 * for that may be a loop). Places are given from the end to the beginning, so that a value which
 * becomes a result is put there at once, and with it the operands that die where they are made of
 * each other element by element. */
#include <string.h>

#include "base/checked.h"
#include "cpu/plan_internal.h"

typedef struct hole {
  int64_t offset, size;
} hole;

typedef struct placer {
  tt_cpu_maker *m;
  uint32_t *dying;       /* [time]: first of the values whose last time it is */
  uint32_t *making;      /* [time]: first of the values whose first time it is */
  uint32_t *next_making; /* [value] */
  tt_cpu_step **ending;  /* [time]: the step that ends there */
  hole *holes;           /* by offset; never two that touch */
  size_t holes_count, holes_capacity;
  int64_t top;
} placer;

/* Values without bytes are here. */
static _Alignas(TT_CPU_ALIGN) char nowhere[TT_CPU_ALIGN];

static tt_cpu_value *value_at(const placer *p, uint32_t number) { return &p->m->values[number]; }

/* ---- times ---- */

static void number_block(tt_cpu_maker *m, tt_cpu_block *block) {
  for (tt_cpu_step *step = block->first; step != NULL; step = step->next) {
    step->begin = m->time++;
    for (uint32_t i = 0; step->blocks != NULL && i < step->op->regions_count; i++)
      number_block(m, &step->blocks[i]);
    step->end = m->time++;
  }
  block->end = m->time++;
}

/* The value is read by a step (or the return, when it is NULL) of `block`. */
static void read_at(tt_cpu_maker *m, uint32_t root, const tt_cpu_block *block,
                    const tt_cpu_step *step) {
  tt_cpu_value *value = &m->values[root];
  int32_t time = step == NULL ? block->end : step->end;
  while (block != value->block && block->owner != NULL) {
    value->captured = true;
    time = block->owner->end;
    block = block->owner->block;
  }
  value->last = time > value->last ? time : value->last;
}

static void find_last(tt_cpu_maker *m, tt_cpu_block *block) {
  for (tt_cpu_step *step = block->first; step != NULL; step = step->next) {
    for (uint32_t i = 0; i < step->ins; i++)
      read_at(m, step->values[i], block, step);
    for (uint32_t i = 0; step->blocks != NULL && i < step->op->regions_count; i++)
      find_last(m, &step->blocks[i]);
  }
  for (uint32_t i = 0; i < block->returns_count; i++)
    if (block->returns[i].mode != TT_CPU_RETURN_PASS)
      read_at(m, block->returns[i].value, block, NULL);
}

static bool is_own(const tt_cpu_value *value, uint32_t number) {
  return value->root == number && value->kind == TT_CPU_VALUE_STEP && value->step != NULL;
}

/* Sets first times, and last ones of what nobody reads; sorts both into lists. A group's values
 * that stay inside of it have no place. */
static void list_values(placer *p) {
  for (uint32_t i = 0; i < p->m->values_count; i++) {
    tt_cpu_value *value = value_at(p, i);
    if (!is_own(value, i) || (value->step->group != NULL && !value->leaves))
      continue;
    value->first = value->step->begin;
    value->last = value->last < value->step->end ? value->step->end : value->last;
    value->next = p->dying[value->last];
    p->dying[value->last] = i;
    p->next_making[i] = p->making[value->first];
    p->making[value->first] = i;
  }
}

/* ---- writing over an operand ---- */

static bool tile_writes_over(const tt_cpu_step *step, uint32_t root, uint32_t out) {
  const tt_cpu_tile *tile = step->tile;
  if (tile->instructions_count == 0)
    return false;
  for (uint32_t i = 0; i < step->ins; i++)
    if (step->values[i] == root &&
        (tile->in[i].period > 0 || tile->in[i].bytes != tile->out[out].bytes ||
         tile->in[i].last > tile->out[out].first))
      return false;
  return true;
}

static bool rows_write_over(const tt_cpu_step *step, uint32_t root, uint32_t out) {
  for (uint32_t i = 0; i < step->ins; i++)
    if (step->values[i] == root && !tt_cpu_rows_over(step->rows, i, out))
      return false;
  return true;
}

/* Result `out` of the step may take the memory of its operand `root`, which dies there. */
static bool may_write_over(const placer *p, const tt_cpu_step *step, uint32_t root, uint32_t out) {
  if (step->tile != NULL)
    return tile_writes_over(step, root, out);
  if (step->rows != NULL)
    return rows_write_over(step, root, out);
  if ((step->blocks != NULL && value_at(p, root)->captured) ||
      (tt_cpu_kernels[step->op->code].traits & TT_CPU_OVER) == 0 || out >= step->ins)
    return false;
  for (uint32_t i = 0; i < step->ins; i++)
    if ((step->values[i] == root) != (i == out))
      return false;
  return true;
}

/* `value` may be written to memory that may be that of `arg`. */
static bool may_replace(const placer *p, const tt_cpu_value *value, uint32_t arg) {
  const tt_cpu_value *old = value_at(p, arg);
  return old->last < value->first ||
         (old->last == value->step->end && may_write_over(p, value->step, arg, value->out));
}

/* ---- the frame ---- */

static bool find_hole(placer *p, int64_t size, int64_t *out_offset) {
  size_t best = SIZE_MAX;
  for (size_t i = 0; i < p->holes_count; i++)
    if (p->holes[i].size >= size && (best == SIZE_MAX || p->holes[i].size < p->holes[best].size))
      best = i;
  if (best == SIZE_MAX)
    return false;
  hole *h = &p->holes[best];
  *out_offset = h->offset;
  h->offset += size;
  h->size -= size;
  if (h->size == 0)
    memmove(h, h + 1, (--p->holes_count - best) * sizeof *h);
  return true;
}

static tt_error *take(placer *p, int64_t bytes, int64_t *out_offset) {
  int64_t size = 0, top = 0;
  if (!tt_add_i64(bytes, TT_CPU_ALIGN - 1, &size))
    return tt_error_new(TT_RESOURCE_EXHAUSTED, "the program's values do not fit in memory");
  size &= ~(int64_t)(TT_CPU_ALIGN - 1);
  if (find_hole(p, size, out_offset))
    return NULL;
  /* A hole at the top grows. */
  if (p->holes_count > 0 &&
      p->holes[p->holes_count - 1].offset + p->holes[p->holes_count - 1].size == p->top)
    p->top = p->holes[--p->holes_count].offset;
  if (!tt_add_i64(p->top, size, &top))
    return tt_error_new(TT_RESOURCE_EXHAUSTED, "the program's values do not fit in memory");
  *out_offset = p->top;
  p->top = top;
  return NULL;
}

static tt_error *grow_holes(placer *p) {
  if (p->holes_count < p->holes_capacity)
    return NULL;
  size_t capacity = p->holes_capacity == 0 ? 16 : 2 * p->holes_capacity;
  hole *holes = tt_arena_array(&p->m->scratch, capacity, sizeof *holes);
  if (holes == NULL)
    return tt_error_no_memory(capacity * sizeof *holes);
  if (p->holes_count > 0)
    memcpy(holes, p->holes, p->holes_count * sizeof *holes);
  p->holes = holes;
  p->holes_capacity = capacity;
  return NULL;
}

static tt_error *give(placer *p, int64_t offset, int64_t bytes) {
  int64_t size = (bytes + TT_CPU_ALIGN - 1) & ~(int64_t)(TT_CPU_ALIGN - 1);
  size_t i = p->holes_count;
  TT_RETURN_IF_ERROR(grow_holes(p));
  while (i > 0 && p->holes[i - 1].offset > offset)
    i--;
  bool joins_before = i > 0 && p->holes[i - 1].offset + p->holes[i - 1].size == offset;
  bool joins_after = i < p->holes_count && offset + size == p->holes[i].offset;
  if (joins_before && joins_after) {
    p->holes[i - 1].size += size + p->holes[i].size;
    memmove(&p->holes[i], &p->holes[i + 1], (--p->holes_count - i) * sizeof *p->holes);
  } else if (joins_before) {
    p->holes[i - 1].size += size;
  } else if (joins_after) {
    p->holes[i].offset = offset;
    p->holes[i].size += size;
  } else {
    memmove(&p->holes[i + 1], &p->holes[i], (p->holes_count++ - i) * sizeof *p->holes);
    p->holes[i] = (hole){offset, size};
  }
  return NULL;
}

/* ---- places ---- */

/* The return that a base is for: its block and number. */
typedef struct target {
  tt_cpu_block *block;
  uint32_t i;
} target;

static bool find_target(const tt_cpu_value *value, uint32_t base, target *out) {
  for (tt_cpu_block *block = value->block; block != NULL;
       block = block->owner == NULL ? NULL : block->owner->block)
    if (base >= block->results && base < block->results + block->returns_count) {
      *out = (target){block, base - block->results};
      return true;
    }
  return false;
}

/* @main: the argument whose memory may be that of result `i`; NONE otherwise. */
static uint32_t donor_of(const placer *p, const tt_cpu_block *block, uint32_t i) {
  const tt_hlo_func *func = p->m->body->func;
  if (block->owner != NULL || func != p->m->plan->module->funcs || func->params == NULL)
    return TT_CPU_NONE;
  for (uint32_t k = 0; k < block->region->args_count; k++)
    if (func->params[k].alias == (int32_t)i)
      return block->args_value + k;
  return TT_CPU_NONE;
}

/* Puts what the block makes for its results there. */
static void place_returns(placer *p, tt_cpu_block *block) {
  for (uint32_t i = 0; i < block->returns_count; i++) {
    tt_cpu_return *to = &block->returns[i];
    if (to->mode == TT_CPU_RETURN_PASS)
      continue;
    tt_cpu_value *value = value_at(p, to->value);
    uint32_t donor = donor_of(p, block, i);
    if (value->kind != TT_CPU_VALUE_STEP || value->block != block || value->placed ||
        value->bytes == 0 || (donor != TT_CPU_NONE && !may_replace(p, value, donor)))
      continue;
    value->placed = true;
    value->ref = (tt_cpu_ref){block->results + i, 0};
    to->mode = TT_CPU_RETURN_THERE;
    to->writer = to->value;
  }
}

/* Tries the memory of a result of the step at which the value dies. */
static bool place_over(placer *p, uint32_t number, const tt_cpu_step *step) {
  tt_cpu_value *value = value_at(p, number);
  target to = {0};
  if (step == NULL || step->block != value->block)
    return false;
  for (uint32_t i = 0; i < step->outs; i++) {
    tt_cpu_value *result = value_at(p, step->values[step->ins + i]);
    if (!result->placed || result->taken || result->step != step || result->bytes != value->bytes ||
        !may_write_over(p, step, number, i))
      continue;
    bool returned = find_target(value, result->ref.base, &to);
    uint32_t donor = returned ? donor_of(p, to.block, to.i) : TT_CPU_NONE;
    if (donor != TT_CPU_NONE && !may_replace(p, value, donor))
      continue;
    if (returned && to.block == value->block)
      to.block->returns[to.i].writer = number;
    result->taken = true;
    value->placed = true;
    value->ref = result->ref;
    return true;
  }
  return false;
}

static tt_error *place_value(placer *p, uint32_t number, const tt_cpu_step *step) {
  tt_cpu_value *value = value_at(p, number);
  if (value->placed)
    return NULL;
  if (value->bytes == 0) {
    value->placed = true;
    value->ref = (tt_cpu_ref){TT_CPU_BASE_ABSOLUTE, (int64_t)(intptr_t)nowhere};
    return NULL;
  }
  if (place_over(p, number, step))
    return NULL;
  value->placed = true;
  value->ref.base = TT_CPU_BASE_FRAME;
  return take(p, value->bytes, &value->ref.offset);
}

static tt_error *sweep(placer *p) {
  for (int32_t time = p->m->time; time-- > 0;) {
    const tt_cpu_step *step = p->ending[time];
    /* What the step makes has its place first: operands may share it. */
    for (uint32_t i = 0; step != NULL && i < step->outs + step->extras; i++) {
      uint32_t number = step->values[step->ins + i];
      if (value_at(p, number)->step == step && value_at(p, number)->last == time)
        TT_RETURN_IF_ERROR(place_value(p, number, NULL));
    }
    for (uint32_t i = p->dying[time]; i != TT_CPU_NONE; i = value_at(p, i)->next)
      TT_RETURN_IF_ERROR(place_value(p, i, step));
    for (uint32_t i = p->making[time]; i != TT_CPU_NONE; i = p->next_making[i]) {
      const tt_cpu_value *value = value_at(p, i);
      if (value->ref.base == TT_CPU_BASE_FRAME && !value->taken)
        TT_RETURN_IF_ERROR(give(p, value->ref.offset, value->bytes));
    }
  }
  return NULL;
}

/* ---- what a run reads ---- */

static void finish_returns(placer *p, tt_cpu_block *block) {
  bool loop = block->owner != NULL && block->owner->op->code == TT_HLO_WHILE &&
              block == &block->owner->blocks[1];
  for (uint32_t i = 0; i < block->returns_count; i++) {
    tt_cpu_return *to = &block->returns[i];
    if (to->mode == TT_CPU_RETURN_PASS)
      continue;
    to->ref = value_at(p, to->value)->ref;
    if (loop && to->mode == TT_CPU_RETURN_THERE &&
        may_replace(p, value_at(p, to->writer), block->args_value + i))
      to->mode = TT_CPU_RETURN_OVER;
  }
}

static void finish_block(placer *p, tt_cpu_block *block) {
  for (tt_cpu_step *step = block->first; step != NULL; step = step->next) {
    for (uint32_t i = 0; i < step->ins + step->outs + step->extras; i++)
      step->refs[i] = value_at(p, step->values[i])->ref;
    for (uint32_t i = 0; step->blocks != NULL && i < step->op->regions_count; i++)
      finish_block(p, &step->blocks[i]);
  }
  finish_returns(p, block);
}

static void before_sweep(placer *p, tt_cpu_block *block) {
  for (tt_cpu_step *step = block->first; step != NULL; step = step->next) {
    p->ending[step->end] = step;
    for (uint32_t i = 0; step->blocks != NULL && i < step->op->regions_count; i++)
      before_sweep(p, &step->blocks[i]);
  }
  place_returns(p, block);
}

tt_error *tt_cpu_place(tt_cpu_maker *m) {
  placer p = {.m = m};
  number_block(m, &m->body->block);
  size_t times = (size_t)m->time;
  p.dying = tt_arena_array(&m->scratch, times, sizeof *p.dying);
  p.making = tt_arena_array(&m->scratch, times, sizeof *p.making);
  p.next_making = tt_arena_array(&m->scratch, m->values_count, sizeof *p.next_making);
  p.ending = tt_arena_array(&m->scratch, times, sizeof(tt_cpu_step *));
  if (p.dying == NULL || p.making == NULL || p.next_making == NULL || p.ending == NULL)
    return tt_error_no_memory(times * sizeof *p.dying);
  memset(p.dying, 0xff, times * sizeof *p.dying);
  memset(p.making, 0xff, times * sizeof *p.making);
  find_last(m, &m->body->block);
  list_values(&p);
  before_sweep(&p, &m->body->block);
  TT_RETURN_IF_ERROR(sweep(&p));
  finish_block(&p, &m->body->block);
  m->body->frame = p.top;
  return NULL;
}
