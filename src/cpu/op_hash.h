/* op_hash.h: what ops say, as numbers that are the same in all processes. */
#ifndef TT_CPU_OP_HASH_H
#define TT_CPU_OP_HASH_H

#include "hlo/hlo.h"

/* What a collective does; not among whom. */
uint64_t tt_cpu_op_hash(const tt_hlo_op *op);
/* Of an attribute of the op. Structs of lists count by their kind alone. */
uint64_t tt_cpu_attr_hash(const tt_hlo_op *op, const tt_hlo_attr *attr, uint64_t hash);
/* Bytes that the elements of a constant take in its attribute: a splat has one, but if there is
 * none at all. */
size_t tt_cpu_constant_size(const tt_hlo_op *op, const tt_hlo_attr *attr);

#endif /* TT_CPU_OP_HASH_H */
