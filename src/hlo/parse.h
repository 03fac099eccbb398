/* parse.h: StableHLO text in, a module out. */
#ifndef TT_HLO_PARSE_H
#define TT_HLO_PARSE_H

#include "hlo/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the `size` bytes of StableHLO text at `text`: each operation in MLIR's generic form, as
 * print.c writes it, or in the form that StableHLO's own printer gives it. What comes out need not
 * be a valid program: call tt_hlo_module_verify next. Printing the result of parsing a printed
 * module gives the same text.
 *
 * - @main comes first in the module's functions, wherever it stands in the text. A module of one
 *   function may name it as it likes.
 * - A call of a function becomes a composite whose name is "func.call" and whose decomposition is
 *   that function.
 * - jax's mhlo.backend_config of a custom call becomes its backend_config, and api_version 4.
 * - Other attributes that no operation here has are dropped; so are result accuracies and bounds of
 * dynamic dims. Meshes and the shardings of @main are kept as text. A sharding that asks for a
 * partition in a module of several partitions is UNIMPLEMENTED, but in one with
 * sdy.manual_computation.
 * - Of a location the name or the file:line:column is kept, that of the outermost frame.
 *
 * An error is INVALID_ARGUMENT or UNIMPLEMENTED with `line:column: ` in front. The text may come
 * from strangers: depth is limited, and memory by a small multiple of the text's size. Reads the
 * text only during the call. Thread-safe. */
TT_NODISCARD tt_error *tt_hlo_parse(const char *text, size_t size, tt_hlo_module **out_module);

#ifdef __cplusplus
}
#endif

#endif /* TT_HLO_PARSE_H */
