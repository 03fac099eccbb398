/* Ops that are made of others before the plan is compiled, and dims that constants give. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/kernel.h"
#include "test.h"
#include "test_kernel_case.h"

#define C(name, value, type) "%" name " = stablehlo.constant dense<" value "> : tensor<" type ">\n"

/* ---- batch_norm ---- */

#define NORM                                                 \
  C("x", "[[1.0, 2.0], [3.0, 5.0], [0.0, -4.0]]", "3x2xf64") \
  C("g", "[[1.0, 0.0], [2.0, -1.0], [0.5, 3.0]]", "3x2xf64") \
  C("s", "[2.0, 0.5]", "2xf64")                              \
  C("o", "[1.0, -1.0]", "2xf64") C("m", "[0.5, 1.0]", "2xf64") C("v", "[2.0, 0.75]", "2xf64")
#define NORM_ATTRS " {epsilon = 2.5e-01 : f32, feature_index = 1 : i64} : "
#define TRAIN                                                                                 \
  NORM "%y, %avg, %var = \"stablehlo.batch_norm_training\"(%x, %s, %o)" NORM_ATTRS            \
       "(tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<3x2xf64>, tensor<2xf64>, " \
       "tensor<2xf64>)\n"
#define GRAD                                                                                 \
  NORM "%dx, %ds, %do = \"stablehlo.batch_norm_grad\"(%x, %s, %m, %v, %g)" NORM_ATTRS        \
       "(tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<3x2xf64>) -> " \
       "(tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>)\n"
#define SAME(name, type) "%got = stablehlo.optimization_barrier %" name " : tensor<" type ">\n"

/* Values: the specification's formulas in numpy. */
static const kernel_case norms[] = {
    {"tensor<3x2xf64>",
     NORM "%got = \"stablehlo.batch_norm_inference\"(%x, %s, %o, %m, %v)" NORM_ATTRS
          "(tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> "
          "tensor<3x2xf64>",
     "[[1.6666666666666665, -0.5], [4.333333333333334, 1.0], [0.33333333333333337, -3.5]]", 4},
    {"tensor<3x2xf64>", TRAIN SAME("y", "3x2xf64"),
     "[[0.5038610616431662, -0.8675467642934956], [3.4806946917841692, -0.47018705717398246], "
     "[-0.9845557534273353, -1.662266178532522]]",
     8},
    {"tensor<2xf64>", TRAIN SAME("avg", "2xf64"), "[1.3333333333333333, 1.0]", 4},
    {"tensor<2xf64>", TRAIN SAME("var", "2xf64"), "[1.5555555555555556, 14.0]", 4},
    {"tensor<3x2xf64>", GRAD SAME("dx", "3x2xf64"),
     "[[-0.7407407407407407, 2.833333333333333], [-1.4814814814814812, 11.833333333333332], "
     "[-0.3703703703703703, -14.666666666666666]]",
     16},
    {"tensor<2xf64>", GRAD SAME("ds", "2xf64"), "[3.5000000000000004, -19.0]", 8},
    {"tensor<2xf64>", GRAD SAME("do", "2xf64"), "[3.5, 2.0]", 4},
};
TEST(cpu_expand, batch_norm) { CHECK_CASES(norms); }

/* ---- CHLO ---- */

#define BROADCAST(op, more)           \
  C("a", "[[1.0], [2.0]]", "2x1xf32") \
  C("b", "[3.0, 4.0, 5.0]", "3xf32")  \
  "%got = chlo.broadcast_" op " %a, %b" more " : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3x"
#define MULHI(a, b, type) \
  C("a", a, type)         \
  C("b", b, type)         \
  "%got = chlo.mulhi %a, %b : tensor<" type ">, tensor<" type "> -> tensor<" type ">"
#define INFINITE(op)                                           \
  C("a", "[0x7F800000, 0xFF800000, 1.0, 0x7FC00000]", "4xf32") \
  "%got = chlo." op " %a : tensor<4xf32> -> tensor<4xi1>"
