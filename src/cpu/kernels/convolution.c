/* convolution, as products of patches with the kernel: out[place, feature] = sum over k of
 * patch[place, k] kernel[k, feature], k = (spatial place in the kernel, input feature).
 *
 * Batch groups are feature groups whose inputs lie apart along the batch axis. Floats narrower than
 * f32 are widened and sum in f32; integers go through s64 and complex numbers through c128, without
 * patches. The result is made as [batch, spatial..., feature] and moved to its place. */
#pragma GCC optimize("O3")
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/kernels/conv.h"
#include "cpu/kernels/gemm.h"
#include "cpu/kernels/move.h"

enum { PATCH_BYTES = 1 << 20 };

typedef struct conv_job {
  const tt_cpu_args *args;
  const tt_hlo_conv_dims *dims;
  tt_dtype dtype; /* of the sums */
  int32_t spatial;
  const char *in, *kernel; /* kernel: [group, feature, k], dense */
  char *out;               /* [batch, spatial..., feature] */
  int64_t groups, batch, features, group_features, channels; /* of a result; of a group */
  int64_t in_batch, in_channel, in_group;                    /* strides of the input */
  int64_t in_stride[TT_HLO_RANK_MAX], in_dims[TT_HLO_RANK_MAX], out_dims[TT_HLO_RANK_MAX],
      kernel_dims[TT_HLO_RANK_MAX];
  int64_t step[TT_HLO_RANK_MAX], low[TT_HLO_RANK_MAX], in_dilation[TT_HLO_RANK_MAX],
      kernel_dilation[TT_HLO_RANK_MAX];
  bool reversed[TT_HLO_RANK_MAX];
  int64_t places, kernel_places, k; /* places: of one image */
  /* An item is a block of places, of all images in order, of one group. */
  int64_t rows, block, blocks, items, group_items;
  char *scratch;
  int64_t patch_size, scratch_each;
} conv_job;

/* ---- what the op asks for ---- */

static void read_lists(conv_job *j, const tt_hlo_op *op) {
  tt_hlo_list step = tt_cpu_attr_list(op, TT_HLO_WINDOW_STRIDES),
              padding = tt_cpu_attr_list(op, TT_HLO_PADDING),
              in_dilation = tt_cpu_attr_list(op, TT_HLO_LHS_DILATION),
              kernel_dilation = tt_cpu_attr_list(op, TT_HLO_RHS_DILATION),
              reversed = tt_cpu_attr_list(op, TT_HLO_WINDOW_REVERSAL);
  for (int32_t i = 0; i < j->spatial; i++) {
    j->step[i] = step.count == 0 ? 1 : step.items[i];
    j->low[i] = padding.count == 0 ? 0 : padding.items[2 * i];
    j->in_dilation[i] = in_dilation.count == 0 ? 1 : in_dilation.items[i];
    j->kernel_dilation[i] = kernel_dilation.count == 0 ? 1 : kernel_dilation.items[i];
    j->reversed[i] = reversed.count != 0 && reversed.items[i] != 0;
  }
}

static void read_shapes(conv_job *j, const tt_hlo_op *op) {
  const tt_hlo_type *in = &op->operands[0]->type, *kernel = &op->operands[1]->type,
                    *out = &op->results[0].type;
  const tt_hlo_conv_dims *d = j->dims;
  int64_t strides[TT_HLO_RANK_MAX];
  int64_t feature_groups = tt_cpu_attr_i64(op, TT_HLO_FEATURE_GROUP_COUNT, 1),
          batch_groups = tt_cpu_attr_i64(op, TT_HLO_BATCH_GROUP_COUNT, 1);
  tt_cpu_strides(in, strides);
  j->batch = out->dims[d->output_batch];
  j->features = out->dims[d->output_feature];
  j->groups = batch_groups > 1 ? batch_groups : feature_groups;
  j->group_features = j->features / j->groups;
  j->channels = kernel->dims[d->kernel_input];
  j->in_batch = strides[d->input_batch];
  j->in_channel = strides[d->input_feature];
  j->in_group = batch_groups > 1 ? j->batch * j->in_batch : j->channels * j->in_channel;
  j->places = j->kernel_places = 1;
  for (int32_t i = 0; i < j->spatial; i++) {
    j->in_stride[i] = strides[d->input_spatial.items[i]];
    j->in_dims[i] = in->dims[d->input_spatial.items[i]];
    j->kernel_dims[i] = kernel->dims[d->kernel_spatial.items[i]];
    j->out_dims[i] = out->dims[d->output_spatial.items[i]];
    j->places *= j->out_dims[i];
    j->kernel_places *= j->kernel_dims[i];
  }
  j->k = j->kernel_places * j->channels;
  j->rows = j->batch * j->places;
}

