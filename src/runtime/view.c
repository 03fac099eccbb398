#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "runtime/internal.h"

/* How a view (sizes, strides, offset) is found in a flat array of `count` elements.
 *
 * The view's axes of size > 1 and stride > 0, sorted by falling stride s1 > s2 > ..., are digits of
 * a mixed-radix number when each stride divides the one before: then the array, seen as [rows,
 * s1/s2, s2/s3, ..., sk], holds the view as a slice, which is transposed and broadcast. Where that
 * does not work from the array's start it may from the view's own first element (`from`); else
 * elements are gathered one by one. */
enum { MAX_RANK = 64 };
typedef struct chain {
  int count;          /* axes of the view that are digits */
  int axes[MAX_RANK]; /* which, by falling stride */
  int64_t radix[MAX_RANK + 1], start[MAX_RANK + 1],
      limit[MAX_RANK + 1]; /* the last one is inside stride sk */
  int64_t from,
      span; /* elements [from, from + span) of the array are seen so; padded past its end */
  bool gather;
} chain;

void tt_rt_view_contiguous_strides(const int64_t *sizes, int32_t rank, int64_t *out_strides) {
  int64_t stride = 1;
  for (int32_t i = rank - 1; i >= 0; i--) {
    out_strides[i] = stride;
    stride *= sizes[i] > 1 ? sizes[i] : 1;
  }
}

/* Axes of size > 1 and stride > 0 by falling stride. */
static int sort_axes(const int64_t *sizes, const int64_t *strides, int32_t rank, int *axes) {
  int count = 0;
  for (int i = 0; i < rank; i++) {
    int at = count;
    if (sizes[i] <= 1 || strides[i] == 0)
      continue;
    for (; at > 0 && strides[axes[at - 1]] < strides[i]; at--)
      axes[at] = axes[at - 1];
    axes[at] = i;
    count++;
  }
  return count;
}

bool tt_rt_dense(const int64_t *sizes, const int64_t *strides, int32_t rank) {
  int axes[MAX_RANK], count;
  int64_t expected = 1;
  if (rank > MAX_RANK)
    return false;
  for (int i = 0; i < rank; i++)
    if (sizes[i] == 0)
      return true;
    else if (sizes[i] > 1 && strides[i] == 0)
      return false;
  count = sort_axes(sizes, strides, rank, axes);
  for (int k = count - 1; k >= 0; k--) {
    if (strides[axes[k]] != expected)
      return false;
    expected *= sizes[axes[k]];
  }
  return true;
}

bool tt_rt_view_covers(const tt_rt_tensor *view, int64_t storage_size) {
  int64_t count, bytes;
  return view->offset == 0 && tt_dims_count(view->sizes, (size_t)view->rank, &count) &&
         tt_mul_i64(count, tt_dtype_bytes(view->dtype), &bytes) && bytes == storage_size &&
         tt_rt_dense(view->sizes, view->strides, view->rank);
}

static bool digits_fit(const tt_rt_tensor *view, chain *c, int64_t offset) {
  int64_t outer = 0;
  for (int k = 0; k < c->count; k++) {
    int64_t stride = view->strides[c->axes[k]], size = view->sizes[c->axes[k]];
    if (k > 0 && outer % stride != 0)
      return false;
    c->start[k] = offset / stride;
    c->limit[k] = c->start[k] + size;
    c->radix[k] = k > 0 ? outer / stride : c->limit[k];
    if (c->limit[k] > c->radix[k])
      return false;
    offset %= stride;
    outer = stride;
  }
  c->radix[c->count] = c->count != 0 ? outer : offset + 1;
  c->start[c->count] = offset;
  c->limit[c->count] = offset + 1;
  return true;
}

static void plan_chain(const tt_rt_tensor *view, int64_t count, chain *c) {
  int64_t rows_of;
  memset(c, 0, sizeof *c);
  c->count = sort_axes(view->sizes, view->strides, view->rank, c->axes);
  if (!digits_fit(view, c, view->offset)) {
    c->from = view->offset;
    if (!digits_fit(view, c, 0)) {
      c->gather = true;
      return;
    }
  }
  rows_of = c->count != 0 ? view->strides[c->axes[0]] : 1;
  if (c->count == 0) { /* one element */
    c->from += c->start[0];
    c->radix[0] = 1;
    c->start[0] = 0;
    c->limit[0] = 1;
    c->span = 1;
    return;
  }
  /* the whole array, when it divides into such rows, needs no cut and no padding */
  if (c->from == 0 && count % rows_of == 0 && count / rows_of >= c->limit[0])
    c->radix[0] = count / rows_of;
  c->span = c->radix[0] * rows_of;
}

