/* Characters, words, strings and lists of the parser, and its messages. */
#include <stdarg.h>
#include <stdio.h>

#include "hlo/parse_internal.h"

#define LETTER TT_HLO_CHAR_LETTER
#define DIGIT (TT_HLO_CHAR_DIGIT | TT_HLO_CHAR_HEX)
#define HEX (TT_HLO_CHAR_LETTER | TT_HLO_CHAR_HEX)
#define TEN(first, class)                                                             \
  [first] = class, [first + 1] = class, [first + 2] = class, [first + 3] = class,     \
  [first + 4] = class, [first + 5] = class, [first + 6] = class, [first + 7] = class, \
  [first + 8] = class, [first + 9] = class
#define SIX(first, class)                                                         \
  [first] = class, [first + 1] = class, [first + 2] = class, [first + 3] = class, \
  [first + 4] = class, [first + 5] = class
const uint8_t tt_hlo_parse_chars[256] = {TEN('0', DIGIT),
                                         SIX('a', HEX),
                                         SIX('A', HEX),
                                         TEN('g', LETTER),
                                         TEN('q', LETTER),
                                         TEN('G', LETTER),
                                         TEN('Q', LETTER),
                                         ['_'] = LETTER,
                                         ['$'] = TT_HLO_CHAR_POINT,
                                         ['.'] = TT_HLO_CHAR_POINT,
                                         ['-'] = TT_HLO_CHAR_DASH,
                                         [' '] = TT_HLO_CHAR_BLANK,
                                         ['\t'] = TT_HLO_CHAR_BLANK,
                                         ['\r'] = TT_HLO_CHAR_BLANK,
                                         ['\n'] = TT_HLO_CHAR_BLANK};

/* ---- messages ---- */

static void find_place(const tt_hlo_parser *p, const char *at, size_t *out_line,
                       size_t *out_column) {
  const char *start = p->text;
  *out_line = 1;
  for (const char *c = start; (c = memchr(c, '\n', (size_t)(at - c))) != NULL; start = ++c)
    ++*out_line;
  *out_column = (size_t)(at - start) + 1;
}

tt_error *tt_hlo_parse_fail(const tt_hlo_parser *p, const char *at, tt_code code, const char *fmt,
                            ...) {
  size_t line = 0, column = 0;
  va_list args;
  va_start(args, fmt);
  tt_error *err = tt_error_newv(code, fmt, args);
  va_end(args);
  find_place(p, at, &line, &column);
  return tt_error_wrap_take(err, "%zu:%zu", line, column);
}

tt_error *tt_hlo_parse_expected(tt_hlo_parser *p, const char *what) {
  enum { MOST = 32 };
  char c = tt_hlo_parse_peek(p);
  const char *at = p->at, *end = at;
  if (at == p->end)
    return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT, "expected %s, got the end of the text",
                             what);
  if (c < ' ' || c > '~')
    return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT, "expected %s, got the byte 0x%02X", what,
                             (unsigned)(unsigned char)c);
  end++;
  while (end < p->end && end - at < MOST && *end > ' ' && *end <= '~' &&
         tt_hlo_char_is(*end, TT_HLO_CHAR_LETTER | TT_HLO_CHAR_DIGIT | TT_HLO_CHAR_POINT))
    end++;
  return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT, "expected %s, got '%.*s'", what,
                           (int)(end - at), at);
}

tt_error *tt_hlo_parse_no_memory(const tt_hlo_parser *p) {
  return tt_error_new(TT_RESOURCE_EXHAUSTED, "out of memory for a program of %zu bytes of text",
                      (size_t)(p->end - p->text));
}

/* ---- characters and words ---- */

bool tt_hlo_parse_comment(tt_hlo_parser *p) {
  if (p->end - p->at < 2 || p->at[1] != '/')
    return false;
  const char *line_end = memchr(p->at, '\n', (size_t)(p->end - p->at));
  p->at = line_end == NULL ? p->end : line_end;
  return true;
}

tt_error *tt_hlo_parse_expect(tt_hlo_parser *p, char c) {
  if (TT_LIKELY(tt_hlo_parse_take(p, c)))
    return NULL;
  char what[] = {'\'', c, '\'', '\0'};
  return tt_hlo_parse_expected(p, what);
}

