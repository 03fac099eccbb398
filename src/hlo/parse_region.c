/* Regions, and the two operations whose own form has some. */
#include "hlo/parse_internal.h"

/* ---- regions ---- */

tt_error *tt_hlo_parse_arg_of(tt_hlo_parser *p) {
  tt_hlo_parse_arg arg = {0};
  tt_hlo_place place = {0};
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '%'));
  TT_RETURN_IF_ERROR(tt_hlo_parse_suffix(p, "a name behind %", &arg.name));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ':'));
  TT_RETURN_IF_ERROR(tt_hlo_parse_type(p, &arg.type));
  TT_RETURN_IF_ERROR(tt_hlo_parse_some_location(p, &place));
  tt_bytes_append(&p->args, &arg, sizeof arg);
  return p->args.failed ? tt_hlo_parse_no_memory(p) : NULL;
}

tt_error *tt_hlo_parse_open(tt_hlo_parser *p, size_t height, tt_hlo_region **out_region) {
  size_t count = (p->args.size - height) / sizeof(tt_hlo_parse_arg);
  tt_hlo_region *region = tt_arena_alloc(&p->module->arena, sizeof *region);
  if (region == NULL)
    return tt_hlo_parse_no_memory(p);
  if (p->depth >= TT_HLO_PARSE_DEPTH)
    return tt_hlo_parse_fail(p, p->at, TT_INVALID_ARGUMENT,
                             "expected at most %d regions within one another", TT_HLO_PARSE_DEPTH);
  region->args = tt_arena_array(&p->module->arena, count, sizeof *region->args);
  if (region->args == NULL)
    return tt_hlo_parse_no_memory(p);
  region->args_count = (uint32_t)count;
  region->outer = p->region;
  for (uint32_t i = 0; i < count; i++) {
    tt_hlo_parse_arg arg;
    memcpy(&arg, p->args.data + height + i * sizeof arg, sizeof arg);
    region->args[i].type = arg.type;
    region->args[i].index = i;
    if (arg.name.size == 0) /* as declarations have it */
      return tt_hlo_parse_fail(p, p->at, TT_INVALID_ARGUMENT,
                               "expected a name for argument %u of a function with a body", i);
    TT_RETURN_IF_ERROR(tt_hlo_parse_define(p, arg.name, &region->args[i], 1));
  }
  p->depth++;
  p->region = region;
  *out_region = region;
  return NULL;
}

tt_error *tt_hlo_parse_body(tt_hlo_parser *p) {
  while (!tt_hlo_parse_take(p, '}')) {
    if (tt_hlo_parse_peek(p) == '^')
      return tt_hlo_parse_fail(p, p->at, TT_UNIMPLEMENTED, "a region of several blocks");
    TT_RETURN_IF_ERROR(tt_hlo_parse_op(p));
  }
  return NULL;
}

/* `^bb0(%x: type, ...):` */
static tt_error *parse_label(tt_hlo_parser *p) {
  tt_hlo_slice name = {0};
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '^'));
  TT_RETURN_IF_ERROR(tt_hlo_parse_suffix(p, "a name behind ^", &name));
  if (tt_hlo_parse_take(p, '(') && !tt_hlo_parse_take(p, ')')) {
    do
      TT_RETURN_IF_ERROR(tt_hlo_parse_arg_of(p));
    while (tt_hlo_parse_take(p, ','));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ')'));
  }
  return tt_hlo_parse_expect(p, ':');
}

tt_error *tt_hlo_parse_region(tt_hlo_parser *p, size_t height) {
  size_t bound = p->names.bound.size, given = p->args.size;
  tt_hlo_region *outer = p->region, *region = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '{'));
  if (given == height && tt_hlo_parse_peek(p) == '^')
    TT_RETURN_IF_ERROR(parse_label(p));
  TT_RETURN_IF_ERROR(tt_hlo_parse_open(p, height, &region));
  p->args.size = given;
  TT_RETURN_IF_ERROR(tt_hlo_parse_body(p));
  tt_hlo_parse_leave(p, bound);
  p->depth--;
  p->region = outer;
  tt_bytes_append(&p->regions, &region, sizeof(tt_hlo_region *));
  return p->regions.failed ? tt_hlo_parse_no_memory(p) : NULL;
}

/* ---- while ---- */

/* `%x = %0`: an argument of both regions, and what it is at first. */
static tt_error *parse_iterated(tt_hlo_parser *p) {
  tt_hlo_parse_arg arg = {0};
  tt_hlo_value *value = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '%'));
  TT_RETURN_IF_ERROR(tt_hlo_parse_suffix(p, "a name behind %", &arg.name));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '='));
  TT_RETURN_IF_ERROR(tt_hlo_parse_use(p, &value));
  if (tt_hlo_is_tuple(value))
    return tt_hlo_parse_fail(p, p->at, TT_UNIMPLEMENTED, "a tuple as an operand");
  arg.type = value->type;
  tt_bytes_append(&p->args, &arg, sizeof arg);
  tt_bytes_append(&p->operands, &value, sizeof(tt_hlo_value *));
  return p->args.failed || p->operands.failed ? tt_hlo_parse_no_memory(p) : NULL;
}

