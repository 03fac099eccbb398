/* Machine code of random programs against the loops that the VM runs, bit for bit; of NaN only that
 * it is one. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "cpu/emit/emit.h"
#include "test.h"

enum { INS = 6, OPS = 28, VALUES = INS + OPS, COUNT_MAX = 700, PROGRAMS = 6000 };

typedef struct sample {
  tt_cpu_emit_program program;
  tt_cpu_emit_in in[INS];
  tt_cpu_emit_op ops[OPS];
  tt_cpu_emit_out out[OPS];
  tt_dtype dtypes[VALUES];
} sample;

static uint64_t state;
static uint32_t pick(uint32_t below) {
  state++;
  return (uint32_t)(tt_hash64(&state, sizeof state, 7) % below);
}

static const tt_cpu_loop_table *table_of(tt_cpu_isa isa) {
#if defined(__x86_64__)
  return isa == TT_CPU_ISA_AVX512 ? &tt_cpu_loops_avx512 : &tt_cpu_loops_avx2;
#else
  (void)isa;
  return &tt_cpu_loops_base;
#endif
}

static tt_cpu_loop loop_of(tt_cpu_isa isa, const tt_cpu_emit_op *op) {
  const tt_cpu_loop_table *table = table_of(isa);
  tt_cpu_loop loop = op->code == TT_HLO_CONVERT ? table->converts[op->from][op->to]
                                                : table->ops[op->code][op->from];
  return loop != NULL || op->code == TT_HLO_CONVERT ? loop
                                                    : tt_cpu_loops_slow.ops[op->code][op->from];
}

/* ---- programs ---- */

static const tt_hlo_code float_codes[] = {
    TT_HLO_ADD,       TT_HLO_SUBTRACT, TT_HLO_MULTIPLY, TT_HLO_DIVIDE,  TT_HLO_MAXIMUM,
    TT_HLO_MINIMUM,   TT_HLO_CLAMP,    TT_HLO_NEGATE,   TT_HLO_ABS,     TT_HLO_SQRT,
    TT_HLO_RSQRT,     TT_HLO_SIGN,     TT_HLO_FLOOR,    TT_HLO_CEIL,    TT_HLO_ROUND_NEAREST_EVEN,
    TT_HLO_COMPARE,   TT_HLO_SELECT,   TT_HLO_CONVERT,  TT_HLO_CONVERT, TT_HLO_COMPARE,
    TT_HLO_IS_FINITE,
};
static const tt_hlo_code f32_codes[] = {
    TT_HLO_EXPONENTIAL, TT_HLO_EXPONENTIAL_MINUS_ONE,
    TT_HLO_LOG,         TT_HLO_LOG_PLUS_ONE,
    TT_HLO_TANH,        TT_HLO_LOGISTIC,
    TT_HLO_CHLO_ERF,    TT_HLO_ROUND_NEAREST_AFZ,
};
static const tt_hlo_code integer_codes[] = {
    TT_HLO_ADD,
    TT_HLO_SUBTRACT,
    TT_HLO_MULTIPLY,
    TT_HLO_MAXIMUM,
    TT_HLO_MINIMUM,
    TT_HLO_CLAMP,
    TT_HLO_NEGATE,
    TT_HLO_ABS,
    TT_HLO_SIGN,
    TT_HLO_AND,
    TT_HLO_OR,
    TT_HLO_XOR,
    TT_HLO_NOT,
    TT_HLO_SHIFT_LEFT,
    TT_HLO_SHIFT_RIGHT_LOGICAL,
    TT_HLO_SHIFT_RIGHT_ARITHMETIC,
    TT_HLO_COMPARE,
    TT_HLO_SELECT,
    TT_HLO_CONVERT,
};
static const tt_hlo_code pred_codes[] = {
    TT_HLO_ADD, TT_HLO_MULTIPLY, TT_HLO_AND,     TT_HLO_OR,     TT_HLO_XOR,
    TT_HLO_NOT, TT_HLO_COMPARE,  TT_HLO_CONVERT, TT_HLO_SELECT,
};
static const tt_hlo_code narrow_codes[] = {TT_HLO_CONVERT, TT_HLO_SELECT};

static const tt_dtype narrow_dtypes[] = {TT_F32, TT_F32, TT_F32, TT_BF16, TT_F16, TT_PRED,
                                         TT_S32, TT_U32, TT_S8,  TT_U8,   TT_S16, TT_U16};
static const tt_dtype wide_dtypes[] = {TT_F64, TT_S64, TT_U64};

