/* dense<...>: the elements of constants, in the host's form. */
#include "hlo/parse_internal.h"

typedef struct dense {
  tt_hlo_parser *p;
  const tt_hlo_type *type;
  char *out; /* where the next element goes */
  int size;  /* of an element */
} dense;

/* ---- elements ---- */

static tt_error *out_of_range(const dense *d, const char *at) {
  const tt_hlo_parser *p = d->p;
  return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT, "expected an element of %s, got '%.*s'",
                           tt_dtype_name(d->type->dtype), (int)(p->at - at > 32 ? 32 : p->at - at),
                           at);
}

/* As MLIR does, an integer may be written as its bits or as its value. */
static tt_error *parse_int_element(dense *d) {
  tt_hlo_number number = {0};
  const tt_dtype_info *info = &tt_dtypes[d->type->dtype];
  tt_hlo_parse_peek(d->p);
  const char *at = d->p->at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_number(d->p, &number));
  uint64_t most = info->bits == 64 ? UINT64_MAX : (UINT64_C(1) << info->bits) - 1;
  if (number.negative)
    most = info->kind == TT_KIND_SIGNED ? UINT64_C(1) << (info->bits - 1) : 0;
  if (number.is_float || number.magnitude > most)
    return out_of_range(d, at);
  uint64_t value = number.negative ? 0 - number.magnitude : number.magnitude;
  tt_dtype_store_int(d->type->dtype, (int64_t)value, d->out);
  return NULL;
}

static tt_error *parse_float_element(dense *d, tt_dtype dtype) {
  tt_hlo_number number = {0};
  int bits = tt_dtypes[dtype].bits;
  tt_hlo_parse_peek(d->p);
  const char *at = d->p->at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_number(d->p, &number));
  if (!number.hex) {
    tt_dtype_store(dtype, number.negative ? -number.value : number.value, 0, d->out);
    return NULL;
  }
  if (number.negative || (bits < 64 && number.magnitude >> bits != 0))
    return out_of_range(d, at);
  memcpy(d->out, &number.magnitude, (size_t)tt_dtype_bytes(dtype)); /* a little-endian host */
  return NULL;
}

static tt_error *parse_complex_element(dense *d) {
  tt_dtype part = tt_dtype_real(d->type->dtype);
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(d->p, '('));
  TT_RETURN_IF_ERROR(parse_float_element(d, part));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(d->p, ','));
  d->out += tt_dtype_bytes(part);
  TT_RETURN_IF_ERROR(parse_float_element(d, part));
  d->out -= tt_dtype_bytes(part);
  return tt_hlo_parse_expect(d->p, ')');
}

static tt_error *parse_bool_element(dense *d) {
  int64_t value = 0;
  tt_hlo_parse_peek(d->p);
  const char *at = d->p->at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_i64(d->p, &value));
  if (value < -1 || value > 1) /* -1: the bit as a signed number */
    return out_of_range(d, at);
  *d->out = value != 0;
  return NULL;
}

static tt_error *parse_element(dense *d) {
  tt_error *err = NULL;
  switch (tt_dtypes[d->type->dtype].kind) {
    case TT_KIND_BOOL:
      err = parse_bool_element(d);
      break;
    case TT_KIND_SIGNED:
    case TT_KIND_UNSIGNED:
      err = parse_int_element(d);
      break;
    case TT_KIND_FLOAT:
      err = parse_float_element(d, d->type->dtype);
      break;
    case TT_KIND_COMPLEX:
      err = parse_complex_element(d);
      break;
  }
  d->out += d->size;
  return err;
}

/* Lists nest as deep as the rank, which is limited. */
static tt_error *parse_nested(dense *d, int32_t axis) {
  if (axis == d->type->rank)
    return parse_element(d);
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(d->p, '['));
  for (int64_t i = 0; i < d->type->dims[axis]; i++) {
    if (i > 0)
      TT_RETURN_IF_ERROR(tt_hlo_parse_expect(d->p, ','));
    TT_RETURN_IF_ERROR(parse_nested(d, axis + 1));
  }
  return tt_hlo_parse_expect(d->p, ']');
}

/* ---- hex ---- */

/* The bytes of "0x..." in quotes. */
static tt_error *parse_hex(dense *d, size_t size) {
  static const char digits[] = "0123456789ABCDEF";
  int8_t values[256];
  memset(values, -1, sizeof values);
  for (int i = 0; i < 16; i++) {
    values[(unsigned char)digits[i]] = (int8_t)i;
    values[(unsigned char)digits[i] | 32] = (int8_t)i; /* of a digit itself */
  }
  const char *at = d->p->at + 3;
  for (size_t i = 0; i < size; i++, at += 2) {
    int high = values[(unsigned char)at[0]], low = values[(unsigned char)at[1]];
    if (high < 0 || low < 0) {
      d->p->at = at;
      return tt_hlo_parse_expected(d->p, "two hex digits");
    }
    d->out[i] = (char)(high << 4 | low);
  }
  d->p->at = at + 1;
  return NULL;
}

