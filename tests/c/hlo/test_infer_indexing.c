#include "infer_table.h"

#define GATHER(...) DIMS(DIMENSION_NUMBERS, GATHER, tt_hlo_gather_dims, __VA_ARGS__)
#define SIZES(...) I64S(SLICE_SIZES, __VA_ARGS__)
/* Rows of a matrix; then elements of each row by its own indices. */
#define ROWS                                                                                  \
  GATHER(.offset_dims = LIST(1), .collapsed_slice_dims = LIST(0), .start_index_map = LIST(0), \
         .index_vector_dim = 1)
#define ALONG                                                                \
  GATHER(.collapsed_slice_dims = LIST(1), .operand_batching_dims = LIST(0),  \
         .start_indices_batching_dims = LIST(0), .start_index_map = LIST(1), \
         .index_vector_dim = 2)
static const infer_row gathers[] = {
    ROW(GATHER, "5x6xf32 3x1xi32", "3x6xf32", ATTRS(ROWS, SIZES(1, 6))),
    ROW(GATHER, "5x6xf32 3xi32", "3x6xf32", ATTRS(ROWS, SIZES(1, 6))),
    ROW(GATHER, "5x?xf32 ?x1xui8", "?x6xf32", ATTRS(ROWS, SIZES(1, 6))),
    ROW(GATHER, "5x6xf32 5x3x1xi64", "5x3xf32", ATTRS(ALONG, SIZES(1, 1))),
    ROW(GATHER, "5x6x7xf32 2x9xi32", "2x9x7xf32", .attrs_count = 2,
        .attrs =
            (const tt_hlo_attr[]){GATHER(.offset_dims = LIST(0, 2), .collapsed_slice_dims = LIST(0),
                                         .start_index_map = LIST(0, 1), .index_vector_dim = 0),
                                  SIZES(1, 2, 7)}),
    ROW(GATHER, "5x6xf32 3x1xf32", "!indices: expected integers", ATTRS(ROWS, SIZES(1, 6))),
    ROW(GATHER, "5x6x2xf32 3x1xi32",
        "!offset_dims, collapsed_slice_dims and operand_batching_dims have 1, 1 and 0",
        ATTRS(ROWS, SIZES(1, 6, 2))), /* c1 */
    ROW(GATHER, "5x6xf32 i32", "!index_vector_dim is 1, not in [0, 0]",
        ATTRS(ROWS, SIZES(1, 6))), /* c2 */
    ROW(GATHER, "5x6xf32 3x2xi32", "!start_index_map has 1 axes, an index has 2 numbers",
        ATTRS(ROWS, SIZES(1, 6))),
    ROW(GATHER, "5x6xf32 3x1xi32", "!offset_dims[0] is 2, not in [0, 2)", /* c5 */
        ATTRS(GATHER(LIST(2), LIST(0), {0}, {0}, LIST(0), 1), SIZES(1, 6))),
    ROW(GATHER, "5x6xf32 3x1xi32", "!offset_dims[1] repeats axis 1", /* c4 */
        ATTRS(GATHER(LIST(1, 1), {0}, {0}, {0}, LIST(0), 1), SIZES(1, 6))),
    ROW(GATHER, "5x6xf32 3x1xi32", "!offset_dims is not sorted: 2 before 1",
        ATTRS(GATHER(LIST(2, 1), {0}, {0}, {0}, LIST(0), 1), SIZES(1, 6))),
    ROW(GATHER, "5x6xf32 5x1xi32", "!operand_batching_dims[0] repeats axis 0", /* c6 */
        ATTRS(GATHER({0}, LIST(0), LIST(0), LIST(0), LIST(0), 1), SIZES(1, 6))),
    ROW(GATHER, "5x6xf32 5x1xi32", "!collapsed_slice_dims is not sorted: 1 before 0", /* c7 */
        ATTRS(GATHER({0}, LIST(1, 0), {0}, {0}, LIST(0), 1), SIZES(1, 1))),
    ROW(GATHER, "5x6xf32 3x1xi32", "!collapsed_slice_dims[0] is 2, not in [0, 2)", /* c8 */
        ATTRS(GATHER(LIST(1), LIST(2), {0}, {0}, LIST(0), 1), SIZES(1, 6))),
    ROW(GATHER, "5x6xf32 3x1xi32", "!slice_sizes[0] is 2, expected at most 1 there",
        ATTRS(ROWS, SIZES(2, 6))),                                           /* c9 */
    ROW(GATHER, "5x6xf32 5x6x1xi32", "!operand_batching_dims is not sorted", /* c10 */
        ATTRS(GATHER({0}, {0}, LIST(1, 0), LIST(1, 0), LIST(0), 2), SIZES(1, 1))),
    ROW(GATHER, "5x6xf32 5x3x1xi32", "!slice_sizes[0] is 2, expected at most 1 there",
        ATTRS(ALONG, SIZES(2, 1))),                                                    /* c12 */
    ROW(GATHER, "5x5xf32 5x3x1xi32", "!start_indices_batching_dims[1] repeats axis 0", /* c13 */
        ATTRS(GATHER({0}, {0}, LIST(0, 1), LIST(0, 0), LIST(0), 2), SIZES(1, 1))),
    ROW(GATHER, "5x6xf32 5x3x1xi32",
        "!start_indices_batching_dims[0] is 3, not in [0, 3)", /* c14 */
        ATTRS(GATHER({0}, LIST(1), LIST(0), LIST(3), LIST(1), 2), SIZES(1, 1))),
    ROW(GATHER, "5x6xf32 3x5xi32",
        "!start_indices_batching_dims holds index_vector_dim 1", /* c15 */
        ATTRS(GATHER({0}, LIST(1), LIST(0), LIST(1), LIST(1), 1), SIZES(1, 1))),
    ROW(GATHER, "5x6xf32 5x3x1xi32",
        "!operand_batching_dims has 1 axes, start_indices_batching_dims 0", /* c16 */
        ATTRS(GATHER({0}, LIST(1), LIST(0), {0}, LIST(1), 2), SIZES(1, 1))),
    ROW(GATHER, "5x6xf32 4x3x1xi32", "!batching dim 0 differs: operand 5, indices 4",
        ATTRS(ALONG, SIZES(1, 1))),                                                /* c17 */
    ROW(GATHER, "5x6xf32 5x3x1xi32", "!start_index_map holds the batching axis 0", /* c18 */
        ATTRS(GATHER({0}, LIST(1), LIST(0), LIST(0), LIST(0), 2), SIZES(1, 1))),
    ROW(GATHER, "5x6xf32 3x1xi32", "!start_index_map[0] is 7, not in [0, 2)", /* c19 */
        ATTRS(GATHER(LIST(1), LIST(0), {0}, {0}, LIST(7), 1), SIZES(1, 6))),
    ROW(GATHER, "5x6xf32 3x1xi32", "!slice_sizes: expected 2 numbers, got 1",
        ATTRS(ROWS, SIZES(1))), /* c20 */
    ROW(GATHER, "5x6xf32 3x1xi32", "!slice_sizes[1] is 7, the operand's dim 6",
        ATTRS(ROWS, SIZES(1, 7))), /* c21 */
    ROW(GATHER, "5x6xf32 3x1xi32", "!slice_sizes[0] is -1", ATTRS(ROWS, SIZES(-1, 6))),
    ROW(GATHER, "5x6xf32 3x1xi32", "!dimension_numbers: expected gather dimension numbers, got i64",
        ATTRS(I64(DIMENSION_NUMBERS, 1))),
    ROW(DYNAMIC_GATHER, "5x6xf32 3x1xi32 2xi32", "3x?xf32", ATTRS(ROWS)),
    ROW(DYNAMIC_GATHER, "5x6xf32 3x1xi32 3xi32",
        "!slice_sizes: expected 2 numbers, got tensor<3xi32>", ATTRS(ROWS)),
    ROW(DYNAMIC_GATHER, "5x6xf32 3x1xi32 2xf32",
        "!slice_sizes: expected a tensor of rank 1 of integers", ATTRS(ROWS)),
};
TEST(hlo_infer, gather) { CHECK_ROWS(gathers); }

