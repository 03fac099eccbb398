/* test_alloc.h: makes one allocation of a test fail.
 *
 * The test executables are linked with --wrap for malloc, calloc and realloc. */
#ifndef TT_TEST_ALLOC_H
#define TT_TEST_ALLOC_H

#include <stdbool.h>

/* The `n`th allocation from now on fails, and only that one; 0: none. */
void tt_test_fail_at(long n);
/* Whether it came to that allocation. */
bool tt_test_has_failed(void);
/* False without the address sanitizer. */
bool tt_test_leaked(void);

#endif /* TT_TEST_ALLOC_H */
