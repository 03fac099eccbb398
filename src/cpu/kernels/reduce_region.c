/* reduce with any region.
 *
 * A region of elementwise ops is one tile program of one element; here it runs on many elements at
 * once. Columns are reduced side by side, row after row. A row alone is cut into segments that are
 * reduced side by side, and their results pairwise, neighbour with neighbour: so the order of the
 * elements is kept, as the specification asks. Other regions run element by element. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/reduce.h"
#include "cpu/plan_internal.h"

enum { LANES = 256, VALUES_MAX = 8, SLOTS_MAX = 64, ELEMENT = 16 };

/* ---- element by element ---- */

static tt_error *reduce_one(const tt_cpu_args *args, const tt_cpu_reduce_shape *s,
                            const void *const *data, int64_t o, int64_t i, char *now, char *next,
                            char *element, const void **in, void **out) {
  const tt_hlo_op *op = args->op;
  uint32_t n = op->results_count;
  for (uint32_t k = 0; k < n; k++)
    tt_cpu_convert(op->operands[n + k]->type.dtype, args->in[n + k], op->results[k].type.dtype,
                   now + k * TT_CPU_ALIGN, 1);
  for (int64_t m = 0; m < s->middle; m++) {
    for (uint32_t k = 0; k < n; k++) {
      tt_dtype from = op->operands[k]->type.dtype;
      const char *at =
          (const char *)data[k] + ((o * s->middle + m) * s->inner + i) * tt_dtype_bytes(from);
      tt_cpu_convert(from, at, op->results[k].type.dtype, element + k * TT_CPU_ALIGN, 1);
      in[k] = now + k * TT_CPU_ALIGN;
      in[n + k] = element + k * TT_CPU_ALIGN;
      out[k] = next + k * TT_CPU_ALIGN;
    }
    TT_RETURN_IF_ERROR(tt_cpu_region_run(args->run, op->regions[0], in, out));
    char *swap = now;
    now = next;
    next = swap;
  }
  for (uint32_t k = 0; k < n; k++) {
    int64_t bytes = tt_dtype_bytes(op->results[k].type.dtype);
    memcpy((char *)args->out[k] + (o * s->inner + i) * bytes, now + k * TT_CPU_ALIGN,
           (size_t)bytes);
  }
  return NULL;
}

static tt_error *reduce_slowly(const tt_cpu_args *args, const tt_cpu_reduce_shape *s,
                               const void *const *data) {
  int64_t n = args->op->results_count, size = n * TT_CPU_ALIGN;
  char *buffers = tt_cpu_scratch(args->run, 3 * size);
  const void **in = tt_cpu_scratch(args->run, 2 * n * (int64_t)sizeof(void *));
  void **out = tt_cpu_scratch(args->run, n * (int64_t)sizeof(void *));
  if (buffers == NULL || in == NULL || out == NULL)
    return tt_cpu_no_scratch(args->op, 3 * size);
  for (int64_t o = 0; o < s->outer; o++)
    for (int64_t i = 0; i < s->inner; i++)
      TT_RETURN_IF_ERROR(
          reduce_one(args, s, data, o, i, buffers, buffers + size, buffers + 2 * size, in, out));
  return NULL;
}

/* ---- many elements at once ---- */

/* A tile program's slots: arguments come from `now` and `element`, results go to `next`. */
typedef struct lanes {
  const tt_cpu_tile *tile;
  const tt_hlo_op *op;
  const tt_cpu_reduce_shape *shape;
  const void *const *data;
  void *const *out;
  const void *inits[VALUES_MAX];
  uint32_t n;
  int bytes[VALUES_MAX];
  /* For each input of the program: the argument that it is, or -1 and its address. */
  int32_t arg[SLOTS_MAX];
  const void *fixed[SLOTS_MAX];
  /* For each result: the output of the program, or -1 - the argument that it is. */
  int32_t made[VALUES_MAX];
} lanes;

typedef struct lane_buffers {
  char *now[VALUES_MAX], *next[VALUES_MAX], *element[VALUES_MAX];
  char *slots[SLOTS_MAX];
} lane_buffers;

