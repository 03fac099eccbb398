/* Softmax, layer, group, batch and weight normalization, dropout. All arithmetic is in the opmath
 * type, rounded once. */
#include <math.h>

#include "lower/rules/helpers_indexing.h"
#include "lower/rules/helpers_reduction.h"
#include "lower/rules/rules.h"

enum { LOG = 1 };
enum { BN_TRAINING_ARG, BN_UPDATE, BN_NO_UPDATE, BN_NO_STATS, BN_EVAL };

/* The tensor in its opmath type; NULL for None. */
static tt_hlo_value *wide(tt_low_ctx *ctx, const tt_low_value *arg, tt_dtype dtype) {
  return tt_low_is_tensor(arg) ? tt_low_tensor(ctx, arg, dtype) : NULL;
}

/* ---- softmax ---- */

/* The list of one axis, or of none for rank 0. */
static size_t one_axis(tt_low_ctx *ctx, const tt_low_value *dim, int rank, int64_t *out_axis) {
  *out_axis = tt_low_axis(tt_low_int(ctx, dim, 0), rank);
  return rank == 0 ? 0 : 1;
}

/* out = exp(x - max x) / its sum, along an axis; the max goes first because exp(89) is already inf
 * in f32. */
static tt_error *lower_softmax(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                               tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  int64_t axis;
  size_t count = one_axis(ctx, &args[1], tt_hlo_rank(x), &axis);
  tt_hlo_value *centred =
      tt_low_with(ctx, TT_HLO_SUBTRACT, x, tt_low_fold(ctx, TT_HLO_MAXIMUM, x, &axis, count, true));
  tt_hlo_value *e = tt_hlo_exp(b, centred);
  tt_hlo_value *sum = tt_low_fold(ctx, TT_HLO_ADD, e, &axis, count, true);
  tt_low_set(&results[0], ctx->rule->data == LOG
                              ? tt_low_with(ctx, TT_HLO_SUBTRACT, centred, tt_hlo_log(b, sum))
                              : tt_low_with(ctx, TT_HLO_DIVIDE, e, sum));
  return NULL;
}

/* As softmax, but a row of -inf alone gives zeros. */
static tt_error *lower_safe_softmax(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                    tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_low_dtype(&args[2], tt_hlo_dtype(args[0].tensor)));
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], dtype);
  int64_t axis;
  size_t count = one_axis(ctx, &args[1], tt_hlo_rank(x), &axis);
  tt_hlo_value *max = tt_low_fold(ctx, TT_HLO_MAXIMUM, x, &axis, count, true);
  tt_hlo_value *masked = tt_hlo_compare(
      b, TT_HLO_EQ, max, tt_hlo_broadcast_like(b, tt_hlo_const_lowest(b, dtype), max));
  tt_hlo_value *e = tt_hlo_exp(b, tt_low_with(ctx, TT_HLO_SUBTRACT, x, max));
  tt_hlo_value *out =
      tt_low_with(ctx, TT_HLO_DIVIDE, e, tt_low_fold(ctx, TT_HLO_ADD, e, &axis, count, true));
  tt_low_set(&results[0], tt_hlo_select(b, tt_hlo_broadcast_like(b, masked, x),
                                        tt_hlo_const_like(b, x, 0), out));
  return NULL;
}

/* softmax: y (g - sum(g y)); log_softmax: g - exp(y) sum(g). */
static tt_error *lower_softmax_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                        size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[1].tensor));
  tt_hlo_value *g = tt_low_tensor(ctx, &args[0], dtype), *y = tt_low_tensor(ctx, &args[1], dtype);
  int64_t axis;
  size_t count = one_axis(ctx, &args[2], tt_hlo_rank(y), &axis);
  bool log = ctx->rule->data == LOG;
  tt_hlo_value *gy = log ? g : tt_hlo_mul(b, g, y);
  tt_hlo_value *sum = tt_low_fold(ctx, TT_HLO_ADD, gy, &axis, count, true);
  tt_hlo_value *back = tt_low_with(ctx, TT_HLO_MULTIPLY, log ? tt_hlo_exp(b, y) : y, sum);
  tt_low_set(&results[0], tt_hlo_sub(b, gy, back));
  return NULL;
}

/* ---- what the normalizations share ---- */

