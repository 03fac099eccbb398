/* Losses and their gradients. reduction: 0 none, 1 mean, 2 sum. All arithmetic is in the opmath
 * type. */
#include <math.h>

#include "lower/rules/helpers_reduction.h"
#include "lower/rules/rules.h"

enum { NONE, AVERAGE, TOTAL };

/* ---- what they share ---- */

static tt_hlo_value *count_of(tt_low_ctx *ctx, tt_hlo_value *x) {
  size_t count;
  const int64_t *axes = tt_low_axes_from(ctx, 0, tt_hlo_rank(x), &count);
  return tt_low_fold_size(ctx, x, axes, count, tt_hlo_dtype(x));
}

static tt_hlo_value *reduced(tt_low_ctx *ctx, tt_hlo_value *loss, int64_t reduction) {
  if (reduction == NONE)
    return loss;
  tt_hlo_value *sum = tt_low_fold_all(ctx, TT_HLO_ADD, loss);
  return reduction == TOTAL ? sum : tt_hlo_div(ctx->b, sum, count_of(ctx, loss));
}

/* The incoming gradient in the dims of `like`, divided by the count for a mean. */
static tt_hlo_value *incoming(tt_low_ctx *ctx, const tt_low_value *grad, tt_hlo_value *like,
                              int64_t reduction) {
  tt_hlo_value *g = tt_low_tensor(ctx, grad, tt_hlo_dtype(like));
  if (reduction == AVERAGE)
    g = tt_low_with(ctx, TT_HLO_DIVIDE, g, count_of(ctx, like));
  return tt_hlo_broadcast_like(ctx->b, g, like);
}

typedef struct pair {
  tt_hlo_value *x, *t;
} pair;

/* Prediction and target in their common opmath type and common dims. */
static pair pair_of(tt_low_ctx *ctx, const tt_low_value *args) {
  tt_dtype dtype = tt_low_opmath(tt_low_promote(ctx, args, 2));
  pair p = {tt_low_tensor(ctx, &args[0], dtype), tt_low_tensor(ctx, &args[1], dtype)};
  tt_low_broadcast2(ctx, &p.x, &p.t);
  return p;
}

static tt_hlo_value *constant(tt_low_ctx *ctx, tt_hlo_value *like, double value) {
  return tt_hlo_const_like(ctx->b, like, value);
}

/* ---- of differences: mse, smooth l1, huber ---- */

/* (x, t, reduction) */
static tt_error *lower_mse(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  pair p = pair_of(ctx, args);
  tt_hlo_value *d = tt_hlo_sub(ctx->b, p.x, p.t);
  tt_low_set(&results[0],
             reduced(ctx, tt_hlo_mul(ctx->b, d, d), tt_low_int(ctx, &args[2], AVERAGE)));
  return NULL;
}

/* (grad, x, t, reduction): 2 (x - t) grad */
static tt_error *lower_mse_backward(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                    tt_low_value *results) {
  (void)args_count;
  pair p = pair_of(ctx, &args[1]);
  tt_hlo_value *g = incoming(ctx, &args[0], p.x, tt_low_int(ctx, &args[3], AVERAGE));
  tt_hlo_value *d = tt_low_with_const(ctx, TT_HLO_MULTIPLY, tt_hlo_sub(ctx->b, p.x, p.t), 2);
  tt_low_set(&results[0], tt_hlo_mul(ctx->b, d, g));
  return NULL;
}

/* (x, t, reduction, beta or delta). With z = |x - t|:
 * smooth l1: z < beta ? z^2 / (2 beta) : z - beta / 2;  huber: z <= delta ? z^2 / 2 : delta (z -
 * delta / 2) */
