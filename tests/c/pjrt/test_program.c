#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pj_test.h"
#include "test.h"

/* ---- options ---- */

static void expect_encoded(const tt_pj_compile_options *options, const void *want,
                           size_t want_size) {
  tt_bytes bytes = {0};
  if (EXPECT_OK(tt_pj_compile_options_encode(options, &bytes)) && EXPECT_INT(bytes.size, want_size))
    EXPECT_BYTES(bytes.data, want, want_size);
  tt_bytes_free(&bytes);
}

TEST(pj_options, defaults) {
  static const char want[] =
      "\x1a\x12"                                     /* 3: executable_build_options */
      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" /* 1: -1 */
      "\x20\x01\x28\x01"                             /* 4, 5: one replica, one partition */
      "\x98\x01\x01";                                /* 19: Shardy */
  tt_pj_compile_options options = {0};
  expect_encoded(&options, want, sizeof want - 1);
}

TEST(pj_options, device_assignment_is_partition_major) {
  static const char want[] =
      "\x1a\x26"
      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
      "\x20\x02\x28\x02\x30\x01" /* 6: SPMD */
      "\x4a\x10\x08\x02\x10\x02" /* 9: assignment of 2 x 2 */
      "\x1a\x04\x0a\x02\x05\x07" /* partition 0: replicas on 5 and 7 */
      "\x1a\x04\x0a\x02\x06\x08" /* partition 1: on 6 and 8 */
      "\x98\x01\x01";
  static const int ids[] = {5, 6, 7, 8};
  tt_pj_compile_options options = {.replicas = 2, .partitions = 2, .device_ids = ids};
  expect_encoded(&options, want, sizeof want - 1);
}

TEST(pj_options, portable_with_overrides) {
  static const char want[] =
      "\x1a\x12\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01\x98\x01\x00"
      "\x20\x01" /* 4: compile_portable_executable */
      "\x3a\x08\x0a\x01"
      "b"
      "\x12\x03\x0a\x01"
      "x" /* 7: b = "x" */
      "\x3a\x07\x0a\x01"
      "c"
      "\x12\x02\x10\x01" /* c = true */
      "\x3a\x08\x0a\x01"
      "d"
      "\x12\x03\x18\x80\x01" /* d = 128 */
      "\x3a\x0e\x0a\x01"
      "e"
      "\x12\x09\x21\0\0\0\0\0\0\xe0\x3f"; /* e = 0.5 */
  tt_pj_value overrides[] = {tt_pj_value_string("b", "x"), tt_pj_value_bool("c", true),
                             tt_pj_value_int64("d", 128), tt_pj_value_float("e", 0.5f)};
  tt_pj_compile_options options = {
      .portable = true, .gspmd = true, .overrides = overrides, .overrides_count = 4};
  expect_encoded(&options, want, sizeof want - 1);
}

TEST(pj_options, lists_are_refused) {
  tt_bytes bytes = {0};
  tt_pj_value list = {.name = {"l", 1}, .type = TT_PJ_INT64_LIST};
  tt_pj_compile_options options = {.overrides = &list, .overrides_count = 1};
  EXPECT_ERR(tt_pj_compile_options_encode(&options, &bytes), TT_INVALID_ARGUMENT,
             "compile option l");
  tt_bytes_free(&bytes);
}

/* ---- a program and its two arguments, 1 2 3 4 and 10 20 30 40 ---- */

typedef struct setup {
  const tt_pj_client *client;
  const tt_pj_plugin *plugin;
  tt_pj_executable *executable;
  tt_pj_buffer *args[2], *out;
} setup;

static const float lhs[] = {1, 2, 3, 4}, rhs[] = {10, 20, 30, 40}, sum[] = {11, 22, 33, 44};

static bool set_up(setup *s, const char *text) {
  *s = (setup){0};
  if (!pj_begin(&s->client, &s->plugin))
    return false;
  return EXPECT_OK(pj_compile(s->client, text, NULL, &s->executable)) &&
         EXPECT_OK(pj_vector(s->client, lhs, 4, &s->args[0])) &&
         EXPECT_OK(pj_vector(s->client, rhs, 4, &s->args[1]));
}

