/* StableHLO text in MLIR's generic form, which needs no knowledge of an op beyond its name. */
#include "hlo/hlo_internal.h"

/* Numbers are unique in a function. Results share the number of their op, region arguments count on
 * their own. */
typedef struct printer {
  tt_bytes *text;
  uint32_t ops, args;
  int indent;
  bool manual; /* shardings are printed */
} printer;

void tt_hlo_print_int(tt_bytes *text, int64_t value) {
  char digits[24];
  size_t at = sizeof digits;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    digits[--at] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0)
    digits[--at] = '-';
  tt_bytes_append(text, digits + at, sizeof digits - at);
}

void tt_hlo_print_string(tt_bytes *text, const char *string) {
  tt_bytes_char(text, '"');
  for (const char *c = string; *c != '\0'; c++)
    if (*c == '"' || *c == '\\' || (unsigned char)*c < 32 || (unsigned char)*c > 126)
      tt_bytes_printf(text, "\\%02X", (unsigned)(unsigned char)*c);
    else
      tt_bytes_char(text, *c);
  tt_bytes_char(text, '"');
}

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void tt_hlo_print_symbol(tt_bytes *text, const char *name) {
  bool bare = letter(name[0]);
  for (const char *c = name; bare && *c != '\0'; c++)
    bare = letter(*c) || (*c >= '0' && *c <= '9') || *c == '$' || *c == '.';
  tt_bytes_char(text, '@');
  if (bare)
    tt_bytes_text(text, name);
  else
    tt_hlo_print_string(text, name);
}

void tt_hlo_type_print(const tt_hlo_type *type, tt_bytes *out_text) {
  if (type->token) {
    tt_bytes_text(out_text, "!stablehlo.token");
    return;
  }
  tt_bytes_text(out_text, type->future ? "!stablehlo.future<tensor<" : "tensor<");
  for (int32_t i = 0; i < type->rank; i++) {
    if (type->dims[i] == TT_HLO_DYNAMIC)
      tt_bytes_char(out_text, '?');
    else
      tt_hlo_print_int(out_text, type->dims[i]);
    tt_bytes_char(out_text, 'x');
  }
  tt_bytes_text(out_text, tt_dtype_name(type->dtype));
  tt_bytes_text(out_text, type->future ? ">>" : ">");
}

static void print_value(tt_bytes *text, const tt_hlo_value *value) {
  tt_bytes_text(text, value->op == NULL ? "%arg" : "%");
  tt_hlo_print_int(text, value->number);
  if (value->op != NULL && value->op->results_count > 1) {
    tt_bytes_char(text, '#');
    tt_hlo_print_int(text, value->index);
  }
}

static void print_new_line(printer *p) {
  static const char spaces[] = "                                                                ";
  size_t size = (size_t)p->indent * 2;
  tt_bytes_char(p->text, '\n');
  tt_bytes_append(p->text, spaces, size < sizeof spaces ? size : sizeof spaces - 1);
}

/* `%arg0: tensor<4xf32>`, and gives the argument its number. */
static void print_arg(printer *p, tt_hlo_value *arg) {
  arg->number = p->args++;
  print_value(p->text, arg);
  tt_bytes_text(p->text, ": ");
  tt_hlo_type_print(&arg->type, p->text);
}

static void print_types(tt_bytes *text, const tt_hlo_op *op, bool results) {
  uint32_t count = results ? op->results_count : op->operands_count;
  tt_bytes_char(text, '(');
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0)
      tt_bytes_text(text, ", ");
    tt_hlo_type_print(results ? &op->results[i].type : &op->operands[i]->type, text);
  }
  tt_bytes_char(text, ')');
}

static void print_ops(printer *p, tt_hlo_region *region, const char *terminator);

