/* build.h: builds a StableHLO function, one operation a call.
 *
 * A call returns the new value, never NULL: the first mistake (a constraint of the specification,
 * or memory) is kept in the builder, later calls do nothing and return a placeholder, and
 * tt_hlo_build_finish returns that mistake. So a rule composes calls without checks. Everything
 * lives in the module's arena. One thread at a time.
 *
 * A size is a tt_hlo_dim: a number, or a value when only the run knows it. A helper that takes dims
 * emits the static form when all are numbers and the dynamic form otherwise. */
#ifndef TT_HLO_BUILD_H
#define TT_HLO_BUILD_H

#include "hlo/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `value` NULL: the size is `size`. Else `value` is a scalar i32 and `size` is TT_HLO_DYNAMIC. */
typedef struct tt_hlo_dim {
  int64_t size;
  tt_hlo_value *value;
} tt_hlo_dim;

typedef struct tt_hlo_build {
  tt_hlo_module *module;
  tt_hlo_func *func;
  tt_hlo_region *region;      /* where operations go now */
  tt_error *err;              /* the first mistake */
  tt_hlo_value *poison;       /* the placeholder */
  const char *location;       /* given to each new op; NULL for none; in the arena or static */
  tt_hlo_precision precision; /* of dot_general and convolution */
  size_t params_capacity;     /* 0: none reserved yet */
} tt_hlo_build;

/* Starts function @main of `module` in `out_build`. Parameters are added next, before any
 * operation. */
TT_NODISCARD tt_error *tt_hlo_build_begin(tt_hlo_module *module, tt_hlo_build *out_build);
enum { TT_HLO_PARAMS_MAX = 4096 };
/* Makes room for `count` parameters in all, before the first; without it there is room for
 * TT_HLO_PARAMS_MAX. */
void tt_hlo_params_reserve(tt_hlo_build *b, size_t count);
tt_hlo_value *tt_hlo_param_add(tt_hlo_build *b, tt_dtype dtype, size_t rank, const int64_t *dims);
/* Returns `results` from @main; gives back the first mistake, if any. The module is verified in
 * debug builds. */
TT_NODISCARD tt_error *tt_hlo_build_finish(tt_hlo_build *b, tt_hlo_value *const *results,
                                           size_t results_count);
/* Frees what an unfinished builder holds (the error); the module stays. */
void tt_hlo_build_drop(tt_hlo_build *b);
/* Records a mistake of the caller's own; returns the placeholder. The first one stays. */
tt_hlo_value *tt_hlo_fail(tt_hlo_build *b, tt_code code, const char *fmt, ...) TT_PRINTF(3, 4);
bool tt_hlo_failed(const tt_hlo_build *b);
/* Memory in the module's arena; NULL, with the mistake recorded, when there is none. */
void *tt_hlo_alloc(tt_hlo_build *b, size_t count, size_t size);

/* ---- any operation ---- */

/* Appends an op with `results_count` results, whose types are `given` for ops marked GIVEN, else
 * NULL. Attributes and regions are copied (shallow: what they point to must be in the arena or
 * static). Returns NULL on a mistake. */
tt_hlo_op *tt_hlo_op_add(tt_hlo_build *b, tt_hlo_code code, tt_hlo_value *const *operands,
                         size_t operands_count, const tt_hlo_attr *attrs, size_t attrs_count,
                         tt_hlo_region *const *regions, size_t regions_count,
                         const tt_hlo_type *given, size_t results_count);
tt_hlo_value *tt_hlo_op1(tt_hlo_build *b, tt_hlo_code code, tt_hlo_value *x);
tt_hlo_value *tt_hlo_op2(tt_hlo_build *b, tt_hlo_code code, tt_hlo_value *x, tt_hlo_value *y);

/* ---- types and dims ---- */

