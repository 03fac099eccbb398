/* helpers_pointwise.h: element-by-element mathematics that several families of rules use.
 *
 * Every function emits operations on values of one dtype and equal dims, and returns a value of
 * those dims. Numbers are C constants of the formula, never arguments of the user's call: those
 * stay values (tt_low_number). */
#ifndef TT_LOWER_RULES_HELPERS_POINTWISE_H
#define TT_LOWER_RULES_HELPERS_POINTWISE_H

#include "lower/rule.h"

/* x with a number on the other side; the number has x's dtype and dims. */
tt_hlo_value *tt_low_add_number(tt_hlo_build *b, tt_hlo_value *x, double number);
tt_hlo_value *tt_low_mul_number(tt_hlo_build *b, tt_hlo_value *x, double number);
tt_hlo_value *tt_low_compare_number(tt_hlo_build *b, tt_hlo_direction direction, tt_hlo_value *x,
                                    double number);
tt_hlo_value *tt_low_number_minus(tt_hlo_build *b, double number, tt_hlo_value *x); /* number - x */
tt_hlo_value *tt_low_number_over(tt_hlo_build *b, double number, tt_hlo_value *x);  /* number / x */
tt_hlo_value *tt_low_max_number(tt_hlo_build *b, tt_hlo_value *x, double number);
tt_hlo_value *tt_low_min_number(tt_hlo_build *b, tt_hlo_value *x, double number);
/* pred ? x : number, and pred ? number : x. */
tt_hlo_value *tt_low_select_or_number(tt_hlo_build *b, tt_hlo_value *pred, tt_hlo_value *x,
                                      double number);
tt_hlo_value *tt_low_select_number(tt_hlo_build *b, tt_hlo_value *pred, double number,
                                   tt_hlo_value *x);
/* c[0] + c[1] x + ... + c[count - 1] x^(count - 1), by Horner's scheme. */
tt_hlo_value *tt_low_polynomial(tt_hlo_build *b, tt_hlo_value *x, const double *c, size_t count);

/* preds; integers are never NaN or infinite */
tt_hlo_value *tt_low_is_not_number(tt_hlo_build *b, tt_hlo_value *x);
tt_hlo_value *tt_low_is_inf(tt_hlo_build *b, tt_hlo_value *x);
tt_hlo_value *tt_low_is_zero(tt_hlo_build *b, tt_hlo_value *x);
tt_hlo_value *tt_low_sign_bit(tt_hlo_build *b, tt_hlo_value *x); /* of -0.0: true */
/* x's magnitude with y's sign bit. */
tt_hlo_value *tt_low_copy_sign(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y);
tt_hlo_value *tt_low_trunc(tt_hlo_build *b, tt_hlo_value *x);
tt_hlo_value *tt_low_squared(tt_hlo_build *b, tt_hlo_value *x);
tt_hlo_value *tt_low_reciprocal(tt_hlo_build *b, tt_hlo_value *x);
/* log(1 + exp(x)) without overflow. */
tt_hlo_value *tt_low_softplus(tt_hlo_build *b, tt_hlo_value *x);
/* x[..., i] for a number i on axis 0 of a rank-1 tensor, as a scalar. */
tt_hlo_value *tt_low_element(tt_hlo_build *b, tt_hlo_value *x, int64_t i);

/* The dtype that a pointwise rule computes in: result 0's, widened by tt_low_opmath; without a
 * wanted result the promoted dtype of the first `count` arguments. */
tt_dtype tt_low_compute_dtype(tt_low_ctx *ctx, const tt_low_value *args, size_t count);
/* The first `count` arguments (tensors or numbers) in `dtype`, broadcast together. */
void tt_low_operands(tt_low_ctx *ctx, const tt_low_value *args, size_t count, tt_dtype dtype,
                     tt_hlo_value **xs);
/* Argument `arg` as a value of x's dtype and dims. */
tt_hlo_value *tt_low_number_like(tt_low_ctx *ctx, const tt_low_value *arg, tt_hlo_value *x,
                                 double otherwise);

#endif /* TT_LOWER_RULES_HELPERS_POINTWISE_H */
