/* Scaled dot product attention, forward and backward, as plain contractions and a softmax.
 *
 * query [B, Hq, Lq, E], key [B, Hk, Lk, E], value [B, Hk, Lk, V]; Hq = G Hk (grouped query
 * attention: G query heads share one key head). Inside, query is [B, Hk, G, Lq, E] and scores are
 * [B, Hk, G, Lq, Lk], so that keys and values are never repeated. */
#include <math.h>

#include "lower/rules/helpers_reduction.h"
#include "lower/rules/rules.h"

typedef struct attention {
  tt_hlo_value *q, *k, *v; /* q in five dims */
  tt_hlo_value *scores;    /* f32 or f64, scaled, biased, masked with -inf */
  tt_hlo_value *scale;     /* scalar of the scores' dtype */
  tt_hlo_dim dims[5];      /* B Hk G Lq Lk */
  tt_dtype wide;
  bool squeezed; /* operands came without B */
} attention;

static tt_hlo_value *with_batch(tt_low_ctx *ctx, const tt_low_value *arg) {
  return tt_hlo_rank(arg->tensor) == 3 ? tt_hlo_unsqueeze(ctx->b, arg->tensor, 0) : arg->tensor;
}

/* [B, Hk G, L, E] as [B, Hk, G, L, E] */
static tt_hlo_value *split_heads(tt_low_ctx *ctx, tt_hlo_value *x, const attention *a) {
  const tt_hlo_dim dims[5] = {a->dims[0], a->dims[1], a->dims[2], tt_hlo_dim_of(ctx->b, x, 2),
                              tt_hlo_dim_of(ctx->b, x, 3)};
  return tt_hlo_reshape(ctx->b, x, dims, 5);
}

static tt_hlo_value *join_heads(tt_low_ctx *ctx, tt_hlo_value *x, const attention *a) {
  x = tt_hlo_flatten(ctx->b, x, 1, 2);
  return a->squeezed ? tt_hlo_squeeze(ctx->b, x, 0) : x;
}

/* Contracts lhs axes with rhs axes; B and Hk are batch dims of both. */
static tt_hlo_value *meet(tt_low_ctx *ctx, tt_hlo_value *lhs, tt_hlo_value *rhs,
                          tt_hlo_list lhs_axes, tt_hlo_list rhs_axes, tt_dtype dtype) {
  static const int64_t batch[2] = {0, 1};
  const tt_hlo_dot_dims dims = {{2, batch}, {2, batch}, lhs_axes, rhs_axes};
  return tt_hlo_dot_general(ctx->b, lhs, rhs, &dims, dtype);
}

static const int64_t axis_2[1] = {2}, axis_3[1] = {3}, axis_4[1] = {4}, axes_2_3[2] = {2, 3};
#define AXES(list) ((tt_hlo_list){TT_COUNT(list), list})

/* bias [..., Lq, Lk], broadcast to [B, Hq, Lq, Lk] as numpy does, in five dims; bool: -inf where
 * false */
static tt_hlo_value *biased(tt_low_ctx *ctx, const attention *a, tt_hlo_value *scores,
                            tt_hlo_value *bias) {
  tt_hlo_build *b = ctx->b;
  const tt_hlo_dim four[4] = {a->dims[0], tt_hlo_dim_mul(b, a->dims[1], a->dims[2]), a->dims[3],
                              a->dims[4]};
  bool is_mask = tt_hlo_dtype(bias) == TT_PRED;
  if (!is_mask)
    bias = tt_hlo_convert(b, bias, a->wide);
  bias = tt_hlo_reshape(b, tt_hlo_broadcast_to(b, bias, four, 4), a->dims, 5);
  return is_mask ? tt_low_select_const(ctx, bias, scores, -INFINITY) : tt_hlo_add(b, scores, bias);
}

/* Position i sees positions 0..i, counted from the start of both. */
static tt_hlo_value *causal(tt_low_ctx *ctx, tt_hlo_value *scores) {
  tt_hlo_value *row = tt_low_iota_like(ctx, scores, 3), *column = tt_low_iota_like(ctx, scores, 4);
  return tt_low_select_const(ctx, tt_hlo_compare(ctx->b, TT_HLO_LE, column, row), scores,
                             -INFINITY);
}

/* 1 / sqrt(E) unless given */
static tt_hlo_value *scale_of(tt_low_ctx *ctx, const attention *a, const tt_low_value *scale) {
  if (!tt_low_is_none(scale))
    return tt_low_number(ctx, scale, a->wide, 1);
  tt_hlo_dim width = tt_hlo_dim_of(ctx->b, a->q, 4);
  return width.value == NULL ? tt_hlo_const(ctx->b, a->wide, 1 / sqrt((double)width.size))
                             : tt_hlo_rsqrt(ctx->b, tt_hlo_dim_value(ctx->b, width, a->wide));
}

