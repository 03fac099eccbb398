/* Dims that follow from constants and operands; dynamic ops whose sizes those give. */
#include <string.h>

#include "base/checked.h"
#include "cpu/kernel.h"
#include "cpu/passes/expand.h"

static tt_arena *arena_of(tt_cpu_expand *x) { return &x->build.module->arena; }

static tt_error *set_dims(tt_cpu_expand *x, tt_hlo_type *type, const int64_t *dims, int64_t rank) {
  for (int64_t i = 0; i < rank; i++)
    if (dims[i] < 0 && dims[i] != TT_HLO_DYNAMIC)
      return tt_error_new(TT_INVALID_ARGUMENT, "dim %d is found to be %lld", (int)i,
                          (long long)dims[i]);
  type->rank = (int32_t)rank;
  type->dims = tt_arena_copy(arena_of(x), dims, (size_t)rank * sizeof *dims);
  return type->dims == NULL ? tt_error_no_memory((size_t)rank * sizeof *dims)
                            : tt_hlo_type_check(type);
}

/* Operand `i` is a constant list of `rank` numbers; a wrong count, which a list of unknown length
 * may turn out to have, stays for inference to find. */
static bool constant_list(const tt_hlo_op *op, uint32_t i, int32_t rank, int64_t *out_items) {
  int64_t count = 0;
  return tt_cpu_constant_ints(op->operands[i], out_items, TT_HLO_RANK_MAX, &count) && count == rank;
}

static tt_error *add_list(tt_cpu_expand *x, tt_hlo_attr *attr, tt_hlo_attr_name name,
                          const int64_t *items, int32_t count) {
  const int64_t *copy = tt_arena_copy(arena_of(x), items, (size_t)count * sizeof *items);
  *attr = (tt_hlo_attr){.name = name, .kind = TT_HLO_ATTR_I64S, .i64s = {(size_t)count, copy}};
  return copy == NULL ? tt_error_no_memory((size_t)count * sizeof *items) : NULL;
}

/* The attribute besides those that are there. */
static tt_error *put_attrs(tt_cpu_expand *x, tt_hlo_op *op, const tt_hlo_attr *more,
                           uint32_t count) {
  tt_hlo_attr *attrs = tt_arena_array(arena_of(x), op->attrs_count + count, sizeof *attrs);
  if (attrs == NULL)
    return tt_error_no_memory((op->attrs_count + count) * sizeof *attrs);
  if (op->attrs_count > 0)
    memcpy(attrs, op->attrs, op->attrs_count * sizeof *attrs);
  memcpy(attrs + op->attrs_count, more, count * sizeof *attrs);
  op->attrs = attrs;
  op->attrs_count += count;
  return NULL;
}

/* ---- dynamic ops ---- */

/* The result has the dims that operand `i` holds, and the op becomes `code` without it. */
static tt_error *take_shape(tt_cpu_expand *x, tt_hlo_op *op, uint32_t i, tt_hlo_code code) {
  int64_t dims[TT_HLO_RANK_MAX];
  if (!constant_list(op, i, op->results[0].type.rank, dims))
    return NULL;
  tt_hlo_type found = op->results[0].type;
  TT_RETURN_IF_ERROR(set_dims(x, &found, dims, found.rank));
  if (!tt_hlo_type_compatible(&found, &op->results[0].type))
    return tt_error_new(TT_INVALID_ARGUMENT, "%s: its shape operand is not the result's shape",
                        tt_hlo_ops[op->code].mnemonic);
  op->results[0].type = found;
  if (code != op->code)
    op->operands_count = i;
  op->code = code;
  return NULL;
}

static tt_error *refine_pad(tt_cpu_expand *x, tt_hlo_op *op) {
  static const tt_hlo_attr_name names[3] = {TT_HLO_EDGE_PADDING_LOW, TT_HLO_EDGE_PADDING_HIGH,
                                            TT_HLO_INTERIOR_PADDING};
  int64_t lists[3][TT_HLO_RANK_MAX];
  tt_hlo_attr attrs[3];
  tt_hlo_op copy = *op;
  for (uint32_t i = 0; i < 3; i++) {
    if (!constant_list(op, 2 + i, op->operands[0]->type.rank, lists[i]))
      return NULL;
    TT_RETURN_IF_ERROR(add_list(x, &attrs[i], names[i], lists[i], op->operands[0]->type.rank));
  }
  TT_RETURN_IF_ERROR(put_attrs(x, &copy, attrs, 3));
  copy.code = TT_HLO_PAD;
  copy.operands_count = 2;
  *op = copy;
  return NULL;
}

