/* reduce, where the region is one op that reduce.inc has. */
#include "cpu/kernels/reduce.h"

#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/move.h"

static tt_cpu_reducer find_reducer(tt_hlo_code code, tt_dtype dtype) {
#if defined(__x86_64__)
  switch (tt_cpu_isa_best()) {
    case TT_CPU_ISA_AVX512:
      return tt_cpu_reducers_avx512(code, dtype);
    case TT_CPU_ISA_AVX2:
      return tt_cpu_reducers_avx2(code, dtype);
    default:
      break;
  }
#endif
  return tt_cpu_reducers_base(code, dtype);
}

static uint64_t reduced_axes(const tt_hlo_op *op) {
  tt_hlo_list axes = tt_cpu_attr_list(op, TT_HLO_DIMENSIONS);
  uint64_t set = 0;
  for (size_t i = 0; i < axes.count; i++)
    set |= UINT64_C(1) << axes.items[i];
  return set;
}

tt_cpu_reduce_shape tt_cpu_reduce_shape_of(const tt_hlo_op *op) {
  const tt_hlo_type *type = &op->operands[0]->type;
  uint64_t reduced = reduced_axes(op);
  tt_cpu_reduce_shape s = {1, 1, 1, false};
  int64_t kept = 1;
  int stage = 0; /* 0: outer, 1: middle, 2: inner */
  for (int32_t i = 0; i < type->rank; i++) {
    bool is_reduced = (reduced >> i & 1) != 0;
    kept *= is_reduced ? 1 : type->dims[i];
    if (type->dims[i] == 1)
      continue;
    s.packed = s.packed || (is_reduced && stage == 2);
    stage = is_reduced ? 1 : stage == 0 ? 0 : 2;
    *(stage == 0 ? &s.outer : stage == 1 ? &s.middle : &s.inner) *= type->dims[i];
  }
  if (s.packed) {
    s.middle = kept == 0 ? 0 : tt_cpu_count(type) / kept;
    s.outer = kept;
    s.inner = 1;
  }
  return s;
}

tt_error *tt_cpu_reduce_pack(const tt_cpu_args *args, uint32_t i, const void **out_data) {
  const tt_hlo_type *type = &args->op->operands[i]->type;
  uint64_t reduced = reduced_axes(args->op);
  int64_t strides[TT_HLO_RANK_MAX], size = tt_cpu_bytes(type), stride = 1;
  tt_cpu_move m = {.bytes = tt_dtype_bytes(type->dtype)};
  void *copy = tt_cpu_scratch(args->run, size);
  if (copy == NULL)
    return tt_cpu_no_scratch(args->op, size);
  tt_cpu_strides(type, strides);
  for (uint64_t pass = 0; pass < 2; pass++)
    for (int32_t k = 0; k < type->rank; k++)
      if ((reduced >> k & 1) == pass) {
        m.dims[m.rank] = type->dims[k];
        m.in[m.rank++] = strides[k];
      }
  for (int32_t k = m.rank; k-- > 0; stride *= m.dims[k])
    m.out[k] = stride;
  tt_cpu_move_simplify(&m);
  tt_cpu_move_run(&m, args->in[i], copy);
  *out_data = copy;
  return NULL;
}

/* ---- one op ---- */

/* Narrow types are reduced in wider ones of their kind, which gives the same or better. */
static tt_dtype sum_dtype(tt_dtype dtype) {
  if (dtype == TT_PRED || dtype == TT_F64 || tt_dtype_is_complex(dtype))
    return dtype;
  if (tt_dtype_is_float(dtype))
    return TT_F32;
  if (tt_dtypes[dtype].bits >= 32)
    return dtype;
  return tt_dtype_is_signed(dtype) ? TT_S32 : TT_U32;
}

tt_cpu_reducer tt_cpu_reducer_of(const tt_hlo_op *op) {
  tt_dtype dtype = op->operands[0]->type.dtype;
  if (op->results_count != 1 || op->results[0].type.dtype != dtype || sum_dtype(dtype) != dtype)
    return (tt_cpu_reducer){NULL, NULL};
  return find_reducer(tt_cpu_region_binary(op->regions[0]), dtype);
}

