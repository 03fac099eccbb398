/* Special functions that need a loop: incomplete gamma functions and orthogonal polynomials. Loops
 * carry whole tensors and run until every element is done. */
#include <math.h>

#include "lower/rules/helpers_reduction.h"
#include "lower/rules/special_internal.h"

static const double pi = 3.14159265358979323846;
enum { STATE_MAX = 8, STEPS_MAX = 2000 };

/* One step: `state` in, `next` out, both [count]. The state's first member is the step's number, a
 * scalar s32 that the loop itself counts. */
typedef void (*step_fn)(tt_hlo_build *b, tt_hlo_value *number, tt_hlo_value *const *state,
                        tt_hlo_value **next, int64_t kind);
/* pred, scalar: go on. */
typedef tt_hlo_value *(*more_fn)(tt_low_ctx *ctx, tt_hlo_value *const *state);

typedef struct loop {
  size_t count;
  step_fn step;
  more_fn more;
  int64_t kind;
} loop;

static void args_of(tt_hlo_build *b, tt_hlo_region *region, size_t count, tt_hlo_value **args) {
  for (size_t i = 0; i < count; i++)
    args[i] = tt_hlo_region_arg(b, region, i);
}

static void run_loop(tt_low_ctx *ctx, const loop *l, tt_hlo_value **state) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_type types[STATE_MAX];
  tt_hlo_value *now[STATE_MAX], *next[STATE_MAX];
  for (size_t i = 0; i < l->count; i++)
    types[i] = state[i]->type;
  tt_hlo_region *cond = tt_hlo_region_open(b, types, l->count);
  args_of(b, cond, l->count, now);
  tt_hlo_value *more = l->more(ctx, now);
  tt_hlo_region_close(b, &more, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, types, l->count);
  args_of(b, body, l->count, now);
  for (size_t i = 0; i < l->count; i++)
    next[i] = now[i];
  next[0] = tt_low_add_number(b, now[0], 1);
  l->step(b, now[0], now, next, l->kind);
  tt_hlo_region_close(b, next, l->count);
  tt_hlo_while(b, state, l->count, cond, body, state);
}

/* ---- P(a, x) and Q(a, x) = 1 - P ---- */

/* x^a exp(-x) / Gamma(a + 1). From a = 10 on by Stirling's series, which keeps the large powers
 * from cancelling: exp(a (log1p(d) - d)) / sqrt(2 pi a) / exp(1 / (12 a) - 1 / (360 a^3)), d = (x -
 * a) / a. */
static tt_hlo_value *gamma_factor(tt_hlo_build *b, tt_hlo_value *a, tt_hlo_value *x) {
  tt_hlo_value *plain = tt_hlo_sub(b, tt_hlo_mul(b, a, tt_hlo_log(b, x)), x);
  plain = tt_hlo_exp(
      b, tt_hlo_sub(b, plain, tt_hlo_op1(b, TT_HLO_CHLO_LGAMMA, tt_low_add_number(b, a, 1))));
  static const double series[5] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188};
  tt_hlo_value *large = tt_low_max_number(b, a, 10), *u = tt_low_reciprocal(b, large);
  tt_hlo_value *d = tt_hlo_mul(b, tt_hlo_sub(b, x, large), u);
  tt_hlo_value *power = tt_hlo_mul(b, large, tt_hlo_sub(b, tt_hlo_log1p(b, d), d));
  power =
      tt_hlo_sub(b, power, tt_hlo_mul(b, u, tt_low_polynomial(b, tt_low_squared(b, u), series, 5)));
  tt_hlo_value *stirling =
      tt_hlo_mul(b, tt_hlo_exp(b, power), tt_hlo_sqrt(b, tt_low_mul_number(b, u, 0.5 / pi)));
  return tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_LT, a, 10), plain, stirling);
}

static double precision(const tt_hlo_value *x) {
  return tt_hlo_dtype(x) == TT_F64 ? 0x1p-53 : 0x1p-24;
}

static tt_hlo_value *any_and_few(tt_low_ctx *ctx, tt_hlo_value *preds, tt_hlo_value *number) {
  tt_hlo_value *any = tt_low_fold_all(ctx, TT_HLO_OR, preds);
  return tt_hlo_and(ctx->b, any, tt_low_compare_number(ctx->b, TT_HLO_LT, number, STEPS_MAX));
}

/* number, a, x, term, sum: sum of x^n / ((a + 1) ... (a + n)) */
static void series_step(tt_hlo_build *b, tt_hlo_value *number, tt_hlo_value *const *s,
                        tt_hlo_value **next, int64_t kind) {
  (void)number, (void)kind;
  next[1] = tt_low_add_number(b, s[1], 1);
  next[3] = tt_hlo_mul(b, s[3], tt_hlo_div(b, s[2], next[1]));
  next[4] = tt_hlo_add(b, s[4], next[3]);
}
static tt_hlo_value *series_more(tt_low_ctx *ctx, tt_hlo_value *const *s) {
  tt_hlo_value *least = tt_low_mul_number(ctx->b, s[4], precision(s[4]));
  return any_and_few(ctx, tt_hlo_compare(ctx->b, TT_HLO_GT, s[3], least), s[0]);
}

