/* Operations and the regions they stand in. */
#include "hlo/bytecode_internal.h"

#include <string.h>

/* What an operation has, besides its results and its place. */
enum {
  HAS_DICT = 0x01,
  HAS_RESULTS = 0x02,
  HAS_OPERANDS = 0x04,
  HAS_SUCCESSORS = 0x08,
  HAS_REGIONS = 0x10,
  HAS_USE_ORDER = 0x20,
  HAS_PROPERTIES = 0x40
};

tt_error *tt_hlo_bc_op_head_read(tt_hlo_bc *r, tt_hlo_bc_span *s, tt_hlo_bc_op_head *out_head) {
  uint32_t name = 0, properties = 0;
  uint8_t mask = 0;
  *out_head = (tt_hlo_bc_op_head){.at = s->at};
  TT_RETURN_IF_ERROR(tt_hlo_bc_index(r, s, "operation name", r->names_count, &name));
  TT_RETURN_IF_ERROR(tt_hlo_bc_byte(r, s, &mask));
  TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, s, &out_head->location));
  out_head->name = &r->names[name];
  out_head->mask = mask;
  out_head->has_dict = (mask & HAS_DICT) != 0;
  out_head->has_properties = (mask & HAS_PROPERTIES) != 0;
  if (out_head->has_dict)
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, s, &out_head->dict));
  if (out_head->has_properties) {
    TT_RETURN_IF_ERROR(tt_hlo_bc_index(r, s, "properties entry", r->properties_count, &properties));
    out_head->properties = r->properties[properties];
  }
  return NULL;
}

tt_error *tt_hlo_bc_no_values(const tt_hlo_bc *r, const tt_hlo_bc_op_head *head) {
  TT_HLO_BC_CHECK((head->mask & (HAS_RESULTS | HAS_OPERANDS | HAS_SUCCESSORS | HAS_USE_ORDER)) == 0,
                  r, head->at, "%s.%s has operands or results", head->name->dialect,
                  head->name->name);
  return NULL;
}

/* ---- properties ---- */

/* Since version 5: references in the order of the names. */
static tt_error *read_native(const tt_hlo_bc *r, const tt_hlo_bc_op_head *head,
                             const tt_hlo_bc_property *names, uint32_t *out_attrs) {
  tt_hlo_bc_span s = head->properties;
  for (size_t i = 0; names[i].kind != TT_HLO_BC_END; i++)
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &s, &out_attrs[i]));
  return tt_hlo_bc_end(r, &s, head->name->name);
}

/* Before: in the dictionary, among the discardable ones. */
static tt_error *find_in_dict(const tt_hlo_bc *r, const tt_hlo_bc_op_head *head,
                              const tt_hlo_bc_property *names, uint32_t *out_attrs) {
  tt_hlo_bc_span items = {0};
  size_t count = 0;
  bool found[TT_HLO_BC_PROPERTIES_MAX] = {false};
  if (head->has_dict)
    TT_RETURN_IF_ERROR(tt_hlo_bc_dict(r, head->dict, "attributes", &items, &count));
  for (size_t k = 0; k < count; k++) {
    uint32_t key = 0, value = 0;
    const char *name = NULL;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &items, &key));
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, &items, &value));
    TT_RETURN_IF_ERROR(tt_hlo_bc_text(r, key, "an attribute's name", &name));
    for (size_t i = 0; names[i].kind != TT_HLO_BC_END; i++)
      if (strcmp(names[i].name, name) == 0) {
        out_attrs[i] = value;
        found[i] = true;
      }
  }
  for (size_t i = 0; names[i].kind != TT_HLO_BC_END; i++)
    TT_HLO_BC_CHECK(found[i], r, head->at, "%s: %s is missing", head->name->name, names[i].name);
  return NULL;
}

tt_error *tt_hlo_bc_properties(const tt_hlo_bc *r, const tt_hlo_bc_op_head *head,
                               const tt_hlo_bc_property *names, uint32_t *out_attrs) {
  if (names[0].kind == TT_HLO_BC_END)
    return NULL;
  return head->has_properties ? read_native(r, head, names, out_attrs)
                              : find_in_dict(r, head, names, out_attrs);
}

