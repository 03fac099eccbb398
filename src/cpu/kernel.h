/* kernel.h: how an op runs: one function for each, in the table kernels.def.
 *
 * A kernel reads its op (types, attributes) and dense, row-major operands, and writes every element
 * of its results. Operands and results do not overlap, but that result i may be the very address of
 * operand i where the op's line in kernels.def says OVER. It allocates nothing but tt_cpu_scratch,
 * and must take every dtype that the op may have; what it cannot is UNIMPLEMENTED when the plan is
 * made (its `check`), never at run time. Sizes have been checked: every tensor's bytes fit in 63
 * bits, and no dim is dynamic.
 *
 * Ops that work element by element have no kernel: tile/ runs them, several in one pass. */
#ifndef TT_CPU_KERNEL_H
#define TT_CPU_KERNEL_H

#include "cpu/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_cpu_run tt_cpu_run; /* of one tt_cpu_plan_run */

/* The elements of an operand that is a view of what is there: element (i, j, ...) is
 * in[offset + i * strides[0] + j * strides[1] ...]. */
typedef struct tt_cpu_strided {
  int64_t offset;
  int64_t *strides; /* NULL: the operand is dense and row-major */
} tt_cpu_strided;

/* What the plan asks of a kernel besides its op. */
typedef struct tt_cpu_absorbed {
  tt_cpu_strided views[2]; /* of the operands; kernels marked STRIDED */
  bool adds_row;           /* dot_general: in[2] is added to every row of the result */
} tt_cpu_absorbed;

typedef struct tt_cpu_args {
  tt_cpu_run *run;
  const tt_hlo_op *op;
  const void *const *in;           /* [op->operands_count]; that of a token is not looked at */
  void *const *out;                /* [op->results_count] */
  const tt_cpu_absorbed *absorbed; /* NULL: nothing */
} tt_cpu_args;

typedef tt_error *(*tt_cpu_kernel)(const tt_cpu_args *args);
typedef tt_error *(*tt_cpu_check)(
    const tt_hlo_op *op); /* NULL: takes all that the verifier lets by */

/* In kernels.def. OVER: result i may be written at the address of operand i, of equal bytes, which
 * is then dead. STRIDED: the kernel looks at `absorbed`. */
enum { TT_CPU_OVER = 1, TT_CPU_STRIDED = 2 };

typedef struct tt_cpu_kernel_info {
  tt_cpu_kernel kernel; /* NULL: no such op yet */
  tt_cpu_check check;
  unsigned traits;
} tt_cpu_kernel_info;

/* kernels.def: X(OP, function, check, traits) */
extern const tt_cpu_kernel_info tt_cpu_kernels[TT_HLO_OP_COUNT];

/* ---- what a kernel may ask of its run ---- */

/* `size` bytes, 64-byte aligned, until the kernel returns. NULL out of memory. */
void *tt_cpu_scratch(tt_cpu_run *run, int64_t size);
/* As the kernel's own error for that. */
TT_NODISCARD tt_error *tt_cpu_no_scratch(const tt_hlo_op *op, int64_t size);
/* Runs a region of the kernel's op. `args` are the addresses of its arguments' values, `results` of
 * what its return gets; outer values are in reach. They do not overlap. */
TT_NODISCARD tt_error *tt_cpu_region_run(tt_cpu_run *run, const tt_hlo_region *region,
                                         const void *const *args, void *const *results);
/* The op of a region that does nothing but apply it to its two arguments in order, or swapped where
 * that is the same; TT_HLO_OP_COUNT otherwise. So reductions find their fast path. */
tt_hlo_code tt_cpu_region_binary(const tt_hlo_region *region);
/* Its regions run as pieces of the run that they stand in; others' run once an element. */
static inline bool tt_cpu_is_control(tt_hlo_code code) {
  return code == TT_HLO_CASE || code == TT_HLO_IF || code == TT_HLO_WHILE;
}
int64_t tt_cpu_replica(const tt_cpu_run *run);
int64_t tt_cpu_partition(const tt_cpu_run *run);
/* 0, 1, ...: how often this was asked in this run of the plan. */
uint64_t tt_cpu_draw(tt_cpu_run *run);

/* Calls `body(begin, end, user)` for parts of [0, count), perhaps on several threads at once, and
 * returns when all are done. `cost` is the work of one item in about nanoseconds: little work stays
 * on this thread. A body must not call back into the run. */
void tt_cpu_parallel(int64_t count, double cost,
                     void (*body)(int64_t begin, int64_t end, void *user), void *user);

/* Whether so much work, in about nanoseconds, is worth sharing at this moment. */
bool tt_cpu_parallel_pays(double ns);
/* Threads that tt_cpu_parallel may use, this one counted. */
int tt_cpu_threads(void);

/* ---- shapes ---- */

int64_t tt_cpu_count(const tt_hlo_type *type); /* elements */
int64_t tt_cpu_bytes(const tt_hlo_type *type); /* 0 for a token */
/* Row-major strides in elements, [rank]. */
void tt_cpu_strides(const tt_hlo_type *type, int64_t *out_strides);
/* The numbers of an attribute of the op: I64S, BOOLS, ENUMS, MATRIX; empty where it is missing. */
tt_hlo_list tt_cpu_attr_list(const tt_hlo_op *op, tt_hlo_attr_name name);
int64_t tt_cpu_attr_i64(const tt_hlo_op *op, tt_hlo_attr_name name, int64_t fallback);

/* ---- elements of any dtype, for kernels whose speed does not matter ---- */

/* Floats, and integers up to 53 bits, exactly; `*out_imag` may be NULL. */
double tt_cpu_load(tt_dtype dtype, const void *array, int64_t index, double *out_imag);
void tt_cpu_store(tt_dtype dtype, void *array, int64_t index, double value, double imag);
/* Integers and pred; unsigned 64-bit values keep their bits. */
int64_t tt_cpu_load_int(tt_dtype dtype, const void *array, int64_t index);
void tt_cpu_store_int(tt_dtype dtype, void *array, int64_t index, int64_t value);
/* Writes `count` elements of `to` from as many of `from`, by the rules of convert. Fast. */
void tt_cpu_convert(tt_dtype from, const void *in, tt_dtype to, void *out, int64_t count);
/* out[i] = in[0] for `count` elements of `bytes` (1, 2, 4, 8 or 16) each. */
void tt_cpu_fill(void *out, const void *in, int64_t count, int bytes);

#ifdef __cplusplus
}
#endif

#endif /* TT_CPU_KERNEL_H */