/* The index along a spatial axis; -1 in the padding and between dilated elements. */
static inline int64_t input_index(const conv_job *j, int32_t i, int64_t place, int64_t k) {
  k = j->reversed[i] ? j->kernel_dims[i] - 1 - k : k;
  int64_t at = place * j->step[i] + k * j->kernel_dilation[i] - j->low[i];
  if (at < 0)
    return -1;
  if (j->in_dilation[i] > 1) {
    if (at % j->in_dilation[i] != 0)
      return -1;
    at /= j->in_dilation[i];
  }
  return at < j->in_dims[i] ? at : -1;
}

/* ---- patches ---- */

/* One spatial place of the kernel at one place of the result: where the input is read, or -1. */
static int64_t input_offset(const conv_job *j, const int64_t *place, const int64_t *k) {
  int64_t at = 0;
  for (int32_t i = 0; i < j->spatial; i++) {
    int64_t index = input_index(j, i, place[i], k[i]);
    if (index < 0)
      return -1;
    at += index * j->in_stride[i];
  }
  return at;
}

static void split_place(const int64_t *dims, int32_t rank, int64_t i, int64_t *out) {
  for (int32_t k = rank; k-- > 0; i /= dims[k])
    out[k] = i % dims[k];
}

static void next_place(const int64_t *dims, int32_t rank, int64_t *place) {
  for (int32_t i = rank; i-- > 0;) {
    if (++place[i] < dims[i])
      return;
    place[i] = 0;
  }
}

#define COPY_CHANNELS(T)                         \
  do {                                           \
    const T *from_ = (const T *)from;            \
    T *to_ = (T *)to;                            \
    if (from_ == NULL)                           \
      for (int64_t c = 0; c < count; c++)        \
        to_[c * to_step] = 0;                    \
    else                                         \
      for (int64_t c = 0; c < count; c++)        \
        to_[c * to_step] = from_[c * from_step]; \
  } while (0)

static inline void copy_channels(int64_t bytes, const char *from, int64_t from_step, char *to,
                                 int64_t to_step, int64_t count) {
  if (bytes == 4)
    COPY_CHANNELS(uint32_t);
  else
    COPY_CHANNELS(uint64_t);
}

/* patch[row, (k, channel)]: for inputs whose features lie side by side. */
static void fill_by_row(const conv_job *j, const char *in, int64_t first, int64_t count,
                        char *patch) {
  int64_t place[TT_HLO_RANK_MAX], k[TT_HLO_RANK_MAX], bytes = tt_dtype_bytes(j->dtype);
  for (int64_t row = first; row < first + count; row++) {
    const char *image = in + row / j->places * j->in_batch * bytes;
    split_place(j->out_dims, j->spatial, row % j->places, place);
    memset(k, 0, sizeof k);
    for (int64_t i = 0; i < j->kernel_places; i++) {
      int64_t at = input_offset(j, place, k);
      copy_channels(bytes, at < 0 ? NULL : image + at * bytes, j->in_channel, patch, 1,
                    j->channels);
      patch += j->channels * bytes;
      next_place(j->kernel_dims, j->spatial, k);
    }
  }
}

#define COPY_ROW(T)                                                           \
  for (int64_t i = 0; i < count; i++) {                                       \
    int64_t at_ = input_index(j, last, begin + i, k);                         \
    ((T *)to)[i] = at_ < 0 ? 0 : ((const T *)from)[at_ * j->in_stride[last]]; \
  }

