#include "lower/rules/helpers_windows.h"

enum { TAPS_MAX = 24 }; /* above, reduce_window: programs grow and each tap is a pass */

tt_hlo_value *tt_low_window_tap(tt_low_ctx *ctx, tt_hlo_value *x, const tt_low_window *w, int64_t t,
                                tt_hlo_value *fill) {
  int64_t first = t * w->dilation - w->pad, span = (w->out - 1) * w->stride + 1;
  if (first < 0 || first + span > w->in) { /* cuts where the numbers are negative */
    x = tt_low_pad_axis(ctx, x, fill, w->axis, -first, first + span - w->in, 0);
    first = 0;
  }
  return tt_hlo_slice_axis(ctx->b, x, w->axis, first, first + span, w->stride);
}

tt_hlo_value *tt_low_window_untap(tt_low_ctx *ctx, tt_hlo_value *y, const tt_low_window *w,
                                  int64_t t) {
  int64_t first = t * w->dilation - w->pad, span = (w->out - 1) * w->stride + 1;
  tt_hlo_value *zero = tt_hlo_const(ctx->b, tt_hlo_dtype(y), 0);
  return tt_low_pad_axis(ctx, y, zero, w->axis, first, w->in - first - span, w->stride - 1);
}

static tt_hlo_value *sum_by_window(tt_low_ctx *ctx, tt_hlo_value *x, const tt_low_window *w) {
  int64_t dims[TT_LOW_RANK_MAX], strides[TT_LOW_RANK_MAX], dilations[TT_LOW_RANK_MAX],
      low[TT_LOW_RANK_MAX] = {0}, high[TT_LOW_RANK_MAX] = {0};
  tt_hlo_window window = {dims, strides, NULL, dilations, low, high};
  int64_t span = (w->out - 1) * w->stride + w->dilation * (w->kernel - 1) + 1;
  tt_hlo_value *zero = tt_hlo_const(ctx->b, tt_hlo_dtype(x), 0);
  x = tt_low_pad_axis(ctx, x, zero, w->axis, w->pad, span - w->in - w->pad, 0);
  for (int i = 0; i < TT_LOW_RANK_MAX; i++)
    dims[i] = strides[i] = dilations[i] = 1;
  dims[w->axis] = w->kernel;
  strides[w->axis] = w->stride;
  dilations[w->axis] = w->dilation;
  return tt_hlo_reduce_window(ctx->b, TT_HLO_ADD, x, zero, &window);
}

tt_hlo_value *tt_low_window_sum(tt_low_ctx *ctx, tt_hlo_value *x, const tt_low_window *w) {
  tt_hlo_value *zero = tt_hlo_const(ctx->b, tt_hlo_dtype(x), 0), *sum;
  int64_t axis[1] = {w->axis};
  if (w->out == 1 && w->dilation == 1 && w->kernel - w->pad >= w->in && w->pad >= 0)
    return tt_hlo_reduce_keep(ctx->b, TT_HLO_ADD, x, axis, 1);
  if (w->kernel > TAPS_MAX)
    return sum_by_window(ctx, x, w);
  sum = tt_low_window_tap(ctx, x, w, 0, zero);
  for (int64_t t = 1; t < w->kernel; t++)
    sum = tt_hlo_add(ctx->b, sum, tt_low_window_tap(ctx, x, w, t, zero));
  return sum;
}

/* Windows of stride 1 over the operand with zeros between its elements. */
tt_hlo_value *tt_low_window_unsum(tt_low_ctx *ctx, tt_hlo_value *y, const tt_low_window *w) {
  int64_t reach = w->dilation * (w->kernel - 1), span = (w->out - 1) * w->stride + 1;
  tt_low_window back = {w->axis, span, w->in, w->kernel, 1, reach - w->pad, w->dilation};
  tt_hlo_value *zero = tt_hlo_const(ctx->b, tt_hlo_dtype(y), 0);
  return tt_low_window_sum(ctx, tt_low_pad_axis(ctx, y, zero, w->axis, 0, 0, w->stride - 1), &back);
}

tt_hlo_value *tt_low_apply_matrix(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *matrix,
                                  int axis) {
  int64_t contract[1] = {axis}, column[1] = {1};
  tt_hlo_dot_dims dims = {{0, NULL}, {0, NULL}, {1, contract}, {1, column}};
  tt_hlo_precision before = ctx->b->precision;
  ctx->b->precision = TT_HLO_PRECISION_HIGHEST;
  x = tt_hlo_dot_general(ctx->b, x, matrix, &dims, tt_hlo_dtype(x));
  ctx->b->precision = before;
  return tt_hlo_move_axis(ctx->b, x, tt_hlo_rank(x) - 1, axis);
}
