/* Shapes, and single elements of any dtype. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "cpu/kernel.h"
#include "cpu/small_float.h"

int64_t tt_cpu_count(const tt_hlo_type *type) {
  int64_t count = 0;
  return tt_dims_count(type->dims, (size_t)type->rank, &count) ? count : 0;
}

int64_t tt_cpu_bytes(const tt_hlo_type *type) {
  return type->token ? 0 : tt_cpu_count(type) * tt_dtype_bytes(type->dtype);
}

void tt_cpu_strides(const tt_hlo_type *type, int64_t *out_strides) {
  int64_t stride = 1;
  for (int32_t i = type->rank; i-- > 0;) {
    out_strides[i] = stride;
    stride *= type->dims[i] == 0 ? 1 : type->dims[i];
  }
}

tt_hlo_list tt_cpu_attr_list(const tt_hlo_op *op, tt_hlo_attr_name name) {
  const tt_hlo_attr *attr = tt_hlo_op_attr(op, name);
  return attr == NULL ? (tt_hlo_list){0} : attr->i64s;
}

int64_t tt_cpu_attr_i64(const tt_hlo_op *op, tt_hlo_attr_name name, int64_t fallback) {
  const tt_hlo_attr *attr = tt_hlo_op_attr(op, name);
  return attr == NULL ? fallback : attr->i64;
}

/* ---- floats of 8 bits and fewer ---- */

/* Formats by ml_dtypes and the StableHLO specification: bits of the mantissa, bias, the patterns
 * (without the sign) of infinity and of the least NaN; FNUZ: the pattern of -0 is the only NaN. */
typedef struct format {
  int bits, mantissa, bias;
  unsigned infinity, nan;
  bool fnuz;
} format;

enum { NEVER = 0x100 };

static const format formats[TT_DTYPE_COUNT] = {
    [TT_F4E2M1FN] = {4, 1, 1, NEVER, NEVER, false},
    [TT_F6E2M3FN] = {6, 3, 1, NEVER, NEVER, false},
    [TT_F6E3M2FN] = {6, 2, 3, NEVER, NEVER, false},
    [TT_F8E3M4] = {8, 4, 3, 0x70, 0x71, false},
    [TT_F8E4M3] = {8, 3, 7, 0x78, 0x79, false},
    [TT_F8E4M3FN] = {8, 3, 7, NEVER, 0x7f, false},
    [TT_F8E4M3FNUZ] = {8, 3, 8, NEVER, NEVER, true},
    [TT_F8E4M3B11FNUZ] = {8, 3, 11, NEVER, NEVER, true},
    [TT_F8E5M2] = {8, 2, 15, 0x7c, 0x7d, false},
    [TT_F8E5M2FNUZ] = {8, 2, 16, NEVER, NEVER, true},
};

float tt_cpu_small_float(tt_dtype dtype, uint8_t pattern) {
  const format *f = &formats[dtype];
  if (dtype == TT_F8E8M0FNU)
    return pattern == 0xff ? NAN : ldexpf(1, pattern - 127);
  unsigned sign = pattern >> (f->bits - 1) & 1, rest = pattern & ((1U << (f->bits - 1)) - 1);
  unsigned exponent = rest >> f->mantissa, fraction = rest & ((1U << f->mantissa) - 1);
  float value;
  if (f->fnuz && sign != 0 && rest == 0)
    return NAN;
  if (rest >= f->nan)
    return NAN;
  if (rest == f->infinity)
    value = INFINITY;
  else if (exponent == 0)
    value = ldexpf((float)fraction, 1 - f->bias - f->mantissa);
  else
    value = ldexpf((float)(fraction | 1U << f->mantissa), (int)exponent - f->bias - f->mantissa);
  return sign != 0 ? -value : value;
}

/* ---- one element ---- */

#define LOAD(type)                                                                        \
  do {                                                                                    \
    type value_;                                                                          \
    memcpy(&value_, (const char *)array + index * (int64_t)sizeof value_, sizeof value_); \
    return value_;                                                                        \
  } while (0)

static float load_f32(const void *array, int64_t index) { LOAD(float); }
static double load_f64(const void *array, int64_t index) { LOAD(double); }
static uint16_t load_u16(const void *array, int64_t index) { LOAD(uint16_t); }

double tt_cpu_load(tt_dtype dtype, const void *array, int64_t index, double *out_imag) {
  if (out_imag != NULL)
    *out_imag = dtype == TT_C64    ? (double)load_f32(array, 2 * index + 1)
                : dtype == TT_C128 ? load_f64(array, 2 * index + 1)
                                   : 0;
  switch (dtype) {
    case TT_F32:
      return (double)load_f32(array, index);
    case TT_F64:
      return load_f64(array, index);
    case TT_C64:
      return (double)load_f32(array, 2 * index);
    case TT_C128:
      return load_f64(array, 2 * index);
    case TT_BF16:
      return (double)tt_cpu_from_bf16(load_u16(array, index));
    case TT_F16:
      return (double)tt_cpu_from_f16(load_u16(array, index));
    case TT_U64:
      return (double)(uint64_t)tt_cpu_load_int(dtype, array, index);
    default:
      if (tt_dtype_is_float(dtype))
        return (double)tt_cpu_small_float(dtype, ((const uint8_t *)array)[index]);
      return (double)tt_cpu_load_int(dtype, array, index);
  }
}

void tt_cpu_store(tt_dtype dtype, void *array, int64_t index, double value, double imag) {
  tt_dtype_store(dtype, value, imag, (char *)array + index * tt_dtype_bytes(dtype));
}

int64_t tt_cpu_load_int(tt_dtype dtype, const void *array, int64_t index) {
  switch (dtype) {
    case TT_PRED:
      return ((const uint8_t *)array)[index] != 0;
    case TT_U2:
      return ((const uint8_t *)array)[index] & 0x3;
    case TT_S2:
      return ((((const uint8_t *)array)[index] & 0x3) ^ 2) - 2;
    case TT_U4:
      return ((const uint8_t *)array)[index] & 0xf;
    case TT_S4:
      return ((((const uint8_t *)array)[index] & 0xf) ^ 8) - 8;
    case TT_U8:
      LOAD(uint8_t);
    case TT_S8:
      LOAD(int8_t);
    case TT_U16:
      LOAD(uint16_t);
    case TT_S16:
      LOAD(int16_t);
    case TT_U32:
      LOAD(uint32_t);
    case TT_S32:
      LOAD(int32_t);
    default:
      LOAD(int64_t);
  }
}

void tt_cpu_store_int(tt_dtype dtype, void *array, int64_t index, int64_t value) {
  tt_dtype_store_int(dtype, value, (char *)array + index * tt_dtype_bytes(dtype));
}
