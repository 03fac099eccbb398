/* units.h: pieces of work that need scratch. */
#ifndef TT_CPU_KERNELS_UNITS_H
#define TT_CPU_KERNELS_UNITS_H

#include "cpu/kernel.h"

/* `count` units, shared out in at most `groups_most` groups; those of a group run one after another
 * and share `scratch` bytes, 64-byte aligned. */
typedef struct tt_cpu_units {
  int64_t count, groups_most, scratch;
  double cost; /* of all, in about nanoseconds */
  void (*run)(int64_t unit, void *scratch, void *user);
  void *user;
} tt_cpu_units;

TT_NODISCARD tt_error *tt_cpu_run_units(const tt_cpu_args *args, const tt_cpu_units *units);

#endif /* TT_CPU_KERNELS_UNITS_H */
