/* Joining, repeating and moving elements, and the writes and gradients of views. */
#include "lower/rules/helpers_windows.h"
#include "lower/rules/rules.h"

static tt_hlo_value *zero_of(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_const(ctx->b, tt_hlo_dtype(x), 0);
}

/* ---- joining ---- */

/* PyTorch lets tensors of shape [0] stand among those of another rank. */
static bool is_skipped(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_rank(x) == 1 && tt_low_numel(ctx, x) == 0;
}

TT_LOW_RULE(cat) {
  const tt_low_list *list = &args[0].list;
  tt_dtype dtype = tt_low_wanted_dtype(ctx, 0, tt_low_promote(ctx, list->items, list->count));
  tt_hlo_value **parts = tt_hlo_alloc(ctx->b, list->count, sizeof *parts);
  size_t count = 0;
  if (parts == NULL || list->count == 0)
    return NULL;
  for (size_t i = 0; i < list->count; i++)
    if (tt_hlo_rank(list->items[i].tensor) != 1 || !is_skipped(ctx, list->items[i].tensor))
      parts[count++] = tt_low_tensor(ctx, &list->items[i], dtype);
  if (count == 0)
    parts[count++] = tt_low_tensor(ctx, &list->items[0], dtype);
  tt_low_set(&results[0],
             tt_hlo_concat(ctx->b, parts, count,
                           tt_low_axis(tt_low_int(ctx, &args[1], 0), tt_hlo_rank(parts[0]))));
  return NULL;
}

TT_LOW_RULE(stack) {
  const tt_low_list *list = &args[0].list;
  tt_dtype dtype = tt_low_wanted_dtype(ctx, 0, tt_low_promote(ctx, list->items, list->count));
  tt_hlo_value **parts = tt_hlo_alloc(ctx->b, list->count, sizeof *parts);
  int axis;
  if (parts == NULL || list->count == 0)
    return NULL;
  axis = tt_low_axis(tt_low_int(ctx, &args[1], 0), tt_hlo_rank(list->items[0].tensor) + 1);
  for (size_t i = 0; i < list->count; i++)
    parts[i] = tt_hlo_unsqueeze(ctx->b, tt_low_tensor(ctx, &list->items[i], dtype), axis);
  tt_low_set(&results[0], tt_hlo_concat(ctx->b, parts, list->count, axis));
  return NULL;
}

/* ---- moving and repeating ---- */

TT_LOW_RULE(flip) {
  tt_hlo_value *x = args[0].tensor;
  size_t count;
  const int64_t *dims = tt_low_ints(ctx, &args[1], &count);
  int64_t axes[TT_LOW_RANK_MAX];
  if (tt_hlo_rank(x) == 0)
    count = 0;
  for (size_t i = 0; i < count && i < TT_LOW_RANK_MAX; i++)
    axes[i] = tt_low_axis(dims[i], tt_hlo_rank(x));
  tt_low_set(&results[0], tt_hlo_reverse(ctx->b, x, axes, count));
  return NULL;
}

static tt_hlo_value *roll_axis(tt_low_ctx *ctx, tt_hlo_value *x, int axis, int64_t shift) {
  int64_t size = tt_low_size(ctx, x, axis), start = size > 0 ? ((-shift) % size + size) % size : 0;
  tt_hlo_value *parts[2];
  if (start == 0)
    return x;
  parts[0] = tt_hlo_slice_axis(ctx->b, x, axis, start, size, 1);
  parts[1] = tt_hlo_slice_axis(ctx->b, x, axis, 0, start, 1);
  return tt_hlo_concat(ctx->b, parts, 2, axis);
}

