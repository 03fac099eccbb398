/* Operations among devices. Each takes part of the work for all of its group, or takes its own
 * result from what the others have brought. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/combine.h"
#include "cpu/plan_internal.h"
#include "cpu/team.h"

/* Elements that are folded and handed on while they are in L1. */
enum { BLOCK = 4096 };

/* One device at one operation. */
typedef struct visit {
  const tt_cpu_args *args;
  const int64_t *members;
  int64_t count, position;
  const tt_cpu_post *posts; /* [count] */
  tt_cpu_post alone;
  tt_cpu_meeting *meeting; /* NULL for a group of one */
} visit;

static tt_error *arrive(const tt_cpu_args *args, visit *v) {
  const tt_cpu_call *call = args->run->call;
  int64_t replicas = tt_cpu_team_replicas(call->team);
  int64_t partitions = tt_cpu_team_partitions(call->team);
  int64_t size = replicas * partitions * (int64_t)sizeof(int64_t);
  int64_t *members = tt_cpu_scratch(args->run, size);
  if (members == NULL)
    return tt_cpu_no_scratch(args->op, size);
  *v = (visit){.args = args, .members = members, .alone = {args->in, args->out}};
  v->posts = &v->alone;
  TT_RETURN_IF_ERROR(tt_cpu_group_of(args->op, replicas, partitions,
                                     call->replica * partitions + call->partition, members,
                                     &v->count, &v->position));
  if (v->position < 0 || v->count == 1)
    return NULL;
  return tt_cpu_team_meet(call->team, args->op, members, v->count, v->position, v->alone,
                          &v->meeting, &v->posts);
}

static void leave(const visit *v) {
  if (v->meeting != NULL)
    tt_cpu_team_part(v->args->run->call->team, v->meeting);
}

static const char *brought(const visit *v, int64_t member, uint32_t operand) {
  return v->posts[member].in[operand];
}

static void fill_zeros(const visit *v, uint32_t result) {
  size_t size = (size_t)tt_cpu_bytes(&v->args->op->results[result].type);
  if (size > 0)
    memset(v->args->out[result], 0, size);
}

/* A tensor as [outer, dim, inner] around an axis. */
typedef struct split {
  int64_t outer, dim, inner;
} split;

static split split_at(const tt_hlo_type *type, int64_t axis) {
  split s = {1, type->dims[axis], 1};
  for (int32_t i = 0; i < type->rank; i++) {
    s.outer *= i < axis ? type->dims[i] : 1;
    s.inner *= i > axis ? type->dims[i] : 1;
  }
  return s;
}

/* ---- reductions ---- */

/* How the values of one operand become one. */
typedef struct fold {
  const visit *v;
  uint32_t operand;
  tt_dtype from, to; /* dtypes of the operand, and of the sum */
  int from_bytes, to_bytes;
  tt_cpu_combine combine; /* NULL: the region, element by element */
} fold;

static fold fold_of(const visit *v, uint32_t operand) {
  const tt_hlo_op *op = v->args->op;
  fold f = {.v = v,
            .operand = operand,
            .from = op->operands[operand]->type.dtype,
            .to = op->results[operand].type.dtype};
  tt_hlo_code code = tt_cpu_region_binary(op->regions[0]);
  f.from_bytes = tt_dtype_bytes(f.from);
  f.to_bytes = tt_dtype_bytes(f.to);
  if (f.from == f.to && code != TT_HLO_OP_COUNT)
    f.combine = tt_cpu_combine_find(code, f.to);
  return f;
}

static tt_error *fold_element(const fold *f, int64_t at, char *to) {
  _Alignas(TT_CPU_ALIGN) char sum[TT_CPU_ALIGN], next[TT_CPU_ALIGN], result[TT_CPU_ALIGN];
  const void *args[] = {sum, next};
  void *results[] = {result};
  tt_cpu_convert(f->from, brought(f->v, 0, f->operand) + at * f->from_bytes, f->to, sum, 1);
  for (int64_t m = 1; m < f->v->count; m++) {
    tt_cpu_convert(f->from, brought(f->v, m, f->operand) + at * f->from_bytes, f->to, next, 1);
    TT_RETURN_IF_ERROR(
        tt_cpu_region_run(f->v->args->run, f->v->args->op->regions[0], args, results));
    memcpy(sum, result, (size_t)f->to_bytes);
  }
  memcpy(to, sum, (size_t)f->to_bytes);
  return NULL;
}

/* to[i] = the fold of element at + i of all members, in the order of the group. */
static tt_error *fold_range(const fold *f, int64_t at, int64_t count, char *to) {
  if (count <= 0)
    return NULL;
  if (f->combine == NULL) {
    for (int64_t i = 0; i < count; i++)
      TT_RETURN_IF_ERROR(fold_element(f, at + i, to + i * f->to_bytes));
    return NULL;
  }
  int64_t offset = at * f->from_bytes;
  memcpy(to, brought(f->v, 0, f->operand) + offset, (size_t)(count * f->to_bytes));
  for (int64_t m = 1; m < f->v->count; m++)
    f->combine(to, 1, brought(f->v, m, f->operand) + offset, 1, count);
  return NULL;
}

