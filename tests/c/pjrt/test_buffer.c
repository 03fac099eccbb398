#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pj_test.h"
#include "test.h"

TEST_WITHOUT_TORTURE(pj_buffer, every_dtype_comes_back_as_it_went) {
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  static const int64_t dims[] = {2, 3};
  unsigned char data[6 * 16], back[6 * 16];
  tt_pj_buffer *buffer = NULL;
  for (int dtype = 0; dtype < TT_DTYPE_COUNT; dtype++) {
    size_t size = 6 * (size_t)tt_dtype_bytes((tt_dtype)dtype);
    tt_dtype got_dtype = TT_DTYPE_COUNT;
    const int64_t *got_dims = NULL;
    size_t rank = 0;
    for (size_t i = 0; i < size; i++)
      data[i] = (unsigned char)(i % 2); /* a value of every type, 1-bit and 4-bit ones included */
    tt_pj_host_array array = {data, (tt_dtype)dtype, dims, 2, NULL};
    tt_error *err = tt_pj_buffer_from_host(client, pj_device(client), NULL, &array, TT_PJ_HOST_COPY,
                                           &buffer, NULL);
    if (tt_error_code(err) == TT_UNIMPLEMENTED || tt_error_code(err) == TT_INVALID_ARGUMENT) {
      tt_error_free(err); /* a type that this plugin does not have */
      continue;
    }
    REQUIRE_OK(err);
    REQUIRE_OK(tt_pj_buffer_dtype(plugin, buffer, &got_dtype));
    EXPECT_INT(got_dtype, dtype);
    REQUIRE_OK(tt_pj_buffer_dims(plugin, buffer, &got_dims, &rank));
    EXPECT_INT(rank, 2);
    EXPECT_BYTES(got_dims, dims, sizeof dims);
    memset(back, 0xee, sizeof back);
    REQUIRE_OK(tt_pj_buffer_to_host(plugin, buffer, back, size, NULL));
    if (!EXPECT_BYTES(back, data, size))
      EXPECT_STR(tt_dtype_name((tt_dtype)dtype), "right");
    tt_pj_buffer_free(plugin, buffer);
    buffer = NULL;
  }
out:
  tt_pj_buffer_free(plugin, buffer);
}

TEST_WITHOUT_TORTURE(pj_buffer, scalars_and_empty_arrays) {
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  float value = 3.5f, back = 0;
  int64_t zero[] = {3, 0};
  tt_pj_host_array scalar = {&value, TT_F32, NULL, 0, NULL},
                   empty = {&value, TT_F32, zero, 2, NULL};
  tt_pj_buffer *a = NULL, *b = NULL;
  REQUIRE_OK(
      tt_pj_buffer_from_host(client, pj_device(client), NULL, &scalar, TT_PJ_HOST_COPY, &a, NULL));
  REQUIRE_OK(tt_pj_buffer_to_host(plugin, a, &back, sizeof back, NULL));
  EXPECT_DOUBLE(back, 3.5, 0);
  REQUIRE_OK(
      tt_pj_buffer_from_host(client, pj_device(client), NULL, &empty, TT_PJ_HOST_COPY, &b, NULL));
  REQUIRE_OK(tt_pj_buffer_to_host(plugin, b, &back, 0, NULL));
out:
  tt_pj_buffer_free(plugin, a);
  tt_pj_buffer_free(plugin, b);
}

TEST_WITHOUT_TORTURE(pj_buffer, byte_strides_transpose) {
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  static const float data[] = {1, 2, 3, 4, 5, 6}, want[] = {1, 4, 2, 5, 3, 6};
  static const int64_t dims[] = {3, 2}, strides[] = {4, 12};
  float back[6] = {0};
  tt_pj_host_array array = {data, TT_F32, dims, 2, strides};
  tt_pj_buffer *buffer = NULL;
  REQUIRE_OK(tt_pj_buffer_from_host(client, pj_device(client), NULL, &array, TT_PJ_HOST_COPY,
                                    &buffer, NULL));
  REQUIRE_OK(tt_pj_buffer_to_host(plugin, buffer, back, sizeof back, NULL));
  EXPECT_BYTES(back, want, sizeof want);
out:
  tt_pj_buffer_free(plugin, buffer);
}

