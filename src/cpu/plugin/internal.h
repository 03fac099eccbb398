/* internal.h: what the files of the plugin share. Only this folder knows PJRT.
 *
 * A PJRT_Error is a tt_error. PJRT's other handles are the structs below, so nothing is wrapped.
 * Functions named in api.def take the arguments of their slot, already checked as the table says.
 */
#ifndef TT_CPU_PLUGIN_INTERNAL_H
#define TT_CPU_PLUGIN_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/bytes.h"
#include "cpu/plan.h"
#include "cpu/team.h"
#include "pjrt_c_api.h"

#define TT_CPU_PLATFORM "tt_cpu"
/* Changes with each change of what the plugin does with a program: it goes into fingerprints and
 * serialized executables. */
#define TT_CPU_VERSION "torch_tpu 0.1.0"

#define X(slot, function, given, needs) TT_NODISCARD tt_error *tt_cpu_##function(slot##_Args *args);
#define N(slot, function, needs) TT_NODISCARD tt_error *tt_cpu_##function(slot##_Args *args);
#define MISSING(slot)
#include "cpu/plugin/api.def"
#undef X
#undef N
#undef MISSING

/* Does the caller's struct reach to the end of `field`? One of an older client may not. */
#define TT_CPU_HAS(args, field) \
  ((args)->struct_size >= offsetof(__typeof__(*(args)), field) + sizeof((args)->field))

