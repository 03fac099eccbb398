/* Clients that are processes of one program. Here they are threads of one process, which the plugin
 * does not know; what they tell each other goes through sockets all the same. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "pjrt/internal.h"
#include "plugin_test.h"
#include "test.h"

#define SIZE(type) .struct_size = type##_Args_STRUCT_SIZE
enum { PROCESSES = 3, COUNT = 1000 };

/* ---- a key-value store ---- */

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  size_t count;
  struct {
    char key[64], value[512];
  } entries[16];
  const char *spoiled; /* what every value is, if not NULL */
} store = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static PJRT_Error *put_value(PJRT_KeyValuePutCallback_Args *args) {
  pthread_mutex_lock(&store.lock);
  snprintf(store.entries[store.count].key, 64, "%.*s", (int)args->key_size, args->key);
  snprintf(store.entries[store.count].value, 512, "%.*s", (int)args->value_size, args->value);
  store.count++;
  pthread_cond_broadcast(&store.changed);
  pthread_mutex_unlock(&store.lock);
  return NULL;
}

static void free_value(char *value) { free(value); }

static PJRT_Error *get_value(PJRT_KeyValueGetCallback_Args *args) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += args->timeout_in_ms / 1000;
  until.tv_nsec += args->timeout_in_ms % 1000 * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&store.lock);
  for (int rc = 0; args->value == NULL && rc == 0;) {
    for (size_t i = 0; i < store.count; i++)
      if (strlen(store.entries[i].key) == args->key_size &&
          memcmp(store.entries[i].key, args->key, args->key_size) == 0)
        args->value = strdup(store.spoiled != NULL ? store.spoiled : store.entries[i].value);
    if (args->value == NULL)
      rc = pthread_cond_timedwait(&store.changed, &store.lock, &until);
  }
  pthread_mutex_unlock(&store.lock);
  args->value_size = args->value == NULL ? 0 : strlen(args->value);
  args->value_deleter_callback = free_value;
  return args->value != NULL
             ? NULL
             : (*args->callback_error)(PJRT_Error_Code_DEADLINE_EXCEEDED, "nobody has put it", 17);
}

/* ---- processes ---- */

typedef struct process {
  int64_t id, count, devices, wait_ms;
  bool idle;     /* it runs nothing */
  bool mistaken; /* its first call has an argument too few */
  bool leaving;  /* it does not wait for what it runs */
  const char *program;
  PJRT_Client *client;
  tt_error *err;
  char report[512];
  float got[4];
} process;

static tt_error *create(process *p) {
  const PJRT_Api *api = cpu_api();
#define OPTION(text, number)                                                          \
  {PJRT_NamedValue_STRUCT_SIZE, NULL, text, sizeof(text) - 1, PJRT_NamedValue_kInt64, \
   {.int64_value = (number)},   1}
  PJRT_NamedValue options[] = {OPTION("node_id", p->id), OPTION("num_nodes", p->count),
                               OPTION("cpu_device_count", p->devices),
                               OPTION("create_timeout_ms", p->wait_ms),
                               OPTION("collective_timeout_ms", p->wait_ms)};
  PJRT_Client_Create_Args args = {SIZE(PJRT_Client_Create), .create_options = options,
                                  .num_options = TT_COUNT(options), .kv_get_callback = get_value,
                                  .kv_put_callback = put_value};
  tt_error *err = (tt_error *)api->PJRT_Client_Create(&args);
  p->client = args.client;
  return err;
}

