/* bytecode_internal.h: what the files of the bytecode reader share.
 *
 * The file is read once: tables of strings, dialects and names, then the operations in their order.
 * Attributes and types are looked at only where an operation refers to them, straight from their
 * bytes; what costs memory to make is made once and kept beside its entry, so that memory follows
 * the size of the file and not the number of references. Recursion is possible in two places only,
 * regions and attributes that become text, and limited in both. */
#ifndef TT_HLO_BYTECODE_INTERNAL_H
#define TT_HLO_BYTECODE_INTERNAL_H

#include "hlo/bytecode.h"
#include "hlo/hlo_internal.h"

enum {
  TT_HLO_BC_VERSION_MAX = 6, /* of the encoding; the version of VHLO shows in the names of ops */
  TT_HLO_BC_DEPTH = 100,     /* regions within regions, below the verifier's limit */
  TT_HLO_BC_PROPERTIES_MAX = 20
};

typedef enum tt_hlo_bc_section {
  TT_HLO_BC_STRING,
  TT_HLO_BC_DIALECT,
  TT_HLO_BC_ATTR_TYPE,
  TT_HLO_BC_ATTR_TYPE_OFFSET,
  TT_HLO_BC_IR,
  TT_HLO_BC_RESOURCE,
  TT_HLO_BC_RESOURCE_OFFSET,
  TT_HLO_BC_DIALECT_VERSIONS,
  TT_HLO_BC_PROPERTIES,
  TT_HLO_BC_SECTION_COUNT
} tt_hlo_bc_section;

typedef enum tt_hlo_bc_dialect {
  TT_HLO_BC_OTHER,
  TT_HLO_BC_BUILTIN,
  TT_HLO_BC_VHLO,
  TT_HLO_BC_SDY
} tt_hlo_bc_dialect;

/* Codes of attributes, as far as the reader knows them by name. */
enum {
  TT_HLO_BUILTIN_ARRAY = 0,
  TT_HLO_BUILTIN_DICT = 1,
  TT_HLO_BUILTIN_STRING = 2,
  TT_HLO_BUILTIN_TYPED_STRING = 3,
  TT_HLO_BUILTIN_SYMBOL = 4,
  TT_HLO_BUILTIN_INTEGER = 8,
  TT_HLO_BUILTIN_CALL_SITE = 10,
  TT_HLO_BUILTIN_FILE_LINE = 11,
  TT_HLO_BUILTIN_FUSED = 12,
  TT_HLO_BUILTIN_FUSED_METADATA = 13,
  TT_HLO_BUILTIN_NAME = 14,
  TT_HLO_BUILTIN_FILE_RANGE = 22,

  TT_HLO_VHLO_ARRAY = 1,
  TT_HLO_VHLO_BOOL = 2,
  TT_HLO_VHLO_DIRECTION = 3,
  TT_HLO_VHLO_COMPARE_TYPE = 4,
  TT_HLO_VHLO_API_VERSION = 5,
  TT_HLO_VHLO_DICT = 6,
  TT_HLO_VHLO_FFT_TYPE = 7,
  TT_HLO_VHLO_FLOAT = 8,
  TT_HLO_VHLO_INTEGER = 9,
  TT_HLO_VHLO_ALIAS = 10,
  TT_HLO_VHLO_PRECISION = 11,
  TT_HLO_VHLO_RNG_ALGORITHM = 12,
  TT_HLO_VHLO_RNG_DISTRIBUTION = 13,
  TT_HLO_VHLO_STRING = 14,
  TT_HLO_VHLO_TENSOR = 15,
  TT_HLO_VHLO_TRANSPOSE = 16,
  TT_HLO_VHLO_TYPE = 17,
  TT_HLO_VHLO_TYPE_EXTENSIONS = 18,
  TT_HLO_VHLO_SUB_AXIS = 21,
  TT_HLO_VHLO_AXIS = 22,
  TT_HLO_VHLO_MESH_GROUPS = 23,
  TT_HLO_VHLO_MESH_AXIS = 24,
  TT_HLO_VHLO_MESH = 25
};