typedef struct moments {
  tt_hlo_value *mean, *var, *rstd; /* the reduced axes kept as size 1; var is the biased one */
} moments;

static tt_hlo_value *rstd_of(tt_low_ctx *ctx, tt_hlo_value *var, const tt_low_value *eps) {
  tt_hlo_value *e = tt_low_number(ctx, eps, tt_hlo_dtype(var), 1e-5);
  return tt_hlo_rsqrt(ctx->b, tt_low_with(ctx, TT_HLO_ADD, var, e));
}

/* Two passes: E[x^2] - E[x]^2 would lose all digits where the mean is large. */
static moments moments_of(tt_low_ctx *ctx, tt_hlo_value *x, const int64_t *axes, size_t count,
                          const tt_low_value *eps) {
  moments m;
  m.mean = tt_low_fold_mean(ctx, x, axes, count, true);
  tt_hlo_value *centred = tt_low_with(ctx, TT_HLO_SUBTRACT, x, m.mean);
  m.var = tt_low_fold_mean(ctx, tt_hlo_mul(ctx->b, centred, centred), axes, count, true);
  m.rstd = rstd_of(ctx, m.var, eps);
  return m;
}

static tt_hlo_value *normalize(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *mean,
                               tt_hlo_value *rstd) {
  return tt_low_with(ctx, TT_HLO_MULTIPLY, tt_low_with(ctx, TT_HLO_SUBTRACT, x, mean), rstd);
}

/* dx of xhat = (x - mean) rstd, where gw = dloss/dxhat:  rstd (gw - mean(gw) - xhat mean(gw xhat)).
 */
static tt_hlo_value *normalize_backward(tt_low_ctx *ctx, tt_hlo_value *gw, tt_hlo_value *xhat,
                                        tt_hlo_value *rstd, const int64_t *axes, size_t count) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *mean = tt_low_fold_mean(ctx, gw, axes, count, true);
  tt_hlo_value *slope = tt_low_fold_mean(ctx, tt_hlo_mul(b, gw, xhat), axes, count, true);
  tt_hlo_value *d = tt_low_with(ctx, TT_HLO_SUBTRACT, gw, mean);
  d = tt_hlo_sub(b, d, tt_low_with(ctx, TT_HLO_MULTIPLY, xhat, slope));
  return tt_low_with(ctx, TT_HLO_MULTIPLY, d, rstd);
}

/* ---- layer norm ---- */

static int layer_norm_axis(const tt_low_value *shape, tt_hlo_value *x) {
  return tt_hlo_rank(x) - (shape->kind == TT_LOW_LIST ? (int)shape->list.count : 1);
}

/* (input, normalized_shape, weight, bias, eps) -> (out, mean, rstd) */
static tt_error *lower_layer_norm(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                  tt_low_value *results) {
  (void)args_count;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], dtype);
  tt_hlo_value *weight = wide(ctx, &args[2], dtype), *bias = wide(ctx, &args[3], dtype);
  size_t count;
  const int64_t *axes = tt_low_axes_from(ctx, layer_norm_axis(&args[1], x), tt_hlo_rank(x), &count);
  moments m = moments_of(ctx, x, axes, count, &args[4]);
  tt_hlo_value *out = normalize(ctx, x, m.mean, m.rstd);
  if (weight != NULL)
    out = tt_low_with(ctx, TT_HLO_MULTIPLY, out, weight);
  if (bias != NULL)
    out = tt_low_with(ctx, TT_HLO_ADD, out, bias);
  tt_low_set(&results[0], out);
  tt_low_set_fit(ctx, results, 1, m.mean);
  tt_low_set_fit(ctx, results, 2, m.rstd);
  return NULL;
}

/* The axes before `first` as one and those from it on as one. */
static tt_hlo_value *as_rows(tt_low_ctx *ctx, tt_hlo_value *x, int first) {
  tt_hlo_dim *from = tt_hlo_dims_of(ctx->b, x);
  if (from == NULL)
    return x;
  const tt_hlo_dim to[2] = {tt_hlo_dims_product(ctx->b, from, 0, first),
                            tt_hlo_dims_product(ctx->b, from, first, tt_hlo_rank(x))};
  return tt_hlo_reshape(ctx->b, x, to, 2);
}

/* (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask) -> (dx, dweight,
 * dbias). On a matrix of rows: sums over one axis are what compilers do best. */
