/* Plans: memory, donation, control flow, errors. */
#include <pthread.h>
#include <string.h>

#include "cpu/kernel.h"
#include "cpu/memory.h"
#include "test.h"
#include "test_kernel_case.h"

enum { FLOATS = 16 };

static float *floats(float first, float step) {
  float *x = tt_cpu_memory_alloc(FLOATS * 4);
  for (int i = 0; x != NULL && i < FLOATS; i++)
    x[i] = first + step * (float)i;
  return x;
}

#define T "tensor<16xf32>"

/* A chain and an op that reads both its ends: one pass, no scratch. */
TEST(cpu_plan, fuses_elementwise) {
  tt_cpu_plan *plan = NULL;
  float *x = floats(0, 1), *y = floats(0, 0);
  REQUIRE(x != NULL && y != NULL);
  REQUIRE_OK(plan_of("func.func @main(%x: " T ") -> " T " {\n"
                     "%c = stablehlo.constant dense<2.0> : " T
                     "\n%0 = stablehlo.multiply %x, %c : " T "\n%1 = stablehlo.add %0, %x : " T
                     "\n%2 = stablehlo.subtract %1, %0 : " T "\n%3 = stablehlo.add %2, %1 : " T
                     "\nreturn %3 : " T "\n}",
                     &plan));
  EXPECT_INT(tt_cpu_plan_scratch(plan), 0);
  REQUIRE_OK(run_plan(plan, (const void *[]){x}, (void *[]){y}));
  for (int i = 0; i < FLOATS; i++)
    EXPECT_DOUBLE((double)y[i], 4.0 * i, 0);
out:
  tt_cpu_plan_free(plan);
  tt_cpu_memory_free(x);
  tt_cpu_memory_free(y);
}

/* Results that are parameters, constants, views, or the same value twice. */
TEST(cpu_plan, returns_what_it_did_not_make) {
  tt_cpu_plan *plan = NULL;
  size_t count = 0;
  float *x = floats(0, 1), *y[4] = {floats(0, 0), floats(0, 0), floats(0, 0), floats(0, 0)};
  REQUIRE(x != NULL && y[0] != NULL && y[1] != NULL && y[2] != NULL && y[3] != NULL);
  REQUIRE_OK(plan_of("func.func @main(%x: " T ") -> (" T ", " T ", " T ", tensor<4x4xf32>) {\n"
                     "%c = stablehlo.constant dense<2.0> : " T "\n%0 = stablehlo.add %x, %x : " T
                     "\n%1 = stablehlo.reshape %0 : (" T ") -> tensor<4x4xf32>\n"
                     "return %x, %c, %0, %1 : " T ", " T ", " T ", tensor<4x4xf32>\n}",
                     &plan));
  EXPECT_INT(tt_cpu_plan_results(plan, &count)[3].size, 64);
  EXPECT_INT(count, 4);
  REQUIRE_OK(run_plan(plan, (const void *[]){x}, (void *const *)(void *)y));
  EXPECT_DOUBLE((double)y[0][5], 5, 0);
  EXPECT_DOUBLE((double)y[1][15], 2, 0);
  EXPECT_DOUBLE((double)y[2][5], 10, 0);
  EXPECT_DOUBLE((double)y[3][5], 10, 0);
out:
  tt_cpu_plan_free(plan);
  tt_cpu_memory_free(x);
  for (int i = 0; i < 4; i++)
    tt_cpu_memory_free(y[i]);
}

/* Each result takes the memory of a parameter that the other one still needs. */
TEST(cpu_plan, donated_parameters_change_places) {
  tt_cpu_plan *plan = NULL;
  float *x = floats(0, 1), *y = floats(100, 1);
  REQUIRE(x != NULL && y != NULL);
  REQUIRE_OK(plan_of("func.func @main(%x: " T " {tf.aliasing_output = 0 : i32}, %y: " T
                     " {tf.aliasing_output = 1 : i32}) -> (" T ", " T ") {\n"
                     "return %y, %x : " T ", " T "\n}",
                     &plan));
  REQUIRE_OK(run_plan(plan, (const void *[]){x, y}, (void *[]){x, y}));
  EXPECT_DOUBLE((double)x[3], 103, 0);
  EXPECT_DOUBLE((double)y[3], 3, 0);
out:
  tt_cpu_plan_free(plan);
  tt_cpu_memory_free(x);
  tt_cpu_memory_free(y);
}