static const kernel_case chlo[] = {
    {"tensor<2xf32>",
     C("a", "[3.0, -2.0]", "2xf32") "%got = chlo.square %a : tensor<2xf32> -> tensor<2xf32>",
     "[9.0, 4.0]", 0},
    {"tensor<2xcomplex<f32>>",
     C("a", "[(3.0, -2.0), (0.0, 1.0)]",
       "2xcomplex<f32>") "%got = chlo.conj %a : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>",
     "[(3.0, 2.0), (0.0, -1.0)]", 0},
    {"tensor<4xi1>", INFINITE("is_inf"), "[true, true, false, false]", 0},
    {"tensor<4xi1>", INFINITE("is_pos_inf"), "[true, false, false, false]", 0},
    {"tensor<4xi1>", INFINITE("is_neg_inf"), "[false, true, false, false]", 0},
    {"tensor<2x3xf32>", BROADCAST("add", "") "f32>", "[[4.0, 5.0, 6.0], [5.0, 6.0, 7.0]]", 0},
    {"tensor<2x3xf32>", BROADCAST("subtract", "") "f32>",
     "[[-2.0, -3.0, -4.0], [-1.0, -2.0, -3.0]]", 0},
    {"tensor<2x3xi1>",
     BROADCAST("compare", " {comparison_direction = #chlo<comparison_direction LT>}") "i1>", "true",
     0},
    {"tensor<2x3xcomplex<f32>>", BROADCAST("complex", "") "complex<f32>>",
     "[[(1.0, 3.0), (1.0, 4.0), (1.0, 5.0)], [(2.0, 3.0), (2.0, 4.0), (2.0, 5.0)]]", 0},
    {"tensor<2xf32>",
     C("a", "[3.0, -2.0]", "2xf32") "%got = \"chlo.constant_like\"(%a) {value = 1.5 : f32} : "
                                    "(tensor<2xf32>) -> tensor<2xf32>",
     "1.5", 0},
    {"tensor<2xf64>",
     C("a", "[3.0, -2.0]", "2xf64") "%got = \"chlo.constant_like\"(%a) {value = 1.5 : f64} : "
                                    "(tensor<2xf64>) -> tensor<2xf64>",
     "1.5", 0},
    {"tensor<2xi32>", "%got = chlo.constant dense<[1, 2]> : tensor<2xi32>", "[1, 2]", 0},
    {"tensor<3xi8>", MULHI("[64, -64, -64]", "[4, 4, -4]", "3xi8"), "[1, -1, 1]", 0},
    {"tensor<2xui32>", MULHI("[4026531840, 4294967295]", "[16, 4294967295]", "2xui32"),
     "[15, 4294967294]", 0},
    {"tensor<4xi64>",
     MULHI("[1152921504606846976, -1152921504606846976, -1, 9223372036854775807]",
           "[16, 16, -1, -9223372036854775808]", "4xi64"),
     "[1, -1, 0, -4611686018427387904]", 0},
    {"tensor<2xui64>",
     MULHI("[17293822569102704640, 18446744073709551615]", "[16, 18446744073709551615]", "2xui64"),
     "[15, 18446744073709551614]", 0},
};
TEST(cpu_expand, chlo) { CHECK_CASES(chlo); }

/* ---- small types ---- */

static const kernel_case narrow[] = {
    {"tensor<2x8xi1>",
     C("a", "[5, 128]", "2xui8") "%got = stablehlo.bitcast_convert %a : (tensor<2xui8>) -> "
                                 "tensor<2x8xi1>",
     "[[true, false, true, false, false, false, false, false], [false, false, false, false, false, "
     "false, false, true]]",
     0},
    {"tensor<2xi16>",
     C("a", "[[1, 2, 3, 4], [15, 0, 0, 8]]", "2x4xui4") "%got = stablehlo.bitcast_convert %a : "
                                                        "(tensor<2x4xui4>) -> tensor<2xi16>",
     "[17185, -32753]", 0},
    {"tensor<4xui4>",
     C("a", "[8, 12, 7, 15]", "4xui4")
         C("b", "[1, 9, 1, 2]", "4xui4") "%got = "
                                         "stablehlo.shift_right_arithmetic %a, %b : tensor<4xui4>",
     "[12, 15, 3, 15]", 0},
    {"tensor<2xi8>",
     C("a", "\"0xF1FE\"", "2xi4") "%got = stablehlo.convert %a : (tensor<2xi4>) -> tensor<2xi8>",
     "[1, -2]", 0},
    {"tensor<2xf64>",
     C("a", "[0x7FF8000000000000, 3.0]", "2xf64") "%got = stablehlo.reduce_precision %a, format = "
                                                  "e5m0 : tensor<2xf64>",
     "[0x7FF0000000000000, 2.0]", 0},
    {"tensor<2xi1>",
     C("a", "[1.0, -1.0]", "2xf32") "%got = stablehlo.compare GT, %a, %a, SIGNED : "
                                    "(tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>",
     "false", 0},
};
TEST(cpu_expand, narrow_types) { CHECK_CASES(narrow); }