/* `({ ^bb0(...): ops }, { ... })` */
static void print_regions(printer *p, const tt_hlo_op *op) {
  if (op->regions_count == 0)
    return;
  tt_bytes_text(p->text, " (");
  for (uint32_t i = 0; i < op->regions_count; i++) {
    tt_hlo_region *region = op->regions[i];
    tt_bytes_text(p->text, i == 0 ? "{" : ", {");
    if (region->args_count > 0) {
      print_new_line(p);
      tt_bytes_text(p->text, "^bb0(");
      for (uint32_t k = 0; k < region->args_count; k++) {
        if (k > 0)
          tt_bytes_text(p->text, ", ");
        print_arg(p, &region->args[k]);
      }
      tt_bytes_text(p->text, "):");
    }
    print_ops(p, region,
              op->code == TT_HLO_SDY_MANUAL_COMPUTATION ? "sdy.return" : "stablehlo.return");
    print_new_line(p);
    tt_bytes_char(p->text, '}');
  }
  tt_bytes_char(p->text, ')');
}

static void print_op(printer *p, tt_hlo_op *op, const char *terminator) {
  tt_bytes *text = p->text;
  if (op->results_count > 0) {
    uint32_t number = p->ops++;
    for (uint32_t i = 0; i < op->results_count; i++)
      op->results[i].number = number;
    tt_bytes_char(text, '%');
    tt_hlo_print_int(text, number);
    if (op->results_count > 1) {
      tt_bytes_char(text, ':');
      tt_hlo_print_int(text, op->results_count);
    }
    tt_bytes_text(text, " = ");
  }
  tt_bytes_char(text, '"');
  tt_bytes_text(text, op->code == TT_HLO_RETURN ? terminator : tt_hlo_ops[op->code].mnemonic);
  tt_bytes_text(text, "\"(");
  for (uint32_t i = 0; i < op->operands_count; i++) {
    if (i > 0)
      tt_bytes_text(text, ", ");
    print_value(text, op->operands[i]);
  }
  tt_bytes_char(text, ')');
  print_regions(p, op);
  tt_hlo_print_attrs(text, op);
  tt_bytes_text(text, " : ");
  print_types(text, op, false);
  tt_bytes_text(text, " -> ");
  print_types(text, op, true);
  if (op->location != NULL) {
    tt_bytes_text(text, " loc(");
    tt_hlo_print_string(text, op->location);
    tt_bytes_char(text, ')');
  }
}

static void print_ops(printer *p, tt_hlo_region *region, const char *terminator) {
  p->indent++;
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    print_new_line(p);
    print_op(p, op, terminator);
  }
  p->indent--;
}

static bool is_manual(const tt_hlo_op *op) { return op->code == TT_HLO_SDY_MANUAL_COMPUTATION; }

static bool names_mesh(const tt_hlo_op *op) {
  return is_manual(op) || tt_hlo_groups_are_axes(tt_hlo_op_attr(op, TT_HLO_REPLICA_GROUPS));
}

static bool region_has(const tt_hlo_region *region, bool (*is)(const tt_hlo_op *op)) {
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    if (is(op))
      return true;
    for (uint32_t i = 0; i < op->regions_count; i++)
      if (region_has(op->regions[i], is))
        return true;
  }
  return false;
}

static bool module_has(const tt_hlo_module *module, bool (*is)(const tt_hlo_op *op)) {
  for (const tt_hlo_func *func = module->funcs; func != NULL; func = func->next)
    if (func->body != NULL && region_has(func->body, is))
      return true;
  return false;
}

static void print_sharding(printer *p, const char *sharding) {
  bool whole = sharding[0] == '#';
  tt_bytes_printf(p->text, "sdy.sharding = %s%s", whole ? "" : "#sdy.sharding", sharding);
}

