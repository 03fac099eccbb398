/* Fused optimizer steps and the gradient scaler. Each is one program over all parameters of a
 * group.
 *
 * Every result list stands for a list that the in-place form writes, in the order of the schema.
 * With `found_inf` of 1 nothing changes; with `grad_scale` the gradients are divided by it, and
 * that is written too. */
#include "lower/rules/helpers_pointwise.h"
#include "lower/rules/rules.h"

static tt_hlo_value *times(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *scalar) {
  return tt_hlo_mul(b, x, tt_hlo_broadcast_like(b, scalar, x));
}

static tt_hlo_value *over(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *scalar) {
  return tt_hlo_div(b, x, tt_hlo_broadcast_like(b, scalar, x));
}

/* A one-element tensor or a number as a scalar of `dtype`. */
static tt_hlo_value *scalar_of(tt_low_ctx *ctx, const tt_low_value *arg, tt_dtype dtype) {
  return tt_hlo_reshape_numbers(ctx->b, tt_low_number(ctx, arg, dtype, 0), NULL, 0);
}

/* 1 - number, the difference taken in double: 1 - 0.999 keeps few digits in f32. */
static tt_hlo_value *one_minus(tt_low_ctx *ctx, const tt_low_value *arg, tt_dtype dtype) {
  tt_hlo_build *b = ctx->b;
  if (arg->kind == TT_LOW_SCALAR && arg->scalar.value == NULL)
    return tt_hlo_const(b, dtype, 1 - arg->scalar.real);
  return tt_hlo_convert(b, tt_low_number_minus(b, 1, tt_low_number(ctx, arg, TT_F64, 0)), dtype);
}

/* 1 - beta^step = -expm1(step log1p(-(1 - beta))): as exact in f32 as PyTorch's double. */
static tt_hlo_value *bias_correction(tt_hlo_build *b, tt_hlo_value *one_minus_beta,
                                     tt_hlo_value *step) {
  tt_hlo_value *log_beta = tt_hlo_log1p(b, tt_hlo_neg(b, one_minus_beta));
  return tt_hlo_neg(b, tt_hlo_expm1(b, tt_hlo_mul(b, step, log_beta)));
}

/* ---- what all steps share ---- */

typedef struct step_options {
  const tt_low_value *lr, *weight_decay, *grad_scale, *found_inf;
  bool maximize;
} step_options;

/* One parameter while it is stepped. */
typedef struct step_state {
  tt_dtype dtype; /* that is computed in */
  tt_hlo_value *param, *grad, *lr;
  tt_hlo_value *stored_grad; /* as it is written back */
} step_state;

static const tt_low_value *item(const tt_low_value *list, size_t i) { return &list->list.items[i]; }

/* Weight decay is added to the gradient unless it is decoupled. */
static void begin_step(tt_low_ctx *ctx, const step_options *o, const tt_low_value *param,
                       const tt_low_value *grad, bool decoupled, step_state *s) {
  tt_hlo_build *b = ctx->b;
  s->dtype = tt_low_opmath(tt_hlo_dtype(param->tensor));
  s->param = tt_low_tensor(ctx, param, s->dtype);
  s->grad = tt_low_tensor(ctx, grad, s->dtype);
  s->lr = scalar_of(ctx, o->lr, s->dtype);
  if (!tt_low_is_none(o->grad_scale))
    s->grad = over(b, s->grad, scalar_of(ctx, o->grad_scale, s->dtype));
  s->stored_grad = s->grad;
  if (o->maximize)
    s->grad = tt_hlo_neg(b, s->grad);
  if (tt_low_scalar_is(o->weight_decay, 0))
    return;
  tt_hlo_value *decay = scalar_of(ctx, o->weight_decay, s->dtype);
  if (decoupled)
    s->param = tt_hlo_sub(b, s->param, times(b, s->param, tt_hlo_mul(b, s->lr, decay)));
  else
    s->grad = tt_hlo_add(b, s->grad, times(b, s->param, decay));
}

