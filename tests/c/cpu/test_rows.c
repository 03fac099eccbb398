/* Reductions that run with the ops around them, row by row. */
#include "test.h"
#include "test_kernel_case.h"

#define ADD(name, x, init, dims, from, scalar, to)                                              \
  name " = stablehlo.reduce(" x " init: " init                                                  \
       ") applies stablehlo.add across dimensions = [" dims "] : (" from ", " scalar ") -> " to \
       "\n"
#define MOST(name, x, init, dims, from, scalar, to)                                      \
  name " = stablehlo.reduce(" x " init: " init                                           \
       ") applies stablehlo.maximum across dimensions = [" dims "] : (" from ", " scalar \
       ") -> " to "\n"

#define SMALL "tensor<5x5xf32>"
#define FIVE "tensor<5xf32>"
#define ONE "tensor<f32>"
#define WIDE "tensor<64x256xi32>"
#define NORM "tensor<300x70xf32>"
#define EACH "tensor<300xf32>"

static const kernel_case rows[] = {
    /* A sum that begins with -0 of rows of -0, as rows among others: 1 / -0. */
    {EACH,
     "%x = stablehlo.constant dense<0.0> : " NORM "\n%n = stablehlo.negate %x : " NORM
     "\n%z = stablehlo.constant dense<-0.0> : " ONE "\n%one = stablehlo.constant dense<1.0> : " EACH
     "\n" ADD("%r", "%n", "%z", "1", NORM, ONE, EACH) "%got = stablehlo.divide %one, %r : " EACH,
     "0xFF800000", 0},
    /* A sum of columns is not there before all rows are; as many rows as columns. */
    {FIVE,
     "%x = stablehlo.iota dim = 0 : " SMALL "\n%z = stablehlo.constant dense<0.0> : " ONE
     "\n%low = stablehlo.constant dense<0xFF800000> : " ONE
     "\n" MOST("%most", "%x", "%low", "0", SMALL, ONE,
               FIVE) "%m = stablehlo.broadcast_in_dim %most, dims = [1] : (" FIVE ") -> " SMALL
                     "\n%d = stablehlo.subtract %x, %m : " SMALL
                     "\n%e = stablehlo.exponential %d : " SMALL
                     "\n" ADD("%sum", "%e", "%z", "0", SMALL, ONE,
                              FIVE) "%s = stablehlo.broadcast_in_dim %sum, dims = [1] : (" FIVE
                                    ") -> " SMALL "\n%p = stablehlo.divide %e, %s : " SMALL
                                    "\n" ADD("%got", "%p", "%z", "0", SMALL, ONE, FIVE),
     "[1.0, 1.0, 1.0, 1.0, 1.0]", 2},
    /* Rows, then columns of what came of them: [j] = 64 (2 j - 65280 + 5). */
    {"tensor<i32>",
     "%x = stablehlo.iota dim = 1 : " WIDE "\n%z = stablehlo.constant dense<0> : tensor<i32>\n"
     "%five = stablehlo.constant dense<5> : tensor<i32>\n%y = stablehlo.add %x, %x : " WIDE
     "\n" ADD("%r", "%y", "%z", "1", WIDE, "tensor<i32>",
              "tensor<64xi32>") "%b = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<64xi32>) "
                                "-> " WIDE "\n%d = stablehlo.subtract %y, %b : " WIDE
                                "\n%f = stablehlo.broadcast_in_dim %five, dims = [] : "
                                "(tensor<i32>) -> " WIDE "\n%e = stablehlo.add %d, %f : " WIDE
                                "\n" ADD("%c", "%e", "%z", "0", WIDE, "tensor<i32>",
                                         "tensor<256xi32>")
                                    ADD("%got", "%c", "%z", "0", "tensor<256xi32>", "tensor<i32>",
                                        "tensor<i32>"),
     "-1065287680", 0},
    /* What a reduction begins with counts once in each row and column. */
    {"tensor<2xi32>",
     "%x = stablehlo.constant dense<1> : tensor<40x30xi32>\n"
     "%i = stablehlo.constant dense<7> : tensor<i32>\n%z = stablehlo.constant dense<0> : "
     "tensor<i32>\n%y = stablehlo.add %x, %x : tensor<40x30xi32>\n" ADD(
         "%r", "%y", "%i", "1", "tensor<40x30xi32>", "tensor<i32>", "tensor<40xi32>")
         ADD("%c", "%y", "%i", "0", "tensor<40x30xi32>", "tensor<i32>", "tensor<30xi32>")
             ADD("%rs", "%r", "%z", "0", "tensor<40xi32>", "tensor<i32>", "tensor<i32>")
                 ADD("%cs", "%c", "%z", "0", "tensor<30xi32>", "tensor<i32>",
                     "tensor<i32>") "%a = stablehlo.reshape %rs : (tensor<i32>) -> "
                                    "tensor<1xi32>\n%b = stablehlo.reshape %cs : "
                                    "(tensor<i32>) -> tensor<1xi32>\n%got = stablehlo.concatenate "
                                    "%a, %b, dim = 0 : "
                                    "(tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>",
     "[2680, 2610]", 0},
    /* Two levels, with an op on one element for each row between: every row has length 1. */
    {ONE,
     "%i = stablehlo.iota dim = 1 : " NORM "\n%j = stablehlo.iota dim = 0 : " NORM
     "\n%x = stablehlo.add %i, %j : " NORM "\n%z = stablehlo.constant dense<0.0> : " ONE
     "\n%low = stablehlo.constant dense<0xFF800000> : " ONE
     "\n%one = stablehlo.constant dense<1.0> : " EACH "\n" MOST(
         "%most", "%x", "%low", "1", NORM, ONE,
         EACH) "%m1 = stablehlo.add %most, %one : " EACH
               "\n%m = stablehlo.broadcast_in_dim %m1, dims = [0] : (" EACH ") -> " NORM
               "\n%d = stablehlo.subtract %x, %m : " NORM "\n%q = stablehlo.multiply %d, %d : " NORM
               "\n" ADD("%sum", "%q", "%z", "1", NORM, ONE,
                        EACH) "%r = stablehlo.rsqrt %sum : " EACH
                              "\n%s = stablehlo.broadcast_in_dim %r, dims = [0] : (" EACH
                              ") -> " NORM "\n%n = stablehlo.multiply %d, %s : " NORM
                              "\n%nn = stablehlo.multiply %n, %n : " NORM
                              "\n" ADD("%len", "%nn", "%z", "1", NORM, ONE, EACH)
                                  ADD("%got", "%len", "%z", "0", EACH, ONE, ONE),
     "300.0", 8},
    /* An element for each row, the same again after three of them. */
    {"tensor<20x3xf32>",
     "%one = stablehlo.constant dense<1.0> : tensor<20x3x70xf32>\n%z = stablehlo.constant "
     "dense<0.0> : " ONE "\n%p = stablehlo.iota dim = 0 : tensor<3xf32>\n"
     "%b = stablehlo.broadcast_in_dim %p, dims = [1] : (tensor<3xf32>) -> tensor<20x3x70xf32>\n"
     "%y = stablehlo.add %one, %b : tensor<20x3x70xf32>\n" ADD(
         "%got", "%y", "%z", "2", "tensor<20x3x70xf32>", ONE,
         "tensor<20x3xf32>") "%i = stablehlo.iota dim = 1 : tensor<20x3xf32>\n"
                             "%n = stablehlo.constant dense<70.0> : tensor<20x3xf32>\n"
                             "%m = stablehlo.multiply %i, %n : tensor<20x3xf32>\n"
                             "%want = stablehlo.add %m, %n : tensor<20x3xf32>\n",
     NULL, 0},
    /* What a reduction gives, reduced again along rows as long as the first one's. */
    {EACH,
     "%x = stablehlo.iota dim = 0 : tensor<300x2x2xf32>\n%z = stablehlo.constant dense<0.0> : " ONE
     "\n%y = stablehlo.negate %x : tensor<300x2x2xf32>\n" ADD(
         "%a", "%y", "%z", "2", "tensor<300x2x2xf32>", ONE, "tensor<300x2xf32>")
         ADD("%b", "%a", "%z", "1", "tensor<300x2xf32>", ONE,
             EACH) "%i = stablehlo.iota dim = 0 : " EACH
                   "\n%four = stablehlo.constant dense<4.0> : " EACH
                   "\n%want = stablehlo.multiply %i, %four : " EACH
                   "\n%got = stablehlo.abs %b : " EACH,
     NULL, 0},
};
TEST(cpu_rows, reductions_among_other_ops) { CHECK_CASES(rows); }
