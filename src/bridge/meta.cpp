/* Asks PyTorch's meta kernels what a call returns. */
#include "bridge/meta.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/native/Resize.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <utility>

#include "bridge/call.h"
#include "bridge/overlap.h"
#include "bridge/tensor.h"

namespace py = pybind11;

namespace torch_tpu {
namespace {

at::Tensor meta_of(const at::Tensor &tensor) {
  if (!tensor.defined() || (tensor.device().type() != kTpu && tensor.dim() == 0))
    return tensor;
  auto meta =
      at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(), tensor.scalar_type());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
    meta.unsafeGetTensorImpl()->set_wrapped_number(true);
  return meta;
}

IValue meta_value(const IValue &value, char type) {
  if (value.isTensor())
    return meta_of(value.toTensor());
  if (type == 'v' && value.isDevice())
    return c10::Device(c10::kMeta);
  if (type == 'g')
    return IValue();
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const IValue &item : value.toListRef())
      list.push_back(meta_of(item.toTensor()));
    return list;
  }
  if (type == 'L' && value.isList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const IValue &item : value.toListRef())
      list.push_back(item.isNone() ? std::optional<at::Tensor>()
                                   : std::optional<at::Tensor>(meta_of(item.toTensor())));
    return list;
  }
  return value;
}

Stack meta_stack(const Call &c) {
  const auto &arguments = c.functional->schema().arguments();
  Stack stack;
  for (size_t i = 0; i < c.overload->args_count; i++) {
    const char type = c.overload->types[i];
    if (c.overload->args[i] >= 0)
      stack.push_back(meta_value(c.args[c.overload->args[i]], type));
    else if (arguments[i].name() == "device")
      stack.push_back(c10::Device(c10::kMeta));
    else if (arguments[i].name() == "dtype" && !c.targets.empty())
      stack.push_back(scalar_type_of(c.targets[0].dtype));
    else
      stack.push_back(arguments[i].default_value().value_or(IValue()));
  }
  return stack;
}

void add_meta(const IValue &value, std::vector<at::Tensor> &out) {
  if (value.isTensor())
    out.push_back(value.toTensor());
  else if (value.isList())
    for (const IValue &item : value.toListRef())
      out.push_back(item.isTensor() ? item.toTensor() : at::Tensor());
  else
    out.emplace_back();
}

bool is_given(const IValue &value) {
  return !value.isNone() && !(value.isTensor() && !value.toTensor().defined());
}

/* Whether an optional argument that a result goes to is absent: batch norm's running statistics. */
bool lacks_target(const Call &c) {
  for (size_t k = 0; k < c.overload->targets_count; k++)
    if (c.overload->targets[k] >= 0 && !is_given(c.args[c.overload->targets[k]]))
      return true;
  return false;
}

/* Calls the meta kernel of the overload itself: that of its functional form may insist on all. */
Stack ask_own_meta(const Call &c) {
  const auto &o = *c.overload;
  const auto op = find_operator(o.name);
  const size_t count = op.schema().arguments().size();
  std::string types(count, 'T');
  for (size_t i = 0; i < o.args_count; i++)
    if (o.args[i] >= 0)
      types[static_cast<size_t>(o.args[i])] = o.types[i];
  Stack stack;
  for (size_t i = 0; i < count; i++)
    stack.push_back(meta_value(c.args[i], types[i]));
  op.callBoxed(&stack);
  return stack;
}

