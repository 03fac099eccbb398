/* gather and scatter of more indices than are worked with at a time, some outside. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "test_kernel_case.h"

typedef struct kind {
  const char *name;
  int bytes;
} kind;

static const kind elements[] = {
    {"i8", 1}, {"bf16", 2}, {"f32", 4}, {"i64", 8}, {"complex<f64>", 16}};
static const kind indices[] = {{"i32", 4}, {"i64", 8}, {"ui32", 4}, {"ui64", 8}, {"i16", 2}};

enum { ROWS = 30, COLUMNS = 40, COUNT = 1500 };

/* Numbers from -7 to 52; unsigned ones wrap, and are far above. */
static int64_t number(const kind *index, int i) {
  int64_t value = (int64_t)(i * 37 + i / 11) % 60 - 7;
  return index->name[0] == 'u' && value < 0 ? INT64_MAX : value;
}

static void put_numbers(const kind *index, char *to, int count) {
  for (int i = 0; i < count; i++) {
    int64_t value = number(index, i);
    if (value == INT64_MAX)
      value = -1;
    memcpy(to + i * index->bytes, &value, (size_t)index->bytes); /* little-endian */
  }
}

static int64_t clamp(int64_t value, int64_t most) {
  return value < 0 ? 0 : value > most ? most : value;
}

static char bytes_in[3 * COUNT * 16], bytes_out[ROWS * COUNT * 16], number_bytes[2 * COUNT * 8];

static void fill_bytes(void) {
  for (size_t i = 0; i < sizeof bytes_in; i++)
    bytes_in[i] = (char)(i * 131 + i / 251);
}

/* x[i, j] for pairs (i, j). */
static void check_elements(const kind *element, const kind *index) {
  char text[1500];
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<30x40x%s>, %%i: tensor<1500x2x%s>) -> tensor<1500x%s> {\n"
           "%%r = \"stablehlo.gather\"(%%x, %%i) {dimension_numbers = #stablehlo.gather<"
           "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, "
           "slice_sizes = array<i64: 1, 1>} : (tensor<30x40x%s>, tensor<1500x2x%s>) -> "
           "tensor<1500x%s>\nreturn %%r : tensor<1500x%s>\n}\n",
           element->name, index->name, element->name, element->name, index->name, element->name,
           element->name);
  put_numbers(index, number_bytes, 2 * COUNT);
  EXPECT_OK(run_text(text, (const void *[]){bytes_in, number_bytes}, (void *[]){bytes_out}));
  for (int i = 0; i < COUNT; i++) {
    int64_t at = clamp(number(index, 2 * i), ROWS - 1) * COLUMNS +
                 clamp(number(index, 2 * i + 1), COLUMNS - 1);
    EXPECT(memcmp(bytes_out + i * element->bytes, bytes_in + at * element->bytes,
                  (size_t)element->bytes) == 0);
  }
}

/* x[:, j]: the indices lie side by side in the result. */
static void check_columns(const kind *element, const kind *index) {
  char text[1500];
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<30x40x%s>, %%i: tensor<1500x%s>) -> tensor<30x1500x%s> {\n"
           "%%r = \"stablehlo.gather\"(%%x, %%i) {dimension_numbers = #stablehlo.gather<"
           "offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], "
           "index_vector_dim = 1>, slice_sizes = array<i64: 30, 1>} : (tensor<30x40x%s>, "
           "tensor<1500x%s>) -> tensor<30x1500x%s>\nreturn %%r : tensor<30x1500x%s>\n}\n",
           element->name, index->name, element->name, element->name, index->name, element->name,
           element->name);
  put_numbers(index, number_bytes, COUNT);
  EXPECT_OK(run_text(text, (const void *[]){bytes_in, number_bytes}, (void *[]){bytes_out}));
  for (int i = 0; i < ROWS * COUNT; i++) {
    int64_t at = i / COUNT * COLUMNS + clamp(number(index, i % COUNT), COLUMNS - 1);
    EXPECT(memcmp(bytes_out + i * element->bytes, bytes_in + at * element->bytes,
                  (size_t)element->bytes) == 0);
  }
}

