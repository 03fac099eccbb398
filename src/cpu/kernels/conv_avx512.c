/* Packing and products of conv.h for AVX-512. 14 x 2 sums + 2 of b + 1 of a = 31 of 32 registers.
 *
 * Lanes that are masked are not read, so an address may lie outside of the array as long as its
 * lane does not take part. */
#if defined(__x86_64__)
#include "cpu/kernels/conv.h"
#pragma GCC optimize("O3", "fp-contract=fast")
#pragma GCC target("arch=skylake-avx512,prefer-vector-width=512")
#include <immintrin.h>

enum { LANES = 16, RUNS_MAX = 4, SPATIAL = TT_CPU_CONV_SPATIAL };

/* ---- 16 elements of the image ---- */

/* Lanes go along one of the two sets of indices that an element of a patch has (positions, ks). The
 * element of lane l is at `at[l]` plus what the other index adds, if x[i][l] plus what that adds is
 * an index of axis i. Runs of lanes whose elements lie side by side are loaded as vectors. */
typedef struct lane_set {
  __m512i x[SPATIAL], at;
  __mmask16 valid;
  int runs; /* over RUNS_MAX: gathered */
  __mmask16 run[RUNS_MAX];
  int32_t run_at[RUNS_MAX]; /* of lane 0, were it in the run */
} lane_set;

static void find_runs(lane_set *s, const int32_t *at, int64_t count) {
  s->runs = 0;
  s->valid = (__mmask16)((1u << count) - 1);
  for (int64_t l = 0; l < count; l++) {
    bool joins = l > 0 && at[l] == at[l - 1] + 1;
    if (!joins && s->runs++ < RUNS_MAX) {
      s->run[s->runs - 1] = 0;
      s->run_at[s->runs - 1] = at[l] - (int32_t)l;
    }
    if (s->runs <= RUNS_MAX)
      s->run[s->runs - 1] |= (__mmask16)(1u << l);
  }
}

static void finish_lanes(const tt_cpu_conv_view *v, lane_set *s, int32_t x[][LANES], int32_t *at,
                         int64_t count) {
  for (int64_t l = 0; l < LANES; l++) {
    for (int32_t i = 0; i < v->spatial; i++) {
      x[i][l] = l < count ? x[i][l] : 0;
      at[l] += l < count ? x[i][l] * (int32_t)v->in_stride[i] : 0;
    }
  }
  for (int32_t i = 0; i < v->spatial; i++)
    s->x[i] = _mm512_loadu_si512(x[i]);
  s->at = _mm512_loadu_si512(at);
  find_runs(s, at, count);
}

/* Positions one by one: what each adds to an index, and to the address. */
typedef struct position_walk {
  int64_t place[SPATIAL], batch, left;
} position_walk;

static position_walk walk_from(const tt_cpu_conv_view *v, int64_t first) {
  int64_t place = v->batch_minor ? first / v->batch : first % v->places;
  position_walk w = {{0}, v->batch_minor ? first % v->batch : first / v->places, 0};
  tt_cpu_conv_split(v->out_dims, v->spatial, place, w.place);
  w.left = v->places - place;
  return w;
}

static inline void walk_on(const tt_cpu_conv_view *v, position_walk *w) {
  if (v->batch_minor) {
    if (++w->batch < v->batch)
      return;
    w->batch = 0;
  } else if (--w->left == 0) {
    w->batch++;
    w->left = v->places;
  }
  tt_cpu_conv_next(v->out_dims, v->spatial, w->place);
}

static void position_lanes(const tt_cpu_conv_view *v, int64_t first, int64_t count, lane_set *s) {
  int32_t x[SPATIAL][LANES], at[LANES] = {0};
  position_walk w = walk_from(v, first);
  for (int64_t l = 0; l < count; l++, walk_on(v, &w)) {
    at[l] = (int32_t)(w.batch * v->in_batch);
    for (int32_t i = 0; i < v->spatial; i++)
      x[i][l] = (int32_t)(w.place[i] * v->step[i]);
  }
  finish_lanes(v, s, x, at, count);
}

