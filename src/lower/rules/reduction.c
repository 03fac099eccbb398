/* Sums, means, extremes, variances, norms. 16-bit floats are summed in f32, rounded once. */
#include <math.h>

#include "lower/rules/helpers_reduction.h"
#include "lower/rules/rules.h"

/* data of a row: an operation and where its arguments stand. */
enum {
  SUM = 0,
  MEAN,
  PROD,
  MAX,
  MIN,
  ALL,
  ANY,
  NANSUM, /* what is computed */
  VAR = 0,
  STD,
  WITH_MEAN = 2,
  WHAT = 15,
  DIMS = 16,  /* (self, dim, keepdim, ...) */
  DTYPE = 32, /* the last argument is a dtype */
  SOME = 64   /* an empty list of dims means none, not all */
};

typedef struct span { /* the axes a call reduces */
  const int64_t *axes;
  size_t count;
  bool keep;
} span;

static span span_of(tt_low_ctx *ctx, const tt_low_value *dims, const tt_low_value *keep, int rank) {
  span s = {.keep = keep != NULL && tt_low_bool(ctx, keep, false)};
  if (dims != NULL) {
    s.count = tt_low_axes_safe(ctx, dims, rank, &s.axes);
  } else {
    s.axes = tt_low_axes_from(ctx, 0, rank, &s.count);
  }
  return s;
}

/* The span of a row whose dims, if any, follow `at` arguments. */
static span span_at(tt_low_ctx *ctx, const tt_low_value *args, size_t at, int rank) {
  bool has = (ctx->rule->data & DIMS) != 0;
  span s = span_of(ctx, has ? &args[at] : NULL, has ? &args[at + 1] : NULL, rank);
  if ((ctx->rule->data & SOME) != 0 && args[at].kind == TT_LOW_LIST && args[at].list.count == 0)
    s.count = 0;
  return s;
}

static tt_hlo_value *fold(tt_low_ctx *ctx, tt_hlo_code op, tt_hlo_value *x, span s) {
  return tt_low_fold(ctx, op, x, s.axes, s.count, s.keep);
}

/* ---- sum, mean, prod, nansum ---- */

static tt_hlo_value *zero_nan(tt_low_ctx *ctx, tt_hlo_value *x) {
  if (tt_dtype_is_integer(tt_hlo_dtype(x)))
    return x;
  return tt_hlo_select(ctx->b, tt_low_is_nan(ctx, x), tt_hlo_const_like(ctx->b, x, 0), x);
}

static tt_hlo_value *squeezed_to(tt_low_ctx *ctx, tt_hlo_value *x, span s) {
  tt_hlo_value *out = x;
  for (size_t i = s.count; !s.keep && i > 0; i--)
    out = tt_hlo_squeeze(ctx->b, out, (int)s.axes[i - 1]);
  return out;
}

static tt_error *lower_sum(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  int64_t what = ctx->rule->data & WHAT;
  tt_dtype wanted = tt_low_wanted_dtype(ctx, 0, tt_hlo_dtype(args[0].tensor));
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_opmath(wanted));
  span s = span_at(ctx, args, 1, tt_hlo_rank(x));
  if (what == MEAN) {
    tt_low_set(&results[0], tt_low_fold_mean(ctx, x, s.axes, s.count, s.keep));
    return NULL;
  }
  if (what == NANSUM)
    x = zero_nan(ctx, x);
  /* pred has no ADD: a sum of bools that stays bool is an any, a product an all. */
  tt_hlo_code add = wanted == TT_PRED ? TT_HLO_OR : TT_HLO_ADD;
  tt_hlo_code multiply = wanted == TT_PRED ? TT_HLO_AND : TT_HLO_MULTIPLY;
  tt_low_set(&results[0], fold(ctx, what == PROD ? multiply : add, x, s));
  return NULL;
}

/* ---- extremes ---- */

static tt_hlo_value *extreme(tt_low_ctx *ctx, tt_hlo_value *x, bool largest, span s) {
  if (tt_hlo_dtype(x) == TT_PRED)
    return fold(ctx, largest ? TT_HLO_OR : TT_HLO_AND, x, s);
  return fold(ctx, largest ? TT_HLO_MAXIMUM : TT_HLO_MINIMUM, x, s);
}

static tt_error *lower_extreme(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                               tt_low_value *results) {
  (void)args_count;
  span s = span_at(ctx, args, 1, tt_hlo_rank(args[0].tensor));
  tt_low_set(&results[0], extreme(ctx, args[0].tensor, (ctx->rule->data & WHAT) == MAX, s));
  return NULL;
}

