/* execute.c: runs of a program. Each is prepared on the caller's thread, and run there too where it
 * is small and nothing is in its way; else in the queue of its device. */
#include <stdlib.h>
#include <string.h>

#include "cpu/foreign.h"
#include "cpu/plugin/internal.h"

/* One run on one device. The arrays stand behind the struct. */
typedef struct run {
  tt_cpu_task task;
  PJRT_Executable *executable;
  PJRT_Device *device;
  int64_t member;    /* replica * partitions + partition */
  tt_cpu_team *team; /* NULL: this device is alone */
  tt_cpu_context *context;
  int64_t id;
  size_t held, made;   /* arguments held and outputs made so far */
  PJRT_Buffer **args;  /* [params_count], each held */
  PJRT_Buffer **outs;  /* [results_count], each held besides by its handle */
  const void **inputs; /* [params_count] */
  void **outputs;      /* [results_count] */
  bool *donated;       /* [params_count]; the hold is the handle's */
} run;

/* Runs of up to this size are not allocated. */
enum { STACK = 1024 };

static size_t run_size(const PJRT_Executable *e) {
  return sizeof(run) + (e->params_count + e->results_count) * 2 * sizeof(void *) + e->params_count;
}

static run *lay_out(void *memory, PJRT_Executable *e, PJRT_Device *device, int64_t member) {
  run *r = memory;
  *r = (run){.executable = e, .device = device, .member = member};
  r->args = (PJRT_Buffer **)(r + 1);
  r->outs = r->args + e->params_count;
  r->inputs = (const void **)(r->outs + e->results_count);
  r->outputs = (void **)(r->inputs + e->params_count);
  r->donated = (bool *)(r->outputs + e->results_count);
  return r;
}

/* ---- checking arguments ---- */

static tt_error *wrong_type(size_t index, const tt_hlo_type *want, const tt_hlo_type *got) {
  tt_bytes text = {0};
  tt_hlo_type_print(want, &text);
  tt_bytes_text(&text, ", and the buffer's is ");
  tt_hlo_type_print(got, &text);
  tt_error *err = tt_error_new(TT_INVALID_ARGUMENT,
                               "argument %zu has the wrong type or size: the program's is %s",
                               index, text.data == NULL ? "?" : text.data);
  tt_bytes_free(&text);
  return err;
}

static bool same_type(const tt_hlo_type *a, const tt_hlo_type *b) {
  if (a->token || b->token)
    return a->token == b->token;
  if (a->dtype != b->dtype || a->rank != b->rank)
    return false;
  for (int32_t i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i])
      return false;
  return true;
}

static tt_error *check_argument(const run *r, size_t index, const PJRT_Buffer *buffer) {
  if (TT_UNLIKELY(buffer == NULL))
    return tt_error_new(TT_INVALID_ARGUMENT, "argument %zu is NULL", index);
  const tt_hlo_type *want = &r->executable->params[index].type;
  if (TT_UNLIKELY(!same_type(want, &buffer->type)))
    return wrong_type(index, want, &buffer->type);
  if (TT_UNLIKELY(buffer->memory->device != r->device))
    return tt_error_new(TT_INVALID_ARGUMENT, "argument %zu is on device %d, the program on %d",
                        index, buffer->memory->device->description->id, r->device->description->id);
  return NULL;
}

static tt_error *mark_donated(run *r, const PJRT_ExecuteOptions *options) {
  const PJRT_Executable *e = r->executable;
  for (size_t i = 0; i < e->params_count; i++)
    r->donated[i] = e->params[i].donated || e->params[i].alias >= 0;
  if (options == NULL || !TT_CPU_HAS(options, num_non_donatable_input_indices) ||
      options->num_non_donatable_input_indices == 0)
    return NULL;
  TT_CPU_GIVEN(options->non_donatable_input_indices);
  for (size_t i = 0; i < options->num_non_donatable_input_indices; i++) {
    int64_t index = options->non_donatable_input_indices[i];
    if (index < 0 || (size_t)index >= e->params_count)
      return tt_error_new(TT_INVALID_ARGUMENT,
                          "non_donatable_input_indices: %lld of a program with %zu arguments",
                          (long long)index, e->params_count);
    r->donated[index] = false;
  }
  return NULL;
}

