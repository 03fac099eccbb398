/* kernels.h: the functions that kernels.def names. */
#ifndef TT_CPU_KERNELS_H
#define TT_CPU_KERNELS_H

#include "cpu/kernel.h"

#define X(id, function, check, traits) tt_error *tt_cpu_kernel_##function(const tt_cpu_args *args);
#include "cpu/kernels.def"
#undef X

/* Of a dynamic_slice: elements before the first one in the operand. */
int64_t tt_cpu_slice_start(const tt_cpu_args *args);

tt_error *tt_cpu_check_rng(const tt_hlo_op *op);
tt_error *tt_cpu_check_custom_call(const tt_hlo_op *op);

#endif /* TT_CPU_KERNELS_H */
