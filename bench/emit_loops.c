/* Compiled with -O3 -march=native, once for each width of vectors. */
#include "emit_loops.h"

#include <math.h>

#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#include "cpu/kernels/math_f32.h"

#define LOOP(name) \
  static void name(const float *const *in, float *const *out, int64_t count, int64_t columns)
#define EACH(i) _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++)

LOOP(add_multiply) {
  const float *a = in[0], *b = in[1], *c = in[2];
  float *y = out[0];
  (void)columns;
  EACH(i) y[i] = a[i] * b[i] + c[i];
}

LOOP(gelu) {
  const float *x = in[0];
  float *y = out[0], half = *in[1], one = *in[2], scale = *in[3], cube = *in[4];
  (void)columns;
  EACH(i) {
    float v = x[i], inner = (v * v * v * cube + v) * scale;
    y[i] = v * half * (tanh_f32(inner) + one);
  }
}

LOOP(exp_less_max) {
  for (int64_t r = 0; r < count / columns; r++) {
    const float *x = in[0] + r * columns;
    float *y = out[0] + r * columns, most = in[1][r];
    _Pragma("GCC ivdep") for (int64_t i = 0; i < columns; i++) y[i] = exp_f32(x[i] - most);
  }
}

LOOP(scale) {
  for (int64_t r = 0; r < count / columns; r++) {
    const float *x = in[0] + r * columns;
    float *y = out[0] + r * columns, by = in[1][r];
    _Pragma("GCC ivdep") for (int64_t i = 0; i < columns; i++) y[i] = x[i] / by;
  }
}

LOOP(layer_norm) {
  const float *weight = in[3], *bias = in[4];
  for (int64_t r = 0; r < count / columns; r++) {
    const float *x = in[0] + r * columns;
    float *y = out[0] + r * columns, mean = in[1][r], inverse = in[2][r];
    _Pragma("GCC ivdep") for (int64_t i = 0; i < columns; i++) y[i] =
        (x[i] - mean) * inverse * weight[i] + bias[i];
  }
}

LOOP(adamw) {
  const float *p = in[0], *g = in[1], *m = in[2], *v = in[3];
  float b1 = *in[4], c1 = *in[5], b2 = *in[6], c2 = *in[7], eps = *in[8], rate = *in[9],
        decay = *in[10], s1 = *in[11], s2 = *in[12];
  float *pp = out[0], *mm = out[1], *vv = out[2];
  (void)columns;
  EACH(i) {
    float m1 = m[i] * b1 + g[i] * c1, v1 = v[i] * b2 + g[i] * g[i] * c2;
    float step = m1 * s1 / (sqrtf(v1 * s2) + eps);
    pp[i] = p[i] * decay - step * rate;
    mm[i] = m1;
    vv[i] = v1;
  }
}

const bench_loops BENCH_NAME = {add_multiply, gelu, exp_less_max, scale, layer_norm, adamw};
