/* test_parse.h: what the tests of the parser share. */
#ifndef TT_TEST_PARSE_H
#define TT_TEST_PARSE_H

#include "hlo/hlo.h"
#include "hlo/parse.h"
#include "test.h"

/* Parses, verifies and prints `text`; the print, parsed again, prints the same. Then
 * out_text->data is it, NUL-terminated; free it. A failure is noted for `line` of `file`. */
bool test_parse_print(const char *file, int line, const char *text, tt_bytes *out_text);
/* The same for operations in the body of a function with these parameters; the print holds
 * `wanted`. */
void test_parse_ops(const char *file, int line, const char *params, const char *ops,
                    const char *wanted);
#define CHECK_OPS(params, ops, wanted) test_parse_ops(__FILE__, __LINE__, params, ops, wanted)
/* Parsing gives an error of this code whose message holds `part`. */
void test_parse_error(const char *file, int line, const char *text, tt_code code, const char *part);
#define CHECK_ERROR(text, code, part) test_parse_error(__FILE__, __LINE__, text, code, part)

#endif /* TT_TEST_PARSE_H */
