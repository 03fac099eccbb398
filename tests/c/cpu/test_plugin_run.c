/* Runs: on the caller's thread and behind it, donation, failures, many at once. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "plugin_test.h"
#include "test.h"

typedef struct add {
  cpu_setup s;
  tt_pj_executable *executable;
  tt_pj_buffer *args[2], *out;
} add;

/* 1 + 2, of `count` floats. */
static bool set_up(add *a, int64_t devices, int64_t count, const char *marks) {
  *a = (add){.executable = NULL};
  return cpu_set_up(&a->s, devices) &&
         EXPECT_OK(cpu_compile(&a->s, cpu_add_text(count, marks), NULL, &a->executable)) &&
         EXPECT_OK(cpu_filled(&a->s, a->s.devices[0], count, 1, &a->args[0])) &&
         EXPECT_OK(cpu_filled(&a->s, a->s.devices[0], count, 2, &a->args[1]));
}

static void tear_down(add *a) {
  tt_pj_executable_free(a->executable);
  tt_pj_buffer_free(a->s.plugin, a->args[0]);
  tt_pj_buffer_free(a->s.plugin, a->args[1]);
  tt_pj_buffer_free(a->s.plugin, a->out);
  cpu_tear_down(&a->s);
}

static tt_error *run(add *a, tt_pj_event **out_done) {
  return tt_pj_execute(a->executable, a->args, 2, NULL, &a->out, out_done);
}

TEST_WITHOUT_TORTURE(cpu_plugin_run, small_runs_are_done_at_once) {
  add a;
  tt_pj_event *done = NULL;
  if (!set_up(&a, 1, 16, ""))
    goto out;
  REQUIRE_OK(run(&a, &done));
  EXPECT(tt_pj_event_is_ready(a.s.plugin, done));
  REQUIRE_OK(tt_pj_event_await_take(a.s.plugin, done));
  cpu_expect_filled(&a.s, a.out, 16, 3);
out:
  tear_down(&a);
}

/* Inputs and outputs may be freed while the runs that use them wait. */
TEST_WITHOUT_TORTURE(cpu_plugin_run, a_chain_of_large_runs) {
  add a;
  if (!set_up(&a, 1, CPU_LARGE, ""))
    goto out;
  for (int i = 0; i < 20; i++) {
    REQUIRE_OK(run(&a, NULL));
    tt_pj_buffer_free(a.s.plugin, a.args[0]);
    a.args[0] = a.out;
    a.out = NULL;
  }
  cpu_expect_filled(&a.s, a.args[0], CPU_LARGE, 41);
  REQUIRE_OK(run(&a, NULL));
  tt_pj_executable_free(a.executable);
  a.executable = NULL;
  tt_pj_buffer_free(a.s.plugin, a.args[0]);
  tt_pj_buffer_free(a.s.plugin, a.args[1]);
  a.args[0] = a.args[1] = NULL;
  cpu_expect_filled(&a.s, a.out, CPU_LARGE, 43);
out:
  tear_down(&a);
}

static void note(tt_error *err, void *user) {
  tt_error_free(err);
  atomic_fetch_add((atomic_int *)user, 1);
}

TEST_WITHOUT_TORTURE(cpu_plugin_run, callbacks_come_once) {
  enum { COUNT = 50 };
  add a;
  static atomic_int calls;
  tt_pj_waiter waiters[COUNT];
  tt_pj_event *done = NULL;
  atomic_store(&calls, 0);
  if (!set_up(&a, 1, CPU_LARGE, ""))
    goto out;
  REQUIRE_OK(run(&a, &done));
  for (int i = 0; i < COUNT; i++) {
    waiters[i] = (tt_pj_waiter){note, &calls, NULL};
    REQUIRE_OK(tt_pj_event_on_ready(a.s.plugin, done, &waiters[i]));
  }
  REQUIRE_OK(tt_pj_buffer_await(a.s.plugin, a.out));
  REQUIRE_OK(tt_pj_event_await_take(a.s.plugin, done));
out:
  tear_down(&a); /* waits for the device's thread */
  EXPECT_INT(atomic_load(&calls), COUNT);
}

