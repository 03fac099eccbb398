/* Tile programs run as code against the same programs run by the VM: spread inputs, parts, folds.
 */
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "cpu/emit/emit.h"
#include "test.h"

enum { INS = 5, OPS = 6, COUNT_MAX = 3000 };

static uint64_t state;
static uint32_t pick(uint32_t below) {
  state++;
  return (uint32_t)(tt_hash64(&state, sizeof state, 11) % below);
}

/* A program of f32, or of bf16, whose ops are wrapped in conversions. */
typedef struct sample {
  tt_hlo_value value; /* every operand and result: only the dtype is looked at */
  tt_hlo_value *operands[3];
  tt_hlo_op hlo[OPS];
  tt_cpu_tile_op ops[OPS];
  tt_cpu_tile_in in[INS];
  tt_cpu_tile_out out[OPS];
  int64_t sizes[INS]; /* elements in memory */
  uint32_t ins, outs, ops_count;
  int64_t count;
} sample;

static void choose_input(sample *s, uint32_t i) {
  tt_cpu_tile_in *in = &s->in[i];
  static const int64_t lengths[] = {2, 3, 16, 63, 64, 65, 100, 128, 257, 1000};
  int64_t length = lengths[pick(TT_COUNT(lengths))];
  *in = (tt_cpu_tile_in){.inner = 1, .bytes = tt_dtype_bytes(s->value.type.dtype)};
  s->sizes[i] = s->count;
  switch (i == 0 ? 0 : pick(4)) {
    case 0:
      return;
    case 1:
      in->period = 1;
      break;
    case 2:
      in->period = length;
      break;
    default:
      in->inner = length;
      in->period = 1 + (s->count - 1) / length / (1 + pick(2));
      in->period = in->period < 2 ? 2 : in->period;
  }
  s->sizes[i] = in->period;
}

static void make_sample(sample *s) {
  static const tt_hlo_code codes[] = {TT_HLO_ADD, TT_HLO_MULTIPLY, TT_HLO_MAXIMUM, TT_HLO_TANH};
  memset(s, 0, sizeof *s);
  s->value.type.dtype = pick(3) == 0 ? TT_BF16 : TT_F32;
  s->count = 1 + pick(pick(2) == 0 ? 100 : COUNT_MAX - 1);
  s->ins = 1 + pick(INS);
  s->ops_count = 2 + pick(OPS - 1);
  for (uint32_t i = 0; i < 3; i++)
    s->operands[i] = &s->value;
  for (uint32_t i = 0; i < s->ins; i++)
    choose_input(s, i);
  for (uint32_t i = 0; i < s->ops_count; i++) {
    tt_hlo_code code = codes[pick(TT_COUNT(codes))];
    s->hlo[i] = (tt_hlo_op){.code = code,
                            .operands_count = code == TT_HLO_TANH ? 1 : 2,
                            .results_count = 1,
                            .operands = s->operands,
                            .results = &s->value};
    s->ops[i] = (tt_cpu_tile_op){.op = &s->hlo[i], .out = -1};
    for (int k = 0; k < 2; k++)
      s->ops[i].in[k].made = i > 0 && pick(2) == 0 ? (int32_t)pick(i) : -1 - (int32_t)pick(s->ins);
    if (i + 1 == s->ops_count || pick(4) == 0) {
      s->ops[i].out = (int32_t)s->outs;
      s->out[s->outs++].bytes = tt_dtype_bytes(s->value.type.dtype);
    }
  }
}

static float ins_f32[INS][COUNT_MAX];
static _Alignas(64) char wants[OPS][COUNT_MAX * 4], gots[OPS][COUNT_MAX * 4];

static void fill_inputs(const sample *s) {
  for (uint32_t i = 0; i < s->ins; i++)
    for (int64_t k = 0; k < s->sizes[i] && k < COUNT_MAX; k++)
      tt_dtype_store(s->value.type.dtype, (double)pick(2001) / 500 - 2, 0,
                     (char *)ins_f32[i] + k * s->in[i].bytes);
}

static void run_part(const tt_cpu_tile *tile, void *const *in, void *const *out, int64_t begin,
                     int64_t end) {
  tt_cpu_tile_run_code(tile, (const char *const *)in, (char *const *)out, begin, end);
}

