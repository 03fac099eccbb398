/* async.c: buffers that the client fills piece by piece (AsyncHostToDeviceTransferManager). */
#include <stdlib.h>
#include <string.h>

#include "base/code.h"
#include "cpu/plugin/internal.h"

typedef struct slot {
  PJRT_Buffer *buffer; /* held; the handle is the client's once it was retrieved */
  PJRT_Event *ready;
  bool retrieved, finished;
} slot;

struct PJRT_AsyncHostToDeviceTransferManager {
  PJRT_Device *device;
  pthread_mutex_t lock; /* of the slots' marks */
  size_t count;
  slot slots[];
};

static tt_error *find(PJRT_AsyncHostToDeviceTransferManager *manager, int index, slot **out_slot) {
  if (index < 0 || (size_t)index >= manager->count)
    return tt_error_new(TT_INVALID_ARGUMENT, "buffer %d of a transfer of %zu", index,
                        manager->count);
  *out_slot = &manager->slots[index];
  return NULL;
}

/* True for the one that may finish it. */
static bool claim(PJRT_AsyncHostToDeviceTransferManager *manager, bool *mark) {
  pthread_mutex_lock(&manager->lock);
  bool first = !*mark;
  *mark = true;
  pthread_mutex_unlock(&manager->lock);
  return first;
}

/* The run of a buffer that nobody finished must not wait for ever. */
static void free_manager(PJRT_AsyncHostToDeviceTransferManager *manager) {
  for (size_t i = 0; i < manager->count; i++) {
    slot *s = &manager->slots[i];
    if (s->buffer == NULL)
      continue;
    if (!s->finished)
      tt_cpu_event_complete_take(
          s->ready, tt_error_new(TT_CANCELLED, "the transfer ended before its last piece"));
    tt_cpu_event_release(s->ready);
    tt_cpu_buffer_drop(s->buffer);
    if (!s->retrieved)
      tt_cpu_buffer_free(s->buffer);
  }
  pthread_mutex_destroy(&manager->lock);
  free(manager);
}

static tt_error *make_slot(slot *s, const PJRT_ShapeSpec *spec, PJRT_Memory *memory) {
  tt_hlo_type type;
  int64_t size = 0;
  TT_RETURN_IF_ERROR(
      tt_cpu_array_type(spec->element_type, spec->dims, spec->num_dims, &type, &size));
  s->ready = tt_cpu_event_new();
  if (s->ready == NULL)
    return tt_error_no_memory(sizeof *s->ready);
  tt_error *err =
      tt_cpu_buffer_new_take(memory, &type, size, tt_cpu_event_retain(s->ready), &s->buffer);
  if (err == NULL) {
    tt_cpu_buffer_hold(s->buffer);
    return tt_cpu_buffer_alloc(s->buffer);
  }
  tt_cpu_event_release(s->ready);
  return err;
}

static tt_error *check_layouts(const PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *args) {
  for (size_t i = 0; args->device_layouts != NULL && i < args->num_device_layouts; i++) {
    tt_hlo_type type;
    int64_t size = 0;
    if (i >= args->num_shape_specs)
      return tt_error_new(TT_INVALID_ARGUMENT, "%zu layouts for %zu buffers",
                          args->num_device_layouts, args->num_shape_specs);
    const PJRT_ShapeSpec *spec = &args->shape_specs[i];
    TT_RETURN_IF_ERROR(
        tt_cpu_array_type(spec->element_type, spec->dims, spec->num_dims, &type, &size));
    TT_RETURN_IF_ERROR(tt_cpu_layout_check(args->device_layouts[i], &type));
  }
  return NULL;
}

