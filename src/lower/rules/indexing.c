/* Positions given by one index tensor. Rows move whole where they can: one gather or scatter with
 * row windows. */
#include <string.h>

#include "lower/rules/helpers_indexing.h"
#include "lower/rules/rules.h"

static const char outside[] = "index out of range in self";

/* ---- embedding ---- */

TT_LOW_RULE(embedding) {
  tt_hlo_value *weight = args[0].tensor;
  tt_hlo_value *index =
      tt_low_index(ctx, args[1].tensor, tt_hlo_dim_of(ctx->b, weight, 0), false, outside);
  tt_low_set(&results[0], tt_hlo_take(ctx->b, weight, index, 0));
  return NULL;
}

/* How often each of the `size` rows is named, for each index: f [n]. */
static tt_hlo_value *frequencies(tt_low_ctx *ctx, tt_hlo_value *index, tt_hlo_dim size,
                                 tt_dtype dtype) {
  tt_hlo_dim count = tt_hlo_dim_of(ctx->b, index, 0);
  tt_hlo_value *ones = tt_hlo_full(ctx->b, tt_hlo_const(ctx->b, dtype, 1), &count, 1);
  tt_hlo_value *sums =
      tt_low_put_rows(ctx, tt_low_zeros(ctx, dtype, &size, 1), index, ones, 0, TT_HLO_COMBINE_ADD);
  return tt_hlo_take(ctx->b, sums, index, 0);
}

/* weight.grad[i] = sum of grad rows whose index is i; the padding row gets none. */
TT_LOW_RULE(embedding_dense_backward) {
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *grad = tt_low_tensor(ctx, &args[0], dtype),
               *index = tt_low_flat(ctx, args[1].tensor);
  int64_t rows = tt_low_int(ctx, &args[2], 0), padding = tt_low_int(ctx, &args[3], -1);
  int rank = tt_hlo_rank(grad);
  tt_hlo_dim dims[2] = {tt_hlo_dim_number(rows), tt_hlo_dim_of(ctx->b, grad, rank - 1)},
             grad_dims[2];
  index = tt_low_index(ctx, index, dims[0], false, outside);
  grad_dims[0] = tt_hlo_dim_of(ctx->b, index, 0);
  grad_dims[1] = dims[1];
  grad = tt_hlo_reshape(ctx->b, grad, grad_dims, 2);
  if (tt_low_bool(ctx, &args[4], false)) {
    tt_hlo_value *often = frequencies(ctx, index, dims[0], dtype);
    grad = tt_hlo_div(ctx->b, grad, tt_low_along(ctx, often, grad, 0));
  }
  if (padding >= 0) /* the row behind the last is skipped */
    index = tt_low_select_const(ctx, tt_low_compare_const(ctx, TT_HLO_NE, index, (double)padding),
                                index, (double)rows);
  tt_low_set(&results[0], tt_low_put_rows(ctx, tt_low_zeros(ctx, dtype, dims, 2), index, grad, 0,
                                          TT_HLO_COMBINE_ADD));
  return NULL;
}

/* ---- places where updates go ---- */

typedef struct places {
  tt_hlo_value *index; /* s32: [n], or the dims of the updates */
  int axis;
  bool rows; /* whole rows as index_add has them, else element by element as scatter */
} places;

static tt_hlo_value *put_at(tt_low_ctx *ctx, const places *at, tt_hlo_value *x,
                            tt_hlo_value *updates, tt_hlo_combine combine) {
  if (at->rows)
    return tt_low_put_rows(ctx, x, at->index, updates, at->axis, combine);
  return tt_hlo_put_along(ctx->b, x, at->index, updates, at->axis,
                          tt_low_combine_for(combine, tt_hlo_dtype(x)));
}

typedef enum reduce_mode {
  REDUCE_NONE,
  REDUCE_SUM,
  REDUCE_PROD,
  REDUCE_MEAN,
  REDUCE_MAX,
  REDUCE_MIN
} reduce_mode;

