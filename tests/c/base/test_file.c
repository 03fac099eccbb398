#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

/* A folder of the test's own; the tests empty it themselves. */
typedef struct place {
  char folder[64], path[128];
} place;

static bool make_place(place *p, const char *name) {
  snprintf(p->folder, sizeof p->folder, "/tmp/tt-test-file-XXXXXX");
  bool made = mkdtemp(p->folder) != NULL;
  snprintf(p->path, sizeof p->path, "%s/%s", p->folder, name);
  return made;
}

static void remove_place(const place *p) {
  unlink(p->path);
  rmdir(p->folder);
}

TEST(file, reads_back_what_was_written) {
  place p = {0};
  tt_bytes bytes = {0};
  const char data[] = "a\0b\nc";
  REQUIRE(make_place(&p, "x"));
  tt_bytes_text(&bytes, "old content");
  REQUIRE_OK(tt_file_write(p.path, data, sizeof data));
  REQUIRE_OK(tt_file_read(p.path, &bytes));
  EXPECT_INT(bytes.size, sizeof data);
  EXPECT_BYTES(bytes.data, data, sizeof data);
  REQUIRE_OK(tt_file_write(p.path, "", 0)); /* replaces */
  REQUIRE_OK(tt_file_read(p.path, &bytes));
  EXPECT_INT(bytes.size, 0);
out:
  tt_bytes_free(&bytes);
  remove_place(&p);
}

TEST(file, reads_a_large_file_whole) {
  enum { SIZE = 3 * 1000 * 1000 };
  place p = {0};
  tt_bytes bytes = {0};
  char *data = malloc(SIZE);
  REQUIRE(data != NULL);
  REQUIRE(make_place(&p, "x"));
  for (size_t i = 0; i < SIZE; i++)
    data[i] = (char)(i * 7 + i / 1000);
  REQUIRE_OK(tt_file_write(p.path, data, SIZE));
  REQUIRE_OK(tt_file_read(p.path, &bytes));
  EXPECT_INT(bytes.size, SIZE);
  EXPECT_BYTES(bytes.data, data, SIZE);
out:
  free(data);
  tt_bytes_free(&bytes);
  remove_place(&p);
}

/* Files of /proc tell no size beforehand. */
TEST(file, reads_a_file_without_a_size) {
  tt_bytes bytes = {0};
  REQUIRE_OK(tt_file_read("/proc/self/status", &bytes));
  EXPECT(bytes.size > 100);
  EXPECT_CONTAINS(bytes.data, "Name:");
out:
  tt_bytes_free(&bytes);
}

TEST(file, errors_name_path_and_reason) {
  tt_bytes bytes = {0};
  EXPECT_ERR(tt_file_read("/no/such/file", &bytes), TT_NOT_FOUND,
             "\"/no/such/file\": No such file or directory");
  EXPECT_ERR(tt_file_read("/tmp", &bytes), TT_INVALID_ARGUMENT, "\"/tmp\": Is a directory");
  EXPECT_INT(bytes.size, 0);
  EXPECT_ERR(tt_file_write("/no/such/file", "x", 1), TT_NOT_FOUND, "/no/such/file");
  EXPECT_ERR(tt_file_write("/tmp", "x", 1), TT_INVALID_ARGUMENT, "\"/tmp\": Is a directory");
  EXPECT_ERR(tt_file_make_folder("/proc/self/status/a"), TT_NOT_FOUND, "/proc/self/status");
  tt_bytes_free(&bytes);
}

static int count_entries(const char *folder) {
  DIR *dir = opendir(folder);
  int count = 0;
  while (dir != NULL && readdir(dir) != NULL)
    count++;
  if (dir != NULL)
    closedir(dir);
  return count - 2; /* . and .. */
}

TEST(file, a_failed_write_leaves_nothing) {
  place p = {0};
  REQUIRE(make_place(&p, "x"));
  REQUIRE(mkdir(p.path, 0777) == 0);
  EXPECT_ERR(tt_file_write(p.path, "x", 1), TT_INVALID_ARGUMENT, "Is a directory");
  EXPECT_INT(count_entries(p.folder), 1);
  rmdir(p.path);
  REQUIRE_OK(tt_file_write(p.path, "x", 1));
  EXPECT_INT(count_entries(p.folder), 1);
out:
  remove_place(&p);
}

TEST(file, makes_nested_folders) {
  place p = {0};
  char inner[200];
  struct stat status;
  REQUIRE(make_place(&p, "a"));
  snprintf(inner, sizeof inner, "%s//b/", p.path);
  REQUIRE_OK(tt_file_make_folder(inner));
  EXPECT(stat(inner, &status) == 0 && S_ISDIR(status.st_mode));
  EXPECT_OK(tt_file_make_folder(inner)); /* again */
out:
  snprintf(inner, sizeof inner, "%s/b", p.path);
  rmdir(inner);
  rmdir(p.path);
  rmdir(p.folder);
}

TEST(file, make_folder_does_not_replace_a_file) {
  place p = {0};
  char inner[200];
  REQUIRE(make_place(&p, "a"));
  snprintf(inner, sizeof inner, "%s/b", p.path);
  REQUIRE_OK(tt_file_write(p.path, "x", 1));
  EXPECT_ERR(tt_file_make_folder(p.path), TT_NOT_FOUND, "Not a directory");
  EXPECT_ERR(tt_file_make_folder(inner), TT_NOT_FOUND, "Not a directory");
out:
  remove_place(&p);
}
