/* Control flow, calls out, and operations that only order others. */
#include "hlo/hlo_internal.h"

#include <string.h>

/* A branch takes nothing and returns what the first one does, which the results have. */
static tt_error *infer_branches(tt_hlo_op *op) {
  const tt_hlo_op *first = NULL, *end = NULL;
  for (uint32_t i = 0; i < op->regions_count; i++) {
    TT_RETURN_IF_ERROR(tt_hlo_region_return(op, i, "branch", &end));
    TT_HLO_CHECK(op->regions[i]->args_count == 0, "branch %u: expected no arguments, got %u", i,
                 op->regions[i]->args_count); /* if_c1, case_c2 */
    first = i == 0 ? end : first;
    TT_HLO_CHECK(end->operands_count == op->results_count, "branch %u: expected %u results, got %u",
                 i, op->results_count, end->operands_count);
    for (uint32_t k = 0; k < end->operands_count; k++) /* if_c2, case_c3 */
      TT_HLO_CHECK(tt_hlo_type_compatible(&first->operands[k]->type, &end->operands[k]->type),
                   "result %u differs: branch 0 gives %s, branch %u %s", k,
                   TT_HLO_SHOW(&first->operands[k]->type), i, TT_HLO_SHOW(&end->operands[k]->type));
  }
  for (uint32_t k = 0; k < op->results_count; k++) /* if_c3, case_c4 */
    op->results[k].type = first->operands[k]->type;
  return NULL;
}

static tt_error *check_selector(const tt_hlo_op *op, tt_dtype dtype) {
  const tt_hlo_type *type = tt_hlo_operand(op, 0);
  TT_HLO_CHECK(!type->token && type->rank == 0 && type->dtype == dtype,
               "operand 0: expected tensor<%s>, got %s", tt_dtype_name(dtype), TT_HLO_SHOW(type));
  return NULL;
}

tt_error *tt_hlo_infer_if(tt_arena *arena, tt_hlo_op *op) {
  (void)arena;
  TT_RETURN_IF_ERROR(check_selector(op, TT_PRED)); /* if_i1 */
  TT_RETURN_IF_ERROR(tt_hlo_check_regions(op, 2));
  return infer_branches(op);
}

tt_error *tt_hlo_infer_case(tt_arena *arena, tt_hlo_op *op) {
  (void)arena;
  TT_RETURN_IF_ERROR(check_selector(op, TT_S32));                                /* case_i1 */
  TT_HLO_CHECK(op->regions_count > 0, "expected at least one branch, got none"); /* case_c1 */
  return infer_branches(op);
}

tt_error *tt_hlo_infer_while(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_op *ends[2] = {NULL, NULL};
  static const char *const names[2] = {"cond", "body"};
  uint32_t n = op->operands_count;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_check_regions(op, 2));
  TT_RETURN_IF_ERROR(tt_hlo_check_results(op, n)); /* while_c3 */
  for (uint32_t i = 0; i < 2; i++) {
    TT_RETURN_IF_ERROR(tt_hlo_region_return(op, i, names[i], &ends[i]));
    TT_HLO_CHECK(op->regions[i]->args_count == n, "%s: expected %u arguments, got %u", names[i], n,
                 op->regions[i]->args_count);
    for (uint32_t k = 0; k < n; k++) /* while_c1, while_c2 */
      TT_HLO_CHECK(tt_hlo_type_compatible(tt_hlo_operand(op, k), &op->regions[i]->args[k].type),
                   "%s: argument %u: expected %s, got %s", names[i], k,
                   TT_HLO_SHOW(tt_hlo_operand(op, k)), TT_HLO_SHOW(&op->regions[i]->args[k].type));
  }
  TT_HLO_CHECK(ends[0]->operands_count == 1, "cond: expected 1 result, got %u",
               ends[0]->operands_count);
  const tt_hlo_type *cond = &ends[0]->operands[0]->type;
  TT_HLO_CHECK(!cond->token && cond->rank == 0 && cond->dtype == TT_PRED,
               "cond: expected tensor<i1>, got %s", TT_HLO_SHOW(cond)); /* while_c1 */
  TT_HLO_CHECK(ends[1]->operands_count == n, "body: expected %u results, got %u", n,
               ends[1]->operands_count);
  for (uint32_t k = 0; k < n; k++) {
    TT_HLO_CHECK(tt_hlo_type_compatible(tt_hlo_operand(op, k), &ends[1]->operands[k]->type),
                 "body: result %u: expected %s, got %s", k, TT_HLO_SHOW(tt_hlo_operand(op, k)),
                 TT_HLO_SHOW(&ends[1]->operands[k]->type)); /* while_c2 */
    op->results[k].type = *tt_hlo_operand(op, k);           /* while_c3 */
  }
  return NULL;
}

