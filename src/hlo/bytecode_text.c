/* Attributes that nothing here reads, as StableHLO text has them; and places in the user's source.
 */
#include "hlo/bytecode_internal.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_DEPTH = 32, LOCATION_HOPS = 32, LOCATION_SIZE = 256 };

tt_error *tt_hlo_bc_spend(tt_hlo_bc *r, const uint8_t *at, size_t size) {
  TT_HLO_BC_CHECK(size <= r->text_left, r, at, "the attributes are too large as text");
  r->text_left -= size;
  return NULL;
}

typedef struct writer {
  tt_hlo_bc *r;
  tt_bytes *text;
  size_t charged; /* bytes of `text` that have been spent */
  int depth;
} writer;

static tt_error *write_attr(writer *w, uint32_t attr);

static bool bare(const char *name) {
  bool ok = name[0] != '\0' && !(name[0] >= '0' && name[0] <= '9');
  for (const char *c = name; ok && *c != '\0'; c++)
    ok = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
         *c == '_' || *c == '$' || *c == '.';
  return ok;
}

/* `{a = 1 : i64, b}` */
static tt_error *write_dict(writer *w, uint32_t attr) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_dict(w->r, attr, "an attribute", &items, &count));
  tt_bytes_char(w->text, '{');
  for (size_t i = 0; i < count; i++) {
    uint32_t key = 0, value = 0;
    const char *name = NULL;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(w->r, &items, &key));
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(w->r, &items, &value));
    TT_RETURN_IF_ERROR(tt_hlo_bc_text(w->r, key, "an attribute's name", &name));
    if (i > 0)
      tt_bytes_text(w->text, ", ");
    if (bare(name))
      tt_bytes_text(w->text, name);
    else
      tt_hlo_print_string(w->text, name);
    tt_bytes_text(w->text, " = ");
    TT_RETURN_IF_ERROR(write_attr(w, value));
  }
  tt_bytes_char(w->text, '}');
  return NULL;
}

static tt_error *write_array(writer *w, uint32_t attr) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_array(w->r, attr, "an attribute", &items, &count));
  tt_bytes_char(w->text, '[');
  for (size_t i = 0; i < count; i++) {
    uint32_t item = 0;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(w->r, &items, &item));
    if (i > 0)
      tt_bytes_text(w->text, ", ");
    TT_RETURN_IF_ERROR(write_attr(w, item));
  }
  tt_bytes_char(w->text, ']');
  return NULL;
}

/* `3 : i64`; unsigned as such. */
static tt_error *write_int(writer *w, uint32_t attr, const tt_hlo_bc_head *head) {
  tt_hlo_bc_span s = head->fields;
  uint32_t type = 0;
  unsigned bits = 0;
  int64_t value = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_int(w->r, attr, "an attribute", &value));
  TT_RETURN_IF_ERROR(tt_hlo_bc_type_index(w->r, &s, &type));
  TT_RETURN_IF_ERROR(tt_hlo_bc_integer_bits(w->r, head->at, type, &bits));
  const char *name = tt_hlo_bc_type_name(w->r, type);
  TT_HLO_BC_CHECK(name != NULL, w->r, head->at, "an integer of no type");
  if (name[0] != 'u')
    tt_hlo_print_int(w->text, value);
  else
    tt_bytes_printf(w->text, "%llu", (unsigned long long)value & (UINT64_MAX >> (64 - bits)));
  tt_bytes_printf(w->text, " : %s", name);
  return NULL;
}

