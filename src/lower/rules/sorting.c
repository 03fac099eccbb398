/* Order and multiplicity: sorts, searches in sorted sequences, distinct values, positions of what
 * is true.
 *
 * Where a size is known only after the run the result has room for the largest, and ctx->count says
 * how much is real. */
#include "lower/rules/helpers_indexing.h"
#include "lower/rules/rules.h"

/* ---- sorts ---- */

/* (self, [stable,] dim, descending); data: where dim stands. */
TT_LOW_RULE(sort) {
  tt_hlo_value *x = tt_low_rank1(ctx, args[0].tensor), *order = NULL;
  const tt_low_value *rest = args + ctx->rule->data;
  int axis = tt_low_axis(tt_low_int(ctx, &rest[0], -1), tt_hlo_rank(x));
  tt_low_sort(ctx, x, axis, tt_low_bool(ctx, &rest[1], false), &x, &order);
  tt_low_set(&results[0], tt_low_reshape_like(ctx, x, args[0].tensor));
  tt_low_set(&results[1],
             tt_hlo_convert(ctx->b, tt_low_reshape_like(ctx, order, args[0].tensor), TT_S64));
  return NULL;
}

/* The k largest of the last axis through chlo.top_k, which orders bits: all NaN must be the same,
 * positive one. */
static void float_top_k(tt_low_ctx *ctx, tt_hlo_value *x, int64_t k, bool largest,
                        tt_hlo_value **values, tt_hlo_value **order) {
  tt_hlo_value *nan = tt_hlo_compare(ctx->b, TT_HLO_NE, x, x);
  tt_hlo_value *key = largest ? x : tt_hlo_neg(ctx->b, x);
  tt_hlo_value *extreme = tt_hlo_const(
      ctx->b, tt_hlo_dtype(x), largest ? (double)__builtin_nanf("") : -(double)__builtin_nanf(""));
  key = tt_hlo_select(ctx->b, nan, tt_hlo_broadcast_like(ctx->b, extreme, x), key);
  tt_hlo_top_k(ctx->b, key, k, values, order);
  if (!largest)
    *values = tt_hlo_neg(ctx->b, *values);
}

/* (self, k, dim, largest, sorted) */
TT_LOW_RULE(topk) {
  tt_hlo_value *x = tt_low_rank1(ctx, args[0].tensor), *values = ctx->b->poison,
               *order = ctx->b->poison;
  tt_dtype dtype = tt_hlo_dtype(x);
  int last = tt_hlo_rank(x) - 1, axis = tt_low_axis(tt_low_int(ctx, &args[2], -1), tt_hlo_rank(x));
  int64_t k = tt_low_int(ctx, &args[1], 1);
  bool largest = tt_low_bool(ctx, &args[3], true);
  size_t rank;
  const tt_hlo_dim *dims;
  if (tt_low_opmath(dtype) == TT_F32 && k > 0 && k <= tt_low_size(ctx, x, axis)) {
    x = tt_hlo_move_axis(ctx->b, tt_hlo_convert(ctx->b, x, TT_F32), axis, last);
    float_top_k(ctx, x, k, largest, &values, &order);
    values = tt_hlo_move_axis(ctx->b, values, last, axis);
    order = tt_hlo_move_axis(ctx->b, order, last, axis);
  } else {
    tt_low_sort(ctx, x, axis, largest, &values, &order);
    values = tt_hlo_slice_axis(ctx->b, values, axis, 0, k, 1);
    order = tt_hlo_slice_axis(ctx->b, order, axis, 0, k, 1);
  }
  dims = tt_low_wanted_dims(ctx, 0, &rank);
  tt_low_set(&results[0], tt_hlo_reshape(ctx->b, values, dims, rank));
  tt_low_set(&results[1],
             tt_hlo_convert(ctx->b, tt_hlo_reshape(ctx->b, order, dims, rank), TT_S64));
  return NULL;
}

/* ---- searches ---- */

static void set_places(tt_low_ctx *ctx, tt_hlo_value *places, const tt_low_value *narrow,
                       tt_low_value *results) {
  tt_low_set(&results[0],
             tt_hlo_convert(ctx->b, places, tt_low_bool(ctx, narrow, false) ? TT_S32 : TT_S64));
}

/* (self, boundaries, out_int32, right) */
TT_LOW_RULE(bucketize) {
  tt_dtype dtype = tt_low_promote(ctx, args, 2);
  tt_hlo_value *values = tt_low_number(ctx, &args[0], dtype, 0);
  tt_hlo_value *places = tt_low_search(ctx, tt_low_tensor(ctx, &args[1], dtype), values,
                                       tt_low_bool(ctx, &args[3], false));
  set_places(ctx, places, &args[2], results);
  return NULL;
}

