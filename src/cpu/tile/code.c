/* Tile programs as machine code: which there is, and how its calls go over spread inputs. */
#include <string.h>

#include "cpu/emit/emit.h"
#include "cpu/tile/tile.h"

/* An input that changes after fewer elements than this is written out. */
enum { RUN_LEAST = 64, POINTERS_MAX = 256 };

/* ---- making ---- */

/* A value of dtype `a` may be read as one of `b`: views rename dtypes, and in vectors only these
 * look alike. */
static bool reads_alike(tt_dtype a, tt_dtype b) {
  int bytes = tt_dtype_bytes(a);
  return a == b || (bytes == tt_dtype_bytes(b) && (bytes == 4 || bytes == 8) &&
                    !tt_dtype_is_complex(a) && !tt_dtype_is_complex(b));
}

static bool outputs_fit(const tt_cpu_tile *tile, const int32_t *outs) {
  for (uint32_t i = 0; i < tile->outs; i++)
    if (outs[i] < (int32_t)tile->ins)
      return false;
  return true;
}

static bool operands_fit(const tt_cpu_tile *tile, const tt_cpu_emit_op *ops,
                         const tt_dtype *dtypes) {
  for (uint32_t i = 0; i < tile->instructions_count; i++)
    for (uint32_t k = 0; k < 3; k++) {
      uint32_t value = ops[i].in[k];
      tt_dtype wanted = k == 0 && ops[i].code == TT_HLO_SELECT ? TT_PRED : ops[i].from;
      tt_dtype is = value < tile->ins ? dtypes[value] : ops[value - tile->ins].to;
      if (!reads_alike(is, wanted))
        return false;
    }
  return true;
}

static tt_cpu_spread spread_of(const tt_cpu_tile_in *in) {
  if (in->period == 0)
    return TT_CPU_SPREAD_DENSE;
  if (in->period == 1)
    return TT_CPU_SPREAD_SCALAR;
  if (in->inner == 1)
    return in->period < RUN_LEAST ? TT_CPU_SPREAD_WRITTEN : TT_CPU_SPREAD_ROW;
  return in->inner < RUN_LEAST ? TT_CPU_SPREAD_WRITTEN : TT_CPU_SPREAD_COLUMN;
}

static void fill_program(const tt_cpu_tile *tile, const tt_dtype *dtypes, const int32_t *outs,
                         const tt_cpu_emit_op *ops, tt_cpu_emit_in *in, tt_cpu_emit_out *out) {
  for (uint32_t i = 0; i < tile->ins; i++) {
    tt_cpu_spread spread = tile->in[i].spread;
    bool scalar = spread == TT_CPU_SPREAD_SCALAR || spread == TT_CPU_SPREAD_COLUMN;
    in[i] = (tt_cpu_emit_in){dtypes[i], scalar};
  }
  for (uint32_t i = 0; i < tile->outs; i++)
    out[i] = (tt_cpu_emit_out){ops[outs[i] - (int32_t)tile->ins].to, (uint16_t)outs[i],
                               TT_CPU_FOLD_NONE};
}

void tt_cpu_tile_add_code(tt_cpu_tile *tile, tt_cpu_code **codes, tt_arena *scratch,
                          const tt_cpu_emit_op *ops, const tt_dtype *dtypes, const int32_t *outs) {
  tt_cpu_emit_in *in = tt_arena_array(scratch, tile->ins, sizeof *in);
  tt_cpu_emit_out *out = tt_arena_array(scratch, tile->outs, sizeof *out);
  if (in == NULL || out == NULL || tile->ins + tile->outs > POINTERS_MAX ||
      !outputs_fit(tile, outs) || !operands_fit(tile, ops, dtypes))
    return;
  for (uint32_t i = 0; i < tile->ins; i++) {
    tile->in[i].spread = spread_of(&tile->in[i]);
    tile->walks = tile->walks || tile->in[i].spread > TT_CPU_SPREAD_SCALAR;
  }
  fill_program(tile, dtypes, outs, ops, in, out);
  tt_cpu_emit_program program = {in,         ops,        out, tile->ins, tile->instructions_count,
                                 tile->outs, tile->count};
  tile->code = tt_cpu_emit(&program, tt_cpu_isa_best(), scratch);
  if (tile->code != NULL) {
    tile->code->next = *codes;
    *codes = tile->code;
  }
}

/* How a row of an array of `count` elements reads an input. What begins again after some rows is
 * read by no pointer that goes on evenly. */
static bool row_input(const tt_cpu_tile_in *in, int64_t row, int64_t count, bool *out_scalar) {
  *out_scalar = in->period == 1 || (in->inner == row && in->period == count / row);
  return *out_scalar || in->period == 0 || (in->inner == 1 && in->period == row);
}

