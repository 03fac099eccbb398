/* grid_sample: values of an image at real coordinates. Corners are gathered as whole pixels, all
 * channels at once, from the image with its channels last; the gradient of the image is one scatter
 * of pixels per corner.
 *
 * Coordinates, padding and their derivatives follow PyTorch's GridSampler.h. Grids hold x, y(, z):
 * the last spatial axis first. Values here have dims [n, p] for p = the output's pixels, and [n, p,
 * c] with channels. */
#include <math.h>

#include "lower/rules/helpers_indexing.h"
#include "lower/rules/rules.h"

enum { BILINEAR, NEAREST, BICUBIC };
enum { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION };
enum { SPATIAL_MAX = 3 };

typedef struct sampler {
  int spatial;
  int64_t mode, padding, batch, channels, pixels,
      area; /* pixels of the output, area of the image */
  bool align_corners;
  int64_t sizes[SPATIAL_MAX]; /* of the image; spatial axis i here, as in its dims */
  tt_dtype dtype;
  tt_hlo_value *image; /* [n, area, c] */
} sampler;

/* A coordinate along one axis: its place in pixels and d place / d grid. */
typedef struct coordinate {
  tt_hlo_value *place, *slope;
} coordinate;

static tt_hlo_value *add_to(tt_low_ctx *ctx, tt_hlo_value *x, double y) {
  return tt_low_with_const(ctx, TT_HLO_ADD, x, y);
}
static tt_hlo_value *times(tt_low_ctx *ctx, tt_hlo_value *x, double y) {
  return tt_low_with_const(ctx, TT_HLO_MULTIPLY, x, y);
}

static tt_hlo_value *full_like(tt_low_ctx *ctx, tt_hlo_value *x, double value) {
  return tt_hlo_broadcast_like(ctx->b, tt_hlo_const(ctx->b, tt_hlo_dtype(x), value), x);
}

/* ---- coordinates ---- */

static coordinate clip(tt_low_ctx *ctx, coordinate c, int64_t size) {
  double last = (double)(size - 1);
  tt_hlo_value *inside = tt_hlo_and(ctx->b, tt_low_compare_const(ctx, TT_HLO_GT, c.place, 0),
                                    tt_low_compare_const(ctx, TT_HLO_LT, c.place, last));
  tt_hlo_value *kept = tt_low_select_const(ctx, tt_low_compare_const(ctx, TT_HLO_GT, c.place, 0),
                                           c.place, 0); /* NaN: 0 */
  c.place = tt_low_with_const(ctx, TT_HLO_MINIMUM, kept, last);
  c.slope = tt_low_select_const(ctx, inside, c.slope, 0);
  return c;
}

/* Mirrored at low / 2 and high / 2 as often as it takes. */
static coordinate reflect(tt_low_ctx *ctx, coordinate c, int64_t low, int64_t high) {
  double least = (double)low / 2, span = (double)(high - low) / 2;
  tt_hlo_value *from, *sign, *flips, *extra, *odd;
  if (low == high) {
    c.place = full_like(ctx, c.place, 0);
    c.slope = full_like(ctx, c.slope, 0);
    return c;
  }
  from = add_to(ctx, c.place, -least);
  sign = tt_hlo_select(ctx->b, tt_low_compare_const(ctx, TT_HLO_LT, from, 0),
                       tt_hlo_neg(ctx->b, c.slope), c.slope);
  from = tt_hlo_abs(ctx->b, from);
  extra = tt_low_with_const(ctx, TT_HLO_REMAINDER, from, span);
  flips = tt_hlo_floor(ctx->b, tt_low_with_const(ctx, TT_HLO_DIVIDE, from, span));
  odd = tt_low_compare_const(ctx, TT_HLO_NE, tt_low_with_const(ctx, TT_HLO_REMAINDER, flips, 2), 0);
  c.place = tt_hlo_select(ctx->b, odd, add_to(ctx, tt_hlo_neg(ctx->b, extra), span + least),
                          add_to(ctx, extra, least));
  c.slope = tt_hlo_select(ctx->b, odd, tt_hlo_neg(ctx->b, sign), sign);
  return c;
}

