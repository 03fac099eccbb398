/* attr.h: compiler attributes and the status codes, the leaf of every include. */
#ifndef TT_BASE_ATTR_H
#define TT_BASE_ATTR_H

#define TT_NODISCARD __attribute__((warn_unused_result))
#define TT_PRINTF(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))
#define TT_LIKELY(x) __builtin_expect(!!(x), 1)
#define TT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The values are those of PJRT_Error_Code. */
typedef enum tt_code {
  TT_OK = 0,
  TT_CANCELLED = 1,
  TT_UNKNOWN = 2,
  TT_INVALID_ARGUMENT = 3,
  TT_DEADLINE_EXCEEDED = 4,
  TT_NOT_FOUND = 5,
  TT_ALREADY_EXISTS = 6,
  TT_PERMISSION_DENIED = 7,
  TT_RESOURCE_EXHAUSTED = 8,
  TT_FAILED_PRECONDITION = 9,
  TT_ABORTED = 10,
  TT_OUT_OF_RANGE = 11,
  TT_UNIMPLEMENTED = 12,
  TT_INTERNAL = 13,
  TT_UNAVAILABLE = 14,
  TT_DATA_LOSS = 15,
  TT_UNAUTHENTICATED = 16
} tt_code;

#endif /* TT_BASE_ATTR_H */
