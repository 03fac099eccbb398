#include "cpu/stages.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/memory.h"
#include "cpu/passes/clone.h"
#include "cpu/passes/edit.h"
#include "cpu/passes/passes.h"
#include "hlo/build.h"

enum { KEPT_MAX = 16, DEPTH_MAX = 64 };

/* What is known of a value. */
enum {
  FINE = 1, /* its dims are known, and computing it once more changes nothing */
  FREE = 2, /* and it follows from the parameters alone */
  WANTED = 4
};

/* A plan for some sizes. */
typedef struct kept {
  struct kept *next;
  tt_cpu_plan *plan;
  uint64_t used; /* the last run that took it */
  int users;     /* runs that are in it */
  char key[];    /* the sizes, as the run of `sizes` wrote them */
} kept;

struct tt_cpu_stages {
  tt_hlo_module *module;
  int depth;
  uint32_t values_count; /* of the module */
  tt_hlo_value **sizes;  /* values of the module that `plan` computes */
  size_t sizes_count, key_size;
  tt_cpu_plan *plan;
  pthread_mutex_t lock; /* of what follows, and of the numbers of the module's values */
  uint64_t runs;
  kept *kept;
  size_t kept_count;
};

/* ---- what can be computed ahead ---- */

typedef struct scanner {
  uint8_t *state; /* by the values' numbers */
  uint32_t next;
} scanner;

/* Random numbers go by their place in a run, and other devices run their programs once. */
static bool repeats(const tt_hlo_op *op) {
  const tt_hlo_attr *effect = tt_hlo_op_attr(op, TT_HLO_HAS_SIDE_EFFECT);
  if (op->code == TT_HLO_CUSTOM_CALL)
    return effect == NULL || effect->i64 == 0;
  return (tt_hlo_ops[op->code].traits & TT_HLO_EFFECT) == 0;
}

/* All that the region reads from outside of values [begin, end) is free. */
static bool reads_free(const scanner *s, const tt_hlo_region *region, uint32_t begin,
                       uint32_t end) {
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    for (uint32_t i = 0; i < op->operands_count; i++) {
      uint32_t number = op->operands[i]->number;
      if ((number < begin || number >= end) && (s->state[number] & FREE) == 0)
        return false;
    }
    for (uint32_t i = 0; i < op->regions_count; i++)
      if (!reads_free(s, op->regions[i], begin, end))
        return false;
  }
  return true;
}

static bool scan_region(scanner *s, const tt_hlo_region *region, uint8_t args);

/* Goes over values in the order of their numbers. */
static bool scan_op(scanner *s, const tt_hlo_op *op) {
  uint32_t results = s->next, inside = results + op->results_count;
  bool fine = repeats(op) && !tt_cpu_waits(op), is_free = true;
  s->next = inside;
  for (uint32_t i = 0; i < op->results_count; i++)
    fine = fine && !op->results[i].type.token && tt_hlo_type_is_known(&op->results[i].type);
  for (uint32_t i = 0; i < op->operands_count; i++) {
    fine = fine && (s->state[op->operands[i]->number] & FINE) != 0;
    is_free = is_free && (s->state[op->operands[i]->number] & FREE) != 0;
  }
  for (uint32_t i = 0; i < op->regions_count; i++)
    fine = scan_region(s, op->regions[i], FINE) && fine;
  for (uint32_t i = 0; i < op->regions_count; i++)
    is_free = is_free && reads_free(s, op->regions[i], inside, s->next);
  for (uint32_t i = 0; i < op->results_count; i++)
    s->state[results + i] = fine ? (is_free ? FINE | FREE : FINE) : 0;
  return fine;
}

static bool scan_region(scanner *s, const tt_hlo_region *region, uint8_t args) {
  bool fine = true;
  for (uint32_t i = 0; i < region->args_count; i++)
    s->state[s->next++] =
        !region->args[i].type.token && tt_hlo_type_is_known(&region->args[i].type) ? args : 0;
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next)
    fine = scan_op(s, op) && fine;
  return fine;
}

/* ---- sizes ---- */

