/* client.c: a client, its devices and their memories. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/memory.h"
#include "cpu/open.h"
#include "cpu/plugin/internal.h"
#include "cpu/tile/tile.h"

enum {
  DEVICES_MAX = TT_CPU_DEVICES_MAX,
  NODES_MAX = 1024,
  CREATE_MS = 300000,
  QUEUE_BOUND = 256,
  MEETING_MS = 600000,
  MEETING_MS_MAX = 1000000000
};

const char *const tt_cpu_kind_names[TT_CPU_KIND_COUNT] = {"device", "pinned_host", "unpinned_host"};

/* ---- the plugin ---- */

tt_error *tt_cpu_plugin_initialize(PJRT_Plugin_Initialize_Args *args) {
  (void)args;
  return NULL;
}

#define NAME(text) .name = text, .name_size = sizeof(text) - 1

tt_error *tt_cpu_plugin_attributes(PJRT_Plugin_Attributes_Args *args) {
  static const int64_t current[] = {1, 20, 0}, minimum[] = {0, 9, 0};
  static const PJRT_NamedValue attributes[] = {
      {PJRT_NamedValue_STRUCT_SIZE, NULL, NAME("stablehlo_current_version"),
       .type = PJRT_NamedValue_kInt64List, .int64_array_value = current, .value_size = 3},
      {PJRT_NamedValue_STRUCT_SIZE, NULL, NAME("stablehlo_minimum_version"),
       .type = PJRT_NamedValue_kInt64List, .int64_array_value = minimum, .value_size = 3}};
  args->attributes = attributes;
  args->num_attributes = TT_COUNT(attributes);
  return NULL;
}

/* ---- create options ---- */

typedef struct settings {
  int64_t device_count, node_id, num_nodes, inflight, memory_limit, meeting_ms, create_ms;
  bool asynchronous;
} settings;

/* `field` of the settings gets the value; -1 for options that we know and have no use for. A string
 * is the path of a library. */
static const struct option {
  const char *name;
  PJRT_NamedValue_Type type;
  int field; /* offset in settings; of a string the tt_cpu_library */
  int64_t least, most;
} known_options[] = {
#define INT(name, field, least, most) \
  {name, PJRT_NamedValue_kInt64, (int)offsetof(settings, field), least, most}
    INT("cpu_device_count", device_count, 1, DEVICES_MAX),
    INT("node_id", node_id, 0, INT32_MAX),
    INT("num_nodes", num_nodes, 1, NODES_MAX),
    INT("max_inflight_computations_per_device", inflight, 1, INT32_MAX),
    INT("memory_limit", memory_limit, 0, INT64_MAX),
    {"lapack", PJRT_NamedValue_kString, TT_CPU_LAPACK, 0, 0},
    {"onednn", PJRT_NamedValue_kString, TT_CPU_ONEDNN, 0, 0},
    INT("create_timeout_ms", create_ms, 1, MEETING_MS_MAX),
    INT("collective_timeout_ms", meeting_ms, 1, MEETING_MS_MAX),
    {"asynchronous", PJRT_NamedValue_kBool, (int)offsetof(settings, asynchronous), 0, 1},
    {"premapped_buffer_size", PJRT_NamedValue_kInt64, -1, INT64_MIN, INT64_MAX},
    {"partition_index", PJRT_NamedValue_kInt64, -1, INT64_MIN, INT64_MAX},
#undef INT
};

static const struct option *option_of(const PJRT_NamedValue *value) {
  for (size_t i = 0; i < TT_COUNT(known_options); i++)
    if (value->name != NULL && strlen(known_options[i].name) == value->name_size &&
        memcmp(known_options[i].name, value->name, value->name_size) == 0)
      return &known_options[i];
  return NULL;
}

static tt_error *unknown_option(const PJRT_NamedValue *value) {
  tt_bytes known = {0};
  for (size_t i = 0; i < TT_COUNT(known_options); i++)
    tt_bytes_printf(&known, "%s%s", i == 0 ? "" : ", ", known_options[i].name);
  int size = value->name_size > 200 ? 200 : (int)value->name_size;
  tt_error *err = tt_error_new(TT_INVALID_ARGUMENT, "create option %.*s: unknown; known are %s",
                               size, value->name == NULL ? "" : value->name,
                               known.data == NULL ? "none" : known.data);
  tt_bytes_free(&known);
  return err;
}

