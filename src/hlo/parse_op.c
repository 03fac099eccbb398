/* One operation: names of the results, its own name, and then the generic form or its own. */
#include "hlo/parse_internal.h"

/* ---- operands ---- */

tt_error *tt_hlo_parse_operand(tt_hlo_parser *p) {
  tt_hlo_value *value = NULL;
  tt_hlo_parse_peek(p);
  const char *at = p->at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_use(p, &value));
  if (tt_hlo_is_tuple(value))
    return tt_hlo_parse_fail(p, at, TT_UNIMPLEMENTED, "a tuple as an operand");
  tt_bytes_append(&p->operands, &value, sizeof(tt_hlo_value *));
  return p->operands.failed ? tt_hlo_parse_no_memory(p) : NULL;
}

tt_error *tt_hlo_parse_operands(tt_hlo_parser *p) {
  if (tt_hlo_parse_peek(p) != '%')
    return NULL;
  do
    TT_RETURN_IF_ERROR(tt_hlo_parse_operand(p));
  while (tt_hlo_parse_take(p, ','));
  return NULL;
}

/* ---- results ---- */

/* `%a, %b:2 =`, when it is there. */
static tt_error *parse_packs(tt_hlo_parser *p) {
  if (tt_hlo_parse_peek(p) != '%')
    return NULL;
  do {
    tt_hlo_parse_pack pack = {.count = 1};
    int64_t count = 1;
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '%'));
    TT_RETURN_IF_ERROR(tt_hlo_parse_suffix(p, "a name behind %", &pack.name));
    if (tt_hlo_parse_take(p, ':')) {
      TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &count));
      if (count < 1)
        return tt_hlo_parse_fail(p, pack.name.text, TT_INVALID_ARGUMENT,
                                 "expected one result or more, got %lld", (long long)count);
    }
    pack.count = (size_t)count;
    tt_bytes_append(&p->packs, &pack, sizeof pack);
  } while (tt_hlo_parse_take(p, ','));
  return tt_hlo_parse_expect(p, '=');
}

/* ---- the name ---- */

/* Operations that have another name in text than here. chlo.tan is older than stablehlo.tan,
 * chlo.constant than stablehlo.constant, and create_token than after_all without operands. */
static const struct {
  const char *name;
  tt_hlo_code code;
  bool call;
} other_names[] = {{"func.return", TT_HLO_RETURN, false},
                   {"return", TT_HLO_RETURN, false},
                   {"sdy.return", TT_HLO_RETURN, false},
                   {"func.call", TT_HLO_COMPOSITE, true},
                   {"call", TT_HLO_COMPOSITE, true},
                   {"chlo.tan", TT_HLO_TAN, false},
                   {"stablehlo.create_token", TT_HLO_AFTER_ALL, false},
                   {"chlo.constant", TT_HLO_CONSTANT, false}};

static tt_error *find_code(tt_hlo_parser *p, tt_hlo_slice name, tt_hlo_draft *draft) {
  int size = (int)(name.size > 64 ? 64 : name.size);
  int code = tt_hlo_parse_find_op(p, name);
  for (size_t i = 0; i < TT_COUNT(other_names) && code < 0; i++)
    if (tt_hlo_slice_is(name, other_names[i].name)) {
      code = (int)other_names[i].code;
      draft->call = other_names[i].call;
    }
  if (code < 0 && tt_hlo_slice_is(name, "stablehlo.dot")) {
    code = TT_HLO_DOT_GENERAL;
    draft->dot = true;
  }
  if (code < 0 && tt_hlo_slice_is(name, "stablehlo.broadcast")) {
    code = TT_HLO_BROADCAST_IN_DIM;
    draft->broadcast = true;
  }
  if (code < 0 && memchr(name.text, '.', name.size) == NULL)
    return tt_hlo_parse_fail(p, name.text, TT_INVALID_ARGUMENT, "expected an operation, got '%.*s'",
                             size, name.text);
  if (code < 0)
    return tt_hlo_parse_fail(p, name.text, TT_UNIMPLEMENTED, "operation %.*s", size, name.text);
  draft->code = (tt_hlo_code)code;
  p->manual = p->manual || draft->code == TT_HLO_SDY_MANUAL_COMPUTATION;
  return NULL;
}

/* "stablehlo.add" with its quotes taken off. */
static tt_error *parse_quoted_name(tt_hlo_parser *p, tt_hlo_slice *out_name) {
  const char *start = ++p->at;
  const char *end = memchr(start, '"', (size_t)(p->end - start));
  if (end == NULL) {
    p->at = p->end;
    return tt_hlo_parse_expected(p, "a closing quote");
  }
  *out_name = (tt_hlo_slice){start, (size_t)(end - start)};
  p->at = end + 1;
  return NULL;
}

/* ---- the generic form ---- */

static tt_error *parse_regions(tt_hlo_parser *p) {
  if (!tt_hlo_parse_take(p, '('))
    return NULL;
  do
    TT_RETURN_IF_ERROR(tt_hlo_parse_region(p, p->args.size));
  while (tt_hlo_parse_take(p, ','));
  return tt_hlo_parse_expect(p, ')');
}

tt_error *tt_hlo_parse_generic_rest(tt_hlo_parser *p, tt_hlo_draft *draft) {
  if (tt_hlo_parse_take(p, '<')) {
    TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_op_entry, draft));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '>'));
  }
  TT_RETURN_IF_ERROR(parse_regions(p));
  TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_op_entry, draft));
  return tt_hlo_parse_signature(p, draft);
}

