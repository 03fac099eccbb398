/* hlo.h: StableHLO in memory: build it, read it, check it, print it. The face of this module. */
#ifndef TT_HLO_HLO_H
#define TT_HLO_HLO_H

#include "hlo/build.h"
#include "hlo/bytecode.h"
#include "hlo/ir.h"
#include "hlo/parse.h"

#endif /* TT_HLO_HLO_H */
