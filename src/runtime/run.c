#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "runtime/internal.h"

/* ---- finding the program ---- */

static uint64_t hash_of(const tt_rt_shape *shape) {
  return tt_map_hash(shape->words, shape->words_count * sizeof *shape->words);
}

static tt_rt_program *lookup(tt_rt *rt, const tt_rt_shape *shape, uint64_t *out_hash) {
  size_t size = shape->words_count * sizeof *shape->words;
  *out_hash = hash_of(shape);
  return tt_map_get(&rt->programs, shape->words, size, *out_hash);
}

/* Keeps a program that was just built, unless another thread was quicker. */
static tt_error *remember(tt_rt *rt, const tt_rt_shape *shape, uint64_t hash,
                          tt_rt_program **program) {
  size_t size = shape->words_count * sizeof *shape->words;
  tt_rt_program *other = tt_map_get(&rt->programs, shape->words, size, hash);
  tt_error *err;
  if (other != NULL) {
    tt_rt_program_free(rt, *program);
    *program = other;
    return NULL;
  }
  err = tt_map_put(&rt->programs, shape->words, size, hash, *program);
  if (err != NULL) {
    tt_rt_program_free(rt, *program);
    *program = NULL;
  }
  return err;
}

static void fix_slots(tt_rt_family *family, const tt_rt_shape *shape, const uint8_t *allowed) {
  for (size_t i = 0; i < family->slots_count; i++)
    if (family->promoted[i] && !allowed[i] && shape->slots[i].tensor == NULL) {
      family->fixed[i] = 1;
      family->promoted[i] = 0;
    }
}

/* Builds with the slots that `promoted` names; those that a rule wants as numbers are cleared
 * there. Unlocks while it works: the call's storages are held by the caller. A meta kernel may call
 * back into tt_rt_run on this thread, so the shape is the caller's own copy by then. */
static tt_error *build(tt_rt *rt, tt_rt_call *call, const tt_rt_shape *shape, uint8_t *promoted,
                       const tt_rt_meta *metas, size_t metas_count, tt_rt_program **out_program) {
  tt_error *err = NULL;
  *out_program = NULL;
  pthread_mutex_unlock(&rt->lock);
  for (size_t tries = 0; err == NULL && *out_program == NULL && tries <= shape->slots_count + 1;
       tries++)
    err = tt_rt_program_build(rt, call, shape, promoted, metas, metas_count, out_program);
  pthread_mutex_lock(&rt->lock);
  if (err == NULL && *out_program == NULL)
    err =
        tt_error_new(TT_INTERNAL, "%s: the rule keeps asking for constants", call->rule->overload);
  return err;
}

static tt_rt_base base_now(const tt_rt_storage *storage) {
  tt_rt_base base = {.size = storage->size, .written = storage->buffer != NULL};
  if (base.written) {
    base.dtype = storage->dtype;
    base.rank = storage->rank;
    memcpy(base.dims, storage->dims, sizeof base.dims);
  }
  return base;
}

static tt_error *copy_shape(const tt_rt_shape *shape, tt_rt_shape *copy) {
  memset(copy, 0, sizeof *copy);
  copy->words = malloc((shape->words_count + 1) * sizeof *copy->words);
  copy->storages = malloc((shape->storages_count + 1) * sizeof(void *));
  copy->slots = malloc((shape->slots_count + 1) * sizeof *copy->slots);
  copy->bases = malloc((shape->storages_count + 1) * sizeof *copy->bases);
  if (copy->words == NULL || copy->storages == NULL || copy->slots == NULL || copy->bases == NULL)
    return tt_error_no_memory(shape->words_count * sizeof *copy->words);
  copy->words_count = shape->words_count;
  copy->storages_count = shape->storages_count;
  copy->slots_count = shape->slots_count;
  memcpy(copy->words, shape->words, shape->words_count * sizeof *copy->words);
  if (shape->storages_count != 0)
    memcpy(copy->storages, shape->storages, shape->storages_count * sizeof(void *));
  for (size_t i = 0; i < shape->storages_count; i++)
    copy->bases[i] = base_now(shape->storages[i]);
  if (shape->slots_count != 0)
    memcpy(copy->slots, shape->slots, shape->slots_count * sizeof *copy->slots);
  return NULL;
}