typedef struct reduce_job {
  tt_cpu_reducer reducer;
  tt_cpu_reduce_shape shape;
  tt_dtype from, dtype; /* of the data; of the sums */
  const char *data;
  char *sums;
  char *wide; /* [outer, middle, inner] converted, or NULL */
  int64_t strips, strip, bytes;
  int64_t packed_outer, packed_kept; /* [packed_outer, packed_kept, ...], where it is not copied */
} reduce_job;

static void rows_part(int64_t begin, int64_t end, void *user) {
  const reduce_job *j = user;
  for (int64_t i = begin; i < end; i++)
    j->reducer.row(j->data + i * j->shape.middle * j->bytes, j->shape.middle,
                   j->sums + i * j->bytes);
}

/* Items are strips of columns. */
static void columns_part(int64_t begin, int64_t end, void *user) {
  const reduce_job *j = user;
  const tt_cpu_reduce_shape *s = &j->shape;
  for (int64_t i = begin; i < end; i++) {
    int64_t outer = i / j->strips, first = i % j->strips * j->strip;
    int64_t count = s->inner - first < j->strip ? s->inner - first : j->strip;
    j->reducer.columns(j->data + (outer * s->middle * s->inner + first) * j->bytes, s->middle,
                       s->inner, count, j->sums + (outer * s->inner + first) * j->bytes);
  }
}

/* One long row: parts of it, then their sum. */
typedef struct row_job {
  const reduce_job *j;
  char parts[64 * 8];
  int64_t each;
} row_job;

static void row_parts(int64_t begin, int64_t end, void *user) {
  row_job *r = user;
  const reduce_job *j = r->j;
  for (int64_t i = begin; i < end; i++)
    j->reducer.row(j->data + i * r->each * j->bytes,
                   i == 63 ? j->shape.middle - 63 * r->each : r->each, r->parts + i * j->bytes);
}

static void reduce_all(reduce_job *j) {
  const tt_cpu_reduce_shape *s = &j->shape;
  if (s->inner == 1 && s->outer == 1 && s->middle >= 1 << 15) {
    row_job r = {.j = j, .each = s->middle / 64};
    tt_cpu_parallel(64, 0.1 * (double)r.each, row_parts, &r);
    j->reducer.row(r.parts, 64, j->sums);
  } else if (s->inner == 1) {
    tt_cpu_parallel(s->outer, 5 + 0.1 * (double)s->middle, rows_part, j);
  } else {
    j->strip = s->inner > 512 ? 512 : s->inner;
    j->strips = (s->inner + j->strip - 1) / j->strip;
    tt_cpu_parallel(s->outer * j->strips, 5 + 0.1 * (double)(s->middle * j->strip), columns_part,
                    j);
  }
}

static void convert_part(int64_t begin, int64_t end, void *user) {
  const reduce_job *j = user;
  tt_cpu_convert(j->from, j->data + begin * tt_dtype_bytes(j->from), j->dtype,
                 j->wide + begin * j->bytes, end - begin);
}

static tt_error *widen_data(const tt_cpu_args *args, reduce_job *j) {
  int64_t count = tt_cpu_count(&args->op->operands[0]->type), size = 0;
  if (j->from == j->dtype)
    return NULL;
  bool fits = !__builtin_mul_overflow(count, j->bytes, &size);
  j->wide = fits ? tt_cpu_scratch(args->run, size) : NULL;
  if (j->wide == NULL)
    return tt_cpu_no_scratch(args->op, size);
  tt_cpu_parallel(count, 0.2, convert_part, j);
  j->data = j->wide;
  return NULL;
}

/* result = init o sum, in the dtype of the sums, then in the result's. */
static void finish_sums(const tt_cpu_args *args, reduce_job *j, int64_t count) {
  tt_dtype result = args->op->results[0].type.dtype;
  _Alignas(16) char pair[32];
  tt_cpu_convert(args->op->operands[1]->type.dtype, args->in[1], j->dtype, pair, 1);
  for (int64_t i = 0; i < count; i++) {
    memcpy(pair + j->bytes, j->sums + i * j->bytes, (size_t)j->bytes);
    j->reducer.row(pair, 2, j->sums + i * j->bytes);
  }
  if (j->sums != args->out[0])
    tt_cpu_convert(j->dtype, j->sums, result, args->out[0], count);
}

/* [reduced, kept, reduced], as the sums of a batch of images: first over the one that varies
 * slowest, then along rows. 0: not so. */
