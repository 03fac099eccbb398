/* What the plugin may know of a program before it compiles it. */
#include "runtime/internal.h"

enum { QUICK_OPS = 400, QUICK_RESULTS = 4 };

static bool is_used_twice(const tt_hlo_op *maker) {
  size_t count = 0;
  for (const tt_hlo_op *op = maker->next; op != NULL; op = op->next)
    for (size_t i = 0; i < op->operands_count; i++)
      count += op->operands[i] == maker->results;
  return count > 1;
}

/* One of those that run slowly unless compiled well. */
static bool needs_care(const tt_hlo_op *op) {
  switch (op->code) {
    case TT_HLO_SCATTER:
    case TT_HLO_WHILE:
      return true;
    case TT_HLO_EXPONENTIAL: /* a quick compilation computes it once for each use */
      return is_used_twice(op);
    case TT_HLO_REDUCE: {
      const tt_hlo_list axes = tt_hlo_op_attr(op, TT_HLO_DIMENSIONS)->i64s;
      const tt_hlo_type *type = &op->operands[0]->type;
      return type->dtype != TT_F32 && axes.count != 0 &&
             axes.items[axes.count - 1] != type->rank - 1;
    }
    default:
      return false;
  }
}

/* Whether more than one number comes from each batch. */
static bool is_matrix_product(const tt_hlo_op *dot) {
  const tt_hlo_dot_dims *dims = tt_hlo_op_attr(dot, TT_HLO_DOT_DIMENSION_NUMBERS)->dims;
  const tt_hlo_type *type = &dot->results[0].type;
  int64_t count = 1;
  if (type->dtype != TT_F32 && type->dtype != TT_BF16)
    return false;
  for (int32_t i = (int32_t)dims->lhs_batch.count; i < type->rank; i++)
    count *= type->dims[i];
  return count > 1;
}

/* Whether a product's operands may come from `op`. */
static bool may_feed_dot(tt_hlo_code code) {
  return code == TT_HLO_RESHAPE || code == TT_HLO_TRANSPOSE || code == TT_HLO_BROADCAST_IN_DIM ||
         code == TT_HLO_SLICE || code == TT_HLO_CONSTANT || code == TT_HLO_RETURN ||
         (tt_hlo_ops[code].traits & TT_HLO_ELEMENTWISE) != 0;
}

static bool uses(const tt_hlo_op *op, const tt_hlo_value *value) {
  for (size_t i = 0; i < op->operands_count; i++)
    if (op->operands[i] == value)
      return true;
  return false;
}

/* One product, to which something is added once at most: XLA folds more arithmetic into oneDNN's
 * call, and a factor comes out wrong. */
static bool is_plain_dot(const tt_hlo_func *func) {
  const tt_hlo_value *product = NULL;
  bool added = false;
  for (const tt_hlo_op *op = func->body->first; op != NULL; op = op->next) {
    if (product != NULL && uses(op, product) && op->code != TT_HLO_RETURN) {
      if (op->code != TT_HLO_RESHAPE && op->code != TT_HLO_TRANSPOSE &&
          (op->code != TT_HLO_ADD || added))
        return false;
      added = added || op->code == TT_HLO_ADD;
      product = op->results;
    } else if (op->code == TT_HLO_DOT_GENERAL) {
      if (product != NULL || !is_matrix_product(op))
        return false;
      product = op->results;
    } else if (!may_feed_dot(op->code)) {
      return false;
    }
    if (product == op->results && is_used_twice(op))
      return false;
  }
  return product != NULL;
}

unsigned tt_rt_hints(const tt_rt *rt, const tt_hlo_func *func, const tt_low_rule *rule) {
  size_t ops = 0;
  bool quick = true;
  for (const tt_hlo_op *op = func->body->first; op != NULL; op = op->next, ops++) {
    quick = quick && !needs_care(op) && ops < QUICK_OPS;
    if (op->next == NULL) /* the return */
      quick = quick && op->operands_count <= QUICK_RESULTS;
  }
  return (quick ? TT_PJ_QUICK : 0u) | (is_plain_dot(func) ? TT_PJ_PLAIN_DOT : 0u) |
         (rule->traits & TT_LOW_LOOSE_MAX ? TT_PJ_LOOSE_MAX : 0u) |
         (atomic_load(&rt->exact) ? TT_PJ_EXACT : 0u);
}
