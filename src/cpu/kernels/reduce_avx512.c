#if defined(__x86_64__)
#include <math.h>
#include <string.h>

#include "cpu/kernels/reduce.h"
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#pragma GCC target("arch=skylake-avx512,prefer-vector-width=512")

#define FIND tt_cpu_reducers_avx512
#include "cpu/kernels/reduce.inc"
#else
typedef int tt_cpu_no_reducers_avx512;
#endif
