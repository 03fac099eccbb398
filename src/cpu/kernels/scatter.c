/* scatter: a window of updates for every index, in the order of the indices.
 *
 * What lies outside of the operand is left out, element by element. Where the region is one known
 * op, the window is cut to what lies inside and its rows are combined; else the region runs for
 * each element. Windows of one element or one row, which no index can put half inside, are looked
 * up a block at a time. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/combine.h"
#include "cpu/kernels/indices.h"

enum { SLOT = 64 };

typedef struct scatter_job {
  const tt_cpu_args *args;
  const tt_hlo_scatter_dims *dims;
  const tt_hlo_type *operand, *indices, *updates;
  const void *index_data;
  uint32_t n;
  int64_t index_step;
  int32_t batch_rank, window_rank;
  int64_t batch_dims[TT_HLO_RANK_MAX], batch_index[TT_HLO_RANK_MAX], batch_from[TT_HLO_RANK_MAX];
  int64_t batch_axis[TT_HLO_RANK_MAX]; /* the operand's batching axis, or -1 */
  int64_t window_dims[TT_HLO_RANK_MAX], window_from[TT_HLO_RANK_MAX],
      window_axis[TT_HLO_RANK_MAX]; /* of the operand */
  int64_t strides[TT_HLO_RANK_MAX]; /* of the operand */
  tt_cpu_combine combine;           /* n is 1 */
  int bytes;
  char *slots; /* else: 2 n arguments, n results */
  const void **in;
  void **out;
} scatter_job;

static bool holds(tt_hlo_list list, int64_t axis) {
  for (size_t i = 0; i < list.count; i++)
    if (list.items[i] == axis)
      return true;
  return false;
}

/* Axes of the updates: those of the window, and in order between them those of the indices. */
static void lay_out(scatter_job *j) {
  const tt_hlo_scatter_dims *d = j->dims;
  int64_t strides[TT_HLO_RANK_MAX], index_strides[TT_HLO_RANK_MAX];
  int32_t axis = 0, index = 0;
  tt_cpu_strides(j->updates, strides);
  tt_cpu_strides(j->indices, index_strides);
  tt_cpu_strides(j->operand, j->strides);
  for (int32_t i = 0; i < j->updates->rank; i++) {
    if (holds(d->update_window_dims, i)) {
      while (holds(d->inserted_window_dims, axis) || holds(d->input_batching_dims, axis))
        axis++;
      int32_t k = j->window_rank++;
      j->window_dims[k] = j->updates->dims[i];
      j->window_from[k] = strides[i];
      j->window_axis[k] = axis++;
      continue;
    }
    index += index == d->index_vector_dim;
    int32_t k = j->batch_rank++;
    j->batch_dims[k] = j->updates->dims[i];
    j->batch_index[k] = index_strides[index];
    j->batch_from[k] = strides[i];
    j->batch_axis[k] = -1;
    for (size_t b = 0; b < d->scatter_indices_batching_dims.count; b++)
      if (d->scatter_indices_batching_dims.items[b] == index)
        j->batch_axis[k] = d->input_batching_dims.items[b];
    index++;
  }
  j->index_step = d->index_vector_dim < j->indices->rank ? index_strides[d->index_vector_dim] : 0;
}

/* Where the window of index `i` begins, for each axis of the operand, and in the updates. */
static int64_t find_start(const scatter_job *j, int64_t i, int64_t *start) {
  int64_t index_at = 0, from = 0;
  memset(start, 0, (size_t)j->operand->rank * sizeof *start);
  for (int32_t k = j->batch_rank; k-- > 0;) {
    int64_t at = i % j->batch_dims[k];
    i /= j->batch_dims[k];
    index_at += at * j->batch_index[k];
    from += at * j->batch_from[k];
    if (j->batch_axis[k] >= 0)
      start[j->batch_axis[k]] = at;
  }
  for (size_t k = 0; k < j->dims->scatter_dims_to_operand_dims.count; k++) {
    int64_t at =
        tt_cpu_load_int(j->indices->dtype, j->index_data, index_at + (int64_t)k * j->index_step);
    /* Far outside is outside; so sums with it do not overflow. */
    bool outside = at > j->operand->dims[j->dims->scatter_dims_to_operand_dims.items[k]] ||
                   (j->indices->dtype == TT_U64 && at < 0);
    start[j->dims->scatter_dims_to_operand_dims.items[k]] =
        outside                 ? j->operand->dims[j->dims->scatter_dims_to_operand_dims.items[k]]
        : at < -(INT64_MAX / 4) ? -(INT64_MAX / 4)
                                : at;
  }
  return from;
}

