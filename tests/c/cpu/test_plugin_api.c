/* The table, its rules about sizes and NULL, options, devices, topologies, layouts. */
#include <stdlib.h>
#include <string.h>

#include "cpu/plugin/layouts.h"
#include "pjrt_c_api.h"
#include "plugin_test.h"
#include "test.h"

/* Frees the error; whether it has that code and `part` in its message. */
static bool fails(const PJRT_Api *api, PJRT_Error *error, PJRT_Error_Code code, const char *part) {
  if (!EXPECT(error != NULL))
    return false;
  PJRT_Error_GetCode_Args get = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE,
                                 .error = error};
  PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                     .error = error};
  PJRT_Error_Destroy_Args destroy = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                     .error = error};
  EXPECT(api->PJRT_Error_GetCode(&get) == NULL);
  api->PJRT_Error_Message(&message);
  bool ok = EXPECT_INT(get.code, code) & EXPECT_CONTAINS(message.message, part);
  EXPECT_INT(message.message_size, strlen(message.message));
  api->PJRT_Error_Destroy(&destroy);
  return ok;
}

TEST_WITHOUT_TORTURE(cpu_plugin_api, table_is_whole) {
  const PJRT_Api *api = cpu_api();
  size_t first = offsetof(PJRT_Api, PJRT_Error_Destroy);
  REQUIRE(api != NULL);
  EXPECT_INT(api->pjrt_api_version.major_version, 0);
  EXPECT_INT(api->pjrt_api_version.minor_version, 81);
  EXPECT_INT((api->struct_size - first) / sizeof(void *), 118);
  for (size_t at = first; at < api->struct_size; at += sizeof(void *)) {
    void (*slot)(void) = NULL;
    memcpy(&slot, (const char *)api + at, sizeof slot);
    EXPECT(slot != NULL);
  }
out:;
}

TEST_WITHOUT_TORTURE(cpu_plugin_api, missing_functions_name_themselves) {
  const PJRT_Api *api = cpu_api();
  REQUIRE(api != NULL);
  fails(api, api->PJRT_Client_CreateAliasBuffer(NULL), PJRT_Error_Code_UNIMPLEMENTED,
        "PJRT_Client_CreateAliasBuffer");
  fails(api, api->PJRT_CopyToDeviceStream_AddChunk(NULL), PJRT_Error_Code_UNIMPLEMENTED,
        "PJRT_CopyToDeviceStream_AddChunk");
out:;
}

TEST_WITHOUT_TORTURE(cpu_plugin_api, arguments_are_checked) {
  const PJRT_Api *api = cpu_api();
  PJRT_Client_PlatformName_Args name = {.struct_size = PJRT_Client_PlatformName_Args_STRUCT_SIZE};
  PJRT_Buffer_Destroy_Args destroy = {.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE};
  REQUIRE(api != NULL);
  fails(api, api->PJRT_Client_PlatformName(NULL), PJRT_Error_Code_INVALID_ARGUMENT, "is NULL");
  fails(api, api->PJRT_Client_PlatformName(&name), PJRT_Error_Code_INVALID_ARGUMENT,
        "client is NULL");
  name.struct_size = 24;
  fails(api, api->PJRT_Client_PlatformName(&name), PJRT_Error_Code_INVALID_ARGUMENT,
        "PJRT_Client_PlatformName_Args: expected at least 40 bytes, got 24");
  EXPECT(api->PJRT_Buffer_Destroy(&destroy) == NULL); /* NULL may be destroyed */
out:;
}

TEST_WITHOUT_TORTURE(cpu_plugin_api, smaller_and_larger_structs) {
  const PJRT_Api *api = cpu_api();
  struct {
    PJRT_Client_Create_Args args;
    char newer[64];
  } large = {.args = {.struct_size = sizeof large}};
  PJRT_Client_Create_Args small = {.struct_size =
                                       PJRT_STRUCT_SIZE(PJRT_Client_Create_Args, client)};
  PJRT_Client_Destroy_Args destroy = {.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE};
  REQUIRE(api != NULL);
  small.kv_try_get_user_arg = (void *)1; /* beyond what it says, so nobody may look */
  EXPECT(api->PJRT_Client_Create(&small) == NULL);
  destroy.client = small.client;
  EXPECT(api->PJRT_Client_Destroy(&destroy) == NULL);
  EXPECT(api->PJRT_Client_Create(&large.args) == NULL);
  destroy.client = large.args.client;
  EXPECT(api->PJRT_Client_Destroy(&destroy) == NULL);
out:;
}

