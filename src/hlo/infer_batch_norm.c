/* batch_norm_inference, _training and _grad. */
#include "hlo/hlo_internal.h"

/* epsilon, and the axis of the features, on which statistics are not taken. */
static tt_error *check_attrs(const tt_hlo_op *op, int64_t *out_axis) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0);
  const tt_hlo_attr *epsilon = NULL;
  TT_HLO_CHECK(tt_dtype_is_float(operand->dtype), "operand 0: expected a float type, got %s",
               TT_HLO_SHOW(operand)); /* _i1 */
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_EPSILON, TT_HLO_ATTR_F32, &epsilon));
  TT_RETURN_IF_ERROR(tt_hlo_need_i64(op, TT_HLO_FEATURE_INDEX, out_axis));
  return tt_hlo_check_axis(op, "feature_index", *out_axis, operand->rank); /* _c1 */
}

/* Operands [first, end) have one number for each feature. */
static tt_error *check_features(const tt_hlo_op *op, uint32_t first, uint32_t end, int64_t axis) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0);
  for (uint32_t i = first; i < end; i++) {
    const tt_hlo_type *type = tt_hlo_operand(op, i);
    TT_HLO_CHECK(type->rank == 1 && type->dtype == operand->dtype &&
                     tt_hlo_dim_agrees(type->dims[0], operand->dims[axis]),
                 "operand %u: expected rank 1 of %s with %lld features, got %s", i,
                 tt_dtype_name(operand->dtype), (long long)operand->dims[axis], TT_HLO_SHOW(type));
  }
  return NULL;
}

/* batch_norm_inference_c1 to _c7 */
tt_error *tt_hlo_infer_batch_norm_inference(tt_arena *arena, tt_hlo_op *op) {
  int64_t axis = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(check_attrs(op, &axis));
  TT_RETURN_IF_ERROR(check_features(op, 1, 5, axis));
  op->results[0].type = *tt_hlo_operand(op, 0);
  return NULL;
}

/* batch_norm_training_c1 to _c7 */
tt_error *tt_hlo_infer_batch_norm_training(tt_arena *arena, tt_hlo_op *op) {
  int64_t axis = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(check_attrs(op, &axis));
  TT_RETURN_IF_ERROR(check_features(op, 1, 3, axis));
  op->results[0].type = *tt_hlo_operand(op, 0);
  op->results[1].type = op->results[2].type = *tt_hlo_operand(op, 1);
  return NULL;
}

/* batch_norm_grad_c1 to _c5 */
tt_error *tt_hlo_infer_batch_norm_grad(tt_arena *arena, tt_hlo_op *op) {
  int64_t axis = 0;
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *grad = tt_hlo_operand(op, 4);
  (void)arena;
  TT_RETURN_IF_ERROR(check_attrs(op, &axis));
  TT_RETURN_IF_ERROR(check_features(op, 1, 4, axis));
  TT_HLO_CHECK(tt_hlo_type_compatible(operand, grad), "grad_output: expected %s, got %s",
               TT_HLO_SHOW(operand), TT_HLO_SHOW(grad));
  op->results[0].type = *operand;
  op->results[1].type = op->results[2].type = *tt_hlo_operand(op, 1);
  return NULL;
}
