/* Arrays in and out, views, donation state, pieces. */
#include <stdlib.h>
#include <string.h>

#include "pjrt_c_api.h"
#include "plugin_test.h"
#include "test.h"

TEST_WITHOUT_TORTURE(cpu_plugin_buffer, every_dtype_comes_back_as_it_went) {
  static const int64_t dims[] = {2, 3};
  unsigned char data[6 * 16], back[6 * 16];
  cpu_setup s;
  tt_pj_buffer *buffer = NULL;
  if (!cpu_set_up(&s, 1))
    goto out;
  for (size_t i = 0; i < sizeof data; i++)
    data[i] = (unsigned char)(i * 7);
  for (int dtype = 0; dtype < TT_DTYPE_COUNT; dtype++) {
    size_t size = 6 * (size_t)tt_dtype_bytes((tt_dtype)dtype);
    tt_dtype got = TT_DTYPE_COUNT;
    int64_t on_device = 0;
    tt_pj_host_array array = {data, (tt_dtype)dtype, dims, 2, NULL};
    tt_error *err = tt_pj_buffer_from_host(s.client, s.devices[0], NULL, &array, TT_PJ_HOST_COPY,
                                           &buffer, NULL);
    if (dtype == TT_F6E2M3FN || dtype == TT_F6E3M2FN) {
      EXPECT_ERR(err, TT_UNIMPLEMENTED, "PJRT has no type for f6E");
      continue;
    }
    REQUIRE_OK(err);
    REQUIRE_OK(tt_pj_buffer_dtype(s.plugin, buffer, &got));
    EXPECT_INT(got, dtype);
    REQUIRE_OK(tt_pj_buffer_size(s.plugin, buffer, &on_device));
    EXPECT_INT(on_device, size);
    REQUIRE_OK(tt_pj_buffer_to_host(s.plugin, buffer, back, size, NULL));
    EXPECT_BYTES(back, data, size);
    tt_pj_buffer_free(s.plugin, buffer);
    buffer = NULL;
  }
out:
  tt_pj_buffer_free(s.plugin, buffer);
  cpu_tear_down(&s);
}

/* What a buffer made of 2 x 3 elements from `data` with these strides holds. */
static void expect_strided(const cpu_setup *s, const int32_t *data, int64_t outer, int64_t inner,
                           const int32_t want[6]) {
  static const int64_t dims[] = {2, 3};
  int64_t strides[] = {outer, inner};
  int32_t got[6] = {0};
  tt_pj_host_array array = {data, TT_S32, dims, 2, strides};
  tt_pj_buffer *buffer = NULL;
  if (EXPECT_OK(tt_pj_buffer_from_host(s->client, s->devices[0], NULL, &array, TT_PJ_HOST_COPY,
                                       &buffer, NULL)) &&
      EXPECT_OK(tt_pj_buffer_to_host(s->plugin, buffer, got, sizeof got, NULL)))
    EXPECT_BYTES(got, want, sizeof got);
  tt_pj_buffer_free(s->plugin, buffer);
}

TEST_WITHOUT_TORTURE(cpu_plugin_buffer, byte_strides_of_any_sign) {
  static const int32_t data[] = {1, 2, 3, 4, 5, 6, 7, 8};
  cpu_setup s;
  if (cpu_set_up(&s, 1)) {
    expect_strided(&s, data, 12, 4, (const int32_t[]){1, 2, 3, 4, 5, 6});
    expect_strided(&s, data, 16, 4, (const int32_t[]){1, 2, 3, 5, 6, 7});
    expect_strided(&s, data, 4, 8, (const int32_t[]){1, 3, 5, 2, 4, 6});
    expect_strided(&s, data + 5, -12, -4, (const int32_t[]){6, 5, 4, 3, 2, 1});
    expect_strided(&s, data, 0, 4, (const int32_t[]){1, 2, 3, 1, 2, 3});
  }
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_buffer, bad_arrays_are_errors) {
  static const float data[4] = {0};
  static const int64_t negative[] = {-1}, large[] = {INT64_MAX, 4};
  cpu_setup s;
  tt_pj_buffer *buffer = NULL;
  tt_pj_host_array array = {data, TT_F32, negative, 1, NULL};
  if (!cpu_set_up(&s, 1))
    goto out;
  EXPECT_ERR(
      tt_pj_buffer_from_host(s.client, s.devices[0], NULL, &array, TT_PJ_HOST_COPY, &buffer, NULL),
      TT_INVALID_ARGUMENT, "negative");
  array = (tt_pj_host_array){data, TT_F32, large, 2, NULL};
  EXPECT_ERR(
      tt_pj_buffer_from_host(s.client, s.devices[0], NULL, &array, TT_PJ_HOST_COPY, &buffer, NULL),
      TT_INVALID_ARGUMENT, "too large");
  array = (tt_pj_host_array){NULL, TT_F32, large + 1, 1, NULL};
  EXPECT_ERR(
      tt_pj_buffer_from_host(s.client, s.devices[0], NULL, &array, TT_PJ_HOST_COPY, &buffer, NULL),
      TT_INVALID_ARGUMENT, "data is NULL");
  EXPECT(buffer == NULL);
out:
  cpu_tear_down(&s);
}

