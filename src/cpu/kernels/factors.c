/* The targets of linear algebra, one matrix a call: LAPACK where the library is there and has the
 * dtype, plain C in double otherwise. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "cpu/kernels/custom.h"
#include "cpu/kernels/linalg.h"

enum { ROW = TT_CPU_ROW_MAJOR };

#define CALL(job, function, ...) \
  ((job)->is_complex ? function##_complex(__VA_ARGS__) : function##_real(__VA_ARGS__))

/* ---- arrays of a job ---- */

static int64_t piece_bytes(const tt_cpu_job *job, const tt_hlo_type *type) {
  return tt_cpu_bytes(type) / job->count;
}

static const void *operand(const tt_cpu_job *job, uint32_t k) {
  return (const char *)job->args->in[k] +
         job->index * piece_bytes(job, &job->args->op->operands[k]->type);
}

static void *result(const tt_cpu_job *job, uint32_t k) {
  return (char *)job->args->out[k] + job->index * piece_bytes(job, &job->args->op->results[k].type);
}

static int64_t elements(const tt_cpu_job *job, const tt_hlo_type *type) {
  return tt_cpu_count(type) / job->count;
}

/* Size of the last axis but `back`. */
static int64_t operand_dim(const tt_cpu_job *job, uint32_t k, int32_t back) {
  const tt_hlo_type *type = &job->args->op->operands[k]->type;
  return type->dims[type->rank - 1 - back];
}

static int64_t result_dim(const tt_cpu_job *job, uint32_t k, int32_t back) {
  const tt_hlo_type *type = &job->args->op->results[k].type;
  return type->dims[type->rank - 1 - back];
}

/* The result begins as the operand. */
static void copy_in(const tt_cpu_job *job, uint32_t from, uint32_t to) {
  memcpy(result(job, to), operand(job, from),
         (size_t)piece_bytes(job, &job->args->op->results[to].type));
}

static void clear(const tt_cpu_job *job, uint32_t k) {
  memset(result(job, k), 0, (size_t)piece_bytes(job, &job->args->op->results[k].type));
}

/* LAPACK's info becomes result `k`; but for memory, the caller's program looks at it. */
static tt_error *set_info(const tt_cpu_job *job, uint32_t k, int32_t info) {
  if (info == -1010 || info == -1011)
    return tt_error_new(TT_RESOURCE_EXHAUSTED, "custom_call: LAPACK: no memory for its workspace");
  if (k < job->args->op->results_count)
    *(int32_t *)result(job, k) = info;
  return NULL;
}

/* Scratch for rows x columns elements in double, the same for each matrix. */
static tt_error *work(tt_cpu_job *job, int slot, int64_t rows, int64_t columns, void **out_work) {
  int64_t size = 0;
  bool fits =
      tt_mul_i64(rows, columns, &size) && tt_mul_i64(size, (int64_t)sizeof(tt_cpu_complex), &size);
  if (job->works[slot] == NULL)
    job->works[slot] = fits ? tt_cpu_scratch(job->args->run, size + 1) : NULL;
  *out_work = job->works[slot];
  return *out_work == NULL ? tt_cpu_no_scratch(job->args->op, fits ? size : INT64_MAX) : NULL;
}

static tt_dtype wide_dtype(const tt_cpu_job *job) { return job->is_complex ? TT_C128 : TT_F64; }

static tt_error *widen(tt_cpu_job *job, int slot, uint32_t k, int64_t rows, int64_t columns,
                       void **out_work) {
  TT_RETURN_IF_ERROR(work(job, slot, rows, columns, out_work));
  tt_cpu_convert(job->dtype, operand(job, k), wide_dtype(job), *out_work, rows * columns);
  return NULL;
}

static void narrow(const tt_cpu_job *job, const void *array, uint32_t k) {
  const tt_hlo_type *type = &job->args->op->results[k].type;
  tt_cpu_convert(tt_dtype_is_complex(type->dtype) ? TT_C128 : wide_dtype(job), array, type->dtype,
                 result(job, k), elements(job, type));
}

static void narrow_real(const tt_cpu_job *job, const double *array, uint32_t k) {
  const tt_hlo_type *type = &job->args->op->results[k].type;
  tt_cpu_convert(TT_F64, array, type->dtype, result(job, k), elements(job, type));
}

static tt_cpu_complex load_wide(const tt_cpu_job *job, const void *a, int64_t i) {
  return job->is_complex ? ((const tt_cpu_complex *)a)[i] : ((const double *)a)[i];
}

static void store_wide(const tt_cpu_job *job, void *a, int64_t i, tt_cpu_complex x) {
  if (job->is_complex)
    ((tt_cpu_complex *)a)[i] = x;
  else
    ((double *)a)[i] = creal(x);
}

