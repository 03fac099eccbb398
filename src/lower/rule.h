/* rule.h: what a rule is, and what it may ask.
 *
 * A rule turns one call of a functional ATen overload into StableHLO: argument values in, result
 * values out. It is a pure function of its arguments and the context. It never learns which eager
 * mode or compiler runs it, which plugin, or whether a dim is known. In-place and out= forms have
 * no rules: whoever calls derives them from the schema.
 *
 * Arguments come by position, as in the functional overload's schema, defaults filled in. Results
 * likewise; the results of a Tensor[] return stand one after another. A result may have another
 * dtype than the wanted one: it is converted afterwards. Its dims must be the wanted ones. Mistakes
 * of the builder are sticky (hlo/build.h), so that a rule returns an error of its own only for what
 * it does not support: TT_UNIMPLEMENTED, naming what. Errors that PyTorch's own meta kernels raise
 * (shapes that do not broadcast, wrong dtypes) have been raised before a rule runs. */
#ifndef TT_LOWER_RULE_H
#define TT_LOWER_RULE_H

#include "lower/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_low_ctx tt_low_ctx;
typedef tt_error *(*tt_low_fn)(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                               tt_low_value *results);

enum {
  TT_LOW_RANDOM = 1,  /* draws random bits */
  TT_LOW_COUNTED = 2, /* the size of axis 0 of some results is known after the run only */
  TT_LOW_OWN_TYPES =
      4, /* PyTorch has no meta kernel: the rule's own result types count, contiguous */
  TT_LOW_FOREACH = 8,    /* applies `base` to each element of its lists */
  TT_LOW_LOOSE_MAX = 16, /* its maxima and minima need not pass NaN on: the result has it anyway */
  TT_LOW_SIZED =
      32, /* the first `data` arguments, end or start, end, step, give the result's size */
  /* For whoever calls (runtime/numbers.c): numbers that are errors. */
  TT_LOW_FITS = 64,      /* its numbers must lie within the range of the result's dtype */
  TT_LOW_DIVISOR = 128,  /* a second argument of 0 where both are integers */
  TT_LOW_EXPONENT = 256, /* a negative one */
  TT_LOW_NUMBERS = TT_LOW_FITS | TT_LOW_DIVISOR | TT_LOW_EXPONENT
};

typedef struct tt_low_rule {
  const char *overload; /* "aten::add.Tensor" */
  tt_low_fn lower;
  unsigned traits;
  int64_t data;     /* for a rule function that serves several rows: an opcode, a direction, ... */
  const char *base; /* FOREACH: the overload applied to each element */
} tt_low_rule;

struct tt_low_ctx {
  tt_hlo_build *b;
  const tt_low_rule *rule;
  /* The results PyTorch's meta kernel gives, flattened. Count 0 under OWN_TYPES. dims may be
   * unknown (dynamic). */
  const tt_hlo_type *wanted;
  size_t wanted_count;
  size_t results_count; /* in: wanted_count, or 1; an OWN_TYPES rule with another number sets it */
  size_t results_capacity;
  tt_dtype default_dtype; /* torch.get_default_dtype() */
  /* RANDOM: the generator's state, u64[2] {seed, offset}; NULL where there is none. Advanced by
   * tt_low_random_bits. */
  tt_hlo_value *rng_state;
  int64_t rng_blocks;  /* out: blocks of 128 bits drawn: what the generator's offset moves on by */
  tt_hlo_value *count; /* out, COUNTED: scalar s64, rows of the results marked `counted` */
  bool debug;          /* emit checks */
  tt_hlo_value *checks[16]; /* out, debug: scalar preds, true when all is well */
  const char *check_messages[16];
  tt_code check_codes[16];
  size_t checks_count;
  bool needs_constant; /* out: a promoted scalar was asked for as a number; lower again with it a
                          constant: */
  const tt_hlo_value *constant; /* out: the value that stood for it */
};

/* ---- arguments ---- */

static inline bool tt_low_is_none(const tt_low_value *arg) { return arg->kind == TT_LOW_NONE; }
static inline bool tt_low_is_tensor(const tt_low_value *arg) { return arg->kind == TT_LOW_TENSOR; }
/* The tensor converted to `dtype`. */
tt_hlo_value *tt_low_tensor(tt_low_ctx *ctx, const tt_low_value *arg, tt_dtype dtype);
/* A scalar or tensor argument as a value of `dtype`: rank 0 for a scalar, constant or promoted;
 * `otherwise` for None. */
tt_hlo_value *tt_low_number(tt_low_ctx *ctx, const tt_low_value *arg, tt_dtype dtype,
                            double otherwise);
/* Scalars as C numbers; a promoted scalar sets ctx->needs_constant and gives `otherwise`, as does
 * None. */
