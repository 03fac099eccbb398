#include "infer_table.h"

static const infer_row bitcast[] = {
    ROW(BITCAST_CONVERT, "4x2xf32", "4x2xi32", .given = "4x2xi32"),
    ROW(BITCAST_CONVERT, "4xf32", "4x4xi8", .given = "4x4xi8"),
    ROW(BITCAST_CONVERT, "4x2xi32", "4xf64", .given = "4xf64"),
    ROW(BITCAST_CONVERT, "4x?xi32", "4xf64", .given = "4xf64"),
    ROW(BITCAST_CONVERT, "4xi8", "4x2xi4", .given = "4x2xi4"),
    ROW(BITCAST_CONVERT, "4xf32",
        "!elements of tensor<4xf32> and tensor<4x3xi8> do not have equal bits", .given = "4x3xi8"),
    ROW(BITCAST_CONVERT, "4xf32", "!ranks of tensor<4xf32> and tensor<4xi8> do not fit",
        .given = "4xi8"),
    ROW(BITCAST_CONVERT, "4xf32", "!dim 0 differs", .given = "5xi32"),
    ROW(BITCAST_CONVERT, "4xf64", "!one of tensor<4xf64> and tensor<4xcomplex<f32>> is complex",
        .given = "4xcomplex<f32>"),
};
TEST(hlo_infer, bitcast_convert) { CHECK_ROWS(bitcast); }

static const infer_row broadcast[] = {
    ROW(BROADCAST_IN_DIM, "1x3xf32", "3x2x5xf32", .given = "3x2x5xf32",
        ATTRS(I64S(BROADCAST_DIMENSIONS, 1, 0))),
    ROW(BROADCAST_IN_DIM, "f32", "3xf32", .given = "3xf32", ATTRS(EMPTY(BROADCAST_DIMENSIONS))),
    ROW(BROADCAST_IN_DIM, "f32", "!element types differ", .given = "3xf64",
        ATTRS(EMPTY(BROADCAST_DIMENSIONS))),
    ROW(BROADCAST_IN_DIM, "f32", "!attribute broadcast_dimensions is missing", .given = "3xf32"),
    ROW(BROADCAST_IN_DIM, "2xf32", "!broadcast_dimensions: expected 1 numbers, got 2",
        .given = "2x2xf32", ATTRS(I64S(BROADCAST_DIMENSIONS, 0, 1))),
    ROW(BROADCAST_IN_DIM, "2xf32", "!broadcast_dimensions[0] is 2, not in [0, 2)",
        .given = "2x2xf32", ATTRS(I64S(BROADCAST_DIMENSIONS, 2))),
    ROW(BROADCAST_IN_DIM, "2x2xf32", "!broadcast_dimensions[1] repeats axis 1", .given = "2x2xf32",
        ATTRS(I64S(BROADCAST_DIMENSIONS, 1, 1))),
    ROW(BROADCAST_IN_DIM, "2xf32", "!operand dim 0 is 2, expected 1 or result dim 1, which is 3",
        .given = "2x3xf32", ATTRS(I64S(BROADCAST_DIMENSIONS, 1))),
    ROW(BROADCAST_IN_DIM, "2xf32", "!expected a result with known dims, got tensor<?x2xf32>",
        .given = "?x2xf32", ATTRS(I64S(BROADCAST_DIMENSIONS, 1))),
};
TEST(hlo_infer, broadcast_in_dim) { CHECK_ROWS(broadcast); }

