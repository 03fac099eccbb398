/* Dims that only the run knows: from arguments, in one stage or several, wrong ones, in loops, on
 * several threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/memory.h"
#include "cpu/plan.h"
#include "test.h"
#include "test_kernel_case.h"

enum { INTS = 8, RUNS = 6 };

/* @main(%x: tensor<8xi32>) -> tensor<8xi32>, of which `count` are looked at. */
typedef struct stages_run {
  int32_t x[INTS];
  int count;
  int32_t want[INTS];
  const char *error; /* its text, INVALID_ARGUMENT; NULL: none */
} stages_run;

typedef struct stages_case {
  const char *name, *text;
  stages_run runs[RUNS]; /* those with a count or an error */
} stages_case;

#define ADD                                       \
  "({\n^bb0(%a: tensor<i32>, %b: tensor<i32>):\n" \
  "  %s = stablehlo.add %a, %b : tensor<i32>\n"   \
  "  \"stablehlo.return\"(%s) : (tensor<i32>) -> ()\n})"
/* %name = the sum of %of. */
#define SUM(name, of, type)                               \
  "%" name " = \"stablehlo.reduce\"(%" of ", %zero) " ADD \
  " {dimensions = array<i64: 0>} : (tensor<" type ">, tensor<i32>) -> tensor<i32>\n"
#define LIST(name, of) "%" name " = stablehlo.reshape %" of " : (tensor<i32>) -> tensor<1xi32>\n"
/* %name = element i of %x, as a list of one. */
#define ITEM(name, i, next) \
  "%" name " = stablehlo.slice %x [" #i ":" #next "] : (tensor<8xi32>) -> tensor<1xi32>\n"
#define IOTA(name, size) \
  "%" name " = stablehlo.dynamic_iota %" size ", dim = 0 : (tensor<1xi32>) -> tensor<?xi32>\n"
/* %r = eight times %name. */
#define SPREAD(name) \
  "%r = stablehlo.broadcast_in_dim %" name ", dims = [] : (tensor<i32>) -> tensor<8xi32>\n"
#define C(name, value, type) "%" name " = stablehlo.constant dense<" value "> : tensor<" type ">\n"
#define MAIN(body)                                                                     \
  "func.func @main(%x: tensor<8xi32>) -> tensor<8xi32> {\n" C("zero", "0", "i32") body \
      "return %r : tensor<8xi32>\n}\n"
/* %r = %v, of n elements, and -1 behind them. */
#define FILL(v) \
  C("low", "0", "1xi32") C("minus", "-1", "i32") C("eight", "8", "1xi32")                        \
  "%size = stablehlo.get_dimension_size %" v ", dim = 0 : (tensor<?xi32>) -> tensor<i32>\n"      \
  LIST("have", "size") "%high = stablehlo.subtract %eight, %have : tensor<1xi32>\n"              \
  "%r = stablehlo.dynamic_pad %" v ", %minus, %low, %high, %low : (tensor<?xi32>, tensor<i32>, " \
  "tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<8xi32>\n"

