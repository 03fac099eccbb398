/* A plugin that fails on demand: XLA's CPU plugin, of which some calls go wrong. Built as
 * faulty/xla_cpu_pjrt.so, so that the client knows it by the name of what is under it.
 *
 * Whoever has opened it finds two functions beside GetPjrtApi, by dlsym or ctypes:
 *   void tt_faulty_fail(const char *what, int code, int after);
 *     the `after`th call from now on (1: the next) fails with PJRT error `code`, once. what:
 *     "compile", "upload", "execute": the call returns the error;
 *     "run": the call succeeds, and its outputs turn out to be failed when they are waited for, as
 * do those of programs that read them. long tt_faulty_count(const char *what); calls so far of
 * "compile", "upload", "execute"; "buffers": outputs of programs now alive. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pjrt_c_api.h"

enum { COMPILE, UPLOAD, EXECUTE, RUN, KINDS, BUFFERS_MAX = 65536, ROUND = 4096 };
static const char *const kind_names[KINDS] = {"compile", "upload", "execute", "run"};

/* An error or event of ours lies in one of these arrays, which are used round and round. */
typedef struct fake_error {
  int code;
} fake_error;
typedef struct fake_event {
  PJRT_Buffer *buffer; /* failed */
} fake_event;

typedef struct output {
  PJRT_Buffer *buffer;
  int code;     /* not 0: failed */
  bool awaited; /* until then its event is not ready */
} output;

static const PJRT_Api *under;
static PJRT_Api api;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* locked by `lock` */
static fake_error errors[ROUND];
static fake_event events[ROUND];
static size_t errors_used, events_used;
static output outputs[BUFFERS_MAX];
static size_t outputs_count;
static long counts[KINDS], fail_at[KINDS];
static int fail_code[KINDS];

__attribute__((visibility("default"))) void tt_faulty_fail(const char *what, int code, int after);
__attribute__((visibility("default"))) long tt_faulty_count(const char *what);
__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void);

static int kind_of(const char *what) {
  for (int i = 0; i < KINDS; i++)
    if (strcmp(kind_names[i], what) == 0)
      return i;
  fprintf(stderr, "faulty plugin: no kind %s\n", what);
  abort();
}

void tt_faulty_fail(const char *what, int code, int after) {
  int kind = kind_of(what);
  pthread_mutex_lock(&lock);
  fail_at[kind] = counts[kind] + after;
  fail_code[kind] = code;
  pthread_mutex_unlock(&lock);
}

long tt_faulty_count(const char *what) {
  long count;
  pthread_mutex_lock(&lock);
  count = strcmp(what, "buffers") == 0 ? (long)outputs_count : counts[kind_of(what)];
  pthread_mutex_unlock(&lock);
  return count;
}

/* ---- errors; `lock` is held unless it says otherwise ---- */

static PJRT_Error *new_error(int code) {
  fake_error *error = &errors[errors_used++ % ROUND];
  error->code = code;
  return (PJRT_Error *)(void *)error;
}

static fake_error *ours(const PJRT_Error *error) {
  const char *at = (const char *)error;
  return at >= (char *)errors && at < (char *)(errors + ROUND) ? (fake_error *)(void *)(uintptr_t)at
                                                               : NULL;
}

/* Whether this call is the one that fails: its code, else 0. */
static int count_call(int kind) { return ++counts[kind] == fail_at[kind] ? fail_code[kind] : 0; }

static PJRT_Error *fail_now(int kind) {
  PJRT_Error *error = NULL;
  pthread_mutex_lock(&lock);
  int code = count_call(kind);
  if (code != 0)
    error = new_error(code);
  pthread_mutex_unlock(&lock);
  return error;
}

static void error_destroy(PJRT_Error_Destroy_Args *args) {
  if (ours(args->error) == NULL)
    under->PJRT_Error_Destroy(args);
}

