/* Triangular and Cholesky solves, cross products, the matrix exponential; and the matrix helpers of
 * linalg_internal.h. */
#include <math.h>

#include "lower/rules/linalg_internal.h"
#include "lower/rules/rules.h"

/* ---- helpers ---- */

tt_hlo_value *tt_low_mat_flat(tt_low_ctx *ctx, tt_hlo_value *x) {
  int rank = tt_hlo_rank(x);
  if (rank == 2)
    return tt_hlo_unsqueeze(ctx->b, x, 0);
  return rank == 3 ? x : tt_hlo_flatten(ctx->b, x, 0, rank - 3);
}

int64_t tt_low_mat_rows(const tt_hlo_value *x) { return x->type.dims[x->type.rank - 2]; }
int64_t tt_low_mat_columns(const tt_hlo_value *x) { return x->type.dims[x->type.rank - 1]; }

bool tt_low_mat_empty(const tt_hlo_value *x) {
  for (int i = 0; i < x->type.rank; i++)
    if (x->type.dims[i] == 0)
      return true;
  return false;
}

static tt_hlo_value *conj_of(tt_low_ctx *ctx, tt_hlo_value *x) {
  if (!tt_dtype_is_complex(tt_hlo_dtype(x)))
    return x;
  return tt_hlo_complex(ctx->b, tt_hlo_real(ctx->b, x), tt_hlo_neg(ctx->b, tt_hlo_imag(ctx->b, x)));
}

tt_hlo_value *tt_low_mat_transpose(tt_low_ctx *ctx, tt_hlo_value *x, bool conjugate) {
  int rank = tt_hlo_rank(x);
  x = tt_hlo_swap_axes(ctx->b, x, rank - 2, rank - 1);
  return conjugate ? conj_of(ctx, x) : x;
}

tt_hlo_value *tt_low_mat_row(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_low_iota_like(ctx, x, tt_hlo_rank(x) - 2);
}
tt_hlo_value *tt_low_mat_column(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_low_iota_like(ctx, x, tt_hlo_rank(x) - 1);
}

tt_hlo_value *tt_low_mat_lower(tt_low_ctx *ctx, tt_hlo_value *x, int64_t k) {
  tt_hlo_value *below = tt_hlo_sub(ctx->b, tt_low_mat_row(ctx, x), tt_low_mat_column(ctx, x));
  return tt_low_select_const(ctx, tt_low_compare_const(ctx, TT_HLO_GE, below, (double)k), x, 0);
}

tt_hlo_value *tt_low_mat_upper(tt_low_ctx *ctx, tt_hlo_value *x, int64_t k) {
  tt_hlo_value *above = tt_hlo_sub(ctx->b, tt_low_mat_column(ctx, x), tt_low_mat_row(ctx, x));
  return tt_low_select_const(ctx, tt_low_compare_const(ctx, TT_HLO_GE, above, (double)k), x, 0);
}

static tt_hlo_value *on_diagonal(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_compare(ctx->b, TT_HLO_EQ, tt_low_mat_row(ctx, x), tt_low_mat_column(ctx, x));
}

tt_hlo_value *tt_low_mat_eye_like(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_convert(ctx->b, on_diagonal(ctx, x), tt_hlo_dtype(x));
}

tt_hlo_value *tt_low_mat_diagonal(tt_low_ctx *ctx, tt_hlo_value *x) {
  const int64_t axes[1] = {tt_hlo_rank(x) - 2};
  return tt_hlo_reduce(ctx->b, TT_HLO_ADD, tt_low_select_const(ctx, on_diagonal(ctx, x), x, 0),
                       axes, 1);
}

tt_hlo_value *tt_low_mat_along_columns(tt_low_ctx *ctx, tt_hlo_value *v, tt_hlo_value *like) {
  return tt_hlo_broadcast_like(ctx->b, tt_hlo_unsqueeze(ctx->b, v, tt_hlo_rank(v) - 1), like);
}

