/* kernel_test.h: programs whose operands are constants, run through the engine alone. */
#ifndef TT_KERNEL_TEST_H
#define TT_KERNEL_TEST_H

#include "base/attr.h"

typedef struct kernel_case {
  const char *name;
  const char *body;     /* of @main, without the outer braces; ends in a return */
  const char *results;  /* their types, as after -> */
  const char *expected; /* the elements of all results in order, real parts then imaginary ones of
                           complex numbers in pairs: "1 2 nan -inf" */
  double tolerance;     /* relative, and absolute below 1 */
} kernel_case;

void kernel_expect(const kernel_case *cases, int count);
/* The plan is refused with UNIMPLEMENTED, and `part` is in the message. `expected` is not looked
 * at. */
void kernel_expect_refused(const kernel_case *refused, const char *part);
/* The plan is made, and its run fails so. */
void kernel_expect_failure(const kernel_case *failing, tt_code code, const char *part);

#endif /* TT_KERNEL_TEST_H */
