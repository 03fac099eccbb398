/* Ops whose sizes are operands. Here the result's dims are known, so that the sizes can only be
 * those; each acts as its static form. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/move.h"

tt_error *tt_cpu_kernel_dynamic_broadcast(const tt_cpu_args *args) {
  return tt_cpu_kernel_broadcast(args);
}

tt_error *tt_cpu_kernel_dynamic_iota(const tt_cpu_args *args) { return tt_cpu_kernel_iota(args); }

tt_error *tt_cpu_kernel_dynamic_reshape(const tt_cpu_args *args) {
  memcpy(args->out[0], args->in[0], (size_t)tt_cpu_bytes(&args->op->results[0].type));
  return NULL;
}

/* The part of an axis that lands inside of the result. */
static tt_error *pad_axis(const tt_cpu_args *args, int32_t i, tt_cpu_move *m) {
  const tt_hlo_type *operand = &args->op->operands[0]->type, *result = &args->op->results[0].type;
  int64_t pads[3], dim = operand->dims[i], to = result->dims[i], size = 0;
  for (uint32_t k = 0; k < 3; k++)
    pads[k] = tt_cpu_load_int(args->op->operands[2 + k]->type.dtype, args->in[2 + k], i);
  int64_t low = pads[0], step = 0, spread = 0;
  bool fits = pads[2] >= 0 && !__builtin_add_overflow(pads[2], 1, &step) &&
              !__builtin_mul_overflow(dim > 0 ? dim - 1 : 0, step, &spread) &&
              !__builtin_add_overflow(spread + (dim > 0), low, &size) &&
              !__builtin_add_overflow(size, pads[1], &size);
  if (!fits || size != to)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "dynamic_pad: axis %d: %lld padded by %lld, %lld and %lld between is not "
                        "the result's dim, %lld",
                        (int)i, (long long)dim, (long long)pads[0], (long long)pads[1],
                        (long long)pads[2], (long long)to);
  int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
  int64_t end = low >= to ? 0 : (to - low + step - 1) / step;
  end = end > dim ? dim : end;
  m->dims[i] = end > first ? end - first : 0;
  m->offset += first * m->in[i];
  m->out_offset += (low + first * step) * m->out[i];
  m->out[i] *= step;
  return NULL;
}

tt_error *tt_cpu_kernel_dynamic_pad(const tt_cpu_args *args) {
  const tt_hlo_type *operand = &args->op->operands[0]->type, *result = &args->op->results[0].type;
  tt_cpu_move m = {.rank = operand->rank, .bytes = tt_dtype_bytes(operand->dtype)};
  bool empty = false;
  tt_cpu_strides(operand, m.in);
  tt_cpu_strides(result, m.out);
  for (int32_t i = 0; i < operand->rank; i++) {
    TT_RETURN_IF_ERROR(pad_axis(args, i, &m));
    empty = empty || m.dims[i] == 0;
  }
  tt_cpu_fill(args->out[0], args->in[1], tt_cpu_count(result), m.bytes);
  if (empty)
    return NULL;
  const char *in = (const char *)args->in[0] + m.offset * m.bytes;
  char *out = (char *)args->out[0] + m.out_offset * m.bytes;
  m.offset = m.out_offset = 0;
  tt_cpu_move_simplify(&m);
  tt_cpu_move_run(&m, in, out);
  return NULL;
}