static void tear_down(setup *s) {
  if (s->plugin == NULL)
    return;
  tt_pj_executable_free(s->executable);
  tt_pj_buffer_free(s->plugin, s->args[0]);
  tt_pj_buffer_free(s->plugin, s->args[1]);
  tt_pj_buffer_free(s->plugin, s->out);
}

static void expect_floats(const setup *s, tt_pj_buffer *buffer, const float want[4]) {
  float got[4] = {0};
  if (EXPECT_OK(tt_pj_buffer_to_host(s->plugin, buffer, got, sizeof got, NULL)))
    EXPECT_BYTES(got, want, sizeof got);
}

TEST_WITHOUT_TORTURE(pj_program, compiles_runs_and_tells) {
  setup s;
  tt_pj_event *done = NULL;
  tt_dtype dtype = TT_PRED;
  const int64_t *dims = NULL;
  size_t rank = 0;
  if (!set_up(&s, pj_add_text))
    goto out;
  EXPECT_INT(tt_pj_executable_output_count(s.executable), 1);
  REQUIRE_OK(tt_pj_executable_output(s.executable, 0, &dtype, &dims, &rank));
  EXPECT_INT(dtype, TT_F32);
  EXPECT_INT(rank, 1);
  EXPECT_INT(dims[0], 4);
  EXPECT_ERR(tt_pj_executable_output(s.executable, 1, &dtype, &dims, &rank), TT_OUT_OF_RANGE,
             "output 1");
  REQUIRE_OK(tt_pj_execute(s.executable, s.args, 2, NULL, &s.out, &done));
  REQUIRE_OK(tt_pj_event_await_take(s.plugin, done));
  expect_floats(&s, s.out, sum);
  expect_floats(&s, s.args[0], lhs);
out:
  tear_down(&s);
}

TEST_WITHOUT_TORTURE(pj_program, outputs_of_several_ranks) {
  static const char text[] =
      "module @m { func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>)\n"
      "    -> (tensor<f32>, tensor<2x2xf32>, tensor<4xi32>) {\n"
      "  %c = stablehlo.constant dense<1.0> : tensor<f32>\n"
      "  %0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<2x2xf32>\n"
      "  %1 = stablehlo.convert %b : (tensor<4xf32>) -> tensor<4xi32>\n"
      "  return %c, %0, %1 : tensor<f32>, tensor<2x2xf32>, tensor<4xi32>\n} }";
  setup s;
  tt_dtype dtype = TT_PRED;
  const int64_t *dims = NULL;
  size_t rank = 9;
  if (!set_up(&s, text))
    goto out;
  EXPECT_INT(tt_pj_executable_output_count(s.executable), 3);
  REQUIRE_OK(tt_pj_executable_output(s.executable, 0, &dtype, &dims, &rank));
  EXPECT_INT(rank, 0);
  REQUIRE_OK(tt_pj_executable_output(s.executable, 1, &dtype, &dims, &rank));
  EXPECT_INT(rank, 2);
  EXPECT_INT(dims[1], 2);
  REQUIRE_OK(tt_pj_executable_output(s.executable, 2, &dtype, &dims, &rank));
  EXPECT_INT(dtype, TT_S32);
  EXPECT_INT(dims[0], 4);
out:
  tear_down(&s);
}

/* ---- donation ---- */

TEST_WITHOUT_TORTURE(pj_program, donated_argument_is_gone) {
  setup s;
  tt_pj_buffer *again = NULL;
  if (!set_up(&s, pj_donating_add_text))
    goto out;
  REQUIRE_OK(tt_pj_execute(s.executable, s.args, 2, NULL, &s.out, NULL));
  expect_floats(&s, s.out, sum);
  EXPECT(tt_pj_buffer_is_deleted(s.plugin, s.args[0]));
  EXPECT(!tt_pj_buffer_is_deleted(s.plugin, s.args[1]));
  EXPECT_ERR(tt_pj_execute(s.executable, s.args, 2, NULL, &again, NULL), TT_INVALID_ARGUMENT,
             "PJRT_LoadedExecutable_Execute: ");
out:
  tear_down(&s);
}

