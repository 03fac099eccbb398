/* The on-disk tier of the program cache: one file per executable, named by the hash of all that it
 * depends on.
 *
 * A file is a header (magic, checksum) and what the plugin serialized. One that is cut short,
 * changed, or refused by the plugin is deleted and the program compiled again: the cache can make
 * nothing fail. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "runtime/internal.h"

typedef struct header {
  char magic[8];
  uint64_t checksum[2]; /* of what follows */
} header;

static const char magic[8] = "TTEXE01";

/* The processor, since a plugin for the host compiles for the one it runs on. */
static void add_processor(tt_bytes *out) {
  char line[4096];
  FILE *f = fopen("/proc/cpuinfo", "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0) {
      tt_bytes_text(out, line);
      break;
    }
  if (f != NULL)
    fclose(f);
}

/* What is in the files runs in this process, and their checksums keep nobody from writing them. */
static tt_error *check_owner(const char *folder) {
  struct stat info;
  if (stat(folder, &info) != 0)
    return tt_error_new(TT_NOT_FOUND, "%s: %s", folder, strerror(errno));
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return tt_error_new(TT_PERMISSION_DENIED, "%s: another user may write there", folder);
  return NULL;
}

tt_error *tt_rt_disk_open(tt_rt *rt, const char *folder) {
  tt_error *err = NULL;
  tt_bytes identity = {0};
  struct stat info = {0};
  const char *flags = getenv("XLA_FLAGS");
  int major, minor;
  TT_TRY(tt_file_make_folder(folder));
  TT_TRY(check_owner(folder));
  rt->cache_folder = strdup(folder);
  if (rt->cache_folder == NULL)
    TT_TRY(tt_error_no_memory(strlen(folder)));
  tt_pj_plugin_version(rt->plugin, &major, &minor);
  stat(tt_pj_plugin_path(rt->plugin), &info); /* unreadable: zeros, as before */
  tt_bytes_printf(&identity, "%s %lld %lld %d.%d %llx %s %s ", tt_pj_plugin_path(rt->plugin),
                  (long long)info.st_size, (long long)info.st_mtime, major, minor,
                  (unsigned long long)tt_pj_plugin_options_hash(rt->plugin), rt->platform,
                  rt->platform_version);
  tt_bytes_text(&identity, flags != NULL ? flags : "");
  add_processor(&identity);
  TT_TRY(tt_bytes_status(&identity));
  tt_hash128(identity.data, identity.size, rt->identity);
out:
  if (err != NULL) {
    free(rt->cache_folder);
    rt->cache_folder = NULL;
  }
  tt_bytes_free(&identity);
  return err;
}

static void path_of(const tt_rt *rt, const uint64_t key[2], char *out_path, size_t size) {
  uint64_t all[4] = {key[0], key[1], rt->identity[0], rt->identity[1]}, hash[2];
  tt_hash128(all, sizeof all, hash);
  snprintf(out_path, size, "%s/%016llx%016llx.exe", rt->cache_folder, (unsigned long long)hash[0],
           (unsigned long long)hash[1]);
}

static tt_error *load(tt_rt *rt, const char *path, tt_pj_executable **out_raw) {
  tt_error *err = NULL;
  tt_bytes file = {0};
  header head;
  uint64_t checksum[2];
  TT_TRY(tt_file_read(path, &file));
  if (file.size < sizeof head)
    TT_TRY(tt_error_new(TT_DATA_LOSS, "%s: cut short", path));
  memcpy(&head, file.data, sizeof head);
  tt_hash128(file.data + sizeof head, file.size - sizeof head, checksum);
  if (memcmp(head.magic, magic, sizeof magic) != 0 ||
      memcmp(head.checksum, checksum, sizeof checksum) != 0)
    TT_TRY(tt_error_new(TT_DATA_LOSS, "%s: not as it was written", path));
  TT_TRY(tt_pj_executable_load(rt->client, file.data + sizeof head, file.size - sizeof head, NULL,
                               0, out_raw));
out:
  tt_bytes_free(&file);
  return err;
}

tt_pj_executable *tt_rt_disk_load(tt_rt *rt, const uint64_t key[2]) {
  char path[4096];
  tt_pj_executable *raw = NULL;
  tt_error *err;
  if (rt->cache_folder == NULL)
    return NULL;
  path_of(rt, key, path, sizeof path);
  if (access(path, R_OK) != 0)
    return NULL;
  err = load(rt, path, &raw);
  if (err == NULL)
    return raw;
  tt_error_free(err);
  unlink(path);
  return NULL;
}

void tt_rt_disk_store(tt_rt *rt, const uint64_t key[2], const tt_pj_executable *raw) {
  char path[4096];
  tt_error *err = NULL;
  tt_bytes code = {0}, file = {0};
  header head;
  if (rt->cache_folder == NULL)
    return;
  TT_TRY(tt_pj_executable_serialize(raw, &code));
  memcpy(head.magic, magic, sizeof magic);
  tt_hash128(code.data, code.size, head.checksum);
  tt_bytes_append(&file, &head, sizeof head);
  tt_bytes_append(&file, code.data, code.size);
  TT_TRY(tt_bytes_status(&file));
  path_of(rt, key, path, sizeof path);
  TT_TRY(tt_file_write(path, file.data, file.size));
out:
  tt_error_free(
      err); /* a full disk or a plugin that cannot serialize costs the cache, nothing else */
  tt_bytes_free(&code);
  tt_bytes_free(&file);
}