static tt_error *lower_aminmax(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                               tt_low_value *results) {
  (void)args_count;
  span s = span_of(ctx, &args[1], &args[2], tt_hlo_rank(args[0].tensor));
  tt_low_set(&results[0], extreme(ctx, args[0].tensor, false, s));
  tt_low_set(&results[1], extreme(ctx, args[0].tensor, true, s));
  return NULL;
}

/* (self, dim, keepdim) -> (values, indices) */
static tt_error *lower_extreme_dim(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                   tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor, *value, *index;
  span s = span_of(ctx, &args[1], &args[2], tt_hlo_rank(x));
  tt_low_fold_pick(ctx, x, s.count == 0 ? 0 : (int)s.axes[0], ctx->rule->data == MAX, &value,
                   &index);
  tt_low_set(&results[0], squeezed_to(ctx, value, s));
  tt_low_set(&results[1], squeezed_to(ctx, index, s));
  return NULL;
}

/* (self, dim?, keepdim); no dim: the index in the flattened tensor */
static tt_error *lower_arg_extreme(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                   tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor, *value, *index;
  span s = span_of(ctx, &args[1], &args[2], tt_hlo_rank(x));
  if (tt_low_is_none(&args[1])) {
    tt_hlo_value *flat = tt_hlo_rank(x) > 1 ? tt_hlo_flatten(ctx->b, x, 0, tt_hlo_rank(x) - 1) : x;
    tt_low_fold_pick(ctx, flat, 0, ctx->rule->data == MAX, &value, &index);
    tt_low_set_fit(ctx, results, 0, index);
    return NULL;
  }
  tt_low_fold_pick(ctx, x, s.count == 0 ? 0 : (int)s.axes[0], ctx->rule->data == MAX, &value,
                   &index);
  tt_low_set(&results[0], squeezed_to(ctx, index, s));
  return NULL;
}

static tt_error *lower_all_any(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                               tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], TT_PRED);
  span s = span_at(ctx, args, 1, tt_hlo_rank(x));
  tt_low_set(&results[0],
             fold(ctx, (ctx->rule->data & WHAT) == ALL ? TT_HLO_AND : TT_HLO_OR, x, s));
  return NULL;
}

/* ---- variance ---- */

/* (self, dim?, correction?, keepdim): sum |x - mean|^2 / max(n - correction, 0); results: the
 * variance or its root, then the mean where the row has it. Two passes, as one would cancel. */
static tt_error *lower_var(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  if (tt_dtype_is_integer(tt_hlo_dtype(args[0].tensor)))
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "std and var only support floating point and complex dtypes");
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  span s = span_of(ctx, &args[1], &args[3], tt_hlo_rank(x));
  tt_hlo_value *mean = tt_low_fold_mean(ctx, x, s.axes, s.count, true);
  tt_hlo_value *squares = tt_low_square(ctx, tt_low_with(ctx, TT_HLO_SUBTRACT, x, mean));
  tt_dtype dtype = tt_hlo_dtype(squares);
  tt_hlo_value *n = tt_low_fold_size(ctx, x, s.axes, s.count, dtype);
  tt_hlo_value *freedom = tt_hlo_sub(b, n, tt_low_number(ctx, &args[2], dtype, 1));
  freedom = tt_hlo_max(b, freedom, tt_hlo_const(b, dtype, 0));
  tt_hlo_value *var = tt_low_with(ctx, TT_HLO_DIVIDE, fold(ctx, TT_HLO_ADD, squares, s), freedom);
  tt_low_set(&results[0], (ctx->rule->data & STD) != 0 ? tt_hlo_sqrt(b, var) : var);
  if ((ctx->rule->data & WITH_MEAN) != 0)
    tt_low_set(&results[1], squeezed_to(ctx, mean, s));
  return NULL;
}

/* ---- norms ---- */

/* The p-norm along the span; |x| may overflow in x^2 where PyTorch's does. */
static tt_hlo_value *norm_value(tt_low_ctx *ctx, tt_hlo_value *x, double p, span s) {
  tt_hlo_build *b = ctx->b;
  if (p == 2)
    return tt_hlo_sqrt(b, fold(ctx, TT_HLO_ADD, tt_low_square(ctx, x), s));
  if (p == 0) {
    tt_hlo_value *nonzero = tt_hlo_compare(b, TT_HLO_NE, x, tt_hlo_const_like(b, x, 0));
    return fold(ctx, TT_HLO_ADD, tt_hlo_convert(b, nonzero, tt_dtype_real(tt_hlo_dtype(x))), s);
  }
  tt_hlo_value *size = tt_hlo_abs(b, x);
  if (isinf(p))
    return fold(ctx, p > 0 ? TT_HLO_MAXIMUM : TT_HLO_MINIMUM, size, s);
  if (p == 1)
    return fold(ctx, TT_HLO_ADD, size, s);
  tt_hlo_value *sum = fold(ctx, TT_HLO_ADD, tt_low_with_const(ctx, TT_HLO_POWER, size, p), s);
  return tt_low_with_const(ctx, TT_HLO_POWER, sum, 1 / p);
}

