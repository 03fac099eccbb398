/* Calls in a module with unknown dims: each gets a copy of what it calls, for its own dims. */

#include "cpu/passes/clone.h"
#include "cpu/passes/expand.h"
#include "cpu/plan_internal.h"

/* The callee's ops, on a list of their own, on the call's operands. */
static tt_error *clone_body(tt_cpu_expand *x, const tt_hlo_op *call, const tt_hlo_func *func,
                            tt_hlo_region *outer, tt_hlo_region *out_list) {
  tt_error *err = NULL;
  tt_cpu_cloner c = {.arena = &x->build.module->arena};
  tt_arena scratch = {0};
  int64_t ops = 0;
  uint32_t count = tt_cpu_number_values(func->body, 0, &ops);
  x->ops_left -= ops;
  if (x->ops_left < 0)
    return tt_error_new(TT_UNIMPLEMENTED, "@%s: with its calls inlined the program is too large",
                        func->name);
  c.made = tt_arena_array(&scratch, count, sizeof *c.made);
  if (c.made == NULL)
    return tt_error_no_memory(count * sizeof *c.made);
  for (uint32_t i = 0; i < call->operands_count; i++)
    c.made[func->body->args[i].number] = call->operands[i];
  err = tt_cpu_clone_ops(&c, func->body, out_list);
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
