#include "base/arena.h"

#include <stddef.h>
#include <string.h>

#include "test.h"

static bool is_zero(const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (bytes[i] != 0)
      return false;
  return true;
}

TEST(arena, pieces_are_zeroed_aligned_and_apart) {
  tt_arena arena = {0};
  char *before = NULL;
  for (size_t size = 0; size < 3000; size += 7) {
    char *piece = tt_arena_alloc(&arena, size);
    REQUIRE(piece != NULL);
    EXPECT((uintptr_t)piece % _Alignof(max_align_t) == 0);
    EXPECT(is_zero(piece, size));
    EXPECT(piece != before);
    memset(piece, 0xff, size);
    before = piece;
  }
out:
  tt_arena_reset(&arena);
}

TEST(arena, large_piece_keeps_the_rest_of_the_block) {
  tt_arena arena = {0};
  char *first = tt_arena_alloc(&arena, 16);
  char *large = tt_arena_alloc(&arena, 100000);
  REQUIRE(first != NULL && large != NULL);
  EXPECT(is_zero(large, 100000));
  memset(large, 1, 100000);
  EXPECT((char *)tt_arena_alloc(&arena, 16) == first + 16);
  EXPECT(arena.total >= 100000 + 16);
out:
  tt_arena_reset(&arena);
}

TEST(arena, reset_leaves_a_usable_arena) {
  tt_arena arena = {0};
  REQUIRE(tt_arena_alloc(&arena, 10) != NULL);
  tt_arena_reset(&arena);
  EXPECT_INT(arena.total, 0);
  EXPECT(tt_arena_alloc(&arena, 10) != NULL);
out:
  tt_arena_reset(&arena);
}

TEST(arena, overflowing_sizes_give_null) {
  tt_arena arena = {0};
  EXPECT(tt_arena_alloc(&arena, SIZE_MAX) == NULL);
  EXPECT(tt_arena_alloc(&arena, PTRDIFF_MAX) == NULL);
  EXPECT(tt_arena_array(&arena, SIZE_MAX / 2, 3) == NULL);
  EXPECT(tt_arena_text(&arena, "x", SIZE_MAX) == NULL);
  EXPECT(tt_arena_array(&arena, 3, 8) != NULL);
  tt_arena_reset(&arena);
}

TEST(arena, copies) {
  tt_arena arena = {0};
  const char data[] = {1, 0, 2};
  const char *copy = tt_arena_copy(&arena, data, sizeof data);
  const char *text = tt_arena_text(&arena, "hello world", 5);
  const char *empty = tt_arena_text(&arena, NULL, 0);
  REQUIRE(copy != NULL && text != NULL && empty != NULL);
  EXPECT_BYTES(copy, data, sizeof data);
  EXPECT(copy != data);
  EXPECT_STR(text, "hello");
  EXPECT_STR(empty, "");
  EXPECT(tt_arena_copy(&arena, NULL, 0) != NULL);
out:
  tt_arena_reset(&arena);
}