TEST_WITHOUT_TORTURE(pj_buffer, asynchronous_read_and_wrong_size) {
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  static const float data[] = {1, 2, 3, 4};
  float back[4] = {0};
  tt_pj_buffer *buffer = NULL;
  tt_pj_event *event = NULL;
  REQUIRE_OK(pj_vector(client, data, 4, &buffer));
  REQUIRE_OK(tt_pj_buffer_to_host(plugin, buffer, back, sizeof back, &event));
  if (event != NULL) {
    EXPECT_OK(tt_pj_event_await(plugin, event));
    EXPECT(tt_pj_event_is_ready(plugin, event));
  }
  EXPECT_BYTES(back, data, sizeof data);
  EXPECT_ERR(tt_pj_buffer_to_host(plugin, buffer, back, 8, NULL), TT_INVALID_ARGUMENT,
             "PJRT_Buffer_ToHostBuffer");
out:
  tt_pj_event_free(plugin, event);
  tt_pj_buffer_free(plugin, buffer);
}

/* ---- zero copy ---- */

typedef struct released {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int count;    /* locked by `lock` */
  tt_code code; /* locked by `lock` */
} released;

static void note_release(tt_error *err, void *user) {
  released *state = user;
  pthread_mutex_lock(&state->lock);
  state->count++;
  state->code = tt_error_code(err);
  pthread_cond_signal(&state->changed);
  pthread_mutex_unlock(&state->lock);
  tt_error_free(err);
}

/* The count after at most five seconds. */
static int await_release(released *state) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 5;
  pthread_mutex_lock(&state->lock);
  while (state->count == 0 && pthread_cond_timedwait(&state->changed, &state->lock, &until) == 0)
    continue;
  int count = state->count;
  pthread_mutex_unlock(&state->lock);
  return count;
}

TEST_WITHOUT_TORTURE(pj_buffer, zero_copy_is_released_after_free) {
  tt_pj_host_array array;
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  released state = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, TT_OK};
  tt_pj_waiter waiter = {note_release, &state, NULL};
  int64_t count = 16;
  float *data = aligned_alloc(64, 64), back[16] = {0};
  tt_pj_buffer *buffer = NULL;
  tt_pj_event *done = NULL;
  REQUIRE(data != NULL);
  for (int i = 0; i < 16; i++)
    data[i] = (float)i;
  array = (tt_pj_host_array){data, TT_F32, &count, 1, NULL};
  REQUIRE_OK(tt_pj_buffer_from_host(client, pj_device(client), NULL, &array, TT_PJ_HOST_ZERO_COPY,
                                    &buffer, &done));
  REQUIRE_OK(tt_pj_event_on_ready(plugin, done, &waiter));
  tt_pj_event_free(plugin, done); /* the callback still comes */
  REQUIRE_OK(tt_pj_buffer_to_host(plugin, buffer, back, sizeof back, NULL));
  EXPECT_BYTES(back, data, sizeof back);
  tt_pj_buffer_free(plugin, buffer);
  EXPECT_INT(await_release(&state), 1);
  EXPECT_INT(state.code, TT_OK);
out:
  free(data);
}

static void count_release(void *pointer, void *user) {
  (void)pointer;
  ++*(int *)user;
}

TEST_WITHOUT_TORTURE(pj_buffer, view_of_foreign_memory) {
  tt_error *err = NULL;
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  int released_count = 0;
  int64_t count = 16;
  float *data = aligned_alloc(64, 64), back[16] = {0};
  tt_pj_buffer *buffer = NULL;
  REQUIRE(data != NULL);
  for (int i = 0; i < 16; i++)
    data[i] = (float)i;
  err = tt_pj_buffer_view(client, pj_device(client), data, TT_F32, &count, 1, count_release,
                          &released_count, &buffer);
  if (tt_error_code(err) == TT_UNIMPLEMENTED) {
    tt_error_free(err);
    SKIP("the plugin has no views");
  }
  REQUIRE_OK(err);
  REQUIRE_OK(tt_pj_buffer_to_host(plugin, buffer, back, sizeof back, NULL));
  EXPECT_BYTES(back, data, sizeof back);
  tt_pj_buffer_free(plugin, buffer);
  EXPECT_INT(released_count, 1);
  REQUIRE_OK(
      tt_pj_buffer_view(client, pj_device(client), data, TT_F32, &count, 1, NULL, NULL, &buffer));
  tt_pj_buffer_free(plugin, buffer);
out:
  free(data);
}

