/* parse_internal.h: what the files of the parser share.
 *
 * A recursive descent over the bytes of the text, without tokens in between. Each function that
 * reads something first skips blanks and comments, and leaves `at` just behind what it read. */
#ifndef TT_HLO_PARSE_INTERNAL_H
#define TT_HLO_PARSE_INTERNAL_H

#include <string.h>

#include "base/map.h"
#include "hlo/hlo_internal.h"

/* Regions within regions, as the verifier's. */
enum { TT_HLO_PARSE_DEPTH = 100 };

/* A piece of the text. */
typedef struct tt_hlo_slice {
  const char *text;
  size_t size;
} tt_hlo_slice;

static inline bool tt_hlo_slice_is(tt_hlo_slice slice, const char *text) {
  return slice.size == strlen(text) && memcmp(slice.text, text, slice.size) == 0;
}

/* A %name of the function at hand. It stays in the table when its scope ends, without values. */
typedef struct tt_hlo_name {
  tt_hlo_slice slice;
  uint64_t hash;
  tt_hlo_value *values; /* NULL: not defined here */
  size_t count;
} tt_hlo_name;

typedef struct tt_hlo_names {
  tt_bytes entries; /* of tt_hlo_name */
  uint32_t *slots;  /* 1 + index in `entries`, 0 is free; open addressing */
  size_t capacity;  /* 0 or a power of two */
  tt_bytes bound;   /* uint32_t: indices of the names with values, innermost scope last */
  uint64_t seed;    /* so that nobody can prepare names that collide */
} tt_hlo_names;

/* An attribute's value, read without knowing what the attribute's name asks for. */
typedef struct tt_hlo_parsed {
  tt_hlo_attr attr;   /* of a dense<> that is no constant the kind is DENSE too; text is not set */
  tt_hlo_type type;   /* of dense<> */
  tt_hlo_slice slice; /* as it stands in the text */
  bool has_alias;     /* an #alias is somewhere in the slice */
} tt_hlo_parsed;

/* A location, now or when `to` is known. */
typedef struct tt_hlo_alias tt_hlo_alias;
typedef struct tt_hlo_place {
  const char *text;
  tt_hlo_alias *to;
} tt_hlo_place;

/* #name or !name at the top level. */
struct tt_hlo_alias {
  enum { TT_HLO_ALIAS_UNKNOWN, TT_HLO_ALIAS_PLACE, TT_HLO_ALIAS_ATTR, TT_HLO_ALIAS_TYPE } kind;
  tt_hlo_place place;
  tt_hlo_parsed attr;
  tt_hlo_type type;
};

/* An argument of a region before the region is made. */
typedef struct tt_hlo_parse_arg {
  tt_hlo_slice name; /* without the % */
  tt_hlo_type type;
} tt_hlo_parse_arg;

/* Stacks: who pushes cuts back to the height that he found. Ops nest through their regions. */
typedef struct tt_hlo_parser {
  const char *text, *at, *end;
  tt_hlo_module *module;
  tt_hlo_region *region; /* where operations go */
  int depth;
  bool line;         /* at the top level, where text that is not understood ends with its line */
  tt_bytes operands; /* tt_hlo_value * */
  tt_bytes attrs;    /* tt_hlo_parsed */
  tt_bytes types;    /* tt_hlo_type: results */
  tt_bytes regions;  /* tt_hlo_region * */
  tt_bytes packs;    /* tt_hlo_parse_pack: names on the left of = */
  tt_bytes args;     /* tt_hlo_parse_arg */
  tt_bytes numbers;  /* int64_t */
  tt_bytes later;    /* tt_hlo_parse_later: locations that wait for their alias */
  tt_hlo_names names;
  tt_map aliases;         /* "#name", "!name" to tt_hlo_alias in the arena */
  tt_bytes shardings;     /* const char *: of a function's results, NULL for none */
  const char *sharded_at; /* the first sharding that asks for a partition, or NULL */
  bool gspmd;             /* it is one in XLA's words */
  bool manual;            /* the program partitions itself */
  uint16_t op_slots[512]; /* 1 + tt_hlo_code by hash of the mnemonic */
  uint16_t attr_slots[256];
} tt_hlo_parser;

