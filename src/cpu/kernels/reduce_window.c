/* reduce_window.
 *
 * Padding does not take part: the initial value, which stands for it, may be combined any number of
 * times. One known op on windows of few elements takes those in order, in the result's dtype, a row
 * of places at a time. On larger windows it is applied axis by axis, each axis as [outer, dim,
 * inner]; where each window of an axis begins where the operand does, or ends there, results are
 * made of their neighbours. Other regions run for each element, with the same treatment of running
 * windows. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/combine.h"
#include "cpu/kernels/scan.h"
#include "cpu/kernels/window.h"

enum { SLOT = 64, FEW = 16 };

/* Every window along the axis holds all of the operand before (or after) a place that moves with
 * it by one. */
static bool runs_forward(const tt_cpu_window *w, int32_t i) {
  return w->step[i] == 1 && w->dilation[i] == 1 && w->base_dilation[i] == 1 &&
         w->low[i] >= w->out[i] - 1 && w->size[i] > 2;
}

static bool runs_backward(const tt_cpu_window *w, int32_t i) {
  return w->step[i] == 1 && w->dilation[i] == 1 && w->base_dilation[i] == 1 &&
         w->size[i] - w->low[i] >= w->dims[i] && w->size[i] > 2;
}

static bool changes_axis(const tt_cpu_window *w, int32_t i) {
  return w->size[i] != 1 || w->step[i] != 1 || w->base_dilation[i] != 1 || w->low[i] != 0 ||
         w->out[i] != w->dims[i];
}

/* The only axis that the window changes, if it runs. */
static int32_t running_axis(const tt_cpu_window *w) {
  int32_t axis = -1;
  for (int32_t i = 0; i < w->rank; i++) {
    if (!changes_axis(w, i))
      continue;
    if (axis >= 0 || (!runs_forward(w, i) && !runs_backward(w, i)))
      return -1;
    axis = i;
  }
  return axis;
}

/* ---- one op, few elements ---- */

/* A row: places along `axis`, the last one that the window changes, each with the `inner` elements
 * of the axes after it. */
typedef struct few_job {
  const tt_cpu_window *w;
  int32_t axis;
  int64_t inner;
  tt_cpu_combine combine;
  int bytes;
  const char *from;
  char *to;
  const void *init;
} few_job;

static int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y > 0); }

/* Adds element `k` of the axis' windows to those places that have it. */
static void add_element(const few_job *j, const char *from, char *to, int64_t k) {
  const tt_cpu_window *w = j->w;
  int64_t i = j->axis, step = w->step[i], row = j->inner * j->bytes;
  int64_t off = w->low[i] - k * w->dilation[i], end = (w->dims[i] - 1) * w->base_dilation[i] + off;
  int64_t first = off > 0 ? ceil_div(off, step) : 0, last = end < 0 ? -1 : end / step;
  last = last < w->out[i] ? last : w->out[i] - 1;
  int64_t count = last - first + 1;
  if (count <= 0)
    return;
  if (w->base_dilation[i] == 1 && (j->inner == 1 || step == 1)) {
    from += (first * step - off) * row;
    j->combine(to + first * row, 1, from, j->inner == 1 ? step : 1, count * j->inner);
    return;
  }
  for (int64_t place = first; place <= last; place++) {
    int64_t at = tt_cpu_window_at(w, (int32_t)i, place, k);
    if (at >= 0)
      j->combine(to + place * row, 1, from + at * row, 1, j->inner);
  }
}

/* The operand's place of element `k` of the window at `place`, axes before `j->axis`; -1. */
static int64_t outer_element(const few_job *j, const int64_t *place, int64_t k) {
  int64_t at = 0;
  for (int32_t i = j->axis; i-- > 0; k /= j->w->size[i]) {
    int64_t index = tt_cpu_window_at(j->w, i, place[i], k % j->w->size[i]);
    if (index < 0)
      return -1;
    at += index * j->w->strides[i];
  }
  return at;
}

