/* conv.h: phases, blocks and threads. */
#include <string.h>

#include "cpu/kernels/conv.h"
#include "cpu/tile/tile.h"

enum {
  K_MOST = 512,            /* of a block: a packed sliver of rows stays in L1 */
  COLUMNS_FLOATS = 220000, /* of a packed block of columns: it stays in L2 */
  PACKED_MOST = 1 << 26,   /* floats of filters packed before all, where that is a choice */
  RESULT_FLOATS = 100000,  /* of a block of the result that is moved to its place later */
  PHASES_MOST = 64,
  PARTS_EACH = 4, /* of the work, for each thread */
  SPATIAL = TT_CPU_CONV_SPATIAL,
};
static const double FLOPS_EACH_NS = 100;

const tt_cpu_conv_kernels *tt_cpu_conv_best(void) {
#if defined(__x86_64__)
  switch (tt_cpu_isa_best()) {
    case TT_CPU_ISA_AVX512:
      return &tt_cpu_conv_avx512;
    case TT_CPU_ISA_AVX2:
      return &tt_cpu_conv_avx2;
    default:
      break;
  }
#endif
  return NULL;
}

/* One phase, and how it is cut: rows into slivers of the register tile's, columns into panels, k
 * into blocks. */
typedef struct conv_phase {
  tt_cpu_conv_view view;   /* of the first group */
  bool features_inner;     /* features are the columns */
  bool direct;             /* tiles go to the result at once */
  int64_t position_stride; /* direct: between rows; 0: column offsets are those of positions */
  int64_t rows, columns, slivers, panels;
  int64_t block_channels, block_taps, channel_blocks, tap_blocks;
  int64_t sliver_parts, panel_parts, chunk; /* chunk: panels at a time */
  int64_t sliver_chunk;
  int64_t first_item, items;
  bool filter_packed; /* once, before all */
  int64_t packed_at, packed_each;
} conv_phase;

typedef struct conv_job {
  const tt_cpu_conv *conv;
  const tt_cpu_conv_kernels *kernels;
  conv_phase *phases;
  int64_t phases_count, items, slots, slot_items;
  float *packed; /* filters */
  char *scratch;
  int64_t scratch_each;
  int64_t columns_at, rows_at, result_at, offsets_at; /* in a slot's scratch */
} conv_job;

static int64_t up(int64_t n, int64_t d) { return (n + d - 1) / d; }
static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t most(int64_t x, int64_t y) { return x > y ? x : y; }

/* ---- phases ---- */

bool tt_cpu_conv_takes(const tt_cpu_conv *c) {
  const tt_cpu_conv_view *v = &c->whole;
  int64_t phases = 1, reach = 0, limit = INT32_MAX / 4;
  if (tt_cpu_conv_best() == NULL || v->spatial > SPATIAL || c->in_count > INT32_MAX / 2 ||
      c->filter_count > INT32_MAX || c->out_count > INT32_MAX)
    return false;
  for (int32_t i = 0; i < v->spatial; i++) {
    if (c->in_dilation[i] > 1) {
      if (v->step[i] != 1 || c->in_dilation[i] > PHASES_MOST)
        return false;
      phases *= least(c->in_dilation[i], v->out_dims[i]);
    }
    if (c->low[i] > limit || c->low[i] < -limit || v->step[i] > limit / v->out_dims[i] ||
        c->filter_dilation[i] > limit / v->tap_dims[i])
      return false;
    reach +=
        v->in_stride[i] * (v->out_dims[i] * v->step[i] + v->tap_dims[i] * c->filter_dilation[i] +
                           (c->low[i] < 0 ? -c->low[i] : c->low[i]));
    if (reach > INT32_MAX / 2)
      return false;
  }
  return phases <= PHASES_MOST;
}

/* The taps of one axis that phase `phase` of its positions meets; where the input is read. NULL:
 * they are only counted. */