static tt_error *attention_begin(tt_low_ctx *ctx, const tt_low_value *qkv, const tt_low_value *bias,
                                 bool is_causal, const tt_low_value *scale, attention *out_a) {
  tt_hlo_build *b = ctx->b;
  attention a = {.squeezed = tt_hlo_rank(qkv[0].tensor) == 3};
  tt_hlo_value *q = with_batch(ctx, &qkv[0]);
  a.k = with_batch(ctx, &qkv[1]);
  a.v = with_batch(ctx, &qkv[2]);
  a.wide = tt_low_opmath(tt_hlo_dtype(q));
  a.dims[0] = tt_hlo_dim_of(b, q, 0);
  a.dims[1] = tt_hlo_dim_of(b, a.k, 1);
  a.dims[2] = tt_hlo_dim_div(b, tt_hlo_dim_of(b, q, 1), a.dims[1]);
  a.dims[3] = tt_hlo_dim_of(b, q, 2);
  a.dims[4] = tt_hlo_dim_of(b, a.k, 2);
  a.q = split_heads(ctx, q, &a);
  a.scale = scale_of(ctx, &a, scale);
  a.scores = tt_low_with(ctx, TT_HLO_MULTIPLY,
                         meet(ctx, a.q, a.k, AXES(axis_4), AXES(axis_3), a.wide), a.scale);
  if (tt_low_is_tensor(bias))
    a.scores = biased(ctx, &a, a.scores, bias->tensor);
  if (is_causal)
    a.scores = causal(ctx, a.scores);
  *out_a = a;
  return NULL;
}

static tt_error *refuse_dropout(tt_low_ctx *ctx, const tt_low_value *p) {
  if (tt_low_double(ctx, p, 0) == 0)
    return NULL;
  return tt_error_new(TT_UNIMPLEMENTED, "%s: dropout_p is not 0; choose the math path",
                      ctx->rule->overload);
}

/* -inf as 0: a row that sees nothing then gives exp(-inf) = 0 and not NaN. */
static tt_hlo_value *without_lowest(tt_low_ctx *ctx, tt_hlo_value *x) {
  tt_hlo_value *lowest = tt_low_compare_const(ctx, TT_HLO_EQ, x, -INFINITY);
  return tt_hlo_select(ctx->b, lowest, tt_hlo_const_like(ctx->b, x, 0), x);
}

static tt_low_value int_value(int64_t size) {
  return (tt_low_value){.kind = TT_LOW_SCALAR,
                        .scalar = {.dtype = TT_S64, .i = size, .real = (double)size}};
}

/* (q, k, v, attn_bias, dropout_p, is_causal, return_debug_mask, scale) -> (out, logsumexp[B, Hq,
 * Lq], cum_seq_q, cum_seq_k, max_q, max_k, philox_seed, philox_offset, debug_attn_mask). Of these
 * the cumulative lengths and the debug mask are undefined, the maxima are the lengths, and seed and
 * offset are 0: without dropout nothing reads them. */
static tt_error *lower_attention(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                 tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  attention a;
  if (ctx->results_capacity < 9)
    return tt_error_new(TT_INTERNAL, "%s: 9 results, room for %zu", ctx->rule->overload,
                        ctx->results_capacity);
  TT_RETURN_IF_ERROR(refuse_dropout(ctx, &args[4]));
  TT_RETURN_IF_ERROR(
      attention_begin(ctx, args, &args[3], tt_low_bool(ctx, &args[5], false), &args[7], &a));
  tt_hlo_value *max =
      without_lowest(ctx, tt_hlo_reduce_keep(b, TT_HLO_MAXIMUM, a.scores, axis_4, 1));
  tt_hlo_value *e = tt_hlo_exp(b, tt_low_with(ctx, TT_HLO_SUBTRACT, a.scores, max));
  tt_hlo_value *sum = tt_hlo_reduce_keep(b, TT_HLO_ADD, e, axis_4, 1);
  tt_hlo_value *lse = tt_hlo_squeeze(b, tt_hlo_add(b, max, tt_hlo_log(b, sum)), 4);
  /* The weights meet `value` in its own dtype, as the matrix unit wants; the sum divides
   * afterwards, in f32. */
  tt_hlo_value *weights = tt_hlo_convert(b, e, tt_hlo_dtype(a.v));
  tt_hlo_value *out = meet(ctx, weights, a.v, AXES(axis_4), AXES(axis_2), a.wide);
  tt_hlo_value *nothing = tt_low_compare_const(ctx, TT_HLO_EQ, sum, 0);
  sum = tt_hlo_select(b, nothing, tt_hlo_const_like(b, sum, 1), sum);
  tt_low_set(&results[0], join_heads(ctx, tt_low_with(ctx, TT_HLO_DIVIDE, out, sum), &a));
  tt_low_set(&results[1], tt_hlo_convert(b, tt_hlo_flatten(b, lse, 1, 2), TT_F32));
  results[2].kind = results[3].kind = results[8].kind = TT_LOW_NONE;
  results[4] = int_value(a.dims[3].size);
  results[5] = int_value(a.dims[4].size);
  tt_low_set(&results[6], tt_hlo_const_int(b, TT_S64, 0));
  tt_low_set(&results[7], tt_hlo_const_int(b, TT_S64, 0));
  return NULL;
}

