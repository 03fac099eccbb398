#include "test_bytecode.h"

#include <string.h>

#include "hlo/bytecode_internal.h"

static unsigned nibble(char c) { return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10); }

tt_error *test_artifact_load(const test_artifact *artifact, tt_bytes *out_bytes) {
  size_t size = strlen(artifact->hex) / 2;
  char *data = tt_bytes_extend(out_bytes, size);
  for (size_t i = 0; data != NULL && i < size; i++)
    data[i] = (char)(nibble(artifact->hex[2 * i]) << 4 | nibble(artifact->hex[2 * i + 1]));
  return tt_bytes_status(out_bytes);
}

const test_artifact *test_artifact_find(const char *name) {
  for (size_t i = 0; i < test_artifacts_count; i++)
    if (strcmp(test_artifacts[i].name, name) == 0)
      return &test_artifacts[i];
  return NULL;
}

/* Reads, verifies and prints. */
static tt_error *print_artifact(const char *name, tt_bytes *out_text) {
  tt_error *err = NULL;
  tt_bytes bytes = {0};
  tt_hlo_module *module = NULL;
  const test_artifact *artifact = test_artifact_find(name);
  if (artifact == NULL)
    return tt_error_new(TT_NOT_FOUND, "no artifact is named %s", name);
  TT_TRY(test_artifact_load(artifact, &bytes));
  TT_TRY(tt_hlo_bytecode_read(bytes.data, bytes.size, &module));
  TT_TRY(tt_hlo_module_verify(module));
  TT_TRY(tt_hlo_module_print(module, out_text));
out:
  tt_hlo_module_free(module);
  tt_bytes_free(&bytes);
  return err;
}

/* The print of the artifact is `wanted`. */
static void check_print(int line, const char *name, const char *wanted) {
  tt_bytes text = {0};
  if (tt_test_ok(__FILE__, line, name, print_artifact(name, &text)))
    tt_test_str(__FILE__, line, name, text.data, wanted);
  tt_bytes_free(&text);
}
#define CHECK_PRINT(name, wanted) check_print(__LINE__, name, wanted)

static void check_error(int line, const char *name, tt_code code, const char *part) {
  tt_bytes text = {0};
  tt_test_err(__FILE__, line, name, print_artifact(name, &text), code, part);
  tt_bytes_free(&text);
}
#define CHECK_ERROR(name, code, part) check_error(__LINE__, name, code, part)

#define MODULE "module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"

TEST(hlo_bytecode, knows_its_files) {
  EXPECT(tt_hlo_is_bytecode("ML\xEFR", 4));
  EXPECT(!tt_hlo_is_bytecode("ML\xEFR", 3));
  EXPECT(!tt_hlo_is_bytecode("module {}", 9));
  EXPECT(!tt_hlo_is_bytecode(NULL, 0));
}

/* dot, broadcast and create_token are no operations of the IR, @main stands second, the module and
 * its parameters have attributes; 0.9 is encoded without properties and lazy regions. */
TEST(hlo_bytecode, legacy_operations_of_every_encoding) {
  static const char wanted[] =
      "module @legacy attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {\n"
      "  func.func public @main(%arg0: tensor<4x3xf32> {tf.aliasing_output = 1 : i32}, "
      "%arg1: tensor<3xf32> {jax.buffer_donor = true}) -> (tensor<4xf32>, tensor<4x3xf32>, "
      "!stablehlo.token) {\n"
      "    %0 = \"stablehlo.after_all\"() : () -> (!stablehlo.token)\n"
      "    %1 = \"stablehlo.dot_general\"(%arg0, %arg1) {precision_config = "
      "[#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>], dot_dimension_numbers = "
      "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : "
      "(tensor<4x3xf32>, tensor<3xf32>) -> (tensor<4xf32>)\n"
      "    %2 = \"stablehlo.composite\"(%1) {decomposition = @half, name = \"func.call\"} : "
      "(tensor<4xf32>) -> (tensor<4xf32>)\n"
      "    %3 = \"stablehlo.exponential\"(%arg0) : (tensor<4x3xf32>) -> (tensor<4x3xf32>)\n"
      "    \"func.return\"(%2, %3, %0) : (tensor<4xf32>, tensor<4x3xf32>, !stablehlo.token) -> ()\n"
      "  }\n"
      "  func.func private @half(%arg0: tensor<4xf32>) -> (tensor<4xf32>) {\n"
      "    %0 = \"stablehlo.constant\"() {value = dense<0.5> : tensor<f32>} : () -> (tensor<f32>)\n"
      "    %1 = \"stablehlo.broadcast_in_dim\"(%0) {broadcast_dimensions = array<i64>} : "
      "(tensor<f32>) -> (tensor<4xf32>)\n"
      "    %2 = \"stablehlo.multiply\"(%arg0, %1) : (tensor<4xf32>, tensor<4xf32>) -> "
      "(tensor<4xf32>)\n"
      "    \"func.return\"(%2) : (tensor<4xf32>) -> ()\n"
      "  }\n"
      "}\n";
  CHECK_PRINT("legacy_0_9_0", wanted);
  CHECK_PRINT("legacy_0_14_0", wanted);
  CHECK_PRINT("legacy_1_9_0", wanted);
}

