/* From ops to steps. Ops that only rename memory become no step but share a root; ops that work
 * element by element join groups, each of which is one step. */
#include <string.h>

#include "base/checked.h"
#include "cpu/compile.h"
#include "cpu/kernels.h"
#include "cpu/view.h"

static tt_error *add_value(tt_cpu_maker *m, tt_cpu_value_kind kind, tt_cpu_block *block,
                           uint32_t *out_number) {
  if (m->values_count == m->values_capacity) {
    size_t capacity = m->values_capacity == 0 ? 32 : 2 * m->values_capacity;
    tt_cpu_value *values = tt_arena_array(&m->scratch, capacity, sizeof *values);
    if (values == NULL || capacity > UINT32_MAX / 2)
      return tt_error_no_memory(0);
    if (m->values_count > 0)
      memcpy(values, m->values, m->values_count * sizeof *values);
    m->values = values;
    m->values_capacity = capacity;
  }
  *out_number = (uint32_t)m->values_count++;
  tt_cpu_value *value = tt_cpu_value_at(m, *out_number);
  *value = (tt_cpu_value){.kind = kind,
                          .root = *out_number,
                          .block = block,
                          .dense = TT_CPU_NONE,
                          .last = -1,
                          .next = TT_CPU_NONE};
  return NULL;
}

tt_error *tt_cpu_add_typed(tt_cpu_maker *m, tt_hlo_value *from, tt_cpu_value_kind kind,
                           tt_cpu_block *block) {
  if (!tt_hlo_type_is_known(&from->type))
    return tt_error_new(TT_UNIMPLEMENTED, "%s: dims that only the run knows are not implemented",
                        from->op == NULL ? "an argument" : tt_hlo_ops[from->op->code].mnemonic);
  TT_RETURN_IF_ERROR(add_value(m, kind, block, &from->number));
  tt_cpu_value *value = tt_cpu_value_at(m, from->number);
  value->count = from->type.token ? 0 : tt_cpu_count(&from->type);
  value->element = from->type.token ? 0 : tt_dtype_bytes(from->type.dtype);
  value->bytes = value->count * value->element;
  return NULL;
}

void tt_cpu_append_step(tt_cpu_block *block, tt_cpu_step *step) {
  step->previous = block->last;
  step->next = NULL;
  *(block->last == NULL ? &block->first : &block->last->next) = step;
  block->last = step;
}

void tt_cpu_insert_step(tt_cpu_step *before, tt_cpu_step *step) {
  step->previous = before->previous;
  step->next = before;
  *(before->previous == NULL ? &before->block->first : &before->previous->next) = step;
  before->previous = step;
}

void tt_cpu_remove_step(tt_cpu_block *block, tt_cpu_step *step) {
  *(step->previous == NULL ? &block->first : &step->previous->next) = step->next;
  *(step->next == NULL ? &block->last : &step->next->previous) = step->previous;
}

tt_error *tt_cpu_new_step(tt_cpu_maker *m, tt_cpu_block *block, const tt_hlo_op *op,
                          tt_cpu_step **out_step) {
  tt_cpu_step *step = tt_arena_alloc(&m->plan->arena, sizeof *step);
  if (step == NULL)
    return tt_error_no_memory(0);
  step->op = op;
  step->block = block;
  tt_cpu_append_step(block, step);
  *out_step = step;
  return NULL;
}

tt_error *tt_cpu_size_step(tt_cpu_maker *m, tt_cpu_step *step, uint32_t ins, uint32_t outs,
                           uint32_t extras) {
  size_t count = (size_t)ins + outs + extras;
  step->ins = ins;
  step->outs = outs;
  step->extras = extras;
  step->values = tt_arena_array(&m->scratch, count, sizeof *step->values);
  step->refs = tt_arena_array(&m->plan->arena, count, sizeof *step->refs);
  step->pointers = m->body->pointers;
  m->body->pointers += (uint32_t)count;
  return step->values == NULL || step->refs == NULL ? tt_error_no_memory(0) : NULL;
}

/* ---- uses ---- */

/* A step outside of its group reads the root: the group may not grow any more. */
void tt_cpu_use_root(tt_cpu_maker *m, uint32_t root) {
  tt_cpu_value *value = tt_cpu_value_at(m, root);
  value->uses++;
  if (value->kind == TT_CPU_VALUE_STEP && value->step->group != NULL)
    value->step->group->open = false;
}