/* ---- preparing ---- */

static void let_go(run *r) {
  for (size_t i = 0; i < r->executable->params_count; i++)
    if (r->args[i] != NULL)
      tt_cpu_buffer_drop(r->args[i]);
}

/* As if the call had not been made. */
static void undo(run *r) {
  for (size_t i = 0; i < r->executable->params_count; i++) {
    if (r->args[i] == NULL)
      continue;
    if (r->donated[i])
      tt_cpu_buffer_undonate(r->args[i]);
    else
      tt_cpu_buffer_drop(r->args[i]);
  }
  for (size_t i = 0; i < r->made; i++) {
    tt_cpu_buffer_drop(r->outs[i]);
    tt_cpu_buffer_free(r->outs[i]);
  }
}

/* Donated ones first: one that stands twice among the arguments is then found deleted. */
static tt_error *hold_arguments(run *r, PJRT_Buffer *const *args) {
  size_t count = r->executable->params_count;
  for (size_t i = 0; i < count; i++)
    TT_RETURN_IF_ERROR(check_argument(r, i, args[i]));
  for (int donating = 1; donating >= 0; donating--)
    for (size_t i = 0; i < count; i++) {
      if (r->donated[i] != donating)
        continue;
      if (TT_UNLIKELY(!(donating ? tt_cpu_buffer_donate(args[i]) : tt_cpu_buffer_hold(args[i]))))
        return tt_error_wrap_take(tt_cpu_buffer_gone(), "argument %zu", i);
      r->args[i] = args[i];
    }
  return NULL;
}

/* Outputs without memory, which comes when the run begins. */
static tt_error *make_outputs(run *r, PJRT_Event *ready) {
  PJRT_Executable *e = r->executable;
  PJRT_Memory *memory = &r->device->memories[TT_CPU_DEVICE];
  for (; r->made < e->results_count; r->made++) {
    const tt_cpu_slot *slot = &e->results[r->made];
    TT_RETURN_IF_ERROR(tt_cpu_buffer_new_take(memory, &slot->type, slot->size,
                                              tt_cpu_event_retain(ready), &r->outs[r->made]));
    tt_cpu_buffer_hold(r->outs[r->made]);
  }
  return NULL;
}

static tt_error *prepare(run *r, PJRT_Buffer *const *args, const PJRT_ExecuteOptions *options,
                         PJRT_Event *ready) {
  if (r->executable->params_count > 0)
    memset(r->args, 0, r->executable->params_count * sizeof *r->args);
  tt_error *err = mark_donated(r, options);
  if (err == NULL)
    err = hold_arguments(r, args);
  if (err == NULL)
    err = make_outputs(r, ready);
  if (err != NULL)
    undo(r);
  return err;
}

/* ---- running ---- */

/* The memory of its alias where nobody else has that, else its own. */
static tt_error *place_output(run *r, size_t index) {
  const PJRT_Executable *e = r->executable;
  int32_t alias = e->results[index].alias;
  PJRT_Buffer *out = r->outs[index];
  PJRT_Buffer *from = alias >= 0 && (size_t)alias < e->params_count ? r->args[alias] : NULL;
  if (from != NULL && r->donated[alias] && from->storage.data != NULL && from->size == out->size &&
      tt_cpu_buffer_takeable(from)) {
    out->storage = from->storage;
    from->storage = (tt_cpu_storage){NULL, NULL};
    return NULL;
  }
  return tt_error_wrap_take(tt_cpu_buffer_alloc(out), "output %zu", index);
}

