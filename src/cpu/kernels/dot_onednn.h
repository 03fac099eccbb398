/* dot_onednn.h: products that oneDNN takes, on our threads. */
#ifndef TT_CPU_KERNELS_DOT_ONEDNN_H
#define TT_CPU_KERNELS_DOT_ONEDNN_H

#include "cpu/kernels/dot.h"
#include "cpu/onednn.h"

/* `count` products of one form, for which tt_cpu_dnnl_wins. `*out_done` is false, and nothing
 * written, where oneDNN has none for it. */
TT_NODISCARD tt_error *tt_cpu_dot_onednn(const tt_cpu_args *args, const tt_cpu_dnnl_form *form,
                                         const tt_cpu_product *products, int64_t count,
                                         bool *out_done);

#endif /* TT_CPU_KERNELS_DOT_ONEDNN_H */
