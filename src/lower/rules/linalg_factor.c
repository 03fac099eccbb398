/* QR, symmetric eigenvalues and singular values.
 *
 * QR and eigh are XLA's own custom calls "Qr", "ProductOfElementaryHouseholderReflectors" and
 * "Eigh", which every XLA compiler expands and our plugin maps to LAPACK. Singular values come from
 * one-sided Jacobi rotations. */
#include <math.h>
#include <string.h>

#include "lower/rules/linalg_internal.h"
#include "lower/rules/rules.h"

static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- QR ---- */

/* The type of `x` with its last `drop` dims replaced by `count` of `tail`; in the arena. */
static tt_hlo_type type_of(tt_low_ctx *ctx, tt_hlo_value *x, tt_dtype dtype, int drop,
                           const int64_t *tail, int count) {
  int rank = tt_hlo_rank(x) - drop + count;
  int64_t *dims = tt_hlo_alloc(ctx->b, (size_t)rank + 1, sizeof *dims);
  tt_hlo_type type = {.dtype = dtype, .rank = rank, .dims = dims};
  for (int i = 0; dims != NULL && i < rank; i++)
    dims[i] = i < rank - count ? x->type.dims[i] : tail[i - (rank - count)];
  return type;
}

/* packed [..., m, n]: R above, reflectors below the diagonal; taus [..., min(m, n)] */
static void qr_packed(tt_low_ctx *ctx, tt_hlo_value *a, tt_hlo_value **out_packed,
                      tt_hlo_value **out_taus) {
  const int64_t k = min_i64(tt_low_mat_rows(a), tt_low_mat_columns(a));
  const tt_hlo_type types[2] = {a->type, type_of(ctx, a, tt_hlo_dtype(a), 2, &k, 1)};
  tt_hlo_value *results[2] = {NULL, NULL};
  tt_hlo_custom_call(ctx->b, "Qr", "", 1, &a, 1, types, 2, results);
  *out_packed = results[0];
  *out_taus = results[1];
}

/* The first columns of H_1 H_2 ... from reflectors [..., m, n] with n <= m: [..., m, n] */
static tt_hlo_value *reflectors_product(tt_low_ctx *ctx, tt_hlo_value *reflectors,
                                        tt_hlo_value *taus) {
  tt_hlo_value *operands[2] = {reflectors, taus}, *out = NULL;
  tt_hlo_custom_call(ctx->b, "ProductOfElementaryHouseholderReflectors", "", 1, operands, 2,
                     &reflectors->type, 1, &out);
  return out;
}

/* Makes the last axis `n` long: cuts, or adds zeros. */
static tt_hlo_value *columns_to(tt_low_ctx *ctx, tt_hlo_value *x, int64_t n) {
  int axis = tt_hlo_rank(x) - 1;
  int64_t have = x->type.dims[axis];
  if (have >= n)
    return tt_hlo_slice_axis(ctx->b, x, axis, 0, n, 1);
  int64_t *low = tt_hlo_alloc(ctx->b, (size_t)axis + 1, sizeof *low);
  int64_t *high = tt_hlo_alloc(ctx->b, (size_t)axis + 1, sizeof *high);
  if (low == NULL || high == NULL)
    return x;
  high[axis] = n - have;
  return tt_hlo_pad(ctx->b, x, tt_hlo_const(ctx->b, tt_hlo_dtype(x), 0), low, high, NULL);
}

/* Q with `width` columns and R with as many rows (at most m) */
static void qr_of(tt_low_ctx *ctx, tt_hlo_value *a, int64_t width, tt_hlo_value **out_q,
                  tt_hlo_value **out_r) {
  tt_hlo_value *packed, *taus;
  qr_packed(ctx, a, &packed, &taus);
  *out_r =
      tt_low_mat_upper(ctx, tt_hlo_slice_axis(ctx->b, packed, tt_hlo_rank(a) - 2, 0, width, 1), 0);
  if (out_q != NULL)
    *out_q = reflectors_product(ctx, columns_to(ctx, packed, width), taus);
}