tt_error *tt_cpu_transfer_create(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *args) {
  tt_error *err = NULL;
  PJRT_Memory *memory = NULL;
  PJRT_AsyncHostToDeviceTransferManager *manager = NULL;
  size_t count = args->num_shape_specs, size = sizeof *manager;
  args->transfer_manager = NULL;
  if (count > 0)
    TT_CPU_GIVEN(args->shape_specs);
  TT_RETURN_IF_ERROR(tt_cpu_memory_pick(args->client, NULL, args->memory, &memory));
  TT_RETURN_IF_ERROR(check_layouts(args));
  if (__builtin_mul_overflow(count, sizeof(slot), &size) ||
      __builtin_add_overflow(size, sizeof *manager, &size))
    return tt_error_new(TT_INVALID_ARGUMENT, "%zu buffers", count);
  manager = calloc(1, size);
  if (manager == NULL)
    return tt_error_no_memory(size);
  manager->device = memory->device;
  pthread_mutex_init(&manager->lock, NULL);
  for (size_t i = 0; i < count && err == NULL; i++) {
    manager->count++;
    err = make_slot(&manager->slots[i], &args->shape_specs[i], memory);
  }
  if (err != NULL)
    free_manager(manager);
  else
    args->transfer_manager = manager;
  return err;
}

tt_error *tt_cpu_transfer_destroy(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args *args) {
  if (args->transfer_manager != NULL)
    free_manager(args->transfer_manager);
  return NULL;
}

tt_error *tt_cpu_transfer_data(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *args) {
  slot *s = NULL;
  int64_t end = 0;
  args->done_with_h2d_transfer = NULL;
  TT_RETURN_IF_ERROR(find(args->transfer_manager, args->buffer_index, &s));
  if (args->offset < 0 || args->transfer_size < 0 ||
      __builtin_add_overflow(args->offset, args->transfer_size, &end) || end > s->buffer->size)
    return tt_error_new(
        TT_INVALID_ARGUMENT, "%lld bytes from byte %lld on of a buffer with %lld bytes",
        (long long)args->transfer_size, (long long)args->offset, (long long)s->buffer->size);
  if (args->transfer_size > 0)
    TT_CPU_GIVEN(args->data);
  pthread_mutex_lock(&args->transfer_manager->lock);
  bool finished = s->finished;
  pthread_mutex_unlock(&args->transfer_manager->lock);
  if (finished)
    return tt_error_new(TT_FAILED_PRECONDITION, "buffer %d has had its last piece",
                        args->buffer_index);
  if (args->transfer_size > 0)
    memcpy((char *)s->buffer->storage.data + args->offset, args->data, (size_t)args->transfer_size);
  if (args->is_last_transfer && claim(args->transfer_manager, &s->finished))
    tt_cpu_event_complete_take(s->ready, NULL);
  args->done_with_h2d_transfer = &tt_cpu_event_done;
  return NULL;
}

tt_error *tt_cpu_transfer_retrieve(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *args) {
  slot *s = NULL;
  TT_RETURN_IF_ERROR(find(args->transfer_manager, args->buffer_index, &s));
  if (!claim(args->transfer_manager, &s->retrieved))
    return tt_error_new(TT_FAILED_PRECONDITION, "buffer %d has been retrieved", args->buffer_index);
  args->buffer_out = s->buffer;
  return NULL;
}

tt_error *tt_cpu_transfer_device(PJRT_AsyncHostToDeviceTransferManager_Device_Args *args) {
  args->device_out = args->transfer_manager->device;
  return NULL;
}

tt_error *tt_cpu_transfer_count(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args *args) {
  args->buffer_count = args->transfer_manager->count;
  return NULL;
}

tt_error *tt_cpu_transfer_size(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args *args) {
  slot *s = NULL;
  TT_RETURN_IF_ERROR(find(args->transfer_manager, args->buffer_index, &s));
  args->buffer_size = (size_t)s->buffer->size;
  return NULL;
}

tt_error *tt_cpu_transfer_error(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args *args) {
  slot *s = NULL;
  TT_RETURN_IF_ERROR(find(args->transfer_manager, args->buffer_index, &s));
  if (!claim(args->transfer_manager, &s->finished))
    return tt_error_new(TT_FAILED_PRECONDITION, "buffer %d has had its last piece",
                        args->buffer_index);
  int size = args->error_message_size > 4096 ? 4096 : (int)args->error_message_size;
  tt_code code = tt_code_of(args->error_code);
  tt_cpu_event_complete_take(
      s->ready,
      tt_error_new(code, "%.*s", size, args->error_message == NULL ? "" : args->error_message));
  return NULL;
}

/* Names and the like, for people who trace. */
tt_error *tt_cpu_transfer_metadata(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args *args) {
  (void)args;
  return NULL;
}
