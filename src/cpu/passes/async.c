/* What is started asynchronously is done where it is started. The devices of a run wait for each
 * other at a collective anyway, and a start and its end read no memory that changes between them,
 * so that results and errors are those of the operation itself. */
#include "cpu/passes/edit.h"
#include "cpu/passes/passes.h"

/* Who reads an argument of `body` reads the operand of `start` in its place. */
static void bind_args(tt_hlo_op *inner, const tt_hlo_op *start) {
  const tt_hlo_region *body = start->regions[0];
  for (uint32_t i = 0; i < inner->operands_count; i++)
    if (inner->operands[i] >= body->args && inner->operands[i] < body->args + body->args_count)
      inner->operands[i] = start->operands[inner->operands[i]->index];
  for (uint32_t i = 0; i < inner->regions_count; i++)
    for (tt_hlo_op *op = inner->regions[i]->first; op != NULL; op = op->next)
      bind_args(op, start);
}

/* `op` leaves its region: who reads its result from now on reads `value`. */
static tt_error *replace(tt_hlo_module *module, tt_hlo_op *op, tt_hlo_value *value) {
  tt_cpu_unlink_op(op);
  op->parent = NULL;
  op->operands_count = 1;
  op->operands = tt_arena_copy(&module->arena, &value, sizeof value);
  return op->operands == NULL ? tt_error_no_memory(sizeof value) : NULL;
}

/* The one operation of the body takes the place of `start`. */
static tt_error *put_inner(tt_hlo_module *module, tt_hlo_op *start) {
  tt_hlo_region *body = start->regions[0];
  tt_hlo_op *inner = body->first;
  /* The body may return an argument past its operation. */
  const tt_hlo_value *returned = body->last->operands[0];
  tt_hlo_value *value =
      returned->op == NULL ? start->operands[returned->index] : body->last->operands[0];
  bind_args(inner, start);
  inner->parent = start->parent;
  inner->previous = start->previous;
  inner->next = start;
  *(start->previous == NULL ? &start->parent->first : &start->previous->next) = inner;
  start->previous = inner;
  for (uint32_t i = 0; i < inner->regions_count; i++)
    inner->regions[i]->outer = start->parent;
  return replace(module, start, value);
}

static tt_error *check_call(const tt_hlo_op *op) {
  bool future = false;
  for (uint32_t i = 0; i < op->operands_count; i++)
    future = future || op->operands[i]->type.future;
  for (uint32_t i = 0; i < op->results_count; i++)
    future = future || op->results[i].type.future;
  return future ? tt_error_new(TT_UNIMPLEMENTED, "stablehlo.custom_call: futures") : NULL;
}

static tt_error *visit_region(tt_hlo_module *module, tt_hlo_region *region) {
  for (tt_hlo_op *op = region->first, *next = NULL; op != NULL; op = next) {
    next = op->next;
    for (uint32_t i = 0; i < op->operands_count; i++)
      op->operands[i] = tt_cpu_resolve(op->operands[i]);
    if (op->code == TT_HLO_CUSTOM_CALL)
      TT_RETURN_IF_ERROR(check_call(op));
    for (uint32_t i = 0; i < op->regions_count; i++)
      TT_RETURN_IF_ERROR(visit_region(module, op->regions[i]));
    if (op->code == TT_HLO_ASYNC_START)
      TT_RETURN_IF_ERROR(put_inner(module, op));
    else if (op->code == TT_HLO_ASYNC_DONE)
      TT_RETURN_IF_ERROR(replace(module, op, op->operands[0]));
  }
  return NULL;
}

static void settle_types(tt_hlo_region *region) {
  for (uint32_t i = 0; i < region->args_count; i++)
    region->args[i].type.future = false;
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    for (uint32_t i = 0; i < op->results_count; i++)
      op->results[i].type.future = false;
    for (uint32_t i = 0; i < op->regions_count; i++)
      settle_types(op->regions[i]);
  }
}

tt_error *tt_cpu_join_async(tt_hlo_module *module) {
  const tt_hlo_region *main = module->funcs->body;
  for (uint32_t i = 0; i < main->args_count; i++)
    if (main->args[i].type.future)
      return tt_error_new(TT_UNIMPLEMENTED, "@main: argument %u is a future", i);
  for (uint32_t i = 0; i < main->last->operands_count; i++)
    if (main->last->operands[i]->type.future)
      return tt_error_new(TT_UNIMPLEMENTED, "@main: result %u is a future", i);
  for (tt_hlo_func *func = module->funcs; func != NULL; func = func->next)
    TT_RETURN_IF_ERROR(visit_region(module, func->body));
  for (tt_hlo_func *func = module->funcs; func != NULL; func = func->next)
    settle_types(func->body);
  return NULL;
}
