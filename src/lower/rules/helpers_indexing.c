#include "lower/rules/helpers_indexing.h"

/* ---- dims ---- */

void tt_low_dims(tt_low_ctx *ctx, tt_hlo_value *v, tt_hlo_dim *dims) {
  if (tt_hlo_rank(v) > TT_LOW_RANK_MAX)
    tt_hlo_fail(ctx->b, TT_UNIMPLEMENTED, "%s: a tensor of %d dims", ctx->rule->overload,
                tt_hlo_rank(v));
  for (int i = 0; i < tt_hlo_rank(v) && i < TT_LOW_RANK_MAX; i++)
    dims[i] = tt_hlo_dim_of(ctx->b, v, i);
}

int64_t tt_low_size(tt_low_ctx *ctx, tt_hlo_value *v, int axis) {
  tt_hlo_dim dim = tt_hlo_dim_of(ctx->b, v, axis);
  if (dim.value == NULL)
    return dim.size;
  tt_hlo_fail(ctx->b, TT_UNIMPLEMENTED, "%s: dim %d is known only when it runs",
              ctx->rule->overload, axis);
  return 1;
}

int64_t tt_low_numel(tt_low_ctx *ctx, tt_hlo_value *v) {
  int64_t count = 1;
  for (int i = 0; i < tt_hlo_rank(v); i++)
    count *= tt_low_size(ctx, v, i); /* fits: PyTorch has allocated it */
  return count;
}

tt_hlo_value *tt_low_rank1(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_rank(x) == 0 ? tt_hlo_unsqueeze(ctx->b, x, 0) : x;
}

tt_hlo_value *tt_low_flat(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_rank(x) == 0 ? tt_low_rank1(ctx, x)
                             : tt_hlo_flatten(ctx->b, x, 0, tt_hlo_rank(x) - 1);
}

tt_hlo_value *tt_low_reshape_like(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *like) {
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  tt_low_dims(ctx, like, dims);
  return tt_hlo_reshape(ctx->b, x, dims, (size_t)tt_hlo_rank(like));
}

tt_hlo_value *tt_low_zeros(tt_low_ctx *ctx, tt_dtype dtype, const tt_hlo_dim *dims, size_t rank) {
  return tt_hlo_full(ctx->b, tt_hlo_const(ctx->b, dtype, 0), dims, rank);
}

/* ---- indices ---- */

static void check_index(tt_low_ctx *ctx, tt_hlo_value *index, tt_hlo_dim size, bool wrap,
                        const char *message) {
  tt_hlo_value *limit = tt_hlo_dim_value(ctx->b, size, tt_hlo_dtype(index));
  tt_hlo_value *least =
      wrap ? tt_hlo_neg(ctx->b, limit) : tt_hlo_const(ctx->b, tt_hlo_dtype(index), 0);
  tt_hlo_value *above =
      tt_hlo_compare(ctx->b, TT_HLO_GE, index, tt_hlo_broadcast_like(ctx->b, least, index));
  tt_hlo_value *below =
      tt_hlo_compare(ctx->b, TT_HLO_LT, index, tt_hlo_broadcast_like(ctx->b, limit, index));
  tt_low_check(ctx, tt_low_fold_all(ctx, TT_HLO_AND, tt_hlo_and(ctx->b, above, below)),
               TT_OUT_OF_RANGE, message);
}

tt_hlo_value *tt_low_index(tt_low_ctx *ctx, tt_hlo_value *index, tt_hlo_dim size, bool wrap,
                           const char *message) {
  tt_hlo_value *narrow = tt_hlo_convert(ctx->b, index, TT_S32), *limit, *moved;
  if (ctx->debug && message != NULL)
    check_index(ctx, tt_hlo_convert(ctx->b, index, TT_S64), size, wrap, message);
  if (!wrap)
    return narrow;
  limit = tt_hlo_broadcast_like(ctx->b, tt_hlo_dim_value(ctx->b, size, TT_S32), narrow);
  moved = tt_hlo_add(ctx->b, narrow, limit);
  return tt_hlo_select(ctx->b, tt_low_compare_const(ctx, TT_HLO_LT, narrow, 0), moved, narrow);
}

/* ---- one axis ---- */

tt_hlo_value *tt_low_reverse(tt_low_ctx *ctx, tt_hlo_value *x, int axis) {
  int64_t axes[1] = {axis};
  return tt_hlo_reverse(ctx->b, x, axes, 1);
}

