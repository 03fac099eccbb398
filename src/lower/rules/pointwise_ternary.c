#include "lower/rules/pointwise_internal.h"

/* ---- clamp: a missing bound is None; a NaN bound gives NaN, and min > max gives max, as PyTorch
 * has it ---- */

POINTWISE_RULE(clamp) {
  (void)args_count;
  tt_hlo_value *x[3];
  size_t count = 1;
  tt_dtype dtype = tt_low_compute_dtype(ctx, args, 3);
  bool low = !tt_low_is_none(&args[1]), high = !tt_low_is_none(&args[2]);
  x[0] = tt_low_tensor(ctx, &args[0], dtype);
  if (low)
    x[count++] = tt_low_number(ctx, &args[1], dtype, 0);
  if (high)
    x[count++] = tt_low_number(ctx, &args[2], dtype, 0);
  tt_low_broadcast_n(ctx, x, count);
  if (low)
    x[0] = tt_hlo_max(ctx->b, x[0], x[1]);
  if (high)
    x[0] = tt_hlo_min(ctx->b, x[0], x[count - 1]);
  tt_low_set(&results[0], x[0]);
  return NULL;
}

/* ---- choosing ---- */

POINTWISE_RULE(where) {
  (void)args_count;
  tt_dtype dtype = ctx->wanted_count > 0 ? ctx->wanted[0].dtype : tt_low_promote(ctx, args + 1, 2);
  tt_hlo_value *x[3] = {tt_low_tensor(ctx, &args[0], TT_PRED),
                        tt_low_number(ctx, &args[1], dtype, 0),
                        tt_low_number(ctx, &args[2], dtype, 0)};
  tt_low_broadcast_n(ctx, x, 3);
  tt_low_set(&results[0], tt_hlo_select(ctx->b, x[0], x[1], x[2]));
  return NULL;
}

/* self where the mask is false, a number where it is true. */
POINTWISE_RULE(masked_fill) {
  (void)args_count;
  tt_dtype dtype = tt_hlo_dtype(args[0].tensor);
  tt_hlo_value *x[3] = {args[0].tensor, tt_low_tensor(ctx, &args[1], TT_PRED),
                        tt_low_number(ctx, &args[2], dtype, 0)};
  tt_low_broadcast_n(ctx, x, 3);
  tt_low_set(&results[0], tt_hlo_select(ctx->b, x[1], x[2], x[0]));
  return NULL;
}

/* ---- self + value a b, self + value a / b; data: MULTIPLY or DIVIDE ---- */

POINTWISE_RULE(addc) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x[3];
  tt_low_operands(ctx, args, 3, tt_low_compute_dtype(ctx, args, 3), x);
  tt_hlo_value *term = x[1];
  if (!tt_low_scalar_is(&args[3], 1))
    term = tt_hlo_mul(b, term, tt_low_number_like(ctx, &args[3], term, 1));
  term = tt_hlo_op2(b, (tt_hlo_code)ctx->rule->data, term, x[2]);
  tt_low_set(&results[0], tt_hlo_add(b, x[0], term));
  return NULL;
}

/* From the nearer end, so that weights 0 and 1 give the ends exactly. */
POINTWISE_RULE(lerp) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x[3];
  tt_low_operands(ctx, args, 3, tt_low_compute_dtype(ctx, args, 3), x);
  tt_hlo_value *weight = x[2], *gap = tt_hlo_sub(b, x[1], x[0]);
  tt_hlo_value *near = tt_low_compare_number(b, TT_HLO_LT, tt_hlo_abs(b, weight), 0.5);
  tt_hlo_value *from_start = tt_hlo_add(b, x[0], tt_hlo_mul(b, weight, gap));
  tt_hlo_value *from_end =
      tt_hlo_sub(b, x[1], tt_hlo_mul(b, gap, tt_low_number_minus(b, 1, weight)));
  tt_low_set(&results[0], tt_hlo_select(b, near, from_start, from_end));
  return NULL;
}