/* A run of places along the last spatial axis, of one channel and one place in the kernel. */
static void copy_run(const conv_job *j, const char *from, int64_t begin, int64_t count, int64_t k,
                     int64_t bytes, char *to) {
  int32_t last = j->spatial - 1;
  if (j->step[last] == 1 && j->in_dilation[last] == 1 && j->in_stride[last] == 1) {
    int64_t shift =
        (j->reversed[last] ? j->kernel_dims[last] - 1 - k : k) * j->kernel_dilation[last] -
        j->low[last] + begin;
    int64_t left = shift < 0 ? -shift : 0, end = j->in_dims[last] - shift;
    left = left > count ? count : left;
    end = end > count ? count : end < left ? left : end;
    memset(to, 0, (size_t)(left * bytes));
    if (end > left)
      memcpy(to + left * bytes, from + (shift + left) * bytes, (size_t)((end - left) * bytes));
    memset(to + end * bytes, 0, (size_t)((count - end) * bytes));
    return;
  }
  if (bytes == 4) {
    COPY_ROW(uint32_t)
  } else {
    COPY_ROW(uint64_t)
  }
}

/* patch[(k, channel), row]: for other inputs. */
static void fill_by_column(const conv_job *j, const char *in, int64_t first, int64_t count,
                           char *patch) {
  int64_t place[TT_HLO_RANK_MAX], k[TT_HLO_RANK_MAX], bytes = tt_dtype_bytes(j->dtype);
  int32_t last = j->spatial - 1;
  for (int64_t row = 0; row < count;) {
    const char *image = in + (first + row) / j->places * j->in_batch * bytes;
    split_place(j->out_dims, j->spatial, (first + row) % j->places, place);
    int64_t run = j->out_dims[last] - place[last];
    run = run > count - row ? count - row : run;
    memset(k, 0, sizeof k);
    for (int64_t i = 0; i < j->kernel_places; i++) {
      int64_t at = 0;
      for (int32_t s = 0; s < last && at >= 0; s++) {
        int64_t index = input_index(j, s, place[s], k[s]);
        at = index < 0 ? -1 : at + index * j->in_stride[s];
      }
      for (int64_t c = 0; c < j->channels; c++) {
        char *to = patch + ((i * j->channels + c) * count + row) * bytes;
        if (at < 0)
          memset(to, 0, (size_t)(run * bytes));
        else
          copy_run(j, image + (at + c * j->in_channel) * bytes, place[last], run, k[last], bytes,
                   to);
      }
      next_place(j->kernel_dims, j->spatial, k);
    }
    row += run;
  }
}

static void run_item(const conv_job *j, int64_t item, char *scratch) {
  int64_t group = item / j->blocks, first = item % j->blocks * j->block;
  int64_t count = j->rows - first < j->block ? j->rows - first : j->block;
  int64_t bytes = tt_dtype_bytes(j->dtype);
  const char *in = j->in + group * j->in_group * bytes;
  bool by_row = j->in_channel == 1 || j->spatial == 0;
  if (by_row)
    fill_by_row(j, in, first, count, scratch);
  else
    fill_by_column(j, in, first, count, scratch);
  tt_cpu_gemm g = {.m = count,
                   .n = j->group_features,
                   .k = j->k,
                   .n_whole = j->features,
                   .a = scratch,
                   .b = j->kernel + group * j->group_features * j->k * bytes,
                   .c = j->out + (first * j->features + group * j->group_features) * bytes,
                   .a_m = by_row ? j->k : 1,
                   .a_k = by_row ? 1 : count,
                   .b_k = 1,
                   .b_n = j->k};
  const tt_cpu_gemm_kernels *kernels = tt_cpu_gemm_best();
  tt_cpu_gemm_run run = j->dtype == TT_F32 ? kernels->f32.run : kernels->f64.run;
  run(&g, scratch + j->patch_size);
}

