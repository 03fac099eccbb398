/* Bessel functions. Near zero a fitted polynomial in x or x^2, with the logarithm of Y and K kept
 * apart; far away the asymptotic expansions (DLMF 10.17, 10.40). The border is where the
 * expansion's smallest term, exp(-2 x), is below the dtype's precision. */
#define _XOPEN_SOURCE 700 /* j0, j1, y0, y1 */
#include <math.h>

#include "lower/rules/special_internal.h"

static const double pi = 3.14159265358979323846;

static bool is_wide(const tt_hlo_value *x) { return tt_hlo_dtype(x) == TT_F64; }

/* a_k(nu) = (4 nu^2 - 1) (4 nu^2 - 9) ... (4 nu^2 - (2 k - 1)^2) / (k! 8^k) */
static double hankel(int nu, size_t k) {
  double a = 1;
  for (size_t j = 1; j <= k; j++)
    a *= (4.0 * nu * nu - (2.0 * (double)j - 1) * (2.0 * (double)j - 1)) / (8.0 * (double)j);
  return a;
}

/* ---- J and Y: data of the rules is the order nu, 0 or 1 ---- */

static double far_from(const tt_hlo_value *x) { return is_wide(x) ? 25 : 10; }

/* The functions of s = x^2 that are fitted: J0, J1 / x, and what Y leaves beside the logarithm. */
static double j_near(double s, double nu) { return nu == 0 ? j0(sqrt(s)) : j1(sqrt(s)) / sqrt(s); }
static double y_near(double s, double nu) {
  double x = sqrt(s), log_part = 2 / pi * log(x);
  return nu == 0 ? y0(x) - log_part * j0(x) : (y1(x) - log_part * j1(x) + 2 / (pi * x)) / x;
}

static tt_hlo_value *fit_square(tt_hlo_build *b, tt_hlo_value *x, tt_low_fit_fn f, int nu) {
  double edge = far_from(x);
  return tt_low_fit(b, tt_low_squared(b, x), 0, edge * edge, tt_low_fit_terms(x, 20, 44), f, nu);
}

/* sqrt(2 / (pi x)) (P cos chi - Q sin chi) for J, (P sin chi + Q cos chi) for Y; chi = x - nu pi/2
 * - pi/4 is opened so that nothing is lost for large x. */
static tt_hlo_value *far_jy(tt_hlo_build *b, tt_hlo_value *x, int nu, bool second) {
  enum { TERMS = 10 };
  double p[TERMS], q[TERMS];
  size_t terms = tt_low_fit_terms(x, 5, TERMS);
  for (size_t k = 0; k < terms; k++) {
    p[k] = (k % 2 ? -1 : 1) * hankel(nu, 2 * k);
    q[k] = (k % 2 ? -1 : 1) * hankel(nu, 2 * k + 1);
  }
  tt_hlo_value *u = tt_low_reciprocal(b, x), *uu = tt_low_squared(b, u);
  tt_hlo_value *even = tt_low_polynomial(b, uu, p, terms);
  tt_hlo_value *odd = tt_hlo_mul(b, u, tt_low_polynomial(b, uu, q, terms));
  tt_hlo_value *sine = tt_hlo_sin(b, x), *cosine = tt_hlo_cos(b, x);
  tt_hlo_value *sum = tt_hlo_add(b, sine, cosine), *difference = tt_hlo_sub(b, sine, cosine);
  tt_hlo_value *cos_chi = nu == 0 ? sum : difference,
               *sin_chi = nu == 0 ? difference : tt_hlo_neg(b, sum);
  tt_hlo_value *wave =
      second ? tt_hlo_add(b, tt_hlo_mul(b, even, sin_chi), tt_hlo_mul(b, odd, cos_chi))
             : tt_hlo_sub(b, tt_hlo_mul(b, even, cos_chi), tt_hlo_mul(b, odd, sin_chi));
  return tt_hlo_mul(b, wave, tt_hlo_sqrt(b, tt_low_mul_number(b, u, 1 / pi)));
}