TEST(cpu_kernel_indices, gather) {
  fill_bytes();
  for (size_t e = 0; e < TT_COUNT(elements); e++)
    for (size_t i = 0; i < TT_COUNT(indices); i++) {
      check_elements(&elements[e], &indices[i]);
      check_columns(&elements[e], &indices[i]);
    }
}

/* x[j] = or += u: later ones win, those outside are left out. */
static void scatter_text(char *text, size_t size, const char *body, const kind *element,
                         const kind *index) {
  snprintf(text, size,
           "func.func @main(%%x: tensor<45x%s>, %%i: tensor<1500x1x%s>, %%u: tensor<1500x%s>) -> "
           "tensor<45x%s> {\n%%r = \"stablehlo.scatter\"(%%x, %%i, %%u) ({\n^bb0(%%a: tensor<%s>, "
           "%%b: tensor<%s>):\n%s}) {scatter_dimension_numbers = #stablehlo.scatter<"
           "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} "
           ": (tensor<45x%s>, tensor<1500x1x%s>, tensor<1500x%s>) -> tensor<45x%s>\n"
           "return %%r : tensor<45x%s>\n}\n",
           element->name, index->name, element->name, element->name, element->name, element->name,
           body, element->name, index->name, element->name, element->name, element->name);
}

static void check_overwrite(const kind *element, const kind *index) {
  char text[1500], body[64], want[45 * 16];
  size_t size = (size_t)element->bytes;
  snprintf(body, sizeof body, "stablehlo.return %%b : tensor<%s>\n", element->name);
  scatter_text(text, sizeof text, body, element, index);
  put_numbers(index, number_bytes, COUNT);
  const char *updates = bytes_in + 45 * size;
  EXPECT_OK(
      run_text(text, (const void *[]){bytes_in, number_bytes, updates}, (void *[]){bytes_out}));
  memcpy(want, bytes_in, 45 * size);
  for (int i = 0; i < COUNT; i++) {
    int64_t at = number(index, i);
    if (at >= 0 && at < 45)
      memcpy(want + (size_t)at * size, updates + (size_t)i * size, size);
  }
  EXPECT(memcmp(want, bytes_out, 45 * size) == 0);
}

#define CHECK_ADD(T, NAME, INDEX)                                                         \
  do {                                                                                    \
    const kind element_ = {NAME, sizeof(T)};                                              \
    T x_[45], u_[COUNT], got_[45];                                                        \
    char text_[1500];                                                                     \
    for (int k_ = 0; k_ < 45; k_++)                                                       \
      x_[k_] = (T)k_;                                                                     \
    for (int k_ = 0; k_ < COUNT; k_++)                                                    \
      u_[k_] = (T)(k_ % 100 - 50);                                                        \
    scatter_text(text_, sizeof text_,                                                     \
                 "%c = stablehlo.add %a, %b : tensor<" NAME                               \
                 ">\nstablehlo.return %c : tensor<" NAME ">\n",                           \
                 &element_, INDEX);                                                       \
    put_numbers(INDEX, number_bytes, COUNT);                                              \
    EXPECT_OK(run_text(text_, (const void *[]){x_, number_bytes, u_}, (void *[]){got_})); \
    for (int k_ = 0; k_ < COUNT; k_++)                                                    \
      if (number(INDEX, k_) >= 0 && number(INDEX, k_) < 45)                               \
        x_[number(INDEX, k_)] += u_[k_];                                                  \
    for (int k_ = 0; k_ < 45; k_++)                                                       \
      EXPECT(x_[k_] == got_[k_]);                                                         \
  } while (0)

TEST(cpu_kernel_indices, scatter) {
  fill_bytes();
  for (size_t i = 0; i < TT_COUNT(indices); i++) {
    for (size_t e = 0; e < TT_COUNT(elements); e++)
      check_overwrite(&elements[e], &indices[i]);
    CHECK_ADD(float, "f32", &indices[i]);
    CHECK_ADD(double, "f64", &indices[i]);
    CHECK_ADD(int32_t, "i32", &indices[i]);
    CHECK_ADD(int64_t, "i64", &indices[i]);
    CHECK_ADD(int16_t, "i16", &indices[i]);
  }
}
