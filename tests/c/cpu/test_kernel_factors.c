/* Custom calls of linear algebra, by the names of XLA and of JAX. TT_CPU_LAPACK names a library to
 * try the same on. */
#include "kernel_test.h"
#include "test.h"

#define COUNT(cases) (int)(sizeof cases / sizeof *cases)
#define A22 "%a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>\n"
#define WIDE \
  "%a = stablehlo.constant dense<[[3.0, 0.0, 4.0], [0.0, -2.0, 0.0]]> : tensor<2x3xf64>\n"
/* %c = %x %y */
#define PRODUCT(c, x, xt, y, yt, ct)                                                          \
  "%" c " = stablehlo.dot_general %" x ", %" y ", contracting_dims = [1] x [0] : (tensor<" xt \
  ">, tensor<" yt ">) -> tensor<" ct ">\n"
#define SCALE(c, x, xt, s, n)                                                               \
  "%" c "s = stablehlo.broadcast_in_dim %" s ", dims = [1] : (tensor<" n ">) -> tensor<" xt \
  ">\n%" c " = stablehlo.multiply %" x ", %" c "s : tensor<" xt ">\n"

static const kernel_case triangular[] = {
    {"getrf",
     A22 "%r:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a) : (tensor<2x2xf64>) -> "
         "(tensor<2x2xf64>, tensor<2xi32>, tensor<i32>)\nreturn %r#0, %r#1, %r#2 : "
         "tensor<2x2xf64>, tensor<2xi32>, tensor<i32>",
     "(tensor<2x2xf64>, tensor<2xi32>, tensor<i32>)", "3 4 0.33333333333333 0.66666666666667 2 2 0",
     1e-12},
    {"getrf of a singular matrix, in a stack",
     "%a = stablehlo.constant dense<[[[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]]]> : "
     "tensor<2x2x2xf32>\n%r:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%a) : "
     "(tensor<2x2x2xf32>) -> (tensor<2x2x2xf32>, tensor<2x2xi32>, tensor<2xi32>)\n"
     "return %r#1, %r#2 : tensor<2x2xi32>, tensor<2xi32>",
     "(tensor<2x2xi32>, tensor<2xi32>)", "2 2 2 2 2 0", 0},
    {"LuDecomposition",
     "%a = stablehlo.constant dense<[[0.0], [4.0], [2.0]]> : tensor<3x1xf32>\n"
     "%r:3 = stablehlo.custom_call @LuDecomposition(%a) : (tensor<3x1xf32>) -> (tensor<3x1xf32>, "
     "tensor<1xi32>, tensor<3xi32>)\nreturn %r#0, %r#1, %r#2 : tensor<3x1xf32>, tensor<1xi32>, "
     "tensor<3xi32>",
     "(tensor<3x1xf32>, tensor<1xi32>, tensor<3xi32>)", "4 0 0.5 1 1 0 2", 1e-6},
    {"potrf, upper",
     "%a = stablehlo.constant dense<[[4.0, 2.0], [99.0, 10.0]]> : tensor<2x2xf32>\n"
     "%r:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {backend_config = {uplo = 85 : ui8}} : "
     "(tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)\n"
     "return %r#0, %r#1 : tensor<2x2xf32>, tensor<i32>",
     "(tensor<2x2xf32>, tensor<i32>)", "2 1 0 3 0", 1e-6},
    {"trsm, adjoint, from the right",
     "%a = stablehlo.constant dense<[[(0.0, 2.0)]]> : tensor<1x1xcomplex<f32>>\n"
     "%b = stablehlo.constant dense<[[(2.0, 0.0)], [(0.0, 4.0)]]> : tensor<2x1xcomplex<f32>>\n"
     "%r = stablehlo.custom_call @lapack_ctrsm_ffi(%a, %b) {backend_config = {diag = 78 : ui8, "
     "side = 82 : ui8, trans_x = 67 : ui8, uplo = 76 : ui8}} : (tensor<1x1xcomplex<f32>>, "
     "tensor<2x1xcomplex<f32>>) -> tensor<2x1xcomplex<f32>>\n"
     "return %r : tensor<2x1xcomplex<f32>>",
     "tensor<2x1xcomplex<f32>>", "0 1 -2 0", 1e-6},
    {"gtsv, which must change rows",
     "%l = stablehlo.constant dense<[0.0, 1.0, 1.0]> : tensor<3xf64>\n"
     "%d = stablehlo.constant dense<[0.0, 1.0, 2.0]> : tensor<3xf64>\n"
     "%u = stablehlo.constant dense<[1.0, 3.0, 0.0]> : tensor<3xf64>\n"
     "%b = stablehlo.constant dense<[[2.0], [12.0], [8.0]]> : tensor<3x1xf64>\n"
     "%r:5 = stablehlo.custom_call @lapack_dgtsv_ffi(%l, %d, %u, %b) : (tensor<3xf64>, "
     "tensor<3xf64>, tensor<3xf64>, tensor<3x1xf64>) -> (tensor<3xf64>, tensor<3xf64>, "
     "tensor<3xf64>, tensor<3x1xf64>, tensor<i32>)\nreturn %r#3, %r#4 : tensor<3x1xf64>, "
     "tensor<i32>",
     "(tensor<3x1xf64>, tensor<i32>)", "1 2 3 0", 1e-12},
};