TEST_WITHOUT_TORTURE(cpu_plugin_run, asynchronous_reads_and_copies) {
  add a;
  tt_pj_buffer *there = NULL;
  tt_pj_event *read = NULL;
  float *back = malloc(CPU_LARGE * sizeof *back);
  if (!set_up(&a, 2, CPU_LARGE, "") || !EXPECT(back != NULL))
    goto out;
  REQUIRE_OK(run(&a, NULL));
  REQUIRE_OK(tt_pj_buffer_copy_to_device(a.s.plugin, a.out, a.s.devices[1], &there));
  REQUIRE_OK(tt_pj_buffer_to_host(a.s.plugin, a.out, back, CPU_LARGE * sizeof *back, &read));
  tt_pj_buffer_free(a.s.plugin, a.out);
  a.out = NULL;
  REQUIRE_OK(tt_pj_event_await_take(a.s.plugin, read));
  EXPECT_DOUBLE((double)back[CPU_LARGE - 1], 3, 0);
  cpu_expect_filled(&a.s, there, CPU_LARGE, 3);
out:
  tt_pj_buffer_free(a.s.plugin, there);
  tear_down(&a);
  free(back);
}

TEST_WITHOUT_TORTURE(cpu_plugin_run, synchronous_clients) {
  cpu_setup s = {.plugin = cpu_plugin()};
  tt_pj_value option = tt_pj_value_bool("asynchronous", false);
  tt_pj_executable *executable = NULL;
  tt_pj_buffer *args[2] = {NULL, NULL}, *out = NULL;
  tt_pj_event *done = NULL;
  if (s.plugin == NULL)
    goto out;
  REQUIRE_OK(tt_pj_client_create(s.plugin, &option, 1, &s.client));
  s.devices = tt_pj_client_devices(s.client, &s.count);
  REQUIRE_OK(cpu_compile(&s, cpu_add_text(CPU_LARGE, ""), NULL, &executable));
  REQUIRE_OK(cpu_filled(&s, s.devices[0], CPU_LARGE, 1, &args[0]));
  REQUIRE_OK(cpu_filled(&s, s.devices[0], CPU_LARGE, 2, &args[1]));
  REQUIRE_OK(tt_pj_execute(executable, args, 2, NULL, &out, &done));
  EXPECT(tt_pj_event_is_ready(s.plugin, done));
  tt_pj_event_free(s.plugin, done);
  cpu_expect_filled(&s, out, CPU_LARGE, 3);
out:
  tt_pj_executable_free(executable);
  tt_pj_buffer_free(s.plugin, args[0]);
  tt_pj_buffer_free(s.plugin, args[1]);
  tt_pj_buffer_free(s.plugin, out);
  cpu_tear_down(&s);
}

/* ---- donation ---- */

static uintptr_t address(const add *a, tt_pj_buffer *buffer) {
  uintptr_t got = 0;
  EXPECT_OK(tt_pj_buffer_address(a->s.plugin, buffer, &got));
  return got;
}

static void expect_donation_in_place(int64_t count) {
  add a;
  uintptr_t before = 0;
  if (!set_up(&a, 1, count, CPU_ALIAS))
    goto out;
  before = address(&a, a.args[0]);
  for (int i = 0; i < 5; i++) {
    REQUIRE_OK(run(&a, NULL));
    EXPECT(tt_pj_buffer_is_deleted(a.s.plugin, a.args[0]));
    EXPECT(!tt_pj_buffer_is_deleted(a.s.plugin, a.args[1]));
    tt_pj_buffer_free(a.s.plugin, a.args[0]);
    a.args[0] = a.out;
    a.out = NULL;
  }
  cpu_expect_filled(&a.s, a.args[0], count, 11);
  EXPECT(address(&a, a.args[0]) == before);
out:
  tear_down(&a);
}

TEST_WITHOUT_TORTURE(cpu_plugin_run, donated_memory_is_written_in_place) {
  expect_donation_in_place(16);
  expect_donation_in_place(CPU_LARGE);
}

TEST_WITHOUT_TORTURE(cpu_plugin_run, pinned_and_kept_memory_is_not_taken) {
  static const int64_t keep[] = {0};
  tt_pj_execute_options options = {.keep = keep, .keep_count = 1};
  add a;
  void *pinned = NULL;
  if (!set_up(&a, 1, 16, CPU_ALIAS))
    goto out;
  REQUIRE_OK(tt_pj_execute(a.executable, a.args, 2, &options, &a.out, NULL));
  EXPECT(!tt_pj_buffer_is_deleted(a.s.plugin, a.args[0]));
  cpu_expect_filled(&a.s, a.args[0], 16, 1);
  tt_pj_buffer_free(a.s.plugin, a.out);
  a.out = NULL;
  REQUIRE_OK(tt_pj_buffer_pin(a.s.plugin, a.args[0], &pinned));
  REQUIRE_OK(run(&a, NULL));
  EXPECT(tt_pj_buffer_is_deleted(a.s.plugin, a.args[0]));
  EXPECT_DOUBLE((double)*(float *)pinned, 1, 0);
  EXPECT(address(&a, a.out) != (uintptr_t)pinned);
  tt_pj_buffer_unpin(a.s.plugin, a.args[0]);
  cpu_expect_filled(&a.s, a.out, 16, 3);
out:
  tear_down(&a);
}

