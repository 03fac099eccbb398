/* kernels/math_f32.h in micro-ops: the same operations on the same values, or others that give the
 * same bits: one copysign at the end of an odd function, scalef for the two products by powers of
 * two, one comparison for NaN and infinity. */
#include "cpu/emit/micro.h"

#define ADD(x, y) op2(b, TT_CPU_MICRO_ADD, x, y)
#define SUB(x, y) op2(b, TT_CPU_MICRO_SUB, x, y)
#define MUL(x, y) op2(b, TT_CPU_MICRO_MUL, x, y)
#define DIV(x, y) op2(b, TT_CPU_MICRO_DIV, x, y)
#define MIN(x, y) op2(b, TT_CPU_MICRO_MIN, x, y)
#define MAX(x, y) op2(b, TT_CPU_MICRO_MAX, x, y)
#define AND(x, y) op2(b, TT_CPU_MICRO_AND, x, y)
#define OR(x, y) op2(b, TT_CPU_MICRO_OR, x, y)
#define IADD(x, y) op2(b, TT_CPU_MICRO_IADD, x, y)
#define ISUB(x, y) op2(b, TT_CPU_MICRO_ISUB, x, y)
#define FMA(x, y, z) tt_cpu_micro_add(b, TT_CPU_MICRO_FMA, 2, x, y, z, 0)
#define K(name) TT_CPU_K(name)
#define SELECT(mask, yes, no) tt_cpu_build_select(b, 2, mask, yes, no)
#define CMP(predicate, x, y) \
  tt_cpu_micro_add(b, TT_CPU_MICRO_CMP, 2, x, y, TT_CPU_NO_OPERAND, predicate)

enum { EQ = 0, LT = 1, NOT_LT = 5, GT = 14 };

static int op2(tt_cpu_build *b, tt_cpu_micro_code code, int x, int y) {
  return tt_cpu_micro_add(b, code, 2, x, y, TT_CPU_NO_OPERAND, 0);
}
static int shift(tt_cpu_build *b, tt_cpu_micro_code code, int x, int by) {
  return tt_cpu_micro_add(b, code, 2, x, TT_CPU_NO_OPERAND, TT_CPU_NO_OPERAND, by);
}
static int op1(tt_cpu_build *b, tt_cpu_micro_code code, int x) { return shift(b, code, x, 0); }

int tt_cpu_build_copysign(tt_cpu_build *b, int lane, int size, int sign) {
  int bit = lane == 3 ? K(SIGN_Q) : K(SIGN);
  if (b->isa == TT_CPU_ISA_AVX512)
    return tt_cpu_micro_add(b, TT_CPU_MICRO_COPYSIGN, lane, size, sign, bit, 0xd8);
  int only = tt_cpu_micro_add(b, TT_CPU_MICRO_AND, lane, sign, bit, TT_CPU_NO_OPERAND, 0);
  int rest = lane == 3 ? K(SIZE_Q) : K(SIZE);
  rest = tt_cpu_micro_add(b, TT_CPU_MICRO_AND, lane, size, rest, TT_CPU_NO_OPERAND, 0);
  return tt_cpu_micro_add(b, TT_CPU_MICRO_OR, lane, rest, only, TT_CPU_NO_OPERAND, 0);
}

int tt_cpu_build_select(tt_cpu_build *b, int lane, int mask, int yes, int no) {
  return tt_cpu_micro_add(b, TT_CPU_MICRO_SELECT, lane, mask, yes, no, 0);
}

static int polynomial(tt_cpu_build *b, int x, int first, int last) {
  int p = FMA(x, first, first - 1);
  for (int k = first - 2; k >= last; k--)
    p = FMA(p, x, k);
  return p;
}

/* 2^n of whole n in [-126, 127]. */
static int power_of_two(tt_cpu_build *b, int whole) {
  return shift(b, TT_CPU_MICRO_SHL, IADD(whole, K(BIAS)), 23);
}

/* x = n ln 2 + r, p = exp(r) - 1. */
static int exp_parts(tt_cpu_build *b, int x, int *out_n) {
  int n = SUB(ADD(MUL(x, K(LOG2_E)), K(MAGIC)), K(MAGIC));
  int r = FMA(n, K(LN2_HIGH_NEG), x);
  r = FMA(n, K(LN2_LOW), r);
  int p = polynomial(b, r, K(EXP_5), K(EXP_1));
  p = FMA(p, r, K(HALF));
  *out_n = n;
  return FMA(p, MUL(r, r), r);
}

static int build_exp(tt_cpu_build *b, int x) {
  int n, none = CMP(LT, x, K(EXP_LOW));
  x = SELECT(none, K(ZERO), MIN(K(EXP_HIGH), x));
  int p = ADD(exp_parts(b, x, &n), K(ONE));
  if (b->isa == TT_CPU_ISA_AVX512)
    return SELECT(none, K(ZERO), op2(b, TT_CPU_MICRO_SCALEF, p, n));
  int whole = op1(b, TT_CPU_MICRO_F32_S32, n);
  int half = shift(b, TT_CPU_MICRO_SAR, whole, 1);
  p = MUL(p, power_of_two(b, half));
  return SELECT(none, K(ZERO), MUL(p, power_of_two(b, ISUB(whole, half))));
}

