#include "runtime/device.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "runtime/internal.h"

int64_t tt_rt_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static char *copy_text(tt_pj_text text) {
  char *copy = malloc(text.size + 1);
  if (copy != NULL) {
    if (text.size != 0)
      memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
  }
  return copy;
}

static tt_error *open_devices(tt_rt *rt) {
  tt_pj_device *const *raw = tt_pj_client_devices(rt->client, &rt->devices_count);
  rt->devices = calloc(rt->devices_count, sizeof *rt->devices);
  if (rt->devices == NULL) {
    rt->devices_count = 0;
    return tt_error_no_memory(sizeof *rt->devices);
  }
  for (size_t i = 0; i < rt->devices_count; i++) {
    tt_rt_device *device = &rt->devices[i];
    tt_pj_device_info info;
    device->rt = rt;
    device->index = (int)i;
    device->raw = raw[i];
    pthread_mutex_init(&device->awaiting, NULL);
    TT_RETURN_IF_ERROR(tt_pj_device_describe(rt->plugin, raw[i], &info));
    device->kind = copy_text(info.kind);
    device->name = copy_text(info.name);
    if (device->kind == NULL || device->name == NULL)
      return tt_error_no_memory(info.kind.size);
  }
  return NULL;
}

static tt_error *open_client(tt_rt *rt, const tt_rt_options *options) {
  const char *name = tt_pj_plugin_devices_option(options->plugin);
  tt_pj_value count = {0};
  if (options->devices == 0)
    return tt_pj_client_create(rt->plugin, NULL, 0, &rt->client);
  if (name == NULL)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "PJRT plugin %s: how many devices it has is not to be chosen",
                        options->plugin);
  count = tt_pj_value_int64(name, options->devices);
  return tt_pj_client_create(rt->plugin, &count, 1, &rt->client);
}

tt_error *tt_rt_open(const tt_rt_options *options, tt_rt **out_rt) {
  tt_error *err = NULL;
  tt_rt *rt = calloc(1, sizeof *rt);
  *out_rt = NULL;
  if (rt == NULL)
    return tt_error_no_memory(sizeof *rt);
  pthread_mutex_init(&rt->lock, NULL);
  rt->host = options->host;
  rt->precision = TT_HLO_PRECISION_HIGHEST;
  rt->default_dtype = TT_F32;
  TT_TRY(tt_pj_plugin_open(options->plugin, options->dirs, options->dirs_count, TT_PJ_USE_DEVICES,
                           &rt->plugin));
  TT_TRY(open_client(rt, options));
  rt->in_order = tt_pj_plugin_in_order(options->plugin);
  rt->platform = copy_text(tt_pj_client_platform_name(rt->client));
  rt->platform_version = copy_text(tt_pj_client_platform_version(rt->client));
  if (rt->platform == NULL || rt->platform_version == NULL)
    TT_TRY(tt_error_no_memory(64));
  TT_TRY(open_devices(rt));
  if (options->cache_folder != NULL)
    rt->cache_problem = tt_rt_disk_open(rt, options->cache_folder); /* no tier, but no failure */
  *out_rt = rt;
  rt = NULL;
out:
  tt_rt_close(rt);
  return err;
}

static void free_families(tt_rt *rt) {
  size_t position = 0;
  for (tt_rt_family *family; (family = tt_map_next(&rt->families, &position)) != NULL;)
    tt_rt_family_free(family);
  tt_map_free(&rt->families);
}

static void free_executables(tt_rt *rt) {
  size_t position = 0;
  for (tt_rt_executable *executable;
       (executable = tt_map_next(&rt->executables, &position)) != NULL;) {
    tt_pj_executable_free(executable->raw);
    free(executable);
  }
  tt_map_free(&rt->executables);
}

/* Those that another thread runs stay. */
static void free_stale(tt_rt *rt) {
  tt_rt_program **link = &rt->stale;
  for (tt_rt_program *program; (program = *link) != NULL;) {
    if (program->running != 0) {
      link = &program->next;
      continue;
    }
    *link = program->next;
    tt_rt_program_free(rt, program);
  }
}

void tt_rt_close(tt_rt *rt) {
  if (rt == NULL)
    return;
  for (size_t i = 0; i < rt->devices_count; i++)
    tt_error_free(tt_rt_synchronize(&rt->devices[i]));
  tt_rt_cache_clear(rt);
  free_stale(rt);
  free_families(rt);
  free_executables(rt);
  for (size_t i = 0; i < rt->devices_count; i++) {
    pthread_mutex_destroy(&rt->devices[i].awaiting);
    free(rt->devices[i].unheld.events);
    free(rt->devices[i].kind);
    free(rt->devices[i].name);
  }
  free(rt->devices);
  free(rt->platform);
  free(rt->platform_version);
  free(rt->dump_folder);
  free(rt->cache_folder);
  tt_error_free(rt->cache_problem);
  tt_pj_client_free(rt->client);
  tt_pj_plugin_free(rt->plugin);
  pthread_mutex_destroy(&rt->lock);
  free(rt);
}