static tt_hlo_value *near_j(tt_hlo_build *b, tt_hlo_value *x, int nu) {
  tt_hlo_value *even = fit_square(b, x, j_near, nu);
  return nu == 0 ? even : tt_hlo_mul(b, x, even);
}

/* NaN at infinity, as in PyTorch. */
static tt_hlo_value *bessel_j(tt_hlo_build *b, tt_hlo_value *x, int nu) {
  tt_hlo_value *size = tt_hlo_abs(b, x);
  tt_hlo_value *is_far = tt_low_compare_number(b, TT_HLO_GT, size, far_from(x));
  tt_hlo_value *far = far_jy(b, tt_low_max_number(b, size, far_from(x)), nu, false);
  if (nu == 1)
    far = tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_LT, x, 0), tt_hlo_neg(b, far), far);
  return tt_hlo_select(b, is_far, far, near_j(b, x, nu));
}
SPECIAL_UNARY(bessel_j, bessel_j(b, x, (int)ctx->rule->data))

/* Y0 = 2/pi log(x) J0 + R0(x^2), Y1 = 2/pi (log(x) J1 - 1/x) + x R1(x^2) */
static tt_hlo_value *near_y(tt_hlo_build *b, tt_hlo_value *x, int nu) {
  tt_hlo_value *log_part =
      tt_low_mul_number(b, tt_hlo_mul(b, tt_hlo_log(b, x), near_j(b, x, nu)), 2 / pi);
  tt_hlo_value *rest = fit_square(b, x, y_near, nu);
  if (nu == 1)
    rest = tt_hlo_sub(b, tt_hlo_mul(b, x, rest), tt_low_number_over(b, 2 / pi, x));
  return tt_hlo_add(b, log_part, rest);
}

static tt_hlo_value *bessel_y(tt_hlo_build *b, tt_hlo_value *x, int nu) {
  tt_hlo_value *is_far = tt_low_compare_number(b, TT_HLO_GT, x, far_from(x));
  tt_hlo_value *far = far_jy(b, tt_low_max_number(b, x, far_from(x)), nu, true);
  tt_hlo_value *y = tt_hlo_select(b, is_far, far, near_y(b, x, nu));
  y = tt_low_select_number(b, tt_low_is_zero(b, x), -INFINITY, y);
  return tt_low_select_number(b, tt_low_compare_number(b, TT_HLO_LT, x, 0), NAN, y);
}
SPECIAL_UNARY(bessel_y, bessel_y(b, x, (int)ctx->rule->data))

/* ---- I and K, both also scaled by exp(-|x|) or exp(x): data is nu, plus 2 when scaled ---- */

/* exp(-x) I_nu(x) = 1/pi integral over [0, pi] of exp(x (cos t - 1)) cos(nu t): periodic, so that
 * the trapezoid rule is exact but for I_400. */
static double i_scaled(double x, double nu) {
  enum { STEPS = 200 };
  double sum = 0;
  for (int k = 0; k <= STEPS; k++) {
    double t = pi * k / STEPS;
    sum += (k == 0 || k == STEPS ? 0.5 : 1) * exp(x * (cos(t) - 1)) * cos(nu * t);
  }
  return sum / STEPS;
}
static double i_near(double x, double nu) { return nu == 0 ? i_scaled(x, 0) : i_scaled(x, 1) / x; }

/* sqrt(x) exp(x) K_nu(x): integral over [0, inf) of exp(-x (cosh(t) - 1)) cosh(nu t) dt sqrt(x), by
 * the trapezoid rule with steps that follow the width of the integrand, 1 / sqrt(x). */
static double k_scaled(double x, double nu) {
  const double step = 0.05;
  double sum = 0.5;
  for (int k = 1; k < 10000; k++) {
    double t = step * k / sqrt(x), depth = x * (cosh(t) - 1);
    if (depth > 60)
      break;
    sum += exp(-depth) * cosh(nu * t);
  }
  return sum * step;
}
static double k_far(double u, double nu) { return k_scaled(1 / u, nu); }
/* What K leaves beside the logarithm, as a function of x^2. */
static double k_near(double s, double nu) {
  double x = sqrt(s), k = k_scaled(x, nu) / (sqrt(x) * exp(x)),
         log_part = log(x / 2) * i_scaled(x, nu) * exp(x);
  return nu == 0 ? k + log_part : (k - log_part - 1 / x) / x;
}

