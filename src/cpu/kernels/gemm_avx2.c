/* Matrix products for AVX2 and FMA. 6 x 2 sums + 2 of b + 1 of a = 15 of 16 registers. */
#if defined(__x86_64__)
#include <string.h>

#include "cpu/kernels/gemm.h"
#pragma GCC optimize("O3", "fp-contract=fast")
#pragma GCC target("arch=haswell")

#define ROWS 6
#define VECTOR_BYTES 32
#define T float
#define NAME(x) x##_f32
#include "cpu/kernels/gemm.inc"
#define T double
#define NAME(x) x##_f64
#include "cpu/kernels/gemm.inc"

const tt_cpu_gemm_kernels tt_cpu_gemm_avx2 = {
    {run_f32, pack_b_f32, ROWS, 2 * VECTOR_BYTES / 4},
    {run_f64, pack_b_f64, ROWS, 2 * VECTOR_BYTES / 8},
};
#else
typedef int tt_cpu_no_gemm_avx2;
#endif
