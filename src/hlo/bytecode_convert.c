/* Properties of a VHLO operation to attributes of the IR, one function for each kind. */
#include "hlo/bytecode_internal.h"

#include <assert.h>
#include <string.h>

tt_hlo_attr *tt_hlo_bc_add(tt_hlo_bc_made *made, tt_hlo_attr_name name, tt_hlo_attr_kind kind) {
  assert(made->attrs_count < TT_COUNT(made->attrs));
  tt_hlo_attr *attr = &made->attrs[made->attrs_count++];
  *attr = (tt_hlo_attr){.name = name, .kind = kind};
  return attr;
}

tt_error *tt_hlo_bc_add_text(tt_hlo_bc *r, tt_hlo_bc_made *made, tt_hlo_attr_name name,
                             const tt_bytes *text) {
  TT_RETURN_IF_ERROR(tt_bytes_status(text));
  tt_hlo_attr *attr = tt_hlo_bc_add(made, name, TT_HLO_ATTR_TEXT);
  attr->text = tt_arena_text(r->arena, text->data, text->size);
  return attr->text != NULL ? NULL : tt_error_no_memory(text->size);
}

static size_t find_part(const tt_hlo_bc_made *made, const char *name) {
  const tt_hlo_bc_property *p = made->info->properties;
  size_t i = 0;
  while (p[i].kind != TT_HLO_BC_END && strcmp(p[i].name, name) != 0)
    i++;
  return i;
}

bool tt_hlo_bc_has_part(const tt_hlo_bc_made *made, const char *name) {
  return made->info->properties[find_part(made, name)].kind != TT_HLO_BC_END;
}

uint32_t tt_hlo_bc_part(const tt_hlo_bc_made *made, const char *name) {
  return made->raw[find_part(made, name)];
}

/* A property on its way: the arguments of each kind's function. */
typedef struct item {
  tt_hlo_bc *r;
  tt_hlo_bc_made *made;
  const tt_hlo_bc_property *property;
  uint32_t raw;
  bool omit; /* leave it out when it has its default */
} item;

static tt_hlo_attr *add(const item *p, tt_hlo_attr_kind kind) {
  return tt_hlo_bc_add(p->made, p->property->attr, kind);
}

static tt_error *convert_int(const item *p, tt_hlo_attr_kind kind) {
  int64_t value = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_int(p->r, p->raw, p->property->name, &value));
  if (!p->omit || value != 0)
    add(p, kind)->i64 = value;
  return NULL;
}

/* Only epsilon is one. */
static tt_error *convert_float(const item *p) {
  tt_hlo_bc_head head;
  uint32_t type = 0, pattern = 0;
  int64_t bits = 0;
  float value = 0;
  tt_dtype dtype = TT_F32;
  TT_RETURN_IF_ERROR(
      tt_hlo_bc_open_vhlo(p->r, p->raw, TT_HLO_VHLO_FLOAT, p->property->name, &head));
  TT_RETURN_IF_ERROR(tt_hlo_bc_type_index(p->r, &head.fields, &type));
  TT_RETURN_IF_ERROR(tt_hlo_bc_element(p->r, head.at, type, &dtype));
  TT_HLO_BC_CHECK(dtype == TT_F32, p->r, head.at, "%s: expected f32, got %s", p->property->name,
                  tt_dtype_name(dtype));
  TT_RETURN_IF_ERROR(tt_hlo_bc_bits(p->r, &head.fields, 32, &bits));
  pattern = (uint32_t)bits;
  memcpy(&value, &pattern, sizeof value);
  add(p, TT_HLO_ATTR_F32)->f64 = (double)value;
  return NULL;
}

static tt_error *convert_bool(const item *p) {
  bool value = false;
  TT_RETURN_IF_ERROR(tt_hlo_bc_bool(p->r, p->raw, p->property->name, &value));
  if (!p->omit || value)
    add(p, TT_HLO_ATTR_BOOL)->i64 = value;
  return NULL;
}

static tt_error *convert_list(const item *p, tt_hlo_attr_kind kind) {
  tt_hlo_list list = {0};
  TT_RETURN_IF_ERROR(tt_hlo_bc_list(p->r, p->raw, p->property->name, &list, NULL));
  if (!p->omit || list.count > 0)
    add(p, kind)->i64s = list;
  return NULL;
}

/* Groups of devices may be axes of a mesh since 1.16. */
static tt_error *convert_matrix(const item *p) {
  tt_hlo_bc_head head;
  tt_hlo_list list = {0};
  int64_t columns = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(p->r, p->raw, &head));
  if (head.dialect == TT_HLO_BC_VHLO && head.code == TT_HLO_VHLO_MESH_GROUPS) {
    const char *text = NULL;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_text(p->r, p->raw, &text));
    add(p, TT_HLO_ATTR_TEXT)->text = text;
    return NULL;
  }
  TT_RETURN_IF_ERROR(tt_hlo_bc_list(p->r, p->raw, p->property->name, &list, &columns));
  tt_hlo_attr *attr = add(p, TT_HLO_ATTR_MATRIX);
  attr->i64s = list;
  attr->columns = columns;
  return NULL;
}