/* Packed bools, splats, nothing at all, 4 bits in a byte, pairs. */
TEST(hlo_bytecode, constants) {
#define TYPES                                                                         \
  "tensor<9xi1>, tensor<3xi1>, tensor<20xi1>, tensor<2xi4>, tensor<2xcomplex<f32>>, " \
  "tensor<3xf64>, tensor<2x2xbf16>, tensor<0xf32>, tensor<1xui64>, tensor<2xf8E4M3FN>"
#define CONSTANT(value, type) \
  "\"stablehlo.constant\"() {value = dense<" value "> : " type "} : () -> (" type ")\n"
  static const char wanted[] = MODULE
      "  func.func public @main() -> (" TYPES ") {\n"
      "    %0 = " CONSTANT("[true, false, true, false, false, false, false, false, true]",
                           "tensor<9xi1>")
      "    %1 = " CONSTANT("[true, true, false]", "tensor<3xi1>")
      "    %2 = " CONSTANT("true", "tensor<20xi1>")
      "    %3 = " CONSTANT("[-1, 7]", "tensor<2xi4>")
      "    %4 = " CONSTANT("[(1.0, -2.5), (0.0, 3.0)]", "tensor<2xcomplex<f32>>")
      "    %5 = " CONSTANT("[0.1, -1.0e300, 0x7FF0000000000000]", "tensor<3xf64>")
      "    %6 = " CONSTANT("1.5", "tensor<2x2xbf16>")
      "    %7 = " CONSTANT("", "tensor<0xf32>")
      "    %8 = " CONSTANT("[18446744073709551615]", "tensor<1xui64>")
      "    %9 = " CONSTANT("[0x38, 0xFE]", "tensor<2xf8E4M3FN>")
      "    \"func.return\"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9) : (" TYPES ") -> ()\n"
      "  }\n"
      "}\n";
#undef TYPES
#undef CONSTANT
  CHECK_PRINT("consts_0_20_0", wanted);
  CHECK_PRINT("consts_1_17_0", wanted);
}

/* 2 and 6 bits in a byte. */
TEST(hlo_bytecode, narrow_constants) {
#define TYPES "tensor<3xi2>, tensor<2xui2>, tensor<2xf6E2M3FN>, tensor<f6E3M2FN>"
#define CONSTANT(number, value, type)                                             \
  "    %" #number " = \"stablehlo.constant\"() {value = dense<" value "> : " type \
  "} : () -> (" type ")"
  CHECK_PRINT("narrow_1_17_0",
              MODULE "  func.func public @main() -> (" TYPES ") {\n" CONSTANT(
                  0, "[-2, 1, -1]", "tensor<3xi2>") " loc(\"-:3:10\")\n" CONSTANT(
                  1, "[3, 2]", "tensor<2xui2>") " loc(\"-:4:10\")\n" CONSTANT(
                  2, "[0x1F, 0x21]", "tensor<2xf6E2M3FN>") " loc(\"-:5:10\")\n" CONSTANT(
                  3, "0x1F", "tensor<f6E3M2FN>") " loc(\"-:6:10\")\n"
                                                 "    \"func.return\"(%0, %1, %2, %3) : (" TYPES
                                                 ") -> () loc(\"-:7:5\")\n  }\n}\n");
#undef TYPES
#undef CONSTANT
}

