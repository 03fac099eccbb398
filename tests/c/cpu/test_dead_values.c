/* What nothing reads, where something else still writes it. */
#include "kernel_test.h"
#include "test.h"

/* Without %dead, nothing reads %f, which is made on its own: it has one element, %dead four. */
static const kernel_case dead = {
    "a scalar whose only reader is dropped",
    "%i = stablehlo.constant dense<3> : tensor<i32>\n"
    "%x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
    "%f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>\n"
    "%b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4xf32>\n"
    "%dead = stablehlo.add %b, %x : tensor<4xf32>\n"
    "%y = stablehlo.add %x, %x : tensor<4xf32>\n"
    "return %y : tensor<4xf32>",
    "tensor<4xf32>", "2 4 6 8", 0};

TEST(cpu_plan, dead_values) { kernel_expect(&dead, 1); }
