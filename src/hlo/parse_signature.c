/* `: types` behind an operation: what its results are; those of its operands are known already. */
#include "hlo/parse_internal.h"

static tt_error *push_type(tt_hlo_parser *p) {
  tt_hlo_type type = {0};
  TT_RETURN_IF_ERROR(tt_hlo_parse_type(p, &type));
  tt_bytes_append(&p->types, &type, sizeof type);
  return p->types.failed ? tt_hlo_parse_no_memory(p) : NULL;
}

tt_error *tt_hlo_parse_types(tt_hlo_parser *p) {
  do
    TT_RETURN_IF_ERROR(push_type(p));
  while (tt_hlo_parse_take(p, ','));
  return NULL;
}

static tt_error *parse_bracketed(tt_hlo_parser *p) {
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '('));
  if (tt_hlo_parse_take(p, ')'))
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_parse_types(p));
  return tt_hlo_parse_expect(p, ')');
}

static const tt_hlo_type *types_from(const tt_hlo_parser *p, size_t height, size_t *out_count) {
  *out_count = (p->types.size - height) / sizeof(tt_hlo_type);
  return *out_count == 0 ? NULL : (const void *)(p->types.data + height);
}

static tt_error *wrong_count(tt_hlo_parser *p, const char *at, size_t want, size_t got) {
  return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT, "expected %zu types, got %zu", want, got);
}

static tt_error *check_operand(tt_hlo_parser *p, const tt_hlo_draft *draft, size_t i,
                               const tt_hlo_type *type, const char *at) {
  const tt_hlo_type *own = &tt_hlo_draft_operand(p, draft)[i]->type;
  if (TT_LIKELY(tt_hlo_type_equal(own, type)))
    return NULL;
  return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT,
                           "expected %s for operand %zu, as it is defined, got %s",
                           TT_HLO_SHOW(own), i, TT_HLO_SHOW(type));
}

tt_error *tt_hlo_parse_check_types(tt_hlo_parser *p, const tt_hlo_draft *draft, size_t height,
                                   const char *at) {
  size_t count = 0, operands = tt_hlo_draft_operands(p, draft);
  const tt_hlo_type *types = types_from(p, height, &count);
  if (count != operands)
    return wrong_count(p, at, operands, count);
  for (size_t i = 0; i < count; i++)
    TT_RETURN_IF_ERROR(check_operand(p, draft, i, &types[i], at));
  return NULL;
}

/* Behind the types of the operands: `-> results`, with brackets or a single one. */
static tt_error *parse_results(tt_hlo_parser *p, const tt_hlo_draft *draft, size_t height,
                               const char *at) {
  TT_RETURN_IF_ERROR(tt_hlo_parse_check_types(p, draft, height, at));
  p->types.size = height;
  TT_RETURN_IF_ERROR(tt_hlo_parse_arrow(p));
  return tt_hlo_parse_peek(p) == '(' ? parse_bracketed(p) : push_type(p);
}

/* The forms without an arrow say less. They are one type for all; for each operand one; that of a
 * select's condition and of the rest; that of complex numbers whose parts are the operands. */
static tt_error *spread(tt_hlo_parser *p, const tt_hlo_draft *draft, size_t height,
                        const char *at) {
  size_t count = 0, operands = tt_hlo_draft_operands(p, draft);
  const tt_hlo_type *types = types_from(p, height, &count);
  size_t wanted = draft->code == TT_HLO_SELECT ? 2 : 1;
  if (draft->code == TT_HLO_RETURN || draft->code == TT_HLO_OPTIMIZATION_BARRIER) {
    TT_RETURN_IF_ERROR(tt_hlo_parse_check_types(p, draft, height, at));
    if (draft->code == TT_HLO_RETURN)
      p->types.size = height;
    return NULL;
  }
  if (count != wanted)
    return wrong_count(p, at, wanted, count);
  tt_hlo_type first = types[0], last = types[count - 1];
  if (draft->code == TT_HLO_COMPLEX)
    first.dtype = tt_dtype_real(first.dtype);
  for (size_t i = 0; i < operands; i++)
    TT_RETURN_IF_ERROR(
        check_operand(p, draft, i, draft->code == TT_HLO_SELECT && i > 0 ? &last : &first, at));
  p->types.size = height;
  tt_bytes_append(&p->types, &last, sizeof last);
  return NULL;
}

tt_error *tt_hlo_parse_signature(tt_hlo_parser *p, const tt_hlo_draft *draft) {
  size_t height = p->types.size;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ':'));
  bool function = tt_hlo_parse_peek(p) == '(';
  const char *at = p->at;
  TT_RETURN_IF_ERROR(function ? parse_bracketed(p) : tt_hlo_parse_types(p));
  if (function || tt_hlo_parse_peek(p) == '-') /* CHLO's have no brackets before the arrow */
    return parse_results(p, draft, height, at);
  return spread(p, draft, height, at);
}