/* The part of the window that lies inside: [low, low + size) on each of its axes. */
static bool cut_window(const scatter_job *j, const int64_t *start, int64_t *low, int64_t *size) {
  uint64_t windowed = 0;
  for (int32_t k = 0; k < j->window_rank; k++) {
    int64_t axis = j->window_axis[k], dim = j->operand->dims[axis];
    int64_t high = dim - start[axis] < j->window_dims[k] ? dim - start[axis] : j->window_dims[k];
    low[k] = start[axis] < 0 ? -start[axis] : 0;
    size[k] = high - low[k];
    windowed |= UINT64_C(1) << axis;
    if (size[k] <= 0)
      return false;
  }
  for (int32_t i = 0; i < j->operand->rank; i++)
    if ((windowed >> i & 1) == 0 && (start[i] < 0 || start[i] >= j->operand->dims[i]))
      return false;
  return true;
}

static tt_error *combine_element(const scatter_job *j, int64_t to, int64_t from) {
  const tt_hlo_op *op = j->args->op;
  for (uint32_t k = 0; k < j->n; k++) {
    tt_dtype dtype = op->results[k].type.dtype, given = op->operands[k]->type.dtype;
    int bytes = tt_dtype_bytes(dtype);
    memcpy(j->slots + k * SLOT, (const char *)j->args->out[k] + to * bytes, (size_t)bytes);
    tt_cpu_convert(given, (const char *)j->args->in[j->n + 1 + k] + from * tt_dtype_bytes(given),
                   dtype, j->slots + (j->n + k) * SLOT, 1);
  }
  TT_RETURN_IF_ERROR(tt_cpu_region_run(j->args->run, op->regions[0], j->in, j->out));
  for (uint32_t k = 0; k < j->n; k++) {
    int bytes = tt_dtype_bytes(op->results[k].type.dtype);
    memcpy((char *)j->args->out[k] + to * bytes, j->out[k], (size_t)bytes);
  }
  return NULL;
}

/* A row: the window's last axis. */
static tt_error *combine_row(const scatter_job *j, int64_t to, int64_t to_step, int64_t from,
                             int64_t from_step, int64_t count) {
  if (j->combine != NULL) {
    j->combine((char *)j->args->out[0] + to * j->bytes, to_step,
               (const char *)j->args->in[2] + from * j->bytes, from_step, count);
    return NULL;
  }
  for (int64_t i = 0; i < count; i++)
    TT_RETURN_IF_ERROR(combine_element(j, to + i * to_step, from + i * from_step));
  return NULL;
}

static tt_error *scatter_window(const scatter_job *j, int64_t i) {
  int64_t start[TT_HLO_RANK_MAX], low[TT_HLO_RANK_MAX], size[TT_HLO_RANK_MAX], rows = 1;
  int64_t from = find_start(j, i, start), to = 0;
  int32_t last = j->window_rank - 1;
  if (!cut_window(j, start, low, size))
    return NULL;
  for (int32_t k = 0; k < j->operand->rank; k++)
    to += start[k] * j->strides[k];
  for (int32_t k = 0; k <= last; k++) {
    to += low[k] * j->strides[j->window_axis[k]];
    from += low[k] * j->window_from[k];
    rows *= k < last ? size[k] : 1;
  }
  for (int64_t row = 0; row < rows; row++) {
    int64_t rest = row, row_to = to, row_from = from;
    for (int32_t k = last; k-- > 0; rest /= size[k]) {
      row_to += rest % size[k] * j->strides[j->window_axis[k]];
      row_from += rest % size[k] * j->window_from[k];
    }
    TT_RETURN_IF_ERROR(combine_row(j, row_to, last < 0 ? 1 : j->strides[j->window_axis[last]],
                                   row_from, last < 0 ? 1 : j->window_from[last],
                                   last < 0 ? 1 : size[last]));
  }
  return NULL;
}

/* The results begin as the operands. One that is there already may still be of another dtype of the
 * same size. */