TEST(cpu_kernel_factors, triangular) { kernel_expect(triangular, COUNT(triangular)); }

static const kernel_case orthogonal[] = {
    {"ormqr takes a matrix to its r",
     A22 "%q:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%a) : (tensor<2x2xf64>) -> "
         "(tensor<2x2xf64>, tensor<2xf64>)\n%r = stablehlo.custom_call @lapack_dormqr_ffi(%q#0, "
         "%q#1, %a) {backend_config = {left = true, transpose = true}} : (tensor<2x2xf64>, "
         "tensor<2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>\nreturn %r : tensor<2x2xf64>",
     "tensor<2x2xf64>", "-3.1622776601683795 -4.427188724235731 0 -0.6324555320336759", 1e-12},
    {"ormqr from the right undoes orgqr",
     A22 "%q:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%a) : (tensor<2x2xf64>) -> "
         "(tensor<2x2xf64>, tensor<2xf64>)\n%o = stablehlo.custom_call @lapack_dorgqr_ffi(%q#0, "
         "%q#1) : (tensor<2x2xf64>, tensor<2xf64>) -> tensor<2x2xf64>\n%r = stablehlo.custom_call "
         "@lapack_dormqr_ffi(%q#0, %q#1, %o) {backend_config = {left = false, transpose = true}} : "
         "(tensor<2x2xf64>, tensor<2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>\n"
         "return %r : tensor<2x2xf64>",
     "tensor<2x2xf64>", "1 0 0 1", 1e-12},
    {"gehrd keeps the trace",
     "%a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [3.0, 4.0, 5.0], [4.0, 5.0, 6.0]]> : "
     "tensor<3x3xf64>\n%r:3 = stablehlo.custom_call @lapack_dgehrd_ffi(%a) {backend_config = "
     "{high = 3 : i32, low = 1 : i32}} : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<2xf64>, "
     "tensor<i32>)\n%s = stablehlo.slice %r#0 [0:2, 0:1] : (tensor<3x3xf64>) -> tensor<2x1xf64>\n"
     "return %s, %r#2 : tensor<2x1xf64>, tensor<i32>",
     "(tensor<2x1xf64>, tensor<i32>)", "1 -5 0", 1e-12},
};

TEST(cpu_kernel_factors, orthogonal) { kernel_expect(orthogonal, COUNT(orthogonal)); }

#define SVD(name, letter, mode, u, vt)                                                             \
  "%r:5 = stablehlo.custom_call @lapack_" letter name "_ffi(%a) {backend_config = {mode = " mode   \
  " : ui8}} : (tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2xf64>, tensor<" u "xf64>, tensor<" vt \
  "xf64>, tensor<i32>)\n"

