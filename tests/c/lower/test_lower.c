#include <string.h>

#include "low_test.h"

static const float six[6] = {1, -2, 3, -4, 5, -6};
static const int64_t dims23[] = {2, 3}, dims3[] = {3}, dims2[] = {2};

/* What the program of `c` gives, against `want`; skipped without a plugin. */
static void expect_run(low_case *c, size_t index, const float *want, size_t count) {
  float got[64] = {0};
  if (tt_test_tortured() || !low_can_run()) /* a forked child lacks the plugin's threads */
    return;
  if (!EXPECT_OK(low_run(c, index, got, count * sizeof *got)))
    return;
  for (size_t i = 0; i < count; i++)
    EXPECT_DOUBLE(got[i], want[i], 1e-5);
}

/* ---- representative rules: verified, printed, and run where there is a plugin ---- */

TEST(low_lower, add_broadcasts_and_scales) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::add.Tensor"));
  low_tensor(&c, TT_F32, 2, dims23, six);
  low_tensor(&c, TT_F32, 1, dims3, six);
  low_number(&c, 2);
  low_want(&c, TT_F32, 2, dims23);
  REQUIRE_OK(low_lower(&c));
  EXPECT_INT(c.ctx.results_count, 1);
  EXPECT_CONTAINS((const char *)c.text.data, "stablehlo.add");
  expect_run(&c, 0, (float[]){3, -6, 9, -2, 1, 0}, 6);
out:
  low_end(&c);
}

/* alpha = 1 is not multiplied by; a promoted alpha is, whatever its value. */
TEST(low_lower, constants_fold_and_promoted_ones_do_not) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::add.Tensor"));
  low_tensor(&c, TT_F32, 1, dims3, six);
  low_tensor(&c, TT_F32, 1, dims3, six);
  low_int(&c, 1);
  low_want(&c, TT_F32, 1, dims3);
  REQUIRE_OK(low_lower(&c));
  EXPECT(strstr((const char *)c.text.data, "stablehlo.multiply") == NULL);
  low_end(&c);
  REQUIRE_OK(low_begin(&c, "aten::add.Tensor"));
  low_tensor(&c, TT_F32, 1, dims3, six);
  low_tensor(&c, TT_F32, 1, dims3, six);
  low_promoted(&c, 0.5);
  low_want(&c, TT_F32, 1, dims3);
  REQUIRE_OK(low_lower(&c));
  EXPECT(!c.ctx.needs_constant);
  EXPECT_CONTAINS((const char *)c.text.data, "stablehlo.multiply");
  expect_run(&c, 0, (float[]){1.5f, -3, 4.5f}, 3);
out:
  low_end(&c);
}

TEST(low_lower, half_is_computed_in_float) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::exp"));
  low_tensor(&c, TT_BF16, 1, dims3, NULL);
  low_want(&c, TT_BF16, 1, dims3);
  REQUIRE_OK(low_lower(&c));
  EXPECT_CONTAINS((const char *)c.text.data, "tensor<3xf32>");
out:
  low_end(&c);
}

TEST(low_lower, matrix_product) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::mm"));
  low_tensor(&c, TT_F32, 2, dims23, six);
  low_tensor(&c, TT_F32, 2, (int64_t[]){3, 2}, six);
  low_want(&c, TT_F32, 2, (int64_t[]){2, 2});
  REQUIRE_OK(low_lower(&c));
  EXPECT_CONTAINS((const char *)c.text.data, "stablehlo.dot_general");
  expect_run(&c, 0, (float[]){10, -12, -19, 24}, 4);
out:
  low_end(&c);
}

TEST(low_lower, sum_over_an_axis) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::sum.dim_IntList"));
  low_tensor(&c, TT_F32, 2, dims23, six);
  low_ints(&c, (int64_t[]){-1}, 1);
  low_bool(&c, false);
  low_none(&c);
  low_want(&c, TT_F32, 1, dims2);
  REQUIRE_OK(low_lower(&c));
  expect_run(&c, 0, (float[]){2, -5}, 2);
out:
  low_end(&c);
}

TEST(low_lower, softmax) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::_softmax"));
  low_tensor(&c, TT_F32, 2, dims23, (float[]){0, 0, 0, 1000, 0, 0});
  low_int(&c, 1);
  low_bool(&c, false);
  low_want(&c, TT_F32, 2, dims23);
  REQUIRE_OK(low_lower(&c));
  expect_run(&c, 0, (float[]){1 / 3.f, 1 / 3.f, 1 / 3.f, 1, 0, 0}, 6);
out:
  low_end(&c);
}

