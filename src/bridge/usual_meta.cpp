#include "bridge/usual_meta.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/ConvUtils.h>
#include <ATen/native/layer_norm.h>

#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torch_tpu {
namespace {

using Stack = torch::jit::Stack;
using c10::IValue;

at::Tensor fresh(c10::IntArrayRef sizes, c10::ScalarType type) {
  return at::detail::empty_meta(sizes, type);
}

/* Of the same sizes and strides; the tensor must be dense. */
at::Tensor dense_like(const at::Tensor &tensor) {
  return at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(), tensor.scalar_type());
}

bool answer(Stack *stack, std::vector<IValue> results) {
  *stack = std::move(results);
  return true;
}

bool is_floating(const at::Tensor &tensor) {
  return tensor.defined() && at::isFloatingType(tensor.scalar_type());
}

/* A floating tensor with elements, in order and without gaps. */
bool is_plain(const IValue &value) {
  const auto tensor = value.isTensor() ? value.toTensor() : at::Tensor();
  return is_floating(tensor) && tensor.numel() != 0 && tensor.is_contiguous();
}

/* Whether an optional tensor is absent, or of this type and these sizes. */
bool fits(const IValue &value, c10::ScalarType type, c10::IntArrayRef sizes) {
  if (value.isNone() || !value.toTensor().defined())
    return true;
  const auto tensor = value.toTensor();
  return tensor.scalar_type() == type && tensor.sizes() == sizes && tensor.is_contiguous();
}

bool is_given(const IValue &value) { return value.isTensor() && value.toTensor().defined(); }

at::Tensor given(const IValue &value) { return value.isTensor() ? value.toTensor() : at::Tensor(); }

/* ---- norms ---- */

bool layer_norm(Stack *stack) {
  const auto &s = *stack; /* input, normalized_shape, weight, bias, eps */
  if (!is_plain(s[0]))
    return false;
  const auto input = s[0].toTensor();
  const auto shape = s[1].toIntVector();
  at::native::_check_layer_norm_inputs(input, shape, given(s[2]), given(s[3]));
  if (!fits(s[2], input.scalar_type(), shape) || !fits(s[3], input.scalar_type(), shape))
    return false;
  auto sizes = input.sizes().vec();
  std::fill(sizes.end() - static_cast<std::ptrdiff_t>(shape.size()), sizes.end(), 1);
  const auto type = at::toOpMathType(input.scalar_type());
  return answer(
      stack, {fresh(input.sizes(), input.scalar_type()), fresh(sizes, type), fresh(sizes, type)});
}

/* The gradients of a normed array and of its weight and bias, as far as they are asked for. */
bool norm_gradients(Stack *stack, c10::IntArrayRef sizes, const at::Tensor &input, bool has_weight,
                    bool has_bias, const std::vector<bool> &asked) {
  if (asked.size() != 3 || (asked[1] && !has_weight) || (asked[2] && !has_bias))
    return false;
  const auto type = input.scalar_type();
  return answer(stack, {asked[0] ? fresh(input.sizes(), type) : at::Tensor(),
                        asked[1] ? fresh(sizes, type) : at::Tensor(),
                        asked[2] ? fresh(sizes, type) : at::Tensor()});
}

bool layer_norm_backward(Stack *stack) {
  const auto &s = *stack; /* grad_out, input, normalized_shape, mean, rstd, weight, bias, mask */
  if (!is_plain(s[0]) || !is_plain(s[1]))
    return false;
  const auto input = s[1].toTensor();
  const auto shape = s[2].toIntVector();
  if (!fits(s[0], input.scalar_type(), input.sizes()) || !fits(s[5], input.scalar_type(), shape) ||
      !fits(s[6], input.scalar_type(), shape))
    return false;
  return norm_gradients(stack, shape, input, is_given(s[5]), is_given(s[6]),
                        s[7].toBoolList().vec());
}

