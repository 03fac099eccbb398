/* tile.h: several element-by-element ops in one pass: a small program that runs tile by tile, so
 * that what one op gives the next stays in the nearest cache.
 *
 * An instruction is a loop over one tile. Its operands are slots: inputs, outputs, registers (tiles
 * of scratch). An input that is spread (a scalar, a row, a column) is written out tile by tile.
 *
 * Where emit/ has machine code for the whole program, that runs instead, over runs of elements in
 * which each input is either dense or one element. */
#ifndef TT_CPU_TILE_TILE_H
#define TT_CPU_TILE_TILE_H

#include "base/error.h"
#include "hlo/hlo.h"

typedef struct tt_cpu_code tt_cpu_code;       /* emit/emit.h */
typedef struct tt_cpu_emit_op tt_cpu_emit_op; /* the same */

typedef struct tt_cpu_loop_args {
  int64_t count;
  void *out;
  const void *in[3];
  const tt_hlo_op *op;
} tt_cpu_loop_args;

/* out[i] = f(in[0][i], ...). `out` may be the very address of an operand with elements of equal
 * size. */
typedef void (*tt_cpu_loop)(const tt_cpu_loop_args *args);

enum { TT_CPU_TILE = 512, TT_CPU_TILE_SCRATCH = 48 << 10, TT_CPU_TILE_BUFFERS = 180 };

typedef enum tt_cpu_spread {
  TT_CPU_SPREAD_DENSE,
  TT_CPU_SPREAD_SCALAR,
  TT_CPU_SPREAD_ROW,    /* dense up to the end of a period */
  TT_CPU_SPREAD_COLUMN, /* a scalar for `inner` elements */
  TT_CPU_SPREAD_WRITTEN /* changes too often: written out */
} tt_cpu_spread;

typedef struct tt_cpu_tile_in {
  int64_t inner, period; /* period 0: element i; else element (i / inner) % period */
  int bytes;             /* of an element */
  int32_t last;          /* instruction that reads it */
  tt_cpu_spread spread;  /* how code reads it; set by tt_cpu_tile_make */
} tt_cpu_tile_in;

typedef struct tt_cpu_tile_out {
  int bytes;
  int32_t first; /* instruction that writes it */
} tt_cpu_tile_out;

typedef struct tt_cpu_instruction {
  tt_cpu_loop loop;
  const tt_hlo_op *op;
  uint16_t out, in[3];
} tt_cpu_instruction;

typedef struct tt_cpu_tile {
  int64_t count;             /* elements of the whole */
  int64_t length;            /* of a tile */
  int64_t buffer;            /* bytes of one buffer */
  double cost;               /* of one element, about nanoseconds */
  uint32_t ins, outs, slots; /* slots: with the registers */
  uint32_t instructions_count;
  bool direct;       /* one instruction and nothing spread: needs no tiles */
  bool walks;        /* code: some input is a row, a column or written out */
  tt_cpu_code *code; /* or NULL */
  tt_cpu_tile_in *in;
  tt_cpu_tile_out *out;
  tt_cpu_instruction *instructions;
} tt_cpu_tile;

/* What a program is made from: ops in order, what they read from outside, what leaves. */
typedef struct tt_cpu_tile_operand {
  int32_t made; /* >= 0: result of that op of the program; < 0: input -1 - made */
} tt_cpu_tile_operand;
typedef struct tt_cpu_tile_op {
  const tt_hlo_op *op;
  tt_cpu_tile_operand in[3];
  int32_t out; /* the output that it is, or -1 */
} tt_cpu_tile_op;

/* What becomes of a value over a row. */
typedef enum tt_cpu_fold {
  TT_CPU_FOLD_NONE, /* element i is written */
  TT_CPU_FOLD_SUM,
  TT_CPU_FOLD_MAX,
  TT_CPU_FOLD_MIN
} tt_cpu_fold;

typedef struct tt_cpu_tile_fold {
  tt_cpu_tile_operand value;
  tt_dtype dtype; /* of it */
  tt_cpu_fold fold;
} tt_cpu_tile_fold;

/* Code that runs a tile for one row, with the folds of its values over the row. Its pointers are
 * those of the inputs (scalars where they are one element for each row), of the outputs that are
 * written, then of the folds' results. */
typedef struct tt_cpu_tile_row {
  int64_t row; /* elements */
  uint32_t folds_count;
  const tt_cpu_tile_fold *folds;
  const bool *unwritten; /* [outs]: outputs that only the folds read */
  tt_cpu_code *code;     /* made by tt_cpu_tile_make, which then makes no other; or NULL */
} tt_cpu_tile_row;

