/* Draws that need more than a formula of one number: multinomial by an exponential race or by the
 * inverse of the running sum; gamma, Poisson and binomial by rejection.
 *
 * Rejection draws a fixed number of rounds at once and takes the first accepted candidate, so that
 * the program has no loop whose length depends on the numbers. Each method accepts with probability
 * above 0.7 (gamma: 0.95), so the rounds all fail less than once in 10^8 (gamma 10^10) draws; then
 * the last candidate, clamped, is taken. */
#include <math.h>

#include "lower/rules/helpers_reduction.h"
#include "lower/rules/rules.h"

enum { GAMMA_ROUNDS = 8, REJECT_ROUNDS = 16, SEARCH_STEPS = 48 };

/* dims of `x` with a leading axis of `rounds` */
static const tt_hlo_dim *with_rounds(tt_low_ctx *ctx, tt_hlo_value *x, int rounds) {
  size_t rank = (size_t)tt_hlo_rank(x);
  tt_hlo_dim *from = tt_hlo_dims_of(ctx->b, x),
             *dims = tt_hlo_alloc(ctx->b, rank + 1, sizeof *dims);
  if (dims == NULL || (rank > 0 && from == NULL))
    return NULL;
  dims[0] = tt_hlo_dim_number(rounds);
  for (size_t i = 0; i < rank; i++)
    dims[i + 1] = from[i];
  return dims;
}

static tt_hlo_value *round_of(tt_low_ctx *ctx, tt_hlo_value *x, int round) {
  return tt_hlo_squeeze(ctx->b, tt_hlo_slice_axis(ctx->b, x, 0, round, round + 1, 1), 0);
}

/* Along axis 0, the first candidate whose `ok` holds, else the last. */
static tt_hlo_value *first_accepted(tt_low_ctx *ctx, tt_hlo_value *ok, tt_hlo_value *candidate,
                                    int rounds) {
  tt_hlo_value *out = round_of(ctx, candidate, rounds - 1);
  for (int i = rounds - 2; i >= 0; i--)
    out = tt_hlo_select(ctx->b, round_of(ctx, ok, i), round_of(ctx, candidate, i), out);
  return out;
}

static tt_hlo_value *uniform_like(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_low_random_uniform(ctx, tt_hlo_dtype(x), tt_hlo_dims_of(ctx->b, x),
                               (size_t)tt_hlo_rank(x));
}

static tt_hlo_value *rounds_uniform(tt_low_ctx *ctx, tt_hlo_value *x, int rounds) {
  return tt_low_random_uniform(ctx, tt_hlo_dtype(x), with_rounds(ctx, x, rounds),
                               (size_t)tt_hlo_rank(x) + 1);
}

static tt_hlo_value *plus(tt_low_ctx *ctx, tt_hlo_value *x, double y) {
  return tt_low_with_const(ctx, TT_HLO_ADD, x, y);
}
static tt_hlo_value *times(tt_low_ctx *ctx, tt_hlo_value *x, double y) {
  return tt_low_with_const(ctx, TT_HLO_MULTIPLY, x, y);
}
/* y / x */
static tt_hlo_value *over(tt_low_ctx *ctx, double y, tt_hlo_value *x) {
  return tt_hlo_div(ctx->b, tt_hlo_const_like(ctx->b, x, y), x);
}
static tt_hlo_value *floor_of(tt_low_ctx *ctx, tt_hlo_value *x) { return tt_hlo_floor(ctx->b, x); }
static tt_hlo_value *lgamma_of(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_op1(ctx->b, TT_HLO_CHLO_LGAMMA, x);
}

/* ---- multinomial ---- */

/* weight / Exp(1): its order is that of drawing without replacement, its largest one draw
 * (Efraimidis and Spirakis) */
static tt_hlo_value *race(tt_low_ctx *ctx, tt_hlo_value *weights) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *u =
      tt_hlo_max(b, uniform_like(ctx, weights), tt_hlo_const_like(b, weights, 0x1p-25));
  return tt_hlo_div(b, weights, tt_hlo_neg(b, tt_hlo_log1p(b, tt_hlo_neg(b, u))));
}

/* For each of s numbers u in [0, 1) the first category whose running sum passes u * total. weights
 * [m, n] -> s32 [m, s]. u * total is kept below the total, where only a category of weight 0 could
 * follow. */
