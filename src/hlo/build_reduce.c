#include <string.h>

#include "hlo/build_internal.h"

static tt_hlo_value *identity_of(tt_hlo_build *b, tt_hlo_code op, tt_dtype dtype) {
  switch (op) {
    case TT_HLO_ADD:
    case TT_HLO_OR:
    case TT_HLO_XOR:
      return tt_hlo_const_int(b, dtype, 0);
    case TT_HLO_MULTIPLY:
      return tt_hlo_const_int(b, dtype, 1);
    case TT_HLO_AND:
      return tt_hlo_const_int(b, dtype, dtype == TT_PRED ? 1 : -1);
    case TT_HLO_MAXIMUM:
      return tt_hlo_const_lowest(b, dtype);
    case TT_HLO_MINIMUM:
      return tt_hlo_const_highest(b, dtype);
    default:
      return tt_hlo_fail(b, TT_INTERNAL, "reduce: %s has no identity", tt_hlo_ops[op].mnemonic);
  }
}

void tt_hlo_reduce_n(tt_hlo_build *b, tt_hlo_value *const *xs, tt_hlo_value *const *inits,
                     size_t count, const int64_t *axes, size_t axes_count, tt_hlo_region *body,
                     tt_hlo_value **results) {
  tt_hlo_attr attr = tt_hlo_build_i64s(b, TT_HLO_DIMENSIONS, axes, axes_count);
  tt_hlo_value **operands = tt_hlo_alloc(b, 2 * count, sizeof *operands);
  for (size_t i = 0; i < count; i++) {
    results[i] = b->poison;
    if (operands != NULL) {
      operands[i] = xs[i];
      operands[count + i] = inits[i];
    }
  }
  if (operands != NULL)
    tt_hlo_build_many(b, TT_HLO_REDUCE, operands, 2 * count, &attr, 1, &body, 1, NULL, results,
                      count);
}

tt_hlo_value *tt_hlo_reduce(tt_hlo_build *b, tt_hlo_code op, tt_hlo_value *x, const int64_t *axes,
                            size_t axes_count) {
  tt_hlo_value *init, *result = b->poison;
  tt_hlo_region *body;
  if (axes_count == 0 || b->err != NULL)
    return x;
  init = identity_of(b, op, x->type.dtype);
  body = tt_hlo_build_binary_region(b, op, x->type.dtype);
  tt_hlo_reduce_n(b, &x, &init, 1, axes, axes_count, body, &result);
  return result;
}

tt_hlo_value *tt_hlo_reduce_keep(tt_hlo_build *b, tt_hlo_code op, tt_hlo_value *x,
                                 const int64_t *axes, size_t axes_count) {
  tt_hlo_dim *dims = tt_hlo_dims_of(b, x);
  tt_hlo_value *reduced = tt_hlo_reduce(b, op, x, axes, axes_count);
  if (dims == NULL || b->err != NULL)
    return b->poison;
  for (size_t i = 0; i < axes_count; i++)
    dims[axes[i]] = tt_hlo_dim_number(1);
  return tt_hlo_reshape(b, reduced, dims, (size_t)x->type.rank);
}

static size_t window_attrs(tt_hlo_build *b, const tt_hlo_window *window, size_t rank,
                           tt_hlo_attr *attrs) {
  tt_hlo_attr padding = {.name = TT_HLO_PADDING, .kind = TT_HLO_ATTR_MATRIX, .columns = 2};
  int64_t *pairs = tt_hlo_alloc(b, 2 * rank, sizeof *pairs);
  for (size_t i = 0; pairs != NULL && i < rank; i++) {
    pairs[2 * i] = window->pad_low != NULL ? window->pad_low[i] : 0;
    pairs[2 * i + 1] = window->pad_high != NULL ? window->pad_high[i] : 0;
  }
  padding.i64s = (tt_hlo_list){pairs != NULL ? 2 * rank : 0, pairs};
  attrs[0] = tt_hlo_build_i64s_or(b, TT_HLO_WINDOW_DIMENSIONS, window->dims, rank, 1);
  attrs[1] = tt_hlo_build_i64s_or(b, TT_HLO_WINDOW_STRIDES, window->strides, rank, 1);
  attrs[2] = padding;
  attrs[3] = tt_hlo_build_i64s_or(b, TT_HLO_BASE_DILATIONS, window->base_dilations, rank, 1);
  attrs[4] = tt_hlo_build_i64s_or(b, TT_HLO_WINDOW_DILATIONS, window->window_dilations, rank, 1);
  return 5;
}

