/* LU with partial pivoting and what follows from it: solve, inverse, determinant.
 *
 * The factorization is a loop over columns; each step is elementwise over the whole matrix (masks
 * in place of ranges), so that it vectorizes and batches. */
#include "lower/rules/linalg_internal.h"
#include "lower/rules/rules.h"

typedef struct lu {
  tt_hlo_value *packed; /* [B, m, n]: L below the diagonal (ones implied), U on and above */
  tt_hlo_value *pivots; /* s32 [B, k], k = min(m, n), from 1: the row that row i was swapped with */
  tt_hlo_value *perm;   /* s32 [B, m]: row i of L U is row perm[i] of A */
} lu;

static tt_hlo_value *s32(tt_low_ctx *ctx, int64_t value) {
  return tt_hlo_const_int(ctx->b, TT_S32, value);
}

/* [B, ...] -> [B, 1, ...]: the slice at `at` (s32 scalar) along axis */
static tt_hlo_value *slice_at(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *at, int axis) {
  tt_hlo_value *starts[3] = {s32(ctx, 0), s32(ctx, 0), s32(ctx, 0)};
  int64_t sizes[3];
  for (int i = 0; i < tt_hlo_rank(x); i++)
    sizes[i] = i == axis ? 1 : x->type.dims[i];
  starts[axis] = at;
  return tt_hlo_dynamic_slice(ctx->b, x, starts, sizes);
}

/* Swaps entries (or rows) k and p of axis 1; p [B, 1] or [B, 1, 1] */
static tt_hlo_value *swap(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *k, tt_hlo_value *p) {
  tt_hlo_build *b = ctx->b;
  const int64_t axes[1] = {1};
  tt_hlo_value *row = tt_low_iota_like(ctx, x, 1);
  tt_hlo_value *is_k = tt_hlo_compare(b, TT_HLO_EQ, row, tt_hlo_broadcast_like(b, k, row));
  tt_hlo_value *is_p = tt_hlo_compare(b, TT_HLO_EQ, row, tt_hlo_broadcast_like(b, p, row));
  tt_hlo_value *at_k = slice_at(ctx, x, k, 1);
  tt_hlo_value *at_p =
      tt_hlo_reduce_keep(b, TT_HLO_ADD, tt_low_select_const(ctx, is_p, x, 0), axes, 1);
  x = tt_hlo_select(b, is_p, tt_hlo_broadcast_like(b, at_k, x), x);
  return tt_hlo_select(b, is_k, tt_hlo_broadcast_like(b, at_p, x), x);
}

/* What the pivot is the largest of: |x|, for complex |re| + |im| as in LAPACK's izamax. */
static tt_hlo_value *pivot_size(tt_low_ctx *ctx, tt_hlo_value *x) {
  tt_hlo_build *b = ctx->b;
  if (!tt_dtype_is_complex(tt_hlo_dtype(x)))
    return tt_hlo_abs(b, x);
  return tt_hlo_add(b, tt_hlo_abs(b, tt_hlo_real(b, x)), tt_hlo_abs(b, tt_hlo_imag(b, x)));
}

