/* convolution, matrix factors, fft, ops with sizes as operands, collectives of one device. */
#include "kernel_test.h"
#include "test.h"

/* Inputs count up from 0. `in` and `kernel` are dims; attributes as in the generic form. */
#define CONV(name, in, kernel, out, element, dims, attrs, expected)                               \
  {name,                                                                                          \
   "%i = stablehlo.iota dim = 0 : tensor<" in "x" element                                         \
   ">\n%x = stablehlo.reshape %i : "                                                              \
   "(tensor<" in "x" element ">) -> tensor<1x1x" in "x" element                                   \
   ">\n"                                                                                          \
   "%k = stablehlo.constant dense<" kernel "x" element                                            \
   ">\n"                                                                                          \
   "%r = \"stablehlo.convolution\"(%x, %k) <{batch_group_count = 1 : i64, feature_group_count = " \
   "1 : i64, dimension_numbers = #stablehlo.conv<" dims ">" attrs "}> : (tensor<1x1x" in          \
   "x" element ">, tensor<1x1x2x" element ">) -> tensor<1x1x" out "x" element                     \
   ">\n"                                                                                          \
   "return %r : tensor<1x1x" out "x" element ">",                                                 \
   "tensor<1x1x" out "x" element ">", expected, 1e-6}
#define NCH "[b, f, 0]x[o, i, 0]->[b, f, 0]"

static const kernel_case convolutions[] = {
    CONV("plain", "4", "[[[1.0, 10.0]]]> : tensor<1x1x2", "3", "f32", NCH, "", "10 21 32"),
    CONV("reversed", "4", "[[[1.0, 10.0]]]> : tensor<1x1x2", "3", "f32", NCH,
         ", window_reversal = array<i1: true>", "1 12 23"),
    CONV("stride and padding", "4", "[[[1.0, 10.0]]]> : tensor<1x1x2", "3", "f64", NCH,
         ", window_strides = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>", "0 21 3"),
    CONV("padding below 0, dilations", "4", "[[[1.0, 10.0]]]> : tensor<1x1x2", "4", "bf16", NCH,
         ", padding = dense<[[-1, 0]]> : tensor<1x2xi64>, lhs_dilation = array<i64: 2>, "
         "rhs_dilation = array<i64: 2>",
         "0 21 0 32"),
    CONV("integers", "4", "[[[1, -1]]]> : tensor<1x1x2", "3", "i8", NCH, "", "-1 -1 -1"),
    CONV("complex", "3", "[[[(0.0, 1.0), (1.0, 0.0)]]]> : tensor<1x1x2", "2", "complex<f32>", NCH,
         "", "1 0 2 1"),
};

TEST(cpu_kernel_solve, convolution) {
  kernel_expect(convolutions, (int)(sizeof convolutions / sizeof *convolutions));
}

static const kernel_case grouped[] = {
    {"feature groups, features last",
     "%x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>\n"
     "%k = stablehlo.constant dense<[[[10.0, 100.0]]]> : tensor<1x1x2xf32>\n"
     "%r = \"stablehlo.convolution\"(%x, %k) <{batch_group_count = 1 : i64, feature_group_count = "
     "2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>}> : "
     "(tensor<1x2x2xf32>, tensor<1x1x2xf32>) -> tensor<1x2x2xf32>\nreturn %r : tensor<1x2x2xf32>",
     "tensor<1x2x2xf32>", "10 200 30 400", 0},
    {"batch groups",
     "%x = stablehlo.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>\n"
     "%k = stablehlo.constant dense<[[[10.0]], [[100.0]]]> : tensor<2x1x1xf32>\n"
     "%r = \"stablehlo.convolution\"(%x, %k) <{batch_group_count = 2 : i64, feature_group_count = "
     "1 : i64, dimension_numbers = #stablehlo.conv<" NCH ">}> : (tensor<2x1x1xf32>, "
     "tensor<2x1x1xf32>) -> tensor<1x2x1xf32>\nreturn %r : tensor<1x2x1xf32>",
     "tensor<1x2x1xf32>", "10 200", 0},
};

TEST(cpu_kernel_solve, grouped_convolution) {
  kernel_expect(grouped, (int)(sizeof grouped / sizeof *grouped));
}

