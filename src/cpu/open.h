/* open.h: libraries that are opened at run time, where they are: none is linked.
 *
 * A library is the file that its variable in the environment names ("off": none), else the one of
 * its create option, else one beside this library or where pip puts it from there. */
#ifndef TT_CPU_OPEN_H
#define TT_CPU_OPEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tt_cpu_library { TT_CPU_LAPACK, TT_CPU_ONEDNN, TT_CPU_LIBRARY_COUNT } tt_cpu_library;

enum { TT_CPU_PATH_SIZE = 4096 };

/* The create option; of no use once the library was looked for. `path` of `size` bytes is copied.
 */
TT_NODISCARD tt_error *tt_cpu_library_set(tt_cpu_library library, const char *path, size_t size);
/* The variable in the environment. */
const char *tt_cpu_library_variable(tt_cpu_library library);
/* Looks for the library: opens one file after another until `accept` takes one, which stays open.
 * `out_named` is the path that was named, of which no other is tried; "": none was. Whether one was
 * taken. */
bool tt_cpu_library_open(tt_cpu_library library, bool (*accept)(void *handle, const char *path),
                         char out_named[TT_CPU_PATH_SIZE]);

#ifdef __cplusplus
}
#endif

#endif /* TT_CPU_OPEN_H */