/* An image with channels, and `count` things of a channel each from `first` on. */
bool is_image(const Stack &s, size_t image, size_t first, size_t count) {
  if (!is_plain(s[image]) || s[image].toTensor().dim() < 2)
    return false;
  const auto input = s[image].toTensor();
  for (size_t i = first; i < first + count; i++)
    if (!fits(s[i], input.scalar_type(), {input.size(1)}))
      return false;
  return true;
}

bool group_norm(Stack *stack) {
  const auto &s = *stack; /* input, weight, bias, N, C, HxW, group, eps */
  if (!is_image(s, 0, 1, 2) || s[6].toInt() < 1)
    return false;
  const auto input = s[0].toTensor();
  const auto type = input.scalar_type();
  const int64_t batch = s[3].toInt(), channels = s[4].toInt(), group = s[6].toInt();
  if (batch != input.size(0) || channels != input.size(1) || channels % group != 0 ||
      batch * channels * s[5].toInt() != input.numel())
    return false;
  return answer(stack, {fresh(input.sizes(), type), fresh({batch, group}, type),
                        fresh({batch, group}, type)});
}

bool batch_norm(Stack *stack) {
  const auto &s = *stack; /* input, weight, bias, running_mean, running_var, training, ... */
  if (!is_image(s, 0, 1, 4) || !is_given(s[3]) || !is_given(s[4]))
    return false;
  const auto input = s[0].toTensor();
  const auto type = at::toOpMathType(input.scalar_type());
  const int64_t channels = input.size(1);
  return answer(
      stack, {fresh(input.sizes(), input.scalar_type()), fresh({channels}, type),
              fresh({channels}, type), dense_like(s[3].toTensor()), dense_like(s[4].toTensor())});
}

bool batch_norm_backward(Stack *stack) {
  const auto &s = *stack; /* grad_out, input, weight, running_mean, running_var, save_mean,
                             save_invstd, train, eps, mask */
  if (!is_image(s, 1, 2, 3) || !is_plain(s[0]))
    return false;
  const auto input = s[1].toTensor();
  if (!fits(s[0], input.scalar_type(), input.sizes()))
    return false;
  return norm_gradients(stack, {input.size(1)}, input, is_given(s[2]), is_given(s[2]),
                        s[9].toBoolList().vec());
}

/* ---- convolutions ---- */

/* Whether two plain arrays of one dtype may be an image and a filter; neither in an order of memory
 * that puts the channels last. */
bool is_convolution(const IValue &image, const IValue &filter) {
  if (!is_plain(image) || !is_plain(filter))
    return false;
  const auto input = image.toTensor(), weight = filter.toTensor();
  return input.scalar_type() == weight.scalar_type() && input.dim() == weight.dim() &&
         input.dim() > 2 && input.suggest_memory_format() == c10::MemoryFormat::Contiguous &&
         weight.suggest_memory_format() == c10::MemoryFormat::Contiguous;
}

/* Refuses, as the CPU does, numbers under `least`; whether there is one for each spatial axis. */
bool check_axes(c10::IntArrayRef numbers, int64_t axes, int64_t least, const char *problem) {
  for (const int64_t number : numbers)
    TORCH_CHECK(number >= least, problem);
  return static_cast<int64_t>(numbers.size()) == axes;
}

bool convolution(Stack *stack) {
  const auto &s = *stack; /* input, weight, bias, stride, padding, dilation, transposed,
                             output_padding, groups */
  if (!is_convolution(s[0], s[1]) || s[6].toBool())
    return false;
  const auto input = s[0].toTensor(), weight = s[1].toTensor();
  const auto stride = s[3].toIntVector(), padding = s[4].toIntVector(),
             dilation = s[5].toIntVector();
  const int64_t axes = input.dim() - 2, groups = s[8].toInt();
  if (!check_axes(padding, axes, 0, "negative padding is not supported") ||
      !check_axes(stride, axes, 1, "non-positive stride is not supported") ||
      !check_axes(dilation, axes, 1, "dilation should be greater than zero") || groups < 1 ||
      weight.size(0) % groups != 0 || input.size(1) != weight.size(1) * groups ||
      !fits(s[2], input.scalar_type(), {weight.size(0)}))
    return false;
  for (int64_t i = 0; i < axes; i++) {
    const auto at = static_cast<size_t>(i);
    if (input.size(i + 2) + 2 * padding[at] < dilation[at] * (weight.size(i + 2) - 1) + 1)
      return false;
  }
  const auto sizes =
      at::native::conv_output_size(input.sizes(), weight.sizes(), padding, stride, dilation);
  return answer(stack, {fresh(sizes, input.scalar_type())});
}