static int build_expm1(tt_cpu_build *b, int x) {
  int n, scale;
  int p = exp_parts(b, MAX(K(EXPM1_LOW), MIN(K(EXP_HIGH), x)), &n);
  int less = ADD(n, K(MINUS_ONE));
  if (b->isa == TT_CPU_ISA_AVX512)
    scale = op2(b, TT_CPU_MICRO_SCALEF, K(ONE), less);
  else
    scale = power_of_two(b, op1(b, TT_CPU_MICRO_F32_S32, less));
  int result = FMA(scale, p, ADD(scale, K(MINUS_HALF)));
  result = ADD(result, result);
  p = SELECT(CMP(EQ, x, K(ZERO)), x, p);
  return SELECT(CMP(EQ, n, K(ZERO)), p, result);
}

/* `n` < 0: 0. */
static int log_near_one(tt_cpu_build *b, int f, int n) {
  int p = polynomial(b, f, K(LOG_8), K(LOG_0));
  int square = MUL(f, f);
  p = MUL(MUL(p, square), f);
  if (n >= 0)
    p = FMA(n, K(LN2_LOW_NEG), p);
  p = FMA(square, K(MINUS_HALF), p);
  p = ADD(f, p);
  return n >= 0 ? FMA(n, K(LN2_HIGH), p) : p;
}

/* x = 2^n (1 + f). */
static int split_float(tt_cpu_build *b, int x, int *out_n) {
  int bits = ISUB(x, K(SQRT_HALF));
  *out_n = op1(b, TT_CPU_MICRO_S32_F32, shift(b, TT_CPU_MICRO_SAR, bits, 23));
  return ADD(IADD(AND(bits, K(MANTISSA)), K(SQRT_HALF)), K(MINUS_ONE));
}

static int build_log(tt_cpu_build *b, int x) {
  int n;
  int small = CMP(LT, x, K(LEAST_NORMAL));
  int y = SELECT(small, MUL(x, K(TWO_24)), x);
  int less = tt_cpu_micro_add(b, TT_CPU_MICRO_MASKED, 2, small, K(MINUS_24), TT_CPU_NO_OPERAND, 0);
  int f = split_float(b, y, &n);
  int result = log_near_one(b, f, ADD(less, n));
  result = SELECT(CMP(NOT_LT, x, K(INF)), x, result);
  result = SELECT(CMP(EQ, x, K(ZERO)), K(MINUS_INF), result);
  return SELECT(CMP(LT, x, K(ZERO)), K(NOT_A_NUMBER), result);
}

static int build_log1p(tt_cpu_build *b, int x) {
  int n;
  int u = ADD(x, K(ONE));
  int correction = DIV(SUB(x, ADD(u, K(MINUS_ONE))), u);
  int f = split_float(b, u, &n);
  correction = SELECT(CMP(EQ, n, K(ZERO)), K(ZERO), correction);
  int result = ADD(log_near_one(b, f, n), correction);
  int near = log_near_one(b, x, -1);
  int inside = tt_cpu_micro_add(b, TT_CPU_MICRO_MAND, 2, CMP(GT, x, K(LOG1P_LOW)),
                                CMP(LT, x, K(LOG1P_HIGH)), TT_CPU_NO_OPERAND, 0);
  result = SELECT(inside, near, result);
  result = SELECT(CMP(NOT_LT, x, K(INF)), x, result);
  result = SELECT(CMP(EQ, x, K(MINUS_ONE)), K(MINUS_INF), result);
  result = SELECT(CMP(LT, x, K(MINUS_ONE)), K(NOT_A_NUMBER), result);
  return SELECT(CMP(EQ, x, K(ZERO)), x, result);
}

static int build_tanh(tt_cpu_build *b, int x) {
  int a = AND(x, K(SIZE)), u = MUL(x, x);
  int p = polynomial(b, u, K(TANH_5), K(TANH_0));
  int small = FMA(MUL(p, u), a, a);
  int e = MIN(K(TANH_HIGH), a);
  e = build_exp(b, ADD(e, e));
  int large = SUB(K(ONE), DIV(K(TWO), ADD(e, K(ONE))));
  return tt_cpu_build_copysign(b, 2, SELECT(CMP(LT, a, K(TANH_SMALL)), small, large), x);
}

static int build_logistic(tt_cpu_build *b, int x) {
  int z = build_exp(b, OR(x, K(SIGN)));
  return DIV(SELECT(CMP(NOT_LT, x, K(ZERO)), K(ONE), z), ADD(z, K(ONE)));
}

static int build_erf(tt_cpu_build *b, int x) {
  int a = AND(x, K(SIZE)), u = MUL(x, x);
  int p = polynomial(b, u, K(ERF_6), K(ERF_0));
  int small = FMA(p, a, a);
  int c = MIN(K(ERF_HIGH), a);
  int q = polynomial(b, c, K(ERFC_8), K(ERFC_0));
  int large = SUB(K(ONE), build_exp(b, op2(b, TT_CPU_MICRO_XOR, q, K(SIGN))));
  return tt_cpu_build_copysign(b, 2, SELECT(CMP(LT, a, K(ERF_SMALL)), small, large), x);
}

int tt_cpu_build_function(tt_cpu_build *b, tt_hlo_code code, int x) {
  switch (code) {
    case TT_HLO_EXPONENTIAL:
      return build_exp(b, x);
    case TT_HLO_EXPONENTIAL_MINUS_ONE:
      return build_expm1(b, x);
    case TT_HLO_LOG:
      return build_log(b, x);
    case TT_HLO_LOG_PLUS_ONE:
      return build_log1p(b, x);
    case TT_HLO_TANH:
      return build_tanh(b, x);
    case TT_HLO_LOGISTIC:
      return build_logistic(b, x);
    case TT_HLO_CHLO_ERF:
      return build_erf(b, x);
    default:
      return -1;
  }
}
