/* Programs that are partitioned by hand, rewritten to what each device runs. A value outside of
 * manual computations is whole on every device, but is put together from its parts only where
 * something needs it whole. */
#include <string.h>

#include "base/checked.h"
#include "cpu/sharding.h"

enum { PARTITIONS_MAX = 4096, FIRST_CHANNEL = 1 << 30 };

/* A whole value of which every device has a part. */
typedef struct divided {
  tt_hlo_value *part, *whole; /* whole: NULL as long as nothing needs it */
  tt_cpu_sharding sharding;
  tt_hlo_type type;
  tt_hlo_region *region; /* where it can be put together: behind `after`, NULL: at the beginning */
  tt_hlo_op *after;
} divided;

typedef struct partitioner {
  tt_hlo_module *module;
  tt_arena *arena; /* the module's */
  int64_t partitions;
  int64_t channel;
  tt_bytes values;          /* divided *; a value's `number` is its place here, plus 1 */
  tt_cpu_sharding *results; /* of the results of @main; NULL: none is divided */
  const bool *may_divide;
  size_t may_divide_count;
} partitioner;

/* Places where new ops go: before `before`, NULL: at the end. */
typedef struct spot {
  tt_hlo_region *region;
  tt_hlo_op *before;
} spot;

/* ---- making ops ---- */

static void insert(spot at, tt_hlo_op *op) {
  tt_hlo_region *region = at.region;
  op->parent = region;
  op->next = at.before;
  op->previous = at.before == NULL ? region->last : at.before->previous;
  *(op->previous == NULL ? &region->first : &op->previous->next) = op;
  *(op->next == NULL ? &region->last : &op->next->previous) = op;
}

static void remove_op(tt_hlo_op *op) {
  tt_hlo_region *region = op->parent;
  *(op->previous == NULL ? &region->first : &op->previous->next) = op->next;
  *(op->next == NULL ? &region->last : &op->next->previous) = op->previous;
}

static tt_error *add_op(partitioner *p, spot at, tt_hlo_code code, tt_hlo_value *const *operands,
                        uint32_t operands_count, const tt_hlo_attr *attrs, uint32_t attrs_count,
                        tt_hlo_type type, tt_hlo_value **out_value) {
  tt_hlo_op *op = tt_arena_alloc(p->arena, sizeof *op);
  tt_hlo_value *result = tt_arena_alloc(p->arena, sizeof *result);
  tt_hlo_value **ins = tt_arena_array(p->arena, operands_count, sizeof(tt_hlo_value *));
  tt_hlo_attr *copies = tt_arena_array(p->arena, attrs_count, sizeof *copies);
  if (op == NULL || result == NULL || ins == NULL || copies == NULL)
    return tt_error_no_memory(sizeof *op);
  if (operands_count > 0)
    memcpy(ins, operands, operands_count * sizeof *operands);
  if (attrs_count > 0)
    memcpy(copies, attrs, attrs_count * sizeof *attrs);
  *result = (tt_hlo_value){.type = type, .op = op};
  *op = (tt_hlo_op){.code = code,
                    .operands_count = operands_count,
                    .results_count = 1,
                    .attrs_count = attrs_count,
                    .operands = ins,
                    .results = result,
                    .attrs = copies};
  insert(at, op);
  *out_value = result;
  return NULL;
}

static tt_error *own_numbers(partitioner *p, const int64_t *numbers, size_t count,
                             tt_hlo_list *out_list) {
  int64_t *copy = tt_arena_copy(p->arena, numbers, count * sizeof *numbers);
  *out_list = (tt_hlo_list){count, copy};
  return copy == NULL ? tt_error_no_memory(count * sizeof *numbers) : NULL;
}

