/* Products of matrices and vectors, and scaled dot product attention. 16-bit floats are summed in
 * f32, rounded once. */
#include "lower/rules/helpers_reduction.h"
#include "lower/rules/rules.h"

/* ---- contraction ---- */

typedef struct product { /* how the axes of both operands meet; each list of at most 2 */
  int64_t lhs_batch[2], rhs_batch[2], lhs_contract[2], rhs_contract[2];
  size_t batch, contract;
} product;

static const product mm_product = {.lhs_contract = {1}, .rhs_contract = {0}, .contract = 1};
static const product bmm_product = {.lhs_batch = {0},
                                    .rhs_batch = {0},
                                    .batch = 1,
                                    .lhs_contract = {2},
                                    .rhs_contract = {1},
                                    .contract = 1};
static const product addbmm_product = {
    .lhs_contract = {0, 2}, .rhs_contract = {0, 1}, .contract = 2};
static const product mv_product = {.lhs_contract = {1}, .rhs_contract = {0}, .contract = 1};
static const product dot_product = {.lhs_contract = {0}, .rhs_contract = {0}, .contract = 1};

/* lhs . rhs, summed in the opmath type, which the result has. */
static tt_hlo_value *contract(tt_low_ctx *ctx, tt_hlo_value *lhs, tt_hlo_value *rhs,
                              const product *p) {
  const tt_hlo_dot_dims dims = {{p->batch, p->lhs_batch},
                                {p->batch, p->rhs_batch},
                                {p->contract, p->lhs_contract},
                                {p->contract, p->rhs_contract}};
  return tt_hlo_dot_general(ctx->b, lhs, rhs, &dims, tt_low_opmath(tt_hlo_dtype(lhs)));
}

static const product *product_of(int64_t data) {
  static const product *const products[] = {&mm_product, &bmm_product, &addbmm_product, &mv_product,
                                            &dot_product};
  return products[data];
}
enum { MM, BMM, ADDBMM, MV, DOT };
enum { CONJ = 16, OUT_DTYPE = 32, FORM = 15 };

/* The common dtype of two operands: they are equal but for _int_mm and the .dtype overloads. */
static tt_hlo_value *product_value(tt_low_ctx *ctx, const tt_low_value *lhs,
                                   const tt_low_value *rhs) {
  tt_hlo_value *x = lhs->tensor, *y = rhs->tensor;
  int64_t data = ctx->rule->data;
  if ((data & CONJ) != 0 && tt_dtype_is_complex(tt_hlo_dtype(x)))
    x = tt_hlo_complex(ctx->b, tt_hlo_real(ctx->b, x), tt_hlo_neg(ctx->b, tt_hlo_imag(ctx->b, x)));
  if (tt_hlo_dtype(x) == TT_PRED) {
    x = tt_hlo_convert(ctx->b, x, TT_S32);
    y = tt_hlo_convert(ctx->b, y, TT_S32);
  }
  return contract(ctx, x, y, product_of(data & FORM));
}

static tt_error *lower_product(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                               tt_low_value *results) {
  (void)args_count;
  tt_low_set(&results[0], product_value(ctx, &args[0], &args[1]));
  return NULL;
}

/* int8 x int8, summed in int32. */
static tt_error *lower_int_mm(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                              tt_low_value *results) {
  (void)args_count;
  const tt_hlo_dot_dims dims = {
      {0, NULL}, {0, NULL}, {1, mm_product.lhs_contract}, {1, mm_product.rhs_contract}};
  tt_low_set(&results[0],
             tt_hlo_dot_general(ctx->b, args[0].tensor, args[1].tensor, &dims, TT_S32));
  return NULL;
}

/* ---- beta input + alpha product ---- */

static tt_hlo_value *scaled(tt_low_ctx *ctx, tt_hlo_value *x, const tt_low_value *factor) {
  if (tt_low_scalar_is(factor, 1))
    return x;
  return tt_low_with(ctx, TT_HLO_MULTIPLY, x, tt_low_number(ctx, factor, tt_hlo_dtype(x), 1));
}

