#include <stdio.h>
#include <string.h>

#include "rt_test.h"

/* Views of random sizes, strides, offsets and dtypes are read and written through tt_rt_copy and,
 * byte by byte, by the plain model below. */
enum { BYTES_MAX = 96 * 16, READS = 120, WRITES = 120 };

static uint32_t seed;
static int64_t random_below(int64_t n) { /* xorshift */
  seed ^= seed << 13;
  seed ^= seed >> 17;
  seed ^= seed << 5;
  return (int64_t)(seed % (uint32_t)n);
}

/* ---- the model ---- */

/* Element `i`, counted row-major, stands where in the storage, in elements of the view's dtype? */
static int64_t position(const rt_tensor *view, int64_t i) {
  int64_t at = view->offset;
  for (int axis = view->rank - 1; axis >= 0; axis--) {
    at += i % view->sizes[axis] * view->strides[axis];
    i /= view->sizes[axis];
  }
  return at;
}

static void model_read(const rt_tensor *view, const unsigned char *base, unsigned char *out) {
  size_t bytes = (size_t)tt_dtype_bytes(view->dtype);
  for (int64_t i = 0; i < rt_elements(view); i++)
    memcpy(out + (size_t)i * bytes, base + (size_t)position(view, i) * bytes, bytes);
}

static void model_write(const rt_tensor *view, unsigned char *base, const unsigned char *value) {
  size_t bytes = (size_t)tt_dtype_bytes(view->dtype);
  for (int64_t i = 0; i < rt_elements(view); i++)
    memcpy(base + (size_t)position(view, i) * bytes, value + (size_t)i * bytes, bytes);
}

static bool overlaps(const rt_tensor *view) {
  bool seen[BYTES_MAX] = {false};
  for (int64_t i = 0; i < rt_elements(view); i++) {
    if (seen[position(view, i)])
      return true;
    seen[position(view, i)] = true;
  }
  return false;
}

/* ---- random tensors ---- */

static const tt_dtype dtypes[] = {TT_F32, TT_F32,  TT_S64, TT_S32, TT_S16,
                                  TT_U8,  TT_BF16, TT_F64, TT_C64, TT_C128};

/* No exponent of all ones: a NaN's bits need not survive a copy. */
static void random_bytes(unsigned char *data, size_t size) {
  for (size_t i = 0; i < size; i++)
    data[i] = (unsigned char)random_below(0x40);
}

/* A storage with content, of rank 0 to 3. */
static tt_error *random_base(tt_rt *rt, unsigned char *data, rt_tensor *out) {
  int64_t sizes[3];
  int32_t rank = (int32_t)random_below(4);
  for (int i = 0; i < rank; i++)
    sizes[i] = 1 + random_below(i == 0 ? 6 : 4);
  random_bytes(data, BYTES_MAX);
  return rt_new(rt, dtypes[random_below((int64_t)TT_COUNT(dtypes))], rank, sizes, data, out);
}

static void shuffle(rt_tensor *view) {
  for (int i = view->rank - 1; i > 0; i--) {
    int k = (int)random_below(i + 1);
    int64_t size = view->sizes[i], stride = view->strides[i];
    view->sizes[i] = view->sizes[k];
    view->strides[i] = view->strides[k];
    view->sizes[k] = size;
    view->strides[k] = stride;
  }
}

static int64_t last_position(const rt_tensor *view) {
  int64_t last = view->offset;
  for (int i = 0; i < view->rank; i++)
    last += (view->sizes[i] - 1) * view->strides[i];
  return last;
}

/* Strides that slicing and transposing give (each a multiple of the one inside it), or any at all;
 * now and then 0. */
static void random_strides(rt_tensor *view, bool regular) {
  int64_t stride = 1 + random_below(3);
  for (int i = view->rank - 1; i >= 0; i--) {
    view->strides[i] = regular ? stride : random_below(7);
    if (random_below(8) == 0)
      view->strides[i] = 0;
    else if (regular)
      stride *= view->sizes[i] + (random_below(2) ? random_below(3) : 0);
  }
  if (random_below(2))
    shuffle(view);
}

