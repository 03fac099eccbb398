#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "rt_test.h"

/* ---- opening ---- */

static tt_error *open_path(const char *path) {
  tt_rt *rt = NULL;
  tt_rt_options options = {.plugin = path};
  tt_error *err = tt_rt_open(&options, &rt);
  EXPECT(rt == NULL);
  tt_rt_close(rt);
  return err;
}

TEST(rt_open, a_plugin_that_is_not_there) {
  EXPECT_ERR(open_path("/no/such/plugin.so"), TT_NOT_FOUND, "/no/such/plugin.so");
  EXPECT_ERR(open_path("flux"), TT_NOT_FOUND, "flux");
}

TEST(rt_open, a_file_that_is_no_plugin) {
  char path[] = "/tmp/tt_no_plugin_XXXXXX";
  int file = mkstemp(path);
  tt_error *err;
  REQUIRE(file >= 0);
  close(file);
  err = open_path(path);
  EXPECT_CONTAINS(tt_error_message(err), path);
  tt_error_free(err);
out:
  unlink(path);
}

TEST_WITHOUT_TORTURE(rt_open, tells_about_its_devices) {
  tt_rt *rt = rt_get();
  tt_rt_device_info info;
  if (rt == NULL)
    goto out;
  EXPECT(tt_rt_device_count(rt) >= 1);
  EXPECT(tt_rt_device_at(rt, tt_rt_device_count(rt)) == NULL);
  EXPECT(tt_rt_device_owner(tt_rt_device_at(rt, 0)) == rt);
  EXPECT_INT(tt_rt_device_index(tt_rt_device_at(rt, 0)), 0);
  tt_rt_device_describe(tt_rt_device_at(rt, 0), &info);
  EXPECT_STR(info.plugin_path, rt_plugin_path());
  EXPECT(info.kind[0] != '\0' && info.platform[0] != '\0');
  EXPECT_INT(info.pjrt_major, 0);
  EXPECT(info.pjrt_minor > 0);
out:;
}

TEST_WITHOUT_TORTURE(rt_open, close_gives_all_back) {
  tt_rt *rt = NULL;
  tt_rt_options options = {.plugin = rt_plugin_path()};
  if (options.plugin == NULL)
    SKIP("no plugin: set TT_TEST_PLUGIN");
  REQUIRE_OK(tt_rt_open(&options, &rt));
out:
  tt_rt_close(rt); /* the leak sanitizer looks */
}

/* ---- failures of the plugin: an error, nothing written, and the next call works ---- */

static const float numbers[4] = {1, 2, 3, 4};

static void expect_content(const rt_tensor *x, double factor) {
  float got[4];
  if (!EXPECT_OK(rt_read(x, got)))
    return;
  for (int i = 0; i < 4; i++)
    EXPECT_DOUBLE(got[i], numbers[i] * factor, 1e-6);
}

TEST_WITHOUT_TORTURE(rt_fault, execute_runs_out_of_memory) {
  tt_rt *rt = rt_get_faulty();
  rt_tensor x = {0}, y = {0};
  tt_rt_memory before, after;
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, numbers, 4, &x));
  tt_rt_memory_get(tt_rt_device_at(rt, 0), &before);
  rt_fail("execute", TT_RESOURCE_EXHAUSTED, 1);
  EXPECT_ERR(rt_add(rt, &x, &x, 1, NULL, &y), TT_RESOURCE_EXHAUSTED, "aten::add.Tensor: ");
  rt_fail("execute", TT_RESOURCE_EXHAUSTED, 1);
  EXPECT_ERR(rt_add(rt, &x, &x, 1, &x, NULL), TT_RESOURCE_EXHAUSTED, "a fault on demand");
  tt_rt_memory_get(tt_rt_device_at(rt, 0), &after);
  EXPECT_INT(after.allocated, before.allocated);
  EXPECT_INT(after.storages, before.storages);
  expect_content(&x, 1);
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  expect_content(&y, 2);
out:
  rt_drop(&x);
  rt_drop(&y);
}

TEST_WITHOUT_TORTURE(rt_fault, compile_fails) {
  tt_rt *rt = rt_get_faulty();
  rt_tensor x = {0}, y = {0};
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_new(rt, TT_F32, 2, (int64_t[]){2, 2}, numbers, &x));
  rt_fail("compile", TT_INTERNAL, 1);
  EXPECT_ERR(rt_add(rt, &x, &x, 1, NULL, &y), TT_INTERNAL, "aten::add.Tensor: compile");
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y)); /* nothing bad was remembered */
  expect_content(&y, 2);
out:
  rt_drop(&x);
  rt_drop(&y);
}