/* beta = 0 ignores the input, NaN and all; a beta known only at run time selects. */
static tt_hlo_value *plus_scaled(tt_low_ctx *ctx, tt_hlo_value *sum, const tt_low_value *input,
                                 const tt_low_value *beta) {
  if (tt_low_scalar_is(beta, 0))
    return sum;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_hlo_dtype(sum);
  tt_hlo_value *x =
      tt_hlo_broadcast_like(b, scaled(ctx, tt_low_tensor(ctx, input, dtype), beta), sum);
  tt_hlo_value *whole = tt_hlo_add(b, sum, x);
  if (beta->kind != TT_LOW_SCALAR || beta->scalar.value == NULL)
    return whole;
  tt_hlo_value *number = tt_low_number(ctx, beta, dtype, 1);
  tt_hlo_value *zero = tt_hlo_compare(b, TT_HLO_EQ, number, tt_hlo_const(b, dtype, 0));
  return tt_hlo_select(b, tt_hlo_broadcast_like(b, zero, sum), sum, whole);
}

/* (input, lhs, rhs [, out_dtype], beta, alpha) */
static tt_error *lower_add_product(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                   tt_low_value *results) {
  (void)args_count;
  const tt_low_value *beta = &args[(ctx->rule->data & OUT_DTYPE) != 0 ? 4 : 3];
  tt_hlo_value *sum = scaled(ctx, product_value(ctx, &args[1], &args[2]), &beta[1]);
  tt_low_set(&results[0], plus_scaled(ctx, sum, &args[0], beta));
  return NULL;
}

/* (input, vec1, vec2, beta, alpha): the outer product; elementwise in the promoted dtype, bool:
 * and, or */
static tt_error *lower_addr(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_low_wanted_dtype(ctx, 0, tt_hlo_dtype(args[0].tensor)));
  bool logical = dtype == TT_PRED;
  if (logical)
    dtype = TT_S32;
  tt_hlo_value *x = tt_hlo_unsqueeze(b, tt_low_tensor(ctx, &args[1], dtype), 1);
  tt_hlo_value *y = tt_hlo_unsqueeze(b, tt_low_tensor(ctx, &args[2], dtype), 0);
  tt_low_broadcast2(ctx, &x, &y);
  tt_hlo_value *sum = scaled(ctx, tt_hlo_mul(b, x, y), &args[4]);
  tt_low_set(&results[0], plus_scaled(ctx, sum, &args[0], &args[3]));
  return NULL;
}

/* x/2 (1 + erf(x / sqrt 2)), or max(x, 0), of addmm */
static tt_error *lower_addmm_activation(tt_low_ctx *ctx, const tt_low_value *args,
                                        size_t args_count, tt_low_value *results) {
  tt_hlo_build *b = ctx->b;
  TT_RETURN_IF_ERROR(lower_add_product(ctx, args, args_count, results));
  tt_hlo_value *x = results[0].tensor;
  if (tt_low_bool(ctx, &args[5], false)) {
    tt_hlo_value *erf = tt_hlo_op1(b, TT_HLO_CHLO_ERF,
                                   tt_low_with_const(ctx, TT_HLO_MULTIPLY, x, 0.70710678118654752));
    tt_hlo_value *cdf = tt_low_with_const(ctx, TT_HLO_ADD, erf, 1);
    x = tt_hlo_mul(b, tt_low_with_const(ctx, TT_HLO_MULTIPLY, x, 0.5), cdf);
  } else {
    x = tt_low_with_const(ctx, TT_HLO_MAXIMUM, x, 0);
  }
  tt_low_set(&results[0], x);
  return NULL;
}

const tt_low_rule tt_low_rules_matmul[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/matmul.def"
#undef X
};
const size_t tt_low_rules_matmul_count = TT_COUNT(tt_low_rules_matmul);
