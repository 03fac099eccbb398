/* The top level: aliases, the module, its functions. */
#include "hlo/parse.h"

#include <stdlib.h>

#include "hlo/parse_internal.h"

/* ---- parameters ---- */

/* `{tf.aliasing_output = 0 : i32, jax.buffer_donor = true}`; `context` is a tt_hlo_param. */
static tt_error *parse_param_entry(tt_hlo_parser *p, tt_hlo_slice name, bool unit, void *context) {
  tt_hlo_param *param = context;
  tt_hlo_parsed value = {.attr = {.kind = TT_HLO_ATTR_BOOL, .i64 = 1}};
  bool alias = tt_hlo_slice_is(name, "tf.aliasing_output");
  if (!alias && !tt_hlo_slice_is(name, "jax.buffer_donor"))
    return tt_hlo_parse_sharding_entry(p, name, unit, &param->sharding);
  if (!unit)
    TT_RETURN_IF_ERROR(tt_hlo_parse_value(p, &value));
  int64_t number = value.attr.i64;
  bool is_number = value.attr.kind == TT_HLO_ATTR_I32 || value.attr.kind == TT_HLO_ATTR_I64;
  if (alias && (!is_number || number < 0 || number > INT32_MAX))
    return tt_hlo_parse_fail(p, name.text, TT_INVALID_ARGUMENT,
                             "expected the number of a result for tf.aliasing_output");
  if (alias)
    param->alias = (int32_t)number;
  else
    param->donated = value.attr.kind == TT_HLO_ATTR_BOOL && number != 0;
  return NULL;
}

/* A parameter, or only its type where the function is declared; what may be done with its buffer
 * goes on the stack of numbers, as bytes. */
static tt_error *parse_param(tt_hlo_parser *p, tt_bytes *params) {
  tt_hlo_param param = {.alias = -1};
  tt_hlo_place place = {0};
  if (tt_hlo_parse_peek(p) == '%') {
    TT_RETURN_IF_ERROR(tt_hlo_parse_arg_of(p));
  } else {
    tt_hlo_parse_arg arg = {0};
    TT_RETURN_IF_ERROR(tt_hlo_parse_type(p, &arg.type));
    tt_bytes_append(&p->args, &arg, sizeof arg);
  }
  TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, parse_param_entry, &param));
  TT_RETURN_IF_ERROR(tt_hlo_parse_some_location(p, &place));
  tt_bytes_append(params, &param, sizeof param);
  return p->args.failed || params->failed ? tt_hlo_parse_no_memory(p) : NULL;
}

static tt_error *parse_params(tt_hlo_parser *p, tt_bytes *params) {
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '('));
  if (tt_hlo_parse_take(p, ')'))
    return NULL;
  do
    TT_RETURN_IF_ERROR(parse_param(p, params));
  while (tt_hlo_parse_take(p, ','));
  return tt_hlo_parse_expect(p, ')');
}

/* ---- results ---- */

static tt_error *parse_result(tt_hlo_parser *p, bool with_attrs) {
  tt_hlo_type type = {0};
  TT_RETURN_IF_ERROR(tt_hlo_parse_type(p, &type));
  const char *sharding = NULL;
  tt_bytes_append(&p->types, &type, sizeof type);
  if (with_attrs)
    TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_sharding_entry, &sharding));
  tt_bytes_append(&p->shardings, &sharding, sizeof sharding);
  return p->shardings.failed ? tt_hlo_parse_no_memory(p) : NULL;
}

/* `-> type` or `-> (type {attrs}, ...)`, when it is there. */
static tt_error *parse_results(tt_hlo_parser *p) {
  if (tt_hlo_parse_peek(p) != '-')
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_parse_arrow(p));
  if (!tt_hlo_parse_take(p, '('))
    return parse_result(p, false);
  if (tt_hlo_parse_take(p, ')'))
    return NULL;
  do
    TT_RETURN_IF_ERROR(parse_result(p, true));
  while (tt_hlo_parse_take(p, ','));
  return tt_hlo_parse_expect(p, ')');
}

/* What the function returns is what its head promises. The types stay on the stack. */
static tt_error *check_return(tt_hlo_parser *p, const tt_hlo_func *func, const char *at) {
  const tt_hlo_type *types = (const void *)p->types.data;
  size_t count = p->types.size / sizeof *types;
  const tt_hlo_op *end = func->body->last;
  if (end == NULL || end->code != TT_HLO_RETURN)
    return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT, "expected @%s to end in a return",
                             func->name);
  if (end->operands_count != count)
    return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT,
                             "expected @%s to return %zu values, got %u", func->name, count,
                             end->operands_count);
  for (size_t i = 0; i < count; i++)
    if (!tt_hlo_type_equal(&types[i], &end->operands[i]->type))
      return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT,
                               "expected result %zu of @%s to be %s, got %s", i, func->name,
                               TT_HLO_SHOW(&types[i]), TT_HLO_SHOW(&end->operands[i]->type));
  return NULL;
}

/* ---- functions ---- */

