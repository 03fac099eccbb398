/* Inference on ops that are wrong in ways that no table lists: errors, never a crash. The
 * sanitizers are the judges. */
#include <string.h>

#include "infer_table.h"

static const float element = 1;
static const infer_row seeds[] = {
    ROW(ADD, "2x?xf32 2x3xf32", ""),
    ROW(COMPARE, "2xf32 2xf32", "", ATTRS(ENUM(COMPARISON_DIRECTION, 0), ENUM(COMPARE_TYPE, 1))),
    ROW(REDUCE_PRECISION, "4xf32", "", ATTRS(I32(EXPONENT_BITS, 5), I32(MANTISSA_BITS, 0))),
    ROW(CLAMP, "f32 2x3xf32 2x3xf32", ""),
    ROW(BITCAST_CONVERT, "4xf32", "", .given = "4x4xi8"),
    ROW(BROADCAST_IN_DIM, "1x3xf32", "", .given = "3x2x5xf32",
        ATTRS(I64S(BROADCAST_DIMENSIONS, 1, 0))),
    ROW(RESHAPE, "2x3xf32", "", .given = "6xf32"),
    ROW(TRANSPOSE, "2x3x4xf32", "", ATTRS(I64S(PERMUTATION, 2, 0, 1))),
    ROW(SLICE, "7xf32", "",
        ATTRS(I64S(START_INDICES, 1), I64S(LIMIT_INDICES, 7), I64S(STRIDES, 2))),
    ROW(PAD, "5xf32 f32", "",
        ATTRS(I64S(EDGE_PADDING_LOW, 1), I64S(EDGE_PADDING_HIGH, 2), I64S(INTERIOR_PADDING, 1))),
    ROW(CONCATENATE, "2x3xf32 2x4xf32", "", ATTRS(I64(DIMENSION, 1))),
    ROW(IOTA, "", "", .given = "3x4xi32", ATTRS(I64(IOTA_DIMENSION, 1))),
    ROW(CONSTANT, "", "", .given = "2xf32",
        ATTRS(ATTR(VALUE, DENSE, .data = &element, .splat = true))),
    ROW(DOT_GENERAL, "2x3x4xf32 2x4x5xf32", "", .given = "f32",
        ATTRS(DIMS(DOT_DIMENSION_NUMBERS, DOT, tt_hlo_dot_dims, LIST(0), LIST(0), LIST(2), LIST(1)),
              ATTR(PRECISION_CONFIG, ENUMS, .i64s = LIST(0, 1)))),
    ROW(CONVOLUTION, "2x4x9x9xf32 6x2x3x3xf32", "", .given = "f32",
        ATTRS(DIMS(DIMENSION_NUMBERS, CONV, tt_hlo_conv_dims, 0, 1, LIST(2, 3), 1, 0, LIST(2, 3), 0,
                   1, LIST(2, 3)),
              I64(FEATURE_GROUP_COUNT, 2), I64(BATCH_GROUP_COUNT, 1), I64S(WINDOW_STRIDES, 2, 1),
              MATRIX(PADDING, 2, 1, 1, 0, 0), I64S(RHS_DILATION, 1, 2), I64S(LHS_DILATION, 1, 2),
              ATTR(WINDOW_REVERSAL, BOOLS, .i64s = LIST(0, 1)))),
    ROW(FFT, "3x8xf32", "", ATTRS(ENUM(FFT_TYPE, TT_HLO_FFT_RFFT), I64S(FFT_LENGTH, 8))),
    ROW(TRIANGULAR_SOLVE, "2x4x4xf32 2x4x3xf32", "",
        ATTRS(BOOL(LEFT_SIDE, 1), BOOL(LOWER, 1), BOOL(UNIT_DIAGONAL, 0), ENUM(TRANSPOSE_A, 1))),
    ROW(REDUCE, "2x3xf32 2x3xi32 f32 i32", "", .results = 2, ATTRS(I64S(DIMENSIONS, 0)),
        .regions = {"f32 i32 f32 i32 -> f32 i32"}),
    ROW(REDUCE_WINDOW, "5x8xf32 f32", "", .results = 1, .regions = {"f32 f32 -> f32"},
        ATTRS(I64S(WINDOW_DIMENSIONS, 3, 3), I64S(BASE_DILATIONS, 2, 1),
              I64S(WINDOW_DILATIONS, 1, 2), I64S(WINDOW_STRIDES, 1, 2),
              MATRIX(PADDING, 2, 1, 1, 0, 0))),
    ROW(SELECT_AND_SCATTER, "8xf32 4xf32 f32", "", .regions = {"f32 f32 -> i1", "f32 f32 -> f32"},
        ATTRS(I64S(WINDOW_DIMENSIONS, 3), I64S(WINDOW_STRIDES, 2), MATRIX(PADDING, 2, 1, 1))),
    ROW(SORT, "2x3xf32 2x3xi32", "", .results = 2, ATTRS(I64(DIMENSION, 1), BOOL(IS_STABLE, 1)),
        .regions = {"f32 f32 i32 i32 -> i1"}),
    ROW(MAP, "2x3xf32 2x3xi32", "", ATTRS(I64S(DIMENSIONS, 0, 1)), .regions = {"f32 i32 -> f64"}),
    ROW(CHLO_TOP_K, "3x8xf32", "", ATTRS(I64(K, 2))),
    ROW(GATHER, "5x6xf32 5x3x1xi64", "",
        ATTRS(DIMS(DIMENSION_NUMBERS, GATHER, tt_hlo_gather_dims, {0}, LIST(1), LIST(0), LIST(0),
                   LIST(1), 2),
              I64S(SLICE_SIZES, 1, 1), BOOL(INDICES_ARE_SORTED, 1))),
    ROW(SCATTER, "5x6xf32 3x1xi32 3x6xf32", "", .results = 1, .regions = {"f32 f32 -> f32"},
        ATTRS(DIMS(SCATTER_DIMENSION_NUMBERS, SCATTER, tt_hlo_scatter_dims, LIST(1), LIST(0), {0},
                   {0}, LIST(0), 1))),
    ROW(DYNAMIC_SLICE, "5x6xf32 i32 i32", "", ATTRS(I64S(SLICE_SIZES, 2, 3))),
    ROW(DYNAMIC_UPDATE_SLICE, "5x6xf32 2x3xf32 i32 i32", ""),
    ROW(IF, "i1", "", .results = 1, .regions = {"-> f32", "-> f32"}),
    ROW(WHILE, "i32 f32", "", .results = 2, .regions = {"i32 f32 -> i1", "i32 f32 -> i32 f32"}),
    ROW(DYNAMIC_BROADCAST_IN_DIM, "1x?xf32 3xi32", "", .given = "?x?x4xf32",
        ATTRS(I64S(BROADCAST_DIMENSIONS, 0, 1), I64S(KNOWN_EXPANDING_DIMENSIONS, 0))),
    ROW(ALL_TO_ALL, "4x3xf32", "", .given = "2x6xf32",
        ATTRS(MATRIX(REPLICA_GROUPS, 2, 0, 1), I64(SPLIT_DIMENSION, 0), I64(CONCAT_DIMENSION, 1),
              I64(SPLIT_COUNT, 2))),
    ROW(ALL_REDUCE, "2xf32", "", .given = "2xf32", ATTRS(MATRIX(REPLICA_GROUPS, 2, 0, 1)),
        .regions = {"f32 f32 -> f32"}),
    ROW(COLLECTIVE_PERMUTE, "4xf32", "", .given = "4xf32",
        ATTRS(MATRIX(SOURCE_TARGET_PAIRS, 2, 0, 1, 1, 0))),
    ROW(RNG_BIT_GENERATOR, "2xui64", "", .given = "2xui64 3x4xui32", ATTRS(ENUM(RNG_ALGORITHM, 2))),
    ROW(CUSTOM_CALL, "2xf32", "", .given = "i32", ATTRS(STRING(CALL_TARGET_NAME, "f"))),
};

