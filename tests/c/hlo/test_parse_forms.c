/* The parser: each form in which an operation or attribute may be written. */
#include <string.h>

#include "test_parse.h"

TEST(hlo_parse_forms, elementwise) {
  CHECK_OPS("%x: tensor<2xf32>", "%0 = stablehlo.exponential %x : tensor<2xf32>",
            "%0 = \"stablehlo.exponential\"(%arg0) : (tensor<2xf32>) -> (tensor<2xf32>)");
  CHECK_OPS("%x: tensor<2xf32>",
            "%0 = stablehlo.tanh %x {result_accuracy = #stablehlo.result_accuracy<mode = "
            "#stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<2xf32>",
            "%0 = \"stablehlo.tanh\"(%arg0) : (tensor<2xf32>)");
  CHECK_OPS("%x: tensor<2xf32>, %y: tensor<?xf32>",
            "%0 = stablehlo.add %x, %y : (tensor<2xf32>, tensor<?xf32>) -> tensor<2xf32>",
            "\"stablehlo.add\"(%arg0, %arg1) : (tensor<2xf32>, tensor<?xf32>) -> (tensor<2xf32>)");
  CHECK_OPS("%x: tensor<2xf32>", "%0 = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xi8>",
            "-> (tensor<2xi8>)");
  CHECK_OPS("%x: tensor<2xf32>", "%0 = stablehlo.complex %x, %x : tensor<2xcomplex<f32>>",
            ": (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xcomplex<f32>>)");
  CHECK_OPS(
      "%p: tensor<i1>, %x: tensor<2xf32>",
      "%0 = stablehlo.select %p, %x, %x : tensor<i1>, tensor<2xf32>",
      "(%arg0, %arg1, %arg1) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)");
  CHECK_OPS("%x: tensor<f32>", "%0 = stablehlo.clamp %x, %x, %x : tensor<f32>",
            "\"stablehlo.clamp\"(%arg0, %arg0, %arg0)");
  CHECK_OPS("%x: tensor<2xf32>",
            "%0 = stablehlo.compare GE, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>\n"
            "%1 = stablehlo.compare LT, %x, %x, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> "
            "tensor<2xi1>",
            "{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = "
            "#stablehlo<comparison_type TOTALORDER>}");
  CHECK_OPS("%x: tensor<2xf32>",
            "%0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<2xf32>",
            "{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}");
}

TEST(hlo_parse_forms, chlo) {
  CHECK_OPS("%x: tensor<2xf32>", "%0 = chlo.erf %x : tensor<2xf32> -> tensor<2xf32>",
            "\"chlo.erf\"(%arg0)");
  CHECK_OPS("%x: tensor<2xf32>",
            "%0 = chlo.zeta %x, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>",
            "\"chlo.zeta\"(%arg0, %arg0)");
  CHECK_OPS("%x: tensor<5xf32>",
            "%0:2 = chlo.top_k(%x, k = 3) : tensor<5xf32> -> (tensor<3xf32>, tensor<3xi32>)",
            "%0:2 = \"chlo.top_k\"(%arg0) {k = 3 : i64} :");
  CHECK_OPS("%x: tensor<2xf32>", "%0 = chlo.tan %x : tensor<2xf32> -> tensor<2xf32>",
            "\"stablehlo.tan\"(%arg0)");
}