/* In order, but @main first. */
static void link_func(tt_hlo_parser *p, tt_hlo_func *func, tt_hlo_func ***tail) {
  if (strcmp(func->name, "main") == 0) {
    func->next = p->module->funcs;
    p->module->funcs = func;
    if (func->next == NULL)
      *tail = &func->next;
    return;
  }
  **tail = func;
  *tail = &func->next;
}

static tt_error *parse_func_body(tt_hlo_parser *p, tt_hlo_func *func, const tt_bytes *params) {
  size_t bound = p->names.bound.size;
  tt_hlo_region *region = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '{'));
  TT_RETURN_IF_ERROR(tt_hlo_parse_open(p, 0, &region));
  p->args.size = 0;
  func->body = region;
  func->params = tt_arena_copy(&p->module->arena, params->data, params->size);
  if (func->params == NULL)
    return tt_hlo_parse_no_memory(p);
  TT_RETURN_IF_ERROR(tt_hlo_parse_body(p));
  tt_hlo_parse_leave(p, bound);
  p->depth--;
  p->region = NULL;
  return NULL;
}

static tt_error *parse_head(tt_hlo_parser *p, tt_hlo_func *func, tt_bytes *params) {
  static const char *const visibilities[] = {"public", "private", "nested"};
  for (size_t i = 0; i < TT_COUNT(visibilities); i++)
    if (tt_hlo_parse_take_word(p, visibilities[i]))
      break;
  TT_RETURN_IF_ERROR(tt_hlo_parse_symbol(p, &func->name));
  TT_RETURN_IF_ERROR(parse_params(p, params));
  TT_RETURN_IF_ERROR(parse_results(p));
  if (tt_hlo_parse_take_word(p, "attributes"))
    TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, tt_hlo_parse_other, NULL));
  return NULL;
}

static tt_error *keep_shardings(tt_hlo_parser *p, tt_hlo_func *func) {
  func->result_shardings = tt_arena_copy(&p->module->arena, p->shardings.data, p->shardings.size);
  return func->result_shardings == NULL ? tt_hlo_parse_no_memory(p) : NULL;
}

/* Behind func.func. One without a body is only declared, and left out. */
static tt_error *parse_func(tt_hlo_parser *p, tt_hlo_func ***tail) {
  tt_error *err = NULL;
  tt_bytes params = {0};
  tt_hlo_place place = {0};
  const char *at = p->at;
  tt_hlo_func *func = tt_arena_alloc(&p->module->arena, sizeof *func);
  if (func == NULL)
    return tt_hlo_parse_no_memory(p);
  TT_TRY(parse_head(p, func, &params));
  if (tt_hlo_parse_peek(p) == '{') {
    TT_TRY(parse_func_body(p, func, &params));
    TT_TRY(check_return(p, func, at));
    TT_TRY(keep_shardings(p, func));
    link_func(p, func, tail);
  }
  p->args.size = 0;
  p->types.size = 0;
  p->shardings.size = 0;
  TT_TRY(tt_hlo_parse_some_location(p, &place));
out:
  tt_bytes_free(&params);
  return err;
}

/* ---- the module ---- */

static tt_error *parse_module_entry(tt_hlo_parser *p, tt_hlo_slice name, bool unit, void *context) {
  tt_hlo_module *module = context;
  tt_hlo_parsed value;
  bool replicas = tt_hlo_slice_is(name, "mhlo.num_replicas");
  if (unit || (!replicas && !tt_hlo_slice_is(name, "mhlo.num_partitions")))
    return tt_hlo_parse_other(p, name, unit, NULL);
  TT_RETURN_IF_ERROR(tt_hlo_parse_value(p, &value));
  if (value.attr.kind != TT_HLO_ATTR_I32 && value.attr.kind != TT_HLO_ATTR_I64)
    return tt_hlo_parse_fail(p, value.slice.text, TT_INVALID_ARGUMENT, "expected a number of %s",
                             replicas ? "replicas" : "partitions");
  if (replicas)
    module->num_replicas = value.attr.i64;
  else
    module->num_partitions = value.attr.i64;
  return NULL;
}

/* Functions, and what else may stand beside them: meshes of shardings. */
static tt_error *parse_member(tt_hlo_parser *p, tt_hlo_func ***tail) {
  bool has_alias = false;
  tt_hlo_slice word = tt_hlo_parse_word(p);
  if (tt_hlo_slice_is(word, "func.func"))
    return parse_func(p, tail);
  if (tt_hlo_slice_is(word, "sdy.mesh"))
    return tt_hlo_parse_mesh(p);
  if (word.size > 4 && memcmp(word.text, "sdy.", 4) == 0) {
    do
      TT_RETURN_IF_ERROR(tt_hlo_parse_skip(p, true, &has_alias));
    while (tt_hlo_parse_take(p, ','));
    return NULL;
  }
  if (word.size == 0 && tt_hlo_parse_peek(p) != '"')
    return tt_hlo_parse_expected(p, "a function");
  if (word.size > 0 && memchr(word.text, '.', word.size) == NULL &&
      !tt_hlo_slice_is(word, "module")) {
    p->at = word.text;
    return tt_hlo_parse_expected(p, "a function");
  }
  return tt_hlo_parse_fail(p, p->at, TT_UNIMPLEMENTED,
                           "a module with more than functions in it, or in the generic form");
}

