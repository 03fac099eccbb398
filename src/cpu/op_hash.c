/* Operations among devices: equal ones do the same, whatever stands around them. */
#include "cpu/op_hash.h"

#include <string.h>

#include "base/hash.h"
#include "cpu/kernel.h"

static uint64_t hash_number(int64_t number, uint64_t hash) {
  return tt_hash64(&number, sizeof number, hash);
}

static uint64_t hash_list(tt_hlo_list list, uint64_t hash) {
  hash = hash_number((int64_t)list.count, hash);
  return list.count == 0 ? hash : tt_hash64(list.items, list.count * sizeof *list.items, hash);
}

static uint64_t hash_type(const tt_hlo_type *type, uint64_t hash) {
  hash = hash_number(type->token ? -1 : (int64_t)type->dtype, hash);
  return type->token ? hash : hash_list((tt_hlo_list){(size_t)type->rank, type->dims}, hash);
}

size_t tt_cpu_constant_size(const tt_hlo_op *op, const tt_hlo_attr *attr) {
  int64_t bytes = tt_cpu_bytes(&op->results[0].type);
  return (size_t)(attr->splat && bytes > 0 ? tt_dtype_bytes(op->results[0].type.dtype) : bytes);
}

static uint64_t hash_elements(const tt_hlo_op *op, const tt_hlo_attr *attr, uint64_t hash) {
  size_t size = tt_cpu_constant_size(op, attr);
  return size == 0 ? hash : tt_hash64(attr->data, size, hash);
}

uint64_t tt_cpu_attr_hash(const tt_hlo_op *op, const tt_hlo_attr *attr, uint64_t hash) {
  hash = hash_number((int64_t)attr->name, hash_number((int64_t)attr->kind, hash));
  hash = hash_number(attr->i64, hash_number(attr->columns, hash));
  hash = hash_list(attr->i64s, tt_hash64(&attr->f64, sizeof attr->f64, hash));
  if (attr->text != NULL)
    hash = tt_hash64(attr->text, strlen(attr->text), hash);
  if (attr->kind == TT_HLO_ATTR_DENSE && op->code == TT_HLO_CONSTANT)
    hash = hash_elements(op, attr, hash);
  return hash;
}

static bool is_constant(const tt_hlo_op *op) { return op != NULL && op->code == TT_HLO_CONSTANT; }

/* Members find each other by channel and group: how an op says those does not matter. */
static bool says_who(const tt_hlo_op *op, const tt_hlo_attr *attr) {
  return (tt_hlo_ops[op->code].traits & TT_HLO_COLLECTIVE) != 0 &&
         (attr->name == TT_HLO_CHANNEL_HANDLE || attr->name == TT_HLO_REPLICA_GROUPS ||
          attr->name == TT_HLO_USE_GLOBAL_DEVICE_IDS);
}

/* In any order. No reduction of scalars has a struct of lists. */
static uint64_t hash_attrs(const tt_hlo_op *op, uint64_t hash) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < op->attrs_count; i++)
    if (!says_who(op, &op->attrs[i]))
      sum += tt_cpu_attr_hash(op, &op->attrs[i], 0);
  return hash_number((int64_t)sum, hash);
}

/* How many ops stand before it in its region, constants aside, which may stand anywhere. */
static int64_t place_of(const tt_hlo_op *op) {
  int64_t place = 0;
  for (const tt_hlo_op *at = op->previous; at != NULL; at = at->previous)
    place += !is_constant(at);
  return place;
}

static bool is_argument_of(const tt_hlo_region *region, const tt_hlo_value *value) {
  return value >= region->args && value < region->args + region->args_count;
}

/* A constant is its content, wherever it stands; what else comes from `outside` its type alone. */
static uint64_t hash_use(const tt_hlo_value *value, const tt_hlo_region *region,
                         const tt_hlo_region *outside, uint64_t hash) {
  hash = hash_number(value->index, hash_type(&value->type, hash));
  if (is_constant(value->op))
    return hash_attrs(value->op, hash);
  for (int64_t depth = 1; region != outside; region = region->outer, depth++)
    if (value->op == NULL ? is_argument_of(region, value) : value->op->parent == region)
      return hash_number(value->op == NULL ? -1 : place_of(value->op), hash_number(depth, hash));
  return hash;
}

static uint64_t hash_region(const tt_hlo_region *region, const tt_hlo_region *outside,
                            uint64_t hash);

static uint64_t hash_op(const tt_hlo_op *op, const tt_hlo_region *outside, uint64_t hash) {
  hash = hash_attrs(op, hash_number((int64_t)op->code, hash));
  hash = hash_number(op->operands_count, hash_number(op->results_count, hash));
  for (uint32_t i = 0; i < op->operands_count; i++)
    hash = op->parent == outside ? hash_type(&op->operands[i]->type, hash)
                                 : hash_use(op->operands[i], op->parent, outside, hash);
  for (uint32_t i = 0; i < op->results_count; i++)
    hash = hash_type(&op->results[i].type, hash);
  for (uint32_t i = 0; i < op->regions_count; i++)
    hash = hash_region(op->regions[i], outside, hash);
  return hash;
}

static uint64_t hash_region(const tt_hlo_region *region, const tt_hlo_region *outside,
                            uint64_t hash) {
  for (uint32_t i = 0; i < region->args_count; i++)
    hash = hash_type(&region->args[i].type, hash);
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next)
    if (!is_constant(op))
      hash = hash_op(op, outside, hash);
  return hash;
}

uint64_t tt_cpu_op_hash(const tt_hlo_op *op) { return hash_op(op, op->parent, 0); }
