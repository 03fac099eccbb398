/* A user's own handlers, through PJRT's FFI extension. */
#include <stdio.h>
#include <string.h>

#include "cpu/foreign_abi.h"
#include "cpu/plugin/ffi.h"
#include "pjrt/internal.h"
#include "plugin_test.h"
#include "test.h"

#define SIZE(type) .struct_size = type##_Args_STRUCT_SIZE

static tt_cpu_ffi_extension *extension(const PJRT_Api *api) {
  PJRT_Extension_Base *at = api->extension_start;
  while (at != NULL && at->type != PJRT_Extension_Type_FFI)
    at = at->next;
  return (tt_cpu_ffi_extension *)(void *)at;
}

/* ---- handlers ---- */

static int64_t type_id;

static tt_ffi_error *fail(const tt_ffi_frame *f, const char *message) {
  tt_ffi_error_create_args args = {sizeof args, NULL, message, TT_INVALID_ARGUMENT};
  return f->api->error_create(&args);
}

/* With a code that there is not. */
static tt_ffi_error *fail_oddly(tt_ffi_frame *f) {
  tt_ffi_error_create_args args = {sizeof args, NULL, "odd", 77};
  return f->api->error_create(&args);
}

static const void *attr(const tt_ffi_attrs *attrs, const char *name, int32_t type) {
  for (int64_t i = 0; i < attrs->size; i++)
    if (attrs->names[i]->len == strlen(name) &&
        memcmp(attrs->names[i]->ptr, name, strlen(name)) == 0 && attrs->types[i] == type)
      return attrs->attrs[i];
  return NULL;
}

/* out = factor * in + offsets[i] + *user data */
static tt_ffi_error *scale(tt_ffi_frame *f) {
  const tt_ffi_scalar *factor = attr(&f->attrs, "factor", TT_FFI_SCALAR);
  const tt_ffi_array *offsets = attr(&f->attrs, "offsets", TT_FFI_ARRAY);
  const tt_ffi_span *name = attr(&f->attrs, "name", TT_FFI_STRING);
  const tt_ffi_attrs *inner = attr(&f->attrs, "inner", TT_FFI_DICTIONARY);
  const tt_ffi_buffer *in = f->args.values[0], *out = f->rets.values[0];
  tt_ffi_type_id id = {type_id};
  tt_ffi_context_args user = {sizeof user, NULL, f->ctx, &id, NULL};
  tt_ffi_ordinal_args device = {sizeof device, NULL, f->ctx, -1};
  tt_ffi_error *err = NULL;
  float base = 0;
  if (factor == NULL || offsets == NULL || name == NULL || inner == NULL || factor->dtype != 11 ||
      offsets->dtype != 5 || offsets->size != 4 || name->len != 3 ||
      memcmp(name->ptr, "a\"b", 3) != 0 || attr(inner, "flag", TT_FFI_SCALAR) == NULL)
    return fail(f, "attributes");
  if (in->dtype != 11 || in->rank != 1 || in->dims[0] != 4 || out->rank != 1)
    return fail(f, "buffers");
  err = f->api->context_get(&user);
  if (err == NULL)
    memcpy(&base, user.data, sizeof base);
  else
    f->api->error_destroy(
        &(tt_ffi_error_destroy_args){sizeof(tt_ffi_error_destroy_args), NULL, err});
  if (f->api->device_ordinal_get(&device) != NULL || device.device_ordinal != 0)
    return fail(f, "ordinal");
  for (int i = 0; i < 4; i++)
    ((float *)out->data)[i] = *(const float *)factor->value * ((const float *)in->data)[i] +
                              (float)((const int64_t *)offsets->data)[i] + base;
  return NULL;
}

static tt_ffi_error *refuse(tt_ffi_frame *f) { return fail(f, "not today"); }

/* Says later that it is done. */
static tt_ffi_error *later(tt_ffi_frame *f) {
  tt_ffi_future_args args = {sizeof args, NULL, NULL, NULL};
  const tt_ffi_buffer *out = f->rets.values[0];
  tt_ffi_error *err = f->api->future_create(&args);
  if (err != NULL)
    return err;
  f->future = args.future;
  for (int i = 0; i < 4; i++)
    ((float *)out->data)[i] = 7;
  return f->api->future_set_available(&args);
}

/* ---- calls ---- */

