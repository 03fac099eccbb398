/* Custom calls: which there are, and what their operands and results must be. JAX's names for
 * LAPACK (lapack_sgetrf_ffi) are those of the routines with the dtype's letter. Layouts say how a
 * handler would get its arrays; here all are row-major, so nothing looks at them. */
#include "cpu/kernels/custom.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/foreign.h"
#include "cpu/kernels.h"
#include "cpu/library.h"

static tt_error *run_copy(const tt_cpu_args *args) {
  int64_t bytes = tt_cpu_bytes(&args->op->results[0].type);
  if (bytes > 0)
    memcpy(args->out[0], args->in[0], (size_t)bytes);
  return NULL;
}

static tt_error *check_copy(const tt_hlo_op *op) {
  if (op->operands_count == 1 && op->results_count == 1 && !op->results[0].type.token &&
      tt_hlo_type_equal(&op->operands[0]->type, &op->results[0].type))
    return NULL;
  return tt_error_new(TT_UNIMPLEMENTED,
                      "stablehlo.custom_call: a marker whose result is not of its operand's type");
}

/* Markers say nothing with one partition and one memory. */
static const tt_cpu_target others[] = {
    {"ApproxTopK", NULL, NULL, true, false, NULL, tt_cpu_approx_top_k, tt_cpu_check_approx_top_k},
#define X(name) {name, NULL, NULL, true, true, NULL, run_copy, check_copy},
    X("Sharding") X("SPMDFullToShardShape") X("SPMDShardToFullShape") X("annotate_device_placement")
        X("LayoutConstraint")
#undef X
};

static const char *name_of(const tt_hlo_op *op) {
  const tt_hlo_attr *name = tt_hlo_op_attr(op, TT_HLO_CALL_TARGET_NAME);
  return name == NULL || name->text == NULL ? "" : name->text;
}

static const tt_hlo_type *first_type(const tt_hlo_op *op) {
  return op->operands_count == 0 || op->operands[0]->type.token ? NULL : &op->operands[0]->type;
}

/* `name` is the target's, or lapack_ + the dtype's letter + it + _ffi. */
static bool is_named(const tt_cpu_target *target, const char *name, tt_dtype dtype) {
  static const char prefix[] = "lapack_", ending[] = "_ffi";
  size_t size = strlen(target->name);
  if (strcmp(target->name, name) == 0)
    return !islower((unsigned char)name[0]) || strstr(name, ending) != NULL ||
           target->run_all == run_copy;
  return strncmp(name, prefix, sizeof prefix - 1) == 0 && name[7] != '\0' &&
         name[7] == tt_cpu_routine_letter(dtype) && strncmp(name + 8, target->name, size) == 0 &&
         strcmp(name + 8 + size, ending) == 0;
}

static const tt_cpu_target *find_in(const tt_cpu_targets *targets, const tt_hlo_op *op) {
  tt_dtype dtype = first_type(op)->dtype;
  for (size_t i = 0; i < targets->count; i++) {
    const tt_cpu_target *target = &targets->items[i];
    if (is_named(target, name_of(op), dtype) &&
        (tt_dtype_is_complex(dtype) ? target->is_complex : target->real))
      return target;
  }
  return NULL;
}

static const tt_cpu_target *find_target(const tt_hlo_op *op) {
  static const tt_cpu_targets rest = {others, sizeof others / sizeof *others};
  static const tt_cpu_targets *const all[] = {&rest, &tt_cpu_orthogonal, &tt_cpu_triangular,
                                              &tt_cpu_svd, &tt_cpu_eigen};
  const tt_cpu_target *found = NULL;
  for (size_t i = 0; i < sizeof all / sizeof *all && found == NULL && first_type(op) != NULL; i++)
    found = find_in(all[i], op);
  return found;
}

/* ---- types ---- */

typedef struct sizes {
  const tt_hlo_type *first;
  int32_t batch;     /* axes of the stack */
  int64_t dims[128]; /* by letter; -1: not seen yet */
} sizes;

static tt_dtype wanted_dtype(char letter, tt_dtype first) {
  if (letter == 'T')
    return first;
  if (letter == 'I')
    return TT_S32;
  return letter == 'R' ? tt_dtype_real(first) : tt_dtype_complex(first);
}

/* `form` is one type, such as "Tmn"; `size` characters. */
static bool fits(sizes *s, const char *form, size_t size, const tt_hlo_type *type) {
  if (type->token || type->dtype != wanted_dtype(form[0], s->first->dtype) ||
      type->rank != s->batch + (int32_t)size - 1)
    return false;
  for (int32_t i = 0; i < s->batch; i++)
    if (type->dims[i] != s->first->dims[i])
      return false;
  for (size_t i = 1; i < size; i++) {
    int64_t dim = type->dims[s->batch + (int32_t)i - 1], *want = &s->dims[(int)form[i]];
    *want = *want < 0 ? dim : *want;
    if (*want != dim || dim > INT32_MAX)
      return false;
  }
  return true;
}

