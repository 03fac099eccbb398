/* Operations that the IR says in another way: dot is a dot_general, and a tuple is a list of
 * values.
 */
#include "hlo/parse_internal.h"

/* ---- dot ---- */

tt_error *tt_hlo_parse_dot_form(tt_hlo_parser *p, tt_hlo_draft *draft) {
  TT_RETURN_IF_ERROR(tt_hlo_parse_operand(p));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ','));
  TT_RETURN_IF_ERROR(tt_hlo_parse_operand(p));
  if (tt_hlo_parse_take(p, ',')) {
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "precision"));
    TT_RETURN_IF_ERROR(tt_hlo_parse_precision(p));
  }
  TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_op_entry, draft));
  return tt_hlo_parse_signature(p, draft);
}

/* The last of the left operand with the first of the right one. */
tt_error *tt_hlo_parse_dot_axes(tt_hlo_parser *p, const tt_hlo_draft *draft) {
  tt_hlo_attr attr = {.name = TT_HLO_DOT_DIMENSION_NUMBERS, .kind = TT_HLO_ATTR_DOT};
  if (tt_hlo_draft_operands(p, draft) != 2)
    return tt_hlo_parse_fail(p, draft->at, TT_INVALID_ARGUMENT, "expected 2 operands for dot");
  const tt_hlo_type *lhs = &tt_hlo_draft_operand(p, draft)[0]->type;
  const tt_hlo_type *rhs = &tt_hlo_draft_operand(p, draft)[1]->type;
  if (lhs->token || rhs->token || lhs->rank < 1 || lhs->rank > 2 || rhs->rank < 1 || rhs->rank > 2)
    return tt_hlo_parse_fail(p, draft->at, TT_INVALID_ARGUMENT,
                             "expected vectors or matrices for dot, got %s and %s",
                             TT_HLO_SHOW(lhs), TT_HLO_SHOW(rhs));
  int64_t *axes = tt_arena_array(&p->module->arena, 2, sizeof *axes);
  tt_hlo_dot_dims *dims = tt_arena_alloc(&p->module->arena, sizeof *dims);
  if (axes == NULL || dims == NULL)
    return tt_hlo_parse_no_memory(p);
  axes[0] = lhs->rank - 1;
  dims->lhs_contract = (tt_hlo_list){1, &axes[0]};
  dims->rhs_contract = (tt_hlo_list){1, &axes[1]};
  attr.dims = dims;
  tt_hlo_parse_push_attr(p, attr);
  return NULL;
}

/* ---- broadcast ---- */

/* The sizes stand in the result's type too. */
tt_error *tt_hlo_parse_broadcast_form(tt_hlo_parser *p, tt_hlo_draft *draft) {
  tt_hlo_list sizes = {0};
  TT_RETURN_IF_ERROR(tt_hlo_parse_operand(p));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ','));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "sizes"));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '='));
  TT_RETURN_IF_ERROR(tt_hlo_parse_list(p, &sizes));
  TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_op_entry, draft));
  return tt_hlo_parse_signature(p, draft);
}

/* New dims stand in front. */
tt_error *tt_hlo_parse_broadcast_axes(tt_hlo_parser *p, const tt_hlo_draft *draft) {
  tt_hlo_attr attr = {.name = TT_HLO_BROADCAST_DIMENSIONS, .kind = TT_HLO_ATTR_I64S};
  const tt_hlo_type *result = (const void *)(p->types.data + draft->types);
  size_t height = p->numbers.size;
  if (tt_hlo_draft_operands(p, draft) != 1 || p->types.size != draft->types + sizeof *result ||
      tt_hlo_draft_operand(p, draft)[0]->type.rank > result->rank)
    return tt_hlo_parse_fail(
        p, draft->at, TT_INVALID_ARGUMENT,
        "expected one operand for broadcast, and a result of its rank or more");
  int32_t rank = tt_hlo_draft_operand(p, draft)[0]->type.rank;
  for (int32_t i = 0; i < rank; i++) {
    int64_t axis = result->rank - rank + i;
    tt_bytes_append(&p->numbers, &axis, sizeof axis);
  }
  TT_RETURN_IF_ERROR(tt_hlo_parse_pop_numbers(p, height, &attr.i64s));
  tt_hlo_parse_push_attr(p, attr);
  return NULL;
}

/* ---- tuples ---- */

bool tt_hlo_parse_is_tuple_op(tt_hlo_slice name) {
  return tt_hlo_slice_is(name, "stablehlo.tuple") ||
         tt_hlo_slice_is(name, "stablehlo.get_tuple_element");
}

