/* Attributes: dictionaries, values of any kind, and what an operation makes of them. */
#include "hlo/parse_internal.h"

/* ---- values ---- */

/* Text that is kept, if at all, as it stands. */
static tt_error *parse_text(tt_hlo_parser *p, tt_hlo_parsed *out_value) {
  out_value->attr.kind = TT_HLO_ATTR_TEXT;
  return tt_hlo_parse_skip(p, p->line, &out_value->has_alias);
}

/* What may follow a number or string: `: i64`. */
static tt_hlo_slice parse_scalar_type(tt_hlo_parser *p) {
  return tt_hlo_parse_take(p, ':') ? tt_hlo_parse_word(p) : (tt_hlo_slice){NULL, 0};
}

static tt_error *parse_number_value(tt_hlo_parser *p, tt_hlo_parsed *out_value) {
  tt_hlo_number number = {0};
  tt_hlo_attr *attr = &out_value->attr;
  TT_RETURN_IF_ERROR(tt_hlo_parse_number(p, &number));
  tt_hlo_slice type = parse_scalar_type(p);
  bool fits = number.magnitude <= (number.negative ? UINT64_C(1) << 63 : INT64_MAX);
  attr->i64 = (int64_t)(number.negative ? 0 - number.magnitude : number.magnitude);
  attr->f64 = number.negative ? -number.value : number.value;
  attr->kind = TT_HLO_ATTR_TEXT;
  if (!number.is_float && fits && (type.size == 0 || tt_hlo_slice_is(type, "i64")))
    attr->kind = TT_HLO_ATTR_I64;
  else if (!number.is_float && fits && tt_hlo_slice_is(type, "i32"))
    attr->kind = TT_HLO_ATTR_I32;
  else if (!number.hex && tt_hlo_slice_is(type, "f32"))
    attr->kind = TT_HLO_ATTR_F32;
  return NULL;
}

static tt_error *parse_string_value(tt_hlo_parser *p, tt_hlo_parsed *out_value) {
  out_value->attr.kind = TT_HLO_ATTR_STRING;
  TT_RETURN_IF_ERROR(tt_hlo_parse_string(p, &out_value->attr.text));
  parse_scalar_type(p);
  return NULL;
}

/* `array<i64: 1, 2>` behind the word array. */
static tt_error *parse_array(tt_hlo_parser *p, tt_hlo_parsed *out_value) {
  size_t height = p->numbers.size;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '<'));
  tt_hlo_slice type = tt_hlo_parse_word(p);
  bool bools = tt_hlo_slice_is(type, "i1");
  if (!bools && !tt_hlo_slice_is(type, "i64"))
    return tt_hlo_parse_fail(p, type.text, TT_UNIMPLEMENTED, "arrays of %.*s",
                             (int)(type.size > 32 ? 32 : type.size), type.text);
  if (tt_hlo_parse_take(p, ':'))
    do {
      int64_t item = 0;
      TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &item));
      item = bools ? item != 0 : item;
      tt_bytes_append(&p->numbers, &item, sizeof item);
    } while (tt_hlo_parse_take(p, ','));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '>'));
  out_value->attr.kind = bools ? TT_HLO_ATTR_BOOLS : TT_HLO_ATTR_I64S;
  return tt_hlo_parse_pop_numbers(p, height, &out_value->attr.i64s);
}

/* Behind #stablehlo: `<precision DEFAULT>`. `name` is that of the attribute that has this enum. */
static tt_error *parse_enum(tt_hlo_parser *p, tt_hlo_attr *out_attr) {
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '<'));
  tt_hlo_slice type = tt_hlo_parse_word(p), value = tt_hlo_parse_word(p);
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '>'));
  out_attr->kind = TT_HLO_ATTR_TEXT;
  for (int i = 0; i < TT_HLO_ATTR_NAME_COUNT; i++) {
    const tt_hlo_enum_info *info = &tt_hlo_enums[i];
    if (info->type == NULL || !tt_hlo_slice_is(type, info->type))
      continue;
    out_attr->name = (tt_hlo_attr_name)i;
    out_attr->kind = TT_HLO_ATTR_ENUM;
    while (out_attr->i64 < info->count && !tt_hlo_slice_is(value, info->values[out_attr->i64]))
      out_attr->i64++;
    if (out_attr->i64 < info->count)
      return NULL;
    return tt_hlo_parse_fail(p, value.text, TT_INVALID_ARGUMENT,
                             "expected a value of the enum %s, got '%.*s'", info->type,
                             (int)(value.size > 32 ? 32 : value.size), value.text);
  }
  return NULL;
}

