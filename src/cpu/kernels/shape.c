/* Ops that place elements: each is one strided copy, or a few. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/move.h"

static const tt_hlo_type *operand(const tt_cpu_args *args, uint32_t i) {
  return &args->op->operands[i]->type;
}
static const tt_hlo_type *result(const tt_cpu_args *args) { return &args->op->results[0].type; }

/* A move over all of the result, in its order; the strides of `in` are the caller's. */
static tt_cpu_move move_to_result(const tt_cpu_args *args) {
  const tt_hlo_type *type = result(args);
  tt_cpu_move m = {.rank = type->rank, .bytes = tt_dtype_bytes(type->dtype)};
  for (int32_t i = 0; i < type->rank; i++)
    m.dims[i] = type->dims[i];
  tt_cpu_strides(type, m.out);
  return m;
}

static tt_error *run_move(const tt_cpu_args *args, tt_cpu_move *m) {
  tt_cpu_move_simplify(m);
  tt_cpu_move_run(m, args->in[0], args->out[0]);
  return NULL;
}

tt_error *tt_cpu_kernel_broadcast(const tt_cpu_args *args) {
  tt_cpu_move m = move_to_result(args);
  int64_t strides[TT_HLO_RANK_MAX];
  tt_hlo_list map = tt_cpu_attr_list(args->op, TT_HLO_BROADCAST_DIMENSIONS);
  tt_cpu_strides(operand(args, 0), strides);
  for (size_t i = 0; i < map.count; i++)
    m.in[map.items[i]] = operand(args, 0)->dims[i] == 1 ? 0 : strides[i];
  return run_move(args, &m);
}

tt_error *tt_cpu_kernel_transpose(const tt_cpu_args *args) {
  tt_cpu_move m = move_to_result(args);
  int64_t strides[TT_HLO_RANK_MAX];
  tt_hlo_list permutation = tt_cpu_attr_list(args->op, TT_HLO_PERMUTATION);
  tt_cpu_strides(operand(args, 0), strides);
  for (size_t i = 0; i < permutation.count; i++)
    m.in[i] = strides[permutation.items[i]];
  return run_move(args, &m);
}

tt_error *tt_cpu_kernel_slice(const tt_cpu_args *args) {
  tt_cpu_move m = move_to_result(args);
  tt_hlo_list starts = tt_cpu_attr_list(args->op, TT_HLO_START_INDICES);
  tt_hlo_list steps = tt_cpu_attr_list(args->op, TT_HLO_STRIDES);
  tt_cpu_strides(operand(args, 0), m.in);
  for (int32_t i = 0; i < m.rank; i++) {
    m.offset += starts.items[i] * m.in[i];
    m.in[i] = m.dims[i] > 1 ? m.in[i] * steps.items[i] : 0;
  }
  return run_move(args, &m);
}

tt_error *tt_cpu_kernel_reverse(const tt_cpu_args *args) {
  tt_cpu_move m = move_to_result(args);
  tt_hlo_list axes = tt_cpu_attr_list(args->op, TT_HLO_DIMENSIONS);
  tt_cpu_strides(operand(args, 0), m.in);
  for (size_t i = 0; i < axes.count; i++) {
    int64_t axis = axes.items[i];
    m.offset += m.dims[axis] > 0 ? (m.dims[axis] - 1) * m.in[axis] : 0;
    m.in[axis] = -m.in[axis];
  }
  return run_move(args, &m);
}

tt_error *tt_cpu_kernel_concatenate(const tt_cpu_args *args) {
  int64_t axis = tt_cpu_attr_i64(args->op, TT_HLO_DIMENSION, 0), at = 0;
  for (uint32_t i = 0; i < args->op->operands_count; i++) {
    tt_cpu_move m = move_to_result(args);
    tt_cpu_strides(operand(args, i), m.in);
    m.out_offset = at * m.out[axis];
    m.dims[axis] = operand(args, i)->dims[axis];
    at += m.dims[axis];
    tt_cpu_move_simplify(&m);
    tt_cpu_move_run(&m, args->in[i], args->out[0]);
  }
  return NULL;
}