TEST_WITHOUT_TORTURE(cpu_plugin_api, says_which_stablehlo_it_takes) {
  tt_pj_values values;
  tt_pj_value value;
  REQUIRE(cpu_plugin() != NULL);
  REQUIRE_OK(tt_pj_plugin_attributes(cpu_plugin(), &values));
  REQUIRE(tt_pj_values_find(values, "stablehlo_current_version", &value));
  EXPECT_INT(value.type, TT_PJ_INT64_LIST);
  EXPECT_INT(value.list.items[1], 20);
  REQUIRE(tt_pj_values_find(values, "stablehlo_minimum_version", &value));
  EXPECT_INT(value.list.items[1], 9);
  EXPECT(!tt_pj_values_find(values, "xla_version", &value));
out:;
}

/* ---- options and devices ---- */

static tt_error *create(const tt_pj_value *option, tt_pj_client **out_client) {
  return tt_pj_client_create(cpu_plugin(), option, 1, out_client);
}

TEST_WITHOUT_TORTURE(cpu_plugin_api, create_options) {
  tt_pj_client *client = NULL;
  size_t count = 0;
  tt_pj_value unknown = tt_pj_value_int64("no_such_option", 1),
              zero = tt_pj_value_int64("cpu_device_count", 0),
              text = tt_pj_value_string("cpu_device_count", "4"),
              nodes = tt_pj_value_int64("num_nodes", 2), number = tt_pj_value_int64("lapack", 1),
              library = tt_pj_value_string("lapack", "/no/such/library.so"),
              premapped = tt_pj_value_int64("premapped_buffer_size", 0);
  REQUIRE(cpu_plugin() != NULL);
  EXPECT_ERR(create(&unknown, &client), TT_INVALID_ARGUMENT,
             "no_such_option: unknown; known are cpu_device_count, ");
  EXPECT_ERR(create(&zero, &client), TT_INVALID_ARGUMENT, "expected 1 to 1024, got 0");
  EXPECT_ERR(create(&text, &client), TT_INVALID_ARGUMENT, "expected an int64");
  EXPECT_ERR(create(&number, &client), TT_INVALID_ARGUMENT, "expected a string");
  number = tt_pj_value_int64("onednn", 1);
  EXPECT_ERR(create(&number, &client), TT_INVALID_ARGUMENT, "expected a string");
  REQUIRE_OK(create(&library, &client)); /* looked at when a program wants it */
  tt_pj_client_free(client);
  client = NULL;
  EXPECT_ERR(create(&nodes, &client), TT_INVALID_ARGUMENT, "num_nodes");
  REQUIRE_OK(create(&premapped, &client));
  tt_pj_client_free(client);
  client = NULL;
  setenv("TT_CPU_DEVICES", "3", 1);
  REQUIRE_OK(tt_pj_client_create(cpu_plugin(), NULL, 0, &client));
  tt_pj_client_devices(client, &count);
  EXPECT_INT(count, 3);
  tt_pj_client_free(client);
  client = NULL;
  setenv("TT_CPU_DEVICES", "3x", 1);
  EXPECT_ERR(tt_pj_client_create(cpu_plugin(), NULL, 0, &client), TT_INVALID_ARGUMENT,
             "TT_CPU_DEVICES=3x");
out:
  unsetenv("TT_CPU_DEVICES");
  tt_pj_client_free(client);
}

TEST_WITHOUT_TORTURE(cpu_plugin_api, instruction_set_that_there_is_not) {
  tt_pj_client *client = NULL;
  char *before = getenv("TT_CPU_ISA");
  before = before == NULL ? NULL : strdup(before);
  setenv("TT_CPU_ISA", "sse", 1);
  EXPECT_ERR(tt_pj_client_create(cpu_plugin(), NULL, 0, &client), TT_INVALID_ARGUMENT,
             "TT_CPU_ISA=sse: expected base, avx2 or avx512");
  unsetenv("TT_CPU_ISA");
  if (before != NULL)
    setenv("TT_CPU_ISA", before, 1);
  free(before);
}

