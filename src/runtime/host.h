/* host.h: what the runtime asks of whoever sits above it. A fake one serves the C tests. */
#ifndef TT_RUNTIME_HOST_H
#define TT_RUNTIME_HOST_H

#include "hlo/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tt_rt_call;

/* One result as PyTorch's meta kernel gives it. */
typedef struct tt_rt_meta {
  bool defined;
  tt_dtype dtype;
  int32_t rank;
  const int64_t *sizes, *strides; /* in the arena of the call */
} tt_rt_meta;

typedef struct tt_rt_host {
  /* The results of a call without running it, `out_metas` in the arena. None (NULL, 0) where there
   * is no meta kernel: the rule's own types then count. Called without any lock, once for each new
   * program. */
  tt_error *(*meta)(struct tt_rt_call *call, tt_arena *arena, tt_rt_meta **out_metas,
                    size_t *out_count);
  /* "file.py:12 in forward" of the user's code that runs now, NULL if unknown. Debug mode only.
   * Copied by the caller at once. */
  const char *(*user_line)(void);
} tt_rt_host;

#ifdef __cplusplus
}
#endif

#endif /* TT_RUNTIME_HOST_H */
