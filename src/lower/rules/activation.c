#include "lower/rules/activation_internal.h"

#include <string.h>

#include "lower/rules/rules.h"

/* Argument `i` as a number with the dims of `x`. */
#define NUMBER(i) tt_low_number_like(ctx, &args[i], x, 0)

static tt_hlo_value *above(tt_hlo_build *b, tt_hlo_value *x, double number) {
  return tt_low_compare_number(b, TT_HLO_GT, x, number);
}

ACTIVATION_UNARY(relu, tt_low_max_number(b, x, 0))
ACTIVATION_UNARY(sigmoid, tt_hlo_logistic(b, x))
ACTIVATION_UNARY(silu, tt_hlo_mul(b, x, tt_hlo_logistic(b, x)))
ACTIVATION_UNARY(mish, tt_hlo_mul(b, x, tt_hlo_tanh(b, tt_low_softplus(b, x))))

/* conj(y) for complex y: PyTorch's gradients are conjugate. */
static tt_hlo_value *conjugate(tt_hlo_build *b, tt_hlo_value *y) {
  if (!tt_dtype_is_complex(tt_hlo_dtype(y)))
    return y;
  return tt_hlo_complex(b, tt_hlo_real(b, y), tt_hlo_neg(b, tt_hlo_imag(b, y)));
}

/* y here is the forward's result: g y (1 - y), g (1 - y^2). */
static tt_hlo_value *sigmoid_backward(tt_hlo_build *b, tt_hlo_value *g, tt_hlo_value *y) {
  y = conjugate(b, y);
  return tt_hlo_mul(b, g, tt_hlo_mul(b, tt_low_number_minus(b, 1, y), y));
}
ACTIVATION_BACKWARD(sigmoid_backward, sigmoid_backward(b, g, x))
static tt_hlo_value *tanh_backward(tt_hlo_build *b, tt_hlo_value *g, tt_hlo_value *y) {
  return tt_hlo_mul(b, g, tt_low_number_minus(b, 1, tt_low_squared(b, conjugate(b, y))));
}
ACTIVATION_BACKWARD(tanh_backward, tanh_backward(b, g, x))

/* g s (1 + x (1 - s)), s = sigmoid(x) */
static tt_hlo_value *silu_backward(tt_hlo_build *b, tt_hlo_value *g, tt_hlo_value *x) {
  tt_hlo_value *s = tt_hlo_logistic(b, x);
  tt_hlo_value *slope = tt_low_add_number(b, tt_hlo_mul(b, x, tt_low_number_minus(b, 1, s)), 1);
  return tt_hlo_mul(b, g, tt_hlo_mul(b, s, slope));
}
ACTIVATION_BACKWARD(silu_backward, silu_backward(b, g, x))

/* g (w + x s (1 - w^2)), w = tanh(softplus(x)), s = sigmoid(x) */
static tt_hlo_value *mish_backward(tt_hlo_build *b, tt_hlo_value *g, tt_hlo_value *x) {
  tt_hlo_value *w = tt_hlo_tanh(b, tt_low_softplus(b, x)), *s = tt_hlo_logistic(b, x);
  tt_hlo_value *inner =
      tt_hlo_mul(b, tt_hlo_mul(b, x, s), tt_low_number_minus(b, 1, tt_low_squared(b, w)));
  return tt_hlo_mul(b, g, tt_hlo_add(b, w, inner));
}
ACTIVATION_BACKWARD(mish_backward, mish_backward(b, g, x))

/* ---- gelu: x Phi(x), Phi the normal distribution function, or its approximation by tanh ---- */

static const double sqrt_half = 0.70710678118654752440;   /* 1 / sqrt(2) */
static const double normal_peak = 0.39894228040143267794; /* 1 / sqrt(2 pi) */
static const double tanh_scale = 0.79788456080286535588;  /* sqrt(2 / pi) */
static const double tanh_cubic = 0.044715;

static bool by_tanh(const tt_low_value *approximate) {
  return approximate->kind == TT_LOW_STRING && strcmp(approximate->string, "tanh") == 0;
}

static tt_hlo_value *normal_cdf(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *erf = tt_hlo_op1(b, TT_HLO_CHLO_ERF, tt_low_mul_number(b, x, sqrt_half));
  return tt_low_mul_number(b, tt_low_add_number(b, erf, 1), 0.5);
}

/* tanh(sqrt(2 / pi) (x + 0.044715 x^3)) */
static tt_hlo_value *gelu_tanh(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *cubic =
      tt_low_add_number(b, tt_low_mul_number(b, tt_low_squared(b, x), tanh_cubic), 1);
  return tt_hlo_tanh(b, tt_low_mul_number(b, tt_hlo_mul(b, x, cubic), tanh_scale));
}

