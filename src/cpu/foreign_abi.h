/* foreign_abi.h: how XLA's runtime calls handlers that users wrote in C or C++ (XLA FFI 0.3). Names
 * are ours, the binary form is XLA's (openxla/xla, xla/ffi/api/c_api.h). Each struct begins with
 * its size and a chain of extensions. */
#ifndef TT_CPU_FOREIGN_ABI_H
#define TT_CPU_FOREIGN_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { TT_FFI_MAJOR = 0, TT_FFI_MINOR = 3 };
#define TT_FFI_HEAD   \
  size_t struct_size; \
  void *extension_start

typedef struct tt_ffi_error tt_ffi_error;     /* a tt_error here */
typedef struct tt_ffi_future tt_ffi_future;   /* opaque to handlers */
typedef struct tt_ffi_context tt_ffi_context; /* of one call */
typedef struct tt_ffi_api tt_ffi_api;

enum { TT_FFI_BUFFER = 1 };
enum { TT_FFI_ARRAY = 1, TT_FFI_DICTIONARY = 2, TT_FFI_SCALAR = 3, TT_FFI_STRING = 4 };
enum { TT_FFI_EXECUTE = 3 }; /* the stage */

typedef struct tt_ffi_buffer {
  TT_FFI_HEAD;
  int32_t dtype; /* xla.PrimitiveType */
  void *data;
  int64_t rank;
  int64_t *dims;
} tt_ffi_buffer;

typedef struct tt_ffi_span {
  const char *ptr;
  size_t len;
} tt_ffi_span;

typedef struct tt_ffi_scalar {
  int32_t dtype;
  void *value;
} tt_ffi_scalar;

typedef struct tt_ffi_array {
  int32_t dtype;
  size_t size;
  void *data;
} tt_ffi_array;

/* Arguments, and results alike. */
typedef struct tt_ffi_values {
  TT_FFI_HEAD;
  int64_t size;
  int32_t *types;
  void **values;
} tt_ffi_values;

/* Sorted by name. */
typedef struct tt_ffi_attrs {
  TT_FFI_HEAD;
  int64_t size;
  int32_t *types;
  tt_ffi_span **names;
  void **attrs;
} tt_ffi_attrs;

typedef struct tt_ffi_frame {
  TT_FFI_HEAD;
  const tt_ffi_api *api;
  tt_ffi_context *ctx;
  int32_t stage;
  tt_ffi_values args, rets;
  tt_ffi_attrs attrs;
  tt_ffi_future *future; /* out; beyond the struct's official size */
} tt_ffi_frame;

typedef tt_ffi_error *(*tt_ffi_handler)(tt_ffi_frame *frame);

typedef struct tt_ffi_bundle {
  tt_ffi_handler instantiate, prepare, initialize, execute;
} tt_ffi_bundle;

typedef struct tt_ffi_type_id {
  int64_t id;
} tt_ffi_type_id;

/* ---- the functions that a handler may call ---- */

typedef struct tt_ffi_error_create_args {
  TT_FFI_HEAD;
  const char *message;
  int32_t code;
} tt_ffi_error_create_args;

typedef struct tt_ffi_error_message_args {
  TT_FFI_HEAD;
  tt_ffi_error *error;
  const char *message; /* out */
} tt_ffi_error_message_args;

typedef struct tt_ffi_error_destroy_args {
  TT_FFI_HEAD;
  tt_ffi_error *error;
} tt_ffi_error_destroy_args;

typedef struct tt_ffi_register_args {
  TT_FFI_HEAD;
  tt_ffi_span name, platform;
  tt_ffi_bundle bundle;
  uint32_t traits;
} tt_ffi_register_args;

typedef struct tt_ffi_type_args {
  TT_FFI_HEAD;
  tt_ffi_span name;
  tt_ffi_type_id *type_id; /* in and out */
  const void *type_info;
} tt_ffi_type_args;

typedef struct tt_ffi_context_args {
  TT_FFI_HEAD;
  tt_ffi_context *ctx;
  tt_ffi_type_id *type_id;
  void *data; /* out */
} tt_ffi_context_args;

typedef struct tt_ffi_allocate_args {
  TT_FFI_HEAD;
  tt_ffi_context *ctx;
  size_t size, alignment;
  void *data; /* out */
} tt_ffi_allocate_args;

typedef struct tt_ffi_free_args {
  TT_FFI_HEAD;
  tt_ffi_context *ctx;
  size_t size;
  void *data;
} tt_ffi_free_args;

typedef struct tt_ffi_schedule_args {
  TT_FFI_HEAD;
  tt_ffi_context *ctx;
  void (*task)(void *data);
  void *data;
} tt_ffi_schedule_args;

typedef struct tt_ffi_threads_args {
  TT_FFI_HEAD;
  tt_ffi_context *ctx;
  int64_t *num_threads; /* out */
} tt_ffi_threads_args;

typedef struct tt_ffi_future_args {
  TT_FFI_HEAD;
  tt_ffi_future *future; /* out of create */
  tt_ffi_error *error;   /* of set_error only */
} tt_ffi_future_args;

typedef struct tt_ffi_run_id_args {
  TT_FFI_HEAD;
  tt_ffi_context *ctx;
  int64_t run_id; /* out */
} tt_ffi_run_id_args;

typedef struct tt_ffi_ordinal_args {
  TT_FFI_HEAD;
  tt_ffi_context *ctx;
  int32_t device_ordinal; /* out */
} tt_ffi_ordinal_args;

struct tt_ffi_api {
  TT_FFI_HEAD;
  struct {
    TT_FFI_HEAD;
    int32_t major_version, minor_version;
  } api_version;
  const void *internal_api;
  tt_ffi_error *(*error_create)(tt_ffi_error_create_args *args);
  void (*error_message)(tt_ffi_error_message_args *args);
  void (*error_destroy)(tt_ffi_error_destroy_args *args);
  tt_ffi_error *(*handler_register)(tt_ffi_register_args *args);
  tt_ffi_error *(*stream_get)(void *args);
  tt_ffi_error *(*type_register)(tt_ffi_type_args *args);
  tt_ffi_error *(*context_get)(tt_ffi_context_args *args);
  tt_ffi_error *(*state_set)(void *args);
  tt_ffi_error *(*state_get)(void *args);
  tt_ffi_error *(*memory_allocate)(tt_ffi_allocate_args *args);
  tt_ffi_error *(*memory_free)(tt_ffi_free_args *args);
  tt_ffi_error *(*pool_schedule)(tt_ffi_schedule_args *args);
  tt_ffi_error *(*pool_threads)(tt_ffi_threads_args *args);
  tt_ffi_error *(*future_create)(tt_ffi_future_args *args);
  tt_ffi_error *(*future_set_available)(tt_ffi_future_args *args);
  tt_ffi_error *(*future_set_error)(tt_ffi_future_args *args);
  tt_ffi_error *(*run_id_get)(tt_ffi_run_id_args *args);
  tt_ffi_error *(*device_ordinal_get)(tt_ffi_ordinal_args *args);
};

#endif /* TT_CPU_FOREIGN_ABI_H */