size_t tt_rt_device_count(const tt_rt *rt) { return rt->devices_count; }
tt_rt_device *tt_rt_device_at(tt_rt *rt, size_t index) {
  return index < rt->devices_count ? &rt->devices[index] : NULL;
}
tt_rt *tt_rt_device_owner(const tt_rt_device *device) { return device->rt; }
int tt_rt_device_index(const tt_rt_device *device) { return device->index; }

void tt_rt_device_describe(const tt_rt_device *device, tt_rt_device_info *out_info) {
  const tt_rt *rt = device->rt;
  out_info->kind = device->kind;
  out_info->name = device->name;
  out_info->platform = rt->platform;
  out_info->platform_version = rt->platform_version;
  out_info->plugin_path = tt_pj_plugin_path(rt->plugin);
  tt_pj_plugin_version(rt->plugin, &out_info->pjrt_major, &out_info->pjrt_minor);
}

/* ---- modes ---- */

tt_rt_mode tt_rt_mode_get(const tt_rt *rt) { return (tt_rt_mode)atomic_load(&rt->mode); }

tt_error *tt_rt_mode_set(tt_rt *rt, tt_rt_mode mode) {
  tt_error *first = NULL;
  if (mode == TT_RT_DEFERRED)
    return tt_error_new(TT_UNIMPLEMENTED,
                        "the deferred eager mode (DEFER_AND_FUSE) is not built yet; use strict");
  for (size_t i = 0; i < rt->devices_count; i++) {
    tt_error *err = tt_rt_synchronize(&rt->devices[i]);
    if (first == NULL)
      first = err;
    else
      tt_error_free(err);
  }
  if (first == NULL)
    atomic_store(&rt->mode, mode);
  return first;
}

void tt_rt_check_nans_set(tt_rt *rt, bool on) { atomic_store(&rt->check_nans, on); }
tt_hlo_precision tt_rt_precision_get(const tt_rt *rt) {
  return (tt_hlo_precision)atomic_load(&rt->precision);
}
void tt_rt_precision_set(tt_rt *rt, tt_hlo_precision precision) {
  atomic_store(&rt->precision, precision);
}
void tt_rt_exact_set(tt_rt *rt, bool on) { atomic_store(&rt->exact, on); }
void tt_rt_default_dtype_set(tt_rt *rt, tt_dtype dtype) { atomic_store(&rt->default_dtype, dtype); }

/* ---- waiting ---- */

/* Whether to wait for the storage: it is not ready, or it has failed and nobody knows. */
static bool is_unfinished(tt_rt *rt, tt_rt_storage *storage, bool count_failures) {
  tt_pj_event *event = NULL;
  tt_error *err = NULL;
  bool unfinished = false;
  if (storage->buffer != NULL)
    err = tt_pj_buffer_ready(rt->plugin, storage->buffer, &event);
  if (err == NULL && event != NULL) {
    unfinished = !tt_pj_event_is_ready(rt->plugin, event);
    if (!unfinished && count_failures && !storage->failure_told)
      unfinished = (err = tt_pj_event_await(rt->plugin, event)) != NULL;
  }
  tt_pj_event_free(rt->plugin, event);
  tt_error_free(err);
  return unfinished;
}

/* One such storage of the device, retained; NULL when there is none. */
static tt_rt_storage *find_unfinished(tt_rt_device *device, bool count_failures) {
  tt_rt *rt = device->rt;
  tt_rt_storage *found = NULL;
  pthread_mutex_lock(&rt->lock);
  for (tt_rt_storage *s = device->storages; s != NULL && found == NULL; s = s->next) {
    if (is_unfinished(rt, s, count_failures) && tt_rt_storage_retain_live(s))
      found = s;
  }
  pthread_mutex_unlock(&rt->lock);
  return found;
}

bool tt_rt_idle(tt_rt_device *device) {
  tt_rt_storage *storage = find_unfinished(device, false);
  bool idle = storage == NULL;
  tt_rt_storage_release(storage);
  pthread_mutex_lock(&device->rt->lock);
  idle = idle && tt_rt_unheld_done(device);
  pthread_mutex_unlock(&device->rt->lock);
  return idle;
}

tt_error *tt_rt_synchronize(tt_rt_device *device) {
  tt_error *first = NULL;
  for (tt_rt_storage *storage; (storage = find_unfinished(device, true)) != NULL;) {
    tt_error *err = tt_rt_storage_await(storage);
    tt_rt_storage_release(storage);
    if (first == NULL)
      first = err;
    else
      tt_error_free(err);
  }
  tt_rt_unheld_await(device);
  return first;
}

