/* Loops for any processor of the architecture. Without FMA a call of fmaf would be slow. */
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")

#define FMA(a, b, c) ((a) * (b) + (c))
#if defined(__x86_64__)
#define LANES_SQRT 4
#define SQRT_F32(to, from) _mm_storeu_ps(to, _mm_sqrt_ps(_mm_loadu_ps(from)))
#define SQRT_F64(to, from) _mm_storeu_pd(to, _mm_sqrt_pd(_mm_loadu_pd(from)))
#endif
#define TABLE tt_cpu_loops_base
#include "cpu/kernels/loops.inc"
