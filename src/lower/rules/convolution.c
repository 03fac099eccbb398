/* Convolutions of any rank, plain and transposed, with groups, and their gradients: each is one
 * stablehlo.convolution in the layout of PyTorch. Measured on XLA:CPU (jaxlib 0.10.2) against
 * im2col and one product per tap: this form is as quick or quicker for ResNet shapes, forward and
 * backward.
 *
 * Sizes of an axis: d input, o output, k kernel, s stride, p padding, l dilation:  o = (d + 2p -
 * l(k-1) - 1) / s + 1. */
#include "lower/rules/helpers_indexing.h"
#include "lower/rules/rules.h"

enum { SPATIAL_MAX = 8 };

typedef struct window {
  int spatial;
  const int64_t *stride, *padding, *dilation, *output_padding; /* [spatial] */
  bool transposed;
  int64_t groups;
} window;

/* args: stride padding dilation transposed output_padding groups */
static tt_error *parse_conv(tt_low_ctx *ctx, const tt_low_value *args, tt_hlo_value *input,
                            window *c) {
  size_t count;
  c->spatial = tt_hlo_rank(input) - 2;
  if (c->spatial < 1 || c->spatial > SPATIAL_MAX)
    return tt_error_new(TT_UNIMPLEMENTED, "%s: input of rank %d", ctx->rule->overload,
                        tt_hlo_rank(input));
  count = (size_t)c->spatial;
  c->stride = tt_low_ints_of(ctx, &args[0], count, 1);
  c->padding = tt_low_ints_of(ctx, &args[1], count, 0);
  c->dilation = tt_low_ints_of(ctx, &args[2], count, 1);
  c->transposed = tt_low_bool(ctx, &args[3], false);
  c->output_padding = tt_low_ints_of(ctx, &args[4], count, 0);
  c->groups = tt_low_int(ctx, &args[5], 1);
  if (c->stride == NULL || c->padding == NULL || c->dilation == NULL || c->output_padding == NULL)
    return tt_error_no_memory(count * sizeof(int64_t));
  for (int i = 0; i < c->spatial;
       i++) /* zeros stand for promoted numbers, in a program that will be thrown away */
    if (c->stride[i] < 1 || c->groups < 1)
      return tt_error_new(TT_INVALID_ARGUMENT, "%s: stride or groups below 1", ctx->rule->overload);
  return NULL;
}

/* ---- the three products; weight is always [a, b / groups, k...] ---- */

/* [n, b, d...] x [a, b/g, k...] -> [n, a, o...]; pad_high may differ from pad_low. */
static tt_hlo_value *conv_forward(tt_low_ctx *ctx, const window *c, tt_hlo_value *input,
                                  tt_hlo_value *weight, const int64_t *pad_high) {
  tt_hlo_conv conv = {c->stride, c->padding, pad_high, NULL, c->dilation, NULL, c->groups, 1, {0}};
  conv.dims = tt_hlo_conv_dims_torch(ctx->b, c->spatial);
  return tt_hlo_convolution(ctx->b, input, weight, &conv);
}

/* [a, b/g, k...] to [b, a/g, k...]: the groups stay together, outputs and inputs change places. */
static tt_hlo_value *swap_in_groups(tt_low_ctx *ctx, const window *c, tt_hlo_value *weight) {
  int rank = tt_hlo_rank(weight);
  tt_hlo_dim dims[TT_LOW_RANK_MAX], split[TT_LOW_RANK_MAX];
  tt_hlo_dim groups = tt_hlo_dim_number(c->groups);
  if (c->groups == 1)
    return tt_hlo_swap_axes(ctx->b, weight, 0, 1);
  tt_low_dims(ctx, weight, dims);
  split[0] = groups;
  split[1] = tt_hlo_dim_div(ctx->b, dims[0], groups);
  for (int i = 1; i < rank; i++)
    split[i + 1] = dims[i];
  weight = tt_hlo_swap_axes(ctx->b, tt_hlo_reshape(ctx->b, weight, split, (size_t)rank + 1), 1, 2);
  dims[0] = tt_hlo_dim_mul(ctx->b, groups, dims[1]);
  dims[1] = split[1];
  return tt_hlo_reshape(ctx->b, weight, dims, (size_t)rank);
}

