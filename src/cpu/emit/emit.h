/* emit.h: machine code for element-by-element programs: one loop over memory in which what one op
 * gives the next stays in a vector register.
 *
 * A program is a list of ops on values: its inputs first, then the result of each op. An op is
 * already in the dtype that it is computed in (tile/make.c has put the conversions). The code gives
 * the very bits that the loops of kernels/loops.inc give for that instruction set, but for the
 * payload and sign of a NaN that arithmetic made: functions are the same polynomials with the same
 * roundings, multiply-adds only where FMA stands there.
 *
 * Code is in memory that is never writable where it is executable. Where the system gives no such
 * memory, or the program has an op that is not here, there is no code, and tile/run.c does without.
 * x86-64 alone: AVX-512 (F, BW, DQ, VL), or AVX2 with FMA. */
#ifndef TT_CPU_EMIT_EMIT_H
#define TT_CPU_EMIT_EMIT_H

#include "cpu/tile/tile.h"

/* Folded outputs are made for rows: the function writes one element, the fold of those that it was
 * called with.
 *
 * SUM, in f32 or f64: `lanes` * `unroll` partial sums, from +0; element i goes to partial sum
 * i % (lanes * unroll), but the last count % (lanes * unroll) elements go to the first `lanes`
 * of them, in order. Then partial sums lanes * u + l are added over u = 0, 1, ..., then l by
 * halves: l and l + lanes / 2, l + lanes / 4, ... So it depends on the instruction set and on the
 * program. MAX, MIN: as the ops maximum and minimum (NaN if one is there), from -inf, or inf. */
struct tt_cpu_emit_op {
  tt_hlo_code code; /* CONVERT: from -> to */
  tt_dtype from;    /* of the operands; of the branches for select and clamp */
  tt_dtype to;
  tt_hlo_direction direction; /* of COMPARE */
  bool total;                 /* COMPARE of floats in total order */
  uint16_t in[3];             /* values */
};

typedef struct tt_cpu_emit_in {
  tt_dtype dtype;
  bool scalar; /* its pointer is to the one element that all are */
} tt_cpu_emit_in;

typedef struct tt_cpu_emit_out {
  tt_dtype dtype;
  uint16_t value;
  tt_cpu_fold fold; /* of f32 and f64 only */
} tt_cpu_emit_out;

typedef struct tt_cpu_emit_program {
  const tt_cpu_emit_in *in;
  const tt_cpu_emit_op *ops;
  const tt_cpu_emit_out *out;
  uint32_t ins, ops_count, outs;
  int64_t count; /* as many elements as a call has at most */
} tt_cpu_emit_program;

/* `pointers`: of the inputs, then of the outputs, at the first element. `count` >= 0; where `whole`
 * is set, a multiple of `lanes`. An output may be the very address of an input with elements of
 * equal size. */
typedef void (*tt_cpu_code_function)(void *const *pointers, int64_t count);

struct tt_cpu_code {
  tt_cpu_code_function function;
  tt_cpu_code *next; /* of who owns it */
  uint32_t size;     /* bytes */
  uint32_t ins, outs;
  uint8_t lanes, unroll;
  bool whole;
  bool folds;      /* some output is folded: then a call's elements are the fold's */
  uint8_t bytes[]; /* [ins + outs]: of an element; 0: a scalar */
};

/* NULL: there is no code for it, and the VM runs. `scratch` is used until it returns. */
tt_cpu_code *tt_cpu_emit(const tt_cpu_emit_program *program, tt_cpu_isa isa, tt_arena *scratch);
/* Whether programs with such an op may have code; `in` is not looked at. A dry run, some 100 ns. */
bool tt_cpu_emit_has(const tt_cpu_emit_op *op, tt_cpu_isa isa);
bool tt_cpu_emit_has_dtype(tt_dtype dtype, tt_cpu_isa isa);
void tt_cpu_code_free(tt_cpu_code *code);   /* NULL is allowed */
void tt_cpu_codes_free(tt_cpu_code *first); /* and those after it */
/* Any count: for `whole` code the elements beyond the last full vector go by way of the stack. */
void tt_cpu_code_run(const tt_cpu_code *code, void *const *pointers, int64_t count);
/* Appends the micro-ops, a line each, where their values live, and what the loop is. */
TT_NODISCARD tt_error *tt_cpu_emit_print(const tt_cpu_emit_program *program, tt_cpu_isa isa,
                                         tt_bytes *out_text);
/* Bytes of code that is not freed. */
size_t tt_cpu_code_memory_used(void);

#endif /* TT_CPU_EMIT_EMIT_H */
