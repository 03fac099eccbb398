/* CHLO's operations that StableHLO's can say. */
#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "cpu/passes/expand.h"

void tt_cpu_expand_square(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results) {
  results[0] = tt_hlo_mul(&x->build, op->operands[0], op->operands[0]);
}

void tt_cpu_expand_conj(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results) {
  tt_hlo_build *b = &x->build;
  tt_hlo_value *v = op->operands[0];
  results[0] = tt_dtype_is_complex(tt_hlo_dtype(v))
                   ? tt_hlo_complex(b, tt_hlo_real(b, v), tt_hlo_neg(b, tt_hlo_imag(b, v)))
                   : v;
}

static tt_hlo_value *equals(tt_hlo_build *b, tt_hlo_value *v, double value) {
  /* f32 has the infinities of all floats, and some floats have none. */
  tt_hlo_value *wide = tt_hlo_dtype(v) == TT_F64 ? v : tt_hlo_convert(b, v, TT_F32);
  return tt_hlo_compare(b, TT_HLO_EQ, wide, tt_hlo_const_like(b, wide, value));
}

void tt_cpu_expand_is_inf(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results) {
  results[0] = equals(&x->build, tt_hlo_abs(&x->build, op->operands[0]), INFINITY);
}

void tt_cpu_expand_is_pos_inf(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results) {
  results[0] = equals(&x->build, op->operands[0], INFINITY);
}

void tt_cpu_expand_is_neg_inf(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results) {
  results[0] = equals(&x->build, op->operands[0], -INFINITY);
}

/* ---- constant_like ---- */

/* A number as text: `3.2 : f64`, `dense`-less. */
static bool text_number(const char *text, double *out_value) {
  char *end = NULL;
  *out_value = strtod(text, &end);
  while (*end == ' ')
    end++;
  return end != text && (*end == ':' || *end == '\0');
}

void tt_cpu_expand_constant_like(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results) {
  tt_hlo_build *b = &x->build;
  const tt_hlo_attr *value = tt_hlo_op_attr(op, TT_HLO_VALUE);
  tt_hlo_value *like = op->operands[0], *scalar = b->poison;
  double number = value->f64;
  if (value->kind == TT_HLO_ATTR_TEXT && !text_number(value->text, &number))
    tt_hlo_fail(b, TT_UNIMPLEMENTED, "value %.40s", value->text);
  else if (value->kind == TT_HLO_ATTR_TEXT || value->kind == TT_HLO_ATTR_F32)
    scalar = tt_hlo_const(b, tt_hlo_dtype(like), number);
  else
    scalar = tt_hlo_const_int(b, tt_hlo_dtype(like), value->i64);
  results[0] = tt_hlo_broadcast_like(b, scalar, like);
}

/* ---- broadcasts ---- */

static const tt_hlo_code plain[TT_HLO_OP_COUNT] = {
#define B(id) [TT_HLO_CHLO_BROADCAST_##id] = TT_HLO_##id
    B(ADD),
    B(AND),
    B(ATAN2),
    B(COMPARE),
    B(COMPLEX),
    B(DIVIDE),
    B(MAXIMUM),
    B(MINIMUM),
    B(MULTIPLY),
    B(OR),
    B(POWER),
    B(REMAINDER),
    B(SELECT),
    B(SHIFT_LEFT),
    B(SHIFT_RIGHT_ARITHMETIC),
    B(SHIFT_RIGHT_LOGICAL),
    B(SUBTRACT),
    B(XOR),
#undef B
    [TT_HLO_CHLO_BROADCAST_NEXT_AFTER] = TT_HLO_CHLO_NEXT_AFTER,
    [TT_HLO_CHLO_BROADCAST_POLYGAMMA] = TT_HLO_CHLO_POLYGAMMA,
    [TT_HLO_CHLO_BROADCAST_ZETA] = TT_HLO_CHLO_ZETA};

/* Dims as numpy finds them from the operands, which says more than a declared `?`. */
static void broadcast_dims(const tt_hlo_op *op, int32_t rank, tt_hlo_dim *dims) {
  for (int32_t i = 0; i < rank; i++)
    dims[i] = tt_hlo_dim_number(1);
  for (uint32_t k = 0; k < op->operands_count; k++) {
    const tt_hlo_type *type = &op->operands[k]->type;
    int32_t lead = rank - type->rank;
    for (int32_t i = 0; i < type->rank; i++)
      if (type->dims[i] != 1)
        dims[lead + i] = tt_hlo_dim_number(type->dims[i]);
  }
}

