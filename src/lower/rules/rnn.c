/* The cells that nn.LSTM and nn.GRU run per step on an accelerator. Gates stand side by side: [b, 4
 * h] or [b, 3 h]. */
#include "lower/rules/rules.h"

static tt_hlo_value *in_math(tt_low_ctx *ctx, const tt_low_value *arg) {
  return tt_low_tensor(ctx, arg, tt_low_opmath(arg->tensor->type.dtype));
}

/* Gate `i` of `count`: columns [i h, (i + 1) h). */
static tt_hlo_value *gate(tt_low_ctx *ctx, tt_hlo_value *gates, int i, int count) {
  int64_t h = gates->type.rank == 2 ? gates->type.dims[1] / count : 0;
  return tt_hlo_slice_axis(ctx->b, gates, 1, i * h, (i + 1) * h, 1);
}

static tt_hlo_value *plus_bias(tt_low_ctx *ctx, tt_hlo_value *gates, const tt_low_value *bias) {
  if (tt_low_is_none(bias))
    return gates;
  return tt_hlo_add(
      ctx->b, gates,
      tt_hlo_broadcast_like(ctx->b, tt_low_tensor(ctx, bias, gates->type.dtype), gates));
}

static tt_hlo_value *one_minus(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_sub(ctx->b, tt_hlo_const_like(ctx->b, x, 1), x);
}

/* Derivative of the logistic function in its own value. */
static tt_hlo_value *logistic_slope(tt_low_ctx *ctx, tt_hlo_value *y) {
  return tt_hlo_mul(ctx->b, one_minus(ctx, y), y);
}

/* Derivative of tanh in its own value. */
static tt_hlo_value *tanh_slope(tt_low_ctx *ctx, tt_hlo_value *y) {
  return one_minus(ctx, tt_hlo_mul(ctx->b, y, y));
}

static void set_as(tt_low_ctx *ctx, tt_low_value *result, tt_hlo_value *value,
                   const tt_low_value *like) {
  tt_low_set(result, tt_hlo_convert(ctx->b, value, like->tensor->type.dtype));
}

static tt_hlo_value *sum_rows(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_reduce(ctx->b, TT_HLO_ADD, x, &(int64_t){0}, 1);
}

/* (input_gates, hidden_gates, cx, input_bias?, hidden_bias?) -> (hy, cy, workspace [b, 4 h]: the
 * gates after their functions). i, f, g, o; cy = f cx + i g; hy = o tanh(cy). */
static tt_error *lower_lstm_cell(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                 tt_low_value *results) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *gates, *cx = in_math(ctx, &args[2]), *parts[4], *cy;
  (void)args_count;
  gates = tt_hlo_add(b, plus_bias(ctx, in_math(ctx, &args[0]), &args[3]),
                     plus_bias(ctx, in_math(ctx, &args[1]), &args[4]));
  for (int i = 0; i < 4; i++)
    parts[i] = i == 2 ? tt_hlo_tanh(b, gate(ctx, gates, i, 4))
                      : tt_hlo_logistic(b, gate(ctx, gates, i, 4));
  cy = tt_hlo_add(b, tt_hlo_mul(b, parts[1], cx), tt_hlo_mul(b, parts[0], parts[2]));
  ctx->results_count = 3;
  set_as(ctx, &results[0], tt_hlo_mul(b, parts[3], tt_hlo_tanh(b, cy)), &args[2]);
  set_as(ctx, &results[1], cy, &args[2]);
  set_as(ctx, &results[2], tt_hlo_concat(b, parts, 4, 1), &args[0]);
  return NULL;
}

/* (grad_hy?, grad_cy?, cx, cy, workspace, has_bias) -> (grad_gates [b, 4 h], grad_cx, grad_bias [4
 * h]). */