ACTIVATION_RULE(gelu) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 1));
  tt_hlo_value *share = by_tanh(&args[1])
                            ? tt_low_mul_number(b, tt_low_add_number(b, gelu_tanh(b, x), 1), 0.5)
                            : normal_cdf(b, x);
  tt_low_set(&results[0], tt_hlo_mul(b, x, share));
  return NULL;
}

/* Phi(x) + x phi(x) */
static tt_hlo_value *gelu_slope(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *density = tt_hlo_exp(b, tt_low_mul_number(b, tt_low_squared(b, x), -0.5));
  return tt_hlo_add(b, normal_cdf(b, x),
                    tt_hlo_mul(b, x, tt_low_mul_number(b, density, normal_peak)));
}

/* (1 + t) / 2 + x (1 - t^2) / 2 * d(argument of tanh)/dx */
static tt_hlo_value *gelu_tanh_slope(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *t = gelu_tanh(b, x);
  tt_hlo_value *inner = tt_low_mul_number(b, tt_low_squared(b, x), 3 * tanh_cubic);
  inner = tt_low_mul_number(b, tt_low_add_number(b, inner, 1), tanh_scale);
  tt_hlo_value *right =
      tt_hlo_mul(b, tt_hlo_mul(b, x, tt_low_number_minus(b, 1, tt_low_squared(b, t))), inner);
  return tt_low_mul_number(b, tt_hlo_add(b, tt_low_add_number(b, t, 1), right), 0.5);
}
ACTIVATION_BACKWARD(gelu_backward,
                    tt_hlo_mul(b, g, by_tanh(&args[2]) ? gelu_tanh_slope(b, x) : gelu_slope(b, x)))

/* ---- softplus: log(1 + exp(beta x)) / beta, x itself where beta x > threshold ---- */

ACTIVATION_RULE(softplus) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 1));
  bool unit = tt_low_scalar_is(&args[1], 1);
  tt_hlo_value *z = unit ? x : tt_hlo_mul(b, x, NUMBER(1));
  tt_hlo_value *linear = tt_hlo_compare(b, TT_HLO_GT, z, NUMBER(2));
  tt_hlo_value *soft = tt_low_softplus(b, z);
  tt_low_set(&results[0],
             tt_hlo_select(b, linear, x, unit ? soft : tt_hlo_div(b, soft, NUMBER(1))));
  return NULL;
}

ACTIVATION_RULE(softplus_backward) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *gx[2];
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), gx);
  tt_hlo_value *g = gx[0], *x = gx[1];
  tt_hlo_value *z = tt_hlo_mul(b, x, NUMBER(2));
  tt_hlo_value *linear = tt_hlo_compare(b, TT_HLO_GT, z, NUMBER(3));
  tt_low_set(&results[0], tt_hlo_select(b, linear, g, tt_hlo_mul(b, g, tt_hlo_logistic(b, z))));
  return NULL;
}

/* ---- elu: x <= 0 ? alpha scale (exp(input_scale x) - 1) : scale x ---- */

typedef struct elu_numbers {
  tt_hlo_value *negative, *positive, *input; /* alpha scale, scale, input_scale: scalars */
} elu_numbers;

static elu_numbers elu_arguments(tt_low_ctx *ctx, const tt_low_value *args, tt_dtype dtype) {
  tt_hlo_value *alpha = tt_low_number(ctx, &args[0], dtype, 1),
               *scale = tt_low_number(ctx, &args[1], dtype, 1);
  elu_numbers n = {tt_hlo_mul(ctx->b, alpha, scale), scale, tt_low_number(ctx, &args[2], dtype, 1)};
  return n;
}

static tt_hlo_value *times(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *scalar) {
  return tt_hlo_mul(b, x, tt_hlo_broadcast_like(b, scalar, x));
}

static tt_hlo_value *elu(tt_hlo_build *b, tt_hlo_value *x, const elu_numbers *n) {
  tt_hlo_value *low = times(b, tt_hlo_expm1(b, times(b, x, n->input)), n->negative);
  return tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_LE, x, 0), low, times(b, x, n->positive));
}

ACTIVATION_RULE(elu) {
  (void)args_count;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 1));
  elu_numbers n = elu_arguments(ctx, args + 1, tt_hlo_dtype(x));
  tt_low_set(&results[0], elu(ctx->b, x, &n));
  return NULL;
}