static tt_hlo_slice take_run(tt_hlo_parser *p, unsigned classes) {
  const char *start = p->at;
  while (p->at < p->end && tt_hlo_char_is(*p->at, classes))
    p->at++;
  return (tt_hlo_slice){start, (size_t)(p->at - start)};
}

tt_hlo_slice tt_hlo_parse_word(tt_hlo_parser *p) {
  if (!tt_hlo_char_is(tt_hlo_parse_peek(p), TT_HLO_CHAR_LETTER))
    return (tt_hlo_slice){p->at, 0};
  return take_run(p, TT_HLO_CHAR_LETTER | TT_HLO_CHAR_DIGIT | TT_HLO_CHAR_POINT);
}

tt_error *tt_hlo_parse_expect_word(tt_hlo_parser *p, const char *word) {
  return tt_hlo_parse_take_word(p, word) ? NULL : tt_hlo_parse_expected(p, word);
}

tt_error *tt_hlo_parse_arrow(tt_hlo_parser *p) {
  if (tt_hlo_parse_peek(p) != '-' || p->end - p->at < 2 || p->at[1] != '>')
    return tt_hlo_parse_expected(p, "'->'");
  p->at += 2;
  return NULL;
}

tt_error *tt_hlo_parse_suffix(tt_hlo_parser *p, const char *what, tt_hlo_slice *out_name) {
  enum { ANY = TT_HLO_CHAR_LETTER | TT_HLO_CHAR_DIGIT | TT_HLO_CHAR_POINT | TT_HLO_CHAR_DASH };
  char first = p->at < p->end ? *p->at : ' ';
  *out_name = take_run(p, tt_hlo_char_is(first, TT_HLO_CHAR_DIGIT) ? TT_HLO_CHAR_DIGIT : ANY);
  return out_name->size > 0 ? NULL : tt_hlo_parse_expected(p, what);
}

/* ---- numbers and lists ---- */

tt_error *tt_hlo_parse_i64(tt_hlo_parser *p, int64_t *out_value) {
  char c = tt_hlo_parse_peek(p);
  const char *at = p->at;
  if (c == 't' || c == 'f') {
    *out_value = tt_hlo_parse_take_word(p, "true");
    return *out_value || tt_hlo_parse_take_word(p, "false") ? NULL
                                                            : tt_hlo_parse_expected(p, "a number");
  }
  tt_hlo_number number = {0};
  TT_RETURN_IF_ERROR(tt_hlo_parse_number(p, &number));
  uint64_t most = number.negative ? UINT64_C(1) << 63 : INT64_MAX;
  if (number.is_float || number.magnitude > most)
    return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT,
                             "expected an integer of 64 bits, got '%.*s'",
                             (int)(p->at - at > 32 ? 32 : p->at - at), at);
  *out_value = number.negative ? (int64_t)(0 - number.magnitude) : (int64_t)number.magnitude;
  return NULL;
}

tt_error *tt_hlo_parse_pop_numbers(tt_hlo_parser *p, size_t height, tt_hlo_list *out_list) {
  size_t size = p->numbers.size - height;
  void *items =
      p->numbers.failed
          ? NULL
          : tt_arena_copy(&p->module->arena,
                          p->numbers.data == NULL ? NULL : p->numbers.data + height, size);
  if (items == NULL)
    return tt_hlo_parse_no_memory(p);
  p->numbers.size = height;
  *out_list = (tt_hlo_list){size / sizeof(int64_t), items};
  return NULL;
}

tt_error *tt_hlo_parse_list(tt_hlo_parser *p, tt_hlo_list *out_list) {
  size_t height = p->numbers.size;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '['));
  if (!tt_hlo_parse_take(p, ']')) {
    do {
      int64_t item = 0;
      TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &item));
      tt_bytes_append(&p->numbers, &item, sizeof item);
    } while (tt_hlo_parse_take(p, ','));
    TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ']'));
  }
  return tt_hlo_parse_pop_numbers(p, height, out_list);
}

/* ---- strings ---- */

static int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* From an opening quote behind the closing one. */
static tt_error *skip_string(tt_hlo_parser *p) {
  const char *start = p->at++;
  for (; p->at < p->end && *p->at != '"' && *p->at != '\n' && *p->at != '\0'; p->at++)
    p->at += *p->at == '\\' && p->end - p->at > 1;
  if (p->at >= p->end || *p->at != '"')
    return tt_hlo_parse_fail(p, start, TT_INVALID_ARGUMENT,
                             "expected a closing quote in this line");
  p->at++;
  return NULL;
}

