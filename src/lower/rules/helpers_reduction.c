#include "lower/rules/helpers_reduction.h"

const int64_t *tt_low_axes_but(tt_low_ctx *ctx, int rank, int axis, size_t *out_count) {
  int64_t *axes = tt_hlo_alloc(ctx->b, (size_t)rank + 1, sizeof *axes);
  size_t count = 0;
  for (int i = 0; axes != NULL && i < rank; i++)
    if (i != axis)
      axes[count++] = i;
  *out_count = count;
  return axes;
}

const int64_t *tt_low_axes_from(tt_low_ctx *ctx, int first, int rank, size_t *out_count) {
  int64_t *axes = tt_hlo_alloc(ctx->b, (size_t)rank + 1, sizeof *axes);
  size_t count = 0;
  for (int i = first; axes != NULL && i < rank; i++)
    axes[count++] = i;
  *out_count = count;
  return axes;
}

size_t tt_low_axes_safe(tt_low_ctx *ctx, const tt_low_value *arg, int rank,
                        const int64_t **out_axes) {
  *out_axes = NULL;
  return rank == 0 ? 0 : tt_low_axes(ctx, arg, rank, out_axes);
}

tt_hlo_value *tt_low_fold(tt_low_ctx *ctx, tt_hlo_code op, tt_hlo_value *x, const int64_t *axes,
                          size_t count, bool keep) {
  if (count == 0)
    return x;
  return keep ? tt_hlo_reduce_keep(ctx->b, op, x, axes, count)
              : tt_hlo_reduce(ctx->b, op, x, axes, count);
}

tt_hlo_value *tt_low_fold_all(tt_low_ctx *ctx, tt_hlo_code op, tt_hlo_value *x) {
  size_t count;
  const int64_t *axes = tt_low_axes_from(ctx, 0, tt_hlo_rank(x), &count);
  return tt_low_fold(ctx, op, x, axes, count, false);
}

tt_hlo_value *tt_low_fold_size(tt_low_ctx *ctx, tt_hlo_value *x, const int64_t *axes, size_t count,
                               tt_dtype dtype) {
  tt_hlo_dim size = tt_hlo_dim_number(1);
  for (size_t i = 0; i < count; i++)
    size = tt_hlo_dim_mul(ctx->b, size, tt_hlo_dim_of(ctx->b, x, (int)axes[i]));
  return tt_hlo_dim_value(ctx->b, size, dtype);
}

tt_hlo_value *tt_low_fold_mean(tt_low_ctx *ctx, tt_hlo_value *x, const int64_t *axes, size_t count,
                               bool keep) {
  tt_hlo_value *sum = tt_low_fold(ctx, TT_HLO_ADD, x, axes, count, keep);
  tt_hlo_value *size = tt_low_fold_size(ctx, x, axes, count, tt_dtype_real(tt_hlo_dtype(x)));
  return tt_low_with(ctx, TT_HLO_DIVIDE, sum, tt_hlo_convert(ctx->b, size, tt_hlo_dtype(x)));
}

void tt_low_fold_pick(tt_low_ctx *ctx, tt_hlo_value *x, int axis, bool largest,
                      tt_hlo_value **out_value, tt_hlo_value **out_index) {
  tt_hlo_build *b = ctx->b;
  const int64_t axes[1] = {axis};
  if (tt_hlo_rank(x) == 0) {
    *out_value = x;
    *out_index = tt_hlo_const_int(b, TT_S32, 0);
    return;
  }
  if (tt_hlo_dtype(x) == TT_PRED)
    x = tt_hlo_convert(b, x, TT_U8);
  /* Two plain reductions: they vectorize, where one over (value, index) pairs does not. With a NaN
   * the extreme is NaN, equal to nothing, and the first NaN is found instead. */
  tt_hlo_value *value =
      tt_hlo_reduce_keep(b, largest ? TT_HLO_MAXIMUM : TT_HLO_MINIMUM, x, axes, 1);
  tt_hlo_value *hit = tt_hlo_compare(b, TT_HLO_EQ, x, tt_hlo_broadcast_like(b, value, x));
  if (tt_dtype_is_float(tt_hlo_dtype(x)))
    hit = tt_hlo_or(b, hit, tt_low_is_nan(ctx, x));
  tt_hlo_value *index = tt_low_select_const(ctx, hit, tt_low_iota_like(ctx, x, axis), INT32_MAX);
  *out_value = value;
  *out_index = tt_hlo_reduce_keep(b, TT_HLO_MINIMUM, index, axes, 1);
}

