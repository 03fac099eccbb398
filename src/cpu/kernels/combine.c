#pragma GCC optimize("O3")
#include "cpu/kernels/combine.h"

#include <complex.h>
#include <math.h>

#include "base/dtype.h"
#include "cpu/small_float.h"

typedef float _Complex complex_f32;
typedef double _Complex complex_f64;

/* EXPR: of x (the element there) and y, in type W; LOAD and STORE convert. */
#define COMBINE(NAME, T, W, LOAD, STORE, EXPR)                                     \
  static void NAME(void *to, int64_t to_step, const void *from, int64_t from_step, \
                   int64_t count) {                                                \
    T *a_ = to;                                                                    \
    const T *b_ = from;                                                            \
    if (to_step == 1 && from_step == 1)                                            \
      for (int64_t i = 0; i < count; i++) {                                        \
        W x = LOAD(a_[i]), y = LOAD(b_[i]);                                        \
        (void)x;                                                                   \
        a_[i] = STORE(EXPR);                                                       \
      }                                                                            \
    else                                                                           \
      for (int64_t i = 0; i < count; i++) {                                        \
        W x = LOAD(a_[i * to_step]), y = LOAD(b_[i * from_step]);                  \
        (void)x;                                                                   \
        a_[i * to_step] = STORE(EXPR);                                             \
      }                                                                            \
  }

#define SAME(x) (x)
/* NaN wins. */
#define MAX_FLOAT (y > x || y != y ? y : x)
#define MIN_FLOAT (y < x || y != y ? y : x)