/* ks in the order (channel, tap). */
static void k_lanes(const tt_cpu_conv_view *v, int64_t first, int64_t count, lane_set *s) {
  int32_t x[SPATIAL][LANES], at[LANES] = {0};
  int64_t tap[SPATIAL] = {0}, channel = first / v->taps, left = v->taps - first % v->taps;
  tt_cpu_conv_split(v->tap_dims, v->spatial, first % v->taps, tap);
  for (int64_t l = 0; l < count; l++) {
    at[l] = (int32_t)(channel * v->in_channel);
    for (int32_t i = 0; i < v->spatial; i++)
      x[i][l] = v->shift[i][tap[i]];
    if (--left == 0) {
      channel++;
      left = v->taps;
    }
    tt_cpu_conv_next(v->tap_dims, v->spatial, tap);
  }
  finish_lanes(v, s, x, at, count);
}

/* The lanes that are in the image when the other index adds y. */
static inline __mmask16 lanes_inside(const tt_cpu_conv_view *v, const lane_set *s,
                                     const int32_t *y) {
  __mmask16 mask = s->valid;
  for (int32_t i = 0; i < v->spatial; i++)
    mask = _mm512_mask_cmplt_epu32_mask(mask, _mm512_add_epi32(s->x[i], _mm512_set1_epi32(y[i])),
                                        _mm512_set1_epi32((int32_t)v->in_dims[i]));
  return mask;
}

static inline __m512 load_lanes(const lane_set *s, const float *at, __mmask16 mask) {
  if (s->runs > RUNS_MAX)
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, s->at, at, 4);
  __m512 r = _mm512_setzero_ps();
  for (int i = 0; i < s->runs; i++)
    r = _mm512_mask_loadu_ps(r, mask & s->run[i], at + s->run_at[i]);
  return r;
}

/* ---- turning 16 vectors ---- */

static inline __attribute__((always_inline)) void transpose(__m512 *r) {
  __m512 t[LANES];
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) {
    t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    __m512d a0 = _mm512_castps_pd(t[4 * i]), a1 = _mm512_castps_pd(t[4 * i + 1]),
            b0 = _mm512_castps_pd(t[4 * i + 2]), b1 = _mm512_castps_pd(t[4 * i + 3]);
    r[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a0, b0));
    r[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a0, b0));
    r[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(a1, b1));
    r[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(a1, b1));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    t[i] = _mm512_shuffle_f32x4(r[i], r[4 + i], 0x88);
    t[4 + i] = _mm512_shuffle_f32x4(r[i], r[4 + i], 0xdd);
    t[8 + i] = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0x88);
    t[12 + i] = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0xdd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    r[i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0x88);
    r[8 + i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0xdd);
    r[4 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0x88);
    r[12 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0xdd);
  }
}

/* ---- patches ---- */

static int64_t input_shift(const tt_cpu_conv_view *v, const int32_t *y) {
  int64_t at = 0;
  for (int32_t i = 0; i < v->spatial; i++)
    at += y[i] * v->in_stride[i];
  return at;
}

static inline void tap_shifts(const tt_cpu_conv_view *v, const int64_t *tap, int32_t *y) {
  for (int32_t i = 0; i < v->spatial; i++)
    y[i] = v->shift[i][tap[i]];
}

