/* Rules over lists: each element by its own rule. A foreach overload has the arguments of its base
 * with lists in place of tensors or numbers; where it has fewer (alpha), the base rule takes the
 * default. */
#include "lower/rules/helpers_pointwise.h"
#include "lower/rules/helpers_reduction.h"
#include "lower/rules/rules.h"

enum { ARGS_MAX = 8 };

static size_t list_count(const tt_low_value *args, size_t args_count) {
  for (size_t i = 0; i < args_count; i++)
    if (args[i].kind == TT_LOW_LIST)
      return args[i].list.count;
  return 0;
}

/* The base rule for element `i`, with result `i`. */
static tt_error *call_base(tt_low_ctx *ctx, size_t i, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  const tt_hlo_type *wanted = ctx->wanted_count > 0 ? &ctx->wanted[i] : NULL;
  return tt_low_call(ctx, ctx->rule->base, args, args_count, wanted, wanted != NULL, &results[i]);
}

static void element_args(const tt_low_value *args, size_t args_count, size_t i,
                         tt_low_value *element) {
  for (size_t j = 0; j < args_count; j++)
    element[j] = args[j].kind == TT_LOW_LIST ? args[j].list.items[i] : args[j];
}

static tt_error *lower_each(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_low_value *results) {
  tt_low_value element[ARGS_MAX];
  size_t count = list_count(args, args_count);
  if (args_count > ARGS_MAX)
    return tt_error_new(TT_INTERNAL, "%s: %zu arguments", ctx->rule->overload, args_count);
  ctx->results_count = count;
  for (size_t i = 0; i < count; i++) {
    element_args(args, args_count, i, element);
    TT_RETURN_IF_ERROR(call_base(ctx, i, element, args_count, results));
  }
  return NULL;
}

/* The last argument is a vector that holds one number for each element. */
static tt_error *lower_each_number(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                   tt_low_value *results) {
  tt_low_value element[ARGS_MAX];
  size_t count = list_count(args, args_count);
  ctx->results_count = count;
  for (size_t i = 0; i < count; i++) {
    element_args(args, args_count, i, element);
    tt_low_set(&element[args_count - 1],
               tt_low_element(ctx->b, args[args_count - 1].tensor, (int64_t)i));
    TT_RETURN_IF_ERROR(call_base(ctx, i, element, args_count, results));
  }
  return NULL;
}

/* self, ord, dtype: of the whole tensor, so that the base gets dim = None and keepdim = False. */
static tt_error *lower_norm(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_low_value *results) {
  (void)args_count;
  tt_low_value element[5] = {[1] = args[1], [4] = args[2]};
  element[2].kind = TT_LOW_NONE;
  element[3].kind = TT_LOW_SCALAR;
  element[3].scalar.dtype = TT_PRED;
  ctx->results_count = args[0].list.count;
  for (size_t i = 0; i < args[0].list.count; i++) {
    element[0] = args[0].list.items[i];
    TT_RETURN_IF_ERROR(call_base(ctx, i, element, 5, results));
  }
  return NULL;
}

/* self, ord, dtype: the sum of |x|^ord over the whole tensor. */
static tt_error *lower_powsum(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                              tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  ctx->results_count = args[0].list.count;
  for (size_t i = 0; i < args[0].list.count; i++) {
    tt_hlo_value *x = args[0].list.items[i].tensor;
    tt_dtype dtype = tt_low_dtype(&args[2], tt_hlo_dtype(x));
    x = tt_hlo_abs(b, tt_hlo_convert(b, x, tt_low_opmath(dtype)));
    x = tt_low_scalar_is(&args[1], 2) ? tt_low_squared(b, x)
                                      : tt_hlo_pow(b, x, tt_low_number_like(ctx, &args[1], x, 2));
    tt_low_set(&results[i], tt_low_fold_all(ctx, TT_HLO_ADD, x));
  }
  return NULL;
}

static tt_error *lower_clone(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                             tt_low_value *results) {
  (void)args_count;
  ctx->results_count = args[0].list.count;
  for (size_t i = 0; i < args[0].list.count; i++)
    tt_low_set(&results[i], args[0].list.items[i].tensor);
  return NULL;
}

/* self, src: src with self's dtype and dims. */
static tt_error *lower_copy(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_low_value *results) {
  (void)args_count;
  ctx->results_count = args[0].list.count;
  for (size_t i = 0; i < args[0].list.count; i++) {
    tt_hlo_value *to = args[0].list.items[i].tensor, *from = args[1].list.items[i].tensor;
    tt_low_set(&results[i],
               tt_hlo_broadcast_like(ctx->b, tt_hlo_convert(ctx->b, from, tt_hlo_dtype(to)), to));
  }
  return NULL;
}

const tt_low_rule tt_low_rules_foreach[] = {
#define X(overload, function, traits, base) {overload, lower_##function, traits, 0, base},
#include "lower/rules/foreach.def"
#undef X
};
const size_t tt_low_rules_foreach_count = TT_COUNT(tt_low_rules_foreach);
