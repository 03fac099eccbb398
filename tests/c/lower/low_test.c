#include "low_test.h"

#include <stdlib.h>
#include <string.h>

#include "pjrt/pjrt.h"

tt_error *low_begin(low_case *c, const char *overload) {
  memset(c, 0, sizeof *c);
  TT_RETURN_IF_ERROR(tt_hlo_module_new(&c->module));
  TT_RETURN_IF_ERROR(tt_hlo_build_begin(c->module, &c->b));
  c->ctx.b = &c->b;
  c->ctx.rule = tt_low_rule_find(overload);
  c->ctx.default_dtype = TT_F32;
  c->ctx.results_capacity = LOW_RESULTS;
  c->ctx.wanted = c->wanted;
  return c->ctx.rule != NULL ? NULL : tt_error_new(TT_NOT_FOUND, "no rule %s", overload);
}

void low_end(low_case *c) {
  if (c->b.module != NULL)
    tt_hlo_build_drop(&c->b);
  tt_hlo_module_free(c->module);
  tt_bytes_free(&c->text);
}

/* ---- arguments ---- */

static tt_low_value *next_arg(low_case *c, tt_low_kind kind) {
  tt_low_value *arg = &c->args[c->args_count++];
  arg->kind = kind;
  return arg;
}

static tt_hlo_value *add_param(low_case *c, tt_dtype dtype, size_t rank, const int64_t *dims,
                               const void *data) {
  struct low_param *p = &c->params[c->params_count++];
  p->dtype = dtype;
  p->rank = rank;
  p->data = data;
  if (rank != 0)
    memcpy(p->dims, dims, rank * sizeof *dims);
  return tt_hlo_param_add(&c->b, dtype, rank, dims);
}

tt_low_value *low_tensor(low_case *c, tt_dtype dtype, size_t rank, const int64_t *dims,
                         const void *data) {
  tt_low_value *arg = next_arg(c, TT_LOW_TENSOR);
  arg->tensor = add_param(c, dtype, rank, dims, data);
  return arg;
}

static tt_low_value *scalar(low_case *c, tt_dtype dtype, int64_t i, double real) {
  tt_low_value *arg = next_arg(c, TT_LOW_SCALAR);
  arg->scalar = (tt_low_scalar){.dtype = dtype, .i = i, .real = real};
  return arg;
}

tt_low_value *low_number(low_case *c, double value) { return scalar(c, TT_F64, 0, value); }
tt_low_value *low_int(low_case *c, int64_t value) {
  return scalar(c, TT_S64, value, (double)value);
}
tt_low_value *low_bool(low_case *c, bool value) { return scalar(c, TT_PRED, value, value); }
tt_low_value *low_none(low_case *c) { return next_arg(c, TT_LOW_NONE); }

tt_low_value *low_promoted(low_case *c, double value) {
  double *number = &c->numbers[c->args_count];
  tt_low_value *arg = low_number(c, 12345); /* means nothing */
  *number = value;
  arg->scalar.value = add_param(c, TT_F64, 0, NULL, number);
  return arg;
}

tt_low_value *low_ints(low_case *c, const int64_t *values, size_t count) {
  tt_low_value *items = tt_hlo_alloc(&c->b, count, sizeof *items), *arg = next_arg(c, TT_LOW_LIST);
  for (size_t i = 0; items != NULL && i < count; i++) {
    items[i].kind = TT_LOW_SCALAR;
    items[i].scalar = (tt_low_scalar){.dtype = TT_S64, .i = values[i], .real = (double)values[i]};
  }
  arg->list = (tt_low_list){items != NULL ? count : 0, items};
  return arg;
}

void low_want(low_case *c, tt_dtype dtype, size_t rank, const int64_t *dims) {
  size_t i = c->ctx.wanted_count++;
  if (rank != 0)
    memcpy(c->wanted_dims[i], dims, rank * sizeof *dims);
  c->wanted[i] = (tt_hlo_type){.dtype = dtype, .rank = (int32_t)rank, .dims = c->wanted_dims[i]};
}

