/* Random numbers, element by element. Rows are the functional forms of uniform_, normal_, random_,
 * ...: the first argument gives dims and dtype. Numbers are drawn in f32 (f64 for f64) and
 * converted; they are not those of the CPU's generator. */
#include <math.h>

#include "lower/rules/helpers_reduction.h"
#include "lower/rules/rules.h"

enum { UNIFORM, NORMAL, EXPONENTIAL, CAUCHY, LOG_NORMAL, GEOMETRIC };

/* What a row fills: dims and dtype of its result. */
typedef struct canvas {
  const tt_hlo_dim *dims;
  size_t rank;
  tt_dtype dtype; /* of the result */
  tt_dtype real;  /* drawn in: f64 for f64 and c128, else f32 */
} canvas;

static canvas canvas_of(tt_low_ctx *ctx, const tt_low_value *self) {
  canvas c = {0};
  if (self != NULL) {
    c.dims = tt_hlo_dims_of(ctx->b, self->tensor);
    c.rank = (size_t)tt_hlo_rank(self->tensor);
    c.dtype = tt_low_wanted_dtype(ctx, 0, tt_hlo_dtype(self->tensor));
  } else {
    c.dims = tt_low_wanted_dims(ctx, 0, &c.rank);
    c.dtype = tt_low_wanted_dtype(ctx, 0, ctx->default_dtype);
  }
  c.real = tt_dtype_real(c.dtype) == TT_F64 ? TT_F64 : TT_F32;
  return c;
}

static tt_hlo_value *uniform(tt_low_ctx *ctx, const canvas *c) {
  return tt_low_random_uniform(ctx, c->real, c->dims, c->rank);
}

/* a + b x with scalars a and b of any argument kind */
static tt_hlo_value *affine(tt_low_ctx *ctx, const tt_low_value *a, const tt_low_value *b,
                            tt_hlo_value *x, double a0, double b0) {
  tt_dtype dtype = tt_hlo_dtype(x);
  tt_hlo_value *scaled = tt_low_with(ctx, TT_HLO_MULTIPLY, x, tt_low_number(ctx, b, dtype, b0));
  return tt_low_with(ctx, TT_HLO_ADD, scaled, tt_low_number(ctx, a, dtype, a0));
}

/* from + (to - from) u; a result that rounds up to `to` gives `from`, as `to` is excluded */
static tt_hlo_value *draw_uniform(tt_low_ctx *ctx, const canvas *c, const tt_low_value *args) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *from = tt_low_number(ctx, &args[0], c->real, 0),
               *to = tt_low_number(ctx, &args[1], c->real, 1);
  tt_hlo_value *x = tt_low_with(ctx, TT_HLO_MULTIPLY, uniform(ctx, c), tt_hlo_sub(b, to, from));
  x = tt_hlo_convert(b, tt_low_with(ctx, TT_HLO_ADD, x, from), c->dtype);
  tt_hlo_value *low = tt_hlo_broadcast_like(b, tt_hlo_convert(b, from, c->dtype), x);
  tt_hlo_value *high = tt_hlo_broadcast_like(b, tt_hlo_convert(b, to, c->dtype), x);
  return tt_hlo_select(b, tt_hlo_compare(b, TT_HLO_EQ, x, high), low, x);
}

/* Standard normal; complex: each part with variance 1/2. */
static tt_hlo_value *standard_normal(tt_low_ctx *ctx, const canvas *c) {
  tt_hlo_value *x = tt_low_random_normal(ctx, c->real, c->dims, c->rank);
  if (!tt_dtype_is_complex(c->dtype))
    return x;
  tt_hlo_value *y = tt_low_random_normal(ctx, c->real, c->dims, c->rank);
  x = tt_low_with_const(ctx, TT_HLO_MULTIPLY, x, 0.70710678118654752);
  y = tt_low_with_const(ctx, TT_HLO_MULTIPLY, y, 0.70710678118654752);
  return tt_hlo_complex(ctx->b, x, y);
}