static tt_cpu_routine_call routine(const tt_cpu_job *job, tt_cpu_routine which) {
  return tt_cpu_routine_get(which, job->dtype);
}

/* ---- orthogonal factors ---- */

static tt_error *run_geqrf(tt_cpu_job *job) {
  tt_cpu_routine_call call = routine(job, TT_CPU_GEQRF);
  int64_t m = job->m, n = job->n;
  if (call.address != NULL) {
    copy_in(job, 0, 0);
    return set_info(
        job, 2,
        call.geqrf(ROW, (int32_t)m, (int32_t)n, result(job, 0), (int32_t)n, result(job, 1)));
  }
  void *a = NULL, *taus = NULL, *row = NULL;
  TT_RETURN_IF_ERROR(widen(job, 0, 0, m, n, &a));
  TT_RETURN_IF_ERROR(work(job, 1, job->k, 1, &taus));
  TT_RETURN_IF_ERROR(work(job, 2, n, 1, &row));
  CALL(job, tt_cpu_qr, a, m, n, taus, row);
  narrow(job, a, 0);
  narrow(job, taus, 1);
  return NULL;
}

static tt_error *run_ungqr(tt_cpu_job *job) {
  tt_cpu_routine_call call = routine(job, TT_CPU_UNGQR);
  int64_t m = job->m, n = job->n, k = operand_dim(job, 1, 0);
  if (call.address != NULL && n <= m) {
    copy_in(job, 0, 0);
    return set_info(job, 1,
                    call.ungqr(ROW, (int32_t)m, (int32_t)n, (int32_t)k, result(job, 0), (int32_t)n,
                               operand(job, 1)));
  }
  void *a = NULL, *taus = NULL, *row = NULL, *q = NULL;
  TT_RETURN_IF_ERROR(widen(job, 0, 0, m, n, &a));
  TT_RETURN_IF_ERROR(widen(job, 1, 1, k, 1, &taus));
  TT_RETURN_IF_ERROR(work(job, 2, n, 1, &row));
  TT_RETURN_IF_ERROR(work(job, 3, m, n, &q));
  CALL(job, tt_cpu_reflect, a, m, n, taus, k, q, row);
  narrow(job, q, 0);
  return NULL;
}

static tt_error *check_ungqr(const tt_hlo_op *op) {
  const tt_hlo_type *a = &op->operands[0]->type, *taus = &op->operands[1]->type;
  int64_t m = a->dims[a->rank - 2], n = a->dims[a->rank - 1], k = taus->dims[taus->rank - 1];
  return k <= m && k <= n
             ? NULL
             : tt_error_new(TT_INVALID_ARGUMENT, "%lld reflectors of a %lld x %lld matrix",
                            (long long)k, (long long)m, (long long)n);
}

static tt_error *check_unmqr(const tt_hlo_op *op) {
  const tt_hlo_type *a = &op->operands[0]->type, *c = &op->operands[2]->type;
  bool left = tt_cpu_config(op, "left", 1) != 0;
  int64_t rows = a->dims[a->rank - 2], other = c->dims[c->rank - (left ? 2 : 1)];
  TT_RETURN_IF_ERROR(check_ungqr(op));
  return rows == other ? NULL
                       : tt_error_new(TT_INVALID_ARGUMENT,
                                      "reflectors of length %lld on a side of length %lld",
                                      (long long)rows, (long long)other);
}

static void transpose(const tt_cpu_job *job, const void *in, int64_t rows, int64_t columns,
                      bool conjugate, void *out) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      tt_cpu_complex x = load_wide(job, in, i * columns + j);
      store_wide(job, out, j * rows + i, conjugate ? conj(x) : x);
    }
}

