#include "cpu/passes/edit.h"

static void count_region(tt_hlo_region *region, bool add) {
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    for (uint32_t i = 0; !add && i < op->results_count; i++)
      op->results[i].number = 0;
    for (uint32_t i = 0; add && i < op->operands_count; i++)
      op->operands[i]->number++;
    for (uint32_t i = 0; i < op->regions_count; i++)
      count_region(op->regions[i], add);
  }
}

void tt_cpu_count_uses(tt_hlo_region *region) {
  count_region(region, false);
  count_region(region, true);
}

void tt_cpu_append_op(tt_hlo_region *region, tt_hlo_op *op) {
  op->parent = region;
  op->next = NULL;
  op->previous = region->last;
  *(region->last == NULL ? &region->first : &region->last->next) = op;
  region->last = op;
}

void tt_cpu_unlink_op(tt_hlo_op *op) {
  *(op->previous == NULL ? &op->parent->first : &op->previous->next) = op->next;
  *(op->next == NULL ? &op->parent->last : &op->next->previous) = op->previous;
}

tt_hlo_value *tt_cpu_resolve(tt_hlo_value *value) {
  while (value->op != NULL && value->op->parent == NULL)
    value = value->op->operands[value->index];
  return value;
}

tt_hlo_attr *tt_cpu_find_attr(tt_hlo_op *op, tt_hlo_attr_name name) {
  for (uint32_t i = 0; i < op->attrs_count; i++)
    if (op->attrs[i].name == name)
      return &op->attrs[i];
  return NULL;
}
