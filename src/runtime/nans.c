#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

/* NaNs are looked for on the host, in the content of whole storages: slow, and the same for every
 * dtype and plugin. */

static bool bits_are_nan(uint64_t bits, int mantissa, int exponent) {
  uint64_t all = ((uint64_t)1 << exponent) - 1;
  return (bits >> mantissa & all) == all && (bits & (((uint64_t)1 << mantissa) - 1)) != 0;
}

static bool has_nan(tt_dtype dtype, const unsigned char *data, size_t size) {
  tt_dtype real = tt_dtype_real(dtype);
  size_t bytes = (size_t)tt_dtype_bytes(real);
  int mantissa = real == TT_F64 ? 52 : real == TT_F32 ? 23 : real == TT_F16 ? 10 : 7;
  int exponent = real == TT_F64 ? 11 : real == TT_F16 ? 5 : 8;
  if (real != TT_F64 && real != TT_F32 && real != TT_F16 && real != TT_BF16)
    return false;
  for (size_t i = 0; i + bytes <= size; i += bytes) {
    uint64_t bits = 0;
    memcpy(&bits, data + i, bytes);
    if (bits_are_nan(bits, mantissa, exponent))
      return true;
  }
  return false;
}

static tt_error *storage_has_nan(tt_rt_storage *storage, tt_dtype dtype, bool *out_has) {
  int64_t size = tt_rt_storage_size(storage);
  unsigned char *data = malloc((size_t)size + 1);
  tt_error *err;
  if (data == NULL)
    return tt_error_no_memory((size_t)size);
  err = tt_rt_storage_download(storage, data, size);
  *out_has = *out_has || (err == NULL && has_nan(dtype, data, (size_t)size));
  free(data);
  return err;
}

static tt_error *arg_has_nan(const tt_rt_arg *arg, bool *out_has) {
  if (arg->kind == TT_RT_TENSOR && !*out_has)
    return storage_has_nan(arg->tensor.storage, arg->tensor.dtype, out_has);
  if (arg->kind == TT_RT_SCALAR || arg->kind == TT_RT_HOST_SCALAR)
    *out_has = *out_has || isnan(arg->real) || isnan(arg->imag);
  for (size_t i = 0; arg->kind == TT_RT_LIST && i < arg->count; i++)
    TT_RETURN_IF_ERROR(arg_has_nan(&arg->items[i], out_has));
  return NULL;
}

tt_error *tt_rt_nans_in(const tt_rt_call *call, bool *out_has) {
  *out_has = false;
  for (size_t i = 0; i < call->args_count; i++)
    TT_RETURN_IF_ERROR(arg_has_nan(&call->args[i], out_has));
  return NULL;
}

tt_error *tt_rt_nans_out(const tt_rt_call *call, bool *out_has) {
  *out_has = false;
  for (size_t i = 0; i < call->results_count; i++)
    if (call->results[i].storage != NULL)
      TT_RETURN_IF_ERROR(
          storage_has_nan(call->results[i].storage, call->results[i].dtype, out_has));
  for (size_t i = 0; i < call->targets_count; i++)
    if (call->targets[i].storage != NULL)
      TT_RETURN_IF_ERROR(
          storage_has_nan(call->targets[i].storage, call->targets[i].dtype, out_has));
  return NULL;
}
