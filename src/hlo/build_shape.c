#include <string.h>

#include "hlo/build_internal.h"

tt_hlo_value *tt_hlo_broadcast_in_dim(tt_hlo_build *b, tt_hlo_value *x, const tt_hlo_dim *dims,
                                      size_t rank, const int64_t *dims_map) {
  tt_hlo_attr attr =
      tt_hlo_build_i64s(b, TT_HLO_BROADCAST_DIMENSIONS, dims_map, (size_t)x->type.rank);
  tt_hlo_type type = tt_hlo_build_type_dims(b, x->type.dtype, dims, rank);
  tt_hlo_value *operands[2] = {x, NULL};
  if (b->err != NULL)
    return b->poison;
  if (tt_hlo_build_static(dims, rank))
    return tt_hlo_build_one(b, TT_HLO_BROADCAST_IN_DIM, operands, 1, &attr, 1, &type);
  operands[1] = tt_hlo_build_shape(b, dims, rank);
  return tt_hlo_build_one(b, TT_HLO_DYNAMIC_BROADCAST_IN_DIM, operands, 2, &attr, 1, &type);
}

static bool dims_equal(tt_hlo_build *b, tt_hlo_value *x, const tt_hlo_dim *dims, size_t rank) {
  if (b->err != NULL || (size_t)x->type.rank != rank)
    return false;
  for (size_t i = 0; i < rank; i++)
    if (dims[i].value != NULL || x->type.dims[i] != dims[i].size)
      return false;
  return true;
}

tt_hlo_value *tt_hlo_broadcast_to(tt_hlo_build *b, tt_hlo_value *x, const tt_hlo_dim *dims,
                                  size_t rank) {
  int64_t *map;
  size_t lead;
  if (dims_equal(b, x, dims, rank))
    return x;
  if ((size_t)x->type.rank > rank)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "broadcast: rank %d does not go to rank %zu",
                       (int)x->type.rank, rank);
  lead = rank - (size_t)x->type.rank;
  map = tt_hlo_alloc(b, rank, sizeof *map);
  for (size_t i = 0; map != NULL && i < (size_t)x->type.rank; i++)
    map[i] = (int64_t)(lead + i);
  return tt_hlo_broadcast_in_dim(b, x, dims, rank, map);
}

tt_hlo_value *tt_hlo_broadcast_like(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *like) {
  if (tt_hlo_type_equal(&x->type, &like->type))
    return x;
  return tt_hlo_broadcast_to(b, x, tt_hlo_dims_of(b, like), (size_t)like->type.rank);
}

tt_hlo_value *tt_hlo_reshape(tt_hlo_build *b, tt_hlo_value *x, const tt_hlo_dim *dims,
                             size_t rank) {
  tt_hlo_type type = tt_hlo_build_type_dims(b, x->type.dtype, dims, rank);
  tt_hlo_value *operands[2] = {x, NULL};
  if (b->err != NULL)
    return b->poison;
  if (dims_equal(b, x, dims, rank))
    return x;
  if (tt_hlo_build_static(dims, rank) &&
      tt_hlo_build_static(tt_hlo_dims_of(b, x), (size_t)x->type.rank))
    return tt_hlo_build_one(b, TT_HLO_RESHAPE, operands, 1, NULL, 0, &type);
  operands[1] = tt_hlo_build_shape(b, dims, rank);
  return tt_hlo_build_one(b, TT_HLO_DYNAMIC_RESHAPE, operands, 2, NULL, 0, &type);
}

tt_hlo_value *tt_hlo_reshape_numbers(tt_hlo_build *b, tt_hlo_value *x, const int64_t *dims,
                                     size_t rank) {
  return tt_hlo_reshape(b, x, tt_hlo_dims_numbers(b, dims, rank), rank);
}

tt_hlo_value *tt_hlo_flatten(tt_hlo_build *b, tt_hlo_value *x, int first_axis, int last_axis) {
  int rank = x->type.rank, kept = rank - (last_axis - first_axis);
  tt_hlo_dim *from, *to;
  if (rank == 0) {
    int64_t one = 1;
    return tt_hlo_reshape_numbers(b, x, &one, 1);
  }
  if (b->err != NULL || first_axis < 0 || last_axis >= rank || first_axis > last_axis)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "flatten: axes %d to %d of rank %d", first_axis,
                       last_axis, rank);
  from = tt_hlo_dims_of(b, x);
  to = tt_hlo_alloc(b, (size_t)kept, sizeof *to);
  if (from == NULL || to == NULL)
    return b->poison;
  memcpy(to, from, (size_t)first_axis * sizeof *to);
  to[first_axis] = tt_hlo_dims_product(b, from, first_axis, last_axis + 1);
  memcpy(to + first_axis + 1, from + last_axis + 1, (size_t)(rank - last_axis - 1) * sizeof *to);
  return tt_hlo_reshape(b, x, to, (size_t)kept);
}