static inline tt_dtype tt_hlo_dtype(const tt_hlo_value *v) { return v->type.dtype; }
static inline int tt_hlo_rank(const tt_hlo_value *v) { return v->type.rank; }
tt_hlo_dim tt_hlo_dim_number(int64_t size);
/* Dim `axis` of `v` (0 <= axis < rank): its number, or a get_dimension_size. */
tt_hlo_dim tt_hlo_dim_of(tt_hlo_build *b, tt_hlo_value *v, int axis);
/* All dims, in the arena. */
tt_hlo_dim *tt_hlo_dims_of(tt_hlo_build *b, tt_hlo_value *v);
tt_hlo_dim *tt_hlo_dims_numbers(tt_hlo_build *b, const int64_t *dims, size_t rank);
tt_hlo_dim tt_hlo_dim_add(tt_hlo_build *b, tt_hlo_dim x, tt_hlo_dim y);
tt_hlo_dim tt_hlo_dim_sub(tt_hlo_build *b, tt_hlo_dim x, tt_hlo_dim y);
tt_hlo_dim tt_hlo_dim_mul(tt_hlo_build *b, tt_hlo_dim x, tt_hlo_dim y);
tt_hlo_dim tt_hlo_dim_div(tt_hlo_build *b, tt_hlo_dim x, tt_hlo_dim y); /* floor, y > 0 */
/* Product of dims [begin, end). */
tt_hlo_dim tt_hlo_dims_product(tt_hlo_build *b, const tt_hlo_dim *dims, int begin, int end);
/* The dim as a scalar of `dtype`. */
tt_hlo_value *tt_hlo_dim_value(tt_hlo_build *b, tt_hlo_dim dim, tt_dtype dtype);
/* Equal numbers, or the same value. */
bool tt_hlo_dim_same(tt_hlo_dim x, tt_hlo_dim y);

/* ---- constants ---- */

tt_hlo_value *tt_hlo_const(tt_hlo_build *b, tt_dtype dtype, double value);      /* scalar */
tt_hlo_value *tt_hlo_const_int(tt_hlo_build *b, tt_dtype dtype, int64_t value); /* scalar, exact */
tt_hlo_value *tt_hlo_const_complex(tt_hlo_build *b, tt_dtype dtype, double real, double imag);
/* Row-major elements in host form; copied. */
tt_hlo_value *tt_hlo_const_data(tt_hlo_build *b, tt_dtype dtype, const int64_t *dims, size_t rank,
                                const void *data);
tt_hlo_value *tt_hlo_const_i64s(tt_hlo_build *b, tt_dtype dtype, const int64_t *values,
                                size_t count); /* rank 1 */
tt_hlo_value *tt_hlo_full(tt_hlo_build *b, tt_hlo_value *scalar, const tt_hlo_dim *dims,
                          size_t rank);
/* `value` with the dtype and dims of `x`. */
tt_hlo_value *tt_hlo_const_like(tt_hlo_build *b, tt_hlo_value *x, double value);
/* Identities and extremes of a dtype, scalar: lowest is -inf for floats, false for pred. */
tt_hlo_value *tt_hlo_const_lowest(tt_hlo_build *b, tt_dtype dtype);
tt_hlo_value *tt_hlo_const_highest(tt_hlo_build *b, tt_dtype dtype);
tt_hlo_value *tt_hlo_iota(tt_hlo_build *b, tt_dtype dtype, const tt_hlo_dim *dims, size_t rank,
                          int axis);

/* ---- element by element; operands have equal types ---- */

tt_hlo_value *tt_hlo_convert(tt_hlo_build *b, tt_hlo_value *x,
                             tt_dtype dtype); /* `x` itself when equal */
/* `x` != 0 as pred; `x` itself when it is pred. convert() to pred does the same. */
tt_hlo_value *tt_hlo_bitcast(tt_hlo_build *b, tt_hlo_value *x, tt_dtype dtype);
tt_hlo_value *tt_hlo_compare(tt_hlo_build *b, tt_hlo_direction direction, tt_hlo_value *x,
                             tt_hlo_value *y);
tt_hlo_value *tt_hlo_select(tt_hlo_build *b, tt_hlo_value *pred, tt_hlo_value *x, tt_hlo_value *y);
tt_hlo_value *tt_hlo_clamp(tt_hlo_build *b, tt_hlo_value *low, tt_hlo_value *x, tt_hlo_value *high);
tt_hlo_value *tt_hlo_reduce_precision(tt_hlo_build *b, tt_hlo_value *x, int exponent_bits,
                                      int mantissa_bits);
#define TT_HLO_UNARY(name, id)                                                  \
  static inline tt_hlo_value *tt_hlo_##name(tt_hlo_build *b, tt_hlo_value *x) { \
    return tt_hlo_op1(b, TT_HLO_##id, x);                                       \
  }
#define TT_HLO_BINARY(name, id)                                                                  \
  static inline tt_hlo_value *tt_hlo_##name(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *y) { \
    return tt_hlo_op2(b, TT_HLO_##id, x, y);                                                     \
  }
