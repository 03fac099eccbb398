#include "low_test.h"

/* torch.promote_types, as torch 2.13 gives it. */
TEST(low_types, two_tensors) {
  static const struct {
    tt_dtype a, b, want;
  } cases[] = {
      {TT_PRED, TT_PRED, TT_PRED}, {TT_PRED, TT_U8, TT_U8},    {TT_U8, TT_S8, TT_S16},
      {TT_U8, TT_S16, TT_S16},     {TT_U8, TT_S64, TT_S64},    {TT_S8, TT_S32, TT_S32},
      {TT_S64, TT_F16, TT_F16},    {TT_S64, TT_BF16, TT_BF16}, {TT_F16, TT_BF16, TT_F32},
      {TT_F16, TT_F32, TT_F32},    {TT_F32, TT_F64, TT_F64},   {TT_F64, TT_C64, TT_C128},
      {TT_F32, TT_C64, TT_C64},    {TT_S64, TT_C64, TT_C64},   {TT_C64, TT_C128, TT_C128},
      {TT_PRED, TT_BF16, TT_BF16}, {TT_S32, TT_F64, TT_F64},
  };
  for (size_t i = 0; i < TT_COUNT(cases); i++) {
    EXPECT_INT(tt_low_promote2(cases[i].a, cases[i].b), cases[i].want);
    EXPECT_INT(tt_low_promote2(cases[i].b, cases[i].a), cases[i].want);
  }
}

TEST(low_types, computing_type) {
  EXPECT_INT(tt_low_opmath(TT_F16), TT_F32);
  EXPECT_INT(tt_low_opmath(TT_BF16), TT_F32);
  EXPECT_INT(tt_low_opmath(TT_F32), TT_F32);
  EXPECT_INT(tt_low_opmath(TT_F64), TT_F64);
  EXPECT_INT(tt_low_opmath(TT_S64), TT_S64);
}

/* torch.result_type: dimensioned tensors before those of rank 0 before numbers, each only where its
 * kind is higher. */
TEST(low_types, result_type) {
  static const struct {
    tt_dtype tensor;
    int rank, other_rank; /* other_rank -1: a number; -2: a wrapped number */
    tt_dtype other, want;
  } cases[] = {
      {TT_F32, 1, 0, TT_F64, TT_F32},    {TT_F32, 0, 0, TT_F64, TT_F64},
      {TT_S32, 2, 0, TT_F16, TT_F16},    {TT_S32, 1, -1, TT_F64, TT_F32},
      {TT_BF16, 1, -1, TT_F64, TT_BF16}, {TT_S8, 1, -1, TT_S64, TT_S8},
      {TT_PRED, 1, -1, TT_S64, TT_S64},  {TT_F16, 0, -1, TT_F64, TT_F16},
      {TT_S64, 0, -2, TT_F64, TT_F32},   {TT_F32, 1, -2, TT_F64, TT_F32},
      {TT_F32, 1, -1, TT_C128, TT_C64},  {TT_F64, 1, -1, TT_C128, TT_C128},
  };
  int64_t dims[] = {2, 2};
  for (size_t i = 0; i < TT_COUNT(cases); i++) {
    low_case c;
    REQUIRE_OK(low_begin(&c, "aten::add.Tensor"));
    low_tensor(&c, cases[i].tensor, (size_t)cases[i].rank, dims, NULL);
    if (cases[i].other_rank == -1) {
      low_number(&c, 1)->scalar.dtype = cases[i].other;
    } else {
      size_t rank = cases[i].other_rank > 0 ? (size_t)cases[i].other_rank : 0;
      low_tensor(&c, cases[i].other, rank, dims, NULL)->wrapped = cases[i].other_rank == -2;
    }
    if (!EXPECT_INT(tt_low_promote(&c.ctx, c.args, 2), cases[i].want))
      EXPECT_INT(i, -1); /* which row */
  out:
    low_end(&c);
  }
}