bool convolution_backward(Stack *stack) {
  const auto &s = *stack; /* grad_output, input, weight, bias_sizes, stride, padding, dilation,
                             transposed, output_padding, groups, mask */
  if (!is_convolution(s[1], s[2]) || !is_convolution(s[0], s[2]))
    return false;
  const auto gradient = s[0].toTensor(), input = s[1].toTensor(), weight = s[2].toTensor();
  const auto asked = s[10].toBoolList();
  const auto type = input.scalar_type();
  return answer(stack, {asked[0] ? fresh(input.sizes(), type) : at::Tensor(),
                        asked[1] ? fresh(weight.sizes(), type) : at::Tensor(),
                        asked[2] ? fresh({gradient.size(1)}, type) : at::Tensor()});
}

/* ---- attention ---- */

bool is_dense(const IValue &value) {
  return value.isNone() || !value.toTensor().defined() ||
         value.toTensor().is_non_overlapping_and_dense();
}

bool attention(Stack *stack) {
  const auto &s = *stack; /* query, key, value, attn_bias, dropout_p, is_causal, ... */
  const auto query = s[0].toTensor(), key = s[1].toTensor(), value = s[2].toTensor();
  if (!is_floating(query) || query.dim() != 4 || key.dim() != 4 || value.dim() != 4 ||
      !is_dense(s[0]) || value.size(3) != query.size(3))
    return false;
  const auto number = [] { return fresh({}, at::kLong); };
  return answer(stack,
                {dense_like(query), fresh(query.sizes().slice(0, 3), at::kFloat), at::Tensor(),
                 at::Tensor(), query.size(2), key.size(2), number(), number(), at::Tensor()});
}

bool attention_backward(Stack *stack) {
  const auto &s = *stack; /* grad_out, query, key, value, attn_bias, ... */
  if (!is_dense(s[1]) || !is_dense(s[2]) || !is_dense(s[3]) || !is_dense(s[4]))
    return false;
  return answer(
      stack, {dense_like(s[1].toTensor()), dense_like(s[2].toTensor()), dense_like(s[3].toTensor()),
              is_given(s[4]) ? dense_like(s[4].toTensor()) : at::Tensor()});
}

/* ---- elementwise ---- */

/* What an elementwise kernel returns for these tensors, as the CPU's would. */
at::Tensor elementwise(std::initializer_list<at::Tensor> inputs, c10::ScalarType type) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).check_all_same_dtype(false).allow_cpu_scalars(true);
  config.declare_static_dtype_and_device(type, c10::kMeta).add_owned_output(at::Tensor());
  for (const auto &input : inputs)
    config.add_owned_const_input(input);
  return config.build().output();
}

/* The leading tensors of a schema all are floating and of one dtype, that of the result. */
template <size_t kInputs>
bool same_type(Stack *stack) {
  const auto &s = *stack;
  for (size_t i = 0; i < kInputs; i++)
    if (!is_floating(s[i].toTensor()) ||
        s[i].toTensor().scalar_type() != s[0].toTensor().scalar_type() ||
        (kInputs > 2 && !s[i].toTensor().is_contiguous()))
      return false;
  const auto type = s[0].toTensor().scalar_type();
  if constexpr (kInputs == 1)
    return answer(stack, {elementwise({s[0].toTensor()}, type)});
  else if constexpr (kInputs == 2)
    return answer(stack, {elementwise({s[0].toTensor(), s[1].toTensor()}, type)});
  else
    return answer(stack, {elementwise({s[0].toTensor(), s[1].toTensor(), s[2].toTensor()}, type)});
}

