/* convolution: the one operation with more attributes than a page can hold. */
#include "hlo/hlo_internal.h"

/* One side's dim numbers: two axes with names and N - 2 spatial ones, all different and below N. */
static tt_error *check_side(const tt_hlo_op *op, const char *side, int64_t first, int64_t second,
                            tt_hlo_list spatial, int64_t rank) {
  const int64_t pair[2] = {first, second};
  uint64_t seen = 0;
  TT_HLO_CHECK(spatial.count == (size_t)(rank - 2),
               "%s spatial dimensions: expected %lld numbers, got %zu", side, (long long)(rank - 2),
               spatial.count);
  TT_RETURN_IF_ERROR(tt_hlo_check_axes(op, side, (tt_hlo_list){2, pair}, rank, &seen));
  return tt_hlo_check_axes(op, side, spatial, rank, &seen);
}

static tt_error *check_numbers(const tt_hlo_op *op, const tt_hlo_conv_dims *d, int64_t rank) {
  /* convolution_c12, _c13 */
  TT_RETURN_IF_ERROR(
      check_side(op, "input dimensions", d->input_batch, d->input_feature, d->input_spatial, rank));
  /* convolution_c17, _c18 */
  TT_RETURN_IF_ERROR(check_side(op, "kernel dimensions", d->kernel_input, d->kernel_output,
                                d->kernel_spatial, rank));
  /* convolution_c19, _c20 */
  return check_side(op, "output dimensions", d->output_batch, d->output_feature, d->output_spatial,
                    rank);
}

/* Whether `dim` is a multiple of `groups`, as far as anyone knows. */
static bool divides(int64_t groups, int64_t dim) {
  return dim == TT_HLO_DYNAMIC || dim % groups == 0;
}

static tt_error *check_groups(const tt_hlo_op *op, const tt_hlo_conv_dims *d,
                              int64_t *out_batch_groups) {
  const tt_hlo_type *lhs = tt_hlo_operand(op, 0), *rhs = tt_hlo_operand(op, 1);
  int64_t features = lhs->dims[d->input_feature], batch = lhs->dims[d->input_batch], groups = 0;
  int64_t kernel_in = rhs->dims[d->kernel_input], kernel_out = rhs->dims[d->kernel_output];
  TT_RETURN_IF_ERROR(tt_hlo_need_i64(op, TT_HLO_FEATURE_GROUP_COUNT, &groups));
  TT_RETURN_IF_ERROR(tt_hlo_need_i64(op, TT_HLO_BATCH_GROUP_COUNT, out_batch_groups));
  int64_t batch_groups = *out_batch_groups;
  TT_HLO_CHECK(groups > 0, "feature_group_count is %lld, less than 1",
               (long long)groups); /* _c21 */
  TT_HLO_CHECK(batch_groups > 0, "batch_group_count is %lld, less than 1",
               (long long)batch_groups); /* _c22 */
  TT_HLO_CHECK(groups == 1 || batch_groups == 1,
               "feature_group_count is %lld and batch_group_count %lld, one must be 1",
               (long long)groups, (long long)batch_groups); /* convolution_c23 */
  TT_HLO_CHECK(divides(batch_groups, batch),
               "input batch dim %lld is no multiple of batch_group_count %lld", (long long)batch,
               (long long)batch_groups); /* convolution_c10 */
  TT_HLO_CHECK(divides(groups, features),
               "input feature dim %lld is no multiple of feature_group_count %lld",
               (long long)features, (long long)groups); /* convolution_c11 */
  TT_HLO_CHECK(features == TT_HLO_DYNAMIC || tt_hlo_dim_agrees(kernel_in, features / groups),
               "kernel input feature dim: expected %lld / %lld, got %lld", (long long)features,
               (long long)groups, (long long)kernel_in); /* convolution_c14 */
  TT_HLO_CHECK(divides(batch_groups, kernel_out),
               "kernel output feature dim %lld is no multiple of batch_group_count %lld",
               (long long)kernel_out, (long long)batch_groups); /* convolution_c15 */
  TT_HLO_CHECK(divides(groups, kernel_out),
               "kernel output feature dim %lld is no multiple of feature_group_count %lld",
               (long long)kernel_out, (long long)groups); /* convolution_c16 */
  return NULL;
}

