#include <string.h>

#include "hlo/build_internal.h"

tt_hlo_value *tt_hlo_gather(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *indices,
                            const tt_hlo_gather_dims *dims, const int64_t *slice_sizes,
                            bool sorted) {
  tt_hlo_gather_dims *copy = tt_hlo_alloc(b, 1, sizeof *copy);
  tt_hlo_value *operands[] = {x, indices};
  tt_hlo_attr attrs[3];
  if (copy == NULL)
    return b->poison;
  copy->offset_dims = tt_hlo_build_list(b, dims->offset_dims.items, dims->offset_dims.count);
  copy->collapsed_slice_dims =
      tt_hlo_build_list(b, dims->collapsed_slice_dims.items, dims->collapsed_slice_dims.count);
  copy->operand_batching_dims =
      tt_hlo_build_list(b, dims->operand_batching_dims.items, dims->operand_batching_dims.count);
  copy->start_indices_batching_dims = tt_hlo_build_list(b, dims->start_indices_batching_dims.items,
                                                        dims->start_indices_batching_dims.count);
  copy->start_index_map =
      tt_hlo_build_list(b, dims->start_index_map.items, dims->start_index_map.count);
  copy->index_vector_dim = dims->index_vector_dim;
  attrs[0] =
      (tt_hlo_attr){.name = TT_HLO_DIMENSION_NUMBERS, .kind = TT_HLO_ATTR_GATHER, .dims = copy};
  attrs[1] = tt_hlo_build_i64s(b, TT_HLO_SLICE_SIZES, slice_sizes, (size_t)x->type.rank);
  attrs[2] = tt_hlo_build_bool(TT_HLO_INDICES_ARE_SORTED, sorted);
  return tt_hlo_build_one(b, TT_HLO_GATHER, operands, 2, attrs, 3, NULL);
}

static tt_hlo_code combine_code(tt_hlo_combine combine) {
  switch (combine) {
    case TT_HLO_COMBINE_ADD:
      return TT_HLO_ADD;
    case TT_HLO_COMBINE_MUL:
      return TT_HLO_MULTIPLY;
    case TT_HLO_COMBINE_MIN:
      return TT_HLO_MINIMUM;
    case TT_HLO_COMBINE_MAX:
      return TT_HLO_MAXIMUM;
    case TT_HLO_COMBINE_AND:
      return TT_HLO_AND;
    default:
      return TT_HLO_OR;
  }
}

static tt_hlo_region *combine_region(tt_hlo_build *b, tt_hlo_combine combine, tt_dtype dtype) {
  tt_hlo_type args[2] = {tt_hlo_scalar_type(dtype), tt_hlo_scalar_type(dtype)};
  tt_hlo_region *region;
  tt_hlo_value *update;
  if (combine != TT_HLO_COMBINE_SET)
    return tt_hlo_build_binary_region(b, combine_code(combine), dtype);
  region = tt_hlo_region_open(b, args, 2);
  update = tt_hlo_region_arg(b, region, 1);
  if (region != NULL)
    tt_hlo_region_close(b, &update, 1);
  return region;
}

tt_hlo_value *tt_hlo_scatter(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *indices,
                             tt_hlo_value *updates, const tt_hlo_scatter_dims *dims,
                             tt_hlo_combine combine, bool sorted, bool unique) {
  tt_hlo_scatter_dims *copy = tt_hlo_alloc(b, 1, sizeof *copy);
  tt_hlo_value *operands[] = {x, indices, updates}, *result = b->poison;
  tt_hlo_attr attrs[3];
  tt_hlo_region *region;
  if (copy == NULL)
    return b->poison;
  copy->update_window_dims =
      tt_hlo_build_list(b, dims->update_window_dims.items, dims->update_window_dims.count);
  copy->inserted_window_dims =
      tt_hlo_build_list(b, dims->inserted_window_dims.items, dims->inserted_window_dims.count);
  copy->input_batching_dims =
      tt_hlo_build_list(b, dims->input_batching_dims.items, dims->input_batching_dims.count);
  copy->scatter_indices_batching_dims = tt_hlo_build_list(
      b, dims->scatter_indices_batching_dims.items, dims->scatter_indices_batching_dims.count);
  copy->scatter_dims_to_operand_dims = tt_hlo_build_list(
      b, dims->scatter_dims_to_operand_dims.items, dims->scatter_dims_to_operand_dims.count);
  copy->index_vector_dim = dims->index_vector_dim;
  attrs[0] = (tt_hlo_attr){
      .name = TT_HLO_SCATTER_DIMENSION_NUMBERS, .kind = TT_HLO_ATTR_SCATTER, .dims = copy};
  attrs[1] = tt_hlo_build_bool(TT_HLO_INDICES_ARE_SORTED, sorted);
  attrs[2] = tt_hlo_build_bool(TT_HLO_UNIQUE_INDICES, unique);
  region = combine_region(b, combine, x->type.dtype);
  tt_hlo_build_many(b, TT_HLO_SCATTER, operands, 3, attrs, 3, &region, 1, NULL, &result, 1);
  return result;
}

