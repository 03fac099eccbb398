/* structured.h: PyTorch's structured kernels in C++, which a Python function hides on the Meta key
 * from who asks the dispatcher. */
#ifndef TT_BRIDGE_STRUCTURED_H
#define TT_BRIDGE_STRUCTURED_H

#include <ATen/core/boxing/KernelFunction.h>

namespace torch_tpu {

/* The kernel of the overload, as "aten::add.Tensor", for tensors on `meta`; NULL where the overload
 * is not structured. */
const c10::KernelFunction *structured_meta(const char *overload);

} // namespace torch_tpu

#endif /* TT_BRIDGE_STRUCTURED_H */
