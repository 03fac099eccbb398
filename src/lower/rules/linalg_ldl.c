/* LDL^T of symmetric matrices with the pivoting of Bunch and Kaufman, as LAPACK's sytf2 and sytrs
 * have it for the lower triangle: D has blocks of 1 and 2. Source: Golub and Van Loan, section 4.4.
 *
 * Each matrix of the batch is at a column of its own, so a step works on whole matrices through
 * masks. */
#include "lower/rules/linalg_internal.h"
#include "lower/rules/rules.h"

static const double alpha =
    0.64038820320220757; /* (1 + sqrt 17) / 8 bounds the growth of the elements */

static tt_hlo_value *s32(tt_low_ctx *ctx, int64_t value) {
  return tt_hlo_const_int(ctx->b, TT_S32, value);
}

/* x [B, n] or [B, 1] compared with y, broadcast to it: pred */
static tt_hlo_value *is(tt_low_ctx *ctx, tt_hlo_direction direction, tt_hlo_value *x,
                        tt_hlo_value *y) {
  return tt_hlo_compare(ctx->b, direction, x, tt_hlo_broadcast_like(ctx->b, y, x));
}

/* [B, n] as rows ([B, 1, n]) or columns ([B, n, 1]) of `like` [B, n, m] */
static tt_hlo_value *along_rows(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *like) {
  return tt_hlo_broadcast_like(ctx->b, tt_hlo_unsqueeze(ctx->b, x, 1), like);
}
static tt_hlo_value *along_columns(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *like) {
  return tt_hlo_broadcast_like(ctx->b, tt_hlo_unsqueeze(ctx->b, x, 2), like);
}

/* Row at [B, 1] of w [B, n, m]: [B, m] */
static tt_hlo_value *row_at(tt_low_ctx *ctx, tt_hlo_value *w, tt_hlo_value *at) {
  const int64_t axes[1] = {1};
  tt_hlo_value *hit =
      is(ctx, TT_HLO_EQ, tt_low_iota_like(ctx, w, 1), tt_hlo_unsqueeze(ctx->b, at, 2));
  return tt_hlo_reduce(ctx->b, TT_HLO_ADD, tt_low_select_const(ctx, hit, w, 0), axes, 1);
}

static tt_hlo_value *column_at(tt_low_ctx *ctx, tt_hlo_value *w, tt_hlo_value *at) {
  const int64_t axes[1] = {2};
  tt_hlo_value *hit =
      is(ctx, TT_HLO_EQ, tt_low_iota_like(ctx, w, 2), tt_hlo_unsqueeze(ctx->b, at, 2));
  return tt_hlo_reduce(ctx->b, TT_HLO_ADD, tt_low_select_const(ctx, hit, w, 0), axes, 1);
}

/* Element at [B, 1] of x [B, n]: [B, 1] */
static tt_hlo_value *at_of(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *at) {
  const int64_t axes[1] = {1};
  tt_hlo_value *hit = is(ctx, TT_HLO_EQ, tt_low_iota_like(ctx, x, 1), at);
  return tt_hlo_reduce_keep(ctx->b, TT_HLO_ADD, tt_low_select_const(ctx, hit, x, 0), axes, 1);
}

/* x [B, n] where pred, else 0 */
static tt_hlo_value *only(tt_low_ctx *ctx, tt_hlo_value *pred, tt_hlo_value *x) {
  return tt_low_select_const(ctx, pred, x, 0);
}

/* x [B, n] y [B, 1] */
static tt_hlo_value *scaled(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *y) {
  return tt_low_with(ctx, TT_HLO_MULTIPLY, x, y);
}

/* 0 1 2 ... n - 1 with p and q [B, 1] exchanged: s32 [B, n] */
static tt_hlo_value *exchange(tt_low_ctx *ctx, tt_hlo_value *like, tt_hlo_value *p,
                              tt_hlo_value *q) {
  tt_hlo_value *index = tt_low_iota_like(ctx, like, 1);
  tt_hlo_value *is_p = is(ctx, TT_HLO_EQ, index, p), *is_q = is(ctx, TT_HLO_EQ, index, q);
  tt_hlo_value *out = tt_hlo_select(ctx->b, is_q, tt_hlo_broadcast_like(ctx->b, p, index), index);
  return tt_hlo_select(ctx->b, is_p, tt_hlo_broadcast_like(ctx->b, q, index), out);
}