/* (sequence, self, out_int32, right, side, sorter) */
TT_LOW_RULE(searchsorted) {
  tt_dtype dtype = tt_low_promote(ctx, args, 2);
  tt_hlo_value *sequence = tt_low_tensor(ctx, &args[0], dtype),
               *values = tt_low_number(ctx, &args[1], dtype, 0);
  bool right = tt_low_bool(ctx, &args[3], false) ||
               (args[4].kind == TT_LOW_STRING && args[4].string[0] == 'r');
  if (tt_low_is_tensor(&args[5]))
    sequence = tt_hlo_take_along(ctx->b, sequence, tt_hlo_convert(ctx->b, args[5].tensor, TT_S32),
                                 tt_hlo_rank(sequence) - 1);
  set_places(ctx, tt_low_search(ctx, sequence, values, right), &args[2], results);
  return NULL;
}

enum {
  ISIN_ALL = 64
}; /* up to this many test elements each is compared; above, they are sorted and searched */

static tt_hlo_value *is_any_of(tt_low_ctx *ctx, tt_hlo_value *elements, tt_hlo_value *tests,
                               int64_t count) {
  tt_hlo_value *found = NULL;
  for (int64_t i = 0; i < count; i++) {
    tt_hlo_value *test =
        tt_hlo_squeeze(ctx->b, tt_hlo_slice_axis(ctx->b, tests, 0, i, i + 1, 1), 0);
    tt_hlo_value *same =
        tt_hlo_compare(ctx->b, TT_HLO_EQ, elements, tt_hlo_broadcast_like(ctx->b, test, elements));
    found = found == NULL ? same : tt_hlo_or(ctx->b, found, same);
  }
  return found != NULL ? found
                       : tt_hlo_broadcast_like(ctx->b, tt_hlo_const(ctx->b, TT_PRED, 0), elements);
}

static tt_hlo_value *is_in_sorted(tt_low_ctx *ctx, tt_hlo_value *elements, tt_hlo_value *tests,
                                  int64_t count) {
  tt_hlo_value *place, *there;
  tt_low_sort(ctx, tests, 0, false, &tests, NULL);
  place = tt_low_with_const(ctx, TT_HLO_MINIMUM, tt_low_search(ctx, tests, elements, false),
                            (double)(count - 1));
  there = tt_hlo_take(ctx->b, tests, place, 0);
  return tt_hlo_compare(ctx->b, TT_HLO_EQ, there, elements);
}

/* (elements, test_elements, assume_unique, invert) */
TT_LOW_RULE(isin) {
  tt_dtype dtype = tt_low_promote(ctx, args, 2);
  tt_hlo_value *elements = tt_low_number(ctx, &args[0], dtype, 0),
               *tests = tt_low_flat(ctx, tt_low_number(ctx, &args[1], dtype, 0));
  int64_t count = tt_low_size(ctx, tests, 0);
  tt_hlo_value *found = count <= ISIN_ALL ? is_any_of(ctx, elements, tests, count)
                                          : is_in_sorted(ctx, elements, tests, count);
  tt_low_set(&results[0], tt_low_bool(ctx, &args[3], false) ? tt_hlo_not(ctx->b, found) : found);
  return NULL;
}

/* ---- positions ---- */

/* Flat places [n] in `x` to coordinates s64 [n, rank]. */
static tt_hlo_value *coordinates(tt_low_ctx *ctx, tt_hlo_value *place, tt_hlo_value *x) {
  int rank = tt_hlo_rank(x);
  tt_hlo_value *parts[TT_LOW_RANK_MAX];
  for (int i = rank - 1; i >= 0 && i < TT_LOW_RANK_MAX; i--) {
    double size = (double)tt_low_size(ctx, x, i);
    tt_hlo_value *part = i > 0 ? tt_low_with_const(ctx, TT_HLO_REMAINDER, place, size) : place;
    parts[i] = tt_hlo_unsqueeze(ctx->b, tt_hlo_convert(ctx->b, part, TT_S64), 1);
    place = i > 0 ? tt_low_with_const(ctx, TT_HLO_DIVIDE, place, size) : place;
  }
  return tt_hlo_concat(ctx->b, parts, (size_t)rank, 1);
}

