/* The module, its functions, what their parameters may be used for. */
#include "hlo/bytecode_internal.h"

#include <string.h>

#define PART(name) {TT_HLO_BC_PART, name, TT_HLO_ATTR_NAME_COUNT}
#define END {TT_HLO_BC_END, NULL, TT_HLO_ATTR_NAME_COUNT}

/* ---- parameters ---- */

static tt_error *read_sharding(tt_hlo_bc *r, const char *name, uint32_t value,
                               const char **out_text) {
  if (strcmp(name, "sdy.sharding") != 0 && strcmp(name, "mhlo.sharding") != 0)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_check_sharding(r, value));
  return tt_hlo_bc_sharding(r, value, out_text);
}

static tt_error *read_param_attr(tt_hlo_bc *r, const char *name, uint32_t value,
                                 tt_hlo_param *param) {
  int64_t alias = 0;
  if (strcmp(name, "tf.aliasing_output") == 0) {
    TT_RETURN_IF_ERROR(tt_hlo_bc_int(r, value, name, &alias));
    TT_HLO_BC_CHECK(alias >= 0 && alias <= INT32_MAX, r, r->attrs[value].span.at, "%s is %lld",
                    name, (long long)alias);
    param->alias = (int32_t)alias;
    return NULL;
  }
  if (strcmp(name, "jax.buffer_donor") == 0)
    return tt_hlo_bc_bool(r, value, name, &param->donated);
  return read_sharding(r, name, value, &param->sharding);
}

static tt_error *read_param(tt_hlo_bc *r, uint32_t dict, tt_hlo_param *param) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_dict(r, dict, "a parameter's attributes", &items, &count));
  for (size_t i = 0; i < count; i++) {
    uint32_t key = 0, value = 0;
    const char *name = NULL;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &items, &key));
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &items, &value));
    TT_RETURN_IF_ERROR(tt_hlo_bc_text(r, key, "an attribute's name", &name));
    TT_RETURN_IF_ERROR(read_param_attr(r, name, value, param));
  }
  return NULL;
}

/* One dictionary a parameter, or none at all. */
static tt_error *read_params(tt_hlo_bc *r, uint32_t attrs, tt_hlo_func *func) {
  tt_hlo_bc_span items = {0};
  size_t count = 0, params = func->body->args_count;
  TT_RETURN_IF_ERROR(tt_hlo_bc_array(r, attrs, "arg_attrs", &items, &count));
  TT_HLO_BC_CHECK(count == 0 || count == params, r, r->attrs[attrs].span.at,
                  "@%s: attributes of %zu parameters, it has %zu", func->name, count, params);
  func->params = tt_arena_array(r->arena, params, sizeof *func->params);
  if (func->params == NULL)
    return tt_error_no_memory(params * sizeof *func->params);
  for (size_t i = 0; i < params; i++)
    func->params[i].alias = -1;
  for (size_t i = 0; i < count; i++) {
    uint32_t dict = 0;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &items, &dict));
    TT_RETURN_IF_ERROR(read_param(r, dict, &func->params[i]));
  }
  return NULL;
}

/* One dictionary a result, or none at all. */
static tt_error *read_results(tt_hlo_bc *r, uint32_t attrs, tt_hlo_func *func) {
  tt_hlo_bc_span items = {0};
  size_t count = 0, results = func->body->last == NULL ? 0 : func->body->last->operands_count;
  TT_RETURN_IF_ERROR(tt_hlo_bc_array(r, attrs, "res_attrs", &items, &count));
  if (count == 0 || count != results)
    return NULL;
  func->result_shardings = tt_arena_array(r->arena, count, sizeof *func->result_shardings);
  if (func->result_shardings == NULL)
    return tt_error_no_memory(count * sizeof *func->result_shardings);
  for (size_t i = 0; i < count; i++) {
    uint32_t dict = 0, value = 0;
    bool found = false;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &items, &dict));
    TT_RETURN_IF_ERROR(tt_hlo_bc_dict_find(r, dict, "sdy.sharding", &found, &value));
    if (found)
      TT_RETURN_IF_ERROR(read_sharding(r, "sdy.sharding", value, &func->result_shardings[i]));
  }
  return NULL;
}

/* ---- functions ---- */