/* One character, escaped or not; -1: no such escape. */
static int unescape(const char **at, const char *end) {
  const char *c = *at;
  if (*c != '\\') {
    *at = c + 1;
    return (unsigned char)*c;
  }
  *at = c + 2;
  if (end - c < 2)
    return -1;
  if (c[1] == '"' || c[1] == '\\')
    return c[1];
  if (c[1] == 'n')
    return '\n';
  if (c[1] == 't')
    return '\t';
  *at = c + 3;
  int high = hex_digit(c[1]), low = end - c < 3 ? -1 : hex_digit(c[2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

tt_error *tt_hlo_parse_string(tt_hlo_parser *p, const char **out_text) {
  if (tt_hlo_parse_peek(p) != '"')
    return tt_hlo_parse_expected(p, "a string");
  const char *at = p->at + 1;
  TT_RETURN_IF_ERROR(skip_string(p));
  const char *end = p->at - 1;
  char *text = tt_arena_text(&p->module->arena, at, (size_t)(end - at)), *out = text;
  if (text == NULL)
    return tt_hlo_parse_no_memory(p);
  while (at < end) {
    const char *from = at;
    int c = unescape(&at, end);
    if (c < 0)
      return tt_hlo_parse_fail(p, from, TT_INVALID_ARGUMENT,
                               "expected \\\" \\\\ \\n \\t or two hex digits behind \\");
    if (c == 0)
      return tt_hlo_parse_fail(p, from, TT_UNIMPLEMENTED, "a string with a NUL in it");
    *out++ = (char)c;
  }
  *out = '\0';
  *out_text = text;
  return NULL;
}

tt_error *tt_hlo_parse_symbol(tt_hlo_parser *p, const char **out_name) {
  tt_hlo_slice name = {0};
  if (!tt_hlo_parse_take(p, '@'))
    return tt_hlo_parse_expected(p, "a symbol such as @main");
  if (p->at < p->end && *p->at == '"')
    return tt_hlo_parse_string(p, out_name);
  TT_RETURN_IF_ERROR(tt_hlo_parse_suffix(p, "a name behind @", &name));
  *out_name = tt_arena_text(&p->module->arena, name.text, name.size);
  return *out_name == NULL ? tt_hlo_parse_no_memory(p) : NULL;
}

/* ---- skipping ---- */

/* A # that begins an alias, not an attribute of a dialect, which has a point or bracket. */
static bool is_alias(const char *at, const char *end) {
  for (at++; at < end && tt_hlo_char_is(*at, TT_HLO_CHAR_LETTER | TT_HLO_CHAR_DIGIT); at++) {
  }
  return at == end || (*at != '.' && *at != '<');
}

tt_error *tt_hlo_parse_skip(tt_hlo_parser *p, bool line, bool *out_has_alias) {
  size_t open = 0;
  while (p->at < p->end) {
    char c = *p->at;
    if (c == '"') {
      TT_RETURN_IF_ERROR(skip_string(p));
      continue;
    }
    if (c == '/' && tt_hlo_parse_comment(p))
      continue;
    if (c == '\0') /* it would end what is kept as text */
      return tt_hlo_parse_expected(p, "a printable character");
    if (open == 0 && (c == ',' || (line && c == '\n')))
      return NULL;
    if (c == '(' || c == '[' || c == '{' || c == '<')
      open++;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && p->at[-1] != '-')) {
      if (open == 0)
        return NULL;
      open--;
    }
    if (c == '#' && is_alias(p->at, p->end))
      *out_has_alias = true;
    p->at++;
  }
  return open == 0 ? NULL : tt_hlo_parse_expected(p, "a closing bracket");
}

tt_error *tt_hlo_parse_skip_brackets(tt_hlo_parser *p, bool *out_has_alias) {
  p->at++;
  do
    TT_RETURN_IF_ERROR(tt_hlo_parse_skip(p, false, out_has_alias));
  while (tt_hlo_parse_take(p, ','));
  if (p->at == p->end)
    return tt_hlo_parse_expected(p, "a closing bracket");
  p->at++;
  return NULL;
}
