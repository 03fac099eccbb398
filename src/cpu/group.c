/* Elementwise ops, and reductions among them, that become one step; the program of each. */
#include <string.h>

#include "cpu/compile.h"

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

/* ---- what a group holds ---- */

enum { ROW_MAX = 8192, FEW_ROWS = 8, SMALL_COUNT = 1 << 16 };

static bool is_reduce(const tt_hlo_op *op) { return op->code == TT_HLO_REDUCE; }
/* What a reduction begins with is a constant of the program. */
static uint32_t operands_count(const tt_hlo_op *op) {
  return is_reduce(op) ? 1 : op->operands_count;
}

static int64_t rows_of(const tt_cpu_group *group) {
  return group->row == 0 ? 0 : group->count / group->row;
}

static tt_cpu_rows_class class_of(const tt_cpu_group *group, const tt_hlo_op *op) {
  if (is_reduce(op))
    return tt_cpu_reduce_shape_of(op).inner > 1 ? TT_CPU_ROWS_COLUMN : TT_CPU_ROWS_EACH;
  return tt_cpu_count(&op->results[0].type) == group->count ? TT_CPU_ROWS_FULL : TT_CPU_ROWS_EACH;
}

/* The group's op that makes the root. */
static const tt_hlo_op *maker_of(const tt_cpu_group *group, uint32_t root) {
  for (uint32_t i = 0; i < group->ops_count; i++)
    if (group->ops[i]->results[0].number == root)
      return group->ops[i];
  return NULL;
}

/* An op that gives `count` elements may read the operand inside of the group. */
static bool reads_inside(const tt_cpu_maker *m, const tt_cpu_group *group,
                         const tt_hlo_value *operand, int64_t count) {
  const tt_hlo_op *made = maker_of(group, tt_cpu_root_of(m, operand->number));
  tt_cpu_tile_in form = tt_cpu_operand_form(m, operand, count);
  if (made == NULL)
    return false;
  tt_cpu_rows_class class = class_of(group, made);
  if (count == group->count)
    return (class == TT_CPU_ROWS_FULL && form.period == 0) ||
           (class == TT_CPU_ROWS_EACH && form.inner == group->row && form.period == rows_of(group));
  return count == rows_of(group) && class == TT_CPU_ROWS_EACH && form.period == 0;
}

/* The open group of the operand's value, when an op of `count` elements in `block` may join it. */
static tt_cpu_step *operand_group(const tt_cpu_maker *m, const tt_hlo_value *operand,
                                  const tt_cpu_block *block, int64_t count) {
  const tt_cpu_value *root = tt_cpu_value_at(m, tt_cpu_root_of(m, operand->number));
  if (root->kind != TT_CPU_VALUE_STEP || root->step == NULL || root->step->group == NULL ||
      root->step->block != block || !root->step->group->open)
    return NULL;
  return reads_inside(m, root->step->group, operand, count) ? root->step : NULL;
}

/* An op without machine code would leave all of the group's to the loops. */
static bool may_join(const tt_cpu_group *group, const tt_hlo_op *op) {
  return tt_cpu_tile_has_code(op) ? !group->codeless : !group->coded;
}

/* The op reads a value of the group that is only there when the group has run. */
static bool must_follow(const tt_cpu_maker *m, const tt_cpu_step *step, const tt_hlo_op *op,
                        int64_t count) {
  for (uint32_t i = 0; i < op->operands_count; i++)
    if (maker_of(step->group, tt_cpu_root_of(m, op->operands[i]->number)) != NULL &&
        !reads_inside(m, step->group, op->operands[i], count))
      return true;
  return false;
}

static bool may_merge(const tt_cpu_group *a, const tt_cpu_group *b) {
  return a->count == b->count && !(a->coded && b->codeless) && !(a->codeless && b->coded) &&
         a->ops_count + b->ops_count < TT_CPU_GROUP_OPS &&
         (a->row == 0 || b->row == 0 || a->row == b->row);
}

static void merge_groups(tt_cpu_maker *m, tt_cpu_step *into, tt_cpu_step *from) {
  tt_cpu_group *a = into->group, *b = from->group;
  for (uint32_t i = 0; i < b->ops_count; i++) {
    a->ops[a->ops_count++] = b->ops[i];
    tt_cpu_value_at(m, b->ops[i]->results[0].number)->step = into;
  }
  a->row = a->row == 0 ? b->row : a->row;
  a->coded = a->coded || b->coded;
  a->codeless = a->codeless || b->codeless;
  b->ops_count = 0;
  b->open = false;
}

static tt_error *new_group(tt_cpu_maker *m, const tt_hlo_op *op, tt_cpu_block *block, int64_t count,
                           tt_cpu_step **out_step) {
  TT_RETURN_IF_ERROR(tt_cpu_new_step(m, block, op, out_step));
  tt_cpu_group *group = tt_arena_alloc(&m->scratch, sizeof *group);
  if (group == NULL)
    return tt_error_no_memory(0);
  group->open = true;
  group->count = count;
  (*out_step)->group = group;
  return NULL;
}