/* Which operands, as bits, say what the dims of the results are. */
static uint32_t size_operands(const tt_hlo_op *op) {
  switch (op->code) {
    case TT_HLO_DYNAMIC_IOTA:
      return 1;
    case TT_HLO_DYNAMIC_BROADCAST_IN_DIM:
    case TT_HLO_DYNAMIC_RESHAPE:
    case TT_HLO_SET_DIMENSION_SIZE:
      return 1 << 1;
    case TT_HLO_REAL_DYNAMIC_SLICE:
      return 7 << 1;
    case TT_HLO_DYNAMIC_CONV:
    case TT_HLO_DYNAMIC_GATHER:
    case TT_HLO_RNG:
      return 1 << 2;
    case TT_HLO_DYNAMIC_PAD:
      return 7 << 2;
    default:
      return tt_cpu_is_assertion(op);
  }
}

static bool asks(const tt_hlo_op *op, uint32_t operand) {
  const tt_hlo_op *from = op->operands[operand]->op;
  return operand < 32 && (size_operands(op) >> operand & 1) != 0 &&
         (tt_cpu_waits(op) || tt_cpu_is_assertion(op)) &&
         (from == NULL || from->code != TT_HLO_CONSTANT);
}

/* Takes down the sizes that ops wait for and that are free, each once. */
static void collect(tt_cpu_stages *t, scanner *s, const tt_hlo_region *region) {
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    for (uint32_t i = 0; i < op->operands_count; i++) {
      tt_hlo_value *value = op->operands[i];
      if (!asks(op, i) || (s->state[value->number] & (FREE | WANTED)) != FREE)
        continue;
      s->state[value->number] |= WANTED;
      t->sizes[t->sizes_count++] = value;
    }
    for (uint32_t i = 0; i < op->regions_count; i++)
      collect(t, s, op->regions[i]);
  }
}

static tt_error *unknown(const tt_hlo_op *op) {
  tt_error *err =
      tt_error_new(TT_UNIMPLEMENTED,
                   "%s: dims that only the run knows, and that do not follow from the arguments "
                   "alone",
                   tt_hlo_ops[op->code].mnemonic);
  return op->location == NULL ? err : tt_error_wrap_take(err, "%s", op->location);
}

/* The first op that waits; NULL: there is none. */
static const tt_hlo_op *find_waiting(const tt_hlo_region *region) {
  const tt_hlo_op *found = NULL;
  for (const tt_hlo_op *op = region->first; op != NULL && found == NULL; op = op->next) {
    for (uint32_t i = 0; i < op->regions_count && found == NULL; i++)
      found = find_waiting(op->regions[i]);
    found = found == NULL && tt_cpu_waits(op) ? op : found;
  }
  return found;
}

/* Each device might find other dims. */
static tt_error *check_collectives(const tt_hlo_region *region) {
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    if ((tt_hlo_ops[op->code].traits & TT_HLO_COLLECTIVE) != 0 && tt_cpu_waits(op))
      return unknown(op);
    for (uint32_t i = 0; i < op->regions_count; i++)
      TT_RETURN_IF_ERROR(check_collectives(op->regions[i]));
  }
  return NULL;
}

static tt_error *check_main(const tt_hlo_region *body) {
  const tt_hlo_op *end = body->last;
  for (uint32_t i = 0; i < body->args_count; i++)
    if (!tt_hlo_type_is_known(&body->args[i].type))
      return tt_error_new(TT_UNIMPLEMENTED, "parameter %u of @main: dims that only the run knows",
                          i);
  for (uint32_t i = 0; i < end->operands_count; i++)
    if (!tt_hlo_type_is_known(&end->operands[i]->type))
      return tt_error_new(TT_UNIMPLEMENTED, "result %u of @main: dims that only the run knows", i);
  return check_collectives(body);
}

/* ---- programs made of it ---- */

