#include <string.h>

#include "test.h"

TEST(error, holds_code_and_message) {
  tt_error *err = tt_error_new(TT_NOT_FOUND, "no %s in %d places", "tensor", 3);
  EXPECT_INT(tt_error_code(err), TT_NOT_FOUND);
  EXPECT_STR(tt_error_message(err), "no tensor in 3 places");
  tt_error_free(err);
}

TEST(error, null_is_success) {
  EXPECT_INT(tt_error_code(NULL), TT_OK);
  EXPECT_STR(tt_error_message(NULL), "");
  EXPECT(tt_error_copy(NULL) == NULL);
  EXPECT(tt_error_wrap_take(NULL, "never %s", "seen") == NULL);
  tt_error_free(NULL);
}

TEST(error, wrap_puts_the_prefix_first) {
  tt_error *err = tt_error_new(TT_INTERNAL, "inner");
  err = tt_error_wrap_take(err, "op %s", "add");
  err = tt_error_wrap_take(err, "outer");
  EXPECT_ERR(err, TT_INTERNAL, "outer: op add: inner");
}

TEST(error, message_may_hold_percent_signs) {
  tt_error *err = tt_error_new(TT_INTERNAL, "%s", "100%d");
  err = tt_error_wrap_take(err, "%s", "%s");
  EXPECT_ERR(err, TT_INTERNAL, "%s: 100%d");
}

TEST(error, copy_lives_on_its_own) {
  tt_error *err = tt_error_new(TT_ABORTED, "first");
  tt_error *copy = tt_error_copy(err);
  tt_error_free(err);
  EXPECT_ERR(copy, TT_ABORTED, "first");
}

TEST(error, long_messages_are_whole) {
  char text[5000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  tt_error *err = tt_error_new(TT_INTERNAL, "%s", text);
  EXPECT_INT(strlen(tt_error_message(err)), sizeof text - 1);
  tt_error_free(err);
}

TEST(error, no_memory_names_the_size) {
  EXPECT_ERR(tt_error_no_memory(4096), TT_RESOURCE_EXHAUSTED, "4096");
}

static tt_error *run_in_order(int *steps, tt_error *second) {
  tt_error *err = NULL;
  *steps = 0;
  TT_TRY(NULL);
  *steps = 1;
  TT_TRY(second);
  *steps = 2;
out:
  return err;
}

static tt_error *pass_on(tt_error *inner) {
  TT_RETURN_IF_ERROR(inner);
  return NULL;
}

TEST(error, try_leaves_at_the_first_error) {
  int steps = 0;
  EXPECT_OK(run_in_order(&steps, NULL));
  EXPECT_INT(steps, 2);
  EXPECT_ERR(run_in_order(&steps, tt_error_new(TT_CANCELLED, "stop")), TT_CANCELLED, "stop");
  EXPECT_INT(steps, 1);
}

TEST(error, return_if_error_passes_it_on) {
  EXPECT_OK(pass_on(NULL));
  EXPECT_ERR(pass_on(tt_error_new(TT_DATA_LOSS, "gone")), TT_DATA_LOSS, "gone");
}

TEST(error, code_names) {
  EXPECT_STR(tt_code_name(TT_OK), "OK");
  EXPECT_STR(tt_code_name(TT_INVALID_ARGUMENT), "INVALID_ARGUMENT");
  EXPECT_STR(tt_code_name(TT_UNAUTHENTICATED), "UNAUTHENTICATED");
  EXPECT_STR(tt_code_name((tt_code)99), "UNKNOWN");
  EXPECT_STR(tt_code_name((tt_code)-1), "UNKNOWN");
}