tt_hlo_value *tt_low_mat_batch_as(tt_low_ctx *ctx, tt_hlo_value *x, const tt_hlo_dim *batch,
                                  size_t batch_rank) {
  tt_hlo_dim *dims = tt_hlo_alloc(ctx->b, batch_rank + 2, sizeof *dims);
  if (dims == NULL)
    return x;
  for (size_t i = 0; i < batch_rank; i++)
    dims[i] = batch[i];
  dims[batch_rank] = tt_hlo_dim_of(ctx->b, x, tt_hlo_rank(x) - 2);
  dims[batch_rank + 1] = tt_hlo_dim_of(ctx->b, x, tt_hlo_rank(x) - 1);
  return tt_hlo_broadcast_to(ctx->b, x, dims, batch_rank + 2);
}

void tt_low_mat_set_empty(tt_low_ctx *ctx, tt_low_value *results, size_t i, tt_dtype dtype) {
  size_t rank = 0;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, i, &rank);
  tt_low_set(&results[i], tt_hlo_full(ctx->b, tt_hlo_const(ctx->b, dtype, 0), dims, rank));
}

void tt_low_mat_set_trivial(tt_low_ctx *ctx, tt_low_value *results, size_t i, tt_dtype dtype) {
  tt_low_mat_set_empty(ctx, results, i, dtype);
  tt_hlo_value *zeros = results[i].tensor;
  if (tt_hlo_rank(zeros) >= 2 && tt_low_mat_rows(zeros) == tt_low_mat_columns(zeros) &&
      !tt_low_mat_empty(zeros))
    results[i].tensor = tt_low_mat_eye_like(ctx, zeros);
}

/* ---- triangular solves ---- */

static tt_hlo_value *solve_triangle(tt_low_ctx *ctx, tt_hlo_value *a, tt_hlo_value *y, bool left,
                                    bool upper, bool unit, tt_hlo_transpose_kind transpose) {
  if (tt_low_mat_empty(a) || tt_low_mat_empty(y))
    return y;
  return tt_hlo_triangular_solve(ctx->b, a, y, left, !upper, unit, transpose);
}

/* (A, B, upper, left, unitriangular) */
static tt_error *lower_solve_triangular(tt_low_ctx *ctx, const tt_low_value *args,
                                        size_t args_count, tt_low_value *results) {
  (void)args_count;
  size_t rank;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank);
  tt_hlo_value *a = tt_low_mat_batch_as(ctx, args[0].tensor, dims, rank - 2);
  tt_hlo_value *y = tt_low_mat_batch_as(ctx, args[1].tensor, dims, rank - 2);
  bool upper = tt_low_bool(ctx, &args[2], false), left = tt_low_bool(ctx, &args[3], true);
  tt_low_set(&results[0], solve_triangle(ctx, a, y, left, upper, tt_low_bool(ctx, &args[4], false),
                                         TT_HLO_NO_TRANSPOSE));
  return NULL;
}

/* (B, A, upper, transpose, unitriangular) -> (X, A) */
static tt_error *lower_triangular_solve(tt_low_ctx *ctx, const tt_low_value *args,
                                        size_t args_count, tt_low_value *results) {
  (void)args_count;
  size_t rank;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank);
  tt_hlo_value *y = tt_low_mat_batch_as(ctx, args[0].tensor, dims, rank - 2);
  tt_hlo_value *a = tt_low_mat_batch_as(ctx, args[1].tensor, dims, rank - 2);
  bool upper = tt_low_bool(ctx, &args[2], true), transpose = tt_low_bool(ctx, &args[3], false);
  tt_low_set(&results[0], solve_triangle(ctx, a, y, true, upper, tt_low_bool(ctx, &args[4], false),
                                         transpose ? TT_HLO_TRANSPOSE_PLAIN : TT_HLO_NO_TRANSPOSE));
  tt_low_set(&results[1], a);
  return NULL;
}

/* ---- Cholesky ---- */

/* The lower factor of the matrix whose lower (or upper) triangle `a` holds; NaN where it is not
 * positive definite. */
static tt_hlo_value *cholesky(tt_low_ctx *ctx, tt_hlo_value *a, bool upper) {
  if (tt_low_mat_empty(a))
    return a;
  if (upper)
    a = tt_low_mat_transpose(ctx, a, true);
  return tt_low_mat_lower(ctx, tt_hlo_cholesky(ctx->b, a, true), 0);
}

/* (self, upper, check_errors) -> (L, info): info is the first column that failed, from 1; 0 for
 * none */
