/* fft, in double: products of small primes by Stockham's method, other lengths as convolutions of
 * powers of two (Bluestein). Lines along each transformed axis, several side by side (fft.inc). The
 * first axis is read from the operand, the last written to the result; between them all is c128. */
#pragma GCC optimize("O3")
#include <math.h>
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/fft.h"

typedef tt_cpu_fft_number number;
typedef tt_cpu_fft transform;

/* exp(-2 pi i k / n), 0 <= k < n: the angle is brought to an eighth of the circle, where sin and
 * cos are exact to their last bits. */
static number root_of(int64_t k, int64_t n) {
  bool below = 2 * k > n;
  int64_t part = 2 * (below ? n - k : k); /* the angle is pi part / n */
  bool left = 2 * part > n;
  part = 2 * (left ? n - part : part); /* pi / 2 part / n */
  bool steep = 2 * part > n;
  double angle = 3.14159265358979323846 / 2 * (double)(steep ? n - part : part) / (double)n;
  double along = steep ? sin(angle) : cos(angle), across = steep ? cos(angle) : sin(angle);
  return (number){left ? -along : along, below ? across : -across};
}

static tt_error *take(const tt_cpu_args *args, int64_t count, number **out) {
  int64_t size = 0;
  bool fits = !__builtin_mul_overflow(count, (int64_t)sizeof **out, &size);
  *out = fits ? tt_cpu_scratch(args->run, size) : NULL;
  return *out == NULL ? tt_cpu_no_scratch(args->op, fits ? size : INT64_MAX) : NULL;
}

/* The filter is exp(pi i k k / n) at k and -k; k k is taken modulo 2 n, step by step. */
static tt_error *begin_bluestein(const tt_cpu_args *args, transform *t) {
  number *spare = NULL;
  TT_RETURN_IF_ERROR(take(args, t->n, &t->chirp));
  TT_RETURN_IF_ERROR(take(args, t->padded, &t->filter));
  TT_RETURN_IF_ERROR(take(args, t->padded, &spare));
  memset(t->filter, 0, (size_t)t->padded * sizeof *t->filter);
  for (int64_t k = 0, square = 0; k < t->n; k++) {
    t->chirp[k] = root_of(square, 2 * t->n);
    t->filter[k] = (number){t->chirp[k].real, -t->chirp[k].imag};
    if (k > 0)
      t->filter[t->padded - k] = t->filter[k];
    square = (square + 2 * k + 1) % (2 * t->n);
  }
  tt_cpu_fft plain = *t; /* of the padded length itself */
  plain.n = t->padded;
  plain.chirp = plain.filter = NULL;
  tt_cpu_fft_line.run(&plain, false, (double *)t->filter, (double *)spare);
  return NULL;
}

/* Of a length that is not 0. False: a prime is not small. */
static bool find_factors(int64_t n, transform *t) {
  t->factors_count = 0;
  for (int prime = 3; prime <= TT_CPU_FFT_RADIX; prime += 2)
    for (; n % prime == 0; n /= prime)
      t->factors[t->factors_count++] = (int8_t)prime;
  for (; n % 4 == 0; n /= 4)
    t->factors[t->factors_count++] = 4;
  for (; n % 2 == 0; n /= 2)
    t->factors[t->factors_count++] = 2;
  return n == 1;
}

static tt_error *begin_transform(const tt_cpu_args *args, int64_t n, transform *t) {
  *t = (transform){.n = n, .padded = n};
  if (n > INT64_C(1) << 40)
    return tt_cpu_no_scratch(args->op, INT64_MAX);
  bool whole = find_factors(n, t);
  if (!whole) {
    for (t->padded = 1; t->padded < 2 * n - 1;)
      t->padded *= 2;
    find_factors(t->padded, t);
  }
  TT_RETURN_IF_ERROR(take(args, t->padded, &t->roots));
  for (int64_t k = 0; k < t->padded; k++) {
    bool first = 2 * k <= t->padded;
    number root = first ? root_of(k, t->padded) : t->roots[t->padded - k];
    t->roots[k] = (number){root.real, first ? root.imag : -root.imag};
  }
  return whole ? NULL : begin_bluestein(args, t);
}

/* ---- lines in arrays ---- */

/* [outer, kept, inner]: lines along the middle axis. */
typedef struct lines_view {
  tt_dtype dtype;
  char *data;
  int64_t kept, inner;
} lines_view;

static int64_t line_at(const lines_view *v, int64_t line) {
  return line / v->inner * v->kept * v->inner + line % v->inner;
}

enum { BLOCK = 32 }; /* numbers of each line that are moved together: then they stay in L1 */