static int find_value(const sample *s, uint32_t values, tt_dtype dtype) {
  int found = -1;
  for (uint32_t tries = 0; tries < 3 * values && found < 0; tries++) {
    uint32_t v = tries < 2 * values ? pick(values) : tries - 2 * values;
    found = s->dtypes[v] == dtype ? (int)v : -1;
  }
  return found;
}

static bool choose_convert(tt_cpu_isa isa, tt_cpu_emit_op *op, bool wide) {
  for (int tries = 0; tries < 40; tries++) {
    op->to =
        wide && pick(3) == 0 ? wide_dtypes[pick(3)] : narrow_dtypes[pick(TT_COUNT(narrow_dtypes))];
    if (op->to != op->from && loop_of(isa, op) != NULL)
      return true;
  }
  return false;
}

/* Total order tells NaN from NaN, so it gets what no op has made. */
static bool choose_op(const sample *s, tt_cpu_isa isa, uint32_t values, bool wide,
                      tt_cpu_emit_op *op) {
  uint32_t x = pick(values);
  tt_dtype dtype = s->dtypes[x];
#define CHOOSE(list) list[pick(TT_COUNT(list))]
  if (dtype == TT_F32 && pick(3) == 0)
    op->code = CHOOSE(f32_codes);
  else if (dtype == TT_F32 || dtype == TT_F64)
    op->code = CHOOSE(float_codes);
  else if (tt_dtype_is_float(dtype))
    op->code = CHOOSE(narrow_codes);
  else
    op->code = dtype == TT_PRED ? CHOOSE(pred_codes) : CHOOSE(integer_codes);
#undef CHOOSE
  op->from = op->to = dtype;
  for (int k = 0; k < 3; k++)
    op->in[k] = (uint16_t)(k == 0 ? (int)x : find_value(s, values, dtype));
  op->direction = (tt_hlo_direction)pick(6);
  op->total = op->code == TT_HLO_COMPARE && x < s->program.ins && op->in[1] < s->program.ins &&
              tt_dtype_is_float(dtype) && pick(2) == 0;
  if (op->code == TT_HLO_COMPARE || op->code == TT_HLO_IS_FINITE)
    op->to = TT_PRED;
  if (op->code == TT_HLO_CONVERT)
    return choose_convert(isa, op, wide);
  if (op->code == TT_HLO_SELECT) {
    int mask = find_value(s, values, TT_PRED);
    if (mask < 0 || (dtype == TT_F16 && isa == TT_CPU_ISA_AVX2))
      return false;
    op->in[2] = op->in[1];
    op->in[1] = op->in[0];
    op->in[0] = (uint16_t)mask;
  }
  return loop_of(isa, op) != NULL;
}

static void make_sample(sample *s, tt_cpu_isa isa, uint32_t ops, bool wide) {
  memset(s, 0, sizeof *s);
  uint32_t ins = 1 + pick(INS);
  s->program = (tt_cpu_emit_program){
      s->in, s->ops, s->out, ins, 0, 0, pick(3) == 0 ? 1 + pick(128) : COUNT_MAX};
  for (uint32_t i = 0; i < ins; i++) {
    s->dtypes[i] =
        wide && pick(2) == 0 ? wide_dtypes[pick(3)] : narrow_dtypes[pick(TT_COUNT(narrow_dtypes))];
    s->in[i] = (tt_cpu_emit_in){s->dtypes[i], pick(4) == 0};
  }
  while (s->program.ops_count < ops) {
    uint32_t at = s->program.ops_count;
    if (!choose_op(s, isa, ins + at, wide, &s->ops[at]))
      continue;
    s->dtypes[ins + at] = s->ops[at].to;
    if (at + 1 == ops || pick(6) == 0)
      s->out[s->program.outs++] =
          (tt_cpu_emit_out){s->ops[at].to, (uint16_t)(ins + at), TT_CPU_FOLD_NONE};
    s->program.ops_count++;
  }
}

/* ---- elements ---- */

static _Alignas(64) char arrays[VALUES][COUNT_MAX * 8 + 64];
static _Alignas(64) char outputs[OPS][COUNT_MAX * 8 + 128];