/* -log(1 - u) / lambda, never 0: u = 0 counts as half an ulp of 1 */
static tt_hlo_value *draw_exponential(tt_low_ctx *ctx, const canvas *c) {
  tt_hlo_build *b = ctx->b;
  double tiny = c->real == TT_F64 ? 0x1p-54 : 0x1p-25;
  tt_hlo_value *u = tt_hlo_max(b, uniform(ctx, c),
                               tt_hlo_full(b, tt_hlo_const(b, c->real, tiny), c->dims, c->rank));
  return tt_hlo_neg(b, tt_hlo_log1p(b, tt_hlo_neg(b, u)));
}

/* ceil(log u / log(1 - p)), u in (0, 1], at least 1 */
static tt_hlo_value *draw_geometric(tt_low_ctx *ctx, const canvas *c, const tt_low_value *p) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *log_u = tt_hlo_log1p(b, tt_hlo_neg(b, uniform(ctx, c)));
  tt_hlo_value *log_q = tt_hlo_log1p(b, tt_hlo_neg(b, tt_low_number(ctx, p, c->real, 0.5)));
  tt_hlo_value *trials = tt_hlo_op1(b, TT_HLO_CEIL, tt_low_with(ctx, TT_HLO_DIVIDE, log_u, log_q));
  return tt_hlo_max(b, trials, tt_hlo_const_like(b, trials, 1));
}

/* (self, two parameters or one, generator) */
static tt_error *lower_fill(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_low_value *results) {
  (void)args_count;
  canvas c = canvas_of(ctx, &args[0]);
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *x = NULL;
  switch (ctx->rule->data) {
    case UNIFORM:
      x = draw_uniform(ctx, &c, &args[1]);
      break;
    case NORMAL:
      x = affine(ctx, &args[1], &args[2], standard_normal(ctx, &c), 0, 1);
      break;
    case LOG_NORMAL:
      x = tt_hlo_exp(b, affine(ctx, &args[1], &args[2], standard_normal(ctx, &c), 1, 2));
      break;
    case EXPONENTIAL:
      x = tt_low_with(ctx, TT_HLO_DIVIDE, draw_exponential(ctx, &c),
                      tt_low_number(ctx, &args[1], c.real, 1));
      break;
    case CAUCHY: /* median + sigma tan(pi (u - 1/2)) */
      x = tt_low_with_const(ctx, TT_HLO_SUBTRACT, uniform(ctx, &c), 0.5);
      x = tt_hlo_tan(b, tt_low_with_const(ctx, TT_HLO_MULTIPLY, x, 3.14159265358979324));
      x = affine(ctx, &args[1], &args[2], x, 0, 1);
      break;
    default:
      x = draw_geometric(ctx, &c, &args[1]);
      break;
  }
  tt_low_set(&results[0], x);
  return NULL;
}

/* rand, randn and their _like forms: data says uniform or normal, self gives the dims where it is a
 * tensor */
static tt_error *lower_standard(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                tt_low_value *results) {
  (void)args_count;
  canvas c = canvas_of(ctx, tt_low_is_tensor(&args[0]) ? &args[0] : NULL);
  const tt_low_value none[2] = {{.kind = TT_LOW_NONE}, {.kind = TT_LOW_NONE}};
  tt_low_set(&results[0],
             ctx->rule->data == NORMAL ? standard_normal(ctx, &c) : draw_uniform(ctx, &c, none));
  return NULL;
}

/* (mean, std, ...): each a tensor or a number; they broadcast */
static tt_error *lower_normal(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                              tt_low_value *results) {
  (void)args_count;
  canvas c = canvas_of(ctx, NULL);
  tt_hlo_value *x = standard_normal(ctx, &c);
  tt_hlo_value *mean = tt_low_number(ctx, &args[0], tt_hlo_dtype(x), 0);
  tt_hlo_value *std = tt_low_number(ctx, &args[1], tt_hlo_dtype(x), 1);
  tt_low_set(&results[0],
             tt_low_with(ctx, TT_HLO_ADD, tt_low_with(ctx, TT_HLO_MULTIPLY, x, std), mean));
  return NULL;
}

