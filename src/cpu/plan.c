#include "cpu/plan.h"

#include <stdlib.h>

#include "cpu/dump.h"
#include "cpu/emit/emit.h"
#include "cpu/passes/passes.h"
#include "cpu/plan_internal.h"
#include "cpu/stages.h"

static tt_error *make_body(tt_cpu_plan *plan, const tt_hlo_func *func, int depth,
                           tt_cpu_body **out_body) {
  tt_error *err = NULL;
  tt_cpu_maker maker = {.plan = plan, .depth = depth};
  tt_cpu_body *body = tt_arena_alloc(&plan->arena, sizeof *body);
  if (body == NULL)
    return tt_error_no_memory(sizeof *body);
  body->func = func;
  tt_cpu_body **end = &plan->bodies;
  while (*end != NULL)
    end = &(*end)->next;
  *end = body;
  maker.body = body;
  TT_TRY(tt_cpu_compile(&maker));
  TT_TRY(tt_cpu_place(&maker));
  TT_TRY(tt_cpu_dump_body(&plan->dump, &maker));
  body->made = true;
  *out_body = body;
out:
  tt_arena_reset(&maker.scratch);
  return err;
}

static tt_error *too_deep(const char *name) {
  return tt_error_new(TT_INVALID_ARGUMENT, "@%s: calls are nested deeper than %d", name,
                      TT_CPU_DEPTH_MAX);
}

tt_error *tt_cpu_body_get(tt_cpu_plan *plan, const char *name, int depth, tt_cpu_body **out_body) {
  const tt_hlo_func *func = tt_hlo_func_find(plan->module, name);
  if (func == NULL || func->body == NULL)
    return tt_error_new(TT_INVALID_ARGUMENT, "no function is named @%s", name);
  if (depth > TT_CPU_DEPTH_MAX)
    return too_deep(name);
  for (tt_cpu_body *body = plan->bodies; body != NULL; body = body->next)
    if (body->func == func) {
      if (!body->made)
        return tt_error_new(TT_INVALID_ARGUMENT, "@%s calls itself", name);
      *out_body = body;
      return depth + body->depth > TT_CPU_DEPTH_MAX ? too_deep(name) : NULL;
    }
  tt_error *err = make_body(plan, func, depth, out_body);
  return err == NULL ? NULL : tt_error_wrap_take(err, "@%s", name);
}

static tt_error *fill_slots(tt_cpu_plan *plan) {
  const tt_hlo_func *func = plan->module->funcs;
  const tt_hlo_op *end = func->body->last;
  plan->params_count = func->body->args_count;
  plan->results_count = end->operands_count;
  plan->params = tt_arena_array(&plan->arena, plan->params_count, sizeof *plan->params);
  plan->results = tt_arena_array(&plan->arena, plan->results_count, sizeof *plan->results);
  if (plan->params == NULL || plan->results == NULL)
    return tt_error_no_memory(plan->params_count * sizeof *plan->params);
  for (size_t i = 0; i < plan->results_count; i++) {
    const tt_hlo_type *type = &end->operands[i]->type;
    plan->results[i] = (tt_cpu_slot){*type, tt_cpu_bytes(type), false, -1};
  }
  for (size_t i = 0; i < plan->params_count; i++) {
    const tt_hlo_type *type = &func->body->args[i].type;
    plan->params[i] = (tt_cpu_slot){*type, tt_cpu_bytes(type), false, -1};
    if (func->params == NULL)
      continue;
    plan->params[i].alias = func->params[i].alias;
    plan->params[i].donated = func->params[i].donated || func->params[i].alias >= 0;
    if (func->params[i].alias >= 0)
      plan->results[func->params[i].alias].alias = (int32_t)i;
  }
  return NULL;
}

/* A parameter that another result than its own is a copy of must be read before that is written. */
static void find_stash(tt_cpu_plan *plan) {
  const tt_cpu_block *block = &plan->bodies->block;
  for (uint32_t i = 0; i < block->returns_count; i++) {
    tt_cpu_ref ref = block->returns[i].ref;
    if (block->returns[i].mode != TT_CPU_RETURN_COPY || ref.base < block->args ||
        ref.base >= block->args + plan->params_count)
      continue;
    int32_t alias = plan->params[ref.base - block->args].alias;
    plan->stash = plan->stash || (alias >= 0 && alias != (int32_t)i);
  }
}