/* (A, mode) -> (Q, R): reduced, complete, or r, where Q is empty */
static tt_error *lower_qr(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                          tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *a = args[0].tensor;
  if (tt_low_mat_empty(a)) {
    tt_low_mat_set_trivial(ctx, results, 0, tt_hlo_dtype(a));
    tt_low_mat_set_empty(ctx, results, 1, tt_hlo_dtype(a));
    return NULL;
  }
  const char *mode = args[1].kind == TT_LOW_STRING ? args[1].string : "reduced";
  int64_t m = tt_low_mat_rows(a),
          width = strcmp(mode, "complete") == 0 ? m : min_i64(m, tt_low_mat_columns(a));
  if (strcmp(mode, "r") == 0) {
    qr_of(ctx, a, width, NULL, &results[1].tensor);
    tt_low_mat_set_empty(ctx, results, 0, tt_hlo_dtype(a));
  } else {
    qr_of(ctx, a, width, &results[0].tensor, &results[1].tensor);
  }
  results[0].kind = results[1].kind = TT_LOW_TENSOR;
  return NULL;
}

/* [..., min(m, n)] for a matrix without elements */
static tt_hlo_value *no_taus(tt_low_ctx *ctx, tt_hlo_value *a) {
  const int64_t k = min_i64(tt_low_mat_rows(a), tt_low_mat_columns(a));
  const tt_hlo_type type = type_of(ctx, a, tt_hlo_dtype(a), 2, &k, 1);
  const tt_hlo_dim *dims = tt_hlo_dims_numbers(ctx->b, type.dims, (size_t)type.rank);
  return tt_hlo_full(ctx->b, tt_hlo_const(ctx->b, type.dtype, 0), dims, (size_t)type.rank);
}

/* (A) -> (packed, tau) */
static tt_error *lower_geqrf(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                             tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *a = args[0].tensor, *packed = a, *taus;
  ctx->results_count = 2;
  if (tt_low_mat_empty(a))
    taus = no_taus(ctx, a);
  else
    qr_packed(ctx, a, &packed, &taus);
  tt_low_set(&results[0], packed);
  tt_low_set(&results[1], taus);
  return NULL;
}

/* (reflectors, tau) */
static tt_error *lower_householder_product(tt_low_ctx *ctx, const tt_low_value *args,
                                           size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *a = args[0].tensor, *taus = args[1].tensor;
  bool no_taus = tt_low_mat_empty(taus);
  tt_low_set(&results[0], tt_low_mat_empty(a) ? a
                          : no_taus           ? tt_low_mat_eye_like(ctx, a)
                                              : reflectors_product(ctx, a, taus));
  return NULL;
}

/* (reflectors, tau, other, left, transpose): Q other, other Q, with Q^H for transpose; Q is whole,
 * m by m */
static tt_error *lower_ormqr(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                             tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *a = args[0].tensor, *other = args[2].tensor;
  if (tt_low_mat_empty(a) || tt_low_mat_empty(other) || tt_low_mat_empty(args[1].tensor)) {
    tt_low_set(&results[0], other);
    return NULL;
  }
  tt_hlo_value *q = reflectors_product(ctx, columns_to(ctx, a, tt_low_mat_rows(a)), args[1].tensor);
  if (tt_low_bool(ctx, &args[4], false))
    q = tt_low_mat_transpose(ctx, q, true);
  bool left = tt_low_bool(ctx, &args[3], true);
  tt_low_set(&results[0], left ? tt_hlo_matmul(ctx->b, q, other) : tt_hlo_matmul(ctx->b, other, q));
  return NULL;
}

/* ---- symmetric eigenvalues ---- */

