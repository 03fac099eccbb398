/* transfer.c: arrays from the host, to the host, and between devices. */
#include <stdlib.h>
#include <string.h>

#include "cpu/plugin/internal.h"

enum { ALIGN = 64 };

/* ---- from the host ---- */

typedef struct source {
  const char *data;
  const int64_t *byte_strides; /* [rank] */
  bool dense;                  /* row-major without gaps */
} source;

static tt_error *read_source(const PJRT_Client_BufferFromHostBuffer_Args *args,
                             const tt_hlo_type *type, int64_t size, int64_t *dense_strides,
                             source *s) {
  *s = (source){args->data, args->byte_strides, true};
  tt_cpu_byte_strides(type, dense_strides);
  if (size > 0)
    TT_CPU_GIVEN(args->data);
  if (args->num_byte_strides == 0 || args->byte_strides == NULL) {
    s->byte_strides = dense_strides;
    return NULL;
  }
  if (args->num_byte_strides != args->num_dims)
    return tt_error_new(TT_INVALID_ARGUMENT, "%zu byte strides for %zu dims",
                        args->num_byte_strides, args->num_dims);
  for (size_t i = 0; i < args->num_dims; i++)
    s->dense = s->dense && (type->dims[i] == 1 || s->byte_strides[i] == dense_strides[i]);
  return NULL;
}

/* Lets the buffer have memory that somebody else owns; `done` may be NULL. */
static tt_error *adopt(PJRT_Buffer *buffer, void *data, tt_cpu_owner owner) {
  buffer->storage.owner = malloc(sizeof owner);
  if (buffer->storage.owner == NULL)
    return tt_error_no_memory(sizeof owner);
  *buffer->storage.owner = owner;
  buffer->storage.data = data;
  return NULL;
}

/* Of the data's own memory the buffer may be made where the client allows and the engine can. */
static bool may_adopt(const PJRT_Client_BufferFromHostBuffer_Args *args, const source *s) {
  return args->host_buffer_semantics >= PJRT_HostBufferSemantics_kImmutableZeroCopy && s->dense &&
         s->data != NULL && (uintptr_t)s->data % ALIGN == 0;
}

static tt_error *adopt_host(const PJRT_Client_BufferFromHostBuffer_Args *args, PJRT_Buffer *buffer,
                            PJRT_Event **out_done) {
  PJRT_Event *done = tt_cpu_event_new();
  if (done == NULL)
    return tt_error_no_memory(sizeof *done);
  tt_cpu_owner owner = {
      .done = done,
      .writable = args->host_buffer_semantics == PJRT_HostBufferSemantics_kMutableZeroCopy};
  tt_error *err = adopt(buffer, (void *)(uintptr_t)args->data, owner);
  if (err != NULL)
    tt_cpu_event_release(done);
  else
    *out_done = tt_cpu_event_retain(done);
  return err;
}

tt_error *tt_cpu_buffer_from_host(PJRT_Client_BufferFromHostBuffer_Args *args) {
  tt_error *err = NULL;
  PJRT_Buffer *buffer = NULL;
  PJRT_Memory *memory = NULL;
  tt_hlo_type type;
  int64_t size = 0, strides[TT_HLO_RANK_MAX];
  source s;
  args->buffer = NULL;
  args->done_with_host_buffer = NULL;
  TT_TRY(tt_cpu_memory_pick(args->client, args->device, args->memory, &memory));
  TT_TRY(tt_cpu_array_type(args->type, args->dims, args->num_dims, &type, &size));
  TT_TRY(tt_cpu_layout_check(args->device_layout, &type));
  TT_TRY(read_source(args, &type, size, strides, &s));
  TT_TRY(tt_cpu_buffer_new_take(memory, &type, size, &tt_cpu_event_done, &buffer));
  if (may_adopt(args, &s)) {
    TT_TRY(adopt_host(args, buffer, &args->done_with_host_buffer));
  } else {
    TT_TRY(tt_cpu_buffer_alloc(buffer));
    if (s.dense && size > 0)
      memcpy(buffer->storage.data, s.data, (size_t)size);
    else if (size > 0)
      tt_cpu_copy_strided(buffer->storage.data, strides, s.data, s.byte_strides, type.dims,
                          (size_t)type.rank, (size_t)tt_dtype_bytes(type.dtype));
    args->done_with_host_buffer = &tt_cpu_event_done;
  }
  args->buffer = buffer;
  buffer = NULL; /* moved to the caller */
out:
  tt_cpu_buffer_free(buffer);
  return err;
}