/* The first result would overwrite %x, which the second needs after it. */
TEST(cpu_plan, donated_parameter_is_read_to_its_end) {
  tt_cpu_plan *plan = NULL;
  float *x = floats(0, 1), *y = floats(0, 0);
  REQUIRE(x != NULL && y != NULL);
  REQUIRE_OK(plan_of("func.func @main(%x: " T " {tf.aliasing_output = 0 : i32}) -> (" T ", " T
                     ") {\n%0 = stablehlo.reverse %x, dims = [0] : " T "\n"
                     "%1 = stablehlo.reverse %0, dims = [0] : " T "\n"
                     "%2 = stablehlo.add %1, %x : " T "\nreturn %0, %2 : " T ", " T "\n}",
                     &plan));
  REQUIRE_OK(run_plan(plan, (const void *[]){x}, (void *[]){x, y}));
  for (int i = 0; i < FLOATS; i++) {
    EXPECT_DOUBLE((double)x[i], 15 - i, 0);
    EXPECT_DOUBLE((double)y[i], 2 * i, 0);
  }
out:
  tt_cpu_plan_free(plan);
  tt_cpu_memory_free(x);
  tt_cpu_memory_free(y);
}

/* An update of a donated parameter happens where it stands: no scratch. */
TEST(cpu_plan, updates_a_donated_parameter_in_place) {
  tt_cpu_plan *plan = NULL;
  float *x = floats(0, 1), *u = floats(50, 1);
  int32_t *i = tt_cpu_memory_alloc(4);
  REQUIRE(x != NULL && u != NULL && i != NULL);
  *i = 3;
  REQUIRE_OK(plan_of("func.func @main(%x: " T " {tf.aliasing_output = 0 : i32}, %u: "
                     "tensor<2xf32>, %i: tensor<i32>) -> " T " {\n%0 = "
                     "stablehlo.dynamic_update_slice %x, %u, %i : (" T ", tensor<2xf32>, "
                     "tensor<i32>) -> " T "\nreturn %0 : " T "\n}",
                     &plan));
  EXPECT_INT(tt_cpu_plan_scratch(plan), 0);
  REQUIRE_OK(run_plan(plan, (const void *[]){x, u, i}, (void *[]){x}));
  EXPECT_DOUBLE((double)x[2], 2, 0);
  EXPECT_DOUBLE((double)x[4], 51, 0);
  EXPECT_DOUBLE((double)x[5], 5, 0);
out:
  tt_cpu_plan_free(plan);
  tt_cpu_memory_free(x);
  tt_cpu_memory_free(u);
  tt_cpu_memory_free(i);
}

static const kernel_case control[] = {
    /* Values that change places in every iteration; one that stays; one read from outside. */
    {"tensor<3xi32>",
     "%0 = stablehlo.constant dense<0> : tensor<i32>\n%1 = stablehlo.constant dense<1> : "
     "tensor<i32>\n%5 = stablehlo.constant dense<5> : tensor<i32>\n"
     "%r:4 = stablehlo.while(%i = %0, %a = %0, %b = %1, %s = %5) : tensor<i32>, tensor<i32>, "
     "tensor<i32>, tensor<i32>\ncond {\n%t = stablehlo.compare LT, %i, %s : (tensor<i32>, "
     "tensor<i32>) -> tensor<i1>\nstablehlo.return %t : tensor<i1>\n} do {\n%n = stablehlo.add %i, "
     "%1 : tensor<i32>\n%f = stablehlo.add %a, %b : tensor<i32>\nstablehlo.return %n, %b, %f, %s : "
     "tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>\n}\n"
     "%x = stablehlo.reshape %r#1 : (tensor<i32>) -> tensor<1xi32>\n%y = stablehlo.reshape %r#2 : "
     "(tensor<i32>) -> tensor<1xi32>\n%z = stablehlo.reshape %r#3 : (tensor<i32>) -> "
     "tensor<1xi32>\n%got = stablehlo.concatenate %x, %y, %z, dim = 0 : (tensor<1xi32>, "
     "tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>",
     "[5, 8, 5]", 0},
    /* No iteration. */
    {"tensor<i32>",
     "%0 = stablehlo.constant dense<7> : tensor<i32>\n%r = stablehlo.while(%i = %0) : "
     "tensor<i32>\ncond {\n%t = stablehlo.compare NE, %i, %i : (tensor<i32>, tensor<i32>) -> "
     "tensor<i1>\nstablehlo.return %t : tensor<i1>\n} do {\n%n = stablehlo.add %i, %i : "
     "tensor<i32>\nstablehlo.return %n : tensor<i32>\n}\n%got = stablehlo.add %r, %r : tensor<i32>",
     "14", 0},
    /* An index out of range takes the last branch, which returns an outer value twice over. */
    {"tensor<2xi32>",
     "%i = stablehlo.constant dense<-3> : tensor<i32>\n%x = stablehlo.iota dim = 0 : "
     "tensor<2xi32>\n%got, %o = \"stablehlo.case\"(%i) ({ stablehlo.return %x, %x : tensor<2xi32>, "
     "tensor<2xi32> }, {\n%y = stablehlo.add %x, %x : tensor<2xi32>\nstablehlo.return %y, %x : "
     "tensor<2xi32>, tensor<2xi32> }) : (tensor<i32>) -> (tensor<2xi32>, tensor<2xi32>)",
     "[0, 2]", 0},
};
TEST(cpu_plan, control_flow) { CHECK_CASES(control); }

