#pragma GCC optimize("O3")
#include "cpu/kernels/move.h"

#include <string.h>

#include "cpu/kernels/by_size.h"

static bool joins(const tt_cpu_move *m, int32_t outer, int32_t inner) {
  return m->in[outer] == m->in[inner] * m->dims[inner] &&
         m->out[outer] == m->out[inner] * m->dims[inner];
}

void tt_cpu_move_simplify(tt_cpu_move *m) {
  int32_t rank = 0;
  for (int32_t i = 0; i < m->rank; i++) {
    if (m->dims[i] == 1)
      continue;
    if (rank > 0 && joins(m, rank - 1, i)) {
      /* Placed below as the joined axis. */
      m->dims[rank - 1] *= m->dims[i];
      m->in[rank - 1] = m->in[i];
      m->out[rank - 1] = m->out[i];
      continue;
    }
    m->dims[rank] = m->dims[i];
    m->in[rank] = m->in[i];
    m->out[rank] = m->out[i];
    rank++;
  }
  m->rank = rank;
}

/* ---- one row ---- */

#define ROW(T)                            \
  do {                                    \
    const T *from_ = (const T *)in;       \
    T *to_ = (T *)out;                    \
    if (to == 1)                          \
      for (int64_t i = 0; i < count; i++) \
        to_[i] = from_[i * from];         \
    else                                  \
      for (int64_t i = 0; i < count; i++) \
        to_[i * to] = from_[i * from];    \
  } while (0)

static void copy_row(int64_t count, const char *in, int64_t from, char *out, int64_t to,
                     int bytes) {
  if (from == 1 && to == 1) {
    memcpy(out, in, (size_t)(count * bytes));
    return;
  }
  if (from == 0 && to == 1) {
    tt_cpu_fill(out, in, count, bytes);
    return;
  }
  TT_CPU_BY_SIZE(bytes, ROW)
}

/* ---- a plane whose rows are columns in the other view: in blocks, so that lines are reused ----
 */

enum { BLOCK = 16 };

#define PLANE(T)                                                  \
  do {                                                            \
    const T *from_ = (const T *)in;                               \
    T *to_ = (T *)out;                                            \
    for (int64_t i0 = 0; i0 < rows; i0 += BLOCK)                  \
      for (int64_t j0 = 0; j0 < columns; j0 += BLOCK) {           \
        int64_t i1 = i0 + BLOCK < rows ? i0 + BLOCK : rows;       \
        int64_t j1 = j0 + BLOCK < columns ? j0 + BLOCK : columns; \
        for (int64_t i = i0; i < i1; i++)                         \
          for (int64_t j = j0; j < j1; j++)                       \
            to_[i * out_row + j] = from_[i + j * in_column];      \
      }                                                           \
  } while (0)

/* out[i, j] = in[j, i]. */
static void copy_plane(int64_t rows, int64_t columns, const char *in, int64_t in_column, char *out,
                       int64_t out_row, int bytes) {
  TT_CPU_BY_SIZE(bytes, PLANE)
}

/* ---- all ---- */

/* The axis that is contiguous in `in` when the last, contiguous in `out`, is not; -1: none. */
static int32_t plane_axis(const tt_cpu_move *m) {
  int32_t last = m->rank - 1;
  if (last < 1 || m->out[last] != 1 || m->in[last] == 1 || m->in[last] == 0 || m->dims[last] < 4)
    return -1;
  for (int32_t i = 0; i < last; i++)
    if (m->in[i] == 1 && m->dims[i] >= 4)
      return i;
  return -1;
}

typedef struct move_job {
  const tt_cpu_move *move;
  const char *in;
  char *out;
  int32_t plane, outer[TT_HLO_RANK_MAX], outer_count;
} move_job;

static void begin_job(const tt_cpu_move *m, const void *in, void *out, move_job *job) {
  job->move = m;
  job->in = (const char *)in + m->offset * m->bytes;
  job->out = (char *)out + m->out_offset * m->bytes;
  job->plane = plane_axis(m);
  job->outer_count = 0;
  for (int32_t i = 0; i < m->rank - 1; i++)
    if (i != job->plane)
      job->outer[job->outer_count++] = i;
}