static const kernel_case singular[] = {
    {"gesdd, slim",
     WIDE SVD("gesdd", "d", "83", "2x2", "2x3") SCALE("us", "r#2", "2x2xf64", "r#1", "2xf64")
         PRODUCT("p", "us", "2x2xf64", "r#3", "2x3xf64",
                 "2x3xf64") "return %r#1, %p, %r#4 : tensor<2xf64>, tensor<2x3xf64>, tensor<i32>",
     "(tensor<2xf64>, tensor<2x3xf64>, tensor<i32>)", "5 2 3 0 4 0 -2 0 0", 1e-12},
    {"gesvd, full: vt is orthogonal",
     WIDE SVD("gesvd", "d", "65", "2x2",
              "3x3") "%t = stablehlo.transpose %r#3, dims = [1, 0] : (tensor<3x3xf64>) -> "
                     "tensor<3x3xf64>\n" PRODUCT(
                         "p", "r#3", "3x3xf64", "t", "3x3xf64",
                         "3x3xf64") "return %r#1, %p, %r#4 : tensor<2xf64>, "
                                    "tensor<3x3xf64>, tensor<i32>",
     "(tensor<2xf64>, tensor<3x3xf64>, tensor<i32>)", "5 2 1 0 0 0 1 0 0 0 1 0", 1e-12},
    {"no vectors, of rank 1",
     "%a = stablehlo.constant dense<1.0> : tensor<2x3xf64>\n" SVD(
         "gesdd", "d", "78", "2x2", "2x3") "return %r#1, %r#3 : tensor<2xf64>, tensor<2x3xf64>",
     "(tensor<2xf64>, tensor<2x3xf64>)", "2.449489742783178 0 0 0 0 0 0 0", 1e-12},
};

TEST(cpu_kernel_factors, singular_values) { kernel_expect(singular, COUNT(singular)); }