/* A floating tensor and numbers. */
bool with_numbers(Stack *stack) {
  const auto &s = *stack;
  const auto self = s[0].toTensor();
  if (!is_floating(self))
    return false;
  for (size_t i = 1; i < s.size(); i++)
    if (!s[i].isScalar() || s[i].isComplexDouble())
      return false;
  return answer(stack, {elementwise({self}, self.scalar_type())});
}

bool gelu(Stack *stack) {
  const auto &s = *stack; /* self, approximate */
  const auto self = s[0].toTensor();
  if (!is_floating(self) || (s[1].toStringRef() != "none" && s[1].toStringRef() != "tanh"))
    return false;
  return answer(stack, {elementwise({self}, self.scalar_type())});
}

bool mse_loss(Stack *stack) {
  const auto &s = *stack; /* self, target, reduction */
  const auto self = s[0].toTensor(), target = s[1].toTensor();
  if (!is_floating(self) || self.scalar_type() != target.scalar_type())
    return false;
  const auto each = elementwise({self, target}, self.scalar_type());
  return answer(stack,
                {s[2].toInt() == at::Reduction::None ? each : fresh({}, self.scalar_type())});
}

bool absolute(Stack *stack) {
  const auto self = (*stack)[0].toTensor();
  if (self.is_complex() || self.scalar_type() == at::kBool)
    return false;
  return answer(stack, {elementwise({self}, self.scalar_type())});
}

bool test(Stack *stack) {
  return answer(stack, {elementwise({(*stack)[0].toTensor()}, at::kBool)});
}

bool is_mask(const IValue &value) {
  return value.isTensor() && value.toTensor().defined() &&
         value.toTensor().scalar_type() == at::kBool;
}

bool masked_fill(Stack *stack) {
  const auto &s = *stack; /* self, mask, value */
  const bool by_number = s[2].isScalar() && !s[2].isComplexDouble();
  const auto self = s[0].toTensor();
  if (!is_floating(self) || !is_mask(s[1]) || !by_number)
    return false;
  const auto sizes = at::infer_size(self.sizes(), s[1].toTensor().sizes());
  return answer(stack, {fresh(sizes, self.scalar_type())}); /* the CPU's is contiguous, too */
}

bool where(Stack *stack) {
  const auto &s = *stack; /* condition, self, other */
  const auto self = s[1].toTensor(), other = s[2].toTensor();
  if (!is_mask(s[0]) || self.scalar_type() != other.scalar_type())
    return false;
  return answer(stack, {elementwise({s[0].toTensor(), self, other}, self.scalar_type())});
}

bool dropout(Stack *stack) {
  const auto &s = *stack; /* input, p, train */
  if (!is_plain(s[0]))
    return false;
  const auto input = s[0].toTensor();
  return answer(stack, {dense_like(input), fresh(input.sizes(), at::kBool)});
}

bool dropout_backward(Stack *stack) {
  const auto &s = *stack; /* grad_output, mask, scale */
  const auto gradient = s[0].toTensor();
  if (!is_floating(gradient) || !is_mask(s[1]))
    return false;
  return answer(stack, {elementwise({gradient, s[1].toTensor()}, gradient.scalar_type())});
}

bool truth(Stack *stack) {
  const auto &s = *stack; /* self, other */
  return answer(stack, {elementwise({s[0].toTensor(), s[1].toTensor()}, at::kBool)});
}

/* ---- made of numbers ---- */

/* A layout, a device and whether it is pinned follow the dtype at `at`: the usual is none. */
bool is_strided(const Stack &s, size_t at) { return s[at + 1].isNone(); }

c10::ScalarType dtype_or_default(const IValue &value) {
  return value.isNone() ? c10::get_default_dtype_as_scalartype() : value.toScalarType();
}

bool of_sizes(Stack *stack) {
  const auto &s = *stack; /* size, dtype, ... */
  const auto type = dtype_or_default(s[1]);
  if (!is_strided(s, 1) || !(at::isFloatingType(type) || at::isComplexType(type)))
    return false;
  return answer(stack, {fresh(s[0].toIntVector(), type)});
}

