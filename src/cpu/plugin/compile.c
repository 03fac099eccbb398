/* compile.c: from a program's bytes to an executable. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cpu/plugin/internal.h"
#include "cpu/plugin/layouts.h"
#include "cpu/sharding.h"
#include "hlo/bytecode.h"
#include "hlo/parse.h"

/* Under this many estimated nanoseconds a program runs on the caller's thread: handing it to
 * another costs as much. */
#define QUICK_NS 20e3

/* ---- reading ---- */

static tt_error *read_program(const char *code, size_t size, tt_hlo_module **out_module) {
  if (tt_hlo_is_bytecode(code, size))
    return tt_hlo_bytecode_read(code, size, out_module);
  return tt_hlo_parse(code, size, out_module);
}

tt_error *tt_cpu_program_read(const char *code, size_t size, const tt_cpu_options *options,
                              tt_hlo_module **out_module) {
  tt_error *err = NULL;
  tt_hlo_module *module = NULL;
  *out_module = NULL;
  TT_TRY(read_program(code, size, &module));
  TT_TRY(tt_hlo_module_verify(module));
  TT_TRY(tt_cpu_groups_resolve(module));
  if (options->partitions > 1 || module->meshes != NULL) {
    TT_TRY(tt_cpu_partition_module(module, options->replicas, options->partitions,
                                   options->may_divide, options->may_divide_count));
    TT_TRY(tt_hlo_module_verify(module));
  }
  *out_module = module;
  module = NULL; /* moved to the caller */
out:
  tt_hlo_module_free(module);
  return err;
}

static bool format_is(const PJRT_Program *program, const char *format) {
  return program->format != NULL && program->format_size == strlen(format) &&
         memcmp(program->format, format, program->format_size) == 0;
}

static tt_error *check_format(const PJRT_Program *program) {
  if (program->struct_size < PJRT_Program_STRUCT_SIZE)
    return tt_error_new(TT_INVALID_ARGUMENT, "PJRT_Program: expected at least %d bytes, got %zu",
                        (int)PJRT_Program_STRUCT_SIZE, program->struct_size);
  if (format_is(program, "hlo") || format_is(program, "hlo_with_config"))
    return tt_error_new(TT_UNIMPLEMENTED,
                        "programs in the format \"%.*s\" (XLA's HLO): this plugin compiles "
                        "\"mlir\", which is StableHLO",
                        (int)program->format_size, program->format);
  if (!format_is(program, "mlir"))
    return tt_error_new(TT_INVALID_ARGUMENT, "program format \"%.*s\": known is \"mlir\"",
                        program->format_size > 100 ? 100 : (int)program->format_size,
                        program->format == NULL ? "" : program->format);
  if (program->code == NULL)
    return tt_error_new(TT_INVALID_ARGUMENT, "the program's code is NULL");
  return NULL;
}

/* ---- what an executable tells ---- */

static void set_cost(PJRT_Executable *e, const char *name, double value) {
  e->costs[e->costs_count++] = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                                 .name = name,
                                                 .name_size = strlen(name),
                                                 .type = PJRT_NamedValue_kFloat,
                                                 .float_value = (float)value,
                                                 .value_size = 1};
}

/* Ten operations and four bytes a nanosecond, of one core without luck. */
static double estimate_ns(const tt_cpu_costs *costs) {
  return costs->flops / 10 + costs->transcendentals + costs->bytes / 4;
}

static tt_error *describe_results(PJRT_Executable *e) {
  size_t dims_count = 0, at = 0, count = e->results_count;
  for (size_t i = 0; i < count; i++)
    dims_count += (size_t)e->results[i].type.rank;
  e->types = tt_arena_array(&e->arena, count, sizeof *e->types);
  e->ranks = tt_arena_array(&e->arena, count, sizeof *e->ranks);
  e->kinds = tt_arena_array(&e->arena, count, sizeof *e->kinds);
  e->kind_sizes = tt_arena_array(&e->arena, count, sizeof *e->kind_sizes);
  e->dims = tt_arena_array(&e->arena, dims_count, sizeof *e->dims);
  e->costs = tt_arena_array(&e->arena, 4, sizeof *e->costs);
  if (e->types == NULL || e->ranks == NULL || e->kinds == NULL || e->kind_sizes == NULL ||
      e->dims == NULL || e->costs == NULL)
    return tt_error_no_memory(dims_count * sizeof *e->dims);
  for (size_t i = 0; i < count; i++) {
    const tt_hlo_type *type = &e->results[i].type;
    e->types[i] = tt_cpu_type_of(type);
    e->ranks[i] = (size_t)type->rank;
    e->kinds[i] = tt_cpu_kind_names[TT_CPU_DEVICE];
    e->kind_sizes[i] = strlen(e->kinds[i]);
    for (int32_t k = 0; k < type->rank; k++)
      e->dims[at++] = type->dims[k];
  }
  return NULL;
}