TEST_WITHOUT_TORTURE(cpu_plugin_api, devices_and_memories) {
  cpu_setup s;
  tt_pj_device_info info;
  tt_pj_memory *const *memories = NULL;
  tt_pj_memory *memory = NULL;
  tt_pj_memory_stats stats;
  tt_pj_text kind;
  size_t count = 0;
  if (!cpu_set_up(&s, 2))
    goto out;
  EXPECT(tt_pj_text_is(tt_pj_client_platform_name(s.client), "tt_cpu"));
  EXPECT(tt_pj_client_platform_version(s.client).size > 0);
  for (size_t i = 0; i < 2; i++) {
    REQUIRE_OK(tt_pj_device_describe(s.plugin, s.devices[i], &info));
    EXPECT_INT(info.id, (int)i);
    EXPECT_INT(info.local_hardware_id, (int)i);
    EXPECT(info.addressable);
    EXPECT(info.kind.size > 0 && info.name.size > 0 && info.debug.size > 0);
    REQUIRE_OK(tt_pj_device_memories(s.plugin, s.devices[i], &memories, &count));
    EXPECT_INT(count, 3);
    REQUIRE_OK(tt_pj_device_default_memory(s.plugin, s.devices[i], &memory));
    EXPECT(memory == memories[0]);
    REQUIRE_OK(tt_pj_memory_kind(s.plugin, memories[0], &kind));
    EXPECT(tt_pj_text_is(kind, "device"));
    REQUIRE_OK(tt_pj_memory_kind(s.plugin, memories[1], &kind));
    EXPECT(tt_pj_text_is(kind, "pinned_host"));
    REQUIRE_OK(tt_pj_memory_kind(s.plugin, memories[2], &kind));
    EXPECT(tt_pj_text_is(kind, "unpinned_host"));
  }
  REQUIRE_OK(tt_pj_device_memory_stats(s.plugin, s.devices[0], &stats));
  EXPECT(stats.in_use >= 0 && stats.peak_in_use >= stats.in_use);
  EXPECT(stats.limit > 1 << 20); /* the machine's memory */
out:
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_api, looking_devices_up) {
  const PJRT_Api *api = cpu_api();
  cpu_setup s = {0};
  PJRT_Client_Create_Args create_args = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE};
  PJRT_Client_LookupDevice_Args look = {.struct_size = PJRT_Client_LookupDevice_Args_STRUCT_SIZE};
  PJRT_Client_DefaultDeviceAssignment_Args assign = {
      .struct_size = PJRT_Client_DefaultDeviceAssignment_Args_STRUCT_SIZE};
  PJRT_Client_Destroy_Args destroy = {.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE};
  int ids[2] = {-1, -1};
  REQUIRE(api != NULL);
  REQUIRE(api->PJRT_Client_Create(&create_args) == NULL);
  look.client = assign.client = destroy.client = create_args.client;
  EXPECT(api->PJRT_Client_LookupDevice(&look) == NULL);
  EXPECT(look.device != NULL);
  look.id = 7;
  fails(api, api->PJRT_Client_LookupDevice(&look), PJRT_Error_Code_INVALID_ARGUMENT, "id 7");
  assign.num_replicas = assign.num_partitions = 1;
  assign.default_assignment = ids;
  assign.default_assignment_size = 2;
  EXPECT(api->PJRT_Client_DefaultDeviceAssignment(&assign) == NULL);
  EXPECT_INT(ids[0], 0);
  EXPECT_INT(ids[1], -1);
  assign.num_replicas = 2;
  fails(api, api->PJRT_Client_DefaultDeviceAssignment(&assign), PJRT_Error_Code_INVALID_ARGUMENT,
        "2 replicas");
out:
  if (destroy.client != NULL)
    EXPECT(api->PJRT_Client_Destroy(&destroy) == NULL);
  (void)s;
}

/* ---- topologies ---- */

TEST_WITHOUT_TORTURE(cpu_plugin_api, topologies) {
  tt_pj_topology *topology = NULL;
  tt_pj_device_info info;
  REQUIRE(cpu_plugin() != NULL);
  REQUIRE_OK(tt_pj_topology_create(cpu_plugin(), "8", NULL, 0, &topology));
  EXPECT_INT(tt_pj_topology_device_count(topology), 8);
  EXPECT(tt_pj_text_is(tt_pj_topology_platform_name(topology), "tt_cpu"));
  REQUIRE_OK(tt_pj_topology_device(topology, 7, &info));
  EXPECT_INT(info.id, 7);
  tt_pj_topology_free(topology);
  topology = NULL;
  EXPECT_ERR(tt_pj_topology_create(cpu_plugin(), "v6e:2x2", NULL, 0, &topology),
             TT_INVALID_ARGUMENT, "a number of devices");
out:
  tt_pj_topology_free(topology);
}

