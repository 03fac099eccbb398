/* attention.h: two products and what is done to the rows between them, a block of rows at a time.
 */
#ifndef TT_CPU_KERNELS_ATTENTION_H
#define TT_CPU_KERNELS_ATTENTION_H

#include "cpu/kernel.h"

/* Of a step with `attention`. */
TT_NODISCARD tt_error *tt_cpu_kernel_attention(const tt_cpu_args *args);

#endif /* TT_CPU_KERNELS_ATTENTION_H */