/* `1.5 : f32`; what has no decimals, and types that we do not compute in, as bits. */
static tt_error *write_float(writer *w, const tt_hlo_bc_head *head) {
  tt_hlo_bc_span s = head->fields;
  uint32_t type = 0;
  tt_dtype dtype = TT_F32;
  int64_t bits = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_type_index(w->r, &s, &type));
  TT_RETURN_IF_ERROR(tt_hlo_bc_element(w->r, head->at, type, &dtype));
  TT_HLO_BC_CHECK(tt_dtype_is_float(dtype), w->r, head->at, "a float of type %s",
                  tt_dtype_name(dtype));
  unsigned width = (unsigned)tt_dtypes[dtype].bits;
  TT_RETURN_IF_ERROR(tt_hlo_bc_bits(w->r, &s, width, &bits));
  bits &= (int64_t)(UINT64_MAX >> (64 - width));
  tt_hlo_attr attr = {.data = &bits}; /* little-endian, as elements are */
  tt_hlo_type scalar = {.dtype = dtype};
  tt_bytes one = {0};
  tt_hlo_print_dense(&one, &scalar, &attr);
  tt_error *err = tt_bytes_status(&one);
  if (err == NULL) { /* dense<1.5> */
    tt_bytes_append(w->text, one.data + strlen("dense<"), one.size - strlen("dense<>"));
    tt_bytes_printf(w->text, " : %s", tt_dtype_name(dtype));
  }
  tt_bytes_free(&one);
  return err;
}

static tt_error *write_tensor(writer *w, uint32_t attr, const tt_hlo_bc_head *head) {
  const tt_hlo_type *type = NULL;
  tt_hlo_attr dense = {0};
  TT_RETURN_IF_ERROR(tt_hlo_bc_dense(w->r, attr, "an attribute", &type, &dense.data, &dense.splat));
  /* Ahead of the printing: no element takes more than its digits and brackets. */
  int64_t count = 0;
  size_t element_size = 32 + 4 * (size_t)type->rank;
  if (!dense.splat && tt_dims_count(type->dims, (size_t)type->rank, &count))
    TT_HLO_BC_CHECK((size_t)count <= w->r->text_left / element_size, w->r, head->at,
                    "the attributes are too large as text");
  tt_hlo_print_dense(w->text, type, &dense);
  tt_bytes_text(w->text, " : ");
  tt_hlo_type_print(type, w->text);
  return NULL;
}

static tt_error *write_type(writer *w, const tt_hlo_bc_head *head) {
  tt_hlo_bc_span s = head->fields;
  uint32_t index = 0;
  const tt_hlo_type *type = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_type_index(w->r, &s, &index));
  const char *name = tt_hlo_bc_type_name(w->r, index);
  if (name != NULL) {
    tt_bytes_text(w->text, name);
    return NULL;
  }
  TT_RETURN_IF_ERROR(tt_hlo_bc_type(w->r, head->at, index, &type));
  tt_hlo_type_print(type, w->text);
  return NULL;
}

static tt_error *write_indices(writer *w, tt_hlo_bc_span *s, const char *name, const char *end) {
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(w->r, s, "indices", &count));
  tt_bytes_printf(w->text, "%s = [", name);
  for (size_t i = 0; i < count; i++) {
    int64_t index = 0;
    TT_RETURN_IF_ERROR(tt_hlo_bc_signed(w->r, s, &index));
    if (i > 0)
      tt_bytes_text(w->text, ", ");
    tt_hlo_print_int(w->text, index);
  }
  tt_bytes_text(w->text, end);
  return NULL;
}

static tt_error *write_alias(writer *w, const tt_hlo_bc_head *head) {
  tt_hlo_bc_span s = head->fields;
  int64_t operand = 0;
  tt_bytes_text(w->text, "#stablehlo.output_operand_alias<");
  TT_RETURN_IF_ERROR(write_indices(w, &s, "output_tuple_indices", "], "));
  TT_RETURN_IF_ERROR(tt_hlo_bc_signed(w->r, &s, &operand));
  tt_bytes_printf(w->text, "operand_index = %lld, ", (long long)operand);
  return write_indices(w, &s, "operand_tuple_indices", "]>");
}