/* ---- values ---- */

static tt_error *define(tt_hlo_bc *r, const uint8_t *at, tt_hlo_value *value) {
  TT_HLO_BC_CHECK(r->next < r->limit, r, at, "more values than the region says that it has");
  ((tt_hlo_value **)(void *)r->values.data)[r->next++] = value;
  return NULL;
}

static tt_error *read_operand(tt_hlo_bc *r, tt_hlo_bc_span *s, tt_hlo_value **out_value) {
  uint32_t number = 0;
  const uint8_t *at = s->at;
  size_t count = r->values.size / sizeof *out_value - r->scope;
  TT_RETURN_IF_ERROR(tt_hlo_bc_index(r, s, "value", count, &number));
  *out_value = ((tt_hlo_value **)(void *)r->values.data)[r->scope + number];
  TT_HLO_BC_CHECK(*out_value != NULL, r, at, "value %u is used before it is defined", number);
  return NULL;
}

/* Operands, of which tuples are some only where `tuples` says so. */
static tt_error *read_operands(tt_hlo_bc *r, tt_hlo_bc_span *s, bool tuples, tt_hlo_op *op) {
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, s, "operands", &count));
  op->operands = tt_arena_array(r->arena, count, sizeof *op->operands);
  if (op->operands == NULL)
    return tt_error_no_memory(count * sizeof *op->operands);
  op->operands_count = (uint32_t)count;
  for (size_t i = 0; i < count; i++) {
    const uint8_t *at = s->at;
    TT_RETURN_IF_ERROR(read_operand(r, s, &op->operands[i]));
    if (!tuples && tt_hlo_is_tuple(op->operands[i]))
      return tt_hlo_bc_fail(r, at, TT_UNIMPLEMENTED, "a tuple as an operand");
  }
  return NULL;
}

static tt_error *read_results(tt_hlo_bc *r, tt_hlo_bc_span *s, tt_hlo_op *op) {
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, s, "results", &count));
  op->results = tt_arena_array(r->arena, count, sizeof *op->results);
  if (op->results == NULL)
    return tt_error_no_memory(count * sizeof *op->results);
  op->results_count = (uint32_t)count;
  for (size_t i = 0; i < count; i++) {
    uint32_t index = 0;
    const tt_hlo_type *type = NULL;
    const uint8_t *at = s->at;
    TT_RETURN_IF_ERROR(tt_hlo_bc_type_index(r, s, &index));
    TT_RETURN_IF_ERROR(tt_hlo_bc_type(r, at, index, &type));
    op->results[i] = (tt_hlo_value){.type = *type, .op = op, .index = (uint32_t)i};
  }
  return NULL;
}

/* In which order MLIR lists the uses of `count` values; of no meaning. */
static tt_error *skip_use_orders(const tt_hlo_bc *r, tt_hlo_bc_span *s, size_t count) {
  size_t orders = 1;
  if (count > 1)
    TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, s, "use-list orders", &orders));
  for (size_t i = 0; i < orders; i++) {
    uint64_t number = 0, uses = 0;
    bool pairs = false;
    if (count > 1)
      TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &number));
    TT_RETURN_IF_ERROR(tt_hlo_bc_flagged(r, s, &uses, &pairs));
    TT_HLO_BC_CHECK(uses <= tt_hlo_bc_left(s), r, s->at, "%llu uses in %zu bytes",
                    (unsigned long long)uses, tt_hlo_bc_left(s));
    for (uint64_t k = 0; k < uses; k++)
      TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &number));
  }
  return NULL;
}

/* Results and operands, and that there are no successors. */
static tt_error *read_values(tt_hlo_bc *r, tt_hlo_bc_span *s, const tt_hlo_bc_op_head *head,
                             tt_hlo_op *op) {
  if (head->mask & HAS_RESULTS)
    TT_RETURN_IF_ERROR(read_results(r, s, op));
  if (head->mask & HAS_OPERANDS)
    TT_RETURN_IF_ERROR(read_operands(r, s, false, op));
  if (head->mask & HAS_SUCCESSORS)
    return tt_hlo_bc_fail(r, head->at, TT_UNIMPLEMENTED, "%s.%s: successors", head->name->dialect,
                          head->name->name);
  if (head->mask & HAS_USE_ORDER)
    return skip_use_orders(r, s, op->results_count);
  return NULL;
}

