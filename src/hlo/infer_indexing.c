/* gather, scatter, and slices at places that the run computes. */
#include "hlo/hlo_internal.h"

/* What gather and scatter have in common: a tensor `data`, its axes that indices name (`map`), its
 * batching axes, the axes that a window lacks (`dropped`), and the tensor of indices. The names of
 * the lists are for messages. */
typedef struct index_dims {
  const tt_hlo_type *data, *indices;
  tt_hlo_list dropped, data_batch, index_batch, map, window;
  int64_t index_vector_dim;
  const char *dropped_name, *data_batch_name, *index_batch_name, *map_name, *window_name;
  uint64_t outside; /* out: axes of data that are dropped or batching */
} index_dims;

static tt_error *check_index_dims(const tt_hlo_op *op, index_dims *d) {
  int64_t rank = d->data->rank, index_rank = d->indices->rank, vector = d->index_vector_dim;
  uint64_t index_seen = 0, map_seen = 0;
  TT_HLO_CHECK(tt_dtype_is_integer(d->indices->dtype) && d->indices->dtype != TT_PRED,
               "indices: expected integers, got %s", TT_HLO_SHOW(d->indices));
  TT_HLO_CHECK(vector >= 0 && vector <= index_rank, "index_vector_dim is %lld, not in [0, %lld]",
               (long long)vector, (long long)index_rank); /* gather_c2, scatter_c22 */
  /* gather_c6, _c8, _c11, scatter_c9, _c11, _c13; then gather_c1, scatter_c2 */
  TT_RETURN_IF_ERROR(tt_hlo_check_axes(op, d->dropped_name, d->dropped, rank, &d->outside));
  TT_RETURN_IF_ERROR(tt_hlo_check_axes(op, d->data_batch_name, d->data_batch, rank, &d->outside));
  TT_HLO_CHECK(d->window.count == (size_t)rank - d->dropped.count - d->data_batch.count,
               "%s, %s and %s have %zu, %zu and %zu axes, the operand %lld", d->window_name,
               d->dropped_name, d->data_batch_name, d->window.count, d->dropped.count,
               d->data_batch.count, (long long)rank);
  TT_RETURN_IF_ERROR(
      tt_hlo_check_sorted(op, d->dropped_name, d->dropped)); /* gather_c7, scatter_c10 */
  TT_RETURN_IF_ERROR(
      tt_hlo_check_sorted(op, d->data_batch_name, d->data_batch)); /* gather_c10, scatter_c12 */
  TT_RETURN_IF_ERROR(
      tt_hlo_check_sorted(op, d->window_name, d->window)); /* gather_c4, scatter_c7 */
  /* gather_c13 to _c16, scatter_c14 to _c17 */
  TT_RETURN_IF_ERROR(
      tt_hlo_check_axes(op, d->index_batch_name, d->index_batch, index_rank, &index_seen));
  TT_HLO_CHECK(vector == index_rank || !tt_hlo_axis_in(index_seen, vector),
               "%s holds index_vector_dim %lld", d->index_batch_name, (long long)vector);
  TT_HLO_CHECK(d->data_batch.count == d->index_batch.count, "%s has %zu axes, %s %zu",
               d->data_batch_name, d->data_batch.count, d->index_batch_name, d->index_batch.count);
  for (size_t i = 0; i < d->data_batch.count; i++) { /* gather_c17, scatter_c18 */
    int64_t a = d->data->dims[d->data_batch.items[i]],
            b = d->indices->dims[d->index_batch.items[i]];
    TT_HLO_CHECK(tt_hlo_dim_agrees(a, b), "batching dim %zu differs: operand %lld, indices %lld", i,
                 (long long)a, (long long)b);
  }
  /* gather_c18, _c19, scatter_c20, _c21 */
  TT_RETURN_IF_ERROR(tt_hlo_check_axes(op, d->map_name, d->map, rank, &map_seen));
  for (size_t i = 0; i < d->data_batch.count; i++)
    TT_HLO_CHECK(!tt_hlo_axis_in(map_seen, d->data_batch.items[i]),
                 "%s holds the batching axis %lld", d->map_name, (long long)d->data_batch.items[i]);
  int64_t wanted = vector < index_rank ? d->indices->dims[vector] : 1;
  TT_HLO_CHECK(tt_hlo_dim_agrees(wanted, (int64_t)d->map.count),
               "%s has %zu axes, an index has %lld numbers", d->map_name, d->map.count,
               (long long)wanted); /* gather_c3, scatter_c19 */
  return NULL;
}