/* ---- memory of the host ---- */

static void count_call(tt_error *err, void *user) {
  tt_error_free(err);
  ++*(int *)user;
}

TEST_WITHOUT_TORTURE(cpu_plugin_buffer, zero_copy_where_aligned_and_dense) {
  cpu_setup s;
  int64_t count = 16;
  int calls = 0;
  float *data = aligned_alloc(64, 128);
  tt_pj_host_array array = {data, TT_F32, &count, 1, NULL};
  tt_pj_waiter waiter = {count_call, &calls, NULL};
  tt_pj_buffer *buffer = NULL;
  tt_pj_event *done = NULL;
  uintptr_t address = 0;
  if (!cpu_set_up(&s, 1) || !EXPECT(data != NULL))
    goto out;
  memset(data, 0, 128);
  REQUIRE_OK(tt_pj_buffer_from_host(s.client, s.devices[0], NULL, &array, TT_PJ_HOST_ZERO_COPY,
                                    &buffer, &done));
  REQUIRE_OK(tt_pj_buffer_address(s.plugin, buffer, &address));
  EXPECT(address == (uintptr_t)data);
  EXPECT(!tt_pj_event_is_ready(s.plugin, done));
  REQUIRE_OK(tt_pj_event_on_ready(s.plugin, done, &waiter));
  EXPECT_INT(calls, 0);
  tt_pj_buffer_free(s.plugin, buffer);
  EXPECT_INT(calls, 1);
  EXPECT(tt_pj_event_is_ready(s.plugin, done));
  tt_pj_event_free(s.plugin, done);
  done = NULL;
  array.data = data + 1; /* not aligned: copied, and done with at once */
  REQUIRE_OK(tt_pj_buffer_from_host(s.client, s.devices[0], NULL, &array, TT_PJ_HOST_ZERO_COPY,
                                    &buffer, &done));
  EXPECT(tt_pj_event_is_ready(s.plugin, done));
  REQUIRE_OK(tt_pj_buffer_address(s.plugin, buffer, &address));
  EXPECT(address != (uintptr_t)(data + 1));
  tt_pj_buffer_free(s.plugin, buffer);
out:
  tt_pj_event_free(s.plugin, done);
  cpu_tear_down(&s);
  free(data);
}

static void count_release(void *pointer, void *user) {
  (void)pointer;
  ++*(int *)user;
}

TEST_WITHOUT_TORTURE(cpu_plugin_buffer, views_release_their_memory_once) {
  cpu_setup s;
  int64_t count = 16;
  int released = 0;
  float *data = aligned_alloc(64, 64);
  tt_pj_buffer *buffer = NULL;
  void *pinned = NULL;
  if (!cpu_set_up(&s, 1) || !EXPECT(data != NULL))
    goto out;
  EXPECT_ERR(
      tt_pj_buffer_view(s.client, s.devices[0], data + 1, TT_F32, &count, 1, NULL, NULL, &buffer),
      TT_INVALID_ARGUMENT, "alignment");
  REQUIRE_OK(tt_pj_buffer_view(s.client, s.devices[0], data, TT_F32, &count, 1, count_release,
                               &released, &buffer));
  REQUIRE_OK(tt_pj_buffer_pin(s.plugin, buffer, &pinned));
  EXPECT(pinned == data);
  REQUIRE_OK(tt_pj_buffer_delete(s.plugin, buffer));
  EXPECT_INT(released, 0); /* pinned */
  tt_pj_buffer_unpin(s.plugin, buffer);
  EXPECT_INT(released, 1);
  tt_pj_buffer_free(s.plugin, buffer);
  EXPECT_INT(released, 1);
out:
  cpu_tear_down(&s);
  free(data);
}