static const infer_row moves[] = {
    ROW(RESHAPE, "2x3xf32", "6xf32", .given = "6xf32"),
    ROW(RESHAPE, "1xf32", "f32", .given = "f32"),
    ROW(RESHAPE, "0x7xf32", "0xf32", .given = "0xf32"),
    ROW(RESHAPE, "2x?xf32", "6xf32", .given = "6xf32"),
    ROW(RESHAPE, "2x3xf32",
        "!element counts differ: operand is tensor<2x3xf32>, result tensor<7xf32>",
        .given = "7xf32"),
    ROW(RESHAPE, "2x3xf32", "!element types differ", .given = "6xi32"),
    ROW(TRANSPOSE, "2x?x4xf32", "4x2x?xf32", ATTRS(I64S(PERMUTATION, 2, 0, 1))),
    ROW(TRANSPOSE, "f32", "f32", ATTRS(EMPTY(PERMUTATION))),
    ROW(TRANSPOSE, "2x3xf32", "!permutation[1] repeats axis 0", ATTRS(I64S(PERMUTATION, 0, 0))),
    ROW(TRANSPOSE, "2x3xf32", "!permutation: expected 2 numbers, got 3",
        ATTRS(I64S(PERMUTATION, 0, 1, 2))),
    ROW(TRANSPOSE, "2x3xf32", "!permutation[0] is -1, less than 0",
        ATTRS(I64S(PERMUTATION, -1, 1))),
    ROW(REVERSE, "2x3xf32", "2x3xf32", ATTRS(I64S(DIMENSIONS, 1))),
    ROW(REVERSE, "2x3xf32", "!dimensions[1] repeats axis 1", ATTRS(I64S(DIMENSIONS, 1, 1))),
    ROW(REVERSE, "2x3xf32", "!dimensions[0] is 2, not in [0, 2)", ATTRS(I64S(DIMENSIONS, 2))),
    ROW(GET_DIMENSION_SIZE, "2x?xf32", "i32", ATTRS(I64(DIMENSION, 1))),
    ROW(GET_DIMENSION_SIZE, "2x?xf32", "!dimension is 2, not in [0, 2)", ATTRS(I64(DIMENSION, 2))),
};
TEST(hlo_infer, moves) { CHECK_ROWS(moves); }

#define SLICE(start, limit, stride) \
  ATTRS(I64S(START_INDICES, start), I64S(LIMIT_INDICES, limit), I64S(STRIDES, stride))
static const infer_row slices[] = {
    ROW(SLICE, "7xf32", "3xf32", SLICE(1, 7, 2)),
    ROW(SLICE, "7xf32", "0xf32", SLICE(7, 7, 9)),
    ROW(SLICE, "?xf32", "6xf32", SLICE(1, 7, 1)),
    ROW(SLICE, "7xf32", "1xf32", SLICE(0, 7, INT64_MAX)),
    ROW(SLICE, "7xf32", "!axis 0: expected 0 <= start <= limit <= 7, got start 1, limit 8",
        SLICE(1, 8, 1)),
    ROW(SLICE, "7xf32", "!got start 5, limit 4", SLICE(5, 4, 1)),
    ROW(SLICE, "7xf32", "!start_indices[0] is -1, less than 0", SLICE(-1, 4, 1)),
    ROW(SLICE, "7xf32", "!strides[0] is 0, less than 1", SLICE(1, 4, 0)),
    ROW(SLICE, "7x1xf32", "!start_indices: expected 2 numbers, got 1", SLICE(1, 4, 1)),
};
TEST(hlo_infer, slice) { CHECK_ROWS(slices); }

#define PAD(low, high, interior)                                    \
  ATTRS(I64S(EDGE_PADDING_LOW, low), I64S(EDGE_PADDING_HIGH, high), \
        I64S(INTERIOR_PADDING, interior))
static const infer_row pads[] = {
    ROW(PAD, "5xf32 f32", "12xf32", PAD(1, 2, 1)),
    ROW(PAD, "5xf32 f32", "2xf32", PAD(-1, -2, 0)),
    ROW(PAD, "0xf32 f32", "3xf32", PAD(1, 2, 4)),
    ROW(PAD, "?xf32 f32", "?xf32", PAD(1, 2, 4)),
    ROW(PAD, "5xf32 f32", "!axis 0: dim 5 with low -6, high 0, interior 0 has no size",
        PAD(-6, 0, 0)),
    ROW(PAD, "5xf32 f32", "!has no size", PAD(1, INT64_MAX, 0)),
    ROW(PAD, "5xf32 f32", "!has no size", PAD(1, 1, INT64_MAX / 2)),
    ROW(PAD, "5xf32 f32", "!result 0: the tensor's size in bytes overflows",
        PAD(1, INT64_MAX / 2, 0)),
    ROW(PAD, "5xf32 f32", "!interior_padding[0] is -1, less than 0", PAD(1, 1, -1)),
    ROW(PAD, "5xf32 f64", "!padding_value: expected a scalar f32, got tensor<f64>", PAD(1, 1, 0)),
    ROW(PAD, "5xf32 1xf32", "!padding_value: expected a scalar f32, got tensor<1xf32>",
        PAD(1, 1, 0)),
    ROW(PAD, "5x5xf32 f32", "!edge_padding_low: expected 2 numbers, got 1", PAD(1, 1, 0)),
};
TEST(hlo_infer, pad) { CHECK_ROWS(pads); }

