/* Constants as text: decimal where a person may read them, else the bytes in hex. */
#include "hlo/hlo_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DECIMAL_COUNT = 16 };

static float float_of_bf16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value = 0;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static double float_of_f16(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

/* Digits before and after a point that the digits of `count` get behind the first `whole`; zeros
 * fill up. */
static void print_pointed(tt_bytes *text, const char *digits, int count, int whole) {
  if (whole <= 0)
    tt_bytes_char(text, '0');
  for (int i = 0; i < whole; i++)
    tt_bytes_char(text, i < count ? digits[i] : '0');
  tt_bytes_char(text, '.');
  for (int i = whole; i < 0; i++)
    tt_bytes_char(text, '0');
  for (int i = whole < 0 ? 0 : whole; i < count; i++)
    tt_bytes_char(text, digits[i]);
  if (whole >= count)
    tt_bytes_char(text, '0');
}

/* Takes printf's digits and puts the point itself: printf's is the locale's. */
void tt_hlo_print_float(tt_bytes *text, double value, bool single) {
  char buffer[64], digits[24];
  int precision = 0, most = single ? 8 : 16, count = 0;
  do {
    snprintf(buffer, sizeof buffer, "%.*e", precision, fabs(value));
    double back = strtod(buffer, NULL);
    if (back == fabs(value) || (single && (float)back == (float)fabs(value)))
      break;
  } while (precision++ < most);
  const char *c = buffer;
  for (; *c != 'e' && *c != '\0'; c++)
    if (*c >= '0' && *c <= '9')
      digits[count++] = *c;
  int exponent = *c == 'e' ? atoi(c + 1) : 0;
  bool plain = exponent >= -5 && exponent < 16;
  if (signbit(value))
    tt_bytes_char(text, '-');
  print_pointed(text, digits, count, plain ? exponent + 1 : 1);
  if (!plain)
    tt_bytes_printf(text, "e%d", exponent);
}

/* Bits as MLIR takes them for a float: for what no decimal says, and types that we do not compute
 * in. */
static void print_bits(tt_bytes *text, const void *data, int size) {
  uint64_t bits = 0;
  memcpy(&bits, data, (size_t)size);
  tt_bytes_printf(text, "0x%0*llX", size * 2, (unsigned long long)bits);
}

static void print_float_element(tt_bytes *text, tt_dtype dtype, const void *data) {
  double value = NAN;
  uint16_t half = 0;
  float single = 0;
  if (dtype == TT_F64) {
    memcpy(&value, data, sizeof value);
  } else if (dtype == TT_F32) {
    memcpy(&single, data, sizeof single);
    value = (double)single;
  } else if (dtype == TT_BF16) {
    memcpy(&half, data, sizeof half);
    value = (double)float_of_bf16(half);
  } else if (dtype == TT_F16) {
    memcpy(&half, data, sizeof half);
    value = (half >> 10 & 31) == 31 ? NAN : float_of_f16(half);
  }
  if (isfinite(value))
    tt_hlo_print_float(text, value, dtype != TT_F64);
  else
    print_bits(text, data, tt_dtype_bytes(dtype));
}

static void print_int_element(tt_bytes *text, tt_dtype dtype, const void *data) {
  int bits = tt_dtypes[dtype].bits;
  uint64_t value = 0;
  memcpy(&value, data, (size_t)tt_dtype_bytes(dtype));
  if (bits < 64)
    value &= (UINT64_C(1) << bits) - 1;
  if (dtype == TT_U64)
    tt_bytes_printf(text, "%llu", (unsigned long long)value);
  else if (tt_dtype_is_signed(dtype) && bits < 64 && (value >> (bits - 1) & 1) != 0)
    tt_hlo_print_int(text, (int64_t)value - (INT64_C(1) << bits));
  else
    tt_hlo_print_int(text, (int64_t)value);
}

static void print_element(tt_bytes *text, tt_dtype dtype, const char *data) {
  switch (tt_dtypes[dtype].kind) {
    case TT_KIND_BOOL:
      tt_bytes_text(text, *data != 0 ? "true" : "false");
      break;
    case TT_KIND_SIGNED:
    case TT_KIND_UNSIGNED:
      print_int_element(text, dtype, data);
      break;
    case TT_KIND_FLOAT:
      print_float_element(text, dtype, data);
      break;
    case TT_KIND_COMPLEX: {
      tt_dtype part = tt_dtype_real(dtype);
      tt_bytes_char(text, '(');
      print_float_element(text, part, data);
      tt_bytes_text(text, ", ");
      print_float_element(text, part, data + tt_dtype_bytes(part));
      tt_bytes_char(text, ')');
      break;
    }
  }
}

/* Nested brackets, one pair an axis. */
static const char *print_nested(tt_bytes *text, const tt_hlo_type *type, int32_t axis,
                                const char *data) {
  if (axis == type->rank) {
    print_element(text, type->dtype, data);
    return data + tt_dtype_bytes(type->dtype);
  }
  tt_bytes_char(text, '[');
  for (int64_t i = 0; i < type->dims[axis]; i++) {
    if (i > 0)
      tt_bytes_text(text, ", ");
    data = print_nested(text, type, axis + 1, data);
  }
  tt_bytes_char(text, ']');
  return data;
}

static void print_hex(tt_bytes *text, const unsigned char *data, size_t size) {
  static const char digits[] = "0123456789ABCDEF";
  tt_bytes_text(text, "\"0x");
  char *out = size > SIZE_MAX / 2 ? NULL : tt_bytes_extend(text, size * 2);
  for (size_t i = 0; i < size && out != NULL; i++) {
    out[2 * i] = digits[data[i] >> 4];
    out[2 * i + 1] = digits[data[i] & 15];
  }
  tt_bytes_char(text, '"');
}

void tt_hlo_print_dense(tt_bytes *text, const tt_hlo_type *type, const tt_hlo_attr *value) {
  int64_t count = 0;
  bool known = tt_dims_count(type->dims, (size_t)type->rank, &count);
  tt_bytes_text(text, "dense<");
  if (!known || count == 0 || value->data == NULL)
    count = 0;
  else if (value->splat)
    print_element(text, type->dtype, value->data);
  /* In hex, i1 is a bit for XLA:CPU (StableHLO 1.13) and a byte for libtpu (1.24); words are safe.
   */
  else if (count <= DECIMAL_COUNT || type->dtype == TT_PRED)
    print_nested(text, type, 0, value->data);
  else
    print_hex(text, value->data, (size_t)count * (size_t)tt_dtype_bytes(type->dtype));
  tt_bytes_char(text, '>');
}
