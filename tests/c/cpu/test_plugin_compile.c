/* Compiling: formats, options, what is told of a program, storing it. */
#include <stdlib.h>
#include <string.h>

#include "cpu/plugin/internal.h"
#include "plugin_test.h"
#include "test.h"

static tt_error *compile_with(const cpu_setup *s, const char *format, const void *options,
                              size_t options_size, tt_pj_executable **out_executable) {
  const char *text = cpu_add_text(4, "");
  tt_pj_program program = {.format = format,
                           .code = text,
                           .code_size = strlen(text),
                           .options = options,
                           .options_size = options_size};
  return tt_pj_compile(s->client, &program, out_executable);
}

TEST_WITHOUT_TORTURE(cpu_plugin_compile, formats) {
  cpu_setup s;
  tt_pj_executable *e = NULL;
  static const char bytecode[] = "ML\xefR rest";
  tt_pj_program program = {.format = "mlir", .code = bytecode, .code_size = sizeof bytecode};
  if (!cpu_set_up(&s, 1))
    goto out;
  EXPECT_ERR(compile_with(&s, "hlo", "", 0, &e), TT_UNIMPLEMENTED, "StableHLO");
  EXPECT_ERR(compile_with(&s, "hlo_with_config", "", 0, &e), TT_UNIMPLEMENTED, "StableHLO");
  EXPECT_ERR(compile_with(&s, "nonsense", "", 0, &e), TT_INVALID_ARGUMENT, "\"nonsense\"");
  {
    tt_error *err = tt_pj_compile(s.client, &program, &e); /* cut short */
    EXPECT(err != NULL);
    tt_error_free(err);
  }
  EXPECT_ERR(cpu_compile(&s, "func.func @main( {", NULL, &e), TT_INVALID_ARGUMENT, "1:");
  EXPECT(e == NULL);
out:
  cpu_tear_down(&s);
}

/* Types that PJRT has no number for stay inside of programs. */
TEST_WITHOUT_TORTURE(cpu_plugin_compile, types_at_the_boundary) {
  cpu_setup s;
  tt_pj_executable *e = NULL;
  if (!cpu_set_up(&s, 1))
    goto out;
  EXPECT_ERR(cpu_compile(&s,
                         "func.func @main(%x: tensor<2xf6E2M3FN>) -> tensor<2xf32> {\n"
                         "%0 = stablehlo.convert %x : (tensor<2xf6E2M3FN>) -> tensor<2xf32>\n"
                         "return %0 : tensor<2xf32>\n}",
                         NULL, &e),
             TT_UNIMPLEMENTED, "parameter 0 of @main: PJRT has no type for f6E2M3FN");
  EXPECT_ERR(cpu_compile(&s,
                         "func.func @main(%x: tensor<2xf32>) -> tensor<2xf6E3M2FN> {\n"
                         "%0 = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xf6E3M2FN>\n"
                         "return %0 : tensor<2xf6E3M2FN>\n}",
                         NULL, &e),
             TT_UNIMPLEMENTED, "result 0 of @main: PJRT has no type for f6E3M2FN");
  EXPECT_OK(cpu_compile(&s,
                        "func.func @main(%x: tensor<2xi2>) -> tensor<2xui2> {\n"
                        "%0 = stablehlo.convert %x : (tensor<2xi2>) -> tensor<2xui2>\n"
                        "return %0 : tensor<2xui2>\n}",
                        NULL, &e));
out:
  tt_pj_executable_free(e);
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_compile, options) {
  cpu_setup s;
  tt_pj_executable *e = NULL;
  int ids[] = {1, 9};
  tt_pj_compile_options elsewhere = {.device_ids = ids + 1}, wide = {.replicas = 4},
                        partitioned = {.partitions = 2};
  if (!cpu_set_up(&s, 2))
    goto out;
  EXPECT_ERR(cpu_compile(&s, cpu_add_text(4, ""), &elsewhere, &e), TT_INVALID_ARGUMENT, "device 9");
  EXPECT_ERR(cpu_compile(&s, cpu_add_text(4, ""), &wide, &e), TT_INVALID_ARGUMENT,
             "4 replicas and partitions, but 2 devices");
  EXPECT_OK(cpu_compile(&s, cpu_add_text(4, ""), &partitioned, &e));
out:
  tt_pj_executable_free(e);
  cpu_tear_down(&s);
}