static tt_hlo_value *permuted_rows(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *order) {
  return tt_hlo_take_along(ctx->b, x, along_columns(ctx, order, x), 1);
}

typedef struct block {     /* of D, at a column */
  tt_hlo_value *a, *b, *c; /* [B, 1]: [[a, b], [b, c]], or a alone */
} block;

/* The first and second row of D^-1 [x; y]; rows [B, m]. single: pred [B, 1], then x / a. */
static void solve_block(tt_low_ctx *ctx, const block *d, tt_hlo_value *single, tt_hlo_value **x,
                        tt_hlo_value **y) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *one = tt_hlo_const_like(b, d->a, 1);
  tt_hlo_value *det = tt_hlo_sub(b, tt_hlo_mul(b, d->a, d->c), tt_hlo_mul(b, d->b, d->b));
  det = tt_hlo_select(b, single, one, det);
  tt_hlo_value *a = tt_hlo_select(b, tt_low_compare_const(ctx, TT_HLO_EQ, d->a, 0), one, d->a);
  tt_hlo_value *first = tt_hlo_sub(b, scaled(ctx, *x, d->c), scaled(ctx, *y, d->b));
  tt_hlo_value *second = tt_hlo_sub(b, scaled(ctx, *y, d->a), scaled(ctx, *x, d->b));
  first = tt_low_with(ctx, TT_HLO_DIVIDE, first, det);
  second = tt_low_with(ctx, TT_HLO_DIVIDE, second, det);
  tt_hlo_value *alone = tt_hlo_broadcast_like(b, single, first);
  *x = tt_hlo_select(b, alone, tt_low_with(ctx, TT_HLO_DIVIDE, *x, a), first);
  *y = tt_hlo_select(b, alone, tt_hlo_const_like(b, *y, 0), second);
}

/* ---- the factorization ---- */

typedef struct pivot {
  tt_hlo_value *with;   /* s32 [B, 1]: the row that the block's last one is exchanged with */
  tt_hlo_value *single; /* pred [B, 1]: a block of 1 */
  tt_hlo_value *zero;   /* pred [B, 1]: the column is zero */
} pivot;

static pivot choose_pivot(tt_low_ctx *ctx, tt_hlo_value *w, tt_hlo_value *k) {
  tt_hlo_build *b = ctx->b;
  const int64_t axes[1] = {1};
  tt_hlo_value *column = tt_hlo_abs(b, column_at(ctx, w, k)),
               *index = tt_low_iota_like(ctx, column, 1), *top, *at;
  tt_hlo_value *below = is(ctx, TT_HLO_GT, index, k), *here = at_of(ctx, column, k);
  tt_low_fold_pick(ctx, tt_low_select_const(ctx, below, column, -1), 1, true, &top, &at);
  top = tt_hlo_max(b, top, tt_hlo_const_like(b, top, 0));
  tt_hlo_value *row = tt_hlo_abs(b, row_at(ctx, w, at)), *other = at_of(ctx, row, at);
  tt_hlo_value *rest = tt_hlo_and(b, is(ctx, TT_HLO_GE, index, k), is(ctx, TT_HLO_NE, index, at));
  tt_hlo_value *row_top =
      tt_hlo_reduce_keep(b, TT_HLO_MAXIMUM, tt_low_select_const(ctx, rest, row, 0), axes, 1);
  tt_hlo_value *bound = tt_low_with_const(ctx, TT_HLO_MULTIPLY, top, alpha);
  tt_hlo_value *zero = tt_low_compare_const(ctx, TT_HLO_EQ, tt_hlo_max(b, here, top), 0);
  tt_hlo_value *stay = tt_hlo_or(b, zero, tt_hlo_compare(b, TT_HLO_GE, here, bound));
  stay = tt_hlo_or(
      b, stay,
      tt_hlo_compare(b, TT_HLO_GE, tt_hlo_mul(b, here, row_top), tt_hlo_mul(b, bound, top)));
  bound = tt_low_with_const(ctx, TT_HLO_MULTIPLY, row_top, alpha);
  tt_hlo_value *single = tt_hlo_or(b, stay, tt_hlo_compare(b, TT_HLO_GE, other, bound));
  return (pivot){tt_hlo_select(b, stay, k, at), single, zero};
}

