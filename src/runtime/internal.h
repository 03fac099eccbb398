/* internal.h: what the runtime's files share. */
#ifndef TT_RUNTIME_INTERNAL_H
#define TT_RUNTIME_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "runtime/runtime.h"

enum { TT_RT_BASE_RANK = 8 }; /* a buffer has at most so many dims; more are flattened to one */

struct tt_rt_storage {
  _Atomic int64_t references;
  tt_rt_device *device;
  int64_t size; /* bytes, as PyTorch counts them */
  /* locked by rt->lock from here on */
  tt_pj_buffer *buffer; /* NULL: unspecified content */
  tt_dtype dtype;       /* of the buffer */
  int32_t rank;
  int64_t dims[TT_RT_BASE_RANK];
  int64_t counted;                /* bytes of it in the device's account; -1: it is not there */
  int64_t peak_before;            /* the account's peak before it came in */
  bool settled;                   /* the content is known to be there, or to have failed */
  const char *op;                 /* that made the content, for messages; static */
  bool failure_told;              /* somebody has been given the error that the content is */
  tt_rt_storage *next, *previous; /* in device->storages */
  uint64_t mark;                  /* of the call that met it last: serial of the call... */
  uint32_t mark_index;            /* ...and its number there */
};

/* unheld.c: events of work whose results are gone, the oldest first; locked by rt->lock. */
typedef struct tt_rt_unheld {
  tt_pj_event **events; /* [capacity]; count of them from `first` on */
  size_t first, count, capacity;
  size_t awaiting; /* events that a thread has taken to wait for them */
} tt_rt_unheld;

struct tt_rt_device {
  tt_rt *rt;
  int index;
  tt_pj_device *raw;
  char *kind, *name;
  tt_rt_storage *storages; /* locked by rt->lock */
  tt_rt_memory memory;     /* locked by rt->lock */
  tt_rt_storage *latest; /* whose content is the newest, if it is still there; locked by rt->lock */
  tt_rt_unheld unheld;   /* locked by rt->lock */
  pthread_mutex_t awaiting; /* held while unheld work is waited for; taken before rt->lock */
};

struct tt_rt {
  tt_pj_plugin *plugin;
  tt_pj_client *client;
  char *platform, *platform_version;
  tt_rt_device *devices;
  size_t devices_count;
  bool in_order; /* tt_pj_plugin_in_order */
  tt_rt_host host;
  pthread_mutex_t lock;
  /* locked by `lock` */
  tt_map programs;             /* call key -> tt_rt_program */
  tt_map families;             /* key without scalar values -> tt_rt_family */
  tt_map executables;          /* program text -> tt_rt_executable */
  struct tt_rt_program *stale; /* left the cache; a caller may still read the dims of its results */
  tt_rt_stats stats;
  uint64_t serial; /* of calls: see tt_rt_storage.mark */
  _Atomic int mode, precision, default_dtype;
  _Atomic bool check_nans, exact;
  char *cache_folder;      /* on-disk tier; NULL: none. Set at the start */
  tt_error *cache_problem; /* why there is none; set at the start */
  uint64_t identity[2];    /* hash of plugin, flags and processor */
  char *dump_folder;
  int64_t dumps;
};

/* ---- storage.c ---- */

/* A new storage without content, linked into its device; rt->lock is held. NULL when out of memory.
 */
tt_rt_storage *tt_rt_storage_make_locked(tt_rt_device *device, int64_t size);
/* Retains a storage found in its device's list, unless it is about to be freed; rt->lock held. */
bool tt_rt_storage_retain_live(tt_rt_storage *storage);
/* Gives it `buffer` as content, which it owns from now on; the old one is the caller's. rt->lock is
 * held. */
void tt_rt_storage_set_base(tt_rt_storage *storage, tt_pj_buffer *buffer, tt_dtype dtype,
                            const int64_t *dims, size_t rank);

/* ---- unheld.c ---- */

/* The storage or its buffer is about to go: if work still fills that, it can be waited for later.
 * rt->lock is held. */
void tt_rt_unheld_add(tt_rt_storage *storage);
/* Whether all such work is done; rt->lock is held. */
bool tt_rt_unheld_done(tt_rt_device *device);
/* Waits for it; no lock is held. */
void tt_rt_unheld_await(tt_rt_device *device);

/* ---- view.c ---- */

/* The tensor `view` of a storage whose content is `base` (any dims; its dtype is the buffer's), as
 * a value of view->sizes. `offset`, if not NULL, is the view's offset at run time, a scalar i32;
 * then tt_rt_view_moves. */