TEST_WITHOUT_TORTURE(pj_program, kept_argument_is_not_donated) {
  static const int64_t keep[] = {0};
  setup s;
  tt_pj_execute_options options = {.keep = keep, .keep_count = 1};
  if (!set_up(&s, pj_donating_add_text))
    goto out;
  REQUIRE_OK(tt_pj_execute(s.executable, s.args, 2, &options, &s.out, NULL));
  expect_floats(&s, s.out, sum);
  EXPECT(!tt_pj_buffer_is_deleted(s.plugin, s.args[0]));
  expect_floats(&s, s.args[0], lhs);
out:
  tear_down(&s);
}

TEST_WITHOUT_TORTURE(pj_program, donation_never_writes_to_immutable_host_memory) {
  tt_pj_host_array array;
  setup s;
  int64_t count = 4;
  float *data = aligned_alloc(64, 64);
  tt_pj_event *done = NULL;
  if (!set_up(&s, pj_donating_add_text) || !EXPECT(data != NULL))
    goto out;
  memcpy(data, lhs, sizeof lhs);
  array = (tt_pj_host_array){data, TT_F32, &count, 1, NULL};
  tt_pj_buffer_free(s.plugin, s.args[0]);
  s.args[0] = NULL;
  REQUIRE_OK(tt_pj_buffer_from_host(s.client, pj_device(s.client), NULL, &array,
                                    TT_PJ_HOST_ZERO_COPY, &s.args[0], &done));
  REQUIRE_OK(tt_pj_execute(s.executable, s.args, 2, NULL, &s.out, NULL));
  expect_floats(&s, s.out, sum);
  EXPECT_BYTES(data, lhs, sizeof lhs);
  tt_pj_buffer_free(s.plugin, s.args[0]);
  s.args[0] = NULL;
  REQUIRE_OK(tt_pj_event_await_take(s.plugin, done));
out:
  tear_down(&s);
  free(data);
}

/* ---- errors ---- */

TEST_WITHOUT_TORTURE(pj_program, malformed_programs_are_errors) {
  tt_pj_program format;
  tt_pj_program options;
  tt_pj_value unknown;
  tt_pj_compile_options unknown_option;
  setup s;
  tt_pj_executable *executable = NULL;
  if (!set_up(&s, pj_add_text))
    goto out;
  EXPECT_ERR(pj_compile(s.client, "func.func @main( {", NULL, &executable), TT_UNKNOWN,
             "PJRT_Client_Compile: ");
  EXPECT(executable == NULL);
  format = (tt_pj_program){.format = "no such format",
                           .code = pj_add_text,
                           .code_size = strlen(pj_add_text),
                           .options = "",
                           .options_size = 0};
  EXPECT_ERR(tt_pj_compile(s.client, &format, &executable), TT_INVALID_ARGUMENT, "no such format");
  options = (tt_pj_program){.format = "mlir",
                            .code = pj_add_text,
                            .code_size = strlen(pj_add_text),
                            .options = "\xff\xff",
                            .options_size = 2};
  EXPECT_ERR(tt_pj_compile(s.client, &options, &executable), TT_INVALID_ARGUMENT,
             "CompileOptionsProto");
  unknown = tt_pj_value_bool("xla_no_such_option", true);
  unknown_option = (tt_pj_compile_options){.overrides = &unknown, .overrides_count = 1};
  EXPECT_ERR(pj_compile(s.client, pj_add_text, &unknown_option, &executable), TT_INVALID_ARGUMENT,
             "xla_no_such_option");
out:
  tear_down(&s);
}

TEST_WITHOUT_TORTURE(pj_program, wrong_arguments_are_errors) {
  setup s;
  tt_pj_buffer *small = NULL, *out = NULL, *repeated[2] = {NULL, NULL};
  if (!set_up(&s, pj_donating_add_text))
    goto out;
  EXPECT_ERR(tt_pj_execute(s.executable, s.args, 1, NULL, &out, NULL), TT_INVALID_ARGUMENT,
             "expected 2");
  repeated[0] = repeated[1] = s.args[0];
  EXPECT_ERR(tt_pj_execute(s.executable, repeated, 2, NULL, &out, NULL), TT_INVALID_ARGUMENT,
             "donated");
  REQUIRE_OK(pj_vector(s.client, lhs, 2, &small));
  repeated[0] = small;
  repeated[1] = s.args[1];
  EXPECT_ERR(tt_pj_execute(s.executable, repeated, 2, NULL, &out, NULL), TT_INVALID_ARGUMENT,
             "size");
out:
  if (s.plugin != NULL)
    tt_pj_buffer_free(s.plugin, small);
  tear_down(&s);
}