static const kernel_case factors[] = {
    {"cholesky",
     "%a = stablehlo.constant dense<[[4.0, 99.0], [2.0, 10.0]]> : tensor<2x2xf32>\n"
     "%r = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>\nreturn %r : tensor<2x2xf32>",
     "tensor<2x2xf32>", "2 0 1 3", 1e-6},
    {"upper, complex",
     "%a = stablehlo.constant dense<[[(4.0, 0.0), (0.0, 2.0)], [(9.0, 9.0), "
     "(10.0, 0.0)]]> : tensor<2x2xcomplex<f64>>\n"
     "%r = stablehlo.cholesky %a, lower = false : tensor<2x2xcomplex<f64>>\n"
     "return %r : tensor<2x2xcomplex<f64>>",
     "tensor<2x2xcomplex<f64>>", "2 0 0 1 0 0 3 0", 1e-12},
    {"not positive definite",
     "%a = stablehlo.constant dense<[[[1.0]], [[-1.0]]]> : "
     "tensor<2x1x1xf64>\n%r = stablehlo.cholesky %a, lower = true : tensor<2x1x1xf64>\n"
     "return %r : tensor<2x1x1xf64>",
     "tensor<2x1x1xf64>", "1 nan", 0},
    {"triangular_solve",
     "%a = stablehlo.constant dense<[[2.0, 99.0], [1.0, 4.0]]> : "
     "tensor<2x2xf32>\n%b = stablehlo.constant dense<[[2.0], [9.0]]> : tensor<2x1xf32>\n"
     "%r = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = true, lower = true, unit_diagonal "
     "= "
     "false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2xf32>, "
     "tensor<2x1xf32>) -> tensor<2x1xf32>\nreturn %r : tensor<2x1xf32>",
     "tensor<2x1xf32>", "1 2", 1e-6},
    {"from the right, transposed, unit",
     "%a = stablehlo.constant dense<[[7.0, 3.0], [99.0, 7.0]]> "
     ": tensor<2x2xf64>\n%b = stablehlo.constant dense<[[7.0, 2.0]]> : tensor<1x2xf64>\n"
     "%r = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = false, lower = false, "
     "unit_diagonal "
     "= true, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<2x2xf64>, tensor<1x2xf64>) "
     "-> tensor<1x2xf64>\nreturn %r : tensor<1x2xf64>",
     "tensor<1x2xf64>", "1 2", 1e-12},
    {"Qr",
     "%a = stablehlo.constant dense<[[3.0, 1.0], [4.0, 2.0]]> : tensor<2x2xf64>\n"
     "%r:2 = stablehlo.custom_call @Qr(%a) : (tensor<2x2xf64>) -> (tensor<2x2xf64>, "
     "tensor<2xf64>)\n%q = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%r#0, "
     "%r#1) : (tensor<2x2xf64>, tensor<2xf64>) -> tensor<2x2xf64>\n"
     "return %r#0, %r#1, %q : tensor<2x2xf64>, tensor<2xf64>, tensor<2x2xf64>",
     "(tensor<2x2xf64>, tensor<2xf64>, tensor<2x2xf64>)",
     "-5 -2.2 0.5 0.4 1.6 0 -0.6 -0.8 -0.8 0.6", 1e-12},
    {"Eigh",
     "%a = stablehlo.constant dense<[[2.0, 99.0], [1.0, 2.0]]> : tensor<2x2xf64>\n"
     "%r:2 = stablehlo.custom_call @Eigh(%a) {backend_config = \"1,1,100,1e-6\"} : "
     "(tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2xf64>)\n%s = stablehlo.multiply %r#0, %r#0 : "
     "tensor<2x2xf64>\nreturn %s, %r#1 : tensor<2x2xf64>, tensor<2xf64>",
     "(tensor<2x2xf64>, tensor<2xf64>)", "0.5 0.5 0.5 0.5 1 3", 1e-12},
};

TEST(cpu_kernel_solve, factors) { kernel_expect(factors, (int)(sizeof factors / sizeof *factors)); }

#define FFT(name, x, from, type, length, to, expected)                                            \
  {name,                                                                                          \
   "%x = stablehlo.constant dense<" x "> : tensor<" from ">\n%r = stablehlo.fft %x, type = " type \
   ", length = [" length "] : (tensor<" from ">) -> tensor<" to ">\nreturn %r : tensor<" to ">",  \
   "tensor<" to ">", expected, 1e-6}