/* #alias of an attribute. */
static tt_error *parse_alias_value(tt_hlo_parser *p, tt_hlo_slice name, tt_hlo_parsed *out_value) {
  tt_hlo_alias *alias = NULL;
  name.text--;
  name.size++;
  TT_RETURN_IF_ERROR(tt_hlo_parse_alias(p, name, &alias));
  if (alias->kind != TT_HLO_ALIAS_ATTR)
    return tt_hlo_parse_fail(p, name.text, TT_INVALID_ARGUMENT,
                             "expected an attribute alias that is defined above, got '%.*s'",
                             (int)(name.size > 32 ? 32 : name.size), name.text);
  *out_value = alias->attr;
  return NULL;
}

static tt_error *parse_hash(tt_hlo_parser *p, tt_hlo_parsed *out_value) {
  static const struct {
    const char *name;
    tt_error *(*parse)(tt_hlo_parser *p, tt_hlo_attr *out_attr);
  } known[] = {{"stablehlo", parse_enum},
               {"chlo", parse_enum},
               {"stablehlo.dot", tt_hlo_parse_dot},
               {"stablehlo.conv", tt_hlo_parse_conv},
               {"stablehlo.gather", tt_hlo_parse_gather},
               {"stablehlo.scatter", tt_hlo_parse_scatter},
               {"stablehlo.channel_handle", tt_hlo_parse_channel}};
  tt_hlo_slice name = {0};
  const char *at = p->at++;
  TT_RETURN_IF_ERROR(tt_hlo_parse_suffix(p, "a name behind #", &name));
  for (size_t i = 0; i < TT_COUNT(known); i++)
    if (tt_hlo_slice_is(name, known[i].name))
      return known[i].parse(p, &out_value->attr);
  if (memchr(name.text, '.', name.size) == NULL && tt_hlo_parse_peek(p) != '<')
    return parse_alias_value(p, name, out_value);
  p->at = at;
  return parse_text(p, out_value);
}

/* `[...]`: enums are read, all else is text. */
static tt_error *parse_list_value(tt_hlo_parser *p, tt_hlo_parsed *out_value) {
  static const char start[] = "#stablehlo<";
  const char *at = p->at++;
  size_t height = p->numbers.size;
  tt_hlo_parse_peek(p);
  if ((size_t)(p->end - p->at) < sizeof start || memcmp(p->at, start, sizeof start - 1) != 0) {
    p->at = at;
    return parse_text(p, out_value);
  }
  do {
    tt_hlo_parsed item = {0};
    if (tt_hlo_parse_peek(p) != '#')
      return tt_hlo_parse_expected(p, "an enum as the first in the list");
    TT_RETURN_IF_ERROR(parse_hash(p, &item));
    if (item.attr.kind != TT_HLO_ATTR_ENUM)
      return tt_hlo_parse_expected(p, "a known enum before this");
    out_value->attr.name = item.attr.name;
    tt_bytes_append(&p->numbers, &item.attr.i64, sizeof item.attr.i64);
  } while (tt_hlo_parse_take(p, ','));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ']'));
  out_value->attr.kind = TT_HLO_ATTR_ENUMS;
  return tt_hlo_parse_pop_numbers(p, height, &out_value->attr.i64s);
}

static tt_error *parse_word_value(tt_hlo_parser *p, tt_hlo_parsed *out_value) {
  tt_hlo_slice word = tt_hlo_parse_word(p);
  if (tt_hlo_slice_is(word, "array"))
    return parse_array(p, out_value);
  if (tt_hlo_slice_is(word, "dense"))
    return tt_hlo_parse_dense(p, out_value);
  if (tt_hlo_slice_is(word, "dense_resource"))
    return tt_hlo_parse_fail(p, word.text, TT_UNIMPLEMENTED, "dense_resource");
  if (tt_hlo_slice_is(word, "sparse"))
    return tt_hlo_parse_fail(p, word.text, TT_UNIMPLEMENTED, "sparse elements");
  bool yes = tt_hlo_slice_is(word, "true");
  if (yes || tt_hlo_slice_is(word, "false") || tt_hlo_slice_is(word, "unit")) {
    out_value->attr.kind = TT_HLO_ATTR_BOOL;
    out_value->attr.i64 = yes || word.text[0] == 'u';
    return NULL;
  }
  p->at = word.text;
  return parse_text(p, out_value);
}