/* `in` and `out` are in the arena and have all but `last`, `first` and `spread`. Code is added to
 * `codes`, whose owner frees it (tt_cpu_codes_free); NULL: no code is made. `row` is NULL where the
 * elements are no rows. */
TT_NODISCARD tt_error *tt_cpu_tile_make(tt_arena *arena, tt_cpu_code **codes,
                                        const tt_cpu_tile_op *ops, uint32_t ops_count,
                                        int64_t count, tt_cpu_tile_in *in, uint32_t ins,
                                        tt_cpu_tile_out *out, uint32_t outs, tt_cpu_tile_row *row,
                                        tt_cpu_tile **out_tile);
void tt_cpu_tile_run(const tt_cpu_tile *tile, const void *const *in, void *const *out);
/* Elements [begin, end), on this thread. */
void tt_cpu_tile_run_range(const tt_cpu_tile *tile, const void *const *in, void *const *out,
                           int64_t begin, int64_t end);
/* NULL, or UNIMPLEMENTED: there is no loop for the op with these dtypes. */
TT_NODISCARD tt_error *tt_cpu_tile_check(const tt_hlo_op *op);

/* code.c: gives the tile its code, when there is some. `ops`: one for each instruction, on the
 * inputs and then on what the instructions make; `dtypes`: of the inputs; `outs`: the value of
 * each. */
void tt_cpu_tile_add_code(tt_cpu_tile *tile, tt_cpu_code **codes, tt_arena *scratch,
                          const tt_cpu_emit_op *ops, const tt_dtype *dtypes, const int32_t *outs);
/* The same for one row; false: there is none. `folds`: the value of each. */
bool tt_cpu_tile_add_row_code(const tt_cpu_tile *tile, tt_cpu_code **codes, tt_arena *scratch,
                              const tt_cpu_emit_op *ops, const tt_dtype *dtypes,
                              const int32_t *outs, const int32_t *folds, tt_cpu_tile_row *row);
/* A program all of whose ops have code has it; one op that has none, such as power, leaves all of
 * them to the loops. So the two kinds do not share a program. */
bool tt_cpu_tile_has_code(const tt_hlo_op *op);
/* Elements [begin, end) by the tile's code. */
void tt_cpu_tile_run_code(const tt_cpu_tile *tile, const char *const *in, char *const *out,
                          int64_t begin, int64_t end);
/* run.c: to[i] = the element of `from` that element begin + i is spread from. */
void tt_cpu_tile_spread(const tt_cpu_tile_in *in, const char *from, int64_t begin, int64_t count,
                        char *to);

/* ---- loops ---- */

/* Instruction sets that loops are compiled for. */
typedef enum tt_cpu_isa {
  TT_CPU_ISA_BASE,
  TT_CPU_ISA_AVX2,
  TT_CPU_ISA_AVX512,
  TT_CPU_ISA_COUNT
} tt_cpu_isa;
/* The best that this processor has, and that the environment's TT_CPU_ISA allows. */
tt_cpu_isa tt_cpu_isa_best(void);
/* INVALID_ARGUMENT: TT_CPU_ISA names none. */
TT_NODISCARD tt_error *tt_cpu_isa_check(void);

typedef struct tt_cpu_loop_table {
  /* By the dtype of the operands (of the branches for select). */
  tt_cpu_loop ops[TT_HLO_OP_COUNT][TT_DTYPE_COUNT];
  tt_cpu_loop converts[TT_DTYPE_COUNT][TT_DTYPE_COUNT]; /* [from][to]: those that are one loop */
} tt_cpu_loop_table;

extern const tt_cpu_loop_table tt_cpu_loops_base, tt_cpu_loops_avx2, tt_cpu_loops_avx512;
extern const tt_cpu_loop_table tt_cpu_loops_slow; /* compiled once: libm, and any dtype */
/* NULL: there is none. */
tt_cpu_loop tt_cpu_loop_find(tt_hlo_code code, tt_dtype dtype);
/* The loops, one after another, that convert; fewer than 4. 0: there are none. `via` has the dtype
 * that each gives. */
int tt_cpu_convert_path(tt_dtype from, tt_dtype to, tt_cpu_loop loops[3], tt_dtype via[3]);
/* The dtype that ops on `dtype` are computed in. */
tt_dtype tt_cpu_compute_dtype(tt_hlo_code code, tt_dtype dtype);

#endif /* TT_CPU_TILE_TILE_H */
