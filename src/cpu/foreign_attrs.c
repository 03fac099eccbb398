/* The configuration of a custom call, which is MLIR's text of a dictionary, as XLA's handlers take
 * it. The text may come from anywhere. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "cpu/foreign.h"

enum { DEPTH_MAX = 16, ELEMENTS_MAX = 1 << 24 };

int32_t tt_cpu_foreign_dtype(tt_dtype dtype) {
  static const struct {
    const char *name;
    int32_t number;
  } table[] = {
      {"i1", 1},          {"i2", 26},           {"i4", 21},           {"i8", 2},
      {"i16", 3},         {"i32", 4},           {"i64", 5},           {"ui2", 27},
      {"ui4", 22},        {"ui8", 6},           {"ui16", 7},          {"ui32", 8},
      {"ui64", 9},        {"f16", 10},          {"f32", 11},          {"f64", 12},
      {"bf16", 16},       {"complex<f32>", 15}, {"complex<f64>", 18}, {"f8E5M2", 19},
      {"f8E3M4", 29},     {"f8E4M3", 28},       {"f8E4M3FN", 20},     {"f8E4M3B11FNUZ", 23},
      {"f8E5M2FNUZ", 24}, {"f8E4M3FNUZ", 25},   {"f4E2M1FN", 32},     {"f8E8M0FNU", 33}};
  for (size_t i = 0; i < TT_COUNT(table); i++)
    if (strcmp(table[i].name, tt_dtype_name(dtype)) == 0)
      return table[i].number;
  return 0;
}

typedef struct reader {
  tt_arena *arena;
  const char *at;
  int depth;
} reader;

typedef struct item {
  tt_ffi_span *name;
  int32_t type;
  void *value;
} item;

static tt_error *malformed(const reader *r, const char *what) {
  return tt_error_new(TT_INVALID_ARGUMENT, "backend_config: expected %s at '%.40s'", what, r->at);
}

/* What stands there is well-formed, but none of what is read here. */
static tt_error *unknown(const reader *r, const char *what) {
  return tt_error_new(TT_UNIMPLEMENTED, "backend_config: expected %s at '%.40s'", what, r->at);
}

static void *take_memory(reader *r, size_t count, size_t size) {
  return tt_arena_array(r->arena, count, size);
}

static void skip(reader *r) {
  while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')
    r->at++;
}

static bool take(reader *r, const char *word) {
  skip(r);
  size_t size = strlen(word);
  if (strncmp(r->at, word, size) != 0)
    return false;
  r->at += size;
  return true;
}

static tt_error *expect(reader *r, const char *word) {
  return take(r, word) ? NULL : malformed(r, word);
}

static bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '.';
}

static tt_ffi_span take_word(reader *r) {
  skip(r);
  tt_ffi_span word = {r->at, 0};
  while (word_char(*r->at))
    r->at++;
  word.len = (size_t)(r->at - word.ptr);
  return word;
}

