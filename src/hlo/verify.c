/* Checks a module that somebody else made. Inference does the work for each op, on a copy, and this
 * compares. */
#include "hlo/hlo_internal.h"

enum { DEPTH_MAX = 128, SCRATCH_MAX = 1 << 20 };

/* In `number` of a value: it may be used here. */
#define IN_SCOPE UINT32_MAX

typedef struct verifier {
  tt_hlo_module *module;
  tt_arena scratch; /* what inference on the copies leaves */
  uint32_t ops;     /* of this function, up to the one at hand; for messages */
  int depth;
} verifier;

static tt_error *verify_region(verifier *v, tt_hlo_region *region);

/* Checks the links of an op to its neighbours and values, and that its operands are in scope. */
static tt_error *verify_links(const tt_hlo_op *op, const tt_hlo_region *region) {
  TT_HLO_CHECK(op->parent == region, "is linked to another region");
  TT_HLO_CHECK(op->next == NULL ? region->last == op : op->next->previous == op,
               "is linked to no next operation");
  TT_HLO_CHECK(op->code != TT_HLO_RETURN || op->next == NULL,
               "stands before the end of its region");
  TT_HLO_CHECK(op->operands_count == 0 || op->operands != NULL, "has no operands");
  TT_HLO_CHECK(op->results_count == 0 || op->results != NULL, "has no results");
  TT_HLO_CHECK(op->attrs_count == 0 || op->attrs != NULL, "has no attributes");
  TT_HLO_CHECK(op->regions_count == 0 || op->regions != NULL, "has no regions");
  for (uint32_t i = 0; i < op->operands_count; i++)
    TT_HLO_CHECK(op->operands[i] != NULL && op->operands[i]->number == IN_SCOPE,
                 "operand %u is not defined before it in its region or around it", i);
  for (uint32_t i = 0; i < op->results_count; i++)
    TT_HLO_CHECK(op->results[i].op == op && op->results[i].index == i,
                 "result %u is linked to another operation", i);
  for (uint32_t i = 0; i < op->attrs_count; i++) {
    TT_HLO_CHECK((unsigned)op->attrs[i].name < TT_HLO_ATTR_NAME_COUNT, "attribute %u has no name",
                 i);
    TT_HLO_CHECK(tt_hlo_op_attr(op, op->attrs[i].name) == &op->attrs[i],
                 "attribute %s is there twice", tt_hlo_attr_names[op->attrs[i].name]);
  }
  return NULL;
}

/* Infers on a copy, so that a wrong type in the module is found and not mended. */
static tt_error *verify_types(verifier *v, tt_hlo_op *op) {
  tt_hlo_op copy = *op;
  uint32_t traits = tt_hlo_ops[op->code].traits;
  if (v->scratch.total > SCRATCH_MAX)
    tt_arena_reset(&v->scratch);
  copy.results = tt_arena_array(&v->scratch, op->results_count, sizeof *copy.results);
  if (copy.results == NULL)
    return tt_error_no_memory(op->results_count * sizeof *copy.results);
  if (traits & (TT_HLO_GIVEN | TT_HLO_WIDENS))
    for (uint32_t i = 0; i < op->results_count; i++)
      copy.results[i].type = op->results[i].type;
  TT_RETURN_IF_ERROR(tt_hlo_op_infer(&v->scratch, &copy));
  for (uint32_t i = 0; i < op->results_count; i++) {
    tt_error *err = tt_hlo_type_check(&op->results[i].type);
    if (err != NULL)
      return tt_error_wrap_take(err, "%s: result %u", tt_hlo_op_short_name(op), i);
    TT_HLO_CHECK(tt_hlo_type_compatible(&copy.results[i].type, &op->results[i].type),
                 "result %u: expected %s, got %s", i, TT_HLO_SHOW(&copy.results[i].type),
                 TT_HLO_SHOW(&op->results[i].type));
  }
  return NULL;
}

