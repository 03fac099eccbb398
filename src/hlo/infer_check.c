#include "hlo/hlo_internal.h"

#include <stdio.h>
#include <string.h>

tt_error *tt_hlo_op_fail(const tt_hlo_op *op, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  tt_error *err = tt_error_newv(TT_INVALID_ARGUMENT, fmt, args);
  va_end(args);
  return tt_error_wrap_take(err, "%s", tt_hlo_op_short_name(op));
}

const char *tt_hlo_type_show(const tt_hlo_type *type, char *buffer) {
  size_t at = 0;
  if (type->token)
    return "!stablehlo.token";
  at = (size_t)snprintf(buffer, TT_HLO_SHOW_SIZE, "%stensor<",
                        type->future ? "!stablehlo.future<" : "");
  for (int32_t i = 0; type->dims != NULL && i < type->rank && at < TT_HLO_SHOW_SIZE - 40; i++)
    at += (size_t)(type->dims[i] == TT_HLO_DYNAMIC
                       ? snprintf(buffer + at, TT_HLO_SHOW_SIZE - at, "?x")
                       : snprintf(buffer + at, TT_HLO_SHOW_SIZE - at, "%lldx",
                                  (long long)type->dims[i]));
  if (at >= TT_HLO_SHOW_SIZE - 40)
    at += (size_t)snprintf(buffer + at, TT_HLO_SHOW_SIZE - at, "...");
  snprintf(buffer + at, TT_HLO_SHOW_SIZE - at, "%s>%s",
           (unsigned)type->dtype < TT_DTYPE_COUNT ? tt_dtype_name(type->dtype) : "?",
           type->future ? ">" : "");
  return buffer;
}

/* ---- attributes ---- */

/* What the kind promises is there. */
static bool has_content(const tt_hlo_attr *attr) {
  switch (attr->kind) {
    case TT_HLO_ATTR_I64S:
    case TT_HLO_ATTR_BOOLS:
    case TT_HLO_ATTR_ENUMS:
    case TT_HLO_ATTR_MATRIX:
      return attr->i64s.count == 0 || attr->i64s.items != NULL;
    case TT_HLO_ATTR_STRING:
    case TT_HLO_ATTR_SYMBOL:
    case TT_HLO_ATTR_TEXT:
      return attr->text != NULL;
    case TT_HLO_ATTR_DOT:
    case TT_HLO_ATTR_CONV:
    case TT_HLO_ATTR_GATHER:
    case TT_HLO_ATTR_SCATTER:
      return attr->dims != NULL;
    default:
      return true;
  }
}

tt_error *tt_hlo_want_attr(const tt_hlo_op *op, tt_hlo_attr_name name, tt_hlo_attr_kind kind,
                           const tt_hlo_attr **out_attr) {
  const tt_hlo_attr *attr = tt_hlo_op_attr(op, name);
  *out_attr = attr;
  TT_HLO_CHECK(attr == NULL || attr->kind == kind, "%s: expected %s, got %s",
               tt_hlo_attr_names[name], tt_hlo_attr_kinds[kind],
               (unsigned)attr->kind <= TT_HLO_ATTR_TEXT ? tt_hlo_attr_kinds[attr->kind] : "?");
  TT_HLO_CHECK(attr == NULL || has_content(attr), "%s is empty", tt_hlo_attr_names[name]);
  return NULL;
}

tt_error *tt_hlo_need_attr(const tt_hlo_op *op, tt_hlo_attr_name name, tt_hlo_attr_kind kind,
                           const tt_hlo_attr **out_attr) {
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, name, kind, out_attr));
  TT_HLO_CHECK(*out_attr != NULL, "attribute %s is missing", tt_hlo_attr_names[name]);
  return NULL;
}

tt_error *tt_hlo_need_i64(const tt_hlo_op *op, tt_hlo_attr_name name, int64_t *out_value) {
  const tt_hlo_attr *attr = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, name, TT_HLO_ATTR_I64, &attr));
  *out_value = attr->i64;
  return NULL;
}

tt_error *tt_hlo_need_bool(const tt_hlo_op *op, tt_hlo_attr_name name, bool *out_value) {
  const tt_hlo_attr *attr = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, name, TT_HLO_ATTR_BOOL, &attr));
  *out_value = attr->i64 != 0;
  return NULL;
}

tt_error *tt_hlo_want_bool(const tt_hlo_op *op, tt_hlo_attr_name name, bool fallback,
                           bool *out_value) {
  const tt_hlo_attr *attr = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, name, TT_HLO_ATTR_BOOL, &attr));
  *out_value = attr == NULL ? fallback : attr->i64 != 0;
  return NULL;
}

tt_error *tt_hlo_need_enum(const tt_hlo_op *op, tt_hlo_attr_name name, int64_t *out_value) {
  const tt_hlo_attr *attr = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, name, TT_HLO_ATTR_ENUM, &attr));
  TT_HLO_CHECK(attr->i64 >= 0 && attr->i64 < tt_hlo_enums[name].count,
               "%s: %lld is not a value of the enum", tt_hlo_attr_names[name],
               (long long)attr->i64);
  *out_value = attr->i64;
  return NULL;
}