static bool encloses(const tt_cpu_block *outer, const tt_cpu_block *block) {
  while (block != outer && block->owner != NULL)
    block = block->owner->block;
  return block == outer;
}

tt_error *tt_cpu_kernel_tile(const tt_cpu_args *args) {
  tt_cpu_tile_run(args->run->step->tile, args->in, args->out);
  return NULL;
}

/* The root of a value, every element in its place: a spread one is written out first. */
static tt_error *dense_root(tt_cpu_maker *m, tt_cpu_block *block, uint32_t number,
                            uint32_t *out_root) {
  tt_cpu_value from = *tt_cpu_value_at(m, number);
  uint32_t made = from.dense;
  tt_cpu_step *step = NULL;
  *out_root = from.root;
  if (from.period == 0)
    return NULL;
  *out_root = made;
  if (made != TT_CPU_NONE && encloses(tt_cpu_value_at(m, made)->block, block))
    return NULL;
  TT_RETURN_IF_ERROR(tt_cpu_new_step(m, block, NULL, &step));
  TT_RETURN_IF_ERROR(add_value(m, TT_CPU_VALUE_STEP, block, &made));
  TT_RETURN_IF_ERROR(tt_cpu_size_step(m, step, 1, 1, 0));
  tt_cpu_value *value = tt_cpu_value_at(m, made);
  value->count = from.count;
  value->bytes = from.bytes;
  value->element = from.element;
  value->step = step;
  step->kernel = tt_cpu_kernel_tile;
  step->values[0] = from.root;
  step->values[1] = made;
  tt_cpu_use_root(m, from.root);
  tt_cpu_tile_in *in = tt_arena_alloc(&m->plan->arena, sizeof *in);
  tt_cpu_tile_out *out = tt_arena_alloc(&m->plan->arena, sizeof *out);
  if (in == NULL || out == NULL)
    return tt_error_no_memory(0);
  *in = (tt_cpu_tile_in){.inner = from.inner, .period = from.period, .bytes = from.element};
  out->bytes = from.element;
  tt_cpu_value_at(m, number)->dense = made;
  *out_root = made;
  return tt_cpu_tile_make(&m->plan->arena, NULL, NULL, 0, from.count, in, 1, out, 1, NULL,
                          &step->tile);
}

static tt_error *use_dense(tt_cpu_maker *m, tt_cpu_block *block, const tt_hlo_value *value,
                           uint32_t *out_root) {
  TT_RETURN_IF_ERROR(dense_root(m, block, value->number, out_root));
  tt_cpu_use_root(m, *out_root);
  return NULL;
}

/* ---- renames ---- */

static void share(tt_cpu_maker *m, uint32_t number, uint32_t with) {
  const tt_cpu_value *from = tt_cpu_value_at(m, with);
  tt_cpu_value *value = tt_cpu_value_at(m, number);
  value->root = from->root;
  value->inner = from->inner;
  value->period = from->period;
}

static tt_error *compile_constant(tt_cpu_maker *m, tt_hlo_op *op, tt_cpu_block *block) {
  const tt_hlo_attr *attr = tt_hlo_op_attr(op, TT_HLO_VALUE);
  TT_RETURN_IF_ERROR(tt_cpu_add_typed(m, &op->results[0], TT_CPU_VALUE_CONSTANT, block));
  tt_cpu_value *value = tt_cpu_value_at(m, op->results[0].number);
  const void *data = attr->data;
  size_t bytes = (size_t)(attr->splat ? value->element : value->bytes);
  if (((uintptr_t)data & 15) != 0 && value->bytes > 0) {
    data = tt_arena_copy(&m->plan->arena, data, bytes);
    if (data == NULL)
      return tt_error_no_memory(bytes);
  }
  value->placed = true;
  value->ref = (tt_cpu_ref){TT_CPU_BASE_ABSOLUTE, (int64_t)(intptr_t)data};
  if (attr->splat && value->count > 1) {
    value->inner = 1;
    value->period = 1;
  }
  return NULL;
}

