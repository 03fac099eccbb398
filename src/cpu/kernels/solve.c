/* cholesky, triangular_solve, and the custom calls Qr, ProductOfElementaryHouseholderReflectors and
 * Eigh: matrix by matrix, in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/linalg.h"

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

tt_error *tt_cpu_kernel_cholesky(const tt_cpu_args *args) {
  stack s = stack_of(&args->op->operands[0]->type);
  tt_dtype dtype = s.type->dtype;
  bool lower = tt_cpu_attr_i64(args->op, TT_HLO_LOWER, 0) != 0,
       is_complex = tt_dtype_is_complex(dtype);
  int64_t n = s.rows;
  void *a = NULL, *b = NULL;
  TT_RETURN_IF_ERROR(take(args, n, n, &a));
  TT_RETURN_IF_ERROR(take(args, n, n, &b));
  for (int64_t i = 0; i < s.count; i++) {
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

typedef struct solve_form {
  bool left, lower, unit, transposed, conjugate;
} solve_form;

static solve_form read_form(const tt_hlo_op *op) {
  int64_t kind = tt_cpu_attr_i64(op, TT_HLO_TRANSPOSE_A, TT_HLO_NO_TRANSPOSE);
  solve_form f = {.left = tt_cpu_attr_i64(op, TT_HLO_LEFT_SIDE, 0) != 0,
                  .lower = tt_cpu_attr_i64(op, TT_HLO_LOWER, 0) != 0,
                  .unit = tt_cpu_attr_i64(op, TT_HLO_UNIT_DIAGONAL, 0) != 0,
                  .transposed = kind != TT_HLO_NO_TRANSPOSE,
                  .conjugate = kind == TT_HLO_ADJOINT};
  /* x op(a) = b is op(a)^T x^T = b^T. */
  f.transposed = f.transposed != !f.left;
  f.lower = f.lower != f.transposed;
  return f;
}

static void conjugate_all(tt_cpu_complex *a, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    a[i] = conj(a[i]);
}

tt_error *tt_cpu_kernel_triangular_solve(const tt_cpu_args *args) {
  stack a = stack_of(&args->op->operands[0]->type), b = stack_of(&args->op->operands[1]->type);
  solve_form f = read_form(args->op);
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

/* ---- custom calls ---- */

static tt_error *run_qr(const tt_cpu_args *args) {
  stack s = stack_of(&args->op->operands[0]->type);
  tt_dtype dtype = s.type->dtype;
  int64_t m = s.rows, n = s.columns, k = m < n ? m : n;
  void *a = NULL, *taus = NULL, *row = NULL;
  TT_RETURN_IF_ERROR(take(args, m, n, &a));
  TT_RETURN_IF_ERROR(take(args, k, 1, &taus));
  TT_RETURN_IF_ERROR(take(args, n, 1, &row));
  for (int64_t i = 0; i < s.count; i++) {
    load(dtype, args->in[0], i * m * n, m * n, a);
    if (tt_dtype_is_complex(dtype))
      tt_cpu_qr_complex(a, m, n, taus, row);
    else
      tt_cpu_qr_real(a, m, n, taus, row);
    store(dtype, a, args->out[0], i * m * n, m * n);
    store(dtype, taus, args->out[1], i * k, k);
  }
  return NULL;
}

static tt_error *run_reflectors(const tt_cpu_args *args) {
  stack s = stack_of(&args->op->operands[0]->type);
  const tt_hlo_type *taus_type = &args->op->operands[1]->type;
  tt_dtype dtype = s.type->dtype;
  int64_t m = s.rows, n = s.columns, k = taus_type->dims[taus_type->rank - 1];
  void *a = NULL, *q = NULL, *taus = NULL, *row = NULL;
  TT_RETURN_IF_ERROR(take(args, m, n, &a));
  TT_RETURN_IF_ERROR(take(args, m, n, &q));
  TT_RETURN_IF_ERROR(take(args, k, 1, &taus));
  TT_RETURN_IF_ERROR(take(args, n, 1, &row));
  for (int64_t i = 0; i < s.count; i++) {
    load(dtype, args->in[0], i * m * n, m * n, a);
    load(dtype, args->in[1], i * k, k, taus);
    if (tt_dtype_is_complex(dtype))
      tt_cpu_reflect_complex(a, m, n, taus, k, q, row);
    else
      tt_cpu_reflect_real(a, m, n, taus, k, q, row);
    store(dtype, q, args->out[0], i * m * n, m * n);
  }
  return NULL;
}

static double element(bool is_complex, const void *a, int64_t i) {
  return is_complex ? creal(((const tt_cpu_complex *)a)[i]) : ((const double *)a)[i];
}

/* The other triangle from the one that counts. */
static void mirror(bool is_complex, void *a, int64_t n, bool lower) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      int64_t from = lower ? i * n + j : j * n + i, to = lower ? j * n + i : i * n + j;
      if (!is_complex) {
        ((double *)a)[to] = ((double *)a)[from];
        continue;
      }
      tt_cpu_complex x = ((tt_cpu_complex *)a)[from];
      ((tt_cpu_complex *)a)[to] = i == j ? creal(x) : conj(x);
    }
}

