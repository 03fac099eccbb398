/* Interpolation, one axis after another. Each output element is a sum of few input elements with
 * weights that only the sizes decide: nearest takes one, the others multiply by a matrix [out, in],
 * built in the program from a short list of places and weights. Matrix products are quick
 * everywhere, and the gradient is the transposed product.
 *
 * Places and weights follow PyTorch's UpSample.h, in float as there. */
#include <math.h>

#include "lower/rules/helpers_windows.h"
#include "lower/rules/rules.h"

/* ctx->rule->data = method + spatial dims */
enum {
  NEAREST = 0,
  EXACT = 8,
  LINEAR = 16,
  CUBIC = 24,
  LINEAR_AA = 32,
  CUBIC_AA = 40,
  LANCZOS_AA = 48
};

typedef struct resize {
  int64_t method, in, out;
  bool align_corners;
  double scale; /* what the user gave; 0 for none */
} resize;

/* Output element o is the sum over t < taps of weights[o * taps + t] times input element places[o *
 * taps + t]. */
typedef struct taps {
  int64_t count;
  int64_t *places;
  float *weights;
} taps;

static float step_of(const resize *r) {
  if (r->method >= LINEAR && r->align_corners)
    return r->out > 1 ? (float)(r->in - 1) / (float)(r->out - 1) : 0;
  return r->scale > 0 ? (float)(1.0 / r->scale) : (float)r->in / (float)r->out;
}

static int64_t clamp_place(int64_t place, int64_t size) {
  return place < 0 ? 0 : place >= size ? size - 1 : place;
}

static int64_t nearest_place(const resize *r, int64_t o, float step) {
  if (r->method == EXACT)
    return clamp_place((int64_t)floorf(((float)o + 0.5f) * step), r->in);
  if (r->out == r->in)
    return o;
  if (r->out == 2 * r->in)
    return o >> 1;
  return clamp_place((int64_t)floorf((float)o * step), r->in);
}

static float source_of(const resize *r, int64_t o, float step) {
  return r->align_corners ? step * (float)o : step * ((float)o + 0.5f) - 0.5f;
}

static void linear_taps(const resize *r, int64_t o, float step, int64_t *places, float *weights) {
  float source = source_of(r, o, step);
  source = r->out == r->in ? (float)o : source < 0 ? 0 : source;
  places[0] = clamp_place((int64_t)source, r->in);
  places[1] = places[0] + (places[0] < r->in - 1);
  weights[1] = fminf(fmaxf(source - (float)places[0], 0), 1);
  weights[0] = 1 - weights[1];
}

