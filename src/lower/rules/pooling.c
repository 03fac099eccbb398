/* Pooling and the unfolding of windows. Spatial axes are the last two or three; what stands before
 * them, one or two axes, does not matter.
 *
 * A maximum carries the flat position of its element in the plane as PyTorch counts it, s32 until
 * the end. Of equal elements the first wins, of several NaN the last, and padding never: PyTorch's
 * value > best || isnan(value). */
#include "lower/rules/helpers_windows.h"
#include "lower/rules/rules.h"

enum { SPATIAL_MAX = 3 };

/* PyTorch's pooling_output_shape: a window may begin in the padding on the left only. */
static int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad,
                           int64_t dilation, bool up) {
  int64_t room = in + 2 * pad - dilation * (kernel - 1) - 1 + (up ? stride - 1 : 0);
  int64_t out = (room >= 0 ? room / stride : -((-room + stride - 1) / stride)) + 1;
  return up && (out - 1) * stride >= in + pad ? out - 1 : out;
}

/* args: kernel, stride (empty: the kernel), padding; dilation may be NULL. Promoted numbers come as
 * zeros in a program that will be thrown away; nothing may be divided by them. */
static tt_error *parse_windows(tt_low_ctx *ctx, const tt_low_value *args,
                               const tt_low_value *dilation, bool up, tt_hlo_value *x,
                               tt_low_window *windows) {
  int count = (int)ctx->rule->data;
  size_t n = (size_t)count;
  const int64_t *kernel = tt_low_ints_of(ctx, &args[0], n, 1),
                *stride = tt_low_ints_of(ctx, &args[1], n, 0);
  const int64_t *pad = tt_low_ints_of(ctx, &args[2], n, 0);
  const int64_t *spread = dilation != NULL ? tt_low_ints_of(ctx, dilation, n, 1) : NULL;
  if (kernel == NULL || stride == NULL || pad == NULL || (dilation != NULL && spread == NULL))
    return tt_error_no_memory(n * sizeof(int64_t));
  for (int i = 0; i < count; i++) {
    int axis = tt_hlo_rank(x) - count + i;
    int64_t step = stride[i] > 0 ? stride[i] : kernel[i], d = spread != NULL ? spread[i] : 1;
    int64_t in = tt_low_size(ctx, x, axis);
    tt_low_window w = {axis, in, 0, kernel[i], step, pad[i], d};
    if (kernel[i] < 1)
      return tt_error_new(TT_INVALID_ARGUMENT, "%s: kernel below 1", ctx->rule->overload);
    w.out = pooled_size(in, kernel[i], step, pad[i], d, up);
    windows[i] = w;
  }
  return NULL;
}

/* ---- maxima ---- */

typedef struct best {
  tt_hlo_value *value, *place; /* of equal dims */
} best;

static best meet(tt_low_ctx *ctx, best x, best y) {
  tt_hlo_value *take = tt_hlo_compare(ctx->b, TT_HLO_GT, y.value, x.value);
  take = tt_hlo_or(ctx->b, take,
                   tt_low_compare_const(ctx, TT_HLO_LT, x.place, 0)); /* nothing but padding yet */
  if (tt_dtype_is_float(tt_hlo_dtype(x.value)))
    take = tt_hlo_or(ctx->b, take, tt_hlo_compare(ctx->b, TT_HLO_NE, y.value, y.value));
  x.value = tt_hlo_select(ctx->b, take, y.value, x.value);
  x.place = tt_hlo_select(ctx->b, take, y.place, x.place);
  return x;
}

static best max_along(tt_low_ctx *ctx, best x, const tt_low_window *w) {
  tt_hlo_value *lowest = tt_hlo_const_lowest(ctx->b, tt_hlo_dtype(x.value));
  tt_hlo_value *nowhere = tt_hlo_const_int(ctx->b, TT_S32, -1);
  best result = {NULL, NULL};
  for (int64_t t = 0; t < w->kernel; t++) {
    best tap = {tt_low_window_tap(ctx, x.value, w, t, lowest),
                tt_low_window_tap(ctx, x.place, w, t, nowhere)};
    result = t == 0 ? tap : meet(ctx, result, tap);
  }
  return result;
}

/* Before axis `axis` is pooled: its position joins that of the axes behind, which cover `area`
 * elements. */
static tt_hlo_value *place_along(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *place, int axis,
                                 int64_t area) {
  tt_hlo_value *here =
      tt_low_with_const(ctx, TT_HLO_MULTIPLY, tt_low_iota_like(ctx, x, axis), (double)area);
  return place == NULL ? here : tt_hlo_add(ctx->b, here, place);
}

