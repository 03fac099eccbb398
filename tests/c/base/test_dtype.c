#include "base/dtype.h"

#include <math.h>
#include <string.h>

#include "test.h"

static uint64_t stored(tt_dtype d, double value) {
  unsigned char out[16] = {0};
  uint64_t bits = 0;
  tt_dtype_store(d, value, 0, out);
  memcpy(&bits, out, tt_dtype_bytes(d) < 8 ? (size_t)tt_dtype_bytes(d) : 8);
  return bits;
}

static uint64_t stored_int(tt_dtype d, int64_t value) {
  unsigned char out[16] = {0};
  uint64_t bits = 0;
  tt_dtype_store_int(d, value, out);
  memcpy(&bits, out, tt_dtype_bytes(d) < 8 ? (size_t)tt_dtype_bytes(d) : 8);
  return bits;
}

TEST(dtype, table) {
  EXPECT_STR(tt_dtype_name(TT_PRED), "i1");
  EXPECT_STR(tt_dtype_name(TT_F8E4M3B11FNUZ), "f8E4M3B11FNUZ");
  EXPECT_INT(tt_dtype_bytes(TT_PRED), 1);
  EXPECT_INT(tt_dtype_bytes(TT_U4), 1);
  EXPECT_INT(tt_dtype_bytes(TT_BF16), 2);
  EXPECT_INT(tt_dtype_bytes(TT_C128), 16);
  EXPECT(tt_dtype_is_integer(TT_PRED) && tt_dtype_is_integer(TT_U64));
  EXPECT(!tt_dtype_is_integer(TT_F4E2M1FN) && tt_dtype_is_float(TT_F4E2M1FN));
  EXPECT(tt_dtype_is_signed(TT_S4) && !tt_dtype_is_signed(TT_U4) && tt_dtype_is_unsigned(TT_U4));
  EXPECT_INT(tt_dtype_real(TT_C64), TT_F32);
  EXPECT_INT(tt_dtype_real(TT_BF16), TT_BF16);
  EXPECT_INT(tt_dtype_complex(TT_F64), TT_C128);
  EXPECT_INT(tt_dtype_complex(TT_S32), TT_S32);
}

/* Patterns as ml_dtypes 0.6 casts these from float32. */
typedef struct special {
  tt_dtype dtype;
  unsigned zero, minus_zero, infinity, minus_infinity, nan, one, largest, huge, minus_tiny;
  double largest_value;
} special;

static const special specials[] = {
    {TT_F4E2M1FN, 0x0, 0x8, 0x7, 0xf, 0x8, 0x2, 0x7, 0x7, 0x8, 6},
    {TT_F6E2M3FN, 0x00, 0x20, 0x1f, 0x3f, 0x20, 0x08, 0x1f, 0x1f, 0x20, 7.5},
    {TT_F6E3M2FN, 0x00, 0x20, 0x1f, 0x3f, 0x20, 0x0c, 0x1f, 0x1f, 0x20, 28},
    {TT_F8E3M4, 0x00, 0x80, 0x70, 0xf0, 0x78, 0x30, 0x6f, 0x70, 0x80, 15.5},
    {TT_F8E4M3, 0x00, 0x80, 0x78, 0xf8, 0x7c, 0x38, 0x77, 0x78, 0x80, 240},
    {TT_F8E4M3FN, 0x00, 0x80, 0x7f, 0xff, 0x7f, 0x38, 0x7e, 0x7f, 0x80, 448},
    {TT_F8E4M3FNUZ, 0x00, 0x00, 0x80, 0x80, 0x80, 0x40, 0x7f, 0x80, 0x00, 240},
    {TT_F8E4M3B11FNUZ, 0x00, 0x00, 0x80, 0x80, 0x80, 0x58, 0x7f, 0x80, 0x00, 30},
    {TT_F8E5M2, 0x00, 0x80, 0x7c, 0xfc, 0x7e, 0x3c, 0x7b, 0x7c, 0x80, 57344},
    {TT_F8E5M2FNUZ, 0x00, 0x00, 0x80, 0x80, 0x80, 0x40, 0x7f, 0x80, 0x00, 57344},
    {TT_BF16, 0x0000, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0x3f80, 0x7f7f, 0x7f80, 0x8000, 0x1.fep127},
    {TT_F16, 0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x3c00, 0x7bff, 0x7c00, 0x8000, 65504},
};

