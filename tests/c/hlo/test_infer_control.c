/* Control flow, calls, dynamic dims, collectives and random bits. */
#include "infer_table.h"

static const infer_row branches[] = {
    ROW(IF, "i1", "2xf32 token", .regions = {"-> 2xf32 token", "-> 2xf32 token"}),
    ROW(IF, "i1", "?xf32", .regions = {"-> ?xf32", "-> 2xf32"}),
    ROW(IF, "i8", "!operand 0: expected tensor<i1>, got tensor<i8>", .regions = {"-> f32", "-> f32"}),
    ROW(IF, "1xi1", "!operand 0: expected tensor<i1>", .regions = {"-> f32", "-> f32"}),
    ROW(IF, "i1", "!expected 2 regions, got 1", .regions = {"-> f32"}),
    ROW(IF, "i1", "!branch 1: expected no arguments, got 1", .regions = {"-> f32", "f32 -> f32"}),
    ROW(IF, "i1", "!result 0 differs: branch 0 gives tensor<f32>, branch 1 tensor<f64>",
        .regions = {"-> f32", "-> f64"}),
    ROW(IF, "i1", "!branch 0: expected 2 results, got 1", .regions = {"-> f32", "-> f32"}, .results = 2),
    ROW(CASE, "i32", "f32", .regions = {"-> f32", "-> f32", "-> f32"}),
    ROW(CASE, "i32", "!expected at least one branch, got none"),
    ROW(CASE, "i64", "!operand 0: expected tensor<i32>", .regions = {"-> f32"}),
    ROW(CASE, "i32", "!result 0 differs", .regions = {"-> f32", "-> 1xf32"}),
};
TEST(hlo_infer, branches) { CHECK_ROWS(branches); }

static const infer_row loops[] = {
    ROW(WHILE, "i32 2xf32 token", "i32 2xf32 token",
        .regions = {"i32 2xf32 token -> i1", "i32 2xf32 token -> i32 2xf32 token"}),
    ROW(WHILE, "i32", "!expected 2 regions, got 1", .regions = {"i32 -> i1"}),
    ROW(WHILE, "i32", "!cond: expected 1 arguments, got 0", .regions = {"-> i1", "i32 -> i32"}),
    ROW(WHILE, "i32", "!cond: argument 0: expected tensor<i32>, got tensor<i64>",
        .regions = {"i64 -> i1", "i32 -> i32"}),
    ROW(WHILE, "i32", "!cond: expected tensor<i1>, got tensor<1xi1>", .regions = {"i32 -> 1xi1", "i32 -> i32"}),
    ROW(WHILE, "i32", "!cond: expected 1 result, got 2", .regions = {"i32 -> i1 i1", "i32 -> i32"}),
    ROW(WHILE, "i32", "!body: argument 0", .regions = {"i32 -> i1", "i64 -> i32"}),
    ROW(WHILE, "i32", "!body: expected 1 results, got 2", .regions = {"i32 -> i1", "i32 -> i32 i32"}),
    ROW(WHILE, "i32", "!body: result 0: expected tensor<i32>, got tensor<f32>",
        .regions = {"i32 -> i1", "i32 -> f32"}),
    ROW(WHILE, "i32", "!expected 1 results, got 2", .regions = {"i32 -> i1", "i32 -> i32"}, .results = 2),
};
TEST(hlo_infer, loops) { CHECK_ROWS(loops); }

