/* math_f32.h: functions of f32 without branches or calls, so that loops over them become vectors.
 *
 * Errors in ulp, at most, over all of f32 (tests/c/cpu/test_kernel_math.c samples them): exp 1.5,
 * log 1.5, log1p 2, expm1 2, tanh 2, logistic 2.5, erf 2, sin and cos 2 up to |x| = 2^17 (beyond:
 * loops fall back to libm). Coefficients are minimax fits over the ranges given.
 *
 * Included after FMA is defined, in files compiled once for each instruction set. */
#ifndef TT_CPU_KERNELS_MATH_F32_H
#define TT_CPU_KERNELS_MATH_F32_H

#include <math.h>
#include <stdint.h>

#include "cpu/small_float.h"

#define INLINE static inline __attribute__((always_inline))

/* To nearest for |x| < 2^22. */
INLINE float round_small(float x) {
  const float magic = 12582912.0f; /* 1.5 * 2^23 */
  return (x + magic) - magic;
}

/* 2^n for n in [-126, 127]. */
INLINE float power_of_two(int32_t n) { return tt_cpu_float_of(((uint32_t)n + 127) << 23); }

/* x = n ln 2 + r; n in two steps, so that subnormal results round once, nearly. NaN stays. What is
 * 0 is not computed: processors take a hundred cycles for results that are too small. */
INLINE float exp_f32(float x) {
  bool none = x < -104.0f;
  x = x > 89.0f ? 89.0f : x;
  x = none ? 0.0f : x;
  float n = round_small(x * 1.44269504f);
  float r = FMA(n, -0.693359375f, x);
  r = FMA(n, 2.12194440e-4f, r);
  float p = FMA(r, 0.000198458976f, 0.00139408931f);
  p = FMA(p, r, 0.00833338965f);
  p = FMA(p, r, 0.0416663587f);
  p = FMA(p, r, 0.166666657f);
  p = FMA(p, r, 0.5f);
  p = FMA(p, r * r, r) + 1.0f;
  int32_t whole = (int32_t)n, half = whole >> 1;
  p = p * power_of_two(half) * power_of_two(whole - half);
  return none ? 0.0f : p;
}

INLINE float expm1_f32(float x) {
  float y = x > 89.0f ? 89.0f : x;
  y = y < -30.0f ? -30.0f : y;
  float n = round_small(y * 1.44269504f);
  float r = FMA(n, -0.693359375f, y);
  r = FMA(n, 2.12194440e-4f, r);
  float p = FMA(r, 0.000198458976f, 0.00139408931f);
  p = FMA(p, r, 0.00833338965f);
  p = FMA(p, r, 0.0416663587f);
  p = FMA(p, r, 0.166666657f);
  p = FMA(p, r, 0.5f);
  p = FMA(p, r * r, r);
  float scale = power_of_two((int32_t)(n - 1.0f)); /* half of 2^n, which may be too large */
  float result = FMA(scale, p, scale - 0.5f) * 2.0f;
  return n == 0.0f ? (x == 0.0f ? x : p) : result;
}

/* log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1]. */
INLINE float log_near_one(float f, float n) {
  float p = FMA(f, 0.0674660131f, -0.116756409f);
  p = FMA(p, f, 0.118881747f);
  p = FMA(p, f, -0.124055915f);
  p = FMA(p, f, 0.142195508f);
  p = FMA(p, f, -0.166679963f);
  p = FMA(p, f, 0.200021192f);
  p = FMA(p, f, -0.250000089f);
  p = FMA(p, f, 0.333333135f);
  float square = f * f;
  p = p * square * f;
  p = FMA(n, -2.12194440e-4f, p);
  p = FMA(square, -0.5f, p);
  return FMA(n, 0.693359375f, f + p);
}