TT_LOW_RULE(roll) {
  tt_hlo_value *x = args[0].tensor;
  size_t count, dims_count;
  const int64_t *shifts = tt_low_ints(ctx, &args[1], &count),
                *dims = tt_low_ints(ctx, &args[2], &dims_count);
  if (dims_count == 0 && count == 1)
    x = tt_low_reshape_like(ctx, roll_axis(ctx, tt_low_flat(ctx, x), 0, shifts[0]), x);
  for (size_t i = 0; i < dims_count && i < count && tt_hlo_rank(x) > 0; i++)
    x = roll_axis(ctx, x, tt_low_axis(dims[i], tt_hlo_rank(x)), shifts[i]);
  tt_low_set(&results[0], x);
  return NULL;
}

/* Each axis gets one of its repeats before it; both join. */
TT_LOW_RULE(repeat) {
  tt_hlo_value *x = args[0].tensor;
  size_t rank, wide = 0;
  const int64_t *repeats = tt_low_ints(ctx, &args[1], &rank);
  int lead = (int)rank - tt_hlo_rank(x);
  tt_hlo_dim dims[TT_LOW_RANK_MAX], spread[TT_LOW_RANK_MAX], joined[TT_LOW_RANK_MAX];
  int64_t map[TT_LOW_RANK_MAX];
  tt_low_dims(ctx, x, dims);
  if (2 * rank > TT_LOW_RANK_MAX)
    return tt_error_new(TT_UNIMPLEMENTED, "aten::repeat: %zu dims", rank);
  for (int i = 0; i < (int)rank; i++) {
    tt_hlo_dim times = tt_hlo_dim_number(repeats[i]);
    spread[wide++] = times;
    joined[i] = i < lead ? times : tt_hlo_dim_mul(ctx->b, times, dims[i - lead]);
    if (i < lead)
      continue;
    map[i - lead] = (int64_t)wide;
    spread[wide++] = dims[i - lead];
  }
  x = tt_hlo_broadcast_in_dim(ctx->b, x, spread, wide, map);
  tt_low_set(&results[0], tt_hlo_reshape(ctx->b, x, joined, rank));
  return NULL;
}

/* [n, g c, ...] to [n, c g, ...] */
TT_LOW_RULE(channel_shuffle) {
  tt_hlo_value *x = args[0].tensor;
  int rank = tt_hlo_rank(x);
  tt_hlo_dim dims[TT_LOW_RANK_MAX], groups = tt_hlo_dim_number(tt_low_int(ctx, &args[1], 1));
  tt_low_dims(ctx, x, dims);
  for (int i = rank; i > 2; i--)
    dims[i] = dims[i - 1];
  dims[2] = tt_hlo_dim_div(ctx->b, dims[1], groups);
  dims[1] = groups;
  if (tt_low_numel(ctx, x) != 0)
    x = tt_low_reshape_like(
        ctx, tt_hlo_swap_axes(ctx->b, tt_hlo_reshape(ctx->b, x, dims, (size_t)rank + 1), 1, 2), x);
  tt_low_set(&results[0], x);
  return NULL;
}

/* [..., c r r, h, w] to [..., c, h r, w r] */
TT_LOW_RULE(pixel_shuffle) {
  tt_hlo_value *x = args[0].tensor;
  int lead = tt_hlo_rank(x) - 3;
  int64_t r = tt_low_int(ctx, &args[1], 1), order[TT_LOW_RANK_MAX];
  tt_hlo_dim dims[TT_LOW_RANK_MAX], split[TT_LOW_RANK_MAX], side = tt_hlo_dim_number(r);
  tt_low_dims(ctx, x, dims);
  for (int i = 0; i < lead; i++) {
    split[i] = dims[i];
    order[i] = i;
  }
  split[lead] = dims[lead] = tt_hlo_dim_div(ctx->b, dims[lead], tt_hlo_dim_number(r * r));
  split[lead + 1] = split[lead + 2] = side;
  split[lead + 3] = dims[lead + 1];
  split[lead + 4] = dims[lead + 2];
  for (int i = 0; i < 5; i++)
    order[lead + i] = lead + (const int[]){0, 3, 1, 4, 2}[i];
  dims[lead + 1] = tt_hlo_dim_mul(ctx->b, dims[lead + 1], side);
  dims[lead + 2] = tt_hlo_dim_mul(ctx->b, dims[lead + 2], side);
  x = tt_hlo_transpose(ctx->b, tt_hlo_reshape(ctx->b, x, split, (size_t)lead + 5), order);
  tt_low_set(&results[0], tt_hlo_reshape(ctx->b, x, dims, (size_t)lead + 3));
  return NULL;
}

