/* The boxed kernel that serves every overload with a rule, and the fallback for those without. */
#include <ATen/SDPBackend.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/library.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>

#include "bridge/call.h"
#include "bridge/meta.h"
#include "bridge/overlap.h"
#include "bridge/structured.h"
#include "bridge/tensor.h"
#include "lower/rule.h"

namespace torch_tpu {

c10::OperatorHandle find_operator(const char *name) {
  const std::string text(name);
  const auto dot = text.find('.');
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      text.substr(0, dot).c_str(), dot == std::string::npos ? "" : text.c_str() + dot + 1);
}

namespace {

/* ---- arguments ---- */

void set_number(tt_rt_arg &out, const c10::Scalar &number) {
  if (number.isComplex()) {
    const auto value = number.toComplexDouble();
    out.dtype = TT_C128;
    out.real = value.real();
    out.imag = value.imag();
  } else if (number.isFloatingPoint()) {
    out.dtype = TT_F64;
    out.real = number.toDouble();
  } else {
    out.dtype = number.isBoolean() ? TT_PRED : TT_S64;
    out.i = number.isBoolean() ? number.toBool() : number.toLong();
    out.real = static_cast<double>(out.i);
  }
}

void flatten_scalar(tt_rt_arg &out, const IValue &value, bool fixed) {
  out.kind = TT_RT_SCALAR;
  out.fixed = fixed;
  set_number(out, value.toScalar());
}

/* A tensor of rank 0 in host memory goes along as a number. */
void flatten_host_scalar(tt_rt_arg &out, const at::Tensor &tensor) {
  out.kind = TT_RT_HOST_SCALAR;
  out.wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
  set_number(out, tensor.item());
  out.dtype = device_dtype(tensor.scalar_type());
}

bool is_index_list(const Call &c) {
  const std::string_view rule(c.overload->rule);
  return rule.find("index") != std::string_view::npos;
}

void flatten_tensor(Call &c, tt_rt_arg &out, const at::Tensor &tensor, bool in_list) {
  if (!tensor.defined())
    return;
  if (tensor.device().type() == kTpu) {
    if (c.device.index() < 0)
      c.device = tensor.device();
    TORCH_CHECK(tensor.device() == c.device,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                c.device, " and ", tensor.device(), "!");
    out.kind = TT_RT_TENSOR;
    out.tensor = view_of(tensor);
    out.wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
    c.tensors++;
    return;
  }
  if (tensor.dim() == 0 && tensor.device().is_cpu() && !(in_list && is_index_list(c))) {
    flatten_host_scalar(out, tensor);
    return;
  }
  TORCH_CHECK(in_list && is_index_list(c) && tensor.device().is_cpu(),
              "Expected all tensors to be on the same device, but found at least two devices, ",
              c.device.index() < 0 ? c10::Device(kTpu, current_device()) : c.device, " and ",
              tensor.device(), "!");
  c.moved.push_back(
      tensor.to(c10::Device(kTpu, c.device.index() < 0 ? current_device() : c.device.index())));
  flatten_tensor(c, out, c.moved.back(), in_list);
}

bool is_mask(const IValue &item) {
  return item.isTensor() && item.toTensor().defined() &&
         (item.toTensor().scalar_type() == at::kBool || item.toTensor().scalar_type() == at::kByte);
}

/* Masks among indices that the rule does not take: one beside other indices, and x[:, mask] read.
 */
bool has_awkward_mask(const Call &c, c10::ArrayRef<IValue> items) {
  size_t given = 0, masks = 0, first = items.size();
  for (size_t i = 0; i < items.size(); i++) {
    given += items[i].isTensor() && items[i].toTensor().defined();
    masks += is_mask(items[i]) && items[i].toTensor().dim() > 0;
    first = is_mask(items[i]) && first == items.size() ? i : first;
  }
  const bool reads = std::string_view(c.overload->rule).find("put") == std::string_view::npos;
  return masks != 0 && (given > 1 || (reads && first != 0));
}

/* Each mask as the indices of its true elements, one tensor a dim. */
c10::List<IValue> without_masks(c10::ArrayRef<IValue> items) {
  c10::List<IValue> out(c10::AnyType::get());
  for (const IValue &item : items) {
    if (!is_mask(item) || item.toTensor().dim() == 0) {
      out.push_back(item);
      continue;
    }
    const auto places = item.toTensor().nonzero();
    for (int64_t axis = 0; axis < item.toTensor().dim(); axis++)
      out.push_back(places.select(1, axis));
  }
  return out;
}

void flatten_list(Call &c, tt_rt_arg &out, const IValue &value, char type) {
  if (is_index_list(c) && has_awkward_mask(c, value.toListRef())) {
    c.expanded.push_back(IValue(without_masks(value.toListRef())));
    flatten_list(c, out, IValue(c.expanded.back()), type);
    return;
  }
  const auto items = value.toListRef();
  auto flat = std::make_unique<tt_rt_arg[]>(items.size() + 1);
  for (size_t i = 0; i < items.size(); i++) {
    flat[i] = tt_rt_arg{};
    if (items[i].isNone())
      continue;
    if (items[i].isTensor())
      flatten_tensor(c, flat[i], items[i].toTensor(), true);
    else
      flatten_scalar(flat[i], items[i], type == 'F');
  }
  out.kind = TT_RT_LIST;
  out.count = items.size();
  out.items = flat.get();
  c.lists.push_back(std::move(flat));
}

/* int[] and float[] are not boxed one by one as toListRef would. */
template <typename T>
void flatten_numbers(Call &c, tt_rt_arg &out, const std::vector<T> &items) {
  auto flat = std::make_unique<tt_rt_arg[]>(items.size() + 1);
  for (size_t i = 0; i < items.size(); i++) {
    flat[i] = tt_rt_arg{};
    flat[i].kind = TT_RT_SCALAR;
    flat[i].fixed = true;
    set_number(flat[i], c10::Scalar(static_cast<T>(items[i])));
  }
  out.kind = TT_RT_LIST;
  out.count = items.size();
  out.items = flat.get();
  c.lists.push_back(std::move(flat));
}

void flatten_argument(Call &c, tt_rt_arg &out, const IValue &value, char type) {
  out = tt_rt_arg{};
  if (value.isNone())
    return;
  switch (type) {
    case 'T':
      flatten_tensor(c, out, value.toTensor(), false);
      break;
    case 'S':
      flatten_scalar(out, value, false);
      break;
    case 'i':
      flatten_scalar(out, value, true);
      break;
    case 'd':
      out.kind = TT_RT_DTYPE;
      out.dtype = device_dtype(value.toScalarType());
      break;
    case 's':
      out.kind = TT_RT_STRING;
      out.string = value.toStringRef().c_str();
      break;
    case 'v':
      out.kind = TT_RT_OTHER;
      if (c.device.index() < 0)
        c.device = c10::Device(
            kTpu, value.toDevice().has_index() ? value.toDevice().index() : current_device());
      break;
    case 'L':
    case 'R':
      flatten_list(c, out, value, type);
      break;
    case 'F':
      if (value.isIntList())
        flatten_numbers(c, out, value.toIntVector());
      else if (value.isDoubleList())
        flatten_numbers(c, out, value.toDoubleVector());
      else
        flatten_list(c, out, value, type);
      break;
    default:
      out.kind = TT_RT_OTHER;
      break;
  }
}

void add_target(Call &c, const IValue &value) {
  if (value.isNone() || !value.toTensor().defined()) {
    c.targets.push_back(tt_rt_tensor{});
    return;
  }
  const auto &tensor = value.toTensor();
  TORCH_CHECK(tensor.device().type() == kTpu,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              c10::Device(kTpu, current_device()), " and ", tensor.device(), "!");
  if (c.device.index() < 0)
    c.device = tensor.device();
  c.targets.push_back(view_of(tensor));
}

void flatten_targets(Call &c) {
  const auto &o = *c.overload;
  size_t last = 0;
  for (size_t k = 0; k < o.targets_count; k++)
    last = o.targets[k] >= 0 ? k + 1 : last;
  for (size_t k = 0; k < last; k++) {
    const IValue *value = o.targets[k] >= 0 ? &c.args[o.targets[k]] : nullptr;
    if (value != nullptr && o.results[k] == 'L') {
      for (const IValue &item : value->toListRef())
        add_target(c, item);
    } else {
      add_target(c, value != nullptr ? *value : IValue());
    }
  }
}

void flatten(Call &c) {
  const auto &o = *c.overload;
  c.flat.resize(o.args_count);
  c.targets.clear();
  c.lists.clear();
  for (size_t i = 0; i < o.args_count; i++) {
    if (o.args[i] >= 0)
      flatten_argument(c, c.flat[i], c.args[o.args[i]], o.types[i]);
    else
      c.flat[i] = tt_rt_arg{};
  }
  flatten_targets(c);
}

/* ---- results ---- */

at::Tensor new_result(const Call &c, const tt_rt_result &result) {
  if (result.storage == nullptr)
    return {};
  const c10::IntArrayRef sizes(result.sizes, static_cast<size_t>(result.rank));
  const c10::IntArrayRef strides(result.strides, static_cast<size_t>(result.rank));
  if (result.rows < 0)
    return wrap_storage(result.storage, scalar_type_of(result.dtype), sizes, strides, c.device);
  auto counted = sizes.vec();
  counted[0] = result.rows;
  return wrap_storage(result.storage, scalar_type_of(result.dtype), counted, strides, c.device);
}

/* How many results list `which` has, among the rule's lists: as many as that list of the arguments
 * where these add up (an optimizer's), else all share what the single tensors leave. */
size_t list_length(const Call &c, size_t which) {
  size_t lists = 0, singles = 0, given = 0, own = 0, sum = 0;
  for (const char *r = c.overload->results; *r != 0; r++)
    (*r == 'L' ? lists : singles)++;
  if (lists == 0)
    return 0;
  for (size_t i = 0; i < c.flat.size() && given < lists; i++) {
    if (c.overload->types[i] != 'L' || c.flat[i].kind != TT_RT_LIST)
      continue;
    own = given == which ? c.flat[i].count : own;
    sum += c.flat[i].count;
    given++;
  }
  const size_t shared = c.call.results_count - singles;
  return given == lists && sum == shared ? own : shared / lists;
}

IValue take_result(Call &c, size_t wanted) {
  size_t at = 0, lists = 0;
  for (size_t k = 0; k < wanted; k++)
    at += c.overload->results[k] == 'L' ? list_length(c, lists++) : 1;
  const size_t length = list_length(c, lists);
  if (c.overload->results[wanted] == 'i')
    return at < c.call.results_count ? c.results[at].rows : 0;
  if (c.overload->results[wanted] != 'L') {
    auto tensor = at < c.call.results_count ? new_result(c, c.results[at]) : at::Tensor();
    c.results[at].storage = nullptr;
    if (c.overload->results[wanted] == 'B')
      return tensor.item().toBool();
    return tensor;
  }
  c10::List<at::Tensor> list;
  for (size_t i = 0; i < length; i++) {
    list.push_back(new_result(c, c.results[at + i]));
    c.results[at + i].storage = nullptr;
  }
  return list;
}

void push_results(Call &c, Stack *stack, size_t args_count) {
  const auto &o = *c.overload;
  c10::SmallVector<IValue, 4> out;
  for (size_t k = 0; k < o.returns_count; k++) {
    const auto r = o.returns[k];
    out.push_back(r < 0 ? c.args[-1 - r] : take_result(c, static_cast<size_t>(r)));
  }
  for (size_t i = 0; i < c.call.results_count; i++)
    tt_rt_storage_release(c.results[i].storage); /* results that the overload does not return */
  torch::jit::drop(*stack, args_count);
  for (auto &value : out)
    stack->push_back(std::move(value));
}

/* ---- the kernel ---- */

TpuGenerator *generator_of(const Call &c) {
  for (size_t i = 0; i < c.overload->args_count; i++)
    if (c.overload->types[i] == 'g' && c.overload->args[i] >= 0 &&
        !c.args[c.overload->args[i]].isNone())
      return generator_or_default(c.args[c.overload->args[i]].toGenerator(), c.device.index());
  return generator_or_default(std::nullopt, c.device.index());
}

tt_error *run_call(Call &c) {
  if ((c.call.rule->traits & TT_LOW_RANDOM) == 0)
    return tt_rt_run(&c.call);
  /* Not under generator->mutex_: a meta kernel waits for the GIL, which torch.manual_seed holds
   * while it waits for that mutex. The runtime orders the calls that take numbers. */
  c.call.rng = generator_of(c)->rng();
  return tt_rt_run(&c.call);
}

void prepare_call(Call &c) {
  flatten(c);
  if (c.device.index() < 0)
    c.device = c10::Device(kTpu, current_device());
  size_t capacity = std::max<size_t>(strlen(c.overload->results), 8);
  for (const char *r = c.overload->results; *r != 0; r++)
    capacity += *r == 'L' ? std::max<size_t>(c.tensors, 256) : 0;
  c.results.resize(capacity);
  c.call.device = device_at(c.device.index());
  c.call.args = c.flat.data();
  c.call.args_count = c.flat.size();
  c.call.targets = c.targets.data();
  c.call.targets_count = c.targets.size();
  c.call.results = c.results.data();
  c.call.results_capacity = capacity;
  c.call.context = &c;
}

void decompose(const c10::OperatorHandle &op, c10::DispatchKeySet, Stack *stack);

/* Whether Python makes of other overloads what the rule does not support. */
bool has_composite(const c10::OperatorHandle &op) {
  py::gil_scoped_acquire gil;
  auto has = py::module_::import("torch_tpu._internal.decompose").attr("has_composite");
  return py::cast<bool>(has(op.schema().name(), op.schema().overload_name()));
}

class RuleKernel final : public c10::OperatorKernel {
 public:
  RuleKernel(const Overload *overload, const tt_low_rule *rule)
      : overload_(overload), rule_(rule) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
    const size_t count = args_count(stack);
    Call c;
    c.overload = overload_;
    c.op = &op;
    c.functional = functional();
    c.structured = structured_;
    c.usual = usual_;
    c.args = stack->data() + (stack->size() - count);
    c.call.rule = rule_;
    refresh_settings(runtime());
    for (int tries = 0;; tries++) {
      c.resized = false;
      prepare_call(c);
      if (pointwise_ && c.overload->targets_count != 0)
        check_overlap(*c.overload, c.args);
      tt_error *err = run_call(c);
      if (c.thrown) {
        tt_error_free(err);
        std::rethrow_exception(c.thrown);
      }
      if (err == nullptr)
        break;
      if (c.apart) {
        tt_error_free(err);
        return run_apart(op, stack);
      }
      if (tt_error_code(err) == TT_UNIMPLEMENTED && has_composite(op)) {
        tt_error_free(err);
        return decompose(op, keys, stack);
      }
      if (!c.resized || tries > 1)
        raise_error(err);
      tt_error_free(err);
    }
    push_results(c, stack, count);
  }

