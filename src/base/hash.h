/* hash.h: hashes of byte strings, not for secrets.
 *
 * Values are the same on every machine and in every process: they name files of the on-disk cache.
 */
#ifndef TT_BASE_HASH_H
#define TT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint64_t tt_hash64(const void *data, size_t size, uint64_t seed);
/* 128 bits for keys that must not collide in practice. */
void tt_hash128(const void *data, size_t size, uint64_t out_hash[2]);

#ifdef __cplusplus
}
#endif

#endif /* TT_BASE_HASH_H */
