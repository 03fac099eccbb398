/* dot_general: any form as a batch of products [m, k] x [k, n].
 *
 * The free and contracting axes of an operand are one axis with one stride wherever they lie
 * evenly; then the product's packing absorbs every transpose. Otherwise the operand is copied
 * first. Floats narrower than f32 are widened and sum in f32, if oneDNN does not take them;
 * integers in s32 or s64; complex numbers sum in their own dtype, in order. */
#pragma GCC optimize("O3")
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/dot.h"
#include "cpu/kernels/dot_integer.h"
#include "cpu/kernels/dot_onednn.h"
#include "cpu/kernels/move.h"
#include "cpu/kernels/units.h"

const tt_cpu_gemm_kernels *tt_cpu_gemm_best(void) {
#if defined(__x86_64__)
  switch (tt_cpu_isa_best()) {
    case TT_CPU_ISA_AVX512:
      return &tt_cpu_gemm_avx512;
    case TT_CPU_ISA_AVX2:
      return &tt_cpu_gemm_avx2;
    default:
      break;
  }
#endif
  return &tt_cpu_gemm_base;
}

/* ---- operands ---- */

/* The dtype that sums are kept in. */
static tt_dtype sum_dtype(const tt_hlo_op *op) {
  tt_dtype result = op->results[0].type.dtype;
  if (tt_dtype_is_complex(result))
    return result;
  if (tt_dtype_is_integer(result))
    return result == TT_PRED || tt_dtypes[result].bits > 32 ? TT_S64 : TT_S32;
  return result == TT_F64 ? TT_F64 : TT_F32;
}

/* Are the operands read as they are, though narrower than the sums? */
static bool takes_narrow(const tt_hlo_op *op) {
  return sum_dtype(op) == TT_S32 && tt_cpu_integers_narrow(op->operands[0]->type.dtype) &&
         tt_cpu_integers_narrow(op->operands[1]->type.dtype);
}

static uint64_t axes_of(tt_hlo_list list) {
  uint64_t set = 0;
  for (size_t i = 0; i < list.count; i++)
    set |= UINT64_C(1) << list.items[i];
  return set;
}

/* Axes neither batching nor contracting, in order. */
static int64_t free_axes(const tt_hlo_type *type, tt_hlo_list batch, tt_hlo_list contract,
                         int64_t *out_axes) {
  uint64_t used = axes_of(batch) | axes_of(contract);
  int64_t count = 0;
  for (int32_t i = 0; i < type->rank; i++)
    if ((used >> i & 1) == 0)
      out_axes[count++] = i;
  return count;
}

/* The axes as one with one stride; false when they do not lie evenly. */
static bool join_axes(const tt_hlo_type *type, const int64_t *strides, const int64_t *axes,
                      size_t axes_count, int64_t *out_count, int64_t *out_stride) {
  bool even = true;
  *out_count = 1;
  *out_stride = 1;
  for (size_t i = axes_count; i-- > 0;) {
    int64_t dim = type->dims[axes[i]], stride = strides[axes[i]];
    if (dim != 1) {
      even = even && (*out_count == 1 || stride == *out_stride * *out_count);
      *out_stride = *out_count == 1 ? stride : *out_stride;
    }
    *out_count *= dim;
  }
  return even;
}

/* Copies the operand to [batch, free, contract], dense. */
static tt_error *pack_side(const tt_cpu_args *args, tt_cpu_dot_side *s, const int64_t *strides,
                           tt_hlo_list batch, const int64_t *free, size_t free_count,
                           tt_hlo_list contract) {
  int64_t size = tt_cpu_bytes(s->type), stride = 1;
  tt_cpu_move m = {.bytes = tt_dtype_bytes(s->type->dtype)};
  void *copy = tt_cpu_scratch(args->run, size);
  if (copy == NULL)
    return tt_cpu_no_scratch(args->op, size);
  for (size_t i = 0; i < batch.count + free_count + contract.count; i++) {
    int64_t axis = i < batch.count                ? batch.items[i]
                   : i < batch.count + free_count ? free[i - batch.count]
                                                  : contract.items[i - batch.count - free_count];
    m.dims[m.rank] = s->type->dims[axis];
    m.in[m.rank++] = strides[axis];
  }
  for (int32_t i = m.rank; i-- > 0; stride *= m.dims[i])
    m.out[i] = stride;
  for (int32_t i = 0; i < s->batch_rank; i++)
    s->batch[i] = m.out[i];
  s->contract_stride = 1;
  s->free_stride = s->contract_count;
  tt_cpu_move_simplify(&m);
  tt_cpu_move_run(&m, s->data, copy);
  s->data = copy;
  s->dense = true;
  return NULL;
}