static void run_items(int64_t begin, int64_t end, void *user) {
  const conv_job *j = user;
  for (int64_t i = begin; i < end; i++)
    for (int64_t item = i * j->group_items; item < (i + 1) * j->group_items && item < j->items;
         item++)
      run_item(j, item, j->scratch + i * j->scratch_each);
}

static tt_error *run_products(conv_job *j) {
  int64_t bytes = tt_dtype_bytes(j->dtype), most = 2 * (int64_t)tt_cpu_threads(), size = 0;
  j->block = PATCH_BYTES / bytes / j->k / 48 * 48;
  j->block = j->block < 48 ? 48 : j->block > 960 ? 960 : j->block;
  while (j->block > 96 && j->groups * (j->rows / j->block) < most)
    j->block /= 2;
  j->block = j->block > j->rows ? j->rows : j->block;
  j->blocks = (j->rows + j->block - 1) / j->block;
  j->items = j->blocks * j->groups;
  j->group_items = (j->items + most - 1) / most;
  int64_t parts = (j->items + j->group_items - 1) / j->group_items;
  if (__builtin_mul_overflow(j->block * bytes, j->k, &size) || size > INT64_MAX / 4 / most)
    return tt_cpu_no_scratch(j->args->op, INT64_MAX);
  j->patch_size = (size + 63) / 64 * 64;
  j->scratch_each =
      j->patch_size + tt_cpu_gemm_scratch(j->block, j->group_features, j->k, (int)bytes);
  j->scratch = tt_cpu_scratch(j->args->run, j->scratch_each * parts);
  if (j->scratch == NULL)
    return tt_cpu_no_scratch(j->args->op, j->scratch_each * parts);
  double cost = (double)j->block * (double)j->k * (1 + 0.02 * (double)j->group_features);
  tt_cpu_parallel(parts, cost * (double)j->group_items, run_items, j);
  return NULL;
}

/* ---- one feature of the input for each of the result ---- */

/* Products of that form have one row or column; here features are summed side by side. `by_place`:
 * the kernel as [k, feature]. */
typedef struct depth_job {
  const conv_job *j;
  char *by_place;
} depth_job;

#define SUM_FEATURES(T)                                     \
  do {                                                      \
    const T *x_ = (const T *)j->in + base + at;             \
    const T *y_ = (const T *)d->by_place + i * j->features; \
    T *sum_ = (T *)j->out + row * j->features;              \
    if (j->in_group == 1)                                   \
      for (int64_t f = 0; f < j->features; f++)             \
        sum_[f] += x_[f] * y_[f];                           \
    else                                                    \
      for (int64_t f = 0; f < j->features; f++)             \
        sum_[f] += x_[f * j->in_group] * y_[f];             \
  } while (0)

static void depth_rows(int64_t begin, int64_t end, void *user) {
  const depth_job *d = user;
  const conv_job *j = d->j;
  int64_t place[TT_HLO_RANK_MAX], k[TT_HLO_RANK_MAX] = {0}, bytes = tt_dtype_bytes(j->dtype);
  memset(j->out + begin * j->features * bytes, 0, (size_t)((end - begin) * j->features * bytes));
  for (int64_t row = begin; row < end; row++) {
    int64_t base = row / j->places * j->in_batch;
    split_place(j->out_dims, j->spatial, row % j->places, place);
    for (int64_t i = 0; i < j->kernel_places; i++, next_place(j->kernel_dims, j->spatial, k)) {
      int64_t at = input_offset(j, place, k);
      if (at < 0)
        continue;
      if (j->dtype == TT_F32)
        SUM_FEATURES(float);
      else
        SUM_FEATURES(double);
    }
  }
}

static tt_error *run_depth(const conv_job *j) {
  int64_t bytes = tt_dtype_bytes(j->dtype), size = j->features * j->k * bytes;
  depth_job d = {j, tt_cpu_scratch(j->args->run, size)};
  if (d.by_place == NULL)
    return tt_cpu_no_scratch(j->args->op, size);
  for (int64_t i = 0; i < j->k; i++)
    for (int64_t f = 0; f < j->features; f++)
      memcpy(d.by_place + (i * j->features + f) * bytes, j->kernel + (f * j->k + i) * bytes,
             (size_t)bytes);
  tt_cpu_parallel(j->rows, 0.3 * (double)j->features * (double)j->k, depth_rows, &d);
  return NULL;
}