static tt_error *read_option(const PJRT_NamedValue *value, settings *s) {
  const struct option *option = option_of(value);
  if (option == NULL)
    return unknown_option(value);
  if (value->type != option->type)
    return tt_error_new(TT_INVALID_ARGUMENT, "create option %s: expected %s", option->name,
                        option->type == PJRT_NamedValue_kBool    ? "a bool"
                        : option->type == PJRT_NamedValue_kInt64 ? "an int64"
                                                                 : "a string");
  if (option->type == PJRT_NamedValue_kString) {
    TT_CPU_GIVEN(value->string_value);
    return tt_cpu_library_set((tt_cpu_library)option->field, value->string_value,
                              value->value_size);
  }
  if (option->type == PJRT_NamedValue_kBool) {
    memcpy((char *)s + option->field, &value->bool_value, sizeof value->bool_value);
    return NULL;
  }
  if (value->int64_value < option->least || value->int64_value > option->most)
    return tt_error_new(TT_INVALID_ARGUMENT, "create option %s: expected %lld to %lld, got %lld",
                        option->name, (long long)option->least, (long long)option->most,
                        (long long)value->int64_value);
  if (option->field >= 0)
    memcpy((char *)s + option->field, &value->int64_value, sizeof value->int64_value);
  return NULL;
}

static tt_error *read_environment(settings *s) {
  const char *text = getenv("TT_CPU_DEVICES");
  char *end = NULL;
  if (text == NULL || text[0] == '\0')
    return NULL;
  long count = strtol(text, &end, 10);
  if (*end != '\0' || count < 1 || count > DEVICES_MAX)
    return tt_error_new(TT_INVALID_ARGUMENT, "TT_CPU_DEVICES=%s: expected a number from 1 to %d",
                        text, DEVICES_MAX);
  s->device_count = count;
  return NULL;
}

static tt_error *read_settings(const PJRT_NamedValue *values, size_t count, settings *s) {
  *s = (settings){.device_count = 1,
                  .num_nodes = 1,
                  .inflight = QUEUE_BOUND,
                  .memory_limit = -1,
                  .meeting_ms = MEETING_MS,
                  .create_ms = CREATE_MS,
                  .asynchronous = true};
  TT_RETURN_IF_ERROR(tt_cpu_isa_check());
  TT_RETURN_IF_ERROR(read_environment(s));
  if (count > 0)
    TT_CPU_GIVEN(values);
  for (size_t i = 0; i < count; i++)
    TT_RETURN_IF_ERROR(read_option(&values[i], s));
  if (s->node_id >= s->num_nodes)
    return tt_error_new(TT_INVALID_ARGUMENT, "create options: node_id %lld of num_nodes %lld",
                        (long long)s->node_id, (long long)s->num_nodes);
  return NULL;
}

/* ---- making ---- */

static void free_client(PJRT_Client *client) {
  if (client == NULL)
    return;
  tt_cpu_exchange_close(client->exchange); /* runs that wait for other processes end */
  for (size_t i = 0; client->devices != NULL && i < client->count; i++)
    tt_cpu_queue_close(&client->devices[i].queue);
  tt_cpu_exchange_free(client->exchange);
  pthread_mutex_destroy(&client->launch);
  free(client->topology);
  free(client->list);
  free(client->memory_list);
  free(client->devices);
  free(client);
}

static void init_memories(PJRT_Client *client, PJRT_Device *device) {
  size_t before = (size_t)(device - client->devices) - client->first;
  for (size_t k = 0; k < TT_CPU_KIND_COUNT; k++) {
    PJRT_Memory *memory = &device->memories[k];
    *memory = (PJRT_Memory){.device = device,
                            .kind = (tt_cpu_kind)k,
                            .id = (int)(device->description->id * TT_CPU_KIND_COUNT + (int)k)};
    snprintf(memory->name, sizeof memory->name, "CpuMemory(id=%d, kind=%s)", memory->id,
             tt_cpu_kind_names[k]);
    device->memory_list[k] = memory;
    client->memory_list[before * TT_CPU_KIND_COUNT + k] = memory;
  }
}

