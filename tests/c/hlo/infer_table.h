/* infer_table.h: inference tests as tables: an op with operand types, attributes and regions, and
 * what comes of it.
 *
 * Types are written as MLIR writes what stands in tensor<>: "2x?xf32", "complex<f32>"; "token".
 * Lists have blanks. */
#ifndef TT_TEST_HLO_INFER_TABLE_H
#define TT_TEST_HLO_INFER_TABLE_H

#include "hlo/ir.h"
#include "test.h"

typedef struct infer_row {
  int line;
  tt_hlo_code code;
  const char *operands;
  const char *want;       /* the result types, or '!' and a part of the message */
  const char *given;      /* result types that the builder gives, or NULL */
  const char *regions[3]; /* "f32 f32 -> f32": arguments and results */
  const tt_hlo_attr *attrs;
  uint32_t attrs_count;
  uint32_t results; /* how many the op has; 0: as many as `want`, `given` or ops.def say */
} infer_row;

#define COUNT_OF(type, ...) (sizeof((const type[]){__VA_ARGS__}) / sizeof(type))
/* ROW(op, operands, want, .field = ...) */
#define ROW(code_, operands_, ...) \
  {.line = __LINE__, .code = TT_HLO_##code_, .operands = operands_, .want = __VA_ARGS__}
#define ATTRS(...) \
  .attrs = (const tt_hlo_attr[]){__VA_ARGS__}, .attrs_count = COUNT_OF(tt_hlo_attr, __VA_ARGS__)
#define ATTR(name_, kind_, ...) {.name = TT_HLO_##name_, .kind = TT_HLO_ATTR_##kind_, __VA_ARGS__}
#define I64(name, value) ATTR(name, I64, .i64 = (value))
#define I32(name, value) ATTR(name, I32, .i64 = (value))
#define BOOL(name, value) ATTR(name, BOOL, .i64 = (value))
#define ENUM(name, value) ATTR(name, ENUM, .i64 = (value))
#define STRING(name, value) ATTR(name, STRING, .text = (value))
#define LIST(...)                                                     \
  {                                                                   \
    COUNT_OF(int64_t, __VA_ARGS__), (const int64_t[]) { __VA_ARGS__ } \
  }
#define I64S(name, ...) ATTR(name, I64S, .i64s = LIST(__VA_ARGS__))
#define EMPTY(name) ATTR(name, I64S, .i64s = {0, NULL})
#define MATRIX(name, columns_, ...) \
  ATTR(name, MATRIX, .i64s = LIST(__VA_ARGS__), .columns = (columns_))
#define DIMS(name, kind, type, ...) ATTR(name, kind, .dims = &(const type){__VA_ARGS__})

void check_rows(const char *file, const infer_row *rows, size_t rows_count);
#define CHECK_ROWS(rows) check_rows(__FILE__, rows, TT_COUNT(rows))

/* An op in `arena` as a row says it; NULL when memory ran out. Also for tests that go on with it.
 */
tt_hlo_op *make_op(tt_arena *arena, const infer_row *row);

#endif /* TT_TEST_HLO_INFER_TABLE_H */