/* Values as ops see them, or those of inputs. */
static tt_dtype dtype_of(const tt_cpu_tile *tile, const tt_cpu_emit_op *ops, const tt_dtype *dtypes,
                         int32_t value) {
  return value < (int32_t)tile->ins ? dtypes[value] : ops[value - (int32_t)tile->ins].to;
}

bool tt_cpu_tile_add_row_code(const tt_cpu_tile *tile, tt_cpu_code **codes, tt_arena *scratch,
                              const tt_cpu_emit_op *ops, const tt_dtype *dtypes,
                              const int32_t *outs, const int32_t *folds, tt_cpu_tile_row *row) {
  tt_cpu_emit_in *in = tt_arena_array(scratch, tile->ins, sizeof *in);
  tt_cpu_emit_out *out = tt_arena_array(scratch, tile->outs + row->folds_count, sizeof *out);
  uint32_t count = 0;
  if (in == NULL || out == NULL || row->row < RUN_LEAST ||
      tile->ins + tile->outs + row->folds_count > POINTERS_MAX || !outputs_fit(tile, outs) ||
      !operands_fit(tile, ops, dtypes))
    return false;
  for (uint32_t i = 0; i < tile->ins; i++) {
    in[i].dtype = dtypes[i];
    if (!row_input(&tile->in[i], row->row, tile->count, &in[i].scalar))
      return false;
  }
  for (uint32_t i = 0; i < tile->outs; i++)
    if (!row->unwritten[i])
      out[count++] = (tt_cpu_emit_out){dtype_of(tile, ops, dtypes, outs[i]), (uint16_t)outs[i],
                                       TT_CPU_FOLD_NONE};
  for (uint32_t i = 0; i < row->folds_count; i++)
    out[count++] = (tt_cpu_emit_out){dtype_of(tile, ops, dtypes, folds[i]), (uint16_t)folds[i],
                                     row->folds[i].fold};
  tt_cpu_emit_program program = {in,    ops,     out, tile->ins, tile->instructions_count,
                                 count, row->row};
  row->code = tt_cpu_emit(&program, tt_cpu_isa_best(), scratch);
  if (row->code == NULL)
    return false;
  row->code->next = *codes;
  *codes = row->code;
  return true;
}

/* ---- which ops ---- */

static bool has_convert(tt_cpu_isa isa, tt_dtype from, tt_dtype to) {
  tt_cpu_loop loops[3];
  tt_dtype via[3];
  int steps = tt_cpu_convert_path(from, to, loops, via);
  bool has = true;
  for (int i = 0; i < steps; i++) {
    tt_cpu_emit_op op = {.code = TT_HLO_CONVERT, .from = i == 0 ? from : via[i - 1], .to = via[i]};
    has = has && tt_cpu_emit_has(&op, isa);
  }
  return has;
}

bool tt_cpu_tile_has_code(const tt_hlo_op *op) {
  tt_cpu_isa isa = tt_cpu_isa_best();
  tt_dtype result = op->results[0].type.dtype;
  if (isa == TT_CPU_ISA_BASE)
    return false;
  if (op->code == TT_HLO_CONVERT)
    return has_convert(isa, op->operands[0]->type.dtype, result);
  bool has = true;
  for (uint32_t i = 0; i < op->operands_count; i++) {
    tt_dtype is = op->operands[i]->type.dtype;
    has = has && has_convert(isa, is, tt_cpu_compute_dtype(op->code, is));
  }
  tt_dtype given = tt_cpu_compute_dtype(op->code, result);
  uint32_t typical = op->code == TT_HLO_SELECT || op->code == TT_HLO_CLAMP;
  tt_cpu_emit_op here = {.code = op->code,
                         .from = tt_cpu_compute_dtype(op->code, op->operands[typical]->type.dtype),
                         .to = given};
  return has && has_convert(isa, given, result) && tt_cpu_emit_has(&here, isa);
}

/* ---- running ---- */

/* Where a row or a column is. */
typedef struct walk {
  int64_t left;  /* elements until it begins again, or takes its next */
  int64_t index; /* of a column: the element */
} walk;

static void begin_walk(const tt_cpu_tile_in *in, const char *base, int64_t begin, walk *w,
                       void **pointer) {
  if (in->spread == TT_CPU_SPREAD_ROW) {
    w->left = in->period - begin % in->period;
    *pointer = (char *)base + begin % in->period * in->bytes;
  } else {
    w->index = begin / in->inner % in->period;
    w->left = in->inner - begin % in->inner;
    *pointer = (char *)base + w->index * in->bytes;
  }
}