static tt_error *lower_layer_norm_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                           size_t args_count, tt_low_value *results) {
  (void)args_count;
  const int64_t rows[1] = {0}, columns[1] = {1};
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[1].tensor));
  tt_hlo_value *input = tt_low_tensor(ctx, &args[1], dtype);
  tt_hlo_value *weight = wide(ctx, &args[5], dtype), *bias = wide(ctx, &args[6], dtype);
  int first = layer_norm_axis(&args[2], input);
  tt_hlo_value *g = as_rows(ctx, tt_low_tensor(ctx, &args[0], dtype), first),
               *x = as_rows(ctx, input, first),
               *mean = as_rows(ctx, tt_low_tensor(ctx, &args[3], dtype), first),
               *rstd = as_rows(ctx, tt_low_tensor(ctx, &args[4], dtype), first);
  tt_hlo_value *xhat = normalize(ctx, x, mean, rstd);
  if (tt_low_mask(ctx, &args[7], 0)) {
    tt_hlo_value *gw =
        weight != NULL ? tt_low_with(ctx, TT_HLO_MULTIPLY, g, as_rows(ctx, weight, 0)) : g;
    tt_low_set(&results[0], tt_low_reshape_like(
                                ctx, normalize_backward(ctx, gw, xhat, rstd, columns, 1), input));
  }
  if (tt_low_mask(ctx, &args[7], 1) && weight != NULL)
    tt_low_set(
        &results[1],
        tt_low_reshape_like(
            ctx, tt_low_fold(ctx, TT_HLO_ADD, tt_hlo_mul(b, g, xhat), rows, 1, false), weight));
  if (tt_low_mask(ctx, &args[7], 2) && bias != NULL)
    tt_low_set(&results[2],
               tt_low_reshape_like(ctx, tt_low_fold(ctx, TT_HLO_ADD, g, rows, 1, false), bias));
  return NULL;
}

/* ---- group norm ---- */

/* [N, C, ...] as [N, groups, the rest] */
static tt_hlo_value *group(tt_low_ctx *ctx, tt_hlo_value *x, int64_t groups) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_dim *from = tt_hlo_dims_of(b, x);
  if (from == NULL)
    return x;
  tt_hlo_dim channels = tt_hlo_dim_div(b, from[1], tt_hlo_dim_number(groups));
  tt_hlo_dim inner = tt_hlo_dim_mul(b, channels, tt_hlo_dims_product(b, from, 2, tt_hlo_rank(x)));
  const tt_hlo_dim to[3] = {from[0], tt_hlo_dim_number(groups), inner};
  return tt_hlo_reshape(b, x, to, 3);
}

/* (input, weight, bias, N, C, HxW, group, eps) -> (out, mean[N, group], rstd[N, group]) */
static tt_error *lower_group_norm(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                  tt_low_value *results) {
  (void)args_count;
  const int64_t axes[1] = {2};
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], dtype);
  tt_hlo_value *weight = wide(ctx, &args[1], dtype), *bias = wide(ctx, &args[2], dtype);
  tt_hlo_value *grouped = group(ctx, x, tt_low_int(ctx, &args[6], 1));
  moments m = moments_of(ctx, grouped, axes, 1, &args[7]);
  tt_hlo_value *out = tt_low_reshape_like(ctx, normalize(ctx, grouped, m.mean, m.rstd), x);
  if (weight != NULL)
    out = tt_hlo_mul(ctx->b, out, tt_low_along(ctx, weight, x, 1));
  if (bias != NULL)
    out = tt_hlo_add(ctx->b, out, tt_low_along(ctx, bias, x, 1));
  tt_low_set(&results[0], out);
  tt_low_set_fit(ctx, results, 1, tt_hlo_squeeze(ctx->b, m.mean, 2));
  tt_low_set_fit(ctx, results, 2, tt_hlo_squeeze(ctx->b, m.rstd, 2));
  return NULL;
}

