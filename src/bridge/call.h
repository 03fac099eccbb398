/* call.h: one call of an overload with a rule, while it runs. */
#ifndef TT_BRIDGE_CALL_H
#define TT_BRIDGE_CALL_H

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <exception>
#include <memory>
#include <vector>

#include "bridge/bridge.h"
#include "bridge/overloads.h"
#include "bridge/usual_meta.h"

namespace torch_tpu {

using Overload = tt_bridge_overload;
using Stack = torch::jit::Stack;
using c10::IValue;

/* By its full name, as "aten::add.Tensor"; throws where PyTorch has none. */
c10::OperatorHandle find_operator(const char *name);

/* The flattened arguments and what they borrow from. */
struct Call {
  const Overload *overload;
  const c10::OperatorHandle *op, *functional;
  /* What knows the results of `functional`, each NULL or better than asking the dispatcher. */
  const c10::KernelFunction *structured;
  UsualMeta usual;
  const IValue *args; /* the overload's, on the stack */
  tt_rt_call call{};
  c10::SmallVector<tt_rt_arg, 12> flat;
  std::vector<std::unique_ptr<tt_rt_arg[]>> lists;
  std::vector<at::Tensor> moved; /* host index tensors, now on the device */
  std::vector<IValue> expanded;  /* lists of indices that were given as masks */
  c10::SmallVector<tt_rt_tensor, 4> targets;
  c10::SmallVector<tt_rt_result, 8> results;
  c10::Device device{kTpu, -1};
  size_t tensors = 0;
  bool resized = false; /* an out= tensor was resized: flatten again */
  bool apart = false;   /* its lists must be run an element at a time */
  std::exception_ptr thrown;
};

} // namespace torch_tpu

#endif /* TT_BRIDGE_CALL_H */
