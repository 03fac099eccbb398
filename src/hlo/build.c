#include "hlo/build.h"

#include <stdarg.h>
#include <string.h>

#include "hlo/build_internal.h"

/* ---- mistakes ---- */

tt_hlo_value *tt_hlo_fail(tt_hlo_build *b, tt_code code, const char *fmt, ...) {
  if (b->err == NULL) {
    va_list args;
    va_start(args, fmt);
    b->err = tt_error_newv(code, fmt, args);
    va_end(args);
  }
  return b->poison;
}

static void fail_take(tt_hlo_build *b, tt_error *err) {
  if (b->err == NULL)
    b->err = err;
  else
    tt_error_free(err);
}

bool tt_hlo_failed(const tt_hlo_build *b) { return b->err != NULL; }

void *tt_hlo_alloc(tt_hlo_build *b, size_t count, size_t size) {
  void *memory = tt_arena_array(&b->module->arena, count, size);
  if (memory == NULL)
    tt_hlo_fail(b, TT_RESOURCE_EXHAUSTED, "out of memory for a program of %zu bytes",
                b->module->arena.total);
  return memory;
}

/* ---- beginning and end ---- */

tt_error *tt_hlo_build_begin(tt_hlo_module *module, tt_hlo_build *out_build) {
  tt_hlo_func *func = tt_arena_alloc(&module->arena, sizeof *func);
  tt_hlo_region *body = tt_arena_alloc(&module->arena, sizeof *body);
  tt_hlo_value *poison = tt_arena_alloc(&module->arena, sizeof *poison);
  memset(out_build, 0, sizeof *out_build);
  if (func == NULL || body == NULL || poison == NULL)
    return tt_error_no_memory(sizeof *func);
  poison->type.dtype = TT_F32;
  func->name = "main";
  func->body = body;
  func->next = module->funcs;
  module->funcs = func;
  out_build->module = module;
  out_build->func = func;
  out_build->region = body;
  out_build->poison = poison;
  return NULL;
}

/* Room for all parameters is taken at the first one: the address of a value must not change later.
 */
void tt_hlo_params_reserve(tt_hlo_build *b, size_t count) {
  if (b->err != NULL || b->params_capacity != 0)
    return;
  b->func->body->args = tt_hlo_alloc(b, count, sizeof(tt_hlo_value));
  b->func->params = tt_hlo_alloc(b, count, sizeof(tt_hlo_param));
  b->params_capacity = count;
}

tt_hlo_value *tt_hlo_param_add(tt_hlo_build *b, tt_dtype dtype, size_t rank, const int64_t *dims) {
  tt_hlo_region *body = b->func->body;
  uint32_t count = body->args_count;
  tt_hlo_value *args;
  tt_hlo_params_reserve(b, TT_HLO_PARAMS_MAX);
  if (b->err != NULL)
    return b->poison;
  if (body->first != NULL)
    return tt_hlo_fail(b, TT_INTERNAL, "parameter %u added after an operation", count);
  if (count >= b->params_capacity)
    return tt_hlo_fail(b, TT_INTERNAL, "more than the %zu parameters that were reserved",
                       b->params_capacity);
  args = &body->args[count];
  args->type = tt_hlo_build_type(b, dtype, dims, rank);
  args->index = count;
  b->func->params[count].alias = -1;
  body->args_count = count + 1;
  return b->err == NULL ? args : b->poison;
}

tt_error *tt_hlo_build_finish(tt_hlo_build *b, tt_hlo_value *const *results, size_t results_count) {
  tt_error *err;
  tt_hlo_op_add(b, TT_HLO_RETURN, results, results_count, NULL, 0, NULL, 0, NULL, 0);
  err = b->err;
  b->err = NULL;
#ifndef NDEBUG
  if (err == NULL)
    err = tt_hlo_module_verify(b->module);
#endif
  return err;
}

void tt_hlo_build_drop(tt_hlo_build *b) {
  tt_error_free(b->err);
  b->err = NULL;
}

/* ---- any operation ---- */

static void link_op(tt_hlo_region *region, tt_hlo_op *op) {
  op->parent = region;
  op->previous = region->last;
  if (region->last != NULL)
    region->last->next = op;
  else
    region->first = op;
  region->last = op;
}

