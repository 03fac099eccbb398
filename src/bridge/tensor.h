/* tensor.h: what ops.cpp needs of tensor.cpp. */
#ifndef TT_BRIDGE_TENSOR_H
#define TT_BRIDGE_TENSOR_H

#include "bridge/bridge.h"

namespace torch {
class Library;
}

namespace torch_tpu {

/* Throws NotImplementedError for a dtype that the device lacks. */
tt_dtype device_dtype(c10::ScalarType type);
/* Borrows the tensor's arrays. */
tt_rt_tensor view_of(const at::Tensor &tensor);
/* Consumes `taken`. */
at::Tensor wrap_storage(tt_rt_storage *taken, c10::ScalarType type, c10::IntArrayRef sizes,
                        c10::IntArrayRef strides, c10::Device device);
/* Kernels for empty, views, copies, resize_ and set_. */
void register_tensor_kernels(torch::Library &m);

} // namespace torch_tpu

#endif /* TT_BRIDGE_TENSOR_H */