/* A view that lies within `count` elements of `dtype`; there is always one, of one element. */
static void random_view(const rt_tensor *base, rt_tensor *view) {
  int64_t bytes = rt_elements(base) * tt_dtype_bytes(base->dtype), count;
  view->storage = base->storage;
  do
    view->dtype =
        random_below(3) != 0 ? base->dtype : dtypes[random_below((int64_t)TT_COUNT(dtypes))];
  while (tt_dtype_bytes(view->dtype) > bytes);
  count = bytes / tt_dtype_bytes(view->dtype);
  for (int tries = 0;; tries++) {
    view->rank = tries > 200 ? 0 : (int32_t)random_below(5);
    for (int i = 0; i < view->rank; i++)
      view->sizes[i] = random_below(30) == 0 ? 0 : 1 + random_below(4);
    random_strides(view, random_below(3) != 0);
    view->offset = 0;
    if (last_position(view) < count)
      break;
  }
  if (rt_elements(view) == 0)
    return;
  view->offset = random_below(2) ? random_below(count - last_position(view)) : 0;
}

static void describe(const char *what, const rt_tensor *base, const rt_tensor *view) {
  printf("  %s of %s (seed of this test is fixed): base", what, tt_dtype_name(base->dtype));
  for (int i = 0; i < base->rank; i++)
    printf(" %d", (int)base->sizes[i]);
  printf("; view %s, offset %d, sizes:strides", tt_dtype_name(view->dtype), (int)view->offset);
  for (int i = 0; i < view->rank; i++)
    printf(" %d:%d", (int)view->sizes[i], (int)view->strides[i]);
  printf("\n");
}

static tt_error *copy(const rt_tensor *target, const rt_tensor *source) {
  tt_rt_tensor to = rt_view(target), from = rt_view(source);
  return tt_rt_copy(&to, &from);
}

TEST_WITHOUT_TORTURE(rt_view, reads_as_the_model_does) {
  tt_rt *rt = rt_get();
  static unsigned char data[BYTES_MAX], want[BYTES_MAX * 256], got[BYTES_MAX * 256];
  rt_tensor base = {0}, view = {0}, target = {0};
  seed = 12345;
  for (int i = 0; rt != NULL && i < READS; i++) {
    REQUIRE_OK(random_base(rt, data, &base));
    random_view(&base, &view);
    REQUIRE_OK(rt_new(rt, view.dtype, view.rank, view.sizes, NULL, &target));
    model_read(&view, data, want);
    if (!EXPECT_OK(copy(&target, &view)) || !EXPECT_OK(rt_read(&target, got)) ||
        !EXPECT_BYTES(got, want, (size_t)tt_rt_storage_size(target.storage)))
      describe("read", &base, &view);
    rt_drop(&base);
    rt_drop(&target);
  }
out:
  rt_drop(&base);
  rt_drop(&target);
}

TEST_WITHOUT_TORTURE(rt_view, writes_as_the_model_does) {
  tt_rt *rt = rt_get();
  static unsigned char data[BYTES_MAX], value[BYTES_MAX * 256], got[BYTES_MAX];
  rt_tensor base = {0}, view = {0}, source = {0};
  seed = 54321;
  for (int i = 0; rt != NULL && i < WRITES; i++) {
    REQUIRE_OK(random_base(rt, data, &base));
    do
      random_view(&base, &view);
    while (overlaps(&view));
    random_bytes(value, sizeof value);
    REQUIRE_OK(rt_new(rt, view.dtype, view.rank, view.sizes, value, &source));
    model_write(&view, data, value);
    if (!EXPECT_OK(copy(&view, &source)) || !EXPECT_OK(rt_read(&base, got)) ||
        !EXPECT_BYTES(got, data, (size_t)tt_rt_storage_size(base.storage)))
      describe("write", &base, &view);
    rt_drop(&base);
    rt_drop(&source);
  }
out:
  rt_drop(&base);
  rt_drop(&source);
}

