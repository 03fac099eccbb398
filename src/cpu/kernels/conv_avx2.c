/* Packing and products of conv.h for AVX2 and FMA. A tile is done in parts of 6 rows by half of its
 * columns: 6 x 2 sums + 2 of b + 1 of a = 15 of 16 registers. */
#if defined(__x86_64__)
#include "cpu/kernels/conv.h"
#pragma GCC optimize("O3", "fp-contract=fast")
#pragma GCC target("arch=haswell")
#include <immintrin.h>

enum { LANES = 16, EIGHT = 8, PART_ROWS = 6, ROWS = 2 * PART_ROWS };

/* ---- 16 lanes, in two halves ---- */

typedef struct floats16 {
  __m256 half[2];
} floats16;
typedef struct ints16 {
  __m256i half[2];
} ints16;
typedef uint16_t mask16;

#define HALVES(type, h, value) \
  type r;                      \
  for (int h = 0; h < 2; h++)  \
    r.half[h] = value;         \
  return r

/* All bits of the lanes of half `h` of a mask. */
static inline __m256i mask_half(mask16 mask, int h) {
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  __m256i all = _mm256_set1_epi32(mask >> EIGHT * h);
  return _mm256_cmpeq_epi32(_mm256_and_si256(all, bits), bits);
}

static inline floats16 zeros(void) { HALVES(floats16, h, _mm256_setzero_ps()); }
static inline floats16 same(float x) { HALVES(floats16, h, _mm256_set1_ps(x)); }
static inline ints16 same_ints(int32_t x) { HALVES(ints16, h, _mm256_set1_epi32(x)); }
static inline ints16 counting(void) {
  const __m256i low = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  HALVES(ints16, h, _mm256_add_epi32(low, _mm256_set1_epi32(EIGHT * h)));
}
static inline ints16 load_ints(const int32_t *from) {
  HALVES(ints16, h, _mm256_loadu_si256((const __m256i *)(const void *)(from + EIGHT * h)));
}
static inline void store_ints(int32_t *to, ints16 x) {
  for (int h = 0; h < 2; h++)
    _mm256_store_si256((__m256i *)(void *)(to + EIGHT * h), x.half[h]);
}
static inline void store(float *to, floats16 x) {
  for (int h = 0; h < 2; h++)
    _mm256_store_ps(to + EIGHT * h, x.half[h]);
}
static inline void store_unaligned(float *to, floats16 x) {
  for (int h = 0; h < 2; h++)
    _mm256_storeu_ps(to + EIGHT * h, x.half[h]);
}
static inline void store_masked(float *to, mask16 mask, floats16 x) {
  for (int h = 0; h < 2; h++)
    _mm256_maskstore_ps(to + EIGHT * h, mask_half(mask, h), x.half[h]);
}
static inline floats16 load_masked(mask16 mask, const float *from) {
  HALVES(floats16, h, _mm256_maskload_ps(from + EIGHT * h, mask_half(mask, h)));
}
static inline floats16 load_over(floats16 rest, mask16 mask, const float *from) {
  HALVES(floats16, h,
         _mm256_blendv_ps(rest.half[h], _mm256_maskload_ps(from + EIGHT * h, mask_half(mask, h)),
                          _mm256_castsi256_ps(mask_half(mask, h))));
}
static inline floats16 gather(mask16 mask, ints16 index, const float *base) {
  HALVES(floats16, h,
         _mm256_mask_i32gather_ps(_mm256_setzero_ps(), base, index.half[h],
                                  _mm256_castsi256_ps(mask_half(mask, h)), 4));
}
static inline ints16 add_ints(ints16 a, ints16 b) {
  HALVES(ints16, h, _mm256_add_epi32(a.half[h], b.half[h]));
}
static inline ints16 multiply_ints(ints16 a, ints16 b) {
  HALVES(ints16, h, _mm256_mullo_epi32(a.half[h], b.half[h]));
}
static inline floats16 fma16(floats16 a, floats16 b, floats16 c) {
  HALVES(floats16, h, _mm256_fmadd_ps(a.half[h], b.half[h], c.half[h]));
}
/* Only signed numbers can be compared: both sides are moved by half of the range. */
static inline mask16 below(mask16 mask, ints16 a, ints16 b) {
  const __m256i least = _mm256_set1_epi32(INT32_MIN);
  int bits[2];
  for (int h = 0; h < 2; h++)
    bits[h] = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(
        _mm256_xor_si256(b.half[h], least), _mm256_xor_si256(a.half[h], least))));
  return (mask16)(mask & (bits[0] | bits[1] << EIGHT));
}