/* The rank of a tensor of windows, one for each index. */
static int64_t windows_rank(const index_dims *d) {
  return d->indices->rank - (d->index_vector_dim < d->indices->rank) + (int64_t)d->window.count;
}

/* The dims of gather's result, or of scatter's updates: at the axes of `window` those of `sizes`
 * that are not outside, elsewhere those of the indices. gather_c22, scatter_c4. `sizes` NULL: only
 * the run knows them. */
static tt_error *windows_dims(tt_arena *arena, const tt_hlo_op *op, const index_dims *d,
                              const int64_t *sizes, tt_hlo_type *out_type) {
  int64_t rank = windows_rank(d), *dims = NULL;
  uint64_t seen = 0;
  TT_HLO_CHECK(rank <= TT_HLO_RANK_MAX, "the result would have %lld axes, more than %d",
               (long long)rank, TT_HLO_RANK_MAX);
  TT_RETURN_IF_ERROR(tt_hlo_check_axes(op, d->window_name, d->window, rank,
                                       &seen)); /* gather_c4, _c5, scatter_c8 */
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, rank, &dims));
  for (int64_t i = 0, at = 0, index = 0; i < rank; i++) {
    if (tt_hlo_axis_in(seen, i)) {
      while (tt_hlo_axis_in(d->outside, at))
        at++;
      dims[i] = sizes == NULL ? TT_HLO_DYNAMIC : sizes[at];
      at++;
    } else {
      index += index == d->index_vector_dim;
      dims[i] = d->indices->dims[index++];
    }
  }
  *out_type = (tt_hlo_type){.dtype = d->data->dtype, .rank = (int32_t)rank, .dims = dims};
  return NULL;
}

static tt_error *gather_index_dims(const tt_hlo_op *op, index_dims *out_dims) {
  const tt_hlo_attr *attr = NULL;
  bool sorted = false;
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_DIMENSION_NUMBERS, TT_HLO_ATTR_GATHER, &attr));
  TT_RETURN_IF_ERROR(tt_hlo_want_bool(op, TT_HLO_INDICES_ARE_SORTED, false, &sorted));
  const tt_hlo_gather_dims *g = attr->dims;
  *out_dims = (index_dims){
      .data = tt_hlo_operand(op, 0),
      .indices = tt_hlo_operand(op, 1),
      .dropped = g->collapsed_slice_dims,
      .data_batch = g->operand_batching_dims,
      .index_batch = g->start_indices_batching_dims,
      .map = g->start_index_map,
      .window = g->offset_dims,
      .index_vector_dim = g->index_vector_dim,
      .dropped_name = "collapsed_slice_dims",
      .data_batch_name = "operand_batching_dims",
      .index_batch_name = "start_indices_batching_dims",
      .map_name = "start_index_map",
      .window_name = "offset_dims",
  };
  return check_index_dims(op, out_dims);
}

tt_error *tt_hlo_infer_gather(tt_arena *arena, tt_hlo_op *op) {
  index_dims d = {0};
  tt_hlo_list sizes = {0};
  TT_RETURN_IF_ERROR(gather_index_dims(op, &d));
  TT_RETURN_IF_ERROR(
      tt_hlo_need_sized(op, TT_HLO_SLICE_SIZES, (size_t)d.data->rank, 0, &sizes)); /* gather_c20 */
  for (int32_t i = 0; i < d.data->rank; i++) {
    int64_t size = sizes.items[i], dim = d.data->dims[i];
    TT_HLO_CHECK(dim == TT_HLO_DYNAMIC || size <= dim,
                 "slice_sizes[%d] is %lld, the operand's dim %lld", (int)i, (long long)size,
                 (long long)dim); /* gather_c21 */
    TT_HLO_CHECK(!tt_hlo_axis_in(d.outside, i) || size <= 1,
                 "slice_sizes[%d] is %lld, expected at most 1 there", (int)i,
                 (long long)size); /* gather_c9, gather_c12 */
  }
  return windows_dims(arena, op, &d, sizes.items,
                      &op->results[0].type); /* gather_c22, gather_c23 */
}