tt_hlo_value *tt_low_pad_axis(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *scalar, int axis,
                              int64_t low, int64_t high, int64_t interior) {
  int64_t lows[TT_LOW_RANK_MAX] = {0}, highs[TT_LOW_RANK_MAX] = {0}, inner[TT_LOW_RANK_MAX] = {0};
  if (tt_hlo_rank(x) > TT_LOW_RANK_MAX || axis >= tt_hlo_rank(x))
    return tt_hlo_fail(ctx->b, TT_UNIMPLEMENTED, "%s: a tensor of %d dims", ctx->rule->overload,
                       tt_hlo_rank(x));
  lows[axis] = low;
  highs[axis] = high;
  inner[axis] = interior;
  return tt_hlo_pad(ctx->b, x, scalar, lows, highs, inner);
}

/* ---- masks ---- */

enum { BLOCK = 128 }; /* elements summed at once, and the side of the matrix that counts */

static tt_hlo_value *zero(tt_low_ctx *ctx, tt_dtype dtype) {
  return tt_hlo_const(ctx->b, dtype, 0);
}

/* Inclusive sums along the last axis, of `size` elements: each step adds what stands 1, 2, 4, ...
 * before. */
static tt_hlo_value *scan_steps(tt_low_ctx *ctx, tt_hlo_value *x, int64_t size) {
  int axis = tt_hlo_rank(x) - 1;
  for (int64_t step = 1; step < size; step *= 2)
    x = tt_hlo_add(ctx->b, x,
                   tt_low_pad_axis(ctx, x, zero(ctx, tt_hlo_dtype(x)), axis, step, -step, 0));
  return x;
}

static tt_hlo_value *blocks_of(tt_low_ctx *ctx, tt_hlo_value *x, int64_t size) {
  int64_t rows = (size + BLOCK - 1) / BLOCK, dims[2] = {rows, BLOCK};
  x = tt_low_pad_axis(ctx, x, zero(ctx, tt_hlo_dtype(x)), 0, 0, rows * BLOCK - size, 0);
  return tt_hlo_reshape_numbers(ctx->b, x, dims, 2);
}

/* s32 [rows, BLOCK] whose rows are summed already, to sums over all of it, [size]. */
static tt_hlo_value *join_blocks(tt_low_ctx *ctx, tt_hlo_value *sums, int64_t size) {
  tt_hlo_value *totals = tt_low_flat(ctx, tt_hlo_slice_axis(ctx->b, sums, 1, BLOCK - 1, BLOCK, 1));
  tt_hlo_value *before = tt_hlo_sub(ctx->b, tt_low_prefix_sums(ctx, totals), totals);
  tt_hlo_value *all = tt_hlo_add(ctx->b, sums, tt_low_along(ctx, before, sums, 0));
  return tt_hlo_slice_axis(ctx->b, tt_low_flat(ctx, all), 0, 0, size, 1);
}

tt_hlo_value *tt_low_prefix_sums(tt_low_ctx *ctx, tt_hlo_value *x) {
  int64_t size = tt_low_size(ctx, x, 0);
  if (size <= 4 * BLOCK || tt_hlo_failed(ctx->b))
    return scan_steps(ctx, x, size);
  return join_blocks(ctx, scan_steps(ctx, blocks_of(ctx, x, size), BLOCK), size);
}

/* Ones on and above the diagonal: a row of zeros and ones times it is the row's counts. Exact in
 * any float. */
static tt_hlo_value *count_blocks(tt_low_ctx *ctx, tt_hlo_value *blocks) {
  tt_hlo_dim dims[2] = {tt_hlo_dim_number(BLOCK), tt_hlo_dim_number(BLOCK)};
  tt_hlo_value *row = tt_hlo_iota(ctx->b, TT_S32, dims, 2, 0),
               *column = tt_hlo_iota(ctx->b, TT_S32, dims, 2, 1);
  tt_hlo_value *matrix =
      tt_hlo_convert(ctx->b, tt_hlo_compare(ctx->b, TT_HLO_LE, row, column), TT_F32);
  return tt_hlo_convert(
      ctx->b, tt_hlo_matmul(ctx->b, tt_hlo_convert(ctx->b, blocks, TT_F32), matrix), TT_S32);
}

tt_hlo_value *tt_low_prefix_counts(tt_low_ctx *ctx, tt_hlo_value *mask) {
  int64_t size = tt_low_size(ctx, mask, 0);
  if (size <= 4 * BLOCK || tt_hlo_failed(ctx->b))
    return scan_steps(ctx, tt_hlo_convert(ctx->b, mask, TT_S32), size);
  return join_blocks(ctx, count_blocks(ctx, blocks_of(ctx, mask, size)), size);
}