/* Bytes still to be read. */
typedef struct tt_hlo_bc_span {
  const uint8_t *at, *end;
} tt_hlo_bc_span;

typedef struct tt_hlo_bc_string {
  const char *text; /* NUL-terminated, in the module's arena */
  size_t size;
  bool whole; /* no NUL but the last */
} tt_hlo_bc_string;

/* An attribute or a type. `custom`: in its dialect's encoding, else as text. */
typedef struct tt_hlo_bc_entry {
  tt_hlo_bc_span span;
  uint8_t dialect; /* tt_hlo_bc_dialect */
  bool custom;
  enum { TT_HLO_BC_UNREAD, TT_HLO_BC_READ } state; /* of `type` */
  union {
    tt_hlo_type type; /* of a type */
    struct {          /* of an attribute, once made */
      const int64_t *items;
      const void *data;
      const char *text;
    } made;
  };
} tt_hlo_bc_entry;

/* How a property becomes an attribute. OMIT: not when it has its default. */
typedef enum tt_hlo_bc_kind {
  TT_HLO_BC_END,
  TT_HLO_BC_DROP, /* says nothing that the IR keeps */
  TT_HLO_BC_PART, /* what makes the attribute of several reads it */
  TT_HLO_BC_I64,
  TT_HLO_BC_I32,
  TT_HLO_BC_I32_OMIT,
  TT_HLO_BC_F32,
  TT_HLO_BC_BOOL,
  TT_HLO_BC_BOOL_OMIT,
  TT_HLO_BC_LIST,
  TT_HLO_BC_LIST_OMIT,
  TT_HLO_BC_BOOLS,
  TT_HLO_BC_MATRIX,
  TT_HLO_BC_ENUM,
  TT_HLO_BC_ENUM_OMIT,
  TT_HLO_BC_PRECISIONS,
  TT_HLO_BC_STRING_ATTR,
  TT_HLO_BC_SYMBOL,
  TT_HLO_BC_CHANNEL,
  TT_HLO_BC_DENSE,
  TT_HLO_BC_API,
  TT_HLO_BC_CONFIG, /* a string, or a dictionary */
  TT_HLO_BC_DICT_OMIT,
  TT_HLO_BC_SYMBOLS_OMIT,
  TT_HLO_BC_ALIASES_OMIT,
  TT_HLO_BC_LAYOUTS_OMIT,
  TT_HLO_BC_EMPTY /* anything in it is UNIMPLEMENTED */
} tt_hlo_bc_kind;

typedef struct tt_hlo_bc_property {
  tt_hlo_bc_kind kind;
  const char *name;      /* VHLO's */
  tt_hlo_attr_name attr; /* what it becomes; nothing for DROP and PART */
} tt_hlo_bc_property;

typedef struct tt_hlo_bc tt_hlo_bc;
typedef struct tt_hlo_bc_made tt_hlo_bc_made;

/* A line of bytecode_ops.def. */
typedef struct tt_hlo_bc_op {
  const char *name;
  tt_hlo_code code; /* TT_HLO_OP_COUNT: known, and not implemented */
  tt_error *(*finish)(tt_hlo_bc *r,
                      tt_hlo_bc_made *made); /* adds what the properties' parts make */
  const tt_hlo_bc_property *properties;      /* in encoding order, by name; END behind the last */
} tt_hlo_bc_op;

/* The ops that are not in the table: what the reader does with them. */
typedef enum tt_hlo_bc_action {
  TT_HLO_BC_TABLE,
  TT_HLO_BC_UNKNOWN,
  TT_HLO_BC_MODULE,
  TT_HLO_BC_FUNC,
  TT_HLO_BC_IDENTITY, /* results are the operands: casts, hints about shardings */
  TT_HLO_BC_MESH,
  TT_HLO_BC_MANUAL,
  TT_HLO_BC_RETURN,
  TT_HLO_BC_SKIP,
  TT_HLO_BC_TUPLE,
  TT_HLO_BC_TUPLE_ELEMENT
} tt_hlo_bc_action;