static tt_error *parse_any(tt_hlo_parser *p, tt_hlo_parsed *out_value) {
  char c = tt_hlo_parse_peek(p);
  if (c == '"')
    return parse_string_value(p, out_value);
  if (c == '#')
    return parse_hash(p, out_value);
  if (c == '[')
    return parse_list_value(p, out_value);
  if (c == '@') {
    out_value->attr.kind = TT_HLO_ATTR_SYMBOL;
    return tt_hlo_parse_symbol(p, &out_value->attr.text);
  }
  if (c == '-' || tt_hlo_char_is(c, TT_HLO_CHAR_DIGIT))
    return parse_number_value(p, out_value);
  if (tt_hlo_char_is(c, TT_HLO_CHAR_LETTER))
    return parse_word_value(p, out_value);
  if (c == '{' || c == '(' || c == '!')
    return parse_text(p, out_value);
  return tt_hlo_parse_expected(p, "an attribute's value");
}

tt_error *tt_hlo_parse_value(tt_hlo_parser *p, tt_hlo_parsed *out_value) {
  memset(out_value, 0, sizeof *out_value);
  tt_hlo_parse_peek(p);
  const char *start = p->at, *end = start;
  TT_RETURN_IF_ERROR(parse_any(p, out_value));
  for (end = p->at; end > start && tt_hlo_char_is(end[-1], TT_HLO_CHAR_BLANK); end--) {
  }
  out_value->slice = (tt_hlo_slice){start, (size_t)(end - start)};
  return NULL;
}

/* ---- dictionaries ---- */

static tt_error *parse_key(tt_hlo_parser *p, tt_hlo_slice *out_key) {
  *out_key = tt_hlo_parse_word(p);
  if (out_key->size == 0 && tt_hlo_parse_peek(p) == '"') {
    const char *text = NULL;
    TT_RETURN_IF_ERROR(tt_hlo_parse_string(p, &text));
    *out_key = (tt_hlo_slice){text, strlen(text)};
  }
  return out_key->size > 0 ? NULL : tt_hlo_parse_expected(p, "an attribute's name");
}

tt_error *tt_hlo_parse_dict(tt_hlo_parser *p, tt_hlo_parse_entry entry, void *context) {
  if (!tt_hlo_parse_take(p, '{') || tt_hlo_parse_take(p, '}'))
    return NULL;
  do {
    tt_hlo_slice key = {0};
    TT_RETURN_IF_ERROR(parse_key(p, &key));
    TT_RETURN_IF_ERROR(entry(p, key, !tt_hlo_parse_take(p, '='), context));
  } while (tt_hlo_parse_take(p, ','));
  return tt_hlo_parse_expect(p, '}');
}

/* ---- shardings ---- */

static bool holds(tt_hlo_slice slice, const char *text) {
  return memmem(slice.text, slice.size, text, strlen(text)) != NULL;
}

/* mhlo.sharding in XLA's words, sdy.sharding with axes of the mesh as strings. */
static bool is_partition(tt_hlo_slice name, tt_hlo_slice value) {
  if (tt_hlo_slice_is(name, "mhlo.sharding"))
    return !holds(value, "{replicated}") && !holds(value, "{manual}");
  if (!tt_hlo_slice_is(name, "sdy.sharding"))
    return false;
  return holds(value, "{\"");
}

tt_error *tt_hlo_parse_other(tt_hlo_parser *p, tt_hlo_slice name, bool unit, void *context) {
  bool has_alias = false;
  (void)context;
  if (unit)
    return NULL;
  tt_hlo_parse_peek(p);
  const char *start = p->at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_skip(p, false, &has_alias));
  if (!is_partition(name, (tt_hlo_slice){start, (size_t)(p->at - start)}))
    return NULL;
  p->gspmd = p->gspmd || tt_hlo_slice_is(name, "mhlo.sharding");
  if (p->sharded_at == NULL)
    p->sharded_at = start;
  return NULL;
}

/* ---- attributes of operations ---- */

void tt_hlo_parse_push_attr(tt_hlo_parser *p, tt_hlo_attr attr) {
  tt_hlo_parsed parsed = {.attr = attr};
  tt_bytes_append(&p->attrs, &parsed, sizeof parsed);
}

/* Takes the place of the attribute of this name, or goes on the stack. */
static void put_attr(tt_hlo_parser *p, const tt_hlo_draft *draft, const tt_hlo_parsed *value) {
  size_t at = draft->attrs;
  for (; at < p->attrs.size; at += sizeof *value) {
    tt_hlo_parsed *old = (void *)(p->attrs.data + at);
    if (old->attr.name == value->attr.name) {
      *old = *value;
      return;
    }
  }
  tt_bytes_append(&p->attrs, value, sizeof *value);
}

/* jax gives a typed configuration under another name, beside an empty backend_config. In StableHLO
 * proper that is the fourth version of custom calls. */