static tt_error *check_slots(const char *what, const tt_cpu_slot *slots, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (tt_cpu_type_of(&slots[i].type) == PJRT_Buffer_Type_INVALID)
      return tt_error_new(TT_UNIMPLEMENTED, "%s %zu of @main: PJRT has no type for %s", what, i,
                          tt_dtype_name(slots[i].type.dtype));
  return NULL;
}

static tt_error *describe(PJRT_Executable *e) {
  const tt_hlo_module *module = tt_cpu_plan_module(e->plan);
  const char *name = module->name == NULL || module->name[0] == '\0' ? "main" : module->name;
  tt_cpu_costs costs = tt_cpu_plan_costs(e->plan);
  e->params = tt_cpu_plan_params(e->plan, &e->params_count);
  e->results = tt_cpu_plan_results(e->plan, &e->results_count);
  TT_RETURN_IF_ERROR(check_slots("parameter", e->params, e->params_count));
  TT_RETURN_IF_ERROR(check_slots("result", e->results, e->results_count));
  e->name = tt_arena_text(&e->arena, name, strlen(name));
  if (e->name == NULL)
    return tt_error_no_memory(strlen(name) + 1);
  TT_RETURN_IF_ERROR(describe_results(e));
  set_cost(e, "flops", costs.flops);
  set_cost(e, "transcendentals", costs.transcendentals);
  set_cost(e, "bytes accessed", costs.bytes);
  set_cost(e, "optimal_seconds", estimate_ns(&costs) * 1e-9);
  /* Replicas may wait for each other, each on its own thread. */
  e->quick = e->replicas * e->partitions == 1 && !tt_cpu_plan_is_staged(e->plan) &&
             estimate_ns(&costs) < QUICK_NS;
  return NULL;
}

static void set_fingerprint(PJRT_Executable *e) {
  uint64_t hash[2];
  tt_hash128(e->code.data, e->code.size, hash);
  hash[0] = tt_hash64(e->options.data, e->options.size, hash[0]);
  hash[1] = tt_hash64(TT_CPU_VERSION, strlen(TT_CPU_VERSION), hash[1]);
  snprintf(e->fingerprint, sizeof e->fingerprint, "%016llx%016llx", (unsigned long long)hash[0],
           (unsigned long long)hash[1]);
}

/* ---- making ---- */

static tt_error *make_plan(tt_hlo_module **module, tt_cpu_plan **out_plan) {
  tt_hlo_module *taken = *module;
  *module = NULL;
  return tt_cpu_plan_new_take(taken, out_plan);
}

tt_error *tt_cpu_executable_new(const char *code, size_t code_size, const char *options,
                                size_t options_size, const tt_cpu_options *decoded,
                                PJRT_Executable **out_executable) {
  tt_error *err = NULL;
  tt_hlo_module *module = NULL;
  PJRT_Executable *e = calloc(1, sizeof *e);
  *out_executable = NULL;
  if (e == NULL)
    return tt_error_no_memory(sizeof *e);
  atomic_init(&e->refs, 1);
  pthread_mutex_init(&e->lock, NULL);
  e->replicas = decoded->replicas;
  e->partitions = decoded->partitions;
  TT_TRY(tt_cpu_program_read(code, code_size, decoded, &module));
  TT_TRY(tt_cpu_groups_check(module, e->replicas, e->partitions));
  TT_TRY(make_plan(&module, &e->plan));
  tt_bytes_append(&e->code, code, code_size);
  tt_bytes_append(&e->options, options, options == NULL ? 0 : options_size);
  TT_TRY(tt_bytes_status(&e->code));
  TT_TRY(tt_bytes_status(&e->options));
  set_fingerprint(e);
  TT_TRY(describe(e));
  *out_executable = e;
  e = NULL; /* moved to the caller */
out:
  tt_hlo_module_free(module);
  tt_cpu_executable_release(e);
  return err;
}