TEST_WITHOUT_TORTURE(rt_fault, upload_fails) {
  tt_rt *rt = rt_get_faulty();
  rt_tensor x = {0}, y = {0};
  if (rt == NULL)
    goto out;
  rt_fail("upload", TT_RESOURCE_EXHAUSTED, 1);
  EXPECT_ERR(rt_vector(rt, numbers, 4, &x), TT_RESOURCE_EXHAUSTED, "a fault on demand");
  REQUIRE_OK(rt_vector(rt, numbers, 4, &x));
  /* a parameter's upload: from the second value on it is one */
  REQUIRE_OK(rt_add(rt, &x, &x, 2, NULL, &y));
  rt_drop(&y);
  REQUIRE_OK(rt_add(rt, &x, &x, 3, NULL, &y));
  rt_drop(&y);
  rt_fail("upload", TT_RESOURCE_EXHAUSTED, 1);
  EXPECT_ERR(rt_add(rt, &x, &x, 4, NULL, &y), TT_RESOURCE_EXHAUSTED, "aten::add.Tensor");
  REQUIRE_OK(rt_add(rt, &x, &x, 4, NULL, &y));
  expect_content(&y, 5);
out:
  rt_drop(&x);
  rt_drop(&y);
}

/* ---- failures that show later ---- */

TEST_WITHOUT_TORTURE(rt_fault, asynchronous_failure_is_raised_at_the_first_use) {
  tt_rt *rt = rt_get_faulty();
  rt_tensor x = {0}, y = {0}, z = {0};
  float got[4];
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, numbers, 4, &x));
  rt_fail("run", TT_INTERNAL, 1);
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  REQUIRE_OK(rt_add(rt, &y, &x, 1, NULL, &z)); /* reads it: fails too, later */
  EXPECT_ERR(rt_read(&y, got), TT_INTERNAL, "aten::add.Tensor");
  EXPECT_ERR(tt_rt_storage_await(z.storage), TT_INTERNAL, "a fault on demand");
  expect_content(&x, 1);
  rt_drop(&y);
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  expect_content(&y, 2);
  REQUIRE_OK(tt_rt_synchronize(tt_rt_device_at(rt, 0)));
out:
  rt_drop(&x);
  rt_drop(&y);
  rt_drop(&z);
}

TEST_WITHOUT_TORTURE(rt_fault, synchronize_returns_it_once) {
  tt_rt *rt = rt_get_faulty();
  rt_tensor x = {0}, y = {0};
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, numbers, 4, &x));
  rt_fail("run", TT_INTERNAL, 1);
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  EXPECT(!tt_rt_idle(tt_rt_device_at(rt, 0)));
  EXPECT_ERR(tt_rt_synchronize(tt_rt_device_at(rt, 0)), TT_INTERNAL, "aten::add.Tensor");
  EXPECT_OK(tt_rt_synchronize(tt_rt_device_at(rt, 0)));
  EXPECT(tt_rt_idle(tt_rt_device_at(rt, 0)));
out:
  rt_drop(&x);
  rt_drop(&y);
}

TEST_WITHOUT_TORTURE(rt_fault, buffers_are_given_back) {
  tt_rt *rt = rt_get_faulty();
  rt_tensor x = {0}, y = {0};
  long buffers;
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, numbers, 4, &x));
  buffers = rt_count("buffers");
  for (int i = 0; i < 5; i++) {
    REQUIRE_OK(rt_add(rt, &x, &x, 1 + 0.5 * i, NULL, &y));
    REQUIRE_OK(rt_add(rt, &y, &x, 1, &y, NULL));
    EXPECT_INT(rt_count("buffers"), buffers + 1);
    rt_drop(&y);
  }
  EXPECT_INT(rt_count("buffers"), buffers);
out:
  rt_drop(&x);
  rt_drop(&y);
}

/* ---- debug mode ---- */

static tt_error *select_row(tt_rt *rt, const rt_tensor *x, int64_t row, rt_tensor *out) {
  rt_tensor index = {0}, like = {.dtype = TT_F32, .rank = 1, .sizes = {1}, .strides = {1}};
  tt_error *err = rt_new(rt, TT_S64, 1, &(int64_t){1}, &row, &index);
  if (err == NULL) {
    tt_rt_arg args[] = {rt_arg(x), rt_fixed_int(0), rt_arg(&index)};
    err = rt_call(rt, "aten::index_select", args, 3, &like, NULL, out);
  }
  rt_drop(&index);
  return err;
}

