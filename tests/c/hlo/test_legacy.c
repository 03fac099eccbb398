/* Operations that few programs have: in text, and what inference and the verifier say to them. */
#include <string.h>

#include "infer_table.h"
#include "test_parse.h"

TEST(hlo_legacy, dot) {
  CHECK_OPS("%x: tensor<2x3xf32>, %y: tensor<3x4xf32>",
            "%0 = stablehlo.dot %x, %y, precision = [HIGH, DEFAULT] : (tensor<2x3xf32>, "
            "tensor<3x4xf32>) -> tensor<2x4xf32>",
            "\"stablehlo.dot_general\"(%arg0, %arg1) {precision_config = [#stablehlo<precision "
            "HIGH>, #stablehlo<precision DEFAULT>], dot_dimension_numbers = "
            "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}");
  CHECK_OPS("%x: tensor<3xf32>",
            "%0 = \"stablehlo.dot\"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>",
            "#stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>");
}

TEST(hlo_legacy, broadcast) {
  CHECK_OPS("%x: tensor<3xf32>",
            "%0 = stablehlo.broadcast %x, sizes = [2, 1] : (tensor<3xf32>) -> tensor<2x1x3xf32>",
            "\"stablehlo.broadcast_in_dim\"(%arg0) {broadcast_dimensions = array<i64: 2>}");
  CHECK_OPS("%x: tensor<f32>",
            "%0 = \"stablehlo.broadcast\"(%x) {broadcast_sizes = array<i64: 2>} : (tensor<f32>) -> "
            "tensor<2xf32>",
            "{broadcast_dimensions = array<i64>}");
  CHECK_ERROR(
      "func.func @main(%x: tensor<3xf32>) {\n%0 = stablehlo.broadcast %x, sizes = [] : "
      "(tensor<3xf32>) -> tensor<f32>\nreturn\n}",
      TT_INVALID_ARGUMENT, "a result of its rank or more");
}

#define FUNC(params, ops) "func.func @main(" params ") {\n" ops "\nreturn\n}"
TEST(hlo_legacy, tuples) {
  CHECK_OPS("%x: tensor<2xf32>, %i: tensor<i32>",
            "%t = stablehlo.tuple %x, %i : tuple<tensor<2xf32>, tensor<i32>>\n"
            "%u = \"stablehlo.tuple\"(%t, %x) : (tuple<tensor<2xf32>, tensor<i32>>, "
            "tensor<2xf32>) -> tuple<tuple<tensor<2xf32>, tensor<i32>>, tensor<2xf32>>\n"
            "%v = stablehlo.get_tuple_element %u[0] : (tuple<tuple<tensor<2xf32>, tensor<i32>>, "
            "tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<i32>>\n"
            "%w = \"stablehlo.get_tuple_element\"(%v) <{index = 0 : i32}> : (tuple<tensor<2xf32>, "
            "tensor<i32>>) -> tensor<2xf32>\n"
            "%0 = stablehlo.abs %w : tensor<2xf32>",
            "%0 = \"stablehlo.abs\"(%arg0)");
  CHECK_ERROR(FUNC("%x: tensor<f32>",
                   "%t = stablehlo.tuple %x : tuple<tensor<f32>>\n%0 = "
                   "stablehlo.abs %t : tensor<f32>"),
              TT_UNIMPLEMENTED, "3:20: a tuple as an operand");
  CHECK_ERROR(FUNC("%x: tensor<f32>",
                   "%t = stablehlo.tuple %x : tuple<tensor<f32>>\n%0 = "
                   "stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>>) -> tensor<f32>"),
              TT_INVALID_ARGUMENT, "a tuple that has an element 1");
  CHECK_ERROR(FUNC("%x: tensor<f32>",
                   "%0 = stablehlo.get_tuple_element %x[0] : (tensor<f32>) -> tensor<f32>"),
              TT_INVALID_ARGUMENT, "a tuple that has an element 0");
  CHECK_ERROR(FUNC("%x: tensor<f32>",
                   "%t = stablehlo.tuple %x : tuple<tensor<f32>>\n%0 = "
                   "stablehlo.get_tuple_element %t[0] : (tuple<tensor<f32>>) -> tensor<i32>"),
              TT_INVALID_ARGUMENT, "the element's type, tensor<f32>, got tensor<i32>");
}

