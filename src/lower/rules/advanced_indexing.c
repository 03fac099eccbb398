/* x[i, :, j], x[mask] and their writes. Index tensors become one gather or scatter in PyTorch's own
 * layout: the dims of the broadcast indices stand where the first indexed dim was, or in front when
 * indexed dims are not neighbours.
 *
 * A mask alone is handled without knowing how many are true, except that reading x[mask] gives a
 * counted result. */
#include "lower/rules/helpers_indexing.h"
#include "lower/rules/rules.h"

typedef struct pick {
  size_t count;                  /* indexed dims */
  int64_t dims[TT_LOW_RANK_MAX]; /* which, ascending */
  tt_hlo_value *parts[TT_LOW_RANK_MAX];
  tt_hlo_value *index;   /* s32 [shape..., count] */
  int shape_rank, first; /* the shape's rank, and the result axis where it begins */
  size_t windows;
  int64_t window_axes[TT_LOW_RANK_MAX]; /* result axis of each dim that is not indexed */
} pick;

static bool is_mask(const tt_low_value *item) {
  return tt_low_is_tensor(item) &&
         (tt_hlo_dtype(item->tensor) == TT_PRED || tt_hlo_dtype(item->tensor) == TT_U8);
}

static bool is_picked(const pick *p, int64_t dim) {
  for (size_t i = 0; i < p->count; i++)
    if (p->dims[i] == dim)
      return true;
  return false;
}

static void place_windows(tt_hlo_value *x, pick *p) {
  bool neighbours = p->dims[p->count - 1] - p->dims[0] + 1 == (int64_t)p->count;
  p->first = neighbours ? (int)p->dims[0] : 0;
  for (int i = 0; i < tt_hlo_rank(x); i++)
    if (!is_picked(p, i)) {
      p->window_axes[p->windows] =
          (int)p->windows < p->first ? (int)p->windows : (int)p->windows + p->shape_rank;
      p->windows++;
    }
}

static tt_error *parse_pick(tt_low_ctx *ctx, tt_hlo_value *x, const tt_low_list *list, pick *p) {
  for (size_t i = 0; i < list->count && i < TT_LOW_RANK_MAX; i++) {
    const tt_low_value *item = &list->items[i];
    if (!tt_low_is_tensor(item))
      continue;
    if (is_mask(item))
      return tt_error_new(TT_UNIMPLEMENTED, "%s: a mask beside other indices", ctx->rule->overload);
    p->dims[p->count] = (int64_t)i;
    p->parts[p->count++] = tt_low_index(ctx, item->tensor, tt_hlo_dim_of(ctx->b, x, (int)i), true,
                                        "index is out of bounds");
  }
  if (p->count == 0)
    return NULL;
  tt_low_broadcast_n(ctx, p->parts, p->count);
  p->shape_rank = tt_hlo_rank(p->parts[0]);
  for (size_t i = 0; i < p->count; i++)
    p->parts[i] = tt_hlo_unsqueeze(ctx->b, p->parts[i], p->shape_rank);
  p->index = tt_hlo_concat(ctx->b, p->parts, p->count, p->shape_rank);
  place_windows(x, p);
  return NULL;
}

static tt_hlo_value *gather_pick(tt_low_ctx *ctx, tt_hlo_value *x, const pick *p) {
  int64_t sizes[TT_LOW_RANK_MAX];
  tt_hlo_gather_dims dims = {
      {p->windows, p->window_axes}, {p->count, p->dims}, {0, NULL}, {0, NULL},
      {p->count, p->dims},          p->shape_rank};
  for (int i = 0; i < tt_hlo_rank(x); i++) {
    int64_t size = tt_low_size(ctx, x, i);
    sizes[i] = is_picked(p, i) && size > 1 ? 1 : size;
  }
  return tt_hlo_gather(ctx->b, x, p->index, &dims, sizes, false);
}

/* ---- masks ---- */

/* The only index, when it is a mask; out_axis: where its dims begin. */
static const tt_low_value *lone_mask(const tt_low_list *list, int *out_axis) {
  const tt_low_value *mask = NULL;
  for (size_t i = 0; i < list->count; i++) {
    if (!tt_low_is_tensor(&list->items[i]))
      continue;
    if (mask != NULL || !is_mask(&list->items[i]))
      return NULL;
    mask = &list->items[i];
    *out_axis = (int)i;
  }
  return mask;
}

/* Elements of x with the dims of a mask (its leading ones) joined into one: [n, rest...], those
 * that are true first. */
