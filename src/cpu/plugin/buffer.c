/* buffer.c: the life of a buffer, and what it is. */
#include <stdlib.h>
#include <string.h>

#include "cpu/memory.h"
#include "cpu/plugin/internal.h"

tt_error *tt_cpu_buffer_gone(void) {
  return tt_error_new(TT_INVALID_ARGUMENT, "the buffer has been deleted or donated");
}

/* ---- storage ---- */

static void free_storage(tt_cpu_storage storage) {
  tt_cpu_owner *owner = storage.owner;
  if (owner == NULL) {
    tt_cpu_memory_free(storage.data);
    return;
  }
  if (owner->release != NULL)
    owner->release(storage.data, owner->user);
  if (owner->done != NULL) {
    tt_cpu_event_complete_take(owner->done, NULL);
    tt_cpu_event_release(owner->done);
  }
  free(owner);
}

tt_error *tt_cpu_buffer_alloc(PJRT_Buffer *buffer) {
  buffer->storage = (tt_cpu_storage){tt_cpu_memory_alloc(buffer->size), NULL};
  if (buffer->storage.data != NULL)
    return NULL;
  tt_bytes text = {0};
  tt_cpu_memory_stats stats = tt_cpu_memory_stats_get();
  tt_hlo_type_print(&buffer->type, &text);
  tt_error *err = tt_error_new(
      TT_RESOURCE_EXHAUSTED,
      "out of memory for %s: %lld bytes wanted, %lld in use, %lld allowed (-1: no limit)",
      text.data == NULL ? "an array" : text.data, (long long)buffer->size, (long long)stats.in_use,
      (long long)stats.limit);
  tt_bytes_free(&text);
  return err;
}

/* ---- holds ---- */

tt_error *tt_cpu_buffer_new_take(PJRT_Memory *memory, const tt_hlo_type *type, int64_t size,
                                 PJRT_Event *ready, PJRT_Buffer **out_buffer) {
  size_t dims_size = (size_t)type->rank * sizeof(int64_t);
  PJRT_Buffer *buffer = malloc(sizeof *buffer + dims_size);
  *out_buffer = buffer;
  if (buffer == NULL) {
    tt_cpu_event_release(ready);
    return tt_error_no_memory(sizeof *buffer + dims_size);
  }
  atomic_init(&buffer->use, 1);
  atomic_init(&buffer->external, 0);
  buffer->memory = memory;
  buffer->ready = ready;
  buffer->storage = (tt_cpu_storage){NULL, NULL};
  buffer->size = size;
  buffer->type = *type;
  buffer->type.dims = buffer->dims;
  if (dims_size > 0)
    memcpy(buffer->dims, type->dims, dims_size);
  return NULL;
}

static void free_struct(PJRT_Buffer *buffer) {
  tt_cpu_event_release(buffer->ready);
  free(buffer);
}

bool tt_cpu_buffer_hold(PJRT_Buffer *buffer) {
  unsigned use = atomic_load_explicit(&buffer->use, memory_order_relaxed);
  do {
    if (TT_UNLIKELY(use & TT_CPU_DELETED))
      return false;
  } while (!atomic_compare_exchange_weak_explicit(&buffer->use, &use, use + 1, memory_order_acquire,
                                                  memory_order_relaxed));
  return true;
}

/* Only the last hold may look at the storage after it let go; and then the struct may be gone at
 * any time, if the handle is still there to be destroyed. So the storage is read before. */
void tt_cpu_buffer_drop(PJRT_Buffer *buffer) {
  unsigned use = atomic_load_explicit(&buffer->use, memory_order_acquire);
  for (;;) {
    if ((use & TT_CPU_HOLDS) > 1) {
      if (atomic_compare_exchange_weak_explicit(&buffer->use, &use, use - 1, memory_order_acq_rel,
                                                memory_order_acquire))
        return;
      continue;
    }
    tt_cpu_storage storage = buffer->storage;
    if (!atomic_compare_exchange_weak_explicit(&buffer->use, &use, use - 1, memory_order_acq_rel,
                                               memory_order_acquire))
      continue;
    if (use & TT_CPU_DESTROYED)
      free_struct(buffer);
    free_storage(storage);
    return;
  }
}

