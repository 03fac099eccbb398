/* Attention as one step: the bits are those of the three, which run where another op reads the
 * scores. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/kernel.h"
#include "test.h"
#include "test_kernel_case.h"

typedef struct shape {
  int batch, queries, keys, depth, width;
} shape;

/* softmax(2 q k^T + bias) v; the scores are a result too where `scores`. */
static void print_program(const shape *s, bool scores, char *text, size_t size) {
  char p[64], r[64], o[64];
  snprintf(p, sizeof p, "tensor<%dx%dx%dxf32>", s->batch, s->queries, s->keys);
  snprintf(r, sizeof r, "tensor<%dx%dxf32>", s->batch, s->queries);
  snprintf(o, sizeof o, "tensor<%dx%dx%dxf32>", s->batch, s->queries, s->width);
  snprintf(text, size,
           "func.func @main(%%q: tensor<%dx%dx%dxf32>, %%k: tensor<%dx%dx%dxf32>, "
           "%%v: tensor<%dx%dx%dxf32>, %%bias: %s) -> (%s%s%s) {\n"
           "%%low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
           "%%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
           "%%two = stablehlo.constant dense<2.0> : %s\n"
           "%%s = stablehlo.dot_general %%q, %%k, batching_dims = [0] x [0], contracting_dims = "
           "[2] x [2] : (tensor<%dx%dx%dxf32>, tensor<%dx%dx%dxf32>) -> %s\n"
           "%%m = stablehlo.multiply %%s, %%two : %s\n"
           "%%b = stablehlo.add %%m, %%bias : %s\n"
           "%%x = stablehlo.reduce(%%b init: %%low) applies stablehlo.maximum across dimensions = "
           "[2] : (%s, tensor<f32>) -> %s\n"
           "%%xs = stablehlo.broadcast_in_dim %%x, dims = [0, 1] : (%s) -> %s\n"
           "%%d = stablehlo.subtract %%b, %%xs : %s\n"
           "%%e = stablehlo.exponential %%d : %s\n"
           "%%t = stablehlo.reduce(%%e init: %%zero) applies stablehlo.add across dimensions = [2]"
           " : (%s, tensor<f32>) -> %s\n"
           "%%ts = stablehlo.broadcast_in_dim %%t, dims = [0, 1] : (%s) -> %s\n"
           "%%w = stablehlo.divide %%e, %%ts : %s\n"
           "%%o = stablehlo.dot_general %%w, %%v, batching_dims = [0] x [0], contracting_dims = "
           "[2] x [1] : (%s, tensor<%dx%dx%dxf32>) -> %s\n"
           "return %%o%s : %s%s%s\n}",
           s->batch, s->queries, s->depth, s->batch, s->keys, s->depth, s->batch, s->keys, s->width,
           p, o, scores ? ", " : "", scores ? p : "", p, s->batch, s->queries, s->depth, s->batch,
           s->keys, s->depth, p, p, p, p, r, r, p, p, p, p, r, r, p, p, p, s->batch, s->keys,
           s->width, o, scores ? ", %s" : "", o, scores ? ", " : "", scores ? p : "");
}

static float *numbers(size_t count, uint32_t seed) {
  float *x = aligned_alloc(64, (count * sizeof *x + 127) / 64 * 64);
  for (size_t i = 0; x != NULL && i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 8) / 8388608.0f - 1;
  }
  return x;
}

/* What a mask hides wholly, and numbers that spread. */
static void put_edges(const shape *s, float *q, float *bias) {
  for (int i = 0; i < s->keys; i++)
    bias[i] = -INFINITY;
  bias[s->keys] = INFINITY;
  bias[2 * s->keys + s->keys - 1] = NAN;
  q[(s->queries - 1) * s->depth] = INFINITY;
}

static void compare(const shape *s, bool joins) {
  char text[4096];
  tt_cpu_plan *joined = NULL, *apart = NULL;
  size_t rows = (size_t)s->batch * (size_t)s->queries, keys = (size_t)s->batch * (size_t)s->keys;
  size_t scores = rows * (size_t)s->keys, size = rows * (size_t)s->width;
  float *q = numbers(rows * (size_t)s->depth, 1), *k = numbers(keys * (size_t)s->depth, 2);
  float *v = numbers(keys * (size_t)s->width, 3), *bias = numbers(scores, 4);
  float *one = numbers(size, 5), *three = numbers(size, 6), *seen = numbers(scores, 7);
  REQUIRE(q && k && v && bias && one && three && seen);
  put_edges(s, q, bias);
  print_program(s, false, text, sizeof text);
  REQUIRE_OK(plan_of(text, &joined));
  EXPECT((tt_cpu_plan_scratch(joined) == 0) == joins);
  print_program(s, true, text, sizeof text);
  REQUIRE_OK(plan_of(text, &apart));
  EXPECT(tt_cpu_plan_scratch(apart) > 0);
  REQUIRE_OK(run_plan(joined, (const void *[]){q, k, v, bias}, (void *[]){one}));
  REQUIRE_OK(run_plan(apart, (const void *[]){q, k, v, bias}, (void *[]){three, seen}));
  for (size_t i = 0; i < size; i++)
    EXPECT((isnan(one[i]) && isnan(three[i])) || memcmp(&one[i], &three[i], sizeof *one) == 0);
out:
  tt_cpu_plan_free(joined);
  tt_cpu_plan_free(apart);
  free(q), free(k), free(v), free(bias), free(one), free(three), free(seen);
}

TEST(cpu_attention, gives_the_bits_of_the_three_steps) {
  static const shape shapes[] = {{1, 8, 5, 3, 2},       {3, 17, 33, 16, 7}, {8, 256, 256, 64, 64},
                                 {2, 100, 700, 32, 48}, {1, 61, 1, 1, 1},   {1, 300, 4000, 8, 300}};
  for (size_t i = 0; i < TT_COUNT(shapes); i++)
    compare(&shapes[i], shapes[i].keys > 1);
}

/* Few rows are shared out better by the products alone. */
TEST(cpu_attention, leaves_few_rows_alone) {
  static const shape few = {4, 7, 64, 16, 16};
  compare(&few, false);
}
