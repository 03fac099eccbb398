#pragma GCC optimize("O3")
#include "cpu/kernels/scan.h"

/* Several scans go side by side, so that an addition need not wait for the one before it: rows, or
 * the columns of an axis that is not the last. */
enum { ROWS = 4, COLUMNS = 32 };

/* Scans of `count` elements, each `step` from the one before. */
typedef struct scan_lines {
  const void *in;
  void *out;
  int64_t count, step, lane; /* lane: from a scan to the next */
  const void *init;
} scan_lines;

typedef void (*scan_function)(const scan_lines *l, int64_t lanes);

/* EXPR: of x (so far) and y, in type W. An initial value comes last, as it would after a window. */
#define SCAN(NAME, T, W, EXPR)                                                                   \
  static inline __attribute__((always_inline)) W NAME##_of(W x, W y) { return EXPR; }            \
  static inline __attribute__((always_inline)) void NAME##_lanes(const scan_lines *l, int lanes, \
                                                                 int64_t lane) {                 \
    W so_far[COLUMNS], init = (W) * (const T *)l->init;                                          \
    const T *in = l->in;                                                                         \
    T *out = l->out;                                                                             \
    for (int k = 0; k < lanes; k++) {                                                            \
      so_far[k] = (W)in[k * lane];                                                               \
      out[k * lane] = (T)NAME##_of(so_far[k], init);                                             \
    }                                                                                            \
    for (int64_t i = 1; i < l->count; i++) {                                                     \
      in += l->step;                                                                             \
      out += l->step;                                                                            \
      for (int k = 0; k < lanes; k++) {                                                          \
        so_far[k] = NAME##_of(so_far[k], (W)in[k * lane]);                                       \
        out[k * lane] = (T)NAME##_of(so_far[k], init);                                           \
      }                                                                                          \
    }                                                                                            \
  }                                                                                              \
  static void NAME(const scan_lines *l, int64_t lanes) {                                         \
    if (lanes == COLUMNS && l->lane == 1)                                                        \
      NAME##_lanes(l, COLUMNS, 1);                                                               \
    else if (lanes == ROWS)                                                                      \
      NAME##_lanes(l, ROWS, l->lane);                                                            \
    else if (lanes == 1)                                                                         \
      NAME##_lanes(l, 1, 0);                                                                     \
    else                                                                                         \
      NAME##_lanes(l, (int)lanes, l->lane);                                                      \
  }

/* NaN wins. */
#define GREATER (y > x || y != y ? y : x)
#define LESS (y < x || y != y ? y : x)

SCAN(add_f32, float, double, x + y)
SCAN(multiply_f32, float, double, x *y)
SCAN(maximum_f32, float, float, GREATER)
SCAN(minimum_f32, float, float, LESS)
SCAN(add_f64, double, double, x + y)
SCAN(multiply_f64, double, double, x *y)
SCAN(maximum_f64, double, double, GREATER)
SCAN(minimum_f64, double, double, LESS)
SCAN(add_4, uint32_t, uint32_t, x + y)
SCAN(multiply_4, uint32_t, uint32_t, x *y)
SCAN(maximum_s32, int32_t, int32_t, y > x ? y : x)
SCAN(minimum_s32, int32_t, int32_t, y < x ? y : x)
SCAN(add_8, uint64_t, uint64_t, x + y)
SCAN(multiply_8, uint64_t, uint64_t, x *y)
SCAN(maximum_s64, int64_t, int64_t, y > x ? y : x)
SCAN(minimum_s64, int64_t, int64_t, y < x ? y : x)

enum { ADD, MULTIPLY, MAXIMUM, MINIMUM, OPS };

static const scan_function functions[TT_DTYPE_COUNT][OPS] = {
    [TT_F32] = {add_f32, multiply_f32, maximum_f32, minimum_f32},
    [TT_F64] = {add_f64, multiply_f64, maximum_f64, minimum_f64},
    [TT_S32] = {add_4, multiply_4, maximum_s32, minimum_s32},
    [TT_U32] = {add_4, multiply_4, NULL, NULL},
    [TT_S64] = {add_8, multiply_8, maximum_s64, minimum_s64},
    [TT_U64] = {add_8, multiply_8, NULL, NULL},
};

