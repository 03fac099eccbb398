/* The parser: modules, functions, scopes, aliases, locations; and that it reads what is printed. */
#include "test_parse.h"

#include <string.h>

static tt_error *print_again(const char *text, size_t size, tt_bytes *out_text) {
  tt_error *err = NULL;
  tt_hlo_module *module = NULL;
  TT_TRY(tt_hlo_parse(text, size, &module));
  TT_TRY(tt_hlo_module_verify(module));
  TT_TRY(tt_hlo_module_print(module, out_text));
  tt_bytes_char(out_text, '\0');
  TT_TRY(tt_bytes_status(out_text));
out:
  tt_hlo_module_free(module);
  return err;
}

bool test_parse_print(const char *file, int line, const char *text, tt_bytes *out_text) {
  tt_bytes again = {0};
  bool ok = tt_test_ok(file, line, text, print_again(text, strlen(text), out_text)) &&
            tt_test_ok(file, line, out_text->data,
                       print_again(out_text->data, out_text->size - 1, &again)) &&
            tt_test_str(file, line, "printed again", again.data, out_text->data);
  tt_bytes_free(&again);
  return ok;
}

void test_parse_ops(const char *file, int line, const char *params, const char *ops,
                    const char *wanted) {
  tt_bytes text = {0}, printed = {0};
  tt_bytes_printf(&text, "func.func @main(%s) {\n%s\n  return\n}\n", params, ops);
  if (!text.failed && test_parse_print(file, line, text.data, &printed))
    tt_test_contains(file, line, ops, printed.data, wanted);
  tt_bytes_free(&text);
  tt_bytes_free(&printed);
}

void test_parse_error(const char *file, int line, const char *text, tt_code code,
                      const char *part) {
  tt_hlo_module *module = NULL;
  tt_test_err(file, line, text, tt_hlo_parse(text, strlen(text), &module), code, part);
  tt_test_true(file, line, "no module on error", module == NULL);
  tt_hlo_module_free(module);
}

static void check_print(int line, const char *text, const char *wanted) {
  tt_bytes printed = {0};
  if (test_parse_print(__FILE__, line, text, &printed))
    tt_test_contains(__FILE__, line, text, printed.data, wanted);
  tt_bytes_free(&printed);
}
#define CHECK_PRINT(text, wanted) check_print(__LINE__, text, wanted)

TEST(hlo_parse, module_attributes) {
  CHECK_PRINT(
      "module @step attributes {jax.uses_shape_polymorphism = true,\n"
      "    mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 3 : i32} {\n"
      "  func.func public @main() { return }\n}",
      "module @step attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 3 : "
      "i32} {");
  CHECK_PRINT("module @\"a b\" { func.func @main() { return } }", "module @\"a b\" attributes");
  CHECK_PRINT("// none\nfunc.func @f() { // one function may have any name\n return\n}",
              "func.func public @f() -> () {");
}

TEST(hlo_parse, parameters) {
  CHECK_PRINT(
      "func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32} "
      "loc(\"x\"), %b: tensor<?x2xi8> {jax.buffer_donor = true, mhlo.layout_mode = "
      "\"default\"}) -> (tensor<4xf32> {jax.result_info = \"[0]\"}) attributes {a.b = "
      "[1, \"}\"]} { return %arg0 : tensor<4xf32> } loc(#loc)",
      "@main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}, "
      "%arg1: tensor<?x2xi8> {jax.buffer_donor = true}) -> (tensor<4xf32>) {");
}

TEST(hlo_parse, main_comes_first) {
  CHECK_PRINT(
      "func.func private @f() { return }\n"
      "func.func private @declared(tensor<2xf32>) -> tensor<f32>\n"
      "func.func @main() { return }\n"
      "func.func private @g() { return }",
      "  func.func public @main() -> () {\n    \"func.return\"() : () -> ()\n  }\n"
      "  func.func private @f() -> () {\n    \"func.return\"() : () -> ()\n  }\n"
      "  func.func private @g()");
}

TEST(hlo_parse, calls_become_composites) {
  CHECK_PRINT(
      "func.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
      "  %0:2 = call @f(%x) : (tensor<i32>) -> (tensor<i32>, tensor<i32>)\n"
      "  %1 = \"func.call\"(%0#1) <{callee = @g}> : (tensor<i32>) -> tensor<i32>\n"
      "  return %1 : tensor<i32>\n}\n"
      "func.func private @g(%x: tensor<i32>) -> tensor<i32> { return %x : tensor<i32> }\n"
      "func.func private @f(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>) {\n"
      "  func.return %x, %x : tensor<i32>, tensor<i32>\n}\n",
      "%0:2 = \"stablehlo.composite\"(%arg0) {name = \"func.call\", decomposition = @f} : "
      "(tensor<i32>) -> (tensor<i32>, tensor<i32>)\n"
      "    %1 = \"stablehlo.composite\"(%0#1) {name = \"func.call\", decomposition = @g} "
      ": (tensor<i32>) -> (tensor<i32>)");
}

