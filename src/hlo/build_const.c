#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "hlo/build_internal.h"

static tt_hlo_value *constant(tt_hlo_build *b, tt_hlo_type type, const void *data, bool splat) {
  tt_hlo_attr attr = {
      .name = TT_HLO_VALUE, .kind = TT_HLO_ATTR_DENSE, .data = data, .splat = splat};
  return tt_hlo_build_one(b, TT_HLO_CONSTANT, NULL, 0, &attr, 1, &type);
}

tt_hlo_value *tt_hlo_const_complex(tt_hlo_build *b, tt_dtype dtype, double real, double imag) {
  void *data = tt_hlo_alloc(b, 1, (size_t)tt_dtype_bytes(dtype));
  if (data == NULL)
    return b->poison;
  tt_dtype_store(dtype, real, imag, data);
  return constant(b, tt_hlo_scalar_type(dtype), data, true);
}

tt_hlo_value *tt_hlo_const(tt_hlo_build *b, tt_dtype dtype, double value) {
  return tt_hlo_const_complex(b, dtype, value, 0);
}

tt_hlo_value *tt_hlo_const_int(tt_hlo_build *b, tt_dtype dtype, int64_t value) {
  void *data = tt_hlo_alloc(b, 1, (size_t)tt_dtype_bytes(dtype));
  if (data == NULL)
    return b->poison;
  tt_dtype_store_int(dtype, value, data);
  return constant(b, tt_hlo_scalar_type(dtype), data, true);
}

tt_hlo_value *tt_hlo_const_data(tt_hlo_build *b, tt_dtype dtype, const int64_t *dims, size_t rank,
                                const void *data) {
  int64_t count = 0, size = 0;
  tt_hlo_type type = tt_hlo_build_type(b, dtype, dims, rank);
  void *copy;
  if (!tt_dims_count(dims, rank, &count) || !tt_mul_i64(count, tt_dtype_bytes(dtype), &size))
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "constant: dims are negative or too large");
  copy = tt_hlo_alloc(b, 1, (size_t)size);
  if (copy == NULL)
    return b->poison;
  if (size != 0)
    memcpy(copy, data, (size_t)size);
  return constant(b, type, copy, false);
}

tt_hlo_value *tt_hlo_const_i64s(tt_hlo_build *b, tt_dtype dtype, const int64_t *values,
                                size_t count) {
  size_t bytes = (size_t)tt_dtype_bytes(dtype);
  int64_t dims = (int64_t)count;
  char *data = tt_hlo_alloc(b, count, bytes);
  if (data == NULL)
    return b->poison;
  for (size_t i = 0; i < count; i++)
    tt_dtype_store_int(dtype, values[i], data + i * bytes);
  return constant(b, tt_hlo_build_type(b, dtype, &dims, 1), data, false);
}

tt_hlo_value *tt_hlo_full(tt_hlo_build *b, tt_hlo_value *scalar, const tt_hlo_dim *dims,
                          size_t rank) {
  return rank == 0 ? scalar : tt_hlo_broadcast_in_dim(b, scalar, dims, rank, NULL);
}

tt_hlo_value *tt_hlo_const_like(tt_hlo_build *b, tt_hlo_value *x, double value) {
  return tt_hlo_full(b, tt_hlo_const(b, x->type.dtype, value), tt_hlo_dims_of(b, x),
                     (size_t)x->type.rank);
}

static int64_t integer_extreme(tt_dtype dtype, bool highest) {
  int bits = tt_dtypes[dtype].bits;
  if (dtype == TT_PRED)
    return highest;
  if (tt_dtype_is_unsigned(dtype)) /* -1 is all ones in 64 bits as well */
    return highest ? (bits == 64 ? -1 : (int64_t)((UINT64_C(1) << bits) - 1)) : 0;
  return highest ? (int64_t)((UINT64_C(1) << (bits - 1)) - 1)
                 : -(int64_t)(UINT64_C(1) << (bits - 2)) * 2;
}

static tt_hlo_value *extreme(tt_hlo_build *b, tt_dtype dtype, bool highest) {
  if (tt_dtype_is_integer(dtype))
    return tt_hlo_const_int(b, dtype, integer_extreme(dtype, highest));
  return tt_hlo_const(b, dtype, highest ? (double)INFINITY : -(double)INFINITY);
}

tt_hlo_value *tt_hlo_const_lowest(tt_hlo_build *b, tt_dtype dtype) {
  return extreme(b, dtype, false);
}
tt_hlo_value *tt_hlo_const_highest(tt_hlo_build *b, tt_dtype dtype) {
  return extreme(b, dtype, true);
}

tt_hlo_value *tt_hlo_iota(tt_hlo_build *b, tt_dtype dtype, const tt_hlo_dim *dims, size_t rank,
                          int axis) {
  tt_hlo_attr attr = tt_hlo_build_i64(TT_HLO_IOTA_DIMENSION, axis);
  tt_hlo_type type = tt_hlo_build_type_dims(b, dtype, dims, rank);
  tt_hlo_value *shape;
  if (tt_hlo_build_static(dims, rank))
    return tt_hlo_build_one(b, TT_HLO_IOTA, NULL, 0, &attr, 1, &type);
  shape = tt_hlo_build_shape(b, dims, rank);
  return tt_hlo_build_one(b, TT_HLO_DYNAMIC_IOTA, &shape, 1, &attr, 1, &type);
}
