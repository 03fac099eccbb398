/* Files that nobody's writer makes. */
#include <string.h>

#include "test_bytecode.h"

/* A number below 128 as a varint, and with a flag behind it. */
#define V(n) (uint8_t)((n) << 1 | 1)
#define F(n, flag) V((n) << 1 | (flag))

typedef struct piece {
  const void *data;
  size_t size;
} piece;
#define PIECE(...) {(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})}

/* A NUL between strings; the first is empty. */
#define STRINGS(text) {text, sizeof(text) - 1}

enum { BUILTIN, VHLO };                           /* dialects */
enum { MODULE, FUNC, NEGATE, RETURN, COMPOSITE }; /* operations */
enum { UNKNOWN, EMPTY, MAIN, NUMBER, CIRCLE };    /* attributes */
enum { HAS_RESULTS = 2, HAS_OPERANDS = 4, HAS_REGIONS = 16, HAS_PROPERTIES = 64 };

/* A file of version 6 in pieces. That of `sound` is
 *   func @main(%0: tensor<f32>) { %1 = negate %0; return %1 } */
typedef struct draft {
  uint8_t version;
  piece strings, dialects, attrs, sizes, function, properties;
} draft;

static const draft sound = {
    .version = V(6),
    .strings =
        STRINGS("\0builtin\0vhlo\0module\0func_v1\0negate_v1\0return_v1\0main\0composite_v1"),
    .dialects = PIECE(V(2), F(1, 0), F(2, 0), V(5), V(BUILTIN), V(1), F(3, 1), V(VHLO), V(4),
                      F(4, 1), F(5, 1), F(6, 1), F(8, 1)),
    /* unknown location; empty array; "main"; 1 : i64; an array that holds itself; f32, tensor<f32>,
     * i64 */
    .attrs = PIECE(V(15), V(1), V(0), V(14), V(7), V(9), V(2), V(3), V(1), V(1), V(CIRCLE), V(4),
                   V(20), V(0), V(0), V(14)),
    .sizes = PIECE(V(5), V(3), V(BUILTIN), V(1), F(1, 1), V(VHLO), V(4), F(2, 1), F(2, 1), F(3, 1),
                   F(3, 1), V(VHLO), V(3), F(1, 1), F(3, 1), F(1, 1)),
    .function =
        PIECE(V(1), V(2), F(2, 1), V(1), F(1, 0), 0, V(NEGATE), HAS_RESULTS | HAS_OPERANDS,
              V(UNKNOWN), V(1), V(1), V(1), V(0), V(RETURN), HAS_OPERANDS, V(UNKNOWN), V(1), V(1)),
    .properties = PIECE(V(2), V(5), V(EMPTY), V(EMPTY), V(EMPTY), V(MAIN), V(MAIN), V(4), V(CIRCLE),
                        V(MAIN), V(MAIN), V(NUMBER)),
};

static void put_varint(tt_bytes *out, size_t n) {
  if (n < 128) {
    tt_bytes_char(out, (char)V(n));
    return;
  }
  uint64_t wide = n;
  tt_bytes_char(out, 0);
  tt_bytes_append(out, &wide, sizeof wide);
}

static void put_section(tt_bytes *out, unsigned id, piece body) {
  tt_bytes_char(out, (char)id);
  put_varint(out, body.size);
  tt_bytes_append(out, body.data, body.size);
}

/* Sizes from the last to the first, then the strings; the literal's own NUL ends the last. */
static void put_strings(tt_bytes *out, piece strings) {
  const char *text = strings.data;
  size_t size = strings.size + 1, count = 0;
  tt_bytes body = {0};
  for (size_t i = 0; i < size; i++)
    count += text[i] == '\0';
  put_varint(&body, count);
  for (size_t end = size; end > 0;) {
    size_t begin = end - 1;
    while (begin > 0 && text[begin - 1] != '\0')
      begin--;
    put_varint(&body, end - begin);
    end = begin;
  }
  tt_bytes_append(&body, text, size);
  put_section(out, 0, (piece){body.data, body.size});
  tt_bytes_free(&body);
}

/* A module and a function in sections of their own around the body. */
static void put_ir(tt_bytes *out, piece function) {
  static const uint8_t module_head[] = {F(1, 0), V(MODULE), HAS_REGIONS, V(UNKNOWN), F(1, 1)};
  static const uint8_t func_head[] = {
      V(1), V(0), F(1, 0), V(FUNC), HAS_REGIONS | HAS_PROPERTIES, V(UNKNOWN), V(0), F(1, 1)};
  tt_bytes body = {0}, ir = {0};
  tt_bytes_append(&body, func_head, sizeof func_head);
  put_section(&body, 4, function);
  tt_bytes_append(&ir, module_head, sizeof module_head);
  put_section(&ir, 4, (piece){body.data, body.size});
  put_section(out, 4, (piece){ir.data, ir.size});
  tt_bytes_free(&ir);
  tt_bytes_free(&body);
}

