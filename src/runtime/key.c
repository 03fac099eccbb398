#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

/* A key is a string of 64-bit words. Each part begins with a header word whose low byte is its
 * kind, so that no two different calls give the same words. */
enum { PROMOTED = 1 << 16 }; /* bit of a scalar's header */

static bool grow(void **items, size_t *capacity, size_t needed, size_t size) {
  size_t wanted = *capacity != 0 ? *capacity : 64;
  void *more;
  while (wanted < needed)
    wanted *= 2;
  more = realloc(*items, wanted * size);
  if (more == NULL)
    return false;
  *items = more;
  *capacity = wanted;
  return true;
}

static inline uint64_t *add_words(tt_rt_shape *shape, size_t count) {
  if (TT_UNLIKELY(shape->words_count + count > shape->words_capacity) &&
      !grow((void **)&shape->words, &shape->words_capacity, shape->words_count + count,
            sizeof *shape->words)) {
    shape->failed = true;
    return NULL;
  }
  shape->words_count += count;
  return shape->words + shape->words_count - count;
}

static inline void add_word(tt_rt_shape *shape, uint64_t word) {
  uint64_t *at = add_words(shape, 1);
  if (at != NULL)
    *at = word;
}

uint32_t tt_rt_shape_index(const tt_rt_shape *shape, const tt_rt_storage *storage) {
  uint32_t i = 0;
  while (i + 1 < shape->storages_count && shape->storages[i] != storage)
    i++;
  return i;
}

static uint32_t index_of(tt_rt *rt, tt_rt_shape *shape, tt_rt_storage *storage) {
  if (storage->mark == rt->serial)
    return storage->mark_index;
  if (shape->storages_count == shape->storages_capacity &&
      !grow((void **)&shape->storages, &shape->storages_capacity, shape->storages_count + 1,
            sizeof *shape->storages)) {
    shape->failed = true;
    return 0;
  }
  storage->mark = rt->serial;
  storage->mark_index = (uint32_t)shape->storages_count;
  shape->storages[shape->storages_count++] = storage;
  return storage->mark_index;
}

/* The view is the buffer as it is: same dtype and dims, row-major. */
static bool is_plain(const tt_rt_tensor *t) {
  const tt_rt_storage *s = t->storage;
  int64_t stride = 1;
  if (s->buffer == NULL || s->dtype != t->dtype || s->rank != t->rank || t->offset != 0)
    return false;
  for (int i = t->rank - 1; i >= 0; i--) {
    if (s->dims[i] != t->sizes[i] || (t->sizes[i] != 1 && t->strides[i] != stride))
      return false;
    stride *= t->sizes[i];
  }
  return true;
}

static void add_slot(tt_rt_shape *shape, const tt_rt_arg *arg, const tt_rt_tensor *tensor,
                     bool listed) {
  tt_rt_slot *slot;
  if (shape->slots_count == shape->slots_capacity &&
      !grow((void **)&shape->slots, &shape->slots_capacity, shape->slots_count + 1,
            sizeof *shape->slots)) {
    shape->failed = true;
    return;
  }
  slot = &shape->slots[shape->slots_count++];
  slot->arg = arg;
  slot->tensor = tensor;
  slot->listed = listed;
  slot->word = (uint32_t)shape->words_count;
}

