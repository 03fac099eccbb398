#include "rt_test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

long rt_metas_asked;
const char *rt_line;

/* ---- the host ---- */

/* The call's context is the tensor that its one result is like; no context: no meta kernel. */
static tt_error *meta(tt_rt_call *call, tt_arena *arena, tt_rt_meta **out_metas,
                      size_t *out_count) {
  const rt_tensor *like = call->context;
  tt_rt_meta *one;
  __atomic_fetch_add(&rt_metas_asked, 1, __ATOMIC_RELAXED);
  if (like == NULL)
    return NULL;
  one = tt_arena_array(arena, 1, sizeof *one);
  if (one == NULL)
    return tt_error_no_memory(sizeof *one);
  *one = (tt_rt_meta){true, like->dtype, like->rank, like->sizes, like->strides};
  *out_metas = one;
  *out_count = 1;
  return NULL;
}

static const char *user_line(void) { return rt_line; }

/* ---- runtimes ---- */

const char *rt_plugin_path(void) {
  const char *path = getenv("TT_TEST_PLUGIN");
  if (path != NULL && path[0] != '\0')
    return path;
  return TT_TEST_XLA_PLUGIN[0] == '\0' ? NULL : TT_TEST_XLA_PLUGIN;
}

static tt_rt *open_once(tt_rt **rt, const char *path) {
  tt_rt_options options = {.plugin = path, .host = {.meta = meta, .user_line = user_line}};
  if (path == NULL) {
    tt_test_skip("no plugin: set TT_TEST_PLUGIN");
    return NULL;
  }
  if (*rt == NULL)
    EXPECT_OK(tt_rt_open(&options, rt));
  if (*rt != NULL)
    EXPECT_OK(tt_rt_mode_set(*rt, TT_RT_STRICT));
  rt_line = NULL;
  return *rt;
}

tt_rt *rt_get(void) {
  static tt_rt *rt;
  return open_once(&rt, rt_plugin_path());
}

tt_rt *rt_get_faulty(void) {
  static tt_rt *rt;
  return open_once(&rt, TT_TEST_XLA_PLUGIN[0] == '\0' ? NULL : TT_TEST_FAULTY);
}

static void *faulty_symbol(const char *name) {
  static void *library;
  if (library == NULL)
    library = dlopen(TT_TEST_FAULTY, RTLD_NOW | RTLD_LOCAL);
  return library != NULL ? dlsym(library, name) : NULL;
}

void rt_fail(const char *what, tt_code code, int after) {
  void *symbol = faulty_symbol("tt_faulty_fail");
  void (*fail)(const char *, int, int);
  if (!EXPECT(symbol != NULL))
    return;
  memcpy(&fail, &symbol, sizeof fail);
  fail(what, (int)code, after);
}

long rt_count(const char *what) {
  void *symbol = faulty_symbol("tt_faulty_count");
  long (*count)(const char *);
  if (!EXPECT(symbol != NULL))
    return 0;
  memcpy(&count, &symbol, sizeof count);
  return count(what);
}

/* ---- tensors ---- */

tt_rt_tensor rt_view(const rt_tensor *t) {
  return (tt_rt_tensor){t->storage, t->dtype, t->rank, t->sizes, t->strides, t->offset};
}

tt_rt_arg rt_arg(const rt_tensor *t) {
  return (tt_rt_arg){.kind = TT_RT_TENSOR, .tensor = rt_view(t)};
}
tt_rt_arg rt_float(double value) {
  return (tt_rt_arg){.kind = TT_RT_SCALAR, .dtype = TT_F64, .real = value};
}

tt_rt_arg rt_int(int64_t value) {
  return (tt_rt_arg){.kind = TT_RT_SCALAR, .dtype = TT_S64, .i = value, .real = (double)value};
}

tt_rt_arg rt_fixed_int(int64_t value) {
  tt_rt_arg arg = rt_int(value);
  arg.fixed = true;
  return arg;
}

int64_t rt_elements(const rt_tensor *t) {
  int64_t count = 1;
  for (int i = 0; i < t->rank; i++)
    count *= t->sizes[i];
  return count;
}

