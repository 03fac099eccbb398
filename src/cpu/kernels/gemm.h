/* gemm.h: c[m, n] = a[m, k] b[k, n], blocked and packed. */
#ifndef TT_CPU_KERNELS_GEMM_H
#define TT_CPU_KERNELS_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/tile/tile.h"

/* Strides in elements. c is dense: rows `n_whole` apart, so that a part of its columns can be
 * written. */
typedef struct tt_cpu_gemm {
  int64_t m, n, k, n_whole;
  const void *a, *b;
  void *c;
  int64_t a_m, a_k, b_k, b_n;
  const void *packed_b; /* what `pack` made of all of b; NULL: not done */
  const void *row;      /* [n]: added to every row of c; NULL: nothing */
} tt_cpu_gemm;

/* `scratch`: tt_cpu_gemm_scratch bytes for at least these sizes, 64-byte aligned. */
typedef void (*tt_cpu_gemm_run)(const tt_cpu_gemm *gemm, void *scratch);
/* Packs columns [begin, end) of b, of which `begin` is a multiple of the register tile's, into
 * `to`, which has tt_cpu_gemm_packed bytes for all of b. */
typedef void (*tt_cpu_gemm_pack)(const tt_cpu_gemm *gemm, int64_t begin, int64_t end, void *to);

/* For one element type. The register tile has `rows` and `columns`: parts of c should be multiples
 * of it. */
typedef struct tt_cpu_gemm_kernel {
  tt_cpu_gemm_run run;
  tt_cpu_gemm_pack pack;
  int64_t rows, columns;
} tt_cpu_gemm_kernel;

typedef struct tt_cpu_gemm_kernels {
  tt_cpu_gemm_kernel f32, f64;
} tt_cpu_gemm_kernels;

extern const tt_cpu_gemm_kernels tt_cpu_gemm_base, tt_cpu_gemm_avx2, tt_cpu_gemm_avx512;
const tt_cpu_gemm_kernels *tt_cpu_gemm_best(void);

enum {
  TT_CPU_GEMM_KC = 256,
  TT_CPU_GEMM_MC = 168, /* a multiple of every kernel's rows */
  TT_CPU_GEMM_NC = 1024
};
/* Rows that a packed block of a has room for. */
static inline int64_t tt_cpu_gemm_rows(int64_t m) {
  return m < TT_CPU_GEMM_MC ? (m + 15) / 16 * 16 + 16 : TT_CPU_GEMM_MC;
}
static inline int64_t tt_cpu_gemm_scratch(int64_t m, int64_t n, int64_t k, int bytes) {
  int64_t columns = n < TT_CPU_GEMM_NC ? (n + 63) / 64 * 64 : TT_CPU_GEMM_NC;
  k = k < TT_CPU_GEMM_KC ? k : TT_CPU_GEMM_KC;
  return (bytes * k * (tt_cpu_gemm_rows(m) + columns) + 127) / 64 * 64;
}

/* 0 < the size; sizes of tensors that exist leave room for the rounding. */
static inline int64_t tt_cpu_gemm_packed(int64_t n, int64_t k, int bytes) {
  return bytes * k * ((n + 63) / 64 * 64);
}

#endif /* TT_CPU_KERNELS_GEMM_H */
