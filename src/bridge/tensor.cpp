/* Tensors on the device: creation, views, copies to and from the host. */
#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_conj.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/conj_physical.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "bridge/tensor.h"
#include "hlo/ir.h"

namespace torch_tpu {

c10::intrusive_ptr<c10::StorageImpl> make_storage(tt_rt_storage *taken, size_t nbytes,
                                                  c10::Device device) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), nbytes,
                                               data_ptr_of(taken, device), device_allocator(),
                                               /*resizable=*/true);
}

tt_rt_storage *storage_of(const at::Tensor &tensor) {
  TORCH_CHECK(tensor.device().type() == kTpu, "expected a tensor on tpu, got one on ",
              tensor.device());
  return static_cast<tt_rt_storage *>(
      tensor.unsafeGetTensorImpl()->unsafe_storage().mutable_data());
}

tt_dtype device_dtype(c10::ScalarType type) {
  const auto dtype = dtype_of(type);
  TORCH_CHECK_NOT_IMPLEMENTED(dtype.has_value(), "tpu: no dtype ", type);
  return *dtype;
}

tt_rt_tensor view_of(const at::Tensor &tensor) {
  const auto *impl = tensor.unsafeGetTensorImpl();
  tt_rt_tensor view{};
  view.storage = storage_of(tensor);
  view.dtype = device_dtype(c10::typeMetaToScalarType(impl->dtype()));
  view.rank = static_cast<int32_t>(impl->dim());
  view.sizes = impl->sizes().data();
  view.strides = impl->strides().data();
  view.offset = impl->storage_offset();
  return view;
}

at::Tensor wrap_storage(tt_rt_storage *taken, c10::ScalarType type, c10::IntArrayRef sizes,
                        c10::IntArrayRef strides, c10::Device device) {
  auto storage = make_storage(taken, static_cast<size_t>(tt_rt_storage_size(taken)), device);
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::scalarTypeToTypeMeta(type));
  auto *impl = tensor.unsafeGetTensorImpl();
  if (sizes.size() != 1 || sizes[0] != 0)
    impl->set_sizes_and_strides(sizes, strides);
  return tensor;
}

namespace {

void contiguous_strides(c10::IntArrayRef sizes, std::vector<int64_t> &strides) {
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
}

c10::Device device_or_current(std::optional<c10::Device> device) {
  if (!device.has_value() || !device->has_index())
    return {kTpu, current_device()};
  return *device;
}

at::Tensor new_tensor(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType type,
                      c10::Device device) {
  const auto nbytes = at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(type));
  tt_rt_storage *storage = nullptr;
  device_dtype(type);
  check(tt_rt_storage_new(device_at(device.index()), static_cast<int64_t>(nbytes), &storage));
  return wrap_storage(storage, type, sizes, strides, device);
}

at::Tensor empty(c10::IntArrayRef sizes, std::optional<c10::ScalarType> type,
                 std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                 std::optional<bool> pin_memory, std::optional<c10::MemoryFormat> format) {
  TORCH_CHECK(layout.value_or(c10::kStrided) == c10::kStrided, "tpu: only strided tensors, not ",
              *layout);
  TORCH_CHECK(!pin_memory.value_or(false), "only host tensors can be pinned");
  at::detail::check_size_nonnegative(sizes);
  std::vector<int64_t> strides(sizes.size());
  contiguous_strides(sizes, strides);
  auto tensor = new_tensor(sizes, strides, c10::dtype_or_default(type), device_or_current(device));
  if (format.has_value() && *format != c10::MemoryFormat::Contiguous)
    tensor.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  return tensor;
}

at::Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides,
                         std::optional<c10::ScalarType> type, std::optional<c10::Layout> layout,
                         std::optional<c10::Device> device, std::optional<bool> pin_memory) {
  TORCH_CHECK(layout.value_or(c10::kStrided) == c10::kStrided, "tpu: only strided tensors, not ",
              *layout);
  TORCH_CHECK(!pin_memory.value_or(false), "only host tensors can be pinned");
  at::detail::check_size_nonnegative(sizes);
  TORCH_CHECK(sizes.size() == strides.size(), "mismatch in length of strides and shape");
  for (auto stride : strides)
    TORCH_CHECK(stride >= 0, "Negative strides are not supported");
  return new_tensor(sizes, strides, c10::dtype_or_default(type), device_or_current(device));
}

/* ---- host and device ---- */

