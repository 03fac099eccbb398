/* emit_loops.h: the loops that bench/emit.c compares with, for gcc to make vectors of. */
#ifndef BENCH_EMIT_LOOPS_H
#define BENCH_EMIT_LOOPS_H

#include <stdint.h>

/* in, out: as the tile program has them. */
typedef void (*bench_loop)(const float *const *in, float *const *out, int64_t count,
                           int64_t columns);

typedef struct bench_loops {
  bench_loop add_multiply, gelu, exp_less_max, scale, layer_norm, adamw;
} bench_loops;
extern const bench_loops bench_loops_256, bench_loops_512;

#endif /* BENCH_EMIT_LOOPS_H */