static tt_error *dims_of_parts(partitioner *p, const tt_hlo_type *type,
                               const tt_cpu_sharding *sharding, tt_hlo_type *out_type) {
  int64_t *dims = tt_arena_array(p->arena, (size_t)type->rank, sizeof *dims);
  if (dims == NULL)
    return tt_error_no_memory((size_t)type->rank * sizeof *dims);
  for (int32_t d = 0; d < type->rank; d++) {
    if (type->dims[d] < 0 || type->dims[d] % sharding->parts[d] != 0)
      return tt_error_new(TT_UNIMPLEMENTED, "dim %d of size %lld in %lld parts", (int)d,
                          (long long)type->dims[d], (long long)sharding->parts[d]);
    dims[d] = type->dims[d] / sharding->parts[d];
  }
  *out_type = *type;
  out_type->dims = dims;
  return NULL;
}

/* ---- a part of a whole ---- */

/* i32 scalar: table[partition_id]. */
static tt_error *look_up(partitioner *p, spot at, const int32_t *table, tt_hlo_value **out_value) {
  static const int64_t one[] = {1};
  size_t count = (size_t)p->partitions;
  const int64_t *dims = tt_arena_copy(p->arena, &p->partitions, sizeof p->partitions);
  const int32_t *data = tt_arena_copy(p->arena, table, count * sizeof *table);
  tt_hlo_value *id = NULL, *list = NULL, *item = NULL;
  if (dims == NULL || data == NULL)
    return tt_error_no_memory(count * sizeof *table);
  tt_hlo_attr value = {.name = TT_HLO_VALUE, .kind = TT_HLO_ATTR_DENSE, .data = data};
  tt_hlo_attr sizes = {.name = TT_HLO_SLICE_SIZES, .kind = TT_HLO_ATTR_I64S, .i64s = {1, one}};
  tt_hlo_type scalar = {.dtype = TT_S32}, listed = {.dtype = TT_S32, .rank = 1, .dims = dims};
  tt_hlo_type single = {.dtype = TT_S32, .rank = 1, .dims = one};
  TT_RETURN_IF_ERROR(
      add_op(p, at, TT_HLO_PARTITION_ID, NULL, 0, NULL, 0, (tt_hlo_type){.dtype = TT_U32}, &id));
  TT_RETURN_IF_ERROR(add_op(p, at, TT_HLO_CONSTANT, NULL, 0, &value, 1, listed, &list));
  tt_hlo_value *operands[] = {list, id};
  TT_RETURN_IF_ERROR(add_op(p, at, TT_HLO_DYNAMIC_SLICE, operands, 2, &sizes, 1, single, &item));
  return add_op(p, at, TT_HLO_RESHAPE, &item, 1, NULL, 0, scalar, out_value);
}

static tt_error *cut(partitioner *p, spot at, tt_hlo_value *whole, const tt_cpu_sharding *sharding,
                     tt_hlo_value **out_part) {
  tt_hlo_type type;
  uint32_t rank = (uint32_t)whole->type.rank;
  tt_hlo_value *operands[1 + TT_HLO_RANK_MAX] = {whole};
  *out_part = whole;
  if (whole->type.token || !tt_cpu_sharding_divides(sharding))
    return NULL;
  TT_RETURN_IF_ERROR(dims_of_parts(p, &whole->type, sharding, &type));
  int32_t *table = tt_arena_array(p->arena, (size_t)p->partitions, sizeof *table);
  if (table == NULL)
    return tt_error_no_memory((size_t)p->partitions * sizeof *table);
  for (uint32_t d = 0; d < rank; d++) {
    for (int64_t i = 0; i < p->partitions; i++) {
      int64_t begin = sharding->index[d * p->partitions + i] * type.dims[d];
      if (begin > INT32_MAX)
        return tt_error_new(TT_UNIMPLEMENTED, "a divided dim of more than 2^31 elements");
      table[i] = (int32_t)begin;
    }
    TT_RETURN_IF_ERROR(look_up(p, at, table, &operands[1 + d]));
  }
  tt_hlo_attr sizes = {.name = TT_HLO_SLICE_SIZES, .kind = TT_HLO_ATTR_I64S};
  TT_RETURN_IF_ERROR(own_numbers(p, type.dims, rank, &sizes.i64s));
  return add_op(p, at, TT_HLO_DYNAMIC_SLICE, operands, 1 + rank, &sizes, 1, type, out_part);
}

/* ---- the whole of its parts ---- */

