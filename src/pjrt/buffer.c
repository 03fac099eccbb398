#include "pjrt/buffer.h"

#include <assert.h>
#include <string.h>

#include "pjrt/internal.h"

/* ---- host to device ---- */

static const PJRT_HostBufferSemantics semantics_of[] = {
    [TT_PJ_HOST_COPY] = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
    [TT_PJ_HOST_UNTIL_TRANSFERRED] = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
    [TT_PJ_HOST_ZERO_COPY] = PJRT_HostBufferSemantics_kImmutableZeroCopy,
    [TT_PJ_HOST_ZERO_COPY_MUTABLE] = PJRT_HostBufferSemantics_kMutableZeroCopy,
};

tt_error *tt_pj_buffer_from_host(const tt_pj_client *client, tt_pj_device *device,
                                 tt_pj_memory *memory, const tt_pj_host_array *array,
                                 tt_pj_host_semantics semantics, tt_pj_buffer **out_buffer,
                                 tt_pj_event **out_done) {
  assert(out_done != NULL || semantics == TT_PJ_HOST_COPY);
  *out_buffer = NULL;
  if (out_done != NULL)
    *out_done = NULL;
  PJRT_Buffer_Type type = PJRT_Buffer_Type_INVALID;
  TT_RETURN_IF_ERROR(tt_pj_type_of(array->dtype, &type));
  PJRT_Client_BufferFromHostBuffer_Args args = {
      TT_PJ_SIZE(PJRT_Client_BufferFromHostBuffer_Args),
      .client = client->raw,
      .data = array->data,
      .type = type,
      .dims = array->dims,
      .num_dims = array->rank,
      .byte_strides = array->byte_strides,
      .num_byte_strides = array->byte_strides == NULL ? 0 : array->rank,
      .host_buffer_semantics = semantics_of[semantics],
      .device = device,
      .memory = memory,
  };
  TT_RETURN_IF_ERROR(TT_PJ_CALL(client->plugin, PJRT_Client_BufferFromHostBuffer, &args));
  *out_buffer = args.buffer;
  if (out_done != NULL)
    *out_done = args.done_with_host_buffer;
  else
    tt_pj_event_free(client->plugin, args.done_with_host_buffer);
  return NULL;
}

tt_error *tt_pj_buffer_uninitialized(const tt_pj_client *client, tt_pj_device *device,
                                     tt_dtype dtype, const int64_t *dims, size_t rank,
                                     tt_pj_buffer **out_buffer) {
  *out_buffer = NULL;
  PJRT_Buffer_Type type = PJRT_Buffer_Type_INVALID;
  TT_RETURN_IF_ERROR(tt_pj_type_of(dtype, &type));
  PJRT_Client_CreateUninitializedBuffer_Args args = {
      TT_PJ_SIZE(PJRT_Client_CreateUninitializedBuffer_Args),
      .client = client->raw,
      .shape_dims = dims,
      .shape_num_dims = rank,
      .shape_element_type = type,
      .device = device,
  };
  TT_RETURN_IF_ERROR(TT_PJ_CALL(client->plugin, PJRT_Client_CreateUninitializedBuffer, &args));
  *out_buffer = args.buffer;
  return NULL;
}

/* PJRT lets the callback be NULL, but XLA's own plugin throws std::bad_function_call then. */
static void release_nothing(void *pointer, void *user) {
  (void)pointer;
  (void)user;
}

tt_error *tt_pj_buffer_view(const tt_pj_client *client, tt_pj_device *device, void *pointer,
                            tt_dtype dtype, const int64_t *dims, size_t rank,
                            void (*release)(void *pointer, void *user), void *user,
                            tt_pj_buffer **out_buffer) {
  *out_buffer = NULL;
  PJRT_Buffer_Type type = PJRT_Buffer_Type_INVALID;
  TT_RETURN_IF_ERROR(tt_pj_type_of(dtype, &type));
  PJRT_Client_CreateViewOfDeviceBuffer_Args args = {
      TT_PJ_SIZE(PJRT_Client_CreateViewOfDeviceBuffer_Args),
      .client = client->raw,
      .device_buffer_ptr = pointer,
      .dims = dims,
      .num_dims = rank,
      .element_type = type,
      .device = device,
      .on_delete_callback = release == NULL ? release_nothing : release,
      .on_delete_callback_arg = user,
  };
  TT_RETURN_IF_ERROR(TT_PJ_CALL(client->plugin, PJRT_Client_CreateViewOfDeviceBuffer, &args));
  *out_buffer = args.buffer;
  return NULL;
}