static void set_best(tt_low_ctx *ctx, best found, tt_low_value *results) {
  tt_low_set(&results[0], found.value);
  tt_low_set(&results[1], tt_hlo_convert(ctx->b, found.place, TT_S64));
}

TT_LOW_RULE(max_pool) {
  tt_low_window windows[SPATIAL_MAX];
  best found = {args[0].tensor, NULL};
  int64_t area = 1;
  TT_RETURN_IF_ERROR(parse_windows(ctx, args + 1, &args[4], tt_low_bool(ctx, &args[5], false),
                                   args[0].tensor, windows));
  for (int i = (int)ctx->rule->data - 1; i >= 0; i--) {
    found.place = place_along(ctx, found.value, found.place, windows[i].axis, area);
    area *= windows[i].in;
    found = max_along(ctx, found, &windows[i]);
  }
  set_best(ctx, found, results);
  return NULL;
}

/* [leading..., spatial...] as [leading, spatial] */
static tt_hlo_value *as_planes(tt_low_ctx *ctx, tt_hlo_value *x) {
  int rank = tt_hlo_rank(x), count = (int)ctx->rule->data;
  tt_hlo_dim dims[TT_LOW_RANK_MAX], flat[2];
  tt_low_dims(ctx, x, dims);
  flat[0] = tt_hlo_dims_product(ctx->b, dims, 0, rank - count);
  flat[1] = tt_hlo_dims_product(ctx->b, dims, rank - count, rank);
  return tt_hlo_reshape(ctx->b, x, flat, 2);
}

/* Puts each element of `values` at its place in a plane of zeros with the dims of `like`. */
static tt_hlo_value *put_in_planes(tt_low_ctx *ctx, tt_hlo_value *values, tt_hlo_value *place,
                                   tt_hlo_value *like, tt_hlo_combine combine) {
  tt_dtype dtype =
      combine == TT_HLO_COMBINE_SET ? tt_hlo_dtype(values) : tt_low_opmath(tt_hlo_dtype(values));
  tt_hlo_value *planes = tt_hlo_broadcast_like(ctx->b, tt_hlo_const(ctx->b, dtype, 0), like);
  if (tt_low_numel(ctx, values) == 0 || tt_low_numel(ctx, like) == 0)
    return planes;
  planes = tt_hlo_put_along(ctx->b, as_planes(ctx, planes),
                            tt_hlo_convert(ctx->b, as_planes(ctx, place), TT_S32),
                            tt_hlo_convert(ctx->b, as_planes(ctx, values), dtype), 1, combine);
  return tt_low_reshape_like(ctx, planes, like);
}

/* (grad, self, ..., indices): the indices come last. */
TT_LOW_RULE(pool_scatter_backward) {
  tt_hlo_value *place = args[args_count - 1].tensor;
  tt_low_set(&results[0],
             put_in_planes(ctx, args[0].tensor, place, args[1].tensor, TT_HLO_COMBINE_ADD));
  return NULL;
}

/* Up to this many, masks and pads; TPUs scatter single elements slowly. */
enum { UNPOOL_TAPS = 9, UNPOOL_PHASES = 9 };

/* Where tap t (one number an axis) of each window stands in the plane: s32, like `grad`. */
static tt_hlo_value *tap_place(tt_low_ctx *ctx, tt_hlo_value *grad, const tt_low_window *windows,
                               int count, const int64_t *t) {
  tt_hlo_value *place = NULL;
  int64_t area = 1;
  for (int i = count - 1; i >= 0; i--) {
    const tt_low_window *w = &windows[i];
    tt_hlo_value *here = tt_low_with_const(
        ctx, TT_HLO_MULTIPLY, tt_low_iota_like(ctx, grad, w->axis), (double)(w->stride * area));
    here = tt_low_with_const(ctx, TT_HLO_ADD, here, (double)((t[i] * w->dilation - w->pad) * area));
    place = place == NULL ? here : tt_hlo_add(ctx->b, place, here);
    area *= w->in;
  }
  return place;
}

/* Of each window, its gradient where tap t was the best, zero elsewhere. */
static tt_hlo_value *tap_grad(tt_low_ctx *ctx, tt_hlo_value *grad, tt_hlo_value *place,
                              const tt_low_window *windows, int count, const int64_t *t) {
  tt_hlo_value *here = tap_place(ctx, grad, windows, count, t);
  return tt_low_select_const(ctx, tt_hlo_compare(ctx->b, TT_HLO_EQ, place, here), grad, 0);
}

static void split_tap(const tt_low_window *windows, int count, int64_t tap, int64_t *t) {
  for (int i = count - 1; i >= 0; i--) {
    t[i] = tap % windows[i].kernel;
    tap /= windows[i].kernel;
  }
}

