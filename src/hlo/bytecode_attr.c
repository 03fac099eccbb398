/* Attributes as numbers, strings and elements, straight from their bytes. */
#include "hlo/bytecode_internal.h"

#include <string.h>

enum {
  /* A splat stands for as many numbers as its type says; lists of dims are never longer. */
  SPLAT_MAX = 2 * TT_HLO_RANK_MAX,
  /* Dictionaries are searched wherever they are referred to. */
  DICT_MAX = 4096
};

tt_error *tt_hlo_bc_open(const tt_hlo_bc *r, uint32_t attr, tt_hlo_bc_head *out_head) {
  const tt_hlo_bc_entry *entry = &r->attrs[attr];
  uint64_t code = 0;
  out_head->at = entry->span.at;
  out_head->fields = entry->span;
  out_head->dialect = entry->dialect;
  if (!entry->custom)
    return tt_hlo_bc_fail(
        r, entry->span.at, TT_UNIMPLEMENTED, "attribute as text: %.*s",
        tt_hlo_bc_left(&entry->span) < 64 ? (int)tt_hlo_bc_left(&entry->span) : 64,
        (const char *)entry->span.at);
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, &out_head->fields, &code));
  out_head->code = code < 256 ? (unsigned)code : 256;
  return NULL;
}

static tt_error *fail_kind(const tt_hlo_bc *r, const tt_hlo_bc_head *head, const char *what) {
  static const char *const dialects[] = {"another dialect", "builtin", "vhlo", "sdy"};
  return tt_hlo_bc_fail(r, head->at, TT_INVALID_ARGUMENT,
                        "%s may not be an attribute of kind %u of %s", what, head->code,
                        dialects[head->dialect]);
}

tt_error *tt_hlo_bc_open_vhlo(const tt_hlo_bc *r, uint32_t attr, unsigned code, const char *what,
                              tt_hlo_bc_head *out_head) {
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, attr, out_head));
  if (TT_UNLIKELY(out_head->dialect != TT_HLO_BC_VHLO || out_head->code != code))
    return fail_kind(r, out_head, what);
  return NULL;
}

/* Up to 8 bits are a byte, more a zigzag number of the bits taken as unsigned. */
tt_error *tt_hlo_bc_bits(const tt_hlo_bc *r, tt_hlo_bc_span *s, unsigned bits, int64_t *out_value) {
  uint8_t byte = 0;
  if (bits > 8)
    TT_RETURN_IF_ERROR(tt_hlo_bc_signed(r, s, out_value));
  else
    TT_RETURN_IF_ERROR(tt_hlo_bc_byte(r, s, &byte));
  uint64_t value = bits > 8 ? (uint64_t)*out_value : byte;
  uint64_t sign = UINT64_C(1) << (bits - 1);
  if (bits < 64)
    value = ((value & (2 * sign - 1)) ^ sign) - sign;
  *out_value = (int64_t)value;
  return NULL;
}

tt_error *tt_hlo_bc_int(const tt_hlo_bc *r, uint32_t attr, const char *what, int64_t *out_value) {
  tt_hlo_bc_head head;
  uint32_t type = 0;
  unsigned bits = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, attr, &head));
  if (!(head.dialect == TT_HLO_BC_VHLO && head.code == TT_HLO_VHLO_INTEGER) &&
      !(head.dialect == TT_HLO_BC_BUILTIN && head.code == TT_HLO_BUILTIN_INTEGER))
    return fail_kind(r, &head, what);
  TT_RETURN_IF_ERROR(tt_hlo_bc_type_index(r, &head.fields, &type));
  TT_RETURN_IF_ERROR(tt_hlo_bc_integer_bits(r, head.at, type, &bits));
  return tt_hlo_bc_bits(r, &head.fields, bits, out_value);
}

tt_error *tt_hlo_bc_bool(const tt_hlo_bc *r, uint32_t attr, const char *what, bool *out_value) {
  tt_hlo_bc_head head;
  uint64_t value = 0;
  int64_t number = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, attr, &head));
  if (head.dialect == TT_HLO_BC_BUILTIN) {
    TT_RETURN_IF_ERROR(tt_hlo_bc_int(r, attr, what, &number));
    *out_value = number != 0;
    return NULL;
  }
  TT_RETURN_IF_ERROR(tt_hlo_bc_open_vhlo(r, attr, TT_HLO_VHLO_BOOL, what, &head));
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, &head.fields, &value));
  TT_HLO_BC_CHECK(value <= 1, r, head.at, "%s is %llu, no bool", what, (unsigned long long)value);
  *out_value = value != 0;
  return NULL;
}