/* One column: a, pivots, perm in, the same after step k out. */
static void lu_step(tt_low_ctx *ctx, tt_hlo_value *k, tt_hlo_value *const *in, bool pivot,
                    tt_hlo_value **out) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *a = in[0], *value;
  const tt_hlo_dim one_each[2] = {tt_hlo_dim_of(b, a, 0), tt_hlo_dim_number(1)};
  tt_hlo_value *p = tt_hlo_full(b, k, one_each, 2);
  if (pivot) {
    tt_hlo_value *size = pivot_size(ctx, tt_hlo_squeeze(b, slice_at(ctx, a, k, 2), 2));
    tt_hlo_value *row = tt_low_iota_like(ctx, size, 1);
    tt_hlo_value *open = tt_hlo_compare(b, TT_HLO_GE, row, tt_hlo_broadcast_like(b, k, row));
    tt_low_fold_pick(ctx, tt_low_select_const(ctx, open, size, -1), 1, true, &value, &p);
  }
  a = swap(ctx, a, k, tt_hlo_unsqueeze(b, p, 2));
  tt_hlo_value *row = tt_low_iota_like(ctx, a, 1), *column = tt_low_iota_like(ctx, a, 2);
  tt_hlo_value *k_all = tt_hlo_broadcast_like(b, k, row);
  tt_hlo_value *under = tt_hlo_compare(b, TT_HLO_GT, row, k_all);
  tt_hlo_value *top = slice_at(ctx, a, k, 1), *head = slice_at(ctx, top, k, 2);
  /* A zero pivot has zeros below it: dividing by 1 keeps them. */
  tt_hlo_value *zero = tt_hlo_compare(b, TT_HLO_EQ, head, tt_hlo_const_like(b, head, 0));
  head = tt_hlo_select(b, zero, tt_hlo_const_like(b, head, 1), head);
  tt_hlo_value *factor = tt_low_with(ctx, TT_HLO_DIVIDE, slice_at(ctx, a, k, 2), head);
  tt_hlo_value *factors = tt_low_select_const(ctx, under, tt_hlo_broadcast_like(b, factor, a), 0);
  tt_hlo_value *right = tt_hlo_compare(b, TT_HLO_GT, column, k_all);
  tt_hlo_value *tops = tt_low_select_const(ctx, right, tt_hlo_broadcast_like(b, top, a), 0);
  a = tt_hlo_select(b, tt_hlo_and(b, under, right), tt_hlo_sub(b, a, tt_hlo_mul(b, factors, tops)),
                    a);
  tt_hlo_value *here = tt_hlo_compare(b, TT_HLO_EQ, column, k_all);
  out[0] = tt_hlo_select(b, tt_hlo_and(b, under, here), factors, a);
  tt_hlo_value *starts[2] = {s32(ctx, 0), k};
  out[1] = tt_hlo_dynamic_update_slice(b, in[1], tt_low_with_const(ctx, TT_HLO_ADD, p, 1), starts);
  out[2] = swap(ctx, in[2], k, p);
}

/* a: [B, m, n], not empty */
static lu lu_of(tt_low_ctx *ctx, tt_hlo_value *a, bool pivot) {
  tt_hlo_build *b = ctx->b;
  int64_t m = a->type.dims[1], n = a->type.dims[2], steps = m < n ? m : n;
  const tt_hlo_dim perm_dims[2] = {tt_hlo_dim_of(b, a, 0), tt_hlo_dim_number(m)};
  const tt_hlo_dim pivot_dims[2] = {perm_dims[0], tt_hlo_dim_number(steps)};
  tt_hlo_value *inits[4] = {s32(ctx, 0), a, tt_hlo_full(b, s32(ctx, 0), pivot_dims, 2),
                            tt_hlo_iota(b, TT_S32, perm_dims, 2, 1)};
  tt_hlo_value *out[4] = {NULL};
  tt_hlo_type types[4];
  for (int i = 0; i < 4; i++)
    types[i] = inits[i]->type;
  tt_hlo_region *cond = tt_hlo_region_open(b, types, 4);
  tt_hlo_value *more = tt_hlo_compare(b, TT_HLO_LT, tt_hlo_region_arg(b, cond, 0), s32(ctx, steps));
  tt_hlo_region_close(b, &more, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, types, 4);
  tt_hlo_value *in[3], *next[4];
  for (size_t i = 0; i < 3; i++)
    in[i] = tt_hlo_region_arg(b, body, i + 1);
  tt_hlo_value *k = tt_hlo_region_arg(b, body, 0);
  lu_step(ctx, k, in, pivot, &next[1]);
  next[0] = tt_hlo_add(b, k, s32(ctx, 1));
  tt_hlo_region_close(b, next, 4);
  tt_hlo_while(b, inits, 4, cond, body, out);
  return (lu){out[1], out[2], out[3]};
}

/* The permutation that pivots [B, k] make of m rows. */
static tt_hlo_value *perm_of(tt_low_ctx *ctx, tt_hlo_value *pivots, int64_t m) {
  tt_hlo_build *b = ctx->b;
  const tt_hlo_dim dims[2] = {tt_hlo_dim_of(b, pivots, 0), tt_hlo_dim_number(m)};
  tt_hlo_value *inits[3] = {s32(ctx, 0), tt_hlo_iota(b, TT_S32, dims, 2, 1), pivots},
               *out[3] = {NULL};
  const tt_hlo_type types[3] = {inits[0]->type, inits[1]->type, pivots->type};
  tt_hlo_region *cond = tt_hlo_region_open(b, types, 3);
  tt_hlo_value *more =
      tt_hlo_compare(b, TT_HLO_LT, tt_hlo_region_arg(b, cond, 0), s32(ctx, pivots->type.dims[1]));
  tt_hlo_region_close(b, &more, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, types, 3);
  tt_hlo_value *k = tt_hlo_region_arg(b, body, 0), *all = tt_hlo_region_arg(b, body, 2);
  tt_hlo_value *p = tt_low_with_const(ctx, TT_HLO_SUBTRACT, slice_at(ctx, all, k, 1), 1);
  tt_hlo_value *next[3] = {tt_hlo_add(b, k, s32(ctx, 1)),
                           swap(ctx, tt_hlo_region_arg(b, body, 1), k, p), all};
  tt_hlo_region_close(b, next, 3);
  tt_hlo_while(b, inits, 3, cond, body, out);
  return out[1];
}