TEST(hlo_bytecode, dimension_numbers) {
  tt_bytes text = {0};
  if (EXPECT_OK(print_artifact("dims_1_17_0", &text))) {
    EXPECT_CONTAINS(text.data,
                    "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], "
                    "rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], "
                    "rhs_contracting_dimensions = [1]>");
    EXPECT_CONTAINS(
        text.data,
        "algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = "
        "tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
        "num_primitive_operations = 3, allow_imprecise_accumulation = false>");
    EXPECT_CONTAINS(
        text.data,
        "{indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 4>, dimension_numbers = "
        "#stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = "
        "[0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}");
    EXPECT_CONTAINS(
        text.data,
        "unique_indices = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims "
        "= [2], inserted_window_dims = [1], input_batching_dims = [0], "
        "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
        "index_vector_dim = 2>}");
    EXPECT_CONTAINS(
        text.data,
        "{batch_group_count = 1 : i64, feature_group_count = 2 : i64, lhs_dilation = "
        "array<i64: 1, 1>, padding = dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>, "
        "precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], "
        "rhs_dilation = array<i64: 1, 2>, window_reversal = array<i1: true, false>, "
        "window_strides = array<i64: 2, 1>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, "
        "1, i, o]->[b, 0, 1, f]>}");
    EXPECT_CONTAINS(text.data,
                    "\"stablehlo.compare\"(%arg5, %arg5) {compare_type = "
                    "#stablehlo<comparison_type TOTALORDER>, comparison_direction = "
                    "#stablehlo<comparison_direction LT>} : (tensor<?x4xf32>, tensor<?x4xf32>) -> "
                    "(tensor<?x4xi1>)");
  }
  tt_bytes_free(&text);
}

/* What only becomes text, and locations of each kind. */
static void check_calls(int line, const char *name) {
  static const char *const parts[] = {
      "\"stablehlo.custom_call\"(%arg0) {api_version = 4 : i32, backend_config = {flag = true, k = "
      "3 : i64, lo = -1 : i8, name = \"a\\22b\", \"odd key\" = [1 : i32, f32], on = 76 : ui8, "
      "scale = 1.5 : f32, sizes = dense<[1, 2]> : tensor<2xi64>}, call_target_name = \"ffi\", "
      "called_computations = [@impl], has_side_effect = true, operand_layouts = [dense<[0]> : "
      "tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<"
      "output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], "
      "result_layouts = [dense<[0]> : tensor<1xindex>]} : (tensor<4xf32>) -> (tensor<4xf32>) "
      "loc(\"named\")\n",
      "\"stablehlo.custom_call\"(%0) {api_version = 4 : i32, backend_config = {k = 2 : i64}, "
      "call_target_name = \"typed\", has_side_effect = false} : (tensor<4xf32>) -> "
      "(tensor<4xf32>)\n",
      "{composite_attributes = {a = 1 : i64}, decomposition = @impl, name = \"my.op\", version = 3 "
      ": i32} : (tensor<4xf32>) -> (tensor<4xf32>) loc(\"model.py:12:7\")\n",
      "{channel_handle = #stablehlo.channel_handle<handle = 5, type = 0>, replica_groups = "
      "dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids} : (tensor<4xf32>) -> "
      "(tensor<4xf32>)\n",
      "-> (tensor<f32>) loc(\"inner\")\n",
      "(tensor<f32>) -> () loc(\"one\")\n"};
  tt_bytes text = {0};
  if (tt_test_ok(__FILE__, line, name, print_artifact(name, &text)))
    for (size_t i = 0; i < TT_COUNT(parts); i++)
      tt_test_contains(__FILE__, line, name, text.data, parts[i]);
  tt_bytes_free(&text);
}

TEST(hlo_bytecode, calls_and_locations) {
  check_calls(__LINE__, "calls_1_4_0"); /* all_reduce_v1 */
  check_calls(__LINE__, "calls_1_17_0");
}

