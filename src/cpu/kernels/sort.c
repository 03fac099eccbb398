/* sort and top_k.
 *
 * A comparator that is known to compare keys (sort_key.h) is not run: keys are sorted with their
 * places, the least significant key first. Any other is run in a merge sort of places. Both are
 * stable. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/by_size.h"
#include "cpu/kernels/sort_key.h"

enum { KEYS_MAX = 8, SLOT = 64 };

/* Lines along the sorted axis: [outer, count, inner]. */
typedef struct sort_job {
  const tt_cpu_args *args;
  int64_t outer, count, inner;
  uint32_t keys_count;
  tt_cpu_sort_key keys[KEYS_MAX];
  bool narrow;
  tt_cpu_sort_item *items; /* two arrays of `count` for each group; narrow ones where `narrow` */
  int64_t group, lines;    /* group: lines that one pair of arrays serves */
} sort_job;

#define PLACE(T, ITEMS)                 \
  for (int64_t i = begin; i < end; i++) \
  ((T *)out)[i * stride] = ((const T *)in)[(int64_t)(ITEMS)[i].index * stride]

#define PLACE_NARROW(T) PLACE(T, (const tt_cpu_sort_narrow *)items)
#define PLACE_WIDE(T) PLACE(T, (const tt_cpu_sort_item *)items)

/* The elements of places [begin, end) of a line. */
static void place_elements(int bytes, const void *in, void *out, int64_t stride, const void *items,
                           bool narrow, int64_t begin, int64_t end) {
  if (narrow)
    TT_CPU_BY_SIZE(bytes, PLACE_NARROW)
  else
    TT_CPU_BY_SIZE(bytes, PLACE_WIDE)
}

static int64_t line_at(const sort_job *j, int64_t line) {
  return line / j->inner * j->count * j->inner + line % j->inner;
}

static void place_part(const sort_job *j, int64_t line, const void *items, int64_t begin,
                       int64_t end) {
  const tt_cpu_args *args = j->args;
  int64_t at = line_at(j, line);
  for (uint32_t k = 0; k < args->op->results_count; k++) {
    int bytes = tt_dtype_bytes(args->op->results[k].type.dtype);
    place_elements(bytes, (const char *)args->in[k] + at * bytes, (char *)args->out[k] + at * bytes,
                   j->inner, items, j->narrow, begin, end);
  }
}

/* The elements that a key is made of. */
static const void *key_data(const sort_job *j, uint32_t k, int64_t line, tt_dtype *out_dtype) {
  uint32_t operand = j->keys[k].operand;
  *out_dtype = j->args->op->operands[operand]->type.dtype;
  return (const char *)j->args->in[operand] + line_at(j, line) * tt_dtype_bytes(*out_dtype);
}

static void sort_narrow(const sort_job *j, int64_t line, tt_cpu_sort_narrow *items) {
  tt_dtype dtype = TT_F32;
  const void *data = key_data(j, 0, line, &dtype);
  for (int64_t i = 0; i < j->count; i++)
    items[i].index = (uint32_t)i;
  tt_cpu_sort_keys_narrow(&j->keys[0], dtype, data, j->inner, items, j->count);
  place_part(j, line, tt_cpu_sort_items_narrow(items, items + j->count, j->count), 0, j->count);
}

static void sort_line(const sort_job *j, int64_t line, tt_cpu_sort_item *items) {
  tt_cpu_sort_item *spare = items + j->count;
  for (int64_t i = 0; i < j->count; i++)
    items[i].index = (uint64_t)i;
  for (uint32_t k = j->keys_count; k-- > 0;) {
    tt_dtype dtype = TT_F32;
    const void *data = key_data(j, k, line, &dtype);
    tt_cpu_sort_keys(&j->keys[k], dtype, data, j->inner, items, j->count);
    tt_cpu_sort_item *sorted = tt_cpu_sort_items(items, spare, j->count);
    spare = sorted == items ? spare : items;
    items = sorted;
  }
  place_part(j, line, items, 0, j->count);
}

static void sort_groups(int64_t begin, int64_t end, void *user) {
  const sort_job *j = user;
  for (int64_t group = begin; group < end; group++)
    for (int64_t i = group * j->group; i < (group + 1) * j->group && i < j->lines; i++)
      if (j->narrow)
        sort_narrow(j, i, (tt_cpu_sort_narrow *)j->items + 2 * j->count * group);
      else
        sort_line(j, i, j->items + 2 * j->count * group);
}