/* Where lines from `first` on begin; those beyond the last are the same as it. */
static void find_lines(const lines_view *v, int64_t first, int64_t lines, int lanes, int64_t *at) {
  for (int l = 0; l < lanes; l++)
    at[l] = line_at(v, first + l < lines ? first + l : lines - 1);
}

/* PARTS: of an element. */
#define LOAD(T, PARTS, INNER)                                               \
  for (int64_t k0 = 0; k0 < v->kept; k0 += BLOCK)                           \
    for (int l = 0; l < lanes; l++) {                                       \
      const T *from = (const T *)v->data + PARTS * at[l];                   \
      int64_t k1 = k0 + BLOCK < v->kept ? k0 + BLOCK : v->kept;             \
      for (int64_t k = k0; k < k1; k++) {                                   \
        x[2 * k * lanes + l] = (double)from[PARTS * k * (INNER)];           \
        x[(2 * k + 1) * lanes + l] =                                        \
            PARTS == 2 ? (double)from[PARTS * k * (INNER) + PARTS - 1] : 0; \
      }                                                                     \
    }

#define STORE(T, PARTS, INNER)                                                 \
  for (int64_t k0 = 0; k0 < v->kept; k0 += BLOCK)                              \
    for (int l = 0; l < lanes; l++) {                                          \
      T *to = (T *)v->data + PARTS * at[l];                                    \
      int64_t k1 = k0 + BLOCK < v->kept ? k0 + BLOCK : v->kept;                \
      for (int64_t k = k0; k < k1; k++) {                                      \
        to[PARTS * k * (INNER)] = (T)x[2 * k * lanes + l];                     \
        if (PARTS == 2)                                                        \
          to[PARTS * k * (INNER) + PARTS - 1] = (T)x[(2 * k + 1) * lanes + l]; \
      }                                                                        \
    }

/* Lines whose numbers lie side by side have loops of their own, and so have eight lanes. */
#define EACH_DTYPE(WHAT, INNER) \
  switch (v->dtype) {           \
    case TT_F32:                \
      WHAT(float, 1, INNER)     \
      break;                    \
    case TT_F64:                \
      WHAT(double, 1, INNER)    \
      break;                    \
    case TT_C64:                \
      WHAT(float, 2, INNER)     \
      break;                    \
    default:                    \
      WHAT(double, 2, INNER)    \
  }

static inline __attribute__((always_inline)) void load_lanes(const lines_view *v, const int64_t *at,
                                                             int lanes, double *x) {
  if (v->inner == 1)
    EACH_DTYPE(LOAD, 1)
  else
    EACH_DTYPE(LOAD, v->inner)
}

static inline __attribute__((always_inline)) void store_lanes(const lines_view *v,
                                                              const int64_t *at, int lanes,
                                                              const double *x) {
  if (v->inner == 1)
    EACH_DTYPE(STORE, 1)
  else
    EACH_DTYPE(STORE, v->inner)
}

static void load_lines(const lines_view *v, int64_t first, int64_t lines, int lanes, double *x) {
  int64_t at[TT_CPU_FFT_LANES];
  find_lines(v, first, lines, lanes, at);
  if (lanes == 8)
    load_lanes(v, at, 8, x);
  else
    load_lanes(v, at, lanes, x);
}

/* Those beyond the last write what it does. */
static void store_lines(const lines_view *v, int64_t first, int64_t lines, int lanes,
                        const double *x) {
  int64_t at[TT_CPU_FFT_LANES];
  find_lines(v, first, lines, lanes, at);
  if (lanes == 8)
    store_lanes(v, at, 8, x);
  else
    store_lanes(v, at, lanes, x);
}

/* The whole of lines from their first halves: x[n - k] = conj x[k]. The imaginary parts that a real
 * line cannot have are not looked at. */
static void spread_half(double *x, int64_t n, int lanes) {
  for (int64_t k = 0; k < n; k++)
    for (int l = 0; l < lanes; l++) {
      double *real = &x[2 * k * lanes + l], *imag = real + lanes;
      if (k == 0 || 2 * k == n)
        *imag = 0;
      if (2 * k <= n)
        continue;
      *real = x[2 * (n - k) * lanes + l];
      *imag = -x[(2 * (n - k) + 1) * lanes + l];
    }
}

/* ---- one axis ---- */

typedef struct axis_job {
  const tt_cpu_fft_kernel *kernel;
  transform t;
  bool inverse;
  lines_view from, to;
  double *scratch; /* two lines of `padded` numbers in all lanes, for each part */
  int64_t lines, groups, each;
} axis_job;