static bool is_empty(const tt_rt_tensor *view) {
  for (int i = 0; i < view->rank; i++)
    if (view->sizes[i] == 0)
      return true;
  return false;
}

bool tt_rt_view_moves(const tt_rt_tensor *view) {
  const tt_rt_storage *s = view->storage;
  int64_t count;
  chain c;
  if (s->buffer == NULL || s->dtype != view->dtype || view->rank > MAX_RANK || is_empty(view) ||
      !tt_dims_count(s->dims, (size_t)s->rank, &count) || count > INT32_MAX)
    return false;
  plan_chain(view, count, &c);
  return !c.gather && c.from == 0 && c.count != 0 && c.span == count;
}

/* ---- the array as elements of another dtype ---- */

static tt_hlo_value *flat(tt_hlo_build *b, tt_hlo_value *x) {
  return x->type.rank == 1 ? x : tt_hlo_flatten(b, x, 0, x->type.rank - 1);
}

static tt_hlo_value *to_bytes_like(tt_hlo_build *b, tt_hlo_value *x) {
  tt_hlo_value *parts[2];
  if (x->type.dtype == TT_PRED)
    return tt_hlo_convert(b, x, TT_U8);
  if (!tt_dtype_is_complex(x->type.dtype))
    return x;
  x = flat(b, x);
  parts[0] = tt_hlo_unsqueeze(b, tt_hlo_real(b, x), 1);
  parts[1] = tt_hlo_unsqueeze(b, tt_hlo_imag(b, x), 1);
  return flat(b, tt_hlo_concat(b, parts, 2, 1));
}

/* Pairs of elements of a flat array: [n] -> column `which` of [n/2, 2]. */
static tt_hlo_value *column(tt_hlo_build *b, tt_hlo_value *x, int64_t which) {
  int64_t dims[2] = {x->type.dims[0] / 2, 2};
  tt_hlo_value *pairs = tt_hlo_reshape_numbers(b, x, dims, 2);
  return tt_hlo_squeeze(b, tt_hlo_slice_axis(b, pairs, 1, which, which + 1, 1), 1);
}

static tt_hlo_value *cut(tt_hlo_build *b, tt_hlo_value *x, int64_t count) {
  return tt_hlo_slice_axis(b, x, 0, 0, count, 1);
}

/* A flat array of `dtype` over the same bytes; what does not fill an element at the end is dropped.
 */
static tt_hlo_value *reinterpret(tt_hlo_build *b, tt_hlo_value *x, tt_dtype dtype) {
  tt_dtype simple = dtype == TT_PRED ? TT_U8 : tt_dtype_real(dtype);
  int from, to;
  x = flat(b, to_bytes_like(b, x));
  if (b->err != NULL)
    return b->poison;
  from = tt_dtype_bytes(x->type.dtype);
  to = tt_dtype_bytes(simple);
  if (to > from) {
    int64_t dims[2] = {x->type.dims[0] * from / to, to / from};
    x = tt_hlo_reshape_numbers(b, cut(b, x, dims[0] * dims[1]), dims, 2);
  }
  x = flat(b, tt_hlo_bitcast(b, x, simple));
  if (dtype == TT_PRED)
    return tt_hlo_convert(b, x, TT_PRED);
  if (!tt_dtype_is_complex(dtype) || b->err != NULL)
    return x;
  x = cut(b, x, x->type.dims[0] / 2 * 2);
  return tt_hlo_complex(b, column(b, x, 0), column(b, x, 1));
}

static tt_hlo_value *zero(tt_hlo_build *b, tt_dtype dtype) { return tt_hlo_const(b, dtype, 0); }

/* Elements [from, from + span) of a flat array, zeros past its end. */
static tt_hlo_value *window(tt_hlo_build *b, tt_hlo_value *x, int64_t from, int64_t span) {
  int64_t count = x->type.rank == 1 ? x->type.dims[0] : 0, none = 0, more = from + span - count;
  if (more > 0)
    x = tt_hlo_pad(b, x, zero(b, x->type.dtype), &none, &more, NULL);
  return tt_hlo_slice_axis(b, x, 0, from, from + span, 1);
}

/* ---- reading ---- */

/* Dims `radix` of the chain, less a last 1. */
static size_t chain_rank(const chain *c) {
  return (size_t)c->count + (c->radix[c->count] != 1 || c->count == 0);
}