/* Each folds one range of the elements, and gives it to all; where some are in other processes,
 * each folds all for itself. */
static tt_error *reduce_share(const visit *v, uint32_t operand) {
  fold f = fold_of(v, operand);
  int64_t count = tt_cpu_count(&v->args->op->results[operand].type);
  bool apart = false;
  for (int64_t m = 0; m < v->count; m++)
    apart = apart || v->posts[m].out == NULL;
  int64_t share = apart ? count : ((count + v->count - 1) / v->count + 15) & ~(int64_t)15;
  int64_t begin = apart ? 0 : share * v->position;
  int64_t end = begin + share < count ? begin + share : count;
  for (; begin < end; begin += BLOCK) {
    int64_t some = end - begin < BLOCK ? end - begin : BLOCK, at = begin * f.to_bytes;
    char *own = (char *)v->args->out[operand] + at;
    TT_RETURN_IF_ERROR(fold_range(&f, begin, some, own));
    for (int64_t m = 0; m < v->count && !apart; m++)
      if (m != v->position)
        memcpy((char *)v->posts[m].out[operand] + at, own, (size_t)(some * f.to_bytes));
  }
  return NULL;
}

static tt_error *reduce_slice(const visit *v) {
  const tt_hlo_op *op = v->args->op;
  fold f = fold_of(v, 0);
  split s = split_at(&op->operands[0]->type, tt_cpu_attr_i64(op, TT_HLO_SCATTER_DIMENSION, 0));
  int64_t block = s.dim / v->count * s.inner;
  for (int64_t o = 0; o < s.outer; o++)
    TT_RETURN_IF_ERROR(fold_range(&f, o * s.dim * s.inner + v->position * block, block,
                                  (char *)v->args->out[0] + o * block * f.to_bytes));
  return NULL;
}

tt_error *tt_cpu_kernel_all_reduce(const tt_cpu_args *args) {
  visit v;
  tt_error *err = NULL;
  TT_RETURN_IF_ERROR(arrive(args, &v));
  for (uint32_t i = 0; i < args->op->operands_count && err == NULL; i++)
    err = reduce_share(&v, i);
  leave(&v);
  return err;
}

tt_error *tt_cpu_kernel_reduce_scatter(const tt_cpu_args *args) {
  visit v;
  TT_RETURN_IF_ERROR(arrive(args, &v));
  tt_error *err = reduce_slice(&v);
  leave(&v);
  return err;
}

/* Which member of the group is the root of each of the values: the first, or the one that the last
 * operand names. All must name the same: who would do its own would read what another has not
 * meant for it. */
static tt_error *check_roots(const visit *v) {
  const tt_hlo_op *op = v->args->op;
  const tt_hlo_attr *dynamic = tt_hlo_op_attr(op, TT_HLO_HAS_DYNAMIC_ROOT);
  if (dynamic == NULL || dynamic->i64 == 0 || v->position < 0)
    return NULL;
  for (uint32_t i = 0; i < op->results_count; i++) { /* collective_broadcast_c6 */
    int64_t root = tt_cpu_load_int(TT_S32, brought(v, 0, op->results_count), i);
    if (root < 0 || root >= v->count)
      return tt_error_new(TT_INVALID_ARGUMENT,
                          "%s: root %u is %lld, and the group has %lld members",
                          tt_hlo_ops[op->code].mnemonic, i, (long long)root, (long long)v->count);
    for (int64_t m = 1; m < v->count; m++) {
      int64_t other = tt_cpu_load_int(TT_S32, brought(v, m, op->results_count), i);
      if (other != root)
        return tt_error_new(TT_INVALID_ARGUMENT,
                            "%s: root %u is %lld for member 0 of the group, and %lld for member "
                            "%lld",
                            tt_hlo_ops[op->code].mnemonic, i, (long long)root, (long long)other,
                            (long long)m);
    }
  }
  return NULL;
}

/* -1 for who is in no group. */
static int64_t root_of(const visit *v, uint32_t result) {
  const tt_hlo_op *op = v->args->op;
  if (v->position < 0)
    return -1;
  return op->operands_count == op->results_count
             ? 0
             : tt_cpu_load_int(TT_S32, v->args->in[op->results_count], result);
}

/* The root gets all, the others and who is in no group get zeros. */
tt_error *tt_cpu_kernel_reduce_to_root(const tt_cpu_args *args) {
  visit v;
  tt_error *err = NULL;
  TT_RETURN_IF_ERROR(arrive(args, &v));
  err = check_roots(&v);
  for (uint32_t i = 0; i < args->op->results_count && err == NULL; i++) {
    fold f = fold_of(&v, i);
    if (v.position >= 0 && v.position == root_of(&v, i))
      err = fold_range(&f, 0, tt_cpu_count(&args->op->results[i].type), args->out[i]);
    else
      fill_zeros(&v, i);
  }
  leave(&v);
  return err;
}

