#include "kernel_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cpu/kernel.h"
#include "cpu/memory.h"
#include "hlo/parse.h"
#include "test.h"

enum { RESULTS_MAX = 8 };

static tt_error *plan_of(const kernel_case *c, tt_cpu_plan **out_plan) {
  static char text[1 << 16];
  tt_hlo_module *module = NULL;
  int size =
      snprintf(text, sizeof text, "func.func public @main() -> %s {\n%s\n}\n", c->results, c->body);
  *out_plan = NULL;
  if (size < 0 || (size_t)size >= sizeof text)
    return tt_error_new(TT_INTERNAL, "%s: the program is too long", c->name);
  TT_RETURN_IF_ERROR(tt_hlo_parse(text, (size_t)size, &module));
  return tt_cpu_plan_new_take(module, out_plan);
}

static bool near_enough(double got, double want, double tolerance) {
  if (isnan(want) || isinf(want) || isnan(got))
    return (isnan(got) && isnan(want)) || got == want;
  return fabs(got - want) <= tolerance * (fabs(want) > 1 ? fabs(want) : 1);
}

static void compare_one(const kernel_case *c, double got, const char **at, int i) {
  char *end = NULL;
  double want = strtod(*at, &end);
  if (end == *at) {
    printf("%s: expected fewer elements than %d\n", c->name, i + 1);
    EXPECT(false);
    return;
  }
  *at = end;
  if (!near_enough(got, want, c->tolerance)) {
    printf("%s: element %d: got %.17g, expected %.17g\n", c->name, i, got, want);
    EXPECT(false);
  }
}

static void compare(const kernel_case *c, const tt_cpu_slot *slots, size_t count, void **outputs) {
  const char *at = c->expected;
  int i = 0;
  for (size_t k = 0; k < count; k++) {
    const tt_hlo_type *type = &slots[k].type;
    for (int64_t e = 0; e < tt_cpu_count(type); e++) {
      double imag = 0, real = tt_cpu_load(type->dtype, outputs[k], e, &imag);
      compare_one(c, real, &at, i++);
      if (tt_dtype_is_complex(type->dtype))
        compare_one(c, imag, &at, i++);
    }
  }
  EXPECT(strspn(at, " ") == strlen(at));
}

/* A code other than TT_OK is that of the failure which is expected. */
static void run_case(const kernel_case *c, tt_code code, const char *part) {
  tt_cpu_plan *plan = NULL;
  void *outputs[RESULTS_MAX] = {NULL};
  size_t count = 0;
  const tt_cpu_slot *slots = NULL;
  tt_cpu_call call = {.inputs = NULL, .outputs = outputs};
  REQUIRE_OK(plan_of(c, &plan));
  slots = tt_cpu_plan_results(plan, &count);
  REQUIRE(count <= RESULTS_MAX);
  for (size_t k = 0; k < count; k++) {
    outputs[k] = tt_cpu_memory_alloc(slots[k].size);
    REQUIRE(outputs[k] != NULL);
    memset(outputs[k], 0xa5, (size_t)slots[k].size);
  }
  if (code != TT_OK) {
    EXPECT_ERR(tt_cpu_plan_run(plan, &call), code, part);
    goto out;
  }
  REQUIRE_OK(tt_cpu_plan_run(plan, &call));
  compare(c, slots, count, outputs);
out:
  for (size_t k = 0; k < RESULTS_MAX; k++)
    tt_cpu_memory_free(outputs[k]);
  tt_cpu_plan_free(plan);
}

void kernel_expect(const kernel_case *cases, int count) {
  for (int i = 0; i < count; i++)
    run_case(&cases[i], TT_OK, NULL);
}

void kernel_expect_failure(const kernel_case *failing, tt_code code, const char *part) {
  run_case(failing, code, part);
}

void kernel_expect_refused(const kernel_case *refused, const char *part) {
  tt_cpu_plan *plan = NULL;
  EXPECT_ERR(plan_of(refused, &plan), TT_UNIMPLEMENTED, part);
  tt_cpu_plan_free(plan);
}
