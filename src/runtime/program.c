#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/file.h"
#include "base/hash.h"
#include "runtime/internal.h"

/* What the building of one program needs at hand. */
typedef struct builder {
  tt_rt *rt;
  tt_rt_call *call;
  const tt_rt_shape *shape;
  uint8_t *promoted;
  tt_rt_program *program;
  tt_hlo_module *module;
  tt_hlo_build b;
  tt_low_ctx ctx;
  const tt_rt_meta *metas;
  size_t metas_count;
  tt_hlo_value **bases; /* [storages_count]: content at the start; NULL for one that nobody reads */
  tt_hlo_value **now;   /* [storages_count]: content at the end; NULL where unchanged */
  tt_hlo_value **scalars; /* [slots_count]: promoted ones */
  tt_low_value *results;
} builder;

static void *take(builder *w, size_t count, size_t size) {
  return tt_arena_array(&w->module->arena, count, size);
}
static void *keep(builder *w, size_t count, size_t size) {
  return tt_arena_array(&w->program->arena, count, size);
}

/* ---- parameters ---- */

static void mark_read(builder *w, const tt_rt_arg *arg, bool *read) {
  if (arg->kind == TT_RT_TENSOR)
    read[tt_rt_shape_index(w->shape, arg->tensor.storage)] = true;
  for (size_t i = 0; arg->kind == TT_RT_LIST && i < arg->count; i++)
    mark_read(w, &arg->items[i], read);
}

static bool is_target(const builder *w, size_t i) {
  return i < w->call->targets_count && w->call->targets[i].storage;
}

static tt_hlo_value *param(builder *w, tt_rt_param_kind kind, uint32_t index, tt_dtype dtype,
                           size_t rank, const int64_t *dims) {
  tt_rt_param *p = &w->program->params[w->program->params_count++];
  p->kind = kind;
  p->index = index;
  return tt_hlo_param_add(&w->b, dtype, rank, dims);
}

/* Storages that are read, or written in part, are parameters; those without content read as zeros.
 */
static tt_error *storage_params(builder *w) {
  bool *read = take(w, w->shape->storages_count, sizeof *read);
  if (read == NULL)
    return tt_error_no_memory(w->shape->storages_count);
  for (size_t i = 0; i < w->call->args_count; i++)
    mark_read(w, &w->call->args[i], read);
  for (size_t i = 0; i < w->call->targets_count; i++) {
    uint32_t k = is_target(w, i) ? tt_rt_shape_index(w->shape, w->call->targets[i].storage) : 0;
    if (is_target(w, i) && !tt_rt_view_covers(&w->call->targets[i], w->shape->bases[k].size))
      read[k] = true;
  }
  for (uint32_t i = 0; i < w->shape->storages_count; i++) {
    const tt_rt_base *s = &w->shape->bases[i];
    if (read[i] && s->written)
      w->bases[i] = param(w, TT_RT_PARAM_STORAGE, i, s->dtype, (size_t)s->rank, s->dims);
  }
  return NULL;
}

/* A storage without content, as the tensor that asks for it would lay it out: zeros. */
static tt_hlo_value *base_of(builder *w, const tt_rt_tensor *t) {
  uint32_t i = tt_rt_shape_index(w->shape, t->storage);
  tt_hlo_dim count;
  if (w->bases[i] != NULL)
    return w->bases[i];
  count = tt_hlo_dim_number(w->shape->bases[i].size / tt_dtype_bytes(t->dtype));
  return tt_hlo_full(&w->b, tt_hlo_const(&w->b, t->dtype, 0), &count, 1);
}

/* A number that meets this type needs more digits than f32 has. */
static bool is_wide(tt_dtype dtype) {
  return dtype == TT_F64 || dtype == TT_C128 ||
         (tt_dtype_is_integer(dtype) && tt_dtypes[dtype].bits > 16);
}

static bool uses_wide(const tt_rt_arg *arg) {
  if (arg->kind == TT_RT_TENSOR)
    return arg->tensor.dtype == TT_F64 || arg->tensor.dtype == TT_C128;
  if (arg->kind == TT_RT_DTYPE)
    return is_wide(arg->dtype);
  for (size_t i = 0; arg->kind == TT_RT_LIST && i < arg->count; i++)
    if (uses_wide(&arg->items[i]))
      return true;
  return arg->kind == TT_RT_HOST_SCALAR && !arg->wrapped && arg->dtype == TT_F64;
}

