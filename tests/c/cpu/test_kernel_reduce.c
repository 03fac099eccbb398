/* reduce: each way through the kernel, and long sums. */
#include <math.h>

#include "cpu/memory.h"
#include "test.h"
#include "test_kernel_case.h"

#define X "%x = stablehlo.constant dense<[[3, 1, 2], [9, -7, 8]]> : tensor<2x3xi32>\n"
#define ZERO "%z = stablehlo.constant dense<0> : tensor<i32>\n"
#define REDUCE(op, dims, to)                                                              \
  X ZERO "%got = stablehlo.reduce(%x init: %z) applies " op " across dimensions = [" dims \
         "] : (tensor<2x3xi32>, tensor<i32>) -> " to

static const kernel_case sums[] = {
    {"tensor<2xi32>", REDUCE("stablehlo.add", "1", "tensor<2xi32>"), "[6, 10]", 0},
    {"tensor<3xi32>", REDUCE("stablehlo.add", "0", "tensor<3xi32>"), "[12, -6, 10]", 0},
    {"tensor<i32>", REDUCE("stablehlo.add", "0, 1", "tensor<i32>"), "16", 0},
    {"tensor<2x3xi32>", REDUCE("stablehlo.maximum", "", "tensor<2x3xi32>"),
     "[[3, 1, 2], [9, 0, 8]]", 0},
    {"tensor<2xi32>", REDUCE("stablehlo.minimum", "1", "tensor<2xi32>"), "[0, -7]", 0},
    {"tensor<f32>",
     "%x = stablehlo.constant dense<[1.0, 0x7FC00000, 3.0]> : tensor<3xf32>\n%z = "
     "stablehlo.constant dense<0xFF800000> : tensor<f32>\n%got = stablehlo.reduce(%x init: %z) "
     "applies stablehlo.maximum across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> "
     "tensor<f32>",
     "0x7FC00000", 0},
    {"tensor<2xf32>",
     "%x = stablehlo.constant dense<> : tensor<2x0xf32>\n%z = stablehlo.constant dense<7.0> : "
     "tensor<f32>\n%got = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = "
     "[1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>",
     "[7.0, 7.0]", 0},
    /* The first and last axes: neither rows nor columns. */
    {"tensor<2xi32>",
     "%x = stablehlo.iota dim = 2 : tensor<3x2x4xi32>\n" ZERO
     "%got = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 2] : "
     "(tensor<3x2x4xi32>, tensor<i32>) -> tensor<2xi32>",
     "[18, 18]", 0},
    {"tensor<i8>",
     "%x = stablehlo.constant dense<[100, 100, 100]> : tensor<3xi8>\n%z = stablehlo.constant "
     "dense<0> : tensor<i8>\n%got = stablehlo.reduce(%x init: %z) applies stablehlo.add across "
     "dimensions = [0] : (tensor<3xi8>, tensor<i8>) -> tensor<i8>",
     "44", 0},
};
TEST(cpu_kernel, sums) { CHECK_CASES(sums); }

/* Regions of more than one op. The last keeps the right-hand element: the order must hold. */
#define REGION(input, type, body)                                      \
  "%x = " input "\n" ZERO                                              \
  "%got = stablehlo.reduce(%x init: %z) across dimensions = [0] : ("   \
  "tensor<" type                                                       \
  "xi32>, tensor<i32>) -> tensor<i32>\n reducer(%a: tensor<i32>, %b: " \
  "tensor<i32>) {\n" body "\n}"
static const kernel_case regions[] = {
    {"tensor<i32>",
     REGION("stablehlo.iota dim = 0 : tensor<1000xi32>", "1000",
            "%1 = stablehlo.add %a, %b : tensor<i32>\n%2 = stablehlo.add %1, %z : tensor<i32>\n"
            "stablehlo.return %2 : tensor<i32>"),
     "499500", 0},
    {"tensor<i32>",
     REGION("stablehlo.iota dim = 0 : tensor<1003xi32>", "1003",
            "%1 = stablehlo.maximum %b, %b : tensor<i32>\nstablehlo.return %1 : tensor<i32>"),
     "1002", 0},
    {"tensor<i32>",
     REGION("stablehlo.iota dim = 0 : tensor<7xi32>", "7", "stablehlo.return %b : tensor<i32>"),
     "6", 0},
    {"tensor<i32>",
     REGION("stablehlo.iota dim = 0 : tensor<7xi32>", "7",
            "%t = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
            "%1 = \"stablehlo.if\"(%t) ({ stablehlo.return %b : tensor<i32> }, { stablehlo.return "
            "%a : tensor<i32> }) : (tensor<i1>) -> tensor<i32>\nstablehlo.return %1 : tensor<i32>"),
     "6", 0},
};
TEST(cpu_kernel, regions) { CHECK_CASES(regions); }

/* A million times 0.1 in f32: one running sum would be off by 1 %. */
TEST(cpu_kernel, long_sums_stay_accurate) {
  enum { COUNT = 1 << 20 };
  tt_cpu_plan *plan = NULL;
  float *x = tt_cpu_memory_alloc(COUNT * 4), *out = tt_cpu_memory_alloc(64);
  REQUIRE(x != NULL && out != NULL);
  for (int i = 0; i < COUNT; i++)
    x[i] = 0.1F;
  REQUIRE_OK(
      plan_of("func.func @main(%x: tensor<1048576xf32>) -> tensor<f32> {\n"
              "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
              "%0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = "
              "[0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>\n"
              "return %0 : tensor<f32>\n}",
              &plan));
  REQUIRE_OK(run_plan(plan, (const void *[]){x}, (void *[]){out}));
  EXPECT_DOUBLE(out[0], COUNT * (double)0.1F, 0.1);
out:
  tt_cpu_plan_free(plan);
  tt_cpu_memory_free(x);
  tt_cpu_memory_free(out);
}