/* d bias: the scores' gradient summed over the axes along which the bias was broadcast */
static tt_hlo_value *bias_gradient(tt_low_ctx *ctx, tt_hlo_value *ds, tt_hlo_value *bias) {
  tt_hlo_build *b = ctx->b;
  int64_t axes[4];
  size_t count = 0;
  int missing = 4 - tt_hlo_rank(bias);
  tt_hlo_value *grad = tt_hlo_flatten(b, ds, 1, 2);
  for (int i = 0; i < 4; i++) {
    tt_hlo_dim dim = i < missing ? tt_hlo_dim_number(1) : tt_hlo_dim_of(b, bias, i - missing);
    if (dim.value == NULL && dim.size == 1)
      axes[count++] = i;
  }
  grad = tt_low_fold(ctx, TT_HLO_ADD, grad, axes, count, true);
  return tt_hlo_reshape(b, grad, tt_hlo_dims_of(b, bias), (size_t)tt_hlo_rank(bias));
}

/* (grad_out, q, k, v, attn_bias, grad_input_mask, out, logsumexp, cum_seq_q, cum_seq_k, max_q,
 * max_k, dropout_p, is_causal, philox_seed, philox_offset, scale). With P = exp(S - logsumexp): dV
 * = P^T dO,  dP = dO V^T,  dS = P (dP - rowsum(dO O)),  dQ = scale dS K,  dK = scale dS^T Q. */
static tt_error *lower_attention_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                          size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  attention a;
  TT_RETURN_IF_ERROR(refuse_dropout(ctx, &args[12]));
  TT_RETURN_IF_ERROR(
      attention_begin(ctx, &args[1], &args[4], tt_low_bool(ctx, &args[13], false), &args[16], &a));
  tt_dtype narrow = tt_hlo_dtype(a.q);
  tt_hlo_value *g = split_heads(ctx, with_batch(ctx, &args[0]), &a);
  tt_hlo_value *out = split_heads(ctx, with_batch(ctx, &args[6]), &a);
  const tt_hlo_dim row[5] = {a.dims[0], a.dims[1], a.dims[2], a.dims[3], tt_hlo_dim_number(1)};
  tt_hlo_value *lse = tt_hlo_reshape(b, tt_low_tensor(ctx, &args[7], a.wide), row, 5);
  tt_hlo_value *p =
      tt_hlo_exp(b, tt_low_with(ctx, TT_HLO_SUBTRACT, a.scores, without_lowest(ctx, lse)));
  tt_hlo_value *dv =
      meet(ctx, tt_hlo_convert(b, p, narrow), g, AXES(axes_2_3), AXES(axes_2_3), a.wide);
  tt_hlo_value *dp = meet(ctx, g, a.v, AXES(axis_4), AXES(axis_3), a.wide);
  tt_hlo_value *go = tt_hlo_mul(b, tt_hlo_convert(b, g, a.wide), tt_hlo_convert(b, out, a.wide));
  tt_hlo_value *delta = tt_hlo_reduce_keep(b, TT_HLO_ADD, go, axis_4, 1);
  tt_hlo_value *ds = tt_hlo_mul(b, p, tt_low_with(ctx, TT_HLO_SUBTRACT, dp, delta));
  tt_hlo_value *ds_narrow = tt_hlo_convert(b, ds, narrow);
  tt_hlo_value *dq = meet(ctx, ds_narrow, a.k, AXES(axis_4), AXES(axis_2), a.wide);
  tt_hlo_value *dk = meet(ctx, ds_narrow, a.q, AXES(axes_2_3), AXES(axes_2_3), a.wide);
  dk = tt_low_with(ctx, TT_HLO_MULTIPLY, dk, a.scale);
  if (tt_low_mask(ctx, &args[5], 0))
    tt_low_set(&results[0], join_heads(ctx, tt_low_with(ctx, TT_HLO_MULTIPLY, dq, a.scale), &a));
  if (tt_low_mask(ctx, &args[5], 1))
    tt_low_set(&results[1], a.squeezed ? tt_hlo_squeeze(b, dk, 0) : dk);
  if (tt_low_mask(ctx, &args[5], 2))
    tt_low_set(&results[2], a.squeezed ? tt_hlo_squeeze(b, dv, 0) : dv);
  if (tt_low_mask(ctx, &args[5], 3) && tt_low_is_tensor(&args[4]))
    tt_low_set(&results[3], bias_gradient(ctx, ds, args[4].tensor));
  return NULL;
}

const tt_low_rule tt_low_rules_attention[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/attention.def"
#undef X
};
const size_t tt_low_rules_attention_count = TT_COUNT(tt_low_rules_attention);
