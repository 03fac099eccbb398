/* Histograms in one and in several dimensions, over given edges or evenly spaced ones. Bins are
 * half open, the last one closed; what lies outside, and NaN, does not count. */
#include <math.h>

#include "lower/rules/helpers_indexing.h"
#include "lower/rules/rules.h"

enum { DIMS_MAX = 32 };

typedef struct histogram {
  tt_hlo_value *x;               /* [m, d] */
  tt_hlo_value *weight;          /* [m], or NULL */
  size_t count;                  /* d */
  tt_hlo_value *edges[DIMS_MAX]; /* [bins + 1] each */
} histogram;

static tt_dtype math_dtype(const tt_hlo_value *x) {
  tt_dtype dtype = tt_hlo_dtype(x);
  return tt_dtype_is_float(dtype) ? tt_low_opmath(dtype) : TT_F32;
}

/* [..., d] as [m, d]; the one-dimensional forms take any tensor as [m, 1] */
static tt_hlo_value *samples(tt_low_ctx *ctx, tt_hlo_value *x, bool one) {
  int64_t d = one ? 1 : tt_low_size(ctx, x, tt_hlo_rank(x) - 1), dims[2] = {0, d};
  dims[0] = d == 0 ? 0 : tt_low_numel(ctx, x) / d;
  return tt_hlo_reshape_numbers(ctx->b, x, dims, 2);
}

/* Column `i` of x [m, d]: [m] */
static tt_hlo_value *column(tt_low_ctx *ctx, tt_hlo_value *x, size_t i) {
  int64_t at = (int64_t)i;
  return tt_hlo_squeeze(ctx->b, tt_hlo_slice_axis(ctx->b, x, 1, at, at + 1, 1), 1);
}

/* range, float[2] for dim i, or the extremes of the samples; equal ones are moved half a unit apart
 * each */
static void bounds_of(tt_low_ctx *ctx, tt_hlo_value *x, const tt_low_value *range, size_t i,
                      tt_hlo_value **low, tt_hlo_value **high) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_hlo_dtype(x);
  if (range->kind == TT_LOW_LIST) {
    *low = tt_low_number(ctx, &range->list.items[2 * i], dtype, 0);
    *high = tt_low_number(ctx, &range->list.items[2 * i + 1], dtype, 1);
  } else if (tt_low_size(ctx, x, 0) == 0) {
    *low = tt_hlo_const(b, dtype, 0);
    *high = tt_hlo_const(b, dtype, 1);
  } else {
    *low = tt_low_fold_all(ctx, TT_HLO_MINIMUM, column(ctx, x, i));
    *high = tt_low_fold_all(ctx, TT_HLO_MAXIMUM, column(ctx, x, i));
  }
  tt_hlo_value *same = tt_hlo_compare(b, TT_HLO_EQ, *low, *high),
               *half = tt_hlo_const(b, dtype, 0.5);
  tt_hlo_value *below = tt_hlo_sub(b, *low, half), *above = tt_hlo_add(b, *high, half);
  *low = tt_hlo_select(b, same, below, *low);
  *high = tt_hlo_select(b, same, above, *high);
}

/* low + i (high - low) / bins, from below up to the middle and from above down to it */
static tt_hlo_value *even_edges(tt_low_ctx *ctx, tt_hlo_value *low, tt_hlo_value *high,
                                int64_t bins) {
  tt_hlo_build *b = ctx->b;
  const tt_hlo_dim dim = tt_hlo_dim_number(bins + 1);
  tt_hlo_value *i = tt_hlo_iota(b, tt_hlo_dtype(low), &dim, 1, 0);
  tt_hlo_value *step =
      tt_hlo_div(b, tt_hlo_sub(b, high, low), tt_hlo_const_like(b, low, (double)bins));
  tt_hlo_value *up = tt_hlo_mul(b, i, tt_hlo_broadcast_like(b, step, i));
  tt_hlo_value *left = tt_hlo_sub(b, tt_hlo_const_like(b, i, (double)bins), i);
  tt_hlo_value *down = tt_hlo_mul(b, left, tt_hlo_broadcast_like(b, step, i));
  up = tt_hlo_add(b, tt_hlo_broadcast_like(b, low, i), up);
  down = tt_hlo_sub(b, tt_hlo_broadcast_like(b, high, i), down);
  return tt_hlo_select(b, tt_low_compare_const(ctx, TT_HLO_LT, i, (double)((bins + 1) / 2)), up,
                       down);
}

