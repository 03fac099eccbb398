/* deadline.h: points in time at which a wait ends, in nanoseconds of the monotonic clock. */
#ifndef TT_CPU_DEADLINE_H
#define TT_CPU_DEADLINE_H

#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline int64_t tt_cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t tt_cpu_deadline_after(int64_t wait_ns) {
  int64_t now = tt_cpu_now();
  return wait_ns > INT64_MAX - now ? INT64_MAX : now + wait_ns;
}

/* For pthread_cond_timedwait with that clock. */
static inline struct timespec tt_cpu_deadline_time(int64_t deadline) {
  struct timespec t;
  t.tv_sec = (time_t)(deadline / 1000000000);
  t.tv_nsec = (long)(deadline % 1000000000);
  return t;
}

/* What is left of it for poll(), in milliseconds, rounded up; 0 when it is over. */
static inline int tt_cpu_deadline_left_ms(int64_t deadline) {
  int64_t left = deadline - tt_cpu_now();
  int64_t ms = left / 1000000 + (left % 1000000 > 0);
  return left <= 0 ? 0 : ms > INT32_MAX ? INT32_MAX : (int)ms;
}

#ifdef __cplusplus
}
#endif

#endif /* TT_CPU_DEADLINE_H */