void tt_cpu_executable_release(PJRT_Executable *e) {
  if (e == NULL || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
    return;
  tt_cpu_plan_free(e->plan);
  tt_bytes_free(&e->code);
  tt_bytes_free(&e->options);
  tt_bytes_free(&e->optimized);
  tt_cpu_layouts_free(e->result_layouts);
  tt_cpu_layouts_free(e->param_layouts);
  tt_arena_reset(&e->arena);
  pthread_mutex_destroy(&e->lock);
  free(e);
}

static tt_error *check_device(const PJRT_Client *client, const int64_t *ids, size_t at) {
  if (ids[at] < 0 || (size_t)ids[at] >= client->count)
    return tt_error_new(TT_INVALID_ARGUMENT, "the program is for device %lld: there are %zu",
                        (long long)ids[at], client->count);
  for (size_t k = 0; k < at; k++)
    if (ids[k] == ids[at])
      return tt_error_new(TT_INVALID_ARGUMENT, "the program is for device %lld twice",
                          (long long)ids[at]);
  return NULL;
}

/* The ids of the devices, replica-major: as the options say, else the first ones, for one device
 * the first of this process. */
static tt_error *choose_devices(const PJRT_Client *client, const tt_cpu_options *options,
                                int64_t *ids, size_t count) {
  int64_t first = count == 1 ? (int64_t)client->first : 0;
  first = options->device_ordinal < 0 ? first : options->device_ordinal;
  for (size_t i = 0; i < count; i++) {
    ids[i] = options->device_ids != NULL ? options->device_ids[i] : first + (int64_t)i;
    TT_RETURN_IF_ERROR(check_device(client, ids, i));
  }
  return NULL;
}

/* Takes down where the members of other processes are, if there are any. */
static tt_error *find_others(PJRT_LoadedExecutable *loaded, const int64_t *ids, size_t count) {
  const PJRT_Client *client = loaded->client;
  if (loaded->devices_count == 0)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "the program is for device %lld, and no other one of this process",
                        (long long)ids[0]);
  if (loaded->devices_count == count)
    return NULL;
  loaded->processes = calloc(count, sizeof *loaded->processes);
  if (loaded->processes == NULL)
    return tt_error_no_memory(count * sizeof *loaded->processes);
  for (size_t i = 0; i < count; i++)
    loaded->processes[i] = client->list[ids[i]]->description->process;
  return NULL;
}

/* Where each replica of each partition runs. */
static tt_error *place(PJRT_LoadedExecutable *loaded, const tt_cpu_options *options) {
  tt_error *err = NULL;
  const PJRT_Client *client = loaded->client;
  size_t count = (size_t)(options->replicas * options->partitions);
  int64_t *ids = NULL;
  if (count > client->count)
    TT_TRY(tt_error_new(TT_INVALID_ARGUMENT, "%zu replicas and partitions, but %zu devices", count,
                        client->count));
  ids = calloc(count, sizeof *ids);
  loaded->devices = calloc(count, sizeof(PJRT_Device *));
  loaded->members = calloc(count, sizeof *loaded->members);
  if (ids == NULL || loaded->devices == NULL || loaded->members == NULL)
    TT_TRY(tt_error_no_memory(count * sizeof *ids));
  TT_TRY(choose_devices(client, options, ids, count));
  for (size_t i = 0; i < count; i++)
    if (tt_cpu_device_is_local(client->list[ids[i]])) {
      loaded->members[loaded->devices_count] = (int64_t)i;
      loaded->devices[loaded->devices_count++] = client->list[ids[i]];
    }
  TT_TRY(find_others(loaded, ids, count));
  loaded->device_hash = tt_hash64(ids, count * sizeof *ids, (uint64_t)options->replicas);
  loaded->devices_count = options->portable ? 0 : loaded->devices_count;
  TT_TRY(tt_cpu_assignment_write(ids, (size_t)options->replicas, (size_t)options->partitions,
                                 &loaded->assignment));
out:
  free(ids);
  return err;
}