static int64_t axis_taps(const tt_cpu_conv *c, int32_t i, int64_t phase, int32_t *shift,
                         int64_t *tap) {
  int64_t count = 0, d = c->in_dilation[i];
  for (int64_t k = 0; k < c->whole.tap_dims[i]; k++) {
    int64_t turned = c->reversed[i] ? c->whole.tap_dims[i] - 1 - k : k;
    int64_t at = phase + turned * c->filter_dilation[i] - c->low[i];
    if (at % d != 0)
      continue;
    if (shift != NULL) {
      shift[count] = (int32_t)(at / d);
      tap[count] = k;
    }
    count++;
  }
  return count;
}

static void list_taps(const tt_cpu_conv *c, tt_cpu_conv_view *v, int64_t *const *tap,
                      int32_t *filter_at) {
  int64_t at[SPATIAL] = {0};
  v->filter_dense = true;
  v->filter_at = filter_at;
  for (int64_t t = 0; t < v->taps; t++, tt_cpu_conv_next(v->tap_dims, v->spatial, at)) {
    int64_t offset = 0;
    for (int32_t i = 0; i < v->spatial; i++)
      offset += tap[i][at[i]] * c->filter_stride[i];
    filter_at[t] = (int32_t)offset;
    v->filter_dense = v->filter_dense && offset == t;
  }
}

/* The lanes by which patches are read with the fewest loads. */
static void choose_lanes(tt_cpu_conv_view *v) {
  int32_t last = v->spatial - 1;
  v->lanes = TT_CPU_CONV_BY_POSITION;
  v->batch_minor = v->in_batch == 1 && v->in_channel != 1 && v->batch > 1;
  if (v->in_channel == 1 && v->channels >= 8)
    v->lanes = TT_CPU_CONV_BY_CHANNEL;
  else if (!v->batch_minor && last >= 0 && v->in_stride[last] == 1 &&
           v->tap_dims[last] > v->out_dims[last])
    v->lanes = TT_CPU_CONV_BY_K;
}

static tt_error *make_phase(const tt_cpu_conv *c, const int64_t *phase, conv_phase *p) {
  tt_cpu_conv_view *v = &p->view;
  int64_t *tap[SPATIAL] = {NULL}, taps = 1;
  *v = c->whole;
  v->places = v->taps = 1;
  for (int32_t i = 0; i < v->spatial; i++) {
    int64_t n = most(axis_taps(c, i, phase[i], NULL, NULL), 1);
    int32_t *shift = tt_cpu_scratch(c->args->run, n * (int64_t)sizeof *shift);
    tap[i] = tt_cpu_scratch(c->args->run, n * (int64_t)sizeof *tap[i]);
    if (shift == NULL || tap[i] == NULL)
      return tt_cpu_no_scratch(c->args->op, n * (int64_t)sizeof *tap[i]);
    v->shift[i] = shift;
    v->tap_dims[i] = axis_taps(c, i, phase[i], shift, tap[i]);
    v->out += phase[i] * v->out_stride[i];
    v->out_dims[i] = up(v->out_dims[i] - phase[i], c->in_dilation[i]);
    v->out_stride[i] *= c->in_dilation[i];
    v->places *= v->out_dims[i];
    v->taps *= v->tap_dims[i];
  }
  taps = most(v->taps, 1);
  int32_t *filter_at = tt_cpu_scratch(c->args->run, taps * (int64_t)sizeof *filter_at);
  if (filter_at == NULL)
    return tt_cpu_no_scratch(c->args->op, taps * (int64_t)sizeof *filter_at);
  list_taps(c, v, tap, filter_at);
  choose_lanes(v);
  return NULL;
}

/* ---- how a phase is cut ---- */

/* The one stride between positions, in their order; 0: there is none. */
static int64_t one_stride(const tt_cpu_conv_view *v) {
  int64_t stride = 0, next = 0;
  for (int32_t i = v->spatial; i >= -1; i--) {
    bool batch = i == (v->batch_minor ? v->spatial : -1);
    if (!batch && (i < 0 || i == v->spatial))
      continue;
    int64_t dim = batch ? v->batch : v->out_dims[i], s = batch ? v->out_batch : v->out_stride[i];
    if (dim == 1)
      continue;
    if (stride == 0)
      stride = next = s;
    if (s != next)
      return 0;
    next = s * dim;
  }
  return stride == 0 ? 1 : stride;
}

