#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct tt_arena_block {
  tt_arena_block *next;
  size_t size; /* of the bytes after this header */
};

enum { HEADER = (sizeof(tt_arena_block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };
_Static_assert(_Alignof(max_align_t) <= ALIGNMENT, "pieces are aligned for any type");

/* Blocks come zeroed and no byte is handed out twice, so pieces need no memset. */
static tt_arena_block *new_block(tt_arena *arena, size_t size) {
  tt_arena_block *block = calloc(1, HEADER + size);
  if (block == NULL)
    return NULL;
  block->size = size;
  arena->total += size;
  return block;
}

/* Doubles with the arena, so that a large one has few blocks. */
static size_t next_block_size(const tt_arena *arena) {
  if (arena->total < FIRST_BLOCK)
    return FIRST_BLOCK;
  return arena->total < LARGEST_BLOCK ? arena->total : LARGEST_BLOCK;
}

/* A piece that gets a block of its own goes behind the newest one, whose rest stays in use. */
static void *alloc_alone(tt_arena *arena, size_t size) {
  tt_arena_block *block = new_block(arena, size);
  if (block == NULL)
    return NULL;
  tt_arena_block **at = arena->blocks == NULL ? &arena->blocks : &arena->blocks->next;
  block->next = *at;
  *at = block;
  return (char *)block + HEADER;
}

static bool add_block(tt_arena *arena) {
  tt_arena_block *block = new_block(arena, next_block_size(arena));
  if (block == NULL)
    return false;
  block->next = arena->blocks;
  arena->blocks = block;
  arena->at = (char *)block + HEADER;
  arena->left = block->size;
  return true;
}

void *tt_arena_alloc(tt_arena *arena, size_t size) {
  if (size > PTRDIFF_MAX - HEADER - ALIGNMENT)
    return NULL;
  size_t rounded = size == 0 ? ALIGNMENT : (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (TT_UNLIKELY(rounded > arena->left)) {
    if (rounded > next_block_size(arena) / 4)
      return alloc_alone(arena, rounded);
    if (!add_block(arena))
      return NULL;
  }
  void *piece = arena->at;
  arena->at += rounded;
  arena->left -= rounded;
  return piece;
}

void *tt_arena_array(tt_arena *arena, size_t count, size_t size) {
  size_t bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes) ? NULL : tt_arena_alloc(arena, bytes);
}

void *tt_arena_copy(tt_arena *arena, const void *data, size_t size) {
  void *copy = tt_arena_alloc(arena, size);
  if (copy != NULL && size > 0)
    memcpy(copy, data, size);
  return copy;
}

char *tt_arena_text(tt_arena *arena, const char *text, size_t size) {
  if (size == SIZE_MAX)
    return NULL;
  char *copy = tt_arena_alloc(arena, size + 1);
  if (copy != NULL && size > 0)
    memcpy(copy, text, size);
  return copy;
}

void tt_arena_reset(tt_arena *arena) {
  for (tt_arena_block *block = arena->blocks, *next = NULL; block != NULL; block = next) {
    next = block->next;
    free(block);
  }
  *arena = (tt_arena){0};
}
