/* Types: VHLO's, and MLIR's own, which stand around operations of other dialects. */
#include "hlo/bytecode_internal.h"

#include <string.h>

enum { NO_DTYPE = -1 };

enum {
  VHLO_COMPLEX = 1,
  VHLO_TENSOR = 20,
  VHLO_TENSOR_ENCODED = 21,
  VHLO_TOKEN = 22,
  VHLO_NONE = 33,
  VHLO_FUTURE = 42,

  BUILTIN_INTEGER = 0,
  BUILTIN_INDEX = 1,
  BUILTIN_COMPLEX = 9,
  BUILTIN_TENSOR = 13,
  BUILTIN_TENSOR_ENCODED = 14
};

typedef struct type_info {
  const char *name; /* as StableHLO text spells it, or as a message may */
  int dtype;        /* of elements of this type, or NO_DTYPE */
  unsigned bits;    /* of an integer attribute of this type; 0: there is none */
} type_info;

static const type_info vhlo_types[] = {
    [0] = {"i1", TT_PRED, 0},
    [VHLO_COMPLEX] = {"complex", NO_DTYPE, 0},
    [2] = {"bf16", TT_BF16, 0},
    [3] = {"f16", TT_F16, 0},
    [4] = {"f32", TT_F32, 0},
    [5] = {"f64", TT_F64, 0},
    [6] = {"f8E4M3FN", TT_F8E4M3FN, 0},
    [7] = {"f8E5M2", TT_F8E5M2, 0},
    [8] = {"function", NO_DTYPE, 0},
    [9] = {"index", TT_S64, 64},
    [10] = {"i4", TT_S4, 4},
    [11] = {"i8", TT_S8, 8},
    [12] = {"i16", TT_S16, 16},
    [13] = {"i32", TT_S32, 32},
    [14] = {"i64", TT_S64, 64},
    [15] = {"ui4", TT_U4, 4},
    [16] = {"ui8", TT_U8, 8},
    [17] = {"ui16", TT_U16, 16},
    [18] = {"ui32", TT_U32, 32},
    [19] = {"ui64", TT_U64, 64},
    [VHLO_TENSOR] = {"tensor", NO_DTYPE, 0},
    [VHLO_TENSOR_ENCODED] = {"tensor", NO_DTYPE, 0},
    [VHLO_TOKEN] = {"token", NO_DTYPE, 0},
    [23] = {"tuple", NO_DTYPE, 0},
    [24] = {"uniform quantized", NO_DTYPE, 0},
    [25] = {"unranked tensor", NO_DTYPE, 0},
    [26] = {"witness", NO_DTYPE, 0},
    [27] = {"f8E4M3FNUZ", TT_F8E4M3FNUZ, 0},
    [28] = {"f8E5M2FNUZ", TT_F8E5M2FNUZ, 0},
    [29] = {"f8E4M3B11FNUZ", TT_F8E4M3B11FNUZ, 0},
    [30] = {"uniform quantized per axis", NO_DTYPE, 0},
    [31] = {"i2", TT_S2, 2},
    [32] = {"ui2", TT_U2, 2},
    [VHLO_NONE] = {"none", NO_DTYPE, 0},
    [34] = {"tf32", NO_DTYPE, 0},
    [35] = {"f8E4M3", TT_F8E4M3, 0},
    [36] = {"f8E3M4", TT_F8E3M4, 0},
    [37] = {"f4E2M1FN", TT_F4E2M1FN, 0},
    [38] = {"f6E2M3FN", TT_F6E2M3FN, 0},
    [39] = {"f6E3M2FN", TT_F6E3M2FN, 0},
    [40] = {"f8E8M0FNU", TT_F8E8M0FNU, 0},
    [41] = {"buffer", NO_DTYPE, 0},
    [VHLO_FUTURE] = {"future", NO_DTYPE, 0},
};