/* Whether donation of a zero-copy buffer writes to the host's memory. */
static void expect_host_donation(tt_pj_host_semantics semantics, bool written) {
  add a;
  int64_t count = 16;
  float *data = aligned_alloc(64, 64);
  tt_pj_event *done = NULL;
  tt_pj_host_array array = {data, TT_F32, &count, 1, NULL};
  if (!set_up(&a, 1, count, CPU_ALIAS) || !EXPECT(data != NULL))
    goto out;
  for (int i = 0; i < 16; i++)
    data[i] = 1;
  tt_pj_buffer_free(a.s.plugin, a.args[0]);
  a.args[0] = NULL;
  REQUIRE_OK(tt_pj_buffer_from_host(a.s.client, a.s.devices[0], NULL, &array, semantics, &a.args[0],
                                    &done));
  REQUIRE_OK(run(&a, NULL));
  EXPECT_DOUBLE((double)data[15], written ? 3 : 1, 0);
  EXPECT(tt_pj_event_is_ready(a.s.plugin, done) == !written);
  cpu_expect_filled(&a.s, a.out, 16, 3);
  tt_pj_buffer_free(a.s.plugin, a.out);
  a.out = NULL;
  EXPECT(tt_pj_event_is_ready(a.s.plugin, done));
out:
  tt_pj_event_free(a.s.plugin, done);
  tear_down(&a);
  free(data);
}

TEST_WITHOUT_TORTURE(cpu_plugin_run, host_memory_is_written_only_where_allowed) {
  expect_host_donation(TT_PJ_HOST_ZERO_COPY, false);
  expect_host_donation(TT_PJ_HOST_ZERO_COPY_MUTABLE, true);
}

/* ---- errors ---- */

TEST_WITHOUT_TORTURE(cpu_plugin_run, wrong_arguments_leave_nothing_behind) {
  add a;
  tt_pj_buffer *small = NULL, *twice[2], *elsewhere = NULL;
  if (!set_up(&a, 2, 16, CPU_ALIAS))
    goto out;
  EXPECT_ERR(tt_pj_execute(a.executable, a.args, 1, NULL, &a.out, NULL), TT_INVALID_ARGUMENT,
             "1 arguments, expected 2");
  twice[0] = twice[1] = a.args[0];
  EXPECT_ERR(tt_pj_execute(a.executable, twice, 2, NULL, &a.out, NULL), TT_INVALID_ARGUMENT,
             "argument 1: the buffer has been deleted or donated");
  EXPECT(!tt_pj_buffer_is_deleted(a.s.plugin, a.args[0]));
  REQUIRE_OK(cpu_filled(&a.s, a.s.devices[0], 2, 1, &small));
  twice[1] = small;
  EXPECT_ERR(tt_pj_execute(a.executable, twice, 2, NULL, &a.out, NULL), TT_INVALID_ARGUMENT,
             "argument 1 has the wrong type or size: the program's is tensor<16xf32>, and the "
             "buffer's is tensor<2xf32>");
  twice[1] = NULL;
  EXPECT_ERR(tt_pj_execute(a.executable, twice, 2, NULL, &a.out, NULL), TT_INVALID_ARGUMENT,
             "argument 1 is NULL");
  REQUIRE_OK(cpu_filled(&a.s, a.s.devices[1], 16, 1, &elsewhere));
  twice[1] = elsewhere;
  EXPECT_ERR(tt_pj_execute(a.executable, twice, 2, NULL, &a.out, NULL), TT_INVALID_ARGUMENT,
             "argument 1 is on device 1, the program on 0");
  REQUIRE_OK(run(&a, NULL));
  cpu_expect_filled(&a.s, a.out, 16, 3);
out:
  tt_pj_buffer_free(a.s.plugin, small);
  tt_pj_buffer_free(a.s.plugin, elsewhere);
  tear_down(&a);
}

