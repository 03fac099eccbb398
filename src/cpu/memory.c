/* memory.c: size classes cut from slabs, and large blocks mapped alone; both are kept when freed.
 *
 * A slab is SLAB bytes at a multiple of SLAB, all for one class, so a block's class stands where
 * its address, rounded down, points. Large blocks begin at a multiple of HUGE, which no block of a
 * slab does; what is known of one stands in the page before it. */
#include "cpu/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(data, size) ASAN_POISON_MEMORY_REGION(data, size)
#define UNPOISON(data, size) ASAN_UNPOISON_MEMORY_REGION(data, size)
#else
#define POISON(data, size) ((void)0)
#define UNPOISON(data, size) ((void)0)
#endif

enum {
  ALIGN = 64,
  PAGE = 4096,
  HUGE = 2 << 20,
  SLAB = 8 << 20,
  STEPS = 4,            /* classes in a doubling */
  CLASSES = 15 * STEPS, /* 64 bytes up to and without HUGE */
  KEPT_LEAST = 64 << 20
};

/* ---- statistics ---- */

/* Blocks count with the size that they take, not the one asked for. */
static atomic_int_least64_t in_use, peak, kept, allocations;
static atomic_int_least64_t limit = -1;

static bool account(int64_t size) {
  int64_t most = atomic_load_explicit(&limit, memory_order_relaxed);
  int64_t now = atomic_fetch_add_explicit(&in_use, size, memory_order_relaxed) + size;
  if (most >= 0 && now > most) {
    atomic_fetch_sub_explicit(&in_use, size, memory_order_relaxed);
    return false;
  }
  int64_t before = atomic_load_explicit(&peak, memory_order_relaxed);
  while (now > before && !atomic_compare_exchange_weak_explicit(
                             &peak, &before, now, memory_order_relaxed, memory_order_relaxed))
    continue;
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  return true;
}

static void unaccount(int64_t size) {
  atomic_fetch_sub_explicit(&in_use, size, memory_order_relaxed);
}

static void keep(int64_t size) { atomic_fetch_add_explicit(&kept, size, memory_order_relaxed); }

tt_cpu_memory_stats tt_cpu_memory_stats_get(void) {
  return (tt_cpu_memory_stats){.in_use = atomic_load(&in_use),
                               .peak = atomic_load(&peak),
                               .kept = atomic_load(&kept),
                               .limit = atomic_load(&limit),
                               .allocations = atomic_load(&allocations)};
}

void tt_cpu_memory_limit_set(int64_t new_limit) { atomic_store(&limit, new_limit); }

/* "max" in the file, and no file, are no limit. */
static int64_t group_limit(const char *path) {
  long long bytes = -1;
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return -1;
  if (fscanf(file, "%lld", &bytes) != 1)
    bytes = -1;
  fclose(file);
  return bytes;
}

int64_t tt_cpu_memory_of_machine(void) {
  static const char *const groups[] = {"/sys/fs/cgroup/memory.max",
                                       "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
  int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE), most = -1;
  if (pages > 0 && size > 0 && __builtin_mul_overflow(pages, size, &most))
    most = -1;
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    int64_t group = group_limit(groups[i]);
    if (group > 0 && (most < 0 || group < most))
      most = group;
  }
  return most;
}

/* ---- mappings ---- */

