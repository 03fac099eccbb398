/* Eigenvalues, and the forms on the way to them. */
#include "cpu/kernels/factors.h"

#include <assert.h>

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
  if (job->k == 0)
    return set_info(job, 4, 0);
  copy_in(job, 0, 0);
  return set_info(job, 4,
                  call.hetrd(ROW, lower ? 'L' : 'U', n, result(job, 0), n, result(job, 1),
                             result(job, 2), result(job, 3)));
}

static tt_error *check_hetrd(const tt_hlo_op *op) {
  return need(op, TT_CPU_HETRD, "the reduction to tridiagonal form");
}

/* ---- eigenvalues of any matrix ---- */

/* LAPACK prints a complaint about others, and no iteration ends on them. */
static bool is_finite(const tt_cpu_job *job) {
  for (int64_t i = 0; i < job->n * job->n; i++) {
    double imag = 0, value = tt_cpu_load(job->dtype, operand(job, 0), i, &imag);
    if (!isfinite(value) || !isfinite(imag))
      return false;
  }
  return true;
}

/* As LAPACK says it: the matrix, argument 4, is at fault. Other results are zeros. */
static tt_error *refuse_matrix(const tt_cpu_job *job) {
  uint32_t count = job->args->op->results_count;
  for (uint32_t i = 0; i < count; i++)
    clear(job, i);
  return set_info(job, count - 1, -4);
}

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

/* Result k: the eigenvalue that was found as number `from`, and what becomes of it. `taken` is of
 * the one found as number k. */
typedef struct place {
  int64_t from;
  bool real, conjugate, taken;
} place;

/* The other of a conjugate pair among those not taken behind i; -1: it is real. */
static int64_t find_conjugate(const tt_cpu_complex *t, int64_t n, int64_t i, double norm,
                              const place *places) {
  tt_cpu_complex value = conj(t[i * (n + 1)]);
  double near = sqrt(DBL_EPSILON) * norm;
  int64_t best = -1;
  for (int64_t j = i + 1; j < n && fabs(cimag(value)) > 1e3 * DBL_EPSILON * norm; j++) {
    double distance = cabs(t[j * (n + 1)] - value);
    if (places[j].taken || distance > near)
      continue;
    near = distance;
    best = j;
  }
  return best;
}

/* A real matrix has real eigenvalues and conjugate pairs: exactly so, the positive imaginary part
 * first. */
static void place_values(const tt_cpu_complex *t, int64_t n, bool real_matrix, place *places) {
  double norm = 0;
  for (int64_t i = 0; i < n; i++) {
    norm = fmax(norm, cabs(t[i * (n + 1)]));
    places[i] = (place){.from = i};
  }
  for (int64_t at = 0, i = 0; i < n && real_matrix; i++) {
    if (places[i].taken)
      continue;
    int64_t other = find_conjugate(t, n, i, norm, places);
    int64_t first = other >= 0 && cimag(t[i * (n + 1)]) < 0 ? other : i;
    places[at].from = first;
    places[at++].real = other < 0;
    if (other < 0)
      continue;
    places[other].taken = true;
    places[at].from = first;
    places[at++].conjugate = true;
  }
}

static tt_cpu_complex as_placed(place to, tt_cpu_complex x) {
  return to.conjugate ? conj(x) : to.real ? creal(x) : x;
}

static void store_values(const tt_cpu_job *job, const tt_cpu_complex *t, const place *places) {
  for (int64_t k = 0; k < job->n; k++) {
    tt_cpu_complex x = as_placed(places[k], t[places[k].from * (job->n + 1)]);
    tt_cpu_store(job->dtype, result(job, 0), k, creal(x), cimag(x));
    if (!job->is_complex)
      tt_cpu_store(job->dtype, result(job, 1), k, cimag(x), 0);
  }
}