tt_hlo_value *tt_rt_view_read(tt_hlo_build *b, tt_hlo_value *base, const tt_rt_tensor *view,
                              tt_hlo_value *offset);
/* The storage's content after `value` (of the view's dtype and sizes) is written to `view`; dtype
 * is the view's. */
tt_hlo_value *tt_rt_view_write(tt_hlo_build *b, tt_hlo_value *base, const tt_rt_tensor *view,
                               tt_hlo_value *value, tt_hlo_value *offset);
/* Whether the view could stand at another offset in the same program: its storage has a buffer of
 * the same dtype, in which the view is a slice. */
bool tt_rt_view_moves(const tt_rt_tensor *view);
/* `value` in the order that `strides` give it in memory: what a storage that it fills alone holds.
 */
tt_hlo_value *tt_rt_view_store(tt_hlo_build *b, tt_hlo_value *value, const int64_t *sizes,
                               const int64_t *strides);
/* Whether the view is the whole storage, each element once. */
bool tt_rt_view_covers(const tt_rt_tensor *view, int64_t storage_size);
void tt_rt_view_contiguous_strides(const int64_t *sizes, int32_t rank, int64_t *out_strides);

/* ---- key.c: what a call looks like ---- */

typedef struct tt_rt_slot { /* a number that could be a parameter: a scalar argument's, or a view's
                               offset */
  const tt_rt_arg *arg;     /* NULL for an offset */
  const tt_rt_tensor *tensor; /* whose offset it is; NULL for a scalar */
  bool listed;                /* an element of a list */
  uint32_t word; /* where its value stands in the key: two words, after its header word */
} tt_rt_slot;

/* A storage as it was when the key was taken: what a program is built for. */
typedef struct tt_rt_base {
  int64_t size;
  bool written; /* has content; else the rest is unused */
  tt_dtype dtype;
  int32_t rank;
  int64_t dims[TT_RT_BASE_RANK];
} tt_rt_base;

/* A call taken apart: the key and what a program needs at each run. Reused from call to call; one a
 * thread. */
typedef struct tt_rt_shape {
  uint64_t *words;
  size_t words_count, words_capacity;
  tt_rt_storage **storages; /* each once, in order of appearance */
  size_t storages_count, storages_capacity;
  tt_rt_slot *slots;
  size_t slots_count, slots_capacity;
  tt_rt_base *bases; /* of the storages; only in the copy that a program is built from */
  bool failed;       /* out of memory */
} tt_rt_shape;

/* Fills `shape` for the call; rt->lock is held. */
TT_NODISCARD tt_error *tt_rt_shape_take(tt_rt *rt, const tt_rt_call *call, tt_rt_shape *shape);
/* The thread's own, freed with it. NULL when out of memory. */
tt_rt_shape *tt_rt_shape_of_thread(void);
/* Takes the values of the promoted slots out of the key; the slot's header word is marked. */
void tt_rt_shape_promote(tt_rt_shape *shape, const uint8_t *promoted);
/* Whether the list holds one number several times, as the step sizes of an optimizer's parameters
 * do. It is one slot then: the elements' loops are alike, and a compiler that sees them alike
 * compiles one. */
bool tt_rt_list_repeats(const tt_rt_arg *list);
/* Index among shape->storages. Looks at all of them: another thread may have met the storage since,
 * so its mark tells nothing. */
uint32_t tt_rt_shape_index(const tt_rt_shape *shape, const tt_rt_storage *storage);

/* ---- program.c: a compiled call ---- */

typedef struct tt_rt_executable {
  tt_pj_executable *raw;
  int64_t references; /* programs that use it; locked by rt->lock */
} tt_rt_executable;

typedef enum tt_rt_param_kind {
  TT_RT_PARAM_STORAGE,
  TT_RT_PARAM_FLOATS,
  TT_RT_PARAM_INTS,
  TT_RT_PARAM_RNG
} tt_rt_param_kind;
typedef struct tt_rt_param {
  tt_rt_param_kind kind;
  uint32_t index; /* STORAGE: in shape->storages */
  bool donated;
} tt_rt_param;

