#include "plugin_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

const tt_pj_plugin *cpu_plugin(void) {
  static tt_pj_plugin *plugin;
  if (plugin == NULL)
    EXPECT_OK(tt_pj_plugin_open(TT_TEST_CPU_PLUGIN, NULL, 0, TT_PJ_USE_DEVICES, &plugin));
  return plugin;
}

bool cpu_set_up(cpu_setup *s, int64_t devices) {
  tt_pj_value option = tt_pj_value_int64("cpu_device_count", devices);
  *s = (cpu_setup){.plugin = cpu_plugin()};
  if (s->plugin == NULL || !EXPECT_OK(tt_pj_client_create(s->plugin, &option, 1, &s->client)))
    return false;
  s->devices = tt_pj_client_devices(s->client, &s->count);
  return EXPECT_INT(s->count, devices);
}

void cpu_tear_down(cpu_setup *s) { tt_pj_client_free(s->client); }

tt_error *cpu_compile(const cpu_setup *s, const char *text, const tt_pj_compile_options *options,
                      tt_pj_executable **out_executable) {
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
    TT_TRY(tt_pj_compile(s->client, &program, out_executable));
  }
out:
  tt_bytes_free(&bytes);
  return err;
}

const char *cpu_add_text(int64_t count, const char *marks) {
  static char text[512];
  long long n = count;
  snprintf(text, sizeof text,
           "module @add { func.func @main(%%a: tensor<%lldxf32>%s, %%b: tensor<%lldxf32>) -> "
           "tensor<%lldxf32> {\n"
           "  %%0 = stablehlo.add %%a, %%b : tensor<%lldxf32>\n"
           "  return %%0 : tensor<%lldxf32>\n} }\n",
           n, marks, n, n, n, n);
  return text;
}

tt_error *cpu_filled(const cpu_setup *s, tt_pj_device *device, int64_t count, float value,
                     tt_pj_buffer **out_buffer) {
  float *data = malloc((size_t)count * sizeof *data);
  *out_buffer = NULL;
  if (data == NULL)
    return tt_error_no_memory((size_t)count * sizeof *data);
  for (int64_t i = 0; i < count; i++)
    data[i] = value;
  tt_pj_host_array array = {data, TT_F32, &count, 1, NULL};
  tt_error *err =
      tt_pj_buffer_from_host(s->client, device, NULL, &array, TT_PJ_HOST_COPY, out_buffer, NULL);
  free(data);
  return err;
}

void cpu_expect_filled(const cpu_setup *s, tt_pj_buffer *buffer, int64_t count, float value) {
  float *got = calloc((size_t)count, sizeof *got);
  if (got == NULL)
    return;
  if (EXPECT_OK(tt_pj_buffer_to_host(s->plugin, buffer, got, (size_t)count * sizeof *got, NULL))) {
    int64_t right = 0;
    while (right < count && got[right] == value)
      right++;
    EXPECT_INT(right, count);
    if (right < count)
      EXPECT_DOUBLE((double)got[right], (double)value, 0);
  }
  free(got);
}

const struct PJRT_Api *cpu_api(void) {
  const struct PJRT_Api *(*get)(void) = NULL;
  if (cpu_plugin() == NULL)
    return NULL;
  void *library = dlopen(TT_TEST_CPU_PLUGIN, RTLD_LAZY | RTLD_LOCAL);
  void *symbol = library == NULL ? NULL : dlsym(library, "GetPjrtApi");
  if (!EXPECT(symbol != NULL))
    return NULL;
  memcpy(&get, &symbol, sizeof get);
  return get();
}