static int64_t outer_reduced(const tt_hlo_op *op, int64_t *out_kept) {
  const tt_hlo_type *type = &op->operands[0]->type;
  uint64_t reduced = reduced_axes(op);
  int64_t sizes[3] = {1, 1, 1};
  int stage = 0;
  for (int32_t i = 0; i < type->rank; i++) {
    bool is_reduced = (reduced >> i & 1) != 0;
    if (type->dims[i] == 1)
      continue;
    if (is_reduced != (stage != 1) && ++stage > 2)
      return 0;
    sizes[stage] *= type->dims[i];
  }
  *out_kept = sizes[1];
  return stage == 2 ? sizes[0] : 0;
}

static tt_error *reduce_outer(const tt_cpu_args *args, reduce_job *j, int64_t outer, int64_t kept) {
  int64_t rest = j->shape.middle * j->shape.outer / outer;
  tt_cpu_reduce_shape rows = {kept, rest / kept, 1, false};
  char *sums = j->sums, *first = tt_cpu_scratch(args->run, rest * j->bytes);
  if (first == NULL)
    return tt_cpu_no_scratch(args->op, rest * j->bytes);
  j->shape = (tt_cpu_reduce_shape){1, outer, rest, false};
  j->sums = first;
  reduce_all(j);
  j->shape = rows;
  j->data = first;
  j->sums = sums;
  reduce_all(j);
  return NULL;
}

static tt_error *reduce_op(const tt_cpu_args *args, reduce_job *j) {
  const tt_hlo_type *type = &args->op->results[0].type;
  int64_t count = tt_cpu_count(type);
  j->sums = args->out[0];
  j->bytes = tt_dtype_bytes(j->dtype);
  if (j->dtype != type->dtype) {
    j->sums = tt_cpu_scratch(args->run, count * j->bytes);
    if (j->sums == NULL)
      return tt_cpu_no_scratch(args->op, count * j->bytes);
  }
  TT_RETURN_IF_ERROR(widen_data(args, j));
  if (j->packed_outer > 0)
    TT_RETURN_IF_ERROR(reduce_outer(args, j, j->packed_outer, j->packed_kept));
  else
    reduce_all(j);
  finish_sums(args, j, count);
  return NULL;
}

static void fill_inits(const tt_cpu_args *args) {
  uint32_t n = args->op->results_count;
  for (uint32_t i = 0; i < n; i++)
    tt_cpu_convert(args->op->operands[n + i]->type.dtype, args->in[n + i],
                   args->op->results[i].type.dtype, args->out[i], 1);
  for (uint32_t i = 0; i < n; i++)
    tt_cpu_fill(args->out[i], args->out[i], tt_cpu_count(&args->op->results[i].type),
                tt_dtype_bytes(args->op->results[i].type.dtype));
}

tt_error *tt_cpu_kernel_reduce(const tt_cpu_args *args) {
  const tt_hlo_op *op = args->op;
  uint32_t n = op->results_count;
  reduce_job j = {.shape = tt_cpu_reduce_shape_of(op), .from = op->operands[0]->type.dtype};
  const void **data = tt_cpu_scratch(args->run, (int64_t)n * (int64_t)sizeof(void *));
  if (data == NULL)
    return tt_cpu_no_scratch(op, n);
  if (tt_cpu_count(&op->results[0].type) == 0)
    return NULL;
  if (tt_cpu_count(&op->operands[0]->type) == 0) {
    fill_inits(args);
    return NULL;
  }
  j.dtype = sum_dtype(op->results[0].type.dtype);
  j.reducer = n == 1 ? find_reducer(tt_cpu_region_binary(op->regions[0]), j.dtype)
                     : (tt_cpu_reducer){NULL, NULL};
  if (j.shape.packed && j.reducer.row != NULL)
    j.packed_outer = outer_reduced(op, &j.packed_kept);
  for (uint32_t i = 0; i < n; i++) {
    data[i] = args->in[i];
    if (j.shape.packed && j.packed_outer == 0)
      TT_RETURN_IF_ERROR(tt_cpu_reduce_pack(args, i, &data[i]));
  }
  j.data = data[0];
  return j.reducer.row != NULL ? reduce_op(args, &j) : tt_cpu_reduce_region(args, &j.shape, data);
}
