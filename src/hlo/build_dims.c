#include <string.h>

#include "base/checked.h"
#include "hlo/build_internal.h"

tt_hlo_dim tt_hlo_dim_number(int64_t size) {
  tt_hlo_dim dim = {size, NULL};
  return dim;
}

static tt_hlo_dim dim_of_value(tt_hlo_value *value) {
  tt_hlo_dim dim = {TT_HLO_DYNAMIC, value};
  return dim;
}

tt_hlo_dim tt_hlo_dim_of(tt_hlo_build *b, tt_hlo_value *v, int axis) {
  tt_hlo_attr attr = tt_hlo_build_i64(TT_HLO_DIMENSION, axis);
  if (axis < 0 || axis >= v->type.rank) {
    tt_hlo_fail(b, TT_INVALID_ARGUMENT, "dim %d of a value of rank %d", axis, (int)v->type.rank);
    return tt_hlo_dim_number(1);
  }
  if (v->type.dims[axis] != TT_HLO_DYNAMIC)
    return tt_hlo_dim_number(v->type.dims[axis]);
  return dim_of_value(tt_hlo_build_one(b, TT_HLO_GET_DIMENSION_SIZE, &v, 1, &attr, 1, NULL));
}

tt_hlo_dim *tt_hlo_dims_of(tt_hlo_build *b, tt_hlo_value *v) {
  tt_hlo_dim *dims = tt_hlo_alloc(b, (size_t)v->type.rank, sizeof *dims);
  for (int i = 0; dims != NULL && i < v->type.rank; i++)
    dims[i] = tt_hlo_dim_of(b, v, i);
  return dims;
}

tt_hlo_dim *tt_hlo_dims_numbers(tt_hlo_build *b, const int64_t *numbers, size_t rank) {
  tt_hlo_dim *dims = tt_hlo_alloc(b, rank, sizeof *dims);
  for (size_t i = 0; dims != NULL && i < rank; i++)
    dims[i] = tt_hlo_dim_number(numbers[i]);
  return dims;
}

tt_hlo_value *tt_hlo_dim_value(tt_hlo_build *b, tt_hlo_dim dim, tt_dtype dtype) {
  return dim.value != NULL ? tt_hlo_convert(b, dim.value, dtype)
                           : tt_hlo_const_int(b, dtype, dim.size);
}

bool tt_hlo_dim_same(tt_hlo_dim x, tt_hlo_dim y) {
  return x.value == y.value && (x.value != NULL || x.size == y.size);
}

static tt_hlo_dim combine(tt_hlo_build *b, tt_hlo_code code, tt_hlo_dim x, tt_hlo_dim y) {
  return dim_of_value(
      tt_hlo_op2(b, code, tt_hlo_dim_value(b, x, TT_S32), tt_hlo_dim_value(b, y, TT_S32)));
}

static tt_hlo_dim number_or_overflow(tt_hlo_build *b, bool fits, int64_t size) {
  if (!fits)
    tt_hlo_fail(b, TT_INVALID_ARGUMENT, "a size does not fit in 64 bits");
  return tt_hlo_dim_number(fits ? size : 0);
}

tt_hlo_dim tt_hlo_dim_add(tt_hlo_build *b, tt_hlo_dim x, tt_hlo_dim y) {
  int64_t size = 0;
  bool fits;
  if (x.value != NULL || y.value != NULL)
    return combine(b, TT_HLO_ADD, x, y);
  fits = tt_add_i64(x.size, y.size, &size);
  return number_or_overflow(b, fits, size);
}

tt_hlo_dim tt_hlo_dim_sub(tt_hlo_build *b, tt_hlo_dim x, tt_hlo_dim y) {
  if (x.value != NULL || y.value != NULL)
    return combine(b, TT_HLO_SUBTRACT, x, y);
  return tt_hlo_dim_number(x.size - y.size);
}

tt_hlo_dim tt_hlo_dim_mul(tt_hlo_build *b, tt_hlo_dim x, tt_hlo_dim y) {
  int64_t size = 0;
  bool fits;
  if (x.value == NULL && x.size == 1)
    return y;
  if (y.value == NULL && y.size == 1)
    return x;
  if (x.value != NULL || y.value != NULL)
    return combine(b, TT_HLO_MULTIPLY, x, y);
  fits = tt_mul_i64(x.size, y.size, &size);
  return number_or_overflow(b, fits, size);
}

tt_hlo_dim tt_hlo_dim_div(tt_hlo_build *b, tt_hlo_dim x, tt_hlo_dim y) {
  if (y.value == NULL && y.size == 1)
    return x;
  if (x.value != NULL || y.value != NULL)
    return combine(b, TT_HLO_DIVIDE, x, y);
  return number_or_overflow(b, y.size > 0, y.size > 0 ? x.size / y.size : 0);
}

tt_hlo_dim tt_hlo_dims_product(tt_hlo_build *b, const tt_hlo_dim *dims, int begin, int end) {
  tt_hlo_dim product = tt_hlo_dim_number(1);
  for (int i = begin; i < end; i++)
    product = tt_hlo_dim_mul(b, product, dims[i]);
  return product;
}

bool tt_hlo_build_static(const tt_hlo_dim *dims, size_t rank) {
  for (size_t i = 0; i < rank; i++)
    if (dims[i].value != NULL)
      return false;
  return true;
}

tt_hlo_type tt_hlo_build_type_dims(tt_hlo_build *b, tt_dtype dtype, const tt_hlo_dim *dims,
                                   size_t rank) {
  int64_t *sizes = tt_hlo_alloc(b, rank, sizeof *sizes);
  tt_hlo_type type = tt_hlo_scalar_type(dtype);
  if (sizes == NULL || (dims == NULL && rank != 0))
    return type;
  for (size_t i = 0; i < rank; i++)
    sizes[i] = dims[i].value != NULL ? TT_HLO_DYNAMIC : dims[i].size;
  type.rank = (int32_t)rank;
  type.dims = sizes;
  return type;
}

tt_hlo_value *tt_hlo_build_shape(tt_hlo_build *b, const tt_hlo_dim *dims, size_t rank) {
  tt_hlo_value **parts = tt_hlo_alloc(b, rank, sizeof *parts);
  int64_t one = 1;
  if (rank == 0)
    return tt_hlo_const_i64s(b, TT_S32, NULL, 0);
  for (size_t i = 0; parts != NULL && i < rank; i++)
    parts[i] = tt_hlo_reshape_numbers(b, tt_hlo_dim_value(b, dims[i], TT_S32), &one, 1);
  return parts != NULL ? tt_hlo_concat(b, parts, rank, 0) : b->poison;
}
