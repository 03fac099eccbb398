/* Operations that work element by element. Most differ only in the element types that they take. */
#include "hlo/hlo_internal.h"

enum {
  BOOLS = 1 << TT_KIND_BOOL,
  SIGNEDS = 1 << TT_KIND_SIGNED,
  INTS = 1 << TT_KIND_SIGNED | 1 << TT_KIND_UNSIGNED,
  FLOATS = 1 << TT_KIND_FLOAT,
  COMPLEXES = 1 << TT_KIND_COMPLEX,
  ANY = BOOLS | INTS | FLOATS | COMPLEXES
};

/* The kinds that `kinds` holds, for a message. */
static const char *show_kinds(unsigned kinds) {
  switch (kinds) {
    case INTS:
      return "an integer";
    case BOOLS | INTS:
      return "an integer or i1";
    case FLOATS:
      return "a float";
    case COMPLEXES:
      return "a complex";
    case FLOATS | COMPLEXES:
      return "a float or complex";
    case SIGNEDS | FLOATS | COMPLEXES:
      return "a signed integer, float or complex";
    default:
      return "an integer, float or complex";
  }
}

static tt_error *check_kind(const tt_hlo_op *op, uint32_t i, unsigned kinds) {
  const tt_hlo_type *type = tt_hlo_operand(op, i);
  TT_HLO_CHECK((kinds >> tt_dtypes[type->dtype].kind & 1) != 0,
               "operand %u: expected %s type, got %s", i, show_kinds(kinds), TT_HLO_SHOW(type));
  return NULL;
}

/* abs_i1 and so on; cosine_c1 and so on. */
static tt_error *infer_unary(tt_hlo_op *op, unsigned kinds) {
  TT_RETURN_IF_ERROR(check_kind(op, 0, kinds));
  op->results[0].type = *tt_hlo_operand(op, 0);
  return NULL;
}

/* Operands `i` and `k` have equal dtypes and agreeing dims. add_c1 and so on. */
static tt_error *check_same(const tt_hlo_op *op, uint32_t i, uint32_t k) {
  const tt_hlo_type *a = tt_hlo_operand(op, i), *b = tt_hlo_operand(op, k);
  TT_HLO_CHECK(tt_hlo_type_compatible(a, b),
               "operand types differ: operand %u is %s, operand %u is %s", i, TT_HLO_SHOW(a), k,
               TT_HLO_SHOW(b));
  return NULL;
}

static tt_error *infer_binary(tt_arena *arena, tt_hlo_op *op, unsigned kinds) {
  const tt_hlo_type *lhs = tt_hlo_operand(op, 0), *rhs = tt_hlo_operand(op, 1);
  const int64_t *dims = NULL;
  TT_RETURN_IF_ERROR(check_kind(op, 0, kinds));
  TT_RETURN_IF_ERROR(check_same(op, 0, 1));
  TT_RETURN_IF_ERROR(tt_hlo_dims_merge(arena, lhs, rhs, &dims));
  tt_hlo_set_result(op, 0, lhs->dtype, lhs->rank, dims);
  return NULL;
}

#define UNARY(name, kinds)                                        \
  tt_error *tt_hlo_infer_##name(tt_arena *arena, tt_hlo_op *op) { \
    (void)arena;                                                  \
    return infer_unary(op, kinds);                                \
  }
#define BINARY(name, kinds)                                       \
  tt_error *tt_hlo_infer_##name(tt_arena *arena, tt_hlo_op *op) { \
    return infer_binary(arena, op, kinds);                        \
  }
UNARY(unary_float, FLOATS | COMPLEXES)
UNARY(unary_real, FLOATS)
UNARY(unary_integer, INTS)
UNARY(unary_logical, BOOLS | INTS)
UNARY(unary_number, INTS | FLOATS | COMPLEXES)
UNARY(sign, SIGNEDS | FLOATS | COMPLEXES)
BINARY(binary, ANY)
BINARY(binary_float, FLOATS | COMPLEXES)
BINARY(binary_real, FLOATS)
BINARY(binary_integer, INTS)
BINARY(binary_logical, BOOLS | INTS)
BINARY(binary_number, INTS | FLOATS | COMPLEXES)
#undef UNARY
#undef BINARY

tt_error *tt_hlo_infer_abs(tt_arena *arena, tt_hlo_op *op) {
  (void)arena;
  TT_RETURN_IF_ERROR(infer_unary(op, SIGNEDS | FLOATS | COMPLEXES));    /* abs_i1, abs_c1 */
  op->results[0].type.dtype = tt_dtype_real(op->results[0].type.dtype); /* abs_c2 */
  return NULL;
}

tt_error *tt_hlo_infer_real_imag(tt_arena *arena, tt_hlo_op *op) {
  (void)arena;
  TT_RETURN_IF_ERROR(infer_unary(op, FLOATS | COMPLEXES));              /* real_i1, real_c1 */
  op->results[0].type.dtype = tt_dtype_real(op->results[0].type.dtype); /* real_c2 */
  return NULL;
}

tt_error *tt_hlo_infer_is_finite(tt_arena *arena, tt_hlo_op *op) {
  (void)arena;
  TT_RETURN_IF_ERROR(infer_unary(op, FLOATS)); /* is_finite_i1, is_finite_c1 */
  op->results[0].type.dtype = TT_PRED;
  return NULL;
}

tt_error *tt_hlo_infer_complex(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *lhs = tt_hlo_operand(op, 0);
  TT_HLO_CHECK(lhs->dtype == TT_F32 || lhs->dtype == TT_F64,
               "operand 0: expected f32 or f64, got %s", TT_HLO_SHOW(lhs)); /* complex_i1 */
  TT_RETURN_IF_ERROR(infer_binary(arena, op, FLOATS));      /* complex_c1, complex_c2 */
  op->results[0].type.dtype = tt_dtype_complex(lhs->dtype); /* complex_c3 */
  return NULL;
}