/* (self, ord [, dim, keepdim] [, dtype]) */
static tt_error *lower_norm(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_low_value *results) {
  tt_dtype dtype = tt_hlo_dtype(args[0].tensor);
  if ((ctx->rule->data & DTYPE) != 0)
    dtype = tt_low_dtype(&args[args_count - 1], dtype);
  if (tt_dtype_is_integer(dtype))
    dtype = tt_low_wanted_dtype(ctx, 0, TT_F32);
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_opmath(dtype));
  tt_low_set(&results[0], norm_value(ctx, x, tt_low_double(ctx, &args[1], 2),
                                     span_at(ctx, args, 2, tt_hlo_rank(x))));
  return NULL;
}

/* max + log(sum(exp(x - max))), the max as 0 where it is infinite */
static tt_error *lower_logsumexp(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                 tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_low_wanted_dtype(ctx, 0, tt_hlo_dtype(args[0].tensor)));
  if (tt_dtype_is_complex(dtype))
    return tt_error_new(TT_UNIMPLEMENTED, "aten::logsumexp: complex input");
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], dtype);
  span s = span_of(ctx, &args[1], &args[2], tt_hlo_rank(x));
  tt_hlo_value *max = tt_low_fold(ctx, TT_HLO_MAXIMUM, x, s.axes, s.count, true);
  tt_hlo_value *infinite = tt_low_compare_const(ctx, TT_HLO_EQ, tt_hlo_abs(b, max), INFINITY);
  max = tt_hlo_select(b, infinite, tt_hlo_const_like(b, max, 0), max);
  tt_hlo_value *e = tt_hlo_exp(b, tt_low_with(ctx, TT_HLO_SUBTRACT, x, max));
  tt_hlo_value *sum = tt_low_fold(ctx, TT_HLO_ADD, e, s.axes, s.count, true);
  tt_low_set(&results[0], squeezed_to(ctx, tt_hlo_add(b, tt_hlo_log(b, sum), max), s));
  return NULL;
}

/* ---- counts and the rest ---- */

/* (self, dim): an int, a list, or None for all */
static tt_error *lower_count_nonzero(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                     tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], TT_PRED);
  span s = span_of(ctx, &args[1], NULL, tt_hlo_rank(x));
  tt_low_set(&results[0], fold(ctx, TT_HLO_ADD, tt_hlo_convert(ctx->b, x, TT_S32), s));
  return NULL;
}

/* Sum of the diagonal. */
/* Bits of every element as f64, or as s64, for the hash. */
static tt_hlo_value *hash_words(tt_low_ctx *ctx, tt_hlo_value *x) {
  if (tt_dtype_is_float(tt_hlo_dtype(x)))
    return tt_hlo_bitcast(ctx->b, tt_hlo_convert(ctx->b, x, TT_F64), TT_U64);
  return tt_hlo_convert(ctx->b, tt_hlo_convert(ctx->b, x, TT_S64), TT_U64);
}

/* (self, dim, keepdim, mode): all words combined by xor, the only mode there is */
static tt_error *lower_hash(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  const tt_hlo_type types[2] = {tt_hlo_scalar_type(TT_U64), tt_hlo_scalar_type(TT_U64)};
  tt_hlo_value *x = hash_words(ctx, args[0].tensor), *init = tt_hlo_const_int(b, TT_U64, 0),
               *out = x;
  span s = span_of(ctx, &args[1], &args[2], tt_hlo_rank(x));
  if (s.count != 0) {
    tt_hlo_region *body = tt_hlo_region_open(b, types, 2);
    tt_hlo_value *both =
        tt_hlo_xor(b, tt_hlo_region_arg(b, body, 0), tt_hlo_region_arg(b, body, 1));
    tt_hlo_region_close(b, &both, 1);
    tt_hlo_reduce_n(b, &x, &init, 1, s.axes, s.count, body, &out);
  }
  tt_low_set_fit(ctx, results, 0, out);
  return NULL;
}