static tt_error *read_side(const tt_cpu_args *args, uint32_t i, tt_hlo_list batch,
                           tt_hlo_list contract, tt_cpu_dot_side *s) {
  int64_t strides[TT_HLO_RANK_MAX], free[TT_HLO_RANK_MAX];
  s->type = &args->op->operands[i]->type;
  s->data = args->in[i];
  s->dtype = s->type->dtype;
  s->batch_rank = (int32_t)batch.count;
  s->dense = true;
  size_t count = (size_t)free_axes(s->type, batch, contract, free);
  tt_cpu_strides(s->type, strides);
  if (args->absorbed->views[i].strides != NULL) {
    const tt_cpu_strided *view = &args->absorbed->views[i];
    memcpy(strides, view->strides, (size_t)s->type->rank * sizeof *strides);
    s->data = (const char *)s->data + view->offset * tt_dtype_bytes(s->dtype);
    s->dense = false;
  }
  for (size_t k = 0; k < batch.count; k++)
    s->batch[k] = strides[batch.items[k]];
  bool free_even = join_axes(s->type, strides, free, count, &s->free_count, &s->free_stride);
  bool even = join_axes(s->type, strides, contract.items, contract.count, &s->contract_count,
                        &s->contract_stride);
  bool readable = s->dense || s->dtype == sum_dtype(args->op) || takes_narrow(args->op);
  return free_even && even && readable ? NULL
                                       : pack_side(args, s, strides, batch, free, count, contract);
}

typedef struct widen_job {
  const tt_cpu_dot_side *from;
  char *to;
  tt_dtype dtype;
} widen_job;

static void widen_part(int64_t begin, int64_t end, void *user) {
  const widen_job *j = user;
  tt_cpu_convert(j->from->dtype,
                 (const char *)j->from->data + begin * tt_dtype_bytes(j->from->dtype), j->dtype,
                 j->to + begin * tt_dtype_bytes(j->dtype), end - begin);
}

/* The operand's elements in the dtype of the sums. */
static tt_error *widen_side(const tt_cpu_args *args, tt_cpu_dot_side *s, tt_dtype dtype) {
  int64_t count = tt_cpu_count(s->type), size = 0;
  if (s->dtype == dtype)
    return NULL;
  if (__builtin_mul_overflow(count, tt_dtype_bytes(dtype), &size))
    return tt_cpu_no_scratch(args->op, INT64_MAX);
  widen_job j = {s, tt_cpu_scratch(args->run, size), dtype};
  if (j.to == NULL)
    return tt_cpu_no_scratch(args->op, size);
  tt_cpu_parallel(count, 0.2, widen_part, &j);
  s->data = j.to;
  s->dtype = dtype;
  return NULL;
}

/* ---- products ---- */

static int64_t batch_offset(const tt_cpu_dot *j, const tt_cpu_dot_side *s, int64_t batch) {
  int64_t offset = 0;
  for (int32_t i = s->batch_rank; i-- > 0;) {
    offset += batch % j->batch_dims[i] * s->batch[i];
    batch /= j->batch_dims[i];
  }
  return offset;
}