TEST(hlo_parse_forms, shapes) {
  CHECK_OPS("", "%0 = stablehlo.iota dim = 1 : tensor<2x3xi32>", "{iota_dimension = 1 : i64}");
  CHECK_OPS("%x: tensor<2xf32>",
            "%0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<2xf32>) -> tensor<3x2xf32>",
            "{broadcast_dimensions = array<i64: 1>}");
  CHECK_OPS("%x: tensor<f32>",
            "%0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<3x2xf32>",
            "{broadcast_dimensions = array<i64>}");
  CHECK_OPS("%x: tensor<2x3xf32>",
            "%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
            "%1 = stablehlo.reverse %0, dims = [0] : tensor<3x2xf32>\n"
            "%2 = stablehlo.reshape %1 : (tensor<3x2xf32>) -> tensor<6xf32>\n"
            "%3 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>",
            "%1 = \"stablehlo.reverse\"(%0) {dimensions = array<i64: 0>}");
  CHECK_OPS("%x: tensor<8x9xf32>",
            "%0 = stablehlo.slice %x [0:4, 1:9:2] : (tensor<8x9xf32>) -> tensor<4x4xf32>",
            "{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 4, 9>, strides = "
            "array<i64: 1, 2>}");
  CHECK_OPS("%x: tensor<f32>", "%0 = stablehlo.slice %x [] : (tensor<f32>) -> tensor<f32>",
            "{start_indices = array<i64>, limit_indices");
  CHECK_OPS("%x: tensor<4xf32>, %v: tensor<f32>",
            "%0 = stablehlo.pad %x, %v, low = [1], high = [-1], interior = [2] : (tensor<4xf32>, "
            "tensor<f32>) -> tensor<10xf32>",
            "{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: -1>, "
            "interior_padding = array<i64: 2>}");
  CHECK_OPS("%x: tensor<4xf32>",
            "%0 = stablehlo.concatenate %x, %x, %x, dim = 0 : (tensor<4xf32>, tensor<4xf32>, "
            "tensor<4xf32>) -> tensor<12xf32>",
            "(%arg0, %arg0, %arg0) {dimension = 0 : i64}");
  CHECK_OPS("%x: tensor<4x4xf32>, %i: tensor<i32>",
            "%0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 4] : (tensor<4x4xf32>, "
            "tensor<i32>, tensor<i32>) -> tensor<1x4xf32>\n"
            "%1 = stablehlo.dynamic_update_slice %x, %0, %i, %i : (tensor<4x4xf32>, "
            "tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>",
            "%1 = \"stablehlo.dynamic_update_slice\"(%arg0, %0, %arg1, %arg1)");
  CHECK_OPS("%n: tensor<1xi32>, %x: tensor<f32>",
            "%0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"
            "%1 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [] : (tensor<f32>, "
            "tensor<1xi32>) -> tensor<?xf32>\n"
            "%2 = stablehlo.dynamic_reshape %1, %n : (tensor<?xf32>, tensor<1xi32>) -> "
            "tensor<?xf32>",
            "%2 = \"stablehlo.dynamic_reshape\"(%1, %arg0)");
}

TEST(hlo_parse_forms, dot_general) {
  CHECK_OPS(
      "%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>",
      "%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x "
      "[1], precision = [DEFAULT, HIGHEST], algorithm = <lhs_precision_type = tf32, "
      "rhs_precision_type = tf32> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> "
      "tensor<2x3x5xf32>",
      "{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], "
      "rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], "
      "rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, "
      "#stablehlo<precision HIGHEST>], algorithm = #stablehlo.dot_algorithm<"
      "lhs_precision_type = tf32, rhs_precision_type = tf32>}");
  CHECK_OPS("%x: tensor<3xf32>",
            "%0 = stablehlo.dot_general %x, %x, contracting_dims = [] x [] : (tensor<3xf32>, "
            "tensor<3xf32>) -> tensor<3x3xf32>",
            "#stablehlo.dot<>}");
  CHECK_OPS("%x: tensor<3xf32>",
            "%0 = \"stablehlo.dot_general\"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<\n"
            "  rhs_contracting_dimensions = [0],\n  lhs_contracting_dimensions = [0]\n>}>"
            " {mhlo.x} : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>",
            "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}");
}

TEST(hlo_parse_forms, convolution) {
  static const char printed[] =
      "dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>";
  CHECK_OPS("%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x4xf32>",
            "%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, "
            "f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], rhs_dilate = [1, 1], reverse = "
            "[false, 0]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
            "(tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32>",
            printed);
  CHECK_OPS("%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x4xf32>",
            "%0 = \"stablehlo.convolution\"(%x, %k) {batch_group_count = 1 : i64, "
            "feature_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw "
            "input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = "
            "[1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, "
            "kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, "
            "output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>} : "
            "(tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32>",
            printed);
}

