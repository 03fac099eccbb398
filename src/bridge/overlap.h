/* overlap.h: operands that share memory, as PyTorch's CPU has it. */
#ifndef TT_BRIDGE_OVERLAP_H
#define TT_BRIDGE_OVERLAP_H

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "bridge/overloads.h"

namespace torch_tpu {

/* Throws where an elementwise overload would write a tensor that overlaps in part with one that it
 * reads. To be asked at every call, as an offset may be a parameter of a program. */
void check_overlap(const tt_bridge_overload &overload, const c10::IValue *args);
/* Whether an element of a list that is written shares bytes with another element of the call: the
 * program reads everything before it writes, while PyTorch does one element after another. */
bool needs_order(const tt_bridge_overload &overload, const c10::FunctionSchema &schema,
                 const c10::IValue *args);
/* Calls the operator once for each element of its lists, and drops the arguments. */
void run_apart(const c10::OperatorHandle &op, torch::jit::Stack *stack);

} // namespace torch_tpu

#endif /* TT_BRIDGE_OVERLAP_H */
