#include <stdlib.h>
#include <string.h>

#include "pj_test.h"
#include "test.h"

/* libtpu is large and optional: TT_TEST_LIBTPU names its file. Opened once; it stays. */
static tt_pj_plugin *libtpu(void) {
  static tt_pj_plugin *plugin;
  if (plugin == NULL)
    EXPECT_OK(tt_pj_plugin_open(getenv("TT_TEST_LIBTPU"), NULL, 0, TT_PJ_USE_TOPOLOGY, &plugin));
  return plugin;
}

TEST_WITHOUT_TORTURE(pj_topology, compiles_for_a_tpu_that_is_not_there) {
  tt_pj_plugin *plugin = NULL;
  tt_pj_compile_options options;
  tt_pj_program program;
  tt_error *err = NULL;
  tt_pj_topology *topology = NULL;
  tt_pj_executable *executable = NULL;
  tt_bytes options_bytes = {0}, optimized = {0};
  tt_pj_device_info info;
  tt_pj_program_memory memory;
  tt_pj_text format;
  tt_pj_buffer *out = NULL;
  if (getenv("TT_TEST_LIBTPU") == NULL)
    SKIP("no libtpu: set TT_TEST_LIBTPU");
  plugin = libtpu();
  REQUIRE(plugin != NULL);
  EXPECT_STR(tt_pj_plugin_name(plugin), "tpu");
  REQUIRE_OK(tt_pj_topology_create(plugin, "v6e:2x2", NULL, 0, &topology));
  EXPECT_INT(tt_pj_topology_device_count(topology), 4);
  EXPECT(tt_pj_text_is(tt_pj_topology_platform_name(topology), "tpu"));
  REQUIRE_OK(tt_pj_topology_device(topology, 0, &info));
  EXPECT(tt_pj_text_is(info.kind, "TPU v6 lite"));
  options = (tt_pj_compile_options){.device_ids = &info.id};
  REQUIRE_OK(tt_pj_compile_options_encode(&options, &options_bytes));
  program = (tt_pj_program){.format = "mlir",
                            .code = pj_add_text,
                            .code_size = strlen(pj_add_text),
                            .options = options_bytes.data,
                            .options_size = options_bytes.size};
  REQUIRE_OK(tt_pj_topology_compile(topology, &program, &executable));
  EXPECT_INT(tt_pj_executable_output_count(executable), 1);
  REQUIRE_OK(tt_pj_executable_memory(executable, &memory));
  EXPECT(memory.arguments > 0);
  REQUIRE_OK(tt_pj_executable_optimized(executable, &optimized, &format));
  EXPECT(optimized.size > 0);
  EXPECT_ERR(tt_pj_execute(executable, NULL, 0, NULL, &out, NULL), TT_FAILED_PRECONDITION,
             "topology");
  program.code = "nonsense";
  program.code_size = 8;
  tt_pj_executable_free(executable);
  err = tt_pj_topology_compile(topology, &program, &executable);
  EXPECT_CONTAINS(tt_error_message(err), "PJRT_Compile: ");
  tt_error_free(err);
out:
  tt_bytes_free(&options_bytes);
  tt_bytes_free(&optimized);
  tt_pj_executable_free(executable);
  tt_pj_topology_free(topology);
}

TEST_WITHOUT_TORTURE(pj_topology, unknown_topology_is_named) {
  tt_error *err = NULL;
  tt_pj_topology *topology = NULL;
  if (getenv("TT_TEST_LIBTPU") == NULL)
    SKIP("no libtpu: set TT_TEST_LIBTPU");
  REQUIRE(libtpu() != NULL);
  err = tt_pj_topology_create(libtpu(), "v99:2x2", NULL, 0, &topology);
  EXPECT_CONTAINS(tt_error_message(err), "topology v99:2x2: PJRT_TopologyDescription_Create: ");
  tt_error_free(err);
  EXPECT(topology == NULL);
out:;
}

TEST(pj_topology, plugin_without_topologies_says_so) {
  char path[4096];
  tt_pj_plugin *plugin = NULL;
  tt_pj_topology *topology = NULL;
  if (!pj_fake_path("good", path))
    SKIP("the build made no fake plugins");
  REQUIRE_OK(tt_pj_plugin_open(path, NULL, 0, TT_PJ_USE_TOPOLOGY, &plugin));
  EXPECT_ERR(tt_pj_topology_create(plugin, "any", NULL, 0, &topology), TT_UNIMPLEMENTED,
             "refused by the fake");
  EXPECT(topology == NULL);
out:
  tt_pj_plugin_free(plugin);
}
