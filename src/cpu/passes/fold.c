/* Ops on small constants, computed by the engine itself. */
#include <stdlib.h>
#include <string.h>

#include "cpu/kernel.h"
#include "cpu/memory.h"
#include "cpu/passes/expand.h"

/* Shapes and what they are made of are short. */
enum { ELEMENTS_MAX = 1024, OPERANDS_MAX = 64 };

static bool small(const tt_hlo_type *type) {
  int64_t count = 1;
  for (int32_t i = 0; !type->token && i < type->rank; i++) {
    if (type->dims[i] < 0 || type->dims[i] > ELEMENTS_MAX)
      return false;
    count *= type->dims[i];
    if (count > ELEMENTS_MAX)
      return false;
  }
  return !type->token;
}

static bool folds(const tt_hlo_op *op) {
  unsigned keeps = TT_HLO_EFFECT | TT_HLO_REGIONS;
  bool fits = op->results_count == 1 && op->operands_count <= OPERANDS_MAX &&
              (op->operands_count > 0 || op->code == TT_HLO_IOTA) && small(&op->results[0].type) &&
              (tt_hlo_ops[op->code].traits & keeps) == 0 && tt_cpu_expand_rules[op->code] == NULL &&
              op->code != TT_HLO_OPTIMIZATION_BARRIER;
  for (uint32_t i = 0; fits && i < op->operands_count; i++) {
    const tt_hlo_op *from = op->operands[i]->op;
    fits = from != NULL && from->code == TT_HLO_CONSTANT && small(&op->operands[i]->type);
  }
  return fits;
}

/* Its type alone says what a get_dimension_size is. */
static bool known_size(const tt_hlo_op *op, int64_t *out_size) {
  if (op->code != TT_HLO_GET_DIMENSION_SIZE)
    return false;
  *out_size = op->operands[0]->type.dims[tt_cpu_attr_i64(op, TT_HLO_DIMENSION, 0)];
  return *out_size >= 0;
}

/* A function that returns the op's results; elements stay the first module's. */
static tt_error *fill_module(const tt_hlo_op *op, tt_hlo_module *module) {
  tt_hlo_build b;
  tt_hlo_value *operands[OPERANDS_MAX], *result = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_build_begin(module, &b));
  for (uint32_t i = 0; i < op->operands_count; i++) {
    const tt_hlo_op *from = op->operands[i]->op;
    tt_hlo_op *made = tt_hlo_op_add(&b, TT_HLO_CONSTANT, NULL, 0, from->attrs, from->attrs_count,
                                    NULL, 0, &from->results[0].type, 1);
    operands[i] = made == NULL ? b.poison : &made->results[0];
  }
  tt_hlo_op *made = tt_hlo_op_add(&b, op->code, operands, op->operands_count, op->attrs,
                                  op->attrs_count, NULL, 0, &op->results[0].type, 1);
  result = made == NULL ? b.poison : &made->results[0];
  return tt_hlo_build_finish(&b, &result, 1);
}

/* `out` is of the result's size. */
static tt_error *compute(const tt_hlo_op *op, void *out) {
  tt_error *err = NULL;
  tt_hlo_module *module = NULL;
  tt_cpu_plan *plan = NULL;
  void *outputs[1] = {out};
  tt_cpu_call call = {.outputs = outputs};
  TT_TRY(tt_hlo_module_new(&module));
  TT_TRY(fill_module(op, module));
  err = tt_cpu_plan_new_take(module, &plan);
  module = NULL;
  if (err == NULL)
    err = tt_cpu_plan_run(plan, &call);
out:
  tt_hlo_module_free(module);
  tt_cpu_plan_free(plan);
  return err;
}

static tt_error *replace_by(tt_cpu_expand *x, tt_hlo_op *op, const void *data) {
  const tt_hlo_type *type = &op->results[0].type;
  x->build.location = op->location;
  tt_hlo_value *value =
      tt_hlo_const_data(&x->build, type->dtype, type->dims, (size_t)type->rank, data);
  if (x->build.err != NULL) {
    tt_error *err = x->build.err;
    x->build.err = NULL;
    return err;
  }
  return tt_cpu_expand_replace(x, op, &value);
}

tt_error *tt_cpu_fold_constants(tt_cpu_expand *x, tt_hlo_op *op, bool *out_done) {
  int64_t size = 0;
  *out_done = known_size(op, &size);
  if (*out_done) {
    int32_t narrow = (int32_t)(size > INT32_MAX ? INT32_MAX : size);
    return replace_by(x, op, &narrow);
  }
  if (!folds(op))
    return NULL;
  void *out = tt_cpu_memory_alloc(tt_cpu_bytes(&op->results[0].type) + 1);
  if (out == NULL)
    return tt_error_no_memory((size_t)tt_cpu_bytes(&op->results[0].type));
  tt_error *err = compute(op, out);
  /* What cannot be computed now, the plan itself will refuse, or the run. */
  *out_done = err == NULL;
  tt_error_free(err);
  err = *out_done ? replace_by(x, op, out) : NULL;
  tt_cpu_memory_free(out);
  return err;
}
