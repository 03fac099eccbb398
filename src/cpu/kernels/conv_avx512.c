/* Packing and products of conv.h for AVX-512. 14 x 2 sums + 2 of b + 1 of a = 31 of 32 registers.
 */
#if defined(__x86_64__)
#include "cpu/kernels/conv.h"
#pragma GCC optimize("O3", "fp-contract=fast")
#pragma GCC target("arch=skylake-avx512,prefer-vector-width=512")
#include <immintrin.h>

enum { LANES = 16, ROWS = 14 };

/* ---- 16 lanes ---- */

typedef __m512 floats16;
typedef __m512i ints16;
typedef __mmask16 mask16;

static inline floats16 zeros(void) { return _mm512_setzero_ps(); }
static inline floats16 same(float x) { return _mm512_set1_ps(x); }
static inline ints16 same_ints(int32_t x) { return _mm512_set1_epi32(x); }
static inline ints16 counting(void) {
  return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
static inline ints16 load_ints(const int32_t *from) { return _mm512_loadu_si512(from); }
static inline void store_ints(int32_t *to, ints16 x) { _mm512_store_si512(to, x); }
static inline void store(float *to, floats16 x) { _mm512_store_ps(to, x); }
static inline void store_unaligned(float *to, floats16 x) { _mm512_storeu_ps(to, x); }
static inline void store_masked(float *to, mask16 mask, floats16 x) {
  _mm512_mask_storeu_ps(to, mask, x);
}
static inline floats16 load_masked(mask16 mask, const float *from) {
  return _mm512_maskz_loadu_ps(mask, from);
}
static inline floats16 load_over(floats16 rest, mask16 mask, const float *from) {
  return _mm512_mask_loadu_ps(rest, mask, from);
}
static inline floats16 gather(mask16 mask, ints16 index, const float *base) {
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, index, base, 4);
}
static inline ints16 add_ints(ints16 a, ints16 b) { return _mm512_add_epi32(a, b); }
static inline ints16 multiply_ints(ints16 a, ints16 b) { return _mm512_mullo_epi32(a, b); }
static inline mask16 below(mask16 mask, ints16 a, ints16 b) {
  return _mm512_mask_cmplt_epu32_mask(mask, a, b);
}
static inline floats16 fma16(floats16 a, floats16 b, floats16 c) {
  return _mm512_fmadd_ps(a, b, c);
}

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

#include "cpu/kernels/conv.inc"

/* ---- products ---- */

static inline __attribute__((always_inline)) void run_rows(const int rows,
                                                           const tt_cpu_conv_tile *tile) {
  __m512 sums[ROWS][2];
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
  static void (*const by_rows[ROWS + 1])(const tt_cpu_conv_tile *) = {
      [1] = run_rows_1,   [2] = run_rows_2,   [4] = run_rows_4,   [6] = run_rows_6,
      [7] = run_rows_7,   [8] = run_rows_8,   [9] = run_rows_9,   [10] = run_rows_10,
      [11] = run_rows_11, [12] = run_rows_12, [13] = run_rows_13, [14] = run_rows_14};
  if (by_rows[rows] != NULL)
    by_rows[rows](tile);
  else
    run_two(rows - 1, rows, tile);
}

const tt_cpu_conv_kernels tt_cpu_conv_avx512 = {ROWS, pack_patches, pack_filter, run_tile,
                                                run_depth};
#else
typedef int tt_cpu_no_conv_avx512;
#endif
