/* Connectionist temporal classification: the probability of a target over all its alignments, by
 * dynamic programming in logarithms. Source: Graves et al. (2006), equations 6 to 16.
 *
 * A target of length l stands between blanks: states 0 .. 2 l, the even ones blank. T steps, N
 * sequences, C classes, S states of the longest target. */
#include <math.h>

#include "lower/rules/helpers_indexing.h"
#include "lower/rules/helpers_pointwise.h"
#include "lower/rules/rules.h"

typedef struct ctc {
  int64_t steps, batch, classes, states; /* T N C S */
  tt_hlo_value *log_probs;               /* [T, N, C] */
  tt_hlo_value *labels;                  /* s32 [N, S]: the class of each state */
  tt_hlo_value *local;                   /* [T, N, S]: log_probs of each state's class */
  tt_hlo_value *skips;        /* pred [N, S]: the state may follow the one two before it */
  tt_hlo_value *times, *last; /* s32 [N, 1]: steps of a sequence; its last state */
} ctc;

static tt_hlo_value *s32(tt_low_ctx *ctx, int64_t value) {
  return tt_hlo_const_int(ctx->b, TT_S32, value);
}

/* int[] of a list, as s32 [count, 1] */
static tt_hlo_value *column_of(tt_low_ctx *ctx, const tt_low_value *list, int64_t **out_numbers) {
  size_t count;
  const int64_t *numbers = tt_low_ints(ctx, list, &count);
  int64_t *copy = tt_hlo_alloc(ctx->b, count + 1, sizeof *copy);
  for (size_t i = 0; copy != NULL && i < count; i++)
    copy[i] = numbers[i];
  *out_numbers = copy;
  return tt_hlo_unsqueeze(ctx->b, tt_hlo_const_i64s(ctx->b, TT_S32, numbers, count), 1);
}

/* Targets [N, L], or one after another in one row, as s32 [N, longest]. */
static tt_hlo_value *padded_targets(tt_low_ctx *ctx, tt_hlo_value *targets, const int64_t *lengths,
                                    int64_t batch, int64_t longest) {
  tt_hlo_build *b = ctx->b;
  const tt_hlo_dim dims[2] = {tt_hlo_dim_number(batch), tt_hlo_dim_number(longest)};
  targets = tt_hlo_convert(b, targets, TT_S32);
  if (tt_hlo_rank(targets) == 2)
    return tt_hlo_slice_axis(b, targets, 1, 0, longest, 1);
  int64_t *starts = tt_hlo_alloc(b, (size_t)batch + 1, sizeof *starts);
  for (int64_t i = 1; starts != NULL && i < batch; i++)
    starts[i] = starts[i - 1] + lengths[i - 1];
  tt_hlo_value *start = tt_hlo_unsqueeze(b, tt_hlo_const_i64s(b, TT_S32, starts, (size_t)batch), 1);
  tt_hlo_value *place = tt_hlo_iota(b, TT_S32, dims, 2, 1);
  place = tt_hlo_add(b, place, tt_hlo_broadcast_like(b, start, place));
  place = tt_low_min_number(b, place, (double)(targets->type.dims[0] - 1));
  return tt_hlo_take(b, targets, place, 0);
}

/* x [N, S] moved up by `by` states (down for a negative one), `fill` coming in. */
static tt_hlo_value *shifted(tt_low_ctx *ctx, tt_hlo_value *x, int64_t by, tt_hlo_value *fill) {
  return tt_low_pad_axis(ctx, x, fill, 1, by, -by, 0);
}

static tt_hlo_value *state_number(tt_low_ctx *ctx, const ctc *c) {
  const tt_hlo_dim dims[2] = {tt_hlo_dim_number(c->batch), tt_hlo_dim_number(c->states)};
  return tt_hlo_iota(ctx->b, TT_S32, dims, 2, 1);
}

