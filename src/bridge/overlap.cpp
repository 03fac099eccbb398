#include "bridge/overlap.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>

#include <algorithm>
#include <cstring>

#include "bridge/bridge.h"

namespace torch_tpu {
namespace {

bool is_on_storage(const c10::IValue &value, const c10::StorageImpl *storage) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage() &&
         value.toTensor().unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() == storage;
}

struct Bytes {
  const void *storage;
  size_t first, end;
  size_t at; /* in its list; kSingle: an argument that is no list */
  bool written;
};
constexpr size_t kSingle = SIZE_MAX;

void add_bytes(std::vector<Bytes> &out, const at::Tensor &tensor, size_t at, bool written) {
  if (!tensor.defined() || tensor.numel() == 0 || tensor.device().type() != kTpu)
    return;
  const size_t size = tensor.itemsize(), offset = static_cast<size_t>(tensor.storage_offset());
  out.push_back({tensor.storage().unsafeGetStorageImpl(), offset * size,
                 at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), size, offset),
                 at, written});
}

std::vector<Bytes> bytes_of_call(const c10::FunctionSchema &schema, const c10::IValue *args) {
  std::vector<Bytes> all;
  for (size_t i = 0; i < schema.arguments().size(); i++) {
    const auto *alias = schema.arguments()[i].alias_info();
    const bool written = alias != nullptr && alias->isWrite();
    if (args[i].isTensor())
      add_bytes(all, args[i].toTensor(), kSingle, written);
    else if (args[i].isTensorList())
      for (size_t k = 0; k < args[i].toListRef().size(); k++)
        add_bytes(all, args[i].toListRef()[k].toTensor(), k, written);
  }
  std::sort(all.begin(), all.end(),
            [](const Bytes &a, const Bytes &b) { return a.storage < b.storage; });
  return all;
}

size_t longest_list(const c10::IValue *args, size_t args_count) {
  size_t longest = 0;
  for (size_t i = 0; i < args_count; i++)
    longest = args[i].isTensorList() ? std::max(longest, args[i].toListRef().size()) : longest;
  return longest;
}

} // namespace

void check_overlap(const tt_bridge_overload &o, const c10::IValue *args) {
  for (size_t k = 0; k < o.targets_count; k++) {
    if (o.targets[k] < 0 || !args[o.targets[k]].isTensor())
      continue;
    const at::Tensor &target = args[o.targets[k]].toTensor();
    const auto *storage = target.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
    for (size_t i = 0; i < o.args_count; i++)
      if (o.args[i] >= 0 && o.args[i] != o.targets[k] && is_on_storage(args[o.args[i]], storage))
        at::assert_no_partial_overlap(target, args[o.args[i]].toTensor());
  }
}

/* ---- lists whose elements share memory ---- */

bool needs_order(const tt_bridge_overload &o, const c10::FunctionSchema &schema,
                 const c10::IValue *args) {
  if (o.targets_count == 0 || o.returns_count != 0 || strchr(o.results, 'L') == nullptr)
    return false;
  const auto all = bytes_of_call(schema, args);
  for (size_t i = 0; i < all.size(); i++)
    for (size_t k = i + 1; k < all.size() && all[k].storage == all[i].storage; k++)
      if (all[i].at != all[k].at && (all[i].written || all[k].written) &&
          all[i].first < all[k].end && all[k].first < all[i].end)
        return true;
  return false;
}

void run_apart(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const size_t args_count = op.schema().arguments().size();
  const c10::IValue *args = stack->data() + (stack->size() - args_count);
  const size_t length = longest_list(args, args_count);
  for (size_t k = 0; k < length; k++) {
    torch::jit::Stack one_call;
    for (size_t i = 0; i < args_count; i++) {
      if (!args[i].isList() || args[i].toListRef().size() != length) {
        one_call.push_back(args[i]);
        continue;
      }
      const auto whole = args[i].toList();
      c10::impl::GenericList one(whole.elementType());
      one.push_back(whole.get(k));
      one_call.push_back(c10::IValue(std::move(one)));
    }
    op.callBoxed(&one_call);
  }
  torch::jit::drop(*stack, args_count); /* overloads that write lists return nothing */
}

} // namespace torch_tpu
