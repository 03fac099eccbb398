#include "runtime/internal.h"

/* The one operation that is the runtime's own: a copy between views, with conversion and broadcast.
 */
static tt_error *lower_copy(tt_low_ctx *ctx, const tt_low_value *args, size_t args_count,
                            tt_low_value *results) {
  size_t rank;
  const tt_hlo_dim *dims = tt_low_wanted_dims(ctx, 0, &rank);
  tt_hlo_value *value;
  if (args_count != 1)
    return tt_error_new(TT_INTERNAL, "aten::copy: %zu arguments", args_count);
  value = tt_low_tensor(ctx, &args[0], ctx->wanted[0].dtype);
  tt_low_set(&results[0], tt_hlo_broadcast_to(ctx->b, value, dims, rank));
  return NULL;
}

static const tt_low_rule copy_rule = {"aten::copy", lower_copy, 0, 0, NULL};

tt_error *tt_rt_copy(const tt_rt_tensor *target, const tt_rt_tensor *source) {
  tt_rt_arg arg = {.kind = TT_RT_TENSOR, .tensor = *source};
  tt_rt_meta meta = {true, target->dtype, target->rank, target->sizes, target->strides};
  tt_rt_result result;
  tt_rt_call call = {.rule = &copy_rule,
                     .device = tt_rt_storage_device(target->storage),
                     .args = &arg,
                     .args_count = 1,
                     .targets = target,
                     .targets_count = 1,
                     .results = &result,
                     .results_capacity = 1};
  return tt_rt_run_as(&call, &meta, 1);
}