/* Both regions of the loop see the constant, and number their own values alike. */
TEST(hlo_bytecode, regions_that_capture) {
  CHECK_PRINT(
      "loops_1_0_0", MODULE
      "  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<3xf32>) -> (tensor<i32>, "
      "tensor<3xf32>) {\n"
      "    %0 = \"stablehlo.constant\"() {value = dense<10> : tensor<i32>} : () -> (tensor<i32>)\n"
      "    %1:2 = \"stablehlo.while\"(%arg0, %arg1) ({\n"
      "    ^bb0(%arg2: tensor<i32>, %arg3: tensor<3xf32>):\n"
      "      %2 = \"stablehlo.compare\"(%arg2, %0) {comparison_direction = "
      "#stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)\n"
      "      \"stablehlo.return\"(%2) : (tensor<i1>) -> ()\n"
      "    }, {\n"
      "    ^bb0(%arg4: tensor<i32>, %arg5: tensor<3xf32>):\n"
      "      %3 = \"stablehlo.add\"(%arg4, %0) : (tensor<i32>, tensor<i32>) -> (tensor<i32>)\n"
      "      %4 = \"stablehlo.case\"(%arg4) ({\n"
      "        %5 = \"stablehlo.negate\"(%arg5) : (tensor<3xf32>) -> (tensor<3xf32>)\n"
      "        \"stablehlo.return\"(%5) : (tensor<3xf32>) -> ()\n"
      "      }, {\n"
      "        \"stablehlo.return\"(%arg5) : (tensor<3xf32>) -> ()\n"
      "      }) : (tensor<i32>) -> (tensor<3xf32>)\n"
      "      \"stablehlo.return\"(%3, %4) : (tensor<i32>, tensor<3xf32>) -> ()\n"
      "    }) : (tensor<i32>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>)\n"
      "    \"func.return\"(%1#0, %1#1) : (tensor<i32>, tensor<3xf32>) -> ()\n"
      "  }\n"
      "}\n");
}

/* Pairs that are started and awaited, one of them in another function. */
TEST(hlo_bytecode, futures) {
  static const char wanted[] = MODULE
      "  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<i32>) -> (tensor<8xf32>, "
      "tensor<2xf32>) {\n"
      "    %0 = \"stablehlo.async_start\"(%arg0) ({\n"
      "    ^bb0(%arg2: tensor<4xf32>):\n"
      "      %1 = \"stablehlo.all_gather\"(%arg2) {all_gather_dim = 0 : i64, "
      "replica_groups = dense<[[0, 1]]> : "
      "tensor<1x2xi64>} : (tensor<4xf32>) -> (tensor<8xf32>)\n"
      "      \"stablehlo.return\"(%1) : (tensor<8xf32>) -> ()\n"
      "    }) : (tensor<4xf32>) -> (!stablehlo.future<tensor<8xf32>>)\n"
      "    %2 = \"stablehlo.async_start\"(%arg0, %arg1) ({\n"
      "    ^bb0(%arg3: tensor<4xf32>, %arg4: tensor<i32>):\n"
      "      %3 = \"stablehlo.dynamic_slice\"(%arg3, %arg4) {slice_sizes = array<i64: 2>} : "
      "(tensor<4xf32>, tensor<i32>) -> (tensor<2xf32>)\n"
      "      \"stablehlo.return\"(%3) : (tensor<2xf32>) -> ()\n"
      "    }) : (tensor<4xf32>, tensor<i32>) -> (!stablehlo.future<tensor<2xf32>>)\n"
      "    %4 = \"stablehlo.async_done\"(%0) : (!stablehlo.future<tensor<8xf32>>) -> "
      "(tensor<8xf32>)\n"
      "    %5 = \"stablehlo.composite\"(%2) {decomposition = @end, name = \"func.call\"} : "
      "(!stablehlo.future<tensor<2xf32>>) -> (tensor<2xf32>)\n"
      "    \"func.return\"(%4, %5) : (tensor<8xf32>, tensor<2xf32>) -> ()\n"
      "  }\n"
      "  func.func private @end(%arg0: !stablehlo.future<tensor<2xf32>>) -> (tensor<2xf32>) {\n"
      "    %0 = \"stablehlo.async_done\"(%arg0) : (!stablehlo.future<tensor<2xf32>>) -> "
      "(tensor<2xf32>)\n"
      "    \"func.return\"(%0) : (tensor<2xf32>) -> ()\n"
      "  }\n"
      "}\n";
  CHECK_PRINT("async_1_15_0", wanted);
  CHECK_PRINT("async_1_17_0", wanted);
  CHECK_ERROR("futures_1_15_0", TT_UNIMPLEMENTED, "futures of 2 values");
}

TEST(hlo_bytecode, roots_of_the_run) {
  tt_bytes text = {0};
  if (EXPECT_OK(print_artifact("roots_1_20_0", &text)))
    EXPECT_CONTAINS(text.data,
                    "%0:2 = \"stablehlo.collective_broadcast\"(%arg0, %arg1, %arg2) "
                    "{channel_handle = #stablehlo.channel_handle<handle = 5, type = 0>, "
                    "has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : "
                    "(tensor<4xf32>, tensor<2xi8>, tensor<2xi32>) -> (tensor<4xf32>, "
                    "tensor<2xi8>)");
  tt_bytes_free(&text);
}