static void put_file(tt_bytes *out, const draft *d) {
  tt_bytes_append(out, "ML\xEFR", 4);
  tt_bytes_char(out, (char)d->version);
  tt_bytes_append(out, "test", 5);
  put_section(out, 1, d->dialects);
  put_section(out, 3, d->sizes);
  put_section(out, 2, d->attrs);
  put_ir(out, d->function);
  put_strings(out, d->strings);
  put_section(out, 8, d->properties);
}

static tt_error *read_draft(const draft *d) {
  tt_error *err = NULL;
  tt_bytes file = {0};
  tt_hlo_module *module = NULL;
  put_file(&file, d);
  TT_TRY(tt_bytes_status(&file));
  TT_TRY(tt_hlo_bytecode_read(file.data, file.size, &module));
  TT_TRY(tt_hlo_module_verify(module));
out:
  tt_hlo_module_free(module);
  tt_bytes_free(&file);
  return err;
}

#define CHECK(member, wanted, ...)                                 \
  do {                                                             \
    draft changed = sound;                                         \
    changed.member = (piece)PIECE(__VA_ARGS__);                    \
    EXPECT_ERR(read_draft(&changed), TT_INVALID_ARGUMENT, wanted); \
  } while (0)

TEST(hlo_bytecode_hostile, sound) {
  EXPECT_OK(read_draft(&sound));
  draft d = sound;
  d.version = V(7);
  EXPECT_ERR(read_draft(&d), TT_INVALID_ARGUMENT, "byte 4: bytecode version 7");
}

TEST(hlo_bytecode_hostile, tables) {
  CHECK(dialects, "string 9 of 9", V(1), F(9, 0), V(0));
  CHECK(dialects, "dialect 5 of 2", V(2), F(1, 0), F(2, 0), V(1), V(5), V(1), F(3, 1));
  CHECK(dialects, "more than 1 operations", V(2), F(1, 0), F(2, 0), V(1), V(0), V(2), F(3, 1),
        F(3, 1));
  CHECK(dialects, "100 dialects in 1 bytes", V(100), V(0));
  CHECK(sizes, "100 attributes in 2 bytes", V(100), V(0), V(0));
  CHECK(sizes, "an attribute or type of 60 bytes", V(1), V(0), V(0), V(1), F(60, 1), V(0), V(0));
  CHECK(sizes, "0 entries where 5 are left", V(5), V(0), V(0), V(0), V(0), V(0), V(0));
  CHECK(properties, "properties of 100 bytes in 0", V(1), V(100));
  CHECK(properties, "1 bytes too many in the properties section", V(1), V(1), V(0), V(0));
}

/* The body of @main begins with the number of its blocks and of its values. */
TEST(hlo_bytecode_hostile, values) {
  CHECK(function, "100 values in 2 bytes", V(1), V(100), F(0, 0), 0);
  CHECK(function, "type 9 of 3", V(1), V(1), F(0, 1), V(1), F(9, 0), 0);
  CHECK(function, "a region says that it has 2 values, it has 1", V(1), V(2), F(0, 1), V(1),
        F(1, 0), 0, V(0));
  CHECK(function, "more values than the region says", V(1), V(0), F(0, 1), V(1), F(1, 0), 0);
  CHECK(function, "value 5 of 2", V(1), V(2), F(1, 1), V(1), F(1, 0), 0, V(RETURN), HAS_OPERANDS,
        V(UNKNOWN), V(1), V(5));
  CHECK(function, "value 1 is used before it is defined", V(1), V(2), F(1, 1), V(1), F(1, 0), 0,
        V(NEGATE), HAS_RESULTS | HAS_OPERANDS, V(UNKNOWN), V(1), V(1), V(1), V(1));
  CHECK(function, "operation name 100 of 5", V(1), V(0), F(1, 0), V(100));
  CHECK(function, "attribute 100 of 5", V(1), V(0), F(1, 0), V(RETURN), 0, V(100));
  CHECK(function, "the data end", V(1), V(0), F(1, 0), V(RETURN));
  CHECK(function, "60 operations in 1 bytes", V(1), V(0), F(60, 0), V(RETURN));
  CHECK(function, "1 bytes too many in a function", V(1), V(0), F(0, 0), V(0));
  CHECK(function, "vhlo.func_v1 in a function", V(1), V(0), F(1, 0), V(FUNC), 0, V(UNKNOWN));
}

