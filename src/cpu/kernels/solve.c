/* cholesky and triangular_solve: matrix by matrix; in double where LAPACK is not there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/custom.h"
#include "cpu/kernels/linalg.h"
#include "cpu/library.h"

/* Stacks of matrices: the last two axes of a type. */
typedef struct stack {
  const tt_hlo_type *type;
  int64_t rows, columns, count; /* count: matrices */
} stack;

static stack stack_of(const tt_hlo_type *type) {
  stack s = {type, type->dims[type->rank - 2], type->dims[type->rank - 1], 1};
  for (int32_t i = 0; i < type->rank - 2; i++)
    s.count *= type->dims[i];
  return s;
}

static tt_dtype work_dtype(tt_dtype dtype) { return tt_dtype_is_complex(dtype) ? TT_C128 : TT_F64; }

static tt_error *take(const tt_cpu_args *args, int64_t rows, int64_t columns, void **out_memory) {
  int64_t size = 0;
  bool fits = !__builtin_mul_overflow(rows, columns, &size) &&
              !__builtin_mul_overflow(size, (int64_t)sizeof(tt_cpu_complex), &size);
  *out_memory = fits ? tt_cpu_scratch(args->run, size) : NULL;
  return *out_memory == NULL ? tt_cpu_no_scratch(args->op, fits ? size : INT64_MAX) : NULL;
}

static void load(tt_dtype dtype, const void *array, int64_t at, int64_t count, void *out) {
  tt_cpu_convert(dtype, (const char *)array + at * tt_dtype_bytes(dtype), work_dtype(dtype), out,
                 count);
}

static void store(tt_dtype dtype, const void *in, void *array, int64_t at, int64_t count) {
  tt_cpu_convert(work_dtype(dtype), in, dtype, (char *)array + at * tt_dtype_bytes(dtype), count);
}

/* out[j, i] = conjugate, where asked for, of in[i, j]; elements of 8 or 16 bytes. */
static void transpose(bool is_complex, bool conjugate, const void *in, int64_t rows,
                      int64_t columns, void *out) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      if (is_complex) {
        tt_cpu_complex x = ((const tt_cpu_complex *)in)[i * columns + j];
        ((tt_cpu_complex *)out)[j * rows + i] = conjugate ? conj(x) : x;
      } else {
        ((double *)out)[j * rows + i] = ((const double *)in)[i * columns + j];
      }
    }
}

/* In LAPACK's own order: the other triangle of the transpose would do without a copy, but rounds
 * otherwise than those whom ours is compared with. */
static tt_error *factor(tt_dtype dtype, void *array, int64_t n, bool lower) {
  tt_cpu_routine_call call = tt_cpu_routine_get(TT_CPU_POTRF, dtype);
  int bytes = tt_dtype_bytes(dtype);
  if (n == 0)
    return NULL;
  int32_t info = call.potrf(TT_CPU_ROW_MAJOR, lower ? 'L' : 'U', (int32_t)n, array, (int32_t)n);
  bool definite = info == 0;
  TT_RETURN_IF_ERROR(tt_cpu_library_status(info));
  for (int64_t i = 0; i < n; i++)
    memset((char *)array + (lower ? i * n + i + 1 : i * n) * bytes, 0,
           (size_t)((lower ? n - 1 - i : i) * bytes));
  for (int64_t i = 0; i < n * n && !definite; i++)
    tt_cpu_store(dtype, array, i, (double)NAN, (double)NAN);
  return NULL;
}

tt_error *tt_cpu_cholesky(const tt_cpu_args *args, bool lower) {
  stack s = stack_of(&args->op->operands[0]->type);
  tt_dtype dtype = s.type->dtype;
  bool is_complex = tt_dtype_is_complex(dtype),
       has_library = s.rows <= INT32_MAX && tt_cpu_routine_get(TT_CPU_POTRF, dtype).address != NULL;
  int64_t n = s.rows, bytes = n * n * tt_dtype_bytes(dtype);
  void *a = NULL, *b = NULL;
  TT_RETURN_IF_ERROR(take(args, has_library ? 0 : n, n, &a));
  TT_RETURN_IF_ERROR(take(args, has_library ? 0 : n, n, &b));
  if (has_library && bytes > 0)
    memcpy(args->out[0], args->in[0], (size_t)(bytes * s.count));
  for (int64_t i = 0; i < s.count; i++) {
    if (has_library) {
      TT_RETURN_IF_ERROR(factor(dtype, (char *)args->out[0] + i * bytes, n, lower));
      continue;
    }
    load(dtype, args->in[0], i * n * n, n * n, lower ? a : b);
    if (!lower)
      transpose(is_complex, true, b, n, n, a);
    bool definite = is_complex ? tt_cpu_cholesky_complex(a, n) : tt_cpu_cholesky_real(a, n);
    for (int64_t k = 0; k < n * n && !definite; k++)
      tt_cpu_store(work_dtype(dtype), a, k, (double)NAN, (double)NAN);
    if (!lower)
      transpose(is_complex, true, a, n, n, b);
    store(dtype, lower ? a : b, args->out[0], i * n * n, n * n);
  }
  return NULL;
}

tt_error *tt_cpu_kernel_cholesky(const tt_cpu_args *args) {
  return tt_cpu_cholesky(args, tt_cpu_attr_i64(args->op, TT_HLO_LOWER, 0) != 0);
}