/* The bin of each number, and in `inside` whether it has one: s32, pred [m] */
static tt_hlo_value *bins_of(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *edges,
                             tt_hlo_value **inside) {
  tt_hlo_build *b = ctx->b;
  int64_t count = edges->type.dims[0];
  tt_hlo_value *first = tt_hlo_squeeze(b, tt_hlo_slice_axis(b, edges, 0, 0, 1, 1), 0);
  tt_hlo_value *last = tt_hlo_squeeze(b, tt_hlo_slice_axis(b, edges, 0, count - 1, count, 1), 0);
  tt_hlo_value *from = tt_hlo_compare(b, TT_HLO_GE, x, tt_hlo_broadcast_like(b, first, x));
  *inside = tt_hlo_and(b, from, tt_hlo_compare(b, TT_HLO_LE, x, tt_hlo_broadcast_like(b, last, x)));
  tt_hlo_value *bin =
      tt_low_with_const(ctx, TT_HLO_SUBTRACT, tt_low_search(ctx, edges, x, true), 1);
  return tt_low_with_const(ctx, TT_HLO_MINIMUM, bin, (double)(count - 2));
}

/* Divides by the sum and by the width of each bin. */
static tt_hlo_value *density_of(tt_low_ctx *ctx, const histogram *h, tt_hlo_value *counts) {
  tt_hlo_build *b = ctx->b;
  counts = tt_low_with(ctx, TT_HLO_DIVIDE, counts, tt_low_fold_all(ctx, TT_HLO_ADD, counts));
  for (size_t i = 0; i < h->count; i++) {
    int64_t bins = h->edges[i]->type.dims[0] - 1;
    tt_hlo_value *width = tt_hlo_sub(b, tt_hlo_slice_axis(b, h->edges[i], 0, 1, bins + 1, 1),
                                     tt_hlo_slice_axis(b, h->edges[i], 0, 0, bins, 1));
    counts = tt_hlo_div(b, counts, tt_low_along(ctx, width, counts, (int)i));
  }
  return counts;
}

/* [bins of dim 0, bins of dim 1, ...] */
static tt_hlo_value *count_samples(tt_low_ctx *ctx, const histogram *h, bool density) {
  tt_hlo_build *b = ctx->b;
  int64_t dims[DIMS_MAX], total = 1;
  tt_hlo_value *place = NULL, *all = NULL;
  for (size_t i = 0; i < h->count; i++) {
    tt_hlo_value *inside, *bin = bins_of(ctx, column(ctx, h->x, i), h->edges[i], &inside);
    dims[i] = h->edges[i]->type.dims[0] - 1;
    total *= dims[i];
    if (place != NULL)
      bin = tt_hlo_add(b, tt_low_with_const(ctx, TT_HLO_MULTIPLY, place, (double)dims[i]), bin);
    all = all != NULL ? tt_hlo_and(b, all, inside) : inside;
    place = bin;
  }
  const tt_hlo_dim flat = tt_hlo_dim_number(total);
  tt_hlo_value *counts = tt_low_zeros(ctx, tt_hlo_dtype(h->x), &flat, 1);
  if (place != NULL) {
    tt_hlo_value *one = h->weight != NULL ? h->weight : tt_hlo_convert(b, all, tt_hlo_dtype(h->x));
    counts = tt_low_put_rows(ctx, counts, tt_low_select_const(ctx, all, place, (double)total), one,
                             0, TT_HLO_COMBINE_ADD);
  }
  counts = tt_hlo_reshape_numbers(b, counts, dims, h->count);
  return density ? density_of(ctx, h, counts) : counts;
}

static histogram histogram_of(tt_low_ctx *ctx, const tt_low_value *self, const tt_low_value *weight,
                              bool one) {
  tt_dtype dtype = math_dtype(self->tensor);
  histogram h = {.x = samples(ctx, tt_low_tensor(ctx, self, dtype), one)};
  h.count = (size_t)h.x->type.dims[1];
  if (tt_low_is_tensor(weight))
    h.weight = tt_low_flat(ctx, tt_low_tensor(ctx, weight, dtype));
  if (h.count > DIMS_MAX) {
    tt_hlo_fail(ctx->b, TT_UNIMPLEMENTED, "%s: %zu dims", ctx->rule->overload, h.count);
    h.count = DIMS_MAX;
  }
  return h;
}