static uint64_t state = 1;
static uint64_t draw(uint64_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return below == 0 ? 0 : (state >> 33) % below;
}

static int64_t draw_number(void) {
  static const int64_t numbers[] = {0,
                                    1,
                                    2,
                                    3,
                                    5,
                                    63,
                                    64,
                                    65,
                                    -1,
                                    -2,
                                    INT64_MAX,
                                    INT64_MAX - 1,
                                    INT64_MIN,
                                    INT64_MIN + 1,
                                    INT64_C(1) << 62,
                                    INT32_MAX,
                                    INT32_MIN};
  return numbers[draw(TT_COUNT(numbers))];
}

static void spoil_list(tt_arena *arena, tt_hlo_list *list) {
  int64_t *items = tt_arena_array(arena, 70, sizeof *items);
  if (items == NULL)
    return;
  for (size_t i = 0; i < 70; i++)
    items[i] = i < list->count && draw(4) != 0 ? list->items[i] : draw_number();
  list->items = items;
  if (draw(2) == 0)
    list->count = draw(8) == 0 ? 70 : draw(4);
}

static void spoil_type(tt_arena *arena, tt_hlo_type *type) {
  int64_t *dims = tt_arena_array(arena, 70, sizeof *dims);
  if (dims == NULL)
    return;
  for (int32_t i = 0; i < 70; i++)
    dims[i] = type->dims != NULL && i < type->rank && draw(4) != 0 ? type->dims[i] : draw_number();
  switch (draw(5)) {
    case 0:
      type->dtype = (tt_dtype)draw(TT_DTYPE_COUNT + 2);
      break;
    case 1:
      type->rank = (int32_t)(draw(8) == 0 ? draw_number() : (int64_t)draw(6));
      break;
    case 2:
      type->token = true;
      break;
    case 3:
      type->rank = (int32_t)(60 + draw(6));
      break;
    default:
      break;
  }
  /* Whoever makes a value sees to its dims; inference sees to ranks that are out of bounds. */
  for (int32_t i = 0; i < 70; i++)
    if (dims[i] < 0)
      dims[i] = TT_HLO_DYNAMIC;
  type->dims = draw(16) == 0 ? NULL : dims;
}

