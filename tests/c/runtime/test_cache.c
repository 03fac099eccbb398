#include <pthread.h>

#include "rt_test.h"

/* ---- hits and misses ---- */

TEST_WITHOUT_TORTURE(rt_cache, second_call_is_a_hit) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, y = {0};
  float data[7] = {1, 2, 3, 4, 5, 6, 7}, got[7];
  tt_rt_stats before, first, second;
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, data, 7, &x));
  before = rt_stats(rt);
  rt_metas_asked = 0;
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  rt_drop(&y);
  first = rt_stats(rt);
  EXPECT_INT(first.misses - before.misses, 1);
  EXPECT_INT(first.programs - before.programs, 1);
  EXPECT_INT(first.programs_cached - before.programs_cached, 1);
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  second = rt_stats(rt);
  EXPECT_INT(second.hits - first.hits, 1);
  EXPECT_INT(second.misses, first.misses);
  EXPECT_INT(second.executions - first.executions, 1);
  EXPECT_INT(rt_metas_asked, 1);
  REQUIRE_OK(rt_read(&y, got));
  for (int i = 0; i < 7; i++)
    EXPECT_DOUBLE(got[i], 2 * data[i], 0);
out:
  rt_drop(&x);
  rt_drop(&y);
}

/* What a program is made for: each of these differs from the first call in one thing. */
TEST_WITHOUT_TORTURE(rt_cache, key_tells_calls_apart) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, z = {0}, long_x = {0}, wide = {0}, turned, out = {0};
  const rt_tensor *pairs[][2] = {{&x, &z},       {&x, &x},      {&long_x, &long_x},
                                 {&wide, &wide}, {&x, &turned}, {&turned, &z}};
  float data[12] = {0};
  double wide_data[9] = {0};
  int64_t misses;
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_new(rt, TT_F32, 2, (int64_t[]){3, 3}, data, &x));
  REQUIRE_OK(rt_new(rt, TT_F32, 2, (int64_t[]){3, 3}, data, &z));
  REQUIRE_OK(rt_new(rt, TT_F32, 2, (int64_t[]){4, 3}, data, &long_x));
  REQUIRE_OK(rt_new(rt, TT_F64, 2, (int64_t[]){3, 3}, wide_data, &wide));
  turned = x;
  turned.strides[0] = 1;
  turned.strides[1] = 3;
  for (size_t i = 0; i < TT_COUNT(pairs); i++) {
    misses = rt_stats(rt).misses;
    for (int again = 0; again < 2; again++) {
      REQUIRE_OK(rt_add(rt, pairs[i][0], pairs[i][1], 1, NULL, &out));
      rt_drop(&out);
    }
    EXPECT_INT(rt_stats(rt).misses - misses, 1);
  }
  misses = rt_stats(rt).misses;
  tt_rt_precision_set(rt, TT_HLO_PRECISION_DEFAULT);
  EXPECT_OK(rt_add(rt, &x, &z, 1, NULL, &out));
  tt_rt_precision_set(rt, TT_HLO_PRECISION_HIGHEST);
  EXPECT_INT(rt_stats(rt).misses - misses, 1);
out:
  rt_drop(&x);
  rt_drop(&z);
  rt_drop(&long_x);
  rt_drop(&wide);
  rt_drop(&out);
}

TEST_WITHOUT_TORTURE(rt_cache, same_text_shares_an_executable) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, y = {0};
  tt_rt_arg args[3];
  float data[11] = {0};
  tt_rt_stats before;
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, data, 11, &x));
  args[0] = args[1] = rt_arg(&x);
  args[2] = rt_float(1);
  REQUIRE_OK(rt_call(rt, "aten::add.Tensor", args, 3, &x, NULL, &y));
  rt_drop(&y);
  before = rt_stats(rt);
  args[2] = rt_int(1); /* another key, the same text */
  REQUIRE_OK(rt_call(rt, "aten::add.Tensor", args, 3, &x, NULL, &y));
  EXPECT_INT(rt_stats(rt).misses - before.misses, 1);
  EXPECT_INT(rt_stats(rt).programs, before.programs);
out:
  rt_drop(&x);
  rt_drop(&y);
}

TEST_WITHOUT_TORTURE(rt_cache, clear_forgets) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, y = {0};
  float data[13] = {1}, got[13];
  int64_t programs;
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, data, 13, &x));
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  rt_drop(&y);
  programs = rt_stats(rt).programs;
  tt_rt_cache_clear(rt);
  EXPECT_INT(rt_stats(rt).programs_cached, 0);
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  EXPECT_INT(rt_stats(rt).programs - programs, 1);
  REQUIRE_OK(rt_read(&y, got));
  EXPECT_DOUBLE(got[0], 2, 0);
out:
  rt_drop(&x);
  rt_drop(&y);
}

/* ---- promotion ---- */

TEST_WITHOUT_TORTURE(rt_promote, a_changing_scalar_compiles_twice_at_most) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, y = {0};
  float data[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, got[9];
  int64_t programs;
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, data, 9, &x));
  programs = rt_stats(rt).programs;
  for (int step = 1; step <= 8; step++) {
    double alpha = 0.25 * step;
    REQUIRE_OK(rt_add(rt, &x, &x, alpha, NULL, &y));
    REQUIRE_OK(rt_read(&y, got));
    for (int i = 0; i < 9; i++)
      EXPECT_DOUBLE(got[i], data[i] * (1 + alpha), 1e-5);
    rt_drop(&y);
  }
  EXPECT(rt_stats(rt).programs - programs <= 2);