static tt_error *lower_huber(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                             tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  bool smooth = ctx->rule->data != 0;
  pair p = pair_of(ctx, args);
  tt_hlo_value *z = tt_hlo_abs(b, tt_hlo_sub(b, p.x, p.t));
  tt_hlo_value *edge =
      tt_hlo_broadcast_like(b, tt_low_number(ctx, &args[3], tt_hlo_dtype(z), 1), z);
  tt_hlo_value *half = constant(ctx, z, 0.5), *square = tt_hlo_mul(b, half, tt_hlo_mul(b, z, z));
  tt_hlo_value *line = tt_hlo_sub(b, z, tt_hlo_mul(b, half, edge));
  tt_hlo_value *near = tt_hlo_compare(b, smooth ? TT_HLO_LT : TT_HLO_LE, z, edge);
  tt_hlo_value *loss = tt_hlo_select(b, near, smooth ? tt_hlo_div(b, square, edge) : square,
                                     smooth ? line : tt_hlo_mul(b, edge, line));
  tt_low_set(&results[0], reduced(ctx, loss, tt_low_int(ctx, &args[2], AVERAGE)));
  return NULL;
}

/* (grad, x, t, reduction, beta or delta): the slope is -1 up to -edge, 1 from edge on, (x - t) /
 * edge between; for huber times edge */
static tt_error *lower_huber_backward(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                      tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  bool smooth = ctx->rule->data != 0;
  pair p = pair_of(ctx, &args[1]);
  tt_hlo_value *d = tt_hlo_sub(b, p.x, p.t);
  tt_hlo_value *edge =
      tt_hlo_broadcast_like(b, tt_low_number(ctx, &args[4], tt_hlo_dtype(d), 1), d);
  tt_hlo_value *far = smooth ? constant(ctx, d, 1) : edge;
  tt_hlo_value *slope = tt_hlo_select(b, tt_hlo_compare(b, TT_HLO_GE, d, edge), far,
                                      smooth ? tt_hlo_div(b, d, edge) : d);
  slope = tt_hlo_select(b, tt_hlo_compare(b, TT_HLO_LE, d, tt_hlo_neg(b, edge)), tt_hlo_neg(b, far),
                        slope);
  tt_hlo_value *g = incoming(ctx, &args[0], d, tt_low_int(ctx, &args[3], AVERAGE));
  tt_low_set(&results[0], tt_hlo_mul(b, slope, g));
  return NULL;
}

/* ---- soft margin ---- */

/* (x, t, reduction): log(1 + exp(-t x)) */
static tt_error *lower_soft_margin(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                   tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  pair p = pair_of(ctx, args);
  tt_hlo_value *e = tt_hlo_exp(b, tt_hlo_neg(b, tt_hlo_mul(b, p.t, p.x)));
  tt_low_set(&results[0], reduced(ctx, tt_hlo_log1p(b, e), tt_low_int(ctx, &args[2], AVERAGE)));
  return NULL;
}

/* -t sigmoid(-t x) grad */
static tt_error *lower_soft_margin_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                            size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  pair p = pair_of(ctx, &args[1]);
  tt_hlo_value *minus_t = tt_hlo_neg(b, p.t);
  tt_hlo_value *slope = tt_hlo_mul(b, minus_t, tt_hlo_logistic(b, tt_hlo_mul(b, minus_t, p.x)));
  tt_low_set(
      &results[0],
      tt_hlo_mul(b, slope, incoming(ctx, &args[0], slope, tt_low_int(ctx, &args[3], AVERAGE))));
  return NULL;
}

/* ---- binary cross entropy ---- */

static tt_hlo_value *weighted(tt_low_ctx *ctx, tt_hlo_value *loss, const tt_low_value *weight) {
  if (!tt_low_is_tensor(weight))
    return loss;
  return tt_low_with(ctx, TT_HLO_MULTIPLY, loss, tt_low_tensor(ctx, weight, tt_hlo_dtype(loss)));
}

/* (x, t, weight, reduction): (t - 1) max(log(1 - x), -100) - t max(log x, -100), so that x = 0 or 1
 * stays finite */
static tt_error *lower_bce(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  pair p = pair_of(ctx, args);
  tt_hlo_value *floor = constant(ctx, p.x, -100);
  tt_hlo_value *no = tt_hlo_max(b, tt_hlo_log1p(b, tt_hlo_neg(b, p.x)), floor);
  tt_hlo_value *yes = tt_hlo_max(b, tt_hlo_log(b, p.x), floor);
  tt_hlo_value *loss = tt_hlo_mul(b, tt_low_with_const(ctx, TT_HLO_SUBTRACT, p.t, 1), no);
  loss = weighted(ctx, tt_hlo_sub(b, loss, tt_hlo_mul(b, p.t, yes)), &args[2]);
  tt_low_set(&results[0], reduced(ctx, loss, tt_low_int(ctx, &args[3], AVERAGE)));
  return NULL;
}

