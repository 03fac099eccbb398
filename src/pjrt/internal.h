/* internal.h: what this module's files share; the only one of its headers that includes
 * pjrt_c_api.h. */
#ifndef TT_PJRT_INTERNAL_H
#define TT_PJRT_INTERNAL_H

#include "base/bytes.h"
#include "base/dtype.h"
#include "pjrt/pjrt.h"
#include "pjrt_c_api.h"

/* What the table of known plugins adds to a program's CompileOptionsProto; each may be empty. */
typedef struct tt_pj_options {
  tt_bytes all, hints[TT_PJ_HINT_COUNT]; /* of every program; of those with hint 1 << i */
} tt_pj_options;

struct tt_pj_plugin {
  /* The plugin's table, NULL from where the plugin's own ends: a slot is there if and only if it is
   * not NULL. */
  PJRT_Api api;
  char *path;
  const char *name; /* into the table of known plugins, or `own_name` */
  char *own_name;
  tt_pj_options options;
};

struct tt_pj_client {
  const tt_pj_plugin *plugin;
  PJRT_Client *raw;
  tt_pj_text platform_name, platform_version;
  PJRT_Device *const *devices;
  size_t device_count;
  PJRT_Device *const *all_devices;
  size_t all_device_count;
};

struct tt_pj_topology {
  const tt_pj_plugin *plugin;
  PJRT_TopologyDescription *raw;
  tt_pj_text platform_name;
  PJRT_DeviceDescription *const *devices;
  size_t device_count;
};

struct tt_pj_executable {
  const tt_pj_plugin *plugin;
  PJRT_LoadedExecutable *loaded; /* NULL when compiled for a topology */
  PJRT_Executable *raw;
  size_t output_count;
};

/* ---- calls ---- */

/* Frees `error`, which is not NULL. `function` goes before the plugin's text unless it is NULL. */
TT_NODISCARD tt_error *tt_pj_error_take(const tt_pj_plugin *plugin, PJRT_Error *error,
                                        const char *function);
TT_NODISCARD tt_error *tt_pj_missing(const tt_pj_plugin *plugin, const char *function);

static inline tt_error *tt_pj_check(const tt_pj_plugin *plugin, PJRT_Error *error,
                                    const char *function) {
  return TT_LIKELY(error == NULL) ? NULL : tt_pj_error_take(plugin, error, function);
}

/* Calls the plugin's `function` with a pointer to its arguments; a tt_error *, UNIMPLEMENTED where
 * the slot is empty. */
#define TT_PJ_CALL(plugin, function, args)                              \
  (TT_LIKELY((plugin)->api.function != NULL)                            \
       ? tt_pj_check((plugin), (plugin)->api.function(args), #function) \
       : tt_pj_missing((plugin), #function))

/* Begins the initializer of an argument struct: PJRT_Event_Await_Args args =
 * {TT_PJ_SIZE(PJRT_Event_Await_Args), ...}. */
#define TT_PJ_SIZE(type) .struct_size = type##_STRUCT_SIZE

/* Frees `err` and tells whether there was none: for what a plugin need not know. */
static inline bool tt_pj_ok_take(tt_error *err) {
  tt_error_free(err);
  return err == NULL;
}

/* ---- conversions ---- */

/* UNIMPLEMENTED where PJRT has no such type. */
TT_NODISCARD tt_error *tt_pj_type_of(tt_dtype dtype, PJRT_Buffer_Type *out_type);
TT_NODISCARD tt_error *tt_pj_dtype_of(PJRT_Buffer_Type type, tt_dtype *out_dtype);

/* An array for PJRT, borrowing names and contents; the caller frees it. NULL for none. */
TT_NODISCARD tt_error *tt_pj_named_values(const tt_pj_value *values, size_t count,
                                          PJRT_NamedValue **out_named);

/* Appends one entry of CompileOptionsProto.env_option_overrides. */
TT_NODISCARD tt_error *tt_pj_override_encode(const tt_pj_value *override, tt_bytes *out_bytes);

/* All but `addressable` and `local_hardware_id`. */
TT_NODISCARD tt_error *tt_pj_describe(const tt_pj_plugin *plugin,
                                      PJRT_DeviceDescription *description,
                                      tt_pj_device_info *out_info);

/* ---- known plugins ---- */

/* Sets what the table says for the plugin called `name`, leaving alone what is set. `name` is a
 * row's name. */
TT_NODISCARD tt_error *tt_pj_known_prepare(const char *name, tt_pj_use use);
/* Appends, as part of a CompileOptionsProto, the options that the table says each program needs. */
TT_NODISCARD tt_error *tt_pj_known_options(const char *name, tt_pj_options *out_options);
/* The name of the row that lists a file with the last component of `path`, or NULL. */
const char *tt_pj_known_by_file(const char *path);
/* Whether `path` is a file: NULL, or NOT_FOUND naming it. */
TT_NODISCARD tt_error *tt_pj_file_exists(const char *path);

#endif /* TT_PJRT_INTERNAL_H */