 private:
  size_t args_count(const Stack *) {
    if (args_count_ == 0)
      args_count_ = find_operator(overload_->name).schema().arguments().size();
    return args_count_;
  }
  const c10::OperatorHandle *functional() {
    std::call_once(found_, [this] {
      functional_ = std::make_unique<c10::OperatorHandle>(find_operator(overload_->rule));
      pointwise_ = functional_->hasTag(at::Tag::pointwise);
      structured_ = structured_meta(overload_->rule);
      usual_ = usual_meta(overload_->rule);
    });
    return functional_.get();
  }

  const Overload *overload_;
  const tt_low_rule *rule_;
  std::atomic<size_t> args_count_{0};
  std::once_flag found_;
  std::unique_ptr<c10::OperatorHandle> functional_;
  const c10::KernelFunction *structured_ = nullptr;
  UsualMeta usual_ = nullptr;
  bool pointwise_ = false;
};

/* ---- overloads without a rule ---- */

/* Python finds PyTorch's decomposition (torch_tpu/_internal/decompose.py). */
void decompose(const c10::OperatorHandle &op, c10::DispatchKeySet, Stack *stack) {
  const auto &schema = op.schema();
  const auto &arguments = schema.arguments();
  const size_t count = arguments.size();
  py::gil_scoped_acquire gil;
  py::tuple args(count);
  py::dict kwargs;
  size_t positional = 0;
  for (size_t i = 0; i < count; i++) {
    auto value = torch::jit::toPyObject((*stack)[stack->size() - count + i]);
    if (arguments[i].kwarg_only())
      kwargs[py::str(arguments[i].name())] = value;
    else
      args[positional++] = value;
  }
  py::tuple only(positional);
  for (size_t i = 0; i < positional; i++)
    only[i] = args[i];
  auto run = py::module_::import("torch_tpu._internal.decompose").attr("run");
  py::object result = run(schema.name(), schema.overload_name(), only, kwargs);
  torch::jit::drop(*stack, count);
  const auto &returns = schema.returns();
  if (returns.size() == 1) {
    stack->push_back(torch::jit::toIValue(result, returns[0].type()));
    return;
  }
  const auto results = py::cast<py::sequence>(result);
  for (size_t i = 0; i < returns.size(); i++)
    stack->push_back(torch::jit::toIValue(results[i], returns[i].type()));
}

