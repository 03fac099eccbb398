/* Libraries with faults. Each needs a process of its own, for one is opened in a process: ctest
 * runs these tests with TT_CPU_LAPACK. */
#include <string.h>

#include "kernel_test.h"
#include "test.h"

#define EYE "%a = stablehlo.constant dense<[[2.0, 0.0], [0.0, 3.0]]> : tensor<2x2xf64>\n"
#define C_EYE                                                                              \
  "%a = stablehlo.constant dense<[[(2.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (3.0, 0.0)]]> : " \
  "tensor<2x2xcomplex<f64>>\n"
#define T22 "tensor<2x2xf64>"
#define T2 "tensor<2xf64>"
#define CT22 "tensor<2x2xcomplex<f64>>"
#define CT2 "tensor<2xcomplex<f64>>"
#define INFO "tensor<i32>"
#define LU                                                                      \
  {"LuDecomposition",                                                           \
   EYE "%r:3 = stablehlo.custom_call @LuDecomposition(%a) : (" T22 ") -> (" T22 \
       ", tensor<2xi32>, tensor<2xi32>)\nreturn %r#2 : tensor<2xi32>",          \
   "tensor<2xi32>", "", 0}

/* Is the library of this process the one with that fault? */
static bool has_fault(const char *fault) {
  const char *path = getenv("TT_CPU_LAPACK");
  return path != NULL && strstr(path, fault) != NULL;
}

static const kernel_case routines[] = {
    LU,
    {"getrf",
     EYE "%r:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a) : (" T22 ") -> (" T22
         ", tensor<2xi32>, " INFO ")\nreturn %r#2 : " INFO,
     INFO, "", 0},
    {"geqrf",
     EYE "%r:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%a) : (" T22 ") -> (" T22 ", " T2
         ")\nreturn %r#1 : " T2,
     T2, "", 0},
    {"orgqr",
     EYE "%t = stablehlo.constant dense<0.0> : " T2
         "\n%r = stablehlo.custom_call @lapack_dorgqr_ffi(%a, %t) : (" T22 ", " T2 ") -> " T22
         "\nreturn %r : " T22,
     T22, "", 0},
    {"ormqr",
     EYE "%t = stablehlo.constant dense<0.0> : " T2
         "\n%r = stablehlo.custom_call @lapack_dormqr_ffi(%a, %t, %a) {backend_config = {left = "
         "true, transpose = false}} : (" T22 ", " T2 ", " T22 ") -> " T22 "\nreturn %r : " T22,
     T22, "", 0},
    {"geqp3",
     EYE "%p = stablehlo.constant dense<0> : tensor<2xi32>\n%r:3 = stablehlo.custom_call "
         "@lapack_dgeqp3_ffi(%a, %p) : (" T22 ", tensor<2xi32>) -> (" T22 ", tensor<2xi32>, " T2
         ")\nreturn %r#2 : " T2,
     T2, "", 0},
    {"cholesky", EYE "%r = stablehlo.cholesky %a, lower = true : " T22 "\nreturn %r : " T22, T22,
     "", 0},
    {"potrf",
     EYE "%r:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a) {backend_config = {uplo = 76 : ui8}} "
         ": (" T22 ") -> (" T22 ", " INFO ")\nreturn %r#0 : " T22,
     T22, "", 0},
    {"gesdd",
     EYE "%r:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%a) {backend_config = {mode = 65 : ui8}} "
         ": (" T22 ") -> (" T22 ", " T2 ", " T22 ", " T22 ", " INFO ")\nreturn %r#1 : " T2,
     T2, "", 0},
    {"gesvd",
     EYE "%r:5 = stablehlo.custom_call @lapack_dgesvd_ffi(%a) {backend_config = {mode = 65 : ui8}} "
         ": (" T22 ") -> (" T22 ", " T2 ", " T22 ", " T22 ", " INFO ")\nreturn %r#1 : " T2,
     T2, "", 0},
    {"syevd",
     EYE "%r:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%a) : (" T22 ") -> (" T22 ", " T2
         ", " INFO ")\nreturn %r#1 : " T2,
     T2, "", 0},
    {"sytrd",
     EYE "%r:5 = stablehlo.custom_call @lapack_dsytrd_ffi(%a) : (" T22 ") -> (" T22 ", " T2
         ", tensor<1xf64>, tensor<1xf64>, " INFO ")\nreturn %r#1 : " T2,
     T2, "", 0},
    {"gehrd",
     EYE
     "%r:3 = stablehlo.custom_call @lapack_dgehrd_ffi(%a) {backend_config = {high = 2 : i32, low "
     "= 1 : i32}} : (" T22 ") -> (" T22 ", tensor<1xf64>, " INFO ")\nreturn %r#0 : " T22,
     T22, "", 0},
    {"geev, real",
     EYE "%r:5 = stablehlo.custom_call @lapack_dgeev_ffi(%a) : (" T22 ") -> (" T2 ", " T2 ", " CT22
         ", " CT22 ", " INFO ")\nreturn %r#2 : " CT22,
     CT22, "", 0},
    {"geev, complex",
     C_EYE "%r:4 = stablehlo.custom_call @lapack_zgeev_ffi(%a) : (" CT22 ") -> (" CT2 ", " CT22
           ", " CT22 ", " INFO ")\nreturn %r#0 : " CT2,
     CT2, "", 0},
    {"gees, real",
     EYE "%r:6 = stablehlo.custom_call @lapack_dgees_ffi(%a) : (" T22 ") -> (" T22 ", " T22 ", " T2
         ", " T2 ", " INFO ", " INFO ")\nreturn %r#0 : " T22,
     T22, "", 0},
    {"gees, complex",
     C_EYE "%r:5 = stablehlo.custom_call @lapack_zgees_ffi(%a) : (" CT22 ") -> (" CT22 ", " CT22
           ", " CT2 ", " INFO ", " INFO ")\nreturn %r#0 : " CT22,
     CT22, "", 0},
};

TEST_WITHOUT_TORTURE(cpu_lapack, without_memory) {
  if (!has_fault("without_memory"))
    SKIP("TT_CPU_LAPACK is not the library for it");
  for (size_t i = 0; i < TT_COUNT(routines); i++)
    kernel_expect_failure(&routines[i], TT_RESOURCE_EXHAUSTED, "no memory for its workspace");
out:;
}

TEST_WITHOUT_TORTURE(cpu_lapack, wrong_pivots) {
  static const kernel_case lu = LU;
  if (!has_fault("wrong_pivots"))
    SKIP("TT_CPU_LAPACK is not the library for it");
  kernel_expect_failure(&lu, TT_INTERNAL, "getrf gives row 3 of 2");
out:;
}

/* Such a library is not used: plain C factors the matrix, and what needs LAPACK says why not. */
TEST_WITHOUT_TORTURE(cpu_lapack, wide_integers) {
  static const kernel_case lu = {
      "LuDecomposition",
      EYE "%r:3 = stablehlo.custom_call @LuDecomposition(%a) : (" T22 ") -> (" T22
          ", tensor<2xi32>, tensor<2xi32>)\nreturn %r#1, %r#2 : tensor<2xi32>, tensor<2xi32>",
      "(tensor<2xi32>, tensor<2xi32>)", "0 1 0 1", 0};
  if (!has_fault("wide_integers"))
    SKIP("TT_CPU_LAPACK is not the library for it");
  kernel_expect(&lu, 1);
  kernel_expect_refused(&routines[5], "whose integers have 64 bits, not 32");
out:;
}
