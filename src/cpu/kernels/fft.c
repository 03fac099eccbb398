/* fft, in double: products of small primes by Stockham's method, other lengths as convolutions of
 * powers of two (Bluestein). Lines along each transformed axis, one after the other. */
#pragma GCC optimize("O3")
#include <math.h>
#include <string.h>

#include "cpu/kernels.h"

typedef struct number {
  double real, imag;
} number;

static inline number times(number a, number b) {
  return (number){a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}

/* A prime is small that is at most RADIX; an int64_t has at most FACTORS. */
enum { RADIX = 31, FACTORS = 64 };

/* Transforms of one length. */
typedef struct transform {
  int64_t n, padded; /* padded: the length that is worked in */
  int factors_count;
  int8_t factors[FACTORS]; /* of padded */
  number *roots;           /* exp(-2 pi i k / padded), k < padded */
  number *chirp,
      *filter; /* exp(-pi i k k / n); the filter's transform. NULL: n is what is worked in */
} transform;

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

/* ---- one factor: from[j, p, q] to[p, k, q], k a transform of j, times a root ---- */

/* What a pass goes over: p < parts, q < stride; parts * stride * the factor = padded. */
typedef struct pass {
  const transform *t;
  int64_t parts, stride;
} pass;

static void pass_two(const pass *s, const number *from, number *to) {
  for (int64_t p = 0; p < s->parts; p++) {
    number root = s->t->roots[p * s->stride];
    const number *a = from + s->stride * p, *b = from + s->stride * (p + s->parts);
    number *sum = to + s->stride * 2 * p, *difference = sum + s->stride;
    for (int64_t q = 0; q < s->stride; q++) {
      number d = {a[q].real - b[q].real, a[q].imag - b[q].imag};
      sum[q] = (number){a[q].real + b[q].real, a[q].imag + b[q].imag};
      difference[q] = times(d, root);
    }
  }
}

/* A transform of an odd length; x[j] and x[r - j] have the same cosines and opposite sines, and so
 * have the results. x: `x_step` apart; `circle`: the roots of r. */
static void transform_odd(int r, const number *circle, const number *x, int64_t x_step, number *y) {
  number sums[RADIX / 2 + 1], differences[RADIX / 2 + 1], first = x[0];
  y[0] = first;
  for (int j = 1; j <= r / 2; j++) {
    number a = x[j * x_step], b = x[(r - j) * x_step];
    sums[j] = (number){a.real + b.real, a.imag + b.imag};
    differences[j] = (number){a.real - b.real, a.imag - b.imag};
    y[0] = (number){y[0].real + sums[j].real, y[0].imag + sums[j].imag};
  }
  for (int k = 1; k <= r / 2; k++) {
    number even = first, odd = {0, 0};
    for (int j = 1, at = k; j <= r / 2; j++) {
      even.real += sums[j].real * circle[at].real;
      even.imag += sums[j].imag * circle[at].real;
      odd.real -= differences[j].imag * circle[at].imag;
      odd.imag += differences[j].real * circle[at].imag;
      at = at + k < r ? at + k : at + k - r;
    }
    y[k] = (number){even.real + odd.real, even.imag + odd.imag};
    y[r - k] = (number){even.real - odd.real, even.imag - odd.imag};
  }
}

static void pass_odd(const pass *s, int r, const number *from, number *to) {
  number circle[RADIX], y[RADIX];
  for (int k = 0; k < r; k++)
    circle[k] = s->t->roots[k * (s->t->padded / r)];
  for (int64_t p = 0; p < s->parts; p++)
    for (int64_t q = 0; q < s->stride; q++) {
      transform_odd(r, circle, from + s->stride * p + q, s->stride * s->parts, y);
      for (int64_t k = 0; k < r; k++)
        to[s->stride * (p * r + k) + q] = times(y[k], s->t->roots[p * s->stride * k]);
    }
}

/* In place with `spare`; the result is in x. */
static void stockham(const transform *t, number *x, number *spare) {
  number *from = x, *to = spare;
  pass s = {t, t->padded, 1};
  for (int i = 0; i < t->factors_count; i++) {
    s.parts /= t->factors[i];
    if (t->factors[i] == 2)
      pass_two(&s, from, to);
    else
      pass_odd(&s, t->factors[i], from, to);
    s.stride *= t->factors[i];
    number *swap = from;
    from = to;
    to = swap;
  }
  if (from != x)
    memcpy(x, from, (size_t)t->padded * sizeof *x);
}

static void conjugate(number *x, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    x[i].imag = -x[i].imag;
}

/* x has room for `padded` numbers. */
static void bluestein(const transform *t, number *x, number *spare) {
  for (int64_t i = 0; i < t->n; i++)
    x[i] = times(x[i], t->chirp[i]);
  memset(x + t->n, 0, (size_t)(t->padded - t->n) * sizeof *x);
  stockham(t, x, spare);
  for (int64_t i = 0; i < t->padded; i++)
    x[i] = times(x[i], t->filter[i]);
  conjugate(x, t->padded);
  stockham(t, x, spare);
  conjugate(x, t->n);
  for (int64_t i = 0; i < t->n; i++) {
    number y = times(x[i], t->chirp[i]);
    x[i] = (number){y.real / (double)t->padded, y.imag / (double)t->padded};
  }
}

static void transform_line(const transform *t, bool inverse, number *x, number *spare) {
  if (inverse)
    conjugate(x, t->n);
  if (t->chirp == NULL)
    stockham(t, x, spare);
  else
    bluestein(t, x, spare);
  if (inverse) {
    conjugate(x, t->n);
    for (int64_t i = 0; i < t->n; i++) {
      x[i].real /= (double)t->n;
      x[i].imag /= (double)t->n;
    }
  }
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
  stockham(t, t->filter, spare);
  return NULL;
}

/* Of a length that is not 0. False: a prime is not small. */
static bool find_factors(int64_t n, transform *t) {
  t->factors_count = 0;
  for (int8_t prime = 3; prime <= RADIX; prime += 2)
    for (; n % prime == 0; n /= prime)
      t->factors[t->factors_count++] = prime;
  for (; n % 2 == 0; n /= 2)
    t->factors[t->factors_count++] = 2;
  return n == 1;
}

static tt_error *begin(const tt_cpu_args *args, int64_t n, transform *t) {
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

/* All lines along one axis: [outer, n, inner], in place. */
typedef struct axis_job {
  transform t;
  bool inverse;
  number *data, *lines; /* lines: two of `padded` for each part */
  int64_t inner, count, each;
} axis_job;

static void axis_part(int64_t begin_part, int64_t end, void *user) {
  const axis_job *j = user;
  const transform *t = &j->t;
  for (int64_t part = begin_part; part < end; part++) {
    number *x = j->lines + part * 2 * t->padded, *spare = x + t->padded;
    for (int64_t i = part * j->each; i < (part + 1) * j->each && i < j->count; i++) {
      number *line = j->data + i / j->inner * t->n * j->inner + i % j->inner;
      for (int64_t k = 0; k < t->n; k++)
        x[k] = line[k * j->inner];
      transform_line(t, j->inverse, x, spare);
      for (int64_t k = 0; k < t->n; k++)
        line[k * j->inner] = x[k];
    }
  }
}

static tt_error *run_axis(const tt_cpu_args *args, number *data, const int64_t *dims, int32_t rank,
                          int32_t axis, bool inverse) {
  axis_job j = {.inverse = inverse, .data = data, .inner = 1, .count = 1};
  int64_t most = 4 * (int64_t)tt_cpu_threads(), size = 0;
  if (dims[axis] == 1)
    return NULL;
  TT_RETURN_IF_ERROR(begin(args, dims[axis], &j.t));
  for (int32_t i = 0; i < rank; i++) {
    j.count *= i == axis ? 1 : dims[i];
    j.inner *= i > axis ? dims[i] : 1;
  }
  j.each = (j.count + most - 1) / most;
  int64_t parts = (j.count + j.each - 1) / j.each;
  if (__builtin_mul_overflow(2 * parts, j.t.padded, &size))
    return tt_cpu_no_scratch(args->op, INT64_MAX);
  TT_RETURN_IF_ERROR(take(args, size, &j.lines));
  double cost = 10.0 * (double)j.t.padded * log2((double)j.t.padded + 1);
  tt_cpu_parallel(parts, cost * (double)j.each, axis_part, &j);
  return NULL;
}

/* The whole of a line from its first half: x[n - k] = conj x[k]. */
static void spread_half(const number *half, int64_t lines, int64_t n, number *out) {
  int64_t kept = n / 2 + 1;
  for (int64_t i = 0; i < lines; i++)
    for (int64_t k = 0; k < n; k++) {
      bool first = k < kept;
      number x = half[i * kept + (first ? k : n - k)];
      out[i * n + k] = (number){x.real, first ? x.imag : -x.imag};
      /* The imaginary parts that a real line cannot have are not looked at. */
      if (k == 0 || 2 * k == n)
        out[i * n + k].imag = 0;
    }
}

static tt_error *run_real(const tt_cpu_args *args, int64_t type, int32_t axes, number *data,
                          const int64_t *dims, int64_t count) {
  const tt_hlo_type *result = &args->op->results[0].type;
  int32_t rank = result->rank, last = rank - 1;
  bool inverse = type == TT_HLO_FFT_IRFFT;
  int64_t n = inverse ? result->dims[last] : dims[last], lines = count / dims[last];
  number *whole = data;
  if (inverse) {
    for (int32_t i = rank - axes; i < last; i++)
      TT_RETURN_IF_ERROR(run_axis(args, data, dims, rank, i, true));
    TT_RETURN_IF_ERROR(take(args, tt_cpu_count(result), &whole));
    spread_half(data, lines, n, whole);
    TT_RETURN_IF_ERROR(run_axis(args, whole, result->dims, rank, last, true));
    for (int64_t i = 0; i < lines * n; i++)
      tt_cpu_store(result->dtype, args->out[0], i, whole[i].real, 0);
    return NULL;
  }
  TT_RETURN_IF_ERROR(run_axis(args, data, dims, rank, last, false));
  for (int64_t i = 0; i < lines; i++)
    memmove(whole + i * (n / 2 + 1), data + i * n, (size_t)(n / 2 + 1) * sizeof *data);
  for (int32_t i = rank - axes; i < last; i++)
    TT_RETURN_IF_ERROR(run_axis(args, whole, result->dims, rank, i, false));
  tt_cpu_convert(TT_C128, whole, result->dtype, args->out[0], tt_cpu_count(result));
  return NULL;
}

tt_error *tt_cpu_kernel_fft(const tt_cpu_args *args) {
  const tt_hlo_type *operand = &args->op->operands[0]->type, *result = &args->op->results[0].type;
  int64_t type = tt_cpu_attr_i64(args->op, TT_HLO_FFT_TYPE, 0), count = tt_cpu_count(operand);
  int32_t axes = (int32_t)tt_cpu_attr_list(args->op, TT_HLO_FFT_LENGTH).count;
  number *data = NULL;
  if (tt_cpu_count(result) == 0 || count == 0)
    return NULL;
  TT_RETURN_IF_ERROR(take(args, count, &data));
  tt_cpu_convert(operand->dtype, args->in[0], TT_C128, data, count);
  if (type == TT_HLO_FFT_RFFT || type == TT_HLO_FFT_IRFFT)
    return run_real(args, type, axes, data, operand->dims, count);
  for (int32_t i = operand->rank - axes; i < operand->rank; i++)
    TT_RETURN_IF_ERROR(
        run_axis(args, data, operand->dims, operand->rank, i, type == TT_HLO_FFT_IFFT));
  tt_cpu_convert(TT_C128, data, result->dtype, args->out[0], count);
  return NULL;
}