/* (A, UPLO, compute_v) -> (eigenvalues, ascending; eigenvectors) */
static tt_error *lower_eigh(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *a = args[0].tensor, *out[2] = {NULL, NULL};
  tt_dtype dtype = tt_hlo_dtype(a);
  bool upper =
      args[1].kind == TT_LOW_STRING && (args[1].string[0] == 'U' || args[1].string[0] == 'u');
  if (tt_low_mat_empty(a)) {
    tt_low_mat_set_empty(ctx, results, 0, tt_dtype_real(dtype));
    tt_low_mat_set_empty(ctx, results, 1, dtype);
    return NULL;
  }
  /* Both triangles from the one that counts. */
  if (upper)
    a = tt_low_mat_transpose(ctx, a, true);
  tt_hlo_value *strict = tt_low_mat_lower(ctx, a, 1);
  a = tt_hlo_add(b, tt_low_mat_lower(ctx, a, 0), tt_low_mat_transpose(ctx, strict, true));
  const int64_t n = tt_low_mat_rows(a);
  const tt_hlo_type types[2] = {a->type, type_of(ctx, a, tt_dtype_real(dtype), 2, &n, 1)};
  /* lower, sort, most sweeps, tolerance */
  const char *config = tt_dtype_real(dtype) == TT_F64 ? "1,1,100,1e-14" : "1,1,100,1e-6";
  tt_hlo_custom_call(b, "Eigh", config, 1, &a, 1, types, 2, out);
  tt_low_set(&results[0], out[1]);
  if (tt_low_bool(ctx, &args[2], true))
    tt_low_set(&results[1], out[0]);
  else
    tt_low_mat_set_empty(ctx, results, 1, dtype);
  return NULL;
}

/* ---- singular values: one-sided Jacobi (Hestenes) ----
 *
 * Columns come in pairs (left half, right half); each step makes every pair orthogonal by a
 * rotation, then columns move on as in a round-robin tournament, so that n - 1 steps (a sweep) meet
 * all pairs. Below A the identity takes the same rotations: it becomes V, while A becomes U S.
 * Source: Golub and Van Loan, section 8.6.3; Brent and Luk (1985). */

enum { SWEEPS = 20 };

typedef struct pairs {
  tt_hlo_value *left, *right; /* [B, m + n, n / 2]: rows of A, then rows of V */
  tt_hlo_value *off;          /* scalar: the largest cosine seen in this sweep */
} pairs;

/* sum over the first m rows of p q: [B, 1, h] */
static tt_hlo_value *dot_columns(tt_low_ctx *ctx, tt_hlo_value *p, tt_hlo_value *q, int64_t m) {
  const int64_t axes[1] = {1};
  tt_hlo_value *product = tt_hlo_slice_axis(ctx->b, tt_hlo_mul(ctx->b, p, q), 1, 0, m, 1);
  return tt_hlo_reduce_keep(ctx->b, TT_HLO_ADD, product, axes, 1);
}

/* Rotates each pair so that its columns are orthogonal. */
static pairs rotate(tt_low_ctx *ctx, pairs p, int64_t m) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *alpha = dot_columns(ctx, p.left, p.left, m),
               *beta = dot_columns(ctx, p.right, p.right, m);
  tt_hlo_value *gamma = dot_columns(ctx, p.left, p.right, m), *one = tt_hlo_const_like(b, gamma, 1);
  tt_hlo_value *scale = tt_hlo_sqrt(b, tt_hlo_mul(b, alpha, beta)),
               *zero = tt_hlo_const_like(b, gamma, 0);
  tt_hlo_value *idle = tt_hlo_or(b, tt_hlo_compare(b, TT_HLO_EQ, gamma, zero),
                                 tt_hlo_compare(b, TT_HLO_EQ, scale, zero));
  tt_hlo_value *cosine = tt_hlo_div(b, tt_hlo_abs(b, gamma), tt_hlo_select(b, idle, one, scale));
  cosine = tt_hlo_select(b, idle, zero, cosine);
  tt_hlo_value *zeta = tt_hlo_div(b, tt_hlo_sub(b, beta, alpha),
                                  tt_hlo_select(b, idle, one, tt_hlo_add(b, gamma, gamma)));
  tt_hlo_value *size = tt_hlo_abs(b, zeta);
  tt_hlo_value *root = tt_hlo_sqrt(b, tt_hlo_add(b, one, tt_hlo_mul(b, zeta, zeta)));
  tt_hlo_value *t = tt_hlo_div(b, one, tt_hlo_add(b, size, root));
  t = tt_hlo_select(b, tt_hlo_compare(b, TT_HLO_LT, zeta, zero), tt_hlo_neg(b, t), t);
  t = tt_hlo_select(b, idle, zero, t);
  tt_hlo_value *c = tt_hlo_rsqrt(b, tt_hlo_add(b, one, tt_hlo_mul(b, t, t))),
               *s = tt_hlo_mul(b, c, t);
  tt_hlo_value *left = tt_hlo_sub(b, tt_low_with(ctx, TT_HLO_MULTIPLY, p.left, c),
                                  tt_low_with(ctx, TT_HLO_MULTIPLY, p.right, s));
  tt_hlo_value *right = tt_hlo_add(b, tt_low_with(ctx, TT_HLO_MULTIPLY, p.left, s),
                                   tt_low_with(ctx, TT_HLO_MULTIPLY, p.right, c));
  return (pairs){left, right, tt_hlo_max(b, p.off, tt_low_fold_all(ctx, TT_HLO_MAXIMUM, cosine))};
}

