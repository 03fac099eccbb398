#include "lower/rule.h"

static tt_dtype promote_integers(tt_dtype a, tt_dtype b) {
  bool a_signed = tt_dtype_is_signed(a), b_signed = tt_dtype_is_signed(b);
  int a_bits = tt_dtypes[a].bits, b_bits = tt_dtypes[b].bits;
  tt_dtype with_sign = a_signed ? a : b, without = a_signed ? b : a;
  if (a == TT_PRED || b == TT_PRED)
    return a == TT_PRED ? b : a;
  if (a_signed == b_signed)
    return a_bits >= b_bits ? a : b;
  if (tt_dtypes[with_sign].bits > tt_dtypes[without].bits)
    return with_sign;
  return tt_dtypes[without].bits < 16 ? TT_S16 : tt_dtypes[without].bits < 32 ? TT_S32 : TT_S64;
}

static tt_dtype promote_floats(tt_dtype a, tt_dtype b) {
  if ((a == TT_F16 && b == TT_BF16) || (a == TT_BF16 && b == TT_F16))
    return TT_F32;
  return tt_dtypes[a].bits >= tt_dtypes[b].bits ? a : b;
}

/* Source: c10::promoteTypes, found by its table's properties. */
tt_dtype tt_low_promote2(tt_dtype a, tt_dtype b) {
  if (a == b)
    return a;
  if (tt_dtype_is_complex(a) || tt_dtype_is_complex(b)) {
    tt_dtype real = tt_low_promote2(tt_dtype_real(a), tt_dtype_real(b));
    return real == TT_F64 ? TT_C128 : TT_C64;
  }
  if (tt_dtype_is_integer(a))
    return tt_dtype_is_integer(b) ? promote_integers(a, b) : b;
  return tt_dtype_is_integer(b) ? a : promote_floats(a, b);
}

enum { NOTHING = TT_DTYPE_COUNT };

static int promote_some(int a, int b) {
  return a == NOTHING ? b : b == NOTHING ? a : (int)tt_low_promote2((tt_dtype)a, (tt_dtype)b);
}

/* Tensors with dims outrank scalars unless the scalar is of a higher category. Source:
 * torch.result_type. */
static int combine_categories(int higher, int lower) {
  if (higher == NOTHING || lower == NOTHING)
    return higher == NOTHING ? lower : higher;
  if (tt_dtype_is_complex((tt_dtype)higher))
    return higher;
  if (tt_dtype_is_float((tt_dtype)higher))
    return tt_dtype_is_complex((tt_dtype)lower) ? (higher == TT_F64 ? TT_C128 : TT_C64) : higher;
  if (higher == TT_PRED || !tt_dtype_is_integer((tt_dtype)lower))
    return promote_some(higher, lower);
  return higher;
}

static int wrapped_dtype(const tt_low_ctx *ctx, tt_dtype dtype) {
  if (tt_dtype_is_complex(dtype))
    return ctx->default_dtype == TT_F64 ? TT_C128 : TT_C64;
  return tt_dtype_is_float(dtype) ? (int)ctx->default_dtype : (int)dtype;
}

tt_dtype tt_low_promote(tt_low_ctx *ctx, const tt_low_value *args, size_t count) {
  int with_dims = NOTHING, zero_dim = NOTHING, wrapped = NOTHING, result;
  for (size_t i = 0; i < count; i++) {
    const tt_low_value *arg = &args[i];
    if (arg->kind == TT_LOW_SCALAR)
      wrapped = promote_some(wrapped, wrapped_dtype(ctx, arg->scalar.dtype));
    else if (arg->kind == TT_LOW_TENSOR && arg->wrapped)
      wrapped = promote_some(wrapped, wrapped_dtype(ctx, arg->tensor->type.dtype));
    else if (arg->kind == TT_LOW_TENSOR && arg->tensor->type.rank == 0)
      zero_dim = promote_some(zero_dim, arg->tensor->type.dtype);
    else if (arg->kind == TT_LOW_TENSOR)
      with_dims = promote_some(with_dims, arg->tensor->type.dtype);
  }
  result = combine_categories(with_dims, combine_categories(zero_dim, wrapped));
  return result == NOTHING ? ctx->default_dtype : (tt_dtype)result;
}

tt_dtype tt_low_opmath(tt_dtype dtype) {
  return tt_dtype_is_float(dtype) && tt_dtypes[dtype].bits < 32 ? TT_F32 : dtype;
}

tt_dtype tt_low_wanted_dtype(const tt_low_ctx *ctx, size_t i, tt_dtype otherwise) {
  return i < ctx->wanted_count && !ctx->wanted[i].token ? ctx->wanted[i].dtype : otherwise;
}

const tt_hlo_dim *tt_low_wanted_dims(tt_low_ctx *ctx, size_t i, size_t *out_rank) {
  *out_rank = 0;
  if (i >= ctx->wanted_count) {
    tt_hlo_fail(ctx->b, TT_INTERNAL, "%s: result %zu has no wanted dims", ctx->rule->overload, i);
    return NULL;
  }
  *out_rank = (size_t)ctx->wanted[i].rank;
  return tt_hlo_dims_numbers(ctx->b, ctx->wanted[i].dims, *out_rank);
}
