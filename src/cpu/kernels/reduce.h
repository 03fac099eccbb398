/* reduce.h: sums and the like of rows and of columns, by type and instruction set. */
#ifndef TT_CPU_KERNELS_REDUCE_H
#define TT_CPU_KERNELS_REDUCE_H

#include "cpu/kernel.h"
#include "cpu/tile/tile.h"

typedef struct tt_cpu_reducer {
  /* *out = x[0] o x[1] o ... o x[count - 1], count > 0. Long sums are kept in many parts, which are
   * added pairwise. */
  void (*row)(const void *x, int64_t count, void *out);
  /* out[j] = x[0, j] o ... o x[rows - 1, j], for `count` columns; rows > 0, `stride` apart. */
  void (*columns)(const void *x, int64_t rows, int64_t stride, int64_t count, void *out);
} tt_cpu_reducer;

typedef tt_cpu_reducer (*tt_cpu_reducer_find)(tt_hlo_code code, tt_dtype dtype);
tt_cpu_reducer tt_cpu_reducers_base(tt_hlo_code code, tt_dtype dtype);
tt_cpu_reducer tt_cpu_reducers_avx2(tt_hlo_code code, tt_dtype dtype);
tt_cpu_reducer tt_cpu_reducers_avx512(tt_hlo_code code, tt_dtype dtype);

/* Of a reduction whose region is one op, in the very dtype of its operand; without functions if
 * there is none. */
tt_cpu_reducer tt_cpu_reducer_of(const tt_hlo_op *op);

/* A reduction as [outer, middle, inner] -> [outer, inner]. */
typedef struct tt_cpu_reduce_shape {
  int64_t outer, middle, inner;
  bool packed; /* the operands must be copied so that the reduced axes are last: inner is 1 */
} tt_cpu_reduce_shape;
tt_cpu_reduce_shape tt_cpu_reduce_shape_of(const tt_hlo_op *op);
/* Copies operand `i` into that order. */
TT_NODISCARD tt_error *tt_cpu_reduce_pack(const tt_cpu_args *args, uint32_t i,
                                          const void **out_data);

/* Any region. `data`: the operands in the order of `shape`. */
TT_NODISCARD tt_error *tt_cpu_reduce_region(const tt_cpu_args *args,
                                            const tt_cpu_reduce_shape *shape,
                                            const void *const *data);

#endif /* TT_CPU_KERNELS_REDUCE_H */