static tt_error *run_plan(run *r) {
  const PJRT_Executable *e = r->executable;
  for (size_t i = 0; i < e->params_count; i++) {
    tt_cpu_event_wait(r->args[i]->ready);
    if (TT_UNLIKELY(r->args[i]->ready->err != NULL))
      return tt_error_copy(r->args[i]->ready->err);
    r->inputs[i] = r->args[i]->storage.data;
  }
  for (size_t i = 0; i < e->results_count; i++) {
    TT_RETURN_IF_ERROR(place_output(r, i));
    r->outputs[i] = r->outs[i]->storage.data;
  }
  tt_cpu_call call = {.inputs = r->inputs,
                      .outputs = r->outputs,
                      .replica = r->member / e->partitions,
                      .partition = r->member % e->partitions,
                      .team = r->team,
                      .context = r->context,
                      .run_id = r->id,
                      .device = (int32_t)r->device->description->id};
  return tt_cpu_plan_run(e->plan, &call);
}

static tt_error *run_task(tt_cpu_task *task) {
  run *r = (run *)task;
  tt_error *err = run_plan(r);
  if (r->team != NULL)
    tt_cpu_team_leave(r->team, r->member, err);
  tt_cpu_team_release(r->team);
  tt_cpu_context_release(r->context);
  let_go(r);
  for (size_t i = 0; i < r->executable->results_count; i++)
    tt_cpu_buffer_drop(r->outs[i]);
  tt_cpu_executable_release(r->executable);
  free(r);
  return err;
}

/* Puts the outputs' error where their readiness was; nobody has seen them yet. */
static tt_error *poison(run *r, tt_error *err) {
  PJRT_Event *failed = tt_cpu_event_of_take(err);
  if (failed == NULL)
    return tt_error_no_memory(sizeof *failed);
  for (size_t i = 0; i < r->made; i++) {
    tt_cpu_event_release(r->outs[i]->ready);
    r->outs[i]->ready = tt_cpu_event_retain(failed);
  }
  r->task.done = failed;
  return NULL;
}

/* On this thread. `*out_done`, if not NULL, is the run's event. */
static tt_error *run_here(run *r, PJRT_Buffer **outputs, PJRT_Event **out_done) {
  r->task.done = &tt_cpu_event_done;
  tt_error *err = run_plan(r);
  if (TT_UNLIKELY(err != NULL))
    err = poison(r, err);
  let_go(r);
  for (size_t i = 0; i < r->made; i++) {
    tt_cpu_buffer_drop(r->outs[i]);
    if (TT_UNLIKELY(err != NULL))
      tt_cpu_buffer_free(r->outs[i]);
    else
      outputs[i] = r->outs[i];
  }
  if (err == NULL && out_done != NULL)
    *out_done = r->task.done;
  else
    tt_cpu_event_release(r->task.done);
  return err;
}

/* What a call has for one device. */
typedef struct launch {
  PJRT_Executable *executable;
  PJRT_Device *device;
  int64_t member;
  tt_cpu_team *team;
  PJRT_Buffer *const *args;
  PJRT_Buffer **outputs;
  const PJRT_ExecuteOptions *options;
  PJRT_Event **out_done;
} launch;

/* A missing argument is found later. */
static bool all_ready(const launch *l) {
  for (size_t i = 0; i < l->executable->params_count; i++)
    if (l->args[i] != NULL && !tt_cpu_event_ready(l->args[i]->ready))
      return false;
  return true;
}

static tt_cpu_context *context_of(const launch *l) {
  return l->options == NULL || !TT_CPU_HAS(l->options, context)
             ? NULL
             : (tt_cpu_context *)(void *)l->options->context;
}

static int64_t id_of(const launch *l) {
  return l->options == NULL || !TT_CPU_HAS(l->options, launch_id) ? 0 : l->options->launch_id;
}

static bool fits_here(const launch *l) {
  return (l->executable->quick || l->device->client->synchronous) &&
         tt_cpu_queue_idle(&l->device->queue) && run_size(l->executable) <= STACK;
}

static tt_error *launch_here(const launch *l) {
  _Alignas(run) char memory[STACK];
  run *r = lay_out(memory, l->executable, l->device, l->member);
  r->context = context_of(l);
  r->id = id_of(l);
  TT_RETURN_IF_ERROR(prepare(r, l->args, l->options, &tt_cpu_event_done));
  return run_here(r, l->outputs, l->out_done);
}

