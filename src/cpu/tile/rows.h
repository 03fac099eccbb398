/* rows.h: programs over the rows of an array [rows, row]: element by element ops, reductions along
 * a row and of whole columns, and ops on what the reductions give. Block by block of rows, so that
 * softmax or a layer norm passes over memory once. */
#ifndef TT_CPU_TILE_ROWS_H
#define TT_CPU_TILE_ROWS_H

#include "cpu/kernels/reduce.h"
#include "cpu/tile/tile.h"

/* How many elements a value has. */
typedef enum tt_cpu_rows_class {
  TT_CPU_ROWS_FULL,  /* rows * row */
  TT_CPU_ROWS_EACH,  /* rows: one for each row */
  TT_CPU_ROWS_COLUMN /* row: one for each column, known when all rows have been seen */
} tt_cpu_rows_class;

typedef enum tt_cpu_rows_place {
  TT_CPU_ROWS_IN,
  TT_CPU_ROWS_OUT,
  TT_CPU_ROWS_SCRATCH, /* of one block */
} tt_cpu_rows_place;

typedef struct tt_cpu_rows_slot {
  tt_cpu_rows_place place;
  uint32_t index;         /* IN, OUT */
  int64_t offset, stride; /* SCRATCH: bytes; from one row to the next */
} tt_cpu_rows_slot;

typedef enum tt_cpu_rows_kind {
  TT_CPU_ROWS_TILE,
  TT_CPU_ROWS_REDUCE,        /* FULL to EACH */
  TT_CPU_ROWS_REDUCE_COLUMNS /* FULL to COLUMN */
} tt_cpu_rows_kind;

typedef struct tt_cpu_rows_phase {
  tt_cpu_rows_kind kind;
  tt_cpu_tile *tile;
  bool each;                 /* TILE: over EACH, not FULL */
  tt_cpu_code *row_code;     /* TILE: for one row, with its folds; NULL: there is none */
  const int64_t *row_steps;  /* of its pointers, from one row to the next: bytes */
  const uint16_t *row_slots; /* of its pointers */
  uint32_t row_pointers;
  bool folded;     /* REDUCE: a tile's code has made it */
  bool plain;      /* REDUCE: what it begins with changes no sum */
  uint16_t *slots; /* TILE: its ins, its outs; else in, out */
  tt_cpu_reducer reducer;
  int bytes;     /* of an element that is reduced */
  int64_t part;  /* REDUCE_COLUMNS: offset in a part's sums */
  char init[16]; /* what the reduction begins with */
} tt_cpu_rows_phase;

typedef struct tt_cpu_rows {
  int64_t rows, row;
  int64_t block;   /* rows */
  int64_t scratch; /* bytes of a block's */
  int64_t sums;    /* bytes of the sums of columns that a part has */
  double cost;     /* of a row, about nanoseconds */
  uint32_t ins, outs, slots_count, phases_count;
  tt_cpu_rows_slot *slots;
  tt_cpu_rows_phase *phases;
} tt_cpu_rows;

/* What a program is made from: ops in order; tile ops and reductions. */
typedef struct tt_cpu_rows_op {
  const tt_hlo_op *op;
  tt_cpu_rows_class gives;
  tt_cpu_tile_operand in[3];
  int32_t out;      /* the output that it is, or -1 */
  const void *init; /* reductions: address of their constant; else NULL */
} tt_cpu_rows_op;

/* How an op reads an input, in the terms of tile.h for the count of what it gives. */
typedef struct tt_cpu_rows_in {
  int64_t inner, period;
  int bytes;
} tt_cpu_rows_in;

/* Machine code of its tiles is added to `*codes`. */
TT_NODISCARD tt_error *tt_cpu_rows_make(tt_arena *arena, tt_cpu_code **codes, int64_t rows,
                                        int64_t row, const tt_cpu_rows_op *ops, uint32_t ops_count,
                                        const tt_cpu_rows_in *in, uint32_t ins, uint32_t outs,
                                        tt_cpu_rows **out_rows);
/* False: out of memory for `*out_size` bytes of scratch. */
TT_NODISCARD bool tt_cpu_rows_run(const tt_cpu_rows *rows, tt_cpu_run *run, const void *const *in,
                                  void *const *out, int64_t *out_size);
/* Any of its rows may be run alone: nothing adds up columns. */
bool tt_cpu_rows_divide(const tt_cpu_rows *rows);
/* Rows [begin, end) of such a program. `fixed`: addresses of row 0 of its inputs, then its outputs.
 * `scratch`: rows->scratch bytes, 64-byte aligned. */
void tt_cpu_rows_run_range(const tt_cpu_rows *rows, char *const *fixed, char *scratch,
                           int64_t begin, int64_t end);
/* Output `out` may be written where input `in` is read: no row is read after it is written. */
bool tt_cpu_rows_over(const tt_cpu_rows *rows, uint32_t in, uint32_t out);

#endif /* TT_CPU_TILE_ROWS_H */