TEST(low_lower, several_results) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::max.dim"));
  low_tensor(&c, TT_F32, 2, dims23, six);
  low_int(&c, 1);
  low_bool(&c, false);
  low_want(&c, TT_F32, 1, dims2);
  low_want(&c, TT_S64, 1, dims2);
  REQUIRE_OK(low_lower(&c));
  EXPECT_INT(c.ctx.results_count, 2);
  EXPECT_INT(c.results[1].tensor->type.dtype, TT_S64);
  expect_run(&c, 0, (float[]){3, 5}, 2);
out:
  low_end(&c);
}

TEST(low_lower, the_wanted_dtype_is_given) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::add.Tensor"));
  low_tensor(&c, TT_S32, 1, dims3, NULL);
  low_tensor(&c, TT_S32, 1, dims3, NULL);
  low_int(&c, 1);
  low_want(&c, TT_F64, 1, dims3);
  REQUIRE_OK(low_lower(&c));
  EXPECT_INT(c.results[0].tensor->type.dtype, TT_F64);
out:
  low_end(&c);
}

/* ---- mistakes ---- */

TEST(low_lower, other_dims_than_wanted_are_an_error) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::mm"));
  low_tensor(&c, TT_F32, 2, dims23, NULL);
  low_tensor(&c, TT_F32, 2, (int64_t[]){3, 2}, NULL);
  low_want(&c, TT_F32, 2, (int64_t[]){2, 5});
  EXPECT_ERR(low_lower(&c), TT_INTERNAL,
             "aten::mm: the rule's result 0 is tensor<2x2xf32>, wanted tensor<2x5xf32>");
out:
  low_end(&c);
}

TEST(low_lower, a_builders_mistake_names_the_overload) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::mm"));
  low_tensor(&c, TT_F32, 2, dims23, NULL);
  low_tensor(&c, TT_F32, 2, dims23, NULL);
  low_want(&c, TT_F32, 2, dims23);
  EXPECT_ERR(low_lower(&c), TT_INVALID_ARGUMENT, "aten::mm: ");
out:
  low_end(&c);
}

TEST(low_args, a_number_is_no_tensor) {
  low_case c;
  tt_error *err;
  REQUIRE_OK(low_begin(&c, "aten::add.Tensor"));
  low_int(&c, 1);
  EXPECT(tt_low_tensor(&c.ctx, &c.args[0], TT_F32) == c.b.poison);
  err = c.b.err;
  c.b.err = NULL;
  EXPECT_ERR(err, TT_INVALID_ARGUMENT, "expected a tensor");
out:
  low_end(&c);
}

/* ---- a number that must be known ---- */

TEST(low_lower, a_promoted_number_that_is_needed_is_asked_for) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::_softmax"));
  low_tensor(&c, TT_F32, 2, dims23, NULL);
  low_promoted(&c, 1); /* the dim */
  low_bool(&c, false);
  low_want(&c, TT_F32, 2, dims23);
  REQUIRE_OK(low_lower(&c));
  EXPECT(c.ctx.needs_constant);
  EXPECT(c.ctx.constant == c.args[1].scalar.value);
out:
  low_end(&c);
}

TEST(low_args, numbers) {
  low_case c;
  size_t count;
  const int64_t *ints;
  REQUIRE_OK(low_begin(&c, "aten::add.Tensor"));
  low_number(&c, 2.5);
  low_int(&c, -7);
  low_bool(&c, true);
  low_none(&c);
  low_ints(&c, (int64_t[]){3, 4}, 2);
  EXPECT_DOUBLE(tt_low_double(&c.ctx, &c.args[0], 0), 2.5, 0);
  EXPECT_INT(tt_low_int(&c.ctx, &c.args[0], 0), 2);
  EXPECT_INT(tt_low_int(&c.ctx, &c.args[1], 0), -7);
  EXPECT(tt_low_bool(&c.ctx, &c.args[2], false));
  EXPECT_INT(tt_low_int(&c.ctx, &c.args[3], 11), 11);
  EXPECT(tt_low_scalar_is(&c.args[0], 2.5) && !tt_low_scalar_is(&c.args[3], 0));
  ints = tt_low_ints(&c.ctx, &c.args[4], &count);
  REQUIRE(ints != NULL);
  EXPECT_INT(count, 2);
  EXPECT_INT(ints[1], 4);
  EXPECT(tt_low_ints(&c.ctx, &c.args[3], &count) == NULL);
  ints = tt_low_ints_of(&c.ctx, &c.args[1], 3, 1);
  REQUIRE(ints != NULL);
  EXPECT_INT(ints[2], -7);
  EXPECT_INT(tt_low_axis(-1, 4), 3);
  EXPECT_INT(tt_low_axis(-1, 0), 0);
out:
  low_end(&c);
}