/* `size` bytes of which the one at `lead` has an address that is a multiple of `align`. */
static char *map_aligned(size_t size, size_t lead, size_t align) {
  char *raw = mmap(NULL, size + align, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    return NULL;
  size_t before = (align - ((uintptr_t)raw + lead) % align) % align;
  if (before > 0)
    munmap(raw, before);
  if (align - before > 0)
    munmap(raw + before + size, align - before);
  return raw + before;
}

/* ---- slabs ---- */

typedef struct block {
  struct block *next;
} block;

typedef struct slab {
  struct slab *next;
  uint32_t class_index;
  uint32_t live;  /* blocks that were handed out and not freed; locked by the class */
  uint32_t fresh; /* offset of the part that was never handed out; the same */
} slab;

typedef struct size_class {
  pthread_mutex_t lock;
  block *free;
  slab *slabs; /* the first has the fresh part that is being cut */
} size_class;

/* GNU C's range initializer; PTHREAD_MUTEX_INITIALIZER alone is not zero everywhere. */
#define CLASS_4                                                                     \
  {PTHREAD_MUTEX_INITIALIZER, NULL, NULL}, {PTHREAD_MUTEX_INITIALIZER, NULL, NULL}, \
      {PTHREAD_MUTEX_INITIALIZER, NULL, NULL}, {                                    \
    PTHREAD_MUTEX_INITIALIZER, NULL, NULL                                           \
  }
static size_class classes[CLASSES] = {CLASS_4, CLASS_4, CLASS_4, CLASS_4, CLASS_4,
                                      CLASS_4, CLASS_4, CLASS_4, CLASS_4, CLASS_4,
                                      CLASS_4, CLASS_4, CLASS_4, CLASS_4, CLASS_4};

/* Class STEPS * d + s holds (STEPS + s) / STEPS * 2^d * 64 bytes, up to a multiple of ALIGN. */
static size_t class_size(uint32_t index) {
  size_t size = ((size_t)(STEPS + index % STEPS) << (index / STEPS)) * (ALIGN / STEPS);
  return (size + ALIGN - 1) / ALIGN * ALIGN;
}

static uint32_t class_of(size_t size) {
  if (size <= ALIGN)
    return 0;
  uint32_t doubling = 63 - (uint32_t)__builtin_clzll((size - 1) / ALIGN);
  size_t step = ((size_t)ALIGN / STEPS) << doubling;
  return STEPS * doubling + (uint32_t)((size - ((size_t)ALIGN << doubling) + step - 1) / step);
}

/* Locked by the class. */
static slab *add_slab(size_class *c, uint32_t index) {
  slab *s = (slab *)map_aligned(SLAB, 0, SLAB);
  if (s == NULL)
    return NULL;
  if (class_size(index) >= 16 * PAGE)
    madvise(s, SLAB, MADV_HUGEPAGE);
  *s = (slab){.next = c->slabs, .class_index = index, .fresh = ALIGN};
  c->slabs = s;
  return s;
}

static slab *slab_of(void *pointer) { return (slab *)((uintptr_t)pointer / SLAB * SLAB); }

/* Locked by the class. */
static void *cut(size_class *c, uint32_t index, size_t size) {
  slab *s = c->slabs;
  if (s == NULL || s->fresh + size > SLAB)
    s = add_slab(c, index);
  if (s == NULL)
    return NULL;
  /* A slab's second, third and fourth HUGE begin no block: see the head of this file. */
  if (s->fresh % HUGE == 0)
    s->fresh += ALIGN;
  if (s->fresh + size > SLAB)
    return cut(c, index, size);
  void *pointer = (char *)s + s->fresh;
  s->fresh += (uint32_t)size;
  return pointer;
}

static void *alloc_small(uint32_t index) {
  size_t size = class_size(index);
  size_class *c = &classes[index];
  if (!account((int64_t)size))
    return NULL;
  pthread_mutex_lock(&c->lock);
  block *b = c->free;
  if (b != NULL) {
    UNPOISON(b, size);
    c->free = b->next;
  }
  void *pointer = b != NULL ? b : cut(c, index, size);
  if (pointer != NULL)
    slab_of(pointer)->live++;
  pthread_mutex_unlock(&c->lock);
  if (b != NULL)
    keep(-(int64_t)size);
  if (pointer == NULL)
    unaccount((int64_t)size);
  return pointer;
}

static void free_small(void *pointer) {
  slab *s = slab_of(pointer);
  size_t size = class_size(s->class_index);
  size_class *c = &classes[s->class_index];
  block *b = pointer;
  pthread_mutex_lock(&c->lock);
  b->next = c->free;
  c->free = b;
  s->live--;
  POISON(b, size);
  pthread_mutex_unlock(&c->lock);
  unaccount((int64_t)size);
  keep((int64_t)size);
}

/* Gives back the slabs in which no block is in use. */
static void trim_class(size_class *c, size_t size) {
  slab *gone = NULL;
  pthread_mutex_lock(&c->lock);
  for (block **at = &c->free; *at != NULL;) {
    block *b = *at;
    UNPOISON(b, size);
    if (slab_of(b)->live > 0) {
      at = &b->next;
      continue;
    }
    *at = b->next;
    keep(-(int64_t)size);
  }
  for (slab **at = &c->slabs; *at != NULL;) {
    slab *s = *at;
    if (s->live > 0) {
      at = &s->next;
      continue;
    }
    *at = s->next;
    s->next = gone;
    gone = s;
  }
#if defined(__SANITIZE_ADDRESS__)
  for (block *b = c->free, *next; b != NULL; b = next) {
    next = b->next;
    POISON(b, size);
  }
#endif
  pthread_mutex_unlock(&c->lock);
  while (gone != NULL) {
    slab *next = gone->next;
    UNPOISON(gone, SLAB);
    munmap(gone, SLAB);
    gone = next;
  }
}

/* ---- large blocks ---- */

/* In the page before the block. */
typedef struct large {
  struct large *next;
  size_t size; /* of the block, a multiple of HUGE */
} large;

static pthread_mutex_t large_lock = PTHREAD_MUTEX_INITIALIZER;
static large *large_free; /* locked by `large_lock`; the one freed last comes first */

static void *data_of(large *l) { return (char *)l + PAGE; }
static large *large_of(void *pointer) { return (large *)((char *)pointer - PAGE); }
static void unmap_large(large *l) {
  UNPOISON(data_of(l), l->size);
  munmap(l, l->size + PAGE);
}

/* Up to an eighth of waste, so that sizes that come near each other share their blocks. */
static size_t large_size(size_t size) {
  size_t units = (size + HUGE - 1) / HUGE;
  size_t step = units < 16 ? 1 : (size_t)1 << (60 - (unsigned)__builtin_clzll(units));
  return (units + step - 1) / step * step * HUGE;
}

/* The smallest kept block that is not an eighth too large. */
static large *take_kept(size_t size) {
  large **best = NULL;
  pthread_mutex_lock(&large_lock);
  for (large **at = &large_free; *at != NULL; at = &(*at)->next)
    if ((*at)->size >= size && (*at)->size <= size + size / 8 &&
        (best == NULL || (*at)->size < (*best)->size))
      best = at;
  large *found = best == NULL ? NULL : *best;
  if (found != NULL)
    *best = found->next;
  pthread_mutex_unlock(&large_lock);
  if (found != NULL)
    keep(-(int64_t)found->size);
  return found;
}

static large *map_large(size_t size) {
  large *l = (large *)map_aligned(size + PAGE, PAGE, HUGE);
  if (l == NULL)
    return NULL;
  madvise(data_of(l), size, MADV_HUGEPAGE);
  l->size = size;
  return l;
}

static void *alloc_large(size_t wanted) {
  size_t size = large_size(wanted);
  if (!account((int64_t)size))
    return NULL;
  large *l = take_kept(size);
  if (l == NULL)
    l = map_large(size);
  if (l == NULL) {
    tt_cpu_memory_trim();
    l = map_large(size);
  }
  if (l == NULL) {
    unaccount((int64_t)size);
    return NULL;
  }
  unaccount((int64_t)size - (int64_t)l->size);
  UNPOISON(data_of(l), l->size);
  return data_of(l);
}

/* What is kept and in use together stays under what was once in use, and a little. */
static void free_large(void *pointer) {
  large *l = large_of(pointer);
  int64_t size = (int64_t)l->size;
  unaccount(size);
  if (atomic_load(&in_use) + atomic_load(&kept) + size > atomic_load(&peak) + KEPT_LEAST) {
    unmap_large(l);
    return;
  }
  POISON(pointer, l->size);
  pthread_mutex_lock(&large_lock);
  l->next = large_free;
  large_free = l;
  pthread_mutex_unlock(&large_lock);
  keep(size);
}

static void trim_large(void) {
  pthread_mutex_lock(&large_lock);
  large *l = large_free;
  large_free = NULL;
  pthread_mutex_unlock(&large_lock);
  while (l != NULL) {
    large *next = l->next;
    keep(-(int64_t)l->size);
    unmap_large(l);
    l = next;
  }
}

/* ---- both ---- */

void *tt_cpu_memory_alloc(int64_t size) {
  if (size < 0 || size > INT64_MAX / 2)
    return NULL;
  uint32_t index = size < HUGE ? class_of((size_t)size) : CLASSES;
  return index < CLASSES ? alloc_small(index) : alloc_large((size_t)size);
}

void tt_cpu_memory_free(void *pointer) {
  if (pointer == NULL)
    return;
  if ((uintptr_t)pointer % HUGE == 0)
    free_large(pointer);
  else
    free_small(pointer);
}

void tt_cpu_memory_trim(void) {
  trim_large();
  for (uint32_t i = 0; i < CLASSES; i++)
    trim_class(&classes[i], class_size(i));
}
