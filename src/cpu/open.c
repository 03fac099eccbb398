#include "cpu/open.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `beside`: from the folder of this library. pip puts a package's modules where ours are, and files
 * that a wheel calls data three folders up (lib/python3.11/site-packages/torch_tpu). */
static const struct {
  const char *option, *variable;
  const char *beside[2];
} libraries[TT_CPU_LIBRARY_COUNT] = {
    [TT_CPU_LAPACK] = {"lapack",
                       "TT_CPU_LAPACK",
                       {"/libscipy_openblas.so", "/../scipy_openblas32/lib/libscipy_openblas.so"}},
    [TT_CPU_ONEDNN] = {"onednn", "TT_CPU_ONEDNN", {"/libdnnl.so.3", "/../../../libdnnl.so.3"}},
};

/* Process-wide, as a loaded library is. */
static struct {
  pthread_mutex_t lock;
  char paths[TT_CPU_LIBRARY_COUNT][TT_CPU_PATH_SIZE]; /* locked by `lock` */
} options = {.lock = PTHREAD_MUTEX_INITIALIZER};

tt_error *tt_cpu_library_set(tt_cpu_library library, const char *path, size_t size) {
  if (size >= TT_CPU_PATH_SIZE || memchr(path, '\0', size) != NULL)
    return tt_error_new(TT_INVALID_ARGUMENT, "create option %s: not a path",
                        libraries[library].option);
  pthread_mutex_lock(&options.lock);
  memcpy(options.paths[library], path, size);
  options.paths[library][size] = '\0';
  pthread_mutex_unlock(&options.lock);
  return NULL;
}

const char *tt_cpu_library_variable(tt_cpu_library library) { return libraries[library].variable; }

static bool open_at(const char *path, bool (*accept)(void *handle, const char *path)) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == NULL)
    return false;
  if (accept(handle, path))
    return true;
  dlclose(handle);
  return false;
}

static bool open_beside(const char *folder_of, const char *ending,
                        bool (*accept)(void *handle, const char *path)) {
  char path[TT_CPU_PATH_SIZE];
  const char *slash = strrchr(folder_of, '/');
  int size = snprintf(path, sizeof path, "%.*s%s", slash == NULL ? 1 : (int)(slash - folder_of),
                      slash == NULL ? "." : folder_of, ending);
  return size > 0 && (size_t)size < sizeof path && open_at(path, accept);
}

bool tt_cpu_library_open(tt_cpu_library library, bool (*accept)(void *handle, const char *path),
                         char out_named[TT_CPU_PATH_SIZE]) {
  const char *given = getenv(libraries[library].variable);
  Dl_info self = {0};
  pthread_mutex_lock(&options.lock);
  snprintf(out_named, TT_CPU_PATH_SIZE, "%s",
           given != NULL && given[0] != '\0' ? given : options.paths[library]);
  pthread_mutex_unlock(&options.lock);
  if (out_named[0] != '\0')
    return strcmp(out_named, "off") != 0 && open_at(out_named, accept);
  if (dladdr(&options, &self) == 0 || self.dli_fname == NULL)
    return false;
  for (size_t i = 0; i < TT_COUNT(libraries[library].beside); i++)
    if (open_beside(self.dli_fname, libraries[library].beside[i], accept))
      return true;
  return false;
}
