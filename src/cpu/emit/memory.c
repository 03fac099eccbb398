#include "cpu/emit/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu/emit/emit.h"

enum { UNIT = 64, CHUNK = 128 << 10, UNITS = CHUNK / UNIT };

typedef struct chunk chunk;
struct chunk {
  chunk *next;
  char *write, *run; /* the same memory; write is NULL once it is sealed */
  uint32_t used;     /* units */
  uint32_t from;     /* no unit before it is free */
  uint64_t taken[UNITS / 64];
};

static struct {
  pthread_mutex_t lock;
  chunk *chunks;
  size_t used;
  pid_t pid;
  bool refused, watches;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- fork ---- */

static void seal_all(void) {
  for (chunk *c = memory.chunks; c != NULL; c = c->next)
    if (c->write != NULL) {
      munmap(c->write, CHUNK);
      c->write = NULL;
    }
}

static void before_fork(void) {
  pthread_mutex_lock(&memory.lock);
  seal_all();
}
static void after_fork(void) { pthread_mutex_unlock(&memory.lock); }

/* A child of a bare clone did not come by the handlers. */
static void watch_forks(void) {
  pid_t pid = getpid();
  if (!memory.watches) {
    memory.watches = pthread_atfork(before_fork, after_fork, after_fork) == 0;
    memory.refused = memory.refused || !memory.watches;
  } else if (memory.pid != pid) {
    seal_all();
  }
  memory.pid = pid;
}

/* ---- chunks ---- */

static bool map_chunk(chunk *c) {
  int file = memfd_create("tt_cpu_code", MFD_CLOEXEC);
  if (file < 0)
    return false;
  void *write = MAP_FAILED, *run = MAP_FAILED;
  if (ftruncate(file, CHUNK) == 0) {
    write = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    run = mmap(NULL, CHUNK, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  }
  close(file);
  if (write != MAP_FAILED && run != MAP_FAILED) {
    c->write = write;
    c->run = run;
    return true;
  }
  if (write != MAP_FAILED)
    munmap(write, CHUNK);
  if (run != MAP_FAILED)
    munmap(run, CHUNK);
  return false;
}

static chunk *add_chunk(void) {
  chunk *c = memory.refused ? NULL : calloc(1, sizeof *c);
  if (c == NULL)
    return NULL;
  if (!map_chunk(c)) {
    memory.refused = true;
    free(c);
    return NULL;
  }
  c->next = memory.chunks;
  memory.chunks = c;
  return c;
}

static void drop_chunk(chunk *c) {
  chunk **at = &memory.chunks;
  while (*at != c)
    at = &(*at)->next;
  *at = c->next;
  if (c->write != NULL)
    munmap(c->write, CHUNK);
  munmap(c->run, CHUNK);
  free(c);
}

static bool is_taken(const chunk *c, uint32_t unit) {
  return (c->taken[unit / 64] >> (unit % 64) & 1) != 0;
}

static void mark(chunk *c, uint32_t unit, uint32_t units, bool taken) {
  for (uint32_t i = unit; i < unit + units; i++)
    if (taken)
      c->taken[i / 64] |= UINT64_C(1) << (i % 64);
    else
      c->taken[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

/* The first run of free units, or UNITS. */
static uint32_t find_units(chunk *c, uint32_t units) {
  uint32_t run = 0;
  if (c->write == NULL || c->used + units > UNITS)
    return UNITS;
  while (c->from < UNITS && is_taken(c, c->from))
    c->from++;
  for (uint32_t i = c->from; i < UNITS; i++) {
    run = is_taken(c, i) ? 0 : run + 1;
    if (run == units)
      return i + 1 - units;
  }
  return UNITS;
}

static void *put(const void *bytes, size_t size, uint32_t units) {
  uint32_t unit = UNITS;
  chunk *c;
  watch_forks();
  for (c = memory.chunks; c != NULL; c = c->next)
    if ((unit = find_units(c, units)) < UNITS)
      break;
  if (c == NULL) {
    c = add_chunk();
    unit = 0;
  }
  if (c == NULL)
    return NULL;
  mark(c, unit, units, true);
  c->used += units;
  memory.used += (size_t)units * UNIT;
  memcpy(c->write + (size_t)unit * UNIT, bytes, size);
  return c->run + (size_t)unit * UNIT;
}

void *tt_cpu_code_memory_put(const void *bytes, size_t size) {
  if (size == 0 || size > CHUNK)
    return NULL;
  pthread_mutex_lock(&memory.lock);
  void *piece = put(bytes, size, (uint32_t)((size + UNIT - 1) / UNIT));
  pthread_mutex_unlock(&memory.lock);
  return piece;
}

/* One empty chunk is kept. */
static void give_back(chunk *c, uint32_t unit, uint32_t units) {
  mark(c, unit, units, false);
  c->used -= units;
  c->from = unit < c->from ? unit : c->from;
  memory.used -= (size_t)units * UNIT;
  if (c->used == 0 && (c->write == NULL || memory.chunks->next != NULL))
    drop_chunk(c);
}

void tt_cpu_code_memory_free(void *piece, size_t size) {
  if (piece == NULL)
    return;
  pthread_mutex_lock(&memory.lock);
  for (chunk *c = memory.chunks; c != NULL; c = c->next)
    if ((char *)piece >= c->run && (char *)piece < c->run + CHUNK) {
      give_back(c, (uint32_t)(((char *)piece - c->run) / UNIT),
                (uint32_t)((size + UNIT - 1) / UNIT));
      break;
    }
  pthread_mutex_unlock(&memory.lock);
}

size_t tt_cpu_code_memory_used(void) {
  pthread_mutex_lock(&memory.lock);
  size_t used = memory.used;
  pthread_mutex_unlock(&memory.lock);
  return used;
}