tt_error *tt_hlo_infer_return(tt_arena *arena, tt_hlo_op *op) {
  (void)arena;
  (void)op; /* what it may return, the op around it knows */
  return NULL;
}

tt_error *tt_hlo_infer_optimization_barrier(tt_arena *arena, tt_hlo_op *op) {
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_check_results(op, op->operands_count));
  for (uint32_t i = 0; i < op->results_count; i++)
    op->results[i].type = *tt_hlo_operand(op, i); /* optimization_barrier_c1 */
  return NULL;
}

tt_error *tt_hlo_infer_after_all(tt_arena *arena, tt_hlo_op *op) {
  (void)arena;
  for (uint32_t i = 0; i < op->operands_count; i++)
    TT_HLO_CHECK(tt_hlo_operand(op, i)->token, "operand %u: expected a token, got %s", i,
                 TT_HLO_SHOW(tt_hlo_operand(op, i)));
  op->results[0].type = (tt_hlo_type){.token = true};
  return NULL;
}

/* The function that `decomposition` names, and its types, the verifier checks: it sees the module.
 */
tt_error *tt_hlo_infer_composite(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_attr *name = NULL, *attr = NULL;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_NAME, TT_HLO_ATTR_STRING, &name));
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_DECOMPOSITION, TT_HLO_ATTR_SYMBOL, &attr));
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_VERSION, TT_HLO_ATTR_I32, &attr));
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_COMPOSITE_ATTRIBUTES, TT_HLO_ATTR_TEXT, &attr));
  const char *dot = name->text == NULL ? NULL : strchr(name->text, '.');
  TT_HLO_CHECK(dot != NULL && dot != name->text && dot[1] != '\0',
               "name: expected namespace.op, got \"%s\"",
               name->text == NULL ? "" : name->text); /* composite_c1 */
  return NULL;
}

static tt_error *want_layouts(const tt_hlo_op *op, tt_hlo_attr_name name,
                              const tt_hlo_attr **out_attr) {
  *out_attr = tt_hlo_op_attr(op, name);
  if (*out_attr != NULL && (*out_attr)->kind == TT_HLO_ATTR_TEXT)
    return NULL;
  return tt_hlo_want_attr(op, name, TT_HLO_ATTR_LAYOUTS, out_attr);
}

/* A layout list, when there, is one of layouts and stands beside the other. Layouts other than the
 * default are text: they say how the callee wants its memory, not what the values are. */
static tt_error *check_layouts(const tt_hlo_op *op) {
  const tt_hlo_attr *operands = NULL, *results = NULL;
  TT_RETURN_IF_ERROR(want_layouts(op, TT_HLO_OPERAND_LAYOUTS, &operands));
  TT_RETURN_IF_ERROR(want_layouts(op, TT_HLO_RESULT_LAYOUTS, &results));
  TT_HLO_CHECK((operands == NULL) == (results == NULL),
               "operand_layouts and result_layouts: only one is there");
  return NULL;
}

tt_error *tt_hlo_infer_custom_call(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_attr *attr = NULL;
  bool effect = false;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_CALL_TARGET_NAME, TT_HLO_ATTR_STRING,
                                      &attr)); /* custom_call_i2 */
  TT_HLO_CHECK(attr->text != NULL && attr->text[0] != '\0', "call_target_name is empty");
  TT_RETURN_IF_ERROR(
      tt_hlo_want_bool(op, TT_HLO_HAS_SIDE_EFFECT, false, &effect)); /* custom_call_i3 */
  attr = tt_hlo_op_attr(
      op, TT_HLO_BACKEND_CONFIG); /* custom_call_i4: a string, or a dictionary as text */
  if (attr == NULL || attr->kind != TT_HLO_ATTR_TEXT)
    TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_BACKEND_CONFIG, TT_HLO_ATTR_STRING, &attr));
  TT_RETURN_IF_ERROR(
      tt_hlo_want_attr(op, TT_HLO_API_VERSION, TT_HLO_ATTR_I32, &attr)); /* custom_call_i5 */
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_CALLED_COMPUTATIONS, TT_HLO_ATTR_TEXT, &attr));
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_OUTPUT_OPERAND_ALIASES, TT_HLO_ATTR_TEXT, &attr));
  return check_layouts(op);
}