static void drop_shape(tt_rt_shape *copy) {
  free(copy->words);
  free(copy->storages);
  free(copy->slots);
  free(copy->bases);
}

/* Whether the program may take the slot's offset as a parameter. Where several tensors are written
 * it may not: whether they share elements would depend on it, and so whether one program can write
 * them all. */
static bool may_move(const tt_rt_call *call, const tt_rt_tensor *tensor) {
  return call->targets_count <= 1 && tt_rt_view_moves(tensor);
}

static tt_error *miss(tt_rt *rt, tt_rt_call *call, tt_rt_shape *shape, const tt_rt_meta *metas,
                      size_t metas_count, tt_rt_program **out_program) {
  tt_error *err = NULL;
  tt_rt_family *family;
  tt_rt_shape own = {0};
  uint8_t *promoted = NULL;
  uint64_t hash;
  *out_program = NULL;
  TT_TRY(copy_shape(shape, &own));
  TT_TRY(tt_rt_family_update(rt, &own, &family));
  promoted = malloc(own.slots_count + 1);
  if (promoted == NULL)
    TT_TRY(tt_error_no_memory(own.slots_count));
  for (size_t i = 0; i < own.slots_count; i++)
    promoted[i] =
        family->promoted[i] && (own.slots[i].tensor == NULL || may_move(call, own.slots[i].tensor));
  tt_rt_shape_promote(&own, promoted);
  *out_program = lookup(rt, &own, &hash);
  if (*out_program != NULL)
    goto out;
  rt->stats.misses++;
  TT_TRY(build(rt, call, &own, promoted, metas, metas_count, out_program));
  fix_slots(family, &own, promoted);
  /* the key of what was built: with the numbers that turned out to be needed */
  memcpy(own.words, shape->words, own.words_count * sizeof *own.words);
  tt_rt_shape_promote(&own, promoted);
  hash = hash_of(&own);
  TT_TRY(remember(rt, &own, hash, out_program));
out:
  drop_shape(&own);
  free(promoted);
  return err;
}

/* On return the thread's shape is that of the program. Building unlocks: another thread may give a
 * storage other content meanwhile, and the call then needs another program. */
static tt_error *find_or_build(tt_rt *rt, tt_rt_call *call, tt_rt_shape *shape,
                               const tt_rt_meta *metas, size_t metas_count,
                               tt_rt_program **out_program) {
  uint64_t built, now = hash_of(shape);
  do {
    built = now;
    TT_RETURN_IF_ERROR(miss(rt, call, shape, metas, metas_count, out_program));
    TT_RETURN_IF_ERROR(tt_rt_shape_take(rt, call, shape)); /* a meta kernel may have used it */
    now = hash_of(shape);
  } while (now != built);
  return NULL;
}

/* ---- running it ---- */

enum { FEW = 64 };
typedef struct run {
  tt_rt *rt;
  tt_rt_call *call;
  const tt_rt_shape *shape;
  tt_rt_program *program;
  tt_pj_buffer **args, **outputs; /* [params_count], [outputs_count] */
  tt_pj_buffer *few_args[FEW], *few_outputs[FEW];
  tt_pj_buffer *own[3]; /* made for this run: scalars and generator state */
  size_t own_count;
} run;

static tt_error *upload(run *r, tt_dtype dtype, int64_t count, const void *data,
                        tt_pj_buffer **out_buffer) {
  tt_pj_host_array array = {.data = data, .dtype = dtype, .dims = &count, .rank = 1};
  TT_RETURN_IF_ERROR(tt_pj_buffer_from_host(r->rt->client, r->call->device->raw, NULL, &array,
                                            TT_PJ_HOST_COPY, out_buffer, NULL));
  r->own[r->own_count++] = *out_buffer;
  return NULL;
}