void tt_hlo_reduce_window_n(tt_hlo_build *b, tt_hlo_value *const *xs, tt_hlo_value *const *inits,
                            size_t count, const tt_hlo_window *window, tt_hlo_region *body,
                            tt_hlo_value **results) {
  tt_hlo_attr attrs[5];
  size_t attrs_count = window_attrs(b, window, (size_t)xs[0]->type.rank, attrs);
  tt_hlo_value **operands = tt_hlo_alloc(b, 2 * count, sizeof *operands);
  for (size_t i = 0; i < count; i++) {
    results[i] = b->poison;
    if (operands != NULL) {
      operands[i] = xs[i];
      operands[count + i] = inits[i];
    }
  }
  if (operands != NULL)
    tt_hlo_build_many(b, TT_HLO_REDUCE_WINDOW, operands, 2 * count, attrs, attrs_count, &body, 1,
                      NULL, results, count);
}

tt_hlo_value *tt_hlo_reduce_window(tt_hlo_build *b, tt_hlo_code op, tt_hlo_value *x,
                                   tt_hlo_value *init, const tt_hlo_window *window) {
  tt_hlo_value *result = b->poison;
  tt_hlo_region *body = tt_hlo_build_binary_region(b, op, x->type.dtype);
  tt_hlo_reduce_window_n(b, &x, &init, 1, window, body, &result);
  return result;
}

tt_hlo_value *tt_hlo_select_and_scatter_add(tt_hlo_build *b, tt_hlo_direction select,
                                            tt_hlo_value *x, tt_hlo_value *source,
                                            const tt_hlo_window *window) {
  tt_dtype dtype = x->type.dtype;
  tt_hlo_type args[2] = {tt_hlo_scalar_type(dtype), tt_hlo_scalar_type(dtype)};
  tt_hlo_value *operands[3] = {x, source, tt_hlo_const(b, dtype, 0)}, *result = b->poison, *chosen;
  tt_hlo_attr attrs[5];
  tt_hlo_region *regions[2];
  window_attrs(b, window, (size_t)x->type.rank, attrs);
  regions[0] = tt_hlo_region_open(b, args, 2);
  chosen = tt_hlo_compare(b, select, tt_hlo_region_arg(b, regions[0], 0),
                          tt_hlo_region_arg(b, regions[0], 1));
  if (regions[0] != NULL)
    tt_hlo_region_close(b, &chosen, 1);
  regions[1] = tt_hlo_build_binary_region(b, TT_HLO_ADD, dtype);
  tt_hlo_build_many(b, TT_HLO_SELECT_AND_SCATTER, operands, 3, attrs, 3, regions, 2, NULL, &result,
                    1);
  return result;
}

void tt_hlo_sort(tt_hlo_build *b, tt_hlo_value *const *xs, size_t count, int axis, bool stable,
                 tt_hlo_region *compare, tt_hlo_value **results) {
  tt_hlo_attr attrs[] = {tt_hlo_build_i64(TT_HLO_DIMENSION, axis),
                         tt_hlo_build_bool(TT_HLO_IS_STABLE, stable)};
  tt_hlo_build_many(b, TT_HLO_SORT, xs, count, attrs, 2, &compare, 1, NULL, results, count);
}

void tt_hlo_top_k(tt_hlo_build *b, tt_hlo_value *x, int64_t k, tt_hlo_value **out_values,
                  tt_hlo_value **out_indices) {
  tt_hlo_attr attr = tt_hlo_build_i64(TT_HLO_K, k);
  tt_hlo_value *results[2];
  tt_hlo_build_many(b, TT_HLO_CHLO_TOP_K, &x, 1, &attr, 1, NULL, 0, NULL, results, 2);
  *out_values = results[0];
  *out_indices = results[1];
}