/* [..., c, h r, w r] to [..., c r r, h, w] */
TT_LOW_RULE(pixel_unshuffle) {
  tt_hlo_value *x = args[0].tensor;
  int lead = tt_hlo_rank(x) - 3;
  int64_t r = tt_low_int(ctx, &args[1], 1), order[TT_LOW_RANK_MAX];
  tt_hlo_dim dims[TT_LOW_RANK_MAX], split[TT_LOW_RANK_MAX], side = tt_hlo_dim_number(r);
  tt_low_dims(ctx, x, dims);
  for (int i = 0; i <= lead; i++) {
    split[i] = dims[i];
    order[i] = i;
  }
  split[lead + 1] = dims[lead + 1] = tt_hlo_dim_div(ctx->b, dims[lead + 1], side);
  split[lead + 3] = dims[lead + 2] = tt_hlo_dim_div(ctx->b, dims[lead + 2], side);
  split[lead + 2] = split[lead + 4] = side;
  for (int i = 0; i < 5; i++)
    order[lead + i] = lead + (const int[]){0, 2, 4, 1, 3}[i];
  dims[lead] = tt_hlo_dim_mul(ctx->b, dims[lead], tt_hlo_dim_number(r * r));
  x = tt_hlo_transpose(ctx->b, tt_hlo_reshape(ctx->b, x, split, (size_t)lead + 5), order);
  tt_low_set(&results[0], tt_hlo_reshape(ctx->b, x, dims, (size_t)lead + 3));
  return NULL;
}

/* ---- triangles and diagonals ---- */

/* column - row against a scalar s32, over the two axes of `like`. */
static tt_hlo_value *diagonal_mask(tt_low_ctx *ctx, tt_hlo_direction direction, tt_hlo_value *like,
                                   int row, int column, tt_hlo_value *offset) {
  tt_hlo_value *off =
      tt_hlo_sub(ctx->b, tt_low_iota_like(ctx, like, column), tt_low_iota_like(ctx, like, row));
  return tt_hlo_compare(ctx->b, direction, off, tt_hlo_broadcast_like(ctx->b, offset, off));
}

TT_LOW_RULE(triangle) {
  tt_hlo_value *x = args[0].tensor;
  int rank = tt_hlo_rank(x);
  tt_hlo_value *offset = tt_low_number(ctx, &args[1], TT_S64, 0);
  offset = tt_hlo_max(ctx->b, offset, tt_hlo_const(ctx->b, TT_S64, -INT32_MAX));
  offset = tt_hlo_min(ctx->b, offset, tt_hlo_const(ctx->b, TT_S64, INT32_MAX));
  tt_hlo_value *mask = diagonal_mask(ctx, (tt_hlo_direction)ctx->rule->data, x, rank - 2, rank - 1,
                                     tt_hlo_convert(ctx->b, offset, TT_S32));
  tt_low_set(&results[0], tt_low_select_const(ctx, mask, x, 0));
  return NULL;
}

/* Axis dim1 and dim2 of `dims`, wherever they are, with a diagonal between them. */
typedef struct diagonal {
  int row, column;
  int64_t offset;
} diagonal;

static diagonal parse_diagonal(tt_low_ctx *ctx, const tt_low_value *args, int rank) {
  diagonal d = {tt_low_axis(tt_low_int(ctx, &args[1], 0), rank),
                tt_low_axis(tt_low_int(ctx, &args[2], 1), rank), tt_low_int(ctx, &args[0], 0)};
  return d;
}

