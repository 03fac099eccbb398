#include "hlo/hlo_internal.h"

#include <string.h>

enum {
  ELEMENTWISE = TT_HLO_ELEMENTWISE,
  GIVEN = TT_HLO_GIVEN,
  COMMUTES = TT_HLO_COMMUTES,
  EFFECT = TT_HLO_EFFECT,
  TOKENS = TT_HLO_TOKENS,
  REGIONS = TT_HLO_REGIONS,
  WIDENS = TT_HLO_WIDENS,
  COLLECTIVE = TT_HLO_COLLECTIVE,
  ALONE = TT_HLO_ALONE,
  FUTURES = TT_HLO_FUTURES
};

const tt_hlo_op_info tt_hlo_ops[TT_HLO_OP_COUNT] = {
#define X(id, mnemonic, operands, results, traits, infer) \
  [TT_HLO_##id] = {mnemonic, operands, results, traits, tt_hlo_infer_##infer},
#include "hlo/ops.def"
#undef X
};

const char *const tt_hlo_attr_names[TT_HLO_ATTR_NAME_COUNT] = {
#define X(id, name) [TT_HLO_##id] = name,
#include "hlo/attrs.def"
#undef X
};

const char *const tt_hlo_attr_kinds[] = {
    [TT_HLO_ATTR_I64] = "i64",
    [TT_HLO_ATTR_I32] = "i32",
    [TT_HLO_ATTR_I64S] = "array<i64>",
    [TT_HLO_ATTR_BOOL] = "bool",
    [TT_HLO_ATTR_BOOLS] = "array<i1>",
    [TT_HLO_ATTR_F32] = "f32",
    [TT_HLO_ATTR_STRING] = "string",
    [TT_HLO_ATTR_SYMBOL] = "symbol",
    [TT_HLO_ATTR_ENUM] = "enum",
    [TT_HLO_ATTR_ENUMS] = "array of enums",
    [TT_HLO_ATTR_MATRIX] = "matrix of i64",
    [TT_HLO_ATTR_DENSE] = "elements",
    [TT_HLO_ATTR_DOT] = "dot dimension numbers",
    [TT_HLO_ATTR_CONV] = "conv dimension numbers",
    [TT_HLO_ATTR_GATHER] = "gather dimension numbers",
    [TT_HLO_ATTR_SCATTER] = "scatter dimension numbers",
    [TT_HLO_ATTR_CHANNEL] = "channel handle",
    [TT_HLO_ATTR_LAYOUTS] = "layouts",
    [TT_HLO_ATTR_TEXT] = "text",
};

/* Values stand in the order of the C enums in ir.h. */
const tt_hlo_enum_info tt_hlo_enums[TT_HLO_ATTR_NAME_COUNT] = {
    [TT_HLO_COMPARISON_DIRECTION] = {"comparison_direction",
                                     {"EQ", "NE", "GE", "GT", "LE", "LT"},
                                     6},
    [TT_HLO_COMPARE_TYPE] = {"comparison_type",
                             {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"},
                             5},
    [TT_HLO_PRECISION_CONFIG] = {"precision", {"DEFAULT", "HIGH", "HIGHEST"}, 3},
    [TT_HLO_FFT_TYPE] = {"fft_type", {"FFT", "IFFT", "RFFT", "IRFFT"}, 4},
    [TT_HLO_RNG_ALGORITHM] = {"rng_algorithm", {"DEFAULT", "THREE_FRY", "PHILOX"}, 3},
    [TT_HLO_RNG_DISTRIBUTION] = {"rng_distribution", {"INVALID", "UNIFORM", "NORMAL"}, 3},
    [TT_HLO_TRANSPOSE_A] = {"transpose",
                            {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"},
                            4},
};

const char *tt_hlo_op_short_name(const tt_hlo_op *op) {
  if ((unsigned)op->code >= TT_HLO_OP_COUNT)
    return "unknown op";
  const char *mnemonic = tt_hlo_ops[op->code].mnemonic;
  const char *dot = strchr(mnemonic, '.');
  return dot == NULL ? mnemonic : dot + 1;
}

/* Cheap: values were checked in full when they were made. This guards those that were made by hand.
 */
static tt_error *check_operands(const tt_hlo_op *op, uint32_t traits) {
  for (uint32_t i = 0; i < op->operands_count; i++) {
    const tt_hlo_value *value = op->operands[i];
    TT_HLO_CHECK(value != NULL, "operand %u is missing", i);
    TT_HLO_CHECK(!value->type.token || (traits & TT_HLO_TOKENS) != 0, "operand %u is a token", i);
    TT_HLO_CHECK(!value->type.future || (traits & TT_HLO_FUTURES) != 0, "operand %u is a future",
                 i);
    TT_HLO_CHECK(tt_hlo_type_sound(&value->type), "operand %u has a malformed type", i);
  }
  return NULL;
}

static tt_error *check_results(const tt_hlo_op *op, uint32_t traits) {
  for (uint32_t i = 0; i < op->results_count; i++) {
    const tt_hlo_type *type = &op->results[i].type;
    TT_HLO_CHECK(!type->token || (traits & TT_HLO_TOKENS) != 0, "result %u is a token", i);
    TT_HLO_CHECK(!type->future || (traits & TT_HLO_FUTURES) != 0, "result %u is a future", i);
    tt_error *err = tt_hlo_type_check(type);
    if (TT_UNLIKELY(err != NULL))
      return tt_error_wrap_take(err, "%s: result %u", tt_hlo_op_short_name(op), i);
  }
  return NULL;
}

/* Futures pass from async_start to async_done and through calls, and into no region. */
static tt_error *check_regions(const tt_hlo_op *op) {
  for (uint32_t i = 0; i < op->regions_count; i++) {
    const tt_hlo_region *region = op->regions[i];
    const tt_hlo_op *end = region == NULL ? NULL : region->last;
    for (uint32_t k = 0; region != NULL && k < region->args_count; k++)
      TT_HLO_CHECK(!region->args[k].type.future, "argument %u of region %u is a future", k, i);
    for (uint32_t k = 0; end != NULL && end->code == TT_HLO_RETURN && k < end->operands_count; k++)
      TT_HLO_CHECK(end->operands[k] == NULL || !end->operands[k]->type.future,
                   "result %u of region %u is a future", k, i);
  }
  return NULL;
}

tt_error *tt_hlo_op_infer(tt_arena *arena, tt_hlo_op *op) {
  if ((unsigned)op->code >= TT_HLO_OP_COUNT)
    return tt_error_new(TT_INVALID_ARGUMENT, "no operation has the number %d", (int)op->code);
  const tt_hlo_op_info *info = &tt_hlo_ops[op->code];
  TT_HLO_CHECK(info->operands < 0 || op->operands_count == (uint32_t)info->operands,
               "expected %d operands, got %u", (int)info->operands, op->operands_count);
  TT_HLO_CHECK(info->results < 0 || op->results_count == (uint32_t)info->results,
               "expected %d results, got %u", (int)info->results, op->results_count);
  TT_HLO_CHECK(op->regions_count == 0 || (info->traits & TT_HLO_REGIONS) != 0,
               "expected no regions, got %u", op->regions_count);
  TT_RETURN_IF_ERROR(check_operands(op, info->traits));
  TT_RETURN_IF_ERROR(check_regions(op));
  if (info->traits & TT_HLO_GIVEN) {
    TT_RETURN_IF_ERROR(check_results(op, info->traits));
    return info->infer(arena, op);
  }
  TT_RETURN_IF_ERROR(info->infer(arena, op));
  return check_results(op, info->traits);
}