/* number, a, b, c, d, h, change: the continued fraction of Q by Lentz's method,
 * 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))) */
static tt_hlo_value *away_from_zero(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *tiny = tt_low_compare_number(b, TT_HLO_LT, tt_hlo_abs(b, x), 1e-30);
  return tt_low_select_number(b, tiny, 1e-30, x);
}
static void fraction_step(tt_hlo_build *b, tt_hlo_value *number, tt_hlo_value *const *s,
                          tt_hlo_value **next, int64_t kind) {
  (void)kind;
  tt_hlo_value *i = tt_hlo_broadcast_like(b, tt_hlo_convert(b, number, tt_hlo_dtype(s[1])), s[1]);
  tt_hlo_value *top = tt_hlo_mul(b, i, tt_hlo_sub(b, s[1], i));
  next[2] = tt_low_add_number(b, s[2], 2);
  next[4] =
      tt_low_reciprocal(b, away_from_zero(b, tt_hlo_add(b, tt_hlo_mul(b, top, s[4]), next[2])));
  next[3] = away_from_zero(b, tt_hlo_add(b, next[2], tt_hlo_div(b, top, s[3])));
  next[6] = tt_hlo_mul(b, next[3], next[4]);
  next[5] = tt_hlo_mul(b, s[5], next[6]);
}
static tt_hlo_value *fraction_more(tt_low_ctx *ctx, tt_hlo_value *const *s) {
  tt_hlo_value *off = tt_hlo_abs(ctx->b, tt_low_add_number(ctx->b, s[6], -1));
  return any_and_few(ctx, tt_low_compare_number(ctx->b, TT_HLO_GT, off, 2 * precision(off)), s[0]);
}

static tt_hlo_value *gamma_series(tt_low_ctx *ctx, tt_hlo_value *a, tt_hlo_value *x) {
  tt_hlo_value *one = tt_hlo_const_like(ctx->b, x, 1);
  tt_hlo_value *state[5] = {tt_hlo_const_int(ctx->b, TT_S32, 0), a, x, one, one};
  loop l = {5, series_step, series_more, 0};
  run_loop(ctx, &l, state);
  return state[4];
}

static tt_hlo_value *gamma_fraction(tt_low_ctx *ctx, tt_hlo_value *a, tt_hlo_value *x) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *first = tt_low_add_number(b, tt_hlo_sub(b, x, a), 1),
               *d = tt_low_reciprocal(b, first);
  tt_hlo_value *state[7] = {tt_hlo_const_int(b, TT_S32, 1), a, first,
                            tt_hlo_const_like(b, x, 1e30),  d, d,
                            tt_hlo_const_like(b, x, 0)};
  loop l = {7, fraction_step, fraction_more, 0};
  run_loop(ctx, &l, state);
  return state[5];
}

/* What both do at the edges: `at_zero` at x = 0, `at_infinity` for x = inf; a = inf counts as x =
 * 0. */
static tt_hlo_value *gamma_edges(tt_hlo_build *b, tt_hlo_value *a, tt_hlo_value *x, tt_hlo_value *y,
                                 double at_zero) {
  tt_hlo_value *a_infinite = tt_low_is_inf(b, a), *x_infinite = tt_low_is_inf(b, x);
  tt_hlo_value *a_zero = tt_low_is_zero(b, a), *x_zero = tt_low_is_zero(b, x);
  y = tt_low_select_number(b, tt_hlo_or(b, x_infinite, a_zero), 1 - at_zero, y);
  y = tt_low_select_number(b, tt_hlo_or(b, a_infinite, x_zero), at_zero, y);
  tt_hlo_value *both =
      tt_hlo_or(b, tt_hlo_and(b, a_infinite, x_infinite), tt_hlo_and(b, a_zero, x_zero));
  tt_hlo_value *negative = tt_hlo_or(b, tt_low_compare_number(b, TT_HLO_LT, x, 0),
                                     tt_low_compare_number(b, TT_HLO_LT, a, 0));
  tt_hlo_value *nan = tt_hlo_or(b, tt_low_is_not_number(b, a), tt_low_is_not_number(b, x));
  return tt_low_select_number(b, tt_hlo_or(b, tt_hlo_or(b, both, negative), nan), NAN, y);
}

/* a, x; data: 0 for P, 1 for Q. The series where x <= max(1, a), else the continued fraction of Q;
 * where one does not serve it gets numbers at which it ends at once. */