/* c q is (q^H c^H)^H. */
static tt_error *run_unmqr(tt_cpu_job *job) {
  tt_cpu_routine_call call = routine(job, TT_CPU_UNMQR);
  bool left = tt_cpu_config(job->args->op, "left", 1) != 0,
       adjoint = tt_cpu_config(job->args->op, "transpose", 0) != 0;
  int64_t m = operand_dim(job, 2, 1), n = operand_dim(job, 2, 0), k = operand_dim(job, 1, 0);
  if (m == 0 || n == 0)
    return NULL;
  if (call.address != NULL) {
    copy_in(job, 2, 0);
    return set_info(job, 1,
                    call.unmqr(ROW, left ? 'L' : 'R',
                               !adjoint          ? 'N'
                               : job->is_complex ? 'C'
                                                 : 'T',
                               (int32_t)m, (int32_t)n, (int32_t)k, operand(job, 0), (int32_t)job->n,
                               operand(job, 1), result(job, 0), (int32_t)n));
  }
  void *a = NULL, *taus = NULL, *c = NULL, *d = NULL, *row = NULL;
  TT_RETURN_IF_ERROR(widen(job, 0, 0, job->m, job->n, &a));
  TT_RETURN_IF_ERROR(widen(job, 1, 1, k, 1, &taus));
  TT_RETURN_IF_ERROR(widen(job, 2, 2, m, n, &c));
  TT_RETURN_IF_ERROR(work(job, 3, m, n, &d));
  TT_RETURN_IF_ERROR(work(job, 4, m > n ? m : n, 1, &row));
  if (!left)
    transpose(job, c, m, n, true, d);
  CALL(job, tt_cpu_reflected, a, job->m, job->n, taus, k, adjoint == left, left ? c : d,
       left ? n : m, row);
  if (!left)
    transpose(job, d, n, m, true, c);
  narrow(job, c, 0);
  return NULL;
}

static tt_error *run_geqp3(tt_cpu_job *job) {
  tt_cpu_routine_call call = routine(job, TT_CPU_GEQP3);
  copy_in(job, 0, 0);
  copy_in(job, 1, 1);
  return set_info(job, 3,
                  call.geqp3(ROW, (int32_t)job->m, (int32_t)job->n, result(job, 0), (int32_t)job->n,
                             result(job, 1), result(job, 2)));
}

static tt_error *need(const tt_hlo_op *op, tt_cpu_routine which, const char *what) {
  bool there = tt_cpu_routine_get(which, op->operands[0]->type.dtype).address != NULL;
  return there ? NULL : tt_cpu_library_missing(what);
}

static tt_error *check_geqp3(const tt_hlo_op *op) {
  return need(op, TT_CPU_GEQP3, "QR with pivoting");
}

/* ---- triangular factors ---- */

static tt_error *lu(tt_cpu_job *job, int32_t *pivots, int32_t *out_info) {
  tt_cpu_routine_call call = routine(job, TT_CPU_GETRF);
  int64_t m = job->m, n = job->n;
  *out_info = 0;
  if (call.address != NULL) {
    copy_in(job, 0, 0);
    *out_info = call.getrf(ROW, (int32_t)m, (int32_t)n, result(job, 0), (int32_t)n, pivots);
    return NULL;
  }
  void *a = NULL;
  TT_RETURN_IF_ERROR(widen(job, 0, 0, m, n, &a));
  bool whole = CALL(job, tt_cpu_lu, a, m, n, pivots);
  for (int64_t i = 0; i < job->k; i++) {
    pivots[i]++;
    if (!whole && *out_info == 0 && load_wide(job, a, i * n + i) == 0)
      *out_info = (int32_t)i + 1;
  }
  narrow(job, a, 0);
  return NULL;
}

static tt_error *run_getrf(tt_cpu_job *job) {
  int32_t info = 0;
  TT_RETURN_IF_ERROR(lu(job, result(job, 1), &info));
  return set_info(job, 2, info);
}

/* Pivots from 0, and the order of rows that they give. */
static tt_error *run_lu(tt_cpu_job *job) {
  int32_t info = 0, *pivots = result(job, 1), *order = result(job, 2);
  TT_RETURN_IF_ERROR(lu(job, pivots, &info));
  for (int64_t i = 0; i < job->m; i++)
    order[i] = (int32_t)i;
  for (int64_t i = 0; i < job->k; i++) {
    int32_t other = --pivots[i], row = order[i];
    order[i] = order[other];
    order[other] = row;
  }
  return set_info(job, 3, info);
}

/* Where it is not positive definite all is NaN, which says as much. */
static tt_error *run_potrf(const tt_cpu_args *args) {
  int64_t bytes = tt_cpu_bytes(&args->op->results[1].type);
  if (bytes > 0)
    memset(args->out[1], 0, (size_t)bytes);
  return tt_cpu_cholesky(args, tt_cpu_config(args->op, "uplo", 'L') != 'U');
}

static tt_cpu_solve_form trsm_form(const tt_hlo_op *op) {
  int64_t kind = tt_cpu_config(op, "trans_x", 'N');
  return (tt_cpu_solve_form){.left = tt_cpu_config(op, "side", 'L') == 'L',
                             .lower = tt_cpu_config(op, "uplo", 'L') == 'L',
                             .unit = tt_cpu_config(op, "diag", 'N') == 'U',
                             .transposed = kind != 'N',
                             .conjugate = kind == 'C'};
}

static tt_error *run_trsm(const tt_cpu_args *args) {
  return tt_cpu_triangular_solve(args, trsm_form(args->op));
}

