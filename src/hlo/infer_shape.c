/* Operations that move elements by a fixed pattern, and those that make them from nothing. */
#include "hlo/hlo_internal.h"

tt_error *tt_hlo_infer_bitcast_convert(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *a = tt_hlo_operand(op, 0), *b = &op->results[0].type;
  int a_bits = tt_dtypes[a->dtype].bits, b_bits = tt_dtypes[b->dtype].bits;
  (void)arena;
  TT_HLO_CHECK(tt_dtype_is_complex(a->dtype) == tt_dtype_is_complex(b->dtype),
               "one of %s and %s is complex, the other not", TT_HLO_SHOW(a),
               TT_HLO_SHOW(b)); /* bitcast_convert_c2 */
  /* bitcast_convert_c1: the type with fewer bits has one more axis, over the parts of an element.
   */
  const tt_hlo_type *narrow = a_bits < b_bits ? a : b, *wide = a_bits < b_bits ? b : a;
  int32_t parts = a_bits == b_bits ? 0 : 1;
  TT_HLO_CHECK(narrow->rank == wide->rank + parts, "ranks of %s and %s do not fit", TT_HLO_SHOW(a),
               TT_HLO_SHOW(b));
  for (int32_t i = 0; i < wide->rank; i++)
    TT_HLO_CHECK(tt_hlo_dim_agrees(narrow->dims[i], wide->dims[i]),
                 "dim %d differs: operand is %s, result %s", (int)i, TT_HLO_SHOW(a),
                 TT_HLO_SHOW(b));
  int ratio = tt_dtypes[wide->dtype].bits / tt_dtypes[narrow->dtype].bits;
  TT_HLO_CHECK(ratio * tt_dtypes[narrow->dtype].bits == tt_dtypes[wide->dtype].bits &&
                   (parts == 0 || tt_hlo_dim_agrees(narrow->dims[wide->rank], ratio)),
               "elements of %s and %s do not have equal bits", TT_HLO_SHOW(a), TT_HLO_SHOW(b));
  return NULL;
}

tt_error *tt_hlo_infer_broadcast_in_dim(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *result = &op->results[0].type;
  tt_hlo_list map = {0};
  uint64_t seen = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_check_static(op));
  TT_HLO_CHECK(operand->dtype == result->dtype, "element types differ: operand is %s, result %s",
               TT_HLO_SHOW(operand), TT_HLO_SHOW(result)); /* broadcast_in_dim_c1 */
  TT_RETURN_IF_ERROR(
      tt_hlo_need_sized(op, TT_HLO_BROADCAST_DIMENSIONS, (size_t)operand->rank, 0, &map)); /* _c2 */
  TT_RETURN_IF_ERROR(
      tt_hlo_check_axes(op, "broadcast_dimensions", map, result->rank, &seen)); /* _c3, _c4 */
  for (int32_t i = 0; i < operand->rank; i++) /* broadcast_in_dim_c5 */
    TT_HLO_CHECK(
        operand->dims[i] == 1 || tt_hlo_dim_agrees(operand->dims[i], result->dims[map.items[i]]),
        "operand dim %d is %lld, expected 1 or result dim %lld, which is %lld", (int)i,
        (long long)operand->dims[i], (long long)map.items[i],
        (long long)result->dims[map.items[i]]);
  return NULL;
}

tt_error *tt_hlo_infer_reshape(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *result = &op->results[0].type;
  int64_t from = 0, to = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_check_static(op));
  TT_HLO_CHECK(operand->dtype == result->dtype, "element types differ: operand is %s, result %s",
               TT_HLO_SHOW(operand), TT_HLO_SHOW(result)); /* reshape_c1 */
  for (int32_t i = 0; i < operand->rank; i++)
    if (operand->dims[i] == TT_HLO_DYNAMIC)
      return NULL;
  TT_HLO_CHECK(tt_dims_count(operand->dims, (size_t)operand->rank, &from) &&
                   tt_dims_count(result->dims, (size_t)result->rank, &to) && from == to,
               "element counts differ: operand is %s, result %s", TT_HLO_SHOW(operand),
               TT_HLO_SHOW(result)); /* reshape_c2 */
  return NULL;
}