/* One region, isolated or not as the flag says; before version 2 without a section. */
static tt_error *read_body(tt_hlo_bc *r, tt_hlo_bc_span *s, const tt_hlo_bc_op_head *head,
                           tt_hlo_region **out_region) {
  size_t count = 0;
  bool isolated = false;
  tt_hlo_bc_span body = {0};
  TT_RETURN_IF_ERROR(tt_hlo_bc_no_values(r, head));
  TT_RETURN_IF_ERROR(tt_hlo_bc_regions_open(r, s, head, &count, &isolated, &body));
  TT_HLO_BC_CHECK(count == 1, r, head->at, "a function of %zu regions", count);
  TT_RETURN_IF_ERROR(tt_hlo_bc_region(r, body.at != NULL ? &body : s, isolated, NULL, out_region));
  return body.at != NULL ? tt_hlo_bc_end(r, &body, "a function") : NULL;
}

static void append_func(tt_hlo_module *module, tt_hlo_func *func) {
  bool main = strcmp(func->name, "main") == 0;
  tt_hlo_func **at = &module->funcs;
  while (!main && *at != NULL)
    at = &(*at)->next;
  func->next = *at;
  *at = func;
}

static tt_error *read_func(tt_hlo_bc *r, tt_hlo_bc_span *s, const tt_hlo_bc_op_head *head) {
  static const tt_hlo_bc_property names[] = {PART("arg_attrs"),      PART("function_type"),
                                             PART("res_attrs"),      PART("sym_name"),
                                             PART("sym_visibility"), END};
  uint32_t attrs[TT_COUNT(names)] = {0};
  tt_hlo_func *func = tt_arena_alloc(r->arena, sizeof *func);
  if (func == NULL)
    return tt_error_no_memory(sizeof *func);
  TT_RETURN_IF_ERROR(tt_hlo_bc_properties(r, head, names, attrs));
  TT_RETURN_IF_ERROR(tt_hlo_bc_text(r, attrs[3], "sym_name", &func->name));
  TT_RETURN_IF_ERROR(read_body(r, s, head, &func->body));
  if (func->body == NULL)
    return NULL;
  TT_RETURN_IF_ERROR(read_params(r, attrs[0], func));
  TT_RETURN_IF_ERROR(read_results(r, attrs[2], func));
  append_func(r->module, func);
  return NULL;
}

/* ---- the module ---- */

/* Since version 5 the module's name is a property, else it is in the dictionary. */
static tt_error *read_module_name(tt_hlo_bc *r, const tt_hlo_bc_op_head *head) {
  tt_hlo_bc_span s = head->properties;
  uint64_t index = 0;
  bool there = false;
  if (!head->has_properties)
    return NULL;
  const uint8_t *at = s.at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_flagged(r, &s, &index, &there));
  if (!there)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_check_index(r, at, "attribute", r->attrs_count, index));
  return tt_hlo_bc_text(r, (uint32_t)index, "sym_name", &r->module->name);
}

static tt_error *read_module_attrs(tt_hlo_bc *r, const tt_hlo_bc_op_head *head) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  if (head->has_dict)
    TT_RETURN_IF_ERROR(tt_hlo_bc_dict(r, head->dict, "the module's attributes", &items, &count));
  for (size_t i = 0; i < count; i++) {
    uint32_t key = 0, value = 0;
    const char *name = NULL;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &items, &key));
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &items, &value));
    TT_RETURN_IF_ERROR(tt_hlo_bc_text(r, key, "an attribute's name", &name));
    if (strcmp(name, "mhlo.num_replicas") == 0)
      TT_RETURN_IF_ERROR(tt_hlo_bc_int(r, value, name, &r->module->num_replicas));
    else if (strcmp(name, "mhlo.num_partitions") == 0)
      TT_RETURN_IF_ERROR(tt_hlo_bc_int(r, value, name, &r->module->num_partitions));
    else if (strcmp(name, "sym_name") == 0)
      TT_RETURN_IF_ERROR(tt_hlo_bc_text(r, value, name, &r->module->name));
  }
  return NULL;
}