static const stages_case cases[] = {
    {"as many as there are above 0",
     MAIN(C(
         "zeros", "0",
         "8xi32") "%p = stablehlo.compare GT, %x, %zeros : (tensor<8xi32>, tensor<8xi32>) -> "
                  "tensor<8xi1>\n%q = stablehlo.convert %p : (tensor<8xi1>) -> tensor<8xi32>\n" SUM(
                      "n", "q", "8xi32") LIST("l", "n") IOTA("i", "l") FILL("i")),
     {{{1, 0, 1, 1, 0, 0, 0, 0}, 8, {0, 1, 2, -1, -1, -1, -1, -1}, NULL},
      {{0}, 8, {-1, -1, -1, -1, -1, -1, -1, -1}, NULL},
      {{1, 1, 1, 1, 1, 1, 1, 1}, 8, {0, 1, 2, 3, 4, 5, 6, 7}, NULL},
      {{5, 0, 7, 9, 0, 0, 0, 0}, 8, {0, 1, 2, -1, -1, -1, -1, -1}, NULL}}},
    {"sizes that follow from sizes",
     MAIN(ITEM("n", 0, 1) IOTA("i", "n") SUM("m", "i", "?xi32") LIST("l", "m") IOTA("k", "l")
              SUM("t", "k", "?xi32") SPREAD("t")),
     {{{4}, 2, {15, 15}, NULL}, {{5}, 2, {45, 45}, NULL}, {{0}, 2, {0, 0}, NULL}}},
    {"rows and columns",
     MAIN(ITEM("n", 0, 1) C(
         "eight", "8",
         "1xi32") "%m = stablehlo.divide %eight, %n : tensor<1xi32>\n"
                  "%d = stablehlo.concatenate %n, %m, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> "
                  "tensor<2xi32>\n"
                  "%v = stablehlo.dynamic_reshape %x, %d : (tensor<8xi32>, tensor<2xi32>) -> "
                  "tensor<?x?xi32>\n"
                  "%w = stablehlo.transpose %v, dims = [1, 0] : (tensor<?x?xi32>) -> "
                  "tensor<?x?xi32>\n"
                  "%r = stablehlo.dynamic_reshape %w, %eight : (tensor<?x?xi32>, tensor<1xi32>) -> "
                  "tensor<8xi32>\n"),
     {{{2, 1, 2, 3, 4, 5, 6, 7}, 8, {2, 4, 1, 5, 2, 6, 3, 7}, NULL},
      {{4, 1, 2, 3, 4, 5, 6, 7}, 8, {4, 2, 4, 6, 1, 3, 5, 7}, NULL},
      {{3, 1, 2, 3, 4, 5, 6, 7}, 0, {0}, "reshape"},
      {{-2, 1, 2, 3, 4, 5, 6, 7}, 0, {0}, "is found to be -2"},
      {{0, 1, 2, 3, 4, 5, 6, 7}, 0, {0}, "is found to be -1"}}},
    {"a slice",
     MAIN(ITEM("a", 0, 1) ITEM("b", 1, 2) ITEM(
         "c", 2,
         3) "%v = stablehlo.real_dynamic_slice %x, %a, %b, %c : (tensor<8xi32>, tensor<1xi32>, "
            "tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>\n" FILL("v")),
     {{{2, 7, 2, 3, 4, 5, 6, 7}, 8, {2, 4, 6, -1, -1, -1, -1, -1}, NULL},
      {{0, 8, 1, 3, 4, 5, 6, 7}, 8, {0, 8, 1, 3, 4, 5, 6, 7}, NULL},
      {{0, 9, 1, 3, 4, 5, 6, 7}, 0, {0}, "slice"},
      {{5, 3, 1, 3, 4, 5, 6, 7}, 0, {0}, "slice"},
      {{0, 3, 0, 3, 4, 5, 6, 7}, 0, {0}, "slice"}}},
    {"a broadcast and a padding",
     MAIN(ITEM("n", 0, 1) ITEM("l", 1, 2) C("none", "0", "1xi32") C(
         "seven", "7",
         "i32") "%v = stablehlo.dynamic_broadcast_in_dim %seven, %n, dims = [] : (tensor<i32>, "
                "tensor<1xi32>) -> tensor<?xi32>\n"
                "%p = stablehlo.dynamic_pad %v, %zero, %l, %none, %l : (tensor<?xi32>, "
                "tensor<i32>, "
                "tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>\n" FILL("p")),
     {{{2, 1}, 8, {0, 7, 0, 7, -1, -1, -1, -1}, NULL},
      {{3, 0}, 8, {7, 7, 7, -1, -1, -1, -1, -1}, NULL},
      {{-1, 0}, 0, {0}, "is found to be -1"},
      {{2, -1}, 0, {0}, "pad"}}},
    {"a gather",
     MAIN(ITEM("n", 0, 1) ITEM(
         "i", 1,
         2) "%v = \"stablehlo.dynamic_gather\"(%x, %i, %n) {dimension_numbers = "
            "#stablehlo.gather<offset_dims = [0], start_index_map = [0]>} : (tensor<8xi32>, "
            "tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>\n" FILL("v")),
     {{{2, 3, 2, 3, 4, 5, 6, 7}, 8, {3, 4, -1, -1, -1, -1, -1, -1}, NULL},
      {{3, 1, 2, 3, 4, 5, 6, 7}, 8, {1, 2, 3, -1, -1, -1, -1, -1}, NULL},
      {{9, 1, 2, 3, 4, 5, 6, 7}, 0, {0}, "gather"}}},
    {"a size that is set",
     MAIN(ITEM("l", 0, 1) "%n = stablehlo.reshape %l : (tensor<1xi32>) -> tensor<i32>\n"
                          "%v = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<8xi32>, "
                          "tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<8>>\n"
                          "%w = stablehlo.convert %v : (tensor<?xi32, #stablehlo.bounds<8>>) -> "
                          "tensor<?xi32>\n" FILL("w")),
     {{{2, 3, 2, 3, 4, 5, 6, 7}, 8, {2, 3, -1, -1, -1, -1, -1, -1}, NULL},
      {{8, 3, 2, 3, 4, 5, 6, 7}, 8, {8, 3, 2, 3, 4, 5, 6, 7}, NULL},
      {{9, 3, 2, 3, 4, 5, 6, 7}, 0, {0}, "size 9 of a dim of 8"},
      {{-1, 3, 2, 3, 4, 5, 6, 7}, 0, {0}, "size -1 of a dim of 8"}}},
    {"in a loop, sizes from outside and made inside of what is outside",
     MAIN(ITEM("n", 0, 1) C("one", "1", "i32") C("three", "3", "i32") C(
         "ones", "1",
         "1xi32") "%l:2 = stablehlo.while(%i = %zero, %v = %zero) : tensor<i32>, tensor<i32> cond "
                  "{\n"
                  "  %p = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> "
                  "tensor<i1>\n  stablehlo.return %p : tensor<i1>\n} do {\n"
                  "  %n1 = stablehlo.add %n, %ones : tensor<1xi32>\n" IOTA("k", "n1") SUM(
                      "t", "k",
                      "?xi32") "  %w = stablehlo.add %v, %t : tensor<i32>\n"
                               "  %j = stablehlo.add %i, %one : tensor<i32>\n"
                               "  stablehlo.return %j, %w : tensor<i32>, tensor<i32>\n}\n"
                               "%g = stablehlo.optimization_barrier %l#1 : tensor<i32>\n" SPREAD(
                                   "g")),
     {{{3}, 1, {18}, NULL}, {{1}, 1, {3}, NULL}, {{-2}, 0, {0}, "is found to be -1"}}},
    {"through a function",
     MAIN(ITEM("n", 0, 1) "%t = func.call @f(%n) : (tensor<1xi32>) -> tensor<i32>\n" SPREAD(
         "t")) "func.func private @f(%n: tensor<1xi32>) -> tensor<i32> {\n" C("zero", "0", "i32")
         IOTA("i", "n") SUM("t", "i", "?xi32") "return %t : tensor<i32>\n}\n",
     {{{3}, 1, {3}, NULL}, {{5}, 1, {10}, NULL}}},
    {"a type that says too much",
     MAIN(ITEM("n", 0, 1) IOTA("i", "n") "%r = stablehlo.add %i, %i : (tensor<?xi32>, "
                                         "tensor<?xi32>) -> tensor<8xi32>\n"),
     {{{8}, 8, {0, 2, 4, 6, 8, 10, 12, 14}, NULL}, {{9}, 0, {0}, ""}, {{7}, 0, {0}, ""}}},
    {"an assertion",
     MAIN(ITEM("n", 0, 1) C(
         "three", "3",
         "1xi32") "%p = stablehlo.compare LE, %n, %three : (tensor<1xi32>, tensor<1xi32>) -> "
                  "tensor<1xi1>\n%q = stablehlo.reshape %p : (tensor<1xi1>) -> tensor<i1>\n"
                  "stablehlo.custom_call @shape_assertion(%q) {has_side_effect = true} : "
                  "(tensor<i1>) "
                  "-> ()\n" IOTA("i", "n") FILL("i")),
     {{{2}, 3, {0, 1, -1}, NULL}, {{4}, 0, {0}, "shape_assertion: it does not hold"}}},
    {"more memory than there is",
     MAIN(ITEM("n", 0, 1) "%m = stablehlo.convert %n : (tensor<1xi32>) -> tensor<1xi64>\n" C(
         "big", "4611686018427387904",
         "1xi64") "%k = stablehlo.multiply %m, %big : tensor<1xi64>\n"
                  "%i = stablehlo.dynamic_iota %k, dim = 0 : (tensor<1xi64>) -> "
                  "tensor<?xi32>\n" FILL("i")),
     {{{1}, 0, {0}, ""}, {{0}, 1, {-1}, NULL}}},
    {"the padding of a convolution",
     MAIN(ITEM(
         "n", 0,
         1) "%d = stablehlo.concatenate %n, %n, dim = 0 : (tensor<1xi32>, "
            "tensor<1xi32>) -> tensor<2xi32>\n"
            "%p = stablehlo.reshape %d : (tensor<2xi32>) -> tensor<1x2xi32>\n"
            "%f = stablehlo.convert %x : (tensor<8xi32>) -> tensor<8xf32>\n"
            "%v = stablehlo.reshape %f : (tensor<8xf32>) -> tensor<1x8x1xf32>\n" C(
                "w", "1.0",
                "3x1x1xf32") "%c = \"stablehlo.dynamic_conv\"(%v, %w, %p) {dimension_numbers = "
                             "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count "
                             "= "
                             "1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x1xf32>, "
                             "tensor<3x1x1xf32>, tensor<1x2xi32>) -> tensor<1x?x1xf32>\n"
                             "%n2 = stablehlo.convert %c : (tensor<1x?x1xf32>) -> "
                             "tensor<1x?x1xi32>\n"
                             "%s = stablehlo.get_dimension_size %c, dim = 1 : (tensor<1x?x1xf32>) "
                             "-> "
                             "tensor<i32>\n" LIST(
                                 "l", "s") "%i = stablehlo.dynamic_reshape %n2, %l : "
                                           "(tensor<1x?x1xi32>, "
                                           "tensor<1xi32>) -> tensor<?xi32>\n" FILL("i")),
     {{{1, 2, 3, 4, 5, 6, 7, 8}, 8, {3, 6, 9, 12, 15, 18, 21, 15}, NULL},
      {{0, 2, 3, 4, 5, 6, 7, 8}, 8, {5, 9, 12, 15, 18, 21, -1, -1}, NULL}}},
};

