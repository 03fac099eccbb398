/* Loops that call libm, and those for dtypes of which no program makes much. f32 is computed in
 * double and rounded once, which is within 1 ulp. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "cpu/kernel.h"
#include "cpu/kernels/special.h"
#include "cpu/small_float.h"
#include "cpu/tile/tile.h"

#define UNARY(name, X, R, expression)              \
  static void name(const tt_cpu_loop_args *args) { \
    const X *xs = args->in[0];                     \
    R *out = args->out;                            \
    for (int64_t i = 0; i < args->count; i++) {    \
      X x = xs[i];                                 \
      out[i] = (R)(expression);                    \
    }                                              \
  }
#define BINARY(name, X, R, expression)             \
  static void name(const tt_cpu_loop_args *args) { \
    const X *xs = args->in[0], *ys = args->in[1];  \
    R *out = args->out;                            \
    for (int64_t i = 0; i < args->count; i++) {    \
      X x = xs[i], y = ys[i];                      \
      out[i] = (R)(expression);                    \
    }                                              \
  }

/* ---- floats ---- */

#define REAL1(name, function)                          \
  UNARY(name##_f32, float, float, function((double)x)) \
  UNARY(name##_f64, double, double, function(x))
#define REAL2(name, function)                                      \
  BINARY(name##_f32, float, float, function((double)x, (double)y)) \
  BINARY(name##_f64, double, double, function(x, y))

static double logistic(double x) {
  double z = exp(-fabs(x));
  return x != x ? x : (x < 0 ? z : 1) / (1 + z);
}

/* pow of C99, but that 1^NaN and NaN^0 are its 1, as IEEE 754 has them. */
static double power(double x, double y) { return pow(x, y); }

/* The C library's is off by up to 4 ulp; a step of Newton's on it, with x - y^3 in full, is not. */
static double cube_root(double x) {
  if (fabs(x) < 0x1p-900 && x != 0) /* what is lost would be too small */
    return cube_root(x * 0x1p300) * 0x1p-100;
  double y = cbrt(x), square = y * y, lost = fma(y, y, -square);
  double off = fma(-square, y, x) - lost * y;
  return x == 0 || !isfinite(x) ? y : y + off / (3 * square);
}

UNARY(cbrt_f32, float, float, cbrt((double)x))
UNARY(cbrt_f64, double, double, cube_root(x))
REAL1(ceil, ceil)
REAL1(cos, cos)
REAL1(exp, exp)
REAL1(expm1, expm1)
REAL1(floor, floor)
REAL1(log, log)
REAL1(log1p, log1p)
REAL1(logistic, logistic)
REAL1(round, round)
REAL1(rint, rint)
REAL1(sin, sin)
REAL1(tan, tan)
REAL1(tanh, tanh)
REAL1(acos, acos)
REAL1(acosh, acosh)
REAL1(asin, asin)
REAL1(asinh, asinh)
REAL1(atan, atan)
REAL1(atanh, atanh)
REAL1(i1e, tt_cpu_bessel_i1e)
REAL1(cosh, cosh)
REAL1(digamma, tt_cpu_digamma)
REAL1(erf, erf)
REAL1(erf_inv, tt_cpu_erf_inv)
REAL1(erfc, erfc)
REAL1(lgamma, tt_cpu_lgamma)
REAL1(sinh, sinh)
REAL2(atan2, atan2)
REAL2(power, power)
REAL2(fmod, fmod)
REAL2(polygamma, tt_cpu_polygamma)
REAL2(zeta, tt_cpu_zeta)
BINARY(next_f32, float, float, nextafterf(x, y))
BINARY(next_f64, double, double, nextafter(x, y))

/* The next pattern of a float of 16 bits. */
static uint16_t next_pattern(uint16_t x, uint16_t y, float a, float b, uint16_t nan) {
  if (a != a || b != b)
    return nan;
  if (a == b)
    return y;
  if (a == 0)
    return (uint16_t)((y & 0x8000) | 1);
  return (uint16_t)((a < b) == (a > 0) ? x + 1 : x - 1);
}
BINARY(next_bf16, uint16_t, uint16_t,
       next_pattern(x, y, tt_cpu_from_bf16(x), tt_cpu_from_bf16(y), 0x7fc0))
BINARY(next_f16, uint16_t, uint16_t,
       next_pattern(x, y, tt_cpu_from_f16(x), tt_cpu_from_f16(y), 0x7e00))

/* Rounds the mantissa to nearest even; then too large an exponent gives infinity, too small 0. */
#define REDUCE_PRECISION(name, F, U, mantissa, exponent)                            \
  static F reduce_##name(F value, int64_t exponent_bits, int64_t mantissa_bits) {   \
    U bits, sign = (U)1 << (mantissa + exponent);                                   \
    memcpy(&bits, &value, sizeof bits);                                             \
    if (value != value) /* without a mantissa there is no NaN */                    \
      return mantissa_bits == 0 ? (F)INFINITY : value;                              \
    if (mantissa_bits < mantissa) {                                                 \
      int shift = mantissa - (int)mantissa_bits;                                    \
      bits += ((U)1 << (shift - 1)) - 1 + (bits >> shift & 1);                      \
      bits &= ~(((U)1 << shift) - 1);                                               \
    }                                                                               \
    if (exponent_bits < exponent) {                                                 \
      int bias = (1 << (exponent - 1)) - 1, small = (1 << (exponent_bits - 1)) - 1; \
      int power_ = (int)((bits & ~sign) >> mantissa);                               \
      if (power_ > bias + small)                                                    \
        bits = (bits & sign) | ((U)((1 << exponent) - 1) << mantissa);              \
      else if (power_ <= bias - small)                                              \
        bits &= sign;                                                               \
    }                                                                               \
    memcpy(&value, &bits, sizeof bits);                                             \
    return value;                                                                   \
  }                                                                                 \
  static void reduce_precision_##name(const tt_cpu_loop_args *args) {               \
    const F *xs = args->in[0];                                                      \
    F *out = args->out;                                                             \
    int64_t e = tt_hlo_op_attr(args->op, TT_HLO_EXPONENT_BITS)->i64;                \
    int64_t m = tt_hlo_op_attr(args->op, TT_HLO_MANTISSA_BITS)->i64;                \
    for (int64_t i = 0; i < args->count; i++)                                       \
      out[i] = reduce_##name(xs[i], e, m);                                          \
  }
REDUCE_PRECISION(f32, float, uint32_t, 23, 8)
REDUCE_PRECISION(f64, double, uint64_t, 52, 11)

/* ---- integers ---- */

static uint64_t power_unsigned(uint64_t x, uint64_t y) {
  uint64_t result = 1;
  for (; y != 0; y >>= 1, x *= x)
    result *= (y & 1) != 0 ? x : 1;
  return result;
}

/* A negative exponent gives the integer part of the quotient. */
static int64_t power_signed(int64_t x, int64_t y) {
  if (y >= 0)
    return (int64_t)power_unsigned((uint64_t)x, (uint64_t)y);
  return x == 1 ? 1 : x == -1 ? ((y & 1) != 0 ? -1 : 1) : 0;
}

/* By zero: all bits set, and the dividend for the remainder. The least by -1 wraps. */
#define SIGNED(T, t, bits)                                                                        \
  BINARY(divide_##t, T, T, y == 0 ? -1 : y == -1 ? (int64_t)(0 - (uint64_t)x) : (int64_t)(x / y)) \
  BINARY(remainder_##t, T, T, y == 0 ? x : y == -1 ? 0 : x % y)                                   \
  BINARY(power_##t, T, T, power_signed(x, y))                                                     \
  BINARY(sar_##t, T, T, (uint64_t)y < bits ? x >> ((uint64_t)y & (bits - 1)) : x < 0 ? -1 : 0)
#define UNSIGNED(T, t, bits)                                                            \
  BINARY(divide_##t, T, T, y == 0 ? (T) ~(T)0 : (T)(x / y))                             \
  BINARY(remainder_##t, T, T, y == 0 ? x : (T)(x % y))                                  \
  BINARY(power_##t, T, T, power_unsigned(x, y))                                         \
  BINARY(sar_##t, T, T,                                                                 \
         (uint64_t)y < bits                                                             \
             ? (T)((x >> (y & (bits - 1))) |                                            \
                   ((x >> (bits - 1) & 1) != 0 ? ~((T) ~(T)0 >> (y & (bits - 1))) : 0)) \
         : (x >> (bits - 1) & 1) != 0 ? (T) ~(T)0                                       \
                                      : 0)
#define BITS(T, U, t, bits)                                     \
  UNARY(popcnt_##t, T, T, __builtin_popcountll((uint64_t)(U)x)) \
  UNARY(clz_##t, T, T, (U)x == 0 ? bits : __builtin_clzll((uint64_t)(U)x) - (64 - bits))
SIGNED(int8_t, s8, 8)
SIGNED(int16_t, s16, 16)
SIGNED(int32_t, s32, 32)
SIGNED(int64_t, s64, 64)
UNSIGNED(uint8_t, u8, 8)
UNSIGNED(uint16_t, u16, 16)
UNSIGNED(uint32_t, u32, 32)
UNSIGNED(uint64_t, u64, 64)
BITS(int8_t, uint8_t, s8, 8)
BITS(int16_t, uint16_t, s16, 16)
BITS(int32_t, uint32_t, s32, 32)
BITS(int64_t, uint64_t, s64, 64)
BITS(uint8_t, uint8_t, u8, 8)
BITS(uint16_t, uint16_t, u16, 16)
BITS(uint32_t, uint32_t, u32, 32)
BITS(uint64_t, uint64_t, u64, 64)

/* 2 or 4 bits, of which the rest of the byte may be anything. */
#define NARROW(bits, mask)                                                                     \
  UNARY(popcnt_##bits, uint8_t, uint8_t, __builtin_popcount(x &mask))                          \
  UNARY(clz_##bits, uint8_t, uint8_t,                                                          \
        (x & mask) == 0 ? bits : __builtin_clz(x & mask) - (32 - bits))                        \
  BINARY(sar_u##bits, uint8_t, uint8_t,                                                        \
         (x >> (bits - 1) & 1) == 0 ? ((y & mask) < bits ? (x & mask) >> (y & (bits - 1)) : 0) \
         : (y & mask) < bits        ? ((x | ~mask) >> (y & (bits - 1))) & mask                 \
                                    : mask)                                                    \
  BINARY(shr_##bits, uint8_t, uint8_t, (y & mask) < bits ? (x & mask) >> (y & (bits - 1)) : 0)
NARROW(2, 0x3U)
NARROW(4, 0xfU)

/* ---- complex, in double ---- */

typedef double complex complex128;
typedef float complex complex64;

#define COMPLEX1(name, expression)                                   \
  static complex128 one_##name(complex128 x) { return expression; }  \
  UNARY(name##_c64, complex64, complex64, one_##name((complex128)x)) \
  UNARY(name##_c128, complex128, complex128, one_##name(x))
#define COMPLEX2(name, expression)                                                   \
  static complex128 two_##name(complex128 x, complex128 y) { return expression; }    \
  BINARY(name##_c64, complex64, complex64, two_##name((complex128)x, (complex128)y)) \
  BINARY(name##_c128, complex128, complex128, two_##name(x, y))

static complex128 expm1_complex(complex128 x) {
  double a = creal(x), b = cimag(x), half = sin(b / 2);
  return CMPLX(expm1(a) * cos(b) - 2 * half * half, exp(a) * sin(b));
}

static complex128 log1p_complex(complex128 x) {
  double a = creal(x), b = cimag(x);
  /* |1 + x|^2 - 1 without the 1 where x is small */
  double size =
      fabs(a) < 0.5 && fabs(b) < 0.5 ? log1p(2 * a + a * a + b * b) / 2 : log(hypot(1 + a, b));
  return CMPLX(size, atan2(b, 1 + a));
}

static complex128 sign_complex(complex128 x) {
  double size = cabs(x);
  if (size != size)
    return CMPLX(NAN, NAN);
  return size == 0 ? x : CMPLX(creal(x) / size, cimag(x) / size);
}

static complex128 power_complex(complex128 x, complex128 y) {
  if (x == 0)
    return y == 0 ? 1 : creal(y) > 0 ? 0 : CMPLX(NAN, NAN);
  return cpow(x, y);
}

/* The principal cube root of a complex number is not the real one. */
COMPLEX1(cbrt, x == 0 ? x : cexp(clog(x) / 3))
COMPLEX1(cos, ccos(x))
COMPLEX1(exp, cexp(x))
COMPLEX1(expm1, expm1_complex(x))
COMPLEX1(log, clog(x))
COMPLEX1(log1p, log1p_complex(x))
COMPLEX1(logistic, 1 / (1 + cexp(-x)))
COMPLEX1(negate, -x)
COMPLEX1(rsqrt, 1 / csqrt(x))
COMPLEX1(sign, sign_complex(x))
COMPLEX1(sin, csin(x))
COMPLEX1(sqrt, csqrt(x))
COMPLEX1(tan, ctan(x))
COMPLEX1(tanh, ctanh(x))
COMPLEX1(acos, cacos(x))
COMPLEX1(acosh, cacosh(x))
COMPLEX1(asin, casin(x))
COMPLEX1(asinh, casinh(x))
COMPLEX1(atan, catan(x))
COMPLEX1(atanh, catanh(x))
COMPLEX1(cosh, ccosh(x))
COMPLEX1(sinh, csinh(x))
COMPLEX2(add, x + y)
COMPLEX2(subtract, x - y)
COMPLEX2(multiply, x *y)
COMPLEX2(divide, x / y)
COMPLEX2(power, power_complex(x, y))
/* -i log((y + i x) / sqrt(x^2 + y^2)): atan2 of complex numbers, the first is the ordinate. */
COMPLEX2(atan2, -I *clog((y + I * x) / csqrt(x * x + y * y)))
/* By the real part, then the imaginary one, as XLA orders complex numbers for max and min. */
static bool comes_first(complex128 x, complex128 y) {
  return creal(x) < creal(y) || (creal(x) == creal(y) && cimag(x) < cimag(y));
}
static bool is_nan(complex128 x) { return creal(x) != creal(x) || cimag(x) != cimag(x); }
COMPLEX2(maximum, is_nan(x) ? x : is_nan(y) ? y : comes_first(x, y) ? y : x)
COMPLEX2(minimum, is_nan(x) ? x : is_nan(y) ? y : comes_first(y, x) ? y : x)
UNARY(abs_c64, complex64, float, cabs((complex128)x))
UNARY(abs_c128, complex128, double, cabs(x))
UNARY(real_c64, complex64, float, crealf(x))
UNARY(real_c128, complex128, double, creal(x))
UNARY(imag_c64, complex64, float, cimagf(x))
UNARY(imag_c128, complex128, double, cimag(x))
BINARY(equal_c64, complex64, uint8_t, x == y)
BINARY(equal_c128, complex128, uint8_t, x == y)
BINARY(differ_c64, complex64, uint8_t, x != y)
BINARY(differ_c128, complex128, uint8_t, x != y)

static bool wants_equal(const tt_cpu_loop_args *args) {
  return tt_hlo_op_attr(args->op, TT_HLO_COMPARISON_DIRECTION)->i64 == TT_HLO_EQ;
}
static void compare_c64(const tt_cpu_loop_args *args) {
  (wants_equal(args) ? equal_c64 : differ_c64)(args);
}
static void compare_c128(const tt_cpu_loop_args *args) {
  (wants_equal(args) ? equal_c128 : differ_c128)(args);
}

/* ---- conversions ---- */

#define SMALL(id, t)                                           \
  UNARY(t##_to_f32, uint8_t, float, tt_cpu_small_float(id, x)) \
  STORE(id, t)
#define STORE(id, t)                                     \
  static void f64_to_##t(const tt_cpu_loop_args *args) { \
    const double *xs = args->in[0];                      \
    for (int64_t i = 0; i < args->count; i++)            \
      tt_cpu_store(id, args->out, i, xs[i], 0);          \
  }                                                      \
  static void s64_to_##t(const tt_cpu_loop_args *args) { \
    const int64_t *xs = args->in[0];                     \
    for (int64_t i = 0; i < args->count; i++)            \
      tt_cpu_store_int(id, args->out, i, xs[i]);         \
  }
SMALL(TT_F4E2M1FN, f4)
SMALL(TT_F6E2M3FN, f6e2m3fn)
SMALL(TT_F6E3M2FN, f6e3m2fn)
SMALL(TT_F8E3M4, f8e3m4)
SMALL(TT_F8E4M3, f8e4m3)
SMALL(TT_F8E4M3FN, f8e4m3fn)
SMALL(TT_F8E4M3FNUZ, f8e4m3fnuz)
SMALL(TT_F8E4M3B11FNUZ, f8e4m3b11)
SMALL(TT_F8E5M2, f8e5m2)
SMALL(TT_F8E5M2FNUZ, f8e5m2fnuz)
SMALL(TT_F8E8M0FNU, f8e8m0)
STORE(TT_BF16, bf16)
STORE(TT_F16, f16)

#define NARROW_CONVERTS(S, bits, mask, least, most)                    \
  UNARY(s##bits##_to_s64, uint8_t, int64_t, tt_cpu_load_int(S, &x, 0)) \
  UNARY(u##bits##_to_s64, uint8_t, int64_t, x &mask)                   \
  UNARY(s##bits##_to_s8, uint8_t, int8_t, tt_cpu_load_int(S, &x, 0))   \
  UNARY(u##bits##_to_u8, uint8_t, uint8_t, x &mask)                    \
  UNARY(s64_to_s##bits, int64_t, uint8_t, x &mask)                     \
  UNARY(s8_to_s##bits, int8_t, uint8_t, x &mask)                       \
  UNARY(f64_to_s##bits, double, uint8_t,                               \
        (int)(x != x      ? 0                                          \
              : x < least ? least                                      \
              : x > most  ? most                                       \
                          : x) &                                       \
            mask)                                                      \
  UNARY(f64_to_u##bits, double, uint8_t, x != x ? 0 : x < 0 ? 0 : x > mask ? mask : x)
NARROW_CONVERTS(TT_S2, 2, 0x3, -2, 1)
NARROW_CONVERTS(TT_S4, 4, 0xf, -8, 7)
UNARY(f32_to_c64, float, complex64, x)
UNARY(f64_to_c128, double, complex128, x)
UNARY(c64_to_c128, complex64, complex128, x)
UNARY(c128_to_c64, complex128, complex64, x)

/* ---- the table ---- */

#define REAL_OP(id, name) [TT_HLO_##id] = {[TT_F32] = name##_f32, [TT_F64] = name##_f64}
#define NUMBER_OP(id, name)               \
  [TT_HLO_##id] = {[TT_F32] = name##_f32, \
                   [TT_F64] = name##_f64, \
                   [TT_C64] = name##_c64, \
                   [TT_C128] = name##_c128}
#define COMPLEX_OP(id, name) [TT_HLO_##id] = {[TT_C64] = name##_c64, [TT_C128] = name##_c128}
#define INTEGER_OPS(name)                                                                   \
  [TT_S8] = name##_s8, [TT_S16] = name##_s16, [TT_S32] = name##_s32, [TT_S64] = name##_s64, \
  [TT_U8] = name##_u8, [TT_U16] = name##_u16, [TT_U32] = name##_u32, [TT_U64] = name##_u64
#define SMALL_FROM(t) {[TT_F32] = t##_to_f32}
#define SMALL_TO(source)                                                                \
  [TT_F4E2M1FN] = source##_to_f4, [TT_F6E2M3FN] = source##_to_f6e2m3fn,                 \
  [TT_F6E3M2FN] = source##_to_f6e3m2fn, [TT_F8E3M4] = source##_to_f8e3m4,               \
  [TT_F8E4M3] = source##_to_f8e4m3, [TT_F8E4M3FN] = source##_to_f8e4m3fn,               \
  [TT_F8E4M3FNUZ] = source##_to_f8e4m3fnuz, [TT_F8E4M3B11FNUZ] = source##_to_f8e4m3b11, \
  [TT_F8E5M2] = source##_to_f8e5m2, [TT_F8E5M2FNUZ] = source##_to_f8e5m2fnuz,           \
  [TT_F8E8M0FNU] = source##_to_f8e8m0, [TT_BF16] = source##_to_bf16, [TT_F16] = source##_to_f16

const tt_cpu_loop_table tt_cpu_loops_slow = {
    .ops = {NUMBER_OP(CBRT, cbrt),
            REAL_OP(CEIL, ceil),
            NUMBER_OP(COSINE, cos),
            NUMBER_OP(EXPONENTIAL, exp),
            NUMBER_OP(EXPONENTIAL_MINUS_ONE, expm1),
            REAL_OP(FLOOR, floor),
            NUMBER_OP(LOG, log),
            NUMBER_OP(LOG_PLUS_ONE, log1p),
            NUMBER_OP(LOGISTIC, logistic),
            REAL_OP(ROUND_NEAREST_AFZ, round),
            REAL_OP(ROUND_NEAREST_EVEN, rint),
            NUMBER_OP(SINE, sin),
            NUMBER_OP(TAN, tan),
            NUMBER_OP(TANH, tanh),
            NUMBER_OP(CHLO_ACOS, acos),
            NUMBER_OP(CHLO_ACOSH, acosh),
            NUMBER_OP(CHLO_ASIN, asin),
            NUMBER_OP(CHLO_ASINH, asinh),
            NUMBER_OP(CHLO_ATAN, atan),
            NUMBER_OP(CHLO_ATANH, atanh),
            REAL_OP(CHLO_BESSEL_I1E, i1e),
            NUMBER_OP(CHLO_COSH, cosh),
            REAL_OP(CHLO_DIGAMMA, digamma),
            REAL_OP(CHLO_ERF, erf),
            REAL_OP(CHLO_ERF_INV, erf_inv),
            REAL_OP(CHLO_ERFC, erfc),
            REAL_OP(CHLO_LGAMMA, lgamma),
            NUMBER_OP(CHLO_SINH, sinh),
            NUMBER_OP(ATAN2, atan2),
            REAL_OP(CHLO_POLYGAMMA, polygamma),
            REAL_OP(CHLO_ZETA, zeta),
            REAL_OP(REDUCE_PRECISION, reduce_precision),
            COMPLEX_OP(NEGATE, negate),
            COMPLEX_OP(RSQRT, rsqrt),
            COMPLEX_OP(SIGN, sign),
            COMPLEX_OP(SQRT, sqrt),
            COMPLEX_OP(ADD, add),
            COMPLEX_OP(SUBTRACT, subtract),
            COMPLEX_OP(MULTIPLY, multiply),
            COMPLEX_OP(MAXIMUM, maximum),
            COMPLEX_OP(MINIMUM, minimum),
            COMPLEX_OP(ABS, abs),
            COMPLEX_OP(REAL, real),
            COMPLEX_OP(IMAG, imag),
            COMPLEX_OP(COMPARE, compare),
            [TT_HLO_CHLO_NEXT_AFTER] = {[TT_F32] = next_f32,
                                        [TT_F64] = next_f64,
                                        [TT_BF16] = next_bf16,
                                        [TT_F16] = next_f16},
            [TT_HLO_DIVIDE] = {INTEGER_OPS(divide), [TT_C64] = divide_c64, [TT_C128] = divide_c128},
            [TT_HLO_REMAINDER] = {INTEGER_OPS(remainder), [TT_F32] = fmod_f32, [TT_F64] = fmod_f64},
            [TT_HLO_POWER] = {INTEGER_OPS(power), [TT_F32] = power_f32, [TT_F64] = power_f64,
                              [TT_C64] = power_c64, [TT_C128] = power_c128},
            [TT_HLO_SHIFT_RIGHT_ARITHMETIC] = {INTEGER_OPS(sar), [TT_U2] = sar_u2,
                                               [TT_U4] = sar_u4},
            [TT_HLO_POPCNT] = {INTEGER_OPS(popcnt), [TT_S2] = popcnt_2, [TT_U2] = popcnt_2,
                               [TT_S4] = popcnt_4, [TT_U4] = popcnt_4},
            [TT_HLO_SHIFT_RIGHT_LOGICAL] =
                {[TT_S2] = shr_2, [TT_U2] = shr_2, [TT_S4] = shr_4, [TT_U4] = shr_4},
            [TT_HLO_COUNT_LEADING_ZEROS] = {INTEGER_OPS(clz), [TT_S2] = clz_2, [TT_U2] = clz_2,
                                            [TT_S4] = clz_4, [TT_U4] = clz_4}},
    .converts = {[TT_F4E2M1FN] = SMALL_FROM(f4),
                 [TT_F6E2M3FN] = SMALL_FROM(f6e2m3fn),
                 [TT_F6E3M2FN] = SMALL_FROM(f6e3m2fn),
                 [TT_F8E3M4] = SMALL_FROM(f8e3m4),
                 [TT_F8E4M3] = SMALL_FROM(f8e4m3),
                 [TT_F8E4M3FN] = SMALL_FROM(f8e4m3fn),
                 [TT_F8E4M3FNUZ] = SMALL_FROM(f8e4m3fnuz),
                 [TT_F8E4M3B11FNUZ] = SMALL_FROM(f8e4m3b11),
                 [TT_F8E5M2] = SMALL_FROM(f8e5m2),
                 [TT_F8E5M2FNUZ] = SMALL_FROM(f8e5m2fnuz),
                 [TT_F8E8M0FNU] = SMALL_FROM(f8e8m0),
                 [TT_S2] = {[TT_S64] = s2_to_s64, [TT_S8] = s2_to_s8},
                 [TT_U2] = {[TT_S64] = u2_to_s64, [TT_U8] = u2_to_u8},
                 [TT_S4] = {[TT_S64] = s4_to_s64, [TT_S8] = s4_to_s8},
                 [TT_U4] = {[TT_S64] = u4_to_s64, [TT_U8] = u4_to_u8},
                 [TT_S8] = {[TT_S2] = s8_to_s2, [TT_S4] = s8_to_s4},
                 [TT_U8] = {[TT_U2] = u2_to_u8, [TT_U4] = u4_to_u8},
                 [TT_S64] = {SMALL_TO(s64), [TT_S2] = s64_to_s2, [TT_U2] = s64_to_s2,
                             [TT_S4] = s64_to_s4, [TT_U4] = s64_to_s4},
                 [TT_F64] = {SMALL_TO(f64), [TT_S2] = f64_to_s2, [TT_U2] = f64_to_u2,
                             [TT_S4] = f64_to_s4, [TT_U4] = f64_to_u4, [TT_C128] = f64_to_c128},
                 [TT_F32] = {[TT_C64] = f32_to_c64},
                 [TT_C64] = {[TT_F32] = real_c64, [TT_C128] = c64_to_c128},
                 [TT_C128] = {[TT_F64] = real_c128, [TT_C64] = c128_to_c64}},
};