#define SCATTER(...) \
  ATTRS(DIMS(SCATTER_DIMENSION_NUMBERS, SCATTER, tt_hlo_scatter_dims, __VA_ARGS__))
#define SUM .regions = {"f32 f32 -> f32"}
#define PUT_ROWS SCATTER(LIST(1), LIST(0), {0}, {0}, LIST(0), 1), SUM
static const infer_row scatters[] = {
    ROW(SCATTER, "5x6xf32 3x1xi32 3x6xf32", "5x6xf32", PUT_ROWS),
    ROW(SCATTER, "5x6xf32 3x1xi32 3x4xf32", "5x6xf32", PUT_ROWS),
    ROW(SCATTER, "?x6xf32 ?x1xi32 3x6xf32", "?x6xf32", PUT_ROWS),
    ROW(SCATTER, "5x6xf32 5x3x1xi32 5x3xf32", "5x6xf32", SUM,
        SCATTER({0}, LIST(1), LIST(0), LIST(0), LIST(1), 2)),
    ROW(SCATTER, "5x6xf32 5x6xi8 3x1xi32 3x6xf32 3x6xi8", "5x6xf32 5x6xi8",
        SCATTER(LIST(1), LIST(0), {0}, {0}, LIST(0), 1), .regions = {"f32 i8 f32 i8 -> f32 i8"}),
    ROW(SCATTER, "5x6xf32 5x7xi8 3x1xi32 3x6xf32 3x6xi8", "!dims of inputs differ", .results = 2,
        SCATTER(LIST(1), LIST(0), {0}, {0}, LIST(0), 1),
        .regions = {"f32 i8 f32 i8 -> f32 i8"}), /* c1 */
    ROW(SCATTER, "5x6x2xf32 3x1xi32 3x6xf32",
        "!update_window_dims, inserted_window_dims and input_batching_dims have",
        PUT_ROWS), /* c2 */
    ROW(SCATTER, "5x6xf32 5x6xf32 3x1xi32 3x6xf32 3x5xf32", "!dims of updates 0 and 1 differ",
        .results = 2, SCATTER(LIST(1), LIST(0), {0}, {0}, LIST(0), 1),
        .regions = {"f32 f32 f32 f32 -> f32 f32"}), /* c3 */
    ROW(SCATTER, "5x6xf32 3x1xi32 4x6xf32", "!updates 0: dim 0 is 4, expected 3",
        PUT_ROWS), /* c4 */
    ROW(SCATTER, "5x6xf32 3x1xi32 3x7xf32", "!updates 0: dim 1 is 7, expected at most 6", PUT_ROWS),
    ROW(SCATTER, "5x6xf32 3x1xi32 3xf32", "!updates 0: expected rank 2, got tensor<3xf32>",
        PUT_ROWS),
    ROW(SCATTER, "5x6xf32 3x1xi32", "!expected n inputs, indices and n updates, got 2 operands",
        PUT_ROWS),                                                                          /* c5 */
    ROW(SCATTER, "5x6xf32 3x1xi32 3x6xf64", "!updates 0: expected elements f32", PUT_ROWS), /* c6 */
    ROW(SCATTER, "5x6xf32 3x1xi32 3x6xf32", "!update_window_dims[0] is 2, not in [0, 2)", SUM,
        SCATTER(LIST(2), LIST(0), {0}, {0}, LIST(0), 1)), /* c8 */
    ROW(SCATTER, "5x6xf32 3x1xi32 3x6xf32", "!index_vector_dim is 3", SUM,
        SCATTER(LIST(1), LIST(0), {0}, {0}, LIST(0), 3)), /* c22 */
    ROW(SCATTER, "5x6xf32 3x1xi32 3x6xf32", "!scatter_dims_to_operand_dims[0] is -1", SUM,
        SCATTER(LIST(1), LIST(0), {0}, {0}, LIST(-1), 1)), /* c21 */
    ROW(SCATTER, "5x6xf32 3x1xi32 3x6xf32", "!update_computation: expected 2 arguments, got 1",
        SCATTER(LIST(1), LIST(0), {0}, {0}, LIST(0), 1), .regions = {"f32 -> f32"}), /* c23 */
    ROW(SCATTER, "5x6xf32 3x1xi32 3x6xf32", "!expected 1 results, got 2", PUT_ROWS, .results = 2),
};
TEST(hlo_infer, scatter) { CHECK_ROWS(scatters); }

