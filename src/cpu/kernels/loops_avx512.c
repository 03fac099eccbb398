/* Loops for AVX-512 (F, BW, DQ, VL). */
#if defined(__x86_64__)
#include <math.h>
#include <string.h>

#include "cpu/tile/tile.h"
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#pragma GCC target("arch=skylake-avx512,prefer-vector-width=512")
#include <immintrin.h>

#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#define VECTOR_ROUND
#define LANES_SQRT 16
#define SQRT_F32(to, from) _mm512_storeu_ps(to, _mm512_sqrt_ps(_mm512_loadu_ps(from)))
#define SQRT_F64(to, from) _mm512_storeu_pd(to, _mm512_sqrt_pd(_mm512_loadu_pd(from)))
#define TABLE tt_cpu_loops_avx512
#include "cpu/kernels/loops.inc"
#else
typedef int tt_cpu_no_avx512;
#endif
