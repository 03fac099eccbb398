/* Singular values. */
#include "cpu/kernels/factors.h"

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

/* clang-format off */
static const tt_cpu_target targets[] = {
    {"gesdd", "Tmn", "Tmn Rk Tmu Tvn I", true, true, run_gesdd, NULL, check_svd},
    {"gesvd", "Tmn", "Tmn Rk Tmu Tvn I", true, true, run_gesvd, NULL, check_svd},
};
/* clang-format on */
const tt_cpu_targets tt_cpu_svd = {targets, sizeof targets / sizeof *targets};