TEST(hlo_legacy, forms) {
  CHECK_OPS("%a: tensor<f32>, %n: tensor<2xi64>",
            "%0 = stablehlo.rng %a, %a, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, "
            "tensor<2xi64>) -> tensor<3x2xf32>",
            "{rng_distribution = #stablehlo<rng_distribution UNIFORM>}");
  CHECK_OPS("%x: tensor<4xf32>, %n: tensor<1xi64>, %i: tensor<i32>",
            "%0 = stablehlo.real_dynamic_slice %x, %n, %n, %n : (tensor<4xf32>, tensor<1xi64>, "
            "tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>\n"
            "%1 = stablehlo.set_dimension_size %x, %i, dim = 0 : (tensor<4xf32>, tensor<i32>) -> "
            "tensor<?xf32, #stablehlo.bounds<4>>",
            "\"stablehlo.set_dimension_size\"(%arg0, %arg2) {dimension = 0 : i64}");
  CHECK_OPS("%x: tensor<2x1xf32>, %y: tensor<3xf32>",
            "%0 = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction "
            "LT>} : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xi1>",
            "{comparison_direction = #stablehlo<comparison_direction LT>}");
  CHECK_OPS("%x: tensor<2xf32>",
            "%0 = stablehlo.custom_call @f(%x) {operand_layouts = [dense<0> : tensor<1xindex>], "
            "result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<2xf32>) -> tensor<2xf32>",
            "custom_call");
  CHECK_OPS("%x: tensor<2x3xf32>",
            "%0 = stablehlo.custom_call @f(%x) {operand_layouts = [dense<[0, 1]> : "
            "tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : "
            "(tensor<2x3xf32>) -> tensor<2x3xf32>",
            "operand_layouts = [dense<[0, 1]> : tensor<2xindex>]");
}