/* ---- regions ---- */

tt_error *tt_hlo_bc_regions_open(tt_hlo_bc *r, tt_hlo_bc_span *s, const tt_hlo_bc_op_head *head,
                                 size_t *out_count, bool *out_isolated, tt_hlo_bc_span *out_body) {
  uint64_t count = 0;
  const uint8_t *at = s->at;
  *out_isolated = false;
  *out_count = 0;
  *out_body = (tt_hlo_bc_span){0};
  if ((head->mask & HAS_REGIONS) == 0)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_flagged(r, s, &count, out_isolated));
  TT_HLO_BC_CHECK(count <= tt_hlo_bc_left(s), r, at, "%llu regions in %zu bytes",
                  (unsigned long long)count, tt_hlo_bc_left(s));
  *out_count = (size_t)count;
  if (!*out_isolated || r->version < 2)
    return NULL;
  unsigned id = 0;
  at = s->at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_section_read(r, s, &id, out_body));
  TT_HLO_BC_CHECK(id == TT_HLO_BC_IR, r, at, "section %u for regions", id);
  return NULL;
}

/* Regions in a section of their own, or among the bytes that follow. */
static tt_error *read_regions(tt_hlo_bc *r, tt_hlo_bc_span *s, const tt_hlo_bc_op_head *head,
                              tt_hlo_region *outer, tt_hlo_op *op) {
  size_t count = 0;
  bool isolated = false;
  tt_hlo_bc_span body = {0};
  TT_RETURN_IF_ERROR(tt_hlo_bc_regions_open(r, s, head, &count, &isolated, &body));
  if (count == 0)
    return NULL;
  if ((tt_hlo_ops[op->code].traits & TT_HLO_REGIONS) == 0 && op->code != TT_HLO_COMPOSITE)
    return tt_hlo_bc_fail(r, head->at, TT_UNIMPLEMENTED, "%s with regions", head->name->name);
  op->regions = tt_arena_array(r->arena, count, sizeof *op->regions);
  if (op->regions == NULL)
    return tt_error_no_memory(count * sizeof *op->regions);
  op->regions_count = (uint32_t)count;
  for (size_t i = 0; i < count; i++)
    TT_RETURN_IF_ERROR(
        tt_hlo_bc_region(r, body.at != NULL ? &body : s, isolated, outer, &op->regions[i]));
  if (op->code == TT_HLO_COMPOSITE) /* its decomposition says all that they do */
    op->regions_count = 0;
  return body.at != NULL ? tt_hlo_bc_end(r, &body, "regions") : NULL;
}

static void append_op(tt_hlo_region *region, tt_hlo_op *op) {
  op->parent = region;
  op->previous = region->last;
  if (region->last != NULL)
    region->last->next = op;
  else
    region->first = op;
  region->last = op;
}

/* Its results are its operands: a cast between dialects, a hint. `op` itself is forgotten. */
static tt_error *pass_through(tt_hlo_bc *r, const tt_hlo_bc_op_head *head, const tt_hlo_op *op) {
  TT_HLO_BC_CHECK(op->operands_count == op->results_count && (head->mask & HAS_REGIONS) == 0, r,
                  head->at, "%s.%s: %u operands, %u results", head->name->dialect, head->name->name,
                  op->operands_count, op->results_count);
  for (uint32_t i = 0; i < op->results_count; i++) {
    TT_HLO_BC_CHECK(tt_hlo_type_compatible(&op->results[i].type, &op->operands[i]->type), r,
                    head->at, "%s.%s: from %s to %s", head->name->dialect, head->name->name,
                    TT_HLO_SHOW(&op->operands[i]->type), TT_HLO_SHOW(&op->results[i].type));
    TT_RETURN_IF_ERROR(define(r, head->at, op->operands[i]));
  }
  return NULL;
}