tt_error *tt_hlo_infer_transpose(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0);
  tt_hlo_list permutation = {0};
  uint64_t seen = 0;
  int64_t *dims = NULL;
  TT_RETURN_IF_ERROR(
      tt_hlo_need_sized(op, TT_HLO_PERMUTATION, (size_t)operand->rank, 0, &permutation));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_axes(op, "permutation", permutation, operand->rank, &seen)); /* transpose_c2 */
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, operand->rank, &dims));
  for (int32_t i = 0; i < operand->rank; i++)
    dims[i] = operand->dims[permutation.items[i]];               /* transpose_c3 */
  tt_hlo_set_result(op, 0, operand->dtype, operand->rank, dims); /* transpose_c1 */
  return NULL;
}

tt_error *tt_hlo_infer_reverse(tt_arena *arena, tt_hlo_op *op) {
  tt_hlo_list dimensions = {0};
  uint64_t seen = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_need_list(op, TT_HLO_DIMENSIONS, &dimensions));
  TT_RETURN_IF_ERROR(tt_hlo_check_axes(op, "dimensions", dimensions, tt_hlo_operand(op, 0)->rank,
                                       &seen)); /* _c2, _c3 */
  op->results[0].type = *tt_hlo_operand(op, 0); /* reverse_c1 */
  return NULL;
}

tt_error *tt_hlo_infer_slice(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0);
  size_t rank = (size_t)operand->rank;
  tt_hlo_list starts = {0}, limits = {0}, strides = {0};
  int64_t *dims = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_need_sized(op, TT_HLO_START_INDICES, rank, 0, &starts));
  TT_RETURN_IF_ERROR(tt_hlo_need_sized(op, TT_HLO_LIMIT_INDICES, rank, 0, &limits));
  TT_RETURN_IF_ERROR(
      tt_hlo_need_sized(op, TT_HLO_STRIDES, rank, 1, &strides)); /* slice_c2, slice_c4 */
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, operand->rank, &dims));
  for (size_t i = 0; i < rank; i++) {
    int64_t start = starts.items[i], limit = limits.items[i], stride = strides.items[i],
            dim = operand->dims[i];
    TT_HLO_CHECK(start <= limit && (dim == TT_HLO_DYNAMIC || limit <= dim),
                 "axis %zu: expected 0 <= start <= limit <= %lld, got start %lld, limit %lld", i,
                 (long long)dim, (long long)start, (long long)limit); /* slice_c3 */
    dims[i] = start == limit ? 0 : (limit - start - 1) / stride + 1;  /* slice_c5 */
  }
  tt_hlo_set_result(op, 0, operand->dtype, operand->rank, dims); /* slice_c1 */
  return NULL;
}

/* pad_c4. false on overflow or a negative size. */
static bool padded_dim(int64_t dim, int64_t low, int64_t high, int64_t interior, int64_t *out) {
  int64_t gaps = 0;
  *out = TT_HLO_DYNAMIC;
  if (dim == TT_HLO_DYNAMIC)
    return true;
  return tt_mul_i64(dim > 0 ? dim - 1 : 0, interior, &gaps) && tt_add_i64(dim, gaps, out) &&
         tt_add_i64(*out, low, out) && tt_add_i64(*out, high, out) && *out >= 0;
}

tt_error *tt_hlo_infer_pad(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *value = tt_hlo_operand(op, 1);
  size_t rank = (size_t)operand->rank;
  tt_hlo_list low = {0}, high = {0}, interior = {0};
  int64_t *dims = NULL;
  TT_HLO_CHECK(value->rank == 0 && value->dtype == operand->dtype,
               "padding_value: expected a scalar %s, got %s", tt_dtype_name(operand->dtype),
               TT_HLO_SHOW(value)); /* pad_i2, pad_c1 */
  TT_RETURN_IF_ERROR(tt_hlo_need_sized(op, TT_HLO_EDGE_PADDING_LOW, rank, INT64_MIN, &low));
  TT_RETURN_IF_ERROR(tt_hlo_need_sized(op, TT_HLO_EDGE_PADDING_HIGH, rank, INT64_MIN, &high));
  TT_RETURN_IF_ERROR(
      tt_hlo_need_sized(op, TT_HLO_INTERIOR_PADDING, rank, 0, &interior)); /* pad_c2, pad_c3 */
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, operand->rank, &dims));
  for (size_t i = 0; i < rank; i++)
    TT_HLO_CHECK(
        padded_dim(operand->dims[i], low.items[i], high.items[i], interior.items[i], &dims[i]),
        "axis %zu: dim %lld with low %lld, high %lld, interior %lld has no size", i,
        (long long)operand->dims[i], (long long)low.items[i], (long long)high.items[i],
        (long long)interior.items[i]);
  tt_hlo_set_result(op, 0, operand->dtype, operand->rank, dims);
  return NULL;
}

