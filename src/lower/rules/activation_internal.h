/* activation_internal.h: the rule functions of the activation family, which stand in several files;
 * activation.c has the table. */
#ifndef TT_LOWER_RULES_ACTIVATION_INTERNAL_H
#define TT_LOWER_RULES_ACTIVATION_INTERNAL_H

#include "lower/rules/helpers_pointwise.h"

#define X(overload, function, traits, data)                                                      \
  TT_NODISCARD tt_error *tt_low_activation_##function(tt_low_ctx *ctx, const tt_low_value *args, \
                                                      size_t args_count, tt_low_value *results);
#include "lower/rules/activation.def"
#undef X

/* A rule's head. */
#define ACTIVATION_RULE(name)                                                                      \
  tt_error *tt_low_activation_##name(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count, \
                                     tt_low_value *results)

/* A rule of one tensor: the body sees `b`, `x` in the dtype that is computed in, and the arguments.
 */
#define ACTIVATION_UNARY(name, body)                                                    \
  ACTIVATION_RULE(name) {                                                               \
    (void)args_count;                                                                   \
    tt_hlo_build *b = ctx->b;                                                           \
    tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 1)); \
    tt_low_set(&results[0], body);                                                      \
    return NULL;                                                                        \
  }

/* A backward rule: the gradient `g` and the tensor `x`, arguments 0 and 1, broadcast together. */
#define ACTIVATION_BACKWARD(name, body)                                    \
  ACTIVATION_RULE(name) {                                                  \
    (void)args_count;                                                      \
    tt_hlo_build *b = ctx->b;                                              \
    tt_hlo_value *gx[2];                                                   \
    tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), gx); \
    tt_hlo_value *g = gx[0], *x = gx[1];                                   \
    tt_low_set(&results[0], body);                                         \
    return NULL;                                                           \
  }

#endif /* TT_LOWER_RULES_ACTIVATION_INTERNAL_H */
