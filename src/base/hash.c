#include "base/hash.h"

#include <string.h>

#include "base/attr.h"

/* Each step multiplies two 64-bit words into 128 bits and folds the halves: one multiplication
 * mixes 16 bytes of input. The constants are odd, with about as many ones as zeros. */
__extension__ typedef unsigned __int128 wide;

typedef struct lane_keys {
  uint64_t word, state, end;
} lane_keys;

static const lane_keys lanes[] = {
    {0x9e3779b97f4a7c15U, 0xbf58476d1ce4e5b9U, 0x94d049bb133111ebU},
    {0xc2b2ae3d27d4eb4fU, 0x165667b19e3779f9U, 0xd6e8feb86659fd93U},
};

static uint64_t fold(uint64_t a, uint64_t b) {
  wide product = (wide)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load_u64(const unsigned char *at) {
  uint64_t word = 0;
  memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

static uint64_t mix(const lane_keys *lane, const unsigned char *at, uint64_t state) {
  /* The state is added back, so that a word equal to the constant cannot erase what came before. */
  return fold(load_u64(at) ^ lane->word, load_u64(at + 8) ^ state) +
         ((state << 23) | (state >> 41));
}

static uint64_t hash_lane(const lane_keys *lane, const void *data, size_t size, uint64_t seed) {
  const unsigned char *at = data;
  uint64_t state = fold(seed ^ lane->state, lane->end);
  size_t left = size;
  for (; left >= 16; left -= 16, at += 16)
    state = mix(lane, at, state);
  if (left > 0) {
    unsigned char tail[16] = {0};
    memcpy(tail, at, left);
    state = mix(lane, tail, state);
  }
  /* The size tells a zero-padded tail from real zeros. */
  return fold(fold(state ^ lane->word, (uint64_t)size ^ lane->end), state ^ lane->state);
}

uint64_t tt_hash64(const void *data, size_t size, uint64_t seed) {
  return hash_lane(&lanes[0], data, size, seed);
}

void tt_hash128(const void *data, size_t size, uint64_t out_hash[2]) {
  for (size_t i = 0; i < TT_COUNT(lanes); i++)
    out_hash[i] = hash_lane(&lanes[i], data, size, 0);
}
