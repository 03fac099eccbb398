#include "base/checked.h"

#include "test.h"

TEST(checked, notices_overflow) {
  int64_t out = 0;
  EXPECT(tt_mul_i64(INT64_MAX / 2, 2, &out));
  EXPECT_INT(out, INT64_MAX - 1);
  EXPECT(!tt_mul_i64(INT64_MAX / 2 + 1, 2, &out));
  EXPECT(tt_add_i64(INT64_MAX, 0, &out));
  EXPECT(!tt_add_i64(INT64_MAX, 1, &out));
  EXPECT(!tt_add_i64(INT64_MIN, -1, &out));
}

TEST(checked, dims_count) {
  int64_t out = 0;
  const int64_t plain[] = {2, 3, 4}, zero[] = {INT64_MAX, INT64_MAX, 0}, huge[] = {INT64_MAX, 2};
  const int64_t negative[] = {0, -1};
  EXPECT(tt_dims_count(plain, 3, &out));
  EXPECT_INT(out, 24);
  EXPECT(tt_dims_count(NULL, 0, &out));
  EXPECT_INT(out, 1);
  EXPECT(tt_dims_count(zero, 3, &out));
  EXPECT_INT(out, 0);
  EXPECT(!tt_dims_count(huge, 2, &out));
  EXPECT(!tt_dims_count(negative, 2, &out));
}
