/* lower.h: ATen overloads to StableHLO. The face of this module. */
#ifndef TT_LOWER_LOWER_H
#define TT_LOWER_LOWER_H

#include "lower/rule.h"
#include "lower/value.h"

#endif /* TT_LOWER_LOWER_H */