/* P of A = P L U: P[perm[j], j] = 1 */
static tt_hlo_value *perm_matrix(tt_low_ctx *ctx, tt_hlo_value *perm, tt_dtype dtype) {
  tt_hlo_build *b = ctx->b;
  const tt_hlo_dim m = tt_hlo_dim_of(b, perm, 1), dims[3] = {tt_hlo_dim_of(b, perm, 0), m, m};
  tt_hlo_value *row = tt_hlo_iota(b, TT_S32, dims, 3, 1);
  tt_hlo_value *wanted = tt_hlo_broadcast_to(b, tt_hlo_unsqueeze(b, perm, 1), dims, 3);
  return tt_hlo_convert(b, tt_hlo_compare(b, TT_HLO_EQ, row, wanted), dtype);
}

/* Rows of y [B, n, k] in the order perm [B, n]; inverse: row i goes to perm[i]. */
static tt_hlo_value *permute_rows(tt_low_ctx *ctx, tt_hlo_value *y, tt_hlo_value *perm,
                                  bool inverse) {
  tt_hlo_build *b = ctx->b;
  if (inverse) {
    tt_hlo_value *values, *order;
    tt_low_sort_indexed(ctx, perm, 1, &values, &order);
    perm = order;
  }
  return tt_hlo_take_along(b, y, tt_hlo_broadcast_like(b, tt_hlo_unsqueeze(b, perm, 2), y), 1);
}

/* X of A X = Y, or A^H X = Y; all [B, n, .] */
static tt_hlo_value *lu_solve(tt_low_ctx *ctx, tt_hlo_value *packed, tt_hlo_value *perm,
                              tt_hlo_value *y, bool adjoint) {
  tt_hlo_build *b = ctx->b;
  if (!adjoint) {
    y = permute_rows(ctx, y, perm, false);
    y = tt_hlo_triangular_solve(b, packed, y, true, true, true, TT_HLO_NO_TRANSPOSE);
    return tt_hlo_triangular_solve(b, packed, y, true, false, false, TT_HLO_NO_TRANSPOSE);
  }
  y = tt_hlo_triangular_solve(b, packed, y, true, false, false, TT_HLO_ADJOINT);
  y = tt_hlo_triangular_solve(b, packed, y, true, true, true, TT_HLO_ADJOINT);
  return permute_rows(ctx, y, perm, true);
}

/* left false: X A = Y is A^H X^H = Y^H */
static tt_hlo_value *lu_solve_side(tt_low_ctx *ctx, tt_hlo_value *packed, tt_hlo_value *perm,
                                   tt_hlo_value *y, bool left, bool adjoint) {
  if (left)
    return lu_solve(ctx, packed, perm, y, adjoint);
  y = lu_solve(ctx, packed, perm, tt_low_mat_transpose(ctx, y, true), !adjoint);
  return tt_low_mat_transpose(ctx, y, true);
}

/* s32 [B]: the first zero on the diagonal of U, from 1; 0 for none */
static tt_hlo_value *info_of(tt_low_ctx *ctx, tt_hlo_value *packed) {
  const int64_t axes[2] = {1, 2};
  tt_hlo_value *row = tt_low_mat_row(ctx, packed), *column = tt_low_mat_column(ctx, packed);
  tt_hlo_value *zero =
      tt_hlo_compare(ctx->b, TT_HLO_EQ, packed, tt_hlo_const_like(ctx->b, packed, 0));
  zero = tt_hlo_and(ctx->b, zero, tt_hlo_compare(ctx->b, TT_HLO_EQ, row, column));
  tt_hlo_value *order =
      tt_low_select_const(ctx, zero, tt_low_with_const(ctx, TT_HLO_ADD, row, 1), INT32_MAX);
  tt_hlo_value *first = tt_hlo_reduce(ctx->b, TT_HLO_MINIMUM, order, axes, 2);
  return tt_low_select_const(ctx, tt_low_compare_const(ctx, TT_HLO_NE, first, INT32_MAX), first, 0);
}