/* ---- dynamic ops ---- */

#define X34 C("x", "[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]", "3x4xi32")
/* Unknown to the compiler: nothing folds what comes out of a loop. */
#define OPAQUE(name, value, type)                                                                  \
  C(name "0", value, type)                                                                         \
  C(name "no", "false", "i1")                                                                      \
  "%" name " = \"stablehlo.if\"(%" name "no) ({\n\"stablehlo.return\"(%" name "0) : (tensor<" type \
  ">) -> ()\n}, {\n\"stablehlo.return\"(%" name "0) : (tensor<" type                               \
  ">) -> ()\n}) : (tensor<i1>) -> tensor<" type ">\n"
#define SLICE_TYPES \
  " : (tensor<3x4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x2xi32>"
#define GATHER                                                                                  \
  "%got = \"stablehlo.dynamic_gather\"(%x, %i, %z) {dimension_numbers = "                       \
  "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], " \
  "index_vector_dim = 1>} : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<2xi32>) -> "
static const kernel_case dynamic[] = {
    {"tensor<2x2xi32>",
     X34 C("i", "[[2, 1], [0, 3]]", "2x2xi32") OPAQUE("z", "[1, 2]", "2xi32") GATHER
     "tensor<2x2xi32>",
     "[[9, 10], [2, 3]]", 0},
    {"tensor<2x2xi32>",
     X34 OPAQUE("s", "[0, 1]", "2xi32") C("l", "[3, 4]", "2xi32") OPAQUE(
         "t", "[2, 2]", "2xi32") "%got = stablehlo.real_dynamic_slice %x, %s, %l, %t" SLICE_TYPES,
     "[[1, 3], [9, 11]]", 0},
    {"tensor<2x4xi32>",
     X34 C("n", "2", "i32") "%d = stablehlo.set_dimension_size %x, %n, dim = 0 : "
                            "(tensor<3x4xi32>, tensor<i32>) -> tensor<?x4xi32, "
                            "#stablehlo.bounds<3, ?>>\n%got = stablehlo.convert %d : "
                            "(tensor<?x4xi32, #stablehlo.bounds<3, ?>>) -> tensor<2x4xi32>",
     "[[0, 1, 2, 3], [4, 5, 6, 7]]", 0},
    /* The padding is computed from constants. */
    {"tensor<1x1x2xf32>",
     C("x", "[[[1.0, 2.0, 3.0, 4.0]]]", "1x1x4xf32") C("k", "[[[1.0, 1.0, 1.0]]]", "1x1x3xf32") C(
         "a", "0", "1x2xi32")
         C("b", "0",
           "1x2xi32") "%p = stablehlo.add %a, %b : tensor<1x2xi32>\n"
                      "%got = stablehlo.dynamic_conv(%x, %k, %p) dim_numbers = [b, f, 0]x[o, i, "
                      "0]->[b, f, 0], "
                      "window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
                      "(tensor<1x1x4xf32>, tensor<1x1x3xf32>, tensor<1x2xi32>) -> "
                      "tensor<1x1x2xf32>",
     "[[[6.0, 9.0]]]", 0},
    /* Shapes of shapes: 12 elements as 12 / 2 rows of 2, then padded, cut and turned. */
    {"tensor<2x7xi32>",
     X34
     "%r = \"stablehlo.get_dimension_size\"(%x) {dimension = 0 : i64} : (tensor<3x4xi32>) -> "
     "tensor<i32>\n" C(
         "two", "2",
         "i32") "%rows = stablehlo.multiply %r, %two : tensor<i32>\n"
                "%d0 = stablehlo.reshape %rows : (tensor<i32>) -> tensor<1xi32>\n"
                "%d1 = stablehlo.reshape %two : (tensor<i32>) -> tensor<1xi32>\n"
                "%shape = stablehlo.concatenate %d0, %d1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) "
                "-> "
                "tensor<2xi32>\n"
                "%y = stablehlo.dynamic_reshape %x, %shape : (tensor<3x4xi32>, tensor<2xi32>) -> "
                "tensor<?x?xi32>\n"
                "%z = stablehlo.add %y, %y : tensor<?x?xi32>\n" C("low", "[1, 0]", "2xi32")
                    C("none", "0", "2xi32") C(
                        "pad", "-1",
                        "i32") "%w = stablehlo.dynamic_pad %z, %pad, %low, %none, %none : "
                               "(tensor<?x?xi32>, tensor<i32>, "
                               "tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xi32>\n"
                               "%t = stablehlo.transpose %w, dims = [1, 0] : (tensor<?x?xi32>) -> "
                               "tensor<?x?xi32>\n"
                               "%got = stablehlo.convert %t : (tensor<?x?xi32>) -> tensor<2x7xi32>",
     "[[-1, 0, 4, 8, 12, 16, 20], [-1, 2, 6, 10, 14, 18, 22]]", 0},
    /* Through a loop. */
    {"tensor<3xi32>",
     C("n", "3",
       "1xi32") "%e = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> "
                "tensor<?xi32>\n" C("i", "0", "i32") C("four", "4", "i32") C(
                    "one", "1",
                    "i32") "%l:2 = stablehlo.while(%a = %i, %b = %e) : tensor<i32>, tensor<?xi32>\n"
                           "cond {\n%c = stablehlo.compare LT, %a, %four : (tensor<i32>, "
                           "tensor<i32>) -> tensor<i1>\n"
                           "stablehlo.return %c : tensor<i1>\n} do {\n%a1 = stablehlo.add %a, %one "
                           ": tensor<i32>\n"
                           "%b1 = stablehlo.add %b, %b : tensor<?xi32>\nstablehlo.return %a1, %b1 "
                           ": tensor<i32>, "
                           "tensor<?xi32>\n}\n%got = stablehlo.convert %l#1 : (tensor<?xi32>) -> "
                           "tensor<3xi32>",
     "[0, 16, 32]", 0},
};
TEST(cpu_expand, dynamic) { CHECK_CASES(dynamic); }