TT_HLO_UNARY(abs, ABS) /* of complex: real */
TT_HLO_UNARY(cbrt, CBRT)
TT_HLO_UNARY(ceil, CEIL)
TT_HLO_UNARY(cos, COSINE)
TT_HLO_UNARY(clz, COUNT_LEADING_ZEROS)
TT_HLO_UNARY(exp, EXPONENTIAL)
TT_HLO_UNARY(expm1, EXPONENTIAL_MINUS_ONE)
TT_HLO_UNARY(floor, FLOOR)
TT_HLO_UNARY(imag, IMAG)
TT_HLO_UNARY(is_finite, IS_FINITE)
TT_HLO_UNARY(log, LOG)
TT_HLO_UNARY(log1p, LOG_PLUS_ONE)
TT_HLO_UNARY(logistic, LOGISTIC)
TT_HLO_UNARY(neg, NEGATE)
TT_HLO_UNARY(not, NOT)
TT_HLO_UNARY(popcnt, POPCNT)
TT_HLO_UNARY(real, REAL)
TT_HLO_UNARY(round_even, ROUND_NEAREST_EVEN)
TT_HLO_UNARY(rsqrt, RSQRT)
TT_HLO_UNARY(sign, SIGN)
TT_HLO_UNARY(sin, SINE)
TT_HLO_UNARY(sqrt, SQRT)
TT_HLO_UNARY(tan, TAN)
TT_HLO_UNARY(tanh, TANH)
TT_HLO_BINARY(add, ADD)
TT_HLO_BINARY(and, AND)
TT_HLO_BINARY(atan2, ATAN2)
TT_HLO_BINARY(complex, COMPLEX)
TT_HLO_BINARY(div, DIVIDE)
TT_HLO_BINARY(max, MAXIMUM) /* NaN if either is */
TT_HLO_BINARY(min, MINIMUM)
TT_HLO_BINARY(mul, MULTIPLY)
TT_HLO_BINARY(or, OR)
TT_HLO_BINARY(pow, POWER)
TT_HLO_BINARY(rem, REMAINDER) /* sign of the dividend */
TT_HLO_BINARY(shl, SHIFT_LEFT)
TT_HLO_BINARY(sar, SHIFT_RIGHT_ARITHMETIC)
TT_HLO_BINARY(shr, SHIFT_RIGHT_LOGICAL)
TT_HLO_BINARY(sub, SUBTRACT)
TT_HLO_BINARY(xor, XOR)
#undef TT_HLO_UNARY
#undef TT_HLO_BINARY

/* ---- shape ---- */

/* dims_map[i] is the result axis of operand axis i. */
tt_hlo_value *tt_hlo_broadcast_in_dim(tt_hlo_build *b, tt_hlo_value *x, const tt_hlo_dim *dims,
                                      size_t rank, const int64_t *dims_map);
/* As numpy broadcasts: axes align at the end, size 1 expands. `x` itself when nothing changes. */
tt_hlo_value *tt_hlo_broadcast_to(tt_hlo_build *b, tt_hlo_value *x, const tt_hlo_dim *dims,
                                  size_t rank);
tt_hlo_value *tt_hlo_broadcast_like(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *like);
/* `x` itself when the dims are equal. */
tt_hlo_value *tt_hlo_reshape(tt_hlo_build *b, tt_hlo_value *x, const tt_hlo_dim *dims, size_t rank);
tt_hlo_value *tt_hlo_reshape_numbers(tt_hlo_build *b, tt_hlo_value *x, const int64_t *dims,
                                     size_t rank);
tt_hlo_value *tt_hlo_flatten(tt_hlo_build *b, tt_hlo_value *x, int first_axis,
                             int last_axis);                                /* inclusive */
tt_hlo_value *tt_hlo_unsqueeze(tt_hlo_build *b, tt_hlo_value *x, int axis); /* 0 <= axis <= rank */
tt_hlo_value *tt_hlo_squeeze(tt_hlo_build *b, tt_hlo_value *x, int axis);   /* an axis of size 1 */
/* Result axis i is operand axis permutation[i]. `x` itself for the identity. */
tt_hlo_value *tt_hlo_transpose(tt_hlo_build *b, tt_hlo_value *x, const int64_t *permutation);
tt_hlo_value *tt_hlo_swap_axes(tt_hlo_build *b, tt_hlo_value *x, int axis, int other);
tt_hlo_value *tt_hlo_move_axis(tt_hlo_build *b, tt_hlo_value *x, int from, int to);
/* Every axis: start, limit, stride (NULL: ones), all numbers. */
tt_hlo_value *tt_hlo_slice(tt_hlo_build *b, tt_hlo_value *x, const int64_t *starts,
                           const int64_t *limits, const int64_t *strides);