tt_hlo_value *tt_hlo_unsqueeze(tt_hlo_build *b, tt_hlo_value *x, int axis) {
  int rank = x->type.rank;
  tt_hlo_dim *from = tt_hlo_dims_of(b, x), *to = tt_hlo_alloc(b, (size_t)rank + 1, sizeof *to);
  if (from == NULL || to == NULL || axis < 0 || axis > rank)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "unsqueeze: axis %d of rank %d", axis, rank);
  for (int i = 0; i <= rank; i++)
    to[i] = i == axis ? tt_hlo_dim_number(1) : from[i - (i > axis)];
  return tt_hlo_reshape(b, x, to, (size_t)rank + 1);
}

tt_hlo_value *tt_hlo_squeeze(tt_hlo_build *b, tt_hlo_value *x, int axis) {
  int rank = x->type.rank;
  tt_hlo_dim *from = tt_hlo_dims_of(b, x), *to = tt_hlo_alloc(b, (size_t)rank, sizeof *to);
  if (from == NULL || to == NULL || axis < 0 || axis >= rank)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "squeeze: axis %d of rank %d", axis, rank);
  for (int i = 0, at = 0; i < rank; i++)
    if (i != axis)
      to[at++] = from[i];
  return tt_hlo_reshape(b, x, to, (size_t)rank - 1);
}

tt_hlo_value *tt_hlo_transpose(tt_hlo_build *b, tt_hlo_value *x, const int64_t *permutation) {
  tt_hlo_attr attr;
  bool identity = true;
  for (int i = 0; i < x->type.rank; i++)
    identity = identity && permutation[i] == i;
  if (identity)
    return x;
  attr = tt_hlo_build_i64s(b, TT_HLO_PERMUTATION, permutation, (size_t)x->type.rank);
  return tt_hlo_build_one(b, TT_HLO_TRANSPOSE, &x, 1, &attr, 1, NULL);
}

tt_hlo_value *tt_hlo_swap_axes(tt_hlo_build *b, tt_hlo_value *x, int axis, int other) {
  int64_t *permutation = tt_hlo_alloc(b, (size_t)x->type.rank, sizeof *permutation);
  if (permutation == NULL || axis < 0 || other < 0 || axis >= x->type.rank || other >= x->type.rank)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "transpose: axes %d and %d of rank %d", axis, other,
                       (int)x->type.rank);
  for (int i = 0; i < x->type.rank; i++)
    permutation[i] = i == axis ? other : i == other ? axis : i;
  return tt_hlo_transpose(b, x, permutation);
}

tt_hlo_value *tt_hlo_move_axis(tt_hlo_build *b, tt_hlo_value *x, int from, int to) {
  int rank = x->type.rank;
  int64_t *permutation = tt_hlo_alloc(b, (size_t)rank, sizeof *permutation);
  if (permutation == NULL || from < 0 || to < 0 || from >= rank || to >= rank)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "move_axis: axis %d to %d of rank %d", from, to,
                       rank);
  for (int i = 0, at = 0; i < rank; i++) {
    if (i == to) {
      permutation[i] = from;
      continue;
    }
    at += at == from;
    permutation[i] = at++;
  }
  return tt_hlo_transpose(b, x, permutation);
}

tt_hlo_value *tt_hlo_slice(tt_hlo_build *b, tt_hlo_value *x, const int64_t *starts,
                           const int64_t *limits, const int64_t *strides) {
  size_t rank = (size_t)x->type.rank;
  bool whole = true;
  tt_hlo_attr attrs[3];
  for (size_t i = 0; i < rank; i++)
    whole = whole && starts[i] == 0 && limits[i] == x->type.dims[i] &&
            (strides == NULL || strides[i] == 1);
  if (whole)
    return x;
  attrs[0] = tt_hlo_build_i64s(b, TT_HLO_START_INDICES, starts, rank);
  attrs[1] = tt_hlo_build_i64s(b, TT_HLO_LIMIT_INDICES, limits, rank);
  attrs[2] = tt_hlo_build_i64s_or(b, TT_HLO_STRIDES, strides, rank, 1);
  return tt_hlo_build_one(b, TT_HLO_SLICE, &x, 1, attrs, 3, NULL);
}