static tt_error *lower_lstm_cell_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                          size_t args_count, tt_low_value *results) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *cx = in_math(ctx, &args[2]), *cy_tanh = tt_hlo_tanh(b, in_math(ctx, &args[3])),
               *w[4], *grads[4];
  tt_hlo_value *zero = tt_hlo_const_like(b, cx, 0), *grad_hy, *grad_cy, *all;
  (void)args_count;
  grad_hy = tt_low_is_none(&args[0]) ? zero : in_math(ctx, &args[0]);
  grad_cy = tt_low_is_none(&args[1]) ? zero : in_math(ctx, &args[1]);
  for (int i = 0; i < 4; i++)
    w[i] = gate(ctx, in_math(ctx, &args[4]), i, 4);
  grad_cy =
      tt_hlo_add(b, grad_cy, tt_hlo_mul(b, tt_hlo_mul(b, grad_hy, w[3]), tanh_slope(ctx, cy_tanh)));
  grads[0] = tt_hlo_mul(b, tt_hlo_mul(b, grad_cy, w[2]), logistic_slope(ctx, w[0]));
  grads[1] = tt_hlo_mul(b, tt_hlo_mul(b, grad_cy, cx), logistic_slope(ctx, w[1]));
  grads[2] = tt_hlo_mul(b, tt_hlo_mul(b, grad_cy, w[0]), tanh_slope(ctx, w[2]));
  grads[3] = tt_hlo_mul(b, tt_hlo_mul(b, grad_hy, cy_tanh), logistic_slope(ctx, w[3]));
  all = tt_hlo_concat(b, grads, 4, 1);
  ctx->results_count = 3;
  set_as(ctx, &results[0], all, &args[4]);
  set_as(ctx, &results[1], tt_hlo_mul(b, grad_cy, w[1]), &args[2]);
  if (tt_low_bool(ctx, &args[5], false))
    set_as(ctx, &results[2], sum_rows(ctx, all), &args[4]);
  return NULL;
}

/* (input_gates, hidden_gates, hx, input_bias?, hidden_bias?) -> (hy, workspace [b, 5 h]: r, z, n,
 * hx, hn). hy = n + z (hx - n), n = tanh(in + r hn). */
static tt_error *lower_gru_cell(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                tt_low_value *results) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *in = plus_bias(ctx, in_math(ctx, &args[0]), &args[3]), *hx = in_math(ctx, &args[2]),
               *parts[5];
  tt_hlo_value *hidden = plus_bias(ctx, in_math(ctx, &args[1]), &args[4]),
               *hn = gate(ctx, hidden, 2, 3), *n;
  (void)args_count;
  for (int i = 0; i < 2; i++)
    parts[i] = tt_hlo_logistic(b, tt_hlo_add(b, gate(ctx, in, i, 3), gate(ctx, hidden, i, 3)));
  n = tt_hlo_tanh(b, tt_hlo_add(b, gate(ctx, in, 2, 3), tt_hlo_mul(b, parts[0], hn)));
  parts[2] = n;
  parts[3] = hx;
  parts[4] = hn;
  ctx->results_count = 2;
  set_as(ctx, &results[0], tt_hlo_add(b, n, tt_hlo_mul(b, parts[1], tt_hlo_sub(b, hx, n))),
         &args[2]);
  set_as(ctx, &results[1], tt_hlo_concat(b, parts, 5, 1), &args[0]);
  return NULL;
}

/* (grad_hy, workspace, has_bias) -> (grad_input_gates, grad_hidden_gates, grad_hx, grad_input_bias,
 * grad_hidden_bias). */
static tt_error *lower_gru_cell_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                         size_t args_count, tt_low_value *results) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *grad = in_math(ctx, &args[0]), *w[5], *grad_r, *grad_z, *grad_n, *in[3], *hidden[3],
               *sides[2];
  (void)args_count;
  for (int i = 0; i < 5; i++)
    w[i] = gate(ctx, in_math(ctx, &args[1]), i, 5);
  grad_z = tt_hlo_mul(b, tt_hlo_mul(b, grad, tt_hlo_sub(b, w[3], w[2])), logistic_slope(ctx, w[1]));
  grad_n = tt_hlo_mul(b, tt_hlo_mul(b, grad, one_minus(ctx, w[1])), tanh_slope(ctx, w[2]));
  grad_r = tt_hlo_mul(b, tt_hlo_mul(b, grad_n, w[4]), logistic_slope(ctx, w[0]));
  in[0] = hidden[0] = grad_r;
  in[1] = hidden[1] = grad_z;
  in[2] = grad_n;
  hidden[2] = tt_hlo_mul(b, grad_n, w[0]);
  sides[0] = tt_hlo_concat(b, in, 3, 1);
  sides[1] = tt_hlo_concat(b, hidden, 3, 1);
  ctx->results_count = 5;
  set_as(ctx, &results[2], tt_hlo_mul(b, grad, w[1]), &args[0]);
  for (int i = 0; i < 2; i++) {
    set_as(ctx, &results[i], sides[i], &args[1]);
    if (tt_low_bool(ctx, &args[2], false))
      set_as(ctx, &results[3 + i], sum_rows(ctx, sides[i]), &args[1]);
  }
  return NULL;
}

const tt_low_rule tt_low_rules_rnn[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/rnn.def"
#undef X
};
const size_t tt_low_rules_rnn_count = TT_COUNT(tt_low_rules_rnn);