TEST(dtype, special_values_of_small_floats) {
  for (size_t i = 0; i < TT_COUNT(specials); i++) {
    const special *s = &specials[i];
    EXPECT_INT(stored(s->dtype, 0.0), s->zero);
    EXPECT_INT(stored(s->dtype, -0.0), s->minus_zero);
    EXPECT_INT(stored(s->dtype, INFINITY), s->infinity);
    EXPECT_INT(stored(s->dtype, -INFINITY), s->minus_infinity);
    EXPECT_INT(stored(s->dtype, NAN), s->nan);
    EXPECT_INT(stored(s->dtype, 1), s->one);
    EXPECT_INT(stored(s->dtype, s->largest_value), s->largest);
    EXPECT_INT(stored(s->dtype, 1e300), s->huge);
    EXPECT_INT(stored(s->dtype, -1e-300), s->minus_tiny);
  }
}

/* The value of a finite pattern without sign, from the definition of the format. */
static double decoded(unsigned pattern, int mantissa_bits, int bias) {
  int exponent = (int)(pattern >> mantissa_bits);
  double fraction = pattern & ((1U << mantissa_bits) - 1);
  if (exponent == 0)
    return ldexp(fraction, 1 - bias - mantissa_bits);
  return ldexp(fraction + ldexp(1, mantissa_bits), exponent - bias - mantissa_bits);
}

/* Each value, each midpoint and both sides of it, for both signs. */
static void check_rounding(const special *s, int mantissa_bits, int bias) {
  unsigned sign = 1U << (tt_dtypes[s->dtype].bits - 1);
  for (unsigned pattern = 1; pattern <= s->largest; pattern++) {
    double value = decoded(pattern, mantissa_bits, bias);
    double middle = (decoded(pattern - 1, mantissa_bits, bias) + value) / 2;
    unsigned even = pattern % 2 == 0 ? pattern : pattern - 1;
    EXPECT_INT(stored(s->dtype, value), pattern);
    EXPECT_INT(stored(s->dtype, -value), pattern | sign);
    EXPECT_INT(stored(s->dtype, middle), even);
    EXPECT_INT(stored(s->dtype, nextafter(middle, 0)), pattern - 1);
    EXPECT_INT(stored(s->dtype, nextafter(middle, INFINITY)), pattern);
  }
}

TEST(dtype, small_floats_round_to_nearest_even) {
  const int mantissa_bits[] = {1, 3, 2, 4, 3, 3, 3, 3, 2, 2, 7, 10};
  const int bias[] = {1, 1, 3, 3, 7, 7, 8, 11, 15, 16, 127, 15};
  for (size_t i = 0; i < TT_COUNT(specials); i++)
    check_rounding(&specials[i], mantissa_bits[i], bias[i]);
}

/* The first value that rounds past the largest is half a step above it; a tie goes up when the
 * largest is odd. */
TEST(dtype, small_floats_overflow_half_a_step_above_the_largest) {
  const double half_steps[] = {1, 0.25, 2, 0.25, 8, 16, 8, 1, 4096, 4096, 0x1p119, 16};
  for (size_t i = 0; i < TT_COUNT(specials); i++) {
    const special *s = &specials[i];
    double edge = s->largest_value + half_steps[i];
    EXPECT_INT(stored(s->dtype, nextafter(edge, 0)), s->largest);
    EXPECT_INT(stored(s->dtype, edge), s->largest % 2 == 0 ? s->largest : s->huge);
    EXPECT_INT(stored(s->dtype, nextafter(edge, INFINITY)), s->huge);
  }
}

TEST(dtype, exponent_only_floats) {
  const tt_dtype d = TT_F8E8M0FNU;
  for (int exponent = -127; exponent <= 127; exponent++)
    EXPECT_INT(stored(d, ldexp(1, exponent)), exponent + 127);
  EXPECT_INT(stored(d, 0), 0xff);
  EXPECT_INT(stored(d, -1), 0xff);
  EXPECT_INT(stored(d, NAN), 0xff);
  EXPECT_INT(stored(d, INFINITY), 0xff);
  EXPECT_INT(stored(d, 1.49), 0x7f);
  EXPECT_INT(stored(d, 1.5), 0x80);
  EXPECT_INT(stored(d, 3), 0x81);
  EXPECT_INT(stored(d, 1e-300), 0);
  EXPECT_INT(stored(d, 1.4 * ldexp(1, 127)), 0xfe);
  EXPECT_INT(stored(d, 1.5 * ldexp(1, 127)), 0xff);
}

