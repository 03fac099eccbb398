/* map: a region for every element. */
#include <string.h>

#include "cpu/kernels.h"

enum { SLOT = 64 };

tt_error *tt_cpu_kernel_map(const tt_cpu_args *args) {
  const tt_hlo_op *op = args->op;
  int64_t count = tt_cpu_count(&op->results[0].type), n = op->operands_count;
  int bytes = tt_dtype_bytes(op->results[0].type.dtype);
  char *slots = tt_cpu_scratch(args->run, n * SLOT);
  const void **in = tt_cpu_scratch(args->run, n * (int64_t)sizeof(void *));
  _Alignas(SLOT) char result[SLOT];
  void *result_at = result;
  if (slots == NULL || in == NULL)
    return tt_cpu_no_scratch(op, n * SLOT);
  for (int64_t i = 0; i < count; i++) {
    for (int64_t k = 0; k < n; k++) {
      int size = tt_dtype_bytes(op->operands[k]->type.dtype);
      memcpy(slots + k * SLOT, (const char *)args->in[k] + i * size, (size_t)size);
      in[k] = slots + k * SLOT;
    }
    TT_RETURN_IF_ERROR(tt_cpu_region_run(args->run, op->regions[0], in, &result_at));
    memcpy((char *)args->out[0] + i * bytes, result, (size_t)bytes);
  }
  return NULL;
}