/* ---- without patches ---- */

typedef struct complex_number {
  double real, imag;
} complex_number;

/* Element (row, feature): over all of the kernel. */
static void sum_element(const conv_job *j, int64_t row, int64_t feature) {
  int64_t place[TT_HLO_RANK_MAX], k[TT_HLO_RANK_MAX] = {0};
  int64_t group = feature / j->group_features;
  int64_t base = row / j->places * j->in_batch + group * j->in_group, kernel = feature * j->k;
  uint64_t sum = 0;
  complex_number total = {0, 0};
  split_place(j->out_dims, j->spatial, row % j->places, place);
  for (int64_t i = 0; i < j->kernel_places; i++, next_place(j->kernel_dims, j->spatial, k)) {
    int64_t at = input_offset(j, place, k);
    for (int64_t c = 0; c < j->channels && at >= 0; c++) {
      int64_t x = base + at + c * j->in_channel, y = kernel + i * j->channels + c;
      if (j->dtype == TT_S64) {
        sum += ((const uint64_t *)j->in)[x] * ((const uint64_t *)j->kernel)[y];
        continue;
      }
      complex_number a = ((const complex_number *)j->in)[x],
                     b = ((const complex_number *)j->kernel)[y];
      total.real += a.real * b.real - a.imag * b.imag;
      total.imag += a.real * b.imag + a.imag * b.real;
    }
  }
  if (j->dtype == TT_S64)
    ((uint64_t *)j->out)[row * j->features + feature] = sum;
  else
    ((complex_number *)j->out)[row * j->features + feature] = total;
}

static void run_rows(int64_t begin, int64_t end, void *user) {
  const conv_job *j = user;
  for (int64_t row = begin; row < end; row++)
    for (int64_t feature = 0; feature < j->features; feature++)
      sum_element(j, row, feature);
}

/* ---- operands and result ---- */

static tt_error *take(const conv_job *j, int64_t count, char **out_memory) {
  int64_t size = 0;
  bool fits = !__builtin_mul_overflow(count, tt_dtype_bytes(j->dtype), &size);
  *out_memory = fits ? tt_cpu_scratch(j->args->run, size) : NULL;
  return *out_memory == NULL ? tt_cpu_no_scratch(j->args->op, fits ? size : INT64_MAX) : NULL;
}

typedef struct convert_job {
  tt_dtype from, to;
  const char *in;
  char *out;
} convert_job;

static void convert_part(int64_t begin, int64_t end, void *user) {
  const convert_job *c = user;
  tt_cpu_convert(c->from, c->in + begin * tt_dtype_bytes(c->from), c->to,
                 c->out + begin * tt_dtype_bytes(c->to), end - begin);
}

static tt_error *widen(const conv_job *j, uint32_t i, const char **out_data) {
  const tt_hlo_type *type = &j->args->op->operands[i]->type;
  convert_job c = {type->dtype, j->dtype, j->args->in[i], NULL};
  *out_data = j->args->in[i];
  if (type->dtype == j->dtype)
    return NULL;
  TT_RETURN_IF_ERROR(take(j, tt_cpu_count(type), &c.out));
  tt_cpu_parallel(tt_cpu_count(type), 0.2, convert_part, &c);
  *out_data = c.out;
  return NULL;
}