static void init_device(PJRT_Client *client, size_t index, size_t bound) {
  PJRT_Device *device = &client->devices[index];
  *device = (PJRT_Device){.client = client, .description = client->topology->list[index]};
  device->self = device;
  tt_cpu_queue_init(&device->queue, bound);
  client->list[index] = device;
  if (tt_cpu_device_is_local(device))
    init_memories(client, device);
}

/* Devices are numbered process by process. */
static tt_error *describe_devices(PJRT_Client *client, const int64_t *counts, int64_t processes) {
  size_t count = 0, at = 0;
  for (int64_t i = 0; i < processes; i++)
    count += (size_t)counts[i];
  TT_RETURN_IF_ERROR(tt_cpu_topology_new(count, &client->topology));
  for (int64_t i = 0; i < processes; i++) {
    client->first = i == client->process ? at : client->first;
    for (int64_t k = 0; k < counts[i]; k++, at++) {
      PJRT_DeviceDescription *d = client->topology->list[at];
      d->process = (int)i;
      snprintf(d->debug, sizeof d->debug, TT_CPU_PLATFORM ":%d (process %d, " TT_CPU_VERSION ")",
               d->id, d->process);
    }
  }
  client->local = (size_t)counts[client->process];
  return NULL;
}

static tt_error *find_processes(const PJRT_Client_Create_Args *args, const settings *s,
                                PJRT_Client *client, int64_t *counts) {
  const char *host = getenv("TT_CPU_ADDRESS");
  tt_cpu_processes p = {s->node_id, s->num_nodes, s->device_count, s->create_ms};
  TT_RETURN_IF_ERROR(tt_cpu_exchange_new(
      p.own, p.count, host == NULL || host[0] == '\0' ? "127.0.0.1" : host, &client->exchange));
  return tt_cpu_processes_meet(args, client->exchange, &p, counts);
}

static tt_error *fill_client(const settings *s, PJRT_Client *client) {
  size_t count = client->topology->count;
  client->list = calloc(count, sizeof(PJRT_Device *));
  client->memory_list = calloc(client->local * TT_CPU_KIND_COUNT, sizeof(PJRT_Memory *));
  client->devices = calloc(count, sizeof(PJRT_Device));
  if (client->list == NULL || client->memory_list == NULL || client->devices == NULL)
    return tt_error_no_memory(count * sizeof(PJRT_Device));
  for (; client->count < count; client->count++)
    init_device(client, client->count, (size_t)s->inflight);
  return NULL;
}

static tt_error *new_client(const PJRT_Client_Create_Args *args, const settings *s,
                            PJRT_Client **out_client) {
  tt_error *err = NULL;
  int64_t *counts = calloc((size_t)s->num_nodes, sizeof *counts);
  PJRT_Client *client = calloc(1, sizeof *client);
  *out_client = NULL;
  if (client == NULL || counts == NULL) {
    free(counts);
    free(client);
    return tt_error_no_memory(sizeof *client);
  }
  client->synchronous = !s->asynchronous;
  client->process = (int)s->node_id;
  client->meeting_ns = s->meeting_ms * 1000000;
  pthread_mutex_init(&client->launch, NULL);
  counts[s->node_id] = s->device_count;
  if (s->num_nodes > 1)
    TT_TRY(find_processes(args, s, client, counts));
  TT_TRY(describe_devices(client, counts, s->num_nodes));
  TT_TRY(fill_client(s, client));
  *out_client = client;
  client = NULL; /* moved to the caller */
out:
  free(counts);
  free_client(client);
  return err;
}

tt_error *tt_cpu_client_create(PJRT_Client_Create_Args *args) {
  settings s;
  args->client = NULL;
  TT_RETURN_IF_ERROR(read_settings(args->create_options, args->num_options, &s));
  TT_RETURN_IF_ERROR(new_client(args, &s, &args->client));
  /* Pages are given when they are written: without a limit, the kernel would end some process. */
  if (s.memory_limit >= 0)
    tt_cpu_memory_limit_set(s.memory_limit);
  else if (tt_cpu_memory_stats_get().limit < 0)
    tt_cpu_memory_limit_set(tt_cpu_memory_of_machine());
  return NULL;
}

