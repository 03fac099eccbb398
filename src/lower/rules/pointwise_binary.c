#include <math.h>
#include <string.h>

#include "lower/rules/helpers_reduction.h"
#include "lower/rules/pointwise_internal.h"

static const double ln2 = 0.69314718055994530942;

static bool is_complex(const tt_hlo_value *x) { return tt_dtype_is_complex(tt_hlo_dtype(x)); }

/* data: the operation. */
POINTWISE_BINARY(binary, tt_hlo_op2(b, (tt_hlo_code)ctx->rule->data, x, y))

/* ---- add, sub: the second operand times alpha, the third argument (1 when a foreach rule leaves
 * it out) ---- */

static tt_hlo_value *scaled(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_hlo_value *x) {
  if (args_count < 3 || tt_low_scalar_is(&args[2], 1))
    return x;
  return tt_hlo_mul(ctx->b, x, tt_low_number_like(ctx, &args[2], x, 1));
}

/* data: ADD or SUBTRACT. */
POINTWISE_RULE(add) {
  tt_hlo_value *xy[2];
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), xy);
  xy[1] = scaled(ctx, args, args_count, xy[1]);
  tt_low_set(&results[0], tt_hlo_op2(ctx->b, (tt_hlo_code)ctx->rule->data, xy[0], xy[1]));
  return NULL;
}

/* other - alpha self */
POINTWISE_RULE(rsub) {
  tt_hlo_value *xy[2];
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), xy);
  tt_low_set(&results[0], tt_hlo_sub(ctx->b, xy[1], scaled(ctx, args, args_count, xy[0])));
  return NULL;
}

POINTWISE_RULE(add_relu) {
  tt_hlo_value *xy[2];
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), xy);
  tt_hlo_value *sum = tt_hlo_add(ctx->b, xy[0], scaled(ctx, args, args_count, xy[1]));
  tt_low_set(&results[0], tt_low_max_number(ctx->b, sum, 0));
  return NULL;
}

/* ---- division ---- */

/* true where mod != 0 and its sign differs from the divisor's: where floor and trunc division
 * differ. */
static tt_hlo_value *sign_differs(tt_hlo_build *b, tt_hlo_value *mod, tt_hlo_value *divisor) {
  tt_hlo_value *different =
      tt_hlo_compare(b, TT_HLO_NE, tt_low_compare_number(b, TT_HLO_LT, mod, 0),
                     tt_low_compare_number(b, TT_HLO_LT, divisor, 0));
  return tt_hlo_and(b, tt_low_compare_number(b, TT_HLO_NE, mod, 0), different);
}

/* The quotient is made whole from x - mod, which y divides exactly but for rounding: Python's float
 * floor division. */
static tt_hlo_value *floor_div_float(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *mod = tt_hlo_rem(b, x, y);
  tt_hlo_value *quotient = tt_hlo_div(b, tt_hlo_sub(b, x, mod), y);
  quotient =
      tt_hlo_select(b, sign_differs(b, mod, y), tt_low_add_number(b, quotient, -1), quotient);
  tt_hlo_value *whole = tt_hlo_floor(b, quotient);
  tt_hlo_value *low = tt_low_compare_number(b, TT_HLO_GT, tt_hlo_sub(b, quotient, whole), 0.5);
  whole = tt_hlo_select(b, low, tt_low_add_number(b, whole, 1), whole);
  tt_hlo_value *plain = tt_hlo_div(b, x, y);
  tt_hlo_value *zero = tt_low_copy_sign(b, tt_hlo_const_like(b, x, 0), plain);
  whole = tt_hlo_select(b, tt_low_is_zero(b, quotient), zero, whole);
  return tt_hlo_select(b, tt_low_is_zero(b, y), plain, whole);
}

static tt_hlo_value *floor_div_int(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *quotient = tt_hlo_div(b, x, y);
  if (!tt_dtype_is_signed(tt_hlo_dtype(x)))
    return quotient;
  tt_hlo_value *low = sign_differs(b, tt_hlo_rem(b, x, y), y);
  return tt_hlo_select(b, low, tt_low_add_number(b, quotient, -1), quotient);
}

static tt_hlo_value *all_of(tt_low_ctx *ctx, tt_hlo_value *preds) {
  return tt_low_fold_all(ctx, TT_HLO_AND, preds);
}

