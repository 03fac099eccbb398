/* sort and top_k.
 *
 * A comparator that is known to compare keys (sort_key.h) is not run: keys are sorted with their
 * places, the least significant key first. Any other is run in a merge sort of places. Both are
 * stable. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/sort_key.h"

enum { KEYS_MAX = 8, SLOT = 64 };

/* Lines along the sorted axis: [outer, count, inner]. */
typedef struct sort_job {
  const tt_cpu_args *args;
  int64_t outer, count, inner;
  uint32_t keys_count;
  tt_cpu_sort_key keys[KEYS_MAX];
  tt_cpu_sort_item *items; /* two arrays of `count` for each group */
  int64_t group, lines;    /* group: lines that one pair of arrays serves */
} sort_job;

#define PLACE(T)                      \
  for (int64_t i = 0; i < count; i++) \
    ((T *)out)[i * stride] = ((const T *)in)[items[i].index * stride];

static void place_elements(int bytes, const void *in, void *out, int64_t stride,
                           const tt_cpu_sort_item *items, int64_t count) {
  switch (bytes) {
    case 1:
      PLACE(uint8_t)
      break;
    case 2:
      PLACE(uint16_t)
      break;
    case 4:
      PLACE(uint32_t)
      break;
    case 8:
      PLACE(uint64_t)
      break;
    default:
      for (int64_t i = 0; i < count; i++)
        memcpy((char *)out + i * stride * bytes, (const char *)in + items[i].index * stride * bytes,
               (size_t)bytes);
  }
}

static void place_line(const sort_job *j, int64_t line, const tt_cpu_sort_item *items) {
  const tt_cpu_args *args = j->args;
  int64_t at = line / j->inner * j->count * j->inner + line % j->inner;
  for (uint32_t k = 0; k < args->op->results_count; k++) {
    int bytes = tt_dtype_bytes(args->op->results[k].type.dtype);
    place_elements(bytes, (const char *)args->in[k] + at * bytes, (char *)args->out[k] + at * bytes,
                   j->inner, items, j->count);
  }
}

static void sort_line(const sort_job *j, int64_t line, tt_cpu_sort_item *items) {
  tt_cpu_sort_item *spare = items + j->count;
  int64_t at = line / j->inner * j->count * j->inner + line % j->inner;
  for (int64_t i = 0; i < j->count; i++)
    items[i].index = i;
  for (uint32_t k = j->keys_count; k-- > 0;) {
    uint32_t operand = j->keys[k].operand;
    tt_dtype dtype = j->args->op->operands[operand]->type.dtype;
    tt_cpu_sort_keys(&j->keys[k], dtype,
                     (const char *)j->args->in[operand] + at * tt_dtype_bytes(dtype), j->inner,
                     items, j->count);
    tt_cpu_sort_item *sorted = tt_cpu_sort_items(items, spare, j->count);
    spare = sorted == items ? spare : items;
    items = sorted;
  }
  place_line(j, line, items);
}

static void sort_groups(int64_t begin, int64_t end, void *user) {
  const sort_job *j = user;
  for (int64_t group = begin; group < end; group++)
    for (int64_t i = group * j->group; i < (group + 1) * j->group && i < j->lines; i++)
      sort_line(j, i, j->items + 2 * j->count * group);
}

static int64_t choose_groups(int64_t lines, int64_t *out_group) {
  int64_t most = 4 * (int64_t)tt_cpu_threads();
  *out_group = (lines + most - 1) / most;
  return (lines + *out_group - 1) / *out_group;
}

static tt_error *items_new(const tt_cpu_args *args, int64_t count, tt_cpu_sort_item **out_items) {
  int64_t size = 0;
  bool fits = !__builtin_mul_overflow(count, (int64_t)sizeof **out_items, &size);
  *out_items = fits ? tt_cpu_scratch(args->run, size) : NULL;
  return *out_items == NULL ? tt_cpu_no_scratch(args->op, fits ? size : INT64_MAX) : NULL;
}