static bool set_all_empty(tt_low_ctx *ctx, tt_hlo_value *a, tt_low_value *results) {
  if (!tt_low_mat_empty(a))
    return false;
  for (size_t i = 0; i < ctx->wanted_count; i++)
    tt_low_mat_set_empty(ctx, results, i, ctx->wanted[i].dtype);
  return true;
}

/* P, L and U of a matrix without elements */
static bool set_trivial_lu(tt_low_ctx *ctx, tt_hlo_value *a, tt_low_value *results) {
  if (!set_all_empty(ctx, a, results))
    return false;
  tt_low_mat_set_trivial(ctx, results, 0, tt_hlo_dtype(a));
  return true;
}

/* ---- factorizations ---- */

/* (A, pivot, check_errors) -> (LU, pivots, info) */
static tt_error *lower_lu_factor_ex(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                    tt_low_value *results) {
  (void)args_count;
  if (set_all_empty(ctx, args[0].tensor, results))
    return NULL;
  lu f = lu_of(ctx, tt_low_mat_flat(ctx, args[0].tensor), tt_low_bool(ctx, &args[1], true));
  tt_low_set_fit(ctx, results, 0, f.packed);
  tt_low_set_fit(ctx, results, 1, f.pivots);
  tt_low_set_fit(ctx, results, 2, info_of(ctx, f.packed));
  return NULL;
}

/* results i and i + 1: L [m, k] with its ones, U [k, n] */
static void set_triangles(tt_low_ctx *ctx, tt_hlo_value *packed, tt_low_value *results, size_t i) {
  tt_hlo_build *b = ctx->b;
  if (packed->type.rank != 3) { /* a mistake was made before */
    results[i].tensor = results[i + 1].tensor = packed;
    return;
  }
  int64_t m = packed->type.dims[1], n = packed->type.dims[2], k = m < n ? m : n;
  tt_hlo_value *l = tt_low_mat_lower(ctx, tt_hlo_slice_axis(b, packed, 2, 0, k, 1), 1);
  tt_low_set_fit(ctx, results, i, tt_hlo_add(b, l, tt_low_mat_eye_like(ctx, l)));
  tt_low_set_fit(ctx, results, i + 1,
                 tt_low_mat_upper(ctx, tt_hlo_slice_axis(b, packed, 1, 0, k, 1), 0));
}

/* (A, pivot) -> (P, L, U) */
static tt_error *lower_lu(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                          tt_low_value *results) {
  (void)args_count;
  if (set_trivial_lu(ctx, args[0].tensor, results))
    return NULL;
  lu f = lu_of(ctx, tt_low_mat_flat(ctx, args[0].tensor), tt_low_bool(ctx, &args[1], true));
  tt_low_set_fit(ctx, results, 0, perm_matrix(ctx, f.perm, tt_hlo_dtype(f.packed)));
  set_triangles(ctx, f.packed, results, 1);
  return NULL;
}

/* (LU, pivots, unpack_data, unpack_pivots) -> (P, L, U); what is not asked for is empty */
static tt_error *lower_lu_unpack(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                 tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  if (set_trivial_lu(ctx, args[0].tensor, results))
    return NULL;
  tt_hlo_value *packed = tt_low_mat_flat(ctx, args[0].tensor),
               *pivots = tt_hlo_convert(b, args[1].tensor, TT_S32);
  if (tt_low_bool(ctx, &args[3], true)) {
    const tt_hlo_dim dims[2] = {tt_hlo_dim_of(b, packed, 0),
                                tt_hlo_dim_of(b, pivots, tt_hlo_rank(pivots) - 1)};
    tt_hlo_value *perm = perm_of(ctx, tt_hlo_reshape(b, pivots, dims, 2),
                                 packed->type.rank == 3 ? packed->type.dims[1] : 0);
    tt_low_set_fit(ctx, results, 0, perm_matrix(ctx, perm, tt_hlo_dtype(packed)));
  } else {
    tt_low_mat_set_empty(ctx, results, 0, tt_hlo_dtype(packed));
  }
  if (tt_low_bool(ctx, &args[2], true)) {
    set_triangles(ctx, packed, results, 1);
  } else {
    tt_low_mat_set_empty(ctx, results, 1, tt_hlo_dtype(packed));
    tt_low_mat_set_empty(ctx, results, 2, tt_hlo_dtype(packed));
  }
  return NULL;
}