/* Each 16 positions from a multiple of 16 on lie side by side. */
static bool in_vectors(const tt_cpu_conv_view *v) {
  tt_cpu_conv_view image = *v;
  image.batch = 1;
  image.batch_minor = false;
  return !v->batch_minor && v->places % 16 == 0 && one_stride(&image) == 1;
}

static void choose_columns(conv_phase *p, int64_t tile_rows) {
  const tt_cpu_conv_view *v = &p->view;
  int64_t positions = v->batch * v->places, stride = one_stride(v);
  p->features_inner = v->out_feature == 1 && v->features >= 16 && !(stride == 1 && positions > 1);
  p->rows = p->features_inner ? positions : v->features;
  p->columns = p->features_inner ? v->features : positions;
  p->slivers = up(p->rows, tile_rows);
  p->panels = up(p->columns, TT_CPU_CONV_COLUMNS);
  p->position_stride = stride;
  p->direct = p->features_inner ? stride != 0 : stride == 1 || in_vectors(v);
}

static void choose_blocks(conv_phase *p) {
  const tt_cpu_conv_view *v = &p->view;
  int64_t k = K_MOST;
  if (p->features_inner)
    k = most(64, least(K_MOST, 2 * COLUMNS_FLOATS / (p->panels * TT_CPU_CONV_COLUMNS)));
  p->block_taps = v->taps <= k ? most(v->taps, 1) : k;
  p->block_channels = v->taps <= k ? most(k / p->block_taps, 1) : 1;
  if (p->block_channels > 16)
    p->block_channels = p->block_channels / 16 * 16;
  p->block_channels = least(p->block_channels, v->channels);
  p->channel_blocks = up(v->channels, p->block_channels);
  p->tap_blocks = up(v->taps, p->block_taps);
}

/* The longer side is parted first: a part packs the other side for itself, but that a filter which
 * several need is packed before. */
static void choose_parts(conv_phase *p, int64_t tile_rows, int64_t parts) {
  int64_t k = p->block_channels * p->block_taps;
  int64_t slivers = most(1, p->slivers / 2),
          panels_most = p->features_inner ? p->panels : most(1, p->panels / 2);
  if (p->rows > p->columns) {
    p->sliver_parts = least(parts, slivers);
    p->panel_parts = least(up(parts, p->sliver_parts), panels_most);
  } else {
    p->panel_parts = least(parts, panels_most);
    p->sliver_parts = least(up(parts, p->panel_parts), slivers);
  }
  int64_t positions = p->features_inner ? p->sliver_parts : p->panel_parts;
  int64_t panels = up(p->panels, p->panel_parts);
  p->chunk = p->features_inner ? panels
                               : most(1, least(panels, COLUMNS_FLOATS / (k * TT_CPU_CONV_COLUMNS)));
  p->filter_packed = p->features_inner || positions * up(panels, p->chunk) > 1;
  p->sliver_chunk = p->slivers;
  if (!p->direct)
    p->sliver_chunk = most(1, RESULT_FLOATS / (tile_rows * p->chunk * TT_CPU_CONV_COLUMNS));
}

static void cut_phase(conv_job *j, conv_phase *p) {
  int64_t parts = up(PARTS_EACH * tt_cpu_threads(), j->conv->groups * j->phases_count);
  choose_columns(p, j->kernels->rows);
  choose_blocks(p);
  choose_parts(p, j->kernels->rows, tt_cpu_threads() == 1 ? 1 : parts);
  p->first_item = j->items;
  p->items = p->sliver_parts * p->panel_parts;
  j->items += p->items * j->conv->groups;
  p->packed_each =
      p->view.taps * p->view.channels *
      (p->features_inner ? p->panels * TT_CPU_CONV_COLUMNS : p->slivers * TT_CPU_CONV_PITCH);
  if (!p->features_inner && p->packed_each > PACKED_MOST / j->conv->groups)
    p->filter_packed = false;
}

/* ---- one part ---- */