static tt_error *sort_keys(const tt_cpu_args *args, sort_job *j) {
  int64_t groups = choose_groups(j->lines, &j->group), count = 0;
  if (__builtin_mul_overflow(2 * groups, j->count, &count))
    return tt_cpu_no_scratch(args->op, INT64_MAX);
  TT_RETURN_IF_ERROR(items_new(args, count, &j->items));
  tt_cpu_parallel(groups, 30.0 * (double)j->count * (double)j->group, sort_groups, j);
  return NULL;
}

/* ---- any comparator ---- */

typedef struct comparison {
  const sort_job *j;
  char *slots;       /* a slot for each argument, aligned as values are */
  const void **args; /* the slots */
  int64_t at;        /* of the line, in elements */
} comparison;

/* Whether element b comes before element a. */
static tt_error *comes_before(const comparison *c, int64_t b, int64_t a, bool *out) {
  const tt_cpu_args *args = c->j->args;
  _Alignas(SLOT) uint8_t result[SLOT] = {0};
  void *result_at = result;
  for (uint32_t k = 0; k < args->op->operands_count; k++) {
    int bytes = tt_dtype_bytes(args->op->operands[k]->type.dtype);
    const char *data = (const char *)args->in[k] + c->at * bytes;
    memcpy(c->slots + 2 * k * SLOT, data + b * c->j->inner * bytes, (size_t)bytes);
    memcpy(c->slots + (2 * k + 1) * SLOT, data + a * c->j->inner * bytes, (size_t)bytes);
  }
  TT_RETURN_IF_ERROR(tt_cpu_region_run(args->run, args->op->regions[0], c->args, &result_at));
  *out = result[0] != 0;
  return NULL;
}

static tt_error *merge_places(const comparison *c, const tt_cpu_sort_item *from,
                              tt_cpu_sort_item *to, int64_t left, int64_t count) {
  int64_t a = 0, b = left;
  for (int64_t i = 0; i < count; i++) {
    bool second = a == left;
    if (a < left && b < count)
      TT_RETURN_IF_ERROR(comes_before(c, from[b].index, from[a].index, &second));
    to[i] = second ? from[b++] : from[a++];
  }
  return NULL;
}

static tt_error *sort_places(const comparison *c, tt_cpu_sort_item *items, tt_cpu_sort_item *spare,
                             tt_cpu_sort_item **out_sorted) {
  int64_t count = c->j->count;
  for (int64_t i = 0; i < count; i++)
    items[i] = (tt_cpu_sort_item){0, i};
  for (int64_t run = 1; run < count; run *= 2) {
    for (int64_t i = 0; i < count; i += 2 * run) {
      int64_t both = count - i < 2 * run ? count - i : 2 * run;
      TT_RETURN_IF_ERROR(merge_places(c, items + i, spare + i, both < run ? both : run, both));
    }
    tt_cpu_sort_item *swap = items;
    items = spare;
    spare = swap;
  }
  *out_sorted = items;
  return NULL;
}

static tt_error *sort_by_region(const tt_cpu_args *args, const sort_job *j) {
  int64_t n = args->op->operands_count;
  comparison c = {.j = j,
                  .slots = tt_cpu_scratch(args->run, 2 * n * SLOT),
                  .args = tt_cpu_scratch(args->run, 2 * n * (int64_t)sizeof(void *))};
  tt_cpu_sort_item *items = NULL, *sorted = NULL;
  if (c.slots == NULL || c.args == NULL)
    return tt_cpu_no_scratch(args->op, 2 * n * SLOT);
  TT_RETURN_IF_ERROR(items_new(args, 2 * j->count, &items));
  for (int64_t k = 0; k < 2 * n; k++)
    c.args[k] = c.slots + k * SLOT;
  for (int64_t line = 0; line < j->lines; line++) {
    c.at = line / j->inner * j->count * j->inner + line % j->inner;
    TT_RETURN_IF_ERROR(sort_places(&c, items, items + j->count, &sorted));
    place_line(j, line, sorted);
  }
  return NULL;
}