/* ---- bernoulli ---- */

/* u < p with p of `arg`, a tensor or a number */
static tt_error *lower_bernoulli(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                 tt_low_value *results) {
  (void)args_count;
  canvas c = canvas_of(ctx, &args[0]);
  const tt_low_value *p = &args[ctx->rule->data];
  if (tt_low_is_tensor(p) && tt_hlo_dtype(p->tensor) == TT_F64)
    c.real = TT_F64;
  tt_hlo_value *u = uniform(ctx, &c);
  tt_hlo_value *chance = tt_hlo_broadcast_like(ctx->b, tt_low_number(ctx, p, c.real, 0.5), u);
  tt_low_set(&results[0], tt_hlo_compare(ctx->b, TT_HLO_LT, u, chance));
  return NULL;
}

/* ---- integers ---- */

/* low + bits mod range, range 0 standing for 2^64. The modulo's bias is below 2^-16: 64 bits are
 * drawn for wide ranges. */
static tt_hlo_value *draw_integers(tt_low_ctx *ctx, const canvas *c, int64_t low, uint64_t range) {
  tt_hlo_build *b = ctx->b;
  if (range != 0 && range <= 0x10000u) {
    tt_hlo_value *bits = tt_low_random_bits(ctx, TT_U32, c->dims, c->rank);
    tt_hlo_value *modulus =
        tt_hlo_broadcast_like(b, tt_hlo_const_int(b, TT_U32, (int64_t)range), bits);
    bits = tt_hlo_convert(b, tt_hlo_rem(b, bits, modulus), TT_S32);
    if (low >= INT32_MIN && low + (int64_t)range <= INT32_MAX)
      return tt_hlo_add(b, bits, tt_hlo_broadcast_like(b, tt_hlo_const_int(b, TT_S32, low), bits));
    bits = tt_hlo_convert(b, bits, TT_S64);
    return tt_hlo_add(b, bits, tt_hlo_broadcast_like(b, tt_hlo_const_int(b, TT_S64, low), bits));
  }
  tt_hlo_value *bits = tt_low_random_bits(ctx, TT_U64, c->dims, c->rank);
  if (range != 0)
    bits = tt_hlo_rem(b, bits,
                      tt_hlo_broadcast_like(b, tt_hlo_const_int(b, TT_U64, (int64_t)range), bits));
  bits = tt_hlo_convert(b, bits, TT_S64);
  return tt_hlo_add(b, bits, tt_hlo_broadcast_like(b, tt_hlo_const_int(b, TT_S64, low), bits));
}

/* The largest integer up to which every integer is a value of `dtype`, as random_ has it. */
static int64_t last_integer(tt_dtype dtype) {
  switch (dtype) {
    case TT_PRED:
      return 1;
    case TT_S8:
      return INT8_MAX;
    case TT_U8:
      return UINT8_MAX;
    case TT_S16:
      return INT16_MAX;
    case TT_U16:
      return UINT16_MAX;
    case TT_S32:
      return INT32_MAX;
    case TT_U32:
      return UINT32_MAX;
    case TT_BF16:
      return 1 << 8;
    case TT_F16:
      return 1 << 11;
    case TT_F32:
      return 1 << 24;
    case TT_F64:
      return (int64_t)1 << 53;
    default:
      return INT64_MAX;
  }
}

/* data: which of `from` and `to` the arguments hold, and whether they begin with a tensor that
 * gives the dims: (self, from, to), (self, to), (self), (high, size), (low, high, size), (self,
 * high), (self, low, high) */
enum { FROM_TO = 1, TO = 2, FULL = 3, HIGH = 4, LOW_HIGH = 5, LIKE_HIGH = 6, LIKE_LOW_HIGH = 7 };

