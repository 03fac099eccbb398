/* Fourier transforms along any axes: one stablehlo.fft for each axis, which is moved to the end for
 * it. */
#include <math.h>

#include "lower/rules/helpers_reduction.h"
#include "lower/rules/rules.h"

enum { PLAIN, BY_ROOT, BY_COUNT }; /* PyTorch's fft_norm_mode: what the sum is divided by */

static tt_hlo_value *along(tt_low_ctx *ctx, tt_hlo_value *x, int axis, tt_hlo_fft_type type,
                           int64_t length) {
  int last = tt_hlo_rank(x) - 1;
  x = tt_hlo_fft(ctx->b, tt_hlo_move_axis(ctx->b, x, axis, last), type, &length, 1);
  return tt_hlo_move_axis(ctx->b, x, last, axis);
}

/* The unscaled inverse is n times StableHLO's. */
static tt_hlo_value *scaled(tt_low_ctx *ctx, tt_hlo_value *x, double count, int64_t mode,
                            bool inverse) {
  double factor = mode == BY_COUNT ? 1 / count : mode == BY_ROOT ? 1 / sqrt(count) : 1;
  factor *= inverse ? count : 1;
  return factor == 1 ? x : tt_low_with_const(ctx, TT_HLO_MULTIPLY, x, factor);
}

typedef struct spectrum { /* the axes of a call, none twice */
  const int64_t *axes;
  size_t count;
  int last; /* the axis of which a real transform holds half */
} spectrum;

static spectrum axes_of(tt_low_ctx *ctx, const tt_low_value *dims, int rank) {
  spectrum s = {0};
  int64_t *axes;
  const int64_t *given = tt_low_ints(ctx, dims, &s.count);
  axes = tt_hlo_alloc(ctx->b, s.count + 1, sizeof *axes);
  for (size_t i = 0; axes != NULL && i < s.count; i++)
    s.last = (int)(axes[i] = tt_low_axis(given[i], rank));
  s.axes = axes;
  return s;
}

static bool is_empty(const tt_hlo_value *x) {
  for (int i = 0; i < tt_hlo_rank(x); i++)
    if (x->type.dims[i] == 0)
      return true;
  return false;
}

/* Complex transforms along all axes but `skip`. */
static tt_hlo_value *complex_along(tt_low_ctx *ctx, tt_hlo_value *x, const spectrum *s, int skip,
                                   bool inverse) {
  for (size_t i = 0; i < s->count; i++) {
    int axis = (int)s->axes[i];
    if (axis != skip)
      x = along(ctx, x, axis, inverse ? TT_HLO_FFT_IFFT : TT_HLO_FFT_FFT, x->type.dims[axis]);
  }
  return x;
}

/* Points of the transform: the product of its axes, the last of which is `last_size` long. */
static double points(const tt_hlo_value *x, const spectrum *s, int64_t last_size) {
  double count = 1;
  for (size_t i = 0; i < s->count; i++)
    count *= s->axes[i] == s->last ? (double)last_size : (double)x->type.dims[s->axes[i]];
  return count;
}

static bool set_trivial(tt_low_ctx *ctx, const spectrum *s, tt_hlo_value *x,
                        tt_low_value *results) {
  size_t rank = 0;
  if (!is_empty(x) && s->count != 0)
    return false;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank);
  tt_dtype dtype = tt_low_wanted_dtype(ctx, 0, tt_hlo_dtype(x));
  tt_low_set(&results[0],
             s->count == 0 ? x : tt_hlo_full(ctx->b, tt_hlo_const(ctx->b, dtype, 0), dims, rank));
  return true;
}

/* (self, dim, normalization, forward) */
static tt_error *lower_c2c(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor;
  bool inverse = !tt_low_bool(ctx, &args[3], true);
  spectrum s = axes_of(ctx, &args[1], tt_hlo_rank(x));
  if (set_trivial(ctx, &s, x, results))
    return NULL;
  double count = points(x, &s, x->type.dims[s.last]);
  x = complex_along(ctx, x, &s, -1, inverse);
  tt_low_set(&results[0], scaled(ctx, x, count, tt_low_int(ctx, &args[2], PLAIN), inverse));
  return NULL;
}

/* (self, dim, normalization, onesided): forward, of real numbers */
static tt_error *lower_r2c(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor;
  spectrum s = axes_of(ctx, &args[1], tt_hlo_rank(x));
  if (set_trivial(ctx, &s, x, results))
    return NULL;
  int64_t size = x->type.dims[s.last];
  double count = points(x, &s, size);
  if (tt_low_bool(ctx, &args[3], true))
    x = complex_along(ctx, along(ctx, x, s.last, TT_HLO_FFT_RFFT, size), &s, s.last, false);
  else
    x = complex_along(ctx, tt_hlo_complex(ctx->b, x, tt_hlo_const_like(ctx->b, x, 0)), &s, -1,
                      false);
  tt_low_set(&results[0], scaled(ctx, x, count, tt_low_int(ctx, &args[2], PLAIN), false));
  return NULL;
}

/* (self, dim, normalization, last_dim_size): inverse, to real numbers */
static tt_error *lower_c2r(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  tt_hlo_value *x = args[0].tensor;
  spectrum s = axes_of(ctx, &args[1], tt_hlo_rank(x));
  if (set_trivial(ctx, &s, x, results))
    return NULL;
  int64_t size = tt_low_int(ctx, &args[3], 1);
  double count = points(x, &s, size);
  x = along(ctx, complex_along(ctx, x, &s, s.last, true), s.last, TT_HLO_FFT_IRFFT, size);
  tt_low_set(&results[0], scaled(ctx, x, count, tt_low_int(ctx, &args[2], PLAIN), true));
  return NULL;
}

const tt_low_rule tt_low_rules_fft[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/fft.def"
#undef X
};
const size_t tt_low_rules_fft_count = TT_COUNT(tt_low_rules_fft);