/* Each call has its own dims. */
TEST(cpu_expand, calls_for_each_shape) {
  static const char text[] =
      "func.func @main() -> (tensor<?xi32>, tensor<?xi32>) {\n" C("a", "[1, 2, 3]", "3xi32")
      C("b", "[4, 5]", "2xi32")
      "%x = stablehlo.convert %a : (tensor<3xi32>) -> tensor<?xi32>\n"
      "%y = stablehlo.convert %b : (tensor<2xi32>) -> tensor<?xi32>\n"
      "%0 = call @f(%x) : (tensor<?xi32>) -> tensor<?xi32>\n"
      "%1 = call @f(%y) : (tensor<?xi32>) -> tensor<?xi32>\n"
      "return %0, %1 : tensor<?xi32>, tensor<?xi32>\n}\n"
      "func.func private @f(%x: tensor<?xi32>) -> tensor<?xi32> {\n"
      "%0 = call @g(%x) : (tensor<?xi32>) -> tensor<?xi32>\nreturn %0 : tensor<?xi32>\n}\n"
      "func.func private @g(%x: tensor<?xi32>) -> tensor<?xi32> {\n"
      "%0 = stablehlo.add %x, %x : tensor<?xi32>\nreturn %0 : tensor<?xi32>\n}\n";
  static const int32_t want[2][3] = {{2, 4, 6}, {8, 10, 0}};
  tt_cpu_plan *plan = NULL;
  size_t count = 0;
  _Alignas(64) int32_t first[16] = {0}, second[16] = {0};
  void *outputs[2] = {first, second};
  const tt_cpu_slot *slots = NULL;
  REQUIRE_OK(plan_of(text, &plan));
  slots = tt_cpu_plan_results(plan, &count);
  REQUIRE(count == 2 && slots[0].size == 12 && slots[1].size == 8);
  REQUIRE_OK(run_plan(plan, NULL, outputs));
  for (int i = 0; i < 3; i++)
    EXPECT(first[i] == want[0][i] && second[i] == want[1][i]);
out:
  tt_cpu_plan_free(plan);
}