static void run_group(const axis_job *j, int64_t first, double *x, double *spare) {
  const tt_cpu_fft_kernel *kernel = j->kernel;
  load_lines(&j->from, first, j->lines, kernel->lanes, x);
  if (j->from.kept < j->t.n)
    spread_half(x, j->t.n, kernel->lanes);
  kernel->run(&j->t, j->inverse, x, spare);
  store_lines(&j->to, first, j->lines, kernel->lanes, x);
}

static void axis_part(int64_t begin, int64_t end, void *user) {
  const axis_job *j = user;
  int64_t size = 2 * j->t.padded * j->kernel->lanes;
  for (int64_t part = begin; part < end; part++) {
    double *x = j->scratch + part * 2 * size;
    for (int64_t i = part * j->each; i < (part + 1) * j->each && i < j->groups; i++)
      run_group(j, i * j->kernel->lanes, x, x + size);
  }
}

/* Lines of `n` numbers; dims but that of `axis` are those of both arrays. In place where `from` and
 * `to` are one array. */
static tt_error *run_axis(const tt_cpu_args *args, lines_view from, lines_view to,
                          const int64_t *dims, int32_t rank, int32_t axis, int64_t n,
                          bool inverse) {
  axis_job j = {.inverse = inverse, .from = from, .to = to, .lines = 1};
  int64_t most = 4 * (int64_t)tt_cpu_threads(), size = 0;
  TT_RETURN_IF_ERROR(begin_transform(args, n, &j.t));
  j.from.inner = 1;
  for (int32_t i = 0; i < rank; i++) {
    j.lines *= i == axis ? 1 : dims[i];
    j.from.inner *= i > axis ? dims[i] : 1;
  }
  j.to.inner = j.from.inner;
  j.kernel = j.lines == 1 ? &tt_cpu_fft_line : tt_cpu_fft_lanes();
  j.groups = (j.lines + j.kernel->lanes - 1) / j.kernel->lanes;
  j.each = (j.groups + most - 1) / most;
  int64_t parts = (j.groups + j.each - 1) / j.each;
  number *scratch = NULL;
  if (__builtin_mul_overflow(2 * parts * j.kernel->lanes, j.t.padded, &size))
    return tt_cpu_no_scratch(args->op, INT64_MAX);
  TT_RETURN_IF_ERROR(take(args, size, &scratch));
  j.scratch = (double *)scratch;
  double cost = 10.0 * (double)j.t.padded * log2((double)j.t.padded + 1);
  tt_cpu_parallel(parts, cost * (double)j.each, axis_part, &j);
  return NULL;
}

/* ---- the op ---- */

/* The axes in the order in which they are transformed: that which is real on one side is the first
 * or the last. */
static int32_t axis_number(int64_t type, int32_t rank, int32_t axes, int32_t i) {
  if (type != TT_HLO_FFT_RFFT)
    return rank - axes + i;
  return i == 0 ? rank - 1 : rank - axes + i - 1;
}

tt_error *tt_cpu_kernel_fft(const tt_cpu_args *args) {
  const tt_hlo_type *operand = &args->op->operands[0]->type, *result = &args->op->results[0].type;
  int64_t type = tt_cpu_attr_i64(args->op, TT_HLO_FFT_TYPE, 0);
  int32_t axes = (int32_t)tt_cpu_attr_list(args->op, TT_HLO_FFT_LENGTH).count;
  int32_t rank = operand->rank;
  bool inverse = type == TT_HLO_FFT_IFFT || type == TT_HLO_FFT_IRFFT;
  /* Between the axes there are as many numbers as on the side that is not real, or fewer. */
  const tt_hlo_type *middle = type == TT_HLO_FFT_RFFT ? result : operand;
  int64_t n = 0;
  number *data = NULL;
  lines_view from = {.dtype = operand->dtype, .data = (char *)args->in[0]};
  if (tt_cpu_count(result) == 0 || tt_cpu_count(operand) == 0)
    return NULL;
  if (axes > 1)
    TT_RETURN_IF_ERROR(take(args, tt_cpu_count(middle), &data));
  for (int32_t i = 0; i < axes; i++) {
    int32_t axis = axis_number(type, rank, axes, i);
    lines_view to = {.dtype = TT_C128, .data = (char *)data};
    if (i == axes - 1)
      to = (lines_view){.dtype = result->dtype, .data = args->out[0]};
    from.kept = i == 0 ? operand->dims[axis] : middle->dims[axis];
    to.kept = i == axes - 1 ? result->dims[axis] : middle->dims[axis];
    n = from.kept > to.kept ? from.kept : to.kept;
    TT_RETURN_IF_ERROR(run_axis(args, from, to, middle->dims, rank, axis, n, inverse));
    from = to;
  }
  return NULL;
}
