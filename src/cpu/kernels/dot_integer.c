#pragma GCC optimize("O3")
#include "cpu/kernels/dot_integer.h"

#include <assert.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu/tile/tile.h"

/* b is packed in panels of as many columns as two vectors of 64 bytes have: [panel, k, columns].
 * A tile is four rows of one panel. Elements of 16 bits and fewer go in pairs: an item of 32 bits
 * is two neighbours in k, sign-extended, and one product gives the sum of both; a is packed too
 * then, [m, pairs]. */
enum { PANEL_BYTES = 128, TILE_ROWS = 4, ITEM_ROWS = 64 };
typedef enum item_kind { WORDS, LONGS, PAIRS, ITEM_KINDS } item_kind;

typedef struct panel_job {
  const char *a, *panel; /* a: of the tile's first row */
  int64_t a_row, a_step, k;
  char *out;
  int64_t n, columns; /* of out; of the panel that are written */
} panel_job;

typedef void (*tile_function)(const panel_job *j, int rows);

/* A product of one item of a and a vector of those of b. */
#define MULTIPLY(a, b) ((a) * (b))
/* -2^15 squared, twice, is 2^31: it wraps here as in the instructions below. */
#define MULTIPLY_PAIRS(a, b)                                     \
  ((vector)((signs)((b) << 16) >> 16) * (uint32_t)(int16_t)(a) + \
   (vector)((signs)(b) >> 16) * (uint32_t)((int32_t)(a) >> 16))
#define MULTIPLY_PAIRS_SSE2(a, b) ((vector)_mm_madd_epi16(_mm_set1_epi32((int)(a)), (__m128i)(b)))
#define MULTIPLY_PAIRS_AVX2(a, b) \
  ((vector)_mm256_madd_epi16(_mm256_set1_epi32((int)(a)), (__m256i)(b)))
#define MULTIPLY_PAIRS_AVX512(a, b) \
  ((vector)_mm512_madd_epi16(_mm512_set1_epi32((int)(a)), (__m512i)(b)))

/* BYTES: of a vector of the instruction set. */
#define TILE(NAME, T, BYTES, PRODUCT)                                                           \
  static inline __attribute__((always_inline)) void NAME##_rows(const panel_job *j, int rows) { \
    typedef T vector __attribute__((vector_size(BYTES)));                                       \
    typedef T place __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));         \
    typedef int32_t signs __attribute__((vector_size(BYTES), unused));                          \
    enum { VECTORS = PANEL_BYTES / (BYTES), EACH = VECTORS > 2 ? 2 : VECTORS };                 \
    enum { LANES = (BYTES) / sizeof(T) };                                                       \
    const int64_t a_row = j->a_row, a_step = j->a_step, steps = j->k;                           \
    for (int first = 0; first < VECTORS && first * LANES < j->columns; first += EACH) {         \
      const T *a = (const T *)j->a;                                                             \
      const vector *b = (const vector *)j->panel + first;                                       \
      vector sums[TILE_ROWS][EACH];                                                             \
      _Pragma("GCC unroll 8") for (int i = 0; i < rows * EACH; i++) sums[i / EACH][i % EACH] =  \
          (vector){0};                                                                          \
      for (int64_t k = 0; k < steps; k++, a += a_step, b += VECTORS)                            \
        _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++)                                  \
            _Pragma("GCC unroll 2") for (int i = 0; i < EACH; i++) sums[r][i] +=                \
            PRODUCT(a[r * a_row], b[i]);                                                        \
      int64_t left = j->columns - first * LANES;                                                \
      _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) {                                  \
        T *out = (T *)j->out + r * j->n + first * LANES;                                        \
        if (left >= EACH * LANES)                                                               \
          _Pragma("GCC unroll 2") for (int i = 0; i < EACH; i++)((place *)out)[i] = sums[r][i]; \
        else                                                                                    \
          memcpy(out, sums[r], (size_t)left * sizeof(T));                                       \
      }                                                                                         \
    }                                                                                           \
  }                                                                                             \
  static void NAME(const panel_job *j, int rows) {                                              \
    if (rows == TILE_ROWS)                                                                      \
      NAME##_rows(j, TILE_ROWS);                                                                \
    else                                                                                        \
      for (panel_job one = *j; rows-- > 0;                                                      \
           one.a += one.a_row * (int64_t)sizeof(T), one.out += one.n * (int64_t)sizeof(T))      \
        NAME##_rows(&one, 1);                                                                   \
  }