/* True: the op needs no step. */
static tt_error *compile_rename(tt_cpu_maker *m, tt_hlo_op *op, tt_cpu_block *block,
                                bool *out_done) {
  int64_t inner = 0, period = 0;
  *out_done = true;
  if (op->code == TT_HLO_CONSTANT)
    return compile_constant(m, op, block);
  bool view = tt_cpu_is_view(op);
  *out_done = view || (tt_cpu_is_spread(op, &inner, &period) &&
                       tt_cpu_value_at(m, op->operands[0]->number)->period == 0);
  if (!*out_done)
    return NULL;
  for (uint32_t i = 0; i < op->results_count; i++) {
    uint32_t with = op->operands[i]->number;
    TT_RETURN_IF_ERROR(tt_cpu_add_typed(m, &op->results[i], TT_CPU_VALUE_STEP, block));
    /* How a value is spread is counted in its elements: a bitcast to others needs them all. */
    if (view && tt_cpu_value_at(m, with)->count != tt_cpu_value_at(m, op->results[i].number)->count)
      TT_RETURN_IF_ERROR(dense_root(m, block, with, &with));
    share(m, op->results[i].number, with);
  }
  if (!view) {
    tt_cpu_value_at(m, op->results[0].number)->inner = inner;
    tt_cpu_value_at(m, op->results[0].number)->period = period;
  }
  return NULL;
}

/* ---- other ops ---- */

static tt_error *compile_block(tt_cpu_maker *m, tt_cpu_block *block);

/* Loops: argument k of both regions and result k are operand k, when the body returns its argument
 * as it is. */
static bool passes(const tt_hlo_op *op, uint32_t k) {
  if (op->code != TT_HLO_WHILE)
    return false;
  const tt_hlo_region *body = op->regions[1];
  return body->last->operands[k] == &body->args[k];
}

static tt_error *open_block(tt_cpu_maker *m, tt_cpu_block *block, const tt_hlo_region *region) {
  const tt_hlo_op *end = region->last;
  block->region = region;
  block->args = m->body->bases;
  block->results = block->args + region->args_count;
  m->body->bases = block->results + end->operands_count;
  block->returns_count = end->operands_count;
  block->returns = tt_arena_array(&m->plan->arena, end->operands_count, sizeof *block->returns);
  if (block->returns == NULL)
    return tt_error_no_memory(0);
  block->args_value = (uint32_t)m->values_count;
  for (uint32_t i = 0; i < region->args_count; i++) {
    TT_RETURN_IF_ERROR(tt_cpu_add_typed(m, &region->args[i], TT_CPU_VALUE_ARG, block));
    tt_cpu_value *value = tt_cpu_value_at(m, region->args[i].number);
    value->ref = (tt_cpu_ref){block->args + i, 0};
    value->placed = true;
  }
  return NULL;
}

static tt_error *compile_regions(tt_cpu_maker *m, const tt_hlo_op *op, tt_cpu_step *step) {
  step->blocks = tt_arena_array(&m->plan->arena, op->regions_count, sizeof *step->blocks);
  if (step->blocks == NULL)
    return tt_error_no_memory(0);
  for (uint32_t i = 0; i < op->regions_count; i++) {
    tt_cpu_block *block = &step->blocks[i];
    block->owner = step;
    TT_RETURN_IF_ERROR(open_block(m, block, op->regions[i]));
    for (uint32_t k = 0; k < op->regions[i]->args_count; k++)
      if (passes(op, k))
        share(m, op->regions[i]->args[k].number, op->operands[k]->number);
    TT_RETURN_IF_ERROR(compile_block(m, block));
  }
  return NULL;
}

static tt_error *check_op(const tt_hlo_op *op) {
  const tt_cpu_kernel_info *info = &tt_cpu_kernels[op->code];
  if (info->kernel == NULL)
    return tt_error_new(TT_UNIMPLEMENTED, "%s is not implemented", tt_hlo_ops[op->code].mnemonic);
  return info->check == NULL ? NULL : info->check(op);
}

static tt_error *add_result(tt_cpu_maker *m, tt_hlo_op *op, uint32_t i, tt_cpu_step *step) {
  TT_RETURN_IF_ERROR(tt_cpu_add_typed(m, &op->results[i], TT_CPU_VALUE_STEP, step->block));
  tt_cpu_value *value = tt_cpu_value_at(m, op->results[i].number);
  value->step = step;
  value->out = i;
  if (passes(op, i))
    share(m, op->results[i].number, op->operands[i]->number);
  step->values[step->ins + i] = tt_cpu_root_of(m, op->results[i].number);
  return NULL;
}

/* A loop keeps a second copy of its state, which the body writes while it reads the first. */
static tt_error *add_extra(tt_cpu_maker *m, const tt_hlo_op *op, uint32_t i, tt_cpu_step *step) {
  uint32_t number = 0;
  int64_t bytes = tt_cpu_value_at(m, op->results[i].number)->bytes;
  TT_RETURN_IF_ERROR(add_value(m, TT_CPU_VALUE_STEP, step->block, &number));
  tt_cpu_value_at(m, number)->step = step;
  tt_cpu_value_at(m, number)->out = step->outs + i;
  tt_cpu_value_at(m, number)->bytes = passes(op, i) ? 0 : bytes;
  step->values[step->ins + step->outs + i] = number;
  return NULL;
}

