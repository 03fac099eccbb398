/* plan_internal.h: a plan as the engine's own files see it.
 *
 * A function is a body: blocks (its regions, the function's own first) of steps. Addresses are
 * written down as (base, offset): the bases of a run are the frame (one block of scratch that
 * holds every value which lives in no parameter, result or constant), the parameters, the results,
 * for each region its arguments and what its return gets, and windows on other values. So a plan
 * holds no address of a run, and a region may be run with other arguments each time. */
#ifndef TT_CPU_PLAN_INTERNAL_H
#define TT_CPU_PLAN_INTERNAL_H

#include "cpu/kernel.h"
#include "cpu/tile/rows.h"
#include "cpu/tile/tile.h"

enum {
  TT_CPU_ALIGN = 64,
  TT_CPU_BASE_ABSOLUTE = 0, /* the offset is the address: constants */
  TT_CPU_BASE_FRAME = 1,
  TT_CPU_BASE_FIRST = 2, /* the function's parameters, its results, then those of its regions */
  TT_CPU_DEPTH_MAX = 128 /* of calls */
};

typedef struct tt_cpu_ref {
  uint32_t base;
  int64_t offset;
} tt_cpu_ref;

typedef struct tt_cpu_body tt_cpu_body;
typedef struct tt_cpu_block tt_cpu_block;
typedef struct tt_cpu_step tt_cpu_step;
typedef struct tt_cpu_group tt_cpu_group;

/* Attention: a product, a program over its rows, a product of what that gives. The step reads the
 * operands of the first product, the other inputs of the program, the right operand of the last;
 * it gives the other outputs of the program, then the last product. */
typedef struct tt_cpu_attention {
  const tt_hlo_op *first; /* the last is the step's own */
  const tt_cpu_absorbed *first_views, *last_views;
  const tt_cpu_rows *rows;
  const tt_cpu_group *group; /* while the plan is made */
  uint32_t scores, weights;  /* input and output of the program */
  bool over;                 /* weights may lie where scores lay */
} tt_cpu_attention;

struct tt_cpu_step {
  tt_cpu_step *next, *previous;
  tt_cpu_kernel kernel;
  const tt_hlo_op *op;       /* of a group: the last */
  tt_cpu_tile *tile;         /* of a group */
  tt_cpu_rows *rows;         /* of a group with reductions */
  tt_cpu_block *blocks;      /* [op->regions_count] */
  tt_cpu_body *callee;       /* of a call */
  tt_cpu_absorbed *absorbed; /* NULL: nothing */
  tt_cpu_attention *attention;
  uint32_t ins, outs, extras; /* extras: buffers of the step's own */
  uint32_t pointers;          /* its first place among the run's pointers */
  tt_cpu_ref *refs;           /* [ins + outs + extras] */
  /* While the plan is made: */
  uint32_t *values; /* as refs */
  tt_cpu_block *block;
  tt_cpu_group *group;
  int32_t begin, end; /* times; the steps of its blocks lie between */
};

/* Where the value that a region returns is when its steps have run. */
typedef enum tt_cpu_return_mode {
  TT_CPU_RETURN_COPY,  /* elsewhere */
  TT_CPU_RETURN_THERE, /* in the result's memory */
  TT_CPU_RETURN_OVER,  /* there, and that may be the memory of the argument of the same number */
  TT_CPU_RETURN_PASS   /* loops: the argument itself, which is the loop's operand */
} tt_cpu_return_mode;

typedef struct tt_cpu_return {
  tt_cpu_return_mode mode;
  tt_cpu_ref ref;
  int64_t bytes;
  uint32_t value;
  uint32_t writer; /* the first value that is written to the result's memory */
} tt_cpu_return;

struct tt_cpu_block {
  const tt_hlo_region *region;
  tt_cpu_step *first, *last;
  tt_cpu_step *owner;     /* NULL for a function's own */
  uint32_t args, results; /* bases */
  uint32_t args_value;    /* number of argument 0 */
  uint32_t returns_count;
  tt_cpu_return *returns;
  int32_t end; /* time of the return */
};

struct tt_cpu_body {
  const tt_hlo_func *func;
  tt_cpu_block block;
  uint32_t bases, pointers; /* counts */
  int64_t frame;            /* bytes */
  int32_t depth;            /* of calls below */
  bool made;                /* false while it is being made */
  tt_cpu_body *next;
};

typedef struct tt_cpu_stages tt_cpu_stages; /* stages.h */

/* Where the program is written down while it is made (dump.h). */
typedef struct tt_cpu_dump {
  const char *folder; /* NULL: nowhere */
  uint32_t program, part;
} tt_cpu_dump;