/* The tournament: left[0] stays; right[0] goes to left[1], the left ones move on, the last of them
 * turns to the right. */
static pairs move_on(tt_low_ctx *ctx, pairs p) {
  tt_hlo_build *b = ctx->b;
  int64_t h = p.left->type.dims[2];
  if (h == 1)
    return p;
  tt_hlo_value *left[3] = {tt_hlo_slice_axis(b, p.left, 2, 0, 1, 1),
                           tt_hlo_slice_axis(b, p.right, 2, 0, 1, 1),
                           tt_hlo_slice_axis(b, p.left, 2, 1, h - 1, 1)};
  tt_hlo_value *right[2] = {tt_hlo_slice_axis(b, p.right, 2, 1, h, 1),
                            tt_hlo_slice_axis(b, p.left, 2, h - 1, h, 1)};
  return (pairs){tt_hlo_concat(b, left, h > 2 ? 3 : 2, 2), tt_hlo_concat(b, right, 2, 2), p.off};
}

/* Steps of one sweep: a while over (k, left, right, off). */
static pairs sweep(tt_low_ctx *ctx, pairs p, int64_t m, int64_t steps) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *inits[4] = {tt_hlo_const_int(b, TT_S32, 0), p.left, p.right, p.off},
               *out[4] = {NULL};
  tt_hlo_type types[4];
  for (int i = 0; i < 4; i++)
    types[i] = inits[i]->type;
  tt_hlo_region *cond = tt_hlo_region_open(b, types, 4);
  tt_hlo_value *more = tt_hlo_compare(b, TT_HLO_LT, tt_hlo_region_arg(b, cond, 0),
                                      tt_hlo_const_int(b, TT_S32, steps));
  tt_hlo_region_close(b, &more, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, types, 4);
  pairs q = {tt_hlo_region_arg(b, body, 1), tt_hlo_region_arg(b, body, 2),
             tt_hlo_region_arg(b, body, 3)};
  q = move_on(ctx, rotate(ctx, q, m));
  tt_hlo_value *k = tt_hlo_add(b, tt_hlo_region_arg(b, body, 0), tt_hlo_const_int(b, TT_S32, 1));
  tt_hlo_value *next[4] = {k, q.left, q.right, q.off};
  tt_hlo_region_close(b, next, 4);
  tt_hlo_while(b, inits, 4, cond, body, out);
  return (pairs){out[1], out[2], out[3]};
}

