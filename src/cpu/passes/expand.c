#include "cpu/passes/expand.h"

#include <string.h>

#include "cpu/kernel.h"

enum { INLINED_MAX = 1 << 18, REGIONS_MAX = 128 };

const tt_cpu_expand_rule tt_cpu_expand_rules[TT_HLO_OP_COUNT] = {
#define X(id, function) [TT_HLO_##id] = tt_cpu_expand_##function,
#include "cpu/passes/expand.def"
#undef X
#define B(id) [TT_HLO_CHLO_BROADCAST_##id] = tt_cpu_expand_broadcasting
    B(ADD),
    B(AND),
    B(ATAN2),
    B(COMPARE),
    B(COMPLEX),
    B(DIVIDE),
    B(MAXIMUM),
    B(MINIMUM),
    B(MULTIPLY),
    B(NEXT_AFTER),
    B(OR),
    B(POLYGAMMA),
    B(POWER),
    B(REMAINDER),
    B(SELECT),
    B(SHIFT_LEFT),
    B(SHIFT_RIGHT_ARITHMETIC),
    B(SHIFT_RIGHT_LOGICAL),
    B(SUBTRACT),
    B(XOR),
    B(ZETA)
#undef B
};

/* ---- replaced ops ---- */

tt_error *tt_cpu_expand_replace(tt_cpu_expand *x, tt_hlo_op *op, tt_hlo_value *const *values) {
  size_t size = op->results_count * sizeof(tt_hlo_value *);
  for (uint32_t i = 0; i < op->results_count; i++)
    if (!tt_hlo_type_compatible(&values[i]->type, &op->results[i].type))
      return tt_error_new(TT_INVALID_ARGUMENT,
                          "%s: result %u is declared with another type than it has",
                          tt_hlo_ops[op->code].mnemonic, i);
  op->operands = tt_arena_copy(&x->build.module->arena, values, size);
  op->operands_count = op->results_count;
  op->parent = NULL;
  return op->operands == NULL ? tt_error_no_memory(size) : NULL;
}

/* ---- unknown dims ---- */

bool tt_cpu_waits(const tt_hlo_op *op) {
  int64_t size = 0, count = 0;
  bool waits = op->code == TT_HLO_DYNAMIC_CONV;
  for (uint32_t i = 0; i < op->operands_count; i++)
    waits = waits || !tt_hlo_type_is_known(&op->operands[i]->type);
  /* Its type does not say what the constant does. */
  if (op->code == TT_HLO_SET_DIMENSION_SIZE)
    return waits || !tt_cpu_constant_ints(op->operands[1], &size, 1, &count);
  for (uint32_t i = 0; i < op->results_count; i++)
    waits = waits || !tt_hlo_type_is_known(&op->results[i].type);
  return waits;
}

static bool region_waits(const tt_hlo_region *region) {
  bool waits = false;
  for (uint32_t i = 0; i < region->args_count; i++)
    waits = waits || !tt_hlo_type_is_known(&region->args[i].type);
  for (const tt_hlo_op *op = region->first; op != NULL && !waits; op = op->next) {
    waits = tt_cpu_waits(op);
    for (uint32_t i = 0; i < op->regions_count; i++)
      waits = waits || region_waits(op->regions[i]);
  }
  return waits;
}

bool tt_cpu_is_assertion(const tt_hlo_op *op) {
  return op->code == TT_HLO_CUSTOM_CALL && op->results_count == 0 && op->operands_count > 0 &&
         strcmp(tt_hlo_op_attr(op, TT_HLO_CALL_TARGET_NAME)->text, "shape_assertion") == 0;
}

/* ---- one op ---- */

bool tt_cpu_constant_ints(const tt_hlo_value *value, int64_t *out_items, int64_t most,
                          int64_t *out_count) {
  const tt_hlo_op *op = value->op;
  if (op == NULL || op->code != TT_HLO_CONSTANT || !tt_dtype_is_integer(value->type.dtype))
    return false;
  const tt_hlo_attr *attr = tt_hlo_op_attr(op, TT_HLO_VALUE);
  *out_count = tt_cpu_count(&value->type);
  if (*out_count > most)
    return false;
  for (int64_t i = 0; i < *out_count; i++)
    out_items[i] = tt_cpu_load_int(value->type.dtype, attr->data, attr->splat ? 0 : i);
  return true;
}

static tt_error *run_rule(tt_cpu_expand *x, tt_hlo_op *op, tt_hlo_region *region) {
  tt_hlo_value *results[3] = {NULL, NULL, NULL};
  x->build.region = region;
  x->build.location = op->location;
  tt_cpu_expand_rules[op->code](x, op, results);
  if (x->build.err != NULL) {
    tt_error *err = x->build.err;
    x->build.err = NULL;
    return tt_error_wrap_take(err, "%s", tt_hlo_ops[op->code].mnemonic);
  }
  return tt_cpu_expand_replace(x, op, results);
}

