/* select_and_scatter: each source element goes to the element of its window that `select` picks. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/combine.h"
#include "cpu/kernels/window.h"

enum { SLOT = 64 };

typedef struct select_job {
  const tt_cpu_args *args;
  tt_cpu_window w;
  tt_dtype dtype, result; /* of the operand */
  int bytes;
  int32_t direction; /* of `select` where that is one comparison of f32; -1 */
  tt_cpu_combine combine;
  char *slots; /* two arguments */
} select_job;

static tt_error *keeps(const select_job *j, int64_t kept, int64_t other, bool *out) {
  const char *data = j->args->in[0];
  _Alignas(SLOT) uint8_t result[SLOT] = {0};
  const void *in[2] = {j->slots, j->slots + SLOT};
  void *result_at = result;
  if (j->direction >= 0) {
    float x = ((const float *)data)[kept], y = ((const float *)data)[other];
    *out = j->direction == TT_HLO_GE   ? x >= y
           : j->direction == TT_HLO_GT ? x > y
           : j->direction == TT_HLO_LE ? x <= y
                                       : x < y;
    return NULL;
  }
  memcpy(j->slots, data + kept * j->bytes, (size_t)j->bytes);
  memcpy(j->slots + SLOT, data + other * j->bytes, (size_t)j->bytes);
  TT_RETURN_IF_ERROR(tt_cpu_region_run(j->args->run, j->args->op->regions[0], in, &result_at));
  *out = result[0] != 0;
  return NULL;
}

/* -1: the window is all padding. */
static tt_error *select_element(const select_job *j, const int64_t *place, int64_t *out_at) {
  *out_at = -1;
  for (int64_t k = 0; k < j->w.size_count; k++) {
    int64_t at = tt_cpu_window_element(&j->w, place, k);
    bool kept = false;
    if (at < 0)
      continue;
    if (*out_at >= 0)
      TT_RETURN_IF_ERROR(keeps(j, *out_at, at, &kept));
    *out_at = kept ? *out_at : at;
  }
  return NULL;
}

static tt_error *scatter_element(const select_job *j, int64_t to, int64_t from) {
  const tt_cpu_args *args = j->args;
  int bytes = tt_dtype_bytes(j->result);
  char *result = (char *)args->out[0] + to * bytes;
  const char *source = (const char *)args->in[1] + from * j->bytes;
  _Alignas(SLOT) char sum[SLOT];
  const void *in[2] = {j->slots, j->slots + SLOT};
  void *sum_at = sum;
  if (j->combine != NULL) {
    j->combine(result, 1, source, 1, 1);
    return NULL;
  }
  memcpy(j->slots, result, (size_t)bytes);
  tt_cpu_convert(j->dtype, source, j->result, j->slots + SLOT, 1);
  TT_RETURN_IF_ERROR(tt_cpu_region_run(args->run, args->op->regions[1], in, &sum_at));
  memcpy(result, sum, (size_t)bytes);
  return NULL;
}

static void read_regions(select_job *j) {
  const tt_hlo_op *op = j->args->op, *first = op->regions[0]->first;
  j->direction = -1;
  if (tt_cpu_region_binary(op->regions[0]) == TT_HLO_COMPARE && j->dtype == TT_F32 &&
      tt_cpu_attr_i64(first, TT_HLO_COMPARE_TYPE, 0) != TT_HLO_COMPARE_TOTALORDER) {
    int64_t direction = tt_cpu_attr_i64(first, TT_HLO_COMPARISON_DIRECTION, 0);
    j->direction = direction == TT_HLO_EQ || direction == TT_HLO_NE ? -1 : (int32_t)direction;
  }
  if (j->dtype == j->result)
    j->combine = tt_cpu_combine_find(tt_cpu_region_binary(op->regions[1]), j->dtype);
}

tt_error *tt_cpu_kernel_select_and_scatter(const tt_cpu_args *args) {
  const tt_hlo_op *op = args->op;
  const tt_hlo_type *type = &op->results[0].type;
  int64_t place[TT_HLO_RANK_MAX], at = -1;
  select_job j = {.args = args,
                  .dtype = op->operands[0]->type.dtype,
                  .result = type->dtype,
                  .bytes = tt_dtype_bytes(op->operands[0]->type.dtype),
                  .slots = tt_cpu_scratch(args->run, 2 * SLOT)};
  if (j.slots == NULL)
    return tt_cpu_no_scratch(op, 2 * SLOT);
  if (tt_cpu_count(type) == 0)
    return NULL;
  tt_cpu_window_read(op, &op->operands[0]->type, &op->operands[1]->type, &j.w);
  read_regions(&j);
  tt_cpu_convert(j.dtype, args->in[2], j.result, args->out[0], 1);
  tt_cpu_fill(args->out[0], args->out[0], tt_cpu_count(type), tt_dtype_bytes(j.result));
  for (int64_t i = 0; i < j.w.count; i++) {
    tt_cpu_window_place(&j.w, i, place);
    TT_RETURN_IF_ERROR(select_element(&j, place, &at));
    if (at >= 0)
      TT_RETURN_IF_ERROR(scatter_element(&j, at, i));
  }
  return NULL;
}