tt_cpu_gemm tt_cpu_dot_gemm(const tt_cpu_dot *j, int64_t batch) {
  int64_t bytes = tt_dtype_bytes(j->dtype);
  return (tt_cpu_gemm){
      .m = j->m,
      .n = j->n,
      .k = j->k,
      .n_whole = j->n,
      .a = (const char *)j->lhs.data + batch_offset(j, &j->lhs, batch) * bytes,
      .b = (const char *)j->rhs.data + batch_offset(j, &j->rhs, batch) * bytes,
      .c = j->out + batch * j->m * j->n * bytes,
      .a_m = j->lhs.free_stride,
      .a_k = j->lhs.contract_stride,
      .b_k = j->rhs.contract_stride,
      .b_n = j->rhs.free_stride,
      .row = j->row,
  };
}

typedef struct part_job {
  const tt_cpu_dot *dot;
  const tt_cpu_gemm_kernel *kernel;
  tt_cpu_gemm whole; /* that parts are of; not where a part is a batch */
  int64_t parts;
  int64_t tiles, tile; /* of the side that is divided; elements of one. 0: a part is a batch */
  bool rows;           /* it is that of the rows; else of the columns */
} part_job;

static const char *at(const void *data, int64_t elements, int64_t bytes) {
  return (const char *)data + elements * bytes;
}

/* Where part `i` begins: the parts have as many tiles as each other, or one more. */
static int64_t part_begin(const part_job *p, int64_t i) {
  int64_t length = p->rows ? p->whole.m : p->whole.n, at = i * p->tiles / p->parts * p->tile;
  return at < length ? at : length;
}

static void run_part(int64_t i, void *scratch, void *user) {
  const part_job *p = user;
  int64_t bytes = tt_dtype_bytes(p->dot->dtype);
  tt_cpu_gemm g = p->tiles == 0 ? tt_cpu_dot_gemm(p->dot, i) : p->whole;
  int64_t begin = p->tiles == 0 ? 0 : part_begin(p, i);
  int64_t count = p->tiles == 0 ? 0 : part_begin(p, i + 1) - begin;
  if (p->tiles > 0 && p->rows) {
    g.m = count;
    g.a = at(g.a, begin * g.a_m, bytes);
    g.c = (char *)g.c + begin * g.n_whole * bytes;
  } else if (p->tiles > 0) {
    g.n = count;
    g.b = at(g.b, begin * g.b_n, bytes);
    g.c = (char *)g.c + begin * bytes;
    g.row = g.row == NULL ? NULL : at(g.row, begin, bytes);
  }
  p->kernel->run(&g, scratch);
}

/* Of one product, on one thread, about nanoseconds: few rows wait for memory. */
static double product_cost(const tt_cpu_dot *j) {
  double operands = (double)(j->m + j->n) * (double)j->k * tt_dtype_bytes(j->dtype);
  return 0.01 * (double)j->m * (double)j->n * (double)j->k + 0.03 * operands + 50;
}

static tt_error *run_parts(const tt_cpu_args *args, part_job *p) {
  const tt_cpu_dot *j = p->dot;
  int64_t batches = p->tiles == 0 ? j->batches : 1;
  int64_t most_long = p->tiles == 0 ? 0 : (p->tiles + p->parts - 1) / p->parts * p->tile;
  tt_cpu_units units = {.count = p->parts,
                        .scratch = tt_cpu_gemm_scratch(most_long > 0 && p->rows ? most_long : j->m,
                                                       most_long > 0 && !p->rows ? most_long : j->n,
                                                       j->k, tt_dtype_bytes(j->dtype)),
                        .cost = product_cost(j) * (double)batches,
                        .run = run_part,
                        .user = p};
  /* So many that few parts are not put together unevenly. */
  units.groups_most = tt_cpu_parallel_pays(units.cost) ? 16 * (int64_t)tt_cpu_threads() : 1;
  return tt_cpu_run_units(args, &units);
}

