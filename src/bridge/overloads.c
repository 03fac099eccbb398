#include "bridge/overloads.h"

#define NUMBERS(...) \
  (const int8_t[]) { __VA_ARGS__ }
const tt_bridge_overload tt_bridge_overloads[] = {
#define OVERLOAD(name, rule, types, args, results, targets, returns_count, returns) \
  {name,                                                                            \
   rule,                                                                            \
   types,                                                                           \
   results,                                                                         \
   NUMBERS args,                                                                    \
   NUMBERS targets,                                                                 \
   NUMBERS returns,                                                                 \
   sizeof types - 1,                                                                \
   sizeof results - 1,                                                              \
   returns_count},
#include "overloads.inc"
#undef OVERLOAD
};
const size_t tt_bridge_overloads_count = sizeof tt_bridge_overloads / sizeof *tt_bridge_overloads;