static bool copy_parts(tt_hlo_build *b, tt_hlo_op *op, tt_hlo_value *const *operands,
                       const tt_hlo_attr *attrs, tt_hlo_region *const *regions) {
  tt_arena *arena = &b->module->arena;
  op->operands = tt_arena_copy(arena, operands, op->operands_count * sizeof *operands);
  op->attrs = tt_arena_copy(arena, attrs, op->attrs_count * sizeof *attrs);
  op->regions = tt_arena_copy(arena, regions, op->regions_count * sizeof *regions);
  op->results = tt_arena_array(arena, op->results_count, sizeof *op->results);
  return op->operands && op->attrs && op->regions && op->results;
}

tt_hlo_op *tt_hlo_op_add(tt_hlo_build *b, tt_hlo_code code, tt_hlo_value *const *operands,
                         size_t operands_count, const tt_hlo_attr *attrs, size_t attrs_count,
                         tt_hlo_region *const *regions, size_t regions_count,
                         const tt_hlo_type *given, size_t results_count) {
  tt_hlo_op *op;
  tt_error *err;
  if (b->err != NULL)
    return NULL;
  op = tt_hlo_alloc(b, 1, sizeof *op);
  if (op == NULL)
    return NULL;
  op->code = code;
  op->operands_count = (uint32_t)operands_count;
  op->attrs_count = (uint32_t)attrs_count;
  op->regions_count = (uint32_t)regions_count;
  op->results_count = (uint32_t)results_count;
  op->location = b->location;
  if (!copy_parts(b, op, operands, attrs, regions)) {
    tt_hlo_fail(b, TT_RESOURCE_EXHAUSTED, "%s: out of memory", tt_hlo_ops[code].mnemonic);
    return NULL;
  }
  for (size_t i = 0; i < results_count; i++) {
    op->results[i].op = op;
    op->results[i].index = (uint32_t)i;
    if (given != NULL)
      op->results[i].type = given[i];
  }
  op->parent = b->region;
  err = tt_hlo_op_infer(&b->module->arena, op);
  if (err != NULL) {
    fail_take(b, err);
    return NULL;
  }
  link_op(b->region, op);
  return op;
}

tt_hlo_value *tt_hlo_build_one(tt_hlo_build *b, tt_hlo_code code, tt_hlo_value *const *operands,
                               size_t operands_count, const tt_hlo_attr *attrs, size_t attrs_count,
                               const tt_hlo_type *given) {
  tt_hlo_op *op =
      tt_hlo_op_add(b, code, operands, operands_count, attrs, attrs_count, NULL, 0, given, 1);
  return op != NULL ? &op->results[0] : b->poison;
}

void tt_hlo_build_many(tt_hlo_build *b, tt_hlo_code code, tt_hlo_value *const *operands,
                       size_t operands_count, const tt_hlo_attr *attrs, size_t attrs_count,
                       tt_hlo_region *const *regions, size_t regions_count,
                       const tt_hlo_type *given, tt_hlo_value **results, size_t count) {
  tt_hlo_op *op = tt_hlo_op_add(b, code, operands, operands_count, attrs, attrs_count, regions,
                                regions_count, given, count);
  for (size_t i = 0; i < count; i++)
    results[i] = op != NULL ? &op->results[i] : b->poison;
}

tt_hlo_value *tt_hlo_op1(tt_hlo_build *b, tt_hlo_code code, tt_hlo_value *x) {
  return tt_hlo_build_one(b, code, &x, 1, NULL, 0, NULL);
}

tt_hlo_value *tt_hlo_op2(tt_hlo_build *b, tt_hlo_code code, tt_hlo_value *x, tt_hlo_value *y) {
  tt_hlo_value *operands[] = {x, y};
  return tt_hlo_build_one(b, code, operands, 2, NULL, 0, NULL);
}

/* ---- types and attributes ---- */

tt_hlo_type tt_hlo_build_type(tt_hlo_build *b, tt_dtype dtype, const int64_t *dims, size_t rank) {
  tt_hlo_type type = {0};
  type.dtype = dtype;
  type.rank = (int32_t)rank;
  type.dims = tt_hlo_build_list(b, dims, rank).items;
  if (type.dims == NULL)
    type.rank = 0;
  return type;
}