static void check_divisor(tt_low_ctx *ctx, tt_hlo_value *y) {
  if (ctx->debug && is_integer(y))
    tt_low_check(ctx, all_of(ctx, tt_low_compare_number(ctx->b, TT_HLO_NE, y, 0)),
                 TT_INVALID_ARGUMENT, "ZeroDivisionError");
}

static void floor_divide_into(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *y,
                              tt_low_value *results) {
  check_divisor(ctx, y);
  tt_low_set(&results[0],
             is_integer(x) ? floor_div_int(ctx->b, x, y) : floor_div_float(ctx->b, x, y));
}

POINTWISE_RULE(floor_divide) {
  (void)args_count;
  tt_hlo_value *xy[2];
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), xy);
  floor_divide_into(ctx, xy[0], xy[1], results);
  return NULL;
}

/* The barrier keeps XLA from multiplying by the reciprocal of a divisor that is broadcast: trunc
 * shows its last bit. 16-bit floats: PyTorch rounds the quotient to their dtype before it is made
 * whole. */
static tt_hlo_value *trunc_div_float(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *y) {
  tt_dtype dtype = ctx->wanted_count > 0 ? ctx->wanted[0].dtype : tt_hlo_dtype(x);
  tt_hlo_value *quotient = tt_hlo_div(ctx->b, x, tt_hlo_optimization_barrier(ctx->b, y));
  return tt_low_trunc(ctx->b, tt_hlo_convert(ctx->b, quotient, dtype));
}

/* rounding_mode: None, "trunc" or "floor". */
POINTWISE_RULE(div_mode) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *xy[2];
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), xy);
  bool plain = tt_low_is_none(&args[2]);
  if (!plain && strcmp(args[2].string, "floor") == 0) {
    floor_divide_into(ctx, xy[0], xy[1], results);
    return NULL;
  }
  check_divisor(ctx, xy[1]);
  tt_low_set(&results[0], plain || is_integer(xy[0]) ? tt_hlo_div(b, xy[0], xy[1])
                                                     : trunc_div_float(ctx, xy[0], xy[1]));
  return NULL;
}

POINTWISE_RULE(fmod) {
  (void)args_count;
  tt_hlo_value *xy[2];
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), xy);
  check_divisor(ctx, xy[1]);
  tt_low_set(&results[0], tt_hlo_rem(ctx->b, xy[0], xy[1]));
  return NULL;
}

/* The sign of the divisor. */
POINTWISE_RULE(remainder) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *xy[2];
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), xy);
  check_divisor(ctx, xy[1]);
  tt_hlo_value *mod = tt_hlo_rem(b, xy[0], xy[1]);
  if (!tt_dtype_is_unsigned(tt_hlo_dtype(mod)))
    mod = tt_hlo_select(b, sign_differs(b, mod, xy[1]), tt_hlo_add(b, mod, xy[1]), mod);
  tt_low_set(&results[0], mod);
  return NULL;
}

/* ---- powers ---- */

/* x^y for y >= 0, modulo 2^bits. XLA looks at six bits of an exponent; so in steps of six. */
static tt_hlo_value *pow_wrapping(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  enum { STEP = 6 };
  tt_dtype dtype = tt_hlo_dtype(x);
  tt_hlo_value *low = tt_hlo_const_like(b, y, (1 << STEP) - 1), *power = NULL;
  for (int done = 0;; done += STEP) {
    tt_hlo_value *part = tt_hlo_pow(b, x, tt_hlo_and(b, y, low));
    power = power == NULL ? part : tt_hlo_mul(b, power, part);
    if (done + STEP >= tt_dtypes[dtype].bits)
      break;
    x = tt_hlo_mul(b, tt_hlo_pow(b, x, low), x);
    y = tt_hlo_shr(b, y, tt_hlo_const_like(b, y, STEP));
  }
  return power;
}

/* x^-n is 0 but for x = 1 and -1. */
static tt_hlo_value *pow_int(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  if (!tt_dtype_is_signed(tt_hlo_dtype(x)))
    return pow_wrapping(b, x, y);
  tt_hlo_value *negative = tt_low_compare_number(b, TT_HLO_LT, y, 0);
  tt_hlo_value *up = pow_wrapping(b, x, tt_low_max_number(b, y, 0));
  tt_hlo_value *odd =
      tt_low_compare_number(b, TT_HLO_NE, tt_hlo_and(b, y, tt_hlo_const_like(b, y, 1)), 0);
  tt_hlo_value *minus = tt_low_select_or_number(b, odd, tt_hlo_const_like(b, x, -1), 1);
  tt_hlo_value *one = tt_low_compare_number(b, TT_HLO_EQ, x, 1);
  tt_hlo_value *minus_one = tt_low_compare_number(b, TT_HLO_EQ, x, -1);
  tt_hlo_value *down = tt_low_select_or_number(b, minus_one, minus, 0);
  return tt_hlo_select(b, negative, tt_low_select_number(b, one, 1, down), up);
}

