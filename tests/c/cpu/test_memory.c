#include "cpu/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "test.h"

TEST_WITHOUT_TORTURE(cpu_memory, every_size_is_aligned_and_writable) {
  int64_t before = tt_cpu_memory_stats_get().in_use;
  for (int64_t size = 0; size < 9 << 20; size += 1 + size / 7) {
    unsigned char *block = tt_cpu_memory_alloc(size);
    REQUIRE(block != NULL);
    EXPECT_INT((uintptr_t)block % 64, 0);
    memset(block, 0xab, (size_t)size);
    EXPECT(tt_cpu_memory_stats_get().in_use >= before + size);
    tt_cpu_memory_free(block);
    EXPECT_INT(tt_cpu_memory_stats_get().in_use, before);
  }
out:;
}

TEST_WITHOUT_TORTURE(cpu_memory, blocks_do_not_overlap) {
  enum { COUNT = 3000 };
  static unsigned char *blocks[COUNT];
  static int64_t sizes[COUNT];
  unsigned seed = 1;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < COUNT; i++) {
      seed = seed * 1664525 + 1013904223;
      sizes[i] = (int64_t)(seed >> 8) % (1 << (seed % 17));
      blocks[i] = tt_cpu_memory_alloc(sizes[i]);
      REQUIRE(blocks[i] != NULL);
      memset(blocks[i], i & 255, (size_t)sizes[i]);
    }
    for (int i = 0; i < COUNT; i++) {
      for (int64_t k = 0; k < sizes[i]; k++)
        REQUIRE(blocks[i][k] == (i & 255));
      tt_cpu_memory_free(blocks[i]);
    }
  }
out:;
}

TEST_WITHOUT_TORTURE(cpu_memory, freed_blocks_are_kept_until_trimmed) {
  void *first = tt_cpu_memory_alloc(5 << 20), *again = NULL;
  REQUIRE(first != NULL);
  EXPECT_INT((uintptr_t)first % (2 << 20), 0); /* of huge pages */
  tt_cpu_memory_free(first);
  EXPECT(tt_cpu_memory_stats_get().kept >= 5 << 20);
  again = tt_cpu_memory_alloc(5 << 20);
  EXPECT(again == first);
  tt_cpu_memory_free(again);
  tt_cpu_memory_trim();
  EXPECT(tt_cpu_memory_stats_get().kept < 5 << 20);
out:;
}

TEST_WITHOUT_TORTURE(cpu_memory, trimming_leaves_what_is_in_use) {
  enum { COUNT = 64, SIZE = 300 << 10 };
  unsigned char *blocks[COUNT];
  for (int i = 0; i < COUNT; i++) {
    blocks[i] = tt_cpu_memory_alloc(SIZE);
    REQUIRE(blocks[i] != NULL);
    memset(blocks[i], i, SIZE);
  }
  for (int i = 0; i < COUNT; i++)
    if (i != 7)
      tt_cpu_memory_free(blocks[i]);
  tt_cpu_memory_trim();
  for (int k = 0; k < SIZE; k++)
    REQUIRE(blocks[7][k] == 7);
  for (int i = 0; i < COUNT; i++)
    if (i != 7) {
      blocks[i] = tt_cpu_memory_alloc(SIZE);
      REQUIRE(blocks[i] != NULL);
      memset(blocks[i], 0, SIZE);
    }
  for (int k = 0; k < SIZE; k++)
    REQUIRE(blocks[7][k] == 7);
  for (int i = 0; i < COUNT; i++)
    tt_cpu_memory_free(blocks[i]);
  tt_cpu_memory_trim();
out:;
}

TEST_WITHOUT_TORTURE(cpu_memory, limit_and_impossible_sizes) {
  int64_t in_use = tt_cpu_memory_stats_get().in_use;
  void *block = NULL;
  tt_cpu_memory_limit_set(in_use + (1 << 20));
  EXPECT_INT(tt_cpu_memory_stats_get().limit, in_use + (1 << 20));
  EXPECT(tt_cpu_memory_alloc(2 << 20) == NULL);
  block = tt_cpu_memory_alloc(1 << 19);
  EXPECT(block != NULL);
  EXPECT(tt_cpu_memory_alloc((1 << 19) + 1) == NULL);
  tt_cpu_memory_free(block);
  tt_cpu_memory_limit_set(-1);
  EXPECT(tt_cpu_memory_alloc(-1) == NULL);
  EXPECT(tt_cpu_memory_alloc(INT64_MAX) == NULL);
  EXPECT(tt_cpu_memory_alloc(INT64_C(1) << 60) == NULL);
  EXPECT_INT(tt_cpu_memory_stats_get().in_use, in_use);
  tt_cpu_memory_free(NULL);
}

static void *churn(void *user) {
  unsigned seed = (unsigned)(uintptr_t)user;
  bool *ok = malloc(sizeof *ok);
  if (ok == NULL)
    return NULL;
  *ok = true;
  void *held[16] = {NULL};
  for (int i = 0; i < 4000; i++) {
    seed = seed * 1664525 + 1013904223;
    unsigned at = (seed >> 16) % 16;
    tt_cpu_memory_free(held[at]);
    size_t size = 8 + (seed >> 8) % (i % 100 == 0 ? 4 << 20 : 4000);
    held[at] = tt_cpu_memory_alloc((int64_t)size);
    *ok = *ok && held[at] != NULL;
    if (held[at] != NULL)
      memcpy(held[at], &seed, sizeof seed);
    if (i % 1000 == 0)
      tt_cpu_memory_trim();
  }
  for (int i = 0; i < 16; i++)
    tt_cpu_memory_free(held[i]);
  return ok;
}

TEST_WITHOUT_TORTURE(cpu_memory, threads) {
  int64_t in_use = tt_cpu_memory_stats_get().in_use;
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; i++)
    REQUIRE(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
  for (int i = 0; i < 4; i++) {
    void *ok = NULL;
    pthread_join(threads[i], &ok);
    REQUIRE(ok != NULL);
    EXPECT(*(bool *)ok);
    free(ok);
  }
  EXPECT_INT(tt_cpu_memory_stats_get().in_use, in_use);
out:;
}
