/* Blocks of steps, and the ops that have regions or call functions. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/plan_internal.h"

static tt_error *run_step(tt_cpu_run *run, const tt_cpu_step *step) {
  void **pointers = run->pointers + step->pointers;
  uint32_t count = step->ins + step->outs + step->extras;
  tt_cpu_stack mark = *run->stack;
  for (uint32_t i = 0; i < count; i++)
    pointers[i] = tt_cpu_ref_address(run, step->refs[i]);
  tt_cpu_args args = {run, step->op, (const void *const *)pointers, pointers + step->ins,
                      step->absorbed};
  run->step = step;
  tt_error *err = step->kernel(&args);
  if (run->stack->at != mark.at)
    tt_cpu_stack_return(run->stack, &mark);
  return err;
}

tt_error *tt_cpu_block_run(tt_cpu_run *run, const tt_cpu_block *block) {
  for (const tt_cpu_step *step = block->first; step != NULL; step = step->next)
    TT_RETURN_IF_ERROR(run_step(run, step));
  for (uint32_t i = 0; i < block->returns_count; i++) {
    const tt_cpu_return *from = &block->returns[i];
    void *to = (void *)run->bases[block->results + i];
    if (from->mode != TT_CPU_RETURN_COPY || from->bytes == 0)
      continue;
    const void *value = tt_cpu_ref_address(run, from->ref);
    if (value != to)
      memcpy(to, value, (size_t)from->bytes);
  }
  return NULL;
}

static tt_error *run_region(tt_cpu_run *run, const tt_cpu_block *block, const void *const *args,
                            void *const *results) {
  const tt_cpu_step *step = run->step;
  for (uint32_t i = 0; i < block->region->args_count; i++)
    run->bases[block->args + i] = (uintptr_t)args[i];
  for (uint32_t i = 0; i < block->returns_count; i++)
    run->bases[block->results + i] = (uintptr_t)results[i];
  tt_error *err = tt_cpu_block_run(run, block);
  run->step = step;
  return err;
}

tt_error *tt_cpu_region_run(tt_cpu_run *run, const tt_hlo_region *region, const void *const *args,
                            void *const *results) {
  const tt_cpu_step *step = run->step;
  uint32_t i = 0;
  while (step->op->regions[i] != region)
    i++;
  return run_region(run, &step->blocks[i], args, results);
}

tt_hlo_code tt_cpu_region_binary(const tt_hlo_region *region) {
  const tt_hlo_op *op = region->first, *end = region->last;
  if (region->args_count != 2 || op == end || op->next != end || op->operands_count != 2 ||
      op->results_count != 1 || end->operands_count != 1 || end->operands[0] != &op->results[0])
    return TT_HLO_OP_COUNT;
  const tt_hlo_value *a = op->operands[0], *b = op->operands[1];
  bool in_order = a == &region->args[0] && b == &region->args[1];
  bool swapped = a == &region->args[1] && b == &region->args[0];
  bool commutes = (tt_hlo_ops[op->code].traits & TT_HLO_COMMUTES) != 0;
  return in_order || (swapped && commutes) ? op->code : TT_HLO_OP_COUNT;
}

/* ---- if, case, composite ---- */

tt_error *tt_cpu_kernel_if(const tt_cpu_args *args) {
  bool yes = *(const uint8_t *)args->in[0] != 0;
  return run_region(args->run, &args->run->step->blocks[yes ? 0 : 1], NULL, args->out);
}

/* An index out of range takes the last branch. */
tt_error *tt_cpu_kernel_case(const tt_cpu_args *args) {
  int32_t index = 0, last = (int32_t)args->op->regions_count - 1;
  memcpy(&index, args->in[0], sizeof index);
  index = index < 0 || index > last ? last : index;
  return run_region(args->run, &args->run->step->blocks[index], NULL, args->out);
}

tt_error *tt_cpu_kernel_call(const tt_cpu_args *args) {
  const tt_cpu_run *run = args->run;
  return tt_cpu_body_run(run->step->callee, run->call, run->stack, args->in, args->out);
}

/* ---- while ---- */

/* The state between iterations: value k is at now[k]. The body writes it to the other one of the
 * two buffers, or over itself where the plan says that it may. */
typedef struct loop_state {
  const tt_cpu_args *args;
  const tt_cpu_block *cond, *body;
  const void **now;
  void **next;
} loop_state;

static int64_t state_bytes(const loop_state *s, uint32_t k) { return s->body->returns[k].bytes; }

static void *spare(const loop_state *s, uint32_t k) {
  return s->args->out[s->args->op->results_count + k];
}

static void begin_loop(const loop_state *s) {
  const tt_cpu_args *args = s->args;
  for (uint32_t k = 0; k < args->op->results_count; k++) {
    s->now[k] = args->in[k];
    if (s->body->returns[k].mode != TT_CPU_RETURN_OVER || args->in[k] == args->out[k] ||
        state_bytes(s, k) == 0)
      continue;
    s->now[k] = memcpy(args->out[k], args->in[k], (size_t)state_bytes(s, k));
  }
}

static void aim_iteration(const loop_state *s) {
  for (uint32_t k = 0; k < s->args->op->results_count; k++) {
    if (s->body->returns[k].mode == TT_CPU_RETURN_OVER)
      s->next[k] = s->args->out[k];
    else
      s->next[k] = s->now[k] == s->args->out[k] ? spare(s, k) : s->args->out[k];
  }
}

static void end_iteration(const loop_state *s) {
  for (uint32_t k = 0; k < s->args->op->results_count; k++)
    if (s->body->returns[k].mode != TT_CPU_RETURN_PASS)
      s->now[k] = s->next[k];
}

static void end_loop(const loop_state *s) {
  for (uint32_t k = 0; k < s->args->op->results_count; k++)
    if (s->body->returns[k].mode != TT_CPU_RETURN_PASS && s->now[k] != s->args->out[k] &&
        state_bytes(s, k) > 0)
      memcpy(s->args->out[k], s->now[k], (size_t)state_bytes(s, k));
}

tt_error *tt_cpu_kernel_while(const tt_cpu_args *args) {
  tt_cpu_run *run = args->run;
  int64_t size = (int64_t)(args->op->results_count * sizeof(void *));
  _Alignas(TT_CPU_ALIGN) uint8_t go[TT_CPU_ALIGN] = {0};
  void *go_at = go;
  loop_state s = {args, &run->step->blocks[0], &run->step->blocks[1], tt_cpu_scratch(run, size),
                  tt_cpu_scratch(run, size)};
  if (s.now == NULL || s.next == NULL)
    return tt_cpu_no_scratch(args->op, size);
  begin_loop(&s);
  for (;;) {
    TT_RETURN_IF_ERROR(run_region(run, s.cond, s.now, &go_at));
    if (!go[0])
      break;
    aim_iteration(&s);
    TT_RETURN_IF_ERROR(run_region(run, s.body, s.now, s.next));
    end_iteration(&s);
  }
  end_loop(&s);
  return NULL;
}
