/* buffer.h: arrays on a device, the ways in and out, and the events that tell when they are done.
 *
 * Thread-safe, for one buffer too, as long as none of the calls frees it.
 * An array is dense and row-major on the host side, unless byte strides are given on the way in.
 * pred is a byte an element; so are the 4-bit types. */
#ifndef TT_PJRT_BUFFER_H
#define TT_PJRT_BUFFER_H

#include "base/dtype.h"
#include "pjrt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- events ---- */

/* Waits; returns the error that the work ended with. */
TT_NODISCARD tt_error *tt_pj_event_await(const tt_pj_plugin *plugin, tt_pj_event *event);
/* Waits and frees the event. NULL counts as done. */
TT_NODISCARD tt_error *tt_pj_event_await_take(const tt_pj_plugin *plugin, tt_pj_event *event);
/* True also when the work failed, or when the plugin cannot tell: tt_pj_event_await then says what
 * happened. */
bool tt_pj_event_is_ready(const tt_pj_plugin *plugin, tt_pj_event *event);
/* NULL is allowed. Freeing does not wait, and callbacks still come. */
void tt_pj_event_free(const tt_pj_plugin *plugin, tt_pj_event *event);

/* A callback and the memory for its bookkeeping, which the caller keeps until it has been called.
 * `fn` owns `err`, which is NULL on success; it runs on a thread of the plugin, or before
 * tt_pj_event_on_ready returns, and must not wait. */
typedef struct tt_pj_waiter {
  void (*fn)(tt_error *err, void *user);
  void *user;
  const tt_pj_plugin *plugin; /* filled in by tt_pj_event_on_ready */
} tt_pj_waiter;

/* Calls `waiter->fn` once, when the event is ready. On error it is not called. */
TT_NODISCARD tt_error *tt_pj_event_on_ready(const tt_pj_plugin *plugin, tt_pj_event *event,
                                            tt_pj_waiter *waiter);

/* ---- host to device ---- */

typedef enum tt_pj_host_semantics {
  TT_PJ_HOST_COPY,              /* `data` is free again when the call returns */
  TT_PJ_HOST_UNTIL_TRANSFERRED, /* `data` stays as it is until the done event */
  TT_PJ_HOST_ZERO_COPY, /* the buffer may be `data` itself, never written: keep it until the done
                         * event, which comes after the buffer is freed */
  TT_PJ_HOST_ZERO_COPY_MUTABLE /* the same, and donation may write to it */
} tt_pj_host_semantics;

typedef struct tt_pj_host_array {
  const void *data;
  tt_dtype dtype;
  const int64_t *dims;
  size_t rank;
  const int64_t *byte_strides; /* `rank` of them, any sign; NULL: dense, row-major */
} tt_pj_host_array;

/* Makes a buffer on `device`, in `memory` when that is not NULL (then `device` may be). `out_done`
 * may be NULL for TT_PJ_HOST_COPY only; else the caller owns the event, which fires when `data` is
 * no longer needed. The buffer may be used at once; its ready event tells when the data has
 * arrived. */
TT_NODISCARD tt_error *tt_pj_buffer_from_host(const tt_pj_client *client, tt_pj_device *device,
                                              tt_pj_memory *memory, const tt_pj_host_array *array,
                                              tt_pj_host_semantics semantics,
                                              tt_pj_buffer **out_buffer, tt_pj_event **out_done);

/* A buffer whose content is unspecified. */
TT_NODISCARD tt_error *tt_pj_buffer_uninitialized(const tt_pj_client *client, tt_pj_device *device,
                                                  tt_dtype dtype, const int64_t *dims, size_t rank,
                                                  tt_pj_buffer **out_buffer);

/* A buffer over device memory that someone else owns (DLPack). `release`, if not NULL, is called
 * with `pointer` and `user` when the plugin no longer needs it. Donating the buffer writes to that
 * memory. */
TT_NODISCARD tt_error *tt_pj_buffer_view(const tt_pj_client *client, tt_pj_device *device,
                                         void *pointer, tt_dtype dtype, const int64_t *dims,
                                         size_t rank, void (*release)(void *pointer, void *user),
                                         void *user, tt_pj_buffer **out_buffer);

/* ---- device to host ---- */

/* Copies the whole array, row-major, to `dst` of exactly its dense size in bytes. With `out_event`
 * NULL it returns when the copy is done; else `dst` must stay until `*out_event`, which the caller
 * owns and which is NULL where the copy was done at once. */
TT_NODISCARD tt_error *tt_pj_buffer_to_host(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                            void *dst, size_t dst_size, tt_pj_event **out_event);
/* Device memory that the host can read (tt_pj_buffer_is_on_cpu) without a copy: pins the buffer and
 * gives its address; await the ready event first. Each success needs one tt_pj_buffer_unpin before
 * the buffer is freed. While pinned it cannot be donated. */
TT_NODISCARD tt_error *tt_pj_buffer_pin(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                        void **out_pointer);
void tt_pj_buffer_unpin(const tt_pj_plugin *plugin, tt_pj_buffer *buffer);
bool tt_pj_buffer_is_on_cpu(const tt_pj_plugin *plugin, tt_pj_buffer *buffer);
/* The device's own address of the data, for identity and debugging; nothing keeps it valid. */
TT_NODISCARD tt_error *tt_pj_buffer_address(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                            uintptr_t *out_address);

/* ---- device to device ---- */

TT_NODISCARD tt_error *tt_pj_buffer_copy_to_device(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                                   tt_pj_device *device, tt_pj_buffer **out_buffer);
TT_NODISCARD tt_error *tt_pj_buffer_copy_to_memory(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                                   tt_pj_memory *memory, tt_pj_buffer **out_buffer);

/* ---- what it is ---- */

/* INTERNAL names an element type that this client does not know. */
TT_NODISCARD tt_error *tt_pj_buffer_dtype(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                          tt_dtype *out_dtype);
/* `*out_dims` lives as long as the buffer. */
TT_NODISCARD tt_error *tt_pj_buffer_dims(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                         const int64_t **out_dims, size_t *out_rank);
/* Bytes on the device, padding included. */
TT_NODISCARD tt_error *tt_pj_buffer_size(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                         int64_t *out_size);
TT_NODISCARD tt_error *tt_pj_buffer_device(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                           tt_pj_device **out_device);
TT_NODISCARD tt_error *tt_pj_buffer_memory(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                           tt_pj_memory **out_memory);

/* The event of its content being there, or of the failure that kept it from coming. */
TT_NODISCARD tt_error *tt_pj_buffer_ready(const tt_pj_plugin *plugin, tt_pj_buffer *buffer,
                                          tt_pj_event **out_event);
/* Waits for the content; returns the failure of the program that should have made it. */
TT_NODISCARD tt_error *tt_pj_buffer_await(const tt_pj_plugin *plugin, tt_pj_buffer *buffer);
/* True after tt_pj_buffer_delete, and after an execution that took it as a donated argument. */
bool tt_pj_buffer_is_deleted(const tt_pj_plugin *plugin, tt_pj_buffer *buffer);
/* Gives the memory back (once running work no longer needs it) but keeps the handle, which is good
 * only for tt_pj_buffer_is_deleted and tt_pj_buffer_free. */
TT_NODISCARD tt_error *tt_pj_buffer_delete(const tt_pj_plugin *plugin, tt_pj_buffer *buffer);
/* NULL is allowed. May be called while programs that use it still run. */
void tt_pj_buffer_free(const tt_pj_plugin *plugin, tt_pj_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif /* TT_PJRT_BUFFER_H */