TEST(hlo_parse_forms, reduce) {
  static const char region[] =
      "({\n    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):\n"
      "      %1 = \"stablehlo.add\"(%arg2, %arg3) : (tensor<f32>, "
      "tensor<f32>) -> (tensor<f32>)\n"
      "      \"stablehlo.return\"(%1) : (tensor<f32>) -> ()\n"
      "    }) {dimensions = array<i64: 1>}";
  CHECK_OPS("%x: tensor<2x3xf32>, %i: tensor<f32>",
            "%0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : "
            "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32> loc(\"here\")",
            region);
  CHECK_OPS("%x: tensor<2x3xf32>, %i: tensor<f32>",
            "%0 = stablehlo.reduce(%x init: %i) across dimensions = [1] {mhlo.a = 1} : "
            "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n"
            "  reducer(%a: tensor<f32> loc(\"a\"), %b: tensor<f32>)  {\n"
            "    %1 = stablehlo.add %a, %b : tensor<f32>\n"
            "    stablehlo.return %1 : tensor<f32>\n  }",
            region);
  CHECK_OPS(
      "%x: tensor<3xf32>, %y: tensor<3xi32>, %f: tensor<f32>, %n: tensor<i32>",
      "%0:2 = stablehlo.reduce(%x init: %f), (%y init: %n) across dimensions = [0] : "
      "(tensor<3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)\n"
      "  reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>)  {\n"
      "    stablehlo.return %c, %b : tensor<f32>, tensor<i32>\n  }",
      "(%arg0, %arg1, %arg2, %arg3) ({\n    ^bb0(%arg4: tensor<f32>, %arg5: tensor<i32>, "
      "%arg6: tensor<f32>, %arg7: tensor<i32>):\n"
      "      \"stablehlo.return\"(%arg6, %arg5)");
}

TEST(hlo_parse_forms, while_loop) {
  CHECK_OPS("%n: tensor<i32>, %x: tensor<2xf32>",
            "%0:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<2xf32> attributes "
            "{mhlo.a}\n"
            "cond {\n"
            "  %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> "
            "tensor<i1>\n"
            "  stablehlo.return %1 : tensor<i1>\n"
            "} do {\n"
            "  %1 = stablehlo.add %i, %n : tensor<i32>\n"
            "  stablehlo.return %1, %y : tensor<i32>, tensor<2xf32>\n}",
            "      \"stablehlo.return\"(%1) : (tensor<i1>) -> ()\n    }, {\n"
            "    ^bb0(%arg4: tensor<i32>, %arg5: tensor<2xf32>):");
  CHECK_OPS("%p: tensor<i1>",
            "stablehlo.while() cond { stablehlo.return %p : tensor<i1> } do { stablehlo.return }",
            "\"stablehlo.while\"() ({\n      \"stablehlo.return\"(%arg0)");
}

TEST(hlo_parse_forms, custom_call) {
  CHECK_OPS("%x: tensor<2x3xf32>",
            "stablehlo.custom_call @\"check.it\"(%x) {has_side_effect = true, backend_config = "
            "\"a\\22b\", api_version = 2 : i32} : (tensor<2x3xf32>) -> ()",
            "{call_target_name = \"check.it\", has_side_effect = true, backend_config = "
            "\"a\\22b\", api_version = 2 : i32}");
  CHECK_OPS("%x: tensor<2x3xf32>",
            "%0 = stablehlo.custom_call @f(%x) {backend_config = \"\", mhlo.backend_config = {k = "
            "65 : ui8, s = \"}\"}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], "
            "result_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = "
            "[#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, "
            "operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tensor<4xf32>",
            "backend_config = {k = 65 : ui8, s = \"}\"}, api_version = 4 : i32, operand_layouts = "
            "[dense<[1, 0]> : "
            "tensor<2xindex>], result_layouts = [dense<[0]> : tensor<1xindex>], "
            "output_operand_aliases = [#stablehlo.output_operand_alias<");
}

/* Of other layouts the text is kept, whether or not the verifier takes it. */
TEST(hlo_parse_forms, other_layouts) {
  static const char text[] =
      "func.func @main(%x: tensor<2x3xf32>) {\n"
      "  stablehlo.custom_call @f(%x) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], "
      "result_layouts = []} : (tensor<2x3xf32>) -> ()\n  return\n}";
  tt_hlo_module *module = NULL;
  if (EXPECT_OK(tt_hlo_parse(text, strlen(text), &module))) {
    const tt_hlo_op *op = module->funcs->body->first;
    const tt_hlo_attr *operands = tt_hlo_op_attr(op, TT_HLO_OPERAND_LAYOUTS);
    if (EXPECT(operands != NULL && operands->kind == TT_HLO_ATTR_TEXT))
      EXPECT_STR(operands->text, "[dense<[0, 1]> : tensor<2xindex>]");
    EXPECT_INT(tt_hlo_op_attr(op, TT_HLO_RESULT_LAYOUTS)->kind, TT_HLO_ATTR_LAYOUTS);
  }
  tt_hlo_module_free(module);
}