TILE(tile_words, uint32_t, 16, MULTIPLY)
TILE(tile_longs, uint64_t, 16, MULTIPLY)
#if defined(__x86_64__)
TILE(tile_pairs, uint32_t, 16, MULTIPLY_PAIRS_SSE2)
#pragma GCC push_options
#pragma GCC target("avx2")
TILE(tile_words_avx2, uint32_t, 32, MULTIPLY)
TILE(tile_longs_avx2, uint64_t, 32, MULTIPLY)
TILE(tile_pairs_avx2, uint32_t, 32, MULTIPLY_PAIRS_AVX2)
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq")
TILE(tile_words_avx512, uint32_t, 64, MULTIPLY)
TILE(tile_longs_avx512, uint64_t, 64, MULTIPLY)
TILE(tile_pairs_avx512, uint32_t, 64, MULTIPLY_PAIRS_AVX512)
#pragma GCC pop_options
#else
TILE(tile_pairs, uint32_t, 16, MULTIPLY_PAIRS)
#endif

static tile_function find_tile(item_kind kind) {
  static const tile_function tiles[][ITEM_KINDS] = {
      [TT_CPU_ISA_BASE] = {tile_words, tile_longs, tile_pairs},
#if defined(__x86_64__)
      [TT_CPU_ISA_AVX2] = {tile_words_avx2, tile_longs_avx2, tile_pairs_avx2},
      [TT_CPU_ISA_AVX512] = {tile_words_avx512, tile_longs_avx512, tile_pairs_avx512},
#endif
  };
  return tiles[tt_cpu_isa_best()][kind];
}

typedef struct integers_job {
  const tt_cpu_product *products;
  tile_function tile;
  tt_cpu_integers_form form;
  item_kind kind;
  int64_t steps, width, panels, row_items; /* steps: items along k; width: columns of a panel */
  int item_bytes;
  char *panels_at, *rows_at; /* rows: of PAIRS */
} integers_job;

static int64_t width_of(item_kind kind) { return PANEL_BYTES / (kind == LONGS ? 8 : 4); }

static item_kind kind_of(const tt_cpu_integers_form *f) {
  if (tt_cpu_integers_narrow(f->a) && tt_cpu_integers_narrow(f->b))
    return PAIRS;
  return tt_dtype_bytes(f->a) == 8 ? LONGS : WORDS;
}

static int64_t steps_of(const tt_cpu_integers_form *f) {
  return kind_of(f) == PAIRS ? f->k / 2 + f->k % 2 : f->k;
}

static char *panel_at(const integers_job *j, int64_t panel) {
  return j->panels_at + panel * j->steps * PANEL_BYTES;
}

static char *row_at(const integers_job *j, int64_t row) {
  return j->rows_at + row * j->steps * (int64_t)sizeof(uint32_t);
}

#define PACK(T)                            \
  for (int64_t k = 0; k < j->steps; k++)   \
    for (int64_t i = 0; i < j->width; i++) \
      ((T *)to)[k * j->width + i] =        \
          i < columns ? ((const T *)p->b)[k * p->b_step + (first + i) * p->b_column] : 0;

/* Item i of `count` is the pair at `i * stride` and one `step` on: of the last pair of an odd k,
 * the element and 0. They are written `to_stride` items apart. */
#define PAIR_UP(T)                                                                               \
  for (int64_t i = 0; i < count; i++) {                                                          \
    const T *x = (const T *)from + i * stride;                                                   \
    to[i * to_stride] = (uint16_t)(int16_t)x[0] | (both ? (uint32_t)(int16_t)x[step] : 0) << 16; \
  }

static void pair_up(tt_dtype dtype, const void *from, int64_t stride, int64_t step, bool both,
                    int64_t count, uint32_t *to, int64_t to_stride) {
  if (dtype == TT_S8)
    PAIR_UP(int8_t)
  else if (dtype == TT_U8)
    PAIR_UP(uint8_t)
  else
    PAIR_UP(int16_t)
}

/* The pairs of one column (or row) of an operand. */
static void pack_line(const integers_job *j, tt_dtype dtype, const char *from, int64_t step,
                      uint32_t *to, int64_t to_stride) {
  int64_t whole = j->form.k / 2;
  pair_up(dtype, from, 2 * step, step, true, whole, to, to_stride);
  if (whole < j->steps)
    pair_up(dtype, from + 2 * whole * step * tt_dtype_bytes(dtype), 0, 0, false, 1,
            to + whole * to_stride, 1);
}

static void pack_pairs(const integers_job *j, const tt_cpu_product *p, int64_t first,
                       int64_t columns, uint32_t *to) {
  int64_t bytes = tt_dtype_bytes(j->form.b);
  const char *b = (const char *)p->b + first * p->b_column * bytes;
  if (columns < j->width)
    memset(to, 0, (size_t)(j->steps * PANEL_BYTES));
  if (p->b_step == 1)
    for (int64_t i = 0; i < columns; i++)
      pack_line(j, j->form.b, b + i * p->b_column * bytes, 1, to + i, j->width);
  else
    for (int64_t k = 0; k < j->steps; k++)
      pair_up(j->form.b, b + 2 * k * p->b_step * bytes, p->b_column, p->b_step,
              2 * k + 1 < j->form.k, columns, to + k * j->width, 1);
}