static const infer_row concats[] = {
    ROW(CONCATENATE, "2x3xf32 2x4xf32 2x0xf32", "2x7xf32", ATTRS(I64(DIMENSION, 1))),
    ROW(CONCATENATE, "?x3xf32 2x4xf32", "2x7xf32", ATTRS(I64(DIMENSION, 1))),
    ROW(CONCATENATE, "2x?xf32 2x4xf32", "2x?xf32", ATTRS(I64(DIMENSION, 1))),
    ROW(CONCATENATE, "2xf32", "2xf32", ATTRS(I64(DIMENSION, 0))),
    ROW(CONCATENATE, "", "!expected at least one operand, got none", ATTRS(I64(DIMENSION, 0))),
    ROW(CONCATENATE, "f32", "!dimension is 0, not in [0, 0)", ATTRS(I64(DIMENSION, 0))),
    ROW(CONCATENATE, "2x3xf32 3x3xf32",
        "!dim 0 differs: operand 0 is tensor<2x3xf32>, operand 1 is", ATTRS(I64(DIMENSION, 1))),
    ROW(CONCATENATE, "2xf32 2xf64", "!operands do not fit", ATTRS(I64(DIMENSION, 0))),
    ROW(CONCATENATE, "2xf32 f32", "!operands do not fit", ATTRS(I64(DIMENSION, 0))),
    ROW(CONCATENATE, "2305843009213693950xi1 6917529027641081900xi1",
        "!dim 0 of the result overflows", ATTRS(I64(DIMENSION, 0))),
};
TEST(hlo_infer, concatenate) { CHECK_ROWS(concats); }

static const float ones[2] = {1, 1};
static const infer_row makers[] = {
    ROW(IOTA, "", "3x4xi32", .given = "3x4xi32", ATTRS(I64(IOTA_DIMENSION, 1))),
    ROW(IOTA, "", "!iota_dimension is 2, not in [0, 2)", .given = "3x4xi32",
        ATTRS(I64(IOTA_DIMENSION, 2))),
    ROW(IOTA, "", "!iota_dimension is 0, not in [0, 0)", .given = "i32",
        ATTRS(I64(IOTA_DIMENSION, 0))),
    ROW(IOTA, "", "!expected an integer, float or complex result", .given = "3xi1",
        ATTRS(I64(IOTA_DIMENSION, 0))),
    ROW(IOTA, "", "!iota_dimension: expected i64, got i32", .given = "3xf32",
        ATTRS(I32(IOTA_DIMENSION, 0))),
    ROW(CONSTANT, "", "2xf32", .given = "2xf32", ATTRS(ATTR(VALUE, DENSE, .data = ones))),
    ROW(CONSTANT, "", "0xf32", .given = "0xf32", ATTRS(ATTR(VALUE, DENSE, .data = NULL))),
    ROW(CONSTANT, "", "!value has no elements", .given = "2xf32",
        ATTRS(ATTR(VALUE, DENSE, .data = NULL))),
    ROW(CONSTANT, "", "!attribute value is missing", .given = "2xf32"),
    ROW(CONSTANT, "", "!known dims", .given = "?xf32", ATTRS(ATTR(VALUE, DENSE, .data = ones))),
};
TEST(hlo_infer, makers) { CHECK_ROWS(makers); }