TEST(hlo_bytecode_hostile, types) {
  draft d = sound;
  /* A tensor of tensors, and one whose elements are itself. */
  CHECK(attrs, "no type has the code 99", V(15), V(1), V(0), V(14), V(7), V(9), V(2), V(3), V(1),
        V(1), V(CIRCLE), V(99), V(20), V(0), V(0), V(14));
  CHECK(attrs, "100 dims in 1 bytes", V(15), V(1), V(0), V(14), V(7), V(9), V(2), V(3), V(1), V(1),
        V(CIRCLE), V(4), V(20), V(100), V(0), V(14));
  d.attrs = (piece)PIECE(V(15), V(1), V(0), V(14), V(7), V(9), V(2), V(3), V(1), V(1), V(CIRCLE),
                         V(4), V(20), V(0), V(1), V(14));
  EXPECT_ERR(read_draft(&d), TT_UNIMPLEMENTED, "elements of type tensor");
  /* complex<> of itself */
  d.attrs = (piece)PIECE(V(15), V(1), V(0), V(14), V(7), V(9), V(2), V(3), V(1), V(1), V(CIRCLE),
                         V(4), V(20), V(0), V(2), V(1));
  d.sizes = (piece)PIECE(V(5), V(3), V(BUILTIN), V(1), F(1, 1), V(VHLO), V(4), F(2, 1), F(2, 1),
                         F(3, 1), F(3, 1), V(VHLO), V(3), F(1, 1), F(3, 1), F(1, 1));
  EXPECT_ERR(read_draft(&d), TT_INVALID_ARGUMENT, "the data end in the middle of a number");
}

/* composite_attributes is a dictionary of which only the text is of interest. */
static const piece composite =
    PIECE(V(1), V(2), F(1, 1), V(1), F(1, 0), 0, V(COMPOSITE),
          HAS_RESULTS | HAS_OPERANDS | HAS_PROPERTIES, V(UNKNOWN), V(1), V(1), V(1), V(1), V(0));

TEST(hlo_bytecode_hostile, attributes_in_a_circle) {
  draft d = sound;
  d.function = composite;
  EXPECT_ERR(read_draft(&d), TT_INVALID_ARGUMENT, "may not be an attribute of kind 1 of vhlo");
  /* The dictionary {main = itself}. */
  d.attrs = (piece)PIECE(V(15), V(1), V(0), V(14), V(7), V(9), V(2), V(3), V(6), V(1), V(MAIN),
                         V(CIRCLE), V(4), V(20), V(0), V(0), V(14));
  d.sizes = (piece)PIECE(V(5), V(3), V(BUILTIN), V(1), F(1, 1), V(VHLO), V(4), F(2, 1), F(2, 1),
                         F(3, 1), F(4, 1), V(VHLO), V(3), F(1, 1), F(3, 1), F(1, 1));
  EXPECT_ERR(read_draft(&d), TT_INVALID_ARGUMENT, "attributes are nested deeper than 32");
}

/* Dictionaries that each hold the next one twice: 2^20 places for the innermost, which is empty. */
TEST(hlo_bytecode_hostile, attributes_that_multiply) {
  enum { LEVELS = 20 };
  static const uint8_t head[] = {V(15), V(1), V(0), V(14), V(7)};
  static const uint8_t innermost[] = {V(6), V(0)}, types[] = {V(4), V(20), V(0), V(0)};
  static const uint8_t sizes_head[] = {
      V(MAIN + 2 + LEVELS), V(2),    V(BUILTIN), V(1), F(1, 1), V(VHLO),
      V(3 + LEVELS),        F(2, 1), F(2, 1)};
  static const uint8_t sizes_end[] = {F(2, 1), V(VHLO), V(2), F(1, 1), F(3, 1)};
  tt_bytes attrs = {0}, sizes = {0};
  draft d = sound;
  tt_bytes_append(&attrs, head, sizeof head);
  tt_bytes_append(&sizes, sizes_head, sizeof sizes_head);
  for (int i = 1; i <= LEVELS; i++) {
    const uint8_t dict[] = {V(6), V(2), V(MAIN), V(MAIN + i + 1), V(MAIN), V(MAIN + i + 1)};
    tt_bytes_append(&attrs, dict, sizeof dict);
    tt_bytes_char(&sizes, (char)F(sizeof dict, 1));
  }
  tt_bytes_append(&attrs, innermost, sizeof innermost);
  tt_bytes_append(&attrs, types, sizeof types);
  tt_bytes_append(&sizes, sizes_end, sizeof sizes_end);
  if (EXPECT_OK(tt_bytes_status(&attrs)) && EXPECT_OK(tt_bytes_status(&sizes))) {
    d.attrs = (piece){attrs.data, attrs.size};
    d.sizes = (piece){sizes.data, sizes.size};
    d.properties = (piece)PIECE(V(2), V(5), V(EMPTY), V(EMPTY), V(EMPTY), V(MAIN), V(MAIN), V(4),
                                V(MAIN + 1), V(MAIN), V(MAIN), V(MAIN));
    d.function = composite;
    EXPECT_ERR(read_draft(&d), TT_INVALID_ARGUMENT, "the attributes are too large as text");
  }
  tt_bytes_free(&sizes);
  tt_bytes_free(&attrs);
}