/* The root that the step reads for operand `i`; a view of it where the kernel can take one. */
static tt_error *compile_operand(tt_cpu_maker *m, const tt_hlo_op *op, uint32_t i,
                                 tt_cpu_block *block, tt_cpu_absorbed *absorbed,
                                 uint32_t *out_root) {
  const tt_hlo_value *operand = op->operands[i];
  if (passes(op, i)) {
    *out_root = tt_cpu_root_of(m, operand->number);
    return NULL;
  }
  if (absorbed != NULL && i < TT_COUNT(absorbed->views)) {
    const tt_hlo_value *base = NULL;
    TT_RETURN_IF_ERROR(tt_cpu_absorb_view(m, operand, &absorbed->views[i], &base));
    operand = base == NULL ? operand : base;
  }
  return use_dense(m, block, operand, out_root);
}

/* Operands come first, so that what they need runs before the step itself. */
static tt_error *compile_operands(tt_cpu_maker *m, const tt_hlo_op *op, tt_cpu_block *block,
                                  tt_cpu_absorbed **out_absorbed, uint32_t **out_roots) {
  uint32_t *roots = tt_arena_array(&m->scratch, op->operands_count, sizeof *roots);
  tt_cpu_absorbed *absorbed = NULL;
  if ((tt_cpu_kernels[op->code].traits & TT_CPU_STRIDED) != 0) {
    absorbed = tt_arena_alloc(&m->plan->arena, sizeof *absorbed);
    if (absorbed == NULL)
      return tt_error_no_memory(0);
  }
  if (roots == NULL)
    return tt_error_no_memory(0);
  for (uint32_t i = 0; i < op->operands_count; i++)
    TT_RETURN_IF_ERROR(compile_operand(m, op, i, block, absorbed, &roots[i]));
  *out_roots = roots;
  *out_absorbed = absorbed;
  return NULL;
}

/* The result of a window is no memory of its own, but a base that each run of the step sets. */
static tt_error *kernel_window(const tt_cpu_args *args) {
  const tt_cpu_step *step = args->run->step;
  int64_t bytes = tt_cpu_slice_start(args) * tt_dtype_bytes(args->op->operands[0]->type.dtype);
  args->run->bases[step->refs[step->ins].base] = (uintptr_t)args->in[0] + (uintptr_t)bytes;
  return NULL;
}

/* A part of what stays as it is for as long as the block runs: of a value from outside, such as
 * what a loop reads a step at a time. */
static bool reads_window(const tt_cpu_maker *m, const tt_hlo_op *op, const tt_cpu_block *block) {
  if (!tt_cpu_is_window(op) || tt_cpu_value_at(m, op->operands[0]->number)->period != 0)
    return false;
  const tt_cpu_value *root = tt_cpu_value_at(m, tt_cpu_root_of(m, op->operands[0]->number));
  return root->block != block && root->kind != TT_CPU_VALUE_CONSTANT;
}

static void aim_window(tt_cpu_maker *m, const tt_hlo_op *op, tt_cpu_step *step) {
  tt_cpu_value *value = tt_cpu_value_at(m, op->results[0].number);
  step->kernel = kernel_window;
  value->kind = TT_CPU_VALUE_WINDOW;
  value->placed = true;
  value->ref = (tt_cpu_ref){m->body->bases++, 0};
}

