#include <string.h>

#include "hlo/build_internal.h"

static tt_hlo_attr precision_attr(tt_hlo_build *b) {
  tt_hlo_attr attr = {.name = TT_HLO_PRECISION_CONFIG, .kind = TT_HLO_ATTR_ENUMS};
  int64_t both[2] = {b->precision, b->precision};
  attr.i64s = tt_hlo_build_list(b, both, 2);
  return attr;
}

tt_hlo_value *tt_hlo_dot_general(tt_hlo_build *b, tt_hlo_value *lhs, tt_hlo_value *rhs,
                                 const tt_hlo_dot_dims *dims, tt_dtype dtype) {
  tt_hlo_dot_dims *copy = tt_hlo_alloc(b, 1, sizeof *copy);
  tt_hlo_value *operands[] = {lhs, rhs};
  tt_hlo_attr attrs[2];
  tt_hlo_type type = tt_hlo_scalar_type(dtype);
  if (copy == NULL)
    return b->poison;
  copy->lhs_batch = tt_hlo_build_list(b, dims->lhs_batch.items, dims->lhs_batch.count);
  copy->rhs_batch = tt_hlo_build_list(b, dims->rhs_batch.items, dims->rhs_batch.count);
  copy->lhs_contract = tt_hlo_build_list(b, dims->lhs_contract.items, dims->lhs_contract.count);
  copy->rhs_contract = tt_hlo_build_list(b, dims->rhs_contract.items, dims->rhs_contract.count);
  attrs[0] =
      (tt_hlo_attr){.name = TT_HLO_DOT_DIMENSION_NUMBERS, .kind = TT_HLO_ATTR_DOT, .dims = copy};
  attrs[1] = precision_attr(b);
  /* the inferred dims join the given dtype: see infer_dot_general */
  return tt_hlo_build_one(b, TT_HLO_DOT_GENERAL, operands, 2, attrs, 2, &type);
}

tt_hlo_value *tt_hlo_matmul(tt_hlo_build *b, tt_hlo_value *lhs, tt_hlo_value *rhs) {
  size_t batch = lhs->type.rank >= 2 ? (size_t)lhs->type.rank - 2 : 0;
  int64_t *lead = tt_hlo_alloc(b, batch, sizeof *lead);
  int64_t lhs_axis = (int64_t)batch + 1, rhs_axis = (int64_t)batch;
  tt_hlo_dot_dims dims;
  if (lead == NULL || lhs->type.rank < 2 || lhs->type.rank != rhs->type.rank)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "matmul: ranks %d and %d", (int)lhs->type.rank,
                       (int)rhs->type.rank);
  for (size_t i = 0; i < batch; i++)
    lead[i] = (int64_t)i;
  dims.lhs_batch = dims.rhs_batch = (tt_hlo_list){batch, lead};
  dims.lhs_contract = (tt_hlo_list){1, &lhs_axis};
  dims.rhs_contract = (tt_hlo_list){1, &rhs_axis};
  return tt_hlo_dot_general(b, lhs, rhs, &dims, lhs->type.dtype);
}

