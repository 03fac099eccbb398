/* onednn.h: products of bf16 and int8 matrices by oneDNN, opened at run time where it is there.
 *
 * Looked for (open.h), once in the process, when the first program runs such a product: the file
 * that TT_CPU_ONEDNN or the create option `onednn` names, else libdnnl.so.3 of the package
 * onednn-cpu-gomp. A library counts when its version is 3, and its threads are those of OpenMP, of
 * which it is given none but the one that calls it, or it has none. One that was named and does not
 * count is an error; one that was not named is as if it were not there.
 *
 * What it does not do better than our own kernels on this processor, it is not given: see
 * `processors` in onednn.c. */
#ifndef TT_CPU_ONEDNN_H
#define TT_CPU_ONEDNN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* c[m, n] = a[m, k] b[k, n], summed in f32 or s32. Strides in elements; c's columns lie side by
 * side. */
typedef struct tt_cpu_dnnl_form {
  int64_t m, n, k;
  int64_t a_m, a_k, b_k, b_n, c_m;
  tt_dtype in, out;
} tt_cpu_dnnl_form;

typedef struct tt_cpu_dnnl_product tt_cpu_dnnl_product;

/* Whether such products are oneDNN's: by dtypes, sizes, and what the library makes of this
 * processor. Opens the library if they may be. INVALID_ARGUMENT: one was named, and does not count.
 */
TT_NODISCARD tt_error *tt_cpu_dnnl_wins(const tt_cpu_dnnl_form *form, bool *out_wins);
/* The product of that form, kept for the next call; NULL: the library has none that is fast, or no
 * memory for it. The caller has a reference. Only where tt_cpu_dnnl_wins. Thread-safe. */
tt_cpu_dnnl_product *tt_cpu_dnnl_product_get(const tt_cpu_dnnl_form *form);
void tt_cpu_dnnl_product_release(tt_cpu_dnnl_product *product); /* NULL is allowed */
/* Bytes that tt_cpu_dnnl_run needs. */
int64_t tt_cpu_dnnl_scratch(const tt_cpu_dnnl_product *product);
/* On this thread; others may run the same product, with other scratch. `scratch` is 64-byte
 * aligned. Gives oneDNN's status, 0: done. */
int tt_cpu_dnnl_run(const tt_cpu_dnnl_product *product, const void *a, const void *b, void *c,
                    void *scratch);

#ifdef __cplusplus
}
#endif

#endif /* TT_CPU_ONEDNN_H */