/* From `kNumbers` integers: end; start, end; start, end, step. */
template <size_t kNumbers>
bool arange(Stack *stack) {
  const auto &s = *stack;
  for (size_t i = 0; i < kNumbers; i++)
    if (!s[i].isInt() || std::abs(s[i].toInt()) > INT32_MAX)
      return false;
  const int64_t start = kNumbers > 1 ? s[0].toInt() : 0, end = s[kNumbers > 1 ? 1 : 0].toInt(),
                step = kNumbers > 2 ? s[2].toInt() : 1;
  if (step <= 0 || end < start || !is_strided(s, kNumbers))
    return false;
  const auto type = s[kNumbers].isNone() ? at::kLong : s[kNumbers].toScalarType();
  return answer(stack, {fresh({(end - start + step - 1) / step}, type)});
}

/* ---- products ---- */

/* Of matrices, or of kRank - 2 batches of them. */
template <int64_t kRank>
bool product(Stack *stack) {
  const auto &s = *stack;
  const auto a = s[0].toTensor(), b = s[1].toTensor();
  TORCH_CHECK(a.scalar_type() == b.scalar_type(),
              "expected m1 and m2 to have the same dtype, but got: ", a.dtype(), " != ", b.dtype());
  if (!is_floating(a) || a.dim() != kRank || b.dim() != kRank ||
      a.size(kRank - 1) != b.size(kRank - 2) || (kRank == 3 && a.size(0) != b.size(0)))
    return false;
  auto sizes = a.sizes().vec();
  sizes.back() = b.size(kRank - 1);
  return answer(stack, {fresh(sizes, a.scalar_type())});
}

/* ---- along axes ---- */

/* The variance of all, or along some axes, of which a size of 1 may be kept. */
bool variance(Stack *stack) {
  const auto &s = *stack; /* self, dim, correction, keepdim */
  if (!is_plain(s[0]) || !s[1].isIntList())
    return false;
  const auto self = s[0].toTensor();
  auto sizes = self.sizes().vec();
  const auto dims = s[1].toIntVector();
  for (const int64_t dim : dims) {
    if (dim < -self.dim() || dim >= self.dim())
      return false;
    auto &size = sizes[static_cast<size_t>(dim < 0 ? dim + self.dim() : dim)];
    if (size < 0)
      return false; /* named twice */
    size = -1;
  }
  if (dims.empty())
    std::fill(sizes.begin(), sizes.end(), -1);
  if (s[3].toBool())
    std::replace(sizes.begin(), sizes.end(), INT64_C(-1), INT64_C(1));
  else
    sizes.erase(std::remove(sizes.begin(), sizes.end(), -1), sizes.end());
  return answer(stack, {fresh(sizes, self.scalar_type())});
}

bool sort(Stack *stack) {
  const auto &s = *stack; /* self, dim, descending */
  if (!is_plain(s[0]))
    return false;
  const auto self = s[0].toTensor();
  if (s[1].toInt() < -self.dim() || s[1].toInt() >= self.dim())
    return false;
  return answer(stack, {fresh(self.sizes(), self.scalar_type()), fresh(self.sizes(), at::kLong)});
}

/* The same elements in another order, along axes that there are, each named once. */
template <size_t kDims>
bool reordered(Stack *stack) {
  const auto &s = *stack;
  if (!is_plain(s[0]))
    return false;
  const auto self = s[0].toTensor();
  uint64_t seen = 0;
  for (const int64_t dim : s[kDims].toIntVector()) {
    if (dim < -self.dim() || dim >= self.dim())
      return false;
    const uint64_t bit = UINT64_C(1) << (dim < 0 ? dim + self.dim() : dim);
    if ((seen & bit) != 0)
      return false;
    seen |= bit;
  }
  if (kDims == 2 &&
      (s[1].toIntVector().empty() || s[1].toIntVector().size() != s[2].toIntVector().size()))
    return false;
  return answer(stack, {fresh(self.sizes(), self.scalar_type())});
}