tt_error *tt_cpu_kernel_sort(const tt_cpu_args *args) {
  const tt_hlo_type *type = &args->op->operands[0]->type;
  int64_t axis = tt_cpu_attr_i64(args->op, TT_HLO_DIMENSION, -1);
  sort_job j = {.args = args, .outer = 1, .inner = 1};
  if (tt_cpu_count(type) == 0)
    return NULL;
  axis += axis < 0 ? type->rank : 0;
  j.count = type->dims[axis];
  for (int32_t i = 0; i < type->rank; i++)
    if (i != axis)
      *(i < axis ? &j.outer : &j.inner) *= type->dims[i];
  j.lines = j.outer * j.inner;
  j.keys_count = tt_cpu_sort_read(args->op->regions[0], j.keys, KEYS_MAX);
  return j.keys_count > 0 ? sort_keys(args, &j) : sort_by_region(args, &j);
}

/* ---- top_k ---- */

typedef struct top_job {
  const tt_cpu_args *args;
  tt_dtype dtype;
  int64_t count, k, lines, group, room;
  tt_cpu_sort_item *items;
} top_job;

/* Items come in the order of their places: an equal key later is not better. */
static void sift_down(tt_cpu_sort_item *heap, int64_t count, int64_t at) {
  for (;;) {
    int64_t worst = at;
    for (int64_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
      if (heap[child].key > heap[worst].key ||
          (heap[child].key == heap[worst].key && heap[child].index > heap[worst].index))
        worst = child;
    if (worst == at)
      return;
    tt_cpu_sort_item swap = heap[at];
    heap[at] = heap[worst];
    heap[worst] = swap;
    at = worst;
  }
}

static void restore_places(tt_cpu_sort_item *items, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    tt_cpu_sort_item item = items[i];
    int64_t k = i;
    for (; k > 0 && items[k - 1].index > item.index; k--)
      items[k] = items[k - 1];
    items[k] = item;
  }
}

/* Leaves the k least keys in items[0, k), in the order of their places. */
static void keep_least(tt_cpu_sort_item *items, int64_t count, int64_t k) {
  for (int64_t i = k / 2; i-- > 0;)
    sift_down(items, k, i);
  for (int64_t i = k; i < count; i++)
    if (items[i].key < items[0].key) {
      items[0] = items[i];
      sift_down(items, k, 0);
    }
  restore_places(items, k);
}

static void top_line(const top_job *j, int64_t line, tt_cpu_sort_item *items) {
  const tt_cpu_args *args = j->args;
  int64_t count = j->count, bytes = tt_dtype_bytes(j->dtype);
  tt_cpu_sort_key key = {.descending = true};
  const char *in = (const char *)args->in[0] + line * count * bytes;
  for (int64_t i = 0; i < count; i++)
    items[i].index = i;
  tt_cpu_sort_keys(&key, j->dtype, in, 1, items, count);
  if (j->k <= 128 && j->k < count) {
    keep_least(items, count, j->k);
    count = j->k;
  }
  items = tt_cpu_sort_items(items, items + j->count, count);
  place_elements((int)bytes, in, (char *)args->out[0] + line * j->k * bytes, 1, items, j->k);
  for (int64_t i = 0; i < j->k; i++)
    ((int32_t *)args->out[1])[line * j->k + i] = (int32_t)items[i].index;
}

static void top_groups(int64_t begin, int64_t end, void *user) {
  const top_job *j = user;
  for (int64_t group = begin; group < end; group++)
    for (int64_t i = group * j->group; i < (group + 1) * j->group && i < j->lines; i++)
      top_line(j, i, j->items + group * 2 * j->count);
}

/* Largest first in total order; of equals the first. */
tt_error *tt_cpu_kernel_top_k(const tt_cpu_args *args) {
  const tt_hlo_type *type = &args->op->operands[0]->type;
  top_job j = {.args = args,
               .dtype = type->dtype,
               .count = type->dims[type->rank - 1],
               .k = tt_cpu_attr_i64(args->op, TT_HLO_K, 0)};
  int64_t count = 0;
  if (tt_cpu_count(&args->op->results[0].type) == 0)
    return NULL;
  j.lines = tt_cpu_count(type) / j.count;
  int64_t groups = choose_groups(j.lines, &j.group);
  if (__builtin_mul_overflow(2 * groups, j.count, &count))
    return tt_cpu_no_scratch(args->op, INT64_MAX);
  TT_RETURN_IF_ERROR(items_new(args, count, &j.items));
  tt_cpu_parallel(groups, 5.0 * (double)j.count * (double)j.group, top_groups, &j);
  return NULL;
}
