/* Operations among devices. How many devices there are, and so how large a group may be, only the
 * compiler knows. */
#include "hlo/hlo_internal.h"

#include <stdlib.h>
#include <string.h>

static int compare_i64(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Numbers at items[0], items[step], ... are different; -1 fills up short rows and is not counted.
 */
static tt_error *check_unique(tt_arena *arena, const tt_hlo_op *op, const char *what,
                              const int64_t *items, size_t count, size_t step) {
  int64_t *sorted = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_dims_new(arena, (int64_t)count, &sorted));
  for (size_t i = 0; i < count; i++) {
    sorted[i] = items[i * step];
    TT_HLO_CHECK(sorted[i] >= -1, "%s holds %lld", what, (long long)sorted[i]);
  }
  qsort(sorted, count, sizeof *sorted, compare_i64);
  for (size_t i = 1; i < count; i++)
    TT_HLO_CHECK(sorted[i] == -1 || sorted[i] != sorted[i - 1], "%s holds %lld twice", what,
                 (long long)sorted[i]);
  return NULL;
}

/* With a channel and without use_global_device_ids these ops' groups are of replicas, each with all
 * of its partitions: how many those are, the op does not say. */
static bool spans_partitions(const tt_hlo_op *op, const tt_hlo_attr *channel, bool global) {
  bool by_both = op->code == TT_HLO_ALL_GATHER || op->code == TT_HLO_ALL_REDUCE ||
                 op->code == TT_HLO_REDUCE_SCATTER || op->code == TT_HLO_COLLECTIVE_REDUCE;
  return by_both && channel != NULL && channel->i64 > 0 && !global;
}

bool tt_hlo_groups_are_axes(const tt_hlo_attr *groups) {
  static const char name[] = "#stablehlo.replica_group_mesh_axes<";
  return groups != NULL && groups->kind == TT_HLO_ATTR_TEXT && groups->text != NULL &&
         strncmp(groups->text, name, sizeof name - 1) == 0;
}

/* `*out_size` is the number of devices in a group; DYNAMIC when the program does not say. */
static tt_error *check_groups(tt_arena *arena, const tt_hlo_op *op, int64_t *out_size) {
  const tt_hlo_attr *groups = NULL, *channel = NULL;
  bool global = false;
  *out_size = TT_HLO_DYNAMIC;
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_CHANNEL_HANDLE, TT_HLO_ATTR_CHANNEL, &channel));
  TT_RETURN_IF_ERROR(tt_hlo_want_bool(op, TT_HLO_USE_GLOBAL_DEVICE_IDS, false, &global));
  TT_HLO_CHECK(!global || (channel != NULL && channel->i64 > 0),
               "use_global_device_ids wants a channel above 0");
  if (tt_hlo_groups_are_axes(tt_hlo_op_attr(op, TT_HLO_REPLICA_GROUPS)))
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_REPLICA_GROUPS, TT_HLO_ATTR_MATRIX, &groups));
  if (groups->i64s.count == 0)
    return NULL;
  TT_HLO_CHECK(groups->columns > 0 && groups->i64s.count % (size_t)groups->columns == 0,
               "replica_groups: %zu numbers in rows of %lld", groups->i64s.count,
               (long long)groups->columns);
  *out_size = spans_partitions(op, channel, global) ? TT_HLO_DYNAMIC : groups->columns;
  return check_unique(arena, op, "replica_groups", groups->i64s.items, groups->i64s.count, 1);
}

/* How a collective changes dims: those of `up_axis` are multiplied, then those of `down_axis`
 * divided. No axis: -1. */
typedef struct scaling {
  int64_t up_axis, up, down_axis, down;
} scaling;

/* Result i has the dims of operand i, scaled. */
static tt_error *check_scaled(const tt_hlo_op *op, uint32_t i, const scaling *s) {
  const tt_hlo_type *operand = tt_hlo_operand(op, i), *result = &op->results[i].type;
  TT_HLO_CHECK(operand->rank == result->rank, "ranks differ: operand is %s, result %s",
               TT_HLO_SHOW(operand), TT_HLO_SHOW(result));
  for (int32_t k = 0; k < operand->rank; k++) {
    int64_t up = k == s->up_axis ? s->up : 1, down = k == s->down_axis ? s->down : 1, wanted = 0;
    int64_t from = operand->dims[k], to = result->dims[k];
    if (from == TT_HLO_DYNAMIC || to == TT_HLO_DYNAMIC || up == TT_HLO_DYNAMIC ||
        down == TT_HLO_DYNAMIC)
      continue;
    TT_HLO_CHECK(tt_mul_i64(from, up, &wanted) && wanted % down == 0 && to == wanted / down,
                 "dim %d: expected %lld * %lld / %lld, got %lld", (int)k, (long long)from,
                 (long long)up, (long long)down, (long long)to);
  }
  return NULL;
}

