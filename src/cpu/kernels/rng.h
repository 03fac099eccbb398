/* rng.h: the block cipher behind random numbers. */
#ifndef TT_CPU_KERNELS_RNG_H
#define TT_CPU_KERNELS_RNG_H

#include <stdint.h>

/* Philox 4x32-10. */
void tt_cpu_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif /* TT_CPU_KERNELS_RNG_H */
