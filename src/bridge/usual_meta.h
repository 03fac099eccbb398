/* usual_meta.h: what calls of the usual form return, where PyTorch's own answer is a Python
 * function that takes longer than compiling and running the call. */
#ifndef TT_BRIDGE_USUAL_META_H
#define TT_BRIDGE_USUAL_META_H

#include <ATen/core/stack.h>

namespace torch_tpu {

/* Puts the results in the place of the arguments, all on `meta`; false where the call is not of the
 * usual form: then nothing is changed. Throws what the CPU throws where the meta kernel does not
 * look; what else is wrong is not usual. */
using UsualMeta = bool (*)(torch::jit::Stack *stack);
/* NULL where there is none for the overload. */
UsualMeta usual_meta(const char *overload);

} // namespace torch_tpu

#endif /* TT_BRIDGE_USUAL_META_H */
