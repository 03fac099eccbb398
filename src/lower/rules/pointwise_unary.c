#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "lower/rules/pointwise_internal.h"

static const double pi = 3.14159265358979323846, ln2 = 0.69314718055994530942,
                    ln10 = 2.30258509299404568402;

static bool is_complex(const tt_hlo_value *x) { return tt_dtype_is_complex(tt_hlo_dtype(x)); }

/* data: the operation. */
POINTWISE_UNARY(unary, tt_hlo_op1(b, (tt_hlo_code)ctx->rule->data, x))
/* data: the operation, for which integers are already what it makes. */
POINTWISE_UNARY(unary_of_float,
                ((void)dtype, is_integer(x)) ? x : tt_hlo_op1(b, (tt_hlo_code)ctx->rule->data, x))

/* Complex input gives real output, so that the input's dtype counts. */
POINTWISE_RULE(abs) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor;
  x = tt_hlo_convert(ctx->b, x, tt_low_opmath(tt_hlo_dtype(x)));
  bool signless = tt_dtype_is_unsigned(tt_hlo_dtype(x)) || tt_hlo_dtype(x) == TT_PRED;
  tt_low_set(&results[0], signless ? x : tt_hlo_abs(ctx->b, x));
  return NULL;
}

/* NaN stays; -0.0 counts as positive, as in PyTorch. */
static tt_hlo_value *angle_of_real(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *negative = tt_low_compare_number(b, TT_HLO_LT, x, 0);
  tt_hlo_value *half_turn =
      tt_hlo_select(b, negative, tt_hlo_const_like(b, x, pi), tt_hlo_const_like(b, x, 0));
  return tt_hlo_select(b, tt_low_is_not_number(b, x), x, half_turn);
}

POINTWISE_RULE(angle) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = args[0].tensor;
  if (is_complex(x))
    x = tt_hlo_atan2(b, tt_hlo_imag(b, x), tt_hlo_real(b, x));
  else
    x = angle_of_real(b, tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 1)));
  tt_low_set(&results[0], x);
  return NULL;
}

static tt_hlo_value *conjugate(tt_hlo_build *b, tt_hlo_value *x) {
  if (!is_complex(x))
    return x;
  return tt_hlo_complex(b, tt_hlo_real(b, x), tt_hlo_neg(b, tt_hlo_imag(b, x)));
}
POINTWISE_UNARY(conjugate, conjugate(b, x))

POINTWISE_UNARY(deg2rad, tt_low_mul_number(b, x, pi / 180))
POINTWISE_UNARY(rad2deg, tt_low_mul_number(b, x, 180 / pi))
POINTWISE_UNARY(log2, tt_low_mul_number(b, tt_hlo_log(b, x), 1 / ln2))
POINTWISE_UNARY(log10, tt_low_mul_number(b, tt_hlo_log(b, x), 1 / ln10))
POINTWISE_UNARY(reciprocal, tt_low_reciprocal(b, x))

/* 2^x = 2^n exp(f ln 2) with n whole: x ln 2 rounded as one product would lose |x| ulps. 2^n is
 * made of two factors that do not overflow before the product does. */
static tt_hlo_value *exp2_real(tt_hlo_build *b, tt_hlo_value *x) {
  double limit = tt_hlo_dtype(x) == TT_F64 ? 1100 : 160;
  tt_hlo_value *whole =
      tt_hlo_round_even(b, tt_low_min_number(b, tt_low_max_number(b, x, -limit), limit));
  tt_hlo_value *part = tt_hlo_exp(b, tt_low_mul_number(b, tt_hlo_sub(b, x, whole), ln2));
  tt_hlo_value *half = tt_hlo_floor(b, tt_low_mul_number(b, whole, 0.5));
  tt_hlo_value *two = tt_hlo_const_like(b, x, 2);
  part = tt_hlo_mul(b, part, tt_hlo_pow(b, two, half));
  return tt_hlo_mul(b, part, tt_hlo_pow(b, two, tt_hlo_sub(b, whole, half)));
}
POINTWISE_UNARY(exp2, is_complex(x) ? tt_hlo_exp(b, tt_low_mul_number(b, x, ln2)) : exp2_real(b, x))

POINTWISE_UNARY(trunc, is_integer(x) ? x : tt_low_trunc(b, x))
POINTWISE_UNARY(frac,
                is_integer(x) ? tt_hlo_const_like(b, x, 0) : tt_hlo_sub(b, x, tt_low_trunc(b, x)))