/* (grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask) -> (dx, dweight, dbias) */
static tt_error *lower_group_norm_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                           size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  const int64_t inner[1] = {2};
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[1].tensor));
  tt_hlo_value *g = tt_low_tensor(ctx, &args[0], dtype), *x = tt_low_tensor(ctx, &args[1], dtype);
  tt_hlo_value *mean = tt_hlo_unsqueeze(b, tt_low_tensor(ctx, &args[2], dtype), 2);
  tt_hlo_value *rstd = tt_hlo_unsqueeze(b, tt_low_tensor(ctx, &args[3], dtype), 2);
  tt_hlo_value *weight = wide(ctx, &args[4], dtype);
  int64_t groups = tt_low_int(ctx, &args[8], 1);
  tt_hlo_value *xhat = normalize(ctx, group(ctx, x, groups), mean, rstd);
  size_t outer_count;
  const int64_t *outer = tt_low_axes_but(ctx, tt_hlo_rank(x), 1, &outer_count);
  if (tt_low_mask(ctx, &args[9], 0)) {
    tt_hlo_value *gw = weight != NULL ? tt_hlo_mul(b, g, tt_low_along(ctx, weight, x, 1)) : g;
    tt_hlo_value *dx = normalize_backward(ctx, group(ctx, gw, groups), xhat, rstd, inner, 1);
    tt_low_set(&results[0], tt_low_reshape_like(ctx, dx, x));
  }
  if (tt_low_mask(ctx, &args[9], 1)) {
    tt_hlo_value *gx = tt_hlo_mul(b, g, tt_low_reshape_like(ctx, xhat, x));
    tt_low_set(&results[1], tt_low_fold(ctx, TT_HLO_ADD, gx, outer, outer_count, false));
  }
  if (tt_low_mask(ctx, &args[9], 2))
    tt_low_set(&results[2], tt_low_fold(ctx, TT_HLO_ADD, g, outer, outer_count, false));
  return NULL;
}

/* ---- batch norm ---- */

/* A per-channel vector as [1, C, 1, ...], to meet `x`. */
static tt_hlo_value *channels(tt_low_ctx *ctx, tt_hlo_value *vector, tt_hlo_value *x) {
  size_t rank = (size_t)tt_hlo_rank(x);
  tt_hlo_dim *dims = tt_hlo_alloc(ctx->b, rank, sizeof *dims);
  for (size_t i = 0; dims != NULL && i < rank; i++)
    dims[i] = i == 1 ? tt_hlo_dim_of(ctx->b, vector, 0) : tt_hlo_dim_number(1);
  return dims == NULL ? vector : tt_hlo_reshape(ctx->b, vector, dims, rank);
}

/* [1, C, 1, ...] as [C] */
static tt_hlo_value *as_vector(tt_low_ctx *ctx, tt_hlo_value *kept) {
  const tt_hlo_dim dim = tt_hlo_dim_of(ctx->b, kept, 1);
  return tt_hlo_reshape(ctx->b, kept, &dim, 1);
}

/* old + momentum (new - old), in the dtype of the running statistic. */
static tt_hlo_value *moved(tt_low_ctx *ctx, const tt_low_value *old, tt_hlo_value *now,
                           const tt_low_value *momentum) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_hlo_dtype(now);
  tt_hlo_value *m = tt_low_number(ctx, momentum, dtype, 0.1), *one = tt_hlo_const(b, dtype, 1);
  tt_hlo_value *kept =
      tt_low_with(ctx, TT_HLO_MULTIPLY, tt_low_tensor(ctx, old, dtype), tt_hlo_sub(b, one, m));
  tt_hlo_value *sum = tt_hlo_add(b, kept, tt_low_with(ctx, TT_HLO_MULTIPLY, now, m));
  return tt_hlo_convert(b, sum, tt_hlo_dtype(old->tensor));
}

typedef struct batch_norm {
  tt_hlo_value *x;
  const int64_t *axes;
  size_t axes_count;
  moments m;
} batch_norm;

/* running_var takes the unbiased variance: n / (n - 1) times the biased one. */
static void batch_norm_update(tt_low_ctx *ctx, const batch_norm *bn, const tt_low_value *mean,
                              const tt_low_value *var, const tt_low_value *momentum,
                              tt_low_value *results) {
  tt_dtype dtype = tt_hlo_dtype(bn->x);
  tt_hlo_value *n = tt_low_fold_size(ctx, bn->x, bn->axes, bn->axes_count, dtype);
  tt_hlo_value *ratio =
      tt_hlo_div(ctx->b, n, tt_hlo_sub(ctx->b, n, tt_hlo_const(ctx->b, dtype, 1)));
  tt_hlo_value *unbiased = tt_low_with(ctx, TT_HLO_MULTIPLY, as_vector(ctx, bn->m.var), ratio);
  tt_low_set(&results[0], moved(ctx, mean, as_vector(ctx, bn->m.mean), momentum));
  tt_low_set(&results[1], moved(ctx, var, unbiased, momentum));
}

