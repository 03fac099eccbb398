/* Padding. A list of pads goes from the last axis to the first, low and high of each; negative ones
 * cut. */
#include "lower/rules/helpers_indexing.h"
#include "lower/rules/rules.h"

enum { REFLECT = 1, REPLICATE = 2 };

/* (self, pad, value) */
TT_LOW_RULE(constant_pad) {
  tt_hlo_value *x = args[0].tensor;
  size_t count;
  const int64_t *pads = tt_low_ints(ctx, &args[1], &count);
  int64_t low[TT_LOW_RANK_MAX] = {0}, high[TT_LOW_RANK_MAX] = {0};
  int rank = tt_hlo_rank(x);
  if (rank > TT_LOW_RANK_MAX || count > 2 * (size_t)rank)
    return tt_error_new(TT_UNIMPLEMENTED, "aten::constant_pad_nd: %zu pads for %d dims", count,
                        rank);
  for (size_t i = 0; i < count / 2; i++) {
    low[rank - 1 - (int)i] = pads[2 * i];
    high[rank - 1 - (int)i] = pads[2 * i + 1];
  }
  tt_low_set(&results[0], tt_hlo_pad(ctx->b, x, tt_low_number(ctx, &args[2], tt_hlo_dtype(x), 0),
                                     low, high, NULL));
  return NULL;
}

static int64_t positive(int64_t n) { return n > 0 ? n : 0; }

static tt_hlo_value *copies(tt_low_ctx *ctx, tt_hlo_value *edge, int axis, int64_t times) {
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  tt_low_dims(ctx, edge, dims);
  dims[axis] = tt_hlo_dim_number(times);
  return tt_hlo_broadcast_to(ctx->b, edge, dims, (size_t)tt_hlo_rank(edge));
}

static tt_hlo_value *pad_one(tt_low_ctx *ctx, tt_hlo_value *x, int axis, int64_t low,
                             int64_t high) {
  int64_t size = tt_low_size(ctx, x, axis);
  bool reflect = ctx->rule->data == REFLECT;
  tt_hlo_value *parts[3];
  size_t count = 0;
  if (low > 0)
    parts[count++] =
        reflect ? tt_low_reverse(ctx, tt_hlo_slice_axis(ctx->b, x, axis, 1, 1 + low, 1), axis)
                : copies(ctx, tt_hlo_slice_axis(ctx->b, x, axis, 0, 1, 1), axis, low);
  parts[count++] = low < 0 || high < 0 ? tt_hlo_slice_axis(ctx->b, x, axis, positive(-low),
                                                           size - positive(-high), 1)
                                       : x;
  if (high > 0)
    parts[count++] =
        reflect ? tt_low_reverse(
                      ctx, tt_hlo_slice_axis(ctx->b, x, axis, size - 1 - high, size - 1, 1), axis)
                : copies(ctx, tt_hlo_slice_axis(ctx->b, x, axis, size - 1, size, 1), axis, high);
  return tt_hlo_concat(ctx->b, parts, count, axis);
}

/* (self, padding) */
TT_LOW_RULE(edge_pad) {
  tt_hlo_value *x = args[0].tensor;
  size_t count;
  const int64_t *pads = tt_low_ints(ctx, &args[1], &count);
  int rank = tt_hlo_rank(x);
  for (size_t i = 0; i < count / 2; i++)
    x = pad_one(ctx, x, rank - 1 - (int)i, pads[2 * i], pads[2 * i + 1]);
  tt_low_set(&results[0], x);
  return NULL;
}

/* What [begin, end) of the gradient adds to an axis of `size` at `place`: turned round, or as its
 * sum. */
static tt_hlo_value *fold_edge(tt_low_ctx *ctx, tt_hlo_value *grad, int axis, int64_t begin,
                               int64_t end, int64_t place, int64_t size) {
  int64_t axes[1] = {axis}, length;
  tt_hlo_value *part = tt_hlo_slice_axis(ctx->b, grad, axis, begin, end, 1);
  if (ctx->rule->data == REFLECT)
    part = tt_low_reverse(ctx, part, axis);
  else
    part = tt_hlo_reduce_keep(ctx->b, TT_HLO_ADD, part, axes, 1);
  length = tt_low_size(ctx, part, axis);
  return tt_low_pad_axis(ctx, part, tt_hlo_const(ctx->b, tt_hlo_dtype(grad), 0), axis, place,
                         size - place - length, 0);
}

static tt_hlo_value *unpad_one(tt_low_ctx *ctx, tt_hlo_value *grad, int axis, int64_t low,
                               int64_t high, int64_t size) {
  int64_t wide = tt_low_size(ctx, grad, axis);
  bool reflect = ctx->rule->data == REFLECT;
  tt_hlo_value *sum =
      tt_low_pad_axis(ctx, grad, tt_hlo_const(ctx->b, tt_hlo_dtype(grad), 0), axis, -low, -high, 0);
  if (low > 0)
    sum = tt_hlo_add(ctx->b, sum, fold_edge(ctx, grad, axis, 0, low, reflect ? 1 : 0, size));
  if (high > 0)
    sum = tt_hlo_add(
        ctx->b, sum,
        fold_edge(ctx, grad, axis, wide - high, wide, size - 1 - (reflect ? high : 0), size));
  return sum;
}

/* (grad, self, padding) */
TT_LOW_RULE(edge_pad_backward) {
  tt_hlo_value *grad = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  size_t count;
  const int64_t *pads = tt_low_ints(ctx, &args[2], &count);
  int rank = tt_hlo_rank(grad);
  for (size_t i = 0; i < count / 2; i++) {
    int axis = rank - 1 - (int)i;
    grad = unpad_one(ctx, grad, axis, pads[2 * i], pads[2 * i + 1],
                     tt_low_size(ctx, args[1].tensor, axis));
  }
  tt_low_set(&results[0], grad);
  return NULL;
}

const tt_low_rule tt_low_rules_padding[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/padding.def"
#undef X
};
const size_t tt_low_rules_padding_count = TT_COUNT(tt_low_rules_padding);
