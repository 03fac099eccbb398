/* LU and Cholesky factors, triangular and tridiagonal systems. */
#include "cpu/kernels/factors.h"

/* Rows are exchanged by them. */
static tt_error *check_pivots(const tt_cpu_job *job, const int32_t *pivots) {
  for (int64_t i = 0; i < job->k; i++)
    if (pivots[i] < 1 || pivots[i] > job->m)
      return tt_error_new(TT_INTERNAL, "LAPACK: getrf gives row %d of %lld", pivots[i],
                          (long long)job->m);
  return NULL;
}

/* A call that is refused exchanges no rows. */
static tt_error *lapack_lu(const tt_cpu_job *job, tt_cpu_routine_call call, int32_t *pivots,
                           int32_t *out_info) {
  for (int64_t i = 0; i < job->k; i++)
    pivots[i] = (int32_t)i + 1;
  copy_in(job, 0, 0);
  *out_info =
      call.getrf(ROW, (int32_t)job->m, (int32_t)job->n, result(job, 0), (int32_t)job->n, pivots);
  TT_RETURN_IF_ERROR(tt_cpu_library_status(*out_info));
  return check_pivots(job, pivots);
}

static tt_error *lu(tt_cpu_job *job, int32_t *pivots, int32_t *out_info) {
  tt_cpu_routine_call call = routine(job, TT_CPU_GETRF);
  int64_t m = job->m, n = job->n;
  *out_info = 0;
  if (call.address != NULL)
    return lapack_lu(job, call, pivots, out_info);
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

/* clang-format off */
static const tt_cpu_target targets[] = {
    {"LuDecomposition", "Tmn", "Tmn Ik Im", true, true, run_lu, NULL, NULL},
    {"getrf", "Tmn", "Tmn Ik I", true, true, run_getrf, NULL, NULL},
    {"potrf", "Tnn", "Tnn I", true, true, NULL, run_potrf, NULL},
    {"trsm", "Taa Tmn", "Tmn", true, true, NULL, run_trsm, check_trsm},
    {"gtsv", "Tn Tn Tn Tnr", "Tn Tn Tn Tnr I", true, true, run_gtsv, NULL, NULL},
    {"tridiagonal_solve_perturbed_ffi", "Tn Tn Tn Tnr", "Tnr", true, true, run_perturbed, NULL, NULL},
};
/* clang-format on */
const tt_cpu_targets tt_cpu_triangular = {targets, sizeof targets / sizeof *targets};