tt_error *tt_hlo_bc_string_of(const tt_hlo_bc *r, uint32_t attr, const char *what,
                              const tt_hlo_bc_string **out_string) {
  tt_hlo_bc_head head;
  uint32_t index = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, attr, &head));
  if (head.dialect == TT_HLO_BC_BUILTIN && head.code == TT_HLO_BUILTIN_SYMBOL) {
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &head.fields, &index));
    TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, index, &head));
  }
  bool vhlo = head.dialect == TT_HLO_BC_VHLO && head.code == TT_HLO_VHLO_STRING;
  bool builtin = head.dialect == TT_HLO_BC_BUILTIN &&
                 (head.code == TT_HLO_BUILTIN_STRING || head.code == TT_HLO_BUILTIN_TYPED_STRING);
  if (TT_UNLIKELY(!vhlo && !builtin))
    return fail_kind(r, &head, what);
  TT_RETURN_IF_ERROR(tt_hlo_bc_index(r, &head.fields, "string", r->strings_count, &index));
  *out_string = &r->strings[index];
  if (TT_UNLIKELY(!(*out_string)->whole))
    return tt_hlo_bc_fail(r, head.at, TT_UNIMPLEMENTED, "%s: a string with a NUL byte in it", what);
  return NULL;
}

/* ---- tensors ---- */

/* What a tensor attribute holds: `count` elements as its type says, one of them if `splat`. */
typedef struct tensor {
  const tt_hlo_type *type;
  tt_hlo_bc_span blob;
  int64_t count;
  bool splat, packed; /* packed: i1, eight in a byte, the lowest bit first */
} tensor;

/* One element may stand for any number of them, none included. A byte of eight i1 or fewer is one
 * for all where its bits are alike, and is packed otherwise; of more than eight it is one for all.
 */
static bool find_form(tensor *t, size_t size) {
  uint64_t count = (uint64_t)t->count, bytes = (uint64_t)tt_dtype_bytes(t->type->dtype);
  bool pred = t->type->dtype == TT_PRED;
  t->splat = size == bytes && count != 1;
  if (pred && t->splat && count > 0 && count <= 8)
    t->splat = *t->blob.at == 0xFF || *t->blob.at == 0;
  if (t->splat)
    return true;
  t->packed = pred && size == count / 8 + (count % 8 != 0) && count > 1;
  return t->packed || (count <= SIZE_MAX / bytes && size == count * bytes);
}

static tt_error *open_tensor(tt_hlo_bc *r, uint32_t attr, const char *what, tensor *out_tensor) {
  tt_hlo_bc_head head;
  uint32_t type = 0;
  uint64_t size = 0;
  tensor t = {0};
  TT_RETURN_IF_ERROR(tt_hlo_bc_open_vhlo(r, attr, TT_HLO_VHLO_TENSOR, what, &head));
  TT_RETURN_IF_ERROR(tt_hlo_bc_type_index(r, &head.fields, &type));
  TT_RETURN_IF_ERROR(tt_hlo_bc_type(r, head.at, type, &t.type));
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, &head.fields, &size));
  TT_RETURN_IF_ERROR(tt_hlo_bc_take(r, &head.fields, size, "elements", &t.blob));
  TT_HLO_BC_CHECK(!t.type->token && tt_dims_count(t.type->dims, (size_t)t.type->rank, &t.count), r,
                  head.at, "%s: elements of %s", what, TT_HLO_SHOW(t.type));
  TT_HLO_BC_CHECK(find_form(&t, (size_t)size), r, head.at, "%s: %llu bytes for %s", what,
                  (unsigned long long)size, TT_HLO_SHOW(t.type));
  *out_tensor = t;
  return NULL;
}

static bool bit_at(const tensor *t, size_t i) { return (t->blob.at[i / 8] >> (i % 8) & 1) != 0; }

static int64_t number_at(const tensor *t, size_t i) {
  size_t size = (size_t)tt_dtype_bytes(t->type->dtype);
  const uint8_t *at = t->blob.at + (t->splat ? 0 : i * size);
  uint64_t value = 0;
  if (t->packed)
    return bit_at(t, i);
  memcpy(&value, at, size);
  if (t->type->dtype == TT_PRED)
    return value != 0;
  if (tt_dtype_is_signed(t->type->dtype) && size < 8) {
    uint64_t sign = UINT64_C(1) << (8 * size - 1);
    value = (value ^ sign) - sign;
  }
  return (int64_t)value;
}

