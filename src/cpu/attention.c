/* Attention: a product whose result is read row by row by one group, and of what that gives one
 * value by another product alone. The three become one step, and the two values get no memory. */
#include <string.h>

#include "cpu/compile.h"
#include "cpu/kernels/attention.h"

enum { BATCH_ROWS_LEAST = 8 }; /* fewer rows are shared out better by the products alone */

typedef struct match {
  tt_cpu_step *first, *rows, *last;
  uint32_t scores, weights; /* roots */
} match;

/* Of the group's ops that are not dropped. */
static uint32_t reads_of(const tt_cpu_maker *m, const tt_cpu_group *group, uint32_t root) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < group->ops_count; i++) {
    const tt_hlo_op *op = group->ops[i];
    uint32_t operands = op->code == TT_HLO_REDUCE ? 1 : op->operands_count;
    if (tt_cpu_value_at(m, op->results[0].number)->uses == 0)
      continue;
    for (uint32_t k = 0; k < operands; k++)
      count += tt_cpu_root_of(m, op->operands[k]->number) == root;
  }
  return count;
}

/* Every op of the group reads the root element by element. */
static bool reads_whole(const tt_cpu_maker *m, const tt_cpu_group *group, uint32_t root) {
  for (uint32_t i = 0; i < group->ops_count; i++)
    for (uint32_t k = 0; k < group->ops[i]->operands_count; k++) {
      const tt_hlo_value *operand = group->ops[i]->operands[k];
      if (tt_cpu_root_of(m, operand->number) == root &&
          (tt_cpu_operand_form(m, operand, group->count).period != 0 ||
           tt_cpu_value_at(m, operand->number)->count != group->count))
        return false;
    }
  return true;
}

static bool is_f32_product(const tt_cpu_step *step) {
  return step->op != NULL && step->op->code == TT_HLO_DOT_GENERAL && step->attention == NULL &&
         !step->absorbed->adds_row && step->op->operands[0]->type.dtype == TT_F32 &&
         step->op->operands[1]->type.dtype == TT_F32 && step->op->results[0].type.dtype == TT_F32;
}

static const tt_hlo_dot_dims *dims_of(const tt_cpu_step *product) {
  return tt_hlo_op_attr(product->op, TT_HLO_DOT_DIMENSION_NUMBERS)->dims;
}

static int64_t count_of(const tt_hlo_type *type, tt_hlo_list axes) {
  int64_t count = 1;
  for (size_t i = 0; i < axes.count; i++)
    count *= type->dims[axes.items[i]];
  return count;
}

/* The left operand is [batch..., free..., contract...] as it lies. */
static bool lies_in_order(const tt_cpu_step *product) {
  const tt_hlo_dot_dims *dims = dims_of(product);
  int32_t rank = product->op->operands[0]->type.rank;
  bool ordered = product->absorbed->views[0].strides == NULL;
  for (size_t i = 0; i < dims->lhs_batch.count; i++)
    ordered = ordered && dims->lhs_batch.items[i] == (int64_t)i;
  for (size_t i = 0; i < dims->lhs_contract.count; i++)
    ordered = ordered &&
              dims->lhs_contract.items[i] == rank - (int64_t)dims->lhs_contract.count + (int64_t)i;
  return ordered;
}

/* Products of the same batches, whose rows are those of the program. */
static bool sizes_meet(const match *found) {
  const tt_hlo_dot_dims *first = dims_of(found->first), *last = dims_of(found->last);
  const tt_hlo_type *q = &found->first->op->operands[0]->type;
  const tt_hlo_type *k = &found->first->op->operands[1]->type;
  const tt_hlo_type *weights = &found->last->op->operands[0]->type;
  const tt_cpu_rows *rows = found->rows->rows;
  int64_t batches = count_of(q, first->lhs_batch), depth = count_of(q, first->lhs_contract);
  if (batches == 0 || depth == 0 || tt_cpu_count(k) == 0 ||
      tt_cpu_count(&found->last->op->results[0].type) == 0)
    return false;
  return rows->rows / batches >= BATCH_ROWS_LEAST && rows->rows % batches == 0 &&
         tt_cpu_count(k) / batches / depth == rows->row &&
         count_of(weights, last->lhs_batch) == batches &&
         count_of(weights, last->lhs_contract) == rows->row;
}