static tt_error *find_group(tt_cpu_maker *m, const tt_hlo_op *op, tt_cpu_block *block,
                            int64_t count, tt_cpu_step **out_step) {
  tt_cpu_step *step = NULL;
  for (uint32_t i = 0; i < op->operands_count; i++) {
    tt_cpu_step *other = operand_group(m, op->operands[i], block, count);
    if (other == NULL || other == step || other->group->ops_count == TT_CPU_GROUP_OPS ||
        must_follow(m, other, op, count) || !may_join(other->group, op))
      continue;
    if (step == NULL)
      step = other;
    else if (may_merge(step->group, other->group))
      merge_groups(m, step, other);
  }
  if (step == NULL)
    return new_group(m, op, block, count, out_step);
  *out_step = step;
  return NULL;
}

/* The op is the group's newest, and the group's step the block's last. */
static void join_group(tt_cpu_maker *m, tt_hlo_op *op, tt_cpu_step *step) {
  tt_cpu_remove_step(step->block, step);
  tt_cpu_append_step(step->block, step);
  tt_cpu_value_at(m, op->results[0].number)->step = step;
  step->group->ops[step->group->ops_count++] = op;
  step->op = op;
  if (!is_reduce(op))
    *(tt_cpu_tile_has_code(op) ? &step->group->coded : &step->group->codeless) = true;
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
  join_group(m, op, step);
  return NULL;
}

/* ---- reductions ---- */

/* The reduction as one of rows of `row` elements; false when a group has no use for it. */
static bool reduces_rows(const tt_cpu_maker *m, const tt_hlo_op *op, int64_t *out_row,
                         bool *out_columns) {
  int64_t count = tt_cpu_count(&op->operands[0]->type);
  if (count == 0 || tt_cpu_reducer_of(op).row == NULL ||
      tt_cpu_value_at(m, op->operands[0]->number)->period != 0 ||
      tt_cpu_value_at(m, tt_cpu_root_of(m, op->operands[1]->number))->kind != TT_CPU_VALUE_CONSTANT)
    return false;
  tt_cpu_reduce_shape shape = tt_cpu_reduce_shape_of(op);
  *out_columns = shape.inner > 1;
  *out_row = *out_columns ? shape.inner : shape.middle;
  int64_t rows = *out_columns ? shape.middle : shape.outer;
  return !shape.packed && (shape.inner == 1 || shape.outer == 1) && *out_row > 1 &&
         *out_row <= ROW_MAX && rows > 1 && (rows >= FEW_ROWS || count <= SMALL_COUNT);
}

static bool reads_root(const tt_cpu_maker *m, const tt_cpu_group *group, uint32_t root) {
  for (uint32_t i = 0; i < group->ops_count; i++)
    for (uint32_t k = 0; k < operands_count(group->ops[i]); k++)
      if (tt_cpu_root_of(m, group->ops[i]->operands[k]->number) == root)
        return true;
  return false;
}

/* The group that makes the operand; else the block's last, when it passes over the operand anyway.
 */
static tt_cpu_step *reduced_group(const tt_cpu_maker *m, const tt_hlo_op *op, tt_cpu_block *block,
                                  int64_t row) {
  int64_t count = tt_cpu_count(&op->operands[0]->type);
  tt_cpu_step *step = operand_group(m, op->operands[0], block, count);
  if (step != NULL && step->group->count != count) /* it is one of a group's own rows' results */
    step = NULL;
  if (step == NULL && block->last != NULL && block->last->group != NULL &&
      block->last->group->open && block->last->group->count == count &&
      reads_root(m, block->last->group, tt_cpu_root_of(m, op->operands[0]->number)))
    step = block->last;
  bool fits = step != NULL && step->group->ops_count < TT_CPU_GROUP_OPS &&
              (step->group->row == 0 || step->group->row == row);
  return fits ? step : NULL;
}

tt_error *tt_cpu_compile_reduce(tt_cpu_maker *m, tt_hlo_op *op, tt_cpu_block *block,
                                bool *out_done) {
  int64_t row = 0;
  bool columns = false;
  *out_done = false;
  if (!is_reduce(op) || !reduces_rows(m, op, &row, &columns))
    return NULL;
  tt_cpu_step *step = reduced_group(m, op, block, row);
  if (step == NULL && columns)
    return NULL;
  *out_done = true;
  int64_t count = tt_cpu_count(&op->operands[0]->type);
  TT_RETURN_IF_ERROR(tt_cpu_add_typed(m, &op->results[0], TT_CPU_VALUE_STEP, block));
  if (step == NULL)
    TT_RETURN_IF_ERROR(new_group(m, op, block, count, &step));
  uint32_t root = tt_cpu_root_of(m, op->operands[0]->number);
  if (operand_group(m, op->operands[0], block, count) == step)
    tt_cpu_value_at(m, root)->uses++;
  else
    tt_cpu_use_root(m, root);
  step->group->row = row;
  join_group(m, op, step);
  return NULL;
}