/* sdy.sharding_constraint and sdy.reshard have one property. */
static tt_error *check_hint(tt_hlo_bc *r, const tt_hlo_bc_op_head *head) {
  static const tt_hlo_bc_property names[] = {{TT_HLO_BC_PART, "sharding", TT_HLO_ATTR_NAME_COUNT},
                                             {TT_HLO_BC_END, NULL, TT_HLO_ATTR_NAME_COUNT}};
  uint32_t sharding = 0;
  if (!head->name->sharding)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_properties(r, head, names, &sharding));
  return tt_hlo_bc_check_sharding(r, sharding);
}

static tt_error *read_table_op(tt_hlo_bc *r, tt_hlo_bc_span *s, const tt_hlo_bc_op_head *head,
                               tt_hlo_region *region, tt_hlo_op *op) {
  const tt_hlo_bc_op *info = head->name->info;
  tt_hlo_bc_made made = {
      .op = op, .at = head->at, .info = info, .has_dict = head->has_dict, .dict = head->dict};
  op->code = info->code;
  TT_RETURN_IF_ERROR(tt_hlo_bc_properties(r, head, info->properties, made.raw));
  TT_RETURN_IF_ERROR(tt_hlo_bc_convert(r, &made));
  TT_RETURN_IF_ERROR(tt_hlo_bc_location(r, head->location, &op->location));
  for (uint32_t i = 0; i < op->results_count; i++)
    TT_RETURN_IF_ERROR(define(r, head->at, &op->results[i]));
  append_op(region, op);
  return read_regions(r, s, head, region, op);
}

/* The element that the property `index` names. */
static tt_error *find_element(tt_hlo_bc *r, const tt_hlo_bc_op_head *head, const tt_hlo_op *op,
                              tt_hlo_value **out_value) {
  static const tt_hlo_bc_property names[] = {{TT_HLO_BC_PART, "index", TT_HLO_ATTR_NAME_COUNT},
                                             {TT_HLO_BC_END, NULL, TT_HLO_ATTR_NAME_COUNT}};
  uint32_t raw = 0;
  int64_t index = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_properties(r, head, names, &raw));
  TT_RETURN_IF_ERROR(tt_hlo_bc_int(r, raw, "index", &index));
  TT_HLO_BC_CHECK(op->operands_count == 1 && tt_hlo_is_tuple(op->operands[0]), r, head->at,
                  "%s: expected a tuple", head->name->name);
  const tt_hlo_tuple *tuple = (const void *)op->operands[0];
  TT_HLO_BC_CHECK(index >= 0 && index < tuple->count, r, head->at,
                  "%s: index %lld of a tuple of %u", head->name->name, (long long)index,
                  tuple->count);
  *out_value = tuple->items[index];
  return NULL;
}

/* tuple and get_tuple_element: no operation is made, the one result is a tuple or a value of one.
 */
static tt_error *read_tuple_op(tt_hlo_bc *r, tt_hlo_bc_span *s, const tt_hlo_bc_op_head *head) {
  tt_hlo_op op = {0};
  size_t results = 0;
  uint32_t index = 0;
  tt_hlo_value *value = NULL;
  const tt_hlo_type *type = NULL;
  TT_HLO_BC_CHECK((head->mask & (HAS_SUCCESSORS | HAS_REGIONS)) == 0 && (head->mask & HAS_RESULTS),
                  r, head->at, "%s: expected one result and no regions", head->name->name);
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, s, "results", &results));
  TT_HLO_BC_CHECK(results == 1, r, head->at, "%s: expected one result, got %zu", head->name->name,
                  results);
  TT_RETURN_IF_ERROR(tt_hlo_bc_type_index(r, s, &index));
  if (head->mask & HAS_OPERANDS)
    TT_RETURN_IF_ERROR(read_operands(r, s, true, &op));
  if (head->mask & HAS_USE_ORDER)
    TT_RETURN_IF_ERROR(skip_use_orders(r, s, results));
  if (head->name->action == TT_HLO_BC_TUPLE)
    TT_RETURN_IF_ERROR(tt_hlo_tuple_new(r->arena, op.operands, op.operands_count, &value));
  else
    TT_RETURN_IF_ERROR(find_element(r, head, &op, &value));
  if (!tt_hlo_is_tuple(value)) {
    TT_RETURN_IF_ERROR(tt_hlo_bc_type(r, head->at, index, &type));
    TT_HLO_BC_CHECK(tt_hlo_type_equal(type, &value->type), r, head->at,
                    "%s: the element is %s, the result %s", head->name->name,
                    TT_HLO_SHOW(&value->type), TT_HLO_SHOW(type));
  }
  return define(r, head->at, value);
}