/* Group `group` of a phase. */
static tt_cpu_conv_view group_view(const conv_job *j, const conv_phase *p, int64_t group) {
  tt_cpu_conv_view v = p->view;
  v.in += group * j->conv->in_group;
  v.filter += group * j->conv->filter_group;
  v.out += group * j->conv->out_group;
  return v;
}

static tt_cpu_conv_block block_at(const conv_phase *p, int64_t i) {
  const tt_cpu_conv_view *v = &p->view;
  if (p->tap_blocks == 0)
    return (tt_cpu_conv_block){0, 0, 0, 0};
  int64_t channel = i / p->tap_blocks * p->block_channels, tap = i % p->tap_blocks * p->block_taps;
  return (tt_cpu_conv_block){channel, least(p->block_channels, v->channels - channel), tap,
                             least(p->block_taps, v->taps - tap)};
}

/* ks before a block, in the order of blocks. */
static int64_t ks_before(const conv_phase *p, const tt_cpu_conv_block *b) {
  return b->channel * p->view.taps + b->channels * b->tap;
}

static int64_t sliver_begin(const conv_phase *p, int64_t i) { return i * p->rows / p->slivers; }

/* A range of slivers and of panels; what is packed of it. */
typedef struct conv_part {
  const conv_job *j;
  const conv_phase *p;
  tt_cpu_conv_view v;
  const float *packed; /* the group's filter, or NULL */
  float *columns, *rows, *result;
  int32_t *offsets;
  int64_t sliver, sliver_end, panel, panel_end;
} conv_part;

static const float *columns_of(const conv_part *t, const tt_cpu_conv_block *b) {
  const conv_phase *p = t->p;
  int64_t k = b->channels * b->taps;
  if (p->features_inner)
    return t->packed + ks_before(p, b) * p->panels * TT_CPU_CONV_COLUMNS +
           t->panel * k * TT_CPU_CONV_COLUMNS;
  for (int64_t i = t->panel; i < t->panel_end; i++) {
    int64_t first = i * TT_CPU_CONV_COLUMNS;
    t->j->kernels->pack_patches(&t->v, b, first, least(p->columns - first, TT_CPU_CONV_COLUMNS),
                                TT_CPU_CONV_COLUMNS,
                                t->columns + (i - t->panel) * k * TT_CPU_CONV_COLUMNS);
  }
  return t->columns;
}

static const float *rows_of(const conv_part *t, const tt_cpu_conv_block *b, int64_t sliver) {
  const conv_phase *p = t->p;
  int64_t first = sliver_begin(p, sliver), count = sliver_begin(p, sliver + 1) - first;
  if (p->features_inner)
    t->j->kernels->pack_patches(&t->v, b, first, count, TT_CPU_CONV_PITCH, t->rows);
  else if (t->packed != NULL)
    return t->packed +
           (ks_before(p, b) * p->slivers + sliver * b->channels * b->taps) * TT_CPU_CONV_PITCH;
  else
    t->j->kernels->pack_filter(&t->v, b, first, count, TT_CPU_CONV_PITCH, t->rows);
  return t->rows;
}

static int64_t position_at(const tt_cpu_conv_view *v, int64_t position) {
  int64_t place[SPATIAL] = {0};
  int64_t batch = v->batch_minor ? position % v->batch : position / v->places,
          at = batch * v->out_batch;
  tt_cpu_conv_split(v->out_dims, v->spatial,
                    v->batch_minor ? position / v->batch : position % v->places, place);
  for (int32_t i = 0; i < v->spatial; i++)
    at += place[i] * v->out_stride[i];
  return at;
}

static uint16_t column_mask(int64_t count) {
  return count >= 16 ? 0xffff : count <= 0 ? 0 : (uint16_t)((1u << count) - 1);
}