static void spoil_dims(tt_arena *arena, tt_hlo_attr *attr) {
  if (attr->kind == TT_HLO_ATTR_DOT && attr->dims != NULL) {
    tt_hlo_dot_dims *d = tt_arena_copy(arena, attr->dims, sizeof *d);
    tt_hlo_list *lists[] = {&d->lhs_batch, &d->rhs_batch, &d->lhs_contract, &d->rhs_contract};
    spoil_list(arena, lists[draw(4)]);
    attr->dims = d;
  } else if (attr->kind == TT_HLO_ATTR_GATHER && attr->dims != NULL) {
    tt_hlo_gather_dims *g = tt_arena_copy(arena, attr->dims, sizeof *g);
    tt_hlo_list *lists[] = {&g->offset_dims, &g->collapsed_slice_dims, &g->operand_batching_dims,
                            &g->start_indices_batching_dims, &g->start_index_map};
    spoil_list(arena, lists[draw(5)]);
    g->index_vector_dim = draw(4) == 0 ? draw_number() : g->index_vector_dim;
    attr->dims = g;
  } else if (attr->kind == TT_HLO_ATTR_SCATTER && attr->dims != NULL) {
    tt_hlo_scatter_dims *s = tt_arena_copy(arena, attr->dims, sizeof *s);
    tt_hlo_list *lists[] = {&s->update_window_dims, &s->inserted_window_dims,
                            &s->input_batching_dims, &s->scatter_indices_batching_dims,
                            &s->scatter_dims_to_operand_dims};
    spoil_list(arena, lists[draw(5)]);
    s->index_vector_dim = draw(4) == 0 ? draw_number() : s->index_vector_dim;
    attr->dims = s;
  } else if (attr->kind == TT_HLO_ATTR_CONV && attr->dims != NULL) {
    tt_hlo_conv_dims *c = tt_arena_copy(arena, attr->dims, sizeof *c);
    tt_hlo_list *lists[] = {&c->input_spatial, &c->kernel_spatial, &c->output_spatial};
    int64_t *axes[] = {&c->input_batch, &c->input_feature, &c->kernel_input, &c->kernel_output,
                       &c->output_batch};
    spoil_list(arena, lists[draw(3)]);
    *axes[draw(5)] = draw_number();
    attr->dims = c;
  }
}