/* XLA:CPU's default would give 1 here; the table of known plugins says otherwise. */
TEST_WITHOUT_TORTURE(pj_program, maximum_keeps_nan) {
  static const char text[] =
      "module @m { func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = stablehlo.maximum %a, %b : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }";
  setup s;
  float some_nan[] = {NAN, 1, 2, 3}, other_nan[] = {1, NAN, 5, NAN}, got[4] = {0};
  if (!set_up(&s, text))
    goto out;
  tt_pj_buffer_free(s.plugin, s.args[0]);
  tt_pj_buffer_free(s.plugin, s.args[1]);
  s.args[0] = s.args[1] = NULL;
  REQUIRE_OK(pj_vector(s.client, some_nan, 4, &s.args[0]));
  REQUIRE_OK(pj_vector(s.client, other_nan, 4, &s.args[1]));
  REQUIRE_OK(tt_pj_execute(s.executable, s.args, 2, NULL, &s.out, NULL));
  REQUIRE_OK(tt_pj_buffer_to_host(s.plugin, s.out, got, sizeof got, NULL));
  EXPECT(isnan(got[0]) && isnan(got[1]) && isnan(got[3]));
  EXPECT_DOUBLE(got[2], 5, 0);
out:
  tear_down(&s);
}

/* ---- storing and telling ---- */

TEST_WITHOUT_TORTURE(pj_program, serialized_executable_runs) {
  tt_error *err = NULL;
  setup s;
  tt_bytes bytes = {0};
  if (!set_up(&s, pj_add_text))
    goto out;
  REQUIRE_OK(tt_pj_executable_serialize(s.executable, &bytes));
  EXPECT(bytes.size > 0);
  tt_pj_executable_free(s.executable);
  s.executable = NULL;
  REQUIRE_OK(tt_pj_executable_load(s.client, bytes.data, bytes.size, NULL, 0, &s.executable));
  REQUIRE_OK(tt_pj_execute(s.executable, s.args, 2, NULL, &s.out, NULL));
  expect_floats(&s, s.out, sum);
  tt_pj_executable_free(s.executable);
  s.executable = NULL;
  err = tt_pj_executable_load(s.client, "nonsense", 8, NULL, 0, &s.executable);
  EXPECT(err != NULL);
  tt_error_free(err);
out:
  tt_bytes_free(&bytes);
  tear_down(&s);
}

TEST_WITHOUT_TORTURE(pj_program, tells_name_costs_memory_and_optimized_form) {
  setup s;
  tt_bytes bytes = {0};
  tt_pj_text text;
  tt_pj_values costs;
  tt_pj_value flops;
  tt_pj_program_memory memory;
  if (!set_up(&s, pj_add_text))
    goto out;
  REQUIRE_OK(tt_pj_executable_name(s.executable, &text));
  EXPECT(text.size > 0);
  REQUIRE_OK(tt_pj_executable_fingerprint(s.executable, &text));
  EXPECT(text.size > 0);
  REQUIRE_OK(tt_pj_executable_costs(s.executable, &costs));
  REQUIRE(tt_pj_values_find(costs, "flops", &flops));
  EXPECT_INT(flops.type, TT_PJ_FLOAT);
  EXPECT_DOUBLE(flops.f32, 4, 0);
  REQUIRE_OK(tt_pj_executable_memory(s.executable, &memory));
  EXPECT_INT(memory.arguments, 32);
  EXPECT_INT(memory.outputs, 16);
  REQUIRE_OK(tt_pj_executable_optimized(s.executable, &bytes, &text));
  EXPECT(bytes.size > 0);
  EXPECT(tt_pj_text_is(text, "hlo_with_config") || tt_pj_text_is(text, "hlo"));
out:
  tt_bytes_free(&bytes);
  tear_down(&s);
}

/* ---- devices and threads ---- */

