/* Which devices a collective is among, in all the ways in which it may name them. */
#include "base/bytes.h"
#include "cpu/kernel.h"
#include "cpu/team.h"

#include <stdlib.h>
#include <string.h>

/* What the numbers in groups mean, as the specification names it. */
typedef enum grouping {
  CROSS_REPLICA,               /* replicas, of one partition */
  CROSS_PARTITION,             /* partitions, of one replica */
  CROSS_REPLICA_AND_PARTITION, /* replicas, of all partitions */
  FLATTENED                    /* replica * partitions + partition */
} grouping;

static grouping grouping_of(const tt_hlo_op *op) {
  const tt_hlo_attr *channel = tt_hlo_op_attr(op, TT_HLO_CHANNEL_HANDLE);
  const tt_hlo_attr *global = tt_hlo_op_attr(op, TT_HLO_USE_GLOBAL_DEVICE_IDS);
  if (channel == NULL || channel->i64 <= 0)
    return CROSS_REPLICA;
  if (op->code == TT_HLO_ALL_TO_ALL || op->code == TT_HLO_COLLECTIVE_PERMUTE ||
      op->code == TT_HLO_COLLECTIVE_BROADCAST)
    return CROSS_PARTITION;
  return global != NULL && global->i64 != 0 ? FLATTENED : CROSS_REPLICA_AND_PARTITION;
}

typedef struct devices {
  grouping grouping;
  int64_t replicas, partitions, member;
} devices;

static int64_t numbers(const devices *d) {
  return d->grouping == FLATTENED         ? d->replicas * d->partitions
         : d->grouping == CROSS_PARTITION ? d->partitions
                                          : d->replicas;
}

/* The member itself as groups name it. */
static int64_t own_number(const devices *d) {
  return d->grouping == FLATTENED         ? d->member
         : d->grouping == CROSS_PARTITION ? d->member % d->partitions
                                          : d->member / d->partitions;
}

/* The member whose number this is, of the own replica or partition. */
static int64_t member_of(const devices *d, int64_t number) {
  return d->grouping == FLATTENED         ? number
         : d->grouping == CROSS_PARTITION ? d->member / d->partitions * d->partitions + number
                                          : number * d->partitions + d->member % d->partitions;
}

/* Writes down the members that a group's numbers mean; -1 fills up short groups. */
static int64_t expand(const devices *d, const int64_t *group, int64_t count, int64_t *out_members) {
  int64_t found = 0;
  bool all = d->grouping == CROSS_REPLICA_AND_PARTITION;
  for (int64_t p = 0; p < (all ? d->partitions : 1); p++)
    for (int64_t i = 0; i < count; i++)
      if (group == NULL || group[i] >= 0) {
        int64_t number = group == NULL ? i : group[i];
        out_members[found++] = all ? number * d->partitions + p : member_of(d, number);
      }
  return found;
}

static bool holds(const int64_t *items, int64_t count, int64_t item) {
  while (count > 0 && items[count - 1] != item)
    count--;
  return count > 0;
}

static tt_error *check_number(const devices *d, const tt_hlo_op *op, int64_t number) {
  if (number >= -1 && number < numbers(d))
    return NULL;
  return tt_error_new(TT_INVALID_ARGUMENT, "%s names device %lld of %lld",
                      tt_hlo_ops[op->code].mnemonic, (long long)number, (long long)numbers(d));
}

/* In the order of their numbers, which is that of members too. */
static tt_error *pairs_group(const devices *d, const tt_hlo_op *op, int64_t *out_members,
                             int64_t *out_count) {
  tt_hlo_list pairs = tt_cpu_attr_list(op, TT_HLO_SOURCE_TARGET_PAIRS);
  int64_t count = 0;
  memset(out_members, 0, (size_t)numbers(d) * sizeof *out_members);
  for (size_t i = 0; i < pairs.count; i++) {
    TT_RETURN_IF_ERROR(check_number(d, op, pairs.items[i]));
    if (pairs.items[i] >= 0)
      out_members[pairs.items[i]] = 1;
  }
  for (int64_t number = 0; number < numbers(d); number++)
    if (out_members[number] != 0)
      out_members[count++] = member_of(d, number);
  *out_count = count;
  return NULL;
}

