/* The custom call ApproxTopK, exactly: along one axis, the greatest (or least) elements of operand
 * 0 in order, with those of operand 1. The value to begin with, operand 2, tells which: all that is
 * kept comes before it. */
#include <string.h>

#include "cpu/kernels/custom.h"

typedef struct item {
  double value; /* less comes first */
  int64_t index;
} item;

/* Stable, bottom up; `spare` has the same size. */
static item *sort_items(item *items, item *spare, int64_t count) {
  for (int64_t width = 1; width < count; width *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * width) {
      int64_t middle = begin + width < count ? begin + width : count,
              end = middle + width < count ? middle + width : count;
      for (int64_t i = begin, j = middle, k = begin; k < end; k++) {
        bool second = i == middle || (j < end && items[j].value < items[i].value);
        spare[k] = items[second ? j++ : i++];
      }
    }
    item *sorted = spare;
    spare = items;
    items = sorted;
  }
  return items;
}

static int64_t axis_of(const tt_hlo_op *op) {
  int64_t axis = tt_cpu_config(op, "reduction_dim", -1);
  return axis < 0 ? axis + op->operands[0]->type.rank : axis;
}

tt_error *tt_cpu_approx_top_k(const tt_cpu_args *args) {
  const tt_hlo_type *type = &args->op->operands[0]->type, *to = &args->op->results[0].type;
  int64_t axis = axis_of(args->op), count = type->dims[axis], kept = to->dims[axis], inner = 1;
  bool greatest = tt_cpu_load(type->dtype, args->in[2], 0, NULL) < 0;
  item *items = tt_cpu_scratch(args->run, 2 * (count + 1) * (int64_t)sizeof *items);
  if (items == NULL)
    return tt_cpu_no_scratch(args->op, 2 * count * (int64_t)sizeof *items);
  for (int32_t i = (int32_t)axis + 1; i < type->rank; i++)
    inner *= type->dims[i];
  int64_t slices = count == 0 ? 0 : tt_cpu_count(type) / count;
  for (int64_t s = 0; s < slices; s++) {
    int64_t from = s / inner * count * inner + s % inner, at = s / inner * kept * inner + s % inner;
    for (int64_t i = 0; i < count; i++) {
      double value = tt_cpu_load(type->dtype, args->in[0], from + i * inner, NULL);
      items[i] = (item){greatest ? -value : value, i};
    }
    const item *sorted = sort_items(items, items + count, count);
    for (int64_t i = 0; i < kept; i++) {
      int64_t source = from + sorted[i].index * inner;
      double value = tt_cpu_load(type->dtype, args->in[0], source, NULL);
      tt_cpu_store(type->dtype, args->out[0], at + i * inner, value, 0);
      ((int32_t *)args->out[1])[at + i * inner] = ((const int32_t *)args->in[1])[source];
    }
  }
  return NULL;
}

/* `type` has the dims of `like`, but along `axis`, where it has at most as many. */
static bool is_part(const tt_hlo_type *type, const tt_hlo_type *like, tt_dtype dtype,
                    int64_t axis) {
  if (type->token || type->dtype != dtype || type->rank != like->rank)
    return false;
  for (int32_t i = 0; i < type->rank; i++)
    if (i == axis ? type->dims[i] > like->dims[i] : type->dims[i] != like->dims[i])
      return false;
  return true;
}

tt_error *tt_cpu_check_approx_top_k(const tt_hlo_op *op) {
  const tt_hlo_type *type = &op->operands[0]->type;
  int64_t axis = axis_of(op);
  bool fits = op->operands_count == 4 && op->results_count == 2 && axis >= 0 && axis < type->rank &&
              tt_dtype_is_float(type->dtype) && is_part(&op->operands[1]->type, type, TT_S32, -1) &&
              is_part(&op->results[0].type, type, type->dtype, axis) &&
              is_part(&op->results[1].type, &op->results[0].type, TT_S32, -1) &&
              !op->operands[2]->type.token && op->operands[2]->type.dtype == type->dtype &&
              op->operands[2]->type.rank == 0;
  return fits ? NULL
              : tt_error_new(TT_UNIMPLEMENTED,
                             "these types, or this reduction_dim, are not "
                             "implemented");
}
