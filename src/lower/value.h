/* value.h: an argument or result as a rule sees it.
 *
 * A tensor is an SSA value of the program being built; its dtype and dims are those of the value.
 * Everything a value points to lives in the arena of the module being built, or with the caller of
 * the lowering. */
#ifndef TT_LOWER_VALUE_H
#define TT_LOWER_VALUE_H

#include "hlo/hlo.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tt_low_kind {
  TT_LOW_NONE, /* None, or an undefined tensor */
  TT_LOW_TENSOR,
  TT_LOW_SCALAR, /* Scalar, float, int, bool of the schema */
  TT_LOW_LIST,   /* Tensor[], Tensor?[], int[], float[], Scalar[], bool[] */
  TT_LOW_DTYPE,
  TT_LOW_STRING,
  TT_LOW_OTHER /* layout, device, memory format, generator: nothing a rule looks at */
} tt_low_kind;

/* A number. Its class is PRED, S64, F64 or C128, as Python's bool, int, float, complex. */
typedef struct tt_low_scalar {
  tt_dtype dtype;
  int64_t i;           /* PRED S64 */
  double real, imag;   /* F64 C128; `real` is filled for every class */
  tt_hlo_value *value; /* not NULL: promoted to a parameter, and the numbers above mean nothing */
} tt_low_scalar;

typedef struct tt_low_value tt_low_value;
typedef struct tt_low_list {
  size_t count;
  const tt_low_value *items;
} tt_low_list;

struct tt_low_value {
  tt_low_kind kind;
  bool wrapped; /* TENSOR: a Python number in disguise, weak in type promotion */
  bool counted; /* result TENSOR: only the first `ctx->count` rows (axis 0) are real */
  bool strided; /* argument TENSOR: not row-major in memory, where PyTorch's own results depend on
                   that */
  tt_hlo_value *tensor;
  tt_low_scalar scalar;
  tt_low_list list;
  tt_dtype dtype;
  const char *string;
};

#ifdef __cplusplus
}
#endif

#endif /* TT_LOWER_VALUE_H */