INLINE float log_f32(float x) {
  float y = x < 0x1p-126f ? x * 0x1p24f : x;
  float n = x < 0x1p-126f ? -24.0f : 0.0f;
  uint32_t bits = tt_cpu_bits_of(y) - 0x3f3504f3; /* sqrt(1/2): the mantissa is in [0.707, 1.414) */
  n += (float)((int32_t)bits >> 23);
  float f = tt_cpu_float_of((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
  float result = log_near_one(f, n);
  result = x == INFINITY ? x : result;
  result = x == 0.0f ? -INFINITY : result;
  result = x < 0.0f ? NAN : result;
  return x != x ? x : result;
}

/* u = 1 + x rounds; what it loses, over u, is added again. */
INLINE float log1p_f32(float x) {
  float u = 1.0f + x;
  float lost = x - (u - 1.0f);
  float correction = lost / u;
  uint32_t bits = tt_cpu_bits_of(u) - 0x3f3504f3;
  float n = (float)((int32_t)bits >> 23);
  float f = tt_cpu_float_of((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
  float result = log_near_one(f, n) + (n == 0.0f ? 0.0f : correction);
  /* Near 0 the sum is x itself, unrounded. */
  float near = log_near_one(x, 0.0f);
  result = x > -0.2925f && x < 0.4141f ? near : result;
  result = x == INFINITY ? x : result;
  result = x == -1.0f ? -INFINITY : result;
  result = x < -1.0f ? NAN : result;
  result = x == 0.0f ? x : result;
  return x != x ? x : result;
}

INLINE float tanh_f32(float x) {
  float a = fabsf(x), u = x * x;
  float p = FMA(u, 0.00214295881f, -0.00817739498f);
  p = FMA(p, u, 0.0217007007f);
  p = FMA(p, u, -0.0539467633f);
  p = FMA(p, u, 0.133332059f);
  p = FMA(p, u, -0.333333313f);
  float small = FMA(p * u, x, x);
  float e = exp_f32(2.0f * (a > 10.0f ? 10.0f : a));
  float large = copysignf(1.0f - 2.0f / (e + 1.0f), x);
  float result = a < 0.625f ? small : large;
  return x != x || x == 0.0f ? x : result;
}

INLINE float logistic_f32(float x) {
  float z = exp_f32(-fabsf(x));
  float result = (x < 0.0f ? z : 1.0f) / (1.0f + z);
  return x != x ? x : result;
}

/* Up to 0.95 a polynomial; beyond, 1 - exp(-p), p = -log(erfc(|x|)), which is 1 from 4 on. */
INLINE float erf_f32(float x) {
  float a = fabsf(x), u = x * x;
  float p = FMA(u, 8.1850907e-05f, -0.000809770252f);
  p = FMA(p, u, 0.0051969518f);
  p = FMA(p, u, -0.0268577058f);
  p = FMA(p, u, 0.112836637f);
  p = FMA(p, u, -0.376126319f);
  p = FMA(p, u, 0.128379166f);
  float small = FMA(p, x, x);
  float c = a > 4.0f ? 4.0f : a;
  float q = FMA(c, 7.37454968e-07f, 1.13113692e-05f);
  q = FMA(q, c, -0.0003788498f);
  q = FMA(q, c, 0.00399410166f);
  q = FMA(q, c, -0.0247745123f);
  q = FMA(q, c, 0.107858211f);
  q = FMA(q, c, 0.633663297f);
  q = FMA(q, c, 1.12938178f);
  q = FMA(q, c, -0.000150613749f);
  float large = copysignf(1.0f - exp_f32(-q), x);
  float result = a < 0.95f ? small : large;
  return x != x ? x : result;
}

/* sin(x + quarters * pi/2). The reduction is in double, whose pi/2 in two parts is exact enough. */
INLINE float sine_f32(float x, int quarters) {
  const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
  double d = (double)x;
  double n = (d * 0.63661977236758134 + magic) - magic;
  float r = (float)((d - n * 1.5707963267341256) - n * 6.0771005065061922e-11);
  int32_t quadrant = (int32_t)n + quarters;
  float u = r * r;
  float s = FMA(u, 2.71804629e-6f, -0.000198393042f);
  s = FMA(s, u, 0.00833332911f);
  s = FMA(s, u, -0.166666672f);
  s = FMA(s * u, r, r);
  float c = FMA(u, 2.4432411e-5f, -0.00138873095f);
  c = FMA(c, u, 0.0416666456f);
  c = FMA(c * u, u, FMA(u, -0.5f, 1.0f));
  float result = (quadrant & 1) != 0 ? c : s;
  return (quadrant & 2) != 0 ? -result : result;
}

#endif /* TT_CPU_KERNELS_MATH_F32_H */