/* i1 in bits, as MLIR had it for long: the first in the lowest bit. From the back, in place. */
static void spread_bits(char *data, int64_t count) {
  for (int64_t i = count; i-- > 0;)
    data[i] = (char)((unsigned char)data[i / 8] >> (i % 8) & 1);
}

/* i1 and the types of 2, 4 and 6 bits have fewer values than their byte. */
static void clean_narrow(const dense *d, size_t size) {
  if (tt_dtypes[d->type->dtype].bits >= 8)
    return;
  char mask = (char)((1 << tt_dtypes[d->type->dtype].bits) - 1);
  for (size_t i = 0; i < size; i++)
    d->out[i] = d->type->dtype == TT_PRED ? d->out[i] != 0 : d->out[i] & mask;
}

/* ---- the whole ---- */

static tt_error *alloc_elements(dense *d, int64_t count, const void **out_data) {
  d->out = tt_arena_array(&d->p->module->arena, (size_t)count, (size_t)d->size);
  *out_data = d->out;
  return d->out == NULL ? tt_hlo_parse_no_memory(d->p) : NULL;
}

static tt_error *parse_hex_elements(dense *d, tt_hlo_slice content, int64_t count,
                                    tt_hlo_attr *out_attr) {
  size_t width = (size_t)d->size, digits = content.size < 4 ? 1 : content.size - 4;
  size_t size = digits / 2, whole = (size_t)count * width;
  bool bits = d->type->dtype == TT_PRED && size != whole && size == ((size_t)count + 7) / 8;
  out_attr->splat = size == width && size != whole && count > 0;
  if (content.size < 4 || memcmp(content.text, "\"0x", 3) != 0 || digits % 2 != 0 ||
      (size != whole && !out_attr->splat && !bits))
    return tt_hlo_parse_fail(d->p, content.text, TT_INVALID_ARGUMENT,
                             "expected \"0x and %zu hex digits for %s, got %zu", 2 * whole,
                             TT_HLO_SHOW(d->type), digits);
  bits = bits && !out_attr->splat;
  TT_RETURN_IF_ERROR(alloc_elements(d, out_attr->splat ? 1 : count, &out_attr->data));
  TT_RETURN_IF_ERROR(parse_hex(d, size));
  if (bits)
    spread_bits(d->out, count);
  clean_narrow(d, bits ? (size_t)count : size);
  return NULL;
}

/* The content with the type that stands behind it. */
static tt_error *parse_content(tt_hlo_parser *p, tt_hlo_slice content, tt_hlo_parsed *out_value) {
  dense d = {p, &out_value->type, NULL, tt_dtype_bytes(out_value->type.dtype)};
  int64_t count = 0, size = 0;
  if (out_value->type.token ||
      !tt_dims_count(out_value->type.dims, (size_t)out_value->type.rank, &count) ||
      !tt_mul_i64(count, d.size, &size))
    return tt_hlo_parse_fail(p, content.text, TT_INVALID_ARGUMENT,
                             "expected known dims of dense elements, got %s",
                             TT_HLO_SHOW(&out_value->type));
  char first = tt_hlo_parse_peek(p);
  if (first == '>' && count == 0)
    return NULL;
  if (first == '"')
    return parse_hex_elements(&d, content, count, &out_value->attr);
  out_value->attr.splat = first != '[';
  /* Each element takes a byte of text, so that text bounds the memory. */
  if (!out_value->attr.splat && (uint64_t)count > content.size)
    return tt_hlo_parse_fail(p, content.text, TT_INVALID_ARGUMENT,
                             "expected %lld elements for %s, got fewer", (long long)count,
                             TT_HLO_SHOW(&out_value->type));
  TT_RETURN_IF_ERROR(alloc_elements(&d, out_value->attr.splat ? 1 : count, &out_value->attr.data));
  return out_value->attr.splat ? parse_element(&d) : parse_nested(&d, 0);
}

/* Finds the end first: the type stands behind the elements. */
tt_error *tt_hlo_parse_dense(tt_hlo_parser *p, tt_hlo_parsed *out_value) {
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '<'));
  char quote = tt_hlo_parse_peek(p);
  const char *start = p->at, *end = NULL;
  size_t left = (size_t)(p->end - start);
  if (quote == '"' && left > 1)
    end = memchr(start + 1, '"', left - 1);
  else
    end = memchr(start, '>', left);
  p->at = end == NULL ? p->end : end + (quote == '"');
  tt_hlo_slice content = {start, (size_t)(p->at - start)};
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '>'));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ':'));
  TT_RETURN_IF_ERROR(tt_hlo_parse_type(p, &out_value->type));
  const char *behind = p->at;
  p->at = start;
  out_value->attr.kind = TT_HLO_ATTR_DENSE;
  TT_RETURN_IF_ERROR(parse_content(p, content, out_value));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '>'));
  p->at = behind;
  return NULL;
}