SPECIAL_RULE(igamma) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *ax[2];
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), ax);
  tt_hlo_value *a = ax[0], *x = ax[1], *fine, *low;
  fine = tt_hlo_and(b, tt_hlo_and(b, tt_hlo_is_finite(b, a), tt_hlo_is_finite(b, x)),
                    tt_hlo_and(b, tt_low_compare_number(b, TT_HLO_GT, a, 0),
                               tt_low_compare_number(b, TT_HLO_GT, x, 0)));
  a = tt_low_select_or_number(b, fine, a, 1);
  x = tt_low_select_or_number(b, fine, x, 1);
  low = tt_hlo_compare(b, TT_HLO_LE, x, tt_low_max_number(b, a, 1));
  tt_hlo_value *factor = gamma_factor(b, a, x);
  tt_hlo_value *p =
      tt_hlo_mul(b, factor, gamma_series(ctx, a, tt_low_select_or_number(b, low, x, 0)));
  tt_hlo_value *q =
      gamma_fraction(ctx, tt_low_select_number(b, low, 1, a), tt_low_select_number(b, low, 2, x));
  q = tt_hlo_mul(b, tt_hlo_mul(b, factor, a), q);
  bool upper = ctx->rule->data != 0;
  tt_hlo_value *y = upper ? tt_hlo_select(b, low, tt_low_number_minus(b, 1, p), q)
                          : tt_hlo_select(b, low, p, tt_low_number_minus(b, 1, q));
  tt_low_set(&results[0], gamma_edges(b, ax[0], ax[1], y, upper ? 1 : 0));
  return NULL;
}

/* ---- orthogonal polynomials: number k, limit, n, x, value at k - 2, value at k - 1 ---- */

static void polynomial_step(tt_hlo_build *b, tt_hlo_value *number, tt_hlo_value *const *s,
                            tt_hlo_value **next, int64_t kind) {
  tt_hlo_value *x = s[3], *p = s[4], *q = s[5], *value;
  tt_hlo_value *k = tt_hlo_broadcast_like(b, tt_hlo_convert(b, number, tt_hlo_dtype(x)), x);
  tt_hlo_value *xq = tt_hlo_mul(b, x, q),
               *below = tt_hlo_mul(b, tt_low_add_number(b, k, -1), p);      /* (k - 1) p */
  tt_hlo_value *odd = tt_low_add_number(b, tt_low_mul_number(b, k, 2), -1); /* 2 k - 1 */
  switch (kind) {
    case SPECIAL_HERMITE_H:
      value = tt_low_mul_number(b, tt_hlo_sub(b, xq, below), 2);
      break;
    case SPECIAL_HERMITE_HE:
      value = tt_hlo_sub(b, xq, below);
      break;
    case SPECIAL_LAGUERRE:
      value = tt_hlo_div(b, tt_hlo_sub(b, tt_hlo_mul(b, tt_hlo_sub(b, odd, x), q), below), k);
      break;
    case SPECIAL_LEGENDRE:
      value = tt_hlo_div(b, tt_hlo_sub(b, tt_hlo_mul(b, odd, xq), below), k);
      break;
    default:
      value = tt_hlo_sub(b, tt_low_mul_number(b, xq, 2), p);
      break;
  }
  tt_hlo_value *here = tt_hlo_compare(b, TT_HLO_LE, tt_hlo_broadcast_like(b, number, s[2]), s[2]);
  next[4] = tt_hlo_select(b, here, q, p);
  next[5] = tt_hlo_select(b, here, value, q);
}
static tt_hlo_value *polynomial_more(tt_low_ctx *ctx, tt_hlo_value *const *s) {
  return tt_hlo_compare(ctx->b, TT_HLO_LE, s[0], s[1]);
}

/* The polynomial of degree 1: slope x + constant. */
static tt_hlo_value *first_degree(tt_hlo_build *b, tt_hlo_value *x, int64_t kind) {
  static const double slope[] = {1, 2, 2, 2, 2, 1, -1, 1}, constant[] = {0, 0, -1, 1, 0, 0, 1, 0};
  return tt_low_add_number(b, tt_low_mul_number(b, x, slope[kind]), constant[kind]);
}

/* x, n: n is cut to a whole number; 0 for n < 0. Hermite's are NaN beyond the degree at which they
 * overflow, as in PyTorch. */
SPECIAL_RULE(polynomial) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *xn[2];
  int64_t kind = ctx->rule->data % SPECIAL_SHIFTED;
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), xn);
  tt_hlo_value *x = xn[0],
               *n = tt_hlo_convert(b, tt_low_min_number(b, tt_low_trunc(b, xn[1]), 1e6), TT_S32);
  if (ctx->rule->data >= SPECIAL_SHIFTED)
    x = tt_low_add_number(b, tt_low_mul_number(b, x, 2), -1);
  tt_hlo_value *one = tt_hlo_const_like(b, x, 1), *first = first_degree(b, x, kind);
  tt_hlo_value *state[6] = {
      tt_hlo_const_int(b, TT_S32, 2), tt_low_fold_all(ctx, TT_HLO_MAXIMUM, n), n, x, one, first};
  loop l = {6, polynomial_step, polynomial_more, kind};
  run_loop(ctx, &l, state);
  tt_hlo_value *y = tt_hlo_select(b, tt_low_is_zero(b, n), one, state[5]);
  y = tt_low_select_number(b, tt_low_compare_number(b, TT_HLO_LT, n, 0), 0, y);
  if (kind == SPECIAL_HERMITE_H || kind == SPECIAL_HERMITE_HE)
    y = tt_low_select_number(
        b, tt_low_compare_number(b, TT_HLO_GT, n, tt_hlo_dtype(x) == TT_F64 ? 512 : 128), NAN, y);
  tt_low_set(&results[0], y);
  return NULL;
}
