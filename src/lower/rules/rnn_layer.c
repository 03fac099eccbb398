/* A whole layer of an LSTM over all its steps: one program with a loop instead of a dozen programs
 * a step. The overload is cuDNN's, because PyTorch has its gradient; torch_tpu/_internal/rnn.py
 * calls it, a layer at a time.
 *
 * t steps, b rows, i inputs, h hidden, d directions. Products over all steps at once stand outside
 * the loop: what is left inside is [b, h] x [h, 4 h] and the gates. The reserve keeps, for each
 * direction and step, six values of [b, h]: the four gates after their functions, and the cell and
 * the hidden state before the step: [d, 6, t, b, h]. Products take the weights' dtype, the rest is
 * in opmath. */
#include <string.h>

#include "lower/rules/rules.h"

enum {
  INPUT,
  WEIGHTS,
  WEIGHT_STRIDE,
  WEIGHT_BUF,
  HX,
  CX,
  MODE,
  HIDDEN,
  PROJ,
  LAYERS,
  BATCH_FIRST,
  DROPOUT,
  TRAIN,
  BIDIRECTIONAL
};
enum {
  B_HX = 4,
  B_CX,
  B_OUTPUT,
  B_GRAD_OUTPUT,
  B_GRAD_HY,
  B_GRAD_CY,
  B_MODE,
  B_PROJ = 12,
  B_LAYERS,
  B_BATCH_FIRST,
  B_BIDIRECTIONAL = 17,
  B_RESERVE = 20,
  B_MASK
};
enum { LSTM = 2, KEPT = 6, MOST = 12 };

typedef struct layer {
  tt_low_ctx *ctx;
  tt_hlo_build *b;
  tt_dtype math, dtype;
  int64_t steps, rows, hidden;
  const tt_low_value
      *weights; /* of this direction: input [4 h, i], hidden [4 h, h], then both biases or none */
  bool biased, reverse;
} layer;

/* ---- loops: a counter and `count` values ---- */

typedef struct turns {
  tt_hlo_type types[MOST];
  tt_hlo_region *cond, *body;
  size_t count;
} turns;

static tt_hlo_value *number(const layer *l, int64_t value) {
  return tt_hlo_const_int(l->b, TT_S32, value);
}

/* values[0] is the counter. On return they are those of the body, which is open. */
static void begin_loop(const layer *l, turns *loop, tt_hlo_value **values, size_t count) {
  loop->count = count;
  for (size_t i = 0; i < count; i++)
    loop->types[i] = values[i]->type;
  loop->cond = tt_hlo_region_open(l->b, loop->types, count);
  tt_hlo_value *more =
      tt_hlo_compare(l->b, TT_HLO_LT, tt_hlo_region_arg(l->b, loop->cond, 0), number(l, l->steps));
  tt_hlo_region_close(l->b, &more, 1);
  loop->body = tt_hlo_region_open(l->b, loop->types, count);
  for (size_t i = 0; i < count; i++)
    values[i] = tt_hlo_region_arg(l->b, loop->body, i);
}

static void end_loop(const layer *l, turns *loop, tt_hlo_value *const *inits, tt_hlo_value **next,
                     tt_hlo_value **out) {
  next[0] = tt_hlo_add(l->b, next[0], number(l, 1));
  tt_hlo_region_close(l->b, next, loop->count);
  tt_hlo_while(l->b, inits, loop->count, loop->cond, loop->body, out);
}

/* The step that turn `i` of the loop is about. */
static tt_hlo_value *step_of(const layer *l, tt_hlo_value *i, bool reverse) {
  return reverse ? tt_hlo_sub(l->b, number(l, l->steps - 1), i) : i;
}

/* all[step]: [t, b, n] -> [b, n] */
static tt_hlo_value *at_step(const layer *l, tt_hlo_value *all, tt_hlo_value *step) {
  const int64_t sizes[3] = {1, l->rows, all->type.rank == 3 ? all->type.dims[2] : 0};
  tt_hlo_value *starts[3] = {step, number(l, 0), number(l, 0)};
  return tt_hlo_squeeze(l->b, tt_hlo_dynamic_slice(l->b, all, starts, sizes), 0);
}

static tt_hlo_value *put_step(const layer *l, tt_hlo_value *all, tt_hlo_value *step,
                              tt_hlo_value *part) {
  tt_hlo_value *starts[3] = {step, number(l, 0), number(l, 0)};
  return tt_hlo_dynamic_update_slice(l->b, all, tt_hlo_unsqueeze(l->b, part, 0), starts);
}