static tt_error *parse_backend_config(tt_hlo_parser *p, const tt_hlo_draft *draft) {
  tt_hlo_parsed value;
  static const tt_hlo_parsed typed = {
      .attr = {.name = TT_HLO_API_VERSION, .kind = TT_HLO_ATTR_I32, .i64 = 4}};
  TT_RETURN_IF_ERROR(tt_hlo_parse_value(p, &value));
  value.attr.name = TT_HLO_BACKEND_CONFIG;
  put_attr(p, draft, &value);
  put_attr(p, draft, &typed);
  return NULL;
}

tt_error *tt_hlo_parse_op_entry(tt_hlo_parser *p, tt_hlo_slice name, bool unit, void *context) {
  const tt_hlo_draft *draft = context;
  tt_hlo_parsed value = {.attr = {.kind = TT_HLO_ATTR_BOOL, .i64 = 1}};
  int found = tt_hlo_parse_find_attr(p, name);
  const char *at = name.text;
  if (tt_hlo_slice_is(name, "mhlo.backend_config") && draft->code == TT_HLO_CUSTOM_CALL && !unit)
    return parse_backend_config(p, draft);
  if (tt_hlo_slice_is(name, "callee") && draft->code == TT_HLO_COMPOSITE)
    found = TT_HLO_DECOMPOSITION;
  if (found < 0)
    return tt_hlo_parse_other(p, name, unit, NULL);
  if ((p->attrs.size - draft->attrs) / sizeof value >= TT_HLO_ATTR_NAME_COUNT)
    return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT,
                             "expected each attribute once, got more than there are");
  if (!unit)
    TT_RETURN_IF_ERROR(tt_hlo_parse_value(p, &value));
  bool is_enum = value.attr.kind == TT_HLO_ATTR_ENUM || value.attr.kind == TT_HLO_ATTR_ENUMS;
  if (is_enum && value.attr.name != (tt_hlo_attr_name)found)
    return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT, "expected another enum for %s, got %s",
                             tt_hlo_attr_names[found], tt_hlo_enums[value.attr.name].type);
  value.attr.name = (tt_hlo_attr_name)found;
  tt_bytes_append(&p->attrs, &value, sizeof value);
  return NULL;
}

/* ---- fitting ---- */

/* The elements one by one, each in 64 bits. */
static const int64_t *grow_dense(tt_hlo_parser *p, const tt_hlo_parsed *value, size_t count) {
  int64_t *items = tt_arena_array(&p->module->arena, count, sizeof *items);
  const int64_t *words = value->attr.data;
  const uint8_t *bytes = value->attr.data;
  for (size_t i = 0; items != NULL && i < count; i++) {
    size_t from = value->attr.splat ? 0 : i;
    items[i] = value->type.dtype == TT_PRED ? bytes[from] : words[from];
  }
  return items;
}

/* dense<> of i64 or i1 where it is no constant: a matrix, or an array in its older form. */
static tt_error *fit_dense(tt_hlo_parser *p, tt_hlo_parsed *value) {
  enum { GROWN_MAX = 2 * TT_HLO_RANK_MAX }; /* what takes far more memory than text, or alias */
  const tt_hlo_type *type = &value->type;
  int64_t count = 0;
  bool bools = type->dtype == TT_PRED;
  if ((type->dtype != TT_S64 && !bools) || type->rank < 1 || type->rank > 2 ||
      !tt_dims_count(type->dims, (size_t)type->rank, &count) ||
      ((value->attr.splat || bools) && count > GROWN_MAX))
    return tt_hlo_parse_fail(p, value->slice.text, TT_UNIMPLEMENTED,
                             "%s as an attribute other than a constant's", TT_HLO_SHOW(type));
  const int64_t *items = value->attr.data;
  if (value->attr.splat || bools)
    items = grow_dense(p, value, (size_t)count);
  if (items == NULL && count > 0)
    return tt_hlo_parse_no_memory(p);
  value->attr.kind = bools             ? TT_HLO_ATTR_BOOLS
                     : type->rank == 2 ? TT_HLO_ATTR_MATRIX
                                       : TT_HLO_ATTR_I64S;
  value->attr.columns = type->rank == 2 ? type->dims[1] : 0;
  value->attr.i64s = (tt_hlo_list){(size_t)count, items};
  value->attr.data = NULL;
  value->attr.splat = false;
  return NULL;
}

