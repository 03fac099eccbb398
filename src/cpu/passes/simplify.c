/* The pass that simplifies: a walk over the ops in order. An op that is not needed
 * (simplify_rules.c), or that does what one before it does, is read no more; then what nobody reads
 * goes.
 *
 * Only functions and the regions of while, if and case are looked into: regions that say how to
 * combine two elements are short, and kernels know their forms. */
#include <string.h>

#include "base/hash.h"
#include "cpu/kernel.h"
#include "cpu/op_hash.h"
#include "cpu/passes/edit.h"
#include "cpu/passes/simplify.h"

/* Constants of more bytes are taken to differ. A chain of more ops is not searched to its end. */
enum { CONSTANT_MAX = 64 << 10, CHAIN_MAX = 32, LEAST = 16 };

typedef struct seen_op {
  tt_hlo_op *op;
  uint64_t hash;
  int64_t next; /* in its chain; -1 */
} seen_op;

typedef struct table {
  tt_arena scratch, *arena;
  seen_op *ops;
  int64_t *chains; /* the newest op of each; -1 */
  uint64_t chains_count;
  int64_t ops_count;
} table;

/* ---- ops that are alike ---- */

static bool same_list(tt_hlo_list a, tt_hlo_list b) {
  return a.count == b.count &&
         (a.count == 0 || memcmp(a.items, b.items, a.count * sizeof *a.items) == 0);
}

static bool same_dot(const tt_hlo_dot_dims *a, const tt_hlo_dot_dims *b) {
  return same_list(a->lhs_batch, b->lhs_batch) && same_list(a->rhs_batch, b->rhs_batch) &&
         same_list(a->lhs_contract, b->lhs_contract) && same_list(a->rhs_contract, b->rhs_contract);
}

static bool same_gather(const tt_hlo_gather_dims *a, const tt_hlo_gather_dims *b) {
  return same_list(a->offset_dims, b->offset_dims) &&
         same_list(a->collapsed_slice_dims, b->collapsed_slice_dims) &&
         same_list(a->operand_batching_dims, b->operand_batching_dims) &&
         same_list(a->start_indices_batching_dims, b->start_indices_batching_dims) &&
         same_list(a->start_index_map, b->start_index_map) &&
         a->index_vector_dim == b->index_vector_dim;
}

static bool same_elements(const tt_hlo_op *op, const tt_hlo_attr *a, const tt_hlo_attr *b) {
  size_t size = tt_cpu_constant_size(op, a);
  return size == 0 || memcmp(a->data, b->data, size) == 0;
}

static bool same_attr(const tt_hlo_op *op, const tt_hlo_attr *a, const tt_hlo_attr *b) {
  if (a->name != b->name || a->kind != b->kind || a->i64 != b->i64 || a->columns != b->columns ||
      a->splat != b->splat || memcmp(&a->f64, &b->f64, sizeof a->f64) != 0 ||
      !same_list(a->i64s, b->i64s))
    return false;
  switch (a->kind) {
    case TT_HLO_ATTR_STRING:
    case TT_HLO_ATTR_SYMBOL:
    case TT_HLO_ATTR_TEXT:
      return strcmp(a->text, b->text) == 0;
    case TT_HLO_ATTR_DENSE:
      return op->code == TT_HLO_CONSTANT && same_elements(op, a, b);
    case TT_HLO_ATTR_DOT:
      return same_dot(a->dims, b->dims);
    case TT_HLO_ATTR_GATHER:
      return same_gather(a->dims, b->dims);
    case TT_HLO_ATTR_CONV:
    case TT_HLO_ATTR_SCATTER:
      return a->dims == b->dims;
    default:
      return true;
  }
}

/* Both have one result and no regions. */
static bool same_op(const tt_hlo_op *a, const tt_hlo_op *b) {
  if (a->code != b->code || a->operands_count != b->operands_count ||
      a->attrs_count != b->attrs_count ||
      !tt_hlo_type_equal(&a->results[0].type, &b->results[0].type))
    return false;
  for (uint32_t i = 0; i < a->operands_count; i++)
    if (a->operands[i] != b->operands[i])
      return false;
  for (uint32_t i = 0; i < a->attrs_count; i++)
    if (!same_attr(a, &a->attrs[i], &b->attrs[i]))
      return false;
  return true;
}

static uint64_t hash_op(const tt_hlo_op *op) {
  uint64_t hash = tt_hash64(&op->code, sizeof op->code, (uint64_t)op->results[0].type.dtype);
  hash = tt_hash64(op->operands, op->operands_count * sizeof(tt_hlo_value *), hash);
  hash =
      tt_hash64(op->results[0].type.dims, (size_t)op->results[0].type.rank * sizeof(int64_t), hash);
  for (uint32_t i = 0; i < op->attrs_count; i++)
    hash = tt_cpu_attr_hash(op, &op->attrs[i], hash);
  return hash;
}

/* A barrier keeps two computations apart: what was to be computed again is. */
static bool may_merge(const tt_hlo_op *op) {
  if (op->results_count != 1 || op->regions_count > 0 || op->results[0].type.token ||
      (tt_hlo_ops[op->code].traits & TT_HLO_EFFECT) != 0 || op->code == TT_HLO_OPTIMIZATION_BARRIER)
    return false;
  if (!tt_hlo_type_is_known(&op->results[0].type))
    return false;
  const tt_hlo_attr *attr = op->code == TT_HLO_CONSTANT ? tt_hlo_op_attr(op, TT_HLO_VALUE) : NULL;
  return attr == NULL || tt_cpu_constant_size(op, attr) <= CONSTANT_MAX;
}

