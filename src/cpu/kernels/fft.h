/* fft.h: transforms of several lines side by side, compiled for each instruction set. */
#ifndef TT_CPU_KERNELS_FFT_H
#define TT_CPU_KERNELS_FFT_H

#include "cpu/kernel.h"

typedef struct tt_cpu_fft_number {
  double real, imag;
} tt_cpu_fft_number;

/* A prime is small that is at most RADIX; an int64_t has at most FACTORS. */
enum { TT_CPU_FFT_RADIX = 127, TT_CPU_FFT_FACTORS = 64, TT_CPU_FFT_LANES = 8 };

/* Transforms of one length. */
typedef struct tt_cpu_fft {
  int64_t n, padded; /* padded: the length that is worked in */
  int factors_count;
  int8_t factors[TT_CPU_FFT_FACTORS]; /* of padded */
  tt_cpu_fft_number *roots;           /* exp(-2 pi i k / padded), k < padded */
  tt_cpu_fft_number *chirp,
      *filter; /* exp(-pi i k k / n); the filter's transform. NULL: n is what is worked in */
} tt_cpu_fft;

/* Lines of `lanes` transforms: element k of line l is x[(2 k + 0) lanes + l], its imaginary part
 * x[(2 k + 1) lanes + l]. */
typedef struct tt_cpu_fft_kernel {
  int lanes;
  /* In place; x and spare have room for `padded` elements, and the result is in x. The inverse is
   * divided by n. */
  void (*run)(const tt_cpu_fft *t, bool inverse, double *x, double *spare);
} tt_cpu_fft_kernel;

extern const tt_cpu_fft_kernel tt_cpu_fft_line; /* one line */
/* The most lanes that this processor has registers for. */
const tt_cpu_fft_kernel *tt_cpu_fft_lanes(void);

#endif /* TT_CPU_KERNELS_FFT_H */