typedef struct tt_hlo_bc_name {
  const char *dialect, *name;
  tt_hlo_bc_action action;
  bool sharding;            /* may ask for a partition */
  const tt_hlo_bc_op *info; /* of TABLE */
} tt_hlo_bc_name;

/* The op at hand while its attributes are made. */
struct tt_hlo_bc_made {
  tt_hlo_op *op;
  const uint8_t *at;
  const tt_hlo_bc_op *info;
  bool has_dict;
  uint32_t dict;                          /* attribute: the discardable ones */
  uint32_t raw[TT_HLO_BC_PROPERTIES_MAX]; /* attribute of each property */
  tt_hlo_attr attrs[TT_HLO_BC_PROPERTIES_MAX];
  uint32_t attrs_count;
};

struct tt_hlo_bc {
  const uint8_t *data;
  size_t size;
  uint64_t version;
  tt_hlo_module *module;
  tt_arena *arena;                                  /* the module's */
  tt_arena scratch;                                 /* tables that only the reading needs */
  tt_hlo_bc_span sections[TT_HLO_BC_SECTION_COUNT]; /* at NULL: not there */

  tt_hlo_bc_string *strings;
  const char **dialects;
  tt_hlo_bc_name *names;
  tt_hlo_bc_entry *attrs, *types;
  tt_hlo_bc_span *properties;
  size_t strings_count, dialects_count, names_count, attrs_count, types_count, properties_count;

  /* Values by number: those of the open regions, outermost first. */
  tt_bytes values;           /* tt_hlo_value *; NULL: not defined yet */
  size_t scope;              /* where the numbers of the innermost isolated region begin */
  size_t next, limit;        /* of the innermost region: where its next value goes, its end */
  uint64_t declared_count;   /* values of all regions so far */
  size_t text_left;          /* bytes that attributes may still become as text */
  const uint8_t *sharded_at; /* the first sharding that asks for a partition, or NULL */
  bool manual;               /* the program partitions itself */
  int depth;
};

/* ---- bytecode_span.c: bytes ---- */

/* `byte N: ` and the message. */
TT_NODISCARD tt_error *tt_hlo_bc_fail(const tt_hlo_bc *r, const uint8_t *at, tt_code code,
                                      const char *fmt, ...) TT_PRINTF(4, 5);
/* INVALID_ARGUMENT unless the condition holds; the arguments are evaluated on failure only. */
#define TT_HLO_BC_CHECK(condition, r, at, ...)                        \
  do {                                                                \
    if (TT_UNLIKELY(!(condition)))                                    \
      return tt_hlo_bc_fail(r, at, TT_INVALID_ARGUMENT, __VA_ARGS__); \
  } while (0)

static inline size_t tt_hlo_bc_left(const tt_hlo_bc_span *s) { return (size_t)(s->end - s->at); }
TT_NODISCARD tt_error *tt_hlo_bc_byte(const tt_hlo_bc *r, tt_hlo_bc_span *s, uint8_t *out_byte);
TT_NODISCARD tt_error *tt_hlo_bc_varint(const tt_hlo_bc *r, tt_hlo_bc_span *s, uint64_t *out_value);
/* zigzag */
TT_NODISCARD tt_error *tt_hlo_bc_signed(const tt_hlo_bc *r, tt_hlo_bc_span *s, int64_t *out_value);
/* A varint whose lowest bit is a flag. */
TT_NODISCARD tt_error *tt_hlo_bc_flagged(const tt_hlo_bc *r, tt_hlo_bc_span *s, uint64_t *out_value,
                                         bool *out_flag);
/* The number of things that follow, each of at least one byte: no more than bytes are left. */
TT_NODISCARD tt_error *tt_hlo_bc_count(const tt_hlo_bc *r, tt_hlo_bc_span *s, const char *what,
                                       size_t *out_count);