Stack ask_functional_meta(const Call &c) {
  auto stack = meta_stack(c);
  if (c.structured != nullptr)
    c.structured->callBoxed(*c.functional, c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
  else if (c.usual == nullptr || !c.usual(&stack))
    c.functional->callBoxed(&stack);
  return stack;
}

void check_written(Call &c, const at::Tensor &meta, const at::Tensor &target, bool is_out) {
  at::assert_no_internal_overlap(target);
  TORCH_CHECK(c10::canCast(meta.scalar_type(), target.scalar_type()), "result type ",
              meta.scalar_type(), " can't be cast to the desired output type ",
              target.scalar_type());
  if (meta.sizes() == target.sizes())
    return;
  TORCH_CHECK(is_out, "output with shape ", target.sizes(), " doesn't match the broadcast shape ",
              meta.sizes());
  at::native::resize_output(target, meta.sizes());
  c.resized = true;
}

/* The tensors that results go to, in order, undefined where a result is new. */
std::vector<std::pair<at::Tensor, bool>> target_tensors(const Call &c) {
  std::vector<std::pair<at::Tensor, bool>> out;
  const auto &o = *c.overload;
  for (size_t k = 0; k < o.targets_count; k++) {
    if (o.targets[k] < 0) {
      out.emplace_back();
      continue;
    }
    const bool is_out =
        std::find(o.args, o.args + o.args_count, o.targets[k]) == o.args + o.args_count;
    std::vector<at::Tensor> tensors;
    add_meta(c.args[o.targets[k]], tensors);
    for (auto &tensor : tensors)
      out.emplace_back(tensor, is_out);
  }
  return out;
}

std::vector<at::Tensor> ask_meta(Call &c) {
  std::vector<at::Tensor> metas;
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    for (const IValue &value : lacks_target(c) ? ask_own_meta(c) : ask_functional_meta(c))
      add_meta(value, metas);
  }
  const auto targets = target_tensors(c);
  for (size_t i = 0; i < metas.size() && i < targets.size(); i++)
    if (targets[i].first.defined() && metas[i].defined())
      check_written(c, metas[i], targets[i].first, targets[i].second);
  return metas;
}

const int64_t *copy_numbers(tt_arena *arena, c10::IntArrayRef numbers) {
  return static_cast<const int64_t *>(
      tt_arena_copy(arena, numbers.data(), numbers.size() * sizeof(int64_t)));
}

tt_error *store_metas(const std::vector<at::Tensor> &metas, tt_arena *arena, tt_rt_meta **out_metas,
                      size_t *out_count) {
  auto *out = static_cast<tt_rt_meta *>(tt_arena_array(arena, metas.size(), sizeof(tt_rt_meta)));
  if (out == nullptr)
    return tt_error_no_memory(metas.size() * sizeof(tt_rt_meta));
  for (size_t i = 0; i < metas.size(); i++) {
    if (!metas[i].defined())
      continue;
    out[i].defined = true;
    out[i].dtype = device_dtype(metas[i].scalar_type());
    out[i].rank = static_cast<int32_t>(metas[i].dim());
    out[i].sizes = copy_numbers(arena, metas[i].sizes());
    out[i].strides = copy_numbers(arena, metas[i].strides());
    if (out[i].sizes == nullptr || out[i].strides == nullptr)
      return tt_error_no_memory(static_cast<size_t>(metas[i].dim()) * 16);
  }
  *out_metas = out;
  *out_count = metas.size();
  return nullptr;
}

} // namespace

tt_error *meta_callback(tt_rt_call *call, tt_arena *arena, tt_rt_meta **out_metas,
                        size_t *out_count) {
  auto *c = static_cast<Call *>(call->context);
  try {
    if ((c->apart = needs_order(*c->overload, c->op->schema(), c->args)))
      return tt_error_new(TT_ABORTED, "the lists share memory");
    const auto metas = ask_meta(*c);
    if (c->resized)
      return tt_error_new(TT_ABORTED, "an output was resized");
    return store_metas(metas, arena, out_metas, out_count);
  } catch (const c10::NotImplementedError &) {
    return nullptr; /* no meta kernel: the rule's own types count */
  } catch (py::error_already_set &error) {
    py::gil_scoped_acquire gil;
    if (error.matches(PyExc_NotImplementedError))
      return nullptr; /* a size that depends on data, as x[mask] has */
    c->thrown = std::current_exception();
    return tt_error_new(TT_INVALID_ARGUMENT, "the meta kernel threw");
  } catch (...) {
    c->thrown = std::current_exception();
    return tt_error_new(TT_INVALID_ARGUMENT, "the meta kernel threw");
  }
}

} // namespace torch_tpu
