/* sort_key.h: elements as unsigned numbers that lie in the same order, and stable sorts of those.
 */
#ifndef TT_CPU_KERNELS_SORT_KEY_H
#define TT_CPU_KERNELS_SORT_KEY_H

#include "cpu/kernel.h"

typedef struct tt_cpu_sort_item {
  uint64_t key;
  uint64_t index;
} tt_cpu_sort_item;

/* The same for few dtypes and lines that are not too long. */
typedef struct tt_cpu_sort_narrow {
  uint32_t key, index;
} tt_cpu_sort_narrow;
bool tt_cpu_sort_narrow_takes(tt_dtype dtype, int64_t count);

/* How an operand's elements become keys. Floats are in total order, but that all zeros and all NaNs
 * may stand for one value each. */
typedef struct tt_cpu_sort_key {
  uint32_t operand;
  bool descending, join_zeros, join_nans;
  double zero, nan; /* what they are when joined; the sign counts */
} tt_cpu_sort_key;

/* Complex numbers have no order. */
bool tt_cpu_sort_key_takes(tt_dtype dtype);
/* items[i].key from element items[i].index * stride. */
void tt_cpu_sort_keys(const tt_cpu_sort_key *key, tt_dtype dtype, const void *data, int64_t stride,
                      tt_cpu_sort_item *items, int64_t count);
void tt_cpu_sort_keys_narrow(const tt_cpu_sort_key *key, tt_dtype dtype, const void *data,
                             int64_t stride, tt_cpu_sort_narrow *items, int64_t count);
/* By key, stable. `spare` has room for `count`; the result is in one of the two, which is
 * returned. */
tt_cpu_sort_item *tt_cpu_sort_items(tt_cpu_sort_item *items, tt_cpu_sort_item *spare,
                                    int64_t count);
tt_cpu_sort_narrow *tt_cpu_sort_items_narrow(tt_cpu_sort_narrow *items, tt_cpu_sort_narrow *spare,
                                             int64_t count);
/* All of that, indices too, for one long line on all threads. */
tt_cpu_sort_item *tt_cpu_sort_long(const tt_cpu_sort_key *key, tt_dtype dtype, const void *data,
                                   int64_t stride, tt_cpu_sort_item *items, tt_cpu_sort_item *spare,
                                   int64_t count);
tt_cpu_sort_narrow *tt_cpu_sort_long_narrow(const tt_cpu_sort_key *key, tt_dtype dtype,
                                            const void *data, int64_t stride,
                                            tt_cpu_sort_narrow *items, tt_cpu_sort_narrow *spare,
                                            int64_t count);
/* The comparator of a sort as keys, the first the most significant; 0 when it is none that is
 * known. */
uint32_t tt_cpu_sort_read(const tt_hlo_region *region, tt_cpu_sort_key *out_keys, uint32_t most);
/* The same of comparisons of one operand under any logic: a < b, or b is NaN and a is not. */
bool tt_cpu_sort_read_order(const tt_hlo_region *region, tt_cpu_sort_key *out_key);

#endif /* TT_CPU_KERNELS_SORT_KEY_H */
