#include "lower/rules/helpers_pointwise.h"

#include <math.h>

tt_hlo_value *tt_low_add_number(tt_hlo_build *b, tt_hlo_value *x, double number) {
  return tt_hlo_add(b, x, tt_hlo_const_like(b, x, number));
}

/* Complex: part by part, for 0 times infinity is NaN. */
tt_hlo_value *tt_low_mul_number(tt_hlo_build *b, tt_hlo_value *x, double number) {
  if (tt_dtype_is_complex(tt_hlo_dtype(x)))
    return tt_hlo_complex(b, tt_low_mul_number(b, tt_hlo_real(b, x), number),
                          tt_low_mul_number(b, tt_hlo_imag(b, x), number));
  return tt_hlo_mul(b, x, tt_hlo_const_like(b, x, number));
}

tt_hlo_value *tt_low_compare_number(tt_hlo_build *b, tt_hlo_direction direction, tt_hlo_value *x,
                                    double number) {
  return tt_hlo_compare(b, direction, x, tt_hlo_const_like(b, x, number));
}

tt_hlo_value *tt_low_number_minus(tt_hlo_build *b, double number, tt_hlo_value *x) {
  return tt_hlo_sub(b, tt_hlo_const_like(b, x, number), x);
}

tt_hlo_value *tt_low_number_over(tt_hlo_build *b, double number, tt_hlo_value *x) {
  return tt_hlo_div(b, tt_hlo_const_like(b, x, number), x);
}

tt_hlo_value *tt_low_max_number(tt_hlo_build *b, tt_hlo_value *x, double number) {
  return tt_hlo_max(b, x, tt_hlo_const_like(b, x, number));
}

tt_hlo_value *tt_low_min_number(tt_hlo_build *b, tt_hlo_value *x, double number) {
  return tt_hlo_min(b, x, tt_hlo_const_like(b, x, number));
}

tt_hlo_value *tt_low_select_or_number(tt_hlo_build *b, tt_hlo_value *pred, tt_hlo_value *x,
                                      double number) {
  return tt_hlo_select(b, pred, x, tt_hlo_const_like(b, x, number));
}

tt_hlo_value *tt_low_select_number(tt_hlo_build *b, tt_hlo_value *pred, double number,
                                   tt_hlo_value *x) {
  return tt_hlo_select(b, pred, tt_hlo_const_like(b, x, number), x);
}

tt_hlo_value *tt_low_polynomial(tt_hlo_build *b, tt_hlo_value *x, const double *c, size_t count) {
  tt_hlo_value *sum = tt_hlo_const_like(b, x, c[count - 1]);
  for (size_t i = count - 1; i-- > 0;)
    sum = tt_low_add_number(b, tt_hlo_mul(b, sum, x), c[i]);
  return sum;
}

/* Element by element false, without a shape of its own when dims are unknown. */
static tt_hlo_value *no(tt_hlo_build *b, tt_hlo_value *x) {
  return tt_hlo_compare(b, TT_HLO_NE, x, x);
}

tt_hlo_value *tt_low_is_not_number(tt_hlo_build *b, tt_hlo_value *x) {
  return tt_hlo_compare(b, TT_HLO_NE, x, x);
}

tt_hlo_value *tt_low_is_inf(tt_hlo_build *b, tt_hlo_value *x) {
  if (tt_dtype_is_complex(tt_hlo_dtype(x)))
    return tt_hlo_or(b, tt_low_is_inf(b, tt_hlo_real(b, x)), tt_low_is_inf(b, tt_hlo_imag(b, x)));
  if (!tt_dtype_is_float(tt_hlo_dtype(x)))
    return no(b, x);
  return tt_low_compare_number(b, TT_HLO_EQ, tt_hlo_abs(b, x), INFINITY);
}

tt_hlo_value *tt_low_is_zero(tt_hlo_build *b, tt_hlo_value *x) {
  return tt_low_compare_number(b, TT_HLO_EQ, x, 0);
}

static tt_dtype bits_dtype(tt_dtype dtype) {
  static const tt_dtype by_bytes[9] = {[1] = TT_S8, [2] = TT_S16, [4] = TT_S32, [8] = TT_S64};
  return by_bytes[tt_dtype_bytes(dtype)];
}

tt_hlo_value *tt_low_sign_bit(tt_hlo_build *b, tt_hlo_value *x) {
  tt_dtype dtype = tt_hlo_dtype(x);
  if (tt_dtype_is_float(dtype))
    x = tt_hlo_bitcast(b, x, bits_dtype(dtype));
  else if (!tt_dtype_is_signed(dtype))
    return no(b, x);
  return tt_low_compare_number(b, TT_HLO_LT, x, 0);
}

tt_hlo_value *tt_low_copy_sign(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *size = tt_hlo_abs(b, x);
  return tt_hlo_select(b, tt_low_sign_bit(b, y), tt_hlo_neg(b, size), size);
}

tt_hlo_value *tt_low_trunc(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *negative = tt_low_compare_number(b, TT_HLO_LT, x, 0);
  return tt_hlo_select(b, negative, tt_hlo_ceil(b, x), tt_hlo_floor(b, x));
}

tt_hlo_value *tt_low_squared(tt_hlo_build *b, tt_hlo_value *x) { return tt_hlo_mul(b, x, x); }

tt_hlo_value *tt_low_reciprocal(tt_hlo_build *b, tt_hlo_value *x) {
  return tt_low_number_over(b, 1, x);
}

/* max(x, 0) + log1p(exp(-|x|)): exp never exceeds 1. */
tt_hlo_value *tt_low_softplus(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *tail = tt_hlo_log1p(b, tt_hlo_exp(b, tt_hlo_neg(b, tt_hlo_abs(b, x))));
  return tt_hlo_add(b, tt_low_max_number(b, x, 0), tail);
}

tt_hlo_value *tt_low_element(tt_hlo_build *b, tt_hlo_value *x, int64_t i) {
  return tt_hlo_squeeze(b, tt_hlo_slice_axis(b, x, 0, i, i + 1, 1), 0);
}

tt_dtype tt_low_compute_dtype(tt_low_ctx *ctx, const tt_low_value *args, size_t count) {
  return tt_low_opmath(ctx->wanted_count > 0 ? ctx->wanted[0].dtype
                                             : tt_low_promote(ctx, args, count));
}

/* A tensor is first rounded to the result's dtype, as PyTorch does where a rank-0 f32 meets an f16
 * tensor; a Python number keeps its precision. */
void tt_low_operands(tt_low_ctx *ctx, const tt_low_value *args, size_t count, tt_dtype dtype,
                     tt_hlo_value **xs) {
  tt_dtype stored = ctx->wanted_count > 0 ? ctx->wanted[0].dtype : dtype;
  for (size_t i = 0; i < count; i++) {
    bool round = tt_low_is_tensor(&args[i]) && !args[i].wrapped && stored != dtype &&
                 tt_low_opmath(stored) == dtype;
    xs[i] = tt_low_number(ctx, &args[i], round ? stored : dtype, 0);
    xs[i] = tt_hlo_convert(ctx->b, xs[i], dtype);
  }
  tt_low_broadcast_n(ctx, xs, count);
}

tt_hlo_value *tt_low_number_like(tt_low_ctx *ctx, const tt_low_value *arg, tt_hlo_value *x,
                                 double otherwise) {
  tt_hlo_value *number = tt_low_number(ctx, arg, tt_hlo_dtype(x), otherwise);
  return tt_hlo_broadcast_like(ctx->b, number, x);
}
