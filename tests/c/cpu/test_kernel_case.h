/* test_kernel_case.h: a kernel's case is a program in text that returns what it made and what was
 * wanted, each of one type. Both are constants or computed from constants, which nothing folds. */
#ifndef TT_TEST_KERNEL_CASE_H
#define TT_TEST_KERNEL_CASE_H

#include "cpu/plan.h"

typedef struct kernel_case {
  const char *type; /* of %got and %want */
  const char *body; /* defines both; or only %got, where `want` is given */
  const char *want; /* what stands in dense<...>; NULL */
  double ulps;      /* 0: the same bits, but any NaN for a NaN */
} kernel_case;

/* Runs the case and notes a failure with its text. */
void check_case(const kernel_case *c);
#define CHECK_CASES(cases)                          \
  do {                                              \
    for (size_t i_ = 0; i_ < TT_COUNT(cases); i_++) \
      check_case(&(cases)[i_]);                     \
  } while (0)

/* A plan of a program's text. */
TT_NODISCARD tt_error *plan_of(const char *text, tt_cpu_plan **out_plan);
TT_NODISCARD tt_error *run_plan(const tt_cpu_plan *plan, const void *const *inputs,
                                void *const *outputs);
TT_NODISCARD tt_error *run_text(const char *text, const void *const *inputs, void *const *outputs);

#endif /* TT_TEST_KERNEL_CASE_H */
