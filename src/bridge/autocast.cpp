/* Autocast on tpu: PyTorch's own lists, as CUDA has them. A file of its own for its compile time.
 */
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "bridge/bridge.h"

namespace torch_tpu {
namespace {

at::Tensor refuse_binary_cross_entropy(const at::Tensor &, const at::Tensor &,
                                       const std::optional<at::Tensor> &, int64_t) {
  TORCH_CHECK(
      false,
      "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
      "Many models use a sigmoid layer right before the binary cross entropy layer. In this case, "
      "combine the "
      "two layers using torch.nn.functional.binary_cross_entropy_with_logits or "
      "torch.nn.BCEWithLogitsLoss: "
      "they are safe to autocast.");
}

void add_lists(torch::Library &m) {
  using at::Scalar;
  using at::ScalarType;
  using at::Tensor;
  using c10::IntArrayRef;
#define TT_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
  AT_FORALL_LOWER_PRECISION_FP(TT_LOWER)
#undef TT_LOWER
#define TT_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
  AT_FORALL_FP32(TT_FP32)
#undef TT_FP32
#define TT_SET_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
  AT_FORALL_FP32_SET_OPT_DTYPE(TT_SET_DTYPE)
#undef TT_SET_DTYPE
#define TT_APPEND_DTYPE(...) KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE(__VA_ARGS__)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(TT_APPEND_DTYPE)
#undef TT_APPEND_DTYPE
#define TT_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_PROMOTE(TT_PROMOTE)
#undef TT_PROMOTE
  m.impl("aten::binary_cross_entropy", &refuse_binary_cross_entropy);
}

} // namespace

void register_autocast() {
  static torch::Library all = MAKE_TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1);
  all.fallback(torch::CppFunction::makeFallthrough());
  static torch::Library aten = MAKE_TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1);
  add_lists(aten);
  at::autocast::set_autocast_dtype(kTpu, at::kBFloat16);
}

} // namespace torch_tpu
