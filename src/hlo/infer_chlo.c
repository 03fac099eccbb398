/* CHLO's operations that broadcast as numpy does, and constants of another value's shape. */
#include "hlo/hlo_internal.h"

/* The dim of `type` that meets axis `axis` of a result of `rank`, axes aligned at the end; 1 where
 * there is none. */
static int64_t dim_at(const tt_hlo_type *type, int32_t axis, int32_t rank) {
  int32_t own = axis - (rank - type->rank);
  return own < 0 ? 1 : type->dims[own];
}

/* broadcast_dimensions, in its old form, may only say what numpy's rule says too. */
static tt_error *check_map(const tt_hlo_op *op, int32_t rank) {
  const tt_hlo_attr *map = NULL;
  int32_t least = rank;
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_BROADCAST_DIMENSIONS, TT_HLO_ATTR_I64S, &map));
  for (uint32_t i = 0; i < op->operands_count; i++)
    least = tt_hlo_operand(op, i)->rank < least ? tt_hlo_operand(op, i)->rank : least;
  if (map == NULL)
    return NULL;
  TT_HLO_CHECK(map->i64s.count == (size_t)least,
               "broadcast_dimensions: expected %d numbers, got %zu", (int)least, map->i64s.count);
  for (int32_t i = 0; i < least; i++)
    if (map->i64s.items[i] != rank - least + i)
      return tt_error_new(TT_UNIMPLEMENTED,
                          "%s: broadcast_dimensions other than the last of the result",
                          tt_hlo_op_short_name(op));
  return NULL;
}

/* What the elements may be, the op without its broadcast checks when it is made of this. */
tt_error *tt_hlo_infer_broadcasting(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *result = &op->results[0].type;
  int32_t rank = 0;
  (void)arena;
  for (uint32_t i = 0; i < op->operands_count; i++)
    rank = tt_hlo_operand(op, i)->rank > rank ? tt_hlo_operand(op, i)->rank : rank;
  TT_HLO_CHECK(result->rank == rank, "expected a result of rank %d, got %s", (int)rank,
               TT_HLO_SHOW(result));
  for (int32_t axis = 0; axis < rank; axis++) {
    int64_t want = 1;
    for (uint32_t i = 0; i < op->operands_count; i++) {
      int64_t dim = dim_at(tt_hlo_operand(op, i), axis, rank);
      TT_HLO_CHECK(dim == 1 || want == 1 || tt_hlo_dim_agrees(dim, want),
                   "dim %d of the result: the operands have %lld and %lld", (int)axis,
                   (long long)want, (long long)dim);
      want = want == 1 || want == TT_HLO_DYNAMIC ? (dim == 1 ? want : dim) : want;
    }
    TT_HLO_CHECK(tt_hlo_dim_agrees(result->dims[axis], want),
                 "dim %d of the result: expected %lld, got %s", (int)axis, (long long)want,
                 TT_HLO_SHOW(result));
  }
  return check_map(op, rank);
}

/* `value` is a number of the operand's element type; what has no kind of its own stays text. */
tt_error *tt_hlo_infer_constant_like(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_attr *value = tt_hlo_op_attr(op, TT_HLO_VALUE);
  (void)arena;
  TT_HLO_CHECK(value != NULL, "attribute value is missing");
  TT_HLO_CHECK(value->kind == TT_HLO_ATTR_I64 || value->kind == TT_HLO_ATTR_I32 ||
                   value->kind == TT_HLO_ATTR_F32 || value->kind == TT_HLO_ATTR_BOOL ||
                   (value->kind == TT_HLO_ATTR_TEXT && value->text != NULL),
               "value: expected a number");
  op->results[0].type = *tt_hlo_operand(op, 0);
  return NULL;
}