static tt_error *refine_slice(tt_cpu_expand *x, tt_hlo_op *op) {
  static const tt_hlo_attr_name names[3] = {TT_HLO_START_INDICES, TT_HLO_LIMIT_INDICES,
                                            TT_HLO_STRIDES};
  int64_t lists[3][TT_HLO_RANK_MAX];
  tt_hlo_attr attrs[3];
  for (uint32_t i = 0; i < 3; i++) {
    if (!constant_list(op, 1 + i, op->operands[0]->type.rank, lists[i]))
      return NULL;
    TT_RETURN_IF_ERROR(add_list(x, &attrs[i], names[i], lists[i], op->operands[0]->type.rank));
  }
  TT_RETURN_IF_ERROR(put_attrs(x, op, attrs, 3));
  op->code = TT_HLO_SLICE;
  op->operands_count = 1;
  return NULL;
}

static tt_error *refine_gather(tt_cpu_expand *x, tt_hlo_op *op) {
  int64_t sizes[TT_HLO_RANK_MAX];
  tt_hlo_attr attr;
  if (!constant_list(op, 2, op->operands[0]->type.rank, sizes))
    return NULL;
  TT_RETURN_IF_ERROR(add_list(x, &attr, TT_HLO_SLICE_SIZES, sizes, op->operands[0]->type.rank));
  TT_RETURN_IF_ERROR(put_attrs(x, op, &attr, 1));
  op->code = TT_HLO_GATHER;
  op->operands_count = 2;
  return NULL;
}

static tt_error *refine_conv(tt_cpu_expand *x, tt_hlo_op *op) {
  int64_t pairs[2 * TT_HLO_RANK_MAX], count = 0;
  if (!tt_cpu_constant_ints(op->operands[2], pairs, TT_COUNT(pairs), &count))
    return NULL;
  tt_hlo_attr attr;
  TT_RETURN_IF_ERROR(add_list(x, &attr, TT_HLO_PADDING, pairs, (int32_t)count));
  attr.kind = TT_HLO_ATTR_MATRIX;
  attr.columns = 2;
  for (uint32_t i = 0; i < op->attrs_count; i++)
    if (op->attrs[i].name == TT_HLO_PADDING) /* an old form allows both; the operand counts */
      op->attrs[i] = op->attrs[--op->attrs_count];
  TT_RETURN_IF_ERROR(put_attrs(x, op, &attr, 1));
  op->code = TT_HLO_CONVOLUTION;
  op->operands_count = 2;
  return NULL;
}

static tt_error *refine_shape_op(tt_cpu_expand *x, tt_hlo_op *op) {
  switch (op->code) {
    case TT_HLO_DYNAMIC_RESHAPE:
      return take_shape(x, op, 1, TT_HLO_RESHAPE);
    case TT_HLO_DYNAMIC_BROADCAST_IN_DIM:
      return take_shape(x, op, 1, TT_HLO_BROADCAST_IN_DIM);
    case TT_HLO_DYNAMIC_IOTA:
      return take_shape(x, op, 0, TT_HLO_IOTA);
    case TT_HLO_RNG:
      return take_shape(x, op, 2, TT_HLO_RNG);
    case TT_HLO_DYNAMIC_PAD:
      return refine_pad(x, op);
    case TT_HLO_REAL_DYNAMIC_SLICE:
      return refine_slice(x, op);
    case TT_HLO_DYNAMIC_GATHER:
      return refine_gather(x, op);
    case TT_HLO_DYNAMIC_CONV:
      return refine_conv(x, op);
    default:
      return NULL;
  }
}

/* ---- types ---- */