static const infer_row calls[] = {
    ROW(OPTIMIZATION_BARRIER, "2xf32 token", "2xf32 token"),
    ROW(OPTIMIZATION_BARRIER, "2xf32", "!expected 1 results, got 2", .results = 2),
    ROW(AFTER_ALL, "token token", "token"),
    ROW(AFTER_ALL, "", "token"),
    ROW(AFTER_ALL, "f32", "!operand 0: expected a token, got tensor<f32>"),
    ROW(PARTITION_ID, "", "ui32"),
    ROW(CUSTOM_CALL, "2xf32 token", "i32 token", .given = "i32 token",
        ATTRS(STRING(CALL_TARGET_NAME, "f"), STRING(BACKEND_CONFIG, "x"), I32(API_VERSION, 1))),
    ROW(CUSTOM_CALL, "2xf32", "i32", .given = "i32",
        ATTRS(STRING(CALL_TARGET_NAME, "f"), ATTR(BACKEND_CONFIG, TEXT, .text = "{}"), I32(API_VERSION, 4))),
    ROW(CUSTOM_CALL, "2xf32", "!attribute call_target_name is missing", .given = "i32"),
    ROW(CUSTOM_CALL, "2xf32", "!call_target_name is empty", .given = "i32", ATTRS(STRING(CALL_TARGET_NAME, ""))),
    ROW(CUSTOM_CALL, "2xf32", "!call_target_name is empty", .given = "i32", ATTRS(STRING(CALL_TARGET_NAME, NULL))),
    ROW(CUSTOM_CALL, "2xf32", "!api_version: expected i32, got i64", .given = "i32",
        ATTRS(STRING(CALL_TARGET_NAME, "f"), I64(API_VERSION, 1))),
    ROW(CUSTOM_CALL, "2xf32", "!backend_config: expected string, got i64", .given = "i32",
        ATTRS(STRING(CALL_TARGET_NAME, "f"), I64(BACKEND_CONFIG, 1))),
    ROW(CUSTOM_CALL, "2xf32", "!operand_layouts and result_layouts: only one is there", .given = "i32",
        ATTRS(STRING(CALL_TARGET_NAME, "f"), ATTR(OPERAND_LAYOUTS, LAYOUTS, .text = NULL))),
    ROW(COMPOSITE, "2xf32", "i32", .given = "i32",
        ATTRS(STRING(NAME, "a.b"), ATTR(DECOMPOSITION, SYMBOL, .text = "f"))),
    ROW(COMPOSITE, "2xf32", "!name: expected namespace.op, got \"ab.\"", .given = "i32",
        ATTRS(STRING(NAME, "ab."), ATTR(DECOMPOSITION, SYMBOL, .text = "f"))),
    ROW(COMPOSITE, "2xf32", "!attribute decomposition is missing", .given = "i32", ATTRS(STRING(NAME, "a.b"))),
};
TEST(hlo_infer, calls) { CHECK_ROWS(calls); }

static const infer_row dynamics[] = {
    ROW(DYNAMIC_BROADCAST_IN_DIM, "1x?xf32 3xi32", "?x?x4xf32", .given = "?x?x4xf32",
        ATTRS(I64S(BROADCAST_DIMENSIONS, 0, 1), I64S(KNOWN_EXPANDING_DIMENSIONS, 0))),
    ROW(DYNAMIC_BROADCAST_IN_DIM, "3xf32 2xi32", "!output_dimensions: expected 1 numbers", .given = "?xf32",
        ATTRS(I64S(BROADCAST_DIMENSIONS, 0))),
    ROW(DYNAMIC_BROADCAST_IN_DIM, "3xf32 1xf32", "!output_dimensions: expected a tensor of rank 1 of integers",
        .given = "?xf32", ATTRS(I64S(BROADCAST_DIMENSIONS, 0))),
    ROW(DYNAMIC_BROADCAST_IN_DIM, "3xf32 1xi32", "!operand dim 0 is 3", .given = "4xf32",
        ATTRS(I64S(BROADCAST_DIMENSIONS, 0))),
    ROW(DYNAMIC_BROADCAST_IN_DIM, "3xf32 1xi32", "!element types differ", .given = "3xf64",
        ATTRS(I64S(BROADCAST_DIMENSIONS, 0))),
    ROW(DYNAMIC_BROADCAST_IN_DIM, "3xf32 1xi32", "!known_nonexpanding_dimensions[0] repeats axis 0", .given = "?xf32",
        ATTRS(I64S(BROADCAST_DIMENSIONS, 0), I64S(KNOWN_EXPANDING_DIMENSIONS, 0),
              I64S(KNOWN_NONEXPANDING_DIMENSIONS, 0))),
    ROW(DYNAMIC_IOTA, "2xi64", "?x3xf32", .given = "?x3xf32", ATTRS(I64(IOTA_DIMENSION, 1))),
    ROW(DYNAMIC_IOTA, "3xi64", "!output_shape: expected 2 numbers", .given = "?x3xf32", ATTRS(I64(IOTA_DIMENSION, 1))),
    ROW(DYNAMIC_IOTA, "2xi64", "!iota_dimension is 2", .given = "?x3xf32", ATTRS(I64(IOTA_DIMENSION, 2))),
    ROW(DYNAMIC_PAD, "?xf32 f32 1xi32 1xi32 1xi32", "?xf32", .given = "?xf32"),
    ROW(DYNAMIC_PAD, "?xf32 f64 1xi32 1xi32 1xi32", "!padding_value: expected a scalar f32", .given = "?xf32"),
    ROW(DYNAMIC_PAD, "?xf32 f32 1xi32 2xi32 1xi32", "!edge_padding_high: expected 1 numbers", .given = "?xf32"),
    ROW(DYNAMIC_PAD, "?xf32 f32 1xi32 1xi32 1xi64", "!types of the paddings differ", .given = "?xf32"),
    ROW(DYNAMIC_PAD, "?xf32 f32 1xi32 1xi32 1xi32", "!ranks differ", .given = "?x?xf32"),
    ROW(DYNAMIC_RESHAPE, "?x3xf32 1xi32", "?xf32", .given = "?xf32"),
    ROW(DYNAMIC_RESHAPE, "2x3xf32 1xi32", "!element counts differ", .given = "7xf32"),
    ROW(DYNAMIC_RESHAPE, "2x3xf32 2xi32", "!output_shape: expected 1 numbers", .given = "?xf32"),
};
TEST(hlo_infer, dynamic_dims) { CHECK_ROWS(dynamics); }