out:
  rt_drop(&x);
  rt_drop(&y);
}

/* Integers of every size, negative too, and doubles that float32 cannot hold. */
TEST_WITHOUT_TORTURE(rt_promote, parameters_are_exact) {
  tt_rt *rt = rt_get();
  rt_tensor n = {0}, d = {0}, y = {0};
  int64_t ints[2] = {5, -7}, got_ints[2];
  double doubles[2] = {0.5, -0.5}, got[2];
  const int64_t steps[] = {1, -1, INT64_MAX - 10, INT64_MIN + 10, (1LL << 53) + 1};
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_new(rt, TT_S64, 1, &(int64_t){2}, ints, &n));
  REQUIRE_OK(rt_new(rt, TT_F64, 1, &(int64_t){2}, doubles, &d));
  for (size_t i = 0; i < TT_COUNT(steps); i++) {
    tt_rt_arg args[] = {rt_arg(&n), rt_int(steps[i]), rt_int(1)};
    REQUIRE_OK(rt_call(rt, "aten::add.Scalar", args, 3, &n, NULL, &y));
    REQUIRE_OK(rt_read(&y, got_ints));
    for (int k = 0; k < 2; k++)
      EXPECT_INT(got_ints[k], (int64_t)((uint64_t)ints[k] + (uint64_t)steps[i]));
    rt_drop(&y);
  }
  for (int i = 1; i <= 4; i++) {
    double value = 1e-17 * i + i;
    tt_rt_arg args[] = {rt_arg(&d), rt_float(value), rt_int(1)};
    REQUIRE_OK(rt_call(rt, "aten::mul.Scalar", args, 2, &d, NULL, &y));
    REQUIRE_OK(rt_read(&y, got));
    for (int k = 0; k < 2; k++)
      EXPECT_DOUBLE(got[k], doubles[k] * value, 0);
    rt_drop(&y);
  }
out:
  rt_drop(&n);
  rt_drop(&d);
  rt_drop(&y);
}

/* threshold's bound may be a parameter; a number that a rule needs now is none, and every value is
 * right. */
TEST_WITHOUT_TORTURE(rt_promote, a_rule_may_insist_on_the_number) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, y = {0};
  float data[3] = {1, 2, 3}, got[3];
  const double exponents[] = {2, 0.5, 3, -1, 2, 0};
  const float want[][3] = {{1, 4, 9},  {1, 1.4142135f, 1.7320508f},
                           {1, 8, 27}, {1, 0.5f, 0.33333334f},
                           {1, 4, 9},  {1, 1, 1}};
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, data, 3, &x));
  for (size_t i = 0; i < TT_COUNT(exponents); i++) {
    tt_rt_arg args[] = {rt_arg(&x), rt_float(exponents[i])};
    REQUIRE_OK(rt_call(rt, "aten::pow.Tensor_Scalar", args, 2, &x, NULL, &y));
    REQUIRE_OK(rt_read(&y, got));
    for (int k = 0; k < 3; k++)
      EXPECT_DOUBLE(got[k], want[i][k], 1e-5);
    rt_drop(&y);
  }
out:
  rt_drop(&x);
  rt_drop(&y);
}

TEST_WITHOUT_TORTURE(rt_promote, a_host_tensor_is_a_parameter_from_the_start) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, y = {0};
  float data[5] = {1, 2, 3, 4, 5}, got[5];
  int64_t programs;
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, data, 5, &x));
  programs = rt_stats(rt).programs;
  for (int i = 0; i < 3; i++) {
    tt_rt_arg number = {.kind = TT_RT_HOST_SCALAR, .dtype = TT_F32, .real = i + 0.5};
    tt_rt_arg args[] = {rt_arg(&x), number};
    REQUIRE_OK(rt_call(rt, "aten::mul.Tensor", args, 2, &x, NULL, &y));
    REQUIRE_OK(rt_read(&y, got));
    EXPECT_DOUBLE(got[4], 5 * (i + 0.5), 1e-6);
    rt_drop(&y);
  }
  EXPECT_INT(rt_stats(rt).programs - programs, 1);
out:
  rt_drop(&x);
  rt_drop(&y);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 40 };
typedef struct worker {
  pthread_t thread;
  tt_rt *rt;
  bool good;
} worker;

static void *work(void *pointer) {
  worker *w = pointer;
  for (int i = 0; w->good && i < ROUNDS; i++) {
    rt_tensor x = {0}, y = {0};
    float data[17], got[17] = {0};
    tt_error *err;
    for (int k = 0; k < 17; k++)
      data[k] = (float)(i + k);
    err = rt_vector(w->rt, data, 17, &x);
    err = err != NULL ? err : rt_add(w->rt, &x, &x, 1 + i % 3, NULL, &y);
    err = err != NULL ? err : rt_add(w->rt, &y, &x, 1, &y, NULL);
    err = err != NULL ? err : rt_read(&y, got);
    w->good = err == NULL;
    for (int k = 0; w->good && k < 17; k++)
      w->good = got[k] == data[k] * (float)(3 + i % 3);
    tt_error_free(err);
    rt_drop(&x);
    rt_drop(&y);
  }
  return NULL;
}

TEST_WITHOUT_TORTURE(rt_cache, threads_share_it) {
  tt_rt *rt = rt_get();
  worker workers[THREADS];
  if (rt == NULL)
    goto out;
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.rt = rt, .good = true};
    pthread_create(&workers[i].thread, NULL, work, &workers[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(workers[i].thread, NULL);
    EXPECT(workers[i].good);
  }
out:;
}
