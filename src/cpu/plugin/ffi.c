#include "cpu/plugin/ffi.h"

#include <string.h>

#include "cpu/foreign.h"
#include "cpu/plugin/internal.h"

static PJRT_Error *out(tt_error *err) { return (PJRT_Error *)err; }

#define CHECK(type, given, last)                                                                \
  do {                                                                                          \
    if (args == NULL || args->struct_size < offsetof(type, last) + sizeof args->last ||         \
        args->given == NULL)                                                                    \
      return out(tt_error_new(TT_INVALID_ARGUMENT,                                              \
                              "FFI extension: " #type " is too small, or " #given " is NULL")); \
  } while (0)

static PJRT_Error *type_register(tt_cpu_ffi_type_args *args) {
  CHECK(tt_cpu_ffi_type_args, type_name, type_id);
  return out(
      tt_cpu_foreign_type((tt_ffi_span){args->type_name, args->type_name_size}, &args->type_id));
}

static PJRT_Error *user_data_add(tt_cpu_ffi_user_data_args *args) {
  CHECK(tt_cpu_ffi_user_data_args, context, data);
  return out(tt_cpu_context_add((tt_cpu_context *)(void *)args->context, args->type_id, args->data,
                                TT_CPU_HAS(args, deleter) ? args->deleter : NULL));
}

/* The platform's name is what a client called this plugin: handlers are for whoever registers them.
 */
static PJRT_Error *register_handler(tt_cpu_ffi_handler_args *args) {
  tt_ffi_handler handler = NULL;
  CHECK(tt_cpu_ffi_handler_args, target_name, platform_name_size);
  if (args->api_version != 1)
    return out(tt_error_new(TT_UNIMPLEMENTED,
                            "custom call @%.*s: handlers of api_version %d: known is 1, typed",
                            (int)(args->target_name_size > 200 ? 200 : args->target_name_size),
                            args->target_name, args->api_version));
  memcpy(&handler, &args->handler, sizeof handler);
  return out(
      tt_cpu_foreign_register((tt_ffi_span){args->target_name, args->target_name_size}, handler));
}

tt_cpu_ffi_extension tt_cpu_ffi = {
    .base = {sizeof(tt_cpu_ffi_extension), PJRT_Extension_Type_FFI, NULL},
    .type_register = type_register,
    .user_data_add = user_data_add,
    .register_handler = register_handler,
};

tt_error *tt_cpu_context_create(PJRT_ExecuteContext_Create_Args *args) {
  args->context = (PJRT_ExecuteContext *)(void *)tt_cpu_context_new();
  return args->context == NULL ? tt_error_no_memory(sizeof(void *)) : NULL;
}

tt_error *tt_cpu_context_destroy(PJRT_ExecuteContext_Destroy_Args *args) {
  tt_cpu_context_release((tt_cpu_context *)(void *)args->context);
  return NULL;
}