/* decimals < 0: to tens, hundreds. PyTorch's order: scale, round to even, scale back. */
POINTWISE_RULE(round_decimals) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_compute_dtype(ctx, args, 1);
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], dtype);
  int64_t decimals = tt_low_int(ctx, &args[1], 0);
  if (is_integer(x) && decimals >= 0) {
    tt_low_set(&results[0], x);
    return NULL;
  }
  if (is_integer(x))
    return tt_error_new(TT_UNIMPLEMENTED, "aten::round.decimals: negative decimals of integers");
  tt_hlo_value *ten = tt_hlo_const_like(b, x, pow(10, (double)llabs(decimals)));
  x = decimals < 0 ? tt_hlo_div(b, x, ten) : tt_hlo_mul(b, x, ten);
  x = tt_hlo_round_even(b, x);
  tt_low_set(&results[0], decimals < 0 ? tt_hlo_mul(b, x, ten) : tt_hlo_div(b, x, ten));
  return NULL;
}

/* (x > 0) - (x < 0): NaN and -0.0 give 0, which StableHLO's sign does not. */
static tt_hlo_value *sign_of_real(tt_hlo_build *b, tt_hlo_value *x) {
  tt_dtype dtype = tt_hlo_dtype(x);
  if (dtype == TT_PRED)
    return x;
  tt_hlo_value *above = tt_hlo_convert(b, tt_low_compare_number(b, TT_HLO_GT, x, 0), dtype);
  if (tt_dtype_is_unsigned(dtype))
    return above;
  return tt_hlo_sub(b, above, tt_hlo_convert(b, tt_low_compare_number(b, TT_HLO_LT, x, 0), dtype));
}
/* StableHLO's sign of a complex number is x / |x|, 0 for 0, as PyTorch's. */
POINTWISE_UNARY(sign, is_complex(x) ? tt_hlo_sign(b, x) : sign_of_real(b, x))

POINTWISE_RULE(signbit) {
  (void)args_count;
  tt_low_set(&results[0], tt_low_sign_bit(ctx->b, args[0].tensor));
  return NULL;
}

/* sin(pi x) / (pi x), 1 at 0. */
static tt_hlo_value *sinc(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *t = tt_low_mul_number(b, x, pi);
  return tt_low_select_number(b, tt_low_is_zero(b, x), 1, tt_hlo_div(b, tt_hlo_sin(b, t), t));
}
POINTWISE_UNARY(sinc, sinc(b, x))

/* !x of bool is logical, of integers bitwise: StableHLO's `not` is both. */
POINTWISE_UNARY(bitwise_not, tt_hlo_not(b, x))

POINTWISE_RULE(logical_not) {
  (void)args_count;
  tt_low_set(&results[0], tt_hlo_not(ctx->b, tt_low_tensor(ctx, &args[0], TT_PRED)));
  return NULL;
}

POINTWISE_RULE(isnan) {
  (void)args_count;
  tt_low_set(&results[0], tt_low_is_not_number(ctx->b, args[0].tensor));
  return NULL;
}

POINTWISE_RULE(isinf) {
  (void)args_count;
  tt_low_set(&results[0], tt_low_is_inf(ctx->b, args[0].tensor));
  return NULL;
}

/* data: the sign. Integers are never infinite. */
POINTWISE_RULE(is_infinity) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor;
  bool real = tt_dtype_is_float(tt_hlo_dtype(x));
  tt_low_set(&results[0],
             real ? tt_low_compare_number(ctx->b, TT_HLO_EQ, x, (double)ctx->rule->data * INFINITY)
                  : tt_low_is_not_number(ctx->b, x));
  return NULL;
}

static double largest(tt_dtype dtype) {
  return dtype == TT_F64    ? DBL_MAX
         : dtype == TT_F16  ? 65504
         : dtype == TT_BF16 ? 0x1.fep127
                            : FLT_MAX;
}

typedef struct nan_numbers {
  tt_hlo_value *nan, *above, *below;
} nan_numbers;

static tt_hlo_value *replace_nan(tt_hlo_build *b, tt_hlo_value *x, const nan_numbers *to) {
  tt_hlo_value *nan = tt_low_is_not_number(b, x);
  tt_hlo_value *above = tt_low_compare_number(b, TT_HLO_EQ, x, INFINITY);
  tt_hlo_value *below = tt_low_compare_number(b, TT_HLO_EQ, x, -INFINITY);
  tt_hlo_value *y = tt_hlo_select(b, above, tt_hlo_broadcast_like(b, to->above, x), x);
  y = tt_hlo_select(b, below, tt_hlo_broadcast_like(b, to->below, x), y);
  return tt_hlo_select(b, nan, tt_hlo_broadcast_like(b, to->nan, x), y);
}

/* The numbers left out are 0 and the extremes of the tensor's own dtype. */
POINTWISE_RULE(nan_to_num) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = args[0].tensor;
  tt_dtype dtype = tt_hlo_dtype(x), real = tt_dtype_real(dtype);
  if (!is_integer(x)) {
    nan_numbers to = {tt_low_number(ctx, &args[1], real, 0),
                      tt_low_number(ctx, &args[2], real, largest(real)),
                      tt_low_number(ctx, &args[3], real, -largest(real))};
    x = is_complex(x) ? tt_hlo_complex(b, replace_nan(b, tt_hlo_real(b, x), &to),
                                       replace_nan(b, tt_hlo_imag(b, x), &to))
                      : replace_nan(b, x, &to);
  }
  tt_low_set(&results[0], x);
  return NULL;
}

