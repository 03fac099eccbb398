/* checked.h: arithmetic on sizes and dims that notices overflow. */
#ifndef TT_BASE_CHECKED_H
#define TT_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* false on overflow, and then `*out` is unspecified. */
static inline bool tt_mul_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool tt_add_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
/* Product of dims, 1 for rank 0. false on overflow or a negative dim. A zero anywhere gives 0. */
static inline bool tt_dims_count(const int64_t *dims, size_t rank, int64_t *out) {
  int64_t count = 1;
  bool zero = false;
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] < 0)
      return false;
    zero = zero || dims[i] == 0;
  }
  for (size_t i = 0; i < rank && !zero; i++)
    if (!tt_mul_i64(count, dims[i], &count))
      return false;
  *out = zero ? 0 : count;
  return true;
}

#endif /* TT_BASE_CHECKED_H */
