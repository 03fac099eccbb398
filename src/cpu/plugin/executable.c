/* executable.c: what a compiled program tells about itself. */
#include <stdlib.h>
#include <string.h>

#include "cpu/plugin/internal.h"

/* ---- executables ---- */

tt_error *tt_cpu_executable_destroy(PJRT_Executable_Destroy_Args *args) {
  tt_cpu_executable_release(args->executable);
  return NULL;
}

tt_error *tt_cpu_executable_name(PJRT_Executable_Name_Args *args) {
  args->executable_name = args->executable->name;
  args->executable_name_size = strlen(args->executable->name);
  return NULL;
}

tt_error *tt_cpu_executable_replicas(PJRT_Executable_NumReplicas_Args *args) {
  args->num_replicas = (size_t)args->executable->replicas;
  return NULL;
}

tt_error *tt_cpu_executable_partitions(PJRT_Executable_NumPartitions_Args *args) {
  args->num_partitions = (size_t)args->executable->partitions;
  return NULL;
}

tt_error *tt_cpu_executable_outputs(PJRT_Executable_NumOutputs_Args *args) {
  args->num_outputs = args->executable->results_count;
  return NULL;
}

/* No machine code is made: the plan walks over the program. */
tt_error *tt_cpu_executable_code_size(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args *args) {
  args->size_in_bytes = 0;
  return NULL;
}

tt_error *tt_cpu_executable_costs(PJRT_Executable_GetCostAnalysis_Args *args) {
  args->properties = args->executable->costs;
  args->num_properties = args->executable->costs_count;
  return NULL;
}

tt_error *tt_cpu_executable_output_kinds(PJRT_Executable_OutputMemoryKinds_Args *args) {
  args->num_outputs = args->executable->results_count;
  args->memory_kinds = args->executable->kinds;
  args->memory_kind_sizes = args->executable->kind_sizes;
  return NULL;
}

tt_error *tt_cpu_executable_output_types(PJRT_Executable_OutputElementTypes_Args *args) {
  args->output_types = args->executable->types;
  args->num_output_types = args->executable->results_count;
  return NULL;
}

tt_error *tt_cpu_executable_output_dims(PJRT_Executable_OutputDimensions_Args *args) {
  args->num_outputs = args->executable->results_count;
  args->dims = args->executable->dims;
  args->dim_sizes = args->executable->ranks;
  return NULL;
}

tt_error *tt_cpu_executable_fingerprint(PJRT_Executable_Fingerprint_Args *args) {
  args->executable_fingerprint = args->executable->fingerprint;
  args->executable_fingerprint_size = strlen(args->executable->fingerprint);
  return NULL;
}

/* Fields that the caller's struct does not have are not written. */
tt_error *tt_cpu_executable_memory(PJRT_Executable_GetCompiledMemoryStats_Args *args) {
  const PJRT_Executable *e = args->executable;
  int64_t arguments = 0, outputs = 0, aliased = 0, temporary = tt_cpu_plan_scratch(e->plan);
  for (size_t i = 0; i < e->params_count; i++)
    arguments += e->params[i].size;
  for (size_t i = 0; i < e->results_count; i++) {
    outputs += e->results[i].size;
    aliased += e->results[i].alias >= 0 ? e->results[i].size : 0;
  }
  args->generated_code_size_in_bytes = 0;
  args->argument_size_in_bytes = arguments;
  args->output_size_in_bytes = outputs;
  args->alias_size_in_bytes = aliased;
  args->temp_size_in_bytes = temporary;
#define SET(field, value)      \
  if (TT_CPU_HAS(args, field)) \
  args->field = (value)
  SET(host_generated_code_size_in_bytes, 0);
  SET(host_argument_size_in_bytes, 0);
  SET(host_output_size_in_bytes, 0);
  SET(host_alias_size_in_bytes, 0);
  SET(host_temp_size_in_bytes, 0);
  SET(peak_memory_in_bytes, arguments + outputs - aliased + temporary);
#undef SET
  return NULL;
}

/* ---- its program ---- */

/* The plan's own module may not be printed: printing numbers its values, and runs read them. Called
 * with the lock held. */