/* order: the places of the eigenvalues on the diagonal, ascending. */
static void sort_values(bool is_complex, const void *a, int64_t n, int64_t *order) {
  for (int64_t i = 0; i < n; i++) {
    double value = element(is_complex, a, i * n + i);
    int64_t k = i;
    for (; k > 0 && element(is_complex, a, order[k - 1] * n + order[k - 1]) > value; k--)
      order[k] = order[k - 1];
    order[k] = i;
  }
}

/* Results: vectors, as columns, then values. backend_config begins with 1 for the lower triangle,
 * 0 for the upper. */
static tt_error *run_eigh(const tt_cpu_args *args) {
  stack s = stack_of(&args->op->operands[0]->type);
  const tt_hlo_attr *config = tt_hlo_op_attr(args->op, TT_HLO_BACKEND_CONFIG);
  bool lower = config == NULL || config->text == NULL || config->text[0] != '0';
  tt_dtype dtype = s.type->dtype, work = work_dtype(dtype), real = tt_dtype_real(dtype);
  bool is_complex = tt_dtype_is_complex(dtype);
  int64_t n = s.rows;
  void *a = NULL, *v = NULL, *order = NULL;
  TT_RETURN_IF_ERROR(take(args, n, n, &a));
  TT_RETURN_IF_ERROR(take(args, n, n, &v));
  TT_RETURN_IF_ERROR(take(args, n, 1, &order));
  for (int64_t i = 0; i < s.count; i++) {
    load(dtype, args->in[0], i * n * n, n * n, a);
    mirror(is_complex, a, n, lower);
    if (is_complex)
      tt_cpu_eigh_complex(a, n, v);
    else
      tt_cpu_eigh_real(a, n, v);
    sort_values(is_complex, a, n, order);
    for (int64_t k = 0; k < n; k++) {
      int64_t from = ((const int64_t *)order)[k];
      tt_cpu_store(real, args->out[1], i * n + k, element(is_complex, a, from * n + from), 0);
      for (int64_t r = 0; r < n; r++) {
        double imag = 0, value = tt_cpu_load(work, v, r * n + from, &imag);
        tt_cpu_store(dtype, args->out[0], (i * n + r) * n + k, value, imag);
      }
    }
  }
  return NULL;
}

typedef struct target {
  const char *name;
  uint32_t operands, results;
  tt_error *(*run)(const tt_cpu_args *args);
} target;

static const target targets[] = {
    {"Qr", 1, 2, run_qr},
    {"ProductOfElementaryHouseholderReflectors", 2, 1, run_reflectors},
    {"Eigh", 1, 2, run_eigh},
};

static const char *name_of(const tt_hlo_op *op) {
  const tt_hlo_attr *name = tt_hlo_op_attr(op, TT_HLO_CALL_TARGET_NAME);
  return name == NULL || name->text == NULL ? "" : name->text;
}

static const target *find_target(const tt_hlo_op *op) {
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
    if (strcmp(targets[i].name, name_of(op)) == 0)
      return &targets[i];
  return NULL;
}

/* `type` has the batch dims of `like` and then `count` more. */
static bool has_dims(const tt_hlo_type *type, const tt_hlo_type *like, tt_dtype dtype,
                     int32_t count, int64_t first, int64_t second) {
  if (type->token || type->dtype != dtype || type->rank != like->rank - 2 + count)
    return false;
  for (int32_t i = 0; i < like->rank - 2; i++)
    if (type->dims[i] != like->dims[i])
      return false;
  return type->dims[like->rank - 2] == first &&
         (count == 1 || type->dims[like->rank - 1] == second);
}

/* Custom calls have no inference: the kernels' shapes are checked here. */
static bool shapes_fit(const tt_hlo_op *op) {
  const tt_hlo_type *a = &op->operands[0]->type;
  if (a->token || a->rank < 2 || !(tt_dtype_is_float(a->dtype) || tt_dtype_is_complex(a->dtype)))
    return false;
  int64_t m = a->dims[a->rank - 2], n = a->dims[a->rank - 1], k = m < n ? m : n;
  const tt_hlo_type *first = &op->results[0].type;
  if (!has_dims(first, a, a->dtype, 2, m, n))
    return false;
  if (strcmp(name_of(op), "Qr") == 0)
    return has_dims(&op->results[1].type, a, a->dtype, 1, k, 0);
  if (strcmp(name_of(op), "Eigh") == 0)
    return m == n && has_dims(&op->results[1].type, a, tt_dtype_real(a->dtype), 1, n, 0);
  const tt_hlo_type *taus = &op->operands[1]->type;
  return !taus->token && taus->rank >= 1 && taus->dims[taus->rank - 1] <= k &&
         has_dims(taus, a, a->dtype, 1, taus->dims[taus->rank - 1], 0);
}

tt_error *tt_cpu_check_custom_call(const tt_hlo_op *op) {
  const target *t = find_target(op);
  if (t == NULL)
    return tt_error_new(TT_UNIMPLEMENTED, "stablehlo.custom_call @%s is not implemented",
                        name_of(op));
  if (op->operands_count != t->operands || op->results_count != t->results || !shapes_fit(op))
    return tt_error_new(TT_UNIMPLEMENTED,
                        "stablehlo.custom_call @%s is not implemented for these types", t->name);
  return NULL;
}

tt_error *tt_cpu_kernel_custom_call(const tt_cpu_args *args) {
  return find_target(args->op)->run(args);
}
