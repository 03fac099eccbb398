/* factors.h: what the targets of linear algebra share: the arrays of a job. LAPACK runs where the
 * library is there and has the dtype, plain C in double (linalg.h) otherwise. */
#ifndef TT_CPU_KERNELS_FACTORS_H
#define TT_CPU_KERNELS_FACTORS_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "cpu/kernels/custom.h"
#include "cpu/kernels/linalg.h"

enum { ROW = TT_CPU_ROW_MAJOR };

#define CALL(job, function, ...) \
  ((job)->is_complex ? function##_complex(__VA_ARGS__) : function##_real(__VA_ARGS__))

static inline int64_t piece_bytes(const tt_cpu_job *job, const tt_hlo_type *type) {
  return tt_cpu_bytes(type) / job->count;
}

static inline const void *operand(const tt_cpu_job *job, uint32_t k) {
  return (const char *)job->args->in[k] +
         job->index * piece_bytes(job, &job->args->op->operands[k]->type);
}

static inline void *result(const tt_cpu_job *job, uint32_t k) {
  return (char *)job->args->out[k] + job->index * piece_bytes(job, &job->args->op->results[k].type);
}

static inline int64_t elements(const tt_cpu_job *job, const tt_hlo_type *type) {
  return tt_cpu_count(type) / job->count;
}

/* Size of the last axis but `back`. */
static inline int64_t operand_dim(const tt_cpu_job *job, uint32_t k, int32_t back) {
  const tt_hlo_type *type = &job->args->op->operands[k]->type;
  return type->dims[type->rank - 1 - back];
}

static inline int64_t result_dim(const tt_cpu_job *job, uint32_t k, int32_t back) {
  const tt_hlo_type *type = &job->args->op->results[k].type;
  return type->dims[type->rank - 1 - back];
}

/* The result begins as the operand. */
static inline void copy_in(const tt_cpu_job *job, uint32_t from, uint32_t to) {
  memcpy(result(job, to), operand(job, from),
         (size_t)piece_bytes(job, &job->args->op->results[to].type));
}

static inline void clear(const tt_cpu_job *job, uint32_t k) {
  memset(result(job, k), 0, (size_t)piece_bytes(job, &job->args->op->results[k].type));
}

/* LAPACK's info becomes result `k`; but for memory, the caller's program looks at it. */
static inline tt_error *set_info(const tt_cpu_job *job, uint32_t k, int32_t info) {
  TT_RETURN_IF_ERROR(tt_cpu_library_status(info));
  if (k < job->args->op->results_count)
    *(int32_t *)result(job, k) = info;
  return NULL;
}

/* Scratch for rows x columns elements in double, the same for each matrix. */
static inline tt_error *work(tt_cpu_job *job, int slot, int64_t rows, int64_t columns,
                             void **out_work) {
  int64_t size = 0;
  bool fits =
      tt_mul_i64(rows, columns, &size) && tt_mul_i64(size, (int64_t)sizeof(tt_cpu_complex), &size);
  if (job->works[slot] == NULL)
    job->works[slot] = fits ? tt_cpu_scratch(job->args->run, size + 1) : NULL;
  *out_work = job->works[slot];
  return *out_work == NULL ? tt_cpu_no_scratch(job->args->op, fits ? size : INT64_MAX) : NULL;
}

static inline tt_dtype wide_dtype(const tt_cpu_job *job) {
  return job->is_complex ? TT_C128 : TT_F64;
}

static inline tt_error *widen(tt_cpu_job *job, int slot, uint32_t k, int64_t rows, int64_t columns,
                              void **out_work) {
  TT_RETURN_IF_ERROR(work(job, slot, rows, columns, out_work));
  tt_cpu_convert(job->dtype, operand(job, k), wide_dtype(job), *out_work, rows * columns);
  return NULL;
}

static inline void narrow(const tt_cpu_job *job, const void *array, uint32_t k) {
  const tt_hlo_type *type = &job->args->op->results[k].type;
  tt_cpu_convert(tt_dtype_is_complex(type->dtype) ? TT_C128 : wide_dtype(job), array, type->dtype,
                 result(job, k), elements(job, type));
}

static inline void narrow_real(const tt_cpu_job *job, const double *array, uint32_t k) {
  const tt_hlo_type *type = &job->args->op->results[k].type;
  tt_cpu_convert(TT_F64, array, type->dtype, result(job, k), elements(job, type));
}

static inline tt_cpu_complex load_wide(const tt_cpu_job *job, const void *a, int64_t i) {
  return job->is_complex ? ((const tt_cpu_complex *)a)[i] : ((const double *)a)[i];
}

static inline void store_wide(const tt_cpu_job *job, void *a, int64_t i, tt_cpu_complex x) {
  if (job->is_complex)
    ((tt_cpu_complex *)a)[i] = x;
  else
    ((double *)a)[i] = creal(x);
}

/* Empty matrices have plain C: LAPACKE refuses leading dimensions of 0. */
static inline tt_cpu_routine_call routine(const tt_cpu_job *job, tt_cpu_routine which) {
  return job->k == 0 ? (tt_cpu_routine_call){NULL} : tt_cpu_routine_get(which, job->dtype);
}

static inline void transpose(const tt_cpu_job *job, const void *in, int64_t rows, int64_t columns,
                             bool conjugate, void *out) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      tt_cpu_complex x = load_wide(job, in, i * columns + j);
      store_wide(job, out, j * rows + i, conjugate ? conj(x) : x);
    }
}

static inline tt_error *need(const tt_hlo_op *op, tt_cpu_routine which, const char *what) {
  bool there = tt_cpu_routine_get(which, op->operands[0]->type.dtype).address != NULL;
  return there ? NULL : tt_cpu_library_missing(what);
}

#endif /* TT_CPU_KERNELS_FACTORS_H */
