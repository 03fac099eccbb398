/* sort of lines of many lengths: each way of sorting, stable, up and down, along either axis. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "test.h"
#include "test_kernel_case.h"

enum { MOST = 100003 };

typedef struct sort_kind {
  const char *name;
  int bytes;
  double (*load)(const void *data, int64_t i);
  void (*store)(void *data, int64_t i, double value);
} sort_kind;

#define KIND(T)                                                                                \
  static double load_##T(const void *data, int64_t i) { return (double)((const T *)data)[i]; } \
  static void store_##T(void *data, int64_t i, double value) { ((T *)data)[i] = (T)value; }
KIND(float)
KIND(double)
KIND(int8_t)
KIND(uint8_t)
KIND(int32_t)
KIND(int64_t)
#define ROW(NAME, T) {NAME, sizeof(T), load_##T, store_##T}
static const sort_kind kinds[] = {ROW("f32", float),   ROW("f64", double),  ROW("i8", int8_t),
                                  ROW("ui8", uint8_t), ROW("i32", int32_t), ROW("i64", int64_t)};

static char in[MOST * 8], sorted[MOST * 8];
static int32_t order[MOST];

/* [rows, count] along the last axis, or [count, rows] along the first. */
static void run_sort(const sort_kind *kind, int rows, int count, bool first, bool descending) {
  char text[1500], dims[32];
  snprintf(dims, sizeof dims, "%dx%d", first ? count : rows, first ? rows : count);
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<%sx%s>) -> (tensor<%sx%s>, tensor<%sxi32>) {\n"
           "%%i = stablehlo.iota dim = %d : tensor<%sxi32>\n"
           "%%r:2 = \"stablehlo.sort\"(%%x, %%i) ({\n^bb0(%%a: tensor<%s>, %%b: tensor<%s>, %%c: "
           "tensor<i32>, %%d: tensor<i32>):\n%%e = stablehlo.compare %s, %%a, %%b : (tensor<%s>, "
           "tensor<%s>) -> tensor<i1>\nstablehlo.return %%e : tensor<i1>\n}) {dimension = %d : "
           "i64, is_stable = true} : (tensor<%sx%s>, tensor<%sxi32>) -> (tensor<%sx%s>, "
           "tensor<%sxi32>)\nreturn %%r#0, %%r#1 : tensor<%sx%s>, tensor<%sxi32>\n}\n",
           dims, kind->name, dims, kind->name, dims, first ? 0 : 1, dims, kind->name, kind->name,
           descending ? "GT" : "LT", kind->name, kind->name, first ? 0 : 1, dims, kind->name, dims,
           dims, kind->name, dims, dims, kind->name, dims);
  EXPECT_OK(run_text(text, (const void *[]){in}, (void *[]){sorted, order}));
}

/* In order; equals in the order of their places; each place once. */
static void check_line(const sort_kind *kind, int64_t at, int64_t step, int count,
                       bool descending) {
  static bool seen[MOST];
  memset(seen, 0, sizeof seen);
  for (int i = 0; i < count; i++) {
    int64_t to = at + i * step, from = order[to];
    bool fits = from >= 0 && from < count && !seen[from];
    double value = kind->load(sorted, to);
    if (!EXPECT(fits && value == kind->load(in, at + from * step)))
      return;
    seen[from] = true;
    if (i == 0)
      continue;
    double before = kind->load(sorted, to - step);
    if (!EXPECT(before == value ? order[to - step] < from : (before < value) == !descending))
      return;
  }
}

/* Values from -100 to 100, or 0 to 200: many are equal in long lines. */
static void check(const sort_kind *kind, int rows, int count, bool first, bool descending) {
  for (int64_t i = 0; i < (int64_t)rows * count; i++)
    kind->store(in, i,
                (double)(tt_hash64(&i, sizeof i, 1) % 201) - (kind->name[0] == 'u' ? 0 : 100));
  run_sort(kind, rows, count, first, descending);
  for (int row = 0; row < rows; row++)
    check_line(kind, first ? row : (int64_t)row * count, first ? rows : 1, count, descending);
}

TEST_WITHOUT_TORTURE(cpu_kernel_sort, lengths) {
  static const int counts[] = {1, 2, 16, 17, 48, 49, 100, 511, 512, 1000};
  for (size_t k = 0; k < TT_COUNT(kinds); k++) {
    for (size_t c = 0; c < TT_COUNT(counts); c++)
      for (int way = 0; way < 4; way++)
        check(&kinds[k], 5, counts[c], way % 2 == 1, way / 2 == 1);
    check(&kinds[k], 1, MOST, false, k % 2 == 1);
    check(&kinds[k], 1, 1 << 16, true, k % 2 == 0);
  }
}
