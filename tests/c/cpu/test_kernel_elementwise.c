/* Elementwise ops at the edges of their types. Wanted values are those of the specification, IEEE
 * 754, and ml_dtypes. */
#include "test.h"
#include "test_kernel_case.h"

#define CONST(name, type, value) "%" name " = stablehlo.constant dense<" value "> : " type "\n"
#define UNARY(op, type, x, want) \
  {type, CONST("x", type, x) "%got = \"" op "\"(%x) : (" type ") -> " type, want, 0}
#define BINARY(op, type, x, y, want)                                                      \
  {type,                                                                                  \
   CONST("x", type, x) CONST("y", type, y) "%got = \"" op "\"(%x, %y) : (" type ", " type \
                                           ") -> " type,                                  \
   want, 0}
#define CONVERT(from, to, x, want) \
  {to, CONST("x", from, x) "%got = stablehlo.convert %x : (" from ") -> " to, want, 0}

#define S8 "tensor<6xi8>"
#define S32 "tensor<6xi32>"
#define U8 "tensor<4xui8>"
#define F5 "tensor<5xf32>"
#define NAN_F32 "0x7FC00000"
#define INF_F32 "0x7F800000"
#define MINUS_INF "0xFF800000"

static const kernel_case integers[] = {
    BINARY("stablehlo.divide", S32, "[7, -7, 7, 5, -2147483648, 0]", "[2, 2, -2, 0, -1, 0]",
           "[3, -3, -3, -1, -2147483648, -1]"),
    BINARY("stablehlo.remainder", S32, "[7, -7, 7, 5, -2147483648, 0]", "[2, 2, -2, 0, -1, 0]",
           "[1, -1, 1, 5, 0, 0]"),
    BINARY("stablehlo.divide", U8, "[255, 7, 0, 9]", "[2, 0, 0, 255]", "[127, 255, 255, 0]"),
    BINARY("stablehlo.add", S8, "[127, -128, 1, 2, 3, 4]", "[1, -1, 1, 1, 1, 1]",
           "[-128, 127, 2, 3, 4, 5]"),
    BINARY("stablehlo.multiply", S8, "[127, -128, 64, 2, 3, 4]", "[127, -1, 4, 1, 1, 1]",
           "[1, -128, 0, 2, 3, 4]"),
    BINARY("stablehlo.power", S8, "[2, -1, 3, 0, 2, 5]", "[7, -3, -1, 0, 8, 3]",
           "[-128, -1, 0, 1, 0, 125]"),
    BINARY("stablehlo.shift_left", S8, "[1, 1, 1, 1, -1, 3]", "[0, 7, 8, -1, 4, 1]",
           "[1, -128, 0, 0, -16, 6]"),
    BINARY("stablehlo.shift_right_arithmetic", S8, "[-8, -8, 8, -1, 127, -128]",
           "[1, 9, 9, -1, 6, 7]", "[-4, -1, 0, -1, 1, -1]"),
    BINARY("stablehlo.shift_right_logical", S8, "[-8, -8, 8, -1, 127, -128]", "[1, 9, 3, -1, 6, 7]",
           "[124, 0, 1, 0, 1, 1]"),
    UNARY("stablehlo.abs", S8, "[-128, -127, -1, 0, 1, 127]", "[-128, 127, 1, 0, 1, 127]"),
    UNARY("stablehlo.sign", S8, "[-128, -127, -1, 0, 1, 127]", "[-1, -1, -1, 0, 1, 1]"),
    UNARY("stablehlo.popcnt", S8, "[-128, -1, 0, 1, 85, 127]", "[1, 8, 0, 1, 4, 7]"),
    UNARY("stablehlo.count_leading_zeros", S8, "[-128, -1, 0, 1, 85, 127]", "[0, 0, 8, 7, 1, 1]"),
    UNARY("stablehlo.not", "tensor<2xi1>", "[true, false]", "[false, true]"),
    BINARY("stablehlo.add", "tensor<4xi1>", "[true, true, false, false]",
           "[true, false, true, false]", "[true, true, true, false]"),
    BINARY("stablehlo.add", "tensor<4xi2>", "[1, 0, -1, -2]", "[-1, 1, 1, 1]", "[0, 1, 0, -1]"),
    BINARY("stablehlo.add", "tensor<2xui2>", "[3, 2]", "[1, 1]", "[0, 3]"),
    BINARY("stablehlo.multiply", "tensor<4xi2>", "[-2, -1, 1, -2]", "[-2, -1, -2, 1]",
           "[0, 1, -2, -2]"),
    BINARY("stablehlo.divide", "tensor<4xui2>", "[3, 2, 1, 0]", "[0, 2, 3, 1]", "[3, 1, 0, 0]"),
    BINARY("stablehlo.maximum", "tensor<2xi2>", "[-2, -1]", "[1, -2]", "[1, -1]"),
    BINARY("stablehlo.shift_left", "tensor<4xi2>", "[1, 1, 1, -1]", "[0, 1, -2, 1]",
           "[1, -2, 0, -2]"),
    BINARY("stablehlo.shift_right_arithmetic", "tensor<4xi2>", "[-2, -2, 1, -1]", "[1, -1, 1, 0]",
           "[-1, -1, 0, -1]"),
    BINARY("stablehlo.shift_right_arithmetic", "tensor<4xui2>", "[2, 2, 1, 3]", "[1, 3, 1, 0]",
           "[3, 3, 0, 3]"),
    BINARY("stablehlo.shift_right_logical", "tensor<4xi2>", "[-2, -2, 1, -1]", "[1, -1, 0, 1]",
           "[1, 0, 1, 1]"),
    UNARY("stablehlo.popcnt", "tensor<4xui2>", "[0, 1, 2, 3]", "[0, 1, 1, 2]"),
    UNARY("stablehlo.count_leading_zeros", "tensor<4xi2>", "[0, 1, -2, -1]", "[-2, 1, 0, 0]"),
    UNARY("stablehlo.not", "tensor<4xi2>", "[0, 1, -2, -1]", "[-1, -2, 1, 0]"),
    BINARY("stablehlo.multiply", "tensor<4xi4>", "[7, -8, 3, 2]", "[2, -1, 5, 2]",
           "[-2, -8, -1, 4]"),
    BINARY("stablehlo.add", "tensor<0xi32>", "", "", ""),
};
TEST(cpu_kernel, integers) { CHECK_CASES(integers); }