bool repeat(Stack *stack) {
  const auto &s = *stack; /* self, repeats */
  const auto self = s[0].toTensor();
  auto sizes = s[1].toIntVector();
  const int64_t added = static_cast<int64_t>(sizes.size()) - self.dim();
  if (added < 0 || std::any_of(sizes.begin(), sizes.end(), [](int64_t x) { return x < 0; }))
    return false;
  for (int64_t i = 0; i < self.dim(); i++)
    sizes[static_cast<size_t>(i + added)] *= self.size(i);
  return answer(stack, {fresh(sizes, self.scalar_type())});
}

bool mean(Stack *stack) {
  const auto &s = *stack; /* self, dtype */
  if (!is_plain(s[0]) || !s[1].isNone())
    return false;
  return answer(stack, {fresh({}, s[0].toTensor().scalar_type())});
}

/* A dense tensor filled anew, by a number that its dtype can hold. */
bool filled(Stack *stack) {
  const auto &s = *stack; /* self, value (zero has none) */
  const auto self = s[0].toTensor();
  if (!self.is_non_overlapping_and_dense() ||
      (s.size() > 1 && !(is_floating(self) && s[1].isScalar() && !s[1].isComplexDouble())))
    return false;
  return answer(stack, {dense_like(self)});
}

/* A tensor of a dense one's layout, its dtype at `kDtype`: then the layout, the device, whether
 * pinned, the memory format. */
template <size_t kDtype>
bool like(Stack *stack) {
  const auto &s = *stack;
  const auto self = s[0].toTensor();
  const auto format = s[kDtype + 4];
  if (!s[kDtype + 1].isNone() || !self.is_non_overlapping_and_dense() ||
      (kDtype == 2 && (!is_floating(self) || s[1].isComplexDouble())) ||
      !(format.isNone() || format.toMemoryFormat() == c10::MemoryFormat::Preserve))
    return false;
  const auto type = s[kDtype].isNone() ? self.scalar_type() : s[kDtype].toScalarType();
  return answer(stack, {at::detail::empty_strided_meta(self.sizes(), self.strides(), type)});
}

/* ---- embeddings ---- */

bool is_index(const IValue &value) {
  const auto type = value.toTensor().scalar_type();
  return type == at::kLong || type == at::kInt;
}

bool embedding(Stack *stack) {
  const auto &s = *stack; /* weight, indices, padding_idx, scale_grad_by_freq, sparse */
  if (!is_floating(s[0].toTensor()) || s[0].toTensor().dim() != 2 || !is_index(s[1]))
    return false;
  auto sizes = s[1].toTensor().sizes().vec();
  sizes.push_back(s[0].toTensor().size(1));
  return answer(stack, {fresh(sizes, s[0].toTensor().scalar_type())});
}

bool embedding_backward(Stack *stack) {
  const auto &s = *stack; /* grad_output, indices, num_weights, padding_idx, scale_grad_by_freq */
  if (!is_plain(s[0]) || !is_index(s[1]) || s[0].toTensor().dim() != s[1].toTensor().dim() + 1)
    return false;
  const auto gradient = s[0].toTensor();
  return answer(stack, {fresh({s[2].toInt(), gradient.size(-1)}, gradient.scalar_type())});
}

/* ---- views ---- */

bool has_mask(const IValue &indices) {
  for (const IValue &index : indices.toListRef())
    if (index.isTensor() && index.toTensor().defined() &&
        (index.toTensor().scalar_type() == at::kBool ||
         index.toTensor().scalar_type() == at::kByte))
      return true;
  return false;
}

/* A dense tensor, some of whose elements others are put into. */
bool put(Stack *stack) {
  const auto &s = *stack; /* self, indices, values, ... */
  const auto self = s[0].toTensor(), values = s[2].toTensor();
  const bool fills = values.numel() == 1 && has_mask(s[1]); /* then it is a masked_fill */
  TORCH_CHECK(fills || self.scalar_type() == values.scalar_type(),
              "Index put requires the source and destination dtypes match, got ",
              self.scalar_type(), " for the destination and ", values.scalar_type(),
              " for the source.");
  if (!is_dense(s[0]))
    return false;
  return answer(stack, {dense_like(self)});
}