static void pack_by_position(const tt_cpu_conv_view *v, const tt_cpu_conv_block *b, int64_t first,
                             int64_t count, int64_t width, float *to) {
  lane_set s[2];
  int64_t tap[SPATIAL] = {0}, sets = width / LANES;
  for (int64_t g = 0; g < sets; g++) {
    int64_t lanes = count - g * LANES;
    position_lanes(v, first + (lanes > 0 ? g * LANES : 0),
                   lanes < 0       ? 0
                   : lanes > LANES ? LANES
                                   : lanes,
                   &s[g]);
  }
  tt_cpu_conv_split(v->tap_dims, v->spatial, b->tap, tap);
  for (int64_t t = 0; t < b->taps; t++, tt_cpu_conv_next(v->tap_dims, v->spatial, tap)) {
    int32_t y[SPATIAL];
    tap_shifts(v, tap, y);
    const float *from = v->in + input_shift(v, y) + b->channel * v->in_channel;
    __mmask16 mask0 = lanes_inside(v, &s[0], y);
    if (sets == 1) {
      for (int64_t c = 0; c < b->channels; c++, from += v->in_channel, to += LANES)
        _mm512_store_ps(to, load_lanes(&s[0], from, mask0));
      continue;
    }
    __mmask16 mask1 = lanes_inside(v, &s[1], y);
    if (s[0].runs == 1 && s[1].runs == 1) {
      const float *from0 = from + s[0].run_at[0], *from1 = from + s[1].run_at[0];
      for (int64_t c = 0; c < b->channels; c++, to += 2 * LANES) {
        _mm512_store_ps(to, _mm512_maskz_loadu_ps(mask0, from0 + c * v->in_channel));
        _mm512_store_ps(to + LANES, _mm512_maskz_loadu_ps(mask1, from1 + c * v->in_channel));
      }
      continue;
    }
    for (int64_t c = 0; c < b->channels; c++, from += v->in_channel, to += 2 * LANES) {
      _mm512_store_ps(to, load_lanes(&s[0], from, mask0));
      _mm512_store_ps(to + LANES, load_lanes(&s[1], from, mask1));
    }
  }
}

static inline void place_steps(const tt_cpu_conv_view *v, const int64_t *place, int32_t *y) {
  for (int32_t i = 0; i < v->spatial; i++)
    y[i] = (int32_t)(place[i] * v->step[i]);
}

/* What the places of the result add to the address; which lanes are inside there. Only of the first
 * PLACES, which are all in the gradient of a filter. */
enum { PLACES = 64 };
typedef struct place_table {
  int64_t count, shift[PLACES];
  __mmask16 inside[PLACES];
} place_table;

static void list_places(const tt_cpu_conv_view *v, const lane_set *s, place_table *t) {
  int64_t place[SPATIAL] = {0};
  t->count = v->places <= PLACES ? v->places : 0;
  for (int64_t i = 0; i < t->count; i++, tt_cpu_conv_next(v->out_dims, v->spatial, place)) {
    int32_t y[SPATIAL];
    place_steps(v, place, y);
    t->shift[i] = input_shift(v, y);
    t->inside[i] = lanes_inside(v, s, y);
  }
}

static inline __m512 load_position(const tt_cpu_conv_view *v, const lane_set *s,
                                   const place_table *t, const position_walk *w) {
  const float *from = v->in + w->batch * v->in_batch;
  int64_t i = v->places - w->left;
  if (i < t->count)
    return load_lanes(s, from + t->shift[i], t->inside[i]);
  int32_t y[SPATIAL];
  place_steps(v, w->place, y);
  return load_lanes(s, from + input_shift(v, y), lanes_inside(v, s, y));
}

/* The table has all that a walk knows but the batch. */
static inline void walk_table(const tt_cpu_conv_view *v, const place_table *t, position_walk *w) {
  if (t->count == 0) {
    walk_on(v, w);
  } else if (--w->left == 0) {
    w->batch++;
    w->left = v->places;
  }
}

static void pack_by_k(const tt_cpu_conv_view *v, const tt_cpu_conv_block *b, int64_t first,
                      int64_t count, int64_t width, float *to) {
  int64_t k0 = b->channel * v->taps + b->tap, k = b->channels * b->taps;
  for (int64_t p = 0; p < k; p += LANES) {
    int64_t ks = k - p < LANES ? k - p : LANES;
    lane_set s;
    place_table table;
    position_walk w = walk_from(v, first);
    k_lanes(v, k0 + p, ks, &s);
    list_places(v, &s, &table);
    for (int64_t g = 0; g < width; g += LANES) {
      __m512 r[LANES];
      for (int64_t l = 0; l < LANES; l++) {
        r[l] = _mm512_setzero_ps();
        if (g + l >= count)
          continue;
        r[l] = load_position(v, &s, &table, &w);
        walk_table(v, &table, &w);
      }
      transpose(r);
      for (int64_t q = 0; q < ks; q++)
        _mm512_store_ps(to + (p + q) * width + g, r[q]);
    }
  }
}

