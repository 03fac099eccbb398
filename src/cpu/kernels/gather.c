/* gather: a slice for every index, copied by one small move. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/move.h"

typedef struct gather_job {
  const tt_hlo_type *operand, *indices;
  const tt_hlo_gather_dims *dims;
  tt_hlo_list sizes;
  tt_cpu_move slice;
  const char *in, *index_data;
  char *out;
  int64_t index_step; /* from one number of an index to the next */
  int32_t batch_rank; /* of the indices without the axis of the numbers */
  int64_t batch_dims[TT_HLO_RANK_MAX], batch_index[TT_HLO_RANK_MAX], batch_out[TT_HLO_RANK_MAX];
  int64_t batch_operand[TT_HLO_RANK_MAX]; /* strides of the operand's batching axes */
  int64_t operand_strides[TT_HLO_RANK_MAX];
} gather_job;

static bool holds(tt_hlo_list list, int64_t axis) {
  for (size_t i = 0; i < list.count; i++)
    if (list.items[i] == axis)
      return true;
  return false;
}

/* Axes of the result: those of the window, and in order between them those of the indices. */
static void lay_out(gather_job *g, const tt_hlo_type *result) {
  int64_t strides[TT_HLO_RANK_MAX], index_strides[TT_HLO_RANK_MAX];
  int32_t axis = 0, index = 0;
  tt_cpu_strides(result, strides);
  tt_cpu_strides(g->indices, index_strides);
  tt_cpu_strides(g->operand, g->operand_strides);
  for (int32_t i = 0; i < result->rank; i++) {
    if (holds(g->dims->offset_dims, i)) {
      while (holds(g->dims->collapsed_slice_dims, axis) ||
             holds(g->dims->operand_batching_dims, axis))
        axis++;
      int32_t k = g->slice.rank++;
      g->slice.dims[k] = g->sizes.items[axis];
      g->slice.in[k] = g->operand_strides[axis++];
      g->slice.out[k] = strides[i];
      continue;
    }
    index += index == g->dims->index_vector_dim;
    int32_t k = g->batch_rank++;
    g->batch_dims[k] = g->indices->dims[index];
    g->batch_index[k] = index_strides[index];
    g->batch_out[k] = strides[i];
    for (size_t b = 0; b < g->dims->start_indices_batching_dims.count; b++)
      if (g->dims->start_indices_batching_dims.items[b] == index)
        g->batch_operand[k] = g->operand_strides[g->dims->operand_batching_dims.items[b]];
    index++;
  }
  g->index_step =
      g->dims->index_vector_dim < g->indices->rank ? index_strides[g->dims->index_vector_dim] : 0;
}

static int64_t start_of(const gather_job *g, int64_t index_at) {
  int64_t offset = 0;
  for (size_t k = 0; k < g->dims->start_index_map.count; k++) {
    int64_t axis = g->dims->start_index_map.items[k];
    int64_t start =
        tt_cpu_load_int(g->indices->dtype, g->index_data, index_at + (int64_t)k * g->index_step);
    int64_t most = g->operand->dims[axis] - g->sizes.items[axis];
    if (g->indices->dtype == TT_U64 && start < 0)
      start = most;
    start = start < 0 ? 0 : start > most ? most : start;
    offset += start * g->operand_strides[axis];
  }
  return offset;
}

static void copy_slice(const gather_job *g, int64_t from, int64_t to) {
  const tt_cpu_move *m = &g->slice;
  const char *in = g->in + from * m->bytes;
  char *out = g->out + to * m->bytes;
  if (m->rank == 0 && m->bytes == 4)
    memcpy(out, in, 4);
  else if (m->rank == 1 && m->in[0] == 1 && m->out[0] == 1)
    memcpy(out, in, (size_t)(m->dims[0] * m->bytes));
  else
    tt_cpu_move_serial(m, in, out);
}

static void gather_part(int64_t begin, int64_t end, void *user) {
  const gather_job *g = user;
  for (int64_t i = begin; i < end; i++) {
    int64_t rest = i, index_at = 0, to = 0, from = 0;
    for (int32_t k = g->batch_rank; k-- > 0;) {
      int64_t at = rest % g->batch_dims[k];
      rest /= g->batch_dims[k];
      index_at += at * g->batch_index[k];
      to += at * g->batch_out[k];
      from += at * g->batch_operand[k];
    }
    copy_slice(g, from + start_of(g, index_at), to);
  }
}

tt_error *tt_cpu_kernel_gather(const tt_cpu_args *args) {
  const tt_hlo_op *op = args->op;
  gather_job g = {.operand = &op->operands[0]->type,
                  .indices = &op->operands[1]->type,
                  .dims = tt_hlo_op_attr(op, TT_HLO_DIMENSION_NUMBERS)->dims,
                  .sizes = tt_cpu_attr_list(op, TT_HLO_SLICE_SIZES),
                  .in = args->in[0],
                  .index_data = args->in[1],
                  .out = args->out[0]};
  g.slice.bytes = tt_dtype_bytes(g.operand->dtype);
  if (tt_cpu_count(&op->results[0].type) == 0)
    return NULL;
  lay_out(&g, &op->results[0].type);
  int64_t count = 1, slice = 1;
  for (int32_t i = 0; i < g.batch_rank; i++)
    count *= g.batch_dims[i];
  tt_cpu_move_simplify(&g.slice);
  for (int32_t i = 0; i < g.slice.rank; i++)
    slice *= g.slice.dims[i];
  tt_cpu_parallel(count, 10 + 0.2 * (double)slice, gather_part, &g);
  return NULL;
}