/* A module whose @main has the same parameters, of which `made` knows. */
static tt_error *begin_module(const tt_cpu_stages *t, tt_cpu_cloner *c, tt_arena *scratch,
                              tt_hlo_build *b, tt_hlo_module **out_module) {
  const tt_hlo_func *func = t->module->funcs;
  size_t count = func->body->args_count;
  TT_RETURN_IF_ERROR(tt_hlo_module_new(out_module));
  tt_hlo_module *module = *out_module;
  module->name = t->module->name;
  module->num_replicas = t->module->num_replicas;
  module->num_partitions = t->module->num_partitions;
  TT_RETURN_IF_ERROR(tt_hlo_build_begin(module, b));
  tt_hlo_region *body = b->func->body;
  body->args = tt_arena_array(&module->arena, count, sizeof *body->args);
  b->func->params = tt_arena_array(&module->arena, count, sizeof *b->func->params);
  c->arena = &module->arena;
  c->made = tt_arena_array(scratch, t->values_count, sizeof *c->made);
  if (body->args == NULL || b->func->params == NULL || c->made == NULL)
    return tt_error_no_memory(t->values_count * sizeof *c->made);
  body->args_count = (uint32_t)count;
  for (uint32_t i = 0; i < count; i++) {
    body->args[i] = (tt_hlo_value){.type = func->body->args[i].type, .index = i};
    b->func->params[i].alias = -1;
    c->made[func->body->args[i].number] = &body->args[i];
  }
  return NULL;
}

/* From the last to the first: what an op that is wanted reads is wanted too. */
static void want_operands(scanner *s, const tt_hlo_op *op) {
  for (uint32_t i = 0; i < op->operands_count; i++) {
    const tt_hlo_op *from = op->operands[i]->op;
    if (from != NULL)
      s->state[from->results[0].number] |= WANTED;
  }
  for (uint32_t i = 0; i < op->regions_count; i++)
    for (const tt_hlo_op *inner = op->regions[i]->first; inner != NULL; inner = inner->next)
      want_operands(s, inner);
}

static bool wanted(const scanner *s, const tt_hlo_op *op) {
  return op->results_count > 0 && (s->state[op->results[0].number] & WANTED) != 0;
}

static void want_region(scanner *s, const tt_hlo_region *region) {
  for (const tt_hlo_op *op = region->last; op != NULL; op = op->previous)
    if (wanted(s, op))
      want_operands(s, op);
    else
      for (uint32_t i = 0; i < op->regions_count; i++)
        want_region(s, op->regions[i]);
}

/* Also what stands in regions comes to stand in the function: it is free. */
static tt_error *clone_wanted(const scanner *s, tt_cpu_cloner *c, const tt_hlo_region *region,
                              tt_hlo_region *to) {
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    tt_hlo_op *made = NULL;
    if (wanted(s, op)) {
      TT_RETURN_IF_ERROR(tt_cpu_clone_op(c, op, to, &made));
      tt_cpu_append_op(to, made);
      continue;
    }
    for (uint32_t i = 0; i < op->regions_count; i++)
      TT_RETURN_IF_ERROR(clone_wanted(s, c, op->regions[i], to));
  }
  return NULL;
}

/* The program that computes the sizes. */
static tt_error *plan_sizes(tt_cpu_stages *t, scanner *s) {
  tt_error *err = NULL;
  const tt_hlo_region *body = t->module->funcs->body;
  tt_hlo_module *module = NULL;
  tt_arena scratch = {0};
  tt_cpu_cloner c = {0};
  tt_hlo_build b = {0};
  for (size_t i = 0; i < t->sizes_count; i++)
    if (t->sizes[i]->op != NULL)
      s->state[t->sizes[i]->op->results[0].number] |= WANTED;
  want_region(s, body);
  TT_TRY(begin_module(t, &c, &scratch, &b, &module));
  TT_TRY(clone_wanted(s, &c, body, b.func->body));
  {
    tt_hlo_value **results = tt_arena_array(&scratch, t->sizes_count, sizeof *results);
    if (results == NULL)
      TT_TRY(tt_error_no_memory(t->sizes_count * sizeof *results));
    for (size_t i = 0; i < t->sizes_count; i++)
      results[i] = c.made[t->sizes[i]->number];
    TT_TRY(tt_hlo_build_finish(&b, results, t->sizes_count));
    err = tt_cpu_plan_new_take(module, &t->plan);
    module = NULL; /* the plan's */
  }
out:
  tt_hlo_build_drop(&b);
  tt_hlo_module_free(module);
  tt_arena_reset(&scratch);
  return err;
}

static size_t room_of(const tt_hlo_value *size) {
  return ((size_t)tt_cpu_bytes(&size->type) + TT_CPU_ALIGN - 1) & ~(size_t)(TT_CPU_ALIGN - 1);
}