/* ---- statistics and the cache ---- */

void tt_rt_stats_get(tt_rt *rt, tt_rt_stats *out_stats) {
  pthread_mutex_lock(&rt->lock);
  *out_stats = rt->stats;
  out_stats->programs_cached = (int64_t)rt->programs.count;
  pthread_mutex_unlock(&rt->lock);
}

/* What became of the content, where that is known by now. */
static bool has_failed(tt_rt_storage *storage) {
  const tt_pj_plugin *plugin = storage->device->rt->plugin;
  tt_pj_event *event = NULL;
  tt_error *err = tt_pj_buffer_ready(plugin, storage->buffer, &event);
  bool failed = err != NULL;
  tt_error_free(err);
  if (event != NULL && !tt_pj_event_is_ready(plugin, event)) {
    tt_pj_event_free(plugin, event);
    return false;
  }
  storage->settled = true;
  err = tt_pj_event_await_take(plugin, event);
  failed = failed || err != NULL;
  tt_error_free(err);
  return failed;
}

/* Takes out of the account what was counted when its work was queued, and never came to be. */
static void settle(tt_rt_device *device) {
  tt_rt_memory *memory = &device->memory;
  for (tt_rt_storage *s = device->storages; s != NULL; s = s->next) {
    if (s->buffer == NULL || s->settled || !has_failed(s))
      continue;
    memory->allocated -= s->counted;
    memory->storages--;
    memory->peak =
        memory->peak - s->counted > s->peak_before ? memory->peak - s->counted : s->peak_before;
    s->counted = -1;
  }
}

void tt_rt_memory_get(tt_rt_device *device, tt_rt_memory *out_memory) {
  tt_pj_memory_stats stats;
  tt_error *err = tt_pj_device_memory_stats(device->rt->plugin, device->raw, &stats);
  pthread_mutex_lock(&device->rt->lock);
  settle(device);
  *out_memory = device->memory;
  pthread_mutex_unlock(&device->rt->lock);
  out_memory->reserved = err == NULL ? stats.reserved : -1;
  out_memory->limit = err == NULL ? stats.limit : -1;
  tt_error_free(err);
}

void tt_rt_memory_reset_peak(tt_rt_device *device) {
  pthread_mutex_lock(&device->rt->lock);
  settle(device);
  device->memory.peak = device->memory.allocated;
  for (tt_rt_storage *s = device->storages; s != NULL; s = s->next)
    s->peak_before = 0;
  pthread_mutex_unlock(&device->rt->lock);
}

void tt_rt_account(tt_rt_storage *storage) {
  tt_rt_memory *memory = &storage->device->memory;
  bool before = storage->counted >= 0, now = storage->buffer != NULL;
  memory->allocated -= before ? storage->counted : 0;
  storage->peak_before = memory->peak;
  storage->settled = false;
  storage->counted = now ? storage->size : -1;
  memory->allocated += now ? storage->size : 0;
  memory->storages += now - before;
  memory->allocations += now && !before;
  if (memory->allocated > memory->peak)
    memory->peak = memory->allocated;
}

/* Executables go when no program uses one: while another thread runs a stale program, they stay
 * until the next time. */
static bool executables_are_used(const tt_rt *rt) {
  size_t position = 0;
  for (const tt_rt_executable *e; (e = tt_map_next(&rt->executables, &position)) != NULL;)
    if (e->references != 0)
      return true;
  return false;
}

const char *tt_rt_cache_problem(const tt_rt *rt) {
  return rt->cache_problem != NULL ? tt_error_message(rt->cache_problem) : NULL;
}

void tt_rt_cache_clear(tt_rt *rt) {
  size_t position = 0;
  pthread_mutex_lock(&rt->lock);
  free_stale(rt);
  for (tt_rt_program *program; (program = tt_map_next(&rt->programs, &position)) != NULL;) {
    program->next = rt->stale;
    rt->stale = program;
    if (program->running == 0)
      tt_rt_program_drop_executable(program);
  }
  tt_map_free(&rt->programs);
  if (!executables_are_used(rt))
    free_executables(rt);
  pthread_mutex_unlock(&rt->lock);
}

tt_error *tt_rt_dump_set(tt_rt *rt, const char *folder) {
  char *copy = folder != NULL ? strdup(folder) : NULL;
  if (folder != NULL && copy == NULL)
    return tt_error_no_memory(strlen(folder));
  if (folder != NULL) {
    tt_error *err = tt_file_make_folder(folder);
    if (err != NULL) {
      free(copy);
      return err;
    }
  }
  pthread_mutex_lock(&rt->lock);
  free(rt->dump_folder);
  rt->dump_folder = copy;
  pthread_mutex_unlock(&rt->lock);
  return NULL;
}