/* The transpose of conv_forward for its input, [n, a, o...] x [a, b/g, k...] -> [n, b, sizes...].
 */
static tt_hlo_value *conv_input(tt_low_ctx *ctx, const window *c, tt_hlo_value *output,
                                tt_hlo_value *weight, const int64_t *sizes) {
  int64_t low[SPATIAL_MAX], high[SPATIAL_MAX], axes[SPATIAL_MAX];
  tt_hlo_conv conv = {NULL, low, high, c->stride, c->dilation, NULL, c->groups, 1, {0}};
  for (int i = 0; i < c->spatial; i++) {
    int64_t reach = c->dilation[i] * (tt_low_size(ctx, weight, i + 2) - 1);
    int64_t wide = (tt_low_size(ctx, output, i + 2) - 1) * c->stride[i] + 1;
    low[i] = reach - c->padding[i];
    high[i] = sizes[i] + reach - low[i] - wide;
    axes[i] = i + 2;
  }
  conv.dims = tt_hlo_conv_dims_torch(ctx->b, c->spatial);
  weight = tt_hlo_reverse(ctx->b, swap_in_groups(ctx, c, weight), axes, (size_t)c->spatial);
  return tt_hlo_convolution(ctx->b, output, weight, &conv);
}

/* The transpose of conv_forward for its weight, [n, b, d...] x [n, a, o...] -> [a, b/g, kernel...]:
 * batch and features change places, and what strode becomes what is dilated. */
static tt_hlo_value *conv_weight(tt_low_ctx *ctx, const window *c, tt_hlo_value *input,
                                 tt_hlo_value *output, const int64_t *kernel) {
  int64_t high[SPATIAL_MAX];
  tt_hlo_conv conv = {c->dilation, c->padding, high, NULL, c->stride, NULL, 1, c->groups, {0}};
  for (int i = 0; i < c->spatial; i++) {
    int64_t wide = (tt_low_size(ctx, output, i + 2) - 1) * c->stride[i] + 1;
    high[i] =
        c->dilation[i] * (kernel[i] - 1) + wide - tt_low_size(ctx, input, i + 2) - c->padding[i];
  }
  conv.dims = tt_hlo_conv_dims_torch(ctx->b, c->spatial);
  conv.dims.input_batch = conv.dims.kernel_output = conv.dims.output_batch = 1;
  conv.dims.input_feature = conv.dims.kernel_input = conv.dims.output_feature = 0;
  return tt_hlo_convolution(ctx->b, input, output, &conv);
}

/* ---- rules ---- */

static bool has_elements(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *y) {
  return tt_low_numel(ctx, x) != 0 && tt_low_numel(ctx, y) != 0;
}

static void spatial_sizes(tt_low_ctx *ctx, tt_hlo_value *x, int64_t *sizes) {
  for (int i = 2; i < tt_hlo_rank(x) && i < SPATIAL_MAX + 2; i++)
    sizes[i - 2] = tt_low_size(ctx, x, i);
}

/* Spatial sizes of the result, as PyTorch's conv_output_size and conv_input_size. */
static void result_sizes(tt_low_ctx *ctx, const window *c, tt_hlo_value *input,
                         tt_hlo_value *weight, int64_t *sizes) {
  for (int i = 0; i < c->spatial; i++) {
    int64_t d = tt_low_size(ctx, input, i + 2),
            reach = c->dilation[i] * (tt_low_size(ctx, weight, i + 2) - 1);
    sizes[i] = c->transposed
                   ? (d - 1) * c->stride[i] - 2 * c->padding[i] + reach + c->output_padding[i] + 1
                   : (d + 2 * c->padding[i] - reach - 1) / c->stride[i] + 1;
  }
}

/* A result without elements, or of sums over nothing. */
static tt_hlo_value *empty_result(tt_low_ctx *ctx, const window *c, tt_hlo_value *input,
                                  tt_hlo_value *weight, const int64_t *sizes) {
  tt_hlo_dim dims[SPATIAL_MAX + 2];
  int64_t features =
      c->transposed ? tt_low_size(ctx, weight, 1) * c->groups : tt_low_size(ctx, weight, 0);
  dims[0] = tt_hlo_dim_of(ctx->b, input, 0);
  dims[1] = tt_hlo_dim_number(features);
  for (int i = 0; i < c->spatial; i++)
    dims[i + 2] = tt_hlo_dim_number(sizes[i]);
  return tt_low_zeros(ctx, tt_hlo_dtype(input), dims, (size_t)c->spatial + 2);
}