static tt_dtype floats_dtype(const builder *w) {
  for (size_t i = 0; i < w->call->args_count; i++)
    if (uses_wide(&w->call->args[i]))
      return TT_F64;
  for (size_t i = 0; i < w->metas_count; i++)
    if (w->metas[i].defined && is_wide(w->metas[i].dtype))
      return TT_F64;
  for (size_t i = 0; i < w->call->targets_count; i++)
    if (is_target(w, i) && is_wide(w->call->targets[i].dtype))
      return TT_F64;
  return TT_F32;
}

static bool slot_is_int(const tt_rt_slot *slot) {
  return slot->arg == NULL || tt_dtype_is_integer(slot->arg->dtype);
}

/* One vector for all promoted floats, one for all promoted integers. */
static tt_error *scalar_params(builder *w, tt_hlo_value **floats, tt_hlo_value **ints) {
  tt_rt_program *p = w->program;
  p->float_slots = keep(w, w->shape->slots_count, sizeof *p->float_slots);
  p->int_slots = keep(w, w->shape->slots_count, sizeof *p->int_slots);
  if (p->float_slots == NULL || p->int_slots == NULL)
    return tt_error_no_memory(w->shape->slots_count * 8);
  p->floats_dtype = floats_dtype(w);
  for (uint32_t i = 0; i < w->shape->slots_count; i++) {
    if (!w->promoted[i])
      continue;
    if (slot_is_int(&w->shape->slots[i]))
      p->int_slots[p->int_slots_count++] = i;
    else
      p->float_slots[p->float_slots_count++] = i;
  }
  if (p->float_slots_count != 0)
    *floats = param(w, TT_RT_PARAM_FLOATS, 0, p->floats_dtype, 1,
                    &(int64_t){(int64_t)p->float_slots_count});
  if (p->int_slots_count != 0)
    *ints = param(w, TT_RT_PARAM_INTS, 0, TT_S64, 1, &(int64_t){(int64_t)p->int_slots_count});
  return NULL;
}

static void split_vector(builder *w, tt_hlo_value *vector, const uint32_t *slots, size_t count) {
  for (size_t i = 0; i < count; i++) {
    tt_hlo_value *one = tt_hlo_slice_axis(&w->b, vector, 0, (int64_t)i, (int64_t)i + 1, 1);
    w->scalars[slots[i]] = tt_hlo_reshape(&w->b, one, NULL, 0);
  }
}

static tt_error *add_params(builder *w) {
  tt_hlo_value *floats = NULL, *ints = NULL;
  w->program->params = keep(w, w->shape->storages_count + 3, sizeof *w->program->params);
  if (w->program->params == NULL)
    return tt_error_no_memory(w->shape->storages_count * sizeof *w->program->params);
  tt_hlo_params_reserve(&w->b, w->shape->storages_count + 3);
  TT_RETURN_IF_ERROR(storage_params(w));
  TT_RETURN_IF_ERROR(scalar_params(w, &floats, &ints));
  if (w->call->rule->traits & TT_LOW_RANDOM)
    w->ctx.rng_state = param(w, TT_RT_PARAM_RNG, 0, TT_U64, 1, &(int64_t){2});
  split_vector(w, floats, w->program->float_slots, w->program->float_slots_count);
  split_vector(w, ints, w->program->int_slots, w->program->int_slots_count);
  return NULL;
}

/* ---- arguments ---- */

static tt_hlo_value *scalar_of(builder *w, const tt_rt_arg *arg) {
  for (size_t i = 0; i < w->shape->slots_count; i++)
    if (w->shape->slots[i].arg == arg)
      return w->scalars[i];
  return NULL;
}

/* The offset of a view at run time, NULL where it is the one at hand. */
static tt_hlo_value *offset_of(builder *w, const tt_rt_tensor *tensor) {
  for (size_t i = 0; i < w->shape->slots_count; i++)
    if (w->shape->slots[i].tensor == tensor && w->scalars[i] != NULL)
      return tt_hlo_convert(&w->b, w->scalars[i], TT_S32);
  return NULL;
}