/* Sweeps until no cosine is above the tolerance. */
static pairs sweep_all(tt_low_ctx *ctx, pairs p, int64_t m, int64_t steps) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_hlo_dtype(p.left);
  tt_hlo_value *inits[4] = {tt_hlo_const_int(b, TT_S32, 0), p.left, p.right, p.off},
               *out[4] = {NULL};
  tt_hlo_type types[4];
  for (int i = 0; i < 4; i++)
    types[i] = inits[i]->type;
  tt_hlo_region *cond = tt_hlo_region_open(b, types, 4);
  tt_hlo_value *few = tt_hlo_compare(b, TT_HLO_LT, tt_hlo_region_arg(b, cond, 0),
                                     tt_hlo_const_int(b, TT_S32, SWEEPS));
  tt_hlo_value *tolerance = tt_hlo_const(b, dtype, dtype == TT_F64 ? 1e-15 : 2e-7);
  tt_hlo_value *rough = tt_hlo_compare(b, TT_HLO_GT, tt_hlo_region_arg(b, cond, 3), tolerance);
  tt_hlo_value *more = tt_hlo_and(b, few, rough);
  tt_hlo_region_close(b, &more, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, types, 4);
  pairs q = {tt_hlo_region_arg(b, body, 1), tt_hlo_region_arg(b, body, 2),
             tt_hlo_const(b, dtype, 0)};
  q = sweep(ctx, q, m, steps);
  tt_hlo_value *k = tt_hlo_add(b, tt_hlo_region_arg(b, body, 0), tt_hlo_const_int(b, TT_S32, 1));
  tt_hlo_value *next[4] = {k, q.left, q.right, q.off};
  tt_hlo_region_close(b, next, 4);
  tt_hlo_while(b, inits, 4, cond, body, out);
  return (pairs){out[1], out[2], out[3]};
}

typedef struct svd {
  tt_hlo_value *us; /* [B, m, n]: columns of unit length, or zero; by falling singular value */
  tt_hlo_value *s;  /* [B, n] */
  tt_hlo_value *v;  /* [B, n, n] */
} svd;

/* a: [B, m, n], m >= n, real, not empty */
static svd svd_of(tt_low_ctx *ctx, tt_hlo_value *a) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_hlo_dtype(a);
  int64_t m = a->type.dims[1], n = a->type.dims[2], even = n + n % 2;
  const int64_t row[1] = {1};
  a = columns_to(ctx, a, even);
  const tt_hlo_dim square[3] = {tt_hlo_dim_of(b, a, 0), tt_hlo_dim_number(even),
                                tt_hlo_dim_number(even)};
  tt_hlo_value *zeros = tt_hlo_full(b, tt_hlo_const(b, dtype, 0), square, 3);
  tt_hlo_value *parts[2] = {a, tt_low_mat_eye_like(ctx, zeros)};
  tt_hlo_value *stack = tt_hlo_concat(b, parts, 2, 1);
  pairs p = {tt_hlo_slice_axis(b, stack, 2, 0, even / 2, 1),
             tt_hlo_slice_axis(b, stack, 2, even / 2, even, 1), tt_hlo_const(b, dtype, 1)};
  p = sweep_all(ctx, p, m, even - 1);
  tt_hlo_value *halves[2] = {p.left, p.right};
  stack = tt_hlo_concat(b, halves, 2, 2);
  tt_hlo_value *us = tt_hlo_slice_axis(b, stack, 1, 0, m, 1),
               *v = tt_hlo_slice_axis(b, stack, 1, m, m + even, 1);
  tt_hlo_value *s = tt_hlo_sqrt(b, tt_hlo_reduce(b, TT_HLO_ADD, tt_hlo_mul(b, us, us), row, 1));
  tt_hlo_value *key = tt_hlo_neg(b, s), *order;
  if (even != n) { /* the column of padding met none: it sorts last and is dropped */
    tt_hlo_value *pad = tt_hlo_squeeze(b, tt_hlo_slice_axis(b, v, 1, n, n + 1, 1), 1);
    key = tt_hlo_select(b, tt_low_compare_const(ctx, TT_HLO_GT, pad, 0.5),
                        tt_hlo_const_like(b, key, INFINITY), key);
  }
  tt_low_sort_indexed(ctx, key, 1, &key, &order);
  order = tt_hlo_slice_axis(b, order, 1, 0, n, 1);
  s = tt_hlo_take_along(b, s, order, 1);
  const tt_hlo_dim batch = square[0];
  const tt_hlo_dim us_dims[3] = {batch, tt_hlo_dim_number(m), tt_hlo_dim_number(n)};
  const tt_hlo_dim v_dims[3] = {batch, tt_hlo_dim_number(n), tt_hlo_dim_number(n)};
  tt_hlo_value *column = tt_hlo_unsqueeze(b, order, 1);
  us = tt_hlo_take_along(b, us, tt_hlo_broadcast_to(b, column, us_dims, 3), 2);
  v = tt_hlo_slice_axis(b, v, 1, 0, n, 1);
  v = tt_hlo_take_along(b, v, tt_hlo_broadcast_to(b, column, v_dims, 3), 2);
  tt_hlo_value *none = tt_low_compare_const(ctx, TT_HLO_EQ, s, 0);
  tt_hlo_value *divisor = tt_hlo_select(b, none, tt_hlo_const_like(b, s, 1), s);
  us = tt_hlo_div(b, us, tt_low_mat_along_columns(ctx, divisor, us));
  return (svd){us, s, v};
}