static void derive(sizes *s) {
  int64_t m = s->dims['m'], n = s->dims['n'];
  s->dims['k'] = m < 0 || m > n ? n : m;
  s->dims['l'] = n > 0 ? n - 1 : 0;
}

static bool all_fit(sizes *s, const char *forms, const tt_hlo_op *op, bool results) {
  uint32_t count = results ? op->results_count : op->operands_count, i = 0;
  for (; *forms != '\0' && i < count; i++) {
    size_t size = strcspn(forms, " ");
    const tt_hlo_type *type = results ? &op->results[i].type : &op->operands[i]->type;
    if (!fits(s, forms, size, type))
      return false;
    if (i == 0 && !results)
      derive(s);
    forms += size + (forms[size] != '\0');
  }
  return *forms == '\0' && i == count;
}

static bool types_fit(const tt_cpu_target *target, const tt_hlo_op *op) {
  sizes s = {.first = first_type(op)};
  if (target->operands == NULL)
    return true;
  if (!tt_dtype_is_float(s.first->dtype) && !tt_dtype_is_complex(s.first->dtype))
    return false;
  s.batch = s.first->rank - (int32_t)strcspn(target->operands, " ") + 1;
  memset(s.dims, -1, sizeof s.dims);
  return s.batch >= 0 && all_fit(&s, target->operands, op, false) &&
         all_fit(&s, target->results, op, true);
}

tt_error *tt_cpu_check_custom_call(const tt_hlo_op *op) {
  const tt_cpu_target *target = find_target(op);
  if (target == NULL && tt_cpu_foreign_find(name_of(op)) != NULL)
    return tt_cpu_foreign_check(op);
  if (target == NULL)
    return tt_error_new(TT_UNIMPLEMENTED, "stablehlo.custom_call @%s is not implemented%s%s",
                        name_of(op), first_type(op) == NULL ? "" : " for ",
                        first_type(op) == NULL ? "" : tt_dtype_name(first_type(op)->dtype));
  if (!types_fit(target, op))
    return tt_error_new(TT_UNIMPLEMENTED,
                        "stablehlo.custom_call @%s is not implemented for these types",
                        name_of(op));
  tt_error *err = target->check == NULL ? NULL : target->check(op);
  return tt_error_wrap_take(err, "stablehlo.custom_call @%s", name_of(op));
}

/* ---- attributes ---- */

static bool in_word(char c) { return isalnum((unsigned char)c) != 0 || c == '_'; }

int64_t tt_cpu_config(const tt_hlo_op *op, const char *key, int64_t fallback) {
  const tt_hlo_attr *config = tt_hlo_op_attr(op, TT_HLO_BACKEND_CONFIG);
  size_t size = strlen(key);
  const char *text = config == NULL ? NULL : config->text;
  for (const char *at = text; at != NULL && (at = strstr(at, key)) != NULL; at += size) {
    const char *value = at + size;
    if ((at > text && in_word(at[-1])) || in_word(*value))
      continue;
    value += strspn(value, "\" ");
    if (*value != '=')
      continue;
    value += 1 + strspn(value + 1, " ");
    if (strncmp(value, "true", 4) == 0)
      return 1;
    if (strncmp(value, "false", 5) == 0)
      return 0;
    char *end = NULL;
    long long number = strtoll(value, &end, 10);
    return end == value ? fallback : number;
  }
  return fallback;
}

/* ---- running ---- */

static tt_error *run_stack(const tt_cpu_target *target, const tt_cpu_args *args) {
  const tt_hlo_type *type = first_type(args->op);
  int32_t axes = (int32_t)strcspn(target->operands, " ") - 1, batch = type->rank - axes;
  tt_cpu_job job = {.args = args,
                    .dtype = type->dtype,
                    .is_complex = tt_dtype_is_complex(type->dtype),
                    .count = 1};
  job.n = type->dims[type->rank - 1];
  job.m = axes == 2 ? type->dims[batch] : job.n;
  job.k = job.m < job.n ? job.m : job.n;
  for (int32_t i = 0; i < batch; i++)
    job.count *= type->dims[i];
  for (; job.index < job.count; job.index++)
    TT_RETURN_IF_ERROR(target->run(&job));
  return NULL;
}

tt_error *tt_cpu_kernel_custom_call(const tt_cpu_args *args) {
  const tt_cpu_target *target = find_target(args->op);
  if (target == NULL)
    return tt_cpu_foreign_call(args);
  return target->run_all != NULL ? target->run_all(args) : run_stack(target, args);
}
