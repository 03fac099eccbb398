/* fft of many lengths against sums in long double. */
#include <math.h>
#include <stdio.h>

#include "test.h"
#include "test_kernel_case.h"

enum { MOST = 343 };

static double part(int i) { return (double)((i * 7919 + 13) % 201 - 100) / 64; }

/* The distance from the exact transform, over its size and the last place of f64. */
static double error_of(int n, const double *x, const double *y) {
  long double worst = 0, size = 0;
  for (int i = 0; i < 2 * n; i++)
    size += (long double)x[i] * (long double)x[i];
  for (int k = 0; k < n; k++) {
    long double real = 0, imag = 0;
    for (int i = 0; i < n; i++) {
      long double angle = -2 * 3.14159265358979323846264338328L * (i * k % n) / n;
      long double c = cosl(angle), s = sinl(angle), a = x[2 * i], b = x[2 * i + 1];
      real += a * c - b * s;
      imag += a * s + b * c;
    }
    worst = fmaxl(worst, hypotl(y[2 * k] - real, y[2 * k + 1] - imag));
  }
  return (double)(worst / sqrtl(size)) / 0x1p-52;
}

/* Powers of two, products of small primes, a prime that is not small. */
TEST_WITHOUT_TORTURE(cpu_kernel, fft_lengths) {
  static const int lengths[] = {1, 2, 3, 4, 5, 6, 7, 12, 17, 30, 31, 37, 62, 64, 100, 101, 343};
  static double x[2 * MOST], y[2 * MOST], back[2 * MOST];
  tt_cpu_plan *plan = NULL;
  char text[512];
  for (int i = 0; i < 2 * MOST; i++)
    x[i] = part(i);
  for (size_t i = 0; i < TT_COUNT(lengths); i++) {
    int n = lengths[i];
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<%dxcomplex<f64>>) -> (tensor<%dxcomplex<f64>>, "
             "tensor<%dxcomplex<f64>>) {\n%%y = stablehlo.fft %%x, type = FFT, length = [%d] : "
             "(tensor<%dxcomplex<f64>>) -> tensor<%dxcomplex<f64>>\n%%z = stablehlo.fft %%y, type "
             "= IFFT, length = [%d] : (tensor<%dxcomplex<f64>>) -> tensor<%dxcomplex<f64>>\n"
             "return %%y, %%z : tensor<%dxcomplex<f64>>, tensor<%dxcomplex<f64>>\n}",
             n, n, n, n, n, n, n, n, n, n, n);
    REQUIRE_OK(plan_of(text, &plan));
    REQUIRE_OK(run_plan(plan, (const void *[]){x}, (void *[]){y, back}));
    tt_cpu_plan_free(plan);
    plan = NULL;
    REQUIRE(error_of(n, x, y) < 8);
    for (int k = 0; k < 2 * n; k++)
      REQUIRE(fabs(back[k] - x[k]) < 20 * 0x1p-52 * sqrt(n));
  }
out:
  tt_cpu_plan_free(plan);
}
