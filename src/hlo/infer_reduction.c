/* reduce, map, sort, top_k: operations that apply a region along axes. */
#include "hlo/hlo_internal.h"

/* Operands are n inputs of agreeing dims, then n scalars of their element types. `*out_shape` has
 * all known dims. */
static tt_error *split_inputs(tt_arena *arena, const tt_hlo_op *op, uint32_t *out_n,
                              tt_hlo_type *out_shape) {
  uint32_t n = op->operands_count / 2;
  TT_HLO_CHECK(n > 0 && op->operands_count == 2 * n,
               "expected inputs and as many init values, got %u operands", op->operands_count);
  *out_n = n;
  *out_shape = *tt_hlo_operand(op, 0);
  for (uint32_t i = 0; i < n; i++) {
    const tt_hlo_type *input = tt_hlo_operand(op, i), *init = tt_hlo_operand(op, n + i);
    TT_HLO_CHECK(tt_hlo_dims_agree(out_shape, input),
                 "dims of inputs differ: input 0 is %s, input %u is %s", TT_HLO_SHOW(out_shape), i,
                 TT_HLO_SHOW(input));
    TT_RETURN_IF_ERROR(tt_hlo_dims_merge(arena, out_shape, input, &out_shape->dims));
    TT_HLO_CHECK(init->rank == 0 && init->dtype == input->dtype,
                 "init value %u: expected tensor<%s>, got %s", i, tt_dtype_name(input->dtype),
                 TT_HLO_SHOW(init));
  }
  return NULL;
}

tt_error *tt_hlo_infer_reduce(tt_arena *arena, tt_hlo_op *op) {
  uint32_t n = 0;
  tt_hlo_type shape = {0};
  tt_hlo_list axes = {0};
  uint64_t reduced = 0;
  const tt_hlo_op *end = NULL;
  int64_t *dims = NULL;
  int32_t rank = 0;
  TT_RETURN_IF_ERROR(split_inputs(arena, op, &n, &shape)); /* reduce_c1, reduce_c2 */
  TT_RETURN_IF_ERROR(tt_hlo_check_results(op, n));         /* reduce_c3 */
  TT_RETURN_IF_ERROR(tt_hlo_need_list(op, TT_HLO_DIMENSIONS, &axes));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_axes(op, "dimensions", axes, shape.rank, &reduced)); /* reduce_c4, reduce_c5 */
  TT_RETURN_IF_ERROR(tt_hlo_check_regions(op, 1));
  TT_RETURN_IF_ERROR(tt_hlo_check_reducer(op, 0, "body", op->operands, n, &end)); /* reduce_c6 */
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, shape.rank - (int64_t)axes.count, &dims));
  for (int32_t i = 0; i < shape.rank; i++) /* reduce_c7 */
    if (!tt_hlo_axis_in(reduced, i))
      dims[rank++] = shape.dims[i];
  for (uint32_t i = 0; i < n; i++)
    tt_hlo_set_result(op, i, end->operands[i]->type.dtype, rank, dims); /* reduce_c8 */
  return NULL;
}

/* The attributes of reduce_window, each with a number for an axis; missing ones are NULL.
 * reduce_window_c4 to _c12 */
typedef struct window_attrs {
  tt_hlo_list window, strides, base_dilations, window_dilations;
  const int64_t *padding;
} window_attrs;

static tt_error *window_dims(tt_arena *arena, const tt_hlo_op *op, const tt_hlo_type *shape,
                             const window_attrs *w, int64_t **out_dims) {
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, shape->rank, out_dims));
  for (int32_t i = 0; i < shape->rank; i++) {
    tt_hlo_window_dim d = {.dim = shape->dims[i], .window = w->window.items[i]};
    d.stride = w->strides.items == NULL ? 1 : w->strides.items[i];
    d.base_dilation = w->base_dilations.items == NULL ? 1 : w->base_dilations.items[i];
    d.window_dilation = w->window_dilations.items == NULL ? 1 : w->window_dilations.items[i];
    d.low = w->padding == NULL ? 0 : w->padding[2 * i];
    d.high = w->padding == NULL ? 0 : w->padding[2 * i + 1];
    TT_HLO_CHECK(tt_hlo_window_count(&d, &(*out_dims)[i]),
                 "axis %d: dim %lld padded by %lld and %lld has no size", (int)i, (long long)d.dim,
                 (long long)d.low, (long long)d.high);
  }
  return NULL;
}