static inline __attribute__((always_inline)) void transpose8(__m256 *r) {
  __m256 t[EIGHT];
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; i++) {
    const __m256 *from = t + 4 * i;
    __m256 *to = r + 4 * i;
    to[0] = _mm256_shuffle_ps(from[0], from[2], 0x44);
    to[1] = _mm256_shuffle_ps(from[0], from[2], 0xee);
    to[2] = _mm256_shuffle_ps(from[1], from[3], 0x44);
    to[3] = _mm256_shuffle_ps(from[1], from[3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    __m256 low = r[i], high = r[4 + i];
    r[i] = _mm256_permute2f128_ps(low, high, 0x20);
    r[4 + i] = _mm256_permute2f128_ps(low, high, 0x31);
  }
}

/* Block (i, j) of 8 x 8 turned is block (j, i). */
static inline __attribute__((always_inline)) void transpose(floats16 *r) {
#pragma GCC unroll 2
  for (int i = 0; i < 2; i++)
#pragma GCC unroll 2
    for (int j = 0; j <= i; j++) {
      __m256 a[EIGHT], b[EIGHT];
#pragma GCC unroll 8
      for (int l = 0; l < EIGHT; l++) {
        a[l] = r[EIGHT * i + l].half[j];
        b[l] = r[EIGHT * j + l].half[i];
      }
      transpose8(a);
      transpose8(b);
#pragma GCC unroll 8
      for (int l = 0; l < EIGHT; l++) {
        r[EIGHT * j + l].half[i] = a[l];
        r[EIGHT * i + l].half[j] = b[l];
      }
    }
}

#include "cpu/kernels/conv.inc"

/* ---- products ---- */

/* c[rows, 16] (+)= a b. */
typedef struct tile_part {
  int64_t k, c_row;
  const float *a, *b;
  float *c;
  mask16 mask;
  bool add;
} tile_part;

static inline __attribute__((always_inline)) void run_rows(const int rows, const tile_part *part) {
  __m256 sums[PART_ROWS][2];
  const float *a = part->a, *b = part->b;
#pragma GCC unroll 8
  for (int i = 0; i < rows; i++)
    sums[i][0] = sums[i][1] = _mm256_setzero_ps();
  for (int64_t p = 0; p < part->k; p++, a += TT_CPU_CONV_PITCH, b += TT_CPU_CONV_COLUMNS) {
    __m256 b0 = _mm256_load_ps(b), b1 = _mm256_load_ps(b + EIGHT);
    _mm_prefetch(b + 16 * TT_CPU_CONV_COLUMNS, _MM_HINT_T0);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
      __m256 x = _mm256_broadcast_ss(a + i);
      sums[i][0] = _mm256_fmadd_ps(x, b0, sums[i][0]);
      sums[i][1] = _mm256_fmadd_ps(x, b1, sums[i][1]);
    }
  }
  float *c = part->c;
  if (part->mask == 0xffff) {
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++, c += part->c_row)
      for (int h = 0; h < 2; h++) {
        if (part->add)
          sums[i][h] = _mm256_add_ps(sums[i][h], _mm256_loadu_ps(c + EIGHT * h));
        _mm256_storeu_ps(c + EIGHT * h, sums[i][h]);
      }
    return;
  }
  __m256i mask[2] = {mask_half(part->mask, 0), mask_half(part->mask, 1)};
#pragma GCC unroll 8
  for (int i = 0; i < rows; i++, c += part->c_row)
    for (int h = 0; h < 2; h++) {
      if (part->add)
        sums[i][h] = _mm256_add_ps(sums[i][h], _mm256_maskload_ps(c + EIGHT * h, mask[h]));
      _mm256_maskstore_ps(c + EIGHT * h, mask[h], sums[i][h]);
    }
}

#define PART(n) \
  static void run_rows_##n(const tile_part *part) { run_rows(n, part); }
/* clang-format off */
PART(1) PART(2) PART(3) PART(4) PART(5) PART(6)
    /* clang-format on */

    static void run_tile(int64_t rows, const tt_cpu_conv_tile *tile) {
  static void (*const by_rows[PART_ROWS + 1])(const tile_part *) = {
      NULL, run_rows_1, run_rows_2, run_rows_3, run_rows_4, run_rows_5, run_rows_6};
  int64_t first = rows <= PART_ROWS ? rows : (rows + 1) / 2;
  for (int h = 0; h < 2; h++) {
    mask16 mask = h == 0 ? tile->mask0 : tile->mask1;
    if (mask == 0)
      continue;
    tile_part part = {.k = tile->k,
                      .c_row = tile->c_row,
                      .a = tile->a,
                      .b = tile->b + LANES * h,
                      .c = h == 0 ? tile->c0 : tile->c1,
                      .mask = mask,
                      .add = tile->add};
    by_rows[first](&part);
    part.a += first;
    part.c += first * part.c_row;
    if (rows > first)
      by_rows[rows - first](&part);
  }
}

const tt_cpu_conv_kernels tt_cpu_conv_avx2 = {ROWS, pack_patches, pack_filter, run_tile, run_depth};
#else
typedef int tt_cpu_no_conv_avx2;
#endif
