#pragma GCC optimize("O3")
#include <string.h>

#include "cpu/kernels/fft.h"
#include "cpu/tile/tile.h"

typedef tt_cpu_fft_number root;

/* What a pass goes over: p < parts, q < stride; parts * stride * the factor = padded. */
typedef struct pass {
  const tt_cpu_fft *t;
  int64_t parts, stride;
} pass;

#define NAME(x) x##_1
#define LANES 1
#include "cpu/kernels/fft.inc"
#undef NAME
#undef LANES

#define NAME(x) x##_2
#define LANES 2
#include "cpu/kernels/fft.inc"
#undef NAME
#undef LANES

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2")
#define NAME(x) x##_4
#define LANES 4
#include "cpu/kernels/fft.inc"
#undef NAME
#undef LANES
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,prefer-vector-width=512")
#define NAME(x) x##_8
#define LANES 8
#include "cpu/kernels/fft.inc"
#undef NAME
#undef LANES
#pragma GCC pop_options
#endif

const tt_cpu_fft_kernel tt_cpu_fft_line = {1, run_1};

const tt_cpu_fft_kernel *tt_cpu_fft_lanes(void) {
#if defined(__x86_64__)
  static const tt_cpu_fft_kernel kernels[] = {[TT_CPU_ISA_BASE] = {2, run_2},
                                              [TT_CPU_ISA_AVX2] = {4, run_4},
                                              [TT_CPU_ISA_AVX512] = {8, run_8}};
  return &kernels[tt_cpu_isa_best()];
#else
  static const tt_cpu_fft_kernel two = {2, run_2};
  return &two;
#endif
}
