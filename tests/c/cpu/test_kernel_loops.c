/* Loops of every instruction set that this processor has against libm, and against each other. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "cpu/kernels/special.h"
#include "cpu/tile/tile.h"
#include "test.h"

enum { COUNT = 4099, TABLES = 3 }; /* no multiple of a vector */

static size_t read_tables(const tt_cpu_loop_table **tables) {
  size_t count = 0;
  tables[count++] = &tt_cpu_loops_base;
#if defined(__x86_64__)
  if (tt_cpu_isa_best() >= TT_CPU_ISA_AVX2)
    tables[count++] = &tt_cpu_loops_avx2;
  if (tt_cpu_isa_best() >= TT_CPU_ISA_AVX512)
    tables[count++] = &tt_cpu_loops_avx512;
#endif
  return count;
}

static uint64_t random_word(uint64_t i) { return tt_hash64(&i, sizeof i, 1); }

/* In turn: any pattern; (-100, 100); (-2, 2). */
static float random_float(uint64_t i) {
  uint64_t word = random_word(i);
  uint32_t pattern = (uint32_t)word;
  float value;
  memcpy(&value, &pattern, sizeof value);
  float unit = (float)((double)(word >> 32) / 4294967296.0) * 2 - 1;
  return i % 3 == 0 ? value : unit * (i % 3 == 1 ? 100 : 2);
}

typedef struct math_row {
  tt_hlo_code code;
  double (*exact)(double);
  double ulps;
} math_row;

static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double rsqrt(double x) { return 1 / sqrt(x); }

static const math_row rows[] = {
    {TT_HLO_EXPONENTIAL, exp, 1.5},
    {TT_HLO_EXPONENTIAL_MINUS_ONE, expm1, 2},
    {TT_HLO_LOG, log, 1.5},
    {TT_HLO_LOG_PLUS_ONE, log1p, 2.5},
    {TT_HLO_TANH, tanh, 2},
    {TT_HLO_LOGISTIC, logistic, 2.5},
    {TT_HLO_SINE, sin, 2},
    {TT_HLO_COSINE, cos, 2},
    {TT_HLO_CHLO_ERF, erf, 2},
    {TT_HLO_SQRT, sqrt, 0.51},
    {TT_HLO_RSQRT, rsqrt, 1.51},
    {TT_HLO_CHLO_ERFC, erfc, 0.8},
    {TT_HLO_CHLO_ERF_INV, tt_cpu_erf_inv, 0.8},
};

/* In units of the last place of f32 at `want`. */
static double distance(float got, double want) {
  float nearest = (float)want;
  if (got == nearest || (got != got && nearest != nearest))
    return 0;
  double unit = (double)(nextafterf(fabsf(nearest), INFINITY) - fabsf(nearest));
  return isfinite(unit) ? fabs((double)got - want) / unit : INFINITY;
}

TEST_WITHOUT_TORTURE(cpu_kernel, math_is_accurate) {
  const tt_cpu_loop_table *tables[TABLES];
  size_t tables_count = read_tables(tables);
  static float x[COUNT], y[COUNT];
  for (size_t t = 0; t < tables_count; t++)
    for (size_t r = 0; r < TT_COUNT(rows); r++)
      for (uint64_t round = 0; round < 8; round++) {
        for (uint64_t i = 0; i < COUNT; i++)
          x[i] = random_float(round * COUNT + i);
        tt_cpu_loop_args args = {COUNT, y, {x, x, x}, NULL};
        tables[t]->ops[rows[r].code][TT_F32](&args);
        for (int i = 0; i < COUNT; i++)
          if (!EXPECT(distance(y[i], rows[r].exact((double)x[i])) <= rows[r].ulps)) {
            EXPECT_STR(tt_hlo_ops[rows[r].code].mnemonic, "accurate");
            EXPECT_DOUBLE((double)y[i], rows[r].exact((double)x[i]), 0);
            return;
          }
      }
}