TEST(low_args, axes_are_wrapped_and_sorted) {
  low_case c;
  const int64_t *axes = NULL;
  REQUIRE_OK(low_begin(&c, "aten::add.Tensor"));
  low_ints(&c, (int64_t[]){-1, 0}, 2);
  low_none(&c);
  EXPECT_INT(tt_low_axes(&c.ctx, &c.args[0], 3, &axes), 2);
  REQUIRE(axes != NULL);
  EXPECT(axes[0] == 0 && axes[1] == 2);
  EXPECT_INT(tt_low_axes(&c.ctx, &c.args[1], 3, &axes), 3);
  EXPECT_INT(tt_low_axes(&c.ctx, &c.args[1], 0, &axes), 0);
out:
  low_end(&c);
}

/* ---- debug checks ---- */

static tt_error *lower_index_select(low_case *c, bool debug, const int64_t *index) {
  TT_RETURN_IF_ERROR(low_begin(c, "aten::index_select"));
  c->ctx.debug = debug;
  low_tensor(c, TT_F32, 1, dims3, six);
  low_int(c, 0);
  low_tensor(c, TT_S64, 1, dims2, index);
  low_want(c, TT_F32, 1, dims2);
  return low_lower(c);
}

TEST(low_debug, checks_are_emitted_on_request_only) {
  low_case c;
  const int64_t good[] = {0, 2}, bad[] = {0, 3};
  bool ok = false;
  REQUIRE_OK(lower_index_select(&c, false, good));
  EXPECT_INT(c.ctx.checks_count, 0);
  low_end(&c);
  for (int i = 0; i < 2; i++) {
    REQUIRE_OK(lower_index_select(&c, true, i == 0 ? good : bad));
    REQUIRE(c.ctx.checks_count >= 1);
    EXPECT_INT(c.ctx.check_codes[0], TT_OUT_OF_RANGE);
    EXPECT_CONTAINS(c.ctx.check_messages[0], "index");
    if (!tt_test_tortured() && low_can_run()) {
      REQUIRE_OK(low_run(&c, 1, &ok, sizeof ok));
      EXPECT_INT(ok, i == 0);
    }
    if (i == 0)
      low_end(&c);
  }
out:
  low_end(&c);
}

/* ---- random numbers ---- */

TEST(low_random, blocks_are_counted) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::rand"));
  c.ctx.rng_state = tt_hlo_param_add(&c.b, TT_U64, 1, (int64_t[]){2});
  low_ints(&c, (int64_t[]){10}, 1);
  for (int i = 0; i < 4; i++)
    low_none(&c);
  low_want(&c, TT_F32, 1, (int64_t[]){10});
  REQUIRE_OK(low_lower(&c));
  EXPECT_INT(c.ctx.rng_blocks, 3); /* 320 bits in blocks of 128 */
  EXPECT_CONTAINS((const char *)c.text.data, "rng_bit_generator");
out:
  low_end(&c);
}

TEST(low_random, without_a_state_is_an_error) {
  low_case c;
  REQUIRE_OK(low_begin(&c, "aten::rand"));
  low_ints(&c, (int64_t[]){10}, 1);
  for (int i = 0; i < 4; i++)
    low_none(&c);
  low_want(&c, TT_F32, 1, (int64_t[]){10});
  EXPECT_ERR(low_lower(&c), TT_INTERNAL, "random bits");
out:
  low_end(&c);
}

/* ---- composing ---- */

TEST(low_call, restores_the_context) {
  low_case c;
  tt_low_value result = {0};
  const tt_low_rule *rule;
  REQUIRE_OK(low_begin(&c, "aten::mul.Tensor"));
  rule = c.ctx.rule;
  low_tensor(&c, TT_F32, 1, dims3, NULL);
  low_tensor(&c, TT_F32, 1, dims3, NULL);
  low_int(&c, 1);
  c.ctx.results_count = 1;
  REQUIRE_OK(tt_low_call(&c.ctx, "aten::add.Tensor", c.args, 3, NULL, 0, &result));
  EXPECT_INT(result.kind, TT_LOW_TENSOR);
  EXPECT(c.ctx.rule == rule);
  EXPECT_INT(c.ctx.results_capacity, LOW_RESULTS);
  EXPECT_ERR(tt_low_call(&c.ctx, "aten::nothing", c.args, 3, NULL, 0, &result), TT_INTERNAL,
             "no rule for aten::nothing");
  EXPECT(c.ctx.rule == rule);
out:
  low_end(&c);
}