/* src [others..., length] spread over `dims` so that its elements stand on the diagonal; elsewhere
 * anything. */
static tt_hlo_value *spread_diagonal(tt_low_ctx *ctx, tt_hlo_value *src, const tt_hlo_dim *dims,
                                     int rank, diagonal d) {
  int last = tt_hlo_rank(src) - 1, along = d.offset >= 0 ? d.row : d.column;
  int64_t map[TT_LOW_RANK_MAX], length = tt_low_size(ctx, src, last);
  int at = 0;
  src = tt_low_pad_axis(ctx, src, zero_of(ctx, src), last, 0, dims[along].size - length, 0);
  for (int i = 0; i < rank; i++)
    if (i != d.row && i != d.column)
      map[at++] = i;
  map[at] = along;
  return tt_hlo_broadcast_in_dim(ctx->b, src, dims, (size_t)rank, map);
}

/* `src` on the diagonal of `base`, or of zeros when that is NULL. */
static tt_hlo_value *put_diagonal(tt_low_ctx *ctx, tt_hlo_value *src, tt_hlo_value *base,
                                  const tt_hlo_dim *dims, int rank, diagonal d) {
  tt_hlo_value *wide = spread_diagonal(ctx, src, dims, rank, d);
  tt_hlo_value *mask = diagonal_mask(ctx, TT_HLO_EQ, wide, d.row, d.column,
                                     tt_hlo_const_int(ctx->b, TT_S32, d.offset));
  return base == NULL ? tt_low_select_const(ctx, mask, wide, 0)
                      : tt_hlo_select(ctx->b, mask, wide, base);
}

static int dims_of_ints(tt_low_ctx *ctx, const tt_low_value *arg, tt_hlo_dim *dims) {
  size_t rank;
  const int64_t *sizes = tt_low_ints(ctx, arg, &rank);
  for (size_t i = 0; i < rank && i < TT_LOW_RANK_MAX; i++)
    dims[i] = tt_hlo_dim_number(sizes[i]);
  return (int)rank;
}

/* (grad, sizes, offset, dim1, dim2) */
TT_LOW_RULE(diagonal_backward) {
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int rank = dims_of_ints(ctx, &args[1], dims);
  tt_low_set(&results[0], put_diagonal(ctx, args[0].tensor, NULL, dims, rank,
                                       parse_diagonal(ctx, args + 2, rank)));
  return NULL;
}

/* (self, src, offset, dim1, dim2) */
TT_LOW_RULE(diagonal_scatter) {
  tt_hlo_value *x = args[0].tensor;
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int rank = tt_hlo_rank(x);
  tt_low_dims(ctx, x, dims);
  tt_low_set(&results[0],
             put_diagonal(ctx, args[1].tensor, x, dims, rank, parse_diagonal(ctx, args + 2, rank)));
  return NULL;
}

/* (self, offset, dim1, dim2) */
TT_LOW_RULE(diag_embed) {
  tt_hlo_value *x = args[0].tensor;
  int rank = tt_hlo_rank(x) + 1, at = 0;
  diagonal d = parse_diagonal(ctx, args + 1, rank);
  int64_t side = tt_low_size(ctx, x, rank - 2) + (d.offset < 0 ? -d.offset : d.offset);
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  for (int i = 0; i < rank; i++)
    dims[i] =
        i == d.row || i == d.column ? tt_hlo_dim_number(side) : tt_hlo_dim_of(ctx->b, x, at++);
  tt_low_set(&results[0], put_diagonal(ctx, x, NULL, dims, rank, d));
  return NULL;
}

/* ---- one index or slice of an axis ---- */

