/* What steps take over from their neighbours: transposes, slices and broadcasts of a matrix
 * product's operands, the row that is added to its result. */
#include <string.h>

#include "cpu/compile.h"
#include "cpu/kernel.h"

enum { CHAIN_MAX = 8 };

/* ---- views ---- */

static void apply_transpose(const tt_hlo_op *op, tt_cpu_strided *view) {
  tt_hlo_list permutation = tt_cpu_attr_list(op, TT_HLO_PERMUTATION);
  int64_t strides[TT_HLO_RANK_MAX];
  for (size_t i = 0; i < permutation.count; i++)
    strides[i] = view->strides[permutation.items[i]];
  memcpy(view->strides, strides, permutation.count * sizeof *strides);
}

static void apply_slice(const tt_hlo_op *op, tt_cpu_strided *view) {
  tt_hlo_list start = tt_cpu_attr_list(op, TT_HLO_START_INDICES);
  tt_hlo_list step = tt_cpu_attr_list(op, TT_HLO_STRIDES);
  for (size_t i = 0; i < start.count; i++) {
    view->offset += start.items[i] * view->strides[i];
    view->strides[i] *= step.items[i];
  }
}

static void apply_broadcast(const tt_hlo_op *op, tt_cpu_strided *view) {
  tt_hlo_list map = tt_cpu_attr_list(op, TT_HLO_BROADCAST_DIMENSIONS);
  int64_t strides[TT_HLO_RANK_MAX] = {0};
  for (size_t i = 0; i < map.count; i++)
    if (op->operands[0]->type.dims[i] != 1)
      strides[map.items[i]] = view->strides[i];
  memcpy(view->strides, strides, (size_t)op->results[0].type.rank * sizeof *strides);
}

/* Axes that lie as one: its elements and their stride. */
typedef struct run_of_axes {
  int64_t count, stride;
} run_of_axes;

/* The type's axes longer than 1, joined where they lie evenly. */
static int32_t join_axes(const tt_hlo_type *type, const int64_t *strides, run_of_axes *out_runs) {
  int32_t count = 0;
  for (int32_t i = 0; i < type->rank; i++) {
    run_of_axes *last = count > 0 ? &out_runs[count - 1] : NULL;
    if (type->dims[i] == 1)
      continue;
    if (last != NULL && last->stride == strides[i] * type->dims[i])
      *last = (run_of_axes){last->count * type->dims[i], strides[i]};
    else
      out_runs[count++] = (run_of_axes){type->dims[i], strides[i]};
  }
  return count;
}

/* Each axis of the result must be a part of one run. */
static bool apply_reshape(const tt_hlo_op *op, tt_cpu_strided *view) {
  const tt_hlo_type *to = &op->results[0].type;
  run_of_axes runs[TT_HLO_RANK_MAX];
  int32_t run = join_axes(&op->operands[0]->type, view->strides, runs) - 1;
  if (tt_cpu_count(to) == 0)
    return false;
  for (int32_t i = to->rank; i-- > 0;) {
    view->strides[i] = 0;
    if (to->dims[i] == 1)
      continue;
    if (runs[run].count % to->dims[i] != 0)
      return false;
    view->strides[i] = runs[run].stride;
    runs[run].stride *= to->dims[i];
    runs[run].count /= to->dims[i];
    run -= runs[run].count == 1;
  }
  return true;
}

static bool apply(const tt_hlo_op *op, tt_cpu_strided *view) {
  switch (op->code) {
    case TT_HLO_TRANSPOSE:
      apply_transpose(op, view);
      return true;
    case TT_HLO_SLICE:
      apply_slice(op, view);
      return true;
    case TT_HLO_BROADCAST_IN_DIM:
      apply_broadcast(op, view);
      return true;
    case TT_HLO_RESHAPE:
      return apply_reshape(op, view);
    default:
      return false;
  }
}

/* The highest value that `value` is a view of; NULL when that would not be read at its place. */
static const tt_hlo_value *find_base(const tt_cpu_maker *m, const tt_hlo_value *value, int depth,
                                     tt_cpu_strided *view) {
  const tt_hlo_op *op = value->op;
  bool moves = op != NULL && depth < CHAIN_MAX &&
               (op->code == TT_HLO_TRANSPOSE || op->code == TT_HLO_SLICE ||
                op->code == TT_HLO_BROADCAST_IN_DIM || op->code == TT_HLO_RESHAPE);
  if (moves) {
    const tt_hlo_value *base = find_base(m, op->operands[0], depth + 1, view);
    if (base != NULL && apply(op, view))
      return base;
  }
  view->offset = 0;
  tt_cpu_strides(&value->type, view->strides);
  return tt_cpu_value_at(m, value->number)->period == 0 ? value : NULL;
}