static tt_error *find_sizes(tt_cpu_stages *t) {
  tt_error *err = NULL;
  tt_hlo_region *body = t->module->funcs->body;
  int64_t ops = 0;
  t->values_count = tt_cpu_number_values(body, 0, &ops);
  scanner s = {.state = calloc(t->values_count + 1, 1)};
  t->sizes = calloc(t->values_count + 1, sizeof(tt_hlo_value *));
  if (s.state == NULL || t->sizes == NULL)
    TT_TRY(tt_error_no_memory(t->values_count * sizeof *t->sizes));
  scan_region(&s, body, FINE | FREE);
  collect(t, &s, body);
  if (t->sizes_count == 0)
    TT_TRY(unknown(find_waiting(body)));
  for (size_t i = 0; i < t->sizes_count; i++)
    t->key_size += room_of(t->sizes[i]);
  TT_TRY(plan_sizes(t, &s));
out:
  free(s.state);
  return err;
}

tt_error *tt_cpu_stages_new(tt_hlo_module *module, int depth, tt_cpu_stages **out_stages) {
  tt_error *err = NULL;
  *out_stages = NULL;
  TT_RETURN_IF_ERROR(check_main(module->funcs->body));
  if (depth >= DEPTH_MAX)
    return tt_error_new(TT_UNIMPLEMENTED, "sizes that follow from sizes more than %d times",
                        DEPTH_MAX);
  tt_cpu_stages *t = calloc(1, sizeof *t);
  if (t == NULL)
    return tt_error_no_memory(sizeof *t);
  pthread_mutex_init(&t->lock, NULL);
  t->module = module;
  t->depth = depth;
  TT_TRY(find_sizes(t));
  *out_stages = t;
  t = NULL; /* moved to the caller */
out:
  tt_cpu_stages_free(t);
  return err;
}

static void free_kept(kept *k) {
  tt_cpu_plan_free(k->plan);
  free(k);
}

void tt_cpu_stages_free(tt_cpu_stages *t) {
  if (t == NULL)
    return;
  for (kept *k = t->kept, *next; k != NULL; k = next) {
    next = k->next;
    free_kept(k);
  }
  tt_cpu_plan_free(t->plan);
  pthread_mutex_destroy(&t->lock);
  free(t->sizes);
  free(t);
}

/* ---- runs ---- */

/* The program with sizes in it. Locked by `lock`, for numbers. */
static tt_error *put_sizes(tt_cpu_stages *t, const char *key, tt_hlo_module **out_module) {
  tt_error *err = NULL;
  const tt_hlo_func *func = t->module->funcs;
  tt_arena scratch = {0};
  tt_cpu_cloner c = {0};
  tt_hlo_build b = {0};
  int64_t ops = 0;
  tt_cpu_number_values(func->body, 0, &ops);
  TT_TRY(begin_module(t, &c, &scratch, &b, out_module));
  for (uint32_t i = 0; i < func->body->args_count && func->params != NULL; i++) {
    b.func->params[i].alias = func->params[i].alias;
    b.func->params[i].donated = func->params[i].donated;
  }
  for (size_t i = 0; i < t->sizes_count; i++) {
    const tt_hlo_type *type = &t->sizes[i]->type;
    c.made[t->sizes[i]->number] =
        tt_hlo_const_data(&b, type->dtype, type->dims, (size_t)type->rank, key);
    key += room_of(t->sizes[i]);
  }
  TT_TRY(b.err);
  err = tt_cpu_clone_ops(&c, func->body, b.func->body);
out:
  b.err = NULL;
  tt_arena_reset(&scratch);
  return err;
}

static bool same_types(const tt_cpu_plan *a, const tt_cpu_plan *b) {
  bool same = a->results_count == b->results_count;
  for (size_t i = 0; i < a->results_count && same; i++)
    same = tt_hlo_type_equal(&a->results[i].type, &b->results[i].type);
  return same;
}

