/* segment_reduce: stretches of an axis, given by lengths or by offsets, reduced to one element
 * each.
 *
 * data [*batch, L, *rest] with lengths [*batch, S]: each position finds its segment among the
 * running ends, and goes by scatter into [*batch, S, *rest]. */
#include <math.h>
#include <string.h>

#include "lower/rules/helpers_indexing.h"
#include "lower/rules/helpers_pointwise.h"
#include "lower/rules/rules.h"

typedef enum kind { SUM, MEAN, MAX, MIN, PROD } kind;

typedef struct segments {
  int64_t batch, length, count, rest; /* B L S R */
  kind what;
  tt_hlo_value *data;    /* [B L, R] */
  tt_hlo_value *place;   /* s32 [B L]: the row of [B S] that a position belongs to; B S for none */
  tt_hlo_value *lengths; /* of data's dtype, [B S, R] */
} segments;

static kind kind_of(tt_low_ctx *ctx, const tt_low_value *reduce) {
  static const char *const names[] = {"sum", "mean", "max", "min", "prod"};
  const char *name = reduce->kind == TT_LOW_STRING ? reduce->string : "";
  for (size_t i = 0; i < TT_COUNT(names); i++)
    if (strcmp(name, names[i]) == 0)
      return (kind)i;
  tt_hlo_fail(ctx->b, TT_INVALID_ARGUMENT, "%s: unknown reduction %s", ctx->rule->overload, name);
  return SUM;
}

/* x as [rows, R] */
static tt_hlo_value *rows_of(tt_low_ctx *ctx, tt_hlo_value *x, int64_t rows, int64_t rest) {
  const int64_t dims[2] = {rows, rest};
  return tt_hlo_reshape_numbers(ctx->b, x, dims, 2);
}

/* Starts and ends of each segment, s32 [B, S], from lengths [.., S] or offsets [.., S + 1] */
static void edges_of(tt_low_ctx *ctx, segments *s, const tt_low_value *lengths,
                     const tt_low_value *offsets, tt_hlo_value **out_starts,
                     tt_hlo_value **out_ends) {
  tt_hlo_build *b = ctx->b;
  bool by_lengths = tt_low_is_tensor(lengths);
  tt_hlo_value *given = tt_hlo_convert(b, by_lengths ? lengths->tensor : offsets->tensor, TT_S32);
  int64_t n = tt_low_size(ctx, given, tt_hlo_rank(given) - 1);
  given = rows_of(ctx, given, s->batch, n);
  s->count = by_lengths ? n : n - 1;
  if (!by_lengths) {
    *out_starts = tt_hlo_slice_axis(b, given, 1, 0, n - 1, 1);
    *out_ends = tt_hlo_slice_axis(b, given, 1, 1, n, 1);
    return;
  }
  *out_ends = given; /* running sums: each step adds what stands 1, 2, 4, ... before */
  for (int64_t step = 1; step < n; step *= 2)
    *out_ends = tt_hlo_add(
        b, *out_ends,
        tt_low_pad_axis(ctx, *out_ends, tt_hlo_const_int(b, TT_S32, 0), 1, step, -step, 0));
  *out_starts = tt_hlo_sub(b, *out_ends, given);
}

/* s32 [B L], from the segments' edges [B, S]: the first whose end is past the position */
static tt_hlo_value *places_of(tt_low_ctx *ctx, const segments *s, tt_hlo_value *starts,
                               tt_hlo_value *ends) {
  tt_hlo_build *b = ctx->b;
  const tt_hlo_dim dims[2] = {tt_hlo_dim_number(s->batch), tt_hlo_dim_number(s->length)};
  const int64_t flat[1] = {s->batch * s->length};
  tt_hlo_value *position = tt_hlo_iota(b, TT_S32, dims, 2, 1),
               *row = tt_hlo_iota(b, TT_S32, dims, 2, 0);
  tt_hlo_value *segment = tt_low_search(ctx, ends, position, true);
  tt_hlo_value *first = tt_hlo_squeeze(b, tt_hlo_slice_axis(b, starts, 1, 0, 1, 1), 1);
  tt_hlo_value *in = tt_low_compare_const(ctx, TT_HLO_LT, segment, (double)s->count);
  in = tt_hlo_and(b, in,
                  tt_hlo_compare(b, TT_HLO_GE, position, tt_low_along(ctx, first, position, 0)));
  segment = tt_hlo_add(b, tt_low_mul_number(b, row, (double)s->count), segment);
  segment = tt_low_select_number(b, tt_hlo_not(b, in), (double)(s->batch * s->count), segment);
  return tt_hlo_reshape_numbers(b, segment, flat, 1);
}

