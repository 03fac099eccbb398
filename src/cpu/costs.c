#include "cpu/plan_internal.h"

static double dot_flops(const tt_hlo_op *op) {
  const tt_hlo_attr *attr = tt_hlo_op_attr(op, TT_HLO_DOT_DIMENSION_NUMBERS);
  const tt_hlo_dot_dims *dims = attr->dims;
  double flops = 2.0 * (double)tt_cpu_count(&op->results[0].type);
  for (size_t i = 0; i < dims->lhs_contract.count; i++)
    flops *= (double)op->operands[0]->type.dims[dims->lhs_contract.items[i]];
  return flops;
}

/* Each result element is a sum over the kernel but for its output features. */
static double conv_flops(const tt_hlo_op *op) {
  const tt_hlo_attr *attr = tt_hlo_op_attr(op, TT_HLO_DIMENSION_NUMBERS);
  const tt_hlo_conv_dims *dims = attr->dims;
  const tt_hlo_type *kernel = &op->operands[1]->type;
  double features = (double)kernel->dims[dims->kernel_output];
  double flops = 2.0 * (double)tt_cpu_count(&op->results[0].type) * (double)tt_cpu_count(kernel);
  return features == 0 ? 0 : flops / features;
}

static bool is_transcendental(tt_hlo_code code) {
  switch (code) {
    case TT_HLO_ATAN2:
    case TT_HLO_CBRT:
    case TT_HLO_COSINE:
    case TT_HLO_EXPONENTIAL:
    case TT_HLO_EXPONENTIAL_MINUS_ONE:
    case TT_HLO_LOG:
    case TT_HLO_LOG_PLUS_ONE:
    case TT_HLO_LOGISTIC:
    case TT_HLO_POWER:
    case TT_HLO_RSQRT:
    case TT_HLO_SINE:
    case TT_HLO_SQRT:
    case TT_HLO_TAN:
    case TT_HLO_TANH:
      return true;
    default:
      return code >= TT_HLO_CHLO_ACOS && code <= TT_HLO_CHLO_ZETA && code != TT_HLO_CHLO_TOP_K;
  }
}

static void add_op(const tt_hlo_op *op, tt_cpu_costs *costs);

static void add_region(const tt_hlo_region *region, tt_cpu_costs *costs) {
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next)
    add_op(op, costs);
}

static void add_op(const tt_hlo_op *op, tt_cpu_costs *costs) {
  double elements = 0;
  for (uint32_t i = 0; i < op->results_count; i++) {
    elements += (double)tt_cpu_count(&op->results[i].type);
    costs->bytes += (double)tt_cpu_bytes(&op->results[i].type);
  }
  for (uint32_t i = 0; i < op->operands_count && op->code != TT_HLO_RETURN; i++)
    costs->bytes += (double)tt_cpu_bytes(&op->operands[i]->type);
  if (op->code == TT_HLO_DOT_GENERAL)
    costs->flops += dot_flops(op);
  else if (op->code == TT_HLO_CONVOLUTION)
    costs->flops += conv_flops(op);
  else if (is_transcendental(op->code))
    costs->transcendentals += elements;
  else if (op->code == TT_HLO_REDUCE)
    costs->flops += (double)tt_cpu_count(&op->operands[0]->type);
  else if ((tt_hlo_ops[op->code].traits & TT_HLO_ELEMENTWISE) != 0)
    costs->flops += elements;
  if (op->code == TT_HLO_WHILE || op->code == TT_HLO_IF || op->code == TT_HLO_CASE)
    for (uint32_t i = 0; i < op->regions_count; i++)
      add_region(op->regions[i], costs);
}

/* Loops count as one iteration: how many there are only the run knows. */
tt_cpu_costs tt_cpu_costs_of(const tt_hlo_module *module) {
  tt_cpu_costs costs = {0};
  add_region(module->funcs->body, &costs);
  return costs;
}