/* labels and skips of targets [N, longest] */
static void set_labels(tt_low_ctx *ctx, ctc *c, tt_hlo_value *targets, int64_t blank) {
  tt_hlo_build *b = ctx->b;
  int64_t longest = (c->states - 1) / 2;
  const tt_hlo_dim flat[2] = {tt_hlo_dim_number(c->batch), tt_hlo_dim_number(2 * longest)};
  tt_hlo_value *no = tt_hlo_const_int(b, TT_PRED, 0);
  if (longest == 0) {
    const tt_hlo_dim one[2] = {tt_hlo_dim_number(c->batch), tt_hlo_dim_number(1)};
    c->labels = tt_hlo_full(b, s32(ctx, blank), one, 2);
    c->skips = tt_hlo_full(b, no, one, 2);
    return;
  }
  tt_hlo_value *blanks = tt_hlo_broadcast_like(b, s32(ctx, blank), targets);
  tt_hlo_value *both[2] = {tt_hlo_unsqueeze(b, blanks, 2), tt_hlo_unsqueeze(b, targets, 2)};
  tt_hlo_value *labels = tt_hlo_reshape(b, tt_hlo_concat(b, both, 2, 2), flat, 2);
  c->labels = tt_low_pad_axis(ctx, labels, s32(ctx, blank), 1, 0, 1, 0);
  tt_hlo_value *before = shifted(ctx, c->labels, 2, s32(ctx, blank)),
               *number = state_number(ctx, c);
  tt_hlo_value *odd = tt_low_with_const(ctx, TT_HLO_AND, number, 1);
  c->skips = tt_hlo_and(b, tt_low_compare_const(ctx, TT_HLO_EQ, odd, 1),
                        tt_hlo_compare(b, TT_HLO_NE, before, c->labels));
  c->skips = tt_hlo_and(b, c->skips, tt_low_compare_const(ctx, TT_HLO_GE, number, 3));
}

/* args: log_probs, targets, input_lengths, target_lengths */
static ctc ctc_of(tt_low_ctx *ctx, const tt_low_value *args, int64_t blank) {
  tt_hlo_build *b = ctx->b;
  ctc c = {.log_probs = tt_low_tensor(ctx, &args[0], tt_low_opmath(tt_hlo_dtype(args[0].tensor)))};
  int64_t *times, *lengths, longest = 0;
  c.steps = tt_low_size(ctx, c.log_probs, 0);
  c.batch = tt_low_size(ctx, c.log_probs, 1);
  c.classes = tt_low_size(ctx, c.log_probs, 2);
  c.times = column_of(ctx, &args[2], &times);
  tt_hlo_value *length = column_of(ctx, &args[3], &lengths);
  for (int64_t i = 0; lengths != NULL && i < c.batch; i++)
    longest = lengths[i] > longest ? lengths[i] : longest;
  c.states = 2 * longest + 1;
  c.last = tt_low_with_const(ctx, TT_HLO_MULTIPLY, length, 2);
  set_labels(ctx, &c,
             longest != 0 ? padded_targets(ctx, args[1].tensor, lengths, c.batch, longest) : NULL,
             blank);
  const tt_hlo_dim dims[3] = {tt_hlo_dim_number(c.steps), tt_hlo_dim_number(c.batch),
                              tt_hlo_dim_number(c.states)};
  tt_hlo_value *index = tt_hlo_broadcast_to(b, tt_hlo_unsqueeze(b, c.labels, 0), dims, 3);
  c.local = tt_hlo_take_along(b, c.log_probs, index, 2);
  return c;
}

/* log(exp x + exp y + exp z), -inf where all are. */
static tt_hlo_value *log_sum3(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *y, tt_hlo_value *z) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *top = tt_hlo_max(b, tt_hlo_max(b, x, y), z);
  tt_hlo_value *safe = tt_low_select_number(b, tt_low_is_inf(b, top), 0, top);
  tt_hlo_value *sum =
      tt_hlo_add(b, tt_hlo_exp(b, tt_hlo_sub(b, x, safe)), tt_hlo_exp(b, tt_hlo_sub(b, y, safe)));
  sum = tt_hlo_add(b, sum, tt_hlo_exp(b, tt_hlo_sub(b, z, safe)));
  return tt_hlo_add(b, safe, tt_hlo_log(b, sum));
}

/* x [T, N, S] at step `t`: [N, S] */
static tt_hlo_value *at_step(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *t) {
  tt_hlo_value *starts[3] = {t, s32(ctx, 0), s32(ctx, 0)};
  const int64_t sizes[3] = {1, x->type.dims[1], x->type.dims[2]};
  return tt_hlo_squeeze(ctx->b, tt_hlo_dynamic_slice(ctx->b, x, starts, sizes), 0);
}