/* The tile program that the region is; false when it is more than one. */
static bool read_region(const tt_cpu_args *args, lanes *l) {
  const tt_cpu_run *run = args->run;
  const tt_cpu_block *block = &run->step->blocks[0];
  const tt_cpu_step *step = block->first;
  if (step == NULL || step != block->last || step->tile == NULL || step->tile->slots > SLOTS_MAX ||
      step->tile->instructions_count == 0)
    return false;
  l->tile = step->tile;
  for (uint32_t i = 0; i < step->ins; i++) {
    tt_cpu_ref ref = step->refs[i];
    bool is_arg = ref.base >= block->args && ref.base < block->args + 2 * l->n;
    l->arg[i] = is_arg ? (int32_t)(ref.base - block->args) : -1;
    l->fixed[i] = is_arg ? NULL : tt_cpu_ref_address(run, ref);
  }
  for (uint32_t k = 0; k < l->n; k++) {
    tt_cpu_ref ref = block->returns[k].ref;
    bool found = false;
    if (ref.base >= block->args && ref.base < block->args + 2 * l->n) {
      l->made[k] = -1 - (int32_t)(ref.base - block->args);
      found = true;
    }
    for (uint32_t i = 0; i < step->outs && !found; i++)
      if (step->refs[step->ins + i].base == ref.base &&
          step->refs[step->ins + i].offset == ref.offset) {
        l->made[k] = (int32_t)i;
        found = true;
      }
    if (!found)
      return false;
  }
  return true;
}

static bool begin_lanes(const tt_cpu_args *args, lanes *l) {
  const tt_hlo_op *op = args->op;
  if (l->n > VALUES_MAX)
    return false;
  for (uint32_t k = 0; k < l->n; k++) {
    if (op->operands[k]->type.dtype != op->results[k].type.dtype)
      return false;
    l->bytes[k] = tt_dtype_bytes(op->results[k].type.dtype);
    l->inits[k] = args->in[l->n + k];
  }
  return read_region(args, l);
}

/* Lays the buffers out in `memory`; inputs that are no arguments are written out once. */
static void open_buffers(const lanes *l, char *memory, lane_buffers *b) {
  int64_t each = LANES * ELEMENT;
  for (uint32_t k = 0; k < l->n; k++) {
    b->now[k] = memory + 3 * k * each;
    b->next[k] = b->now[k] + each;
    b->element[k] = b->next[k] + each;
  }
  memory += 3 * l->n * each;
  for (uint32_t i = 0; i < l->tile->slots; i++, memory += each) {
    b->slots[i] = memory;
    if (i < l->tile->ins && l->arg[i] < 0)
      tt_cpu_fill(memory, l->fixed[i], LANES, l->tile->in[i].bytes);
  }
}

static int64_t buffers_size(const lanes *l) {
  return (int64_t)(3 * l->n + l->tile->slots) * LANES * ELEMENT;
}

/* now = region(now, element), side by side. */
static void step_lanes(const lanes *l, lane_buffers *b, int64_t count) {
  const tt_cpu_tile *tile = l->tile;
  char *slots[SLOTS_MAX];
  memcpy(slots, b->slots, sizeof slots);
  for (uint32_t i = 0; i < tile->ins; i++)
    if (l->arg[i] >= 0)
      slots[i] =
          (uint32_t)l->arg[i] < l->n ? b->now[l->arg[i]] : b->element[l->arg[i] - (int32_t)l->n];
  for (uint32_t i = 0; i < tile->instructions_count; i++) {
    const tt_cpu_instruction *at = &tile->instructions[i];
    tt_cpu_loop_args args = {
        count, slots[at->out], {slots[at->in[0]], slots[at->in[1]], slots[at->in[2]]}, at->op};
    at->loop(&args);
  }
  for (uint32_t k = 0; k < l->n; k++) {
    const char *from = slots[tile->ins + (uint32_t)(l->made[k] < 0 ? 0 : l->made[k])];
    if (l->made[k] < 0) {
      uint32_t arg = (uint32_t)(-1 - l->made[k]);
      from = arg < l->n ? b->now[arg] : b->element[arg - l->n];
    }
    memcpy(b->next[k], from, (size_t)(count * l->bytes[k]));
  }
  for (uint32_t k = 0; k < l->n; k++) {
    char *swap = b->now[k];
    b->now[k] = b->next[k];
    b->next[k] = swap;
  }
}

/* to[i] = from[i * stride]. */
#define TAKE(T)                                     \
  do {                                              \
    const T *from_ = (const T *)(const void *)from; \
    T *to_ = (T *)(void *)to;                       \
    for (int64_t i = 0; i < count; i++)             \
      to_[i] = from_[i * stride];                   \
  } while (0)
static void take_lanes(char *to, const char *from, int64_t stride, int64_t count, int bytes) {
  if (stride == 1)
    memcpy(to, from, (size_t)(count * bytes));
  else if (bytes == 4)
    TAKE(uint32_t);
  else if (bytes == 8)
    TAKE(uint64_t);
  else
    for (int64_t i = 0; i < count; i++)
      memcpy(to + i * bytes, from + i * stride * bytes, (size_t)bytes);
}