/* Bytes that are no CompileOptionsProto; none may do more than fail. */
TEST_WITHOUT_TORTURE(cpu_plugin_compile, hostile_options) {
  static const struct {
    const char *bytes;
    size_t size;
    const char *part;
  } rows[] = {
      {"\xff\xff", 2, "cut short"},
      {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "64 bits"},
      {"\x1a\x05\x20", 3, "cut short"},
      {"\x1a\xff\xff\xff\xff\x0f", 6, "cut short"},
      {"\x01", 1, "no valid number"},
      {"\x0b\x0b", 2, "wire type"},
      {"\x09\x01\x02", 3, "cut short"},
      {"\x1a\x0b\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, "replicas"},
      {"\x1a\x06\x4a\x04\x08\x07\x10\x01", 8, "device assignment"},
      {"\x1a\x0a\x4a\x08\x08\x01\x10\x01\x1a\x02\x0a\x09", 12, "cut short"},
      {"\x1a\x0c\x4a\x0a\x08\x01\x10\x02\x1a\x04\x0a\x02\x00\x01", 14, "device assignment"},
  };
  cpu_setup s;
  tt_pj_executable *e = NULL;
  unsigned seed = 7;
  if (!cpu_set_up(&s, 2))
    goto out;
  for (size_t i = 0; i < TT_COUNT(rows); i++)
    EXPECT_ERR(compile_with(&s, "mlir", rows[i].bytes, rows[i].size, &e), TT_INVALID_ARGUMENT,
               rows[i].part);
  for (int round = 0; round < 2000; round++) {
    unsigned char noise[24];
    for (size_t i = 0; i < sizeof noise; i++) {
      seed = seed * 1664525 + 1013904223;
      noise[i] = (unsigned char)((seed >> 24) & (i % 3 == 0 ? 0x7f : 0x1f));
    }
    noise[0] = 0x1a;
    noise[1] = 22;
    tt_error_free(compile_with(&s, "mlir", noise, sizeof noise, &e));
    tt_pj_executable_free(e);
    e = NULL;
  }
out:
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_compile, tells_about_the_program) {
  cpu_setup s;
  tt_pj_executable *e = NULL, *same = NULL, *other = NULL;
  tt_pj_text name, a, b, c, format;
  tt_pj_values costs;
  tt_pj_value flops;
  tt_pj_program_memory memory;
  tt_bytes text = {0};
  tt_dtype dtype;
  const int64_t *dims = NULL;
  size_t rank = 0;
  if (!cpu_set_up(&s, 1))
    goto out;
  REQUIRE_OK(cpu_compile(&s, cpu_add_text(4, ""), NULL, &e));
  REQUIRE_OK(cpu_compile(&s, cpu_add_text(4, ""), NULL, &same));
  REQUIRE_OK(cpu_compile(&s, cpu_add_text(5, CPU_ALIAS), NULL, &other));
  REQUIRE_OK(tt_pj_executable_name(e, &name));
  EXPECT(tt_pj_text_is(name, "add"));
  EXPECT_INT(tt_pj_executable_output_count(e), 1);
  REQUIRE_OK(tt_pj_executable_output(e, 0, &dtype, &dims, &rank));
  EXPECT_INT(dtype, TT_F32);
  EXPECT_INT(rank, 1);
  EXPECT_INT(dims[0], 4);
  REQUIRE_OK(tt_pj_executable_fingerprint(e, &a));
  REQUIRE_OK(tt_pj_executable_fingerprint(same, &b));
  REQUIRE_OK(tt_pj_executable_fingerprint(other, &c));
  EXPECT(a.size == 32 && memcmp(a.data, b.data, 32) == 0 && memcmp(a.data, c.data, 32) != 0);
  REQUIRE_OK(tt_pj_executable_costs(e, &costs));
  REQUIRE(tt_pj_values_find(costs, "flops", &flops));
  EXPECT_DOUBLE((double)flops.f32, 4, 0);
  REQUIRE_OK(tt_pj_executable_memory(other, &memory));
  EXPECT_INT(memory.arguments, 40);
  EXPECT_INT(memory.outputs, 20);
  EXPECT_INT(memory.aliased, 20);
  REQUIRE_OK(tt_pj_executable_optimized(e, &text, &format));
  EXPECT(tt_pj_text_is(format, "mlir"));
  tt_bytes_char(&text, '\0');
  EXPECT_CONTAINS(text.data, "stablehlo.add");
out:
  tt_bytes_free(&text);
  tt_pj_executable_free(e);
  tt_pj_executable_free(same);
  tt_pj_executable_free(other);
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_compile, serialized_executables_are_checked) {
  cpu_setup s;
  tt_pj_executable *e = NULL, *loaded = NULL;
  tt_pj_buffer *args[2] = {NULL, NULL}, *out = NULL;
  tt_bytes bytes = {0};
  if (!cpu_set_up(&s, 1))
    goto out;
  REQUIRE_OK(cpu_compile(&s, cpu_add_text(4, ""), NULL, &e));
  REQUIRE_OK(tt_pj_executable_serialize(e, &bytes));
  REQUIRE_OK(tt_pj_executable_load(s.client, bytes.data, bytes.size, NULL, 0, &loaded));
  REQUIRE_OK(cpu_filled(&s, s.devices[0], 4, 1, &args[0]));
  REQUIRE_OK(cpu_filled(&s, s.devices[0], 4, 2, &args[1]));
  REQUIRE_OK(tt_pj_execute(loaded, args, 2, NULL, &out, NULL));
  cpu_expect_filled(&s, out, 4, 3);
  tt_pj_executable_free(loaded);
  loaded = NULL;
  for (size_t size = 0; size < bytes.size; size++) {
    tt_error *err = tt_pj_executable_load(s.client, bytes.data, size, NULL, 0, &loaded);
    REQUIRE(tt_error_code(err) == TT_INVALID_ARGUMENT);
    tt_error_free(err);
  }
  for (size_t at = 0; at < bytes.size; at++) {
    bytes.data[at] ^= 0x40;
    tt_error *err = tt_pj_executable_load(s.client, bytes.data, bytes.size, NULL, 0, &loaded);
    bytes.data[at] ^= 0x40;
    REQUIRE(tt_error_code(err) == TT_INVALID_ARGUMENT);
    tt_error_free(err);
  }
out:
  tt_bytes_free(&bytes);
  tt_pj_buffer_free(s.plugin, args[0]);
  tt_pj_buffer_free(s.plugin, args[1]);
  tt_pj_buffer_free(s.plugin, out);
  tt_pj_executable_free(e);
  tt_pj_executable_free(loaded);
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_compile, ahead_of_time) {
  tt_pj_topology *topology = NULL;
  tt_pj_executable *e = NULL, *loaded = NULL;
  cpu_setup s;
  tt_bytes options = {0}, bytes = {0};
  tt_pj_compile_options none = {0};
  tt_pj_program program = {.format = "mlir"};
  if (!cpu_set_up(&s, 1))
    goto out;
  REQUIRE_OK(tt_pj_topology_create(s.plugin, "", NULL, 0, &topology));
  REQUIRE_OK(tt_pj_compile_options_encode(&none, &options));
  program.code = cpu_add_text(4, "");
  program.code_size = strlen(program.code);
  program.options = options.data;
  program.options_size = options.size;
  REQUIRE_OK(tt_pj_topology_compile(topology, &program, &e));
  EXPECT_INT(tt_pj_executable_output_count(e), 1);
  REQUIRE_OK(tt_pj_executable_serialize(e, &bytes));
  REQUIRE_OK(tt_pj_executable_load(s.client, bytes.data, bytes.size, NULL, 0, &loaded));
  EXPECT_INT(tt_pj_executable_output_count(loaded), 1);
out:
  tt_bytes_free(&options);
  tt_bytes_free(&bytes);
  tt_pj_executable_free(e);
  tt_pj_executable_free(loaded);
  tt_pj_topology_free(topology);
  cpu_tear_down(&s);
}

/* ---- several devices, which the client side does not launch in one call ---- */

static bool ok(const PJRT_Api *api, PJRT_Error *error) {
  PJRT_Error_Destroy_Args destroy = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                     .error = error};
  api->PJRT_Error_Destroy(&destroy);
  return error == NULL;
}

