#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "pj_test.h"
#include "test.h"

static tt_error *open_path(const char *path, tt_pj_plugin **out_plugin) {
  return tt_pj_plugin_open(path, NULL, 0, TT_PJ_USE_DEVICES, out_plugin);
}

/* Opening fake plugin `name` must fail so. */
static void expect_fake_error(const char *name, tt_code code, const char *part) {
  char path[4096];
  tt_pj_plugin *plugin = NULL;
  if (!pj_fake_path(name, path)) {
    tt_test_skip("the build made no fake plugins");
    return;
  }
  tt_error *err = open_path(path, &plugin);
  EXPECT_CONTAINS(tt_error_message(err), path);
  EXPECT_ERR(err, code, part);
  EXPECT(plugin == NULL);
  tt_pj_plugin_free(plugin);
}

/* ---- finding ---- */

TEST(pj_plugin, unknown_name_lists_the_known_ones) {
  tt_pj_plugin *plugin = NULL;
  tt_error *err = open_path("no_such_plugin", &plugin);
  EXPECT_CONTAINS(tt_error_message(err),
                  "no_such_plugin: unknown name; known are cpu, xla_cpu, tpu,");
  EXPECT_ERR(err, TT_NOT_FOUND, "tenstorrent");
}

TEST(pj_plugin, name_not_installed_says_where_it_looked) {
  const char *dirs[] = {"/nonexistent/a", "/nonexistent/b"};
  char path[200];
  tt_error *err = tt_pj_plugin_find("tpu", dirs, 2, path, sizeof path);
  EXPECT_CONTAINS(tt_error_message(err), "libtpu/libtpu.so");
  EXPECT_ERR(err, TT_NOT_FOUND, "/nonexistent/a, /nonexistent/b");
}

TEST(pj_plugin, finds_a_name_in_the_first_folder_that_has_it) {
  char root[] = "/tmp/tt_pjrt_XXXXXX", folder[100], file[150], path[200];
  const char *dirs[2] = {"/nonexistent", NULL};
  REQUIRE(mkdtemp(root) != NULL);
  snprintf(folder, sizeof folder, "%s/libtpu", root);
  snprintf(file, sizeof file, "%s/libtpu.so", folder);
  REQUIRE_OK(tt_file_make_folder(folder));
  REQUIRE_OK(tt_file_write(file, "x", 1));
  dirs[1] = root;
  REQUIRE_OK(tt_pj_plugin_find("tpu", dirs, 2, path, sizeof path));
  EXPECT_STR(path, file);
  EXPECT_ERR(tt_pj_plugin_find("tpu", dirs, 2, path, 10), TT_INVALID_ARGUMENT,
             "longer than 9 bytes");
out:
  unlink(file);
  rmdir(folder);
  rmdir(root);
}

TEST(pj_plugin, missing_file_is_named) {
  tt_pj_plugin *plugin = NULL;
  EXPECT_ERR(open_path("/nonexistent/p.so", &plugin), TT_NOT_FOUND,
             "/nonexistent/p.so: No such file");
  EXPECT_ERR(open_path("/tmp/", &plugin), TT_INVALID_ARGUMENT, "/tmp/: not a file");
}

TEST(pj_plugin, names_end) {
  size_t count = 0;
  while (tt_pj_plugin_name_at(count) != NULL)
    count++;
  EXPECT(count >= 9);
  EXPECT(tt_pj_plugin_name_at(SIZE_MAX) == NULL);
}

/* ---- opening what is no plugin of ours ---- */

TEST(pj_plugin, text_file_is_not_a_library) {
  tt_error *err = NULL;
  char path[] = "/tmp/tt_pjrt_XXXXXX";
  tt_pj_plugin *plugin = NULL;
  int fd = mkstemp(path);
  REQUIRE(fd >= 0);
  REQUIRE(write(fd, "hello\n", 6) == 6);
  err = open_path(path, &plugin);
  EXPECT_CONTAINS(tt_error_message(err), path);
  EXPECT_ERR(err, TT_INVALID_ARGUMENT, "cannot be loaded");
out:
  close(fd);
  unlink(path);
}

TEST(pj_plugin, library_without_entry) {
  expect_fake_error("plain", TT_INVALID_ARGUMENT, "it has no GetPjrtApi");
}

TEST(pj_plugin, entry_that_returns_null) {
  expect_fake_error("empty", TT_INVALID_ARGUMENT, "returned NULL");
}