/* ---- life ---- */

TEST_WITHOUT_TORTURE(cpu_plugin_buffer, deleted_buffers_say_so) {
  cpu_setup s;
  float back[4];
  tt_pj_buffer *buffer = NULL;
  tt_pj_event *event = NULL;
  void *pointer = NULL;
  if (!cpu_set_up(&s, 1))
    goto out;
  REQUIRE_OK(cpu_filled(&s, s.devices[0], 4, 1, &buffer));
  EXPECT(!tt_pj_buffer_is_deleted(s.plugin, buffer));
  REQUIRE_OK(tt_pj_buffer_delete(s.plugin, buffer));
  REQUIRE_OK(tt_pj_buffer_delete(s.plugin, buffer));
  EXPECT(tt_pj_buffer_is_deleted(s.plugin, buffer));
  EXPECT_ERR(tt_pj_buffer_to_host(s.plugin, buffer, back, sizeof back, NULL), TT_INVALID_ARGUMENT,
             "deleted");
  EXPECT_ERR(tt_pj_buffer_pin(s.plugin, buffer, &pointer), TT_INVALID_ARGUMENT, "deleted");
  REQUIRE_OK(tt_pj_buffer_ready(s.plugin, buffer, &event));
  EXPECT_ERR(tt_pj_event_await_take(s.plugin, event), TT_INVALID_ARGUMENT, "deleted");
out:
  tt_pj_buffer_free(s.plugin, buffer);
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_buffer, memory_goes_back_when_buffers_go) {
  cpu_setup s;
  tt_pj_memory_stats before, stats;
  tt_pj_buffer *buffer = NULL, *other = NULL;
  static const int64_t dims[] = {1000};
  if (!cpu_set_up(&s, 1))
    goto out;
  REQUIRE_OK(tt_pj_device_memory_stats(s.plugin, s.devices[0], &before));
  REQUIRE_OK(cpu_filled(&s, s.devices[0], 1000, 1, &buffer));
  REQUIRE_OK(tt_pj_buffer_uninitialized(s.client, s.devices[0], TT_F64, dims, 1, &other));
  REQUIRE_OK(tt_pj_device_memory_stats(s.plugin, s.devices[0], &stats));
  EXPECT(stats.in_use >= before.in_use + 12000);
  tt_pj_buffer_free(s.plugin, buffer);
  tt_pj_buffer_free(s.plugin, other);
  buffer = other = NULL;
  REQUIRE_OK(tt_pj_device_memory_stats(s.plugin, s.devices[0], &stats));
  EXPECT_INT(stats.in_use, before.in_use);
out:
  tt_pj_buffer_free(s.plugin, buffer);
  tt_pj_buffer_free(s.plugin, other);
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_buffer, copies_to_devices_and_memories) {
  cpu_setup s;
  tt_pj_buffer *buffer = NULL, *there = NULL, *pinned = NULL;
  tt_pj_memory *const *memories = NULL;
  tt_pj_memory *memory = NULL;
  tt_pj_device *device = NULL;
  size_t count = 0;
  if (!cpu_set_up(&s, 2))
    goto out;
  REQUIRE_OK(cpu_filled(&s, s.devices[0], 5, 3, &buffer));
  REQUIRE_OK(tt_pj_buffer_copy_to_device(s.plugin, buffer, s.devices[1], &there));
  REQUIRE_OK(tt_pj_buffer_device(s.plugin, there, &device));
  EXPECT(device == s.devices[1]);
  REQUIRE_OK(tt_pj_device_memories(s.plugin, s.devices[1], &memories, &count));
  REQUIRE_OK(tt_pj_buffer_copy_to_memory(s.plugin, there, memories[1], &pinned));
  REQUIRE_OK(tt_pj_buffer_memory(s.plugin, pinned, &memory));
  EXPECT(memory == memories[1]);
  cpu_expect_filled(&s, there, 5, 3);
  cpu_expect_filled(&s, pinned, 5, 3);
out:
  tt_pj_buffer_free(s.plugin, buffer);
  tt_pj_buffer_free(s.plugin, there);
  tt_pj_buffer_free(s.plugin, pinned);
  cpu_tear_down(&s);
}