/* log(x / (1 - x)), x first limited to [eps, 1 - eps] when eps is given. */
POINTWISE_RULE(logit) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 1));
  if (!tt_low_is_none(&args[1])) {
    tt_hlo_value *eps = tt_low_number_like(ctx, &args[1], x, 0);
    x = tt_hlo_max(b, tt_hlo_min(b, x, tt_low_number_minus(b, 1, eps)), eps);
  }
  tt_low_set(&results[0], tt_hlo_log(b, tt_hlo_div(b, x, tt_low_number_minus(b, 1, x))));
  return NULL;
}

/* grad / (x (1 - x)) inside [eps, 1 - eps], 0 outside (NaN outside [0, 1] without eps). */
POINTWISE_RULE(logit_backward) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *gx[2];
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), gx);
  tt_hlo_value *x = gx[1];
  bool limited = !tt_low_is_none(&args[2]);
  tt_hlo_value *eps = tt_low_number_like(ctx, &args[2], x, 0);
  tt_hlo_value *inside =
      tt_hlo_and(b, tt_hlo_compare(b, TT_HLO_GE, x, eps),
                 tt_hlo_compare(b, TT_HLO_LE, x, tt_low_number_minus(b, 1, eps)));
  tt_hlo_value *slope = tt_hlo_div(b, gx[0], tt_hlo_mul(b, x, tt_low_number_minus(b, 1, x)));
  tt_low_set(&results[0], tt_low_select_or_number(b, inside, slope, limited ? 0 : NAN));
  return NULL;
}

/* ---- frexp: x = mantissa 2^exponent, 0.5 <= |mantissa| < 1 ---- */

typedef struct float_layout {
  int mantissa, bias; /* bits of the fraction; the exponent's bias */
  tt_dtype bits;
} float_layout;

/* Subnormal numbers are first multiplied up by 2^(mantissa + 2). */
static void frexp_into(tt_hlo_build *b, tt_hlo_value *x, const float_layout *at,
                       tt_low_value *results) {
  int lift = at->mantissa + 2;
  tt_hlo_value *small =
      tt_low_compare_number(b, TT_HLO_LT, tt_hlo_abs(b, x), ldexp(1, 2 - at->bias));
  tt_hlo_value *y = tt_hlo_select(b, small, tt_low_mul_number(b, x, ldexp(1, lift)), x);
  tt_hlo_value *bits = tt_hlo_bitcast(b, y, at->bits);
  tt_hlo_value *shift = tt_hlo_const_like(b, bits, at->mantissa);
  tt_hlo_value *field = tt_hlo_const_like(b, bits, 2 * at->bias + 1);
  tt_hlo_value *exponent = tt_hlo_and(b, tt_hlo_shr(b, bits, shift), field);
  tt_hlo_value *half = tt_hlo_shl(b, tt_hlo_const_like(b, bits, at->bias - 1), shift);
  tt_hlo_value *rest = tt_hlo_and(b, bits, tt_hlo_not(b, tt_hlo_shl(b, field, shift)));
  tt_hlo_value *mantissa = tt_hlo_bitcast(b, tt_hlo_or(b, rest, half), tt_hlo_dtype(x));
  tt_hlo_value *plain = tt_hlo_or(b, tt_low_is_zero(b, x), tt_hlo_not(b, tt_hlo_is_finite(b, x)));
  exponent = tt_low_add_number(b, tt_hlo_convert(b, exponent, TT_S32), 1 - at->bias);
  exponent = tt_hlo_select(b, small, tt_low_add_number(b, exponent, -lift), exponent);
  tt_low_set(&results[0], tt_hlo_select(b, plain, x, mantissa));
  tt_low_set(&results[1], tt_low_select_number(b, plain, 0, exponent));
}

POINTWISE_RULE(frexp) {
  (void)args_count;
  static const float_layout f16 = {10, 15, TT_S16}, bf16 = {7, 127, TT_S16},
                            f32 = {23, 127, TT_S32}, f64 = {52, 1023, TT_S64};
  tt_hlo_value *x = args[0].tensor;
  tt_dtype dtype = tt_hlo_dtype(x);
  const float_layout *at = dtype == TT_F16    ? &f16
                           : dtype == TT_BF16 ? &bf16
                           : dtype == TT_F64  ? &f64
                                              : &f32;
  frexp_into(ctx->b, x, at, results);
  return NULL;
}

/* ---- filling ---- */

POINTWISE_RULE(fill) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor;
  tt_low_set(&results[0],
             tt_hlo_broadcast_like(ctx->b, tt_low_number(ctx, &args[1], tt_hlo_dtype(x), 0), x));
  return NULL;
}

POINTWISE_RULE(zero) {
  (void)args_count;
  tt_low_set(&results[0], tt_hlo_const_like(ctx->b, args[0].tensor, 0));
  return NULL;
}