static tt_error *write_precision(writer *w, const tt_hlo_bc_head *head) {
  const tt_hlo_enum_info *info = &tt_hlo_enums[TT_HLO_PRECISION_CONFIG];
  tt_hlo_bc_span s = head->fields;
  uint64_t value = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(w->r, &s, &value));
  TT_HLO_BC_CHECK(value < (uint64_t)info->count, w->r, head->at, "precision: no value %llu",
                  (unsigned long long)value);
  tt_bytes_printf(w->text, "#stablehlo<precision %s>", info->values[value]);
  return NULL;
}

static tt_error *write_string(writer *w, uint32_t attr) {
  const char *string = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_text(w->r, attr, "an attribute", &string));
  tt_hlo_print_string(w->text, string);
  return NULL;
}

static tt_error *write_bool(writer *w, uint32_t attr) {
  bool value = false;
  TT_RETURN_IF_ERROR(tt_hlo_bc_bool(w->r, attr, "an attribute", &value));
  tt_bytes_text(w->text, value ? "true" : "false");
  return NULL;
}

/* ---- groups of devices as axes of a mesh ---- */

/* `name = value` */
static tt_error *write_field(writer *w, tt_hlo_bc_span *s, const char *name) {
  uint32_t value = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(w->r, s, &value));
  tt_bytes_printf(w->text, "%s = ", name);
  return write_attr(w, value);
}

static tt_error *write_axis(writer *w, tt_hlo_bc_span s) {
  uint64_t is_part = 0;
  tt_bytes_text(w->text, "#stablehlo.axis_ref<");
  TT_RETURN_IF_ERROR(write_field(w, &s, "name"));
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(w->r, &s, &is_part));
  if (is_part != 0)
    TT_RETURN_IF_ERROR(write_field(w, &s, ", sub_axis_info"));
  tt_bytes_char(w->text, '>');
  return NULL;
}

static tt_error *write_mesh_axis(writer *w, tt_hlo_bc_span s) {
  int64_t size = 0;
  tt_bytes_text(w->text, "#stablehlo.mesh_axis<");
  TT_RETURN_IF_ERROR(write_field(w, &s, "name"));
  TT_RETURN_IF_ERROR(tt_hlo_bc_signed(w->r, &s, &size));
  tt_bytes_printf(w->text, ", size = %lld>", (long long)size);
  return NULL;
}

static tt_error *write_mesh(writer *w, tt_hlo_bc_span s) {
  uint64_t ids = 0;
  bool has_ids = false;
  tt_bytes_text(w->text, "#stablehlo.mesh<");
  TT_RETURN_IF_ERROR(write_field(w, &s, "axes"));
  const uint8_t *at = s.at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_flagged(w->r, &s, &ids, &has_ids));
  if (has_ids) {
    TT_RETURN_IF_ERROR(tt_hlo_bc_check_index(w->r, at, "attribute", w->r->attrs_count, ids));
    tt_bytes_text(w->text, ", device_ids = ");
    TT_RETURN_IF_ERROR(write_attr(w, (uint32_t)ids));
  }
  tt_bytes_char(w->text, '>');
  return NULL;
}

/* The mesh by its name, or itself. */
static tt_error *write_mesh_groups(writer *w, tt_hlo_bc_span s) {
  uint32_t mesh = 0;
  tt_hlo_bc_head head;
  const char *name = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(w->r, &s, &mesh));
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(w->r, mesh, &head));
  tt_bytes_text(w->text, "#stablehlo.replica_group_mesh_axes<mesh = ");
  if (head.dialect == TT_HLO_BC_VHLO && head.code == TT_HLO_VHLO_MESH) {
    TT_RETURN_IF_ERROR(write_attr(w, mesh));
  } else {
    TT_RETURN_IF_ERROR(tt_hlo_bc_text(w->r, mesh, "a mesh", &name));
    tt_hlo_print_symbol(w->text, name);
  }
  TT_RETURN_IF_ERROR(write_field(w, &s, ", axes"));
  tt_bytes_char(w->text, '>');
  return NULL;
}