static tt_error *print_program(PJRT_Executable *e) {
  tt_error *err = NULL;
  tt_hlo_module *module = NULL;
  tt_cpu_options options = {0};
  if (e->optimized.size > 0)
    return NULL;
  TT_TRY(tt_cpu_options_read(e->options.data, e->options.size, &options));
  TT_TRY(tt_cpu_program_read(e->code.data, e->code.size, &options, &module));
  TT_TRY(tt_hlo_module_print(module, &e->optimized));
out:
  tt_hlo_module_free(module);
  tt_cpu_options_free(&options);
  if (err != NULL)
    tt_bytes_free(&e->optimized);
  return err;
}

tt_error *tt_cpu_executable_optimized(PJRT_Executable_OptimizedProgram_Args *args) {
  PJRT_Executable *e = args->executable;
  PJRT_Program *program = args->program;
  TT_CPU_GIVEN(args->program);
  pthread_mutex_lock(&e->lock);
  tt_error *err = print_program(e);
  pthread_mutex_unlock(&e->lock);
  if (err != NULL)
    return err;
  program->format = "mlir";
  program->format_size = strlen("mlir");
  if (program->code == NULL) {
    program->code_size = e->optimized.size;
    return NULL;
  }
  if (program->code_size < e->optimized.size)
    return tt_error_new(TT_INVALID_ARGUMENT, "room for %zu bytes of a program of %zu",
                        program->code_size, e->optimized.size);
  memcpy(program->code, e->optimized.data, e->optimized.size);
  return NULL;
}

static void free_serialized(PJRT_SerializedExecutable *serialized) { free(serialized); }

tt_error *tt_cpu_executable_serialize(PJRT_Executable_Serialize_Args *args) {
  tt_bytes bytes = {0};
  void *handle = NULL;
  tt_cpu_image_write(args->executable, &bytes);
  TT_RETURN_IF_ERROR(
      tt_cpu_handout_take(&bytes, &args->serialized_bytes, &args->serialized_bytes_size, &handle));
  args->serialized_executable = handle;
  args->serialized_executable_deleter = free_serialized;
  return NULL;
}

/* ---- loaded executables ---- */

tt_error *tt_cpu_loaded_executable(PJRT_LoadedExecutable_GetExecutable_Args *args) {
  args->executable = args->loaded_executable->executable;
  atomic_fetch_add_explicit(&args->executable->refs, 1, memory_order_relaxed);
  return NULL;
}

tt_error *tt_cpu_loaded_devices(PJRT_LoadedExecutable_AddressableDevices_Args *args) {
  args->addressable_devices = args->executable->devices;
  args->num_addressable_devices = args->executable->devices_count;
  return NULL;
}

/* The program itself goes with the handle: runs of other threads may be about to use it. */
tt_error *tt_cpu_loaded_delete(PJRT_LoadedExecutable_Delete_Args *args) {
  atomic_store(&args->executable->deleted, true);
  return NULL;
}

tt_error *tt_cpu_loaded_is_deleted(PJRT_LoadedExecutable_IsDeleted_Args *args) {
  args->is_deleted = atomic_load(&args->executable->deleted);
  return NULL;
}

tt_error *tt_cpu_loaded_fingerprint(PJRT_LoadedExecutable_Fingerprint_Args *args) {
  args->executable_fingerprint = args->executable->executable->fingerprint;
  args->executable_fingerprint_size = strlen(args->executable_fingerprint);
  return NULL;
}

static void free_assignment(PJRT_DeviceAssignmentSerialized *serialized) { free(serialized); }

tt_error *tt_cpu_loaded_assignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args *args) {
  tt_bytes bytes = {0};
  void *handle = NULL;
  tt_bytes_append(&bytes, args->executable->assignment.data, args->executable->assignment.size);
  TT_RETURN_IF_ERROR(
      tt_cpu_handout_take(&bytes, &args->serialized_bytes, &args->serialized_bytes_size, &handle));
  args->serialized_device_assignment = handle;
  args->serialized_device_assignment_deleter = free_assignment;
  return NULL;
}
