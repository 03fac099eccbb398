/* edit.h: what passes do with ops: uses are counted, ops leave their region. */
#ifndef TT_CPU_PASSES_EDIT_H
#define TT_CPU_PASSES_EDIT_H

#include "hlo/hlo.h"

/* Numbers every value by how often ops read it. */
void tt_cpu_count_uses(tt_hlo_region *region);
void tt_cpu_unlink_op(tt_hlo_op *op);
/* The op's own, to be changed; NULL when it does not have it. */
tt_hlo_attr *tt_cpu_find_attr(tt_hlo_op *op, tt_hlo_attr_name name);

#endif /* TT_CPU_PASSES_EDIT_H */
