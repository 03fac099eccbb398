/* Running sums, products, extremes along an axis, as a window that ends at each element: XLA turns
 * a full window into a tree on CPU and into a scan on TPU. */
#include <math.h>

#include "lower/rules/helpers_reduction.h"
#include "lower/rules/rules.h"

enum { CUMSUM, CUMPROD, CUMMAX = 1, CUMMIN = 0 };

/* The window over all elements of `axis` up to each one, in the arena. false: nothing to scan, the
 * result is the input (rank 0, at most one element), or a mistake. */
static bool running_window(tt_low_ctx *ctx, tt_hlo_value *x, int axis, tt_hlo_window *out_window) {
  int rank = tt_hlo_rank(x);
  if (rank == 0 || x->type.dims[axis] == 0 || x->type.dims[axis] == 1)
    return false;
  for (int i = 0; i < rank; i++)
    if (x->type.dims[i] == 0)
      return false;
  if (x->type.dims[axis] == TT_HLO_DYNAMIC) {
    tt_hlo_fail(ctx->b, TT_UNIMPLEMENTED, "%s: an unknown size of dim %d", ctx->rule->overload,
                axis);
    return false;
  }
  int64_t *dims = tt_hlo_alloc(ctx->b, (size_t)rank, sizeof *dims);
  int64_t *low = tt_hlo_alloc(ctx->b, (size_t)rank, sizeof *low);
  if (dims == NULL || low == NULL)
    return false;
  for (int i = 0; i < rank; i++) {
    dims[i] = i == axis ? x->type.dims[axis] : 1;
    low[i] = dims[i] - 1;
  }
  *out_window = (tt_hlo_window){.dims = dims, .pad_low = low};
  return true;
}

static tt_hlo_value *running(tt_low_ctx *ctx, tt_hlo_code op, tt_hlo_value *x, int axis,
                             tt_hlo_value *init) {
  tt_hlo_window window;
  if (!running_window(ctx, x, axis, &window))
    return x;
  return tt_hlo_reduce_window(ctx->b, op, x, init, &window);
}

static int axis_of(tt_low_ctx *ctx, const tt_low_value *dim, tt_hlo_value *x) {
  return tt_low_axis(tt_low_int(ctx, dim, 0), tt_hlo_rank(x));
}

/* (self, dim, dtype): the sum is taken in the opmath type of the result */
static tt_error *lower_cumulate(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                tt_low_value *results) {
  (void)args_count;
  tt_dtype wanted = tt_low_wanted_dtype(ctx, 0, tt_hlo_dtype(args[0].tensor));
  tt_dtype dtype = wanted == TT_PRED ? TT_S32 : tt_low_opmath(wanted);
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], dtype);
  bool product = ctx->rule->data == CUMPROD;
  tt_hlo_value *init = tt_dtype_is_complex(dtype) ? tt_hlo_const_complex(ctx->b, dtype, product, 0)
                                                  : tt_hlo_const(ctx->b, dtype, product);
  tt_hlo_code op = product ? TT_HLO_MULTIPLY : TT_HLO_ADD;
  tt_low_set(&results[0], running(ctx, op, x, axis_of(ctx, &args[1], x), init));
  return NULL;
}

/* (self, dim) -> (values, indices): the index is the last position so far that holds the running
 * extreme, or a NaN */
static tt_error *lower_cumulative_extreme(tt_low_ctx *ctx, const tt_low_value *args,
                                          size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = args[0].tensor;
  tt_dtype dtype = tt_hlo_dtype(x);
  int axis = axis_of(ctx, &args[1], x);
  bool largest = ctx->rule->data == CUMMAX;
  if (tt_hlo_rank(x) == 0) {
    tt_low_set(&results[0], x);
    tt_low_set(&results[1], tt_hlo_const_int(b, TT_S32, 0));
    return NULL;
  }
  if (dtype == TT_PRED)
    x = tt_hlo_convert(b, x, dtype = TT_U8);
  tt_hlo_value *init = largest ? tt_hlo_const_lowest(b, dtype) : tt_hlo_const_highest(b, dtype);
  tt_hlo_value *values = running(ctx, largest ? TT_HLO_MAXIMUM : TT_HLO_MINIMUM, x, axis, init);
  tt_hlo_value *hit = tt_hlo_compare(b, TT_HLO_EQ, x, values);
  if (tt_dtype_is_float(dtype))
    hit = tt_hlo_or(b, hit, tt_low_is_nan(ctx, x));
  tt_hlo_value *position = tt_low_select_const(ctx, hit, tt_low_iota_like(ctx, x, axis), 0);
  tt_low_set(&results[0], values);
  tt_low_set(&results[1],
             running(ctx, TT_HLO_MAXIMUM, position, axis, tt_hlo_const_lowest(b, TT_S32)));
  return NULL;
}

/* log(exp p + exp q) of scalars = max + log1p(exp(min - max)); equal operands (both may be
 * infinite) go apart */
static tt_hlo_value *log_add_exp(tt_low_ctx *ctx, tt_hlo_value *p, tt_hlo_value *q) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *max = tt_hlo_max(b, p, q), *min = tt_hlo_min(b, p, q);
  tt_hlo_value *same = tt_hlo_compare(b, TT_HLO_EQ, p, q);
  tt_hlo_value *gap = tt_hlo_select(b, same, tt_hlo_const_like(b, p, 0), tt_hlo_sub(b, min, max));
  return tt_hlo_add(b, max, tt_hlo_log1p(b, tt_hlo_exp(b, gap)));
}

/* (self, dim) */
static tt_error *lower_logcumsumexp(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                    tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_low_opmath(tt_low_wanted_dtype(ctx, 0, tt_hlo_dtype(args[0].tensor)));
  if (tt_dtype_is_complex(dtype))
    return tt_error_new(TT_UNIMPLEMENTED, "%s: complex input", ctx->rule->overload);
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], dtype), *init = tt_hlo_const(b, dtype, -INFINITY),
               *out = x;
  tt_hlo_window window;
  if (running_window(ctx, x, axis_of(ctx, &args[1], x), &window)) {
    const tt_hlo_type types[2] = {tt_hlo_scalar_type(dtype), tt_hlo_scalar_type(dtype)};
    tt_hlo_region *body = tt_hlo_region_open(b, types, 2);
    tt_hlo_value *sum =
        log_add_exp(ctx, tt_hlo_region_arg(b, body, 0), tt_hlo_region_arg(b, body, 1));
    tt_hlo_region_close(b, &sum, 1);
    tt_hlo_reduce_window_n(b, &x, &init, 1, &window, body, &out);
  }
  tt_low_set(&results[0], out);
  return NULL;
}

const tt_low_rule tt_low_rules_scan[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/scan.def"
#undef X
};
const size_t tt_low_rules_scan_count = TT_COUNT(tt_low_rules_scan);