/* `0 1 2 of 0 1 1; mine 1 2`: ids and processes of all devices, and the own ones. */
static void tell_devices(process *p) {
  const PJRT_Api *api = cpu_api();
  PJRT_Client_Devices_Args all = {SIZE(PJRT_Client_Devices), .client = p->client};
  PJRT_Client_AddressableDevices_Args own = {SIZE(PJRT_Client_AddressableDevices),
                                             .client = p->client};
  tt_error_free((tt_error *)api->PJRT_Client_Devices(&all));
  tt_error_free((tt_error *)api->PJRT_Client_AddressableDevices(&own));
  char *at = p->report, *end = at + sizeof p->report;
  for (size_t i = 0; i < all.num_devices; i++) {
    PJRT_Device_GetDescription_Args get = {SIZE(PJRT_Device_GetDescription),
                                           .device = all.devices[i]};
    tt_error_free((tt_error *)api->PJRT_Device_GetDescription(&get));
    PJRT_DeviceDescription_Id_Args id = {SIZE(PJRT_DeviceDescription_Id),
                                         .device_description = get.device_description};
    PJRT_DeviceDescription_ProcessIndex_Args index = {SIZE(PJRT_DeviceDescription_ProcessIndex),
                                                      .device_description = get.device_description};
    PJRT_Device_IsAddressable_Args mine = {SIZE(PJRT_Device_IsAddressable),
                                           .device = all.devices[i]};
    tt_error_free((tt_error *)api->PJRT_DeviceDescription_Id(&id));
    tt_error_free((tt_error *)api->PJRT_DeviceDescription_ProcessIndex(&index));
    tt_error_free((tt_error *)api->PJRT_Device_IsAddressable(&mine));
    at += snprintf(at, (size_t)(end - at), "%d@%d%s ", id.id, index.process_index,
                   mine.is_addressable ? "!" : "");
  }
  snprintf(at, (size_t)(end - at), "of %zu", own.num_addressable_devices);
}

static const char program[] =
    "func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {\n"
    "%0 = \"stablehlo.all_reduce\"(%x) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "  %s = stablehlo.add %a, %b : tensor<f32>\n  stablehlo.return %s : tensor<f32>\n})"
    " {replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (tensor<1000xf32>) -> "
    "tensor<1000xf32>\n"
    "%1 = \"stablehlo.collective_permute\"(%0) {source_target_pairs = dense<[[0, 1], [1, 2]]> : "
    "tensor<2x2xi64>} : (tensor<1000xf32>) -> tensor<1000xf32>\n"
    "%2 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, "
    "2]]> : tensor<1x3xi64>} : (tensor<1000xf32>) -> tensor<3000xf32>\n"
    "%3 = stablehlo.slice %2 [1500:2500] : (tensor<3000xf32>) -> tensor<1000xf32>\n"
    "%4 = stablehlo.add %1, %3 : tensor<1000xf32>\nreturn %4 : tensor<1000xf32>\n}\n";

static tt_error *compile(process *p, PJRT_LoadedExecutable **out_loaded) {
  tt_error *err = NULL;
  tt_bytes options = {0};
  int ids[] = {0, 1, 2};
  const char *text = p->program == NULL ? program : p->program;
  tt_pj_compile_options wanted = {.replicas = PROCESSES, .device_ids = ids};
  PJRT_Program code = {.struct_size = PJRT_Program_STRUCT_SIZE,
                       .code = (char *)(uintptr_t)text,
                       .code_size = strlen(text),
                       .format = "mlir",
                       .format_size = 4};
  PJRT_Client_Compile_Args args = {SIZE(PJRT_Client_Compile), .client = p->client,
                                   .program = &code};
  TT_TRY(tt_pj_compile_options_encode(&wanted, &options));
  args.compile_options = options.data;
  args.compile_options_size = options.size;
  TT_TRY((tt_error *)cpu_api()->PJRT_Client_Compile(&args));
  *out_loaded = args.executable;
out:
  tt_bytes_free(&options);
  return err;
}

static tt_error *fill(process *p, PJRT_Buffer **out_buffer) {
  const PJRT_Api *api = cpu_api();
  float data[COUNT];
  int64_t dims[] = {COUNT};
  for (int i = 0; i < COUNT; i++)
    data[i] = (float)(p->id + 1);
  PJRT_Client_BufferFromHostBuffer_Args args = {
      SIZE(PJRT_Client_BufferFromHostBuffer),
      .client = p->client,
      .data = data,
      .type = PJRT_Buffer_Type_F32,
      .dims = dims,
      .num_dims = 1,
      .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall};
  TT_RETURN_IF_ERROR((tt_error *)api->PJRT_Client_BufferFromHostBuffer(&args));
  PJRT_Event_Destroy_Args done = {SIZE(PJRT_Event_Destroy), .event = args.done_with_host_buffer};
  *out_buffer = args.buffer;
  return (tt_error *)api->PJRT_Event_Destroy(&done);
}