static tt_error *lower_cholesky_ex(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                   tt_low_value *results) {
  (void)args_count;
  bool upper = tt_low_bool(ctx, &args[1], false);
  tt_hlo_value *l = cholesky(ctx, args[0].tensor, upper);
  tt_low_set(&results[0], upper ? tt_low_mat_transpose(ctx, l, true) : l);
  if (tt_low_mat_empty(l)) {
    tt_low_mat_set_empty(ctx, results, 1, TT_S32);
    return NULL;
  }
  tt_hlo_value *diagonal = tt_low_mat_diagonal(ctx, l);
  const int64_t axes[1] = {tt_hlo_rank(diagonal) - 1};
  tt_hlo_value *order =
      tt_low_with_const(ctx, TT_HLO_ADD, tt_low_iota_like(ctx, diagonal, (int)axes[0]), 1);
  tt_hlo_value *first = tt_low_select_const(ctx, tt_low_is_nan(ctx, diagonal), order, INT32_MAX);
  first = tt_hlo_reduce(ctx->b, TT_HLO_MINIMUM, first, axes, 1);
  tt_hlo_value *fine = tt_low_compare_const(ctx, TT_HLO_NE, first, INT32_MAX);
  tt_low_set(&results[1], tt_low_select_const(ctx, fine, first, 0));
  return NULL;
}

static tt_error *lower_cholesky(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                tt_low_value *results) {
  (void)args_count;
  bool upper = tt_low_bool(ctx, &args[1], false);
  tt_hlo_value *l = cholesky(ctx, args[0].tensor, upper);
  tt_low_set(&results[0], upper ? tt_low_mat_transpose(ctx, l, true) : l);
  return NULL;
}

/* x of L L^H x = y, or U^H U x = y */
static tt_hlo_value *cholesky_solve(tt_low_ctx *ctx, tt_hlo_value *factor, tt_hlo_value *y,
                                    bool upper) {
  tt_hlo_transpose_kind first = upper ? TT_HLO_ADJOINT : TT_HLO_NO_TRANSPOSE;
  tt_hlo_transpose_kind second = upper ? TT_HLO_NO_TRANSPOSE : TT_HLO_ADJOINT;
  y = solve_triangle(ctx, factor, y, true, upper, false, first);
  return solve_triangle(ctx, factor, y, true, upper, false, second);
}

/* (B, L, upper) */
static tt_error *lower_cholesky_solve(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                      tt_low_value *results) {
  (void)args_count;
  tt_low_set(&results[0], cholesky_solve(ctx, args[1].tensor, args[0].tensor,
                                         tt_low_bool(ctx, &args[2], false)));
  return NULL;
}

/* (L, upper) */
static tt_error *lower_cholesky_inverse(tt_low_ctx *ctx, const tt_low_value *args,
                                        size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *eye = tt_low_mat_eye_like(ctx, args[0].tensor);
  tt_low_set(&results[0],
             cholesky_solve(ctx, args[0].tensor, eye, tt_low_bool(ctx, &args[1], false)));
  return NULL;
}

/* ---- cross product ---- */

/* x moved up by `by` along an axis of 3, round */
static tt_hlo_value *roll3(tt_low_ctx *ctx, tt_hlo_value *x, int axis, int by) {
  tt_hlo_value *parts[2] = {tt_hlo_slice_axis(ctx->b, x, axis, by, 3, 1),
                            tt_hlo_slice_axis(ctx->b, x, axis, 0, by, 1)};
  return tt_hlo_concat(ctx->b, parts, 2, axis);
}

/* (self, other, dim): a[1] b[2] - a[2] b[1], and round */
static tt_error *lower_cross(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                             tt_low_value *results) {
  (void)args_count;
  tt_dtype dtype = tt_low_opmath(tt_low_promote(ctx, args, 2));
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], dtype), *y = tt_low_tensor(ctx, &args[1], dtype);
  tt_low_broadcast2(ctx, &x, &y);
  int axis = tt_low_axis(tt_low_int(ctx, &args[2], -1), tt_hlo_rank(x));
  tt_hlo_value *plus = tt_hlo_mul(ctx->b, roll3(ctx, x, axis, 1), roll3(ctx, y, axis, 2));
  tt_hlo_value *minus = tt_hlo_mul(ctx->b, roll3(ctx, x, axis, 2), roll3(ctx, y, axis, 1));
  tt_low_set(&results[0], tt_hlo_sub(ctx->b, plus, minus));
  return NULL;
}