typedef struct trellis { /* what the loop over steps carries */
  tt_hlo_value *step, *row, *all, *local, *labels, *skips, *times,
      *last; /* row [N, S]; all [T, N, S] */
} trellis;
enum { CARRIED = 8 };

/* The row of step t, for alpha (forward) or beta, without the step's own log probability. */
static tt_hlo_value *next_row(tt_low_ctx *ctx, const trellis *q, tt_hlo_value *t, bool forward) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *row = q->row, *none = tt_hlo_const(b, tt_hlo_dtype(row), -INFINITY);
  bool one_state = row->type.dims[1] == 1;
  tt_hlo_value *no = tt_hlo_const_int(b, TT_PRED, 0), *skips = q->skips;
  int64_t by = forward ? 1 : -1;
  tt_hlo_value *one = tt_hlo_const_like(b, row, -INFINITY), *two = one;
  if (!one_state) {
    skips = forward ? skips : shifted(ctx, skips, -2, no);
    one = shifted(ctx, row, by, none);
    two = tt_low_select_number(b, tt_hlo_not(b, skips), -INFINITY, shifted(ctx, row, 2 * by, none));
  }
  tt_hlo_value *sum = log_sum3(ctx, row, one, two), *number = tt_low_iota_like(ctx, row, 1), *start,
               *first;
  tt_hlo_value *t_all = tt_hlo_broadcast_like(b, t, number), *zero = tt_hlo_const_like(b, row, 0);
  if (forward) {
    first = tt_low_compare_const(ctx, TT_HLO_EQ, t_all, 0);
    start =
        tt_hlo_and(b, tt_low_compare_const(ctx, TT_HLO_LE, number, 1),
                   tt_hlo_compare(b, TT_HLO_LE, number, tt_hlo_broadcast_like(b, q->last, number)));
  } else {
    tt_hlo_value *last = tt_hlo_broadcast_like(b, q->last, number);
    first = tt_hlo_compare(
        b, TT_HLO_EQ, t_all,
        tt_hlo_broadcast_like(b, tt_low_with_const(ctx, TT_HLO_SUBTRACT, q->times, 1), number));
    start = tt_hlo_compare(b, TT_HLO_GE, number, tt_low_with_const(ctx, TT_HLO_SUBTRACT, last, 1));
    start = tt_hlo_and(b, start, tt_hlo_compare(b, TT_HLO_LE, number, last));
  }
  return tt_hlo_select(b, first, tt_low_select_number(b, tt_hlo_not(b, start), -INFINITY, zero),
                       sum);
}

/* Steps at which a sequence is over, and states past its last one, have no probability. */
static tt_hlo_value *within(tt_low_ctx *ctx, const trellis *q, tt_hlo_value *t, tt_hlo_value *row) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *number = tt_low_iota_like(ctx, row, 1);
  tt_hlo_value *ok =
      tt_hlo_compare(b, TT_HLO_LE, number, tt_hlo_broadcast_like(b, q->last, number));
  tt_hlo_value *early = tt_hlo_compare(b, TT_HLO_LT, tt_hlo_broadcast_like(b, t, number),
                                       tt_hlo_broadcast_like(b, q->times, number));
  return tt_low_select_number(b, tt_hlo_not(b, tt_hlo_and(b, ok, early)), -INFINITY, row);
}

static void step_body(tt_low_ctx *ctx, const trellis *q, int64_t steps, bool forward,
                      tt_hlo_value **next) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *t = forward ? q->step : tt_hlo_sub(b, s32(ctx, steps - 1), q->step);
  tt_hlo_value *row = tt_hlo_add(b, next_row(ctx, q, t, forward), at_step(ctx, q->local, t));
  row = within(ctx, q, t, row);
  tt_hlo_value *starts[3] = {t, s32(ctx, 0), s32(ctx, 0)};
  next[0] = tt_hlo_add(b, q->step, s32(ctx, 1));
  next[1] = row;
  next[2] = tt_hlo_dynamic_update_slice(b, q->all, tt_hlo_unsqueeze(b, row, 0), starts);
}

