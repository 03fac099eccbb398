#include "pj_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

const char pj_add_text[] =
    "module @add { func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
    "  return %0 : tensor<4xf32>\n"
    "} }\n";
const char pj_donating_add_text[] =
    "module @add { func.func @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %b: "
    "tensor<4xf32>)\n"
    "    -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
    "  return %0 : tensor<4xf32>\n"
    "} }\n";

const char *pj_plugin_path(void) {
  const char *path = getenv("TT_TEST_PLUGIN");
  if (path != NULL && path[0] != '\0')
    return path;
  return TT_TEST_XLA_PLUGIN[0] == '\0' ? NULL : TT_TEST_XLA_PLUGIN;
}

bool pj_fake_path(const char *name, char out_path[4096]) {
#ifdef TT_TEST_FAKES
  snprintf(out_path, 4096, "%s/fake_%s.so", TT_TEST_FAKES, name);
  return true;
#else
  (void)name;
  out_path[0] = '\0';
  return false;
#endif
}

const tt_pj_client *pj_client(void) {
  static tt_pj_plugin *plugin;
  static tt_pj_client *client;
  if (plugin == NULL)
    EXPECT_OK(tt_pj_plugin_open(pj_plugin_path(), NULL, 0, TT_PJ_USE_DEVICES, &plugin));
  if (plugin != NULL && client == NULL)
    EXPECT_OK(tt_pj_client_create(plugin, NULL, 0, &client));
  return client;
}

bool pj_begin(const tt_pj_client **out_client, const tt_pj_plugin **out_plugin) {
  *out_client = NULL;
  *out_plugin = NULL;
  if (pj_plugin_path() == NULL) {
    tt_test_skip("no plugin: set TT_TEST_PLUGIN");
    return false;
  }
  *out_client = pj_client();
  if (*out_client != NULL)
    *out_plugin = tt_pj_client_plugin(*out_client);
  return *out_client != NULL;
}

tt_pj_device *pj_device(const tt_pj_client *client) {
  size_t count = 0;
  return tt_pj_client_devices(client, &count)[0];
}

tt_error *pj_compile(const tt_pj_client *client, const char *text,
                     const tt_pj_compile_options *options, tt_pj_executable **out_executable) {
  tt_error *err = NULL;
  tt_bytes bytes = {0};
  tt_pj_compile_options none = {0};
  *out_executable = NULL;
  TT_TRY(tt_pj_compile_options_encode(options == NULL ? &none : options, &bytes));
  {
    tt_pj_program program = {.format = "mlir",
                             .code = text,
                             .code_size = strlen(text),
                             .options = bytes.data,
                             .options_size = bytes.size};
    TT_TRY(tt_pj_compile(client, &program, out_executable));
  }
out:
  tt_bytes_free(&bytes);
  return err;
}

tt_error *pj_vector(const tt_pj_client *client, const float *data, int64_t count,
                    tt_pj_buffer **out_buffer) {
  tt_pj_host_array array = {data, TT_F32, &count, 1, NULL};
  return tt_pj_buffer_from_host(client, pj_device(client), NULL, &array, TT_PJ_HOST_COPY,
                                out_buffer, NULL);
}