/* sdy.manual_computation and the sdy.return in it. */
static tt_error *read_manual(tt_hlo_bc *r, tt_hlo_bc_span *s, const tt_hlo_bc_op_head *head,
                             tt_hlo_region *region, tt_hlo_op *op) {
  op->code = head->name->action == TT_HLO_BC_MANUAL ? TT_HLO_SDY_MANUAL_COMPUTATION : TT_HLO_RETURN;
  if (op->code == TT_HLO_SDY_MANUAL_COMPUTATION)
    TT_RETURN_IF_ERROR(tt_hlo_bc_manual(r, head, op));
  TT_RETURN_IF_ERROR(tt_hlo_bc_location(r, head->location, &op->location));
  for (uint32_t i = 0; i < op->results_count; i++)
    TT_RETURN_IF_ERROR(define(r, head->at, &op->results[i]));
  append_op(region, op);
  return read_regions(r, s, head, region, op);
}

static tt_error *read_op(tt_hlo_bc *r, tt_hlo_bc_span *s, tt_hlo_region *region) {
  tt_hlo_bc_op_head head;
  TT_RETURN_IF_ERROR(tt_hlo_bc_op_head_read(r, s, &head));
  const tt_hlo_bc_name *name = head.name;
  if (name->action == TT_HLO_BC_UNKNOWN ||
      (name->action == TT_HLO_BC_TABLE && name->info->code == TT_HLO_OP_COUNT))
    return tt_hlo_bc_fail(r, head.at, TT_UNIMPLEMENTED, "operation %s.%s", name->dialect,
                          name->name);
  TT_HLO_BC_CHECK(name->action != TT_HLO_BC_MODULE && name->action != TT_HLO_BC_FUNC &&
                      name->action != TT_HLO_BC_MESH,
                  r, head.at, "%s.%s in a function", name->dialect, name->name);
  if (name->action == TT_HLO_BC_TUPLE || name->action == TT_HLO_BC_TUPLE_ELEMENT)
    return read_tuple_op(r, s, &head);
  tt_hlo_op *op = tt_arena_alloc(r->arena, sizeof *op);
  if (op == NULL)
    return tt_error_no_memory(sizeof *op);
  TT_RETURN_IF_ERROR(read_values(r, s, &head, op));
  if (name->action == TT_HLO_BC_TABLE)
    return read_table_op(r, s, &head, region, op);
  if (name->action == TT_HLO_BC_MANUAL || name->action == TT_HLO_BC_RETURN)
    return read_manual(r, s, &head, region, op);
  TT_RETURN_IF_ERROR(check_hint(r, &head));
  if (name->action == TT_HLO_BC_IDENTITY)
    return pass_through(r, &head, op);
  TT_HLO_BC_CHECK(op->results_count == 0 && (head.mask & HAS_REGIONS) == 0, r, head.at,
                  "%s.%s: expected neither results nor regions", name->dialect, name->name);
  return NULL;
}

/* Type, location unless unknown; before version 4 both plain. */
static tt_error *read_arg(tt_hlo_bc *r, tt_hlo_bc_span *s, uint32_t i, tt_hlo_value *arg) {
  uint64_t index = 0;
  uint32_t location = 0;
  bool has_location = true;
  const tt_hlo_type *type = NULL;
  const uint8_t *at = s->at;
  if (r->version >= 4)
    TT_RETURN_IF_ERROR(tt_hlo_bc_flagged(r, s, &index, &has_location));
  else
    TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &index));
  TT_RETURN_IF_ERROR(tt_hlo_bc_check_index(r, at, "type", r->types_count, index));
  if (has_location)
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, s, &location));
  TT_RETURN_IF_ERROR(tt_hlo_bc_type(r, at, (uint32_t)index, &type));
  *arg = (tt_hlo_value){.type = *type, .index = i};
  return define(r, at, arg);
}