static reduce_mode mode_of(const tt_low_value *arg) {
  static const struct {
    const char *name;
    reduce_mode mode;
  } names[] = {{"sum", REDUCE_SUM},       {"add", REDUCE_SUM},   {"prod", REDUCE_PROD},
               {"multiply", REDUCE_PROD}, {"mean", REDUCE_MEAN}, {"amax", REDUCE_MAX},
               {"amin", REDUCE_MIN}};
  for (size_t i = 0; arg->kind == TT_LOW_STRING && i < TT_COUNT(names); i++)
    if (strcmp(names[i].name, arg->string) == 0)
      return names[i].mode;
  return REDUCE_NONE;
}

static tt_hlo_value *identity_of(tt_low_ctx *ctx, reduce_mode mode, tt_dtype dtype) {
  if (mode == REDUCE_MAX)
    return tt_hlo_const_lowest(ctx->b, dtype);
  if (mode == REDUCE_MIN)
    return tt_hlo_const_highest(ctx->b, dtype);
  return tt_hlo_const(ctx->b, dtype, mode == REDUCE_PROD ? 1 : 0);
}

/* Divides by how many elements met in each place; integers round down. */
static tt_hlo_value *divide_by_counts(tt_low_ctx *ctx, const places *at, tt_hlo_value *sums,
                                      tt_hlo_value *updates, bool include_self) {
  tt_dtype dtype = tt_hlo_dtype(sums), wide = tt_dtype_is_float(dtype) ? dtype : TT_S32;
  tt_hlo_value *start =
      tt_hlo_broadcast_like(ctx->b, tt_hlo_const(ctx->b, wide, include_self ? 1 : 0), sums);
  tt_hlo_value *ones = tt_hlo_broadcast_like(ctx->b, tt_hlo_const(ctx->b, wide, 1), updates),
               *counts, *quotient, *rest;
  counts =
      tt_low_with_const(ctx, TT_HLO_MAXIMUM, put_at(ctx, at, start, ones, TT_HLO_COMBINE_ADD), 1);
  counts = tt_hlo_convert(ctx->b, counts, dtype);
  quotient = tt_hlo_div(ctx->b, sums, counts);
  if (tt_dtype_is_float(dtype) || !tt_dtype_is_signed(dtype))
    return quotient;
  rest = tt_low_compare_const(ctx, TT_HLO_LT, tt_hlo_rem(ctx->b, sums, counts), 0);
  return tt_hlo_sub(ctx->b, quotient, tt_hlo_convert(ctx->b, rest, dtype));
}

static tt_hlo_value *reduce_at(tt_low_ctx *ctx, const places *at, tt_hlo_value *x,
                               tt_hlo_value *updates, reduce_mode mode, bool include_self) {
  static const tt_hlo_combine combines[] = {
      [REDUCE_NONE] = TT_HLO_COMBINE_SET, [REDUCE_SUM] = TT_HLO_COMBINE_ADD,
      [REDUCE_PROD] = TT_HLO_COMBINE_MUL, [REDUCE_MEAN] = TT_HLO_COMBINE_ADD,
      [REDUCE_MAX] = TT_HLO_COMBINE_MAX,  [REDUCE_MIN] = TT_HLO_COMBINE_MIN};
  tt_dtype dtype = mode == REDUCE_NONE ? tt_hlo_dtype(x) : tt_low_opmath(tt_hlo_dtype(x));
  x = tt_hlo_convert(ctx->b, x, dtype);
  updates = tt_hlo_convert(ctx->b, updates, dtype);
  if (!include_self) {
    tt_hlo_value *identity = identity_of(ctx, mode, dtype);
    x = put_at(ctx, at, x, tt_hlo_broadcast_like(ctx->b, identity, updates), TT_HLO_COMBINE_SET);
  }
  x = put_at(ctx, at, x, updates, combines[mode]);
  return mode == REDUCE_MEAN ? divide_by_counts(ctx, at, x, updates, include_self) : x;
}

static bool is_empty(tt_low_ctx *ctx, tt_hlo_value *x) {
  for (int i = 0; i < tt_hlo_rank(x); i++) {
    tt_hlo_dim dim = tt_hlo_dim_of(ctx->b, x, i);
    if (dim.value == NULL && dim.size == 0)
      return true;
  }
  return false;
}

/* ---- rows ---- */