/* A loop whose state is updated in place while a copy of it from before the loop is needed after.
 */
TEST(cpu_plan, loop_state_does_not_leak_out) {
  static const kernel_case c = {
      "tensor<4xi32>",
      "%x = stablehlo.iota dim = 0 : tensor<4xi32>\n%0 = stablehlo.constant dense<0> : "
      "tensor<i32>\n%1 = stablehlo.constant dense<1> : tensor<i32>\n%3 = stablehlo.constant "
      "dense<3> : tensor<i32>\n%u = stablehlo.constant dense<9> : tensor<1xi32>\n"
      "%r:2 = stablehlo.while(%i = %0, %s = %x) : tensor<i32>, tensor<4xi32>\ncond {\n%t = "
      "stablehlo.compare LT, %i, %3 : (tensor<i32>, tensor<i32>) -> tensor<i1>\nstablehlo.return "
      "%t : tensor<i1>\n} do {\n%n = stablehlo.add %i, %1 : tensor<i32>\n%d = "
      "stablehlo.dynamic_update_slice %s, %u, %i : (tensor<4xi32>, tensor<1xi32>, tensor<i32>) -> "
      "tensor<4xi32>\nstablehlo.return %n, %d : tensor<i32>, tensor<4xi32>\n}\n"
      "%got = stablehlo.subtract %r#1, %x : tensor<4xi32>",
      "[9, 8, 7, 0]", 0};
  check_case(&c);
}

/* The sum of the rows of x, each read where it stands, and the last of them as the body returns it;
 * the rows that are read are those of x before the loop, though x is written in it. */
