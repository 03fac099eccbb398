#include "cpu/passes/clone.h"

#include "cpu/passes/edit.h"

uint32_t tt_cpu_number_values(tt_hlo_region *region, uint32_t next, int64_t *ops) {
  for (uint32_t i = 0; i < region->args_count; i++)
    region->args[i].number = next++;
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    for (uint32_t i = 0; i < op->results_count; i++)
      op->results[i].number = next++;
    for (uint32_t i = 0; i < op->regions_count; i++)
      next = tt_cpu_number_values(op->regions[i], next, ops);
    ++*ops;
  }
  return next;
}

static tt_error *clone_region(tt_cpu_cloner *c, const tt_hlo_region *from, tt_hlo_region *outer,
                              tt_hlo_region **out_region);

tt_error *tt_cpu_clone_op(tt_cpu_cloner *c, const tt_hlo_op *from, tt_hlo_region *region,
                          tt_hlo_op **out_op) {
  tt_arena *arena = c->arena;
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
    tt_hlo_value **made = &c->made[from->results[i].number];
    *made = *made == NULL ? &op->results[i] : *made;
  }
  for (uint32_t i = 0; i < op->regions_count; i++)
    TT_RETURN_IF_ERROR(clone_region(c, from->regions[i], region, &op->regions[i]));
  *out_op = op;
  return NULL;
}

tt_error *tt_cpu_clone_ops(tt_cpu_cloner *c, const tt_hlo_region *from, tt_hlo_region *to) {
  for (const tt_hlo_op *op = from->first; op != NULL; op = op->next) {
    tt_hlo_op *made = NULL;
    TT_RETURN_IF_ERROR(tt_cpu_clone_op(c, op, to, &made));
    tt_cpu_append_op(to, made);
  }
  return NULL;
}

static tt_error *clone_region(tt_cpu_cloner *c, const tt_hlo_region *from, tt_hlo_region *outer,
                              tt_hlo_region **out_region) {
  tt_arena *arena = c->arena;
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
  return tt_cpu_clone_ops(c, from, region);
}