/* Elements of the operand [first, first + count) stay; the first of them goes to `to`. */
static void pad_axis(int64_t dim, int64_t out_dim, int64_t low, int64_t step, int64_t *out_first,
                     int64_t *out_count, int64_t *out_to) {
  int64_t first = low < 0 ? (-low + step - 1) / step : 0, last;
  if (first < dim && low + first * step < out_dim) {
    last = (out_dim - 1 - low) / step;
    last = last < dim - 1 ? last : dim - 1;
    *out_first = first;
    *out_count = last - first + 1;
    *out_to = low + first * step;
    return;
  }
  *out_first = *out_count = *out_to = 0;
}

tt_error *tt_cpu_kernel_pad(const tt_cpu_args *args) {
  tt_cpu_move m = move_to_result(args), all = m;
  tt_hlo_list low = tt_cpu_attr_list(args->op, TT_HLO_EDGE_PADDING_LOW);
  tt_hlo_list interior = tt_cpu_attr_list(args->op, TT_HLO_INTERIOR_PADDING);
  tt_cpu_move_simplify(&all);
  tt_cpu_move_run(&all, args->in[1], args->out[0]);
  tt_cpu_strides(operand(args, 0), m.in);
  for (int32_t i = 0; i < m.rank; i++) {
    int64_t first = 0, count = 0, to = 0, step = interior.items[i] + 1;
    pad_axis(operand(args, 0)->dims[i], m.dims[i], low.items[i], step, &first, &count, &to);
    m.dims[i] = count;
    m.offset += first * m.in[i];
    m.out_offset += to * m.out[i];
    m.out[i] = count > 1 ? m.out[i] * step : 0;
  }
  return run_move(args, &m);
}

/* ---- places that the run computes ---- */

/* The start of a slice of `size` in a dim, moved so that the slice is inside. */
static int64_t clamped_start(const tt_cpu_args *args, uint32_t i, int64_t dim, int64_t size) {
  tt_dtype dtype = operand(args, i)->dtype;
  int64_t start = tt_cpu_load_int(dtype, args->in[i], 0);
  if (dtype == TT_U64 && start < 0)
    start = INT64_MAX;
  start = start < 0 ? 0 : start;
  return start > dim - size ? dim - size : start;
}

int64_t tt_cpu_slice_start(const tt_cpu_args *args) {
  const tt_hlo_type *from = operand(args, 0), *to = result(args);
  int64_t strides[TT_HLO_RANK_MAX], start = 0;
  tt_cpu_strides(from, strides);
  for (int32_t i = 0; i < from->rank; i++)
    start += strides[i] * clamped_start(args, 1 + (uint32_t)i, from->dims[i], to->dims[i]);
  return start;
}

tt_error *tt_cpu_kernel_dynamic_slice(const tt_cpu_args *args) {
  tt_cpu_move m = move_to_result(args);
  tt_cpu_strides(operand(args, 0), m.in);
  m.offset = tt_cpu_slice_start(args);
  return run_move(args, &m);
}

tt_error *tt_cpu_kernel_dynamic_update_slice(const tt_cpu_args *args) {
  tt_cpu_move m = move_to_result(args);
  const tt_hlo_type *update = operand(args, 1);
  int64_t bytes = tt_cpu_bytes(result(args));
  if (args->in[0] != args->out[0] && bytes > 0) {
    tt_cpu_move all = {.rank = 1, .bytes = 1, .dims = {bytes}, .in = {1}, .out = {1}};
    tt_cpu_move_run(&all, args->in[0], args->out[0]);
  }
  for (int32_t i = 0; i < m.rank; i++) {
    m.out_offset += m.out[i] * clamped_start(args, 2 + (uint32_t)i, m.dims[i], update->dims[i]);
    m.dims[i] = update->dims[i];
  }
  tt_cpu_strides(update, m.in);
  tt_cpu_move_simplify(&m);
  tt_cpu_move_run(&m, args->in[1], args->out[0]);
  return NULL;
}

/* ---- the rest ---- */

/* Values [begin, end) of an iota along the last axis. */
static void count_up(tt_dtype dtype, char *out, int64_t begin, int64_t end) {
  enum { CHUNK = 256 };
  int64_t values[CHUNK];
  for (int64_t i = begin; i < end; i += CHUNK) {
    int64_t count = end - i < CHUNK ? end - i : CHUNK;
    for (int64_t k = 0; k < count; k++)
      values[k] = i + k;
    tt_cpu_convert(TT_S64, values, dtype, out + i * tt_dtype_bytes(dtype), count);
  }
}