static coordinate pad_coordinate(tt_low_ctx *ctx, const sampler *s, coordinate c, int axis) {
  int64_t size = s->sizes[axis];
  if (s->padding == PAD_BORDER)
    return clip(ctx, c, size);
  if (s->padding == PAD_REFLECTION)
    return clip(
        ctx,
        s->align_corners ? reflect(ctx, c, 0, 2 * (size - 1)) : reflect(ctx, c, -1, 2 * size - 1),
        size);
  return c;
}

/* grid [n, p, spatial]: -1 and 1 are the image's ends, centers or edges of its last pixels. */
static coordinate grid_coordinate(tt_low_ctx *ctx, const sampler *s, tt_hlo_value *grid, int axis) {
  int column = s->spatial - 1 - axis;
  double size = (double)s->sizes[axis], slope = s->align_corners ? (size - 1) / 2 : size / 2;
  tt_hlo_value *x =
      tt_hlo_squeeze(ctx->b, tt_hlo_slice_axis(ctx->b, grid, 2, column, column + 1, 1), 2);
  coordinate c;
  x = add_to(ctx, x, 1);
  c.place = s->align_corners ? times(ctx, x, slope)
                             : times(ctx, add_to(ctx, times(ctx, x, size), -1), 0.5);
  c.slope = full_like(ctx, x, slope);
  return c;
}

/* ---- pixels ---- */

/* Flat index of integral coordinates (floats, [n, p]) and whether they are in the image. */
static tt_hlo_value *flat_index(tt_low_ctx *ctx, const sampler *s, tt_hlo_value *const *places,
                                tt_hlo_value **out_inside) {
  tt_hlo_value *index = NULL, *inside = NULL;
  for (int i = 0; i < s->spatial; i++) {
    double size = (double)s->sizes[i];
    tt_hlo_value *good = tt_hlo_and(ctx->b, tt_low_compare_const(ctx, TT_HLO_GE, places[i], 0),
                                    tt_low_compare_const(ctx, TT_HLO_LT, places[i], size));
    tt_hlo_value *at = tt_hlo_convert(ctx->b, tt_low_select_const(ctx, good, places[i], 0), TT_S32);
    index = index == NULL ? at : tt_hlo_add(ctx->b, times(ctx, index, size), at);
    inside = inside == NULL ? good : tt_hlo_and(ctx->b, inside, good);
  }
  *out_inside = inside;
  return index;
}

/* image[n, index[n, p], :], zeros where not inside: [n, p, c] */
static tt_hlo_value *pixels_at(tt_low_ctx *ctx, const sampler *s, tt_hlo_value *index,
                               tt_hlo_value *inside) {
  int64_t offset[1] = {2}, collapsed[1] = {1}, batch[1] = {0}, sizes[3] = {1, 1, s->channels};
  tt_hlo_gather_dims dims = {{1, offset}, {1, collapsed}, {1, batch},
                             {1, batch},  {1, collapsed}, 2};
  tt_hlo_value *pixels = tt_hlo_gather(ctx->b, s->image, index, &dims, sizes, false);
  int64_t map[2] = {0, 1};
  tt_hlo_dim wide[TT_LOW_RANK_MAX];
  tt_low_dims(ctx, pixels, wide);
  return tt_low_select_const(ctx, tt_hlo_broadcast_in_dim(ctx->b, inside, wide, 3, map), pixels, 0);
}

/* Adds pixels [n, p, c] into an image [n, area, c]; those not inside go nowhere. */
static tt_hlo_value *add_pixels(tt_low_ctx *ctx, const sampler *s, tt_hlo_value *image,
                                tt_hlo_value *index, tt_hlo_value *inside, tt_hlo_value *pixels) {
  int64_t window[1] = {2}, inserted[1] = {1}, batch[1] = {0};
  tt_hlo_scatter_dims dims = {{1, window}, {1, inserted}, {1, batch}, {1, batch}, {1, inserted}, 2};
  index = tt_low_select_const(ctx, inside, index, (double)s->area);
  return tt_hlo_scatter(ctx->b, image, index, pixels, &dims, TT_HLO_COMBINE_ADD, false, false);
}