static void check_run(const stages_case *c, const stages_run *r, const tt_cpu_plan *plan) {
  _Alignas(64) int32_t x[INTS], y[INTS] = {0};
  memcpy(x, r->x, sizeof x);
  tt_error *err = run_plan(plan, (const void *[]){x}, (void *[]){y});
  if (r->error != NULL) {
    tt_test_err(__FILE__, __LINE__, c->name, err, TT_INVALID_ARGUMENT, r->error);
    return;
  }
  if (!tt_test_ok(__FILE__, __LINE__, c->name, err))
    return;
  for (int i = 0; i < r->count; i++)
    tt_test_int(__FILE__, __LINE__, c->name, y[i], r->want[i]);
}

/* Twice, for what the first time leaves. */
TEST(cpu_stages, values) {
  for (size_t i = 0; i < TT_COUNT(cases); i++) {
    tt_cpu_plan *plan = NULL;
    if (!tt_test_ok(__FILE__, __LINE__, cases[i].name, plan_of(cases[i].text, &plan)))
      continue;
    EXPECT(tt_cpu_plan_is_staged(plan));
    for (int k = 0; k < 2 * RUNS; k++) {
      const stages_run *r = &cases[i].runs[k % RUNS];
      if (r->count > 0 || r->error != NULL)
        check_run(&cases[i], r, plan);
    }
    tt_cpu_plan_free(plan);
  }
}