TEST(hlo_parse, names_end_with_their_region) {
  CHECK_OPS("%p: tensor<i1>",
            "  %0 = \"stablehlo.if\"(%p) ({\n"
            "    %x = stablehlo.constant dense<1> : tensor<i32>\n"
            "    stablehlo.return %x : tensor<i32>\n"
            "  }, {\n"
            "    %x = stablehlo.constant dense<2> : tensor<i32>\n"
            "    \"stablehlo.return\"(%x) : (tensor<i32>) -> ()\n"
            "  }) : (tensor<i1>) -> tensor<i32>\n"
            "  %x = stablehlo.add %0, %0 : tensor<i32>\n"
            "  %a-long.name$ = stablehlo.add %x, %x : tensor<i32>",
            "%4 = \"stablehlo.add\"(%3, %3)");
}

TEST(hlo_parse, several_results) {
  CHECK_OPS("%k: tensor<2xui64>",
            "  %state, %bits = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : "
            "(tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)\n"
            "  %a:2, %b = stablehlo.optimization_barrier %bits, %state, %bits : "
            "tensor<4xui32>, tensor<2xui64>, tensor<4xui32>\n"
            "  %c = stablehlo.add %a#0, %b : tensor<4xui32>\n"
            "  stablehlo.optimization_barrier %a#1 : tensor<2xui64>",
            "%2 = \"stablehlo.add\"(%1#0, %1#2)");
}

TEST(hlo_parse, aliases) {
  CHECK_PRINT(
      "!t = tensor<2x2xf32>\n"
      "#dims = array<i64: 1, 0>\n"
      "#other = #sparse_tensor.encoding<{\n  map = (d0, d1) -> (d0 : dense)\n}>\n"
      "#m = affine_map<(d0, d1) -> (d1, d0)>\n"
      "module {\n"
      "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]> {a = [1, 2]}\n"
      "  func.func @main(%x: !t) -> !t {\n"
      "    %0 = \"stablehlo.transpose\"(%x) {permutation = #dims, mhlo.o = #other} : "
      "(!t) -> !t\n"
      "    return %0 : !t\n  }\n}",
      "{permutation = array<i64: 1, 0>} : (tensor<2x2xf32>) -> (tensor<2x2xf32>)");
}

TEST(hlo_parse, locations) {
  static const char text[] =
      "#loc = loc(unknown)\n#loc1 = loc(\"first\")\n"
      "func.func @main(%x: tensor<f32> loc(#loc)) -> tensor<f32> {\n"
      "  %0 = stablehlo.abs %x : tensor<f32> loc(#loc1)\n"
      "  %1 = stablehlo.abs %0 : tensor<f32> loc(\"m.py\":3:14 to :20)\n"
      "  %2 = stablehlo.abs %1 : tensor<f32> loc(callsite(#loc4 at \"b\"(#loc1)))\n"
      "  %3 = stablehlo.abs %2 : tensor<f32> loc(fused<{a = \")\"}>[\"f\", \"g\"])\n"
      "  %4 = stablehlo.abs %3 : tensor<f32> loc(#loc9)\n"
      "  return %4 : tensor<f32> loc(#loc)\n} loc(#loc)\n"
      "#loc4 = loc(callsite(#loc5 at #loc6))\n#loc5 = loc(\"late\"(#loc6))\n"
      "#loc6 = loc(\"a\":1:2)\n#loc9 = loc(callsite(#loc9 at #loc9))\n";
  CHECK_PRINT(text,
              "    %0 = \"stablehlo.abs\"(%arg0) : (tensor<f32>) -> (tensor<f32>) loc(\"first\")\n"
              "    %1 = \"stablehlo.abs\"(%0) : (tensor<f32>) -> (tensor<f32>) loc(\"m.py:3:14\")\n"
              "    %2 = \"stablehlo.abs\"(%1) : (tensor<f32>) -> (tensor<f32>) loc(\"late\")\n"
              "    %3 = \"stablehlo.abs\"(%2) : (tensor<f32>) -> (tensor<f32>) loc(\"f\")\n"
              "    %4 = \"stablehlo.abs\"(%3) : (tensor<f32>) -> (tensor<f32>)\n"
              "    \"func.return\"(%4) : (tensor<f32>) -> ()\n");
}