#define SIZE(type) .struct_size = type##_Args_STRUCT_SIZE

static PJRT_LoadedExecutable *compile_replicas(const PJRT_Api *api, PJRT_Client *client,
                                               int replicas) {
  tt_bytes options = {0};
  tt_pj_compile_options wanted = {.replicas = replicas};
  const char *text = cpu_add_text(4, "");
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)(uintptr_t)text,
                          .code_size = strlen(text),
                          .format = "mlir",
                          .format_size = 4};
  PJRT_Client_Compile_Args args = {SIZE(PJRT_Client_Compile), .client = client,
                                   .program = &program};
  EXPECT_OK(tt_pj_compile_options_encode(&wanted, &options));
  args.compile_options = options.data;
  args.compile_options_size = options.size;
  EXPECT(ok(api, api->PJRT_Client_Compile(&args)));
  tt_bytes_free(&options);
  return args.executable;
}

/* Replicas 0 and 1 on devices 0 and 1; computation 0 has them both. */
static void expect_assignment(const PJRT_Api *api, PJRT_LoadedExecutable *loaded) {
  static const char want[] = "\x08\x02\x10\x01\x1a\x04\x0a\x02\x00\x01";
  PJRT_LoadedExecutable_GetDeviceAssignment_Args args = {
      SIZE(PJRT_LoadedExecutable_GetDeviceAssignment), .executable = loaded};
  if (!EXPECT(ok(api, api->PJRT_LoadedExecutable_GetDeviceAssignment(&args))))
    return;
  if (EXPECT_INT(args.serialized_bytes_size, sizeof want - 1))
    EXPECT_BYTES(args.serialized_bytes, want, sizeof want - 1);
  args.serialized_device_assignment_deleter(args.serialized_device_assignment);
}