/* pow of C, and all pairs of what is special to it. */
TEST_WITHOUT_TORTURE(cpu_kernel, powers_are_accurate) {
  static const float special[] = {0,     -0.0F,  1,        -1,           INFINITY,    -INFINITY,
                                  NAN,   0.5F,   2,        -2,           3,           -3,
                                  -0.5F, 1e-45F, -1e-45F,  1e38F,        -3.5F,       150,
                                  -149,  -127,   16777215, -16777217.0F, 33554432.0F, 0.99F};
  const tt_cpu_loop_table *tables[TABLES];
  size_t tables_count = read_tables(tables);
  static float x[COUNT], y[COUNT], got[COUNT];
  enum { SPECIAL = TT_COUNT(special) };
  for (size_t t = 0; t < tables_count; t++)
    for (uint64_t round = 0; round < 16; round++) {
      for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t n = round * COUNT + i;
        bool pair = n < SPECIAL * SPECIAL;
        x[i] = pair ? special[n / SPECIAL] : fabsf(random_float(2 * n));
        y[i] = pair ? special[n % SPECIAL] : random_float(2 * n + 1);
      }
      tt_cpu_loop_args args = {COUNT, got, {x, y, NULL}, NULL};
      tables[t]->ops[TT_HLO_POWER][TT_F32](&args);
      for (int i = 0; i < COUNT; i++) {
        double want = pow((double)x[i], (double)y[i]);
        bool zero = got[i] == 0 && want == 0;
        if (!EXPECT(distance(got[i], want) <= 0.51 &&
                    (!zero || (signbit(got[i]) != 0) == (signbit(want) != 0)))) {
          EXPECT_DOUBLE((double)x[i], (double)y[i], 0);
          EXPECT_DOUBLE((double)got[i], want, 0);
          return;
        }
      }
    }
}

/* What must be the same bits on all: everything but the functions above. */
static bool rounds_alike(tt_hlo_code code) {
  if (code == TT_HLO_POWER)
    return false;
  for (size_t r = 0; r < TT_COUNT(rows); r++)
    if (rows[r].code == code)
      return false;
  return true;
}

static void compare_loops(tt_cpu_loop first, tt_cpu_loop other, const tt_hlo_op *op, size_t bytes) {
  static _Alignas(64) char in[3][COUNT * 16];
  static _Alignas(64) char out[2][COUNT * 16];
  uint64_t word = 0;
  for (size_t i = 0; i < sizeof in; i += sizeof word) {
    word = random_word(i);
    memcpy((char *)in + i, &word, sizeof word);
  }
  memset(out, 0, sizeof out);
  for (int i = 0; i < 2; i++) {
    tt_cpu_loop_args args = {COUNT, out[i], {in[0], in[1], in[2]}, op};
    (i == 0 ? first : other)(&args);
  }
  EXPECT(memcmp(out[0], out[1], COUNT * bytes) == 0);
}

/* NaN patterns may differ, so floats are left to the other tests. */
TEST_WITHOUT_TORTURE(cpu_kernel, integer_loops_agree) {
  const tt_cpu_loop_table *tables[TABLES];
  size_t tables_count = read_tables(tables);
  tt_hlo_attr less = {
      .name = TT_HLO_COMPARISON_DIRECTION, .kind = TT_HLO_ATTR_ENUM, .i64 = TT_HLO_LT};
  tt_hlo_op op = {.attrs = &less, .attrs_count = 1};
  for (size_t t = 1; t < tables_count; t++)
    for (int code = 0; code < TT_HLO_OP_COUNT; code++)
      for (int dtype = 0; dtype < TT_DTYPE_COUNT; dtype++) {
        tt_cpu_loop first = tables[0]->ops[code][dtype], other = tables[t]->ops[code][dtype];
        if (first != NULL && other != NULL && rounds_alike((tt_hlo_code)code) &&
            (tt_dtype_is_integer((tt_dtype)dtype) || code == TT_HLO_SELECT))
          compare_loops(first, other, &op, (size_t)tt_dtype_bytes((tt_dtype)dtype));
      }
}