static const type_info builtin_types[] = {
    {"integer", NO_DTYPE, 0},
    {"index", TT_S64, 64},
    {"function", NO_DTYPE, 0},
    {"bf16", TT_BF16, 0},
    {"f16", TT_F16, 0},
    {"f32", TT_F32, 0},
    {"f64", TT_F64, 0},
    {"f80", NO_DTYPE, 0},
    {"f128", NO_DTYPE, 0},
    {"complex", NO_DTYPE, 0},
    {"memref", NO_DTYPE, 0},
    {"memref", NO_DTYPE, 0},
    {"none", NO_DTYPE, 0},
    {"tensor", NO_DTYPE, 0},
    {"tensor", NO_DTYPE, 0},
    {"tuple", NO_DTYPE, 0},
    {"unranked memref", NO_DTYPE, 0},
    {"unranked memref", NO_DTYPE, 0},
    {"unranked tensor", NO_DTYPE, 0},
    {"vector", NO_DTYPE, 0},
    {"vector", NO_DTYPE, 0},
};

/* i8 and ui8 of MLIR's own types, by signedness: 0 none, 1 signed, 2 unsigned. */
static const struct {
  unsigned bits, sign;
  type_info info;
} integer_types[] = {
    {1, 0, {"i1", TT_PRED, 1}},   {2, 0, {"i2", TT_S2, 2}},      {2, 2, {"ui2", TT_U2, 2}},
    {4, 0, {"i4", TT_S4, 4}},     {8, 0, {"i8", TT_S8, 8}},      {16, 0, {"i16", TT_S16, 16}},
    {32, 0, {"i32", TT_S32, 32}}, {64, 0, {"i64", TT_S64, 64}},  {4, 2, {"ui4", TT_U4, 4}},
    {8, 2, {"ui8", TT_U8, 8}},    {16, 2, {"ui16", TT_U16, 16}}, {32, 2, {"ui32", TT_U32, 32}},
    {64, 2, {"ui64", TT_U64, 64}}};

/* A type's code; behind it stand its fields. */
typedef struct type_head {
  const type_info *info;
  bool vhlo;
  uint64_t code;
  tt_hlo_bc_span fields;
} type_head;

static tt_error *open_integer(const tt_hlo_bc *r, type_head *head) {
  uint64_t width = 0;
  tt_hlo_bc_span fields = head->fields;
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, &fields, &width));
  for (size_t i = 0; i < TT_COUNT(integer_types); i++)
    if (width == (integer_types[i].bits << 2 | integer_types[i].sign))
      head->info = &integer_types[i].info;
  return NULL;
}

/* MLIR's own small floats have no encoding and stand as text. */
static tt_error *open_text(const tt_hlo_bc *r, const tt_hlo_bc_entry *entry, type_head *head) {
  size_t size = tt_hlo_bc_left(&entry->span);
  for (size_t i = 0; i < TT_COUNT(vhlo_types); i++) {
    const type_info *info = &vhlo_types[i];
    if (info->dtype != NO_DTYPE && size == strlen(info->name) + 1 &&
        memcmp(entry->span.at, info->name, size) == 0) {
      head->info = info;
      return NULL;
    }
  }
  return tt_hlo_bc_fail(r, entry->span.at, TT_UNIMPLEMENTED, "type as text: %.*s",
                        (int)(size < 64 ? size : 64), (const char *)entry->span.at);
}

static tt_error *open_type(const tt_hlo_bc *r, uint32_t index, type_head *out_head) {
  const tt_hlo_bc_entry *entry = &r->types[index];
  *out_head = (type_head){.vhlo = entry->dialect == TT_HLO_BC_VHLO, .fields = entry->span};
  if (!entry->custom)
    return open_text(r, entry, out_head);
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, &out_head->fields, &out_head->code));
  if (out_head->vhlo && out_head->code < TT_COUNT(vhlo_types)) {
    out_head->info = &vhlo_types[out_head->code];
    return NULL;
  }
  TT_HLO_BC_CHECK(entry->dialect == TT_HLO_BC_BUILTIN && out_head->code < TT_COUNT(builtin_types),
                  r, entry->span.at, "no type has the code %llu",
                  (unsigned long long)out_head->code);
  out_head->info = &builtin_types[out_head->code];
  return out_head->code == BUILTIN_INTEGER ? open_integer(r, out_head) : NULL;
}

