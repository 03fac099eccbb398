/* Loops for AVX2 and FMA. */
#if defined(__x86_64__)
#include <math.h>
#include <string.h>

#include "cpu/tile/tile.h"
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#pragma GCC target("arch=haswell,tune=haswell")
#include <immintrin.h>

#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#define VECTOR_ROUND
#define LANES_SQRT 8
#define SQRT_F32(to, from) _mm256_storeu_ps(to, _mm256_sqrt_ps(_mm256_loadu_ps(from)))
#define SQRT_F64(to, from) _mm256_storeu_pd(to, _mm256_sqrt_pd(_mm256_loadu_pd(from)))
#define TABLE tt_cpu_loops_avx2
#include "cpu/kernels/loops.inc"
#else
typedef int tt_cpu_no_avx2;
#endif
