#include "cpu/kernels/units.h"

typedef struct units_job {
  const tt_cpu_units *units;
  int64_t group; /* units of one */
  char *scratch;
} units_job;

static void run_groups(int64_t begin, int64_t end, void *user) {
  const units_job *j = user;
  const tt_cpu_units *u = j->units;
  for (int64_t group = begin; group < end; group++) {
    int64_t first = group * j->group, last = first + j->group;
    void *scratch = j->scratch == NULL ? NULL : j->scratch + group * u->scratch;
    for (int64_t i = first; i < last && i < u->count; i++)
      u->run(i, scratch, u->user);
  }
}

tt_error *tt_cpu_run_units(const tt_cpu_args *args, const tt_cpu_units *units) {
  units_job j = {.units = units};
  j.group = (units->count + units->groups_most - 1) / units->groups_most;
  int64_t groups = (units->count + j.group - 1) / j.group, size = 0;
  if (__builtin_mul_overflow(units->scratch, groups, &size))
    return tt_cpu_no_scratch(args->op, INT64_MAX);
  if (size > 0 && (j.scratch = tt_cpu_scratch(args->run, size)) == NULL)
    return tt_cpu_no_scratch(args->op, size);
  tt_cpu_parallel(groups, units->cost / (double)groups, run_groups, &j);
  return NULL;
}
