#include "base/map.h"

#include <string.h>

#include "test.h"

static tt_error *put(tt_map *map, const char *key, void *value) {
  return tt_map_put(map, key, strlen(key), tt_map_hash(key, strlen(key)), value);
}

static void *get(const tt_map *map, const char *key) {
  return tt_map_get(map, key, strlen(key), tt_map_hash(key, strlen(key)));
}

TEST(map, finds_what_was_put) {
  tt_map map = {0};
  int a = 1, b = 2;
  char key[] = "alpha";
  EXPECT(get(&map, "alpha") == NULL);
  REQUIRE_OK(put(&map, key, &a));
  REQUIRE_OK(put(&map, "", &b));
  key[0] = 'x'; /* the map has a copy */
  EXPECT(get(&map, "alpha") == &a);
  EXPECT(get(&map, "xlpha") == NULL);
  EXPECT(get(&map, "") == &b);
  EXPECT_INT(map.count, 2);
out:
  tt_map_free(&map);
}

TEST(map, keys_may_hold_zeros_and_share_prefixes) {
  tt_map map = {0};
  int values[3];
  const char key[] = {0, 0, 0};
  for (size_t i = 0; i < 3; i++)
    REQUIRE_OK(tt_map_put(&map, key, i + 1, tt_map_hash(key, i + 1), &values[i]));
  for (size_t i = 0; i < 3; i++)
    EXPECT(tt_map_get(&map, key, i + 1, tt_map_hash(key, i + 1)) == &values[i]);
out:
  tt_map_free(&map);
}

/* Model: present[i] for key i. `hash_of` may make them all collide. */
static void check_against_model(uint64_t (*hash_of)(int)) {
  enum { KEYS = 150 };
  static int values[KEYS];
  tt_map map = {0};
  bool present[KEYS] = {0};
  size_t count = 0;
  unsigned state = 1;
  for (int step = 0; step < 4000; step++) {
    state = state * 1664525U + 1013904223U;
    int key = (int)(state >> 8) % KEYS;
    if (present[key]) {
      EXPECT(tt_map_remove(&map, &key, sizeof key, hash_of(key)) == &values[key]);
      count--;
    } else {
      EXPECT(tt_map_remove(&map, &key, sizeof key, hash_of(key)) == NULL);
      REQUIRE_OK(tt_map_put(&map, &key, sizeof key, hash_of(key), &values[key]));
      count++;
    }
    present[key] = !present[key];
    EXPECT_INT(map.count, count);
    int probe = (int)(state >> 4) % KEYS;
    void *want = present[probe] ? &values[probe] : NULL;
    EXPECT(tt_map_get(&map, &probe, sizeof probe, hash_of(probe)) == want);
  }
  for (int key = 0; key < KEYS; key++)
    EXPECT((tt_map_get(&map, &key, sizeof key, hash_of(key)) != NULL) == present[key]);
out:
  tt_map_free(&map);
}

static uint64_t true_hash(int key) { return tt_map_hash(&key, sizeof key); }
static uint64_t equal_hash(int key) { return key >= 0 ? 7 : 0; }
static uint64_t crowded_hash(int key) { return 14 + (uint64_t)key % 3; }

TEST_WITHOUT_TORTURE(map, agrees_with_a_model) { check_against_model(true_hash); }
TEST_WITHOUT_TORTURE(map, agrees_with_a_model_when_all_collide) { check_against_model(equal_hash); }
TEST_WITHOUT_TORTURE(map, agrees_with_a_model_when_runs_wrap) { check_against_model(crowded_hash); }

TEST(map, iterates_over_each_value_once) {
  enum { KEYS = 100 };
  tt_map map = {0};
  int values[KEYS] = {0};
  size_t position = 0;
  EXPECT(tt_map_next(&map, &position) == NULL);
  for (int i = 0; i < KEYS; i++)
    REQUIRE_OK(tt_map_put(&map, &i, sizeof i, true_hash(i), &values[i]));
  position = 0;
  for (int *value = NULL; (value = tt_map_next(&map, &position)) != NULL;)
    ++*value;
  for (int i = 0; i < KEYS; i++)
    EXPECT_INT(values[i], 1);
out:
  tt_map_free(&map);
}

TEST(map, free_leaves_an_empty_map) {
  tt_map map = {0};
  int a = 0;
  tt_map_free(&map);
  REQUIRE_OK(put(&map, "a", &a));
  tt_map_free(&map);
  EXPECT(get(&map, "a") == NULL);
  EXPECT_INT(map.count, 0);
out:
  tt_map_free(&map);
}
