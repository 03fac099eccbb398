/* dot_general of integers: full tiles and edges, both orders of each operand, sums that wrap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "test.h"
#include "test_kernel_case.h"

typedef struct int_case {
  const char *in, *out;
  int in_bytes, out_bytes;
  int batch, m, n, k;
  bool turn_a, turn_b; /* [k, m], [n, k] */
  bool least;          /* all elements are the least that there is */
} int_case;

static const int_case cases[] = {
    {"i32", "i32", 4, 4, 1, 1, 1, 1, false, false, false},
    {"i32", "i32", 4, 4, 1, 4, 32, 7, false, false, false},
    {"i32", "i32", 4, 4, 2, 71, 67, 33, false, true, false},
    {"i32", "i32", 4, 4, 1, 130, 1, 50, true, false, false},
    {"i64", "i64", 8, 8, 1, 4, 16, 5, false, false, false},
    {"i64", "i64", 8, 8, 3, 66, 37, 20, true, true, false},
    {"ui64", "ui64", 8, 8, 1, 1, 100, 300, false, false, false},
    {"i8", "i32", 1, 4, 1, 9, 40, 100, false, false, false},
    {"i8", "i8", 1, 1, 1, 5, 33, 41, false, true, false},
    {"i16", "i64", 2, 8, 1, 6, 31, 11, true, false, false},
    {"i64", "i32", 8, 4, 1, 7, 19, 23, false, false, false},
    {"i8", "i32", 1, 4, 1, 1, 1, 1, false, false, true},
    {"i8", "i32", 1, 4, 1, 1, 65, 257, true, false, true},
    {"i8", "i32", 1, 4, 3, 70, 37, 63, false, true, false},
    {"i8", "i32", 1, 4, 2, 67, 33, 64, true, true, false},
    {"i8", "i16", 1, 2, 1, 8, 32, 2, true, false, false},
    {"ui8", "ui32", 1, 4, 2, 66, 45, 31, false, false, false},
    {"ui8", "i32", 1, 4, 1, 3, 100, 129, true, true, false},
    {"i16", "i32", 2, 4, 1, 5, 40, 33, false, true, true},
    {"i16", "i32", 2, 4, 2, 131, 34, 255, true, false, false},
    {"i16", "i16", 2, 2, 1, 9, 17, 8, false, false, false},
    {"ui16", "i32", 2, 4, 1, 9, 17, 8, false, false, false},
};

static void write_text(const int_case *c, char *text, size_t size) {
  char a[64], b[64], out[64];
  snprintf(a, sizeof a, "tensor<%dx%dx%dx%s>", c->batch, c->turn_a ? c->k : c->m,
           c->turn_a ? c->m : c->k, c->in);
  snprintf(b, sizeof b, "tensor<%dx%dx%dx%s>", c->batch, c->turn_b ? c->n : c->k,
           c->turn_b ? c->k : c->n, c->in);
  snprintf(out, sizeof out, "tensor<%dx%dx%dx%s>", c->batch, c->m, c->n, c->out);
  snprintf(text, size,
           "func.func @main(%%a: %s, %%b: %s) -> %s {\n%%r = stablehlo.dot_general %%a, %%b, "
           "batching_dims = [0] x [0], contracting_dims = [%d] x [%d] : (%s, %s) -> %s\n"
           "return %%r : %s\n}\n",
           a, b, out, c->turn_a ? 1 : 2, c->turn_b ? 2 : 1, a, b, out, out);
}

/* Signs are kept; what is above does not count where sums are cut. */
static uint64_t load(const char *dtype, const char *data, int64_t i, int bytes) {
  uint64_t word = 0;
  memcpy(&word, data + i * bytes, (size_t)bytes);
  int shift = 64 - 8 * bytes;
  return dtype[0] == 'u' ? word : (uint64_t)((int64_t)(word << shift) >> shift);
}

static void fill(const int_case *c, char *data, int64_t count, uint64_t seed) {
  int64_t size = count * c->in_bytes;
  for (int64_t i = 0; i < size; i++)
    data[i] = (char)tt_hash64(&i, sizeof i, seed);
  for (int64_t i = 0; c->least && i < size; i++)
    data[i] = i % c->in_bytes == c->in_bytes - 1 ? INT8_MIN : 0;
}

static void check(const int_case *c) {
  char text[1000];
  int64_t a_size = (int64_t)c->batch * c->m * c->k, b_size = (int64_t)c->batch * c->k * c->n;
  int64_t out_size = (int64_t)c->batch * c->m * c->n;
  char *a = malloc((size_t)(a_size * c->in_bytes)), *b = malloc((size_t)(b_size * c->in_bytes)),
       *out = malloc((size_t)(out_size * c->out_bytes));
  fill(c, a, a_size, 1);
  fill(c, b, b_size, 2);
  write_text(c, text, sizeof text);
  EXPECT_OK(run_text(text, (const void *[]){a, b}, (void *[]){out}));
  for (int64_t i = 0; i < out_size; i++) {
    int64_t batch = i / c->m / c->n, m = i / c->n % c->m, n = i % c->n;
    uint64_t sum = 0;
    for (int64_t k = 0; k < c->k; k++)
      sum += load(c->in, a, batch * c->m * c->k + (c->turn_a ? k * c->m + m : m * c->k + k),
                  c->in_bytes) *
             load(c->in, b, batch * c->k * c->n + (c->turn_b ? n * c->k + k : k * c->n + n),
                  c->in_bytes);
    EXPECT(memcmp(&sum, out + i * c->out_bytes, (size_t)c->out_bytes) == 0);
  }
  free(a);
  free(b);
  free(out);
}

TEST_WITHOUT_TORTURE(cpu_kernel, integer_products) {
  for (size_t i = 0; i < TT_COUNT(cases); i++)
    check(&cases[i]);
}