/* Do both have the same part in all dims but `but`? */
static bool agree(const tt_cpu_sharding *s, int64_t a, int64_t b, int32_t but) {
  for (int32_t d = 0; d < s->rank; d++)
    if (d != but && s->index[d * s->partitions + a] != s->index[d * s->partitions + b])
      return false;
  return true;
}

/* One group for each set of devices that together have dim `d`, in the order of its parts. Devices
 * with equal parts are in different groups: the n-th ones of each part make the n-th group. */
static tt_error *group_along(partitioner *p, const tt_cpu_sharding *s, int32_t d,
                             tt_hlo_attr *out_attr) {
  int64_t count = p->partitions, columns = s->parts[d], rows = 0;
  const int64_t *index = s->index + d * count;
  int64_t *groups = tt_arena_array(p->arena, (size_t)count, sizeof *groups);
  bool *used = tt_arena_alloc(p->arena, (size_t)count);
  if (groups == NULL || used == NULL)
    return tt_error_no_memory((size_t)count * sizeof *groups);
  for (int64_t first = 0; first < count; first++) {
    if (used[first])
      continue;
    for (int64_t k = 0; k < columns; k++) {
      int64_t device = first;
      while (device < count && (used[device] || index[device] != k || !agree(s, first, device, d)))
        device++;
      if (index[first] == k)
        device = first;
      if (device == count)
        return tt_error_new(TT_INTERNAL, "a sharding gives some parts to fewer devices");
      used[device] = true;
      groups[rows * columns + k] = device;
    }
    rows++;
  }
  *out_attr = (tt_hlo_attr){.name = TT_HLO_REPLICA_GROUPS,
                            .kind = TT_HLO_ATTR_MATRIX,
                            .columns = columns,
                            .i64s = {(size_t)count, groups}};
  return NULL;
}

static tt_error *gather_dim(partitioner *p, spot at, const tt_cpu_sharding *s, int32_t d,
                            tt_hlo_value **value) {
  tt_hlo_attr attrs[] = {
      {.name = TT_HLO_ALL_GATHER_DIM, .kind = TT_HLO_ATTR_I64, .i64 = d},
      {.name = TT_HLO_CHANNEL_HANDLE,
       .kind = TT_HLO_ATTR_CHANNEL,
       .i64 = p->channel++,
       .columns = 1},
      {0},
      {.name = TT_HLO_USE_GLOBAL_DEVICE_IDS, .kind = TT_HLO_ATTR_BOOL, .i64 = 1}};
  tt_hlo_type type = (*value)->type;
  int64_t *dims = tt_arena_copy(p->arena, type.dims, (size_t)type.rank * sizeof *dims);
  if (dims == NULL)
    return tt_error_no_memory((size_t)type.rank * sizeof *dims);
  dims[d] *= s->parts[d];
  type.dims = dims;
  TT_RETURN_IF_ERROR(group_along(p, s, d, &attrs[2]));
  return add_op(p, at, TT_HLO_ALL_GATHER, value, 1, attrs, TT_COUNT(attrs), type, value);
}

/* ---- divided values ---- */

static tt_error *mark(partitioner *p, tt_hlo_value *value, divided item) {
  divided *kept = tt_arena_alloc(p->arena, sizeof *kept);
  if (kept == NULL)
    return tt_error_no_memory(sizeof *kept);
  *kept = item;
  tt_bytes_append(&p->values, &kept, sizeof(divided *));
  value->number = (uint32_t)(p->values.size / sizeof(divided *));
  return tt_bytes_status(&p->values);
}

static divided *divided_of(const partitioner *p, const tt_hlo_value *value) {
  return value->number == 0 ? NULL : ((divided **)(void *)p->values.data)[value->number - 1];
}

static tt_error *whole_of(partitioner *p, tt_hlo_value *value, tt_hlo_value **out_whole) {
  divided *d = divided_of(p, value);
  *out_whole = value;
  if (d == NULL)
    return NULL;
  if (d->whole == NULL) {
    spot at = {d->region, d->after == NULL ? d->region->first : d->after->next};
    d->whole = d->part;
    for (int32_t i = 0; i < d->sharding.rank; i++)
      if (d->sharding.parts[i] > 1)
        TT_RETURN_IF_ERROR(gather_dim(p, at, &d->sharding, i, &d->whole));
  }
  *out_whole = d->whole;
  return NULL;
}