static tt_error *upload_scalars(run *r, const uint32_t *slots, size_t count, tt_dtype dtype,
                                tt_pj_buffer **out_buffer) {
  size_t bytes = (size_t)tt_dtype_bytes(dtype);
  char few[512] = {0}, *data = count * bytes <= sizeof few ? few : calloc(count, bytes);
  tt_error *err;
  if (data == NULL)
    return tt_error_no_memory(count * bytes);
  for (size_t i = 0; i < count; i++) {
    const tt_rt_arg *arg = r->shape->slots[slots[i]].arg;
    if (arg == NULL)
      memcpy(data + i * bytes, &r->shape->slots[slots[i]].tensor->offset, bytes);
    else if (dtype == TT_S64)
      memcpy(data + i * bytes, &arg->i, bytes);
    else if (dtype == TT_F64)
      memcpy(data + i * bytes, &arg->real, bytes);
    else
      memcpy(data + i * bytes, &(float){(float)arg->real}, bytes);
  }
  err = upload(r, dtype, (int64_t)count, data, out_buffer);
  if (data != few)
    free(data);
  return err;
}

static tt_error *fill_arg(run *r, size_t i) {
  const tt_rt_program *p = r->program;
  const tt_rt_param *param = &p->params[i];
  switch (param->kind) {
    case TT_RT_PARAM_STORAGE:
      r->args[i] = r->shape->storages[param->index]->buffer;
      return NULL;
    case TT_RT_PARAM_FLOATS:
      return upload_scalars(r, p->float_slots, p->float_slots_count, p->floats_dtype, &r->args[i]);
    case TT_RT_PARAM_INTS:
      return upload_scalars(r, p->int_slots, p->int_slots_count, TT_S64, &r->args[i]);
    default:
      break;
  }
  if (r->call->rng == NULL)
    return tt_error_new(TT_INTERNAL, "%s: a random op without a generator", p->rule->overload);
  uint64_t state[2] = {__atomic_load_n(&r->call->rng->seed, __ATOMIC_RELAXED),
                       __atomic_load_n(&r->call->rng->offset, __ATOMIC_RELAXED)};
  return upload(r, TT_U64, 2, state, &r->args[i]);
}

static tt_error *execute(run *r) {
  const tt_rt_program *p = r->program;
  for (size_t i = 0; i < p->params_count; i++)
    TT_RETURN_IF_ERROR(fill_arg(r, i));
  r->rt->stats.executions++;
  return tt_pj_execute(p->executable->raw, r->args, p->params_count, NULL, r->outputs, NULL);
}

static void take_content(tt_rt_storage *storage, const tt_rt_output *out, tt_pj_buffer *buffer,
                         const char *op) {
  tt_rt_storage_set_base(storage, buffer, out->dtype, out->dims, (size_t)out->rank);
  storage->op = op;
  storage->device->latest = storage;
}

/* Storages for all new results first, so that running out of memory leaves nothing half written. */
static tt_error *make_storages(run *r) {
  for (size_t i = 0; i < r->program->outputs_count; i++) {
    const tt_rt_output *out = &r->program->outputs[i];
    if (out->kind != TT_RT_OUTPUT_NEW)
      continue;
    r->call->results[out->index].storage = tt_rt_storage_make_locked(r->call->device, out->size);
    if (r->call->results[out->index].storage == NULL)
      return tt_error_no_memory(sizeof(tt_rt_storage));
  }
  return NULL;
}

static void store_outputs(run *r) {
  const char *op = r->program->rule->overload;
  for (size_t i = 0; i < r->program->outputs_count; i++) {
    const tt_rt_output *out = &r->program->outputs[i];
    tt_rt_storage *storage;
    if (out->kind == TT_RT_OUTPUT_NEW) {
      take_content(r->call->results[out->index].storage, out, r->outputs[i], op);
    } else if (out->kind == TT_RT_OUTPUT_STORAGE) {
      storage = r->shape->storages[out->index];
      if (!r->rt->in_order)
        tt_rt_unheld_add(storage);
      tt_pj_buffer_free(r->rt->plugin, storage->buffer); /* donated, or replaced */
      take_content(storage, out, r->outputs[i], op);
    } else {
      continue;
    }
    r->outputs[i] = NULL;
  }
}

