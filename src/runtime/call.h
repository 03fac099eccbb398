/* call.h: one operator call before lowering, as the bridge flattens it. */
#ifndef TT_RUNTIME_CALL_H
#define TT_RUNTIME_CALL_H

#include "lower/lower.h"
#include "runtime/storage.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tt_rt_arg_kind {
  TT_RT_NONE,
  TT_RT_TENSOR,
  TT_RT_SCALAR,      /* a number of the schema */
  TT_RT_HOST_SCALAR, /* a tensor of rank 0 in host memory: a number, seen by the rule as a tensor */
  TT_RT_LIST,
  TT_RT_DTYPE,
  TT_RT_STRING,
  TT_RT_OTHER
} tt_rt_arg_kind;

typedef struct tt_rt_arg tt_rt_arg;
struct tt_rt_arg {
  tt_rt_arg_kind kind;
  bool wrapped;   /* HOST_SCALAR: a Python number in disguise */
  bool fixed;     /* SCALAR: an int or bool of the schema: never promoted */
  tt_dtype dtype; /* SCALAR: PRED S64 F64 C128; HOST_SCALAR: the tensor's; DTYPE */
  int64_t i; /* SCALAR, HOST_SCALAR of an integer dtype; OTHER: any number that tells two apart */
  double real, imag; /* SCALAR, HOST_SCALAR: `real` filled for integers too */
  tt_rt_tensor tensor;
  size_t count; /* LIST */
  const tt_rt_arg *items;
  const char *string; /* STRING */
};

typedef struct tt_rt_result {
  tt_rt_storage *storage; /* new, the caller's; NULL: no tensor, or it went to the target */
  tt_dtype dtype;
  int32_t rank;
  const int64_t *sizes,
      *strides; /* live until the program leaves the cache, at least until the next call */
  int64_t rows; /* of a counted result: its true size along axis 0; the value of an int result; else
                   -1 */
} tt_rt_result;

typedef struct tt_rt_rng {
  uint64_t seed, offset; /* read and written atomically; offset moves on by what a call draws */
} tt_rt_rng;

typedef struct tt_rt_call {
  const tt_low_rule *rule;
  tt_rt_device *device;
  const tt_rt_arg *args;
  size_t args_count;
  /* In-place and out= forms: where result i goes, or a NULL storage for a new tensor. NULL when
   * targets_count is 0. */
  const tt_rt_tensor *targets;
  size_t targets_count;
  tt_rt_result *results; /* [results_capacity] */
  size_t results_capacity, results_count;
  tt_rt_rng *rng; /* of RANDOM rules */
  void *context;  /* handed to the host's functions */
} tt_rt_call;

/* Runs the call. On error nothing has been written. */
TT_NODISCARD tt_error *tt_rt_run(tt_rt_call *call);

/* target[...] = source, converted and broadcast: both on one device. */
TT_NODISCARD tt_error *tt_rt_copy(const tt_rt_tensor *target, const tt_rt_tensor *source);

#ifdef __cplusplus
}
#endif

#endif /* TT_RUNTIME_CALL_H */