/* The part of a value that this sharding gives each device: that which it has, if it fits. */
static tt_error *part_of(partitioner *p, spot at, tt_hlo_value *value,
                         const tt_cpu_sharding *sharding, tt_hlo_value **out_part) {
  divided *d = divided_of(p, value);
  if (d != NULL && tt_cpu_sharding_equal(&d->sharding, sharding)) {
    *out_part = d->part;
    return NULL;
  }
  TT_RETURN_IF_ERROR(whole_of(p, value, out_part));
  return cut(p, at, *out_part, sharding, out_part);
}

/* ---- manual computations ---- */

/* Replaces the arguments of `body` in `region` by `values`. */
static void replace_args(tt_hlo_region *region, const tt_hlo_region *body,
                         tt_hlo_value *const *values) {
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    for (uint32_t i = 0; i < op->operands_count; i++) {
      tt_hlo_value *value = op->operands[i];
      if (value->op == NULL && value->index < body->args_count &&
          value == &body->args[value->index])
        op->operands[i] = values[value->index];
    }
    for (uint32_t i = 0; i < op->regions_count; i++)
      replace_args(op->regions[i], body, values);
  }
}

/* Moves the ops of `body`, its return left out, to before `op`. */
static void splice(tt_hlo_op *op, tt_hlo_region *body) {
  for (tt_hlo_op *at = body->first, *next; at != body->last; at = next) {
    next = at->next;
    for (uint32_t i = 0; i < at->regions_count; i++)
      at->regions[i]->outer = op->parent;
    insert((spot){op->parent, op}, at);
  }
}

static tt_error *read_next(partitioner *p, const tt_hlo_op *op, const char **list, bool first,
                           int32_t rank, tt_cpu_sharding *out_sharding) {
  tt_cpu_sharding_reader reader = {p->arena, p->module, p->partitions,
                                   tt_hlo_op_attr(op, TT_HLO_MANUAL_AXES)->text};
  if (!tt_cpu_sharding_next(list, first))
    return tt_error_new(TT_INVALID_ARGUMENT, "sdy.manual_computation: too few shardings");
  return tt_cpu_sharding_read(&reader, rank, list, out_sharding);
}

static tt_error *check_part(const char *what, uint32_t i, const tt_hlo_type *got,
                            const tt_hlo_type *want) {
  if (tt_hlo_type_equal(got, want))
    return NULL;
  tt_bytes a = {0}, b = {0};
  tt_hlo_type_print(got, &a);
  tt_hlo_type_print(want, &b);
  tt_error *err = tt_error_new(
      TT_INVALID_ARGUMENT, "sdy.manual_computation: %s %u: the shardings make it %s, it is %s",
      what, i, a.data == NULL ? "?" : a.data, b.data == NULL ? "?" : b.data);
  tt_bytes_free(&a);
  tt_bytes_free(&b);
  return err;
}

static tt_error *divide_args(partitioner *p, tt_hlo_op *op, tt_hlo_value **out_parts) {
  const char *list = tt_hlo_op_attr(op, TT_HLO_IN_SHARDINGS)->text;
  const tt_hlo_region *body = op->regions[0];
  for (uint32_t i = 0; i < op->operands_count; i++) {
    tt_cpu_sharding sharding;
    const tt_hlo_type *type = &op->operands[i]->type;
    TT_RETURN_IF_ERROR(read_next(p, op, &list, i == 0, type->token ? 0 : type->rank, &sharding));
    TT_RETURN_IF_ERROR(
        part_of(p, (spot){op->parent, op}, op->operands[i], &sharding, &out_parts[i]));
    TT_RETURN_IF_ERROR(check_part("argument", i, &out_parts[i]->type, &body->args[i].type));
  }
  return NULL;
}

