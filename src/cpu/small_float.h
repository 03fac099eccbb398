/* small_float.h: floats of at most 16 bits to and from f32, without branches so that loops over
 * them become vectors. */
#ifndef TT_CPU_SMALL_FLOAT_H
#define TT_CPU_SMALL_FLOAT_H

#include <stdint.h>
#include <string.h>

#include "base/dtype.h"

static inline float tt_cpu_float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t tt_cpu_bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float tt_cpu_from_bf16(uint16_t pattern) {
  return tt_cpu_float_of((uint32_t)pattern << 16);
}

/* To nearest, ties to even. NaN stays one. */
static inline uint16_t tt_cpu_to_bf16(float value) {
  uint32_t bits = tt_cpu_bits_of(value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  uint32_t nan = (bits >> 16 & 0x8000) | 0x7fc0;
  return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

/* The exponent is moved by a product, which is exact and makes subnormals normal. */
static inline float tt_cpu_from_f16(uint16_t pattern) {
  uint32_t sign = (uint32_t)(pattern & 0x8000) << 16, rest = (uint32_t)(pattern & 0x7fff) << 13;
  uint32_t bits = tt_cpu_bits_of(tt_cpu_float_of(rest) * 0x1p112f);
  bits = (pattern & 0x7fff) >= 0x7c00 ? bits | 0x7f800000 : bits;
  return tt_cpu_float_of(bits | sign);
}

/* To nearest, ties to even. Normal results round in the integers; subnormal ones by adding a power
 * of two under which the sum's last bit is f16's least. */
static inline uint16_t tt_cpu_to_f16(float value) {
  uint32_t bits = tt_cpu_bits_of(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  uint32_t normal = (rest - (112U << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
  uint32_t small = tt_cpu_bits_of(tt_cpu_float_of(rest) + 0.5f) - tt_cpu_bits_of(0.5f);
  uint32_t result = rest < 0x38800000 ? small : normal;
  result = rest >= 0x477ff000 ? 0x7c00 : result;
  result = rest > 0x7f800000 ? 0x7e00 : result;
  return (uint16_t)(sign | result);
}

/* Of 8 bits and fewer. */
float tt_cpu_small_float(tt_dtype dtype, uint8_t pattern);

#endif /* TT_CPU_SMALL_FLOAT_H */