static tt_hlo_value *power(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  if (tt_hlo_dtype(x) == TT_PRED) /* 0^0 is 1 */
    return tt_hlo_or(b, x, tt_hlo_not(b, y));
  return is_integer(x) ? pow_int(b, x, y) : tt_hlo_pow(b, x, y);
}
POINTWISE_BINARY(pow, power(b, x, y))

/* The exponents that PyTorch has kernels of their own for; NULL for others. */
static tt_hlo_value *power_special(tt_hlo_build *b, tt_hlo_value *x, const tt_low_value *exponent) {
  if (tt_low_scalar_is(exponent, 1))
    return x;
  if (tt_hlo_dtype(x) != TT_PRED && tt_low_scalar_is(exponent, 2))
    return tt_low_squared(b, x);
  if (tt_hlo_dtype(x) != TT_PRED && tt_low_scalar_is(exponent, 3))
    return tt_hlo_mul(b, tt_low_squared(b, x), x);
  if (is_integer(x))
    return NULL;
  if (tt_low_scalar_is(exponent, 0.5))
    return tt_hlo_sqrt(b, x);
  if (tt_low_scalar_is(exponent, -0.5))
    return tt_hlo_rsqrt(b, x);
  if (tt_low_scalar_is(exponent, -1))
    return tt_low_reciprocal(b, x);
  if (tt_low_scalar_is(exponent, -2))
    return tt_low_reciprocal(b, tt_low_squared(b, x));
  return NULL;
}

POINTWISE_RULE(pow_scalar) {
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 2));
  tt_hlo_value *y = power_special(ctx->b, x, &args[1]);
  if (y == NULL)
    return tt_low_pointwise_pow(ctx, args, args_count, results);
  tt_low_set(&results[0], y);
  return NULL;
}

/* self 2^other */
POINTWISE_BINARY(ldexp, tt_hlo_mul(b, x, tt_hlo_pow(b, tt_hlo_const_like(b, x, 2), y)))

/* ---- comparison: in the operands' promoted dtype; data is the direction ---- */

POINTWISE_RULE(compare) {
  (void)args_count;
  tt_hlo_value *xy[2];
  tt_low_operands(ctx, args, 2, tt_low_promote(ctx, args, 2), xy);
  tt_low_set(&results[0], tt_hlo_compare(ctx->b, (tt_hlo_direction)ctx->rule->data, xy[0], xy[1]));
  return NULL;
}

/* data: AND, OR or XOR of what is not zero. */
POINTWISE_RULE(logical) {
  (void)args_count;
  tt_hlo_value *xy[2] = {tt_low_tensor(ctx, &args[0], TT_PRED),
                         tt_low_tensor(ctx, &args[1], TT_PRED)};
  tt_low_broadcast2(ctx, &xy[0], &xy[1]);
  tt_low_set(&results[0], tt_hlo_op2(ctx->b, (tt_hlo_code)ctx->rule->data, xy[0], xy[1]));
  return NULL;
}

/* ---- bits ---- */

/* Floats are multiplied by 2^y. StableHLO gives 0 for a shift that is negative or too long, as
 * PyTorch does. */
static tt_hlo_value *shift_left(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  return is_integer(x) ? tt_hlo_shl(b, x, y)
                       : tt_hlo_mul(b, x, tt_hlo_pow(b, tt_hlo_const_like(b, x, 2), y));
}
static tt_hlo_value *shift_right(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  if (!is_integer(x))
    return tt_hlo_div(b, x, tt_hlo_pow(b, tt_hlo_const_like(b, x, 2), y));
  return tt_dtype_is_signed(tt_hlo_dtype(x)) ? tt_hlo_sar(b, x, y) : tt_hlo_shr(b, x, y);
}
POINTWISE_BINARY(shift_left, shift_left(b, x, y))
POINTWISE_BINARY(shift_right, shift_right(b, x, y))

