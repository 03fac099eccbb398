/* scatter, select_and_scatter, reduce_window. */
#include "kernel_test.h"
#include "test.h"

#define BODY(op, element)                                                       \
  "^bb0(%a: tensor<" element ">, %b: tensor<" element ">):\n%c = stablehlo." op \
  " %a, %b : tensor<" element ">\nstablehlo.return %c : tensor<" element ">\n"

static const kernel_case scatters[] = {
    {"add; indices outside are left out; one twice",
     "%x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>\n"
     "%i = stablehlo.constant dense<[[2], [0], [2], [3], [-1]]> : tensor<5x1xi32>\n"
     "%u = stablehlo.constant dense<[10.0, 20.0, 30.0, 40.0, 50.0]> : tensor<5xf32>\n"
     "%r = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<"
     "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> "
     "({\n" BODY("add",
                 "f32") "}) : (tensor<3xf32>, tensor<5x1xi32>, tensor<5xf32>) -> tensor<3xf32>\n"
                        "return %r : tensor<3xf32>",
     "tensor<3xf32>", "21 2 43", 0},
    {"rows overwritten; a window partly outside is cut",
     "%x = stablehlo.constant dense<0> : tensor<2x3xi64>\n"
     "%i = stablehlo.constant dense<[[0, 1], [1, -1]]> : tensor<2x2xi64>\n"
     "%u = stablehlo.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi64>\n"
     "%r = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<"
     "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> "
     "({\n^bb0(%a: tensor<i64>, %b: tensor<i64>):\nstablehlo.return %b : tensor<i64>\n"
     "}) : (tensor<2x3xi64>, tensor<2x2xi64>, tensor<2x1x3xi64>) -> tensor<2x3xi64>\n"
     "return %r : tensor<2x3xi64>",
     "tensor<2x3xi64>", "0 1 2 5 6 0", 0},
    {"batching axes",
     "%x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>\n"
     "%i = stablehlo.constant dense<[[[1]], [[0]]]> : tensor<2x1x1xi32>\n"
     "%u = stablehlo.constant dense<[[7], [9]]> : tensor<2x1xi32>\n"
     "%r = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<"
     "inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], "
     "scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({\n" BODY(
         "maximum",
         "i32") "}) : (tensor<2x2xi32>, tensor<2x1x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>\n"
                "return %r : tensor<2x2xi32>",
     "tensor<2x2xi32>", "1 7 9 4", 0},
    {"two operands, a region that is run",
     "%x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
     "%y = stablehlo.constant dense<[5, 6]> : tensor<2xi32>\n"
     "%i = stablehlo.constant dense<[[1], [1]]> : tensor<2x1xi32>\n"
     "%u = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>\n"
     "%v = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
     "%r:2 = \"stablehlo.scatter\"(%x, %y, %i, %u, %v) <{scatter_dimension_numbers = "
     "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
     "index_vector_dim = 1>}> ({\n"
     "^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):\n"
     "%e = stablehlo.subtract %c, %a : tensor<f32>\n%f = stablehlo.multiply %b, %d : tensor<i32>\n"
     "stablehlo.return %e, %f : tensor<f32>, tensor<i32>\n"
     "}) : (tensor<2xf32>, tensor<2xi32>, tensor<2x1xi32>, tensor<2xf32>, tensor<2xi32>) -> "
     "(tensor<2xf32>, tensor<2xi32>)\nreturn %r#0, %r#1 : tensor<2xf32>, tensor<2xi32>",
     "(tensor<2xf32>, tensor<2xi32>)", "1 3 5 12", 0},
};

TEST(cpu_kernel_scatter, scatters) {
  kernel_expect(scatters, (int)(sizeof scatters / sizeof *scatters));
}

static const kernel_case selects[] = {
    {"the first of equals; padding is never picked",
     "%x = stablehlo.constant dense<[-5.0, -1.0, -1.0, -7.0]> : tensor<4xf32>\n"
     "%s = stablehlo.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>\n"
     "%z = stablehlo.constant dense<0.5> : tensor<f32>\n"
     "%r = \"stablehlo.select_and_scatter\"(%x, %s, %z) <{window_dimensions = array<i64: 2>, "
     "window_strides = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({\n"
     "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
     "%c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
     "stablehlo.return %c : tensor<i1>\n}, {\n" BODY(
         "add", "f32") "}) : (tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>\nreturn "
                       "%r : tensor<4xf32>",
     "tensor<4xf32>", "10.5 20.5 0.5 30.5", 0},
    {"of integers, with a region that is run",
     "%x = stablehlo.constant dense<[3, 1, 2]> : tensor<3xi32>\n"
     "%s = stablehlo.constant dense<[10, 20]> : tensor<2xi32>\n"
     "%z = stablehlo.constant dense<1> : tensor<i32>\n"
     "%r = \"stablehlo.select_and_scatter\"(%x, %s, %z) <{window_dimensions = array<i64: 2>}> ({\n"
     "^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
     "%c = stablehlo.compare LE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "stablehlo.return %c : tensor<i1>\n}, {\n" BODY(
         "subtract", "i32") "}) : (tensor<3xi32>, tensor<2xi32>, tensor<i32>) -> "
                            "tensor<3xi32>\nreturn %r : tensor<3xi32>",
     "tensor<3xi32>", "1 -29 1", 0},
};