/* `width` orthonormal columns, of which the first are those of `us`: Q of its QR, with R's signs,
 * fills the zero ones. */
static tt_hlo_value *complete(tt_low_ctx *ctx, tt_hlo_value *us, int64_t width) {
  tt_hlo_value *q, *r;
  qr_of(ctx, us, width, &q, &r);
  int64_t n = us->type.dims[2];
  tt_hlo_value *diagonal = tt_low_mat_diagonal(ctx, tt_hlo_slice_axis(ctx->b, r, 1, 0, n, 1));
  tt_hlo_value *negative = tt_low_compare_const(ctx, TT_HLO_LT, diagonal, 0);
  tt_hlo_value *one = tt_hlo_const_like(ctx->b, diagonal, 1);
  tt_hlo_value *sign = tt_hlo_select(ctx->b, negative, tt_hlo_neg(ctx->b, one), one);
  if (width > n) {
    const tt_hlo_dim rest[2] = {tt_hlo_dim_of(ctx->b, sign, 0), tt_hlo_dim_number(width - n)};
    tt_hlo_value *parts[2] = {
        sign, tt_hlo_full(ctx->b, tt_hlo_const(ctx->b, tt_hlo_dtype(sign), 1), rest, 2)};
    sign = tt_hlo_concat(ctx->b, parts, 2, 1);
  }
  return tt_hlo_mul(ctx->b, q, tt_low_mat_along_columns(ctx, sign, q));
}

/* (A, full_matrices, compute_uv, driver) -> (U, S, Vh) */
static tt_error *lower_svd(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *a = args[0].tensor;
  tt_dtype dtype = tt_hlo_dtype(a);
  if (tt_low_mat_empty(a)) {
    tt_low_mat_set_trivial(ctx, results, 0, dtype);
    tt_low_mat_set_empty(ctx, results, 1, tt_dtype_real(dtype));
    tt_low_mat_set_trivial(ctx, results, 2, dtype);
    return NULL;
  }
  if (tt_dtype_is_complex(dtype))
    return tt_error_new(TT_UNIMPLEMENTED, "aten::_linalg_svd: complex input");
  bool wide = tt_low_mat_rows(a) < tt_low_mat_columns(a);
  tt_hlo_value *flat = tt_low_mat_flat(ctx, a);
  if (wide)
    flat = tt_low_mat_transpose(ctx, flat, false);
  svd f = svd_of(ctx, flat);
  tt_low_set_fit(ctx, results, 1, f.s);
  if (!tt_low_bool(ctx, &args[2], true)) {
    tt_low_mat_set_empty(ctx, results, 0, dtype);
    tt_low_mat_set_empty(ctx, results, 2, dtype);
    return NULL;
  }
  bool full = tt_low_bool(ctx, &args[1], false);
  tt_hlo_value *u = complete(ctx, f.us, full ? flat->type.dims[1] : flat->type.dims[2]);
  tt_low_set_fit(ctx, results, 0, wide ? f.v : u);
  tt_low_set_fit(ctx, results, 2, tt_low_mat_transpose(ctx, wide ? u : f.v, false));
  return NULL;
}