static void fill_results(run *r) {
  const tt_rt_program *p = r->program;
  r->call->results_count = p->results_count;
  for (size_t i = 0; i < p->results_count; i++) {
    tt_rt_storage *storage = r->call->results[i].storage;
    r->call->results[i] = p->results[i];
    r->call->results[i].storage = storage;
  }
}

static bool has_extras(const tt_rt_program *p) {
  return p->outputs_count != 0 && p->outputs[p->outputs_count - 1].kind >= TT_RT_OUTPUT_COUNT;
}

/* Reads the count and the checks, which stand at the end of the outputs; rt->lock is not held. */
static tt_error *read_extras(run *r) {
  const tt_rt_program *p = r->program;
  for (size_t i = 0; i < p->outputs_count; i++) {
    const tt_rt_output *out = &p->outputs[i];
    int64_t value = 0;
    tt_pj_event *event;
    if (out->kind < TT_RT_OUTPUT_COUNT)
      continue;
    TT_RETURN_IF_ERROR(
        tt_pj_buffer_to_host(r->rt->plugin, r->outputs[i], &value, (size_t)out->size, &event));
    TT_RETURN_IF_ERROR(tt_pj_event_await_take(r->rt->plugin, event));
    if (out->kind == TT_RT_OUTPUT_CHECK && value == 0)
      return tt_error_new(p->check_codes[out->index], "%s", p->check_messages[out->index]);
    for (size_t k = 0; out->kind == TT_RT_OUTPUT_COUNT && k < p->results_count; k++)
      if (p->counted[k])
        r->call->results[k].rows = value;
  }
  return NULL;
}

static void release_results(tt_rt_call *call) {
  for (size_t i = 0; i < call->results_capacity; i++) {
    tt_rt_storage_release(call->results[i].storage);
    call->results[i].storage = NULL;
  }
}

static tt_error *await_results(run *r) {
  for (size_t i = 0; i < r->call->results_count; i++)
    if (r->call->results[i].storage != NULL)
      TT_RETURN_IF_ERROR(tt_rt_storage_await(r->call->results[i].storage));
  for (size_t i = 0; i < r->call->targets_count; i++)
    if (r->call->targets[i].storage != NULL)
      TT_RETURN_IF_ERROR(tt_rt_storage_await(r->call->targets[i].storage));
  return NULL;
}

static tt_error *add_user_line(tt_rt *rt, tt_error *err) {
  const char *line = err != NULL && rt->host.user_line != NULL ? rt->host.user_line() : NULL;
  tt_error *told;
  if (line == NULL)
    return err;
  told = tt_error_new(tt_error_code(err), "%s (%s)", tt_error_message(err), line);
  tt_error_free(err);
  return told;
}

static tt_error *prepare(run *r) {
  const tt_rt_program *p = r->program;
  if (p->results_count > r->call->results_capacity)
    return tt_error_new(TT_INTERNAL, "%s: %zu results, room for %zu", p->rule->overload,
                        p->results_count, r->call->results_capacity);
  r->args = p->params_count <= FEW ? r->few_args : malloc(p->params_count * sizeof *r->args);
  r->outputs =
      p->outputs_count <= FEW ? r->few_outputs : malloc(p->outputs_count * sizeof *r->outputs);
  if (r->args == NULL || r->outputs == NULL)
    return tt_error_no_memory(p->params_count * sizeof *r->args);
  if (p->outputs_count != 0)
    memset(r->outputs, 0, p->outputs_count * sizeof *r->outputs);
  return NULL;
}

static void clean(run *r) {
  for (size_t i = 0; i < r->own_count; i++)
    tt_pj_buffer_free(r->rt->plugin, r->own[i]);
  for (size_t i = 0; r->outputs != NULL && i < r->program->outputs_count; i++)
    tt_pj_buffer_free(r->rt->plugin, r->outputs[i]);
  if (r->args != r->few_args)
    free(r->args);
  if (r->outputs != r->few_outputs)
    free(r->outputs);
}

