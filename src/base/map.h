/* map.h: a hash map from byte strings to pointers.
 *
 * Open addressing, keys copied in. Locked by its owner. */
#ifndef TT_BASE_MAP_H
#define TT_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_map_slot {
  uint64_t hash; /* 0: the slot is free */
  void *key;
  size_t key_size;
  void *value;
} tt_map_slot;
/* All zero is an empty map. */
typedef struct tt_map {
  tt_map_slot *slots;
  size_t capacity, count; /* capacity: 0 or a power of two */
} tt_map;

/* The hash that the other calls want of a key: tt_hash64(key, size, 0), never 0. */
uint64_t tt_map_hash(const void *key, size_t key_size);
/* The value, or NULL. */
void *tt_map_get(const tt_map *map, const void *key, size_t key_size, uint64_t hash);
/* Adds a key that is not there yet. `value` is not NULL and stays the caller's. */
TT_NODISCARD tt_error *tt_map_put(tt_map *map, const void *key, size_t key_size, uint64_t hash,
                                  void *value);
/* The value that was there, or NULL; the key is gone. */
void *tt_map_remove(tt_map *map, const void *key, size_t key_size, uint64_t hash);
/* Iterates: start with *position 0; NULL at the end. The map may not change meanwhile. */
void *tt_map_next(const tt_map *map, size_t *position);
void tt_map_free(tt_map *map); /* keys, not values; leaves an empty map */

#ifdef __cplusplus
}
#endif

#endif /* TT_BASE_MAP_H */
