/* linalg.h: matrices of double and of complex double, dense and row-major, in place. */
#ifndef TT_CPU_KERNELS_LINALG_H
#define TT_CPU_KERNELS_LINALG_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

typedef double tt_cpu_real;
typedef double _Complex tt_cpu_complex;

#define TT_CPU_LINALG(NAME, T)                                                                    \
  /* The lower factor, from the lower triangle; zeros above. false: not positive definite. */     \
  bool tt_cpu_cholesky_##NAME(T *a, int64_t n);                                                   \
  /* x[n, columns] with m x = x as it was; m is lower, or upper, and where `unit` has ones on its \
   * diagonal. */                                                                                 \
  void tt_cpu_solve_##NAME(const T *m, int64_t n, bool lower, bool unit, T *x, int64_t columns);  \
  /* As LAPACK's geqrf: R, and below it the reflectors without their ones; taus[min(m, n)].       \
   * `row`: n elements of scratch. */                                                             \
  void tt_cpu_qr_##NAME(T *a, int64_t m, int64_t n, T *taus, T *row);                             \
  /* As orgqr: the first n columns of the product of k reflectors of a[m, n], into q[m, n]. */    \
  void tt_cpu_reflect_##NAME(const T *a, int64_t m, int64_t n, const T *taus, int64_t k, T *q,    \
                             T *row);                                                             \
  /* Eigenvalues on the diagonal of a, which is whole and hermitian; eigenvectors are v's         \
   * columns. */                                                                                  \
  void tt_cpu_eigh_##NAME(T *a, int64_t n, T *v);

TT_CPU_LINALG(real, tt_cpu_real)
TT_CPU_LINALG(complex, tt_cpu_complex)

#endif /* TT_CPU_KERNELS_LINALG_H */