/* Each composite holds the next in its region. */
TEST(hlo_bytecode_hostile, deep_regions) {
  enum { LEVELS = 3000 };
  static const uint8_t region[] = {V(1), V(0), F(1, 0)};
  static const uint8_t op[] = {V(COMPOSITE), HAS_REGIONS | HAS_PROPERTIES, V(UNKNOWN), V(1),
                               F(1, 0)};
  tt_bytes body = {0};
  draft d = sound;
  d.strings =
      (piece)STRINGS("\0builtin\0vhlo\0module\0func_v1\0negate_v1\0return_v1\0main\0case_v1");
  d.properties = (piece)PIECE(V(2), V(5), V(EMPTY), V(EMPTY), V(EMPTY), V(MAIN), V(MAIN), V(0));
  for (int i = 0; i < LEVELS; i++) {
    tt_bytes_append(&body, region, sizeof region);
    tt_bytes_append(&body, op, sizeof op);
  }
  if (EXPECT_OK(tt_bytes_status(&body))) {
    d.function = (piece){body.data, body.size};
    EXPECT_ERR(read_draft(&d), TT_INVALID_ARGUMENT, "regions are nested deeper than 100");
  }
  tt_bytes_free(&body);
}

/* Reads what may be anything; a module that comes out must bear the verifier and the printer. */
static tt_error *read_anything(const void *data, size_t size) {
  tt_error *err = NULL;
  tt_bytes text = {0};
  tt_hlo_module *module = NULL;
  TT_TRY(tt_hlo_bytecode_read(data, size, &module));
  TT_TRY(tt_hlo_module_verify(module));
  TT_TRY(tt_hlo_module_print(module, &text));
out:
  tt_bytes_free(&text);
  tt_hlo_module_free(module);
  return err;
}

/* In memory of just that size, so that the address sanitizer sees a step beyond the end. */
TEST_WITHOUT_TORTURE(hlo_bytecode_hostile, every_prefix_is_an_error) {
  for (size_t i = 0; i < test_artifacts_count; i++) {
    tt_bytes file = {0};
    if (!EXPECT_OK(test_artifact_load(&test_artifacts[i], &file)))
      continue;
    for (size_t size = 0; size < file.size; size++) {
      void *copy = malloc(size + (size == 0));
      if (!EXPECT(copy != NULL))
        break;
      memcpy(copy, file.data, size);
      tt_error *err = read_anything(copy, size);
      EXPECT(err != NULL);
      tt_error_free(err);
      free(copy);
    }
    tt_bytes_free(&file);
  }
}

TEST_WITHOUT_TORTURE(hlo_bytecode_hostile, changed_bytes) {
  static const uint8_t changes[] = {0x01, 0x02, 0x04, 0x10, 0x80, 0xFF};
  size_t errors = 0;
  for (size_t i = 0; i < test_artifacts_count; i++) {
    tt_bytes file = {0};
    if (!EXPECT_OK(test_artifact_load(&test_artifacts[i], &file)))
      continue;
    for (size_t at = 0; at < file.size; at++)
      for (size_t k = 0; k < sizeof changes; k++) {
        file.data[at] = (char)(file.data[at] ^ changes[k]);
        tt_error *err = read_anything(file.data, file.size);
        errors += err != NULL;
        tt_error_free(err);
        file.data[at] = (char)(file.data[at] ^ changes[k]);
      }
    tt_bytes_free(&file);
  }
  EXPECT(errors > 0);
}
