/* dot_general, fft, cholesky, triangular_solve. */
#include "hlo/hlo_internal.h"

/* Pairs of axes have agreeing dims. */
static tt_error *check_pairs(const tt_hlo_op *op, const char *what, tt_hlo_list lhs_axes,
                             tt_hlo_list rhs_axes) {
  const tt_hlo_type *lhs = tt_hlo_operand(op, 0), *rhs = tt_hlo_operand(op, 1);
  for (size_t i = 0; i < lhs_axes.count; i++) {
    int64_t l = lhs_axes.items[i], r = rhs_axes.items[i];
    TT_HLO_CHECK(tt_hlo_dim_agrees(lhs->dims[l], rhs->dims[r]),
                 "%s dims differ: lhs[%lld]=%lld, rhs[%lld]=%lld", what, (long long)l,
                 (long long)lhs->dims[l], (long long)r, (long long)rhs->dims[r]);
  }
  return NULL;
}

/* Appends the dims of the axes that are not in `used`. */
static size_t append_free(const tt_hlo_type *type, uint64_t used, int64_t *dims, size_t at) {
  for (int32_t i = 0; i < type->rank; i++)
    if (!tt_hlo_axis_in(used, i))
      dims[at++] = type->dims[i];
  return at;
}

tt_error *tt_hlo_infer_dot_general(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *lhs = tt_hlo_operand(op, 0), *rhs = tt_hlo_operand(op, 1);
  const tt_hlo_attr *attr = NULL;
  uint64_t lhs_used = 0, rhs_used = 0;
  tt_dtype dtype = TT_PRED;
  int64_t *dims = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_DOT_DIMENSION_NUMBERS, TT_HLO_ATTR_DOT, &attr));
  TT_RETURN_IF_ERROR(tt_hlo_check_precision(op)); /* dot_general_c11 */
  const tt_hlo_dot_dims *d = attr->dims;
  TT_HLO_CHECK(d->lhs_batch.count == d->rhs_batch.count,
               "counts of batching dims differ: lhs %zu, rhs %zu", d->lhs_batch.count,
               d->rhs_batch.count); /* dot_general_c1 */
  TT_HLO_CHECK(d->lhs_contract.count == d->rhs_contract.count,
               "counts of contracting dims differ: lhs %zu, rhs %zu", d->lhs_contract.count,
               d->rhs_contract.count); /* dot_general_c2 */
  /* dot_general_c3 to _c8 */
  TT_RETURN_IF_ERROR(
      tt_hlo_check_axes(op, "lhs_batching_dimensions", d->lhs_batch, lhs->rank, &lhs_used));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_axes(op, "lhs_contracting_dimensions", d->lhs_contract, lhs->rank, &lhs_used));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_axes(op, "rhs_batching_dimensions", d->rhs_batch, rhs->rank, &rhs_used));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_axes(op, "rhs_contracting_dimensions", d->rhs_contract, rhs->rank, &rhs_used));
  TT_RETURN_IF_ERROR(check_pairs(op, "batching", d->lhs_batch, d->rhs_batch)); /* dot_general_c9 */
  TT_RETURN_IF_ERROR(
      check_pairs(op, "contracting", d->lhs_contract, d->rhs_contract)); /* dot_general_c10 */
  TT_HLO_CHECK(lhs->dtype == rhs->dtype, "element types differ: lhs is %s, rhs %s",
               TT_HLO_SHOW(lhs), TT_HLO_SHOW(rhs)); /* dot_general_c13 */
  TT_RETURN_IF_ERROR(tt_hlo_given_dtype(op, lhs->dtype, &dtype));
  /* dot_general_c12 */
  int32_t rank = lhs->rank + rhs->rank - (int32_t)(d->lhs_batch.count + 2 * d->lhs_contract.count);
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, rank, &dims));
  size_t at = 0;
  for (; at < d->lhs_batch.count; at++) {
    int64_t dim = lhs->dims[d->lhs_batch.items[at]];
    dims[at] = dim == TT_HLO_DYNAMIC ? rhs->dims[d->rhs_batch.items[at]] : dim;
  }
  at = append_free(lhs, lhs_used, dims, at);
  append_free(rhs, rhs_used, dims, at);
  tt_hlo_set_result(op, 0, dtype, rank, dims);
  return NULL;
}

/* fft_c2 */
static tt_error *fft_dtype(const tt_hlo_op *op, int64_t type, tt_dtype *out_dtype) {
  tt_dtype dtype = tt_hlo_operand(op, 0)->dtype;
  bool complex = dtype == TT_C64 || dtype == TT_C128, real = dtype == TT_F32 || dtype == TT_F64;
  TT_HLO_CHECK(type == TT_HLO_FFT_RFFT ? real : complex, "%s: expected %s operand, got %s",
               tt_hlo_enums[TT_HLO_FFT_TYPE].values[type],
               type == TT_HLO_FFT_RFFT ? "an f32 or f64" : "a complex",
               TT_HLO_SHOW(tt_hlo_operand(op, 0)));
  *out_dtype = type == TT_HLO_FFT_RFFT    ? tt_dtype_complex(dtype)
               : type == TT_HLO_FFT_IRFFT ? tt_dtype_real(dtype)
                                          : dtype;
  return NULL;
}