static void pack_by_channel(const tt_cpu_conv_view *v, const tt_cpu_conv_block *b, int64_t first,
                            int64_t count, int64_t width, float *to) {
  int64_t tap[SPATIAL] = {0};
  for (int64_t g = 0; g < width; g += LANES) {
    lane_set s;
    _Alignas(64) int32_t at[LANES];
    int64_t lanes = count - g;
    position_lanes(v, first + (lanes > 0 ? g : 0),
                   lanes < 0       ? 0
                   : lanes > LANES ? LANES
                                   : lanes,
                   &s);
    _mm512_store_si512(at, s.at);
    tt_cpu_conv_split(v->tap_dims, v->spatial, b->tap, tap);
    for (int64_t t = 0; t < b->taps; t++, tt_cpu_conv_next(v->tap_dims, v->spatial, tap)) {
      int32_t y[SPATIAL];
      tap_shifts(v, tap, y);
      const float *from = v->in + input_shift(v, y) + b->channel;
      __mmask16 inside = lanes_inside(v, &s, y);
      float *row = to + t * b->channels * width + g;
      for (int64_t c = 0; c < b->channels; c += LANES) {
        int64_t channels = b->channels - c < LANES ? b->channels - c : LANES;
        __mmask16 mask = (__mmask16)((1u << channels) - 1);
        __m512 r[LANES];
#pragma GCC unroll 16
        for (int l = 0; l < LANES; l++)
          r[l] = _mm512_maskz_loadu_ps((inside >> l & 1) != 0 ? mask : 0, from + at[l] + c);
        transpose(r);
        for (int64_t q = 0; q < channels; q++)
          _mm512_store_ps(row + (c + q) * width, r[q]);
      }
    }
  }
}

static void pack_patches(const tt_cpu_conv_view *v, const tt_cpu_conv_block *b, int64_t first,
                         int64_t count, int64_t width, float *to) {
  if (b->taps == 0)
    return;
  if (v->lanes == TT_CPU_CONV_BY_K)
    pack_by_k(v, b, first, count, width, to);
  else if (v->lanes == TT_CPU_CONV_BY_CHANNEL)
    pack_by_channel(v, b, first, count, width, to);
  else
    pack_by_position(v, b, first, count, width, to);
}

/* ---- the filter ---- */

static inline int64_t block_k(const tt_cpu_conv_view *v, const tt_cpu_conv_block *b, int64_t c,
                              int64_t t) {
  return v->lanes == TT_CPU_CONV_BY_K ? c * b->taps + t : t * b->channels + c;
}

static inline __mmask16 tail_mask(int64_t count) {
  return count >= LANES ? 0xffff : count <= 0 ? 0 : (__mmask16)((1u << count) - 1);
}

/* Features side by side, or gathered. */
static void pack_features(const tt_cpu_conv_view *v, const tt_cpu_conv_block *b, int64_t first,
                          int64_t count, int64_t width, float *to) {
  const float *filter = v->filter + first * v->filter_feature + b->channel * v->filter_channel;
  __m512i lane =
      _mm512_mullo_epi32(_mm512_set1_epi32((int32_t)v->filter_feature),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  for (int64_t t = 0; t < b->taps; t++)
    for (int64_t c = 0; c < b->channels; c++) {
      const float *from = filter + v->filter_at[b->tap + t] + c * v->filter_channel;
      float *row = to + block_k(v, b, c, t) * width;
      for (int64_t g = 0; g < width; g += LANES) {
        __mmask16 mask = tail_mask(count - g);
        const float *at = from + g * v->filter_feature;
        __m512 r = v->filter_feature == 1
                       ? _mm512_maskz_loadu_ps(mask, at)
                       : _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, lane, at, 4);
        _mm512_store_ps(row + g, r);
      }
    }
}

