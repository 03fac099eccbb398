#include "fleet.h"

#include <pthread.h>
#include <string.h>

#include "cpu/memory.h"
#include "cpu/sharding.h"

typedef struct device {
  fleet *f;
  tt_cpu_plan *plan;
  tt_cpu_team *team;
  int64_t member;
  pthread_t thread;
} device;

static tt_error *run_device(const device *d) {
  tt_error *err = NULL;
  size_t size = sizeof d->f->in[0];
  void *in = tt_cpu_memory_alloc((int64_t)size), *out = tt_cpu_memory_alloc((int64_t)size);
  const void *inputs[] = {in};
  void *outputs[] = {out};
  tt_cpu_call call = {.inputs = inputs,
                      .outputs = outputs,
                      .replica = d->member / d->f->partitions,
                      .partition = d->member % d->f->partitions,
                      .team = d->team};
  if (in == NULL || out == NULL)
    TT_TRY(tt_error_no_memory(size));
  memcpy(in, d->f->in[d->member], size);
  memset(out, 0, size);
  TT_TRY(tt_cpu_plan_run(d->plan, &call));
  memcpy(d->f->out[d->member], out, size);
out:
  tt_cpu_memory_free(in);
  tt_cpu_memory_free(out);
  return err;
}

static void *work(void *user) {
  device *d = user;
  tt_error *err = run_device(d);
  tt_cpu_team_leave(d->team, d->member, err);
  d->f->errors[d->member] = err;
  return NULL;
}

static tt_error *make_plan(const fleet *f, tt_cpu_plan **out_plan) {
  tt_error *err = NULL;
  tt_hlo_module *module = NULL;
  TT_TRY(tt_hlo_parse(f->text, strlen(f->text), &module));
  TT_TRY(tt_hlo_module_verify(module));
  TT_TRY(tt_cpu_groups_resolve(module));
  TT_TRY(tt_cpu_partition_module(module, f->replicas, f->partitions, NULL, 0));
  TT_TRY(tt_hlo_module_verify(module));
  TT_TRY(tt_cpu_groups_check(module, f->replicas, f->partitions));
  err = tt_cpu_plan_new_take(module, out_plan);
  module = NULL;
out:
  tt_hlo_module_free(module);
  return err;
}

tt_error *fleet_run(fleet *f) {
  tt_error *err = NULL;
  tt_cpu_plan *plan = NULL;
  tt_cpu_team *team = NULL;
  device devices[FLEET_MAX];
  int64_t count = f->replicas * f->partitions, started = 0;
  TT_TRY(make_plan(f, &plan));
  TT_TRY(tt_cpu_team_new(f->replicas, f->partitions,
                         f->wait_ns == 0 ? INT64_C(60000000000) : f->wait_ns, &team));
  for (; started < count; started++) {
    devices[started] = (device){.f = f, .plan = plan, .team = team, .member = started};
    if (!f->absent[started] &&
        pthread_create(&devices[started].thread, NULL, work, &devices[started]) != 0)
      TT_TRY(tt_error_new(TT_RESOURCE_EXHAUSTED, "no thread"));
  }
out:
  for (int64_t i = 0; i < started; i++)
    if (!f->absent[i])
      pthread_join(devices[i].thread, NULL);
  tt_cpu_team_release(team);
  tt_cpu_plan_free(plan);
  return err;
}

void fleet_free(fleet *f) {
  for (int i = 0; i < FLEET_MAX; i++)
    tt_error_free(f->errors[i]);
}
