#include "cpu/foreign.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/code.h"
#include "cpu/memory.h"
#include "cpu/plan_internal.h"

/* ---- handlers and types, by name ---- */

typedef struct entry {
  struct entry *next;
  union {
    tt_ffi_handler execute;
    int64_t id;
  };
  size_t size;
  char name[];
} entry;

/* Entries are never changed once they are in a list. */
static struct {
  pthread_mutex_t lock;
  _Atomic(entry *) handlers;
  entry *types; /* locked, as is `ids` */
  int64_t ids;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static entry *find(entry *list, const char *name, size_t size) {
  while (list != NULL && (list->size != size || memcmp(list->name, name, size) != 0))
    list = list->next;
  return list;
}

static tt_error *new_entry(tt_ffi_span name, entry **out_entry) {
  entry *made = malloc(sizeof *made + name.len + 1);
  *out_entry = made;
  if (made == NULL)
    return tt_error_no_memory(sizeof *made + name.len);
  made->size = name.len;
  memcpy(made->name, name.ptr, name.len);
  made->name[name.len] = '\0';
  return NULL;
}

static tt_error *check_name(const char *what, tt_ffi_span name) {
  return name.ptr != NULL && name.len > 0 && name.len < 4096
             ? NULL
             : tt_error_new(TT_INVALID_ARGUMENT, "%s of no name, or a very long one", what);
}

/* Locked. */
static tt_error *add_handler(tt_ffi_span name, tt_ffi_handler execute) {
  entry *first = atomic_load(&registry.handlers), *made = NULL;
  const entry *found = find(first, name.ptr, name.len);
  if (found != NULL)
    return found->execute == execute
               ? NULL
               : tt_error_new(TT_ALREADY_EXISTS, "custom call @%s has another handler already",
                              found->name);
  TT_RETURN_IF_ERROR(new_entry(name, &made));
  made->execute = execute;
  made->next = first;
  atomic_store(&registry.handlers, made);
  return NULL;
}

tt_error *tt_cpu_foreign_register(tt_ffi_span name, tt_ffi_handler execute) {
  TT_RETURN_IF_ERROR(check_name("a handler", name));
  if (execute == NULL)
    return tt_error_new(TT_INVALID_ARGUMENT, "custom call @%.*s: the handler is NULL",
                        (int)(name.len > 200 ? 200 : name.len), name.ptr);
  pthread_mutex_lock(&registry.lock);
  tt_error *err = add_handler(name, execute);
  pthread_mutex_unlock(&registry.lock);
  return err;
}

tt_ffi_handler tt_cpu_foreign_find(const char *name) {
  const entry *found = find(atomic_load(&registry.handlers), name, strlen(name));
  return found == NULL ? NULL : found->execute;
}

/* Locked. */
static tt_error *add_type(tt_ffi_span name, int64_t *id) {
  entry *found = find(registry.types, name.ptr, name.len);
  if (found != NULL && *id != 0 && *id != found->id)
    return tt_error_new(TT_INVALID_ARGUMENT, "type %s has the id %lld, not %lld", found->name,
                        (long long)found->id, (long long)*id);
  for (const entry *other = registry.types; found == NULL && other != NULL; other = other->next)
    if (*id == other->id)
      return tt_error_new(TT_INVALID_ARGUMENT, "type id %lld is that of %s", (long long)*id,
                          other->name);
  if (found == NULL) {
    TT_RETURN_IF_ERROR(new_entry(name, &found));
    found->id = *id != 0 ? *id : ++registry.ids;
    registry.ids = found->id > registry.ids ? found->id : registry.ids;
    found->next = registry.types;
    registry.types = found;
  }
  *id = found->id;
  return NULL;
}

tt_error *tt_cpu_foreign_type(tt_ffi_span name, int64_t *id) {
  TT_RETURN_IF_ERROR(check_name("a type", name));
  pthread_mutex_lock(&registry.lock);
  tt_error *err = add_type(name, id);
  pthread_mutex_unlock(&registry.lock);
  return err;
}

/* ---- contexts ---- */

typedef struct value {
  struct value *next;
  int64_t type_id;
  void *data;
  void (*deleter)(void *data);
} value;

struct tt_cpu_context {
  atomic_uint refs;
  value *values;
};

tt_cpu_context *tt_cpu_context_new(void) {
  tt_cpu_context *context = calloc(1, sizeof *context);
  if (context != NULL)
    atomic_init(&context->refs, 1);
  return context;
}

tt_cpu_context *tt_cpu_context_retain(tt_cpu_context *context) {
  if (context != NULL)
    atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
  return context;
}

void tt_cpu_context_release(tt_cpu_context *context) {
  if (context == NULL || atomic_fetch_sub_explicit(&context->refs, 1, memory_order_acq_rel) != 1)
    return;
  while (context->values != NULL) {
    value *v = context->values;
    context->values = v->next;
    if (v->deleter != NULL)
      v->deleter(v->data);
    free(v);
  }
  free(context);
}

static const value *find_value(const tt_cpu_context *context, int64_t type_id) {
  const value *v = context == NULL ? NULL : context->values;
  while (v != NULL && v->type_id != type_id)
    v = v->next;
  return v;
}

tt_error *tt_cpu_context_add(tt_cpu_context *context, int64_t type_id, void *data,
                             void (*deleter)(void *data)) {
  if (find_value(context, type_id) != NULL)
    return tt_error_new(TT_ALREADY_EXISTS, "the context has a value of type id %lld already",
                        (long long)type_id);
  value *v = malloc(sizeof *v);
  if (v == NULL)
    return tt_error_no_memory(sizeof *v);
  *v = (value){context->values, type_id, data, deleter};
  context->values = v;
  return NULL;
}

/* ---- what handlers may call ---- */

struct tt_ffi_context {
  const tt_cpu_call *call;
};

struct tt_ffi_future {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool ready;
  tt_error *err;
};

static tt_ffi_error *give(tt_error *err) { return (tt_ffi_error *)err; }

static tt_ffi_error *missing(const char *what) {
  return give(tt_error_new(TT_UNIMPLEMENTED, "XLA FFI: this plugin has no %s", what));
}

static tt_ffi_error *error_create(tt_ffi_error_create_args *args) {
  return give(
      tt_error_new(tt_code_of(args->code), "%s", args->message == NULL ? "" : args->message));
}

static void error_message(tt_ffi_error_message_args *args) {
  args->message = tt_error_message((const tt_error *)args->error);
}

static void error_destroy(tt_ffi_error_destroy_args *args) {
  tt_error_free((tt_error *)args->error);
}

static tt_ffi_error *handler_register(tt_ffi_register_args *args) {
  if (args->bundle.instantiate != NULL || args->bundle.prepare != NULL ||
      args->bundle.initialize != NULL)
    return missing("stages but execution");
  return give(tt_cpu_foreign_register(args->name, args->bundle.execute));
}

static tt_ffi_error *stream_get(void *args) {
  (void)args;
  return missing("streams");
}

static tt_ffi_error *state(void *args) {
  (void)args;
  return missing("state of handlers");
}

static tt_ffi_error *type_register(tt_ffi_type_args *args) {
  return give(tt_cpu_foreign_type(args->name, &args->type_id->id));
}

static tt_ffi_error *context_get(tt_ffi_context_args *args) {
  const value *v = find_value(args->ctx->call->context, args->type_id->id);
  args->data = v == NULL ? NULL : v->data;
  return v != NULL
             ? NULL
             : give(tt_error_new(TT_NOT_FOUND, "the run's context has no value of type id %lld",
                                 (long long)args->type_id->id));
}

static tt_ffi_error *memory_allocate(tt_ffi_allocate_args *args) {
  args->data = NULL;
  if (args->alignment > TT_CPU_ALIGN || args->size > INT64_MAX / 2)
    return give(tt_error_new(TT_UNIMPLEMENTED, "%zu bytes at multiples of %zu", args->size,
                             args->alignment));
  args->data = tt_cpu_memory_alloc((int64_t)args->size);
  return args->data == NULL ? give(tt_error_no_memory(args->size)) : NULL;
}

static tt_ffi_error *memory_free(tt_ffi_free_args *args) {
  tt_cpu_memory_free(args->data);
  return NULL;
}

/* Tasks may run on the caller's thread, and do. */
static tt_ffi_error *pool_schedule(tt_ffi_schedule_args *args) {
  args->task(args->data);
  return NULL;
}

static tt_ffi_error *pool_threads(tt_ffi_threads_args *args) {
  *args->num_threads = 1;
  return NULL;
}

static tt_ffi_error *future_create(tt_ffi_future_args *args) {
  tt_ffi_future *future = args->future = calloc(1, sizeof *future);
  if (future == NULL)
    return give(tt_error_no_memory(sizeof *future));
  pthread_mutex_init(&future->lock, NULL);
  pthread_cond_init(&future->changed, NULL);
  return NULL;
}

/* Under the lock to its end: who waits frees the future. */
static void settle_take(tt_ffi_future *future, tt_error *err) {
  pthread_mutex_lock(&future->lock);
  future->ready = true;
  future->err = err;
  pthread_cond_signal(&future->changed);
  pthread_mutex_unlock(&future->lock);
}

static tt_ffi_error *future_set_available(tt_ffi_future_args *args) {
  settle_take(args->future, NULL);
  return NULL;
}

static tt_ffi_error *future_set_error(tt_ffi_future_args *args) {
  settle_take(args->future, (tt_error *)args->error);
  return NULL;
}

static tt_error *await_take(tt_ffi_future *future) {
  pthread_mutex_lock(&future->lock);
  while (!future->ready)
    pthread_cond_wait(&future->changed, &future->lock);
  pthread_mutex_unlock(&future->lock);
  tt_error *err = future->err;
  pthread_mutex_destroy(&future->lock);
  pthread_cond_destroy(&future->changed);
  free(future);
  return err;
}

static tt_ffi_error *run_id_get(tt_ffi_run_id_args *args) {
  args->run_id = args->ctx->call->run_id;
  return NULL;
}

static tt_ffi_error *device_ordinal_get(tt_ffi_ordinal_args *args) {
  args->device_ordinal = args->ctx->call->device;
  return NULL;
}

#define HEAD(type) .struct_size = sizeof(type)
static const tt_ffi_api api = {
    HEAD(tt_ffi_api),
    .api_version = {24, NULL, TT_FFI_MAJOR, TT_FFI_MINOR},
    .error_create = error_create,
    .error_message = error_message,
    .error_destroy = error_destroy,
    .handler_register = handler_register,
    .stream_get = stream_get,
    .type_register = type_register,
    .context_get = context_get,
    .state_set = state,
    .state_get = state,
    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .pool_schedule = pool_schedule,
    .pool_threads = pool_threads,
    .future_create = future_create,
    .future_set_available = future_set_available,
    .future_set_error = future_set_error,
    .run_id_get = run_id_get,
    .device_ordinal_get = device_ordinal_get,
};

/* ---- calls ---- */

static const char *name_of(const tt_hlo_op *op) {
  return tt_hlo_op_attr(op, TT_HLO_CALL_TARGET_NAME)->text;
}

static tt_error *unable(const tt_hlo_op *op, const char *why) {
  return tt_error_new(TT_UNIMPLEMENTED, "stablehlo.custom_call @%s: %s", name_of(op), why);
}

static const char *config_of(const tt_hlo_op *op) {
  const tt_hlo_attr *config = tt_hlo_op_attr(op, TT_HLO_BACKEND_CONFIG);
  return config == NULL || config->kind != TT_HLO_ATTR_TEXT ? NULL : config->text;
}

tt_error *tt_cpu_foreign_check(const tt_hlo_op *op) {
  const tt_hlo_attr *version = tt_hlo_op_attr(op, TT_HLO_API_VERSION);
  const tt_hlo_attr *config = tt_hlo_op_attr(op, TT_HLO_BACKEND_CONFIG);
  const tt_hlo_attr *aliases = tt_hlo_op_attr(op, TT_HLO_OUTPUT_OPERAND_ALIASES);
  tt_arena arena = {0};
  tt_ffi_attrs attrs;
  if (version == NULL || version->i64 != 4)
    return unable(op, "its handler is a typed one, for api_version 4");
  if (config != NULL && config->kind == TT_HLO_ATTR_STRING && config->text[0] != '\0')
    return unable(op, "its backend_config is a string, not a dictionary");
  if (aliases != NULL && aliases->text != NULL && strchr(aliases->text, '<') != NULL)
    return unable(op, "output_operand_aliases");
  for (uint32_t i = 0; i < op->operands_count + op->results_count; i++) {
    const tt_hlo_type *type =
        i < op->operands_count ? &op->operands[i]->type : &op->results[i - op->operands_count].type;
    if (!type->token && tt_cpu_foreign_dtype(type->dtype) == 0)
      return unable(op, tt_dtype_name(type->dtype));
  }
  tt_error *err = tt_cpu_foreign_attrs(&arena, config_of(op), &attrs);
  tt_arena_reset(&arena);
  return err == NULL ? NULL : tt_error_wrap_take(err, "stablehlo.custom_call @%s", name_of(op));
}

static tt_ffi_buffer describe(const tt_hlo_type *type, const void *data) {
  tt_ffi_buffer buffer = {HEAD(tt_ffi_buffer)};
  buffer.dtype = type->token ? 17 : tt_cpu_foreign_dtype(type->dtype);
  buffer.data = type->token ? NULL : (void *)(uintptr_t)data;
  buffer.rank = type->token ? 0 : type->rank;
  buffer.dims = type->token ? NULL : (int64_t *)(uintptr_t)type->dims;
  return buffer;
}

/* What a call needs besides the frame. */
typedef struct call {
  tt_ffi_buffer *buffers;
  int32_t *types;
  void **values;
} call;

static bool lay_out(const tt_cpu_args *args, call *c) {
  int64_t count = args->op->operands_count + (int64_t)args->op->results_count;
  c->buffers = tt_cpu_scratch(args->run, count * (int64_t)sizeof *c->buffers);
  c->types = tt_cpu_scratch(args->run, count * (int64_t)sizeof *c->types);
  c->values = tt_cpu_scratch(args->run, count * (int64_t)sizeof(void *));
  return c->buffers != NULL && c->types != NULL && c->values != NULL;
}

static void fill(const tt_cpu_args *args, const call *c) {
  uint32_t ins = args->op->operands_count;
  for (uint32_t i = 0; i < ins + args->op->results_count; i++) {
    c->buffers[i] = i < ins ? describe(&args->op->operands[i]->type, args->in[i])
                            : describe(&args->op->results[i - ins].type, args->out[i - ins]);
    c->types[i] = TT_FFI_BUFFER;
    c->values[i] = &c->buffers[i];
  }
}

static tt_error *invoke(const tt_cpu_args *args, const call *c, const tt_ffi_attrs *attrs) {
  uint32_t ins = args->op->operands_count;
  tt_ffi_context context = {args->run->call};
  tt_ffi_frame frame = {
      .struct_size = offsetof(tt_ffi_frame, future),
      .api = &api,
      .ctx = &context,
      .stage = TT_FFI_EXECUTE,
      .args = {HEAD(tt_ffi_values), NULL, ins, c->types, c->values},
      .rets = {HEAD(tt_ffi_values), NULL, args->op->results_count, c->types + ins, c->values + ins},
      .attrs = *attrs};
  tt_error *err = (tt_error *)tt_cpu_foreign_find(name_of(args->op))(&frame);
  if (frame.future == NULL)
    return err;
  tt_error *later = await_take(frame.future);
  if (err == NULL)
    return later;
  tt_error_free(later);
  return err;
}

/* The attributes are read each time: a plan has no place for them, and a handler's own work is
 * more.
 */
tt_error *tt_cpu_foreign_call(const tt_cpu_args *args) {
  tt_arena arena = {0};
  tt_ffi_attrs attrs;
  call c;
  tt_error *err = NULL;
  if (!lay_out(args, &c))
    return tt_cpu_no_scratch(args->op, 0);
  fill(args, &c);
  err = tt_cpu_foreign_attrs(&arena, config_of(args->op), &attrs);
  if (err == NULL)
    err = invoke(args, &c, &attrs);
  tt_arena_reset(&arena);
  return err == NULL ? NULL : tt_error_wrap_take(err, "custom call @%s", name_of(args->op));
}