static tt_hlo_value *zeros(const layer *l, int64_t columns) {
  const tt_hlo_dim dims[3] = {tt_hlo_dim_number(l->steps), tt_hlo_dim_number(l->rows),
                              tt_hlo_dim_number(columns)};
  return tt_hlo_full(l->b, tt_hlo_const(l->b, l->math, 0), dims, 3);
}

/* Places of [count, t, b, h] for one value of each step. */
static tt_hlo_value *kept_zeros(const layer *l) {
  const tt_hlo_dim dims[4] = {tt_hlo_dim_number(KEPT), tt_hlo_dim_number(l->steps),
                              tt_hlo_dim_number(l->rows), tt_hlo_dim_number(l->hidden)};
  return tt_hlo_full(l->b, tt_hlo_const(l->b, l->math, 0), dims, 4);
}

/* Value k that was kept of a step: [KEPT, t, b, h] -> [b, h] */
static tt_hlo_value *kept_at_step(const layer *l, tt_hlo_value *kept, int k, tt_hlo_value *step) {
  const int64_t sizes[4] = {1, 1, l->rows, l->hidden};
  tt_hlo_value *starts[4] = {number(l, k), step, number(l, 0), number(l, 0)};
  tt_hlo_value *part = tt_hlo_dynamic_slice(l->b, kept, starts, sizes);
  return tt_hlo_squeeze(l->b, tt_hlo_squeeze(l->b, part, 0), 0);
}

static tt_hlo_value *keep_step(const layer *l, tt_hlo_value *kept, tt_hlo_value *step,
                               tt_hlo_value *const *parts) {
  for (int k = 0; k < KEPT; k++) {
    tt_hlo_value *starts[4] = {number(l, k), step, number(l, 0), number(l, 0)};
    tt_hlo_value *part = tt_hlo_unsqueeze(l->b, tt_hlo_unsqueeze(l->b, parts[k], 0), 0);
    kept = tt_hlo_dynamic_update_slice(l->b, kept, part, starts);
  }
  return kept;
}

/* ---- parts ---- */

static tt_hlo_value *columns(const layer *l, tt_hlo_value *x, int from, int count) {
  return tt_hlo_slice_axis(l->b, x, x->type.rank - 1, from * l->hidden, (from + count) * l->hidden,
                           1);
}

/* Sums over `lhs_axes` of x and `rhs_axes` of y, [count] each, in opmath. */
static tt_hlo_value *contract(const layer *l, tt_hlo_value *x, tt_hlo_value *y,
                              const int64_t *lhs_axes, const int64_t *rhs_axes, size_t count) {
  const tt_hlo_dot_dims dims = {.lhs_contract = {count, lhs_axes},
                                .rhs_contract = {count, rhs_axes}};
  return tt_hlo_dot_general(l->b, tt_hlo_convert(l->b, x, l->dtype),
                            tt_hlo_convert(l->b, y, l->dtype), &dims, l->math);
}

static tt_hlo_value *weight(const layer *l, size_t i) { return l->weights[i].tensor; }

static tt_hlo_value *bias(const layer *l, size_t i) {
  return tt_low_tensor(l->ctx, &l->weights[i], l->math);
}

/* State of one direction: [d, b, h] -> [b, h] */
static tt_hlo_value *state(const layer *l, const tt_low_value *arg, int direction) {
  tt_hlo_value *x = tt_low_tensor(l->ctx, arg, l->math);
  return tt_hlo_squeeze(l->b, tt_hlo_slice_axis(l->b, x, 0, direction, direction + 1, 1), 0);
}

static tt_hlo_value *minus(const layer *l, tt_hlo_value *x) { /* 1 - x */
  return tt_hlo_sub(l->b, tt_hlo_const_like(l->b, x, 1), x);
}

static tt_hlo_value *mul3(const layer *l, tt_hlo_value *x, tt_hlo_value *y, tt_hlo_value *z) {
  return tt_hlo_mul(l->b, tt_hlo_mul(l->b, x, y), z);
}

static tt_error *check(const layer *l, int64_t mode, int64_t proj, int64_t layers,
                       bool batch_first) {
  if (mode == LSTM && proj == 0 && layers == 1 && !batch_first)
    return NULL;
  return tt_error_new(
      TT_UNIMPLEMENTED,
      "%s: mode %d, projection %d, %d layers, batch_first %d: want one LSTM layer, [t, b, i]",
      l->ctx->rule->overload, (int)mode, (int)proj, (int)layers, (int)batch_first);
}

