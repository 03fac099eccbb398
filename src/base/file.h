/* file.h: whole files in and out. */
#ifndef TT_BASE_FILE_H
#define TT_BASE_FILE_H

#include "base/bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces the content of `out_bytes`. The message names the path and the system's reason. */
TT_NODISCARD tt_error *tt_file_read(const char *path, tt_bytes *out_bytes);
/* Writes beside `path` and renames over it: a reader sees the old file or the new one, whole. */
TT_NODISCARD tt_error *tt_file_write(const char *path, const void *data, size_t size);
/* Makes the folder and those above it, for this user alone; one that is there is no error. */
TT_NODISCARD tt_error *tt_file_make_folder(const char *path);

#ifdef __cplusplus
}
#endif

#endif /* TT_BASE_FILE_H */