static void print_params(printer *p, const tt_hlo_func *func) {
  for (uint32_t i = 0; i < func->body->args_count; i++) {
    if (i > 0)
      tt_bytes_text(p->text, ", ");
    print_arg(p, &func->body->args[i]);
    if (func->params == NULL)
      continue;
    const char *sharding = p->manual ? func->params[i].sharding : NULL;
    bool donated = func->params[i].donated || func->params[i].alias >= 0;
    tt_bytes_text(p->text, donated || sharding != NULL ? " {" : "");
    if (func->params[i].alias >= 0) {
      tt_bytes_text(p->text, "tf.aliasing_output = ");
      tt_hlo_print_int(p->text, func->params[i].alias);
      tt_bytes_text(p->text, " : i32");
    } else if (donated) {
      tt_bytes_text(p->text, "jax.buffer_donor = true");
    }
    tt_bytes_text(p->text, donated && sharding != NULL ? ", " : "");
    if (sharding != NULL)
      print_sharding(p, sharding);
    tt_bytes_text(p->text, donated || sharding != NULL ? "}" : "");
  }
}

static void print_results(printer *p, const tt_hlo_func *func, const tt_hlo_op *end) {
  if (!p->manual || func->result_shardings == NULL) {
    print_types(p->text, end, false);
    return;
  }
  for (uint32_t i = 0; i < end->operands_count; i++) {
    tt_bytes_text(p->text, i == 0 ? "(" : ", ");
    tt_hlo_type_print(&end->operands[i]->type, p->text);
    if (func->result_shardings[i] == NULL)
      continue;
    tt_bytes_text(p->text, " {");
    print_sharding(p, func->result_shardings[i]);
    tt_bytes_char(p->text, '}');
  }
  tt_bytes_text(p->text, end->operands_count == 0 ? "()" : ")");
}

static tt_error *print_func(tt_bytes *text, const tt_hlo_func *func, bool public, bool manual) {
  printer p = {.text = text, .indent = 1, .manual = manual};
  const tt_hlo_op *end = func->body == NULL ? NULL : func->body->last;
  if (end == NULL || end->code != TT_HLO_RETURN)
    return tt_error_new(TT_INVALID_ARGUMENT, "print: function %s does not end in a return",
                        func->name);
  tt_bytes_text(text, public ? "\n  func.func public " : "\n  func.func private ");
  tt_hlo_print_symbol(text, func->name);
  tt_bytes_char(text, '(');
  print_params(&p, func);
  tt_bytes_text(text, ") -> ");
  print_results(&p, func, end);
  tt_bytes_text(text, " {");
  print_ops(&p, func->body, "func.return");
  tt_bytes_text(text, "\n  }");
  return NULL;
}

tt_error *tt_hlo_module_print(tt_hlo_module *module, tt_bytes *out_text) {
  tt_bytes_text(out_text, "module ");
  if (module->name != NULL && module->name[0] != '\0') {
    tt_hlo_print_symbol(out_text, module->name);
    tt_bytes_char(out_text, ' ');
  }
  tt_bytes_text(out_text, "attributes {mhlo.num_partitions = ");
  tt_hlo_print_int(out_text, module->num_partitions);
  tt_bytes_text(out_text, " : i32, mhlo.num_replicas = ");
  tt_hlo_print_int(out_text, module->num_replicas);
  tt_bytes_text(out_text, " : i32");
  if (module->divided != NULL)
    tt_bytes_printf(out_text, ", %s", module->divided);
  tt_bytes_text(out_text, "} {");
  /* Shardings mean something only where the program divides its values itself. */
  bool manual = module_has(module, is_manual), meshes = manual || module_has(module, names_mesh);
  for (const tt_hlo_mesh *mesh = module->meshes; meshes && mesh != NULL; mesh = mesh->next) {
    tt_bytes_text(out_text, "\n  sdy.mesh ");
    tt_hlo_print_symbol(out_text, mesh->name);
    tt_bytes_printf(out_text, " = %s", mesh->text);
  }
  for (const tt_hlo_func *func = module->funcs; func != NULL; func = func->next)
    TT_RETURN_IF_ERROR(print_func(out_text, func, func == module->funcs, manual));
  tt_bytes_text(out_text, "\n}\n");
  return tt_bytes_status(out_text);
}
