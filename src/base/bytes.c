#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

/* Makes room for `size` bytes and a NUL behind `bytes->size`. */
static bool reserve(tt_bytes *bytes, size_t size) {
  if (bytes->failed)
    return false;
  if (size < bytes->capacity - bytes->size) /* the NUL makes it strict */
    return true;
  size_t needed = 0;
  if (__builtin_add_overflow(bytes->size, size, &needed) || needed > PTRDIFF_MAX - 1) {
    bytes->failed = true;
    return false;
  }
  needed += 1;
  size_t capacity = bytes->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : bytes->capacity;
  while (capacity < needed)
    capacity = capacity > PTRDIFF_MAX / 2 ? needed : capacity * 2;
  char *data = realloc(bytes->data, capacity);
  if (data == NULL) {
    bytes->failed = true;
    return false;
  }
  bytes->data = data;
  bytes->capacity = capacity;
  return true;
}

char *tt_bytes_extend(tt_bytes *bytes, size_t size) {
  if (!reserve(bytes, size))
    return NULL;
  char *at = bytes->data + bytes->size;
  bytes->size += size;
  bytes->data[bytes->size] = '\0';
  return at;
}

void tt_bytes_append(tt_bytes *bytes, const void *data, size_t size) {
  char *at = tt_bytes_extend(bytes, size);
  if (at != NULL && size > 0)
    memcpy(at, data, size);
}

void tt_bytes_text(tt_bytes *bytes, const char *text) {
  tt_bytes_append(bytes, text, strlen(text));
}

void tt_bytes_char(tt_bytes *bytes, char c) { tt_bytes_append(bytes, &c, 1); }

void tt_bytes_printf(tt_bytes *bytes, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  tt_bytes_vprintf(bytes, fmt, args);
  va_end(args);
}

/* Most texts fit what is left of the buffer, so the first try prints in place. */
void tt_bytes_vprintf(tt_bytes *bytes, const char *fmt, va_list args) {
  if (!reserve(bytes, FIRST_CAPACITY - 1))
    return;
  size_t room = bytes->capacity - bytes->size;
  va_list again;
  va_copy(again, args);
  int printed = vsnprintf(bytes->data + bytes->size, room, fmt, args);
  size_t size = printed < 0 ? 0 : (size_t)printed;
  if (size < room) {
    bytes->size += size;
  } else {
    char *at = tt_bytes_extend(bytes, size);
    if (at != NULL)
      vsnprintf(at, size + 1, fmt, again);
  }
  va_end(again);
  if (bytes->data != NULL)
    bytes->data[bytes->size] = '\0';
}

tt_error *tt_bytes_status(const tt_bytes *bytes) {
  return bytes->failed ? tt_error_no_memory(bytes->size) : NULL;
}

void tt_bytes_clear(tt_bytes *bytes) {
  bytes->size = 0;
  bytes->failed = false;
  if (bytes->data != NULL)
    bytes->data[0] = '\0';
}

void tt_bytes_free(tt_bytes *bytes) {
  free(bytes->data);
  *bytes = (tt_bytes){0};
}
