/* The parser on text that is wrong: where and why, and never a crash. */
#include <stdlib.h>
#include <string.h>

#include "test_parse.h"

#define BAD TT_INVALID_ARGUMENT
#define OP(text) "func.func @main(%x: tensor<2xf32>) {\n  " text "\n  return\n}"

TEST(hlo_parse_errors, places_and_reasons) {
  static const struct {
    const char *text;
    tt_code code;
    const char *message;
  } rows[] = {
      {"", BAD, "1:1: expected a function, got the end of the text"},
      {"module {\n}", BAD, "expected a function"},
      {"module {\n  bad\n}", BAD, "2:3: expected a function, got 'bad'"},
      {"module { func.func @main() { return } }\nmodule {}", TT_UNIMPLEMENTED, "several modules"},
      {"func.func @f() { return } func.func @g() { return }", BAD, "expected a function @main"},
      {OP("%0 = stablehlo.abs %y : tensor<2xf32>"), BAD,
       "2:22: expected a value that is defined before, got %y"},
      {OP("%x = stablehlo.abs %x : tensor<2xf32>"), BAD, "%x, which is defined already"},
      {OP("%0 = stablehlo.abs %x#1 : tensor<2xf32>"), BAD, "one of the 1 values of %x, got #1"},
      {OP("%0 = stablehlo.abs %x : tensor<3xf32>"), BAD,
       "2:27: expected tensor<2xf32> for operand 0, as it is defined, got tensor<3xf32>"},
      {OP("%0:2 = stablehlo.abs %x : tensor<2xf32>"), BAD,
       "2:10: expected a name on the left for each of the 1 results"},
      {OP("%0, %1 = stablehlo.abs %x : tensor<2xf32>"), BAD, "each of the 1 results"},
      {OP("%0 = stablehlo.abs %x, %x : tensor<2xf32>"), BAD, "2:24: expected ':', got ','"},
      {OP("%0 = stablehlo.bad %x : tensor<2xf32>"), TT_UNIMPLEMENTED,
       "2:8: operation stablehlo.bad"},
      {OP("%0 = \"stablehlo.einsum\"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>"),
       TT_UNIMPLEMENTED, "operation stablehlo.einsum"},
      {OP("%0 = check.expect_eq %x, %x : tensor<2xf32>"), TT_UNIMPLEMENTED,
       "operation check.expect_eq"},
      {OP("nonsense"), BAD, "2:3: expected an operation, got 'nonsense'"},
      {OP("%0 = stablehlo.sort %x : tensor<2xf32>"), BAD, "it has the generic form only"},
      {OP("%0 = stablehlo.abs %x : tensor<2x!quant.uniform<i8:f32, 2.0>>"), TT_UNIMPLEMENTED,
       "quantized types"},
      {OP("%0 = stablehlo.abs %x : tensor<2xi3>"), TT_UNIMPLEMENTED, "elements of type i3"},
      {OP("%0 = stablehlo.abs %x : tensor<*xf32>"), TT_UNIMPLEMENTED, "without a rank"},
      {OP("%0 = stablehlo.abs %x : tuple<tensor<f32>>"), TT_UNIMPLEMENTED, "2:27: type tuple"},
      {OP("%0 = stablehlo.abs %x : tensor<2xf32, #x>"), TT_UNIMPLEMENTED, "encodings"},
      {OP("%0 = stablehlo.abs %x : tensor<99999999999999999999xf32>"), BAD, "a dim of 63 bits"},
      {OP("%0 = stablehlo.abs %x : tensor<4294967296x4294967296xf32>"), BAD, "overflows"},
      {OP("%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>"), BAD, "expected ',', got ']'"},
      {OP("%0 = stablehlo.constant dense<[1, 2]> : tensor<900000000xi32>"), BAD, "got fewer"},
      {OP("%0 = stablehlo.constant dense<256> : tensor<i8>"), BAD, "an element of i8, got '256'"},
      {OP("%0 = stablehlo.constant dense<-1> : tensor<ui8>"), BAD, "an element of ui8, got '-1'"},
      {OP("%0 = stablehlo.constant dense<0x1FFFF> : tensor<bf16>"), BAD, "an element of bf16"},
      {OP("%0 = stablehlo.constant dense<1.5> : tensor<i32>"), BAD, "an element of i32, got '1.5'"},
      {OP("%0 = stablehlo.constant dense<\"0x00\"> : tensor<4xi32>"), BAD, "32 hex digits"},
      {OP("%0 = stablehlo.constant dense<\"0x0G\"> : tensor<1xi8>"), BAD, "two hex digits"},
      {OP("%0 = stablehlo.constant dense<1> : tensor<?xi32>"), BAD, "known dims"},
      {OP("%0 = stablehlo.constant dense_resource<a> : tensor<2xi32>"), TT_UNIMPLEMENTED,
       "dense_resource"},
      {OP("%0 = \"stablehlo.constant\"() {value = dense<1> : tensor<i32>} : () -> tensor<i64>"),
       BAD, "expected a result of the type of the elements, tensor<i32>"},
      {OP("%0 = \"stablehlo.abs\"(%x) {dimension = #a} : (tensor<2xf32>) -> tensor<2xf32>"), BAD,
       "an attribute alias that is defined above, got '#a'"},
      {OP("%0 = stablehlo.compare XX, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>"),
       BAD, "2:26: expected comparison_direction, got 'XX'"},
      {OP("%0 = \"stablehlo.compare\"(%x, %x) {comparison_direction = #stablehlo<precision HIGH>} "
          ": (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>"),
       BAD, "expected another enum for comparison_direction, got precision"},
      {OP("%0 = \"stablehlo.abs\"(%x) ({\n  ^a:\n  stablehlo.return\n  ^b:\n  }) : () -> ()"),
       TT_UNIMPLEMENTED, "5:3: a region of several blocks"},
      {OP("%0 = stablehlo.abs %x : tensor<2xf32> loc(\"a)"), BAD, "a closing quote"},
      {OP("stablehlo.custom_call @f() {backend_config = \"\\00\"} : () -> ()"), TT_UNIMPLEMENTED,
       "a string with a NUL"},
      {OP("stablehlo.custom_call @f() {backend_config = \"\\q\"} : () -> ()"), BAD, "hex digits"},
      {OP("stablehlo.custom_call @f() {k = 99999999999999999999} : () -> ()"), BAD, "64 bits"},
      {OP("%0 = \"stablehlo.reduce_window\"(%x, %x) {padding = dense<0> : tensor<1000x1000xi64>} : "
          "(tensor<2xf32>, tensor<2xf32>) -> tensor<f32>"),
       TT_UNIMPLEMENTED, "tensor<1000x1000xi64> as an attribute other than a constant's"},
      {"func.func @main() -> tensor<f32> { return }", BAD, "@main to return 1 values, got 0"},
      {"func.func @main(%x: tensor<f32>) -> tensor<i32> { return %x : tensor<f32> }", BAD,
       "expected result 0 of @main to be tensor<i32>, got tensor<f32>"},
      {"func.func @main(tensor<f32>) { return }", BAD, "a name for argument 0"},
      {"func.func @main() {}", BAD, "expected @main to end in a return"},
      {"func.func @main(%x: tensor<f32> {tf.aliasing_output = -1 : i32}) { return }", BAD,
       "the number of a result"},
      {"func.func @main(%x: f32) { return }", TT_UNIMPLEMENTED, "1:21: type f32"},
      {"\"builtin.module\"() ({}) : () -> ()", TT_UNIMPLEMENTED, "the generic form"},
      {"func.func @main() { return\n\x01 }", BAD, "2:1: expected an operation, got the byte 0x01"},
  };
  for (size_t i = 0; i < TT_COUNT(rows); i++)
    CHECK_ERROR(rows[i].text, rows[i].code, rows[i].message);
}

