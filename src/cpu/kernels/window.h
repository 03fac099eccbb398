/* window.h: windows that slide over an operand, as reduce_window and select_and_scatter have them.
 */
#ifndef TT_CPU_KERNELS_WINDOW_H
#define TT_CPU_KERNELS_WINDOW_H

#include "cpu/kernel.h"

typedef struct tt_cpu_window {
  int32_t rank;
  int64_t dims[TT_HLO_RANK_MAX], out[TT_HLO_RANK_MAX]; /* of the operand; places of the window */
  int64_t strides[TT_HLO_RANK_MAX];                    /* of the operand, in elements */
  int64_t size[TT_HLO_RANK_MAX], step[TT_HLO_RANK_MAX], low[TT_HLO_RANK_MAX], high[TT_HLO_RANK_MAX],
      base_dilation[TT_HLO_RANK_MAX], dilation[TT_HLO_RANK_MAX];
  int64_t count, size_count; /* places; elements of a window */
} tt_cpu_window;

/* `places`: the type that has an element for each place. */
void tt_cpu_window_read(const tt_hlo_op *op, const tt_hlo_type *operand, const tt_hlo_type *places,
                        tt_cpu_window *out_window);
/* The index along an axis of element `k` of the window at `place`; -1 outside of the operand. */
static inline int64_t tt_cpu_window_at(const tt_cpu_window *w, int32_t axis, int64_t place,
                                       int64_t k) {
  int64_t at = place * w->step[axis] + k * w->dilation[axis] - w->low[axis];
  if (at < 0 || (w->base_dilation[axis] > 1 && at % w->base_dilation[axis] != 0))
    return -1;
  at /= w->base_dilation[axis];
  return at < w->dims[axis] ? at : -1;
}
/* Number `k` of the window at place number `place`: its place in the operand, or -1. */
int64_t tt_cpu_window_element(const tt_cpu_window *w, const int64_t *place, int64_t k);
/* The indices of place number `i`. */
void tt_cpu_window_place(const tt_cpu_window *w, int64_t i, int64_t *out_place);

#endif /* TT_CPU_KERNELS_WINDOW_H */