TEST(hlo_parse_forms, composite) {
  static const char text[] =
      "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = stablehlo.composite \"my.op\" %x {composite_attributes = {n = 2 : i64}, "
      "decomposition = @impl, version = 1 : i32} : (tensor<f32>) -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n}\n"
      "func.func private @impl(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }\n";
  tt_bytes printed = {0};
  if (test_parse_print(__FILE__, __LINE__, text, &printed))
    EXPECT_CONTAINS(printed.data,
                    "{name = \"my.op\", composite_attributes = {n = 2 : i64}, "
                    "decomposition = @impl, version = 1 : i32}");
  tt_bytes_free(&printed);
}

TEST(hlo_parse_forms, others) {
  CHECK_OPS("%x: tensor<4x4xf32>",
            "%0 = stablehlo.cholesky %x : tensor<4x4xf32>\n"
            "%1 = stablehlo.cholesky %x, lower = true : tensor<4x4xf32>",
            "%1 = \"stablehlo.cholesky\"(%arg0) {lower = true}");
  CHECK_OPS("%x: tensor<16xcomplex<f32>>",
            "%0 = stablehlo.fft %x, type = FFT, length = [16] : (tensor<16xcomplex<f32>>) -> "
            "tensor<16xcomplex<f32>>",
            "{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 16>}");
  CHECK_OPS("%t: !stablehlo.token",
            "%0 = stablehlo.replica_id : tensor<ui32>\n"
            "%1 = stablehlo.after_all %t, %t : !stablehlo.token\n"
            "%2 = stablehlo.create_token : !stablehlo.token\n"
            "%3 = \"stablehlo.create_token\"() : () -> !stablehlo.token\n"
            "stablehlo.optimization_barrier()",
            "%1 = \"stablehlo.after_all\"(%arg0, %arg0)");
}

TEST(hlo_parse_forms, collectives) {
  CHECK_OPS("%x: tensor<4xf32>",
            "%0 = \"stablehlo.all_reduce\"(%x) <{channel_handle = "
            "#stablehlo.channel_handle<handle=1, type = 0>, replica_groups = dense<0> : "
            "tensor<1x1xi64>, use_global_device_ids}> ({\n"
            "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
            "  %1 = stablehlo.add %a, %b : tensor<f32>\n"
            "  stablehlo.return %1 : tensor<f32>\n}) : (tensor<4xf32>) -> tensor<4xf32>",
            "{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = "
            "dense<[[0]]> : tensor<1x1xi64>, use_global_device_ids}");
  CHECK_OPS("%x: tensor<4xf32>",
            "%0 = \"stablehlo.all_reduce\"(%x) ({\n"
            "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
            "  stablehlo.return %a : tensor<f32>\n}) {replica_groups = dense<> : tensor<0x0xi64>} "
            ": (tensor<4xf32>) -> tensor<4xf32>",
            "replica_groups = dense<> : tensor<0x0xi64>");
  CHECK_OPS("%x: tensor<4xf32>, %r: tensor<1xi32>",
            "%0 = \"stablehlo.collective_broadcast\"(%x, %r) <{has_dynamic_root, replica_groups = "
            "dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<1xi32>) -> "
            "tensor<4xf32>",
            "{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}");
  CHECK_OPS("%x: tensor<4xf32>",
            "%0 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[[0, 1], [1, "
            "0]]> : tensor<2x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>",
            "dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>");
  CHECK_OPS(
      "%x: tensor<4xf32>",
      "%0 = \"stablehlo.all_to_all\"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : "
      "i64, split_count = 2 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = "
      "@mesh, axes = [#stablehlo.axis_ref<name = \"x\">]>} : (tensor<4xf32>) -> "
      "tensor<4xf32>",
      "replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = "
      "[#stablehlo.axis_ref<name = \"x\">]>");
}