static tt_error *compile_other(tt_cpu_maker *m, tt_hlo_op *op, tt_cpu_block *block) {
  tt_cpu_step *step = NULL;
  tt_cpu_absorbed *absorbed = NULL;
  uint32_t *roots = NULL, extras = op->code == TT_HLO_WHILE ? op->results_count : 0;
  TT_RETURN_IF_ERROR(check_op(op));
  TT_RETURN_IF_ERROR(compile_operands(m, op, block, &absorbed, &roots));
  TT_RETURN_IF_ERROR(tt_cpu_new_step(m, block, op, &step));
  step->kernel = tt_cpu_kernels[op->code].kernel;
  step->absorbed = absorbed;
  TT_RETURN_IF_ERROR(tt_cpu_size_step(m, step, op->operands_count, op->results_count, extras));
  if (op->operands_count > 0)
    memcpy(step->values, roots, op->operands_count * sizeof *roots);
  if (op->code == TT_HLO_COMPOSITE)
    TT_RETURN_IF_ERROR(tt_cpu_body_get(m->plan, tt_hlo_op_attr(op, TT_HLO_DECOMPOSITION)->text,
                                       m->depth + 1, &step->callee));
  if (op->regions_count > 0)
    TT_RETURN_IF_ERROR(compile_regions(m, op, step));
  for (uint32_t i = 0; i < op->results_count; i++)
    TT_RETURN_IF_ERROR(add_result(m, op, i, step));
  for (uint32_t i = 0; i < extras; i++)
    TT_RETURN_IF_ERROR(add_extra(m, op, i, step));
  if (reads_window(m, op, block))
    aim_window(m, op, step);
  if (step->callee != NULL && step->callee->depth + 1 > m->body->depth)
    m->body->depth = step->callee->depth + 1;
  return NULL;
}

static tt_error *compile_op(tt_cpu_maker *m, tt_hlo_op *op, tt_cpu_block *block) {
  bool done = false;
  TT_RETURN_IF_ERROR(compile_rename(m, op, block, &done));
  if (done)
    return NULL;
  TT_RETURN_IF_ERROR(tt_cpu_compile_reduce(m, op, block, &done));
  if (done)
    return NULL;
  return tt_cpu_is_elementwise(op) ? tt_cpu_compile_elementwise(m, op, block)
                                   : compile_other(m, op, block);
}

/* Nothing reads what the step makes, and it does nothing else. */
static bool is_dead(const tt_cpu_maker *m, const tt_cpu_step *step) {
  if (step->op != NULL && ((tt_hlo_ops[step->op->code].traits & TT_HLO_EFFECT) != 0 ||
                           step->op->regions_count > 0 || step->callee != NULL))
    return false;
  for (uint32_t i = 0; i < step->outs; i++)
    if (tt_cpu_value_at(m, step->values[step->ins + i])->uses > 0)
      return false;
  return true;
}

static void drop_step(tt_cpu_maker *m, tt_cpu_block *block, tt_cpu_step *step) {
  for (uint32_t i = 0; i < step->ins; i++)
    tt_cpu_value_at(m, step->values[i])->uses--;
  for (uint32_t i = 0; i < step->outs; i++)
    tt_cpu_value_at(m, step->values[step->ins + i])->step = NULL;
  tt_cpu_remove_step(block, step);
}

/* From the last: so whatever reads a value has been seen when it is decided what becomes of it. */
static tt_error *finish_steps(tt_cpu_maker *m, tt_cpu_block *block) {
  for (tt_cpu_step *step = block->last, *previous; step != NULL; step = previous) {
    previous = step->previous;
    if (step->group != NULL) {
      TT_RETURN_IF_ERROR(tt_cpu_absorb_rows(m, step));
      previous = step->previous;
      TT_RETURN_IF_ERROR(tt_cpu_finish_group(m, step));
    } else if (is_dead(m, step)) {
      drop_step(m, block, step);
    }
  }
  return NULL;
}

static tt_error *compile_block(tt_cpu_maker *m, tt_cpu_block *block) {
  const tt_hlo_op *end = block->region->last;
  for (tt_hlo_op *op = block->region->first; op != end; op = op->next) {
    tt_error *err = compile_op(m, op, block);
    if (err != NULL)
      return op->location == NULL ? err : tt_error_wrap_take(err, "%s", op->location);
  }
  bool loop = block->owner != NULL && block->owner->op->code == TT_HLO_WHILE &&
              block == &block->owner->blocks[1];
  for (uint32_t i = 0; i < block->returns_count; i++) {
    tt_cpu_return *to = &block->returns[i];
    to->writer = TT_CPU_NONE;
    if (loop && passes(block->owner->op, i)) {
      to->mode = TT_CPU_RETURN_PASS;
      continue;
    }
    TT_RETURN_IF_ERROR(use_dense(m, block, end->operands[i], &to->value));
    to->bytes = tt_cpu_value_at(m, end->operands[i]->number)->bytes;
  }
  TT_RETURN_IF_ERROR(finish_steps(m, block));
  return tt_cpu_join_attention(m, block);
}

tt_error *tt_cpu_compile(tt_cpu_maker *m) {
  m->body->bases = TT_CPU_BASE_FIRST;
  TT_RETURN_IF_ERROR(open_block(m, &m->body->block, m->body->func->body));
  return compile_block(m, &m->body->block);
}