TEST(pj_plugin, too_old_names_both_versions) {
  expect_fake_error("old", TT_FAILED_PRECONDITION, "has PJRT 0.28, but this client has 0.");
  expect_fake_error("old", TT_FAILED_PRECONDITION, "needs 0.29 or a later 0.x");
}

TEST(pj_plugin, other_major_version) {
  expect_fake_error("major", TT_FAILED_PRECONDITION, "has PJRT 1.81");
}

TEST(pj_plugin, hole_in_the_table_is_named) {
  expect_fake_error("hole", TT_FAILED_PRECONDITION, "has no PJRT_LoadedExecutable_Execute");
}

TEST(pj_plugin, failing_initialisation_keeps_its_text) {
  expect_fake_error("init", TT_UNAVAILABLE, "PJRT_Plugin_Initialize: no hardware here");
}

/* ---- a plugin that has less than we know ---- */

TEST(pj_plugin, short_table_makes_late_functions_unimplemented) {
  char path[4096];
  tt_pj_plugin *plugin = NULL;
  tt_pj_client *client = NULL;
  tt_pj_buffer *buffer = NULL;
  int64_t dim = 4;
  int major = -1, minor = -1;
  if (!pj_fake_path("short", path))
    SKIP("the build made no fake plugins");
  REQUIRE_OK(open_path(path, &plugin));
  EXPECT_STR(tt_pj_plugin_name(plugin), "fake_short");
  EXPECT_STR(tt_pj_plugin_path(plugin), path);
  tt_pj_plugin_version(plugin, &major, &minor);
  EXPECT_INT(major, 0);
  EXPECT_INT(minor, 30);
  REQUIRE_OK(tt_pj_client_create(plugin, NULL, 0, &client));
  EXPECT_ERR(
      tt_pj_buffer_uninitialized(client, pj_device(client), TT_F32, &dim, 1, &buffer),
      TT_UNIMPLEMENTED,
      "PJRT_Client_CreateUninitializedBuffer: the plugin fake_short (PJRT 0.30) does not have it");
  EXPECT(buffer == NULL);
out:
  tt_pj_client_free(client);
  tt_pj_plugin_free(plugin);
}

TEST(pj_plugin, errors_keep_code_and_text) {
  char path[4096];
  tt_pj_plugin *plugin = NULL;
  tt_pj_client *client = NULL;
  tt_pj_memory_stats stats;
  tt_pj_value odd = tt_pj_value_string("odd", "a code beyond the enum");
  size_t count = 0;
  if (!pj_fake_path("good", path))
    SKIP("the build made no fake plugins");
  REQUIRE_OK(open_path(path, &plugin));
  EXPECT_ERR(tt_pj_client_create(plugin, &odd, 1, &client), TT_UNKNOWN,
             "PJRT_Client_Create: a code beyond the enum");
  EXPECT(client == NULL);
  REQUIRE_OK(tt_pj_client_create(plugin, NULL, 0, &client));
  EXPECT(tt_pj_text_is(tt_pj_client_platform_name(client), "fake"));
  EXPECT_INT(tt_pj_client_platform_version(client).size, 0);
  EXPECT(tt_pj_client_all_devices(client, &count) == tt_pj_client_devices(client, &count));
  EXPECT_ERR(tt_pj_device_memory_stats(plugin, pj_device(client), &stats), TT_UNIMPLEMENTED,
             "PJRT_Device_MemoryStats: refused by the fake");
out:
  tt_pj_client_free(client);
  tt_pj_plugin_free(plugin);
}

/* ---- the real one ---- */

TEST_WITHOUT_TORTURE(pj_plugin, tells_its_versions) {
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  tt_pj_values values = {0};
  tt_pj_value value;
  int major = -1, minor = -1;
  tt_pj_plugin_version(plugin, &major, &minor);
  EXPECT_INT(major, 0);
  EXPECT(minor >= TT_PJ_OLDEST_MINOR);
  REQUIRE_OK(tt_pj_plugin_attributes(plugin, &values));
  if (tt_pj_values_find(values, "stablehlo_current_version", &value)) {
    EXPECT_INT(value.type, TT_PJ_INT64_LIST);
    EXPECT_INT(value.list.count, 3);
    EXPECT_INT(value.list.items[0], 1);
  }
  EXPECT(!tt_pj_values_find(values, "no such attribute", &value));
out:;
}
