/* Activations made of straight pieces, and those that look at halves or keep a second result. */
#include "lower/rules/activation_internal.h"

#include <math.h>

#define NUMBER(i) tt_low_number_like(ctx, &args[i], x, 0)

static tt_hlo_value *inside(tt_hlo_build *b, tt_hlo_value *low, tt_hlo_value *x,
                            tt_hlo_value *high) {
  return tt_hlo_and(b, tt_hlo_compare(b, TT_HLO_GT, x, low), tt_hlo_compare(b, TT_HLO_LT, x, high));
}

static tt_hlo_value *inside_numbers(tt_hlo_build *b, double low, tt_hlo_value *x, double high) {
  return inside(b, tt_hlo_const_like(b, x, low), x, tt_hlo_const_like(b, x, high));
}

ACTIVATION_UNARY(hardtanh, tt_hlo_min(b, tt_hlo_max(b, x, NUMBER(1)), NUMBER(2)))
ACTIVATION_BACKWARD(hardtanh_backward,
                    tt_low_select_or_number(b, inside(b, NUMBER(2), x, NUMBER(3)), g, 0))

/* min(max(x + 3, 0), 6) / 6 */
static tt_hlo_value *hardsigmoid(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *gate = tt_low_min_number(b, tt_low_max_number(b, tt_low_add_number(b, x, 3), 0), 6);
  return tt_low_mul_number(b, gate, 1.0 / 6);
}
ACTIVATION_UNARY(hardsigmoid, hardsigmoid(b, x))
ACTIVATION_BACKWARD(hardsigmoid_backward,
                    tt_low_select_or_number(b, inside_numbers(b, -3, x, 3),
                                            tt_low_mul_number(b, g, 1.0 / 6), 0))

ACTIVATION_UNARY(hardswish, tt_hlo_mul(b, x, hardsigmoid(b, x)))
static tt_hlo_value *hardswish_backward(tt_hlo_build *b, tt_hlo_value *g, tt_hlo_value *x) {
  tt_hlo_value *slope = tt_low_add_number(b, tt_low_mul_number(b, x, 1.0 / 3), 0.5);
  tt_hlo_value *below = tt_low_compare_number(b, TT_HLO_LE, x, -3);
  tt_hlo_value *middle =
      tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_LT, x, 3), tt_hlo_mul(b, g, slope), g);
  return tt_low_select_number(b, below, 0, middle);
}
ACTIVATION_BACKWARD(hardswish_backward, hardswish_backward(b, g, x))

/* |x| <= lambda: false for NaN */
static tt_hlo_value *within(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *lambda) {
  return tt_hlo_and(b, tt_hlo_compare(b, TT_HLO_GE, x, tt_hlo_neg(b, lambda)),
                    tt_hlo_compare(b, TT_HLO_LE, x, lambda));
}
ACTIVATION_UNARY(hardshrink, tt_low_select_number(b, within(b, x, NUMBER(1)), 0, x))
/* softshrink's gradient too */
ACTIVATION_BACKWARD(shrink_backward, tt_low_select_number(b, within(b, x, NUMBER(2)), 0, g))

/* x moved by lambda towards 0, 0 near 0; NaN stays. */
static tt_hlo_value *softshrink(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *lambda) {
  tt_hlo_value *positive = tt_low_compare_number(b, TT_HLO_GT, x, 0);
  tt_hlo_value *moved =
      tt_hlo_select(b, positive, tt_hlo_sub(b, x, lambda), tt_hlo_add(b, x, lambda));
  return tt_low_select_number(b, within(b, x, lambda), 0, moved);
}
ACTIVATION_UNARY(softshrink, softshrink(b, x, NUMBER(1)))

ACTIVATION_UNARY(threshold,
                 tt_hlo_select(b, tt_hlo_compare(b, TT_HLO_LE, x, NUMBER(1)), NUMBER(2), x))
ACTIVATION_BACKWARD(threshold_backward,
                    tt_low_select_number(b, tt_hlo_compare(b, TT_HLO_LE, x, NUMBER(2)), 0, g))