/* Adds operand `i` to `dims`, which begin as those of operand 0. */
static tt_error *join_operand(const tt_hlo_op *op, uint32_t i, int64_t axis, int64_t *dims) {
  const tt_hlo_type *first = tt_hlo_operand(op, 0), *type = tt_hlo_operand(op, i);
  TT_HLO_CHECK(type->dtype == first->dtype && type->rank == first->rank,
               "operands do not fit: operand 0 is %s, operand %u is %s", TT_HLO_SHOW(first), i,
               TT_HLO_SHOW(type)); /* concatenate_c1 */
  for (int32_t k = 0; k < type->rank; k++) {
    int64_t dim = type->dims[k];
    if (k != axis) {
      TT_HLO_CHECK(tt_hlo_dim_agrees(dims[k], dim),
                   "dim %d differs: operand 0 is %s, operand %u is %s", (int)k, TT_HLO_SHOW(first),
                   i, TT_HLO_SHOW(type)); /* concatenate_c2 */
      dims[k] = dims[k] == TT_HLO_DYNAMIC ? dim : dims[k];
    } else if (dims[k] == TT_HLO_DYNAMIC || dim == TT_HLO_DYNAMIC) {
      dims[k] = TT_HLO_DYNAMIC;
    } else {
      TT_HLO_CHECK(tt_add_i64(dims[k], dim, &dims[k]), "dim %d of the result overflows",
                   (int)k); /* concatenate_c6 */
    }
  }
  return NULL;
}

tt_error *tt_hlo_infer_concatenate(tt_arena *arena, tt_hlo_op *op) {
  int64_t axis = 0, *dims = NULL;
  TT_HLO_CHECK(op->operands_count > 0,
               "expected at least one operand, got none"); /* concatenate_c3 */
  const tt_hlo_type *first = tt_hlo_operand(op, 0);
  TT_RETURN_IF_ERROR(tt_hlo_need_i64(op, TT_HLO_DIMENSION, &axis));
  TT_RETURN_IF_ERROR(tt_hlo_check_axis(op, "dimension", axis, first->rank)); /* concatenate_c4 */
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, first->rank, &dims));
  for (int32_t i = 0; i < first->rank; i++)
    dims[i] = first->dims[i];
  for (uint32_t i = 1; i < op->operands_count; i++)
    TT_RETURN_IF_ERROR(join_operand(op, i, axis, dims));
  tt_hlo_set_result(op, 0, first->dtype, first->rank, dims); /* concatenate_c5 */
  return NULL;
}

tt_error *tt_hlo_infer_iota(tt_arena *arena, tt_hlo_op *op) {
  int64_t axis = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_check_static(op));
  TT_HLO_CHECK(op->results[0].type.dtype != TT_PRED,
               "expected an integer, float or complex result, got %s",
               TT_HLO_SHOW(&op->results[0].type));
  TT_RETURN_IF_ERROR(tt_hlo_need_i64(op, TT_HLO_IOTA_DIMENSION, &axis));
  return tt_hlo_check_axis(op, "iota_dimension", axis, op->results[0].type.rank); /* iota_c1 */
}

tt_error *tt_hlo_infer_constant(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_attr *value = NULL;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_check_static(op));
  TT_RETURN_IF_ERROR(
      tt_hlo_need_attr(op, TT_HLO_VALUE, TT_HLO_ATTR_DENSE, &value)); /* constant_i1 */
  int64_t count = 0;
  TT_HLO_CHECK(tt_dims_count(op->results[0].type.dims, (size_t)op->results[0].type.rank, &count),
               "too many elements");
  TT_HLO_CHECK(value->data != NULL || (count == 0 && !value->splat), "value has no elements");
  return NULL;
}

tt_error *tt_hlo_infer_get_dimension_size(tt_arena *arena, tt_hlo_op *op) {
  int64_t axis = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_need_i64(op, TT_HLO_DIMENSION, &axis));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_axis(op, "dimension", axis, tt_hlo_operand(op, 0)->rank)); /* _c1 */
  tt_hlo_set_result(op, 0, TT_S32, 0, NULL);
  return NULL;
}
