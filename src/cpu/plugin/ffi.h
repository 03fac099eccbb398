/* ffi.h: PJRT's FFI extension, whose header the package that we take pjrt_c_api.h from does not
 * have. Names are ours, the binary form is PJRT's (openxla/xla, pjrt_c_api_ffi_extension.h,
 * versions 2 and 3, which differ behind what version 2 has). */
#ifndef TT_CPU_PLUGIN_FFI_H
#define TT_CPU_PLUGIN_FFI_H

#include "pjrt_c_api.h"

typedef struct tt_cpu_ffi_type_args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *type_name;
  size_t type_name_size;
  int64_t type_id; /* in and out; 0: give it one */
} tt_cpu_ffi_type_args;

typedef struct tt_cpu_ffi_user_data_args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_ExecuteContext *context;
  int64_t type_id;
  void *data;
  void (*deleter)(void *data); /* version 2 only; may be NULL */
} tt_cpu_ffi_user_data_args;

typedef struct tt_cpu_ffi_handler_args {
  size_t struct_size;
  const char *target_name;
  size_t target_name_size;
  int api_version; /* 0: untyped, 1: typed */
  void *handler;
  const char *platform_name;
  size_t platform_name_size;
  int traits;
} tt_cpu_ffi_handler_args;

typedef struct tt_cpu_ffi_extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*type_register)(tt_cpu_ffi_type_args *args);
  PJRT_Error *(*user_data_add)(tt_cpu_ffi_user_data_args *args);
  PJRT_Error *(*register_handler)(tt_cpu_ffi_handler_args *args);
} tt_cpu_ffi_extension;

extern tt_cpu_ffi_extension tt_cpu_ffi;

#endif /* TT_CPU_PLUGIN_FFI_H */
