/* special_internal.h: the rule functions of the special functions, which stand in several files;
 * special.c has the table. */
#ifndef TT_LOWER_RULES_SPECIAL_INTERNAL_H
#define TT_LOWER_RULES_SPECIAL_INTERNAL_H

#include "lower/rules/helpers_pointwise.h"

#define X(overload, function, traits, data)                                                   \
  TT_NODISCARD tt_error *tt_low_special_##function(tt_low_ctx *ctx, const tt_low_value *args, \
                                                   size_t args_count, tt_low_value *results);
#include "lower/rules/special.def"
#undef X

/* data of `polynomial` */
enum {
  SPECIAL_CHEBYSHEV_T,
  SPECIAL_CHEBYSHEV_U,
  SPECIAL_CHEBYSHEV_V,
  SPECIAL_CHEBYSHEV_W,
  SPECIAL_HERMITE_H,
  SPECIAL_HERMITE_HE,
  SPECIAL_LAGUERRE,
  SPECIAL_LEGENDRE,
  SPECIAL_SHIFTED = 16 /* of 2 x - 1 */
};

/* A rule's head. */
#define SPECIAL_RULE(name)                                                                      \
  tt_error *tt_low_special_##name(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count, \
                                  tt_low_value *results)

/* A rule of one tensor: the body sees `b` and `x` in the dtype that is computed in. */
#define SPECIAL_UNARY(name, body)                                                       \
  SPECIAL_RULE(name) {                                                                  \
    (void)args_count;                                                                   \
    tt_hlo_build *b = ctx->b;                                                           \
    tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_compute_dtype(ctx, args, 1)); \
    tt_low_set(&results[0], body);                                                      \
    return NULL;                                                                        \
  }

/* A rule of two, `x` and `y`, broadcast together. */
#define SPECIAL_BINARY(name, body)                                         \
  SPECIAL_RULE(name) {                                                     \
    (void)args_count;                                                      \
    tt_hlo_build *b = ctx->b;                                              \
    tt_hlo_value *xy[2];                                                   \
    tt_low_operands(ctx, args, 2, tt_low_compute_dtype(ctx, args, 2), xy); \
    tt_hlo_value *x = xy[0], *y = xy[1];                                   \
    tt_low_set(&results[0], body);                                         \
    return NULL;                                                           \
  }

/* ---- special_fit.c: functions given by numbers, fitted while a rule runs ---- */

/* A polynomial in Chebyshev form that agrees with `f` on [low, high], evaluated at x by Clenshaw's
 * recurrence. `count` terms (64 at most); outside the range the value means nothing. f(x, data) is
 * exact to double precision. */
typedef double (*tt_low_fit_fn)(double x, double data);
tt_hlo_value *tt_low_fit(tt_hlo_build *b, tt_hlo_value *x, double low, double high, size_t count,
                         tt_low_fit_fn f, double data);
/* How many terms to take: the first in f32, the second in f64. */
static inline size_t tt_low_fit_terms(const tt_hlo_value *x, size_t single, size_t wide) {
  return tt_hlo_dtype(x) == TT_F64 ? wide : single;
}

#endif /* TT_LOWER_RULES_SPECIAL_INTERNAL_H */