TEST_WITHOUT_TORTURE(pj_buffer, pinned_memory_is_readable) {
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  static const float data[] = {1, 2, 3, 4};
  void *pointer = NULL;
  uintptr_t address = 0;
  tt_pj_buffer *buffer = NULL;
  REQUIRE_OK(pj_vector(client, data, 4, &buffer));
  if (!tt_pj_buffer_is_on_cpu(plugin, buffer))
    SKIP("the device's memory is not the host's");
  REQUIRE_OK(tt_pj_buffer_await(plugin, buffer));
  REQUIRE_OK(tt_pj_buffer_pin(plugin, buffer, &pointer));
  EXPECT_BYTES(pointer, data, sizeof data);
  REQUIRE_OK(tt_pj_buffer_address(plugin, buffer, &address));
  EXPECT(address == (uintptr_t)pointer);
  tt_pj_buffer_unpin(plugin, buffer);
out:
  tt_pj_buffer_free(plugin, buffer);
}

/* ---- life and whereabouts ---- */

TEST_WITHOUT_TORTURE(pj_buffer, deleted_buffers_say_so) {
  tt_error *err = NULL;
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  static const float data[] = {1, 2, 3, 4};
  float back[4];
  tt_pj_buffer *buffer = NULL;
  REQUIRE_OK(pj_vector(client, data, 4, &buffer));
  EXPECT(!tt_pj_buffer_is_deleted(plugin, buffer));
  REQUIRE_OK(tt_pj_buffer_delete(plugin, buffer));
  EXPECT(tt_pj_buffer_is_deleted(plugin, buffer));
  err = tt_pj_buffer_to_host(plugin, buffer, back, sizeof back, NULL);
  EXPECT_CONTAINS(tt_error_message(err), "deleted");
  tt_error_free(err);
out:
  tt_pj_buffer_free(plugin, buffer);
}

TEST_WITHOUT_TORTURE(pj_buffer, copies_between_devices) {
  const tt_pj_client *client = NULL;
  const tt_pj_plugin *plugin = NULL;
  if (!pj_begin(&client, &plugin))
    return;
  static const float data[] = {1, 2, 3, 4};
  float back[4] = {0};
  size_t count = 0;
  int64_t size = 0;
  tt_pj_device *where = NULL;
  tt_pj_memory *memory = NULL;
  tt_pj_buffer *buffer = NULL, *copy = NULL;
  tt_pj_device *const *devices = tt_pj_client_devices(client, &count);
  REQUIRE_OK(pj_vector(client, data, 4, &buffer));
  REQUIRE_OK(tt_pj_buffer_size(plugin, buffer, &size));
  EXPECT(size >= 16);
  REQUIRE_OK(tt_pj_buffer_device(plugin, buffer, &where));
  EXPECT(where == devices[0]);
  REQUIRE_OK(tt_pj_buffer_memory(plugin, buffer, &memory));
  if (count < 2)
    SKIP("one device only");
  REQUIRE_OK(tt_pj_buffer_copy_to_device(plugin, buffer, devices[1], &copy));
  REQUIRE_OK(tt_pj_buffer_device(plugin, copy, &where));
  EXPECT(where == devices[1]);
  REQUIRE_OK(tt_pj_buffer_to_host(plugin, copy, back, sizeof back, NULL));
  EXPECT_BYTES(back, data, sizeof data);
out:
  tt_pj_buffer_free(plugin, buffer);
  tt_pj_buffer_free(plugin, copy);
}
