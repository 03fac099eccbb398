/* Attributes that are structures of dims: dot, gather, scatter, channel_handle, conv. */
#include "hlo/parse_internal.h"

/* `name = [1, 2]` or `name = 1` within <>. */
typedef struct field {
  const char *name;
  bool number;
  size_t offset; /* of a tt_hlo_list, or of an int64_t */
} field;

static tt_error *parse_field(tt_hlo_parser *p, const field *fields, size_t count, char *out) {
  tt_hlo_slice name = tt_hlo_parse_word(p);
  size_t i = 0;
  while (i < count && !tt_hlo_slice_is(name, fields[i].name))
    i++;
  if (i == count) {
    p->at = name.text;
    return tt_hlo_parse_expected(p, fields[0].name);
  }
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '='));
  if (!fields[i].number)
    return tt_hlo_parse_list(p, (tt_hlo_list *)(void *)(out + fields[i].offset));
  return tt_hlo_parse_i64(p, (int64_t *)(void *)(out + fields[i].offset));
}

static tt_error *parse_fields(tt_hlo_parser *p, const field *fields, size_t count, void *out) {
  while (!tt_hlo_parse_take(p, '>')) {
    TT_RETURN_IF_ERROR(parse_field(p, fields, count, out));
    if (!tt_hlo_parse_take(p, ',') && tt_hlo_parse_peek(p) != '>')
      return tt_hlo_parse_expected(p, "',' or '>'");
  }
  return NULL;
}

static tt_error *parse_struct(tt_hlo_parser *p, const field *fields, size_t count, size_t size,
                              const void **out_dims) {
  void *dims = tt_arena_alloc(&p->module->arena, size);
  if (dims == NULL)
    return tt_hlo_parse_no_memory(p);
  *out_dims = dims;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '<'));
  return parse_fields(p, fields, count, dims);
}

#define LIST(type, text, member) {text, false, offsetof(type, member)}
#define NUMBER(type, text, member) {text, true, offsetof(type, member)}

tt_error *tt_hlo_parse_dot(tt_hlo_parser *p, tt_hlo_attr *out_attr) {
  static const field fields[] = {LIST(tt_hlo_dot_dims, "lhs_batching_dimensions", lhs_batch),
                                 LIST(tt_hlo_dot_dims, "rhs_batching_dimensions", rhs_batch),
                                 LIST(tt_hlo_dot_dims, "lhs_contracting_dimensions", lhs_contract),
                                 LIST(tt_hlo_dot_dims, "rhs_contracting_dimensions", rhs_contract)};
  out_attr->kind = TT_HLO_ATTR_DOT;
  return parse_struct(p, fields, TT_COUNT(fields), sizeof(tt_hlo_dot_dims), &out_attr->dims);
}

tt_error *tt_hlo_parse_gather(tt_hlo_parser *p, tt_hlo_attr *out_attr) {
  static const field fields[] = {
      LIST(tt_hlo_gather_dims, "offset_dims", offset_dims),
      LIST(tt_hlo_gather_dims, "collapsed_slice_dims", collapsed_slice_dims),
      LIST(tt_hlo_gather_dims, "operand_batching_dims", operand_batching_dims),
      LIST(tt_hlo_gather_dims, "start_indices_batching_dims", start_indices_batching_dims),
      LIST(tt_hlo_gather_dims, "start_index_map", start_index_map),
      NUMBER(tt_hlo_gather_dims, "index_vector_dim", index_vector_dim)};
  out_attr->kind = TT_HLO_ATTR_GATHER;
  return parse_struct(p, fields, TT_COUNT(fields), sizeof(tt_hlo_gather_dims), &out_attr->dims);
}

tt_error *tt_hlo_parse_scatter(tt_hlo_parser *p, tt_hlo_attr *out_attr) {
  static const field fields[] = {
      LIST(tt_hlo_scatter_dims, "update_window_dims", update_window_dims),
      LIST(tt_hlo_scatter_dims, "inserted_window_dims", inserted_window_dims),
      LIST(tt_hlo_scatter_dims, "input_batching_dims", input_batching_dims),
      LIST(tt_hlo_scatter_dims, "scatter_indices_batching_dims", scatter_indices_batching_dims),
      LIST(tt_hlo_scatter_dims, "scatter_dims_to_operand_dims", scatter_dims_to_operand_dims),
      NUMBER(tt_hlo_scatter_dims, "index_vector_dim", index_vector_dim)};
  out_attr->kind = TT_HLO_ATTR_SCATTER;
  return parse_struct(p, fields, TT_COUNT(fields), sizeof(tt_hlo_scatter_dims), &out_attr->dims);
}

tt_error *tt_hlo_parse_channel(tt_hlo_parser *p, tt_hlo_attr *out_attr) {
  static const field fields[] = {NUMBER(tt_hlo_attr, "handle", i64),
                                 NUMBER(tt_hlo_attr, "type", columns)};
  out_attr->kind = TT_HLO_ATTR_CHANNEL;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '<'));
  return parse_fields(p, fields, TT_COUNT(fields), out_attr);
}

/* ---- convolution ---- */

