#include "infer_table.h"

#define AXES(...) ATTRS(I64S(DIMENSIONS, __VA_ARGS__))
#define SUM .regions = {"f32 f32 -> f32"}
static const infer_row reduces[] = {
    ROW(REDUCE, "2x3x4xf32 f32", "3xf32", AXES(2, 0), SUM),
    ROW(REDUCE, "2x?xf32 f32", "?xf32", AXES(0), SUM),
    ROW(REDUCE, "2x3xf32 f32", "2x3xf32", ATTRS(EMPTY(DIMENSIONS)), SUM),
    ROW(REDUCE, "2x?xf32 ?x3xi32 f32 i32", "3xf32 3xi32", AXES(0), .regions = {"f32 i32 f32 i32 -> f32 i32"}),
    ROW(REDUCE, "2x3xbf16 bf16", "3xf32", AXES(0), SUM),
    ROW(REDUCE, "2x3xf32", "!expected inputs and as many init values, got 1 operands", AXES(0), SUM),
    ROW(REDUCE, "", "!expected inputs and as many init values, got 0 operands", AXES(0), SUM),
    ROW(REDUCE, "2x3xf32 3x3xf32 f32 f32", "!dims of inputs differ", AXES(0), .regions = {"f32 f32 f32 f32 -> f32 f32"}),
    ROW(REDUCE, "2x3xf32 f64", "!init value 0: expected tensor<f32>, got tensor<f64>", AXES(0), SUM),
    ROW(REDUCE, "2x3xf32 1xf32", "!init value 0: expected tensor<f32>, got tensor<1xf32>", AXES(0), SUM),
    ROW(REDUCE, "2x3xf32 f32", "!expected 1 results, got 2", AXES(0), SUM, .results = 2),
    ROW(REDUCE, "2x3xf32 f32", "!dimensions[0] is 2, not in [0, 2)", AXES(2), SUM),
    ROW(REDUCE, "2x3xf32 f32", "!dimensions[1] repeats axis 1", AXES(1, 1), SUM),
    ROW(REDUCE, "2x3xf32 f32", "!attribute dimensions is missing", SUM),
    ROW(REDUCE, "2x3xf32 f32", "!expected 1 regions, got 0", AXES(0)),
    ROW(REDUCE, "2x3xf32 f32", "!body: expected 2 arguments, got 1", AXES(0), .regions = {"f32 -> f32"}),
    ROW(REDUCE, "2x3xf32 f32", "!body: expected 1 results, got 2", AXES(0), .regions = {"f32 f32 -> f32 f32"}),
    ROW(REDUCE, "2x3xf32 f32", "!body: argument 1: expected tensor<f32>, got tensor<f64>", AXES(0),
        .regions = {"f32 f64 -> f32"}),
    ROW(REDUCE, "2x3xf32 f32", "!body: result 0: expected tensor<f32>, got tensor<1xf32>", AXES(0),
        .regions = {"f32 f32 -> 1xf32"}),
    ROW(REDUCE, "2x3xf32 f32", "!body: result 0", AXES(0), .regions = {"f32 f32 -> token"}),
    ROW(REDUCE, "2x3xf32 f32", "!body: f32 does not promote to its type bf16", AXES(0),
        .regions = {"bf16 bf16 -> bf16"}),
    ROW(REDUCE, "2x3xf32 f32", "!body: f32 does not promote to its type i64", AXES(0), .regions = {"i64 i64 -> i64"}),
};
TEST(hlo_infer, reduce) { CHECK_ROWS(reduces); }

