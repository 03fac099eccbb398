/* sort, top_k, map. */
#include "kernel_test.h"
#include "test.h"

#define LESS(direction, type, element)                                                             \
  "^bb0(%a: tensor<" element ">, %b: tensor<" element                                              \
  ">):\n"                                                                                          \
  "%c = stablehlo.compare " direction ", %a, %b, " type " : (tensor<" element ">, tensor<" element \
  ">) -> tensor<i1>\n"                                                                             \
  "stablehlo.return %c : tensor<i1>\n"

/* Floats under comparisons and logic; zeros are equal, and NaNs of either sign. */
#define FLOATS_BY(comparator)                                                                    \
  "%x = stablehlo.constant dense<[3.0, 0.0, 0xFFC00000, -1.0, 0x7FC00000, -0.0, 0xFF800000]> : " \
  "tensor<7xf32>\n%i = stablehlo.iota dim = 0 : tensor<7xi32>\n"                                 \
  "%r:2 = \"stablehlo.sort\"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({\n"             \
  "^bb0(%a: tensor<f32>, %b: tensor<f32>, %u: tensor<i32>, %v: tensor<i32>):\n" comparator       \
  "stablehlo.return %c : tensor<i1>\n"                                                           \
  "}) : (tensor<7xf32>, tensor<7xi32>) -> (tensor<7xf32>, tensor<7xi32>)\n"                      \
  "return %r#1 : tensor<7xi32>"
#define COMPARED(to, direction, a, b)                \
  to " = stablehlo.compare " direction ", " a ", " b \
     " : (tensor<f32>, tensor<f32>) -> "             \
     "tensor<i1>\n"

static const kernel_case sorts[] = {
    {"ascending, NaN last",
     FLOATS_BY(COMPARED("%l", "LT", "%a", "%b") COMPARED("%p", "NE", "%a", "%a")
                   COMPARED("%q", "NE", "%b", "%b") "%n = stablehlo.not %p : tensor<i1>\n"
                                                    "%m = stablehlo.and %q, %n : tensor<i1>\n"
                                                    "%c = stablehlo.or %l, %m : tensor<i1>\n"),
     "tensor<7xi32>", "6 3 1 5 0 2 4", 0},
    {"ascending, NaN first, the comparison swapped",
     FLOATS_BY(COMPARED("%l", "GT", "%b", "%a") COMPARED("%p", "EQ", "%a", "%a")
                   COMPARED("%q", "EQ", "%b", "%b") "%n = stablehlo.xor %p, %q : tensor<i1>\n"
                                                    "%m = stablehlo.and %q, %n : tensor<i1>\n"
                                                    "%c = stablehlo.or %l, %m : tensor<i1>\n"),
     "tensor<7xi32>", "2 4 6 3 1 5 0", 0},
    {"descending, NaN first",
     FLOATS_BY(COMPARED("%l", "GT", "%a", "%b") COMPARED("%p", "NE", "%a", "%a")
                   COMPARED("%q", "EQ", "%b", "%b") "%m = stablehlo.and %q, %p : tensor<i1>\n"
                                                    "%c = stablehlo.or %l, %m : tensor<i1>\n"),
     "tensor<7xi32>", "2 4 0 1 5 3 6", 0},
    {"descending, NaN last, by a select",
     FLOATS_BY(COMPARED("%l", "GT", "%a", "%b") COMPARED("%p", "EQ", "%a", "%a") COMPARED(
         "%q", "NE", "%b", "%b") "%c = stablehlo.select %q, %p, %l : tensor<i1>, tensor<i1>\n"),
     "tensor<7xi32>", "0 1 5 3 6 2 4", 0},
    {"f32 ascending",
     "%x = stablehlo.constant dense<[3.0, -1.0, 2.0, 0x7FC00000, -0.0]> : tensor<5xf32>\n"
     "%r = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = true}> ({\n" LESS(
         "LT", "TOTALORDER", "f32") "}) : (tensor<5xf32>) -> tensor<5xf32>\n"
                                    "return %r : tensor<5xf32>",
     "tensor<5xf32>", "-1 0 2 3 nan", 0},
    {"s32 descending, first axis",
     "%x = stablehlo.constant dense<[[3, -1], [-5, 7], [4, 0]]> : tensor<3x2xi32>\n"
     "%r = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = false}> ({\n" LESS(
         "GT", "SIGNED", "i32") "}) : (tensor<3x2xi32>) -> tensor<3x2xi32>\n"
                                "return %r : tensor<3x2xi32>",
     "tensor<3x2xi32>", "4 7 3 0 -5 -1", 0},
    {"stable, with a second operand",
     "%x = stablehlo.constant dense<[2, 1, 2, 1, 0]> : tensor<5xui8>\n"
     "%i = stablehlo.iota dim = 0 : tensor<5xi32>\n"
     "%r:2 = \"stablehlo.sort\"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({\n"
     "^bb0(%a: tensor<ui8>, %b: tensor<ui8>, %d: tensor<i32>, %e: tensor<i32>):\n"
     "%c = stablehlo.compare LT, %a, %b : (tensor<ui8>, tensor<ui8>) -> tensor<i1>\n"
     "stablehlo.return %c : tensor<i1>\n"
     "}) : (tensor<5xui8>, tensor<5xi32>) -> (tensor<5xui8>, tensor<5xi32>)\n"
     "return %r#0, %r#1 : tensor<5xui8>, tensor<5xi32>",
     "(tensor<5xui8>, tensor<5xi32>)", "0 1 1 2 2 4 1 3 0 2", 0},
    {"a comparator that is run: by the square, and swapped",
     "%x = stablehlo.constant dense<[-3.0, 1.0, 2.0, -0.5]> : tensor<4xf32>\n"
     "%r = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = true}> ({\n"
     "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
     "%p = stablehlo.multiply %a, %a : tensor<f32>\n%q = stablehlo.multiply %b, %b : tensor<f32>\n"
     "%c = stablehlo.compare LT, %q, %p : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
     "stablehlo.return %c : tensor<i1>\n}) : (tensor<4xf32>) -> tensor<4xf32>\n"
     "return %r : tensor<4xf32>",
     "tensor<4xf32>", "-3 2 1 -0.5", 0},
    {"two keys",
     "%x = stablehlo.constant dense<[1, 0, 1, 0]> : tensor<4xi32>\n"
     "%y = stablehlo.constant dense<[5, 7, 9, 8]> : tensor<4xi64>\n"
     "%r:2 = \"stablehlo.sort\"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({\n"
     "^bb0(%a: tensor<i32>, %b: tensor<i32>, %d: tensor<i64>, %e: tensor<i64>):\n"
     "%1 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "%2 = stablehlo.compare EQ, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "%3 = stablehlo.compare GT, %d, %e : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
     "%4 = stablehlo.and %2, %3 : tensor<i1>\n%5 = stablehlo.or %1, %4 : tensor<i1>\n"
     "stablehlo.return %5 : tensor<i1>\n"
     "}) : (tensor<4xi32>, tensor<4xi64>) -> (tensor<4xi32>, tensor<4xi64>)\n"
     "return %r#0, %r#1 : tensor<4xi32>, tensor<4xi64>",
     "(tensor<4xi32>, tensor<4xi64>)", "0 0 1 1 8 7 9 5", 0},
    {"a thousand, by digits",
     "%i = stablehlo.iota dim = 0 : tensor<1000xi32>\n"
     "%p = stablehlo.constant dense<7919> : tensor<1000xi32>\n"
     "%n = stablehlo.constant dense<1000> : tensor<1000xi32>\n"
     "%h = stablehlo.constant dense<500> : tensor<1000xi32>\n"
     "%m = stablehlo.multiply %i, %p : tensor<1000xi32>\n"
     "%q = stablehlo.remainder %m, %n : tensor<1000xi32>\n"
     "%x = stablehlo.subtract %q, %h : tensor<1000xi32>\n"
     "%r = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = true}> ({\n" LESS(
         "LT", "SIGNED",
         "i32") "}) : (tensor<1000xi32>) -> tensor<1000xi32>\n"
                "%s = \"stablehlo.slice\"(%r) <{start_indices = array<i64: 0>, limit_indices = "
                "array<i64: "
                "1000>, strides = array<i64: 333>}> : (tensor<1000xi32>) -> tensor<4xi32>\n"
                "%t:2 = chlo.top_k(%x, k = 2) : tensor<1000xi32> -> (tensor<2xi32>, "
                "tensor<2xi32>)\n"
                "return %s, %t#0 : tensor<4xi32>, tensor<2xi32>",
     "(tensor<4xi32>, tensor<2xi32>)", "-500 -167 166 499 499 498", 0},
    {"nothing to sort",
     "%x = stablehlo.constant dense<> : tensor<0xf32>\n"
     "%r = \"stablehlo.sort\"(%x) <{dimension = 0 : i64}> ({\n" LESS(
         "LT", "FLOAT", "f32") "}) : (tensor<0xf32>) -> tensor<0xf32>\nreturn %r : tensor<0xf32>",
     "tensor<0xf32>", "", 0},
};