static tt_error *register_one(const PJRT_Api *api, const char *name, tt_ffi_handler handler) {
  tt_cpu_ffi_handler_args args = {.struct_size = sizeof args,
                                  .target_name = name,
                                  .target_name_size = strlen(name),
                                  .api_version = 1,
                                  .platform_name = "cpu",
                                  .platform_name_size = 3};
  memcpy(&args.handler, &handler, sizeof handler);
  return (tt_error *)extension(api)->register_handler(&args);
}

#define PROGRAM(target, config)                                                                \
  "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = stablehlo.custom_call @" target \
  "(%x) {api_version = 4 : i32" config                                                         \
  "} : (tensor<4xf32>) -> tensor<4xf32>\n"                                                     \
  "return %0 : tensor<4xf32>\n}\n"

/* As the plugin gives it, before the client side has looked at it. */
static int code_of(tt_pj_buffer *buffer) {
  const PJRT_Api *api = cpu_api();
  PJRT_Buffer_ReadyEvent_Args get = {SIZE(PJRT_Buffer_ReadyEvent), .buffer = buffer};
  tt_error_free((tt_error *)api->PJRT_Buffer_ReadyEvent(&get));
  PJRT_Event_Await_Args await = {SIZE(PJRT_Event_Await), .event = get.event};
  PJRT_Error_GetCode_Args ask = {SIZE(PJRT_Error_GetCode), .error = api->PJRT_Event_Await(&await)};
  if (ask.error != NULL)
    tt_error_free((tt_error *)api->PJRT_Error_GetCode(&ask));
  tt_error_free((tt_error *)(uintptr_t)ask.error);
  PJRT_Event_Destroy_Args destroy = {SIZE(PJRT_Event_Destroy), .event = get.event};
  tt_error_free((tt_error *)api->PJRT_Event_Destroy(&destroy));
  return (int)ask.code;
}

/* Runs it on {5, 5, 5, 5}, and expects `want` of element 1. */
static void run(const cpu_setup *s, const char *text, PJRT_ExecuteContext *context, double want,
                tt_code code, const char *part) {
  const PJRT_Api *api = cpu_api();
  tt_pj_executable *e = NULL;
  tt_pj_buffer *in = NULL, *out = NULL;
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                 .context = context};
  tt_pj_buffer *const *arg_lists[] = {&in};
  tt_pj_buffer **out_lists[] = {&out};
  PJRT_LoadedExecutable_Execute_Args call = {SIZE(PJRT_LoadedExecutable_Execute),
                                             .options = &options,
                                             .argument_lists = arg_lists,
                                             .num_devices = 1,
                                             .num_args = 1,
                                             .output_lists = out_lists};
  float got[4] = {0};
  REQUIRE_OK(cpu_compile(s, text, NULL, &e));
  REQUIRE_OK(cpu_filled(s, s->devices[0], 4, 5, &in));
  call.executable = e->loaded;
  REQUIRE_OK((tt_error *)api->PJRT_LoadedExecutable_Execute(&call));
  {
    tt_error *err = tt_pj_buffer_to_host(s->plugin, out, got, sizeof got, NULL);
    if (part != NULL) {
      EXPECT_ERR(err, code, part);
      EXPECT_INT(code_of(out), code);
    } else if (EXPECT_OK(err)) {
      EXPECT_DOUBLE((double)got[1], want, 0);
    }
  }
out:
  tt_pj_buffer_free(s->plugin, in);
  tt_pj_buffer_free(s->plugin, out);
  tt_pj_executable_free(e);
}

static PJRT_ExecuteContext *new_context(const PJRT_Api *api, float *value) {
  PJRT_ExecuteContext_Create_Args args = {SIZE(PJRT_ExecuteContext_Create)};
  EXPECT_OK((tt_error *)api->PJRT_ExecuteContext_Create(&args));
  tt_cpu_ffi_user_data_args data = {
      .struct_size = sizeof data, .context = args.context, .type_id = type_id, .data = value};
  EXPECT_OK((tt_error *)extension(api)->user_data_add(&data));
  EXPECT_ERR((tt_error *)extension(api)->user_data_add(&data), TT_ALREADY_EXISTS, "type id");
  return args.context;
}