/* ---- few long lines: all threads on each ---- */

enum { LONG = 1 << 15 };

typedef struct place_job {
  const sort_job *j;
  int64_t line;
  const void *items;
} place_job;

static void place_parts(int64_t begin, int64_t end, void *user) {
  const place_job *p = user;
  place_part(p->j, p->line, p->items, begin, end);
}

static void sort_long(const sort_job *j) {
  for (int64_t line = 0; line < j->lines; line++) {
    tt_dtype dtype = TT_F32;
    const void *data = key_data(j, 0, line, &dtype);
    tt_cpu_sort_narrow *narrow = (tt_cpu_sort_narrow *)j->items;
    place_job p = {j, line, NULL};
    if (j->narrow)
      p.items = tt_cpu_sort_long_narrow(&j->keys[0], dtype, data, j->inner, narrow,
                                        narrow + j->count, j->count);
    else
      p.items = tt_cpu_sort_long(&j->keys[0], dtype, data, j->inner, j->items, j->items + j->count,
                                 j->count);
    tt_cpu_parallel(j->count, 3.0 * j->args->op->results_count, place_parts, &p);
  }
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
  bool is_long = j->lines < tt_cpu_threads() && j->count >= LONG && j->keys_count == 1;
  groups = is_long ? 1 : groups;
  j->narrow =
      j->keys_count == 1 &&
      tt_cpu_sort_narrow_takes(args->op->operands[j->keys[0].operand]->type.dtype, j->count);
  if (__builtin_mul_overflow(2 * groups, j->count, &count))
    return tt_cpu_no_scratch(args->op, INT64_MAX);
  TT_RETURN_IF_ERROR(items_new(args, j->narrow ? (count + 1) / 2 : count, &j->items));
  if (is_long)
    sort_long(j);
  else
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
      TT_RETURN_IF_ERROR(comes_before(c, (int64_t)from[b].index, (int64_t)from[a].index, &second));
    to[i] = second ? from[b++] : from[a++];
  }
  return NULL;
}

static tt_error *sort_places(const comparison *c, tt_cpu_sort_item *items, tt_cpu_sort_item *spare,
                             tt_cpu_sort_item **out_sorted) {
  int64_t count = c->j->count;
  for (int64_t i = 0; i < count; i++)
    items[i] = (tt_cpu_sort_item){0, (uint64_t)i};
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
    place_part(j, line, sorted, 0, j->count);
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

static void read_items(const top_job *j, const char *line, int64_t first, int64_t count,
                       tt_cpu_sort_item *items) {
  tt_cpu_sort_key key = {.descending = true};
  for (int64_t i = 0; i < count; i++)
    items[i].index = (uint64_t)(first + i);
  tt_cpu_sort_keys(&key, j->dtype, line, 1, items, count);
}

/* Leaves the k least keys in items[0, k), in the order of their places. Chunks stay in L1. */
static void keep_least(const top_job *j, const char *line, tt_cpu_sort_item *items) {
  enum { CHUNK = 256 };
  tt_cpu_sort_item chunk[CHUNK];
  read_items(j, line, 0, j->k, items);
  for (int64_t i = j->k / 2; i-- > 0;)
    sift_down(items, j->k, i);
  for (int64_t first = j->k; first < j->count; first += CHUNK) {
    int64_t count = j->count - first < CHUNK ? j->count - first : CHUNK;
    read_items(j, line, first, count, chunk);
    for (int64_t i = 0; i < count; i++)
      if (chunk[i].key < items[0].key) {
        items[0] = chunk[i];
        sift_down(items, j->k, 0);
      }
  }
  restore_places(items, j->k);
}

static void top_line(const top_job *j, int64_t line, tt_cpu_sort_item *items) {
  const tt_cpu_args *args = j->args;
  int64_t count = j->count, bytes = tt_dtype_bytes(j->dtype);
  const char *in = (const char *)args->in[0] + line * count * bytes;
  if (j->k <= 128 && j->k < count) {
    keep_least(j, in, items);
    count = j->k;
  } else {
    read_items(j, in, 0, count, items);
  }
  items = tt_cpu_sort_items(items, items + j->count, count);
  place_elements((int)bytes, in, (char *)args->out[0] + line * j->k * bytes, 1, items, false, 0,
                 j->k);
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
