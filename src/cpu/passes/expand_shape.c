/* iota: a row of numbers, repeated. What reads it elementwise then reads the row, where the array
 * would be written and read again, as the two of a causal mask. */
#include "cpu/passes/expand.h"

void tt_cpu_expand_iota(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results) {
  const tt_hlo_type *type = &op->results[0].type;
  int64_t axis = tt_hlo_op_attr(op, TT_HLO_IOTA_DIMENSION)->i64;
  tt_hlo_dim dims[TT_HLO_RANK_MAX];
  for (int32_t i = 0; i < type->rank; i++)
    dims[i] = tt_hlo_dim_number(type->dims[i]);
  results[0] = tt_hlo_iota(&x->build, type->dtype, &dims[axis], 1, 0);
  if (type->rank > 1)
    results[0] = tt_hlo_broadcast_in_dim(&x->build, results[0], dims, (size_t)type->rank, &axis);
}