/* The kernel as [feature, spatial..., channel]. */
static tt_error *pack_kernel(conv_job *j) {
  const tt_hlo_type *type = &j->args->op->operands[1]->type;
  int64_t strides[TT_HLO_RANK_MAX], stride = 1;
  tt_cpu_move m = {.bytes = tt_dtype_bytes(j->dtype), .rank = type->rank};
  const char *data = NULL;
  char *packed = NULL;
  TT_RETURN_IF_ERROR(widen(j, 1, &data));
  tt_cpu_strides(type, strides);
  for (int32_t i = 0; i < type->rank; i++) {
    int64_t axis = i == 0               ? j->dims->kernel_output
                   : i < type->rank - 1 ? j->dims->kernel_spatial.items[i - 1]
                                        : j->dims->kernel_input;
    m.dims[i] = type->dims[axis];
    m.in[i] = strides[axis];
  }
  for (int32_t i = m.rank; i-- > 0; stride *= m.dims[i])
    m.out[i] = stride;
  TT_RETURN_IF_ERROR(take(j, tt_cpu_count(type), &packed));
  tt_cpu_move_simplify(&m);
  tt_cpu_move_run(&m, data, packed);
  j->kernel = packed;
  return NULL;
}

/* The result's own strides, in the order [batch, spatial..., feature]; whether that is dense. */
static bool result_move(const conv_job *j, tt_cpu_move *m) {
  const tt_hlo_type *type = &j->args->op->results[0].type;
  int64_t strides[TT_HLO_RANK_MAX], stride = 1;
  tt_cpu_strides(type, strides);
  *m = (tt_cpu_move){.rank = type->rank, .bytes = tt_dtype_bytes(type->dtype)};
  for (int32_t i = 0; i < type->rank; i++) {
    int64_t axis = i == 0               ? j->dims->output_batch
                   : i < type->rank - 1 ? j->dims->output_spatial.items[i - 1]
                                        : j->dims->output_feature;
    m->dims[i] = type->dims[axis];
    m->out[i] = strides[axis];
  }
  bool dense = true;
  for (int32_t i = m->rank; i-- > 0; stride *= m->dims[i]) {
    m->in[i] = stride;
    dense = dense && (m->dims[i] == 1 || m->in[i] == m->out[i]);
  }
  return dense;
}

static tt_dtype sum_dtype(tt_dtype result) {
  if (tt_dtype_is_complex(result))
    return TT_C128;
  if (tt_dtype_is_integer(result))
    return TT_S64;
  return result == TT_F64 ? TT_F64 : TT_F32;
}

static tt_error *finish(conv_job *j, bool dense, tt_cpu_move *m) {
  const tt_hlo_type *type = &j->args->op->results[0].type;
  convert_job c = {j->dtype, type->dtype, j->out, j->args->out[0]};
  if (type->dtype != j->dtype) {
    if (!dense)
      TT_RETURN_IF_ERROR(take(j, tt_cpu_count(type), &c.out));
    tt_cpu_parallel(tt_cpu_count(type), 0.2, convert_part, &c);
    j->out = c.out;
  }
  if (!dense) {
    tt_cpu_move_simplify(m);
    tt_cpu_move_run(m, j->out, j->args->out[0]);
  }
  return NULL;
}

/* ---- f32, packed from the image ---- */

static void describe(const conv_job *j, tt_cpu_conv *c) {
  const tt_hlo_op *op = j->args->op;
  const tt_hlo_type *filter = &op->operands[1]->type, *out = &op->results[0].type;
  int64_t filter_strides[TT_HLO_RANK_MAX], out_strides[TT_HLO_RANK_MAX];
  tt_cpu_conv_view *v = &c->whole;
  tt_cpu_strides(filter, filter_strides);
  tt_cpu_strides(out, out_strides);
  *c = (tt_cpu_conv){.args = j->args,
                     .groups = j->groups,
                     .in_group = j->in_group,
                     .in_count = tt_cpu_count(&op->operands[0]->type),
                     .filter_count = tt_cpu_count(filter),
                     .out_count = tt_cpu_count(out)};
  v->spatial = j->spatial;
  v->batch = j->batch;
  v->channels = j->channels;
  v->features = j->group_features;
  v->in_batch = j->in_batch;
  v->in_channel = j->in_channel;
  v->filter_channel = filter_strides[j->dims->kernel_input];
  v->filter_feature = filter_strides[j->dims->kernel_output];
  v->out_batch = out_strides[j->dims->output_batch];
  v->out_feature = out_strides[j->dims->output_feature];
  c->filter_group = j->group_features * v->filter_feature;
  c->out_group = j->group_features * v->out_feature;
  for (int32_t i = 0; i < j->spatial && i < TT_CPU_CONV_SPATIAL; i++) {
    v->in_dims[i] = j->in_dims[i];
    v->in_stride[i] = j->in_stride[i];
    v->out_dims[i] = j->out_dims[i];
    v->out_stride[i] = out_strides[j->dims->output_spatial.items[i]];
    v->tap_dims[i] = j->kernel_dims[i];
    v->step[i] = j->step[i];
    c->low[i] = j->low[i];
    c->in_dilation[i] = j->in_dilation[i];
    c->filter_dilation[i] = j->kernel_dilation[i];
    c->filter_stride[i] = filter_strides[j->dims->kernel_spatial.items[i]];
    c->reversed[i] = j->reversed[i];
  }
}

