/* Runs of several devices of one process, which wait for each other. */
#include <pthread.h>
#include <string.h>

#include "pjrt/internal.h"
#include "plugin_test.h"
#include "test.h"

#define SIZE(type) .struct_size = type##_Args_STRUCT_SIZE
enum { DEVICES = 4, COUNT = 3000, ROUNDS = 30 };

static const char sum_text[] =
    "func.func @main(%x: tensor<3000xf32>) -> tensor<3000xf32> {\n"
    "%0 = \"stablehlo.all_reduce\"(%x) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "  %s = stablehlo.add %a, %b : tensor<f32>\n  stablehlo.return %s : tensor<f32>\n})"
    " {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<3000xf32>) -> "
    "tensor<3000xf32>\nreturn %0 : tensor<3000xf32>\n}\n";

typedef struct launcher {
  const cpu_setup *s;
  tt_pj_executable *e;
  float base; /* device d brings base + d */
  bool one_by_one;
  bool at_once; /* all is done when the last call returns */
  tt_error *err;
  int right; /* rounds whose results were right */
} launcher;

static tt_error *execute(const launcher *l, tt_pj_buffer *(*in)[1], tt_pj_buffer *(*out)[1]) {
  tt_pj_buffer *const *args[DEVICES];
  tt_pj_buffer **outs[DEVICES];
  for (int d = 0; d < DEVICES; d++) {
    args[d] = in[d];
    outs[d] = out[d];
  }
  PJRT_LoadedExecutable_Execute_Args call = {SIZE(PJRT_LoadedExecutable_Execute),
                                             .executable = l->e->loaded,
                                             .argument_lists = args,
                                             .num_devices = DEVICES,
                                             .num_args = 1,
                                             .output_lists = outs};
  if (!l->one_by_one)
    return (tt_error *)cpu_api()->PJRT_LoadedExecutable_Execute(&call);
  for (int d = DEVICES; d-- > 0;) {
    call.argument_lists = args + d;
    call.output_lists = outs + d;
    call.num_devices = 1;
    call.execute_device = l->s->devices[d];
    TT_RETURN_IF_ERROR((tt_error *)cpu_api()->PJRT_LoadedExecutable_Execute(&call));
  }
  return NULL;
}

static tt_error *check(launcher *l, tt_pj_buffer *(*out)[1]) {
  static _Thread_local float got[COUNT];
  bool right = true;
  for (int d = 0; d < DEVICES; d++) {
    TT_RETURN_IF_ERROR(tt_pj_buffer_to_host(l->s->plugin, out[d][0], got, sizeof got, NULL));
    for (int i = 0; i < COUNT; i++)
      right = right && got[i] == 4 * l->base + 6;
  }
  l->right += right;
  return NULL;
}

/* How many of the outputs are there. */
static int count_ready(tt_pj_buffer *(*out)[1]) {
  int count = 0;
  for (int d = 0; d < DEVICES; d++) {
    PJRT_Buffer_ReadyEvent_Args get = {SIZE(PJRT_Buffer_ReadyEvent), .buffer = out[d][0]};
    tt_error_free((tt_error *)cpu_api()->PJRT_Buffer_ReadyEvent(&get));
    PJRT_Event_IsReady_Args ask = {SIZE(PJRT_Event_IsReady), .event = get.event};
    tt_error_free((tt_error *)cpu_api()->PJRT_Event_IsReady(&ask));
    count += ask.is_ready;
    PJRT_Event_Destroy_Args destroy = {SIZE(PJRT_Event_Destroy), .event = get.event};
    tt_error_free((tt_error *)cpu_api()->PJRT_Event_Destroy(&destroy));
  }
  return count;
}

static tt_error *run_once(launcher *l) {
  tt_error *err = NULL;
  tt_pj_buffer *in[DEVICES][1] = {{NULL}}, *out[DEVICES][1] = {{NULL}};
  for (int d = 0; d < DEVICES; d++)
    TT_TRY(cpu_filled(l->s, l->s->devices[d], COUNT, l->base + (float)d, &in[d][0]));
  TT_TRY(execute(l, in, out));
  if (l->at_once)
    EXPECT_INT(count_ready(out), DEVICES);
  TT_TRY(check(l, out));
out:
  for (int d = 0; d < DEVICES; d++) {
    tt_pj_buffer_free(l->s->plugin, in[d][0]);
    tt_pj_buffer_free(l->s->plugin, out[d][0]);
  }
  return err;
}

static void *launch(void *user) {
  launcher *l = user;
  for (int i = 0; i < ROUNDS && l->err == NULL; i++)
    l->err = run_once(l);
  return NULL;
}

/* Two callers at once: their runs stand in all queues in the same order, or would wait for ever. */
TEST_WITHOUT_TORTURE(cpu_plugin_devices, callers_at_the_same_time) {
  cpu_setup s;
  tt_pj_executable *e = NULL;
  tt_pj_compile_options wide = {.replicas = DEVICES};
  launcher l[2];
  pthread_t thread;
  if (!cpu_set_up(&s, DEVICES))
    goto out;
  REQUIRE_OK(cpu_compile(&s, sum_text, &wide, &e));
  for (int i = 0; i < 2; i++)
    l[i] = (launcher){.s = &s, .e = e, .base = (float)(10 * i)};
  REQUIRE(pthread_create(&thread, NULL, launch, &l[0]) == 0);
  launch(&l[1]);
  pthread_join(thread, NULL);
  for (int i = 0; i < 2; i++) {
    EXPECT_OK(l[i].err);
    EXPECT_INT(l[i].right, ROUNDS);
  }
out:
  tt_pj_executable_free(e);
  cpu_tear_down(&s);
}