static void few_rows(int64_t begin, int64_t end, void *user) {
  const few_job *j = user;
  const tt_cpu_window *w = j->w;
  int64_t last = w->size[j->axis], length = w->out[j->axis] * j->inner, place[TT_HLO_RANK_MAX];
  for (int64_t i = begin; i < end; i++) {
    char *to = j->to + i * length * j->bytes;
    tt_cpu_window_place(w, i * length, place);
    tt_cpu_fill(to, j->init, length, j->bytes);
    for (int64_t k = 0; k < w->size_count / last; k++) {
      int64_t at = outer_element(j, place, k);
      for (int64_t n = 0; at >= 0 && n < last; n++)
        add_element(j, j->from + at * j->bytes, to, n);
    }
  }
}

static void window_few(const tt_cpu_args *args, const tt_cpu_window *w, tt_cpu_combine combine) {
  few_job j = {.w = w,
               .inner = 1,
               .combine = combine,
               .bytes = tt_dtype_bytes(args->op->results[0].type.dtype),
               .from = args->in[0],
               .to = args->out[0],
               .init = args->in[1]};
  for (j.axis = w->rank - 1; j.axis > 0 && !changes_axis(w, j.axis); j.axis--)
    j.inner *= w->dims[j.axis];
  int64_t length = w->out[j.axis] * j.inner;
  double cost = (double)w->size_count * ((double)length * 0.5 + 5);
  tt_cpu_parallel(w->count / length, cost, few_rows, &j);
}

/* ---- one op, axis by axis ---- */

/* A pass along one axis. */
typedef struct axis_pass {
  const tt_cpu_window *w;
  int32_t axis;
  tt_cpu_combine combine;
  int bytes;
  int64_t inner, dim, out;
  const char *from;
  char *to;
  const void *identity;
} axis_pass;

/* to[place] = the operand's elements in the window there. */
static void window_slice(const axis_pass *p, const char *from, char *to, int64_t place) {
  int64_t row = p->inner * p->bytes;
  bool first = true;
  for (int64_t k = 0; k < p->w->size[p->axis]; k++) {
    int64_t at = tt_cpu_window_at(p->w, p->axis, place, k);
    if (at < 0)
      continue;
    if (first)
      memcpy(to + place * row, from + at * row, (size_t)row);
    else
      p->combine(to + place * row, 1, from + at * row, 1, p->inner);
    first = false;
  }
  if (first)
    tt_cpu_fill(to + place * row, p->identity, p->inner, p->bytes);
}

/* The running result of the windows on one side. `place` goes on by `step`; each adds the elements
 * up to its own last one. */
static void run_along(const axis_pass *p, const char *from, char *to, bool forward) {
  const tt_cpu_window *w = p->w;
  int64_t row = p->inner * p->bytes, low = w->low[p->axis], size = w->size[p->axis];
  int64_t at = forward ? 0 : p->dim - 1;
  for (int64_t i = 0; i < p->out; i++) {
    int64_t place = forward ? i : p->out - 1 - i, before = forward ? place - 1 : place + 1;
    int64_t end = forward ? place - low + size - 1 : place - low;
    if (i == 0)
      tt_cpu_fill(to + place * row, p->identity, p->inner, p->bytes);
    else
      memcpy(to + place * row, to + before * row, (size_t)row);
    for (; forward ? at <= end && at < p->dim : at >= end && at >= 0; at += forward ? 1 : -1)
      p->combine(to + place * row, 1, from + at * row, 1, p->inner);
  }
}

/* The same where a row is one element. The places that add one element each are made by one call,
 * which takes what it made just before. */
static void run_line_along(const axis_pass *p, const char *from, char *to, bool forward) {
  const tt_cpu_window *w = p->w;
  int64_t low = w->low[p->axis], size = w->size[p->axis], step = forward ? p->bytes : -p->bytes;
  /* Places and elements are counted from the side where it begins: place i ends with i + ahead. */
  int64_t ahead = forward ? size - low - 1 : low + p->dim - p->out;
  int64_t first = ahead < 0 ? -ahead : 1, last = p->dim - ahead;
  int64_t begun = ahead + 1 < p->dim ? ahead + 1 : p->dim;
  from += forward ? 0 : (p->dim - 1) * p->bytes;
  to += forward ? 0 : (p->out - 1) * p->bytes;
  first = first < p->out ? first : p->out;
  last = last < p->out ? last : p->out;
  for (int64_t i = 0; i < first; i++)
    memcpy(to + i * step, p->identity, (size_t)p->bytes);
  if (begun > 0)
    p->combine(to, 0, from, forward ? 1 : -1, begun);
  if (forward && first < last)
    memcpy(to + first * step, from + (first + ahead) * step, (size_t)((last - first) * step));
  for (int64_t i = first; i < last && !forward; i++)
    memcpy(to + i * step, from + (i + ahead) * step, (size_t)p->bytes);
  if (first < last)
    p->combine(to + first * step, forward ? 1 : -1, to + (first - 1) * step, forward ? 1 : -1,
               last - first);
  for (int64_t i = first < last ? last : first; i < p->out; i++)
    memcpy(to + i * step, to + (i - 1) * step, (size_t)p->bytes);
}