/* A mixed artifact: sdy's operations, casts around them, shardings of parameters. */
TEST(hlo_bytecode, shardings) {
#define BODY                                                                    \
  "  func.func public @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>) {\n"       \
  "    %0 = \"stablehlo.negate\"(%arg0) : (tensor<8xf32>) -> (tensor<8xf32>)\n" \
  "    \"func.return\"(%0) : (tensor<8xf32>) -> ()\n"                           \
  "  }\n"                                                                       \
  "}\n"
  CHECK_PRINT("sharded_one_1_17_0", MODULE BODY);
  CHECK_PRINT(
      "replicated_two_1_17_0",
      "module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {\n" BODY);
#undef BODY
  CHECK_ERROR("sharded_two_1_17_0", TT_UNIMPLEMENTED,
              "a sharding that asks for a partition of the program");
}

/* Operations that few programs have, and tuples, of which nothing is left. */
TEST(hlo_bytecode, older_operations) {
  static const char wanted[] = MODULE
      "  func.func public @main(%arg0: tensor<3x2xf32>, %arg1: tensor<2xf32>, %arg2: "
      "tensor<2xi32>, %arg3: tensor<1x1x3xf32>, %arg4: tensor<1x2xi32>, %arg5: tensor<i32>) -> "
      "(tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<4x4xf32>, tensor<?x2xf32>, "
      "tensor<?x2xf32>, tensor<1x1x?xf32>, tensor<2xf32>) {\n"
      "    %0 = \"stablehlo.batch_norm_inference\"(%arg0, %arg1, %arg1, %arg1, %arg1) {epsilon = "
      "0.001 : f32, feature_index = 1 : i64} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, "
      "tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>) loc(\"-:3:8\")\n"
      "    %1:3 = \"stablehlo.batch_norm_training\"(%arg0, %arg1, %arg1) {epsilon = 0.5 : f32, "
      "feature_index = 1 : i64} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) -> "
      "(tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) loc(\"-:4:10\")\n"
      "    %2:3 = \"stablehlo.batch_norm_grad\"(%arg0, %arg1, %arg1, %arg1, %arg0) {epsilon = 0.5 "
      ": f32, feature_index = 1 : i64} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, "
      "tensor<2xf32>, tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>) "
      "loc(\"-:5:10\")\n"
      "    %3 = \"stablehlo.constant\"() {value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>) "
      "loc(\"-:6:8\")\n"
      "    %4 = \"stablehlo.rng\"(%3, %3, %arg2) {rng_distribution = #stablehlo<rng_distribution "
      "NORMAL>} : (tensor<f32>, tensor<f32>, tensor<2xi32>) -> (tensor<4x4xf32>) loc(\"-:7:8\")\n"
      "    %5 = \"stablehlo.real_dynamic_slice\"(%arg0, %arg2, %arg2, %arg2) : (tensor<3x2xf32>, "
      "tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<?x2xf32>) loc(\"-:8:8\")\n"
      "    %6 = \"stablehlo.set_dimension_size\"(%arg0, %arg5) {dimension = 0 : i64} : "
      "(tensor<3x2xf32>, tensor<i32>) -> (tensor<?x2xf32>) loc(\"-:9:8\")\n"
      "    %7 = \"stablehlo.dynamic_conv\"(%arg3, %arg3, %arg4) {batch_group_count = 1 : i64, "
      "feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>, precision_config = "
      "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], rhs_dilation = array<i64: "
      "1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>, dimension_numbers = "
      "#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>, "
      "tensor<1x2xi32>) -> (tensor<1x1x?xf32>) loc(\"-:10:8\")\n"
      "    \"func.return\"(%0, %1#0, %2#0, %4, %5, %6, %7, %arg1) : (tensor<3x2xf32>, "
      "tensor<3x2xf32>, tensor<3x2xf32>, tensor<4x4xf32>, tensor<?x2xf32>, tensor<?x2xf32>, "
      "tensor<1x1x?xf32>, tensor<2xf32>) -> () loc(\"-:15:3\")\n"
      "  }\n"
      "}\n";
  CHECK_PRINT("older_ops_1_17_0", wanted);
  CHECK_PRINT("tuple_1_17_0", MODULE
              "  func.func public @main(%arg0: tensor<f32>) -> (tensor<f32>) {\n"
              "    \"func.return\"(%arg0) : (tensor<f32>) -> ()\n"
              "  }\n"
              "}\n");
}