tt_error *tt_hlo_infer_reduce_window(tt_arena *arena, tt_hlo_op *op) {
  uint32_t n = 0;
  tt_hlo_type shape = {0};
  window_attrs w = {0};
  const tt_hlo_op *end = NULL;
  int64_t *dims = NULL;
  TT_RETURN_IF_ERROR(split_inputs(arena, op, &n, &shape)); /* reduce_window_c2, _c3 */
  TT_RETURN_IF_ERROR(tt_hlo_check_results(op, n));         /* reduce_window_c1 */
  size_t rank = (size_t)shape.rank;
  TT_RETURN_IF_ERROR(
      tt_hlo_need_sized(op, TT_HLO_WINDOW_DIMENSIONS, rank, 1, &w.window)); /* _c4, _c5 */
  TT_RETURN_IF_ERROR(
      tt_hlo_want_sized(op, TT_HLO_WINDOW_STRIDES, rank, 1, &w.strides)); /* _c6, _c7 */
  TT_RETURN_IF_ERROR(
      tt_hlo_want_sized(op, TT_HLO_BASE_DILATIONS, rank, 1, &w.base_dilations)); /* _c8, _c9 */
  TT_RETURN_IF_ERROR(tt_hlo_want_sized(op, TT_HLO_WINDOW_DILATIONS, rank, 1,
                                       &w.window_dilations));    /* _c10, _c11 */
  TT_RETURN_IF_ERROR(tt_hlo_want_padding(op, rank, &w.padding)); /* reduce_window_c12 */
  TT_RETURN_IF_ERROR(tt_hlo_check_regions(op, 1));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_reducer(op, 0, "body", op->operands, n, &end)); /* reduce_window_c13 */
  TT_RETURN_IF_ERROR(window_dims(arena, op, &shape, &w, &dims));   /* reduce_window_c14, _c15 */
  for (uint32_t i = 0; i < n; i++)
    tt_hlo_set_result(op, i, end->operands[i]->type.dtype, shape.rank,
                      dims); /* reduce_window_c16 */
  return NULL;
}

tt_error *tt_hlo_infer_select_and_scatter(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0), *source = tt_hlo_operand(op, 1),
                    *init = tt_hlo_operand(op, 2);
  window_attrs w = {0};
  const tt_hlo_op *end = NULL;
  int64_t *dims = NULL;
  size_t rank = (size_t)operand->rank;
  TT_HLO_CHECK(source->dtype == operand->dtype, "element types differ: operand is %s, source %s",
               TT_HLO_SHOW(operand), TT_HLO_SHOW(source)); /* select_and_scatter_c1 */
  TT_HLO_CHECK(init->rank == 0 && init->dtype == operand->dtype,
               "init_value: expected tensor<%s>, got %s", tt_dtype_name(operand->dtype),
               TT_HLO_SHOW(init)); /* select_and_scatter_c3 */
  TT_RETURN_IF_ERROR(
      tt_hlo_want_sized(op, TT_HLO_WINDOW_DIMENSIONS, rank, 1, &w.window)); /* _c4, _c5 */
  TT_RETURN_IF_ERROR(
      tt_hlo_want_sized(op, TT_HLO_WINDOW_STRIDES, rank, 1, &w.strides)); /* _c6, _c7 */
  TT_RETURN_IF_ERROR(tt_hlo_want_padding(op, rank, &w.padding)); /* select_and_scatter_c8 */
  TT_HLO_CHECK(w.window.items != NULL || rank == 0, "attribute window_dimensions is missing");
  TT_RETURN_IF_ERROR(tt_hlo_check_regions(op, 2));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_comparator(op, 0, "select", op->operands, 1)); /* select_and_scatter_c9 */
  TT_RETURN_IF_ERROR(
      tt_hlo_check_reducer(op, 1, "scatter", op->operands, 1, &end)); /* select_and_scatter_c10 */
  TT_RETURN_IF_ERROR(window_dims(arena, op, operand, &w, &dims));     /* select_and_scatter_c2 */
  tt_hlo_type expected = {.dtype = operand->dtype, .rank = operand->rank, .dims = dims};
  TT_HLO_CHECK(tt_hlo_dims_agree(source, &expected), "source: expected %s, got %s",
               TT_HLO_SHOW(&expected), TT_HLO_SHOW(source));
  tt_hlo_set_result(op, 0, end->operands[0]->type.dtype, operand->rank,
                    operand->dims); /* _c11, _c12 */
  return NULL;
}

/* All operands have agreeing dims, which `*out_shape` gets. */
static tt_error *check_same_dims(tt_arena *arena, const tt_hlo_op *op, tt_hlo_type *out_shape) {
  TT_HLO_CHECK(op->operands_count > 0, "expected at least one operand, got none");
  *out_shape = *tt_hlo_operand(op, 0);
  for (uint32_t i = 1; i < op->operands_count; i++) {
    TT_HLO_CHECK(tt_hlo_dims_agree(out_shape, tt_hlo_operand(op, i)),
                 "dims differ: operand 0 is %s, operand %u is %s", TT_HLO_SHOW(out_shape), i,
                 TT_HLO_SHOW(tt_hlo_operand(op, i)));
    TT_RETURN_IF_ERROR(
        tt_hlo_dims_merge(arena, out_shape, tt_hlo_operand(op, i), &out_shape->dims));
  }
  return NULL;
}