/* Where the tile of a sliver and a panel is written. */
static void place_tile(const conv_part *t, int64_t row, int64_t panel, tt_cpu_conv_tile *tile) {
  const conv_phase *p = t->p;
  int64_t column = panel * TT_CPU_CONV_COLUMNS, left = p->columns - column;
  tile->mask0 = column_mask(left);
  tile->mask1 = column_mask(left - 16);
  if (!p->direct) {
    int64_t width = (t->panel_end - t->panel) * TT_CPU_CONV_COLUMNS;
    tile->c0 = t->result + (row - sliver_begin(p, t->sliver)) * width + column -
               t->panel * TT_CPU_CONV_COLUMNS;
    tile->c1 = tile->c0 + 16;
    tile->c_row = width;
  } else if (p->features_inner) {
    tile->c0 = t->v.out + row * p->position_stride + column;
    tile->c1 = tile->c0 + 16;
    tile->c_row = p->position_stride;
  } else {
    float *out = t->v.out + row * t->v.out_feature;
    tile->c0 = out + (p->position_stride == 1 ? column : position_at(&t->v, column));
    tile->c1 = left <= 16                ? tile->c0
               : p->position_stride == 1 ? tile->c0 + 16
                                         : out + position_at(&t->v, column + 16);
    tile->c_row = t->v.out_feature;
  }
}

static void move_rows(const conv_part *t) {
  const conv_phase *p = t->p;
  int64_t width = (t->panel_end - t->panel) * TT_CPU_CONV_COLUMNS,
          first = t->panel * TT_CPU_CONV_COLUMNS, columns = least(width, p->columns - first);
  bool dense = true;
  for (int64_t i = 0; i < columns; i++) {
    int64_t at = p->features_inner ? (first + i) * t->v.out_feature : position_at(&t->v, first + i);
    t->offsets[i] = (int32_t)at;
    dense = dense && at == t->offsets[0] + i;
  }
  int64_t row = sliver_begin(p, t->sliver), end = sliver_begin(p, t->sliver_end);
  const float *from = t->result;
  for (; row < end; row++, from += width) {
    float *out = t->v.out + (p->features_inner ? position_at(&t->v, row) : row * t->v.out_feature);
    if (dense)
      memcpy(out + t->offsets[0], from, (size_t)columns * sizeof *out);
    else
      for (int64_t i = 0; i < columns; i++)
        out[t->offsets[i]] = from[i];
  }
}

/* All ks of a part that fits in its scratch. */
static void run_chunk(const conv_part *t) {
  const conv_phase *p = t->p;
  int64_t blocks = most(1, p->channel_blocks * p->tap_blocks);
  for (int64_t i = 0; i < blocks; i++) {
    tt_cpu_conv_block b = block_at(p, i);
    int64_t k = b.channels * b.taps;
    const float *columns = columns_of(t, &b);
    for (int64_t s = t->sliver; s < t->sliver_end; s++) {
      int64_t row = sliver_begin(p, s), rows = sliver_begin(p, s + 1) - row;
      tt_cpu_conv_tile tile = {.k = k, .a = rows_of(t, &b, s), .b = columns, .add = i > 0};
      for (int64_t panel = t->panel; panel < t->panel_end;
           panel++, tile.b += k * TT_CPU_CONV_COLUMNS) {
        place_tile(t, row, panel, &tile);
        t->j->kernels->tile(rows, &tile);
      }
    }
  }
  if (!p->direct)
    move_rows(t);
}

static void run_part(conv_part *t, int64_t sliver_end, int64_t panel_end) {
  const conv_phase *p = t->p;
  int64_t first = t->panel;
  for (; t->sliver < sliver_end; t->sliver = t->sliver_end) {
    t->sliver_end = least(t->sliver + p->sliver_chunk, sliver_end);
    for (t->panel = first; t->panel < panel_end; t->panel = t->panel_end) {
      t->panel_end = least(t->panel + p->chunk, panel_end);
      run_chunk(t);
    }
  }
}

static const conv_phase *phase_of(const conv_job *j, int64_t item) {
  const conv_phase *p = j->phases;
  while (p + 1 < j->phases + j->phases_count && p[1].first_item <= item)
    p++;
  return p;
}

