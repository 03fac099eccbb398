/* reduce_window whose windows reach from the axis' first element, or to its last. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test.h"
#include "test_kernel_case.h"

enum { OUTER = 5, DIM = 37, INNER_MAX = 35, COUNT_MAX = OUTER * DIM * INNER_MAX };

typedef struct scan_case {
  const char *op, *element;
  const char *init;
  int inner;
  bool forward;
} scan_case;

static void run_scan(const scan_case *c, const void *in, void *out) {
  char text[1500];
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<5x37x%dx%s>) -> tensor<5x37x%dx%s> {\n"
           "%%z = stablehlo.constant dense<%s> : tensor<%s>\n"
           "%%r = \"stablehlo.reduce_window\"(%%x, %%z) ({\n^bb0(%%a: tensor<%s>, %%b: "
           "tensor<%s>):\n%%c = stablehlo.%s %%a, %%b : tensor<%s>\nstablehlo.return %%c : "
           "tensor<%s>\n}) {window_dimensions = array<i64: 1, 37, 1>, padding = dense<[[0, 0], "
           "%s, [0, 0]]> : tensor<3x2xi64>} : (tensor<5x37x%dx%s>, tensor<%s>) -> "
           "tensor<5x37x%dx%s>\nreturn %%r : tensor<5x37x%dx%s>\n}\n",
           c->inner, c->element, c->inner, c->element, c->init, c->element, c->element, c->element,
           c->op, c->element, c->element, c->forward ? "[36, 0]" : "[0, 36]", c->inner, c->element,
           c->element, c->inner, c->element, c->inner, c->element);
  EXPECT_OK(run_text(text, (const void *[]){in}, (void *[]){out}));
}

/* Element k of the scan that element i lies in, counted from where it begins. */
static int element_of(const scan_case *c, int i, int k) {
  int inner = i % c->inner, outer = i / c->inner / DIM;
  return (outer * DIM + (c->forward ? k : DIM - 1 - k)) * c->inner + inner;
}

static int place_of(const scan_case *c, int i) {
  int at = i / c->inner % DIM;
  return c->forward ? at : DIM - 1 - at;
}

#define CHECK_SCAN(T, W, OP, ELEMENT, INIT, EXPR)                              \
  do {                                                                         \
    for (int n_ = 0; n_ < 6; n_++) {                                           \
      static const int inners_[3] = {1, 32, INNER_MAX};                        \
      scan_case c_ = {OP, ELEMENT, #INIT, inners_[n_ / 2], n_ % 2 == 0};       \
      static T in_[COUNT_MAX], out_[COUNT_MAX];                                \
      for (int i_ = 0; i_ < COUNT_MAX; i_++)                                   \
        in_[i_] = (T)((i_ * 7919 % 1000 - 500) * (sizeof(T) == 2 ? 1 : 1.25)); \
      run_scan(&c_, in_, out_);                                                \
      for (int i_ = 0; i_ < OUTER * DIM * c_.inner; i_++) {                    \
        W x = (W)in_[element_of(&c_, i_, 0)];                                  \
        for (int k_ = 1; k_ <= place_of(&c_, i_); k_++) {                      \
          W y = (W)in_[element_of(&c_, i_, k_)];                               \
          x = EXPR;                                                            \
        }                                                                      \
        W y = (W)(INIT);                                                       \
        x = EXPR;                                                              \
        EXPECT((T)x == out_[i_]);                                              \
      }                                                                        \
    }                                                                          \
  } while (0)

TEST(cpu_kernel_scan, sums_and_extremes) {
  CHECK_SCAN(float, double, "add", "f32", 0.5, x + y);
  CHECK_SCAN(double, double, "add", "f64", 0.0, x + y);
  CHECK_SCAN(float, float, "maximum", "f32", -100.0, y > x ? y : x);
  CHECK_SCAN(double, double, "minimum", "f64", 300.0, y < x ? y : x);
  CHECK_SCAN(uint32_t, uint32_t, "multiply", "i32", 3, x *y);
  CHECK_SCAN(int32_t, int32_t, "maximum", "i32", -1, y > x ? y : x);
  CHECK_SCAN(int64_t, int64_t, "add", "i64", 7, x + y);
  CHECK_SCAN(int64_t, int64_t, "minimum", "i64", 9, y < x ? y : x);
}

TEST(cpu_kernel_scan, nan_stays) {
  static float in[OUTER * DIM], out[OUTER * DIM];
  scan_case c = {"maximum", "f32", "0xFF800000", 1, true};
  in[3] = -NAN;
  in[9] = INFINITY;
  run_scan(&c, in, out);
  for (int i = 0; i < OUTER * DIM; i++)
    EXPECT(isnan(out[i]) ? i >= 3 && i < DIM : out[i] == 0);
}

TEST(cpu_kernel_scan, negative_zeros_keep_their_sign) {
  static float in[OUTER * DIM], out[OUTER * DIM];
  scan_case c = {"add", "f32", "-0.0", 1, true};
  for (int i = 0; i < OUTER * DIM; i++)
    in[i] = -0.0F;
  run_scan(&c, in, out);
  for (int i = 0; i < OUTER * DIM; i++)
    EXPECT(out[i] == 0 && signbit(out[i]));
}