static const kernel_case floats[] = {
    BINARY("stablehlo.maximum", F5, "[" NAN_F32 ", 1.0, -0.0, 0.0, " MINUS_INF "]",
           "[1.0, " NAN_F32 ", 0.0, -0.0, 2.0]", "[" NAN_F32 ", " NAN_F32 ", 0.0, 0.0, 2.0]"),
    BINARY("stablehlo.minimum", F5, "[" NAN_F32 ", 1.0, -0.0, 0.0, " INF_F32 "]",
           "[1.0, " NAN_F32 ", 0.0, -0.0, 2.0]", "[" NAN_F32 ", " NAN_F32 ", -0.0, -0.0, 2.0]"),
    BINARY("stablehlo.remainder", F5, "[5.5, -5.5, 5.5, 1.0, " INF_F32 "]",
           "[2.0, 2.0, -2.0, 0.0, 1.0]", "[1.5, -1.5, 1.5, " NAN_F32 ", " NAN_F32 "]"),
    BINARY("stablehlo.power", F5, "[0.0, -2.0, -2.0, " NAN_F32 ", 1.0]",
           "[0.0, 3.0, 0.5, 0.0, " NAN_F32 "]", "[1.0, -8.0, " NAN_F32 ", 1.0, 1.0]"),
    UNARY("stablehlo.round_nearest_even", F5, "[2.5, 3.5, -0.5, -2.5, 0.49999997]",
          "[2.0, 4.0, -0.0, -2.0, 0.0]"),
    UNARY("stablehlo.round_nearest_afz", F5, "[2.5, 3.5, -0.5, -2.5, 0.49999997]",
          "[3.0, 4.0, -1.0, -3.0, 0.0]"),
    UNARY("stablehlo.sign", F5, "[-0.0, 0.0, -3.0, " NAN_F32 ", " INF_F32 "]",
          "[-0.0, 0.0, -1.0, " NAN_F32 ", 1.0]"),
    UNARY("stablehlo.tanh", F5, "[-0.0, 0.0, " MINUS_INF ", " NAN_F32 ", " INF_F32 "]",
          "[-0.0, 0.0, -1.0, " NAN_F32 ", 1.0]"),
    UNARY("stablehlo.exponential", F5, "[-0.0, 100.0, " MINUS_INF ", " NAN_F32 ", " INF_F32 "]",
          "[1.0, " INF_F32 ", 0.0, " NAN_F32 ", " INF_F32 "]"),
    UNARY("stablehlo.log", F5, "[-0.0, 1.0, -1.0, " NAN_F32 ", " INF_F32 "]",
          "[" MINUS_INF ", 0.0, " NAN_F32 ", " NAN_F32 ", " INF_F32 "]"),
    UNARY("stablehlo.log_plus_one", F5, "[-0.0, -1.0, -2.0, " NAN_F32 ", " INF_F32 "]",
          "[-0.0, " MINUS_INF ", " NAN_F32 ", " NAN_F32 ", " INF_F32 "]"),
    UNARY("stablehlo.exponential_minus_one", F5,
          "[-0.0, 100.0, " MINUS_INF ", " NAN_F32 ", " INF_F32 "]",
          "[-0.0, " INF_F32 ", -1.0, " NAN_F32 ", " INF_F32 "]"),
    UNARY("stablehlo.cbrt", "tensor<5xf64>",
          "[6.0260708825576081, -7.40764201866428, 4.9406564584124654e-324, -0.0, "
          "0x7FF0000000000000]",
          "[1.8197486754516248, -1.9493657388156058, 1.7031839360032603e-108, -0.0, "
          "0x7FF0000000000000]"),
    UNARY("stablehlo.rsqrt", F5, "[0.0, -0.0, 4.0, -1.0, " INF_F32 "]",
          "[" INF_F32 ", " MINUS_INF ", 0.5, " NAN_F32 ", 0.0]"),
    UNARY("stablehlo.logistic", F5, "[0.0, 200.0, " MINUS_INF ", " NAN_F32 ", " INF_F32 "]",
          "[0.5, 1.0, 0.0, " NAN_F32 ", 1.0]"),
    UNARY("stablehlo.sine", F5, "[-0.0, 0.0, " MINUS_INF ", " NAN_F32 ", " INF_F32 "]",
          "[-0.0, 0.0, " NAN_F32 ", " NAN_F32 ", " NAN_F32 "]"),
    /* The least subnormal, and a product that is one. */
    BINARY("stablehlo.multiply", "tensor<2xf32>", "[1.0e-38, 1.401298464324817e-45]", "[0.5, 1.0]",
           "[5.0e-39, 1.401298464324817e-45]"),
    BINARY("stablehlo.add", "tensor<3xbf16>", "[1.0, 256.0, 257.0]", "[0.00390625, 1.0, 0.0]",
           "[1.0, 256.0, 256.0]"),
    BINARY("stablehlo.add", "tensor<3xf16>", "[65504.0, 2048.0, 6.0e-8]", "[32.0, 1.0, 6.0e-8]",
           "[0x7C00, 2048.0, 1.2e-7]"),
    BINARY("stablehlo.add", "tensor<2xf8E4M3FN>", "[448.0, 1.0]", "[0.0, 1.0]", "[448.0, 2.0]"),
    BINARY("chlo.next_after", "tensor<3xf32>", "[0.0, 1.0, -1.0]", "[1.0, 1.0, 0.0]",
           "[1.401298464324817e-45, 1.0, -0.99999994]"),
    BINARY("chlo.zeta", "tensor<2xf64>", "[2.0, 1.0]", "[1.0, 3.0]",
           "[1.6449340668482264, 0x7FF0000000000000]"),
};
TEST(cpu_kernel, floats) { CHECK_CASES(floats); }