tt_error *tt_hlo_infer_map(tt_arena *arena, tt_hlo_op *op) {
  tt_hlo_type shape = {0};
  tt_hlo_list axes = {0};
  const tt_hlo_op *end = NULL;
  TT_RETURN_IF_ERROR(check_same_dims(arena, op, &shape)); /* map_c1, map_c2 */
  TT_RETURN_IF_ERROR(tt_hlo_need_sized(op, TT_HLO_DIMENSIONS, (size_t)shape.rank, 0, &axes));
  for (size_t i = 0; i < axes.count; i++)
    TT_HLO_CHECK(axes.items[i] == (int64_t)i, "dimensions[%zu]: expected %zu, got %lld", i, i,
                 (long long)axes.items[i]); /* map_c3 */
  TT_RETURN_IF_ERROR(tt_hlo_check_regions(op, 1));
  TT_RETURN_IF_ERROR(tt_hlo_region_return(op, 0, "computation", &end)); /* map_c4 from here on */
  const tt_hlo_region *region = op->regions[0];
  TT_HLO_CHECK(region->args_count == op->operands_count && end->operands_count == 1,
               "computation: expected %u arguments and 1 result, got %u and %u", op->operands_count,
               region->args_count, end->operands_count);
  for (uint32_t i = 0; i < region->args_count; i++) {
    tt_hlo_type expected = {.dtype = tt_hlo_operand(op, i)->dtype};
    TT_HLO_CHECK(tt_hlo_type_equal(&region->args[i].type, &expected),
                 "computation: argument %u: expected %s, got %s", i, TT_HLO_SHOW(&expected),
                 TT_HLO_SHOW(&region->args[i].type));
  }
  const tt_hlo_type *result = &end->operands[0]->type;
  TT_HLO_CHECK(!result->token && result->rank == 0, "computation: expected a scalar result, got %s",
               TT_HLO_SHOW(result));
  tt_hlo_set_result(op, 0, result->dtype, shape.rank, shape.dims);
  return NULL;
}

tt_error *tt_hlo_infer_sort(tt_arena *arena, tt_hlo_op *op) {
  tt_hlo_type shape = {0};
  const tt_hlo_attr *dimension = NULL;
  bool stable = false;
  TT_RETURN_IF_ERROR(check_same_dims(arena, op, &shape)); /* sort_c1, sort_c3 */
  TT_RETURN_IF_ERROR(tt_hlo_check_results(op, op->operands_count));
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_DIMENSION, TT_HLO_ATTR_I64, &dimension));
  int64_t axis = dimension == NULL ? -1 : dimension->i64;
  TT_HLO_CHECK(axis >= -shape.rank && axis < shape.rank, "dimension is %lld, not in [%d, %d)",
               (long long)axis, (int)-shape.rank, (int)shape.rank); /* sort_c4 */
  TT_RETURN_IF_ERROR(tt_hlo_want_bool(op, TT_HLO_IS_STABLE, false, &stable));
  TT_RETURN_IF_ERROR(tt_hlo_check_regions(op, 1));
  TT_RETURN_IF_ERROR(
      tt_hlo_check_comparator(op, 0, "comparator", op->operands, op->operands_count)); /* sort_c5 */
  for (uint32_t i = 0; i < op->operands_count; i++)
    tt_hlo_set_result(op, i, tt_hlo_operand(op, i)->dtype, shape.rank, shape.dims); /* sort_c2 */
  return NULL;
}

/* chlo.top_k: the largest k along the last axis, and where they were. */
tt_error *tt_hlo_infer_top_k(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_type *operand = tt_hlo_operand(op, 0);
  int64_t k = 0, *dims = NULL;
  int32_t last = operand->rank - 1;
  TT_RETURN_IF_ERROR(tt_hlo_need_i64(op, TT_HLO_K, &k));
  TT_HLO_CHECK(operand->rank >= 1 && !tt_dtype_is_complex(operand->dtype),
               "expected rank 1 or more and no complex type, got %s", TT_HLO_SHOW(operand));
  TT_HLO_CHECK(k >= 0 && (operand->dims[last] == TT_HLO_DYNAMIC || k <= operand->dims[last]),
               "k is %lld, the last dim of the operand %lld", (long long)k,
               (long long)operand->dims[last]);
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, operand->rank, &dims));
  for (int32_t i = 0; i <= last; i++)
    dims[i] = i == last ? k : operand->dims[i];
  tt_hlo_set_result(op, 0, operand->dtype, operand->rank, dims);
  tt_hlo_set_result(op, 1, TT_S32, operand->rank, dims);
  return NULL;
}