static void copy_operands(const tt_cpu_args *args, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    tt_dtype from = args->op->operands[k]->type.dtype, to = args->op->results[k].type.dtype;
    int64_t count = tt_cpu_count(&args->op->results[k].type), bytes = tt_dtype_bytes(to);
    if (args->in[k] != args->out[k])
      tt_cpu_convert(from, args->in[k], to, args->out[k], count);
    for (int64_t i = 0; i < count && args->in[k] == args->out[k] && from != to; i++) {
      _Alignas(16) char element[16];
      memcpy(element, (char *)args->out[k] + i * bytes, (size_t)bytes);
      tt_cpu_convert(from, element, to, (char *)args->out[k] + i * bytes, 1);
    }
  }
}

/* The one op that the region is: RETURN where it gives the update. */
static tt_hlo_code region_op(const tt_hlo_op *op) {
  const tt_hlo_region *region = op->regions[0];
  if (op->results_count == 1 && region->last->operands[0] == &region->args[1])
    return TT_HLO_RETURN;
  return tt_cpu_region_binary(region);
}

static tt_error *prepare(scatter_job *j) {
  const tt_hlo_op *op = j->args->op;
  if (j->n == 1 && op->results[0].type.dtype == j->updates->dtype)
    j->combine = tt_cpu_combine_find(region_op(op), j->updates->dtype);
  j->bytes = tt_dtype_bytes(j->updates->dtype);
  if (j->combine != NULL)
    return NULL;
  int64_t n = j->n;
  j->slots = tt_cpu_scratch(j->args->run, 3 * n * SLOT);
  j->in = tt_cpu_scratch(j->args->run, 2 * n * (int64_t)sizeof(void *));
  j->out = tt_cpu_scratch(j->args->run, n * (int64_t)sizeof(void *));
  if (j->slots == NULL || j->in == NULL || j->out == NULL)
    return tt_cpu_no_scratch(op, 3 * n * SLOT);
  for (int64_t k = 0; k < 2 * n; k++)
    j->in[k] = j->slots + k * SLOT;
  for (int64_t k = 0; k < n; k++)
    j->out[k] = j->slots + (2 * n + k) * SLOT;
  return NULL;
}

/* ---- windows that are one row, all inside or all outside ---- */

#define ELEMENTS(NAME, T, ASSIGN)                                                         \
  static void NAME(void *to, const int64_t *offsets, const void *from, int64_t from_step, \
                   int64_t count) {                                                       \
    for (int64_t i = 0; i < count; i++)                                                   \
      if (offsets[i] >= 0)                                                                \
        ((T *)to)[offsets[i]] ASSIGN((const T *)from)[i * from_step];                     \
  }

ELEMENTS(set_1, uint8_t, =)
ELEMENTS(set_2, uint16_t, =)
ELEMENTS(set_4, uint32_t, =)
ELEMENTS(set_8, uint64_t, =)
ELEMENTS(add_f32, float, +=)
ELEMENTS(add_f64, double, +=)
ELEMENTS(add_4, uint32_t, +=)
ELEMENTS(add_8, uint64_t, +=)

typedef void (*elements)(void *to, const int64_t *offsets, const void *from, int64_t from_step,
                         int64_t count);

/* The commonest without a call for each element; NULL: none of them. */
static elements find_elements(tt_hlo_code code, tt_dtype dtype) {
  int bytes = tt_dtype_bytes(dtype);
  if (code == TT_HLO_RETURN)
    return bytes == 1 ? set_1 : bytes == 2 ? set_2 : bytes == 4 ? set_4 : bytes == 8 ? set_8 : NULL;
  if (code != TT_HLO_ADD)
    return NULL;
  if (tt_dtype_is_integer(dtype))
    return bytes == 4 ? add_4 : bytes == 8 ? add_8 : NULL;
  return dtype == TT_F32 ? add_f32 : dtype == TT_F64 ? add_f64 : NULL;
}

enum { INDEX, FROM, OPERAND }; /* the arrays of a row_job's axes */

typedef struct row_job {
  const scatter_job *j;
  elements elements; /* of rows of one element; NULL: j->combine's */
  tt_cpu_indices starts;
  tt_cpu_index_axes axes;
  int64_t row, row_to, row_from; /* elements, and their strides */
} row_job;

