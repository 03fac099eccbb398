/* Emitted code against gcc's of the same loop and against the tile VM, one thread, one run.
 *
 *   ninja -C build bench_emit && build/bench/bench_emit
 *
 * Columns: elements; ns an element of emitted code; its time over gcc's with vectors of 256 bits
 * (what -O3 -march=native alone gives) and of 512; the VM's over emitted code's. Then the time to
 * emit. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu/emit/emit.h"
#include "emit_loops.h"

enum { INS = 13, OUTS = 3, OPS = 24, COLUMNS = 1024, ROUNDS = 15 };

typedef enum form { DENSE, SCALAR, ROW, COLUMN } form;
typedef struct step {
  tt_hlo_code code;
  int in[2]; /* < 0: input -1 - in */
  int out;
} step;
typedef struct bench_case {
  const char *name;
  size_t loop; /* in bench_loops */
  int ins, outs, steps_count;
  form forms[INS];
  step steps[OPS];
} bench_case;

#define A(i) (-1 - (i))
static const bench_case cases[] = {
    {"a*b+c",
     offsetof(bench_loops, add_multiply),
     3,
     1,
     2,
     {DENSE, DENSE, DENSE},
     {{TT_HLO_MULTIPLY, {A(0), A(1)}, -1}, {TT_HLO_ADD, {0, A(2)}, 0}}},
    {"gelu",
     offsetof(bench_loops, gelu),
     5,
     1,
     9,
     {DENSE, SCALAR, SCALAR, SCALAR, SCALAR},
     {{TT_HLO_MULTIPLY, {A(0), A(0)}, -1},
      {TT_HLO_MULTIPLY, {0, A(0)}, -1},
      {TT_HLO_MULTIPLY, {1, A(4)}, -1},
      {TT_HLO_ADD, {2, A(0)}, -1},
      {TT_HLO_MULTIPLY, {3, A(3)}, -1},
      {TT_HLO_TANH, {4, 4}, -1},
      {TT_HLO_ADD, {5, A(2)}, -1},
      {TT_HLO_MULTIPLY, {A(0), A(1)}, -1},
      {TT_HLO_MULTIPLY, {7, 6}, 0}}},
    {"exp(x-max)",
     offsetof(bench_loops, exp_less_max),
     2,
     1,
     2,
     {DENSE, COLUMN},
     {{TT_HLO_SUBTRACT, {A(0), A(1)}, -1}, {TT_HLO_EXPONENTIAL, {0, 0}, 0}}},
    {"x/sum",
     offsetof(bench_loops, scale),
     2,
     1,
     1,
     {DENSE, COLUMN},
     {{TT_HLO_DIVIDE, {A(0), A(1)}, 0}}},
    {"layer norm",
     offsetof(bench_loops, layer_norm),
     5,
     1,
     4,
     {DENSE, COLUMN, COLUMN, ROW, ROW},
     {{TT_HLO_SUBTRACT, {A(0), A(1)}, -1},
      {TT_HLO_MULTIPLY, {0, A(2)}, -1},
      {TT_HLO_MULTIPLY, {1, A(3)}, -1},
      {TT_HLO_ADD, {2, A(4)}, 0}}},
    {"adamw",
     offsetof(bench_loops, adamw),
     13,
     3,
     15,
     {DENSE, DENSE, DENSE, DENSE, SCALAR, SCALAR, SCALAR, SCALAR, SCALAR, SCALAR, SCALAR, SCALAR,
      SCALAR},
     {{TT_HLO_MULTIPLY, {A(2), A(4)}, -1},
      {TT_HLO_MULTIPLY, {A(1), A(5)}, -1},
      {TT_HLO_ADD, {0, 1}, 1},
      {TT_HLO_MULTIPLY, {A(3), A(6)}, -1},
      {TT_HLO_MULTIPLY, {A(1), A(1)}, -1},
      {TT_HLO_MULTIPLY, {4, A(7)}, -1},
      {TT_HLO_ADD, {3, 5}, 2},
      {TT_HLO_MULTIPLY, {6, A(12)}, -1},
      {TT_HLO_SQRT, {7, 7}, -1},
      {TT_HLO_ADD, {8, A(8)}, -1},
      {TT_HLO_MULTIPLY, {2, A(11)}, -1},
      {TT_HLO_DIVIDE, {10, 9}, -1},
      {TT_HLO_MULTIPLY, {11, A(9)}, -1},
      {TT_HLO_MULTIPLY, {A(0), A(10)}, -1},
      {TT_HLO_SUBTRACT, {13, 12}, 0}}},
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- the tile program ---- */

typedef struct made {
  tt_hlo_value values[OPS + 1];
  tt_hlo_value *operands[OPS][2];
  tt_hlo_op ops[OPS];
  tt_cpu_tile_op tile_ops[OPS];
} made;

static tt_cpu_tile *make_tile(const bench_case *c, int64_t count, tt_arena *arena,
                              tt_cpu_code **codes) {
  made *m = tt_arena_alloc(arena, sizeof *m);
  tt_cpu_tile_in *in = tt_arena_array(arena, INS, sizeof *in);
  tt_cpu_tile_out *out = tt_arena_array(arena, OUTS, sizeof *out);
  tt_cpu_tile *tile = NULL;
  for (int i = 0; i <= OPS; i++)
    m->values[i].type.dtype = TT_F32;
  for (int i = 0; i < c->ins; i++) {
    in[i].bytes = 4;
    in[i].inner = c->forms[i] == COLUMN ? COLUMNS : 1;
    in[i].period = c->forms[i] == SCALAR   ? 1
                   : c->forms[i] == ROW    ? COLUMNS
                   : c->forms[i] == COLUMN ? count / COLUMNS
                                           : 0;
  }
  for (int i = 0; i < c->outs; i++)
    out[i].bytes = 4;
  for (int i = 0; i < c->steps_count; i++) {
    const step *s = &c->steps[i];
    uint32_t operands =
        s->code == TT_HLO_TANH || s->code == TT_HLO_EXPONENTIAL || s->code == TT_HLO_SQRT ? 1 : 2;
    m->operands[i][0] = m->operands[i][1] = &m->values[OPS];
    m->ops[i] = (tt_hlo_op){.code = s->code,
                            .operands_count = operands,
                            .results_count = 1,
                            .operands = m->operands[i],
                            .results = &m->values[i]};
    m->tile_ops[i] = (tt_cpu_tile_op){&m->ops[i], {{s->in[0]}, {s->in[1]}}, s->out};
  }
  tt_error *err = tt_cpu_tile_make(arena, codes, m->tile_ops, (uint32_t)c->steps_count, count, in,
                                   (uint32_t)c->ins, out, (uint32_t)c->outs, NULL, &tile);
  if (err != NULL || (codes != NULL && tile->code == NULL)) {
    fprintf(stderr, "%s: no code\n", c->name);
    exit(1);
  }
  return tile;
}

/* ---- timing ---- */

typedef struct subject {
  const tt_cpu_tile *tile; /* or */
  bench_loop loop;
  double best;
} subject;

static void run(const subject *s, float **in, float **out, int64_t count) {
  if (s->tile != NULL)
    tt_cpu_tile_run(s->tile, (const void *const *)in, (void *const *)out);
  else
    s->loop((const float *const *)in, out, count, COLUMNS);
}

/* By turns, so that what else the machine does meets all alike. */
static void time_all(subject *subjects, int count_subjects, float **in, float **out,
                     int64_t count) {
  int64_t repeats = 400000 / count + 1;
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < count_subjects; i++) {
      double begin = now();
      for (int64_t r = 0; r < repeats; r++)
        run(&subjects[i], in, out, count);
      double took = (now() - begin) / (double)(repeats * count);
      if (round == 0 || took < subjects[i].best)
        subjects[i].best = took;
    }
}