TEST_WITHOUT_TORTURE(rt_debug, indices_are_checked) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, y = {0};
  float got;
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, numbers, 4, &x));
  REQUIRE_OK(select_row(rt, &x, 9, &y)); /* strict: some element */
  rt_drop(&y);
  REQUIRE_OK(tt_rt_mode_set(rt, TT_RT_DEBUG));
  EXPECT_INT(tt_rt_mode_get(rt), TT_RT_DEBUG);
  rt_line = "train.py:12 in step";
  EXPECT_ERR(select_row(rt, &x, 9, &y), TT_OUT_OF_RANGE, "(train.py:12 in step)");
  EXPECT(y.storage == NULL);
  EXPECT_ERR(select_row(rt, &x, -5, &y), TT_OUT_OF_RANGE, "index");
  REQUIRE_OK(select_row(rt, &x, 3, &y));
  REQUIRE_OK(rt_read(&y, &got));
  EXPECT_DOUBLE(got, 4, 0);
out:
  if (rt != NULL)
    EXPECT_OK(tt_rt_mode_set(rt, TT_RT_STRICT));
  rt_drop(&x);
  rt_drop(&y);
}

TEST_WITHOUT_TORTURE(rt_debug, waits_for_each_op) {
  tt_rt *rt = rt_get_faulty();
  rt_tensor x = {0}, y = {0};
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, numbers, 4, &x));
  REQUIRE_OK(tt_rt_mode_set(rt, TT_RT_DEBUG));
  rt_line = "a.py:1";
  rt_fail("run", TT_INTERNAL, 1);
  EXPECT_ERR(rt_add(rt, &x, &x, 1, NULL, &y), TT_INTERNAL, "aten::add.Tensor");
  EXPECT(y.storage == NULL);
out:
  if (rt != NULL)
    EXPECT_OK(tt_rt_mode_set(rt, TT_RT_STRICT));
  rt_drop(&x);
  rt_drop(&y);
}

static tt_error *divide(tt_rt *rt, const rt_tensor *x, const rt_tensor *y, rt_tensor *out) {
  tt_rt_arg args[] = {rt_arg(x), rt_arg(y)};
  return rt_call(rt, "aten::div.Tensor", args, 2, x, NULL, out);
}

TEST_WITHOUT_TORTURE(rt_debug, the_first_nan_is_named) {
  tt_rt *rt = rt_get();
  rt_tensor zero = {0}, nan = {0}, y = {0};
  float zeros[4] = {0};
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, zeros, 4, &zero));
  REQUIRE_OK(divide(rt, &zero, &zero, &nan));
  REQUIRE_OK(tt_rt_mode_set(rt, TT_RT_DEBUG));
  REQUIRE_OK(divide(rt, &zero, &zero, &y)); /* not asked to look */
  rt_drop(&y);
  tt_rt_check_nans_set(rt, true);
  EXPECT_ERR(divide(rt, &zero, &zero, &y), TT_INTERNAL, "aten::div.Tensor: made the first NaN");
  EXPECT(y.storage == NULL);
  REQUIRE_OK(rt_add(rt, &zero, &nan, 1, NULL, &y)); /* was there before */
  rt_drop(&y);
  REQUIRE_OK(rt_add(rt, &zero, &zero, 1, NULL, &y));
out:
  if (rt != NULL) {
    tt_rt_check_nans_set(rt, false);
    EXPECT_OK(tt_rt_mode_set(rt, TT_RT_STRICT));
  }
  rt_drop(&zero);
  rt_drop(&nan);
  rt_drop(&y);
}

TEST_WITHOUT_TORTURE(rt_debug, deferred_is_refused) {
  tt_rt *rt = rt_get();
  if (rt == NULL)
    goto out;
  EXPECT_ERR(tt_rt_mode_set(rt, TT_RT_DEFERRED), TT_UNIMPLEMENTED, "DEFER_AND_FUSE");
  EXPECT_INT(tt_rt_mode_get(rt), TT_RT_STRICT);
out:;
}

/* ---- dumps ---- */

TEST_WITHOUT_TORTURE(rt_dump, programs_are_written) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, y = {0};
  char folder[] = "/tmp/tt_dump_XXXXXX", path[128] = "";
  tt_bytes text = {0};
  if (rt == NULL)
    goto out;
  REQUIRE(mkdtemp(folder) != NULL);
  REQUIRE_OK(rt_new(rt, TT_F32, 3, (int64_t[]){1, 4, 1}, numbers, &x));
  REQUIRE_OK(tt_rt_dump_set(rt, folder));
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  snprintf(path, sizeof path, "%s/000000.add.Tensor.mlir", folder);
  REQUIRE_OK(tt_file_read(path, &text));
  EXPECT(text.size > 0 && memchr(text.data, '@', text.size) != NULL);
out:
  if (rt != NULL)
    EXPECT_OK(tt_rt_dump_set(rt, NULL));
  unlink(path);
  rmdir(folder);
  tt_bytes_free(&text);
  rt_drop(&x);
  rt_drop(&y);
}
