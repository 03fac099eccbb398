/* helpers_windows.h: windows that slide along an axis, and matrices applied along one.
 *
 * Element o of the result meets elements  o * stride - pad + t * dilation  of the operand, t in [0,
 * kernel). One slice for each t, combined element by element, fuses into one loop; on XLA:CPU that
 * is several times quicker than reduce_window, and axes are done one after another, so that the
 * program stays short. */
#ifndef TT_LOWER_RULES_HELPERS_WINDOWS_H
#define TT_LOWER_RULES_HELPERS_WINDOWS_H

#include "lower/rules/helpers_indexing.h"

typedef struct tt_low_window {
  int axis;
  int64_t in, out, kernel, stride, pad, dilation;
} tt_low_window;

/* Slice t of the windows: as the operand, with `out` elements along the axis; `fill` outside. */
tt_hlo_value *tt_low_window_tap(tt_low_ctx *ctx, tt_hlo_value *x, const tt_low_window *w, int64_t t,
                                tt_hlo_value *fill);
/* The transpose: element o of `y` stands at its place for t, zeros elsewhere, `in` elements along
 * the axis. */
tt_hlo_value *tt_low_window_untap(tt_low_ctx *ctx, tt_hlo_value *y, const tt_low_window *w,
                                  int64_t t);
/* Sums over each window. */
tt_hlo_value *tt_low_window_sum(tt_low_ctx *ctx, tt_hlo_value *x, const tt_low_window *w);
/* The transpose of the sums: `out` elements to `in`. */
tt_hlo_value *tt_low_window_unsum(tt_low_ctx *ctx, tt_hlo_value *y, const tt_low_window *w);
/* result[..., o, ...] = sum over i of matrix[o, i] x[..., i, ...] along `axis`, in full precision.
 */
tt_hlo_value *tt_low_apply_matrix(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *matrix, int axis);

#endif /* TT_LOWER_RULES_HELPERS_WINDOWS_H */
