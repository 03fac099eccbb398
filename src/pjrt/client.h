/* client.h: a plugin's devices and memories, and topologies of devices that are not there.
 *
 * Thread-safe. Text, arrays, devices and memories are borrowed and live as long as the client (or
 * topology). */
#ifndef TT_PJRT_CLIENT_H
#define TT_PJRT_CLIENT_H

#include "pjrt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `options` are the plugin's own; it may refuse or ignore those it does not know. Retains nothing
 * of them. The plugin must outlive the client. */
TT_NODISCARD tt_error *tt_pj_client_create(const tt_pj_plugin *plugin, const tt_pj_value *options,
                                           size_t options_count, tt_pj_client **out_client);
/* After all its buffers and executables. NULL is allowed. */
void tt_pj_client_free(tt_pj_client *client);

const tt_pj_plugin *tt_pj_client_plugin(const tt_pj_client *client);
tt_pj_text tt_pj_client_platform_name(const tt_pj_client *client);
tt_pj_text tt_pj_client_platform_version(const tt_pj_client *client);
/* Devices that this process can use, at least one. */
tt_pj_device *const *tt_pj_client_devices(const tt_pj_client *client, size_t *out_count);
/* Those of other processes too. */
tt_pj_device *const *tt_pj_client_all_devices(const tt_pj_client *client, size_t *out_count);

typedef struct tt_pj_device_info {
  int id;                /* unique among all processes; what device assignments hold */
  int process_index;     /* 0 where the plugin does not say */
  int local_hardware_id; /* -1 where the plugin does not say, and in a topology */
  bool addressable;      /* false in a topology */
  tt_pj_text kind;       /* "TPU v6e" */
  tt_pj_text name;       /* short, for people: "CpuDevice(id=0)" */
  tt_pj_text debug;      /* long, for logs */
  tt_pj_values attributes;
} tt_pj_device_info;

TT_NODISCARD tt_error *tt_pj_device_describe(const tt_pj_plugin *plugin, tt_pj_device *device,
                                             tt_pj_device_info *out_info);
TT_NODISCARD tt_error *tt_pj_device_memories(const tt_pj_plugin *plugin, tt_pj_device *device,
                                             tt_pj_memory *const **out_memories, size_t *out_count);
TT_NODISCARD tt_error *tt_pj_device_default_memory(const tt_pj_plugin *plugin, tt_pj_device *device,
                                                   tt_pj_memory **out_memory);
/* "device", "pinned_host", ... */
TT_NODISCARD tt_error *tt_pj_memory_kind(const tt_pj_plugin *plugin, tt_pj_memory *memory,
                                         tt_pj_text *out_kind);

/* In bytes but for `allocations`; -1 where the plugin does not say. */
typedef struct tt_pj_memory_stats {
  int64_t in_use, peak_in_use, allocations, largest_allocation, limit;
  int64_t reserved, peak_reserved, reservable_limit, largest_free_block, pool, peak_pool;
} tt_pj_memory_stats;

/* UNIMPLEMENTED from plugins that keep no account (XLA:CPU is one). */
TT_NODISCARD tt_error *tt_pj_device_memory_stats(const tt_pj_plugin *plugin, tt_pj_device *device,
                                                 tt_pj_memory_stats *out_stats);

/* A topology by the plugin's name for it, such as "v6e:2x2" or "tpu7x:4x4x4" of libtpu; no device
 * need be there. Open the plugin with TT_PJ_USE_TOPOLOGY. The plugin must outlive it. */
TT_NODISCARD tt_error *tt_pj_topology_create(const tt_pj_plugin *plugin, const char *name,
                                             const tt_pj_value *options, size_t options_count,
                                             tt_pj_topology **out_topology);
void tt_pj_topology_free(tt_pj_topology *topology); /* NULL is allowed */
tt_pj_text tt_pj_topology_platform_name(const tt_pj_topology *topology);
size_t tt_pj_topology_device_count(const tt_pj_topology *topology);
TT_NODISCARD tt_error *tt_pj_topology_device(
    const tt_pj_topology *topology, size_t index,
    tt_pj_device_info *out_info); /* index < device_count */

#ifdef __cplusplus
}
#endif

#endif /* TT_PJRT_CLIENT_H */