void tt_cpu_expand_broadcasting(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results) {
  tt_hlo_build *b = &x->build;
  tt_hlo_dim dims[TT_HLO_RANK_MAX];
  tt_hlo_value *operands[3] = {NULL, NULL, NULL};
  int32_t rank = op->results[0].type.rank;
  broadcast_dims(op, rank, dims);
  for (int32_t i = 0; i < rank; i++)
    if (dims[i].size < 0) {
      results[0] = tt_hlo_fail(b, TT_UNIMPLEMENTED, "dim %d is known to the run only", (int)i);
      return;
    }
  for (uint32_t i = 0; i < op->operands_count; i++)
    operands[i] = tt_hlo_broadcast_to(b, op->operands[i], dims, (size_t)rank);
  tt_hlo_attr attrs[2];
  size_t attrs_count = 0;
  for (uint32_t i = 0; i < op->attrs_count && attrs_count < 2; i++)
    if (op->attrs[i].name == TT_HLO_COMPARISON_DIRECTION ||
        op->attrs[i].name == TT_HLO_COMPARE_TYPE)
      attrs[attrs_count++] = op->attrs[i];
  tt_hlo_op *made = tt_hlo_op_add(b, plain[op->code], operands, op->operands_count, attrs,
                                  attrs_count, NULL, 0, NULL, 1);
  results[0] = made == NULL ? b->poison : &made->results[0];
}

/* ---- mulhi ---- */

/* The high half of the product of two ui64, from four products of halves. */
static tt_hlo_value *mulhi_u64(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *half = tt_hlo_broadcast_like(b, tt_hlo_const_int(b, TT_U64, 32), x);
  tt_hlo_value *mask = tt_hlo_broadcast_like(b, tt_hlo_const_int(b, TT_U64, UINT32_MAX), x);
  tt_hlo_value *x0 = tt_hlo_and(b, x, mask), *x1 = tt_hlo_shr(b, x, half);
  tt_hlo_value *y0 = tt_hlo_and(b, y, mask), *y1 = tt_hlo_shr(b, y, half);
  tt_hlo_value *low = tt_hlo_shr(b, tt_hlo_mul(b, x0, y0), half);
  tt_hlo_value *middle = tt_hlo_add(b, tt_hlo_mul(b, x1, y0), low);
  tt_hlo_value *other = tt_hlo_add(b, tt_hlo_mul(b, x0, y1), tt_hlo_and(b, middle, mask));
  tt_hlo_value *high = tt_hlo_add(b, tt_hlo_mul(b, x1, y1), tt_hlo_shr(b, middle, half));
  return tt_hlo_add(b, high, tt_hlo_shr(b, other, half));
}

/* A negative factor, seen as unsigned, is 2^64 too large: that takes the other one away. */
static tt_hlo_value *mulhi_s64(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *u = tt_hlo_bitcast(b, x, TT_U64), *v = tt_hlo_bitcast(b, y, TT_U64);
  tt_hlo_value *zero = tt_hlo_const_like(b, x, 0);
  tt_hlo_value *none = tt_hlo_const_like(b, u, 0), *high = mulhi_u64(b, u, v);
  high = tt_hlo_sub(b, high, tt_hlo_select(b, tt_hlo_compare(b, TT_HLO_LT, x, zero), v, none));
  high = tt_hlo_sub(b, high, tt_hlo_select(b, tt_hlo_compare(b, TT_HLO_LT, y, zero), u, none));
  return tt_hlo_bitcast(b, high, TT_S64);
}

void tt_cpu_expand_mulhi(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results) {
  tt_hlo_build *b = &x->build;
  tt_hlo_value *lhs = op->operands[0], *rhs = op->operands[1];
  tt_dtype dtype = tt_hlo_dtype(lhs), wide = tt_dtype_is_signed(dtype) ? TT_S64 : TT_U64;
  if (dtype == wide) {
    results[0] = wide == TT_S64 ? mulhi_s64(b, lhs, rhs) : mulhi_u64(b, lhs, rhs);
    return;
  }
  tt_hlo_value *product = tt_hlo_mul(b, tt_hlo_convert(b, lhs, wide), tt_hlo_convert(b, rhs, wide));
  tt_hlo_value *bits = tt_hlo_const_like(b, product, tt_dtypes[dtype].bits);
  results[0] = tt_hlo_convert(b, tt_hlo_sar(b, product, bits), dtype);
}