/* argument [device][k] is 10 device + k. */
static void expect_replicas_run(const PJRT_Api *api, const cpu_setup *s,
                                PJRT_LoadedExecutable *loaded) {
  tt_pj_buffer *args[2][2] = {{NULL}}, *outs[2][1] = {{NULL}};
  tt_pj_event *done[2] = {NULL, NULL};
  tt_pj_buffer *const *arg_lists[] = {args[0], args[1]};
  tt_pj_buffer **out_lists[] = {outs[0], outs[1]};
  PJRT_LoadedExecutable_Execute_Args call = {SIZE(PJRT_LoadedExecutable_Execute),
                                             .executable = loaded,
                                             .argument_lists = arg_lists,
                                             .num_devices = 2,
                                             .num_args = 2,
                                             .output_lists = out_lists,
                                             .device_complete_events = done};
  for (int d = 0; d < 2; d++)
    for (int k = 0; k < 2; k++)
      EXPECT_OK(cpu_filled(s, s->devices[d], 4, (float)(10 * d + k), &args[d][k]));
  if (EXPECT(ok(api, api->PJRT_LoadedExecutable_Execute(&call))))
    for (int d = 0; d < 2; d++) {
      EXPECT_OK(tt_pj_event_await_take(s->plugin, done[d]));
      cpu_expect_filled(s, outs[d][0], 4, (float)(20 * d + 1));
      tt_pj_buffer_free(s->plugin, outs[d][0]);
    }
  arg_lists[1] = args[0]; /* of the wrong device */
  EXPECT(!ok(api, api->PJRT_LoadedExecutable_Execute(&call)));
  for (int d = 0; d < 2; d++)
    for (int k = 0; k < 2; k++)
      tt_pj_buffer_free(s->plugin, args[d][k]);
}

TEST_WITHOUT_TORTURE(cpu_plugin_compile, replicas) {
  const PJRT_Api *api = cpu_api();
  cpu_setup s;
  PJRT_LoadedExecutable_Destroy_Args destroy = {SIZE(PJRT_LoadedExecutable_Destroy)};
  if (!cpu_set_up(&s, 2) || !EXPECT(api != NULL))
    goto out;
  destroy.executable = compile_replicas(api, s.devices[0]->client, 2);
  REQUIRE(destroy.executable != NULL);
  expect_assignment(api, destroy.executable);
  expect_replicas_run(api, &s, destroy.executable);
  EXPECT(ok(api, api->PJRT_LoadedExecutable_Destroy(&destroy)));
out:
  cpu_tear_down(&s);
}