/* "train.py:12 in step": the innermost Python frame outside torch and this package. */
const char *user_line() {
  static thread_local std::string line;
  py::gil_scoped_acquire gil;
  try {
    line = py::cast<std::string>(
        py::module_::import("torch_tpu._internal.user_line").attr("current")());
  } catch (const std::exception &) {
    return nullptr;
  }
  return line.empty() ? nullptr : line.c_str();
}

/* Fused attention wherever its rule can: without dropout, and not in float64, as what its backward
 * gets is kept in float32. What does not fit together is left to the operators that refuse it. */
int64_t choose_attention(const at::Tensor &query, const at::Tensor &key, const at::Tensor &value,
                         const std::optional<at::Tensor> &, double dropout, bool,
                         std::optional<double>, bool grouped) {
  const bool fits = query.dim() == 4 && key.dim() == 4 && value.dim() == 4 &&
                    query.size(3) == key.size(3) && query.size(0) == key.size(0) &&
                    key.sizes().slice(0, 3) == value.sizes().slice(0, 3) &&
                    (grouped || query.size(1) == key.size(1));
  const bool fused = fits && dropout == 0.0 && query.scalar_type() != at::kDouble;
  return static_cast<int64_t>(fused ? at::SDPBackend::overrideable : at::SDPBackend::math);
}

