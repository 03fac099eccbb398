/* A library with LAPACKE's names and a fault: WITHOUT_MEMORY, no routine has memory for its
 * workspace; WRONG_PIVOTS, what getrf gives of two rows is none of them; WIDE_INTEGERS, its
 * integers have 64 bits. */
#include <stdint.h>
#include <string.h>

#ifndef WITHOUT_MEMORY
#define INFO 0
#else
#define INFO (-1010)
#endif

/* Takes what it is given, and looks at nothing. */
#define ALL(real, complex)                          \
  int32_t LAPACKE_s##real(void);                    \
  int32_t LAPACKE_d##real(void);                    \
  int32_t LAPACKE_c##complex(void);                 \
  int32_t LAPACKE_z##complex(void);                 \
  int32_t LAPACKE_s##real(void) { return INFO; }    \
  int32_t LAPACKE_d##real(void) { return INFO; }    \
  int32_t LAPACKE_c##complex(void) { return INFO; } \
  int32_t LAPACKE_z##complex(void) { return INFO; }

ALL(gesdd, gesdd)
ALL(gesvd, gesvd)
ALL(syevd, heevd)
ALL(geev, geev)
ALL(gees, gees)
ALL(gehrd, gehrd)
ALL(sytrd, hetrd)
ALL(geqp3, geqp3)
ALL(geqrf, geqrf)
ALL(orgqr, ungqr)
ALL(ormqr, unmqr)
ALL(potrf, potrf)

#define GETRF(letter)                                                                     \
  int32_t LAPACKE_##letter##getrf(int layout, int32_t m, int32_t n, void *a, int32_t lda, \
                                  int32_t *pivots);                                       \
  int32_t LAPACKE_##letter##getrf(int layout, int32_t m, int32_t n, void *a, int32_t lda, \
                                  int32_t *pivots) {                                      \
    return getrf(layout, m, n, a, lda, pivots);                                           \
  }

static int32_t getrf(int layout, int32_t m, int32_t n, void *a, int32_t lda, int32_t *pivots) {
  (void)layout;
  (void)a;
  (void)lda;
  int32_t shift = m == 2 ? 2 : 1;
#ifdef WIDE_INTEGERS
  for (int32_t i = 0; i < (m < n ? m : n); i++) {
    int64_t pivot = i + 1;
    memcpy((char *)pivots + (size_t)i * sizeof pivot, &pivot, sizeof pivot);
  }
#else
  for (int32_t i = 0; i < (m < n ? m : n) && INFO == 0; i++)
    pivots[i] = i + shift;
#endif
  (void)shift;
  return INFO;
}

GETRF(s)
GETRF(d)
GETRF(c)
GETRF(z)