/* data, and what each row of it belongs to */
static segments segments_of(tt_low_ctx *ctx, const tt_low_value *data, const tt_low_value *reduce,
                            const tt_low_value *lengths, const tt_low_value *offsets, int axis) {
  tt_hlo_build *b = ctx->b;
  segments s = {.batch = 1, .rest = 1, .what = kind_of(ctx, reduce)};
  tt_hlo_value *x = tt_low_tensor(ctx, data, tt_low_opmath(tt_hlo_dtype(data->tensor))), *starts,
               *ends;
  for (int i = 0; i < tt_hlo_rank(x); i++)
    *(i < axis    ? &s.batch
      : i == axis ? &s.length
                  : &s.rest) *= i == axis ? 1 : tt_low_size(ctx, x, i);
  s.length = tt_low_size(ctx, x, axis);
  s.data = rows_of(ctx, x, s.batch * s.length, s.rest);
  edges_of(ctx, &s, lengths, offsets, &starts, &ends);
  const tt_hlo_dim dims[2] = {tt_hlo_dim_number(s.batch * s.count), tt_hlo_dim_number(s.rest)};
  s.lengths = tt_hlo_convert(b, tt_hlo_sub(b, ends, starts), tt_hlo_dtype(x));
  s.lengths = tt_hlo_broadcast_to(b, rows_of(ctx, s.lengths, s.batch * s.count, 1), dims, 2);
  s.place = s.count != 0 ? places_of(ctx, &s, starts, ends) : NULL;
  return s;
}

/* `x` [B L, R] combined into rows [B S, R] that start as `init` */
static tt_hlo_value *gathered(tt_low_ctx *ctx, const segments *s, tt_hlo_value *x,
                              tt_hlo_value *init, tt_hlo_combine combine) {
  tt_hlo_value *rows = tt_hlo_broadcast_like(ctx->b, init, s->lengths);
  return s->place != NULL ? tt_low_put_rows(ctx, rows, s->place, x, 0, combine) : rows;
}

/* For each position its segment's row of `x` [B S, R] */
static tt_hlo_value *spread(tt_low_ctx *ctx, const segments *s, tt_hlo_value *x) {
  return s->place != NULL ? tt_hlo_take(ctx->b, x, s->place, 0) : s->data;
}

/* (data, reduce, lengths, indices, offsets, axis, unsafe, initial). An empty segment is the initial
 * value, by default the reduction's identity; a mean's without one is NaN. */
static tt_error *lower_segment_reduce(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                      tt_low_value *results) {
  (void)args_count;
  static const double identities[] = {
      [SUM] = 0, [MEAN] = 0, [MAX] = -INFINITY, [MIN] = INFINITY, [PROD] = 1};
  static const tt_hlo_combine combines[] = {[SUM] = TT_HLO_COMBINE_ADD,
                                            [MEAN] = TT_HLO_COMBINE_ADD,
                                            [MAX] = TT_HLO_COMBINE_MAX,
                                            [MIN] = TT_HLO_COMBINE_MIN,
                                            [PROD] = TT_HLO_COMBINE_MUL};
  tt_hlo_build *b = ctx->b;
  int axis = tt_low_axis(tt_low_int(ctx, &args[5], 0), tt_hlo_rank(args[0].tensor));
  segments s = segments_of(ctx, &args[0], &args[1], &args[2], &args[4], axis);
  tt_hlo_value *init = tt_low_number(ctx, &args[7], tt_hlo_dtype(s.data), identities[s.what]);
  tt_hlo_value *out = gathered(ctx, &s, s.data, init, combines[s.what]);
  if (s.what == MEAN) {
    tt_hlo_value *none = tt_low_is_zero(b, s.lengths), *mean = tt_hlo_div(b, out, s.lengths);
    out = tt_hlo_select(b, none, tt_low_is_none(&args[7]) ? tt_hlo_const_like(b, out, NAN) : out,
                        mean);
  }
  tt_low_set_fit(ctx, results, 0, out);
  return NULL;
}

