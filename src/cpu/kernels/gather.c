/* gather: a slice for every index.
 *
 * Indices become offsets a block at a time. Slices of one element, or of rows, are then copied for
 * the whole block, place after place of the slice: what lies side by side in the result is written
 * together. Few indices with large slices are small moves. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/by_size.h"
#include "cpu/kernels/indices.h"
#include "cpu/kernels/move.h"

enum { INDEX, OUT, OPERAND }; /* the arrays of a gather_job's axes */

typedef struct gather_job {
  const tt_hlo_type *operand, *indices;
  const tt_hlo_gather_dims *dims;
  tt_hlo_list sizes;
  tt_cpu_move slice; /* its last axis is a row where it is dense in both */
  bool rows;
  int64_t places; /* of the slice: elements, or rows */
  tt_cpu_indices starts;
  tt_cpu_index_axes axes; /* of the indices without that of their numbers */
  const char *in;
  char *out;
} gather_job;

static bool holds(tt_hlo_list list, int64_t axis) {
  for (size_t i = 0; i < list.count; i++)
    if (list.items[i] == axis)
      return true;
  return false;
}

/* Axes of the result: those of the window, and in order between them those of the indices. */
static void lay_out(gather_job *g, const tt_hlo_type *result) {
  int64_t strides[TT_HLO_RANK_MAX], index_strides[TT_HLO_RANK_MAX], in[TT_HLO_RANK_MAX];
  int32_t axis = 0, index = 0;
  tt_cpu_strides(result, strides);
  tt_cpu_strides(g->indices, index_strides);
  tt_cpu_strides(g->operand, in);
  for (int32_t i = 0; i < result->rank; i++) {
    if (holds(g->dims->offset_dims, i)) {
      while (holds(g->dims->collapsed_slice_dims, axis) ||
             holds(g->dims->operand_batching_dims, axis))
        axis++;
      int32_t k = g->slice.rank++;
      g->slice.dims[k] = g->sizes.items[axis];
      g->slice.in[k] = in[axis++];
      g->slice.out[k] = strides[i];
      continue;
    }
    index += index == g->dims->index_vector_dim;
    int32_t k = g->axes.rank++;
    g->axes.dims[k] = g->indices->dims[index];
    g->axes.strides[INDEX][k] = index_strides[index];
    g->axes.strides[OUT][k] = strides[i];
    for (size_t b = 0; b < g->dims->start_indices_batching_dims.count; b++)
      if (g->dims->start_indices_batching_dims.items[b] == index)
        g->axes.strides[OPERAND][k] = in[g->dims->operand_batching_dims.items[b]];
    index++;
  }
  g->starts.step =
      g->dims->index_vector_dim < g->indices->rank ? index_strides[g->dims->index_vector_dim] : 0;
  for (size_t k = 0; k < g->dims->start_index_map.count; k++) {
    int64_t mapped = g->dims->start_index_map.items[k];
    g->starts.most[k] = g->operand->dims[mapped] - g->sizes.items[mapped];
    g->starts.stride[k] = in[mapped];
  }
}

#define COPY_ELEMENTS(T)              \
  for (int64_t i = 0; i < count; i++) \
  ((T *)out)[i * step] = ((const T *)in)[offsets[i]]

static void copy_elements(int bytes, const char *in, const int64_t *offsets, char *out,
                          int64_t step, int64_t count) {
  TT_CPU_BY_SIZE(bytes, COPY_ELEMENTS)
}

/* Place `p` of the slices at `offsets`. */
static void copy_place(const gather_job *g, int64_t p, const int64_t *offsets, int64_t to,
                       int64_t step, int64_t count) {
  const tt_cpu_move *m = &g->slice;
  int64_t from = 0;
  for (int32_t k = m->rank - (g->rows ? 1 : 0); k-- > 0; p /= m->dims[k]) {
    from += p % m->dims[k] * m->in[k];
    to += p % m->dims[k] * m->out[k];
  }
  const char *in = g->in + from * m->bytes;
  char *out = g->out + to * m->bytes;
  if (!g->rows) {
    copy_elements(m->bytes, in, offsets, out, step, count);
    return;
  }
  size_t size = (size_t)(m->dims[m->rank - 1] * m->bytes);
  for (int64_t i = 0; i < count; i++)
    memcpy(out + i * step * m->bytes, in + offsets[i] * m->bytes, size);
}

static void copy_block(const gather_job *g, const int64_t *offsets, int64_t to, int64_t step,
                       int64_t count) {
  enum { FEW = 4 };
  const tt_cpu_move *m = &g->slice;
  if (count < FEW && g->places > 1)
    for (int64_t i = 0; i < count; i++)
      tt_cpu_move_serial(m, g->in + offsets[i] * m->bytes, g->out + (to + i * step) * m->bytes);
  else
    for (int64_t p = 0; p < g->places; p++)
      copy_place(g, p, offsets, to, step, count);
}

static void gather_part(int64_t begin, int64_t end, void *user) {
  const gather_job *g = user;
  int32_t last = g->axes.rank - 1;
  int64_t at[TT_CPU_INDICES_ARRAYS], offsets[TT_CPU_INDICES_BLOCK];
  for (int64_t i = begin, count; i < end; i += count) {
    count = tt_cpu_index_axes_at(&g->axes, i, at);
    count = count < end - i ? count : end - i;
    count = count < TT_CPU_INDICES_BLOCK ? count : TT_CPU_INDICES_BLOCK;
    tt_cpu_indices_offsets(&g->starts, at[INDEX], g->axes.strides[INDEX][last], count, offsets);
    for (int64_t k = 0; k < count; k++)
      offsets[k] += at[OPERAND] + k * g->axes.strides[OPERAND][last];
    copy_block(g, offsets, at[OUT], g->axes.strides[OUT][last], count);
  }
}

tt_error *tt_cpu_kernel_gather(const tt_cpu_args *args) {
  const tt_hlo_op *op = args->op;
  gather_job g = {
      .operand = &op->operands[0]->type,
      .indices = &op->operands[1]->type,
      .dims = tt_hlo_op_attr(op, TT_HLO_DIMENSION_NUMBERS)->dims,
      .sizes = tt_cpu_attr_list(op, TT_HLO_SLICE_SIZES),
      .starts = {.dtype = op->operands[1]->type.dtype, .data = args->in[1], .clamp = true},
      .in = args->in[0],
      .out = args->out[0]};
  g.slice.bytes = tt_dtype_bytes(g.operand->dtype);
  if (tt_cpu_count(&op->results[0].type) == 0)
    return NULL;
  g.starts.count = (int32_t)g.dims->start_index_map.count;
  lay_out(&g, &op->results[0].type);
  tt_cpu_move_simplify(&g.slice);
  int64_t count = 1, slice = 1;
  for (int32_t i = 0; i < g.axes.rank; i++)
    count *= g.axes.dims[i];
  for (int32_t i = 0; i < g.slice.rank; i++)
    slice *= g.slice.dims[i];
  int32_t last = g.slice.rank - 1;
  g.rows = last >= 0 && g.slice.in[last] == 1 && g.slice.out[last] == 1;
  g.places = g.rows ? slice / g.slice.dims[last] : slice;
  tt_cpu_index_axes_join(&g.axes);
  tt_cpu_parallel(count, 3 + (g.rows ? 0.2 : 2) * (double)slice, gather_part, &g);
  return NULL;
}
