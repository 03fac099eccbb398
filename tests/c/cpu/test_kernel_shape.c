/* Ops that place elements; gather; iota. */
#include "test.h"
#include "test_kernel_case.h"

#define X23 "%x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>\n"
#define X5                                                                                   \
  "%x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>\n%z = stablehlo.constant " \
  "dense<0> : tensor<i32>\n"
#define PAD(low, high, interior, size)                                                        \
  X5 "%got = stablehlo.pad %x, %z, low = [" low "], high = [" high "], interior = [" interior \
     "] : (tensor<5xi32>, tensor<i32>) -> tensor<" size "xi32>"

static const kernel_case moves[] = {
    {"tensor<3x2xi32>",
     X23 "%got = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>",
     "[[1, 4], [2, 5], [3, 6]]", 0},
    {"tensor<2x2xi32>",
     X23 "%got = stablehlo.slice %x [0:2, 0:3:2] : (tensor<2x3xi32>) -> "
         "tensor<2x2xi32>",
     "[[1, 3], [4, 6]]", 0},
    {"tensor<2x0xi32>",
     X23 "%got = stablehlo.slice %x [0:2, 3:3] : (tensor<2x3xi32>) -> "
         "tensor<2x0xi32>",
     "", 0},
    {"tensor<2x3xi32>", X23 "%got = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xi32>",
     "[[6, 5, 4], [3, 2, 1]]", 0},
    {"tensor<2x6xi32>",
     X23 "%got = stablehlo.concatenate %x, %x, dim = 1 : (tensor<2x3xi32>, tensor<2x3xi32>) -> "
         "tensor<2x6xi32>",
     "[[1, 2, 3, 1, 2, 3], [4, 5, 6, 4, 5, 6]]", 0},
    {"tensor<3x2x2xi32>",
     "%x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n%got = stablehlo.broadcast_in_dim %x, "
     "dims = [1] : (tensor<2xi32>) -> tensor<3x2x2xi32>",
     "[[[1, 1], [2, 2]], [[1, 1], [2, 2]], [[1, 1], [2, 2]]]", 0},
    {"tensor<3x2xi32>",
     X23 "%got = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<2x3xi32>) -> "
         "tensor<3x2xi32>",
     "[[1, 4], [2, 5], [3, 6]]", 0},
    {"tensor<2x2xi8>", "%got = stablehlo.iota dim = 0 : tensor<2x2xi8>", "[[0, 0], [1, 1]]", 0},
    {"tensor<12xi32>", PAD("1", "2", "1", "12"), "[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0]", 0},
    {"tensor<2xi32>", PAD("-1", "-2", "0", "2"), "[2, 3]", 0},
    {"tensor<5xi32>", PAD("-3", "-1", "1", "5"), "[0, 3, 0, 4, 0]", 0},
    {"tensor<2xi32>", PAD("-12", "5", "1", "2"), "[0, 0]", 0},
};
TEST(cpu_kernel, moves) { CHECK_CASES(moves); }

#define AT(start) X5 "%i = stablehlo.constant dense<" start "> : tensor<i64>\n"
#define TAKE(start)                                                       \
  AT(start)                                                               \
  "%got = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<5xi32>, " \
  "tensor<i64>) -> tensor<2xi32>"
#define PUT(start)                                                              \
  AT(start)                                                                     \
  "%u = stablehlo.constant dense<9> : tensor<2xi32>\n%got = "                   \
  "stablehlo.dynamic_update_slice %x, %u, %i : (tensor<5xi32>, tensor<2xi32>, " \
  "tensor<i64>) -> tensor<5xi32>"
static const kernel_case places[] = {
    {"tensor<2xi32>", TAKE("1"), "[2, 3]", 0},
    {"tensor<2xi32>", TAKE("-9"), "[1, 2]", 0},
    {"tensor<2xi32>", TAKE("9223372036854775807"), "[4, 5]", 0},
    {"tensor<5xi32>", PUT("1"), "[1, 9, 9, 4, 5]", 0},
    {"tensor<5xi32>", PUT("-1"), "[9, 9, 3, 4, 5]", 0},
    {"tensor<5xi32>", PUT("7"), "[1, 2, 3, 9, 9]", 0},
    /* Rows 1, 0 and 2, which is moved inside. */
    {"tensor<3x3xi32>",
     X23 "%i = stablehlo.constant dense<[[1], [0], [2]]> : tensor<3x1xi32>\n"
         "%got = \"stablehlo.gather\"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = "
         "[1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
         "slice_sizes = array<i64: 1, 3>} : (tensor<2x3xi32>, tensor<3x1xi32>) -> tensor<3x3xi32>",
     "[[4, 5, 6], [1, 2, 3], [4, 5, 6]]", 0},
    /* A batching axis: each row has its own index. */
    {"tensor<2x2xi32>",
     X23 "%i = stablehlo.constant dense<[[1], [0]]> : tensor<2x1xi32>\n"
         "%got = \"stablehlo.gather\"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = "
         "[1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = "
         "[1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>} : (tensor<2x3xi32>, "
         "tensor<2x1xi32>) -> tensor<2x2xi32>",
     "[[2, 3], [4, 5]]", 0},
};
TEST(cpu_kernel, places) { CHECK_CASES(places); }