/* ---- device to host ---- */

#define MAX_RANK 32

/* minor_to_major of a row-major array of rank r is the last r of these. */
static const int64_t descending[MAX_RANK] = {31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21,
                                             20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10,
                                             9,  8,  7,  6,  5,  4,  3,  2,  1,  0};

/* Where the buffer already lies in host memory, dense and row-major, with as many bytes as an array
 * on the host. */
static bool is_plain_host_memory(const tt_pj_plugin *plugin, tt_pj_buffer *buffer, size_t rank,
                                 size_t dst_size) {
  tt_dtype dtype = TT_PRED;
  int64_t size = 0;
  PJRT_Buffer_GetMemoryLayout_Args args = {TT_PJ_SIZE(PJRT_Buffer_GetMemoryLayout_Args),
                                           .buffer = buffer};
  if (!tt_pj_buffer_is_on_cpu(plugin, buffer) ||
      !tt_pj_ok_take(tt_pj_buffer_dtype(plugin, buffer, &dtype)) ||
      (tt_dtypes[dtype].bits < 8 && dtype != TT_PRED) ||
      !tt_pj_ok_take(tt_pj_buffer_size(plugin, buffer, &size)) || size != (int64_t)dst_size ||
      !tt_pj_ok_take(TT_PJ_CALL(plugin, PJRT_Buffer_GetMemoryLayout, &args)))
    return false;
  const PJRT_Buffer_MemoryLayout_Tiled *tiled = &args.layout.tiled;
  return args.layout.type == PJRT_Buffer_MemoryLayout_Type_Tiled && tiled->num_tiles == 0 &&
         tiled->minor_to_major_size == rank &&
         (rank == 0 ||
          memcmp(tiled->minor_to_major, descending + MAX_RANK - rank, rank * sizeof(int64_t)) == 0);
}

static bool is_ready(const tt_pj_plugin *plugin, tt_pj_buffer *buffer) {
  tt_pj_event *event = NULL;
  if (!tt_pj_ok_take(tt_pj_buffer_ready(plugin, buffer, &event)))
    return false;
  bool ready = tt_pj_event_is_ready(plugin, event);
  tt_pj_event_free(plugin, event);
  return ready;
}

static tt_error *copy_host_memory(const tt_pj_plugin *plugin, tt_pj_buffer *buffer, void *dst,
                                  size_t dst_size) {
  void *data = NULL;
  TT_RETURN_IF_ERROR(tt_pj_buffer_await(plugin, buffer));
  TT_RETURN_IF_ERROR(tt_pj_buffer_pin(plugin, buffer, &data));
  if (dst_size != 0)
    memcpy(dst, data, dst_size);
  tt_pj_buffer_unpin(plugin, buffer);
  return NULL;
}