tt_hlo_value *tt_low_true_positions(tt_low_ctx *ctx, tt_hlo_value *mask, int64_t capacity,
                                    int64_t fill, tt_hlo_value **out_count) {
  int64_t size = tt_low_size(ctx, mask, 0);
  tt_hlo_dim dim = tt_hlo_dim_number(capacity);
  tt_hlo_value *start = tt_hlo_full(ctx->b, tt_hlo_const_int(ctx->b, TT_S32, fill), &dim, 1),
               *counts, *place;
  if (out_count != NULL)
    *out_count = zero(ctx, TT_S32);
  if (size == 0 || tt_hlo_failed(ctx->b))
    return start;
  counts = tt_low_prefix_counts(ctx, mask);
  if (out_count != NULL)
    *out_count = tt_hlo_squeeze(ctx->b, tt_hlo_slice_axis(ctx->b, counts, 0, size - 1, size, 1), 0);
  place = tt_low_select_const(ctx, mask, tt_low_with_const(ctx, TT_HLO_SUBTRACT, counts, 1),
                              (double)capacity);
  return tt_low_put_rows(ctx, start, place, tt_low_iota_like(ctx, mask, 0), 0, TT_HLO_COMBINE_SET);
}

/* ---- rows ---- */

tt_hlo_combine tt_low_combine_for(tt_hlo_combine combine, tt_dtype dtype) {
  if (dtype != TT_PRED)
    return combine;
  return combine == TT_HLO_COMBINE_ADD || combine == TT_HLO_COMBINE_MAX   ? TT_HLO_COMBINE_OR
         : combine == TT_HLO_COMBINE_MUL || combine == TT_HLO_COMBINE_MIN ? TT_HLO_COMBINE_AND
                                                                          : combine;
}

tt_hlo_value *tt_low_put_rows(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *index,
                              tt_hlo_value *updates, int axis, tt_hlo_combine combine) {
  int64_t window[TT_LOW_RANK_MAX], at[1] = {axis};
  size_t windows = 0;
  tt_hlo_scatter_dims dims = {{0, NULL}, {1, at}, {0, NULL}, {0, NULL}, {1, at}, 1};
  for (int i = 0; i < tt_hlo_rank(x) && windows < TT_LOW_RANK_MAX; i++)
    if (i != axis)
      window[windows++] = i;
  dims.update_window_dims.count = windows;
  dims.update_window_dims.items = window;
  return tt_hlo_scatter(ctx->b, x, index, updates, &dims,
                        tt_low_combine_for(combine, tt_hlo_dtype(x)), false, false);
}

/* ---- sorted sequences ---- */

enum {
  SEARCH_ALL = 32
}; /* up to this many elements, comparing with all of them is quicker than halving */

/* pred: the sequence's element stands before the place of the value. NaN as a value goes to the
 * end. */
static tt_hlo_value *stands_before(tt_low_ctx *ctx, tt_hlo_value *element, tt_hlo_value *value,
                                   bool right) {
  return tt_hlo_not(ctx->b, tt_hlo_compare(ctx->b, right ? TT_HLO_GT : TT_HLO_GE, element, value));
}

static tt_hlo_value *search_all(tt_low_ctx *ctx, tt_hlo_value *sequence, tt_hlo_value *values,
                                bool right) {
  tt_hlo_dim dims[TT_LOW_RANK_MAX + 1];
  int rank = tt_hlo_rank(values);
  int64_t last[1] = {rank}, map[TT_LOW_RANK_MAX];
  tt_hlo_value *wide, *line;
  tt_low_dims(ctx, values, dims);
  for (int i = 0; i < rank && i < TT_LOW_RANK_MAX; i++)
    map[i] = i;
  dims[rank] = tt_hlo_dim_of(ctx->b, sequence, 0);
  wide = tt_hlo_broadcast_in_dim(ctx->b, values, dims, (size_t)rank + 1, map);
  line = tt_hlo_broadcast_in_dim(ctx->b, sequence, dims, (size_t)rank + 1, last);
  wide = tt_hlo_convert(ctx->b, stands_before(ctx, line, wide, right), TT_S32);
  return tt_hlo_reduce(ctx->b, TT_HLO_ADD, wide, last, 1);
}

