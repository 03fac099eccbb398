/* Whatever the text: an error, or a module that, if the verifier takes it, is printed as a text
 * that parses, verifies and prints the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* NULL, and `*out_text` is the print of a sound module. */
static tt_error *print_parsed(const char *text, size_t size, tt_bytes *out_text) {
  tt_error *err = NULL;
  tt_hlo_module *module = NULL;
  TT_TRY(tt_hlo_parse(text, size, &module));
  TT_TRY(tt_hlo_module_verify(module));
  TT_TRY(tt_hlo_module_print(module, out_text));
out:
  tt_hlo_module_free(module);
  return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tt_bytes first = {0}, second = {0};
  tt_error *err = print_parsed((const char *)data, size, &first);
  if (err == NULL) {
    err = print_parsed(first.data, first.size, &second);
    if (err != NULL || first.size != second.size ||
        memcmp(first.data, second.data, first.size) != 0)
      abort();
  }
  tt_error_free(err);
  tt_bytes_free(&first);
  tt_bytes_free(&second);
  return 0;
}
