/* Attributes as text, one function for each kind that is more than a word. */
#include "hlo/hlo_internal.h"

typedef void (*print_item)(tt_bytes *text, int64_t item);

static void print_bool(tt_bytes *text, int64_t item) {
  tt_bytes_text(text, item != 0 ? "true" : "false");
}

static void print_items(tt_bytes *text, const int64_t *items, size_t count, print_item print) {
  for (size_t i = 0; i < count; i++) {
    if (i > 0)
      tt_bytes_text(text, ", ");
    print(text, items[i]);
  }
}

/* `array<i64: 1, 2>`; the empty one has no colon. */
static void print_array(tt_bytes *text, const char *type, tt_hlo_list list, print_item print) {
  tt_bytes_text(text, "array<");
  tt_bytes_text(text, type);
  if (list.count > 0)
    tt_bytes_text(text, ": ");
  print_items(text, list.items, list.count, print);
  tt_bytes_char(text, '>');
}

static void print_matrix(tt_bytes *text, tt_hlo_list list, int64_t columns) {
  size_t width = columns > 0 ? (size_t)columns : 1, rows = list.count / width;
  tt_bytes_text(text, rows > 0 ? "dense<[" : "dense<");
  for (size_t i = 0; i < rows; i++) {
    tt_bytes_text(text, i > 0 ? ", [" : "[");
    print_items(text, list.items + i * width, width, tt_hlo_print_int);
    tt_bytes_char(text, ']');
  }
  tt_bytes_printf(text, "%s> : tensor<%zux%lldxi64>", rows > 0 ? "]" : "", rows,
                  (long long)columns);
}

static void print_enum(tt_bytes *text, tt_hlo_attr_name name, int64_t value) {
  const tt_hlo_enum_info *info = &tt_hlo_enums[name];
  tt_bytes_printf(text, "#stablehlo<%s %s>", info->type == NULL ? "?" : info->type,
                  value >= 0 && value < info->count ? info->values[value] : "?");
}

static void print_enums(tt_bytes *text, const tt_hlo_attr *attr) {
  tt_bytes_char(text, '[');
  for (size_t i = 0; i < attr->i64s.count; i++) {
    if (i > 0)
      tt_bytes_text(text, ", ");
    print_enum(text, attr->name, attr->i64s.items[i]);
  }
  tt_bytes_char(text, ']');
}

/* `name = [1, 2]` unless empty; commas between what is printed since `start`. */
static void print_field(tt_bytes *text, size_t start, const char *name, tt_hlo_list list) {
  if (list.count == 0)
    return;
  if (text->size > start)
    tt_bytes_text(text, ", ");
  tt_bytes_text(text, name);
  tt_bytes_text(text, " = [");
  print_items(text, list.items, list.count, tt_hlo_print_int);
  tt_bytes_char(text, ']');
}

static void print_dot(tt_bytes *text, const tt_hlo_dot_dims *d) {
  tt_bytes_text(text, "#stablehlo.dot<");
  size_t start = text->size;
  print_field(text, start, "lhs_batching_dimensions", d->lhs_batch);
  print_field(text, start, "rhs_batching_dimensions", d->rhs_batch);
  print_field(text, start, "lhs_contracting_dimensions", d->lhs_contract);
  print_field(text, start, "rhs_contracting_dimensions", d->rhs_contract);
  tt_bytes_char(text, '>');
}

static void print_index_vector(tt_bytes *text, size_t start, int64_t dim) {
  tt_bytes_printf(text, "%sindex_vector_dim = %lld>", text->size > start ? ", " : "",
                  (long long)dim);
}

static void print_gather(tt_bytes *text, const tt_hlo_gather_dims *d) {
  tt_bytes_text(text, "#stablehlo.gather<");
  size_t start = text->size;
  print_field(text, start, "offset_dims", d->offset_dims);
  print_field(text, start, "collapsed_slice_dims", d->collapsed_slice_dims);
  print_field(text, start, "operand_batching_dims", d->operand_batching_dims);
  print_field(text, start, "start_indices_batching_dims", d->start_indices_batching_dims);
  print_field(text, start, "start_index_map", d->start_index_map);
  print_index_vector(text, start, d->index_vector_dim);
}

static void print_scatter(tt_bytes *text, const tt_hlo_scatter_dims *d) {
  tt_bytes_text(text, "#stablehlo.scatter<");
  size_t start = text->size;
  print_field(text, start, "update_window_dims", d->update_window_dims);
  print_field(text, start, "inserted_window_dims", d->inserted_window_dims);
  print_field(text, start, "input_batching_dims", d->input_batching_dims);
  print_field(text, start, "scatter_indices_batching_dims", d->scatter_indices_batching_dims);
  print_field(text, start, "scatter_dims_to_operand_dims", d->scatter_dims_to_operand_dims);
  print_index_vector(text, start, d->index_vector_dim);
}

/* `[b, 0, 1, f]`: at each axis what it is. */
static void print_conv_side(tt_bytes *text, char first_name, int64_t first, char second_name,
                            int64_t second, tt_hlo_list spatial) {
  tt_bytes_char(text, '[');
  for (int64_t axis = 0; axis < (int64_t)spatial.count + 2; axis++) {
    if (axis > 0)
      tt_bytes_text(text, ", ");
    if (axis == first)
      tt_bytes_char(text, first_name);
    if (axis == second)
      tt_bytes_char(text, second_name);
    for (size_t i = 0; i < spatial.count; i++)
      if (spatial.items[i] == axis)
        tt_hlo_print_int(text, (int64_t)i);
  }
  tt_bytes_char(text, ']');
}