/* Fills the spatial dims of the result. convolution_c2 to _c9, _c25 */
static tt_error *spatial_dims(const tt_hlo_op *op, const tt_hlo_conv_dims *d, int64_t *dims) {
  const tt_hlo_type *lhs = tt_hlo_operand(op, 0), *rhs = tt_hlo_operand(op, 1);
  size_t count = d->input_spatial.count;
  tt_hlo_list strides = {0}, lhs_dilation = {0}, rhs_dilation = {0};
  const int64_t *padding = NULL;
  const tt_hlo_attr *reversal = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_want_sized(op, TT_HLO_WINDOW_STRIDES, count, 1, &strides));
  TT_RETURN_IF_ERROR(tt_hlo_want_sized(op, TT_HLO_LHS_DILATION, count, 1, &lhs_dilation));
  TT_RETURN_IF_ERROR(tt_hlo_want_sized(op, TT_HLO_RHS_DILATION, count, 1, &rhs_dilation));
  TT_RETURN_IF_ERROR(tt_hlo_want_padding(op, count, &padding));
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_WINDOW_REVERSAL, TT_HLO_ATTR_BOOLS, &reversal));
  TT_HLO_CHECK(reversal == NULL || reversal->i64s.count == count,
               "window_reversal: expected %zu values, got %zu", count, reversal->i64s.count);
  for (size_t i = 0; i < count; i++) {
    tt_hlo_window_dim w = {.dim = lhs->dims[d->input_spatial.items[i]],
                           .window = rhs->dims[d->kernel_spatial.items[i]]};
    w.stride = strides.items == NULL ? 1 : strides.items[i];
    w.base_dilation = lhs_dilation.items == NULL ? 1 : lhs_dilation.items[i];
    w.window_dilation = rhs_dilation.items == NULL ? 1 : rhs_dilation.items[i];
    w.low = padding == NULL ? 0 : padding[2 * i];
    w.high = padding == NULL ? 0 : padding[2 * i + 1];
    TT_HLO_CHECK(tt_hlo_window_count(&w, &dims[d->output_spatial.items[i]]),
                 "spatial dim %zu: %lld padded by %lld and %lld has no size", i, (long long)w.dim,
                 (long long)w.low, (long long)w.high);
  }
  return NULL;
}

tt_error *tt_hlo_infer_convolution(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *lhs = tt_hlo_operand(op, 0), *rhs = tt_hlo_operand(op, 1);
  const tt_hlo_attr *attr = NULL;
  tt_dtype dtype = TT_PRED;
  int64_t *dims = NULL, batch_groups = 1;
  TT_HLO_CHECK(lhs->rank == rhs->rank && lhs->rank >= 2,
               "expected equal ranks of 2 or more: lhs is %s, rhs %s", TT_HLO_SHOW(lhs),
               TT_HLO_SHOW(rhs)); /* convolution_c1 */
  TT_HLO_CHECK(lhs->dtype == rhs->dtype, "element types differ: lhs is %s, rhs %s",
               TT_HLO_SHOW(lhs), TT_HLO_SHOW(rhs)); /* convolution_c27 */
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_DIMENSION_NUMBERS, TT_HLO_ATTR_CONV, &attr));
  TT_RETURN_IF_ERROR(tt_hlo_check_precision(op)); /* convolution_c24 */
  const tt_hlo_conv_dims *d = attr->dims;
  TT_RETURN_IF_ERROR(tt_hlo_given_dtype(op, lhs->dtype, &dtype));
  TT_RETURN_IF_ERROR(check_numbers(op, d, lhs->rank));
  TT_RETURN_IF_ERROR(check_groups(op, d, &batch_groups));
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, lhs->rank, &dims)); /* convolution_c26 */
  TT_RETURN_IF_ERROR(spatial_dims(op, d, dims));
  int64_t batch = lhs->dims[d->input_batch];
  dims[d->output_batch] = batch == TT_HLO_DYNAMIC ? batch : batch / batch_groups;
  dims[d->output_feature] = rhs->dims[d->kernel_output];
  tt_hlo_set_result(op, 0, dtype, lhs->rank, dims);
  return NULL;
}