/* A slice gives a limit for every axis, so the others may not be dynamic. */
tt_hlo_value *tt_hlo_slice_axis(tt_hlo_build *b, tt_hlo_value *x, int axis, int64_t start,
                                int64_t limit, int64_t stride) {
  size_t rank = (size_t)x->type.rank;
  int64_t *starts = tt_hlo_alloc(b, rank, sizeof *starts),
          *limits = tt_hlo_alloc(b, rank, sizeof *limits),
          *strides = tt_hlo_alloc(b, rank, sizeof *strides);
  if (starts == NULL || limits == NULL || strides == NULL || axis < 0 || (size_t)axis >= rank)
    return tt_hlo_fail(b, TT_INVALID_ARGUMENT, "slice: axis %d of rank %zu", axis, rank);
  for (size_t i = 0; i < rank; i++) {
    starts[i] = 0;
    limits[i] = x->type.dims[i];
    strides[i] = 1;
    if ((int)i != axis && limits[i] == TT_HLO_DYNAMIC)
      return tt_hlo_fail(b, TT_UNIMPLEMENTED, "slice: axis %d beside axis %zu of unknown size",
                         axis, i);
  }
  starts[axis] = start;
  limits[axis] = limit;
  strides[axis] = stride;
  return tt_hlo_slice(b, x, starts, limits, strides);
}

tt_hlo_value *tt_hlo_concat(tt_hlo_build *b, tt_hlo_value *const *xs, size_t count, int axis) {
  tt_hlo_attr attr = tt_hlo_build_i64(TT_HLO_DIMENSION, axis);
  return count == 1 ? xs[0] : tt_hlo_build_one(b, TT_HLO_CONCATENATE, xs, count, &attr, 1, NULL);
}

tt_hlo_value *tt_hlo_pad(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *scalar, const int64_t *low,
                         const int64_t *high, const int64_t *interior) {
  size_t rank = (size_t)x->type.rank;
  tt_hlo_value *operands[] = {x, scalar};
  tt_hlo_attr attrs[3];
  bool nothing = true;
  for (size_t i = 0; i < rank; i++)
    nothing = nothing && low[i] == 0 && high[i] == 0 && (interior == NULL || interior[i] == 0);
  if (nothing)
    return x;
  attrs[0] = tt_hlo_build_i64s(b, TT_HLO_EDGE_PADDING_LOW, low, rank);
  attrs[1] = tt_hlo_build_i64s(b, TT_HLO_EDGE_PADDING_HIGH, high, rank);
  attrs[2] = tt_hlo_build_i64s_or(b, TT_HLO_INTERIOR_PADDING, interior, rank, 0);
  return tt_hlo_build_one(b, TT_HLO_PAD, operands, 2, attrs, 3, NULL);
}

tt_hlo_value *tt_hlo_reverse(tt_hlo_build *b, tt_hlo_value *x, const int64_t *axes,
                             size_t axes_count) {
  tt_hlo_attr attr = tt_hlo_build_i64s(b, TT_HLO_DIMENSIONS, axes, axes_count);
  return axes_count == 0 ? x : tt_hlo_build_one(b, TT_HLO_REVERSE, &x, 1, &attr, 1, NULL);
}

tt_hlo_value *tt_hlo_dynamic_slice(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *const *starts,
                                   const int64_t *sizes) {
  size_t rank = (size_t)x->type.rank;
  tt_hlo_attr attr = tt_hlo_build_i64s(b, TT_HLO_SLICE_SIZES, sizes, rank);
  tt_hlo_value **operands = tt_hlo_alloc(b, rank + 1, sizeof *operands);
  if (operands == NULL)
    return b->poison;
  operands[0] = x;
  for (size_t i = 0; i < rank; i++)
    operands[i + 1] = starts[i];
  return tt_hlo_build_one(b, TT_HLO_DYNAMIC_SLICE, operands, rank + 1, &attr, 1, NULL);
}

tt_hlo_value *tt_hlo_dynamic_update_slice(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *update,
                                          tt_hlo_value *const *starts) {
  size_t rank = (size_t)x->type.rank;
  tt_hlo_value **operands = tt_hlo_alloc(b, rank + 2, sizeof *operands);
  if (operands == NULL)
    return b->poison;
  operands[0] = x;
  operands[1] = update;
  for (size_t i = 0; i < rank; i++)
    operands[i + 2] = starts[i];
  return tt_hlo_build_one(b, TT_HLO_DYNAMIC_UPDATE_SLICE, operands, rank + 2, NULL, 0, NULL);
}
