/* custom.h: custom calls. custom.c finds and checks them; those of linear algebra, which run matrix
 * by matrix, have tables in factors_*.c. */
#ifndef TT_CPU_KERNELS_CUSTOM_H
#define TT_CPU_KERNELS_CUSTOM_H

#include "cpu/kernel.h"
#include "cpu/library.h"

enum { TT_CPU_JOB_WORKS = 8 };

/* One matrix of a stack; the dtype and the last dims of operand 0. */
typedef struct tt_cpu_job {
  const tt_cpu_args *args;
  tt_dtype dtype;
  bool is_complex;
  int64_t m, n, k;      /* k: the lesser */
  int64_t index, count; /* of matrices */
  void *works[TT_CPU_JOB_WORKS];
} tt_cpu_job;

typedef struct tt_cpu_target tt_cpu_target;
struct tt_cpu_target {
  const char *name;
  /* Types of operands and results: T is operand 0's dtype, R its real one, C its complex one, I is
   * i32; then dims behind those of the stack. A letter is one size everywhere: m and n are operand
   * 0's last, k the lesser, l is n - 1. NULL: not looked at. */
  const char *operands, *results;
  bool real, is_complex; /* which dtypes of operand 0 it takes */
  tt_error *(*run)(tt_cpu_job *job);
  tt_error *(*run_all)(const tt_cpu_args *args); /* instead, for all matrices at once */
  tt_error *(*check)(const tt_hlo_op *op);       /* further; or NULL */
};

/* A number or a bool in the dictionary of backend_config. */
int64_t tt_cpu_config(const tt_hlo_op *op, const char *key, int64_t fallback);

typedef struct tt_cpu_targets {
  const tt_cpu_target *items;
  size_t count;
} tt_cpu_targets;
extern const tt_cpu_targets tt_cpu_orthogonal, tt_cpu_triangular, tt_cpu_svd, tt_cpu_eigen;

/* approx_top_k.c */
TT_NODISCARD tt_error *tt_cpu_approx_top_k(const tt_cpu_args *args);
TT_NODISCARD tt_error *tt_cpu_check_approx_top_k(const tt_hlo_op *op);

/* solve.c */
typedef struct tt_cpu_solve_form {
  bool left, lower, unit, transposed, conjugate;
} tt_cpu_solve_form;
TT_NODISCARD tt_error *tt_cpu_triangular_solve(const tt_cpu_args *args, tt_cpu_solve_form form);
TT_NODISCARD tt_error *tt_cpu_cholesky(const tt_cpu_args *args, bool lower);

#endif /* TT_CPU_KERNELS_CUSTOM_H */