/* A number below `limit`. */
TT_NODISCARD tt_error *tt_hlo_bc_index(const tt_hlo_bc *r, tt_hlo_bc_span *s, const char *what,
                                       size_t limit, uint32_t *out_index);
TT_NODISCARD tt_error *tt_hlo_bc_check_index(const tt_hlo_bc *r, const uint8_t *at,
                                             const char *what, size_t limit, uint64_t index);
/* The next `size` bytes as a span of their own. */
TT_NODISCARD tt_error *tt_hlo_bc_take(const tt_hlo_bc *r, tt_hlo_bc_span *s, uint64_t size,
                                      const char *what, tt_hlo_bc_span *out_span);
TT_NODISCARD tt_error *tt_hlo_bc_section_read(const tt_hlo_bc *r, tt_hlo_bc_span *s,
                                              unsigned *out_id, tt_hlo_bc_span *out_body);
TT_NODISCARD tt_error *tt_hlo_bc_end(const tt_hlo_bc *r, const tt_hlo_bc_span *s, const char *what);

static inline tt_error *tt_hlo_bc_attr_index(const tt_hlo_bc *r, tt_hlo_bc_span *s,
                                             uint32_t *out_index) {
  return tt_hlo_bc_index(r, s, "attribute", r->attrs_count, out_index);
}
static inline tt_error *tt_hlo_bc_type_index(const tt_hlo_bc *r, tt_hlo_bc_span *s,
                                             uint32_t *out_index) {
  return tt_hlo_bc_index(r, s, "type", r->types_count, out_index);
}

/* ---- bytecode_table.c: header and tables ---- */

TT_NODISCARD tt_error *tt_hlo_bc_read_tables(tt_hlo_bc *r);

/* ---- bytecode_names.c: operations by name ---- */

void tt_hlo_bc_find_name(const char *dialect, const char *name, tt_hlo_bc_name *out_name);
extern const tt_hlo_bc_op tt_hlo_bc_ops[];
extern const size_t tt_hlo_bc_ops_count;

/* ---- bytecode_type.c ---- */

/* A tensor, a token or a future. `at` is where the reference stands, for messages. */
TT_NODISCARD tt_error *tt_hlo_bc_type(tt_hlo_bc *r, const uint8_t *at, uint32_t index,
                                      const tt_hlo_type **out_type);
/* An element type. */
TT_NODISCARD tt_error *tt_hlo_bc_element(const tt_hlo_bc *r, const uint8_t *at, uint32_t index,
                                         tt_dtype *out_dtype);
/* An integer type's bits. */
TT_NODISCARD tt_error *tt_hlo_bc_integer_bits(const tt_hlo_bc *r, const uint8_t *at, uint32_t index,
                                              unsigned *out_bits);
/* The name of an element type in text, also of those that no tt_dtype is for; NULL for others. */
const char *tt_hlo_bc_type_name(const tt_hlo_bc *r, uint32_t index);
bool tt_hlo_bc_is_none(const tt_hlo_bc *r, uint32_t index);

/* ---- bytecode_attr.c: attributes as numbers, strings, elements ---- */

/* An attribute's dialect, code and fields; `what` is who wants it, for messages. */
typedef struct tt_hlo_bc_head {
  tt_hlo_bc_dialect dialect;
  unsigned code;
  tt_hlo_bc_span fields;
  const uint8_t *at;
} tt_hlo_bc_head;
TT_NODISCARD tt_error *tt_hlo_bc_open(const tt_hlo_bc *r, uint32_t attr, tt_hlo_bc_head *out_head);
/* The same of VHLO, with this code. */
TT_NODISCARD tt_error *tt_hlo_bc_open_vhlo(const tt_hlo_bc *r, uint32_t attr, unsigned code,
                                           const char *what, tt_hlo_bc_head *out_head);
TT_NODISCARD tt_error *tt_hlo_bc_int(const tt_hlo_bc *r, uint32_t attr, const char *what,
                                     int64_t *out_value);