/* Rows and columns p and q exchanged, from row and column k on. */
static tt_hlo_value *exchange_both(tt_low_ctx *ctx, tt_hlo_value *w, tt_hlo_value *k,
                                   tt_hlo_value *p, tt_hlo_value *q) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *wide = tt_hlo_unsqueeze(b, k, 2), *column = tt_low_iota_like(ctx, w, 2);
  tt_hlo_value *order = exchange(ctx, column_at(ctx, w, k), p, q);
  w = tt_hlo_select(b, is(ctx, TT_HLO_GE, column, wide), permuted_rows(ctx, w, order), w);
  tt_hlo_value *moved = tt_hlo_take_along(b, w, along_rows(ctx, order, w), 2);
  return tt_hlo_select(b, is(ctx, TT_HLO_GE, tt_low_iota_like(ctx, w, 1), wide), moved, w);
}

enum { STATE = 4 }; /* k [B, 1], w [B, n, n], pivots [B, n], info [B, 1] */

static void factor_step(tt_low_ctx *ctx, tt_hlo_value *const *in, tt_hlo_value **out) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *k = in[0], *w = in[1];
  pivot p = choose_pivot(ctx, w, k);
  tt_hlo_value *next = tt_low_with_const(ctx, TT_HLO_ADD, k, 1),
               *last = tt_hlo_select(b, p.single, k, next);
  w = exchange_both(ctx, w, k, last, p.with);
  tt_hlo_value *first = column_at(ctx, w, k), *second = column_at(ctx, w, next);
  block d = {at_of(ctx, first, k), at_of(ctx, first, next), at_of(ctx, second, next)};
  tt_hlo_value *index = tt_low_iota_like(ctx, first, 1), *under = is(ctx, TT_HLO_GT, index, last);
  tt_hlo_value *v1 = only(ctx, under, first), *v2 = only(ctx, under, second), *l1 = v1, *l2 = v2;
  solve_block(ctx, &d, p.single, &l1, &l2);
  tt_hlo_value *product =
      tt_hlo_add(b, tt_hlo_mul(b, along_columns(ctx, l1, w), along_rows(ctx, v1, w)),
                 tt_hlo_mul(b, along_columns(ctx, l2, w), along_rows(ctx, v2, w)));
  w = tt_hlo_sub(b, w, product);
  tt_hlo_value *row_under = along_columns(ctx, under, w), *column = tt_low_iota_like(ctx, w, 2);
  tt_hlo_value *at_first =
      tt_hlo_and(b, row_under, is(ctx, TT_HLO_EQ, column, tt_hlo_unsqueeze(b, k, 2)));
  tt_hlo_value *at_second =
      tt_hlo_and(b, row_under, is(ctx, TT_HLO_EQ, column, tt_hlo_unsqueeze(b, next, 2)));
  at_second = tt_hlo_and(
      b, at_second, tt_hlo_broadcast_like(b, tt_hlo_unsqueeze(b, tt_hlo_not(b, p.single), 2), w));
  w = tt_hlo_select(b, at_first, along_columns(ctx, l1, w), w);
  w = tt_hlo_select(b, at_second, along_columns(ctx, l2, w), w);
  tt_hlo_value *number = tt_low_with_const(ctx, TT_HLO_ADD, p.with, 1);
  number = tt_hlo_select(b, p.single, number, tt_hlo_neg(b, number));
  tt_hlo_value *mine = tt_hlo_and(b, is(ctx, TT_HLO_GE, index, k), is(ctx, TT_HLO_LE, index, last));
  tt_hlo_value *clean = tt_low_compare_const(ctx, TT_HLO_EQ, in[3], 0),
               *active = is(ctx, TT_HLO_LT, k, s32(ctx, w->type.dims[1]));
  out[0] = tt_hlo_select(b, active, tt_low_with_const(ctx, TT_HLO_ADD, last, 1), k);
  out[1] = tt_hlo_select(b, tt_hlo_broadcast_like(b, tt_hlo_unsqueeze(b, active, 2), w), w, in[1]);
  out[2] = tt_hlo_select(b, mine, tt_hlo_broadcast_like(b, number, in[2]), in[2]);
  out[3] = tt_hlo_select(b, tt_hlo_and(b, active, tt_hlo_and(b, clean, p.zero)), next, in[3]);
}