tt_error *tt_cpu_client_destroy(PJRT_Client_Destroy_Args *args) {
  free_client(args->client);
  return NULL;
}

/* ---- what it is ---- */

tt_error *tt_cpu_client_platform_name(PJRT_Client_PlatformName_Args *args) {
  args->platform_name = TT_CPU_PLATFORM;
  args->platform_name_size = strlen(TT_CPU_PLATFORM);
  return NULL;
}

tt_error *tt_cpu_client_process_index(PJRT_Client_ProcessIndex_Args *args) {
  args->process_index = args->client->process;
  return NULL;
}

tt_error *tt_cpu_client_platform_version(PJRT_Client_PlatformVersion_Args *args) {
  args->platform_version = TT_CPU_VERSION;
  args->platform_version_size = strlen(TT_CPU_VERSION);
  return NULL;
}

tt_error *tt_cpu_client_topology(PJRT_Client_TopologyDescription_Args *args) {
  args->topology = args->client->topology;
  return NULL;
}

tt_error *tt_cpu_client_devices(PJRT_Client_Devices_Args *args) {
  args->devices = args->client->list;
  args->num_devices = args->client->count;
  return NULL;
}

tt_error *tt_cpu_client_addressable_devices(PJRT_Client_AddressableDevices_Args *args) {
  args->addressable_devices = args->client->list + args->client->first;
  args->num_addressable_devices = args->client->local;
  return NULL;
}

static tt_error *find_device(PJRT_Device *const *list, size_t count, const char *what, int id,
                             PJRT_Device **out_device) {
  if (id < 0 || (size_t)id >= count)
    return tt_error_new(TT_INVALID_ARGUMENT, "no device has the %s %d: there are %zu, from 0", what,
                        id, count);
  *out_device = list[id];
  return NULL;
}

tt_error *tt_cpu_client_lookup_device(PJRT_Client_LookupDevice_Args *args) {
  return find_device(args->client->list, args->client->count, "id", args->id, &args->device);
}

tt_error *tt_cpu_client_lookup_addressable_device(PJRT_Client_LookupAddressableDevice_Args *args) {
  const PJRT_Client *client = args->client;
  return find_device(client->list + client->first, client->local, "local hardware id",
                     args->local_hardware_id, &args->addressable_device);
}

tt_error *tt_cpu_client_addressable_memories(PJRT_Client_AddressableMemories_Args *args) {
  args->addressable_memories = args->client->memory_list;
  args->num_addressable_memories = args->client->local * TT_CPU_KIND_COUNT;
  return NULL;
}

tt_error *tt_cpu_client_default_assignment(PJRT_Client_DefaultDeviceAssignment_Args *args) {
  int64_t count = (int64_t)args->num_replicas * args->num_partitions;
  if (args->num_replicas < 1 || args->num_partitions < 1 ||
      (uint64_t)count > args->default_assignment_size || (uint64_t)count > args->client->count)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "a device assignment of %d replicas and %d partitions: there are %zu "
                        "devices, and room for %zu",
                        args->num_replicas, args->num_partitions, args->client->count,
                        args->default_assignment_size);
  for (int64_t i = 0; i < count; i++)
    args->default_assignment[i] = (int)i;
  return NULL;
}

/* What becomes of other processes shows when they do not come. */
tt_error *tt_cpu_client_update_processes(PJRT_Client_UpdateGlobalProcessInfo_Args *args) {
  (void)args;
  return NULL;
}

/* Every address of the host is one that the device reaches. */
tt_error *tt_cpu_dma_map(PJRT_Client_DmaMap_Args *args) {
  TT_CPU_GIVEN(args->data);
  return NULL;
}

tt_error *tt_cpu_dma_unmap(PJRT_Client_DmaUnmap_Args *args) {
  TT_CPU_GIVEN(args->data);
  return NULL;
}

/* ---- devices ---- */

tt_error *tt_cpu_device_description(PJRT_Device_GetDescription_Args *args) {
  args->device_description = args->device->description;
  return NULL;
}