tt_error *tt_hlo_need_list(const tt_hlo_op *op, tt_hlo_attr_name name, tt_hlo_list *out_list) {
  const tt_hlo_attr *attr = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, name, TT_HLO_ATTR_I64S, &attr));
  *out_list = attr->i64s;
  return NULL;
}

static tt_error *check_sized(const tt_hlo_op *op, const char *what, tt_hlo_list list, size_t count,
                             int64_t least) {
  TT_HLO_CHECK(list.count == count, "%s: expected %zu numbers, got %zu", what, count, list.count);
  for (size_t i = 0; i < count; i++)
    TT_HLO_CHECK(list.items[i] >= least, "%s[%zu] is %lld, less than %lld", what, i,
                 (long long)list.items[i], (long long)least);
  return NULL;
}

tt_error *tt_hlo_need_sized(const tt_hlo_op *op, tt_hlo_attr_name name, size_t count, int64_t least,
                            tt_hlo_list *out_list) {
  TT_RETURN_IF_ERROR(tt_hlo_need_list(op, name, out_list));
  return check_sized(op, tt_hlo_attr_names[name], *out_list, count, least);
}

tt_error *tt_hlo_want_sized(const tt_hlo_op *op, tt_hlo_attr_name name, size_t count, int64_t least,
                            tt_hlo_list *out_list) {
  const tt_hlo_attr *attr = NULL;
  *out_list = (tt_hlo_list){0};
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, name, TT_HLO_ATTR_I64S, &attr));
  if (attr == NULL)
    return NULL;
  TT_RETURN_IF_ERROR(check_sized(op, tt_hlo_attr_names[name], attr->i64s, count, least));
  if (count > 0)
    *out_list = attr->i64s;
  return NULL;
}

tt_error *tt_hlo_want_padding(const tt_hlo_op *op, size_t count, const int64_t **out_pairs) {
  const tt_hlo_attr *attr = NULL;
  *out_pairs = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_PADDING, TT_HLO_ATTR_MATRIX, &attr));
  if (attr == NULL)
    return NULL;
  TT_HLO_CHECK(attr->columns == 2 && attr->i64s.count == 2 * count,
               "padding: expected %zux2 numbers, got %zu of %lld a row", count, attr->i64s.count,
               (long long)attr->columns);
  *out_pairs = attr->i64s.items;
  return NULL;
}

tt_error *tt_hlo_check_precision(const tt_hlo_op *op) {
  const tt_hlo_attr *attr = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_PRECISION_CONFIG, TT_HLO_ATTR_ENUMS, &attr));
  if (attr == NULL)
    return NULL;
  TT_HLO_CHECK(attr->i64s.count == 2, "precision_config: expected 2 values, got %zu",
               attr->i64s.count);
  for (size_t i = 0; i < 2; i++)
    TT_HLO_CHECK(attr->i64s.items[i] >= 0 && attr->i64s.items[i] <= TT_HLO_PRECISION_HIGHEST,
                 "precision_config[%zu]: %lld is not a value of the enum", i,
                 (long long)attr->i64s.items[i]);
  return NULL;
}

/* ---- axes ---- */

tt_error *tt_hlo_check_axis(const tt_hlo_op *op, const char *what, int64_t axis, int64_t rank) {
  TT_HLO_CHECK(axis >= 0 && axis < rank, "%s is %lld, not in [0, %lld)", what, (long long)axis,
               (long long)rank);
  return NULL;
}

tt_error *tt_hlo_check_axes(const tt_hlo_op *op, const char *what, tt_hlo_list axes, int64_t rank,
                            uint64_t *seen) {
  for (size_t i = 0; i < axes.count; i++) {
    int64_t axis = axes.items[i];
    TT_HLO_CHECK(axis >= 0 && axis < rank, "%s[%zu] is %lld, not in [0, %lld)", what, i,
                 (long long)axis, (long long)rank);
    TT_HLO_CHECK(!tt_hlo_axis_in(*seen, axis), "%s[%zu] repeats axis %lld", what, i,
                 (long long)axis);
    *seen |= UINT64_C(1) << axis;
  }
  return NULL;
}

tt_error *tt_hlo_check_sorted(const tt_hlo_op *op, const char *what, tt_hlo_list axes) {
  for (size_t i = 1; i < axes.count; i++)
    TT_HLO_CHECK(axes.items[i - 1] <= axes.items[i], "%s is not sorted: %lld before %lld", what,
                 (long long)axes.items[i - 1], (long long)axes.items[i]);
  return NULL;
}

tt_error *tt_hlo_check_scalar_index(const tt_hlo_op *op, uint32_t i, const char *what) {
  const tt_hlo_type *type = tt_hlo_operand(op, i);
  TT_HLO_CHECK(type->rank == 0 && tt_dtype_is_integer(type->dtype) && type->dtype != TT_PRED,
               "%s: expected a scalar integer, got %s", what, TT_HLO_SHOW(type));
  return NULL;
}