static tt_cpu_solve_form read_form(const tt_hlo_op *op) {
  int64_t kind = tt_cpu_attr_i64(op, TT_HLO_TRANSPOSE_A, TT_HLO_NO_TRANSPOSE);
  return (tt_cpu_solve_form){.left = tt_cpu_attr_i64(op, TT_HLO_LEFT_SIDE, 0) != 0,
                             .lower = tt_cpu_attr_i64(op, TT_HLO_LOWER, 0) != 0,
                             .unit = tt_cpu_attr_i64(op, TT_HLO_UNIT_DIAGONAL, 0) != 0,
                             .transposed = kind != TT_HLO_NO_TRANSPOSE,
                             .conjugate = kind == TT_HLO_ADJOINT};
}

static void conjugate_all(tt_cpu_complex *a, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    a[i] = conj(a[i]);
}

/* In BLAS, in place. CBLAS knows no conjugate without a transpose. */
static bool solve_in_blas(const tt_cpu_args *args, const stack *a, const stack *b,
                          tt_cpu_solve_form f) {
  tt_dtype dtype = a->type->dtype;
  tt_cpu_routine_call call = tt_cpu_routine_get(TT_CPU_TRSM, dtype);
  int64_t n = a->rows, m = b->rows, columns = b->columns, bytes = tt_dtype_bytes(dtype);
  if (call.address == NULL || (f.conjugate && !f.transposed) || n > INT32_MAX || m > INT32_MAX ||
      columns > INT32_MAX)
    return false;
  int trans = !f.transposed ? TT_CPU_NO_TRANS : f.conjugate ? TT_CPU_CONJ_TRANS : TT_CPU_TRANS;
  int side = f.left ? TT_CPU_LEFT : TT_CPU_RIGHT, uplo = f.lower ? TT_CPU_LOWER : TT_CPU_UPPER,
      unit = f.unit ? TT_CPU_UNIT : TT_CPU_NON_UNIT;
  if (m * columns * b->count > 0)
    memcpy(args->out[0], args->in[1], (size_t)(m * columns * b->count * bytes));
  for (int64_t i = 0; i < a->count && m > 0 && columns > 0; i++) {
    const void *matrix = (const char *)args->in[0] + i * n * n * bytes;
    void *x = (char *)args->out[0] + i * m * columns * bytes;
    static const double one[] = {1, 0};
    static const float one_f32[] = {1, 0};
    if (dtype == TT_F32)
      call.trsm_f32(TT_CPU_ROW_MAJOR, side, uplo, trans, unit, (int32_t)m, (int32_t)columns, 1,
                    matrix, (int32_t)n, x, (int32_t)columns);
    else if (dtype == TT_F64)
      call.trsm_f64(TT_CPU_ROW_MAJOR, side, uplo, trans, unit, (int32_t)m, (int32_t)columns, 1,
                    matrix, (int32_t)n, x, (int32_t)columns);
    else
      call.trsm_complex(TT_CPU_ROW_MAJOR, side, uplo, trans, unit, (int32_t)m, (int32_t)columns,
                        dtype == TT_C64 ? (const void *)one_f32 : one, matrix, (int32_t)n, x,
                        (int32_t)columns);
  }
  return true;
}

tt_error *tt_cpu_triangular_solve(const tt_cpu_args *args, tt_cpu_solve_form f) {
  stack a = stack_of(&args->op->operands[0]->type), b = stack_of(&args->op->operands[1]->type);
  if (solve_in_blas(args, &a, &b, f))
    return NULL;
  /* x op(a) = b is op(a)^T x^T = b^T. */
  f.transposed = f.transposed != !f.left;
  f.lower = f.lower != f.transposed;
  tt_dtype dtype = a.type->dtype;
  bool is_complex = tt_dtype_is_complex(dtype);
  int64_t n = a.rows, columns = f.left ? b.columns : b.rows, size = b.rows * b.columns;
  void *m = NULL, *spare_m = NULL, *x = NULL, *spare_x = NULL;
  TT_RETURN_IF_ERROR(take(args, n, n, &m));
  TT_RETURN_IF_ERROR(take(args, n, n, &spare_m));
  TT_RETURN_IF_ERROR(take(args, n, columns, &x));
  TT_RETURN_IF_ERROR(take(args, n, columns, &spare_x));
  for (int64_t i = 0; i < a.count; i++) {
    load(dtype, args->in[0], i * n * n, n * n, f.transposed ? spare_m : m);
    load(dtype, args->in[1], i * size, size, f.left ? x : spare_x);
    if (f.transposed)
      transpose(is_complex, f.conjugate, spare_m, n, n, m);
    else if (f.conjugate && is_complex)
      conjugate_all(m, n * n);
    if (!f.left)
      transpose(is_complex, false, spare_x, b.rows, b.columns, x);
    if (is_complex)
      tt_cpu_solve_complex(m, n, f.lower, f.unit, x, columns);
    else
      tt_cpu_solve_real(m, n, f.lower, f.unit, x, columns);
    if (!f.left)
      transpose(is_complex, false, x, n, columns, spare_x);
    store(dtype, f.left ? x : spare_x, args->out[0], i * size, size);
  }
  return NULL;
}

tt_error *tt_cpu_kernel_triangular_solve(const tt_cpu_args *args) {
  return tt_cpu_triangular_solve(args, read_form(args->op));
}