/* The computation of a reduction takes and gives one scalar type, to which all operands promote. */
static tt_error *check_computation(const tt_hlo_op *op) {
  const tt_hlo_op *end = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_check_regions(op, 1));
  for (uint32_t i = 0; i < op->results_count; i++) {
    TT_RETURN_IF_ERROR(tt_hlo_check_reducer(op, 0, "computation", op->operands + i, 1, &end));
    TT_HLO_CHECK(op->results[i].type.dtype == end->operands[0]->type.dtype,
                 "result %u: expected elements %s, got %s", i,
                 tt_dtype_name(end->operands[0]->type.dtype), TT_HLO_SHOW(&op->results[i].type));
  }
  return NULL;
}

/* Attribute `name` is an axis of every operand. */
static tt_error *need_axis(const tt_hlo_op *op, tt_hlo_attr_name name, int64_t *out_axis) {
  TT_RETURN_IF_ERROR(tt_hlo_need_i64(op, name, out_axis));
  for (uint32_t i = 0; i < op->operands_count; i++)
    TT_RETURN_IF_ERROR(
        tt_hlo_check_axis(op, tt_hlo_attr_names[name], *out_axis, tt_hlo_operand(op, i)->rank));
  return NULL;
}

static tt_error *check_pairs(tt_arena *arena, const tt_hlo_op *op) {
  const tt_hlo_attr *pairs = NULL, *channel = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_want_attr(op, TT_HLO_CHANNEL_HANDLE, TT_HLO_ATTR_CHANNEL, &channel));
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_SOURCE_TARGET_PAIRS, TT_HLO_ATTR_MATRIX, &pairs));
  TT_HLO_CHECK(pairs->columns == 2 && pairs->i64s.count % 2 == 0,
               "source_target_pairs: expected rows of 2, got %lld",
               (long long)pairs->columns);                /* collective_permute_c1 */
  for (size_t i = 0; i < 2 && pairs->i64s.count > 0; i++) /* collective_permute_c2, _c3 */
    TT_RETURN_IF_ERROR(check_unique(arena, op, "source_target_pairs", pairs->i64s.items + i,
                                    pairs->i64s.count / 2, 2));
  return NULL;
}

static tt_error *all_to_all_scaling(const tt_hlo_op *op, int64_t group, scaling *out_scaling) {
  int64_t split = 0, concat = 0, count = 0;
  TT_RETURN_IF_ERROR(need_axis(op, TT_HLO_SPLIT_DIMENSION, &split));   /* all_to_all_c1 */
  TT_RETURN_IF_ERROR(need_axis(op, TT_HLO_CONCAT_DIMENSION, &concat)); /* all_to_all_c3 */
  TT_RETURN_IF_ERROR(tt_hlo_need_i64(op, TT_HLO_SPLIT_COUNT, &count));
  TT_HLO_CHECK(count > 0, "split_count is %lld, less than 1", (long long)count); /* all_to_all_c4 */
  TT_HLO_CHECK(tt_hlo_dim_agrees(group, count), "split_count is %lld, a group has %lld devices",
               (long long)count, (long long)group); /* all_to_all_c8 */
  for (uint32_t i = 0; i < op->operands_count; i++) {
    int64_t dim = tt_hlo_operand(op, i)->dims[split];
    TT_HLO_CHECK(dim == TT_HLO_DYNAMIC || dim % count == 0,
                 "dim %lld is no multiple of split_count %lld", (long long)dim,
                 (long long)count); /* all_to_all_c2 */
  }
  *out_scaling = (scaling){concat, count, split, count};
  return NULL;
}

/* What an op does to dims, from its own attributes and the size of a group. */
static tt_error *find_scaling(const tt_hlo_op *op, int64_t group, scaling *out_scaling) {
  *out_scaling = (scaling){-1, group, -1, group};
  switch (op->code) {
    case TT_HLO_ALL_GATHER:
      return need_axis(op, TT_HLO_ALL_GATHER_DIM, &out_scaling->up_axis); /* all_gather_c1 */
    case TT_HLO_REDUCE_SCATTER:
      return need_axis(op, TT_HLO_SCATTER_DIMENSION,
                       &out_scaling->down_axis); /* reduce_scatter_c2 */
    case TT_HLO_ALL_TO_ALL:
      return all_to_all_scaling(op, group, out_scaling);
    default:
      return NULL;
  }
}

static tt_error *check_dtypes(const tt_hlo_op *op) {
  for (uint32_t i = 0; i < op->results_count; i++)
    TT_HLO_CHECK(op->results[i].type.dtype == tt_hlo_operand(op, i)->dtype,
                 "result %u: expected elements %s, got %s", i,
                 tt_dtype_name(tt_hlo_operand(op, i)->dtype), TT_HLO_SHOW(&op->results[i].type));
  return NULL;
}