typedef struct pass {
  const char *name;
  tt_error *(*run)(tt_hlo_module *module);
} pass;

/* Before it is known whether the plan is in stages, and when it is not. */
static const pass early[] = {
    {"async", tt_cpu_join_async},
};
static const pass passes[] = {
    {"promote", tt_cpu_promote},
    {"simplify", tt_cpu_simplify},
    {"transposes", tt_cpu_fold_transposes},
};

static tt_error *run_passes(tt_cpu_plan *plan, const pass *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    TT_RETURN_IF_ERROR(list[i].run(plan->module));
    TT_RETURN_IF_ERROR(tt_cpu_dump_module(&plan->dump, list[i].name, plan->module));
  }
  return NULL;
}

/* `*out_waits`: the plan is in stages. */
static tt_error *make_stages(tt_cpu_plan *plan, int depth, bool *out_waits) {
  TT_RETURN_IF_ERROR(run_passes(plan, early, TT_COUNT(early)));
  TT_RETURN_IF_ERROR(tt_cpu_expand_module(plan->module, out_waits));
  TT_RETURN_IF_ERROR(tt_cpu_dump_module(&plan->dump, "expand", plan->module));
  /* Sizes that came with the run may contradict what the program says of its types. */
  if (depth > 0)
    TT_RETURN_IF_ERROR(tt_hlo_module_verify(plan->module));
  return *out_waits ? tt_cpu_stages_new(plan->module, depth, &plan->stages) : NULL;
}

static tt_error *make_steps(tt_cpu_plan *plan) {
  tt_cpu_body *body = NULL;
  TT_RETURN_IF_ERROR(run_passes(plan, passes, TT_COUNT(passes)));
  return make_body(plan, plan->module->funcs, 0, &body);
}

tt_error *tt_cpu_plan_new_take(tt_hlo_module *module, tt_cpu_plan **out_plan) {
  return tt_cpu_plan_stage_take(module, 0, out_plan);
}

tt_error *tt_cpu_plan_stage_take(tt_hlo_module *module, int depth, tt_cpu_plan **out_plan) {
  tt_error *err = NULL;
  bool waits = false;
  *out_plan = NULL;
  tt_cpu_plan *plan = calloc(1, sizeof *plan);
  if (plan == NULL) {
    tt_hlo_module_free(module);
    return tt_error_no_memory(sizeof *plan);
  }
  plan->module = module;
  plan->dump = tt_cpu_dump_begin();
  TT_TRY(tt_cpu_dump_module(&plan->dump, "program", module));
  TT_TRY(make_stages(plan, depth, &waits));
  if (!waits)
    TT_TRY(make_steps(plan));
  TT_TRY(fill_slots(plan));
  if (!waits) {
    find_stash(plan);
    plan->costs = tt_cpu_costs_of(module);
  }
  *out_plan = plan;
  plan = NULL;
out:
  tt_cpu_plan_free(plan);
  return err;
}

void tt_cpu_plan_free(tt_cpu_plan *plan) {
  if (plan == NULL)
    return;
  tt_cpu_stages_free(plan->stages);
  tt_cpu_codes_free(plan->codes);
  tt_hlo_module_free(plan->module);
  tt_arena_reset(&plan->arena);
  free(plan);
}

const tt_hlo_module *tt_cpu_plan_module(const tt_cpu_plan *plan) { return plan->module; }

const tt_cpu_slot *tt_cpu_plan_params(const tt_cpu_plan *plan, size_t *out_count) {
  *out_count = plan->params_count;
  return plan->params;
}

const tt_cpu_slot *tt_cpu_plan_results(const tt_cpu_plan *plan, size_t *out_count) {
  *out_count = plan->results_count;
  return plan->results;
}

tt_cpu_costs tt_cpu_plan_costs(const tt_cpu_plan *plan) { return plan->costs; }

bool tt_cpu_plan_is_staged(const tt_cpu_plan *plan) { return plan->stages != NULL; }

int64_t tt_cpu_plan_scratch(const tt_cpu_plan *plan) {
  return plan->bodies == NULL ? 0 : plan->bodies->frame;
}
