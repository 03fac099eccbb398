#include "hlo/ir.h"
#include "test.h"

static const int64_t dims23[] = {2, 3}, dims2x[] = {2, TT_HLO_DYNAMIC}, dims24[] = {2, 4};

TEST(hlo_ir, type_equal_and_compatible) {
  tt_hlo_type a = {.dtype = TT_F32, .rank = 2, .dims = dims23},
              b = {.dtype = TT_F32, .rank = 2, .dims = dims2x};
  tt_hlo_type c = {.dtype = TT_F32, .rank = 2, .dims = dims24},
              d = {.dtype = TT_F64, .rank = 2, .dims = dims23};
  tt_hlo_type scalar = {.dtype = TT_F32}, token = {.token = true};
  EXPECT(tt_hlo_type_equal(&a, &a) && tt_hlo_type_equal(&scalar, &scalar) &&
         tt_hlo_type_equal(&token, &token));
  EXPECT(!tt_hlo_type_equal(&a, &b) && !tt_hlo_type_equal(&a, &c) && !tt_hlo_type_equal(&a, &d));
  EXPECT(!tt_hlo_type_equal(&a, &scalar) && !tt_hlo_type_equal(&scalar, &token));
  EXPECT(tt_hlo_type_compatible(&a, &b) && tt_hlo_type_compatible(&b, &c) &&
         tt_hlo_type_compatible(&token, &token));
  EXPECT(!tt_hlo_type_compatible(&a, &c) && !tt_hlo_type_compatible(&a, &d) &&
         !tt_hlo_type_compatible(&a, &token));
}

TEST(hlo_ir, type_check) {
  const int64_t negative[] = {-1}, huge[] = {INT64_C(1) << 61, 2},
                empty[] = {INT64_C(1) << 61, 4, 0};
  int64_t many[TT_HLO_RANK_MAX + 1];
  for (int i = 0; i <= TT_HLO_RANK_MAX; i++)
    many[i] = 1;
  tt_hlo_type type = {.dtype = TT_F32, .rank = TT_HLO_RANK_MAX, .dims = many};
  EXPECT_OK(tt_hlo_type_check(&type));
  type.rank++;
  EXPECT_ERR(tt_hlo_type_check(&type), TT_INVALID_ARGUMENT, "rank 65 is not in [0, 64]");
  type = (tt_hlo_type){.dtype = TT_F32, .rank = 1, .dims = negative};
  EXPECT_ERR(tt_hlo_type_check(&type), TT_INVALID_ARGUMENT, "dim 0 is negative: -1");
  type = (tt_hlo_type){.dtype = TT_S8, .rank = 2, .dims = huge};
  EXPECT_OK(tt_hlo_type_check(&type));
  type.dtype = TT_F32;
  EXPECT_ERR(tt_hlo_type_check(&type), TT_INVALID_ARGUMENT, "overflows 63 bits");
  type = (tt_hlo_type){.dtype = TT_F64, .rank = 3, .dims = empty};
  EXPECT_OK(tt_hlo_type_check(&type));
  type.dims = NULL;
  EXPECT_ERR(tt_hlo_type_check(&type), TT_INVALID_ARGUMENT, "a tensor of rank 3 has no dims");
  type = (tt_hlo_type){.dtype = (tt_dtype)1000};
  EXPECT_ERR(tt_hlo_type_check(&type), TT_INVALID_ARGUMENT, "no dtype has the number 1000");
}

TEST(hlo_ir, attributes_by_name) {
  tt_hlo_attr attrs[] = {{.name = TT_HLO_K, .i64 = 1}, {.name = TT_HLO_DIMENSION, .i64 = 2}};
  tt_hlo_op op = {.code = TT_HLO_CHLO_TOP_K, .attrs = attrs, .attrs_count = 2};
  EXPECT(tt_hlo_op_attr(&op, TT_HLO_DIMENSION) == &attrs[1]);
  EXPECT(tt_hlo_op_attr(&op, TT_HLO_LOWER) == NULL);
}

TEST(hlo_ir, tables_are_full) {
  for (int i = 0; i < TT_HLO_OP_COUNT; i++)
    EXPECT(tt_hlo_ops[i].mnemonic != NULL && tt_hlo_ops[i].infer != NULL);
  for (int i = 0; i < TT_HLO_ATTR_NAME_COUNT; i++)
    EXPECT(tt_hlo_attr_names[i] != NULL);
}

TEST(hlo_ir, unknown_op) {
  tt_arena arena = {0};
  tt_hlo_op op = {.code = TT_HLO_OP_COUNT};
  EXPECT_ERR(tt_hlo_op_infer(&arena, &op), TT_INVALID_ARGUMENT, "no operation has the number");
  tt_arena_reset(&arena);
}

TEST(hlo_ir, module) {
  tt_hlo_module *module = NULL;
  REQUIRE_OK(tt_hlo_module_new(&module));
  EXPECT_INT(module->num_replicas, 1);
  EXPECT_INT(module->num_partitions, 1);
out:
  tt_hlo_module_free(module);
  tt_hlo_module_free(NULL);
}
