/* Distances between rows: cdist between two sets, pdist within one; p-norms of differences. */
#include <math.h>

#include "lower/rules/helpers_indexing.h"
#include "lower/rules/helpers_pointwise.h"
#include "lower/rules/rules.h"

/* ---- one norm over the last axis of the differences ---- */

/* diff [..., d] -> [...]: the count of what is not zero for p = 0, the largest for p = inf */
static tt_hlo_value *norm_of(tt_low_ctx *ctx, tt_hlo_value *diff, double p) {
  tt_hlo_build *b = ctx->b;
  const int64_t last[1] = {tt_hlo_rank(diff) - 1};
  tt_hlo_value *size = tt_hlo_abs(b, diff);
  if (diff->type.dims[last[0]] == 0)
    return tt_hlo_reduce(b, TT_HLO_ADD, size, last, 1);
  if (p == 0)
    size = tt_hlo_convert(b, tt_low_compare_const(ctx, TT_HLO_NE, diff, 0), tt_hlo_dtype(diff));
  else if (p == 2)
    size = tt_hlo_mul(b, diff, diff);
  else if (p != 1 && !isinf(p))
    size = tt_hlo_pow(b, size, tt_hlo_const_like(b, size, p));
  size = tt_hlo_reduce(b, isinf(p) ? TT_HLO_MAXIMUM : TT_HLO_ADD, size, last, 1);
  if (p == 2)
    return tt_hlo_sqrt(b, size);
  return p == 0 || p == 1 || isinf(p) ? size
                                      : tt_hlo_pow(b, size, tt_hlo_const_like(b, size, 1 / p));
}

/* x^power, 0 at 0 whatever the power. */
static tt_hlo_value *power_of(tt_low_ctx *ctx, tt_hlo_value *x, double power) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *zero = tt_low_is_zero(b, x), *one = tt_hlo_const_like(b, x, 1);
  tt_hlo_value *y = tt_hlo_pow(b, tt_hlo_select(b, zero, one, x), tt_hlo_const_like(b, x, power));
  return tt_low_select_number(b, zero, 0, y);
}

/* The norm's gradient in `diff`; grad and dist are broadcast to its dims. For p in (1, inf)
 * sign(diff) |diff|^(p - 1) / dist^(p - 1), 0 where dist is. */
static tt_hlo_value *norm_slope(tt_low_ctx *ctx, tt_hlo_value *diff, tt_hlo_value *grad,
                                tt_hlo_value *dist, double p) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *sign = tt_hlo_sign(b, diff), *zero = tt_hlo_const_like(b, diff, 0), *slope;
  if (p == 0)
    return zero;
  if (p == 1)
    return tt_hlo_mul(b, grad, sign);
  if (isinf(p)) {
    tt_hlo_value *largest = tt_hlo_compare(b, TT_HLO_EQ, tt_hlo_abs(b, diff), dist);
    return tt_hlo_select(b, largest, tt_hlo_mul(b, grad, sign), zero);
  }
  tt_hlo_value *none = tt_low_is_zero(b, dist), *divisor = tt_low_select_number(b, none, 1, dist);
  if (p == 2)
    slope = tt_hlo_div(b, diff, divisor);
  else
    slope = tt_hlo_mul(b, sign,
                       tt_hlo_div(b, power_of(ctx, tt_hlo_abs(b, diff), p - 1),
                                  tt_hlo_pow(b, divisor, tt_hlo_const_like(b, divisor, p - 1))));
  return tt_hlo_select(b, none, zero, tt_hlo_mul(b, grad, slope));
}

static tt_hlo_value *in_math(tt_low_ctx *ctx, const tt_low_value *arg) {
  return tt_low_tensor(ctx, arg, tt_low_opmath(tt_hlo_dtype(arg->tensor)));
}

/* [..., d] as the last axis of `like`'s dims, or [...] as all but it */
static tt_hlo_value *over_last(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *like) {
  return tt_hlo_broadcast_like(ctx->b, tt_hlo_unsqueeze(ctx->b, x, tt_hlo_rank(x)), like);
}

static bool is_empty(const tt_hlo_value *x) {
  for (int i = 0; i < tt_hlo_rank(x); i++)
    if (x->type.dims[i] == 0)
      return true;
  return false;
}

static void set_wanted_zeros(tt_low_ctx *ctx, tt_dtype dtype, tt_low_value *results) {
  size_t rank = 0;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank);
  tt_low_set(&results[0], tt_low_zeros(ctx, dtype, dims, rank));
}

/* ---- cdist ---- */

/* x [..., m, d] and y [..., n, d] -> x_i - y_j: [..., m, n, d], batch dims broadcast */
static tt_hlo_value *differences(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *y) {
  x = tt_hlo_unsqueeze(ctx->b, x, tt_hlo_rank(x) - 1);
  y = tt_hlo_unsqueeze(ctx->b, y, tt_hlo_rank(y) - 2);
  tt_low_broadcast2(ctx, &x, &y);
  return tt_hlo_sub(ctx->b, x, y);
}

/* (x1, x2, p, compute_mode): the mode, whether to go by a matrix product, is about speed alone */
static tt_error *lower_cdist(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                             tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *diff = differences(ctx, in_math(ctx, &args[0]), in_math(ctx, &args[1]));
  tt_low_set_fit(ctx, results, 0, norm_of(ctx, diff, tt_low_double(ctx, &args[2], 2)));
  return NULL;
}