static tt_hlo_value *invert_sum(tt_low_ctx *ctx, tt_hlo_value *weights, int64_t samples) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_hlo_dtype(weights);
  int64_t n = weights->type.dims[1];
  const int64_t window_dims[2] = {1, n}, low[2] = {0, n - 1}, last[1] = {2};
  const tt_hlo_window window = {.dims = window_dims, .pad_low = low};
  tt_hlo_value *sums =
      tt_hlo_reduce_window(b, TT_HLO_ADD, weights, tt_hlo_const(b, dtype, 0), &window);
  tt_hlo_value *total = tt_hlo_slice_axis(b, sums, 1, n - 1, n, 1);
  tt_hlo_dim dims[3] = {tt_hlo_dim_of(b, weights, 0), tt_hlo_dim_number(samples),
                        tt_hlo_dim_number(n)};
  tt_hlo_value *u = tt_low_random_uniform(ctx, dtype, dims, 2);
  tt_hlo_value *at = tt_low_with(ctx, TT_HLO_MULTIPLY, u, total);
  tt_hlo_value *below = times(ctx, total, dtype == TT_F64 ? 1 - 0x1p-53 : 1 - 0x1p-24);
  at = tt_hlo_min(b, at, tt_hlo_broadcast_like(b, below, at));
  tt_hlo_value *lhs = tt_hlo_broadcast_to(b, tt_hlo_unsqueeze(b, sums, 1), dims, 3);
  tt_hlo_value *rhs = tt_hlo_broadcast_to(b, tt_hlo_unsqueeze(b, at, 2), dims, 3);
  tt_hlo_value *passed = tt_hlo_convert(b, tt_hlo_compare(b, TT_HLO_LE, lhs, rhs), TT_S32);
  tt_hlo_value *index = tt_hlo_reduce(b, TT_HLO_ADD, passed, last, 1);
  return tt_hlo_min(b, index, tt_hlo_const_like(b, index, (double)(n - 1)));
}

/* (self, num_samples, replacement, generator): self [n] or [m, n], weights not normalized */
static tt_error *lower_multinomial(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                   tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *weights = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor))),
               *index, *value;
  int64_t samples = tt_low_int(ctx, &args[1], 1);
  bool one = tt_hlo_rank(weights) == 1;
  if (one)
    weights = tt_hlo_unsqueeze(b, weights, 0);
  if (weights->type.dims[1] == TT_HLO_DYNAMIC)
    return tt_error_new(TT_UNIMPLEMENTED, "aten::multinomial: an unknown number of categories");
  if (samples == 1)
    tt_low_fold_pick(ctx, race(ctx, weights), 1, true, &value, &index);
  else if (tt_low_bool(ctx, &args[2], false))
    index = invert_sum(ctx, weights, samples);
  else
    tt_hlo_top_k(b, race(ctx, weights), samples, &value, &index);
  tt_low_set(&results[0], one ? tt_hlo_squeeze(b, index, 0) : index);
  return NULL;
}

/* ---- gamma ---- */

/* Marsaglia and Tsang (2000): d (1 + c x)^3, x normal, d = a - 1/3, c = 1 / sqrt(9 d); a < 1:
 * gamma(a + 1) u^(1/a) */
static tt_hlo_value *standard_gamma(tt_low_ctx *ctx, tt_hlo_value *alpha) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *small = tt_low_compare_const(ctx, TT_HLO_LT, alpha, 1);
  tt_hlo_value *a = tt_hlo_select(b, small, plus(ctx, alpha, 1), alpha);
  tt_hlo_value *d = plus(ctx, a, -1.0 / 3), *c = tt_hlo_rsqrt(b, times(ctx, d, 9));
  const tt_hlo_dim *dims = with_rounds(ctx, alpha, GAMMA_ROUNDS);
  tt_hlo_value *x = tt_low_random_normal(ctx, tt_hlo_dtype(a), dims, (size_t)tt_hlo_rank(a) + 1);
  tt_hlo_value *u = tt_low_random_uniform(ctx, tt_hlo_dtype(a), dims, (size_t)tt_hlo_rank(a) + 1);
  tt_hlo_value *root = plus(ctx, tt_low_with(ctx, TT_HLO_MULTIPLY, x, c), 1);
  tt_hlo_value *positive = tt_low_compare_const(ctx, TT_HLO_GT, root, 0);
  root = tt_low_select_const(ctx, positive, root, 1);
  tt_hlo_value *v = tt_hlo_mul(b, root, tt_hlo_mul(b, root, root));
  /* log u < x^2 / 2 + d (1 - v + log v) */
  tt_hlo_value *bound = tt_hlo_add(b, plus(ctx, tt_hlo_neg(b, v), 1), tt_hlo_log(b, v));
  bound = tt_low_with(ctx, TT_HLO_MULTIPLY, bound, d);
  bound = tt_hlo_add(b, bound, times(ctx, tt_hlo_mul(b, x, x), 0.5));
  tt_hlo_value *ok = tt_hlo_and(b, positive, tt_hlo_compare(b, TT_HLO_LT, tt_hlo_log(b, u), bound));
  tt_hlo_value *out = tt_hlo_mul(b, first_accepted(ctx, ok, v, GAMMA_ROUNDS), d);
  tt_hlo_value *shrink =
      tt_hlo_log1p(b, tt_hlo_neg(b, uniform_like(ctx, alpha))); /* log of a number in (0, 1] */
  shrink = tt_hlo_exp(b, tt_hlo_div(b, shrink, alpha));
  return tt_hlo_select(b, small, tt_hlo_mul(b, out, shrink), out);
}