static void host_scalar(builder *w, const tt_rt_arg *arg, tt_low_value *out) {
  tt_hlo_value *value = scalar_of(w, arg);
  out->kind = TT_LOW_TENSOR;
  out->wrapped = arg->wrapped;
  if (value != NULL)
    out->tensor = tt_hlo_convert(&w->b, value, arg->dtype);
  else if (tt_dtype_is_integer(arg->dtype))
    out->tensor = tt_hlo_const_int(&w->b, arg->dtype, arg->i);
  else
    out->tensor = tt_hlo_const_complex(&w->b, arg->dtype, arg->real, arg->imag);
}

static bool is_row_major(const tt_rt_tensor *t) {
  int64_t stride = 1;
  for (int i = t->rank - 1; i >= 0; i--) {
    if (t->sizes[i] != 1 && t->strides[i] != stride)
      return false;
    stride *= t->sizes[i];
  }
  return true;
}

static tt_error *convert_arg(builder *w, const tt_rt_arg *arg, tt_low_value *out) {
  tt_low_value *items;
  bool repeats = arg->kind == TT_RT_LIST && tt_rt_list_repeats(arg);
  switch (arg->kind) {
    case TT_RT_NONE:
      out->kind = TT_LOW_NONE;
      break;
    case TT_RT_OTHER:
      out->kind = TT_LOW_OTHER;
      break;
    case TT_RT_TENSOR:
      out->kind = TT_LOW_TENSOR;
      out->wrapped = arg->wrapped;
      out->strided = !is_row_major(&arg->tensor);
      out->tensor = tt_rt_view_read(&w->b, base_of(w, &arg->tensor), &arg->tensor,
                                    offset_of(w, &arg->tensor));
      break;
    case TT_RT_HOST_SCALAR:
      host_scalar(w, arg, out);
      break;
    case TT_RT_SCALAR:
      out->kind = TT_LOW_SCALAR;
      out->scalar = (tt_low_scalar){arg->dtype, arg->i, arg->real, arg->imag, scalar_of(w, arg)};
      break;
    case TT_RT_DTYPE:
      out->kind = TT_LOW_DTYPE;
      out->dtype = arg->dtype;
      break;
    case TT_RT_STRING:
      out->kind = TT_LOW_STRING;
      out->string = arg->string;
      break;
    case TT_RT_LIST:
      items = take(w, arg->count, sizeof *items);
      if (items == NULL)
        return tt_error_no_memory(arg->count * sizeof *items);
      for (size_t i = 0; i < arg->count; i++)
        if (i != 0 && repeats)
          items[i] = items[0];
        else
          TT_RETURN_IF_ERROR(convert_arg(w, &arg->items[i], &items[i]));
      out->kind = TT_LOW_LIST;
      out->list = (tt_low_list){arg->count, items};
      break;
  }
  return NULL;
}

/* ---- results ---- */

/* Wanted types for the rule; `token` stands for a result that is no tensor. */
static tt_error *wanted_types(builder *w) {
  tt_hlo_type *wanted = take(w, w->metas_count, sizeof *wanted);
  if (wanted == NULL)
    return tt_error_no_memory(w->metas_count * sizeof *wanted);
  for (size_t i = 0; i < w->metas_count; i++) {
    wanted[i].token = !w->metas[i].defined;
    wanted[i].dtype = w->metas[i].dtype;
    wanted[i].rank = w->metas[i].defined ? w->metas[i].rank : 0;
    wanted[i].dims = w->metas[i].sizes;
  }
  w->ctx.wanted = wanted;
  w->ctx.wanted_count = w->metas_count;
  return NULL;
}

static tt_error *lower(builder *w) {
  tt_low_value *args = take(w, w->call->args_count, sizeof *args);
  w->ctx.b = &w->b;
  w->ctx.rule = w->call->rule;
  w->ctx.default_dtype = (tt_dtype)atomic_load(&w->rt->default_dtype);
  w->ctx.debug = tt_rt_mode_get(w->rt) == TT_RT_DEBUG;
  w->ctx.results_capacity =
      w->metas_count > w->call->results_capacity ? w->metas_count : w->call->results_capacity;
  w->results = take(w, w->ctx.results_capacity, sizeof *w->results);
  if (args == NULL || w->results == NULL)
    return tt_error_no_memory(w->call->args_count * sizeof *args);
  TT_RETURN_IF_ERROR(wanted_types(w));
  for (size_t i = 0; i < w->call->args_count; i++)
    TT_RETURN_IF_ERROR(convert_arg(w, &w->call->args[i], &args[i]));
  if (tt_hlo_failed(&w->b)) {
    tt_error *err = w->b.err;
    w->b.err = NULL;
    return tt_error_wrap_take(err, "%s", w->call->rule->overload);
  }
  return tt_low_lower(&w->ctx, args, w->call->args_count, w->results);
}

