/* Threads that share the work of a kernel. One job at a time: who comes while one is under way
 * works alone, which keeps nested calls safe and leaves the cores to who has them.
 *
 * Workers spin for SPIN_NS after a job, then sleep; a job that begins wakes them. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "cpu/kernel.h"

#include <linux/futex.h>
#include <sys/syscall.h>

enum { WORKERS_MAX = 255, PARTS_EACH = 4, PAUSES = 64 };
/* As long as the loops of a recurrent net have work for one thread alone, and as waking a thread
 * takes on a virtual machine; a longer spin would take a core from who else has threads. */
static const int64_t SPIN_NS = 50000;
/* Less work stays on the caller's thread, as waking the others takes as long; where one is awake,
 * as between the small products of a loop, less does. */
static const double ALONE_NS = 50e3, ALONE_AWAKE_NS = 12e3;

typedef struct job {
  void (*body)(int64_t begin, int64_t end, void *user);
  void *user;
  int64_t count, grain;
} job;

/* The only state of the process in this folder but memory.c's: threads are the process's too. */
static struct {
  pthread_mutex_t busy; /* held by who runs a job */
  job job;
  _Atomic int64_t next;    /* item of the job that nobody has taken */
  _Atomic uint32_t epoch;  /* counts jobs; what workers sleep on */
  _Atomic uint32_t open;   /* 1: the job may be entered */
  _Atomic uint32_t inside; /* workers that have entered, or look whether they may */
  _Atomic uint32_t sleeping;
  _Atomic int threads; /* 0: not counted yet */
  _Atomic uint32_t workers;
  pid_t pid; /* that has the workers: a child after fork has none */
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER};

static void pause_cpu(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static void futex_wait(_Atomic uint32_t *at, uint32_t seen) {
  syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *at) {
  syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void take_parts(const job *j) {
  for (;;) {
    int64_t begin = atomic_fetch_add(&pool.next, j->grain);
    if (begin >= j->count)
      return;
    int64_t end = j->count - begin < j->grain ? j->count : begin + j->grain;
    j->body(begin, end, j->user);
  }
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Whether it stops being `seen` soon. */
static bool changes(_Atomic uint32_t *at, uint32_t seen) {
  int64_t end = 0;
  for (;;) {
    for (int i = 0; i < PAUSES; i++) {
      if (atomic_load(at) != seen)
        return true;
      pause_cpu();
    }
    int64_t now = now_ns();
    if (end == 0)
      end = now + SPIN_NS;
    if (now >= end)
      return false;
  }
}

static uint32_t wait_for_job(uint32_t seen) {
  if (!changes(&pool.epoch, seen)) {
    atomic_fetch_add(&pool.sleeping, 1);
    while (atomic_load(&pool.epoch) == seen)
      futex_wait(&pool.epoch, seen);
    atomic_fetch_sub(&pool.sleeping, 1);
  }
  return atomic_load(&pool.epoch);
}

/* A worker that comes late finds the job closed: nobody waits for one that has not begun. It counts
 * itself before it looks, the caller closes before it counts, so one of the two sees the other. */
static void *work(void *arg) {
  uint32_t seen = (uint32_t)(uintptr_t)arg;
  for (;;) {
    seen = wait_for_job(seen);
    atomic_fetch_add(&pool.inside, 1);
    if (atomic_load(&pool.open) != 0)
      take_parts(&pool.job);
    if (atomic_fetch_sub(&pool.inside, 1) == 1 && atomic_load(&pool.open) == 0)
      futex_wake(&pool.inside);
  }
  return NULL;
}

int tt_cpu_threads(void) {
  cpu_set_t set;
  int threads = atomic_load(&pool.threads);
  if (threads > 0)
    return threads;
  threads = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  threads = threads < 1 ? 1 : threads > WORKERS_MAX + 1 ? WORKERS_MAX + 1 : threads;
  atomic_store(&pool.threads, threads);
  return threads;
}

/* With `busy` held. */
static void start_workers(void) {
  pthread_attr_t attr;
  if (pool.pid == getpid())
    return;
  pool.pid = getpid();
  atomic_store(&pool.workers, 0);
  atomic_store(&pool.sleeping, 0);
  atomic_store(&pool.inside, 0);
  if (pthread_attr_init(&attr) != 0)
    return;
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  void *seen = (void *)(uintptr_t)atomic_load(&pool.epoch);
  for (int i = 1; i < tt_cpu_threads(); i++) {
    pthread_t thread;
    if (pthread_create(&thread, &attr, work, seen) != 0)
      break;
    atomic_fetch_add(&pool.workers, 1);
  }
  pthread_attr_destroy(&attr);
}

static void run_together(const job *j) {
  pool.job = *j;
  atomic_store(&pool.next, 0);
  atomic_store(&pool.open, 1);
  atomic_fetch_add(&pool.epoch, 1);
  if (atomic_load(&pool.sleeping) > 0)
    futex_wake(&pool.epoch);
  take_parts(j);
  atomic_store(&pool.open, 0);
  for (uint32_t left; (left = atomic_load(&pool.inside)) != 0;)
    if (!changes(&pool.inside, left))
      futex_wait(&pool.inside, left);
}

bool tt_cpu_parallel_pays(double ns) {
  bool awake = atomic_load(&pool.workers) > atomic_load(&pool.sleeping);
  return tt_cpu_threads() > 1 && ns >= (awake ? ALONE_AWAKE_NS : ALONE_NS);
}

/* The lock of a parent that forked during a job stays locked in the child, which then works alone.
 */
void tt_cpu_parallel(int64_t count, double cost,
                     void (*body)(int64_t begin, int64_t end, void *user), void *user) {
  if (count <= 0)
    return;
  bool alone = count == 1 || !tt_cpu_parallel_pays((double)count * cost);
  if (alone || pthread_mutex_trylock(&pool.busy) != 0) {
    body(0, count, user);
    return;
  }
  start_workers();
  uint32_t workers = atomic_load(&pool.workers);
  job j = {body, user, count, count / ((int64_t)(workers + 1) * PARTS_EACH)};
  /* No part is so small that taking it costs as much as doing it. */
  int64_t least = (int64_t)(5e3 / (cost < 1 ? 1 : cost));
  j.grain = j.grain < least ? least : j.grain;
  j.grain = j.grain < 1 ? 1 : j.grain;
  if (workers == 0)
    body(0, count, user);
  else
    run_together(&j);
  pthread_mutex_unlock(&pool.busy);
}