static tt_error *read_module_op(tt_hlo_bc *r, tt_hlo_bc_span *s) {
  tt_hlo_bc_op_head head;
  TT_RETURN_IF_ERROR(tt_hlo_bc_op_head_read(r, s, &head));
  if (head.name->action == TT_HLO_BC_FUNC)
    return read_func(r, s, &head);
  if (head.name->action == TT_HLO_BC_MESH) {
    TT_RETURN_IF_ERROR(tt_hlo_bc_no_values(r, &head));
    return tt_hlo_bc_mesh(r, &head);
  }
  if (head.name->action != TT_HLO_BC_SKIP)
    return tt_hlo_bc_fail(r, head.at, TT_UNIMPLEMENTED, "operation %s.%s in a module",
                          head.name->dialect, head.name->name);
  return tt_hlo_bc_no_values(r, &head);
}

/* A region of one block without arguments or values. */
static tt_error *read_module_body(tt_hlo_bc *r, tt_hlo_bc_span *s) {
  uint64_t blocks = 0, values = 0, ops = 0;
  bool has_args = false;
  const uint8_t *at = s->at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &blocks));
  TT_HLO_BC_CHECK(blocks == 1, r, at, "a module of %llu blocks", (unsigned long long)blocks);
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &values));
  TT_RETURN_IF_ERROR(tt_hlo_bc_flagged(r, s, &ops, &has_args));
  TT_HLO_BC_CHECK(values == 0 && !has_args && ops <= tt_hlo_bc_left(s), r, at,
                  "a module with values, or of %llu operations in %zu bytes",
                  (unsigned long long)ops, tt_hlo_bc_left(s));
  for (uint64_t i = 0; i < ops; i++)
    TT_RETURN_IF_ERROR(read_module_op(r, s));
  return NULL;
}

tt_error *tt_hlo_bc_module(tt_hlo_bc *r) {
  tt_hlo_bc_span s = r->sections[TT_HLO_BC_IR], body = {0};
  uint64_t ops = 0;
  size_t count = 0;
  bool has_args = false, isolated = false;
  tt_hlo_bc_op_head head;
  TT_RETURN_IF_ERROR(tt_hlo_bc_flagged(r, &s, &ops, &has_args));
  TT_HLO_BC_CHECK(ops == 1 && !has_args, r, s.at, "expected one module, got %llu operations",
                  (unsigned long long)ops);
  TT_RETURN_IF_ERROR(tt_hlo_bc_op_head_read(r, &s, &head));
  TT_HLO_BC_CHECK(head.name->action == TT_HLO_BC_MODULE, r, head.at, "%s.%s where a module is due",
                  head.name->dialect, head.name->name);
  TT_RETURN_IF_ERROR(tt_hlo_bc_no_values(r, &head));
  TT_RETURN_IF_ERROR(read_module_name(r, &head));
  TT_RETURN_IF_ERROR(read_module_attrs(r, &head));
  TT_RETURN_IF_ERROR(tt_hlo_bc_regions_open(r, &s, &head, &count, &isolated, &body));
  TT_HLO_BC_CHECK(count == 1, r, head.at, "a module of %zu regions", count);
  TT_RETURN_IF_ERROR(read_module_body(r, body.at != NULL ? &body : &s));
  if (body.at != NULL)
    TT_RETURN_IF_ERROR(tt_hlo_bc_end(r, &body, "the module"));
  if (r->sharded_at != NULL && !r->manual)
    return tt_hlo_bc_fail(r, r->sharded_at, TT_UNIMPLEMENTED, TT_HLO_WANTS_PARTITIONER);
  return tt_hlo_bc_end(r, &s, "the IR section");
}

tt_error *tt_hlo_bytecode_read(const void *data, size_t size, tt_hlo_module **out_module) {
  enum { TEXT_FACTOR = 16, TEXT_LEAST = 4096 };
  tt_error *err = NULL;
  tt_hlo_bc r = {.data = data, .size = size};
  *out_module = NULL;
  if (size > UINT32_MAX)
    return tt_error_new(TT_INVALID_ARGUMENT, "a program of %zu bytes: 4 GiB are the most", size);
  TT_TRY(tt_hlo_module_new(&r.module));
  r.arena = &r.module->arena;
  r.text_left = size * TEXT_FACTOR + TEXT_LEAST;
  TT_TRY(tt_hlo_bc_read_tables(&r));
  TT_TRY(tt_hlo_bc_module(&r));
  *out_module = r.module;
  r.module = NULL; /* moved to the caller */
out:
  tt_hlo_module_free(r.module);
  tt_arena_reset(&r.scratch);
  tt_bytes_free(&r.values);
  return err;
}
