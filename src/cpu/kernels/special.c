#include "cpu/kernels/special.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

double tt_cpu_lgamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

/* Asymptotic series from 10 on; below, the recurrence up to there; negative x by reflection. */
double tt_cpu_digamma(double x) {
  static const double terms[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                 1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
  double sum = 0, series = 0, power = 1;
  if (x != x || x == INFINITY)
    return x;
  if (x <= 0) {
    if (floor(x) == x)
      return NAN;
    double fraction = x - rint(x);
    return tt_cpu_digamma(1 - x) - PI / tan(PI * fraction);
  }
  for (; x < 10; x++)
    sum -= 1 / x;
  for (unsigned i = 0; i < sizeof terms / sizeof *terms; i++) {
    power /= x * x;
    series += terms[i] * power;
  }
  return sum + log(x) - 0.5 / x - series;
}

/* Winitzki's formula to begin with, then Halley's steps on erf, or on erfc where x is near 1. */
double tt_cpu_erf_inv(double x) {
  double a = fabs(x), b = 0.147, l, t, y;
  if (!(a < 1))
    return a == 1 ? copysign(INFINITY, x) : NAN;
  if (x == 0)
    return x;
  l = log1p(-a * a);
  t = 2 / (PI * b) + l / 2;
  y = sqrt(fmax(sqrt(t * t - l / b) - t, 0));
  if (a < 1e-4)
    y = a * 0.88622692545275801; /* sqrt(pi) / 2 */
  for (int i = 0; i < 3; i++) {
    double off = a < 0.5 ? erf(y) - a : (1 - a) - erfc(y);
    double u = off * 0.88622692545275801 * exp(y * y);
    y -= u / (1 + y * u);
  }
  return copysign(y, x);
}

/* Power series, all of whose terms have one sign; from 30 on the asymptotic one. */
double tt_cpu_bessel_i1e(double x) {
  double a = fabs(x), term = a / 2, sum = term;
  if (x != x)
    return x;
  if (a <= 30) {
    for (int k = 1; k < 100 && term > sum * 1e-17; k++) {
      term *= a * a / 4 / ((double)k * (k + 1));
      sum += term;
    }
    return copysign(sum * exp(-a), x);
  }
  term = 1;
  sum = 1;
  for (int k = 1; k < 20; k++) {
    term *= -(4.0 - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8 * a);
    sum += term;
  }
  return copysign(sum / sqrt(2 * PI * a), x);
}

/* Euler and Maclaurin: terms up to some 12 + s, the integral of the rest, corrections. */
double tt_cpu_zeta(double s, double q) {
  static const double factors[] = {/* B(2j) / (2j)! */
                                   1.0 / 12,
                                   -1.0 / 720,
                                   1.0 / 30240,
                                   -1.0 / 1209600,
                                   1.0 / 47900160,
                                   -691.0 / 1307674368000.0,
                                   1.0 / 74724249600.0,
                                   -3617.0 / 10670622842880000.0};
  enum { TERMS = 12 };
  double sum = 0, product = s, power;
  if (s == 1)
    return INFINITY;
  if (!(s > 1) || q != q)
    return NAN;
  if (q <= 0) {
    if (floor(q) == q)
      return INFINITY;
    if (floor(s) != s)
      return NAN;
    /* The terms below 0 are those of a sum that begins at their distance from it. */
    double f = q - floor(q), below = tt_cpu_zeta(s, 1 - f) - tt_cpu_zeta(s, 1 - q);
    return tt_cpu_zeta(s, f) + (fmod(s, 2) == 0 ? below : -below);
  }
  double first = q < 1 && q > 0 ? pow(q, -s) : 0;
  for (; q < TERMS + fmin(s, 100); q++) {
    power = pow(q, -s);
    sum += power;
    if (q > 1 && power < first * 1e-18)
      return sum;
  }
  power = pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  power /= q;
  for (unsigned j = 0; j < sizeof factors / sizeof *factors; j++) {
    sum += factors[j] * product * power;
    product *= (s + 2 * j + 1) * (s + 2 * j + 2);
    power /= q * q;
  }
  return sum;
}

double tt_cpu_polygamma(double order, double x) {
  if (!(order >= 0) || floor(order) != order)
    return NAN;
  if (order == 0)
    return tt_cpu_digamma(x);
  double size = exp(tt_cpu_lgamma(order + 1)) * tt_cpu_zeta(order + 1, x);
  return fmod(order, 2) == 0 ? -size : size;
}