/* VHLO's numbers of these enums are the IR's. */
static unsigned enum_code(tt_hlo_attr_name name) {
  switch (name) {
    case TT_HLO_COMPARISON_DIRECTION:
      return TT_HLO_VHLO_DIRECTION;
    case TT_HLO_COMPARE_TYPE:
      return TT_HLO_VHLO_COMPARE_TYPE;
    case TT_HLO_FFT_TYPE:
      return TT_HLO_VHLO_FFT_TYPE;
    case TT_HLO_RNG_ALGORITHM:
      return TT_HLO_VHLO_RNG_ALGORITHM;
    case TT_HLO_RNG_DISTRIBUTION:
      return TT_HLO_VHLO_RNG_DISTRIBUTION;
    case TT_HLO_PRECISION_CONFIG:
      return TT_HLO_VHLO_PRECISION;
    default:
      return TT_HLO_VHLO_TRANSPOSE;
  }
}

static tt_error *read_enum(const item *p, uint32_t raw, int64_t *out_value) {
  tt_hlo_attr_name name = p->property->attr;
  tt_hlo_bc_head head;
  uint64_t value = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_open_vhlo(p->r, raw, enum_code(name), p->property->name, &head));
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(p->r, &head.fields, &value));
  TT_HLO_BC_CHECK(value < (uint64_t)tt_hlo_enums[name].count, p->r, head.at, "%s: no value %llu",
                  p->property->name, (unsigned long long)value);
  *out_value = (int64_t)value;
  return NULL;
}

static tt_error *convert_enum(const item *p) {
  int64_t value = 0;
  TT_RETURN_IF_ERROR(read_enum(p, p->raw, &value));
  if (!p->omit || value != 0)
    add(p, TT_HLO_ATTR_ENUM)->i64 = value;
  return NULL;
}

/* Two of them, of the operands; none is the default. */
static tt_error *convert_precisions(const item *p) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  int64_t values[2] = {0};
  TT_RETURN_IF_ERROR(tt_hlo_bc_array(p->r, p->raw, p->property->name, &items, &count));
  TT_HLO_BC_CHECK(count == 0 || count == 2, p->r, items.at, "%s: expected 2 values, got %zu",
                  p->property->name, count);
  for (size_t i = 0; i < count; i++) {
    uint32_t raw = 0;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(p->r, &items, &raw));
    TT_RETURN_IF_ERROR(read_enum(p, raw, &values[i]));
  }
  if (count == 0)
    return NULL;
  tt_hlo_attr *attr = add(p, TT_HLO_ATTR_ENUMS);
  attr->i64s = (tt_hlo_list){2, tt_arena_copy(p->r->arena, values, sizeof values)};
  return attr->i64s.items != NULL ? NULL : tt_error_no_memory(sizeof values);
}

static tt_error *convert_text(const item *p, tt_hlo_attr_kind kind) {
  const char *text = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_text(p->r, p->raw, p->property->name, &text));
  add(p, kind)->text = text;
  return NULL;
}

/* VHLO keeps the number only; the type of the channels of collectives is 0. */
static tt_error *convert_channel(const item *p) {
  int64_t value = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_int(p->r, p->raw, p->property->name, &value));
  if (value != 0)
    add(p, TT_HLO_ATTR_CHANNEL)->i64 = value;
  return NULL;
}

/* The IR keeps no type beside the elements: they have the result's. */
static tt_error *convert_dense(const item *p) {
  const tt_hlo_op *op = p->made->op;
  const tt_hlo_type *type = NULL;
  tt_hlo_attr dense = {.name = p->property->attr, .kind = TT_HLO_ATTR_DENSE};
  TT_RETURN_IF_ERROR(
      tt_hlo_bc_dense(p->r, p->raw, p->property->name, &type, &dense.data, &dense.splat));
  TT_HLO_BC_CHECK(op->results_count == 1 && tt_hlo_type_equal(type, &op->results[0].type), p->r,
                  p->made->at, "%s: the elements are %s, the result is not", p->made->info->name,
                  TT_HLO_SHOW(type));
  *add(p, TT_HLO_ATTR_DENSE) = dense;
  return NULL;
}