static tt_error *write_vhlo(writer *w, uint32_t attr, const tt_hlo_bc_head *head) {
  switch (head->code) {
    case TT_HLO_VHLO_ARRAY:
      return write_array(w, attr);
    case TT_HLO_VHLO_DICT:
      return write_dict(w, attr);
    case TT_HLO_VHLO_BOOL:
      return write_bool(w, attr);
    case TT_HLO_VHLO_INTEGER:
      return write_int(w, attr, head);
    case TT_HLO_VHLO_FLOAT:
      return write_float(w, head);
    case TT_HLO_VHLO_STRING:
      return write_string(w, attr);
    case TT_HLO_VHLO_TENSOR:
      return write_tensor(w, attr, head);
    case TT_HLO_VHLO_TYPE:
      return write_type(w, head);
    case TT_HLO_VHLO_ALIAS:
      return write_alias(w, head);
    case TT_HLO_VHLO_PRECISION:
      return write_precision(w, head);
    case TT_HLO_VHLO_SUB_AXIS:
      return tt_hlo_bc_write_part(w->r, head->fields, w->text);
    case TT_HLO_VHLO_AXIS:
      return write_axis(w, head->fields);
    case TT_HLO_VHLO_MESH_GROUPS:
      return write_mesh_groups(w, head->fields);
    case TT_HLO_VHLO_MESH_AXIS:
      return write_mesh_axis(w, head->fields);
    case TT_HLO_VHLO_MESH:
      return write_mesh(w, head->fields);
    default:
      return tt_hlo_bc_fail(w->r, head->at, TT_UNIMPLEMENTED, "attribute of kind %u as text",
                            head->code);
  }
}

/* MLIR's own, in attributes that JAX gives to composites. What has no meaning here stands as a
 * string that says so. */
static tt_error *write_other(writer *w, uint32_t attr, const tt_hlo_bc_head *head) {
  bool builtin = head->dialect == TT_HLO_BC_BUILTIN;
  if (builtin && head->code == TT_HLO_BUILTIN_ARRAY)
    return write_array(w, attr);
  if (builtin && head->code == TT_HLO_BUILTIN_DICT)
    return write_dict(w, attr);
  if (builtin && head->code == TT_HLO_BUILTIN_STRING)
    return write_string(w, attr);
  if (builtin && head->code == TT_HLO_BUILTIN_INTEGER)
    return write_int(w, attr, head);
  tt_hlo_print_string(w->text, "an attribute of another dialect");
  return NULL;
}

static tt_error *visit_attr(void *user, uint32_t attr) { return write_attr(user, attr); }

/* Attributes refer to each other as they like, also in circles: the depth ends those, and what is
 * spent what repeats itself. */
static tt_error *write_attr(writer *w, uint32_t attr) {
  tt_hlo_bc_head head;
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(w->r, attr, &head));
  TT_HLO_BC_CHECK(w->depth < TEXT_DEPTH, w->r, head.at, "attributes are nested deeper than %d",
                  TEXT_DEPTH);
  /* One for each visit, so that no walk is free of charge. */
  TT_RETURN_IF_ERROR(tt_hlo_bc_spend(w->r, head.at, 1));
  w->depth++;
  if (head.dialect == TT_HLO_BC_VHLO)
    TT_RETURN_IF_ERROR(write_vhlo(w, attr, &head));
  else if (head.dialect == TT_HLO_BC_SDY)
    TT_RETURN_IF_ERROR(tt_hlo_bc_sdy_write(w->r, &head, w->text, visit_attr, w));
  else
    TT_RETURN_IF_ERROR(write_other(w, attr, &head));
  w->depth--;
  size_t more = w->text->size - w->charged;
  w->charged = w->text->size;
  return tt_hlo_bc_spend(w->r, head.at, more);
}

