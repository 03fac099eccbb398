#include "hlo/build_internal.h"

tt_hlo_value *tt_hlo_compare(tt_hlo_build *b, tt_hlo_direction direction, tt_hlo_value *x,
                             tt_hlo_value *y) {
  tt_hlo_value *operands[] = {x, y};
  tt_dtype d = x->type.dtype;
  tt_hlo_compare_type type = tt_dtype_is_signed(d) ? TT_HLO_COMPARE_SIGNED
                             : tt_dtype_is_float(d) || tt_dtype_is_complex(d)
                                 ? TT_HLO_COMPARE_FLOAT
                                 : TT_HLO_COMPARE_UNSIGNED;
  tt_hlo_attr attrs[] = {tt_hlo_build_enum(TT_HLO_COMPARISON_DIRECTION, direction),
                         tt_hlo_build_enum(TT_HLO_COMPARE_TYPE, type)};
  return tt_hlo_build_one(b, TT_HLO_COMPARE, operands, 2, attrs, 2, NULL);
}

/* StableHLO converts to i1 by "not zero" already; NaN is not zero, as in PyTorch. */
tt_hlo_value *tt_hlo_convert(tt_hlo_build *b, tt_hlo_value *x, tt_dtype dtype) {
  tt_hlo_type type = x->type;
  if (x->type.dtype == dtype)
    return x;
  if (dtype == TT_PRED)
    return tt_hlo_compare(b, TT_HLO_NE, x, tt_hlo_const_like(b, x, 0));
  if (tt_dtype_is_complex(x->type.dtype) && !tt_dtype_is_complex(dtype))
    return tt_hlo_convert(b, tt_hlo_real(b, x), dtype);
  type.dtype = dtype;
  return tt_hlo_build_one(b, TT_HLO_CONVERT, &x, 1, NULL, 0, &type);
}

tt_hlo_value *tt_hlo_bitcast(tt_hlo_build *b, tt_hlo_value *x, tt_dtype dtype) {
  int from = tt_dtypes[x->type.dtype].bits, to = tt_dtypes[dtype].bits;
  int rank = x->type.rank;
  int64_t *dims;
  tt_hlo_type type = {0};
  if (x->type.dtype == dtype)
    return x;
  dims = tt_hlo_alloc(b, (size_t)rank + 1, sizeof *dims);
  if (dims == NULL || from == 0 || to == 0)
    return b->poison;
  for (int i = 0; i < rank; i++)
    dims[i] = x->type.dims[i];
  if (to < from)
    dims[rank++] = from / to;
  else if (to > from)
    rank--;
  if (rank < 0)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "bitcast_convert: a scalar %s has no %s in it",
                       tt_dtype_name(x->type.dtype), tt_dtype_name(dtype));
  type.dtype = dtype;
  type.rank = rank;
  type.dims = dims;
  return tt_hlo_build_one(b, TT_HLO_BITCAST_CONVERT, &x, 1, NULL, 0, &type);
}

tt_hlo_value *tt_hlo_select(tt_hlo_build *b, tt_hlo_value *pred, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *operands[] = {pred, x, y};
  return tt_hlo_build_one(b, TT_HLO_SELECT, operands, 3, NULL, 0, NULL);
}

tt_hlo_value *tt_hlo_clamp(tt_hlo_build *b, tt_hlo_value *low, tt_hlo_value *x,
                           tt_hlo_value *high) {
  tt_hlo_value *operands[] = {low, x, high};
  return tt_hlo_build_one(b, TT_HLO_CLAMP, operands, 3, NULL, 0, NULL);
}

tt_hlo_value *tt_hlo_reduce_precision(tt_hlo_build *b, tt_hlo_value *x, int exponent_bits,
                                      int mantissa_bits) {
  tt_hlo_attr attrs[] = {
      {.name = TT_HLO_EXPONENT_BITS, .kind = TT_HLO_ATTR_I32, .i64 = exponent_bits},
      {.name = TT_HLO_MANTISSA_BITS, .kind = TT_HLO_ATTR_I32, .i64 = mantissa_bits}};
  return tt_hlo_build_one(b, TT_HLO_REDUCE_PRECISION, &x, 1, attrs, 2, NULL);
}

tt_hlo_value *tt_hlo_optimization_barrier(tt_hlo_build *b, tt_hlo_value *x) {
  return tt_hlo_build_one(b, TT_HLO_OPTIMIZATION_BARRIER, &x, 1, NULL, 0, NULL);
}