/* 16 features of `count` ks side by side, `from` the first; k: where in the block each goes. */
static void turn_filter(const tt_cpu_conv_view *v, const float *from, int64_t features,
                        const int64_t *k, int64_t count, int64_t width, float *to) {
  __mmask16 mask = tail_mask(count);
  __m512 r[LANES];
#pragma GCC unroll 16
  for (int64_t l = 0; l < LANES; l++)
    r[l] = _mm512_maskz_loadu_ps(l < features ? mask : 0, from + l * v->filter_feature);
  transpose(r);
  for (int64_t q = 0; q < count; q++)
    _mm512_store_ps(to + k[q] * width, r[q]);
}

static void pack_turned(const tt_cpu_conv_view *v, const tt_cpu_conv_block *b, int64_t first,
                        int64_t count, int64_t width, float *to) {
  bool joined = v->filter_channel == v->taps && b->taps == v->taps;
  int64_t run = joined ? b->channels * b->taps : b->taps, runs = joined ? 1 : b->channels;
  const float *filter =
      v->filter + first * v->filter_feature + b->channel * v->filter_channel + v->filter_at[b->tap];
  for (int64_t i = 0; i < runs; i++) {
    int64_t c = i, t = 0;
    for (int64_t p = 0; p < run; p += LANES) {
      int64_t k[LANES], ks = run - p < LANES ? run - p : LANES;
      for (int64_t q = 0; q < ks; q++) {
        k[q] = block_k(v, b, c, t);
        if (++t == b->taps) {
          t = 0;
          c++;
        }
      }
      for (int64_t g = 0; g < width; g += LANES)
        turn_filter(v, filter + i * v->filter_channel + g * v->filter_feature + p, count - g, k, ks,
                    width, to + g);
    }
  }
}

static void pack_filter(const tt_cpu_conv_view *v, const tt_cpu_conv_block *b, int64_t first,
                        int64_t count, int64_t width, float *to) {
  bool joined = v->filter_channel == v->taps && b->taps == v->taps;
  if (b->taps == 0)
    return;
  if (v->filter_feature != 1 && v->filter_dense && (joined || b->taps >= LANES / 2))
    pack_turned(v, b, first, count, width, to);
  else
    pack_features(v, b, first, count, width, to);
}

/* ---- products ---- */

static inline __attribute__((always_inline)) void run_rows(const int rows,
                                                           const tt_cpu_conv_tile *tile) {
  __m512 sums[TT_CPU_CONV_ROWS][2];
  const float *a = tile->a, *b = tile->b;
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++)
    sums[i][0] = sums[i][1] = _mm512_setzero_ps();
  for (int64_t p = 0; p < tile->k; p++, a += TT_CPU_CONV_PITCH, b += TT_CPU_CONV_COLUMNS) {
    __m512 b0 = _mm512_load_ps(b), b1 = _mm512_load_ps(b + LANES);
    _mm_prefetch(b + 16 * TT_CPU_CONV_COLUMNS, _MM_HINT_T0);
    _mm_prefetch(b + 16 * TT_CPU_CONV_COLUMNS + LANES, _MM_HINT_T0);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
      __m512 x = _mm512_set1_ps(a[i]);
      sums[i][0] = _mm512_fmadd_ps(x, b0, sums[i][0]);
      sums[i][1] = _mm512_fmadd_ps(x, b1, sums[i][1]);
    }
  }
  float *c0 = tile->c0, *c1 = tile->c1;
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++, c0 += tile->c_row, c1 += tile->c_row) {
    if (tile->add) {
      sums[i][0] = _mm512_add_ps(sums[i][0], _mm512_maskz_loadu_ps(tile->mask0, c0));
      sums[i][1] = _mm512_add_ps(sums[i][1], _mm512_maskz_loadu_ps(tile->mask1, c1));
    }
    _mm512_mask_storeu_ps(c0, tile->mask0, sums[i][0]);
    _mm512_mask_storeu_ps(c1, tile->mask1, sums[i][1]);
  }
}