TT_LOW_RULE(index_select) {
  tt_hlo_value *x = tt_low_rank1(ctx, args[0].tensor), *index = tt_low_rank1(ctx, args[2].tensor);
  int axis = tt_low_axis(tt_low_int(ctx, &args[1], 0), tt_hlo_rank(x));
  index = tt_low_index(ctx, index, tt_hlo_dim_of(ctx->b, x, axis), false, outside);
  x = tt_hlo_take(ctx->b, x, index, axis);
  tt_low_set(&results[0], tt_hlo_rank(args[0].tensor) == 0 ? tt_hlo_squeeze(ctx->b, x, 0) : x);
  return NULL;
}

/* Combines rows of args[3] into args[0] along args[1] at args[2]. */
static void put_index_rows(tt_low_ctx *ctx, const tt_low_value *args, tt_hlo_value *updates,
                           reduce_mode mode, bool include_self, tt_low_value *results) {
  tt_hlo_value *self = args[0].tensor, *x = tt_low_rank1(ctx, self),
               *index = tt_low_rank1(ctx, args[2].tensor);
  places at = {NULL, tt_low_axis(tt_low_int(ctx, &args[1], 0), tt_hlo_rank(x)), true};
  updates = tt_low_rank1(ctx, updates);
  tt_low_set(&results[0], self);
  if (is_empty(ctx, updates) || is_empty(ctx, x))
    return;
  at.index = tt_low_index(ctx, index, tt_hlo_dim_of(ctx->b, x, at.axis), false, outside);
  x = reduce_at(ctx, &at, x, updates, mode, include_self);
  tt_low_set(&results[0], tt_low_reshape_like(ctx, x, self));
}

TT_LOW_RULE(index_add) {
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *updates = tt_low_tensor(ctx, &args[3], dtype);
  if (!tt_low_scalar_is(&args[4], 1))
    updates = tt_low_with(ctx, dtype == TT_PRED ? TT_HLO_AND : TT_HLO_MULTIPLY, updates,
                          tt_low_number(ctx, &args[4], dtype, 1));
  put_index_rows(ctx, args, updates, REDUCE_SUM, true, results);
  return NULL;
}

TT_LOW_RULE(index_copy) {
  put_index_rows(ctx, args, args[3].tensor, REDUCE_NONE, true, results);
  return NULL;
}

TT_LOW_RULE(index_reduce) {
  put_index_rows(ctx, args, args[3].tensor, mode_of(&args[4]), tt_low_bool(ctx, &args[5], true),
                 results);
  return NULL;
}

/* Marks the rows in a vector first: that scatter is small, and the fill is then a select. */
TT_LOW_RULE(index_fill) {
  tt_hlo_value *self = args[0].tensor, *x = tt_low_rank1(ctx, self),
               *index = tt_low_rank1(ctx, args[2].tensor);
  int axis = tt_low_axis(tt_low_int(ctx, &args[1], 0), tt_hlo_rank(x));
  tt_hlo_dim size = tt_hlo_dim_of(ctx->b, x, axis), count = tt_hlo_dim_of(ctx->b, index, 0);
  tt_hlo_value *yes = tt_hlo_full(ctx->b, tt_hlo_const(ctx->b, TT_PRED, 1), &count, 1), *hit,
               *value;
  tt_low_set(&results[0], self);
  if (is_empty(ctx, x) || is_empty(ctx, index))
    return NULL;
  index = tt_low_index(ctx, index, size, true, outside);
  hit =
      tt_low_put_rows(ctx, tt_low_zeros(ctx, TT_PRED, &size, 1), index, yes, 0, TT_HLO_COMBINE_SET);
  value = tt_hlo_broadcast_like(ctx->b, tt_low_number(ctx, &args[3], tt_hlo_dtype(x), 0), x);
  x = tt_hlo_select(ctx->b, tt_low_along(ctx, hit, x, axis), value, x);
  tt_low_set(&results[0], tt_low_reshape_like(ctx, x, self));
  return NULL;
}

/* ---- element by element along an axis ---- */

