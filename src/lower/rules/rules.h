/* rules.h: the families' tables, for lower/rules.c and the families themselves. */
#ifndef TT_LOWER_RULES_RULES_H
#define TT_LOWER_RULES_RULES_H

#include "lower/rule.h"

#define X(family)                                   \
  extern const tt_low_rule tt_low_rules_##family[]; \
  extern const size_t tt_low_rules_##family##_count;
#include "lower/families.def"
#undef X

#endif /* TT_LOWER_RULES_RULES_H */