/* A client whose limit leaves room for the arguments and nothing else. */
TEST_WITHOUT_TORTURE(cpu_plugin_run, failure_poisons_what_comes_of_it) {
  add a;
  tt_pj_memory_stats stats;
  tt_pj_value limit;
  tt_pj_client *limiting = NULL;
  tt_pj_buffer *next = NULL, *args[2], *copy = NULL;
  tt_pj_event *done = NULL;
  if (!set_up(&a, 1, CPU_LARGE, ""))
    goto out;
  REQUIRE_OK(tt_pj_device_memory_stats(a.s.plugin, a.s.devices[0], &stats));
  limit = tt_pj_value_int64("memory_limit", stats.in_use + 4096);
  REQUIRE_OK(tt_pj_client_create(a.s.plugin, &limit, 1, &limiting));
  REQUIRE_OK(run(&a, &done));
  args[0] = a.out;
  args[1] = a.args[1];
  REQUIRE_OK(tt_pj_execute(a.executable, args, 2, NULL, &next, NULL));
  EXPECT_ERR(tt_pj_event_await(a.s.plugin, done), TT_RESOURCE_EXHAUSTED,
             "output 0: out of memory for tensor<1048576xf32>: 4194304 bytes wanted");
  EXPECT_ERR(tt_pj_event_await_take(a.s.plugin, done), TT_RESOURCE_EXHAUSTED, "4194304");
  EXPECT_ERR(tt_pj_buffer_await(a.s.plugin, a.out), TT_RESOURCE_EXHAUSTED, "4194304");
  EXPECT_ERR(tt_pj_buffer_await(a.s.plugin, next), TT_RESOURCE_EXHAUSTED, "4194304");
  EXPECT_ERR(tt_pj_buffer_copy_to_device(a.s.plugin, next, a.s.devices[0], &copy),
             TT_RESOURCE_EXHAUSTED, "4194304");
out:
  tt_pj_client_free(limiting);
  limiting = NULL;
  limit = tt_pj_value_int64("memory_limit", INT64_MAX);
  EXPECT_OK(tt_pj_client_create(a.s.plugin, &limit, 1, &limiting));
  tt_pj_client_free(limiting);
  tt_pj_buffer_free(a.s.plugin, next);
  tear_down(&a);
}

/* ---- devices and threads ---- */

/* The first argument's value is how many of the second's are summed. A wrong one is the error of
 * that run's event and output; the next run is as if it had not been. */
TEST_WITHOUT_TORTURE(cpu_plugin_run, sizes_of_which_only_the_run_knows) {
  static const char text[] =
      "func.func @main(%n: tensor<16xf32>, %x: tensor<16xf32>) -> tensor<f32> {\n"
      "%z = stablehlo.constant dense<0> : tensor<1xi32>\n"
      "%o = stablehlo.constant dense<1> : tensor<1xi32>\n"
      "%f = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%a = stablehlo.slice %n [0:1] : (tensor<16xf32>) -> tensor<1xf32>\n"
      "%l = stablehlo.convert %a : (tensor<1xf32>) -> tensor<1xi32>\n"
      "%v = stablehlo.real_dynamic_slice %x, %z, %l, %o : (tensor<16xf32>, tensor<1xi32>, "
      "tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>\n"
      "%r = stablehlo.reduce(%v init: %f) applies stablehlo.add across dimensions = [0] : "
      "(tensor<?xf32>, tensor<f32>) -> tensor<f32>\nreturn %r : tensor<f32>\n}\n";
  static const float sizes[] = {3, 17, -1, 16, 3};
  add a;
  float sum = 0;
  if (!set_up(&a, 1, 16, ""))
    goto out;
  tt_pj_executable_free(a.executable);
  a.executable = NULL;
  REQUIRE_OK(cpu_compile(&a.s, text, NULL, &a.executable));
  for (size_t i = 0; i < TT_COUNT(sizes); i++) {
    tt_pj_event *done = NULL;
    tt_pj_buffer_free(a.s.plugin, a.args[0]);
    a.args[0] = NULL;
    REQUIRE_OK(cpu_filled(&a.s, a.s.devices[0], 16, sizes[i], &a.args[0]));
    REQUIRE_OK(run(&a, &done));
    tt_error *err = tt_pj_event_await_take(a.s.plugin, done);
    if (sizes[i] < 0 || sizes[i] > 16) {
      EXPECT_ERR(err, TT_INVALID_ARGUMENT, "slice");
      EXPECT_ERR(tt_pj_buffer_to_host(a.s.plugin, a.out, &sum, sizeof sum, NULL),
                 TT_INVALID_ARGUMENT, "slice");
    } else {
      REQUIRE_OK(err);
      REQUIRE_OK(tt_pj_buffer_to_host(a.s.plugin, a.out, &sum, sizeof sum, NULL));
      EXPECT_DOUBLE((double)sum, 2 * (double)sizes[i], 0);
    }
    tt_pj_buffer_free(a.s.plugin, a.out);
    a.out = NULL;
  }
out:
  tear_down(&a);
}

