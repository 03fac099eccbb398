#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "pjrt/internal.h"

typedef enum when { ALWAYS, TOPOLOGY_ONLY } when;

/* An environment variable that a plugin reads while it loads; set unless there is one. */
typedef struct variable {
  const char *name, *value;
  when when;
} variable;

/* An XLA debug option that programs are compiled with, unless the caller's options or the user's
 * XLA_FLAGS mention it. Not put into XLA_FLAGS: every XLA library in the process and in its
 * children reads that, and one that does not know a flag there aborts. */
typedef struct override {
  const char *name, *value;
} override;

/* Files are looked for in each folder that the caller gives, in this order. */
typedef struct known {
  const char *name;
  const char *files[4];
  variable variables[6];
  override overrides[4];               /* of every program */
  override hints[TT_PJ_HINT_COUNT][2]; /* besides, of those with hint 1 << i */
  bool uses_malloc;                    /* the device's memory is malloc's */
  const char *devices_option;          /* of a client: how many devices it has */
  bool in_order; /* a device runs its programs in the order that they were given to it in */
} known;

/* The places of the hints in `known`. */
enum { QUICK, LOOSE_MAX, PLAIN_DOT, EXACT };
_Static_assert(TT_PJ_QUICK == 1 << QUICK && TT_PJ_LOOSE_MAX == 1 << LOOSE_MAX &&
                   TT_PJ_PLAIN_DOT == 1 << PLAIN_DOT && TT_PJ_EXACT == 1 << EXACT,
               "hints and their places");
#define XLA_EXACT {{"xla_allow_excess_precision", "False"}}

static const known rows[] = {
    {.name = "cpu",
     .files = {"torch_tpu/libpjrt_cpu.so", "libpjrt_cpu.so"},
     .devices_option = "cpu_device_count",
     .in_order = true},
    {.name = "xla_cpu",
     .files = {"xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so", "xla_cpu_pjrt/xla_cpu_pjrt.so"},
     /* Hides "Unsupported fusion type" on stderr. */
     .variables = {{"TF_CPP_MIN_LOG_LEVEL", "3", ALWAYS}},
     .overrides =
         {/* Otherwise max, min and clamp lose NaN. */
          {"xla_cpu_enable_fast_min_max", "False"},
          /* Reductions by YNNPACK: sums over leading dims in 0.2 of the time, compiled in
           * 10 ms instead of 45. Its elementwise fusions crash. */
          {"xla_cpu_experimental_ynn_fusion_type", "LIBRARY_FUSION_TYPE_REDUCE"},
          /* In loops it keeps what it packed of a weight, by its address, over runs: a weight
           * that was updated in place went on with its old values. */
          {"xla_cpu_use_xnnpack", "False"},
          {"xla_cpu_prefer_vector_width", "512"}},
     .hints =
         {/* Measured on one op: compiles in 12 ms instead of 20, runs as fast.
           * Programs with a scatter or many ops compile and run slower this way. */
          [QUICK] = {{"xla_cpu_use_fusion_emitters", "False"},
                     {"xla_backend_optimization_level", "1"}},
          /* A maximum over rows runs ten times faster this way. */
          [LOOSE_MAX] = {{"xla_cpu_enable_fast_min_max", "True"}},
          /* By oneDNN instead of Eigen: 0.5 to 0.8 of the time. XLA ends the
           * process where oneDNN refuses, as it does for batches of dot products. */
          [PLAIN_DOT] = {{"xla_cpu_use_onednn", "True"},
                         {"xla_cpu_experimental_onednn_fusion_type", "LIBRARY_FUSION_TYPE_DOT"}},
          [EXACT] = XLA_EXACT},
     .uses_malloc = true,
     .devices_option = "cpu_device_count"},
    /* With no TPU there: do not wait for the cloud's metadata server, take no machine-wide lock;
     * the other three only keep warnings off stderr, and the type need not fit the topology. */
    {.name = "tpu",
     .files = {"libtpu/libtpu.so", "libtpu.so"},
     .variables = {{"TPU_SKIP_MDS_QUERY", "1", TOPOLOGY_ONLY},
                   {"ALLOW_MULTIPLE_LIBTPU_LOAD", "1", TOPOLOGY_ONLY},
                   {"TPU_ACCELERATOR_TYPE", "v6e-4", TOPOLOGY_ONLY},
                   {"TPU_WORKER_HOSTNAMES", "localhost", TOPOLOGY_ONLY},
                   {"TPU_WORKER_ID", "0", TOPOLOGY_ONLY}},
     .hints = {[EXACT] = XLA_EXACT}},
    {.name = "cuda",
     .files = {"jax_plugins/xla_cuda13/xla_cuda_plugin.so",
               "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
               "jax_plugins/xla_cuda/xla_cuda_plugin.so"},
     .hints = {[EXACT] = XLA_EXACT}},
    {.name = "rocm",
     .files = {"jax_plugins/xla_rocm7/xla_rocm_plugin.so",
               "jax_plugins/xla_rocm60/xla_rocm_plugin.so",
               "jax_plugins/xla_rocm/xla_rocm_plugin.so"},
     .hints = {[EXACT] = XLA_EXACT}},
    {.name = "oneapi", .files = {"jax_plugins/intel_extension_for_openxla/pjrt_plugin_xpu.so"}},
    {.name = "neuron", .files = {"libneuronxla/libneuronpjrt.so"}},
    {.name = "metal",
     .files = {"jax_plugins/metal_plugin/pjrt_plugin_metal_14.dylib",
               "jax_plugins/metal_plugin/pjrt_plugin_metal_13.dylib"}},
    {.name = "tenstorrent",
     .files = {"pjrt_plugin_tt/pjrt_plugin_tt.so", "jax_plugins/pjrt_plugin_tt/pjrt_plugin_tt.so"}},
};

