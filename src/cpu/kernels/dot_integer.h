/* dot_integer.h: products of integer matrices, whose sums wrap. */
#ifndef TT_CPU_KERNELS_DOT_INTEGER_H
#define TT_CPU_KERNELS_DOT_INTEGER_H

#include "cpu/kernel.h"

/* out[m, n] = sum over k of a[m, k] b[k, n], of s32 or s64 (or the same unsigned). Strides are in
 * elements. */
typedef struct tt_cpu_integers {
  const void *a, *b;
  int64_t a_row, a_step, b_step, b_column;
  void *out; /* dense */
} tt_cpu_integers;

/* Bytes that tt_cpu_integers_run needs for each product. */
int64_t tt_cpu_integers_scratch(int64_t n, int64_t k, int bytes);
/* `count` products of equal sizes; `packed`: the scratch of all of them. On all threads. */
void tt_cpu_integers_run(const tt_cpu_integers *products, int64_t count, int64_t m, int64_t n,
                         int64_t k, int bytes, void *packed);

#endif /* TT_CPU_KERNELS_DOT_INTEGER_H */
