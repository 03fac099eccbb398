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

/* `mask`: the bits but the sign. `infinity`: as bits; what is above is NaN. */
#define FLOAT_KEYS(T, WIDTH, INFINITY_BITS)                     \
  for (int64_t i = 0; i < count; i++) {                         \
    T bits_ = ((const T *)data)[items[i].index * stride];       \
    T size_ = (T)(bits_ & (((T)1 << (WIDTH - 1)) - 1));         \
    uint64_t key_ = ordered(bits_, WIDTH);                      \
    key_ = r.zeros && size_ == 0 ? r.zero : key_;               \
    key_ = r.nans && size_ > (T)(INFINITY_BITS) ? r.nan : key_; \
    items[i].key = key_;                                        \
  }

#define INTEGER_KEYS(T, FLIP)         \
  for (int64_t i = 0; i < count; i++) \
    items[i].key = (uint64_t)((const T *)data)[items[i].index * stride] ^ (FLIP);

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

void tt_cpu_sort_keys(const tt_cpu_sort_key *key, tt_dtype dtype, const void *data, int64_t stride,
                      tt_cpu_sort_item *items, int64_t count) {
  replaced r = {key->join_zeros, key->join_nans, 0, 0};
  if (tt_dtype_is_float(dtype)) {
    r.zero = float_key(dtype, key->zero);
    r.nan = float_key(dtype, key->nan);
  }
  switch (dtype) {
    case TT_F32:
      FLOAT_KEYS(uint32_t, 32, 0x7f800000)
      break;
    case TT_F64:
      FLOAT_KEYS(uint64_t, 64, UINT64_C(0x7ff0000000000000))
      break;
    case TT_BF16:
      FLOAT_KEYS(uint16_t, 16, 0x7f80)
      break;
    case TT_F16:
      FLOAT_KEYS(uint16_t, 16, 0x7c00)
      break;
    case TT_S32:
      INTEGER_KEYS(uint32_t, 0x80000000)
      break;
    case TT_U32:
      INTEGER_KEYS(uint32_t, 0)
      break;
    case TT_S64:
      INTEGER_KEYS(uint64_t, UINT64_C(1) << 63)
      break;
    case TT_U64:
      INTEGER_KEYS(uint64_t, 0)
      break;
    default:
      slow_keys(key, dtype, data, stride, items, count);
  }
  if (key->descending)
    for (int64_t i = 0; i < count; i++)
      items[i].key = ~items[i].key;
}

/* ---- sorts ---- */

static void insert_items(tt_cpu_sort_item *items, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    tt_cpu_sort_item item = items[i];
    int64_t k = i;
    for (; k > 0 && items[k - 1].key > item.key; k--)
      items[k] = items[k - 1];
    items[k] = item;
  }
}

static void scatter_digit(const tt_cpu_sort_item *from, tt_cpu_sort_item *to, int64_t count,
                          int shift, int64_t *places) {
  for (int64_t i = 0; i < count; i++)
    to[places[from[i].key >> shift & 0xff]++] = from[i];
}

/* One pass for each byte of the keys that differs among them. */
static tt_cpu_sort_item *radix_items(tt_cpu_sort_item *items, tt_cpu_sort_item *spare,
                                     int64_t count) {
  uint64_t differs = 0;
  for (int64_t i = 1; i < count; i++)
    differs |= items[i].key ^ items[0].key;
  for (int shift = 0; shift < 64; shift += 8) {
    int64_t places[256] = {0}, sum = 0;
    if ((differs >> shift & 0xff) == 0)
      continue;
    for (int64_t i = 0; i < count; i++)
      places[items[i].key >> shift & 0xff]++;
    for (int k = 0; k < 256; k++) {
      int64_t here = places[k];
      places[k] = sum;
      sum += here;
    }
    scatter_digit(items, spare, count, shift, places);
    tt_cpu_sort_item *swap = items;
    items = spare;
    spare = swap;
  }
  return items;
}

static void merge_runs(const tt_cpu_sort_item *from, tt_cpu_sort_item *to, int64_t left,
                       int64_t count) {
  int64_t a = 0, b = left;
  for (int64_t i = 0; i < count; i++)
    to[i] = b == count || (a < left && from[a].key <= from[b].key) ? from[a++] : from[b++];
}

/* Runs of 16 by insertion, then merged: for counts where a radix sort's tables do not pay. */
static tt_cpu_sort_item *merge_items(tt_cpu_sort_item *items, tt_cpu_sort_item *spare,
                                     int64_t count) {
  for (int64_t i = 0; i < count; i += 16)
    insert_items(items + i, count - i < 16 ? count - i : 16);
  for (int64_t run = 16; run < count; run *= 2) {
    for (int64_t i = 0; i < count; i += 2 * run) {
      int64_t both = count - i < 2 * run ? count - i : 2 * run;
      merge_runs(items + i, spare + i, both < run ? both : run, both);
    }
    tt_cpu_sort_item *swap = items;
    items = spare;
    spare = swap;
  }
  return items;
}

tt_cpu_sort_item *tt_cpu_sort_items(tt_cpu_sort_item *items, tt_cpu_sort_item *spare,
                                    int64_t count) {
  return count < 512 ? merge_items(items, spare, count) : radix_items(items, spare, count);
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
