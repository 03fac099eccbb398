#include <math.h>

#include "lower/rules/special_internal.h"

static const double pi = 3.14159265358979323846;
enum { TERMS_MAX = 64 };

/* c[j] of sum c[j] T_j(t), from the values at the zeros of T_count; c[0] halved already. */
static void fit(double low, double high, size_t count, tt_low_fit_fn f, double data, double *c) {
  double values[TERMS_MAX];
  for (size_t k = 0; k < count; k++) {
    double t = cos(pi * ((double)k + 0.5) / (double)count);
    values[k] = f(0.5 * (low + high) + 0.5 * (high - low) * t, data);
  }
  for (size_t j = 0; j < count; j++) {
    c[j] = 0;
    for (size_t k = 0; k < count; k++)
      c[j] += values[k] * cos(pi * (double)j * ((double)k + 0.5) / (double)count);
    c[j] *= (j == 0 ? 1.0 : 2.0) / (double)count;
  }
}

/* Clenshaw: u_j = c_j + 2 t u_{j+1} - u_{j+2}; the sum is c_0 + t u_1 - u_2. */
static tt_hlo_value *evaluate(tt_hlo_build *b, tt_hlo_value *t, const double *c, size_t count) {
  tt_hlo_value *twice = tt_low_mul_number(b, t, 2), *last = tt_hlo_const_like(b, t, 0), *sum = last;
  for (size_t j = count - 1; j > 0; j--) {
    tt_hlo_value *next = tt_low_add_number(b, tt_hlo_sub(b, tt_hlo_mul(b, twice, sum), last), c[j]);
    last = sum;
    sum = next;
  }
  return tt_low_add_number(b, tt_hlo_sub(b, tt_hlo_mul(b, t, sum), last), c[0]);
}

tt_hlo_value *tt_low_fit(tt_hlo_build *b, tt_hlo_value *x, double low, double high, size_t count,
                         tt_low_fit_fn f, double data) {
  double c[TERMS_MAX];
  fit(low, high, count, f, data, c);
  tt_hlo_value *t =
      tt_low_add_number(b, tt_low_mul_number(b, x, 2 / (high - low)), -(high + low) / (high - low));
  return evaluate(b, t, c, count);
}
