/* Products that oneDNN may take, with libraries in its place that ctest names in TT_CPU_ONEDNN, one
 * for a process, and without one. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cpu/onednn.h"
#include "test.h"
#include "test_kernel_case.h"

static bool has(const char *what) {
  const char *path = getenv("TT_CPU_ONEDNN");
  return path != NULL && strstr(path, what) != NULL;
}

typedef struct product_case {
  const char *in, *out;
  int batch, m, n, k;
  bool turn_a, turn_b; /* [k, m], [n, k] */
} product_case;

static const product_case cases[] = {
    {"bf16", "bf16", 1, 32, 32, 32, false, false}, {"bf16", "f32", 1, 33, 95, 40, true, true},
    {"bf16", "bf16", 3, 70, 45, 33, false, true},  {"bf16", "f32", 1, 300, 64, 50, true, false},
    {"bf16", "bf16", 9, 40, 130, 32, true, false}, {"bf16", "bf16", 1, 257, 513, 64, false, false},
    {"bf16", "bf16", 1, 31, 64, 64, false, false}, {"i8", "i32", 1, 32, 32, 32, false, false},
    {"i8", "i32", 2, 65, 70, 257, true, true},     {"i8", "i32", 1, 400, 33, 64, false, true},
};

static void write_text(const product_case *c, char *text, size_t size) {
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

static float of_bf16(const void *data, int64_t at) {
  uint32_t bits = (uint32_t)((const uint16_t *)data)[at] << 16;
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double load(const char *dtype, const void *data, int64_t at) {
  if (dtype[0] == 'i')
    return dtype[1] == '8' ? ((const int8_t *)data)[at] : ((const int32_t *)data)[at];
  return dtype[0] == 'f' ? ((const float *)data)[at] : of_bf16(data, at);
}

static void fill(const char *dtype, void *data, int64_t count, bool whole, uint64_t seed) {
  for (int64_t i = 0; i < count; i++) {
    uint64_t word = tt_hash64(&i, sizeof i, seed);
    float value = whole ? (float)(word % 3) - 1 : (float)(word % 20001) / 10000 - 1;
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    if (dtype[0] == 'i')
      ((int8_t *)data)[i] = (int8_t)word;
    else
      ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
  }
}

/* Whether the result is one that oneDNN gave: the libraries marked add 1. */
static bool is_taken(const product_case *c) {
  return has("marked") && c->in[0] == 'b' && c->m >= 32;
}

/* Whole numbers give the same bits as exact sums; others differ by what rounding once does. */
static bool is_near(const product_case *c, double got, double want, bool whole) {
  if (whole || c->out[0] == 'i')
    return got == want;
  double ulp = c->out[0] == 'b' ? 1.0 / 256 : 1e-6;
  return fabs(got - want) <= ulp * fabs(want) + 1e-5 * c->k / 32;
}

static void compare(const product_case *c, const void *a, const void *b, const void *out,
                    bool whole) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < (int64_t)c->batch * c->m * c->n; i++) {
    int64_t batch = i / c->m / c->n, m = i / c->n % c->m, n = i % c->n;
    int64_t a_at = batch * c->m * c->k, b_at = batch * c->n * c->k;
    double sum = is_taken(c);
    for (int64_t k = 0; k < c->k; k++)
      sum += load(c->in, a, a_at + (c->turn_a ? k * c->m + m : m * c->k + k)) *
             load(c->in, b, b_at + (c->turn_b ? n * c->k + k : k * c->n + n));
    wrong += !is_near(c, load(c->out, out, i), sum, whole);
  }
  EXPECT_INT(wrong, 0);
}

static void run_case(const product_case *c, bool whole, tt_code code, const char *message) {
  char text[1000];
  size_t a_count = (size_t)(c->batch * c->m * c->k), b_count = (size_t)(c->batch * c->k * c->n);
  void *a = malloc(2 * a_count), *b = malloc(2 * b_count);
  void *out = malloc(4 * (size_t)(c->batch * c->m * c->n));
  fill(c->in, a, (int64_t)a_count, whole, 1);
  fill(c->in, b, (int64_t)b_count, whole, 2);
  write_text(c, text, sizeof text);
  tt_error *err = run_text(text, (const void *[]){a, b}, (void *[]){out});
  if (message != NULL) {
    EXPECT_ERR(err, code, message);
  } else {
    EXPECT_OK(err);
    compare(c, a, b, out, whole);
  }
  free(a);
  free(b);
  free(out);
}

/* The caller's number of OpenMP threads is what it was. */
static void expect_threads(void) {
  union {
    void *address;
    int (*call)(void);
  } get;
  void *handle = dlopen(getenv("TT_CPU_ONEDNN"), RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(handle != NULL);
  get.address = dlsym(handle, "omp_get_max_threads");
  REQUIRE(get.address != NULL);
  EXPECT_INT(get.call(), 4);
  dlclose(handle);
out:;
}

TEST_WITHOUT_TORTURE(cpu_onednn, products) {
  if (has("old_version") || has("other_threads") || has("failing") || has("no_library"))
    SKIP("TT_CPU_ONEDNN is a library that gives errors");
  for (size_t i = 0; i < 2 * TT_COUNT(cases); i++)
    run_case(&cases[i / 2], i % 2 == 0, TT_OK, NULL);
  if (has("onednn_marked"))
    expect_threads();
out:;
}

/* One that is named must be one; what it takes is all that it is looked for. */
TEST_WITHOUT_TORTURE(cpu_onednn, errors) {
  static const struct {
    const char *library, *message;
    tt_code code;
  } errors[] = {
      {"old_version", "it is oneDNN 2.7, and 3 is wanted; TT_CPU_ONEDNN=off", TT_INVALID_ARGUMENT},
      {"other_threads", "its threads are not those of OpenMP", TT_INVALID_ARGUMENT},
      {"no_library", "no such file, or no library", TT_INVALID_ARGUMENT},
      {"failing", "oneDNN ended with status 1", TT_INTERNAL},
  };
  static const product_case bf16 = {"bf16", "bf16", 1, 400, 300, 32, false, false},
                            int8 = {"i8", "i32", 1, 400, 300, 32, false, false},
                            small = {"bf16", "bf16", 1, 8, 8, 8, false, false};
  for (size_t i = 0; i < TT_COUNT(errors); i++)
    if (has(errors[i].library)) {
      run_case(&small, true, TT_OK, NULL);
      run_case(&bf16, true, errors[i].code, errors[i].message);
      run_case(&int8, true, errors[i].code, errors[i].message);
      return;
    }
  SKIP("TT_CPU_ONEDNN is no library that gives errors");
out:;
}

/* More forms than are kept, each still right. */
TEST_WITHOUT_TORTURE(cpu_onednn, forgets) {
  tt_cpu_dnnl_form form = {32, 32, 32, 32, 1, 32, 1, 32, TT_BF16, TT_F32};
  bool wins = false;
  if (!has("onednn_marked"))
    SKIP("TT_CPU_ONEDNN is not the library for it");
  REQUIRE_OK(tt_cpu_dnnl_wins(&form, &wins));
  REQUIRE(wins);
  for (int i = 0; i < 3000; i++) {
    form.m = 32 + i;
    tt_cpu_dnnl_product *p = tt_cpu_dnnl_product_get(&form);
    REQUIRE(p != NULL);
    EXPECT_INT(tt_cpu_dnnl_scratch(p), 100);
    tt_cpu_dnnl_product_release(p);
  }
out:;
}