#define WINDOW(...) I64S(WINDOW_DIMENSIONS, __VA_ARGS__)
static const infer_row windows[] = {
    ROW(REDUCE_WINDOW, "1x8xf32 f32", "1x4xf32", SUM,
        ATTRS(WINDOW(1, 3), I64S(WINDOW_STRIDES, 1, 2), MATRIX(PADDING, 2, 0, 0, 1, 1))),
    ROW(REDUCE_WINDOW, "5x8xf32 f32", "7x4xf32", SUM,
        ATTRS(WINDOW(3, 3), I64S(BASE_DILATIONS, 2, 1), I64S(WINDOW_DILATIONS, 1, 2))),
    ROW(REDUCE_WINDOW, "?x8xf32 f32", "?x0xf32", SUM, ATTRS(WINDOW(1, 9))),
    ROW(REDUCE_WINDOW, "f32 f32", "f32", SUM, ATTRS(EMPTY(WINDOW_DIMENSIONS))),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!attribute window_dimensions is missing", SUM),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!window_dimensions: expected 1 numbers, got 2", SUM, ATTRS(WINDOW(1, 1))),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!window_dimensions[0] is 0", SUM, ATTRS(WINDOW(0))),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!window_strides[0] is 0", SUM, ATTRS(WINDOW(2), I64S(WINDOW_STRIDES, 0))),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!base_dilations[0] is 0", SUM, ATTRS(WINDOW(2), I64S(BASE_DILATIONS, 0))),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!window_dilations[0] is -1", SUM, ATTRS(WINDOW(2), I64S(WINDOW_DILATIONS, -1))),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!padding: expected 1x2 numbers", SUM, ATTRS(WINDOW(2), MATRIX(PADDING, 1, 0, 0))),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!axis 0: dim 8 padded by -9 and 0 has no size", SUM,
        ATTRS(WINDOW(2), MATRIX(PADDING, 2, -9, 0))),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!has no size", SUM, ATTRS(WINDOW(2), MATRIX(PADDING, 2, INT64_MAX, INT64_MAX))),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!has no size", SUM,
        ATTRS(WINDOW(INT64_MAX), I64S(WINDOW_DILATIONS, INT64_MAX))),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!expected 1 results, got 2", SUM, ATTRS(WINDOW(2)), .results = 2),
    ROW(REDUCE_WINDOW, "8xf32 f32", "!body: expected 2 arguments", ATTRS(WINDOW(2)), .regions = {"-> f32"}),
};
TEST(hlo_infer, reduce_window) { CHECK_ROWS(windows); }

#define PICK .regions = {"f32 f32 -> i1", "f32 f32 -> f32"}
static const infer_row scatters[] = {
    ROW(SELECT_AND_SCATTER, "8xf32 4xf32 f32", "8xf32", PICK,
        ATTRS(WINDOW(3), I64S(WINDOW_STRIDES, 2), MATRIX(PADDING, 2, 1, 1))),
    ROW(SELECT_AND_SCATTER, "8xf32 5xf32 f32", "!source: expected tensor<4xf32>, got tensor<5xf32>", PICK,
        ATTRS(WINDOW(3), I64S(WINDOW_STRIDES, 2), MATRIX(PADDING, 2, 1, 1))),
    ROW(SELECT_AND_SCATTER, "8xf32 6xf64 f32", "!element types differ", PICK, ATTRS(WINDOW(3))),
    ROW(SELECT_AND_SCATTER, "8xf32 6xf32 f64", "!init_value: expected tensor<f32>", PICK, ATTRS(WINDOW(3))),
    ROW(SELECT_AND_SCATTER, "8xf32 6xf32 f32", "!attribute window_dimensions is missing", PICK),
    ROW(SELECT_AND_SCATTER, "8xf32 6xf32 f32", "!window_dimensions[0] is 0", PICK, ATTRS(WINDOW(0))),
    ROW(SELECT_AND_SCATTER, "8xf32 6xf32 f32", "!expected 2 regions, got 1", ATTRS(WINDOW(3)), SUM),
    ROW(SELECT_AND_SCATTER, "8xf32 6xf32 f32", "!select: result 0: expected tensor<i1>", ATTRS(WINDOW(3)),
        .regions = {"f32 f32 -> f32", "f32 f32 -> f32"}),
    ROW(SELECT_AND_SCATTER, "8xf32 6xf32 f32", "!scatter: expected 2 arguments, got 1", ATTRS(WINDOW(3)),
        .regions = {"f32 f32 -> i1", "f32 -> f32"}),
};
TEST(hlo_infer, select_and_scatter) { CHECK_ROWS(scatters); }

