/* Calls in a module with unknown dims: each gets a copy of what it calls, for its own dims. */

#include "cpu/passes/expand.h"
#include "cpu/plan_internal.h"

/* Copies of a function's values by their numbers. */
typedef struct cloner {
  tt_cpu_expand *x;
  tt_hlo_value **made;
  uint32_t next;
} cloner;

static uint32_t number_values(tt_hlo_region *region, uint32_t next, int64_t *ops) {
  for (uint32_t i = 0; i < region->args_count; i++)
    region->args[i].number = next++;
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    for (uint32_t i = 0; i < op->results_count; i++)
      op->results[i].number = next++;
    for (uint32_t i = 0; i < op->regions_count; i++)
      next = number_values(op->regions[i], next, ops);
    ++*ops;
  }
  return next;
}

static tt_error *clone_region(cloner *c, const tt_hlo_region *from, tt_hlo_region *outer,
                              tt_hlo_region **out_region);

static tt_error *clone_op(cloner *c, const tt_hlo_op *from, tt_hlo_region *region,
                          tt_hlo_op **out_op) {
  tt_arena *arena = &c->x->build.module->arena;
  tt_hlo_op *op = tt_arena_copy(arena, from, sizeof *op);
  if (op == NULL)
    return tt_error_no_memory(sizeof *op);
  op->next = op->previous = NULL;
  op->parent = region;
  op->operands = tt_arena_array(arena, from->operands_count, sizeof *op->operands);
  op->results = tt_arena_array(arena, from->results_count, sizeof *op->results);
  op->regions = tt_arena_array(arena, from->regions_count, sizeof *op->regions);
  op->attrs = tt_arena_copy(arena, from->attrs, from->attrs_count * sizeof *op->attrs);
  if (op->operands == NULL || op->results == NULL || op->regions == NULL || op->attrs == NULL)
    return tt_error_no_memory(from->operands_count * sizeof *op->operands);
  for (uint32_t i = 0; i < op->operands_count; i++)
    op->operands[i] = c->made[from->operands[i]->number];
  for (uint32_t i = 0; i < op->results_count; i++) {
    op->results[i] = (tt_hlo_value){.type = from->results[i].type, .op = op, .index = i};
    c->made[from->results[i].number] = &op->results[i];
  }
  for (uint32_t i = 0; i < op->regions_count; i++)
    TT_RETURN_IF_ERROR(clone_region(c, from->regions[i], region, &op->regions[i]));
  *out_op = op;
  return NULL;
}

static tt_error *clone_ops(cloner *c, const tt_hlo_region *from, tt_hlo_region *to) {
  for (const tt_hlo_op *op = from->first; op != NULL; op = op->next) {
    tt_hlo_op *made = NULL;
    TT_RETURN_IF_ERROR(clone_op(c, op, to, &made));
    made->previous = to->last;
    *(to->last == NULL ? &to->first : &to->last->next) = made;
    to->last = made;
  }
  return NULL;
}

static tt_error *clone_region(cloner *c, const tt_hlo_region *from, tt_hlo_region *outer,
                              tt_hlo_region **out_region) {
  tt_arena *arena = &c->x->build.module->arena;
  tt_hlo_region *region = tt_arena_alloc(arena, sizeof *region);
  *out_region = region;
  if (region == NULL)
    return tt_error_no_memory(sizeof *region);
  region->outer = outer;
  region->args_count = from->args_count;
  region->args = tt_arena_array(arena, from->args_count, sizeof *region->args);
  if (region->args == NULL)
    return tt_error_no_memory(from->args_count * sizeof *region->args);
  for (uint32_t i = 0; i < from->args_count; i++) {
    region->args[i] = (tt_hlo_value){.type = from->args[i].type, .index = i};
    c->made[from->args[i].number] = &region->args[i];
  }
  return clone_ops(c, from, region);
}

/* The callee's ops, on a list of their own, on the call's operands. */
static tt_error *clone_body(tt_cpu_expand *x, const tt_hlo_op *call, const tt_hlo_func *func,
                            tt_hlo_region *outer, tt_hlo_region *out_list) {
  tt_error *err = NULL;
  cloner c = {.x = x};
  tt_arena scratch = {0};
  int64_t ops = 0;
  uint32_t count = number_values(func->body, 0, &ops);
  x->ops_left -= ops;
  if (x->ops_left < 0)
    return tt_error_new(TT_UNIMPLEMENTED, "@%s: with its calls inlined the program is too large",
                        func->name);
  c.made = tt_arena_array(&scratch, count, sizeof *c.made);
  if (c.made == NULL)
    return tt_error_no_memory(count * sizeof *c.made);
  for (uint32_t i = 0; i < call->operands_count; i++)
    c.made[func->body->args[i].number] = call->operands[i];
  err = clone_ops(&c, func->body, out_list);
  /* Regions that stand in the function itself stand in the caller's now. */
  for (tt_hlo_op *op = out_list->first; op != NULL; op = op->next)
    for (uint32_t i = 0; i < op->regions_count && err == NULL; i++)
      op->regions[i]->outer = outer;
  tt_arena_reset(&scratch);
  return err;
}

tt_error *tt_cpu_inline(tt_cpu_expand *x, tt_hlo_op *op, tt_hlo_region *region) {
  const char *name = tt_hlo_op_attr(op, TT_HLO_DECOMPOSITION)->text;
  const tt_hlo_func *func = tt_hlo_func_find(x->build.module, name);
  tt_hlo_region list = {0};
  if (func == NULL || func == x->build.func)
    return tt_error_new(TT_INVALID_ARGUMENT, "no other function is named @%s", name);
  if (++x->calls > TT_CPU_DEPTH_MAX)
    return tt_error_new(TT_INVALID_ARGUMENT, "@%s: calls are nested deeper than %d", name,
                        TT_CPU_DEPTH_MAX);
  TT_RETURN_IF_ERROR(clone_body(x, op, func, region, &list));
  /* The return gives the values; its operands are found as those of any op. */
  tt_hlo_op *end = list.last;
  if (end->previous != NULL)
    end->previous->next = NULL;
  else
    list.first = NULL;
  tt_error *err = tt_cpu_expand_ops(x, list.first, region);
  x->calls--;
  if (err != NULL)
    return tt_error_wrap_take(err, "@%s", name);
  for (uint32_t i = 0; i < end->operands_count; i++)
    end->operands[i] = tt_cpu_resolve(end->operands[i]);
  return tt_cpu_expand_replace(x, op, end->operands);
}
