/* Values that need no op: x * 1, reshapes of reshapes, transposes that undo each other, parts that
 * are the whole. Only what gives the same bits: x + 0 stays where x may be -0.
 *
 * An op that is not needed leaves its region and points to what is read in place of its result. */
#include <math.h>
#include <string.h>

#include "cpu/kernel.h"
#include "cpu/passes/edit.h"
#include "cpu/passes/simplify.h"

enum { LOOK_MAX = 8 };

/* ---- what operands are ---- */

static const tt_hlo_op *made_by(const tt_hlo_value *value, tt_hlo_code code) {
  return value->op != NULL && value->op->code == code ? value->op : NULL;
}

/* The constant of which every element of the value is a copy, or NULL. */
static const tt_hlo_op *splat_of(const tt_hlo_value *value) {
  if (tt_cpu_count(&value->type) == 0)
    return NULL;
  for (int i = 0; i < LOOK_MAX && value->op != NULL; i++) {
    const tt_hlo_op *op = value->op;
    if (op->code == TT_HLO_CONSTANT)
      return tt_hlo_op_attr(op, TT_HLO_VALUE)->splat || tt_cpu_count(&value->type) == 1 ? op : NULL;
    if (op->code != TT_HLO_BROADCAST_IN_DIM && op->code != TT_HLO_RESHAPE)
      return NULL;
    value = op->operands[0];
  }
  return NULL;
}

/* Every element is this number, with this sign. */
static bool is_all(const tt_hlo_value *value, double number) {
  const tt_hlo_op *op = splat_of(value);
  if (op == NULL || tt_dtype_is_complex(value->type.dtype))
    return false;
  double is = tt_cpu_load(value->type.dtype, tt_hlo_op_attr(op, TT_HLO_VALUE)->data, 0, NULL);
  return is == number && (is != 0 || signbit(is) == signbit(number));
}

static bool is_identity(tt_hlo_list permutation) {
  for (size_t i = 0; i < permutation.count; i++)
    if (permutation.items[i] != (int64_t)i)
      return false;
  return true;
}

static bool all_are(tt_hlo_list list, int64_t number) {
  for (size_t i = 0; i < list.count; i++)
    if (list.items[i] != number)
      return false;
  return true;
}

static bool same_type(const tt_hlo_op *op, uint32_t i) {
  return tt_hlo_type_equal(&op->operands[i]->type, &op->results[0].type);
}

/* ---- rules: what is read in place of the op's only result; NULL: the op stays ---- */

typedef tt_hlo_value *(*rule)(tt_hlo_op *op);

/* x op n = x */
static const struct neutral {
  double integer, real;
  bool right; /* only as the second operand */
} neutrals[TT_HLO_OP_COUNT] = {
    [TT_HLO_ADD] = {0, -0.0, false},
    [TT_HLO_SUBTRACT] = {0, 0, true},
    [TT_HLO_MULTIPLY] = {1, 1, false},
    [TT_HLO_DIVIDE] = {1, 1, true},
    [TT_HLO_OR] = {0, 0, false},
    [TT_HLO_XOR] = {0, 0, false},
    [TT_HLO_SHIFT_LEFT] = {0, 0, true},
    [TT_HLO_SHIFT_RIGHT_ARITHMETIC] = {0, 0, true},
    [TT_HLO_SHIFT_RIGHT_LOGICAL] = {0, 0, true},
};

static tt_hlo_value *drop_neutral(tt_hlo_op *op) {
  const struct neutral *n = &neutrals[op->code];
  double number = tt_dtype_is_float(op->results[0].type.dtype) ? n->real : n->integer;
  if (is_all(op->operands[1], number))
    return op->operands[0];
  return !n->right && is_all(op->operands[0], number) ? op->operands[1] : NULL;
}

/* x op x = x */
static tt_hlo_value *drop_same(tt_hlo_op *op) {
  return op->operands[0] == op->operands[1] ? op->operands[0] : NULL;
}