/* The same view at other offsets, and written several times over: one program or two for all. */
TEST_WITHOUT_TORTURE(rt_view, other_offsets_run_the_same_program) {
  tt_rt *rt = rt_get();
  static unsigned char data[BYTES_MAX], want[BYTES_MAX], got[BYTES_MAX];
  rt_tensor base = {0}, target = {0};
  int64_t programs, sizes[] = {6, 5, 4};
  /* rows, a column of a slice, every other element: regular, with room to move */
  rt_tensor views[] = {{.dtype = TT_S32, .rank = 2, .sizes = {5, 4}, .strides = {4, 1}},
                       {.dtype = TT_S32, .rank = 2, .sizes = {2, 3}, .strides = {20, 4}},
                       {.dtype = TT_S32, .rank = 1, .sizes = {2}, .strides = {2}}};
  const int64_t offsets[][5] = {{0, 20, 40, 60, 100}, {0, 1, 21, 42, 43}, {0, 1, 4, 5, 9}};
  random_bytes(data, sizeof data);
  for (size_t v = 0; rt != NULL && v < TT_COUNT(views); v++) {
    REQUIRE_OK(rt_new(rt, TT_S32, 3, sizes, data, &base));
    REQUIRE_OK(rt_new(rt, TT_S32, views[v].rank, views[v].sizes, NULL, &target));
    views[v].storage = base.storage;
    programs = rt_stats(rt).programs;
    for (size_t i = 0; i < TT_COUNT(offsets[v]); i++) {
      views[v].offset = offsets[v][i];
      model_read(&views[v], data, want);
      REQUIRE_OK(copy(&target, &views[v]));
      REQUIRE_OK(rt_read(&target, got));
      EXPECT_BYTES(got, want, (size_t)tt_rt_storage_size(target.storage));
    }
    EXPECT(rt_stats(rt).programs - programs <= 2);
    programs = rt_stats(rt).programs;
    for (size_t i = 0; i < TT_COUNT(offsets[v]); i++) {
      views[v].offset = offsets[v][i];
      model_write(&views[v], data, want);
      REQUIRE_OK(copy(&views[v], &target));
      REQUIRE_OK(rt_read(&base, got));
      EXPECT_BYTES(got, data, (size_t)tt_rt_storage_size(base.storage));
    }
    EXPECT(rt_stats(rt).programs - programs <= 2);
    rt_drop(&base);
    rt_drop(&target);
  }
out:
  rt_drop(&base);
  rt_drop(&target);
}

TEST_WITHOUT_TORTURE(rt_view, storage_without_content_reads_as_zeros) {
  tt_rt *rt = rt_get();
  rt_tensor base = {0}, part, target = {0};
  float got[6] = {1, 1, 1, 1, 1, 1}, two[2] = {7, 8};
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_new(rt, TT_F32, 1, &(int64_t){6}, NULL, &base));
  REQUIRE_OK(rt_read(&base, got));
  EXPECT_BYTES(got, ((float[6]){0}), sizeof got);
  REQUIRE_OK(rt_vector(rt, two, 2, &target));
  part = base;
  part.sizes[0] = 2;
  part.strides[0] = 3;
  part.offset = 1;
  REQUIRE_OK(copy(&part, &target));
  REQUIRE_OK(rt_read(&base, got));
  EXPECT_BYTES(got, ((float[6]){0, 7, 0, 0, 8, 0}), sizeof got);
out:
  rt_drop(&base);
  rt_drop(&target);
}

TEST_WITHOUT_TORTURE(rt_view, writing_one_place_twice_is_an_error) {
  tt_rt *rt = rt_get();
  rt_tensor base = {0}, wide, source = {0};
  float data[4] = {1, 2, 3, 4}, got[4];
  if (rt == NULL)
    goto out;
  REQUIRE_OK(rt_vector(rt, data, 4, &base));
  REQUIRE_OK(rt_new(rt, TT_F32, 2, (int64_t[]){3, 4}, NULL, &source));
  wide = source;
  wide.storage = base.storage;
  wide.strides[0] = 0;
  EXPECT_ERR(copy(&wide, &source), TT_INVALID_ARGUMENT, "single memory location");
  REQUIRE_OK(rt_read(&base, got));
  EXPECT_BYTES(got, data, sizeof data);
out:
  rt_drop(&base);
  rt_drop(&source);
}

TEST_WITHOUT_TORTURE(rt_view, dense_and_covering) {
  static const struct {
    int32_t rank;
    int64_t sizes[3], strides[3];
    bool dense;
  } cases[] = {{0, {0}, {0}, true},
               {1, {4}, {1}, true},
               {1, {4}, {2}, false},
               {2, {3, 4}, {4, 1}, true},
               {2, {3, 4}, {1, 3}, true},
               {2, {3, 4}, {5, 1}, false},
               {2, {3, 1}, {1, 99}, true},
               {2, {3, 4}, {0, 1}, false},
               {3, {2, 0, 3}, {7, 7, 7}, true},
               {3, {2, 3, 4}, {4, 8, 1}, true},
               {3, {2, 3, 4}, {12, 4, 2}, false}};
  for (size_t i = 0; i < TT_COUNT(cases); i++)
    EXPECT_INT(tt_rt_dense(cases[i].sizes, cases[i].strides, cases[i].rank), cases[i].dense);
}