/* Euclid: (x, y) becomes (y, x mod y) until every y is 0. */
static tt_hlo_value *gcd(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *state[2] = {x, y};
  if (tt_dtype_is_signed(tt_hlo_dtype(x))) {
    state[0] = tt_hlo_abs(b, x);
    state[1] = tt_hlo_abs(b, y);
  }
  tt_hlo_type types[2] = {state[0]->type, state[1]->type};
  int64_t axes[64];
  int rank = tt_hlo_rank(x);
  for (int i = 0; i < rank; i++)
    axes[i] = i;
  tt_hlo_region *cond = tt_hlo_region_open(b, types, 2);
  tt_hlo_value *left = tt_low_compare_number(b, TT_HLO_NE, tt_hlo_region_arg(b, cond, 1), 0);
  left = tt_hlo_reduce(b, TT_HLO_OR, left, axes, (size_t)rank);
  tt_hlo_region_close(b, &left, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, types, 2);
  tt_hlo_value *u = tt_hlo_region_arg(b, body, 0), *v = tt_hlo_region_arg(b, body, 1);
  tt_hlo_value *done = tt_low_is_zero(b, v);
  tt_hlo_value *rest = tt_hlo_rem(b, u, tt_low_select_number(b, done, 1, v));
  tt_hlo_value *next[2] = {tt_hlo_select(b, done, u, v), tt_low_select_number(b, done, 0, rest)};
  tt_hlo_region_close(b, next, 2);
  tt_hlo_value *out[2];
  tt_hlo_while(b, state, 2, cond, body, out);
  return out[0];
}
POINTWISE_BINARY(gcd, gcd(b, x, y))

static tt_hlo_value *lcm(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *g = gcd(b, x, y);
  tt_hlo_value *none = tt_low_is_zero(b, g);
  tt_hlo_value *product = tt_hlo_mul(b, tt_hlo_div(b, x, tt_low_select_number(b, none, 1, g)), y);
  if (tt_dtype_is_signed(tt_hlo_dtype(x)))
    product = tt_hlo_abs(b, product);
  return tt_low_select_number(b, none, 0, product);
}
POINTWISE_BINARY(lcm, lcm(b, x, y))

/* ---- floats ---- */

POINTWISE_BINARY(fmax, is_integer(x) ? tt_hlo_max(b, x, y)
                                     : tt_hlo_select(b, tt_low_is_not_number(b, x), y,
                                                     tt_hlo_select(b, tt_low_is_not_number(b, y), x,
                                                                   tt_hlo_max(b, x, y))))
POINTWISE_BINARY(fmin, is_integer(x) ? tt_hlo_min(b, x, y)
                                     : tt_hlo_select(b, tt_low_is_not_number(b, x), y,
                                                     tt_hlo_select(b, tt_low_is_not_number(b, y), x,
                                                                   tt_hlo_min(b, x, y))))
POINTWISE_BINARY(copysign, tt_low_copy_sign(b, x, y))

/* 0 below zero, 1 above, `values` at zero; 0 for NaN. */
static tt_hlo_value *heaviside(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *values) {
  tt_hlo_value *step =
      tt_hlo_convert(b, tt_low_compare_number(b, TT_HLO_GT, x, 0), tt_hlo_dtype(x));
  return tt_hlo_select(b, tt_low_is_zero(b, x), values, step);
}
POINTWISE_RULE(heaviside) {
  (void)args_count;
  tt_hlo_value *xy[2];
  tt_low_operands(ctx, args, 2, tt_low_promote(ctx, args, 2), xy);
  tt_low_set(&results[0], tt_hlo_dtype(xy[0]) == TT_PRED
                              ? tt_hlo_or(ctx->b, xy[0], xy[1]) /* true: 1, false: values */
                              : heaviside(ctx->b, xy[0], xy[1]));
  return NULL;
}

/* large sqrt(1 + (small / large)^2): no overflow. Infinity wins over NaN, as in C. */
static tt_hlo_value *hypot_of(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  x = tt_hlo_abs(b, x);
  y = tt_hlo_abs(b, y);
  tt_hlo_value *large = tt_hlo_max(b, x, y), *small = tt_hlo_min(b, x, y);
  tt_hlo_value *none = tt_low_is_zero(b, large);
  tt_hlo_value *ratio = tt_hlo_div(b, small, tt_low_select_number(b, none, 1, large));
  tt_hlo_value *size =
      tt_hlo_mul(b, large, tt_hlo_sqrt(b, tt_low_add_number(b, tt_low_squared(b, ratio), 1)));
  tt_hlo_value *infinite = tt_hlo_or(b, tt_low_is_inf(b, x), tt_low_is_inf(b, y));
  return tt_low_select_number(b, infinite, INFINITY, size);
}
POINTWISE_BINARY(hypot, hypot_of(b, x, y))