/* One axis, other axes whole. */
tt_hlo_value *tt_hlo_slice_axis(tt_hlo_build *b, tt_hlo_value *x, int axis, int64_t start,
                                int64_t limit, int64_t stride);
tt_hlo_value *tt_hlo_concat(tt_hlo_build *b, tt_hlo_value *const *xs, size_t count, int axis);
/* low and high may be negative; interior NULL: zeros. */
tt_hlo_value *tt_hlo_pad(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *scalar, const int64_t *low,
                         const int64_t *high, const int64_t *interior);
tt_hlo_value *tt_hlo_reverse(tt_hlo_build *b, tt_hlo_value *x, const int64_t *axes,
                             size_t axes_count);
/* starts: [rank] scalar integers, clamped so that the slice is inside. */
tt_hlo_value *tt_hlo_dynamic_slice(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *const *starts,
                                   const int64_t *sizes);
tt_hlo_value *tt_hlo_dynamic_update_slice(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *update,
                                          tt_hlo_value *const *starts);

/* ---- gather and scatter ---- */

/* Indices are clamped as the specification says. `dims` may be on the stack (copied). */
tt_hlo_value *tt_hlo_gather(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *indices,
                            const tt_hlo_gather_dims *dims, const int64_t *slice_sizes,
                            bool sorted);
/* How an update meets what is there. */
typedef enum tt_hlo_combine {
  TT_HLO_COMBINE_SET,
  TT_HLO_COMBINE_ADD,
  TT_HLO_COMBINE_MUL,
  TT_HLO_COMBINE_MIN,
  TT_HLO_COMBINE_MAX,
  TT_HLO_COMBINE_AND,
  TT_HLO_COMBINE_OR
} tt_hlo_combine;
/* Updates whose index is outside are skipped. */
tt_hlo_value *tt_hlo_scatter(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *indices,
                             tt_hlo_value *updates, const tt_hlo_scatter_dims *dims,
                             tt_hlo_combine combine, bool sorted, bool unique);
/* x[..., indices, ...] along `axis`: the result has the dims of `indices` in place of that axis. */
tt_hlo_value *tt_hlo_take(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *indices, int axis);
/* Element by element along `axis`, as torch.gather: index has x's rank, dims at most x's elsewhere.
 */
tt_hlo_value *tt_hlo_take_along(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *index, int axis);
/* x with updates[...] combined at index along `axis`, as torch.scatter: index and updates have
 * equal dims. */
tt_hlo_value *tt_hlo_put_along(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_value *index,
                               tt_hlo_value *updates, int axis, tt_hlo_combine combine);

/* ---- regions: open, build inside, close ---- */

/* Opens a region with arguments of the given types; operations go there until it is closed. NULL on
 * a mistake only. */
tt_hlo_region *tt_hlo_region_open(tt_hlo_build *b, const tt_hlo_type *args, size_t args_count);
void tt_hlo_region_close(tt_hlo_build *b, tt_hlo_value *const *results, size_t results_count);
/* A scalar type. */
tt_hlo_type tt_hlo_scalar_type(tt_dtype dtype);
/* Argument i of an open region; the placeholder when `region` is NULL. */
tt_hlo_value *tt_hlo_region_arg(tt_hlo_build *b, tt_hlo_region *region, size_t i);

/* ---- reductions ---- */

/* Reduces `axes` (any order) with a binary op (ADD, MULTIPLY, MAXIMUM, MINIMUM, AND, OR) and its
 * identity. */
tt_hlo_value *tt_hlo_reduce(tt_hlo_build *b, tt_hlo_code op, tt_hlo_value *x, const int64_t *axes,
                            size_t axes_count);
/* The same, with the reduced axes kept as size 1. */
tt_hlo_value *tt_hlo_reduce_keep(tt_hlo_build *b, tt_hlo_code op, tt_hlo_value *x,
                                 const int64_t *axes, size_t axes_count);
/* The general form. `body` takes accumulators then elements, all scalars. results: [count]. */
void tt_hlo_reduce_n(tt_hlo_build *b, tt_hlo_value *const *xs, tt_hlo_value *const *inits,
                     size_t count, const int64_t *axes, size_t axes_count, tt_hlo_region *body,
                     tt_hlo_value **results);
