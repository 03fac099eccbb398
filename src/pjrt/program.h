/* program.h: compiles a program, runs it, stores it and tells about it.
 *
 * Thread-safe. Compiling from several threads runs in parallel where the plugin can. */
#ifndef TT_PJRT_PROGRAM_H
#define TT_PJRT_PROGRAM_H

#include "base/bytes.h"
#include "base/dtype.h"
#include "pjrt/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options ---- */

/* All zero: one replica, one partition, on the plugin's default device, Shardy. */
typedef struct tt_pj_compile_options {
  int replicas, partitions; /* 0 counts as 1 */
  const int
      *device_ids; /* replica-major, replicas * partitions of them; NULL: the plugin's choice */
  bool portable;   /* one device; tt_pj_execute_options.device then says which, at each run */
  bool gspmd;      /* the older partitioner instead of Shardy */
  const tt_pj_value
      *overrides; /* XLA debug options by name, without "--"; string, int64, float or bool */
  size_t overrides_count;
} tt_pj_compile_options;

/* Appends the serialized CompileOptionsProto: the same bytes for the same options, so they can be
 * part of a key. */
TT_NODISCARD tt_error *tt_pj_compile_options_encode(const tt_pj_compile_options *options,
                                                    tt_bytes *out_bytes);

/* ---- compile ---- */

/* What a caller knows of a program that the plugin's options can use. Hints change its speed,
 * TT_PJ_LOOSE_MAX also what maxima make of NaN and TT_PJ_EXACT the last digits. */
typedef enum tt_pj_hint {
  TT_PJ_QUICK = 1,     /* one op or so: compile fast rather than well */
  TT_PJ_LOOSE_MAX = 2, /* maximum and minimum need not pass NaN on */
  TT_PJ_PLAIN_DOT = 4, /* one product of matrices, no arithmetic after it but one addition */
  TT_PJ_EXACT = 8,     /* a conversion to a narrower type rounds, though it is undone at once */
  TT_PJ_HINT_COUNT = 4
} tt_pj_hint;

typedef struct tt_pj_program {
  const char *format; /* "mlir": StableHLO as text, bytecode or portable artifact; "hlo": an
                         HloModuleProto */
  const void *code;
  size_t code_size;
  const void *options; /* as tt_pj_compile_options_encode makes them */
  size_t options_size;
  unsigned hints; /* tt_pj_hint */
} tt_pj_program;

/* The client must outlive the executable. */
TT_NODISCARD tt_error *tt_pj_compile(const tt_pj_client *client, const tt_pj_program *program,
                                     tt_pj_executable **out_executable);
/* Ahead of time; such an executable tells about itself and serializes, but does not run. `client`
 * is not needed. */
TT_NODISCARD tt_error *tt_pj_topology_compile(const tt_pj_topology *topology,
                                              const tt_pj_program *program,
                                              tt_pj_executable **out_executable);
/* Makes an executable of what tt_pj_executable_serialize wrote, with the same plugin in the same
 * version on the same kind of machine. `options` as in tt_pj_program, or NULL for those it was
 * compiled with. */
TT_NODISCARD tt_error *tt_pj_executable_load(const tt_pj_client *client, const void *data,
                                             size_t size, const void *options, size_t options_size,
                                             tt_pj_executable **out_executable);
void tt_pj_executable_free(
    tt_pj_executable *executable); /* NULL is allowed; running executions finish */

/* ---- run ---- */

typedef struct tt_pj_execute_options {
  const int64_t
      *keep; /* indices of arguments that must not be donated though the program allows it */
  size_t keep_count;
  tt_pj_device *device; /* for a portable executable; NULL: where it was compiled for */
  int launch_id;        /* the same on every process of one collective launch; 0: none */
} tt_pj_execute_options;

/* Starts one execution on one device. `outputs` has room for tt_pj_executable_output_count buffers,
 * which the caller owns on success; on error they are unspecified. An argument marked as donated in
 * the program (`tf.aliasing_output` or `jax.buffer_donor`) is deleted by the call, its handle still
 * needs tt_pj_buffer_free, and it may stand only once in `args`. Usually returns before the work is
 * done; a failure then shows in the outputs' ready events. `options` may be NULL. `out_done` may be
 * NULL, which is cheaper; else the caller owns that event. */
TT_NODISCARD tt_error *tt_pj_execute(const tt_pj_executable *executable, tt_pj_buffer *const *args,
                                     size_t args_count, const tt_pj_execute_options *options,
                                     tt_pj_buffer **outputs, tt_pj_event **out_done);

/* ---- what it is ---- */

size_t tt_pj_executable_output_count(const tt_pj_executable *executable);
/* dtype and dims of output `index`; `*out_dims` lives as long as the executable. */
TT_NODISCARD tt_error *tt_pj_executable_output(const tt_pj_executable *executable, size_t index,
                                               tt_dtype *out_dtype, const int64_t **out_dims,
                                               size_t *out_rank);
TT_NODISCARD tt_error *tt_pj_executable_name(const tt_pj_executable *executable,
                                             tt_pj_text *out_name);
TT_NODISCARD tt_error *tt_pj_executable_fingerprint(const tt_pj_executable *executable,
                                                    tt_pj_text *out_text);
/* "flops", "bytes accessed", "optimal_seconds", ...: floats, as the plugin names them. */
TT_NODISCARD tt_error *tt_pj_executable_costs(const tt_pj_executable *executable,
                                              tt_pj_values *out_values);

typedef struct tt_pj_program_memory {
  int64_t code, arguments, outputs, aliased, temporary, peak; /* bytes on the device */
  int64_t host_code, host_arguments, host_outputs, host_aliased, host_temporary;
} tt_pj_program_memory;

TT_NODISCARD tt_error *tt_pj_executable_memory(const tt_pj_executable *executable,
                                               tt_pj_program_memory *out_memory);
/* Replaces `out_bytes`. */
TT_NODISCARD tt_error *tt_pj_executable_serialize(const tt_pj_executable *executable,
                                                  tt_bytes *out_bytes);
/* The program after the compiler's passes, replacing `out_bytes`; `*out_format` ("hlo_with_config",
 * ...) is the plugin's and stays. */
TT_NODISCARD tt_error *tt_pj_executable_optimized(const tt_pj_executable *executable,
                                                  tt_bytes *out_bytes, tt_pj_text *out_format);

#ifdef __cplusplus
}
#endif

#endif /* TT_PJRT_PROGRAM_H */