tt_error *tt_hlo_bc_list(tt_hlo_bc *r, uint32_t attr, const char *what, tt_hlo_list *out_list,
                         int64_t *out_columns) {
  tensor t;
  tt_hlo_bc_entry *entry = &r->attrs[attr];
  TT_RETURN_IF_ERROR(open_tensor(r, attr, what, &t));
  TT_HLO_BC_CHECK(tt_dtype_is_integer(t.type->dtype) && t.type->rank <= (out_columns ? 2 : 1), r,
                  entry->span.at, "%s: expected %s of integers, got %s", what,
                  out_columns ? "a matrix" : "a list", TT_HLO_SHOW(t.type));
  TT_HLO_BC_CHECK(!t.splat || t.count <= SPLAT_MAX, r, entry->span.at,
                  "%s: one number for %lld dims", what, (long long)t.count);
  size_t count = (size_t)t.count;
  if (out_columns != NULL)
    *out_columns = t.type->rank == 2 ? t.type->dims[1] : 0;
  if (entry->made.items == NULL) {
    int64_t *items = tt_arena_array(r->arena, count, sizeof *items);
    if (items == NULL)
      return tt_error_no_memory(count * sizeof *items);
    for (size_t i = 0; i < count; i++)
      items[i] = number_at(&t, i);
    entry->made.items = items;
  }
  *out_list = (tt_hlo_list){count, entry->made.items};
  return NULL;
}

/* In host form i1 is a byte, 0 or 1, and what a type of 2, 4 or 6 bits leaves of its byte is zero.
 */
static void *copy_elements(tt_hlo_bc *r, const tensor *t) {
  size_t size = tt_hlo_bc_left(&t->blob), count = t->splat ? 1 : (size_t)t->count;
  int bits = tt_dtypes[t->type->dtype].bits;
  if (bits >= 8)
    return tt_arena_copy(r->arena, t->blob.at, size);
  uint8_t *data = tt_arena_alloc(r->arena, count);
  for (size_t i = 0; data != NULL && i < count; i++)
    if (t->type->dtype != TT_PRED)
      data[i] = (uint8_t)(t->blob.at[i] & ((1 << bits) - 1));
    else
      data[i] = t->packed ? bit_at(t, i) : t->blob.at[i] != 0;
  return data;
}

tt_error *tt_hlo_bc_dense(tt_hlo_bc *r, uint32_t attr, const char *what,
                          const tt_hlo_type **out_type, const void **out_data, bool *out_splat) {
  tensor t;
  tt_hlo_bc_entry *entry = &r->attrs[attr];
  TT_RETURN_IF_ERROR(open_tensor(r, attr, what, &t));
  if (entry->made.data == NULL)
    entry->made.data = copy_elements(r, &t);
  if (entry->made.data == NULL)
    return tt_error_no_memory(tt_hlo_bc_left(&t.blob));
  *out_type = t.type;
  *out_data = entry->made.data;
  *out_splat = t.splat;
  return NULL;
}

/* ---- containers ---- */

static tt_error *open_container(const tt_hlo_bc *r, uint32_t attr, unsigned vhlo, unsigned builtin,
                                const char *what, tt_hlo_bc_span *out_span, size_t *out_count) {
  tt_hlo_bc_head head;
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, attr, &head));
  if (TT_UNLIKELY(!(head.dialect == TT_HLO_BC_VHLO && head.code == vhlo) &&
                  !(head.dialect == TT_HLO_BC_BUILTIN && head.code == builtin)))
    return fail_kind(r, &head, what);
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, &head.fields, "attributes", out_count));
  *out_span = head.fields;
  return NULL;
}

tt_error *tt_hlo_bc_dict(const tt_hlo_bc *r, uint32_t attr, const char *what,
                         tt_hlo_bc_span *out_span, size_t *out_count) {
  TT_RETURN_IF_ERROR(
      open_container(r, attr, TT_HLO_VHLO_DICT, TT_HLO_BUILTIN_DICT, what, out_span, out_count));
  TT_HLO_BC_CHECK(*out_count <= DICT_MAX, r, out_span->at, "%s: a dictionary of %zu entries", what,
                  *out_count);
  return NULL;
}

tt_error *tt_hlo_bc_dict_find(const tt_hlo_bc *r, uint32_t dict, const char *name, bool *out_found,
                              uint32_t *out_value) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  *out_found = false;
  TT_RETURN_IF_ERROR(tt_hlo_bc_dict(r, dict, "attributes", &items, &count));
  for (size_t i = 0; i < count && !*out_found; i++) {
    uint32_t key = 0;
    const char *text = NULL;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &items, &key));
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &items, out_value));
    TT_RETURN_IF_ERROR(tt_hlo_bc_text(r, key, "an attribute's name", &text));
    *out_found = strcmp(text, name) == 0;
  }
  return NULL;
}

tt_error *tt_hlo_bc_array(const tt_hlo_bc *r, uint32_t attr, const char *what,
                          tt_hlo_bc_span *out_span, size_t *out_count) {
  return open_container(r, attr, TT_HLO_VHLO_ARRAY, TT_HLO_BUILTIN_ARRAY, what, out_span,
                        out_count);
}