/* One side of #stablehlo.conv: at each axis a letter or the number of a spatial dim. */
typedef struct side {
  const char *letters; /* two */
  int64_t axes[2];     /* of the letters; -1 not seen */
  int64_t spatial[TT_HLO_RANK_MAX];
  int64_t spatial_count;
} side;

static tt_error *parse_side_item(tt_hlo_parser *p, side *s, int64_t axis) {
  static const char what[] = "the axis of a convolution that was not named before";
  char c = tt_hlo_parse_peek(p);
  const char *at = p->at;
  int64_t number = 0;
  if (!tt_hlo_char_is(c, TT_HLO_CHAR_DIGIT)) {
    int i = c == s->letters[1];
    if (c != s->letters[i] || s->axes[i] >= 0)
      return tt_hlo_parse_expected(p, what);
    s->axes[i] = axis;
    p->at++;
    return NULL;
  }
  TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &number));
  if (number >= TT_HLO_RANK_MAX || s->spatial[number] >= 0) {
    p->at = at;
    return tt_hlo_parse_expected(p, what);
  }
  s->spatial[number] = axis;
  s->spatial_count++;
  return NULL;
}

static tt_error *parse_side(tt_hlo_parser *p, const char *letters, int64_t *out_first,
                            int64_t *out_second, tt_hlo_list *out_spatial) {
  side s = {.letters = letters, .axes = {-1, -1}};
  int64_t axis = 0;
  memset(s.spatial, -1, sizeof s.spatial);
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '['));
  do
    TT_RETURN_IF_ERROR(parse_side_item(p, &s, axis++));
  while (tt_hlo_parse_take(p, ','));
  /* All numbers are different, so none is missing when the last is there. */
  bool whole = s.axes[0] >= 0 && s.axes[1] >= 0;
  for (int64_t i = 0; i < s.spatial_count; i++)
    whole = whole && s.spatial[i] >= 0;
  if (!whole)
    return tt_hlo_parse_expected(p, "every axis of the convolution");
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ']'));
  *out_first = s.axes[0];
  *out_second = s.axes[1];
  out_spatial->count = (size_t)s.spatial_count;
  out_spatial->items =
      tt_arena_copy(&p->module->arena, s.spatial, (size_t)s.spatial_count * sizeof s.spatial[0]);
  return out_spatial->items == NULL ? tt_hlo_parse_no_memory(p) : NULL;
}

static tt_error *parse_sides(tt_hlo_parser *p, tt_hlo_conv_dims *d) {
  TT_RETURN_IF_ERROR(parse_side(p, "bf", &d->input_batch, &d->input_feature, &d->input_spatial));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect_word(p, "x"));
  TT_RETURN_IF_ERROR(parse_side(p, "io", &d->kernel_input, &d->kernel_output, &d->kernel_spatial));
  TT_RETURN_IF_ERROR(tt_hlo_parse_arrow(p));
  return parse_side(p, "bf", &d->output_batch, &d->output_feature, &d->output_spatial);
}

static tt_error *new_conv(tt_hlo_parser *p, tt_hlo_attr *out_attr, tt_hlo_conv_dims **out_dims) {
  *out_dims = tt_arena_alloc(&p->module->arena, sizeof **out_dims);
  out_attr->kind = TT_HLO_ATTR_CONV;
  out_attr->dims = *out_dims;
  return *out_dims == NULL ? tt_hlo_parse_no_memory(p) : NULL;
}

tt_error *tt_hlo_parse_conv_sides(tt_hlo_parser *p, tt_hlo_attr *out_attr) {
  tt_hlo_conv_dims *dims = NULL;
  TT_RETURN_IF_ERROR(new_conv(p, out_attr, &dims));
  return parse_sides(p, dims);
}

/* `raw`: as its fields, which may then be anything. */
tt_error *tt_hlo_parse_conv(tt_hlo_parser *p, tt_hlo_attr *out_attr) {
  static const field fields[] = {
      NUMBER(tt_hlo_conv_dims, "input_batch_dimension", input_batch),
      NUMBER(tt_hlo_conv_dims, "input_feature_dimension", input_feature),
      LIST(tt_hlo_conv_dims, "input_spatial_dimensions", input_spatial),
      NUMBER(tt_hlo_conv_dims, "kernel_input_feature_dimension", kernel_input),
      NUMBER(tt_hlo_conv_dims, "kernel_output_feature_dimension", kernel_output),
      LIST(tt_hlo_conv_dims, "kernel_spatial_dimensions", kernel_spatial),
      NUMBER(tt_hlo_conv_dims, "output_batch_dimension", output_batch),
      NUMBER(tt_hlo_conv_dims, "output_feature_dimension", output_feature),
      LIST(tt_hlo_conv_dims, "output_spatial_dimensions", output_spatial)};
  tt_hlo_conv_dims *dims = NULL;
  TT_RETURN_IF_ERROR(new_conv(p, out_attr, &dims));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '<'));
  if (tt_hlo_parse_take_word(p, "raw"))
    return parse_fields(p, fields, TT_COUNT(fields), dims);
  TT_RETURN_IF_ERROR(parse_sides(p, dims));
  return tt_hlo_parse_expect(p, '>');
}
