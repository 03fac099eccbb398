/* math_wide.h: functions of f32 that take their steps in f64, without branches or calls, so that
 * loops over them become vectors. What they give is within 0.51 ulp of the exact result, erf_inv
 * and erfc within 0.8 (tests/c/cpu/test_kernel_loops.c).
 *
 * Included where math_f32.h is, after it. Polynomials are minimax fits of the relative error. */
#ifndef TT_CPU_KERNELS_MATH_WIDE_H
#define TT_CPU_KERNELS_MATH_WIDE_H

#include <string.h>

#include "cpu/kernels/math_f32.h"

#ifdef __FMA__
#define WIDE(a, b, c) __builtin_fma(a, b, c)
#else
#define WIDE(a, b, c) ((a) * (b) + (c))
#endif

INLINE double wide_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

INLINE uint64_t wide_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

#define POLYNOMIAL(terms, x) wide_polynomial(terms, (int)(sizeof(terms) / sizeof *(terms)), x)

/* The highest power first. */
INLINE double wide_polynomial(const double *terms, int count, double x) {
  double sum = terms[0];
#pragma GCC unroll 16
  for (int i = 1; i < count; i++)
    sum = WIDE(sum, x, terms[i]);
  return sum;
}

/* log2 of a normal number above 0, to some 1e-15: x = 2^n m, m in [sqrt(1/2), sqrt(2)), and
 * log m = 2 atanh((m - 1) / (m + 1)). */
INLINE double wide_log2(double x) {
  static const double terms[] = {1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9,
                                 1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  const uint64_t root = UINT64_C(0x3fe6a09e667f3bcd), one_bits = UINT64_C(0x3ff0000000000000);
  uint64_t bits = wide_bits(x) - root + one_bits;
  /* The exponent, as the mantissa of a number in [2^52, 2^53). */
  double n = wide_of(bits >> 52 | UINT64_C(0x4330000000000000)) - (4503599627370496.0 + 1023);
  double m = wide_of((bits & UINT64_C(0xfffffffffffff)) + root);
  double s = (m - 1) / (m + 1);
  return WIDE(s * 2.88539008177792681472, POLYNOMIAL(terms, s * s), n);
}

/* 2^x for |x| <= 1000, to some 1e-14. */
INLINE double wide_exp2(double x) {
  static const double terms[] = {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                 1.0 / 5040,     1.0 / 720,     1.0 / 120,    1.0 / 24,
                                 1.0 / 6,        0.5,           1.0,          1.0};
  const double magic = 6755399441055744.0; /* 1.5 * 2^52, whose last bits are then n */
  double sum = x + magic, n = sum - magic;
  double power = wide_of((wide_bits(sum) + 1023) << 52);
  return POLYNOMIAL(terms, (x - n) * 0.69314718055994530942) * power;
}

/* The root of a normal number above 0, to 1e-10: a call of sqrt is no vector to the compiler. */
INLINE double wide_root(double x) {
  double y = wide_of(UINT64_C(0x5fe6eb50c7b537a9) - (wide_bits(x) >> 1)), half = x / 2;
  y = y * (1.5 - half * y * y);
  y = y * (1.5 - half * y * y);
  y = y * (1.5 - half * y * y);
  return x * y;
}

INLINE double wide_clamp(double x, double most) {
  x = x < most ? x : most; /* so is NaN */
  return x > -most ? x : -most;
}

/* As pow of C. */
INLINE float pow_f32(float x, float y) {
  float a = fabsf(x), b = fabsf(y);
  bool even = b >= 0x1p24f; /* from there on all numbers are */
  int32_t whole = (int32_t)(b < 0x1p24f ? y : 0.0f);
  bool integer = even | ((float)whole == y);
  uint32_t odd = (float)whole == y ? (uint32_t)whole << 31 : 0; /* in the sign's bit */
  double log = wide_log2((double)((a > 0.0f) & (a < INFINITY) ? a : 1.0f));
  float r = (float)wide_exp2(wide_clamp((double)y * log, 300));
  bool edge = (a == 0.0f) | (a == INFINITY) | (b == INFINITY);
  bool grows = ((a > 1.0f) & (y > 0.0f)) | ((a < 1.0f) & (y < 0.0f));
  r = edge ? (grows ? INFINITY : 0.0f) : r;
  r = tt_cpu_float_of(tt_cpu_bits_of(r) | (odd & tt_cpu_bits_of(x)));
  r = (x < 0.0f) & (a < INFINITY) & !integer ? NAN : r;
  r = (x != x) | (y != y) ? x + y : r;
  return (y == 0.0f) | (x == 1.0f) | ((x == -1.0f) & (b == INFINITY)) ? 1.0f : r;
}

/* x times a function of w = -log(1 - x x), or of its root where that is large. */
INLINE float erf_inv_f32(float x) {
  enum { COUNT = 12 };
  static const double low[COUNT] = {
      3.1676143445555193e-06, 4.167850741945025e-06, -4.205024777768047e-05,  2.511174769637448e-05,
      0.00029278496491147964, -0.000836428756555562, -0.00048816014094573156, 0.008525920216282647,
      -0.0195735136999889,    -0.026108278976471742, 0.6166006894640514,      1.5014093516925135};
  static const double high[COUNT] = {0,
                                     0,
                                     6.027421162066513e-05,
                                     -7.733661211685714e-05,
                                     -0.00021492066883897106,
                                     0.0008004432642712618,
                                     -0.0015511179604532415,
                                     0.0024652948276837152,
                                     -0.0037988781559865205,
                                     0.005563671986722495,
                                     0.9359707135266165,
                                     3.0015267802403205};
  double wide = (double)x, rest = (1 - wide) * (1 + wide);
  double w = wide_log2(rest > 0 ? rest : 1) * -0.69314718055994530942;
  double root = (wide_root(w) - 3.1680339887498947) * 1.073000504233665;
  bool far = w >= 5;
  double t = far ? root : (w - 2.5) * 0.4, sum = far ? high[0] : low[0];
#pragma GCC unroll 16
  for (int i = 1; i < COUNT; i++)
    sum = WIDE(sum, t, far ? high[i] : low[i]);
  float r = (float)(wide * sum);
  r = fabsf(x) == 1.0f ? copysignf(INFINITY, x) : r;
  r = fabsf(x) > 1.0f ? NAN : r;
  return (x == 0.0f) | (x != x) ? x : r;
}

/* exp(-x x) times a function of t = 1 / (1 + |x| / 2). */
INLINE float erfc_f32(float x) {
  static const double terms[] = {
      -2.770243417844003e-07, -2.1262634745772938e-06, 6.1415607695613136e-06,
      1.2430208239903306e-05, -6.86905829237781e-05,   9.780424192962697e-07,
      0.0006081714047025829,  -0.0006394316965345777,  -0.0062249336855368185,
      0.006102693581053389,   0.10264049953412915,     0.3266210544885678,
      0.5709434902750913};
  double a = (double)fabsf(x);
  a = a < 12 ? a : 12; /* where it is 0; so is NaN */
  double t = 1 / (1 + a / 2);
  double p = POLYNOMIAL(terms, (t - 0.5819672131147541) * 2.392156862745098);
  double tail = p * t * wide_exp2(a * a * -1.44269504088896340736);
  return x != x ? x : (float)(x < 0.0f ? 2 - tail : tail);
}

#endif /* TT_CPU_KERNELS_MATH_WIDE_H */