static tt_hlo_value *search_halves(tt_low_ctx *ctx, tt_hlo_value *sequence, tt_hlo_value *values,
                                   int64_t size, bool right) {
  int axis = tt_hlo_rank(sequence) - 1;
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int64_t step = 1;
  tt_hlo_value *place;
  tt_low_dims(ctx, values, dims);
  place = tt_low_zeros(ctx, TT_S32, dims, (size_t)tt_hlo_rank(values));
  while (step * 2 <= size)
    step *= 2;
  for (step = size == 0 ? 0 : step; step > 0; step /= 2) {
    tt_hlo_value *next = tt_low_with_const(ctx, TT_HLO_ADD, place, (double)step);
    tt_hlo_value *at = tt_low_with_const(ctx, TT_HLO_SUBTRACT, next, 1), *element, *go;
    at = tt_low_with_const(ctx, TT_HLO_MINIMUM, at, (double)(size - 1));
    element = axis == 0 ? tt_hlo_take(ctx->b, sequence, at, 0)
                        : tt_hlo_take_along(ctx->b, sequence, at, axis);
    go = tt_hlo_and(ctx->b, stands_before(ctx, element, values, right),
                    tt_low_compare_const(ctx, TT_HLO_LE, next, (double)size));
    place = tt_hlo_select(ctx->b, go, next, place);
  }
  return place;
}

tt_hlo_value *tt_low_search(tt_low_ctx *ctx, tt_hlo_value *sequence, tt_hlo_value *values,
                            bool right) {
  int64_t size = tt_low_size(ctx, sequence, tt_hlo_rank(sequence) - 1);
  if (tt_hlo_dtype(sequence) == TT_PRED) {
    sequence = tt_hlo_convert(ctx->b, sequence, TT_U8);
    values = tt_hlo_convert(ctx->b, values, TT_U8);
  }
  if (tt_hlo_rank(sequence) == 1 && size <= SEARCH_ALL && tt_hlo_rank(values) < TT_LOW_RANK_MAX)
    return search_all(ctx, sequence, values, right);
  return search_halves(ctx, sequence, values, size, right);
}

/* NaN counts as greater than all: first when descending. */
static tt_hlo_region *sort_order(tt_low_ctx *ctx, tt_dtype dtype, bool descending) {
  tt_hlo_type types[4] = {tt_hlo_scalar_type(dtype), tt_hlo_scalar_type(dtype),
                          tt_hlo_scalar_type(TT_S32), tt_hlo_scalar_type(TT_S32)};
  tt_hlo_region *region = tt_hlo_region_open(ctx->b, types, 4);
  tt_hlo_value *x = tt_hlo_region_arg(ctx->b, region, 0), *y = tt_hlo_region_arg(ctx->b, region, 1),
               *first;
  if (region == NULL)
    return NULL;
  first = tt_hlo_compare(ctx->b, descending ? TT_HLO_GT : TT_HLO_LT, x, y);
  if (tt_dtype_is_float(dtype)) {
    tt_hlo_value *x_nan = tt_hlo_compare(ctx->b, TT_HLO_NE, x, x),
                 *y_nan = tt_hlo_compare(ctx->b, TT_HLO_NE, y, y);
    tt_hlo_value *by_nan = descending ? tt_hlo_and(ctx->b, x_nan, tt_hlo_not(ctx->b, y_nan))
                                      : tt_hlo_and(ctx->b, y_nan, tt_hlo_not(ctx->b, x_nan));
    first = tt_hlo_or(ctx->b, first, by_nan);
  }
  tt_hlo_region_close(ctx->b, &first, 1);
  return region;
}

void tt_low_sort(tt_low_ctx *ctx, tt_hlo_value *x, int axis, bool descending,
                 tt_hlo_value **out_values, tt_hlo_value **out_order) {
  tt_dtype dtype = tt_hlo_dtype(x), wide = dtype == TT_PRED ? TT_U8 : dtype;
  tt_hlo_value *inputs[2] = {tt_hlo_convert(ctx->b, x, wide), tt_low_iota_like(ctx, x, axis)};
  tt_hlo_value *sorted[2] = {ctx->b->poison, ctx->b->poison};
  tt_hlo_sort(ctx->b, inputs, 2, axis, true, sort_order(ctx, wide, descending), sorted);
  if (out_values != NULL)
    *out_values = tt_hlo_convert(ctx->b, sorted[0], dtype);
  if (out_order != NULL)
    *out_order = sorted[1];
}