TT_LOW_RULE(gather) {
  tt_hlo_value *x = tt_low_rank1(ctx, args[0].tensor), *index = tt_low_rank1(ctx, args[2].tensor);
  int axis = tt_low_axis(tt_low_int(ctx, &args[1], 0), tt_hlo_rank(x));
  if (is_empty(ctx, index)) { /* of any rank */
    tt_hlo_dim dims[TT_LOW_RANK_MAX];
    tt_low_dims(ctx, args[2].tensor, dims);
    tt_low_set(&results[0],
               tt_low_zeros(ctx, tt_hlo_dtype(x), dims, (size_t)tt_hlo_rank(args[2].tensor)));
    return NULL;
  }
  index = tt_low_index(ctx, index, tt_hlo_dim_of(ctx->b, x, axis), false,
                       "gather(): index out of bounds");
  x = tt_hlo_take_along(ctx->b, x, index, axis);
  tt_low_set(&results[0], tt_low_reshape_like(ctx, x, args[2].tensor));
  return NULL;
}

/* The part of `x` that an index of these dims uses. */
static tt_hlo_value *cut_to(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *like) {
  for (int i = 0; i < tt_hlo_rank(x) && i < tt_hlo_rank(like); i++)
    if (!tt_hlo_dim_same(tt_hlo_dim_of(ctx->b, x, i), tt_hlo_dim_of(ctx->b, like, i)))
      x = tt_hlo_slice_axis(ctx->b, x, i, 0, tt_low_size(ctx, like, i), 1);
  return x;
}

static tt_error *scatter_into(tt_low_ctx *ctx, const tt_low_value *args, reduce_mode mode,
                              bool include_self, tt_low_value *results) {
  tt_hlo_value *self = args[0].tensor, *x = tt_low_rank1(ctx, self),
               *index = tt_low_rank1(ctx, args[2].tensor);
  tt_hlo_value *updates;
  places at = {NULL, tt_low_axis(tt_low_int(ctx, &args[1], 0), tt_hlo_rank(x)), false};
  tt_low_set(&results[0], self);
  if (is_empty(ctx, index))
    return NULL;
  at.index = tt_low_index(ctx, index, tt_hlo_dim_of(ctx->b, x, at.axis), false,
                          "scatter(): index out of bounds");
  if (tt_low_is_tensor(&args[3]) && !args[3].wrapped)
    updates = cut_to(ctx, tt_low_rank1(ctx, args[3].tensor), index);
  else
    updates =
        tt_hlo_broadcast_like(ctx->b, tt_low_number(ctx, &args[3], tt_hlo_dtype(x), 0), index);
  x = reduce_at(ctx, &at, x, updates, mode, include_self);
  tt_low_set(&results[0], tt_low_reshape_like(ctx, x, self));
  return NULL;
}

/* data 1: the fifth argument says how updates meet what is there. */
TT_LOW_RULE(scatter) {
  return scatter_into(ctx, args, ctx->rule->data == 1 ? mode_of(&args[4]) : REDUCE_NONE, true,
                      results);
}

TT_LOW_RULE(scatter_add) { return scatter_into(ctx, args, REDUCE_SUM, true, results); }

TT_LOW_RULE(scatter_reduce) {
  return scatter_into(ctx, args, mode_of(&args[4]), tt_low_bool(ctx, &args[5], true), results);
}

/* ---- flat positions ---- */

TT_LOW_RULE(take) {
  tt_hlo_value *x = tt_low_flat(ctx, args[0].tensor);
  tt_hlo_value *index = tt_low_index(ctx, args[1].tensor, tt_hlo_dim_of(ctx->b, x, 0), true,
                                     "take(): index out of range");
  tt_low_set(&results[0], tt_hlo_take(ctx->b, x, index, 0));
  return NULL;
}

TT_LOW_RULE(put) {
  tt_hlo_value *self = args[0].tensor, *x = tt_low_flat(ctx, self),
               *index = tt_low_flat(ctx, args[1].tensor);
  bool accumulate = tt_low_bool(ctx, &args[3], false);
  places at = {NULL, 0, true};
  tt_low_set(&results[0], self);
  if (is_empty(ctx, index))
    return NULL;
  at.index =
      tt_low_index(ctx, index, tt_hlo_dim_of(ctx->b, x, 0), true, "put_(): index out of range");
  x = reduce_at(ctx, &at, x, tt_low_flat(ctx, args[2].tensor),
                accumulate ? REDUCE_SUM : REDUCE_NONE, true);
  tt_low_set(&results[0], tt_low_reshape_like(ctx, x, self));
  return NULL;
}

const tt_low_rule tt_low_rules_indexing[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/indexing.def"
#undef X
};
const size_t tt_low_rules_indexing_count = TT_COUNT(tt_low_rules_indexing);