static void add_tensor(tt_rt *rt, tt_rt_shape *shape, const tt_rt_tensor *t, uint64_t kind) {
  const tt_rt_storage *s = t->storage;
  uint64_t index = index_of(rt, shape, t->storage);
  size_t rank = (size_t)t->rank, base_rank = s->buffer != NULL ? (size_t)s->rank : 0;
  bool plain = is_plain(t);
  uint64_t *at;
  if (!plain) { /* the offset stands first, as a scalar's value does */
    add_slot(shape, NULL, t, false);
    at = add_words(shape, 3);
    if (TT_UNLIKELY(at == NULL))
      return;
    at[0] = kind | 0x40;
    at[1] = (uint64_t)t->offset;
    at[2] = 0;
  }
  at = add_words(shape, plain ? 1 + rank : 2 + 2 * rank + base_rank);
  if (TT_UNLIKELY(at == NULL))
    return;
  *at++ =
      kind | (uint64_t)t->dtype << 8 | (uint64_t)plain << 16 | (uint64_t)rank << 24 | index << 32;
  memcpy(at, t->sizes, rank * sizeof *at);
  if (plain)
    return;
  at += rank;
  memcpy(at, t->strides, rank * sizeof *at);
  at += rank;
  /* the size counts where a write may cover the storage, and where there is no buffer */
  *at++ = (s->buffer != NULL ? (uint64_t)s->dtype + 1 : 0) | (uint64_t)base_rank << 8 |
          (uint64_t)s->size << 16;
  memcpy(at, s->dims, base_rank * sizeof *at);
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void add_scalar(tt_rt_shape *shape, const tt_rt_arg *arg, bool listed) {
  uint64_t *at;
  bool integer = tt_dtype_is_integer(arg->dtype);
  if (!arg->fixed && !tt_dtype_is_complex(arg->dtype) && arg->dtype != TT_PRED)
    add_slot(shape, arg, NULL, listed);
  at = add_words(shape, 3);
  if (TT_UNLIKELY(at == NULL))
    return;
  at[0] = (uint64_t)arg->kind | (uint64_t)arg->dtype << 8 | (uint64_t)arg->wrapped << 17;
  at[1] = integer ? (uint64_t)arg->i : bits_of(arg->real);
  at[2] = tt_dtype_is_complex(arg->dtype) ? bits_of(arg->imag) : 0;
}

static void add_string(tt_rt_shape *shape, const char *string) {
  size_t size = strlen(string), words = (size + 7) / 8;
  uint64_t *at = add_words(shape, 1 + words);
  if (at == NULL)
    return;
  *at++ = TT_RT_STRING | (uint64_t)size << 8;
  memset(at, 0, words * sizeof *at);
  memcpy(at, string, size);
}

bool tt_rt_list_repeats(const tt_rt_arg *list) {
  const tt_rt_arg *first = list->items;
  if (list->count < 2 || first->kind != TT_RT_SCALAR || first->fixed)
    return false;
  for (size_t i = 1; i < list->count; i++) {
    const tt_rt_arg *item = &list->items[i];
    if (item->kind != TT_RT_SCALAR || item->fixed || item->dtype != first->dtype ||
        item->i != first->i || bits_of(item->real) != bits_of(first->real) ||
        bits_of(item->imag) != bits_of(first->imag))
      return false;
  }
  return true;
}

static void add_arg(tt_rt *rt, tt_rt_shape *shape, const tt_rt_arg *arg, bool listed);

static void add_list(tt_rt *rt, tt_rt_shape *shape, const tt_rt_arg *list) {
  bool repeats = tt_rt_list_repeats(list);
  add_word(shape, TT_RT_LIST | (uint64_t)repeats << 8 | (uint64_t)list->count << 16);
  for (size_t i = 0; i < (repeats ? 1 : list->count); i++)
    add_arg(rt, shape, &list->items[i], true);
}

static void add_arg(tt_rt *rt, tt_rt_shape *shape, const tt_rt_arg *arg, bool listed) {
  switch (arg->kind) {
    case TT_RT_NONE:
      add_word(shape, TT_RT_NONE);
      break;
    case TT_RT_TENSOR:
      add_tensor(rt, shape, &arg->tensor, TT_RT_TENSOR | (uint64_t)arg->wrapped << 17);
      break;
    case TT_RT_SCALAR:
    case TT_RT_HOST_SCALAR:
      add_scalar(shape, arg, listed);
      break;
    case TT_RT_LIST:
      add_list(rt, shape, arg);
      break;
    case TT_RT_DTYPE:
      add_word(shape, TT_RT_DTYPE | (uint64_t)arg->dtype << 8);
      break;
    case TT_RT_STRING:
      add_string(shape, arg->string);
      break;
    case TT_RT_OTHER:
      add_word(shape, TT_RT_OTHER | (uint64_t)arg->i << 8);
      break;
  }
}

/* What stays of arange's numbers in the key when they are parameters: how many steps lie between
 * start and end, and whether something is left over. Numbers that are no integers stay as they are.
 */
static void add_steps(tt_rt_shape *shape, const tt_rt_arg *numbers, int64_t count) {
  int64_t start = count > 1 ? numbers[0].i : 0, end = numbers[count > 1].i;
  int64_t step = count > 2 ? numbers[2].i : 1, length;
  bool falls = step < 0, integers = step != 0 && step != INT64_MIN;
  for (int64_t i = 0; i < count; i++)
    integers = integers && numbers[i].kind == TT_RT_SCALAR && tt_dtype_is_integer(numbers[i].dtype);
  if (integers && !__builtin_sub_overflow(falls ? start : end, falls ? end : start, &length)) {
    add_word(shape, (uint64_t)(length / (falls ? -step : step)));
    add_word(shape, length % step != 0);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    add_word(shape, bits_of(numbers[i].real));
    add_word(shape, (uint64_t)numbers[i].i);
  }
}

tt_error *tt_rt_shape_take(tt_rt *rt, const tt_rt_call *call, tt_rt_shape *shape) {
  bool debug = atomic_load_explicit(&rt->mode, memory_order_relaxed) == TT_RT_DEBUG;
  shape->words_count = shape->storages_count = shape->slots_count = 0;
  shape->failed = false;
  rt->serial++;
  add_word(shape, (uint64_t)(uintptr_t)call->rule);
  add_word(shape,
           (uint64_t)debug | (uint64_t)atomic_load_explicit(&rt->exact, memory_order_relaxed) << 1 |
               (uint64_t)atomic_load_explicit(&rt->precision, memory_order_relaxed) << 8 |
               (uint64_t)atomic_load_explicit(&rt->default_dtype, memory_order_relaxed) << 16 |
               (uint64_t)call->device->index << 24 | (uint64_t)call->targets_count << 40);
  for (size_t i = 0; i < call->args_count; i++)
    add_arg(rt, shape, &call->args[i], false);
  if (call->rule->traits & TT_LOW_SIZED)
    add_steps(shape, call->args, call->rule->data);
  for (size_t i = 0; i < call->targets_count; i++)
    if (call->targets[i].storage != NULL)
      add_tensor(rt, shape, &call->targets[i], 0x80);
    else
      add_word(shape, 0x81);
  return shape->failed ? tt_error_no_memory(shape->words_capacity * 16) : NULL;
}

void tt_rt_shape_promote(tt_rt_shape *shape, const uint8_t *promoted) {
  for (size_t i = 0; i < shape->slots_count; i++) {
    uint64_t *at = shape->words + shape->slots[i].word;
    if (!promoted[i])
      continue;
    at[0] |= PROMOTED;
    at[1] = at[2] = 0;
  }
}

/* ---- the thread's shape ---- */

static pthread_key_t shape_key;
static pthread_once_t shape_once = PTHREAD_ONCE_INIT;

static void free_shape(void *pointer) {
  tt_rt_shape *shape = pointer;
  free(shape->words);
  free(shape->storages);
  free(shape->slots);
  free(shape);
}

static void make_key(void) { pthread_key_create(&shape_key, free_shape); }

tt_rt_shape *tt_rt_shape_of_thread(void) {
  static _Thread_local tt_rt_shape *mine; /* pthread_getspecific is for the destructor */
  if (TT_LIKELY(mine != NULL))
    return mine;
  pthread_once(&shape_once, make_key);
  mine = calloc(1, sizeof *mine);
  if (mine != NULL)
    pthread_setspecific(shape_key, mine);
  return mine;
}