static void pass_part(int64_t begin, int64_t end, void *user) {
  const axis_pass *p = user;
  bool forward = runs_forward(p->w, p->axis), backward = runs_backward(p->w, p->axis);
  for (int64_t i = begin; i < end; i++) {
    const char *from = p->from + i * p->dim * p->inner * p->bytes;
    char *to = p->to + i * p->out * p->inner * p->bytes;
    if (forward || backward)
      (p->inner == 1 ? run_line_along : run_along)(p, from, to, forward);
    else
      for (int64_t place = 0; place < p->out; place++)
        window_slice(p, from, to, place);
  }
}

/* Few elements of windows that all begin with the operand's first: each takes what the one before
 * it did, in the same order. */
static bool window_few_forward(const tt_cpu_args *args, const tt_cpu_window *w,
                               tt_cpu_combine combine) {
  axis_pass p = {.w = w,
                 .axis = running_axis(w),
                 .combine = combine,
                 .bytes = tt_dtype_bytes(args->op->results[0].type.dtype),
                 .inner = 1,
                 .from = args->in[0],
                 .to = args->out[0],
                 .identity = args->in[1]};
  if (p.axis < 0 || !runs_forward(w, p.axis))
    return false;
  p.dim = w->dims[p.axis];
  p.out = w->out[p.axis];
  for (int32_t i = p.axis + 1; i < w->rank; i++)
    p.inner *= w->dims[i];
  tt_cpu_parallel(w->count / (p.out * p.inner), (double)(p.out * p.inner) * 2, pass_part, &p);
  return true;
}

/* Along one row of f32, where running sums must be kept wider than their elements. */
static tt_dtype work_dtype(tt_hlo_code code, tt_dtype dtype) {
  bool sums = code == TT_HLO_ADD || code == TT_HLO_MULTIPLY;
  return sums && (dtype == TT_F32 || dtype == TT_BF16 || dtype == TT_F16) ? TT_F64 : dtype;
}

static tt_error *work_new(const tt_cpu_args *args, int64_t count, int bytes, char **out_work) {
  int64_t size = 0;
  bool fits = !__builtin_mul_overflow(count, bytes, &size);
  *out_work = fits ? tt_cpu_scratch(args->run, size) : NULL;
  return *out_work == NULL ? tt_cpu_no_scratch(args->op, fits ? size : INT64_MAX) : NULL;
}

static tt_error *run_axis(const tt_cpu_args *args, axis_pass *p, const int64_t *dims) {
  int64_t outer = 1;
  double cost = 0;
  p->inner = 1;
  p->dim = p->w->dims[p->axis];
  p->out = p->w->out[p->axis];
  for (int32_t i = 0; i < p->w->rank; i++)
    if (i != p->axis)
      *(i < p->axis ? &outer : &p->inner) *= dims[i];
  TT_RETURN_IF_ERROR(work_new(args, outer * p->out * p->inner, p->bytes, &p->to));
  cost = (double)p->out * ((double)p->inner * 0.2 + 3) * (double)p->w->size[p->axis];
  tt_cpu_parallel(outer, cost, pass_part, p);
  p->from = p->to;
  return NULL;
}

/* result = what the windows gave o init. */
typedef struct finish_job {
  const axis_pass *pass;
  tt_dtype work, dtype;
  const char *sums;
  char *out;
  const void *init; /* NULL: it changes nothing */
} finish_job;

