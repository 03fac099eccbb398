#include "cpu/passes/passes.h"

static tt_error *convert_operand(tt_hlo_module *module, tt_hlo_op *op, uint32_t k) {
  tt_hlo_op *made = tt_arena_alloc(&module->arena, sizeof *made);
  tt_hlo_value **operands = tt_arena_array(&module->arena, 1, sizeof *operands);
  tt_hlo_value *result = tt_arena_alloc(&module->arena, sizeof *result);
  if (made == NULL || operands == NULL || result == NULL)
    return tt_error_no_memory(sizeof *made);
  operands[0] = op->operands[k];
  *result = (tt_hlo_value){.type = operands[0]->type, .op = made};
  result->type.dtype = op->results[0].type.dtype;
  *made = (tt_hlo_op){.code = TT_HLO_CONVERT,
                      .operands_count = 1,
                      .results_count = 1,
                      .operands = operands,
                      .results = result,
                      .next = op,
                      .previous = op->previous,
                      .parent = op->parent,
                      .location = op->location};
  *(op->previous == NULL ? &op->parent->first : &op->previous->next) = made;
  op->previous = made;
  op->operands[k] = result;
  return NULL;
}

static tt_error *promote_region(tt_hlo_module *module, const tt_hlo_region *region) {
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    for (uint32_t i = 0; i < op->regions_count; i++)
      TT_RETURN_IF_ERROR(promote_region(module, op->regions[i]));
    if ((op->code != TT_HLO_DOT_GENERAL && op->code != TT_HLO_CONVOLUTION) ||
        !tt_dtype_is_float(op->results[0].type.dtype))
      continue;
    for (uint32_t i = 0; i < 2; i++)
      if (tt_dtype_is_integer(op->operands[i]->type.dtype))
        TT_RETURN_IF_ERROR(convert_operand(module, op, i));
  }
  return NULL;
}

tt_error *tt_cpu_promote(tt_hlo_module *module) {
  for (const tt_hlo_func *func = module->funcs; func != NULL; func = func->next)
    TT_RETURN_IF_ERROR(promote_region(module, func->body));
  return NULL;
}