static void run_item(const conv_job *j, int64_t item, char *scratch) {
  const conv_phase *p = phase_of(j, item);
  item -= p->first_item;
  int64_t group = item / p->items, part = item % p->items;
  int64_t sliver = part / p->panel_parts, panel = part % p->panel_parts;
  conv_part t = {.j = j,
                 .p = p,
                 .v = group_view(j, p, group),
                 .columns = (float *)(scratch + j->columns_at),
                 .rows = (float *)(scratch + j->rows_at),
                 .result = (float *)(scratch + j->result_at),
                 .offsets = (int32_t *)(scratch + j->offsets_at),
                 .sliver = sliver * p->slivers / p->sliver_parts,
                 .panel = panel * p->panels / p->panel_parts};
  if (p->filter_packed)
    t.packed = j->packed + p->packed_at + group * p->packed_each;
  run_part(&t, (sliver + 1) * p->slivers / p->sliver_parts,
           (panel + 1) * p->panels / p->panel_parts);
}

static void run_slots(int64_t begin, int64_t end, void *user) {
  const conv_job *j = user;
  for (int64_t i = begin; i < end; i++)
    for (int64_t item = i * j->slot_items; item < least((i + 1) * j->slot_items, j->items); item++)
      run_item(j, item, j->scratch + i * j->scratch_each);
}

/* ---- the filter, packed once ---- */

/* An item is a sliver or panel of a block of a group. */
typedef struct pack_job {
  const conv_job *j;
  const conv_phase *p;
} pack_job;

static void pack_items(int64_t begin, int64_t end, void *user) {
  const pack_job *job = user;
  const conv_phase *p = job->p;
  int64_t pieces = p->features_inner ? p->panels : p->slivers,
          width = p->features_inner ? TT_CPU_CONV_COLUMNS : TT_CPU_CONV_PITCH;
  int64_t blocks = p->channel_blocks * p->tap_blocks;
  for (int64_t i = begin; i < end; i++) {
    int64_t group = i / (blocks * pieces), block = i / pieces % blocks, piece = i % pieces;
    tt_cpu_conv_view v = group_view(job->j, p, group);
    tt_cpu_conv_block b = block_at(p, block);
    int64_t first = p->features_inner ? piece * TT_CPU_CONV_COLUMNS : sliver_begin(p, piece);
    int64_t count = p->features_inner ? least(p->columns - first, TT_CPU_CONV_COLUMNS)
                                      : sliver_begin(p, piece + 1) - first;
    float *to = job->j->packed + p->packed_at + group * p->packed_each +
                (ks_before(p, &b) * pieces + piece * b.channels * b.taps) * width;
    job->j->kernels->pack_filter(&v, &b, first, count, width, to);
  }
}

static tt_error *pack_filters(conv_job *j) {
  int64_t floats = 0;
  for (int64_t i = 0; i < j->phases_count; i++) {
    j->phases[i].packed_at = floats;
    if (j->phases[i].filter_packed)
      floats += j->phases[i].packed_each * j->conv->groups;
  }
  if (floats == 0)
    return NULL;
  j->packed = tt_cpu_scratch(j->conv->args->run, floats * (int64_t)sizeof(float));
  if (j->packed == NULL)
    return tt_cpu_no_scratch(j->conv->args->op, floats * (int64_t)sizeof(float));
  for (int64_t i = 0; i < j->phases_count; i++) {
    const conv_phase *p = &j->phases[i];
    pack_job job = {j, p};
    int64_t pieces = p->features_inner ? p->panels : p->slivers,
            items = pieces * p->channel_blocks * p->tap_blocks * j->conv->groups;
    if (p->filter_packed && items > 0)
      tt_cpu_parallel(items, 0.5 * (double)p->packed_each * (double)j->conv->groups / (double)items,
                      pack_items, &job);
  }
  return NULL;
}

/* ---- all ---- */

static int64_t aligned(int64_t floats) { return (floats * 4 + 127) / 64 * 64; }

