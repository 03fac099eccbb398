/* error.h: how a function says that it failed.
 *
 * A function that can fail returns `tt_error *`: NULL is success, anything else
 * is one error, owned by the caller, who returns it, adds to it, or frees it.
 * Codes are PJRT_Error_Code's, so an error crosses the plugin boundary as is. */
#ifndef TT_BASE_ERROR_H
#define TT_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#include "base/attr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_error tt_error;

/* Makes an error; `fmt` as in printf, no final newline. Never NULL: out of
 * memory it returns a static RESOURCE_EXHAUSTED error. Thread-safe. */
TT_NODISCARD tt_error *tt_error_new(tt_code code, const char *fmt, ...) TT_PRINTF(2, 3);
TT_NODISCARD tt_error *tt_error_newv(tt_code code, const char *fmt, va_list args);
/* Puts "`fmt`: " before the message of `err`, which it consumes. NULL stays NULL. */
TT_NODISCARD tt_error *tt_error_wrap_take(tt_error *err, const char *fmt, ...) TT_PRINTF(2, 3);
/* The error of a failed allocation of `size` bytes; 0: not known how many. */
TT_NODISCARD tt_error *tt_error_no_memory(size_t size);
/* A copy that lives on its own. NULL stays NULL. */
TT_NODISCARD tt_error *tt_error_copy(const tt_error *err);
tt_code tt_error_code(const tt_error *err);        /* TT_OK for NULL */
const char *tt_error_message(const tt_error *err); /* lives as long as `err`; "" for NULL */
void tt_error_free(tt_error *err);                 /* NULL is allowed */
/* The code's name in capitals, such as "INVALID_ARGUMENT"; "UNKNOWN" for a value outside the enum.
 */
const char *tt_code_name(tt_code code);

#ifdef __cplusplus
}
#endif

/* In a function with `tt_error *err` and a label `out:`. */
#define TT_TRY(call)              \
  do {                            \
    err = (call);                 \
    if (TT_UNLIKELY(err != NULL)) \
      goto out;                   \
  } while (0)
/* In a function that owns nothing. */
#define TT_RETURN_IF_ERROR(call)      \
  do {                                \
    tt_error *tt_err_ = (call);       \
    if (TT_UNLIKELY(tt_err_ != NULL)) \
      return tt_err_;                 \
  } while (0)

#endif /* TT_BASE_ERROR_H */
