/* arena.h: memory that is freed all at once.
 *
 * An arena hands out pieces of larger blocks; none is freed alone. One thread at a time. */
#ifndef TT_BASE_ARENA_H
#define TT_BASE_ARENA_H

#include <stddef.h>

#include "base/attr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_arena_block tt_arena_block;
/* All zero is an empty arena. */
typedef struct tt_arena {
  tt_arena_block *blocks;
  char *at;     /* next free byte of the newest block */
  size_t left;  /* bytes left there */
  size_t total; /* bytes of all blocks */
} tt_arena;

/* `size` zeroed bytes, aligned for any type, in the arena; NULL when out of memory. `size` 0 gives
 * a valid pointer. */
void *tt_arena_alloc(tt_arena *arena, size_t size);
/* `count` * `size` bytes with the product checked; NULL on overflow or out of memory. */
void *tt_arena_array(tt_arena *arena, size_t count, size_t size);
void *tt_arena_copy(tt_arena *arena, const void *data, size_t size);
/* A NUL-terminated copy of the `size` bytes at `text`. */
char *tt_arena_text(tt_arena *arena, const char *text, size_t size);
/* Frees everything; the arena is empty and usable again. */
void tt_arena_reset(tt_arena *arena);

#ifdef __cplusplus
}
#endif

#endif /* TT_BASE_ARENA_H */
