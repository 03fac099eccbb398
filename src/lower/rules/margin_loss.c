/* Losses over pairs of classes: multi_margin, multilabel_margin. Rows are [N, C]; a lone [C] is N
 * = 1. */
#include "lower/rules/helpers_reduction.h"
#include "lower/rules/rules.h"

enum { NONE, AVERAGE };

static tt_hlo_value *rows_of(tt_low_ctx *ctx, tt_hlo_value *x) {
  for (int rank = tt_hlo_rank(x); rank < 2; rank++)
    x = tt_hlo_unsqueeze(ctx->b, x, 0);
  return x;
}

static tt_hlo_value *size_value(tt_low_ctx *ctx, tt_hlo_value *x, int axis) {
  return tt_hlo_dim_value(ctx->b, tt_hlo_dim_of(ctx->b, x, axis), tt_hlo_dtype(x));
}

/* per-row losses [N, 1] to result 0 */
static void set_loss(tt_low_ctx *ctx, tt_low_value *results, tt_hlo_value *loss,
                     int64_t reduction) {
  if (reduction == NONE) {
    tt_low_set_fit(ctx, results, 0, tt_hlo_squeeze(ctx->b, loss, 1));
    return;
  }
  tt_hlo_value *sum = tt_low_fold_all(ctx, TT_HLO_ADD, loss);
  tt_low_set(&results[0],
             reduction == AVERAGE ? tt_hlo_div(ctx->b, sum, size_value(ctx, loss, 0)) : sum);
}

/* The incoming gradient as [N, 1] or [1, 1], divided by N for a mean. */
static tt_hlo_value *row_gradient(tt_low_ctx *ctx, const tt_low_value *grad, tt_hlo_value *x,
                                  int64_t reduction) {
  tt_hlo_value *g = tt_low_tensor(ctx, grad, tt_hlo_dtype(x));
  g = tt_hlo_rank(g) == 0 ? rows_of(ctx, g) : tt_hlo_unsqueeze(ctx->b, g, 1);
  return reduction == AVERAGE ? tt_low_with(ctx, TT_HLO_DIVIDE, g, size_value(ctx, x, 0)) : g;
}

/* ---- multi_margin_loss ---- */

typedef struct margin {
  tt_hlo_value *x, *hit; /* [N, C]: the input, and true at the target */
  tt_hlo_value *z;       /* margin - x[target] + x, 0 at the target and where negative */
  tt_hlo_value *weight;  /* [N, 1] of the target's class over C, or a scalar 1 / C */
  bool squared;
} margin;

/* x, target, p, margin, weight */
static tt_error *margin_of(tt_low_ctx *ctx, const tt_low_value *args, margin *out_m) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  margin m = {.squared = tt_low_int(ctx, &args[2], 1) == 2};
  m.x = rows_of(ctx, tt_low_tensor(ctx, &args[0], dtype));
  tt_hlo_value *target = tt_hlo_convert(b, args[1].tensor, TT_S32);
  target = tt_hlo_rank(target) == 0 ? rows_of(ctx, target) : tt_hlo_unsqueeze(b, target, 1);
  m.hit = tt_hlo_compare(b, TT_HLO_EQ, tt_low_iota_like(ctx, m.x, 1),
                         tt_hlo_broadcast_like(b, target, m.x));
  tt_hlo_value *own = tt_hlo_take_along(b, m.x, target, 1);
  tt_hlo_value *gap = tt_low_with(ctx, TT_HLO_SUBTRACT, m.x, own);
  m.z = tt_low_with(ctx, TT_HLO_ADD, gap, tt_low_number(ctx, &args[3], dtype, 1));
  m.z = tt_hlo_max(b, m.z, tt_hlo_const_like(b, m.x, 0));
  m.z = tt_hlo_select(b, m.hit, tt_hlo_const_like(b, m.x, 0), m.z);
  m.weight = tt_hlo_div(b, tt_hlo_const(b, dtype, 1), size_value(ctx, m.x, 1));
  if (tt_low_is_tensor(&args[4])) {
    tt_hlo_value *weights = tt_hlo_take(b, tt_low_tensor(ctx, &args[4], dtype), target, 0);
    m.weight = tt_low_with(ctx, TT_HLO_MULTIPLY, weights, m.weight);
  }
  *out_m = m;
  return NULL;
}