/* The one dim that the result's type leaves out is what the others leave of the elements. */
static tt_error *refine_reshape(tt_cpu_expand *x, tt_hlo_op *op) {
  const tt_hlo_type *operand = &op->operands[0]->type;
  tt_hlo_type *result = &op->results[0].type;
  int64_t dims[TT_HLO_RANK_MAX], count = 0, known = 1, hole = -1;
  if (!tt_dims_count(operand->dims, (size_t)operand->rank, &count))
    return NULL;
  for (int32_t i = 0; i < result->rank; i++) {
    dims[i] = result->dims[i];
    if (dims[i] == TT_HLO_DYNAMIC && hole >= 0)
      return NULL;
    if (dims[i] == TT_HLO_DYNAMIC)
      hole = i;
    else if (!tt_mul_i64(known, dims[i], &known))
      return NULL;
  }
  if (hole < 0 || known == 0 || count % known != 0)
    return NULL;
  dims[hole] = count / known;
  return set_dims(x, result, dims, result->rank);
}

/* What the specification lets only differ in the element type. */
static tt_error *refine_same_dims(tt_cpu_expand *x, tt_hlo_op *op) {
  const tt_hlo_type *operand = &op->operands[0]->type;
  tt_hlo_type *result = &op->results[0].type;
  if (operand->rank != result->rank)
    return NULL;
  return set_dims(x, result, operand->dims, operand->rank);
}

/* Arguments of a loop's regions are what the loop is given. */
static void refine_args(tt_hlo_op *op) {
  for (uint32_t i = 0; op->code == TT_HLO_WHILE && i < op->regions_count; i++)
    for (uint32_t k = 0; k < op->regions[i]->args_count && k < op->operands_count; k++)
      if (tt_hlo_type_compatible(&op->regions[i]->args[k].type, &op->operands[k]->type))
        op->regions[i]->args[k].type = op->operands[k]->type;
}

/* What inference found of a result together with what the program says: dims that follow from
 * nothing yet stay as they are declared, and what follows must agree. */
static tt_error *keep_declared(tt_cpu_expand *x, const tt_hlo_op *op, const tt_hlo_type *declared,
                               tt_hlo_type *found) {
  int64_t dims[TT_HLO_RANK_MAX];
  if (declared->token || declared->rank != found->rank)
    return NULL;
  if (!tt_hlo_type_compatible(declared, found))
    return tt_error_new(TT_INVALID_ARGUMENT, "%s: a result is declared with other dims than it has",
                        tt_hlo_ops[op->code].mnemonic);
  bool more = false;
  for (int32_t i = 0; i < found->rank; i++) {
    bool kept = found->dims[i] == TT_HLO_DYNAMIC && declared->dims[i] != TT_HLO_DYNAMIC;
    dims[i] = kept ? declared->dims[i] : found->dims[i];
    more = more || kept;
  }
  return more ? set_dims(x, found, dims, found->rank) : NULL;
}

static tt_error *infer_results(tt_cpu_expand *x, tt_hlo_op *op, const tt_hlo_type *declared) {
  if (op->code == TT_HLO_RESHAPE)
    TT_RETURN_IF_ERROR(refine_reshape(x, op));
  if (op->code == TT_HLO_CONVERT || op->code == TT_HLO_BITCAST_CONVERT)
    TT_RETURN_IF_ERROR(refine_same_dims(x, op));
  TT_RETURN_IF_ERROR(tt_hlo_op_infer(arena_of(x), op));
  for (uint32_t i = 0; i < op->results_count; i++)
    TT_RETURN_IF_ERROR(keep_declared(x, op, &declared[i], &op->results[i].type));
  return NULL;
}

tt_error *tt_cpu_refine_results(tt_cpu_expand *x, tt_hlo_op *op) {
  if (op->code == TT_HLO_CUSTOM_CALL || op->code == TT_HLO_CONSTANT || op->code == TT_HLO_RETURN)
    return NULL;
  tt_hlo_type *declared = tt_arena_array(&x->scratch, op->results_count, sizeof *declared);
  if (declared == NULL)
    return tt_error_no_memory(op->results_count * sizeof *declared);
  for (uint32_t i = 0; i < op->results_count; i++)
    declared[i] = op->results[i].type;
  return infer_results(x, op, declared);
}

tt_error *tt_cpu_refine(tt_cpu_expand *x, tt_hlo_op *op) {
  TT_RETURN_IF_ERROR(refine_shape_op(x, op));
  refine_args(op);
  return op->regions_count > 0 && op->code == TT_HLO_WHILE  ? NULL
         : op->code == TT_HLO_IF || op->code == TT_HLO_CASE ? NULL
                                                            : tt_cpu_refine_results(x, op);
}