/* No groups at all are one of all devices. */
static tt_error *group_of(const devices *d, const tt_hlo_op *op, int64_t *out_members,
                          int64_t *out_count) {
  const tt_hlo_attr *groups = tt_hlo_op_attr(op, TT_HLO_REPLICA_GROUPS);
  int64_t columns = groups == NULL || groups->i64s.count == 0 ? 0 : groups->columns;
  int64_t rows = columns <= 0 ? 0 : (int64_t)groups->i64s.count / columns;
  *out_count = 0;
  if (rows == 0)
    *out_count = expand(d, NULL, numbers(d), out_members);
  for (int64_t r = 0; r < rows; r++) {
    const int64_t *row = groups->i64s.items + r * columns;
    for (int64_t i = 0; i < columns; i++)
      TT_RETURN_IF_ERROR(check_number(d, op, row[i]));
    /* Numbers are different, so that no row is longer than out_members. */
    if (*out_count == 0 && holds(row, columns, own_number(d)))
      *out_count = expand(d, row, columns, out_members);
  }
  return NULL;
}

tt_error *tt_cpu_group_of(const tt_hlo_op *op, int64_t replicas, int64_t partitions, int64_t member,
                          int64_t *out_members, int64_t *out_count, int64_t *out_position) {
  devices d = {grouping_of(op), replicas, partitions, member};
  *out_position = -1;
  if (op->code == TT_HLO_COLLECTIVE_PERMUTE)
    TT_RETURN_IF_ERROR(pairs_group(&d, op, out_members, out_count));
  else
    TT_RETURN_IF_ERROR(group_of(&d, op, out_members, out_count));
  for (int64_t i = 0; i < *out_count; i++)
    if (out_members[i] == member)
      *out_position = i;
  return NULL;
}

int64_t tt_cpu_sender_to(const tt_hlo_op *op, int64_t partitions, int64_t member) {
  devices d = {grouping_of(op), 1, partitions, member};
  tt_hlo_list pairs = tt_cpu_attr_list(op, TT_HLO_SOURCE_TARGET_PAIRS);
  int64_t own = own_number(&d);
  for (size_t i = 0; i + 1 < pairs.count; i += 2)
    if (pairs.items[i + 1] == own && pairs.items[i] >= 0)
      return member_of(&d, pairs.items[i]);
  return -1;
}

/* ---- a whole module ---- */

typedef struct checker {
  int64_t replicas, partitions;
  int64_t *members; /* [replicas * partitions], scratch; as is `seen` */
  bool *seen;
  const tt_hlo_module *module;
  tt_bytes called; /* functions that regions without collectives call, each once */
} checker;

/* Axes that grow and shrink with the group's size; -1: none. */
static void scaled_axes(const tt_hlo_op *op, int64_t *out_up, int64_t *out_down) {
  *out_up = tt_cpu_attr_i64(
      op, op->code == TT_HLO_ALL_GATHER ? TT_HLO_ALL_GATHER_DIM : TT_HLO_CONCAT_DIMENSION, -1);
  *out_down = tt_cpu_attr_i64(
      op, op->code == TT_HLO_ALL_TO_ALL ? TT_HLO_SPLIT_DIMENSION : TT_HLO_SCATTER_DIMENSION, -1);
}

static tt_error *check_dims(const tt_hlo_op *op, int64_t size) {
  int64_t up = -1, down = -1;
  scaled_axes(op, &up, &down);
  for (uint32_t i = 0; i < op->results_count; i++) {
    const tt_hlo_type *from = &op->operands[i]->type, *to = &op->results[i].type;
    for (int32_t k = 0; k < from->rank; k++) {
      int64_t grown = to->dims[k] * (k == down ? size : 1);
      int64_t wanted = from->dims[k] * (k == up ? size : 1);
      if (from->dims[k] >= 0 && to->dims[k] >= 0 && grown != wanted)
        return tt_error_new(TT_INVALID_ARGUMENT,
                            "%s: dim %d goes from %lld to %lld in a group of %lld devices",
                            tt_hlo_ops[op->code].mnemonic, (int)k, (long long)from->dims[k],
                            (long long)to->dims[k], (long long)size);
    }
  }
  return NULL;
}

static bool has(const tt_hlo_op *op, uint32_t trait) {
  return (tt_hlo_ops[op->code].traits & trait) != 0;
}

/* Marks the numbers of one group, and checks what the group is for the op. */
static tt_error *check_group(const devices *d, const tt_hlo_op *op, const int64_t *group,
                             int64_t count, bool *seen) {
  int64_t size = 0;
  for (int64_t i = 0; i < count; i++) {
    TT_RETURN_IF_ERROR(check_number(d, op, group[i]));
    if (group[i] < 0)
      continue;
    seen[group[i]] = true;
    size++;
  }
  size *= d->grouping == CROSS_REPLICA_AND_PARTITION ? d->partitions : 1;
  return size == 0 ? NULL : check_dims(op, size);
}

