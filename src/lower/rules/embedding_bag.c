/* Sums, means and maxima of embedding rows by bag. Bag of element i: the last whose offset is at
 * most i. The results besides the output have the sizes of PyTorch's meta kernel; on CPU some are
 * empty instead. */
#include "lower/rules/helpers_indexing.h"
#include "lower/rules/rules.h"

enum { SUM, MEAN, MAX };

typedef struct bags {
  tt_hlo_value *index, *bag; /* s32 [n] */
  tt_hlo_value *valid;       /* pred [n]: not the padding row */
  tt_hlo_dim count, width;
} bags;

static tt_hlo_value *rows_where(tt_low_ctx *ctx, tt_hlo_value *rows, tt_hlo_value *valid) {
  return tt_low_select_const(ctx, tt_low_along(ctx, valid, rows, 0), rows, 0);
}

static tt_hlo_value *not_padding(tt_low_ctx *ctx, tt_hlo_value *index,
                                 const tt_low_value *padding) {
  return tt_low_compare_const(ctx, TT_HLO_NE, index, (double)tt_low_int(ctx, padding, -1));
}

static tt_hlo_value *sum_bags(tt_low_ctx *ctx, const bags *g, tt_hlo_value *rows) {
  tt_hlo_dim dims[2] = {g->count, g->width};
  tt_hlo_value *zeros = tt_low_zeros(ctx, tt_hlo_dtype(rows), dims, (size_t)tt_hlo_rank(rows));
  return tt_low_put_rows(ctx, zeros, g->bag, rows, 0, TT_HLO_COMBINE_ADD);
}

/* Maxima, zero for empty bags; out_index: the weight row of the first element that is one, s32
 * [bags, width]. */
static tt_hlo_value *max_bags(tt_low_ctx *ctx, const bags *g, tt_hlo_value *rows,
                              tt_hlo_value *sizes, tt_hlo_value **out_index) {
  tt_hlo_dim dims[2] = {g->count, g->width};
  int64_t n = tt_low_size(ctx, g->index, 0);
  tt_hlo_value *lowest =
                   tt_hlo_full(ctx->b, tt_hlo_const_lowest(ctx->b, tt_hlo_dtype(rows)), dims, 2),
               *best, *first, *hit, *full;
  tt_hlo_value *bag = tt_low_select_const(ctx, g->valid, g->bag, (double)INT32_MAX);
  best = tt_low_put_rows(ctx, lowest, bag, rows, 0, TT_HLO_COMBINE_MAX);
  hit = tt_hlo_compare(ctx->b, TT_HLO_EQ, rows, tt_hlo_take(ctx->b, best, g->bag, 0));
  first = tt_hlo_full(ctx->b, tt_hlo_const_int(ctx->b, TT_S32, n), dims, 2);
  first = tt_low_put_rows(ctx, first, bag,
                          tt_low_select_const(ctx, hit, tt_low_iota_like(ctx, rows, 0), (double)n),
                          0, TT_HLO_COMBINE_MIN);
  full = tt_low_along(ctx, tt_low_compare_const(ctx, TT_HLO_GT, sizes, 0), best, 0);
  *out_index = tt_low_select_const(ctx, full, tt_hlo_take(ctx->b, g->index, first, 0), 0);
  return tt_low_select_const(ctx, full, best, 0);
}

/* (weight, indices, offsets, scale, mode, sparse, per_sample_weights, include_last_offset,
 * padding_idx) */
TT_LOW_RULE(embedding_bag) {
  tt_hlo_value *weight = args[0].tensor, *offsets = tt_hlo_convert(ctx->b, args[2].tensor, TT_S32),
               *rows, *sizes, *y, *top = NULL;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(weight));
  int64_t mode = tt_low_int(ctx, &args[4], SUM), offset_count = tt_low_size(ctx, offsets, 0);
  int64_t count = offset_count - tt_low_bool(ctx, &args[7], false);
  bags g = {NULL, NULL, NULL, tt_hlo_dim_number(count), tt_hlo_dim_of(ctx->b, weight, 1)};
  tt_hlo_dim none[2] = {tt_hlo_dim_number(0), g.width};
  g.index = tt_low_index(ctx, args[1].tensor, tt_hlo_dim_of(ctx->b, weight, 0), false,
                         "embedding_bag: index out of range");
  g.valid = not_padding(ctx, g.index, &args[8]);
  g.bag = tt_low_search(ctx, tt_hlo_slice_axis(ctx->b, offsets, 0, 0, count, 1),
                        tt_low_iota_like(ctx, g.index, 0), true);
  g.bag = tt_low_with_const(ctx, TT_HLO_SUBTRACT, g.bag, 1);
  sizes = sum_bags(ctx, &g, tt_hlo_convert(ctx->b, g.valid, TT_S32));
  rows = tt_hlo_convert(ctx->b, tt_hlo_take(ctx->b, weight, g.index, 0), dtype);
  if (tt_low_is_tensor(&args[6]))
    rows =
        tt_hlo_mul(ctx->b, rows, tt_low_along(ctx, tt_low_tensor(ctx, &args[6], dtype), rows, 0));
  if (mode == MAX) {
    y = max_bags(ctx, &g, rows, sizes, &top);
  } else {
    y = sum_bags(ctx, &g, rows_where(ctx, rows, g.valid));
    if (mode == MEAN)
      y = tt_hlo_div(
          ctx->b, y,
          tt_low_along(
              ctx, tt_hlo_convert(ctx->b, tt_low_with_const(ctx, TT_HLO_MAXIMUM, sizes, 1), dtype),
              y, 0));
  }
  tt_low_set(&results[0], y);
  tt_low_set(&results[1], g.bag);
  tt_low_set(&results[2], tt_low_pad_axis(ctx, sizes, tt_hlo_const(ctx->b, TT_S32, 0), 0, 0,
                                          offset_count - count, 0));
  tt_low_set(&results[3], top != NULL ? top : tt_low_zeros(ctx, TT_S32, none, 1));
  return NULL;
}

