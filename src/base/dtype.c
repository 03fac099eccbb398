#include "base/dtype.h"

#include <assert.h>
#include <string.h>

const tt_dtype_info tt_dtypes[TT_DTYPE_COUNT] = {
#define X(id, mlir, bits, kind) [TT_##id] = {mlir, bits, ((bits) + 7) / 8, TT_KIND_##kind},
#include "base/dtypes.def"
#undef X
};

/* A binary float type of at most 16 bits, by its bit patterns without the sign. */
typedef struct small_float {
  int mantissa_bits, bias;
  unsigned largest;  /* finite */
  unsigned overflow; /* what a larger value becomes: infinity, NaN, or the largest */
  unsigned nan;
  bool one_zero; /* the FNUZ types: no -0, its pattern is the only NaN */
} small_float;

/* Sources: IEEE 754 for f16; the StableHLO spec's FloatType and ml_dtypes' casts for the others. f4
 * and f6 saturate and have no NaN: it becomes -0. */
static const small_float small_floats[TT_DTYPE_COUNT] = {
    [TT_F4E2M1FN] = {1, 1, 0x7, 0x7, 0x8, false},
    [TT_F6E2M3FN] = {3, 1, 0x1f, 0x1f, 0x20, false},
    [TT_F6E3M2FN] = {2, 3, 0x1f, 0x1f, 0x20, false},
    [TT_F8E3M4] = {4, 3, 0x6f, 0x70, 0x78, false},
    [TT_F8E4M3] = {3, 7, 0x77, 0x78, 0x7c, false},
    [TT_F8E4M3FN] = {3, 7, 0x7e, 0x7f, 0x7f, false},
    [TT_F8E4M3FNUZ] = {3, 8, 0x7f, 0x80, 0x80, true},
    [TT_F8E4M3B11FNUZ] = {3, 11, 0x7f, 0x80, 0x80, true},
    [TT_F8E5M2] = {2, 15, 0x7b, 0x7c, 0x7e, false},
    [TT_F8E5M2FNUZ] = {2, 16, 0x7f, 0x80, 0x80, true},
    [TT_BF16] = {7, 127, 0x7f7f, 0x7f80, 0x7fc0, false},
    [TT_F16] = {10, 15, 0x7bff, 0x7c00, 0x7e00, false},
};

typedef enum number_kind { FINITE, INFINITE, NOT_A_NUMBER } number_kind;

/* (-1)^negative * mantissa * 2^exponent, exact for a double and for an int64_t. */
typedef struct number {
  number_kind kind;
  bool negative;
  uint64_t mantissa;
  int exponent;
} number;

static number number_of_double(double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  int biased = (int)(bits >> 52) & 0x7ff;
  uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
  number n = {FINITE, bits >> 63 != 0, fraction, -1074};
  if (biased == 0x7ff) {
    n.kind = fraction == 0 ? INFINITE : NOT_A_NUMBER;
  } else if (biased > 0) {
    n.mantissa = fraction | UINT64_C(1) << 52;
    n.exponent = biased - 1075;
  }
  return n;
}

static number number_of_int(int64_t value) {
  bool negative = value < 0;
  return (number){FINITE, negative, negative ? 0 - (uint64_t)value : (uint64_t)value, 0};
}

/* floor(log2) of a finite number that is not zero. */
static int log2_floor(const number *n) { return 63 - __builtin_clzll(n->mantissa) + n->exponent; }

/* The number divided by 2^quantum and rounded to nearest even. The result fits: callers keep it
 * under 2^16. */
static uint64_t round_to(const number *n, int quantum) {
  int drop = quantum - n->exponent;
  if (drop <= 0)
    return n->mantissa << -drop;
  if (drop > 64)
    return 0;
  uint64_t kept = drop == 64 ? 0 : n->mantissa >> drop;
  uint64_t lost = drop == 64 ? n->mantissa : n->mantissa & ((UINT64_C(1) << drop) - 1);
  uint64_t half = UINT64_C(1) << (drop - 1);
  return kept + (lost > half || (lost == half && (kept & 1) != 0));
}

/* The pattern of |n|, which is finite. The mantissa's leading one carries into the exponent field,
 * and a subnormal has none, so one sum serves both, and rounding up to the next binade too. */
