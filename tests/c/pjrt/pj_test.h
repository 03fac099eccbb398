/* pj_test.h: what the tests of src/pjrt share. */
#ifndef TT_PJ_TEST_H
#define TT_PJ_TEST_H

#include "pjrt/pjrt.h"

/* The file that TT_TEST_PLUGIN names, else XLA:CPU where the build found it, else NULL. */
const char *pj_plugin_path(void);
/* The path of fake plugin `name` ("good", "old", ...), written to `out_path`; false where the build
 * made none. */
bool pj_fake_path(const char *name, char out_path[4096]);

/* The client of that plugin, made at the first call and never freed; NULL, after a failed
 * expectation, when it cannot be had. Its tests are not tortured: they run in forked children,
 * where the plugin's threads are gone. */
const tt_pj_client *pj_client(void);
/* The same at the start of a test, with its plugin; false where the test is skipped or has failed.
 */
bool pj_begin(const tt_pj_client **out_client, const tt_pj_plugin **out_plugin);
tt_pj_device *pj_device(const tt_pj_client *client);

/* Compiles text with the options of `options`, NULL for none. */
TT_NODISCARD tt_error *pj_compile(const tt_pj_client *client, const char *text,
                                  const tt_pj_compile_options *options,
                                  tt_pj_executable **out_executable);
/* A copied f32 vector. */
TT_NODISCARD tt_error *pj_vector(const tt_pj_client *client, const float *data, int64_t count,
                                 tt_pj_buffer **out_buffer);

/* (a, b) -> a + b, of 4 floats; in the second `a` may be donated. */
extern const char pj_add_text[], pj_donating_add_text[];

#endif /* TT_PJ_TEST_H */