/* elu with input_scale 1 / alpha */
ACTIVATION_RULE(celu) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 1));
  tt_hlo_value *alpha = tt_low_number(ctx, &args[1], tt_hlo_dtype(x), 1);
  elu_numbers n = {alpha, tt_hlo_const(b, tt_hlo_dtype(x), 1), tt_low_reciprocal(b, alpha)};
  tt_low_set(&results[0], elu(b, x, &n));
  return NULL;
}

/* grad, alpha, scale, input_scale, is_result, self or result y: for x <= 0 the slope is input_scale
 * (y + alpha scale), and y + alpha scale is alpha scale exp(input_scale x). */
ACTIVATION_RULE(elu_backward) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_low_value pair[2] = {args[0], args[5]};
  tt_hlo_value *gx[2];
  tt_low_operands(ctx, pair, 2, tt_low_compute_dtype(ctx, pair, 2), gx);
  tt_hlo_value *g = gx[0], *x = gx[1];
  elu_numbers n = elu_arguments(ctx, args + 1, tt_hlo_dtype(x));
  tt_hlo_value *low = tt_low_bool(ctx, &args[4], false)
                          ? tt_hlo_add(b, x, tt_hlo_broadcast_like(b, n.negative, x))
                          : times(b, tt_hlo_exp(b, times(b, x, n.input)), n.negative);
  low = tt_hlo_mul(b, times(b, g, n.input), low);
  tt_low_set(&results[0], tt_hlo_select(b, tt_low_compare_number(b, TT_HLO_LE, x, 0), low,
                                        times(b, g, n.positive)));
  return NULL;
}

/* ---- leaky relu, prelu, rrelu's gradient: a slope below zero ---- */

ACTIVATION_UNARY(leaky_relu, tt_hlo_select(b, above(b, x, 0), x, tt_hlo_mul(b, x, NUMBER(1))))
ACTIVATION_BACKWARD(leaky_relu_backward,
                    tt_hlo_select(b, above(b, x, 0), g, tt_hlo_mul(b, g, NUMBER(2))))

ACTIVATION_RULE(prelu) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *xw[2];
  tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), xw);
  tt_low_set(&results[0], tt_hlo_select(b, above(b, xw[0], 0), xw[0], tt_hlo_mul(b, xw[0], xw[1])));
  return NULL;
}

/* Both gradients have the input's dims; the weight's is summed by the caller. */
ACTIVATION_RULE(prelu_backward) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *gxw[3];
  tt_low_operands(ctx, args, 3, tt_low_compute_dtype(ctx, args, 3), gxw);
  tt_hlo_value *g = gxw[0], *x = gxw[1], *positive = above(b, x, 0);
  tt_low_set(&results[0], tt_hlo_select(b, positive, g, tt_hlo_mul(b, g, gxw[2])));
  tt_low_set(&results[1], tt_low_select_number(b, positive, 0, tt_hlo_mul(b, g, x)));
  return NULL;
}

/* The mean of lower and upper, like `x`: the slope outside training. */
static tt_hlo_value *middle(tt_low_ctx *ctx, const tt_low_value *bounds, tt_hlo_value *x) {
  tt_hlo_value *sum = tt_hlo_add(ctx->b, tt_low_number_like(ctx, &bounds[0], x, 0),
                                 tt_low_number_like(ctx, &bounds[1], x, 0));
  return tt_low_mul_number(ctx->b, sum, 0.5);
}

/* grad, self, noise, lower, upper, training, self_is_result; a range narrower than 1e-6 counts as
 * one slope. */
ACTIVATION_RULE(rrelu_backward) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *gxn[3];
  tt_low_operands(ctx, args, 3, tt_low_compute_dtype(ctx, args, 2), gxn);
  bool training = tt_low_bool(ctx, &args[5], false);
  bool drawn = training && tt_low_double(ctx, &args[4], 1) - tt_low_double(ctx, &args[3], 0) > 1e-6;
  tt_hlo_value *slope =
      drawn ? gxn[2]
            : tt_low_select_number(b, above(b, gxn[1], 0), 1, middle(ctx, args + 3, gxn[1]));
  tt_low_set(&results[0], tt_hlo_mul(b, gxn[0], slope));
  return NULL;
}

const tt_low_rule tt_low_rules_activation[] = {
#define X(overload, function, traits, data) \
  {overload, tt_low_activation_##function, traits, data, NULL},
#include "lower/rules/activation.def"
#undef X
};
const size_t tt_low_rules_activation_count = TT_COUNT(tt_low_rules_activation);