/* Result `at`: the new value in the old one's dtype, or the old one where an infinity was found. */
static void put(tt_low_ctx *ctx, const step_options *o, size_t at, const tt_low_value *old,
                tt_hlo_value *value, tt_low_value *results) {
  tt_hlo_build *b = ctx->b;
  value = tt_hlo_convert(b, value, tt_hlo_dtype(old->tensor));
  if (!tt_low_is_none(o->found_inf)) {
    tt_hlo_value *skip =
        tt_low_compare_number(b, TT_HLO_EQ, scalar_of(ctx, o->found_inf, TT_F32), 1);
    value = tt_hlo_select(b, tt_hlo_broadcast_like(b, skip, value), old->tensor, value);
  }
  tt_low_set(&results[at], value);
}

static tt_error *reserve(tt_low_ctx *ctx, size_t count) {
  ctx->results_count = count;
  if (count > ctx->results_capacity)
    return tt_error_new(TT_INTERNAL, "%s: %zu results, room for %zu", ctx->rule->overload, count,
                        ctx->results_capacity);
  return NULL;
}

/* ---- Adam, AdamW ---- */

/* From `start` towards `end` by weight w = 1 - beta, as torch.lerp does: from the nearer end. */
static tt_hlo_value *lerp(tt_hlo_build *b, tt_hlo_value *start, tt_hlo_value *end, tt_hlo_value *w,
                          tt_hlo_value *beta) {
  tt_hlo_value *gap = tt_hlo_sub(b, end, start);
  tt_hlo_value *near = tt_hlo_broadcast_like(b, tt_low_compare_number(b, TT_HLO_LT, w, 0.5), start);
  return tt_hlo_select(b, near, tt_hlo_add(b, start, times(b, gap, w)),
                       tt_hlo_sub(b, end, times(b, gap, beta)));
}

/* The parameter less `change`, and the gradient as it stays: what every optimizer gives first. */
static void put_step(tt_low_ctx *ctx, const tt_low_value *args, const step_options *o,
                     const step_state *s, size_t i, tt_hlo_value *change, tt_low_value *results) {
  size_t count = args[0].list.count;
  put(ctx, o, i, item(&args[0], i), tt_hlo_sub(ctx->b, s->param, change), results);
  put(ctx, o, count + i, item(&args[1], i), s->stored_grad, results);
}

/* self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay,
 * eps, amsgrad, maximize, grad_scale, found_inf. Source: torch.optim.Adam's formulas, steps counted
 * from 1 by the caller. */
static void adam_one(tt_low_ctx *ctx, const tt_low_value *args, const step_options *o, size_t i,
                     tt_low_value *results) {
  tt_hlo_build *b = ctx->b;
  size_t count = args[0].list.count;
  bool amsgrad = tt_low_bool(ctx, &args[11], false);
  step_state s;
  begin_step(ctx, o, item(&args[0], i), item(&args[1], i), ctx->rule->data != 0, &s);
  tt_hlo_value *step = scalar_of(ctx, item(&args[5], i), s.dtype);
  tt_hlo_value *w1 = one_minus(ctx, &args[7], s.dtype), *w2 = one_minus(ctx, &args[8], s.dtype);
  tt_hlo_value *beta1 = tt_low_number(ctx, &args[7], s.dtype, 0),
               *beta2 = tt_low_number(ctx, &args[8], s.dtype, 0);
  tt_hlo_value *mean = lerp(b, tt_low_tensor(ctx, item(&args[2], i), s.dtype), s.grad, w1, beta1);
  tt_hlo_value *square = times(b, tt_low_tensor(ctx, item(&args[3], i), s.dtype), beta2);
  square = tt_hlo_add(b, square, tt_hlo_mul(b, times(b, s.grad, w2), s.grad));
  tt_hlo_value *largest = square;
  if (amsgrad) {
    largest = tt_hlo_max(b, tt_low_tensor(ctx, item(&args[4], i), s.dtype), square);
    put(ctx, o, 4 * count + i, item(&args[4], i), largest, results);
  }
  tt_hlo_value *denominator =
      over(b, tt_hlo_sqrt(b, largest), tt_hlo_sqrt(b, bias_correction(b, w2, step)));
  tt_hlo_value *eps = tt_low_number_like(ctx, &args[10], denominator, 0);
  tt_hlo_value *size = tt_hlo_div(b, s.lr, bias_correction(b, w1, step));
  tt_hlo_value *change = tt_hlo_div(b, times(b, mean, size), tt_hlo_add(b, denominator, eps));
  put_step(ctx, args, o, &s, i, change, results);
  put(ctx, o, 2 * count + i, item(&args[2], i), mean, results);
  put(ctx, o, 3 * count + i, item(&args[3], i), square, results);
}