tt_hlo_value *tt_hlo_convolution(tt_hlo_build *b, tt_hlo_value *input, tt_hlo_value *kernel,
                                 const tt_hlo_conv *conv) {
  size_t spatial = input->type.rank >= 2 ? (size_t)input->type.rank - 2 : 0;
  tt_hlo_conv_dims *copy = tt_hlo_alloc(b, 1, sizeof *copy);
  int64_t *pairs = tt_hlo_alloc(b, 2 * spatial, sizeof *pairs),
          *reversal = tt_hlo_alloc(b, spatial, sizeof *reversal);
  tt_hlo_value *operands[] = {input, kernel};
  tt_hlo_attr attrs[9];
  if (copy == NULL || pairs == NULL || reversal == NULL)
    return b->poison;
  *copy = conv->dims;
  copy->input_spatial = tt_hlo_build_list(b, conv->dims.input_spatial.items, spatial);
  copy->kernel_spatial = tt_hlo_build_list(b, conv->dims.kernel_spatial.items, spatial);
  copy->output_spatial = tt_hlo_build_list(b, conv->dims.output_spatial.items, spatial);
  for (size_t i = 0; i < spatial; i++) {
    pairs[2 * i] = conv->pad_low != NULL ? conv->pad_low[i] : 0;
    pairs[2 * i + 1] = conv->pad_high != NULL ? conv->pad_high[i] : 0;
    reversal[i] = conv->reversal != NULL && conv->reversal[i];
  }
  attrs[0] = tt_hlo_build_i64s_or(b, TT_HLO_WINDOW_STRIDES, conv->strides, spatial, 1);
  attrs[1] = (tt_hlo_attr){.name = TT_HLO_PADDING, .kind = TT_HLO_ATTR_MATRIX, .columns = 2};
  attrs[1].i64s = (tt_hlo_list){2 * spatial, pairs};
  attrs[2] = tt_hlo_build_i64s_or(b, TT_HLO_LHS_DILATION, conv->lhs_dilation, spatial, 1);
  attrs[3] = tt_hlo_build_i64s_or(b, TT_HLO_RHS_DILATION, conv->rhs_dilation, spatial, 1);
  attrs[4] = (tt_hlo_attr){.name = TT_HLO_WINDOW_REVERSAL, .kind = TT_HLO_ATTR_BOOLS};
  attrs[4].i64s = (tt_hlo_list){spatial, reversal};
  attrs[5] =
      (tt_hlo_attr){.name = TT_HLO_DIMENSION_NUMBERS, .kind = TT_HLO_ATTR_CONV, .dims = copy};
  attrs[6] = tt_hlo_build_i64(TT_HLO_FEATURE_GROUP_COUNT,
                              conv->feature_groups != 0 ? conv->feature_groups : 1);
  attrs[7] =
      tt_hlo_build_i64(TT_HLO_BATCH_GROUP_COUNT, conv->batch_groups != 0 ? conv->batch_groups : 1);
  attrs[8] = precision_attr(b);
  return tt_hlo_build_one(b, TT_HLO_CONVOLUTION, operands, 2, attrs, 9, NULL);
}

tt_hlo_conv_dims tt_hlo_conv_dims_torch(tt_hlo_build *b, int spatial) {
  tt_hlo_conv_dims dims = {.input_feature = 1, .kernel_input = 1, .output_feature = 1};
  int64_t *axes = tt_hlo_alloc(b, (size_t)spatial, sizeof *axes);
  for (int i = 0; axes != NULL && i < spatial; i++)
    axes[i] = i + 2;
  dims.input_spatial = dims.kernel_spatial = dims.output_spatial =
      (tt_hlo_list){axes != NULL ? (size_t)spatial : 0, axes};
  return dims;
}

tt_hlo_value *tt_hlo_fft(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_fft_type type,
                         const int64_t *lengths, size_t count) {
  tt_hlo_attr attrs[] = {tt_hlo_build_enum(TT_HLO_FFT_TYPE, type),
                         tt_hlo_build_i64s(b, TT_HLO_FFT_LENGTH, lengths, count)};
  return tt_hlo_build_one(b, TT_HLO_FFT, &x, 1, attrs, 2, NULL);
}

tt_hlo_value *tt_hlo_cholesky(tt_hlo_build *b, tt_hlo_value *x, bool lower) {
  tt_hlo_attr attr = tt_hlo_build_bool(TT_HLO_LOWER, lower);
  return tt_hlo_build_one(b, TT_HLO_CHOLESKY, &x, 1, &attr, 1, NULL);
}

tt_hlo_value *tt_hlo_triangular_solve(tt_hlo_build *b, tt_hlo_value *a, tt_hlo_value *y,
                                      bool left_side, bool lower, bool unit_diagonal,
                                      tt_hlo_transpose_kind transpose) {
  tt_hlo_value *operands[] = {a, y};
  tt_hlo_attr attrs[] = {tt_hlo_build_bool(TT_HLO_LEFT_SIDE, left_side),
                         tt_hlo_build_bool(TT_HLO_LOWER, lower),
                         tt_hlo_build_bool(TT_HLO_UNIT_DIAGONAL, unit_diagonal),
                         tt_hlo_build_enum(TT_HLO_TRANSPOSE_A, transpose)};
  return tt_hlo_build_one(b, TT_HLO_TRIANGULAR_SOLVE, operands, 2, attrs, 4, NULL);
}
