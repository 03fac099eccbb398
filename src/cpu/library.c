#include "cpu/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cpu/open.h"

enum { KINDS = 4 };

static const char *const names[2][TT_CPU_ROUTINE_COUNT] = {{
#define X(id, real, complex) real,
#include "cpu/library.def"
#undef X
                                                           },
                                                           {
#define X(id, real, complex) complex,
#include "cpu/library.def"
#undef X
                                                           }};

/* Process-wide, as a loaded library is. */
static struct {
  pthread_once_t once;
  char tried[TT_CPU_PATH_SIZE]; /* written once, as what follows is */
  bool wide;                    /* one was found that has 64-bit integers, at this path */
  char wide_path[TT_CPU_PATH_SIZE];
  tt_cpu_routine_call calls[KINDS][TT_CPU_ROUTINE_COUNT];
} library = {.once = PTHREAD_ONCE_INIT};

/* The dtypes that LAPACK has, with the letters of its names. */
static const struct {
  tt_dtype dtype;
  char letter;
} kinds[KINDS] = {{TT_F32, 's'}, {TT_F64, 'd'}, {TT_C64, 'c'}, {TT_C128, 'z'}};

static int kind_of(tt_dtype dtype) {
  for (int kind = 0; kind < KINDS; kind++)
    if (kinds[kind].dtype == dtype)
      return kind;
  return -1;
}

char tt_cpu_routine_letter(tt_dtype dtype) {
  int kind = kind_of(dtype);
  return kind < 0 ? '\0' : kinds[kind].letter;
}

/* `name` has a `?` for the dtype's letter. */
static void *find_routine(void *handle, const char *prefix, const char *name, char letter) {
  char text[64];
  int before = (int)strcspn(name, "?");
  snprintf(text, sizeof text, "%s%.*s%c%s", prefix, before, name, letter, name + before + 1);
  return dlsym(handle, text);
}

/* All of LAPACK or nothing, so that no program runs half on it. */
static bool find_routines(void *handle, const char *prefix) {
  for (int kind = 0; kind < KINDS; kind++)
    for (int i = 0; i < TT_CPU_ROUTINE_COUNT; i++) {
      void *address = find_routine(handle, prefix, names[kind / 2][i], kinds[kind].letter);
      library.calls[kind][i].address = address;
      if (address == NULL && i != TT_CPU_TRSM) {
        memset(library.calls, 0, sizeof library.calls);
        return false;
      }
    }
  return true;
}

/* Tells the library something by a function that takes one int, where it has such a one. */
static void tell(void *handle, const char *prefix, const char *what, int value) {
  char name[64];
  union {
    void *address;
    void (*call)(int);
  } function;
  snprintf(name, sizeof name, "%s%s", prefix, what);
  function.address = dlsym(handle, name);
  if (function.address != NULL)
    function.call(value);
}

/* Are its integers ours? The names do not say it: one with 64 bits writes behind where 32-bit
 * pivots end. Out of memory it is not known, and believed. */
static bool has_our_integers(void) {
  enum { N = 3, GUARD = 0x5a5a5a5a };
  double a[N * N] = {1, 2, 3, 4, 5, 6, 7, 8, 10};
  int32_t pivots[2 * N];
  bool same = true;
  for (int i = 0; i < 2 * N; i++)
    pivots[i] = GUARD;
  int32_t info =
      library.calls[kind_of(TT_F64)][TT_CPU_GETRF].getrf(TT_CPU_ROW_MAJOR, N, N, a, N, pivots);
  for (int i = N; i < 2 * N; i++)
    same = same && pivots[i] == GUARD;
  for (int i = 0; i < N && info == 0; i++)
    same = same && pivots[i] >= 1 && pivots[i] <= N;
  return same;
}

static bool accept(void *handle, const char *path) {
  static const char *const prefixes[] = {"scipy_", ""};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (find_routines(handle, prefixes[i])) {
      if (!has_our_integers()) {
        memset(library.calls, 0, sizeof library.calls);
        snprintf(library.wide_path, sizeof library.wide_path, "%s", path);
        library.wide = true;
        return false;
      }
      tell(handle, prefixes[i], "openblas_set_num_threads", 1);
      /* NaN in, NaN out: looking for it first would give an error instead, and costs a pass. */
      tell(handle, prefixes[i], "LAPACKE_set_nancheck", 0);
      return true;
    }
  return false;
}

static void open_library(void) {
  if (!tt_cpu_library_open(TT_CPU_LAPACK, accept, library.tried) && library.wide)
    memcpy(library.tried, library.wide_path, sizeof library.tried);
}

tt_cpu_routine_call tt_cpu_routine_get(tt_cpu_routine routine, tt_dtype dtype) {
  int kind = kind_of(dtype);
  pthread_once(&library.once, open_library);
  return kind < 0 ? (tt_cpu_routine_call){NULL} : library.calls[kind][routine];
}

tt_error *tt_cpu_library_status(int32_t info) {
  enum { WORK_MEMORY = -1010, TRANSPOSE_MEMORY = -1011 };
  return info == WORK_MEMORY || info == TRANSPOSE_MEMORY
             ? tt_error_new(TT_RESOURCE_EXHAUSTED, "LAPACK: no memory for its workspace")
             : NULL;
}

tt_error *tt_cpu_library_missing(const char *what) {
  const char *tried = library.tried;
  return tt_error_new(TT_UNIMPLEMENTED,
                      "%s is not implemented without LAPACK: install the Python package "
                      "scipy-openblas32, or name a library with LAPACKE in TT_CPU_LAPACK%s%s%s%s",
                      what, tried[0] == '\0' ? "" : " (tried: ", tried,
                      library.wide ? ", whose integers have 64 bits, not 32" : "",
                      tried[0] == '\0' ? "" : ")");
}