static tt_hlo_value *no_rows(tt_low_ctx *ctx, int64_t rows, int64_t columns) {
  tt_hlo_dim dims[2] = {tt_hlo_dim_number(rows), tt_hlo_dim_number(columns)};
  return tt_low_zeros(ctx, TT_S64, dims, 2);
}

TT_LOW_RULE(nonzero) {
  tt_hlo_value *x = args[0].tensor, *count = NULL, *place;
  int64_t size = tt_low_numel(ctx, x);
  place = tt_low_true_positions(ctx, tt_low_flat(ctx, tt_hlo_convert(ctx->b, x, TT_PRED)), size, 0,
                                &count);
  tt_low_set(&results[0], tt_hlo_rank(x) == 0 || size == 0 ? no_rows(ctx, size, tt_hlo_rank(x))
                                                           : coordinates(ctx, place, x));
  results[0].counted = true;
  ctx->count = tt_hlo_convert(ctx->b, count, TT_S64);
  return NULL;
}

/* (self, size, fill_value): the first `size` rows, then rows of the fill. */
TT_LOW_RULE(nonzero_static) {
  tt_hlo_value *x = args[0].tensor, *count = NULL, *place, *rows, *real;
  int64_t size = tt_low_int(ctx, &args[1], 0);
  if (tt_hlo_rank(x) == 0 || size == 0) {
    tt_low_set(&results[0], no_rows(ctx, size, tt_hlo_rank(x)));
    return NULL;
  }
  place = tt_low_true_positions(ctx, tt_low_flat(ctx, tt_hlo_convert(ctx->b, x, TT_PRED)), size, 0,
                                &count);
  if (tt_low_numel(ctx, x) == 0)
    rows = no_rows(ctx, size, tt_hlo_rank(x));
  else
    rows = coordinates(ctx, place, x);
  real = tt_hlo_compare(ctx->b, TT_HLO_LT, tt_low_iota_like(ctx, rows, 0),
                        tt_hlo_broadcast_like(ctx->b, count, tt_low_iota_like(ctx, rows, 0)));
  rows =
      tt_hlo_select(ctx->b, real, rows,
                    tt_hlo_broadcast_like(ctx->b, tt_low_number(ctx, &args[2], TT_S64, -1), rows));
  tt_low_set(&results[0], rows);
  return NULL;
}

/* (repeats, output_size): i stands repeats[i] times. The size must be known: its bound is not in
 * the shapes. */
TT_LOW_RULE(repeat_interleave) {
  tt_hlo_value *repeats = args[0].tensor, *ends;
  tt_hlo_dim dim = tt_hlo_dim_number(tt_low_int(ctx, &args[1], 0));
  if (tt_low_is_none(&args[1]))
    return tt_error_new(TT_UNIMPLEMENTED, "aten::repeat_interleave: without output_size");
  ends = tt_low_prefix_sums(ctx, tt_hlo_convert(ctx->b, repeats, TT_S32));
  ends = tt_low_search(ctx, ends, tt_hlo_iota(ctx->b, TT_S32, &dim, 1, 0), true);
  tt_low_set(&results[0], tt_hlo_convert(ctx->b, ends, tt_hlo_dtype(repeats)));
  return NULL;
}

/* ---- distinct values ---- */

enum { UNIQUE_PLAIN, UNIQUE_COUNTS };

/* Groups of equal neighbours of a sequence of `size` > 0 elements. */
typedef struct groups {
  int64_t size;
  tt_hlo_value *number; /* s32 [size]: the group of each element */
  tt_hlo_value *first;  /* s32 [size]: where each group begins; `size` behind the last group */
  tt_hlo_value *count;  /* s32 scalar */
} groups;

/* differs: pred [size - 1], whether element i + 1 is unlike i. */
static groups group_by(tt_low_ctx *ctx, tt_hlo_value *differs, int64_t size) {
  groups g = {size, NULL, NULL, NULL};
  tt_hlo_value *starts =
      tt_low_pad_axis(ctx, differs, tt_hlo_const(ctx->b, TT_PRED, 1), 0, 1, 0, 0);
  g.number = tt_low_with_const(ctx, TT_HLO_SUBTRACT, tt_low_prefix_counts(ctx, starts), 1);
  g.first = tt_low_true_positions(ctx, starts, size, size, &g.count);
  return g;
}