static scan_function find_function(tt_hlo_code code, tt_dtype dtype) {
  static const tt_hlo_code codes[OPS] = {TT_HLO_ADD, TT_HLO_MULTIPLY, TT_HLO_MAXIMUM,
                                         TT_HLO_MINIMUM};
  for (int i = 0; i < OPS; i++)
    if (codes[i] == code)
      return functions[dtype][i];
  return NULL;
}

/* The one axis along which windows reach from its first element to each (forward), or from each to
 * its last; -1: another kind of window. */
static int32_t scanned_axis(const tt_cpu_window *w, bool *out_forward) {
  int32_t axis = -1;
  for (int32_t i = 0; i < w->rank; i++) {
    if (w->step[i] != 1 || w->base_dilation[i] != 1 || w->out[i] != w->dims[i])
      return -1;
    if (w->size[i] == 1 && w->low[i] == 0)
      continue;
    bool forward = w->low[i] >= w->dims[i] - 1 && w->size[i] == w->low[i] + 1;
    bool backward = w->low[i] == 0 && w->size[i] >= w->dims[i];
    if (axis >= 0 || w->dilation[i] != 1 || (!forward && !backward))
      return -1;
    axis = i;
    *out_forward = forward;
  }
  return axis;
}

typedef struct scan_job {
  scan_function function;
  const char *in;
  char *out;
  const void *init;
  int64_t dim, inner, rows, blocks; /* blocks: of columns in `inner`, or 1 */
  int64_t bytes;
  bool forward;
} scan_job;

static void scan_at(const scan_job *j, int64_t at, int64_t step, int64_t lane, int64_t lanes) {
  int64_t first = (at + (j->forward ? 0 : (j->dim - 1) * step)) * j->bytes;
  scan_lines l = {.in = j->in + first,
                  .out = j->out + first,
                  .count = j->dim,
                  .step = j->forward ? step : -step,
                  .lane = lane,
                  .init = j->init};
  j->function(&l, lanes);
}

/* Items are blocks of columns where there are columns, else groups of rows. */
static void scan_part(int64_t begin, int64_t end, void *user) {
  const scan_job *j = user;
  for (int64_t i = begin; i < end; i++)
    if (j->inner > 1) {
      int64_t column = i % j->blocks * COLUMNS, left = j->inner - column;
      scan_at(j, i / j->blocks * j->dim * j->inner + column, j->inner, 1,
              left < COLUMNS ? left : COLUMNS);
    } else {
      int64_t left = j->rows - i * ROWS;
      scan_at(j, i * ROWS * j->dim, 1, j->dim, left < ROWS ? left : ROWS);
    }
}

bool tt_cpu_scan_run(const tt_cpu_args *args, const tt_cpu_window *window, tt_hlo_code code) {
  tt_dtype dtype = args->op->results[0].type.dtype;
  scan_job j = {.function = find_function(code, dtype),
                .in = args->in[0],
                .out = args->out[0],
                .init = args->in[1],
                .inner = 1,
                .bytes = tt_dtype_bytes(dtype)};
  int32_t axis = scanned_axis(window, &j.forward);
  if (axis < 0 || j.function == NULL || args->op->operands[0]->type.dtype != dtype ||
      args->op->operands[1]->type.dtype != dtype)
    return false;
  j.dim = window->dims[axis];
  for (int32_t i = axis + 1; i < window->rank; i++)
    j.inner *= window->dims[i];
  j.rows = window->count / (j.dim * j.inner);
  j.blocks = (j.inner + COLUMNS - 1) / COLUMNS;
  int64_t items = j.inner > 1 ? j.rows * j.blocks : (j.rows + ROWS - 1) / ROWS;
  double each = (double)(window->count / items);
  tt_cpu_parallel(items, each, scan_part, &j);
  return true;
}
