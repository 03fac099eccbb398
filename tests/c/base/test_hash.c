#include "base/hash.h"

#include <string.h>

#include "test.h"

/* On-disk caches depend on these values: a change of the function must change the cache's version.
 */
TEST(hash, values_are_fixed) {
  uint64_t hash[2];
  EXPECT_INT(tt_hash64("", 0, 0), (int64_t)UINT64_C(0xe2e00d48d0d880a7));
  EXPECT_INT(tt_hash64("The quick brown fox", 19, 0), (int64_t)UINT64_C(0xb099696aae844c95));
  tt_hash128("The quick brown fox", 19, hash);
  EXPECT_INT(hash[0], (int64_t)UINT64_C(0xb099696aae844c95));
  EXPECT_INT(hash[1], (int64_t)UINT64_C(0x0fbd987e493af3c2));
}

TEST(hash, depends_on_seed_and_size) {
  const char zeros[64] = {0};
  for (size_t a = 0; a < sizeof zeros; a++)
    for (size_t b = 0; b < a; b++)
      EXPECT(tt_hash64(zeros, a, 0) != tt_hash64(zeros, b, 0));
  EXPECT(tt_hash64("x", 1, 0) != tt_hash64("x", 1, 1));
  EXPECT(tt_hash64("", 0, 0) == tt_hash64(NULL, 0, 0));
}

TEST(hash, does_not_depend_on_alignment) {
  char buffer[64 + 8];
  for (size_t shift = 0; shift < 8; shift++) {
    for (size_t i = 0; i < 37; i++)
      buffer[shift + i] = (char)i;
    char aligned[37];
    memcpy(aligned, buffer + shift, sizeof aligned);
    EXPECT(tt_hash64(buffer + shift, 37, 5) == tt_hash64(aligned, 37, 5));
  }
}

/* Of 64 bits, about half change with any one bit of the input. */
static void check_avalanche(size_t size) {
  unsigned char data[80] = {0};
  uint64_t base[2], changed[2];
  tt_hash128(data, size, base);
  long total[2] = {0};
  for (size_t bit = 0; bit < size * 8; bit++) {
    data[bit / 8] ^= (unsigned char)(1U << bit % 8);
    tt_hash128(data, size, changed);
    data[bit / 8] ^= (unsigned char)(1U << bit % 8);
    for (int i = 0; i < 2; i++) {
      int count = __builtin_popcountll(base[i] ^ changed[i]);
      EXPECT(count >= 8 && count <= 56);
      total[i] += count;
    }
  }
  for (int i = 0; i < 2; i++)
    EXPECT_DOUBLE((double)total[i] / (double)(size * 8), 32, 2.5);
}

TEST(hash, every_bit_counts) {
  for (size_t size = 1; size <= 80; size++)
    check_avalanche(size);
}

/* A word equal to one of the function's constants must not hide the words before it. */
TEST(hash, constants_in_the_input_do_not_erase_the_rest) {
  const uint64_t constants[] = {0x9e3779b97f4a7c15U, 0xbf58476d1ce4e5b9U, 0x94d049bb133111ebU};
  for (size_t i = 0; i < TT_COUNT(constants); i++) {
    uint64_t a[4] = {1, 2, constants[i], constants[i]};
    uint64_t b[4] = {1, 3, constants[i], constants[i]};
    EXPECT(tt_hash64(a, sizeof a, 0) != tt_hash64(b, sizeof b, 0));
  }
}

/* Keys as the program cache has them: long, and alike but for a small number somewhere. */
TEST(hash, low_bits_spread_similar_keys) {
  enum { BUCKETS = 256, KEYS = BUCKETS * 64 };
  int counts[BUCKETS] = {0};
  for (int i = 0; i < KEYS; i++) {
    int64_t key[6] = {1, 256, i, 64, 0, 1};
    counts[tt_hash64(key, sizeof key, 0) % BUCKETS]++;
  }
  double chi = 0;
  for (int i = 0; i < BUCKETS; i++)
    chi += (counts[i] - 64.0) * (counts[i] - 64.0) / 64.0;
  EXPECT(chi < 400); /* 255 expected, standard deviation 23 */
}