TEST_WITHOUT_TORTURE(cpu_plugin_run, on_the_device_it_was_compiled_for) {
  add a;
  int second = 1;
  tt_pj_compile_options there = {.device_ids = &second}, portable = {.portable = true};
  tt_pj_execute_options options;
  tt_pj_executable *other = NULL;
  tt_pj_buffer *args[2] = {NULL, NULL};
  tt_pj_device *where = NULL;
  if (!set_up(&a, 2, 16, ""))
    goto out;
  REQUIRE_OK(cpu_filled(&a.s, a.s.devices[1], 16, 5, &args[0]));
  REQUIRE_OK(cpu_filled(&a.s, a.s.devices[1], 16, 6, &args[1]));
  for (int i = 0; i < 2; i++) {
    REQUIRE_OK(cpu_compile(&a.s, cpu_add_text(16, ""), i == 0 ? &there : &portable, &other));
    options = (tt_pj_execute_options){.device = a.s.devices[1]};
    REQUIRE_OK(tt_pj_execute(other, args, 2, i == 0 ? NULL : &options, &a.out, NULL));
    REQUIRE_OK(tt_pj_buffer_device(a.s.plugin, a.out, &where));
    EXPECT(where == a.s.devices[1]);
    cpu_expect_filled(&a.s, a.out, 16, 11);
    tt_pj_buffer_free(a.s.plugin, a.out);
    a.out = NULL;
    tt_pj_executable_free(other);
    other = NULL;
  }
out:
  tt_pj_buffer_free(a.s.plugin, args[0]);
  tt_pj_buffer_free(a.s.plugin, args[1]);
  tt_pj_executable_free(other);
  tear_down(&a);
}

typedef struct job {
  add *a;
  int64_t count;
  tt_pj_executable *executable;
  bool right;
} job;

/* Runs with a shared argument, reading and freeing while others do the same. */
static void *work(void *user) {
  job *j = user;
  const cpu_setup *s = &j->a->s;
  tt_error *err = NULL;
  float got = 0;
  tt_pj_buffer *args[2] = {NULL, j->a->args[1]}, *out = NULL;
  tt_pj_event *read = NULL;
  TT_TRY(tt_pj_buffer_copy_to_device(s->plugin, j->a->args[0], s->devices[0], &args[0]));
  for (int i = 0; i < 30; i++) {
    TT_TRY(tt_pj_execute(j->executable, args, 2, NULL, &out, NULL));
    tt_pj_buffer_free(s->plugin, args[0]);
    args[0] = out;
    out = NULL;
  }
  {
    void *pinned = NULL;
    TT_TRY(tt_pj_buffer_await(s->plugin, args[0]));
    TT_TRY(tt_pj_buffer_pin(s->plugin, args[0], &pinned));
    memcpy(&got, (float *)pinned + j->count - 1, sizeof got);
    tt_pj_buffer_unpin(s->plugin, args[0]);
  }
  j->right = got == 61;
out:
  tt_error_free(err);
  tt_pj_event_free(s->plugin, read);
  tt_pj_buffer_free(s->plugin, args[0]);
  return NULL;
}

static void expect_threads(int64_t count, const char *marks) {
  add a;
  job jobs[4];
  pthread_t threads[4];
  if (set_up(&a, 1, count, marks)) {
    for (int i = 0; i < 4; i++) {
      jobs[i] = (job){&a, count, a.executable, false};
      EXPECT_INT(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
      pthread_join(threads[i], NULL);
      EXPECT(jobs[i].right);
    }
  }
  tear_down(&a);
}

TEST_WITHOUT_TORTURE(cpu_plugin_run, threads) {
  expect_threads(16, "");
  expect_threads(16, CPU_ALIAS);
  expect_threads(1 << 16, "");
  expect_threads(1 << 16, CPU_ALIAS);
}