tt_error *tt_cpu_absorb_view(tt_cpu_maker *m, const tt_hlo_value *operand, tt_cpu_strided *out,
                             const tt_hlo_value **out_base) {
  int64_t strides[TT_HLO_RANK_MAX];
  tt_cpu_strided view = {0, strides};
  const tt_hlo_value *base = find_base(m, operand, 0, &view);
  *out = (tt_cpu_strided){0, NULL};
  *out_base = NULL;
  if (base == NULL || base == operand || operand->type.rank == 0)
    return NULL;
  out->offset = view.offset;
  out->strides =
      tt_arena_copy(&m->plan->arena, strides, (size_t)operand->type.rank * sizeof *strides);
  if (out->strides == NULL)
    return tt_error_no_memory(0);
  *out_base = base;
  return NULL;
}

/* ---- rows added to a product ---- */

/* The step of a product whose result only the group reads, or NULL. */
static tt_cpu_step *product_of(const tt_cpu_maker *m, const tt_hlo_value *operand,
                               const tt_cpu_step *group) {
  const tt_cpu_value *root = tt_cpu_value_at(m, tt_cpu_root_of(m, operand->number));
  const tt_cpu_step *step = root->kind == TT_CPU_VALUE_STEP ? root->step : NULL;
  if (step == NULL || step->op == NULL || step->op->code != TT_HLO_DOT_GENERAL ||
      step->block != group->block || root->uses != 1 || step->absorbed->adds_row)
    return NULL;
  tt_dtype dtype = step->op->results[0].type.dtype;
  return dtype == TT_F32 || dtype == TT_F64 ? root->step : NULL;
}

static int64_t product_columns(const tt_hlo_op *op) {
  const tt_hlo_dot_dims *dims = tt_hlo_op_attr(op, TT_HLO_DOT_DIMENSION_NUMBERS)->dims;
  const tt_hlo_type *rhs = &op->operands[1]->type;
  size_t used = dims->rhs_batch.count + dims->rhs_contract.count;
  int64_t columns = 1;
  for (int32_t i = rhs->rank - (int32_t)used, k = op->results[0].type.rank - 1; i > 0; i--, k--)
    columns *= op->results[0].type.dims[k];
  return columns;
}

/* Which operand of the addition is the product; -1: the op is no addition of a row to one. */
static int product_operand(const tt_cpu_maker *m, const tt_hlo_op *op, const tt_cpu_step *group) {
  if (op->code != TT_HLO_ADD || tt_cpu_value_at(m, op->results[0].number)->uses == 0)
    return -1;
  for (int i = 0; i < 2; i++) {
    const tt_cpu_step *product = product_of(m, op->operands[i], group);
    if (product == NULL)
      continue;
    tt_cpu_tile_in row = tt_cpu_operand_form(m, op->operands[1 - i], group->group->count);
    if (row.inner == 1 && row.period > 1 && row.period == product_columns(product->op))
      return i;
  }
  return -1;
}

/* The product's step gives the sum, and stands where the group stood. */
static tt_error *absorb_row(tt_cpu_maker *m, const tt_hlo_op *op, int which, tt_cpu_step *group) {
  uint32_t old = tt_cpu_root_of(m, op->operands[which]->number), made = op->results[0].number;
  tt_cpu_step *step = tt_cpu_value_at(m, old)->step;
  uint32_t ins[2] = {step->values[0], step->values[1]};
  TT_RETURN_IF_ERROR(tt_cpu_size_step(m, step, 3, 1, 0));
  memcpy(step->values, ins, sizeof ins);
  step->values[2] = tt_cpu_root_of(m, op->operands[1 - which]->number);
  step->values[3] = made;
  step->absorbed->adds_row = true;
  tt_cpu_value_at(m, old)->step = NULL;
  tt_cpu_value_at(m, made)->step = step;
  tt_cpu_remove_step(step->block, step);
  tt_cpu_insert_step(group, step);
  return NULL;
}

tt_error *tt_cpu_absorb_rows(tt_cpu_maker *m, tt_cpu_step *group) {
  tt_cpu_group *g = group->group;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < g->ops_count; i++) {
    int which = product_operand(m, g->ops[i], group);
    if (which < 0)
      g->ops[kept++] = g->ops[i];
    else
      TT_RETURN_IF_ERROR(absorb_row(m, g->ops[i], which, group));
  }
  g->ops_count = kept;
  return NULL;
}