tt_error *tt_cpu_buffer_uninitialized(PJRT_Client_CreateUninitializedBuffer_Args *args) {
  tt_error *err = NULL;
  PJRT_Buffer *buffer = NULL;
  PJRT_Memory *memory = NULL;
  tt_hlo_type type;
  int64_t size = 0;
  args->buffer = NULL;
  TT_TRY(tt_cpu_memory_pick(args->client, args->device, args->memory, &memory));
  TT_TRY(tt_cpu_array_type(args->shape_element_type, args->shape_dims, args->shape_num_dims, &type,
                           &size));
  TT_TRY(tt_cpu_layout_check(args->shape_layout, &type));
  TT_TRY(tt_cpu_buffer_new_take(memory, &type, size, &tt_cpu_event_done, &buffer));
  TT_TRY(tt_cpu_buffer_alloc(buffer));
  args->buffer = buffer;
  buffer = NULL; /* moved to the caller */
out:
  tt_cpu_buffer_free(buffer);
  return err;
}

tt_error *tt_cpu_buffer_view(PJRT_Client_CreateViewOfDeviceBuffer_Args *args) {
  tt_error *err = NULL;
  PJRT_Buffer *buffer = NULL;
  PJRT_Memory *memory = TT_CPU_HAS(args, memory) ? args->memory : NULL;
  tt_hlo_type type;
  int64_t size = 0;
  args->buffer = NULL;
  TT_TRY(tt_cpu_memory_pick(args->client, args->device, memory, &memory));
  TT_TRY(tt_cpu_array_type(args->element_type, args->dims, args->num_dims, &type, &size));
  TT_TRY(tt_cpu_layout_check(args->layout, &type));
  if (args->device_buffer_ptr == NULL && size > 0)
    TT_TRY(tt_error_new(TT_INVALID_ARGUMENT, "device_buffer_ptr is NULL"));
  if ((uintptr_t)args->device_buffer_ptr % ALIGN != 0)
    TT_TRY(tt_error_new(TT_INVALID_ARGUMENT, "a view of memory at %p: its alignment is under %d",
                        args->device_buffer_ptr, ALIGN));
  TT_TRY(tt_cpu_buffer_new_take(memory, &type, size, &tt_cpu_event_done, &buffer));
  TT_TRY(adopt(buffer, args->device_buffer_ptr,
               (tt_cpu_owner){.release = args->on_delete_callback,
                              .user = args->on_delete_callback_arg,
                              .writable = true}));
  args->buffer = buffer;
  buffer = NULL; /* moved to the caller */
out:
  tt_cpu_buffer_free(buffer);
  return err;
}

/* ---- copies that may have to wait for their source ---- */

/* From `from`, held, to the memory at `dst`, or to the buffer `to`, held. */
typedef struct copy {
  tt_cpu_task task;
  PJRT_Buffer *from, *to;
  char *dst;
  int64_t offset, size;
  bool strided;
  int64_t dst_strides[TT_HLO_RANK_MAX];
} copy;

static tt_error *copy_now(const copy *c) {
  TT_RETURN_IF_ERROR(tt_cpu_buffer_await(c->from));
  char *dst = c->dst;
  const char *src = c->from->storage.data;
  if (c->to != NULL) {
    TT_RETURN_IF_ERROR(tt_cpu_buffer_alloc(c->to));
    dst = c->to->storage.data;
  }
  if (!c->strided && c->size > 0) {
    memcpy(dst, src + c->offset, (size_t)c->size);
  } else if (c->size > 0) {
    int64_t strides[TT_HLO_RANK_MAX];
    const tt_hlo_type *type = &c->from->type;
    tt_cpu_byte_strides(type, strides);
    tt_cpu_copy_strided(dst, c->dst_strides, src, strides, type->dims, (size_t)type->rank,
                        (size_t)tt_dtype_bytes(type->dtype));
  }
  return NULL;
}