static const kernel_case converts[] = {
    CONVERT("tensor<6xf32>", "tensor<6xi8>",
            "[" NAN_F32 ", 300.0, -300.0, 1.9, -1.9, " MINUS_INF "]",
            "[0, 127, -128, 1, -1, -128]"),
    CONVERT("tensor<5xf32>", "tensor<5xui8>", "[" NAN_F32 ", 300.0, -1.0, 1.9, 255.0]",
            "[0, 255, 0, 1, 255]"),
    CONVERT("tensor<4xf32>", "tensor<4xi32>", "[2147483648.0, -2147483648.0, 2147483520.0, -0.5]",
            "[2147483647, -2147483648, 2147483520, 0]"),
    CONVERT("tensor<3xf64>", "tensor<3xi64>", "[1.0e19, -1.0e19, 4.5e15]",
            "[9223372036854775807, -9223372036854775808, 4500000000000000]"),
    CONVERT("tensor<2xf64>", "tensor<2xui64>", "[2.0e19, 1.8e19]",
            "[18446744073709551615, 18000000000000000000]"),
    CONVERT("tensor<4xi32>", "tensor<4xi8>", "[128, -129, 255, 256]", "[-128, 127, -1, 0]"),
    CONVERT("tensor<3xi32>", "tensor<3xui16>", "[-1, 65536, 65535]", "[65535, 0, 65535]"),
    CONVERT("tensor<2xi64>", "tensor<2xf32>", "[16777217, 9223372036854775807]",
            "[16777216.0, 9.223372036854775807e18]"),
    /* Halfway between two bf16 once rounded to f32, above it before. */
    CONVERT("tensor<1xi64>", "tensor<1xbf16>", "[282578800148481]", "[0x5781]"),
    CONVERT("tensor<4xf32>", "tensor<4xbf16>", "[1.00390625, 1.01171875, " NAN_F32 ", 3.4e38]",
            "[1.0, 1.015625, 0x7FC0, 0x7F80]"),
    CONVERT("tensor<5xf32>", "tensor<5xf16>",
            "[65519.0, 65520.0, 5.9604645e-8, 2.9802322e-8, -0.0]",
            "[65504.0, 0x7C00, 5.9604645e-8, 0.0, -0.0]"),
    CONVERT("tensor<3xf32>", "tensor<3xf8E5M2>", "[57344.0, 61440.0, 1.1]", "[57344.0, 0x7C, 1.0]"),
    CONVERT("tensor<3xf8E4M3FN>", "tensor<3xf32>", "[448.0, 0x7F, 0x01]",
            "[448.0, " NAN_F32 ", 0.001953125]"),
    CONVERT("tensor<3xf32>", "tensor<3xi1>", "[0.0, -0.0, " NAN_F32 "]", "[false, false, true]"),
    CONVERT("tensor<2xi1>", "tensor<2xf64>", "[true, false]", "[1.0, 0.0]"),
    CONVERT("tensor<2xcomplex<f32>>", "tensor<2xi32>", "[(1.5, 2.0), (-3.0, 0.0)]", "[1, -3]"),
    CONVERT("tensor<1xi32>", "tensor<1xcomplex<f64>>", "[5]", "[(5.0, 0.0)]"),
    CONVERT("tensor<4xi2>", "tensor<4xi32>", "[-2, 1, -1, 0]", "[-2, 1, -1, 0]"),
    CONVERT("tensor<3xui2>", "tensor<3xi8>", "[2, 1, 3]", "[2, 1, 3]"),
    CONVERT("tensor<5xf32>", "tensor<5xi2>", "[-9.0, -1.5, 1.9, 9.0, 0x7FC00000]",
            "[-2, -1, 1, 1, 0]"),
    CONVERT("tensor<4xi32>", "tensor<4xui2>", "[-1, 4, 6, 1]", "[3, 0, 2, 1]"),
    CONVERT("tensor<2xi2>", "tensor<2xf32>", "[-2, 1]", "[-2.0, 1.0]"),
    CONVERT("tensor<6xf32>", "tensor<6xf6E2M3FN>", "[0.1, 3.1415, 7.7, -100.0, 0.0, -0.0]",
            "[0.125, 3.25, 7.5, -7.5, 0.0, -0.0]"),
    CONVERT("tensor<4xf6E3M2FN>", "tensor<4xf32>", "[0x1F, 0x3F, 0x01, 0x21]",
            "[28.0, -28.0, 0.0625, -0.0625]"),
    CONVERT("tensor<3xi32>", "tensor<3xf6E3M2FN>", "[3, 100, -9]", "[3.0, 28.0, -8.0]"),
    BINARY("stablehlo.add", "tensor<2xf6E2M3FN>", "[1.0, 7.0]", "[0.125, 7.0]", "[1.125, 7.5]"),
    CONVERT("tensor<3xi4>", "tensor<3xi32>", "[-8, 7, -1]", "[-8, 7, -1]"),
};
TEST(cpu_kernel, converts) { CHECK_CASES(converts); }

