/* library.h: LAPACK, opened at run time: what linear algebra runs on where it is there.
 *
 * Looked for (open.h), once in the process, when the first program that wants it is compiled: the
 * file that TT_CPU_LAPACK or the create option `lapack` names, else that of the package
 * scipy-openblas32. A library counts when it has LAPACKE's interface, its names plain or with the
 * prefix scipy_, and 32-bit integers, which is tried once by a small matrix; CBLAS is used where it
 * is there too. It is told to use one thread, that which calls it, and not to look for NaNs
 * (openblas_set_num_threads, LAPACKE_set_nancheck). Both hold for the library as a whole: whoever
 * else uses the same file in this process shares them. */
#ifndef TT_CPU_LIBRARY_H
#define TT_CPU_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tt_cpu_routine {
#define X(id, real, complex) TT_CPU_##id,
#include "cpu/library.def"
#undef X
  TT_CPU_ROUTINE_COUNT
} tt_cpu_routine;

/* Arrays of any of the four dtypes are void; the return value is LAPACK's info. */
typedef union tt_cpu_routine_call {
  void *address; /* NULL: not there */
  int32_t (*gesdd)(int layout, char job, int32_t m, int32_t n, void *a, int32_t lda, void *s,
                   void *u, int32_t ldu, void *vt, int32_t ldvt);
  int32_t (*gesvd)(int layout, char job_u, char job_vt, int32_t m, int32_t n, void *a, int32_t lda,
                   void *s, void *u, int32_t ldu, void *vt, int32_t ldvt, void *superb);
  int32_t (*heevd)(int layout, char job, char uplo, int32_t n, void *a, int32_t lda, void *w);
  int32_t (*geev_real)(int layout, char left, char right, int32_t n, void *a, int32_t lda, void *wr,
                       void *wi, void *vl, int32_t ldvl, void *vr, int32_t ldvr);
  int32_t (*geev_complex)(int layout, char left, char right, int32_t n, void *a, int32_t lda,
                          void *w, void *vl, int32_t ldvl, void *vr, int32_t ldvr);
  int32_t (*gees_real)(int layout, char job, char sort, void *select, int32_t n, void *a,
                       int32_t lda, int32_t *sdim, void *wr, void *wi, void *vs, int32_t ldvs);
  int32_t (*gees_complex)(int layout, char job, char sort, void *select, int32_t n, void *a,
                          int32_t lda, int32_t *sdim, void *w, void *vs, int32_t ldvs);
  int32_t (*gehrd)(int layout, int32_t n, int32_t low, int32_t high, void *a, int32_t lda,
                   void *taus);
  int32_t (*hetrd)(int layout, char uplo, int32_t n, void *a, int32_t lda, void *d, void *e,
                   void *taus);
  int32_t (*geqp3)(int layout, int32_t m, int32_t n, void *a, int32_t lda, int32_t *pivots,
                   void *taus);
  int32_t (*getrf)(int layout, int32_t m, int32_t n, void *a, int32_t lda, int32_t *pivots);
  int32_t (*geqrf)(int layout, int32_t m, int32_t n, void *a, int32_t lda, void *taus);
  int32_t (*ungqr)(int layout, int32_t m, int32_t n, int32_t k, void *a, int32_t lda,
                   const void *taus);
  int32_t (*unmqr)(int layout, char side, char transpose, int32_t m, int32_t n, int32_t k,
                   const void *a, int32_t lda, const void *taus, void *c, int32_t ldc);
  int32_t (*potrf)(int layout, char uplo, int32_t n, void *a, int32_t lda);
  void (*trsm_f32)(int layout, int side, int uplo, int transpose, int diagonal, int32_t m,
                   int32_t n, float alpha, const void *a, int32_t lda, void *b, int32_t ldb);
  void (*trsm_f64)(int layout, int side, int uplo, int transpose, int diagonal, int32_t m,
                   int32_t n, double alpha, const void *a, int32_t lda, void *b, int32_t ldb);
  void (*trsm_complex)(int layout, int side, int uplo, int transpose, int diagonal, int32_t m,
                       int32_t n, const void *alpha, const void *a, int32_t lda, void *b,
                       int32_t ldb);
} tt_cpu_routine_call;

/* `layout`, and the other enums of CBLAS */
enum { TT_CPU_ROW_MAJOR = 101 };
enum { TT_CPU_NO_TRANS = 111, TT_CPU_TRANS = 112, TT_CPU_CONJ_TRANS = 113 };
enum { TT_CPU_UPPER = 121, TT_CPU_LOWER = 122, TT_CPU_NON_UNIT = 131, TT_CPU_UNIT = 132 };
enum { TT_CPU_LEFT = 141, TT_CPU_RIGHT = 142 };

/* The letter that LAPACK's names have for a dtype; '\0': none. */
char tt_cpu_routine_letter(tt_dtype dtype);
/* The routine for f32, f64, c64 or c128; its address is NULL for other dtypes and without a
 * library. Thread-safe. */
tt_cpu_routine_call tt_cpu_routine_get(tt_cpu_routine routine, tt_dtype dtype);
/* The error of a call that ended with `info` for want of memory, and then has set no results; NULL
 * for all other ends, which are the caller's program's to look at. */
TT_NODISCARD tt_error *tt_cpu_library_status(int32_t info);
/* What keeps `what` from being done without the library: how to get it. UNIMPLEMENTED. */
TT_NODISCARD tt_error *tt_cpu_library_missing(const char *what);

#ifdef __cplusplus
}
#endif

#endif /* TT_CPU_LIBRARY_H */
