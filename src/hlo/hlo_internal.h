/* hlo_internal.h: what the files of this module share: inference functions, their helpers, tables
 * of the text form. */
#ifndef TT_HLO_INTERNAL_H
#define TT_HLO_INTERNAL_H

#include "base/checked.h"
#include "hlo/ir.h"

/* ---- ops.c ---- */

/* The op's name without its dialect, the beginning of each message about it. */
const char *tt_hlo_op_short_name(const tt_hlo_op *op);

/* An enum attribute as text writes it: #stablehlo<type VALUE>. */
typedef struct tt_hlo_enum_info {
  const char *type; /* NULL: this attribute name is no enum */
  const char *values[7];
  int64_t count;
} tt_hlo_enum_info;
extern const tt_hlo_enum_info tt_hlo_enums[TT_HLO_ATTR_NAME_COUNT];
extern const char *const tt_hlo_attr_kinds[]; /* what messages call the kinds */

/* One function for each name in the last column of ops.def. tt_hlo_op_infer has checked the counts
 * of operands and results where ops.def says them, and that operands are well-formed, are no tokens
 * and that there are no regions unless the traits allow them. */
#define X(id, mnemonic, operands, results, traits, infer) \
  TT_NODISCARD tt_error *tt_hlo_infer_##infer(tt_arena *arena, tt_hlo_op *op);
#include "hlo/ops.def"
#undef X

/* ---- infer_check.c: helpers of inference ---- */

/* INVALID_ARGUMENT with the op's name in front. */
TT_NODISCARD tt_error *tt_hlo_op_fail(const tt_hlo_op *op, const char *fmt, ...) TT_PRINTF(2, 3);
/* In a function whose op is `op` and that owns nothing. The message's arguments are evaluated on
 * failure only. */
#define TT_HLO_CHECK(condition, ...)          \
  do {                                        \
    if (TT_UNLIKELY(!(condition)))            \
      return tt_hlo_op_fail(op, __VA_ARGS__); \
  } while (0)

/* A type as text for a message, cut short where it does not fit. */
enum { TT_HLO_SHOW_SIZE = 128 };
const char *tt_hlo_type_show(const tt_hlo_type *type, char *buffer);
#define TT_HLO_SHOW(type) tt_hlo_type_show(type, (char[TT_HLO_SHOW_SIZE]){0})

/* need: fails when the attribute is missing or of another kind. want: a missing one gives NULL or
 * the default. */
TT_NODISCARD tt_error *tt_hlo_need_attr(const tt_hlo_op *op, tt_hlo_attr_name name,
                                        tt_hlo_attr_kind kind, const tt_hlo_attr **out_attr);
TT_NODISCARD tt_error *tt_hlo_want_attr(const tt_hlo_op *op, tt_hlo_attr_name name,
                                        tt_hlo_attr_kind kind, const tt_hlo_attr **out_attr);
TT_NODISCARD tt_error *tt_hlo_need_i64(const tt_hlo_op *op, tt_hlo_attr_name name,
                                       int64_t *out_value);
TT_NODISCARD tt_error *tt_hlo_need_bool(const tt_hlo_op *op, tt_hlo_attr_name name,
                                        bool *out_value);
TT_NODISCARD tt_error *tt_hlo_want_bool(const tt_hlo_op *op, tt_hlo_attr_name name, bool fallback,
                                        bool *out_value);
/* The value is one that the enum has. */
TT_NODISCARD tt_error *tt_hlo_need_enum(const tt_hlo_op *op, tt_hlo_attr_name name,
                                        int64_t *out_value);
/* An array<i64>; when missing it is empty. */
TT_NODISCARD tt_error *tt_hlo_need_list(const tt_hlo_op *op, tt_hlo_attr_name name,
                                        tt_hlo_list *out_list);
/* The same with `count` numbers, each at least `least`; when it is missing, `items` is NULL. */
TT_NODISCARD tt_error *tt_hlo_need_sized(const tt_hlo_op *op, tt_hlo_attr_name name, size_t count,
                                         int64_t least, tt_hlo_list *out_list);
TT_NODISCARD tt_error *tt_hlo_want_sized(const tt_hlo_op *op, tt_hlo_attr_name name, size_t count,
                                         int64_t least, tt_hlo_list *out_list);
/* Pairs (low, high), one for each of `count` dims; NULL when missing. */
TT_NODISCARD tt_error *tt_hlo_want_padding(const tt_hlo_op *op, size_t count,
                                           const int64_t **out_pairs);
/* precision_config, when there is one, has two values of the enum. */
TT_NODISCARD tt_error *tt_hlo_check_precision(const tt_hlo_op *op);

/* `axis` is in [0, rank). */
TT_NODISCARD tt_error *tt_hlo_check_axis(const tt_hlo_op *op, const char *what, int64_t axis,
                                         int64_t rank);
/* Each in [0, rank) and not in `*seen`, a bit for each axis, to which they are added. */
TT_NODISCARD tt_error *tt_hlo_check_axes(const tt_hlo_op *op, const char *what, tt_hlo_list axes,
                                         int64_t rank, uint64_t *seen);
TT_NODISCARD tt_error *tt_hlo_check_sorted(const tt_hlo_op *op, const char *what, tt_hlo_list axes);