#define ROWS(n) \
  static void run_rows_##n(const tt_cpu_conv_tile *tile) { run_rows(n, tile); }
/* clang-format off */
ROWS(2) ROWS(4) ROWS(6) ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12) ROWS(13) ROWS(14)
    /* clang-format on */

    static void run_tile(int64_t rows, const tt_cpu_conv_tile *tile);

/* Numbers of rows that have no code of their own take two. */
static void run_two(int64_t first, int64_t rows, const tt_cpu_conv_tile *tile) {
  tt_cpu_conv_tile t = *tile;
  run_tile(first, &t);
  t.a += first;
  t.c0 += first * t.c_row;
  t.c1 += first * t.c_row;
  run_tile(rows - first, &t);
}

static void run_rows_1(const tt_cpu_conv_tile *tile) { run_rows(1, tile); }

static void run_tile(int64_t rows, const tt_cpu_conv_tile *tile) {
  static void (*const by_rows[TT_CPU_CONV_ROWS + 1])(const tt_cpu_conv_tile *) = {
      [1] = run_rows_1,   [2] = run_rows_2,   [4] = run_rows_4,   [6] = run_rows_6,
      [7] = run_rows_7,   [8] = run_rows_8,   [9] = run_rows_9,   [10] = run_rows_10,
      [11] = run_rows_11, [12] = run_rows_12, [13] = run_rows_13, [14] = run_rows_14};
  if (by_rows[rows] != NULL)
    by_rows[rows](tile);
  else
    run_two(rows - 1, rows, tile);
}

/* ---- one channel, one feature ---- */

static void store_lanes(const tt_cpu_conv_view *v, position_walk *w, __m512 sums, int64_t count) {
  _Alignas(64) float x[LANES];
  _mm512_store_ps(x, sums);
  for (int64_t l = 0; l < count; l++) {
    int64_t at = w->batch * v->out_batch;
    for (int32_t i = 0; i < v->spatial; i++)
      at += w->place[i] * v->out_stride[i];
    v->out[at] = x[l];
    walk_on(v, w);
  }
}

/* ---- depthwise by rows: the last spatial axis lies side by side in both arrays ---- */

enum { TAPS_MAX = 128, ROW_VECTORS = 4 };

/* Of one row of places. in + place + shift is read where that is in [0, dim), which is 0 where the
 * whole row is in the padding. */
typedef struct row_tap {
  const float *in;
  int32_t shift, dim;
  __m512 weight;
} row_tap;

static bool takes_rows(const tt_cpu_conv_view *v) {
  int32_t last = v->spatial - 1;
  return last >= 0 && !v->batch_minor && v->in_stride[last] == 1 && v->out_stride[last] == 1 &&
         v->step[last] == 1 && v->taps <= TAPS_MAX && v->in_dims[last] < INT32_MAX / 2 &&
         v->out_dims[last] >= LANES / 2;
}

/* `place`: of the row, on all axes but the last. */
static void list_row(const tt_cpu_conv_view *v, const float *in, const int64_t *place,
                     row_tap *taps) {
  int32_t last = v->spatial - 1;
  int64_t tap[SPATIAL] = {0};
  for (int64_t t = 0; t < v->taps; t++, tt_cpu_conv_next(v->tap_dims, v->spatial, tap)) {
    row_tap *to = &taps[t];
    to->in = in;
    to->shift = v->shift[last][tap[last]];
    to->dim = (int32_t)v->in_dims[last];
    to->weight = _mm512_set1_ps(v->filter[v->filter_at[t]]);
    for (int32_t i = 0; i < last; i++) {
      int64_t at = place[i] * v->step[i] + v->shift[i][tap[i]];
      if (at < 0 || at >= v->in_dims[i])
        to->dim = 0;
      else
        to->in += at * v->in_stride[i];
    }
  }
}