/* ---- refusals ---- */

#define MAIN(body) "func.func @main() -> tensor<?xi32> {\n" body "\nreturn %r : tensor<?xi32>\n}\n"
TEST(cpu_expand, refuses) {
  static const struct {
    const char *text;
    tt_code code;
    const char *part;
  } rows[] = {
      {MAIN(OPAQUE("n", "3", "1xi32") "%r = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) "
                                      "-> tensor<?xi32>"),
       TT_UNIMPLEMENTED, "only the run knows"},
      {MAIN(C("x", "[1, 2]", "2xi32") OPAQUE("n", "1", "i32") "%r = stablehlo.set_dimension_size "
                                                              "%x, %n, dim = 0 : (tensor<2xi32>, "
                                                              "tensor<i32>) -> tensor<?xi32>"),
       TT_UNIMPLEMENTED, "result 0 of @main: dims that only the run knows"},
      {MAIN(C("n", "-3", "1xi32") "%r = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) "
                                  "-> tensor<?xi32>"),
       TT_INVALID_ARGUMENT, "dim 0 is found to be -3"},
      {MAIN(C("n", "9223372036854775807", "1xi64") "%r = stablehlo.dynamic_iota %n, dim = 0 : "
                                                   "(tensor<1xi64>) -> tensor<?xi32>"),
       TT_INVALID_ARGUMENT, ""},
      {MAIN(C("x", "[1, 2]", "2xi32") C("n", "3", "i32") "%r = stablehlo.set_dimension_size %x, "
                                                         "%n, dim = 0 : (tensor<2xi32>, "
                                                         "tensor<i32>) -> tensor<?xi32>"),
       TT_INVALID_ARGUMENT, "size 3 of a dim of 2"},
      /* The list of sizes turns out to be too short. */
      {MAIN(C("a", "[2]", "1xi32") "%n = stablehlo.convert %a : (tensor<1xi32>) -> tensor<?xi32>\n"
                                   "%q = stablehlo.dynamic_iota %n, dim = 0 : (tensor<?xi32>) -> "
                                   "tensor<?x?xi32>\n%r = stablehlo.convert %a : (tensor<1xi32>) "
                                   "-> tensor<?xi32>"),
       TT_INVALID_ARGUMENT, "output_shape: expected 2 numbers"},
      {MAIN(C("p", "false",
              "i1") "stablehlo.custom_call @shape_assertion(%p) {has_side_effect = "
                    "true} : (tensor<i1>) -> ()\n" C(
                        "a", "[2]",
                        "1xi32") "%r = stablehlo.convert %a : (tensor<1xi32>) -> tensor<?xi32>"),
       TT_INVALID_ARGUMENT, "shape_assertion: it does not hold"},
  };
  for (size_t i = 0; i < TT_COUNT(rows); i++) {
    tt_cpu_plan *plan = NULL;
    EXPECT_ERR(plan_of(rows[i].text, &plan), rows[i].code, rows[i].part);
    tt_cpu_plan_free(plan);
  }
}

