/* Schur form and eigenvectors of a complex matrix: Hessenberg form, then single-shift QR steps by
 * Givens rotations. Source: Golub, Van Loan, Matrix Computations, 7.4 and 7.5. */
#pragma GCC optimize("O3")
#include <float.h>
#include <math.h>
#include <string.h>

#include "cpu/kernels/linalg.h"

typedef tt_cpu_complex complex_t;

static double size_of(complex_t x) { return fabs(creal(x)) + fabs(cimag(x)); }

/* The first row of the block that ends with row `end`: where the subdiagonal is nothing beside its
 * neighbours, it becomes 0. */
static int64_t block_begin(complex_t *a, int64_t n, int64_t end) {
  for (int64_t i = end; i > 0; i--) {
    double near = size_of(a[(i - 1) * n + i - 1]) + size_of(a[i * n + i]);
    double below = size_of(a[i * n + i - 1]);
    if (!(below > DBL_EPSILON * near) || below < DBL_MIN) {
      a[i * n + i - 1] = 0;
      return i;
    }
  }
  return 0;
}

/* Wilkinson's: the eigenvalue of the last 2 x 2 that is nearer to its last element. */
static complex_t shift_of(const complex_t *a, int64_t n, int64_t end) {
  complex_t p = a[(end - 1) * n + end - 1], q = a[(end - 1) * n + end], r = a[end * n + end - 1],
            s = a[end * n + end];
  complex_t half = (p - s) / 2, root = csqrt(half * half + q * r);
  complex_t other = size_of(half + root) > size_of(half - root) ? half + root : half - root;
  return other == 0 ? s : s - q * r / other;
}

/* {c, s; -conj(s), c} takes {x, y} to {r, 0}. */
static void rotation_of(complex_t x, complex_t y, double *out_c, complex_t *out_s) {
  double all = hypot(cabs(x), cabs(y));
  *out_c = 1;
  *out_s = 0;
  if (all == 0)
    return;
  complex_t phase = x == 0 ? 1 : x / cabs(x);
  *out_c = cabs(x) / all;
  *out_s = phase * conj(y) / all;
}

static void turn_rows(complex_t *x, complex_t *y, int64_t count, double c, complex_t s) {
  for (int64_t i = 0; i < count; i++) {
    complex_t a = x[i], b = y[i];
    x[i] = c * a + s * b;
    y[i] = c * b - conj(s) * a;
  }
}

static void turn_columns(complex_t *a, int64_t rows, int64_t n, int64_t k, double c, complex_t s) {
  for (int64_t i = 0; i < rows; i++) {
    complex_t x = a[i * n + k], y = a[i * n + k + 1];
    a[i * n + k] = c * x + conj(s) * y;
    a[i * n + k + 1] = c * y - s * x;
  }
}

/* One step on rows begin to end, the bulge chased down. */
static void step(complex_t *a, int64_t n, int64_t begin, int64_t end, complex_t shift,
                 complex_t *v) {
  complex_t x = a[begin * n + begin] - shift, y = a[(begin + 1) * n + begin];
  for (int64_t k = begin; k < end; k++) {
    double c = 0;
    complex_t s = 0;
    if (k > begin) {
      x = a[k * n + k - 1];
      y = a[(k + 1) * n + k - 1];
    }
    rotation_of(x, y, &c, &s);
    int64_t from = k > begin ? k - 1 : k, rows = k + 3 < end + 1 ? k + 3 : end + 1;
    turn_rows(a + k * n + from, a + (k + 1) * n + from, n - from, c, s);
    turn_columns(a, rows, n, k, c, s);
    turn_columns(v, n, n, k, c, s);
    if (k > begin)
      a[(k + 1) * n + k - 1] = 0;
  }
}

bool tt_cpu_schur(complex_t *a, int64_t n, complex_t *v, complex_t *row) {
  /* Reflectors lie below the subdiagonal until v is made of them. */
  complex_t *taus = row + n;
  tt_cpu_hessenberg_complex(a, n, taus, row);
  for (int64_t i = 0; i < n * n; i++)
    v[i] = i / n == i % n;
  if (n > 1)
    tt_cpu_reflected_complex(a + n, n - 1, n, taus, n - 1, false, v + n, n, row);
  for (int64_t i = 2; i < n; i++)
    memset(a + i * n, 0, (size_t)(i - 1) * sizeof *a);
  int64_t end = n - 1, tries = 0;
  while (end > 0) {
    int64_t begin = block_begin(a, n, end);
    if (begin == end) {
      end--;
      tries = 0;
      continue;
    }
    if (++tries > 60)
      return false;
    bool odd = tries % 10 == 0; /* out of a cycle */
    complex_t shift = odd ? a[end * n + end] + cabs(a[end * n + end - 1]) : shift_of(a, n, end);
    step(a, n, begin, end, shift, v);
  }
  return true;
}

/* column solves (t - t[k, k]) column = 0, or column^H (t - t[k, k]) = 0, with a 1 at k. */
static void solve_vector(const complex_t *t, int64_t n, int64_t k, bool left, complex_t *column) {
  double norm = 0;
  for (int64_t i = 0; i < n; i++)
    norm = fmax(norm, size_of(t[i * n + i]));
  for (int64_t i = 0; i < n; i++)
    column[i] = i == k;
  for (int64_t count = left ? n - 1 - k : k, i = left ? k + 1 : k - 1; count > 0;
       count--, i += left ? 1 : -1) {
    complex_t sum = 0, gap = t[i * n + i] - t[k * n + k];
    for (int64_t j = left ? k : i + 1; j < (left ? i : k + 1); j++)
      sum += left ? conj(t[j * n + i]) * column[j] : t[i * n + j] * column[j];
    gap = size_of(gap) < DBL_EPSILON * norm || gap == 0 ? DBL_EPSILON * norm + DBL_MIN : gap;
    column[i] = -sum / (left ? conj(gap) : gap);
  }
}

void tt_cpu_eigenvectors(const complex_t *t, const complex_t *v, int64_t n, bool left, complex_t *x,
                         complex_t *column) {
  for (int64_t k = 0; k < n; k++) {
    double norm = 0, most = 0;
    complex_t largest = 1;
    solve_vector(t, n, k, left, column);
    for (int64_t i = 0; i < n; i++) {
      complex_t sum = 0;
      for (int64_t j = 0; j < n; j++)
        sum += v[i * n + j] * column[j];
      x[i * n + k] = sum;
      norm = hypot(norm, cabs(sum));
      if (cabs(sum) > most) {
        most = cabs(sum);
        largest = sum;
      }
    }
    complex_t scale = conj(largest) / (cabs(largest) * (norm > 0 ? norm : 1));
    for (int64_t i = 0; i < n; i++)
      x[i * n + k] *= scale;
  }
}