tt_error *tt_hlo_infer_fft(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0);
  tt_hlo_list length = {0};
  tt_dtype dtype = TT_PRED;
  int64_t type = 0, *dims = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_need_enum(op, TT_HLO_FFT_TYPE, &type));
  TT_RETURN_IF_ERROR(tt_hlo_need_list(op, TT_HLO_FFT_LENGTH, &length));
  TT_HLO_CHECK(length.count >= 1 && length.count <= 3,
               "fft_length: expected 1 to 3 numbers, got %zu", length.count); /* fft_c3 */
  TT_HLO_CHECK(length.count <= (size_t)operand->rank,
               "fft_length has %zu numbers, the operand is %s", length.count,
               TT_HLO_SHOW(operand)); /* fft_c1 */
  TT_RETURN_IF_ERROR(fft_dtype(op, type, &dtype));
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, operand->rank, &dims));
  int32_t first = operand->rank - (int32_t)length.count, last = operand->rank - 1;
  for (int32_t i = 0; i <= last; i++) {
    int64_t dim = operand->dims[i], n = i < first ? dim : length.items[i - first];
    TT_HLO_CHECK(i < first || n >= 0, "fft_length[%d] is negative: %lld", (int)(i - first),
                 (long long)n);
    bool half = i == last && type == TT_HLO_FFT_IRFFT;
    int64_t expected = half && n > 0 ? n / 2 + 1 : n;
    TT_HLO_CHECK(tt_hlo_dim_agrees(dim, expected),
                 "dim %d: fft_length wants %lld, the operand is %s", (int)i, (long long)expected,
                 TT_HLO_SHOW(operand)); /* fft_c4, fft_c5 */
    dims[i] = i == last && type == TT_HLO_FFT_RFFT && n > 0 ? n / 2 + 1 : n;
  }
  tt_hlo_set_result(op, 0, dtype, operand->rank, dims);
  return NULL;
}

static bool solvable(tt_dtype dtype) {
  return tt_dtype_is_float(dtype) || tt_dtype_is_complex(dtype);
}

tt_error *tt_hlo_infer_cholesky(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *a = tt_hlo_operand(op, 0);
  bool lower = false;
  (void)arena;
  TT_HLO_CHECK(solvable(a->dtype), "expected a float or complex operand, got %s",
               TT_HLO_SHOW(a)); /* cholesky_i1 */
  TT_RETURN_IF_ERROR(tt_hlo_want_bool(op, TT_HLO_LOWER, false, &lower));
  TT_HLO_CHECK(a->rank >= 2, "expected rank 2 or more, got %s", TT_HLO_SHOW(a)); /* cholesky_c2 */
  TT_HLO_CHECK(tt_hlo_dim_agrees(a->dims[a->rank - 2], a->dims[a->rank - 1]),
               "expected square matrices, got %s", TT_HLO_SHOW(a)); /* cholesky_c3 */
  op->results[0].type = *a;                                         /* cholesky_c1 */
  return NULL;
}

tt_error *tt_hlo_infer_triangular_solve(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *a = tt_hlo_operand(op, 0), *b = tt_hlo_operand(op, 1);
  bool left = false, lower = false, unit = false;
  int64_t transpose = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_need_bool(op, TT_HLO_LEFT_SIDE, &left));
  TT_RETURN_IF_ERROR(tt_hlo_need_bool(op, TT_HLO_LOWER, &lower));
  TT_RETURN_IF_ERROR(tt_hlo_need_bool(op, TT_HLO_UNIT_DIAGONAL, &unit));
  TT_RETURN_IF_ERROR(tt_hlo_need_enum(op, TT_HLO_TRANSPOSE_A, &transpose));
  TT_HLO_CHECK(transpose != TT_HLO_TRANSPOSE_INVALID,
               "transpose_a is TRANSPOSE_INVALID"); /* triangular_solve_i6 */
  TT_HLO_CHECK(solvable(a->dtype), "expected float or complex operands, got %s", TT_HLO_SHOW(a));
  TT_HLO_CHECK(a->dtype == b->dtype, "element types differ: a is %s, b %s", TT_HLO_SHOW(a),
               TT_HLO_SHOW(b)); /* _c1 */
  TT_HLO_CHECK(a->rank >= 2 && a->rank == b->rank,
               "expected equal ranks of 2 or more: a is %s, b %s", TT_HLO_SHOW(a),
               TT_HLO_SHOW(b)); /* triangular_solve_c2 */
  int32_t rank = a->rank;
  int64_t n = a->dims[rank - 1];
  for (int32_t i = 0; i < rank - 2; i++) /* triangular_solve_c3 */
    TT_HLO_CHECK(tt_hlo_dim_agrees(a->dims[i], b->dims[i]), "batch dim %d differs: a is %s, b %s",
                 (int)i, TT_HLO_SHOW(a), TT_HLO_SHOW(b));
  TT_HLO_CHECK(tt_hlo_dim_agrees(a->dims[rank - 2], n) &&
                   tt_hlo_dim_agrees(n, b->dims[left ? rank - 2 : rank - 1]),
               "sizes differ: a is %s, b %s, left_side %s", TT_HLO_SHOW(a), TT_HLO_SHOW(b),
               left ? "true" : "false");
  op->results[0].type = *b; /* triangular_solve_c4 */
  return NULL;
}