static const infer_row slices[] = {
    ROW(DYNAMIC_SLICE, "5x?xf32 i32 i32", "2x3xf32", ATTRS(SIZES(2, 3))),
    ROW(DYNAMIC_SLICE, "f32", "f32", ATTRS(EMPTY(SLICE_SIZES))),
    ROW(DYNAMIC_SLICE, "", "!expected an operand, got none", ATTRS(SIZES(2, 3))),
    ROW(DYNAMIC_SLICE, "5x6xf32 i32", "!expected 2 start indices, got 1", ATTRS(SIZES(2, 3))),
    ROW(DYNAMIC_SLICE, "5x6xf32 i32 i64", "!types of start indices differ", ATTRS(SIZES(2, 3))),
    ROW(DYNAMIC_SLICE, "5x6xf32 1xi32 i32", "!start index: expected a scalar integer",
        ATTRS(SIZES(2, 3))),
    ROW(DYNAMIC_SLICE, "5x6xf32 i1 i1", "!start index: expected a scalar integer",
        ATTRS(SIZES(2, 3))),
    ROW(DYNAMIC_SLICE, "5x6xf32 i32 i32", "!slice_sizes[1] is 7, the operand's dim 6",
        ATTRS(SIZES(2, 7))),
    ROW(DYNAMIC_SLICE, "5x6xf32 i32 i32", "!slice_sizes: expected 2 numbers, got 1",
        ATTRS(SIZES(2))),
    ROW(DYNAMIC_UPDATE_SLICE, "5x?xf32 2x3xf32 i32 i32", "5x?xf32"),
    ROW(DYNAMIC_UPDATE_SLICE, "5x6xf32 2x7xf32 i32 i32", "!update dim 1 is 7, the operand's 6"),
    ROW(DYNAMIC_UPDATE_SLICE, "5x6xf32 2xf32 i32 i32",
        "!update: expected the element type and rank"),
    ROW(DYNAMIC_UPDATE_SLICE, "5x6xf32 2x3xf64 i32 i32",
        "!update: expected the element type and rank"),
    ROW(DYNAMIC_UPDATE_SLICE, "5x6xf32 2x3xf32 i32", "!expected 2 start indices, got 1"),
    ROW(DYNAMIC_UPDATE_SLICE, "5x6xf32", "!expected an operand and an update, got 1"),
};
TEST(hlo_infer, dynamic_slices) { CHECK_ROWS(slices); }
