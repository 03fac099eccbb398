/* What Shardy adds to StableHLO, as far as it says how a program is partitioned already. Shardings
 * are kept as text. */
#include "hlo/parse_internal.h"

static tt_error *keep(tt_hlo_parser *p, const char *from, bool has_alias, const char **out_text) {
  if (has_alias)
    return tt_hlo_parse_fail(p, from, TT_UNIMPLEMENTED, "an alias in a sharding");
  *out_text = tt_arena_text(&p->module->arena, from, (size_t)(p->at - from));
  return *out_text == NULL ? tt_hlo_parse_no_memory(p) : NULL;
}

tt_error *tt_hlo_parse_sharding_entry(tt_hlo_parser *p, tt_hlo_slice name, bool unit,
                                      void *context) {
  bool found = !unit && tt_hlo_slice_is(name, "sdy.sharding");
  tt_hlo_parse_peek(p);
  const char *from = p->at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_other(p, name, unit, NULL));
  if (!found)
    return NULL;
  bool has_alias = memmem(from, (size_t)(p->at - from), "<", 1) == NULL;
  return keep(p, from, has_alias, context);
}

static tt_error *keep_brackets(tt_hlo_parser *p, char opening, const char **out_text) {
  bool has_alias = false;
  if (tt_hlo_parse_peek(p) != opening)
    return tt_hlo_parse_expect(p, opening);
  const char *from = p->at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_skip_brackets(p, &has_alias));
  return keep(p, from, has_alias, out_text);
}

/* `@mesh = <["x"=2]> {attributes}` */
tt_error *tt_hlo_parse_mesh(tt_hlo_parser *p) {
  tt_hlo_place place = {0};
  tt_hlo_mesh *mesh = tt_arena_alloc(&p->module->arena, sizeof *mesh);
  if (mesh == NULL)
    return tt_hlo_parse_no_memory(p);
  TT_RETURN_IF_ERROR(tt_hlo_parse_symbol(p, &mesh->name));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '='));
  TT_RETURN_IF_ERROR(keep_brackets(p, '<', &mesh->text));
  mesh->next = p->module->meshes;
  p->module->meshes = mesh;
  TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_other, NULL));
  return tt_hlo_parse_some_location(p, &place);
}

/* `in_shardings=[...]` and its like; kept as the generic form has it. */
static tt_error *parse_part(tt_hlo_parser *p, tt_hlo_attr_name name, char opening) {
  tt_hlo_attr attr = {.name = name, .kind = TT_HLO_ATTR_TEXT};
  tt_bytes text = {0};
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, tt_hlo_attr_names[name]));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '='));
  TT_RETURN_IF_ERROR(keep_brackets(p, opening, &attr.text));
  tt_bytes_printf(&text, opening == '[' ? "#sdy.sharding_per_value<%s>" : "#sdy<manual_axes%s>",
                  attr.text);
  attr.text = text.failed ? NULL : tt_arena_text(&p->module->arena, text.data, text.size);
  tt_bytes_free(&text);
  tt_hlo_parse_push_attr(p, attr);
  return attr.text == NULL ? tt_hlo_parse_no_memory(p) : NULL;
}

/* `(%0, %1) in_shardings=[...] out_shardings=[...] manual_axes={...} (%a: type, ...) { ops }
 *  {attributes} : types` */
tt_error *tt_hlo_parse_manual(tt_hlo_parser *p, tt_hlo_draft *draft) {
  size_t height = p->args.size;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '('));
  TT_RETURN_IF_ERROR(tt_hlo_parse_operands(p));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ')'));
  TT_RETURN_IF_ERROR(parse_part(p, TT_HLO_IN_SHARDINGS, '['));
  TT_RETURN_IF_ERROR(parse_part(p, TT_HLO_OUT_SHARDINGS, '['));
  TT_RETURN_IF_ERROR(parse_part(p, TT_HLO_MANUAL_AXES, '{'));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '('));
  if (!tt_hlo_parse_take(p, ')')) {
    do
      TT_RETURN_IF_ERROR(tt_hlo_parse_arg_of(p));
    while (tt_hlo_parse_take(p, ','));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ')'));
  }
  TT_RETURN_IF_ERROR(tt_hlo_parse_region(p, height));
  p->args.size = height;
  TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_op_entry, draft));
  return tt_hlo_parse_signature(p, draft);
}