double tt_low_double(tt_low_ctx *ctx, const tt_low_value *arg, double otherwise);
int64_t tt_low_int(tt_low_ctx *ctx, const tt_low_value *arg, int64_t otherwise);
bool tt_low_bool(tt_low_ctx *ctx, const tt_low_value *arg, bool otherwise);
tt_dtype tt_low_dtype(const tt_low_value *arg, tt_dtype otherwise);
/* true when a constant scalar argument equals `value` (a promoted one never does). */
bool tt_low_scalar_is(const tt_low_value *arg, double value);
/* An int[] argument in the arena, NULL and count 0 for None. */
const int64_t *tt_low_ints(tt_low_ctx *ctx, const tt_low_value *arg, size_t *out_count);
/* int[] of a spatial parameter: one number is repeated `count` times, an empty list or None gives
 * `otherwise`. */
const int64_t *tt_low_ints_of(tt_low_ctx *ctx, const tt_low_value *arg, size_t count,
                              int64_t otherwise);
/* A dim argument wrapped into [0, rank); rank 0 counts as 1. */
int tt_low_axis(int64_t dim, int rank);
/* int[] or int argument of dims to reduce, wrapped and sorted; None or empty means all. Returns how
 * many. */
size_t tt_low_axes(tt_low_ctx *ctx, const tt_low_value *arg, int rank, const int64_t **out_axes);

/* ---- types ---- */

/* torch.result_type of the arguments (tensors and scalars; others are ignored). */
tt_dtype tt_low_promote(tt_low_ctx *ctx, const tt_low_value *args, size_t count);
tt_dtype tt_low_promote2(tt_dtype a, tt_dtype b);
/* The dtype PyTorch computes `dtype` in on an accelerator: f32 for f16 and bf16 (at::opmath_type),
 * else itself. */
tt_dtype tt_low_opmath(tt_dtype dtype);
/* Wanted result `i`, or `otherwise` under OWN_TYPES. */
tt_dtype tt_low_wanted_dtype(const tt_low_ctx *ctx, size_t i, tt_dtype otherwise);
/* The wanted dims of result `i` as tt_hlo_dims, in the arena, when they are known. */
const tt_hlo_dim *tt_low_wanted_dims(tt_low_ctx *ctx, size_t i, size_t *out_rank);

/* ---- composing ---- */

/* Broadcasts both to their common dims, as numpy does. */
void tt_low_broadcast2(tt_low_ctx *ctx, tt_hlo_value **x, tt_hlo_value **y);
void tt_low_broadcast_n(tt_low_ctx *ctx, tt_hlo_value **xs, size_t count);
/* Puts a tensor into a result. */
static inline void tt_low_set(tt_low_value *result, tt_hlo_value *tensor) {
  result->kind = TT_LOW_TENSOR;
  result->tensor = tensor;
}
/* Uniform random bits of `dtype` u32 or u64; moves the generator on. */
tt_hlo_value *tt_low_random_bits(tt_low_ctx *ctx, tt_dtype dtype, const tt_hlo_dim *dims,
                                 size_t rank);
/* Uniform floats of `dtype` (f32 or f64) in [0, 1), 24 or 53 random bits each. */
tt_hlo_value *tt_low_random_uniform(tt_low_ctx *ctx, tt_dtype dtype, const tt_hlo_dim *dims,
                                    size_t rank);
/* Standard normal floats of `dtype` (f32 or f64), by Box and Muller. */
tt_hlo_value *tt_low_random_normal(tt_low_ctx *ctx, tt_dtype dtype, const tt_hlo_dim *dims,
                                   size_t rank);
/* In debug: when the scalar pred `ok` is false at run time, the call raises `message`. */
void tt_low_check(tt_low_ctx *ctx, tt_hlo_value *ok, tt_code code, const char *message);
/* Calls another overload's rule inside this one; `results` as that rule fills them, before
 * conversion. wanted: its result types, or NULL to take them as they come (then the rule must not
 * look at ctx->wanted). */
TT_NODISCARD tt_error *tt_low_call(tt_low_ctx *ctx, const char *overload, const tt_low_value *args,
                                   size_t args_count, const tt_hlo_type *wanted,
                                   size_t wanted_count, tt_low_value *results);

/* ---- for whoever lowers ---- */

/* The rule of an overload ("aten::add.Tensor"), or NULL. */
const tt_low_rule *tt_low_rule_find(const char *overload);
size_t tt_low_rule_count(void);
const tt_low_rule *tt_low_rule_at(size_t i);
/* Runs ctx->rule: results converted to the wanted dtypes and checked against the wanted dims.
 * `results` has ctx->results_capacity places; afterwards ctx->results_count are filled. With
 * ctx->needs_constant set on return the program is void and nothing failed: lower again with
 * constants. */
TT_NODISCARD tt_error *tt_low_lower(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                    tt_low_value *results);

#ifdef __cplusplus
}
#endif

#endif /* TT_LOWER_RULE_H */