/* Where the slice starts when the offset is known at run time only: the digits of the offset. */
static void chain_starts(tt_hlo_build *b, const chain *c, const tt_rt_tensor *view,
                         tt_hlo_value *offset, tt_hlo_value **starts) {
  for (size_t k = 0; k < chain_rank(c); k++) {
    tt_hlo_value *stride;
    starts[k] = tt_hlo_const_int(b, TT_S32, c->start[k]);
    if (offset == NULL)
      continue;
    starts[k] = offset;
    if (k == (size_t)c->count) /* what is left inside the last stride */
      continue;
    stride = tt_hlo_const_int(b, TT_S32, view->strides[c->axes[k]]);
    starts[k] = tt_hlo_div(b, offset, stride);
    offset = tt_hlo_rem(b, offset, stride);
  }
}

static tt_hlo_value *chain_slice(tt_hlo_build *b, const chain *c, tt_hlo_value *x,
                                 const tt_rt_tensor *view, tt_hlo_value *offset) {
  size_t rank = chain_rank(c);
  int64_t sizes[MAX_RANK + 1];
  tt_hlo_value *starts[MAX_RANK + 1];
  x = tt_hlo_reshape_numbers(b, x, c->radix, rank);
  if (b->err != NULL)
    return b->poison;
  for (size_t k = 0; k < rank; k++)
    sizes[k] = c->limit[k] - c->start[k];
  if (offset == NULL) {
    x = tt_hlo_slice(b, x, c->start, c->limit, NULL);
  } else {
    chain_starts(b, c, view, offset, starts);
    x = tt_hlo_dynamic_slice(b, x, starts, sizes);
  }
  return tt_hlo_reshape_numbers(b, x, sizes, (size_t)c->count);
}

/* From the digits' order to the view's, and its axes of size 1 and stride 0. */
static tt_hlo_value *chain_spread(tt_hlo_build *b, const chain *c, tt_hlo_value *x,
                                  const tt_rt_tensor *view) {
  int64_t permutation[MAX_RANK], map[MAX_RANK], in_view_order[MAX_RANK];
  int at = 0;
  for (int axis = 0; axis < view->rank; axis++)
    for (int k = 0; k < c->count; k++)
      if (c->axes[k] == axis) {
        permutation[at] = k;
        in_view_order[at++] = axis;
      }
  x = tt_hlo_transpose(b, x, permutation);
  if (at == view->rank)
    return x;
  for (int i = 0; i < at; i++)
    map[i] = in_view_order[i];
  return tt_hlo_broadcast_in_dim(b, x, tt_hlo_dims_numbers(b, view->sizes, (size_t)view->rank),
                                 (size_t)view->rank, map);
}

/* Position in the array of each element of the view: i32, or i64 for a large array. */
static tt_hlo_value *positions(tt_hlo_build *b, const tt_rt_tensor *view, int64_t count) {
  tt_dtype dtype = count > INT32_MAX ? TT_S64 : TT_S32;
  size_t rank = (size_t)view->rank;
  tt_hlo_dim *dims = tt_hlo_dims_numbers(b, view->sizes, rank);
  tt_hlo_value *sum = tt_hlo_full(b, tt_hlo_const_int(b, dtype, view->offset), dims, rank);
  for (int axis = 0; axis < view->rank; axis++) {
    tt_hlo_value *step =
        tt_hlo_full(b, tt_hlo_const_int(b, dtype, view->strides[axis]), dims, rank);
    if (view->sizes[axis] > 1 && view->strides[axis] != 0)
      sum = tt_hlo_add(b, sum, tt_hlo_mul(b, tt_hlo_iota(b, dtype, dims, rank, axis), step));
  }
  return sum;
}

static int64_t reach(const tt_rt_tensor *view) {
  int64_t last = view->offset;
  for (int axis = 0; axis < view->rank; axis++)
    last += (view->sizes[axis] - 1) * view->strides[axis];
  return last + 1;
}

static bool same_dims(const tt_hlo_value *x, const tt_rt_tensor *view) {
  int64_t strides[MAX_RANK];
  if (x->type.rank != view->rank || view->offset != 0)
    return false;
  tt_rt_view_contiguous_strides(view->sizes, view->rank, strides);
  for (int i = 0; i < view->rank; i++)
    if (x->type.dims[i] != view->sizes[i] || (view->sizes[i] > 1 && view->strides[i] != strides[i]))
      return false;
  return true;
}

