/* bytecode.h: StableHLO portable artifacts (VHLO in MLIR bytecode) in, a module out. */
#ifndef TT_HLO_BYTECODE_H
#define TT_HLO_BYTECODE_H

#include "hlo/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes begin as MLIR bytecode does; else they may be text. */
bool tt_hlo_is_bytecode(const void *data, size_t size);

/* Reads an artifact of any version from 0.9.0 to 1.20.0, mixed ones included. What comes out need
 * not be a valid program: call tt_hlo_module_verify next.
 *
 * - @main comes first in the module's functions, wherever it stands in the artifact. A module
 *   without @main keeps its order.
 * - A call of a function becomes a composite whose name is "func.call" and whose decomposition is
 *   that function. CHLO operations arrive as composites ("chlo.erf") and stay that.
 * - Legacy operations take their present form where there is one: dot, broadcast, create_token.
 * - Elements of type index become i64. Result accuracies, bounds of dynamic dims, discardable
 *   attributes of operations (but the mhlo.backend_config of a custom call, which becomes its
 *   backend_config) are dropped. Meshes and the shardings of functions are kept as text; a sharding
 *   that asks for a partition in a module of several partitions is UNIMPLEMENTED, but in one with
 *   sdy.manual_computation.
 * - Of a location the name or the file:line:column is kept, that of the innermost frame.
 *
 * An error is INVALID_ARGUMENT or UNIMPLEMENTED with `byte N: ` in front, N being an offset in
 * `data`. The bytes may come from strangers: depth is limited, and memory by a multiple of `size`.
 * Reads `data` only during the call. Thread-safe. */
TT_NODISCARD tt_error *tt_hlo_bytecode_read(const void *data, size_t size,
                                            tt_hlo_module **out_module);

#ifdef __cplusplus
}
#endif

#endif /* TT_HLO_BYTECODE_H */