/* The gradient goes to all the elements that are the extreme, in equal parts. */
static tt_hlo_value *extreme_slope(tt_low_ctx *ctx, const segments *s, tt_hlo_value *output) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_hlo_dtype(s->data);
  tt_hlo_value *same = tt_hlo_compare(b, TT_HLO_EQ, s->data, spread(ctx, s, output));
  same = tt_hlo_convert(b, tt_hlo_or(b, same, tt_low_is_nan(ctx, s->data)), dtype);
  tt_hlo_value *count = gathered(ctx, s, same, tt_hlo_const(b, dtype, 0), TT_HLO_COMBINE_ADD);
  return tt_hlo_div(b, same, tt_low_max_number(b, spread(ctx, s, count), 1));
}

/* The product of the others: output / x; with one zero among them only that element has a gradient.
 */
static tt_hlo_value *product_slope(tt_low_ctx *ctx, const segments *s, tt_hlo_value *init) {
  tt_hlo_build *b = ctx->b;
  tt_dtype dtype = tt_hlo_dtype(s->data);
  tt_hlo_value *zero = tt_low_is_zero(b, s->data),
               *nonzero = tt_low_select_number(b, zero, 1, s->data);
  tt_hlo_value *zeros = gathered(ctx, s, tt_hlo_convert(b, zero, dtype), tt_hlo_const(b, dtype, 0),
                                 TT_HLO_COMBINE_ADD);
  tt_hlo_value *product = spread(ctx, s, gathered(ctx, s, nonzero, init, TT_HLO_COMBINE_MUL));
  zeros = spread(ctx, s, zeros);
  tt_hlo_value *others = tt_hlo_sub(b, zeros, tt_hlo_convert(b, zero, dtype));
  return tt_low_select_number(b, tt_low_compare_number(b, TT_HLO_GT, others, 0), 0,
                              tt_hlo_div(b, product, nonzero));
}

/* (grad, output, data, reduce, lengths, offsets, axis, initial) */
static tt_error *lower_segment_reduce_backward(tt_low_ctx *ctx, const tt_low_value *args,
                                               size_t args_count, tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  int axis = tt_low_axis(tt_low_int(ctx, &args[6], 0), tt_hlo_rank(args[2].tensor));
  segments s = segments_of(ctx, &args[2], &args[3], &args[4], &args[5], axis);
  tt_dtype dtype = tt_hlo_dtype(s.data);
  tt_hlo_value *grad = rows_of(ctx, tt_low_tensor(ctx, &args[0], dtype), s.batch * s.count, s.rest);
  tt_hlo_value *output =
      rows_of(ctx, tt_low_tensor(ctx, &args[1], dtype), s.batch * s.count, s.rest);
  tt_hlo_value *dx = spread(ctx, &s, grad);
  if (s.what == MEAN)
    dx = tt_hlo_div(b, dx, spread(ctx, &s, s.lengths));
  else if (s.what == MAX || s.what == MIN)
    dx = tt_hlo_mul(b, dx, extreme_slope(ctx, &s, output));
  else if (s.what == PROD)
    dx = tt_hlo_mul(b, dx, product_slope(ctx, &s, tt_low_number(ctx, &args[7], dtype, 1)));
  if (s.place != NULL) { /* positions in no segment have no gradient */
    tt_hlo_value *in = tt_low_compare_number(b, TT_HLO_LT, s.place, (double)(s.batch * s.count));
    dx = tt_low_select_number(b, tt_hlo_not(b, tt_low_along(ctx, in, dx, 0)), 0, dx);
  } else {
    dx = tt_hlo_const_like(b, s.data, 0);
  }
  tt_low_set_fit(ctx, results, 0, dx);
  return NULL;
}

const tt_low_rule tt_low_rules_segment[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/segment.def"
#undef X
};
const size_t tt_low_rules_segment_count = TT_COUNT(tt_low_rules_segment);