/* INVALID_ARGUMENT where an argument besides the first is NULL. */
#define TT_CPU_GIVEN(pointer)                                           \
  do {                                                                  \
    if (TT_UNLIKELY((pointer) == NULL))                                 \
      return tt_error_new(TT_INVALID_ARGUMENT, "%s is NULL", #pointer); \
  } while (0)

/* ---- types ---- */

PJRT_Buffer_Type tt_cpu_type_of(const tt_hlo_type *type);
/* UNIMPLEMENTED for element types that StableHLO does not have. */
TT_NODISCARD tt_error *tt_cpu_dtype_of(PJRT_Buffer_Type type, tt_hlo_type *out_type);
/* An array type of `dims`, borrowed, and its size in bytes; checks both. */
TT_NODISCARD tt_error *tt_cpu_array_type(PJRT_Buffer_Type type, const int64_t *dims, size_t rank,
                                         tt_hlo_type *out_type, int64_t *out_size);
/* minor_to_major of row-major arrays of this rank: rank - 1, ..., 1, 0. */
const int64_t *tt_cpu_row_major(size_t rank);
/* OK for NULL and for a dense row-major layout of a type with that rank. */
TT_NODISCARD tt_error *tt_cpu_layout_check(const PJRT_Buffer_MemoryLayout *layout,
                                           const tt_hlo_type *type);
/* Copies an array whose elements have `bytes` bytes between places with these byte strides. */
void tt_cpu_copy_strided(char *dst, const int64_t *dst_strides, const char *src,
                         const int64_t *src_strides, const int64_t *dims, size_t rank,
                         size_t bytes);
void tt_cpu_byte_strides(const tt_hlo_type *type, int64_t *out_strides);

/* ---- events ---- */

typedef struct tt_cpu_waiter tt_cpu_waiter;
struct PJRT_Event {
  atomic_uint refs;
  atomic_bool ready;
  tt_error *err; /* fixed once `ready` */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  tt_cpu_waiter *waiters; /* locked by `lock` */
};

/* An event that is ready without error, shared by all; retaining and releasing it does nothing. */
extern PJRT_Event tt_cpu_event_done;
/* NULL out of memory. */
PJRT_Event *tt_cpu_event_new(void);
PJRT_Event *tt_cpu_event_retain(PJRT_Event *event);
void tt_cpu_event_release(PJRT_Event *event); /* NULL is allowed */
/* Makes it ready, once. Callbacks run before this returns. */
void tt_cpu_event_complete_take(PJRT_Event *event, tt_error *err);
void tt_cpu_event_wait(PJRT_Event *event);
/* A ready event with that error, tt_cpu_event_done for NULL. */
PJRT_Event *tt_cpu_event_of_take(tt_error *err);
static inline bool tt_cpu_event_ready(PJRT_Event *event) {
  return atomic_load_explicit(&event->ready, memory_order_acquire);
}

/* ---- work of a device, in order ---- */

typedef struct tt_cpu_task tt_cpu_task;
struct tt_cpu_task {
  /* Does the work and frees the task; what it returns completes the event that `done` was. */
  tt_error *(*run)(tt_cpu_task *task);
  PJRT_Event *done; /* the queue's own reference */
  tt_cpu_task *next;
};

typedef struct tt_cpu_queue {
  pthread_mutex_t lock;
  pthread_cond_t more, room;
  pthread_t thread;
  tt_cpu_task *first, **last; /* locked by `lock`, as are `started` and `stopping` */
  atomic_size_t count;        /* of tasks, the running one included */
  size_t bound;
  bool started, stopping;
} tt_cpu_queue;

void tt_cpu_queue_init(tt_cpu_queue *queue, size_t bound);
/* Finishes what is queued. */
void tt_cpu_queue_close(tt_cpu_queue *queue);
/* Waits while the queue is full, unless on a queue's own thread. Where no thread can be started the
 * task runs here. */
void tt_cpu_queue_put(tt_cpu_queue *queue, tt_cpu_task *task);
/* The two halves of that, for tasks that wait for tasks of other queues and so must stand in all
 * queues in one order: open starts the thread, false where it cannot, and waits for room; add does
 * not wait. */
bool tt_cpu_queue_open(tt_cpu_queue *queue);
void tt_cpu_queue_add(tt_cpu_queue *queue, tt_cpu_task *task);
static inline bool tt_cpu_queue_idle(tt_cpu_queue *queue) {
  return atomic_load_explicit(&queue->count, memory_order_acquire) == 0;
}

/* ---- client, devices, topology ---- */

typedef enum tt_cpu_kind {
  TT_CPU_DEVICE,
  TT_CPU_PINNED,
  TT_CPU_UNPINNED,
  TT_CPU_KIND_COUNT
} tt_cpu_kind;
extern const char *const tt_cpu_kind_names[TT_CPU_KIND_COUNT];

enum { TT_CPU_DEVICES_MAX = 1024, TT_CPU_ADDRESS_SIZE = 256 };

struct PJRT_DeviceDescription {
  int id;
  int process;
  char name[48], debug[96];
};

struct PJRT_TopologyDescription {
  size_t count;
  PJRT_DeviceDescription **list; /* [count]; they stand behind it, in the same allocation */
};
TT_NODISCARD tt_error *tt_cpu_topology_new(size_t count, PJRT_TopologyDescription **out_topology);

struct PJRT_Memory {
  PJRT_Device *device;
  tt_cpu_kind kind;
  int id;
  char name[64];
};

struct PJRT_Device {
  PJRT_Client *client;
  PJRT_DeviceDescription *description;
  PJRT_Memory memories[TT_CPU_KIND_COUNT];
  PJRT_Memory *memory_list[TT_CPU_KIND_COUNT];
  PJRT_Device *self; /* the list of devices that its memories have */
  tt_cpu_queue queue;
};

struct PJRT_Client {
  PJRT_TopologyDescription *topology;
  size_t count;              /* of all processes */
  PJRT_Device **list;        /* [count] */
  PJRT_Memory **memory_list; /* [local * TT_CPU_KIND_COUNT] */
  PJRT_Device *devices;      /* [count]; those of other processes have no memories and do nothing */
  size_t first, local;       /* this process's in the list */
  int process;
  tt_cpu_exchange *exchange; /* NULL: there is one process */
  bool synchronous;
  int64_t meeting_ns;     /* how long devices wait for each other */
  pthread_mutex_t launch; /* held while a run of several devices is put in their queues */
};

static inline bool tt_cpu_device_is_local(const PJRT_Device *device) {
  return device->description->process == device->client->process;
}

/* ---- several processes ---- */

typedef struct tt_cpu_processes {
  int64_t own, count;
  int64_t devices; /* own ones */
  int64_t wait_ms; /* for each other process */
} tt_cpu_processes;

/* Tells the others of this process and its address, and learns theirs: `out_devices` [count] is how
 * many each has. */
TT_NODISCARD tt_error *tt_cpu_processes_meet(const PJRT_Client_Create_Args *args,
                                             tt_cpu_exchange *exchange, const tt_cpu_processes *p,
                                             int64_t *out_devices);

/* The memory that a call means: `memory`, else the default one of `device`, else that of device 0.
 */
TT_NODISCARD tt_error *tt_cpu_memory_pick(PJRT_Client *client, PJRT_Device *device,
                                          PJRT_Memory *memory, PJRT_Memory **out_memory);

/* ---- buffers ---- */

/* Whose memory an array has, where it is not tt_cpu_memory_alloc's. */
typedef struct tt_cpu_owner {
  PJRT_Event *done; /* completed when the memory is no longer needed; may be NULL */
  void (*release)(void *pointer, void *user); /* may be NULL */
  void *user;
  bool writable;
} tt_cpu_owner;

typedef struct tt_cpu_storage {
  void *data;
  tt_cpu_owner *owner; /* NULL: tt_cpu_memory_free */
} tt_cpu_storage;

/* In PJRT_Buffer.use: two marks, and the number of holds on the storage. The handle is one hold
 * until the buffer is deleted; each task that needs the content is another. */
#define TT_CPU_DELETED (1u << 31)
#define TT_CPU_DESTROYED (1u << 30)
#define TT_CPU_HOLDS (TT_CPU_DESTROYED - 1)

struct PJRT_Buffer {
  atomic_uint use;
  atomic_uint external; /* of the holds, those by external references */
  PJRT_Memory *memory;
  PJRT_Event *ready;      /* fixed */
  tt_cpu_storage storage; /* written before `ready` */
  int64_t size;
  tt_hlo_type type; /* dims: those below */
  int64_t dims[];
};

/* A buffer without storage, with one hold for the handle. Takes `ready` over, also on error. */
TT_NODISCARD tt_error *tt_cpu_buffer_new_take(PJRT_Memory *memory, const tt_hlo_type *type,
                                              int64_t size, PJRT_Event *ready,
                                              PJRT_Buffer **out_buffer);
void tt_cpu_buffer_free(PJRT_Buffer *buffer); /* as PJRT_Buffer_Destroy; NULL is allowed */
/* A hold; false where the buffer was deleted or donated. */
bool tt_cpu_buffer_hold(PJRT_Buffer *buffer);
void tt_cpu_buffer_drop(PJRT_Buffer *buffer);
/* Deletes the buffer, its handle's hold becoming the caller's; false where it was deleted. */
bool tt_cpu_buffer_donate(PJRT_Buffer *buffer);
void tt_cpu_buffer_undonate(PJRT_Buffer *buffer);
/* With the donor's hold: is it the only one, and may the memory be written? */
bool tt_cpu_buffer_takeable(PJRT_Buffer *buffer);
TT_NODISCARD tt_error *tt_cpu_buffer_alloc(PJRT_Buffer *buffer);
TT_NODISCARD tt_error *tt_cpu_buffer_gone(void); /* the error of using one that was deleted */
/* Waits for the content: NULL, or a copy of the error that kept it from coming. */
TT_NODISCARD tt_error *tt_cpu_buffer_await(PJRT_Buffer *buffer);

/* ---- programs ---- */

/* What we read of CompileOptionsProto. */
typedef struct tt_cpu_options {
  int64_t replicas, partitions, device_ordinal;
  bool portable;
  int64_t *device_ids; /* [replicas * partitions], replica-major; NULL: none given */
  size_t device_ids_count;
  /* Of each result, or one for all: may a result of which the program does not say how it is
   * divided stay divided? */
  bool *may_divide;
  size_t may_divide_count;
} tt_cpu_options;

TT_NODISCARD tt_error *tt_cpu_options_read(const char *data, size_t size,
                                           tt_cpu_options *out_options);
void tt_cpu_options_free(tt_cpu_options *options);
/* DeviceAssignmentProto */
TT_NODISCARD tt_error *tt_cpu_assignment_write(const int64_t *ids, size_t replicas,
                                               size_t partitions, tt_bytes *out_bytes);

struct PJRT_Executable {
  atomic_uint refs;
  tt_cpu_plan *plan;
  const tt_cpu_slot *params, *results; /* the plan's */
  size_t params_count, results_count;
  int64_t replicas, partitions;
  bool quick;       /* worth running on the caller's thread */
  tt_bytes code;    /* the program as it was given */
  tt_bytes options; /* CompileOptionsProto, as it was given */
  char *name;
  char fingerprint[33];
  tt_arena arena; /* of the arrays below */
  PJRT_Buffer_Type *types;
  int64_t *dims;
  size_t *ranks;
  const char **kinds;
  size_t *kind_sizes;
  PJRT_NamedValue *costs;
  size_t costs_count;
  pthread_mutex_t lock;
  tt_bytes optimized; /* locked by `lock`; made when first asked for */
  struct tt_cpu_layout **result_layouts, **param_layouts; /* locked by `lock`, in the same way */
};

/* A run of several devices that was not launched on all of them yet. */
typedef struct tt_cpu_gathering {
  tt_cpu_team *team;
  size_t joined; /* devices */
  struct tt_cpu_gathering *next;
  PJRT_Event *dones[]; /* [devices_count]; NULL: not launched yet */
} tt_cpu_gathering;

struct PJRT_LoadedExecutable {
  PJRT_Executable *executable;
  PJRT_Client *client;
  PJRT_Device **devices; /* [devices_count], this process's; none for a portable one */
  size_t devices_count;
  int64_t *members;     /* [devices_count]: their numbers among all that run it */
  int32_t *processes;   /* [replicas * partitions], where some are elsewhere; else NULL */
  uint64_t device_hash; /* of all that run it */
  tt_bytes assignment;  /* DeviceAssignmentProto */
  atomic_bool deleted;
  pthread_mutex_t lock;
  tt_cpu_gathering *gatherings; /* locked by `lock`; the oldest first */
};

TT_NODISCARD tt_error *tt_cpu_executable_new(const char *code, size_t code_size,
                                             const char *options, size_t options_size,
                                             const tt_cpu_options *decoded,
                                             PJRT_Executable **out_executable);
void tt_cpu_executable_release(PJRT_Executable *executable); /* NULL is allowed */
/* The format "mlir". The module has been verified, and is what each device runs. */
TT_NODISCARD tt_error *tt_cpu_program_read(const char *code, size_t size,
                                           const tt_cpu_options *options,
                                           tt_hlo_module **out_module);
TT_NODISCARD tt_error *tt_cpu_load_take(PJRT_Client *client, PJRT_Executable *executable,
                                        const tt_cpu_options *options,
                                        PJRT_LoadedExecutable **out_loaded);
/* Writes and reads what PJRT_Executable_Serialize gives. */
void tt_cpu_image_write(const PJRT_Executable *executable, tt_bytes *out_bytes);
typedef struct tt_cpu_image {
  const char *code, *options; /* into what was read */
  size_t code_size, options_size;
} tt_cpu_image;
TT_NODISCARD tt_error *tt_cpu_image_read(const char *data, size_t size, tt_cpu_image *out_image);

/* A copy of bytes for PJRT's serializing calls, with the function that frees it. */
TT_NODISCARD tt_error *tt_cpu_handout_take(tt_bytes *bytes, const char **out_data, size_t *out_size,
                                           void **out_handle);

#endif /* TT_CPU_PLUGIN_INTERNAL_H */
