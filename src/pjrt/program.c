#include "pjrt/program.h"

#include <stdlib.h>

#include "pjrt/internal.h"

/* ---- compile ---- */

static void destroy_loaded(const tt_pj_plugin *plugin, PJRT_LoadedExecutable *loaded) {
  PJRT_LoadedExecutable_Destroy_Args args = {TT_PJ_SIZE(PJRT_LoadedExecutable_Destroy_Args),
                                             .executable = loaded};
  if (loaded != NULL)
    tt_error_free(TT_PJ_CALL(plugin, PJRT_LoadedExecutable_Destroy, &args));
}

static void destroy_raw(const tt_pj_plugin *plugin, PJRT_Executable *raw) {
  PJRT_Executable_Destroy_Args args = {TT_PJ_SIZE(PJRT_Executable_Destroy_Args), .executable = raw};
  if (raw != NULL)
    tt_error_free(TT_PJ_CALL(plugin, PJRT_Executable_Destroy, &args));
}

/* Consumes `loaded` and `raw`; one of the two may be NULL. */
static tt_error *make_executable_take(const tt_pj_plugin *plugin, PJRT_LoadedExecutable *loaded,
                                      PJRT_Executable *raw, tt_pj_executable **out_executable) {
  tt_error *err = NULL;
  tt_pj_executable *executable = NULL;
  if (raw == NULL) {
    PJRT_LoadedExecutable_GetExecutable_Args get = {
        TT_PJ_SIZE(PJRT_LoadedExecutable_GetExecutable_Args), .loaded_executable = loaded};
    TT_TRY(TT_PJ_CALL(plugin, PJRT_LoadedExecutable_GetExecutable, &get));
    raw = get.executable;
  }
  {
    PJRT_Executable_NumOutputs_Args outputs = {TT_PJ_SIZE(PJRT_Executable_NumOutputs_Args),
                                               .executable = raw};
    TT_TRY(TT_PJ_CALL(plugin, PJRT_Executable_NumOutputs, &outputs));
    executable = malloc(sizeof *executable);
    if (executable == NULL)
      TT_TRY(tt_error_no_memory(sizeof *executable));
    *executable = (tt_pj_executable){plugin, loaded, raw, outputs.num_outputs};
  }
  *out_executable = executable;
  return NULL;
out:
  destroy_raw(plugin, raw);
  destroy_loaded(plugin, loaded);
  return err;
}

/* PJRT_Program is in and out, hence its `char *`; going in it is only read. */
static PJRT_Program raw_program(const tt_pj_program *program) {
  tt_pj_text format = tt_pj_text_of(program->format);
  return (PJRT_Program){TT_PJ_SIZE(PJRT_Program), .code = (char *)(uintptr_t)program->code,
                        .code_size = program->code_size, .format = format.data,
                        .format_size = format.size};
}

/* Serialized protos merge by concatenation, the later one winning: the plugin's needs first, then
 * the caller's wishes. */
static tt_error *join_options(const tt_pj_plugin *plugin, const tt_pj_program *program,
                              tt_bytes *out_options) {
  const tt_pj_options *known = &plugin->options;
  tt_bytes_append(out_options, known->all.data, known->all.size);
  for (size_t i = 0; i < TT_PJ_HINT_COUNT; i++)
    if (program->hints & 1u << i)
      tt_bytes_append(out_options, known->hints[i].data, known->hints[i].size);
  tt_bytes_append(out_options, program->options, program->options_size);
  return tt_bytes_status(out_options);
}

tt_error *tt_pj_compile(const tt_pj_client *client, const tt_pj_program *program,
                        tt_pj_executable **out_executable) {
  tt_error *err = NULL;
  tt_bytes options = {0};
  *out_executable = NULL;
  TT_TRY(join_options(client->plugin, program, &options));
  {
    PJRT_Program raw = raw_program(program);
    PJRT_Client_Compile_Args args = {TT_PJ_SIZE(PJRT_Client_Compile_Args), .client = client->raw,
                                     .program = &raw, .compile_options = options.data,
                                     .compile_options_size = options.size};
    TT_TRY(TT_PJ_CALL(client->plugin, PJRT_Client_Compile, &args));
    TT_TRY(make_executable_take(client->plugin, args.executable, NULL, out_executable));
  }
out:
  tt_bytes_free(&options);
  return err;
}