static void step_walk(const tt_cpu_tile_in *in, const char *base, int64_t count, walk *w,
                      void **pointer) {
  w->left -= count;
  if (in->spread == TT_CPU_SPREAD_ROW) {
    *pointer = w->left == 0 ? (char *)base : (char *)*pointer + count * in->bytes;
    w->left = w->left == 0 ? in->period : w->left;
  } else if (w->left == 0) {
    w->left = in->inner;
    w->index = w->index + 1 == in->period ? 0 : w->index + 1;
    *pointer = (char *)base + w->index * in->bytes;
  }
}

/* The first run: where it ends, and every pointer but those of what is written out. */
static void begin_walks(const tt_cpu_tile *tile, const char *const *in, char *const *out,
                        int64_t begin, walk *walks, void **pointers) {
  for (uint32_t i = 0; i < tile->ins; i++) {
    const tt_cpu_tile_in *from = &tile->in[i];
    if (from->spread == TT_CPU_SPREAD_ROW || from->spread == TT_CPU_SPREAD_COLUMN)
      begin_walk(from, in[i], begin, &walks[i], &pointers[i]);
    else if (from->spread != TT_CPU_SPREAD_WRITTEN)
      pointers[i] = (char *)in[i] + (from->period == 0 ? begin * from->bytes : 0);
  }
  for (uint32_t i = 0; i < tile->outs; i++)
    pointers[tile->ins + i] = out[i] + begin * tile->out[i].bytes;
}

static void step_walks(const tt_cpu_tile *tile, const char *const *in, int64_t count, walk *walks,
                       void **pointers) {
  for (uint32_t i = 0; i < tile->ins; i++) {
    const tt_cpu_tile_in *from = &tile->in[i];
    if (from->spread == TT_CPU_SPREAD_ROW || from->spread == TT_CPU_SPREAD_COLUMN)
      step_walk(from, in[i], count, &walks[i], &pointers[i]);
    else if (from->spread == TT_CPU_SPREAD_DENSE)
      pointers[i] = (char *)pointers[i] + count * from->bytes;
  }
  for (uint32_t i = 0; i < tile->outs; i++)
    pointers[tile->ins + i] = (char *)pointers[tile->ins + i] + count * tile->out[i].bytes;
}

/* Run by run: up to the next end of a row or an element of a column; at most a tile where some
 * input is written out, to `buffers`. */
static void run_walks(const tt_cpu_tile *tile, const char *const *in, char *const *out,
                      int64_t begin, int64_t end, char *buffers) {
  walk walks[POINTERS_MAX];
  void *pointers[POINTERS_MAX];
  char *buffer = buffers;
  int64_t most = buffers == NULL ? end - begin : tile->length;
  begin_walks(tile, in, out, begin, walks, pointers);
  for (uint32_t i = 0; i < tile->ins; i++)
    if (tile->in[i].spread == TT_CPU_SPREAD_WRITTEN) {
      pointers[i] = buffer;
      buffer += tile->buffer;
    }
  for (int64_t at = begin, count; at < end; at += count) {
    count = end - at < most ? end - at : most;
    for (uint32_t i = 0; i < tile->ins; i++)
      if ((tile->in[i].spread == TT_CPU_SPREAD_ROW || tile->in[i].spread == TT_CPU_SPREAD_COLUMN) &&
          walks[i].left < count)
        count = walks[i].left;
    for (uint32_t i = 0; i < tile->ins && buffers != NULL; i++)
      if (tile->in[i].spread == TT_CPU_SPREAD_WRITTEN)
        tt_cpu_tile_spread(&tile->in[i], in[i], at, count, pointers[i]);
    tt_cpu_code_run(tile->code, pointers, count);
    step_walks(tile, in, count, walks, pointers);
  }
}

static __attribute__((noinline)) void run_written(const tt_cpu_tile *tile, const char *const *in,
                                                  char *const *out, int64_t begin, int64_t end) {
  _Alignas(64) char buffers[TT_CPU_TILE_SCRATCH];
  run_walks(tile, in, out, begin, end, buffers);
}

static bool writes_out(const tt_cpu_tile *tile) {
  for (uint32_t i = 0; i < tile->ins; i++)
    if (tile->in[i].spread == TT_CPU_SPREAD_WRITTEN)
      return true;
  return false;
}

void tt_cpu_tile_run_code(const tt_cpu_tile *tile, const char *const *in, char *const *out,
                          int64_t begin, int64_t end) {
  if (tile->walks) {
    (writes_out(tile) ? run_written(tile, in, out, begin, end)
                      : run_walks(tile, in, out, begin, end, NULL));
    return;
  }
  void *pointers[POINTERS_MAX];
  for (uint32_t i = 0; i < tile->ins; i++)
    pointers[i] = (char *)in[i] + (tile->in[i].period == 0 ? begin * tile->in[i].bytes : 0);
  for (uint32_t i = 0; i < tile->outs; i++)
    pointers[tile->ins + i] = out[i] + begin * tile->out[i].bytes;
  tt_cpu_code_run(tile->code, pointers, end - begin);
}