tt_hlo_type tt_hlo_scalar_type(tt_dtype dtype) {
  tt_hlo_type type = {0};
  type.dtype = dtype;
  return type;
}

tt_hlo_list tt_hlo_build_list(tt_hlo_build *b, const int64_t *items, size_t count) {
  tt_hlo_list list = {count, NULL};
  int64_t *copy = tt_hlo_alloc(b, count, sizeof *copy);
  if (copy != NULL && count != 0)
    memcpy(copy, items, count * sizeof *copy);
  list.items = copy;
  if (copy == NULL)
    list.count = 0;
  return list;
}

tt_hlo_attr tt_hlo_build_i64s(tt_hlo_build *b, tt_hlo_attr_name name, const int64_t *items,
                              size_t count) {
  tt_hlo_attr attr = {.name = name, .kind = TT_HLO_ATTR_I64S};
  attr.i64s = tt_hlo_build_list(b, items, count);
  return attr;
}

tt_hlo_attr tt_hlo_build_i64s_or(tt_hlo_build *b, tt_hlo_attr_name name, const int64_t *items,
                                 size_t count, int64_t otherwise) {
  tt_hlo_attr attr = {.name = name, .kind = TT_HLO_ATTR_I64S};
  int64_t *copy = tt_hlo_alloc(b, count, sizeof *copy);
  for (size_t i = 0; copy != NULL && i < count; i++)
    copy[i] = items != NULL ? items[i] : otherwise;
  attr.i64s.items = copy;
  attr.i64s.count = copy != NULL ? count : 0;
  return attr;
}

tt_hlo_attr tt_hlo_build_i64(tt_hlo_attr_name name, int64_t value) {
  tt_hlo_attr attr = {.name = name, .kind = TT_HLO_ATTR_I64, .i64 = value};
  return attr;
}

tt_hlo_attr tt_hlo_build_bool(tt_hlo_attr_name name, bool value) {
  tt_hlo_attr attr = {.name = name, .kind = TT_HLO_ATTR_BOOL, .i64 = value};
  return attr;
}

tt_hlo_attr tt_hlo_build_enum(tt_hlo_attr_name name, int64_t value) {
  tt_hlo_attr attr = {.name = name, .kind = TT_HLO_ATTR_ENUM, .i64 = value};
  return attr;
}

/* ---- regions ---- */

tt_hlo_region *tt_hlo_region_open(tt_hlo_build *b, const tt_hlo_type *args, size_t args_count) {
  tt_hlo_region *region = tt_hlo_alloc(b, 1, sizeof *region);
  if (region == NULL)
    return NULL;
  region->args = tt_hlo_alloc(b, args_count, sizeof *region->args);
  if (region->args == NULL)
    return NULL;
  region->args_count = (uint32_t)args_count;
  for (size_t i = 0; i < args_count; i++) {
    region->args[i].type = args[i];
    region->args[i].type.dims = tt_hlo_build_list(b, args[i].dims, (size_t)args[i].rank).items;
    region->args[i].index = (uint32_t)i;
  }
  region->outer = b->region;
  b->region = region;
  return region;
}

void tt_hlo_region_close(tt_hlo_build *b, tt_hlo_value *const *results, size_t results_count) {
  tt_hlo_op_add(b, TT_HLO_RETURN, results, results_count, NULL, 0, NULL, 0, NULL, 0);
  if (b->region->outer != NULL)
    b->region = b->region->outer;
}

tt_hlo_value *tt_hlo_region_arg(tt_hlo_build *b, tt_hlo_region *region, size_t i) {
  return region != NULL && i < region->args_count ? &region->args[i] : b->poison;
}

tt_hlo_region *tt_hlo_build_binary_region(tt_hlo_build *b, tt_hlo_code code, tt_dtype dtype) {
  tt_hlo_type args[2] = {tt_hlo_scalar_type(dtype), tt_hlo_scalar_type(dtype)};
  tt_hlo_region *region = tt_hlo_region_open(b, args, 2);
  tt_hlo_value *result =
      tt_hlo_op2(b, code, tt_hlo_region_arg(b, region, 0), tt_hlo_region_arg(b, region, 1));
  if (region != NULL)
    tt_hlo_region_close(b, &result, 1);
  return region;
}