tt_error *tt_pj_topology_compile(const tt_pj_topology *topology, const tt_pj_program *program,
                                 tt_pj_executable **out_executable) {
  tt_error *err = NULL;
  tt_bytes options = {0};
  *out_executable = NULL;
  TT_TRY(join_options(topology->plugin, program, &options));
  {
    PJRT_Program raw = raw_program(program);
    PJRT_Compile_Args args = {TT_PJ_SIZE(PJRT_Compile_Args), .topology = topology->raw,
                              .program = &raw, .compile_options = options.data,
                              .compile_options_size = options.size};
    TT_TRY(TT_PJ_CALL(topology->plugin, PJRT_Compile, &args));
    TT_TRY(make_executable_take(topology->plugin, NULL, args.executable, out_executable));
  }
out:
  tt_bytes_free(&options);
  return err;
}

tt_error *tt_pj_executable_load(const tt_pj_client *client, const void *data, size_t size,
                                const void *options, size_t options_size,
                                tt_pj_executable **out_executable) {
  *out_executable = NULL;
  PJRT_Executable_DeserializeAndLoad_Args args = {
      TT_PJ_SIZE(PJRT_Executable_DeserializeAndLoad_Args),
      .client = client->raw,
      .serialized_executable = data,
      .serialized_executable_size = size,
      .overridden_serialized_compile_options = options,
      .overridden_serialized_compile_options_size = options_size};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(client->plugin, PJRT_Executable_DeserializeAndLoad, &args));
  return make_executable_take(client->plugin, args.loaded_executable, NULL, out_executable);
}

void tt_pj_executable_free(tt_pj_executable *executable) {
  if (executable == NULL)
    return;
  destroy_raw(executable->plugin, executable->raw);
  destroy_loaded(executable->plugin, executable->loaded);
  free(executable);
}

/* ---- run ---- */

tt_error *tt_pj_execute(const tt_pj_executable *executable, tt_pj_buffer *const *args,
                        size_t args_count, const tt_pj_execute_options *options,
                        tt_pj_buffer **outputs, tt_pj_event **out_done) {
  static const tt_pj_execute_options none = {0};
  if (options == NULL)
    options = &none;
  if (TT_UNLIKELY(executable->loaded == NULL))
    return tt_error_new(TT_FAILED_PRECONDITION,
                        "a program that was compiled for a topology cannot run");
  PJRT_ExecuteOptions raw = {
      TT_PJ_SIZE(PJRT_ExecuteOptions),
      .launch_id = options->launch_id,
      .non_donatable_input_indices = options->keep,
      .num_non_donatable_input_indices = options->keep_count,
  };
  PJRT_LoadedExecutable_Execute_Args call = {
      TT_PJ_SIZE(PJRT_LoadedExecutable_Execute_Args),
      .executable = executable->loaded,
      .options = &raw,
      .argument_lists = &args,
      .num_devices = 1,
      .num_args = args_count,
      .output_lists = &outputs,
      .device_complete_events = out_done,
      .execute_device = options->device,
  };
  return TT_PJ_CALL(executable->plugin, PJRT_LoadedExecutable_Execute, &call);
}

/* ---- what it is ---- */

size_t tt_pj_executable_output_count(const tt_pj_executable *executable) {
  return executable->output_count;
}

tt_error *tt_pj_executable_output(const tt_pj_executable *executable, size_t index,
                                  tt_dtype *out_dtype, const int64_t **out_dims, size_t *out_rank) {
  PJRT_Executable_OutputElementTypes_Args types = {
      TT_PJ_SIZE(PJRT_Executable_OutputElementTypes_Args), .executable = executable->raw};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(executable->plugin, PJRT_Executable_OutputElementTypes, &types));
  PJRT_Executable_OutputDimensions_Args dims = {TT_PJ_SIZE(PJRT_Executable_OutputDimensions_Args),
                                                .executable = executable->raw};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(executable->plugin, PJRT_Executable_OutputDimensions, &dims));
  if (index >= types.num_output_types || index >= dims.num_outputs)
    return tt_error_new(TT_OUT_OF_RANGE, "output %zu of a program with %zu outputs", index,
                        dims.num_outputs);
  *out_dims = dims.dims;
  for (size_t i = 0; i < index; i++)
    *out_dims += dims.dim_sizes[i];
  *out_rank = dims.dim_sizes[index];
  return tt_pj_dtype_of(types.output_types[index], out_dtype);
}