static tt_error *lower_standard_gamma(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                      tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *alpha = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  tt_hlo_value *x = standard_gamma(ctx, alpha);
  double tiny = tt_hlo_dtype(args[0].tensor) == TT_F16 ? 0x1p-14
                : tt_hlo_dtype(x) == TT_F64            ? 0x1p-1022
                                                       : 0x1p-126;
  tt_low_set(&results[0], tt_hlo_max(ctx->b, x, tt_hlo_const_like(ctx->b, x, tiny)));
  return NULL;
}

/* gammas over their sum along the last axis */
static tt_error *lower_dirichlet(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                 tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *alpha = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  const int64_t axes[1] = {tt_hlo_rank(alpha) - 1};
  tt_hlo_value *x = standard_gamma(ctx, alpha);
  tt_low_set(&results[0],
             tt_low_with(ctx, TT_HLO_DIVIDE, x, tt_low_fold(ctx, TT_HLO_ADD, x, axes, 1, true)));
  return NULL;
}

/* ---- Poisson, binomial: inversion for small means, transformed rejection for large ones ---- */

/* What a sequential search starts from and how it goes on: P(0), and P(k) = P(k - 1) (ratio / k -
 * lift). Poisson: ratio = rate, lift = 0. Binomial: with odds o = p / (1 - p): ratio = (n + 1) o,
 * lift = o. */
static tt_hlo_value *search(tt_low_ctx *ctx, tt_hlo_value *first, tt_hlo_value *ratio,
                            tt_hlo_value *lift) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_hlo_dtype(first);
  tt_hlo_value *u = uniform_like(ctx, first);
  tt_hlo_value *inits[5] = {tt_hlo_const(b, dtype, 1), first, first, tt_hlo_const_like(b, first, 0),
                            u},
               *out[5];
  tt_hlo_type types[5];
  for (int i = 0; i < 5; i++)
    types[i] = inits[i]->type;
  tt_hlo_region *cond = tt_hlo_region_open(b, types, 5);
  tt_hlo_value *more = tt_hlo_compare(b, TT_HLO_LT, tt_hlo_region_arg(b, cond, 0),
                                      tt_hlo_const(b, dtype, SEARCH_STEPS));
  tt_hlo_region_close(b, &more, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, types, 5);
  tt_hlo_value *k = tt_hlo_region_arg(b, body, 0), *p = tt_hlo_region_arg(b, body, 1);
  tt_hlo_value *sum = tt_hlo_region_arg(b, body, 2), *count = tt_hlo_region_arg(b, body, 3);
  tt_hlo_value *draw = tt_hlo_region_arg(b, body, 4);
  tt_hlo_value *above = tt_hlo_convert(b, tt_hlo_compare(b, TT_HLO_GE, draw, sum), dtype);
  tt_hlo_value *step = tt_hlo_sub(b, tt_low_with(ctx, TT_HLO_DIVIDE, ratio, k), lift);
  p = tt_hlo_mul(b, p, tt_hlo_max(b, step, tt_hlo_const_like(b, step, 0)));
  tt_hlo_value *next[5] = {tt_hlo_add(b, k, tt_hlo_const(b, dtype, 1)), p, tt_hlo_add(b, sum, p),
                           tt_hlo_add(b, count, above), draw};
  tt_hlo_region_close(b, next, 5);
  tt_hlo_while(b, inits, 5, cond, body, out);
  return out[3];
}

/* Candidates floor((2 a / us + b) U + centre) of Hormann's method, us = 1/2 - |U|; the quick test
 * us >= 0.07, V <= vr. */
typedef struct hat {
  tt_hlo_value *k, *us, *v, *quick, *a, *b;
} hat;

