/* dtype.h: element types, one table for all modules. */
#ifndef TT_BASE_DTYPE_H
#define TT_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tt_dtype {
#define X(id, mlir, bits, kind) TT_##id,
#include "base/dtypes.def"
#undef X
  TT_DTYPE_COUNT
} tt_dtype;

typedef enum tt_dtype_kind {
  TT_KIND_BOOL,
  TT_KIND_SIGNED,
  TT_KIND_UNSIGNED,
  TT_KIND_FLOAT,
  TT_KIND_COMPLEX
} tt_dtype_kind;

typedef struct tt_dtype_info {
  const char *name; /* as StableHLO text spells it */
  int bits;
  int bytes; /* of one element in host memory: at least 1 */
  tt_dtype_kind kind;
} tt_dtype_info;

extern const tt_dtype_info tt_dtypes[TT_DTYPE_COUNT];

static inline const char *tt_dtype_name(tt_dtype d) { return tt_dtypes[d].name; }
static inline int tt_dtype_bytes(tt_dtype d) { return tt_dtypes[d].bytes; }
static inline bool tt_dtype_is_float(tt_dtype d) { return tt_dtypes[d].kind == TT_KIND_FLOAT; }
static inline bool tt_dtype_is_complex(tt_dtype d) { return tt_dtypes[d].kind == TT_KIND_COMPLEX; }
static inline bool tt_dtype_is_signed(tt_dtype d) { return tt_dtypes[d].kind == TT_KIND_SIGNED; }
static inline bool tt_dtype_is_unsigned(tt_dtype d) {
  return tt_dtypes[d].kind == TT_KIND_UNSIGNED;
}
/* bool counts as an integer here, as in StableHLO's i1. */
static inline bool tt_dtype_is_integer(tt_dtype d) { return tt_dtypes[d].kind <= TT_KIND_UNSIGNED; }
/* f32 for c64, f64 for c128, else `d`. */
static inline tt_dtype tt_dtype_real(tt_dtype d) {
  return d == TT_C64 ? TT_F32 : d == TT_C128 ? TT_F64 : d;
}
/* c64 for f32, c128 for f64; other types unchanged. */
static inline tt_dtype tt_dtype_complex(tt_dtype d) {
  return d == TT_F32 ? TT_C64 : d == TT_F64 ? TT_C128 : d;
}
/* Writes `value` as one element of `d`, rounded to nearest even, at `out` (tt_dtype_bytes(d)
 * bytes). Integers are truncated toward zero and wrap; for complex the imaginary part is `imag`. */
void tt_dtype_store(tt_dtype d, double value, double imag, void *out);
/* The same from an exact integer. */
void tt_dtype_store_int(tt_dtype d, int64_t value, void *out);

#ifdef __cplusplus
}
#endif

#endif /* TT_BASE_DTYPE_H */
