/* Which loop, for which processor; which way from one dtype to another. */
#pragma GCC optimize("O3")
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/kernel.h"
#include "cpu/tile/tile.h"

/* ---- which instruction set ---- */

static tt_cpu_isa isa_of_processor(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("f16c"))
    return TT_CPU_ISA_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c"))
    return TT_CPU_ISA_AVX2;
#endif
  return TT_CPU_ISA_BASE;
}

/* TT_CPU_ISA_COUNT: the name is of none. */
static tt_cpu_isa isa_allowed(void) {
  static const char *const names[TT_CPU_ISA_COUNT] = {"base", "avx2", "avx512"};
  const char *text = getenv("TT_CPU_ISA");
  int isa = 0;
  if (text == NULL || text[0] == '\0')
    return TT_CPU_ISA_COUNT - 1;
  while (isa < TT_CPU_ISA_COUNT && strcmp(text, names[isa]) != 0)
    isa++;
  return (tt_cpu_isa)isa;
}

tt_error *tt_cpu_isa_check(void) {
  if (isa_allowed() == TT_CPU_ISA_COUNT)
    return tt_error_new(TT_INVALID_ARGUMENT, "TT_CPU_ISA=%s: expected base, avx2 or avx512",
                        getenv("TT_CPU_ISA"));
  return NULL;
}

tt_cpu_isa tt_cpu_isa_best(void) {
  static atomic_int found = -1;
  int isa = atomic_load_explicit(&found, memory_order_relaxed);
  if (isa >= 0)
    return (tt_cpu_isa)isa;
  tt_cpu_isa has = isa_of_processor(), allowed = isa_allowed();
  isa = (int)(allowed < has ? allowed : has);
  atomic_store_explicit(&found, isa, memory_order_relaxed);
  return (tt_cpu_isa)isa;
}

/* ---- loops ---- */

static const tt_cpu_loop_table *best_table(void) {
#if defined(__x86_64__)
  switch (tt_cpu_isa_best()) {
    case TT_CPU_ISA_AVX512:
      return &tt_cpu_loops_avx512;
    case TT_CPU_ISA_AVX2:
      return &tt_cpu_loops_avx2;
    default:
      break;
  }
#endif
  return &tt_cpu_loops_base;
}

tt_cpu_loop tt_cpu_loop_find(tt_hlo_code code, tt_dtype dtype) {
  tt_cpu_loop loop = best_table()->ops[code][dtype];
  return loop != NULL ? loop : tt_cpu_loops_slow.ops[code][dtype];
}

tt_dtype tt_cpu_compute_dtype(tt_hlo_code code, tt_dtype dtype) {
  if (code == TT_HLO_SELECT || code == TT_HLO_CHLO_NEXT_AFTER)
    return dtype;
  bool counts_bits = code == TT_HLO_POPCNT || code == TT_HLO_COUNT_LEADING_ZEROS ||
                     code == TT_HLO_SHIFT_RIGHT_LOGICAL;
  bool narrow = dtype != TT_PRED && tt_dtype_is_integer(dtype) && tt_dtypes[dtype].bits < 8;
  /* The highest bit of an unsigned one is the sign. */
  bool shifts_sign = code == TT_HLO_SHIFT_RIGHT_ARITHMETIC && tt_dtype_is_unsigned(dtype);
  if (narrow && (counts_bits || shifts_sign))
    return dtype;
  if (narrow)
    return tt_dtype_is_signed(dtype) ? TT_S8 : TT_U8;
  return tt_dtype_is_float(dtype) && tt_dtypes[dtype].bits <= 16 ? TT_F32 : dtype;
}

/* ---- conversions ---- */

static tt_cpu_loop find_convert(tt_dtype from, tt_dtype to) {
  tt_cpu_loop loop = best_table()->converts[from][to];
  return loop != NULL ? loop : tt_cpu_loops_slow.converts[from][to];
}

/* Where to go from `from` when no loop leads to `to`. No way rounds twice: integers reach narrow
 * floats through s64, floats reach them and integers through f64. */
static tt_dtype next_hop(tt_dtype from, tt_dtype to) {
  if (tt_dtype_is_complex(from))
    return tt_dtype_real(from);
  if (tt_dtype_is_float(from))
    return from == TT_F32 ? TT_F64 : TT_F32;
  if (tt_dtype_is_complex(to))
    return to == TT_C64 || from == TT_PRED    ? TT_F32
           : from == TT_S64 || from == TT_U64 ? TT_F64
                                              : TT_S64;
  if (from == TT_PRED)
    return tt_dtype_is_float(to) ? TT_F32 : TT_S64;
  if (from == TT_U64 && tt_dtype_is_float(to))
    return TT_F64;
  return TT_S64;
}

int tt_cpu_convert_path(tt_dtype from, tt_dtype to, tt_cpu_loop loops[3], tt_dtype via[3]) {
  int count = 0;
  while (from != to) {
    tt_dtype hop = find_convert(from, to) != NULL ? to : next_hop(from, to);
    if (count == 3 || hop == from || find_convert(from, hop) == NULL)
      return 0;
    loops[count] = find_convert(from, hop);
    via[count++] = hop;
    from = hop;
  }
  return count;
}

void tt_cpu_convert(tt_dtype from, const void *in, tt_dtype to, void *out, int64_t count) {
  enum { PART = 256 };
  _Alignas(64) char buffers[2][PART * 16];
  tt_cpu_loop loops[3];
  tt_dtype via[3];
  int steps = tt_cpu_convert_path(from, to, loops, via);
  if (steps == 0) {
    memcpy(out, in, (size_t)(count * tt_dtype_bytes(from)));
    return;
  }
  for (int64_t at = 0; at < count; at += PART) {
    int64_t part = count - at < PART ? count - at : PART;
    const void *now = (const char *)in + at * tt_dtype_bytes(from);
    for (int i = 0; i < steps; i++) {
      void *next = i + 1 == steps ? (char *)out + at * tt_dtype_bytes(to) : buffers[i & 1];
      tt_cpu_loop_args args = {part, next, {now, now, now}, NULL};
      loops[i](&args);
      now = next;
    }
  }
}

/* ---- fill ---- */

#define FILL(name, T)                                          \
  static void name(void *out, const void *in, int64_t count) { \
    T value, *to = out;                                        \
    memcpy(&value, in, sizeof value);                          \
    for (int64_t i = 0; i < count; i++)                        \
      to[i] = value;                                           \
  }
FILL(fill_2, uint16_t)
FILL(fill_4, uint32_t)
FILL(fill_8, uint64_t)

void tt_cpu_fill(void *out, const void *in, int64_t count, int bytes) {
  char element[16];
  switch (bytes) {
    case 1:
      memset(out, *(const char *)in, (size_t)count);
      break;
    case 2:
      fill_2(out, in, count);
      break;
    case 4:
      fill_4(out, in, count);
      break;
    case 8:
      fill_8(out, in, count);
      break;
    default:
      memcpy(element, in, (size_t)bytes); /* it may be where `out` is */
      for (int64_t i = 0; i < count; i++)
        memcpy((char *)out + i * bytes, element, (size_t)bytes);
  }
}
