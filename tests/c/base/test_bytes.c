#include "base/bytes.h"

#include <string.h>

#include "test.h"

TEST(bytes, builds_text) {
  tt_bytes bytes = {0};
  tt_bytes_text(&bytes, "a");
  tt_bytes_char(&bytes, 'b');
  tt_bytes_printf(&bytes, "%d-%s", 12, "c");
  tt_bytes_append(&bytes, "\0d", 2);
  REQUIRE_OK(tt_bytes_status(&bytes));
  EXPECT_INT(bytes.size, 8);
  EXPECT_BYTES(bytes.data, "ab12-c\0d", 9);
out:
  tt_bytes_free(&bytes);
}

TEST(bytes, is_nul_terminated_after_every_append) {
  tt_bytes bytes = {0};
  for (size_t i = 0; i < 300; i++) {
    tt_bytes_char(&bytes, 'x');
    REQUIRE(!bytes.failed);
    EXPECT_INT(strlen(bytes.data), i + 1);
  }
out:
  tt_bytes_free(&bytes);
}

TEST(bytes, prints_what_does_not_fit_the_first_try) {
  tt_bytes bytes = {0};
  char text[1000];
  memset(text, 'y', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  for (int i = 0; i < 5; i++)
    tt_bytes_printf(&bytes, "%s|", text);
  REQUIRE_OK(tt_bytes_status(&bytes));
  EXPECT_INT(bytes.size, 5 * sizeof text);
  EXPECT_INT(bytes.data[bytes.size - 1], '|');
  EXPECT_BYTES(bytes.data + sizeof text, text, sizeof text - 1);
out:
  tt_bytes_free(&bytes);
}

/* 63 is what an empty buffer holds beside the NUL. */
TEST(bytes, prints_every_size_around_the_first_capacity) {
  for (int size = 0; size < 200; size++) {
    tt_bytes bytes = {0};
    tt_bytes_printf(&bytes, "%*s", size, "");
    EXPECT(bytes.failed || strlen(bytes.data) == (size_t)size);
    EXPECT_INT(bytes.size, bytes.failed ? 0 : size);
    tt_bytes_free(&bytes);
  }
}

TEST(bytes, extend_counts_the_room) {
  tt_bytes bytes = {0};
  tt_bytes_text(&bytes, "ab");
  char *at = tt_bytes_extend(&bytes, 3);
  REQUIRE(at != NULL);
  memcpy(at, "cde", 3);
  EXPECT_STR(bytes.data, "abcde");
  EXPECT_INT(bytes.size, 5);
  EXPECT(tt_bytes_extend(&bytes, 0) == bytes.data + 5);
out:
  tt_bytes_free(&bytes);
}

TEST(bytes, remembers_a_failure_until_cleared) {
  tt_bytes bytes = {0};
  tt_bytes_text(&bytes, "ab");
  EXPECT(tt_bytes_extend(&bytes, SIZE_MAX) == NULL);
  tt_bytes_text(&bytes, "cd");
  tt_bytes_printf(&bytes, "%d", 1);
  EXPECT_ERR(tt_bytes_status(&bytes), TT_RESOURCE_EXHAUSTED, "");
  tt_bytes_clear(&bytes);
  EXPECT_OK(tt_bytes_status(&bytes));
  tt_bytes_text(&bytes, "ef");
  REQUIRE_OK(tt_bytes_status(&bytes));
  EXPECT_STR(bytes.data, "ef");
out:
  tt_bytes_free(&bytes);
}

TEST(bytes, free_leaves_an_empty_buffer) {
  tt_bytes bytes = {0};
  tt_bytes_free(&bytes);
  tt_bytes_text(&bytes, "x");
  tt_bytes_free(&bytes);
  EXPECT(bytes.data == NULL && bytes.size == 0 && bytes.capacity == 0 && !bytes.failed);
}
