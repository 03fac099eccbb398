/* pointwise_internal.h: the rule functions of the pointwise family, which stand in several files;
 * pointwise.c has the table. */
#ifndef TT_LOWER_RULES_POINTWISE_INTERNAL_H
#define TT_LOWER_RULES_POINTWISE_INTERNAL_H

#include "lower/rules/helpers_pointwise.h"

#define X(overload, function, traits, data)                                                     \
  TT_NODISCARD tt_error *tt_low_pointwise_##function(tt_low_ctx *ctx, const tt_low_value *args, \
                                                     size_t args_count, tt_low_value *results);
#include "lower/rules/pointwise.def"
#undef X

static inline bool is_integer(const tt_hlo_value *x) {
  return tt_dtype_is_integer(tt_hlo_dtype(x));
}

/* A rule's head. */
#define POINTWISE_RULE(name)                                                                      \
  tt_error *tt_low_pointwise_##name(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count, \
                                    tt_low_value *results)

/* A rule that applies `body` to its first argument, in the dtype that the result is computed in.
 * The body sees `b`, `x` and `dtype`. */
#define POINTWISE_UNARY(name, body)                        \
  POINTWISE_RULE(name) {                                   \
    (void)args_count;                                      \
    tt_hlo_build *b = ctx->b;                              \
    tt_dtype dtype = tt_low_compute_dtype(ctx, args, 1);   \
    tt_hlo_value *x = tt_low_tensor(ctx, &args[0], dtype); \
    tt_low_set(&results[0], body);                         \
    return NULL;                                           \
  }

/* The same of two arguments, `x` and `y`, broadcast together. */
#define POINTWISE_BINARY(name, body)                     \
  POINTWISE_RULE(name) {                                 \
    (void)args_count;                                    \
    tt_hlo_build *b = ctx->b;                            \
    tt_dtype dtype = tt_low_compute_dtype(ctx, args, 2); \
    tt_hlo_value *xy[2];                                 \
    tt_low_operands(ctx, args, 2, dtype, xy);            \
    tt_hlo_value *x = xy[0], *y = xy[1];                 \
    tt_low_set(&results[0], body);                       \
    return NULL;                                         \
  }

#endif /* TT_LOWER_RULES_POINTWISE_INTERNAL_H */