static hat hat_of(tt_low_ctx *ctx, tt_hlo_value *spread, tt_hlo_value *centre, double a0, double a1,
                  tt_hlo_value *vr, tt_hlo_value *extra) {
  tt_hlo_build *b = ctx->b;
  hat h = {.b = spread};
  tt_hlo_value *u = plus(ctx, rounds_uniform(ctx, spread, REJECT_ROUNDS), -0.5);
  h.v = rounds_uniform(ctx, spread, REJECT_ROUNDS);
  h.us = plus(ctx, tt_hlo_neg(b, tt_hlo_abs(b, u)), 0.5);
  h.us = tt_hlo_max(b, h.us, tt_hlo_const_like(b, h.us, 1e-7));
  h.a = plus(ctx, times(ctx, spread, a1), a0);
  if (extra != NULL)
    h.a = tt_hlo_add(b, h.a, extra);
  tt_hlo_value *slope = tt_hlo_div(b, tt_hlo_broadcast_like(b, times(ctx, h.a, 2), h.us), h.us);
  slope = tt_low_with(ctx, TT_HLO_ADD, slope, spread);
  h.k = floor_of(ctx, tt_low_with(ctx, TT_HLO_ADD, tt_hlo_mul(b, slope, u), centre));
  h.quick = tt_hlo_and(b, tt_low_compare_const(ctx, TT_HLO_GE, h.us, 0.07),
                       tt_hlo_compare(b, TT_HLO_LE, h.v, tt_hlo_broadcast_like(b, vr, h.v)));
  return h;
}

/* log(V scale / (a / us^2 + b)), to be compared with the log density */
static tt_hlo_value *hat_log(tt_low_ctx *ctx, const hat *h, tt_hlo_value *scale) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *width =
      tt_hlo_div(b, tt_hlo_broadcast_like(b, h->a, h->us), tt_hlo_mul(b, h->us, h->us));
  width = tt_low_with(ctx, TT_HLO_ADD, width, h->b);
  return tt_hlo_log(b, tt_hlo_div(b, tt_low_with(ctx, TT_HLO_MULTIPLY, h->v, scale), width));
}

/* PTRS of Hormann (1993), "The transformed rejection method for generating Poisson random
 * variables", for rate >= 10 */
static tt_hlo_value *poisson_reject(tt_low_ctx *ctx, tt_hlo_value *rate) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *spread = plus(ctx, times(ctx, tt_hlo_sqrt(b, rate), 2.53), 0.931);
  tt_hlo_value *scale = plus(ctx, over(ctx, 1.1328, plus(ctx, spread, -3.4)), 1.1239);
  tt_hlo_value *vr = plus(ctx, over(ctx, -3.6224, plus(ctx, spread, -2)), 0.9277);
  hat h = hat_of(ctx, spread, plus(ctx, rate, 0.43), -0.059, 0.02483, vr, NULL);
  tt_hlo_value *k = tt_hlo_max(b, h.k, tt_hlo_const_like(b, h.k, 0));
  /* log density: k log(rate) - rate - log k! */
  tt_hlo_value *density = tt_low_with(ctx, TT_HLO_MULTIPLY, k, tt_hlo_log(b, rate));
  density = tt_low_with(ctx, TT_HLO_SUBTRACT, density, rate);
  density = tt_hlo_sub(b, density, lgamma_of(ctx, plus(ctx, k, 1)));
  tt_hlo_value *ok = tt_hlo_compare(b, TT_HLO_LE, hat_log(ctx, &h, scale), density);
  ok = tt_hlo_and(b, ok, tt_low_compare_const(ctx, TT_HLO_GE, h.k, 0));
  return first_accepted(ctx, tt_hlo_or(b, h.quick, ok), k, REJECT_ROUNDS);
}

/* (self: rates, generator) */
static tt_error *lower_poisson(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                               tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *rate = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  tt_hlo_value *ten = tt_hlo_const_like(b, rate, 10),
               *large = tt_hlo_compare(b, TT_HLO_GE, rate, ten);
  tt_hlo_value *low = tt_hlo_min(b, rate, ten);
  tt_hlo_value *few =
      search(ctx, tt_hlo_exp(b, tt_hlo_neg(b, low)), low, tt_hlo_const_like(b, rate, 0));
  tt_low_set(&results[0],
             tt_hlo_select(b, large, poisson_reject(ctx, tt_hlo_max(b, rate, ten)), few));
  return NULL;
}

