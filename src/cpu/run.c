#include <string.h>

#include "cpu/memory.h"
#include "cpu/plan_internal.h"
#include "cpu/stages.h"

enum { LOCAL_SIZE = 8 << 10, CHUNK_LEAST = 64 << 10 };

struct tt_cpu_chunk {
  tt_cpu_chunk *next;
};

static bool add_chunk(tt_cpu_stack *stack, int64_t size) {
  int64_t whole = (size < CHUNK_LEAST ? CHUNK_LEAST : size) + TT_CPU_ALIGN;
  tt_cpu_chunk *chunk = tt_cpu_memory_alloc(whole);
  if (chunk == NULL)
    return false;
  chunk->next = stack->chunks;
  stack->chunks = chunk;
  stack->at = (char *)chunk + TT_CPU_ALIGN;
  stack->left = whole - TT_CPU_ALIGN;
  return true;
}

void *tt_cpu_stack_take(tt_cpu_stack *stack, int64_t size) {
  if (size > INT64_MAX - 4 * TT_CPU_ALIGN)
    return NULL;
  size = (size + TT_CPU_ALIGN - 1) & ~(int64_t)(TT_CPU_ALIGN - 1);
  if (size > stack->left && !add_chunk(stack, size))
    return NULL;
  void *taken = stack->at;
  stack->at += size;
  stack->left -= size;
  return taken;
}

void tt_cpu_stack_return(tt_cpu_stack *stack, const tt_cpu_stack *mark) {
  while (stack->chunks != mark->chunks) {
    tt_cpu_chunk *chunk = stack->chunks;
    stack->chunks = chunk->next;
    tt_cpu_memory_free(chunk);
  }
  *stack = *mark;
}

void *tt_cpu_scratch(tt_cpu_run *run, int64_t size) { return tt_cpu_stack_take(run->stack, size); }

tt_error *tt_cpu_no_scratch(const tt_hlo_op *op, int64_t size) {
  return tt_error_new(TT_RESOURCE_EXHAUSTED, "%s: no memory for %lld bytes of scratch",
                      tt_hlo_ops[op->code].mnemonic, (long long)size);
}

int64_t tt_cpu_replica(const tt_cpu_run *run) { return run->call->replica; }
int64_t tt_cpu_partition(const tt_cpu_run *run) { return run->call->partition; }

uint64_t tt_cpu_draw(tt_cpu_run *run) { return (*run->stack->draws)++; }

/* The frame, the bases and the pointers of one activation. */
static tt_error *open_frame(tt_cpu_run *run, const tt_cpu_body *body) {
  int64_t bases = (int64_t)body->bases * (int64_t)sizeof *run->bases;
  int64_t pointers = (int64_t)body->pointers * (int64_t)sizeof *run->pointers;
  char *frame = tt_cpu_stack_take(run->stack, body->frame);
  run->bases = tt_cpu_stack_take(run->stack, bases);
  run->pointers = tt_cpu_stack_take(run->stack, pointers);
  if (frame == NULL || run->bases == NULL || run->pointers == NULL)
    return tt_error_new(TT_RESOURCE_EXHAUSTED, "@%s: no memory for %lld bytes of values",
                        body->func->name, (long long)body->frame);
  run->bases[TT_CPU_BASE_ABSOLUTE] = 0;
  run->bases[TT_CPU_BASE_FRAME] = (uintptr_t)frame;
  return NULL;
}

tt_error *tt_cpu_body_run(const tt_cpu_body *body, const tt_cpu_call *call, tt_cpu_stack *stack,
                          const void *const *inputs, void *const *outputs) {
  tt_cpu_stack mark = *stack;
  tt_cpu_run run = {.call = call, .stack = stack};
  const tt_cpu_block *block = &body->block;
  tt_error *err = open_frame(&run, body);
  if (err == NULL) {
    for (uint32_t i = 0; i < block->region->args_count; i++)
      run.bases[block->args + i] = (uintptr_t)inputs[i];
    for (uint32_t i = 0; i < block->returns_count; i++)
      run.bases[block->results + i] = (uintptr_t)outputs[i];
    err = tt_cpu_block_run(&run, block);
  }
  tt_cpu_stack_return(stack, &mark);
  return err;
}

/* Copies the donated parameters that other results are copies of, for the results that take their
 * memory may be written first. */
static tt_error *stash_inputs(const tt_cpu_plan *plan, tt_cpu_stack *stack, const void **inputs) {
  const tt_cpu_block *block = &plan->bodies->block;
  for (uint32_t i = 0; i < block->returns_count; i++) {
    tt_cpu_ref ref = block->returns[i].ref;
    if (block->returns[i].mode != TT_CPU_RETURN_COPY || ref.base < block->args ||
        ref.base >= block->args + plan->params_count)
      continue;
    const tt_cpu_slot *param = &plan->params[ref.base - block->args];
    if (param->alias < 0 || param->alias == (int32_t)i || param->size == 0)
      continue;
    void *copy = tt_cpu_stack_take(stack, param->size);
    if (copy == NULL)
      return tt_error_new(TT_RESOURCE_EXHAUSTED, "no memory for %lld bytes of a parameter",
                          (long long)param->size);
    inputs[ref.base - block->args] =
        memcpy(copy, inputs[ref.base - block->args], (size_t)param->size);
  }
  return NULL;
}

static tt_error *run_stashed(const tt_cpu_plan *plan, const tt_cpu_call *call,
                             tt_cpu_stack *stack) {
  int64_t size = (int64_t)(plan->params_count * sizeof(void *));
  const void **inputs = tt_cpu_stack_take(stack, size);
  if (inputs == NULL)
    return tt_error_no_memory((size_t)size);
  memcpy(inputs, call->inputs, (size_t)size);
  TT_RETURN_IF_ERROR(stash_inputs(plan, stack, inputs));
  return tt_cpu_body_run(plan->bodies, call, stack, inputs, call->outputs);
}

static tt_error *run_steps(const tt_cpu_plan *plan, const tt_cpu_call *call) {
  _Alignas(TT_CPU_ALIGN) char local[LOCAL_SIZE];
  uint64_t draws = 0;
  tt_cpu_stack stack = {.at = local, .left = LOCAL_SIZE, .draws = &draws}, mark = stack;
  tt_error *err = plan->stash
                      ? run_stashed(plan, call, &stack)
                      : tt_cpu_body_run(plan->bodies, call, &stack, call->inputs, call->outputs);
  tt_cpu_stack_return(&stack, &mark);
  return err;
}

tt_error *tt_cpu_plan_run(const tt_cpu_plan *plan, const tt_cpu_call *call) {
  return TT_UNLIKELY(plan->stages != NULL) ? tt_cpu_stages_run(plan->stages, plan, call)
                                           : run_steps(plan, call);
}