/* exp(-x) I_nu(x), x >= 0 */
static tt_hlo_value *bessel_ie(tt_hlo_build *b, tt_hlo_value *x, int nu) {
  enum { TERMS = 24 };
  double c[TERMS], edge = is_wide(x) ? 25 : 12;
  size_t terms = tt_low_fit_terms(x, 12, TERMS);
  for (size_t k = 0; k < terms; k++)
    c[k] = (k % 2 ? -1 : 1) * hankel(nu, k);
  tt_hlo_value *near = tt_low_fit(b, x, 0, edge, tt_low_fit_terms(x, 22, 48), i_near, nu);
  if (nu == 1)
    near = tt_hlo_mul(b, x, near);
  tt_hlo_value *u = tt_low_reciprocal(b, tt_low_max_number(b, x, edge));
  tt_hlo_value *far = tt_hlo_mul(b, tt_low_polynomial(b, u, c, terms),
                                 tt_hlo_sqrt(b, tt_low_mul_number(b, u, 0.5 / pi)));
  return tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_GT, x, edge), far, near);
}

/* I_1 is odd. The exponential comes in two factors: exp(x) overflows before I does. NaN at
 * infinity, as in PyTorch. */
static tt_hlo_value *bessel_i(tt_hlo_build *b, tt_hlo_value *x, int nu, bool scaled) {
  tt_hlo_value *size = tt_hlo_abs(b, x), *y = bessel_ie(b, size, nu);
  if (!scaled) {
    tt_hlo_value *root = tt_hlo_exp(b, tt_low_mul_number(b, size, 0.5));
    y = tt_hlo_mul(b, tt_hlo_mul(b, y, root), root);
  }
  return nu == 1 ? tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_LT, x, 0), tt_hlo_neg(b, y), y)
                 : y;
}
SPECIAL_UNARY(bessel_i, bessel_i(b, x, (int)ctx->rule->data % 2, ctx->rule->data >= 2))

/* K for 0 < x <= 2 */
static tt_hlo_value *near_k(tt_hlo_build *b, tt_hlo_value *x, int nu) {
  tt_hlo_value *log_part =
      tt_hlo_mul(b, tt_hlo_log(b, tt_low_mul_number(b, x, 0.5)), bessel_i(b, x, nu, false));
  tt_hlo_value *rest =
      tt_low_fit(b, tt_low_squared(b, x), 0, 4, tt_low_fit_terms(x, 8, 14), k_near, nu);
  if (nu == 0)
    return tt_hlo_sub(b, rest, log_part);
  return tt_hlo_add(b, tt_hlo_add(b, log_part, tt_low_reciprocal(b, x)), tt_hlo_mul(b, x, rest));
}

static tt_hlo_value *bessel_k(tt_hlo_build *b, tt_hlo_value *x, int nu, bool scaled) {
  tt_hlo_value *small = tt_low_min_number(b, x, 2), *large = tt_low_max_number(b, x, 2);
  tt_hlo_value *near = near_k(b, small, nu);
  tt_hlo_value *u = tt_low_reciprocal(b, large);
  tt_hlo_value *far = tt_low_fit(b, u, 1e-9, 0.5, tt_low_fit_terms(x, 12, 32), k_far, nu);
  far = tt_hlo_mul(b, far, tt_hlo_sqrt(b, u));
  if (scaled)
    near = tt_hlo_mul(b, near, tt_hlo_exp(b, small));
  else
    far = tt_hlo_mul(b, far, tt_hlo_exp(b, tt_hlo_neg(b, large)));
  tt_hlo_value *y = tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_GT, x, 2), far, near);
  y = tt_low_select_number(b, tt_low_is_zero(b, x), INFINITY, y);
  return tt_low_select_number(b, tt_low_compare_number(b, TT_HLO_LT, x, 0), NAN, y);
}
SPECIAL_UNARY(bessel_k, bessel_k(b, x, (int)ctx->rule->data % 2, ctx->rule->data >= 2))