static tt_error *add_output(builder *w, tt_rt_output_kind kind, uint32_t index, tt_hlo_value *value,
                            tt_hlo_value **values) {
  tt_rt_output *out = &w->program->outputs[w->program->outputs_count];
  int64_t count;
  if (value->type.rank > TT_RT_BASE_RANK ||
      !tt_dims_count(value->type.dims, (size_t)value->type.rank, &count))
    return tt_error_new(TT_INTERNAL, "%s: output %zu has unknown dims", w->call->rule->overload,
                        w->program->outputs_count);
  out->kind = kind;
  out->index = index;
  out->dtype = value->type.dtype;
  out->rank = value->type.rank;
  if (out->rank != 0)
    memcpy(out->dims, value->type.dims, (size_t)out->rank * sizeof *out->dims);
  out->size = count * tt_dtype_bytes(out->dtype);
  values[w->program->outputs_count++] = value;
  return NULL;
}

/* The strides a new result gets: PyTorch's when they fill a block, else row-major ones. */
static void new_strides(const tt_rt_meta *meta, const int64_t *sizes, int32_t rank,
                        int64_t *out_strides) {
  if (meta != NULL && meta->strides != NULL && tt_rt_dense(sizes, meta->strides, rank)) {
    if (rank != 0)
      memcpy(out_strides, meta->strides, (size_t)rank * sizeof *out_strides);
  } else {
    tt_rt_view_contiguous_strides(sizes, rank, out_strides);
  }
}

static tt_error *describe_result(builder *w, size_t i, tt_rt_result *result) {
  const tt_hlo_type *type = &w->results[i].tensor->type;
  size_t rank = (size_t)type->rank;
  int64_t *sizes = keep(w, rank, sizeof *sizes), *strides = keep(w, rank, sizeof *strides);
  if (sizes == NULL || strides == NULL)
    return tt_error_no_memory(rank * 16);
  if (rank != 0)
    memcpy(sizes, type->dims, rank * sizeof *sizes);
  new_strides(i < w->metas_count ? &w->metas[i] : NULL, sizes, type->rank, strides);
  result->dtype = type->dtype;
  result->rank = type->rank;
  result->sizes = sizes;
  result->strides = strides;
  return NULL;
}

/* target = value: the storage's new content, for later writes and for the end. */
static void write_target(builder *w, const tt_rt_tensor *target, tt_hlo_value *value) {
  uint32_t i = tt_rt_shape_index(w->shape, target->storage);
  tt_hlo_value *base;
  value = tt_hlo_convert(&w->b, value, target->dtype);
  if (tt_rt_view_covers(target, w->shape->bases[i].size)) {
    w->now[i] = tt_rt_view_store(&w->b, value, target->sizes, target->strides);
    return;
  }
  base = w->now[i] != NULL ? w->now[i] : base_of(w, target);
  w->now[i] = tt_rt_view_write(&w->b, base, target, value, offset_of(w, target));
}

static tt_error *check_target(const builder *w, size_t i, const tt_hlo_value *value) {
  const tt_rt_tensor *t = &w->call->targets[i];
  bool same = value->type.rank == t->rank;
  for (int k = 0; same && k < t->rank; k++)
    same = value->type.dims[k] == t->sizes[k];
  return same ? NULL
              : tt_error_new(TT_INVALID_ARGUMENT,
                             "%s: the result of rank %d does not fit the tensor it is written to",
                             w->call->rule->overload, (int)value->type.rank);
}

