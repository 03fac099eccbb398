/* simplify.h: what the files of the pass tt_cpu_simplify share. */
#ifndef TT_CPU_PASSES_SIMPLIFY_H
#define TT_CPU_PASSES_SIMPLIFY_H

#include "cpu/passes/passes.h"

/* simplify_rules.c: what may be read in place of the op's result, bit for bit; NULL: nothing. The
 * op may be changed to read further up. */
tt_hlo_value *tt_cpu_simpler(tt_arena *arena, tt_hlo_op *op);

#endif /* TT_CPU_PASSES_SIMPLIFY_H */