const char *tt_pj_plugin_name_at(size_t index) {
  return index < TT_COUNT(rows) ? rows[index].name : NULL;
}

static const known *row_of(const char *name) {
  for (size_t i = 0; i < TT_COUNT(rows); i++)
    if (strcmp(rows[i].name, name) == 0)
      return &rows[i];
  return NULL;
}

static const char *last_component(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

const char *tt_pj_known_by_file(const char *path) {
  const char *file = last_component(path);
  for (size_t i = 0; i < TT_COUNT(rows); i++)
    for (size_t k = 0; k < TT_COUNT(rows[i].files) && rows[i].files[k] != NULL; k++)
      if (strcmp(last_component(rows[i].files[k]), file) == 0)
        return rows[i].name;
  return NULL;
}

static const known *find_row(const char *name_or_path) {
  bool is_path = strchr(name_or_path, '/') != NULL;
  const char *name = is_path ? tt_pj_known_by_file(name_or_path) : name_or_path;
  return name == NULL ? NULL : row_of(name);
}

const char *tt_pj_plugin_devices_option(const char *name_or_path) {
  const known *row = find_row(name_or_path);
  return row == NULL ? NULL : row->devices_option;
}

bool tt_pj_plugin_in_order(const char *name_or_path) {
  const known *row = find_row(name_or_path);
  return row != NULL && row->in_order;
}

/* ---- finding ---- */

tt_error *tt_pj_file_exists(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0)
    return tt_error_new(TT_NOT_FOUND, "PJRT plugin %s: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode))
    return tt_error_new(TT_INVALID_ARGUMENT, "PJRT plugin %s: not a file", path);
  return NULL;
}

static tt_error *put_path(const char *dir, const char *file, char *out_path, size_t path_size) {
  int size = dir == NULL ? snprintf(out_path, path_size, "%s", file)
                         : snprintf(out_path, path_size, "%s/%s", dir, file);
  if (size < 0 || (size_t)size >= path_size)
    return tt_error_new(TT_INVALID_ARGUMENT, "PJRT plugin %s: the path is longer than %zu bytes",
                        file, path_size - 1);
  return NULL;
}

static tt_error *error_from(tt_code code, tt_bytes *message) {
  tt_error *err = tt_bytes_status(message);
  if (err == NULL)
    err = tt_error_new(code, "%s", message->data);
  tt_bytes_free(message);
  return err;
}

static tt_error *unknown_name(const char *name) {
  tt_bytes message = {0};
  tt_bytes_printf(&message, "PJRT plugin %s: unknown name; known are", name);
  for (size_t i = 0; i < TT_COUNT(rows); i++)
    tt_bytes_printf(&message, "%s %s", i == 0 ? "" : ",", rows[i].name);
  tt_bytes_text(&message, "; a path has a '/' in it");
  return error_from(TT_NOT_FOUND, &message);
}

static tt_error *not_installed(const known *row, const char *const *dirs, size_t dirs_count) {
  tt_bytes message = {0};
  tt_bytes_printf(&message, "PJRT plugin %s: not installed; looked for", row->name);
  for (size_t k = 0; k < TT_COUNT(row->files) && row->files[k] != NULL; k++)
    tt_bytes_printf(&message, "%s %s", k == 0 ? "" : " or", row->files[k]);
  tt_bytes_text(&message, dirs_count == 0 ? " in no folder" : " in");
  for (size_t i = 0; i < dirs_count; i++)
    tt_bytes_printf(&message, "%s %s", i == 0 ? "" : ",", dirs[i]);
  return error_from(TT_NOT_FOUND, &message);
}

tt_error *tt_pj_plugin_find(const char *name_or_path, const char *const *dirs, size_t dirs_count,
                            char *out_path, size_t path_size) {
  if (strchr(name_or_path, '/') != NULL) {
    TT_RETURN_IF_ERROR(put_path(NULL, name_or_path, out_path, path_size));
    return tt_pj_file_exists(out_path);
  }
  const known *row = row_of(name_or_path);
  if (row == NULL)
    return unknown_name(name_or_path);
  for (size_t i = 0; i < dirs_count; i++)
    for (size_t k = 0; k < TT_COUNT(row->files) && row->files[k] != NULL; k++) {
      TT_RETURN_IF_ERROR(put_path(dirs[i], row->files[k], out_path, path_size));
      if (tt_pj_ok_take(tt_pj_file_exists(out_path)))
        return NULL;
    }
  return not_installed(row, dirs, dirs_count);
}

/* ---- environment and options ---- */

/* Results of some MB come and go with each program. glibc maps and unmaps each of them unless told
 * otherwise, and the page faults cost more than small programs do. It is left as it is where the
 * user has set anything. */
static void keep_freed_memory(void) {
#ifdef __GLIBC__
  enum { MAP_FROM = 32 << 20 /* glibc takes no more */, KEPT = 1 << 30 };
  static const char *const users[] = {"GLIBC_TUNABLES", "MALLOC_MMAP_THRESHOLD_",
                                      "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_"};
  for (size_t i = 0; i < TT_COUNT(users); i++)
    if (getenv(users[i]) != NULL)
      return;
  mallopt(M_MMAP_THRESHOLD, MAP_FROM);
  mallopt(M_TRIM_THRESHOLD, KEPT);
#endif
}

tt_error *tt_pj_known_prepare(const char *name, tt_pj_use use) {
  const known *row = row_of(name);
  for (size_t i = 0; row != NULL && i < TT_COUNT(row->variables) && row->variables[i].name != NULL;
       i++) {
    const variable *v = &row->variables[i];
    if ((v->when == ALWAYS || use == TT_PJ_USE_TOPOLOGY) && setenv(v->name, v->value, 0) != 0)
      return tt_error_new(TT_RESOURCE_EXHAUSTED, "setenv %s: %s", v->name, strerror(errno));
  }
  if (row != NULL && row->uses_malloc)
    keep_freed_memory();
  return NULL;
}

static tt_error *encode_overrides(const override *overrides, size_t count, tt_bytes *out_bytes) {
  const char *user = getenv("XLA_FLAGS");
  for (size_t i = 0; i < count && overrides[i].name != NULL; i++) {
    const override *o = &overrides[i];
    tt_pj_value value = tt_pj_value_string(o->name, o->value);
    if (user == NULL || strstr(user, o->name) == NULL)
      TT_RETURN_IF_ERROR(tt_pj_override_encode(&value, out_bytes));
  }
  return tt_bytes_status(out_bytes);
}

tt_error *tt_pj_known_options(const char *name, tt_pj_options *out_options) {
  const known *row = row_of(name);
  if (row == NULL)
    return NULL;
  TT_RETURN_IF_ERROR(encode_overrides(row->overrides, TT_COUNT(row->overrides), &out_options->all));
  for (size_t i = 0; i < TT_PJ_HINT_COUNT; i++)
    TT_RETURN_IF_ERROR(
        encode_overrides(row->hints[i], TT_COUNT(row->hints[i]), &out_options->hints[i]));
  return NULL;
}