static tt_error *add_results(builder *w, tt_hlo_value **values) {
  tt_rt_program *p = w->program;
  for (size_t i = 0; i < p->results_count; i++) {
    tt_low_value *result = &w->results[i];
    p->results[i].rank = -1; /* no tensor */
    p->results[i].rows = result->kind == TT_LOW_SCALAR ? result->scalar.i : -1;
    if (result->kind != TT_LOW_TENSOR || (i < w->metas_count && !w->metas[i].defined))
      continue;
    p->counted[i] = result->counted;
    if (is_target(w, i)) {
      TT_RETURN_IF_ERROR(check_target(w, i, result->tensor));
      write_target(w, &w->call->targets[i], result->tensor);
      continue;
    }
    TT_RETURN_IF_ERROR(describe_result(w, i, &p->results[i]));
    result->tensor =
        tt_rt_view_store(&w->b, result->tensor, p->results[i].sizes, p->results[i].strides);
    TT_RETURN_IF_ERROR(add_output(w, TT_RT_OUTPUT_NEW, (uint32_t)i, result->tensor, values));
  }
  return NULL;
}

/* A written storage whose old content was a parameter of the same type gives its buffer to the new
 * content. */
static tt_error *add_writes(builder *w, tt_hlo_value **values) {
  for (uint32_t i = 0; i < w->shape->storages_count; i++) {
    if (w->now[i] == NULL)
      continue;
    TT_RETURN_IF_ERROR(add_output(w, TT_RT_OUTPUT_STORAGE, i, w->now[i], values));
    for (size_t k = 0; k < w->program->params_count; k++) {
      tt_rt_param *p = &w->program->params[k];
      if (w->ctx.checks_count == 0 && /* one that fails leaves the old content */
          p->kind == TT_RT_PARAM_STORAGE && p->index == i && w->bases[i] != w->now[i] &&
          tt_hlo_type_equal(&w->bases[i]->type, &w->now[i]->type)) {
        p->donated = true;
        w->b.func->params[k].alias = (int32_t)w->program->outputs_count - 1;
      }
    }
  }
  return NULL;
}

static tt_error *add_checks(builder *w, tt_hlo_value **values) {
  tt_rt_program *p = w->program;
  p->checks_count = w->ctx.checks_count;
  p->check_codes = keep(w, p->checks_count, sizeof *p->check_codes);
  p->check_messages = keep(w, p->checks_count, sizeof *p->check_messages);
  if (p->check_codes == NULL || p->check_messages == NULL)
    return tt_error_no_memory(p->checks_count * 16);
  for (uint32_t i = 0; i < p->checks_count; i++) {
    p->check_codes[i] = w->ctx.check_codes[i];
    p->check_messages[i] = w->ctx.check_messages[i]; /* static text of the rule */
    TT_RETURN_IF_ERROR(add_output(w, TT_RT_OUTPUT_CHECK, i, w->ctx.checks[i], values));
  }
  if (w->ctx.count != NULL)
    TT_RETURN_IF_ERROR(
        add_output(w, TT_RT_OUTPUT_COUNT, 0, tt_hlo_convert(&w->b, w->ctx.count, TT_S64), values));
  return NULL;
}

static tt_error *finish(builder *w) {
  tt_rt_program *p = w->program;
  size_t most = w->ctx.results_count + w->shape->storages_count + TT_COUNT(w->ctx.checks) + 1;
  tt_hlo_value **values = take(w, most, sizeof *values);
  p->results_count = w->ctx.results_count;
  p->outputs = keep(w, most, sizeof *p->outputs);
  p->results = keep(w, p->results_count, sizeof *p->results);
  p->counted = keep(w, p->results_count, sizeof *p->counted);
  if (values == NULL || p->outputs == NULL || p->results == NULL || p->counted == NULL)
    return tt_error_no_memory(most * sizeof *p->outputs);
  TT_RETURN_IF_ERROR(add_results(w, values));
  TT_RETURN_IF_ERROR(add_writes(w, values));
  TT_RETURN_IF_ERROR(add_checks(w, values));
  p->rng_blocks = w->ctx.rng_blocks;
  return tt_hlo_build_finish(&w->b, values, p->outputs_count);
}

/* ---- compiling ---- */