static void spoil_attr(tt_arena *arena, tt_hlo_attr *attr) {
  switch (draw(6)) {
    case 0: /* a list reads as a list only; the struct of another kind would be a lie of its maker
             */
      attr->kind = (tt_hlo_attr_kind)draw(TT_HLO_ATTR_TEXT + 3);
      attr->dims = NULL;
      attr->text = NULL;
      attr->data = NULL;
      break;
    case 1:
      attr->name = (tt_hlo_attr_name)draw(TT_HLO_ATTR_NAME_COUNT);
      break;
    case 2:
      attr->i64 = draw_number();
      break;
    case 3:
      attr->columns = draw_number();
      break;
    case 4:
      spoil_list(arena, &attr->i64s);
      break;
    default:
      spoil_dims(arena, attr);
      break;
  }
}

static void spoil_region(tt_arena *arena, tt_hlo_region *region) {
  if (region->last == NULL)
    return;
  switch (draw(6)) {
    case 0:
      region->args_count = (uint32_t)draw(region->args_count);
      break;
    case 1:
      region->last = NULL;
      break;
    case 2:
      region->last->operands_count = (uint32_t)draw(region->last->operands_count);
      break;
    case 3:
      region->last->code = TT_HLO_ADD;
      break;
    case 4:
      if (region->args_count > 0)
        spoil_type(arena, &region->args[draw(region->args_count)].type);
      break;
    default:
      if (region->last->operands_count > 0)
        spoil_type(arena, &region->last->operands[draw(region->last->operands_count)]->type);
      break;
  }
}

static void spoil(tt_arena *arena, tt_hlo_op *op) {
  switch (draw(9)) {
    case 0:
      op->code = (tt_hlo_code)draw(TT_HLO_OP_COUNT + 1);
      break;
    case 1:
      op->operands_count = (uint32_t)draw(op->operands_count);
      break;
    case 2:
      op->results_count = (uint32_t)draw(op->results_count);
      break;
    case 3:
      op->attrs_count = (uint32_t)draw(op->attrs_count);
      break;
    case 4:
      if (op->operands_count > 0)
        spoil_type(arena, &op->operands[draw(op->operands_count)]->type);
      break;
    case 5:
      if (op->results_count > 0)
        spoil_type(arena, &op->results[draw(op->results_count)].type);
      break;
    case 6:
      if (op->regions_count > 0)
        spoil_region(arena, op->regions[draw(op->regions_count)]);
      break;
    default:
      if (op->attrs_count > 0)
        spoil_attr(arena, &op->attrs[draw(op->attrs_count)]);
      break;
  }
}

TEST_WITHOUT_TORTURE(hlo_hostile, spoiled_ops_give_errors) {
  int errors = 0, rounds = 60000;
  state = 1;
  for (int round = 0; round < rounds; round++) {
    tt_arena arena = {0};
    tt_hlo_op *op = make_op(&arena, &seeds[round % (int)TT_COUNT(seeds)]);
    for (uint64_t i = draw(3) + 1; op != NULL && i > 0; i--)
      spoil(&arena, op);
    if (op != NULL) {
      tt_error *err = tt_hlo_op_infer(&arena, op);
      errors += err != NULL;
      tt_error_free(err);
    }
    tt_arena_reset(&arena);
  }
  EXPECT(errors > rounds / 4 && errors < rounds);
}

TEST(hlo_hostile, seeds_are_good) {
  for (size_t i = 0; i < TT_COUNT(seeds); i++) {
    tt_arena arena = {0};
    tt_hlo_op *op = make_op(&arena, &seeds[i]);
    if (EXPECT(op != NULL))
      tt_test_ok(__FILE__, seeds[i].line, "infer", tt_hlo_op_infer(&arena, op));
    tt_arena_reset(&arena);
  }
}
