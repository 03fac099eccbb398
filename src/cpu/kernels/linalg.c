#pragma GCC optimize("O3")
#include "cpu/kernels/linalg.h"

#include <float.h>
#include <math.h>

#define T tt_cpu_real
#define NAME(x) x##_real
#define CONJ(x) (x)
#define REAL(x) (x)
#define IMAG(x) 0.0
#define ABS(x) fabs(x)
#include "cpu/kernels/linalg.inc"
#undef T
#undef NAME
#undef CONJ
#undef REAL
#undef IMAG
#undef ABS

#define T tt_cpu_complex
#define NAME(x) x##_complex
#define CONJ(x) conj(x)
#define REAL(x) creal(x)
#define IMAG(x) cimag(x)
#define ABS(x) cabs(x)
#include "cpu/kernels/linalg.inc"
