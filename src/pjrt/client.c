#include "pjrt/client.h"

#include <stdlib.h>

#include "pjrt/internal.h"

/* ---- client ---- */

static tt_error *create_raw(tt_pj_client *client, const tt_pj_value *options,
                            size_t options_count) {
  PJRT_NamedValue *named = NULL;
  TT_RETURN_IF_ERROR(tt_pj_named_values(options, options_count, &named));
  PJRT_Client_Create_Args args = {TT_PJ_SIZE(PJRT_Client_Create_Args), .create_options = named,
                                  .num_options = options_count};
  tt_error *err = TT_PJ_CALL(client->plugin, PJRT_Client_Create, &args);
  free(named);
  client->raw = err == NULL ? args.client : NULL;
  return err;
}

static tt_error *read_platform(tt_pj_client *client) {
  PJRT_Client_PlatformName_Args name = {TT_PJ_SIZE(PJRT_Client_PlatformName_Args),
                                        .client = client->raw};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(client->plugin, PJRT_Client_PlatformName, &name));
  client->platform_name = (tt_pj_text){name.platform_name, name.platform_name_size};
  PJRT_Client_PlatformVersion_Args version = {TT_PJ_SIZE(PJRT_Client_PlatformVersion_Args),
                                              .client = client->raw};
  if (tt_pj_ok_take(TT_PJ_CALL(client->plugin, PJRT_Client_PlatformVersion, &version)))
    client->platform_version =
        (tt_pj_text){version.platform_version, version.platform_version_size};
  return NULL;
}

static tt_error *read_devices(tt_pj_client *client) {
  PJRT_Client_AddressableDevices_Args mine = {TT_PJ_SIZE(PJRT_Client_AddressableDevices_Args),
                                              .client = client->raw};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(client->plugin, PJRT_Client_AddressableDevices, &mine));
  if (mine.num_addressable_devices == 0)
    return tt_error_new(TT_UNAVAILABLE, "PJRT plugin %s: has no device for this process",
                        client->plugin->name);
  client->devices = mine.addressable_devices;
  client->device_count = mine.num_addressable_devices;
  PJRT_Client_Devices_Args all = {TT_PJ_SIZE(PJRT_Client_Devices_Args), .client = client->raw};
  bool has_all = tt_pj_ok_take(TT_PJ_CALL(client->plugin, PJRT_Client_Devices, &all));
  client->all_devices = has_all ? all.devices : client->devices;
  client->all_device_count = has_all ? all.num_devices : client->device_count;
  return NULL;
}

tt_error *tt_pj_client_create(const tt_pj_plugin *plugin, const tt_pj_value *options,
                              size_t options_count, tt_pj_client **out_client) {
  tt_error *err = NULL;
  *out_client = NULL;
  tt_pj_client *client = calloc(1, sizeof *client);
  if (client == NULL)
    return tt_error_no_memory(sizeof *client);
  client->plugin = plugin;
  TT_TRY(create_raw(client, options, options_count));
  TT_TRY(read_platform(client));
  TT_TRY(read_devices(client));
  *out_client = client;
  client = NULL; /* moved to the caller */
out:
  tt_pj_client_free(client);
  return err;
}

void tt_pj_client_free(tt_pj_client *client) {
  if (client == NULL)
    return;
  PJRT_Client_Destroy_Args args = {TT_PJ_SIZE(PJRT_Client_Destroy_Args), .client = client->raw};
  if (client->raw != NULL)
    tt_error_free(TT_PJ_CALL(client->plugin, PJRT_Client_Destroy, &args));
  free(client);
}

const tt_pj_plugin *tt_pj_client_plugin(const tt_pj_client *client) { return client->plugin; }

tt_pj_text tt_pj_client_platform_name(const tt_pj_client *client) { return client->platform_name; }

tt_pj_text tt_pj_client_platform_version(const tt_pj_client *client) {
  return client->platform_version;
}

tt_pj_device *const *tt_pj_client_devices(const tt_pj_client *client, size_t *out_count) {
  *out_count = client->device_count;
  return client->devices;
}

tt_pj_device *const *tt_pj_client_all_devices(const tt_pj_client *client, size_t *out_count) {
  *out_count = client->all_device_count;
  return client->all_devices;
}

/* ---- devices ---- */