static inline const tt_hlo_type *tt_hlo_operand(const tt_hlo_op *op, uint32_t i) {
  return &op->operands[i]->type;
}
/* No reader of the type goes astray; tt_hlo_type_check looks at the dims too. */
static inline bool tt_hlo_type_sound(const tt_hlo_type *type) {
  return type->token || ((unsigned)type->dtype < TT_DTYPE_COUNT && type->rank >= 0 &&
                         type->rank <= TT_HLO_RANK_MAX && (type->rank == 0 || type->dims != NULL));
}
static inline bool tt_hlo_axis_in(uint64_t seen, int64_t axis) { return (seen >> axis & 1) != 0; }
static inline bool tt_hlo_dim_agrees(int64_t a, int64_t b) {
  return a == b || a == TT_HLO_DYNAMIC || b == TT_HLO_DYNAMIC;
}
/* Ranks and dims agree. */
bool tt_hlo_dims_agree(const tt_hlo_type *a, const tt_hlo_type *b);

TT_NODISCARD tt_error *tt_hlo_dims_new(tt_arena *arena, int64_t rank, int64_t **out_dims);
/* The dims of `a` with what only `b` knows; they agree. No memory is taken unless both know
 * something. */
TT_NODISCARD tt_error *tt_hlo_dims_merge(tt_arena *arena, const tt_hlo_type *a,
                                         const tt_hlo_type *b, const int64_t **out_dims);
void tt_hlo_set_result(tt_hlo_op *op, uint32_t i, tt_dtype dtype, int32_t rank,
                       const int64_t *dims);
/* The element type that somebody gave to result 0 of a WIDENS op beforehand, or `own`, that of the
 * operands. */
TT_NODISCARD tt_error *tt_hlo_given_dtype(const tt_hlo_op *op, tt_dtype own, tt_dtype *out_dtype);
TT_NODISCARD tt_error *tt_hlo_check_results(const tt_hlo_op *op, size_t count);
/* The result that the builder gave has known dims. */
TT_NODISCARD tt_error *tt_hlo_check_static(const tt_hlo_op *op);
/* Operand `i` is a rank 0 tensor of integers, or a rank 1 tensor of `count` of them. */
TT_NODISCARD tt_error *tt_hlo_check_scalar_index(const tt_hlo_op *op, uint32_t i, const char *what);
TT_NODISCARD tt_error *tt_hlo_check_index_list(const tt_hlo_op *op, uint32_t i, const char *what,
                                               int64_t count);

/* Windows of `window` elements, `window_dilation` apart, at every `stride`th place of a dim that is
 * dilated by `base_dilation` and then padded. Dynamic when `dim` or `window` is. All but low and
 * high are checked by the caller. false on overflow or a negative padded size. */
typedef struct tt_hlo_window_dim {
  int64_t dim, window, stride, base_dilation, window_dilation, low, high;
} tt_hlo_window_dim;
bool tt_hlo_window_count(const tt_hlo_window_dim *w, int64_t *out_count);

/* ---- regions ---- */

TT_NODISCARD tt_error *tt_hlo_check_regions(const tt_hlo_op *op, uint32_t count);
/* The return that closes region `i`; `what` names the region. */
TT_NODISCARD tt_error *tt_hlo_region_return(const tt_hlo_op *op, uint32_t i, const char *what,
                                            const tt_hlo_op **out_return);
/* Region `i` is a reducer of `n` values: 2n scalars in, n scalars out of the types of the first n
 * and the last n of its arguments, to which `inputs` are promotable. The element types of the
 * results are those of the return. */
TT_NODISCARD tt_error *tt_hlo_check_reducer(const tt_hlo_op *op, uint32_t i, const char *what,
                                            tt_hlo_value *const *inputs, uint32_t n,
                                            const tt_hlo_op **out_return);
/* Region `i` takes two scalars of each operand's element type, pairwise, and returns one i1. */
TT_NODISCARD tt_error *tt_hlo_check_comparator(const tt_hlo_op *op, uint32_t i, const char *what,
                                               tt_hlo_value *const *inputs, uint32_t n);

/* ---- readers ---- */

/* Tuples exist while a program is read only: one stands among the values as a value of this index,
 * which no operation takes but those that make tuples and take them apart. */
enum { TT_HLO_TUPLE_INDEX = INT32_MAX };
typedef struct tt_hlo_tuple {
  tt_hlo_value value;
  uint32_t count;
  tt_hlo_value **items; /* may be tuples */
} tt_hlo_tuple;
static inline bool tt_hlo_is_tuple(const tt_hlo_value *value) {
  return value->index == TT_HLO_TUPLE_INDEX;
}
TT_NODISCARD tt_error *tt_hlo_tuple_new(tt_arena *arena, tt_hlo_value *const *items, uint32_t count,
                                        tt_hlo_value **out_value);

/* ---- text ---- */

void tt_hlo_print_int(tt_bytes *text, int64_t value);
void tt_hlo_print_string(tt_bytes *text, const char *string); /* in quotes, escaped */
void tt_hlo_print_symbol(tt_bytes *text, const char *name);   /* @name */
/* ` {name = value, ...}`, or nothing when there is none. */
void tt_hlo_print_attrs(tt_bytes *text, const tt_hlo_op *op);
/* dense<...> without its type. */
void tt_hlo_print_dense(tt_bytes *text, const tt_hlo_type *type, const tt_hlo_attr *value);
/* A finite float, as short as it may be and still be read back: 1.5, -2.5e-07. Its text has a point
 * in every locale. */
void tt_hlo_print_float(tt_bytes *text, double value, bool single);

/* What both readers say of a program whose shardings ask for more than sdy.manual_computation. */
#define TT_HLO_WANTS_PARTITIONER                                                         \
  "a sharding that asks for a partition of the program, which is not implemented: keep " \
  "the arrays on one device, or write the parts (sdy.manual_computation, jax.shard_map)"

#endif /* TT_HLO_INTERNAL_H */