static tt_error *take_scratch(conv_job *j) {
  int64_t columns = 0, rows = 0, result = 0, offsets = 0;
  for (int64_t i = 0; i < j->phases_count; i++) {
    const conv_phase *p = &j->phases[i];
    int64_t k = p->block_channels * p->block_taps, width = p->chunk * TT_CPU_CONV_COLUMNS;
    if (!p->features_inner)
      columns = most(columns, k * width);
    rows = most(rows, k * TT_CPU_CONV_PITCH);
    if (!p->direct)
      result = most(result, least(p->sliver_chunk, p->slivers) * j->kernels->rows * width);
    offsets = most(offsets, width);
  }
  j->columns_at = 0;
  j->rows_at = aligned(columns);
  j->result_at = j->rows_at + aligned(rows);
  j->offsets_at = j->result_at + aligned(result);
  j->scratch_each = j->offsets_at + aligned(offsets);
  j->slots = least(j->items, 2 * PARTS_EACH * (int64_t)tt_cpu_threads());
  j->slot_items = up(j->items, j->slots);
  j->slots = up(j->items, j->slot_items);
  j->scratch = tt_cpu_scratch(j->conv->args->run, j->scratch_each * j->slots);
  return j->scratch == NULL ? tt_cpu_no_scratch(j->conv->args->op, j->scratch_each * j->slots)
                            : NULL;
}

static tt_error *make_phases(conv_job *j) {
  const tt_cpu_conv *c = j->conv;
  int64_t dims[SPATIAL], phase[SPATIAL] = {0};
  j->phases_count = 1;
  for (int32_t i = 0; i < c->whole.spatial; i++) {
    dims[i] = least(c->in_dilation[i], c->whole.out_dims[i]);
    j->phases_count *= dims[i];
  }
  j->phases = tt_cpu_scratch(c->args->run, j->phases_count * (int64_t)sizeof *j->phases);
  if (j->phases == NULL)
    return tt_cpu_no_scratch(c->args->op, j->phases_count * (int64_t)sizeof *j->phases);
  for (int64_t i = 0; i < j->phases_count; i++) {
    j->phases[i] = (conv_phase){0};
    TT_RETURN_IF_ERROR(make_phase(c, phase, &j->phases[i]));
    tt_cpu_conv_next(dims, c->whole.spatial, phase);
  }
  return NULL;
}

/* One channel and one feature in each group. An item is some positions of one. */
typedef struct depth_job {
  const conv_job *j;
  const conv_phase *p;
  int64_t parts;
} depth_job;

static void depth_items(int64_t begin, int64_t end, void *user) {
  const depth_job *d = user;
  const conv_phase *p = d->p;
  int64_t positions = p->view.batch * p->view.places;
  for (int64_t i = begin; i < end; i++) {
    tt_cpu_conv_view v = group_view(d->j, p, i / d->parts);
    int64_t first = i % d->parts * positions / d->parts,
            last = (i % d->parts + 1) * positions / d->parts;
    d->j->kernels->depth(&v, first, last - first);
  }
}

static void run_depth(const conv_job *j) {
  for (int64_t i = 0; i < j->phases_count; i++) {
    const conv_phase *p = &j->phases[i];
    int64_t positions = p->view.batch * p->view.places;
    depth_job d = {j, p, up(positions, 1024)};
    tt_cpu_parallel(j->conv->groups * d.parts,
                    (double)least(positions, 1024) * (0.2 * (double)p->view.taps + 4), depth_items,
                    &d);
  }
}

tt_error *tt_cpu_conv_run(const tt_cpu_conv *c) {
  conv_job j = {.conv = c, .kernels = tt_cpu_conv_best()};
  TT_RETURN_IF_ERROR(make_phases(&j));
  if (c->whole.channels == 1 && c->whole.features == 1) {
    run_depth(&j);
    return NULL;
  }
  double flops = 0;
  for (int64_t i = 0; i < j.phases_count; i++) {
    conv_phase *p = &j.phases[i];
    cut_phase(&j, p);
    flops += 2.0 * (double)p->rows * (double)p->columns * (double)p->view.taps *
             (double)(p->view.channels * c->groups);
  }
  TT_RETURN_IF_ERROR(pack_filters(&j));
  TT_RETURN_IF_ERROR(take_scratch(&j));
  tt_cpu_parallel(j.slots, flops / FLOPS_EACH_NS / (double)j.slots, run_slots, &j);
  return NULL;
}
