#include "test_alloc.h"

#include <stdatomic.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

/* Atomic: a module under test may have threads. Counts down to 1; 0 when no failure is wanted. */
static atomic_long countdown;
static atomic_bool failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void tt_test_fail_at(long n) {
  atomic_store(&failed, false);
  atomic_store(&countdown, n);
}

bool tt_test_has_failed(void) { return atomic_load(&failed); }

static bool fails_now(void) {
  if (atomic_load(&countdown) == 0 || atomic_fetch_sub(&countdown, 1) != 1)
    return false;
  atomic_store(&failed, true);
  return true;
}

void *__wrap_malloc(size_t size) { return fails_now() ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size) {
  return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
  return fails_now() ? NULL : __real_realloc(old, size);
}

bool tt_test_leaked(void) {
#if defined(__SANITIZE_ADDRESS__)
  return __lsan_do_recoverable_leak_check() != 0;
#else
  return false;
#endif
}
