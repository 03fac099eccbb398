/* image.c: what a serialized executable holds: the program and its options, to be compiled again.
 *
 * Fields are little-endian, as all hosts of ours are:
 *   magic[8]  version[32]  options_size u64  code_size u64  hash u64[2]  options  code
 * The hash is that of all other bytes. A file may come from anywhere: nothing in it is trusted, and
 * the program goes through the same checks as any other. */
#include <string.h>

#include "base/hash.h"
#include "cpu/plugin/internal.h"

static const char magic[8] = {'T', 'T', 'C', 'P', 'U', 'E', 'X', 'E'};

static const char version[32] = TT_CPU_VERSION;

typedef struct header {
  char magic[8], version[32];
  uint64_t options_size, code_size;
  uint64_t hash[2];
} header;

static void hash_image(const header *h, const char *payload, size_t size, uint64_t out_hash[2]) {
  tt_hash128(payload, size, out_hash);
  out_hash[0] = tt_hash64(h, offsetof(header, hash), out_hash[0]);
}

void tt_cpu_image_write(const PJRT_Executable *executable, tt_bytes *out_bytes) {
  header h = {.options_size = executable->options.size, .code_size = executable->code.size};
  memcpy(h.magic, magic, sizeof magic);
  memcpy(h.version, version, sizeof version);
  tt_bytes_append(out_bytes, &h, sizeof h);
  tt_bytes_append(out_bytes, executable->options.data, executable->options.size);
  tt_bytes_append(out_bytes, executable->code.data, executable->code.size);
  if (out_bytes->failed)
    return;
  hash_image(&h, out_bytes->data + sizeof h, out_bytes->size - sizeof h, h.hash);
  memcpy(out_bytes->data, &h, sizeof h);
}

static tt_error *refuse(const char *why) {
  return tt_error_new(TT_INVALID_ARGUMENT, "serialized executable: %s", why);
}

tt_error *tt_cpu_image_read(const char *data, size_t size, tt_cpu_image *out_image) {
  header h;
  uint64_t hash[2];
  if (size < sizeof h || memcmp(data, magic, sizeof magic) != 0)
    return refuse("not one of this plugin's");
  memcpy(&h, data, sizeof h);
  if (memcmp(h.version, version, sizeof version) != 0)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "serialized executable: written by %.*s, this is " TT_CPU_VERSION,
                        (int)sizeof h.version, h.version);
  const char *payload = data + sizeof h;
  size_t left = size - sizeof h;
  if (h.options_size > left || h.code_size != left - h.options_size)
    return refuse("its size is not the one that it says");
  hash_image(&h, payload, left, hash);
  if (memcmp(hash, h.hash, sizeof hash) != 0)
    return refuse("its checksum is wrong");
  *out_image = (tt_cpu_image){.options = payload,
                              .options_size = (size_t)h.options_size,
                              .code = payload + h.options_size,
                              .code_size = (size_t)h.code_size};
  return NULL;
}