/* ---- least squares ---- */

static bool is_driver(const tt_low_value *arg, const char *name) {
  return strcmp(arg->kind == TT_LOW_STRING ? arg->string : "gelsy", name) == 0;
}

/* B is one vector for each matrix: [..., m] for A [..., m, n] */
static bool is_vector(const tt_hlo_value *a, const tt_hlo_value *y) {
  if (tt_hlo_rank(y) == 1)
    return true;
  bool same = tt_hlo_rank(a) - 1 == tt_hlo_rank(y);
  for (int i = 0; same && i < tt_hlo_rank(y); i++)
    same = y->type.dims[i] == a->type.dims[i];
  return same;
}

/* The batch dims that those of A and B broadcast to; in the arena. */
static tt_hlo_dim *batch_of(tt_low_ctx *ctx, tt_hlo_value *a, tt_hlo_value *y, size_t *out_rank) {
  size_t rank = (size_t)(tt_hlo_rank(a) > tt_hlo_rank(y) ? tt_hlo_rank(a) : tt_hlo_rank(y)) - 2;
  tt_hlo_dim *dims = tt_hlo_alloc(ctx->b, rank + 1, sizeof *dims);
  for (size_t i = 0; dims != NULL && i < rank; i++) {
    int in_a = tt_hlo_rank(a) - 2 - (int)(rank - i), in_y = tt_hlo_rank(y) - 2 - (int)(rank - i);
    bool from_a = in_a >= 0 && (in_y < 0 || y->type.dims[in_y] == 1);
    dims[i] = from_a ? tt_hlo_dim_of(ctx->b, a, in_a) : tt_hlo_dim_of(ctx->b, y, in_y);
  }
  *out_rank = rank;
  return dims;
}

/* [B, ...] with the batch dims again */
static tt_hlo_value *with_batch(tt_low_ctx *ctx, tt_hlo_value *x, const tt_hlo_dim *batch,
                                size_t batch_rank) {
  size_t rest = (size_t)tt_hlo_rank(x) - 1;
  tt_hlo_dim *dims = tt_hlo_alloc(ctx->b, batch_rank + rest + 1, sizeof *dims);
  if (dims == NULL)
    return x;
  for (size_t i = 0; i < batch_rank; i++)
    dims[i] = batch[i];
  for (size_t i = 0; i < rest; i++)
    dims[batch_rank + i] = tt_hlo_dim_of(ctx->b, x, (int)i + 1);
  return tt_hlo_reshape(ctx->b, x, dims, batch_rank + rest);
}

typedef struct least_squares {
  tt_hlo_value *x;    /* [B, n, k] */
  tt_hlo_value *rank; /* s32 [B] */
  tt_hlo_value *s;    /* [B, min(m, n)] */
} least_squares;

/* The least x of those that make A x - y least: V S^+ U^T y; what is below rcond times the largest
 * counts as zero. */
static least_squares solve_least(tt_low_ctx *ctx, tt_hlo_value *a, tt_hlo_value *y,
                                 const tt_low_value *rcond) {
  tt_hlo_build *b = ctx->b;
  const int64_t columns[1] = {1}, m = a->type.dims[1], n = a->type.dims[2];
  tt_dtype dtype = tt_hlo_dtype(a);
  bool wide = m < n;
  svd f = svd_of(ctx, wide ? tt_low_mat_transpose(ctx, a, false) : a);
  double eps = dtype == TT_F64 ? 0x1p-52 : 0x1p-23;
  tt_hlo_value *limit = tt_low_number(ctx, rcond, dtype, eps * (double)(m > n ? m : n));
  tt_hlo_value *top = tt_hlo_reduce_keep(b, TT_HLO_MAXIMUM, f.s, columns, 1);
  top = tt_hlo_mul(b, top, tt_hlo_broadcast_like(b, limit, top));
  tt_hlo_value *counts = tt_hlo_compare(b, TT_HLO_GT, f.s, tt_hlo_broadcast_like(b, top, f.s));
  tt_hlo_value *inverse =
      tt_hlo_div(b, tt_hlo_const_like(b, f.s, 1), tt_low_select_const(ctx, counts, f.s, 1));
  inverse = tt_low_select_const(ctx, counts, inverse, 0);
  tt_hlo_value *left = wide ? f.v : f.us, *right = wide ? f.us : f.v;
  tt_hlo_value *x = tt_hlo_matmul(b, tt_low_mat_transpose(ctx, left, false), y);
  x = tt_hlo_mul(b, x, tt_hlo_broadcast_like(b, tt_hlo_unsqueeze(b, inverse, 2), x));
  tt_hlo_value *rank = tt_hlo_reduce(b, TT_HLO_ADD, tt_hlo_convert(b, counts, TT_S32), columns, 1);
  return (least_squares){tt_hlo_matmul(b, right, x), rank, f.s};
}