/* The gradient of a view, whose second argument is the sizes of what it is a view of. */
bool view_backward(Stack *stack) {
  const auto &s = *stack;
  return answer(stack, {fresh(s[1].toIntVector(), s[0].toTensor().scalar_type())});
}

/* A dense tensor in which `part`, a view of it, is replaced by the second argument. */
bool scatter_view(Stack *stack, const at::Tensor &part) {
  const auto self = (*stack)[0].toTensor(), from = (*stack)[1].toTensor();
  TORCH_CHECK(part.sizes() == from.sizes(),
              "expected src to have a size equal to the slice of self. src size = ", from.sizes(),
              ", slice size = ", part.sizes());
  if (!self.is_non_overlapping_and_dense() || self.scalar_type() != from.scalar_type())
    return false;
  return answer(stack, {dense_like(self)});
}

bool select_scatter(Stack *stack) {
  const auto &s = *stack; /* self, src, dim, index */
  return scatter_view(stack, s[0].toTensor().select(s[2].toInt(), s[3].toInt()));
}

bool slice_scatter(Stack *stack) {
  const auto &s = *stack; /* self, src, dim, start, end, step */
  return scatter_view(stack, s[0].toTensor().slice(s[2].toInt(), s[3].toOptional<int64_t>(),
                                                   s[4].toOptional<int64_t>(), s[5].toInt()));
}

/* ---- lists, element by element ---- */

/* Whether each element has the layout of the one at its place in `first`. */
bool matches(c10::List<at::Tensor> first, c10::List<at::Tensor> list) {
  if (first.size() != list.size())
    return false;
  for (size_t i = 0; i < first.size(); i++) {
    const at::Tensor a = first.get(i), b = list.get(i);
    if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes() || a.strides() != b.strides())
      return false;
  }
  return true;
}

/* A number, or as many as there are tensors, that change no dtype of these floating ones. */
bool keeps_types(const IValue &value, const std::vector<at::Tensor> &list) {
  if (value.isTensor()) {
    const auto number = value.toTensor();
    return number.dim() == 0 && is_floating(number) &&
           std::all_of(list.begin(), list.end(), [&](const at::Tensor &tensor) {
             return tensor.dim() > 0 || tensor.scalar_type() == number.scalar_type();
           });
  }
  if (!value.isList())
    return !value.isComplexDouble();
  const auto items = value.toListRef();
  for (const IValue &item : items)
    if (item.isComplexDouble())
      return false;
  return items.size() == list.size();
}

/* Floating lists of tensors of one layout each: every result is like the tensor at its place. */
bool foreach_like(Stack *stack) {
  const auto &s = *stack;
  size_t at = 0;
  while (at < s.size() && !s[at].isTensorList())
    at++;
  if (at == s.size() || s[at].toTensorList().empty())
    return false;
  const auto first = s[at].toTensorList();
  for (const auto &tensor : first.vec())
    if (!is_floating(tensor) || !tensor.is_non_overlapping_and_dense())
      return false;
  for (const IValue &value : s)
    if (value.isTensorList() ? !matches(first, value.toTensorList())
                             : !keeps_types(value, first.vec()))
      return false;
  c10::List<at::Tensor> results;
  for (const auto &tensor : first.vec())
    results.push_back(dense_like(tensor));
  return answer(stack, {results});
}

bool stack_tensors(Stack *stack) {
  const auto &s = *stack; /* tensors, dim */
  const auto list = s[0].toTensorList();
  const int64_t dim = s[1].toInt();
  if (list.empty() || !is_plain(list.get(0)))
    return false;
  const at::Tensor first = list.get(0);
  for (const auto &tensor : list.vec())
    if (tensor.scalar_type() != first.scalar_type() || tensor.sizes() != first.sizes())
      return false;
  if (dim < -first.dim() - 1 || dim > first.dim())
    return false;
  auto sizes = first.sizes().vec();
  const int64_t at = dim < 0 ? dim + first.dim() + 1 : dim;
  sizes.insert(sizes.begin() + at, static_cast<int64_t>(list.size()));
  return answer(stack, {fresh(sizes, first.scalar_type())});
}