typedef struct tt_hlo_parse_pack {
  tt_hlo_slice name;
  size_t count;
} tt_hlo_parse_pack;

typedef struct tt_hlo_parse_later {
  tt_hlo_op *op;
  tt_hlo_alias *alias;
} tt_hlo_parse_later;

/* An operation being read: what is its own on each stack begins at these heights. */
typedef struct tt_hlo_draft {
  tt_hlo_code code;
  bool call;      /* a func.call, of which a composite is made */
  bool dot;       /* a stablehlo.dot, of which a dot_general is made */
  bool broadcast; /* a stablehlo.broadcast, of which a broadcast_in_dim is made */
  const char *at; /* its name, for messages */
  size_t operands, attrs, types, regions, packs;
} tt_hlo_draft;

/* ---- parse_text.c: characters, words, numbers, messages ---- */

enum {
  TT_HLO_CHAR_LETTER = 1, /* and _ */
  TT_HLO_CHAR_DIGIT = 2,
  TT_HLO_CHAR_POINT = 4, /* $ . */
  TT_HLO_CHAR_DASH = 8,
  TT_HLO_CHAR_HEX = 16,
  TT_HLO_CHAR_BLANK = 32
};
extern const uint8_t tt_hlo_parse_chars[256];
static inline bool tt_hlo_char_is(char c, unsigned classes) {
  return (tt_hlo_parse_chars[(unsigned char)c] & classes) != 0;
}

/* `L:C: ` and the message. */
TT_NODISCARD tt_error *tt_hlo_parse_fail(const tt_hlo_parser *p, const char *at, tt_code code,
                                         const char *fmt, ...) TT_PRINTF(4, 5);
/* `L:C: expected WHAT, got ...`, at the next character that is no blank. */
TT_NODISCARD tt_error *tt_hlo_parse_expected(tt_hlo_parser *p, const char *what);
TT_NODISCARD tt_error *tt_hlo_parse_no_memory(const tt_hlo_parser *p);

