#pragma GCC optimize("O3")
#include "cpu/kernels/indices.h"

#include <string.h>

/* offsets[i] += number * stride, or -1 for good. `outside`: the number is below 0 or above most. */
static inline int64_t place(int64_t offset, uint64_t number, bool negative, uint64_t most,
                            int64_t stride, bool clamp) {
  bool outside = number > most;
  if (clamp)
    return offset + (int64_t)(!outside ? number : negative ? 0 : most) * stride;
  return outside || offset < 0 ? -1 : offset + (int64_t)number * stride;
}

#define ADD_NUMBERS(T, NEGATIVE)                                                              \
  for (int64_t i = 0; i < count; i++) {                                                       \
    T number = ((const T *)data)[at + i * at_step];                                           \
    offsets[i] = place(offsets[i], (uint64_t)(int64_t)number, NEGATIVE, most, stride, clamp); \
  }

static inline void add_numbers(tt_dtype dtype, const void *data, int64_t at, int64_t at_step,
                               int64_t count, uint64_t most, int64_t stride, bool clamp,
                               int64_t *offsets) {
  switch (dtype) {
    case TT_S32:
      ADD_NUMBERS(int32_t, number < 0)
      break;
    case TT_S64:
      ADD_NUMBERS(int64_t, number < 0)
      break;
    default: {
      bool is_signed = tt_dtype_is_signed(dtype);
      for (int64_t i = 0; i < count; i++) {
        int64_t number = tt_cpu_load_int(dtype, data, at + i * at_step);
        offsets[i] =
            place(offsets[i], (uint64_t)number, is_signed && number < 0, most, stride, clamp);
      }
    }
  }
}

void tt_cpu_indices_offsets(const tt_cpu_indices *indices, int64_t at, int64_t at_step,
                            int64_t count, int64_t *out_offsets) {
  memset(out_offsets, 0, (size_t)count * sizeof *out_offsets);
  for (int32_t k = 0; k < indices->count; k++) {
    int64_t first = at + k * indices->step;
    uint64_t most = (uint64_t)indices->most[k];
    if (indices->clamp) /* two calls, so that each is compiled for what it is given */
      add_numbers(indices->dtype, indices->data, first, at_step, count, most, indices->stride[k],
                  true, out_offsets);
    else
      add_numbers(indices->dtype, indices->data, first, at_step, count, most, indices->stride[k],
                  false, out_offsets);
  }
}

static bool side_by_side(const tt_cpu_index_axes *axes, int32_t outer, int32_t inner) {
  for (int a = 0; a < TT_CPU_INDICES_ARRAYS; a++)
    if (axes->strides[a][outer] != axes->strides[a][inner] * axes->dims[inner])
      return false;
  return true;
}

void tt_cpu_index_axes_join(tt_cpu_index_axes *axes) {
  int32_t rank = 0; /* of what is done; its last axis is rank - 1 */
  for (int32_t k = 0; k < axes->rank; k++) {
    int64_t dim = axes->dims[k];
    if (dim == 1)
      continue;
    bool join = rank > 0 && side_by_side(axes, rank - 1, k);
    int32_t to = join ? rank - 1 : rank++;
    axes->dims[to] = join ? axes->dims[to] * dim : dim;
    for (int a = 0; a < TT_CPU_INDICES_ARRAYS; a++)
      axes->strides[a][to] = axes->strides[a][k];
  }
  if (rank == 0) {
    axes->dims[0] = 1;
    for (int a = 0; a < TT_CPU_INDICES_ARRAYS; a++)
      axes->strides[a][0] = 0;
  }
  axes->rank = rank == 0 ? 1 : rank;
}

int64_t tt_cpu_index_axes_at(const tt_cpu_index_axes *axes, int64_t i, int64_t *out_at) {
  int64_t left = 1;
  memset(out_at, 0, TT_CPU_INDICES_ARRAYS * sizeof *out_at);
  for (int32_t k = axes->rank; k-- > 0;) {
    int64_t at = i % axes->dims[k];
    i /= axes->dims[k];
    left = k == axes->rank - 1 ? axes->dims[k] - at : left;
    for (int a = 0; a < TT_CPU_INDICES_ARRAYS; a++)
      out_at[a] += at * axes->strides[a][k];
  }
  return left;
}