/* log alpha or log beta: [T, N, S] */
static tt_hlo_value *walk(tt_low_ctx *ctx, const ctc *c, bool forward) {
  tt_hlo_build *b = ctx->b;
  tt_hlo_value *none = tt_hlo_const_like(b, c->local, -INFINITY), *out[CARRIED];
  tt_hlo_value *row = tt_hlo_squeeze(b, tt_hlo_slice_axis(b, none, 0, 0, 1, 1), 0);
  tt_hlo_value *inits[CARRIED] = {s32(ctx, 0), row,      none,     c->local,
                                  c->labels,   c->skips, c->times, c->last};
  tt_hlo_type types[CARRIED];
  for (int i = 0; i < CARRIED; i++)
    types[i] = inits[i]->type;
  tt_hlo_region *cond = tt_hlo_region_open(b, types, CARRIED);
  tt_hlo_value *more =
      tt_hlo_compare(b, TT_HLO_LT, tt_hlo_region_arg(b, cond, 0), s32(ctx, c->steps));
  tt_hlo_region_close(b, &more, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, types, CARRIED);
  tt_hlo_value *q[CARRIED];
  for (size_t i = 0; i < CARRIED; i++)
    q[i] = tt_hlo_region_arg(b, body, i);
  const trellis carried = {q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7]};
  step_body(ctx, &carried, c->steps, forward, q);
  tt_hlo_region_close(b, q, CARRIED);
  tt_hlo_while(b, inits, CARRIED, cond, body, out);
  return out[2];
}

/* x [N, S] at the state `at` s32 [N, 1], -inf where that is below 0: [N] */
static tt_hlo_value *at_state(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *at) {
  const int64_t states[1] = {1};
  tt_hlo_value *number = tt_low_iota_like(ctx, x, 1);
  tt_hlo_value *hit =
      tt_hlo_compare(ctx->b, TT_HLO_EQ, number, tt_hlo_broadcast_like(ctx->b, at, number));
  x = tt_low_select_number(ctx->b, tt_hlo_not(ctx->b, hit), -INFINITY, x);
  return tt_hlo_reduce(ctx->b, TT_HLO_MAXIMUM, x, states, 1);
}

/* The row of each sequence's last step: [N, S]. A sequence of no steps has an empty target for
 * sure. */
static tt_hlo_value *last_row(tt_low_ctx *ctx, const ctc *c, tt_hlo_value *alpha) {
  tt_hlo_build *b = ctx->b;
  const int64_t over_steps[1] = {0};
  tt_hlo_value *step = tt_low_iota_like(ctx, alpha, 0),
               *ends = tt_low_with_const(ctx, TT_HLO_SUBTRACT, c->times, 1);
  const tt_hlo_dim row[2] = {tt_hlo_dim_number(c->batch), tt_hlo_dim_number(c->states)};
  ends = tt_hlo_broadcast_to(b, ends, row, 2);
  tt_hlo_value *hit = tt_hlo_compare(b, TT_HLO_EQ, step, tt_hlo_broadcast_like(b, ends, step));
  tt_hlo_value *none = tt_hlo_const_like(b, alpha, -INFINITY);
  tt_hlo_value *found =
      tt_hlo_reduce(b, TT_HLO_MAXIMUM, tt_hlo_select(b, hit, alpha, none), over_steps, 1);
  tt_hlo_value *start = tt_low_compare_const(ctx, TT_HLO_EQ, state_number(ctx, c), 0);
  tt_hlo_value *no_steps = tt_low_compare_const(ctx, TT_HLO_LT, ends, 0);
  return tt_low_select_number(b, tt_hlo_and(b, start, no_steps), 0, found);
}

/* (log_probs, targets, input_lengths, target_lengths, blank, zero_infinity) -> (-log p of each
 * target [N], log alpha [N, T, S]); zero_infinity is the caller's */
static tt_error *lower_ctc(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                           tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  ctc c = ctc_of(ctx, args, tt_low_int(ctx, &args[4], 0));
  tt_hlo_value *alpha = walk(ctx, &c, true), *row = last_row(ctx, &c, alpha);
  tt_hlo_value *end = at_state(ctx, row, c.last);
  tt_hlo_value *before = at_state(ctx, row, tt_low_with_const(ctx, TT_HLO_SUBTRACT, c.last, 1));
  tt_hlo_value *total = log_sum3(ctx, end, before, tt_hlo_const_like(b, end, -INFINITY));
  ctx->results_count = 2;
  tt_dtype dtype = tt_hlo_dtype(args[0].tensor);
  tt_low_set(&results[0], tt_hlo_convert(b, tt_hlo_neg(b, total), dtype));
  tt_low_set(&results[1], tt_hlo_convert(b, tt_hlo_swap_axes(b, alpha, 0, 1), dtype));
  return NULL;
}