TEST_WITHOUT_TORTURE(cpu_plugin_ffi, calls_handlers) {
  const PJRT_Api *api = cpu_api();
  cpu_setup s;
  float base = 100;
  tt_cpu_ffi_type_args type = {
      .struct_size = sizeof type, .type_name = "base", .type_name_size = 4};
  PJRT_ExecuteContext_Destroy_Args destroy = {SIZE(PJRT_ExecuteContext_Destroy)};
  static const char config[] =
      ", backend_config = {offsets = array<i64: 1, -2, 3, 4>, factor = 2.0 : f32, name = "
      "\"a\\22b\", inner = {flag = true}}";
  static const char dense[] =
      ", backend_config = {offsets = dense<[1, -2, 3, 4]> : tensor<4xi64>, factor = 0x40000000 : "
      "f32, name = \"a\\\"b\", inner = {flag}}";
  char text[2][1024];
  if (!cpu_set_up(&s, 1) || !EXPECT(api != NULL) || !EXPECT(extension(api) != NULL))
    goto out;
  snprintf(text[0], sizeof text[0], "%s%s%s",
           "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> "
           "{\n%0 = stablehlo.custom_call @test_scale(%x) {api_version = 4 : i32",
           config, "} : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}\n");
  snprintf(text[1], sizeof text[1], "%s%s%s",
           "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> "
           "{\n%0 = stablehlo.custom_call @test_scale(%x) {api_version = 4 : i32",
           dense, "} : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}\n");
  REQUIRE_OK(register_one(api, "test_scale", scale));
  REQUIRE_OK(register_one(api, "test_scale", scale));
  EXPECT_ERR(register_one(api, "test_scale", refuse), TT_ALREADY_EXISTS, "another handler");
  REQUIRE_OK(register_one(api, "test_refuse", refuse));
  REQUIRE_OK(register_one(api, "test_odd", fail_oddly));
  REQUIRE_OK(register_one(api, "test_later", later));
  REQUIRE_OK((tt_error *)extension(api)->type_register(&type));
  type_id = type.type_id;
  EXPECT(type_id > 0);
  destroy.context = new_context(api, &base);
  run(&s, text[0], NULL, 8, TT_OK, NULL);
  run(&s, text[0], destroy.context, 108, TT_OK, NULL);
  run(&s, text[1], destroy.context, 108, TT_OK, NULL);
  run(&s, PROGRAM("test_refuse", ""), NULL, 0, TT_INVALID_ARGUMENT,
      "custom call @test_refuse: not today");
  run(&s, PROGRAM("test_odd", ""), NULL, 0, TT_UNKNOWN, "custom call @test_odd: odd");
  run(&s, PROGRAM("test_scale", ""), NULL, 0, TT_INVALID_ARGUMENT, "attributes");
  run(&s, PROGRAM("test_later", ""), NULL, 7, TT_OK, NULL);
  EXPECT_OK((tt_error *)api->PJRT_ExecuteContext_Destroy(&destroy));
out:
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_ffi, refuses) {
  const PJRT_Api *api = cpu_api();
  cpu_setup s;
  tt_pj_executable *e = NULL;
  static const struct {
    tt_code code;
    const char *text, *part;
  } rows[] = {
      {TT_UNIMPLEMENTED, PROGRAM("test_nobody", ""), "@test_nobody is not implemented"},
      {TT_UNIMPLEMENTED, PROGRAM("test_later2", ", backend_config = {a = [1, 2]}"),
       "backend_config: expected"},
      {TT_UNIMPLEMENTED, PROGRAM("test_later2", ", backend_config = {a = 1 : i7}"),
       "expected an element type"},
      {TT_INVALID_ARGUMENT, PROGRAM("test_later2", ", backend_config = {a = 1 b = 2}"),
       "backend_config: expected ,"},
      {TT_INVALID_ARGUMENT,
       PROGRAM("test_later2", ", backend_config = {a = dense<[1, 2]> : tensor<3xi64>}"),
       "as many elements"},
      {TT_UNIMPLEMENTED,
       PROGRAM("test_later2", ", backend_config = {a = dense<1> : tensor<99999999x9999xi64>}"),
       "too many elements"},
      {TT_UNIMPLEMENTED,
       "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = stablehlo.custom_call "
       "@test_later2(%x) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}\n",
       "api_version 4"},
  };
  if (!cpu_set_up(&s, 1) || !EXPECT(api != NULL))
    goto out;
  REQUIRE_OK(register_one(api, "test_later2", later));
  for (size_t i = 0; i < TT_COUNT(rows); i++) {
    EXPECT_ERR(cpu_compile(&s, rows[i].text, NULL, &e), rows[i].code, rows[i].part);
    tt_pj_executable_free(e);
    e = NULL;
  }
out:
  cpu_tear_down(&s);
}