typedef enum tt_rt_output_kind {
  TT_RT_OUTPUT_NEW,
  TT_RT_OUTPUT_STORAGE,
  TT_RT_OUTPUT_COUNT,
  TT_RT_OUTPUT_CHECK
} tt_rt_output_kind;
typedef struct tt_rt_output {
  tt_rt_output_kind kind;
  uint32_t index; /* NEW: the result; STORAGE: in shape->storages; CHECK: which */
  tt_dtype dtype;
  int32_t rank;
  int64_t dims[TT_RT_BASE_RANK];
  int64_t size; /* bytes */
} tt_rt_output;

typedef struct tt_rt_program {
  const tt_low_rule *rule;
  tt_rt_executable *executable; /* NULL: nothing to run, all results are empty */
  tt_arena arena;               /* of all below */
  tt_rt_param *params;
  size_t params_count;
  tt_rt_output *outputs;
  size_t outputs_count;
  tt_rt_result *results; /* with storage NULL; copied out on each run */
  bool *counted;         /* [results_count] */
  size_t results_count;
  uint32_t *float_slots, *int_slots; /* promoted slots, in the order of their vectors */
  size_t float_slots_count, int_slots_count;
  tt_dtype floats_dtype; /* F32 or F64 */
  int64_t rng_blocks;
  tt_code *check_codes;
  const char **check_messages;
  size_t checks_count;
  int64_t running;            /* executions that hold it; locked by rt->lock */
  struct tt_rt_program *next; /* in rt->stale */
} tt_rt_program;

/* Builds the call's program: meta, lower, compile. No lock is held. `promoted` [slots_count] says
 * which scalars are parameters; a rule that needs one as a number clears it there and `out_program`
 * is NULL: ask again. `metas` NULL: the host is asked. */
TT_NODISCARD tt_error *tt_rt_program_build(tt_rt *rt, tt_rt_call *call, const tt_rt_shape *shape,
                                           uint8_t *promoted, const tt_rt_meta *metas,
                                           size_t metas_count, tt_rt_program **out_program);
/* rt->lock is held. */
void tt_rt_program_free(tt_rt *rt, tt_rt_program *program);
/* Of a program that will not run again; its dims stay. */
void tt_rt_program_drop_executable(tt_rt_program *program);

/* ---- hints.c ---- */

/* tt_pj_hint of the program that a rule made. */
unsigned tt_rt_hints(const tt_rt *rt, const tt_hlo_func *func, const tt_low_rule *rule);

/* ---- promote.c: which scalars become parameters ---- */

/* What is known of the calls that differ in scalars only. */
typedef struct tt_rt_family {
  size_t slots_count;
  uint8_t *promoted, *fixed; /* [slots_count]; fixed: a rule needs it as a number */
  uint64_t (*last)[2];       /* the value seen last */
} tt_rt_family;

/* The family of the call in `shape`, updated by this call's values: a value that changed is
 * promoted. rt->lock held. */
TT_NODISCARD tt_error *tt_rt_family_update(tt_rt *rt, const tt_rt_shape *shape,
                                           tt_rt_family **out_family);
void tt_rt_family_free(tt_rt_family *family);

/* ---- nans.c: whether a call's inputs and, after it, its results hold a NaN; both wait ---- */

TT_NODISCARD tt_error *tt_rt_nans_in(const tt_rt_call *call, bool *out_has);
TT_NODISCARD tt_error *tt_rt_nans_out(const tt_rt_call *call, bool *out_has);

/* ---- numbers.c ---- */

/* The error that the call's numbers alone make, for the rules of TT_LOW_NUMBERS. */
TT_NODISCARD tt_error *tt_rt_numbers_check(const tt_rt_call *call);

/* ---- disk.c: executables on disk ---- */

TT_NODISCARD tt_error *tt_rt_disk_open(tt_rt *rt, const char *folder);
/* NULL where there is none that is good. No lock is held. */
tt_pj_executable *tt_rt_disk_load(tt_rt *rt, const uint64_t key[2]);
void tt_rt_disk_store(tt_rt *rt, const uint64_t key[2], const tt_pj_executable *raw);

/* ---- run.c ---- */

/* tt_rt_run with the results known beforehand. */
TT_NODISCARD tt_error *tt_rt_run_as(tt_rt_call *call, const tt_rt_meta *metas, size_t metas_count);
/* Waits for the buffer of a storage that is kept alive by the caller; rt->lock is not held. */
int64_t tt_rt_now_ns(void);
/* Brings the device's account up to date with the storage, which counts as soon as it has a buffer;
 * rt->lock is held. */
void tt_rt_account(tt_rt_storage *storage);

#endif /* TT_RUNTIME_INTERNAL_H */