static tt_error *set_up(layer *l, tt_low_ctx *ctx, const tt_low_value *args) {
  const tt_hlo_type *type = &args[INPUT].tensor->type;
  int64_t stride = tt_low_int(ctx, &args[WEIGHT_STRIDE], 4);
  *l = (layer){.ctx = ctx,
               .b = ctx->b,
               .dtype = type->dtype,
               .math = tt_low_opmath(type->dtype),
               .biased = stride == 4};
  if (type->rank != 3 || args[WEIGHTS].list.count < (size_t)stride ||
      args[WEIGHTS].list.items[1].tensor->type.rank != 2)
    return tt_error_new(TT_INVALID_ARGUMENT, "%s: input of rank %d and %zu weights",
                        ctx->rule->overload, (int)type->rank, args[WEIGHTS].list.count);
  l->steps = type->dims[0];
  l->rows = type->dims[1];
  l->hidden = args[WEIGHTS].list.items[1].tensor->type.dims[1];
  return NULL;
}

static void turn_to(layer *l, const tt_low_value *args, int direction) {
  l->reverse = direction == 1;
  l->weights = args[WEIGHTS].list.items + direction * (l->biased ? 4 : 2);
}

/* ---- forward ---- */

/* x W^T + b for all steps: [t, b, 4 h] */
static tt_hlo_value *input_gates(const layer *l, tt_hlo_value *input) {
  tt_hlo_value *gates = contract(l, input, weight(l, 0), &(int64_t){2}, &(int64_t){1}, 1);
  if (l->biased)
    gates = tt_hlo_add(
        l->b, gates, tt_hlo_broadcast_like(l->b, tt_hlo_add(l->b, bias(l, 2), bias(l, 3)), gates));
  return gates;
}

/* i, f, g, o from the gates before their functions. */
static void gate_values(const layer *l, tt_hlo_value *gates, tt_hlo_value **parts) {
  for (int k = 0; k < 4; k++)
    parts[k] = k == 2 ? tt_hlo_tanh(l->b, columns(l, gates, k, 1))
                      : tt_hlo_logistic(l->b, columns(l, gates, k, 1));
}

/* The cell after a step, from its gates and the cell before it. */
static tt_hlo_value *new_cell(const layer *l, tt_hlo_value *const *gates, tt_hlo_value *before) {
  return tt_hlo_add(l->b, tt_hlo_mul(l->b, gates[1], before), tt_hlo_mul(l->b, gates[0], gates[2]));
}

/* One direction. h and c: the state before and, on return, after all steps; output [t, b, h]; kept
 * [KEPT, t, b, h], not touched when `out_kept` is NULL. */
static void run_forward(const layer *l, tt_hlo_value *input, tt_hlo_value **h, tt_hlo_value **c,
                        tt_hlo_value **out_output, tt_hlo_value **out_kept) {
  tt_hlo_value *weight_t = tt_hlo_swap_axes(l->b, weight(l, 1), 0, 1);
  tt_hlo_value *inits[7] = {number(l, 0),          *h,      *c, zeros(l, l->hidden),
                            input_gates(l, input), weight_t};
  tt_hlo_value *v[7], *out[7], *parts[KEPT], *step, *gates;
  size_t count = out_kept != NULL ? 7 : 6;
  turns loop;
  inits[6] = out_kept != NULL ? kept_zeros(l) : NULL;
  memcpy(v, inits, sizeof v);
  begin_loop(l, &loop, v, count);
  step = step_of(l, v[0], l->reverse);
  gates = tt_hlo_add(l->b, at_step(l, v[4], step),
                     contract(l, v[1], v[5], &(int64_t){1}, &(int64_t){0}, 1));
  gate_values(l, gates, parts);
  parts[4] = v[2];
  parts[5] = v[1];
  v[2] = new_cell(l, parts, v[2]);
  v[1] = tt_hlo_mul(l->b, parts[3], tt_hlo_tanh(l->b, v[2]));
  v[3] = put_step(l, v[3], step, v[1]);
  if (out_kept != NULL)
    v[6] = keep_step(l, v[6], step, parts);
  end_loop(l, &loop, inits, v, out);
  *h = out[1];
  *c = out[2];
  *out_output = out[3];
  if (out_kept != NULL)
    *out_kept = out[6];
}

static tt_hlo_value *join(const layer *l, tt_hlo_value **parts, int directions, int axis) {
  return directions == 1 ? parts[0] : tt_hlo_concat(l->b, parts, (size_t)directions, axis);
}

static void set_as(const layer *l, tt_low_value *result, tt_hlo_value *value) {
  tt_low_set(result, tt_hlo_convert(l->b, value, l->dtype));
}

