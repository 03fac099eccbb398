#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tt_error {
  tt_code code;
  const char *message; /* after the struct, in the same allocation */
};

/* Handed out as a mutable pointer but never written: only tt_error_free looks who it is. */
static const tt_error out_of_memory = {TT_RESOURCE_EXHAUSTED, "out of memory"};

static tt_error *out_of_memory_error(void) { return (tt_error *)&out_of_memory; }

/* An error with room for `size` bytes of message, NUL included; NULL when out of memory. */
static tt_error *new_sized(tt_code code, size_t size, char **out_message) {
  tt_error *err = malloc(sizeof *err + size);
  if (err == NULL)
    return NULL;
  *out_message = (char *)(err + 1);
  (*out_message)[0] = '\0';
  err->code = code;
  err->message = *out_message;
  return err;
}

static size_t formatted_size(const char *fmt, va_list args) TT_PRINTF(1, 0);
static size_t formatted_size(const char *fmt, va_list args) {
  va_list copy;
  va_copy(copy, args);
  int size = vsnprintf(NULL, 0, fmt, copy);
  va_end(copy);
  return size < 0 ? 0 : (size_t)size;
}

tt_error *tt_error_new(tt_code code, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  tt_error *err = tt_error_newv(code, fmt, args);
  va_end(args);
  return err;
}

tt_error *tt_error_newv(tt_code code, const char *fmt, va_list args) {
  char *message = NULL;
  size_t size = formatted_size(fmt, args) + 1;
  tt_error *err = new_sized(code, size, &message);
  if (err == NULL)
    return out_of_memory_error();
  vsnprintf(message, size, fmt, args);
  return err;
}

tt_error *tt_error_wrap_take(tt_error *err, const char *fmt, ...) {
  if (err == NULL)
    return NULL;
  va_list args;
  va_start(args, fmt);
  char *message = NULL;
  size_t prefix_size = formatted_size(fmt, args);
  size_t size = strlen(err->message) + 1;
  tt_error *wrapped = new_sized(err->code, prefix_size + 2 + size, &message);
  if (wrapped != NULL) {
    vsnprintf(message, prefix_size + 1, fmt, args);
    memcpy(message + prefix_size, ": ", 2);
    memcpy(message + prefix_size + 2, err->message, size);
  }
  va_end(args);
  if (wrapped == NULL)
    return err; /* out of memory: the cause matters more than its prefix */
  tt_error_free(err);
  return wrapped;
}

tt_error *tt_error_no_memory(size_t size) {
  if (size == 0)
    return tt_error_new(TT_RESOURCE_EXHAUSTED, "out of memory");
  return tt_error_new(TT_RESOURCE_EXHAUSTED, "out of memory: %zu bytes wanted", size);
}

tt_error *tt_error_copy(const tt_error *err) {
  if (err == NULL)
    return NULL;
  char *message = NULL;
  size_t size = strlen(err->message) + 1;
  tt_error *copy = new_sized(err->code, size, &message);
  if (copy == NULL)
    return out_of_memory_error();
  memcpy(message, err->message, size);
  return copy;
}

tt_code tt_error_code(const tt_error *err) { return err == NULL ? TT_OK : err->code; }

const char *tt_error_message(const tt_error *err) { return err == NULL ? "" : err->message; }

void tt_error_free(tt_error *err) {
  if (err != &out_of_memory)
    free(err);
}

const char *tt_code_name(tt_code code) {
  static const char *const names[] = {
      [TT_OK] = "OK",
      [TT_CANCELLED] = "CANCELLED",
      [TT_UNKNOWN] = "UNKNOWN",
      [TT_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
      [TT_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
      [TT_NOT_FOUND] = "NOT_FOUND",
      [TT_ALREADY_EXISTS] = "ALREADY_EXISTS",
      [TT_PERMISSION_DENIED] = "PERMISSION_DENIED",
      [TT_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
      [TT_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
      [TT_ABORTED] = "ABORTED",
      [TT_OUT_OF_RANGE] = "OUT_OF_RANGE",
      [TT_UNIMPLEMENTED] = "UNIMPLEMENTED",
      [TT_INTERNAL] = "INTERNAL",
      [TT_UNAVAILABLE] = "UNAVAILABLE",
      [TT_DATA_LOSS] = "DATA_LOSS",
      [TT_UNAUTHENTICATED] = "UNAUTHENTICATED",
  };
  size_t i = (size_t)code;
  return i < TT_COUNT(names) ? names[i] : names[TT_UNKNOWN];
}
