#include <locale.h>
#include <string.h>

#include "hlo/build.h"
#include "test.h"

/* The text of one op built by hand, without the module around it. */
typedef struct printed {
  tt_hlo_module *module;
  tt_hlo_build build;
  tt_bytes text;
} printed;

static tt_error *begin(printed *p) {
  memset(p, 0, sizeof *p);
  TT_RETURN_IF_ERROR(tt_hlo_module_new(&p->module));
  return tt_hlo_build_begin(p->module, &p->build);
}

static tt_error *finish(printed *p, tt_hlo_value *const *results, size_t results_count) {
  TT_RETURN_IF_ERROR(tt_hlo_build_finish(&p->build, results, results_count));
  return tt_hlo_module_print(p->module, &p->text);
}

static void drop(printed *p) {
  tt_bytes_free(&p->text);
  tt_hlo_build_drop(&p->build);
  tt_hlo_module_free(p->module);
}

static const char *text_of(const printed *p) { return p->text.data == NULL ? "" : p->text.data; }

TEST(hlo_print, module) {
  printed p;
  if (EXPECT_OK(begin(&p))) {
    const int64_t dims[] = {4, 2};
    p.module->name = "step";
    p.module->num_partitions = 2;
    p.build.location = "m.py:3 \"a\"\n";
    tt_hlo_value *x = tt_hlo_param_add(&p.build, TT_F32, 2, dims);
    tt_hlo_value *y = tt_hlo_param_add(&p.build, TT_F32, 2, dims);
    tt_hlo_value *z = tt_hlo_param_add(&p.build, TT_PRED, 0, NULL);
    if (p.build.func->params != NULL) {
      p.build.func->params[0].alias = 0;
      p.build.func->params[1].donated = true;
    }
    tt_hlo_value *results[] = {tt_hlo_add(&p.build, x, y), z};
    if (EXPECT_OK(finish(&p, results, 2))) {
      EXPECT_STR(
          text_of(&p),
          "module @step attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {\n"
          "  func.func public @main(%arg0: tensor<4x2xf32> {tf.aliasing_output = 0 : i32}, "
          "%arg1: tensor<4x2xf32> {jax.buffer_donor = true}, %arg2: tensor<i1>) -> "
          "(tensor<4x2xf32>, tensor<i1>) {\n"
          "    %0 = \"stablehlo.add\"(%arg0, %arg1) : (tensor<4x2xf32>, tensor<4x2xf32>) -> "
          "(tensor<4x2xf32>) loc(\"m.py:3 \\22a\\22\\0A\")\n"
          "    \"func.return\"(%0, %arg2) : (tensor<4x2xf32>, tensor<i1>) -> () "
          "loc(\"m.py:3 \\22a\\22\\0A\")\n"
          "  }\n"
          "}\n");
    }
  }
  drop(&p);
}

TEST(hlo_print, regions_and_several_results) {
  printed p;
  if (EXPECT_OK(begin(&p))) {
    tt_hlo_type type = tt_hlo_scalar_type(TT_S32);
    tt_hlo_value *x = tt_hlo_param_add(&p.build, TT_S32, 0, NULL), *inits[] = {x, x}, *results[2];
    tt_hlo_type types[] = {type, type};
    tt_hlo_region *cond = tt_hlo_region_open(&p.build, types, 2);
    tt_hlo_value *less = tt_hlo_compare(&p.build, TT_HLO_LT, tt_hlo_region_arg(&p.build, cond, 0),
                                        tt_hlo_region_arg(&p.build, cond, 1));
    tt_hlo_region_close(&p.build, &less, 1);
    tt_hlo_region *body = tt_hlo_region_open(&p.build, types, 2);
    tt_hlo_value *next[] = {tt_hlo_region_arg(&p.build, body, 1), x};
    tt_hlo_region_close(&p.build, next, 2);
    tt_hlo_while(&p.build, inits, 2, cond, body, results);
    if (EXPECT_OK(finish(&p, results, 2))) {
      EXPECT_CONTAINS(text_of(&p),
                      "    %0:2 = \"stablehlo.while\"(%arg0, %arg0) ({\n"
                      "    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):\n"
                      "      %1 = \"stablehlo.compare\"(%arg1, %arg2) {");
      EXPECT_CONTAINS(
          text_of(&p),
          "      \"stablehlo.return\"(%1) : (tensor<i1>) -> ()\n"
          "    }, {\n"
          "    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):\n"
          "      \"stablehlo.return\"(%arg4, %arg0) : (tensor<i32>, tensor<i32>) -> ()\n"
          "    }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)\n"
          "    \"func.return\"(%0#0, %0#1) :");
    }
  }
  drop(&p);
}

