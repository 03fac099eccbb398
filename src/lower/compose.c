#include <math.h>

#include "lower/rule.h"

/* One axis of a broadcast: 1 gives way, equal sizes stay, an unknown size wins over 1 and meets a
 * number as it. */
static tt_hlo_dim join_dims(tt_low_ctx *ctx, tt_hlo_dim x, tt_hlo_dim y) {
  if (x.value == NULL && x.size == 1)
    return y;
  if ((y.value == NULL && y.size == 1) || x.value != NULL || y.value != NULL || x.size == y.size)
    return x.value != NULL && y.value == NULL && y.size != 1 ? y : x;
  tt_hlo_fail(ctx->b, TT_INVALID_ARGUMENT, "sizes %lld and %lld do not broadcast",
              (long long)x.size, (long long)y.size);
  return x;
}

void tt_low_broadcast_n(tt_low_ctx *ctx, tt_hlo_value **xs, size_t count) {
  size_t rank = 0;
  tt_hlo_dim *dims;
  bool same = true;
  for (size_t i = 0; i < count; i++) {
    rank = (size_t)xs[i]->type.rank > rank ? (size_t)xs[i]->type.rank : rank;
    for (int axis = 0; same && axis < xs[i]->type.rank; axis++)
      same = xs[i]->type.rank == xs[0]->type.rank &&
             xs[i]->type.dims[axis] == xs[0]->type.dims[axis] &&
             xs[i]->type.dims[axis] != TT_HLO_DYNAMIC;
    same = same && xs[i]->type.rank == xs[0]->type.rank;
  }
  if (same || ctx->b->err != NULL)
    return;
  dims = tt_hlo_alloc(ctx->b, rank, sizeof *dims);
  for (size_t i = 0; dims != NULL && i < rank; i++)
    dims[i] = tt_hlo_dim_number(1);
  for (size_t i = 0; dims != NULL && i < count; i++) {
    size_t lead = rank - (size_t)xs[i]->type.rank;
    for (size_t axis = lead; axis < rank; axis++)
      dims[axis] = join_dims(ctx, dims[axis], tt_hlo_dim_of(ctx->b, xs[i], (int)(axis - lead)));
  }
  for (size_t i = 0; dims != NULL && i < count; i++)
    xs[i] = tt_hlo_broadcast_to(ctx->b, xs[i], dims, rank);
}

void tt_low_broadcast2(tt_low_ctx *ctx, tt_hlo_value **x, tt_hlo_value **y) {
  tt_hlo_value *both[] = {*x, *y};
  tt_low_broadcast_n(ctx, both, 2);
  *x = both[0];
  *y = both[1];
}

void tt_low_check(tt_low_ctx *ctx, tt_hlo_value *ok, tt_code code, const char *message) {
  size_t i = ctx->checks_count;
  if (!ctx->debug || i >= TT_COUNT(ctx->checks))
    return;
  ctx->checks[i] = ok;
  ctx->check_codes[i] = code;
  ctx->check_messages[i] = message;
  ctx->checks_count++;
}

/* ---- random numbers ---- */

/* The state of this draw: the call's own state with the offset moved past the blocks drawn before.
 */
static tt_hlo_value *draw_state(tt_low_ctx *ctx) {
  int64_t moved[2] = {0, ctx->rng_blocks};
  if (ctx->rng_blocks == 0)
    return ctx->rng_state;
  return tt_hlo_add(ctx->b, ctx->rng_state, tt_hlo_const_i64s(ctx->b, TT_U64, moved, 2));
}

tt_hlo_value *tt_low_random_bits(tt_low_ctx *ctx, tt_dtype dtype, const tt_hlo_dim *dims,
                                 size_t rank) {
  tt_hlo_value *state, *bits;
  int64_t *sizes = tt_hlo_alloc(ctx->b, rank, sizeof *sizes), count = 1;
  if (sizes == NULL || (dims == NULL && rank != 0))
    return ctx->b->poison;
  if (ctx->rng_state == NULL)
    return tt_hlo_fail(ctx->b, TT_INTERNAL, "%s draws random bits but is not marked RANDOM",
                       ctx->rule->overload);
  for (size_t i = 0; i < rank; i++) {
    if (dims[i].value != NULL)
      return tt_hlo_fail(ctx->b, TT_UNIMPLEMENTED, "%s: random numbers of an unknown size",
                         ctx->rule->overload);
    sizes[i] = dims[i].size;
    count *= dims[i].size;
  }
  tt_hlo_rng_bits(ctx->b, draw_state(ctx), dtype, sizes, rank, &state, &bits);
  ctx->rng_blocks += (count * tt_dtypes[dtype].bits + 127) / 128;
  return bits;
}

tt_hlo_value *tt_low_random_uniform(tt_low_ctx *ctx, tt_dtype dtype, const tt_hlo_dim *dims,
                                    size_t rank) {
  tt_hlo_build *b = ctx->b;
  bool wide = dtype == TT_F64;
  tt_hlo_value *bits = tt_low_random_bits(ctx, wide ? TT_U64 : TT_U32, dims, rank);
  tt_hlo_value *top = tt_hlo_shr(b, bits, tt_hlo_const_like(b, bits, wide ? 11 : 8));
  tt_hlo_value *number = tt_hlo_convert(b, top, wide ? TT_F64 : TT_F32);
  return tt_hlo_mul(b, number, tt_hlo_const_like(b, number, wide ? 0x1p-53 : 0x1p-24));
}

/* Two normals of two uniforms: sqrt(-2 ln(1 - u)) times cos and sin of 2 pi v; 1 - u is never 0. */
tt_hlo_value *tt_low_random_normal(tt_low_ctx *ctx, tt_dtype dtype, const tt_hlo_dim *dims,
                                   size_t rank) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_dim count = tt_hlo_dims_product(b, dims, 0, (int)rank), half;
  tt_hlo_value *u, *v, *radius, *angle, *parts[2], *flat;
  tt_dtype compute = dtype == TT_F64 ? TT_F64 : TT_F32;
  half = tt_hlo_dim_number((count.size + 1) / 2);
  if (count.value != NULL)
    return tt_hlo_fail(b, TT_UNIMPLEMENTED, "%s: random numbers of an unknown size",
                       ctx->rule->overload);
  u = tt_low_random_uniform(ctx, compute, &half, 1);
  v = tt_low_random_uniform(ctx, compute, &half, 1);
  radius = tt_hlo_log1p(b, tt_hlo_neg(b, u));
  radius = tt_hlo_sqrt(b, tt_hlo_mul(b, radius, tt_hlo_const_like(b, radius, -2)));
  angle = tt_hlo_mul(b, v, tt_hlo_const_like(b, v, 6.283185307179586));
  parts[0] = tt_hlo_mul(b, radius, tt_hlo_cos(b, angle));
  parts[1] = tt_hlo_mul(b, radius, tt_hlo_sin(b, angle));
  flat = tt_hlo_slice_axis(b, tt_hlo_concat(b, parts, 2, 0), 0, 0, count.size, 1);
  return tt_hlo_convert(b, tt_hlo_reshape(b, flat, dims, rank), dtype);
}