TEST(cpu_plan, loops_read_windows) {
  static const kernel_case c = {
      "tensor<3x16xi32>",
      "%x = stablehlo.iota dim = 0 : tensor<4x16xi32>\n%0 = stablehlo.constant dense<0> : "
      "tensor<i32>\n%1 = stablehlo.constant dense<1> : tensor<i32>\n%4 = stablehlo.constant "
      "dense<4> : tensor<i32>\n%z = stablehlo.constant dense<0> : tensor<1x16xi32>\n"
      "%r:5 = stablehlo.while(%i = %0, %s = %z, %l = %z, %w = %x, %p = %x) : tensor<i32>, "
      "tensor<1x16xi32>, tensor<1x16xi32>, tensor<4x16xi32>, tensor<4x16xi32>\ncond {\n%t = "
      "stablehlo.compare LT, %i, %4 : (tensor<i32>, tensor<i32>) -> tensor<i1>\nstablehlo.return "
      "%t : tensor<i1>\n} do {\n%n = stablehlo.add %i, %1 : tensor<i32>\n"
      "%k = stablehlo.dynamic_slice %p, %i, %0, sizes = [1, 16] : (tensor<4x16xi32>, tensor<i32>, "
      "tensor<i32>) -> tensor<1x16xi32>\n%o = stablehlo.dynamic_slice %w, %i, %0, sizes = [1, 16] "
      ": "
      "(tensor<4x16xi32>, tensor<i32>, tensor<i32>) -> tensor<1x16xi32>\n%d = stablehlo.add %k, %o "
      ": "
      "tensor<1x16xi32>\n%u = stablehlo.dynamic_update_slice %w, %d, %n, %0 : (tensor<4x16xi32>, "
      "tensor<1x16xi32>, tensor<i32>, tensor<i32>) -> tensor<4x16xi32>\n%a = stablehlo.add %s, %o "
      ": "
      "tensor<1x16xi32>\nstablehlo.return %n, %a, %k, %u, %p : tensor<i32>, tensor<1x16xi32>, "
      "tensor<1x16xi32>, tensor<4x16xi32>, tensor<4x16xi32>\n}\n"
      "%m = stablehlo.slice %r#3 [3:4, 0:16] : (tensor<4x16xi32>) -> tensor<1x16xi32>\n"
      "%got = stablehlo.concatenate %r#1, %r#2, %m, dim = 0 : (tensor<1x16xi32>, tensor<1x16xi32>, "
      "tensor<1x16xi32>) -> tensor<3x16xi32>",
      /* rows of w as they are read: 0, 0, 1, 3; the last is written with 3 + 3 */
      "[[4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4], "
      "[3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3], "
      "[6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6]]",
      0};
  check_case(&c);
}

TEST(cpu_plan, calls) {
  tt_cpu_plan *plan = NULL;
  float *x = floats(0, 1), *y = floats(0, 0);
  REQUIRE(x != NULL && y != NULL);
  REQUIRE_OK(plan_of("func.func @main(%x: " T ") -> " T " {\n%0 = call @twice(%x) : (" T ") -> " T
                     "\n%1 = call @twice(%0) : (" T ") -> " T "\nreturn %1 : " T "\n}\n"
                     "func.func private @twice(%x: " T ") -> " T
                     " {\n%0 = stablehlo.add %x, %x : " T "\nreturn %0 : " T "\n}",
                     &plan));
  REQUIRE_OK(run_plan(plan, (const void *[]){x}, (void *[]){y}));
  EXPECT_DOUBLE((double)y[5], 20, 0);
out:
  tt_cpu_plan_free(plan);
  tt_cpu_memory_free(x);
  tt_cpu_memory_free(y);
}

TEST(cpu_plan, refuses) {
  static const struct {
    const char *text, *part;
    tt_code code;
  } rows[] = {
      {"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = call @main(%x) : "
       "(tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}",
       "@main calls itself", TT_INVALID_ARGUMENT},
      {"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = call @f(%x) : "
       "(tensor<4xf32>) -> tensor<4xf32>\n%1 = call @main(%0) : (tensor<4xf32>) -> "
       "tensor<4xf32>\nreturn %1 : tensor<4xf32>\n}\nfunc.func private @f(%x: tensor<4xf32>) -> "
       "tensor<4xf32> {\nreturn %x : tensor<4xf32>\n}",
       "@main calls itself", TT_INVALID_ARGUMENT},
      {"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\nreturn %x : tensor<?xf32>\n}",
       "dims that only the run knows", TT_UNIMPLEMENTED},
      {"func.func @main(%x: tensor<2xui64>) -> (tensor<2xui64>, tensor<2xf32>) {\n%0, %1 = "
       "stablehlo.rng_bit_generator %x, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, "
       "tensor<2xf32>)\nreturn %0, %1 : tensor<2xui64>, tensor<2xf32>\n}",
       "rng_bit_generator is not implemented for f32", TT_UNIMPLEMENTED},
      {"func.func @main(%x: tensor<2xf8E5M2>) -> tensor<2xf8E5M2> {\n%0 = \"chlo.next_after\"(%x, "
       "%x) : (tensor<2xf8E5M2>, tensor<2xf8E5M2>) -> tensor<2xf8E5M2>\nreturn %0 : "
       "tensor<2xf8E5M2>\n}",
       "chlo.next_after is not implemented for f8E5M2", TT_UNIMPLEMENTED},
  };
  for (size_t i = 0; i < TT_COUNT(rows); i++) {
    tt_cpu_plan *plan = NULL;
    EXPECT_ERR(plan_of(rows[i].text, &plan), rows[i].code, rows[i].part);
    tt_cpu_plan_free(plan);
  }
}