/* Doubling calls would be 2^20 ops. */
TEST(cpu_expand, inlines_no_more_than_it_should) {
  tt_bytes text = {0};
  tt_cpu_plan *plan = NULL;
  tt_bytes_text(&text,
                "func.func @main(%x: tensor<?xi32>) -> tensor<?xi32> {\n%0 = call "
                "@f0(%x) : (tensor<?xi32>) -> tensor<?xi32>\nreturn %0 : tensor<?xi32>\n}\n");
  for (int i = 0; i < 20; i++)
    tt_bytes_printf(&text,
                    "func.func private @f%d(%%x: tensor<?xi32>) -> tensor<?xi32> {\n%%0 = call "
                    "@f%d(%%x) : (tensor<?xi32>) -> tensor<?xi32>\n%%1 = call @f%d(%%0) : "
                    "(tensor<?xi32>) -> tensor<?xi32>\nreturn %%1 : tensor<?xi32>\n}\n",
                    i, i + 1, i + 1);
  tt_bytes_text(&text,
                "func.func private @f20(%x: tensor<?xi32>) -> tensor<?xi32> {\nreturn %x : "
                "tensor<?xi32>\n}\n");
  tt_bytes_char(&text, '\0');
  REQUIRE(!text.failed);
  EXPECT_ERR(plan_of(text.data, &plan), TT_UNIMPLEMENTED, "too large");
out:
  tt_bytes_free(&text);
  tt_cpu_plan_free(plan);
}

/* ---- rng ---- */

#define RNG(a, b, type, distribution)                                                       \
  "func.func @main() -> (tensor<4096x" type ">, tensor<4096x" type                          \
  ">) {\n" C("a", a, type) C("b", b, type)                                                  \
      C("n", "4096", "1xi64") "%x = stablehlo.rng %a, %b, %n, distribution = " distribution \
                              " : (tensor<" type ">, tensor<" type                          \
                              ">, tensor<1xi64>) -> tensor<4096x" type                      \
                              ">\n"                                                         \
                              "%y = stablehlo.rng %a, %b, %n, distribution = " distribution \
                              " : (tensor<" type ">, tensor<" type                          \
                              ">, tensor<1xi64>) -> tensor<4096x" type                      \
                              ">\n"                                                         \
                              "return %x, %y : tensor<4096x" type ">, tensor<4096x" type ">\n}\n"

typedef struct moments {
  double mean, deviation, least, most;
} moments;

static moments moments_of(tt_dtype dtype, const void *data) {
  enum { COUNT = 4096 };
  moments m = {0, 0, INFINITY, -INFINITY};
  for (int i = 0; i < COUNT; i++) {
    double x = tt_cpu_load(dtype, data, i, NULL);
    m.mean += x / COUNT;
    m.deviation += x * x / COUNT;
    m.least = fmin(m.least, x);
    m.most = fmax(m.most, x);
  }
  m.deviation = sqrt(m.deviation - m.mean * m.mean);
  return m;
}

/* Two draws differ, two runs do not; five deviations of the mean of 4096 are allowed. */
static void check_rng(const char *text, moments want) {
  tt_cpu_plan *plan = NULL;
  size_t count = 0;
  char *memory = aligned_alloc(64, 4 * 4096 * 8);
  void *outputs[2][2];
  const tt_cpu_slot *slots = NULL;
  moments got = {0};
  REQUIRE(memory != NULL);
  REQUIRE_OK(plan_of(text, &plan));
  slots = tt_cpu_plan_results(plan, &count);
  for (int run = 0; run < 2; run++) {
    for (int i = 0; i < 2; i++)
      outputs[run][i] = memory + (2 * run + i) * 4096 * 8;
    REQUIRE_OK(run_plan(plan, NULL, outputs[run]));
  }
  EXPECT(memcmp(outputs[0][0], outputs[1][0], (size_t)slots[0].size) == 0);
  EXPECT(memcmp(outputs[0][0], outputs[0][1], (size_t)slots[0].size) != 0);
  got = moments_of(slots[0].type.dtype, outputs[0][0]);
  EXPECT(fabs(got.mean - want.mean) < 5 * want.deviation / 64);
  EXPECT(fabs(got.deviation / want.deviation - 1) < 0.06);
  EXPECT(got.least >= want.least && got.most <= want.most);
out:
  free(memory);
  tt_cpu_plan_free(plan);
}