static tt_error *check_trsm(const tt_hlo_op *op) {
  const tt_hlo_type *a = &op->operands[0]->type, *b = &op->operands[1]->type;
  bool left = trsm_form(op).left;
  return a->dims[a->rank - 1] == b->dims[b->rank - (left ? 2 : 1)]
             ? NULL
             : tt_error_new(TT_INVALID_ARGUMENT, "the matrix does not fit the right-hand sides");
}

/* Result k is operand k, spoiled, but for the last, the solution. `first`: which result that is. */
static tt_error *solve_tridiagonal(tt_cpu_job *job, double tiny, uint32_t solution,
                                   int32_t *out_info) {
  int64_t n = job->n, columns = operand_dim(job, 3, 0);
  void *lower = NULL, *middle = NULL, *upper = NULL, *x = NULL;
  TT_RETURN_IF_ERROR(widen(job, 0, 0, n, 1, &lower));
  TT_RETURN_IF_ERROR(widen(job, 1, 1, n, 1, &middle));
  TT_RETURN_IF_ERROR(widen(job, 2, 2, n, 1, &upper));
  TT_RETURN_IF_ERROR(widen(job, 3, 3, n, columns, &x));
  *out_info = !CALL(job, tt_cpu_tridiagonal, lower, middle, upper, n, x, columns, tiny);
  narrow(job, x, solution);
  return NULL;
}

static tt_error *run_gtsv(tt_cpu_job *job) {
  int32_t info = 0;
  for (uint32_t i = 0; i < 3; i++)
    copy_in(job, i, i);
  TT_RETURN_IF_ERROR(solve_tridiagonal(job, 0, 3, &info));
  return set_info(job, 4, info);
}

static tt_error *run_perturbed(tt_cpu_job *job) {
  int32_t info = 0;
  bool narrow_type = tt_dtype_real(job->dtype) != TT_F64;
  return solve_tridiagonal(job, narrow_type ? FLT_EPSILON : DBL_EPSILON, 0, &info);
}

/* ---- eigenvalues of hermitian matrices ---- */

/* The other triangle from the one that counts. */
static void mirror(const tt_cpu_job *job, void *a, int64_t n, bool lower) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      int64_t from = lower ? i * n + j : j * n + i, to = lower ? j * n + i : i * n + j;
      tt_cpu_complex x = load_wide(job, a, from);
      store_wide(job, a, to, i == j ? creal(x) : conj(x));
    }
}

/* order: the places of the eigenvalues on the diagonal, ascending. */
static void sort_values(const tt_cpu_job *job, const void *a, int64_t n, int64_t *order) {
  for (int64_t i = 0; i < n; i++) {
    double value = creal(load_wide(job, a, i * n + i));
    int64_t k = i;
    for (; k > 0 && creal(load_wide(job, a, order[k - 1] * (n + 1))) > value; k--)
      order[k] = order[k - 1];
    order[k] = i;
  }
}

static tt_error *plain_eigh(tt_cpu_job *job, bool lower) {
  int64_t n = job->n, *order = NULL;
  tt_dtype real = tt_dtype_real(job->dtype);
  void *a = NULL, *v = NULL, *places = NULL;
  TT_RETURN_IF_ERROR(widen(job, 0, 0, n, n, &a));
  TT_RETURN_IF_ERROR(work(job, 1, n, n, &v));
  TT_RETURN_IF_ERROR(work(job, 2, n, 1, &places));
  order = places;
  mirror(job, a, n, lower);
  CALL(job, tt_cpu_eigh, a, n, v);
  sort_values(job, a, n, order);
  for (int64_t k = 0; k < n; k++) {
    tt_cpu_store(real, result(job, 1), k, creal(load_wide(job, a, order[k] * (n + 1))), 0);
    for (int64_t r = 0; r < n; r++) {
      tt_cpu_complex x = load_wide(job, v, r * n + order[k]);
      tt_cpu_store(job->dtype, result(job, 0), r * n + k, creal(x), cimag(x));
    }
  }
  return NULL;
}

static tt_error *eigh(tt_cpu_job *job, bool lower, bool vectors) {
  tt_cpu_routine_call call = routine(job, TT_CPU_HEEVD);
  int32_t n = (int32_t)job->n;
  if (call.address == NULL) {
    TT_RETURN_IF_ERROR(plain_eigh(job, lower));
    return set_info(job, 2, 0);
  }
  copy_in(job, 0, 0);
  return set_info(job, 2,
                  call.heevd(ROW, vectors ? 'V' : 'N', lower ? 'L' : 'U', n, result(job, 0), n,
                             result(job, 1)));
}