/* (grad, x1, x2, p, cdist) -> the gradient of x1, batch dims broadcast; autograd sums over those */
static tt_error *lower_cdist_backward(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                      tt_low_value *results) {
  (void)args_count;
  if (is_empty(args[4].tensor) || is_empty(args[1].tensor)) { /* then PyTorch does not broadcast */
    set_wanted_zeros(ctx, tt_hlo_dtype(args[1].tensor), results);
    return NULL;
  }
  tt_hlo_value *diff = differences(ctx, in_math(ctx, &args[1]), in_math(ctx, &args[2]));
  tt_hlo_value *grad = over_last(ctx, in_math(ctx, &args[0]), diff);
  tt_hlo_value *dist = over_last(ctx, in_math(ctx, &args[4]), diff);
  const int64_t others[1] = {tt_hlo_rank(diff) - 2};
  diff = norm_slope(ctx, diff, grad, dist, tt_low_double(ctx, &args[3], 2));
  tt_low_set_fit(ctx, results, 0, tt_hlo_reduce(ctx->b, TT_HLO_ADD, diff, others, 1));
  return NULL;
}

/* ---- pdist: pairs i < j in the order (0, 1), (0, 2), ..., (1, 2), ... ---- */

typedef struct pairs {
  tt_hlo_value *i, *j; /* s32 [n (n - 1) / 2] */
} pairs;

/* Pairs before those of row i: i n - i (i + 1) / 2 */
static tt_hlo_value *first_of_row(tt_low_ctx *ctx, tt_hlo_value *i, int64_t n) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *below = tt_hlo_mul(b, i, tt_low_add_number(b, i, 1));
  below = tt_hlo_div(b, below, tt_hlo_const_like(b, below, 2));
  return tt_hlo_sub(b, tt_low_mul_number(b, i, (double)n), below);
}

/* Pair k is in row i = floor(n - 1/2 - sqrt((n - 1/2)^2 - 2 k)), which rounding may put one off. */
static pairs pairs_of(tt_low_ctx *ctx, int64_t n) {
  tt_hlo_build *b = ctx->b;
  const tt_hlo_dim count = tt_hlo_dim_number(n * (n - 1) / 2);
  double middle = (double)n - 0.5;
  tt_hlo_value *k = tt_hlo_iota(b, TT_S64, &count, 1, 0);
  tt_hlo_value *root = tt_low_mul_number(b, tt_hlo_convert(b, k, TT_F64), -2);
  root = tt_hlo_sqrt(b, tt_low_add_number(b, root, middle * middle));
  tt_hlo_value *i =
      tt_hlo_convert(b, tt_hlo_floor(b, tt_low_number_minus(b, middle, root)), TT_S64);
  tt_hlo_value *high = tt_hlo_compare(b, TT_HLO_GT, first_of_row(ctx, i, n), k);
  i = tt_hlo_sub(b, i, tt_hlo_convert(b, high, TT_S64));
  tt_hlo_value *low =
      tt_hlo_compare(b, TT_HLO_LE, first_of_row(ctx, tt_low_add_number(b, i, 1), n), k);
  i = tt_hlo_add(b, i, tt_hlo_convert(b, low, TT_S64));
  tt_hlo_value *j = tt_hlo_sub(b, k, first_of_row(ctx, i, n));
  j = tt_low_add_number(b, tt_hlo_add(b, j, i), 1);
  return (pairs){tt_hlo_convert(b, i, TT_S32), tt_hlo_convert(b, j, TT_S32)};
}

static tt_hlo_value *pair_differences(tt_low_ctx *ctx, tt_hlo_value *x, const pairs *p) {
  return tt_hlo_sub(ctx->b, tt_hlo_take(ctx->b, x, p->i, 0), tt_hlo_take(ctx->b, x, p->j, 0));
}

/* Whether there is no pair, or nothing that could differ: then the result holds zeros. */
static bool set_zeros(tt_low_ctx *ctx, tt_hlo_value *x, tt_low_value *results) {
  if (tt_low_size(ctx, x, 0) > 1 && tt_low_size(ctx, x, 1) > 0)
    return false;
  set_wanted_zeros(ctx, tt_hlo_dtype(x), results);
  return true;
}

/* (self, p) */
static tt_error *lower_pdist(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                             tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = in_math(ctx, &args[0]);
  if (set_zeros(ctx, x, results))
    return NULL;
  pairs p = pairs_of(ctx, tt_low_size(ctx, x, 0));
  tt_low_set(&results[0],
             norm_of(ctx, pair_differences(ctx, x, &p), tt_low_double(ctx, &args[1], 2)));
  return NULL;
}

/* (grad, self, p, pdist) */
static tt_error *lower_pdist_backward(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                      tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = in_math(ctx, &args[1]);
  if (set_zeros(ctx, x, results))
    return NULL;
  pairs p = pairs_of(ctx, tt_low_size(ctx, x, 0));
  tt_hlo_value *diff = pair_differences(ctx, x, &p);
  tt_hlo_value *grad = over_last(ctx, in_math(ctx, &args[0]), diff);
  diff = norm_slope(ctx, diff, grad, over_last(ctx, in_math(ctx, &args[3]), diff),
                    tt_low_double(ctx, &args[2], 2));
  tt_hlo_value *dx = tt_hlo_const_like(ctx->b, x, 0);
  dx = tt_low_put_rows(ctx, dx, p.i, diff, 0, TT_HLO_COMBINE_ADD);
  tt_low_set(&results[0],
             tt_low_put_rows(ctx, dx, p.j, tt_hlo_neg(ctx->b, diff), 0, TT_HLO_COMBINE_ADD));
  return NULL;
}

const tt_low_rule tt_low_rules_distance[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/distance.def"
#undef X
};
const size_t tt_low_rules_distance_count = TT_COUNT(tt_low_rules_distance);