static tt_error *fail_element(const tt_hlo_bc *r, const uint8_t *at, const char *name) {
  return tt_hlo_bc_fail(r, at, TT_UNIMPLEMENTED, "elements of type %s", name);
}

static bool is_complex(const type_head *head) {
  return head->fields.at != NULL && head->info->dtype == NO_DTYPE &&
         head->code == (head->vhlo ? (uint64_t)VHLO_COMPLEX : (uint64_t)BUILTIN_COMPLEX);
}

/* Types refer to each other here in two steps at most, so that no cycle has to be looked for. */
tt_error *tt_hlo_bc_element(const tt_hlo_bc *r, const uint8_t *at, uint32_t index,
                            tt_dtype *out_dtype) {
  type_head head, part;
  uint32_t part_index = 0;
  TT_RETURN_IF_ERROR(open_type(r, index, &head));
  if (head.info->dtype != NO_DTYPE) {
    *out_dtype = (tt_dtype)head.info->dtype;
    return NULL;
  }
  if (!is_complex(&head))
    return fail_element(r, at, head.info->name);
  TT_RETURN_IF_ERROR(tt_hlo_bc_type_index(r, &head.fields, &part_index));
  TT_RETURN_IF_ERROR(open_type(r, part_index, &part));
  if (part.info->dtype != TT_F32 && part.info->dtype != TT_F64)
    return tt_hlo_bc_fail(r, at, TT_UNIMPLEMENTED, "elements of type complex<%s>", part.info->name);
  *out_dtype = tt_dtype_complex((tt_dtype)part.info->dtype);
  return NULL;
}

/* Bounds of dynamic dims may go; what else an encoding may say, nothing here knows. */
static tt_error *check_encoding(const tt_hlo_bc *r, tt_hlo_bc_span *fields) {
  uint32_t attr = 0;
  tt_hlo_bc_head head;
  const uint8_t *at = fields->at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, fields, &attr));
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, attr, &head));
  if (head.dialect != TT_HLO_BC_VHLO || head.code != TT_HLO_VHLO_TYPE_EXTENSIONS)
    return tt_hlo_bc_fail(r, at, TT_UNIMPLEMENTED, "tensor encodings other than bounds");
  return NULL;
}

static tt_error *read_dims(tt_hlo_bc *r, tt_hlo_bc_span *s, tt_hlo_type *type) {
  int64_t dims[TT_HLO_RANK_MAX];
  size_t rank = 0;
  const uint8_t *at = s->at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, s, "dims", &rank));
  TT_HLO_BC_CHECK(rank <= TT_HLO_RANK_MAX, r, at, "rank %zu is above %d", rank, TT_HLO_RANK_MAX);
  for (size_t i = 0; i < rank; i++)
    TT_RETURN_IF_ERROR(tt_hlo_bc_signed(r, s, &dims[i]));
  type->rank = (int32_t)rank;
  if (rank == 0)
    return NULL;
  type->dims = tt_arena_copy(r->arena, dims, rank * sizeof *dims);
  return type->dims != NULL ? NULL : tt_error_no_memory(rank * sizeof *dims);
}

static tt_error *read_tensor(tt_hlo_bc *r, tt_hlo_bc_span *fields, bool encoded,
                             tt_hlo_type *type) {
  uint32_t element = 0;
  const uint8_t *at = fields->at;
  if (encoded)
    TT_RETURN_IF_ERROR(check_encoding(r, fields));
  TT_RETURN_IF_ERROR(read_dims(r, fields, type));
  TT_RETURN_IF_ERROR(tt_hlo_bc_type_index(r, fields, &element));
  TT_RETURN_IF_ERROR(tt_hlo_bc_element(r, at, element, &type->dtype));
  tt_error *err = tt_hlo_type_check(type);
  if (TT_LIKELY(err == NULL))
    return NULL;
  return tt_error_wrap_take(err, "byte %zu", (size_t)(at - r->data));
}