TEST(cpu_kernel_sort, sorts) { kernel_expect(sorts, (int)(sizeof sorts / sizeof *sorts)); }

static const kernel_case tops[] = {
    {"rows",
     "%x = stablehlo.constant dense<[[1.0, 3.0, 3.0, 2.0], [-1.0, -2.0, 0x7FC00000, -0.0]]> : "
     "tensor<2x4xf32>\n"
     "%r:2 = chlo.top_k(%x, k = 3) : tensor<2x4xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)\n"
     "return %r#0, %r#1 : tensor<2x3xf32>, tensor<2x3xi32>",
     "(tensor<2x3xf32>, tensor<2x3xi32>)", "3 3 2 nan 0 -1 1 2 3 2 3 0", 0},
    {"all of bf16",
     "%x = stablehlo.constant dense<[1.0, 4.0, -8.0]> : tensor<3xbf16>\n"
     "%r:2 = chlo.top_k(%x, k = 3) : tensor<3xbf16> -> (tensor<3xbf16>, tensor<3xi32>)\n"
     "return %r#0, %r#1 : tensor<3xbf16>, tensor<3xi32>",
     "(tensor<3xbf16>, tensor<3xi32>)", "4 1 -8 1 0 2", 0},
};

TEST(cpu_kernel_sort, top_k) { kernel_expect(tops, (int)(sizeof tops / sizeof *tops)); }

static const kernel_case maps[] = {
    {"two operands, an outer value",
     "%x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
     "%y = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>\n"
     "%r = \"stablehlo.map\"(%x, %y) <{dimensions = array<i64: 0>}> ({\n"
     "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%s = stablehlo.add %a, %b : tensor<f32>\n"
     "%t = stablehlo.multiply %s, %b : tensor<f32>\nstablehlo.return %t : tensor<f32>\n"
     "}) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\nreturn %r : tensor<2xf32>",
     "tensor<2xf32>", "110 440", 0},
};

TEST(cpu_kernel_sort, map) { kernel_expect(maps, (int)(sizeof maps / sizeof *maps)); }