/* 2^60 bytes between: RESOURCE_EXHAUSTED, and no try to touch them. */
TEST(cpu_plan, too_large_a_value_is_an_error) {
  tt_cpu_plan *plan = NULL;
  float *y = floats(0, 0);
  REQUIRE(y != NULL);
  REQUIRE_OK(
      plan_of("func.func @main() -> tensor<f32> {\n%z = stablehlo.constant dense<0.0> : "
              "tensor<f32>\n%x = stablehlo.iota dim = 0 : tensor<288230376151711744xf32>\n"
              "%0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = "
              "[0] : (tensor<288230376151711744xf32>, tensor<f32>) -> tensor<f32>\n"
              "return %0 : tensor<f32>\n}",
              &plan));
  EXPECT_ERR(run_plan(plan, NULL, (void *[]){y}), TT_RESOURCE_EXHAUSTED, "bytes of values");
out:
  tt_cpu_plan_free(plan);
  tt_cpu_memory_free(y);
}

/* ---- threads ---- */

typedef struct runner {
  const tt_cpu_plan *plan;
  bool ok;
} runner;

static void *run_often(void *user) {
  runner *r = user;
  enum { SIDE = 256 };
  float *x = tt_cpu_memory_alloc(SIDE * SIDE * 4), *y = tt_cpu_memory_alloc(SIDE * SIDE * 4);
  r->ok = x != NULL && y != NULL;
  for (int i = 0; r->ok && i < SIDE * SIDE; i++)
    x[i] = 1;
  for (int round = 0; r->ok && round < 20; round++) {
    tt_error *err = run_plan(r->plan, (const void *[]){x}, (void *[]){y});
    r->ok = err == NULL;
    tt_error_free(err);
    for (int i = 0; r->ok && i < SIDE * SIDE; i++)
      r->ok = y[i] == 2 * SIDE;
  }
  tt_cpu_memory_free(x);
  tt_cpu_memory_free(y);
  return NULL;
}

/* One plan, several threads, work that wants the pool. */
TEST_WITHOUT_TORTURE(cpu_plan, runs_at_the_same_time) {
  enum { THREADS = 3 };
  tt_cpu_plan *plan = NULL;
  pthread_t threads[THREADS];
  runner runners[THREADS];
  int started = 0;
  REQUIRE_OK(
      plan_of("func.func @main(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {\n"
              "%0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : "
              "(tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>\n"
              "%1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<256x256xf32>) -> "
              "tensor<256x256xf32>\n%2 = stablehlo.add %0, %1 : tensor<256x256xf32>\n"
              "return %2 : tensor<256x256xf32>\n}",
              &plan));
  for (; started < THREADS; started++) {
    runners[started] = (runner){plan, false};
    REQUIRE(pthread_create(&threads[started], NULL, run_often, &runners[started]) == 0);
  }
out:
  for (int i = 0; i < started; i++) {
    pthread_join(threads[i], NULL);
    EXPECT(runners[i].ok);
  }
  tt_cpu_plan_free(plan);
}

static void mark(int64_t begin, int64_t end, void *user) {
  int *counts = user;
  for (int64_t i = begin; i < end; i++)
    counts[i]++;
}

static void nest(int64_t begin, int64_t end, void *user) {
  int *counts = user;
  for (int64_t i = begin; i < end; i++)
    tt_cpu_parallel(100, 1e6, mark, counts + 100 * i);
}

/* Every item once; a call from within a body too. */
TEST_WITHOUT_TORTURE(cpu_plan, parallel_takes_each_item_once) {
  static int counts[10000];
  for (int round = 0; round < 50; round++) {
    memset(counts, 0, sizeof counts);
    tt_cpu_parallel(10000, 1e3, mark, counts);
    for (int i = 0; i < 10000; i++)
      if (!EXPECT_INT(counts[i], 1))
        return;
  }
  memset(counts, 0, sizeof counts);
  tt_cpu_parallel(100, 1e6, nest, counts);
  for (int i = 0; i < 10000; i++)
    if (!EXPECT_INT(counts[i], 1))
      return;
}