/* Where the forms differ: data says which arguments and results there are.
 *   TRAINING_ARG  (x, w, b, rm, rv, training, momentum, eps) -> (out, mean, invstd [, rm, rv])
 *   UPDATE        (x, w, b, rm, rv, momentum, eps) -> (out, mean, invstd, reserve [, rm, rv])
 *   NO_UPDATE     (x, w, b, rm, rv, momentum, eps) -> (out, mean, invstd, reserve)
 *   NO_STATS      (x, w, b, training, momentum, eps) -> (out, mean, invstd)
 *   EVAL          (x, w, b, rm, rv, momentum, eps) -> (out, mean, invstd)
 * The new running statistics come where the form's schema returns them (the _functional forms). */
static tt_error *lower_batch_norm(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                  tt_low_value *results) {
  int64_t form = ctx->rule->data;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  batch_norm bn = {.x = tt_low_tensor(ctx, &args[0], dtype)};
  tt_hlo_value *weight = wide(ctx, &args[1], dtype), *bias = wide(ctx, &args[2], dtype);
  const tt_low_value *mean = form == BN_NO_STATS ? NULL : &args[3],
                     *var = form == BN_NO_STATS ? NULL : &args[4];
  const tt_low_value *eps = &args[args_count - 1], *momentum = &args[args_count - 2];
  bool training = form == BN_UPDATE;
  if (form == BN_TRAINING_ARG || form == BN_NO_STATS)
    training = tt_low_bool(ctx, &args[args_count - 3], false);
  bool use_batch = training || mean == NULL || !tt_low_is_tensor(mean);
  bn.axes = tt_low_axes_but(ctx, tt_hlo_rank(bn.x), 1, &bn.axes_count);
  if (use_batch) {
    bn.m = moments_of(ctx, bn.x, bn.axes, bn.axes_count, eps);
  } else {
    bn.m.mean = channels(ctx, tt_low_tensor(ctx, mean, dtype), bn.x);
    bn.m.var = channels(ctx, tt_low_tensor(ctx, var, dtype), bn.x);
    bn.m.rstd = rstd_of(ctx, bn.m.var, eps);
  }
  tt_hlo_value *out = normalize(ctx, bn.x, bn.m.mean, bn.m.rstd);
  if (weight != NULL)
    out = tt_hlo_mul(ctx->b, out, tt_low_along(ctx, weight, bn.x, 1));
  if (bias != NULL)
    out = tt_hlo_add(ctx->b, out, tt_low_along(ctx, bias, bn.x, 1));
  tt_low_set(&results[0], out);
  tt_low_set_fit(ctx, results, 1, as_vector(ctx, bn.m.mean));
  tt_low_set_fit(ctx, results, 2, as_vector(ctx, bn.m.rstd));
  size_t next = 3;
  if (form == BN_UPDATE || form == BN_NO_UPDATE) {
    const tt_hlo_dim none = tt_hlo_dim_number(0);
    tt_low_set(&results[next++], tt_hlo_full(ctx->b, tt_hlo_const(ctx->b, TT_U8, 0), &none, 1));
  }
  if (ctx->wanted_count < next + 2)
    return NULL;
  if (use_batch && mean != NULL) {
    batch_norm_update(ctx, &bn, mean, var, momentum, &results[next]);
  } else {
    tt_low_set(&results[next], mean->tensor);
    tt_low_set(&results[next + 1], var->tensor);
  }
  return NULL;
}

/* (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
 * output_mask [, reserve]) */