static unsigned encode_magnitude(const small_float *f, const number *n) {
  if (n->mantissa == 0)
    return 0;
  int smallest = 1 - f->bias; /* exponent of the smallest normal number */
  int exponent = log2_floor(n) < smallest ? smallest : log2_floor(n);
  if (exponent > f->bias + 2)
    return f->overflow;
  uint64_t rounded = round_to(n, exponent - f->mantissa_bits);
  uint64_t pattern = ((uint64_t)(exponent - smallest) << f->mantissa_bits) + rounded;
  return pattern > f->largest ? f->overflow : (unsigned)pattern;
}

static unsigned encode_small(tt_dtype d, const number *n) {
  const small_float *f = &small_floats[d];
  unsigned pattern = n->kind == NOT_A_NUMBER ? f->nan
                     : n->kind == INFINITE   ? f->overflow
                                             : encode_magnitude(f, n);
  if (f->one_zero && (pattern == 0 || pattern == f->nan))
    return pattern;
  unsigned sign = n->negative ? 1U << (tt_dtypes[d].bits - 1) : 0;
  return pattern ^ sign;
}

/* f8E8M0FNU: pattern p is 2^(p-127), 0xff is NaN; no sign and no zero. Halves go up, as in
 * ml_dtypes: the mantissa is the one bit 1, which is odd. */
static unsigned encode_exponent_only(const number *n) {
  enum { BIAS = 127, NAN_PATTERN = 0xff };
  if (n->kind != FINITE || n->negative || n->mantissa == 0)
    return NAN_PATTERN;
  int exponent = log2_floor(n);
  if (exponent < -BIAS)
    return 0;
  if (exponent > BIAS)
    return NAN_PATTERN;
  return (unsigned)(exponent + BIAS) + (unsigned)round_to(n, exponent) - 1;
}

/* Truncates toward zero, modulo 2^64; 0 for infinity and NaN. */
static uint64_t integer_of(const number *n) {
  if (n->kind != FINITE || n->exponent >= 64 || n->exponent <= -64)
    return 0;
  uint64_t magnitude = n->exponent < 0 ? n->mantissa >> -n->exponent : n->mantissa << n->exponent;
  return n->negative ? 0 - magnitude : magnitude;
}

/* The low `size` bytes of `pattern`, in the machine's order. */
static void store_pattern(uint64_t pattern, int size, void *out) {
  uint8_t u8 = (uint8_t)pattern;
  uint16_t u16 = (uint16_t)pattern;
  uint32_t u32 = (uint32_t)pattern;
  const void *from = size == 1   ? (void *)&u8
                     : size == 2 ? (void *)&u16
                     : size == 4 ? (void *)&u32
                                 : (void *)&pattern;
  memcpy(out, from, (size_t)size);
}

/* All types but those the compiler converts to: f32, f64 and the complex ones. */
static void store_number(tt_dtype d, const number *n, void *out) {
  const tt_dtype_info *info = &tt_dtypes[d];
  uint64_t pattern = 0;
  if (info->kind == TT_KIND_BOOL)
    pattern = n->kind != FINITE || n->mantissa != 0;
  else if (info->kind != TT_KIND_FLOAT)
    pattern = info->bits < 8 ? integer_of(n) & ((1U << info->bits) - 1) : integer_of(n);
  else
    pattern = d == TT_F8E8M0FNU ? encode_exponent_only(n) : encode_small(d, n);
  store_pattern(pattern, info->bytes, out);
}

static void store_f32(float value, float imag, bool complex, void *out) {
  float parts[2] = {value, imag};
  memcpy(out, parts, complex ? sizeof parts : sizeof parts[0]);
}

static void store_f64(double value, double imag, bool complex, void *out) {
  double parts[2] = {value, imag};
  memcpy(out, parts, complex ? sizeof parts : sizeof parts[0]);
}

void tt_dtype_store(tt_dtype d, double value, double imag, void *out) {
  assert((unsigned)d < TT_DTYPE_COUNT);
  if (d == TT_F32 || d == TT_C64) {
    store_f32((float)value, (float)imag, d == TT_C64, out);
  } else if (d == TT_F64 || d == TT_C128) {
    store_f64(value, imag, d == TT_C128, out);
  } else {
    number n = number_of_double(value);
    store_number(d, &n, out);
  }
}

/* Not through a double, which would round twice. */
void tt_dtype_store_int(tt_dtype d, int64_t value, void *out) {
  assert((unsigned)d < TT_DTYPE_COUNT);
  if (d == TT_F32 || d == TT_C64) {
    store_f32((float)value, 0, d == TT_C64, out);
  } else if (d == TT_F64 || d == TT_C128) {
    store_f64((double)value, 0, d == TT_C128, out);
  } else {
    number n = number_of_int(value);
    store_number(d, &n, out);
  }
}