/* (x, target, p, margin, weight, reduction): w[y] / C sum over j != y of max(0, margin - x[y] +
 * x[j])^p */
static tt_error *lower_multi_margin(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                    tt_low_value *results) {
  (void)args_count;
  const int64_t axes[1] = {1};
  margin m;
  TT_RETURN_IF_ERROR(margin_of(ctx, args, &m));
  tt_hlo_value *sum = tt_hlo_reduce_keep(ctx->b, TT_HLO_ADD,
                                         m.squared ? tt_hlo_mul(ctx->b, m.z, m.z) : m.z, axes, 1);
  set_loss(ctx, results, tt_low_with(ctx, TT_HLO_MULTIPLY, sum, m.weight),
           tt_low_int(ctx, &args[5], AVERAGE));
  return NULL;
}

/* (grad, x, target, p, margin, weight, reduction) */
static tt_error *lower_multi_margin_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                             size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  const int64_t axes[1] = {1};
  margin m;
  TT_RETURN_IF_ERROR(margin_of(ctx, &args[1], &m));
  tt_hlo_value *over = tt_low_compare_const(ctx, TT_HLO_GT, m.z, 0);
  tt_hlo_value *h =
      tt_hlo_select(b, over, tt_hlo_const_like(b, m.x, 1), tt_hlo_const_like(b, m.x, 0));
  if (m.squared)
    h = tt_hlo_add(b, m.z, m.z);
  h = tt_low_with(ctx, TT_HLO_MULTIPLY, h, m.weight);
  tt_hlo_value *own = tt_hlo_neg(b, tt_hlo_reduce_keep(b, TT_HLO_ADD, h, axes, 1));
  tt_hlo_value *dx = tt_hlo_select(b, m.hit, tt_hlo_broadcast_like(b, own, m.x), h);
  dx = tt_low_with(ctx, TT_HLO_MULTIPLY, dx,
                   row_gradient(ctx, &args[0], m.x, tt_low_int(ctx, &args[6], AVERAGE)));
  tt_low_set(&results[0], tt_hlo_reshape(b, dx, tt_hlo_dims_of(b, args[1].tensor),
                                         (size_t)tt_hlo_rank(args[1].tensor)));
  return NULL;
}

/* ---- multilabel_margin_loss: targets are class numbers up to the first -1 ---- */

typedef struct labels {
  tt_hlo_value *x;         /* [N, C] */
  tt_hlo_value *chosen;    /* f [N, K, C]: 1 where label k, before the first -1, is class c */
  tt_hlo_value *is_target; /* pred [N, C] */
  tt_hlo_value
      *z; /* [N, K, C]: max(0, 1 - (x[label k] - x[c])) where label k counts and c is no target */
} labels;

static labels labels_of(tt_low_ctx *ctx, const tt_low_value *args) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  const int64_t k_axis[1] = {1}, c_axis[1] = {2};
  labels l = {.x = rows_of(ctx, tt_low_tensor(ctx, &args[0], dtype))};
  tt_hlo_value *target = rows_of(ctx, tt_hlo_convert(b, args[1].tensor, TT_S32));
  tt_hlo_dim *nc = tt_hlo_dims_of(b, l.x);
  if (nc == NULL)
    return l;
  const tt_hlo_dim cube[3] = {nc[0], nc[1], nc[1]};
  /* [N, K, C]; ended[n, k]: some label at c <= k is negative */
  tt_hlo_value *row = tt_hlo_iota(b, TT_S32, cube, 3, 1),
               *column = tt_hlo_iota(b, TT_S32, cube, 3, 2);
  tt_hlo_value *labels_c = tt_hlo_broadcast_to(b, tt_hlo_unsqueeze(b, target, 1), cube, 3);
  tt_hlo_value *stop = tt_hlo_and(b, tt_hlo_compare(b, TT_HLO_LE, column, row),
                                  tt_low_compare_const(ctx, TT_HLO_LT, labels_c, 0));
  tt_hlo_value *counts = tt_hlo_not(b, tt_hlo_reduce_keep(b, TT_HLO_OR, stop, c_axis, 1));
  tt_hlo_value *labels_k = tt_hlo_broadcast_to(b, tt_hlo_unsqueeze(b, target, 2), cube, 3);
  tt_hlo_value *hit = tt_hlo_and(b, tt_hlo_compare(b, TT_HLO_EQ, labels_k, column),
                                 tt_hlo_broadcast_to(b, counts, cube, 3));
  l.is_target = tt_hlo_reduce(b, TT_HLO_OR, hit, k_axis, 1);
  l.chosen = tt_hlo_convert(b, hit, dtype);
  tt_hlo_value *x_c = tt_hlo_broadcast_to(b, tt_hlo_unsqueeze(b, l.x, 1), cube, 3);
  tt_hlo_value *zero = tt_hlo_const_like(b, x_c, 0);
  tt_hlo_value *x_k =
      tt_hlo_reduce_keep(b, TT_HLO_ADD, tt_hlo_select(b, hit, x_c, zero), c_axis, 1);
  tt_hlo_value *gap = tt_low_with(ctx, TT_HLO_SUBTRACT, x_c, x_k);
  tt_hlo_value *z = tt_hlo_max(b, tt_low_with_const(ctx, TT_HLO_ADD, gap, 1), zero);
  tt_hlo_value *others =
      tt_hlo_not(b, tt_hlo_broadcast_to(b, tt_hlo_unsqueeze(b, l.is_target, 1), cube, 3));
  l.z = tt_hlo_select(b, tt_hlo_and(b, others, tt_hlo_broadcast_to(b, counts, cube, 3)), z, zero);
  return l;
}

