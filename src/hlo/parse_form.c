/* The forms in which StableHLO's printer writes operations, each a line of a table. */
#include "hlo/parse_internal.h"

/* How an operation is written between its name and `{attributes} : types`. Lower-case letters and
 * marks stand for themselves, blanks for nothing, and
 *   %  an operand            *  any number of them, with commas between
 *   &  any number of them, each with a comma behind it
 *   ?  up to the next point only if a comma comes now
 *   L  a list of numbers     N  a number           B  true or false
 *   E  a value of an enum    Q  a string           S  a symbol, kept as a string
 *   D  dims, precision and algorithm of a dot_general
 *   C  axes of a convolution W  its window         M  e5m10       R  ranges of a slice
 * L N B E Q S are the attributes in `attrs`, in this order. An operation without a line has one or
 * two operands and nothing else if it is elementwise, and otherwise the generic form only. */
typedef struct form {
  const char *text;
  tt_hlo_attr_name attrs[3];
} form;

static const form forms[TT_HLO_OP_COUNT] = {
    [TT_HLO_AFTER_ALL] = {"*", {0}},
    [TT_HLO_BITCAST_CONVERT] = {"%", {0}},
    [TT_HLO_BROADCAST_IN_DIM] = {"%, dims = L", {TT_HLO_BROADCAST_DIMENSIONS}},
    [TT_HLO_CHOLESKY] = {"%?, lower = B", {TT_HLO_LOWER}},
    [TT_HLO_CLAMP] = {"%, %, %", {0}},
    [TT_HLO_COMPARE] = {"E, %, %?, E", {TT_HLO_COMPARISON_DIRECTION, TT_HLO_COMPARE_TYPE}},
    [TT_HLO_COMPOSITE] = {"Q*", {TT_HLO_NAME}},
    [TT_HLO_CONCATENATE] = {"& dim = N", {TT_HLO_DIMENSION}},
    [TT_HLO_CONVOLUTION] = {"(*) dim_numbers = C, window = {W}", {0}},
    [TT_HLO_CUSTOM_CALL] = {"S(*)", {TT_HLO_CALL_TARGET_NAME}},
    [TT_HLO_DOT_GENERAL] = {"%, %, D", {0}},
    [TT_HLO_DYNAMIC_BROADCAST_IN_DIM] = {"%, %, dims = L", {TT_HLO_BROADCAST_DIMENSIONS}},
    [TT_HLO_DYNAMIC_CONV] = {"(*) dim_numbers = C, window = {W}", {0}},
    [TT_HLO_DYNAMIC_IOTA] = {"%, dim = N", {TT_HLO_IOTA_DIMENSION}},
    [TT_HLO_DYNAMIC_PAD] = {"*", {0}},
    [TT_HLO_DYNAMIC_RESHAPE] = {"%, %", {0}},
    [TT_HLO_DYNAMIC_SLICE] = {"& sizes = L", {TT_HLO_SLICE_SIZES}},
    [TT_HLO_DYNAMIC_UPDATE_SLICE] = {"*", {0}},
    [TT_HLO_FFT] = {"%, type = E, length = L", {TT_HLO_FFT_TYPE, TT_HLO_FFT_LENGTH}},
    [TT_HLO_GET_DIMENSION_SIZE] = {"%, dim = N", {TT_HLO_DIMENSION}},
    [TT_HLO_IOTA] = {"dim = N", {TT_HLO_IOTA_DIMENSION}},
    [TT_HLO_OPTIMIZATION_BARRIER] = {"*", {0}},
    [TT_HLO_PAD] = {"%, %, low = L, high = L, interior = L",
                    {TT_HLO_EDGE_PADDING_LOW, TT_HLO_EDGE_PADDING_HIGH, TT_HLO_INTERIOR_PADDING}},
    [TT_HLO_PARTITION_ID] = {"", {0}},
    [TT_HLO_REAL_DYNAMIC_SLICE] = {"*", {0}},
    [TT_HLO_REDUCE_PRECISION] = {"%, format = M", {0}},
    [TT_HLO_REPLICA_ID] = {"", {0}},
    [TT_HLO_RESHAPE] = {"%", {0}},
    [TT_HLO_RETURN] = {"*", {0}},
    [TT_HLO_REVERSE] = {"%, dims = L", {TT_HLO_DIMENSIONS}},
    [TT_HLO_RNG] = {"%, %, %, distribution = E", {TT_HLO_RNG_DISTRIBUTION}},
    [TT_HLO_RNG_BIT_GENERATOR] = {"%, algorithm = E", {TT_HLO_RNG_ALGORITHM}},
    [TT_HLO_SELECT] = {"%, %, %", {0}},
    [TT_HLO_SET_DIMENSION_SIZE] = {"%, %, dim = N", {TT_HLO_DIMENSION}},
    [TT_HLO_SLICE] = {"% R", {0}},
    [TT_HLO_TRANSPOSE] = {"%, dims = L", {TT_HLO_PERMUTATION}},
    [TT_HLO_CHLO_BROADCAST_SELECT] = {"%, %, %", {0}},
    [TT_HLO_CHLO_TOP_K] = {"(%, k = N?, is_stable = B.)", {TT_HLO_K, TT_HLO_IS_STABLE}},
};