typedef void step_fn(tt_low_ctx *ctx, tt_hlo_value *const *in, tt_hlo_value **out);

/* `steps` times over `count` values */
static void repeat(tt_low_ctx *ctx, int64_t steps, step_fn *step, tt_hlo_value **values,
                   size_t count) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *inits[8] = {s32(ctx, 0)}, *in[8], *next[8], *out[8] = {NULL};
  tt_hlo_type types[8];
  for (size_t i = 0; i < count; i++)
    inits[i + 1] = values[i];
  for (size_t i = 0; i <= count; i++)
    types[i] = inits[i]->type;
  tt_hlo_region *cond = tt_hlo_region_open(b, types, count + 1);
  tt_hlo_value *more = tt_hlo_compare(b, TT_HLO_LT, tt_hlo_region_arg(b, cond, 0), s32(ctx, steps));
  tt_hlo_region_close(b, &more, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, types, count + 1);
  for (size_t i = 0; i < count; i++)
    in[i] = tt_hlo_region_arg(b, body, i + 1);
  next[0] = tt_hlo_add(b, tt_hlo_region_arg(b, body, 0), s32(ctx, 1));
  step(ctx, in, next + 1);
  tt_hlo_region_close(b, next, count + 1);
  tt_hlo_while(b, inits, count + 1, cond, body, out);
  for (size_t i = 0; i < count; i++)
    values[i] = out[i + 1];
}

static tt_error *refuse_complex(const tt_low_ctx *ctx, const tt_hlo_value *a) {
  if (!tt_dtype_is_complex(tt_hlo_dtype(a)))
    return NULL;
  return tt_error_new(TT_UNIMPLEMENTED, "%s: complex input", ctx->rule->overload);
}

static bool set_all_empty(tt_low_ctx *ctx, tt_hlo_value *a, tt_low_value *results) {
  if (!tt_low_mat_empty(a))
    return false;
  for (size_t i = 0; i < ctx->wanted_count; i++)
    tt_low_mat_set_empty(ctx, results, i, ctx->wanted[i].dtype);
  return true;
}

/* (A, hermitian, check_errors) -> (LD, pivots, info): the lower triangle counts, and is what LD has
 */
static tt_error *lower_ldl_factor(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                  tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  TT_RETURN_IF_ERROR(refuse_complex(ctx, args[0].tensor));
  if (set_all_empty(ctx, args[0].tensor, results))
    return NULL;
  tt_hlo_value *a = tt_low_mat_flat(ctx, args[0].tensor), *strict = tt_low_mat_lower(ctx, a, 1);
  a = tt_hlo_add(b, tt_low_mat_lower(ctx, a, 0), tt_low_mat_transpose(ctx, strict, false));
  const tt_hlo_dim batch = tt_hlo_dim_of(b, a, 0), n = tt_hlo_dim_of(b, a, 1);
  const tt_hlo_dim one[2] = {batch, tt_hlo_dim_number(1)}, line[2] = {batch, n};
  tt_hlo_value *zeros = tt_hlo_full(b, s32(ctx, 0), one, 2);
  tt_hlo_value *state[STATE] = {zeros, a, tt_hlo_full(b, s32(ctx, 0), line, 2), zeros};
  repeat(ctx, a->type.dims[1], factor_step, state, STATE);
  tt_low_set_fit(ctx, results, 0, tt_low_mat_lower(ctx, state[1], 0));
  tt_low_set_fit(ctx, results, 1, state[2]);
  tt_low_set_fit(ctx, results, 2, state[3]);
  return NULL;
}