/* Arrays had another form before StableHLO 1.0. */
TEST(hlo_parse_forms, dense_arrays) {
  CHECK_OPS("%x: tensor<2x3xf32>",
            "%0 = \"stablehlo.transpose\"(%x) {permutation = dense<[1, 0]> : tensor<2xi64>} : "
            "(tensor<2x3xf32>) -> tensor<3x2xf32>",
            "{permutation = array<i64: 1, 0>}");
}

#define CONSTANT(type, content) "%0 = stablehlo.constant dense<" content "> : tensor<" type ">"
#define CHECK_CONSTANT(type, content, printed) \
  CHECK_OPS("", CONSTANT(type, content), "value = dense<" printed "> : tensor<" type ">")

TEST(hlo_parse_forms, integer_constants) {
  CHECK_CONSTANT("i32", "-5", "-5");
  CHECK_CONSTANT("2x2xi32", "[[1, 2], [-3, 0x10]]", "[[1, 2], [-3, 16]]");
  CHECK_CONSTANT("3xi8", "[255, -128, 127]", "[-1, -128, 127]");
  CHECK_CONSTANT("2xui64", "[18446744073709551615, 0]", "[18446744073709551615, 0]");
  CHECK_CONSTANT("2xi4", "[-8, 7]", "[-8, 7]");
  CHECK_CONSTANT("2xi2", "[-2, 1]", "[-2, 1]");
  CHECK_CONSTANT("2xui2", "[3, 0]", "[3, 0]");
  CHECK_CONSTANT("3xi2", "\"0x03FE01\"", "[-1, -2, 1]");
  CHECK_CONSTANT("2xi1", "[true, false]", "[true, false]");
  CHECK_CONSTANT("2xi1", "true", "true");
  CHECK_CONSTANT("0x3xi32", "", "");
  CHECK_CONSTANT("i64", "-9223372036854775808", "-9223372036854775808");
}

TEST(hlo_parse_forms, float_constants) {
  CHECK_CONSTANT("f32", "1.000000e+00", "1.0");
  CHECK_CONSTANT("3xf32", "[0x7FC00000, -0.0, 1.17549435E-38]",
                 "[0x7FC00000, -0.0, 1.1754944e-38]");
  CHECK_CONSTANT("f64", "0.1000000000000000055511151231257827021181583404541015625", "0.1");
  CHECK_CONSTANT("2xf64", "[2.2250738585072011e-308, 1.0e400]",
                 "[2.225073858507201e-308, 0x7FF0000000000000]");
  CHECK_CONSTANT("f64", "9007199254740993.0", "9007199254740992.0");
  CHECK_CONSTANT("f64", "123456789012345678901234567890.0", "1.2345678901234568e29");
  CHECK_CONSTANT("2xbf16", "[1.5, 0x7F80]", "[1.5, 0x7F80]");
  CHECK_CONSTANT("f8E4M3FN", "1.0", "0x38");
  CHECK_CONSTANT("3xf6E2M3FN", "[7.5, 0x3F, 0.1]", "[0x1F, 0x3F, 0x01]");
  CHECK_CONSTANT("2xf6E3M2FN", "[28.0, 0.0625]", "[0x1F, 0x01]");
  CHECK_CONSTANT("2xcomplex<f32>", "[(1.0, -2.0), (0x7F800000, 0.5)]",
                 "[(1.0, -2.0), (0x7F800000, 0.5)]");
  CHECK_CONSTANT("2xcomplex<f32>", "(1.0, -2.0)", "(1.0, -2.0)");
}

TEST(hlo_parse_forms, hex_constants) {
  CHECK_CONSTANT("2xf32", "\"0x0000803F000000c0\"", "[1.0, -2.0]");
  CHECK_CONSTANT("4xf32", "\"0x0000803F\"", "1.0");
  CHECK_CONSTANT("3xi1", "\"0x010001\"", "[true, false, true]");
  CHECK_CONSTANT("10xi1", "\"0x0502\"",
                 "[true, false, true, false, false, false, false, false, false, true]");
  CHECK_OPS("", "%0 = stablehlo.constant {mhlo.a = 1 : i32} dense<1> : tensor<i32>",
            "{value = dense<1> : tensor<i32>}");
  CHECK_OPS("", "%0 = stablehlo.constant() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>",
            "{value = dense<1> : tensor<i32>}");
}