/* (grad, sizes, dim, index) */
TT_LOW_RULE(select_backward) {
  tt_hlo_value *grad = args[0].tensor;
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int rank = dims_of_ints(ctx, &args[1], dims),
      axis = tt_low_axis(tt_low_int(ctx, &args[2], 0), rank);
  int64_t size = dims[axis].size, index = tt_low_int(ctx, &args[3], 0);
  index += index < 0 ? size : 0;
  grad = tt_hlo_unsqueeze(ctx->b, grad, axis);
  tt_low_set(&results[0],
             tt_low_pad_axis(ctx, grad, zero_of(ctx, grad), axis, index, size - 1 - index, 0));
  return NULL;
}

/* Where x[start:...:step] begins, clamped as Python's slices. */
static int64_t slice_start(tt_low_ctx *ctx, const tt_low_value *arg, int64_t size) {
  int64_t start = tt_low_int(ctx, arg, 0);
  start += start < 0 ? size : 0;
  return start < 0 ? 0 : start > size ? size : start;
}

/* `x` at start, start + step, ... of an axis of `size`, zeros elsewhere. */
static tt_hlo_value *spread_slice(tt_low_ctx *ctx, tt_hlo_value *x, int axis, int64_t size,
                                  int64_t start, int64_t step) {
  int64_t count = tt_low_size(ctx, x, axis), span = count == 0 ? 0 : (count - 1) * step + 1;
  return tt_low_pad_axis(ctx, x, zero_of(ctx, x), axis, start, size - start - span, step - 1);
}

/* (grad, sizes, dim, start, end, step) */
TT_LOW_RULE(slice_backward) {
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int rank = dims_of_ints(ctx, &args[1], dims),
      axis = tt_low_axis(tt_low_int(ctx, &args[2], 0), rank);
  int64_t start = slice_start(ctx, &args[3], dims[axis].size), step = tt_low_int(ctx, &args[5], 1);
  tt_low_set(&results[0], spread_slice(ctx, args[0].tensor, axis, dims[axis].size, start, step));
  return NULL;
}

static tt_hlo_value *update_at(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *part, int axis,
                               int64_t start) {
  tt_hlo_value *starts[TT_LOW_RANK_MAX];
  for (int i = 0; i < tt_hlo_rank(x) && i < TT_LOW_RANK_MAX; i++)
    starts[i] = tt_hlo_const_int(ctx->b, TT_S32, i == axis ? start : 0);
  return tt_hlo_dynamic_update_slice(ctx->b, x, part, starts);
}

/* (self, src, dim, start, end, step) */
TT_LOW_RULE(slice_scatter) {
  tt_hlo_value *x = args[0].tensor, *part = tt_low_tensor(ctx, &args[1], tt_hlo_dtype(x)), *mask,
               *place;
  int axis = tt_low_axis(tt_low_int(ctx, &args[2], 0), tt_hlo_rank(x));
  int64_t size = tt_low_size(ctx, x, axis), start = slice_start(ctx, &args[3], size),
          step = tt_low_int(ctx, &args[5], 1);
  int64_t count = tt_low_size(ctx, part, axis);
  tt_low_set(&results[0], x);
  if (tt_low_numel(ctx, part) == 0)
    return NULL;
  if (step == 1) {
    tt_low_set(&results[0], update_at(ctx, x, part, axis, start));
    return NULL;
  }
  place = tt_low_with_const(ctx, TT_HLO_SUBTRACT, tt_low_iota_like(ctx, x, axis), (double)start);
  mask = tt_low_compare_const(ctx, TT_HLO_EQ,
                              tt_low_with_const(ctx, TT_HLO_REMAINDER, place, (double)step), 0);
  mask = tt_hlo_and(ctx->b, mask, tt_low_compare_const(ctx, TT_HLO_GE, place, 0));
  mask =
      tt_hlo_and(ctx->b, mask, tt_low_compare_const(ctx, TT_HLO_LT, place, (double)(count * step)));
  tt_low_set(&results[0],
             tt_hlo_select(ctx->b, mask, spread_slice(ctx, part, axis, size, start, step), x));
  return NULL;
}