/* Dims of the block that sizes and strides fill, in the order of memory. */
std::vector<int64_t> memory_dims(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  std::vector<size_t> axes(sizes.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  std::stable_sort(axes.begin(), axes.end(), [&](size_t a, size_t b) {
    return (sizes[a] > 1 && sizes[b] > 1) ? strides[a] > strides[b] : false;
  });
  std::vector<int64_t> dims;
  for (auto axis : axes)
    dims.push_back(sizes[axis]);
  return dims;
}

bool is_dense(const at::Tensor &tensor) {
  return tt_rt_dense(tensor.sizes().data(), tensor.strides().data(),
                     static_cast<int32_t>(tensor.dim()));
}

bool covers_storage(const at::Tensor &tensor) {
  return tensor.storage_offset() == 0 && is_dense(tensor) &&
         tensor.numel() * static_cast<int64_t>(tensor.element_size()) ==
             static_cast<int64_t>(tensor.storage().nbytes());
}

void upload(const at::Tensor &host, const at::Tensor &device) {
  const auto dims = memory_dims(device.sizes(), device.strides());
  WithoutGil release;
  check(tt_rt_storage_upload(storage_of(device), device_dtype(device.scalar_type()), dims.data(),
                             dims.size(), host.const_data_ptr()));
}

void copy_views(const at::Tensor &source, const at::Tensor &target) {
  const auto to = view_of(target), from = view_of(source);
  refresh_settings(runtime());
  check(tt_rt_copy(&to, &from));
}

void copy_from_host(const at::Tensor &source, const at::Tensor &target) {
  TORCH_CHECK(target.dim() <= TT_HLO_RANK_MAX, "a tensor of ", target.dim(),
              " dimensions: the device takes ", TT_HLO_RANK_MAX, " at most");
  if (!covers_storage(target)) {
    auto staged =
        new_tensor(source.sizes(), source.strides(), source.scalar_type(), target.device());
    if (!is_dense(source))
      staged = empty(source.sizes(), source.scalar_type(), c10::kStrided, target.device(), false,
                     std::nullopt);
    copy_from_host(source, staged);
    copy_views(staged, target);
    return;
  }
  auto host = source;
  if (host.scalar_type() != target.scalar_type() || host.sizes() != target.sizes() ||
      host.strides() != target.strides() || host.is_conj() || host.is_neg()) {
    host = at::empty_strided(target.sizes(), target.strides(), target.options().device(c10::kCPU));
    host.copy_(source);
  }
  upload(host, target);
}

/* The whole storage on the host, seen as `tensor` sees it. */
at::Tensor download_storage(const at::Tensor &tensor) {
  const auto nbytes = tensor.storage().nbytes();
  auto *data = new char[nbytes != 0 ? nbytes : 1];
  auto whole = at::from_blob(
      data + tensor.storage_offset() * static_cast<int64_t>(tensor.element_size()), tensor.sizes(),
      tensor.strides(), [data](void *) { delete[] data; }, tensor.options().device(c10::kCPU));
  WithoutGil release;
  check(tt_rt_storage_download(storage_of(tensor), data, static_cast<int64_t>(nbytes)));
  return whole;
}

/* A storage much larger than the tensor is not worth its transfer: the tensor is copied out first,
 * by a program. */
constexpr size_t kSmallBytes = 1 << 16;
at::Tensor worth_downloading(const at::Tensor &tensor) {
  const auto nbytes = tensor.storage().nbytes();
  if (nbytes <= kSmallBytes ||
      nbytes <= 4 * static_cast<size_t>(tensor.numel()) * tensor.element_size())
    return tensor;
  auto compact = empty(tensor.sizes(), tensor.scalar_type(), c10::kStrided, tensor.device(), false,
                       std::nullopt);
  copy_views(tensor, compact);
  return compact;
}

void copy_to_host(const at::Tensor &source, const at::Tensor &target) {
  if (source.scalar_type() == target.scalar_type() && source.sizes() == target.sizes() &&
      !target.is_conj() && !target.is_neg() && covers_storage(source) &&
      source.strides() == target.strides()) {
    WithoutGil release;
    check(tt_rt_storage_download(storage_of(source), target.data_ptr(),
                                 static_cast<int64_t>(source.storage().nbytes())));
    return;
  }
  target.copy_(download_storage(worth_downloading(source)));
}

void copy_across(const at::Tensor &source, const at::Tensor &target) {
  tt_rt_storage *moved = nullptr;
  check(tt_rt_storage_copy(storage_of(source), device_at(target.device().index()), &moved));
  auto there =
      wrap_storage(moved, source.scalar_type(), source.sizes(), source.strides(), target.device());
  there.unsafeGetTensorImpl()->set_storage_offset(source.storage_offset());
  copy_views(there, target);
}

/* A conjugated or negated view as numbers of its own. */
at::Tensor resolve(const at::Tensor &tensor) {
  auto plain = tensor;
  if (plain.is_neg())
    plain = at::neg(at::_neg_view(plain));
  return plain.is_conj() ? at::conj_physical(at::_conj(plain)) : plain;
}

/* What a plain tensor must hold so that `target`, a conjugated or negated view, reads as it. */
at::Tensor without_bits(const at::Tensor &target) {
  auto plain = target;
  if (plain.is_neg())
    plain = at::_neg_view(plain);
  return plain.is_conj() ? at::_conj(plain) : plain;
}

at::Tensor copy_from(const at::Tensor &source, const at::Tensor &target, bool /*non_blocking*/) {
  if (source.sizes() != target.sizes())
    source.expand(target.sizes()); /* raises where it does not fit */
  if (target.numel() == 0)
    return target;
  if (target.device().type() != kTpu) {
    copy_to_host(resolve(source), target);
    return target;
  }
  auto from = source.device().type() == kTpu ? resolve(source) : source;
  auto to = target;
  if (target.is_conj() || target.is_neg()) {
    from = target.is_neg() ? at::neg(from) : from;
    from = target.is_conj() ? at::conj_physical(from) : from;
    to = without_bits(target);
  }
  at::assert_no_internal_overlap(to);
  if (from.device().type() != kTpu) {
    copy_from_host(from.expand(to.sizes()), to);
  } else if (from.device() != to.device()) {
    copy_across(from, to);
  } else {
    at::assert_no_partial_overlap(to, from);
    copy_views(from, to);
  }
  return target;
}

at::Tensor copy_from_and_resize(const at::Tensor &source, const at::Tensor &target) {
  at::native::resize_output(target, source.sizes());
  return copy_from(source, target, false);
}

at::Scalar local_scalar_dense(const at::Tensor &tensor) {
  return at::native::_local_scalar_dense_cpu(download_storage(worth_downloading(tensor)));
}

/* ---- sizes ---- */

const at::Tensor &resize(const at::Tensor &tensor, c10::IntArrayRef sizes,
                         std::optional<c10::MemoryFormat> format) {
  auto *impl = tensor.unsafeGetTensorImpl();
  at::detail::check_size_nonnegative(sizes);
  const auto needed = at::detail::computeStorageNbytesContiguous(
      sizes, tensor.element_size(), static_cast<size_t>(impl->storage_offset()));
  impl->set_sizes_contiguous(sizes);
  if (format.has_value() && *format != c10::MemoryFormat::Preserve)
    impl->empty_tensor_restride(*format);
  if (impl->numel() == 0)
    return tensor;
  const auto &storage = impl->unsafe_storage();
  if (storage.nbytes() < needed) {
    check(tt_rt_storage_resize(storage_of(tensor), static_cast<int64_t>(needed)));
    storage.set_nbytes(needed);
  }
  return tensor;
}

at::Tensor &set_storage(at::Tensor &tensor, at::Storage source, int64_t offset,
                        c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  auto *impl = tensor.unsafeGetTensorImpl();
  at::native::checkSetStorage(tensor, source, offset, sizes, strides);
  impl->set_storage_offset(offset);
  if (strides.data() == nullptr || strides.size() != sizes.size())
    impl->set_sizes_contiguous(sizes);
  else
    impl->set_sizes_and_strides(sizes, strides);
  const auto needed = at::detail::computeStorageNbytes(
      impl->sizes(), impl->strides(), tensor.element_size(), static_cast<size_t>(offset));
  if (impl->numel() != 0 && impl->unsafe_storage().nbytes() < needed) {
    check(tt_rt_storage_resize(storage_of(tensor), static_cast<int64_t>(needed)));
    impl->unsafe_storage().set_nbytes(needed);
  }
  return tensor;
}

at::Tensor &set_whole_storage(at::Tensor &tensor, at::Storage source) {
  const int64_t count = static_cast<int64_t>(source.nbytes() / tensor.element_size());
  return set_storage(tensor, std::move(source), 0, {count}, {1});
}

at::Tensor &set_tensor(at::Tensor &tensor, const at::Tensor &source) {
  if (tensor.unsafeGetTensorImpl() == source.unsafeGetTensorImpl())
    return tensor;
  return set_storage(tensor, source.storage(), source.storage_offset(), source.sizes(),
                     source.strides());
}

at::Tensor &set_empty(at::Tensor &tensor) {
  tt_rt_storage *storage = nullptr;
  check(tt_rt_storage_new(device_at(tensor.device().index()), 0, &storage));
  return set_storage(tensor, at::Storage(make_storage(storage, 0, tensor.device())), 0, {0}, {1});
}

/* Whether `self.data = from` may change where a parameter lives. Without it module.to() makes new
 * parameters: those that two modules share come apart, and an optimizer made before keeps the old
 * ones. */
bool has_compatible_shallow_copy_type(const at::Tensor &self, const at::Tensor &from) {
  const auto plain = [](const at::Tensor &t) {
    return t.layout() == c10::kStrided && (t.is_cpu() || t.device().type() == kTpu);
  };
  return self.key_set() == from.key_set() || (plain(self) && plain(from));
}

} // namespace

void register_tensor_kernels(torch::Library &m) {
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(empty_strided));
  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  m.impl("unfold", TORCH_FN(at::native::unfold));
  m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
  m.impl("is_set_to", TORCH_FN(at::native::is_set_to));
  m.impl("resize_", TORCH_FN(resize));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage));
  m.impl("set_.source_Storage", TORCH_FN(set_whole_storage));
  m.impl("set_.source_Tensor", TORCH_FN(set_tensor));
  m.impl("set_", TORCH_FN(set_empty));
  m.impl("_copy_from", TORCH_FN(copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  m.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
  m.impl("_has_compatible_shallow_copy_type", TORCH_FN(has_compatible_shallow_copy_type));
}

} // namespace torch_tpu