static void dump_text(tt_rt *rt, const tt_low_rule *rule, const tt_bytes *text) {
  char path[4096] = "";
  pthread_mutex_lock(&rt->lock);
  if (rt->dump_folder != NULL)
    snprintf(path, sizeof path, "%s/%06lld.%s.mlir", rt->dump_folder, (long long)rt->dumps++,
             rule->overload + 6);
  pthread_mutex_unlock(&rt->lock);
  if (path[0] == 0)
    return;
  tt_error_free(
      tt_file_write(path, text->data, text->size)); /* a full disk must not stop training */
}

static tt_error *compile_text(const builder *w, const tt_bytes *text, int device, unsigned hints,
                              tt_pj_executable **out_raw) {
  tt_error *err = NULL;
  tt_pj_compile_options options = {.device_ids = &device};
  tt_bytes encoded = {0};
  tt_pj_program program = {
      .format = "mlir", .code = text->data, .code_size = text->size, .hints = hints};
  *out_raw = NULL;
  TT_TRY(tt_pj_compile_options_encode(&options, &encoded));
  program.options = encoded.data;
  program.options_size = encoded.size;
  TT_TRY(tt_pj_compile(w->rt->client, &program, out_raw));
out:
  tt_bytes_free(&encoded);
  return err;
}

/* Two calls that lower to the same text share one executable. The key is the text's hash, the
 * device and what else the compilation depends on. */
typedef struct text_key {
  uint64_t hash[2];
  uint32_t device, hints;
} text_key;

static tt_error *share_executable(tt_rt *rt, const text_key *key, tt_pj_executable *raw_taken,
                                  tt_rt_executable **out_executable) {
  uint64_t hash = tt_map_hash(key, sizeof *key);
  tt_rt_executable *found, *fresh = calloc(1, sizeof *fresh);
  tt_error *err = NULL;
  if (fresh == NULL) {
    tt_pj_executable_free(raw_taken);
    return tt_error_no_memory(sizeof *fresh);
  }
  fresh->raw = raw_taken;
  pthread_mutex_lock(&rt->lock);
  found = tt_map_get(&rt->executables, key, sizeof *key, hash);
  if (found == NULL) {
    err = tt_map_put(&rt->executables, key, sizeof *key, hash, fresh);
    found = err == NULL ? fresh : NULL;
  }
  if (found != NULL)
    found->references++;
  pthread_mutex_unlock(&rt->lock);
  if (found != fresh) { /* another thread was quicker, or no memory */
    tt_pj_executable_free(fresh->raw);
    free(fresh);
  }
  *out_executable = found;
  return err;
}

static tt_error *load_or_compile(builder *w, const tt_bytes *text, const text_key *key,
                                 tt_pj_executable **out_raw) {
  tt_rt *rt = w->rt;
  int64_t start = tt_rt_now_ns();
  uint64_t disk_key[2];
  tt_pj_device_info info;
  bool loaded;
  tt_hash128(key, sizeof *key, disk_key);
  dump_text(rt, w->call->rule, text);
  *out_raw = tt_rt_disk_load(rt, disk_key);
  loaded = *out_raw != NULL;
  if (!loaded) {
    TT_RETURN_IF_ERROR(tt_pj_device_describe(rt->plugin, w->call->device->raw, &info));
    TT_RETURN_IF_ERROR(tt_error_wrap_take(compile_text(w, text, info.id, key->hints, out_raw),
                                          "%s: compile", w->call->rule->overload));
    tt_rt_disk_store(rt, disk_key, *out_raw);
  }
  pthread_mutex_lock(&rt->lock);
  rt->stats.compile_ns += tt_rt_now_ns() - start;
  rt->stats.programs += !loaded;
  rt->stats.loaded += loaded;
  pthread_mutex_unlock(&rt->lock);
  return NULL;
}

static tt_error *find_or_compile(builder *w, const tt_bytes *text) {
  tt_rt *rt = w->rt;
  unsigned hints = tt_rt_hints(rt, w->module->funcs, w->call->rule);
  text_key key = {{0, 0}, (uint32_t)w->call->device->index, hints};
  tt_pj_executable *raw;
  tt_hash128(text->data, text->size, key.hash);
  pthread_mutex_lock(&rt->lock);
  w->program->executable =
      tt_map_get(&rt->executables, &key, sizeof key, tt_map_hash(&key, sizeof key));
  if (w->program->executable != NULL)
    w->program->executable->references++;
  pthread_mutex_unlock(&rt->lock);
  if (w->program->executable != NULL)
    return NULL;
  TT_RETURN_IF_ERROR(load_or_compile(w, text, &key, &raw));
  return share_executable(rt, &key, raw, &w->program->executable);
}