static tt_hlo_value *over_channels(tt_low_ctx *ctx, const sampler *s, tt_hlo_value *weight) {
  int64_t map[2] = {0, 1};
  tt_hlo_dim dims[3] = {tt_hlo_dim_number(s->batch), tt_hlo_dim_number(s->pixels),
                        tt_hlo_dim_number(s->channels)};
  return tt_hlo_broadcast_in_dim(ctx->b, weight, dims, 3, map);
}

static tt_hlo_value *sum_channels(tt_low_ctx *ctx, tt_hlo_value *x) {
  int64_t axis[1] = {2};
  return tt_hlo_reduce(ctx->b, TT_HLO_ADD, x, axis, 1);
}

/* ---- arguments ---- */

/* [n, c, spatial...] to [n, prod(spatial), c] */
static tt_hlo_value *channels_last(tt_low_ctx *ctx, tt_hlo_value *x) {
  return tt_hlo_swap_axes(ctx->b, tt_hlo_flatten(ctx->b, x, 2, tt_hlo_rank(x) - 1), 1, 2);
}

/* args: interpolation_mode, padding_mode, align_corners */
static sampler parse_sampler(tt_low_ctx *ctx, tt_hlo_value *input, tt_hlo_value *grid,
                             const tt_low_value *args) {
  sampler s = {(int)ctx->rule->data,
               tt_low_int(ctx, &args[0], 0),
               tt_low_int(ctx, &args[1], 0),
               tt_low_size(ctx, input, 0),
               tt_low_size(ctx, input, 1),
               1,
               1,
               tt_low_bool(ctx, &args[2], false),
               {1, 1, 1},
               tt_low_opmath(tt_hlo_dtype(input)),
               NULL};
  for (int i = 0; i < s.spatial; i++) {
    s.sizes[i] = tt_low_size(ctx, input, i + 2);
    s.area *= s.sizes[i];
    s.pixels *= tt_low_size(ctx, grid, i + 1);
  }
  s.image = channels_last(ctx, tt_hlo_convert(ctx->b, input, s.dtype));
  return s;
}

static tt_hlo_value *flat_grid(tt_low_ctx *ctx, const sampler *s, tt_hlo_value *grid) {
  return tt_hlo_convert(ctx->b, tt_hlo_flatten(ctx->b, grid, 1, s->spatial), s->dtype);
}

/* ---- linear and nearest ---- */

typedef struct corners {
  coordinate at[SPATIAL_MAX];
  tt_hlo_value *floor[SPATIAL_MAX],
      *part[SPATIAL_MAX]; /* part: how far between the floor and the next */
} corners;

static corners find_corners(tt_low_ctx *ctx, const sampler *s, tt_hlo_value *grid) {
  corners c;
  for (int i = 0; i < SPATIAL_MAX && i < s->spatial; i++) {
    c.at[i] = pad_coordinate(ctx, s, grid_coordinate(ctx, s, grid, i), i);
    c.floor[i] = tt_hlo_floor(ctx->b, c.at[i].place);
    c.part[i] = tt_hlo_sub(ctx->b, c.at[i].place, c.floor[i]);
  }
  return c;
}

/* Corner `which`: bit i says floor or the next along axis i. Its weight, without that of axis
 * `without` (-1: all). */
static tt_hlo_value *corner_weight(tt_low_ctx *ctx, const sampler *s, const corners *c, int which,
                                   int without) {
  tt_hlo_value *weight = full_like(ctx, c->part[0], 1);
  for (int i = 0; i < s->spatial; i++) {
    tt_hlo_value *part =
        which >> i & 1 ? c->part[i] : add_to(ctx, tt_hlo_neg(ctx->b, c->part[i]), 1);
    weight = i == without ? weight : tt_hlo_mul(ctx->b, weight, part);
  }
  return weight;
}

static tt_hlo_value *corner_index(tt_low_ctx *ctx, const sampler *s, const corners *c, int which,
                                  tt_hlo_value **inside) {
  tt_hlo_value *places[SPATIAL_MAX];
  for (int i = 0; i < s->spatial; i++)
    places[i] = which >> i & 1 ? add_to(ctx, c->floor[i], 1) : c->floor[i];
  return flat_index(ctx, s, places, inside);
}