/* At a '/': skips a comment, or false. */
bool tt_hlo_parse_comment(tt_hlo_parser *p);
/* The next character that is no blank, which is not taken; 0 at the end. */
static inline char tt_hlo_parse_peek(tt_hlo_parser *p) {
  while (p->at < p->end) {
    char c = *p->at;
    if (tt_hlo_char_is(c, TT_HLO_CHAR_BLANK))
      p->at++;
    else if (c != '/' || !tt_hlo_parse_comment(p))
      return c;
  }
  return 0;
}
static inline bool tt_hlo_parse_take(tt_hlo_parser *p, char c) {
  bool found = tt_hlo_parse_peek(p) == c && p->at < p->end;
  p->at += found;
  return found;
}
TT_NODISCARD tt_error *tt_hlo_parse_expect(tt_hlo_parser *p, char c);
/* Letters, digits, _ $ . and no digit first; empty when there is none. */
tt_hlo_slice tt_hlo_parse_word(tt_hlo_parser *p);
static inline bool tt_hlo_parse_take_word(tt_hlo_parser *p, const char *word) {
  char c = tt_hlo_parse_peek(p);
  size_t size = strlen(word);
  if (c != word[0] || (size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0)
    return false;
  bool longer =
      p->at + size < p->end &&
      tt_hlo_char_is(p->at[size], TT_HLO_CHAR_LETTER | TT_HLO_CHAR_DIGIT | TT_HLO_CHAR_POINT);
  p->at += longer ? 0 : size;
  return !longer;
}
TT_NODISCARD tt_error *tt_hlo_parse_expect_word(tt_hlo_parser *p, const char *word);
TT_NODISCARD tt_error *tt_hlo_parse_arrow(tt_hlo_parser *p);
/* What may stand behind % # ! ^ and @: digits, or a word that may hold a dash. `what` is for the
 * message. */
TT_NODISCARD tt_error *tt_hlo_parse_suffix(tt_hlo_parser *p, const char *what,
                                           tt_hlo_slice *out_name);
/* Decimal, or hex with 0x; true and false are 1 and 0. */
TT_NODISCARD tt_error *tt_hlo_parse_i64(tt_hlo_parser *p, int64_t *out_value);
/* `[1, 2]`, in the arena. */
TT_NODISCARD tt_error *tt_hlo_parse_list(tt_hlo_parser *p, tt_hlo_list *out_list);
/* The numbers on the stack from `height` on, which are taken off. */
TT_NODISCARD tt_error *tt_hlo_parse_pop_numbers(tt_hlo_parser *p, size_t height,
                                                tt_hlo_list *out_list);
/* A quoted string without its escapes, NUL-terminated in the arena. */
TT_NODISCARD tt_error *tt_hlo_parse_string(tt_hlo_parser *p, const char **out_text);
/* @name or @"name". */
TT_NODISCARD tt_error *tt_hlo_parse_symbol(tt_hlo_parser *p, const char **out_name);
/* Skips what brackets and quotes hold together, up to a comma or closing bracket outside of them;
 * at the top level of the text also up to the line's end. */
TT_NODISCARD tt_error *tt_hlo_parse_skip(tt_hlo_parser *p, bool line, bool *out_has_alias);
/* Skips from an opening bracket behind its closing one. */
TT_NODISCARD tt_error *tt_hlo_parse_skip_brackets(tt_hlo_parser *p, bool *out_has_alias);

/* ---- parse_number.c ---- */

/* An integer's magnitude of up to 64 bits, or the value of a number with a point or exponent. */
typedef struct tt_hlo_number {
  bool negative, is_float, hex;
  uint64_t magnitude;
  double value; /* without the sign; set for integers too */
} tt_hlo_number;
TT_NODISCARD tt_error *tt_hlo_parse_number(tt_hlo_parser *p, tt_hlo_number *out_number);

/* ---- parse_type.c ---- */

TT_NODISCARD tt_error *tt_hlo_parse_type(tt_hlo_parser *p, tt_hlo_type *out_type);

/* ---- parse_dense.c ---- */

/* dense<...> : type, from the `<` on. The attribute's kind is DENSE, its data in the arena. */
TT_NODISCARD tt_error *tt_hlo_parse_dense(tt_hlo_parser *p, tt_hlo_parsed *out_value);

/* ---- parse_attr.c ---- */

/* Reads one entry of a dictionary behind its name and =; `unit`: there is no value. */
typedef tt_error *(*tt_hlo_parse_entry)(tt_hlo_parser *p, tt_hlo_slice name, bool unit,
                                        void *context);
/* `{name = value, ...}`, when it is there. */
TT_NODISCARD tt_error *tt_hlo_parse_dict(tt_hlo_parser *p, tt_hlo_parse_entry entry, void *context);
/* A tt_hlo_parse_entry that takes a sharding and forgets the rest. */
TT_NODISCARD tt_error *tt_hlo_parse_other(tt_hlo_parser *p, tt_hlo_slice name, bool unit,
                                          void *context);
TT_NODISCARD tt_error *tt_hlo_parse_value(tt_hlo_parser *p, tt_hlo_parsed *out_value);
/* The same for an operation's attribute; `context` is its tt_hlo_draft. */
TT_NODISCARD tt_error *tt_hlo_parse_op_entry(tt_hlo_parser *p, tt_hlo_slice name, bool unit,
                                             void *context);
/* What the values on the attribute stack are, once name, operands and results are known. */
TT_NODISCARD tt_error *tt_hlo_parse_fit(tt_hlo_parser *p, const tt_hlo_draft *draft, tt_hlo_op *op);
/* Copies the slice of a TEXT to its `text`. */
TT_NODISCARD tt_error *tt_hlo_parse_keep_text(tt_hlo_parser *p, tt_hlo_parsed *value);
/* Puts an attribute on the stack. */
void tt_hlo_parse_push_attr(tt_hlo_parser *p, tt_hlo_attr attr);

/* ---- parse_dims.c: structured attributes ---- */

/* From the `<` on of #stablehlo.dot<...> and its like. */
TT_NODISCARD tt_error *tt_hlo_parse_dot(tt_hlo_parser *p, tt_hlo_attr *out_attr);
TT_NODISCARD tt_error *tt_hlo_parse_gather(tt_hlo_parser *p, tt_hlo_attr *out_attr);
TT_NODISCARD tt_error *tt_hlo_parse_scatter(tt_hlo_parser *p, tt_hlo_attr *out_attr);
TT_NODISCARD tt_error *tt_hlo_parse_channel(tt_hlo_parser *p, tt_hlo_attr *out_attr);
TT_NODISCARD tt_error *tt_hlo_parse_conv(tt_hlo_parser *p, tt_hlo_attr *out_attr);
/* [b, 0, f]x[0, i, o]->[b, 0, f] */
TT_NODISCARD tt_error *tt_hlo_parse_conv_sides(tt_hlo_parser *p, tt_hlo_attr *out_attr);

/* ---- parse_name.c: values, aliases, locations, tables ---- */

TT_NODISCARD tt_error *tt_hlo_parse_tables(tt_hlo_parser *p);
/* -1 when there is none. */
int tt_hlo_parse_find_op(const tt_hlo_parser *p, tt_hlo_slice mnemonic);
int tt_hlo_parse_find_attr(const tt_hlo_parser *p, tt_hlo_slice name);
/* Gives `count` values a name until the scope ends. `name` is without the %. */
TT_NODISCARD tt_error *tt_hlo_parse_define(tt_hlo_parser *p, tt_hlo_slice name,
                                           tt_hlo_value *values, size_t count);
/* Forgets the names that were defined above this height of names.bound. */
void tt_hlo_parse_leave(tt_hlo_parser *p, size_t height);
/* %name or %name#2 */
TT_NODISCARD tt_error *tt_hlo_parse_use(tt_hlo_parser *p, tt_hlo_value **out_value);
/* The alias that `name`, with its # or !, stands for; a new one of kind UNKNOWN when there is none.
 */
TT_NODISCARD tt_error *tt_hlo_parse_alias(tt_hlo_parser *p, tt_hlo_slice name,
                                          tt_hlo_alias **out_alias);
/* `loc(...)` behind the word loc. */
TT_NODISCARD tt_error *tt_hlo_parse_location(tt_hlo_parser *p, tt_hlo_place *out_place);
/* The same with the word, when it is there. */
TT_NODISCARD tt_error *tt_hlo_parse_some_location(tt_hlo_parser *p, tt_hlo_place *out_place);
/* Now, or when the whole text is read. */
void tt_hlo_parse_set_location(tt_hlo_parser *p, tt_hlo_op *op, tt_hlo_place place);
void tt_hlo_parse_settle_locations(tt_hlo_parser *p);

/* ---- parse_op.c ---- */

TT_NODISCARD tt_error *tt_hlo_parse_op(tt_hlo_parser *p);
/* One operand, on the stack of operands. */
TT_NODISCARD tt_error *tt_hlo_parse_operand(tt_hlo_parser *p);
/* `%a, %b` and so on until there is no comma; none is allowed. */
TT_NODISCARD tt_error *tt_hlo_parse_operands(tt_hlo_parser *p);
/* What the generic form has behind its operands: `<{properties}> ({regions}) {attributes} : type`.
 */
TT_NODISCARD tt_error *tt_hlo_parse_generic_rest(tt_hlo_parser *p, tt_hlo_draft *draft);
static inline size_t tt_hlo_draft_operands(const tt_hlo_parser *p, const tt_hlo_draft *draft) {
  return (p->operands.size - draft->operands) / sizeof(tt_hlo_value *);
}
static inline tt_hlo_value **tt_hlo_draft_operand(const tt_hlo_parser *p,
                                                  const tt_hlo_draft *draft) {
  void *all = p->operands.data; /* NULL where no operation had any yet */
  return all == NULL ? NULL : (tt_hlo_value **)all + draft->operands / sizeof(tt_hlo_value *);
}

/* ---- parse_legacy.c: operations that the IR says in another way ---- */

/* stablehlo.tuple and get_tuple_element, of which no operation is made; false for other names. */
bool tt_hlo_parse_is_tuple_op(tt_hlo_slice name);
TT_NODISCARD tt_error *tt_hlo_parse_tuple_op(tt_hlo_parser *p, const tt_hlo_draft *draft,
                                             tt_hlo_slice name, bool generic);
/* `%lhs, %rhs, precision = [...]` of a dot. */
TT_NODISCARD tt_error *tt_hlo_parse_dot_form(tt_hlo_parser *p, tt_hlo_draft *draft);
/* The axes that a dot contracts, once its operands are known. */
TT_NODISCARD tt_error *tt_hlo_parse_dot_axes(tt_hlo_parser *p, const tt_hlo_draft *draft);
/* `%x, sizes = [...]` of a broadcast, and where its operand's axes are in the result. */
TT_NODISCARD tt_error *tt_hlo_parse_broadcast_form(tt_hlo_parser *p, tt_hlo_draft *draft);
TT_NODISCARD tt_error *tt_hlo_parse_broadcast_axes(tt_hlo_parser *p, const tt_hlo_draft *draft);

/* ---- parse_sharding.c: what Shardy adds ---- */

/* A tt_hlo_parse_entry whose `context` is a const char *: keeps an sdy.sharding there. */
TT_NODISCARD tt_error *tt_hlo_parse_sharding_entry(tt_hlo_parser *p, tt_hlo_slice name, bool unit,
                                                   void *context);
/* Behind sdy.mesh. */
TT_NODISCARD tt_error *tt_hlo_parse_mesh(tt_hlo_parser *p);
/* Behind sdy.manual_computation. */
TT_NODISCARD tt_error *tt_hlo_parse_manual(tt_hlo_parser *p, tt_hlo_draft *draft);

/* ---- parse_signature.c ---- */

/* `: types`, which gives the result types and checks those of the operands. */
TT_NODISCARD tt_error *tt_hlo_parse_signature(tt_hlo_parser *p, const tt_hlo_draft *draft);
/* `a, b`: puts them on the stack of types. */
TT_NODISCARD tt_error *tt_hlo_parse_types(tt_hlo_parser *p);
/* The types on the stack from `height` on are those of the operands, one by one. */
TT_NODISCARD tt_error *tt_hlo_parse_check_types(tt_hlo_parser *p, const tt_hlo_draft *draft,
                                                size_t height, const char *at);

/* ---- parse_region.c ---- */

/* `%x: type`, with a location or attributes behind it that are dropped, on the stack of args. */
TT_NODISCARD tt_error *tt_hlo_parse_arg_of(tt_hlo_parser *p);
/* `{ ops }` with the args from `height` of their stack on, which stay there; none when a
 * `^name(...):` may name them. The region goes on the stack of regions. */
TT_NODISCARD tt_error *tt_hlo_parse_region(tt_hlo_parser *p, size_t height);
/* Opens a region with the args from `height` on and gives them their names. */
TT_NODISCARD tt_error *tt_hlo_parse_open(tt_hlo_parser *p, size_t height,
                                         tt_hlo_region **out_region);
/* Reads ops up to the closing brace, which is taken. */
TT_NODISCARD tt_error *tt_hlo_parse_body(tt_hlo_parser *p);
TT_NODISCARD tt_error *tt_hlo_parse_while(tt_hlo_parser *p, tt_hlo_draft *draft);
TT_NODISCARD tt_error *tt_hlo_parse_reduce(tt_hlo_parser *p, tt_hlo_draft *draft);

/* ---- parse_form.c ---- */

/* `= [DEFAULT, HIGH]` behind precision. */
TT_NODISCARD tt_error *tt_hlo_parse_precision(tt_hlo_parser *p);
/* An operation as StableHLO's printer writes it, behind its name. */
TT_NODISCARD tt_error *tt_hlo_parse_form(tt_hlo_parser *p, tt_hlo_draft *draft);

/* ---- parse_link.c: making operations ---- */

/* Makes the operation that `draft` has gathered, names its results, and cuts the stacks back. */
TT_NODISCARD tt_error *tt_hlo_parse_link(tt_hlo_parser *p, const tt_hlo_draft *draft,
                                         tt_hlo_place place);
/* One of `operands_count` operands and one result at the end of `region`. */
TT_NODISCARD tt_error *tt_hlo_parse_append(tt_hlo_parser *p, tt_hlo_region *region,
                                           tt_hlo_code code, tt_hlo_value *const *operands,
                                           uint32_t operands_count, const tt_hlo_type *result,
                                           tt_hlo_op **out_op);

#endif /* TT_HLO_PARSE_INTERNAL_H */
