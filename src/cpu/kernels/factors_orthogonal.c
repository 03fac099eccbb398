/* Qr, geqrf, geqp3, and products with the reflectors that they leave. */
#include "cpu/kernels/factors.h"

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
  for (int64_t i = 0; i < job->n && job->k == 0; i++)
    ((int32_t *)result(job, 1))[i] = (int32_t)i + 1;
  if (job->k == 0)
    return NULL;
  copy_in(job, 0, 0);
  copy_in(job, 1, 1);
  return set_info(job, 3,
                  call.geqp3(ROW, (int32_t)job->m, (int32_t)job->n, result(job, 0), (int32_t)job->n,
                             result(job, 1), result(job, 2)));
}

static tt_error *check_geqp3(const tt_hlo_op *op) {
  return need(op, TT_CPU_GEQP3, "QR with pivoting");
}

/* clang-format off */
static const tt_cpu_target targets[] = {
    {"Qr", "Tmn", "Tmn Tk", true, true, run_geqrf, NULL, NULL},
    {"geqrf", "Tmn", "Tmn Tk", true, true, run_geqrf, NULL, NULL},
    {"geqp3", "Tmn In", "Tmn In Tk", true, true, run_geqp3, NULL, check_geqp3},
    {"ProductOfElementaryHouseholderReflectors", "Tmn Tr", "Tmn", true, true, run_ungqr, NULL, check_ungqr},
    {"orgqr", "Tmn Tr", "Tmn", true, false, run_ungqr, NULL, check_ungqr},
    {"ungqr", "Tmn Tr", "Tmn", false, true, run_ungqr, NULL, check_ungqr},
    {"ormqr", "Tmn Tr Tcd", "Tcd", true, false, run_unmqr, NULL, check_unmqr},
    {"unmqr", "Tmn Tr Tcd", "Tcd", false, true, run_unmqr, NULL, check_unmqr},
};
/* clang-format on */
const tt_cpu_targets tt_cpu_orthogonal = {targets, sizeof targets / sizeof *targets};
