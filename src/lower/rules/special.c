/* Special functions that StableHLO or CHLO has, or that follow from those by a formula. */
#include <math.h>
#include <string.h>

#include "lower/rules/rules.h"
#include "lower/rules/special_internal.h"

static const double pi = 3.14159265358979323846, log_pi = 1.14472988584940017414,
                    sqrt_half = 0.70710678118654752440, sqrt_pi_inverse = 0.56418958354775628695;

static tt_hlo_value *erfc_of(tt_hlo_build *b, tt_hlo_value *x) {
  return tt_hlo_op1(b, TT_HLO_CHLO_ERFC, x);
}

/* data: the operation. */
SPECIAL_UNARY(unary, tt_hlo_op1(b, (tt_hlo_code)ctx->rule->data, x))

/* The poles at 0 have the sign of -x. */
static tt_hlo_value *digamma(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *pole = tt_low_copy_sign(b, tt_hlo_const_like(b, x, INFINITY), tt_hlo_neg(b, x));
  return tt_hlo_select(b, tt_low_is_zero(b, x), pole, tt_hlo_op1(b, TT_HLO_CHLO_DIGAMMA, x));
}
SPECIAL_UNARY(digamma, digamma(b, x))

/* Hurwitz zeta; data of a rule is not used. */
SPECIAL_BINARY(zeta, tt_hlo_op2(b, TT_HLO_CHLO_ZETA, x, y))

static tt_hlo_value *zeta_from(tt_hlo_build *b, double s, tt_hlo_value *x) {
  return tt_hlo_op2(b, TT_HLO_CHLO_ZETA, tt_hlo_const_like(b, x, s), x);
}

/* psi'(x) = zeta(2, x); below 1/2 by reflection, pi^2 / sin^2(pi x) - psi'(1 - x). */
static tt_hlo_value *trigamma(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *low = tt_low_compare_number(b, TT_HLO_LT, x, 0.5);
  tt_hlo_value *z = zeta_from(b, 2, tt_hlo_select(b, low, tt_low_number_minus(b, 1, x), x));
  tt_hlo_value *sine = tt_hlo_sin(b, tt_low_mul_number(b, x, pi));
  return tt_hlo_select(
      b, low, tt_hlo_sub(b, tt_low_number_over(b, pi * pi, tt_low_squared(b, sine)), z), z);
}

/* (-1)^(n + 1) n! zeta(n + 1, x), x > 0. */
static tt_hlo_value *polygamma_above(tt_hlo_build *b, int64_t n, tt_hlo_value *x) {
  double factor = (n % 2 ? 1 : -1) * tgamma((double)n + 1);
  return tt_low_mul_number(b, zeta_from(b, (double)n + 1, x), factor);
}

enum { COT_TERMS = 64 };

/* The n-th derivative of cot(x) is P(cot x): P_0 = c, P_(n + 1) = -(1 + c^2) P_n'. */
static void cot_derivative(int64_t n, double *c) {
  memset(c, 0, (COT_TERMS + 2) * sizeof *c);
  c[1] = 1;
  for (int64_t k = 0; k < n; k++) {
    double next[COT_TERMS + 2] = {0};
    for (int64_t i = 1; i <= k + 1; i++) {
      next[i - 1] -= (double)i * c[i];
      next[i + 1] -= (double)i * c[i];
    }
    memcpy(c, next, sizeof next);
  }
}

/* From n = 2 on; below 0 by reflection: psi_n(x) = (-1)^n psi_n(1 - x) - pi d^n/dx^n cot(pi x). */
static tt_hlo_value *polygamma(tt_hlo_build *b, int64_t n, tt_hlo_value *x) {
  double c[COT_TERMS + 2];
  if (n >= COT_TERMS)
    return polygamma_above(b, n, x);
  cot_derivative(n, c);
  for (int64_t i = 0; i <= n + 1; i++)
    c[i] *= -pow(pi, (double)n + 1);
  tt_hlo_value *low = tt_low_compare_number(b, TT_HLO_LE, x, 0);
  tt_hlo_value *y = polygamma_above(b, n, tt_hlo_select(b, low, tt_low_number_minus(b, 1, x), x));
  tt_hlo_value *angle = tt_low_mul_number(b, tt_hlo_sub(b, x, tt_hlo_round_even(b, x)), pi);
  tt_hlo_value *cot = tt_hlo_div(b, tt_hlo_cos(b, angle), tt_hlo_sin(b, angle));
  cot = tt_low_select_number(b, tt_low_is_zero(b, angle), INFINITY, cot);
  tt_hlo_value *other = tt_low_polynomial(b, cot, c, (size_t)n + 2);
  return tt_hlo_select(b, low, tt_hlo_add(b, n % 2 ? tt_hlo_neg(b, y) : y, other), y);
}