static tt_error *read_back(process *p, PJRT_Buffer *buffer) {
  const PJRT_Api *api = cpu_api();
  float data[COUNT];
  PJRT_Buffer_ToHostBuffer_Args args = {SIZE(PJRT_Buffer_ToHostBuffer), .src = buffer, .dst = data,
                                        .dst_size = sizeof data};
  TT_RETURN_IF_ERROR((tt_error *)api->PJRT_Buffer_ToHostBuffer(&args));
  PJRT_Event_Await_Args await = {SIZE(PJRT_Event_Await), .event = args.event};
  tt_error *err = (tt_error *)api->PJRT_Event_Await(&await);
  PJRT_Event_Destroy_Args destroy = {SIZE(PJRT_Event_Destroy), .event = args.event};
  tt_error_free((tt_error *)api->PJRT_Event_Destroy(&destroy));
  for (int i = 0; i < 4; i++)
    p->got[i] = data[i * (COUNT - 1) / 3];
  return err;
}

/* The program, several times. */
static tt_error *run_program(process *p, PJRT_LoadedExecutable *loaded) {
  const PJRT_Api *api = cpu_api();
  tt_error *err = NULL;
  for (int round = 0; round < 5 && err == NULL; round++) {
    PJRT_Buffer *in = NULL, *out = NULL;
    PJRT_Buffer *const *arg_lists[] = {&in};
    PJRT_Buffer **out_lists[] = {&out};
    PJRT_LoadedExecutable_Execute_Args call = {SIZE(PJRT_LoadedExecutable_Execute),
                                               .executable = loaded,
                                               .argument_lists = arg_lists,
                                               .num_devices = 1,
                                               .num_args = 1,
                                               .output_lists = out_lists};
    if (p->mistaken && round == 0)
      EXPECT_ERR((tt_error *)api->PJRT_LoadedExecutable_Execute(&call), TT_INVALID_ARGUMENT,
                 "argument 0 is NULL");
    err = fill(p, &in);
    if (err == NULL)
      err = (tt_error *)api->PJRT_LoadedExecutable_Execute(&call);
    if (err == NULL && !p->leaving)
      err = read_back(p, out);
    tt_pj_buffer_free(cpu_plugin(), in);
    tt_pj_buffer_free(cpu_plugin(), out);
  }
  return err;
}

static void *work(void *user) {
  process *p = user;
  PJRT_LoadedExecutable *loaded = NULL;
  p->err = create(p);
  if (p->err == NULL)
    tell_devices(p);
  if (p->err == NULL && p->devices == 1 && p->count == PROCESSES && !p->idle) {
    p->err = compile(p, &loaded);
    if (p->err == NULL)
      p->err = run_program(p, loaded);
  }
  PJRT_LoadedExecutable_Destroy_Args destroy = {SIZE(PJRT_LoadedExecutable_Destroy),
                                                .executable = loaded};
  tt_error_free((tt_error *)cpu_api()->PJRT_LoadedExecutable_Destroy(&destroy));
  return NULL;
}

static void run_all(process *processes, int count) {
  pthread_t threads[PROCESSES];
  cpu_api();
  store.count = 0;
  for (int i = 0; i < count; i++)
    EXPECT(pthread_create(&threads[i], NULL, work, &processes[i]) == 0);
  for (int i = 0; i < count; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < count; i++) {
    PJRT_Client_Destroy_Args destroy = {SIZE(PJRT_Client_Destroy), .client = processes[i].client};
    tt_error_free((tt_error *)cpu_api()->PJRT_Client_Destroy(&destroy));
  }
}

TEST_WITHOUT_TORTURE(cpu_plugin_processes, agree_on_devices) {
  process p[2] = {{.id = 0, .count = 2, .devices = 1, .wait_ms = 10000},
                  {.id = 1, .count = 2, .devices = 2, .wait_ms = 10000}};
  run_all(p, 2);
  for (int i = 0; i < 2; i++)
    EXPECT_OK(p[i].err);
  EXPECT_STR(p[0].report, "0@0! 1@1 2@1 of 1");
  EXPECT_STR(p[1].report, "0@0 1@1! 2@1! of 2");
}

/* all_reduce gives 6 everywhere; permute hands it on, and gives 0 to the first. The slice of what
 * was gathered is 2, and 3 from its middle on. */