tt_error *tt_cpu_device_is_addressable(PJRT_Device_IsAddressable_Args *args) {
  args->is_addressable = tt_cpu_device_is_local(args->device);
  return NULL;
}

tt_error *tt_cpu_device_local_hardware_id(PJRT_Device_LocalHardwareId_Args *args) {
  args->local_hardware_id = tt_cpu_device_is_local(args->device)
                                ? args->device->description->id - (int)args->device->client->first
                                : -1;
  return NULL;
}

tt_error *tt_cpu_device_memories(PJRT_Device_AddressableMemories_Args *args) {
  args->memories = args->device->memory_list;
  args->num_memories = tt_cpu_device_is_local(args->device) ? TT_CPU_KIND_COUNT : 0;
  return NULL;
}

static tt_error *elsewhere(const PJRT_Device *device) {
  return tt_cpu_device_is_local(device)
             ? NULL
             : tt_error_new(TT_INVALID_ARGUMENT, "device %d is one of process %d",
                            device->description->id, device->description->process);
}

tt_error *tt_cpu_device_default_memory(PJRT_Device_DefaultMemory_Args *args) {
  TT_RETURN_IF_ERROR(elsewhere(args->device));
  args->memory = &args->device->memories[TT_CPU_DEVICE];
  return NULL;
}

/* The host's memory is one: each device tells of all. */
tt_error *tt_cpu_device_memory_stats(PJRT_Device_MemoryStats_Args *args) {
  tt_cpu_memory_stats stats = tt_cpu_memory_stats_get();
  args->bytes_in_use = stats.in_use;
#define SET(field, value)                  \
  args->field = (value) < 0 ? 0 : (value); \
  args->field##_is_set = (value) >= 0
  SET(peak_bytes_in_use, stats.peak);
  SET(num_allocs, stats.allocations);
  SET(largest_alloc_size, INT64_C(-1));
  SET(bytes_limit, stats.limit);
  SET(bytes_reserved, INT64_C(-1));
  SET(peak_bytes_reserved, INT64_C(-1));
  SET(bytes_reservable_limit, INT64_C(-1));
  SET(largest_free_block_bytes, INT64_C(-1));
  SET(pool_bytes, stats.in_use + stats.kept);
  SET(peak_pool_bytes, INT64_C(-1));
#undef SET
  return NULL;
}

/* ---- memories ---- */

tt_error *tt_cpu_memory_pick(PJRT_Client *client, PJRT_Device *device, PJRT_Memory *memory,
                             PJRT_Memory **out_memory) {
  if (memory == NULL && device == NULL)
    device = client->list[client->first];
  if (memory == NULL) {
    TT_RETURN_IF_ERROR(elsewhere(device));
    memory = &device->memories[TT_CPU_DEVICE];
  }
  if (memory->device->client != client)
    return tt_error_new(TT_INVALID_ARGUMENT, "the device or memory belongs to another client");
  *out_memory = memory;
  return NULL;
}

tt_error *tt_cpu_memory_id(PJRT_Memory_Id_Args *args) {
  args->id = args->memory->id;
  return NULL;
}

tt_error *tt_cpu_memory_kind(PJRT_Memory_Kind_Args *args) {
  args->kind = tt_cpu_kind_names[args->memory->kind];
  args->kind_size = strlen(args->kind);
  return NULL;
}

tt_error *tt_cpu_memory_kind_id(PJRT_Memory_Kind_Id_Args *args) {
  args->kind_id = (int)args->memory->kind;
  return NULL;
}

tt_error *tt_cpu_memory_debug_string(PJRT_Memory_DebugString_Args *args) {
  args->debug_string = args->memory->name;
  args->debug_string_size = strlen(args->memory->name);
  return NULL;
}

tt_error *tt_cpu_memory_to_string(PJRT_Memory_ToString_Args *args) {
  args->to_string = args->memory->name;
  args->to_string_size = strlen(args->memory->name);
  return NULL;
}

tt_error *tt_cpu_memory_devices(PJRT_Memory_AddressableByDevices_Args *args) {
  args->devices = &args->memory->device->self;
  args->num_devices = 1;
  return NULL;
}