static tt_error *lower_trace(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                             tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_low_wanted_dtype(ctx, 0, tt_hlo_dtype(args[0].tensor)));
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], dtype);
  tt_hlo_value *diagonal =
      tt_hlo_compare(b, TT_HLO_EQ, tt_low_iota_like(ctx, x, 0), tt_low_iota_like(ctx, x, 1));
  tt_low_set(&results[0],
             tt_low_fold_all(ctx, TT_HLO_ADD, tt_low_select_const(ctx, diagonal, x, 0)));
  return NULL;
}

static bool dims_differ(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *y) {
  (void)ctx;
  if (tt_hlo_rank(x) != tt_hlo_rank(y))
    return true;
  for (int i = 0; i < tt_hlo_rank(x); i++)
    if (x->type.dims[i] != y->type.dims[i])
      return true;
  return false;
}

/* One pred: equal dims and equal elements; NaN equals nothing. */
static tt_error *lower_equal(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                             tt_low_value *results) {
  (void)args_count;
  if (dims_differ(ctx, args[0].tensor, args[1].tensor)) {
    tt_low_set(&results[0], tt_hlo_const(ctx->b, TT_PRED, 0));
    return NULL;
  }
  tt_dtype dtype = tt_low_promote(ctx, args, 2);
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], dtype), *y = tt_low_tensor(ctx, &args[1], dtype);
  tt_low_set(&results[0],
             tt_low_fold_all(ctx, TT_HLO_AND, tt_hlo_compare(ctx->b, TT_HLO_EQ, x, y)));
  return NULL;
}

/* ---- order statistics, by sorting ---- */

typedef struct ranked {
  tt_hlo_value *values, *indices; /* sorted along `axis`, NaN last */
  tt_hlo_value *nans;             /* s32, how many NaN, the axis kept */
  tt_hlo_value *size;             /* s32 scalar, length of the axis */
  int axis;
} ranked;

static ranked rank_along(tt_low_ctx *ctx, tt_hlo_value *x, int axis) {
  tt_hlo_build *b = ctx->b;
  const int64_t axes[1] = {axis};
  ranked r = {.axis = axis};
  tt_low_sort_indexed(ctx, x, axis, &r.values, &r.indices);
  r.size = tt_hlo_dim_value(b, tt_hlo_dim_of(b, x, axis), TT_S32);
  tt_hlo_value *nan = tt_hlo_convert(b, tt_low_is_nan(ctx, x), TT_S32);
  r.nans = tt_hlo_reduce_keep(b, TT_HLO_ADD, nan, axes, 1);
  return r;
}

/* results: values and indices at position `at` (s32, the axis of size 1) of the sorted axis */
static void take_ranked(tt_low_ctx *ctx, const ranked *r, tt_hlo_value *at, span s,
                        tt_low_value *results) {
  tt_low_set(&results[0], squeezed_to(ctx, tt_hlo_take_along(ctx->b, r->values, at, r->axis), s));
  tt_low_set(&results[1], squeezed_to(ctx, tt_hlo_take_along(ctx->b, r->indices, at, r->axis), s));
}

/* The lower middle one; median: the first NaN if there is any; nanmedian: the middle of the
 * numbers. */
static tt_hlo_value *median_position(tt_low_ctx *ctx, const ranked *r, bool skip_nan) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *size = tt_hlo_broadcast_like(b, r->size, r->nans),
               *numbers = tt_hlo_sub(b, size, r->nans);
  tt_hlo_value *count = skip_nan ? numbers : size;
  tt_hlo_value *middle = tt_low_with_const(ctx, TT_HLO_SUBTRACT, count, 1);
  middle =
      tt_low_with_const(ctx, TT_HLO_DIVIDE, middle, 2); /* -1 / 2 is 0: all NaN takes the first */
  if (skip_nan)
    return middle;
  return tt_hlo_select(b, tt_low_compare_const(ctx, TT_HLO_GT, r->nans, 0), numbers, middle);
}

/* (self, dim, keepdim) -> (values, indices); rank 0 counts as one element */
static tt_error *lower_median_dim(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                  tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor;
  span s = span_of(ctx, &args[1], &args[2], tt_hlo_rank(x));
  if (s.count == 0) {
    tt_low_set(&results[0], x);
    tt_low_set(&results[1], tt_hlo_const_int(ctx->b, TT_S32, 0));
    return NULL;
  }
  ranked r = rank_along(ctx, x, (int)s.axes[0]);
  take_ranked(ctx, &r, median_position(ctx, &r, ctx->rule->data != 0), s, results);
  return NULL;
}

