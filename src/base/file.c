#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tt_code code_of_errno(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return TT_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
      return TT_PERMISSION_DENIED;
    case EEXIST:
      return TT_ALREADY_EXISTS;
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
      return TT_RESOURCE_EXHAUSTED;
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
      return TT_INVALID_ARGUMENT;
    default:
      return TT_UNKNOWN;
  }
}

/* What `path` was wanted for, the path, and the system's reason for `number`, an errno. */
static tt_error *system_error(int number, const char *verb, const char *path) {
  char text[128];
  return tt_error_new(code_of_errno(number), "cannot %s \"%s\": %s", verb, path,
                      strerror_r(number, text, sizeof text));
}

static tt_error *read_all(int fd, const char *path, tt_bytes *bytes) {
  enum { CHUNK = 1 << 16 };
  struct stat status;
  if (fstat(fd, &status) != 0)
    return system_error(errno, "read", path);
  /* One byte more than the file says, so that its end shows in the first read. Files of /proc say
   * 0. */
  size_t room = status.st_size > 0 ? (size_t)status.st_size + 1 : CHUNK;
  for (;; room = CHUNK) {
    size_t before = bytes->size;
    char *at = tt_bytes_extend(bytes, room);
    if (at == NULL)
      return tt_bytes_status(bytes);
    ssize_t got = 0;
    do
      got = read(fd, at, room);
    while (got < 0 && errno == EINTR);
    int number = errno;
    bytes->size = before + (got > 0 ? (size_t)got : 0);
    bytes->data[bytes->size] = '\0';
    if (got < 0)
      return system_error(number, "read", path);
    if (got == 0)
      return NULL;
  }
}

tt_error *tt_file_read(const char *path, tt_bytes *out_bytes) {
  tt_bytes_clear(out_bytes);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return system_error(errno, "open", path);
  tt_error *err = read_all(fd, path, out_bytes);
  close(fd);
  if (err != NULL)
    tt_bytes_clear(out_bytes);
  return err;
}

static tt_error *write_all(int fd, const char *path, const char *data, size_t size) {
  while (size > 0) {
    ssize_t put = write(fd, data, size);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return system_error(errno, "write", path);
    data += put;
    size -= (size_t)put;
  }
  return NULL;
}

/* Makes a new file beside `path`; its name, in `out_name`, is not taken by any other writer. */
static tt_error *open_beside(const char *path, tt_bytes *out_name, int *out_fd) {
  enum { TRIES = 1000 };
  for (int i = 0; i < TRIES; i++) {
    tt_bytes_clear(out_name);
    tt_bytes_printf(out_name, "%s.tmp-%ld-%d", path, (long)getpid(), i);
    TT_RETURN_IF_ERROR(tt_bytes_status(out_name));
    *out_fd = open(out_name->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*out_fd >= 0)
      return NULL;
    if (errno != EEXIST)
      return system_error(errno, "write", path);
  }
  return system_error(EEXIST, "write", path);
}

tt_error *tt_file_write(const char *path, const void *data, size_t size) {
  tt_error *err = NULL;
  tt_bytes name = {0};
  int fd = -1;
  TT_TRY(open_beside(path, &name, &fd));
  err = write_all(fd, path, data, size);
  if (close(fd) != 0 && err == NULL)
    err = system_error(errno, "write", path);
  if (err == NULL && rename(name.data, path) != 0)
    err = system_error(errno, "write", path);
  if (err != NULL)
    unlink(name.data);
out:
  tt_bytes_free(&name);
  return err;
}

static tt_error *make_one_folder(const char *path) {
  struct stat status;
  if (mkdir(path, 0700) == 0)
    return NULL;
  int number = errno;
  if (stat(path, &status) == 0) {
    if (S_ISDIR(status.st_mode))
      return NULL;
    number = ENOTDIR;
  }
  return system_error(number, "make folder", path);
}

tt_error *tt_file_make_folder(const char *path) {
  tt_error *err = NULL;
  tt_bytes part = {0};
  tt_bytes_text(&part, path);
  TT_TRY(tt_bytes_status(&part));
  for (size_t i = 1; i < part.size; i++) {
    if (part.data[i] != '/' || part.data[i - 1] == '/')
      continue;
    part.data[i] = '\0';
    TT_TRY(make_one_folder(part.data));
    part.data[i] = '/';
  }
  TT_TRY(make_one_folder(path));
out:
  tt_bytes_free(&part);
  return err;
}