tt_hlo_value *tt_hlo_take(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *indices, int axis) {
  size_t rank = (size_t)x->type.rank, index_rank = (size_t)indices->type.rank;
  int64_t *offset = tt_hlo_alloc(b, rank, sizeof *offset),
          *sizes = tt_hlo_alloc(b, rank, sizeof *sizes);
  int64_t collapsed = axis;
  tt_hlo_gather_dims dims = {0};
  if (offset == NULL || sizes == NULL || axis < 0 || (size_t)axis >= rank)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "take: axis %d of rank %zu", axis, rank);
  for (size_t i = 0, at = 0; i < rank; i++) {
    sizes[i] = (int)i == axis ? (x->type.dims[i] == 0 ? 0 : 1) : x->type.dims[i];
    if ((int)i != axis)
      offset[at++] = (int64_t)((int)i < axis ? i : i - 1 + index_rank);
  }
  dims.offset_dims = (tt_hlo_list){rank - 1, offset};
  dims.collapsed_slice_dims = (tt_hlo_list){1, &collapsed};
  dims.start_index_map = (tt_hlo_list){1, &collapsed};
  dims.index_vector_dim = (int64_t)index_rank;
  return tt_hlo_gather(b, x, indices, &dims, sizes, false);
}

/* Full index vectors, [count, rank] i32 or i64: position of each element of `index`, with `axis`
 * replaced by it. */
static tt_hlo_value *full_indices(tt_hlo_build *b, tt_hlo_value *index, int axis) {
  size_t rank = (size_t)index->type.rank;
  tt_hlo_dim *dims = tt_hlo_dims_of(b, index);
  tt_hlo_value **parts = tt_hlo_alloc(b, rank, sizeof *parts);
  for (size_t i = 0; parts != NULL && i < rank; i++) {
    tt_hlo_value *part =
        (int)i == axis ? index : tt_hlo_iota(b, index->type.dtype, dims, rank, (int)i);
    parts[i] = tt_hlo_unsqueeze(b, part, (int)rank);
  }
  return parts != NULL ? tt_hlo_concat(b, parts, rank, (int)rank) : b->poison;
}

static tt_hlo_list counting(tt_hlo_build *b, size_t count) {
  int64_t *items = tt_hlo_alloc(b, count, sizeof *items);
  tt_hlo_list list = {items != NULL ? count : 0, items};
  for (size_t i = 0; i < list.count; i++)
    items[i] = (int64_t)i;
  return list;
}

tt_hlo_value *tt_hlo_take_along(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *index, int axis) {
  size_t rank = (size_t)x->type.rank;
  int64_t *sizes = tt_hlo_alloc(b, rank, sizeof *sizes);
  tt_hlo_gather_dims dims = {0};
  if (sizes == NULL || index->type.rank != x->type.rank || rank == 0)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "gather: index of rank %d for a value of rank %zu",
                       (int)index->type.rank, rank);
  for (size_t i = 0; i < rank; i++)
    sizes[i] = x->type.dims[i] == 0 ? 0 : 1;
  dims.collapsed_slice_dims = dims.start_index_map = counting(b, rank);
  dims.index_vector_dim = (int64_t)rank;
  return tt_hlo_gather(b, x, full_indices(b, index, axis), &dims, sizes, false);
}

tt_hlo_value *tt_hlo_put_along(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *index,
                               tt_hlo_value *updates, int axis, tt_hlo_combine combine) {
  size_t rank = (size_t)x->type.rank;
  tt_hlo_scatter_dims dims = {0};
  if (index->type.rank != x->type.rank || rank == 0)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "scatter: index of rank %d for a value of rank %zu",
                       (int)index->type.rank, rank);
  dims.inserted_window_dims = dims.scatter_dims_to_operand_dims = counting(b, rank);
  dims.index_vector_dim = (int64_t)rank;
  return tt_hlo_scatter(b, x, full_indices(b, index, axis), updates, &dims, combine, false, false);
}