/* As many parts as end together, none with more rows than a packed block of a has. */
static void choose_parts(part_job *p) {
  int64_t threads = tt_cpu_threads(), length = p->rows ? p->whole.m : p->whole.n;
  int64_t most = p->rows ? TT_CPU_GEMM_MC / p->kernel->rows : TT_CPU_GEMM_NC / p->kernel->columns;
  p->tile = p->rows ? p->kernel->rows : p->kernel->columns;
  p->tiles = (length + p->tile - 1) / p->tile;
  p->parts = (p->tiles + threads * most - 1) / (threads * most) * threads;
  p->parts = p->parts < 2 * threads ? 2 * threads : p->parts;
  p->parts = p->parts > p->tiles ? p->tiles : p->parts;
}

typedef struct pack_job {
  const tt_cpu_gemm *gemm;
  const tt_cpu_gemm_kernel *kernel;
  void *to;
} pack_job;

static void pack_slivers(int64_t begin, int64_t end, void *user) {
  const pack_job *j = user;
  int64_t columns = j->kernel->columns;
  int64_t last = end * columns < j->gemm->n ? end * columns : j->gemm->n;
  j->kernel->pack(j->gemm, begin * columns, last, j->to);
}

/* b is packed once for all parts. */
static tt_error *pack_columns(const tt_cpu_args *args, part_job *p) {
  int64_t size = tt_cpu_gemm_packed(p->whole.n, p->whole.k, tt_dtype_bytes(p->dot->dtype));
  pack_job j = {&p->whole, p->kernel, tt_cpu_scratch(args->run, size)};
  if (j.to == NULL)
    return tt_cpu_no_scratch(args->op, size);
  int64_t columns = p->kernel->columns;
  tt_cpu_parallel((p->whole.n + columns - 1) / columns, 0.2 * (double)columns * (double)p->whole.k,
                  pack_slivers, &j);
  p->whole.packed_b = j.to;
  return NULL;
}

/* One product by all threads: parts of the longer side of c. */
static tt_error *run_shared(const tt_cpu_args *args, part_job *p, int64_t batch) {
  const tt_cpu_dot *j = p->dot;
  p->whole = tt_cpu_dot_gemm(j, batch);
  p->rows = j->m > 4 * p->kernel->rows && j->m >= j->n;
  choose_parts(p);
  if (p->rows)
    TT_RETURN_IF_ERROR(pack_columns(args, p));
  return run_parts(args, p);
}

static tt_error *run_gemm(const tt_cpu_args *args, tt_cpu_dot *j) {
  const tt_cpu_gemm_kernels *kernels = tt_cpu_gemm_best();
  part_job p = {.dot = j, .kernel = j->dtype == TT_F32 ? &kernels->f32 : &kernels->f64};
  if (j->batches >= 2 * tt_cpu_threads() || !tt_cpu_parallel_pays(product_cost(j))) {
    p.parts = j->batches;
    return run_parts(args, &p);
  }
  for (int64_t batch = 0; batch < j->batches; batch++)
    TT_RETURN_IF_ERROR(run_shared(args, &p, batch));
  return NULL;
}

/* The products of all batches, for kernels that take operands as they are. */
static tt_error *list_products(const tt_cpu_args *args, const tt_cpu_dot *j, int64_t out_bytes,
                               tt_cpu_product **out_products) {
  int64_t a_bytes = tt_dtype_bytes(j->lhs.dtype), b_bytes = tt_dtype_bytes(j->rhs.dtype), size = 0;
  bool fits = !__builtin_mul_overflow(j->batches, (int64_t)sizeof **out_products, &size);
  *out_products = fits ? tt_cpu_scratch(args->run, size) : NULL;
  if (*out_products == NULL)
    return tt_cpu_no_scratch(args->op, fits ? size : INT64_MAX);
  for (int64_t i = 0; i < j->batches; i++)
    (*out_products)[i] =
        (tt_cpu_product){.a = at(j->lhs.data, batch_offset(j, &j->lhs, i), a_bytes),
                         .b = at(j->rhs.data, batch_offset(j, &j->rhs, i), b_bytes),
                         .a_row = j->lhs.free_stride,
                         .a_step = j->lhs.contract_stride,
                         .b_step = j->rhs.contract_stride,
                         .b_column = j->rhs.free_stride,
                         .out = j->out + i * j->m * j->n * out_bytes};
  return NULL;
}