static tt_error *lower_batch_norm_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                           size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[1].tensor));
  tt_hlo_value *g = tt_low_tensor(ctx, &args[0], dtype), *x = tt_low_tensor(ctx, &args[1], dtype);
  tt_hlo_value *weight = wide(ctx, &args[2], dtype);
  bool train = tt_low_bool(ctx, &args[7], true);
  size_t count;
  const int64_t *axes = tt_low_axes_but(ctx, tt_hlo_rank(x), 1, &count);
  tt_hlo_value *mean = channels(ctx, tt_low_tensor(ctx, &args[train ? 5 : 3], dtype), x);
  tt_hlo_value *rstd = channels(ctx, tt_low_tensor(ctx, &args[train ? 6 : 4], dtype), x);
  if (!train)
    rstd = rstd_of(ctx, rstd, &args[8]);
  tt_hlo_value *xhat = normalize(ctx, x, mean, rstd);
  if (tt_low_mask(ctx, &args[9], 0)) {
    tt_hlo_value *gw = weight != NULL ? tt_hlo_mul(b, g, tt_low_along(ctx, weight, x, 1)) : g;
    tt_low_set(&results[0], train ? normalize_backward(ctx, gw, xhat, rstd, axes, count)
                                  : tt_low_with(ctx, TT_HLO_MULTIPLY, gw, rstd));
  }
  if (tt_low_mask(ctx, &args[9], 1))
    tt_low_set(&results[1],
               tt_low_fold(ctx, TT_HLO_ADD, tt_hlo_mul(b, g, xhat), axes, count, false));
  if (tt_low_mask(ctx, &args[9], 2))
    tt_low_set(&results[2], tt_low_fold(ctx, TT_HLO_ADD, g, axes, count, false));
  return NULL;
}

/* ---- dropout ---- */

/* (input, p, train?) -> (input * mask / (1 - p), mask). p stays a number of the run: nothing here
 * depends on it. */
static tt_error *lower_dropout(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                               tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = args[0].tensor;
  tt_hlo_dim *dims = tt_hlo_dims_of(b, x);
  size_t rank = (size_t)tt_hlo_rank(x);
  if (!tt_low_is_none(&args[2]) && !tt_low_bool(ctx, &args[2], true)) {
    tt_low_set(&results[0], x);
    tt_low_set(&results[1], tt_hlo_full(b, tt_hlo_const(b, TT_PRED, 1), dims, rank));
    return NULL;
  }
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(x));
  tt_dtype real = tt_dtype_real(dtype) == TT_F64 ? TT_F64 : TT_F32;
  tt_hlo_value *p = tt_low_number(ctx, &args[1], real, 0.5), *one = tt_hlo_const(b, real, 1);
  tt_hlo_value *u = tt_low_random_uniform(ctx, real, dims, rank);
  tt_hlo_value *mask = tt_hlo_compare(b, TT_HLO_GE, u, tt_hlo_broadcast_like(b, p, u));
  tt_hlo_value *all = tt_hlo_compare(b, TT_HLO_EQ, p, one); /* all dropped: 1 / 0 must not meet 0 */
  tt_hlo_value *scale =
      tt_hlo_select(b, all, tt_hlo_const(b, real, 0), tt_hlo_div(b, one, tt_hlo_sub(b, one, p)));
  tt_hlo_value *factor = tt_low_with(ctx, TT_HLO_MULTIPLY, tt_hlo_convert(b, mask, real), scale);
  tt_low_set(&results[0],
             tt_hlo_mul(b, tt_hlo_convert(b, x, dtype), tt_hlo_convert(b, factor, dtype)));
  tt_low_set(&results[1], mask);
  return NULL;
}

/* grad * mask * scale */
static tt_error *lower_dropout_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                        size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *g = tt_low_tensor(ctx, &args[0], dtype),
               *mask = tt_low_tensor(ctx, &args[1], dtype);
  tt_hlo_value *scale = tt_low_number(ctx, &args[2], dtype, 1);
  tt_low_set(&results[0], tt_low_with(ctx, TT_HLO_MULTIPLY, tt_hlo_mul(ctx->b, g, mask), scale));
  return NULL;
}

/* ---- weight norm, renorm ---- */

static tt_hlo_value *norm_but(tt_low_ctx *ctx, tt_hlo_value *v, int axis) {
  size_t count;
  const int64_t *axes = tt_low_axes_but(ctx, tt_hlo_rank(v), axis, &count);
  return tt_hlo_sqrt(ctx->b,
                     tt_low_fold(ctx, TT_HLO_ADD, tt_low_square(ctx, v), axes, count, true));
}