/* Elements of each group: where the next begins less where it begins; zeros behind the last. */
static tt_hlo_value *group_sizes(tt_low_ctx *ctx, const groups *g) {
  tt_hlo_value *next =
      tt_low_pad_axis(ctx, g->first, tt_hlo_const_int(ctx->b, TT_S32, g->size), 0, -1, 1, 0);
  return tt_hlo_convert(ctx->b, tt_hlo_sub(ctx->b, next, g->first), TT_S64);
}

static tt_hlo_value *neighbours_differ(tt_low_ctx *ctx, tt_hlo_value *x, int64_t size) {
  return tt_hlo_compare(ctx->b, TT_HLO_NE, tt_hlo_slice_axis(ctx->b, x, 0, 1, size, 1),
                        tt_hlo_slice_axis(ctx->b, x, 0, 0, size - 1, 1));
}

static void set_counted(tt_low_value *result, tt_hlo_value *value) {
  tt_low_set(result, value);
  result->counted = true;
}

static tt_hlo_value *nothing(tt_low_ctx *ctx) {
  tt_hlo_dim dim = tt_hlo_dim_number(0);
  return tt_low_zeros(ctx, TT_S64, &dim, 1);
}

/* values [size, ...] in group order, `order` (or NULL: as they are) where each came from. */
static void set_groups(tt_low_ctx *ctx, const groups *g, tt_hlo_value *values, tt_hlo_value *order,
                       bool inverse, bool counts, tt_low_value *results) {
  tt_hlo_value *back = g->number;
  tt_hlo_dim dim = tt_hlo_dim_number(g->size);
  set_counted(&results[0], tt_hlo_take(ctx->b, values, g->first, 0));
  if (inverse && order != NULL)
    back = tt_low_put_rows(ctx, tt_low_zeros(ctx, TT_S32, &dim, 1), order, back, 0,
                           TT_HLO_COMBINE_SET);
  tt_low_set(&results[1], inverse ? tt_hlo_convert(ctx->b, back, TT_S64) : nothing(ctx));
  if (counts)
    set_counted(&results[2], group_sizes(ctx, g));
  else
    tt_low_set(&results[2], nothing(ctx));
  ctx->count = tt_hlo_convert(ctx->b, g->count, TT_S64);
}

/* No element: no distinct value, as many inverses. */
static void set_no_groups(tt_low_ctx *ctx, tt_hlo_value *values, tt_hlo_value *inverse,
                          tt_low_value *results) {
  set_counted(&results[0], values);
  tt_low_set(&results[1], inverse == NULL ? nothing(ctx)
                                          : tt_hlo_broadcast_like(
                                                ctx->b, tt_hlo_const(ctx->b, TT_S64, 0), inverse));
  tt_low_set(&results[2], nothing(ctx));
  ctx->count = tt_hlo_const(ctx->b, TT_S64, 0);
}

/* (self, sorted, return_inverse, [return_counts]); data: whether there are counts. */
TT_LOW_RULE(unique) {
  tt_hlo_value *x = args[0].tensor, *flat = tt_low_flat(ctx, x), *order = NULL;
  int64_t size = tt_low_size(ctx, flat, 0);
  bool counts = ctx->rule->data == UNIQUE_COUNTS && tt_low_bool(ctx, &args[3], false);
  bool inverse = tt_low_bool(ctx, &args[2], false);
  tt_low_value all[3] = {{0}};
  ctx->results_count = ctx->rule->data == UNIQUE_COUNTS ? 3 : 2;
  if (size == 0) {
    set_no_groups(ctx, flat, inverse ? x : NULL, all);
  } else {
    groups g;
    tt_low_sort(ctx, flat, 0, false, &flat, &order);
    g = group_by(ctx, neighbours_differ(ctx, flat, size), size);
    set_groups(ctx, &g, flat, order, inverse, counts, all);
    if (inverse)
      all[1].tensor = tt_low_reshape_like(ctx, all[1].tensor, x);
  }
  for (size_t i = 0; i < ctx->results_count; i++)
    results[i] = all[i];
  return NULL;
}

/* Rows [size, width] of `x` along `axis`. */
static tt_hlo_value *rows_along(tt_low_ctx *ctx, tt_hlo_value *x, int axis) {
  int64_t size = tt_low_size(ctx, x, axis), total = tt_low_numel(ctx, x);
  int64_t dims[2] = {size, size > 0 ? total / size : 0};
  return tt_hlo_reshape_numbers(ctx->b, tt_hlo_move_axis(ctx->b, x, axis, 0), dims, 2);
}