/* ---- the program ---- */

tt_error *low_lower(low_case *c) {
  tt_hlo_value *values[2 * LOW_RESULTS];
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_low_lower(&c->ctx, c->args, c->args_count, c->results));
  if (c->ctx.needs_constant)
    return NULL;
  for (size_t i = 0; i < c->ctx.results_count; i++)
    if (c->results[i].kind == TT_LOW_TENSOR)
      values[count++] = c->results[i].tensor;
  if (c->ctx.count != NULL)
    values[count++] = c->ctx.count;
  for (size_t i = 0; i < c->ctx.checks_count; i++)
    values[count++] = c->ctx.checks[i];
  TT_RETURN_IF_ERROR(tt_hlo_build_finish(&c->b, values, count));
  TT_RETURN_IF_ERROR(tt_hlo_module_verify(c->module));
  return tt_hlo_module_print(c->module, &c->text);
}

/* ---- running it ---- */

static const char *plugin_path(void) {
  const char *path = getenv("TT_TEST_PLUGIN");
  if (path != NULL && path[0] != '\0')
    return path;
  return TT_TEST_XLA_PLUGIN[0] == '\0' ? NULL : TT_TEST_XLA_PLUGIN;
}

bool low_can_run(void) { return plugin_path() != NULL; }

/* Made at the first call; it stays. */
static tt_error *get_client(const tt_pj_client **out_client) {
  static tt_pj_plugin *plugin;
  static tt_pj_client *client;
  if (plugin == NULL)
    TT_RETURN_IF_ERROR(tt_pj_plugin_open(plugin_path(), NULL, 0, TT_PJ_USE_DEVICES, &plugin));
  if (client == NULL)
    TT_RETURN_IF_ERROR(tt_pj_client_create(plugin, NULL, 0, &client));
  *out_client = client;
  return NULL;
}

static tt_error *compile(const tt_pj_client *client, const tt_bytes *text,
                         tt_pj_executable **out_executable) {
  tt_error *err = NULL;
  tt_bytes options = {0};
  tt_pj_compile_options none = {0};
  *out_executable = NULL;
  TT_TRY(tt_pj_compile_options_encode(&none, &options));
  {
    tt_pj_program program = {.format = "mlir",
                             .code = text->data,
                             .code_size = text->size,
                             .options = options.data,
                             .options_size = options.size};
    TT_TRY(tt_pj_compile(client, &program, out_executable));
  }
out:
  tt_bytes_free(&options);
  return err;
}

tt_error *low_run(low_case *c, size_t index, void *out, size_t size) {
  tt_error *err = NULL;
  const tt_pj_client *client = NULL;
  tt_pj_executable *executable = NULL;
  tt_pj_buffer *inputs[LOW_ARGS] = {NULL}, *outputs[2 * LOW_RESULTS] = {NULL};
  size_t devices;
  TT_TRY(get_client(&client));
  TT_TRY(compile(client, &c->text, &executable));
  for (size_t i = 0; i < c->params_count; i++) {
    const struct low_param *p = &c->params[i];
    tt_pj_host_array array = {p->data, p->dtype, p->dims, p->rank, NULL};
    TT_TRY(tt_pj_buffer_from_host(client, tt_pj_client_devices(client, &devices)[0], NULL, &array,
                                  TT_PJ_HOST_COPY, &inputs[i], NULL));
  }
  TT_TRY(tt_pj_execute(executable, inputs, c->params_count, NULL, outputs, NULL));
  TT_TRY(tt_pj_buffer_to_host(tt_pj_client_plugin(client), outputs[index], out, size, NULL));
out:
  for (size_t i = 0; client != NULL && i < LOW_ARGS; i++)
    tt_pj_buffer_free(tt_pj_client_plugin(client), inputs[i]);
  for (size_t i = 0; client != NULL && i < 2 * LOW_RESULTS; i++)
    tt_pj_buffer_free(tt_pj_client_plugin(client), outputs[i]);
  tt_pj_executable_free(executable);
  return err;
}