/* A run that is ready for the queue, its outputs not handed out yet. */
static tt_error *prepare_queued(const launch *l, run **out_run) {
  tt_error *err = NULL;
  PJRT_Event *done = NULL;
  void *memory = malloc(run_size(l->executable));
  *out_run = NULL;
  if (memory == NULL)
    TT_TRY(tt_error_no_memory(run_size(l->executable)));
  done = tt_cpu_event_new();
  if (done == NULL)
    TT_TRY(tt_error_no_memory(sizeof *done));
  {
    run *r = lay_out(memory, l->executable, l->device, l->member);
    TT_TRY(prepare(r, l->args, l->options, done));
    r->task.run = run_task;
    r->task.done = done;
    r->context = tt_cpu_context_retain(context_of(l));
    r->id = id_of(l);
    r->team = l->team == NULL ? NULL : tt_cpu_team_retain(l->team);
    atomic_fetch_add_explicit(&l->executable->refs, 1, memory_order_relaxed);
    *out_run = r;
  }
  return NULL;
out:
  tt_cpu_event_release(done);
  free(memory);
  return err;
}

static void cancel(run *r) {
  undo(r);
  tt_cpu_event_release(r->task.done);
  tt_cpu_team_release(r->team);
  tt_cpu_context_release(r->context);
  tt_cpu_executable_release(r->executable);
  free(r);
}

/* Gives the caller what he gets. `out_done` has a reference of its own. */
static void hand_out(const launch *l, const run *r, PJRT_Event **out_done) {
  for (size_t i = 0; i < r->made; i++)
    l->outputs[i] = r->outs[i];
  *out_done = tt_cpu_event_retain(r->task.done);
  if (l->out_done != NULL)
    *l->out_done = tt_cpu_event_retain(*out_done);
}

static void enqueue(const launch *l, run *r) {
  PJRT_Event *done = NULL;
  hand_out(l, r, &done);
  tt_cpu_queue_put(&l->device->queue, &r->task);
  if (l->device->client->synchronous)
    tt_cpu_event_wait(done);
  tt_cpu_event_release(done);
}

/* ---- several devices ---- */

/* A run that waits for others needs a thread: on the caller's, it would keep them from starting. */
static tt_error *open_queue(PJRT_Device *device) {
  return tt_cpu_queue_open(&device->queue)
             ? NULL
             : tt_error_new(TT_RESOURCE_EXHAUSTED, "no thread can be started for device %d",
                            device->description->id);
}

static tt_error *new_team(const PJRT_LoadedExecutable *loaded, tt_cpu_team **out_team) {
  const PJRT_Executable *e = loaded->executable;
  const PJRT_Client *client = loaded->client;
  TT_RETURN_IF_ERROR(tt_cpu_team_new(e->replicas, e->partitions, client->meeting_ns, out_team));
  if (loaded->processes == NULL)
    return NULL;
  tt_error *err = tt_cpu_team_spread(*out_team, client->exchange, loaded->processes,
                                     client->process, loaded->device_hash);
  if (err != NULL) {
    tt_cpu_team_release(*out_team);
    *out_team = NULL;
  }
  return err;
}

/* ---- PJRT ---- */

static void fill_launch(const PJRT_LoadedExecutable_Execute_Args *args, PJRT_Device *device,
                        size_t index, tt_cpu_team *team, launch *l) {
  *l = (launch){
      .executable = args->executable->executable,
      .device = device,
      .member = args->executable->devices_count == 0 ? 0 : args->executable->members[index],
      .team = team,
      .args = args->num_args == 0 ? NULL : args->argument_lists[index],
      .outputs = args->output_lists[index],
      .options = args->options,
      .out_done =
          args->device_complete_events == NULL ? NULL : &args->device_complete_events[index]};
}

static void wait_for(const PJRT_Client *client, PJRT_Event **dones, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (client->synchronous)
      tt_cpu_event_wait(dones[i]);
    tt_cpu_event_release(dones[i]);
  }
}

