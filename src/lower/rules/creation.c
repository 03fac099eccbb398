/* Tensors made of numbers. Sizes and dtypes are those that are wanted; numbers may be promoted
 * scalars. */
#include "lower/rules/helpers_indexing.h"
#include "lower/rules/rules.h"

enum { ZEROS = -1, ONES = -2 };

TT_LOW_RULE(filled) {
  size_t rank;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank);
  tt_dtype dtype = tt_low_wanted_dtype(ctx, 0, ctx->default_dtype);
  int64_t at = ctx->rule->data;
  tt_hlo_value *value = at >= 0 ? tt_low_number(ctx, &args[at], dtype, 0)
                                : tt_hlo_const(ctx->b, dtype, at == ONES ? 1 : 0);
  tt_low_set(&results[0], tt_hlo_full(ctx->b, value, dims, rank));
  return NULL;
}

/* 0, 1, 2, ... with the wanted dims, which have one axis. */
static tt_hlo_value *counting(tt_low_ctx *ctx, tt_dtype dtype) {
  size_t rank;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank);
  return tt_hlo_convert(ctx->b, tt_hlo_iota(ctx->b, tt_dtype_real(dtype), dims, rank, 0), dtype);
}

/* start + i * step in the result's dtype, 16-bit floats in f32. */
TT_LOW_RULE(arange) {
  int64_t numbers = ctx->rule->data;
  tt_dtype dtype = tt_low_opmath(tt_low_wanted_dtype(ctx, 0, ctx->default_dtype));
  tt_hlo_value *x = counting(ctx, dtype);
  if (numbers == 3 && !tt_low_scalar_is(&args[2], 1))
    x = tt_low_with(ctx, TT_HLO_MULTIPLY, x, tt_low_number(ctx, &args[2], dtype, 1));
  if (numbers >= 2 && !tt_low_scalar_is(&args[0], 0))
    x = tt_low_with(ctx, TT_HLO_ADD, x, tt_low_number(ctx, &args[0], dtype, 0));
  tt_low_set(&results[0], x);
  return NULL;
}

TT_LOW_RULE(eye) {
  size_t rank;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank);
  tt_hlo_value *row = tt_hlo_iota(ctx->b, TT_S32, dims, rank, 0),
               *column = tt_hlo_iota(ctx->b, TT_S32, dims, rank, 1);
  tt_low_set(&results[0], tt_hlo_compare(ctx->b, TT_HLO_EQ, row, column));
  return NULL;
}

/* Integers go through f64, where PyTorch's steps are doubles too. */
static tt_dtype space_dtype(const tt_low_ctx *ctx) {
  tt_dtype dtype = tt_low_opmath(tt_low_wanted_dtype(ctx, 0, ctx->default_dtype));
  return tt_dtype_is_integer(dtype) ? TT_F64 : dtype;
}

/* The first half counts up from the start, the second down from the end, as PyTorch does, so that
 * both are exact. */
static tt_hlo_value *line_of(tt_low_ctx *ctx, const tt_low_value *args, tt_dtype dtype) {
  int64_t steps = tt_low_int(ctx, &args[2], 1);
  tt_hlo_value *start = tt_low_number(ctx, &args[0], dtype, 0),
               *end = tt_low_number(ctx, &args[1], dtype, 0);
  tt_hlo_value *i = counting(ctx, dtype), *step, *up, *down, *half;
  if (tt_dtype_is_integer(
          tt_low_wanted_dtype(ctx, 0, ctx->default_dtype))) { /* ends are integers first */
    start = tt_hlo_convert(ctx->b, tt_hlo_convert(ctx->b, start, TT_S64), dtype);
    end = tt_hlo_convert(ctx->b, tt_hlo_convert(ctx->b, end, TT_S64), dtype);
  }
  if (steps <= 1)
    return tt_hlo_broadcast_like(ctx->b, start, i);
  step = tt_low_with_const(ctx, TT_HLO_DIVIDE, tt_hlo_sub(ctx->b, end, start), (double)(steps - 1));
  up = tt_low_with(ctx, TT_HLO_ADD, tt_low_with(ctx, TT_HLO_MULTIPLY, i, step), start);
  down = tt_low_with_const(ctx, TT_HLO_SUBTRACT, i, (double)(steps - 1));
  down = tt_low_with(ctx, TT_HLO_ADD, tt_low_with(ctx, TT_HLO_MULTIPLY, down, step), end);
  half = tt_low_compare_const(ctx, TT_HLO_LT, counting(ctx, TT_S32), (double)(steps / 2));
  return tt_hlo_select(ctx->b, half, up, down);
}

TT_LOW_RULE(linspace) {
  tt_low_set(&results[0], line_of(ctx, args, space_dtype(ctx)));
  return NULL;
}

/* base ^ line */
TT_LOW_RULE(logspace) {
  tt_dtype dtype = space_dtype(ctx);
  tt_hlo_value *line = line_of(ctx, args, dtype);
  tt_hlo_value *base = tt_hlo_broadcast_like(ctx->b, tt_low_number(ctx, &args[3], dtype, 10), line);
  tt_low_set(&results[0], tt_hlo_pow(ctx->b, base, line));
  return NULL;
}

/* (row, col, offset): the places of the elements of a triangle, row by row, as [2, n]. */
TT_LOW_RULE(triangle_indices) {
  int64_t rows = tt_low_int(ctx, &args[0], 0), columns = tt_low_int(ctx, &args[1], 0),
          offset = tt_low_int(ctx, &args[2], 0);
  size_t rank;
  const tt_hlo_dim *wanted = tt_low_wanted_dims(ctx, 0, &rank);
  tt_hlo_dim dims[2] = {tt_hlo_dim_number(rows), tt_hlo_dim_number(columns)};
  tt_hlo_value *row = tt_hlo_iota(ctx->b, TT_S32, dims, 2, 0),
               *column = tt_hlo_iota(ctx->b, TT_S32, dims, 2, 1);
  tt_hlo_value *mask = tt_hlo_sub(ctx->b, column, row), *place, *parts[2];
  if (rank != 2 || wanted[1].value != NULL || wanted[1].size == 0 || rows * columns == 0) {
    tt_low_set(&results[0], tt_low_zeros(ctx, TT_S64, wanted, rank));
    return NULL;
  }
  mask = tt_low_compare_const(ctx, (tt_hlo_direction)ctx->rule->data, mask, (double)offset);
  place = tt_low_true_positions(ctx, tt_low_flat(ctx, mask), wanted[1].size, 0, NULL);
  parts[0] =
      tt_hlo_unsqueeze(ctx->b, tt_low_with_const(ctx, TT_HLO_DIVIDE, place, (double)columns), 0);
  parts[1] =
      tt_hlo_unsqueeze(ctx->b, tt_low_with_const(ctx, TT_HLO_REMAINDER, place, (double)columns), 0);
  tt_low_set(&results[0], tt_hlo_concat(ctx->b, parts, 2, 0));
  return NULL;
}

const tt_low_rule tt_low_rules_creation[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/creation.def"
#undef X
};
const size_t tt_low_rules_creation_count = TT_COUNT(tt_low_rules_creation);