static void finish_part(int64_t begin, int64_t end, void *user) {
  enum { CHUNK = 256 };
  const finish_job *j = user;
  int bytes = j->pass->bytes;
  _Alignas(16) char chunk[CHUNK * 16];
  for (int64_t i = begin; i < end; i += CHUNK) {
    int64_t count = end - i < CHUNK ? end - i : CHUNK;
    const char *sums = j->sums + i * bytes;
    if (j->init != NULL) {
      memcpy(chunk, sums, (size_t)(count * bytes));
      j->pass->combine(chunk, 1, j->init, 0, count);
      sums = chunk;
    }
    tt_cpu_convert(j->work, sums, j->dtype, j->out + i * tt_dtype_bytes(j->dtype), count);
  }
}

static void finish(const tt_cpu_args *args, const axis_pass *p, tt_dtype work) {
  const tt_hlo_type *type = &args->op->results[0].type;
  _Alignas(16) char init[16];
  finish_job j = {p, work, type->dtype, p->from, args->out[0], init};
  tt_cpu_convert(args->op->operands[1]->type.dtype, args->in[1], work, init, 1);
  if (memcmp(init, p->identity, (size_t)p->bytes) == 0)
    j.init = NULL;
  tt_cpu_parallel(tt_cpu_count(type), 1, finish_part, &j);
}

static tt_error *window_op(const tt_cpu_args *args, const tt_cpu_window *w, tt_hlo_code code) {
  const tt_hlo_type *operand = &args->op->operands[0]->type;
  tt_dtype work = work_dtype(code, args->op->results[0].type.dtype);
  _Alignas(16) char identity[16] = {0};
  int64_t dims[TT_HLO_RANK_MAX];
  axis_pass p = {.w = w,
                 .combine = tt_cpu_combine_find(code, work),
                 .bytes = tt_dtype_bytes(work),
                 .from = args->in[0],
                 .identity = identity};
  tt_cpu_combine_identity(code, work, identity);
  if (work != operand->dtype) {
    char *wide = NULL;
    TT_RETURN_IF_ERROR(work_new(args, tt_cpu_count(operand), p.bytes, &wide));
    tt_cpu_convert(operand->dtype, args->in[0], work, wide, tt_cpu_count(operand));
    p.from = wide;
  }
  memcpy(dims, w->dims, (size_t)w->rank * sizeof *dims);
  for (p.axis = 0; p.axis < w->rank; p.axis++)
    if (changes_axis(w, p.axis)) {
      TT_RETURN_IF_ERROR(run_axis(args, &p, dims));
      dims[p.axis] = w->out[p.axis];
    }
  finish(args, &p, work);
  return NULL;
}

/* ---- any region ---- */

typedef struct region_job {
  const tt_cpu_args *args;
  const tt_cpu_window *w;
  uint32_t n;
  char *now, *next, *element; /* n slots each */
  const void **in;
  void **out;
} region_job;

static void load_element(const region_job *j, int64_t at, char *slots) {
  const tt_hlo_op *op = j->args->op;
  for (uint32_t k = 0; k < j->n; k++) {
    tt_dtype from = op->operands[k]->type.dtype;
    tt_cpu_convert(from, (const char *)j->args->in[k] + at * tt_dtype_bytes(from),
                   op->results[k].type.dtype, slots + k * SLOT, 1);
  }
}

static void load_inits(const region_job *j) {
  const tt_hlo_op *op = j->args->op;
  for (uint32_t k = 0; k < j->n; k++)
    tt_cpu_convert(op->operands[j->n + k]->type.dtype, j->args->in[j->n + k],
                   op->results[k].type.dtype, j->now + k * SLOT, 1);
}

static void copy_result(const region_job *j, int64_t at, char *slots, bool store) {
  for (uint32_t k = 0; k < j->n; k++) {
    int bytes = tt_dtype_bytes(j->args->op->results[k].type.dtype);
    char *result = (char *)j->args->out[k] + at * bytes, *slot = slots + k * SLOT;
    memcpy(store ? result : slot, store ? slot : result, (size_t)bytes);
  }
}

/* now = now o element, or element o now. */
static tt_error *apply(region_job *j, bool swapped) {
  for (uint32_t k = 0; k < j->n; k++) {
    j->in[k] = (swapped ? j->element : j->now) + k * SLOT;
    j->in[j->n + k] = (swapped ? j->now : j->element) + k * SLOT;
    j->out[k] = j->next + k * SLOT;
  }
  TT_RETURN_IF_ERROR(tt_cpu_region_run(j->args->run, j->args->op->regions[0], j->in, j->out));
  char *swap = j->now;
  j->now = j->next;
  j->next = swap;
  return NULL;
}