typedef struct iota_job {
  const tt_hlo_type *type;
  int64_t dim, inner;
  char *out;
} iota_job;

/* Rows of the axis's inner extent, of one value each; or, where that is one element, values. */
static void iota_part(int64_t begin, int64_t end, void *user) {
  const iota_job *j = user;
  tt_dtype dtype = j->type->dtype;
  int64_t bytes = tt_dtype_bytes(dtype);
  for (int64_t i = begin, count; i < end; i += count) {
    int64_t first = i % j->dim;
    char *line = j->out + (i - first) * j->inner * bytes;
    count = j->dim - first < end - i ? j->dim - first : end - i;
    if (j->inner == 1)
      count_up(dtype, line, first, first + count);
    for (int64_t k = first; k < first + count && j->inner > 1; k++) {
      tt_cpu_store_int(dtype, line, k * j->inner, k);
      tt_cpu_fill(line + k * j->inner * bytes, line + k * j->inner * bytes, j->inner, (int)bytes);
    }
  }
}

tt_error *tt_cpu_kernel_iota(const tt_cpu_args *args) {
  const tt_hlo_type *type = result(args);
  int64_t axis = tt_cpu_attr_i64(args->op, TT_HLO_IOTA_DIMENSION, 0);
  int64_t count = tt_cpu_count(type);
  iota_job j = {type, type->dims[axis], 1, args->out[0]};
  if (count == 0)
    return NULL;
  for (int32_t i = type->rank; i-- > axis + 1;)
    j.inner *= type->dims[i];
  tt_cpu_parallel(count / j.inner, j.inner == 1 ? 1 : 10 + 0.2 * (double)j.inner, iota_part, &j);
  return NULL;
}

/* Only the forms between elements of 1 or 4 bits, each a byte, and wider ones come here. The lowest
 * bits of the wide element are the first narrow one. */
tt_error *tt_cpu_kernel_bitcast(const tt_cpu_args *args) {
  tt_dtype from = operand(args, 0)->dtype, to = result(args)->dtype;
  bool splits = tt_dtypes[from].bits > tt_dtypes[to].bits;
  tt_dtype wide = splits ? from : to, narrow = splits ? to : from;
  int bits = tt_dtypes[narrow].bits, parts = tt_dtypes[wide].bits / bits;
  int64_t count = tt_cpu_count(splits ? operand(args, 0) : result(args));
  int64_t bytes = tt_dtype_bytes(wide);
  for (int64_t i = 0; i < count; i++) {
    uint64_t word = 0;
    const uint8_t *in = (const uint8_t *)args->in[0] + i * (splits ? bytes : parts);
    uint8_t *out = (uint8_t *)args->out[0] + i * (splits ? parts : bytes);
    if (splits)
      memcpy(&word, in, (size_t)bytes);
    for (int k = 0; k < parts && splits; k++)
      out[k] = (uint8_t)(word >> (k * bits) & ((1U << bits) - 1));
    for (int k = 0; k < parts && !splits; k++)
      word |= (uint64_t)(in[k] & ((1U << bits) - 1)) << (k * bits);
    if (!splits)
      memcpy(out, &word, (size_t)bytes);
  }
  return NULL;
}

tt_error *tt_cpu_kernel_dimension_size(const tt_cpu_args *args) {
  int64_t axis = tt_cpu_attr_i64(args->op, TT_HLO_DIMENSION, 0);
  tt_cpu_store_int(TT_S32, args->out[0], 0, operand(args, 0)->dims[axis]);
  return NULL;
}

tt_error *tt_cpu_kernel_replica_id(const tt_cpu_args *args) {
  tt_cpu_store_int(TT_U32, args->out[0], 0, tt_cpu_replica(args->run));
  return NULL;
}

tt_error *tt_cpu_kernel_partition_id(const tt_cpu_args *args) {
  tt_cpu_store_int(TT_U32, args->out[0], 0, tt_cpu_partition(args->run));
  return NULL;
}

tt_error *tt_cpu_kernel_nothing(const tt_cpu_args *args) {
  (void)args;
  return NULL;
}