/* (self, src, dim, index) */
TT_LOW_RULE(select_scatter) {
  tt_hlo_value *x = args[0].tensor, *part = tt_low_tensor(ctx, &args[1], tt_hlo_dtype(x));
  int axis = tt_low_axis(tt_low_int(ctx, &args[2], 0), tt_hlo_rank(x));
  int64_t index = tt_low_int(ctx, &args[3], 0);
  index += index < 0 ? tt_low_size(ctx, x, axis) : 0;
  tt_low_set(&results[0],
             tt_low_numel(ctx, x) == 0
                 ? x
                 : update_at(ctx, x, tt_hlo_unsqueeze(ctx->b, part, axis), axis, index));
  return NULL;
}

enum { UNFOLD_TAPS = 16 };

/* Each window's elements in a row, and where each belongs. */
static tt_hlo_value *unfold_by_index(tt_low_ctx *ctx, tt_hlo_value *grad, const tt_low_window *w) {
  size_t count = (size_t)(w->out * w->kernel);
  int64_t *places = tt_hlo_alloc(ctx->b, count, sizeof *places);
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  tt_hlo_value *zeros;
  if (places == NULL)
    return ctx->b->poison;
  for (int64_t i = 0; i < w->out * w->kernel; i++)
    places[i] = i / w->kernel * w->stride + i % w->kernel;
  grad = tt_hlo_flatten(ctx->b, tt_hlo_move_axis(ctx->b, grad, tt_hlo_rank(grad) - 1, w->axis + 1),
                        w->axis, w->axis + 1);
  tt_low_dims(ctx, grad, dims);
  dims[w->axis] = tt_hlo_dim_number(w->in);
  zeros = tt_low_zeros(ctx, tt_hlo_dtype(grad), dims, (size_t)tt_hlo_rank(grad));
  return tt_low_put_rows(ctx, zeros, tt_hlo_const_i64s(ctx->b, TT_S32, places, count), grad,
                         w->axis, TT_HLO_COMBINE_ADD);
}

/* (grad, sizes, dim, size, step): grad has the windows at dim and the elements of each in a last
 * axis. */
TT_LOW_RULE(unfold_backward) {
  tt_hlo_value *grad = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor))),
               *sum = NULL;
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int rank = dims_of_ints(ctx, &args[1], dims),
      axis = tt_low_axis(tt_low_int(ctx, &args[2], 0), rank);
  int64_t kernel = tt_low_int(ctx, &args[3], 1), step = tt_low_int(ctx, &args[4], 1);
  tt_low_window w = {axis, 1, 1, kernel, step, 0, 1};
  if (rank == 0 || tt_low_numel(ctx, grad) == 0) {
    tt_low_set(&results[0], rank == 0 && tt_low_numel(ctx, grad) != 0
                                ? tt_hlo_reshape(ctx->b, grad, dims, 0)
                                : tt_low_zeros(ctx, tt_hlo_dtype(grad), dims, (size_t)rank));
    return NULL;
  }
  w.in = dims[axis].size;
  w.out = tt_low_size(ctx, grad, axis);
  for (int64_t t = 0; kernel <= UNFOLD_TAPS && t < kernel; t++) {
    tt_hlo_value *part =
        tt_hlo_squeeze(ctx->b, tt_hlo_slice_axis(ctx->b, grad, rank, t, t + 1, 1), rank);
    part = tt_low_window_untap(ctx, part, &w, t);
    sum = sum == NULL ? part : tt_hlo_add(ctx->b, sum, part);
  }
  tt_low_set(&results[0], sum != NULL ? sum : unfold_by_index(ctx, grad, &w));
  return NULL;
}

const tt_low_rule tt_low_rules_shape[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/shape.def"
#undef X
};
const size_t tt_low_rules_shape_count = TT_COUNT(tt_low_rules_shape);