static tt_hlo_value *nearest_index(tt_low_ctx *ctx, const sampler *s, tt_hlo_value *grid,
                                   tt_hlo_value **inside) {
  tt_hlo_value *places[SPATIAL_MAX];
  for (int i = 0; i < s->spatial; i++)
    places[i] = tt_hlo_round_even(
        ctx->b, pad_coordinate(ctx, s, grid_coordinate(ctx, s, grid, i), i).place);
  return flat_index(ctx, s, places, inside);
}

/* ---- cubic, two spatial dims ---- */

/* Weight of the element `tap` (0..3) of four around a part t in [0, 1), or its derivative by t.
 * Keys, a = -0.75. */
static tt_hlo_value *cubic_weight(tt_low_ctx *ctx, tt_hlo_value *t, int tap, bool derivative) {
  double a = -0.75;
  tt_hlo_value *x = tap < 2 ? add_to(ctx, t, 1 - tap) : add_to(ctx, tt_hlo_neg(ctx->b, t), tap - 1),
               *y;
  bool near = tap == 1 || tap == 2;
  if (derivative) { /* 3 (a + 2) x^2 - 2 (a + 3) x, or 3 a x^2 - 10 a x + 8 a; x falls with t for
                       the last two */
    y = near
            ? tt_hlo_mul(ctx->b, add_to(ctx, times(ctx, x, 3 * (a + 2)), -2 * (a + 3)), x)
            : add_to(ctx, tt_hlo_mul(ctx->b, add_to(ctx, times(ctx, x, 3 * a), -10 * a), x), 8 * a);
    return tap < 2 ? y : tt_hlo_neg(ctx->b, y);
  }
  if (near)
    return add_to(
        ctx,
        tt_hlo_mul(ctx->b, tt_hlo_mul(ctx->b, add_to(ctx, times(ctx, x, a + 2), -(a + 3)), x), x),
        1);
  y = add_to(ctx, tt_hlo_mul(ctx->b, add_to(ctx, times(ctx, x, a), -5 * a), x), 8 * a);
  return add_to(ctx, tt_hlo_mul(ctx->b, y, x), -4 * a);
}

/* The coordinates are not padded, each of the sixteen pixels is. */
static corners find_cubic(tt_low_ctx *ctx, const sampler *s, tt_hlo_value *grid) {
  corners c;
  for (int i = 0; i < SPATIAL_MAX && i < s->spatial; i++) {
    c.at[i] = grid_coordinate(ctx, s, grid, i);
    c.floor[i] = tt_hlo_floor(ctx->b, c.at[i].place);
    c.part[i] = tt_hlo_sub(ctx->b, c.at[i].place, c.floor[i]);
  }
  return c;
}

static tt_hlo_value *cubic_index(tt_low_ctx *ctx, const sampler *s, const corners *c, int row,
                                 int column, tt_hlo_value **inside) {
  tt_hlo_value *places[2];
  for (int i = 0; i < 2; i++) {
    coordinate tap = {add_to(ctx, c->floor[i], (i == 0 ? row : column) - 1), c->at[i].slope};
    places[i] = pad_coordinate(ctx, s, tap, i).place;
  }
  return flat_index(ctx, s, places, inside);
}

/* ---- rules ---- */

static tt_hlo_value *add_weighted(tt_low_ctx *ctx, const sampler *s, tt_hlo_value *sum,
                                  tt_hlo_value *index, tt_hlo_value *inside, tt_hlo_value *weight) {
  tt_hlo_value *part =
      tt_hlo_mul(ctx->b, pixels_at(ctx, s, index, inside), over_channels(ctx, s, weight));
  return sum == NULL ? part : tt_hlo_add(ctx->b, sum, part);
}

