#include <string.h>

#include "cpu/emit/emit.h"
#include "cpu/kernel.h"
#include "cpu/tile/rows.h"

enum { SLOTS_MAX = 512, PARTS_EACH = 4 };

typedef struct rows_job {
  const tt_cpu_rows *rows;
  char *const *fixed; /* addresses of ins, then outs */
  int64_t part;       /* rows of one part */
  char *scratch;      /* of each part: a block's, then its sums of columns */
  int64_t scratch_each;
} rows_job;

static void run_tile(const tt_cpu_rows *r, const tt_cpu_rows_phase *phase, char *const *at,
                     int64_t begin, int64_t end) {
  const tt_cpu_tile *tile = phase->tile;
  if (tile->instructions_count == 0)
    return;
  const void *in[SLOTS_MAX];
  void *out[SLOTS_MAX];
  int64_t each = phase->each ? 1 : r->row;
  for (uint32_t i = 0; i < tile->ins; i++)
    in[i] = at[phase->slots[i]];
  for (uint32_t i = 0; i < tile->outs; i++)
    out[i] = at[phase->slots[tile->ins + i]];
  tt_cpu_tile_run_range(tile, in, out, begin * each, end * each);
}

static void run_rows(const tt_cpu_rows *r, const tt_cpu_rows_phase *phase, char *const *at,
                     int64_t begin, int64_t end) {
  void *pointers[SLOTS_MAX];
  for (uint32_t i = 0; i < phase->row_pointers; i++)
    pointers[i] = at[phase->row_slots[i]] + begin * phase->row_steps[i];
  for (int64_t row = begin; row < end; row++) {
    tt_cpu_code_run(phase->row_code, pointers, r->row);
    for (uint32_t i = 0; i < phase->row_pointers; i++)
      pointers[i] = (char *)pointers[i] + phase->row_steps[i];
  }
}

/* The result of a reduction is what it begins with, then the elements. */
static void begin_with(const tt_cpu_rows_phase *phase, char *sums, int64_t count) {
  char pair[32];
  memcpy(pair, phase->init, (size_t)phase->bytes);
  for (int64_t i = 0; i < count; i++) {
    memcpy(pair + phase->bytes, sums + i * phase->bytes, (size_t)phase->bytes);
    phase->reducer.row(pair, 2, sums + i * phase->bytes);
  }
}

static void reduce_rows(const tt_cpu_rows *r, const tt_cpu_rows_phase *phase, char *const *at,
                        int64_t begin, int64_t end) {
  const char *in = at[phase->slots[0]];
  char *out = at[phase->slots[1]];
  for (int64_t i = begin; i < end && !phase->folded; i++)
    phase->reducer.row(in + i * r->row * phase->bytes, r->row, out + i * phase->bytes);
  if (!phase->folded || !phase->plain)
    begin_with(phase, out + begin * phase->bytes, end - begin);
}

/* The sums of a part's first block, or what its next ones add to them. */
static void reduce_columns(const tt_cpu_rows *r, const tt_cpu_rows_phase *phase, char *const *at,
                           int64_t begin, int64_t end, bool first, char *sums) {
  const char *in = at[phase->slots[0]] + begin * r->row * phase->bytes;
  char *to = sums + phase->part, *next = to + r->row * phase->bytes;
  phase->reducer.columns(in, end - begin, r->row, r->row, first ? to : next);
  if (!first)
    phase->reducer.columns(to, 2, r->row, r->row, to);
}

static void run_block(const rows_job *j, char *scratch, int64_t begin, int64_t end, bool first) {
  const tt_cpu_rows *r = j->rows;
  char *at[SLOTS_MAX], *sums = scratch + r->scratch;
  for (uint32_t i = 0; i < r->slots_count; i++) {
    const tt_cpu_rows_slot *slot = &r->slots[i];
    if (slot->place == TT_CPU_ROWS_SCRATCH) /* as if all rows were there */
      at[i] = (char *)((uintptr_t)(scratch + slot->offset) - (uintptr_t)(begin * slot->stride));
    else
      at[i] = j->fixed[slot->place == TT_CPU_ROWS_IN ? slot->index : r->ins + slot->index];
  }
  for (uint32_t i = 0; i < r->phases_count; i++) {
    const tt_cpu_rows_phase *phase = &r->phases[i];
    if (phase->row_code != NULL)
      run_rows(r, phase, at, begin, end);
    else if (phase->kind == TT_CPU_ROWS_TILE)
      run_tile(r, phase, at, begin, end);
    else if (phase->kind == TT_CPU_ROWS_REDUCE)
      reduce_rows(r, phase, at, begin, end);
    else
      reduce_columns(r, phase, at, begin, end, first, sums);
  }
}

