/* Operations among devices, where each device is a group of its own: values stay what they are. */
#include <string.h>

#include "cpu/kernels.h"

tt_error *tt_cpu_check_collective(const tt_hlo_op *op) {
  const tt_hlo_attr *groups = tt_hlo_op_attr(op, TT_HLO_REPLICA_GROUPS);
  if (groups == NULL || groups->i64s.count == 0 || groups->columns != 1)
    return tt_error_new(TT_UNIMPLEMENTED, "%s is not implemented for groups of several devices",
                        tt_hlo_ops[op->code].mnemonic);
  for (uint32_t i = 0; i < op->operands_count; i++) /* as the sizes of its groups say, unless they
                                                       contradict themselves */
    if (tt_cpu_count(&op->operands[i]->type) != tt_cpu_count(&op->results[i].type))
      return tt_error_new(TT_INVALID_ARGUMENT, "%s: operand %u and its result differ in size",
                          tt_hlo_ops[op->code].mnemonic, i);
  return NULL;
}

tt_error *tt_cpu_kernel_collective(const tt_cpu_args *args) {
  for (uint32_t i = 0; i < args->op->results_count; i++)
    tt_cpu_convert(args->op->operands[i]->type.dtype, args->in[i], args->op->results[i].type.dtype,
                   args->out[i], tt_cpu_count(&args->op->results[i].type));
  return NULL;
}

tt_error *tt_cpu_check_permute(const tt_hlo_op *op) {
  tt_hlo_list pairs = tt_cpu_attr_list(op, TT_HLO_SOURCE_TARGET_PAIRS);
  for (size_t i = 0; i + 1 < pairs.count; i += 2)
    if (pairs.items[i] != pairs.items[i + 1])
      return tt_error_new(TT_UNIMPLEMENTED, "%s is not implemented from one device to another",
                          tt_hlo_ops[op->code].mnemonic);
  return NULL;
}

/* A device that no pair sends to gets zeros. */
tt_error *tt_cpu_kernel_permute(const tt_cpu_args *args) {
  tt_hlo_list pairs = tt_cpu_attr_list(args->op, TT_HLO_SOURCE_TARGET_PAIRS);
  const tt_hlo_attr *channel = tt_hlo_op_attr(args->op, TT_HLO_CHANNEL_HANDLE);
  bool by_partition = channel != NULL && channel->i64 > 0;
  int64_t own = by_partition ? tt_cpu_partition(args->run) : tt_cpu_replica(args->run);
  int64_t size = tt_cpu_bytes(&args->op->results[0].type);
  bool sent = false;
  for (size_t i = 0; i + 1 < pairs.count; i += 2)
    sent = sent || pairs.items[i + 1] == own;
  if (sent)
    memcpy(args->out[0], args->in[0], (size_t)size);
  else
    memset(args->out[0], 0, (size_t)size);
  return NULL;
}