tt_error *tt_hlo_parse_while(tt_hlo_parser *p, tt_hlo_draft *draft) {
  size_t height = p->args.size;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '('));
  if (!tt_hlo_parse_take(p, ')')) {
    do
      TT_RETURN_IF_ERROR(parse_iterated(p));
    while (tt_hlo_parse_take(p, ','));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ')'));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ':'));
    const char *at = p->at;
    TT_RETURN_IF_ERROR(tt_hlo_parse_types(p)); /* of the results too */
    TT_RETURN_IF_ERROR(tt_hlo_parse_check_types(p, draft, draft->types, at));
  }
  if (tt_hlo_parse_take_word(p, "attributes"))
    TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_op_entry, draft));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "cond"));
  TT_RETURN_IF_ERROR(tt_hlo_parse_region(p, height));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "do"));
  TT_RETURN_IF_ERROR(tt_hlo_parse_region(p, height));
  p->args.size = height;
  return NULL;
}

/* ---- reduce ---- */

/* From a, b, c, d to a, c, b, d: the first of each pair, and then the second. */
static tt_error *part_pairs(tt_hlo_parser *p, char *items, size_t pairs, size_t size) {
  char *copy = tt_arena_copy(&p->module->arena, items, 2 * pairs * size);
  if (copy == NULL)
    return tt_hlo_parse_no_memory(p);
  for (size_t i = 0; i < pairs; i++) {
    memcpy(items + i * size, copy + 2 * i * size, size);
    memcpy(items + (pairs + i) * size, copy + (2 * i + 1) * size, size);
  }
  return NULL;
}

/* `(%x init: %0), ...` */
static tt_error *parse_inputs(tt_hlo_parser *p, const tt_hlo_draft *draft) {
  do {
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '('));
    TT_RETURN_IF_ERROR(tt_hlo_parse_operand(p));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "init"));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ':'));
    TT_RETURN_IF_ERROR(tt_hlo_parse_operand(p));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ')'));
  } while (tt_hlo_parse_take(p, ','));
  return part_pairs(p, p->operands.data + draft->operands, tt_hlo_draft_operands(p, draft) / 2,
                    sizeof(tt_hlo_value *));
}

/* `applies stablehlo.add`: the region that the name stands for. */
static tt_error *make_reducer(tt_hlo_parser *p, const tt_hlo_draft *draft, tt_hlo_code code) {
  tt_hlo_type type = {.dtype = tt_hlo_draft_operand(p, draft)[0]->type.dtype};
  tt_hlo_region *region = tt_arena_alloc(&p->module->arena, sizeof *region);
  tt_hlo_value *args = tt_arena_array(&p->module->arena, 2, sizeof *args);
  tt_hlo_op *op = NULL;
  if (region == NULL || args == NULL)
    return tt_hlo_parse_no_memory(p);
  args[0].type = args[1].type = type;
  args[1].index = 1;
  region->args = args;
  region->args_count = 2;
  region->outer = p->region;
  tt_hlo_value *operands[] = {&args[0], &args[1]};
  TT_RETURN_IF_ERROR(tt_hlo_parse_append(p, region, code, operands, 2, &type, &op));
  operands[0] = &op->results[0];
  TT_RETURN_IF_ERROR(tt_hlo_parse_append(p, region, TT_HLO_RETURN, operands, 1, NULL, &op));
  tt_bytes_append(&p->regions, &region, sizeof(tt_hlo_region *));
  return p->regions.failed ? tt_hlo_parse_no_memory(p) : NULL;
}

static tt_error *parse_applied(tt_hlo_parser *p, tt_hlo_code *out_code) {
  tt_hlo_slice name = tt_hlo_parse_word(p);
  int code = tt_hlo_parse_find_op(p, name);
  if (code < 0 || (tt_hlo_ops[code].traits & TT_HLO_COMMUTES) == 0) {
    p->at = name.text;
    return tt_hlo_parse_expected(p, "an operation that commutes, such as stablehlo.add");
  }
  *out_code = (tt_hlo_code)code;
  return NULL;
}

/* `reducer(%a: type, %b: type) (%c: type, %d: type) { ops }`, whose arguments are a, c, b, d. */
static tt_error *parse_reducer(tt_hlo_parser *p) {
  size_t height = p->args.size;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "reducer"));
  while (tt_hlo_parse_take(p, '(')) {
    TT_RETURN_IF_ERROR(tt_hlo_parse_arg_of(p));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ','));
    TT_RETURN_IF_ERROR(tt_hlo_parse_arg_of(p));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ')'));
  }
  size_t count = (p->args.size - height) / sizeof(tt_hlo_parse_arg);
  if (count > 0)
    TT_RETURN_IF_ERROR(part_pairs(p, p->args.data + height, count / 2, sizeof(tt_hlo_parse_arg)));
  TT_RETURN_IF_ERROR(tt_hlo_parse_region(p, height));
  p->args.size = height;
  return NULL;
}

tt_error *tt_hlo_parse_reduce(tt_hlo_parser *p, tt_hlo_draft *draft) {
  tt_hlo_attr dims = {.name = TT_HLO_DIMENSIONS, .kind = TT_HLO_ATTR_I64S};
  tt_hlo_code code = TT_HLO_RETURN;
  TT_RETURN_IF_ERROR(parse_inputs(p, draft));
  bool applies = tt_hlo_parse_take_word(p, "applies");
  if (applies)
    TT_RETURN_IF_ERROR(parse_applied(p, &code));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "across"));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "dimensions"));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '='));
  TT_RETURN_IF_ERROR(tt_hlo_parse_list(p, &dims.i64s));
  tt_hlo_parse_push_attr(p, dims);
  TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_op_entry, draft));
  TT_RETURN_IF_ERROR(tt_hlo_parse_signature(p, draft));
  return applies ? make_reducer(p, draft, code) : parse_reducer(p);
}