static void select_rows(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *mask,
                        tt_low_value *result) {
  int mask_rank = tt_hlo_rank(mask);
  tt_hlo_value *flat = tt_low_flat(ctx, tt_hlo_convert(ctx->b, mask, TT_PRED)), *count, *place;
  place = tt_low_true_positions(ctx, flat, tt_low_numel(ctx, mask), 0, &count);
  x = mask_rank == 0 ? tt_hlo_unsqueeze(ctx->b, x, 0) : tt_hlo_flatten(ctx->b, x, 0, mask_rank - 1);
  tt_low_set(result, tt_hlo_take(ctx->b, x, place, 0));
  result->counted = true;
  ctx->count = tt_hlo_convert(ctx->b, count, TT_S64);
}

/* `mask`, whose dims are those of x from `axis` on, over all of x. */
static tt_hlo_value *mask_over(tt_low_ctx *ctx, tt_hlo_value *mask, tt_hlo_value *x, int axis) {
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int64_t map[TT_LOW_RANK_MAX];
  tt_low_dims(ctx, x, dims);
  for (int i = 0; i < tt_hlo_rank(mask) && i < TT_LOW_RANK_MAX; i++)
    map[i] = axis + i;
  return tt_hlo_broadcast_in_dim(ctx->b, mask, dims, (size_t)tt_hlo_rank(x), map);
}

/* For each element of a flat mask the number of true ones before it: its place among the selected.
 */
static tt_hlo_value *ranks_of(tt_low_ctx *ctx, tt_hlo_value *flat) {
  return tt_low_with_const(ctx, TT_HLO_SUBTRACT, tt_low_prefix_counts(ctx, flat), 1);
}

/* The values of x[mask] = values, spread over x: those of [before..., n, after...] go where the
 * mask is true. */
static tt_hlo_value *spread_values(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *mask,
                                   tt_hlo_value *values, int axis) {
  int mask_rank = tt_hlo_rank(mask), rank = tt_hlo_rank(x), after = rank - axis - mask_rank;
  int at =
      tt_hlo_rank(values) - after - 1; /* the axis of n in values; negative when it is not there */
  int64_t size = at < 0 ? 1 : tt_low_size(ctx, values, at);
  tt_hlo_dim dims[TT_LOW_RANK_MAX], full[TT_LOW_RANK_MAX];
  tt_low_dims(ctx, x, full);
  if (size == 1) {
    if (at >= 0)
      values = tt_hlo_squeeze(ctx->b, values, at);
    for (int i = 0; at >= 0 && i < mask_rank; i++)
      values = tt_hlo_unsqueeze(ctx->b, values, at);
    return tt_hlo_broadcast_to(ctx->b, values, full, (size_t)rank);
  }
  for (int i = 0; i < rank - mask_rank + 1 && i < TT_LOW_RANK_MAX; i++)
    dims[i] = i < axis ? full[i] : i == axis ? tt_hlo_dim_number(size) : full[i + mask_rank - 1];
  values = tt_hlo_broadcast_to(ctx->b, values, dims, (size_t)(rank - mask_rank + 1));
  values = tt_hlo_take(ctx->b, values, ranks_of(ctx, tt_low_flat(ctx, mask)), axis);
  return tt_low_reshape_like(ctx, values, x);
}

static tt_error *put_mask(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *mask, int axis,
                          tt_hlo_value *values, bool accumulate, tt_low_value *results) {
  tt_low_set(&results[0], x);
  mask = tt_hlo_convert(ctx->b, mask, TT_PRED);
  if (tt_low_numel(ctx, values) == 0 || tt_low_numel(ctx, x) == 0)
    return NULL;
  values = spread_values(ctx, x, mask, values, axis);
  if (accumulate)
    values = tt_hlo_op2(ctx->b, tt_hlo_dtype(x) == TT_PRED ? TT_HLO_OR : TT_HLO_ADD, x, values);
  tt_low_set(&results[0], tt_hlo_select(ctx->b, mask_over(ctx, mask, x, axis), values, x));
  return NULL;
}

/* ---- rules ---- */

TT_LOW_RULE(index) {
  tt_hlo_value *x = args[0].tensor;
  pick p = {0};
  int axis = 0;
  const tt_low_value *mask = lone_mask(&args[1].list, &axis);
  if (mask != NULL && axis != 0)
    return tt_error_new(TT_UNIMPLEMENTED, "%s: a mask that does not begin at dim 0",
                        ctx->rule->overload);
  if (mask != NULL) {
    select_rows(ctx, x, mask->tensor, &results[0]);
    return NULL;
  }
  TT_RETURN_IF_ERROR(parse_pick(ctx, x, &args[1].list, &p));
  tt_low_set(&results[0], p.count == 0 ? x : gather_pick(ctx, x, &p));
  return NULL;
}