static tt_hlo_value *unpool_by_taps(tt_low_ctx *ctx, tt_hlo_value *grad, tt_hlo_value *place,
                                    const tt_low_window *windows, int count, int64_t taps) {
  tt_hlo_value *sum = NULL;
  for (int64_t tap = 0; tap < taps; tap++) {
    int64_t t[SPATIAL_MAX];
    split_tap(windows, count, tap, t);
    tt_hlo_value *part = tap_grad(ctx, grad, place, windows, count, t);
    for (int i = 0; i < count; i++)
      part = tt_low_window_untap(ctx, part, &windows[i], t[i]);
    sum = sum == NULL ? part : tt_hlo_add(ctx->b, sum, part);
  }
  return sum;
}

/* The same with strides: tap t of window o stands at (o + q) stride + r, so the elements of each r
 * are summed by themselves, on an axis shorter by the stride, and interleaved at the end. */
static int64_t phase_size(const tt_low_window *w) { return (w->in + w->stride - 1) / w->stride; }

static tt_hlo_value *in_phase(tt_low_ctx *ctx, tt_hlo_value *part, const tt_low_window *windows,
                              int count, const int64_t *t, int64_t *out_phase) {
  tt_hlo_value *zero = tt_hlo_const(ctx->b, tt_hlo_dtype(part), 0);
  *out_phase = 0;
  for (int i = 0; i < count; i++) {
    const tt_low_window *w = &windows[i];
    int64_t at = t[i] * w->dilation - w->pad, r = (at % w->stride + w->stride) % w->stride;
    int64_t q = (at - r) / w->stride;
    *out_phase = *out_phase * w->stride + r;
    part = tt_low_pad_axis(ctx, part, zero, w->axis, q, phase_size(w) - w->out - q, 0);
  }
  return part;
}

/* Element k of xs[r] becomes element k count + r along the axis. */
static tt_hlo_value *interleave(tt_low_ctx *ctx, tt_hlo_value **xs, const tt_low_window *w) {
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int rank = tt_hlo_rank(xs[0]);
  if (w->stride == 1)
    return xs[0];
  tt_low_dims(ctx, xs[0], dims);
  for (int64_t r = 0; r < w->stride; r++)
    xs[r] = tt_hlo_unsqueeze(ctx->b, xs[r], w->axis + 1);
  tt_hlo_value *x = tt_hlo_concat(ctx->b, xs, (size_t)w->stride, w->axis + 1);
  dims[w->axis] = tt_hlo_dim_number(phase_size(w) * w->stride);
  x = tt_hlo_reshape(ctx->b, x, dims, (size_t)rank);
  return tt_hlo_slice_axis(ctx->b, x, w->axis, 0, w->in, 1);
}

static tt_hlo_value *unpool_by_phases(tt_low_ctx *ctx, tt_hlo_value *grad, tt_hlo_value *place,
                                      const tt_low_window *windows, int count, int64_t taps) {
  tt_hlo_value *phases[UNPOOL_PHASES] = {NULL};
  int64_t phases_count = 1;
  for (int i = 0; i < count; i++)
    phases_count *= windows[i].stride;
  for (int64_t tap = 0; tap < taps; tap++) {
    int64_t t[SPATIAL_MAX], phase;
    split_tap(windows, count, tap, t);
    tt_hlo_value *part = tap_grad(ctx, grad, place, windows, count, t);
    part = in_phase(ctx, part, windows, count, t, &phase);
    phases[phase] = phases[phase] == NULL ? part : tt_hlo_add(ctx->b, phases[phase], part);
  }
  tt_hlo_value *any = NULL;
  for (int64_t i = 0; i < phases_count && any == NULL; i++)
    any = phases[i];
  for (int64_t i = 0; i < phases_count; i++)
    if (phases[i] == NULL)
      phases[i] = tt_hlo_broadcast_like(ctx->b, tt_hlo_const(ctx->b, tt_hlo_dtype(grad), 0), any);
  for (int axis = count - 1; axis >= 0; axis--) {
    phases_count /= windows[axis].stride;
    for (int64_t i = 0; i < phases_count; i++)
      phases[i] = interleave(ctx, &phases[i * windows[axis].stride], &windows[axis]);
  }
  return phases[0];
}

