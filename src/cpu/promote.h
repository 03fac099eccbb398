/* promote.h: matrix products and convolutions of integers whose result is a float.
 *
 * XLA takes them, and JAX sends them for `preferred_element_type`; the specification does not. The
 * operands are converted first, so that kernels see floats only. */
#ifndef TT_CPU_PROMOTE_H
#define TT_CPU_PROMOTE_H

#include "hlo/hlo.h"

TT_NODISCARD tt_error *tt_cpu_promote(tt_hlo_module *module);

#endif /* TT_CPU_PROMOTE_H */