TEST(cpu_expand, rng) {
  check_rng(RNG("2.0", "6.0", "f32", "UNIFORM"), (moments){4, 4 / sqrt(12), 2, nextafter(6, 2)});
  check_rng(RNG("2.0", "6.0", "bf16", "UNIFORM"), (moments){4, 4 / sqrt(12), 2, nextafter(6, 2)});
  check_rng(RNG("1.0", "3.0", "f64", "NORMAL"), (moments){1, 3, -20, 20});
  check_rng(RNG("-3", "5", "i32", "UNIFORM"), (moments){0.5, sqrt(63.0 / 12), -3, 4});
  check_rng(RNG("0", "255", "ui8", "UNIFORM"), (moments){127, sqrt(65024.0 / 12), 0, 254});
}

/* ---- async pairs ---- */

#define START(operands, args, types, future, op)                                         \
  "%s = \"stablehlo.async_start\"(" operands ") ({\n^bb0(" args "):\n" op "}) : (" types \
  ") -> !stablehlo.future<" future ">\n"
#define DONE(type) \
  "%got = \"stablehlo.async_done\"(%s) : (!stablehlo.future<" type ">) -> " type "\n"
#define X4 C("x", "[1.0, 2.0, 3.0, 4.0]", "4xf32") C("i", "1", "i32")

static const kernel_case pairs[] = {
    {"tensor<2xf32>",
     X4 START("%x", "%a: tensor<4xf32>", "tensor<4xf32>", "tensor<2xf32>",
              "%p = stablehlo.slice %a [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>\n"
              "stablehlo.return %p : tensor<2xf32>\n") DONE("tensor<2xf32>"),
     "[2.0, 4.0]", 0},
    {"tensor<2xf32>",
     X4 START("%x, %i", "%a: tensor<4xf32>, %b: tensor<i32>", "tensor<4xf32>, tensor<i32>",
              "tensor<2xf32>",
              "%p = stablehlo.dynamic_slice %a, %b, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> "
              "tensor<2xf32>\nstablehlo.return %p : tensor<2xf32>\n") DONE("tensor<2xf32>"),
     "[2.0, 3.0]", 0},
    {"tensor<4xf32>",
     X4 C("y", "[8.0, 9.0]", "2xf32")
         START("%x, %y, %i", "%a: tensor<4xf32>, %u: tensor<2xf32>, %b: tensor<i32>",
               "tensor<4xf32>, tensor<2xf32>, tensor<i32>", "tensor<4xf32>",
               "%p = stablehlo.dynamic_update_slice %a, %u, %b : (tensor<4xf32>, tensor<2xf32>, "
               "tensor<i32>) -> tensor<4xf32>\nstablehlo.return %p : tensor<4xf32>\n")
             DONE("tensor<4xf32>"),
     "[1.0, 8.0, 9.0, 4.0]", 0},
    /* What the body returns need not be what its operation gives. */
    {"tensor<4xf32>",
     X4 START("%x", "%a: tensor<4xf32>", "tensor<4xf32>", "tensor<4xf32>",
              "%p = stablehlo.slice %a [0:2] : (tensor<4xf32>) -> tensor<2xf32>\n"
              "stablehlo.return %a : tensor<4xf32>\n") DONE("tensor<4xf32>"),
     "[1.0, 2.0, 3.0, 4.0]", 0},
    /* Dims that follow from a constant. */
    {"tensor<2xf32>",
     X4 C("n", "[4]",
          "1xi32") "%z = stablehlo.dynamic_reshape %x, %n : (tensor<4xf32>, tensor<1xi32>) -> "
                   "tensor<?xf32>\n" START("%z, %i", "%a: tensor<?xf32>, %b: tensor<i32>",
                                           "tensor<?xf32>, tensor<i32>", "tensor<2xf32>",
                                           "%p = stablehlo.dynamic_slice %a, %b, sizes = [2] : "
                                           "(tensor<?xf32>, tensor<i32>) -> "
                                           "tensor<2xf32>\nstablehlo.return %p : tensor<2xf32>\n")
                       DONE("tensor<2xf32>"),
     "[2.0, 3.0]", 0},
};
TEST(cpu_async, slices) { CHECK_CASES(pairs); }