tt_error *tt_hlo_bc_attr_text(tt_hlo_bc *r, uint32_t attr, const char **out_text) {
  tt_bytes text = {0};
  tt_error *err = NULL;
  tt_hlo_bc_entry *entry = &r->attrs[attr];
  writer w = {.r = r, .text = &text};
  if (entry->made.text == NULL) {
    TT_TRY(write_attr(&w, attr));
    TT_TRY(tt_bytes_status(&text));
    entry->made.text = tt_arena_text(r->arena, text.data, text.size);
    if (entry->made.text == NULL)
      TT_TRY(tt_error_no_memory(text.size));
  }
  *out_text = entry->made.text;
out:
  tt_bytes_free(&text);
  return err;
}

/* ---- locations ---- */

/* `file:line:column`, as much of it as there is. `numbers` counts what the range says: none, line,
 * line and column, and more about its end. */
static tt_error *file_text(tt_hlo_bc *r, tt_hlo_bc_span *s, bool range, const char **out_text) {
  uint32_t file = 0;
  uint64_t numbers = 2, line = 0, column = 0;
  const tt_hlo_bc_string *name = NULL;
  char buffer[LOCATION_SIZE];
  TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, s, &file));
  TT_RETURN_IF_ERROR(tt_hlo_bc_string_of(r, file, "a file's name", &name));
  if (range)
    TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &numbers));
  if (numbers >= 1)
    TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &line));
  if (numbers >= 2)
    TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &column));
  /* Of a long path the end tells more. */
  enum { NAME_SIZE = LOCATION_SIZE - 48 };
  size_t skipped = name->size > NAME_SIZE ? name->size - NAME_SIZE : 0;
  snprintf(buffer, sizeof buffer, "%s:%llu:%llu", name->text + skipped, (unsigned long long)line,
           (unsigned long long)column);
  *out_text = tt_arena_text(r->arena, buffer, strlen(buffer));
  return *out_text != NULL ? NULL : tt_error_no_memory(strlen(buffer));
}

/* One step towards a name or a file; `*attr` is the location to go on with, `*out_text` the end. */
static tt_error *location_step(tt_hlo_bc *r, uint32_t *attr, const char **out_text, bool *out_end) {
  tt_hlo_bc_head head;
  size_t count = 1;
  *out_end = true;
  if (!r->attrs[*attr].custom || r->attrs[*attr].dialect != TT_HLO_BC_BUILTIN)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, *attr, &head));
  switch (head.code) {
    case TT_HLO_BUILTIN_FILE_LINE:
    case TT_HLO_BUILTIN_FILE_RANGE:
      return file_text(r, &head.fields, head.code == TT_HLO_BUILTIN_FILE_RANGE, out_text);
    case TT_HLO_BUILTIN_NAME: {
      uint32_t name = 0;
      TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &head.fields, &name));
      TT_RETURN_IF_ERROR(tt_hlo_bc_text(r, name, "a location's name", out_text));
      if (**out_text != '\0')
        return NULL;
      *out_text = NULL;
      break;
    }
    case TT_HLO_BUILTIN_CALL_SITE:
      break;
    case TT_HLO_BUILTIN_FUSED:
    case TT_HLO_BUILTIN_FUSED_METADATA:
      TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, &head.fields, "locations", &count));
      break;
    default:
      return NULL;
  }
  *out_end = count == 0;
  return count == 0 ? NULL : tt_hlo_bc_attr_index(r, &head.fields, attr);
}

tt_error *tt_hlo_bc_location(tt_hlo_bc *r, uint32_t attr, const char **out_text) {
  uint32_t at = attr;
  bool end = false;
  *out_text = r->attrs[attr].made.text;
  for (int i = 0; i < LOCATION_HOPS && !end && *out_text == NULL; i++)
    TT_RETURN_IF_ERROR(location_step(r, &at, out_text, &end));
  r->attrs[attr].made.text = *out_text;
  return NULL;
}
