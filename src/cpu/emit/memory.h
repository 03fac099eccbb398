/* memory.h: executable memory in pieces.
 *
 * Pages are mapped twice, once writable and once executable, so that no page has to change for a
 * new piece beside those that run. Children of fork share them, so a fork seals all pages: from
 * then on neither process writes there; new pieces go to new pages. */
#ifndef TT_CPU_EMIT_MEMORY_H
#define TT_CPU_EMIT_MEMORY_H

#include <stddef.h>

/* A copy of the `size` bytes that can be called; 64-byte aligned. NULL: there is none to be had.
 * Thread-safe. */
void *tt_cpu_code_memory_put(const void *bytes, size_t size);
void tt_cpu_code_memory_free(void *piece, size_t size);

#endif /* TT_CPU_EMIT_MEMORY_H */