TEST(hlo_bytecode, layouts_that_are_not_the_default) {
  CHECK_PRINT("layout_1_17_0", MODULE
              "  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {\n"
              "    %0 = \"stablehlo.custom_call\"(%arg0) {api_version = 1 : i32, backend_config "
              "= \"\", call_target_name = \"f\", has_side_effect = false, operand_layouts = "
              "[dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : "
              "tensor<2xindex>]} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)\n"
              "    \"func.return\"(%0) : (tensor<2x3xf32>) -> ()\n"
              "  }\n"
              "}\n");
}

#define MANUAL_MODULE                                                                              \
  "module @jit__lambda attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} "   \
  "{\n"                                                                                            \
  "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"                                                      \
  "  func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, "          \
  "[{\"y\"}, "                                                                                     \
  "{}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>}) {\n"      \
  "    %0 = \"sdy.manual_computation\"(%arg0) ({\n"                                                \
  "    ^bb0(%arg1: tensor<2x2xf32>):\n"                                                            \
  "      %1 = \"stablehlo.negate\"(%arg1) : (tensor<2x2xf32>) -> (tensor<2x2xf32>) loc(\"neg\")\n" \
  "      \"sdy.return\"(%1) : (tensor<2x2xf32>) -> () loc(\"shard_map:\")\n"                       \
  "    }) {in_shardings = #sdy.sharding_per_value<[<@mesh, [{\"x\"}, {\"y\"}]>]>, manual_axes = "  \
  "#sdy<manual_axes{\"x\", \"y\"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{\"x\"}, "   \
  "{\"y\"}]>]>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc(\"jit(<lambda>)/shard_map\")\n"       \
  "    \"func.return\"(%0) : (tensor<4x4xf32>) -> () loc(\"jit(<lambda>)\")\n"                     \
  "  }\n"                                                                                          \
  "}\n"

/* As jax.shard_map writes it. */
TEST(hlo_bytecode, manual_computations) { CHECK_PRINT("manual_1_17_0", MANUAL_MODULE); }

#define GROUPS_MODULE                                                                              \
  "module @groups attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {\n"     \
  "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"                                                      \
  "  func.func public @main(%arg0: tensor<2xf32>) -> (tensor<4xf32>) {\n"                          \
  "    %0 = \"stablehlo.all_reduce\"(%arg0) ({\n"                                                  \
  "    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):\n"                                            \
  "      %1 = \"stablehlo.add\"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> (tensor<f32>) "      \
  "loc(\"-:6:12\")\n"                                                                              \
  "      \"stablehlo.return\"(%1) : (tensor<f32>) -> () loc(\"-:7:7\")\n"                          \
  "    }) {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = "              \
  "[#stablehlo.axis_ref<name = \"x\", sub_axis_info = (1)2>]>} : (tensor<2xf32>) -> "              \
  "(tensor<2xf32>) loc(\"-:4:10\")\n"                                                              \
  "    %2 = \"stablehlo.all_gather\"(%0) {all_gather_dim = 0 : i64, replica_groups = "             \
  "#stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = " \
  "\"x\", size = 2>, #stablehlo.mesh_axis<name = \"y\", size = 2>], device_ids = dense<[3, 2, 1, " \
  "0]> : tensor<4xi64>>, axes = [#stablehlo.axis_ref<name = \"y\">]>} : (tensor<2xf32>) -> "       \
  "(tensor<4xf32>) loc(\"-:9:10\")\n"                                                              \
  "    \"func.return\"(%2) : (tensor<4xf32>) -> () loc(\"-:10:5\")\n"                              \
  "  }\n"                                                                                          \
  "}\n"

/* Groups of devices as axes of a mesh, which is named or stands there itself. */
TEST(hlo_bytecode, groups_as_axes) { CHECK_PRINT("mesh_groups_1_17_0", GROUPS_MODULE); }

/* find_op searches by halves, and properties are read in the order of their names. */
TEST(hlo_bytecode, tables_are_sorted) {
  for (size_t i = 0; i < tt_hlo_bc_ops_count; i++) {
    const tt_hlo_bc_op *op = &tt_hlo_bc_ops[i];
    const tt_hlo_bc_property *p = op->properties;
    size_t count = 0;
    EXPECT(i == 0 || strcmp(tt_hlo_bc_ops[i - 1].name, op->name) < 0);
    for (; p != NULL && p[count].kind != TT_HLO_BC_END; count++)
      EXPECT(count == 0 || strcmp(p[count - 1].name, p[count].name) < 0);
    EXPECT(count < TT_HLO_BC_PROPERTIES_MAX);
  }
}