/* Of the flattened tensor; NaN when it is empty. */
static tt_error *lower_median(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                              tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor;
  const int64_t axes[1] = {0};
  const span s = {axes, 1, false};
  tt_low_value pair[2] = {0};
  if (tt_hlo_rank(x) == 0) {
    tt_low_set(&results[0], x);
    return NULL;
  }
  x = tt_hlo_rank(x) > 1 ? tt_hlo_flatten(ctx->b, x, 0, tt_hlo_rank(x) - 1) : x;
  if (x->type.dims[0] == 0) {
    tt_low_set(&results[0], tt_hlo_const(ctx->b, tt_hlo_dtype(x), NAN));
    return NULL;
  }
  ranked r = rank_along(ctx, x, 0);
  take_ranked(ctx, &r, median_position(ctx, &r, ctx->rule->data != 0), s, pair);
  results[0] = pair[0];
  return NULL;
}

/* (self, k, dim, keepdim): the k-th smallest, counted from 1 */
static tt_error *lower_kthvalue(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor;
  span s = span_of(ctx, &args[2], &args[3], tt_hlo_rank(x));
  if (s.count == 0) {
    tt_low_set(&results[0], x);
    tt_low_set(&results[1], tt_hlo_const_int(ctx->b, TT_S32, 0));
    return NULL;
  }
  int axis = (int)s.axes[0];
  int64_t k = tt_low_int(ctx, &args[1], 1);
  tt_hlo_value *values, *indices;
  tt_low_sort_indexed(ctx, x, axis, &values, &indices);
  tt_low_set(&results[0],
             squeezed_to(ctx, tt_hlo_slice_axis(ctx->b, values, axis, k - 1, k, 1), s));
  tt_low_set(&results[1],
             squeezed_to(ctx, tt_hlo_slice_axis(ctx->b, indices, axis, k - 1, k, 1), s));
  return NULL;
}

/* For each sorted element, how many equal ones stand before it in its run: its position less the
 * start of its run, where the start is the running maximum over positions at which a run starts. */
static tt_hlo_value *run_lengths(tt_low_ctx *ctx, tt_hlo_value *sorted, int axis) {
  tt_hlo_build *b = ctx->b;
  int64_t n = sorted->type.dims[axis];
  tt_hlo_value *position = tt_low_iota_like(ctx, sorted, axis);
  tt_hlo_value *left = tt_hlo_slice_axis(b, sorted, axis, 0, n - 1, 1);
  tt_hlo_value *right = tt_hlo_slice_axis(b, sorted, axis, 1, n, 1);
  tt_hlo_value *parts[2] = {tt_hlo_slice_axis(b, position, axis, 0, 1, 1), NULL};
  parts[1] = tt_low_select_const(ctx, tt_hlo_compare(b, TT_HLO_NE, left, right),
                                 tt_hlo_slice_axis(b, position, axis, 1, n, 1), 0);
  int64_t rank = tt_hlo_rank(sorted);
  int64_t *window = tt_hlo_alloc(b, (size_t)rank, sizeof *window),
          *low = tt_hlo_alloc(b, (size_t)rank, sizeof *low);
  if (window == NULL || low == NULL)
    return position;
  for (int64_t i = 0; i < rank; i++) {
    window[i] = i == axis ? n : 1;
    low[i] = i == axis ? n - 1 : 0;
  }
  const tt_hlo_window running = {.dims = window, .pad_low = low};
  tt_hlo_value *start = tt_hlo_reduce_window(b, TT_HLO_MAXIMUM, tt_hlo_concat(b, parts, 2, axis),
                                             tt_hlo_const_lowest(b, TT_S32), &running);
  return tt_hlo_sub(b, position, start);
}

/* (self, dim, keepdim) -> the most frequent value, the smallest of equals, and where it stands last
 */
static tt_error *lower_mode(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor, *best, *at;
  span s = span_of(ctx, &args[1], &args[2], tt_hlo_rank(x));
  if (s.count == 0) {
    tt_low_set(&results[0], x);
    tt_low_set(&results[1], tt_hlo_const_int(ctx->b, TT_S32, 0));
    return NULL;
  }
  ranked r = {.axis = (int)s.axes[0]};
  if (x->type.dims[r.axis] == TT_HLO_DYNAMIC)
    return tt_error_new(TT_UNIMPLEMENTED, "aten::mode: an unknown size of dim %d", r.axis);
  tt_low_sort_indexed(ctx, x, r.axis, &r.values, &r.indices);
  tt_low_fold_pick(ctx, run_lengths(ctx, r.values, r.axis), r.axis, true, &best, &at);
  take_ranked(ctx, &r, at, s, results);
  return NULL;
}

const tt_low_rule tt_low_rules_reduction[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/reduction.def"
#undef X
};
const size_t tt_low_rules_reduction_count = TT_COUNT(tt_low_rules_reduction);