/* ---- pieces ---- */

/* The word is a value of the enum of `attr->name`. */
static tt_error *parse_enum_word(tt_hlo_parser *p, tt_hlo_attr_name name, int64_t *out_value) {
  const tt_hlo_enum_info *info = &tt_hlo_enums[name];
  tt_hlo_slice word = tt_hlo_parse_word(p);
  for (*out_value = 0; *out_value < info->count; ++*out_value)
    if (tt_hlo_slice_is(word, info->values[*out_value]))
      return NULL;
  p->at = word.text;
  return tt_hlo_parse_expected(p, info->type);
}

static tt_error *parse_field(tt_hlo_parser *p, char kind, tt_hlo_attr_name name) {
  tt_hlo_attr attr = {.name = name};
  tt_error *err = NULL;
  switch (kind) {
    case 'L':
      attr.kind = TT_HLO_ATTR_I64S;
      err = tt_hlo_parse_list(p, &attr.i64s);
      break;
    case 'N':
      attr.kind = TT_HLO_ATTR_I64;
      err = tt_hlo_parse_i64(p, &attr.i64);
      break;
    case 'B':
      attr.kind = TT_HLO_ATTR_BOOL;
      err = tt_hlo_parse_i64(p, &attr.i64);
      break;
    case 'E':
      attr.kind = TT_HLO_ATTR_ENUM;
      err = parse_enum_word(p, name, &attr.i64);
      break;
    case 'S':
      attr.kind = TT_HLO_ATTR_STRING;
      err = tt_hlo_parse_symbol(p, &attr.text);
      break;
    default:
      attr.kind = TT_HLO_ATTR_STRING;
      err = tt_hlo_parse_string(p, &attr.text);
      break;
  }
  tt_hlo_parse_push_attr(p, attr);
  return err;
}

/* `[1, 2] x [0, 1]` behind a word and =. */
static tt_error *parse_list_pair(tt_hlo_parser *p, tt_hlo_list *out_left, tt_hlo_list *out_right) {
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '='));
  TT_RETURN_IF_ERROR(tt_hlo_parse_list(p, out_left));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "x"));
  return tt_hlo_parse_list(p, out_right);
}

/* `[DEFAULT, HIGH]` */
tt_error *tt_hlo_parse_precision(tt_hlo_parser *p) {
  tt_hlo_attr attr = {.name = TT_HLO_PRECISION_CONFIG, .kind = TT_HLO_ATTR_ENUMS};
  size_t height = p->numbers.size;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '='));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '['));
  if (!tt_hlo_parse_take(p, ']')) {
    do {
      int64_t value = 0;
      TT_RETURN_IF_ERROR(parse_enum_word(p, TT_HLO_PRECISION_CONFIG, &value));
      tt_bytes_append(&p->numbers, &value, sizeof value);
    } while (tt_hlo_parse_take(p, ','));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ']'));
  }
  TT_RETURN_IF_ERROR(tt_hlo_parse_pop_numbers(p, height, &attr.i64s));
  tt_hlo_parse_push_attr(p, attr);
  return NULL;
}

