/* dot.h: a dot_general as a batch of products [m, k] x [k, n]. */
#ifndef TT_CPU_KERNELS_DOT_H
#define TT_CPU_KERNELS_DOT_H

#include "cpu/kernel.h"
#include "cpu/kernels/gemm.h"

/* An operand as [batch..., free, contract]. */
typedef struct tt_cpu_dot_side {
  const tt_hlo_type *type;
  bool dense; /* data is row-major */
  const void *data;
  tt_dtype dtype; /* of data */
  int32_t batch_rank;
  int64_t batch[TT_HLO_RANK_MAX]; /* strides */
  int64_t free_count, free_stride, contract_count, contract_stride;
} tt_cpu_dot_side;

typedef struct tt_cpu_dot {
  tt_cpu_dot_side lhs, rhs;
  char *out;
  tt_dtype dtype; /* of out, and of the sums */
  int64_t batch_dims[TT_HLO_RANK_MAX];
  int64_t batches, m, n, k;
  const void *row; /* [n], added to each row; NULL: nothing */
} tt_cpu_dot;

/* One product for kernels that take operands as they are: out[m, n] = sum over k of a[m, k] b[k,
 * n]. Strides are in elements. */
typedef struct tt_cpu_product {
  const void *a, *b;
  int64_t a_row, a_step, b_step, b_column;
  void *out; /* dense */
} tt_cpu_product;

/* Reads the op's operands: what does not lie evenly is copied; elements stay as they are. `out` and
 * `row` are the caller's. */
TT_NODISCARD tt_error *tt_cpu_dot_prepare(const tt_cpu_args *args, tt_cpu_dot *out_dot);
/* The product of one batch, of floats. */
tt_cpu_gemm tt_cpu_dot_gemm(const tt_cpu_dot *dot, int64_t batch);

#endif /* TT_CPU_KERNELS_DOT_H */