/* ---- solves ---- */

/* (LU, pivots, B, left, adjoint) */
static tt_error *lower_lu_solve(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  size_t rank;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank);
  if (set_all_empty(ctx, args[0].tensor, results) || set_all_empty(ctx, args[2].tensor, results))
    return NULL;
  tt_hlo_value *packed =
      tt_low_mat_flat(ctx, tt_low_mat_batch_as(ctx, args[0].tensor, dims, rank - 2));
  tt_hlo_value *y = tt_low_mat_flat(ctx, tt_low_mat_batch_as(ctx, args[2].tensor, dims, rank - 2));
  /* pivots as one-row matrices, so that their batch dims broadcast as those of the matrices */
  tt_hlo_value *pivots = tt_hlo_convert(b, args[1].tensor, TT_S32);
  pivots = tt_hlo_unsqueeze(b, pivots, tt_hlo_rank(pivots) - 1);
  pivots =
      tt_hlo_squeeze(b, tt_low_mat_flat(ctx, tt_low_mat_batch_as(ctx, pivots, dims, rank - 2)), 1);
  tt_hlo_value *perm = perm_of(ctx, pivots, packed->type.dims[1]);
  bool left = tt_low_bool(ctx, &args[3], true), adjoint = tt_low_bool(ctx, &args[4], false);
  tt_low_set_fit(ctx, results, 0, lu_solve_side(ctx, packed, perm, y, left, adjoint));
  return NULL;
}

/* Batch dims of `x` [.., n, n] repeated up to those wanted; for [B, ...] values of it */
static lu lu_batch_as(tt_low_ctx *ctx, const lu *f, tt_hlo_value *a, const tt_hlo_dim *batch,
                      size_t batch_rank) {
  tt_hlo_build *b = ctx->b;
  size_t rank = (size_t)tt_hlo_rank(a);
  tt_hlo_dim *dims = tt_hlo_dims_of(b, a);
  if (dims == NULL)
    return *f;
  tt_hlo_value *packed = tt_hlo_reshape(b, f->packed, dims, rank);
  dims[rank - 2] = tt_hlo_dim_number(1);
  tt_hlo_value *perm = tt_hlo_reshape(b, f->perm, dims, rank);
  packed = tt_low_mat_flat(ctx, tt_low_mat_batch_as(ctx, packed, batch, batch_rank));
  perm = tt_low_mat_flat(ctx, tt_low_mat_batch_as(ctx, perm, batch, batch_rank));
  return (lu){packed, f->pivots, tt_hlo_squeeze(b, perm, 1)};
}

/* (A, B, left, check_errors) -> (result, LU, pivots, info); B may be a vector (or a batch of them)
 */
static tt_error *lower_solve_ex(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *a = args[0].tensor, *y = args[1].tensor;
  if (set_all_empty(ctx, a, results) || set_all_empty(ctx, y, results))
    return NULL;
  size_t rank;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank);
  bool vector = tt_hlo_rank(y) == 1;
  if (tt_hlo_rank(a) - 1 == tt_hlo_rank(y)) {
    vector = true;
    for (int i = 0; i < tt_hlo_rank(y); i++)
      vector = vector && y->type.dims[i] == a->type.dims[i];
  }
  size_t batch_rank = vector ? rank - 1 : rank - 2;
  if (vector)
    y = tt_hlo_unsqueeze(ctx->b, y, tt_hlo_rank(y));
  bool left = tt_low_bool(ctx, &args[2], true);
  lu f = lu_of(ctx, tt_low_mat_flat(ctx, a), true);
  lu wide = lu_batch_as(ctx, &f, a, dims, batch_rank);
  y = tt_low_mat_flat(ctx, tt_low_mat_batch_as(ctx, y, dims, batch_rank));
  tt_low_set_fit(ctx, results, 0,
                 lu_solve_side(ctx, wide.packed, wide.perm, y, left || vector, false));
  tt_low_set_fit(ctx, results, 1, f.packed);
  tt_low_set_fit(ctx, results, 2, f.pivots);
  tt_low_set_fit(ctx, results, 3, info_of(ctx, f.packed));
  return NULL;
}