/* ---- Airy's Ai: fitted in the middle, expanded outside (DLMF 9.7) ---- */

/* Ai and its series at 0: c1 f - c2 g with f'' = x f. Long double, for the terms reach exp(18)
 * times the sum. */
static double airy_series(double x) {
  long double f = 1, g = x, term_f = 1, term_g = x, cube = (long double)x * x * x;
  for (int k = 1; k < 200; k++) {
    term_f *= cube / ((3.0L * k - 1) * (3.0L * k));
    term_g *= cube / ((3.0L * k) * (3.0L * k + 1));
    f += term_f;
    g += term_g;
  }
  return (double)(0.355028053887817239260L * f - 0.258819403792806798405L * g);
}

static double airy_middle(double x, double unused) {
  (void)unused;
  return airy_series(x);
}

/* Ai(x) exp(zeta) = sqrt(x / 3) / pi K_{1/3}(zeta) exp(zeta), zeta = 2/3 x^1.5 */
static double airy_scaled(double x, double unused) {
  double zeta = 2.0 / 3 * x * sqrt(x);
  (void)unused;
  return sqrt(x / 3) / pi * k_scaled(zeta, 1.0 / 3) / sqrt(zeta);
}

/* u_k of DLMF 9.7.2 */
static double airy_coefficient(size_t k) {
  double u = 1;
  for (size_t j = 1; j <= k; j++)
    u *= (6.0 * (double)j - 5) * (6.0 * (double)j - 1) / (72.0 * (double)j);
  return u;
}

/* 1 / (sqrt(pi) size^(1/4)) (sin(zeta + pi/4) P - cos(zeta + pi/4) Q) at x = -size */
static tt_hlo_value *airy_waves(tt_hlo_build *b, tt_hlo_value *size) {
  enum { TERMS = 8 };
  double p[TERMS], q[TERMS];
  size_t terms = tt_low_fit_terms(size, 4, TERMS);
  for (size_t k = 0; k < terms; k++) {
    p[k] = (k % 2 ? -1 : 1) * airy_coefficient(2 * k);
    q[k] = (k % 2 ? -1 : 1) * airy_coefficient(2 * k + 1);
  }
  tt_hlo_value *root = tt_hlo_sqrt(b, size),
               *zeta = tt_low_mul_number(b, tt_hlo_mul(b, size, root), 2.0 / 3);
  tt_hlo_value *u = tt_low_reciprocal(b, zeta), *uu = tt_low_squared(b, u),
               *angle = tt_low_add_number(b, zeta, pi / 4);
  tt_hlo_value *even = tt_hlo_mul(b, tt_hlo_sin(b, angle), tt_low_polynomial(b, uu, p, terms));
  tt_hlo_value *odd =
      tt_hlo_mul(b, tt_hlo_cos(b, angle), tt_hlo_mul(b, u, tt_low_polynomial(b, uu, q, terms)));
  tt_hlo_value *height = tt_hlo_rsqrt(b, tt_low_mul_number(b, root, pi));
  return tt_hlo_mul(b, tt_hlo_sub(b, even, odd), height);
}

/* exp(-zeta) / (2 sqrt(pi) x^(1/4)) sum of (-1)^k u_k / zeta^k */
static tt_hlo_value *airy_decay(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *zeta) {
  enum { TERMS = 16 };
  double c[TERMS];
  size_t terms = tt_low_fit_terms(x, 8, TERMS);
  for (size_t k = 0; k < terms; k++)
    c[k] = (k % 2 ? -0.5 : 0.5) * airy_coefficient(k);
  tt_hlo_value *height = tt_hlo_rsqrt(b, tt_low_mul_number(b, tt_hlo_sqrt(b, x), pi));
  return tt_hlo_mul(b, tt_low_polynomial(b, tt_low_reciprocal(b, zeta), c, terms), height);
}

