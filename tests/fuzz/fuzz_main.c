/* Runs a fuzz target without libFuzzer:
 *
 *   fuzz_parse [-t SECONDS] [-s SEED] FILE...
 *
 * each file once, and then, for that many seconds, files with random changes. The input at hand is
 * kept in fuzz_parse.last, so that it is there after a crash: run it again by name. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE_MOST = 1 << 20, FILES_MOST = 4096 };

typedef struct input {
  uint8_t *data;
  size_t size;
} input;

static input files[FILES_MOST];
static size_t files_count;
static uint64_t state = 88172645463325252U;

/* xorshift64 */
static size_t random_below(size_t limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return limit == 0 ? 0 : (size_t)(state % limit);
}

static void read_input(const char *path) {
  FILE *file = fopen(path, "rb");
  input *in = &files[files_count];
  if (file == NULL || files_count == FILES_MOST) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(2);
  }
  in->data = malloc(SIZE_MOST);
  in->size = in->data == NULL ? 0 : fread(in->data, 1, SIZE_MOST, file);
  in->data = realloc(in->data, in->size + 1);
  fclose(file);
  files_count++;
}

static uint8_t *map_last(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  void *map = fd < 0 || ftruncate(fd, SIZE_MOST) != 0
                  ? MAP_FAILED
                  : mmap(NULL, SIZE_MOST, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) {
    perror(path);
    exit(2);
  }
  close(fd);
  return map;
}

/* One change: a byte, a piece cut out, or a piece of any file put in or over. */
static size_t change(uint8_t *text, size_t size) {
  static const char marks[] = "<>(){}[]:,=%#@!\"-?^/x 0123456789\n\\\0\xff";
  const input *other = &files[random_below(files_count)];
  size_t at = random_below(size + 1), length = random_below(1U << random_below(8));
  size_t from = random_below(other->size + 1);
  length = length > size - at ? size - at : length;
  switch (random_below(4)) {
    case 0:
      if (at < size)
        text[at] = (uint8_t)marks[random_below(sizeof marks - 1)];
      return size;
    case 1:
      memmove(text + at, text + at + length, size - at - length);
      return size - length;
    case 2:
      length = length > other->size - from ? other->size - from : length;
      memcpy(text + at, other->data + from, length);
      return size;
    default:
      length = length > other->size - from ? other->size - from : length;
      if (size + length > SIZE_MOST)
        return size;
      memmove(text + at + length, text + at, size - at);
      memcpy(text + at, other->data + from, length);
      return size + length;
  }
}

/* From memory of just that size, so that the sanitizer sees a step beyond the end. */
static void run(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size + (size == 0));
  if (copy == NULL)
    exit(2);
  memcpy(copy, data, size);
  LLVMFuzzerTestOneInput(copy, size);
  free(copy);
}

static size_t run_for(int seconds, uint8_t *last) {
  time_t end = time(NULL) + seconds;
  size_t runs = 0;
  for (; files_count > 0 && time(NULL) < end; runs++) {
    const input *in = &files[random_below(files_count)];
    size_t size = in->size;
    memcpy(last, in->data, size);
    for (size_t changes = 1 + random_below(8); changes > 0; changes--)
      size = change(last, size);
    memset(last + size, ' ', size + 4096 < SIZE_MOST ? 4096 : SIZE_MOST - size);
    run(last, size);
  }
  return runs;
}

int main(int argc, char **argv) {
  int seconds = 0, option = 0;
  while ((option = getopt(argc, argv, "t:s:")) != -1) {
    if (option == 't')
      seconds = atoi(optarg);
    else if (option == 's')
      state ^= strtoull(optarg, NULL, 10) * 0x9e3779b97f4a7c15U;
    else
      return 2;
  }
  for (int i = optind; i < argc; i++)
    read_input(argv[i]);
  for (size_t i = 0; i < files_count; i++)
    run(files[i].data, files[i].size);
  char path[64];
  const char *slash = strrchr(argv[0], '/');
  snprintf(path, sizeof path, "%s.last", slash == NULL ? argv[0] : slash + 1);
  uint8_t *last = map_last(path);
  size_t runs = run_for(seconds, last);
  munmap(last, SIZE_MOST);
  unlink(path);
  printf("%zu files, %zu changed ones\n", files_count, runs);
  for (size_t i = 0; i < files_count; i++)
    free(files[i].data);
  return 0;
}