static void error_message(PJRT_Error_Message_Args *args) {
  if (ours(args->error) == NULL) {
    under->PJRT_Error_Message(args);
    return;
  }
  args->message = "a fault on demand";
  args->message_size = strlen(args->message);
}

static PJRT_Error *error_code(PJRT_Error_GetCode_Args *args) {
  fake_error *error = ours(args->error);
  if (error == NULL)
    return under->PJRT_Error_GetCode(args);
  args->code = (PJRT_Error_Code)error->code;
  return NULL;
}

/* ---- outputs ---- */

static output *find_output(const PJRT_Buffer *buffer) {
  for (size_t i = 0; i < outputs_count; i++)
    if (outputs[i].buffer == buffer)
      return &outputs[i];
  return NULL;
}

static int failure_of(const PJRT_Buffer *buffer) {
  const output *found = find_output(buffer);
  return found != NULL ? found->code : 0;
}

static PJRT_Error *buffer_destroy(PJRT_Buffer_Destroy_Args *args) {
  pthread_mutex_lock(&lock);
  output *found = find_output(args->buffer);
  if (found != NULL)
    *found = outputs[--outputs_count];
  pthread_mutex_unlock(&lock);
  return under->PJRT_Buffer_Destroy(args);
}

static PJRT_Error *new_event(PJRT_Buffer *buffer, PJRT_Event **out_event) {
  fake_event *event = &events[events_used++ % ROUND];
  event->buffer = buffer;
  *out_event = (PJRT_Event *)(void *)event;
  return NULL;
}

static PJRT_Error *buffer_ready(PJRT_Buffer_ReadyEvent_Args *args) {
  pthread_mutex_lock(&lock);
  bool failed = failure_of(args->buffer) != 0;
  if (failed)
    new_event(args->buffer, &args->event);
  pthread_mutex_unlock(&lock);
  return failed ? NULL : under->PJRT_Buffer_ReadyEvent(args);
}

static PJRT_Error *buffer_to_host(PJRT_Buffer_ToHostBuffer_Args *args) {
  pthread_mutex_lock(&lock);
  bool failed = failure_of(args->src) != 0;
  if (failed)
    new_event(args->src, &args->event);
  pthread_mutex_unlock(&lock);
  return failed ? NULL : under->PJRT_Buffer_ToHostBuffer(args);
}

/* ---- events ---- */

static fake_event *our_event(const PJRT_Event *event) {
  const char *at = (const char *)event;
  return at >= (char *)events && at < (char *)(events + ROUND) ? (fake_event *)(void *)(uintptr_t)at
                                                               : NULL;
}

static PJRT_Error *event_destroy(PJRT_Event_Destroy_Args *args) {
  return our_event(args->event) != NULL ? NULL : under->PJRT_Event_Destroy(args);
}

static PJRT_Error *event_is_ready(PJRT_Event_IsReady_Args *args) {
  const fake_event *event = our_event(args->event);
  if (event == NULL)
    return under->PJRT_Event_IsReady(args);
  pthread_mutex_lock(&lock);
  const output *found = find_output(event->buffer);
  args->is_ready = found == NULL || found->awaited;
  pthread_mutex_unlock(&lock);
  return NULL;
}

static PJRT_Error *failure(fake_event *event) {
  PJRT_Error *error = NULL;
  pthread_mutex_lock(&lock);
  output *found = find_output(event->buffer);
  if (found != NULL) {
    found->awaited = true;
    error = new_error(found->code);
  }
  pthread_mutex_unlock(&lock);
  return error;
}

static PJRT_Error *event_error(PJRT_Event_Error_Args *args) {
  fake_event *event = our_event(args->event);
  return event == NULL ? under->PJRT_Event_Error(args) : failure(event);
}

static PJRT_Error *event_await(PJRT_Event_Await_Args *args) {
  fake_event *event = our_event(args->event);
  return event == NULL ? under->PJRT_Event_Await(args) : failure(event);
}