/* composite_c2 to _c4: the function that stands for the op is there and has its types. */
static tt_error *verify_decomposition(const verifier *v, const tt_hlo_op *op) {
  const tt_hlo_attr *attr = tt_hlo_op_attr(op, TT_HLO_DECOMPOSITION);
  const tt_hlo_func *func = tt_hlo_func_find(v->module, attr->text);
  TT_HLO_CHECK(func != NULL && func->body != NULL, "decomposition: no function is named @%s",
               attr->text);
  const tt_hlo_region *body = func->body;
  TT_HLO_CHECK(body->args_count == op->operands_count,
               "decomposition: @%s takes %u values, the op %u", attr->text, body->args_count,
               op->operands_count);
  for (uint32_t i = 0; i < op->operands_count; i++)
    TT_HLO_CHECK(tt_hlo_type_compatible(&body->args[i].type, &op->operands[i]->type),
                 "decomposition: argument %u of @%s: expected %s, got %s", i, attr->text,
                 TT_HLO_SHOW(&op->operands[i]->type), TT_HLO_SHOW(&body->args[i].type));
  const tt_hlo_op *end = body->last;
  TT_HLO_CHECK(
      end != NULL && end->code == TT_HLO_RETURN && end->operands_count == op->results_count,
      "decomposition: @%s does not return %u values", attr->text, op->results_count);
  for (uint32_t i = 0; i < op->results_count; i++)
    TT_HLO_CHECK(end->operands[i] != NULL &&
                     tt_hlo_type_compatible(&end->operands[i]->type, &op->results[i].type),
                 "decomposition: result %u of @%s is not %s", i, attr->text,
                 TT_HLO_SHOW(&op->results[i].type));
  return NULL;
}

static tt_error *verify_op(verifier *v, tt_hlo_op *op, tt_hlo_region *region) {
  v->ops++;
  if ((unsigned)op->code >= TT_HLO_OP_COUNT)
    return tt_error_new(TT_INVALID_ARGUMENT, "no operation has the number %d", (int)op->code);
  TT_RETURN_IF_ERROR(verify_links(op, region));
  for (uint32_t i = 0; i < op->regions_count; i++) {
    TT_HLO_CHECK(op->regions[i] != NULL && op->regions[i]->outer == region,
                 "region %u is missing or linked elsewhere", i);
    TT_RETURN_IF_ERROR(verify_region(v, op->regions[i]));
  }
  TT_RETURN_IF_ERROR(verify_types(v, op));
  if (op->code == TT_HLO_COMPOSITE)
    TT_RETURN_IF_ERROR(verify_decomposition(v, op));
  for (uint32_t i = 0; i < op->results_count; i++)
    op->results[i].number = IN_SCOPE;
  return NULL;
}

/* The values of the region may not be used from here on. */
static void leave_scope(tt_hlo_region *region) {
  for (uint32_t i = 0; region->args != NULL && i < region->args_count; i++)
    region->args[i].number = 0;
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next)
    for (uint32_t i = 0; op->results != NULL && i < op->results_count; i++)
      op->results[i].number = 0;
}

static tt_error *verify_args(tt_hlo_region *region) {
  if (region->args_count > 0 && region->args == NULL)
    return tt_error_new(TT_INVALID_ARGUMENT, "a region has no arguments");
  for (uint32_t i = 0; i < region->args_count; i++) {
    tt_hlo_value *arg = &region->args[i];
    if (arg->op != NULL || arg->index != i)
      return tt_error_new(TT_INVALID_ARGUMENT, "argument %u of a region is linked elsewhere", i);
    tt_error *err = tt_hlo_type_check(&arg->type);
    if (err != NULL)
      return tt_error_wrap_take(err, "argument %u of a region", i);
    arg->number = IN_SCOPE;
  }
  return NULL;
}

static tt_error *verify_region(verifier *v, tt_hlo_region *region) {
  tt_error *err = NULL;
  if (++v->depth > DEPTH_MAX)
    return tt_error_new(TT_INVALID_ARGUMENT, "regions are nested deeper than %d", DEPTH_MAX);
  TT_TRY(verify_args(region));
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next)
    TT_TRY(verify_op(v, op, region));
  if (region->last == NULL || region->last->code != TT_HLO_RETURN)
    err = tt_error_new(TT_INVALID_ARGUMENT, "a region does not end in a return");
out:
  leave_scope(region);
  v->depth--;
  return err;
}

/* Donation: an alias names a result of the same type, and no result takes two buffers. */
static tt_error *verify_params(verifier *v, const tt_hlo_func *func) {
  const tt_hlo_op *end = func->body->last;
  bool *taken = tt_arena_alloc(&v->scratch, end->operands_count);
  if (taken == NULL)
    return tt_error_no_memory(end->operands_count);
  for (uint32_t i = 0; func->params != NULL && i < func->body->args_count; i++) {
    int32_t alias = func->params[i].alias;
    if (alias < 0)
      continue;
    if ((uint32_t)alias >= end->operands_count)
      return tt_error_new(TT_INVALID_ARGUMENT, "parameter %u aliases result %d of %u", i,
                          (int)alias, end->operands_count);
    if (!tt_hlo_type_compatible(&func->body->args[i].type, &end->operands[alias]->type))
      return tt_error_new(TT_INVALID_ARGUMENT,
                          "parameter %u, which is %s, aliases result %d, which is %s", i,
                          TT_HLO_SHOW(&func->body->args[i].type), (int)alias,
                          TT_HLO_SHOW(&end->operands[alias]->type));
    if (taken[alias])
      return tt_error_new(TT_INVALID_ARGUMENT, "two parameters alias result %d", (int)alias);
    taken[alias] = true;
  }
  return NULL;
}