/* Neighbours are joined until one is left. An odd one out waits at the end. */
static void fold_lanes(const lanes *l, lane_buffers *b, int64_t count) {
  while (count > 1) {
    int64_t half = count / 2;
    for (uint32_t k = 0; k < l->n; k++) {
      take_lanes(b->next[k], b->now[k], 2, half, l->bytes[k]);
      take_lanes(b->element[k], b->now[k] + l->bytes[k], 2, half, l->bytes[k]);
      if (count % 2 != 0) /* after what the step will write */
        memcpy(b->next[k] + (LANES - 1) * ELEMENT, b->now[k] + (count - 1) * l->bytes[k],
               (size_t)l->bytes[k]);
      char *swap = b->now[k];
      b->now[k] = b->next[k];
      b->next[k] = swap;
    }
    step_lanes(l, b, half);
    /* The step has swapped: what waits is in `next`. */
    for (uint32_t k = 0; k < l->n && count % 2 != 0; k++)
      memcpy(b->now[k] + half * l->bytes[k], b->next[k] + (LANES - 1) * ELEMENT,
             (size_t)l->bytes[k]);
    count = half + count % 2;
  }
}

/* now[0] = the elements [first, first + segments * each) of row `o`, in `segments` segments. */
static void reduce_segments(const lanes *l, lane_buffers *b, int64_t o, int64_t first,
                            int64_t segments, int64_t each) {
  for (int64_t m = 0; m < each; m++) {
    for (uint32_t k = 0; k < l->n; k++) {
      const char *from =
          (const char *)l->data[k] + (o * l->shape->middle + first + m) * l->bytes[k];
      take_lanes(m == 0 ? b->now[k] : b->element[k], from, each, segments, l->bytes[k]);
    }
    if (m > 0)
      step_lanes(l, b, segments);
  }
  fold_lanes(l, b, segments);
}

/* now = region(before, now) for one element. */
static void prepend(const lanes *l, lane_buffers *b, const char *const *before) {
  for (uint32_t k = 0; k < l->n; k++) {
    memcpy(b->element[k], b->now[k], (size_t)l->bytes[k]);
    memcpy(b->now[k], before[k], (size_t)l->bytes[k]);
  }
  step_lanes(l, b, 1);
}

static void reduce_row(const lanes *l, lane_buffers *b, int64_t o) {
  int64_t middle = l->shape->middle;
  int64_t segments = middle < LANES ? middle : LANES, each = middle / segments;
  int64_t rest = middle - segments * each;
  char kept[VALUES_MAX][ELEMENT];
  const char *before[VALUES_MAX];
  reduce_segments(l, b, o, 0, segments, each);
  for (uint32_t k = 0; k < l->n; k++)
    before[k] = memcpy(kept[k], b->now[k], (size_t)l->bytes[k]);
  if (rest > 0) {
    reduce_segments(l, b, o, segments * each, rest, 1);
    prepend(l, b, before);
  }
  for (uint32_t k = 0; k < l->n; k++)
    before[k] = l->inits[k];
  prepend(l, b, before);
  for (uint32_t k = 0; k < l->n; k++)
    memcpy((char *)l->out[k] + o * l->bytes[k], b->now[k], (size_t)l->bytes[k]);
}

static void reduce_strip(const lanes *l, lane_buffers *b, int64_t o, int64_t first, int64_t count) {
  const tt_cpu_reduce_shape *s = l->shape;
  for (uint32_t k = 0; k < l->n; k++)
    tt_cpu_fill(b->now[k], l->inits[k], count, l->bytes[k]);
  for (int64_t m = 0; m < s->middle; m++) {
    for (uint32_t k = 0; k < l->n; k++)
      memcpy(b->element[k],
             (const char *)l->data[k] + ((o * s->middle + m) * s->inner + first) * l->bytes[k],
             (size_t)(count * l->bytes[k]));
    step_lanes(l, b, count);
  }
  for (uint32_t k = 0; k < l->n; k++)
    memcpy((char *)l->out[k] + (o * s->inner + first) * l->bytes[k], b->now[k],
           (size_t)(count * l->bytes[k]));
}

tt_error *tt_cpu_reduce_region(const tt_cpu_args *args, const tt_cpu_reduce_shape *shape,
                               const void *const *data) {
  lanes l = {
      .op = args->op, .shape = shape, .data = data, .out = args->out, .n = args->op->results_count};
  lane_buffers b;
  if (!begin_lanes(args, &l))
    return reduce_slowly(args, shape, data);
  char *memory = tt_cpu_scratch(args->run, buffers_size(&l));
  if (memory == NULL)
    return tt_cpu_no_scratch(args->op, buffers_size(&l));
  open_buffers(&l, memory, &b);
  for (int64_t o = 0; o < shape->outer; o++) {
    if (shape->inner == 1)
      reduce_row(&l, &b, o);
    for (int64_t i = 0; shape->inner > 1 && i < shape->inner; i += LANES)
      reduce_strip(&l, &b, o, i, shape->inner - i < LANES ? shape->inner - i : LANES);
  }
  return NULL;
}