/* False where a window has more axes than one, or an index moves one that is wider than 1. */
static bool read_rows(const scatter_job *j, row_job *r) {
  tt_hlo_list moved = j->dims->scatter_dims_to_operand_dims;
  r->j = j;
  r->row = r->row_to = r->row_from = 1;
  for (int32_t k = 0; k < j->window_rank; k++) {
    int64_t axis = j->window_axis[k];
    if (j->window_dims[k] == 1)
      continue;
    if (r->row != 1 || holds(moved, axis))
      return false;
    r->row = j->window_dims[k];
    r->row_to = j->strides[axis];
    r->row_from = j->window_from[k];
  }
  r->starts = (tt_cpu_indices){.dtype = j->indices->dtype,
                               .data = j->index_data,
                               .step = j->index_step,
                               .count = (int32_t)moved.count};
  for (size_t k = 0; k < moved.count; k++) {
    r->starts.most[k] = j->operand->dims[moved.items[k]] - 1;
    r->starts.stride[k] = j->strides[moved.items[k]];
  }
  r->axes.rank = j->batch_rank;
  for (int32_t k = 0; k < j->batch_rank; k++) {
    r->axes.dims[k] = j->batch_dims[k];
    r->axes.strides[INDEX][k] = j->batch_index[k];
    r->axes.strides[FROM][k] = j->batch_from[k];
    r->axes.strides[OPERAND][k] = j->batch_axis[k] < 0 ? 0 : j->strides[j->batch_axis[k]];
  }
  tt_cpu_index_axes_join(&r->axes);
  return true;
}

static void scatter_rows(const row_job *r) {
  const scatter_job *j = r->j;
  int32_t last = r->axes.rank - 1;
  int64_t total = 1, at[TT_CPU_INDICES_ARRAYS], offsets[TT_CPU_INDICES_BLOCK];
  for (int32_t k = 0; k <= last; k++)
    total *= r->axes.dims[k];
  for (int64_t i = 0, count; i < total; i += count) {
    count = tt_cpu_index_axes_at(&r->axes, i, at);
    count = count < TT_CPU_INDICES_BLOCK ? count : TT_CPU_INDICES_BLOCK;
    tt_cpu_indices_offsets(&r->starts, at[INDEX], r->axes.strides[INDEX][last], count, offsets);
    for (int64_t k = 0; k < count; k++)
      offsets[k] += offsets[k] < 0 ? 0 : at[OPERAND] + k * r->axes.strides[OPERAND][last];
    const char *from = (const char *)j->args->in[2] + at[FROM] * j->bytes;
    int64_t step = r->axes.strides[FROM][last];
    char *to = j->args->out[0];
    if (r->row == 1 && r->elements != NULL) {
      r->elements(to, offsets, from, step, count);
      continue;
    }
    for (int64_t k = 0; k < count; k++)
      if (offsets[k] >= 0)
        j->combine(to + offsets[k] * j->bytes, r->row_to, from + k * step * j->bytes, r->row_from,
                   r->row);
  }
}

tt_error *tt_cpu_kernel_scatter(const tt_cpu_args *args) {
  const tt_hlo_op *op = args->op;
  uint32_t n = op->results_count;
  scatter_job j = {.args = args,
                   .dims = tt_hlo_op_attr(op, TT_HLO_SCATTER_DIMENSION_NUMBERS)->dims,
                   .operand = &op->operands[0]->type,
                   .indices = &op->operands[n]->type,
                   .updates = &op->operands[n + 1]->type,
                   .index_data = args->in[n],
                   .n = n};
  row_job rows = {.elements = find_elements(region_op(op), op->results[0].type.dtype)};
  int64_t count = 1;
  copy_operands(args, n);
  if (tt_cpu_count(j.updates) == 0 || tt_cpu_count(j.operand) == 0)
    return NULL;
  TT_RETURN_IF_ERROR(prepare(&j));
  lay_out(&j);
  if (j.combine != NULL && read_rows(&j, &rows)) {
    scatter_rows(&rows);
    return NULL;
  }
  for (int32_t k = 0; k < j.batch_rank; k++)
    count *= j.batch_dims[k];
  for (int64_t i = 0; i < count; i++)
    TT_RETURN_IF_ERROR(scatter_window(&j, i));
  return NULL;
}