static tt_hlo_value *drop_or(tt_hlo_op *op) {
  tt_hlo_value *same = drop_same(op);
  return same != NULL ? same : drop_neutral(op);
}

/* Of its own inverse: -(-x) */
static tt_hlo_value *drop_twice(tt_hlo_op *op) {
  const tt_hlo_op *first = made_by(op->operands[0], op->code);
  return first == NULL ? NULL : first->operands[0];
}

static tt_hlo_value *drop_select(tt_hlo_op *op) {
  if (op->operands[1] == op->operands[2] || is_all(op->operands[0], 1))
    return op->operands[1];
  return is_all(op->operands[0], 0) ? op->operands[2] : NULL;
}

/* Types that hold every number of another come back to it as they were. */
static bool holds(tt_dtype wide, tt_dtype narrow) {
  if (tt_dtype_is_float(wide) && tt_dtype_is_float(narrow))
    return wide == TT_F64 || (wide == TT_F32 && narrow != TT_F64);
  bool whole = tt_dtype_is_integer(wide) && tt_dtype_is_integer(narrow);
  return whole && tt_dtypes[wide].bits > tt_dtypes[narrow].bits &&
         (tt_dtype_is_signed(wide) || !tt_dtype_is_signed(narrow));
}

static tt_hlo_value *drop_convert(tt_hlo_op *op) {
  const tt_hlo_op *first = made_by(op->operands[0], TT_HLO_CONVERT);
  if (same_type(op, 0))
    return op->operands[0];
  bool back = first != NULL && tt_hlo_type_equal(&first->operands[0]->type, &op->results[0].type) &&
              holds(first->results[0].type.dtype, op->results[0].type.dtype);
  return back ? first->operands[0] : NULL;
}

static tt_hlo_value *drop_reshape(tt_hlo_op *op) {
  const tt_hlo_op *first = made_by(op->operands[0], TT_HLO_RESHAPE);
  if (first != NULL)
    op->operands[0] = first->operands[0];
  return same_type(op, 0) ? op->operands[0] : NULL;
}

static tt_hlo_value *drop_transpose(tt_hlo_op *op) {
  return is_identity(tt_cpu_attr_list(op, TT_HLO_PERMUTATION)) ? op->operands[0] : NULL;
}

static tt_hlo_value *drop_broadcast(tt_hlo_op *op) {
  bool stays = is_identity(tt_cpu_attr_list(op, TT_HLO_BROADCAST_DIMENSIONS)) && same_type(op, 0);
  return stays ? op->operands[0] : NULL;
}

/* A part of the same type is the whole: slices, dynamic slices, concatenations of one. */
static tt_hlo_value *drop_whole(tt_hlo_op *op) {
  bool one = op->code != TT_HLO_CONCATENATE || op->operands_count == 1;
  return one && same_type(op, 0) ? op->operands[0] : NULL;
}

static tt_hlo_value *drop_update(tt_hlo_op *op) {
  return same_type(op, 1) ? op->operands[1] : NULL;
}

static tt_hlo_value *drop_pad(tt_hlo_op *op) {
  bool none = all_are(tt_cpu_attr_list(op, TT_HLO_EDGE_PADDING_LOW), 0) &&
              all_are(tt_cpu_attr_list(op, TT_HLO_INTERIOR_PADDING), 0) && same_type(op, 0);
  return none ? op->operands[0] : NULL;
}

static tt_hlo_value *drop_real(tt_hlo_op *op) {
  const tt_hlo_op *first = made_by(op->operands[0], TT_HLO_COMPLEX);
  return first == NULL ? NULL : first->operands[op->code == TT_HLO_IMAG];
}

