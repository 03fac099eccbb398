/* dot_general against plain sums in double, in every layout and at the edges of its blocks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cpu/kernel.h"
#include "cpu/kernels/gemm.h"
#include "cpu/memory.h"
#include "test.h"
#include "test_kernel_case.h"

static const kernel_case dots[] = {
    {"tensor<2x2xi32>",
     "%a = stablehlo.constant dense<[[100, -100], [1, 127]]> : tensor<2x2xi8>\n"
     "%got = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<2x2xi8>, "
     "tensor<2x2xi8>) -> tensor<2x2xi32>",
     "[[9900, -22700], [227, 16029]]", 0},
    {"tensor<1xcomplex<f32>>",
     "%a = stablehlo.constant dense<[(1.0, 2.0), (0.0, 1.0)]> : tensor<2xcomplex<f32>>\n"
     "%0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<2xcomplex<f32>>, "
     "tensor<2xcomplex<f32>>) -> tensor<complex<f32>>\n%got = stablehlo.reshape %0 : "
     "(tensor<complex<f32>>) -> tensor<1xcomplex<f32>>",
     "[(-4.0, 4.0)]", 0},
    /* In order, in floats. */
    {"tensor<1xcomplex<f32>>",
     "%a = stablehlo.constant dense<[(1.0e8, 1.0), (1.0, 1.0e8), (-1.0e8, -1.0)]> : "
     "tensor<3xcomplex<f32>>\n%b = stablehlo.constant dense<(1.0, 0.0)> : tensor<3xcomplex<f32>>\n"
     "%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3xcomplex<f32>>, "
     "tensor<3xcomplex<f32>>) -> tensor<complex<f32>>\n%got = stablehlo.reshape %0 : "
     "(tensor<complex<f32>>) -> tensor<1xcomplex<f32>>",
     "[(0.0, 1.0e8)]", 0},
    {"tensor<2x1xcomplex<f64>>",
     "%a = stablehlo.constant dense<[[(1.0e8, 1.0), (0.0, 2.0)], [(1.0, 0.0), (-1.0e8, -1.0)]]> : "
     "tensor<2x2xcomplex<f64>>\n%b = stablehlo.constant dense<[[(1.0, 0.0)], [(1.0, 1.0)]]> : "
     "tensor<2x1xcomplex<f64>>\n%got = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] "
     ": (tensor<2x2xcomplex<f64>>, tensor<2x1xcomplex<f64>>) -> tensor<2x1xcomplex<f64>>",
     "[[(100000001.0, 2.0)], [(-99999999.0, -99999999.0)]]", 0},
    {"tensor<2x3xf32>",
     "%a = stablehlo.constant dense<> : tensor<2x0xf32>\n%b = stablehlo.constant dense<> : "
     "tensor<0x3xf32>\n%got = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
     "(tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>",
     "0.0", 0},
    {"tensor<1x1xbf16>",
     "%a = stablehlo.constant dense<1.0> : tensor<1x300xbf16>\n%b = stablehlo.constant dense<1.0> "
     ": "
     "tensor<300x1xbf16>\n%got = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
     "(tensor<1x300xbf16>, tensor<300x1xbf16>) -> tensor<1x1xbf16>",
     "300.0", 0},
    /* Contracting axes that do not lie evenly: a is copied first. [b, i, j] = sum over k, l of
     * a[k, b, l, i] c[b, l, k, j], all ones. */
    {"tensor<2x5x1xf32>",
     "%a = stablehlo.constant dense<1.0> : tensor<3x2x4x5xf32>\n%c = stablehlo.constant dense<2.0> "
     ": tensor<2x4x3x1xf32>\n%got = stablehlo.dot_general %a, %c, batching_dims = [1] x [0], "
     "contracting_dims = [0, 2] x [2, 1] : (tensor<3x2x4x5xf32>, tensor<2x4x3x1xf32>) -> "
     "tensor<2x5x1xf32>",
     "24.0", 0},
};
TEST(cpu_kernel, dots) { CHECK_CASES(dots); }

typedef struct gemm_case {
  int64_t m, n, k;
  bool a_turned, b_turned, packed, row;
} gemm_case;

static double element(int64_t i) { return (double)((i * 7919 + 13) % 201 - 100) / 64; }

/* Buffers of a product in f32 or f64. */
typedef struct gemm_room {
  void *a, *b, *out, *scratch, *packed;
} gemm_room;

