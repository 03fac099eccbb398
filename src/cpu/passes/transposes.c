/* Before a plan is made: a convolution reads what a reverse or a transpose of its filter, or a
 * transpose of its input, would copy, and writes what a transpose of its result would. Gradients,
 * and images whose channels lie side by side, come in this form.
 *
 * Values are numbered by their uses meanwhile, so that ops which nobody reads any more can go. */
#include <string.h>

#include "cpu/passes/edit.h"
#include "cpu/passes/passes.h"
#include "cpu/plan_internal.h"

static bool has_convolution(const tt_hlo_region *region) {
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    if (op->code == TT_HLO_CONVOLUTION)
      return true;
    for (uint32_t i = 0; i < op->regions_count; i++)
      if (has_convolution(op->regions[i]))
        return true;
  }
  return false;
}

/* Operand `i` becomes that of the op that made it. */
static void bypass(tt_hlo_op *op, uint32_t i) {
  tt_hlo_op *made = op->operands[i]->op;
  op->operands[i] = made->operands[0];
  if (--made->results[0].number == 0)
    tt_cpu_unlink_op(made); /* one use of its operand goes, one comes */
  else
    made->operands[0]->number++;
}

static tt_error *add_attr(tt_arena *arena, tt_hlo_op *op, tt_hlo_attr attr) {
  tt_hlo_attr *attrs = tt_arena_array(arena, op->attrs_count + 1, sizeof *attrs);
  if (attrs == NULL)
    return tt_error_no_memory(sizeof *attrs);
  if (op->attrs_count > 0)
    memcpy(attrs, op->attrs, op->attrs_count * sizeof *attrs);
  attrs[op->attrs_count++] = attr;
  op->attrs = attrs;
  return NULL;
}

/* Where `dim` stands in the list; -1. */
static int32_t place_in(const tt_hlo_list *list, int64_t dim) {
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i] == dim)
      return (int32_t)i;
  return -1;
}

static tt_error *fold_reverse(tt_arena *arena, tt_hlo_op *op, bool *out_done) {
  const tt_hlo_conv_dims *dims = tt_cpu_find_attr(op, TT_HLO_DIMENSION_NUMBERS)->dims;
  tt_hlo_list axes = tt_cpu_attr_list(op->operands[1]->op, TT_HLO_DIMENSIONS);
  size_t count = dims->kernel_spatial.count;
  tt_hlo_attr *old = tt_cpu_find_attr(op, TT_HLO_WINDOW_REVERSAL);
  for (size_t i = 0; i < axes.count; i++)
    if (place_in(&dims->kernel_spatial, axes.items[i]) < 0)
      return NULL;
  int64_t *reversed = tt_arena_array(arena, count, sizeof *reversed);
  if (reversed == NULL)
    return tt_error_no_memory(count * sizeof *reversed);
  for (size_t i = 0; i < count; i++)
    reversed[i] = old != NULL && old->i64s.count == count && old->i64s.items[i] != 0;
  for (size_t i = 0; i < axes.count; i++)
    reversed[place_in(&dims->kernel_spatial, axes.items[i])] ^= 1;
  tt_hlo_attr attr = {
      .name = TT_HLO_WINDOW_REVERSAL, .kind = TT_HLO_ATTR_BOOLS, .i64s = {count, reversed}};
  if (old != NULL)
    *old = attr;
  else
    TT_RETURN_IF_ERROR(add_attr(arena, op, attr));
  bypass(op, 1);
  *out_done = true;
  return NULL;
}

static tt_error *permute(tt_arena *arena, const tt_hlo_list *axes, tt_hlo_list *list) {
  int64_t *items = tt_arena_array(arena, list->count, sizeof *items);
  if (items == NULL)
    return tt_error_no_memory(list->count * sizeof *items);
  for (size_t i = 0; i < list->count; i++)
    items[i] = axes->items[list->items[i]];
  list->items = items;
  return NULL;
}