TEST(hlo_parse, types) {
  CHECK_OPS(
      "%a: tensor<?x3xcomplex<f64>>, %b: tensor<?x4xf8E4M3B11FNUZ, #stablehlo.bounds<8, ?>>, "
      "%c: !stablehlo.token, %d: tensor<0x1xui4>, %e: tensor< 2xbf16 >",
      "",
      "(%arg0: tensor<?x3xcomplex<f64>>, %arg1: tensor<?x4xf8E4M3B11FNUZ>, %arg2: "
      "!stablehlo.token, %arg3: tensor<0x1xui4>, %arg4: tensor<2xbf16>)");
}

/* As MLIR prints it; what comes out is read again to the same. */
TEST(hlo_parse, manual_computations) {
  static const char text[] =
      "module @m attributes {mhlo.num_partitions = 4 : i32} {\n"
      "  sdy.mesh @mesh = <[\"x\"=4]> {stablehlo.mesh = {axes = []}}\n"
      "  func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> "
      "(tensor<4xf32> {jax.result_info = \"\", sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) {\n"
      "    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{\"x\"}]>] "
      "out_shardings=[<@mesh, [{\"x\"}]>] manual_axes={\"x\"} (%a: tensor<1xf32>) {\n"
      "      sdy.return %a : tensor<1xf32>\n    } : (tensor<4xf32>) -> tensor<4xf32>\n"
      "    return %0 : tensor<4xf32>\n  }\n}\n";
  tt_hlo_module *module = NULL, *again = NULL;
  tt_bytes first = {0}, second = {0};
  REQUIRE_OK(tt_hlo_parse(text, strlen(text), &module));
  REQUIRE_OK(tt_hlo_module_verify(module));
  EXPECT_STR(module->meshes->text, "<[\"x\"=4]>");
  EXPECT_STR(module->funcs->params[0].sharding, "#sdy.sharding<@mesh, [{\"x\"}]>");
  EXPECT_STR(module->funcs->result_shardings[0], "#sdy.sharding<@mesh, [{\"x\"}]>");
  REQUIRE_OK(tt_hlo_module_print(module, &first));
  REQUIRE_OK(tt_hlo_parse(first.data, first.size, &again));
  REQUIRE_OK(tt_hlo_module_verify(again));
  REQUIRE_OK(tt_hlo_module_print(again, &second));
  EXPECT_STR(second.data, first.data);
out:
  tt_hlo_module_free(module);
  tt_hlo_module_free(again);
  tt_bytes_free(&first);
  tt_bytes_free(&second);
}

TEST(hlo_parse, shardings) {
  static const char text[] =
      "module attributes {mhlo.num_partitions = %d : i32} {\n"
      "  sdy.mesh @mesh = <[\"x\"=2]>\n"
      "  func.func @main(%%a: tensor<4xf32> {%s}) -> tensor<4xf32> {\n"
      "    %%0 = sdy.sharding_constraint %%a <@mesh, [{%s}]> : tensor<4xf32>\n"
      "    return %%0 : tensor<4xf32>\n  }\n}";
  static const struct {
    int partitions;
    const char *param, *axis;
    bool taken;
  } rows[] = {{1, "sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>", "\"x\"", true},
              {2, "sdy.sharding = #sdy.sharding<@mesh, [{}]>", "", true},
              {2, "mhlo.sharding = \"{replicated}\"", "?", true},
              {2, "mhlo.sharding = \"{devices=[2]<=[2]}\"", "", false},
              {2, "sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>", "", false},
              {2, "a.b", "\"x\"", false}};
  for (size_t i = 0; i < TT_COUNT(rows); i++) {
    tt_bytes buffer = {0};
    tt_bytes_printf(&buffer, text, rows[i].partitions, rows[i].param, rows[i].axis);
    if (!buffer.failed && rows[i].taken)
      CHECK_PRINT(buffer.data, "\"func.return\"(%arg0)");
    else if (!buffer.failed)
      CHECK_ERROR(buffer.data, TT_UNIMPLEMENTED, "sharding");
    tt_bytes_free(&buffer);
  }
}

/* ---- what the builder makes ---- */

typedef void (*build_fn)(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *i);

/* A program of `fn`, printed, is read as the same text. x: f32 [4, 8], i: s32 [4]. */
static void check_built(int line, build_fn fn) {
  tt_hlo_module *module = NULL;
  tt_hlo_build build = {0};
  tt_bytes text = {0}, again = {0};
  static const int64_t dims[] = {4, 8};
  tt_hlo_value *x = NULL, *i = NULL;
  if (!tt_test_ok(__FILE__, line, "module", tt_hlo_module_new(&module)) ||
      !tt_test_ok(__FILE__, line, "begin", tt_hlo_build_begin(module, &build)))
    goto out;
  x = tt_hlo_param_add(&build, TT_F32, 2, dims);
  i = tt_hlo_param_add(&build, TT_S32, 1, dims);
  build.location = "f.py:7 \"é\"\n";
  fn(&build, x, i);
  if (tt_test_ok(__FILE__, line, "finish", tt_hlo_build_finish(&build, &x, 1)) &&
      tt_test_ok(__FILE__, line, "print", tt_hlo_module_print(module, &text)) &&
      tt_test_ok(__FILE__, line, text.data, print_again(text.data, text.size, &again)))
    tt_test_str(__FILE__, line, "printed again", again.data, text.data);
out:
  tt_hlo_build_drop(&build);
  tt_hlo_module_free(module);
  tt_bytes_free(&text);
  tt_bytes_free(&again);
}