/* (v, g, dim) -> (v g / |v|, |v|), the norm over all axes but dim */
static tt_error *lower_weight_norm(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                   tt_low_value *results) {
  (void)args_count;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *v = tt_low_tensor(ctx, &args[0], dtype), *g = tt_low_tensor(ctx, &args[1], dtype);
  tt_hlo_value *norm = norm_but(ctx, v, tt_low_axis(tt_low_int(ctx, &args[2], 0), tt_hlo_rank(v)));
  tt_low_set(&results[0], tt_low_with(ctx, TT_HLO_MULTIPLY, v, tt_hlo_div(ctx->b, g, norm)));
  tt_low_set(&results[1], norm);
  return NULL;
}

/* (grad_w, v, g, norms, dim): dg = sum(grad_w v) / |v|;  dv = g / |v| (grad_w - v sum(grad_w v) /
 * |v|^2) */
static tt_error *lower_weight_norm_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                            size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_hlo_dtype(args[1].tensor));
  tt_hlo_value *gw = tt_low_tensor(ctx, &args[0], dtype), *v = tt_low_tensor(ctx, &args[1], dtype);
  tt_hlo_value *g = tt_low_tensor(ctx, &args[2], dtype),
               *norm = tt_low_tensor(ctx, &args[3], dtype);
  size_t count;
  const int64_t *axes = tt_low_axes_but(
      ctx, tt_hlo_rank(v), tt_low_axis(tt_low_int(ctx, &args[4], 0), tt_hlo_rank(v)), &count);
  tt_hlo_value *dot = tt_low_fold(ctx, TT_HLO_ADD, tt_hlo_mul(b, gw, v), axes, count, true);
  tt_hlo_value *along = tt_hlo_div(b, dot, tt_hlo_mul(b, norm, norm));
  tt_hlo_value *across = tt_hlo_sub(b, gw, tt_low_with(ctx, TT_HLO_MULTIPLY, v, along));
  tt_low_set(&results[0], tt_low_with(ctx, TT_HLO_MULTIPLY, across, tt_hlo_div(b, g, norm)));
  tt_low_set(&results[1], tt_hlo_div(b, dot, norm));
  return NULL;
}

/* |x|_p over all axes but `axis`, kept */
static tt_hlo_value *p_norm_but(tt_low_ctx *ctx, tt_hlo_value *x, int axis, double p) {
  size_t count;
  const int64_t *axes = tt_low_axes_but(ctx, tt_hlo_rank(x), axis, &count);
  if (p == 2)
    return norm_but(ctx, x, axis);
  tt_hlo_value *size = tt_hlo_abs(ctx->b, x);
  if (isinf(p))
    return tt_low_fold(ctx, TT_HLO_MAXIMUM, size, axes, count, true);
  size = p == 1 ? size : tt_low_with_const(ctx, TT_HLO_POWER, size, p);
  tt_hlo_value *sum = tt_low_fold(ctx, TT_HLO_ADD, size, axes, count, true);
  return p == 1 ? sum : tt_low_with_const(ctx, TT_HLO_POWER, sum, 1 / p);
}

/* (self, p, dim, maxnorm): slices along dim whose norm is above maxnorm are scaled by maxnorm /
 * (norm + 1e-7) */
static tt_error *lower_renorm(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                              tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  int axis = tt_low_axis(tt_low_int(ctx, &args[2], 0), tt_hlo_rank(x));
  tt_hlo_value *norm = p_norm_but(ctx, x, axis, tt_low_double(ctx, &args[1], 2));
  tt_hlo_value *most =
      tt_hlo_broadcast_like(b, tt_low_number(ctx, &args[3], tt_hlo_dtype(norm), 1), norm);
  tt_hlo_value *factor = tt_hlo_div(b, most, tt_low_with_const(ctx, TT_HLO_ADD, norm, 1e-7));
  factor = tt_hlo_select(b, tt_hlo_compare(b, TT_HLO_GT, norm, most), factor,
                         tt_hlo_const_like(b, norm, 1));
  tt_low_set(&results[0],
             tt_low_with(ctx, TT_HLO_MULTIPLY, x, tt_hlo_convert(b, factor, tt_hlo_dtype(x))));
  return NULL;
}

const tt_low_rule tt_low_rules_norm[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/norm.def"
#undef X
};
const size_t tt_low_rules_norm_count = TT_COUNT(tt_low_rules_norm);