static double random_double(void) {
  static const double edges[] = {0,    -0.0, 1,     -1,     NAN,  INFINITY, -INFINITY, 0.5,
                                 1.5,  -2.5, 1e-40, -1e-42, 1e38, -3e38,    131072,    88.8,
                                 -104, 2e9,  -3e9,  255,    -129, 65535,    0.625,     0.95};
  double unit = (double)pick(1000001) / 500000 - 1;
  switch (pick(4)) {
    case 0:
      return edges[pick(TT_COUNT(edges))];
    case 1:
      return unit;
    default:
      return unit * (pick(2) == 0 ? 10 : 200);
  }
}

static void fill(tt_dtype dtype, char *to, int64_t count) {
  int bytes = tt_dtype_bytes(dtype);
  for (int64_t i = 0; i < count; i++) {
    uint64_t word = (uint64_t)pick(UINT32_MAX) << 32 | pick(UINT32_MAX);
    if (dtype == TT_PRED)
      word &= 1;
    else if (tt_dtype_is_float(dtype) && pick(8) != 0)
      tt_dtype_store(dtype, random_double(), 0, &word);
    else if (!tt_dtype_is_float(dtype) && pick(2) == 0)
      word = pick(2) == 0 ? pick(100) : 0 - (uint64_t)pick(100);
    memcpy(to + i * bytes, &word, (size_t)bytes);
  }
}

static double as_double(tt_dtype dtype, const char *from) {
  float f;
  double d;
  uint16_t half;
  uint32_t bits = 0;
  if (dtype == TT_F64) {
    memcpy(&d, from, sizeof d);
    return d;
  }
  memcpy(&f, from, sizeof f);
  if (dtype == TT_F32)
    return (double)f;
  memcpy(&half, from, sizeof half);
  if (dtype == TT_BF16)
    bits = (uint32_t)half << 16;
  else
    bits = (half & 0x7fff) > 0x7c00 ? 0x7fc00000 : 0;
  memcpy(&f, &bits, sizeof f);
  return (double)f;
}

static bool same(tt_dtype dtype, const char *got, const char *want) {
  if (memcmp(got, want, (size_t)tt_dtype_bytes(dtype)) == 0)
    return true;
  return tt_dtype_is_float(dtype) && isnan(as_double(dtype, got)) && isnan(as_double(dtype, want));
}

static void run_loops(const sample *s, tt_cpu_isa isa) {
  const tt_cpu_emit_program *p = &s->program;
  for (uint32_t i = 0; i < p->ops_count; i++) {
    const tt_cpu_emit_op *op = &p->ops[i];
    tt_hlo_attr attrs[2] = {
        {.name = TT_HLO_COMPARISON_DIRECTION, .kind = TT_HLO_ATTR_ENUM, .i64 = op->direction},
        {.name = TT_HLO_COMPARE_TYPE,
         .kind = TT_HLO_ATTR_ENUM,
         .i64 = op->total ? TT_HLO_COMPARE_TOTALORDER : TT_HLO_COMPARE_NOTYPE}};
    tt_hlo_op hlo = {.code = op->code, .attrs = attrs, .attrs_count = 2};
    tt_cpu_loop_args args = {COUNT_MAX,
                             arrays[p->ins + i],
                             {arrays[op->in[0]], arrays[op->in[1]], arrays[op->in[2]]},
                             &hlo};
    loop_of(isa, op)(&args);
  }
}

static void fill_inputs(const sample *s) {
  for (uint32_t i = 0; i < s->program.ins; i++) {
    int bytes = tt_dtype_bytes(s->dtypes[i]);
    fill(s->dtypes[i], arrays[i], s->in[i].scalar ? 1 : COUNT_MAX);
    for (int64_t k = 1; s->in[i].scalar && k < COUNT_MAX; k++)
      memcpy(arrays[i] + k * bytes, arrays[i], (size_t)bytes);
  }
}

/* An input whose memory output `out` may have: as large, and read no later than it is made. */
static int find_over(const sample *s, uint32_t out, uint32_t taken) {
  const tt_cpu_emit_program *p = &s->program;
  uint32_t first = p->out[out].value - p->ins;
  for (uint32_t i = 0; i < p->ins; i++) {
    bool fits = !p->in[i].scalar && (taken >> i & 1) == 0 &&
                tt_dtype_bytes(s->dtypes[i]) == tt_dtype_bytes(p->out[out].dtype);
    for (uint32_t k = first + 1; k < p->ops_count; k++)
      for (int n = 0; n < 3; n++)
        fits = fits && p->ops[k].in[n] != i;
    if (fits)
      return (int)i;
  }
  return -1;
}