/* `vectors` vectors of places from x on, the last with those of `tail`. */
static inline __attribute__((always_inline)) void sum_row(const row_tap *taps, int64_t count,
                                                          int32_t x, int vectors, __mmask16 tail,
                                                          float *out) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512 sums[ROW_VECTORS];
  for (int i = 0; i < vectors; i++)
    sums[i] = _mm512_setzero_ps();
  for (int64_t t = 0; t < count; t++) {
    int32_t from = x + taps[t].shift;
    __m512i at = _mm512_add_epi32(lanes, _mm512_set1_epi32(from));
    __m512i dim = _mm512_set1_epi32(taps[t].dim);
    for (int i = 0; i < vectors; i++) {
      __mmask16 inside = _mm512_cmplt_epu32_mask(at, dim);
      __m512 in = _mm512_maskz_loadu_ps(inside, taps[t].in + from + LANES * i);
      sums[i] = _mm512_fmadd_ps(in, taps[t].weight, sums[i]);
      at = _mm512_add_epi32(at, _mm512_set1_epi32(LANES));
    }
  }
  for (int i = 0; i < vectors - 1; i++)
    _mm512_storeu_ps(out + LANES * i, sums[i]);
  _mm512_mask_storeu_ps(out + LANES * (vectors - 1), tail, sums[vectors - 1]);
}

static void run_row(const row_tap *taps, int64_t count, int64_t begin, int64_t end, float *out) {
  for (int64_t x = begin; x < end; x += LANES * ROW_VECTORS) {
    int64_t left = end - x < LANES * ROW_VECTORS ? end - x : LANES * ROW_VECTORS;
    __mmask16 tail = tail_mask((left - 1) % LANES + 1);
    switch ((left + LANES - 1) / LANES) {
      case 1:
        sum_row(taps, count, (int32_t)x, 1, tail, out + x);
        break;
      case 2:
        sum_row(taps, count, (int32_t)x, 2, tail, out + x);
        break;
      case 3:
        sum_row(taps, count, (int32_t)x, 3, tail, out + x);
        break;
      default:
        sum_row(taps, count, (int32_t)x, 4, tail, out + x);
        break;
    }
  }
}

static void run_depth_rows(const tt_cpu_conv_view *v, int64_t first, int64_t count) {
  row_tap taps[TAPS_MAX];
  int32_t last = v->spatial - 1;
  int64_t dim = v->out_dims[last];
  for (int64_t p = first; p < first + count;) {
    int64_t place[SPATIAL], batch = p / v->places, begin = p % dim;
    int64_t end = first + count - p < dim - begin ? begin + first + count - p : dim;
    float *out = v->out + batch * v->out_batch;
    tt_cpu_conv_split(v->out_dims, v->spatial, p % v->places, place);
    for (int32_t i = 0; i < last; i++)
      out += place[i] * v->out_stride[i];
    list_row(v, v->in + batch * v->in_batch, place, taps);
    run_row(taps, v->taps, begin, end, out);
    p += end - begin;
  }
}

static void run_depth(const tt_cpu_conv_view *v, int64_t first, int64_t count) {
  if (takes_rows(v)) {
    run_depth_rows(v, first, count);
    return;
  }
  position_walk w = walk_from(v, first);
  for (int64_t p = 0; p < count; p += LANES) {
    int64_t lanes = count - p < LANES ? count - p : LANES, tap[SPATIAL] = {0};
    lane_set s;
    __m512 sums = _mm512_setzero_ps();
    position_lanes(v, first + p, lanes, &s);
    for (int64_t t = 0; t < v->taps; t++, tt_cpu_conv_next(v->tap_dims, v->spatial, tap)) {
      int32_t y[SPATIAL];
      tap_shifts(v, tap, y);
      sums = _mm512_fmadd_ps(load_lanes(&s, v->in + input_shift(v, y), lanes_inside(v, &s, y)),
                             _mm512_set1_ps(v->filter[v->filter_at[t]]), sums);
    }
    store_lanes(v, &w, sums, lanes);
  }
}

const tt_cpu_conv_kernels tt_cpu_conv_avx512 = {pack_patches, pack_filter, run_tile, run_depth};
#else
typedef int tt_cpu_no_conv_avx512;
#endif
