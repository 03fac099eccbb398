/* plugin_test.h: what the tests of src/cpu/plugin share: the library through the client side. */
#ifndef TT_CPU_PLUGIN_TEST_H
#define TT_CPU_PLUGIN_TEST_H

#include "pjrt/pjrt.h"

/* The library as it was built, opened once; NULL after a failed expectation. */
const tt_pj_plugin *cpu_plugin(void);
/* A client with so many devices, and what is used with one. */
typedef struct cpu_setup {
  const tt_pj_plugin *plugin;
  tt_pj_client *client;
  tt_pj_device *const *devices;
  size_t count;
} cpu_setup;
bool cpu_set_up(cpu_setup *s, int64_t devices);
void cpu_tear_down(cpu_setup *s);

/* Of `options` NULL is the default. */
TT_NODISCARD tt_error *cpu_compile(const cpu_setup *s, const char *text,
                                   const tt_pj_compile_options *options,
                                   tt_pj_executable **out_executable);
/* (a, b) -> a + b of `count` floats; `marks` is what stands behind the type of a. In memory that
 * the next call reuses. */
const char *cpu_add_text(int64_t count, const char *marks);
#define CPU_ALIAS " {tf.aliasing_output = 0 : i32}"
/* So many floats that the sum is not made on the caller's thread. */
#define CPU_LARGE (1 << 20)

/* `count` floats, each `value`. */
TT_NODISCARD tt_error *cpu_filled(const cpu_setup *s, tt_pj_device *device, int64_t count,
                                  float value, tt_pj_buffer **out_buffer);
/* Expects `count` floats that are all `value`. */
void cpu_expect_filled(const cpu_setup *s, tt_pj_buffer *buffer, int64_t count, float value);

/* The table itself, for what the client side does not call. */
struct PJRT_Api;
const struct PJRT_Api *cpu_api(void);

#endif /* TT_CPU_PLUGIN_TEST_H */