/* backend_config begins with 1 for the lower triangle, 0 for the upper. */
static tt_error *run_eigh(tt_cpu_job *job) {
  const tt_hlo_attr *config = tt_hlo_op_attr(job->args->op, TT_HLO_BACKEND_CONFIG);
  return eigh(job, config == NULL || config->text == NULL || config->text[0] != '0', true);
}

static tt_error *run_heevd(tt_cpu_job *job) {
  const tt_hlo_op *op = job->args->op;
  return eigh(job, tt_cpu_config(op, "uplo", 'L') != 'U', tt_cpu_config(op, "mode", 'V') != 'N');
}

static tt_error *run_hetrd(tt_cpu_job *job) {
  tt_cpu_routine_call call = routine(job, TT_CPU_HETRD);
  int32_t n = (int32_t)job->n;
  bool lower = tt_cpu_config(job->args->op, "uplo", 'L') != 'U';
  copy_in(job, 0, 0);
  return set_info(job, 4,
                  call.hetrd(ROW, lower ? 'L' : 'U', n, result(job, 0), n, result(job, 1),
                             result(job, 2), result(job, 3)));
}

static tt_error *check_hetrd(const tt_hlo_op *op) {
  return need(op, TT_CPU_HETRD, "the reduction to tridiagonal form");
}

/* ---- singular values ---- */

/* x[length, columns]'s columns from `whole` on get what is orthogonal to those before. */
static tt_error *complete(tt_cpu_job *job, void *x, int64_t length, int64_t columns,
                          int64_t whole) {
  void *a = NULL, *taus = NULL, *row = NULL, *q = NULL;
  if (whole == columns)
    return NULL;
  TT_RETURN_IF_ERROR(work(job, 3, length, columns, &a));
  TT_RETURN_IF_ERROR(work(job, 4, columns, 1, &taus));
  TT_RETURN_IF_ERROR(work(job, 5, columns, 1, &row));
  TT_RETURN_IF_ERROR(work(job, 6, length, columns, &q));
  memcpy(a, x, (size_t)(length * columns) * (size_t)tt_dtype_bytes(wide_dtype(job)));
  CALL(job, tt_cpu_qr, a, length, columns, taus, row);
  CALL(job, tt_cpu_reflect, a, length, columns, taus, columns, q, row);
  for (int64_t i = 0; i < length; i++)
    for (int64_t j = whole; j < columns; j++)
      store_wide(job, x, i * columns + j, load_wide(job, q, i * columns + j));
  return NULL;
}

/* Works on the matrix, or where it is tall its adjoint: a[rows, length] = u s x^H. `full`: x is
 * square. */
static tt_error *plain_svd(tt_cpu_job *job, bool vectors, bool full) {
  bool tall = job->m > job->n;
  int64_t rows = job->k, length = tall ? job->m : job->n, columns = full ? length : rows, whole = 0;
  void *a = NULL, *u = NULL, *given = NULL, *lengths = NULL, *x = NULL;
  TT_RETURN_IF_ERROR(widen(job, 0, 0, job->m, job->n, &given));
  TT_RETURN_IF_ERROR(work(job, 1, rows, length, &a));
  TT_RETURN_IF_ERROR(work(job, 2, rows, rows, &u));
  TT_RETURN_IF_ERROR(work(job, 7, rows + length * columns, 1, &lengths));
  double *s = lengths;
  x = (char *)lengths + (size_t)rows * sizeof(tt_cpu_complex);
  if (tall)
    transpose(job, given, job->m, job->n, true, a);
  else
    memcpy(a, given, (size_t)(rows * length) * (size_t)tt_dtype_bytes(wide_dtype(job)));
  CALL(job, tt_cpu_svd, a, rows, length, s, u);
  narrow_real(job, s, 1);
  if (!vectors)
    return NULL;
  while (whole < rows && s[whole] > (double)length * DBL_EPSILON * s[0])
    whole++;
  for (int64_t j = 0; j < length; j++)
    for (int64_t i = 0; i < columns; i++)
      store_wide(job, x, j * columns + i,
                 i < whole ? conj(load_wide(job, a, i * length + j)) / s[i] : 0);
  TT_RETURN_IF_ERROR(complete(job, x, length, columns, whole));
  /* u holds u^H. a = (u^H)^H s x^H, or, tall, x s u^H. */
  if (tall) {
    narrow(job, x, 2);
    narrow(job, u, 3);
    return NULL;
  }
  transpose(job, u, rows, rows, true, a);
  narrow(job, a, 2);
  TT_RETURN_IF_ERROR(work(job, 3, length, columns, &given));
  transpose(job, x, length, columns, true, given);
  narrow(job, given, 3);
  return NULL;
}