/* (grad, self, kernel, stride, padding, dilation, ceil_mode, indices) */
TT_LOW_RULE(max_pool_backward) {
  tt_hlo_value *grad = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  tt_hlo_value *place = tt_hlo_convert(ctx->b, args[7].tensor, TT_S32);
  tt_low_window windows[SPATIAL_MAX];
  int count = (int)ctx->rule->data;
  int64_t taps = 1, phases = 1;
  TT_RETURN_IF_ERROR(parse_windows(ctx, args + 2, &args[5], tt_low_bool(ctx, &args[6], false),
                                   args[1].tensor, windows));
  for (int i = 0; i < count; i++) {
    taps *= windows[i].kernel;
    phases = phases > UNPOOL_PHASES ? phases : phases * windows[i].stride;
  }
  if (taps <= UNPOOL_TAPS && phases > 1 && phases <= UNPOOL_PHASES &&
      tt_low_numel(ctx, grad) != 0 && tt_low_numel(ctx, args[1].tensor) != 0)
    tt_low_set(&results[0], unpool_by_phases(ctx, grad, place, windows, count, taps));
  else if (taps <= UNPOOL_TAPS && tt_low_numel(ctx, grad) != 0)
    tt_low_set(&results[0], unpool_by_taps(ctx, grad, place, windows, count, taps));
  else
    tt_low_set(&results[0], put_in_planes(ctx, grad, place, args[1].tensor, TT_HLO_COMBINE_ADD));
  return NULL;
}

/* (self, indices, output_size, ...) */
TT_LOW_RULE(max_unpool) {
  int count = (int)ctx->rule->data, rank = tt_hlo_rank(args[0].tensor);
  const int64_t *sizes = tt_low_ints_of(ctx, &args[2], (size_t)count, 1);
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  tt_hlo_value *like;
  if (sizes == NULL)
    return tt_error_no_memory(sizeof *sizes);
  tt_low_dims(ctx, args[0].tensor, dims);
  for (int i = 0; i < count; i++)
    dims[rank - count + i] = tt_hlo_dim_number(sizes[i]);
  like = tt_low_zeros(ctx, tt_hlo_dtype(args[0].tensor), dims, (size_t)rank);
  tt_low_set(&results[0],
             put_in_planes(ctx, args[0].tensor, args[1].tensor, like, TT_HLO_COMBINE_SET));
  return NULL;
}

/* ---- windows whose beginnings are listed ---- */

/* Element t of each window along `axis`: those with starts[o] + t < ends[o], else nothing. */
static best listed_tap(tt_low_ctx *ctx, best x, int axis, const int64_t *starts,
                       const int64_t *ends, int64_t out, int64_t t) {
  int64_t *at = tt_hlo_alloc(ctx->b, (size_t)out, sizeof *at),
          *good = tt_hlo_alloc(ctx->b, (size_t)out, sizeof *good);
  tt_hlo_value *index, *valid;
  best tap = x;
  if (at == NULL || good == NULL)
    return x;
  for (int64_t o = 0; o < out; o++) {
    good[o] = starts[o] + t < ends[o];
    at[o] = good[o] ? starts[o] + t : starts[o];
  }
  index = tt_hlo_const_i64s(ctx->b, TT_S32, at, (size_t)out);
  tap.value = tt_hlo_take(ctx->b, x.value, index, axis);
  tap.place = tt_hlo_take(ctx->b, x.place, index, axis);
  valid = tt_low_along(ctx, tt_hlo_const_i64s(ctx->b, TT_S32, good, (size_t)out), tap.place, axis);
  valid = tt_low_compare_const(ctx, TT_HLO_NE, valid, 0);
  tap.value = tt_hlo_select(
      ctx->b, valid, tap.value,
      tt_hlo_broadcast_like(ctx->b, tt_hlo_const_lowest(ctx->b, tt_hlo_dtype(x.value)), tap.value));
  tap.place = tt_low_select_const(ctx, valid, tap.place, -1);
  return tap;
}

/* Windows of PyTorch's adaptive pooling: [floor(o in / out), ceil((o + 1) in / out)). Returns the
 * longest. */
static int64_t adaptive_windows(int64_t in, int64_t out, int64_t *starts, int64_t *ends) {
  int64_t longest = 0;
  for (int64_t o = 0; o < out; o++) {
    starts[o] = o * in / out;
    ends[o] = ((o + 1) * in + out - 1) / out;
    longest = ends[o] - starts[o] > longest ? ends[o] - starts[o] : longest;
  }
  return longest;
}

static best adaptive_max_along(tt_low_ctx *ctx, best x, int axis, int64_t out) {
  int64_t in = tt_low_size(ctx, x.value, axis), longest;
  tt_low_window even = {axis, in, out, out > 0 ? in / out : 1, out > 0 ? in / out : 1, 0, 1};
  int64_t *starts = tt_hlo_alloc(ctx->b, (size_t)out, sizeof *starts),
          *ends = tt_hlo_alloc(ctx->b, (size_t)out, sizeof *ends);
  best result = x;
  if (out == 0 || in % out == 0)
    return max_along(ctx, x, &even);
  if (starts == NULL || ends == NULL)
    return x;
  longest = adaptive_windows(in, out, starts, ends);
  for (int64_t t = 0; t < longest; t++) {
    best tap = listed_tap(ctx, x, axis, starts, ends, out, t);
    result = t == 0 ? tap : meet(ctx, result, tap);
  }
  return result;
}