/* The results are divided values from here on, of which the body's are the parts. */
static tt_error *divide_results(partitioner *p, tt_hlo_op *op) {
  const char *list = tt_hlo_op_attr(op, TT_HLO_OUT_SHARDINGS)->text;
  const tt_hlo_op *end = op->regions[0]->last;
  for (uint32_t i = 0; i < op->results_count; i++) {
    tt_hlo_value *result = &op->results[i];
    divided d = {.part = end->operands[i],
                 .type = result->type,
                 .region = op->parent,
                 .after = op->previous};
    tt_hlo_type part;
    int32_t rank = result->type.token ? 0 : result->type.rank;
    TT_RETURN_IF_ERROR(read_next(p, op, &list, i == 0, rank, &d.sharding));
    if (!result->type.token) {
      TT_RETURN_IF_ERROR(dims_of_parts(p, &result->type, &d.sharding, &part));
      TT_RETURN_IF_ERROR(check_part("result", i, &part, &d.part->type));
    }
    TT_RETURN_IF_ERROR(mark(p, result, d));
  }
  return NULL;
}

static tt_error *walk(partitioner *p, tt_hlo_region *region, bool keep_return);

static tt_error *walk_manual(partitioner *p, tt_hlo_op *op) {
  tt_hlo_region *body = op->regions[0];
  tt_hlo_value **parts = tt_arena_array(p->arena, op->operands_count, sizeof(tt_hlo_value *));
  if (parts == NULL)
    return tt_error_no_memory(op->operands_count * sizeof(tt_hlo_value *));
  TT_RETURN_IF_ERROR(divide_args(p, op, parts));
  TT_RETURN_IF_ERROR(walk(p, body, false));
  replace_args(body, body, parts);
  splice(op, body);
  TT_RETURN_IF_ERROR(divide_results(p, op));
  remove_op(op);
  return NULL;
}

/* Puts whole values together that ops outside of manual computations need. */
static tt_error *walk(partitioner *p, tt_hlo_region *region, bool keep_return) {
  for (tt_hlo_op *op = region->first, *next; op != NULL; op = next) {
    next = op->next;
    if (op->code == TT_HLO_SDY_MANUAL_COMPUTATION) {
      tt_error *err = walk_manual(p, op);
      if (err != NULL)
        return op->location == NULL ? err : tt_error_wrap_take(err, "%s", op->location);
      continue;
    }
    if (keep_return && op == region->last)
      return NULL;
    for (uint32_t i = 0; i < op->operands_count; i++)
      TT_RETURN_IF_ERROR(whole_of(p, op->operands[i], &op->operands[i]));
    for (uint32_t i = 0; i < op->regions_count; i++)
      TT_RETURN_IF_ERROR(walk(p, op->regions[i], false));
  }
  return NULL;
}

/* ---- @main ---- */

static const char *param_sharding(const tt_hlo_func *func, uint32_t i) {
  return func->params == NULL ? NULL : func->params[i].sharding;
}

static const char *result_sharding(const tt_hlo_func *func, uint32_t i) {
  return func->result_shardings == NULL ? NULL : func->result_shardings[i];
}

/* An argument that comes in parts: its uses become those of a whole value. */
static tt_error *divide_param(partitioner *p, tt_hlo_region *body, uint32_t i,
                              tt_hlo_value **wholes, const tt_cpu_sharding *sharding) {
  divided d = {.part = &body->args[i], .sharding = *sharding, .region = body};
  tt_hlo_value *whole = tt_arena_alloc(p->arena, sizeof *whole);
  if (whole == NULL)
    return tt_error_no_memory(sizeof *whole);
  d.type = whole->type = body->args[i].type;
  whole->index = UINT32_MAX;
  wholes[i] = whole;
  TT_RETURN_IF_ERROR(dims_of_parts(p, &d.type, sharding, &body->args[i].type));
  return mark(p, whole, d);
}

static tt_error *read_whole(partitioner *p, const tt_hlo_type *type, const char *text,
                            tt_cpu_sharding *out_sharding) {
  tt_cpu_sharding_reader reader = {p->arena, p->module, p->partitions, NULL};
  return tt_cpu_sharding_read(&reader, type->token ? 0 : type->rank, &text, out_sharding);
}