static tt_error *lower_integers(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                tt_low_value *results) {
  (void)args_count;
  int64_t form = ctx->rule->data;
  canvas c = canvas_of(ctx, form == HIGH || form == LOW_HIGH ? NULL : &args[0]);
  const tt_low_value *from = form == FROM_TO || form == LIKE_LOW_HIGH ? &args[1]
                             : form == LOW_HIGH                       ? &args[0]
                                                                      : NULL;
  const tt_low_value *to = form == FROM_TO || form == LIKE_LOW_HIGH ? &args[2]
                           : form == HIGH                           ? &args[0]
                           : form == FULL                           ? NULL
                                                                    : &args[1];
  int64_t low = from != NULL ? tt_low_int(ctx, from, 0) : 0;
  uint64_t range = (uint64_t)last_integer(c.dtype) - (uint64_t)low + 1;
  if (to != NULL && !tt_low_is_none(to))
    range = (uint64_t)tt_low_int(ctx, to, 1) - (uint64_t)low;
  if (ctx->needs_constant)
    range = 1;
  tt_low_set(&results[0], draw_integers(ctx, &c, low, range));
  return NULL;
}

/* (n, ...): the order that random keys sort into; two keys that meet keep their order, so wide keys
 * for a long one */
static tt_error *lower_randperm(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                tt_low_value *results) {
  (void)args_count;
  (void)args;
  canvas c = canvas_of(ctx, NULL);
  bool wide = c.dims == NULL || c.rank != 1 || c.dims[0].value != NULL || c.dims[0].size > 4096;
  tt_hlo_value *keys = tt_low_random_bits(ctx, wide ? TT_U64 : TT_U32, c.dims, c.rank), *order;
  tt_low_sort_indexed(ctx, keys, 0, &keys, &order);
  tt_low_set(&results[0], order);
  return NULL;
}

/* ---- rrelu ---- */

/* (self, noise, lower, upper, training, generator) -> (out, noise): each x <= 0 is scaled by a
 * slope of its own, which noise keeps (1 where x > 0); in evaluation by the middle slope */
static tt_error *lower_rrelu(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                             tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  canvas c = canvas_of(ctx, &args[0]);
  tt_hlo_value *x = tt_low_tensor(ctx, &args[0], tt_low_opmath(c.dtype)),
               *one = tt_hlo_const_like(b, x, 1);
  tt_hlo_value *negative = tt_low_compare_const(ctx, TT_HLO_LE, x, 0);
  if (tt_low_bool(ctx, &args[4], false)) {
    tt_hlo_value *slope = tt_hlo_convert(b, draw_uniform(ctx, &c, &args[2]), tt_hlo_dtype(x));
    slope = tt_hlo_select(b, negative, slope, one);
    tt_low_set(&results[0], tt_hlo_mul(b, x, slope));
    tt_low_set(&results[1], slope);
    return NULL;
  }
  tt_hlo_value *sum = tt_hlo_add(b, tt_low_number(ctx, &args[2], tt_hlo_dtype(x), 0.125),
                                 tt_low_number(ctx, &args[3], tt_hlo_dtype(x), 1.0 / 3));
  tt_hlo_value *slope = tt_low_with_const(ctx, TT_HLO_MULTIPLY, sum, 0.5);
  tt_low_set(&results[0],
             tt_hlo_select(b, negative, tt_low_with(ctx, TT_HLO_MULTIPLY, x, slope), x));
  tt_low_set(&results[1], args[1].tensor);
  return NULL;
}

const tt_low_rule tt_low_rules_random[] = {
#define X(overload, function, traits, data) \
  {overload, lower_##function, TT_LOW_RANDOM | (traits), data, NULL},
#include "lower/rules/random.def"
#undef X
};
const size_t tt_low_rules_random_count = TT_COUNT(tt_low_rules_random);