static tt_error *read_args(tt_hlo_bc *r, tt_hlo_bc_span *s, tt_hlo_region *region) {
  size_t count = 0;
  uint8_t has_order = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, s, "arguments", &count));
  region->args = tt_arena_array(r->arena, count, sizeof *region->args);
  if (region->args == NULL)
    return tt_error_no_memory(count * sizeof *region->args);
  region->args_count = (uint32_t)count;
  for (uint32_t i = 0; i < count; i++)
    TT_RETURN_IF_ERROR(read_arg(r, s, i, &region->args[i]));
  if (r->version >= 3)
    TT_RETURN_IF_ERROR(tt_hlo_bc_byte(r, s, &has_order));
  return has_order != 0 ? skip_use_orders(r, s, count) : NULL;
}

static tt_error *read_block(tt_hlo_bc *r, tt_hlo_bc_span *s, tt_hlo_region *region) {
  uint64_t ops = 0;
  bool has_args = false;
  const uint8_t *at = s->at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_flagged(r, s, &ops, &has_args));
  TT_HLO_BC_CHECK(ops <= tt_hlo_bc_left(s), r, at, "%llu operations in %zu bytes",
                  (unsigned long long)ops, tt_hlo_bc_left(s));
  if (has_args)
    TT_RETURN_IF_ERROR(read_args(r, s, region));
  for (uint64_t i = 0; i < ops; i++)
    TT_RETURN_IF_ERROR(read_op(r, s, region));
  return NULL;
}

/* Makes room for the numbers of a region's values. Every value takes a byte of the file or more, so
 * that all regions together cannot have more values than the file has bytes. */
static tt_error *declare(tt_hlo_bc *r, tt_hlo_bc_span *s, size_t *out_count) {
  const uint8_t *at = s->at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, s, "values", out_count));
  r->declared_count += *out_count;
  TT_HLO_BC_CHECK(r->declared_count <= r->size, r, at, "%llu values in a file of %zu bytes",
                  (unsigned long long)r->declared_count, r->size);
  size_t size = *out_count * sizeof(tt_hlo_value *);
  char *room = tt_bytes_extend(&r->values, size);
  if (room == NULL)
    return tt_bytes_status(&r->values);
  memset(room, 0, size);
  return NULL;
}

tt_error *tt_hlo_bc_region(tt_hlo_bc *r, tt_hlo_bc_span *s, bool isolated, tt_hlo_region *outer,
                           tt_hlo_region **out_region) {
  uint64_t blocks = 0;
  size_t count = 0, scope = r->scope, next = r->next, limit = r->limit;
  size_t base = r->values.size / sizeof(tt_hlo_value *);
  const uint8_t *at = s->at;
  TT_HLO_BC_CHECK(r->depth < TT_HLO_BC_DEPTH, r, at, "regions are nested deeper than %d",
                  TT_HLO_BC_DEPTH);
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &blocks));
  *out_region = NULL;
  if (blocks == 0 && outer == NULL) /* a function that is only declared */
    return NULL;
  if (blocks != 1)
    return tt_hlo_bc_fail(r, at, TT_UNIMPLEMENTED, "a region of %llu blocks",
                          (unsigned long long)blocks);
  TT_RETURN_IF_ERROR(declare(r, s, &count));
  tt_hlo_region *region = *out_region = tt_arena_alloc(r->arena, sizeof *region);
  if (region == NULL)
    return tt_error_no_memory(sizeof *region);
  region->outer = outer;
  r->scope = isolated ? base : scope;
  r->next = base;
  r->limit = base + count;
  r->depth++;
  TT_RETURN_IF_ERROR(read_block(r, s, region));
  TT_HLO_BC_CHECK(r->next == r->limit, r, at, "a region says that it has %zu values, it has %zu",
                  count, r->next - base);
  r->depth--;
  r->values.size = base * sizeof(tt_hlo_value *);
  r->scope = scope;
  r->next = next;
  r->limit = limit;
  return NULL;
}