/* ---- moves ---- */

static void gather_operand(const visit *v, uint32_t operand) {
  const tt_hlo_op *op = v->args->op;
  const tt_hlo_type *type = &op->operands[operand]->type;
  split s = split_at(type, tt_cpu_attr_i64(op, TT_HLO_ALL_GATHER_DIM, 0));
  int64_t block = s.dim * s.inner * tt_dtype_bytes(type->dtype);
  char *to = v->args->out[operand];
  for (int64_t o = 0; o < s.outer && block > 0; o++)
    for (int64_t m = 0; m < v->count; m++)
      memcpy(to + (o * v->count + m) * block, brought(v, m, operand) + o * block, (size_t)block);
}

tt_error *tt_cpu_kernel_all_gather(const tt_cpu_args *args) {
  visit v;
  TT_RETURN_IF_ERROR(arrive(args, &v));
  for (uint32_t i = 0; i < args->op->operands_count; i++)
    gather_operand(&v, i);
  leave(&v);
  return NULL;
}

/* A box of elements between two tensors; strides in bytes. */
typedef struct box {
  int32_t rank;
  int64_t dims[TT_HLO_RANK_MAX], to[TT_HLO_RANK_MAX], from[TT_HLO_RANK_MAX];
  size_t bytes; /* of the last axis, where elements are next to each other on both sides */
} box;

static void copy_box(const box *b, int32_t axis, char *to, const char *from) {
  if (axis + 1 >= b->rank) {
    memcpy(to, from, b->bytes);
    return;
  }
  for (int64_t i = 0; i < b->dims[axis]; i++)
    copy_box(b, axis + 1, to + i * b->to[axis], from + i * b->from[axis]);
}

/* Own part `position` of what each member brought, one behind the other. */
static void exchange_operand(const visit *v, uint32_t operand) {
  const tt_hlo_op *op = v->args->op;
  const tt_hlo_type *from = &op->operands[operand]->type, *to = &op->results[operand].type;
  int64_t part = tt_cpu_attr_i64(op, TT_HLO_SPLIT_DIMENSION, 0);
  int64_t join = tt_cpu_attr_i64(op, TT_HLO_CONCAT_DIMENSION, 0);
  int bytes = tt_dtype_bytes(from->dtype);
  box b = {.rank = from->rank};
  if (tt_cpu_bytes(from) == 0)
    return;
  tt_cpu_strides(from, b.from);
  tt_cpu_strides(to, b.to);
  for (int32_t i = 0; i < b.rank; i++) {
    b.dims[i] = from->dims[i] / (i == part ? v->count : 1);
    b.from[i] *= bytes;
    b.to[i] *= bytes;
  }
  b.bytes = (size_t)(b.dims[b.rank - 1] * bytes);
  for (int64_t m = 0; m < v->count; m++)
    copy_box(&b, 0, (char *)v->args->out[operand] + m * b.dims[join] * b.to[join],
             brought(v, m, operand) + v->position * b.dims[part] * b.from[part]);
}

tt_error *tt_cpu_kernel_all_to_all(const tt_cpu_args *args) {
  visit v;
  TT_RETURN_IF_ERROR(arrive(args, &v));
  for (uint32_t i = 0; i < args->op->operands_count; i++)
    exchange_operand(&v, i);
  leave(&v);
  return NULL;
}

/* What member `from` brought; a device that nobody sends to gets zeros. */
static void receive(const visit *v, uint32_t operand, int64_t from) {
  size_t size = (size_t)tt_cpu_bytes(&v->args->op->results[operand].type);
  if (from < 0)
    fill_zeros(v, operand);
  else if (size > 0)
    memcpy(v->args->out[operand], brought(v, from, operand), size);
}

tt_error *tt_cpu_kernel_permute(const tt_cpu_args *args) {
  visit v;
  const tt_cpu_call *call = args->run->call;
  int64_t partitions = tt_cpu_team_partitions(call->team), from = -1;
  TT_RETURN_IF_ERROR(arrive(args, &v));
  int64_t sender =
      tt_cpu_sender_to(args->op, partitions, call->replica * partitions + call->partition);
  for (int64_t m = 0; m < v.count && v.position >= 0; m++)
    from = v.members[m] == sender ? m : from;
  receive(&v, 0, from);
  leave(&v);
  return NULL;
}

/* From the root of the group. */
tt_error *tt_cpu_kernel_broadcast_group(const tt_cpu_args *args) {
  visit v;
  TT_RETURN_IF_ERROR(arrive(args, &v));
  tt_error *err = check_roots(&v);
  for (uint32_t i = 0; i < args->op->results_count && err == NULL; i++)
    receive(&v, i, root_of(&v, i));
  leave(&v);
  return err;
}
