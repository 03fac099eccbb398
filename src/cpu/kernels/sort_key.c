#pragma GCC optimize("O3")
#include "cpu/kernels/sort_key.h"

#include <math.h>
#include <string.h>

/* ---- keys ---- */

bool tt_cpu_sort_key_takes(tt_dtype dtype) { return !tt_dtype_is_complex(dtype); }

/* Bits of an IEEE number: negative ones count down. */
static inline uint64_t ordered(uint64_t bits, int width) {
  uint64_t sign = UINT64_C(1) << (width - 1), all = sign | (sign - 1);
  return (bits & sign) != 0 ? ~bits & all : bits | sign;
}

static uint64_t float_key(tt_dtype dtype, double value) {
  uint64_t bits = 0;
  uint8_t bytes[8] = {0};
  if (tt_dtype_bytes(dtype) == 1) { /* f32 holds each of them */
    float narrow = (float)value;
    uint32_t word = 0;
    memcpy(&word, &narrow, sizeof word);
    return ordered(word, 32);
  }
  tt_cpu_store(dtype, bytes, 0, value, 0);
  memcpy(&bits, bytes, sizeof bits);
  return ordered(bits, 8 * tt_dtype_bytes(dtype));
}

typedef struct replaced {
  bool zeros, nans;
  uint64_t zero, nan;
} replaced;

static void slow_keys(const tt_cpu_sort_key *key, tt_dtype dtype, const void *data, int64_t stride,
                      tt_cpu_sort_item *items, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    int64_t at = items[i].index * stride;
    if (tt_dtype_is_integer(dtype)) {
      items[i].key = (uint64_t)tt_cpu_load_int(dtype, data, at) ^ UINT64_C(1) << 63;
      continue;
    }
    double value = tt_cpu_load(dtype, data, at, NULL);
    value = key->join_zeros && value == 0 ? key->zero : value;
    value = key->join_nans && isnan(value) ? key->nan : value;
    items[i].key = float_key(dtype, value);
  }
}

static replaced read_replaced(const tt_cpu_sort_key *key, tt_dtype dtype) {
  replaced r = {key->join_zeros, key->join_nans, 0, 0};
  if (tt_dtype_is_float(dtype)) {
    r.zero = float_key(dtype, key->zero);
    r.nan = float_key(dtype, key->nan);
  }
  return r;
}

enum { RANKED = 48 }; /* the most items that are all compared with all */

#define NAME(x) x
#define ITEM tt_cpu_sort_item
#define KEY uint64_t
#define KEY_BITS 64
#include "cpu/kernels/sort_items.inc"
#undef NAME
#undef ITEM
#undef KEY
#undef KEY_BITS

#define NAME(x) x##_narrow
#define ITEM tt_cpu_sort_narrow
#define KEY uint32_t
#define KEY_BITS 32
#include "cpu/kernels/sort_items.inc"
#undef NAME
#undef ITEM
#undef KEY
#undef KEY_BITS

bool tt_cpu_sort_narrow_takes(tt_dtype dtype, int64_t count) {
  switch (dtype) {
    case TT_F32:
    case TT_BF16:
    case TT_F16:
    case TT_S32:
    case TT_U32:
    case TT_S8:
    case TT_U8:
      return count <= UINT32_MAX;
    default:
      return false;
  }
}

/* ---- comparators ----
 *
 * Known forms, of keys a and b at the same place of the two elements:
 *   compare LT or GT (a, b)
 *   select(compare EQ(a, b), rest, compare LT or GT (a, b)), rest again such a form
 *   or(compare LT or GT (a, b), and(compare EQ(a, b), rest))
 * where a key is an argument, or select(compare EQ(x, 0), 0, x), or select(compare NE(x, x), NaN,
 * x), one in the other; what is compared there may be the argument itself. */

enum { JOINERS_MAX = 2 };

static const tt_hlo_op *made_by(const tt_hlo_value *value, tt_hlo_code code) {
  return value->op != NULL && value->op->code == code ? value->op : NULL;
}

