/* batch_norm_*: as the specification defines them, narrow floats in f32. */
#include "cpu/kernel.h"
#include "cpu/passes/expand.h"

typedef struct norm {
  tt_hlo_build *b;
  tt_hlo_value *x; /* operand 0, in the type that is computed with */
  tt_dtype own, wide;
  int64_t axis, axes[TT_HLO_RANK_MAX]; /* of the features; the others */
  size_t axes_count;
  double count; /* elements of a feature */
  double epsilon;
} norm;

static tt_hlo_value *widen(const norm *n, tt_hlo_value *v) {
  return tt_hlo_convert(n->b, v, n->wide);
}

static norm open_norm(tt_cpu_expand *x, const tt_hlo_op *op) {
  const tt_hlo_type *type = &op->operands[0]->type;
  norm n = {.b = &x->build, .own = type->dtype, .count = 1};
  n.wide = tt_dtypes[n.own].bits < 32 ? TT_F32 : n.own;
  n.axis = tt_hlo_op_attr(op, TT_HLO_FEATURE_INDEX)->i64;
  n.epsilon = tt_hlo_op_attr(op, TT_HLO_EPSILON)->f64;
  for (int32_t i = 0; i < type->rank; i++)
    if (i != n.axis) {
      n.axes[n.axes_count++] = i;
      n.count *= (double)type->dims[i];
      if (type->dims[i] < 0)
        tt_hlo_fail(n.b, TT_UNIMPLEMENTED, "dim %d is known to the run only", (int)i);
    }
  n.x = widen(&n, op->operands[0]);
  return n;
}

/* One number for each feature to all of the operand's elements. */
static tt_hlo_value *spread(const norm *n, tt_hlo_value *v) {
  tt_hlo_dim dims[TT_HLO_RANK_MAX];
  const tt_hlo_type *type = &n->x->type;
  for (int32_t i = 0; i < type->rank; i++)
    dims[i] = tt_hlo_dim_number(type->dims[i]);
  return tt_hlo_broadcast_in_dim(n->b, v, dims, (size_t)type->rank, &n->axis);
}

static tt_hlo_value *sum(const norm *n, tt_hlo_value *v) {
  return tt_hlo_reduce(n->b, TT_HLO_ADD, v, n->axes, n->axes_count);
}

static tt_hlo_value *mean(const norm *n, tt_hlo_value *v) {
  tt_hlo_value *total = sum(n, v);
  return tt_hlo_div(n->b, total, tt_hlo_const_like(n->b, total, n->count));
}

/* variance + epsilon */
static tt_hlo_value *guarded(const norm *n, tt_hlo_value *variance) {
  return tt_hlo_add(n->b, variance, tt_hlo_const_like(n->b, variance, n->epsilon));
}

static tt_hlo_value *normalize(const norm *n, tt_hlo_value *centered, tt_hlo_value *scale,
                               tt_hlo_value *offset, tt_hlo_value *variance) {
  tt_hlo_value *deviation = spread(n, tt_hlo_sqrt(n->b, guarded(n, variance)));
  tt_hlo_value *unit = tt_hlo_div(n->b, centered, deviation);
  tt_hlo_value *scaled = tt_hlo_mul(n->b, unit, spread(n, widen(n, scale)));
  return tt_hlo_convert(n->b, tt_hlo_add(n->b, scaled, spread(n, widen(n, offset))), n->own);
}

void tt_cpu_expand_batch_norm_inference(tt_cpu_expand *x, const tt_hlo_op *op,
                                        tt_hlo_value **results) {
  norm n = open_norm(x, op);
  tt_hlo_value *centered = tt_hlo_sub(n.b, n.x, spread(&n, widen(&n, op->operands[3])));
  results[0] =
      normalize(&n, centered, op->operands[1], op->operands[2], widen(&n, op->operands[4]));
}

void tt_cpu_expand_batch_norm_training(tt_cpu_expand *x, const tt_hlo_op *op,
                                       tt_hlo_value **results) {
  norm n = open_norm(x, op);
  tt_hlo_value *average = mean(&n, n.x);
  tt_hlo_value *centered = tt_hlo_sub(n.b, n.x, spread(&n, average));
  tt_hlo_value *variance = mean(&n, tt_hlo_mul(n.b, centered, centered));
  results[0] = normalize(&n, centered, op->operands[1], op->operands[2], variance);
  results[1] = tt_hlo_convert(n.b, average, n.own);
  results[2] = tt_hlo_convert(n.b, variance, n.own);
}

/* With g the gradient, c the centered operand, v = variance + epsilon, and sums over a feature:
 * operand: scale / sqrt(v) (g - mean g - c mean(g c) / v); scale: sum(g c) / sqrt(v); offset: sum
 * g. */
void tt_cpu_expand_batch_norm_grad(tt_cpu_expand *x, const tt_hlo_op *op, tt_hlo_value **results) {
  norm n = open_norm(x, op);
  tt_hlo_build *b = n.b;
  tt_hlo_value *scale = widen(&n, op->operands[1]), *g = widen(&n, op->operands[4]);
  tt_hlo_value *centered = tt_hlo_sub(b, n.x, spread(&n, widen(&n, op->operands[2])));
  tt_hlo_value *v = guarded(&n, widen(&n, op->operands[3])), *deviation = tt_hlo_sqrt(b, v);
  tt_hlo_value *total = sum(&n, g), *moment = sum(&n, tt_hlo_mul(b, g, centered));
  tt_hlo_value *count = tt_hlo_const_like(b, total, n.count);
  tt_hlo_value *shift = tt_hlo_div(b, total, count);
  tt_hlo_value *slope = tt_hlo_div(b, tt_hlo_div(b, moment, count), v);
  tt_hlo_value *rest = tt_hlo_sub(b, g, spread(&n, shift));
  rest = tt_hlo_sub(b, rest, tt_hlo_mul(b, centered, spread(&n, slope)));
  rest = tt_hlo_mul(b, rest, spread(&n, tt_hlo_div(b, scale, deviation)));
  results[0] = tt_hlo_convert(b, rest, n.own);
  results[1] = tt_hlo_convert(b, tt_hlo_div(b, moment, deviation), n.own);
  results[2] = tt_hlo_convert(b, total, n.own);
}