#define GROUPS(columns, ...) MATRIX(REPLICA_GROUPS, columns, __VA_ARGS__)
#define SUM .regions = {"f32 f32 -> f32"}
static const infer_row collectives[] = {
    ROW(ALL_REDUCE, "2xf32 3xf32", "2xf32 3xf32", .given = "2xf32 3xf32", ATTRS(GROUPS(2, 0, 1, 2, 3)), SUM),
    ROW(ALL_REDUCE, "2xf32", "!result 0: expected elements f32", .given = "2xf64", ATTRS(GROUPS(2, 0, 1)), SUM),
    ROW(ALL_REDUCE, "2xf32", "!dim 0: expected 2 * 1 / 1, got 3", .given = "3xf32", ATTRS(GROUPS(2, 0, 1)), SUM),
    ROW(ALL_REDUCE, "2xf32", "!replica_groups holds 1 twice", .given = "2xf32", ATTRS(GROUPS(2, 1, 1)), SUM),
    ROW(ALL_REDUCE, "2xf32", "!replica_groups holds -2", .given = "2xf32", ATTRS(GROUPS(2, 1, -2)), SUM),
    ROW(ALL_REDUCE, "2xf32", "!3 numbers in rows of 2", .given = "2xf32", ATTRS(GROUPS(2, 1, 2, 3)), SUM),
    ROW(ALL_REDUCE, "2xf32", "!3 numbers in rows of 0", .given = "2xf32", ATTRS(GROUPS(0, 1, 2, 3)), SUM),
    ROW(ALL_REDUCE, "2xf32", "!use_global_device_ids wants a channel above 0", .given = "2xf32", SUM,
        ATTRS(GROUPS(1, 0), BOOL(USE_GLOBAL_DEVICE_IDS, 1))),
    ROW(ALL_REDUCE, "2xf32", "!expected 1 regions, got 0", .given = "2xf32", ATTRS(GROUPS(2, 0, 1))),
    ROW(ALL_REDUCE, "", "!expected at least one operand", .given = "", ATTRS(GROUPS(2, 0, 1)), SUM),
    ROW(ALL_GATHER, "2x3xf32", "2x6xf32", .given = "2x6xf32", ATTRS(GROUPS(2, 0, 1), I64(ALL_GATHER_DIM, 1))),
    ROW(ALL_GATHER, "2x3xf32", "!dim 1: expected 3 * 2 / 1, got 5", .given = "2x5xf32",
        ATTRS(GROUPS(2, 0, 1), I64(ALL_GATHER_DIM, 1))),
    ROW(ALL_GATHER, "2x3xf32", "!all_gather_dim is 2, not in [0, 2)", .given = "2x6xf32",
        ATTRS(GROUPS(2, 0, 1), I64(ALL_GATHER_DIM, 2))),
    ROW(REDUCE_SCATTER, "4xf32", "2xf32", .given = "2xf32", ATTRS(GROUPS(2, 0, 1), I64(SCATTER_DIMENSION, 0)), SUM),
    ROW(REDUCE_SCATTER, "5xf32", "!dim 0: expected 5 * 1 / 2, got 2", .given = "2xf32",
        ATTRS(GROUPS(2, 0, 1), I64(SCATTER_DIMENSION, 0)), SUM),
    ROW(ALL_TO_ALL, "4x3xf32", "2x6xf32", .given = "2x6xf32",
        ATTRS(GROUPS(2, 0, 1), I64(SPLIT_DIMENSION, 0), I64(CONCAT_DIMENSION, 1), I64(SPLIT_COUNT, 2))),
    ROW(ALL_TO_ALL, "4x3xf32", "!split_count is 4, a group has 2 devices", .given = "2x6xf32",
        ATTRS(GROUPS(2, 0, 1), I64(SPLIT_DIMENSION, 0), I64(CONCAT_DIMENSION, 1), I64(SPLIT_COUNT, 4))),
    ROW(ALL_TO_ALL, "5x3xf32", "!dim 5 is no multiple of split_count 2", .given = "2x6xf32",
        ATTRS(GROUPS(2, 0, 1), I64(SPLIT_DIMENSION, 0), I64(CONCAT_DIMENSION, 1), I64(SPLIT_COUNT, 2))),
    ROW(ALL_TO_ALL, "4x3xf32", "!dim 0: expected 4 * 1 / 2, got 4", .given = "4x6xf32",
        ATTRS(GROUPS(2, 0, 1), I64(SPLIT_DIMENSION, 0), I64(CONCAT_DIMENSION, 1), I64(SPLIT_COUNT, 2))),
    ROW(COLLECTIVE_PERMUTE, "4xf32", "4xf32", .given = "4xf32", ATTRS(MATRIX(SOURCE_TARGET_PAIRS, 2, 0, 1, 1, 0))),
    ROW(COLLECTIVE_PERMUTE, "4xf32", "!source_target_pairs holds 1 twice", .given = "4xf32",
        ATTRS(MATRIX(SOURCE_TARGET_PAIRS, 2, 0, 1, 2, 1))),
    ROW(COLLECTIVE_PERMUTE, "4xf32", "!source_target_pairs: expected rows of 2, got 4", .given = "4xf32",
        ATTRS(MATRIX(SOURCE_TARGET_PAIRS, 4, 0, 1, 2, 1))),
};
TEST(hlo_infer, collectives) { CHECK_ROWS(collectives); }