static void check_gemm(const tt_cpu_gemm_kernel *kernel, tt_dtype dtype, const gemm_case *c,
                       const gemm_room *room) {
  tt_cpu_gemm g = {.m = c->m,
                   .n = c->n,
                   .k = c->k,
                   .n_whole = c->n,
                   .a = room->a,
                   .b = room->b,
                   .c = room->out,
                   .a_m = c->a_turned ? 1 : c->k,
                   .a_k = c->a_turned ? c->m : 1,
                   .b_k = c->b_turned ? 1 : c->n,
                   .b_n = c->b_turned ? c->k : 1,
                   .row = c->row ? room->b : NULL};
  double ulp = dtype == TT_F32 ? 0x1p-23 : 0x1p-52;
  for (int64_t i = 0; i < c->m * c->k; i++)
    tt_cpu_store(dtype, room->a, i, element(i), 0);
  for (int64_t i = 0; i < c->k * c->n; i++)
    tt_cpu_store(dtype, room->b, i, element(i + 5), 0);
  if (c->packed) {
    kernel->pack(&g, 0, c->n, room->packed);
    g.packed_b = room->packed;
  }
  kernel->run(&g, room->scratch);
  for (int64_t i = 0; i < c->m; i++)
    for (int64_t j = 0; j < c->n; j++) {
      double sum = c->row ? element(j + 5) : 0, size = fabs(sum);
      for (int64_t p = 0; p < c->k; p++) {
        double term = element(i * g.a_m + p * g.a_k) * element(p * g.b_k + j * g.b_n + 5);
        sum += term;
        size += fabs(term);
      }
      double got = tt_cpu_load(dtype, room->out, i * c->n + j, NULL);
      if (!EXPECT_DOUBLE(got, sum, 4 * ulp * size)) {
        fprintf(stderr, "m %lld n %lld k %lld\n", (long long)c->m, (long long)c->n,
                (long long)c->k);
        return;
      }
    }
}

/* Sides around the register tiles (14, 6 rows; 8, 16, 32 columns) and the blocks (256, 168). */
TEST_WITHOUT_TORTURE(cpu_kernel, gemm_every_instruction_set) {
  static const gemm_case cases[] = {
      {1, 1, 1, false, false, false, false},      {1, 33, 300, false, false, false, false},
      {3, 40, 257, false, true, false, false},    {14, 32, 256, false, false, false, false},
      {15, 31, 9, true, false, false, false},     {6, 16, 5, true, true, false, false},
      {169, 65, 300, false, false, false, false}, {43, 70, 30, false, false, false, false},
      {30, 1, 40, false, true, false, false},     {5, 100, 70, true, true, false, false},
      {200, 170, 300, false, true, true, true},   {200, 70, 300, true, false, true, false},
      {29, 33, 31, true, true, true, true},       {200, 200, 64, false, false, true, true},
      {3, 40, 257, false, true, false, true},     {20, 200, 290, false, false, false, true},
      {150, 60, 300, true, true, false, true},    {7, 33, 300, false, true, false, true},
      {20, 41, 70, false, true, false, false},    {32, 3, 31, false, true, false, true},
      {100, 150, 280, true, false, false, true},  {16, 70, 300, false, false, false, true},
      {15, 64, 33, false, true, false, false},    {16, 64, 40, true, false, true, false},
      {184, 40, 30, false, false, false, false},  {22, 64, 40, false, false, true, true},
      {6, 1, 3, false, false, false, false},      {12, 20, 64, false, false, false, true},
      {13, 17, 300, false, true, false, false},   {28, 5, 70, false, false, true, false},
  };
  const tt_cpu_gemm_kernels *kernels[TT_CPU_ISA_COUNT] = {&tt_cpu_gemm_base};
  gemm_room room = {tt_cpu_memory_alloc(1 << 20), tt_cpu_memory_alloc(1 << 20),
                    tt_cpu_memory_alloc(1 << 20),
                    tt_cpu_memory_alloc(tt_cpu_gemm_scratch(200, 200, 300, 8)),
                    tt_cpu_memory_alloc(tt_cpu_gemm_packed(200, 300, 8))};
#if defined(__x86_64__)
  kernels[TT_CPU_ISA_AVX2] = &tt_cpu_gemm_avx2;
  kernels[TT_CPU_ISA_AVX512] = &tt_cpu_gemm_avx512;
#endif
  REQUIRE(room.a != NULL && room.b != NULL && room.out != NULL && room.scratch != NULL &&
          room.packed != NULL);
  for (int isa = 0; isa <= (int)tt_cpu_isa_best(); isa++)
    for (size_t i = 0; i < TT_COUNT(cases); i++) {
      check_gemm(&kernels[isa]->f32, TT_F32, &cases[i], &room);
      check_gemm(&kernels[isa]->f64, TT_F64, &cases[i], &room);
    }
out:
  tt_cpu_memory_free(room.a);
  tt_cpu_memory_free(room.b);
  tt_cpu_memory_free(room.out);
  tt_cpu_memory_free(room.scratch);
  tt_cpu_memory_free(room.packed);
}

/* Large enough that threads share it: every element is k. */
TEST_WITHOUT_TORTURE(cpu_kernel, dot_on_threads) {
  enum { SIDE = 300 };
  tt_cpu_plan *plan = NULL;
  float *a = tt_cpu_memory_alloc(SIDE * SIDE * 4), *out = tt_cpu_memory_alloc(SIDE * SIDE * 4);
  REQUIRE(a != NULL && out != NULL);
  for (int i = 0; i < SIDE * SIDE; i++)
    a[i] = 1;
  REQUIRE_OK(
      plan_of("func.func @main(%a: tensor<300x300xf32>) -> tensor<300x300xf32> {\n"
              "%0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [1] : "
              "(tensor<300x300xf32>, tensor<300x300xf32>) -> tensor<300x300xf32>\n"
              "return %0 : tensor<300x300xf32>\n}",
              &plan));
  REQUIRE_OK(run_plan(plan, (const void *[]){a}, (void *[]){out}));
  for (int i = 0; i < SIDE * SIDE; i++)
    REQUIRE(out[i] == SIDE);
out:
  tt_cpu_plan_free(plan);
  tt_cpu_memory_free(a);
  tt_cpu_memory_free(out);
}