/* (x, target, reduction) -> (loss, is_target) */
static tt_error *lower_multilabel_margin(tt_low_ctx *ctx, const tt_low_value *args,
                                         size_t args_count, tt_low_value *results) {
  (void)args_count;
  const int64_t inner[2] = {1, 2};
  labels l = labels_of(ctx, args);
  if (tt_hlo_failed(ctx->b))
    return NULL;
  tt_hlo_value *sum = tt_hlo_unsqueeze(ctx->b, tt_hlo_reduce(ctx->b, TT_HLO_ADD, l.z, inner, 2), 1);
  tt_hlo_value *loss = tt_low_with(ctx, TT_HLO_DIVIDE, sum, size_value(ctx, l.x, 1));
  set_loss(ctx, results, loss, tt_low_int(ctx, &args[2], AVERAGE));
  tt_low_set_fit(ctx, results, 1, tt_hlo_convert(ctx->b, l.is_target, tt_hlo_dtype(l.x)));
  return NULL;
}

/* (grad, x, target, reduction, is_target): each positive z pulls its class down and its label up */
static tt_error *lower_multilabel_margin_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                                  size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  const int64_t k_axis[1] = {1}, c_axis[1] = {2};
  labels l = labels_of(ctx, &args[1]);
  if (tt_hlo_failed(b))
    return NULL;
  tt_hlo_value *over =
      tt_hlo_convert(b, tt_low_compare_const(ctx, TT_HLO_GT, l.z, 0), tt_hlo_dtype(l.x));
  tt_hlo_value *down = tt_hlo_reduce(b, TT_HLO_ADD, over, k_axis, 1);
  tt_hlo_value *pulls = tt_hlo_reduce_keep(b, TT_HLO_ADD, over, c_axis, 1);
  tt_hlo_value *up =
      tt_hlo_reduce(b, TT_HLO_ADD, tt_low_with(ctx, TT_HLO_MULTIPLY, l.chosen, pulls), k_axis, 1);
  tt_hlo_value *dx =
      tt_low_with(ctx, TT_HLO_DIVIDE, tt_hlo_sub(b, down, up), size_value(ctx, l.x, 1));
  dx = tt_low_with(ctx, TT_HLO_MULTIPLY, dx,
                   row_gradient(ctx, &args[0], l.x, tt_low_int(ctx, &args[3], AVERAGE)));
  tt_low_set(&results[0], tt_hlo_reshape(b, dx, tt_hlo_dims_of(b, args[1].tensor),
                                         (size_t)tt_hlo_rank(args[1].tensor)));
  return NULL;
}

const tt_low_rule tt_low_rules_margin_loss[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/margin_loss.def"
#undef X
};
const size_t tt_low_rules_margin_loss_count = TT_COUNT(tt_low_rules_margin_loss);