tt_error *tt_pj_buffer_to_host(const tt_pj_plugin *plugin, tt_pj_buffer *buffer, void *dst,
                               size_t dst_size, tt_pj_event **out_event) {
  const int64_t *dims = NULL;
  size_t rank = 0;
  if (out_event != NULL)
    *out_event = NULL;
  TT_RETURN_IF_ERROR(tt_pj_buffer_dims(plugin, buffer, &dims, &rank));
  if (rank > MAX_RANK)
    return tt_error_new(TT_UNIMPLEMENTED, "PJRT_Buffer_ToHostBuffer: rank %zu is above %d", rank,
                        MAX_RANK);
  /* Read in place: XLA:CPU's ToHostBuffer hops to another thread, 26 us for a scalar instead of 1.
   */
  if (is_plain_host_memory(plugin, buffer, rank, dst_size) &&
      (out_event == NULL || is_ready(plugin, buffer)))
    return copy_host_memory(plugin, buffer, dst, dst_size);
  /* Without a layout the plugin would copy in its own, which on a TPU need not be row-major. */
  PJRT_Buffer_MemoryLayout layout = {
      TT_PJ_SIZE(PJRT_Buffer_MemoryLayout),
      .tiled = {TT_PJ_SIZE(PJRT_Buffer_MemoryLayout_Tiled),
                .minor_to_major = descending + MAX_RANK - rank, .minor_to_major_size = rank},
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
  };
  PJRT_Buffer_ToHostBuffer_Args args = {TT_PJ_SIZE(PJRT_Buffer_ToHostBuffer_Args), .src = buffer,
                                        .host_layout = &layout, .dst = dst, .dst_size = dst_size};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Buffer_ToHostBuffer, &args));
  if (out_event == NULL)
    return tt_pj_event_await_take(plugin, args.event);
  *out_event = args.event;
  return NULL;
}

tt_error *tt_pj_buffer_pin(const tt_pj_plugin *plugin, tt_pj_buffer *buffer, void **out_pointer) {
  *out_pointer = NULL;
  PJRT_Buffer_IncreaseExternalReferenceCount_Args pin = {
      TT_PJ_SIZE(PJRT_Buffer_IncreaseExternalReferenceCount_Args), .buffer = buffer};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Buffer_IncreaseExternalReferenceCount, &pin));
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args get = {
      TT_PJ_SIZE(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args), .buffer = buffer};
  tt_error *err = TT_PJ_CALL(plugin, PJRT_Buffer_OpaqueDeviceMemoryDataPointer, &get);
  if (err != NULL)
    tt_pj_buffer_unpin(plugin, buffer);
  else
    *out_pointer = get.device_memory_ptr;
  return err;
}

void tt_pj_buffer_unpin(const tt_pj_plugin *plugin, tt_pj_buffer *buffer) {
  PJRT_Buffer_DecreaseExternalReferenceCount_Args args = {
      TT_PJ_SIZE(PJRT_Buffer_DecreaseExternalReferenceCount_Args), .buffer = buffer};
  tt_error_free(TT_PJ_CALL(plugin, PJRT_Buffer_DecreaseExternalReferenceCount, &args));
}

bool tt_pj_buffer_is_on_cpu(const tt_pj_plugin *plugin, tt_pj_buffer *buffer) {
  PJRT_Buffer_IsOnCpu_Args args = {TT_PJ_SIZE(PJRT_Buffer_IsOnCpu_Args), .buffer = buffer};
  return tt_pj_ok_take(TT_PJ_CALL(plugin, PJRT_Buffer_IsOnCpu, &args)) && args.is_on_cpu;
}

tt_error *tt_pj_buffer_address(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                               uintptr_t *out_address) {
  *out_address = 0;
  PJRT_Buffer_UnsafePointer_Args args = {TT_PJ_SIZE(PJRT_Buffer_UnsafePointer_Args),
                                         .buffer = buffer};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Buffer_UnsafePointer, &args));
  *out_address = args.buffer_pointer;
  return NULL;
}

/* ---- device to device ---- */

tt_error *tt_pj_buffer_copy_to_device(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                      tt_pj_device *device, tt_pj_buffer **out_buffer) {
  *out_buffer = NULL;
  PJRT_Buffer_CopyToDevice_Args args = {TT_PJ_SIZE(PJRT_Buffer_CopyToDevice_Args), .buffer = buffer,
                                        .dst_device = device};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Buffer_CopyToDevice, &args));
  *out_buffer = args.dst_buffer;
  return NULL;
}

tt_error *tt_pj_buffer_copy_to_memory(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                      tt_pj_memory *memory, tt_pj_buffer **out_buffer) {
  *out_buffer = NULL;
  PJRT_Buffer_CopyToMemory_Args args = {TT_PJ_SIZE(PJRT_Buffer_CopyToMemory_Args), .buffer = buffer,
                                        .dst_memory = memory};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Buffer_CopyToMemory, &args));
  *out_buffer = args.dst_buffer;
  return NULL;
}

