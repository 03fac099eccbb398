/* code.h: codes of errors that come from elsewhere: other processes, handlers, callbacks. */
#ifndef TT_BASE_CODE_H
#define TT_BASE_CODE_H

#include <stdint.h>

#include "base/attr.h"

/* UNKNOWN for what is no code of an error. */
static inline tt_code tt_code_of(int64_t value) {
  return value <= TT_OK || value > TT_UNAUTHENTICATED ? TT_UNKNOWN : (tt_code)value;
}

#endif /* TT_BASE_CODE_H */