struct tt_cpu_plan {
  tt_hlo_module *module;
  tt_arena arena;
  tt_cpu_body *bodies;   /* the first is @main */
  tt_cpu_stages *stages; /* instead, where the run has to find dims first; or NULL */
  tt_cpu_code *codes;    /* of its tile programs */
  tt_cpu_slot *params, *results;
  size_t params_count, results_count;
  tt_cpu_costs costs;
  tt_cpu_dump dump;
  bool stash; /* a parameter that is returned may be overwritten before it is copied */
};

/* ---- while a plan is made ---- */

typedef enum tt_cpu_value_kind {
  TT_CPU_VALUE_STEP,    /* a step's result or extra */
  TT_CPU_VALUE_ARG,     /* of a block */
  TT_CPU_VALUE_WINDOW,  /* part of another value, at a base of its own */
  TT_CPU_VALUE_CONSTANT /* has its address already */
} tt_cpu_value_kind;

#define TT_CPU_NONE UINT32_MAX

typedef struct tt_cpu_value {
  tt_cpu_value_kind kind;
  uint32_t root; /* itself, or the value whose memory it is */
  int64_t count, bytes;
  int element; /* bytes of one */
  /* period > 0: element i is the root's element (i / inner) % period. */
  int64_t inner, period;
  tt_cpu_block *block; /* where it is made */
  tt_cpu_step *step;   /* that makes it */
  uint32_t out;        /* which of its outs */
  bool leaves;         /* of a group: it is one of the step's outs */
  uint32_t uses;
  uint32_t dense;      /* a copy that is not spread, or NONE */
  int32_t first, last; /* times */
  bool placed, taken;  /* taken: its memory is an operand's too, that dies when it is made */
  bool captured;       /* read inside of a region of some step that it comes from outside of */
  tt_cpu_ref ref;
  uint32_t next; /* in a list of those that die at one time */
} tt_cpu_value;

typedef struct tt_cpu_maker {
  tt_cpu_plan *plan;
  tt_cpu_body *body;
  tt_cpu_value *values;
  size_t values_count, values_capacity;
  tt_arena scratch; /* what the plan does not need */
  int32_t time;
  int depth;
} tt_cpu_maker;

/* compile.c: fills the body's blocks with steps. */
TT_NODISCARD tt_error *tt_cpu_compile(tt_cpu_maker *maker);
/* place.c: gives every value its place. */
TT_NODISCARD tt_error *tt_cpu_place(tt_cpu_maker *maker);
/* plan.c: the body of a function, made when it is not there yet. */
TT_NODISCARD tt_error *tt_cpu_body_get(tt_cpu_plan *plan, const char *name, int depth,
                                       tt_cpu_body **out_body);
/* plan.c: what stage `depth` has become of a program; as tt_cpu_plan_new_take. */
TT_NODISCARD tt_error *tt_cpu_plan_stage_take(tt_hlo_module *module, int depth,
                                              tt_cpu_plan **out_plan);
/* costs.c */
tt_cpu_costs tt_cpu_costs_of(const tt_hlo_module *module);

/* ---- while a plan runs ---- */

typedef struct tt_cpu_chunk tt_cpu_chunk;
/* Memory of one run that is taken and given back in order. A copy of it marks a point to go back
 * to. */
typedef struct tt_cpu_stack {
  tt_cpu_chunk *chunks; /* the newest first */
  char *at;
  int64_t left;
  uint64_t *draws; /* random numbers that the run has asked for; marks do not hold the count */
} tt_cpu_stack;

/* 64-byte aligned; NULL out of memory. */
void *tt_cpu_stack_take(tt_cpu_stack *stack, int64_t size);
void tt_cpu_stack_return(tt_cpu_stack *stack, const tt_cpu_stack *mark);

/* One activation of a body. */
struct tt_cpu_run {
  const tt_cpu_call *call;
  const tt_cpu_step *step;
  uintptr_t *bases;
  void **pointers;
  tt_cpu_stack *stack;
};

/* run.c */
TT_NODISCARD tt_error *tt_cpu_body_run(const tt_cpu_body *body, const tt_cpu_call *call,
                                       tt_cpu_stack *stack, const void *const *inputs,
                                       void *const *outputs);
/* region.c: the steps of a block, and its return. Bases of arguments and results are set. */
TT_NODISCARD tt_error *tt_cpu_block_run(tt_cpu_run *run, const tt_cpu_block *block);

static inline void *tt_cpu_ref_address(const tt_cpu_run *run, tt_cpu_ref ref) {
  return (void *)(run->bases[ref.base] + (uintptr_t)ref.offset);
}

#endif /* TT_CPU_PLAN_INTERNAL_H */
