/* linalg_internal.h: matrices in batches, shared by linalg.c, linalg_lu.c and linalg_factor.c
 * alone. */
#ifndef TT_LOWER_RULES_LINALG_INTERNAL_H
#define TT_LOWER_RULES_LINALG_INTERNAL_H

#include "lower/rules/helpers_reduction.h"

/* [..., m, n] as [B, m, n] */
tt_hlo_value *tt_low_mat_flat(tt_low_ctx *ctx, tt_hlo_value *x);
/* x.shape[-2] and x.shape[-1] */
int64_t tt_low_mat_rows(const tt_hlo_value *x);
int64_t tt_low_mat_columns(const tt_hlo_value *x);
bool tt_low_mat_empty(const tt_hlo_value *x); /* some dim is 0 */
/* Conjugate transpose of the last two axes; `conjugate` false: the plain one. */
tt_hlo_value *tt_low_mat_transpose(tt_low_ctx *ctx, tt_hlo_value *x, bool conjugate);
/* Row and column number of each element of the last two axes, s32. */
tt_hlo_value *tt_low_mat_row(tt_low_ctx *ctx, tt_hlo_value *x);
tt_hlo_value *tt_low_mat_column(tt_low_ctx *ctx, tt_hlo_value *x);
/* Zero where row - column < k (lower) or column - row < k (upper). */
tt_hlo_value *tt_low_mat_lower(tt_low_ctx *ctx, tt_hlo_value *x, int64_t k);
tt_hlo_value *tt_low_mat_upper(tt_low_ctx *ctx, tt_hlo_value *x, int64_t k);
/* The identity in the dims and dtype of x. */
tt_hlo_value *tt_low_mat_eye_like(tt_low_ctx *ctx, tt_hlo_value *x);
/* [..., n, n] -> [..., n] */
tt_hlo_value *tt_low_mat_diagonal(tt_low_ctx *ctx, tt_hlo_value *x);
/* [..., n] laid along the columns: y[..., i, j] = v[..., j], for `like` [..., m, n] */
tt_hlo_value *tt_low_mat_along_columns(tt_low_ctx *ctx, tt_hlo_value *v, tt_hlo_value *like);
/* x [..., m, n] with its batch dims broadcast to `batch`. */
tt_hlo_value *tt_low_mat_batch_as(tt_low_ctx *ctx, tt_hlo_value *x, const tt_hlo_dim *batch,
                                  size_t batch_rank);
/* Result i as the wanted dims have it without elements to compute it of: an identity where they are
 * a square matrix, else zeros. */
void tt_low_mat_set_trivial(tt_low_ctx *ctx, tt_low_value *results, size_t i, tt_dtype dtype);
/* Result i filled with zeros in the wanted dims. */
void tt_low_mat_set_empty(tt_low_ctx *ctx, tt_low_value *results, size_t i, tt_dtype dtype);

#endif /* TT_LOWER_RULES_LINALG_INTERNAL_H */
