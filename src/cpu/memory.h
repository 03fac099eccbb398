/* memory.h: memory of arrays: blocks that are kept when freed, in huge pages where they are large.
 *
 * Thread-safe. Process-wide, as the host's memory is. */
#ifndef TT_CPU_MEMORY_H
#define TT_CPU_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 64-byte aligned; `size` 0 gives an address too. NULL out of memory or over the limit. */
void *tt_cpu_memory_alloc(int64_t size);
void tt_cpu_memory_free(void *pointer); /* NULL is allowed */

typedef struct tt_cpu_memory_stats {
  int64_t in_use, peak, kept, limit, allocations; /* bytes, but `allocations`; limit -1: none */
} tt_cpu_memory_stats;
tt_cpu_memory_stats tt_cpu_memory_stats_get(void);
/* Blocks in use at a time, in bytes; -1: no limit. */
void tt_cpu_memory_limit_set(int64_t limit);
/* What the machine has, or this process's control group where that is less; -1: not known. */
int64_t tt_cpu_memory_of_machine(void);
/* Gives what is kept back to the system. */
void tt_cpu_memory_trim(void);

#ifdef __cplusplus
}
#endif

#endif /* TT_CPU_MEMORY_H */