/* Depthwise with the channels side by side has its own loop. */
static bool takes_packed(const conv_job *j, const tt_cpu_conv *c) {
  bool depth = j->channels == 1 && j->group_features == 1;
  return j->dtype == TT_F32 && j->spatial <= TT_CPU_CONV_SPATIAL && tt_cpu_conv_takes(c) &&
         !(depth && (j->in_group == 1 || j->batch * j->places < 8));
}

static tt_error *run_packed(conv_job *j, tt_cpu_conv *c) {
  const tt_hlo_type *type = &j->args->op->results[0].type;
  const char *in = NULL, *filter = NULL;
  convert_job convert = {j->dtype, type->dtype, NULL, j->args->out[0]};
  TT_RETURN_IF_ERROR(widen(j, 0, &in));
  TT_RETURN_IF_ERROR(widen(j, 1, &filter));
  if (type->dtype != j->dtype)
    TT_RETURN_IF_ERROR(take(j, c->out_count, &j->out));
  c->whole.in = (const float *)in;
  c->whole.filter = (const float *)filter;
  c->whole.out = (float *)j->out;
  TT_RETURN_IF_ERROR(tt_cpu_conv_run(c));
  convert.in = j->out;
  if (type->dtype != j->dtype)
    tt_cpu_parallel(c->out_count, 0.2, convert_part, &convert);
  return NULL;
}

tt_error *tt_cpu_kernel_convolution(const tt_cpu_args *args) {
  const tt_hlo_op *op = args->op;
  const tt_hlo_type *type = &op->results[0].type;
  tt_cpu_move m;
  tt_cpu_conv c;
  conv_job j = {.args = args,
                .dims = tt_hlo_op_attr(op, TT_HLO_DIMENSION_NUMBERS)->dims,
                .dtype = sum_dtype(type->dtype),
                .spatial = type->rank - 2,
                .out = args->out[0]};
  if (tt_cpu_count(type) == 0)
    return NULL;
  read_lists(&j, op);
  read_shapes(&j, op);
  if (j.k == 0) {
    memset(args->out[0], 0, (size_t)tt_cpu_bytes(type));
    return NULL;
  }
  describe(&j, &c);
  if (takes_packed(&j, &c))
    return run_packed(&j, &c);
  TT_RETURN_IF_ERROR(widen(&j, 0, &j.in));
  TT_RETURN_IF_ERROR(pack_kernel(&j));
  bool dense = result_move(&j, &m);
  if (!dense || j.dtype != type->dtype)
    TT_RETURN_IF_ERROR(take(&j, tt_cpu_count(type), &j.out));
  bool real = j.dtype == TT_F32 || j.dtype == TT_F64;
  if (real && j.channels == 1 && j.group_features == 1)
    TT_RETURN_IF_ERROR(run_depth(&j));
  else if (real)
    TT_RETURN_IF_ERROR(run_products(&j));
  else
    tt_cpu_parallel(j.rows, 3.0 * (double)j.features * (double)j.k, run_rows, &j);
  return finish(&j, dense, &m);
}