static void build_constants(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *i) {
  uint8_t bytes[16 * 20];
  (void)x;
  (void)i;
  for (size_t k = 0; k < sizeof bytes; k++)
    bytes[k] = (uint8_t)(k * 37 + 11);
  for (int d = 0; d < TT_DTYPE_COUNT; d++) {
    bool bools = d == TT_PRED;
    for (size_t k = 0; k < 20 && bools; k++)
      bytes[k] &= 1;
    static const int64_t few[] = {2, 0, 3, 2}, many[] = {4, 5};
    tt_hlo_const(b, (tt_dtype)d, 1.5);
    tt_hlo_const_lowest(b, (tt_dtype)d);
    tt_hlo_const_data(b, (tt_dtype)d, few + 2, 2, bytes);
    tt_hlo_const_data(b, (tt_dtype)d, few, 2, bytes);
    tt_hlo_const_data(b, (tt_dtype)d, many, 2, bytes);
  }
}

static void build_indexing(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *i) {
  static const int64_t zero[] = {0}, one[] = {1}, sizes[] = {1, 8}, rows[] = {4, 1};
  tt_hlo_value *at = tt_hlo_reshape_numbers(b, i, rows, 2);
  tt_hlo_gather_dims g = {
      .offset_dims = {1, one}, .collapsed_slice_dims = {1, zero}, .start_index_map = {1, zero}};
  g.index_vector_dim = 1;
  tt_hlo_value *taken = tt_hlo_gather(b, x, at, &g, sizes, false);
  tt_hlo_scatter_dims s = {.update_window_dims = {1, one}, .inserted_window_dims = {1, zero}};
  s.scatter_dims_to_operand_dims = (tt_hlo_list){1, zero};
  s.index_vector_dim = 1;
  tt_hlo_scatter(b, x, at, taken, &s, TT_HLO_COMBINE_ADD, false, true);
}

static void build_products(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *i) {
  static const int64_t turn[] = {1, 0}, input[] = {1, 4, 8, 1}, kernel[] = {2, 2, 1, 1};
  static const int64_t space[] = {1, 2}, kernel_space[] = {0, 1};
  tt_hlo_conv conv = {.dims = {0, 3, {2, space}, 2, 3, {2, kernel_space}, 0, 3, {2, space}}};
  (void)i;
  tt_hlo_value *image = tt_hlo_reshape_numbers(b, x, input, 4);
  float weights[4] = {1, -2, 3e-9f, 0.1f};
  tt_hlo_convolution(b, image, tt_hlo_const_data(b, TT_F32, kernel, 4, weights), &conv);
  tt_hlo_matmul(b, x, tt_hlo_transpose(b, x, turn));
  tt_hlo_fft(b, x, TT_HLO_FFT_RFFT, (const int64_t[]){8}, 1);
  tt_hlo_reduce_precision(b, x, 5, 10);
}

static void build_regions(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *i) {
  tt_hlo_window window = {.dims = (const int64_t[]){1, 2}};
  tt_hlo_value *zero = tt_hlo_const(b, TT_F32, 0), *results[1] = {NULL};
  tt_hlo_type scalar = tt_hlo_scalar_type(TT_F32);
  (void)i;
  tt_hlo_reduce_window(b, TT_HLO_ADD, x, zero, &window);
  tt_hlo_region *cond = tt_hlo_region_open(b, &scalar, 1);
  tt_hlo_value *less = tt_hlo_compare(b, TT_HLO_LT, tt_hlo_region_arg(b, cond, 0), zero);
  tt_hlo_region_close(b, &less, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, &scalar, 1);
  tt_hlo_value *next = tt_hlo_add(b, tt_hlo_region_arg(b, body, 0), zero);
  tt_hlo_region_close(b, &next, 1);
  tt_hlo_while(b, &zero, 1, cond, body, results);
}

TEST(hlo_parse, reads_what_is_printed) {
  check_built(__LINE__, build_indexing);
  check_built(__LINE__, build_products);
  check_built(__LINE__, build_regions);
}
/* Its allocations are many. */
TEST_WITHOUT_TORTURE(hlo_parse, reads_printed_constants) { check_built(__LINE__, build_constants); }
