/* by_size.h: loops that move elements whose size alone matters, one for each size. */
#ifndef TT_CPU_KERNELS_BY_SIZE_H
#define TT_CPU_KERNELS_BY_SIZE_H

#include <stdint.h>

/* An element of 16 bytes. */
typedef struct tt_cpu_pair {
  uint64_t low, high;
} tt_cpu_pair;

/* LOOP(T) with a type of `bytes`: 1, 2, 4, 8 or 16. */
#define TT_CPU_BY_SIZE(bytes, LOOP) \
  switch (bytes) {                  \
    case 1:                         \
      LOOP(uint8_t);                \
      break;                        \
    case 2:                         \
      LOOP(uint16_t);               \
      break;                        \
    case 4:                         \
      LOOP(uint32_t);               \
      break;                        \
    case 8:                         \
      LOOP(uint64_t);               \
      break;                        \
    default:                        \
      LOOP(tt_cpu_pair);            \
      break;                        \
  }

#endif /* TT_CPU_KERNELS_BY_SIZE_H */
