#include "cpu/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 4, PATH_SIZE = 4096 };

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
  pthread_mutex_t lock;
  char option[PATH_SIZE]; /* locked by `lock` */
  char tried[PATH_SIZE];  /* written once, as what follows is */
  bool wide;              /* one was found that has 64-bit integers */
  tt_cpu_routine_call calls[KINDS][TT_CPU_ROUTINE_COUNT];
} library = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

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

static bool open_at(const char *path) {
  static const char *const prefixes[] = {"scipy_", ""};
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == NULL)
    return false;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (find_routines(handle, prefixes[i])) {
      if (!has_our_integers()) {
        memset(library.calls, 0, sizeof library.calls);
        if (path != library.tried)
          snprintf(library.tried, sizeof library.tried, "%s", path);
        library.wide = true;
        break;
      }
      tell(handle, prefixes[i], "openblas_set_num_threads", 1);
      /* NaN in, NaN out: looking for it first would give an error instead, and costs a pass. */
      tell(handle, prefixes[i], "LAPACKE_set_nancheck", 0);
      return true;
    }
  dlclose(handle);
  return false;
}

static bool open_beside(const char *folder_of, const char *ending) {
  char path[PATH_SIZE];
  const char *slash = strrchr(folder_of, '/');
  int size = snprintf(path, sizeof path, "%.*s%s", slash == NULL ? 1 : (int)(slash - folder_of),
                      slash == NULL ? "." : folder_of, ending);
  return size > 0 && (size_t)size < sizeof path && open_at(path);
}

static void open_library(void) {
  static const char *const beside[] = {"/libscipy_openblas.so",
                                       "/../scipy_openblas32/lib/libscipy_openblas.so"};
  const char *given = getenv("TT_CPU_LAPACK");
  Dl_info self = {0};
  pthread_mutex_lock(&library.lock);
  snprintf(library.tried, sizeof library.tried, "%s",
           given != NULL && given[0] != '\0' ? given : library.option);
  pthread_mutex_unlock(&library.lock);
  if (strcmp(library.tried, "off") == 0 || (library.tried[0] != '\0' && open_at(library.tried)))
    return;
  if (library.tried[0] != '\0' || dladdr(&library, &self) == 0 || self.dli_fname == NULL)
    return;
  for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
    if (open_beside(self.dli_fname, beside[i]))
      return;
}

tt_cpu_routine_call tt_cpu_routine_get(tt_cpu_routine routine, tt_dtype dtype) {
  int kind = kind_of(dtype);
  pthread_once(&library.once, open_library);
  return kind < 0 ? (tt_cpu_routine_call){NULL} : library.calls[kind][routine];
}

tt_error *tt_cpu_library_set(const char *path, size_t size) {
  if (size >= PATH_SIZE || memchr(path, '\0', size) != NULL)
    return tt_error_new(TT_INVALID_ARGUMENT, "create option lapack: not a path");
  pthread_mutex_lock(&library.lock);
  memcpy(library.option, path, size);
  library.option[size] = '\0';
  pthread_mutex_unlock(&library.lock);
  return NULL;
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