/* Divides each row by how often its index occurs. */
static tt_hlo_value *by_frequency(tt_low_ctx *ctx, tt_hlo_value *rows, tt_hlo_value *index,
                                  tt_hlo_dim size) {
  tt_dtype dtype = tt_hlo_dtype(rows);
  tt_hlo_value *ones = tt_hlo_broadcast_like(ctx->b, tt_hlo_const(ctx->b, dtype, 1), index);
  tt_hlo_value *sums =
      tt_low_put_rows(ctx, tt_low_zeros(ctx, dtype, &size, 1), index, ones, 0, TT_HLO_COMBINE_ADD);
  return tt_hlo_div(ctx->b, rows, tt_low_along(ctx, tt_hlo_take(ctx->b, sums, index, 0), rows, 0));
}

/* (grad, indices, [offsets,] offset2bag, bag_size, maximum_indices, num_weights, scale, mode,
 * [sparse,] per_sample_weights, padding_idx) */
TT_LOW_RULE(embedding_bag_backward) {
  int64_t extra = ctx->rule->data;
  const tt_low_value *rest = args + 2 + extra, *weights = rest + 6 + extra;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *grad = tt_low_tensor(ctx, &args[0], dtype),
               *index = tt_hlo_convert(ctx->b, args[1].tensor, TT_S32), *zeros, *rows;
  tt_hlo_value *bag = tt_hlo_convert(ctx->b, rest[0].tensor, TT_S32),
               *sizes = tt_hlo_convert(ctx->b, rest[1].tensor, TT_S32);
  int64_t mode = tt_low_int(ctx, &rest[5], SUM);
  tt_hlo_dim dims[2] = {tt_hlo_dim_number(tt_low_int(ctx, &rest[3], 1)),
                        tt_hlo_dim_of(ctx->b, grad, 1)};
  zeros = tt_low_zeros(ctx, dtype, dims, 2);
  sizes = tt_hlo_slice_axis(ctx->b, sizes, 0, 0, tt_low_size(ctx, grad, 0), 1);
  if (mode == MAX) {
    grad = rows_where(ctx, grad, tt_low_compare_const(ctx, TT_HLO_GT, sizes, 0));
    tt_low_set(&results[0],
               tt_hlo_put_along(ctx->b, zeros, tt_hlo_convert(ctx->b, rest[2].tensor, TT_S32), grad,
                                0, TT_HLO_COMBINE_ADD));
    return NULL;
  }
  if (mode == MEAN)
    grad = tt_hlo_div(
        ctx->b, grad,
        tt_low_along(
            ctx, tt_hlo_convert(ctx->b, tt_low_with_const(ctx, TT_HLO_MAXIMUM, sizes, 1), dtype),
            grad, 0));
  rows = tt_hlo_take(ctx->b, grad, bag, 0);
  if (tt_low_is_tensor(weights))
    rows = tt_hlo_mul(ctx->b, rows, tt_low_along(ctx, tt_low_tensor(ctx, weights, dtype), rows, 0));
  if (tt_low_bool(ctx, &rest[4], false))
    rows = by_frequency(ctx, rows, index, dims[0]);
  rows = rows_where(ctx, rows, not_padding(ctx, index, weights + 1));
  tt_low_set(&results[0], tt_low_put_rows(ctx, zeros, index, rows, 0, TT_HLO_COMBINE_ADD));
  return NULL;
}

/* (grad, weight, indices, offsets, offset2bag, mode, padding_idx): for each element the product of
 * its rows. */
TT_LOW_RULE(weights_backward) {
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *index = tt_hlo_convert(ctx->b, args[2].tensor, TT_S32), *x;
  int64_t axis[1] = {1};
  x = tt_hlo_take(ctx->b, tt_low_tensor(ctx, &args[0], dtype),
                  tt_hlo_convert(ctx->b, args[4].tensor, TT_S32), 0);
  x = tt_hlo_mul(ctx->b, x,
                 tt_hlo_convert(ctx->b, tt_hlo_take(ctx->b, args[1].tensor, index, 0), dtype));
  x = tt_hlo_reduce(ctx->b, TT_HLO_ADD, x, axis, 1);
  tt_low_set(&results[0], tt_low_select_const(ctx, not_padding(ctx, index, &args[6]), x, 0));
  return NULL;
}

const tt_low_rule tt_low_rules_embedding_bag[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/embedding_bag.def"
#undef X
};
const size_t tt_low_rules_embedding_bag_count = TT_COUNT(tt_low_rules_embedding_bag);