static tt_error *parse_module(tt_hlo_parser *p, tt_hlo_func ***tail) {
  tt_hlo_place place = {0};
  if (tt_hlo_parse_peek(p) == '@')
    TT_RETURN_IF_ERROR(tt_hlo_parse_symbol(p, &p->module->name));
  if (tt_hlo_parse_take_word(p, "attributes"))
    TT_RETURN_IF_ERROR(tt_hlo_parse_dict(p, parse_module_entry, p->module));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '{'));
  while (!tt_hlo_parse_take(p, '}'))
    TT_RETURN_IF_ERROR(parse_member(p, tail));
  return tt_hlo_parse_some_location(p, &place);
}

/* `#name = attribute` or `!name = type` */
static tt_error *parse_alias(tt_hlo_parser *p) {
  const char *at = p->at++;
  tt_hlo_slice name = {0};
  tt_hlo_alias *alias = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_parse_suffix(p, "the name of an alias", &name));
  TT_RETURN_IF_ERROR(tt_hlo_parse_alias(p, (tt_hlo_slice){at, name.size + 1}, &alias));
  if (alias->kind != TT_HLO_ALIAS_UNKNOWN)
    return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT, "expected a new alias, got '%.*s'",
                             (int)(name.size > 32 ? 32 : name.size), name.text);
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '='));
  if (*at == '!') {
    alias->kind = TT_HLO_ALIAS_TYPE;
    return tt_hlo_parse_type(p, &alias->type);
  }
  if (tt_hlo_parse_take_word(p, "loc")) {
    alias->kind = TT_HLO_ALIAS_PLACE;
    return tt_hlo_parse_location(p, &alias->place);
  }
  p->line = true;
  tt_error *err = tt_hlo_parse_value(p, &alias->attr);
  p->line = false;
  alias->kind = TT_HLO_ALIAS_ATTR;
  /* Once for all its uses. */
  if (err == NULL && alias->attr.attr.kind == TT_HLO_ATTR_TEXT && !alias->attr.has_alias)
    err = tt_hlo_parse_keep_text(p, &alias->attr);
  return err;
}

/* One module, or functions without one, and aliases around it. */
static tt_error *parse_top(tt_hlo_parser *p) {
  tt_hlo_func **tail = &p->module->funcs;
  bool module = false;
  for (char c = tt_hlo_parse_peek(p); p->at < p->end; c = tt_hlo_parse_peek(p)) {
    if (c == '#' || c == '!') {
      TT_RETURN_IF_ERROR(parse_alias(p));
    } else if (tt_hlo_parse_take_word(p, "module")) {
      if (module || p->module->funcs != NULL)
        return tt_hlo_parse_fail(p, p->at, TT_UNIMPLEMENTED, "several modules");
      module = true;
      TT_RETURN_IF_ERROR(parse_module(p, &tail));
    } else if (module) {
      return tt_hlo_parse_expected(p, "the end of the text behind the module");
    } else {
      TT_RETURN_IF_ERROR(parse_member(p, &tail));
    }
  }
  return NULL;
}

static tt_error *check_whole(tt_hlo_parser *p) {
  const tt_hlo_func *first = p->module->funcs;
  if (first == NULL)
    return tt_hlo_parse_expected(p, "a function");
  if (first->next != NULL && strcmp(first->name, "main") != 0)
    return tt_hlo_parse_expected(p, "a function @main");
  if (p->sharded_at != NULL && p->module->num_partitions > 1 && (p->gspmd || !p->manual))
    return tt_hlo_parse_fail(p, p->sharded_at, TT_UNIMPLEMENTED, TT_HLO_WANTS_PARTITIONER);
  return p->later.failed ? tt_hlo_parse_no_memory(p) : NULL;
}

static void free_parser(tt_hlo_parser *p) {
  tt_bytes *stacks[] = {&p->operands,      &p->attrs,       &p->types,    &p->regions,
                        &p->packs,         &p->args,        &p->numbers,  &p->later,
                        &p->names.entries, &p->names.bound, &p->shardings};
  for (size_t i = 0; i < TT_COUNT(stacks); i++)
    tt_bytes_free(stacks[i]);
  free(p->names.slots);
  tt_map_free(&p->aliases);
}

tt_error *tt_hlo_parse(const char *text, size_t size, tt_hlo_module **out_module) {
  tt_error *err = NULL;
  tt_hlo_parser p = {.text = text, .at = text, .end = text + size};
  *out_module = NULL;
  TT_TRY(tt_hlo_module_new(&p.module));
  p.names.seed = (uint64_t)(uintptr_t)p.module;
  TT_TRY(tt_hlo_parse_tables(&p));
  TT_TRY(parse_top(&p));
  TT_TRY(check_whole(&p));
  tt_hlo_parse_settle_locations(&p);
  *out_module = p.module;
  p.module = NULL;
out:
  tt_hlo_module_free(p.module);
  free_parser(&p);
  return err;
}
