#include "lower/lower.h"

#include <string.h>

#include "lower/rules/rules.h"

typedef struct family {
  const tt_low_rule *rules;
  const size_t *count;
} family;

static const family families[] = {
#define X(name) {tt_low_rules_##name, &tt_low_rules_##name##_count},
#include "lower/families.def"
#undef X
};

const tt_low_rule *tt_low_rule_find(const char *overload) {
  for (size_t f = 0; f < TT_COUNT(families); f++) {
    size_t low = 0, high = *families[f].count;
    while (low < high) { /* each family is sorted by overload */
      size_t middle = (low + high) / 2;
      int order = strcmp(overload, families[f].rules[middle].overload);
      if (order == 0)
        return &families[f].rules[middle];
      if (order < 0)
        high = middle;
      else
        low = middle + 1;
    }
  }
  return NULL;
}

size_t tt_low_rule_count(void) {
  size_t count = 0;
  for (size_t f = 0; f < TT_COUNT(families); f++)
    count += *families[f].count;
  return count;
}

const tt_low_rule *tt_low_rule_at(size_t i) {
  for (size_t f = 0; f < TT_COUNT(families); f++) {
    if (i < *families[f].count)
      return &families[f].rules[i];
    i -= *families[f].count;
  }
  return NULL;
}

static tt_error *check_dims(const tt_low_ctx *ctx, size_t i, const tt_hlo_type *got) {
  tt_bytes text = {0};
  tt_error *err;
  if (tt_hlo_type_compatible(got, &ctx->wanted[i]))
    return NULL;
  tt_hlo_type_print(got, &text);
  tt_bytes_text(&text, ", wanted ");
  tt_hlo_type_print(&ctx->wanted[i], &text);
  err = tt_error_new(TT_INTERNAL, "%s: the rule's result %zu is %s", ctx->rule->overload, i,
                     text.data != NULL ? text.data : "of another type");
  tt_bytes_free(&text);
  return err;
}

static tt_error *settle_result(tt_low_ctx *ctx, size_t i, tt_low_value *result) {
  if (result->kind == TT_LOW_NONE || ctx->wanted_count == 0 ||
      ctx->wanted[i].token) /* token: no tensor is wanted */
    return NULL;
  if (result->kind != TT_LOW_TENSOR)
    return tt_error_new(TT_INTERNAL, "%s: the rule's result %zu is no tensor", ctx->rule->overload,
                        i);
  result->tensor = tt_hlo_convert(ctx->b, result->tensor, ctx->wanted[i].dtype);
  return ctx->b->err != NULL ? NULL : check_dims(ctx, i, &result->tensor->type);
}

/* The builder's mistake, moved out of it, with the overload's name before it. */
static tt_error *take_mistake(tt_low_ctx *ctx) {
  tt_error *err = ctx->b->err;
  ctx->b->err = NULL;
  return tt_error_wrap_take(err, "%s", ctx->rule->overload);
}

static tt_error *run_rule(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                          tt_low_value *results) {
  memset(results, 0, ctx->results_capacity * sizeof *results);
  TT_RETURN_IF_ERROR(ctx->rule->lower(ctx, args, args_count, results));
  if (ctx->results_count > ctx->results_capacity)
    return tt_error_new(TT_INTERNAL, "%s: %zu results, room for %zu", ctx->rule->overload,
                        ctx->results_count, ctx->results_capacity);
  return NULL;
}

tt_error *tt_low_lower(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                       tt_low_value *results) {
  ctx->results_count = ctx->wanted_count != 0 ? ctx->wanted_count : 1;
  tt_error *err = run_rule(ctx, args, args_count, results);
  for (size_t i = 0; err == NULL && i < ctx->results_count && ctx->b->err == NULL; i++)
    err = settle_result(ctx, i, &results[i]);
  if (ctx->needs_constant) { /* what went wrong may come from the number that was not there */
    tt_error_free(err);
    return NULL;
  }
  return err != NULL ? err : take_mistake(ctx);
}

tt_error *tt_low_call(tt_low_ctx *ctx, const char *overload, const tt_low_value *args,
                      size_t args_count, const tt_hlo_type *wanted, size_t wanted_count,
                      tt_low_value *results) {
  const tt_low_rule *rule = ctx->rule;
  const tt_hlo_type *outer = ctx->wanted;
  size_t outer_count = ctx->wanted_count, results_count = ctx->results_count,
         capacity = ctx->results_capacity;
  tt_error *err;
  ctx->rule = tt_low_rule_find(overload);
  if (ctx->rule == NULL) {
    ctx->rule = rule;
    return tt_error_new(TT_INTERNAL, "%s: no rule for %s", rule->overload, overload);
  }
  ctx->wanted = wanted;
  ctx->wanted_count = wanted_count;
  ctx->results_count = ctx->results_capacity = wanted_count != 0 ? wanted_count : 1;
  err = run_rule(ctx, args, args_count, results);
  for (size_t i = 0; err == NULL && i < ctx->results_count && ctx->b->err == NULL; i++)
    err = settle_result(ctx, i, &results[i]);
  ctx->rule = rule;
  ctx->wanted = outer;
  ctx->wanted_count = outer_count;
  ctx->results_count = results_count;
  ctx->results_capacity = capacity;
  return err;
}