/* Edges of each dim from its number of bins. */
static void space_edges(tt_low_ctx *ctx, histogram *h, const int64_t *bins,
                        const tt_low_value *range) {
  for (size_t i = 0; i < h->count; i++) {
    tt_hlo_value *low, *high;
    bounds_of(ctx, h->x, range, i, &low, &high);
    h->edges[i] = even_edges(ctx, low, high, bins[i]);
  }
}

static void set_as(tt_low_ctx *ctx, tt_low_value *result, tt_hlo_value *value,
                   const tt_low_value *like) {
  tt_low_set(result, tt_hlo_convert(ctx->b, value, tt_hlo_dtype(like->tensor)));
}

/* (self, bins, range, weight, density) -> (hist, bin_edges) */
static tt_error *lower_histogram_count(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                       tt_low_value *results) {
  (void)args_count;
  const int64_t bins = tt_low_int(ctx, &args[1], 100);
  histogram h = histogram_of(ctx, &args[0], &args[3], true);
  space_edges(ctx, &h, &bins, &args[2]);
  ctx->results_count = 2;
  set_as(ctx, &results[0], count_samples(ctx, &h, tt_low_bool(ctx, &args[4], false)), &args[0]);
  set_as(ctx, &results[1], h.edges[0], &args[0]);
  return NULL;
}

/* (self, bins, weight, density) -> (hist, bin_edges) */
static tt_error *lower_histogram_edges(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                       tt_low_value *results) {
  (void)args_count;
  histogram h = histogram_of(ctx, &args[0], &args[2], true);
  h.edges[0] = tt_low_tensor(ctx, &args[1], tt_hlo_dtype(h.x));
  ctx->results_count = 2;
  set_as(ctx, &results[0], count_samples(ctx, &h, tt_low_bool(ctx, &args[3], false)), &args[0]);
  set_as(ctx, &results[1], h.edges[0], &args[0]);
  return NULL;
}

/* (self, bins, range, weight, density): data 0: the edges of each dim; 1: the counts */
static tt_error *lower_histogramdd_counts(tt_low_ctx *ctx, const tt_low_value *args,
                                          size_t args_count, tt_low_value *results) {
  (void)args_count;
  size_t count;
  const int64_t *bins = tt_low_ints(ctx, &args[1], &count);
  histogram h = histogram_of(ctx, &args[0], &args[3], false);
  if (count < h.count)
    return tt_error_new(TT_INVALID_ARGUMENT, "%s: %zu numbers of bins for %zu dims",
                        ctx->rule->overload, count, h.count);
  space_edges(ctx, &h, bins, &args[2]);
  if (ctx->rule->data != 0) {
    set_as(ctx, &results[0], count_samples(ctx, &h, tt_low_bool(ctx, &args[4], false)), &args[0]);
    return NULL;
  }
  if (h.count > ctx->results_capacity)
    return tt_error_new(TT_UNIMPLEMENTED, "%s: %zu dims", ctx->rule->overload, h.count);
  ctx->results_count = h.count;
  for (size_t i = 0; i < h.count; i++)
    set_as(ctx, &results[i], h.edges[i], &args[0]);
  return NULL;
}

/* (self, bins, weight, density) */
static tt_error *lower_histogramdd_edges(tt_low_ctx *ctx, const tt_low_value *args,
                                         size_t args_count, tt_low_value *results) {
  (void)args_count;
  histogram h = histogram_of(ctx, &args[0], &args[2], false);
  if (args[1].list.count < h.count)
    return tt_error_new(TT_INVALID_ARGUMENT, "%s: %zu lists of edges for %zu dims",
                        ctx->rule->overload, args[1].list.count, h.count);
  for (size_t i = 0; i < h.count; i++)
    h.edges[i] = tt_low_tensor(ctx, &args[1].list.items[i], tt_hlo_dtype(h.x));
  set_as(ctx, &results[0], count_samples(ctx, &h, tt_low_bool(ctx, &args[3], false)), &args[0]);
  return NULL;
}

const tt_low_rule tt_low_rules_histogram[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/histogram.def"
#undef X
};
const size_t tt_low_rules_histogram_count = TT_COUNT(tt_low_rules_histogram);
