#include <stdlib.h>
#include <string.h>

#include "rt_test.h"
#include "runtime/internal.h"

TEST_WITHOUT_TORTURE(rt_storage, round_trip) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0};
  float data[6] = {1, 2, 3, 4, 5, 6}, got[6] = {0};
  int64_t dims[9] = {1, 1, 1, 1, 1, 1, 1, 2, 3};
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_new(rt, TT_F32, 2, (int64_t[]){2, 3}, data, &x));
  EXPECT_INT(tt_rt_storage_size(x.storage), 24);
  EXPECT(tt_rt_storage_device(x.storage) == tt_rt_device_at(rt, 0));
  REQUIRE_OK(tt_rt_storage_await(x.storage));
  EXPECT(tt_rt_storage_ready(x.storage));
  REQUIRE_OK(rt_read(&x, got));
  EXPECT_BYTES(got, data, sizeof data);
  EXPECT_ERR(tt_rt_storage_download(x.storage, got, 20), TT_INVALID_ARGUMENT,
             "20 bytes asked of a storage of 24");
  EXPECT_ERR(tt_rt_storage_upload(x.storage, TT_F32, dims, 8, data), TT_INVALID_ARGUMENT,
             "does not fill");
  /* more dims than a buffer has here: kept flat */
  REQUIRE_OK(tt_rt_storage_upload(x.storage, TT_F32, dims, 9, data));
  REQUIRE_OK(rt_read(&x, got));
  EXPECT_BYTES(got, data, sizeof data);
out:
  rt_drop(&x);
}

TEST_WITHOUT_TORTURE(rt_storage, sizes_are_checked) {
  tt_rt *rt = rt_get();
  tt_rt_storage *s = NULL;
  if (rt == NULL)
    goto out;
  EXPECT_ERR(tt_rt_storage_new(tt_rt_device_at(rt, 0), -1, &s), TT_INVALID_ARGUMENT, "-1 bytes");
  EXPECT(s == NULL);
  REQUIRE_OK(tt_rt_storage_new(tt_rt_device_at(rt, 0), 0, &s));
  EXPECT_OK(tt_rt_storage_download(s, NULL, 0));
  EXPECT_ERR(tt_rt_storage_resize(s, -5), TT_INVALID_ARGUMENT, "-5 bytes");
  EXPECT_INT(tt_rt_storage_size(s), 0);
out:
  tt_rt_storage_release(s);
}

TEST_WITHOUT_TORTURE(rt_storage, resize_keeps_the_first_bytes) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, y = {0}, z = {0};
  float data[4] = {1, 2, 3, 4}, got[6];
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, data, 4, &x));
  REQUIRE_OK(tt_rt_storage_resize(x.storage, 24));
  REQUIRE_OK(rt_read(&x, got));
  EXPECT_BYTES(got, data, sizeof data);
  x.sizes[0] = 6; /* an op that reads past the old end, and one that writes there */
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  REQUIRE_OK(rt_read(&y, got));
  for (int i = 0; i < 4; i++)
    EXPECT_DOUBLE(got[i], 2 * data[i], 0);
  z = x;
  z.sizes[0] = 2;
  z.offset = 4;
  REQUIRE_OK(rt_add(rt, &z, &z, 1, &z, NULL));
  REQUIRE_OK(rt_read(&x, got));
  EXPECT_BYTES(got, data, sizeof data);
  REQUIRE_OK(tt_rt_storage_resize(x.storage, 8));
  REQUIRE_OK(rt_read(&x, got));
  EXPECT_BYTES(got, data, 8);
  x.sizes[0] = 2;
  rt_drop(&y);
  REQUIRE_OK(rt_add(rt, &x, &x, 1, &x, NULL)); /* covers it */
  REQUIRE_OK(rt_read(&x, got));
  EXPECT_BYTES(got, ((float[]){2, 4}), 8);
  REQUIRE_OK(tt_rt_storage_resize(x.storage, 0));
  REQUIRE_OK(tt_rt_storage_resize(x.storage, 8));
  REQUIRE_OK(rt_read(&x, got));
out:
  rt_drop(&x);
  rt_drop(&y);
}

