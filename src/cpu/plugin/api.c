/* api.c: the table that PJRT clients get, made from api.def. */
#include <string.h>

#include "cpu/plugin/ffi.h"
#include "cpu/plugin/internal.h"
#include "cpu/plugin/layouts.h"

/* The only symbol that leaves the library. */
__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void);

/* The version of the table, whatever newer header it is compiled with. */
enum { MINOR = 81, SLOTS = 118 };

static PJRT_Error *out(tt_error *err) { return (PJRT_Error *)err; }

static tt_error *too_small(const char *name, size_t got, size_t want) {
  return tt_error_new(TT_INVALID_ARGUMENT, "%s_Args: expected at least %zu bytes, got %zu", name,
                      want, got);
}

#define REACH(slot, field) PJRT_STRUCT_SIZE(slot##_Args, field)
#define CHECK_SIZE(slot, needs)                                              \
  do {                                                                       \
    if (TT_UNLIKELY(args == NULL))                                           \
      return out(tt_error_new(TT_INVALID_ARGUMENT, #slot "_Args is NULL"));  \
    if (TT_UNLIKELY(args->struct_size < (REACH(slot, needs))))               \
      return out(too_small(#slot, args->struct_size, (REACH(slot, needs)))); \
  } while (0)

#define X(slot, function, given, needs)                                            \
  static PJRT_Error *call_##slot(slot##_Args *args) {                              \
    CHECK_SIZE(slot, needs);                                                       \
    if (TT_UNLIKELY(args->given == NULL))                                          \
      return out(tt_error_new(TT_INVALID_ARGUMENT, #slot ": " #given " is NULL")); \
    return out(tt_cpu_##function(args));                                           \
  }
#define N(slot, function, needs)                      \
  static PJRT_Error *call_##slot(slot##_Args *args) { \
    CHECK_SIZE(slot, needs);                          \
    return out(tt_cpu_##function(args));              \
  }
#define MISSING(slot)                                                        \
  static PJRT_Error *call_##slot(slot##_Args *args) {                        \
    (void)args;                                                              \
    return out(tt_error_new(TT_UNIMPLEMENTED, #slot " is not implemented")); \
  }
#include "cpu/plugin/api.def"
#undef X
#undef N
#undef MISSING

static void destroy_error(PJRT_Error_Destroy_Args *args) { tt_error_free((tt_error *)args->error); }

static void error_message(PJRT_Error_Message_Args *args) {
  args->message = tt_error_message((const tt_error *)args->error);
  args->message_size = strlen(args->message);
}

tt_error *tt_cpu_error_code(PJRT_Error_GetCode_Args *args) {
  args->code = (PJRT_Error_Code)tt_error_code((const tt_error *)args->error);
  return NULL;
}

/* Each slot has one line: no more, or the compiler finds an entry twice; no less, or this fails. */
#define X(slot, function, given, needs) +1
#define N(slot, function, needs) +1
#define MISSING(slot) +1
_Static_assert(2
#include "cpu/plugin/api.def"
                   == SLOTS,
               "api.def has as many lines as the table has slots");
#undef X
#undef N
#undef MISSING
#define TABLE_SIZE PJRT_STRUCT_SIZE(PJRT_Api, PJRT_LoadedExecutable_GetDeviceAssignment)
_Static_assert(TABLE_SIZE - offsetof(PJRT_Api, PJRT_Error_Destroy) == SLOTS * sizeof(void *),
               "the slots that this version of PJRT has");

const PJRT_Api *GetPjrtApi(void) {
  static const PJRT_Api api = {
      .struct_size = TABLE_SIZE,
      .extension_start = &tt_cpu_layouts.base,
      .pjrt_api_version = {PJRT_STRUCT_SIZE(PJRT_Api_Version, minor_version), NULL, 0, MINOR},
      .PJRT_Error_Destroy = destroy_error,
      .PJRT_Error_Message = error_message,
#define X(slot, function, given, needs) .slot = call_##slot,
#define N(slot, function, needs) .slot = call_##slot,
#define MISSING(slot) .slot = call_##slot,
#include "cpu/plugin/api.def"
#undef X
#undef N
#undef MISSING
  };
  return &api;
}