#define ALGORITHM(name) ATTRS(ENUM(RNG_ALGORITHM, TT_HLO_RNG_##name))
static const infer_row rngs[] = {
    ROW(RNG_BIT_GENERATOR, "2xui64", "2xui64 3x4xui32", .given = "2xui64 3x4xui32", ALGORITHM(PHILOX)),
    ROW(RNG_BIT_GENERATOR, "3xui64", "3xui64 4xi8", .given = "3xui64 4xi8", ALGORITHM(PHILOX)),
    ROW(RNG_BIT_GENERATOR, "5xui64", "5xui64 4xi8", .given = "5xui64 4xi8", ALGORITHM(DEFAULT)),
    ROW(RNG_BIT_GENERATOR, "3xui64", "!initial_state: THREE_FRY does not take 3 words", .given = "3xui64 4xi8",
        ALGORITHM(THREE_FRY)),
    ROW(RNG_BIT_GENERATOR, "2xui32", "!initial_state: expected rank 1 of ui64", .given = "2xui32 4xi8",
        ALGORITHM(PHILOX)),
    ROW(RNG_BIT_GENERATOR, "2xui64", "!output_state: expected tensor<2xui64>", .given = "3xui64 4xi8",
        ALGORITHM(PHILOX)),
    ROW(RNG_BIT_GENERATOR, "2xui64", "!output: expected integers or floats", .given = "2xui64 4xi1",
        ALGORITHM(PHILOX)),
};
TEST(hlo_infer, rng_bit_generator) { CHECK_ROWS(rngs); }
