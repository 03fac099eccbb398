#include <string.h>

#include "cpu/kernel.h"
#include "cpu/tile/tile.h"

enum { SLOTS_MAX = 512 };

typedef struct tile_job {
  const tt_cpu_tile *tile;
  const char *const *in;
  char *const *out;
} tile_job;

/* Runs are often a few elements, as of an image's planes: no call for each. */
static inline void fill_run(char *to, const char *from, int64_t count, int64_t bytes) {
  typedef uint32_t words __attribute__((vector_size(16)));
  uint32_t x = 0;
  if (bytes != 4) {
    tt_cpu_fill(to, from, count, (int)bytes);
    return;
  }
  memcpy(&x, from, sizeof x);
  words four = {x, x, x, x};
  for (; count >= 4; count -= 4, to += 16)
    memcpy(to, &four, 16);
  for (; count > 0; count--, to += 4)
    memcpy(to, &x, 4);
}

void tt_cpu_tile_spread(const tt_cpu_tile_in *in, const char *from, int64_t begin, int64_t count,
                        char *to) {
  int64_t bytes = in->bytes;
  if (in->inner == 1) { /* rows: whole runs of the period */
    int64_t at = begin % in->period;
    for (int64_t done = 0, run; done < count; done += run, at = 0) {
      run = in->period - at < count - done ? in->period - at : count - done;
      if (in->period == 1) {
        tt_cpu_fill(to, from, count, in->bytes);
        return;
      }
      memcpy(to + done * bytes, from + at * bytes, (size_t)(run * bytes));
    }
    return;
  }
  int64_t at = begin / in->inner % in->period, skip = begin % in->inner;
  for (int64_t done = 0, run; done < count; done += run, skip = 0) {
    run = in->inner - skip < count - done ? in->inner - skip : count - done;
    fill_run(to + done * bytes, from + at * bytes, run, bytes);
    at = at + 1 == in->period ? 0 : at + 1;
  }
}

/* All elements of [begin, end) are spread from one, so that a buffer filled with it may stay. */
static bool stays(const tt_cpu_tile_in *in, int64_t begin, int64_t end) {
  return in->inner > 1 && begin / in->inner == (end - 1) / in->inner;
}

static void run_instructions(const tt_cpu_tile *tile, char *const *slots, int64_t count) {
  for (uint32_t i = 0; i < tile->instructions_count; i++) {
    const tt_cpu_instruction *at = &tile->instructions[i];
    tt_cpu_loop_args args = {
        count, slots[at->out], {slots[at->in[0]], slots[at->in[1]], slots[at->in[2]]}, at->op};
    at->loop(&args);
  }
}

/* Spread inputs have a buffer each, behind those of the registers. A scalar's is filled once. */
static void run_tiles(const tt_cpu_tile *tile, const tile_job *job, int64_t begin, int64_t end) {
  _Alignas(64) char buffers[TT_CPU_TILE_SCRATCH];
  char *slots[SLOTS_MAX], *free_at = buffers;
  uint32_t base = tile->ins + tile->outs;
  int64_t length = tile->length < end - begin ? tile->length : end - begin;
  for (uint32_t i = base; i < tile->slots; i++, free_at += tile->buffer)
    slots[i] = free_at;
  for (uint32_t i = 0; i < tile->ins; i++)
    if (tile->in[i].period > 0) {
      slots[i] = free_at;
      free_at += tile->buffer;
      if (tile->in[i].period == 1)
        tt_cpu_fill(slots[i], job->in[i], length, tile->in[i].bytes);
    }
  for (int64_t at = begin; at < end; at += length) {
    int64_t count = end - at < length ? end - at : length;
    for (uint32_t i = 0; i < tile->ins; i++) {
      const tt_cpu_tile_in *in = &tile->in[i];
      if (in->period == 0)
        slots[i] = (char *)job->in[i] + at * in->bytes;
      else if (in->period > 1 && !(at > begin && stays(in, at - length, at + count)))
        tt_cpu_tile_spread(in, job->in[i], at, count, slots[i]);
    }
    for (uint32_t i = 0; i < tile->outs; i++)
      slots[tile->ins + i] = job->out[i] + at * tile->out[i].bytes;
    run_instructions(tile, slots, count);
  }
}

/* One loop over memory needs no tiles. */
static void run_direct(const tt_cpu_tile *tile, const tile_job *job, int64_t begin, int64_t end) {
  const tt_cpu_instruction *only = &tile->instructions[0];
  tt_cpu_loop_args args = {end - begin, job->out[0] + begin * tile->out[0].bytes, {0}, only->op};
  for (uint32_t i = 0; i < 3; i++)
    args.in[i] = job->in[only->in[i]] + begin * tile->in[only->in[i]].bytes;
  only->loop(&args);
}

static void run_part(int64_t begin, int64_t end, void *user) {
  const tile_job *job = user;
  const tt_cpu_tile *tile = job->tile;
  if (tile->code != NULL)
    tt_cpu_tile_run_code(tile, job->in, job->out, begin, end);
  else if (tile->direct)
    run_direct(tile, job, begin, end);
  else if (tile->instructions_count == 0)
    tt_cpu_tile_spread(&tile->in[0], job->in[0], begin, end - begin,
                       job->out[0] + begin * tile->out[0].bytes);
  else
    run_tiles(tile, job, begin, end);
}

void tt_cpu_tile_run_range(const tt_cpu_tile *tile, const void *const *in, void *const *out,
                           int64_t begin, int64_t end) {
  tile_job job = {tile, (const char *const *)in, (char *const *)out};
  run_part(begin, end, &job);
}

/* Parts are whole cache lines of every output. */
enum { GRAIN = 64 };

static void run_grains(int64_t begin, int64_t end, void *user) {
  const tile_job *job = user;
  int64_t count = job->tile->count;
  run_part(begin * GRAIN, end * GRAIN < count ? end * GRAIN : count, user);
}

void tt_cpu_tile_run(const tt_cpu_tile *tile, const void *const *in, void *const *out) {
  tile_job job = {tile, (const char *const *)in, (char *const *)out};
  if (tile->count <= TT_CPU_TILE) {
    if (tile->count > 0)
      run_part(0, tile->count, &job);
    return;
  }
  tt_cpu_parallel((tile->count + GRAIN - 1) / GRAIN, tile->cost * GRAIN, run_grains, &job);
}