static tt_hlo_value *empty_pool(tt_low_ctx *ctx, tt_hlo_value *x, const int64_t *sizes,
                                tt_dtype dtype) {
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int count = (int)ctx->rule->data, rank = tt_hlo_rank(x);
  tt_low_dims(ctx, x, dims);
  for (int i = 0; i < count; i++)
    dims[rank - count + i] = tt_hlo_dim_number(sizes[i]);
  return tt_low_zeros(ctx, dtype, dims, (size_t)rank);
}

static bool any_zero(const int64_t *sizes, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (sizes[i] == 0)
      return true;
  return false;
}

TT_LOW_RULE(adaptive_max_pool) {
  tt_hlo_value *x = args[0].tensor;
  int count = (int)ctx->rule->data, rank = tt_hlo_rank(x);
  const int64_t *sizes = tt_low_ints_of(ctx, &args[1], (size_t)count, 1);
  best found = {x, NULL};
  int64_t area = 1;
  if (sizes == NULL)
    return tt_error_no_memory(sizeof *sizes);
  if (any_zero(sizes, count) || tt_low_numel(ctx, x) == 0) {
    tt_low_set(&results[0], empty_pool(ctx, x, sizes, tt_hlo_dtype(x)));
    tt_low_set(&results[1], empty_pool(ctx, x, sizes, TT_S64));
    return NULL;
  }
  for (int axis = rank - 1; axis >= rank - count; axis--) {
    int64_t in = tt_low_size(ctx, x, axis);
    found.place = place_along(ctx, found.value, found.place, axis, area);
    found = adaptive_max_along(ctx, found, axis, sizes[axis - rank + count]);
    area *= in;
  }
  set_best(ctx, found, results);
  return NULL;
}

/* Beginnings of fractional pooling's windows along spatial axis `i`, s32 [n, c, out]:
 * trunc((o + u) a) - trunc(u a) with a = (in - k) / (out - 1); the last begins at in - k. u:
 * samples[n, c, column]. */
static tt_hlo_value *fractional_starts(tt_low_ctx *ctx, tt_hlo_value *samples, int64_t column,
                                       int64_t in, int64_t out, int64_t kernel) {
  tt_hlo_value *u = tt_hlo_slice_axis(ctx->b, samples, 2, column, column + 1, 1), *o, *begin;
  double a = out > 1 ? (double)(in - kernel) / (double)(out - 1) : 0;
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  tt_low_dims(ctx, u, dims);
  dims[2] = tt_hlo_dim_number(out);
  u = tt_hlo_broadcast_to(ctx->b, u, dims, 3);
  o = tt_hlo_iota(ctx->b, tt_hlo_dtype(u), dims, 3, 2);
  begin = tt_hlo_convert(
      ctx->b, tt_low_with_const(ctx, TT_HLO_MULTIPLY, tt_hlo_add(ctx->b, o, u), a), TT_S32);
  begin = tt_hlo_sub(ctx->b, begin,
                     tt_hlo_convert(ctx->b, tt_low_with_const(ctx, TT_HLO_MULTIPLY, u, a), TT_S32));
  return tt_low_select_const(
      ctx, tt_low_compare_const(ctx, TT_HLO_LT, tt_low_iota_like(ctx, begin, 2), (double)(out - 1)),
      begin, (double)(in - kernel));
}

/* x [n, c, spatial...]: element start + t of each window along `axis`. */
static best fractional_along(tt_low_ctx *ctx, best x, tt_hlo_value *starts, int axis,
                             int64_t kernel) {
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int64_t map[3] = {0, 1, axis};
  best result = x;
  tt_low_dims(ctx, x.value, dims);
  dims[axis] = tt_hlo_dim_of(ctx->b, starts, 2);
  starts = tt_hlo_broadcast_in_dim(ctx->b, starts, dims, (size_t)tt_hlo_rank(x.value), map);
  for (int64_t t = 0; t < kernel; t++) {
    tt_hlo_value *at = tt_low_with_const(ctx, TT_HLO_ADD, starts, (double)t);
    best tap = {tt_hlo_take_along(ctx->b, x.value, at, axis),
                tt_hlo_take_along(ctx->b, x.place, at, axis)};
    result = t == 0 ? tap : meet(ctx, result, tap);
  }
  return result;
}

/* (self, kernel, output_size, random_samples); PyTorch's samples are in the order w, h or t, h, w.
 */
