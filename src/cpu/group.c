/* Elementwise ops that become one step, and the program of each. */
#include <string.h>

#include "cpu/compile.h"

static tt_error *no_memory(void) { return tt_error_no_memory(0); }

bool tt_cpu_is_elementwise(const tt_hlo_op *op) {
  return (tt_hlo_ops[op->code].traits & TT_HLO_ELEMENTWISE) != 0 || op->code == TT_HLO_SELECT;
}

/* How an op of `count` elements reads an operand. */
tt_cpu_tile_in tt_cpu_operand_form(const tt_cpu_maker *m, const tt_hlo_value *operand,
                                   int64_t count) {
  const tt_cpu_value *value = tt_cpu_value_at(m, operand->number);
  bool scalar = value->count == 1 && count > 1;
  return (tt_cpu_tile_in){.inner = scalar ? 1 : value->inner,
                          .period = scalar ? 1 : value->period,
                          .bytes = value->element};
}

/* The open group of the operand's value, when an op of `count` elements in `block` may join it. */
static tt_cpu_step *operand_group(const tt_cpu_maker *m, const tt_hlo_value *operand,
                                  const tt_cpu_block *block, int64_t count) {
  const tt_cpu_value *root = tt_cpu_value_at(m, tt_cpu_root_of(m, operand->number));
  if (root->kind != TT_CPU_VALUE_STEP || root->step == NULL || root->step->group == NULL)
    return NULL;
  const tt_cpu_group *group = root->step->group;
  bool joins = group->open && group->count == count && root->step->block == block &&
               tt_cpu_operand_form(m, operand, count).period == 0;
  return joins ? root->step : NULL;
}

static void merge_groups(tt_cpu_maker *m, tt_cpu_step *into, tt_cpu_step *from) {
  tt_cpu_group *a = into->group, *b = from->group;
  for (uint32_t i = 0; i < b->ops_count; i++) {
    a->ops[a->ops_count++] = b->ops[i];
    tt_cpu_value_at(m, b->ops[i]->results[0].number)->step = into;
  }
  b->ops_count = 0;
  b->open = false;
}

static tt_error *find_group(tt_cpu_maker *m, const tt_hlo_op *op, tt_cpu_block *block,
                            int64_t count, tt_cpu_step **out_step) {
  tt_cpu_step *step = NULL;
  for (uint32_t i = 0; i < op->operands_count; i++) {
    tt_cpu_step *other = operand_group(m, op->operands[i], block, count);
    if (other == NULL || other == step || other->group->ops_count == TT_CPU_GROUP_OPS)
      continue;
    if (step == NULL)
      step = other;
    else if (step->group->ops_count + other->group->ops_count < TT_CPU_GROUP_OPS)
      merge_groups(m, step, other);
  }
  if (step == NULL) {
    TT_RETURN_IF_ERROR(tt_cpu_new_step(m, block, op, &step));
    step->group = tt_arena_alloc(&m->scratch, sizeof *step->group);
    if (step->group == NULL)
      return no_memory();
    step->group->open = true;
    step->group->count = count;
  } else {
    tt_cpu_remove_step(block, step);
    tt_cpu_append_step(block, step);
  }
  *out_step = step;
  return NULL;
}

tt_error *tt_cpu_compile_elementwise(tt_cpu_maker *m, tt_hlo_op *op, tt_cpu_block *block) {
  tt_cpu_step *step = NULL;
  TT_RETURN_IF_ERROR(tt_cpu_tile_check(op));
  TT_RETURN_IF_ERROR(tt_cpu_add_typed(m, &op->results[0], TT_CPU_VALUE_STEP, block));
  int64_t count = tt_cpu_value_at(m, op->results[0].number)->count;
  TT_RETURN_IF_ERROR(find_group(m, op, block, count, &step));
  for (uint32_t i = 0; i < op->operands_count; i++) {
    if (operand_group(m, op->operands[i], block, count) == step)
      tt_cpu_value_at(m, tt_cpu_root_of(m, op->operands[i]->number))->uses++;
    else
      tt_cpu_use_root(m, tt_cpu_root_of(m, op->operands[i]->number));
  }
  tt_cpu_value_at(m, op->results[0].number)->step = step;
  step->group->ops[step->group->ops_count++] = op;
  step->op = op;
  return NULL;
}