static tt_error *check_all_seen(const devices *d, const tt_hlo_op *op, const bool *seen) {
  for (int64_t number = 0; number < numbers(d); number++)
    if (!seen[number]) {
      int64_t member = member_of(d, number);
      return tt_error_new(TT_INVALID_ARGUMENT, "%s: replica %lld, partition %lld is in no group",
                          tt_hlo_ops[op->code].mnemonic, (long long)(member / d->partitions),
                          (long long)(member % d->partitions));
    }
  return NULL;
}

/* As of the first replica and partition: the others have the same groups. */
static tt_error *check_op(const checker *c, const tt_hlo_op *op) {
  devices d = {grouping_of(op), c->replicas, c->partitions, 0};
  if (op->code == TT_HLO_COLLECTIVE_PERMUTE) {
    tt_hlo_list pairs = tt_cpu_attr_list(op, TT_HLO_SOURCE_TARGET_PAIRS);
    return check_group(&d, op, pairs.items, (int64_t)pairs.count, c->seen);
  }
  const tt_hlo_attr *groups = tt_hlo_op_attr(op, TT_HLO_REPLICA_GROUPS);
  int64_t columns = groups == NULL || groups->i64s.count == 0 ? 0 : groups->columns;
  int64_t rows = columns <= 0 ? 0 : (int64_t)groups->i64s.count / columns;
  if (rows == 0)
    return check_dims(op, expand(&d, NULL, numbers(&d), c->members));
  memset(c->seen, 0, (size_t)numbers(&d));
  for (int64_t r = 0; r < rows; r++)
    TT_RETURN_IF_ERROR(check_group(&d, op, groups->i64s.items + r * columns, columns, c->seen));
  return has(op, TT_HLO_ALONE) ? NULL : check_all_seen(&d, op, c->seen);
}

static tt_error *check_region(checker *c, const tt_hlo_region *region, const tt_hlo_op *holder);

/* What a call in such a region does is done there. */
static tt_error *check_call(checker *c, const tt_hlo_op *op, const tt_hlo_op *holder) {
  const char *name = tt_hlo_op_attr(op, TT_HLO_DECOMPOSITION)->text;
  const tt_hlo_func *func = tt_hlo_func_find(c->module, name); /* the verifier has found it */
  const tt_hlo_func *const *called = (const tt_hlo_func *const *)(const void *)c->called.data;
  for (size_t i = 0; i < c->called.size / sizeof func; i++)
    if (called[i] == func)
      return NULL;
  tt_bytes_append(&c->called, &func, sizeof func);
  TT_RETURN_IF_ERROR(tt_bytes_status(&c->called));
  return check_region(c, func->body, holder);
}

/* Its regions are run where it stands. */
static bool runs_in_place(const tt_hlo_op *op) {
  return tt_cpu_is_control(op->code) || op->code == TT_HLO_ASYNC_START;
}

/* `holder` is the op whose region does not hold collectives; NULL: it does. Only pieces of a
 * device's run may wait for other devices. The verifier has limited the depth. */
static tt_error *check_region(checker *c, const tt_hlo_region *region, const tt_hlo_op *holder) {
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    tt_error *err = NULL;
    if (has(op, TT_HLO_COLLECTIVE))
      err = holder == NULL
                ? check_op(c, op)
                : tt_error_new(TT_UNIMPLEMENTED, "%s in a region of %s",
                               tt_hlo_ops[op->code].mnemonic, tt_hlo_ops[holder->code].mnemonic);
    else if (op->code == TT_HLO_COMPOSITE && holder != NULL)
      err = check_call(c, op, holder);
    if (err != NULL)
      return op->location == NULL ? err : tt_error_wrap_take(err, "%s", op->location);
    for (uint32_t i = 0; i < op->regions_count; i++)
      TT_RETURN_IF_ERROR(
          check_region(c, op->regions[i], holder != NULL || runs_in_place(op) ? holder : op));
  }
  return NULL;
}

tt_error *tt_cpu_groups_check(const tt_hlo_module *module, int64_t replicas, int64_t partitions) {
  size_t count = (size_t)(replicas * partitions), size = sizeof(int64_t) + sizeof(bool);
  int64_t *memory = calloc(count, size);
  checker c = {.replicas = replicas,
               .partitions = partitions,
               .members = memory,
               .seen = (bool *)(memory + count),
               .module = module};
  tt_error *err = memory == NULL ? tt_error_no_memory(count * size) : NULL;
  for (const tt_hlo_func *func = module->funcs; func != NULL && err == NULL; func = func->next)
    err = check_region(&c, func->body, NULL);
  tt_bytes_free(&c.called);
  free(memory);
  return err;
}