static void set_contiguous(rt_tensor *t, tt_dtype dtype, int32_t rank, const int64_t *sizes) {
  int64_t stride = 1;
  *t = (rt_tensor){.dtype = dtype, .rank = rank};
  for (int i = rank - 1; i >= 0; i--) {
    t->sizes[i] = sizes[i];
    t->strides[i] = stride;
    stride *= sizes[i] > 1 ? sizes[i] : 1;
  }
}

tt_error *rt_new(tt_rt *rt, tt_dtype dtype, int32_t rank, const int64_t *sizes, const void *data,
                 rt_tensor *out) {
  tt_error *err;
  set_contiguous(out, dtype, rank, sizes);
  err = tt_rt_storage_new(tt_rt_device_at(rt, 0), rt_elements(out) * tt_dtype_bytes(dtype),
                          &out->storage);
  if (err == NULL && data != NULL)
    err = tt_rt_storage_upload(out->storage, dtype, out->sizes, (size_t)rank, data);
  if (err != NULL)
    rt_drop(out);
  return err;
}

tt_error *rt_vector(tt_rt *rt, const float *data, int64_t count, rt_tensor *out) {
  return rt_new(rt, TT_F32, 1, &count, data, out);
}

void rt_drop(rt_tensor *t) {
  tt_rt_storage_release(t->storage);
  t->storage = NULL;
}

tt_error *rt_read(const rt_tensor *t, void *data) {
  return tt_rt_storage_download(t->storage, data, tt_rt_storage_size(t->storage));
}

/* ---- calls ---- */

static tt_error *run(tt_rt *rt, const char *overload, const tt_rt_arg *args, size_t args_count,
                     const rt_tensor *like, const rt_tensor *target, tt_rt_rng *rng,
                     rt_tensor *out) {
  tt_rt_tensor to = target != NULL ? rt_view(target) : (tt_rt_tensor){0};
  tt_rt_result results[8];
  tt_rt_call call = {.rule = tt_low_rule_find(overload),
                     .device = tt_rt_device_at(rt, 0),
                     .args = args,
                     .args_count = args_count,
                     .targets = target != NULL ? &to : NULL,
                     .targets_count = target != NULL,
                     .results = results,
                     .results_capacity = 8,
                     .rng = rng,
                     .context = (void *)(uintptr_t)like};
  if (out != NULL)
    out->storage = NULL;
  if (call.rule == NULL)
    return tt_error_new(TT_NOT_FOUND, "no rule %s", overload);
  TT_RETURN_IF_ERROR(tt_rt_run(&call));
  for (size_t i = 1; i < call.results_count; i++)
    tt_rt_storage_release(results[i].storage);
  if (out == NULL) {
    tt_rt_storage_release(results[0].storage);
    return NULL;
  }
  set_contiguous(out, results[0].dtype, results[0].rank, results[0].sizes);
  memcpy(out->strides, results[0].strides, (size_t)results[0].rank * sizeof *out->strides);
  out->storage = results[0].storage;
  return NULL;
}

tt_error *rt_call(tt_rt *rt, const char *overload, const tt_rt_arg *args, size_t args_count,
                  const rt_tensor *like, const rt_tensor *target, rt_tensor *out) {
  return run(rt, overload, args, args_count, like, target, NULL, out);
}

tt_error *rt_call_random(tt_rt *rt, const char *overload, const tt_rt_arg *args, size_t args_count,
                         const rt_tensor *like, tt_rt_rng *rng, rt_tensor *out) {
  return run(rt, overload, args, args_count, like, NULL, rng, out);
}

tt_error *rt_add(tt_rt *rt, const rt_tensor *x, const rt_tensor *y, double alpha,
                 const rt_tensor *target, rt_tensor *out) {
  tt_rt_arg args[] = {rt_arg(x), rt_arg(y), rt_float(alpha)};
  return rt_call(rt, "aten::add.Tensor", args, 3, x, target, out);
}

tt_rt_stats rt_stats(tt_rt *rt) {
  tt_rt_stats stats;
  tt_rt_stats_get(rt, &stats);
  return stats;
}