static bool check_sample(sample *s) {
  tt_arena arena = {0};
  tt_cpu_code *codes = NULL;
  tt_cpu_tile *code = NULL, vm;
  void *in[INS], *want[OPS], *got[OPS];
  bool ok = EXPECT_OK(tt_cpu_tile_make(&arena, &codes, s->ops, s->ops_count, s->count, s->in,
                                       s->ins, s->out, s->outs, NULL, &code)) &&
            (tt_cpu_isa_best() == TT_CPU_ISA_BASE || EXPECT(code->code != NULL));
  for (uint32_t i = 0; i < s->ins; i++)
    in[i] = ins_f32[i];
  for (uint32_t i = 0; i < s->outs; i++) {
    want[i] = wants[i];
    got[i] = gots[i];
  }
  fill_inputs(s);
  memset(gots, 0x5a, sizeof gots);
  if (ok && code->code != NULL) {
    vm = *code;
    vm.code = NULL;
    tt_cpu_tile_run(&vm, (const void *const *)in, want);
    int64_t middle = pick((uint32_t)s->count + 1);
    run_part(code, in, got, middle, s->count);
    run_part(code, in, got, 0, middle);
    for (uint32_t i = 0; i < s->outs; i++)
      ok = ok && EXPECT(memcmp(wants[i], gots[i], (size_t)(s->count * s->out[i].bytes)) == 0);
    memset(gots, 0x5a, sizeof gots);
    tt_cpu_tile_run(code, (const void *const *)in, got);
    for (uint32_t i = 0; i < s->outs; i++)
      ok = ok && EXPECT(memcmp(wants[i], gots[i], (size_t)(s->count * s->out[i].bytes)) == 0);
  }
  tt_cpu_codes_free(codes);
  tt_arena_reset(&arena);
  return ok;
}

TEST_WITHOUT_TORTURE(cpu_emit, spread_inputs) {
  static sample s;
  size_t before = tt_cpu_code_memory_used();
  for (int i = 0; i < 4000; i++) {
    make_sample(&s);
    if (!check_sample(&s))
      break;
  }
  EXPECT_INT(tt_cpu_code_memory_used(), before);
}

/* ---- folds ---- */

static double fold(tt_cpu_fold kind, double a, double b) {
  if (isnan(a) || isnan(b))
    return NAN;
  return kind == TT_CPU_FOLD_MAX ? fmax(a, b) : fmin(a, b);
}

/* As emit.h says. */
static float sum_f32(const float *x, int64_t count, uint32_t lanes, uint32_t unroll) {
  float parts[256] = {0};
  int64_t all = lanes * unroll, whole = count / all * all;
  for (int64_t i = 0; i < whole; i++)
    parts[i % all] += x[i];
  for (int64_t i = whole; i < count; i++)
    parts[(i - whole) % lanes] += x[i];
  for (uint32_t u = 1; u < unroll; u++)
    for (uint32_t l = 0; l < lanes; l++)
      parts[l] += parts[u * lanes + l];
  for (uint32_t half = lanes / 2; half > 0; half /= 2)
    for (uint32_t l = 0; l < half; l++)
      parts[l] += parts[l + half];
  return parts[0];
}

/* out 0: x + y itself; out 1 the sum, 2 the largest, 3 the least of it. */
static void check_folds(int64_t limit, tt_arena *scratch) {
  tt_cpu_emit_in in[2] = {{TT_F32, false}, {TT_F32, true}};
  tt_cpu_emit_op op = {.code = TT_HLO_ADD, .from = TT_F32, .to = TT_F32, .in = {0, 1, 0}};
  tt_cpu_emit_out out[4] = {{TT_F32, 2, TT_CPU_FOLD_NONE},
                            {TT_F32, 2, TT_CPU_FOLD_SUM},
                            {TT_F32, 2, TT_CPU_FOLD_MAX},
                            {TT_F32, 2, TT_CPU_FOLD_MIN}};
  tt_cpu_emit_program program = {in, &op, out, 2, 1, 4, limit};
  tt_cpu_code *code = tt_cpu_emit(&program, TT_CPU_ISA_AVX512, scratch);
  static float x[COUNT_MAX], y, each[COUNT_MAX], folded[3];
  if (!EXPECT(code != NULL))
    return;
  for (int64_t count = 0; count <= limit; count += count < 140 ? 1 : 97) {
    double most = -INFINITY, fewest = INFINITY;
    y = (float)pick(9) - 4;
    for (int64_t i = 0; i < count; i++)
      x[i] = pick(3000) == 0 ? NAN : (float)pick(1000) / 77 - 7;
    void *pointers[6] = {x, &y, each, &folded[0], &folded[1], &folded[2]};
    tt_cpu_code_run(code, pointers, count);
    for (int64_t i = 0; i < count; i++) {
      most = fold(TT_CPU_FOLD_MAX, most, (double)(x[i] + y));
      fewest = fold(TT_CPU_FOLD_MIN, fewest, (double)(x[i] + y));
    }
    float sum = sum_f32(each, count, code->lanes, code->unroll);
    EXPECT(folded[0] == sum || (isnan(sum) && isnan(folded[0])));
    EXPECT((double)folded[1] == most || (isnan(most) && isnan(folded[1])));
    if (!EXPECT((double)folded[2] == fewest || (isnan(fewest) && isnan(folded[2]))))
      break;
  }
  tt_cpu_code_free(code);
}

