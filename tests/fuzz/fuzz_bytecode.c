/* Whatever the bytes: an error, or a module that the verifier and the printer bear. */
#include <stdint.h>

#include "hlo/bytecode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tt_hlo_module *module = NULL;
  tt_bytes text = {0};
  tt_error *err = tt_hlo_bytecode_read(data, size, &module);
  if (err == NULL)
    err = tt_hlo_module_verify(module);
  if (err == NULL)
    err = tt_hlo_module_print(module, &text);
  tt_error_free(err);
  tt_bytes_free(&text);
  tt_hlo_module_free(module);
  return 0;
}