/* Panels of all products. */
static void pack_panels(int64_t begin, int64_t end, void *user) {
  const integers_job *j = user;
  for (int64_t panel = begin; panel < end; panel++) {
    const tt_cpu_product *p = &j->products[panel / j->panels];
    int64_t first = panel % j->panels * j->width, columns = j->form.n - first;
    char *to = panel_at(j, panel);
    if (j->kind == PAIRS)
      pack_pairs(j, p, first, columns < j->width ? columns : j->width, (uint32_t *)to);
    else if (j->kind == LONGS)
      PACK(uint64_t)
    else
      PACK(uint32_t)
  }
}

/* Rows of a, of all products. */
static void pack_rows(int64_t begin, int64_t end, void *user) {
  const integers_job *j = user;
  for (int64_t row = begin; row < end; row++) {
    const tt_cpu_product *p = &j->products[row / j->form.m];
    const char *from = (const char *)p->a + row % j->form.m * p->a_row * tt_dtype_bytes(j->form.a);
    pack_line(j, j->form.a, from, p->a_step, (uint32_t *)row_at(j, row), 1);
  }
}

/* Items: some rows of a panel. */
static void run_items(int64_t begin, int64_t end, void *user) {
  const integers_job *j = user;
  int64_t m = j->form.m, n = j->form.n;
  for (int64_t item = begin; item < end; item++) {
    int64_t panel = item / j->row_items, row = item % j->row_items * ITEM_ROWS;
    int64_t column = panel % j->panels * j->width;
    int64_t last = row + ITEM_ROWS < m ? row + ITEM_ROWS : m;
    const tt_cpu_product *p = &j->products[panel / j->panels];
    bool packed = j->kind == PAIRS;
    const char *a = packed ? row_at(j, panel / j->panels * m) : p->a;
    panel_job t = {.panel = panel_at(j, panel),
                   .a_row = packed ? j->steps : p->a_row,
                   .a_step = packed ? 1 : p->a_step,
                   .k = j->steps,
                   .n = n,
                   .columns = n - column < j->width ? n - column : j->width};
    for (; row < last; row += TILE_ROWS) {
      t.a = a + row * t.a_row * j->item_bytes;
      t.out = (char *)p->out + (row * n + column) * j->item_bytes;
      j->tile(&t, last - row < TILE_ROWS ? (int)(last - row) : TILE_ROWS);
    }
  }
}

/* Bytes for the panels of one product, and for its rows; false: too many. */
static bool scratch_of(const tt_cpu_integers_form *f, int64_t *out_panels, int64_t *out_rows) {
  int64_t width = width_of(kind_of(f)), panels = f->n / width + (f->n % width != 0);
  *out_rows = 0;
  bool fits = !__builtin_mul_overflow(panels * PANEL_BYTES, steps_of(f), out_panels);
  if (kind_of(f) == PAIRS)
    fits = fits && !__builtin_mul_overflow(f->m * (int64_t)sizeof(uint32_t), steps_of(f), out_rows);
  return fits;
}

int64_t tt_cpu_integers_scratch(const tt_cpu_integers_form *form) {
  int64_t panels = 0, rows = 0, size = 0;
  bool fits = scratch_of(form, &panels, &rows) && !__builtin_add_overflow(panels, rows, &size);
  return fits ? size : INT64_MAX;
}

bool tt_cpu_integers_narrow(tt_dtype dtype) {
  return dtype == TT_S8 || dtype == TT_U8 || dtype == TT_S16;
}

void tt_cpu_integers_run(const tt_cpu_integers_form *form, const tt_cpu_product *products,
                         int64_t count, void *packed) {
  item_kind kind = kind_of(form);
  int64_t panels_size = 0, rows_size = 0;
  bool fits = scratch_of(form, &panels_size, &rows_size);
  assert(fits); /* the caller had that much */
  (void)fits;
  integers_job j = {.products = products,
                    .tile = find_tile(kind),
                    .form = *form,
                    .kind = kind,
                    .steps = steps_of(form),
                    .width = width_of(kind),
                    .row_items = (form->m + ITEM_ROWS - 1) / ITEM_ROWS,
                    .item_bytes = kind == LONGS ? 8 : 4,
                    .panels_at = packed,
                    .rows_at = (char *)packed + count * panels_size};
  j.panels = (form->n + j.width - 1) / j.width;
  double work = (double)j.steps * (double)j.width;
  tt_cpu_parallel(count * j.panels, work * 0.5, pack_panels, &j);
  if (kind == PAIRS)
    tt_cpu_parallel(count * form->m, (double)j.steps, pack_rows, &j);
  tt_cpu_parallel(
      count * j.panels * j.row_items,
      work * (kind == PAIRS ? 0.02 : 0.1) * (double)(form->m < ITEM_ROWS ? form->m : ITEM_ROWS),
      run_items, &j);
}