/* ---- by oneDNN, where it is there and better ---- */

/* Do rows of a matrix, or its columns, lie one behind the other? */
static bool is_plain(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  return (column == 1 && row >= columns) || (row == 1 && column >= rows);
}

static tt_error *try_onednn(const tt_cpu_args *args, const tt_cpu_dot *j, bool *out_done) {
  const tt_cpu_dot_side *a = &j->lhs, *b = &j->rhs;
  tt_dtype out = args->op->results[0].type.dtype;
  tt_cpu_dnnl_form form = {
      j->m, j->n,     j->k, a->free_stride, a->contract_stride, b->contract_stride, b->free_stride,
      j->n, a->dtype, out};
  tt_cpu_product *products = NULL;
  *out_done = false;
  if (a->dtype != b->dtype || j->row != NULL || !is_plain(form.m, form.k, form.a_m, form.a_k) ||
      !is_plain(form.k, form.n, form.b_k, form.b_n))
    return NULL;
  bool wins = false;
  TT_RETURN_IF_ERROR(tt_cpu_dnnl_wins(&form, &wins));
  if (!wins)
    return NULL;
  TT_RETURN_IF_ERROR(list_products(args, j, tt_dtype_bytes(out), &products));
  return tt_cpu_dot_onednn(args, &form, products, j->batches, out_done);
}

/* ---- integers, which wrap as wider ones do ---- */

static tt_error *run_integers(const tt_cpu_args *args, const tt_cpu_dot *j) {
  tt_cpu_integers_form form = {j->m, j->n, j->k, j->lhs.dtype, j->rhs.dtype};
  int64_t each = tt_cpu_integers_scratch(&form), size = 0;
  tt_cpu_product *products = NULL;
  bool fits = !__builtin_mul_overflow(each, j->batches, &size);
  void *packed = fits ? tt_cpu_scratch(args->run, size) : NULL;
  if (packed == NULL)
    return tt_cpu_no_scratch(args->op, fits ? size : INT64_MAX);
  TT_RETURN_IF_ERROR(list_products(args, j, tt_dtype_bytes(j->dtype), &products));
  tt_cpu_integers_run(&form, products, j->batches, packed);
  return NULL;
}

/* ---- complex numbers ---- */

/* F: of the parts, which come in pairs. */
#define COMPLEX_ROW(name, F)                                                          \
  static void name(const tt_cpu_dot *j, const void *lhs, const void *rhs, void *to) { \
    const F *a = lhs, *b = rhs;                                                       \
    F *out = to;                                                                      \
    for (int64_t n = 0; n < 2 * j->n; n++)                                            \
      out[n] = 0;                                                                     \
    for (int64_t k = 0; k < j->k; k++) {                                              \
      const F *x = a + 2 * k * j->lhs.contract_stride;                                \
      const F *row = b + 2 * k * j->rhs.contract_stride;                              \
      F real = x[0], imag = x[1];                                                     \
      for (int64_t n = 0; n < j->n; n++) {                                            \
        const F *y = row + 2 * n * j->rhs.free_stride;                                \
        out[2 * n] += real * y[0] - imag * y[1];                                      \
        out[2 * n + 1] += real * y[1] + imag * y[0];                                  \
      }                                                                               \
    }                                                                                 \
  }
COMPLEX_ROW(complex_row_f32, float)
COMPLEX_ROW(complex_row_f64, double)

/* Rows of all batches. */
static void run_rows(int64_t begin, int64_t end, void *user) {
  const tt_cpu_dot *j = user;
  int64_t bytes = tt_dtype_bytes(j->dtype);
  for (int64_t i = begin; i < end; i++) {
    int64_t batch = i / j->m, m = i % j->m;
    const void *a =
        at(j->lhs.data, batch_offset(j, &j->lhs, batch) + m * j->lhs.free_stride, bytes);
    const void *b = at(j->rhs.data, batch_offset(j, &j->rhs, batch), bytes);
    void *out = j->out + i * j->n * bytes;
    if (j->dtype == TT_C64)
      complex_row_f32(j, a, b, out);
    else
      complex_row_f64(j, a, b, out);
  }
}