/* ---- the solve ---- */

enum { SOLVE = 4 }; /* k [B, 1], x [B, n, m], LD [B, n, n], pivots [B, n] */

typedef struct place { /* the block at column k, going down: k is its first; going up: its last */
  tt_hlo_value *single, *first, *last, *with, *active;
} place;

static place place_of(tt_low_ctx *ctx, tt_hlo_value *const *in, bool down) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *k = in[0], *number = at_of(ctx, in[3], k);
  tt_hlo_value *single = tt_low_compare_const(ctx, TT_HLO_GT, number, 0);
  tt_hlo_value *beside = tt_low_with_const(ctx, TT_HLO_ADD, k, down ? 1 : -1),
               *other = tt_hlo_select(b, single, k, beside);
  tt_hlo_value *with = tt_low_with_const(ctx, TT_HLO_SUBTRACT, tt_hlo_abs(b, number), 1);
  tt_hlo_value *active = down ? is(ctx, TT_HLO_LT, k, s32(ctx, in[2]->type.dims[1]))
                              : tt_low_compare_const(ctx, TT_HLO_GE, k, 0);
  return (place){single, down ? k : other, down ? other : k, with, active};
}

static void set_solved(tt_low_ctx *ctx, tt_hlo_value *const *in, const place *p, tt_hlo_value *k,
                       tt_hlo_value *x, tt_hlo_value **out) {
  tt_hlo_build *b = ctx->b;
  out[0] = tt_hlo_select(b, p->active, k, in[0]);
  out[1] =
      tt_hlo_select(b, tt_hlo_broadcast_like(b, tt_hlo_unsqueeze(b, p->active, 2), x), x, in[1]);
  out[2] = in[2];
  out[3] = in[3];
}

/* Columns k (and, in a block of 2, the next) of L below the block: [B, n] */
static void columns_under(tt_low_ctx *ctx, tt_hlo_value *ld, const place *p, tt_hlo_value **l1,
                          tt_hlo_value **l2) {
  tt_hlo_build *b = ctx->b;
  *l1 = column_at(ctx, ld, p->first);
  tt_hlo_value *under = is(ctx, TT_HLO_GT, tt_low_iota_like(ctx, *l1, 1), p->last);
  *l1 = only(ctx, under, *l1);
  *l2 = only(ctx, under, column_at(ctx, ld, p->last));
  *l2 = only(ctx, tt_hlo_broadcast_like(b, tt_hlo_not(b, p->single), *l2), *l2);
}

/* x with rows `first` and (not single) `last` set to r1 and r2 [B, m] */
static tt_hlo_value *with_rows(tt_low_ctx *ctx, tt_hlo_value *x, const place *p, tt_hlo_value *r1,
                               tt_hlo_value *r2) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *row = tt_low_iota_like(ctx, x, 1);
  tt_hlo_value *at_first = is(ctx, TT_HLO_EQ, row, tt_hlo_unsqueeze(b, p->first, 2));
  tt_hlo_value *at_last = is(ctx, TT_HLO_EQ, row, tt_hlo_unsqueeze(b, p->last, 2));
  x = tt_hlo_select(b, at_last, along_rows(ctx, r2, x), x);
  return tt_hlo_select(b, at_first, along_rows(ctx, r1, x), x);
}