/* Those whose results are not like their elements. */
bool changes_shape(std::string_view overload) {
  for (const auto *name : {"_foreach_norm", "_foreach_max.", "_foreach_powsum"})
    if (overload.find(name) != std::string_view::npos)
      return true;
  return overload == "aten::_foreach_max";
}

} // namespace

UsualMeta usual_meta(const char *overload) {
  static const std::unordered_map<std::string_view, UsualMeta> table = {
      {"aten::native_layer_norm", layer_norm},
      {"aten::native_layer_norm_backward", layer_norm_backward},
      {"aten::_native_batch_norm_legit_functional", batch_norm},
      {"aten::native_batch_norm_backward", batch_norm_backward},
      {"aten::native_group_norm", group_norm},
      {"aten::_scaled_dot_product_fused_attention_overrideable", attention},
      {"aten::_scaled_dot_product_fused_attention_overrideable_backward", attention_backward},
      {"aten::convolution", convolution},
      {"aten::convolution_backward", convolution_backward},
      {"aten::embedding", embedding},
      {"aten::embedding_dense_backward", embedding_backward},
      {"aten::add.Scalar", with_numbers},
      {"aten::sub.Scalar", with_numbers},
      {"aten::rsub.Scalar", with_numbers},
      {"aten::mul.Scalar", with_numbers},
      {"aten::div.Scalar", with_numbers},
      {"aten::select_scatter", select_scatter},
      {"aten::slice_scatter", slice_scatter},
      {"aten::select_backward", view_backward},
      {"aten::slice_backward", view_backward},
      {"aten::remainder.Scalar", with_numbers},
      {"aten::floor_divide.Scalar", with_numbers},
      {"aten::floor_divide", same_type<2>},
      {"aten::mm", product<2>},
      {"aten::bmm", product<3>},
      {"aten::gelu", gelu},
      {"aten::mse_loss", mse_loss},
      {"aten::leaky_relu", with_numbers},
      {"aten::softshrink", with_numbers},
      {"aten::frac", same_type<1>},
      {"aten::abs", absolute},
      {"aten::isnan", test},
      {"aten::isinf", test},
      {"aten::arange", arange<1>},
      {"aten::arange.start", arange<2>},
      {"aten::arange.start_step", arange<3>},
      {"aten::randn", of_sizes},
      {"aten::var.correction", variance},
      {"aten::std.correction", variance},
      {"aten::sort", sort},
      {"aten::flip", reordered<1>},
      {"aten::roll", reordered<2>},
      {"aten::repeat", repeat},
      {"aten::index_put", put},
      {"aten::_index_put_impl", put},
      {"aten::_unsafe_index_put", put},
      {"aten::relu", same_type<1>},
      {"aten::hardswish", same_type<1>},
      {"aten::hardswish_backward", same_type<2>},
      {"aten::hardtanh", same_type<1>},
      {"aten::hardtanh_backward", same_type<2>},
      {"aten::mse_loss_backward", same_type<3>},
      {"aten::huber_loss_backward", same_type<3>},
      {"aten::smooth_l1_loss_backward", same_type<3>},
      {"aten::masked_fill.Scalar", masked_fill},
      {"aten::where.self", where},
      {"aten::mean", mean},
      {"aten::zero", filled},
      {"aten::fill.Scalar", filled},
      {"aten::ones_like", like<1>},
      {"aten::zeros_like", like<1>},
      {"aten::full_like", like<2>},
      {"aten::stack", stack_tensors},
      {"aten::native_dropout", dropout},
      {"aten::native_dropout_backward", dropout_backward},
      {"aten::logical_and", truth},
      {"aten::logical_or", truth},
      {"aten::logical_xor", truth},
  };
  if (std::string_view(overload).starts_with("aten::_foreach_"))
    return changes_shape(overload) ? nullptr : foreach_like;
  const auto found = table.find(overload);
  return found == table.end() ? nullptr : found->second;
}

} // namespace torch_tpu