static tt_hlo_value *sample(tt_low_ctx *ctx, const sampler *s, tt_hlo_value *grid) {
  tt_hlo_value *sum = NULL, *inside, *index;
  corners c;
  if (s->mode == NEAREST) {
    index = nearest_index(ctx, s, grid, &inside);
    return pixels_at(ctx, s, index, inside);
  }
  c = s->mode == BICUBIC ? find_cubic(ctx, s, grid) : find_corners(ctx, s, grid);
  for (int which = 0; s->mode == BILINEAR && which < 1 << s->spatial; which++) {
    index = corner_index(ctx, s, &c, which, &inside);
    sum = add_weighted(ctx, s, sum, index, inside, corner_weight(ctx, s, &c, which, -1));
  }
  for (int tap = 0; s->mode == BICUBIC && tap < 16; tap++) {
    tt_hlo_value *weight = tt_hlo_mul(ctx->b, cubic_weight(ctx, c.part[0], tap / 4, false),
                                      cubic_weight(ctx, c.part[1], tap % 4, false));
    index = cubic_index(ctx, s, &c, tap / 4, tap % 4, &inside);
    sum = add_weighted(ctx, s, sum, index, inside, weight);
  }
  return sum;
}

/* (input, grid, interpolation_mode, padding_mode, align_corners) */
TT_LOW_RULE(grid_sampler) {
  tt_hlo_value *input = args[0].tensor, *grid = args[1].tensor, *y;
  sampler s = parse_sampler(ctx, input, grid, args + 2);
  tt_hlo_dim dims[SPATIAL_MAX + 2] = {tt_hlo_dim_number(s.batch), tt_hlo_dim_number(s.channels)};
  for (int i = 0; i < s.spatial; i++)
    dims[i + 2] = tt_hlo_dim_of(ctx->b, grid, i + 1);
  if (s.batch * s.channels * s.area * s.pixels == 0) {
    tt_low_set(&results[0], tt_low_zeros(ctx, s.dtype, dims, (size_t)s.spatial + 2));
    return NULL;
  }
  y = tt_hlo_swap_axes(ctx->b, sample(ctx, &s, flat_grid(ctx, &s, grid)), 1, 2);
  tt_low_set(&results[0], tt_hlo_reshape(ctx->b, y, dims, (size_t)s.spatial + 2));
  return NULL;
}

/* What the gradient gives: the image's, and the derivative along each spatial axis, [n, p]. */
typedef struct gradients {
  tt_hlo_value *image, *along[SPATIAL_MAX];
} gradients;

/* One pixel with its weight, and the weight's derivative along each axis. */
static void back_tap(tt_low_ctx *ctx, const sampler *s, gradients *g, tt_hlo_value *grad,
                     tt_hlo_value *index, tt_hlo_value *inside, tt_hlo_value *weight,
                     tt_hlo_value *const *slopes, bool want_image, bool want_grid) {
  if (want_image)
    g->image = add_pixels(ctx, s, g->image, index, inside,
                          tt_hlo_mul(ctx->b, grad, over_channels(ctx, s, weight)));
  if (want_grid && slopes != NULL) {
    tt_hlo_value *value =
        sum_channels(ctx, tt_hlo_mul(ctx->b, grad, pixels_at(ctx, s, index, inside)));
    for (int i = 0; i < s->spatial; i++) {
      tt_hlo_value *part = tt_hlo_mul(ctx->b, value, slopes[i]);
      g->along[i] = g->along[i] == NULL ? part : tt_hlo_add(ctx->b, g->along[i], part);
    }
  }
}

static void back_linear(tt_low_ctx *ctx, const sampler *s, gradients *g, tt_hlo_value *grad,
                        const corners *c, bool want_image, bool want_grid) {
  for (int which = 0; which < 1 << s->spatial; which++) {
    tt_hlo_value *slopes[SPATIAL_MAX], *inside, *index = corner_index(ctx, s, c, which, &inside);
    for (int i = 0; i < s->spatial; i++) {
      slopes[i] = corner_weight(ctx, s, c, which, i);
      slopes[i] = which >> i & 1 ? slopes[i] : tt_hlo_neg(ctx->b, slopes[i]);
    }
    back_tap(ctx, s, g, grad, index, inside, corner_weight(ctx, s, c, which, -1), slopes,
             want_image, want_grid);
  }
}