static const kernel_case eigen[] = {
    {"syevd",
     "%a = stablehlo.constant dense<[[2.0, 1.0], [99.0, 2.0]]> : tensor<2x2xf64>\n"
     "%r:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%a) {backend_config = {mode = 86 : ui8, uplo "
     "= 85 : ui8}} : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2xf64>, tensor<i32>)\n%s = "
     "stablehlo.multiply %r#0, %r#0 : tensor<2x2xf64>\n"
     "return %s, %r#1, %r#2 : tensor<2x2xf64>, tensor<2xf64>, tensor<i32>",
     "(tensor<2x2xf64>, tensor<2xf64>, tensor<i32>)", "0.5 0.5 0.5 0.5 1 3 0", 1e-12},
    {"geev of a rotation, times i",
     "%a = stablehlo.constant dense<[[0.0, -1.0], [1.0, 0.0]]> : tensor<2x2xf64>\n"
     "%r:5 = stablehlo.custom_call @lapack_dgeev_ffi(%a) {backend_config = {compute_left = 78 : "
     "ui8, compute_right = 86 : ui8}} : (tensor<2x2xf64>) -> (tensor<2xf64>, tensor<2xf64>, "
     "tensor<2x2xcomplex<f64>>, tensor<2x2xcomplex<f64>>, tensor<i32>)\n%w = stablehlo.multiply "
     "%r#1, %r#1 : tensor<2xf64>\n%v = stablehlo.abs %r#3 : (tensor<2x2xcomplex<f64>>) -> "
     "tensor<2x2xf64>\nreturn %r#0, %w, %r#2, %v : tensor<2xf64>, tensor<2xf64>, "
     "tensor<2x2xcomplex<f64>>, tensor<2x2xf64>",
     "(tensor<2xf64>, tensor<2xf64>, tensor<2x2xcomplex<f64>>, tensor<2x2xf64>)",
     "0 0 1 1 0 0 0 0 0 0 0 0 0.70710678118655 0.70710678118655 0.70710678118655 "
     "0.70710678118655",
     1e-12},
    {"geev of what is not finite",
     "%a = stablehlo.constant dense<0x7FC00000> : tensor<2x2xf32>\n%r:5 = stablehlo.custom_call "
     "@lapack_sgeev_ffi(%a) {backend_config = {compute_left = 78 : ui8, compute_right = 78 : "
     "ui8}} : (tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2x2xcomplex<f32>>, "
     "tensor<2x2xcomplex<f32>>, tensor<i32>)\nreturn %r#4 : tensor<i32>",
     "tensor<i32>", "-4", 0},
    {"gees, complex: t is upper triangular, z t z^H is a",
     "%a = stablehlo.constant dense<[[(1.0, 0.0), (0.0, 2.0)], [(3.0, 0.0), (4.0, -1.0)]]> : "
     "tensor<2x2xcomplex<f64>>\n%r:5 = stablehlo.custom_call @lapack_zgees_ffi(%a) "
     "{backend_config = {mode = 86 : ui8, sort = 78 : ui8}} : (tensor<2x2xcomplex<f64>>) -> "
     "(tensor<2x2xcomplex<f64>>, tensor<2x2xcomplex<f64>>, tensor<2xcomplex<f64>>, tensor<i32>, "
     "tensor<i32>)\n%re = stablehlo.real %r#1 : (tensor<2x2xcomplex<f64>>) -> tensor<2x2xf64>\n"
     "%im = stablehlo.imag %r#1 : (tensor<2x2xcomplex<f64>>) -> tensor<2x2xf64>\n%mi = "
     "stablehlo.negate %im : tensor<2x2xf64>\n%cz = stablehlo.complex %re, %mi : "
     "tensor<2x2xcomplex<f64>>\n%h = stablehlo.transpose %cz, dims = [1, 0] : "
     "(tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>\n" PRODUCT(
         "zt", "r#1", "2x2xcomplex<f64>", "r#0", "2x2xcomplex<f64>", "2x2xcomplex<f64>")
         PRODUCT("p", "zt", "2x2xcomplex<f64>", "h", "2x2xcomplex<f64>",
                 "2x2xcomplex<f64>") "%low = stablehlo.slice %r#0 [1:2, 0:1] : "
                                     "(tensor<2x2xcomplex<f64>>) -> "
                                     "tensor<1x1xcomplex<f64>>\nreturn %p, %low, %r#4 : "
                                     "tensor<2x2xcomplex<f64>>, "
                                     "tensor<1x1xcomplex<f64>>, tensor<i32>",
     "(tensor<2x2xcomplex<f64>>, tensor<1x1xcomplex<f64>>, tensor<i32>)", "1 0 0 2 3 0 4 -1 0 0 0",
     1e-12},
};

TEST(cpu_kernel_factors, eigenvalues) { kernel_expect(eigen, COUNT(eigen)); }

static const kernel_case empty[] = {
    {"LuDecomposition: the rows stay",
     "%a = stablehlo.constant dense<1.0> : tensor<3x0xf32>\n%r:3 = stablehlo.custom_call "
     "@LuDecomposition(%a) : (tensor<3x0xf32>) -> (tensor<3x0xf32>, tensor<0xi32>, tensor<3xi32>)\n"
     "return %r#2 : tensor<3xi32>",
     "tensor<3xi32>", "0 1 2", 0},
    {"no reflectors change nothing",
     "%a = stablehlo.constant dense<1.0> : tensor<2x0xf32>\n%t = stablehlo.constant dense<1.0> : "
     "tensor<0xf32>\n%c = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>\n"
     "%r = stablehlo.custom_call @lapack_sormqr_ffi(%a, %t, %c) {backend_config = {left = true, "
     "transpose = false}} : (tensor<2x0xf32>, tensor<0xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>\n"
     "return %r : tensor<2x1xf32>",
     "tensor<2x1xf32>", "1 2", 0},
    {"gesdd, full: any basis",
     "%a = stablehlo.constant dense<1.0> : tensor<2x0xf32>\n%r:5 = stablehlo.custom_call "
     "@lapack_sgesdd_ffi(%a) {backend_config = {mode = 65 : ui8}} : (tensor<2x0xf32>) -> "
     "(tensor<2x0xf32>, tensor<0xf32>, tensor<2x2xf32>, tensor<0x0xf32>, tensor<i32>)\n"
     "return %r#2, %r#4 : tensor<2x2xf32>, tensor<i32>",
     "(tensor<2x2xf32>, tensor<i32>)", "1 0 0 1 0", 0},
    {"no matrices",
     "%a = stablehlo.constant dense<1.0> : tensor<0x2x2xf32>\n%r:3 = stablehlo.custom_call "
     "@lapack_ssyevd_ffi(%a) : (tensor<0x2x2xf32>) -> (tensor<0x2x2xf32>, tensor<0x2xf32>, "
     "tensor<0xi32>)\nreturn %r#1 : tensor<0x2xf32>",
     "tensor<0x2xf32>", "", 0},
};