static const kernel_case transforms[] = {
    FFT("one", "[(3.0, 1.0)]", "1xcomplex<f32>", "FFT", "1", "1xcomplex<f32>", "3 1"),
    FFT("four", "[(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]", "4xcomplex<f32>", "FFT", "4",
        "4xcomplex<f32>", "6 0 -2 2 -2 0 -2 -2"),
    FFT("three, back", "[(3.0, 0.0), (-1.5, 0.8660254037844386), (-1.5, -0.8660254037844386)]",
        "3xcomplex<f64>", "IFFT", "3", "3xcomplex<f64>", "0 0 1 0 2 0"),
    FFT("real, five", "[1.0, 0.0, 0.0, 0.0, 0.0]", "5xf32", "RFFT", "5", "3xcomplex<f32>",
        "1 0 1 0 1 0"),
    FFT("real, two axes", "[[1.0, 2.0], [3.0, 5.0]]", "2x2xf32", "RFFT", "2, 2", "2x2xcomplex<f32>",
        "11 0 -3 0 -5 0 1 0"),
    FFT("and back", "[[(11.0, 0.0), (-3.0, 0.0)], [(-5.0, 0.0), (1.0, 0.0)]]", "2x2xcomplex<f32>",
        "IRFFT", "2, 2", "2x2xf32", "1 2 3 5"),
};

TEST(cpu_kernel_solve, fft) {
  kernel_expect(transforms, (int)(sizeof transforms / sizeof *transforms));
}

static const kernel_case known[] = {
    {"broadcast, reshape, iota",
     "%x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
     "%d = stablehlo.constant dense<[2, 2]> : tensor<2xi64>\n"
     "%1 = \"stablehlo.dynamic_broadcast_in_dim\"(%x, %d) <{broadcast_dimensions = array<i64: 1>}> "
     ": (tensor<2xi32>, tensor<2xi64>) -> tensor<2x2xi32>\n"
     "%e = stablehlo.constant dense<4> : tensor<1xi64>\n"
     "%2 = stablehlo.dynamic_reshape %1, %e : (tensor<2x2xi32>, tensor<1xi64>) -> tensor<4xi32>\n"
     "%3 = \"stablehlo.dynamic_iota\"(%e) <{iota_dimension = 0 : i64}> : (tensor<1xi64>) -> "
     "tensor<4xi32>\nreturn %2, %3 : tensor<4xi32>, tensor<4xi32>",
     "(tensor<4xi32>, tensor<4xi32>)", "1 2 1 2 0 1 2 3", 0},
    {"pad",
     "%x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>\n"
     "%z = stablehlo.constant dense<9> : tensor<i32>\n"
     "%l = stablehlo.constant dense<-1> : tensor<1xi64>\n"
     "%h = stablehlo.constant dense<2> : tensor<1xi64>\n%i = stablehlo.constant dense<1> : "
     "tensor<1xi64>\n%r = stablehlo.dynamic_pad %x, %z, %l, %h, %i : (tensor<3xi32>, tensor<i32>, "
     "tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<6xi32>\nreturn %r : tensor<6xi32>",
     "tensor<6xi32>", "9 2 9 3 9 9", 0},
    {"all_reduce of one",
     "%x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
     "%r = \"stablehlo.all_reduce\"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({\n"
     "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.add %a, %b : tensor<f32>\n"
     "stablehlo.return %c : tensor<f32>\n}) : (tensor<2xf32>) -> tensor<2xf32>\n"
     "%s = \"stablehlo.collective_permute\"(%r) <{source_target_pairs = dense<0> : "
     "tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>\nreturn %s : tensor<2xf32>",
     "tensor<2xf32>", "1 2", 0},
};

TEST(cpu_kernel_solve, known_sizes) { kernel_expect(known, (int)(sizeof known / sizeof *known)); }

TEST(cpu_kernel_solve, refuses) {
  static const kernel_case refused[] = {
      {"target",
       "%x = stablehlo.constant dense<1.0> : tensor<f32>\n%r = stablehlo.custom_call "
       "@nobody(%x) : (tensor<f32>) -> tensor<f32>\nreturn %r : tensor<f32>",
       "tensor<f32>", "", 0},
      {"shape",
       "%x = stablehlo.constant dense<1.0> : tensor<2x2xf32>\n%r:2 = "
       "stablehlo.custom_call @Qr(%x) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<9xf32>)\n"
       "return %r#0 : tensor<2x2xf32>",
       "tensor<2x2xf32>", "", 0},
      {"sizes",
       "%p = stablehlo.partition_id : tensor<ui32>\n%e = stablehlo.reshape %p : (tensor<ui32>) -> "
       "tensor<1xui32>\n%r = \"stablehlo.dynamic_iota\"(%e) <{iota_dimension = 0 : i64}> : "
       "(tensor<1xui32>) -> "
       "tensor<?xi32>\nreturn %r : tensor<?xi32>",
       "tensor<?xi32>", "", 0},
  };
  kernel_expect_refused(&refused[0], "custom_call @nobody");
  kernel_expect_refused(&refused[1], "@Qr is not implemented for these types");
  kernel_expect_refused(&refused[2], "only the run knows");
}