static tt_hlo_value *rows_differ(tt_low_ctx *ctx, tt_hlo_value *rows, int64_t size) {
  int64_t axis[1] = {1};
  return tt_hlo_reduce(ctx->b, TT_HLO_OR, neighbours_differ(ctx, rows, size), axis, 1);
}

/* One pass of a sort by columns, from the last to the first: stable, so that the first column
 * decides in the end. */
static tt_hlo_value *sort_by_column(tt_low_ctx *ctx, tt_hlo_value *columns, tt_hlo_value *column,
                                    tt_hlo_value *order, int64_t size) {
  tt_hlo_value *starts[2] = {column, tt_hlo_const(ctx->b, TT_S32, 0)}, *keys, *moved;
  int64_t sizes[2] = {1, size};
  keys = tt_hlo_squeeze(ctx->b, tt_hlo_dynamic_slice(ctx->b, columns, starts, sizes), 0);
  tt_low_sort(ctx, tt_hlo_take(ctx->b, keys, order, 0), 0, false, NULL, &moved);
  return tt_hlo_take(ctx->b, order, moved, 0);
}

/* The order in which rows [size, width] ascend. */
static tt_hlo_value *order_of_rows(tt_low_ctx *ctx, tt_hlo_value *rows, int64_t size,
                                   int64_t width) {
  int64_t *dims = tt_hlo_alloc(ctx->b, 1, sizeof *dims); /* the region's arguments keep it */
  tt_hlo_type types[2] = {tt_hlo_scalar_type(TT_S32), {.dtype = TT_S32, .rank = 1, .dims = dims}};
  tt_hlo_dim dim = tt_hlo_dim_number(size);
  tt_hlo_value *columns = tt_hlo_swap_axes(ctx->b, rows, 0, 1),
               *results[2] = {ctx->b->poison, ctx->b->poison}, *more;
  tt_hlo_value *inits[2] = {tt_hlo_const_int(ctx->b, TT_S32, width - 1),
                            tt_hlo_iota(ctx->b, TT_S32, &dim, 1, 0)};
  tt_hlo_region *cond, *body;
  if (dims == NULL)
    return ctx->b->poison;
  dims[0] = size;
  cond = tt_hlo_region_open(ctx->b, types, 2);
  more = tt_low_compare_const(ctx, TT_HLO_GE, tt_hlo_region_arg(ctx->b, cond, 0), 0);
  if (cond == NULL)
    return ctx->b->poison;
  tt_hlo_region_close(ctx->b, &more, 1);
  body = tt_hlo_region_open(ctx->b, types, 2);
  if (body == NULL)
    return ctx->b->poison;
  results[1] = sort_by_column(ctx, columns, tt_hlo_region_arg(ctx->b, body, 0),
                              tt_hlo_region_arg(ctx->b, body, 1), size);
  results[0] = tt_low_with_const(ctx, TT_HLO_SUBTRACT, tt_hlo_region_arg(ctx->b, body, 0), 1);
  tt_hlo_region_close(ctx->b, results, 2);
  tt_hlo_while(ctx->b, inits, 2, cond, body, results);
  return results[1];
}

/* Distinct slices of `x` along its axis 0; sorted ones, or of equal neighbours. Inverse and counts
 * always, as on CPU. */
static tt_error *distinct_rows(tt_low_ctx *ctx, tt_hlo_value *x, bool sorted,
                               tt_low_value *results) {
  int64_t size = tt_low_size(ctx, x, 0), width;
  tt_hlo_value *rows, *order = NULL;
  groups g;
  if (size == 0 || tt_low_numel(ctx, x) == 0)
    return tt_error_new(TT_UNIMPLEMENTED, "%s: a tensor without elements", ctx->rule->overload);
  rows = rows_along(ctx, x, 0);
  width = tt_low_size(ctx, rows, 1);
  if (sorted) {
    order = order_of_rows(ctx, rows, size, width);
    rows = tt_hlo_take(ctx->b, rows, order, 0);
    x = tt_hlo_take(ctx->b, x, order, 0);
  }
  g = group_by(ctx, rows_differ(ctx, rows, size), size);
  set_groups(ctx, &g, x, order, true, true, results);
  return NULL;
}

/* (self, dim, [sorted,] return_inverse, return_counts); data: whether it sorts. */
TT_LOW_RULE(unique_dim) {
  tt_hlo_value *x = args[0].tensor;
  ctx->results_count = 3;
  if (tt_hlo_rank(x) == 0 || tt_low_axis(tt_low_int(ctx, &args[1], 0), tt_hlo_rank(x)) != 0)
    return tt_error_new(TT_UNIMPLEMENTED, "%s: along another dim than the first",
                        ctx->rule->overload);
  return distinct_rows(ctx, x, ctx->rule->data == 1, results);
}

