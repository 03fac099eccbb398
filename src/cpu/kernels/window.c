#include "cpu/kernels/window.h"

static void read_list(const tt_hlo_op *op, tt_hlo_attr_name name, int32_t rank, int64_t *out) {
  tt_hlo_list list = tt_cpu_attr_list(op, name);
  for (int32_t i = 0; i < rank; i++)
    out[i] = list.count == (size_t)rank ? list.items[i] : 1;
}

void tt_cpu_window_read(const tt_hlo_op *op, const tt_hlo_type *operand, const tt_hlo_type *places,
                        tt_cpu_window *w) {
  tt_hlo_list padding = tt_cpu_attr_list(op, TT_HLO_PADDING);
  w->rank = operand->rank;
  w->count = tt_cpu_count(places);
  w->size_count = 1;
  read_list(op, TT_HLO_WINDOW_DIMENSIONS, w->rank, w->size);
  read_list(op, TT_HLO_WINDOW_STRIDES, w->rank, w->step);
  read_list(op, TT_HLO_BASE_DILATIONS, w->rank, w->base_dilation);
  read_list(op, TT_HLO_WINDOW_DILATIONS, w->rank, w->dilation);
  tt_cpu_strides(operand, w->strides);
  for (int32_t i = 0; i < w->rank; i++) {
    w->dims[i] = operand->dims[i];
    w->out[i] = places->dims[i];
    w->low[i] = padding.count == 0 ? 0 : padding.items[2 * i];
    w->high[i] = padding.count == 0 ? 0 : padding.items[2 * i + 1];
    /* A window has far fewer elements than that where it has places, or is all padding. */
    if (__builtin_mul_overflow(w->size_count, w->size[i], &w->size_count))
      w->size_count = INT64_MAX;
  }
}

int64_t tt_cpu_window_element(const tt_cpu_window *w, const int64_t *place, int64_t k) {
  int64_t at = 0;
  for (int32_t i = w->rank; i-- > 0; k /= w->size[i]) {
    int64_t index = tt_cpu_window_at(w, i, place[i], k % w->size[i]);
    if (index < 0)
      return -1;
    at += index * w->strides[i];
  }
  return at;
}

void tt_cpu_window_place(const tt_cpu_window *w, int64_t i, int64_t *out_place) {
  for (int32_t k = w->rank; k-- > 0; i /= w->out[k])
    out_place[k] = i % w->out[k];
}