static tt_error *compile(builder *w) {
  tt_error *err = NULL;
  tt_bytes text = {0};
  if (w->program->outputs_count == 0) /* nothing to compute */
    return NULL;
  TT_TRY(tt_hlo_module_print(w->module, &text));
  TT_TRY(find_or_compile(w, &text));
out:
  tt_bytes_free(&text);
  return err;
}

/* ---- all together ---- */

static tt_error *ask_meta(builder *w) {
  int64_t start = tt_rt_now_ns();
  tt_rt_meta *metas = NULL;
  tt_error *err = NULL;
  if (!(w->call->rule->traits & TT_LOW_OWN_TYPES))
    err = w->rt->host.meta(w->call, &w->module->arena, &metas,
                           &w->metas_count); /* none: the rule's own types */
  w->metas = metas;
  pthread_mutex_lock(&w->rt->lock);
  w->rt->stats.meta_ns += tt_rt_now_ns() - start;
  pthread_mutex_unlock(&w->rt->lock);
  return err;
}

/* The rule wants a promoted scalar as a number: it is fixed from now on. */
static void demote(builder *w) {
  for (size_t i = 0; i < w->shape->slots_count; i++)
    if (w->scalars[i] != NULL && w->scalars[i] == w->ctx.constant)
      w->promoted[i] = 0;
}

static tt_error *build(builder *w) {
  w->bases = take(w, w->shape->storages_count, sizeof *w->bases);
  w->now = take(w, w->shape->storages_count, sizeof *w->now);
  w->scalars = take(w, w->shape->slots_count, sizeof *w->scalars);
  if (w->bases == NULL || w->now == NULL || w->scalars == NULL)
    return tt_error_no_memory(w->shape->storages_count * 16);
  TT_RETURN_IF_ERROR(tt_hlo_build_begin(w->module, &w->b));
  w->b.precision = tt_rt_precision_get(w->rt);
  TT_RETURN_IF_ERROR(add_params(w));
  TT_RETURN_IF_ERROR(lower(w));
  return w->ctx.needs_constant ? NULL : finish(w);
}

tt_error *tt_rt_program_build(tt_rt *rt, tt_rt_call *call, const tt_rt_shape *shape,
                              uint8_t *promoted, const tt_rt_meta *metas, size_t metas_count,
                              tt_rt_program **out_program) {
  tt_error *err = NULL;
  builder w = {.rt = rt,
               .call = call,
               .shape = shape,
               .promoted = promoted,
               .metas = metas,
               .metas_count = metas_count};
  int64_t start;
  *out_program = NULL;
  TT_TRY(tt_hlo_module_new(&w.module));
  w.program = calloc(1, sizeof *w.program);
  if (w.program == NULL)
    TT_TRY(tt_error_no_memory(sizeof *w.program));
  w.program->rule = call->rule;
  if (metas == NULL)
    TT_TRY(ask_meta(&w));
  start = tt_rt_now_ns();
  TT_TRY(build(&w));
  if (w.ctx.needs_constant) {
    demote(&w);
    goto out;
  }
  pthread_mutex_lock(&rt->lock);
  rt->stats.lower_ns += tt_rt_now_ns() - start;
  pthread_mutex_unlock(&rt->lock);
  TT_TRY(compile(&w));
  *out_program = w.program;
  w.program = NULL;
out:
  if (w.b.module != NULL)
    tt_hlo_build_drop(&w.b);
  if (w.program != NULL) {
    pthread_mutex_lock(&rt->lock);
    tt_rt_program_free(rt, w.program);
    pthread_mutex_unlock(&rt->lock);
  }
  tt_hlo_module_free(w.module);
  return err;
}

void tt_rt_program_drop_executable(tt_rt_program *program) {
  if (program->executable != NULL)
    program->executable->references--;
  program->executable = NULL;
}

void tt_rt_program_free(tt_rt *rt, tt_rt_program *program) {
  (void)rt; /* executables stay in rt->executables until the cache is cleared */
  tt_rt_program_drop_executable(program);
  tt_arena_reset(&program->arena);
  free(program);
}
