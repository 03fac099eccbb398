/* conv.h: f32 convolutions as products whose operands are packed straight from the image:
 * out[position, feature] = sum over k of patch[position, k] filter[k, feature].
 *
 * A position is (batch, place of the result), a k is (channel, tap: place of the filter). Where the
 * result's features lie side by side they are the columns of the product, else the positions are.
 * Sizes and strides are those of one group, and of one phase: of the positions that, where the
 * input is dilated, meet its elements with the same taps of the filter; within it they lie side by
 * side. */
#ifndef TT_CPU_KERNELS_CONV_H
#define TT_CPU_KERNELS_CONV_H

#include "cpu/kernel.h"

enum {
  TT_CPU_CONV_SPATIAL = 3,
  TT_CPU_CONV_PITCH = 16,   /* floats from one k to the next in packed rows */
  TT_CPU_CONV_COLUMNS = 32, /* the same in packed columns */
};

/* How patches are read: 16 at a time of the positions, of the ks, or of the channels of a tap. */
typedef enum tt_cpu_conv_lanes {
  TT_CPU_CONV_BY_POSITION,
  TT_CPU_CONV_BY_K,
  TT_CPU_CONV_BY_CHANNEL
} tt_cpu_conv_lanes;

/* All offsets are in elements and fit in 32 bits. The input is read at index
 * place * step + shift[tap] along each axis, and is zero outside of its dims. */
typedef struct tt_cpu_conv_view {
  const float *in, *filter;
  float *out;
  int32_t spatial;
  bool batch_minor; /* positions: the batch runs fastest */
  tt_cpu_conv_lanes lanes;
  int64_t batch, channels, features, places, taps; /* products of the axes' */
  int64_t in_batch, in_channel, filter_channel, filter_feature, out_batch, out_feature;
  int64_t in_dims[TT_CPU_CONV_SPATIAL], in_stride[TT_CPU_CONV_SPATIAL];
  int64_t out_dims[TT_CPU_CONV_SPATIAL], out_stride[TT_CPU_CONV_SPATIAL];
  int64_t tap_dims[TT_CPU_CONV_SPATIAL], step[TT_CPU_CONV_SPATIAL];
  const int32_t *shift[TT_CPU_CONV_SPATIAL]; /* [tap_dims] */
  const int32_t *filter_at;                  /* [taps]: offsets of the taps */
  bool filter_dense;                         /* filter_at is 0, 1, 2, ... */
} tt_cpu_conv_view;

/* A block of k: all pairs of these channels and taps. By k the taps run fastest in it, else the
 * channels. */
typedef struct tt_cpu_conv_block {
  int64_t channel, channels, tap, taps;
} tt_cpu_conv_block;

/* A tile of the product: `rows` up to the kernels', packed, times one panel of columns. c0, c1:
 * the two halves of the first row; masks: their columns that are written. */
typedef struct tt_cpu_conv_tile {
  int64_t k;
  const float *a, *b;
  float *c0, *c1;
  int64_t c_row;
  uint16_t mask0, mask1;
  bool add;
} tt_cpu_conv_tile;

typedef struct tt_cpu_conv_kernels {
  int64_t rows; /* of a tile at most: up to TT_CPU_CONV_PITCH */
  /* to[k, width]: `count` positions from `first` on, with zeros behind; width: 16 or 32. */
  void (*pack_patches)(const tt_cpu_conv_view *v, const tt_cpu_conv_block *block, int64_t first,
                       int64_t count, int64_t width, float *to);
  /* The same for features. */
  void (*pack_filter)(const tt_cpu_conv_view *v, const tt_cpu_conv_block *block, int64_t first,
                      int64_t count, int64_t width, float *to);
  void (*tile)(int64_t rows, const tt_cpu_conv_tile *tile);
  /* One channel and one feature: positions [first, first + count) of the result. */
  void (*depth)(const tt_cpu_conv_view *v, int64_t first, int64_t count);
} tt_cpu_conv_kernels;

extern const tt_cpu_conv_kernels tt_cpu_conv_avx2, tt_cpu_conv_avx512;
/* NULL: none for this processor. */
const tt_cpu_conv_kernels *tt_cpu_conv_best(void);

/* What an op asks for, in the order of the axes of its dimension numbers; `in`, `filter`, `out`
 * dense arrays with any strides. */
typedef struct tt_cpu_conv {
  const tt_cpu_args *args;
  tt_cpu_conv_view whole; /* of the first group, without taps and shifts */
  int64_t groups, in_group, filter_group, out_group;
  int64_t low[TT_CPU_CONV_SPATIAL], in_dilation[TT_CPU_CONV_SPATIAL],
      filter_dilation[TT_CPU_CONV_SPATIAL], filter_stride[TT_CPU_CONV_SPATIAL];
  bool reversed[TT_CPU_CONV_SPATIAL];
  int64_t in_count, filter_count, out_count; /* of the whole arrays */
} tt_cpu_conv;

/* Whether tt_cpu_conv_run can do it. */
bool tt_cpu_conv_takes(const tt_cpu_conv *conv);
TT_NODISCARD tt_error *tt_cpu_conv_run(const tt_cpu_conv *conv);

/* ---- indices ---- */

static inline void tt_cpu_conv_split(const int64_t *dims, int32_t rank, int64_t i, int64_t *out) {
  for (int32_t k = rank; k-- > 0; i /= dims[k])
    out[k] = i % dims[k];
}

static inline void tt_cpu_conv_next(const int64_t *dims, int32_t rank, int64_t *at) {
  for (int32_t i = rank; i-- > 0;) {
    if (++at[i] < dims[i])
      return;
    at[i] = 0;
  }
}

#endif /* TT_CPU_KERNELS_CONV_H */
