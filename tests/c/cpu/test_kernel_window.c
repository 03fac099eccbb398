/* reduce_window of one known op against the same op in a region that is run element by element. */
#include "test.h"
#include "test_kernel_case.h"

#define OPERANDS                                                           \
  "%i = stablehlo.iota dim = 0 : tensor<360xi32>\n"                        \
  "%f = stablehlo.constant dense<37> : tensor<360xi32>\n"                  \
  "%m = stablehlo.constant dense<101> : tensor<360xi32>\n"                 \
  "%p = stablehlo.multiply %i, %f : tensor<360xi32>\n"                     \
  "%r = stablehlo.remainder %p, %m : tensor<360xi32>\n"                    \
  "%x = stablehlo.reshape %r : (tensor<360xi32>) -> tensor<3x5x4x6xi32>\n" \
  "%z = stablehlo.constant dense<7> : tensor<i32>\n"
#define REDUCE(name, attrs, to, body)                                                       \
  "%" name " = \"stablehlo.reduce_window\"(%x, %z) <{" attrs                                \
  "}> ({\n"                                                                                 \
  "^bb0(%a: tensor<i32>, %b: tensor<i32>):\n%c = stablehlo.add %a, %b : tensor<i32>\n" body \
  "}) : (tensor<3x5x4x6xi32>, tensor<i32>) -> tensor<" to ">\n"
#define WINDOW(to, attrs)                                                   \
  {"tensor<" to ">",                                                        \
   OPERANDS REDUCE("got", attrs, to, "stablehlo.return %c : tensor<i32>\n") \
       REDUCE("want", attrs, to,                                            \
              "%d = stablehlo.maximum %c, %c : tensor<i32>\n"               \
              "stablehlo.return %d : tensor<i32>\n"),                       \
   NULL, 0}
#define SIZE(w) "window_dimensions = array<i64: " w ">"
#define STEP(s) ", window_strides = array<i64: " s ">"
#define PADDING(p) ", padding = dense<[" p "]> : tensor<4x2xi64>"
#define NONE "[0, 0], "

static const kernel_case windows[] = {
    /* Few elements: rows of places. */
    WINDOW("3x5x2x3xi32", SIZE("1, 1, 2, 2") STEP("1, 1, 2, 2")),
    WINDOW("3x3x3x6xi32",
           SIZE("1, 2, 2, 1") STEP("1, 2, 1, 1") PADDING(NONE "[1, 0], [0, 0], [0, 0]")),
    WINDOW("3x5x4x6xi32",
           SIZE("1, 1, 3, 1") STEP("1, 1, 2, 1") PADDING(NONE NONE "[2, 3], [0, 0]")),
    WINDOW("3x5x8x7xi32",
           SIZE("1, 1, 2, 3") STEP("1, 1, 1, 2")
               PADDING(NONE NONE "[1, 1], [3, -1]") ", base_dilations = array<i64: 1, 1, 2, 3>, "
                                                    "window_dilations = array<i64: 1, 1, 1, 2>"),
    WINDOW("3x5x4x3xi32", SIZE("1, 1, 1, 3") PADDING(NONE NONE NONE "[-2, 1]")),
    WINDOW("3x5x4x23xi32", SIZE("1, 1, 1, 2") PADDING(NONE NONE NONE "[9, 9]")),
    WINDOW("2x5x4x6xi32", SIZE("2, 1, 1, 1")),
    WINDOW("3x5x4x6xi32", SIZE("1, 1, 1, 1")),
    WINDOW("3x5x4x6xi32", SIZE("1, 1, 1, 6") PADDING(NONE NONE NONE "[5, 0]")),
    WINDOW("3x5x4x6xi32", SIZE("1, 1, 1, 6") PADDING(NONE NONE NONE "[0, 5]")),
    WINDOW("3x5x4x6xi32", SIZE("1, 5, 1, 1") PADDING(NONE "[4, 0], [0, 0], [0, 0]")),
    /* More: axis by axis. */
    WINDOW("3x5x4x6xi32", SIZE("1, 3, 3, 3") PADDING(NONE "[1, 1], [1, 1], [1, 1]")),
    WINDOW("3x5x4x6xi32", SIZE("1, 1, 1, 20") PADDING(NONE NONE NONE "[19, 0]")),
    WINDOW("3x5x4x6xi32", SIZE("1, 1, 1, 20") PADDING(NONE NONE NONE "[0, 19]")),
    WINDOW("3x5x4x2xi32", SIZE("1, 1, 1, 20") PADDING(NONE NONE NONE "[10, 5]")),
    WINDOW("3x5x4x5xi32", SIZE("1, 1, 1, 20") PADDING(NONE NONE NONE "[17, 1]")),
    WINDOW("3x5x4x5xi32", SIZE("1, 1, 1, 20") PADDING(NONE NONE NONE "[1, 17]")),
    WINDOW("3x5x4x10xi32", SIZE("1, 1, 1, 20") PADDING(NONE NONE NONE "[23, 0]")),
    WINDOW("3x5x4x10xi32", SIZE("1, 1, 1, 20") PADDING(NONE NONE NONE "[0, 23]")),
    WINDOW("3x5x2x6xi32", SIZE("1, 1, 20, 1") PADDING(NONE NONE "[10, 7], [0, 0]")),
    WINDOW("3x5x5x4xi32",
           SIZE("1, 1, 4, 5") STEP("1, 1, 2, 3")
               PADDING(NONE NONE "[2, 3], [3, 2]") ", base_dilations = array<i64: 1, 1, 2, 2>"),
};
TEST(cpu_kernel, windows) { CHECK_CASES(windows); }

#define SUM(type, x, want)                                                                 \
  {"tensor<1x" type ">",                                                                   \
   "%x = stablehlo.constant dense<" x "> : tensor<3x" type                                 \
   ">\n"                                                                                   \
   "%z = stablehlo.constant dense<0.0> : tensor<" type                                     \
   ">\n"                                                                                   \
   "%got = \"stablehlo.reduce_window\"(%x, %z) <{window_dimensions = array<i64: 3>}> ({\n" \
   "^bb0(%a: tensor<" type ">, %b: tensor<" type                                           \
   ">):\n"                                                                                 \
   "%c = stablehlo.add %a, %b : tensor<" type ">\nstablehlo.return %c : tensor<" type      \
   ">\n"                                                                                   \
   "}) : (tensor<3x" type ">, tensor<" type ">) -> tensor<1x" type ">",                    \
   want, 0}

/* Few elements are added in order, each sum rounded as the region says. */
static const kernel_case sums[] = {
    SUM("f32", "[1.0e8, 1.0, -1.0e8]", "0.0"),   SUM("f32", "[1.0e8, -1.0e8, 1.0]", "1.0"),
    SUM("bf16", "[256.0, 1.0, 1.0]", "256.0"),   SUM("f16", "[1.0, 1.0, 2048.0]", "2050.0"),
    SUM("f64", "[1.0e16, 1.0, -1.0e16]", "0.0"),
};
TEST(cpu_kernel, window_sums_in_order) { CHECK_CASES(sums); }