static int64_t enum_of(const tt_hlo_op *op, tt_hlo_attr_name name) {
  return tt_cpu_attr_i64(op, name, 0);
}

/* A constant of rank 0, or one spread by broadcast_in_dim. */
static bool constant_of(const tt_hlo_value *value, double *out) {
  const tt_hlo_op *op = value->op;
  while (op != NULL && (op->code == TT_HLO_BROADCAST_IN_DIM || op->code == TT_HLO_RESHAPE))
    op = op->operands[0]->op;
  if (op == NULL || op->code != TT_HLO_CONSTANT || op->results[0].type.rank != 0 ||
      tt_dtype_is_complex(op->results[0].type.dtype))
    return false;
  *out = tt_cpu_load(op->results[0].type.dtype, tt_hlo_op_attr(op, TT_HLO_VALUE)->data, 0, NULL);
  return true;
}

static bool is_compare(const tt_hlo_value *value, tt_hlo_direction direction) {
  const tt_hlo_op *op = made_by(value, TT_HLO_COMPARE);
  return op != NULL && enum_of(op, TT_HLO_COMPARISON_DIRECTION) == (int64_t)direction &&
         enum_of(op, TT_HLO_COMPARE_TYPE) != TT_HLO_COMPARE_TOTALORDER;
}

/* One select(test, constant, x) around a key. */
typedef struct joiner {
  const tt_hlo_value *tested[2]; /* each must be the argument, or x */
  const tt_hlo_value *x;
  bool nans; /* or zeros */
  double with;
} joiner;

static bool read_joiner(const tt_hlo_op *op, joiner *out) {
  const tt_hlo_op *test = made_by(op->operands[0], TT_HLO_COMPARE);
  double zero = 1;
  if (test == NULL || !constant_of(op->operands[1], &out->with))
    return false;
  out->x = op->operands[2];
  out->tested[0] = out->tested[1] = test->operands[0];
  out->nans = is_compare(op->operands[0], TT_HLO_NE);
  if (out->nans) {
    out->tested[1] = test->operands[1];
    return isnan(out->with);
  }
  return is_compare(op->operands[0], TT_HLO_EQ) && out->with == 0 &&
         constant_of(test->operands[1], &zero) && zero == 0;
}

/* The argument that `value` is made of, and how; false when it is not of a known form. */
static bool read_value(const tt_hlo_region *region, const tt_hlo_value *value,
                       tt_cpu_sort_key *out_key, uint32_t *out_arg) {
  joiner joiners[JOINERS_MAX];
  int count = 0;
  *out_key = (tt_cpu_sort_key){0};
  for (const tt_hlo_op *op = NULL; (op = made_by(value, TT_HLO_SELECT)) != NULL; count++) {
    if (count == JOINERS_MAX || !read_joiner(op, &joiners[count]))
      return false;
    value = joiners[count].x;
  }
  if (value->op != NULL || value < region->args || value >= region->args + region->args_count)
    return false;
  *out_arg = (uint32_t)(value - region->args);
  while (count-- > 0) { /* the outermost counts, so it comes last */
    const joiner *j = &joiners[count];
    for (int i = 0; i < 2; i++)
      if (j->tested[i] != value && j->tested[i] != j->x)
        return false;
    *(j->nans ? &out_key->join_nans : &out_key->join_zeros) = true;
    *(j->nans ? &out_key->nan : &out_key->zero) = j->with;
  }
  return true;
}