typedef struct tt_hlo_window { /* each [rank]; NULL: ones, or zero padding */
  const int64_t *dims, *strides, *base_dilations, *window_dilations, *pad_low, *pad_high;
} tt_hlo_window;
tt_hlo_value *tt_hlo_reduce_window(tt_hlo_build *b, tt_hlo_code op, tt_hlo_value *x,
                                   tt_hlo_value *init, const tt_hlo_window *window);
void tt_hlo_reduce_window_n(tt_hlo_build *b, tt_hlo_value *const *xs, tt_hlo_value *const *inits,
                            size_t count, const tt_hlo_window *window, tt_hlo_region *body,
                            tt_hlo_value **results);
/* select: GE or LE picks the element of each window; scatter adds. dilations are ignored. */
tt_hlo_value *tt_hlo_select_and_scatter_add(tt_hlo_build *b, tt_hlo_direction select,
                                            tt_hlo_value *x, tt_hlo_value *source,
                                            const tt_hlo_window *window);
/* `compare` takes two scalars of each input and returns pred. results: [count]. */
void tt_hlo_sort(tt_hlo_build *b, tt_hlo_value *const *xs, size_t count, int axis, bool stable,
                 tt_hlo_region *compare, tt_hlo_value **results);

/* ---- contraction ---- */

/* Result: batch dims, lhs free dims, rhs free dims. Sums in `dtype`, which the result has. */
tt_hlo_value *tt_hlo_dot_general(tt_hlo_build *b, tt_hlo_value *lhs, tt_hlo_value *rhs,
                                 const tt_hlo_dot_dims *dims, tt_dtype dtype);
/* [..., m, k] x [..., k, n] with equal leading dims. */
tt_hlo_value *tt_hlo_matmul(tt_hlo_build *b, tt_hlo_value *lhs, tt_hlo_value *rhs);
typedef struct tt_hlo_conv { /* spatial lists, each [rank - 2]; NULL: ones, zeros, false */
  const int64_t *strides, *pad_low, *pad_high, *lhs_dilation, *rhs_dilation;
  const bool *reversal;
  int64_t feature_groups, batch_groups; /* 0 means 1 */
  tt_hlo_conv_dims dims;
} tt_hlo_conv;
tt_hlo_value *tt_hlo_convolution(tt_hlo_build *b, tt_hlo_value *input, tt_hlo_value *kernel,
                                 const tt_hlo_conv *conv);
/* Dims numbers for [b, f, spatial...] x [o, i, spatial...] -> [b, f, spatial...], in the arena. */
tt_hlo_conv_dims tt_hlo_conv_dims_torch(tt_hlo_build *b, int spatial);

/* ---- control ---- */

/* `cond` and `body` take [count] values; body returns [count]. */
void tt_hlo_while(tt_hlo_build *b, tt_hlo_value *const *inits, size_t count, tt_hlo_region *cond,
                  tt_hlo_region *body, tt_hlo_value **results);
void tt_hlo_if(tt_hlo_build *b, tt_hlo_value *pred, tt_hlo_region *yes, tt_hlo_region *no,
               size_t count, tt_hlo_value **results);

/* ---- the rest ---- */

tt_hlo_value *tt_hlo_fft(tt_hlo_build *b, tt_hlo_value *x, tt_hlo_fft_type type,
                         const int64_t *lengths, size_t count);
tt_hlo_value *tt_hlo_cholesky(tt_hlo_build *b, tt_hlo_value *x, bool lower);
tt_hlo_value *tt_hlo_triangular_solve(tt_hlo_build *b, tt_hlo_value *a, tt_hlo_value *y,
                                      bool left_side, bool lower, bool unit_diagonal,
                                      tt_hlo_transpose_kind transpose);
/* state: u64[2] of Philox {key, counter}. bits: u32 or u64 of the given dims. */
void tt_hlo_rng_bits(tt_hlo_build *b, tt_hlo_value *state, tt_dtype dtype, const int64_t *dims,
                     size_t rank, tt_hlo_value **out_state, tt_hlo_value **out_bits);
void tt_hlo_top_k(tt_hlo_build *b, tt_hlo_value *x, int64_t k, tt_hlo_value **out_values,
                  tt_hlo_value **out_indices);
void tt_hlo_custom_call(tt_hlo_build *b, const char *target, const char *backend_config,
                        int api_version, tt_hlo_value *const *operands, size_t operands_count,
                        const tt_hlo_type *types, size_t results_count, tt_hlo_value **results);
tt_hlo_value *tt_hlo_optimization_barrier(tt_hlo_build *b, tt_hlo_value *x);

#ifdef __cplusplus
}
#endif

#endif /* TT_HLO_BUILD_H */