static PJRT_Error *event_on_ready(PJRT_Event_OnReady_Args *args) {
  fake_event *event = our_event(args->event);
  if (event == NULL)
    return under->PJRT_Event_OnReady(args);
  args->callback(failure(event), args->user_arg);
  return NULL;
}

/* ---- calls that fail ---- */

static PJRT_Error *compile(PJRT_Client_Compile_Args *args) {
  PJRT_Error *error = fail_now(COMPILE);
  return error != NULL ? error : under->PJRT_Client_Compile(args);
}

static PJRT_Error *upload(PJRT_Client_BufferFromHostBuffer_Args *args) {
  PJRT_Error *error = fail_now(UPLOAD);
  return error != NULL ? error : under->PJRT_Client_BufferFromHostBuffer(args);
}

static size_t output_count(PJRT_LoadedExecutable *executable) {
  PJRT_LoadedExecutable_GetExecutable_Args get = {
      .struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE,
      .loaded_executable = executable};
  PJRT_Executable_NumOutputs_Args number = {.struct_size =
                                                PJRT_Executable_NumOutputs_Args_STRUCT_SIZE};
  PJRT_Executable_Destroy_Args destroy = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE};
  under->PJRT_LoadedExecutable_GetExecutable(&get);
  number.executable = destroy.executable = get.executable;
  under->PJRT_Executable_NumOutputs(&number);
  under->PJRT_Executable_Destroy(&destroy);
  return number.num_outputs;
}

static int inherited_failure(const PJRT_LoadedExecutable_Execute_Args *args) {
  for (size_t i = 0; i < args->num_args; i++)
    if (failure_of(args->argument_lists[0][i]) != 0)
      return failure_of(args->argument_lists[0][i]);
  return 0;
}

static PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args) {
  PJRT_Error *error = fail_now(EXECUTE);
  size_t count;
  int code;
  if (error != NULL)
    return error;
  count = output_count(args->executable);
  pthread_mutex_lock(&lock);
  code = count_call(RUN);
  if (code == 0)
    code = inherited_failure(args);
  pthread_mutex_unlock(&lock);
  error = under->PJRT_LoadedExecutable_Execute(args);
  if (error != NULL)
    return error;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count && outputs_count < BUFFERS_MAX; i++)
    outputs[outputs_count++] = (output){args->output_lists[0][i], code, false};
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* ---- the table ---- */

static void override_calls(void) {
  api.PJRT_Error_Destroy = error_destroy;
  api.PJRT_Error_Message = error_message;
  api.PJRT_Error_GetCode = error_code;
  api.PJRT_Event_Destroy = event_destroy;
  api.PJRT_Event_IsReady = event_is_ready;
  api.PJRT_Event_Error = event_error;
  api.PJRT_Event_Await = event_await;
  api.PJRT_Event_OnReady = event_on_ready;
  api.PJRT_Buffer_Destroy = buffer_destroy;
  api.PJRT_Buffer_ReadyEvent = buffer_ready;
  api.PJRT_Buffer_ToHostBuffer = buffer_to_host;
  api.PJRT_Client_Compile = compile;
  api.PJRT_Client_BufferFromHostBuffer = upload;
  api.PJRT_LoadedExecutable_Execute = execute;
}

const PJRT_Api *GetPjrtApi(void) {
  const char *path = getenv("TT_FAULTY_OVER");
  const PJRT_Api *(*get)(void) = NULL;
  void *library = dlopen(path != NULL ? path : TT_FAULTY_OVER, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library != NULL ? dlsym(library, "GetPjrtApi") : NULL;
  if (symbol == NULL)
    return NULL;
  memcpy(&get, &symbol, sizeof get);
  under = get();
  memcpy(&api, under, under->struct_size < sizeof api ? under->struct_size : sizeof api);
  if (api.struct_size > sizeof api)
    api.struct_size = sizeof api;
  override_calls();
  return &api;
}