/* (grad, x, t, weight, reduction): grad (x - t) / max(x (1 - x), 1e-12) */
static tt_error *lower_bce_backward(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                    tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  pair p = pair_of(ctx, &args[1]);
  tt_hlo_value *spread = tt_hlo_mul(b, p.x, tt_hlo_sub(b, constant(ctx, p.x, 1), p.x));
  spread = tt_hlo_max(b, spread, constant(ctx, p.x, 1e-12));
  tt_hlo_value *g = incoming(ctx, &args[0], p.x, tt_low_int(ctx, &args[4], AVERAGE));
  tt_hlo_value *dx = tt_hlo_div(b, tt_hlo_mul(b, g, tt_hlo_sub(b, p.x, p.t)), spread);
  tt_low_set(&results[0], weighted(ctx, dx, &args[3]));
  return NULL;
}

/* (x, t, weight, pos_weight, reduction): (1 - t) x + w log(1 + exp(-x)), w = 1 + (pos_weight - 1)
 * t, in the form log1p(exp(-|x|)) + max(-x, 0), which no x overflows */
static tt_error *lower_bce_logits(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                  tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  pair p = pair_of(ctx, args);
  tt_hlo_value *x = p.x, *one = constant(ctx, x, 1);
  tt_hlo_value *soft = tt_hlo_log1p(b, tt_hlo_exp(b, tt_hlo_neg(b, tt_hlo_abs(b, x))));
  soft = tt_hlo_add(b, soft, tt_hlo_max(b, tt_hlo_neg(b, x), constant(ctx, x, 0)));
  if (tt_low_is_tensor(&args[3])) {
    tt_hlo_value *extra =
        tt_low_with_const(ctx, TT_HLO_SUBTRACT, tt_low_tensor(ctx, &args[3], tt_hlo_dtype(x)), 1);
    soft = tt_hlo_mul(b, soft, tt_hlo_add(b, one, tt_low_with(ctx, TT_HLO_MULTIPLY, p.t, extra)));
  }
  tt_hlo_value *loss = tt_hlo_add(b, tt_hlo_mul(b, tt_hlo_sub(b, one, p.t), x), soft);
  tt_low_set(&results[0],
             reduced(ctx, weighted(ctx, loss, &args[2]), tt_low_int(ctx, &args[4], AVERAGE)));
  return NULL;
}

/* ---- negative log likelihood, 1d and 2d alike: the class axis is 1 ---- */

typedef struct nll {
  tt_hlo_value *x;      /* [N, C, ...] */
  tt_hlo_value *target; /* s32 [N, 1, ...], 0 where ignored */
  tt_hlo_value *valid;  /* pred, as target */
  tt_hlo_value *weight; /* as target: the weight of the target's class, 0 where ignored */
  bool one;             /* x came as [C] */
} nll;

/* args: x, target, weight, reduction, ignore_index */
static nll nll_of(tt_low_ctx *ctx, const tt_low_value *args) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  nll n = {.x = tt_low_tensor(ctx, &args[0], dtype), .one = tt_hlo_rank(args[0].tensor) == 1};
  tt_hlo_value *target = args[1].tensor;
  if (n.one) {
    n.x = tt_hlo_unsqueeze(b, n.x, 0);
    if (tt_hlo_rank(target) == 0)
      target = tt_hlo_unsqueeze(b, target, 0);
  }
  target = tt_hlo_unsqueeze(b, target, 1);
  tt_dtype index = tt_hlo_dtype(target);
  tt_hlo_value *ignored = tt_hlo_const_int(b, index, tt_low_int(ctx, &args[4], -100));
  n.valid = tt_hlo_compare(b, TT_HLO_NE, target, tt_hlo_broadcast_like(b, ignored, target));
  target = tt_low_select_const(ctx, n.valid, target, 0);
  if (ctx->debug) {
    tt_hlo_value *classes = tt_hlo_dim_value(b, tt_hlo_dim_of(b, n.x, 1), index);
    tt_hlo_value *below =
        tt_hlo_compare(b, TT_HLO_LT, target, tt_hlo_broadcast_like(b, classes, target));
    tt_hlo_value *ok = tt_hlo_and(b, below, tt_low_compare_const(ctx, TT_HLO_GE, target, 0));
    tt_low_check(ctx, tt_low_fold_all(ctx, TT_HLO_AND, ok), TT_OUT_OF_RANGE,
                 "Target is out of bounds.");
  }
  n.target = tt_hlo_convert(b, target, TT_S32);
  tt_hlo_value *one = tt_hlo_broadcast_like(b, tt_hlo_const(b, dtype, 1), n.target);
  if (tt_low_is_tensor(&args[2]))
    one = tt_hlo_take(b, tt_low_tensor(ctx, &args[2], dtype), n.target, 0);
  n.weight = tt_low_select_const(ctx, n.valid, one, 0);
  return n;
}

