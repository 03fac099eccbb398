/* Bytes of MLIR bytecode: numbers, sections, messages with their place. */
#include "hlo/bytecode_internal.h"

#include <stdio.h>
#include <string.h>

tt_error *tt_hlo_bc_fail(const tt_hlo_bc *r, const uint8_t *at, tt_code code, const char *fmt,
                         ...) {
  va_list args;
  va_start(args, fmt);
  tt_error *err = tt_error_newv(code, fmt, args);
  va_end(args);
  return tt_error_wrap_take(err, "byte %zu", (size_t)(at - r->data));
}

static tt_error *fail_end(const tt_hlo_bc *r, const tt_hlo_bc_span *s) {
  return tt_hlo_bc_fail(r, s->end, TT_INVALID_ARGUMENT, "the data end in the middle of a number");
}

tt_error *tt_hlo_bc_byte(const tt_hlo_bc *r, tt_hlo_bc_span *s, uint8_t *out_byte) {
  if (TT_UNLIKELY(s->at == s->end))
    return fail_end(r, s);
  *out_byte = *s->at++;
  return NULL;
}

static uint64_t little_endian(const uint8_t *at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; i++)
    value |= (uint64_t)at[i] << (8 * i);
  return value;
}

/* The zero bits below the lowest one of the first byte say how many bytes follow; a first byte of 0
 * says eight. */
tt_error *tt_hlo_bc_varint(const tt_hlo_bc *r, tt_hlo_bc_span *s, uint64_t *out_value) {
  if (TT_UNLIKELY(s->at == s->end))
    return fail_end(r, s);
  uint8_t first = *s->at;
  if (first & 1) {
    *out_value = first >> 1;
    s->at++;
    return NULL;
  }
  size_t more = first == 0 ? 8 : (size_t)__builtin_ctz(first);
  if (TT_UNLIKELY(tt_hlo_bc_left(s) < more + 1))
    return fail_end(r, s);
  *out_value =
      first == 0 ? little_endian(s->at + 1, 8) : little_endian(s->at, more + 1) >> (more + 1);
  s->at += more + 1;
  return NULL;
}

tt_error *tt_hlo_bc_signed(const tt_hlo_bc *r, tt_hlo_bc_span *s, int64_t *out_value) {
  uint64_t value = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &value));
  *out_value = (int64_t)((value >> 1) ^ (0 - (value & 1)));
  return NULL;
}

tt_error *tt_hlo_bc_flagged(const tt_hlo_bc *r, tt_hlo_bc_span *s, uint64_t *out_value,
                            bool *out_flag) {
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, out_value));
  *out_flag = (*out_value & 1) != 0;
  *out_value >>= 1;
  return NULL;
}

tt_error *tt_hlo_bc_count(const tt_hlo_bc *r, tt_hlo_bc_span *s, const char *what,
                          size_t *out_count) {
  uint64_t count = 0;
  const uint8_t *at = s->at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &count));
  TT_HLO_BC_CHECK(count <= tt_hlo_bc_left(s), r, at, "%llu %s in %zu bytes",
                  (unsigned long long)count, what, tt_hlo_bc_left(s));
  *out_count = (size_t)count;
  return NULL;
}

tt_error *tt_hlo_bc_check_index(const tt_hlo_bc *r, const uint8_t *at, const char *what,
                                size_t limit, uint64_t index) {
  TT_HLO_BC_CHECK(index < limit, r, at, "%s %llu of %zu", what, (unsigned long long)index, limit);
  return NULL;
}

tt_error *tt_hlo_bc_index(const tt_hlo_bc *r, tt_hlo_bc_span *s, const char *what, size_t limit,
                          uint32_t *out_index) {
  uint64_t index = 0;
  const uint8_t *at = s->at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &index));
  TT_RETURN_IF_ERROR(tt_hlo_bc_check_index(r, at, what, limit, index));
  *out_index = (uint32_t)index;
  return NULL;
}

tt_error *tt_hlo_bc_take(const tt_hlo_bc *r, tt_hlo_bc_span *s, uint64_t size, const char *what,
                         tt_hlo_bc_span *out_span) {
  TT_HLO_BC_CHECK(size <= tt_hlo_bc_left(s), r, s->at, "%s of %llu bytes in %zu", what,
                  (unsigned long long)size, tt_hlo_bc_left(s));
  *out_span = (tt_hlo_bc_span){s->at, s->at + size};
  s->at += size;
  return NULL;
}

/* Padding up to a multiple of the alignment, counted from the file's begin. */
static tt_error *skip_padding(const tt_hlo_bc *r, tt_hlo_bc_span *s) {
  enum { PADDING = 0xCB };
  uint64_t alignment = 0;
  const uint8_t *at = s->at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &alignment));
  TT_HLO_BC_CHECK(alignment > 0 && (alignment & (alignment - 1)) == 0, r, at,
                  "alignment %llu is no power of two", (unsigned long long)alignment);
  while (((uint64_t)(s->at - r->data) & (alignment - 1)) != 0) {
    uint8_t byte = 0;
    TT_RETURN_IF_ERROR(tt_hlo_bc_byte(r, s, &byte));
    TT_HLO_BC_CHECK(byte == PADDING, r, s->at - 1, "expected padding, got 0x%02x", byte);
  }
  return NULL;
}

tt_error *tt_hlo_bc_section_read(const tt_hlo_bc *r, tt_hlo_bc_span *s, unsigned *out_id,
                                 tt_hlo_bc_span *out_body) {
  enum { ALIGNED = 0x80 };
  uint8_t id = 0;
  uint64_t size = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_byte(r, s, &id));
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &size));
  if (id & ALIGNED)
    TT_RETURN_IF_ERROR(skip_padding(r, s));
  *out_id = id & (ALIGNED - 1U);
  return tt_hlo_bc_take(r, s, size, "a section", out_body);
}

tt_error *tt_hlo_bc_end(const tt_hlo_bc *r, const tt_hlo_bc_span *s, const char *what) {
  TT_HLO_BC_CHECK(s->at == s->end, r, s->at, "%zu bytes too many in %s", tt_hlo_bc_left(s), what);
  return NULL;
}