static int hex(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* Between quotes, its escapes undone; NUL-terminated too. */
static tt_error *take_string(reader *r, tt_ffi_span *out_string) {
  TT_RETURN_IF_ERROR(expect(r, "\""));
  char *text = take_memory(r, strlen(r->at) + 1, 1);
  size_t size = 0;
  if (text == NULL)
    return tt_error_no_memory(strlen(r->at));
  for (; *r->at != '"'; r->at++) {
    if (*r->at == '\0')
      return malformed(r, "a closing quote");
    char c = *r->at;
    if (c == '\\' && hex(r->at[1]) >= 0 && hex(r->at[2]) >= 0) {
      c = (char)(hex(r->at[1]) * 16 + hex(r->at[2]));
      r->at += 2;
    } else if (c == '\\' && r->at[1] != '\0') {
      c = *++r->at == 'n' ? '\n' : *r->at == 't' ? '\t' : *r->at;
    }
    text[size++] = c;
  }
  r->at++;
  *out_string = (tt_ffi_span){text, size};
  return NULL;
}

/* ---- numbers ---- */

static tt_error *take_dtype(reader *r, tt_dtype *out_dtype) {
  const char *start = r->at;
  tt_ffi_span word = take_word(r);
  for (int i = 0; i < TT_DTYPE_COUNT; i++)
    if (strlen(tt_dtypes[i].name) == word.len &&
        memcmp(tt_dtypes[i].name, word.ptr, word.len) == 0) {
      *out_dtype = (tt_dtype)i;
      return NULL;
    }
  r->at = start;
  return word.len == 0 ? malformed(r, "an element type") : unknown(r, "an element type");
}

/* The text of a number, whose type stands behind it. */
static tt_error *skip_number(reader *r) {
  skip(r);
  const char *start = r->at;
  while (word_char(*r->at) || *r->at == '-' || *r->at == '+')
    r->at++;
  return r->at == start ? malformed(r, "a number") : NULL;
}

/* Hexadecimal digits are the bits of a float. */
static tt_error *store_number(const reader *r, const char *text, tt_dtype dtype, void *out) {
  char *end = NULL;
  bool negative = text[0] == '-', bits = text[negative] == '0' && text[negative + 1] == 'x';
  if (strncmp(text, "true", 4) == 0 || strncmp(text, "false", 5) == 0) {
    tt_dtype_store_int(dtype, text[0] == 't', out);
    return NULL;
  }
  if (tt_dtype_is_integer(dtype)) {
    uint64_t magnitude = strtoull(text + negative, &end, bits ? 16 : 10);
    tt_dtype_store_int(dtype, (int64_t)(negative ? 0 - magnitude : magnitude), out);
  } else if (bits) {
    uint64_t pattern = strtoull(text, &end, 16);
    memcpy(out, &pattern, (size_t)tt_dtype_bytes(dtype)); /* little-endian */
  } else if (tt_dtype_is_float(dtype)) {
    tt_dtype_store(dtype, strtod(text, &end), 0, out);
  }
  return end == NULL || end == text + negative ? malformed(r, "a number") : NULL;
}

static tt_error *take_scalar(reader *r, item *out_item) {
  tt_ffi_scalar *scalar = take_memory(r, 1, sizeof *scalar);
  void *data = take_memory(r, 1, 16);
  const char *text = (skip(r), r->at);
  tt_dtype dtype = TT_S64;
  if (scalar == NULL || data == NULL)
    return tt_error_no_memory(sizeof *scalar);
  TT_RETURN_IF_ERROR(skip_number(r));
  if (take(r, ":"))
    TT_RETURN_IF_ERROR(take_dtype(r, &dtype));
  else if (text[0] == 't' || text[0] == 'f')
    dtype = TT_PRED;
  else if (memchr(text, '.', (size_t)(r->at - text)) != NULL)
    dtype = TT_F64;
  TT_RETURN_IF_ERROR(store_number(r, text, dtype, data));
  *scalar = (tt_ffi_scalar){tt_cpu_foreign_dtype(dtype), data};
  *out_item = (item){out_item->name, TT_FFI_SCALAR, scalar};
  return NULL;
}

/* ---- arrays ---- */

static tt_error *set_array(reader *r, tt_dtype dtype, size_t count, void *data, item *out_item) {
  tt_ffi_array *array = take_memory(r, 1, sizeof *array);
  if (array == NULL)
    return tt_error_no_memory(sizeof *array);
  *array = (tt_ffi_array){tt_cpu_foreign_dtype(dtype), count, data};
  *out_item = (item){out_item->name, TT_FFI_ARRAY, array};
  return NULL;
}

/* Numbers and brackets up to `end`, into room for `count`; `*out_found` were there. */
static tt_error *take_numbers(reader *r, char end, tt_dtype dtype, size_t count, char *data,
                              size_t *out_found) {
  size_t found = 0, bytes = (size_t)tt_dtype_bytes(dtype);
  for (;;) {
    skip(r);
    while (*r->at == '[' || *r->at == ']' || *r->at == ',') {
      r->at++;
      skip(r);
    }
    if (*r->at == end)
      break;
    const char *text = r->at;
    TT_RETURN_IF_ERROR(skip_number(r));
    if (found == count)
      return malformed(r, "fewer elements");
    TT_RETURN_IF_ERROR(store_number(r, text, dtype, data + found++ * bytes));
  }
  r->at++;
  *out_found = found;
  return NULL;
}

/* `array<i64: 1, 2>`; behind its word. */
static tt_error *take_array(reader *r, item *out_item) {
  tt_dtype dtype = TT_S64;
  size_t found = 0, room = strlen(r->at);
  TT_RETURN_IF_ERROR(expect(r, "<"));
  TT_RETURN_IF_ERROR(take_dtype(r, &dtype));
  const char *end = strchr(r->at, '>');
  room = end == NULL ? room : (size_t)(end - r->at) / 2 + 1;
  char *data = take_memory(r, room, (size_t)tt_dtype_bytes(dtype));
  if (data == NULL)
    return tt_error_no_memory(room);
  if (take(r, ":"))
    TT_RETURN_IF_ERROR(take_numbers(r, '>', dtype, room, data, &found));
  else
    TT_RETURN_IF_ERROR(expect(r, ">"));
  return set_array(r, dtype, found, data, out_item);
}

/* `tensor<2x3xf32>` */
static tt_error *take_tensor(reader *r, tt_dtype *out_dtype, size_t *out_count) {
  int64_t count = 1;
  TT_RETURN_IF_ERROR(expect(r, ":"));
  TT_RETURN_IF_ERROR(expect(r, "tensor<"));
  while (*r->at >= '0' && *r->at <= '9') {
    char *end = NULL;
    long long dim = strtoll(r->at, &end, 10);
    if (*end != 'x')
      return malformed(r, "x behind a dim");
    if (!tt_mul_i64(count, dim, &count) || count > ELEMENTS_MAX)
      return unknown(r, "dims of not too many elements");
    r->at = end + 1;
  }
  *out_count = (size_t)count;
  TT_RETURN_IF_ERROR(take_dtype(r, out_dtype));
  return expect(r, ">");
}

static tt_error *take_bytes(const reader *r, const char *digits, size_t size, char *data) {
  for (size_t i = 0; i < size; i++) {
    int high = hex(digits[2 * i]), low = high < 0 ? -1 : hex(digits[2 * i + 1]);
    if (low < 0)
      return malformed(r, "as many bytes as the elements have");
    data[i] = (char)(high * 16 + low);
  }
  return NULL;
}

/* `dense<[1, 2]> : tensor<2xi64>`; behind its word. One number is all elements. */
static tt_error *take_dense(reader *r, item *out_item) {
  tt_dtype dtype = TT_S64;
  size_t count = 0, found = 0;
  TT_RETURN_IF_ERROR(expect(r, "<"));
  const char *start = (skip(r), r->at), *end = strchr(start, '>');
  if (end == NULL)
    return malformed(r, ">");
  r->at = end + 1;
  TT_RETURN_IF_ERROR(take_tensor(r, &dtype, &count));
  size_t bytes = (size_t)tt_dtype_bytes(dtype), behind = 0;
  char *data = take_memory(r, count + 1, bytes);
  if (data == NULL)
    return tt_error_no_memory(count * bytes);
  if (*start == '"') {
    TT_RETURN_IF_ERROR(take_bytes(r, start + 3, count * bytes, data));
    return set_array(r, dtype, count, data, out_item);
  }
  reader inner = {r->arena, start, r->depth};
  TT_RETURN_IF_ERROR(take_numbers(&inner, '>', dtype, count + 1, data, &found));
  for (; found == 1 && behind + 1 < count; behind++)
    memcpy(data + (behind + 1) * bytes, data, bytes);
  if (found != count && found != 1)
    return malformed(r, "as many elements as the type says");
  return set_array(r, dtype, count, data, out_item);
}

/* ---- dictionaries ---- */

static int compare(const void *a, const void *b) {
  const tt_ffi_span *x = ((const item *)a)->name, *y = ((const item *)b)->name;
  size_t size = x->len < y->len ? x->len : y->len;
  int order = memcmp(x->ptr, y->ptr, size);
  return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

static tt_error *put_items(reader *r, item *items, size_t count, tt_ffi_attrs *out_attrs) {
  int32_t *types = take_memory(r, count, sizeof *types);
  tt_ffi_span **names = take_memory(r, count, sizeof(tt_ffi_span *));
  void **values = take_memory(r, count, sizeof(void *));
  if (types == NULL || names == NULL || values == NULL)
    return tt_error_no_memory(count * sizeof *types);
  if (count > 1)
    qsort(items, count, sizeof *items, compare);
  for (size_t i = 0; i < count; i++) {
    types[i] = items[i].type;
    names[i] = items[i].name;
    values[i] = items[i].value;
  }
  *out_attrs = (tt_ffi_attrs){sizeof *out_attrs, NULL, (int64_t)count, types, names, values};
  return NULL;
}

static tt_error *take_dictionary(reader *r, tt_ffi_attrs *out_attrs);

static tt_error *take_value(reader *r, item *out_item) {
  skip(r);
  if (*r->at == '"') {
    tt_ffi_span *string = take_memory(r, 1, sizeof *string);
    *out_item = (item){out_item->name, TT_FFI_STRING, string};
    return string == NULL ? tt_error_no_memory(sizeof *string) : take_string(r, string);
  }
  if (*r->at == '{') {
    tt_ffi_attrs *attrs = take_memory(r, 1, sizeof *attrs);
    *out_item = (item){out_item->name, TT_FFI_DICTIONARY, attrs};
    return attrs == NULL ? tt_error_no_memory(sizeof *attrs) : take_dictionary(r, attrs);
  }
  if (take(r, "array"))
    return take_array(r, out_item);
  if (take(r, "dense"))
    return take_dense(r, out_item);
  if (*r->at != '\0' && strchr("[@#!(", *r->at) != NULL)
    return unknown(r, "a number, a string, an array or a dictionary");
  return take_scalar(r, out_item);
}

/* `name = value`; a name alone is true. */
static tt_error *take_item(reader *r, item *out_item) {
  tt_ffi_span *name = take_memory(r, 1, sizeof *name);
  if (name == NULL)
    return tt_error_no_memory(sizeof *name);
  *out_item = (item){.name = name};
  skip(r);
  if (*r->at == '"')
    TT_RETURN_IF_ERROR(take_string(r, name));
  else
    *name = take_word(r);
  if (name->len == 0)
    return malformed(r, "a name");
  if (take(r, "="))
    return take_value(r, out_item);
  reader yes = {r->arena, "true", r->depth};
  return take_scalar(&yes, out_item);
}

static tt_error *take_dictionary(reader *r, tt_ffi_attrs *out_attrs) {
  tt_bytes items = {0};
  tt_error *err = NULL;
  if (++r->depth > DEPTH_MAX)
    return unknown(r, "fewer dictionaries within one another");
  TT_TRY(expect(r, "{"));
  while (!take(r, "}")) {
    item next;
    if (items.size > 0)
      TT_TRY(expect(r, ","));
    TT_TRY(take_item(r, &next));
    tt_bytes_append(&items, &next, sizeof next);
    TT_TRY(tt_bytes_status(&items));
  }
  TT_TRY(put_items(r, (item *)(void *)items.data, items.size / sizeof(item), out_attrs));
  r->depth--;
out:
  tt_bytes_free(&items);
  return err;
}

tt_error *tt_cpu_foreign_attrs(tt_arena *arena, const char *text, tt_ffi_attrs *out_attrs) {
  reader r = {arena, text == NULL ? "{}" : text, 0};
  return take_dictionary(&r, out_attrs);
}