/* Two runs that wait among devices stand in all queues in the same order, that of their numbers. */
static tt_error *enqueue_all(const PJRT_LoadedExecutable_Execute_Args *args, tt_cpu_team *team,
                             run **runs, PJRT_Event **dones) {
  PJRT_Client *client = args->executable->client;
  size_t count = args->num_devices;
  launch l;
  pthread_mutex_lock(&client->launch);
  tt_error *err = tt_cpu_team_begin(team);
  for (size_t i = 0; i < count && err == NULL; i++) {
    fill_launch(args, runs[i]->device, i, NULL, &l);
    hand_out(&l, runs[i], &dones[i]);
  }
  for (size_t i = 0; i < count && err == NULL; i++)
    tt_cpu_queue_add(&args->executable->devices[i]->queue, &runs[i]->task);
  pthread_mutex_unlock(&client->launch);
  if (err == NULL)
    wait_for(client, dones, count);
  return err;
}

/* Every device's run is prepared before the first one starts, so that an error leaves nothing
 * behind. */
static tt_error *launch_all(const PJRT_LoadedExecutable_Execute_Args *args) {
  tt_error *err = NULL;
  const PJRT_LoadedExecutable *loaded = args->executable;
  size_t count = args->num_devices, ready = 0;
  tt_cpu_team *team = NULL;
  run **runs = calloc(count, sizeof *runs);
  PJRT_Event **dones = calloc(count, sizeof *dones);
  if (runs == NULL || dones == NULL)
    TT_TRY(tt_error_no_memory(count * sizeof *runs));
  TT_TRY(new_team(loaded, &team));
  for (size_t i = 0; i < count; i++)
    TT_TRY(open_queue(loaded->devices[i]));
  for (; ready < count; ready++) {
    launch l;
    fill_launch(args, loaded->devices[ready], ready, team, &l);
    TT_TRY(prepare_queued(&l, &runs[ready]));
  }
  TT_TRY(enqueue_all(args, team, runs, dones));
out:
  for (size_t i = 0; err != NULL && i < ready; i++)
    cancel(runs[i]);
  tt_cpu_team_release(team);
  free(runs);
  free(dones);
  return err;
}

/* Locked. The oldest run that this device has not joined, or a new one. */
static tt_error *find_gathering(PJRT_LoadedExecutable *loaded, size_t index,
                                tt_cpu_gathering ***out_at) {
  tt_cpu_gathering **at = &loaded->gatherings;
  while (*at != NULL && (*at)->dones[index] != NULL)
    at = &(*at)->next;
  *out_at = at;
  if (*at != NULL)
    return NULL;
  size_t size = sizeof(tt_cpu_gathering) + loaded->devices_count * sizeof(PJRT_Event *);
  tt_cpu_gathering *made = calloc(1, size);
  if (made == NULL)
    return tt_error_no_memory(size);
  tt_error *err = new_team(loaded, &made->team);
  if (err != NULL)
    free(made);
  else
    *at = made;
  return err;
}

/* Locked. Once all have joined, the gathering is the caller's. */
static tt_cpu_gathering *join(tt_cpu_gathering **at, size_t devices) {
  tt_cpu_gathering *gathering = *at;
  if (++gathering->joined < devices)
    return NULL;
  *at = gathering->next;
  return gathering;
}

static tt_error *enqueue_member(const launch *l, run *r, PJRT_Event **out_done) {
  PJRT_Client *client = l->device->client;
  pthread_mutex_lock(&client->launch);
  tt_error *err = tt_cpu_team_begin(l->team);
  if (err == NULL) {
    hand_out(l, r, out_done);
    tt_cpu_queue_add(&l->device->queue, &r->task);
  }
  pthread_mutex_unlock(&client->launch);
  return err;
}

/* One device of several: the n-th call for each device belongs to the n-th run. The last of them
 * waits for all where the client is synchronous. */
static tt_error *launch_member(PJRT_LoadedExecutable *loaded, size_t index, launch *l) {
  run *r = NULL;
  tt_cpu_gathering **at = NULL, *whole = NULL;
  TT_RETURN_IF_ERROR(open_queue(l->device));
  pthread_mutex_lock(&loaded->lock);
  tt_error *err = find_gathering(loaded, index, &at);
  if (err == NULL) {
    l->team = (*at)->team;
    err = prepare_queued(l, &r);
  }
  if (err == NULL) {
    err = enqueue_member(l, r, &(*at)->dones[index]);
    if (err != NULL)
      cancel(r);
    else
      whole = join(at, loaded->devices_count);
  }
  pthread_mutex_unlock(&loaded->lock);
  if (whole != NULL) {
    wait_for(loaded->client, whole->dones, loaded->devices_count);
    tt_cpu_team_release(whole->team);
    free(whole);
  }
  return err;
}

