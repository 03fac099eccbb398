#include "base/map.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { FIRST_CAPACITY = 16 };

uint64_t tt_map_hash(const void *key, size_t key_size) {
  uint64_t hash = tt_hash64(key, key_size, 0);
  return hash == 0 ? 1 : hash;
}

static bool is_key(const tt_map_slot *slot, const void *key, size_t key_size, uint64_t hash) {
  return slot->hash == hash && slot->key_size == key_size &&
         (key_size == 0 || memcmp(slot->key, key, key_size) == 0);
}

/* The slot of the key, or NULL. The map is never full, so the walk ends at a free slot. */
static tt_map_slot *find(const tt_map *map, const void *key, size_t key_size, uint64_t hash) {
  if (map->count == 0)
    return NULL;
  size_t mask = map->capacity - 1;
  for (size_t i = (size_t)hash & mask; map->slots[i].hash != 0; i = (i + 1) & mask)
    if (is_key(&map->slots[i], key, key_size, hash))
      return &map->slots[i];
  return NULL;
}

void *tt_map_get(const tt_map *map, const void *key, size_t key_size, uint64_t hash) {
  tt_map_slot *slot = find(map, key, key_size, hash);
  return slot == NULL ? NULL : slot->value;
}

static void place(tt_map_slot *slots, size_t capacity, tt_map_slot slot) {
  size_t mask = capacity - 1;
  size_t i = (size_t)slot.hash & mask;
  while (slots[i].hash != 0)
    i = (i + 1) & mask;
  slots[i] = slot;
}

/* Keeps a third of the slots free: linear probing slows down beyond that. */
static tt_error *grow(tt_map *map) {
  if (map->count + 1 <= map->capacity - map->capacity / 3 && map->capacity > 0)
    return NULL;
  size_t capacity = map->capacity == 0 ? FIRST_CAPACITY : map->capacity * 2;
  tt_map_slot *slots = calloc(capacity, sizeof *slots);
  if (slots == NULL)
    return tt_error_no_memory(capacity * sizeof *slots);
  for (size_t i = 0; i < map->capacity; i++)
    if (map->slots[i].hash != 0)
      place(slots, capacity, map->slots[i]);
  free(map->slots);
  map->slots = slots;
  map->capacity = capacity;
  return NULL;
}

tt_error *tt_map_put(tt_map *map, const void *key, size_t key_size, uint64_t hash, void *value) {
  assert(value != NULL && hash != 0);
  assert(find(map, key, key_size, hash) == NULL);
  TT_RETURN_IF_ERROR(grow(map));
  void *copy = malloc(key_size == 0 ? 1 : key_size);
  if (copy == NULL)
    return tt_error_no_memory(key_size);
  if (key_size > 0)
    memcpy(copy, key, key_size);
  place(map->slots, map->capacity, (tt_map_slot){hash, copy, key_size, value});
  map->count++;
  return NULL;
}

/* Moves later slots of the same run back into the hole at `hole`, so that no walk stops early. */
static void close_hole(tt_map *map, size_t hole) {
  size_t mask = map->capacity - 1;
  for (size_t i = (hole + 1) & mask; map->slots[i].hash != 0; i = (i + 1) & mask) {
    size_t home = (size_t)map->slots[i].hash & mask;
    if (((i - home) & mask) >= ((i - hole) & mask)) {
      map->slots[hole] = map->slots[i];
      hole = i;
    }
  }
  map->slots[hole] = (tt_map_slot){0};
}

void *tt_map_remove(tt_map *map, const void *key, size_t key_size, uint64_t hash) {
  tt_map_slot *slot = find(map, key, key_size, hash);
  if (slot == NULL)
    return NULL;
  void *value = slot->value;
  free(slot->key);
  map->count--;
  close_hole(map, (size_t)(slot - map->slots));
  return value;
}

void *tt_map_next(const tt_map *map, size_t *position) {
  while (*position < map->capacity) {
    const tt_map_slot *slot = &map->slots[(*position)++];
    if (slot->hash != 0)
      return slot->value;
  }
  return NULL;
}

void tt_map_free(tt_map *map) {
  for (size_t i = 0; i < map->capacity; i++)
    free(map->slots[i].key);
  free(map->slots);
  *map = (tt_map){0};
}