/* ---- the op ---- */

static tt_error *convert_result(const tt_cpu_args *args, tt_cpu_dot *j, int64_t count) {
  const tt_hlo_type *type = &args->op->results[0].type;
  tt_cpu_dot_side sums = {.dtype = j->dtype, .data = j->out};
  widen_job to = {&sums, args->out[0], type->dtype};
  tt_cpu_parallel(count, 0.3, widen_part, &to);
  return NULL;
}

tt_error *tt_cpu_dot_prepare(const tt_cpu_args *args, tt_cpu_dot *j) {
  const tt_hlo_dot_dims *dims = tt_hlo_op_attr(args->op, TT_HLO_DOT_DIMENSION_NUMBERS)->dims;
  TT_RETURN_IF_ERROR(read_side(args, 0, dims->lhs_batch, dims->lhs_contract, &j->lhs));
  TT_RETURN_IF_ERROR(read_side(args, 1, dims->rhs_batch, dims->rhs_contract, &j->rhs));
  j->batches = 1;
  for (size_t i = 0; i < dims->lhs_batch.count; i++) {
    j->batch_dims[i] = j->lhs.type->dims[dims->lhs_batch.items[i]];
    j->batches *= j->batch_dims[i];
  }
  j->m = j->lhs.free_count;
  j->n = j->rhs.free_count;
  j->k = j->lhs.contract_count;
  j->dtype = sum_dtype(args->op);
  return NULL;
}

/* Sums of nothing. */
static void fill_empty(const tt_cpu_args *args, const tt_cpu_dot *j) {
  const tt_hlo_type *type = &args->op->results[0].type;
  size_t size = (size_t)tt_cpu_bytes(type), row = (size_t)(j->n * tt_dtype_bytes(type->dtype));
  if (j->row == NULL)
    memset(args->out[0], 0, size);
  for (size_t at = 0; j->row != NULL && at < size; at += row)
    memcpy((char *)args->out[0] + at, j->row, row);
}

tt_error *tt_cpu_kernel_dot(const tt_cpu_args *args) {
  const tt_hlo_type *type = &args->op->results[0].type;
  tt_cpu_dot j = {.out = args->out[0]};
  int64_t count = tt_cpu_count(type), size = 0;
  if (count == 0)
    return NULL;
  bool done = false;
  TT_RETURN_IF_ERROR(tt_cpu_dot_prepare(args, &j));
  if (args->absorbed->adds_row)
    j.row = args->in[2];
  if (j.k == 0) {
    fill_empty(args, &j);
    return NULL;
  }
  TT_RETURN_IF_ERROR(try_onednn(args, &j, &done));
  if (done)
    return NULL;
  if (!takes_narrow(args->op)) {
    TT_RETURN_IF_ERROR(widen_side(args, &j.lhs, j.dtype));
    TT_RETURN_IF_ERROR(widen_side(args, &j.rhs, j.dtype));
  }
  if (j.dtype != type->dtype) {
    bool fits = !__builtin_mul_overflow(count, tt_dtype_bytes(j.dtype), &size);
    j.out = fits ? tt_cpu_scratch(args->run, size) : NULL;
    if (j.out == NULL)
      return tt_cpu_no_scratch(args->op, size);
  }
  if (j.dtype == TT_F32 || j.dtype == TT_F64)
    TT_RETURN_IF_ERROR(run_gemm(args, &j));
  else if (!tt_dtype_is_complex(j.dtype))
    TT_RETURN_IF_ERROR(run_integers(args, &j));
  else
    tt_cpu_parallel(j.batches * j.m, 2.0 * (double)j.n * (double)j.k, run_rows, &j);
  return j.dtype == type->dtype ? NULL : convert_result(args, &j, count);
}