TT_LOW_RULE(fractional_max_pool) {
  tt_hlo_value *x = args[0].tensor, *samples = args[3].tensor;
  int count = (int)ctx->rule->data, rank = tt_hlo_rank(x);
  bool single = rank == count + 1;
  const int64_t *kernel = tt_low_ints_of(ctx, &args[1], (size_t)count, 1);
  const int64_t *sizes = tt_low_ints_of(ctx, &args[2], (size_t)count, 1);
  best found = {single ? tt_hlo_unsqueeze(ctx->b, x, 0) : x, NULL};
  int64_t area = 1;
  if (kernel == NULL || sizes == NULL)
    return tt_error_no_memory(sizeof *sizes);
  for (int i = count - 1; i >= 0; i--) {
    int axis = i + 2;
    int64_t in = tt_low_size(ctx, found.value, axis);
    tt_hlo_value *starts;
    if (kernel[i] < 1)
      return tt_error_new(TT_INVALID_ARGUMENT, "%s: kernel below 1", ctx->rule->overload);
    starts = fractional_starts(ctx, samples, count == 2 ? 1 - i : i, in, sizes[i], kernel[i]);
    found.place = place_along(ctx, found.value, found.place, axis, area);
    found = fractional_along(ctx, found, starts, axis, kernel[i]);
    area *= in;
  }
  if (single) {
    found.value = tt_hlo_squeeze(ctx->b, found.value, 0);
    found.place = tt_hlo_squeeze(ctx->b, found.place, 0);
  }
  set_best(ctx, found, results);
  return NULL;
}

/* ---- averages ---- */

/* How many elements each window along the axis counts, [out] of `dtype`. */
static tt_hlo_value *window_counts(tt_low_ctx *ctx, const tt_low_window *w, bool with_pad,
                                   tt_dtype dtype, bool *out_same) {
  int64_t *counts = tt_hlo_alloc(ctx->b, (size_t)w->out, sizeof *counts);
  *out_same = true;
  for (int64_t o = 0; counts != NULL && o < w->out; o++) {
    int64_t begin = o * w->stride - w->pad, end = begin + w->kernel;
    end = end > w->in + w->pad ? w->in + w->pad : end;
    if (!with_pad) {
      begin = begin < 0 ? 0 : begin;
      end = end > w->in ? w->in : end;
    }
    counts[o] = end - begin;
    *out_same = *out_same && counts[o] == counts[0];
  }
  return counts != NULL ? tt_hlo_const_i64s(ctx->b, dtype, counts, (size_t)w->out) : ctx->b->poison;
}

/* x over the number of elements of each window; `divisor` None: counted. */
static tt_hlo_value *divide_by_window(tt_low_ctx *ctx, tt_hlo_value *x,
                                      const tt_low_window *windows, bool with_pad,
                                      const tt_low_value *divisor) {
  int count = (int)ctx->rule->data;
  tt_dtype dtype = tt_hlo_dtype(x);
  tt_hlo_value *product = NULL;
  if (!tt_low_is_none(divisor))
    return tt_low_with(ctx, TT_HLO_DIVIDE, x, tt_low_number(ctx, divisor, dtype, 1));
  for (int i = 0; i < count; i++) {
    bool same;
    tt_hlo_value *counts = window_counts(ctx, &windows[i], with_pad, dtype, &same);
    if (same)
      counts = tt_hlo_broadcast_like(
          ctx->b, tt_hlo_squeeze(ctx->b, tt_hlo_slice_axis(ctx->b, counts, 0, 0, 1, 1), 0), x);
    else
      counts = tt_low_along(ctx, counts, x, windows[i].axis);
    product = product == NULL ? counts : tt_hlo_mul(ctx->b, product, counts);
  }
  return tt_hlo_div(ctx->b, x, product);
}

/* (self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override) */
TT_LOW_RULE(avg_pool) {
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  tt_low_window windows[SPATIAL_MAX];
  TT_RETURN_IF_ERROR(
      parse_windows(ctx, args + 1, NULL, tt_low_bool(ctx, &args[4], false), x, windows));
  for (int i = (int)ctx->rule->data - 1; i >= 0; i--)
    x = tt_low_window_sum(ctx, x, &windows[i]);
  if (tt_low_numel(ctx, x) != 0)
    x = divide_by_window(ctx, x, windows, tt_low_bool(ctx, &args[5], true), &args[6]);
  tt_low_set(&results[0], x);
  return NULL;
}