tt_error *tt_pj_executable_name(const tt_pj_executable *executable, tt_pj_text *out_name) {
  *out_name = (tt_pj_text){0};
  PJRT_Executable_Name_Args args = {TT_PJ_SIZE(PJRT_Executable_Name_Args),
                                    .executable = executable->raw};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(executable->plugin, PJRT_Executable_Name, &args));
  *out_name = (tt_pj_text){args.executable_name, args.executable_name_size};
  return NULL;
}

tt_error *tt_pj_executable_fingerprint(const tt_pj_executable *executable, tt_pj_text *out_text) {
  *out_text = (tt_pj_text){0};
  PJRT_Executable_Fingerprint_Args args = {TT_PJ_SIZE(PJRT_Executable_Fingerprint_Args),
                                           .executable = executable->raw};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(executable->plugin, PJRT_Executable_Fingerprint, &args));
  *out_text = (tt_pj_text){args.executable_fingerprint, args.executable_fingerprint_size};
  return NULL;
}

tt_error *tt_pj_executable_costs(const tt_pj_executable *executable, tt_pj_values *out_values) {
  *out_values = (tt_pj_values){0};
  PJRT_Executable_GetCostAnalysis_Args args = {TT_PJ_SIZE(PJRT_Executable_GetCostAnalysis_Args),
                                               .executable = executable->raw};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(executable->plugin, PJRT_Executable_GetCostAnalysis, &args));
  *out_values = (tt_pj_values){args.properties, args.num_properties};
  return NULL;
}

tt_error *tt_pj_executable_memory(const tt_pj_executable *executable,
                                  tt_pj_program_memory *out_memory) {
  *out_memory = (tt_pj_program_memory){0};
  PJRT_Executable_GetCompiledMemoryStats_Args args = {
      TT_PJ_SIZE(PJRT_Executable_GetCompiledMemoryStats_Args), .executable = executable->raw};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(executable->plugin, PJRT_Executable_GetCompiledMemoryStats, &args));
  *out_memory = (tt_pj_program_memory){
      .code = args.generated_code_size_in_bytes,
      .arguments = args.argument_size_in_bytes,
      .outputs = args.output_size_in_bytes,
      .aliased = args.alias_size_in_bytes,
      .temporary = args.temp_size_in_bytes,
      .peak = args.peak_memory_in_bytes,
      .host_code = args.host_generated_code_size_in_bytes,
      .host_arguments = args.host_argument_size_in_bytes,
      .host_outputs = args.host_output_size_in_bytes,
      .host_aliased = args.host_alias_size_in_bytes,
      .host_temporary = args.host_temp_size_in_bytes,
  };
  return NULL;
}

tt_error *tt_pj_executable_serialize(const tt_pj_executable *executable, tt_bytes *out_bytes) {
  tt_bytes_clear(out_bytes);
  PJRT_Executable_Serialize_Args args = {TT_PJ_SIZE(PJRT_Executable_Serialize_Args),
                                         .executable = executable->raw};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(executable->plugin, PJRT_Executable_Serialize, &args));
  tt_bytes_append(out_bytes, args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_executable_deleter != NULL)
    args.serialized_executable_deleter(args.serialized_executable);
  return tt_bytes_status(out_bytes);
}

tt_error *tt_pj_executable_optimized(const tt_pj_executable *executable, tt_bytes *out_bytes,
                                     tt_pj_text *out_format) {
  tt_bytes_clear(out_bytes);
  *out_format = (tt_pj_text){0};
  PJRT_Program program = {TT_PJ_SIZE(PJRT_Program)};
  PJRT_Executable_OptimizedProgram_Args args = {TT_PJ_SIZE(PJRT_Executable_OptimizedProgram_Args),
                                                .executable = executable->raw, .program = &program};
  /* The first call gives the size, the second the code. */
  TT_RETURN_IF_ERROR(TT_PJ_CALL(executable->plugin, PJRT_Executable_OptimizedProgram, &args));
  program.code = tt_bytes_extend(out_bytes, program.code_size);
  TT_RETURN_IF_ERROR(tt_bytes_status(out_bytes));
  TT_RETURN_IF_ERROR(TT_PJ_CALL(executable->plugin, PJRT_Executable_OptimizedProgram, &args));
  *out_format = (tt_pj_text){program.format, program.format_size};
  return NULL;
}
