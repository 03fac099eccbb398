/* layouts.h: PJRT's Layouts extension, whose header the package that we take pjrt_c_api.h from does
 * not have. Names are ours, the binary form is PJRT's (openxla/xla, pjrt_c_api_layouts_extension.h,
 * version 3, and the slot added in PJRT 0.93). */
#ifndef TT_CPU_PLUGIN_LAYOUTS_H
#define TT_CPU_PLUGIN_LAYOUTS_H

#include "pjrt_c_api.h"

/* Our arrays are dense and row-major: a layout is the text of that, such as "{1,0}". */
typedef struct tt_cpu_layout tt_cpu_layout;

typedef struct tt_cpu_layout_destroy_args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  tt_cpu_layout *layout;
} tt_cpu_layout_destroy_args;

typedef struct tt_cpu_layout_serialize_args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  tt_cpu_layout *layout;
  const char *serialized_bytes; /* out */
  size_t serialized_bytes_size; /* out */
  void *serialized_layout;      /* out */
  void (*serialized_layout_deleter)(void *serialized_layout);
} tt_cpu_layout_serialize_args;

/* Of a client or a topology. */
typedef struct tt_cpu_layout_default_args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  void *owner;
  PJRT_Buffer_Type type;
  const int64_t *dims;
  size_t num_dims;
  tt_cpu_layout *layout; /* out */
} tt_cpu_layout_default_args;

typedef struct tt_cpu_layout_buffer_args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  tt_cpu_layout *layout; /* out */
} tt_cpu_layout_buffer_args;

/* Of an executable's outputs or parameters; it owns the layouts. */
typedef struct tt_cpu_layout_executable_args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t count;            /* out */
  tt_cpu_layout **layouts; /* out */
} tt_cpu_layout_executable_args;

typedef struct tt_cpu_layouts_extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*destroy)(tt_cpu_layout_destroy_args *args);
  PJRT_Error *(*serialize)(tt_cpu_layout_serialize_args *args);
  PJRT_Error *(*client_default)(tt_cpu_layout_default_args *args);
  PJRT_Error *(*buffer)(tt_cpu_layout_buffer_args *args);
  PJRT_Error *(*topology_default)(tt_cpu_layout_default_args *args);
  PJRT_Error *(*outputs)(tt_cpu_layout_executable_args *args);
  PJRT_Error *(*parameters)(tt_cpu_layout_executable_args *args);
} tt_cpu_layouts_extension;

extern tt_cpu_layouts_extension tt_cpu_layouts;
/* A list that ends with NULL; NULL is allowed. */
void tt_cpu_layouts_free(tt_cpu_layout **layouts);

#endif /* TT_CPU_PLUGIN_LAYOUTS_H */
