#include "hlo/ir.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

tt_error *tt_hlo_module_new(tt_hlo_module **out_module) {
  tt_hlo_module *module = calloc(1, sizeof *module);
  *out_module = module;
  if (module == NULL)
    return tt_error_no_memory(sizeof *module);
  module->num_replicas = 1;
  module->num_partitions = 1;
  return NULL;
}

void tt_hlo_module_free(tt_hlo_module *module) {
  if (module == NULL)
    return;
  tt_arena_reset(&module->arena);
  free(module);
}

const tt_hlo_func *tt_hlo_func_find(const tt_hlo_module *module, const char *name) {
  for (const tt_hlo_func *func = module->funcs; func != NULL; func = func->next)
    if (func->name != NULL && strcmp(func->name, name) == 0)
      return func;
  return NULL;
}

const tt_hlo_attr *tt_hlo_op_attr(const tt_hlo_op *op, tt_hlo_attr_name name) {
  for (uint32_t i = 0; i < op->attrs_count; i++)
    if (op->attrs[i].name == name)
      return &op->attrs[i];
  return NULL;
}

bool tt_hlo_type_equal(const tt_hlo_type *a, const tt_hlo_type *b) {
  if (a->token || b->token)
    return a->token && b->token;
  if (a->dtype != b->dtype || a->rank != b->rank || a->future != b->future)
    return false;
  return a->dims == b->dims || a->rank == 0 ||
         memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

bool tt_hlo_type_compatible(const tt_hlo_type *a, const tt_hlo_type *b) {
  if (a->token || b->token)
    return a->token && b->token;
  if (a->dtype != b->dtype || a->rank != b->rank || a->future != b->future)
    return false;
  for (int32_t i = 0; i < a->rank && a->dims != b->dims; i++)
    if (a->dims[i] != b->dims[i] && a->dims[i] != TT_HLO_DYNAMIC && b->dims[i] != TT_HLO_DYNAMIC)
      return false;
  return true;
}

bool tt_hlo_type_is_known(const tt_hlo_type *type) {
  for (int32_t i = 0; !type->token && i < type->rank; i++)
    if (type->dims[i] == TT_HLO_DYNAMIC)
      return false;
  return true;
}

tt_error *tt_hlo_type_check(const tt_hlo_type *type) {
  int64_t size = 1;
  bool fits = true, zero = false;
  if (type->token)
    return NULL;
  if ((unsigned)type->dtype >= TT_DTYPE_COUNT)
    return tt_error_new(TT_INVALID_ARGUMENT, "no dtype has the number %d", (int)type->dtype);
  if (type->rank < 0 || type->rank > TT_HLO_RANK_MAX)
    return tt_error_new(TT_INVALID_ARGUMENT, "rank %d is not in [0, %d]", (int)type->rank,
                        TT_HLO_RANK_MAX);
  if (type->rank > 0 && type->dims == NULL)
    return tt_error_new(TT_INVALID_ARGUMENT, "a tensor of rank %d has no dims", (int)type->rank);
  size = tt_dtype_bytes(type->dtype);
  for (int32_t i = 0; i < type->rank; i++) {
    int64_t dim = type->dims[i];
    if (dim == TT_HLO_DYNAMIC)
      continue;
    if (dim < 0)
      return tt_error_new(TT_INVALID_ARGUMENT, "dim %d is negative: %lld", (int)i, (long long)dim);
    zero = zero || dim == 0;
    fits = fits && tt_mul_i64(size, dim == 0 ? 1 : dim, &size);
  }
  return fits || zero
             ? NULL
             : tt_error_new(TT_INVALID_ARGUMENT, "the tensor's size in bytes overflows 63 bits");
}