static tt_hlo_value *scatter_pick(tt_low_ctx *ctx, tt_hlo_value *x, const pick *p,
                                  tt_hlo_value *values, bool accumulate) {
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  size_t rank = p->windows + (size_t)p->shape_rank;
  tt_dtype dtype = accumulate ? tt_low_opmath(tt_hlo_dtype(x)) : tt_hlo_dtype(x);
  tt_hlo_combine combine =
      tt_low_combine_for(accumulate ? TT_HLO_COMBINE_ADD : TT_HLO_COMBINE_SET, dtype);
  tt_hlo_scatter_dims scatter = {
      {p->windows, p->window_axes}, {p->count, p->dims}, {0, NULL}, {0, NULL},
      {p->count, p->dims},          p->shape_rank};
  for (int i = 0, window = 0; i < tt_hlo_rank(x); i++)
    if (!is_picked(p, i) && window < TT_LOW_RANK_MAX)
      dims[p->window_axes[window++]] = tt_hlo_dim_of(ctx->b, x, i);
  for (int i = 0; i < p->shape_rank; i++)
    dims[p->first + i] = tt_hlo_dim_of(ctx->b, p->parts[0], i);
  values = tt_hlo_broadcast_to(ctx->b, tt_hlo_convert(ctx->b, values, dtype), dims, rank);
  return tt_hlo_scatter(ctx->b, tt_hlo_convert(ctx->b, x, dtype), p->index, values, &scatter,
                        combine, false, false);
}

TT_LOW_RULE(index_put) {
  tt_hlo_value *x = args[0].tensor, *values = tt_low_tensor(ctx, &args[2], tt_hlo_dtype(x));
  bool accumulate = tt_low_bool(ctx, &args[3], false);
  int axis = 0;
  const tt_low_value *mask = lone_mask(&args[1].list, &axis);
  pick p = {0};
  if (mask != NULL)
    return put_mask(ctx, x, mask->tensor, axis, values, accumulate, results);
  TT_RETURN_IF_ERROR(parse_pick(ctx, x, &args[1].list, &p));
  tt_low_set(&results[0], x);
  if (p.count == 0) {
    values = tt_hlo_broadcast_like(ctx->b, values, x);
    tt_low_set(&results[0], accumulate ? tt_hlo_add(ctx->b, x, values) : values);
  } else if (tt_low_numel(ctx, x) != 0 && tt_low_numel(ctx, p.parts[0]) != 0) {
    tt_low_set(&results[0], scatter_pick(ctx, x, &p, values, accumulate));
  }
  return NULL;
}

TT_LOW_RULE(masked_select) {
  tt_hlo_value *x = args[0].tensor, *mask = tt_low_tensor(ctx, &args[1], TT_PRED);
  tt_low_broadcast2(ctx, &x, &mask);
  select_rows(ctx, tt_low_flat(ctx, x), tt_low_flat(ctx, mask), &results[0]);
  return NULL;
}

/* The next element of the source goes to each true place. */
TT_LOW_RULE(masked_scatter) {
  tt_hlo_value *x = args[0].tensor, *mask = tt_low_tensor(ctx, &args[1], TT_PRED);
  tt_hlo_value *source = tt_low_flat(ctx, tt_low_tensor(ctx, &args[2], tt_hlo_dtype(x))), *flat,
               *taken;
  tt_low_broadcast2(ctx, &x, &mask);
  tt_low_set(&results[0], x);
  if (tt_low_numel(ctx, x) == 0 || tt_low_numel(ctx, source) == 0)
    return NULL;
  flat = tt_low_flat(ctx, mask);
  taken = tt_low_reshape_like(ctx, tt_hlo_take(ctx->b, source, ranks_of(ctx, flat), 0), x);
  tt_low_set(&results[0], tt_hlo_select(ctx->b, mask, taken, x));
  return NULL;
}

/* The gradients of the true places, one after another, then zeros: dims `sizes`. */
TT_LOW_RULE(masked_scatter_backward) {
  tt_hlo_value *grad = args[0].tensor, *mask = tt_low_tensor(ctx, &args[1], TT_PRED), *place, *sums;
  size_t rank;
  const int64_t *sizes = tt_low_ints(ctx, &args[2], &rank);
  tt_hlo_dim total = tt_hlo_dim_number(1);
  for (size_t i = 0; i < rank; i++)
    total.size *= sizes[i];
  tt_low_broadcast2(ctx, &grad, &mask);
  sums = tt_low_zeros(ctx, tt_hlo_dtype(grad), &total, 1);
  if (total.size != 0 && tt_low_numel(ctx, grad) != 0) {
    mask = tt_low_flat(ctx, mask);
    place = tt_low_select_const(ctx, mask, ranks_of(ctx, mask), (double)total.size);
    sums = tt_low_put_rows(ctx, sums, place, tt_low_flat(ctx, grad), 0, TT_HLO_COMBINE_SET);
  }
  tt_low_set(&results[0], tt_hlo_reshape_numbers(ctx->b, sums, sizes, rank));
  return NULL;
}

const tt_low_rule tt_low_rules_advanced_indexing[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/advanced_indexing.def"
#undef X
};
const size_t tt_low_rules_advanced_indexing_count = TT_COUNT(tt_low_rules_advanced_indexing);