static void push_call_name(tt_hlo_parser *p) {
  tt_hlo_parse_push_attr(
      p, (tt_hlo_attr){.name = TT_HLO_NAME, .kind = TT_HLO_ATTR_STRING, .text = "func.call"});
}

static tt_error *parse_generic(tt_hlo_parser *p, tt_hlo_draft *draft) {
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '('));
  TT_RETURN_IF_ERROR(tt_hlo_parse_operands(p));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ')'));
  if (draft->call)
    push_call_name(p);
  return tt_hlo_parse_generic_rest(p, draft);
}

/* ---- forms of other dialects ---- */

/* `call @f(%a) : (...) -> ...` */
static tt_error *parse_call(tt_hlo_parser *p, tt_hlo_draft *draft) {
  tt_hlo_attr callee = {.name = TT_HLO_DECOMPOSITION, .kind = TT_HLO_ATTR_SYMBOL};
  TT_RETURN_IF_ERROR(tt_hlo_parse_symbol(p, &callee.text));
  push_call_name(p);
  tt_hlo_parse_push_attr(p, callee);
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '('));
  TT_RETURN_IF_ERROR(tt_hlo_parse_operands(p));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ')'));
  TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_op_entry, draft));
  return tt_hlo_parse_signature(p, draft);
}

/* `%1 = sdy.sharding_constraint %0 <@mesh, [...]> : type` says where %0 may lie; %1 is %0. */
static tt_error *parse_constraint(tt_hlo_parser *p, const tt_hlo_draft *draft) {
  tt_hlo_value *value = NULL;
  tt_hlo_place place = {0};
  tt_hlo_type type = {0};
  bool has_alias = false;
  TT_RETURN_IF_ERROR(tt_hlo_parse_use(p, &value));
  if (tt_hlo_parse_peek(p) != '<')
    return tt_hlo_parse_expected(p, "a sharding in <>");
  const char *at = p->at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_skip_brackets(p, &has_alias));
  if (memmem(at, (size_t)(p->at - at), "{\"", 2) != NULL && p->sharded_at == NULL)
    p->sharded_at = at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_other, NULL));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ':'));
  TT_RETURN_IF_ERROR(tt_hlo_parse_type(p, &type));
  TT_RETURN_IF_ERROR(tt_hlo_parse_some_location(p, &place));
  if (p->packs.failed || p->packs.size != draft->packs + sizeof(tt_hlo_parse_pack))
    return tt_hlo_parse_fail(p, draft->at, TT_INVALID_ARGUMENT, "expected one result");
  tt_hlo_parse_pack pack;
  memcpy(&pack, p->packs.data + draft->packs, sizeof pack);
  p->packs.size = draft->packs;
  if (pack.count != 1 || !tt_hlo_type_equal(&type, &value->type))
    return tt_hlo_parse_fail(p, draft->at, TT_INVALID_ARGUMENT,
                             "expected one result of the operand's type, %s",
                             TT_HLO_SHOW(&value->type));
  return tt_hlo_parse_define(p, pack.name, value, 1);
}

/* ---- the whole ---- */

tt_error *tt_hlo_parse_op(tt_hlo_parser *p) {
  tt_hlo_draft draft = {.operands = p->operands.size,
                        .attrs = p->attrs.size,
                        .types = p->types.size,
                        .regions = p->regions.size,
                        .packs = p->packs.size};
  tt_hlo_slice name = {0};
  tt_hlo_place place = {0};
  TT_RETURN_IF_ERROR(parse_packs(p));
  bool generic = tt_hlo_parse_peek(p) == '"';
  draft.at = p->at;
  if (generic)
    TT_RETURN_IF_ERROR(parse_quoted_name(p, &name));
  else
    name = tt_hlo_parse_word(p);
  if (name.size == 0)
    return tt_hlo_parse_expected(p, "an operation");
  if (!generic && tt_hlo_slice_is(name, "sdy.sharding_constraint"))
    return parse_constraint(p, &draft);
  if (tt_hlo_parse_is_tuple_op(name))
    return tt_hlo_parse_tuple_op(p, &draft, name, generic);
  TT_RETURN_IF_ERROR(find_code(p, name, &draft));
  if (generic)
    TT_RETURN_IF_ERROR(parse_generic(p, &draft));
  else if (draft.code == TT_HLO_SDY_MANUAL_COMPUTATION)
    TT_RETURN_IF_ERROR(tt_hlo_parse_manual(p, &draft));
  else if (draft.call)
    TT_RETURN_IF_ERROR(parse_call(p, &draft));
  else if (draft.dot)
    TT_RETURN_IF_ERROR(tt_hlo_parse_dot_form(p, &draft));
  else if (draft.broadcast)
    TT_RETURN_IF_ERROR(tt_hlo_parse_broadcast_form(p, &draft));
  else
    TT_RETURN_IF_ERROR(tt_hlo_parse_form(p, &draft));
  if (draft.dot)
    TT_RETURN_IF_ERROR(tt_hlo_parse_dot_axes(p, &draft));
  if (draft.broadcast)
    TT_RETURN_IF_ERROR(tt_hlo_parse_broadcast_axes(p, &draft));
  TT_RETURN_IF_ERROR(tt_hlo_parse_some_location(p, &place));
  return tt_hlo_parse_link(p, &draft, place);
}