static tt_hlo_value *check_rank(tt_hlo_build *b, const tt_rt_tensor *view) {
  if (view->rank > MAX_RANK)
    return tt_hlo_fail(b, TT_UNIMPLEMENTED, "a tensor of %d dims; at most %d", (int)view->rank,
                       (int)MAX_RANK);
  return NULL;
}

tt_hlo_value *tt_rt_view_read(tt_hlo_build *b, tt_hlo_value *base, const tt_rt_tensor *view,
                              tt_hlo_value *offset) {
  chain c;
  if (check_rank(b, view) != NULL || b->err != NULL)
    return b->poison;
  if (is_empty(view))
    return tt_hlo_full(b, zero(b, view->dtype),
                       tt_hlo_dims_numbers(b, view->sizes, (size_t)view->rank), (size_t)view->rank);
  if (offset == NULL && base->type.dtype == view->dtype && same_dims(base, view))
    return base;
  base = base->type.dtype == view->dtype ? flat(b, base) : reinterpret(b, base, view->dtype);
  if (b->err != NULL)
    return b->poison;
  plan_chain(view, base->type.dims[0], &c);
  if (c.gather) {
    int64_t count = base->type.dims[0], needed = reach(view);
    base = needed > count ? window(b, base, 0, needed) : base;
    return tt_hlo_take(b, base, positions(b, view, needed > count ? needed : count), 0);
  }
  return chain_spread(b, &c, chain_slice(b, &c, window(b, base, c.from, c.span), view, offset),
                      view);
}

/* ---- writing ---- */

tt_hlo_value *tt_rt_view_store(tt_hlo_build *b, tt_hlo_value *value, const int64_t *sizes,
                               const int64_t *strides) {
  int rank = value->type.rank, at = 0, axes[MAX_RANK], count;
  int64_t permutation[MAX_RANK];
  if (rank > MAX_RANK || b->err != NULL)
    return tt_hlo_fail(b, TT_UNIMPLEMENTED, "a tensor of %d dims; at most %d", rank, (int)MAX_RANK);
  /* axes of size 1 keep their place when the order is that of the axes anyway */
  count = sort_axes(sizes, strides, rank, axes);
  for (int k = 0; k < count; k++)
    if (k > 0 && axes[k] < axes[k - 1])
      at = -1;
  if (at == 0)
    return rank <= TT_RT_BASE_RANK ? value : flat(b, value);
  at = 0;
  for (int i = 0; i < rank; i++)
    if (sizes[i] <= 1)
      permutation[at++] = i;
  for (int k = 0; k < count; k++)
    permutation[at++] = axes[k];
  value = tt_hlo_transpose(b, value, permutation);
  return rank <= TT_RT_BASE_RANK ? value : flat(b, value);
}

/* The value as the chain's slice: its digits' axes by falling stride, then the 1 inside the last
 * stride. */
static tt_hlo_value *chain_gather_up(tt_hlo_build *b, const chain *c, tt_hlo_value *value,
                                     const tt_rt_tensor *view) {
  int64_t permutation[MAX_RANK], sizes[MAX_RANK + 1];
  int at = 0;
  for (int k = 0; k < c->count; k++)
    permutation[at++] = c->axes[k];
  for (int axis = 0; axis < view->rank; axis++)
    if (view->sizes[axis] <= 1)
      permutation[at++] = axis;
  if (at != view->rank)
    return tt_hlo_fail(
        b, TT_INVALID_ARGUMENT,
        "unsupported operation: more than one element of the written-to tensor refers to a single "
        "memory location. Please clone() the tensor before performing the operation.");
  value = tt_hlo_transpose(b, value, permutation);
  for (int k = 0; k < c->count; k++)
    sizes[k] = c->limit[k] - c->start[k];
  sizes[c->count] = 1;
  return tt_hlo_reshape_numbers(b, value, sizes, chain_rank(c));
}

static tt_hlo_value *chain_update(tt_hlo_build *b, const chain *c, tt_hlo_value *x,
                                  tt_hlo_value *value, const tt_rt_tensor *view,
                                  tt_hlo_value *offset) {
  size_t rank = chain_rank(c);
  tt_hlo_value *starts[MAX_RANK + 1];
  bool whole = true;
  for (size_t k = 0; k < rank; k++)
    whole = whole && c->start[k] == 0 && c->limit[k] == c->radix[k];
  chain_starts(b, c, view, offset, starts);
  if (whole && offset == NULL)
    return flat(b, value);
  x = tt_hlo_reshape_numbers(b, x, c->radix, rank);
  return b->err != NULL ? b->poison : flat(b, tt_hlo_dynamic_update_slice(b, x, value, starts));
}

