#include "cpu/view.h"

#include "cpu/kernel.h"

enum { WINDOW_ALIGN = 64 };

static const tt_hlo_type *operand(const tt_hlo_op *op) { return &op->operands[0]->type; }

/* The axes that are longer than 1 keep their order. */
static bool keeps_order(const tt_hlo_op *op) {
  tt_hlo_list permutation = tt_cpu_attr_list(op, TT_HLO_PERMUTATION);
  int64_t before = -1;
  for (size_t i = 0; i < permutation.count; i++) {
    if (operand(op)->dims[permutation.items[i]] == 1)
      continue;
    if (permutation.items[i] < before)
      return false;
    before = permutation.items[i];
  }
  return true;
}

static bool maps_in_order(const tt_hlo_op *op, tt_hlo_list map) {
  int64_t before = -1;
  for (size_t i = 0; i < map.count; i++) {
    if (operand(op)->dims[i] == 1)
      continue;
    if (map.items[i] < before)
      return false;
    before = map.items[i];
  }
  return true;
}

static bool same_dims(const tt_hlo_op *op) {
  return tt_hlo_type_equal(operand(op), &op->results[0].type);
}

/* Elements under 8 bits are a byte each in memory, so parts of a wider element do not lie side by
 * side. */
static bool bits_lie_alike(const tt_hlo_op *op) {
  int from = tt_dtypes[operand(op)->dtype].bits, to = tt_dtypes[op->results[0].type.dtype].bits;
  return from == to || (from >= 8 && to >= 8);
}

bool tt_cpu_is_view(const tt_hlo_op *op) {
  switch (op->code) {
    case TT_HLO_RESHAPE:
    case TT_HLO_OPTIMIZATION_BARRIER:
      return true;
    case TT_HLO_BITCAST_CONVERT:
      return bits_lie_alike(op);
    case TT_HLO_TRANSPOSE:
      return keeps_order(op);
    case TT_HLO_BROADCAST_IN_DIM:
      return tt_cpu_count(operand(op)) == tt_cpu_count(&op->results[0].type) &&
             maps_in_order(op, tt_cpu_attr_list(op, TT_HLO_BROADCAST_DIMENSIONS));
    case TT_HLO_CONVERT:
    case TT_HLO_SLICE:
    case TT_HLO_DYNAMIC_SLICE:
      return same_dims(op);
    case TT_HLO_CONCATENATE:
      return op->operands_count == 1;
    case TT_HLO_REAL:
      return !tt_dtype_is_complex(operand(op)->dtype);
    default:
      return false;
  }
}

bool tt_cpu_is_spread(const tt_hlo_op *op, int64_t *out_inner, int64_t *out_period) {
  if (op->code != TT_HLO_BROADCAST_IN_DIM || tt_cpu_count(&op->results[0].type) == 0)
    return false;
  const tt_hlo_type *from = operand(op), *to = &op->results[0].type;
  tt_hlo_list map = tt_cpu_attr_list(op, TT_HLO_BROADCAST_DIMENSIONS);
  if (!maps_in_order(op, map))
    return false;
  int32_t first = to->rank, last = -1;
  int64_t inside = 1;
  for (size_t i = 0; i < map.count; i++) {
    if (from->dims[i] == 1)
      continue;
    first = first < (int32_t)map.items[i] ? first : (int32_t)map.items[i];
    last = (int32_t)map.items[i];
  }
  for (int32_t i = first; i <= last; i++)
    inside *= to->dims[i];
  *out_period = tt_cpu_count(from);
  *out_inner = 1;
  for (int32_t i = last + 1; i < to->rank && last >= 0; i++)
    *out_inner *= to->dims[i];
  return inside == *out_period;
}

bool tt_cpu_is_window(const tt_hlo_op *op) {
  if (op->code != TT_HLO_DYNAMIC_SLICE || tt_cpu_count(&op->results[0].type) == 0)
    return false;
  const tt_hlo_type *from = operand(op), *to = &op->results[0].type;
  int64_t apart = tt_dtype_bytes(from->dtype); /* places that the last divided axis can begin at */
  int32_t i = from->rank;
  while (i > 0 && from->dims[i - 1] == to->dims[i - 1])
    apart *= from->dims[--i];
  for (int32_t k = 0; k < i - 1; k++)
    if (to->dims[k] != 1)
      return false;
  return apart % WINDOW_ALIGN == 0;
}