static tt_error *divide_params(partitioner *p, tt_hlo_func *func) {
  tt_hlo_region *body = func->body;
  tt_hlo_value **wholes = tt_arena_array(p->arena, body->args_count, sizeof(tt_hlo_value *));
  if (wholes == NULL)
    return tt_error_no_memory(body->args_count * sizeof(tt_hlo_value *));
  for (uint32_t i = 0; i < body->args_count; i++) {
    tt_cpu_sharding sharding;
    const char *text = param_sharding(func, i);
    wholes[i] = &body->args[i];
    tt_error *err = read_whole(p, &body->args[i].type, text, &sharding);
    if (err == NULL && tt_cpu_sharding_divides(&sharding))
      err = divide_param(p, body, i, wholes, &sharding);
    if (err != NULL)
      return tt_error_wrap_take(err, "argument %u", i);
  }
  replace_args(body, body, wholes);
  return NULL;
}

static bool may_stay_divided(const partitioner *p, uint32_t result) {
  if (p->may_divide_count == 1)
    return p->may_divide[0];
  return result < p->may_divide_count && p->may_divide[result];
}

static tt_error *divide_return(partitioner *p, tt_hlo_func *func) {
  tt_hlo_op *end = func->body->last;
  p->results = tt_arena_array(p->arena, end->operands_count, sizeof *p->results);
  if (p->results == NULL)
    return tt_error_no_memory(end->operands_count * sizeof *p->results);
  for (uint32_t i = 0; i < end->operands_count; i++) {
    tt_cpu_sharding sharding;
    const char *text = result_sharding(func, i);
    tt_error *err = read_whole(p, &end->operands[i]->type, text, &sharding);
    if (err != NULL)
      return tt_error_wrap_take(err, "result %u", i);
    const divided *d = divided_of(p, end->operands[i]);
    if (text == NULL && d != NULL && may_stay_divided(p, i))
      sharding = d->sharding;
    p->results[i] = sharding;
    err = part_of(p, (spot){func->body, end}, end->operands[i], &sharding, &end->operands[i]);
    if (err != NULL)
      return tt_error_wrap_take(err, "result %u", i);
  }
  return NULL;
}

/* What each device runs divides nothing any more. */
static void forget_shardings(tt_hlo_module *module) {
  module->meshes = NULL;
  for (tt_hlo_func *func = module->funcs; func != NULL; func = func->next) {
    func->result_shardings = NULL;
    for (uint32_t i = 0; func->params != NULL && i < func->body->args_count; i++)
      func->params[i].sharding = NULL;
  }
}

/* A result that has other dims on a device than the argument whose memory it was to have. */
static void drop_aliases(tt_hlo_func *func) {
  const tt_hlo_op *end = func->body->last;
  for (uint32_t i = 0; func->params != NULL && i < func->body->args_count; i++) {
    tt_hlo_param *param = &func->params[i];
    if (param->alias < 0 ||
        tt_hlo_type_equal(&func->body->args[i].type, &end->operands[param->alias]->type))
      continue;
    param->alias = -1;
    param->donated = true;
  }
}

/* ---- the whole module ---- */

static void clear_numbers(tt_hlo_region *region) {
  for (uint32_t i = 0; i < region->args_count; i++)
    region->args[i].number = 0;
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    for (uint32_t i = 0; i < op->results_count; i++)
      op->results[i].number = 0;
    for (uint32_t i = 0; i < op->regions_count; i++)
      clear_numbers(op->regions[i]);
  }
}

static bool has_manual(const tt_hlo_region *region) {
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    if (op->code == TT_HLO_SDY_MANUAL_COMPUTATION)
      return true;
    for (uint32_t i = 0; i < op->regions_count; i++)
      if (has_manual(op->regions[i]))
        return true;
  }
  return false;
}