/* x = D^-1 L^-1 P x, a block at a time */
static void solve_down(tt_low_ctx *ctx, tt_hlo_value *const *in, tt_hlo_value **out) {
  tt_hlo_build *b = ctx->b;
  place p = place_of(ctx, in, true);
  tt_hlo_value *ld = in[2], *l1, *l2;
  tt_hlo_value *x = permuted_rows(ctx, in[1], exchange(ctx, in[3], p.last, p.with));
  columns_under(ctx, ld, &p, &l1, &l2);
  tt_hlo_value *r1 = row_at(ctx, x, p.first), *r2 = row_at(ctx, x, p.last);
  x = tt_hlo_sub(b, x, tt_hlo_mul(b, along_columns(ctx, l1, x), along_rows(ctx, r1, x)));
  x = tt_hlo_sub(b, x, tt_hlo_mul(b, along_columns(ctx, l2, x), along_rows(ctx, r2, x)));
  tt_hlo_value *first = column_at(ctx, ld, p.first), *last = column_at(ctx, ld, p.last);
  block d = {at_of(ctx, first, p.first), at_of(ctx, first, p.last), at_of(ctx, last, p.last)};
  solve_block(ctx, &d, p.single, &r1, &r2);
  set_solved(ctx, in, &p, tt_low_with_const(ctx, TT_HLO_ADD, p.last, 1),
             with_rows(ctx, x, &p, r1, r2), out);
}

/* sum over rows of l [B, n] x [B, n, m]: [B, m] */
static tt_hlo_value *weigh_rows(tt_low_ctx *ctx, tt_hlo_value *l, tt_hlo_value *x) {
  const int64_t axes[1] = {1};
  return tt_hlo_reduce(ctx->b, TT_HLO_ADD, tt_hlo_mul(ctx->b, along_columns(ctx, l, x), x), axes,
                       1);
}

/* x = P^T L^-T x, from the last block up */
static void solve_up(tt_low_ctx *ctx, tt_hlo_value *const *in, tt_hlo_value **out) {
  tt_hlo_build *b = ctx->b;
  place p = place_of(ctx, in, false);
  tt_hlo_value *x = in[1], *l1, *l2;
  columns_under(ctx, in[2], &p, &l1, &l2);
  tt_hlo_value *r1 = tt_hlo_sub(b, row_at(ctx, x, p.first), weigh_rows(ctx, l1, x));
  tt_hlo_value *r2 = tt_hlo_sub(b, row_at(ctx, x, p.last), weigh_rows(ctx, l2, x));
  x = permuted_rows(ctx, with_rows(ctx, x, &p, r1, r2), exchange(ctx, in[3], p.last, p.with));
  set_solved(ctx, in, &p, tt_low_with_const(ctx, TT_HLO_SUBTRACT, p.first, 1), x, out);
}

/* (LD, pivots, B, hermitian) */
static tt_error *lower_ldl_solve(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                 tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  size_t rank;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank);
  TT_RETURN_IF_ERROR(refuse_complex(ctx, args[0].tensor));
  if (set_all_empty(ctx, args[0].tensor, results) || set_all_empty(ctx, args[2].tensor, results))
    return NULL;
  tt_hlo_value *ld = tt_low_mat_flat(ctx, tt_low_mat_batch_as(ctx, args[0].tensor, dims, rank - 2));
  tt_hlo_value *y = tt_low_mat_flat(ctx, tt_low_mat_batch_as(ctx, args[2].tensor, dims, rank - 2));
  tt_hlo_value *pivots = tt_hlo_convert(b, args[1].tensor, TT_S32);
  pivots = tt_hlo_unsqueeze(b, pivots, tt_hlo_rank(pivots) - 1); /* as one-row matrices */
  pivots =
      tt_hlo_squeeze(b, tt_low_mat_flat(ctx, tt_low_mat_batch_as(ctx, pivots, dims, rank - 2)), 1);
  const int64_t n = ld->type.dims[1];
  const tt_hlo_dim one[2] = {tt_hlo_dim_of(b, ld, 0), tt_hlo_dim_number(1)};
  tt_hlo_value *state[SOLVE] = {tt_hlo_full(b, s32(ctx, 0), one, 2), y, ld, pivots};
  repeat(ctx, n, solve_down, state, SOLVE);
  state[0] = tt_hlo_full(b, s32(ctx, n - 1), one, 2);
  repeat(ctx, n, solve_up, state, SOLVE);
  tt_low_set_fit(ctx, results, 0, state[1]);
  return NULL;
}

const tt_low_rule tt_low_rules_linalg_ldl[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/linalg_ldl.def"
#undef X
};
const size_t tt_low_rules_linalg_ldl_count = TT_COUNT(tt_low_rules_linalg_ldl);