static tt_error *lower_adam(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_low_value *results) {
  (void)args_count;
  size_t count = args[0].list.count, largest = args[4].list.count;
  step_options o = {&args[6], &args[9], &args[13], &args[14], tt_low_bool(ctx, &args[12], false)};
  TT_RETURN_IF_ERROR(reserve(ctx, 4 * count + largest));
  for (size_t i = 0; i < largest; i++) /* without amsgrad they stay */
    results[4 * count + i] = *item(&args[4], i);
  for (size_t i = 0; i < count; i++)
    adam_one(ctx, args, &o, i, results);
  return NULL;
}

/* ---- SGD ---- */

/* self, grads, momentum_buffer_list, weight_decay, momentum, lr, dampening, nesterov, maximize,
 * is_first_step, grad_scale, found_inf. The first step's buffer is the gradient. */
static void sgd_one(tt_low_ctx *ctx, const tt_low_value *args, const step_options *o, size_t i,
                    tt_low_value *results) {
  tt_hlo_build *b = ctx->b;
  size_t count = args[0].list.count;
  step_state s;
  begin_step(ctx, o, item(&args[0], i), item(&args[1], i), false, &s);
  if (args[2].list.count > 0 && !tt_low_scalar_is(&args[4], 0)) {
    tt_hlo_value *momentum = tt_low_number(ctx, &args[4], s.dtype, 0), *buffer = s.grad;
    if (!tt_low_bool(ctx, &args[9], false)) {
      tt_hlo_value *old = tt_low_tensor(ctx, item(&args[2], i), s.dtype);
      buffer = tt_hlo_add(b, times(b, old, momentum),
                          times(b, s.grad, one_minus(ctx, &args[6], s.dtype)));
    }
    put(ctx, o, 2 * count + i, item(&args[2], i), buffer, results);
    s.grad = tt_low_bool(ctx, &args[7], false) ? tt_hlo_add(b, s.grad, times(b, buffer, momentum))
                                               : buffer;
  }
  put_step(ctx, args, o, &s, i, times(b, s.grad, s.lr), results);
}

static tt_error *lower_sgd(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  size_t count = args[0].list.count, buffers = args[2].list.count;
  step_options o = {&args[5], &args[3], &args[10], &args[11], tt_low_bool(ctx, &args[8], false)};
  TT_RETURN_IF_ERROR(reserve(ctx, 2 * count + buffers));
  for (size_t i = 0; i < buffers; i++) /* without momentum they stay */
    results[2 * count + i] = *item(&args[2], i);
  for (size_t i = 0; i < count; i++)
    sgd_one(ctx, args, &o, i, results);
  return NULL;
}

/* ---- Adagrad ---- */

/* self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps, maximize, grad_scale,
 * found_inf. */
static void adagrad_one(tt_low_ctx *ctx, const tt_low_value *args, const step_options *o, size_t i,
                        tt_low_value *results) {
  tt_hlo_build *b = ctx->b;
  size_t count = args[0].list.count;
  step_state s;
  begin_step(ctx, o, item(&args[0], i), item(&args[1], i), false, &s);
  tt_hlo_value *before = tt_low_add_number(b, scalar_of(ctx, item(&args[3], i), s.dtype), -1);
  tt_hlo_value *slowed =
      tt_low_add_number(b, tt_hlo_mul(b, before, tt_low_number(ctx, &args[5], s.dtype, 0)), 1);
  tt_hlo_value *sum =
      tt_hlo_add(b, tt_low_tensor(ctx, item(&args[2], i), s.dtype), tt_low_squared(b, s.grad));
  tt_hlo_value *denominator = tt_hlo_sqrt(b, sum);
  denominator = tt_hlo_add(b, denominator, tt_low_number_like(ctx, &args[7], denominator, 0));
  tt_hlo_value *change = tt_hlo_div(b, times(b, s.grad, tt_hlo_div(b, s.lr, slowed)), denominator);
  put_step(ctx, args, o, &s, i, change, results);
  put(ctx, o, 2 * count + i, item(&args[2], i), sum, results);
}

