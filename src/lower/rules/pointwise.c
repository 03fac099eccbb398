#include "lower/rules/pointwise_internal.h"
#include "lower/rules/rules.h"

const tt_low_rule tt_low_rules_pointwise[] = {
#define X(overload, function, traits, data) \
  {overload, tt_low_pointwise_##function, traits, data, NULL},
#include "lower/rules/pointwise.def"
#undef X
};
const size_t tt_low_rules_pointwise_count = TT_COUNT(tt_low_rules_pointwise);