static tt_error *parse_index_entry(tt_hlo_parser *p, tt_hlo_slice name, bool unit, void *context) {
  tt_hlo_parsed value;
  if (unit || !tt_hlo_slice_is(name, "index"))
    return tt_hlo_parse_other(p, name, unit, NULL);
  TT_RETURN_IF_ERROR(tt_hlo_parse_value(p, &value));
  if (value.attr.kind != TT_HLO_ATTR_I32 && value.attr.kind != TT_HLO_ATTR_I64)
    return tt_hlo_parse_fail(p, name.text, TT_INVALID_ARGUMENT, "expected a number for index");
  *(int64_t *)context = value.attr.i64;
  return NULL;
}

/* `%a, %b` or in brackets, tuples too; and an index in [] or in the dictionary. */
static tt_error *parse_parts(tt_hlo_parser *p, bool generic, bool element, int64_t *index) {
  if (generic)
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '('));
  while (tt_hlo_parse_peek(p) == '%') {
    tt_hlo_value *value = NULL;
    TT_RETURN_IF_ERROR(tt_hlo_parse_use(p, &value));
    tt_bytes_append(&p->operands, &value, sizeof(tt_hlo_value *));
    if (!tt_hlo_parse_take(p, ','))
      break;
  }
  if (generic)
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ')'));
  if (!generic && element) {
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '['));
    TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, index));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ']'));
  }
  if (generic && tt_hlo_parse_take(p, '<')) {
    TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, parse_index_entry, index));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '>'));
  }
  return tt_hlo_parse_dict(p, parse_index_entry, index);
}

/* `: (types) -> type`, or `: tuple<...>`; only that of a result that is no tuple is looked at. */
static tt_error *parse_tuple_signature(tt_hlo_parser *p, const tt_hlo_value *value) {
  bool has_alias = false;
  tt_hlo_type type = {0};
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ':'));
  if (tt_hlo_parse_peek(p) == '(') {
    TT_RETURN_IF_ERROR(tt_hlo_parse_skip_brackets(p, &has_alias));
    TT_RETURN_IF_ERROR(tt_hlo_parse_arrow(p));
  }
  const char *at = p->at;
  if (!tt_hlo_is_tuple(value)) {
    TT_RETURN_IF_ERROR(tt_hlo_parse_type(p, &type));
    return tt_hlo_type_equal(&type, &value->type)
               ? NULL
               : tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT,
                                   "expected the element's type, %s, got %s",
                                   TT_HLO_SHOW(&value->type), TT_HLO_SHOW(&type));
  }
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "tuple"));
  return tt_hlo_parse_peek(p) == '<' ? tt_hlo_parse_skip_brackets(p, &has_alias)
                                     : tt_hlo_parse_expected(p, "'<'");
}

static tt_error *take_element(tt_hlo_parser *p, const tt_hlo_draft *draft, int64_t index,
                              tt_hlo_value **out_value) {
  tt_hlo_value *first =
      tt_hlo_draft_operands(p, draft) == 1 ? tt_hlo_draft_operand(p, draft)[0] : NULL;
  const tt_hlo_tuple *tuple = (const void *)first;
  if (first == NULL || !tt_hlo_is_tuple(first) || index < 0 || index >= tuple->count)
    return tt_hlo_parse_fail(p, draft->at, TT_INVALID_ARGUMENT,
                             "expected a tuple that has an element %lld", (long long)index);
  *out_value = tuple->items[index];
  return NULL;
}

tt_error *tt_hlo_parse_tuple_op(tt_hlo_parser *p, const tt_hlo_draft *draft, tt_hlo_slice name,
                                bool generic) {
  bool element = tt_hlo_slice_is(name, "stablehlo.get_tuple_element");
  int64_t index = -1;
  tt_hlo_value *value = NULL;
  tt_hlo_place place = {0};
  tt_hlo_parse_pack pack = {.count = 0};
  TT_RETURN_IF_ERROR(parse_parts(p, generic, element, &index));
  if (p->operands.failed)
    return tt_hlo_parse_no_memory(p);
  if (element)
    TT_RETURN_IF_ERROR(take_element(p, draft, index, &value));
  else
    TT_RETURN_IF_ERROR(tt_hlo_tuple_new(&p->module->arena, tt_hlo_draft_operand(p, draft),
                                        (uint32_t)tt_hlo_draft_operands(p, draft), &value));
  p->operands.size = draft->operands;
  TT_RETURN_IF_ERROR(parse_tuple_signature(p, value));
  TT_RETURN_IF_ERROR(tt_hlo_parse_some_location(p, &place));
  if (p->packs.failed || p->packs.size > draft->packs + sizeof pack)
    return tt_hlo_parse_fail(p, draft->at, TT_INVALID_ARGUMENT, "expected one result");
  if (p->packs.size == draft->packs)
    return NULL;
  memcpy(&pack, p->packs.data + draft->packs, sizeof pack);
  p->packs.size = draft->packs;
  if (pack.count != 1)
    return tt_hlo_parse_fail(p, draft->at, TT_INVALID_ARGUMENT, "expected one result");
  return tt_hlo_parse_define(p, pack.name, value, 1);
}
