#include <string.h>

#include "hlo/build_internal.h"

void tt_hlo_while(tt_hlo_build *b, tt_hlo_value *const *inits, size_t count, tt_hlo_region *cond,
                  tt_hlo_region *body, tt_hlo_value **results) {
  tt_hlo_region *regions[] = {cond, body};
  tt_hlo_build_many(b, TT_HLO_WHILE, inits, count, NULL, 0, regions, 2, NULL, results, count);
}

void tt_hlo_if(tt_hlo_build *b, tt_hlo_value *pred, tt_hlo_region *yes, tt_hlo_region *no,
               size_t count, tt_hlo_value **results) {
  tt_hlo_region *regions[] = {yes, no};
  tt_hlo_build_many(b, TT_HLO_IF, &pred, 1, NULL, 0, regions, 2, NULL, results, count);
}

void tt_hlo_rng_bits(tt_hlo_build *b, tt_hlo_value *state, tt_dtype dtype, const int64_t *dims,
                     size_t rank, tt_hlo_value **out_state, tt_hlo_value **out_bits) {
  tt_hlo_attr attr = tt_hlo_build_enum(TT_HLO_RNG_ALGORITHM, TT_HLO_RNG_PHILOX);
  tt_hlo_type given[2] = {state->type, tt_hlo_build_type(b, dtype, dims, rank)};
  tt_hlo_value *results[2];
  tt_hlo_build_many(b, TT_HLO_RNG_BIT_GENERATOR, &state, 1, &attr, 1, NULL, 0, given, results, 2);
  *out_state = results[0];
  *out_bits = results[1];
}

void tt_hlo_custom_call(tt_hlo_build *b, const char *target, const char *backend_config,
                        int api_version, tt_hlo_value *const *operands, size_t operands_count,
                        const tt_hlo_type *types, size_t results_count, tt_hlo_value **results) {
  tt_arena *arena = &b->module->arena;
  const char *config = backend_config != NULL ? backend_config : "";
  tt_hlo_attr attrs[] = {{.name = TT_HLO_CALL_TARGET_NAME,
                          .kind = TT_HLO_ATTR_STRING,
                          .text = tt_arena_text(arena, target, strlen(target))},
                         {.name = TT_HLO_BACKEND_CONFIG,
                          .kind = TT_HLO_ATTR_STRING,
                          .text = tt_arena_text(arena, config, strlen(config))},
                         {.name = TT_HLO_API_VERSION, .kind = TT_HLO_ATTR_I32, .i64 = api_version},
                         {.name = TT_HLO_HAS_SIDE_EFFECT, .kind = TT_HLO_ATTR_BOOL}};
  if (attrs[0].text == NULL || attrs[1].text == NULL)
    tt_hlo_fail(b, TT_RESOURCE_EXHAUSTED, "custom_call: out of memory");
  tt_hlo_build_many(b, TT_HLO_CUSTOM_CALL, operands, operands_count, attrs, 4, NULL, 0, types,
                    results, results_count);
}