tt_error *tt_pj_describe(const tt_pj_plugin *plugin, PJRT_DeviceDescription *description,
                         tt_pj_device_info *out_info) {
  *out_info = (tt_pj_device_info){.local_hardware_id = -1};
  PJRT_DeviceDescription_Id_Args id = {TT_PJ_SIZE(PJRT_DeviceDescription_Id_Args),
                                       .device_description = description};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_DeviceDescription_Id, &id));
  out_info->id = id.id;
  PJRT_DeviceDescription_ProcessIndex_Args process = {
      TT_PJ_SIZE(PJRT_DeviceDescription_ProcessIndex_Args), .device_description = description};
  if (tt_pj_ok_take(TT_PJ_CALL(plugin, PJRT_DeviceDescription_ProcessIndex, &process)))
    out_info->process_index = process.process_index;
  PJRT_DeviceDescription_Kind_Args kind = {TT_PJ_SIZE(PJRT_DeviceDescription_Kind_Args),
                                           .device_description = description};
  if (tt_pj_ok_take(TT_PJ_CALL(plugin, PJRT_DeviceDescription_Kind, &kind)))
    out_info->kind = (tt_pj_text){kind.device_kind, kind.device_kind_size};
  PJRT_DeviceDescription_ToString_Args name = {TT_PJ_SIZE(PJRT_DeviceDescription_ToString_Args),
                                               .device_description = description};
  if (tt_pj_ok_take(TT_PJ_CALL(plugin, PJRT_DeviceDescription_ToString, &name)))
    out_info->name = (tt_pj_text){name.to_string, name.to_string_size};
  PJRT_DeviceDescription_DebugString_Args debug = {
      TT_PJ_SIZE(PJRT_DeviceDescription_DebugString_Args), .device_description = description};
  if (tt_pj_ok_take(TT_PJ_CALL(plugin, PJRT_DeviceDescription_DebugString, &debug)))
    out_info->debug = (tt_pj_text){debug.debug_string, debug.debug_string_size};
  PJRT_DeviceDescription_Attributes_Args attributes = {
      TT_PJ_SIZE(PJRT_DeviceDescription_Attributes_Args), .device_description = description};
  if (tt_pj_ok_take(TT_PJ_CALL(plugin, PJRT_DeviceDescription_Attributes, &attributes)))
    out_info->attributes = (tt_pj_values){attributes.attributes, attributes.num_attributes};
  return NULL;
}

tt_error *tt_pj_device_describe(const tt_pj_plugin *plugin, tt_pj_device *device,
                                tt_pj_device_info *out_info) {
  PJRT_Device_GetDescription_Args get = {TT_PJ_SIZE(PJRT_Device_GetDescription_Args),
                                         .device = device};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Device_GetDescription, &get));
  TT_RETURN_IF_ERROR(tt_pj_describe(plugin, get.device_description, out_info));
  PJRT_Device_IsAddressable_Args addressable = {TT_PJ_SIZE(PJRT_Device_IsAddressable_Args),
                                                .device = device};
  if (tt_pj_ok_take(TT_PJ_CALL(plugin, PJRT_Device_IsAddressable, &addressable)))
    out_info->addressable = addressable.is_addressable;
  PJRT_Device_LocalHardwareId_Args local = {TT_PJ_SIZE(PJRT_Device_LocalHardwareId_Args),
                                            .device = device};
  if (tt_pj_ok_take(TT_PJ_CALL(plugin, PJRT_Device_LocalHardwareId, &local)))
    out_info->local_hardware_id = local.local_hardware_id;
  return NULL;
}

tt_error *tt_pj_device_memories(const tt_pj_plugin *plugin, tt_pj_device *device,
                                tt_pj_memory *const **out_memories, size_t *out_count) {
  *out_memories = NULL;
  *out_count = 0;
  PJRT_Device_AddressableMemories_Args args = {TT_PJ_SIZE(PJRT_Device_AddressableMemories_Args),
                                               .device = device};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Device_AddressableMemories, &args));
  *out_memories = args.memories;
  *out_count = args.num_memories;
  return NULL;
}

tt_error *tt_pj_device_default_memory(const tt_pj_plugin *plugin, tt_pj_device *device,
                                      tt_pj_memory **out_memory) {
  *out_memory = NULL;
  PJRT_Device_DefaultMemory_Args args = {TT_PJ_SIZE(PJRT_Device_DefaultMemory_Args),
                                         .device = device};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Device_DefaultMemory, &args));
  *out_memory = args.memory;
  return NULL;
}

tt_error *tt_pj_memory_kind(const tt_pj_plugin *plugin, tt_pj_memory *memory,
                            tt_pj_text *out_kind) {
  *out_kind = (tt_pj_text){0};
  PJRT_Memory_Kind_Args args = {TT_PJ_SIZE(PJRT_Memory_Kind_Args), .memory = memory};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Memory_Kind, &args));
  *out_kind = (tt_pj_text){args.kind, args.kind_size};
  return NULL;
}

tt_error *tt_pj_device_memory_stats(const tt_pj_plugin *plugin, tt_pj_device *device,
                                    tt_pj_memory_stats *out_stats) {
  *out_stats = (tt_pj_memory_stats){0};
  PJRT_Device_MemoryStats_Args args = {TT_PJ_SIZE(PJRT_Device_MemoryStats_Args), .device = device};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Device_MemoryStats, &args));
#define SET(field) (args.field##_is_set ? args.field : -1)
  *out_stats = (tt_pj_memory_stats){
      .in_use = args.bytes_in_use,
      .peak_in_use = SET(peak_bytes_in_use),
      .allocations = SET(num_allocs),
      .largest_allocation = SET(largest_alloc_size),
      .limit = SET(bytes_limit),
      .reserved = SET(bytes_reserved),
      .peak_reserved = SET(peak_bytes_reserved),
      .reservable_limit = SET(bytes_reservable_limit),
      .largest_free_block = SET(largest_free_block_bytes),
      .pool = SET(pool_bytes),
      .peak_pool = SET(peak_pool_bytes),
  };
#undef SET
  return NULL;
}
