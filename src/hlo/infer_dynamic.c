/* Operations whose result dims are numbers that the run computes; the builder gives their types. */
#include "hlo/hlo_internal.h"

/* C1 of each: the elements keep their type. */
static tt_error *check_same_dtype(const tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *result = &op->results[0].type;
  TT_HLO_CHECK(operand->dtype == result->dtype, "element types differ: operand is %s, result %s",
               TT_HLO_SHOW(operand), TT_HLO_SHOW(result));
  return NULL;
}

tt_error *tt_hlo_infer_dynamic_broadcast_in_dim(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *result = &op->results[0].type;
  static const tt_hlo_attr_name known[2] = {TT_HLO_KNOWN_EXPANDING_DIMENSIONS,
                                            TT_HLO_KNOWN_NONEXPANDING_DIMENSIONS};
  tt_hlo_list map = {0};
  uint64_t seen = 0, known_seen = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(check_same_dtype(op)); /* dynamic_broadcast_in_dim_c1 */
  TT_RETURN_IF_ERROR(tt_hlo_check_index_list(op, 1, "output_dimensions", result->rank)); /* _c7 */
  TT_RETURN_IF_ERROR(
      tt_hlo_need_sized(op, TT_HLO_BROADCAST_DIMENSIONS, (size_t)operand->rank, 0, &map)); /* _c2 */
  TT_RETURN_IF_ERROR(
      tt_hlo_check_axes(op, "broadcast_dimensions", map, result->rank, &seen)); /* _c3, _c4 */
  for (int32_t i = 0; i < operand->rank; i++) /* dynamic_broadcast_in_dim_c5 */
    TT_HLO_CHECK(
        operand->dims[i] == 1 || tt_hlo_dim_agrees(operand->dims[i], result->dims[map.items[i]]),
        "operand dim %d is %lld, expected 1 or result dim %lld, which is %lld", (int)i,
        (long long)operand->dims[i], (long long)map.items[i],
        (long long)result->dims[map.items[i]]);
  for (size_t i = 0; i < 2; i++) { /* dynamic_broadcast_in_dim_c8 to _c10 */
    const tt_hlo_attr *attr = NULL;
    TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, known[i], TT_HLO_ATTR_I64S, &attr));
    if (attr != NULL)
      TT_RETURN_IF_ERROR(tt_hlo_check_axes(op, tt_hlo_attr_names[known[i]], attr->i64s,
                                           operand->rank, &known_seen));
  }
  return NULL;
}

tt_error *tt_hlo_infer_dynamic_iota(tt_arena *arena, tt_hlo_op *op) {
  int64_t axis = 0;
  const tt_hlo_type *result = &op->results[0].type;
  (void)arena;
  TT_HLO_CHECK(result->dtype != TT_PRED, "expected an integer, float or complex result, got %s",
               TT_HLO_SHOW(result));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_index_list(op, 0, "output_shape", result->rank)); /* dynamic_iota_c2 */
  TT_RETURN_IF_ERROR(tt_hlo_need_i64(op, TT_HLO_IOTA_DIMENSION, &axis));
  return tt_hlo_check_axis(op, "iota_dimension", axis, result->rank); /* dynamic_iota_c1 */
}

tt_error *tt_hlo_infer_dynamic_pad(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *value = tt_hlo_operand(op, 1),
                    *result = &op->results[0].type;
  static const char *const names[] = {"edge_padding_low", "edge_padding_high", "interior_padding"};
  (void)arena;
  TT_RETURN_IF_ERROR(check_same_dtype(op)); /* dynamic_pad_c1 */
  TT_HLO_CHECK(value->rank == 0 && value->dtype == operand->dtype,
               "padding_value: expected a scalar %s, got %s", tt_dtype_name(operand->dtype),
               TT_HLO_SHOW(value));
  TT_HLO_CHECK(result->rank == operand->rank, "ranks differ: operand is %s, result %s",
               TT_HLO_SHOW(operand), TT_HLO_SHOW(result)); /* dynamic_pad_c4 */
  for (uint32_t i = 0; i < 3; i++) {                       /* dynamic_pad_c2 */
    TT_RETURN_IF_ERROR(tt_hlo_check_index_list(op, 2 + i, names[i], operand->rank));
    TT_HLO_CHECK(tt_hlo_operand(op, 2 + i)->dtype == tt_hlo_operand(op, 2)->dtype,
                 "types of the paddings differ: %s and %s", TT_HLO_SHOW(tt_hlo_operand(op, 2)),
                 TT_HLO_SHOW(tt_hlo_operand(op, 2 + i)));
  }
  return NULL;
}