/* Marks it deleted. False where it was; else the handle's hold is the caller's. */
static bool mark_deleted(PJRT_Buffer *buffer) {
  return !(atomic_fetch_or_explicit(&buffer->use, TT_CPU_DELETED, memory_order_acq_rel) &
           TT_CPU_DELETED);
}

bool tt_cpu_buffer_donate(PJRT_Buffer *buffer) { return mark_deleted(buffer); }

void tt_cpu_buffer_undonate(PJRT_Buffer *buffer) {
  atomic_fetch_and_explicit(&buffer->use, ~TT_CPU_DELETED, memory_order_acq_rel);
}

/* A deleted buffer gets no new holds, so that a count of one stays one. */
bool tt_cpu_buffer_takeable(PJRT_Buffer *buffer) {
  unsigned use = atomic_load_explicit(&buffer->use, memory_order_acquire);
  return (use & TT_CPU_HOLDS) == 1 &&
         (buffer->storage.owner == NULL || buffer->storage.owner->writable);
}

void tt_cpu_buffer_free(PJRT_Buffer *buffer) {
  if (buffer == NULL)
    return;
  for (unsigned n = atomic_exchange(&buffer->external, 0); n > 0; n--)
    tt_cpu_buffer_drop(buffer);
  unsigned before = atomic_fetch_or_explicit(&buffer->use, TT_CPU_DELETED | TT_CPU_DESTROYED,
                                             memory_order_acq_rel);
  if (!(before & TT_CPU_DELETED))
    tt_cpu_buffer_drop(buffer);
  else if ((before & TT_CPU_HOLDS) == 0)
    free_struct(buffer);
}

tt_error *tt_cpu_buffer_await(PJRT_Buffer *buffer) {
  tt_cpu_event_wait(buffer->ready);
  return tt_error_copy(buffer->ready->err);
}

tt_error *tt_cpu_buffer_destroy(PJRT_Buffer_Destroy_Args *args) {
  tt_cpu_buffer_free(args->buffer);
  return NULL;
}

tt_error *tt_cpu_buffer_delete(PJRT_Buffer_Delete_Args *args) {
  if (mark_deleted(args->buffer))
    tt_cpu_buffer_drop(args->buffer);
  return NULL;
}

static bool is_deleted(PJRT_Buffer *buffer) {
  return (atomic_load_explicit(&buffer->use, memory_order_acquire) & TT_CPU_DELETED) != 0;
}

tt_error *tt_cpu_buffer_is_deleted(PJRT_Buffer_IsDeleted_Args *args) {
  args->is_deleted = is_deleted(args->buffer);
  return NULL;
}

tt_error *tt_cpu_buffer_ready_event(PJRT_Buffer_ReadyEvent_Args *args) {
  if (!is_deleted(args->buffer)) {
    args->event = tt_cpu_event_retain(args->buffer->ready);
    return NULL;
  }
  args->event = tt_cpu_event_of_take(tt_cpu_buffer_gone());
  return args->event == NULL ? tt_error_no_memory(sizeof *args->event) : NULL;
}

/* ---- addresses ---- */

tt_error *tt_cpu_buffer_pin(PJRT_Buffer_IncreaseExternalReferenceCount_Args *args) {
  if (!tt_cpu_buffer_hold(args->buffer))
    return tt_cpu_buffer_gone();
  atomic_fetch_add(&args->buffer->external, 1);
  return NULL;
}

