/* device.h: a plugin opened for use: devices, modes, statistics. */
#ifndef TT_RUNTIME_DEVICE_H
#define TT_RUNTIME_DEVICE_H

#include "hlo/hlo.h"
#include "pjrt/pjrt.h"
#include "runtime/host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_rt tt_rt;
typedef struct tt_rt_device tt_rt_device;

typedef enum tt_rt_mode {
  TT_RT_STRICT, /* each op runs when called, asynchronously */
  TT_RT_DEBUG,  /* waits after each op, checks bounds, points at the Python line */
  TT_RT_DEFERRED
} tt_rt_mode;

typedef struct tt_rt_options {
  const char *plugin;      /* a name of pjrt's table or a path */
  const char *const *dirs; /* where to look for a plugin by name */
  size_t dirs_count;
  int64_t devices;          /* how many to have; 0: as many as the machine has */
  const char *cache_folder; /* for the on-disk tier of the program cache; NULL: none */
  tt_rt_host host;
} tt_rt_options;

/* Opens the plugin and makes its client. The message names the path and both PJRT versions where
 * that is the cause. */
TT_NODISCARD tt_error *tt_rt_open(const tt_rt_options *options, tt_rt **out_rt);
/* Waits for all work; the devices and storages are gone afterwards. NULL is allowed. */
void tt_rt_close(tt_rt *rt);

size_t tt_rt_device_count(const tt_rt *rt);
tt_rt_device *tt_rt_device_at(tt_rt *rt, size_t index); /* NULL past the end */
tt_rt *tt_rt_device_owner(const tt_rt_device *device);
int tt_rt_device_index(const tt_rt_device *device);

typedef struct tt_rt_device_info {
  const char *kind, *name; /* "TPU v6e"; live as long as the device */
  const char *platform, *platform_version;
  const char *plugin_path;
  int pjrt_major, pjrt_minor;
} tt_rt_device_info;
void tt_rt_device_describe(const tt_rt_device *device, tt_rt_device_info *out_info);

/* Waits until all storages of the device hold their content, and for work whose results are gone.
 * The error of work that failed and that nobody has seen is returned once, unless the storage that
 * would hold the result is gone. */
TT_NODISCARD tt_error *tt_rt_synchronize(tt_rt_device *device);
/* Whether work is still running. Never fails. */
bool tt_rt_idle(tt_rt_device *device);

tt_rt_mode tt_rt_mode_get(const tt_rt *rt);
/* Waits for work in flight first, so that an error belongs to the old mode. */
TT_NODISCARD tt_error *tt_rt_mode_set(tt_rt *rt, tt_rt_mode mode);
/* Debug also reads every result back and fails on the first NaN that an op makes of inputs without
 * one. */
void tt_rt_check_nans_set(tt_rt *rt, bool on);
tt_hlo_precision tt_rt_precision_get(const tt_rt *rt);
void tt_rt_precision_set(tt_rt *rt, tt_hlo_precision precision);
/* Whether a program rounds to a narrower type also where it widens again at once; off at first. */
void tt_rt_exact_set(tt_rt *rt, bool on);
void tt_rt_default_dtype_set(tt_rt *rt, tt_dtype dtype);

typedef struct tt_rt_stats {
  int64_t programs;        /* compiled since the start */
  int64_t programs_cached; /* in memory now */
  int64_t loaded;          /* found on disk instead */
  int64_t hits, misses;    /* of the in-memory cache */
  int64_t promoted;        /* scalar slots that became parameters */
  int64_t executions;
  int64_t compile_ns, lower_ns, meta_ns;
  int64_t host_to_device_bytes, device_to_host_bytes;
} tt_rt_stats;
void tt_rt_stats_get(tt_rt *rt, tt_rt_stats *out_stats);
/* Bytes of the storages' contents, by our own account: what is there, the most there was, how many
 * storages. One without a buffer has no memory yet and does not count. */
typedef struct tt_rt_memory {
  int64_t allocated, peak, storages, allocations;
  int64_t reserved, limit; /* the plugin's own account, -1 where it keeps none */
} tt_rt_memory;
void tt_rt_memory_get(tt_rt_device *device, tt_rt_memory *out_memory);
void tt_rt_memory_reset_peak(tt_rt_device *device);
/* Why there is no on-disk tier although a folder was named; else NULL. Lives as long as `rt`. */
const char *tt_rt_cache_problem(const tt_rt *rt);
/* Forgets all compiled programs. */
void tt_rt_cache_clear(tt_rt *rt);
/* When not NULL, every program made from now on is also written there as StableHLO text, one file
 * each. */
TT_NODISCARD tt_error *tt_rt_dump_set(tt_rt *rt, const char *folder);

#ifdef __cplusplus
}
#endif

#endif /* TT_RUNTIME_DEVICE_H */