TEST_WITHOUT_TORTURE(rt_storage, copies_are_independent) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, y = {0};
  float data[2] = {1, 2}, got[2];
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, data, 2, &x));
  y = x;
  y.storage = NULL;
  REQUIRE_OK(
      tt_rt_storage_copy(x.storage, tt_rt_device_at(rt, tt_rt_device_count(rt) - 1), &y.storage));
  REQUIRE_OK(rt_add(rt, &x, &x, 1, &x, NULL));
  REQUIRE_OK(rt_read(&y, got));
  EXPECT_BYTES(got, data, sizeof data);
  REQUIRE_OK(rt_read(&x, got));
  EXPECT_DOUBLE(got[1], 4, 0);
out:
  rt_drop(&x);
  rt_drop(&y);
}

TEST_WITHOUT_TORTURE(rt_storage, memory_is_counted) {
  tt_rt *rt = rt_get();
  static const float ones[1000] = {1};
  rt_tensor x = {0}, y = {0};
  tt_rt_device *device;
  tt_rt_memory before, with, after;
  if (rt == NULL)
    goto out;
  device = tt_rt_device_at(rt, 0);
  tt_rt_memory_get(device, &before);
  tt_rt_memory_reset_peak(device);
  REQUIRE_OK(rt_new(rt, TT_F32, 1, &(int64_t){1000}, NULL, &x));
  tt_rt_memory_get(device, &with); /* no memory yet */
  EXPECT_INT(with.allocated, before.allocated);
  EXPECT_INT(with.storages, before.storages);
  EXPECT_INT(with.peak, before.allocated);
  REQUIRE_OK(tt_rt_storage_upload(x.storage, TT_F32, &(int64_t){1000}, 1, ones));
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  tt_rt_memory_get(device, &with);
  EXPECT_INT(with.allocated - before.allocated, 8000);
  EXPECT_INT(with.storages - before.storages, 2);
  REQUIRE_OK(tt_rt_storage_resize(x.storage, 400));
  tt_rt_memory_get(device, &with);
  EXPECT_INT(with.allocated - before.allocated, 4400);
  rt_drop(&x);
  rt_drop(&y);
  tt_rt_memory_get(device, &after);
  EXPECT_INT(after.allocated, before.allocated);
  EXPECT_INT(after.storages, before.storages);
  EXPECT_INT(after.peak - before.allocated, 8000);
out:
  rt_drop(&x);
  rt_drop(&y);
}

/* ---- donation ---- */

static uintptr_t address_of(tt_rt *rt, const rt_tensor *t) {
  uintptr_t address = 0;
  EXPECT_OK(tt_rt_storage_await(t->storage));
  EXPECT_OK(tt_pj_buffer_address(rt->plugin, t->storage->buffer, &address));
  return address;
}

TEST_WITHOUT_TORTURE(rt_donate, in_place_writes_where_the_content_was) {
  tt_rt *rt = rt_get();
  enum { N = 4096 };
  static float data[N], got[N];
  rt_tensor x = {0}, y = {0}, part;
  uintptr_t place;
  tt_rt_memory before, after;
  if (rt == NULL)
    goto out;
  for (int i = 0; i < N; i++)
    data[i] = (float)i;
  REQUIRE_OK(rt_vector(rt, data, N, &y));
  REQUIRE_OK(rt_add(rt, &y, &y, 1, NULL, &x)); /* a buffer of the device's own */
  place = address_of(rt, &x);
  tt_rt_memory_get(tt_rt_device_at(rt, 0), &before);
  for (int i = 0; i < 3; i++)
    REQUIRE_OK(rt_add(rt, &x, &y, 1, &x, NULL));
  EXPECT(address_of(rt, &x) == place);
  part = x; /* a slice */
  part.sizes[0] = 10;
  part.offset = 100;
  REQUIRE_OK(rt_add(rt, &part, &part, 1, &part, NULL));
  EXPECT(address_of(rt, &x) == place);
  tt_rt_memory_get(tt_rt_device_at(rt, 0), &after);
  EXPECT_INT(after.allocated, before.allocated);
  REQUIRE_OK(rt_read(&x, got));
  for (int i = 0; i < N; i++)
    if (!EXPECT_DOUBLE(got[i], (i >= 100 && i < 110 ? 10 : 5) * data[i], 0))
      break;
out:
  rt_drop(&x);
  rt_drop(&y);
}