/* (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) */
TT_LOW_RULE(convolution) {
  tt_hlo_value *input = args[0].tensor, *weight = args[1].tensor, *y;
  int64_t sizes[SPATIAL_MAX];
  window c;
  TT_RETURN_IF_ERROR(parse_conv(ctx, args + 3, input, &c));
  result_sizes(ctx, &c, input, weight, sizes);
  if (!has_elements(ctx, input, weight))
    y = empty_result(ctx, &c, input, weight, sizes);
  else if (c.transposed)
    y = conv_input(ctx, &c, input, weight, sizes);
  else
    y = conv_forward(ctx, &c, input, weight, c.padding);
  if (tt_low_is_tensor(&args[2]))
    y = tt_hlo_add(ctx->b, y,
                   tt_low_along(ctx, tt_low_tensor(ctx, &args[2], tt_hlo_dtype(y)), y, 1));
  tt_low_set(&results[0], y);
  return NULL;
}

static tt_hlo_value *zeros_like(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_broadcast_like(ctx->b, tt_hlo_const(ctx->b, tt_hlo_dtype(x), 0), x);
}

static tt_hlo_value *grad_of_input(tt_low_ctx *ctx, const window *c, tt_hlo_value *grad,
                                   tt_hlo_value *input, tt_hlo_value *weight) {
  int64_t sizes[SPATIAL_MAX], high[SPATIAL_MAX];
  if (!has_elements(ctx, grad, weight) || tt_low_numel(ctx, input) == 0)
    return zeros_like(ctx, input);
  spatial_sizes(ctx, input, sizes);
  if (!c->transposed)
    return conv_input(ctx, c, grad, weight, sizes);
  for (int i = 0; i < c->spatial; i++) /* the output padding received nothing */
    high[i] = c->padding[i] - c->output_padding[i];
  return conv_forward(ctx, c, grad, weight, high);
}

static tt_hlo_value *grad_of_weight(tt_low_ctx *ctx, const window *c, tt_hlo_value *grad,
                                    tt_hlo_value *input, tt_hlo_value *weight) {
  int64_t kernel[SPATIAL_MAX];
  if (!has_elements(ctx, grad, input) || tt_low_numel(ctx, weight) == 0)
    return zeros_like(ctx, weight);
  spatial_sizes(ctx, weight, kernel);
  return c->transposed ? conv_weight(ctx, c, grad, input, kernel)
                       : conv_weight(ctx, c, input, grad, kernel);
}

static tt_hlo_value *grad_of_bias(tt_low_ctx *ctx, tt_hlo_value *grad) {
  size_t count;
  const int64_t *axes = tt_low_axes_but(ctx, tt_hlo_rank(grad), 1, &count);
  grad = tt_hlo_convert(ctx->b, grad, tt_low_opmath(tt_hlo_dtype(grad)));
  return tt_low_fold(ctx, TT_HLO_ADD, grad, axes, count, false);
}

/* (grad, input, weight, [bias_sizes,] stride, padding, dilation, transposed, output_padding,
 * groups, output_mask) */
TT_LOW_RULE(convolution_backward) {
  tt_hlo_value *grad = args[0].tensor, *input = args[1].tensor, *weight = args[2].tensor;
  const tt_low_value *rest = args + 3 + ctx->rule->data;
  window c;
  TT_RETURN_IF_ERROR(parse_conv(ctx, rest, input, &c));
  ctx->results_count = 3;
  if (tt_low_mask(ctx, &rest[6], 0))
    tt_low_set(&results[0], grad_of_input(ctx, &c, grad, input, weight));
  if (tt_low_mask(ctx, &rest[6], 1))
    tt_low_set(&results[1], grad_of_weight(ctx, &c, grad, input, weight));
  if (tt_low_mask(ctx, &rest[6], 2))
    tt_low_set(&results[2], tt_hlo_convert(ctx->b, grad_of_bias(ctx, grad), tt_hlo_dtype(grad)));
  return NULL;
}

const tt_low_rule tt_low_rules_convolution[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/convolution.def"
#undef X
};
const size_t tt_low_rules_convolution_count = TT_COUNT(tt_low_rules_convolution);