#define NORM_ATTRS ATTRS(ATTR(EPSILON, F32, .f64 = 0.5), I64(FEATURE_INDEX, 1))
#define SUM "f32 f32 -> f32"
#define GROUPS MATRIX(REPLICA_GROUPS, 2, 0, 1)
#define CHANNEL ATTR(CHANNEL_HANDLE, CHANNEL, .i64 = 1)
static const infer_row rows[] = {
    ROW(BATCH_NORM_INFERENCE, "4x2xf32 2xf32 2xf32 2xf32 2xf32", "4x2xf32", NORM_ATTRS),
    ROW(BATCH_NORM_INFERENCE, "4x2xf32 2xf32 2xf32 3xf32 2xf32",
        "!operand 3: expected rank 1 of f32 with 2 features", NORM_ATTRS),
    ROW(BATCH_NORM_INFERENCE, "4x2xi32 2xi32 2xi32 2xi32 2xi32", "!expected a float", NORM_ATTRS),
    ROW(BATCH_NORM_TRAINING, "4x2xf32 2xf32 2xf32", "4x2xf32 2xf32 2xf32", NORM_ATTRS),
    ROW(BATCH_NORM_TRAINING, "4xf32 2xf32 2xf32", "!feature_index is 1", NORM_ATTRS),
    ROW(BATCH_NORM_TRAINING, "4x2xf32 2xf32 2xf32", "!epsilon is missing",
        ATTRS(I64(FEATURE_INDEX, 1)), .results = 3),
    ROW(BATCH_NORM_GRAD, "4x2xf32 2xf32 2xf32 2xf32 4x2xf32", "4x2xf32 2xf32 2xf32", NORM_ATTRS),
    ROW(BATCH_NORM_GRAD, "4x2xf32 2xf32 2xf32 2xf32 2x4xf32", "!grad_output: expected", NORM_ATTRS,
        .results = 3),
    ROW(RNG, "f32 f32 2xi64", "3x2xf32", .given = "3x2xf32",
        ATTRS(ENUM(RNG_DISTRIBUTION, TT_HLO_NORMAL))),
    ROW(RNG, "i32 i32 2xi64", "!NORMAL: expected floats", .given = "3x2xi32",
        ATTRS(ENUM(RNG_DISTRIBUTION, TT_HLO_NORMAL))),
    ROW(RNG, "f32 f32 1xi64", "!shape: expected 2 numbers", .given = "3x2xf32",
        ATTRS(ENUM(RNG_DISTRIBUTION, TT_HLO_UNIFORM))),
    ROW(RNG, "f32 f32 2xi64", "!rng_distribution is INVALID", .given = "3x2xf32",
        ATTRS(ENUM(RNG_DISTRIBUTION, 0))),
    ROW(REAL_DYNAMIC_SLICE, "4xf32 1xi64 1xi64 2xi64", "!strides: expected 1 numbers",
        .given = "?xf32"),
    ROW(SET_DIMENSION_SIZE, "4x3xf32 i32", "!dim 1: operand", .given = "?x4xf32",
        ATTRS(I64(DIMENSION, 0))),
    ROW(DYNAMIC_CONV, "1x1x4xf32 1x1x3xf32 2x2xi64", "!padding: expected 1x2",
        .given = "1x1x?xf32"),
    ROW(CHLO_BROADCAST_ADD, "2x1xf32 3xf32", "2x3xf32", .given = "2x3xf32"),
    ROW(CHLO_BROADCAST_ADD, "2x2xf32 3xf32", "!dim 1 of the result", .given = "2x3xf32"),
    ROW(CHLO_BROADCAST_ADD, "2x1xf32 3xf32", "!dim 0 of the result: expected 2",
        .given = "1x3xf32"),
    ROW(CHLO_SQUARE, "2xf32", "2xf32"),
    ROW(CHLO_MULHI, "2xf32 2xf32", "!expected an integer"),
    ROW(CHLO_IS_INF, "2xf32", "2xi1"),
    ROW(CHLO_CONSTANT_LIKE, "2xf32", "!value is missing"),
    ROW(COMPARE, "2xf32 2xf32", "2xi1",
        ATTRS(ENUM(COMPARISON_DIRECTION, TT_HLO_LT), ENUM(COMPARE_TYPE, TT_HLO_COMPARE_SIGNED))),
    ROW(COMPARE, "2xf32 2xf32", "!UNSIGNED does not fit",
        ATTRS(ENUM(COMPARISON_DIRECTION, TT_HLO_LT), ENUM(COMPARE_TYPE, TT_HLO_COMPARE_UNSIGNED))),
    /* Of two replicas with all their partitions: nobody here knows how many those are. */
    ROW(ALL_GATHER, "2xf32", "8xf32", .given = "8xf32",
        ATTRS(I64(ALL_GATHER_DIM, 0), GROUPS, CHANNEL)),
    ROW(ALL_GATHER, "2xf32", "!dim 0: expected", .given = "8xf32",
        ATTRS(I64(ALL_GATHER_DIM, 0), GROUPS, CHANNEL, BOOL(USE_GLOBAL_DEVICE_IDS, 1))),
    ROW(COLLECTIVE_BROADCAST, "2xf32 3xi32", "2xf32 3xi32", .given = "2xf32 3xi32", ATTRS(GROUPS)),
};
TEST(hlo_legacy, inference) { CHECK_ROWS(rows); }

static void check_verify(const char *text, const char *part) {
  tt_hlo_module *module = NULL;
  REQUIRE_OK(tt_hlo_parse(text, strlen(text), &module));
  EXPECT_ERR(tt_hlo_module_verify(module), TT_INVALID_ARGUMENT, part);
out:
  tt_hlo_module_free(module);
}

#define F(name, callee)                                                       \
  "func.func @" name "(%x: tensor<f32>) -> tensor<f32> {\n%0 = call @" callee \
  "(%x) : (tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>\n}\n"
TEST(hlo_legacy, recursion) {
  check_verify(F("main", "main"), "@main calls itself");
  check_verify(F("main", "f") F("f", "g") F("g", "f"), "@f calls itself");
  /* Also what @main does not call, and through a region. */
  check_verify("func.func @main() { return }\n" F("f", "f"), "@f calls itself");
  check_verify(
      "func.func @main(%p: tensor<i1>) {\n\"stablehlo.if\"(%p) ({\ncall @main(%p) : "
      "(tensor<i1>) -> ()\n\"stablehlo.return\"() : () -> ()\n}, {\n"
      "\"stablehlo.return\"() : () -> ()\n}) : (tensor<i1>) -> ()\nreturn\n}\n",
      "@main calls itself");
  check_verify(
      "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n%0 = stablehlo.composite "
      "\"a.b\" %x {decomposition = @main} : (tensor<f32>) -> tensor<f32>\nreturn %0 : "
      "tensor<f32>\n}",
      "@main calls itself");
}
