/* edit.h: what passes do with ops: uses are counted, ops leave their region. */
#ifndef TT_CPU_PASSES_EDIT_H
#define TT_CPU_PASSES_EDIT_H

#include "hlo/hlo.h"

/* Numbers every value by how often ops read it. */
void tt_cpu_count_uses(tt_hlo_region *region);
/* At the end of the region. */
void tt_cpu_append_op(tt_hlo_region *region, tt_hlo_op *op);
void tt_cpu_unlink_op(tt_hlo_op *op);
/* The value that is read where `value` was written: an op that was replaced is in no region, and
 * its operands are the values in place of its results. */
tt_hlo_value *tt_cpu_resolve(tt_hlo_value *value);
/* The op's own, to be changed; NULL when it does not have it. */
tt_hlo_attr *tt_cpu_find_attr(tt_hlo_op *op, tt_hlo_attr_name name);

#endif /* TT_CPU_PASSES_EDIT_H */