static void set_none(tt_low_ctx *ctx, tt_low_value *result, tt_dtype dtype) {
  const tt_hlo_dim none = tt_hlo_dim_number(0);
  tt_low_set(result, tt_hlo_full(ctx->b, tt_hlo_const(ctx->b, dtype, 0), &none, 1));
}

/* (A, B, rcond, driver) -> (solution, residuals, rank, singular values). Every driver goes by
 * singular values; it says which of the other results there are: residuals where m > n but for
 * gelsy, the rank but for gels, the values for gelsd and gelss. PyTorch gives residuals of matrices
 * of full rank alone, which only the run knows: here they are of all. */
static tt_error *lower_lstsq(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                             tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *a = args[0].tensor, *y = args[1].tensor;
  tt_dtype dtype = tt_hlo_dtype(a);
  const int64_t rows[1] = {1};
  size_t batch_rank;
  if (tt_dtype_is_complex(dtype) || tt_low_mat_empty(a) || tt_low_mat_empty(y))
    return tt_error_new(TT_UNIMPLEMENTED, "aten::linalg_lstsq: complex or empty input");
  bool vector = is_vector(a, y),
       residuals = tt_low_mat_rows(a) > tt_low_mat_columns(a) && !is_driver(&args[3], "gelsy");
  if (vector)
    y = tt_hlo_unsqueeze(b, y, tt_hlo_rank(y));
  const tt_hlo_dim *batch = batch_of(ctx, a, y, &batch_rank);
  a = tt_low_mat_flat(ctx, tt_low_mat_batch_as(ctx, a, batch, batch_rank));
  y = tt_low_mat_flat(ctx, tt_low_mat_batch_as(ctx, y, batch, batch_rank));
  tt_hlo_precision precision = b->precision;
  b->precision = TT_HLO_PRECISION_HIGHEST;
  least_squares f = solve_least(ctx, a, y, &args[2]);
  ctx->results_count = 4;
  tt_low_set(&results[0],
             with_batch(ctx, vector ? tt_hlo_squeeze(b, f.x, 2) : f.x, batch, batch_rank));
  for (size_t i = 1; i < 4; i++)
    set_none(ctx, &results[i], i == 2 ? TT_S64 : dtype);
  if (residuals) {
    tt_hlo_value *rest = tt_low_square(ctx, tt_hlo_sub(b, tt_hlo_matmul(b, a, f.x), y));
    rest = tt_hlo_reduce(b, TT_HLO_ADD, rest, rows, 1);
    tt_low_set(&results[1], with_batch(ctx, rest, batch, batch_rank));
  }
  if (!is_driver(&args[3], "gels"))
    tt_low_set(&results[2], tt_hlo_convert(b, with_batch(ctx, f.rank, batch, batch_rank), TT_S64));
  if (is_driver(&args[3], "gelsd") || is_driver(&args[3], "gelss"))
    tt_low_set(&results[3], with_batch(ctx, f.s, batch, batch_rank));
  b->precision = precision;
  return NULL;
}

const tt_low_rule tt_low_rules_linalg_factor[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/linalg_factor.def"
#undef X
};
const size_t tt_low_rules_linalg_factor_count = TT_COUNT(tt_low_rules_linalg_factor);
