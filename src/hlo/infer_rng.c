/* rng and rng_bit_generator. */
#include "hlo/hlo_internal.h"

tt_error *tt_hlo_infer_rng_bit_generator(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *state = tt_hlo_operand(op, 0), *bits = &op->results[1].type;
  int64_t algorithm = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_need_enum(op, TT_HLO_RNG_ALGORITHM, &algorithm));
  TT_HLO_CHECK(state->rank == 1 && state->dtype == TT_U64,
               "initial_state: expected rank 1 of ui64, got %s",
               TT_HLO_SHOW(state)); /* rng_bit_generator_i2 */
  TT_HLO_CHECK(tt_hlo_type_compatible(state, &op->results[0].type),
               "output_state: expected %s, got %s", TT_HLO_SHOW(state),
               TT_HLO_SHOW(&op->results[0].type)); /* rng_bit_generator_c1 */
  int64_t words = state->dims[0];
  bool fits = algorithm == TT_HLO_RNG_DEFAULT || words == TT_HLO_DYNAMIC || words == 2 ||
              (algorithm == TT_HLO_RNG_PHILOX && words == 3);
  TT_HLO_CHECK(fits, "initial_state: %s does not take %lld words",
               tt_hlo_enums[TT_HLO_RNG_ALGORITHM].values[algorithm],
               (long long)words); /* rng_bit_generator_c2 */
  TT_HLO_CHECK(bits->dtype != TT_PRED && !tt_dtype_is_complex(bits->dtype),
               "output: expected integers or floats, got %s", TT_HLO_SHOW(bits));
  return NULL;
}

/* The result has the dims that `shape` holds, which the run may know only. */
tt_error *tt_hlo_infer_rng(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *a = tt_hlo_operand(op, 0), *b = tt_hlo_operand(op, 1),
                    *result = &op->results[0].type;
  int64_t distribution = 0;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_need_enum(op, TT_HLO_RNG_DISTRIBUTION, &distribution)); /* rng_i4 */
  TT_HLO_CHECK(distribution != TT_HLO_DISTRIBUTION_INVALID, "rng_distribution is INVALID");
  TT_HLO_CHECK(a->rank == 0 && b->rank == 0 && a->dtype == b->dtype && a->dtype == result->dtype,
               "expected scalars of the result's element type, got %s and %s for %s",
               TT_HLO_SHOW(a), TT_HLO_SHOW(b), TT_HLO_SHOW(result)); /* rng_i1, _i2, rng_c1 */
  TT_HLO_CHECK(!tt_dtype_is_complex(a->dtype), "expected integers, i1 or floats, got %s",
               TT_HLO_SHOW(a));
  TT_HLO_CHECK(distribution != TT_HLO_NORMAL || tt_dtype_is_float(a->dtype),
               "NORMAL: expected floats, got %s", TT_HLO_SHOW(a)); /* rng_c2 */
  return tt_hlo_check_index_list(op, 2, "shape", result->rank);    /* rng_i3, rng_c3 */
}
