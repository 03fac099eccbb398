/* expand.h: rewrites a module, before it is compiled, into ops that have kernels.
 *
 * Each op is visited once, in order, with operands that are rewritten already. An op with a line in
 * expand.def is replaced by what its rule builds. Where the module has dims that it does not name,
 * calls are inlined, what constants alone decide is computed now, and types get the dims that
 * follow from that (refine.c); ops that concern what stays unknown are left as they are
 * (stages.h). */
#ifndef TT_CPU_PASSES_EXPAND_H
#define TT_CPU_PASSES_EXPAND_H

#include "cpu/passes/edit.h"
#include "cpu/passes/passes.h"
#include "hlo/build.h"

typedef struct tt_cpu_expand {
  tt_hlo_build build;
  bool dynamic;     /* somewhere a dim is unknown */
  int64_t ops_left; /* that inlining may still add */
  int calls, depth; /* that are being inlined; regions within regions, those of calls too */
  tt_arena scratch;
} tt_cpu_expand;

/* ---- expand.c, for the other files ---- */

/* Builds what takes the place of `op`: a value for each of its results. Mistakes are kept in
 * `x->build`. */
typedef void (*tt_cpu_expand_rule)(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results);
extern const tt_cpu_expand_rule tt_cpu_expand_rules[TT_HLO_OP_COUNT];
#define X(id, function) \
  void tt_cpu_expand_##function(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results);
#include "cpu/passes/expand.def"
#undef X
/* Of all chlo.broadcast_*. */
void tt_cpu_expand_broadcasting(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results);

/* Puts the ops from `first` on at the end of `region`, each expanded. */
TT_NODISCARD tt_error *tt_cpu_expand_ops(tt_cpu_expand *x, tt_hlo_op *first, tt_hlo_region *region);
/* Who reads a result of `op` from now on reads `values`; `op` is in no region. */
TT_NODISCARD tt_error *tt_cpu_expand_replace(tt_cpu_expand *x, tt_hlo_op *op,
                                             tt_hlo_value *const *values);

/* The integers of a constant; false when it is none, or has more than `most`. */
bool tt_cpu_constant_ints(const tt_hlo_value *value, int64_t *out_items, int64_t most,
                          int64_t *out_count);

/* ---- refine.c ---- */

/* Gives a dynamic op whose sizes are constants its static form, and results the dims that follow
 * from the operands. */
TT_NODISCARD tt_error *tt_cpu_refine(tt_cpu_expand *x, tt_hlo_op *op);
/* The same after the op's regions have been expanded. */
TT_NODISCARD tt_error *tt_cpu_refine_results(tt_cpu_expand *x, tt_hlo_op *op);
/* ---- fold.c: replaces an op on constants by constants, when it can. */
TT_NODISCARD tt_error *tt_cpu_fold_constants(tt_cpu_expand *x, tt_hlo_op *op, bool *out_done);
/* ---- inline.c: replaces a call by what it calls. */
TT_NODISCARD tt_error *tt_cpu_inline(tt_cpu_expand *x, tt_hlo_op *op, tt_hlo_region *region);

#endif /* TT_CPU_PASSES_EXPAND_H */