/* An integer of `bits` bits, sign-extended. */
TT_NODISCARD tt_error *tt_hlo_bc_bits(const tt_hlo_bc *r, tt_hlo_bc_span *s, unsigned bits,
                                      int64_t *out_value);
TT_NODISCARD tt_error *tt_hlo_bc_bool(const tt_hlo_bc *r, uint32_t attr, const char *what,
                                      bool *out_value);
/* A string or a symbol, without a NUL in it. */
TT_NODISCARD tt_error *tt_hlo_bc_string_of(const tt_hlo_bc *r, uint32_t attr, const char *what,
                                           const tt_hlo_bc_string **out_string);
static inline tt_error *tt_hlo_bc_text(const tt_hlo_bc *r, uint32_t attr, const char *what,
                                       const char **out_text) {
  const tt_hlo_bc_string *string = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_string_of(r, attr, what, &string));
  *out_text = string->text;
  return NULL;
}
/* A tensor of integers or bools of rank 0 to 2; `out_columns` may be NULL and then wants a rank
 * below 2. In the arena. */
TT_NODISCARD tt_error *tt_hlo_bc_list(tt_hlo_bc *r, uint32_t attr, const char *what,
                                      tt_hlo_list *out_list, int64_t *out_columns);
/* The elements of a tensor in host form, in the arena, and their type. */
TT_NODISCARD tt_error *tt_hlo_bc_dense(tt_hlo_bc *r, uint32_t attr, const char *what,
                                       const tt_hlo_type **out_type, const void **out_data,
                                       bool *out_splat);
/* A dictionary's fields: out_span holds `out_count` pairs of attribute references. */
TT_NODISCARD tt_error *tt_hlo_bc_dict(const tt_hlo_bc *r, uint32_t attr, const char *what,
                                      tt_hlo_bc_span *out_span, size_t *out_count);
/* The value of `name`; false when it is not there. */
TT_NODISCARD tt_error *tt_hlo_bc_dict_find(const tt_hlo_bc *r, uint32_t dict, const char *name,
                                           bool *out_found, uint32_t *out_value);
/* An array's fields: `out_count` attribute references. */
TT_NODISCARD tt_error *tt_hlo_bc_array(const tt_hlo_bc *r, uint32_t attr, const char *what,
                                       tt_hlo_bc_span *out_span, size_t *out_count);

/* ---- bytecode_text.c: attributes as text ---- */

/* As StableHLO text has it; in the arena. */
TT_NODISCARD tt_error *tt_hlo_bc_attr_text(tt_hlo_bc *r, uint32_t attr, const char **out_text);
/* Takes `size` from what attributes may become as text: references may repeat what they refer to.
 */
TT_NODISCARD tt_error *tt_hlo_bc_spend(tt_hlo_bc *r, const uint8_t *at, size_t size);
/* Where the user wrote it, or NULL. */
TT_NODISCARD tt_error *tt_hlo_bc_location(tt_hlo_bc *r, uint32_t attr, const char **out_text);

/* ---- bytecode_convert.c, bytecode_finish.c: properties to attributes ---- */

TT_NODISCARD tt_error *tt_hlo_bc_convert(tt_hlo_bc *r, tt_hlo_bc_made *made);
/* The attribute of the property of that name; the table has it. */
uint32_t tt_hlo_bc_part(const tt_hlo_bc_made *made, const char *name);
bool tt_hlo_bc_has_part(const tt_hlo_bc_made *made, const char *name);
tt_hlo_attr *tt_hlo_bc_add(tt_hlo_bc_made *made, tt_hlo_attr_name name, tt_hlo_attr_kind kind);
/* Of kind TEXT, with a copy of `text`. */
TT_NODISCARD tt_error *tt_hlo_bc_add_text(tt_hlo_bc *r, tt_hlo_bc_made *made, tt_hlo_attr_name name,
                                          const tt_bytes *text);
#define TT_HLO_BC_FINISH(name) \
  TT_NODISCARD tt_error *tt_hlo_bc_finish_##name(tt_hlo_bc *r, tt_hlo_bc_made *made)
