/* One pass through the plugin as it is linked into this executable, whose allocations the harness
 * makes fail one after the other. */
#include <string.h>

#include "pjrt_c_api.h"
#include "plugin_test.h"
#include "test.h"

const PJRT_Api *GetPjrtApi(void);

#define SIZE(type) .struct_size = type##_Args_STRUCT_SIZE

static bool ok(PJRT_Error *error) {
  PJRT_Error_Destroy_Args destroy = {SIZE(PJRT_Error_Destroy), .error = error};
  GetPjrtApi()->PJRT_Error_Destroy(&destroy);
  return error == NULL;
}

/* EXPECT would evaluate it twice. */
#define CALL(function, args) REQUIRE(ok(GetPjrtApi()->function(args)))

static PJRT_Buffer *vector(PJRT_Client *client, int64_t count) {
  static float data[1 << 17];
  PJRT_Event_Destroy_Args event = {SIZE(PJRT_Event_Destroy)};
  PJRT_Client_BufferFromHostBuffer_Args args = {
      SIZE(PJRT_Client_BufferFromHostBuffer), .client = client, .data = data,
      .type = PJRT_Buffer_Type_F32,           .dims = &count,   .num_dims = 1};
  if (!ok(GetPjrtApi()->PJRT_Client_BufferFromHostBuffer(&args)))
    return NULL;
  event.event = args.done_with_host_buffer;
  (void)ok(GetPjrtApi()->PJRT_Event_Destroy(&event));
  return args.buffer;
}

static void drop(PJRT_Buffer *buffer) {
  PJRT_Buffer_Destroy_Args args = {SIZE(PJRT_Buffer_Destroy), .buffer = buffer};
  (void)ok(GetPjrtApi()->PJRT_Buffer_Destroy(&args));
}

static void run_with(PJRT_Client *client, PJRT_LoadedExecutable *loaded, int64_t count) {
  PJRT_Buffer *args[2] = {vector(client, count), vector(client, count)}, *outs[1] = {NULL};
  PJRT_Buffer *const *arg_lists[1] = {args};
  PJRT_Buffer **out_lists[1] = {outs};
  PJRT_Event *done[1] = {NULL};
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_LoadedExecutable_Execute_Args call = {SIZE(PJRT_LoadedExecutable_Execute),
                                             .executable = loaded,
                                             .options = &options,
                                             .argument_lists = arg_lists,
                                             .num_devices = 1,
                                             .num_args = 2,
                                             .output_lists = out_lists,
                                             .device_complete_events = done};
  if (args[0] != NULL && args[1] != NULL &&
      EXPECT(ok(GetPjrtApi()->PJRT_LoadedExecutable_Execute(&call)))) {
    PJRT_Event_Await_Args await = {SIZE(PJRT_Event_Await), .event = done[0]};
    PJRT_Event_Destroy_Args event = {SIZE(PJRT_Event_Destroy), .event = done[0]};
    EXPECT(ok(GetPjrtApi()->PJRT_Event_Await(&await)));
    EXPECT(ok(GetPjrtApi()->PJRT_Event_Destroy(&event)));
    drop(outs[0]);
  }
  drop(args[0]);
  drop(args[1]);
}

static void compile_and_run(PJRT_Client *client, int64_t count) {
  static const char mlir[] = "mlir";
  const char *text = cpu_add_text(count, CPU_ALIAS);
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)(uintptr_t)text,
                          .code_size = strlen(text),
                          .format = mlir,
                          .format_size = 4};
  PJRT_Client_Compile_Args compile = {SIZE(PJRT_Client_Compile), .client = client,
                                      .program = &program};
  if (!EXPECT(ok(GetPjrtApi()->PJRT_Client_Compile(&compile))))
    return;
  PJRT_LoadedExecutable_GetExecutable_Args get = {SIZE(PJRT_LoadedExecutable_GetExecutable),
                                                  .loaded_executable = compile.executable};
  PJRT_Executable_Destroy_Args destroy = {SIZE(PJRT_Executable_Destroy)};
  PJRT_Executable_Serialize_Args serialize = {SIZE(PJRT_Executable_Serialize)};
  PJRT_LoadedExecutable_Destroy_Args unload = {SIZE(PJRT_LoadedExecutable_Destroy),
                                               .executable = compile.executable};
  EXPECT(ok(GetPjrtApi()->PJRT_LoadedExecutable_GetExecutable(&get)));
  destroy.executable = get.executable;
  serialize.executable = get.executable;
  if (EXPECT(ok(GetPjrtApi()->PJRT_Executable_Serialize(&serialize))))
    serialize.serialized_executable_deleter(serialize.serialized_executable);
  run_with(client, compile.executable, count);
  EXPECT(ok(GetPjrtApi()->PJRT_Executable_Destroy(&destroy)));
  EXPECT(ok(GetPjrtApi()->PJRT_LoadedExecutable_Destroy(&unload)));
}

/* Small, on this thread, and larger, on the device's. */
TEST(cpu_plugin_torture, compile_and_run) {
  PJRT_Client_Create_Args create = {SIZE(PJRT_Client_Create)};
  PJRT_Client_Destroy_Args destroy = {SIZE(PJRT_Client_Destroy)};
  CALL(PJRT_Client_Create, &create);
  destroy.client = create.client;
  compile_and_run(create.client, 16);
  compile_and_run(create.client, 1 << 17);
  CALL(PJRT_Client_Destroy, &destroy);
out:;
}
