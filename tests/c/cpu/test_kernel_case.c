#include "test_kernel_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cpu/kernel.h"
#include "cpu/memory.h"
#include "hlo/parse.h"
#include "test.h"

tt_error *plan_of(const char *text, tt_cpu_plan **out_plan) {
  tt_hlo_module *module = NULL;
  *out_plan = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_parse(text, strlen(text), &module));
  tt_error *err = tt_hlo_module_verify(module);
  if (err == NULL)
    return tt_cpu_plan_new_take(module, out_plan);
  tt_hlo_module_free(module);
  return err;
}

tt_error *run_plan(const tt_cpu_plan *plan, const void *const *inputs, void *const *outputs) {
  tt_cpu_call call = {.inputs = inputs, .outputs = outputs};
  return tt_cpu_plan_run(plan, &call);
}

tt_error *run_text(const char *text, const void *const *inputs, void *const *outputs) {
  tt_cpu_plan *plan = NULL;
  TT_RETURN_IF_ERROR(plan_of(text, &plan));
  tt_error *err = run_plan(plan, inputs, outputs);
  tt_cpu_plan_free(plan);
  return err;
}

/* Between neighbours of the wanted value, in its own type. */
static bool within(tt_dtype dtype, double got, double want, double ulps) {
  if (got == want || (got != got && want != want))
    return true;
  double next = dtype == TT_F64 ? fabs(nextafter(want, INFINITY) - want)
                                : fabs((double)nextafterf((float)want, INFINITY) - want);
  return fabs(got - want) <= ulps * next;
}

static bool same_element(const tt_cpu_slot *slot, const void *got, const void *want, int64_t i,
                         double ulps) {
  tt_dtype dtype = slot->type.dtype;
  size_t bytes = (size_t)tt_dtype_bytes(dtype);
  double a_imag = 0, b_imag = 0;
  if (memcmp((const char *)got + i * (int64_t)bytes, (const char *)want + i * (int64_t)bytes,
             bytes) == 0)
    return true;
  if (tt_dtype_is_integer(dtype))
    return false;
  double a = tt_cpu_load(dtype, got, i, &a_imag), b = tt_cpu_load(dtype, want, i, &b_imag);
  if (ulps == 0 && !(a != a && b != b))
    return tt_dtype_is_complex(dtype) && a == b && a_imag == b_imag;
  return within(dtype, a, b, ulps) && within(dtype, a_imag, b_imag, ulps);
}

static void compare(const kernel_case *c, const tt_cpu_slot *slot, void *const *outputs) {
  for (int64_t i = 0; i < tt_cpu_count(&slot->type); i++) {
    if (same_element(slot, outputs[0], outputs[1], i, c->ulps))
      continue;
    char text[512];
    snprintf(text, sizeof text, "element %lld is %.17g, wanted %.17g: %s", (long long)i,
             tt_cpu_load(slot->type.dtype, outputs[0], i, NULL),
             tt_cpu_load(slot->type.dtype, outputs[1], i, NULL), c->body);
    tt_test_true(__FILE__, __LINE__, text, false);
    return;
  }
}

void check_case(const kernel_case *c) {
  char text[4096], want[1024] = "";
  tt_cpu_plan *plan = NULL;
  void *outputs[2] = {NULL, NULL};
  size_t count = 0;
  if (c->want != NULL)
    snprintf(want, sizeof want, "%%want = stablehlo.constant dense<%s> : %s\n", c->want, c->type);
  snprintf(text, sizeof text,
           "func.func @main() -> (%s, %s) {\n%s\n%sreturn %%got, %%want : %s, %s\n}", c->type,
           c->type, c->body, want, c->type, c->type);
  if (!EXPECT_OK(plan_of(text, &plan)) || plan == NULL) {
    if (!tt_test_tortured())
      fprintf(stderr, "%s\n", text);
    return;
  }
  const tt_cpu_slot *slots = tt_cpu_plan_results(plan, &count);
  for (size_t i = 0; i < 2; i++) {
    outputs[i] = tt_cpu_memory_alloc(slots[i].size);
    REQUIRE(outputs[i] != NULL);
    memset(outputs[i], 0x5a, (size_t)slots[i].size);
  }
  REQUIRE_OK(run_plan(plan, NULL, outputs));
  compare(c, &slots[0], outputs);
out:
  tt_cpu_memory_free(outputs[0]);
  tt_cpu_memory_free(outputs[1]);
  tt_cpu_plan_free(plan);
}