/* -> (output, total_weight): the sum, or the mean, of -w x[target]; total_weight is the sum of w;
 * without reduction 0, but for a lone [C] */
static tt_error *lower_nll(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  nll n = nll_of(ctx, args);
  int64_t reduction = tt_low_int(ctx, &args[3], AVERAGE);
  tt_hlo_value *picked = tt_hlo_take_along(b, n.x, n.target, 1);
  tt_hlo_value *loss =
      tt_low_select_const(ctx, n.valid, tt_hlo_neg(b, tt_hlo_mul(b, picked, n.weight)), 0);
  tt_hlo_value *total = tt_low_fold_all(ctx, TT_HLO_ADD, n.weight);
  if (reduction == NONE) {
    loss = tt_hlo_squeeze(b, loss, 1);
    tt_low_set(&results[0], n.one ? tt_hlo_squeeze(b, loss, 0) : loss);
    tt_low_set_fit(ctx, results, 1, n.one ? total : tt_hlo_const(b, tt_hlo_dtype(total), 0));
    return NULL;
  }
  tt_hlo_value *sum = tt_low_fold_all(ctx, TT_HLO_ADD, loss);
  tt_low_set(&results[0], reduction == AVERAGE ? tt_hlo_div(b, sum, total) : sum);
  tt_low_set_fit(ctx, results, 1, total);
  return NULL;
}

/* (grad, x, target, weight, reduction, ignore_index, total_weight): -w grad at the target's class,
 * 0 elsewhere; compared with an iota rather than scattered, as the result is dense anyway */
static tt_error *lower_nll_backward(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                    tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  nll n = nll_of(ctx, &args[1]);
  int64_t reduction = tt_low_int(ctx, &args[4], AVERAGE);
  tt_dtype dtype = tt_hlo_dtype(n.x);
  tt_hlo_value *g = tt_low_tensor(ctx, &args[0], dtype);
  if (reduction == AVERAGE) {
    const tt_hlo_dim *no_dims = NULL;
    tt_hlo_value *total = tt_hlo_reshape(b, tt_low_tensor(ctx, &args[6], dtype), no_dims, 0);
    g = tt_hlo_div(b, tt_hlo_reshape(b, g, no_dims, 0), total);
  } else if (reduction == NONE) {
    g = n.one ? g : tt_hlo_unsqueeze(b, g, 1);
  }
  g = tt_hlo_neg(b, tt_hlo_mul(b, n.weight, tt_hlo_broadcast_like(b, g, n.weight)));
  g = tt_low_select_const(ctx, n.valid, g, 0);
  tt_hlo_value *hit = tt_hlo_compare(b, TT_HLO_EQ, tt_low_iota_like(ctx, n.x, 1),
                                     tt_hlo_broadcast_like(b, n.target, n.x));
  tt_hlo_value *dx = tt_hlo_select(b, hit, tt_hlo_broadcast_like(b, g, n.x), constant(ctx, n.x, 0));
  tt_low_set(&results[0], n.one ? tt_hlo_squeeze(b, dx, 0) : dx);
  return NULL;
}

const tt_low_rule tt_low_rules_loss[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/loss.def"
#undef X
};
const size_t tt_low_rules_loss_count = TT_COUNT(tt_low_rules_loss);