/* Nothing between needs what the group gives, which comes later now. */
static bool may_wait(const match *found) {
  const tt_cpu_step *rows = found->rows;
  for (const tt_cpu_step *step = rows->next; step != found->last; step = step->next) {
    if (step == NULL || step->blocks != NULL)
      return false;
    for (uint32_t i = 0; i < step->ins; i++)
      for (uint32_t k = 0; k < rows->outs; k++)
        if (step->values[i] == rows->values[rows->ins + k])
          return false;
  }
  return true;
}

/* The step that makes the root, in this block. */
static tt_cpu_step *maker_in(const tt_cpu_maker *m, const tt_cpu_block *block, uint32_t root) {
  const tt_cpu_value *value = tt_cpu_value_at(m, root);
  return value->kind == TT_CPU_VALUE_STEP && value->step != NULL && value->step->block == block
             ? value->step
             : NULL;
}

/* The product whose result the group reads, and nothing else does. */
static bool find_first(const tt_cpu_maker *m, match *found) {
  const tt_cpu_step *rows = found->rows;
  for (uint32_t i = 0; i < rows->ins; i++) {
    tt_cpu_step *step = maker_in(m, rows->block, rows->values[i]);
    found->first = step;
    found->scores = rows->values[i];
    if (step != NULL && is_f32_product(step) && sizes_meet(found) &&
        tt_cpu_value_at(m, found->scores)->count == rows->group->count &&
        tt_cpu_value_at(m, found->scores)->uses == reads_of(m, rows->group, found->scores) &&
        reads_whole(m, rows->group, found->scores))
      return true;
  }
  return false;
}

static bool find(const tt_cpu_maker *m, tt_cpu_step *last, match *found) {
  if (!is_f32_product(last) || !lies_in_order(last))
    return false;
  found->last = last;
  found->weights = last->values[0];
  found->rows = maker_in(m, last->block, found->weights);
  if (found->rows == NULL || found->rows->rows == NULL || last->values[1] == found->weights ||
      !tt_cpu_rows_divide(found->rows->rows))
    return false;
  const tt_cpu_value *weights = tt_cpu_value_at(m, found->weights);
  return weights->count == found->rows->group->count &&
         weights->uses == reads_of(m, found->rows->group, found->weights) + 1 &&
         find_first(m, found) && may_wait(found);
}

/* Copies all of `from` but the root; where that was is returned. */
static uint32_t copy_but(const uint32_t *from, uint32_t count, uint32_t root, uint32_t *to) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < count; i++)
    if (from[i] == root)
      at = i;
    else
      *to++ = from[i];
  return at;
}

static tt_error *join(tt_cpu_maker *m, const match *found) {
  tt_cpu_step *first = found->first, *rows = found->rows, *last = found->last;
  uint32_t in[2] = {first->values[0], first->values[1]}, v = last->values[1];
  uint32_t result = last->values[2];
  tt_cpu_attention *a = tt_arena_alloc(&m->plan->arena, sizeof *a);
  if (a == NULL)
    return tt_error_no_memory(0);
  TT_RETURN_IF_ERROR(tt_cpu_size_step(m, last, rows->ins + 2, rows->outs, 0));
  memcpy(last->values, in, sizeof in);
  a->scores = copy_but(rows->values, rows->ins, found->scores, last->values + 2);
  a->weights =
      copy_but(rows->values + rows->ins, rows->outs, found->weights, last->values + last->ins);
  last->values[last->ins - 1] = v;
  last->values[last->ins + last->outs - 1] = result;
  for (uint32_t i = 0; i < last->outs; i++) {
    tt_cpu_value *value = tt_cpu_value_at(m, last->values[last->ins + i]);
    value->step = last;
    value->out = i;
  }
  a->first = first->op;
  a->first_views = first->absorbed;
  a->last_views = last->absorbed;
  a->rows = rows->rows;
  a->group = rows->group;
  a->over = tt_cpu_rows_over(rows->rows, a->scores, a->weights);
  last->attention = a;
  last->kernel = tt_cpu_kernel_attention;
  tt_cpu_value_at(m, found->scores)->step = NULL;
  tt_cpu_value_at(m, found->weights)->step = NULL;
  tt_cpu_remove_step(first->block, first);
  tt_cpu_remove_step(rows->block, rows);
  return NULL;
}

tt_error *tt_cpu_join_attention(tt_cpu_maker *m, tt_cpu_block *block) {
  for (tt_cpu_step *step = block->first; step != NULL; step = step->next) {
    match found = {0};
    if (find(m, step, &found))
      TT_RETURN_IF_ERROR(join(m, &found));
  }
  return NULL;
}
