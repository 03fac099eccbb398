/* stages.h: programs with dims that only a run knows.
 *
 * From the program a second one is made, of what computes the sizes that its dynamic ops are given.
 * A run runs that, puts the values in the program's place of them as constants, and compiles what
 * has become of it, in which all dims are known or, in the end, that again is in stages. What was
 * compiled for some sizes is kept. */
#ifndef TT_CPU_STAGES_H
#define TT_CPU_STAGES_H

#include "cpu/plan_internal.h"

/* Borrows the module, which waits for sizes (tt_cpu_expand_module) and which it numbers. `depth`
 * counts the stages before. UNIMPLEMENTED where the sizes do not follow from the arguments. */
TT_NODISCARD tt_error *tt_cpu_stages_new(tt_hlo_module *module, int depth,
                                         tt_cpu_stages **out_stages);
void tt_cpu_stages_free(tt_cpu_stages *stages); /* NULL is allowed */
/* Thread-safe. */
TT_NODISCARD tt_error *tt_cpu_stages_run(tt_cpu_stages *stages, const tt_cpu_plan *plan,
                                         const tt_cpu_call *call);

#endif /* TT_CPU_STAGES_H */