static tt_error *svd(tt_cpu_job *job, bool by_qr) {
  int64_t mode = tt_cpu_config(job->args->op, "mode", 'A');
  tt_cpu_routine_call call = routine(job, by_qr ? TT_CPU_GESVD : TT_CPU_GESDD);
  int32_t m = (int32_t)job->m, n = (int32_t)job->n, ld = (int32_t)result_dim(job, 2, 0);
  char which = (char)mode;
  void *rest = NULL;
  copy_in(job, 0, 0);
  if (mode == 'N') {
    clear(job, 2);
    clear(job, 3);
  }
  if (call.address == NULL) {
    TT_RETURN_IF_ERROR(plain_svd(job, mode != 'N', mode == 'A'));
    return set_info(job, 4, 0);
  }
  TT_RETURN_IF_ERROR(work(job, 0, job->k, 1, &rest));
  if (by_qr)
    return set_info(job, 4,
                    call.gesvd(ROW, which, which, m, n, result(job, 0), n, result(job, 1),
                               result(job, 2), ld, result(job, 3), n, rest));
  return set_info(job, 4,
                  call.gesdd(ROW, which, m, n, result(job, 0), n, result(job, 1), result(job, 2),
                             ld, result(job, 3), n));
}

static tt_error *run_gesdd(tt_cpu_job *job) { return svd(job, false); }
static tt_error *run_gesvd(tt_cpu_job *job) { return svd(job, true); }

static tt_error *check_svd(const tt_hlo_op *op) {
  const tt_hlo_type *a = &op->results[0].type, *u = &op->results[2].type, *v = &op->results[3].type;
  int64_t m = a->dims[a->rank - 2], n = a->dims[a->rank - 1], least = m < n ? m : n,
          columns = u->dims[u->rank - 1], rows = v->dims[v->rank - 2],
          mode = tt_cpu_config(op, "mode", 'A');
  bool full = columns == m && rows == n, slim = columns == least && rows == least;
  if ((mode == 'A' && full) || (mode == 'S' && slim) || (mode == 'N' && (full || slim)))
    return NULL;
  return tt_error_new(TT_UNIMPLEMENTED, "mode %lld does not fit the results' types",
                      (long long)mode);
}

/* ---- eigenvalues of any matrix ---- */

/* Vectors of conjugate pairs stand side by side as real and imaginary part. */
static void unpack(const tt_cpu_job *job, const void *packed, const void *imag, uint32_t to) {
  tt_dtype out = tt_dtype_complex(job->dtype);
  int64_t n = job->n;
  for (int64_t j = 0; j < n; j++) {
    bool pair = tt_cpu_load(job->dtype, imag, j, NULL) != 0 && j + 1 < n;
    for (int64_t i = 0; i < n; i++) {
      double re = tt_cpu_load(job->dtype, packed, i * n + j, NULL),
             im = pair ? tt_cpu_load(job->dtype, packed, i * n + j + 1, NULL) : 0;
      tt_cpu_store(out, result(job, to), i * n + j, re, im);
      if (pair)
        tt_cpu_store(out, result(job, to), i * n + j + 1, re, -im);
    }
    j += pair;
  }
}

/* In complex numbers, also for real matrices. */
static tt_error *plain_geev(tt_cpu_job *job, bool left, bool right) {
  int64_t n = job->n;
  uint32_t values = job->is_complex ? 1 : 2; /* results before the vectors */
  void *given = NULL, *t = NULL, *v = NULL, *row = NULL, *x = NULL;
  TT_RETURN_IF_ERROR(widen(job, 0, 0, n, n, &given));
  TT_RETURN_IF_ERROR(work(job, 1, n, n, &t));
  TT_RETURN_IF_ERROR(work(job, 2, n, n, &v));
  TT_RETURN_IF_ERROR(work(job, 3, 2, n, &row));
  TT_RETURN_IF_ERROR(work(job, 4, n, n, &x));
  for (int64_t i = 0; i < n * n; i++)
    ((tt_cpu_complex *)t)[i] = load_wide(job, given, i);
  bool found = tt_cpu_schur(t, n, v, row);
  for (int64_t i = 0; i < n; i++) {
    tt_cpu_complex value = ((const tt_cpu_complex *)t)[i * n + i];
    tt_cpu_store(job->dtype, result(job, 0), i, creal(value), cimag(value));
    if (!job->is_complex)
      tt_cpu_store(job->dtype, result(job, 1), i, cimag(value), 0);
  }
  if (left)
    tt_cpu_eigenvectors(t, v, n, true, x, row);
  if (left)
    narrow(job, x, values);
  if (right)
    tt_cpu_eigenvectors(t, v, n, false, x, row);
  if (right)
    narrow(job, x, values + 1);
  return set_info(job, values + 2, found ? 0 : 1);
}