tt_error *tt_hlo_check_index_list(const tt_hlo_op *op, uint32_t i, const char *what,
                                  int64_t count) {
  const tt_hlo_type *type = tt_hlo_operand(op, i);
  TT_HLO_CHECK(type->rank == 1 && tt_dtype_is_integer(type->dtype) && type->dtype != TT_PRED,
               "%s: expected a tensor of rank 1 of integers, got %s", what, TT_HLO_SHOW(type));
  TT_HLO_CHECK(tt_hlo_dim_agrees(type->dims[0], count), "%s: expected %lld numbers, got %s", what,
               (long long)count, TT_HLO_SHOW(type));
  return NULL;
}

/* ---- dims and results ---- */

bool tt_hlo_dims_agree(const tt_hlo_type *a, const tt_hlo_type *b) {
  if (a->rank != b->rank)
    return false;
  for (int32_t i = 0; i < a->rank && a->dims != b->dims; i++)
    if (!tt_hlo_dim_agrees(a->dims[i], b->dims[i]))
      return false;
  return true;
}

tt_error *tt_hlo_dims_new(tt_arena *arena, int64_t rank, int64_t **out_dims) {
  *out_dims = tt_arena_array(arena, (size_t)rank, sizeof **out_dims);
  return *out_dims == NULL ? tt_error_no_memory((size_t)rank * sizeof **out_dims) : NULL;
}

tt_error *tt_hlo_dims_merge(tt_arena *arena, const tt_hlo_type *a, const tt_hlo_type *b,
                            const int64_t **out_dims) {
  int64_t *dims = NULL;
  bool a_more = false, b_more = false;
  for (int32_t i = 0; i < a->rank && a->dims != b->dims; i++) {
    a_more = a_more || (a->dims[i] != TT_HLO_DYNAMIC && b->dims[i] == TT_HLO_DYNAMIC);
    b_more = b_more || (a->dims[i] == TT_HLO_DYNAMIC && b->dims[i] != TT_HLO_DYNAMIC);
  }
  *out_dims = b_more ? b->dims : a->dims;
  if (!a_more || !b_more)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, a->rank, &dims));
  for (int32_t i = 0; i < a->rank; i++)
    dims[i] = a->dims[i] == TT_HLO_DYNAMIC ? b->dims[i] : a->dims[i];
  *out_dims = dims;
  return NULL;
}

void tt_hlo_set_result(tt_hlo_op *op, uint32_t i, tt_dtype dtype, int32_t rank,
                       const int64_t *dims) {
  op->results[i].type = (tt_hlo_type){.dtype = dtype, .rank = rank, .dims = dims};
}

tt_error *tt_hlo_given_dtype(const tt_hlo_op *op, tt_dtype own, tt_dtype *out_dtype) {
  const tt_hlo_type *type = &op->results[0].type;
  /* A type that nobody set is all zero, which reads as a scalar i1; no i1 is summed in anything
   * else. */
  *out_dtype = type->dtype != TT_PRED || type->rank != 0 ? type->dtype : own;
  /* Floats of integers: beyond the specification, as XLA. */
  TT_HLO_CHECK((unsigned)*out_dtype < TT_DTYPE_COUNT &&
                   tt_dtype_is_complex(*out_dtype) == tt_dtype_is_complex(own) &&
                   (tt_dtype_is_float(*out_dtype) || !tt_dtype_is_float(own)),
               "a result of %s does not fit operands of %s",
               (unsigned)*out_dtype < TT_DTYPE_COUNT ? tt_dtype_name(*out_dtype) : "?",
               tt_dtype_name(own));
  return NULL;
}

tt_error *tt_hlo_check_results(const tt_hlo_op *op, size_t count) {
  TT_HLO_CHECK(op->results_count == count, "expected %zu results, got %u", count,
               op->results_count);
  return NULL;
}

tt_error *tt_hlo_check_static(const tt_hlo_op *op) {
  const tt_hlo_type *type = &op->results[0].type;
  for (int32_t i = 0; i < type->rank; i++)
    TT_HLO_CHECK(type->dims[i] != TT_HLO_DYNAMIC, "expected a result with known dims, got %s",
                 TT_HLO_SHOW(type));
  return NULL;
}

static bool dilate(int64_t dim, int64_t dilation, int64_t *out) {
  *out = 0;
  return dim == 0 || (tt_mul_i64(dim - 1, dilation, out) && tt_add_i64(*out, 1, out));
}

bool tt_hlo_window_count(const tt_hlo_window_dim *w, int64_t *out_count) {
  int64_t padded = 0, window = 0;
  *out_count = TT_HLO_DYNAMIC;
  if (w->dim == TT_HLO_DYNAMIC || w->window == TT_HLO_DYNAMIC)
    return true;
  if (!dilate(w->dim, w->base_dilation, &padded) || !tt_add_i64(padded, w->low, &padded) ||
      !tt_add_i64(padded, w->high, &padded) || !dilate(w->window, w->window_dilation, &window))
    return false;
  *out_count = padded <= 0 || window > padded ? 0 : (padded - window) / w->stride + 1;
  return padded >= 0;
}
