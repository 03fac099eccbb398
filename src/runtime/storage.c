#include "runtime/storage.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "runtime/internal.h"

tt_rt_storage *tt_rt_storage_make_locked(tt_rt_device *device, int64_t size) {
  tt_rt_storage *storage = calloc(1, sizeof *storage);
  if (storage == NULL)
    return NULL;
  storage->references = 1;
  storage->device = device;
  storage->size = size;
  storage->counted = -1;
  storage->next = device->storages;
  if (device->storages != NULL)
    device->storages->previous = storage;
  device->storages = storage;
  return storage;
}

tt_error *tt_rt_storage_new(tt_rt_device *device, int64_t size, tt_rt_storage **out_storage) {
  *out_storage = NULL;
  if (size < 0)
    return tt_error_new(TT_INVALID_ARGUMENT, "a storage of %lld bytes", (long long)size);
  pthread_mutex_lock(&device->rt->lock);
  *out_storage = tt_rt_storage_make_locked(device, size);
  pthread_mutex_unlock(&device->rt->lock);
  return *out_storage != NULL ? NULL : tt_error_no_memory(sizeof **out_storage);
}

void tt_rt_storage_retain(tt_rt_storage *storage) {
  atomic_fetch_add_explicit(&storage->references, 1, memory_order_relaxed);
}

bool tt_rt_storage_retain_live(tt_rt_storage *storage) {
  int64_t count = atomic_load(&storage->references);
  while (count != 0)
    if (atomic_compare_exchange_weak(&storage->references, &count, count + 1))
      return true;
  return false;
}

void tt_rt_storage_release(tt_rt_storage *storage) {
  tt_rt *rt;
  tt_pj_buffer *dropped;
  if (storage == NULL ||
      atomic_fetch_sub_explicit(&storage->references, 1, memory_order_acq_rel) != 1)
    return;
  rt = storage->device->rt;
  pthread_mutex_lock(&rt->lock);
  if (storage->previous != NULL)
    storage->previous->next = storage->next;
  else
    storage->device->storages = storage->next;
  if (storage->next != NULL)
    storage->next->previous = storage->previous;
  tt_rt_unheld_add(storage);
  dropped = storage->buffer;
  storage->buffer = NULL;
  tt_rt_account(storage);
  pthread_mutex_unlock(&rt->lock);
  tt_pj_buffer_free(rt->plugin, dropped);
  free(storage);
}

int64_t tt_rt_storage_size(const tt_rt_storage *storage) { return storage->size; }
tt_rt_device *tt_rt_storage_device(const tt_rt_storage *storage) { return storage->device; }

tt_error *tt_rt_storage_resize(tt_rt_storage *storage, int64_t size) {
  tt_rt *rt = storage->device->rt;
  tt_pj_buffer *dropped = NULL;
  if (size < 0)
    return tt_error_new(TT_INVALID_ARGUMENT, "a storage of %lld bytes", (long long)size);
  pthread_mutex_lock(&rt->lock);
  storage->size = size;
  if (size == 0) {
    tt_rt_unheld_add(storage);
    dropped = storage->buffer;
    storage->buffer = NULL;
  }
  tt_rt_account(storage);
  pthread_mutex_unlock(&rt->lock);
  tt_pj_buffer_free(rt->plugin, dropped);
  return NULL;
}

/* The ready event of the content; NULL where there is none. */
static tt_error *ready_event(tt_rt_storage *storage, tt_pj_event **out_event) {
  tt_rt *rt = storage->device->rt;
  tt_error *err = NULL;
  *out_event = NULL;
  pthread_mutex_lock(&rt->lock);
  if (storage->buffer != NULL)
    err = tt_pj_buffer_ready(rt->plugin, storage->buffer, out_event);
  pthread_mutex_unlock(&rt->lock);
  return err;
}

bool tt_rt_storage_ready(tt_rt_storage *storage) {
  const tt_pj_plugin *plugin = storage->device->rt->plugin;
  tt_pj_event *event;
  tt_error *err = ready_event(storage, &event);
  bool ready = err != NULL || event == NULL || tt_pj_event_is_ready(plugin, event);
  tt_error_free(err);
  tt_pj_event_free(plugin, event);
  return ready;
}

static tt_error *name_op(tt_rt_storage *storage, tt_error *err) {
  return storage->op != NULL ? tt_error_wrap_take(err, "%s", storage->op) : err;
}

tt_error *tt_rt_storage_await(tt_rt_storage *storage) {
  tt_rt *rt = storage->device->rt;
  tt_pj_event *event;
  tt_error *err;
  TT_RETURN_IF_ERROR(ready_event(storage, &event));
  err = tt_pj_event_await_take(rt->plugin, event);
  if (err == NULL)
    return NULL;
  pthread_mutex_lock(&rt->lock);
  storage->failure_told = true;
  pthread_mutex_unlock(&rt->lock);
  return name_op(storage, err);
}

/* ---- in and out ---- */

void tt_rt_storage_set_base(tt_rt_storage *storage, tt_pj_buffer *buffer, tt_dtype dtype,
                            const int64_t *dims, size_t rank) {
  storage->buffer = buffer;
  storage->failure_told = false;
  storage->dtype = dtype;
  storage->rank = (int32_t)rank;
  if (rank != 0)
    memcpy(storage->dims, dims, rank * sizeof *dims);
  tt_rt_account(storage);
}