/* max + log1p(exp(-|x - y|)); equal operands, infinite ones too, give x + log 2. */
static tt_hlo_value *logaddexp(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *gap = tt_hlo_neg(b, tt_hlo_abs(b, tt_hlo_sub(b, x, y)));
  tt_hlo_value *tail = tt_hlo_log1p(b, tt_hlo_exp(b, gap));
  tt_hlo_value *equal = tt_hlo_compare(b, TT_HLO_EQ, x, y);
  return tt_hlo_add(b, tt_hlo_max(b, x, y), tt_low_select_number(b, equal, ln2, tail));
}
/* Complex: the operand of the larger real part goes first. */
static tt_hlo_value *logaddexp_complex(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *first = tt_hlo_compare(b, TT_HLO_GE, tt_hlo_real(b, x), tt_hlo_real(b, y));
  tt_hlo_value *large = tt_hlo_select(b, first, x, y), *small = tt_hlo_select(b, first, y, x);
  return tt_hlo_add(b, large, tt_hlo_log1p(b, tt_hlo_exp(b, tt_hlo_sub(b, small, large))));
}
POINTWISE_BINARY(logaddexp, is_complex(x) ? logaddexp_complex(b, x, y) : logaddexp(b, x, y))

/* log2(2^x + 2^y) */
static tt_hlo_value *logaddexp2(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *gap = tt_low_mul_number(b, tt_hlo_abs(b, tt_hlo_sub(b, x, y)), -ln2);
  tt_hlo_value *tail = tt_low_mul_number(b, tt_hlo_log1p(b, tt_hlo_exp(b, gap)), 1 / ln2);
  tt_hlo_value *equal = tt_hlo_compare(b, TT_HLO_EQ, x, y);
  return tt_hlo_add(b, tt_hlo_max(b, x, y), tt_low_select_number(b, equal, 1, tail));
}
POINTWISE_BINARY(logaddexp2, logaddexp2(b, x, y))

/* x log y; 0 where x is 0, unless y is NaN. data: LOG, or LOG_PLUS_ONE. */
static tt_hlo_value *times_log(tt_hlo_build *b, tt_hlo_code log, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *product = tt_hlo_mul(b, x, tt_hlo_op1(b, log, y));
  tt_hlo_value *zero = tt_hlo_and(b, tt_low_is_zero(b, x), tt_hlo_compare(b, TT_HLO_EQ, y, y));
  return tt_low_select_number(b, zero, 0, product);
}
POINTWISE_BINARY(xlogy, times_log(b, (tt_hlo_code)ctx->rule->data, x, y))

/* ---- complex from real parts; the result is complex, the operands are not ---- */

static void real_operands(tt_low_ctx *ctx, const tt_low_value *args, tt_hlo_value **xy) {
  tt_dtype dtype = tt_hlo_dtype(args[0].tensor);
  tt_low_operands(ctx, args, 2, tt_low_opmath(dtype), xy);
}

POINTWISE_RULE(complex) {
  (void)args_count;
  tt_hlo_value *xy[2];
  real_operands(ctx, args, xy);
  tt_low_set(&results[0], tt_hlo_complex(ctx->b, xy[0], xy[1]));
  return NULL;
}

POINTWISE_RULE(polar) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *xy[2];
  real_operands(ctx, args, xy);
  tt_hlo_value *real = tt_hlo_mul(b, xy[0], tt_hlo_cos(b, xy[1]));
  tt_low_set(&results[0], tt_hlo_complex(b, real, tt_hlo_mul(b, xy[0], tt_hlo_sin(b, xy[1]))));
  return NULL;
}

/* In the result's own dtype, not a wider one: the neighbour depends on it. */
POINTWISE_RULE(nextafter) {
  (void)args_count;
  tt_hlo_value *xy[2];
  tt_low_operands(ctx, args, 2, tt_low_promote(ctx, args, 2), xy);
  tt_low_set(&results[0], tt_hlo_op2(ctx->b, TT_HLO_CHLO_NEXT_AFTER, xy[0], xy[1]));
  return NULL;
}