TEST(cpu_kernel_scatter, select_and_scatter) {
  kernel_expect(selects, (int)(sizeof selects / sizeof *selects));
}

#define WINDOW(name, attrs, init, op, to, expected)                            \
  {name,                                                                       \
   "%x = stablehlo.constant dense<[1.0, -2.0, 3.0, 4.0]> : tensor<4xf32>\n"    \
   "%z = stablehlo.constant dense<" init                                       \
   "> : tensor<f32>\n"                                                         \
   "%r = \"stablehlo.reduce_window\"(%x, %z) <{" attrs                         \
   "}> ({\n" BODY(op, "f32") "}) : (tensor<4xf32>, tensor<f32>) -> tensor<" to \
                             "xf32>\nreturn %r : tensor<" to "xf32>",          \
   "tensor<" to "xf32>", expected, 1e-6}

static const kernel_case windows[] = {
    WINDOW("sums", "window_dimensions = array<i64: 2>", "0.0", "add", "3", "-1 1 7"),
    WINDOW("strides, dilations, padding",
           "window_dimensions = array<i64: 2>, window_strides = array<i64: 3>, base_dilations = "
           "array<i64: 2>, window_dilations = array<i64: 2>, padding = dense<[[1, 2]]> : "
           "tensor<1x2xi64>",
           "0.0", "add", "3", "0 1 0"),
    WINDOW("running from the left",
           "window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> "
           ": tensor<1x2xi64>",
           "0.0", "add", "4", "1 -1 2 6"),
    WINDOW("running from the right",
           "window_dimensions = array<i64: 4>, padding = dense<[[0, 3]]> "
           ": tensor<1x2xi64>",
           "0xFF800000", "maximum", "4", "4 4 4 4"),
    WINDOW("the initial value counts", "window_dimensions = array<i64: 4>", "2.0", "multiply", "1",
           "-48"),
    WINDOW("windows of nothing but padding",
           "window_dimensions = array<i64: 1>, padding = "
           "dense<[[1, 1]]> : tensor<1x2xi64>",
           "0x7F800000", "minimum", "6", "inf 1 -2 3 4 inf"),
    WINDOW("a region that is run", "window_dimensions = array<i64: 2>", "0.0", "subtract", "3",
           "1 -1 -7"),
    WINDOW("one that is run along",
           "window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> "
           ": tensor<1x2xi64>",
           "0.0", "subtract", "4", "-1 1 -2 -6"),
    {"two axes of integers, with places",
     "%x = stablehlo.constant dense<[[1, 9], [7, 3]]> : tensor<2x2xi32>\n"
     "%i = stablehlo.iota dim = 1 : tensor<2x2xi64>\n"
     "%z = stablehlo.constant dense<-100> : tensor<i32>\n"
     "%w = stablehlo.constant dense<-1> : tensor<i64>\n"
     "%r:2 = \"stablehlo.reduce_window\"(%x, %i, %z, %w) <{window_dimensions = array<i64: 1, 2>}> "
     "({\n^bb0(%a: tensor<i32>, %b: tensor<i64>, %c: tensor<i32>, %d: tensor<i64>):\n"
     "%1 = stablehlo.compare GE, %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "%2 = stablehlo.select %1, %a, %c : tensor<i1>, tensor<i32>\n"
     "%3 = stablehlo.select %1, %b, %d : tensor<i1>, tensor<i64>\n"
     "stablehlo.return %2, %3 : tensor<i32>, tensor<i64>\n"
     "}) : (tensor<2x2xi32>, tensor<2x2xi64>, tensor<i32>, tensor<i64>) -> (tensor<2x1xi32>, "
     "tensor<2x1xi64>)\nreturn %r#0, %r#1 : tensor<2x1xi32>, tensor<2x1xi64>",
     "(tensor<2x1xi32>, tensor<2x1xi64>)", "9 7 1 0", 0},
};

TEST(cpu_kernel_scatter, reduce_window) {
  kernel_expect(windows, (int)(sizeof windows / sizeof *windows));
}
