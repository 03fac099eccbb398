/* bytes.h: a growable byte buffer, also used to build text.
 *
 * Appending never fails at the call: out of memory is remembered in `failed` and later appends do
 * nothing, so that a printer checks once, at its end, with tt_bytes_status. One thread at a time.
 */
#ifndef TT_BASE_BYTES_H
#define TT_BASE_BYTES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All zero is an empty buffer. `data[size]` is NUL after any append of text. */
typedef struct tt_bytes {
  char *data;
  size_t size, capacity;
  bool failed;
} tt_bytes;

void tt_bytes_append(tt_bytes *bytes, const void *data, size_t size);
void tt_bytes_text(tt_bytes *bytes, const char *text); /* without the NUL */
void tt_bytes_char(tt_bytes *bytes, char c);
void tt_bytes_printf(tt_bytes *bytes, const char *fmt, ...) TT_PRINTF(2, 3);
void tt_bytes_vprintf(tt_bytes *bytes, const char *fmt, va_list args);
/* Room for `size` bytes more, uninitialised, already counted in `size`; NULL when out of memory. */
char *tt_bytes_extend(tt_bytes *bytes, size_t size);
/* NULL, or RESOURCE_EXHAUSTED when an append ran out of memory. */
TT_NODISCARD tt_error *tt_bytes_status(const tt_bytes *bytes);
void tt_bytes_clear(tt_bytes *bytes); /* size 0, capacity kept, failed reset */
void tt_bytes_free(tt_bytes *bytes);  /* leaves an empty buffer */

#ifdef __cplusplus
}
#endif

#endif /* TT_BASE_BYTES_H */