static tt_error *lapack_geev_real(tt_cpu_job *job, bool left, bool right) {
  tt_cpu_routine_call call = routine(job, TT_CPU_GEEV);
  int32_t n = (int32_t)job->n;
  void *a = NULL, *vl = NULL, *vr = NULL;
  TT_RETURN_IF_ERROR(work(job, 0, n, n, &a));
  TT_RETURN_IF_ERROR(work(job, 1, n, n, &vl));
  TT_RETURN_IF_ERROR(work(job, 2, n, n, &vr));
  memcpy(a, operand(job, 0), (size_t)piece_bytes(job, &job->args->op->operands[0]->type));
  int32_t info = call.geev_real(ROW, left ? 'V' : 'N', right ? 'V' : 'N', n, a, n, result(job, 0),
                                result(job, 1), vl, n, vr, n);
  if (left)
    unpack(job, vl, result(job, 1), 2);
  if (right)
    unpack(job, vr, result(job, 1), 3);
  return set_info(job, 4, info);
}

static tt_error *run_geev(tt_cpu_job *job) {
  tt_cpu_routine_call call = routine(job, TT_CPU_GEEV);
  bool left = tt_cpu_config(job->args->op, "compute_left", 'V') != 'N',
       right = tt_cpu_config(job->args->op, "compute_right", 'V') != 'N';
  uint32_t values = job->is_complex ? 1 : 2;
  int32_t n = (int32_t)job->n;
  void *a = NULL;
  if (!left)
    clear(job, values);
  if (!right)
    clear(job, values + 1);
  if (call.address == NULL)
    return plain_geev(job, left, right);
  if (!job->is_complex)
    return lapack_geev_real(job, left, right);
  TT_RETURN_IF_ERROR(work(job, 0, n, n, &a));
  memcpy(a, operand(job, 0), (size_t)piece_bytes(job, &job->args->op->operands[0]->type));
  return set_info(job, 3,
                  call.geev_complex(ROW, left ? 'V' : 'N', right ? 'V' : 'N', n, a, n,
                                    result(job, 0), result(job, 1), n, result(job, 2), n));
}

static tt_error *plain_schur(tt_cpu_job *job) {
  int64_t n = job->n;
  void *t = NULL, *v = NULL, *row = NULL;
  TT_RETURN_IF_ERROR(widen(job, 0, 0, n, n, &t));
  TT_RETURN_IF_ERROR(work(job, 1, n, n, &v));
  TT_RETURN_IF_ERROR(work(job, 2, 2, n, &row));
  bool found = tt_cpu_schur(t, n, v, row);
  narrow(job, t, 0);
  narrow(job, v, 1);
  for (int64_t i = 0; i < n; i++) {
    tt_cpu_complex value = ((const tt_cpu_complex *)t)[i * n + i];
    tt_cpu_store(job->dtype, result(job, 2), i, creal(value), cimag(value));
  }
  *(int32_t *)result(job, 3) = 0;
  return set_info(job, 4, found ? 0 : 1);
}

static tt_error *run_gees(tt_cpu_job *job) {
  tt_cpu_routine_call call = routine(job, TT_CPU_GEES);
  char mode = tt_cpu_config(job->args->op, "mode", 'V') == 'N' ? 'N' : 'V';
  int32_t n = (int32_t)job->n, *sdim = result(job, job->is_complex ? 3 : 4);
  if (call.address == NULL)
    return plain_schur(job);
  copy_in(job, 0, 0);
  if (mode == 'N')
    clear(job, 1);
  if (job->is_complex)
    return set_info(job, 4,
                    call.gees_complex(ROW, mode, 'N', NULL, n, result(job, 0), n, sdim,
                                      result(job, 2), result(job, 1), n));
  return set_info(job, 5,
                  call.gees_real(ROW, mode, 'N', NULL, n, result(job, 0), n, sdim, result(job, 2),
                                 result(job, 3), result(job, 1), n));
}

static tt_error *check_gees(const tt_hlo_op *op) {
  if (tt_cpu_config(op, "sort", 'N') != 'N')
    return tt_error_new(TT_UNIMPLEMENTED, "sorted eigenvalues are not implemented");
  return tt_dtype_is_complex(op->operands[0]->type.dtype)
             ? NULL
             : need(op, TT_CPU_GEES, "the Schur form of a real matrix");
}

