/* indices.h: what gather and scatter share: indices that become offsets, many at a time. */
#ifndef TT_CPU_KERNELS_INDICES_H
#define TT_CPU_KERNELS_INDICES_H

#include "cpu/kernel.h"

enum { TT_CPU_INDICES_BLOCK = 512 }; /* offsets that are worked with at a time */

/* How the numbers of an index become an offset: sum of number[k] * stride[k]. */
typedef struct tt_cpu_indices {
  tt_dtype dtype;
  const void *data;
  int64_t step; /* from one number of an index to the next, in elements */
  int32_t count;
  int64_t most[TT_HLO_RANK_MAX], stride[TT_HLO_RANK_MAX];
  bool clamp; /* numbers outside [0, most] to the nearest inside; else the offset is -1 */
} tt_cpu_indices;

/* Of `count` indices, the first at element `at`, each `at_step` from the one before. */
void tt_cpu_indices_offsets(const tt_cpu_indices *indices, int64_t at, int64_t at_step,
                            int64_t count, int64_t *out_offsets);

/* The axes over which indices lie, outermost first, and their strides in the arrays that a walk
 * over them reads and writes. */
enum { TT_CPU_INDICES_ARRAYS = 3 };
typedef struct tt_cpu_index_axes {
  int32_t rank;
  int64_t dims[TT_HLO_RANK_MAX], strides[TT_CPU_INDICES_ARRAYS][TT_HLO_RANK_MAX];
} tt_cpu_index_axes;

/* Joins axes that lie side by side in all the arrays; leaves at least one. */
void tt_cpu_index_axes_join(tt_cpu_index_axes *axes);
/* Where item `i` is in each array; returns how many items, it among them, follow each other along
 * the last axis. */
int64_t tt_cpu_index_axes_at(const tt_cpu_index_axes *axes, int64_t i, int64_t *out_at);

#endif /* TT_CPU_KERNELS_INDICES_H */
