/* types.c: element types, array types, layouts, and copies between layouts. */
#include <string.h>

#include "base/checked.h"
#include "cpu/plugin/internal.h"

/* PJRT has no type for these: they live inside of programs only. */
#define PJRT_Buffer_Type_F6E2M3FN PJRT_Buffer_Type_INVALID
#define PJRT_Buffer_Type_F6E3M2FN PJRT_Buffer_Type_INVALID

static const PJRT_Buffer_Type types[TT_DTYPE_COUNT] = {
#define X(id, mlir, bits, kind) [TT_##id] = PJRT_Buffer_Type_##id,
#include "base/dtypes.def"
#undef X
};

PJRT_Buffer_Type tt_cpu_type_of(const tt_hlo_type *type) {
  return type->token ? PJRT_Buffer_Type_TOKEN : types[type->dtype];
}

tt_error *tt_cpu_dtype_of(PJRT_Buffer_Type type, tt_hlo_type *out_type) {
  *out_type = (tt_hlo_type){.token = type == PJRT_Buffer_Type_TOKEN};
  if (out_type->token)
    return NULL;
  for (int dtype = 0; dtype < TT_DTYPE_COUNT; dtype++)
    if (types[dtype] == type && type != PJRT_Buffer_Type_INVALID) {
      out_type->dtype = (tt_dtype)dtype;
      return NULL;
    }
  return tt_error_new(TT_UNIMPLEMENTED, "PJRT_Buffer_Type %d is not one of StableHLO's", (int)type);
}

tt_error *tt_cpu_array_type(PJRT_Buffer_Type type, const int64_t *dims, size_t rank,
                            tt_hlo_type *out_type, int64_t *out_size) {
  *out_size = 0;
  TT_RETURN_IF_ERROR(tt_cpu_dtype_of(type, out_type));
  if (rank > TT_HLO_RANK_MAX)
    return tt_error_new(TT_INVALID_ARGUMENT, "an array of rank %zu: at most %d are possible", rank,
                        TT_HLO_RANK_MAX);
  if (rank > 0)
    TT_CPU_GIVEN(dims);
  out_type->rank = (int32_t)rank;
  out_type->dims = dims;
  if (!tt_dims_count(dims, rank, out_size) ||
      !tt_mul_i64(*out_size, tt_dtype_bytes(out_type->dtype), out_size))
    return tt_error_new(TT_INVALID_ARGUMENT, "the array's dims are negative or too large");
  if (out_type->token)
    *out_size = 0;
  return NULL;
}

const int64_t *tt_cpu_row_major(size_t rank) {
  static const int64_t descending[TT_HLO_RANK_MAX] = {
      63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42,
      41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20,
      19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0};
  return descending + (TT_HLO_RANK_MAX - rank);
}

void tt_cpu_byte_strides(const tt_hlo_type *type, int64_t *out_strides) {
  int64_t stride = tt_dtype_bytes(type->dtype);
  for (int32_t i = type->rank - 1; i >= 0; i--) {
    out_strides[i] = stride;
    stride *= type->dims[i];
  }
}

tt_error *tt_cpu_layout_check(const PJRT_Buffer_MemoryLayout *layout, const tt_hlo_type *type) {
  size_t rank = (size_t)type->rank;
  int64_t strides[TT_HLO_RANK_MAX];
  bool same = layout == NULL;
  if (!same && layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled) {
    const PJRT_Buffer_MemoryLayout_Tiled *t = &layout->tiled;
    same = t->num_tiles == 0 && t->minor_to_major_size == rank &&
           (rank == 0 ||
            memcmp(t->minor_to_major, tt_cpu_row_major(rank), rank * sizeof *strides) == 0);
  } else if (!same && layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    const PJRT_Buffer_MemoryLayout_Strides *s = &layout->strides;
    tt_cpu_byte_strides(type, strides);
    same = s->num_byte_strides == rank &&
           (rank == 0 || memcmp(s->byte_strides, strides, rank * sizeof *strides) == 0);
  }
  return same ? NULL
              : tt_error_new(TT_UNIMPLEMENTED,
                             "a layout on the device that is not dense and row-major");
}

/* ---- copies ---- */

/* One axis. Its elements often have a power of two of bytes. */
static void copy_axis(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                      int64_t count, size_t bytes) {
#define CASE(size)                                              \
  case size:                                                    \
    for (int64_t i = 0; i < count; i++)                         \
      memcpy(dst + i * dst_stride, src + i * src_stride, size); \
    return;
  switch (bytes) {
    CASE(1)
    CASE(2)
    CASE(4)
    CASE(8)
    CASE(16)
    default:
      for (int64_t i = 0; i < count; i++)
        memcpy(dst + i * dst_stride, src + i * src_stride, bytes);
  }
#undef CASE
}

/* Takes the inner axes that are dense on both sides into the element; returns the axes left. */
static size_t merge_inner(const int64_t *dst_strides, const int64_t *src_strides,
                          const int64_t *dims, size_t rank, size_t *bytes) {
  while (rank > 0 && (dims[rank - 1] == 1 || (dst_strides[rank - 1] == (int64_t)*bytes &&
                                              src_strides[rank - 1] == (int64_t)*bytes))) {
    *bytes *= (size_t)dims[rank - 1];
    rank--;
  }
  return rank;
}

void tt_cpu_copy_strided(char *dst, const int64_t *dst_strides, const char *src,
                         const int64_t *src_strides, const int64_t *dims, size_t rank,
                         size_t bytes) {
  int64_t at[TT_HLO_RANK_MAX] = {0};
  for (size_t i = 0; i < rank; i++)
    if (dims[i] == 0)
      return;
  rank = merge_inner(dst_strides, src_strides, dims, rank, &bytes);
  if (rank == 0) {
    memcpy(dst, src, bytes);
    return;
  }
  size_t inner = rank - 1;
  for (;;) {
    copy_axis(dst, dst_strides[inner], src, src_strides[inner], dims[inner], bytes);
    size_t axis = inner;
    while (axis > 0) {
      axis--;
      dst += dst_strides[axis];
      src += src_strides[axis];
      if (++at[axis] < dims[axis])
        break;
      dst -= dst_strides[axis] * dims[axis];
      src -= src_strides[axis] * dims[axis];
      at[axis] = 0;
      if (axis == 0)
        return;
    }
    if (inner == 0)
      return;
  }
}

/* ---- bytes for the caller ---- */

tt_error *tt_cpu_handout_take(tt_bytes *bytes, const char **out_data, size_t *out_size,
                              void **out_handle) {
  tt_error *err = tt_bytes_status(bytes);
  if (err == NULL && bytes->data == NULL) /* the handle may not be NULL, however few bytes */
    tt_bytes_text(bytes, "");
  if (err != NULL) {
    tt_bytes_free(bytes);
    return err;
  }
  *out_data = bytes->data;
  *out_size = bytes->size;
  *out_handle = bytes->data;
  return NULL;
}
