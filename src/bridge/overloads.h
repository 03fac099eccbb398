/* overloads.h: the table that ties PyTorch's overloads to rules, made by tools/gen_overloads.py,
 * which says what the letters and numbers mean. */
#ifndef TT_BRIDGE_OVERLOADS_H
#define TT_BRIDGE_OVERLOADS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_bridge_overload {
  const char *name, *rule, *types, *results;
  const int8_t *args, *targets, *returns;
  uint8_t args_count, targets_count, returns_count;
} tt_bridge_overload;

extern const tt_bridge_overload tt_bridge_overloads[];
extern const size_t tt_bridge_overloads_count;

#ifdef __cplusplus
}
#endif

#endif /* TT_BRIDGE_OVERLOADS_H */
