/* topology.c: descriptions of devices, with or without the devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/plugin/internal.h"

enum { COUNT_MAX = 1 << 16 };
/* What a serialized topology begins with; a number of devices follows. */
#define MAGIC TT_CPU_PLATFORM " topology "

tt_error *tt_cpu_topology_new(size_t count, PJRT_TopologyDescription **out_topology) {
  size_t size = sizeof(PJRT_TopologyDescription) +
                count * (sizeof(PJRT_DeviceDescription) + sizeof(PJRT_DeviceDescription *));
  PJRT_TopologyDescription *topology = calloc(1, size);
  *out_topology = topology;
  if (topology == NULL)
    return tt_error_no_memory(size);
  topology->count = count;
  topology->list = (PJRT_DeviceDescription **)(topology + 1);
  PJRT_DeviceDescription *items = (PJRT_DeviceDescription *)(topology->list + count);
  for (size_t i = 0; i < count; i++) {
    items[i].id = (int)i;
    items[i].process = 0;
    snprintf(items[i].name, sizeof items[i].name, "TtCpuDevice(id=%zu)", i);
    snprintf(items[i].debug, sizeof items[i].debug,
             TT_CPU_PLATFORM ":%zu (process 0, " TT_CPU_VERSION ")", i);
    topology->list[i] = &items[i];
  }
  return NULL;
}

static tt_error *bad_name(const char *text, size_t size) {
  return tt_error_new(TT_INVALID_ARGUMENT,
                      "topology \"%.*s\": expected a number of devices, from 1 to %d",
                      size > 100 ? 100 : (int)size, text == NULL ? "" : text, COUNT_MAX);
}

/* A number alone. */
static tt_error *read_count(const char *text, size_t size, size_t *out_count) {
  size_t count = 0;
  for (size_t i = 0; i < size; i++) {
    if (text[i] < '0' || text[i] > '9' || count > COUNT_MAX)
      return bad_name(text, size);
    count = count * 10 + (size_t)(text[i] - '0');
  }
  *out_count = count;
  return count < 1 || count > COUNT_MAX ? bad_name(text, size) : NULL;
}

/* A name is the number of devices; an empty one is one device, or what cpu_device_count says. */
tt_error *tt_cpu_topology_create(PJRT_TopologyDescription_Create_Args *args) {
  size_t count = 1;
  args->topology = NULL;
  if (args->topology_name_size > 0) {
    TT_CPU_GIVEN(args->topology_name);
    TT_RETURN_IF_ERROR(read_count(args->topology_name, args->topology_name_size, &count));
  }
  for (size_t i = 0; i < args->num_options; i++) {
    const PJRT_NamedValue *value = &args->create_options[i];
    static const char name[] = "cpu_device_count";
    if (value->name_size != sizeof name - 1 || memcmp(value->name, name, sizeof name - 1) != 0 ||
        value->type != PJRT_NamedValue_kInt64)
      return tt_error_new(TT_INVALID_ARGUMENT,
                          "topology option %.*s: unknown; known is %s, an int64",
                          value->name_size > 200 ? 200 : (int)value->name_size, value->name, name);
    if (value->int64_value < 1 || value->int64_value > COUNT_MAX)
      return tt_error_new(TT_INVALID_ARGUMENT, "topology option %s: expected 1 to %d, got %lld",
                          name, COUNT_MAX, (long long)value->int64_value);
    count = (size_t)value->int64_value;
  }
  return tt_cpu_topology_new(count, &args->topology);
}

tt_error *tt_cpu_topology_destroy(PJRT_TopologyDescription_Destroy_Args *args) {
  free(args->topology);
  return NULL;
}

tt_error *tt_cpu_topology_platform_name(PJRT_TopologyDescription_PlatformName_Args *args) {
  args->platform_name = TT_CPU_PLATFORM;
  args->platform_name_size = strlen(TT_CPU_PLATFORM);
  return NULL;
}

tt_error *tt_cpu_topology_platform_version(PJRT_TopologyDescription_PlatformVersion_Args *args) {
  args->platform_version = TT_CPU_VERSION;
  args->platform_version_size = strlen(TT_CPU_VERSION);
  return NULL;
}

tt_error *tt_cpu_topology_descriptions(PJRT_TopologyDescription_GetDeviceDescriptions_Args *args) {
  args->descriptions = args->topology->list;
  args->num_descriptions = args->topology->count;
  return NULL;
}

static const PJRT_NamedValue no_attributes[1];

tt_error *tt_cpu_topology_attributes(PJRT_TopologyDescription_Attributes_Args *args) {
  args->attributes = no_attributes;
  args->num_attributes = 0;
  return NULL;
}

static void free_serialized(PJRT_SerializedTopology *serialized) { free(serialized); }

tt_error *tt_cpu_topology_serialize(PJRT_TopologyDescription_Serialize_Args *args) {
  tt_bytes bytes = {0};
  void *handle = NULL;
  tt_bytes_printf(&bytes, MAGIC "%zu", args->topology->count);
  TT_RETURN_IF_ERROR(
      tt_cpu_handout_take(&bytes, &args->serialized_bytes, &args->serialized_bytes_size, &handle));
  args->serialized_topology = handle;
  args->serialized_topology_deleter = free_serialized;
  return NULL;
}

tt_error *tt_cpu_topology_deserialize(PJRT_TopologyDescription_Deserialize_Args *args) {
  size_t count = 0, skip = sizeof MAGIC - 1;
  args->topology = NULL;
  TT_CPU_GIVEN(args->serialized_topology);
  if (args->serialized_topology_size <= skip || memcmp(args->serialized_topology, MAGIC, skip) != 0)
    return tt_error_new(TT_INVALID_ARGUMENT, "not a serialized topology of " TT_CPU_PLATFORM);
  TT_RETURN_IF_ERROR(
      read_count(args->serialized_topology + skip, args->serialized_topology_size - skip, &count));
  return tt_cpu_topology_new(count, &args->topology);
}

/* ---- one device ---- */

tt_error *tt_cpu_description_id(PJRT_DeviceDescription_Id_Args *args) {
  args->id = args->device_description->id;
  return NULL;
}

tt_error *tt_cpu_description_process_index(PJRT_DeviceDescription_ProcessIndex_Args *args) {
  args->process_index = args->device_description->process;
  return NULL;
}

tt_error *tt_cpu_description_attributes(PJRT_DeviceDescription_Attributes_Args *args) {
  args->attributes = no_attributes;
  args->num_attributes = 0;
  return NULL;
}

tt_error *tt_cpu_description_kind(PJRT_DeviceDescription_Kind_Args *args) {
  args->device_kind = "cpu";
  args->device_kind_size = 3;
  return NULL;
}

tt_error *tt_cpu_description_debug_string(PJRT_DeviceDescription_DebugString_Args *args) {
  args->debug_string = args->device_description->debug;
  args->debug_string_size = strlen(args->debug_string);
  return NULL;
}

tt_error *tt_cpu_description_to_string(PJRT_DeviceDescription_ToString_Args *args) {
  args->to_string = args->device_description->name;
  args->to_string_size = strlen(args->to_string);
  return NULL;
}