bool tt_cpu_rows_divide(const tt_cpu_rows *r) { return r->sums == 0; }

void tt_cpu_rows_run_range(const tt_cpu_rows *r, char *const *fixed, char *scratch, int64_t begin,
                           int64_t end) {
  const rows_job j = {.rows = r, .fixed = fixed};
  for (int64_t at = begin; at < end; at += r->block)
    run_block(&j, scratch, at, at + r->block < end ? at + r->block : end, at == begin);
}

static void run_parts(int64_t begin, int64_t end, void *user) {
  const rows_job *j = user;
  const tt_cpu_rows *r = j->rows;
  for (int64_t part = begin; part < end; part++) {
    int64_t first = part * j->part;
    int64_t last = first + j->part < r->rows ? first + j->part : r->rows;
    for (int64_t at = first; at < last; at += r->block)
      run_block(j, j->scratch + part * j->scratch_each, at,
                at + r->block < last ? at + r->block : last, at == first);
  }
}

/* The sums of all parts, in their order. */
static void finish_columns(const rows_job *j, int64_t parts) {
  const tt_cpu_rows *r = j->rows;
  for (uint32_t i = 0; i < r->phases_count; i++) {
    const tt_cpu_rows_phase *phase = &r->phases[i];
    if (phase->kind != TT_CPU_ROWS_REDUCE_COLUMNS)
      continue;
    char *out = j->fixed[r->ins + r->slots[phase->slots[1]].index];
    const char *sums = j->scratch + r->scratch + phase->part;
    phase->reducer.columns(sums, parts, j->scratch_each / phase->bytes, r->row, out);
    begin_with(phase, out, r->row);
  }
}

bool tt_cpu_rows_run(const tt_cpu_rows *r, tt_cpu_run *run, const void *const *in, void *const *out,
                     int64_t *out_size) {
  char *fixed[SLOTS_MAX];
  int64_t blocks = (r->rows + r->block - 1) / r->block;
  int64_t parts = (double)r->rows * r->cost < 20e3 ? 1 : PARTS_EACH * (int64_t)tt_cpu_threads();
  parts = parts > blocks ? blocks : parts;
  rows_job j = {.rows = r, .fixed = fixed};
  j.part = (blocks + parts - 1) / parts * r->block;
  parts = (r->rows + j.part - 1) / j.part;
  j.scratch_each = (r->scratch + r->sums + 63) / 64 * 64;
  *out_size = j.scratch_each * parts;
  j.scratch = tt_cpu_scratch(run, *out_size);
  if (j.scratch == NULL)
    return false;
  for (uint32_t i = 0; i < r->ins; i++)
    fixed[i] = (char *)in[i];
  for (uint32_t i = 0; i < r->outs; i++)
    fixed[r->ins + i] = out[i];
  tt_cpu_parallel(parts, (double)j.part * r->cost, run_parts, &j);
  finish_columns(&j, parts);
  return true;
}

/* Phases read `in` as it stands, and before `out` is written; within the phase that writes it, as
 * its tile does. */
static bool reads_before(const tt_cpu_rows *r, const tt_cpu_rows_phase *phase, uint32_t in,
                         uint32_t out, bool *written) {
  bool writes = false;
  uint32_t ins = phase->kind == TT_CPU_ROWS_TILE ? phase->tile->ins : 1;
  uint32_t outs = phase->kind == TT_CPU_ROWS_TILE ? phase->tile->outs : 1, first = 0;
  for (uint32_t i = ins; i < ins + outs; i++) {
    const tt_cpu_rows_slot *slot = &r->slots[phase->slots[i]];
    if (slot->place != TT_CPU_ROWS_OUT || slot->index != out)
      continue;
    writes = true;
    first = i - ins;
  }
  for (uint32_t i = 0; i < ins; i++) {
    if (phase->slots[i] != in) /* inputs have the first slots */
      continue;
    if (*written || (phase->kind != TT_CPU_ROWS_TILE && writes))
      return false;
    if (phase->kind != TT_CPU_ROWS_TILE)
      continue;
    const tt_cpu_tile *tile = phase->tile;
    if (tile->in[i].period > 0 || phase->each)
      return false;
    if (writes &&
        (tile->in[i].bytes != tile->out[first].bytes || tile->in[i].last > tile->out[first].first))
      return false;
  }
  *written = *written || writes;
  return true;
}

bool tt_cpu_rows_over(const tt_cpu_rows *r, uint32_t in, uint32_t out) {
  bool written = false;
  for (uint32_t i = 0; i < r->phases_count; i++)
    if (!reads_before(r, &r->phases[i], in, out, &written))
      return false;
  return true;
}