static bench_loop loop_of(const bench_loops *loops, size_t offset) {
  bench_loop loop;
  memcpy(&loop, (const char *)loops + offset, sizeof loop);
  return loop;
}

static void fill(float *to, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    to[i] = (float)(i * 7919 % 10007) / 2000 + 0.001f;
}

static double time_emission(const bench_case *c, int64_t count) {
  double best[2] = {1e9, 1e9};
  for (int i = 0; i < 400; i++) {
    tt_arena arena = {0};
    tt_cpu_code *codes = NULL;
    double begin = now();
    make_tile(c, count, &arena, i % 2 == 0 ? &codes : NULL);
    double took = now() - begin;
    best[i % 2] = took < best[i % 2] ? took : best[i % 2];
    tt_cpu_codes_free(codes);
    tt_arena_reset(&arena);
  }
  return best[0] - best[1];
}

static void bench(const bench_case *c, int64_t count) {
  float *in[INS] = {NULL}, *out[OUTS] = {NULL};
  tt_arena arena = {0};
  tt_cpu_code *codes = NULL;
  for (int i = 0; i < INS; i++) {
    int64_t size = c->forms[i] == DENSE ? count : count < COLUMNS ? COLUMNS : count;
    in[i] = aligned_alloc(64, (size_t)(i < c->ins ? size * 4 + 64 : 64));
    fill(in[i], i < c->ins ? size : 16);
  }
  for (int i = 0; i < OUTS; i++)
    out[i] = aligned_alloc(64, (size_t)count * 4 + 64);
  subject subjects[4] = {{make_tile(c, count, &arena, &codes), NULL, 0},
                         {NULL, loop_of(&bench_loops_256, c->loop), 0},
                         {NULL, loop_of(&bench_loops_512, c->loop), 0},
                         {make_tile(c, count, &arena, NULL), NULL, 0}};
  time_all(subjects, 4, in, out, count);
  double ours = subjects[0].best;
  printf("%-12s %8lld %8.3f %8.2f %8.2f %8.2f %8.2f\n", c->name, (long long)count, ours,
         ours / subjects[1].best, ours / subjects[2].best, subjects[3].best / ours,
         time_emission(c, count) / 1000);
  fflush(stdout);
  for (int i = 0; i < INS; i++)
    free(in[i]);
  for (int i = 0; i < OUTS; i++)
    free(out[i]);
  tt_cpu_codes_free(codes);
  tt_arena_reset(&arena);
}

int main(int argc, char **argv) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(sched_getcpu(), &set);
  sched_setaffinity(0, sizeof set, &set);
  printf("%-12s %8s %8s %8s %8s %8s %8s\n", "program", "elements", "ns each", "/gcc", "/gcc512",
         "VM/ours", "emit us");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (argc > 1 && strcmp(argv[1], cases[i].name) != 0)
      continue;
    if (cases[i].forms[1] != COLUMN)
      bench(&cases[i], 16);
    for (int64_t count = 1024; count <= 4 << 20; count *= 8)
      bench(&cases[i], count);
  }
  return 0;
}