#define FLOATS(NAME, T, W, LOAD, STORE)                 \
  COMBINE(add_##NAME, T, W, LOAD, STORE, x + y)         \
  COMBINE(multiply_##NAME, T, W, LOAD, STORE, x *y)     \
  COMBINE(maximum_##NAME, T, W, LOAD, STORE, MAX_FLOAT) \
  COMBINE(minimum_##NAME, T, W, LOAD, STORE, MIN_FLOAT)

/* U: as wide, unsigned, in which nothing overflows. */
#define INTEGERS(NAME, T, U)                                  \
  COMBINE(add_##NAME, T, T, SAME, (T), (T)((U)x + (U)y))      \
  COMBINE(multiply_##NAME, T, T, SAME, (T), (T)((U)x * (U)y)) \
  COMBINE(maximum_##NAME, T, T, SAME, (T), y > x ? y : x)     \
  COMBINE(minimum_##NAME, T, T, SAME, (T), y < x ? y : x)

#define BITS(NAME, T)                        \
  COMBINE(and_##NAME, T, T, SAME, (T), x &y) \
  COMBINE(or_##NAME, T, T, SAME, (T), x | y) \
  COMBINE(xor_##NAME, T, T, SAME, (T), x ^ y)

FLOATS(f32, float, float, SAME, SAME)
FLOATS(f64, double, double, SAME, SAME)
FLOATS(bf16, uint16_t, float, tt_cpu_from_bf16, tt_cpu_to_bf16)
FLOATS(f16, uint16_t, float, tt_cpu_from_f16, tt_cpu_to_f16)
INTEGERS(s8, int8_t, uint32_t)
INTEGERS(u8, uint8_t, uint32_t)
INTEGERS(s16, int16_t, uint32_t)
INTEGERS(u16, uint16_t, uint32_t)
INTEGERS(s32, int32_t, uint32_t)
INTEGERS(u32, uint32_t, uint32_t)
INTEGERS(s64, int64_t, uint64_t)
INTEGERS(u64, uint64_t, uint64_t)
BITS(1, uint8_t)
BITS(2, uint16_t)
BITS(4, uint32_t)
BITS(8, uint64_t)
COMBINE(add_c64, complex_f32, complex_f32, SAME, SAME, x + y)
COMBINE(add_c128, complex_f64, complex_f64, SAME, SAME, x + y)
COMBINE(set_1, uint8_t, uint8_t, SAME, SAME, y)
COMBINE(set_2, uint16_t, uint16_t, SAME, SAME, y)
COMBINE(set_4, uint32_t, uint32_t, SAME, SAME, y)
COMBINE(set_8, uint64_t, uint64_t, SAME, SAME, y)
COMBINE(set_16, complex_f64, complex_f64, SAME, SAME, y)

typedef struct numeric {
  tt_cpu_combine add, multiply, maximum, minimum;
} numeric;

#define ROW(ID, NAME) [TT_##ID] = {add_##NAME, multiply_##NAME, maximum_##NAME, minimum_##NAME}
static const numeric table[TT_DTYPE_COUNT] = {
    [TT_PRED] = {or_1, and_1, or_1, and_1},
    [TT_C64] = {add_c64, NULL, NULL, NULL},
    [TT_C128] = {add_c128, NULL, NULL, NULL},
    ROW(F32, f32),
    ROW(F64, f64),
    ROW(BF16, bf16),
    ROW(F16, f16),
    ROW(S8, s8),
    ROW(U8, u8),
    ROW(S16, s16),
    ROW(U16, u16),
    ROW(S32, s32),
    ROW(U32, u32),
    ROW(S64, s64),
    ROW(U64, u64),
};

static tt_cpu_combine by_size(int bytes, const tt_cpu_combine found[5]) {
  for (int i = 0; i < 5; i++)
    if (bytes == 1 << i)
      return found[i];
  return NULL;
}

static tt_cpu_combine find_bits(tt_hlo_code code, int bytes) {
  static const tt_cpu_combine ands[5] = {and_1, and_2, and_4, and_8, NULL},
                              ors[5] = {or_1, or_2, or_4, or_8, NULL},
                              xors[5] = {xor_1, xor_2, xor_4, xor_8, NULL};
  return by_size(bytes, code == TT_HLO_AND ? ands : code == TT_HLO_OR ? ors : xors);
}

tt_cpu_combine tt_cpu_combine_find(tt_hlo_code code, tt_dtype dtype) {
  static const tt_cpu_combine sets[5] = {set_1, set_2, set_4, set_8, set_16};
  switch (code) {
    case TT_HLO_RETURN:
      return by_size(tt_dtype_bytes(dtype), sets);
    case TT_HLO_ADD:
      return table[dtype].add;
    case TT_HLO_MULTIPLY:
      return table[dtype].multiply;
    case TT_HLO_MAXIMUM:
      return table[dtype].maximum;
    case TT_HLO_MINIMUM:
      return table[dtype].minimum;
    case TT_HLO_AND:
    case TT_HLO_OR:
    case TT_HLO_XOR:
      return tt_dtype_is_integer(dtype) && table[dtype].add != NULL
                 ? find_bits(code, tt_dtype_bytes(dtype))
                 : NULL;
    default:
      return NULL;
  }
}

static int64_t least_integer(tt_dtype dtype) {
  return tt_dtype_is_signed(dtype) ? INT64_MIN >> (64 - tt_dtypes[dtype].bits) : 0;
}

bool tt_cpu_combine_identity(tt_hlo_code code, tt_dtype dtype, void *out) {
  bool integer = tt_dtype_is_integer(dtype);
  switch (code) {
    case TT_HLO_ADD:
    case TT_HLO_OR:
    case TT_HLO_XOR:
      tt_cpu_store(dtype, out, 0, tt_dtype_is_float(dtype) ? -0.0 : 0, 0);
      return true;
    case TT_HLO_MULTIPLY:
      tt_cpu_store(dtype, out, 0, 1, 0);
      return true;
    case TT_HLO_MAXIMUM:
      if (integer)
        tt_cpu_store_int(dtype, out, 0, least_integer(dtype));
      else
        tt_cpu_store(dtype, out, 0, -(double)INFINITY, 0);
      return true;
    case TT_HLO_MINIMUM:
      if (integer)
        tt_cpu_store_int(dtype, out, 0, dtype == TT_PRED ? 1 : ~least_integer(dtype));
      else
        tt_cpu_store(dtype, out, 0, (double)INFINITY, 0);
      return true;
    case TT_HLO_AND:
      tt_cpu_store_int(dtype, out, 0, dtype == TT_PRED ? 1 : -1);
      return true;
    default:
      return false;
  }
}