/* -> output [t, b, d h], hy and cy [d, b, h], reserve, and an empty tensor: autograd wants one for
 * the weights' buffer */
static tt_error *lower_rnn(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  layer l;
  bool keep = tt_low_bool(ctx, &args[TRAIN], false);
  int directions = tt_low_bool(ctx, &args[BIDIRECTIONAL], false) ? 2 : 1;
  tt_hlo_value *kept[2], *outputs[2], *h[2], *c[2];
  const tt_hlo_dim none = tt_hlo_dim_number(0);
  (void)args_count;
  TT_RETURN_IF_ERROR(set_up(&l, ctx, args));
  TT_RETURN_IF_ERROR(check(&l, tt_low_int(ctx, &args[MODE], 0), tt_low_int(ctx, &args[PROJ], 0),
                           tt_low_int(ctx, &args[LAYERS], 1),
                           tt_low_bool(ctx, &args[BATCH_FIRST], false)));
  for (int d = 0; d < directions; d++) {
    turn_to(&l, args, d);
    h[d] = state(&l, &args[HX], d);
    c[d] = state(&l, &args[CX], d);
    run_forward(&l, args[INPUT].tensor, &h[d], &c[d], &outputs[d], keep ? &kept[d] : NULL);
    h[d] = tt_hlo_unsqueeze(l.b, h[d], 0);
    c[d] = tt_hlo_unsqueeze(l.b, c[d], 0);
    if (keep)
      kept[d] = tt_hlo_unsqueeze(l.b, kept[d], 0);
  }
  ctx->results_count = 5;
  set_as(&l, &results[0], join(&l, outputs, directions, 2));
  set_as(&l, &results[1], join(&l, h, directions, 0));
  set_as(&l, &results[2], join(&l, c, directions, 0));
  if (keep)
    tt_low_set(&results[3], join(&l, kept, directions, 0));
  tt_low_set(&results[4], tt_hlo_full(l.b, tt_hlo_const(l.b, l.dtype, 0), &none, 1));
  return NULL;
}

/* ---- backward ---- */

/* Gradients of the gates before their functions [b, 4 h], and of the cell before the step. `p`:
 * what was kept of it. */
static tt_hlo_value *cell_backward(const layer *l, tt_hlo_value *const *p, tt_hlo_value *grad_h,
                                   tt_hlo_value **grad_c) {
  tt_hlo_build *b = l->b;
  tt_hlo_value *grads[4], *slopes[4], *cell_tanh;
  cell_tanh = tt_hlo_tanh(b, new_cell(l, p, p[4]));
  for (int k = 0; k < 4; k++)
    slopes[k] = k == 2 ? minus(l, tt_hlo_mul(b, p[k], p[k])) : tt_hlo_mul(b, minus(l, p[k]), p[k]);
  *grad_c =
      tt_hlo_add(b, *grad_c, mul3(l, grad_h, p[3], minus(l, tt_hlo_mul(b, cell_tanh, cell_tanh))));
  grads[0] = mul3(l, *grad_c, p[2], slopes[0]);
  grads[1] = mul3(l, *grad_c, p[4], slopes[1]);
  grads[2] = mul3(l, *grad_c, p[0], slopes[2]);
  grads[3] = mul3(l, grad_h, cell_tanh, slopes[3]);
  *grad_c = tt_hlo_mul(b, *grad_c, p[1]);
  return tt_hlo_concat(b, grads, 4, 1);
}

/* One direction: the gates' gradients at all steps [t, b, 4 h]; grad_h and grad_c become those of
 * the first state. */
static tt_hlo_value *run_backward(const layer *l, tt_hlo_value *kept, tt_hlo_value *grad_output,
                                  tt_hlo_value **grad_h, tt_hlo_value **grad_c) {
  tt_hlo_value *inits[7] = {number(l, 0), *grad_h,      *grad_c,    zeros(l, 4 * l->hidden),
                            kept,         weight(l, 1), grad_output};
  tt_hlo_value *v[7], *out[7], *parts[5], *step, *grads, *at;
  size_t count = grad_output != NULL ? 7 : 6;
  turns loop;
  memcpy(v, inits, sizeof v);
  begin_loop(l, &loop, v, count);
  step = step_of(l, v[0], !l->reverse);
  at = grad_output != NULL ? tt_hlo_add(l->b, v[1], at_step(l, v[6], step)) : v[1];
  for (int k = 0; k < 5; k++)
    parts[k] = kept_at_step(l, v[4], k, step);
  grads = cell_backward(l, parts, at, &v[2]);
  v[1] = contract(l, grads, v[5], &(int64_t){1}, &(int64_t){0}, 1);
  v[3] = put_step(l, v[3], step, grads);
  end_loop(l, &loop, inits, v, out);
  *grad_h = out[1];
  *grad_c = out[2];
  return out[3];
}