/* Each parameter and result takes the other's memory. */
TEST(cpu_stages, donation) {
  tt_cpu_plan *plan = NULL;
  _Alignas(64) int32_t x[INTS] = {3, 1, 2, 3, 4, 5, 6, 7};
  REQUIRE_OK(plan_of(
      "func.func @main(%x: tensor<8xi32> {tf.aliasing_output = 0 : i32}) -> "
      "tensor<8xi32> {\n" ITEM("n", 0, 1) IOTA("i", "n")
          FILL("i") "%s = stablehlo.add %r, %x : tensor<8xi32>\nreturn %s : tensor<8xi32>\n}",
      &plan));
  REQUIRE_OK(run_plan(plan, (const void *[]){x}, (void *[]){x}));
  EXPECT(x[0] == 3 && x[1] == 2 && x[2] == 4 && x[3] == 2 && x[7] == 6);
out:
  tt_cpu_plan_free(plan);
}

TEST(cpu_stages, refuses) {
  static const struct {
    const char *text, *part;
  } rows[] = {
      {"func.func @main(%x: tensor<?xi32>) -> tensor<8xi32> {\n" FILL(
           "x") "return %r : tensor<8xi32>\n}",
       "parameter 0 of @main: dims that only the run knows"},
      {"func.func @main(%x: tensor<8xi32>) -> tensor<?xi32> {\n" ITEM("n", 0, 1)
           IOTA("i", "n") "return %i : tensor<?xi32>\n}",
       "result 0 of @main: dims that only the run knows"},
      /* The size is another one in each iteration. */
      {MAIN(C("one", "1", "i32") C(
           "three", "3",
           "i32") "%l:2 = stablehlo.while(%i = %zero, %v = %zero) : tensor<i32>, tensor<i32> cond "
                  "{\n"
                  "  %p = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> "
                  "tensor<i1>\n  stablehlo.return %p : tensor<i1>\n} do {\n" LIST("n", "i")
                      IOTA("k", "n")
                          SUM("t", "k",
                              "?xi32") "  %w = stablehlo.add %v, %t : tensor<i32>\n"
                                       "  %j = stablehlo.add %i, %one : tensor<i32>\n"
                                       "  stablehlo.return %j, %w : tensor<i32>, tensor<i32>\n}\n"
                                       "%g = stablehlo.optimization_barrier %l#1 : "
                                       "tensor<i32>\n" SPREAD("g")),
       "dynamic_iota: dims that only the run knows, and that do not follow"},
      /* Drawn again, it would be another one. */
      {MAIN(C("shape", "1", "1xi64") C(
           "nine", "9", "i32") "%n = \"stablehlo.rng\"(%zero, %nine, %shape) {rng_distribution = "
                               "#stablehlo<rng_distribution UNIFORM>} : (tensor<i32>, tensor<i32>, "
                               "tensor<1xi64>) -> tensor<1xi32>\n" IOTA("i", "n") FILL("i")),
       "dynamic_iota: dims that only the run knows, and that do not follow"},
  };
  for (size_t i = 0; i < TT_COUNT(rows); i++) {
    tt_cpu_plan *plan = NULL;
    EXPECT_ERR(plan_of(rows[i].text, &plan), TT_UNIMPLEMENTED, rows[i].part);
    tt_cpu_plan_free(plan);
  }
}

/* More sizes than are kept, on threads that meet at the same plan. */
enum { THREADS = 4, SIZES = 24, ROUNDS = 3 };

static void *work(void *user) {
  _Alignas(64) int32_t x[INTS] = {0}, y[INTS] = {0};
  intptr_t wrong = 0;
  for (int round = 0; round < ROUNDS; round++)
    for (int32_t n = 0; n < SIZES; n++) {
      x[0] = n;
      tt_error *err = run_plan(user, (const void *[]){x}, (void *[]){y});
      int32_t m = n * (n - 1) / 2;
      wrong += err != NULL || y[0] != m * (m - 1) / 2;
      tt_error_free(err);
    }
  return (void *)wrong;
}

TEST_WITHOUT_TORTURE(cpu_stages, threads) {
  tt_cpu_plan *plan = NULL;
  pthread_t threads[THREADS];
  REQUIRE_OK(plan_of(cases[1].text, &plan));
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, work, plan) != 0)
      abort();
  for (int i = 0; i < THREADS; i++) {
    void *wrong = NULL;
    pthread_join(threads[i], &wrong);
    EXPECT_INT((intptr_t)wrong, 0);
  }
out:
  tt_cpu_plan_free(plan);
}