/* Elements [begin, begin + count), and nothing beside them; `over`: outputs over inputs. */
static bool check_run(const sample *s, const tt_cpu_code *code, int64_t begin, int64_t count,
                      bool over) {
  uint32_t taken = 0;
  const tt_cpu_emit_program *p = &s->program;
  void *pointers[INS + OPS];
  for (uint32_t i = 0; i < p->ins; i++)
    pointers[i] = arrays[i] + (p->in[i].scalar ? 0 : begin * tt_dtype_bytes(s->dtypes[i]));
  for (uint32_t i = 0; i < p->outs; i++) {
    memset(outputs[i], 0x5a, sizeof outputs[i]);
    pointers[p->ins + i] = outputs[i] + 64;
    int with = over ? find_over(s, i, taken) : -1;
    if (with >= 0) {
      taken |= 1U << with;
      memcpy(outputs[i] + 64, pointers[with], (size_t)(count * tt_dtype_bytes(s->dtypes[with])));
      pointers[with] = outputs[i] + 64;
    }
  }
  tt_cpu_code_run(code, pointers, count);
  for (uint32_t i = 0; i < p->outs; i++) {
    tt_dtype dtype = p->out[i].dtype;
    int64_t bytes = tt_dtype_bytes(dtype);
    const char *want = arrays[p->out[i].value] + begin * bytes, *got = outputs[i] + 64;
    for (int64_t k = 0; k < count; k++)
      if (!same(dtype, got + k * bytes, want + k * bytes))
        return false;
    for (int64_t k = 0; k < 64; k++)
      if (outputs[i][k] != 0x5a || got[count * bytes + k] != 0x5a)
        return false;
  }
  return true;
}

static void print_failure(const sample *s, tt_cpu_isa isa) {
  tt_bytes text = {0};
  for (uint32_t i = 0; i < s->program.ops_count; i++) {
    const tt_cpu_emit_op *op = &s->program.ops[i];
    tt_bytes_printf(&text, "%%%u = %s %s -> %s (%u %u %u) direction %d total %d\n",
                    s->program.ins + i, tt_hlo_ops[op->code].mnemonic, tt_dtype_name(op->from),
                    tt_dtype_name(op->to), op->in[0], op->in[1], op->in[2], (int)op->direction,
                    (int)op->total);
  }
  EXPECT_OK(tt_cpu_emit_print(&s->program, isa, &text));
  EXPECT_STR(text.data, "the same bits");
  tt_bytes_free(&text);
}

static bool check_sample(const sample *s, tt_cpu_isa isa, tt_arena *scratch, uint32_t *refused) {
  tt_cpu_code *code = tt_cpu_emit(&s->program, isa, scratch);
  bool ok = true;
  if (code == NULL) {
    ++*refused;
    return true;
  }
  fill_inputs(s);
  run_loops(s, isa);
  uint32_t most = (uint32_t)s->program.count;
  ok = check_run(s, code, 0, most, false) && check_run(s, code, 0, most, true);
  for (int i = 0; i < 4 && ok; i++)
    ok = check_run(s, code, pick(100), pick(most < 71 ? most + 1 : 71), i % 2 == 0);
  tt_cpu_code_free(code);
  if (!EXPECT(ok))
    print_failure(s, isa);
  return ok;
}

static void check_isa(tt_cpu_isa isa) {
  static sample s;
  uint32_t refused = 0;
  size_t before = tt_cpu_code_memory_used();
  for (uint32_t i = 0; i < PROGRAMS; i++) {
    tt_arena scratch = {0};
    bool wide = isa == TT_CPU_ISA_AVX512 && i % 4 == 0;
    make_sample(&s, isa, i < PROGRAMS / 2 ? 1 + pick(3) : 1 + pick(OPS), wide);
    bool ok = check_sample(&s, isa, &scratch, &refused);
    tt_arena_reset(&scratch);
    if (!ok)
      break;
  }
  EXPECT_INT(refused, 0);
  EXPECT_INT(tt_cpu_code_memory_used(), before);
}

TEST_WITHOUT_TORTURE(cpu_emit, random_programs_avx512) {
  if (tt_cpu_isa_best() < TT_CPU_ISA_AVX512)
    SKIP("this processor has no AVX-512");
  check_isa(TT_CPU_ISA_AVX512);
out:;
}

TEST_WITHOUT_TORTURE(cpu_emit, random_programs_avx2) {
  if (tt_cpu_isa_best() < TT_CPU_ISA_AVX2)
    SKIP("this processor has no AVX2");
  check_isa(TT_CPU_ISA_AVX2);
out:;
}