static void back_cubic(tt_low_ctx *ctx, const sampler *s, gradients *g, tt_hlo_value *grad,
                       const corners *c, bool want_image, bool want_grid) {
  for (int tap = 0; tap < 16; tap++) {
    tt_hlo_value *inside, *index = cubic_index(ctx, s, c, tap / 4, tap % 4, &inside);
    tt_hlo_value *row = cubic_weight(ctx, c->part[0], tap / 4, false),
                 *column = cubic_weight(ctx, c->part[1], tap % 4, false);
    tt_hlo_value *slopes[2] = {
        tt_hlo_mul(ctx->b, cubic_weight(ctx, c->part[0], tap / 4, true), column),
        tt_hlo_mul(ctx->b, row, cubic_weight(ctx, c->part[1], tap % 4, true))};
    back_tap(ctx, s, g, grad, index, inside, tt_hlo_mul(ctx->b, row, column), slopes, want_image,
             want_grid);
  }
}

/* [n, p] of each axis to [n, spatial..., count], last axis first. */
static tt_hlo_value *join_grid(tt_low_ctx *ctx, const sampler *s, const gradients *g,
                               const corners *c, tt_hlo_value *grid) {
  tt_hlo_value *parts[SPATIAL_MAX];
  for (int i = 0; i < s->spatial; i++) {
    tt_hlo_value *part = tt_hlo_mul(ctx->b, g->along[i], c->at[i].slope);
    parts[s->spatial - 1 - i] = tt_hlo_unsqueeze(ctx->b, part, 2);
  }
  return tt_low_reshape_like(ctx, tt_hlo_concat(ctx->b, parts, (size_t)s->spatial, 2), grid);
}

static tt_hlo_value *zeros_of(tt_low_ctx *ctx, tt_hlo_value *like) {
  return full_like(ctx, like, 0);
}

static void set_grid_sampler_zeros(tt_low_ctx *ctx, const tt_low_value *args,
                                   tt_low_value *results) {
  tt_low_set(&results[0], zeros_of(ctx, args[1].tensor));
  tt_low_set(&results[1], zeros_of(ctx, args[2].tensor));
}

/* (grad, input, grid, interpolation_mode, padding_mode, align_corners, output_mask) */
TT_LOW_RULE(grid_sampler_backward) {
  tt_hlo_value *input = args[1].tensor, *grid = args[2].tensor, *grad, *flat, *index, *inside;
  sampler s = parse_sampler(ctx, input, grid, args + 3);
  bool want_image = tt_low_mask(ctx, &args[6], 0), want_grid = tt_low_mask(ctx, &args[6], 1);
  gradients g = {NULL, {NULL, NULL, NULL}};
  corners c = {0};
  if (s.batch * s.channels * s.area * s.pixels == 0) {
    set_grid_sampler_zeros(ctx, args, results);
    return NULL;
  }
  g.image = zeros_of(ctx, s.image);
  grad = channels_last(ctx, tt_low_tensor(ctx, &args[0], s.dtype));
  flat = flat_grid(ctx, &s, grid);
  if (s.mode == NEAREST) {
    index = nearest_index(ctx, &s, flat, &inside);
    g.image = add_pixels(ctx, &s, g.image, index, inside, grad);
  } else if (s.mode == BICUBIC) {
    c = find_cubic(ctx, &s, flat);
    back_cubic(ctx, &s, &g, grad, &c, want_image, want_grid);
  } else {
    c = find_corners(ctx, &s, flat);
    back_linear(ctx, &s, &g, grad, &c, want_image, want_grid);
  }
  ctx->results_count = 2;
  if (want_image)
    tt_low_set(&results[0],
               tt_low_reshape_like(ctx, tt_hlo_swap_axes(ctx->b, g.image, 1, 2), input));
  if (want_grid || ctx->wanted_count == 2)
    tt_low_set(&results[1],
               g.along[0] == NULL ? zeros_of(ctx, grid) : join_grid(ctx, &s, &g, &c, grid));
  return NULL;
}

const tt_low_rule tt_low_rules_grid[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/grid.def"
#undef X
};
const size_t tt_low_rules_grid_count = TT_COUNT(tt_low_rules_grid);