static tt_hlo_value *airy(tt_hlo_build *b, tt_hlo_value *x) {
  double edge = is_wide(x) ? 9 : 5.5;
  tt_hlo_value *middle = tt_low_fit(b, x, -edge, 1, tt_low_fit_terms(x, 20, 40), airy_middle, 0);
  tt_hlo_value *waves = airy_waves(b, tt_low_max_number(b, tt_hlo_neg(b, x), edge));
  tt_hlo_value *positive = tt_low_max_number(b, x, 1);
  tt_hlo_value *zeta =
      tt_low_mul_number(b, tt_hlo_mul(b, positive, tt_hlo_sqrt(b, positive)), 2.0 / 3);
  tt_hlo_value *scaled = tt_low_fit(b, x, 1, edge, tt_low_fit_terms(x, 12, 30), airy_scaled, 0);
  scaled = tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_GT, x, edge),
                         airy_decay(b, positive, zeta), scaled);
  tt_hlo_value *decay = tt_hlo_mul(b, scaled, tt_hlo_exp(b, tt_hlo_neg(b, zeta)));
  tt_hlo_value *y = tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_LT, x, -edge), waves, middle);
  y = tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_GT, x, 1), decay, y);
  return tt_low_select_number(b, tt_low_is_inf(b, x), NAN, y);
}
SPECIAL_UNARY(airy, airy(b, x))

/* ---- the inverse of the normal distribution function ---- */

/* p = exp(-t^2 / 2) for t = 1 / u: Newton on log p(z), z = -ndtri(p); what is left beside z's
 * leading terms. */
static double ndtri_tail(double u, double unused) {
  double t = 1 / u, z = t - log(t) / t;
  (void)unused;
  for (int i = 0; i < 50; i++) {
    double tail = 0.5 * erfc(z * sqrt(0.5));
    z += (log(tail) + 0.5 * t * t) * tail * sqrt(2 * pi) * exp(0.5 * z * z);
  }
  return t - log(t) / t - z;
}

/* In the middle through erfinv; below exp(-2), or above 1 - exp(-2), in u = 1 / sqrt(-2 log p). */
static tt_hlo_value *ndtri(tt_hlo_build *b, tt_hlo_value *p) {
  const double smallest = exp(-2);
  tt_hlo_value *upper = tt_low_compare_number(b, TT_HLO_GT, p, 0.5);
  tt_hlo_value *tail = tt_hlo_select(b, upper, tt_low_number_minus(b, 1, p), p);
  tt_hlo_value *middle = tt_low_add_number(b, tt_low_mul_number(b, p, 2), -1);
  middle = tt_low_mul_number(b, tt_hlo_op1(b, TT_HLO_CHLO_ERF_INV, middle), sqrt(2));
  tt_hlo_value *t = tt_hlo_sqrt(b, tt_low_mul_number(b, tt_hlo_log(b, tail), -2));
  tt_hlo_value *u = tt_low_reciprocal(b, t);
  tt_hlo_value *rest = tt_low_fit(b, u, is_wide(p) ? 1 / 37.6 : 1 / 14.6, 0.5,
                                  tt_low_fit_terms(p, 12, 32), ndtri_tail, 0);
  tt_hlo_value *z = tt_hlo_sub(b, tt_hlo_sub(b, t, tt_hlo_mul(b, tt_hlo_log(b, t), u)), rest);
  z = tt_hlo_select(b, upper, z, tt_hlo_neg(b, z));
  tt_hlo_value *y =
      tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_LT, tail, smallest), z, middle);
  y = tt_low_select_number(b, tt_low_is_zero(b, p), -INFINITY, y);
  y = tt_low_select_number(b, tt_low_compare_number(b, TT_HLO_EQ, p, 1), INFINITY, y);
  tt_hlo_value *outside = tt_hlo_or(b, tt_low_compare_number(b, TT_HLO_LT, p, 0),
                                    tt_low_compare_number(b, TT_HLO_GT, p, 1));
  return tt_low_select_number(b, outside, NAN, y);
}
SPECIAL_UNARY(ndtri, ndtri(b, x))