/* x += x.t(): what is read is the content before the write, though the buffer is given away. */
TEST_WITHOUT_TORTURE(rt_donate, a_donated_operand_is_read_first) {
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, turned;
  float data[4] = {1, 2, 3, 4}, got[4];
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_new(rt, TT_F32, 2, (int64_t[]){2, 2}, data, &x));
  turned = x;
  turned.strides[0] = 1;
  turned.strides[1] = 2;
  REQUIRE_OK(rt_add(rt, &x, &turned, 1, &x, NULL));
  REQUIRE_OK(rt_read(&x, got));
  EXPECT_BYTES(got, ((float[]){2, 5, 5, 8}), sizeof got);
out:
  rt_drop(&x);
}

/* ---- random numbers ---- */

static tt_error *draw(tt_rt *rt, tt_rt_rng *rng, int64_t count, float *out) {
  rt_tensor like = {.dtype = TT_F32, .rank = 1, .sizes = {count}, .strides = {1}}, y = {0};
  tt_rt_arg size = rt_fixed_int(count);
  tt_rt_arg args[] = {{.kind = TT_RT_LIST, .count = 1, .items = &size}, {0}, {0}, {0}, {0}};
  tt_error *err = rt_call_random(rt, "aten::rand", args, 5, &like, rng, &y);
  if (err == NULL)
    err = rt_read(&y, out);
  rt_drop(&y);
  return err;
}

TEST_WITHOUT_TORTURE(rt_random, seed_and_offset_decide) {
  tt_rt *rt = rt_get();
  tt_rt_rng rng = {42, 0};
  float a[10], b[10], c[10], d[10];
  if (rt == NULL)
    goto out;
  REQUIRE_OK(draw(rt, &rng, 10, a));
  EXPECT_INT(rng.offset, 3); /* 10 numbers of 32 bits, in blocks of 128 */
  REQUIRE_OK(draw(rt, &rng, 10, b));
  EXPECT_INT(rng.offset, 6);
  EXPECT(memcmp(a, b, sizeof a) != 0);
  rng.offset = 0;
  REQUIRE_OK(draw(rt, &rng, 10, c));
  EXPECT_BYTES(c, a, sizeof a);
  rng = (tt_rt_rng){43, 0};
  REQUIRE_OK(draw(rt, &rng, 10, d));
  EXPECT(memcmp(a, d, sizeof a) != 0);
  for (int i = 0; i < 10; i++)
    EXPECT(a[i] >= 0 && a[i] < 1);
out:;
}

TEST_WITHOUT_TORTURE(rt_random, without_a_generator_is_an_error) {
  tt_rt *rt = rt_get();
  float a[4];
  if (rt == NULL)
    goto out;
  EXPECT_ERR(draw(rt, NULL, 4, a), TT_INTERNAL, "without a generator");
out:;
}

/* ---- waiting ---- */

/* More of them than the runtime first has room for. */
TEST_WITHOUT_TORTURE(rt_synchronize, waits_for_results_that_are_gone) {
  enum { COUNT = 1 << 20, TIMES = 100 };
  tt_rt *rt = rt_get();
  rt_tensor x = {0}, y = {0}, z = {0};
  float *ones = calloc(COUNT, sizeof *ones);
  if (rt == NULL || ones == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, ones, COUNT, &x));
  REQUIRE_OK(rt_add(rt, &x, &x, 1, NULL, &y));
  REQUIRE_OK(tt_rt_synchronize(tt_rt_device_at(rt, 0)));
  EXPECT(tt_rt_idle(tt_rt_device_at(rt, 0)));
  for (int i = 0; i < TIMES; i++) {
    REQUIRE_OK(rt_add(rt, &y, &x, 1, NULL, &z));
    rt_drop(&y);
    y = z;
    z = (rt_tensor){0};
  }
  rt_drop(&y);
  EXPECT(!tt_rt_idle(tt_rt_device_at(rt, 0)));
  REQUIRE_OK(tt_rt_synchronize(tt_rt_device_at(rt, 0)));
  EXPECT(tt_rt_idle(tt_rt_device_at(rt, 0)));
out:
  free(ones);
  rt_drop(&x);
  rt_drop(&y);
  rt_drop(&z);
}