static tt_hlo_value *scatter_update(tt_hlo_build *b, tt_hlo_value *base, tt_hlo_value *value,
                                    const tt_rt_tensor *view) {
  int64_t axis = 0, none = 0, count = base->type.dims[0], more = reach(view) - count;
  tt_hlo_scatter_dims dims = {.inserted_window_dims = {1, &axis},
                              .scatter_dims_to_operand_dims = {1, &axis},
                              .index_vector_dim = view->rank};
  for (int i = 0; i < view->rank; i++)
    if (view->sizes[i] > 1 && view->strides[i] == 0)
      return tt_hlo_fail(
          b, TT_INVALID_ARGUMENT,
          "unsupported operation: more than one element of the written-to tensor refers to a "
          "single "
          "memory location. Please clone() the tensor before performing the operation.");
  if (more > 0)
    base = tt_hlo_pad(b, base, zero(b, base->type.dtype), &none, &more, NULL);
  return tt_hlo_scatter(b, base, positions(b, view, count), value, &dims, TT_HLO_COMBINE_SET, false,
                        false);
}

/* `x` with elements from `from` on replaced by `part`; longer when the part ends past its end. */
static tt_hlo_value *put_window(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *part,
                                int64_t from) {
  int64_t count = x->type.dims[0], span = part->type.rank == 1 ? part->type.dims[0] : 0;
  tt_hlo_value *start = tt_hlo_const_int(b, TT_S32, from);
  if (from == 0 && span >= count)
    return part;
  if (from > INT32_MAX)
    start = tt_hlo_const_int(b, TT_S64, from);
  if (from + span > count)
    x = window(b, x, 0, from + span);
  return tt_hlo_dynamic_update_slice(b, x, part, &start);
}

/* `x` flat, with zeros after it until its bytes are whole elements of `dtype`; `x` itself where
 * they are. */
static tt_hlo_value *fill_up(tt_hlo_build *b, tt_hlo_value *x, tt_dtype dtype) {
  int64_t one = tt_dtype_bytes(x->type.dtype), whole = tt_dtype_bytes(dtype), count;
  if (!tt_dims_count(x->type.dims, (size_t)x->type.rank, &count) || count * one % whole == 0)
    return x;
  return window(b, flat(b, x), 0, (count * one / whole + 1) * whole / one);
}

tt_hlo_value *tt_rt_view_write(tt_hlo_build *b, tt_hlo_value *base, const tt_rt_tensor *view,
                               tt_hlo_value *value, tt_hlo_value *offset) {
  tt_hlo_type base_type = base->type;
  tt_hlo_value *whole;
  int64_t count, kept = 0;
  chain c;
  if (check_rank(b, view) != NULL || b->err != NULL)
    return b->poison;
  if (is_empty(view))
    return base;
  whole = fill_up(b, base, view->dtype);
  if (b->err != NULL)
    return b->poison;
  if (whole != base) { /* the last bytes are no element of the view's: written so, then in the
                          buffer's own dtype again */
    tt_dims_count(base_type.dims, (size_t)base_type.rank, &kept);
    whole = reinterpret(b, tt_rt_view_write(b, whole, view, value, offset), base_type.dtype);
    return tt_hlo_reshape_numbers(b, cut(b, whole, kept), base_type.dims, (size_t)base_type.rank);
  }
  base = base->type.dtype == view->dtype ? flat(b, base) : reinterpret(b, base, view->dtype);
  if (b->err != NULL)
    return b->poison;
  count = base->type.dims[0];
  plan_chain(view, count, &c);
  if (c.gather) {
    base = scatter_update(b, base, value, view);
  } else {
    tt_hlo_value *part = window(b, base, c.from, c.span);
    part = chain_update(b, &c, part, chain_gather_up(b, &c, value, view), view, offset);
    if (b->err != NULL)
      return b->poison;
    base = put_window(b, base, part, c.from);
  }
  /* back to the dims it had, so that the buffer can be donated */
  if (b->err == NULL && base_type.dtype == view->dtype &&
      tt_dims_count(base_type.dims, (size_t)base_type.rank, &kept) && kept == base->type.dims[0])
    return tt_hlo_reshape_numbers(b, base, base_type.dims, (size_t)base_type.rank);
  return base;
}