/* (self, return_inverse, return_counts, dim) */
TT_LOW_RULE(unique_consecutive) {
  tt_hlo_value *x = args[0].tensor, *flat = tt_low_flat(ctx, x);
  bool inverse = tt_low_bool(ctx, &args[1], false), counts = tt_low_bool(ctx, &args[2], false);
  int64_t size = tt_low_size(ctx, flat, 0);
  groups g;
  ctx->results_count = 3;
  if (!tt_low_is_none(&args[3]) && tt_hlo_rank(x) > 1) {
    if (tt_low_axis(tt_low_int(ctx, &args[3], 0), tt_hlo_rank(x)) != 0)
      return tt_error_new(TT_UNIMPLEMENTED, "%s: along another dim than the first",
                          ctx->rule->overload);
    return distinct_rows(ctx, x, false, results);
  }
  if (size == 0) {
    set_no_groups(ctx, flat, inverse ? x : NULL, results);
    return NULL;
  }
  g = group_by(ctx, neighbours_differ(ctx, flat, size), size);
  set_groups(ctx, &g, flat, NULL, inverse, counts, results);
  if (inverse)
    results[1].tensor = tt_low_reshape_like(ctx, results[1].tensor, x);
  return NULL;
}

/* ---- histograms ---- */

/* (self, bins, min, max): equal ends mean those of the data; what is outside is not counted. */
TT_LOW_RULE(histc) {
  tt_dtype dtype = tt_hlo_dtype(args[0].tensor),
           wide = tt_dtype_is_float(dtype) ? tt_low_opmath(dtype) : TT_F32;
  tt_hlo_value *x = tt_low_flat(ctx, tt_low_tensor(ctx, &args[0], wide)), *low, *high, *same,
               *place, *inside, *ones;
  int64_t bins = tt_low_int(ctx, &args[1], 100);
  tt_hlo_dim dim = tt_hlo_dim_number(bins);
  low = tt_low_number(ctx, &args[2], wide, 0);
  high = tt_low_number(ctx, &args[3], wide, 0);
  if (tt_low_numel(ctx, x) == 0) {
    tt_low_set(&results[0], tt_low_zeros(ctx, dtype, &dim, 1));
    return NULL;
  }
  same = tt_hlo_compare(ctx->b, TT_HLO_EQ, low, high);
  low = tt_hlo_select(ctx->b, same, tt_low_fold_all(ctx, TT_HLO_MINIMUM, x), low);
  high = tt_hlo_select(ctx->b, same, tt_low_fold_all(ctx, TT_HLO_MAXIMUM, x), high);
  same = tt_hlo_compare(ctx->b, TT_HLO_EQ, low, high); /* a constant tensor: one to each side */
  low = tt_hlo_select(ctx->b, same, tt_low_with_const(ctx, TT_HLO_SUBTRACT, low, 1), low);
  high = tt_hlo_select(ctx->b, same, tt_low_with_const(ctx, TT_HLO_ADD, high, 1), high);
  inside = tt_hlo_and(ctx->b,
                      tt_hlo_compare(ctx->b, TT_HLO_GE, x, tt_hlo_broadcast_like(ctx->b, low, x)),
                      tt_hlo_compare(ctx->b, TT_HLO_LE, x, tt_hlo_broadcast_like(ctx->b, high, x)));
  place = tt_low_with(ctx, TT_HLO_SUBTRACT, x, low);
  place =
      tt_low_with(ctx, TT_HLO_DIVIDE, tt_low_with_const(ctx, TT_HLO_MULTIPLY, place, (double)bins),
                  tt_hlo_sub(ctx->b, high, low));
  place = tt_hlo_convert(ctx->b, tt_low_select_const(ctx, inside, place, 0), TT_S32);
  place = tt_low_with_const(ctx, TT_HLO_MINIMUM, place, (double)(bins - 1));
  ones = tt_hlo_convert(ctx->b, inside, wide);
  tt_low_set(&results[0], tt_low_put_rows(ctx, tt_low_zeros(ctx, wide, &dim, 1), place, ones, 0,
                                          TT_HLO_COMBINE_ADD));
  return NULL;
}

const tt_low_rule tt_low_rules_sorting[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/sorting.def"
#undef X
};
const size_t tt_low_rules_sorting_count = TT_COUNT(tt_low_rules_sorting);