/* (grad, self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override) */
TT_LOW_RULE(avg_pool_backward) {
  tt_hlo_value *grad = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  tt_low_window windows[SPATIAL_MAX];
  TT_RETURN_IF_ERROR(parse_windows(ctx, args + 2, NULL, tt_low_bool(ctx, &args[5], false),
                                   args[1].tensor, windows));
  if (tt_low_numel(ctx, grad) != 0)
    grad = divide_by_window(ctx, grad, windows, tt_low_bool(ctx, &args[6], true), &args[7]);
  for (int i = 0; i < (int)ctx->rule->data; i++)
    grad = tt_low_window_unsum(ctx, grad, &windows[i]);
  tt_low_set(&results[0], grad);
  return NULL;
}

/* [out, in]: 1 / length of window o where i is in it. */
static tt_hlo_value *adaptive_matrix(tt_low_ctx *ctx, int64_t in, int64_t out, tt_dtype dtype) {
  size_t n = (size_t)out;
  int64_t *starts = tt_hlo_alloc(ctx->b, n, sizeof *starts),
          *ends = tt_hlo_alloc(ctx->b, n, sizeof *ends);
  tt_hlo_dim dims[2] = {tt_hlo_dim_number(out), tt_hlo_dim_number(in)};
  tt_hlo_value *i = tt_hlo_iota(ctx->b, TT_S32, dims, 2, 1), *begin, *end, *inside, *share;
  if (starts == NULL || ends == NULL)
    return ctx->b->poison;
  adaptive_windows(in, out, starts, ends);
  begin = tt_low_along(ctx, tt_hlo_const_i64s(ctx->b, TT_S32, starts, n), i, 0);
  end = tt_low_along(ctx, tt_hlo_const_i64s(ctx->b, TT_S32, ends, n), i, 0);
  inside = tt_hlo_and(ctx->b, tt_hlo_compare(ctx->b, TT_HLO_GE, i, begin),
                      tt_hlo_compare(ctx->b, TT_HLO_LT, i, end));
  share = tt_hlo_convert(ctx->b, tt_hlo_sub(ctx->b, end, begin), dtype);
  share = tt_hlo_div(ctx->b, tt_hlo_broadcast_like(ctx->b, tt_hlo_const(ctx->b, dtype, 1), share),
                     share);
  return tt_low_select_const(ctx, inside, share, 0);
}

/* Averages along one axis, or with `back` the transpose of that. */
static tt_hlo_value *adaptive_along(tt_low_ctx *ctx, tt_hlo_value *x, int axis, int64_t in,
                                    int64_t out, bool back) {
  tt_low_window even = {axis, in, out, out > 0 ? in / out : 1, out > 0 ? in / out : 1, 0, 1};
  tt_hlo_value *matrix;
  if (in % out == 0) {
    x = back ? tt_low_window_unsum(ctx, x, &even) : tt_low_window_sum(ctx, x, &even);
    return tt_low_with_const(ctx, TT_HLO_DIVIDE, x, (double)even.kernel);
  }
  matrix = adaptive_matrix(ctx, in, out, tt_hlo_dtype(x));
  return tt_low_apply_matrix(ctx, x, back ? tt_hlo_swap_axes(ctx->b, matrix, 0, 1) : matrix, axis);
}

TT_LOW_RULE(adaptive_avg_pool) {
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  int count = (int)ctx->rule->data, first = tt_hlo_rank(x) - count;
  const int64_t *sizes = tt_low_ints_of(ctx, &args[1], (size_t)count, 1);
  if (sizes == NULL)
    return tt_error_no_memory(sizeof *sizes);
  if (any_zero(sizes, count) || tt_low_numel(ctx, x) == 0) {
    tt_low_set(&results[0], empty_pool(ctx, x, sizes, tt_hlo_dtype(x)));
    return NULL;
  }
  for (int i = count - 1; i >= 0; i--)
    x = adaptive_along(ctx, x, first + i, tt_low_size(ctx, x, first + i), sizes[i], false);
  tt_low_set(&results[0], x);
  return NULL;
}

TT_LOW_RULE(adaptive_avg_pool_backward) {
  tt_hlo_value *grad = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor))),
               *x = args[1].tensor;
  int rank = tt_hlo_rank(x);
  if (tt_low_numel(ctx, grad) == 0 || tt_low_numel(ctx, x) == 0) {
    tt_low_set(&results[0],
               tt_hlo_broadcast_like(ctx->b, tt_hlo_const(ctx->b, tt_hlo_dtype(grad), 0), x));
    return NULL;
  }
  for (int axis = rank - (int)ctx->rule->data; axis < rank; axis++)
    grad = adaptive_along(ctx, grad, axis, tt_low_size(ctx, x, axis), tt_low_size(ctx, grad, axis),
                          true);
  tt_low_set(&results[0], grad);
  return NULL;
}

/* ---- windows as columns ---- */