tt_error *tt_hlo_infer_dynamic_reshape(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *result = &op->results[0].type;
  int64_t from = 0, to = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(check_same_dtype(op)); /* dynamic_reshape_c1 */
  TT_RETURN_IF_ERROR(
      tt_hlo_check_index_list(op, 1, "output_shape", result->rank)); /* dynamic_reshape_c4 */
  /* dynamic_reshape_c2, where both sizes are known: tt_dims_count refuses a dynamic dim. */
  TT_HLO_CHECK(!tt_dims_count(operand->dims, (size_t)operand->rank, &from) ||
                   !tt_dims_count(result->dims, (size_t)result->rank, &to) || from == to,
               "element counts differ: operand is %s, result %s", TT_HLO_SHOW(operand),
               TT_HLO_SHOW(result));
  return NULL;
}

/* Attributes, and what depends on the padding, are checked when the padding is known. */
tt_error *tt_hlo_infer_dynamic_conv(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *lhs = tt_hlo_operand(op, 0), *rhs = tt_hlo_operand(op, 1),
                    *padding = tt_hlo_operand(op, 2), *result = &op->results[0].type;
  const tt_hlo_attr *dims = NULL;
  (void)arena;
  TT_HLO_CHECK(lhs->rank >= 2 && lhs->rank == rhs->rank && lhs->rank == result->rank,
               "ranks differ or are below 2: operands are %s and %s, the result %s",
               TT_HLO_SHOW(lhs), TT_HLO_SHOW(rhs), TT_HLO_SHOW(result)); /* dynamic_conv_c1 */
  TT_HLO_CHECK(padding->rank == 2 && tt_dtype_is_integer(padding->dtype) &&
                   tt_hlo_dim_agrees(padding->dims[0], lhs->rank - 2) &&
                   tt_hlo_dim_agrees(padding->dims[1], 2),
               "padding: expected %lldx2 integers, got %s", (long long)lhs->rank - 2,
               TT_HLO_SHOW(padding)); /* dynamic_conv_c4 */
  return tt_hlo_need_attr(op, TT_HLO_DIMENSION_NUMBERS, TT_HLO_ATTR_CONV, &dims);
}

tt_error *tt_hlo_infer_real_dynamic_slice(tt_arena *arena, tt_hlo_op *op) {
  static const char *const names[] = {"start_indices", "limit_indices", "strides"};
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *result = &op->results[0].type;
  (void)arena;
  TT_RETURN_IF_ERROR(check_same_dtype(op));
  TT_HLO_CHECK(result->rank == operand->rank, "ranks differ: operand is %s, result %s",
               TT_HLO_SHOW(operand), TT_HLO_SHOW(result));
  for (uint32_t i = 0; i < 3; i++)
    TT_RETURN_IF_ERROR(tt_hlo_check_index_list(op, 1 + i, names[i], operand->rank));
  return NULL;
}

tt_error *tt_hlo_infer_set_dimension_size(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *result = &op->results[0].type;
  int64_t axis = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(check_same_dtype(op));
  TT_RETURN_IF_ERROR(tt_hlo_check_scalar_index(op, 1, "size"));
  TT_RETURN_IF_ERROR(tt_hlo_need_i64(op, TT_HLO_DIMENSION, &axis));
  TT_HLO_CHECK(result->rank == operand->rank, "ranks differ: operand is %s, result %s",
               TT_HLO_SHOW(operand), TT_HLO_SHOW(result));
  TT_RETURN_IF_ERROR(tt_hlo_check_axis(op, "dimension", axis, operand->rank));
  for (int32_t i = 0; i < operand->rank; i++)
    TT_HLO_CHECK(i == axis || tt_hlo_dim_agrees(operand->dims[i], result->dims[i]),
                 "dim %d: operand is %s, result %s", (int)i, TT_HLO_SHOW(operand),
                 TT_HLO_SHOW(result));
  return NULL;
}