/* (n, x) */
SPECIAL_RULE(polygamma) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  int64_t n = tt_low_int(ctx, &args[0], 0);
  tt_hlo_value *x = tt_low_tensor(ctx, &args[1], tt_low_compute_dtype(ctx, args + 1, 1));
  tt_low_set(&results[0], n == 0 ? digamma(b, x) : n == 1 ? trigamma(b, x) : polygamma(b, n, x));
  return NULL;
}

/* x, p: log of the multivariate gamma function, p (p - 1) / 4 log pi + sum of lgamma(x - j / 2), j
 * < p. */
SPECIAL_RULE(mvlgamma) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 1));
  int64_t p = tt_low_int(ctx, &args[1], 1);
  tt_hlo_value *sum = tt_hlo_const_like(b, x, (double)(p * (p - 1)) / 4 * log_pi);
  for (int64_t j = 0; j < p; j++)
    sum = tt_hlo_add(b, sum,
                     tt_hlo_op1(b, TT_HLO_CHLO_LGAMMA, tt_low_add_number(b, x, -0.5 * (double)j)));
  tt_low_set(&results[0], sum);
  return NULL;
}

/* -x log x; 0 at 0, -inf below. */
static tt_hlo_value *entropy(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *y = tt_hlo_neg(b, tt_hlo_mul(b, x, tt_hlo_log(b, x)));
  y = tt_low_select_number(b, tt_low_is_zero(b, x), 0, y);
  return tt_low_select_number(b, tt_low_compare_number(b, TT_HLO_LT, x, 0), -INFINITY, y);
}
SPECIAL_UNARY(entr, entropy(b, x))

/* sin(x) / x; 1 at 0, 0 at infinity. */
static tt_hlo_value *spherical_j0(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *y =
      tt_low_select_number(b, tt_low_is_zero(b, x), 1, tt_hlo_div(b, tt_hlo_sin(b, x), x));
  return tt_low_select_number(b, tt_low_is_inf(b, x), 0, y);
}
SPECIAL_UNARY(spherical_j0, spherical_j0(b, x))

/* exp(x^2) erfc(x) for x >= 3 by the continued fraction
 * 1 / sqrt(pi) / (x + (1/2) / (x + (2/2) / (x + (3/2) / ...))), from its far end. */
static tt_hlo_value *erfcx_large(tt_hlo_build *b, tt_hlo_value *x) {
  int terms = tt_hlo_dtype(x) == TT_F64 ? 60 : 20;
  tt_hlo_value *tail = x;
  for (int k = terms; k > 0; k--)
    tail = tt_hlo_add(b, x, tt_low_number_over(b, 0.5 * k, tail));
  return tt_low_number_over(b, sqrt_pi_inverse, tail);
}

/* Below 3 the product is exact enough: exp(9) times an erfc that has not underflowed. For -inf it
 * is inf. */
static tt_hlo_value *erfcx_of(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *large = tt_low_compare_number(b, TT_HLO_GT, x, 3);
  tt_hlo_value *small = tt_low_min_number(b, x, 3);
  small = tt_hlo_mul(b, tt_hlo_exp(b, tt_low_squared(b, small)), erfc_of(b, small));
  return tt_hlo_select(b, large, erfcx_large(b, tt_low_max_number(b, x, 3)), small);
}
SPECIAL_UNARY(erfcx, erfcx_of(b, x))

/* log of the normal distribution function: below -1 through erfcx, so that it does not underflow.
 */
static tt_hlo_value *log_ndtr(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *t = tt_low_mul_number(b, x, sqrt_half);
  tt_hlo_value *low = tt_low_compare_number(b, TT_HLO_LT, x, -1);
  tt_hlo_value *scaled = erfcx_of(b, tt_hlo_neg(b, tt_low_min_number(b, t, 0)));
  tt_hlo_value *below =
      tt_hlo_sub(b, tt_hlo_log(b, tt_low_mul_number(b, scaled, 0.5)), tt_low_squared(b, t));
  tt_hlo_value *above = tt_hlo_log1p(b, tt_low_mul_number(b, erfc_of(b, t), -0.5));
  return tt_hlo_select(b, low, below, above);
}
SPECIAL_UNARY(log_ndtr, log_ndtr(b, x))

const tt_low_rule tt_low_rules_special[] = {
#define X(overload, function, traits, data) \
  {overload, tt_low_special_##function, traits, data, NULL},
#include "lower/rules/special.def"
#undef X
};
const size_t tt_low_rules_special_count = TT_COUNT(tt_low_rules_special);
