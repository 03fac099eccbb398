/* rng: uniform and normal numbers, from Philox.
 *
 * The key is the number of the draw in its run, so that a run gives the same numbers each time it
 * is made, but no two draws of it do, also not those of two iterations of a loop. */
#include <math.h>

#include "cpu/kernels.h"
#include "cpu/kernels/rng.h"

typedef struct draw_job {
  const tt_hlo_type *type;
  void *out;
  uint64_t key;
  bool normal;
  double a, b;    /* floats: the interval, or mean and deviation */
  int64_t first;  /* integers */
  uint64_t range; /* at least 1 */
} draw_job;

/* In [0, 1), of 53 bits. */
static double unit(uint64_t bits) { return (double)(bits >> 11) * 0x1p-53; }

/* Box-Muller; 1 - u is never 0. */
static double normal(uint64_t x, uint64_t y) {
  return sqrt(-2 * log(1 - unit(x))) * cos(6.283185307179586 * unit(y));
}

/* Rounding to the result's type may give the end of the interval, which is not in it. */
static double below(const draw_job *j, double value) {
  _Alignas(16) char stored[16];
  tt_cpu_store(j->type->dtype, stored, 0, value, 0);
  return tt_cpu_load(j->type->dtype, stored, 0, NULL) < j->b || j->a >= j->b ? value : j->a;
}

static void store_float(const draw_job *j, int64_t i, uint64_t x, uint64_t y) {
  double value = j->normal ? j->a + j->b * normal(x, y) : below(j, j->a + unit(x) * (j->b - j->a));
  tt_cpu_store(j->type->dtype, j->out, i, value, 0);
}

/* The high half of the product. */
static uint64_t multiply_high(uint64_t x, uint64_t y) {
  uint64_t low = (x & UINT32_MAX) * (y & UINT32_MAX), middle = (x >> 32) * (y & UINT32_MAX);
  uint64_t other = (x & UINT32_MAX) * (y >> 32) + (middle & UINT32_MAX) + (low >> 32);
  return (x >> 32) * (y >> 32) + (middle >> 32) + (other >> 32);
}

/* Biased by range / 2^64 at most. */
static void store_int(const draw_job *j, int64_t i, uint64_t x) {
  uint64_t at = multiply_high(x, j->range);
  tt_cpu_store_int(j->type->dtype, j->out, i, (int64_t)((uint64_t)j->first + at));
}

static void draw_part(int64_t begin, int64_t end, void *user) {
  const draw_job *j = user;
  uint32_t key[2] = {(uint32_t)j->key, (uint32_t)(j->key >> 32)}, words[4];
  bool floats = tt_dtype_is_float(j->type->dtype);
  for (int64_t i = begin; i < end; i++) {
    uint32_t counter[4] = {(uint32_t)i, (uint32_t)((uint64_t)i >> 32), 0, 0};
    tt_cpu_philox(counter, key, words);
    uint64_t x = words[0] | (uint64_t)words[1] << 32, y = words[2] | (uint64_t)words[3] << 32;
    if (floats)
      store_float(j, i, x, y);
    else
      store_int(j, i, x);
  }
}

/* [a, b); what is empty gives a. i1 is a number of one bit. */
static void set_range(draw_job *j, const tt_cpu_args *args) {
  tt_dtype dtype = j->type->dtype;
  int64_t first = tt_cpu_load_int(dtype, args->in[0], 0),
          end = tt_cpu_load_int(dtype, args->in[1], 0);
  bool empty = tt_dtype_is_signed(dtype) ? first >= end : (uint64_t)first >= (uint64_t)end;
  j->first = first;
  j->range = empty ? 1 : (uint64_t)end - (uint64_t)first;
}

tt_error *tt_cpu_kernel_rng(const tt_cpu_args *args) {
  const tt_hlo_type *type = &args->op->results[0].type;
  draw_job j = {.type = type, .out = args->out[0], .key = tt_cpu_draw(args->run)};
  j.normal = tt_cpu_attr_i64(args->op, TT_HLO_RNG_DISTRIBUTION, 0) == TT_HLO_NORMAL;
  if (tt_dtype_is_float(type->dtype)) {
    j.a = tt_cpu_load(type->dtype, args->in[0], 0, NULL);
    j.b = tt_cpu_load(type->dtype, args->in[1], 0, NULL);
  } else {
    set_range(&j, args);
  }
  tt_cpu_parallel(tt_cpu_count(type), 40, draw_part, &j);
  return NULL;
}