static void print_conv(tt_bytes *text, const tt_hlo_conv_dims *d) {
  tt_bytes_text(text, "#stablehlo.conv<");
  print_conv_side(text, 'b', d->input_batch, 'f', d->input_feature, d->input_spatial);
  tt_bytes_char(text, 'x');
  print_conv_side(text, 'i', d->kernel_input, 'o', d->kernel_output, d->kernel_spatial);
  tt_bytes_text(text, "->");
  print_conv_side(text, 'b', d->output_batch, 'f', d->output_feature, d->output_spatial);
  tt_bytes_char(text, '>');
}

/* The default layout of `type`: minor to major. */
static void print_layout(tt_bytes *text, const tt_hlo_type *type) {
  int32_t rank = type->token ? 0 : type->rank;
  tt_bytes_text(text, rank > 0 ? "dense<[" : "dense<");
  for (int32_t i = rank - 1; i >= 0; i--)
    tt_bytes_printf(text, i > 0 ? "%d, " : "%d]", (int)i);
  tt_bytes_printf(text, "> : tensor<%dxindex>", (int)rank);
}

static void print_layouts(tt_bytes *text, const tt_hlo_op *op, bool results) {
  uint32_t count = results ? op->results_count : op->operands_count;
  tt_bytes_char(text, '[');
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0)
      tt_bytes_text(text, ", ");
    print_layout(text, results ? &op->results[i].type : &op->operands[i]->type);
  }
  tt_bytes_char(text, ']');
}

static void print_elements(tt_bytes *text, const tt_hlo_op *op, const tt_hlo_attr *attr) {
  tt_hlo_print_dense(text, &op->results[0].type, attr);
  tt_bytes_text(text, " : ");
  tt_hlo_type_print(&op->results[0].type, text);
}

static void print_value(tt_bytes *text, const tt_hlo_op *op, const tt_hlo_attr *attr) {
  switch (attr->kind) {
    case TT_HLO_ATTR_I64:
      tt_bytes_printf(text, "%lld : i64", (long long)attr->i64);
      break;
    case TT_HLO_ATTR_I32:
      tt_bytes_printf(text, "%lld : i32", (long long)attr->i64);
      break;
    case TT_HLO_ATTR_I64S:
      print_array(text, "i64", attr->i64s, tt_hlo_print_int);
      break;
    case TT_HLO_ATTR_BOOL:
      print_bool(text, attr->i64);
      break;
    case TT_HLO_ATTR_BOOLS:
      print_array(text, "i1", attr->i64s, print_bool);
      break;
    case TT_HLO_ATTR_F32:
      tt_hlo_print_float(text, attr->f64, true);
      tt_bytes_text(text, " : f32");
      break;
    case TT_HLO_ATTR_STRING:
      tt_hlo_print_string(text, attr->text);
      break;
    case TT_HLO_ATTR_SYMBOL:
      tt_hlo_print_symbol(text, attr->text);
      break;
    case TT_HLO_ATTR_ENUM:
      print_enum(text, attr->name, attr->i64);
      break;
    case TT_HLO_ATTR_ENUMS:
      print_enums(text, attr);
      break;
    case TT_HLO_ATTR_MATRIX:
      print_matrix(text, attr->i64s, attr->columns);
      break;
    case TT_HLO_ATTR_DENSE:
      print_elements(text, op, attr);
      break;
    case TT_HLO_ATTR_DOT:
      print_dot(text, attr->dims);
      break;
    case TT_HLO_ATTR_CONV:
      print_conv(text, attr->dims);
      break;
    case TT_HLO_ATTR_GATHER:
      print_gather(text, attr->dims);
      break;
    case TT_HLO_ATTR_SCATTER:
      print_scatter(text, attr->dims);
      break;
    case TT_HLO_ATTR_CHANNEL:
      tt_bytes_printf(text, "#stablehlo.channel_handle<handle = %lld, type = %lld>",
                      (long long)attr->i64, (long long)attr->columns);
      break;
    case TT_HLO_ATTR_LAYOUTS:
      print_layouts(text, op, attr->name == TT_HLO_RESULT_LAYOUTS);
      break;
    case TT_HLO_ATTR_TEXT:
      tt_bytes_text(text, attr->text);
      break;
  }
}

/* MLIR's unit attribute: there or not, without a value. */
static bool is_unit(const tt_hlo_attr *attr) {
  return attr->kind == TT_HLO_ATTR_BOOL &&
         (attr->name == TT_HLO_USE_GLOBAL_DEVICE_IDS || attr->name == TT_HLO_HAS_DYNAMIC_ROOT);
}

void tt_hlo_print_attrs(tt_bytes *text, const tt_hlo_op *op) {
  bool any = false;
  for (uint32_t i = 0; i < op->attrs_count; i++) {
    const tt_hlo_attr *attr = &op->attrs[i];
    if (is_unit(attr) && attr->i64 == 0)
      continue;
    tt_bytes_text(text, any ? ", " : " {");
    any = true;
    tt_bytes_text(text, tt_hlo_attr_names[attr->name]);
    if (is_unit(attr))
      continue;
    tt_bytes_text(text, " = ");
    print_value(text, op, attr);
  }
  if (any)
    tt_bytes_char(text, '}');
}