static tt_error *make_kept(tt_cpu_stages *t, const tt_cpu_plan *plan, const char *key,
                           kept **out_kept) {
  tt_error *err = NULL;
  tt_hlo_module *module = NULL;
  kept *k = calloc(1, sizeof *k + t->key_size);
  *out_kept = NULL;
  if (k == NULL)
    return tt_error_no_memory(sizeof *k + t->key_size);
  memcpy(k->key, key, t->key_size);
  pthread_mutex_lock(&t->lock);
  err = put_sizes(t, key, &module);
  pthread_mutex_unlock(&t->lock);
  if (err == NULL) {
    err = tt_cpu_plan_stage_take(module, t->depth + 1, &k->plan);
    module = NULL; /* the plan's */
  }
  if (err == NULL && !same_types(plan, k->plan))
    err = tt_error_new(TT_INVALID_ARGUMENT, "the results have other dims than those of @main");
  tt_hlo_module_free(module);
  if (err != NULL)
    free_kept(k);
  else
    *out_kept = k;
  return err;
}

/* Locked by `lock`. */
static kept *find_kept(tt_cpu_stages *t, const char *key) {
  kept *k = t->kept;
  while (k != NULL && memcmp(k->key, key, t->key_size) != 0)
    k = k->next;
  if (k != NULL) {
    k->users++;
    k->used = ++t->runs;
  }
  return k;
}

/* The one that was used longest ago of those that nobody is in; NULL: there is none. Locked by
 * `lock`. */
static kept *take_oldest(tt_cpu_stages *t) {
  kept **oldest = NULL;
  for (kept **at = &t->kept; *at != NULL; at = &(*at)->next)
    if ((*at)->users == 0 && (oldest == NULL || (*at)->used < (*oldest)->used))
      oldest = at;
  if (oldest == NULL)
    return NULL;
  kept *taken = *oldest;
  *oldest = taken->next;
  t->kept_count--;
  return taken;
}

/* Another run may have made it meanwhile. */
static kept *keep(tt_cpu_stages *t, kept *made) {
  kept *gone = made;
  pthread_mutex_lock(&t->lock);
  kept *k = find_kept(t, made->key);
  if (k == NULL) {
    gone = t->kept_count >= KEPT_MAX ? take_oldest(t) : NULL;
    k = made;
    k->users = 1;
    k->used = ++t->runs;
    k->next = t->kept;
    t->kept = k;
    t->kept_count++;
  }
  pthread_mutex_unlock(&t->lock);
  if (gone != NULL)
    free_kept(gone);
  return k;
}

/* The plan for these sizes, which the run is in from now on. */
static tt_error *enter(tt_cpu_stages *t, const tt_cpu_plan *plan, const char *key,
                       kept **out_kept) {
  pthread_mutex_lock(&t->lock);
  *out_kept = find_kept(t, key);
  pthread_mutex_unlock(&t->lock);
  if (*out_kept != NULL)
    return NULL;
  TT_RETURN_IF_ERROR(make_kept(t, plan, key, out_kept));
  *out_kept = keep(t, *out_kept);
  return NULL;
}

static void leave(tt_cpu_stages *t, kept *k) {
  pthread_mutex_lock(&t->lock);
  k->users--;
  pthread_mutex_unlock(&t->lock);
}

static tt_error *compute_sizes(const tt_cpu_stages *t, const tt_cpu_call *call, char *key) {
  void **outputs = calloc(t->sizes_count, sizeof *outputs);
  tt_cpu_call ahead = *call;
  if (outputs == NULL)
    return tt_error_no_memory(t->sizes_count * sizeof *outputs);
  memset(key, 0, t->key_size);
  for (size_t i = 0; i < t->sizes_count; i++) {
    outputs[i] = key;
    key += room_of(t->sizes[i]);
  }
  ahead.outputs = outputs;
  tt_error *err = tt_cpu_plan_run(t->plan, &ahead);
  free(outputs);
  return err;
}

tt_error *tt_cpu_stages_run(tt_cpu_stages *t, const tt_cpu_plan *plan, const tt_cpu_call *call) {
  tt_error *err = NULL;
  kept *k = NULL;
  char *key = tt_cpu_memory_alloc((int64_t)t->key_size + 1);
  if (key == NULL)
    return tt_error_no_memory(t->key_size);
  TT_TRY(compute_sizes(t, call, key));
  TT_TRY(enter(t, plan, key, &k));
  err = tt_cpu_plan_run(k->plan, call);
  leave(t, k);
out:
  tt_cpu_memory_free(key);
  return err;
}