/* The operands that are data: with has_dynamic_root the last one says which member of the group
 * each of the others comes from, or goes to. */
static tt_error *check_operands(const tt_hlo_op *op) {
  bool rooted = op->code == TT_HLO_COLLECTIVE_BROADCAST || op->code == TT_HLO_COLLECTIVE_REDUCE;
  bool dynamic = false;
  if (rooted)
    TT_RETURN_IF_ERROR(tt_hlo_want_bool(op, TT_HLO_HAS_DYNAMIC_ROOT, false, &dynamic));
  TT_HLO_CHECK(op->operands_count > 0, "expected at least one operand, got none");
  if (!dynamic) /* collective_broadcast_c3, _c5, collective_reduce_c3 */
    return tt_hlo_check_results(op, op->operands_count);
  uint32_t count = op->operands_count - 1; /* collective_broadcast_c4, collective_reduce_c3 */
  const tt_hlo_type *roots = tt_hlo_operand(op, count);
  TT_HLO_CHECK(count > 0, "has_dynamic_root: expected data and roots, got one operand");
  TT_HLO_CHECK(
      roots->dtype == TT_S32 && roots->rank == 1 && tt_hlo_dim_agrees(roots->dims[0], count),
      "has_dynamic_root: expected tensor<%uxi32>, got %s", count, TT_HLO_SHOW(roots));
  return tt_hlo_check_results(op, count); /* collective_broadcast_c5 */
}

tt_error *tt_hlo_infer_collective(tt_arena *arena, tt_hlo_op *op) {
  int64_t group = 1;
  scaling s = {0};
  TT_RETURN_IF_ERROR(check_operands(op));
  if (op->code == TT_HLO_COLLECTIVE_PERMUTE)
    TT_RETURN_IF_ERROR(check_pairs(arena, op));
  else
    TT_RETURN_IF_ERROR(check_groups(arena, op, &group));
  if (op->code == TT_HLO_ALL_REDUCE || op->code == TT_HLO_REDUCE_SCATTER ||
      op->code == TT_HLO_COLLECTIVE_REDUCE)
    TT_RETURN_IF_ERROR(check_computation(op)); /* all_reduce_c5, _c7, reduce_scatter_c7, _c9 */
  else
    TT_RETURN_IF_ERROR(check_dtypes(op));
  TT_RETURN_IF_ERROR(find_scaling(op, group, &s));
  for (uint32_t i = 0; i < op->results_count; i++)
    TT_RETURN_IF_ERROR(check_scaled(op, i, &s)); /* all_gather_c6, all_reduce_c6, all_to_all_c9 */
  return NULL;
}

tt_error *tt_hlo_infer_replica_id(tt_arena *arena, tt_hlo_op *op) {
  (void)arena;
  tt_hlo_set_result(op, 0, TT_U32, 0, NULL);
  return NULL;
}

static tt_error *check_locals(const tt_hlo_op *op, const char *what, const tt_hlo_type *global,
                              const tt_hlo_type *local, uint32_t i) {
  TT_HLO_CHECK(global->token == local->token && (global->token || (global->dtype == local->dtype &&
                                                                   global->rank == local->rank)),
               "%s %u is %s, and %s in the body", what, i, TT_HLO_SHOW(global), TT_HLO_SHOW(local));
  return NULL;
}

/* How the dims of the body's values follow from those outside only the meshes tell. */
tt_error *tt_hlo_infer_manual_computation(tt_arena *arena, tt_hlo_op *op) {
  const tt_hlo_attr *attr = NULL;
  const tt_hlo_op *end = NULL;
  (void)arena;
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_IN_SHARDINGS, TT_HLO_ATTR_TEXT, &attr));
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_OUT_SHARDINGS, TT_HLO_ATTR_TEXT, &attr));
  TT_RETURN_IF_ERROR(tt_hlo_need_attr(op, TT_HLO_MANUAL_AXES, TT_HLO_ATTR_TEXT, &attr));
  TT_RETURN_IF_ERROR(tt_hlo_check_regions(op, 1));
  TT_RETURN_IF_ERROR(tt_hlo_region_return(op, 0, "body", &end));
  const tt_hlo_region *body = op->regions[0];
  TT_HLO_CHECK(body->args_count == op->operands_count, "%u operands, and %u arguments of the body",
               op->operands_count, body->args_count);
  TT_HLO_CHECK(end->operands_count == op->results_count, "%u results, and the body returns %u",
               op->results_count, end->operands_count);
  for (uint32_t i = 0; i < op->operands_count; i++)
    TT_RETURN_IF_ERROR(check_locals(op, "operand", tt_hlo_operand(op, i), &body->args[i].type, i));
  for (uint32_t i = 0; i < op->results_count; i++)
    TT_RETURN_IF_ERROR(
        check_locals(op, "result", &op->results[i].type, &end->operands[i]->type, i));
  return NULL;
}
