/* Operations that are started here and awaited there: async_start, async_done. */
#include "hlo/hlo_internal.h"

/* Regions, from one inside to that of async_start. */
typedef struct scope {
  const tt_hlo_region *region;
  const struct scope *outer;
} scope;

static bool is_made_in(const tt_hlo_value *value, const scope *s) {
  for (; s != NULL; s = s->outer)
    if (value->op != NULL
            ? value->op->parent == s->region
            : value >= s->region->args && value < s->region->args + s->region->args_count)
      return true;
  return false;
}

/* What is started sees nothing but its operands. */
static tt_error *check_isolated(const tt_hlo_op *op, const tt_hlo_region *region,
                                const scope *outer) {
  scope s = {region, outer};
  for (const tt_hlo_op *inner = region->first; inner != NULL; inner = inner->next) {
    for (uint32_t i = 0; i < inner->operands_count; i++)
      TT_HLO_CHECK(inner->operands[i] != NULL && is_made_in(inner->operands[i], &s),
                   "body: operand %u of %s is a value from outside", i,
                   tt_hlo_op_short_name(inner));
    for (uint32_t i = 0; i < inner->regions_count; i++)
      if (inner->regions[i] != NULL)
        TT_RETURN_IF_ERROR(check_isolated(op, inner->regions[i], &s));
  }
  return NULL;
}

static bool may_be_started(const tt_hlo_op *inner) {
  static const tt_hlo_code slices[] = {TT_HLO_SLICE, TT_HLO_DYNAMIC_SLICE,
                                       TT_HLO_DYNAMIC_UPDATE_SLICE};
  bool may = (unsigned)inner->code < TT_HLO_OP_COUNT &&
             (tt_hlo_ops[inner->code].traits & TT_HLO_COLLECTIVE) != 0;
  for (size_t i = 0; i < TT_COUNT(slices); i++)
    may = may || inner->code == slices[i];
  return may;
}

tt_error *tt_hlo_infer_async_start(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_op *end = NULL;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_check_regions(op, 1));
  TT_RETURN_IF_ERROR(tt_hlo_region_return(op, 0, "body", &end));
  const tt_hlo_region *body = op->regions[0];
  TT_HLO_CHECK(body->first != end && body->first->next == end,
               "body: expected one operation and a return"); /* async_start_c1 */
  TT_HLO_CHECK(may_be_started(body->first), "body: expected a collective or a slice, got %s",
               tt_hlo_op_short_name(body->first)); /* async_start_c2 */
  TT_HLO_CHECK(body->args_count == op->operands_count, "body: expected %u arguments, got %u",
               op->operands_count, body->args_count); /* async_start_c3 */
  for (uint32_t i = 0; i < op->operands_count; i++) { /* async_start_i1, async_start_c3 */
    TT_HLO_CHECK(!tt_hlo_operand(op, i)->future, "operand %u is a future", i);
    TT_HLO_CHECK(tt_hlo_type_equal(tt_hlo_operand(op, i), &body->args[i].type),
                 "body: argument %u: expected %s, got %s", i, TT_HLO_SHOW(tt_hlo_operand(op, i)),
                 TT_HLO_SHOW(&body->args[i].type));
  }
  TT_RETURN_IF_ERROR(check_isolated(op, body, NULL));
  TT_HLO_CHECK(end->operands_count == 1, "body: expected 1 result, got %u", end->operands_count);
  const tt_hlo_type *type = &end->operands[0]->type;
  TT_HLO_CHECK(!type->token, "body: expected a tensor, got %s", TT_HLO_SHOW(type));
  op->results[0].type = *type; /* async_start_c4 */
  op->results[0].type.future = true;
  return NULL;
}

tt_error *tt_hlo_infer_async_done(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *type = tt_hlo_operand(op, 0);
  (void)arena;
  TT_HLO_CHECK(type->future, "expected a future, got %s", TT_HLO_SHOW(type)); /* async_done_i1 */
  op->results[0].type = *type;                                                /* async_done_c1 */
  op->results[0].type.future = false;
  return NULL;
}