/* Of the weights and biases of one direction. Without the barrier XLA:CPU sums the biases over
 * steps and rows as two axes, which takes as long as both products. */
static void set_weight_grads(const layer *l, tt_hlo_value *grads, tt_hlo_value *input,
                             tt_hlo_value *hidden, tt_low_value *results) {
  const int64_t over = 0;
  grads = tt_hlo_flatten(l->b, grads, 0, 1);
  set_as(l, &results[0], contract(l, grads, tt_hlo_flatten(l->b, input, 0, 1), &over, &over, 1));
  set_as(l, &results[1], contract(l, grads, tt_hlo_flatten(l->b, hidden, 0, 1), &over, &over, 1));
  for (int k = 2; l->biased && k < 4; k++)
    set_as(l, &results[k],
           tt_hlo_reduce(l->b, TT_HLO_ADD, tt_hlo_optimization_barrier(l->b, grads), &over, 1));
}

static bool masked(const tt_low_value *mask, size_t i) {
  return mask->kind == TT_LOW_LIST && i < mask->list.count && mask->list.items[i].scalar.i == 0;
}

static tt_hlo_value *grad_or_zero(const layer *l, const tt_low_value *arg, int direction,
                                  tt_hlo_value *like) {
  return tt_low_is_none(arg) ? tt_hlo_const_like(l->b, like, 0) : state(l, arg, direction);
}

/* -> gradients of the input, hx, cx, and of each weight */
static tt_error *lower_rnn_backward(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                    tt_low_value *results) {
  layer l;
  int directions = tt_low_bool(ctx, &args[B_BIDIRECTIONAL], false) ? 2 : 1;
  tt_hlo_value *h[2], *c[2], *inputs = NULL;
  (void)args_count;
  TT_RETURN_IF_ERROR(set_up(&l, ctx, args));
  TT_RETURN_IF_ERROR(check(&l, tt_low_int(ctx, &args[B_MODE], 0), tt_low_int(ctx, &args[B_PROJ], 0),
                           tt_low_int(ctx, &args[B_LAYERS], 1),
                           tt_low_bool(ctx, &args[B_BATCH_FIRST], false)));
  ctx->results_count = 3 + (size_t)directions * (l.biased ? 4 : 2);
  for (int d = 0; d < directions; d++) {
    tt_hlo_value *hx = state(&l, &args[B_HX], d), *cx = state(&l, &args[B_CX], d), *kept, *grads,
                 *part, *output = NULL;
    turn_to(&l, args, d);
    kept = tt_hlo_squeeze(l.b, tt_hlo_slice_axis(l.b, args[B_RESERVE].tensor, 0, d, d + 1, 1), 0);
    if (!tt_low_is_none(&args[B_GRAD_OUTPUT]))
      output = columns(&l, tt_low_tensor(ctx, &args[B_GRAD_OUTPUT], l.math), d, 1);
    h[d] = grad_or_zero(&l, &args[B_GRAD_HY], d, hx);
    c[d] = grad_or_zero(&l, &args[B_GRAD_CY], d, cx);
    grads = run_backward(&l, kept, output, &h[d], &c[d]);
    if (!masked(&args[B_MASK], 3))
      set_weight_grads(&l, grads, args[INPUT].tensor,
                       tt_hlo_squeeze(l.b, tt_hlo_slice_axis(l.b, kept, 0, 5, 6, 1), 0),
                       &results[3 + d * (l.biased ? 4 : 2)]);
    part = contract(&l, grads, weight(&l, 0), &(int64_t){2}, &(int64_t){0}, 1);
    inputs = inputs == NULL ? part : tt_hlo_add(l.b, inputs, part);
    h[d] = tt_hlo_unsqueeze(l.b, h[d], 0);
    c[d] = tt_hlo_unsqueeze(l.b, c[d], 0);
  }
  if (!masked(&args[B_MASK], 0))
    set_as(&l, &results[0], inputs);
  set_as(&l, &results[1], join(&l, h, directions, 0));
  set_as(&l, &results[2], join(&l, c, directions, 0));
  return NULL;
}

const tt_low_rule tt_low_rules_rnn_layer[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/rnn_layer.def"
#undef X
};
const size_t tt_low_rules_rnn_layer_count = TT_COUNT(tt_low_rules_rnn_layer);