static bool is_tensor(const tt_hlo_bc_entry *entry, const type_head *head, bool *out_encoded) {
  uint64_t encoded = head->vhlo ? VHLO_TENSOR_ENCODED : BUILTIN_TENSOR_ENCODED;
  uint64_t plain = head->vhlo ? VHLO_TENSOR : BUILTIN_TENSOR;
  *out_encoded = head->code == encoded;
  return entry->custom && (head->code == encoded || head->code == plain);
}

/* A list of types, of which each is a tensor. */
static tt_error *read_future(tt_hlo_bc *r, const uint8_t *at, tt_hlo_bc_span *fields,
                             tt_hlo_type *type) {
  size_t count = 0;
  uint32_t index = 0;
  type_head head;
  bool encoded = false;
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, fields, "types of a future", &count));
  if (count != 1)
    return tt_hlo_bc_fail(r, at, TT_UNIMPLEMENTED, "futures of %zu values", count);
  TT_RETURN_IF_ERROR(tt_hlo_bc_type_index(r, fields, &index));
  TT_RETURN_IF_ERROR(open_type(r, index, &head));
  TT_HLO_BC_CHECK(is_tensor(&r->types[index], &head, &encoded), r, at,
                  "a future of type %s, which is no tensor", head.info->name);
  type->future = true;
  return read_tensor(r, &head.fields, encoded, type);
}

tt_error *tt_hlo_bc_type(tt_hlo_bc *r, const uint8_t *at, uint32_t index,
                         const tt_hlo_type **out_type) {
  tt_hlo_bc_entry *entry = &r->types[index];
  type_head head;
  *out_type = &entry->type;
  if (entry->state == TT_HLO_BC_READ)
    return NULL;
  TT_RETURN_IF_ERROR(open_type(r, index, &head));
  tt_hlo_type type = {.token = head.vhlo && head.code == VHLO_TOKEN};
  bool encoded = false;
  if (is_tensor(entry, &head, &encoded))
    TT_RETURN_IF_ERROR(read_tensor(r, &head.fields, encoded, &type));
  else if (entry->custom && head.vhlo && head.code == VHLO_FUTURE)
    TT_RETURN_IF_ERROR(read_future(r, at, &head.fields, &type));
  else if (!type.token)
    return tt_hlo_bc_fail(r, at, TT_UNIMPLEMENTED, "values of type %s", head.info->name);
  entry->type = type;
  entry->state = TT_HLO_BC_READ;
  return NULL;
}

tt_error *tt_hlo_bc_integer_bits(const tt_hlo_bc *r, const uint8_t *at, uint32_t index,
                                 unsigned *out_bits) {
  type_head head;
  TT_RETURN_IF_ERROR(open_type(r, index, &head));
  *out_bits = head.info->bits;
  TT_HLO_BC_CHECK(*out_bits > 0, r, at, "an integer of type %s", head.info->name);
  return NULL;
}

const char *tt_hlo_bc_type_name(const tt_hlo_bc *r, uint32_t index) {
  static const char *const others[] = {"tf32", "none"};
  type_head head;
  tt_error *err = open_type(r, index, &head);
  bool named = err == NULL && (head.info->dtype != NO_DTYPE || head.info->bits > 0);
  for (size_t i = 0; err == NULL && i < TT_COUNT(others); i++)
    named = named || strcmp(head.info->name, others[i]) == 0;
  tt_error_free(err);
  return named ? head.info->name : NULL;
}

bool tt_hlo_bc_is_none(const tt_hlo_bc *r, uint32_t index) {
  const tt_hlo_bc_entry *entry = &r->types[index];
  tt_hlo_bc_span s = entry->span;
  uint64_t code = 0;
  tt_error *err = tt_hlo_bc_varint(r, &s, &code);
  bool none = err == NULL && entry->custom && entry->dialect == TT_HLO_BC_VHLO && code == VHLO_NONE;
  tt_error_free(err);
  return none;
}