static tt_error *run_copy(tt_cpu_task *task) {
  copy *c = (copy *)task;
  tt_error *err = copy_now(c);
  tt_cpu_buffer_drop(c->from);
  if (c->to != NULL)
    tt_cpu_buffer_drop(c->to);
  free(c);
  return err;
}

/* At once where the source is ready, else in the queue of `device`. `plan->from` is held by this
 * and let go. */
static tt_error *start_copy(const copy *plan, PJRT_Device *device, PJRT_Event *done) {
  copy *c = malloc(sizeof *c);
  if (c == NULL) {
    tt_cpu_buffer_drop(plan->from);
    return tt_error_no_memory(sizeof *c);
  }
  *c = *plan;
  c->task = (tt_cpu_task){.run = run_copy, .done = tt_cpu_event_retain(done)};
  if (c->to != NULL)
    tt_cpu_buffer_hold(c->to);
  tt_cpu_queue_put(&device->queue, &c->task);
  return NULL;
}

static tt_error *copy_out(const copy *plan, PJRT_Event **out_event) {
  tt_error *err = NULL;
  *out_event = &tt_cpu_event_done;
  if (tt_cpu_event_ready(plan->from->ready)) {
    err = copy_now(plan);
    tt_cpu_buffer_drop(plan->from);
    return err;
  }
  PJRT_Event *event = tt_cpu_event_new();
  if (event == NULL) {
    tt_cpu_buffer_drop(plan->from);
    return tt_error_no_memory(sizeof *event);
  }
  err = start_copy(plan, plan->from->memory->device, event);
  if (err != NULL)
    tt_cpu_event_release(event);
  else
    *out_event = event;
  return err;
}

/* ---- to the host ---- */