/* ---- what only the table does ---- */

static bool ok(const PJRT_Api *api, PJRT_Error *error) {
  PJRT_Error_Destroy_Args destroy = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                     .error = error};
  api->PJRT_Error_Destroy(&destroy);
  return error == NULL;
}

TEST_WITHOUT_TORTURE(cpu_plugin_buffer, host_layouts) {
  const PJRT_Api *api = cpu_api();
  static const float data[] = {1, 2, 3, 4, 5, 6}, columns[] = {1, 4, 2, 5, 3, 6};
  static const int64_t dims[] = {2, 3}, order[] = {0, 1}, twice[] = {0, 0}, gaps[] = {4, 16};
  float back[12] = {0};
  cpu_setup s;
  tt_pj_host_array array = {data, TT_F32, dims, 2, NULL};
  tt_pj_buffer *buffer = NULL;
  PJRT_Buffer_MemoryLayout layout = {.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
                                     .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
                                     .tiled = {.minor_to_major = order, .minor_to_major_size = 2}};
  PJRT_Buffer_ToHostBuffer_Args args = {.struct_size = PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE,
                                        .host_layout = &layout};
  PJRT_Event_Destroy_Args destroy = {.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE};
  if (!cpu_set_up(&s, 1) || api == NULL)
    goto out;
  REQUIRE_OK(
      tt_pj_buffer_from_host(s.client, s.devices[0], NULL, &array, TT_PJ_HOST_COPY, &buffer, NULL));
  args.src = buffer;
  REQUIRE(ok(api, api->PJRT_Buffer_ToHostBuffer(&args)));
  EXPECT_INT(args.dst_size, 24);
  args.dst = back;
  REQUIRE(ok(api, api->PJRT_Buffer_ToHostBuffer(&args)));
  destroy.event = args.event;
  EXPECT(ok(api, api->PJRT_Event_Destroy(&destroy)));
  EXPECT_BYTES(back, columns, sizeof columns);
  layout.tiled.minor_to_major = twice;
  EXPECT(!ok(api, api->PJRT_Buffer_ToHostBuffer(&args)));
  layout = (PJRT_Buffer_MemoryLayout){.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
                                      .type = PJRT_Buffer_MemoryLayout_Type_Strides,
                                      .strides = {.byte_strides = gaps, .num_byte_strides = 2}};
  EXPECT(!ok(api, api->PJRT_Buffer_ToHostBuffer(&args))); /* 24 bytes are too few */
  args.dst_size = sizeof back;
  REQUIRE(ok(api, api->PJRT_Buffer_ToHostBuffer(&args)));
  destroy.event = args.event;
  EXPECT(ok(api, api->PJRT_Event_Destroy(&destroy)));
  EXPECT_DOUBLE((double)back[0], 1, 0);
  EXPECT_DOUBLE((double)back[1], 4, 0);
  EXPECT_DOUBLE((double)back[4], 2, 0);
  EXPECT_DOUBLE((double)back[9], 6, 0);
out:
  tt_pj_buffer_free(s.plugin, buffer);
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_buffer, raw_bytes) {
  const PJRT_Api *api = cpu_api();
  float back[2] = {0};
  cpu_setup s;
  tt_pj_buffer *buffer = NULL;
  PJRT_Buffer_CopyRawToHost_Args args = {.struct_size = PJRT_Buffer_CopyRawToHost_Args_STRUCT_SIZE,
                                         .dst = back,
                                         .offset = 4,
                                         .transfer_size = 8};
  if (!cpu_set_up(&s, 1) || api == NULL)
    goto out;
  REQUIRE_OK(cpu_filled(&s, s.devices[0], 3, 7, &buffer));
  args.buffer = buffer;
  REQUIRE(ok(api, api->PJRT_Buffer_CopyRawToHost(&args)));
  EXPECT_DOUBLE((double)back[1], 7, 0);
  args.offset = 5;
  EXPECT(!ok(api, api->PJRT_Buffer_CopyRawToHost(&args)));
  args.offset = INT64_MAX;
  EXPECT(!ok(api, api->PJRT_Buffer_CopyRawToHost(&args)));
out:
  tt_pj_buffer_free(s.plugin, buffer);
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_buffer, pieces) {
  const PJRT_Api *api = cpu_api();
  static const int64_t dims[] = {4};
  static const float data[] = {1, 1, 1, 1};
  cpu_setup s;
  PJRT_ShapeSpec specs[2];
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args make = {
      .struct_size = PJRT_Client_CreateBuffersForAsyncHostToDevice_Args_STRUCT_SIZE,
      .shape_specs = specs,
      .num_shape_specs = 2};
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args get = {
      .struct_size = PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args_STRUCT_SIZE};
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args put = {
      .struct_size = PJRT_AsyncHostToDeviceTransferManager_TransferData_Args_STRUCT_SIZE,
      .data = data,
      .transfer_size = 8};
  PJRT_AsyncHostToDeviceTransferManager_Destroy_Args destroy = {
      .struct_size = PJRT_AsyncHostToDeviceTransferManager_Destroy_Args_STRUCT_SIZE};
  PJRT_Client_Create_Args create = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE};
  PJRT_Client_Destroy_Args close = {.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE};
  tt_pj_buffer *first = NULL, *second = NULL;
  tt_pj_event *event = NULL;
  for (int i = 0; i < 2; i++)
    specs[i] = (PJRT_ShapeSpec){.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                                .dims = dims,
                                .num_dims = 1,
                                .element_type = PJRT_Buffer_Type_F32};
  s = (cpu_setup){.plugin = cpu_plugin()};
  if (api == NULL || !EXPECT(ok(api, api->PJRT_Client_Create(&create))))
    goto out;
  make.client = close.client = create.client;
  REQUIRE(ok(api, api->PJRT_Client_CreateBuffersForAsyncHostToDevice(&make)));
  get.transfer_manager = put.transfer_manager = destroy.transfer_manager = make.transfer_manager;
  REQUIRE(ok(api, api->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&get)));
  first = get.buffer_out;
  EXPECT(!ok(api, api->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&get)));
  get.buffer_index = 1;
  REQUIRE(ok(api, api->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&get)));
  second = get.buffer_out;
  REQUIRE(ok(api, api->PJRT_AsyncHostToDeviceTransferManager_TransferData(&put)));
  REQUIRE_OK(tt_pj_buffer_ready(s.plugin, first, &event));
  EXPECT(!tt_pj_event_is_ready(s.plugin, event));
  put.offset = 12;
  EXPECT(!ok(api, api->PJRT_AsyncHostToDeviceTransferManager_TransferData(&put)));
  put.offset = 8;
  put.is_last_transfer = true;
  REQUIRE(ok(api, api->PJRT_AsyncHostToDeviceTransferManager_TransferData(&put)));
  EXPECT(tt_pj_event_is_ready(s.plugin, event));
  tt_pj_event_free(s.plugin, event);
  event = NULL;
  cpu_expect_filled(&s, first, 4, 1);
  REQUIRE_OK(tt_pj_buffer_ready(s.plugin, second, &event));
  EXPECT(ok(api, api->PJRT_AsyncHostToDeviceTransferManager_Destroy(&destroy)));
  EXPECT_ERR(tt_pj_event_await_take(s.plugin, event), TT_CANCELLED, "last piece");
out:
  tt_pj_buffer_free(s.plugin, first);
  tt_pj_buffer_free(s.plugin, second);
  if (close.client != NULL)
    EXPECT(ok(api, api->PJRT_Client_Destroy(&close)));
}
