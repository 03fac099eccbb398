/* build_internal.h: what the builder's files share. */
#ifndef TT_HLO_BUILD_INTERNAL_H
#define TT_HLO_BUILD_INTERNAL_H

#include "hlo/build.h"

/* One result, operands given as an array. `given` NULL for ops whose type is inferred. */
tt_hlo_value *tt_hlo_build_one(tt_hlo_build *b, tt_hlo_code code, tt_hlo_value *const *operands,
                               size_t operands_count, const tt_hlo_attr *attrs, size_t attrs_count,
                               const tt_hlo_type *given);
/* A type whose dims are copied into the arena. */
tt_hlo_type tt_hlo_build_type(tt_hlo_build *b, tt_dtype dtype, const int64_t *dims, size_t rank);
/* The sizes of `dims` (TT_HLO_DYNAMIC where a value) as a type. */
tt_hlo_type tt_hlo_build_type_dims(tt_hlo_build *b, tt_dtype dtype, const tt_hlo_dim *dims,
                                   size_t rank);
bool tt_hlo_build_static(const tt_hlo_dim *dims, size_t rank);
/* dims as a rank-1 i32 tensor, the operand of the dynamic ops. */
tt_hlo_value *tt_hlo_build_shape(tt_hlo_build *b, const tt_hlo_dim *dims, size_t rank);
tt_hlo_attr tt_hlo_build_i64s(tt_hlo_build *b, tt_hlo_attr_name name, const int64_t *items,
                              size_t count);
/* `items`, or `count` times `otherwise` when it is NULL. */
tt_hlo_attr tt_hlo_build_i64s_or(tt_hlo_build *b, tt_hlo_attr_name name, const int64_t *items,
                                 size_t count, int64_t otherwise);
tt_hlo_attr tt_hlo_build_i64(tt_hlo_attr_name name, int64_t value);
tt_hlo_attr tt_hlo_build_bool(tt_hlo_attr_name name, bool value);
tt_hlo_attr tt_hlo_build_enum(tt_hlo_attr_name name, int64_t value);
tt_hlo_list tt_hlo_build_list(tt_hlo_build *b, const int64_t *items, size_t count);
/* A region that combines two scalars of `dtype` with `code`. */
tt_hlo_region *tt_hlo_build_binary_region(tt_hlo_build *b, tt_hlo_code code, tt_dtype dtype);
/* An op with regions and `count` inferred results, written to `results` (placeholders on a
 * mistake). */
void tt_hlo_build_many(tt_hlo_build *b, tt_hlo_code code, tt_hlo_value *const *operands,
                       size_t operands_count, const tt_hlo_attr *attrs, size_t attrs_count,
                       tt_hlo_region *const *regions, size_t regions_count,
                       const tt_hlo_type *given, tt_hlo_value **results, size_t count);

#endif /* TT_HLO_BUILD_INTERNAL_H */
