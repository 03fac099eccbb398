/* dump.h: what the compiler makes of programs, written to the folder that TT_CPU_DUMP names: for
 * each program its module before the passes and after each (<process>-<program>-<n>-<pass>.mlir),
 * and the steps of its functions (...-steps.txt): kernels in their order, where they read and
 * write, which ops are one step. */
#ifndef TT_CPU_DUMP_H
#define TT_CPU_DUMP_H

#include "cpu/plan_internal.h"

/* Of the next program. */
tt_cpu_dump tt_cpu_dump_begin(void);
/* The file system's errors, as INVALID_ARGUMENT. Numbers the module's values. */
TT_NODISCARD tt_error *tt_cpu_dump_module(tt_cpu_dump *dump, const char *pass,
                                          tt_hlo_module *module);
/* After the last pass; the maker has compiled and placed its body. */
TT_NODISCARD tt_error *tt_cpu_dump_body(const tt_cpu_dump *dump, const tt_cpu_maker *maker);

#endif /* TT_CPU_DUMP_H */