/* The enum's numbers are those of StableHLO's i32. */
static tt_error *convert_api(const item *p) {
  tt_hlo_bc_head head;
  uint64_t value = 0;
  TT_RETURN_IF_ERROR(
      tt_hlo_bc_open_vhlo(p->r, p->raw, TT_HLO_VHLO_API_VERSION, p->property->name, &head));
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(p->r, &head.fields, &value));
  TT_HLO_BC_CHECK(value <= 4, p->r, head.at, "%s: no value %llu", p->property->name,
                  (unsigned long long)value);
  add(p, TT_HLO_ATTR_I32)->i64 = (int64_t)value;
  return NULL;
}

static tt_error *convert_dict(const item *p) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  const char *text = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_dict(p->r, p->raw, p->property->name, &items, &count));
  if (count == 0)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_attr_text(p->r, p->raw, &text));
  add(p, TT_HLO_ATTR_TEXT)->text = text;
  return NULL;
}

/* A dictionary since 1.3, for typed calls. */
static tt_error *convert_config(const item *p) {
  tt_hlo_bc_head head;
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(p->r, p->raw, &head));
  if (head.dialect == TT_HLO_BC_VHLO && head.code == TT_HLO_VHLO_DICT)
    return convert_dict(p);
  return convert_text(p, TT_HLO_ATTR_STRING);
}

/* `[@a, @b]`; VHLO has their names as strings. */
static tt_error *convert_symbols(const item *p) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  tt_bytes text = {0};
  tt_error *err = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_array(p->r, p->raw, p->property->name, &items, &count));
  for (size_t i = 0; i < count; i++) {
    uint32_t raw = 0;
    const char *name = NULL;
    TT_TRY(tt_hlo_bc_attr_index(p->r, &items, &raw));
    TT_TRY(tt_hlo_bc_text(p->r, raw, p->property->name, &name));
    size_t before = text.size;
    tt_bytes_text(&text, i == 0 ? "[" : ", ");
    tt_hlo_print_symbol(&text, name);
    TT_TRY(tt_hlo_bc_spend(p->r, p->made->at, text.size - before));
  }
  tt_bytes_char(&text, ']');
  if (count > 0)
    err = tt_hlo_bc_add_text(p->r, p->made, p->property->attr, &text);
out:
  tt_bytes_free(&text);
  return err;
}

static tt_error *convert_aliases(const item *p) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  const char *text = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_array(p->r, p->raw, p->property->name, &items, &count));
  if (count == 0)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_attr_text(p->r, p->raw, &text));
  add(p, TT_HLO_ATTR_TEXT)->text = text;
  return NULL;
}

/* Layouts are of all operands and results, or of none. */
static tt_error *has_layouts(const item *p, bool *out_any) {
  static const char *const names[] = {"operand_layouts", "result_layouts"};
  *out_any = false;
  for (size_t i = 0; i < 2; i++) {
    tt_hlo_bc_span items = {0};
    size_t count = 0;
    TT_RETURN_IF_ERROR(
        tt_hlo_bc_array(p->r, tt_hlo_bc_part(p->made, names[i]), names[i], &items, &count));
    *out_any = *out_any || count > 0;
  }
  return NULL;
}

/* `[dense<[0, 1]> : tensor<2xindex>, ...]` */
static tt_error *layouts_text(const item *p) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  tt_bytes text = {0};
  tt_error *err = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_array(p->r, p->raw, p->property->name, &items, &count));
  for (size_t i = 0; i < count; i++) {
    uint32_t raw = 0;
    tt_hlo_list order = {0};
    size_t before = text.size;
    TT_TRY(tt_hlo_bc_attr_index(p->r, &items, &raw));
    TT_TRY(tt_hlo_bc_list(p->r, raw, p->property->name, &order, NULL));
    tt_bytes_text(&text, i == 0 ? "[dense<" : ", dense<");
    for (size_t k = 0; k < order.count; k++) {
      tt_bytes_text(&text, k == 0 ? "[" : ", ");
      tt_hlo_print_int(&text, order.items[k]);
    }
    tt_bytes_printf(&text, "%s> : tensor<%zuxindex>", order.count > 0 ? "]" : "", order.count);
    TT_TRY(tt_hlo_bc_spend(p->r, p->made->at, text.size - before));
  }
  tt_bytes_text(&text, count == 0 ? "[]" : "]");
  err = tt_hlo_bc_add_text(p->r, p->made, p->property->attr, &text);
out:
  tt_bytes_free(&text);
  return err;
}