static tt_hlo_value *drop_complex(tt_hlo_op *op) {
  const tt_hlo_op *real = made_by(op->operands[0], TT_HLO_REAL);
  const tt_hlo_op *imag = made_by(op->operands[1], TT_HLO_IMAG);
  bool same = real != NULL && imag != NULL && real->operands[0] == imag->operands[0];
  return same ? real->operands[0] : NULL;
}

static const rule rules[TT_HLO_OP_COUNT] = {
    [TT_HLO_ADD] = drop_neutral,
    [TT_HLO_SUBTRACT] = drop_neutral,
    [TT_HLO_MULTIPLY] = drop_neutral,
    [TT_HLO_DIVIDE] = drop_neutral,
    [TT_HLO_XOR] = drop_neutral,
    [TT_HLO_SHIFT_LEFT] = drop_neutral,
    [TT_HLO_SHIFT_RIGHT_ARITHMETIC] = drop_neutral,
    [TT_HLO_SHIFT_RIGHT_LOGICAL] = drop_neutral,
    [TT_HLO_OR] = drop_or,
    [TT_HLO_AND] = drop_same,
    [TT_HLO_MAXIMUM] = drop_same,
    [TT_HLO_MINIMUM] = drop_same,
    [TT_HLO_NEGATE] = drop_twice,
    [TT_HLO_NOT] = drop_twice,
    [TT_HLO_SELECT] = drop_select,
    [TT_HLO_CONVERT] = drop_convert,
    [TT_HLO_RESHAPE] = drop_reshape,
    [TT_HLO_TRANSPOSE] = drop_transpose,
    [TT_HLO_BROADCAST_IN_DIM] = drop_broadcast,
    [TT_HLO_SLICE] = drop_whole,
    [TT_HLO_DYNAMIC_SLICE] = drop_whole,
    [TT_HLO_CONCATENATE] = drop_whole,
    [TT_HLO_DYNAMIC_UPDATE_SLICE] = drop_update,
    [TT_HLO_PAD] = drop_pad,
    [TT_HLO_REAL] = drop_real,
    [TT_HLO_IMAG] = drop_real,
    [TT_HLO_COMPLEX] = drop_complex,
};

/* ---- two ops as one ---- */

/* A transpose of a transpose, or a broadcast of a broadcast, reads what the first reads. Axis i of
 * the result is axis inner[outer[i]] there; axis i there becomes axis outer[inner[i]]. */
static void compose(tt_arena *arena, tt_hlo_op *op) {
  bool turns = op->code == TT_HLO_TRANSPOSE;
  const tt_hlo_op *first = made_by(op->operands[0], op->code);
  if (first == NULL)
    return;
  tt_hlo_attr_name name = turns ? TT_HLO_PERMUTATION : TT_HLO_BROADCAST_DIMENSIONS;
  tt_hlo_list inner = tt_cpu_attr_list(first, name), outer = tt_cpu_attr_list(op, name);
  int64_t *items = tt_arena_array(arena, inner.count, sizeof *items);
  tt_hlo_attr *attrs = tt_arena_copy(arena, op->attrs, op->attrs_count * sizeof *attrs);
  if (items == NULL || attrs == NULL) /* they stay two */
    return;
  for (size_t i = 0; i < inner.count; i++)
    items[i] = turns ? inner.items[outer.items[i]] : outer.items[inner.items[i]];
  op->attrs = attrs;
  tt_cpu_find_attr(op, name)->i64s = (tt_hlo_list){inner.count, items};
  op->operands[0] = first->operands[0];
}

tt_hlo_value *tt_cpu_simpler(tt_arena *arena, tt_hlo_op *op) {
  if (op->code == TT_HLO_TRANSPOSE || op->code == TT_HLO_BROADCAST_IN_DIM)
    compose(arena, op);
  tt_hlo_value *value = rules[op->code] == NULL ? NULL : rules[op->code](op);
  bool fits = value != NULL && tt_hlo_type_equal(&value->type, &op->results[0].type);
  return fits ? value : NULL;
}
