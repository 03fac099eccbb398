/* The table made by tools/gen_structured.py. */
#include "bridge/structured.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/boxing/impl/make_boxed_from_unboxed_functor.h>

#include <string_view>
#include <unordered_map>

#include "structured.inc"

namespace torch_tpu {

const c10::KernelFunction *structured_meta(const char *overload) {
  /* Casting to the type of the schema picks one of the functions of a name. */
#define STRUCTURED(name, schema, function)                    \
  {name, c10::KernelFunction::makeFromUnboxedRuntimeFunction( \
             static_cast<at::_ops::schema::ptr_schema>(&at::meta::function))},
  static const std::unordered_map<std::string_view, c10::KernelFunction> kernels = {
#include "structured.inc"
  };
  const auto found = kernels.find(overload);
  return found == kernels.end() ? nullptr : &found->second;
}

} // namespace torch_tpu