#define COMPARE(direction, kind, x, y, want)                                                  \
  {"tensor<4xi1>",                                                                            \
   CONST("x", "tensor<4xf32>", x)                                                             \
       CONST("y", "tensor<4xf32>", y) "%got = stablehlo.compare " direction ", %x, %y, " kind \
                                      " : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",    \
   want, 0}
#define BROADCAST(from, dims, to) \
  "%b = stablehlo.broadcast_in_dim %x, dims = [" dims "] : (tensor<" from ">) -> tensor<" to ">\n"
#define BITCAST(from, to) \
  "%got = stablehlo.bitcast_convert %b : (tensor<" from ">) -> tensor<" to ">"
static const kernel_case others[] = {
    COMPARE("LT", "FLOAT", "[-0.0, " NAN_F32 ", 1.0, 2.0]", "[0.0, 1.0, 2.0, " INF_F32 "]",
            "[false, false, true, true]"),
    COMPARE("NE", "FLOAT", "[-0.0, " NAN_F32 ", 1.0, 2.0]", "[0.0, " NAN_F32 ", 2.0, 2.0]",
            "[false, true, true, false]"),
    COMPARE("LT", "TOTALORDER", "[-0.0, " NAN_F32 ", 0xFFC00000, 2.0]",
            "[0.0, " INF_F32 ", " MINUS_INF ", 3.0]", "[true, false, true, true]"),
    {"tensor<3xf32>",
     CONST("l", "tensor<f32>", "-1.0") CONST("x", "tensor<3xf32>", "[-5.0, 0x7FC00000, 5.0]")
         CONST("h", "tensor<f32>", "1.0") "%got = stablehlo.clamp %l, %x, %h : (tensor<f32>, "
                                          "tensor<3xf32>, tensor<f32>) -> tensor<3xf32>",
     "[-1.0, 0x7FC00000, 1.0]", 0},
    {"tensor<2xf32>",
     CONST("p", "tensor<i1>", "false") CONST("x", "tensor<2xf32>", "[1.0, 2.0]") CONST(
         "y", "tensor<2xf32>", "[3.0, 4.0]") "%got = stablehlo.select %p, %x, %y : tensor<i1>, "
                                             "tensor<2xf32>",
     "[3.0, 4.0]", 0},
    {"tensor<3xf32>",
     CONST("x", "tensor<3xf32>",
           "[1.0009765625, 70000.0, 1.0e-6]") "%got = stablehlo.reduce_precision %x, format = e5m2 "
                                              ": tensor<3xf32>",
     "[1.0, 0x7F800000, 0.0]", 0},
    {"tensor<1xcomplex<f64>>",
     CONST("x", "tensor<1xcomplex<f64>>", "[(1.0, 2.0)]")
         CONST("y", "tensor<1xcomplex<f64>>",
               "[(3.0, -1.0)]") "%got = stablehlo.multiply %x, %y : tensor<1xcomplex<f64>>",
     "[(5.0, 5.0)]", 0},
    {"tensor<1xf64>",
     CONST("x", "tensor<1xcomplex<f64>>",
           "[(3.0, 4.0)]") "%got = stablehlo.abs %x : (tensor<1xcomplex<f64>>) -> tensor<1xf64>",
     "[5.0]", 0},
    {"tensor<1xcomplex<f32>>",
     CONST("x", "tensor<1xf32>", "[3.0]") CONST(
         "y", "tensor<1xf32>", "[4.0]") "%got = stablehlo.complex %x, %y : tensor<1xcomplex<f32>>",
     "[(3.0, 4.0)]", 0},
    {"tensor<2xi16>",
     CONST("x", "tensor<1xf32>",
           "[1.0]") "%b = stablehlo.bitcast_convert %x : (tensor<1xf32>) -> tensor<1x2xi16>\n"
                    "%got = stablehlo.reshape %b : (tensor<1x2xi16>) -> tensor<2xi16>",
     "[0, 16256]", 0},
    /* Bits of elements that lie only once in memory. */
    {"tensor<3xi16>",
     CONST("x", "tensor<3xi8>", "[1, 2, 3]") BROADCAST("3xi8", "0", "3x2xi8")
         BITCAST("3x2xi8", "3xi16"),
     "[257, 514, 771]", 0},
    {"tensor<3x2xi16>",
     CONST("x", "tensor<2xi8>", "[1, 2]") BROADCAST("2xi8", "2", "3x2x2xi8")
         BITCAST("3x2x2xi8", "3x2xi16"),
     "[[513, 513], [513, 513], [513, 513]]", 0},
    {"tensor<2x3x2xi8>",
     CONST("x", "tensor<2xi16>", "[513, 1027]") BROADCAST("2xi16", "0", "2x3xi16")
         BITCAST("2x3xi16", "2x3x2xi8"),
     "[[[1, 2], [1, 2], [1, 2]], [[3, 4], [3, 4], [3, 4]]]", 0},
    {"tensor<3xi16>", CONST("b", "tensor<3x2xi8>", "1") BITCAST("3x2xi8", "3xi16"),
     "[257, 257, 257]", 0},
};
TEST(cpu_kernel, other_elementwise) { CHECK_CASES(others); }