/* Keys' cubic: near for |x| <= 1, far for 1 < |x| < 2. */
static float cubic_near(float x, float a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
static float cubic_far(float x, float a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

static void cubic_taps(const resize *r, int64_t o, float step, int64_t *places, float *weights) {
  float source = source_of(r, o, step), floor = floorf(source), t = source - floor;
  for (int i = 0; i < 4; i++)
    places[i] = clamp_place((int64_t)floor - 1 + i, r->in);
  weights[0] = cubic_far(t + 1, -0.75f);
  weights[1] = cubic_near(t, -0.75f);
  weights[2] = cubic_near(1 - t, -0.75f);
  weights[3] = cubic_far(2 - t, -0.75f);
}

static float sinc(float x) {
  const float pi = 3.14159265358979323846f;
  return x == 0 ? 1 : sinf(x * pi) / (x * pi);
}

static float filter_of(int64_t method, float x) {
  x = fabsf(x);
  if (method == LINEAR_AA)
    return x < 1 ? 1 - x : 0;
  if (method == CUBIC_AA)
    return x < 1 ? cubic_near(x, -0.5f) : x < 2 ? cubic_far(x, -0.5f) : 0;
  return x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

static float filter_reach(const resize *r, float step) {
  float half = r->method == LINEAR_AA ? 1 : r->method == CUBIC_AA ? 2 : 3;
  return step >= 1 ? half * step : half;
}

/* The filter, stretched when shrinking, over the elements it meets; weights sum to one. */
static void filter_taps(const resize *r, int64_t o, float step, int64_t count, int64_t *places,
                        float *weights) {
  float reach = filter_reach(r, step), center = step * ((float)o + 0.5f),
        narrow = step >= 1 ? 1 / step : 1, total = 0;
  int64_t first = (int64_t)(center - reach + 0.5f), end = (int64_t)(center + reach + 0.5f), size;
  first = first < 0 ? 0 : first;
  end = end > r->in ? r->in : end;
  size = end - first > count ? count : end - first;
  for (int64_t t = 0; t < count; t++) {
    places[t] = clamp_place(first + t, r->in);
    weights[t] = t < size ? filter_of(r->method, ((float)(t + first) - center + 0.5f) * narrow) : 0;
    total += weights[t];
  }
  for (int64_t t = 0; t < count && total != 0; t++)
    weights[t] /= total;
}

static int64_t taps_count(const resize *r, float step) {
  return r->method <= EXACT    ? 1
         : r->method == LINEAR ? 2
         : r->method == CUBIC  ? 4
                               : (int64_t)ceilf(filter_reach(r, step)) * 2 + 1;
}

static bool make_taps(tt_low_ctx *ctx, const resize *r, taps *list) {
  float step = step_of(r);
  list->count = taps_count(r, step);
  list->places = tt_hlo_alloc(ctx->b, (size_t)(r->out * list->count), sizeof *list->places);
  list->weights = tt_hlo_alloc(ctx->b, (size_t)(r->out * list->count), sizeof *list->weights);
  if (list->places == NULL || list->weights == NULL)
    return false;
  for (int64_t o = 0; o < r->out; o++) {
    int64_t *places = list->places + o * list->count;
    float *weights = list->weights + o * list->count;
    if (r->method <= EXACT) {
      places[0] = nearest_place(r, o, step);
      weights[0] = 1;
    } else if (r->method == LINEAR) {
      linear_taps(r, o, step, places, weights);
    } else if (r->method == CUBIC) {
      cubic_taps(r, o, step, places, weights);
    } else {
      filter_taps(r, o, step, list->count, places, weights);
    }
  }
  return true;
}

/* Tap t of every output element, [out]. */
static tt_hlo_value *tap_places(tt_low_ctx *ctx, const taps *list, int64_t out, int64_t t) {
  int64_t *places = tt_hlo_alloc(ctx->b, (size_t)out, sizeof *places);
  for (int64_t o = 0; places != NULL && o < out; o++)
    places[o] = list->places[o * list->count + t];
  return places != NULL ? tt_hlo_const_i64s(ctx->b, TT_S32, places, (size_t)out) : ctx->b->poison;
}

static tt_hlo_value *tap_weights(tt_low_ctx *ctx, const taps *list, int64_t out, int64_t t) {
  float *weights = tt_hlo_alloc(ctx->b, (size_t)out, sizeof *weights);
  int64_t dims[1] = {out};
  for (int64_t o = 0; weights != NULL && o < out; o++)
    weights[o] = list->weights[o * list->count + t];
  return weights != NULL ? tt_hlo_const_data(ctx->b, TT_F32, dims, 1, weights) : ctx->b->poison;
}

/* [out, in]: sum over taps of the weight where the place is i. */
static tt_hlo_value *matrix_of(tt_low_ctx *ctx, const taps *list, const resize *r, tt_dtype dtype) {
  tt_hlo_dim dims[2] = {tt_hlo_dim_number(r->out), tt_hlo_dim_number(r->in)};
  tt_hlo_value *i = tt_hlo_iota(ctx->b, TT_S32, dims, 2, 1), *sum = NULL;
  for (int64_t t = 0; t < list->count; t++) {
    tt_hlo_value *place = tt_low_along(ctx, tap_places(ctx, list, r->out, t), i, 0);
    tt_hlo_value *weight = tt_low_along(ctx, tap_weights(ctx, list, r->out, t), i, 0);
    weight = tt_low_select_const(ctx, tt_hlo_compare(ctx->b, TT_HLO_EQ, i, place), weight, 0);
    sum = sum == NULL ? weight : tt_hlo_add(ctx->b, sum, weight);
  }
  return tt_hlo_convert(ctx->b, sum, dtype);
}

/* How often each element stands in a row when all do equally; 0 otherwise. */
static int64_t whole_ratio(const taps *list, const resize *r) {
  int64_t ratio = r->in > 0 && r->out % r->in == 0 ? r->out / r->in : 0;
  for (int64_t o = 0; o < r->out && ratio > 0; o++)
    if (list->places[o] != o / ratio)
      return 0;
  return ratio;
}

static tt_hlo_value *repeat_each(tt_low_ctx *ctx, tt_hlo_value *x, int axis, int64_t times) {
  tt_hlo_dim dims[TT_LOW_RANK_MAX];
  int64_t map[TT_LOW_RANK_MAX];
  int rank = tt_hlo_rank(x);
  tt_low_dims(ctx, x, dims);
  for (int i = rank; i > axis + 1; i--)
    dims[i] = dims[i - 1];
  dims[axis + 1] = tt_hlo_dim_number(times);
  for (int i = 0; i < rank; i++)
    map[i] = i <= axis ? i : i + 1;
  return tt_hlo_flatten(ctx->b, tt_hlo_broadcast_in_dim(ctx->b, x, dims, (size_t)rank + 1, map),
                        axis, axis + 1);
}

static tt_hlo_value *resize_axis(tt_low_ctx *ctx, tt_hlo_value *x, int axis, const resize *r,
                                 bool back) {
  taps list;
  int64_t ratio;
  tt_hlo_value *matrix;
  if (!make_taps(ctx, r, &list))
    return x;
  ratio = r->method <= EXACT ? whole_ratio(&list, r) : 0;
  if (ratio > 0 && back) {
    tt_low_window w = {axis, r->out, r->in, ratio, ratio, 0, 1};
    return tt_low_window_sum(ctx, x, &w);
  }
  if (ratio > 0)
    return ratio == 1 ? x : repeat_each(ctx, x, axis, ratio);
  if (r->method <= EXACT && !back)
    return tt_hlo_take(ctx->b, x, tap_places(ctx, &list, r->out, 0), axis);
  matrix = matrix_of(ctx, &list, r, tt_hlo_dtype(x));
  return tt_low_apply_matrix(ctx, x, back ? tt_hlo_swap_axes(ctx->b, matrix, 0, 1) : matrix, axis);
}

/* rest: [align_corners,] a scale for each axis */
static resize resize_of(tt_low_ctx *ctx, const tt_low_value *rest, int64_t in, int64_t out,
                        int axis) {
  resize r = {ctx->rule->data & ~7, in, out, false, 0};
  if (r.method >= LINEAR) {
    r.align_corners = tt_low_bool(ctx, &rest[0], false);
    rest++;
  }
  r.scale = tt_low_double(ctx, &rest[axis], 0);
  return r;
}

/* u8 images: rounded, and kept inside when a cubic leaves the range. */
static tt_hlo_value *to_bytes(tt_low_ctx *ctx, tt_hlo_value *x) {
  x = tt_low_with_const(ctx, TT_HLO_MAXIMUM, tt_hlo_round_even(ctx->b, x), 0);
  return tt_hlo_convert(ctx->b, tt_low_with_const(ctx, TT_HLO_MINIMUM, x, 255), TT_U8);
}

/* (self, output_size, [align_corners,] scales...) */
TT_LOW_RULE(upsample) {
  tt_hlo_value *x = args[0].tensor;
  tt_dtype dtype = tt_hlo_dtype(x);
  int count = (int)(ctx->rule->data & 7);
  bool nearest = (ctx->rule->data & ~7) <= EXACT, bytes = !nearest && dtype == TT_U8;
  const int64_t *sizes = tt_low_ints_of(ctx, &args[1], (size_t)count, 1);
  size_t rank;
  const tt_hlo_dim *wanted;
  if (sizes == NULL)
    return tt_error_no_memory(sizeof *sizes);
  if (tt_low_numel(ctx, x) == 0) {
    wanted = tt_low_wanted_dims(ctx, 0, &rank);
    tt_low_set(&results[0], tt_low_zeros(ctx, dtype, wanted, rank));
    return NULL;
  }
  x = nearest ? x : tt_hlo_convert(ctx->b, x, bytes ? TT_F32 : tt_low_opmath(dtype));
  for (int i = count - 1; i >= 0; i--) {
    resize r = resize_of(ctx, args + 2, tt_low_size(ctx, x, i + 2), sizes[i], i);
    x = resize_axis(ctx, x, i + 2, &r, false);
  }
  tt_low_set(&results[0], bytes ? to_bytes(ctx, x) : x);
  return NULL;
}

/* (grad, output_size, input_size, [align_corners,] scales...) */
TT_LOW_RULE(upsample_backward) {
  tt_hlo_value *grad = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)));
  int count = (int)(ctx->rule->data & 7);
  const int64_t *sizes = tt_low_ints_of(ctx, &args[2], (size_t)count + 2, 1);
  if (sizes == NULL)
    return tt_error_no_memory(sizeof *sizes);
  if (tt_low_numel(ctx, grad) == 0) {
    tt_hlo_dim dims[TT_LOW_RANK_MAX];
    for (int i = 0; i < count + 2; i++)
      dims[i] = tt_hlo_dim_number(sizes[i]);
    tt_low_set(&results[0], tt_low_zeros(ctx, tt_hlo_dtype(grad), dims, (size_t)count + 2));
    return NULL;
  }
  for (int i = 0; i < count; i++) {
    resize r = resize_of(ctx, args + 3, sizes[i + 2], tt_low_size(ctx, grad, i + 2), i);
    grad = resize_axis(ctx, grad, i + 2, &r, true);
  }
  tt_low_set(&results[0], grad);
  return NULL;
}

const tt_low_rule tt_low_rules_resize[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/resize.def"
#undef X
};
const size_t tt_low_rules_resize_count = TT_COUNT(tt_low_rules_resize);
