#pragma GCC optimize("O3")
#include "cpu/kernels/dot_integer.h"

#include <string.h>

#include "cpu/tile/tile.h"

/* b is packed in panels of as many columns as two vectors of 64 bytes have: [panel, k, columns].
 * A tile is four rows of one panel. */
enum { PANEL_BYTES = 128, TILE_ROWS = 4, ITEM_ROWS = 64 };

typedef struct panel_job {
  const char *a, *panel; /* a: of the tile's first row */
  int64_t a_row, a_step, k;
  char *out;
  int64_t n, columns; /* of out; of the panel that are written */
} panel_job;

typedef void (*tile_function)(const panel_job *j, int rows);

/* BYTES: of a vector of the instruction set. */
#define TILE(NAME, T, BYTES)                                                                    \
  static inline __attribute__((always_inline)) void NAME##_rows(const panel_job *j, int rows) { \
    typedef T vector __attribute__((vector_size(BYTES)));                                       \
    enum { VECTORS = PANEL_BYTES / (BYTES), EACH = VECTORS > 2 ? 2 : VECTORS };                 \
    const T *a = (const T *)j->a;                                                               \
    for (int first = 0; first < VECTORS; first += EACH) {                                       \
      const vector *b = (const vector *)j->panel + first;                                       \
      vector sums[TILE_ROWS][EACH] = {{{0}}};                                                   \
      for (int64_t k = 0; k < j->k; k++, b += VECTORS)                                          \
        for (int r = 0; r < rows; r++)                                                          \
          for (int i = 0; i < EACH; i++)                                                        \
            sums[r][i] += a[r * j->a_row + k * j->a_step] * b[i];                               \
      int64_t column = first * (int64_t)((BYTES) / sizeof(T)), left = j->columns - column;      \
      int64_t most = EACH * (int64_t)((BYTES) / sizeof(T));                                     \
      for (int r = 0; r < rows && left > 0; r++)                                                \
        memcpy((T *)j->out + r * j->n + column, sums[r],                                        \
               (size_t)(left < most ? left : most) * sizeof(T));                                \
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

TILE(tile_4, uint32_t, 16)
TILE(tile_8, uint64_t, 16)
#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2")
TILE(tile_4_avx2, uint32_t, 32)
TILE(tile_8_avx2, uint64_t, 32)
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq")
TILE(tile_4_avx512, uint32_t, 64)
TILE(tile_8_avx512, uint64_t, 64)
#pragma GCC pop_options
#endif

static tile_function find_tile(int bytes) {
#if defined(__x86_64__)
  static const tile_function tiles[][2] = {[TT_CPU_ISA_BASE] = {tile_4, tile_8},
                                           [TT_CPU_ISA_AVX2] = {tile_4_avx2, tile_8_avx2},
                                           [TT_CPU_ISA_AVX512] = {tile_4_avx512, tile_8_avx512}};
  return tiles[tt_cpu_isa_best()][bytes == 8];
#else
  return bytes == 8 ? tile_8 : tile_4;
#endif
}

typedef struct integers_job {
  const tt_cpu_integers *products;
  tile_function tile;
  int64_t m, n, k, width, panels, row_items; /* width: columns of a panel */
  int bytes;
  char *packed;
} integers_job;

static char *panel_at(const integers_job *j, int64_t panel) {
  return j->packed + panel * j->k * PANEL_BYTES;
}

#define PACK(T)                            \
  for (int64_t k = 0; k < j->k; k++)       \
    for (int64_t i = 0; i < j->width; i++) \
      ((T *)to)[k * j->width + i] =        \
          i < columns ? ((const T *)p->b)[k * p->b_step + (first + i) * p->b_column] : 0;

/* Panels of all products. */
static void pack_panels(int64_t begin, int64_t end, void *user) {
  const integers_job *j = user;
  for (int64_t panel = begin; panel < end; panel++) {
    const tt_cpu_integers *p = &j->products[panel / j->panels];
    int64_t first = panel % j->panels * j->width, columns = j->n - first;
    char *to = panel_at(j, panel);
    if (j->bytes == 8)
      PACK(uint64_t)
    else
      PACK(uint32_t)
  }
}

/* Items: some rows of a panel. */
static void run_items(int64_t begin, int64_t end, void *user) {
  const integers_job *j = user;
  for (int64_t item = begin; item < end; item++) {
    int64_t panel = item / j->row_items, row = item % j->row_items * ITEM_ROWS;
    int64_t column = panel % j->panels * j->width;
    int64_t last = row + ITEM_ROWS < j->m ? row + ITEM_ROWS : j->m;
    const tt_cpu_integers *p = &j->products[panel / j->panels];
    panel_job t = {.panel = panel_at(j, panel),
                   .a_row = p->a_row,
                   .a_step = p->a_step,
                   .k = j->k,
                   .n = j->n,
                   .columns = j->n - column < j->width ? j->n - column : j->width};
    for (; row < last; row += TILE_ROWS) {
      t.a = (const char *)p->a + row * p->a_row * j->bytes;
      t.out = (char *)p->out + (row * j->n + column) * j->bytes;
      j->tile(&t, last - row < TILE_ROWS ? (int)(last - row) : TILE_ROWS);
    }
  }
}

int64_t tt_cpu_integers_scratch(int64_t n, int64_t k, int bytes) {
  int64_t width = PANEL_BYTES / bytes, size = 0;
  bool fits = !__builtin_mul_overflow((n + width - 1) / width * PANEL_BYTES, k, &size);
  return fits ? size : INT64_MAX;
}

void tt_cpu_integers_run(const tt_cpu_integers *products, int64_t count, int64_t m, int64_t n,
                         int64_t k, int bytes, void *packed) {
  integers_job j = {.products = products,
                    .tile = find_tile(bytes),
                    .m = m,
                    .n = n,
                    .k = k,
                    .width = PANEL_BYTES / bytes,
                    .row_items = (m + ITEM_ROWS - 1) / ITEM_ROWS,
                    .bytes = bytes,
                    .packed = packed};
  j.panels = (n + j.width - 1) / j.width;
  double work = (double)k * (double)j.width;
  tt_cpu_parallel(count * j.panels, work * 0.5, pack_panels, &j);
  tt_cpu_parallel(count * j.panels * j.row_items,
                  work * 0.1 * (double)(m < ITEM_ROWS ? m : ITEM_ROWS), run_items, &j);
}