/* Runs the program that was found; rt->lock is held on entry and not on return. */
static tt_error *run_program(run *r) {
  tt_rt *rt = r->rt;
  bool debug = tt_rt_mode_get(rt) == TT_RT_DEBUG;
  tt_error *err = NULL;
  TT_TRY(prepare(r));
  TT_TRY(make_storages(r));
  if (r->program->executable != NULL) {
    err = execute(r);
    if (err != NULL) {
      memset(r->outputs, 0, r->program->outputs_count * sizeof *r->outputs);
      err = tt_error_wrap_take(err, "%s", r->program->rule->overload);
      goto out;
    }
  }
  fill_results(r);
  r->program->running++;
  if (r->program->checks_count != 0) { /* nothing is written unless they pass */
    pthread_mutex_unlock(&rt->lock);
    err = read_extras(r);
    pthread_mutex_lock(&rt->lock);
  }
  if (err == NULL)
    store_outputs(r);
  if (r->call->rng != NULL)
    __atomic_fetch_add(&r->call->rng->offset, (uint64_t)r->program->rng_blocks, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&rt->lock);
  if (r->program->checks_count == 0 && has_extras(r->program))
    err = read_extras(r);
  if (err == NULL && debug)
    err = await_results(r);
  pthread_mutex_lock(&rt->lock);
  r->program->running--;
out:
  clean(r);
  pthread_mutex_unlock(&rt->lock);
  if (err != NULL)
    release_results(r->call);
  return debug ? add_user_line(rt, err) : err;
}

static tt_error *run_call(tt_rt_call *call, const tt_rt_meta *metas, size_t metas_count) {
  tt_rt *rt = call->device->rt;
  tt_rt_shape *shape = tt_rt_shape_of_thread();
  run r = {.rt = rt, .call = call, .shape = shape};
  tt_error *err;
  uint64_t hash;
  if (shape == NULL)
    return tt_error_no_memory(sizeof *shape);
  for (size_t i = 0; i < call->results_capacity; i++)
    call->results[i].storage = NULL;
  pthread_mutex_lock(&rt->lock);
  err = tt_rt_shape_take(rt, call, shape);
  if (TT_LIKELY(err == NULL)) {
    r.program = lookup(rt, shape, &hash);
    if (TT_LIKELY(r.program != NULL))
      rt->stats.hits++;
    else
      err = find_or_build(rt, call, shape, metas, metas_count, &r.program);
  }
  if (TT_UNLIKELY(err != NULL)) {
    pthread_mutex_unlock(&rt->lock);
    return tt_rt_mode_get(rt) == TT_RT_DEBUG ? add_user_line(rt, err) : err;
  }
  return run_program(&r);
}

/* Debug with a look for NaNs: the call fails when its results are the first to hold one. */
static tt_error *run_and_look(tt_rt_call *call, const tt_rt_meta *metas, size_t metas_count) {
  bool before, after = false;
  tt_error *err = tt_rt_nans_in(call, &before);
  if (err != NULL)
    return err;
  TT_RETURN_IF_ERROR(run_call(call, metas, metas_count));
  if (!before)
    err = tt_rt_nans_out(call, &after);
  if (err == NULL && after)
    err = add_user_line(call->device->rt,
                        tt_error_new(TT_INTERNAL, "%s: made the first NaN, of inputs without one",
                                     call->rule->overload));
  if (err != NULL)
    release_results(call);
  return err;
}

tt_error *tt_rt_run_as(tt_rt_call *call, const tt_rt_meta *metas, size_t metas_count) {
  tt_rt *rt = call->device->rt;
  if (TT_UNLIKELY((call->rule->traits & TT_LOW_NUMBERS) != 0))
    TT_RETURN_IF_ERROR(tt_rt_numbers_check(call));
  if (TT_UNLIKELY(tt_rt_mode_get(rt) == TT_RT_DEBUG && atomic_load(&rt->check_nans)))
    return run_and_look(call, metas, metas_count);
  return run_call(call, metas, metas_count);
}

tt_error *tt_rt_run(tt_rt_call *call) { return tt_rt_run_as(call, NULL, 0); }
