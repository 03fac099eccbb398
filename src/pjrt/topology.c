#include <stdlib.h>

#include "pjrt/client.h"
#include "pjrt/internal.h"

static tt_error *create_raw(tt_pj_topology *topology, const char *name, const tt_pj_value *options,
                            size_t options_count) {
  PJRT_NamedValue *named = NULL;
  TT_RETURN_IF_ERROR(tt_pj_named_values(options, options_count, &named));
  tt_pj_text text = tt_pj_text_of(name);
  PJRT_TopologyDescription_Create_Args args = {
      TT_PJ_SIZE(PJRT_TopologyDescription_Create_Args), .topology_name = text.data,
      .topology_name_size = text.size, .create_options = named, .num_options = options_count};
  tt_error *err = TT_PJ_CALL(topology->plugin, PJRT_TopologyDescription_Create, &args);
  free(named);
  topology->raw = err == NULL ? args.topology : NULL;
  return tt_error_wrap_take(err, "topology %s", name);
}

static tt_error *read_devices(tt_pj_topology *topology) {
  PJRT_TopologyDescription_GetDeviceDescriptions_Args args = {
      TT_PJ_SIZE(PJRT_TopologyDescription_GetDeviceDescriptions_Args), .topology = topology->raw};
  TT_RETURN_IF_ERROR(
      TT_PJ_CALL(topology->plugin, PJRT_TopologyDescription_GetDeviceDescriptions, &args));
  topology->devices = args.descriptions;
  topology->device_count = args.num_descriptions;
  PJRT_TopologyDescription_PlatformName_Args name = {
      TT_PJ_SIZE(PJRT_TopologyDescription_PlatformName_Args), .topology = topology->raw};
  if (tt_pj_ok_take(TT_PJ_CALL(topology->plugin, PJRT_TopologyDescription_PlatformName, &name)))
    topology->platform_name = (tt_pj_text){name.platform_name, name.platform_name_size};
  return NULL;
}

tt_error *tt_pj_topology_create(const tt_pj_plugin *plugin, const char *name,
                                const tt_pj_value *options, size_t options_count,
                                tt_pj_topology **out_topology) {
  tt_error *err = NULL;
  *out_topology = NULL;
  tt_pj_topology *topology = calloc(1, sizeof *topology);
  if (topology == NULL)
    return tt_error_no_memory(sizeof *topology);
  topology->plugin = plugin;
  TT_TRY(create_raw(topology, name, options, options_count));
  TT_TRY(read_devices(topology));
  *out_topology = topology;
  topology = NULL; /* moved to the caller */
out:
  tt_pj_topology_free(topology);
  return err;
}

void tt_pj_topology_free(tt_pj_topology *topology) {
  if (topology == NULL)
    return;
  PJRT_TopologyDescription_Destroy_Args args = {TT_PJ_SIZE(PJRT_TopologyDescription_Destroy_Args),
                                                .topology = topology->raw};
  if (topology->raw != NULL)
    tt_error_free(TT_PJ_CALL(topology->plugin, PJRT_TopologyDescription_Destroy, &args));
  free(topology);
}

tt_pj_text tt_pj_topology_platform_name(const tt_pj_topology *topology) {
  return topology->platform_name;
}

size_t tt_pj_topology_device_count(const tt_pj_topology *topology) {
  return topology->device_count;
}

tt_error *tt_pj_topology_device(const tt_pj_topology *topology, size_t index,
                                tt_pj_device_info *out_info) {
  return tt_pj_describe(topology->plugin, topology->devices[index], out_info);
}
