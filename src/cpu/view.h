/* view.h: ops that make no new elements, only another type over the same memory. */
#ifndef TT_CPU_VIEW_H
#define TT_CPU_VIEW_H

#include "hlo/hlo.h"

/* Result i is operand i, byte for byte in the same order. */
bool tt_cpu_is_view(const tt_hlo_op *op);
/* A broadcast whose element i is the operand's element (i / inner) % period. */
bool tt_cpu_is_spread(const tt_hlo_op *op, int64_t *out_inner, int64_t *out_period);

/* A dynamic_slice whose result is one run of the operand's elements, at a place that the run
 * computes and that is aligned. */
bool tt_cpu_is_window(const tt_hlo_op *op);

#endif /* TT_CPU_VIEW_H */