TT_HLO_BC_FINISH(nothing);
TT_HLO_BC_FINISH(broadcast);
TT_HLO_BC_FINISH(call);
TT_HLO_BC_FINISH(convolution);
TT_HLO_BC_FINISH(custom_call);
TT_HLO_BC_FINISH(dot);
TT_HLO_BC_FINISH(dot_general);
TT_HLO_BC_FINISH(gather);
TT_HLO_BC_FINISH(scatter);

/* ---- bytecode_func.c, bytecode_op.c ---- */

/* What stands before an op's results. */
typedef struct tt_hlo_bc_op_head {
  const tt_hlo_bc_name *name;
  const uint8_t *at;
  unsigned mask;
  uint32_t location;
  bool has_dict, has_properties;
  uint32_t dict; /* attribute: the discardable ones, before version 5 all */
  tt_hlo_bc_span properties;
} tt_hlo_bc_op_head;
TT_NODISCARD tt_error *tt_hlo_bc_op_head_read(tt_hlo_bc *r, tt_hlo_bc_span *s,
                                              tt_hlo_bc_op_head *out_head);
/* An op that has neither results nor operands nor successors. */
TT_NODISCARD tt_error *tt_hlo_bc_no_values(const tt_hlo_bc *r, const tt_hlo_bc_op_head *head);
/* The attribute of each property of `names`, END behind the last. */
TT_NODISCARD tt_error *tt_hlo_bc_properties(const tt_hlo_bc *r, const tt_hlo_bc_op_head *head,
                                            const tt_hlo_bc_property *names, uint32_t *out_attrs);
/* Before an op's regions: out_body is the section of isolated ones where the version has it, else
 * `at` is NULL and they are the next bytes of `s`. */
TT_NODISCARD tt_error *tt_hlo_bc_regions_open(tt_hlo_bc *r, tt_hlo_bc_span *s,
                                              const tt_hlo_bc_op_head *head, size_t *out_count,
                                              bool *out_isolated, tt_hlo_bc_span *out_body);
/* A region with one block; NULL where a function has none. */
TT_NODISCARD tt_error *tt_hlo_bc_region(tt_hlo_bc *r, tt_hlo_bc_span *s, bool isolated,
                                        tt_hlo_region *outer, tt_hlo_region **out_region);
/* The whole IR section. */
TT_NODISCARD tt_error *tt_hlo_bc_module(tt_hlo_bc *r);

/* ---- bytecode_sharding.c ---- */

/* In a module of several partitions: remembers a sharding that asks for one, which is UNIMPLEMENTED
 * in XLA's words, and in a program that does not partition itself. */
TT_NODISCARD tt_error *tt_hlo_bc_check_sharding(tt_hlo_bc *r, uint32_t attr);
/* A sharding of sdy as text, in the arena; of another dialect NULL. */
TT_NODISCARD tt_error *tt_hlo_bc_sharding(tt_hlo_bc *r, uint32_t attr, const char **out_text);
/* Reads an attribute of sdy as text. `visit` is called for those within it. */
TT_NODISCARD tt_error *tt_hlo_bc_sdy_write(tt_hlo_bc *r, const tt_hlo_bc_head *head, tt_bytes *text,
                                           tt_error *(*visit)(void *user, uint32_t attr),
                                           void *user);
/* A part of an axis, `(2)4`, which sdy and StableHLO encode alike. */
TT_NODISCARD tt_error *tt_hlo_bc_write_part(tt_hlo_bc *r, tt_hlo_bc_span s, tt_bytes *text);
TT_NODISCARD tt_error *tt_hlo_bc_mesh(tt_hlo_bc *r, const tt_hlo_bc_op_head *head);
TT_NODISCARD tt_error *tt_hlo_bc_manual(tt_hlo_bc *r, const tt_hlo_bc_op_head *head, tt_hlo_op *op);

#endif /* TT_HLO_BYTECODE_INTERNAL_H */