static tt_error *verify_func(verifier *v, tt_hlo_func *func) {
  if (func->name == NULL || func->name[0] == '\0')
    return tt_error_new(TT_INVALID_ARGUMENT, "a function has no name");
  if (tt_hlo_func_find(v->module, func->name) != func)
    return tt_error_new(TT_INVALID_ARGUMENT, "@%s: two functions have this name", func->name);
  if (func->body == NULL || func->body->outer != NULL)
    return tt_error_new(TT_INVALID_ARGUMENT, "@%s: the body is missing or linked elsewhere",
                        func->name);
  v->ops = 0;
  tt_error *err = verify_region(v, func->body);
  if (err != NULL)
    return tt_error_wrap_take(err, "@%s: operation %u", func->name, v->ops);
  return tt_error_wrap_take(verify_params(v, func), "@%s", func->name);
}

/* Other walks leave numbers behind. */
static tt_error *clear_numbers(tt_hlo_region *region, int depth) {
  if (depth > DEPTH_MAX)
    return tt_error_new(TT_INVALID_ARGUMENT, "regions are nested deeper than %d", DEPTH_MAX);
  leave_scope(region);
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next)
    for (uint32_t i = 0; op->regions != NULL && i < op->regions_count; i++)
      if (op->regions[i] != NULL)
        TT_RETURN_IF_ERROR(clear_numbers(op->regions[i], depth + 1));
  return NULL;
}

/* ---- calls ---- */

enum { UNSEEN, OPEN, DONE };

static tt_error *visit_func(verifier *v, tt_hlo_func *func);

static tt_error *visit_region(verifier *v, const tt_hlo_region *region) {
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    if (op->code == TT_HLO_COMPOSITE)
      TT_RETURN_IF_ERROR(
          visit_func(v, (tt_hlo_func *)tt_hlo_func_find(
                            v->module, tt_hlo_op_attr(op, TT_HLO_DECOMPOSITION)->text)));
    for (uint32_t i = 0; i < op->regions_count; i++)
      TT_RETURN_IF_ERROR(visit_region(v, op->regions[i]));
  }
  return NULL;
}

/* Calls and composites lead to no function again that is waiting for them. */
static tt_error *visit_func(verifier *v, tt_hlo_func *func) {
  if (func->mark == DONE)
    return NULL;
  if (func->mark == OPEN)
    return tt_error_new(TT_INVALID_ARGUMENT, "@%s calls itself", func->name);
  if (++v->depth > DEPTH_MAX)
    return tt_error_new(TT_INVALID_ARGUMENT, "@%s: calls are nested deeper than %d", func->name,
                        DEPTH_MAX);
  func->mark = OPEN;
  TT_RETURN_IF_ERROR(visit_region(v, func->body));
  func->mark = DONE;
  v->depth--;
  return NULL;
}

static tt_error *verify_calls(verifier *v) {
  for (tt_hlo_func *func = v->module->funcs; func != NULL; func = func->next)
    func->mark = UNSEEN;
  for (tt_hlo_func *func = v->module->funcs; func != NULL; func = func->next)
    TT_RETURN_IF_ERROR(visit_func(v, func));
  return NULL;
}

tt_error *tt_hlo_module_verify(tt_hlo_module *module) {
  verifier v = {.module = module};
  tt_error *err = NULL;
  if (module->funcs == NULL)
    return tt_error_new(TT_INVALID_ARGUMENT, "the module has no function");
  if (module->num_replicas < 1 || module->num_partitions < 1)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "num_replicas is %lld, num_partitions %lld: expected 1 or more",
                        (long long)module->num_replicas, (long long)module->num_partitions);
  for (tt_hlo_func *func = module->funcs; func != NULL; func = func->next)
    if (func->body != NULL)
      TT_TRY(clear_numbers(func->body, 1));
  for (tt_hlo_func *func = module->funcs; func != NULL; func = func->next)
    TT_TRY(verify_func(&v, func));
  v.depth = 0;
  TT_TRY(verify_calls(&v));
out:
  tt_arena_reset(&v.scratch);
  return err;
}