/* `<...>`, kept with its name in front as the generic form has it. */
static tt_error *parse_algorithm(tt_hlo_parser *p) {
  static const char name[] = "#stablehlo.dot_algorithm";
  tt_hlo_attr attr = {.name = TT_HLO_ALGORITHM, .kind = TT_HLO_ATTR_TEXT};
  bool has_alias = false;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '='));
  if (tt_hlo_parse_peek(p) != '<')
    return tt_hlo_parse_expected(p, "'<'");
  const char *at = p->at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_skip_brackets(p, &has_alias));
  if (has_alias)
    return tt_hlo_parse_fail(p, at, TT_UNIMPLEMENTED, "an alias within algorithm");
  size_t size = (size_t)(p->at - at);
  char *text = tt_arena_alloc(&p->module->arena, sizeof name + size);
  if (text == NULL)
    return tt_hlo_parse_no_memory(p);
  memcpy(text, name, sizeof name - 1);
  memcpy(text + sizeof name - 1, at, size);
  attr.text = text;
  tt_hlo_parse_push_attr(p, attr);
  return NULL;
}

static tt_error *parse_dot(tt_hlo_parser *p) {
  tt_hlo_attr attr = {.name = TT_HLO_DOT_DIMENSION_NUMBERS, .kind = TT_HLO_ATTR_DOT};
  tt_hlo_dot_dims *dims = tt_arena_alloc(&p->module->arena, sizeof *dims);
  if (dims == NULL)
    return tt_hlo_parse_no_memory(p);
  attr.dims = dims;
  tt_hlo_parse_push_attr(p, attr);
  if (tt_hlo_parse_take_word(p, "batching_dims")) {
    TT_RETURN_IF_ERROR(parse_list_pair(p, &dims->lhs_batch, &dims->rhs_batch));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ','));
  }
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "contracting_dims"));
  TT_RETURN_IF_ERROR(parse_list_pair(p, &dims->lhs_contract, &dims->rhs_contract));
  while (tt_hlo_parse_take(p, ',')) {
    if (tt_hlo_parse_take_word(p, "precision"))
      TT_RETURN_IF_ERROR(tt_hlo_parse_precision(p));
    else if (tt_hlo_parse_take_word(p, "algorithm"))
      TT_RETURN_IF_ERROR(parse_algorithm(p));
    else
      return tt_hlo_parse_expected(p, "precision or algorithm");
  }
  return NULL;
}

static tt_error *parse_conv(tt_hlo_parser *p) {
  tt_hlo_attr attr = {.name = TT_HLO_DIMENSION_NUMBERS};
  TT_RETURN_IF_ERROR(tt_hlo_parse_conv_sides(p, &attr));
  tt_hlo_parse_push_attr(p, attr);
  return NULL;
}

/* `[[0, 1], [2, 3]]` */
static tt_error *parse_padding(tt_hlo_parser *p, tt_hlo_list *out_list) {
  size_t height = p->numbers.size;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '['));
  if (!tt_hlo_parse_take(p, ']')) {
    do {
      int64_t pair[2] = {0, 0};
      TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '['));
      TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &pair[0]));
      TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ','));
      TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &pair[1]));
      TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ']'));
      tt_bytes_append(&p->numbers, pair, sizeof pair);
    } while (tt_hlo_parse_take(p, ','));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ']'));
  }
  return tt_hlo_parse_pop_numbers(p, height, out_list);
}

static tt_error *parse_window_field(tt_hlo_parser *p) {
  static const struct {
    const char *word;
    tt_hlo_attr_name name;
    tt_hlo_attr_kind kind;
  } fields[] = {{"stride", TT_HLO_WINDOW_STRIDES, TT_HLO_ATTR_I64S},
                {"pad", TT_HLO_PADDING, TT_HLO_ATTR_MATRIX},
                {"lhs_dilate", TT_HLO_LHS_DILATION, TT_HLO_ATTR_I64S},
                {"rhs_dilate", TT_HLO_RHS_DILATION, TT_HLO_ATTR_I64S},
                {"reverse", TT_HLO_WINDOW_REVERSAL, TT_HLO_ATTR_BOOLS}};
  tt_hlo_slice word = tt_hlo_parse_word(p);
  size_t i = 0;
  while (i < TT_COUNT(fields) && !tt_hlo_slice_is(word, fields[i].word))
    i++;
  if (i == TT_COUNT(fields)) {
    p->at = word.text;
    return tt_hlo_parse_expected(p, "stride, pad, lhs_dilate, rhs_dilate or reverse");
  }
  tt_hlo_attr attr = {.name = fields[i].name, .kind = fields[i].kind};
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '='));
  if (attr.kind == TT_HLO_ATTR_MATRIX) {
    attr.columns = 2;
    TT_RETURN_IF_ERROR(parse_padding(p, &attr.i64s));
  } else {
    TT_RETURN_IF_ERROR(tt_hlo_parse_list(p, &attr.i64s));
  }
  tt_hlo_parse_push_attr(p, attr);
  return NULL;
}

