#include "cpu/kernels.h"

const tt_cpu_kernel_info tt_cpu_kernels[TT_HLO_OP_COUNT] = {
#define X(id, function, check, traits) [TT_HLO_##id] = {tt_cpu_kernel_##function, check, traits},
#include "cpu/kernels.def"
#undef X
};