static const infer_row sorts[] = {
    ROW(SORT, "2x3xf32 2x?xi32", "2x3xf32 2x3xi32", ATTRS(I64(DIMENSION, 1), BOOL(IS_STABLE, 1)),
        .regions = {"f32 f32 i32 i32 -> i1"}),
    ROW(SORT, "3xf32", "3xf32", .regions = {"f32 f32 -> i1"}),
    ROW(SORT, "3xf32", "3xf32", ATTRS(I64(DIMENSION, -1)), .regions = {"f32 f32 -> i1"}),
    ROW(SORT, "3xf32", "!dimension is 1, not in [-1, 1)", ATTRS(I64(DIMENSION, 1)), .regions = {"f32 f32 -> i1"}),
    ROW(SORT, "3xf32", "!dimension is -2, not in [-1, 1)", ATTRS(I64(DIMENSION, -2)), .regions = {"f32 f32 -> i1"}),
    ROW(SORT, "", "!expected at least one operand", .regions = {"-> i1"}),
    ROW(SORT, "3xf32 4xf32", "!dims differ", .regions = {"f32 f32 f32 f32 -> i1"}, .results = 2),
    ROW(SORT, "3xf32", "!expected 1 results, got 2", .regions = {"f32 f32 -> i1"}, .results = 2),
    ROW(SORT, "3xf32", "!comparator: argument 1: expected tensor<f32>, got tensor<f64>", .regions = {"f32 f64 -> i1"}),
    ROW(SORT, "3xf32", "!comparator: result 0: expected tensor<i1>", .regions = {"f32 f32 -> i8"}),
    ROW(SORT, "3xf32", "!comparator: expected 1 result, got 0", .regions = {"f32 f32 -> "}),
};
TEST(hlo_infer, sort) { CHECK_ROWS(sorts); }

static const infer_row others[] = {
    ROW(MAP, "2x3xf32 2x?xi32", "2x3xf64", AXES(0, 1), .regions = {"f32 i32 -> f64"}),
    ROW(MAP, "2x3xf32", "!dimensions[0]: expected 0, got 1", AXES(1, 0), .regions = {"f32 -> f64"}),
    ROW(MAP, "2x3xf32", "!dimensions: expected 2 numbers, got 1", AXES(0), .regions = {"f32 -> f64"}),
    ROW(MAP, "", "!expected at least one operand", AXES(0), .regions = {"-> f64"}),
    ROW(MAP, "3xf32", "!computation: expected 1 arguments and 1 result, got 2 and 1", AXES(0),
        .regions = {"f32 f32 -> f64"}),
    ROW(MAP, "3xf32", "!computation: argument 0: expected tensor<f32>, got tensor<f64>", AXES(0),
        .regions = {"f64 -> f64"}),
    ROW(MAP, "3xf32", "!computation: expected a scalar result", AXES(0), .regions = {"f32 -> 1xf64"}),
    ROW(CHLO_TOP_K, "3x8xf32", "3x2xf32 3x2xi32", ATTRS(I64(K, 2))),
    ROW(CHLO_TOP_K, "3x?xf32", "3x2xf32 3x2xi32", ATTRS(I64(K, 2))),
    ROW(CHLO_TOP_K, "3x8xf32", "!top_k: k is 9, the last dim of the operand 8", ATTRS(I64(K, 9))),
    ROW(CHLO_TOP_K, "3x8xf32", "!k is -1", ATTRS(I64(K, -1))),
    ROW(CHLO_TOP_K, "f32", "!expected rank 1 or more", ATTRS(I64(K, 0))),
};
TEST(hlo_infer, map_and_top_k) { CHECK_ROWS(others); }
