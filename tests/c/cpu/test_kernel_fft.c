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
  static const int lengths[] = {1,  2,  3,  4,  5,   6,   7,   12,  17, 30,
                                31, 37, 62, 64, 100, 101, 131, 254, 343};
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

/* ---- several lines at once, along one axis and two, of f32 ---- */

enum { ROWS = 11, COLUMNS_MOST = 131 };

/* y[r, c] = sum over i, j of x[i, j] exp(sign 2 pi i (...)), over the second axis alone where
 * `both` is false. */
static void sum_exactly(int columns, bool both, double sign, const double *x, double *y) {
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < columns; c++) {
      double real = 0, imag = 0;
      for (int i = both ? 0 : r; i < (both ? ROWS : r + 1); i++)
        for (int j = 0; j < columns; j++) {
          double turn =
              (both ? (double)(i * r % ROWS) / ROWS : 0) + (double)(j * c % columns) / columns;
          double angle = sign * 2 * 3.14159265358979323846 * turn;
          const double *from = x + 2 * (i * columns + j);
          real += from[0] * cos(angle) - from[1] * sin(angle);
          imag += from[0] * sin(angle) + from[1] * cos(angle);
        }
      y[2 * (r * columns + c)] = real;
      y[2 * (r * columns + c) + 1] = imag;
    }
}

static double whole[2 * ROWS * COLUMNS_MOST], exact[2 * ROWS * COLUMNS_MOST];
static float narrow[2 * ROWS * COLUMNS_MOST], got[2 * ROWS * COLUMNS_MOST];

static void transform(const char *type, bool both, int columns, const char *in, const char *out) {
  char text[512], length[32];
  snprintf(length, sizeof length, both ? "%d, %d" : "%d", both ? ROWS : columns, columns);
  snprintf(text, sizeof text,
           "func.func @main(%%x: %s) -> %s {\n%%y = stablehlo.fft %%x, type = %s, length = [%s] : "
           "(%s) -> %s\nreturn %%y : %s\n}",
           in, out, type, length, in, out, out);
  EXPECT_OK(run_text(text, (const void *[]){narrow}, (void *[]){got}));
}

/* Within some last places of f32 at the size that sums have. */
static bool near(float value, double want, int count) {
  return fabs((double)value - want) < 4e-7 * sqrt(count) * 2;
}

static void name_type(char *name, size_t size, int columns, bool real) {
  snprintf(name, size, real ? "tensor<%dx%dxf32>" : "tensor<%dx%dxcomplex<f32>>", ROWS, columns);
}

static void check_lines(int columns, bool both) {
  char all[64], real[64], half[64];
  int kept = columns / 2 + 1, count = both ? ROWS * columns : columns;
  name_type(all, sizeof all, columns, false);
  name_type(real, sizeof real, columns, true);
  name_type(half, sizeof half, kept, false);
  for (int i = 0; i < 2 * ROWS * columns; i++) {
    whole[i] = part(i);
    narrow[i] = (float)part(i);
  }
  transform("FFT", both, columns, all, all);
  sum_exactly(columns, both, -1, whole, exact);
  for (int i = 0; i < 2 * ROWS * columns; i++)
    EXPECT(near(got[i], exact[i], count));
  transform("IFFT", both, columns, all, all);
  sum_exactly(columns, both, 1, whole, exact);
  for (int i = 0; i < 2 * ROWS * columns; i++)
    EXPECT(near(got[i], exact[i] / count, count));
  for (int i = 0; i < ROWS * columns; i++) {
    whole[2 * i] = part(i);
    whole[2 * i + 1] = 0;
    narrow[i] = (float)part(i);
  }
  transform("RFFT", both, columns, real, half);
  sum_exactly(columns, both, -1, whole, exact);
  for (int r = 0; r < ROWS; r++)
    for (int k = 0; k < 2 * kept; k++) {
      EXPECT(near(got[r * 2 * kept + k], exact[r * 2 * columns + k], count));
      narrow[r * 2 * kept + k] = (float)exact[r * 2 * columns + k];
    }
  transform("IRFFT", both, columns, half, real);
  for (int i = 0; i < ROWS * columns; i++)
    EXPECT(near(got[i], whole[2 * i], count));
}

TEST_WITHOUT_TORTURE(cpu_kernel, fft_of_several_lines) {
  static const int columns[] = {1, 2, 3, 16, 30, 37, 48, 64, 131};
  for (size_t i = 0; i < TT_COUNT(columns); i++) {
    check_lines(columns[i], false);
    check_lines(columns[i], true);
  }
}