TEST(cpu_kernel_factors, empty) { kernel_expect(empty, COUNT(empty)); }

static const kernel_case others[] = {
    {"ApproxTopK",
     "%a = stablehlo.constant dense<[3.0, 9.0, 1.0, 9.0]> : tensor<4xf32>\n"
     "%i = stablehlo.iota dim = 0 : tensor<4xi32>\n"
     "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
     "%none = stablehlo.constant dense<-1> : tensor<i32>\n"
     "%r:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %low, %none) {backend_config = "
     "{aggregate_to_topk = true, reduction_dim = 0 : i64, top_k = 3 : i64}} : (tensor<4xf32>, "
     "tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)\n"
     "return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>",
     "(tensor<3xf32>, tensor<3xi32>)", "9 9 3 1 3 0", 0},
    {"a marker, and layouts that say nothing here",
     A22 "%r = stablehlo.custom_call @Sharding(%a) {operand_layouts = [dense<[0, 1]> : "
         "tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : "
         "(tensor<2x2xf64>) -> tensor<2x2xf64>\nreturn %r : tensor<2x2xf64>",
     "tensor<2x2xf64>", "1 2 3 4", 0},
    {"a product of integers in floats",
     "%a = stablehlo.constant dense<[[100, 100]]> : tensor<1x2xi8>\n"
     "%r = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<1x2xi8>, "
     "tensor<1x2xi8>) -> tensor<1x1xf32>\nreturn %r : tensor<1x1xf32>",
     "tensor<1x1xf32>", "20000", 0},
};

TEST(cpu_kernel_factors, others) { kernel_expect(others, COUNT(others)); }

#define REFUSED(name, dtype, result)                                                               \
  {name,                                                                                           \
   "%a = stablehlo.constant dense<1.0> : tensor<2x3x" dtype ">\n%r = stablehlo.custom_call @" name \
   "(%a) : (tensor<2x3x" dtype ">) -> tensor<" result ">\nreturn %r : tensor<" result ">",         \
   "tensor<" result ">", "", 0}

TEST(cpu_kernel_factors, refused) {
  static const kernel_case unknown[] = {REFUSED("lapack_dgetrf_ffi", "f32", "2x3xf32"),
                                        REFUSED("getrf", "f32", "2x3xf32"),
                                        REFUSED("lapack_sgetr_ffi", "f32", "2x3xf32")};
  static const kernel_case types[] = {REFUSED("lapack_sgetrf_ffi", "f32", "2x3xf32"),
                                      REFUSED("lapack_dorgqr_ffi", "f64", "2x3xf64"),
                                      REFUSED("Eigh", "f64", "2x3xf64")};
  for (int i = 0; i < COUNT(unknown); i++)
    kernel_expect_refused(&unknown[i], "is not implemented for f32");
  for (int i = 0; i < COUNT(types); i++)
    kernel_expect_refused(&types[i], "for these types");
}