tt_error *tt_hlo_infer_dynamic_gather(tt_arena *arena, tt_hlo_op *op) {
  index_dims d = {0};
  TT_RETURN_IF_ERROR(gather_index_dims(op, &d));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_index_list(op, 2, "slice_sizes", d.data->rank)); /* dynamic_gather_c11 */
  return windows_dims(arena, op, &d, NULL, &op->results[0].type);   /* dynamic_gather_c13, _c14 */
}

/* scatter_c3, _c4, _c6: every updates tensor has the dims that the indices and `windows` ask for.
 */
static tt_error *check_updates(const tt_hlo_op *op, const index_dims *d, const tt_hlo_type *windows,
                               uint32_t n) {
  uint64_t is_window = 0;
  for (size_t i = 0; i < d->window.count; i++)
    is_window |= UINT64_C(1) << d->window.items[i];
  for (uint32_t i = 0; i < n; i++) {
    const tt_hlo_type *updates = tt_hlo_operand(op, n + 1 + i);
    TT_HLO_CHECK(updates->dtype == tt_hlo_operand(op, i)->dtype,
                 "updates %u: expected elements %s, got %s", i,
                 tt_dtype_name(tt_hlo_operand(op, i)->dtype), TT_HLO_SHOW(updates));
    TT_HLO_CHECK(updates->rank == windows->rank, "updates %u: expected rank %d, got %s", i,
                 (int)windows->rank, TT_HLO_SHOW(updates));
    for (int32_t k = 0; k < updates->rank; k++) {
      int64_t dim = updates->dims[k], wanted = windows->dims[k];
      bool fits = tt_hlo_dim_agrees(dim, wanted) || (tt_hlo_axis_in(is_window, k) && dim < wanted);
      TT_HLO_CHECK(fits, "updates %u: dim %d is %lld, expected %s%lld", i, (int)k, (long long)dim,
                   tt_hlo_axis_in(is_window, k) ? "at most " : "", (long long)wanted);
    }
    TT_HLO_CHECK(tt_hlo_dims_agree(updates, tt_hlo_operand(op, n + 1)),
                 "dims of updates 0 and %u differ: %s and %s", i,
                 TT_HLO_SHOW(tt_hlo_operand(op, n + 1)), TT_HLO_SHOW(updates));
  }
  return NULL;
}

static tt_error *scatter_index_dims(const tt_hlo_op *op, uint32_t n, index_dims *out_dims) {
  const tt_hlo_attr *attr = NULL;
  bool flag = false;
  TT_RETURN_IF_ERROR(
      tt_hlo_need_attr(op, TT_HLO_SCATTER_DIMENSION_NUMBERS, TT_HLO_ATTR_SCATTER, &attr));
  TT_RETURN_IF_ERROR(tt_hlo_want_bool(op, TT_HLO_INDICES_ARE_SORTED, false, &flag));
  TT_RETURN_IF_ERROR(tt_hlo_want_bool(op, TT_HLO_UNIQUE_INDICES, false, &flag));
  const tt_hlo_scatter_dims *s = attr->dims;
  *out_dims = (index_dims){
      .data = tt_hlo_operand(op, 0),
      .indices = tt_hlo_operand(op, n),
      .dropped = s->inserted_window_dims,
      .data_batch = s->input_batching_dims,
      .index_batch = s->scatter_indices_batching_dims,
      .map = s->scatter_dims_to_operand_dims,
      .window = s->update_window_dims,
      .index_vector_dim = s->index_vector_dim,
      .dropped_name = "inserted_window_dims",
      .data_batch_name = "input_batching_dims",
      .index_batch_name = "scatter_indices_batching_dims",
      .map_name = "scatter_dims_to_operand_dims",
      .window_name = "update_window_dims",
  };
  return check_index_dims(op, out_dims);
}

