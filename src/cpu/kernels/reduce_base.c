#include <math.h>
#include <string.h>

#include "cpu/kernels/reduce.h"
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")

#define FIND tt_cpu_reducers_base
#include "cpu/kernels/reduce.inc"