/* One constant: type, elements, and what stands between dense< and >. */
static void check_constant(int line, tt_dtype dtype, const char *dims_text, const int64_t *dims,
                           size_t rank, const void *data, const char *want) {
  printed p;
  tt_bytes line_text = {0};
  if (EXPECT_OK(begin(&p))) {
    tt_hlo_value *x = tt_hlo_const_data(&p.build, dtype, dims, rank, data);
    if (EXPECT_OK(finish(&p, &x, 1))) {
      tt_bytes_printf(&line_text, "{value = dense<%s> : tensor<%s%s>}", want, dims_text,
                      tt_dtype_name(dtype));
      tt_test_contains(__FILE__, line, "the constant", text_of(&p),
                       line_text.data == NULL ? "" : line_text.data);
    }
  }
  tt_bytes_free(&line_text);
  drop(&p);
}
#define CHECK_1D(dtype, count, data, want) \
  check_constant(__LINE__, dtype, #count "x", (const int64_t[]){count}, 1, data, want)

TEST(hlo_print, float_constants) {
  const float floats[] = {0.0f,   -0.0f,         1.5f,        -2.25f, 0.1f,       1e30f,
                          1e-45f, 3.4028235e38f, 123456.789f, 1e15f,  16777216.0f};
  CHECK_1D(TT_F32, 11, floats,
           "[0.0, -0.0, 1.5, -2.25, 0.1, 1.0e30, 1.0e-45, 3.4028235e38, 123456.79, "
           "1000000000000000.0, 16777216.0]");
  const double doubles[] = {0.1, 1e300, 5e-324, 1.0 / 3, 1e22, 123456789012345678.0, 1e-5, 1.25e-6};
  CHECK_1D(TT_F64, 8, doubles,
           "[0.1, 1.0e300, 5.0e-324, 0.3333333333333333, 1.0e22, 1.2345678901234568e17, 0.00001, "
           "1.25e-6]");
  const uint32_t odd[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0x7FC00001};
  CHECK_1D(TT_F32, 4, odd, "[0x7FC00000, 0x7F800000, 0xFF800000, 0x7FC00001]");
  const uint16_t halves[] = {0x3C00, 0x0001, 0x7BFF, 0xFC00, 0xB800};
  CHECK_1D(TT_F16, 5, halves, "[1.0, 5.9604645e-8, 65504.0, 0xFC00, -0.5]");
  const uint16_t brains[] = {0x3F80, 0xC000, 0x7F81, 0x3DCD};
  CHECK_1D(TT_BF16, 4, brains, "[1.0, -2.0, 0x7F81, 0.100097656]");
  const uint8_t bytes[] = {0x38, 0x7F};
  CHECK_1D(TT_F8E4M3FN, 2, bytes, "[0x38, 0x7F]");
  const float parts[] = {1.0f, -2.5f, 0.0f, 3.0f};
  CHECK_1D(TT_C64, 2, parts, "[(1.0, -2.5), (0.0, 3.0)]");
}

TEST(hlo_print, integer_constants) {
  const int64_t wide[] = {0, -1, INT64_MAX, INT64_MIN};
  CHECK_1D(TT_S64, 4, wide, "[0, -1, 9223372036854775807, -9223372036854775808]");
  CHECK_1D(TT_U64, 4, wide, "[0, 18446744073709551615, 9223372036854775807, 9223372036854775808]");
  const int8_t nibbles[] = {-8, 7, 15};
  const uint8_t pairs[] = {2, 1, 3};
  CHECK_1D(TT_S4, 3, nibbles, "[-8, 7, -1]");
  CHECK_1D(TT_U4, 3, nibbles, "[8, 7, 15]");
  CHECK_1D(TT_S2, 3, pairs, "[-2, 1, -1]");
  CHECK_1D(TT_U2, 3, pairs, "[2, 1, 3]");
  const uint8_t bools[] = {1, 0};
  CHECK_1D(TT_PRED, 2, bools, "[true, false]");
  const int32_t six[] = {1, 2, 3, 4, 5, 6};
  check_constant(__LINE__, TT_S32, "2x3x", (const int64_t[]){2, 3}, 2, six,
                 "[[1, 2, 3], [4, 5, 6]]");
  check_constant(__LINE__, TT_S32, "", NULL, 0, six, "1");
  CHECK_1D(TT_S32, 0, six, "");
}

TEST(hlo_print, long_constants) {
  uint8_t bytes[40];
  for (int i = 0; i < 40; i++)
    bytes[i] = (uint8_t)(i * 5);
  CHECK_1D(
      TT_U16, 20, bytes,
      "\"0x00050A0F14191E23282D32373C41464B50555A5F64696E73787D82878C91969BA0A5AAAFB4B9BEC3\"");
  uint8_t bools[17] = {1};
  CHECK_1D(TT_PRED, 17, bools,
           "[true, false, false, false, false, false, false, false, false, false, false, false, "
           "false, false, "
           "false, false, false]");
}

/* A program that sets the locale may get commas from printf. */
TEST(hlo_print, floats_in_every_locale) {
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8"};
  for (size_t i = 0; i < TT_COUNT(names); i++) {
    if (setlocale(LC_NUMERIC, names[i]) == NULL)
      continue;
    const float floats[] = {1.5f, 1e-30f};
    CHECK_1D(TT_F32, 2, floats, "[1.5, 1.0e-30]");
  }
  setlocale(LC_NUMERIC, "C");
}

TEST(hlo_print, attributes) {
  printed p;
  if (EXPECT_OK(begin(&p))) {
    const int64_t dims[] = {2, 3, 4}, other[] = {2, 4, 5};
    tt_hlo_value *x = tt_hlo_param_add(&p.build, TT_F32, 3, dims);
    tt_hlo_value *y = tt_hlo_param_add(&p.build, TT_F32, 3, other);
    tt_hlo_value *z = tt_hlo_matmul(&p.build, x, y);
    const int64_t low[] = {0, 1, 0}, permutation[] = {2, 0, 1};
    tt_hlo_window window = {.dims = (const int64_t[]){1, 2, 1}, .pad_low = low, .pad_high = low};
    tt_hlo_value *results[] = {
        z,
        tt_hlo_transpose(&p.build, x, permutation),
        tt_hlo_reduce_window(&p.build, TT_HLO_ADD, x, tt_hlo_const(&p.build, TT_F32, 0), &window),
        tt_hlo_compare(&p.build, TT_HLO_GE, x, x),
        tt_hlo_reduce_precision(&p.build, x, 5, 10),
        tt_hlo_fft(&p.build, x, TT_HLO_FFT_RFFT, (const int64_t[]){4}, 1),
    };
    if (EXPECT_OK(finish(&p, results, TT_COUNT(results)))) {
      EXPECT_CONTAINS(text_of(&p),
                      "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], "
                      "rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], "
                      "rhs_contracting_dimensions = [1]>");
      EXPECT_CONTAINS(
          text_of(&p),
          "precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]");
      EXPECT_CONTAINS(text_of(&p), "permutation = array<i64: 2, 0, 1>");
      EXPECT_CONTAINS(text_of(&p), "padding = dense<[[0, 0], [1, 1], [0, 0]]> : tensor<3x2xi64>");
      EXPECT_CONTAINS(text_of(&p), "comparison_direction = #stablehlo<comparison_direction GE>");
      EXPECT_CONTAINS(text_of(&p), "exponent_bits = 5 : i32");
      EXPECT_CONTAINS(text_of(&p), "fft_type = #stablehlo<fft_type RFFT>");
    }
  }
  drop(&p);
}

TEST(hlo_print, index_dims) {
  printed p;
  if (EXPECT_OK(begin(&p))) {
    const int64_t dims[] = {5, 6}, rows[] = {3, 1};
    const int64_t zero[] = {0}, one[] = {1}, sizes[] = {1, 6};
    tt_hlo_gather_dims g = {
        .offset_dims = {1, one}, .collapsed_slice_dims = {1, zero}, .start_index_map = {1, zero}};
    g.index_vector_dim = 1;
    tt_hlo_value *x = tt_hlo_param_add(&p.build, TT_F32, 2, dims);
    tt_hlo_value *i = tt_hlo_param_add(&p.build, TT_S32, 2, rows);
    tt_hlo_value *taken = tt_hlo_gather(&p.build, x, i, &g, sizes, true);
    tt_hlo_scatter_dims s = {.update_window_dims = {1, one}, .inserted_window_dims = {1, zero}};
    s.scatter_dims_to_operand_dims = (tt_hlo_list){1, zero};
    s.index_vector_dim = 1;
    tt_hlo_value *put = tt_hlo_scatter(&p.build, x, i, taken, &s, TT_HLO_COMBINE_ADD, false, true);
    if (EXPECT_OK(finish(&p, &put, 1))) {
      EXPECT_CONTAINS(
          text_of(&p),
          "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
          "index_vector_dim = 1>");
      EXPECT_CONTAINS(text_of(&p),
                      "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
                      "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>");
    }
  }
  drop(&p);
}

TEST(hlo_print, convolution_dims) {
  printed p;
  if (EXPECT_OK(begin(&p))) {
    const int64_t input[] = {2, 8, 9, 4}, kernel[] = {3, 3, 4, 5}, space[] = {1, 2},
                  kernel_space[] = {0, 1};
    tt_hlo_conv conv = {.dims = {0, 3, {2, space}, 2, 3, {2, kernel_space}, 0, 3, {2, space}}};
    tt_hlo_value *x = tt_hlo_param_add(&p.build, TT_F32, 4, input);
    tt_hlo_value *k = tt_hlo_param_add(&p.build, TT_F32, 4, kernel);
    tt_hlo_value *y = tt_hlo_convolution(&p.build, x, k, &conv);
    if (EXPECT_OK(finish(&p, &y, 1))) {
      EXPECT_CONTAINS(text_of(&p), "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>");
      EXPECT_CONTAINS(text_of(&p), "window_reversal = array<i1: false, false>");
    }
  }
  drop(&p);
}

TEST(hlo_print, unfinished_function) {
  printed p;
  if (EXPECT_OK(begin(&p))) {
    EXPECT_ERR(tt_hlo_module_print(p.module, &p.text), TT_INVALID_ARGUMENT,
               "does not end in a return");
  }
  drop(&p);
}

TEST(hlo_print, types) {
  tt_bytes text = {0};
  const int64_t dims[] = {3, TT_HLO_DYNAMIC};
  tt_hlo_type type = {.dtype = TT_C64, .rank = 2, .dims = dims}, token = {.token = true};
  tt_hlo_type_print(&type, &text);
  tt_hlo_type_print(&token, &text);
  EXPECT_STR(text.data == NULL ? "" : text.data, "tensor<3x?xcomplex<f32>>!stablehlo.token");
  tt_bytes_free(&text);
}