/* A program that leaves the work to the compiler. */
static tt_error *check_undivided(partitioner *p, const tt_hlo_func *func) {
  uint32_t params = func->body->args_count;
  const tt_hlo_op *end = func->body->last;
  for (uint32_t i = 0; i < params + end->operands_count; i++) {
    bool param = i < params;
    uint32_t k = param ? i : i - params;
    const tt_hlo_type *type = param ? &func->body->args[k].type : &end->operands[k]->type;
    tt_cpu_sharding sharding;
    TT_RETURN_IF_ERROR(
        read_whole(p, type, param ? param_sharding(func, k) : result_sharding(func, k), &sharding));
    if (tt_cpu_sharding_divides(&sharding))
      return tt_error_new(TT_UNIMPLEMENTED,
                          "%s %u is divided among %lld devices, and the program does not say how "
                          "each of them works on its part: programs are not partitioned here "
                          "(jax.shard_map writes ones that need not be)",
                          param ? "argument" : "result", k, (long long)p->partitions);
  }
  return NULL;
}

/* How arguments and results are divided, as XLA tells its clients: they read it in the program. */
static tt_error *describe(partitioner *p, const tt_hlo_func *func, tt_bytes *text) {
  const tt_hlo_op *end = func->body->last;
  uint32_t params = func->body->args_count, results = end->operands_count;
  tt_bytes_text(text, "mhlo.spmd_parameters_shardings = [");
  for (uint32_t i = 0; i < params; i++) {
    tt_cpu_sharding sharding;
    TT_RETURN_IF_ERROR(
        read_whole(p, &func->body->args[i].type, param_sharding(func, i), &sharding));
    tt_bytes_text(text, i == 0 ? "\"" : ", \"");
    tt_cpu_sharding_print(&sharding, text);
    tt_bytes_char(text, '"');
  }
  tt_bytes_text(text, results == 1 ? "], mhlo.spmd_output_sharding = \""
                                   : "], mhlo.spmd_output_sharding = \"{");
  for (uint32_t i = 0; i < results; i++) {
    tt_bytes_text(text, i == 0 ? "" : ", ");
    if (p->results == NULL)
      tt_bytes_text(text, "{replicated}");
    else
      tt_cpu_sharding_print(&p->results[i], text);
  }
  tt_bytes_text(text, results == 1 ? "\"" : "}\"");
  p->module->divided = text->failed ? NULL : tt_arena_text(p->arena, text->data, text->size);
  return p->module->divided == NULL ? tt_error_no_memory(text->size) : NULL;
}

static tt_error *divide_module(partitioner *p) {
  tt_hlo_func *funcs = p->module->funcs;
  TT_RETURN_IF_ERROR(divide_params(p, funcs));
  for (tt_hlo_func *func = funcs; func != NULL; func = func->next)
    TT_RETURN_IF_ERROR(walk(p, func->body, func == funcs));
  TT_RETURN_IF_ERROR(divide_return(p, funcs));
  drop_aliases(funcs);
  return NULL;
}

tt_error *tt_cpu_partition_module(tt_hlo_module *module, int64_t replicas, int64_t partitions,
                                  const bool *may_divide, size_t may_divide_count) {
  tt_error *err = NULL;
  tt_bytes text = {0};
  partitioner p = {.module = module,
                   .arena = &module->arena,
                   .partitions = partitions,
                   .channel = FIRST_CHANNEL,
                   .may_divide = may_divide,
                   .may_divide_count = may_divide_count};
  bool manual = false;
  for (tt_hlo_func *func = module->funcs; func != NULL; func = func->next) {
    clear_numbers(func->body);
    manual = manual || has_manual(func->body);
  }
  if (partitions > PARTITIONS_MAX)
    return tt_error_new(TT_UNIMPLEMENTED, "a program of more than %d partitions", PARTITIONS_MAX);
  if (manual && replicas > 1)
    return tt_error_new(TT_UNIMPLEMENTED, "sdy.manual_computation in a program of %lld replicas",
                        (long long)replicas);
  if (!manual && partitions > 1)
    TT_TRY(check_undivided(&p, module->funcs));
  if (manual)
    TT_TRY(divide_module(&p));
  if (partitions > 1)
    TT_TRY(describe(&p, module->funcs, &text));
  forget_shardings(module);
out:
  tt_bytes_free(&p.values);
  tt_bytes_free(&text);
  return err;
}
