/* Makes operations out of what was read. */
#include "hlo/parse_internal.h"

static void link_op(tt_hlo_region *region, tt_hlo_op *op) {
  op->parent = region;
  op->previous = region->last;
  if (region->last != NULL)
    region->last->next = op;
  else
    region->first = op;
  region->last = op;
}

static void *copy_from(tt_hlo_parser *p, const tt_bytes *stack, size_t height) {
  return stack->failed
             ? NULL
             : tt_arena_copy(&p->module->arena, stack->data == NULL ? NULL : stack->data + height,
                             stack->size - height);
}

static tt_error *copy_parts(tt_hlo_parser *p, const tt_hlo_draft *draft, tt_hlo_op *op) {
  const tt_hlo_type *types =
      (const void *)(p->types.data == NULL ? NULL : p->types.data + draft->types);
  op->operands_count = (uint32_t)tt_hlo_draft_operands(p, draft);
  op->regions_count = (uint32_t)((p->regions.size - draft->regions) / sizeof(tt_hlo_region *));
  op->results_count = (uint32_t)((p->types.size - draft->types) / sizeof(tt_hlo_type));
  op->operands = copy_from(p, &p->operands, draft->operands);
  op->regions = copy_from(p, &p->regions, draft->regions);
  op->results = tt_arena_array(&p->module->arena, op->results_count, sizeof *op->results);
  if (op->operands == NULL || op->regions == NULL || op->results == NULL || p->types.failed ||
      p->attrs.failed || p->packs.failed)
    return tt_hlo_parse_no_memory(p);
  for (uint32_t i = 0; i < op->results_count; i++)
    op->results[i] = (tt_hlo_value){.type = types[i], .op = op, .index = i};
  return NULL;
}

/* `%a, %b:2 =` names the results one after the other. */
static tt_error *name_results(tt_hlo_parser *p, const tt_hlo_draft *draft, tt_hlo_op *op) {
  size_t count = (p->packs.size - draft->packs) / sizeof(tt_hlo_parse_pack), at = 0;
  for (size_t i = 0; i < count; i++) {
    const tt_hlo_parse_pack *pack = (const void *)(p->packs.data + draft->packs);
    pack += i;
    if (pack->count > op->results_count - at ||
        (i + 1 == count && pack->count != op->results_count - at))
      return tt_hlo_parse_fail(p, draft->at, TT_INVALID_ARGUMENT,
                               "expected a name on the left for each of the %u results",
                               op->results_count);
    TT_RETURN_IF_ERROR(tt_hlo_parse_define(p, pack->name, op->results + at, pack->count));
    at += pack->count;
  }
  return NULL;
}

tt_error *tt_hlo_parse_link(tt_hlo_parser *p, const tt_hlo_draft *draft, tt_hlo_place place) {
  tt_hlo_op *op = tt_arena_alloc(&p->module->arena, sizeof *op);
  if (op == NULL)
    return tt_hlo_parse_no_memory(p);
  op->code = draft->code;
  TT_RETURN_IF_ERROR(copy_parts(p, draft, op));
  TT_RETURN_IF_ERROR(tt_hlo_parse_fit(p, draft, op));
  TT_RETURN_IF_ERROR(name_results(p, draft, op));
  tt_hlo_parse_set_location(p, op, place);
  link_op(p->region, op);
  p->operands.size = draft->operands;
  p->attrs.size = draft->attrs;
  p->types.size = draft->types;
  p->regions.size = draft->regions;
  p->packs.size = draft->packs;
  return NULL;
}

tt_error *tt_hlo_parse_append(tt_hlo_parser *p, tt_hlo_region *region, tt_hlo_code code,
                              tt_hlo_value *const *operands, uint32_t operands_count,
                              const tt_hlo_type *result, tt_hlo_op **out_op) {
  tt_arena *arena = &p->module->arena;
  tt_hlo_op *op = tt_arena_alloc(arena, sizeof *op);
  if (op == NULL)
    return tt_hlo_parse_no_memory(p);
  op->code = code;
  op->operands_count = operands_count;
  op->results_count = result != NULL;
  op->operands = tt_arena_copy(arena, operands, operands_count * sizeof(tt_hlo_value *));
  op->results = tt_arena_array(arena, op->results_count, sizeof *op->results);
  op->attrs = tt_arena_alloc(arena, 0);
  op->regions = tt_arena_alloc(arena, 0);
  if (op->operands == NULL || op->results == NULL || op->attrs == NULL || op->regions == NULL)
    return tt_hlo_parse_no_memory(p);
  if (result != NULL)
    op->results[0] = (tt_hlo_value){.type = *result, .op = op};
  link_op(region, op);
  *out_op = op;
  return NULL;
}
