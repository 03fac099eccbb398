/* Block by block of a batch's rows: scores = q k, the program over the rows, out = weights v.
 * Scores and weights of one block stay in the second-level cache. Each sum is in the order of the
 * product alone, so the bits are those of the three steps. */
#include "cpu/kernels/attention.h"

#include "cpu/kernels/dot.h"
#include "cpu/kernels/units.h"
#include "cpu/plan_internal.h"

enum {
  BLOCK_SIZE = 256 << 10, /* bytes of a block's scores that leave room for k and v */
  TILES_LEAST = 4,        /* register tiles of rows that pay for packing k and v */
  UNITS_EACH = 4          /* of a thread, so that threads end together */
};

typedef struct attention_job {
  const tt_cpu_attention *a;
  const tt_cpu_gemm_kernel *kernel;
  tt_cpu_dot first, last;
  const void *const *in;
  void *const *out;
  int64_t block, blocks; /* rows of one; of a batch */
  int64_t units;         /* a unit is a block */
  /* Scratch has scores, weights, what the products need, what the rows need, pointers. */
  int64_t scores_size, gemm_size, rows_size, each;
} attention_job;

/* Where row 0 would be if `at` is row `row`. */
static char *row_zero(char *at, int64_t row, int64_t row_size) {
  return (char *)((uintptr_t)at - (uintptr_t)(row * row_size));
}

/* The rows from `row` of all batches: scores to weights. */
static void run_rows(const attention_job *j, int64_t row, int64_t count, char *scores,
                     char *weights, char *scratch) {
  const tt_cpu_attention *a = j->a;
  const tt_cpu_rows *r = a->rows;
  int64_t row_size = r->row * (int64_t)sizeof(float);
  char **fixed = (char **)(void *)(scratch + j->rows_size);
  uint32_t in = 2, out = 0;
  for (uint32_t i = 0; i < r->ins; i++)
    fixed[i] = i == a->scores ? row_zero(scores, row, row_size) : (char *)j->in[in++];
  for (uint32_t i = 0; i < r->outs; i++)
    fixed[r->ins + i] = i == a->weights ? row_zero(weights, row, row_size) : j->out[out++];
  tt_cpu_rows_run_range(r, fixed, scratch, row, row + count);
}

static void run_unit(int64_t unit, void *of_group, void *user) {
  const attention_job *j = user;
  char *scratch = of_group;
  int64_t batch = unit / j->blocks, begin = unit % j->blocks * j->block;
  int64_t left = j->first.m - begin, count = left < j->block ? left : j->block;
  char *weights = j->a->over ? scratch : scratch + j->scores_size;
  char *products = weights + j->scores_size;
  tt_cpu_gemm first = tt_cpu_dot_gemm(&j->first, batch), last = tt_cpu_dot_gemm(&j->last, batch);
  first.m = last.m = count;
  first.a = (const float *)first.a + begin * first.a_m;
  first.c = scratch;
  last.a = weights;
  last.a_m = last.k;
  last.a_k = 1;
  last.c = (float *)last.c + begin * last.n_whole;
  j->kernel->run(&first, products);
  run_rows(j, batch * j->first.m + begin, count, scratch, weights, products + j->gemm_size);
  j->kernel->run(&last, products);
}

static int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

static void choose_block(attention_job *j) {
  int64_t m = j->first.m, tile = j->kernel->rows, least = TILES_LEAST * tile;
  int64_t fits = BLOCK_SIZE / (j->first.n * (int64_t)sizeof(float));
  int64_t wanted = UNITS_EACH * (int64_t)tt_cpu_threads() / j->first.batches;
  int64_t blocks = fits < 1 ? m : (m + fits - 1) / fits;
  blocks = blocks < wanted ? wanted : blocks;
  blocks = blocks > m / least ? m / least : blocks;
  blocks = blocks < 1 ? 1 : blocks;
  j->block = round_up((m + blocks - 1) / blocks, tile);
  j->blocks = (m + j->block - 1) / j->block;
  j->units = j->blocks * j->first.batches;
}

static void choose_sizes(attention_job *j) {
  const tt_cpu_rows *r = j->a->rows;
  int64_t first = tt_cpu_gemm_scratch(j->block, j->first.n, j->first.k, sizeof(float));
  int64_t last = tt_cpu_gemm_scratch(j->block, j->last.n, j->last.k, sizeof(float));
  j->scores_size = round_up(j->block * j->first.n * (int64_t)sizeof(float), TT_CPU_ALIGN);
  j->gemm_size = round_up(first > last ? first : last, TT_CPU_ALIGN);
  j->rows_size = round_up(r->scratch, TT_CPU_ALIGN);
  j->each = (j->a->over ? 1 : 2) * j->scores_size + j->gemm_size + j->rows_size +
            round_up((int64_t)(r->ins + r->outs) * (int64_t)sizeof(char *), TT_CPU_ALIGN);
}

tt_error *tt_cpu_kernel_attention(const tt_cpu_args *args) {
  const tt_cpu_step *step = args->run->step;
  const tt_cpu_attention *a = step->attention;
  attention_job j = {.a = a, .kernel = &tt_cpu_gemm_best()->f32, .in = args->in, .out = args->out};
  const void *last_in[2] = {args->in[0], args->in[step->ins - 1]}; /* weights have no place yet */
  tt_cpu_args first = {args->run, a->first, args->in, args->out, a->first_views};
  tt_cpu_args last = {args->run, args->op, last_in, args->out, a->last_views};
  TT_RETURN_IF_ERROR(tt_cpu_dot_prepare(&first, &j.first));
  TT_RETURN_IF_ERROR(tt_cpu_dot_prepare(&last, &j.last));
  j.last.out = args->out[step->outs - 1];
  choose_block(&j);
  choose_sizes(&j);
  double cost = 0.02 * (double)j.first.n * (double)(j.first.k + j.last.n) / 2 + a->rows->cost;
  cost *= (double)j.first.m * (double)j.first.batches;
  tt_cpu_units units = {
      .count = j.units,
      .groups_most = tt_cpu_parallel_pays(cost) ? 16 * (int64_t)tt_cpu_threads() : 1,
      .scratch = j.each,
      .cost = cost,
      .run = run_unit,
      .user = &j};
  return tt_cpu_run_units(args, &units);
}
