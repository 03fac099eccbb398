#include <string.h>

#include "pj_test.h"
#include "test.h"

TEST_WITHOUT_TORTURE(pj_client, lists_devices_and_memories) {
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  size_t count = 0, all_count = 0, memory_count = 0;
  tt_pj_device_info info;
  tt_pj_memory *const *memories = NULL;
  tt_pj_memory *memory = NULL;
  tt_pj_text kind;
  EXPECT(tt_pj_client_platform_name(client).size > 0);
  tt_pj_device *const *devices = tt_pj_client_devices(client, &count);
  tt_pj_client_all_devices(client, &all_count);
  REQUIRE(count >= 1);
  EXPECT(all_count >= count);
  for (size_t i = 0; i < count; i++) {
    REQUIRE_OK(tt_pj_device_describe(plugin, devices[i], &info));
    EXPECT(info.addressable);
    EXPECT_INT(info.process_index, 0);
    EXPECT(info.kind.size > 0);
    EXPECT(info.name.size > 0);
    REQUIRE_OK(tt_pj_device_memories(plugin, devices[i], &memories, &memory_count));
    EXPECT(memory_count >= 1);
    REQUIRE_OK(tt_pj_device_default_memory(plugin, devices[i], &memory));
    REQUIRE_OK(tt_pj_memory_kind(plugin, memory, &kind));
    EXPECT(kind.size > 0);
  }
out:;
}

TEST_WITHOUT_TORTURE(pj_client, memory_stats_or_unimplemented) {
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  tt_pj_memory_stats stats = {0};
  tt_error *err = tt_pj_device_memory_stats(plugin, pj_device(client), &stats);
  if (err == NULL)
    EXPECT(stats.in_use >= 0);
  else
    EXPECT_ERR(err, TT_UNIMPLEMENTED, "PJRT_Device_MemoryStats");
}

TEST(pj_client, values_go_out_and_come_back) {
  char path[4096];
  tt_pj_plugin *plugin = NULL;
  tt_pj_client *client = NULL;
  int64_t list[] = {1, 2, 3};
  tt_pj_value options[] = {
      tt_pj_value_int64("i", 7),
      tt_pj_value_float("f", 0.5f),
      tt_pj_value_bool("b", true),
      {.name = {"l", 1}, .type = TT_PJ_INT64_LIST, .list = {list, 3}},
      {.name = {"bad", 3}, .type = TT_PJ_VALUE_TYPE_COUNT},
  };
  if (!pj_fake_path("good", path))
    SKIP("the build made no fake plugins");
  REQUIRE_OK(tt_pj_plugin_open(path, NULL, 0, TT_PJ_USE_DEVICES, &plugin));
  EXPECT_ERR(tt_pj_client_create(plugin, options, 5, &client), TT_INVALID_ARGUMENT, "option bad");
  EXPECT(client == NULL);
  REQUIRE_OK(tt_pj_client_create(plugin, options, 4, &client));
out:
  tt_pj_client_free(client);
  tt_pj_plugin_free(plugin);
}
