/* low_test.h: what the tests of src/lower share: a rule lowered by itself, its program verified,
 * printed and run.
 *
 *   low_case c;
 *   REQUIRE_OK(low_begin(&c, "aten::add.Tensor"));
 *   low_tensor(&c, TT_F32, 1, (int64_t[]){3}, data);     // parameters, in order
 *   low_number(&c, 2.0);
 *   low_want(&c, TT_F32, 1, (int64_t[]){3});
 *   REQUIRE_OK(low_lower(&c));                           // verified and printed to c.text
 *   REQUIRE_OK(low_run(&c, 0, out, sizeof out));         // on a plugin
 * out:
 *   low_end(&c); */
#ifndef TT_LOW_TEST_H
#define TT_LOW_TEST_H

#include "base/bytes.h"
#include "lower/lower.h"
#include "test.h"

enum { LOW_ARGS = 24, LOW_RESULTS = 16, LOW_RANK = 6 };

typedef struct low_case {
  tt_hlo_module *module;
  tt_hlo_build b;
  tt_low_ctx ctx;
  tt_low_value args[LOW_ARGS], results[LOW_RESULTS];
  size_t args_count;
  tt_hlo_type wanted[LOW_RESULTS];
  int64_t wanted_dims[LOW_RESULTS][LOW_RANK];
  struct low_param {
    tt_dtype dtype;
    size_t rank;
    int64_t dims[LOW_RANK];
    const void *data;
  } params[LOW_ARGS];
  size_t params_count;
  double numbers[LOW_ARGS]; /* of promoted scalars */
  tt_bytes text;
} low_case;

TT_NODISCARD tt_error *low_begin(low_case *c, const char *overload);
void low_end(low_case *c);

/* Arguments. `data` is row-major, borrowed until low_run. */
tt_low_value *low_tensor(low_case *c, tt_dtype dtype, size_t rank, const int64_t *dims,
                         const void *data);
tt_low_value *low_number(low_case *c, double value); /* a float */
tt_low_value *low_int(low_case *c, int64_t value);
tt_low_value *low_bool(low_case *c, bool value);
tt_low_value *low_none(low_case *c);
tt_low_value *low_promoted(low_case *c, double value); /* a float that is a parameter */
tt_low_value *low_ints(low_case *c, const int64_t *values, size_t count);
void low_want(low_case *c, tt_dtype dtype, size_t rank, const int64_t *dims);

/* Runs the rule, finishes, verifies and prints the program; results, count and checks are its
 * results in this order. */
TT_NODISCARD tt_error *low_lower(low_case *c);
/* Result `index` of a run on XLA:CPU; UNAVAILABLE where there is no plugin. */
TT_NODISCARD tt_error *low_run(low_case *c, size_t index, void *out, size_t size);
bool low_can_run(void);

#endif /* TT_LOW_TEST_H */