/* compare_c3, and SIGNED for floats, which XLA takes for the usual order too. */
static bool compare_type_fits(int64_t compare_type, tt_dtype_kind kind) {
  switch (kind) {
    case TT_KIND_SIGNED:
      return compare_type == TT_HLO_COMPARE_SIGNED;
    case TT_KIND_BOOL:
    case TT_KIND_UNSIGNED:
      return compare_type == TT_HLO_COMPARE_UNSIGNED;
    case TT_KIND_FLOAT:
      return compare_type == TT_HLO_COMPARE_FLOAT || compare_type == TT_HLO_COMPARE_TOTALORDER ||
             compare_type == TT_HLO_COMPARE_SIGNED;
    default:
      return compare_type == TT_HLO_COMPARE_FLOAT;
  }
}

tt_error *tt_hlo_infer_compare(tt_arena *arena, tt_hlo_op *op) {
  int64_t direction = 0, compare_type = TT_HLO_COMPARE_NOTYPE;
  tt_dtype dtype = tt_hlo_operand(op, 0)->dtype;
  TT_RETURN_IF_ERROR(
      tt_hlo_need_enum(op, TT_HLO_COMPARISON_DIRECTION, &direction)); /* compare_i3 */
  if (tt_hlo_op_attr(op, TT_HLO_COMPARE_TYPE) != NULL)
    TT_RETURN_IF_ERROR(tt_hlo_need_enum(op, TT_HLO_COMPARE_TYPE, &compare_type)); /* compare_i4 */
  TT_HLO_CHECK(compare_type == TT_HLO_COMPARE_NOTYPE ||
                   compare_type_fits(compare_type, tt_dtypes[dtype].kind),
               "compare_type %s does not fit %s",
               tt_hlo_enums[TT_HLO_COMPARE_TYPE].values[compare_type], tt_dtype_name(dtype));
  TT_RETURN_IF_ERROR(infer_binary(arena, op, ANY)); /* compare_c1, compare_c2 */
  op->results[0].type.dtype = TT_PRED;
  return NULL;
}

/* `value` is a scalar or has the dims of `type`; adds to `*dims` what it knows. */
static tt_error *meet_scalar_or_same(tt_arena *arena, const tt_hlo_op *op, uint32_t i,
                                     tt_hlo_type *type) {
  const tt_hlo_type *value = tt_hlo_operand(op, i);
  if (value->rank == 0)
    return NULL;
  TT_HLO_CHECK(tt_hlo_dims_agree(value, type),
               "operand %u: expected a scalar or the dims of %s, got %s", i, TT_HLO_SHOW(type),
               TT_HLO_SHOW(value));
  return tt_hlo_dims_merge(arena, type, value, &type->dims);
}

tt_error *tt_hlo_infer_clamp(tt_arena *arena, tt_hlo_op *op) {
  tt_hlo_type type = *tt_hlo_operand(op, 1);
  for (uint32_t i = 0; i < 3; i += 2) {
    TT_HLO_CHECK(tt_hlo_operand(op, i)->dtype == type.dtype,
                 "element types differ: operand 1 is %s, operand %u is %s", TT_HLO_SHOW(&type), i,
                 TT_HLO_SHOW(tt_hlo_operand(op, i)));             /* clamp_c3 */
    TT_RETURN_IF_ERROR(meet_scalar_or_same(arena, op, i, &type)); /* clamp_c1, clamp_c2 */
  }
  op->results[0].type = type; /* clamp_c4 */
  return NULL;
}

tt_error *tt_hlo_infer_select(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *pred = tt_hlo_operand(op, 0);
  tt_hlo_type type = *tt_hlo_operand(op, 1);
  TT_HLO_CHECK(pred->dtype == TT_PRED, "operand 0: expected i1, got %s",
               TT_HLO_SHOW(pred)); /* select_i1 */
  TT_RETURN_IF_ERROR(check_same(op, 1, 2));
  TT_RETURN_IF_ERROR(
      tt_hlo_dims_merge(arena, &type, tt_hlo_operand(op, 2), &type.dims)); /* select_c2 */
  TT_RETURN_IF_ERROR(meet_scalar_or_same(arena, op, 0, &type));            /* select_c1 */
  op->results[0].type = type;
  return NULL;
}

tt_error *tt_hlo_infer_convert(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *result = &op->results[0].type;
  (void)arena;
  TT_HLO_CHECK(tt_hlo_dims_agree(operand, result), "dims differ: operand is %s, result %s",
               TT_HLO_SHOW(operand), TT_HLO_SHOW(result)); /* convert_c1 */
  return NULL;
}

tt_error *tt_hlo_infer_reduce_precision(tt_arena *arena, tt_hlo_op *op) {
  (void)arena;
  const tt_hlo_attr *exponent = NULL, *mantissa = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_EXPONENT_BITS, TT_HLO_ATTR_I32, &exponent));
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_MANTISSA_BITS, TT_HLO_ATTR_I32, &mantissa));
  TT_HLO_CHECK(exponent->i64 >= 1, "exponent_bits is %lld, less than 1",
               (long long)exponent->i64); /* _c2 */
  TT_HLO_CHECK(mantissa->i64 >= 0, "mantissa_bits is %lld, less than 0",
               (long long)mantissa->i64); /* _c3 */
  return infer_unary(op, FLOATS);         /* reduce_precision_c1 */
}
