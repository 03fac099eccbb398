/* move.h: copies between two strided views of equal dims. Most ops that only place elements are one
 * such copy, or a few. */
#ifndef TT_CPU_KERNELS_MOVE_H
#define TT_CPU_KERNELS_MOVE_H

#include "cpu/kernel.h"

typedef struct tt_cpu_move {
  int32_t rank;
  int bytes;      /* of an element */
  int64_t offset; /* of `in`, in elements, besides what the caller adds */
  int64_t out_offset;
  int64_t dims[TT_HLO_RANK_MAX], in[TT_HLO_RANK_MAX],
      out[TT_HLO_RANK_MAX]; /* strides in elements */
} tt_cpu_move;

/* Drops axes of size 1 and joins those that lie side by side in both views. */
void tt_cpu_move_simplify(tt_cpu_move *move);
/* Of a simplified move; several threads may work on a large one. */
void tt_cpu_move_run(const tt_cpu_move *move, const void *in, void *out);
/* On this thread only. */
void tt_cpu_move_serial(const tt_cpu_move *move, const void *in, void *out);

#endif /* TT_CPU_KERNELS_MOVE_H */