/* ---- what it is ---- */

tt_error *tt_pj_buffer_dtype(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                             tt_dtype *out_dtype) {
  PJRT_Buffer_ElementType_Args args = {TT_PJ_SIZE(PJRT_Buffer_ElementType_Args), .buffer = buffer};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Buffer_ElementType, &args));
  return tt_pj_dtype_of(args.type, out_dtype);
}

tt_error *tt_pj_buffer_dims(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                            const int64_t **out_dims, size_t *out_rank) {
  *out_dims = NULL;
  *out_rank = 0;
  PJRT_Buffer_Dimensions_Args args = {TT_PJ_SIZE(PJRT_Buffer_Dimensions_Args), .buffer = buffer};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Buffer_Dimensions, &args));
  *out_dims = args.dims;
  *out_rank = args.num_dims;
  return NULL;
}

tt_error *tt_pj_buffer_size(const tt_pj_plugin *plugin, tt_pj_buffer *buffer, int64_t *out_size) {
  *out_size = 0;
  PJRT_Buffer_OnDeviceSizeInBytes_Args args = {TT_PJ_SIZE(PJRT_Buffer_OnDeviceSizeInBytes_Args),
                                               .buffer = buffer};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Buffer_OnDeviceSizeInBytes, &args));
  *out_size = (int64_t)args.on_device_size_in_bytes;
  return NULL;
}

tt_error *tt_pj_buffer_device(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                              tt_pj_device **out_device) {
  *out_device = NULL;
  PJRT_Buffer_Device_Args args = {TT_PJ_SIZE(PJRT_Buffer_Device_Args), .buffer = buffer};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Buffer_Device, &args));
  *out_device = args.device;
  return NULL;
}

tt_error *tt_pj_buffer_memory(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                              tt_pj_memory **out_memory) {
  *out_memory = NULL;
  PJRT_Buffer_Memory_Args args = {TT_PJ_SIZE(PJRT_Buffer_Memory_Args), .buffer = buffer};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Buffer_Memory, &args));
  *out_memory = args.memory;
  return NULL;
}

tt_error *tt_pj_buffer_ready(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                             tt_pj_event **out_event) {
  *out_event = NULL;
  PJRT_Buffer_ReadyEvent_Args args = {TT_PJ_SIZE(PJRT_Buffer_ReadyEvent_Args), .buffer = buffer};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Buffer_ReadyEvent, &args));
  *out_event = args.event;
  return NULL;
}

tt_error *tt_pj_buffer_await(const tt_pj_plugin *plugin, tt_pj_buffer *buffer) {
  tt_pj_event *event = NULL;
  TT_RETURN_IF_ERROR(tt_pj_buffer_ready(plugin, buffer, &event));
  return tt_pj_event_await_take(plugin, event);
}

bool tt_pj_buffer_is_deleted(const tt_pj_plugin *plugin, tt_pj_buffer *buffer) {
  PJRT_Buffer_IsDeleted_Args args = {TT_PJ_SIZE(PJRT_Buffer_IsDeleted_Args), .buffer = buffer};
  return tt_pj_ok_take(TT_PJ_CALL(plugin, PJRT_Buffer_IsDeleted, &args)) && args.is_deleted;
}

tt_error *tt_pj_buffer_delete(const tt_pj_plugin *plugin, tt_pj_buffer *buffer) {
  PJRT_Buffer_Delete_Args args = {TT_PJ_SIZE(PJRT_Buffer_Delete_Args), .buffer = buffer};
  return TT_PJ_CALL(plugin, PJRT_Buffer_Delete, &args);
}

void tt_pj_buffer_free(const tt_pj_plugin *plugin, tt_pj_buffer *buffer) {
  if (buffer == NULL)
    return;
  PJRT_Buffer_Destroy_Args args = {TT_PJ_SIZE(PJRT_Buffer_Destroy_Args), .buffer = buffer};
  tt_error_free(TT_PJ_CALL(plugin, PJRT_Buffer_Destroy, &args));
}
