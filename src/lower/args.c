#include <math.h>
#include <stdlib.h>

#include "lower/rule.h"

tt_hlo_value *tt_low_tensor(tt_low_ctx *ctx, const tt_low_value *arg, tt_dtype dtype) {
  if (arg->kind != TT_LOW_TENSOR)
    return tt_hlo_fail(ctx->b, TT_INVALID_ARGUMENT, "expected a tensor argument");
  return tt_hlo_convert(ctx->b, arg->tensor, dtype);
}

static tt_hlo_value *scalar_value(tt_low_ctx *ctx, const tt_low_scalar *scalar, tt_dtype dtype) {
  if (scalar->value != NULL)
    return tt_hlo_convert(ctx->b, scalar->value, dtype);
  if (dtype == TT_PRED)
    return tt_hlo_const_int(ctx->b, dtype, scalar->real != 0 || scalar->imag != 0);
  if (scalar->dtype == TT_PRED || scalar->dtype == TT_S64)
    return tt_hlo_const_int(ctx->b, dtype, scalar->i);
  return tt_hlo_const_complex(ctx->b, dtype, scalar->real, scalar->imag);
}

tt_hlo_value *tt_low_number(tt_low_ctx *ctx, const tt_low_value *arg, tt_dtype dtype,
                            double otherwise) {
  switch (arg->kind) {
    case TT_LOW_TENSOR:
      return tt_hlo_convert(ctx->b, arg->tensor, dtype);
    case TT_LOW_SCALAR:
      return scalar_value(ctx, &arg->scalar, dtype);
    case TT_LOW_NONE:
      return tt_hlo_const(ctx->b, dtype, otherwise);
    default:
      return tt_hlo_fail(ctx->b, TT_INVALID_ARGUMENT, "expected a number");
  }
}

/* true when the argument is a scalar whose number is known now */
static bool is_number(tt_low_ctx *ctx, const tt_low_value *arg) {
  if (arg->kind == TT_LOW_SCALAR && arg->scalar.value != NULL && !ctx->needs_constant) {
    ctx->needs_constant = true;
    ctx->constant = arg->scalar.value;
  }
  return arg->kind == TT_LOW_SCALAR && arg->scalar.value == NULL;
}

double tt_low_double(tt_low_ctx *ctx, const tt_low_value *arg, double otherwise) {
  return is_number(ctx, arg) ? arg->scalar.real : otherwise;
}

int64_t tt_low_int(tt_low_ctx *ctx, const tt_low_value *arg, int64_t otherwise) {
  if (!is_number(ctx, arg))
    return otherwise;
  return arg->scalar.dtype == TT_F64 || arg->scalar.dtype == TT_C128 ? (int64_t)arg->scalar.real
                                                                     : arg->scalar.i;
}

bool tt_low_bool(tt_low_ctx *ctx, const tt_low_value *arg, bool otherwise) {
  return is_number(ctx, arg) ? arg->scalar.real != 0 : otherwise;
}

tt_dtype tt_low_dtype(const tt_low_value *arg, tt_dtype otherwise) {
  return arg->kind == TT_LOW_DTYPE ? arg->dtype : otherwise;
}

bool tt_low_scalar_is(const tt_low_value *arg, double value) {
  return arg->kind == TT_LOW_SCALAR && arg->scalar.value == NULL && arg->scalar.real == value &&
         arg->scalar.imag == 0;
}

const int64_t *tt_low_ints(tt_low_ctx *ctx, const tt_low_value *arg, size_t *out_count) {
  size_t count = arg->kind == TT_LOW_LIST ? arg->list.count : arg->kind == TT_LOW_SCALAR ? 1 : 0;
  int64_t *ints = tt_hlo_alloc(ctx->b, count, sizeof *ints);
  *out_count = 0;
  if (ints == NULL || arg->kind == TT_LOW_NONE)
    return NULL;
  for (size_t i = 0; i < count; i++)
    ints[i] = tt_low_int(ctx, arg->kind == TT_LOW_LIST ? &arg->list.items[i] : arg, 0);
  *out_count = count;
  return ints;
}

const int64_t *tt_low_ints_of(tt_low_ctx *ctx, const tt_low_value *arg, size_t count,
                              int64_t otherwise) {
  size_t given;
  const int64_t *ints = tt_low_ints(ctx, arg, &given);
  int64_t *all = tt_hlo_alloc(ctx->b, count, sizeof *all);
  for (size_t i = 0; all != NULL && i < count; i++)
    all[i] = given == 0 ? otherwise : ints[given == count ? i : 0];
  return all;
}

int tt_low_axis(int64_t dim, int rank) {
  int axes = rank == 0 ? 1 : rank;
  return (int)(dim < 0 ? dim + axes : dim);
}

static int compare_i64(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

size_t tt_low_axes(tt_low_ctx *ctx, const tt_low_value *arg, int rank, const int64_t **out_axes) {
  size_t given, count;
  const int64_t *dims = tt_low_ints(ctx, arg, &given);
  int64_t *axes;
  count = given != 0 && rank != 0 ? given : (size_t)rank;
  axes = tt_hlo_alloc(ctx->b, count, sizeof *axes);
  *out_axes = axes;
  if (axes == NULL || rank == 0)
    return 0;
  for (size_t i = 0; i < count; i++)
    axes[i] = given != 0 ? tt_low_axis(dims[i], rank) : (int64_t)i;
  qsort(axes, count, sizeof *axes, compare_i64);
  return count;
}