/* `dense<[1, 0]> : tensor<2xindex>` lists all axes of `type` from the last to the first. */
static bool is_default_layout(tt_hlo_parser *p, const tt_hlo_type *type) {
  int32_t axis = type->token ? 0 : type->rank;
  if (!tt_hlo_parse_take_word(p, "dense") || !tt_hlo_parse_take(p, '<'))
    return false;
  bool list = tt_hlo_parse_take(p, '[');
  while (axis-- > 0) {
    int64_t item = 0;
    tt_error *err = tt_hlo_parse_i64(p, &item);
    tt_error_free(err);
    if (err != NULL || item != axis || (axis > 0 && !tt_hlo_parse_take(p, ',')))
      return false;
  }
  return (!list || tt_hlo_parse_take(p, ']')) && tt_hlo_parse_take(p, '>');
}

/* Layouts that are all the default become that; others stay text. */
static void fit_layouts(tt_hlo_parser *p, tt_hlo_parsed *value, const tt_hlo_op *op) {
  const char *behind = p->at;
  bool results = value->attr.name == TT_HLO_RESULT_LAYOUTS, all = true, has_alias = false;
  uint32_t count = results ? op->results_count : op->operands_count;
  p->at = value->slice.text;
  all = tt_hlo_parse_take(p, '[');
  for (uint32_t i = 0; i < count && all; i++) {
    all = (i == 0 || tt_hlo_parse_take(p, ',')) &&
          is_default_layout(p, results ? &op->results[i].type : &op->operands[i]->type);
    tt_error *err = all ? tt_hlo_parse_skip(p, false, &has_alias) : NULL; /* the type */
    all = all && err == NULL;
    tt_error_free(err);
  }
  if (all && tt_hlo_parse_take(p, ']'))
    value->attr.kind = TT_HLO_ATTR_LAYOUTS;
  p->at = behind;
}

tt_error *tt_hlo_parse_keep_text(tt_hlo_parser *p, tt_hlo_parsed *value) {
  if (value->has_alias)
    return tt_hlo_parse_fail(p, value->slice.text, TT_UNIMPLEMENTED, "an alias within %s",
                             tt_hlo_attr_names[value->attr.name]);
  value->attr.text = tt_arena_text(&p->module->arena, value->slice.text, value->slice.size);
  return value->attr.text == NULL ? tt_hlo_parse_no_memory(p) : NULL;
}

/* The elements are of the result's type, which is all that says what they are. */
static tt_error *check_constant(tt_hlo_parser *p, const tt_hlo_parsed *value, const tt_hlo_op *op) {
  if (op->results_count == 1 && tt_hlo_type_equal(&op->results[0].type, &value->type))
    return NULL;
  return tt_hlo_parse_fail(p, value->slice.text, TT_INVALID_ARGUMENT,
                           "expected a result of the type of the elements, %s",
                           TT_HLO_SHOW(&value->type));
}

static tt_error *fit_one(tt_hlo_parser *p, tt_hlo_parsed *value, const tt_hlo_op *op) {
  tt_hlo_attr_name name = value->attr.name;
  bool layouts = name == TT_HLO_OPERAND_LAYOUTS || name == TT_HLO_RESULT_LAYOUTS;
  if (value->attr.kind == TT_HLO_ATTR_DENSE)
    return op->code == TT_HLO_CONSTANT && name == TT_HLO_VALUE ? check_constant(p, value, op)
                                                               : fit_dense(p, value);
  if (value->attr.kind != TT_HLO_ATTR_TEXT)
    return NULL;
  if (name == TT_HLO_PRECISION_CONFIG && tt_hlo_slice_is(value->slice, "[]")) {
    value->attr.kind = TT_HLO_ATTR_ENUMS;
    return NULL;
  }
  if (layouts && value->slice.size > 0)
    fit_layouts(p, value, op);
  /* Forms and aliases have their text already. */
  return value->attr.kind == TT_HLO_ATTR_LAYOUTS || value->attr.text != NULL
             ? NULL
             : tt_hlo_parse_keep_text(p, value);
}

tt_error *tt_hlo_parse_fit(tt_hlo_parser *p, const tt_hlo_draft *draft, tt_hlo_op *op) {
  op->attrs_count = (uint32_t)((p->attrs.size - draft->attrs) / sizeof(tt_hlo_parsed));
  op->attrs = tt_arena_array(&p->module->arena, op->attrs_count, sizeof *op->attrs);
  if (op->attrs == NULL)
    return tt_hlo_parse_no_memory(p);
  for (uint32_t i = 0; i < op->attrs_count; i++) {
    tt_hlo_parsed *value = (tt_hlo_parsed *)(void *)(p->attrs.data + draft->attrs) + i;
    TT_RETURN_IF_ERROR(fit_one(p, value, op));
    op->attrs[i] = value->attr;
  }
  return NULL;
}
