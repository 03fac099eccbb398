/* storage.h: the bytes behind tensors.
 *
 * A storage holds `size` bytes as a PJRT buffer of some dtype and dims, row-major, or no buffer
 * yet: then its content is unspecified (it reads as zeros). Tensors are views of it: dtype, sizes,
 * strides, offset. */
#ifndef TT_RUNTIME_STORAGE_H
#define TT_RUNTIME_STORAGE_H

#include "runtime/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_rt_storage tt_rt_storage;

/* A tensor as PyTorch describes it. The arrays are borrowed; strides and offset count elements. */
typedef struct tt_rt_tensor {
  tt_rt_storage *storage;
  tt_dtype dtype;
  int32_t rank;
  const int64_t *sizes, *strides;
  int64_t offset;
} tt_rt_tensor;

TT_NODISCARD tt_error *tt_rt_storage_new(tt_rt_device *device, int64_t size,
                                         tt_rt_storage **out_storage);
void tt_rt_storage_retain(tt_rt_storage *storage);
void tt_rt_storage_release(tt_rt_storage *storage); /* NULL is allowed */
int64_t tt_rt_storage_size(const tt_rt_storage *storage);
/* Keeps the first bytes; new ones are unspecified. Size 0 gives the memory back. */
TT_NODISCARD tt_error *tt_rt_storage_resize(tt_rt_storage *storage, int64_t size);
tt_rt_device *tt_rt_storage_device(const tt_rt_storage *storage);
/* Whether its content is there or failed; waiting for it would not block. */
bool tt_rt_storage_ready(tt_rt_storage *storage);
/* Waits for the content; the error of the work that should have made it, naming the op. */
TT_NODISCARD tt_error *tt_rt_storage_await(tt_rt_storage *storage);

/* Whether sizes and strides fill a block without holes or overlap, in any order of the axes. */
bool tt_rt_dense(const int64_t *sizes, const int64_t *strides, int32_t rank);
/* Replaces the whole content by `data`, which is row-major with these dims and fills the storage.
 */
TT_NODISCARD tt_error *tt_rt_storage_upload(tt_rt_storage *storage, tt_dtype dtype,
                                            const int64_t *dims, size_t rank, const void *data);
/* Copies the whole content, `size` bytes, to `data`, and waits. */
TT_NODISCARD tt_error *tt_rt_storage_download(tt_rt_storage *storage, void *data, int64_t size);
/* A new storage with a copy of the content on `device`, which may be another one. */
TT_NODISCARD tt_error *tt_rt_storage_copy(tt_rt_storage *storage, tt_rt_device *device,
                                          tt_rt_storage **out_storage);

#ifdef __cplusplus
}
#endif

#endif /* TT_RUNTIME_STORAGE_H */