TEST_WITHOUT_TORTURE(pj_program, runs_on_the_device_it_was_compiled_for) {
  tt_pj_device *const *devices = NULL;
  tt_pj_compile_options options;
  setup s;
  size_t count = 0;
  tt_pj_device_info info;
  tt_pj_device *where = NULL;
  tt_pj_executable *second = NULL;
  tt_pj_buffer *args[2] = {NULL, NULL}, *out = NULL;
  if (!set_up(&s, pj_add_text))
    goto out;
  devices = tt_pj_client_devices(s.client, &count);
  if (count < 2)
    SKIP("one device only");
  REQUIRE_OK(tt_pj_device_describe(s.plugin, devices[1], &info));
  options = (tt_pj_compile_options){.device_ids = &info.id};
  REQUIRE_OK(pj_compile(s.client, pj_add_text, &options, &second));
  for (int i = 0; i < 2; i++)
    REQUIRE_OK(tt_pj_buffer_copy_to_device(s.plugin, s.args[i], devices[1], &args[i]));
  REQUIRE_OK(tt_pj_execute(second, args, 2, NULL, &out, NULL));
  REQUIRE_OK(tt_pj_buffer_device(s.plugin, out, &where));
  EXPECT(where == devices[1]);
  expect_floats(&s, out, sum);
out:
  if (s.plugin != NULL) {
    tt_pj_buffer_free(s.plugin, args[0]);
    tt_pj_buffer_free(s.plugin, args[1]);
    tt_pj_buffer_free(s.plugin, out);
  }
  tt_pj_executable_free(second);
  tear_down(&s);
}

TEST_WITHOUT_TORTURE(pj_program, portable_executable_runs_where_told) {
  setup s;
  size_t count = 0;
  tt_pj_device *where = NULL;
  tt_pj_compile_options portable = {.portable = true};
  tt_pj_execute_options run = {0};
  if (!set_up(&s, pj_add_text))
    goto out;
  run.device = tt_pj_client_devices(s.client, &count)[0];
  tt_pj_executable_free(s.executable);
  s.executable = NULL;
  REQUIRE_OK(pj_compile(s.client, pj_add_text, &portable, &s.executable));
  REQUIRE_OK(tt_pj_execute(s.executable, s.args, 2, &run, &s.out, NULL));
  REQUIRE_OK(tt_pj_buffer_device(s.plugin, s.out, &where));
  EXPECT(where == run.device);
  expect_floats(&s, s.out, sum);
out:
  tear_down(&s);
}

typedef struct job {
  const tt_pj_client *client;
  tt_error *err;
  pthread_t thread;
} job;

static void *compile_and_run(void *user) {
  job *j = user;
  const tt_pj_plugin *plugin = tt_pj_client_plugin(j->client);
  tt_error *err = NULL;
  tt_pj_executable *executable = NULL;
  tt_pj_buffer *args[2] = {NULL, NULL}, *out = NULL;
  TT_TRY(pj_compile(j->client, pj_add_text, NULL, &executable));
  TT_TRY(pj_vector(j->client, lhs, 4, &args[0]));
  TT_TRY(pj_vector(j->client, rhs, 4, &args[1]));
  for (int i = 0; i < 100; i++) {
    TT_TRY(tt_pj_execute(executable, args, 2, NULL, &out, NULL));
    TT_TRY(tt_pj_buffer_await(plugin, out));
    tt_pj_buffer_free(plugin, out);
    out = NULL;
  }
out:
  tt_pj_buffer_free(plugin, args[0]);
  tt_pj_buffer_free(plugin, args[1]);
  tt_pj_buffer_free(plugin, out);
  tt_pj_executable_free(executable);
  j->err = err;
  return NULL;
}

TEST_WITHOUT_TORTURE(pj_program, threads_share_a_client) {
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  job jobs[4] = {{0}};
  int started = 0;
  for (; started < 4; started++) {
    jobs[started].client = client;
    REQUIRE(pthread_create(&jobs[started].thread, NULL, compile_and_run, &jobs[started]) == 0);
  }
out:
  for (int i = 0; i < started; i++) {
    pthread_join(jobs[i].thread, NULL);
    EXPECT_OK(jobs[i].err);
  }
}
