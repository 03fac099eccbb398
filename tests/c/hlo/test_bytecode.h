/* test_bytecode.h: what the tests of the bytecode reader share. */
#ifndef TT_TEST_BYTECODE_H
#define TT_TEST_BYTECODE_H

#include "base/bytes.h"
#include "hlo/bytecode.h"
#include "test.h"

typedef struct test_artifact {
  const char *name; /* program_version */
  const char *hex;
} test_artifact;
extern const test_artifact test_artifacts[];
extern const size_t test_artifacts_count;

/* The artifact's bytes; free them. */
tt_error *test_artifact_load(const test_artifact *artifact, tt_bytes *out_bytes);
const test_artifact *test_artifact_find(const char *name);

#endif /* TT_TEST_BYTECODE_H */
