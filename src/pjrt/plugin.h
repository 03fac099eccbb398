/* plugin.h: finds and opens a PJRT plugin.
 *
 * Thread-safe, except tt_pj_plugin_open: it sets environment variables that some plugins read while
 * they load (known.c lists them; one that the user has set is left alone), so call it before other
 * threads use getenv. */
#ifndef TT_PJRT_PLUGIN_H
#define TT_PJRT_PLUGIN_H

#include "pjrt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A plugin of another major version is refused, and so is one older than this minor version. */
#define TT_PJ_OLDEST_MINOR 29

typedef enum tt_pj_use {
  TT_PJ_USE_DEVICES, /* a client will be made */
  TT_PJ_USE_TOPOLOGY /* only ahead-of-time compilation: libtpu then looks for no TPU and takes no
                        machine-wide lock */
} tt_pj_use;

/* The name in row `index` of the table of known plugins ("cpu", "xla_cpu", "tpu", ...); NULL past
 * the end. */
const char *tt_pj_plugin_name_at(size_t index);

/* The file of a plugin. `name_or_path` with a '/' is a path and is only checked to exist; anything
 * else is a name of the table, looked for in each of `dirs` (Python's site-packages folders and the
 * like) in order. The path is put, with a NUL, into `out_path`, which holds `path_size` bytes.
 * NOT_FOUND names what was looked for and where; for an unknown name it lists the known ones. */
TT_NODISCARD tt_error *tt_pj_plugin_find(const char *name_or_path, const char *const *dirs,
                                         size_t dirs_count, char *out_path, size_t path_size);

/* The client's option (an int64) by which that plugin has as many devices as one asks for; NULL:
 * they are what the machine has. */
const char *tt_pj_plugin_devices_option(const char *name_or_path);
/* Whether each of its devices is known to run programs in the order that they were given to it in:
 * when the last is done, all are. */
bool tt_pj_plugin_in_order(const char *name_or_path);

/* Finds, loads, checks and initialises a plugin. The library stays loaded until the process ends,
 * tt_pj_plugin_free or not; open each once per process and share it. Errors: NOT_FOUND no such name
 * or file; INVALID_ARGUMENT not a shared library, or not a plugin; FAILED_PRECONDITION another
 * major version or one too old (both versions are named), or a table with a hole where this client
 * needs a function; else what the plugin's own initialisation said. Each message names the path. */
TT_NODISCARD tt_error *tt_pj_plugin_open(const char *name_or_path, const char *const *dirs,
                                         size_t dirs_count, tt_pj_use use,
                                         tt_pj_plugin **out_plugin);
/* Frees what this module keeps of it, after everything made from it is gone. NULL is allowed. */
void tt_pj_plugin_free(tt_pj_plugin *plugin);

const char *tt_pj_plugin_path(const tt_pj_plugin *plugin);
/* The name of its row in the table, or its file's name without folder and ending. */
const char *tt_pj_plugin_name(const tt_pj_plugin *plugin);
void tt_pj_plugin_version(const tt_pj_plugin *plugin, int *out_major, int *out_minor);
/* Of what this client adds to every program's options: two that differ compile differently. */
uint64_t tt_pj_plugin_options_hash(const tt_pj_plugin *plugin);
/* "xla_version" (int64), "stablehlo_current_version" and "stablehlo_minimum_version" (int64[3]),
 * and what else it says of itself; none when it says nothing. Live as long as the process. */
TT_NODISCARD tt_error *tt_pj_plugin_attributes(const tt_pj_plugin *plugin,
                                               tt_pj_values *out_values);

#ifdef __cplusplus
}
#endif

#endif /* TT_PJRT_PLUGIN_H */