/* (A, check_errors) -> (inverse, info) */
static tt_error *lower_inv_ex(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                              tt_low_value *results) {
  (void)args_count;
  if (set_all_empty(ctx, args[0].tensor, results))
    return NULL;
  tt_hlo_value *a = tt_low_mat_flat(ctx, args[0].tensor);
  lu f = lu_of(ctx, a, true);
  tt_low_set_fit(ctx, results, 0,
                 lu_solve(ctx, f.packed, f.perm, tt_low_mat_eye_like(ctx, a), false));
  tt_low_set_fit(ctx, results, 1, info_of(ctx, f.packed));
  return NULL;
}

/* ---- determinants ---- */

/* [B], of the dtype: -1 for an odd number of swaps, else 1 */
static tt_hlo_value *sign_of(tt_low_ctx *ctx, tt_hlo_value *pivots, tt_dtype dtype) {
  tt_hlo_build *b = ctx->b;
  const int64_t axes[1] = {1};
  tt_hlo_value *own = tt_low_with_const(ctx, TT_HLO_ADD, tt_low_iota_like(ctx, pivots, 1), 1);
  tt_hlo_value *swaps = tt_hlo_convert(b, tt_hlo_compare(b, TT_HLO_NE, pivots, own), TT_S32);
  tt_hlo_value *odd =
      tt_low_with_const(ctx, TT_HLO_AND, tt_hlo_reduce(b, TT_HLO_ADD, swaps, axes, 1), 1);
  tt_hlo_value *sign =
      tt_low_with_const(ctx, TT_HLO_ADD, tt_low_with_const(ctx, TT_HLO_MULTIPLY, odd, -2), 1);
  return tt_hlo_convert(b, sign, dtype);
}

/* The matrix whose factorization PyTorch's det and slogdet return, and their gradients take: A^T
 * for a real contiguous A (its rows are then LAPACK's columns), else A. */
static tt_hlo_value *factored(tt_low_ctx *ctx, const tt_low_value *a) {
  bool plain = tt_dtype_is_complex(tt_hlo_dtype(a->tensor)) || a->strided;
  return plain ? a->tensor : tt_low_mat_transpose(ctx, a->tensor, false);
}

/* (A) -> (det, LU, pivots), or (sign, logabsdet, LU, pivots) */
static tt_error *lower_det(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  const int64_t axes[1] = {1};
  tt_hlo_value *a = args[0].tensor;
  bool logarithm = ctx->rule->data != 0;
  tt_dtype dtype = tt_hlo_dtype(a);
  if (tt_low_mat_empty(a)) {
    set_all_empty(ctx, a, results);
    size_t rank = 0;
    const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank); /* the empty product */
    tt_low_set(&results[0], tt_hlo_full(b, tt_hlo_const(b, dtype, 1), dims, rank));
    return NULL;
  }
  lu f = lu_of(ctx, tt_low_mat_flat(ctx, factored(ctx, &args[0])), true);
  tt_hlo_value *diagonal = tt_low_mat_diagonal(ctx, f.packed),
               *sign = sign_of(ctx, f.pivots, dtype);
  size_t next = 0;
  if (logarithm) {
    tt_hlo_value *size = tt_hlo_abs(b, diagonal);
    tt_hlo_value *phase = tt_hlo_sign(b, diagonal);
    tt_low_set_fit(ctx, results, next++,
                   tt_hlo_mul(b, sign, tt_hlo_reduce(b, TT_HLO_MULTIPLY, phase, axes, 1)));
    tt_low_set_fit(ctx, results, next++,
                   tt_hlo_reduce(b, TT_HLO_ADD, tt_hlo_log(b, size), axes, 1));
  } else {
    tt_low_set_fit(ctx, results, next++,
                   tt_hlo_mul(b, sign, tt_hlo_reduce(b, TT_HLO_MULTIPLY, diagonal, axes, 1)));
  }
  tt_low_set_fit(ctx, results, next, f.packed);
  tt_low_set_fit(ctx, results, next + 1, f.pivots);
  return NULL;
}

const tt_low_rule tt_low_rules_linalg_lu[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/linalg_lu.def"
#undef X
};
const size_t tt_low_rules_linalg_lu_count = TT_COUNT(tt_low_rules_linalg_lu);