/* All places, in order or from the last to the first. With a running axis the result before is in
 * the result; `axis` -1: none. */
static tt_error *reduce_place(region_job *j, int64_t i, const int64_t *place) {
  load_inits(j);
  for (int64_t k = 0; k < j->w->size_count; k++) {
    int64_t at = tt_cpu_window_element(j->w, place, k);
    if (at < 0)
      continue;
    load_element(j, at, j->element);
    TT_RETURN_IF_ERROR(apply(j, false));
  }
  copy_result(j, i, j->now, true);
  return NULL;
}

/* A running axis: the window of a place is that before it and the elements between their ends. */
static tt_error *run_line(region_job *j, int32_t axis, int64_t first, const int64_t *place,
                          bool forward) {
  const tt_cpu_window *w = j->w;
  int64_t stride = 1, at = forward ? 0 : w->dims[axis] - 1, base = 0;
  for (int32_t i = axis + 1; i < w->rank; i++)
    stride *= w->out[i];
  for (int32_t i = 0; i < w->rank; i++)
    base += i == axis ? 0 : place[i] * w->strides[i];
  load_inits(j);
  for (int64_t i = 0; i < w->out[axis]; i++) {
    int64_t here = forward ? i : w->out[axis] - 1 - i;
    int64_t end = forward ? here - w->low[axis] + w->size[axis] - 1 : here - w->low[axis];
    for (; forward ? at <= end && at < w->dims[axis] : at >= end && at >= 0;
         at += forward ? 1 : -1) {
      load_element(j, base + at * w->strides[axis], j->element);
      TT_RETURN_IF_ERROR(apply(j, !forward));
    }
    copy_result(j, first + here * stride, j->now, true);
  }
  return NULL;
}

static tt_error *window_region(const tt_cpu_args *args, const tt_cpu_window *w) {
  int64_t n = args->op->results_count, place[TT_HLO_RANK_MAX];
  int32_t axis = running_axis(w);
  char *slots = tt_cpu_scratch(args->run, 3 * n * SLOT);
  region_job j = {.args = args,
                  .w = w,
                  .n = (uint32_t)n,
                  .in = tt_cpu_scratch(args->run, 2 * n * (int64_t)sizeof(void *)),
                  .out = tt_cpu_scratch(args->run, n * (int64_t)sizeof(void *))};
  if (slots == NULL || j.in == NULL || j.out == NULL)
    return tt_cpu_no_scratch(args->op, 3 * n * SLOT);
  j.now = slots;
  j.next = slots + n * SLOT;
  j.element = slots + 2 * n * SLOT;
  for (int64_t i = 0; i < w->count; i++) {
    tt_cpu_window_place(w, i, place);
    if (axis < 0)
      TT_RETURN_IF_ERROR(reduce_place(&j, i, place));
    else if (place[axis] == 0)
      TT_RETURN_IF_ERROR(run_line(&j, axis, i, place, runs_forward(w, axis)));
  }
  return NULL;
}

tt_error *tt_cpu_kernel_reduce_window(const tt_cpu_args *args) {
  const tt_hlo_op *op = args->op;
  tt_cpu_window w;
  _Alignas(16) char identity[16];
  tt_dtype dtype = op->results[0].type.dtype;
  tt_cpu_window_read(op, &op->operands[0]->type, &op->results[0].type, &w);
  if (w.count == 0)
    return NULL;
  if (op->results_count == 1 && op->operands[0]->type.dtype == dtype) {
    tt_hlo_code code = tt_cpu_region_binary(op->regions[0]);
    tt_cpu_combine combine = tt_cpu_combine_find(code, dtype);
    if (combine != NULL && op->operands[1]->type.dtype == dtype && w.size_count <= FEW &&
        w.rank > 0) {
      if (!window_few_forward(args, &w, combine))
        window_few(args, &w, combine);
      return NULL;
    }
    if (tt_cpu_scan_run(args, &w, code))
      return NULL;
    if (tt_cpu_combine_find(code, work_dtype(code, dtype)) != NULL &&
        tt_cpu_combine_identity(code, dtype, identity))
      return window_op(args, &w, code);
  }
  return window_region(args, &w);
}