/* ---- programs ---- */

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
                                         const tt_hlo_value *operand, int64_t count) {
  uint32_t root = tt_cpu_root_of(m, operand->number);
  tt_cpu_tile_in form = tt_cpu_operand_form(m, operand, count);
  for (uint32_t i = 0; i < g->ops_count; i++)
    if (g->results[i] == root && reads_inside(m, g->step->group, operand, count))
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
      for (uint32_t k = 0; k < operands_count(op); k++)
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
    int64_t count = tt_cpu_count(is_reduce(op) ? &op->operands[0]->type : &op->results[0].type);
    for (uint32_t k = 0; k < operands_count(op); k++) {
      to->in[k] = group_operand(m, g, op->operands[k], count);
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

/* A reduction that nothing came to join runs as its kernel does. */
static tt_error *finish_alone(tt_cpu_maker *m, const group_build *g) {
  tt_cpu_step *step = g->step;
  const tt_hlo_op *op = g->ops[0].op;
  uint32_t init = tt_cpu_root_of(m, op->operands[1]->number);
  TT_RETURN_IF_ERROR(tt_cpu_size_step(m, step, 2, 1, 0));
  step->values[0] = g->in_roots[0];
  step->values[1] = init;
  step->values[2] = g->results[0];
  step->op = op;
  step->kernel = tt_cpu_kernels[op->code].kernel;
  step->group = NULL;
  tt_cpu_value_at(m, init)->uses++;
  return NULL;
}

static tt_error *finish_tile(tt_cpu_maker *m, const group_build *g) {
  tt_arena *arena = &m->plan->arena;
  tt_cpu_tile_in *in = tt_arena_array(arena, g->ins, sizeof *in);
  tt_cpu_tile_out *out = tt_arena_copy(arena, g->out, g->outs * sizeof *out);
  if (in == NULL || out == NULL)
    return tt_error_no_memory(0);
  memcpy(in, g->in, g->ins * sizeof *in);
  g->step->kernel = tt_cpu_kernel_tile;
  return tt_cpu_tile_make(arena, &m->plan->codes, g->ops, g->ops_count, g->step->group->count, in,
                          g->ins, out, g->outs, NULL, &g->step->tile);
}

static tt_error *rows_kernel(const tt_cpu_args *args) {
  int64_t size = 0;
  bool fits = tt_cpu_rows_run(args->run->step->rows, args->run, args->in, args->out, &size);
  return fits ? NULL : tt_cpu_no_scratch(args->op, size);
}

static tt_error *finish_rows(tt_cpu_maker *m, const group_build *g) {
  const tt_cpu_group *group = g->step->group;
  tt_cpu_rows_op ops[TT_CPU_GROUP_OPS];
  tt_cpu_rows_in in[3 * TT_CPU_GROUP_OPS];
  for (uint32_t i = 0; i < g->ops_count; i++) {
    const tt_cpu_tile_op *from = &g->ops[i];
    ops[i] = (tt_cpu_rows_op){from->op,
                              class_of(group, from->op),
                              {from->in[0], from->in[1], from->in[2]},
                              from->out,
                              NULL};
    if (is_reduce(from->op)) {
      uint32_t init = tt_cpu_root_of(m, from->op->operands[1]->number);
      ops[i].init = (const void *)(intptr_t)tt_cpu_value_at(m, init)->ref.offset;
    }
  }
  for (uint32_t i = 0; i < g->ins; i++)
    in[i] = (tt_cpu_rows_in){g->in[i].inner, g->in[i].period, g->in[i].bytes};
  g->step->kernel = rows_kernel;
  return tt_cpu_rows_make(&m->plan->arena, &m->plan->codes, rows_of(group), group->row, ops,
                          g->ops_count, in, g->ins, g->outs, &g->step->rows);
}

tt_error *tt_cpu_finish_group(tt_cpu_maker *m, tt_cpu_step *step) {
  group_build g = {.step = step};
  collect_group(m, &g);
  if (g.outs == 0) {
    tt_cpu_remove_step(step->block, step);
    return NULL;
  }
  if (g.ops_count == 1 && is_reduce(g.ops[0].op))
    return finish_alone(m, &g);
  TT_RETURN_IF_ERROR(tt_cpu_size_step(m, step, g.ins, g.outs, 0));
  memcpy(step->values, g.in_roots, g.ins * sizeof *g.in_roots);
  memcpy(step->values + g.ins, g.out_roots, g.outs * sizeof *g.out_roots);
  return step->group->row > 0 ? finish_rows(m, &g) : finish_tile(m, &g);
}