static tt_error *parse_window(tt_hlo_parser *p) {
  if (tt_hlo_parse_peek(p) == '}')
    return NULL;
  do
    TT_RETURN_IF_ERROR(parse_window_field(p));
  while (tt_hlo_parse_take(p, ','));
  return NULL;
}

/* `e5m10` */
static tt_error *parse_mantissa(tt_hlo_parser *p) {
  tt_hlo_attr attr = {.name = TT_HLO_EXPONENT_BITS, .kind = TT_HLO_ATTR_I32};
  static const char letters[] = "em";
  for (int i = 0; i < 2; i++) {
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, letters[i]));
    attr.i64 = 0;
    if (p->at == p->end || !tt_hlo_char_is(*p->at, TT_HLO_CHAR_DIGIT))
      return tt_hlo_parse_expected(p, "a number of bits");
    for (; p->at < p->end && tt_hlo_char_is(*p->at, TT_HLO_CHAR_DIGIT); p->at++)
      attr.i64 = attr.i64 > INT32_MAX / 10 - 1 ? INT32_MAX : attr.i64 * 10 + (*p->at - '0');
    tt_hlo_parse_push_attr(p, attr);
    attr.name = TT_HLO_MANTISSA_BITS;
  }
  return NULL;
}

/* `[0:4, 1:7:2]`: three lists. */
static tt_error *parse_ranges(tt_hlo_parser *p) {
  static const tt_hlo_attr_name names[] = {TT_HLO_START_INDICES, TT_HLO_LIMIT_INDICES,
                                           TT_HLO_STRIDES};
  int64_t lists[3][TT_HLO_RANK_MAX];
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '['));
  while (!tt_hlo_parse_take(p, ']')) {
    if (count > 0)
      TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ','));
    if (count == TT_HLO_RANK_MAX)
      return tt_hlo_parse_expected(p, "at most 64 ranges");
    lists[2][count] = 1;
    TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &lists[0][count]));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ':'));
    TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &lists[1][count]));
    if (tt_hlo_parse_take(p, ':'))
      TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &lists[2][count]));
    count++;
  }
  for (int i = 0; i < 3; i++) {
    tt_hlo_attr attr = {.name = names[i], .kind = TT_HLO_ATTR_I64S};
    size_t height = p->numbers.size;
    tt_bytes_append(&p->numbers, lists[i], count * sizeof(int64_t));
    TT_RETURN_IF_ERROR(tt_hlo_parse_pop_numbers(p, height, &attr.i64s));
    tt_hlo_parse_push_attr(p, attr);
  }
  return NULL;
}

/* ---- the table's language ---- */

static tt_error *parse_comma_operands(tt_hlo_parser *p) {
  while (tt_hlo_parse_peek(p) == '%') {
    TT_RETURN_IF_ERROR(tt_hlo_parse_operand(p));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ','));
  }
  return NULL;
}

static tt_error *parse_keyword(tt_hlo_parser *p, const char **at) {
  char word[16];
  size_t size = 0;
  for (; ((**at >= 'a' && **at <= 'z') || **at == '_') && size < sizeof word - 1; ++*at)
    word[size++] = **at;
  word[size] = '\0';
  return tt_hlo_parse_expect_word(p, word);
}

