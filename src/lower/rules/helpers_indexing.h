/* helpers_indexing.h: what rules about positions share: indices, masks, counts, sorted searches,
 * slices along an axis.
 *
 * Positions inside a program are s32 (an axis of more than 2^31 - 1 elements is refused by whoever
 * calls these). */
#ifndef TT_LOWER_RULES_HELPERS_INDEXING_H
#define TT_LOWER_RULES_HELPERS_INDEXING_H

#include "lower/rule.h"
#include "lower/rules/helpers_reduction.h"

#define TT_LOW_UNUSED __attribute__((unused))
/* The head of one rule function; schemas say how many arguments there are, so few rules look at
 * args_count. */
#define TT_LOW_RULE(name)                                                                \
  static tt_error *lower_##name(tt_low_ctx *ctx, TT_LOW_UNUSED const tt_low_value *args, \
                                TT_LOW_UNUSED size_t args_count, tt_low_value *results)

/* PyTorch's own limit is 64 dims; rules that add a few still fit into arrays of this many. */
enum { TT_LOW_RANK_MAX = 80 };

/* ---- dims ---- */

/* All dims of `v` into `dims`, of TT_LOW_RANK_MAX. */
void tt_low_dims(tt_low_ctx *ctx, tt_hlo_value *v, tt_hlo_dim *dims);
/* Number of elements; fails for an unknown dim. */
int64_t tt_low_numel(tt_low_ctx *ctx, tt_hlo_value *v);
/* Dim `axis` as a number; fails, naming the overload, when only the run knows it. */
int64_t tt_low_size(tt_low_ctx *ctx, tt_hlo_value *v, int axis);
/* `x` viewed with rank 1 when it has rank 0. */
tt_hlo_value *tt_low_rank1(tt_low_ctx *ctx, tt_hlo_value *x);
tt_hlo_value *tt_low_flat(tt_low_ctx *ctx, tt_hlo_value *x);
/* `x` reshaped to the dims of `like`. */
tt_hlo_value *tt_low_reshape_like(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *like);
tt_hlo_value *tt_low_zeros(tt_low_ctx *ctx, tt_dtype dtype, const tt_hlo_dim *dims, size_t rank);

/* ---- indices ---- */

/* An index tensor as s32; with `wrap`, -1 means the last of `size`. Debug: raises `message` where
 * it is outside. */
tt_hlo_value *tt_low_index(tt_low_ctx *ctx, tt_hlo_value *index, tt_hlo_dim size, bool wrap,
                           const char *message);

/* ---- slices and pads along one axis, other axes whole ---- */

tt_hlo_value *tt_low_reverse(tt_low_ctx *ctx, tt_hlo_value *x, int axis);
/* Pads one axis by a scalar; negative numbers cut. */
tt_hlo_value *tt_low_pad_axis(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *scalar, int axis,
                              int64_t low, int64_t high, int64_t interior);

/* ---- masks ---- */

/* How many of the elements up to and with each one are true: pred [n] to s32 [n], n a number. */
tt_hlo_value *tt_low_prefix_counts(tt_low_ctx *ctx, tt_hlo_value *mask);
/* Inclusive sums of s32 [n]. */
tt_hlo_value *tt_low_prefix_sums(tt_low_ctx *ctx, tt_hlo_value *x);
/* The positions of the true elements of pred [n], in order, as s32 [capacity]; the rest holds
 * `fill`. out_count: scalar s32, how many are true, or NULL. */
tt_hlo_value *tt_low_true_positions(tt_low_ctx *ctx, tt_hlo_value *mask, int64_t capacity,
                                    int64_t fill, tt_hlo_value **out_count);

/* ---- rows ---- */

/* x with updates[i] combined into row index[i] of `axis`; index s32 [n], updates as x with n at
 * `axis`. Rows outside are skipped. pred adds as or, multiplies as and. */
tt_hlo_value *tt_low_put_rows(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *index,
                              tt_hlo_value *updates, int axis, tt_hlo_combine combine);
/* `combine` for elements of `dtype`: pred has no sums or extremes of its own. */
tt_hlo_combine tt_low_combine_for(tt_hlo_combine combine, tt_dtype dtype);

/* ---- sorted sequences ---- */

/* For each of `values` the number of elements of the sorted sequence that stand before its place:
 * those less than it, or not greater with `right`. sequence: [n] for any values, or [..., n] with
 * values [..., m]. s32. */
tt_hlo_value *tt_low_search(tt_low_ctx *ctx, tt_hlo_value *sequence, tt_hlo_value *values,
                            bool right);
/* Sorts along `axis`, NaN as the greatest; out_order: s32, where each element was. Either may be
 * NULL. */
void tt_low_sort(tt_low_ctx *ctx, tt_hlo_value *x, int axis, bool descending,
                 tt_hlo_value **out_values, tt_hlo_value **out_order);

#endif /* TT_LOWER_RULES_HELPERS_INDEXING_H */
