/* What operations ask of the regions that they carry. */
#include "hlo/hlo_internal.h"

tt_error *tt_hlo_check_regions(const tt_hlo_op *op, uint32_t count) {
  TT_HLO_CHECK(op->regions_count == count, "expected %u regions, got %u", count, op->regions_count);
  return NULL;
}

tt_error *tt_hlo_region_return(const tt_hlo_op *op, uint32_t i, const char *what,
                               const tt_hlo_op **out_return) {
  const tt_hlo_region *region = i < op->regions_count ? op->regions[i] : NULL;
  TT_HLO_CHECK(region != NULL, "%s: the region is missing", what);
  TT_HLO_CHECK(region->last != NULL && region->last->code == TT_HLO_RETURN,
               "%s does not end in a return", what);
  *out_return = region->last;
  for (uint32_t k = 0; k < region->last->operands_count; k++)
    TT_HLO_CHECK(
        region->last->operands[k] != NULL && tt_hlo_type_sound(&region->last->operands[k]->type),
        "%s: value %u of the return is malformed", what, k);
  for (uint32_t k = 0; k < region->args_count; k++)
    TT_HLO_CHECK(tt_hlo_type_sound(&region->args[k].type), "%s: argument %u is malformed", what, k);
  return NULL;
}

static tt_error *check_scalar(const tt_hlo_op *op, const char *what, const char *part, uint32_t i,
                              const tt_hlo_type *type, tt_dtype dtype) {
  TT_HLO_CHECK(!type->token && type->rank == 0 && type->dtype == dtype,
               "%s: %s %u: expected tensor<%s>, got %s", what, part, i, tt_dtype_name(dtype),
               TT_HLO_SHOW(type));
  return NULL;
}

/* A sum may be kept in a wider type of the same kind. */
static bool promotable(tt_dtype from, tt_dtype to) {
  return from == to ||
         (tt_dtypes[from].kind == tt_dtypes[to].kind && tt_dtypes[from].bits <= tt_dtypes[to].bits);
}

tt_error *tt_hlo_check_reducer(const tt_hlo_op *op, uint32_t i, const char *what,
                               tt_hlo_value *const *inputs, uint32_t n,
                               const tt_hlo_op **out_return) {
  const tt_hlo_op *end = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_region_return(op, i, what, &end));
  const tt_hlo_region *region = op->regions[i];
  TT_HLO_CHECK(region->args_count == 2 * n, "%s: expected %u arguments, got %u", what, 2 * n,
               region->args_count);
  TT_HLO_CHECK(end->operands_count == n, "%s: expected %u results, got %u", what, n,
               end->operands_count);
  for (uint32_t k = 0; k < n; k++) {
    const tt_hlo_type *type = &end->operands[k]->type;
    TT_HLO_CHECK(!type->token && type->rank == 0, "%s: result %u: expected a scalar, got %s", what,
                 k, TT_HLO_SHOW(type));
    TT_RETURN_IF_ERROR(check_scalar(op, what, "argument", k, &region->args[k].type, type->dtype));
    TT_RETURN_IF_ERROR(
        check_scalar(op, what, "argument", n + k, &region->args[n + k].type, type->dtype));
    TT_HLO_CHECK(promotable(inputs[k]->type.dtype, type->dtype),
                 "%s: %s does not promote to its type %s", what,
                 tt_dtype_name(inputs[k]->type.dtype), tt_dtype_name(type->dtype));
  }
  *out_return = end;
  return NULL;
}

tt_error *tt_hlo_check_comparator(const tt_hlo_op *op, uint32_t i, const char *what,
                                  tt_hlo_value *const *inputs, uint32_t n) {
  const tt_hlo_op *end = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_region_return(op, i, what, &end));
  const tt_hlo_region *region = op->regions[i];
  TT_HLO_CHECK(region->args_count == 2 * n, "%s: expected %u arguments, got %u", what, 2 * n,
               region->args_count);
  for (uint32_t k = 0; k < 2 * n; k++)
    TT_RETURN_IF_ERROR(
        check_scalar(op, what, "argument", k, &region->args[k].type, inputs[k / 2]->type.dtype));
  TT_HLO_CHECK(end->operands_count == 1, "%s: expected 1 result, got %u", what,
               end->operands_count);
  return check_scalar(op, what, "result", 0, &end->operands[0]->type, TT_PRED);
}