/* A name that is 100,000 long, and regions 1,000 deep. */
TEST(hlo_parse_errors, sizes) {
  enum { LONG = 100000, DEEP = 1000 };
  tt_bytes text = {0}, printed = {0};
  tt_bytes_text(&text, "func.func @main(%");
  for (int i = 0; i < LONG; i++)
    tt_bytes_char(&text, 'n');
  tt_bytes_text(&text, ": tensor<f32>) { return }");
  if (!text.failed && test_parse_print(__FILE__, __LINE__, text.data, &printed))
    EXPECT_CONTAINS(printed.data, "%arg0: tensor<f32>");
  tt_bytes_clear(&text);
  tt_bytes_text(&text, "func.func @main(%p: tensor<i1>) {\n");
  for (int i = 0; i < DEEP; i++)
    tt_bytes_text(&text, "\"stablehlo.if\"(%p) ({\n");
  if (!text.failed)
    CHECK_ERROR(text.data, BAD, "expected at most 100 regions within one another");
  tt_bytes_clear(&text);
  tt_bytes_text(&text, "func.func @main() { stablehlo.custom_call @f() {composite_attributes = ");
  for (int i = 0; i < LONG; i++)
    tt_bytes_char(&text, '[');
  if (!text.failed)
    CHECK_ERROR(text.data, BAD, "expected a closing bracket");
  tt_bytes_clear(&text);
  tt_bytes_text(&text, "func.func @main(%x: tensor<f32>) { %0 = \"stablehlo.abs\"(%x) {lower");
  for (int i = 0; i < DEEP; i++)
    tt_bytes_text(&text, ", lower");
  if (!text.failed)
    CHECK_ERROR(text.data, BAD, "expected each attribute once");
  tt_bytes_free(&text);
  tt_bytes_free(&printed);
}