/* ---- log_sigmoid: min(x, 0) - log1p(exp(-|x|)) ---- */

static tt_hlo_value *exp_minus_abs(tt_hlo_build *b, tt_hlo_value *x) {
  return tt_hlo_exp(b, tt_hlo_neg(b, tt_hlo_abs(b, x)));
}

/* The second result keeps exp(-|x|) on the CPU and is empty elsewhere: it follows what is wanted.
 */
ACTIVATION_RULE(log_sigmoid) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 1));
  tt_hlo_value *tail = exp_minus_abs(b, x);
  tt_low_set(&results[0], tt_hlo_sub(b, tt_low_min_number(b, x, 0), tt_hlo_log1p(b, tail)));
  bool like = ctx->wanted_count < 2 || ctx->wanted[1].rank == tt_hlo_rank(x);
  for (int i = 0; like && ctx->wanted_count > 1 && i < tt_hlo_rank(x); i++)
    like = ctx->wanted[1].dims[i] == x->type.dims[i];
  if (!like) {
    size_t rank;
    const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 1, &rank);
    tail = tt_hlo_full(b, tt_hlo_const(b, tt_hlo_dtype(x), 0), dims, rank);
  }
  tt_low_set(&results[1], tail);
  return NULL;
}

/* The slope is sigmoid(-x). */
ACTIVATION_BACKWARD(log_sigmoid_backward, tt_hlo_mul(b, g, tt_hlo_logistic(b, tt_hlo_neg(b, x))))

/* ---- glu: a sigmoid(g), a and g the halves along a dim ---- */

typedef struct halves {
  tt_hlo_value *first, *gate;
  int axis;
} halves;

static halves split(tt_hlo_build *b, tt_hlo_value *x, int64_t dim) {
  halves h = {NULL, NULL, tt_low_axis(dim, tt_hlo_rank(x))};
  int64_t size = x->type.dims[h.axis];
  h.first = tt_hlo_slice_axis(b, x, h.axis, 0, size / 2, 1);
  h.gate = tt_hlo_logistic(b, tt_hlo_slice_axis(b, x, h.axis, size / 2, size, 1));
  return h;
}

ACTIVATION_RULE(glu) {
  (void)args_count;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 1));
  halves h = split(ctx->b, x, tt_low_int(ctx, &args[1], -1));
  tt_low_set(&results[0], tt_hlo_mul(ctx->b, h.first, h.gate));
  return NULL;
}

/* [g s, g a s (1 - s)] */
ACTIVATION_RULE(glu_backward) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_compute_dtype(ctx, args, 2);
  tt_hlo_value *g = tt_low_tensor(ctx, &args[0], dtype);
  halves h = split(b, tt_low_tensor(ctx, &args[1], dtype), tt_low_int(ctx, &args[2], -1));
  tt_hlo_value *parts[2] = {tt_hlo_mul(b, g, h.gate), NULL};
  parts[1] = tt_hlo_mul(b, tt_hlo_mul(b, parts[0], h.first), tt_low_number_minus(b, 1, h.gate));
  tt_low_set(&results[0], tt_hlo_concat(b, parts, 2, h.axis));
  return NULL;
}

/* glu, x, dx, dim: da s + glu (1 - s) dg */
ACTIVATION_RULE(glu_jvp) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *y = tt_low_tensor(ctx, &args[0], dtype), *dx = tt_low_tensor(ctx, &args[2], dtype);
  halves h = split(b, tt_low_tensor(ctx, &args[1], dtype), tt_low_int(ctx, &args[3], -1));
  int64_t size = dx->type.dims[h.axis];
  tt_hlo_value *da = tt_hlo_slice_axis(b, dx, h.axis, 0, size / 2, 1);
  tt_hlo_value *dg = tt_hlo_slice_axis(b, dx, h.axis, size / 2, size, 1);
  tt_hlo_value *gate = tt_hlo_mul(b, tt_hlo_mul(b, y, tt_low_number_minus(b, 1, h.gate)), dg);
  tt_low_set(&results[0], tt_hlo_add(b, tt_hlo_mul(b, da, h.gate), gate));
  return NULL;
}