/* One layout a value, minor to major. Layouts other than the default stay text. */
static tt_error *convert_layouts(const item *p) {
  const tt_hlo_op *op = p->made->op;
  bool results = p->property->attr == TT_HLO_RESULT_LAYOUTS;
  size_t values = results ? op->results_count : op->operands_count, count = 0;
  tt_hlo_bc_span items = {0};
  bool any = false, standard = true;
  TT_RETURN_IF_ERROR(has_layouts(p, &any));
  if (!any)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_array(p->r, p->raw, p->property->name, &items, &count));
  TT_HLO_BC_CHECK(count == values, p->r, p->made->at, "%s: %s: %zu layouts for %zu values",
                  p->made->info->name, p->property->name, count, values);
  for (size_t i = 0; i < count; i++) {
    const tt_hlo_type *type = results ? &op->results[i].type : &op->operands[i]->type;
    uint32_t raw = 0;
    tt_hlo_list order = {0};
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(p->r, &items, &raw));
    TT_RETURN_IF_ERROR(tt_hlo_bc_list(p->r, raw, p->property->name, &order, NULL));
    size_t rank = type->token ? 0 : (size_t)type->rank;
    standard = standard && order.count == rank;
    for (size_t k = 0; k < order.count; k++)
      standard = standard && order.items[k] == (int64_t)(rank - 1 - k);
  }
  if (!standard)
    return layouts_text(p);
  add(p, TT_HLO_ATTR_LAYOUTS);
  return NULL;
}

static tt_error *check_empty(const item *p) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_array(p->r, p->raw, p->property->name, &items, &count));
  return count == 0 ? NULL
                    : tt_hlo_bc_fail(p->r, p->made->at, TT_UNIMPLEMENTED, "%s: %s",
                                     p->made->info->name, p->property->name);
}

static tt_error *convert_property(const item *p) {
  switch (p->property->kind) {
    case TT_HLO_BC_END:
    case TT_HLO_BC_DROP:
    case TT_HLO_BC_PART:
      return NULL;
    case TT_HLO_BC_I64:
      return convert_int(p, TT_HLO_ATTR_I64);
    case TT_HLO_BC_I32:
    case TT_HLO_BC_I32_OMIT:
      return convert_int(p, TT_HLO_ATTR_I32);
    case TT_HLO_BC_F32:
      return convert_float(p);
    case TT_HLO_BC_BOOL:
    case TT_HLO_BC_BOOL_OMIT:
      return convert_bool(p);
    case TT_HLO_BC_LIST:
    case TT_HLO_BC_LIST_OMIT:
      return convert_list(p, TT_HLO_ATTR_I64S);
    case TT_HLO_BC_BOOLS:
      return convert_list(p, TT_HLO_ATTR_BOOLS);
    case TT_HLO_BC_MATRIX:
      return convert_matrix(p);
    case TT_HLO_BC_ENUM:
    case TT_HLO_BC_ENUM_OMIT:
      return convert_enum(p);
    case TT_HLO_BC_PRECISIONS:
      return convert_precisions(p);
    case TT_HLO_BC_STRING_ATTR:
      return convert_text(p, TT_HLO_ATTR_STRING);
    case TT_HLO_BC_SYMBOL:
      return convert_text(p, TT_HLO_ATTR_SYMBOL);
    case TT_HLO_BC_CHANNEL:
      return convert_channel(p);
    case TT_HLO_BC_DENSE:
      return convert_dense(p);
    case TT_HLO_BC_API:
      return convert_api(p);
    case TT_HLO_BC_CONFIG:
      return convert_config(p);
    case TT_HLO_BC_DICT_OMIT:
      return convert_dict(p);
    case TT_HLO_BC_SYMBOLS_OMIT:
      return convert_symbols(p);
    case TT_HLO_BC_ALIASES_OMIT:
      return convert_aliases(p);
    case TT_HLO_BC_LAYOUTS_OMIT:
      return convert_layouts(p);
    case TT_HLO_BC_EMPTY:
      return check_empty(p);
  }
  return NULL;
}

static bool omits(tt_hlo_bc_kind kind) {
  return kind == TT_HLO_BC_I32_OMIT || kind == TT_HLO_BC_BOOL_OMIT || kind == TT_HLO_BC_LIST_OMIT ||
         kind == TT_HLO_BC_ENUM_OMIT;
}

tt_error *tt_hlo_bc_convert(tt_hlo_bc *r, tt_hlo_bc_made *made) {
  tt_hlo_op *op = made->op;
  item p = {.r = r, .made = made, .property = made->info->properties};
  for (size_t i = 0; p.property->kind != TT_HLO_BC_END; i++, p.property++) {
    p.raw = made->raw[i];
    p.omit = omits(p.property->kind);
    TT_RETURN_IF_ERROR(convert_property(&p));
  }
  TT_RETURN_IF_ERROR(made->info->finish(r, made));
  op->attrs_count = made->attrs_count;
  if (op->attrs_count == 0)
    return NULL;
  op->attrs = tt_arena_copy(r->arena, made->attrs, op->attrs_count * sizeof *op->attrs);
  return op->attrs != NULL ? NULL : tt_error_no_memory(op->attrs_count * sizeof *op->attrs);
}