tt_hlo_value *tt_low_with(tt_low_ctx *ctx, tt_hlo_code op, tt_hlo_value *x, tt_hlo_value *y) {
  return tt_hlo_op2(ctx->b, op, x, tt_hlo_broadcast_like(ctx->b, y, x));
}

tt_hlo_value *tt_low_with_const(tt_low_ctx *ctx, tt_hlo_code op, tt_hlo_value *x, double y) {
  return tt_hlo_op2(ctx->b, op, x, tt_hlo_const_like(ctx->b, x, y));
}

tt_hlo_value *tt_low_compare_const(tt_low_ctx *ctx, tt_hlo_direction direction, tt_hlo_value *x,
                                   double y) {
  return tt_hlo_compare(ctx->b, direction, x, tt_hlo_const_like(ctx->b, x, y));
}

tt_hlo_value *tt_low_select_const(tt_low_ctx *ctx, tt_hlo_value *pred, tt_hlo_value *yes,
                                  double no) {
  return tt_hlo_select(ctx->b, pred, yes, tt_hlo_const_like(ctx->b, yes, no));
}

tt_hlo_value *tt_low_along(tt_low_ctx *ctx, tt_hlo_value *vector, tt_hlo_value *like, int axis) {
  const int64_t map[1] = {axis};
  return tt_hlo_broadcast_in_dim(ctx->b, vector, tt_hlo_dims_of(ctx->b, like),
                                 (size_t)tt_hlo_rank(like), map);
}

tt_hlo_value *tt_low_is_nan(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_compare(ctx->b, TT_HLO_NE, x, x);
}

tt_hlo_value *tt_low_square(tt_low_ctx *ctx, tt_hlo_value *x) {
  tt_hlo_build *b = ctx->b;
  if (!tt_dtype_is_complex(tt_hlo_dtype(x)))
    return tt_hlo_mul(b, x, x);
  tt_hlo_value *re = tt_hlo_real(b, x), *im = tt_hlo_imag(b, x);
  return tt_hlo_add(b, tt_hlo_mul(b, re, re), tt_hlo_mul(b, im, im));
}

tt_hlo_value *tt_low_iota_like(tt_low_ctx *ctx, tt_hlo_value *x, int axis) {
  return tt_hlo_iota(ctx->b, TT_S32, tt_hlo_dims_of(ctx->b, x), (size_t)tt_hlo_rank(x), axis);
}

void tt_low_sort_indexed(tt_low_ctx *ctx, tt_hlo_value *x, int axis, tt_hlo_value **out_values,
                         tt_hlo_value **out_indices) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_hlo_dtype(x);
  tt_hlo_value *in[2] = {x, tt_low_iota_like(ctx, x, axis)}, *out[2];
  const tt_hlo_type types[4] = {tt_hlo_scalar_type(dtype), tt_hlo_scalar_type(dtype),
                                tt_hlo_scalar_type(TT_S32), tt_hlo_scalar_type(TT_S32)};
  tt_hlo_region *region = tt_hlo_region_open(b, types, 4);
  tt_hlo_value *p = tt_hlo_region_arg(b, region, 0), *q = tt_hlo_region_arg(b, region, 1);
  tt_hlo_value *less = tt_hlo_compare(b, TT_HLO_LT, p, q);
  if (tt_dtype_is_float(dtype)) {
    tt_hlo_value *p_number = tt_hlo_compare(b, TT_HLO_EQ, p, p);
    less = tt_hlo_or(b, less, tt_hlo_and(b, p_number, tt_low_is_nan(ctx, q)));
  }
  tt_hlo_region_close(b, &less, 1);
  tt_hlo_sort(b, in, 2, axis, true, region, out);
  *out_values = out[0];
  *out_indices = out[1];
}

void tt_low_set_fit(tt_low_ctx *ctx, tt_low_value *results, size_t i, tt_hlo_value *value) {
  size_t rank = 0;
  if (i >= ctx->wanted_count) {
    tt_low_set(&results[i], value);
    return;
  }
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, i, &rank);
  bool empty = false;
  for (size_t k = 0; dims != NULL && k < rank; k++)
    empty = empty || (dims[k].value == NULL && dims[k].size == 0);
  if (empty)
    value = tt_hlo_full(ctx->b, tt_hlo_const(ctx->b, tt_hlo_dtype(value), 0), dims, rank);
  else if (dims != NULL)
    value = tt_hlo_reshape(ctx->b, value, dims, rank);
  tt_low_set(&results[i], value);
}

bool tt_low_mask(tt_low_ctx *ctx, const tt_low_value *arg, size_t i) {
  if (arg->kind != TT_LOW_LIST || i >= arg->list.count)
    return true;
  return tt_low_bool(ctx, &arg->list.items[i], true);
}