/* compare(a, b): a and b are made in the same way of the two elements of one operand. */
static bool read_compare(const tt_hlo_region *region, const tt_hlo_op *op,
                         tt_cpu_sort_key *out_key) {
  tt_cpu_sort_key other = {0};
  uint32_t a = 0, b = 0;
  if (!read_value(region, op->operands[0], out_key, &a) ||
      !read_value(region, op->operands[1], &other, &b) || (a ^ 1) != b)
    return false;
  if (out_key->join_zeros != other.join_zeros || out_key->join_nans != other.join_nans ||
      signbit(out_key->zero) != signbit(other.zero) || signbit(out_key->nan) != signbit(other.nan))
    return false;
  tt_dtype dtype = region->args[a].type.dtype;
  int64_t type = enum_of(op, TT_HLO_COMPARE_TYPE);
  if (!tt_cpu_sort_key_takes(dtype))
    return false;
  if (tt_dtype_is_float(dtype) && type != TT_HLO_COMPARE_TOTALORDER) {
    /* Zeros are equal; with NaNs the comparator orders nothing, and any order will do. */
    out_key->join_zeros = out_key->join_nans = true;
    out_key->nan = (double)NAN;
  }
  int64_t direction = enum_of(op, TT_HLO_COMPARISON_DIRECTION);
  out_key->operand = a / 2;
  out_key->descending = (direction == TT_HLO_GT) != ((a & 1) != 0);
  return direction == TT_HLO_LT || direction == TT_HLO_GT || direction == TT_HLO_EQ;
}

static bool same_key(const tt_cpu_sort_key *a, const tt_cpu_sort_key *b) {
  return a->operand == b->operand && a->join_zeros == b->join_zeros &&
         a->join_nans == b->join_nans && signbit(a->zero) == signbit(b->zero) &&
         signbit(a->nan) == signbit(b->nan);
}

static bool read_strict(const tt_hlo_region *region, const tt_hlo_value *value,
                        tt_cpu_sort_key *out_key) {
  const tt_hlo_op *op = made_by(value, TT_HLO_COMPARE);
  return op != NULL && enum_of(op, TT_HLO_COMPARISON_DIRECTION) != TT_HLO_EQ &&
         read_compare(region, op, out_key);
}

/* compare EQ of the key that `key` already is. */
static bool is_equal(const tt_hlo_region *region, const tt_hlo_value *value,
                     const tt_cpu_sort_key *key) {
  const tt_hlo_op *op = made_by(value, TT_HLO_COMPARE);
  tt_cpu_sort_key other = {0};
  return op != NULL && enum_of(op, TT_HLO_COMPARISON_DIRECTION) == TT_HLO_EQ &&
         read_compare(region, op, &other) && same_key(key, &other);
}

/* What decides where the key is equal; NULL when `op` is not of a known form. */
static const tt_hlo_value *read_link(const tt_hlo_region *region, const tt_hlo_op *op,
                                     tt_cpu_sort_key *out_key) {
  if (op->code == TT_HLO_SELECT)
    return read_strict(region, op->operands[2], out_key) &&
                   is_equal(region, op->operands[0], out_key)
               ? op->operands[1]
               : NULL;
  if (op->code != TT_HLO_OR)
    return NULL;
  for (uint32_t i = 0; i < 2; i++) {
    const tt_hlo_op *both = made_by(op->operands[1 - i], TT_HLO_AND);
    if (both == NULL || !read_strict(region, op->operands[i], out_key))
      continue;
    for (uint32_t k = 0; k < 2; k++)
      if (is_equal(region, both->operands[k], out_key))
        return both->operands[1 - k];
  }
  return NULL;
}

static uint32_t read_chain(const tt_hlo_region *region, tt_cpu_sort_key *out_keys, uint32_t most) {
  const tt_hlo_value *value = region->last->operands[0];
  for (uint32_t count = 0; count < most; count++) {
    out_keys[count] = (tt_cpu_sort_key){0};
    if (read_strict(region, value, &out_keys[count]))
      return count + 1;
    value = value->op == NULL ? NULL : read_link(region, value->op, &out_keys[count]);
    if (value == NULL)
      return 0;
  }
  return 0;
}

uint32_t tt_cpu_sort_read(const tt_hlo_region *region, tt_cpu_sort_key *out_keys, uint32_t most) {
  uint32_t count = read_chain(region, out_keys, most);
  return count > 0 ? count : tt_cpu_sort_read_order(region, &out_keys[0]);
}