/* A piece that is one character of the table. */
static tt_error *parse_piece(tt_hlo_parser *p, char piece, const tt_hlo_attr_name **names) {
  switch (piece) {
    case '%':
      return tt_hlo_parse_operand(p);
    case '*':
      return tt_hlo_parse_operands(p);
    case '&':
      return parse_comma_operands(p);
    case 'D':
      return parse_dot(p);
    case 'C':
      return parse_conv(p);
    case 'W':
      return parse_window(p);
    case 'M':
      return parse_mantissa(p);
    case 'R':
      return parse_ranges(p);
    case ' ':
    case '.':
      return NULL;
    default:
      return piece >= 'A' && piece <= 'Z' ? parse_field(p, piece, *(*names)++)
                                          : tt_hlo_parse_expect(p, piece);
  }
}

static tt_error *parse_by(tt_hlo_parser *p, const form *f) {
  const tt_hlo_attr_name *names = f->attrs;
  for (const char *at = f->text; *at != '\0';) {
    if ((*at >= 'a' && *at <= 'z') || *at == '_') {
      TT_RETURN_IF_ERROR(parse_keyword(p, &at));
    } else if (*at == '?') {
      bool there = tt_hlo_parse_peek(p) == ',';
      at++;
      while (!there && *at != '.' && *at != '\0')
        at++;
    } else {
      TT_RETURN_IF_ERROR(parse_piece(p, *at++, &names));
    }
  }
  return NULL;
}

/* `{attributes} dense<...> : type` */
static tt_error *parse_constant(tt_hlo_parser *p, tt_hlo_draft *draft) {
  tt_hlo_parsed value;
  TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_op_entry, draft));
  TT_RETURN_IF_ERROR(tt_hlo_parse_value(p, &value));
  if (value.attr.kind != TT_HLO_ATTR_DENSE)
    return tt_hlo_parse_fail(p, value.slice.text, TT_INVALID_ARGUMENT,
                             "expected dense elements behind constant");
  value.attr.name = TT_HLO_VALUE;
  tt_bytes_append(&p->attrs, &value, sizeof value);
  tt_bytes_append(&p->types, &value.type, sizeof value.type);
  return NULL;
}

static const form *find_form(const tt_hlo_draft *draft) {
  static const form elementwise[] = {{"%", {0}}, {"%, %", {0}}};
  const tt_hlo_op_info *info = &tt_hlo_ops[draft->code];
  const form *f = &forms[draft->code];
  if (f->text != NULL)
    return f;
  bool broadcasts =
      draft->code >= TT_HLO_CHLO_BROADCAST_ADD && draft->code <= TT_HLO_CHLO_BROADCAST_ZETA;
  bool simple = ((info->traits & TT_HLO_ELEMENTWISE) != 0 || broadcasts) && info->operands >= 1 &&
                info->operands <= 2;
  return simple ? &elementwise[info->operands - 1] : NULL;
}

tt_error *tt_hlo_parse_form(tt_hlo_parser *p, tt_hlo_draft *draft) {
  const form *f = find_form(draft);
  if (draft->code == TT_HLO_CONSTANT && tt_hlo_parse_peek(p) != '(')
    return parse_constant(p, draft);
  if (draft->code == TT_HLO_WHILE)
    return tt_hlo_parse_while(p, draft);
  if (draft->code == TT_HLO_REDUCE)
    return tt_hlo_parse_reduce(p, draft);
  /* The printer falls back on brackets when a constant's type is not that of its elements, and for
   * a barrier without operands. */
  if ((draft->code == TT_HLO_CONSTANT || draft->code == TT_HLO_OPTIMIZATION_BARRIER) &&
      tt_hlo_parse_take(p, '(')) {
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ')'));
    if (draft->code == TT_HLO_CONSTANT)
      return tt_hlo_parse_generic_rest(p, draft);
  }
  if (f == NULL)
    return tt_hlo_parse_fail(p, draft->at, TT_INVALID_ARGUMENT,
                             "expected \"%s\" in quotes: it has the generic form only",
                             tt_hlo_ops[draft->code].mnemonic);
  TT_RETURN_IF_ERROR(parse_by(p, f));
  TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_op_entry, draft));
  bool may_end = draft->code == TT_HLO_RETURN || draft->code == TT_HLO_OPTIMIZATION_BARRIER;
  if (may_end && tt_hlo_draft_operands(p, draft) == 0 && tt_hlo_parse_peek(p) != ':')
    return NULL;
  return tt_hlo_parse_signature(p, draft);
}