static tt_error *fold_transpose(tt_arena *arena, tt_hlo_op *op, uint32_t i, bool *out_done) {
  tt_hlo_attr *attr = tt_cpu_find_attr(op, TT_HLO_DIMENSION_NUMBERS);
  tt_hlo_list axes = tt_cpu_attr_list(op->operands[i]->op, TT_HLO_PERMUTATION);
  tt_hlo_conv_dims *dims = tt_arena_copy(arena, attr->dims, sizeof *dims);
  if (dims == NULL)
    return tt_error_no_memory(sizeof *dims);
  int64_t *first = i == 0 ? &dims->input_batch : &dims->kernel_input,
          *second = i == 0 ? &dims->input_feature : &dims->kernel_output;
  *first = axes.items[*first];
  *second = axes.items[*second];
  TT_RETURN_IF_ERROR(permute(arena, &axes, i == 0 ? &dims->input_spatial : &dims->kernel_spatial));
  attr->dims = dims;
  bypass(op, i);
  *out_done = true;
  return NULL;
}

/* The transpose of a convolution that nobody else reads becomes the convolution. */
static tt_error *fold_result(tt_arena *arena, tt_hlo_op *op) {
  tt_hlo_op *made = op->operands[0]->op;
  int64_t from[TT_HLO_RANK_MAX];
  if (made == NULL || made->code != TT_HLO_CONVOLUTION || made->parent != op->parent ||
      made->results[0].number != 1)
    return NULL;
  tt_hlo_list axes = tt_cpu_attr_list(op, TT_HLO_PERMUTATION), back = {axes.count, from};
  for (size_t i = 0; i < axes.count; i++)
    from[axes.items[i]] = (int64_t)i;
  tt_hlo_attr *attr = tt_cpu_find_attr(made, TT_HLO_DIMENSION_NUMBERS);
  tt_hlo_conv_dims *dims = tt_arena_copy(arena, attr->dims, sizeof *dims);
  if (dims == NULL)
    return tt_error_no_memory(sizeof *dims);
  dims->output_batch = from[dims->output_batch];
  dims->output_feature = from[dims->output_feature];
  TT_RETURN_IF_ERROR(permute(arena, &back, &dims->output_spatial));
  attr->dims = dims;
  op->code = made->code;
  op->operands = made->operands;
  op->operands_count = made->operands_count;
  op->attrs = made->attrs;
  op->attrs_count = made->attrs_count;
  tt_cpu_unlink_op(made);
  return NULL;
}

static tt_error *fold_operand(tt_arena *arena, tt_hlo_op *op, uint32_t i) {
  bool done = true;
  while (done && op->operands[i]->op != NULL) {
    const tt_hlo_op *made = op->operands[i]->op;
    done = false;
    if (made->code == TT_HLO_TRANSPOSE)
      TT_RETURN_IF_ERROR(fold_transpose(arena, op, i, &done));
    else if (made->code == TT_HLO_REVERSE && i == 1)
      TT_RETURN_IF_ERROR(fold_reverse(arena, op, &done));
  }
  return NULL;
}

static tt_error *fold_region(tt_arena *arena, tt_hlo_region *region) {
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    if (op->code == TT_HLO_TRANSPOSE)
      TT_RETURN_IF_ERROR(fold_result(arena, op));
    else if (op->code == TT_HLO_CONVOLUTION) {
      TT_RETURN_IF_ERROR(fold_operand(arena, op, 0));
      TT_RETURN_IF_ERROR(fold_operand(arena, op, 1));
    }
    for (uint32_t i = 0; i < op->regions_count; i++)
      TT_RETURN_IF_ERROR(fold_region(arena, op->regions[i]));
  }
  return NULL;
}

tt_error *tt_cpu_fold_transposes(tt_hlo_module *module) {
  for (tt_hlo_func *func = module->funcs; func != NULL; func = func->next) {
    if (func->body == NULL || !has_convolution(func->body))
      continue;
    tt_cpu_count_uses(func->body);
    TT_RETURN_IF_ERROR(fold_region(&module->arena, func->body));
  }
  return NULL;
}
