/* clone.h: copies of operations, with all that is in them, for another place. */
#ifndef TT_CPU_PASSES_CLONE_H
#define TT_CPU_PASSES_CLONE_H

#include "hlo/hlo.h"

typedef struct tt_cpu_cloner {
  tt_arena *arena;     /* of the copies; names, lists and elements stay where they are */
  tt_hlo_value **made; /* [tt_cpu_number_values] what takes each value's place; NULL: its copy */
} tt_cpu_cloner;

/* Numbers the values of a region and those inside of it, in their order, from `next` on; returns
 * the number that follows. An op's results come before the values in its regions. `*ops` grows by
 * the ops. */
uint32_t tt_cpu_number_values(tt_hlo_region *region, uint32_t next, int64_t *ops);
/* A copy that is in no list yet. Its operands have been cloned, or stand in `made`. */
TT_NODISCARD tt_error *tt_cpu_clone_op(tt_cpu_cloner *c, const tt_hlo_op *from,
                                       tt_hlo_region *region, tt_hlo_op **out_op);
/* Copies of all ops of `from` at the end of `to`. */
TT_NODISCARD tt_error *tt_cpu_clone_ops(tt_cpu_cloner *c, const tt_hlo_region *from,
                                        tt_hlo_region *to);

#endif /* TT_CPU_PASSES_CLONE_H */