/* args: kernel, dilation, padding, stride */
static tt_error *parse_columns(tt_low_ctx *ctx, const tt_low_value *args, const int64_t *sizes,
                               int first, tt_low_window *windows) {
  const int64_t *kernel = tt_low_ints_of(ctx, &args[0], 2, 1),
                *dilation = tt_low_ints_of(ctx, &args[1], 2, 1);
  const int64_t *pad = tt_low_ints_of(ctx, &args[2], 2, 0),
                *stride = tt_low_ints_of(ctx, &args[3], 2, 1);
  if (kernel == NULL || dilation == NULL || pad == NULL || stride == NULL)
    return tt_error_no_memory(2 * sizeof(int64_t));
  for (int i = 0; i < 2; i++) {
    tt_low_window w = {first + i, sizes[i], 0, kernel[i], stride[i], pad[i], dilation[i]};
    if (kernel[i] < 1 || stride[i] < 1)
      return tt_error_new(TT_INVALID_ARGUMENT, "%s: kernel or stride below 1", ctx->rule->overload);
    w.out = pooled_size(sizes[i], kernel[i], stride[i], pad[i], dilation[i], false);
    windows[i] = w;
  }
  return NULL;
}

/* [..., c, h, w] to [..., c kh kw, oh ow] */
TT_LOW_RULE(im2col) {
  tt_hlo_value *x = args[0].tensor, *zero = tt_hlo_const(ctx->b, tt_hlo_dtype(x), 0), *line, **taps;
  int first = tt_hlo_rank(x) - 2;
  int64_t sizes[2] = {tt_low_size(ctx, x, first), tt_low_size(ctx, x, first + 1)};
  tt_low_window windows[2];
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  size_t count = 0;
  TT_RETURN_IF_ERROR(parse_columns(ctx, args + 1, sizes, first, windows));
  tt_low_dims(ctx, x, dims);
  taps = tt_hlo_alloc(ctx->b, (size_t)(windows[0].kernel * windows[1].kernel), sizeof *taps);
  if (taps == NULL)
    return NULL;
  for (int64_t i = 0; i < windows[0].kernel; i++) {
    line = tt_low_window_tap(ctx, x, &windows[0], i, zero);
    for (int64_t j = 0; j < windows[1].kernel; j++)
      taps[count++] =
          tt_hlo_unsqueeze(ctx->b, tt_low_window_tap(ctx, line, &windows[1], j, zero), first);
  }
  dims[first - 1] = tt_hlo_dim_mul(ctx->b, dims[first - 1], tt_hlo_dim_number((int64_t)count));
  dims[first] = tt_hlo_dim_number(windows[0].out * windows[1].out);
  tt_low_set(&results[0], tt_hlo_reshape(ctx->b, tt_hlo_concat(ctx->b, taps, count, first), dims,
                                         (size_t)first + 1));
  return NULL;
}

/* [..., c kh kw, oh ow] to [..., c, h, w]: sums where windows overlap. */
TT_LOW_RULE(col2im) {
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor))),
               *sum = NULL;
  int first = tt_hlo_rank(x) - 1; /* of the two spatial axes of the result */
  const int64_t *sizes = tt_low_ints_of(ctx, &args[1], 2, 1);
  tt_low_window windows[2];
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int64_t taps;
  if (sizes == NULL)
    return tt_error_no_memory(2 * sizeof *sizes);
  TT_RETURN_IF_ERROR(parse_columns(ctx, args + 2, sizes, first, windows));
  taps = windows[0].kernel * windows[1].kernel;
  tt_low_dims(ctx, x, dims);
  dims[first - 1] = tt_hlo_dim_div(ctx->b, dims[first - 1], tt_hlo_dim_number(taps));
  dims[first] = tt_hlo_dim_number(taps);
  dims[first + 1] = tt_hlo_dim_number(windows[0].out);
  dims[first + 2] = tt_hlo_dim_number(windows[1].out);
  x = tt_hlo_reshape(ctx->b, x, dims, (size_t)first + 3);
  for (int64_t t = 0; t < taps; t++) {
    tt_hlo_value *part =
        tt_hlo_squeeze(ctx->b, tt_hlo_slice_axis(ctx->b, x, first, t, t + 1, 1), first);
    part = tt_low_window_untap(ctx, part, &windows[0], t / windows[1].kernel);
    part = tt_low_window_untap(ctx, part, &windows[1], t % windows[1].kernel);
    sum = sum == NULL ? part : tt_hlo_add(ctx->b, sum, part);
  }
  tt_low_set(&results[0], sum);
  return NULL;
}

const tt_low_rule tt_low_rules_pooling[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/pooling.def"
#undef X
};
const size_t tt_low_rules_pooling_count = TT_COUNT(tt_low_rules_pooling);
