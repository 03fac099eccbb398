/* combine.h: rows of a reduction's one op, for ops that combine elements in place: scatter,
 * reduce_window. */
#ifndef TT_CPU_KERNELS_COMBINE_H
#define TT_CPU_KERNELS_COMBINE_H

#include "cpu/kernel.h"

/* to[i * to_step] = to[i * to_step] o from[i * from_step] for `count` elements, in order. */
typedef void (*tt_cpu_combine)(void *to, int64_t to_step, const void *from, int64_t from_step,
                               int64_t count);

/* NULL when there is none. TT_HLO_RETURN: to = from. Every dtype but f8 and 4 bits and complex
 * numbers with an order. */
tt_cpu_combine tt_cpu_combine_find(tt_hlo_code code, tt_dtype dtype);
/* Writes the element that changes none; false when there is none. */
bool tt_cpu_combine_identity(tt_hlo_code code, tt_dtype dtype, void *out);

#endif /* TT_CPU_KERNELS_COMBINE_H */
