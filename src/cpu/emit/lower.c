/* Ops to micro-ops: what kernels/loops.inc does to an element. */
#include <math.h>
#include <string.h>

#include "cpu/emit/micro.h"

#define NO TT_CPU_NO_OPERAND
#define K(name) TT_CPU_K(name)
#define M(name) TT_CPU_MICRO_##name

const tt_cpu_micro_info tt_cpu_micros[TT_CPU_MICRO_COUNT] = {
#define X(name, kind, rule, pp, map, op32, op64) \
  [TT_CPU_MICRO_##name] = {#name, TT_CPU_##kind, TT_CPU_##rule, pp, map, op32, op64},
#include "cpu/emit/micro.def"
#undef X
};

/* ---- micro-ops ---- */

static bool grow(tt_cpu_build *b) {
  uint32_t capacity = b->capacity == 0 ? 128 : 2 * b->capacity;
  tt_cpu_micro *micros = b->count >= TT_CPU_MICROS_MAX || b->arena == NULL
                             ? NULL
                             : tt_arena_array(b->arena, capacity, sizeof *micros);
  if (micros == NULL) {
    b->failed = true;
    return false;
  }
  if (b->count > 0)
    memcpy(micros, b->micros, b->count * sizeof *micros);
  b->micros = micros;
  b->capacity = capacity;
  return true;
}

static bool makes_mask(tt_cpu_micro_code code) {
  return (code >= M(CMP) && code <= M(UCMP)) || (code >= M(MAND) && code <= M(MNOT));
}

static int append(tt_cpu_build *b, tt_cpu_micro micro) {
  if (b->count == b->capacity && !grow(b))
    return 0;
  micro.last = -1;
  b->micros[b->count] = micro;
  return (int)b->count++;
}

/* A constant where only a register may stand. */
static int in_register(tt_cpu_build *b, int lane, int operand) {
  if (operand > TT_CPU_CONSTANT_FIRST)
    return operand;
  int16_t *known = &b->constants[TT_CPU_CONSTANT_FIRST - operand];
  if (*known == 0)
    *known = (int16_t)(append(b, (tt_cpu_micro){.code = M(CONST),
                                                .lane = (uint8_t)lane,
                                                .invariant = true,
                                                .in = {(int16_t)operand, NO, NO}}) +
                       1);
  return *known - 1;
}

/* The one operand that may be a constant, or a bit for each. */
static unsigned constant_places(tt_cpu_micro_code code) {
  switch (code) {
    case M(FMA):
      return 6;
    case M(COPYSIGN):
      return 4;
    case M(SELECT):
    case M(MASKED):
    case M(CMP):
    case M(ICMP):
    case M(UCMP):
      return 2;
    default:
      return tt_cpu_micros[code].kind == TT_CPU_RRM ? 2 : tt_cpu_micros[code].kind == TT_CPU_RM;
  }
}

int tt_cpu_micro_add(tt_cpu_build *b, tt_cpu_micro_code code, int lane, int x, int y, int z,
                     int imm) {
  int in[3] = {x, y, z};
  unsigned places = constant_places(code);
  bool invariant = true;
  for (int i = 0; i < 3; i++)
    if ((places >> i & 1) == 0)
      in[i] = in_register(b, lane, in[i]);
  for (int i = 0; i < 3 && !b->failed; i++)
    if (in[i] >= 0) {
      invariant = invariant && b->micros[in[i]].invariant;
      b->micros[in[i]].last = (int16_t)b->count;
    }
  return append(b, (tt_cpu_micro){.code = (uint8_t)code,
                                  .lane = (uint8_t)lane,
                                  .imm = (uint8_t)imm,
                                  .mask = makes_mask(code),
                                  .invariant = invariant,
                                  .in = {(int16_t)in[0], (int16_t)in[1], (int16_t)in[2]}});
}

static int op2(tt_cpu_build *b, int code, int lane, int x, int y) {
  return tt_cpu_micro_add(b, (tt_cpu_micro_code)code, lane, x, y, NO, 0);
}
static int op1(tt_cpu_build *b, int code, int lane, int x) {
  return tt_cpu_micro_add(b, (tt_cpu_micro_code)code, lane, x, NO, NO, 0);
}
static int op_imm(tt_cpu_build *b, int code, int lane, int x, int y, int imm) {
  return tt_cpu_micro_add(b, (tt_cpu_micro_code)code, lane, x, y, NO, imm);
}

static int fail(tt_cpu_build *b) {
  b->failed = true;
  return 0;
}

/* ---- dtypes ---- */

/* log2 of the bytes of a lane; 0: the dtype is not here. pred: that of its vector with AVX2. */
static int lane_of(tt_dtype dtype) {
  switch (dtype) {
    case TT_PRED:
    case TT_S8:
    case TT_S16:
    case TT_S32:
    case TT_U8:
    case TT_U16:
    case TT_U32:
    case TT_BF16:
    case TT_F32:
      return 2;
    case TT_F16:
      return 1;
    case TT_F64:
    case TT_S64:
    case TT_U64:
      return 3;
    default:
      return 0;
  }
}

static bool is_wide(const tt_cpu_build *b) { return b->isa == TT_CPU_ISA_AVX512; }

/* After arithmetic in 32 bits: the extension of a narrow integer again. */
static int wrap(tt_cpu_build *b, tt_dtype dtype, int x) {
  switch (dtype) {
    case TT_U8:
      return op2(b, M(AND), 2, x, K(BYTE));
    case TT_U16:
      return op2(b, M(AND), 2, x, K(WORD));
    case TT_S8:
    case TT_S16: {
      int by = dtype == TT_S8 ? 24 : 16;
      return op_imm(b, M(SAR), 2, op_imm(b, M(SHL), 2, x, NO, by), NO, by);
    }
    default:
      return x;
  }
}

/* ---- compare ---- */

/* By tt_hlo_direction: EQ NE GE GT LE LT. Ordered, but NE. */
static const uint8_t float_predicates[] = {0, 4, 13, 14, 2, 1};
static const uint8_t integer_predicates[] = {0, 4, 5, 6, 2, 1};

/* AVX2 has == and > of signed integers. */
static int compare_narrow(tt_cpu_build *b, tt_hlo_direction direction, int x, int y) {
  bool swap = direction == TT_HLO_LT || direction == TT_HLO_GE;
  bool invert = direction == TT_HLO_NE || direction == TT_HLO_GE || direction == TT_HLO_LE;
  int predicate = direction == TT_HLO_EQ || direction == TT_HLO_NE ? 0 : 6;
  int made = op_imm(b, M(ICMP), 2, swap ? y : x, swap ? x : y, predicate);
  return invert ? op1(b, M(MNOT), 2, made) : made;
}

static int compare_integers(tt_cpu_build *b, tt_hlo_direction direction, tt_dtype dtype, int x,
                            int y) {
  int lane = lane_of(dtype);
  bool no_sign = dtype == TT_U32 || dtype == TT_U64;
  if (is_wide(b))
    return op_imm(b, no_sign ? M(UCMP) : M(ICMP), lane, x, y, integer_predicates[direction]);
  if (no_sign && direction != TT_HLO_EQ && direction != TT_HLO_NE) {
    x = op2(b, M(XOR), 2, x, K(SIGN));
    y = op2(b, M(XOR), 2, y, K(SIGN));
  }
  return compare_narrow(b, direction, x, y);
}

static int compare_masks(tt_cpu_build *b, tt_hlo_direction direction, int x, int y) {
  switch (direction) {
    case TT_HLO_EQ:
      return op1(b, M(MNOT), 2, op2(b, M(MXOR), 2, x, y));
    case TT_HLO_NE:
      return op2(b, M(MXOR), 2, x, y);
    case TT_HLO_GE:
      return op1(b, M(MNOT), 2, op2(b, M(MANDN), 2, x, y));
    case TT_HLO_GT:
      return op2(b, M(MANDN), 2, y, x);
    case TT_HLO_LE:
      return op1(b, M(MNOT), 2, op2(b, M(MANDN), 2, y, x));
    case TT_HLO_LT:
      return op2(b, M(MANDN), 2, x, y);
  }
  return fail(b);
}

/* The pattern as an integer, the negative ones reversed. */
static int order_key(tt_cpu_build *b, int lane, int x) {
  int sign = op_imm(b, M(SAR), lane, x, NO, lane == 3 ? 63 : 31);
  return op2(b, M(XOR), lane, x, op2(b, M(AND), lane, sign, lane == 3 ? K(SIZE_Q) : K(SIZE)));
}

static int compare(tt_cpu_build *b, const tt_cpu_emit_op *op, int x, int y) {
  int lane = lane_of(op->from);
  if (op->from == TT_PRED)
    return compare_masks(b, op->direction, x, y);
  if (!tt_dtype_is_float(op->from))
    return compare_integers(b, op->direction, op->from, x, y);
  if (!op->total)
    return op_imm(b, M(CMP), lane, x, y, float_predicates[op->direction]);
  x = order_key(b, lane, x);
  y = order_key(b, lane, y);
  return is_wide(b) ? op_imm(b, M(ICMP), lane, x, y, integer_predicates[op->direction])
                    : compare_narrow(b, op->direction, x, y);
}

/* ---- floats ---- */

enum { UNORDERED = 3, ZERO_OR_NAN = 8, BELOW = 0x11 };

/* NaN if either is; of two zeros the larger for max, the smaller for min. With AVX2 the two orders
 * of the operands differ for zeros and NaN alone. */
static int extreme(tt_cpu_build *b, int lane, bool largest, int x, int y) {
  if (is_wide(b)) {
    int nan = op_imm(b, M(CMP), lane, x, y, UNORDERED);
    int sum = op2(b, M(ADD), lane, x, y);
    return tt_cpu_build_select(b, lane, nan, sum, op_imm(b, M(RANGE), lane, x, y, largest ? 5 : 4));
  }
  int code = largest ? M(MAX) : M(MIN);
  int one = op2(b, code, lane, x, y), other = op2(b, code, lane, y, x);
  int both = op2(b, largest ? M(AND) : M(OR), lane, one, other);
  return op2(b, M(OR), lane, both, op_imm(b, M(CMP), lane, x, y, UNORDERED));
}

/* Half away from zero: the largest float below 1/2 goes on top, so that no sum reaches too far. */
static int round_away(tt_cpu_build *b, int x) {
  int half = tt_cpu_build_copysign(b, 2, K(ALMOST_HALF), x);
  return op_imm(b, M(ROUND), 2, op2(b, M(ADD), 2, x, half), NO, 11);
}

static int build_float(tt_cpu_build *b, const tt_cpu_emit_op *op, const int *in) {
  int lane = lane_of(op->from);
  bool wide = lane == 3;
  int one = wide ? K(ONE_D) : K(ONE), size = wide ? K(SIZE_Q) : K(SIZE);
  int x = in[0];
  switch (op->code) {
    case TT_HLO_ADD:
      return op2(b, M(ADD), lane, x, in[1]);
    case TT_HLO_SUBTRACT:
      return op2(b, M(SUB), lane, x, in[1]);
    case TT_HLO_MULTIPLY:
      return op2(b, M(MUL), lane, x, in[1]);
    case TT_HLO_DIVIDE:
      return op2(b, M(DIV), lane, x, in[1]);
    case TT_HLO_MAXIMUM:
    case TT_HLO_MINIMUM:
      return extreme(b, lane, op->code == TT_HLO_MAXIMUM, x, in[1]);
    case TT_HLO_CLAMP:
      return extreme(b, lane, false, extreme(b, lane, true, in[1], x), in[2]);
    case TT_HLO_NEGATE:
      return op2(b, M(XOR), lane, x, wide ? K(SIGN_Q) : K(SIGN));
    case TT_HLO_ABS:
      return op2(b, M(AND), lane, x, size);
    case TT_HLO_SQRT:
      return op1(b, M(SQRT), lane, x);
    case TT_HLO_RSQRT:
      return op2(b, M(DIV), lane, one, op1(b, M(SQRT), lane, x));
    case TT_HLO_SIGN:
      return tt_cpu_build_select(
          b, lane, op_imm(b, M(CMP), lane, x, wide ? K(ZERO_Q) : K(ZERO), ZERO_OR_NAN), x,
          tt_cpu_build_copysign(b, lane, one, x));
    case TT_HLO_IS_FINITE:
      return op_imm(b, M(CMP), lane, op2(b, M(AND), lane, x, size), wide ? K(INF_D) : K(INF),
                    BELOW);
    case TT_HLO_FLOOR:
      return op_imm(b, M(ROUND), lane, x, NO, 9);
    case TT_HLO_CEIL:
      return op_imm(b, M(ROUND), lane, x, NO, 10);
    case TT_HLO_ROUND_NEAREST_EVEN:
      return op_imm(b, M(ROUND), lane, x, NO, 8);
    case TT_HLO_ROUND_NEAREST_AFZ:
      return wide ? fail(b) : round_away(b, x);
    default:
      x = wide ? -1 : tt_cpu_build_function(b, op->code, x);
      return x < 0 ? fail(b) : x;
  }
}

/* ---- integers ---- */

static int bits_of(tt_dtype dtype) { return tt_dtypes[dtype].bits; }

static int shift_right(tt_cpu_build *b, tt_dtype dtype, bool arithmetic, int x, int y) {
  bool narrow = bits_of(dtype) < 32, is_signed = tt_dtype_is_signed(dtype);
  tt_dtype as = dtype;
  if (narrow && arithmetic != is_signed) { /* the operand extended as the shift wants it */
    as = bits_of(dtype) == 8 ? (is_signed ? TT_U8 : TT_S8) : (is_signed ? TT_U16 : TT_S16);
    x = wrap(b, as, x);
  }
  if (arithmetic && lane_of(dtype) == 3 && !is_wide(b))
    return fail(b);
  x = op2(b, arithmetic ? M(SARV) : M(SHRV), lane_of(dtype), x, y);
  return as == dtype ? x : wrap(b, dtype, x);
}

static int integer_extreme(tt_cpu_build *b, tt_dtype dtype, bool largest, int x, int y) {
  bool no_sign = dtype == TT_U32 || dtype == TT_U64;
  int code = largest ? (no_sign ? M(UMAX) : M(IMAX)) : no_sign ? M(UMIN) : M(IMIN);
  return op2(b, code, lane_of(dtype), x, y);
}

static int integer_sign(tt_cpu_build *b, tt_dtype dtype, int x) {
  bool wide = lane_of(dtype) == 3;
  if (tt_dtype_is_signed(dtype))
    x = integer_extreme(b, dtype, true, x, wide ? K(ALL_Q) : K(ALL));
  return integer_extreme(b, dtype, false, x, wide ? K(ONE_Q) : K(INT_ONE));
}

static int build_integer(tt_cpu_build *b, const tt_cpu_emit_op *op, const int *in) {
  tt_dtype dtype = op->from;
  int lane = lane_of(dtype), x = in[0];
  bool wide = lane == 3;
  switch (op->code) {
    case TT_HLO_ADD:
      return wrap(b, dtype, op2(b, M(IADD), lane, x, in[1]));
    case TT_HLO_SUBTRACT:
      return wrap(b, dtype, op2(b, M(ISUB), lane, x, in[1]));
    case TT_HLO_MULTIPLY:
      return wrap(b, dtype, op2(b, M(IMUL), lane, x, in[1]));
    case TT_HLO_MAXIMUM:
    case TT_HLO_MINIMUM:
      return integer_extreme(b, dtype, op->code == TT_HLO_MAXIMUM, x, in[1]);
    case TT_HLO_CLAMP:
      return integer_extreme(b, dtype, false, integer_extreme(b, dtype, true, in[1], x), in[2]);
    case TT_HLO_AND:
      return op2(b, M(AND), lane, x, in[1]);
    case TT_HLO_OR:
      return op2(b, M(OR), lane, x, in[1]);
    case TT_HLO_XOR:
      return op2(b, M(XOR), lane, x, in[1]);
    case TT_HLO_NOT:
      return wrap(b, dtype, op2(b, M(XOR), lane, x, wide ? K(ALL_Q) : K(ALL)));
    case TT_HLO_NEGATE:
      return wrap(b, dtype, op2(b, M(ISUB), lane, wide ? K(ZERO_Q) : K(ZERO), x));
    case TT_HLO_ABS:
      return tt_dtype_is_signed(dtype) ? wrap(b, dtype, op1(b, M(IABS), lane, x)) : x;
    case TT_HLO_SIGN:
      return integer_sign(b, dtype, x);
    case TT_HLO_SHIFT_LEFT:
      return wrap(b, dtype, op2(b, M(SHLV), lane, x, in[1]));
    case TT_HLO_SHIFT_RIGHT_LOGICAL:
      return shift_right(b, dtype, false, x, in[1]);
    case TT_HLO_SHIFT_RIGHT_ARITHMETIC:
      return shift_right(b, dtype, true, x, in[1]);
    default:
      return fail(b);
  }
}

static int build_pred(tt_cpu_build *b, const tt_cpu_emit_op *op, const int *in) {
  switch (op->code) {
    case TT_HLO_ADD:
    case TT_HLO_OR:
    case TT_HLO_MAXIMUM:
      return op2(b, M(MOR), 2, in[0], in[1]);
    case TT_HLO_MULTIPLY:
    case TT_HLO_AND:
    case TT_HLO_MINIMUM:
      return op2(b, M(MAND), 2, in[0], in[1]);
    case TT_HLO_XOR:
      return op2(b, M(MXOR), 2, in[0], in[1]);
    case TT_HLO_NOT:
      return op1(b, M(MNOT), 2, in[0]);
    default:
      return fail(b);
  }
}

/* ---- conversions ---- */

static int masked(tt_cpu_build *b, int lane, int mask, int constant) {
  return op2(b, M(MASKED), lane, mask, constant);
}

static int from_pred(tt_cpu_build *b, tt_dtype to, int x) {
  switch (to) {
    case TT_F32:
      return masked(b, 2, x, K(ONE));
    case TT_F64:
      return masked(b, 3, x, K(ONE_D));
    case TT_S64:
    case TT_U64:
      return masked(b, 3, x, K(ONE_Q));
    case TT_BF16:
    case TT_F16:
      return fail(b);
    default:
      return masked(b, 2, x, K(INT_ONE));
  }
}

static int to_bf16(tt_cpu_build *b, int x) {
  int high = op_imm(b, M(SHR), 2, x, NO, 16);
  int tie = op2(b, M(AND), 2, high, K(INT_ONE));
  int rounded = op2(b, M(IADD), 2, op2(b, M(IADD), 2, x, K(BF16_ROUND)), tie);
  rounded = op_imm(b, M(SHR), 2, rounded, NO, 16);
  int nan = op2(b, M(OR), 2, op2(b, M(AND), 2, high, K(BF16_SIGN)), K(BF16_NAN));
  return tt_cpu_build_select(b, 2, op_imm(b, M(CMP), 2, x, x, UNORDERED), nan, rounded);
}

/* Truncates; too large becomes the largest, NaN 0. */
static int f32_to_s32(tt_cpu_build *b, int x) {
  int y = op2(b, M(MAX), 2, K(S32_LOW), x);
  y = op2(b, M(MIN), 2, K(S32_HIGH), y);
  y = tt_cpu_build_select(b, 2, op_imm(b, M(CMP), 2, x, x, UNORDERED), K(ZERO), y);
  y = op1(b, M(F32_S32), 2, y);
  return tt_cpu_build_select(b, 2, op_imm(b, M(CMP), 2, x, K(S32_OVER), 13), K(S32_MAX), y);
}

static int from_f32(tt_cpu_build *b, tt_dtype to, int x) {
  switch (to) {
    case TT_PRED:
      return op_imm(b, M(CMP), 2, x, K(ZERO), 4);
    case TT_S32:
      return f32_to_s32(b, x);
    case TT_BF16:
      return to_bf16(b, x);
    case TT_F16:
      return op1(b, M(F32_F16), 2, x);
    case TT_F64:
      return op1(b, M(F32_F64), 3, x);
    default:
      return fail(b);
  }
}

/* low and high are f64; the result has 32 bits. */
static int saturate(tt_cpu_build *b, int x, int low, int high, int convert) {
  int y = op2(b, M(MIN), 3, high, op2(b, M(MAX), 3, low, x));
  int nan = op_imm(b, M(CMP), 3, x, x, UNORDERED);
  return op1(b, convert, 3, tt_cpu_build_select(b, 3, nan, K(ZERO_Q), y));
}

static int f64_to_wide(tt_cpu_build *b, bool is_signed, int x) {
  int over = op_imm(b, M(CMP), 3, x, is_signed ? K(S64_OVER_D) : K(U64_OVER_D), 13);
  if (is_signed) {
    int bad = op_imm(b, M(CMP), 3, x, K(S64_OVER_D), 5); /* not below it: NaN too */
    int y = op2(b, M(MAX), 3, K(S64_LOW_D), x);
    y = op1(b, M(F64_S64), 3, tt_cpu_build_select(b, 3, bad, K(ZERO_Q), y));
    return tt_cpu_build_select(b, 3, over, K(S64_MAX_Q), y);
  }
  int low = op_imm(b, M(CMP), 3, x, K(ZERO_Q), 9); /* not >= 0 */
  int y = tt_cpu_build_select(b, 3, low, K(ZERO_Q), x);
  y = op1(b, M(F64_U64), 3, tt_cpu_build_select(b, 3, over, K(ZERO_Q), y));
  return tt_cpu_build_select(b, 3, over, K(ALL_Q), y);
}

static int from_f64(tt_cpu_build *b, tt_dtype to, int x) {
  switch (to) {
    case TT_F32:
      return op1(b, M(F64_F32), 3, x);
    case TT_PRED:
      return op_imm(b, M(CMP), 3, x, K(ZERO_Q), 4);
    case TT_S8:
      return saturate(b, x, K(S8_LOW_D), K(S8_HIGH_D), M(F64_S32));
    case TT_U8:
      return saturate(b, x, K(ZERO_Q), K(U8_HIGH_D), M(F64_S32));
    case TT_S16:
      return saturate(b, x, K(S16_LOW_D), K(S16_HIGH_D), M(F64_S32));
    case TT_U16:
      return saturate(b, x, K(ZERO_Q), K(U16_HIGH_D), M(F64_S32));
    case TT_S32:
      return saturate(b, x, K(S32_LOW_D), K(S32_HIGH_D), M(F64_S32));
    case TT_U32:
      return saturate(b, x, K(ZERO_Q), K(U32_HIGH_D), M(F64_U32));
    case TT_S64:
    case TT_U64:
      return f64_to_wide(b, to == TT_S64, x);
    default:
      return fail(b);
  }
}

/* By halves: only the sum rounds. */
static int u32_to_f32(tt_cpu_build *b, int x) {
  int high = op1(b, M(S32_F32), 2, op_imm(b, M(SHR), 2, x, NO, 16));
  int low = op1(b, M(S32_F32), 2, op2(b, M(AND), 2, x, K(WORD)));
  return op2(b, M(ADD), 2, op2(b, M(MUL), 2, high, K(TWO_16)), low);
}

static int from_integer(tt_cpu_build *b, tt_dtype from, tt_dtype to, int x) {
  bool wide = lane_of(from) == 3, is_signed = tt_dtype_is_signed(from);
  bool unsigned32 = from == TT_U32;
  if (to == TT_PRED)
    return is_wide(b) ? op_imm(b, M(ICMP), lane_of(from), x, wide ? K(ZERO_Q) : K(ZERO), 4)
                      : compare_narrow(b, TT_HLO_NE, x, K(ZERO));
  if (to == TT_F32 && unsigned32 && !is_wide(b))
    return u32_to_f32(b, x);
  if (to == TT_F32)
    return op1(b,
               wide         ? (is_signed ? M(S64_F32) : M(U64_F32))
               : unsigned32 ? M(U32_F32)
                            : M(S32_F32),
               wide ? 3 : 2, x);
  if (to == TT_F64)
    return op1(b,
               wide         ? (is_signed ? M(S64_F64) : M(U64_F64))
               : unsigned32 ? M(U32_F64)
                            : M(S32_F64),
               3, x);
  if (!tt_dtype_is_integer(to))
    return fail(b);
  if (lane_of(to) == 3)
    return wide ? x : op1(b, is_signed ? M(S32_S64) : M(U32_S64), 3, x);
  return wrap(b, to, wide ? op1(b, M(S64_S32), 3, x) : x);
}

static int build_convert(tt_cpu_build *b, tt_dtype from, tt_dtype to, int x) {
  switch (from) {
    case TT_PRED:
      return from_pred(b, to, x);
    case TT_F32:
      return from_f32(b, to, x);
    case TT_F64:
      return from_f64(b, to, x);
    case TT_BF16:
      return to == TT_F32 ? op_imm(b, M(SHL), 2, x, NO, 16) : fail(b);
    case TT_F16:
      return to == TT_F32 ? op1(b, M(F16_F32), 2, x) : fail(b);
    default:
      return from_integer(b, from, to, x);
  }
}

/* ---- ops ---- */

static int build_select(tt_cpu_build *b, const tt_cpu_emit_op *op, const int *in) {
  if (op->from == TT_PRED) {
    int yes = op2(b, M(MAND), 2, in[0], in[1]);
    return op2(b, M(MOR), 2, yes, op2(b, M(MANDN), 2, in[0], in[2]));
  }
  if (op->from == TT_F16 && !is_wide(b))
    return fail(b);
  return tt_cpu_build_select(b, lane_of(op->from), in[0], in[1], in[2]);
}

static int build_op(tt_cpu_build *b, const tt_cpu_emit_op *op, const int *in) {
  if (op->code == TT_HLO_CONVERT)
    return build_convert(b, op->from, op->to, in[0]);
  if (op->code == TT_HLO_SELECT)
    return build_select(b, op, in);
  if (op->from == TT_BF16 || op->from == TT_F16)
    return fail(b);
  if (op->code == TT_HLO_COMPARE)
    return compare(b, op, in[0], in[1]);
  if (op->from == TT_PRED)
    return build_pred(b, op, in);
  return tt_dtype_is_float(op->from) ? build_float(b, op, in) : build_integer(b, op, in);
}

/* ---- the program ---- */

static int build_input(tt_cpu_build *b, uint32_t i) {
  const tt_cpu_emit_in *in = &b->program->in[i];
  return append(b, (tt_cpu_micro){.code = in->scalar ? M(SCALAR) : M(LOAD),
                                  .lane = (uint8_t)lane_of(in->dtype),
                                  .imm = (uint8_t)in->dtype,
                                  .mask = in->dtype == TT_PRED,
                                  .invariant = in->scalar,
                                  .in = {(int16_t)i, NO, NO}});
}

static void build_output(tt_cpu_build *b, uint32_t i, int value) {
  const tt_cpu_emit_out *out = &b->program->out[i];
  if (b->failed)
    return;
  if (out->fold != TT_CPU_FOLD_NONE &&
      (!is_wide(b) || (out->dtype != TT_F32 && out->dtype != TT_F64)))
    b->failed = true;
  b->micros[value].last = (int16_t)b->count;
  append(b, (tt_cpu_micro){
                .code = out->fold == TT_CPU_FOLD_NONE ? M(STORE) : M(FOLD),
                .lane = (uint8_t)lane_of(out->dtype),
                .imm = out->fold == TT_CPU_FOLD_NONE ? (uint8_t)out->dtype : (uint8_t)out->fold,
                .in = {(int16_t)value, (int16_t)i, NO}});
}

/* Whether all dtypes are here; `*out_wide`: one has 64 bits. */
static bool look_at_dtypes(const tt_cpu_emit_program *p, bool *out_wide) {
  bool here = true;
  *out_wide = false;
  for (uint32_t i = 0; i < p->ins; i++) {
    here = here && lane_of(p->in[i].dtype) > 0;
    *out_wide = *out_wide || lane_of(p->in[i].dtype) == 3;
  }
  for (uint32_t i = 0; i < p->ops_count; i++) {
    here = here && lane_of(p->ops[i].from) > 0 && lane_of(p->ops[i].to) > 0;
    *out_wide = *out_wide || lane_of(p->ops[i].from) == 3 || lane_of(p->ops[i].to) == 3;
  }
  return here;
}

/* Loads come where the value is first read, stores where it is made; so an output may lie over an
 * input that no later op reads (tt_cpu_tile's `last` and `first`). */
void tt_cpu_build_program(tt_cpu_build *b) {
  const tt_cpu_emit_program *p = b->program;
  uint32_t values = p->ins + p->ops_count;
  int16_t *made = tt_arena_array(b->arena, values, sizeof *made);
  bool wide = false;
  if (made == NULL || !look_at_dtypes(p, &wide) || (wide && !is_wide(b))) {
    b->failed = true;
    return;
  }
  b->lanes = (is_wide(b) ? 64 : 32) / (wide ? 8 : 4);
  memset(made, 0xff, values * sizeof *made);
  for (uint32_t i = 0; i < p->ops_count && !b->failed; i++) {
    int in[3] = {0};
    for (uint32_t k = 0; k < 3; k++) {
      uint32_t value = p->ops[i].in[k];
      if (made[value] < 0)
        made[value] = (int16_t)build_input(b, value);
      in[k] = made[value];
    }
    made[p->ins + i] = (int16_t)build_op(b, &p->ops[i], in);
    for (uint32_t k = 0; k < p->outs; k++)
      if (p->out[k].value == p->ins + i)
        build_output(b, k, made[p->ins + i]);
  }
  for (uint32_t k = 0; k < p->outs && !b->failed; k++) { /* folds of inputs */
    uint32_t value = p->out[k].value;
    if (value >= p->ins)
      continue;
    if (made[value] < 0)
      made[value] = (int16_t)build_input(b, value);
    build_output(b, k, made[value]);
  }
}

/* ---- what is here ---- */

bool tt_cpu_emit_has_dtype(tt_dtype dtype, tt_cpu_isa isa) {
  return isa != TT_CPU_ISA_BASE && lane_of(dtype) > 0 &&
         (lane_of(dtype) < 3 || isa == TT_CPU_ISA_AVX512);
}

bool tt_cpu_emit_has(const tt_cpu_emit_op *op, tt_cpu_isa isa) {
  enum { MICROS = 160 };
  tt_cpu_micro micros[MICROS];
  tt_cpu_build b = {.isa = isa, .micros = micros, .capacity = MICROS};
  int in[3] = {0};
  if (!tt_cpu_emit_has_dtype(op->from, isa) || !tt_cpu_emit_has_dtype(op->to, isa))
    return false;
  append(&b, (tt_cpu_micro){.code = M(LOAD), .lane = 2});
  build_op(&b, op, in);
  return !b.failed;
}
