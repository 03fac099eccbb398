#if defined(__x86_64__)
#include <math.h>
#include <string.h>

#include "cpu/kernels/reduce.h"
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#pragma GCC target("arch=haswell")

#define FIND tt_cpu_reducers_avx2
#include "cpu/kernels/reduce.inc"
#else
typedef int tt_cpu_no_reducers_avx2;
#endif