static const char sample[] =
    "#loc1 = loc(\"a\":1:2)\n!t = tensor<2x?xcomplex<f64>>\n"
    "module @m attributes {mhlo.num_partitions = 1 : i32} {\n"
    "  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: !t) -> "
    "(tensor<2x3xf32> {jax.result_info = \"\\22\"}) {\n"
    "    %c = stablehlo.constant dense<[[1.5, -2.0e-3], [0x7FC00000, 0.0]]> : tensor<2x2xf32>\n"
    "    %h = stablehlo.constant dense<\"0x00010203\"> : tensor<4xi8>\n"
    "    %cst = stablehlo.constant dense<0.0> : tensor<f32> loc(#loc1)\n"
    "    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : "
    "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n"
    "    %1 = \"stablehlo.dot_general\"(%arg0, %arg0) <{dot_dimension_numbers = #stablehlo.dot<"
    "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = "
    "[#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]}> : (tensor<2x3xf32>, "
    "tensor<2x3xf32>) -> tensor<2x2xf32>\n"
    "    %2:2 = stablehlo.while(%i = %cst, %j = %0) : tensor<f32>, tensor<2xf32> cond {\n"
    "      %3 = stablehlo.compare LT, %i, %i, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "      stablehlo.return %3 : tensor<i1>\n"
    "    } do {\n      stablehlo.return %i, %j : tensor<f32>, tensor<2xf32>\n    }\n"
    "    %4 = stablehlo.slice %arg0 [0:2, 0:3:1] : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
    "    stablehlo.custom_call @f(%2#1) {api_version = 4 : i32, backend_config = {a = [1, {}]}, "
    "operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = []} : (tensor<2xf32>) -> ()\n"
    "    return %4 : tensor<2x3xf32>\n  }\n}\n";

/* From a buffer of its own, so that the sanitizer sees a step beyond the end. */
static void try_text(const char *text, size_t size) {
  tt_hlo_module *module = NULL;
  tt_bytes printed = {0};
  char *copy = malloc(size + (size == 0));
  if (copy == NULL)
    return;
  memcpy(copy, text, size);
  tt_error *err = tt_hlo_parse(copy, size, &module);
  free(copy);
  if (err == NULL)
    err = tt_hlo_module_verify(module);
  if (err == NULL)
    err = tt_hlo_module_print(module, &printed);
  tt_error_free(err);
  tt_bytes_free(&printed);
  tt_hlo_module_free(module);
}

TEST_WITHOUT_TORTURE(hlo_parse_errors, cut_anywhere) {
  tt_bytes printed = {0};
  EXPECT(test_parse_print(__FILE__, __LINE__, sample, &printed));
  for (size_t size = 0; size < sizeof sample; size++)
    try_text(sample, size);
  tt_bytes_free(&printed);
}

TEST_WITHOUT_TORTURE(hlo_parse_errors, any_byte_changed) {
  static const char bytes[] = "<>(){}[]:,=%#@!\"-x0a \n\\?^/";
  char text[sizeof sample];
  for (size_t i = 0; i + 1 < sizeof sample; i++)
    for (size_t k = 0; k < sizeof bytes; k++) {
      memcpy(text, sample, sizeof sample);
      text[i] = bytes[k];
      try_text(text, sizeof sample - 1);
    }
}
