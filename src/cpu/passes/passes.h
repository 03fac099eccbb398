/* passes.h: what is done to a module before its plan is made, in this order. Its functions are
 * changed in place; on error they are good for nothing but freeing. */
#ifndef TT_CPU_PASSES_PASSES_H
#define TT_CPU_PASSES_PASSES_H

#include "hlo/hlo.h"

/* Each async_start becomes the operation that it starts, each async_done what that gives; no later
 * pass sees a future. */
TT_NODISCARD tt_error *tt_cpu_join_async(tt_hlo_module *module);
/* Rewrites the module: ops made of others, dims found from constants. `*out_waits`: some stay
 * unknown. Then @main is its only function, and ops that such dims concern are as they were. */
TT_NODISCARD tt_error *tt_cpu_expand_module(tt_hlo_module *module, bool *out_waits);
/* Is it not to be expanded or compiled before more is known of its sizes? */
bool tt_cpu_waits(const tt_hlo_op *op);
/* JAX's check of sizes: a custom call that fails where its first operand is false. */
bool tt_cpu_is_assertion(const tt_hlo_op *op);
/* Matrix products and convolutions of integers whose result is a float: XLA takes them, and JAX
 * sends them for `preferred_element_type`; the specification does not. The operands are converted
 * first, so that kernels see floats only. */
TT_NODISCARD tt_error *tt_cpu_promote(tt_hlo_module *module);
/* Drops ops whose result is an operand as it is, or that of an op before them, and what nobody
 * reads. The bits of all results stay. */
TT_NODISCARD tt_error *tt_cpu_simplify(tt_hlo_module *module);
/* Convolutions read what reverses and transposes of their operands would copy, and write what a
 * transpose of their result would. */
TT_NODISCARD tt_error *tt_cpu_fold_transposes(tt_hlo_module *module);

#endif /* TT_CPU_PASSES_PASSES_H */