/* BTRS of Hormann (1993), "The generation of binomial random variates", for n p >= 10, p <= 1/2 */
static tt_hlo_value *binomial_reject(tt_low_ctx *ctx, tt_hlo_value *n, tt_hlo_value *p) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *q = plus(ctx, tt_hlo_neg(b, p), 1), *mean = tt_hlo_mul(b, n, p);
  tt_hlo_value *sigma = tt_hlo_sqrt(b, tt_hlo_mul(b, mean, q));
  tt_hlo_value *spread = plus(ctx, times(ctx, sigma, 2.53), 1.15);
  tt_hlo_value *vr = plus(ctx, over(ctx, -4.2, spread), 0.92);
  tt_hlo_value *scale = tt_hlo_mul(b, plus(ctx, over(ctx, 5.1, spread), 2.83), sigma);
  hat h = hat_of(ctx, spread, plus(ctx, mean, 0.5), -0.0873, 0.0248, vr, times(ctx, p, 0.01));
  tt_hlo_value *k = tt_hlo_max(b, h.k, tt_hlo_const_like(b, h.k, 0));
  tt_hlo_value *top = tt_hlo_broadcast_like(b, n, k);
  k = tt_hlo_min(b, k, top);
  tt_hlo_value *inside = tt_hlo_compare(b, TT_HLO_EQ, k, h.k);
  /* log density over that at the mode m = floor((n + 1) p): log m! (n-m)! / (k! (n-k)!) + (k - m)
   * log(p / q) */
  tt_hlo_value *mode = floor_of(ctx, tt_hlo_mul(b, plus(ctx, n, 1), p));
  tt_hlo_value *at_mode = tt_hlo_add(b, lgamma_of(ctx, plus(ctx, mode, 1)),
                                     lgamma_of(ctx, plus(ctx, tt_hlo_sub(b, n, mode), 1)));
  tt_hlo_value *at_k = tt_hlo_add(b, lgamma_of(ctx, plus(ctx, k, 1)),
                                  lgamma_of(ctx, plus(ctx, tt_hlo_sub(b, top, k), 1)));
  tt_hlo_value *odds = tt_low_with(ctx, TT_HLO_MULTIPLY, tt_low_with(ctx, TT_HLO_SUBTRACT, k, mode),
                                   tt_hlo_log(b, tt_hlo_div(b, p, q)));
  tt_hlo_value *density =
      tt_hlo_add(b, tt_hlo_sub(b, tt_hlo_broadcast_like(b, at_mode, at_k), at_k), odds);
  tt_hlo_value *ok = tt_hlo_compare(b, TT_HLO_LE, hat_log(ctx, &h, scale), density);
  ok = tt_hlo_and(b, inside, tt_hlo_or(b, h.quick, ok));
  return first_accepted(ctx, ok, k, REJECT_ROUNDS);
}

/* (count, prob, generator); p > 1/2 counts the failures instead */
static tt_error *lower_binomial(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *n = tt_low_tensor(ctx, &args[0], dtype), *p = tt_low_tensor(ctx, &args[1], dtype);
  tt_low_broadcast2(ctx, &n, &p);
  tt_hlo_value *half = tt_hlo_const_like(b, p, 0.5), *one = tt_hlo_const_like(b, p, 1);
  tt_hlo_value *flip = tt_hlo_compare(b, TT_HLO_GT, p, half);
  tt_hlo_value *low = tt_hlo_select(b, flip, tt_hlo_sub(b, one, p), p);
  tt_hlo_value *ten = tt_hlo_const_like(b, p, 10),
               *large = tt_hlo_compare(b, TT_HLO_GE, tt_hlo_mul(b, n, low), ten);
  tt_hlo_value *odds = tt_hlo_div(b, low, tt_hlo_sub(b, one, low));
  tt_hlo_value *few_n = tt_hlo_select(b, large, one, n);
  tt_hlo_value *first = tt_hlo_exp(b, tt_hlo_mul(b, few_n, tt_hlo_log1p(b, tt_hlo_neg(b, low))));
  tt_hlo_value *few = search(ctx, first, tt_hlo_mul(b, tt_hlo_add(b, few_n, one), odds), odds);
  few = tt_hlo_min(b, few, n);
  tt_hlo_value *many = binomial_reject(ctx, tt_hlo_select(b, large, n, tt_hlo_const_like(b, n, 40)),
                                       tt_hlo_select(b, large, low, half));
  tt_hlo_value *out = tt_hlo_select(b, large, many, few);
  tt_low_set(&results[0], tt_hlo_select(b, flip, tt_hlo_sub(b, n, out), out));
  return NULL;
}

const tt_low_rule tt_low_rules_sampling[] = {
#define X(overload, function, traits, data) \
  {overload, lower_##function, TT_LOW_RANDOM | (traits), data, NULL},
#include "lower/rules/sampling.def"
#undef X
};
const size_t tt_low_rules_sampling_count = TT_COUNT(tt_low_rules_sampling);
