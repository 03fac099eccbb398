#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

/* A number written in the program stays in the program. One that changes from call to call is a
 * learning rate, a step count, or the offset of x[t]: from its second value on it is a parameter,
 * so that such a call compiles twice at most. Lists of numbers (the foreach optimizers' step
 * sizes), host tensors of rank 0 and offsets other than 0 are parameters from the start. An offset
 * is one only where the program could serve another offset: tt_rt_view_moves. */

void tt_rt_family_free(tt_rt_family *family) {
  if (family == NULL)
    return;
  free(family->promoted);
  free(family->fixed);
  free(family->last);
  free(family);
}

static bool starts_promoted(const tt_rt_shape *shape, size_t i) {
  const tt_rt_arg *arg = shape->slots[i].arg;
  if (arg == NULL)
    return shape->slots[i].tensor->offset != 0;
  return shape->slots[i].listed || (arg->kind == TT_RT_HOST_SCALAR && !arg->wrapped);
}

static tt_error *family_new(const tt_rt_shape *shape, tt_rt_family **out_family) {
  tt_rt_family *family = calloc(1, sizeof *family);
  *out_family = NULL;
  if (family == NULL)
    return tt_error_no_memory(sizeof *family);
  family->slots_count = shape->slots_count;
  family->promoted = calloc(shape->slots_count, 1);
  family->fixed = calloc(shape->slots_count, 1);
  family->last = calloc(shape->slots_count, sizeof *family->last);
  if (family->promoted == NULL || family->fixed == NULL || family->last == NULL) {
    tt_rt_family_free(family);
    return tt_error_no_memory(shape->slots_count);
  }
  for (size_t i = 0; i < shape->slots_count; i++) {
    family->promoted[i] = starts_promoted(shape, i);
    memcpy(family->last[i], shape->words + shape->slots[i].word + 1, sizeof family->last[i]);
  }
  *out_family = family;
  return NULL;
}

/* The key with all slots' values taken out, in a copy. */
static tt_error *family_key(const tt_rt_shape *shape, uint64_t **out_words) {
  uint64_t *words = malloc(shape->words_count * sizeof *words);
  *out_words = words;
  if (words == NULL)
    return tt_error_no_memory(shape->words_count * sizeof *words);
  memcpy(words, shape->words, shape->words_count * sizeof *words);
  for (size_t i = 0; i < shape->slots_count; i++)
    memset(words + shape->slots[i].word + 1, 0, 2 * sizeof *words);
  return NULL;
}

static void note_changes(tt_rt *rt, tt_rt_family *family, const tt_rt_shape *shape) {
  for (size_t i = 0; i < shape->slots_count; i++) {
    const uint64_t *value = shape->words + shape->slots[i].word + 1;
    if (memcmp(family->last[i], value, sizeof family->last[i]) == 0)
      continue;
    memcpy(family->last[i], value, sizeof family->last[i]);
    if (!family->fixed[i] && !family->promoted[i]) {
      family->promoted[i] = 1;
      rt->stats.promoted++;
    }
  }
}

tt_error *tt_rt_family_update(tt_rt *rt, const tt_rt_shape *shape, tt_rt_family **out_family) {
  tt_error *err = NULL;
  uint64_t *words = NULL, hash;
  size_t size = shape->words_count * sizeof *words;
  tt_rt_family *family = NULL;
  *out_family = NULL;
  TT_TRY(family_key(shape, &words));
  hash = tt_map_hash(words, size);
  family = tt_map_get(&rt->families, words, size, hash);
  if (family != NULL) {
    note_changes(rt, family, shape);
  } else {
    TT_TRY(family_new(shape, &family));
    err = tt_map_put(&rt->families, words, size, hash, family);
    if (err != NULL) {
      tt_rt_family_free(family);
      family = NULL;
    }
  }
  *out_family = family;
out:
  free(words);
  return err;
}