/* ---- matrix exponential ---- */

enum { EXP_TERMS = 18 };

/* I + A (I + A/2 (I + A/3 ...)) with |A| <= 1: the remainder is below 1 / 19! = 8e-18 */
static tt_hlo_value *exp_series(tt_low_ctx *ctx, tt_hlo_value *a) {
  tt_hlo_value *eye = tt_low_mat_eye_like(ctx, a), *sum = eye;
  for (int k = EXP_TERMS; k > 0; k--) {
    tt_hlo_value *term =
        tt_low_with_const(ctx, TT_HLO_MULTIPLY, tt_hlo_matmul(ctx->b, a, sum), 1.0 / k);
    sum = tt_hlo_add(ctx->b, eye, term);
  }
  return sum;
}

/* Squares each matrix of the batch `times` [B, 1, 1] times. */
static tt_hlo_value *square_repeatedly(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *times) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *inits[3] = {tt_hlo_const_int(b, TT_S32, 0), x, times}, *out[3];
  const tt_hlo_type types[3] = {inits[0]->type, x->type, times->type};
  tt_hlo_value *most = tt_low_fold_all(ctx, TT_HLO_MAXIMUM, times);
  tt_hlo_region *cond = tt_hlo_region_open(b, types, 3);
  tt_hlo_value *more = tt_hlo_compare(b, TT_HLO_LT, tt_hlo_region_arg(b, cond, 0), most);
  tt_hlo_region_close(b, &more, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, types, 3);
  tt_hlo_value *k = tt_hlo_region_arg(b, body, 0), *e = tt_hlo_region_arg(b, body, 1);
  tt_hlo_value *left = tt_hlo_region_arg(b, body, 2);
  tt_hlo_value *due = tt_hlo_compare(b, TT_HLO_LT, tt_hlo_broadcast_like(b, k, left), left);
  tt_hlo_value *squared =
      tt_hlo_select(b, tt_hlo_broadcast_like(b, due, e), tt_hlo_matmul(b, e, e), e);
  tt_hlo_value *next[3] = {tt_hlo_add(b, k, tt_hlo_const_int(b, TT_S32, 1)), squared, left};
  tt_hlo_region_close(b, next, 3);
  tt_hlo_while(b, inits, 3, cond, body, out);
  return out[1];
}

/* exp(A) = exp(A / 2^s)^(2^s), s the least with |A|_1 / 2^s <= 1 */
static tt_error *lower_matrix_exp(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                  tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  const int64_t rows[1] = {1}, columns[1] = {2};
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *a = tt_low_mat_flat(ctx, tt_low_tensor(ctx, &args[0], dtype));
  if (tt_low_mat_empty(a)) {
    tt_low_set(&results[0], args[0].tensor);
    return NULL;
  }
  tt_hlo_value *norm = tt_hlo_reduce_keep(b, TT_HLO_ADD, tt_hlo_abs(b, a), rows, 1);
  norm = tt_hlo_reduce_keep(b, TT_HLO_MAXIMUM, norm, columns, 1);
  tt_hlo_value *power =
      tt_hlo_op1(b, TT_HLO_CEIL,
                 tt_low_with_const(ctx, TT_HLO_MULTIPLY, tt_hlo_log(b, norm), 1.4426950408889634));
  power = tt_hlo_clamp(b, tt_hlo_const_like(b, power, 0), power, tt_hlo_const_like(b, power, 1000));
  tt_hlo_value *finite = tt_hlo_is_finite(b, norm);
  power = tt_low_select_const(ctx, finite, power, 0);
  tt_hlo_value *scale =
      tt_hlo_exp(b, tt_low_with_const(ctx, TT_HLO_MULTIPLY, power, -0.69314718055994531));
  a = tt_low_with(ctx, TT_HLO_MULTIPLY, a, tt_hlo_convert(b, scale, dtype));
  tt_low_set_fit(ctx, results, 0,
                 square_repeatedly(ctx, exp_series(ctx, a), tt_hlo_convert(b, power, TT_S32)));
  return NULL;
}

const tt_low_rule tt_low_rules_linalg[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/linalg.def"
#undef X
};
const size_t tt_low_rules_linalg_count = TT_COUNT(tt_low_rules_linalg);