/* Items are what remains when the inner axis, or plane, is taken away. */
static void run_items(int64_t begin, int64_t end, void *user) {
  const move_job *job = user;
  const tt_cpu_move *m = job->move;
  int32_t last = m->rank - 1;
  int64_t at[TT_HLO_RANK_MAX] = {0}, from = 0, to = 0, rest = begin;
  for (int32_t k = job->outer_count; k-- > 0;) {
    int32_t axis = job->outer[k];
    at[k] = rest % m->dims[axis];
    rest /= m->dims[axis];
    from += at[k] * m->in[axis];
    to += at[k] * m->out[axis];
  }
  for (int64_t item = begin; item < end; item++) {
    const char *in = job->in + from * m->bytes;
    char *out = job->out + to * m->bytes;
    if (job->plane >= 0)
      copy_plane(m->dims[job->plane], m->dims[last], in, m->in[last], out, m->out[job->plane],
                 m->bytes);
    else
      copy_row(m->dims[last], in, m->in[last], out, m->out[last], m->bytes);
    for (int32_t k = job->outer_count; k-- > 0;) {
      int32_t axis = job->outer[k];
      from += m->in[axis];
      to += m->out[axis];
      if (++at[k] < m->dims[axis])
        break;
      from -= m->in[axis] * m->dims[axis];
      to -= m->out[axis] * m->dims[axis];
      at[k] = 0;
    }
  }
}

static int64_t count_items(const move_job *job, int64_t *out_size) {
  const tt_cpu_move *m = job->move;
  int64_t items = 1, size = m->dims[m->rank - 1] * (job->plane >= 0 ? m->dims[job->plane] : 1);
  for (int32_t k = 0; k < job->outer_count; k++)
    items *= m->dims[job->outer[k]];
  *out_size = size;
  return items;
}

static bool is_empty(const tt_cpu_move *m) {
  for (int32_t i = 0; i < m->rank; i++)
    if (m->dims[i] == 0)
      return true;
  return false;
}

void tt_cpu_move_serial(const tt_cpu_move *m, const void *in, void *out) {
  move_job job;
  int64_t size = 0;
  if (is_empty(m))
    return;
  if (m->rank == 0) {
    memcpy((char *)out + m->out_offset * m->bytes, (const char *)in + m->offset * m->bytes,
           (size_t)m->bytes);
    return;
  }
  begin_job(m, in, out, &job);
  int64_t items = count_items(&job, &size);
  run_items(0, items, &job);
}

void tt_cpu_move_run(const tt_cpu_move *m, const void *in, void *out) {
  move_job job;
  int64_t size = 0;
  if (m->rank == 0 || is_empty(m)) {
    tt_cpu_move_serial(m, in, out);
    return;
  }
  tt_cpu_move split = *m;
  /* One row, or one plane, alone: its first axis in pieces. */
  if (m->rank == 1 && m->dims[0] >= 1 << 17) {
    int64_t pieces = 64, piece = m->dims[0] / pieces;
    split.rank = 2;
    split.dims[0] = pieces;
    split.dims[1] = piece;
    split.in[1] = m->in[0];
    split.out[1] = m->out[0];
    split.in[0] = m->in[0] * piece;
    split.out[0] = m->out[0] * piece;
    tt_cpu_move rest = *m;
    rest.dims[0] = m->dims[0] - pieces * piece;
    rest.offset += pieces * piece * m->in[0];
    rest.out_offset += pieces * piece * m->out[0];
    tt_cpu_move_serial(&rest, in, out);
  }
  begin_job(&split, in, out, &job);
  int64_t items = count_items(&job, &size);
  double cost = (double)size * (job.plane >= 0 ? 0.8 : split.in[split.rank - 1] == 1 ? 0.1 : 0.5);
  tt_cpu_parallel(items, cost + 5, run_items, &job);
}