TEST(dtype, wide_floats) {
  float f32 = 0, c64[2] = {0};
  double f64 = 0, c128[2] = {0};
  tt_dtype_store(TT_F32, 0.1, 9, &f32);
  tt_dtype_store(TT_F64, 0.1, 9, &f64);
  tt_dtype_store(TT_C64, 0.1, -2, c64);
  tt_dtype_store(TT_C128, 0.1, -2, c128);
  EXPECT_DOUBLE(f32, 0.1f, 0);
  EXPECT_DOUBLE(f64, 0.1, 0);
  EXPECT_DOUBLE(c64[0], 0.1f, 0);
  EXPECT_DOUBLE(c64[1], -2, 0);
  EXPECT_DOUBLE(c128[0], 0.1, 0);
  EXPECT_DOUBLE(c128[1], -2, 0);
  EXPECT_INT(stored(TT_F32, -0.0), 0x80000000);
  EXPECT_INT(stored(TT_F32, 1e300), 0x7f800000);
}

TEST(dtype, integers_truncate_and_wrap) {
  EXPECT_INT(stored(TT_S8, -1.9), 0xff);
  EXPECT_INT(stored(TT_S8, 300), 300 - 256);
  EXPECT_INT(stored(TT_U8, -1), 0xff);
  EXPECT_INT(stored(TT_S16, -32769), 0x7fff);
  EXPECT_INT(stored(TT_S32, 2147483648.0), 0x80000000);
  EXPECT_INT(stored(TT_S64, -0x1p63), INT64_MIN);
  EXPECT(stored(TT_U64, 0x1p63) == UINT64_C(1) << 63);
  EXPECT(stored(TT_U64, 0x1.fffffffffffffp63) == 0xfffffffffffff800U);
  EXPECT_INT(stored(TT_U64, 0x1p64), 0);
  EXPECT_INT(stored(TT_S64, 0x1.8p64), INT64_MIN);
  EXPECT_INT(stored(TT_S64, 1e300), 0);
  EXPECT_INT(stored(TT_S64, 0.99), 0);
  EXPECT_INT(stored(TT_S64, 1e-300), 0);
  EXPECT_INT(stored(TT_S32, NAN), 0);
  EXPECT_INT(stored(TT_S32, INFINITY), 0);
  EXPECT_INT(stored(TT_S4, -1), 0xf); /* the high half of the byte is zero */
  EXPECT_INT(stored(TT_U4, 17), 1);
  EXPECT_INT(stored(TT_S2, -1), 3);
  EXPECT_INT(stored(TT_U2, 6), 2);
}

TEST(dtype, bool_is_whether_it_is_not_zero) {
  EXPECT_INT(stored(TT_PRED, 0), 0);
  EXPECT_INT(stored(TT_PRED, -0.0), 0);
  EXPECT_INT(stored(TT_PRED, 0.5), 1);
  EXPECT_INT(stored(TT_PRED, 256), 1);
  EXPECT_INT(stored(TT_PRED, NAN), 1);
  EXPECT_INT(stored_int(TT_PRED, 256), 1);
  EXPECT_INT(stored_int(TT_PRED, 0), 0);
}

/* 2^24 + 1 lies between two float32, and 2^53 + 1 between two doubles. */
TEST(dtype, integers_are_rounded_once) {
  EXPECT_INT(stored_int(TT_S64, INT64_MIN), INT64_MIN);
  EXPECT_INT(stored_int(TT_U64, -1), -1);
  EXPECT_INT(stored_int(TT_S8, 300), 300 - 256);
  EXPECT_INT(stored_int(TT_S4, -3), 0xd);
  EXPECT_INT(stored_int(TT_F32, (1 << 24) + 1), 0x4b800000);
  /* As a double 2^60 + 2^36 + 1 is 2^60 + 2^36, a tie that would go down. */
  EXPECT_INT(stored_int(TT_F32, (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1), 0x5d800001);
  /* The same for bf16: 2^62 + 2^54 + 1. */
  EXPECT_INT(stored_int(TT_BF16, (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1), 0x5e81);
  EXPECT_INT(stored_int(TT_BF16, (INT64_C(1) << 62) + (INT64_C(1) << 54)), 0x5e80);
  EXPECT_INT(stored_int(TT_F16, -65504), 0xfbff);
  EXPECT_INT(stored_int(TT_F16, INT64_MIN), 0xfc00);
  EXPECT_INT(stored_int(TT_F8E4M3FN, 17), 0x58); /* 16 */
}

TEST(dtype, integers_to_wide_floats) {
  double c128[2] = {9, 9};
  tt_dtype_store_int(TT_C128, -5, c128);
  EXPECT_DOUBLE(c128[0], -5, 0);
  EXPECT_DOUBLE(c128[1], 0, 0);
  EXPECT(stored_int(TT_F64, (INT64_C(1) << 53) + 1) == stored(TT_F64, 0x1p53));
}
