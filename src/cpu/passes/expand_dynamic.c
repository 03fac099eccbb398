/* Dynamic ops whose operands only the run knows, but whose result has known dims: others wait
 * (tt_cpu_waits). */
#include <assert.h>

#include "cpu/kernel.h"
#include "cpu/passes/expand.h"

static bool holds(tt_hlo_list list, int64_t item) {
  for (size_t i = 0; i < list.count; i++)
    if (list.items[i] == item)
      return true;
  return false;
}

/* The slice has one element on axes that the result lacks; the others are the result's. */
void tt_cpu_expand_dynamic_gather(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results) {
  const tt_hlo_gather_dims *d = tt_hlo_op_attr(op, TT_HLO_DIMENSION_NUMBERS)->dims;
  const tt_hlo_type *operand = &op->operands[0]->type, *result = &op->results[0].type;
  const tt_hlo_attr *sorted = tt_hlo_op_attr(op, TT_HLO_INDICES_ARE_SORTED);
  int64_t sizes[TT_HLO_RANK_MAX];
  size_t at = 0;
  for (int32_t i = 0; i < operand->rank; i++) {
    bool gone = holds(d->collapsed_slice_dims, i) || holds(d->operand_batching_dims, i);
    sizes[i] = gone || at == d->offset_dims.count ? 1 : result->dims[d->offset_dims.items[at++]];
  }
  results[0] = tt_hlo_gather(&x->build, op->operands[0], op->operands[1], d, sizes,
                             sorted != NULL && sorted->i64 != 0);
}

/* Element `axis` of a list, as a scalar. */
static tt_hlo_value *pick(tt_hlo_build *b, tt_hlo_value *list, int64_t axis) {
  return tt_hlo_reshape(b, tt_hlo_slice_axis(b, list, 0, axis, axis + 1, 1), NULL, 0);
}

/* Axis by axis: the elements at start, start + stride, ... */
void tt_cpu_expand_real_dynamic_slice(tt_cpu_expand *x, const tt_hlo_op *op,
                                      tt_hlo_value **results) {
  tt_hlo_build *b = &x->build;
  const tt_hlo_type *result = &op->results[0].type;
  tt_hlo_value *v = op->operands[0];
  for (int32_t axis = 0; axis < result->rank; axis++) {
    tt_hlo_dim count = tt_hlo_dim_number(result->dims[axis]);
    tt_hlo_value *start = tt_hlo_convert(b, pick(b, op->operands[1], axis), TT_S64);
    tt_hlo_value *stride = tt_hlo_convert(b, pick(b, op->operands[3], axis), TT_S64);
    tt_hlo_value *steps = tt_hlo_iota(b, TT_S64, &count, 1, 0);
    tt_hlo_value *at = tt_hlo_mul(b, steps, tt_hlo_broadcast_like(b, stride, steps));
    v = tt_hlo_take(b, v, tt_hlo_add(b, at, tt_hlo_broadcast_like(b, start, at)), axis);
  }
  results[0] = v;
}

/* A size cuts the axis; that of the axis itself changes nothing. */
void tt_cpu_expand_set_dimension_size(tt_cpu_expand *x, const tt_hlo_op *op,
                                      tt_hlo_value **results) {
  tt_hlo_build *b = &x->build;
  int64_t axis = tt_hlo_op_attr(op, TT_HLO_DIMENSION)->i64, size = 0, count = 0;
  int64_t dim = op->operands[0]->type.dims[axis];
  bool known = tt_cpu_constant_ints(op->operands[1], &size, 1, &count);
  assert(known && dim >= 0);
  (void)known;
  if (size < 0 || size > dim)
    results[0] = tt_hlo_fail(b, TT_INVALID_ARGUMENT, "size %lld of a dim of %lld", (long long)size,
                             (long long)dim);
  else
    results[0] = size == dim ? op->operands[0]
                             : tt_hlo_slice_axis(b, op->operands[0], (int)axis, 0, size, 1);
}