static void store_vectors(const tt_cpu_job *job, const tt_cpu_complex *vectors, const place *places,
                          uint32_t to) {
  int64_t n = job->n;
  for (int64_t i = 0; i < n * n; i++) {
    place from = places[i % n];
    tt_cpu_complex x = as_placed(from, vectors[i - i % n + from.from]);
    tt_cpu_store(tt_dtype_complex(job->dtype), result(job, to), i, creal(x), cimag(x));
  }
}

static_assert(sizeof(place) <= sizeof(tt_cpu_complex), "places are scratch for elements");

/* In complex numbers, also for real matrices. */
static tt_error *plain_geev(tt_cpu_job *job, bool left, bool right) {
  int64_t n = job->n;
  uint32_t values = job->is_complex ? 1 : 2; /* results before the vectors */
  void *given = NULL, *t = NULL, *v = NULL, *row = NULL, *x = NULL, *places = NULL;
  TT_RETURN_IF_ERROR(widen(job, 0, 0, n, n, &given));
  TT_RETURN_IF_ERROR(work(job, 1, n, n, &t));
  TT_RETURN_IF_ERROR(work(job, 2, n, n, &v));
  TT_RETURN_IF_ERROR(work(job, 3, 2, n, &row));
  TT_RETURN_IF_ERROR(work(job, 4, n, n, &x));
  TT_RETURN_IF_ERROR(work(job, 5, n, 1, &places));
  for (int64_t i = 0; i < n * n; i++)
    ((tt_cpu_complex *)t)[i] = load_wide(job, given, i);
  bool found = tt_cpu_schur(t, n, v, row);
  place_values(t, n, !job->is_complex, places);
  store_values(job, t, places);
  for (int side = 0; side < 2; side++) {
    if (side == 0 ? !left : !right)
      continue;
    tt_cpu_eigenvectors(t, v, n, side == 0, x, row);
    store_vectors(job, x, places, values + (uint32_t)side);
  }
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
  if (info == 0 && left)
    unpack(job, vl, result(job, 1), 2);
  if (info == 0 && right)
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
  if (!is_finite(job))
    return refuse_matrix(job);
  /* What LAPACK does not find it does not set. */
  for (uint32_t i = 0; i < values + 2; i++)
    clear(job, i);
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
  return set_info(job, 4, found ? 0 : 1);
}

static tt_error *run_gees(tt_cpu_job *job) {
  tt_cpu_routine_call call = routine(job, TT_CPU_GEES);
  char mode = tt_cpu_config(job->args->op, "mode", 'V') == 'N' ? 'N' : 'V';
  int32_t n = (int32_t)job->n, *sdim = result(job, job->is_complex ? 3 : 4);
  if (!is_finite(job))
    return refuse_matrix(job);
  *sdim = 0;
  if (job->k == 0)
    return set_info(job, job->is_complex ? 4 : 5, 0);
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

/* clang-format off */
static const tt_cpu_target targets[] = {
    {"Eigh", "Tnn", "Tnn Rn", true, true, run_eigh, NULL, NULL},
    {"syevd", "Tnn", "Tnn Rn I", true, false, run_heevd, NULL, NULL},
    {"heevd", "Tnn", "Tnn Rn I", false, true, run_heevd, NULL, NULL},
    {"sytrd", "Tnn", "Tnn Rn Rl Tl I", true, false, run_hetrd, NULL, check_hetrd},
    {"hetrd", "Tnn", "Tnn Rn Rl Tl I", false, true, run_hetrd, NULL, check_hetrd},
    {"geev", "Tnn", "Tn Tn Cnn Cnn I", true, false, run_geev, NULL, NULL},
    {"geev", "Tnn", "Tn Tnn Tnn I", false, true, run_geev, NULL, NULL},
    {"gees", "Tnn", "Tnn Tnn Tn Tn I I", true, false, run_gees, NULL, check_gees},
    {"gees", "Tnn", "Tnn Tnn Tn I I", false, true, run_gees, NULL, check_gees},
    {"gehrd", "Tnn", "Tnn Tl I", true, true, run_gehrd, NULL, check_gehrd},
};
/* clang-format on */
const tt_cpu_targets tt_cpu_eigen = {targets, sizeof targets / sizeof *targets};