tt_error *tt_cpu_buffer_unpin(PJRT_Buffer_DecreaseExternalReferenceCount_Args *args) {
  unsigned count = atomic_load(&args->buffer->external);
  do {
    if (count == 0)
      return tt_error_new(TT_INVALID_ARGUMENT, "the buffer has no external references");
  } while (!atomic_compare_exchange_weak(&args->buffer->external, &count, count - 1));
  tt_cpu_buffer_drop(args->buffer);
  return NULL;
}

/* Memory is there once the content is. */
static tt_error *address(PJRT_Buffer *buffer, void **out_pointer) {
  *out_pointer = NULL;
  if (!tt_cpu_buffer_hold(buffer))
    return tt_cpu_buffer_gone();
  tt_error *err = tt_cpu_buffer_await(buffer);
  if (err == NULL)
    *out_pointer = buffer->storage.data;
  tt_cpu_buffer_drop(buffer);
  return err;
}

tt_error *tt_cpu_buffer_opaque_pointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *args) {
  PJRT_Buffer *buffer = args->buffer;
  if (!is_deleted(buffer) || atomic_load(&buffer->external) == 0)
    return address(buffer, &args->device_memory_ptr);
  /* An external reference keeps the memory of a deleted buffer. */
  TT_RETURN_IF_ERROR(tt_cpu_buffer_await(buffer));
  args->device_memory_ptr = buffer->storage.data;
  return NULL;
}

tt_error *tt_cpu_buffer_unsafe_pointer(PJRT_Buffer_UnsafePointer_Args *args) {
  void *pointer = NULL;
  TT_RETURN_IF_ERROR(address(args->buffer, &pointer));
  args->buffer_pointer = (uintptr_t)pointer;
  return NULL;
}

/* ---- what it is ---- */

tt_error *tt_cpu_buffer_is_on_cpu(PJRT_Buffer_IsOnCpu_Args *args) {
  args->is_on_cpu = true;
  return NULL;
}

tt_error *tt_cpu_buffer_element_type(PJRT_Buffer_ElementType_Args *args) {
  args->type = tt_cpu_type_of(&args->buffer->type);
  return NULL;
}

tt_error *tt_cpu_buffer_dims(PJRT_Buffer_Dimensions_Args *args) {
  args->dims = args->buffer->dims;
  args->num_dims = (size_t)args->buffer->type.rank;
  return NULL;
}

tt_error *tt_cpu_buffer_unpadded_dims(PJRT_Buffer_UnpaddedDimensions_Args *args) {
  args->unpadded_dims = args->buffer->dims;
  args->num_dims = (size_t)args->buffer->type.rank;
  return NULL;
}

tt_error *tt_cpu_buffer_dynamic_dims(PJRT_Buffer_DynamicDimensionIndices_Args *args) {
  static const size_t none[1];
  args->dynamic_dim_indices = none;
  args->num_dynamic_dims = 0;
  return NULL;
}

tt_error *tt_cpu_buffer_layout(PJRT_Buffer_GetMemoryLayout_Args *args) {
  size_t rank = (size_t)args->buffer->type.rank;
  static const int64_t no_tile_dims[1];
  static const size_t no_tile_sizes[1];
  args->layout = (PJRT_Buffer_MemoryLayout){
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = tt_cpu_row_major(rank),
                .minor_to_major_size = rank,
                .tile_dims = no_tile_dims,
                .tile_dim_sizes = no_tile_sizes}};
  return NULL;
}

tt_error *tt_cpu_buffer_size(PJRT_Buffer_OnDeviceSizeInBytes_Args *args) {
  args->on_device_size_in_bytes = (size_t)args->buffer->size;
  return NULL;
}

tt_error *tt_cpu_buffer_device(PJRT_Buffer_Device_Args *args) {
  args->device = args->buffer->memory->device;
  return NULL;
}

tt_error *tt_cpu_buffer_memory(PJRT_Buffer_Memory_Args *args) {
  args->memory = args->buffer->memory;
  return NULL;
}