TEST_WITHOUT_TORTURE(cpu_plugin_processes, work_together) {
  process p[PROCESSES];
  for (int i = 0; i < PROCESSES; i++)
    p[i] = (process){.id = i, .count = PROCESSES, .devices = 1, .wait_ms = 20000};
  run_all(p, PROCESSES);
  for (int i = 0; i < PROCESSES; i++) {
    double base = i == 0 ? 0 : 6;
    EXPECT_OK(p[i].err);
    EXPECT_DOUBLE((double)p[i].got[0], base + 2, 0);
    EXPECT_DOUBLE((double)p[i].got[3], base + 3, 0);
  }
}

/* A call with a wrong argument takes no number from the runs that others know. */
TEST_WITHOUT_TORTURE(cpu_plugin_processes, a_wrong_call_changes_nothing) {
  process p[PROCESSES];
  for (int i = 0; i < PROCESSES; i++)
    p[i] =
        (process){.id = i, .count = PROCESSES, .devices = 1, .wait_ms = 20000, .mistaken = i == 1};
  run_all(p, PROCESSES);
  for (int i = 0; i < PROCESSES; i++) {
    EXPECT_OK(p[i].err);
    EXPECT_DOUBLE((double)p[i].got[0], (i == 0 ? 0 : 6) + 2, 0);
  }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A client that is destroyed does not wait for others who do not come. */
TEST_WITHOUT_TORTURE(cpu_plugin_processes, destroyed_while_running) {
  process p[PROCESSES];
  double begin = seconds();
  for (int i = 0; i < PROCESSES; i++)
    p[i] = (process){.id = i,
                     .count = PROCESSES,
                     .devices = 1,
                     .wait_ms = 60000,
                     .leaving = true,
                     .idle = i == 2};
  run_all(p, PROCESSES);
  for (int i = 0; i < PROCESSES; i++)
    EXPECT_OK(p[i].err);
  EXPECT(seconds() - begin < 30);
}

/* Processes whose programs differ in what is done among them. */
TEST_WITHOUT_TORTURE(cpu_plugin_processes, programs_differ) {
  char other[sizeof program];
  process p[PROCESSES];
  memcpy(other, program, sizeof program);
  memcpy(strstr(other, "[[0, 1], [1, 2]]"), "[[0, 1], [2, 0]]", 16);
  for (int i = 0; i < PROCESSES; i++)
    p[i] = (process){.id = i,
                     .count = PROCESSES,
                     .devices = 1,
                     .wait_ms = 20000,
                     .program = i == 2 ? other : NULL};
  run_all(p, PROCESSES);
  for (int i = 0; i < PROCESSES; i++)
    EXPECT_ERR(p[i].err, TT_INVALID_ARGUMENT, "is at another operation");
}

TEST_WITHOUT_TORTURE(cpu_plugin_processes, one_does_not_come) {
  process p[PROCESSES];
  for (int i = 0; i < PROCESSES; i++)
    p[i] = (process){.id = i, .count = PROCESSES, .devices = 1, .wait_ms = 300, .idle = i == 2};
  run_all(p, PROCESSES);
  for (int i = 0; i < 2; i++)
    EXPECT_ERR(p[i].err, TT_DEADLINE_EXCEEDED, "all_reduce on channel 0");
  EXPECT_OK(p[2].err);
}

TEST_WITHOUT_TORTURE(cpu_plugin_processes, mistakes) {
  process alone = {.id = 1, .count = 2, .devices = 1, .wait_ms = 50};
  run_all(&alone, 1);
  EXPECT_ERR(alone.err, TT_DEADLINE_EXCEEDED, "process 0 did not tell of itself");
  process beyond = {.id = 2, .count = 2, .devices = 1, .wait_ms = 50};
  run_all(&beyond, 1);
  EXPECT_ERR(beyond.err, TT_INVALID_ARGUMENT, "node_id 2 of num_nodes 2");
  static const char *const values[] = {"", "tt_cpu 2 devices=1 address=x",
                                       "tt_cpu 1 devices=0 address=x",
                                       "tt_cpu 1 devices=1 address=127.0.0.1/1/0"};
  for (size_t i = 0; i < TT_COUNT(values); i++) {
    process p[2] = {{.id = 0, .count = 2, .devices = 1, .wait_ms = 10000},
                    {.id = 1, .count = 2, .devices = 1, .wait_ms = 10000}};
    store.spoiled = values[i];
    run_all(p, 2);
    store.spoiled = NULL;
    for (int k = 0; k < 2; k++) {
      EXPECT(p[k].err != NULL);
      tt_error_free(p[k].err);
    }
  }
}