static tt_error *expand_regions(tt_cpu_expand *x, tt_hlo_op *op) {
  if (op->regions_count > 0 && ++x->depth > REGIONS_MAX)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "regions are nested deeper than %d once calls are inlined", REGIONS_MAX);
  for (uint32_t i = 0; i < op->regions_count; i++) {
    tt_hlo_op *first = op->regions[i]->first;
    op->regions[i]->first = op->regions[i]->last = NULL;
    TT_RETURN_IF_ERROR(tt_cpu_expand_ops(x, first, op->regions[i]));
  }
  x->depth -= op->regions_count > 0;
  return NULL;
}

/* JAX's checks of the sizes that a program with named dims is given. `*out_done`: it holds. */
static tt_error *check_assertion(const tt_hlo_op *op, bool *out_done) {
  int64_t holds = 0, count = 0;
  *out_done = tt_cpu_is_assertion(op) && tt_cpu_constant_ints(op->operands[0], &holds, 1, &count) &&
              count == 1;
  return !*out_done || holds != 0
             ? NULL
             : tt_error_new(TT_INVALID_ARGUMENT, "shape_assertion: it does not hold");
}

static tt_error *expand_op(tt_cpu_expand *x, tt_hlo_op *op, tt_hlo_region *region) {
  bool folded = false;
  for (uint32_t i = 0; i < op->operands_count; i++)
    op->operands[i] = tt_cpu_resolve(op->operands[i]);
  if (x->dynamic) {
    if (op->code == TT_HLO_COMPOSITE)
      return tt_cpu_inline(x, op, region);
    TT_RETURN_IF_ERROR(check_assertion(op, &folded));
    if (folded)
      return NULL;
    TT_RETURN_IF_ERROR(tt_cpu_refine(x, op));
    x->build.region = region;
    TT_RETURN_IF_ERROR(tt_cpu_fold_constants(x, op, &folded));
    if (folded)
      return NULL;
  }
  if (tt_cpu_expand_rules[op->code] != NULL && !(x->dynamic && tt_cpu_waits(op)))
    return run_rule(x, op, region);
  tt_cpu_append_op(region, op);
  TT_RETURN_IF_ERROR(expand_regions(x, op));
  return x->dynamic && op->regions_count > 0 ? tt_cpu_refine_results(x, op) : NULL;
}

tt_error *tt_cpu_expand_ops(tt_cpu_expand *x, tt_hlo_op *first, tt_hlo_region *region) {
  for (tt_hlo_op *op = first, *next; op != NULL; op = next) {
    next = op->next;
    tt_error *err = expand_op(x, op, region);
    if (err != NULL)
      return op->location == NULL ? err : tt_error_wrap_take(err, "%s", op->location);
  }
  return NULL;
}

/* ---- the module ---- */

/* Whether anything in the region is to be rewritten, and whether a dim is unknown. */
static bool look(const tt_hlo_region *region, bool *dynamic) {
  bool found = false;
  for (uint32_t i = 0; i < region->args_count; i++)
    *dynamic = *dynamic || !tt_hlo_type_is_known(&region->args[i].type);
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    found = found || tt_cpu_expand_rules[op->code] != NULL;
    for (uint32_t i = 0; i < op->results_count; i++)
      *dynamic = *dynamic || !tt_hlo_type_is_known(&op->results[i].type);
    /* Its padding or sizes may be computed from constants. */
    *dynamic = *dynamic || op->code == TT_HLO_DYNAMIC_CONV || op->code == TT_HLO_SET_DIMENSION_SIZE;
    for (uint32_t i = 0; i < op->regions_count; i++)
      found = look(op->regions[i], dynamic) || found;
  }
  return found;
}

static tt_error *expand_func(tt_cpu_expand *x, tt_hlo_func *func) {
  tt_hlo_op *first = func->body->first;
  func->body->first = func->body->last = NULL;
  x->build.func = func;
  tt_error *err = tt_cpu_expand_ops(x, first, func->body);
  return err == NULL ? NULL : tt_error_wrap_take(err, "@%s", func->name);
}

tt_error *tt_cpu_expand_module(tt_hlo_module *module, bool *out_waits) {
  tt_hlo_value poison = {.type = {.dtype = TT_F32}};
  tt_cpu_expand x = {.build = {.module = module, .poison = &poison}, .ops_left = INLINED_MAX};
  tt_error *err = NULL;
  bool found = false;
  *out_waits = false;
  for (tt_hlo_func *func = module->funcs; func != NULL; func = func->next)
    found = look(func->body, &x.dynamic) || found;
  if (!found && !x.dynamic)
    return NULL;
  for (tt_hlo_func *func = module->funcs; func != NULL; func = func->next) {
    TT_TRY(expand_func(&x, func));
    if (x.dynamic) { /* all that it calls is in it now */
      func->next = NULL;
      *out_waits = region_waits(func->body);
      break;
    }
  }
out:
  tt_arena_reset(&x.scratch);
  return err;
}
