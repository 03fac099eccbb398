/* rng_bit_generator, bit for bit as XLA has it.
 *
 * Philox 4x32-10: state {key, counter} or {key, counter, counter's high half}; with two words the
 * high half is the key. Four words a counter, in order. Threefry 2x32-20: state {key, counter}; two
 * words a counter. Narrow results are the low bits of a word each, wide ones two words.
 * Sources: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"; XLA's results. */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/rng.h"

typedef struct rng_job {
  uint64_t key, low, high; /* the counter's halves */
  int64_t count, bytes;
  char *out;
  int64_t outer, split, half, inner; /* threefry: see split_shape */
} rng_job;

void tt_cpu_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    uint64_t a = UINT64_C(0xD2511F53) * c0, b = UINT64_C(0xCD9E8D57) * c2;
    c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
    c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)b;
    c3 = (uint32_t)a;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

static uint32_t rotate(uint32_t x, int by) { return x << by | x >> (32 - by); }

static void threefry(uint64_t key, uint64_t counter, uint32_t out[2]) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0};
  uint32_t x = (uint32_t)counter + k[0], y = (uint32_t)(counter >> 32) + k[1];
  k[2] = k[0] ^ k[1] ^ 0x1BD11BDA;
  for (uint32_t i = 0; i < 5; i++) {
    for (int r = 0; r < 4; r++) {
      x += y;
      y = rotate(y, rotations[i & 1][r]) ^ x;
    }
    x += k[(i + 1) % 3];
    y += k[(i + 2) % 3] + i + 1;
  }
  out[0] = x;
  out[1] = y;
}

/* Element i of a result of at most 4 bytes is the low part of word i. */
static void store_word(const rng_job *j, int64_t i, uint32_t word) {
  memcpy(j->out + i * j->bytes, &word, (size_t)j->bytes);
}

static void philox_part(int64_t begin, int64_t end, void *user) {
  const rng_job *j = user;
  uint32_t key[2] = {(uint32_t)j->key, (uint32_t)(j->key >> 32)}, words[4];
  for (int64_t i = begin; i < end; i++) {
    uint64_t low = j->low + (uint64_t)i, high = j->high + (low < j->low);
    uint32_t counter[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                           (uint32_t)(high >> 32)};
    tt_cpu_philox(counter, key, words);
    for (int64_t k = 0; j->bytes == 8 && k < 2 && 2 * i + k < j->count; k++)
      memcpy(j->out + (2 * i + k) * 8, &words[2 * k], 8);
    for (int64_t k = 0; j->bytes < 8 && k < 4 && 4 * i + k < j->count; k++)
      store_word(j, 4 * i + k, words[k]);
  }
}

static void threefry_wide_part(int64_t begin, int64_t end, void *user) {
  const rng_job *j = user;
  uint32_t words[2];
  for (int64_t i = begin; i < end; i++) {
    threefry(j->key, j->low + (uint64_t)i, words);
    memcpy(j->out + i * 8, words, 8);
  }
}

/* Counters number the halves of the split axis: word w of counter [o, h, i] is element
 * [o, 2 h + w, i] of the result with the axis seen as [half, 2]; what that has too much is left. */
static void threefry_part(int64_t begin, int64_t end, void *user) {
  const rng_job *j = user;
  uint32_t words[2];
  for (int64_t n = begin; n < end; n++) {
    int64_t i = n % j->inner, h = n / j->inner % j->half, o = n / j->inner / j->half;
    threefry(j->key, j->low + (uint64_t)n, words);
    for (int64_t w = 0; w < 2 && 2 * h + w < j->split; w++)
      store_word(j, (o * j->split + 2 * h + w) * j->inner + i, words[w]);
  }
}

/* The first axis of even size, or else the longest. */
static void split_shape(rng_job *j, const tt_hlo_type *type) {
  int32_t axis = -1;
  j->outer = j->split = j->inner = 1;
  for (int32_t i = 0; i < type->rank && axis < 0; i++)
    axis = type->dims[i] % 2 == 0 ? i : -1;
  for (int32_t i = 0; i < type->rank && (axis < 0 || type->dims[axis] % 2 != 0); i++)
    axis = axis < 0 || type->dims[i] > type->dims[axis] ? i : axis;
  for (int32_t i = 0; i < type->rank; i++)
    *(i < axis ? &j->outer : i == axis ? &j->split : &j->inner) *= type->dims[i];
  j->half = (j->split + 1) / 2;
}

static void run_philox(rng_job *j, const uint64_t *state, uint64_t *next, int64_t words) {
  int64_t each = j->bytes == 8 ? 2 : 4, counters = (j->count + each - 1) / each;
  j->low = state[1];
  j->high = state[words == 3 ? 2 : 0];
  next[0] = state[0];
  next[1] = j->low + (uint64_t)counters;
  if (words == 3)
    next[2] = j->high + (next[1] < j->low);
  tt_cpu_parallel(counters, 10, philox_part, j);
}

static void run_threefry(rng_job *j, const uint64_t *state, uint64_t *next,
                         const tt_hlo_type *type) {
  split_shape(j, type);
  int64_t counters = j->bytes == 8 ? j->count : j->outer * j->half * j->inner;
  j->low = state[1];
  next[0] = state[0];
  next[1] = j->low + (uint64_t)counters;
  tt_cpu_parallel(counters, 12, j->bytes == 8 ? threefry_wide_part : threefry_part, j);
}

tt_error *tt_cpu_check_rng(const tt_hlo_op *op) {
  const tt_hlo_type *state = &op->operands[0]->type, *bits = &op->results[1].type;
  if (state->dims[0] != 2 && state->dims[0] != 3)
    return tt_error_new(TT_UNIMPLEMENTED,
                        "stablehlo.rng_bit_generator is not implemented for a state of %lld words",
                        (long long)state->dims[0]);
  if (tt_dtypes[bits->dtype].bits < 8 || tt_dtype_is_float(bits->dtype))
    return tt_error_new(TT_UNIMPLEMENTED, "stablehlo.rng_bit_generator is not implemented for %s",
                        tt_dtype_name(bits->dtype));
  return NULL;
}

tt_error *tt_cpu_kernel_rng_bits(const tt_cpu_args *args) {
  const tt_hlo_type *type = &args->op->results[1].type;
  int64_t words = args->op->operands[0]->type.dims[0];
  int64_t algorithm = tt_cpu_attr_i64(args->op, TT_HLO_RNG_ALGORITHM, 0);
  uint64_t state[3] = {0}, next[3] = {0};
  memcpy(state, args->in[0], (size_t)words * 8);
  rng_job j = {.key = state[0],
               .count = tt_cpu_count(type),
               .bytes = tt_dtype_bytes(type->dtype),
               .out = args->out[1]};
  if (algorithm == TT_HLO_RNG_THREE_FRY)
    run_threefry(&j, state, next, type);
  else
    run_philox(&j, state, next, words);
  memcpy(args->out[0], next, (size_t)words * 8);
  return NULL;
}