/* The op before this one that does the same; NULL: from now on this is that op. */
static tt_hlo_op *find_same(table *t, tt_hlo_op *op) {
  uint64_t hash = hash_op(op);
  int64_t *chain = &t->chains[hash % t->chains_count], at = *chain;
  for (int i = 0; i < CHAIN_MAX && at >= 0; i++, at = t->ops[at].next)
    if (t->ops[at].hash == hash && same_op(t->ops[at].op, op))
      return t->ops[at].op;
  t->ops[t->ops_count] = (seen_op){op, hash, *chain};
  *chain = t->ops_count++;
  return NULL;
}

static void forget_from(table *t, int64_t count) {
  while (t->ops_count > count) {
    const seen_op *last = &t->ops[--t->ops_count];
    t->chains[last->hash % t->chains_count] = last->next;
  }
}

/* ---- the walk ---- */

static tt_error *replace(table *t, tt_hlo_op *op, tt_hlo_value *value) {
  tt_hlo_value **operands = tt_arena_copy(t->arena, &value, sizeof(tt_hlo_value *));
  if (operands == NULL)
    return tt_error_no_memory(sizeof(tt_hlo_value *));
  tt_cpu_unlink_op(op);
  op->operands = operands;
  op->operands_count = 1;
  op->parent = NULL;
  return NULL;
}

/* What is read inside of regions that are not looked into. */
static void resolve_region(tt_hlo_region *region) {
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    for (uint32_t i = 0; i < op->operands_count; i++)
      op->operands[i] = tt_cpu_resolve(op->operands[i]);
    for (uint32_t i = 0; i < op->regions_count; i++)
      resolve_region(op->regions[i]);
  }
}

static tt_error *walk_region(table *t, tt_hlo_region *region);

static tt_error *walk_regions(table *t, tt_hlo_op *op) {
  for (uint32_t i = 0; i < op->regions_count; i++) {
    int64_t count = t->ops_count;
    if (!tt_cpu_is_control(op->code)) {
      resolve_region(op->regions[i]);
      continue;
    }
    TT_RETURN_IF_ERROR(walk_region(t, op->regions[i]));
    forget_from(t, count); /* what a region makes is not seen outside */
  }
  return NULL;
}

static tt_error *walk_region(table *t, tt_hlo_region *region) {
  for (tt_hlo_op *op = region->first, *next; op != NULL; op = next) {
    next = op->next;
    for (uint32_t i = 0; i < op->operands_count; i++)
      op->operands[i] = tt_cpu_resolve(op->operands[i]);
    TT_RETURN_IF_ERROR(walk_regions(t, op));
    tt_hlo_value *value = op->results_count == 1 ? tt_cpu_simpler(t->arena, op) : NULL;
    if (value == NULL && may_merge(op)) {
      tt_hlo_op *same = find_same(t, op);
      value = same == NULL ? NULL : &same->results[0];
    }
    if (value != NULL)
      TT_RETURN_IF_ERROR(replace(t, op, value));
  }
  return NULL;
}

/* ---- what nobody reads ---- */

static int64_t count_ops(const tt_hlo_region *region) {
  int64_t count = 0;
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    count++;
    for (uint32_t i = 0; i < op->regions_count; i++)
      count += count_ops(op->regions[i]);
  }
  return count;
}

static bool is_dead(const tt_hlo_op *op) {
  if (op->code == TT_HLO_RETURN || op->regions_count > 0 || op->code == TT_HLO_COMPOSITE ||
      (tt_hlo_ops[op->code].traits & TT_HLO_EFFECT) != 0)
    return false;
  for (uint32_t i = 0; i < op->results_count; i++)
    if (op->results[i].number > 0)
      return false;
  return true;
}

static void drop_dead(tt_hlo_region *region) {
  for (tt_hlo_op *op = region->last, *previous; op != NULL; op = previous) {
    previous = op->previous;
    for (uint32_t i = 0; tt_cpu_is_control(op->code) && i < op->regions_count; i++)
      drop_dead(op->regions[i]);
    if (!is_dead(op))
      continue;
    for (uint32_t i = 0; i < op->operands_count; i++)
      op->operands[i]->number--;
    tt_cpu_unlink_op(op);
  }
}

/* ---- the pass ---- */

static tt_error *simplify_func(tt_hlo_module *module, tt_hlo_func *func) {
  tt_error *err = NULL;
  table t = {.arena = &module->arena};
  int64_t count = count_ops(func->body);
  t.chains_count = (uint64_t)(count < LEAST ? LEAST : count);
  t.ops = tt_arena_array(&t.scratch, (size_t)count, sizeof *t.ops);
  t.chains = tt_arena_array(&t.scratch, t.chains_count, sizeof *t.chains);
  if (t.ops == NULL || t.chains == NULL) {
    err = tt_error_no_memory((size_t)count * sizeof *t.ops);
    goto out;
  }
  memset(t.chains, 0xff, t.chains_count * sizeof *t.chains);
  TT_TRY(walk_region(&t, func->body));
  tt_cpu_count_uses(func->body);
  drop_dead(func->body);
out:
  tt_arena_reset(&t.scratch);
  return err;
}

tt_error *tt_cpu_simplify(tt_hlo_module *module) {
  for (tt_hlo_func *func = module->funcs; func != NULL; func = func->next)
    if (func->body != NULL)
      TT_RETURN_IF_ERROR(simplify_func(module, func));
  return NULL;
}