/* A group that becomes a program. */
typedef struct group_build {
  tt_cpu_step *step;
  uint32_t ops_count, ins, outs;
  tt_cpu_tile_op ops[TT_CPU_GROUP_OPS];
  uint32_t results[TT_CPU_GROUP_OPS]; /* roots */
  tt_cpu_tile_in in[3 * TT_CPU_GROUP_OPS];
  uint32_t in_roots[3 * TT_CPU_GROUP_OPS], out_roots[TT_CPU_GROUP_OPS];
  tt_cpu_tile_out out[TT_CPU_GROUP_OPS];
} group_build;

static tt_cpu_tile_operand group_operand(const tt_cpu_maker *m, group_build *g,
                                         const tt_hlo_value *operand) {
  uint32_t root = tt_cpu_root_of(m, operand->number);
  tt_cpu_tile_in form = tt_cpu_operand_form(m, operand, g->step->group->count);
  for (uint32_t i = 0; i < g->ops_count && form.period == 0; i++)
    if (g->results[i] == root)
      return (tt_cpu_tile_operand){(int32_t)i};
  uint32_t i = 0;
  while (i < g->ins &&
         (g->in_roots[i] != root || g->in[i].inner != form.inner || g->in[i].period != form.period))
    i++;
  if (i == g->ins) {
    g->in[g->ins] = form;
    g->in_roots[g->ins++] = root;
  }
  return (tt_cpu_tile_operand){-1 - (int32_t)i};
}

/* Drops ops that nothing reads, and what only they read. */
static uint64_t needed_ops(tt_cpu_maker *m, const tt_cpu_group *group) {
  uint64_t needed = 0;
  for (uint32_t i = group->ops_count; i-- > 0;) {
    const tt_hlo_op *op = group->ops[i];
    if (tt_cpu_value_at(m, op->results[0].number)->uses > 0)
      needed |= UINT64_C(1) << i;
    else
      for (uint32_t k = 0; k < op->operands_count; k++)
        tt_cpu_value_at(m, tt_cpu_root_of(m, op->operands[k]->number))->uses--;
  }
  return needed;
}

static void collect_group(tt_cpu_maker *m, group_build *g) {
  const tt_cpu_group *group = g->step->group;
  uint64_t needed = needed_ops(m, group);
  uint32_t inside[TT_CPU_GROUP_OPS] = {0};
  for (uint32_t i = 0; i < group->ops_count; i++) {
    const tt_hlo_op *op = group->ops[i];
    tt_cpu_tile_op *to = &g->ops[g->ops_count];
    if ((needed >> i & 1) == 0)
      continue;
    to->op = op;
    for (uint32_t k = 0; k < op->operands_count; k++) {
      to->in[k] = group_operand(m, g, op->operands[k]);
      if (to->in[k].made >= 0)
        inside[to->in[k].made]++;
    }
    g->results[g->ops_count++] = op->results[0].number;
  }
  for (uint32_t i = 0; i < g->ops_count; i++) {
    tt_cpu_value *value = tt_cpu_value_at(m, g->results[i]);
    g->ops[i].out = -1;
    if (value->uses == inside[i])
      continue;
    value->out = g->outs;
    value->leaves = true;
    g->ops[i].out = (int32_t)g->outs;
    g->out[g->outs].bytes = value->element;
    g->out_roots[g->outs++] = g->results[i];
  }
}

tt_error *tt_cpu_finish_group(tt_cpu_maker *m, tt_cpu_step *step) {
  group_build g = {.step = step};
  tt_arena *arena = &m->plan->arena;
  collect_group(m, &g);
  if (g.outs == 0) {
    tt_cpu_remove_step(step->block, step);
    return NULL;
  }
  TT_RETURN_IF_ERROR(tt_cpu_size_step(m, step, g.ins, g.outs, 0));
  memcpy(step->values, g.in_roots, g.ins * sizeof *g.in_roots);
  memcpy(step->values + g.ins, g.out_roots, g.outs * sizeof *g.out_roots);
  tt_cpu_tile_in *in = tt_arena_array(arena, g.ins, sizeof *in);
  tt_cpu_tile_out *out = tt_arena_copy(arena, g.out, g.outs * sizeof *out);
  if (in == NULL || out == NULL)
    return no_memory();
  memcpy(in, g.in, g.ins * sizeof *in);
  step->kernel = tt_cpu_kernel_tile;
  return tt_cpu_tile_make(arena, g.ops, g.ops_count, step->group->count, in, g.ins, out, g.outs,
                          &step->tile);
}