static tt_error *check_upload(const tt_rt_storage *storage, tt_dtype dtype, const int64_t *dims,
                              size_t rank, int64_t *out_count) {
  int64_t size;
  if (!tt_dims_count(dims, rank, out_count) ||
      !tt_mul_i64(*out_count, tt_dtype_bytes(dtype), &size) || size != storage->size)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "upload: the array does not fill the storage's %lld bytes",
                        (long long)storage->size);
  return NULL;
}

tt_error *tt_rt_storage_upload(tt_rt_storage *storage, tt_dtype dtype, const int64_t *dims,
                               size_t rank, const void *data) {
  tt_rt *rt = storage->device->rt;
  tt_pj_host_array array = {.data = data, .dtype = dtype, .dims = dims, .rank = rank};
  tt_pj_buffer *buffer, *old;
  int64_t count;
  TT_RETURN_IF_ERROR(check_upload(storage, dtype, dims, rank, &count));
  if (rank > TT_RT_BASE_RANK) {
    array.dims = &count;
    array.rank = 1;
  }
  TT_RETURN_IF_ERROR(tt_pj_buffer_from_host(rt->client, storage->device->raw, NULL, &array,
                                            TT_PJ_HOST_COPY, &buffer, NULL));
  pthread_mutex_lock(&rt->lock);
  tt_rt_unheld_add(storage);
  old = storage->buffer;
  tt_rt_storage_set_base(storage, buffer, dtype, array.dims, array.rank);
  storage->op = NULL;
  rt->stats.host_to_device_bytes += storage->size;
  pthread_mutex_unlock(&rt->lock);
  tt_pj_buffer_free(rt->plugin, old);
  return NULL;
}

/* Bytes of the buffer, which after a resize may be fewer than the storage's, or more. */
static int64_t buffer_bytes(const tt_rt_storage *storage) {
  int64_t count = 0;
  tt_dims_count(storage->dims, (size_t)storage->rank, &count);
  return count * tt_dtype_bytes(storage->dtype);
}

/* Into `data`, which has room for `room` bytes, at least the buffer's. */
static tt_error *start_download(tt_rt_storage *storage, void *data, int64_t room,
                                tt_pj_event **out_event) {
  tt_rt *rt = storage->device->rt;
  tt_error *err = NULL;
  int64_t held;
  *out_event = NULL;
  pthread_mutex_lock(&rt->lock);
  held = storage->buffer != NULL ? buffer_bytes(storage) : 0;
  if (held > room)
    err = tt_error_new(TT_ABORTED, "download: the storage grew meanwhile");
  else if (held < room) /* never written: reads as zeros */
    memset((char *)data + held, 0, (size_t)(room - held));
  if (err == NULL && held != 0)
    err = tt_pj_buffer_to_host(rt->plugin, storage->buffer, data, (size_t)held, out_event);
  rt->stats.device_to_host_bytes += room;
  pthread_mutex_unlock(&rt->lock);
  return err;
}

static int64_t locked_buffer_bytes(tt_rt_storage *storage) {
  int64_t held;
  pthread_mutex_lock(&storage->device->rt->lock);
  held = storage->buffer != NULL ? buffer_bytes(storage) : 0;
  pthread_mutex_unlock(&storage->device->rt->lock);
  return held;
}

static tt_error *download(tt_rt_storage *storage, void *data, int64_t room) {
  tt_pj_event *event;
  TT_RETURN_IF_ERROR(start_download(storage, data, room, &event));
  return name_op(storage, tt_pj_event_await_take(storage->device->rt->plugin, event));
}

tt_error *tt_rt_storage_download(tt_rt_storage *storage, void *data, int64_t size) {
  int64_t held = locked_buffer_bytes(storage);
  tt_error *err;
  void *whole;
  if (size != storage->size)
    return tt_error_new(TT_INVALID_ARGUMENT, "download: %lld bytes asked of a storage of %lld",
                        (long long)size, (long long)storage->size);
  if (held <= size)
    return download(storage, data, size);
  whole = malloc((size_t)held); /* the storage was made smaller, its buffer was not */
  if (whole == NULL)
    return tt_error_no_memory((size_t)held);
  err = download(storage, whole, held);
  if (err == NULL && size != 0)
    memcpy(data, whole, (size_t)size);
  free(whole);
  return err;
}

tt_error *tt_rt_storage_copy(tt_rt_storage *storage, tt_rt_device *device,
                             tt_rt_storage **out_storage) {
  tt_rt *rt = storage->device->rt;
  tt_rt_storage *copy = NULL;
  tt_error *err = NULL;
  TT_TRY(tt_rt_storage_new(device, storage->size, &copy));
  pthread_mutex_lock(&rt->lock);
  if (storage->buffer != NULL)
    err = tt_pj_buffer_copy_to_device(rt->plugin, storage->buffer, device->raw, &copy->buffer);
  if (err == NULL && storage->buffer != NULL) {
    tt_rt_storage_set_base(copy, copy->buffer, storage->dtype, storage->dims,
                           (size_t)storage->rank);
    copy->op = storage->op;
    device->latest = copy;
  }
  pthread_mutex_unlock(&rt->lock);
out:
  if (err != NULL)
    tt_rt_storage_release(copy);
  *out_storage = err == NULL ? copy : NULL;
  return err;
}
