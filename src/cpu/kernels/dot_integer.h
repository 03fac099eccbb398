/* dot_integer.h: products of integer matrices, whose sums wrap. */
#ifndef TT_CPU_KERNELS_DOT_INTEGER_H
#define TT_CPU_KERNELS_DOT_INTEGER_H

#include "cpu/kernels/dot.h"

/* Of the operands: both narrow, or both s32, or both s64 (unsigned ones are the same). The sums are
 * s64 if they are, else s32. */
typedef struct tt_cpu_integers_form {
  int64_t m, n, k;
  tt_dtype a, b;
} tt_cpu_integers_form;

/* Whether elements of that dtype fit into 16 bits with a sign: products take them as they are, and
 * are several times as fast. */
bool tt_cpu_integers_narrow(tt_dtype dtype);
/* Bytes that tt_cpu_integers_run needs for each product. */
int64_t tt_cpu_integers_scratch(const tt_cpu_integers_form *form);
/* `count` products; `packed`: the scratch of all of them. On all threads. */
void tt_cpu_integers_run(const tt_cpu_integers_form *form, const tt_cpu_product *products,
                         int64_t count, void *packed);

#endif /* TT_CPU_KERNELS_DOT_INTEGER_H */
