/* test.h: the C tests' harness.
 *
 *   TEST(bytes, grows) {
 *     tt_bytes bytes = {0};
 *     REQUIRE_OK(fill(&bytes));      // on failure: goto out
 *     EXPECT_INT(bytes.size, 4);     // on failure: noted, the test goes on
 *   out:
 *     tt_bytes_free(&bytes);
 *   }
 *
 * Every EXPECT_* is an expression that is true when it held. With --torture each test is run again
 * with its 1st, 2nd,
 * ... allocation failing: then a failed expectation does not count, but a crash or a leak does. So
 * a test must use REQUIRE* where going on after a failure would be a crash, and free what it made
 * at `out:`. One thread checks at a time. */
#ifndef TT_TEST_H
#define TT_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"

typedef struct tt_test tt_test;
struct tt_test {
  const char *module, *name;
  void (*run)(void);
  bool torture;
  tt_test *next;
};

void tt_test_register(tt_test *test);
bool tt_test_true(const char *file, int line, const char *text, bool ok);
bool tt_test_int(const char *file, int line, const char *text, long long got, long long want);
bool tt_test_double(const char *file, int line, const char *text, double got, double want,
                    double tolerance);
bool tt_test_str(const char *file, int line, const char *text, const char *got, const char *want);
bool tt_test_contains(const char *file, int line, const char *text, const char *got,
                      const char *part);
bool tt_test_bytes(const char *file, int line, const char *text, const void *got, const void *want,
                   size_t size);
bool tt_test_ok(const char *file, int line, const char *text, tt_error *err);
bool tt_test_err(const char *file, int line, const char *text, tt_error *err, tt_code code,
                 const char *part);
void tt_test_skip(const char *reason);
/* True while an allocation may be made to fail. */
bool tt_test_tortured(void);

#define TT_TEST_DEFINE(module, name, torture)                                                     \
  static void run_##module##_##name(void);                                                        \
  static tt_test test_##module##_##name = {#module, #name, run_##module##_##name, torture, NULL}; \
  __attribute__((constructor)) static void register_##module##_##name(void) {                     \
    tt_test_register(&test_##module##_##name);                                                    \
  }                                                                                               \
  static void run_##module##_##name(void)

#define TEST(module, name) TT_TEST_DEFINE(module, name, true)
/* For a test that is too slow to repeat, or whose threads allocate in no fixed order. */
#define TEST_WITHOUT_TORTURE(module, name) TT_TEST_DEFINE(module, name, false)

#define EXPECT(cond) tt_test_true(__FILE__, __LINE__, #cond, (cond))
#define EXPECT_INT(got, want) \
  tt_test_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define EXPECT_DOUBLE(got, want, tolerance) \
  tt_test_double(__FILE__, __LINE__, #got, (got), (want), (tolerance))
#define EXPECT_STR(got, want) tt_test_str(__FILE__, __LINE__, #got, (got), (want))
#define EXPECT_CONTAINS(got, part) tt_test_contains(__FILE__, __LINE__, #got, (got), (part))
#define EXPECT_BYTES(got, want, size) tt_test_bytes(__FILE__, __LINE__, #got, (got), (want), (size))
/* Consume the error. EXPECT_ERR wants this code, and `part` within the message. */
#define EXPECT_OK(err) tt_test_ok(__FILE__, __LINE__, #err, (err))
#define EXPECT_ERR(err, code, part) tt_test_err(__FILE__, __LINE__, #err, (err), (code), (part))

#define REQUIRE(cond)  \
  do {                 \
    if (!EXPECT(cond)) \
      goto out;        \
  } while (0)
#define REQUIRE_OK(call)  \
  do {                    \
    if (!EXPECT_OK(call)) \
      goto out;           \
  } while (0)
/* Ends the test; it is counted as skipped, and the reason printed. */
#define SKIP(reason)      \
  do {                    \
    tt_test_skip(reason); \
    goto out;             \
  } while (0)

#endif /* TT_TEST_H */