void fall_through(torch::Library &m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

} // namespace

tt_rt_host host_callbacks() {
  tt_rt_host host{};
  host.meta = meta_callback;
  host.user_line = user_line;
  return host;
}

} // namespace torch_tpu

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &torch_tpu::choose_attention)
}

namespace torch_tpu {

void register_kernels() {
  static torch::Library aten(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__,
                             __LINE__);
  static torch::Library any(torch::Library::IMPL, "_", c10::DispatchKey::PrivateUse1, __FILE__,
                            __LINE__);
  static torch::Library conjugate(torch::Library::IMPL, "aten", c10::DispatchKey::Conjugate,
                                  __FILE__, __LINE__);
  static torch::Library negative(torch::Library::IMPL, "aten", c10::DispatchKey::Negative, __FILE__,
                                 __LINE__);
  register_tensor_kernels(aten);
  for (size_t i = 0; i < tt_bridge_overloads_count; i++) {
    const Overload &overload = tt_bridge_overloads[i];
    const tt_low_rule *rule = tt_low_rule_find(overload.rule);
    TORCH_INTERNAL_ASSERT(rule != nullptr, "no rule ", overload.rule);
    aten.impl(
        overload.name + sizeof("aten::") - 1,
        torch::CppFunction::makeFromBoxedFunctor(std::make_unique<RuleKernel>(&overload, rule)));
  }
  any.fallback(torch::CppFunction::makeFromBoxedFunction<&decompose>());
  fall_through(conjugate);
  fall_through(negative);
}

} // namespace torch_tpu