static void check_wide_folds(tt_arena *scratch) {
  tt_cpu_emit_in in[1] = {{TT_F64, false}};
  tt_cpu_emit_op op = {.code = TT_HLO_NEGATE, .from = TT_F64, .to = TT_F64};
  tt_cpu_emit_out out[2] = {{TT_F64, 1, TT_CPU_FOLD_SUM}, {TT_F64, 1, TT_CPU_FOLD_MAX}};
  tt_cpu_emit_program program = {in, &op, out, 1, 1, 2, 500};
  tt_cpu_code *code = tt_cpu_emit(&program, TT_CPU_ISA_AVX512, scratch);
  double x[500], folded[2], sum = 0;
  void *pointers[3] = {x, &folded[0], &folded[1]};
  if (!EXPECT(code != NULL))
    return;
  for (int i = 0; i < 500; i++) {
    x[i] = i;
    sum -= i;
  }
  tt_cpu_code_run(code, pointers, 499);
  EXPECT_DOUBLE(folded[0], sum + 499, 0);
  EXPECT_DOUBLE(folded[1], 0, 0);
  tt_cpu_code_free(code);
}

TEST_WITHOUT_TORTURE(cpu_emit, folds) {
  tt_arena scratch = {0};
  if (tt_cpu_isa_best() < TT_CPU_ISA_AVX512)
    SKIP("this processor has no AVX-512");
  check_folds(100, &scratch);
  check_folds(COUNT_MAX, &scratch);
  check_wide_folds(&scratch);
out:
  tt_arena_reset(&scratch);
}

/* ---- memory ---- */

static tt_cpu_code *emit_negate(int64_t count, tt_arena *scratch) {
  tt_cpu_emit_in in[1] = {{TT_F32, false}};
  tt_cpu_emit_op op = {.code = TT_HLO_NEGATE, .from = TT_F32, .to = TT_F32};
  tt_cpu_emit_out out[1] = {{TT_F32, 1, TT_CPU_FOLD_NONE}};
  tt_cpu_emit_program program = {in, &op, out, 1, 1, 1, count};
  return tt_cpu_emit(&program, tt_cpu_isa_best(), scratch);
}

static bool negates(const tt_cpu_code *code) {
  float x[20], y[20];
  void *pointers[2] = {x, y};
  for (int i = 0; i < 20; i++)
    x[i] = (float)i;
  tt_cpu_code_run(code, pointers, 20);
  return y[0] == 0 && y[19] == -19;
}

enum { MANY = 3000 };

/* Many at once, in little more than their own bytes; every other one freed and made again. */
TEST_WITHOUT_TORTURE(cpu_emit, memory_is_used_again) {
  static tt_cpu_code *codes[MANY];
  tt_arena scratch = {0};
  size_t before = tt_cpu_code_memory_used();
  bool all = true;
  if (tt_cpu_isa_best() == TT_CPU_ISA_BASE)
    SKIP("this processor has no AVX2");
  for (int i = 0; i < MANY; i++)
    codes[i] = emit_negate(i % 3 == 0 ? 20 : 2000, &scratch);
  EXPECT(tt_cpu_code_memory_used() - before <= MANY * 512);
  for (int i = 0; i < MANY; i += 2) {
    tt_cpu_code_free(codes[i]);
    codes[i] = emit_negate(i % 5 == 0 ? 20 : 2000, &scratch);
  }
  for (int i = 0; i < MANY; i++)
    all = all && codes[i] != NULL && negates(codes[i]);
  EXPECT(all);
  for (int i = 0; i < MANY; i++)
    tt_cpu_code_free(codes[i]);
  EXPECT_INT(tt_cpu_code_memory_used(), before);
out:
  tt_arena_reset(&scratch);
}

/* What a child emits does not disturb its parent, nor the other way round. */
TEST_WITHOUT_TORTURE(cpu_emit, forks) {
  tt_arena scratch = {0};
  tt_cpu_code *first = NULL, *second = NULL;
  int status = -1;
  pid_t child = -1;
  if (tt_cpu_isa_best() == TT_CPU_ISA_BASE)
    SKIP("this processor has no AVX2");
  first = emit_negate(20, &scratch);
  REQUIRE(first != NULL);
  child = fork();
  if (child == 0) {
    tt_cpu_code_free(first);
    tt_cpu_code *own = emit_negate(2000, &scratch);
    _exit(own != NULL && negates(own) ? 0 : 1);
  }
  waitpid(child, &status, 0);
  EXPECT_INT(status, 0);
  second = emit_negate(2000, &scratch);
  EXPECT(second != NULL && negates(first) && negates(second));
out:
  tt_cpu_code_free(first);
  tt_cpu_code_free(second);
  tt_arena_reset(&scratch);
}