static tt_error *launch_one(const launch *l) {
  run *r = NULL;
  if (fits_here(l) && all_ready(l))
    return launch_here(l);
  TT_RETURN_IF_ERROR(prepare_queued(l, &r));
  enqueue(l, r);
  return NULL;
}

static tt_error *check_call(const PJRT_LoadedExecutable_Execute_Args *args,
                            PJRT_Device *execute_device) {
  const PJRT_LoadedExecutable *loaded = args->executable;
  const PJRT_Executable *e = loaded->executable;
  size_t devices = execute_device != NULL || loaded->devices_count == 0 ? 1 : loaded->devices_count;
  if (atomic_load_explicit(&loaded->deleted, memory_order_relaxed))
    return tt_error_new(TT_INVALID_ARGUMENT, "the executable %s has been deleted", e->name);
  if (args->num_devices != devices)
    return tt_error_new(TT_INVALID_ARGUMENT, "arguments for %zu devices, expected %zu",
                        args->num_devices, devices);
  if (args->num_args != e->params_count)
    return tt_error_new(TT_INVALID_ARGUMENT, "%zu arguments, expected %zu", args->num_args,
                        e->params_count);
  TT_CPU_GIVEN(args->output_lists);
  if (args->num_args > 0)
    TT_CPU_GIVEN(args->argument_lists);
  for (size_t i = 0; i < devices; i++)
    if ((args->num_args > 0 && args->argument_lists[i] == NULL) ||
        (e->results_count > 0 && args->output_lists[i] == NULL))
      return tt_error_new(TT_INVALID_ARGUMENT, "the lists of device %zu are NULL", i);
  return NULL;
}

/* The device of a portable program that was not told one: that of its first argument. */
static PJRT_Device *portable_device(const PJRT_LoadedExecutable_Execute_Args *args) {
  if (args->num_args > 0 && args->argument_lists[0][0] != NULL)
    return args->argument_lists[0][0]->memory->device;
  return args->executable->client->list[args->executable->client->first];
}

/* Among the devices that the program was compiled for; 0 for a portable program. */
static tt_error *index_of(const PJRT_LoadedExecutable *loaded, const PJRT_Device *device,
                          size_t *out_index) {
  *out_index = 0;
  if (device->client != loaded->client)
    return tt_error_new(TT_INVALID_ARGUMENT, "execute_device belongs to another client");
  for (size_t i = 0; i < loaded->devices_count; i++) {
    *out_index = i;
    if (loaded->devices[i] == device)
      return NULL;
  }
  return loaded->devices_count == 0 && tt_cpu_device_is_local(device)
             ? NULL
             : tt_error_new(TT_INVALID_ARGUMENT,
                            "execute_device is device %d, for which the program was not compiled",
                            device->description->id);
}

tt_error *tt_cpu_loaded_execute(PJRT_LoadedExecutable_Execute_Args *args) {
  PJRT_LoadedExecutable *loaded = args->executable;
  PJRT_Device *device = TT_CPU_HAS(args, execute_device) ? args->execute_device : NULL;
  bool team = loaded->executable->replicas * loaded->executable->partitions > 1;
  launch l;
  size_t index = 0;
  TT_RETURN_IF_ERROR(check_call(args, device));
  if (device == NULL && team)
    return launch_all(args);
  if (device == NULL)
    device = loaded->devices_count == 0 ? portable_device(args) : loaded->devices[0];
  TT_RETURN_IF_ERROR(index_of(loaded, device, &index));
  fill_launch(args, device, 0, NULL, &l);
  l.member = loaded->devices_count == 0 ? 0 : loaded->members[index];
  return team ? launch_member(loaded, index, &l) : launch_one(&l);
}
