/* helpers_reduction.h: what norms, reductions, losses, matmul and scans share.
 *
 * All take and give values of the program being built; mistakes are sticky, as in hlo/build.h. */
#ifndef TT_LOWER_RULES_HELPERS_REDUCTION_H
#define TT_LOWER_RULES_HELPERS_REDUCTION_H

#include "lower/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- axes, each list in the arena ---- */

const int64_t *tt_low_axes_but(tt_low_ctx *ctx, int rank, int axis,
                               size_t *out_count); /* [0, rank) without `axis` */
const int64_t *tt_low_axes_from(tt_low_ctx *ctx, int first, int rank,
                                size_t *out_count); /* [first, rank) */
/* As tt_low_axes, but a rank-0 tensor has none, whatever the argument says. */
size_t tt_low_axes_safe(tt_low_ctx *ctx, const tt_low_value *arg, int rank,
                        const int64_t **out_axes);

/* ---- folds: reductions that also take an empty list of axes ---- */

/* Reduces with ADD, MULTIPLY, MAXIMUM, MINIMUM, AND or OR; no axes: `x` itself. keep: reduced axes
 * stay as size 1. */
tt_hlo_value *tt_low_fold(tt_low_ctx *ctx, tt_hlo_code op, tt_hlo_value *x, const int64_t *axes,
                          size_t count, bool keep);
/* Over every axis: a scalar. */
tt_hlo_value *tt_low_fold_all(tt_low_ctx *ctx, tt_hlo_code op, tt_hlo_value *x);
/* How many elements meet in one result, as a scalar of `dtype`. */
tt_hlo_value *tt_low_fold_size(tt_low_ctx *ctx, tt_hlo_value *x, const int64_t *axes, size_t count,
                               tt_dtype dtype);
tt_hlo_value *tt_low_fold_mean(tt_low_ctx *ctx, tt_hlo_value *x, const int64_t *axes, size_t count,
                               bool keep);
/* The largest (`largest`) or smallest along `axis` and the first index where it stands, s32; NaN is
 * larger and smaller than all. Both keep the axis as size 1. For rank 0 the index is 0. */
void tt_low_fold_pick(tt_low_ctx *ctx, tt_hlo_value *x, int axis, bool largest,
                      tt_hlo_value **out_value, tt_hlo_value **out_index);

/* ---- element by element ---- */

/* x op y with `y` broadcast to the dims of `x`. */
tt_hlo_value *tt_low_with(tt_low_ctx *ctx, tt_hlo_code op, tt_hlo_value *x, tt_hlo_value *y);
tt_hlo_value *tt_low_with_const(tt_low_ctx *ctx, tt_hlo_code op, tt_hlo_value *x, double y);
/* x compared with the number, pred. */
tt_hlo_value *tt_low_compare_const(tt_low_ctx *ctx, tt_hlo_direction direction, tt_hlo_value *x,
                                   double y);
/* `yes` where pred, else the number. */
tt_hlo_value *tt_low_select_const(tt_low_ctx *ctx, tt_hlo_value *pred, tt_hlo_value *yes,
                                  double no);
/* A vector laid along `axis` of `like`'s dims. */
tt_hlo_value *tt_low_along(tt_low_ctx *ctx, tt_hlo_value *vector, tt_hlo_value *like, int axis);
tt_hlo_value *tt_low_is_nan(tt_low_ctx *ctx, tt_hlo_value *x); /* pred; false for integers */
/* |x|^2, real for complex. */
tt_hlo_value *tt_low_square(tt_low_ctx *ctx, tt_hlo_value *x);
/* The iota of `axis` with the dims of `x`, s32. */
tt_hlo_value *tt_low_iota_like(tt_low_ctx *ctx, tt_hlo_value *x, int axis);

/* ---- sorting ---- */

/* Sorts along `axis`, stably, NaN last whichever the direction of the rest: `values` and the s32
 * index each had. */
void tt_low_sort_indexed(tt_low_ctx *ctx, tt_hlo_value *x, int axis, tt_hlo_value **out_values,
                         tt_hlo_value **out_indices);

/* ---- results ---- */

/* Result i: `value` in the wanted dims, which hold as many elements; wanted dims without elements
 * give an empty one (statistics that a kernel leaves unfilled). */
void tt_low_set_fit(tt_low_ctx *ctx, tt_low_value *results, size_t i, tt_hlo_value *value);
/* Item `i` of a bool[] argument. */
bool tt_low_mask(tt_low_ctx *ctx, const tt_low_value *arg, size_t i);

#ifdef __cplusplus
}
#endif

#endif /* TT_LOWER_RULES_HELPERS_REDUCTION_H */