/* Sums x [T, N, S] over the states of each class: [T, N, C] */
static tt_hlo_value *sum_by_class(tt_low_ctx *ctx, const ctc *c, tt_hlo_value *x) {
  tt_hlo_build *b = ctx->b;
  const tt_hlo_dim dims[3] = {tt_hlo_dim_number(c->batch), tt_hlo_dim_number(c->states),
                              tt_hlo_dim_number(c->classes)};
  tt_hlo_precision precision = b->precision;
  tt_hlo_value *label = tt_hlo_broadcast_to(b, tt_hlo_unsqueeze(b, c->labels, 2), dims, 3);
  tt_hlo_value *is_class = tt_hlo_compare(b, TT_HLO_EQ, label, tt_hlo_iota(b, TT_S32, dims, 3, 2));
  b->precision = TT_HLO_PRECISION_HIGHEST;
  x = tt_hlo_matmul(b, tt_hlo_swap_axes(b, x, 0, 1), tt_hlo_convert(b, is_class, tt_hlo_dtype(x)));
  b->precision = precision;
  return tt_hlo_swap_axes(b, x, 0, 1);
}

/* [N] as [T, N, ...] */
static tt_hlo_value *per_sequence(tt_low_ctx *ctx, tt_hlo_value *x, tt_hlo_value *like) {
  return tt_low_along(ctx, x, like, 1);
}

/* (grad, log_probs, targets, input_lengths, target_lengths, -log p, log_alpha, blank,
 * zero_infinity): exp(log_probs) minus the probability, given the target, that the step is in a
 * state of the class */
static tt_error *lower_ctc_backward(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                                    tt_low_value *results) {
  (void)args_count;
  tt_hlo_build *b = ctx->b;
  ctc c = ctc_of(ctx, &args[1], tt_low_int(ctx, &args[7], 0));
  tt_dtype dtype = tt_hlo_dtype(c.log_probs);
  tt_hlo_value *alpha = tt_hlo_swap_axes(b, tt_low_tensor(ctx, &args[6], dtype), 0, 1);
  tt_hlo_value *loss = tt_low_tensor(ctx, &args[5], dtype), *beta = walk(ctx, &c, false);
  /* where beta is -inf, a log alpha of the CPU's may hold anything */
  tt_hlo_value *both = tt_hlo_add(b, alpha, beta),
               *impossible = tt_hlo_or(b, tt_low_is_inf(b, beta), tt_low_is_inf(b, both));
  tt_hlo_value *share = tt_hlo_add(b, tt_hlo_sub(b, both, c.local), per_sequence(ctx, loss, both));
  share = tt_low_select_number(b, impossible, 0, tt_hlo_exp(b, share));
  tt_hlo_value *dx = tt_hlo_sub(b, tt_hlo_exp(b, c.log_probs), sum_by_class(ctx, &c, share));
  dx = tt_hlo_mul(b, dx, per_sequence(ctx, tt_low_tensor(ctx, &args[0], dtype), dx));
  tt_hlo_value *lost = per_sequence(ctx, tt_low_is_inf(b, loss), dx);
  dx = tt_low_select_number(b, lost, tt_low_bool(ctx, &args[8], false) ? 0 : NAN, dx);
  const int64_t batch[1] = {c.batch};
  tt_hlo_value *times = per_sequence(ctx, tt_hlo_reshape_numbers(b, c.times, batch, 1), dx);
  tt_hlo_value *over = tt_hlo_compare(b, TT_HLO_GE, tt_low_iota_like(ctx, dx, 0), times);
  dx = tt_low_select_number(b, over, 0, dx);
  tt_low_set(&results[0], tt_hlo_convert(b, dx, tt_hlo_dtype(args[1].tensor)));
  return NULL;
}

const tt_low_rule tt_low_rules_ctc[] = {
#define X(overload, function, traits, data) {overload, lower_##function, traits, data, NULL},
#include "lower/rules/ctc.def"
#undef X
};
const size_t tt_low_rules_ctc_count = TT_COUNT(tt_low_rules_ctc);