static tt_error *run_gehrd(tt_cpu_job *job) {
  tt_cpu_routine_call call = routine(job, TT_CPU_GEHRD);
  int64_t n = job->n;
  void *a = NULL, *taus = NULL, *row = NULL;
  if (call.address != NULL) {
    copy_in(job, 0, 0);
    return set_info(
        job, 2,
        call.gehrd(ROW, (int32_t)n, 1, (int32_t)n, result(job, 0), (int32_t)n, result(job, 1)));
  }
  TT_RETURN_IF_ERROR(widen(job, 0, 0, n, n, &a));
  TT_RETURN_IF_ERROR(work(job, 1, n, 1, &taus));
  TT_RETURN_IF_ERROR(work(job, 2, n, 1, &row));
  CALL(job, tt_cpu_hessenberg, a, n, taus, row);
  narrow(job, a, 0);
  narrow(job, taus, 1);
  return set_info(job, 2, 0);
}

static tt_error *check_gehrd(const tt_hlo_op *op) {
  const tt_hlo_type *a = &op->operands[0]->type;
  int64_t n = a->dims[a->rank - 1];
  return tt_cpu_config(op, "low", 1) == 1 && tt_cpu_config(op, "high", n) == n
             ? NULL
             : tt_error_new(TT_UNIMPLEMENTED, "a part of the matrix is not implemented");
}

/* ---- the table ---- */

/* clang-format off */
const tt_cpu_target tt_cpu_factors[] = {
    /* XLA's own, of any float */
    {"Qr", "Tmn", "Tmn Tk", true, true, run_geqrf, NULL, NULL},
    {"ProductOfElementaryHouseholderReflectors", "Tmn Tr", "Tmn", true, true, run_ungqr, NULL, check_ungqr},
    {"Eigh", "Tnn", "Tnn Rn", true, true, run_eigh, NULL, NULL},
    {"LuDecomposition", "Tmn", "Tmn Ik Im", true, true, run_lu, NULL, NULL},
    /* JAX's */
    {"geqrf", "Tmn", "Tmn Tk", true, true, run_geqrf, NULL, NULL},
    {"orgqr", "Tmn Tr", "Tmn", true, false, run_ungqr, NULL, check_ungqr},
    {"ungqr", "Tmn Tr", "Tmn", false, true, run_ungqr, NULL, check_ungqr},
    {"ormqr", "Tmn Tr Tcd", "Tcd", true, false, run_unmqr, NULL, check_unmqr},
    {"unmqr", "Tmn Tr Tcd", "Tcd", false, true, run_unmqr, NULL, check_unmqr},
    {"geqp3", "Tmn In", "Tmn In Tk", true, true, run_geqp3, NULL, check_geqp3},
    {"getrf", "Tmn", "Tmn Ik I", true, true, run_getrf, NULL, NULL},
    {"potrf", "Tnn", "Tnn I", true, true, NULL, run_potrf, NULL},
    {"trsm", "Taa Tmn", "Tmn", true, true, NULL, run_trsm, check_trsm},
    {"gtsv", "Tn Tn Tn Tnr", "Tn Tn Tn Tnr I", true, true, run_gtsv, NULL, NULL},
    {"tridiagonal_solve_perturbed_ffi", "Tn Tn Tn Tnr", "Tnr", true, true, run_perturbed, NULL, NULL},
    {"syevd", "Tnn", "Tnn Rn I", true, false, run_heevd, NULL, NULL},
    {"heevd", "Tnn", "Tnn Rn I", false, true, run_heevd, NULL, NULL},
    {"sytrd", "Tnn", "Tnn Rn Rl Tl I", true, false, run_hetrd, NULL, check_hetrd},
    {"hetrd", "Tnn", "Tnn Rn Rl Tl I", false, true, run_hetrd, NULL, check_hetrd},
    {"gesdd", "Tmn", "Tmn Rk Tmu Tvn I", true, true, run_gesdd, NULL, check_svd},
    {"gesvd", "Tmn", "Tmn Rk Tmu Tvn I", true, true, run_gesvd, NULL, check_svd},
    {"geev", "Tnn", "Tn Tn Cnn Cnn I", true, false, run_geev, NULL, NULL},
    {"geev", "Tnn", "Tn Tnn Tnn I", false, true, run_geev, NULL, NULL},
    {"gees", "Tnn", "Tnn Tnn Tn Tn I I", true, false, run_gees, NULL, check_gees},
    {"gees", "Tnn", "Tnn Tnn Tn I I", false, true, run_gees, NULL, check_gees},
    {"gehrd", "Tnn", "Tnn Tl I", true, true, run_gehrd, NULL, check_gehrd},
};
/* clang-format on */
const size_t tt_cpu_factors_count = sizeof tt_cpu_factors / sizeof *tt_cpu_factors;