/* Those who wait for devices that now will not come end. */
static void free_gathering(const PJRT_LoadedExecutable *loaded, tt_cpu_gathering *gathering) {
  tt_error *err = tt_error_new(TT_CANCELLED, "the executable is destroyed before it was launched");
  for (size_t i = 0; i < loaded->devices_count; i++) {
    if (gathering->dones[i] == NULL)
      tt_cpu_team_leave(gathering->team, loaded->members[i], err);
    tt_cpu_event_release(gathering->dones[i]);
  }
  tt_error_free(err);
  tt_cpu_team_release(gathering->team);
  free(gathering);
}

static void free_loaded(PJRT_LoadedExecutable *loaded) {
  if (loaded == NULL)
    return;
  tt_cpu_executable_release(loaded->executable);
  while (loaded->gatherings != NULL) {
    tt_cpu_gathering *gathering = loaded->gatherings;
    loaded->gatherings = gathering->next;
    free_gathering(loaded, gathering);
  }
  pthread_mutex_destroy(&loaded->lock);
  tt_bytes_free(&loaded->assignment);
  free(loaded->devices);
  free(loaded->members);
  free(loaded->processes);
  free(loaded);
}

static tt_error *new_loaded(PJRT_Client *client, const char *code, size_t code_size,
                            const char *options, size_t options_size,
                            PJRT_LoadedExecutable **out_loaded) {
  tt_error *err = NULL;
  tt_cpu_options decoded = {0};
  PJRT_LoadedExecutable *loaded = NULL;
  *out_loaded = NULL;
  TT_TRY(tt_cpu_options_read(options, options_size, &decoded));
  if (decoded.portable && decoded.replicas * decoded.partitions > 1)
    TT_TRY(tt_error_new(TT_INVALID_ARGUMENT, "a portable program is for one device"));
  loaded = calloc(1, sizeof *loaded);
  if (loaded == NULL)
    TT_TRY(tt_error_no_memory(sizeof *loaded));
  loaded->client = client;
  pthread_mutex_init(&loaded->lock, NULL);
  TT_TRY(place(loaded, &decoded));
  TT_TRY(
      tt_cpu_executable_new(code, code_size, options, options_size, &decoded, &loaded->executable));
  *out_loaded = loaded;
  loaded = NULL; /* moved to the caller */
out:
  tt_cpu_options_free(&decoded);
  free_loaded(loaded);
  return err;
}

tt_error *tt_cpu_client_compile(PJRT_Client_Compile_Args *args) {
  args->executable = NULL;
  TT_CPU_GIVEN(args->program);
  TT_RETURN_IF_ERROR(check_format(args->program));
  return new_loaded(args->client, args->program->code, args->program->code_size,
                    args->compile_options, args->compile_options_size, &args->executable);
}

/* Ahead of time: an executable that is on no device. */
tt_error *tt_cpu_topology_compile(PJRT_Compile_Args *args) {
  tt_cpu_options options = {0};
  args->executable = NULL;
  TT_CPU_GIVEN(args->program);
  TT_RETURN_IF_ERROR(check_format(args->program));
  TT_RETURN_IF_ERROR(
      tt_cpu_options_read(args->compile_options, args->compile_options_size, &options));
  size_t count = (size_t)(options.replicas * options.partitions);
  tt_error *err = NULL;
  if (count > args->topology->count)
    err = tt_error_new(TT_INVALID_ARGUMENT, "%zu replicas and partitions, but %zu devices", count,
                       args->topology->count);
  else
    err =
        tt_cpu_executable_new(args->program->code, args->program->code_size, args->compile_options,
                              args->compile_options_size, &options, &args->executable);
  tt_cpu_options_free(&options);
  return err;
}

tt_error *tt_cpu_executable_load(PJRT_Executable_DeserializeAndLoad_Args *args) {
  tt_cpu_image image;
  args->loaded_executable = NULL;
  TT_CPU_GIVEN(args->serialized_executable);
  TT_RETURN_IF_ERROR(
      tt_cpu_image_read(args->serialized_executable, args->serialized_executable_size, &image));
  if (TT_CPU_HAS(args, overridden_serialized_compile_options_size) &&
      args->overridden_serialized_compile_options != NULL) {
    image.options = args->overridden_serialized_compile_options;
    image.options_size = args->overridden_serialized_compile_options_size;
  }
  return new_loaded(args->client, image.code, image.code_size, image.options, image.options_size,
                    &args->loaded_executable);
}

tt_error *tt_cpu_loaded_destroy(PJRT_LoadedExecutable_Destroy_Args *args) {
  free_loaded(args->executable);
  return NULL;
}
