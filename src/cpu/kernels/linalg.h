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
  void tt_cpu_eigh_##NAME(T *a, int64_t n, T *v);                                                 \
  /* As gehrd: the Hessenberg form, and below it the reflectors; taus[n - 1]. */                  \
  void tt_cpu_hessenberg_##NAME(T *a, int64_t n, T *taus, T *row);                                \
  /* c[m, n] = q c, or q^H c, for the product q of k reflectors, the columns of a[m, columns]. */ \
  void tt_cpu_reflected_##NAME(const T *a, int64_t m, int64_t columns, const T *taus, int64_t k,  \
                               bool adjoint, T *c, int64_t n, T *row);                            \
  /* As getrf: pivots[min(m, n)] from 0. false: some pivot is 0. */                               \
  bool tt_cpu_lu_##NAME(T *a, int64_t m, int64_t n, int32_t *pivots);                             \
  /* a[rows, n], rows <= n, becomes u^H a: orthogonal rows, longest first, whose lengths go to    \
   * s[rows]; u[rows, rows] gets u^H. */                                                          \
  void tt_cpu_svd_##NAME(T *a, int64_t rows, int64_t n, double *s, T *u);                         \
  /* As gtsv: x[n, columns], its diagonals lower, main, upper[n], lower from 1. They are spoiled. \
   * A pivot of 0 becomes `tiny`; false: where that is 0 too. */                                  \
  bool tt_cpu_tridiagonal_##NAME(T *lower, T *main, T *upper, int64_t n, T *x, int64_t columns,   \
                                 double tiny);

TT_CPU_LINALG(real, tt_cpu_real)
TT_CPU_LINALG(complex, tt_cpu_complex)

/* a becomes upper triangular t, and v gets the unitary matrix with a = v t v^H. false: no
 * convergence. `row`: 2 n elements of scratch. */
bool tt_cpu_schur(tt_cpu_complex *a, int64_t n, tt_cpu_complex *v, tt_cpu_complex *row);
/* x's columns are the right, or left, eigenvectors of v t v^H, of length 1 and with a largest
 * component that is real. `column`: n elements of scratch. */
void tt_cpu_eigenvectors(const tt_cpu_complex *t, const tt_cpu_complex *v, int64_t n, bool left,
                         tt_cpu_complex *x, tt_cpu_complex *column);

#endif /* TT_CPU_KERNELS_LINALG_H */
