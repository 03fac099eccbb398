/* plan.h: a StableHLO module made ready to run on the host. The face of the engine (this folder and
 * kernels/) towards the plugin (plugin/), which alone knows PJRT.
 *
 * A plan is read-only once made: any number of threads may run it at the same time. */
#ifndef TT_CPU_PLAN_H
#define TT_CPU_PLAN_H

#include "hlo/hlo.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_cpu_plan tt_cpu_plan;

/* A parameter or a result of @main. */
typedef struct tt_cpu_slot {
  tt_hlo_type type; /* dims live as long as the plan */
  int64_t size;     /* bytes, dense and row-major; 0 for tokens */
  bool donated;     /* parameters: its memory may be taken */
  int32_t alias; /* parameters: the result that is put in its memory; results: the parameter; -1 */
} tt_cpu_slot;

/* Takes a verified module whose first function is @main. UNIMPLEMENTED names the op, and the dtypes
 * where they are what is missing. The module is the plan's from now on, also on error. */
TT_NODISCARD tt_error *tt_cpu_plan_new_take(tt_hlo_module *module, tt_cpu_plan **out_plan);
void tt_cpu_plan_free(tt_cpu_plan *plan); /* NULL is allowed */

const tt_hlo_module *tt_cpu_plan_module(const tt_cpu_plan *plan);
const tt_cpu_slot *tt_cpu_plan_params(const tt_cpu_plan *plan, size_t *out_count);
const tt_cpu_slot *tt_cpu_plan_results(const tt_cpu_plan *plan, size_t *out_count);

/* Of one run, from the ops as they stand: products and sums in matrix products and convolutions,
 * one per element elsewhere. */
typedef struct tt_cpu_costs {
  double flops, transcendentals, bytes;
} tt_cpu_costs;
tt_cpu_costs tt_cpu_plan_costs(const tt_cpu_plan *plan);
/* Runs find some dims first, and may have to compile for them. Nothing is known of their costs. */
bool tt_cpu_plan_is_staged(const tt_cpu_plan *plan);
int64_t tt_cpu_plan_scratch(const tt_cpu_plan *plan); /* bytes that a run allocates besides */

/* One run. `inputs` and `outputs` have an address for each slot, 64-byte aligned; that of a slot
 * without bytes is not looked at. An output may be the very address of the donated parameter that
 * its slot's `alias` names; otherwise nothing overlaps. */
typedef struct tt_cpu_team tt_cpu_team;       /* team.h */
typedef struct tt_cpu_context tt_cpu_context; /* foreign.h */
typedef struct tt_cpu_call {
  const void *const *inputs;
  void *const *outputs;
  int64_t replica, partition;
  tt_cpu_team *team;             /* the devices that run it together; NULL: this one is alone */
  const tt_cpu_context *context; /* for foreign handlers; may be NULL */
  int64_t run_id;
  int32_t device;
} tt_cpu_call;

/* Returns when the outputs are written. On error their content is unspecified. */
TT_NODISCARD tt_error *tt_cpu_plan_run(const tt_cpu_plan *plan, const tt_cpu_call *call);

#ifdef __cplusplus
}
#endif

#endif /* TT_CPU_PLAN_H */