TEST_WITHOUT_TORTURE(cpu_plugin_devices, launched_one_by_one) {
  cpu_setup s;
  tt_pj_executable *e = NULL;
  tt_pj_compile_options wide = {.replicas = DEVICES};
  if (!cpu_set_up(&s, DEVICES))
    goto out;
  REQUIRE_OK(cpu_compile(&s, sum_text, &wide, &e));
  {
    launcher l = {.s = &s, .e = e, .base = 1, .one_by_one = true};
    launch(&l);
    EXPECT_OK(l.err);
    EXPECT_INT(l.right, ROUNDS);
  }
out:
  tt_pj_executable_free(e);
  cpu_tear_down(&s);
}

/* A client without a background: the call itself, or the last of several, waits for all. */
TEST_WITHOUT_TORTURE(cpu_plugin_devices, synchronous_client) {
  cpu_setup s = {.plugin = cpu_plugin()};
  tt_pj_executable *e = NULL;
  tt_pj_compile_options wide = {.replicas = DEVICES};
  tt_pj_value options[] = {tt_pj_value_int64("cpu_device_count", DEVICES),
                           tt_pj_value_bool("asynchronous", false)};
  REQUIRE(s.plugin != NULL);
  REQUIRE_OK(tt_pj_client_create(s.plugin, options, 2, &s.client));
  s.devices = tt_pj_client_devices(s.client, &s.count);
  REQUIRE_OK(cpu_compile(&s, sum_text, &wide, &e));
  {
    launcher l = {.s = &s, .e = e, .base = 2, .at_once = true};
    launch(&l);
    EXPECT_OK(l.err);
    EXPECT_INT(l.right, ROUNDS);
    l = (launcher){.s = &s, .e = e, .base = 3, .at_once = true, .one_by_one = true};
    launch(&l);
    EXPECT_OK(l.err);
    EXPECT_INT(l.right, ROUNDS);
  }
out:
  tt_pj_executable_free(e);
  cpu_tear_down(&s);
}

/* The part of one device of several. */
static tt_error *execute_one(const cpu_setup *s, const tt_pj_executable *e, int device,
                             tt_pj_buffer *const *in, tt_pj_buffer **out) {
  PJRT_LoadedExecutable_Execute_Args call = {SIZE(PJRT_LoadedExecutable_Execute),
                                             .executable = e->loaded,
                                             .argument_lists = &in,
                                             .num_devices = 1,
                                             .num_args = 1,
                                             .output_lists = &out,
                                             .execute_device = s->devices[device]};
  return (tt_error *)cpu_api()->PJRT_LoadedExecutable_Execute(&call);
}

/* One device is never given its part: the others end, with the time limit that the client has. */
TEST_WITHOUT_TORTURE(cpu_plugin_devices, one_is_left_out) {
  cpu_setup s = {.plugin = cpu_plugin()};
  tt_pj_executable *e = NULL;
  tt_pj_buffer *in = NULL, *out = NULL;
  tt_pj_compile_options wide = {.replicas = DEVICES};
  tt_pj_value options[] = {tt_pj_value_int64("cpu_device_count", DEVICES),
                           tt_pj_value_int64("collective_timeout_ms", 50)};
  float got[COUNT];
  REQUIRE(s.plugin != NULL);
  REQUIRE_OK(tt_pj_client_create(s.plugin, options, 2, &s.client));
  s.devices = tt_pj_client_devices(s.client, &s.count);
  REQUIRE_OK(cpu_compile(&s, sum_text, &wide, &e));
  REQUIRE_OK(cpu_filled(&s, s.devices[1], COUNT, 1, &in));
  REQUIRE_OK(execute_one(&s, e, 1, &in, &out));
  EXPECT_ERR(tt_pj_buffer_to_host(s.plugin, out, got, sizeof got, NULL), TT_DEADLINE_EXCEEDED,
             "replica 0, partition 0 did not: the time for it is over");
out:
  tt_pj_buffer_free(s.plugin, in);
  tt_pj_buffer_free(s.plugin, out);
  tt_pj_executable_free(e);
  cpu_tear_down(&s);
}

/* An executable that is destroyed before all devices have their part ends those that wait. */
TEST_WITHOUT_TORTURE(cpu_plugin_devices, destroyed_before_all_are_launched) {
  cpu_setup s;
  tt_pj_executable *e = NULL;
  tt_pj_buffer *in = NULL, *out = NULL;
  tt_pj_compile_options wide = {.replicas = DEVICES};
  float got[COUNT];
  if (!cpu_set_up(&s, DEVICES))
    goto out;
  REQUIRE_OK(cpu_compile(&s, sum_text, &wide, &e));
  REQUIRE_OK(cpu_filled(&s, s.devices[1], COUNT, 1, &in));
  REQUIRE_OK(execute_one(&s, e, 1, &in, &out));
  tt_pj_executable_free(e);
  e = NULL;
  EXPECT_ERR(tt_pj_buffer_to_host(s.plugin, out, got, sizeof got, NULL), TT_CANCELLED,
             "the executable is destroyed before it was launched");
out:
  tt_pj_buffer_free(s.plugin, in);
  tt_pj_buffer_free(s.plugin, out);
  tt_pj_executable_free(e);
  cpu_tear_down(&s);
}