tt_error *tt_hlo_infer_scatter(tt_arena *arena, tt_hlo_op *op) {
  uint32_t n = op->operands_count / 2;
  index_dims d = {0};
  tt_hlo_type windows = {0};
  const tt_hlo_op *end = NULL;
  TT_HLO_CHECK(n > 0 && op->operands_count == 2 * n + 1,
               "expected n inputs, indices and n updates, got %u operands",
               op->operands_count); /* scatter_c5 */
  TT_RETURN_IF_ERROR(tt_hlo_check_results(op, n));
  for (uint32_t i = 1; i < n; i++)
    TT_HLO_CHECK(tt_hlo_dims_agree(tt_hlo_operand(op, 0), tt_hlo_operand(op, i)),
                 "dims of inputs differ: input 0 is %s, input %u is %s",
                 TT_HLO_SHOW(tt_hlo_operand(op, 0)), i,
                 TT_HLO_SHOW(tt_hlo_operand(op, i))); /* scatter_c1 */
  TT_RETURN_IF_ERROR(scatter_index_dims(op, n, &d));
  TT_RETURN_IF_ERROR(windows_dims(arena, op, &d, d.data->dims, &windows));
  TT_RETURN_IF_ERROR(check_updates(op, &d, &windows, n));
  TT_RETURN_IF_ERROR(tt_hlo_check_regions(op, 1));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_reducer(op, 0, "update_computation", op->operands, n, &end)); /* scatter_c23 */
  for (uint32_t i = 0; i < n; i++) { /* scatter_c24, scatter_c25 */
    op->results[i].type = *tt_hlo_operand(op, i);
    op->results[i].type.dtype = end->operands[i]->type.dtype;
  }
  return NULL;
}

/* Operands from `first` on are one scalar index for each of `rank` axes, all of one type. */
static tt_error *check_starts(const tt_hlo_op *op, uint32_t first, int32_t rank) {
  TT_HLO_CHECK(op->operands_count == first + (uint32_t)rank, "expected %d start indices, got %u",
               (int)rank, op->operands_count - first);
  for (uint32_t i = first; i < op->operands_count; i++) {
    TT_RETURN_IF_ERROR(tt_hlo_check_scalar_index(op, i, "start index"));
    TT_HLO_CHECK(tt_hlo_operand(op, i)->dtype == tt_hlo_operand(op, first)->dtype,
                 "types of start indices differ: %s and %s", TT_HLO_SHOW(tt_hlo_operand(op, first)),
                 TT_HLO_SHOW(tt_hlo_operand(op, i)));
  }
  return NULL;
}

tt_error *tt_hlo_infer_dynamic_slice(tt_arena *arena, tt_hlo_op *op) {
  tt_hlo_list sizes = {0};
  (void)arena;
  TT_HLO_CHECK(op->operands_count > 0, "expected an operand, got none");
  const tt_hlo_type *operand = tt_hlo_operand(op, 0);
  TT_RETURN_IF_ERROR(check_starts(op, 1, operand->rank)); /* dynamic_slice_c2, _c3 */
  TT_RETURN_IF_ERROR(tt_hlo_need_sized(op, TT_HLO_SLICE_SIZES, (size_t)operand->rank, 0, &sizes));
  for (int32_t i = 0; i < operand->rank; i++)
    TT_HLO_CHECK(operand->dims[i] == TT_HLO_DYNAMIC || sizes.items[i] <= operand->dims[i],
                 "slice_sizes[%d] is %lld, the operand's dim %lld", (int)i,
                 (long long)sizes.items[i], (long long)operand->dims[i]); /* dynamic_slice_c4 */
  /* dynamic_slice_c1, _c5; the attribute lives as long as the op. */
  tt_hlo_set_result(op, 0, operand->dtype, operand->rank, sizes.items);
  return NULL;
}

tt_error *tt_hlo_infer_dynamic_update_slice(tt_arena *arena, tt_hlo_op *op) {
  (void)arena;
  TT_HLO_CHECK(op->operands_count > 1, "expected an operand and an update, got %u operands",
               op->operands_count);
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *update = tt_hlo_operand(op, 1);
  TT_HLO_CHECK(update->dtype == operand->dtype && update->rank == operand->rank,
               "update: expected the element type and rank of %s, got %s", TT_HLO_SHOW(operand),
               TT_HLO_SHOW(update)); /* dynamic_update_slice_c2, _c3 */
  for (int32_t i = 0; i < operand->rank; i++)
    TT_HLO_CHECK(
        tt_hlo_dim_agrees(operand->dims[i], update->dims[i]) || update->dims[i] < operand->dims[i],
        "update dim %d is %lld, the operand's %lld", (int)i, (long long)update->dims[i],
        (long long)operand->dims[i]);                     /* dynamic_update_slice_c6 */
  TT_RETURN_IF_ERROR(check_starts(op, 2, operand->rank)); /* dynamic_update_slice_c4, _c5 */
  op->results[0].type = *operand;                         /* dynamic_update_slice_c1 */
  return NULL;
}