TEST_WITHOUT_TORTURE(cpu_plugin_api, topology_comes_back_from_its_bytes) {
  const PJRT_Api *api = cpu_api();
  PJRT_TopologyDescription_Create_Args make = {
      .struct_size = PJRT_TopologyDescription_Create_Args_STRUCT_SIZE,
      .topology_name = "3",
      .topology_name_size = 1};
  PJRT_TopologyDescription_Serialize_Args write = {
      .struct_size = PJRT_TopologyDescription_Serialize_Args_STRUCT_SIZE};
  PJRT_TopologyDescription_Deserialize_Args read = {
      .struct_size = PJRT_TopologyDescription_Deserialize_Args_STRUCT_SIZE};
  PJRT_TopologyDescription_GetDeviceDescriptions_Args list = {
      .struct_size = PJRT_TopologyDescription_GetDeviceDescriptions_Args_STRUCT_SIZE};
  PJRT_TopologyDescription_Destroy_Args destroy = {
      .struct_size = PJRT_TopologyDescription_Destroy_Args_STRUCT_SIZE};
  REQUIRE(api != NULL);
  REQUIRE(api->PJRT_TopologyDescription_Create(&make) == NULL);
  write.topology = make.topology;
  REQUIRE(api->PJRT_TopologyDescription_Serialize(&write) == NULL);
  read.serialized_topology = write.serialized_bytes;
  read.serialized_topology_size = write.serialized_bytes_size;
  REQUIRE(api->PJRT_TopologyDescription_Deserialize(&read) == NULL);
  list.topology = read.topology;
  EXPECT(api->PJRT_TopologyDescription_GetDeviceDescriptions(&list) == NULL);
  EXPECT_INT(list.num_descriptions, 3);
  write.serialized_topology_deleter(write.serialized_topology);
  destroy.topology = read.topology;
  EXPECT(api->PJRT_TopologyDescription_Destroy(&destroy) == NULL);
  destroy.topology = make.topology;
  EXPECT(api->PJRT_TopologyDescription_Destroy(&destroy) == NULL);
  read.serialized_topology = "tt_cpu topology 99999999999";
  read.serialized_topology_size = strlen(read.serialized_topology);
  fails(api, api->PJRT_TopologyDescription_Deserialize(&read), PJRT_Error_Code_INVALID_ARGUMENT,
        "a number of devices");
out:;
}

/* ---- the Layouts extension ---- */

TEST_WITHOUT_TORTURE(cpu_plugin_api, default_layout_is_row_major) {
  const PJRT_Api *api = cpu_api();
  tt_cpu_layouts_extension *layouts = NULL;
  static const int64_t dims[11] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  REQUIRE(api != NULL);
  for (PJRT_Extension_Base *at = api->extension_start; at != NULL; at = at->next)
    if (at->type == PJRT_Extension_Type_Layouts)
      layouts = (tt_cpu_layouts_extension *)at;
  REQUIRE(layouts != NULL);
  EXPECT_INT(layouts->base.struct_size, sizeof *layouts);
  {
    int something = 0;
    tt_cpu_layout_default_args get = {.struct_size = sizeof get,
                                      .owner = &something,
                                      .type = PJRT_Buffer_Type_F32,
                                      .dims = dims,
                                      .num_dims = 11};
    REQUIRE(layouts->client_default(&get) == NULL);
    tt_cpu_layout_serialize_args write = {.struct_size = sizeof write, .layout = get.layout};
    REQUIRE(layouts->serialize(&write) == NULL);
    EXPECT_INT(write.serialized_bytes_size, strlen("{10,9,8,7,6,5,4,3,2,1,0}"));
    EXPECT_STR(write.serialized_bytes, "{10,9,8,7,6,5,4,3,2,1,0}");
    write.serialized_layout_deleter(write.serialized_layout);
    tt_cpu_layout_destroy_args destroy = {.struct_size = sizeof destroy, .layout = get.layout};
    EXPECT(layouts->destroy(&destroy) == NULL);
    get.owner = NULL;
    fails(api, layouts->client_default(&get), PJRT_Error_Code_INVALID_ARGUMENT, "owner is NULL");
  }
out:;
}