/* Byte strides of the layout that the caller wants, and the bytes from the first to the last. */
static tt_error *host_strides(const PJRT_Buffer_MemoryLayout *layout, const tt_hlo_type *type,
                              int64_t *out_strides, int64_t *size) {
  size_t rank = (size_t)type->rank;
  bool seen[TT_HLO_RANK_MAX] = {false};
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled) {
    const PJRT_Buffer_MemoryLayout_Tiled *t = &layout->tiled;
    int64_t stride = tt_dtype_bytes(type->dtype);
    if (t->num_tiles != 0)
      return tt_error_new(TT_UNIMPLEMENTED, "a host layout with tiles");
    if (t->minor_to_major_size != rank)
      return tt_error_new(TT_INVALID_ARGUMENT, "a host layout of rank %zu for an array of rank %zu",
                          t->minor_to_major_size, rank);
    for (size_t i = 0; i < rank; i++) {
      int64_t axis = t->minor_to_major[i];
      if (axis < 0 || (size_t)axis >= rank || seen[axis])
        return tt_error_new(TT_INVALID_ARGUMENT,
                            "minor_to_major of the host layout is no permutation of the axes");
      seen[axis] = true;
      out_strides[axis] = stride;
      stride *= type->dims[axis];
    }
    return NULL;
  }
  const PJRT_Buffer_MemoryLayout_Strides *s = &layout->strides;
  if (layout->type != PJRT_Buffer_MemoryLayout_Type_Strides || s->num_byte_strides != rank)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "a host layout that has not as many strides as the array has dims");
  int64_t last = 0, step = 0;
  for (size_t i = 0; i < rank; i++) {
    out_strides[i] = s->byte_strides[i];
    int64_t steps = type->dims[i] > 0 ? type->dims[i] - 1 : 0;
    if (s->byte_strides[i] < 0 || __builtin_mul_overflow(steps, s->byte_strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return tt_error_new(TT_INVALID_ARGUMENT, "byte stride %lld of the host layout",
                          (long long)s->byte_strides[i]);
  }
  if (*size > 0 && __builtin_add_overflow(last, tt_dtype_bytes(type->dtype), size))
    return tt_error_new(TT_INVALID_ARGUMENT, "the host layout is too large");
  return NULL;
}

tt_error *tt_cpu_buffer_to_host(PJRT_Buffer_ToHostBuffer_Args *args) {
  copy plan = {.from = args->src, .dst = args->dst, .size = args->src->size};
  int64_t needed = args->src->size;
  args->event = NULL;
  if (args->host_layout != NULL) {
    TT_RETURN_IF_ERROR(
        host_strides(args->host_layout, &args->src->type, plan.dst_strides, &needed));
    tt_error *other = tt_cpu_layout_check(args->host_layout, &args->src->type);
    plan.strided = other != NULL;
    tt_error_free(other);
  }
  if (args->dst == NULL) {
    args->dst_size = (size_t)needed;
    return NULL;
  }
  if (args->dst_size < (size_t)needed)
    return tt_error_new(TT_INVALID_ARGUMENT, "a destination of %zu bytes for an array of %lld",
                        args->dst_size, (long long)needed);
  if (!tt_cpu_buffer_hold(args->src))
    return tt_cpu_buffer_gone();
  return copy_out(&plan, &args->event);
}

tt_error *tt_cpu_buffer_copy_raw(PJRT_Buffer_CopyRawToHost_Args *args) {
  copy plan = {
      .from = args->buffer, .dst = args->dst, .offset = args->offset, .size = args->transfer_size};
  int64_t end = 0;
  args->event = NULL;
  if (args->offset < 0 || args->transfer_size < 0 ||
      __builtin_add_overflow(args->offset, args->transfer_size, &end) || end > args->buffer->size)
    return tt_error_new(
        TT_INVALID_ARGUMENT, "%lld bytes from byte %lld on of a buffer with %lld bytes",
        (long long)args->transfer_size, (long long)args->offset, (long long)args->buffer->size);
  if (args->transfer_size > 0)
    TT_CPU_GIVEN(args->dst);
  if (!tt_cpu_buffer_hold(args->buffer))
    return tt_cpu_buffer_gone();
  return copy_out(&plan, &args->event);
}

/* ---- between devices ---- */

static tt_error *copy_to(PJRT_Buffer *from, PJRT_Memory *memory, PJRT_Buffer **out_buffer) {
  tt_error *err = NULL;
  PJRT_Buffer *to = NULL;
  PJRT_Event *ready = &tt_cpu_event_done;
  copy plan = {.from = from, .size = from->size};
  *out_buffer = NULL;
  if (memory->device->client != from->memory->device->client)
    return tt_error_new(TT_INVALID_ARGUMENT, "the destination belongs to another client");
  if (!tt_cpu_buffer_hold(from))
    return tt_cpu_buffer_gone();
  bool now = tt_cpu_event_ready(from->ready);
  if (!now)
    ready = tt_cpu_event_new();
  if (ready == NULL)
    err = tt_error_no_memory(sizeof *ready);
  if (err == NULL)
    err = tt_cpu_buffer_new_take(memory, &from->type, from->size, ready, &to);
  plan.to = to;
  if (err == NULL && !now) {
    err = start_copy(&plan, memory->device, ready);
  } else {
    if (err == NULL)
      err = copy_now(&plan);
    tt_cpu_buffer_drop(from);
  }
  if (err != NULL)
    tt_cpu_buffer_free(to);
  else
    *out_buffer = to;
  return err;
}

tt_error *tt_cpu_buffer_to_device(PJRT_Buffer_CopyToDevice_Args *args) {
  PJRT_Memory *memory = NULL;
  TT_CPU_GIVEN(args->dst_device);
  TT_RETURN_IF_ERROR(tt_cpu_memory_pick(args->dst_device->client, args->dst_device, NULL, &memory));
  return copy_to(args->buffer, memory, &args->dst_buffer);
}

tt_error *tt_cpu_buffer_to_memory(PJRT_Buffer_CopyToMemory_Args *args) {
  TT_CPU_GIVEN(args->dst_memory);
  return copy_to(args->buffer, args->dst_memory, &args->dst_buffer);
}