/* state_steps, which the default overload's schema marks as written, stay. */
static tt_error *lower_adagrad(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                               tt_low_value *results) {
  (void)args_count;
  size_t count = args[0].list.count;
  bool steps = tt_low_is_tensor(&args[4]) == false;
  step_options o = {&args[4], &args[6], &args[9], &args[10], tt_low_bool(ctx, &args[8], false)};
  TT_RETURN_IF_ERROR(reserve(ctx, (steps ? 4 : 3) * count));
  for (size_t i = 0; i < count; i++) {
    adagrad_one(ctx, args, &o, i, results);
    if (steps)
      results[3 * count + i] = *item(&args[3], i);
  }
  return NULL;
}

/* ---- gradient scaler ---- */

static tt_hlo_value *any_not_finite(tt_low_ctx *ctx, tt_hlo_value *x) {
  int64_t axes[64];
  int rank = tt_hlo_rank(x);
  for (int i = 0; i < rank; i++)
    axes[i] = i;
  tt_hlo_value *bad = tt_hlo_not(ctx->b, tt_hlo_is_finite(ctx->b, x));
  return rank == 0 ? bad : tt_hlo_reduce(ctx->b, TT_HLO_OR, bad, axes, (size_t)rank);
}

/* self, found_inf, inv_scale: self times inv_scale; found_inf becomes 1 where any element is not
 * finite. */
static tt_error *lower_amp_unscale(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                   tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  size_t count = args[0].list.count;
  tt_hlo_value *found = args[1].tensor;
  TT_RETURN_IF_ERROR(reserve(ctx, count + 1));
  for (size_t i = 0; i < count; i++) {
    tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(item(&args[0], i)->tensor));
    tt_hlo_value *x = tt_low_tensor(ctx, item(&args[0], i), dtype);
    tt_hlo_value *bad = tt_hlo_broadcast_like(b, any_not_finite(ctx, x), found);
    found = tt_low_select_number(b, bad, 1, found);
    tt_low_set(&results[i], tt_hlo_convert(b, times(b, x, scalar_of(ctx, &args[2], dtype)),
                                           tt_hlo_dtype(item(&args[0], i)->tensor)));
  }
  tt_low_set(&results[count], found);
  return NULL;
}

/* scale, growth_tracker, found_inf, growth factor, backoff factor, growth interval: after an
 * infinity the scale backs off; after `interval` steps without it grows, unless that overflows. */
static tt_error *lower_amp_update_scale(tt_low_ctx *ctx, const tt_low_value *args,
                                        size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *scale = args[0].tensor, *tracker = args[1].tensor;
  tt_hlo_value *found = tt_hlo_broadcast_like(b, scalar_of(ctx, &args[2], TT_PRED), scale);
  tt_hlo_value *grown = tt_hlo_mul(b, scale, tt_low_number_like(ctx, &args[3], scale, 1));
  tt_hlo_value *reduced = tt_hlo_mul(b, scale, tt_low_number_like(ctx, &args[4], scale, 1));
  tt_hlo_value *steps = tt_low_add_number(b, tracker, 1);
  tt_hlo_value *due =
      tt_hlo_compare(b, TT_HLO_EQ, steps, tt_low_number_like(ctx, &args[5], steps, 0));
  tt_hlo_value *grow = tt_hlo_and(b, due, tt_hlo_is_finite(b, grown));
  tt_low_set(&results[0], tt_hlo_select(b, found, reduced, tt_hlo_select(b, grow, grown, scale)));
  tt_low_set(&results[1], tt_low_select_number(b, tt_hlo_or(b, found, due), 0, steps));
  return NULL;
}

const tt_low_rule tt_low_rules_optim[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/optim.def"
#undef X
};
const size_t tt_low_rules_optim_count = TT_COUNT(tt_low_rules_optim);
