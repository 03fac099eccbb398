/* Comparators of one operand that are made of comparisons and logic: what such a region says
 * depends only on how its two elements lie to each other. That is one of a few cases, so the region
 * is evaluated for all of them at once, a bit for each, and what it says in them is the order. */
#include <math.h>

#include "cpu/kernels/sort_key.h"

/* Of a and b. The last three are of floats alone. */
enum {
  LESS = 1,
  EQUAL = 2,
  GREATER = 4,
  B_NAN = 8, /* b is NaN, a is a number */
  A_NAN = 16,
  BOTH_NAN = 32,
  ALL = 63
};

/* `depth` bounds the walk; `value` is pred. False when it is made of anything else. */
static bool cases_of(const tt_hlo_region *region, const tt_hlo_value *value, int depth,
                     uint32_t *operand, unsigned *out);

/* The operand's number doubled, plus 1 for b. False when it is no argument of the region. */
static bool argument_of(const tt_hlo_region *region, const tt_hlo_value *value, uint32_t *out) {
  if (value->op != NULL || value < region->args || value >= region->args + region->args_count)
    return false;
  *out = (uint32_t)(value - region->args);
  return true;
}

static unsigned holds(tt_hlo_direction direction, unsigned less, unsigned equal, unsigned greater) {
  switch (direction) {
    case TT_HLO_LT:
      return less;
    case TT_HLO_LE:
      return less | equal;
    case TT_HLO_GT:
      return greater;
    case TT_HLO_GE:
      return greater | equal;
    case TT_HLO_EQ:
      return equal;
    default: /* NE, which holds of NaN too */
      return ALL & ~equal;
  }
}

static bool cases_of_compare(const tt_hlo_region *region, const tt_hlo_op *op, uint32_t *operand,
                             unsigned *out) {
  uint32_t left = 0, right = 0;
  if (tt_cpu_attr_i64(op, TT_HLO_COMPARE_TYPE, 0) == TT_HLO_COMPARE_TOTALORDER ||
      !argument_of(region, op->operands[0], &left) ||
      !argument_of(region, op->operands[1], &right) || left / 2 != right / 2 ||
      (*operand != UINT32_MAX && *operand != left / 2))
    return false;
  *operand = left / 2;
  bool swapped = left % 2 == 1;
  unsigned equal = EQUAL;
  if (left == right) /* with itself: equal unless it is NaN */
    equal = ALL & ~((left % 2 == 0 ? A_NAN : B_NAN) | BOTH_NAN);
  *out = holds((tt_hlo_direction)tt_cpu_attr_i64(op, TT_HLO_COMPARISON_DIRECTION, 0),
               left == right ? 0
               : swapped     ? GREATER
                             : LESS,
               equal,
               left == right ? 0
               : swapped     ? LESS
                             : GREATER);
  return true;
}

static bool cases_of_logic(const tt_hlo_region *region, const tt_hlo_op *op, int depth,
                           uint32_t *operand, unsigned *out) {
  unsigned in[3] = {0};
  for (uint32_t i = 0; i < op->operands_count; i++)
    if (i >= 3 || !cases_of(region, op->operands[i], depth - 1, operand, &in[i]))
      return false;
  switch (op->code) {
    case TT_HLO_NOT:
      *out = ALL & ~in[0];
      return true;
    case TT_HLO_AND:
      *out = in[0] & in[1];
      return true;
    case TT_HLO_OR:
      *out = in[0] | in[1];
      return true;
    case TT_HLO_XOR:
      *out = in[0] ^ in[1];
      return true;
    default: /* select */
      *out = (in[0] & in[1]) | (ALL & ~in[0] & in[2]);
      return true;
  }
}

static bool cases_of(const tt_hlo_region *region, const tt_hlo_value *value, int depth,
                     uint32_t *operand, unsigned *out) {
  const tt_hlo_op *op = value->op;
  if (op == NULL || depth == 0)
    return false;
  switch (op->code) {
    case TT_HLO_COMPARE:
      return cases_of_compare(region, op, operand, out);
    case TT_HLO_NOT:
    case TT_HLO_AND:
    case TT_HLO_OR:
    case TT_HLO_XOR:
    case TT_HLO_SELECT:
      return op->results[0].type.dtype == TT_PRED &&
             cases_of_logic(region, op, depth, operand, out);
    default:
      return false;
  }
}

bool tt_cpu_sort_read_order(const tt_hlo_region *region, tt_cpu_sort_key *out_key) {
  uint32_t operand = UINT32_MAX;
  unsigned cases = 0;
  *out_key = (tt_cpu_sort_key){0};
  if (!cases_of(region, region->last->operands[0], 8, &operand, &cases) || operand == UINT32_MAX)
    return false;
  tt_dtype dtype = region->args[2 * operand].type.dtype;
  bool is_float = tt_dtype_is_float(dtype);
  cases &= is_float ? ALL : LESS | EQUAL | GREATER;
  unsigned numbers = cases & (LESS | EQUAL | GREATER), nans = cases & (A_NAN | B_NAN | BOTH_NAN);
  /* Where NaNs are in no order to numbers any order will do. */
  if (!tt_cpu_sort_key_takes(dtype) || (numbers != LESS && numbers != GREATER) ||
      (nans != 0 && nans != A_NAN && nans != B_NAN))
    return false;
  out_key->operand = operand;
  out_key->descending = numbers == GREATER;
  out_key->join_zeros = out_key->join_nans = is_float;
  out_key->nan = (double)NAN;
  if ((nans == A_NAN && !out_key->descending) || (nans == B_NAN && out_key->descending))
    out_key->nan = -out_key->nan; /* less than all */
  return true;
}
