/* Attributes that VHLO spells as several properties, and operations that it has under other names.
 */
#include "hlo/bytecode_internal.h"

#include <string.h>

TT_HLO_BC_FINISH(nothing) {
  (void)r;
  (void)made;
  return NULL;
}

/* A property that old versions do not have gives an empty list. */
static tt_error *part_list(tt_hlo_bc *r, const tt_hlo_bc_made *made, const char *name,
                           tt_hlo_list *out_list) {
  if (!tt_hlo_bc_has_part(made, name))
    return NULL;
  return tt_hlo_bc_list(r, tt_hlo_bc_part(made, name), name, out_list, NULL);
}

static tt_error *part_int(const tt_hlo_bc *r, const tt_hlo_bc_made *made, const char *name,
                          int64_t *out_value) {
  return tt_hlo_bc_int(r, tt_hlo_bc_part(made, name), name, out_value);
}

static tt_error *add_dims(tt_hlo_bc *r, tt_hlo_bc_made *made, tt_hlo_attr_name name,
                          tt_hlo_attr_kind kind, const void *dims, size_t size) {
  tt_hlo_attr *attr = tt_hlo_bc_add(made, name, kind);
  attr->dims = tt_arena_copy(r->arena, dims, size);
  return attr->dims != NULL ? NULL : tt_error_no_memory(size);
}

TT_HLO_BC_FINISH(gather) {
  tt_hlo_gather_dims d = {0};
  TT_RETURN_IF_ERROR(part_list(r, made, "offset_dims", &d.offset_dims));
  TT_RETURN_IF_ERROR(part_list(r, made, "collapsed_slice_dims", &d.collapsed_slice_dims));
  TT_RETURN_IF_ERROR(part_list(r, made, "operand_batching_dims", &d.operand_batching_dims));
  TT_RETURN_IF_ERROR(
      part_list(r, made, "start_indices_batching_dims", &d.start_indices_batching_dims));
  TT_RETURN_IF_ERROR(part_list(r, made, "start_index_map", &d.start_index_map));
  TT_RETURN_IF_ERROR(part_int(r, made, "index_vector_dim", &d.index_vector_dim));
  return add_dims(r, made, TT_HLO_DIMENSION_NUMBERS, TT_HLO_ATTR_GATHER, &d, sizeof d);
}

TT_HLO_BC_FINISH(scatter) {
  tt_hlo_scatter_dims d = {0};
  TT_RETURN_IF_ERROR(part_list(r, made, "update_window_dims", &d.update_window_dims));
  TT_RETURN_IF_ERROR(part_list(r, made, "inserted_window_dims", &d.inserted_window_dims));
  TT_RETURN_IF_ERROR(part_list(r, made, "input_batching_dims", &d.input_batching_dims));
  TT_RETURN_IF_ERROR(
      part_list(r, made, "scatter_indices_batching_dims", &d.scatter_indices_batching_dims));
  TT_RETURN_IF_ERROR(
      part_list(r, made, "scatter_dims_to_operand_dims", &d.scatter_dims_to_operand_dims));
  TT_RETURN_IF_ERROR(part_int(r, made, "index_vector_dim", &d.index_vector_dim));
  return add_dims(r, made, TT_HLO_SCATTER_DIMENSION_NUMBERS, TT_HLO_ATTR_SCATTER, &d, sizeof d);
}

TT_HLO_BC_FINISH(convolution) {
  tt_hlo_conv_dims d = {0};
  TT_RETURN_IF_ERROR(part_int(r, made, "input_batch_dimension", &d.input_batch));
  TT_RETURN_IF_ERROR(part_int(r, made, "input_feature_dimension", &d.input_feature));
  TT_RETURN_IF_ERROR(part_list(r, made, "input_spatial_dimensions", &d.input_spatial));
  TT_RETURN_IF_ERROR(part_int(r, made, "kernel_input_feature_dimension", &d.kernel_input));
  TT_RETURN_IF_ERROR(part_int(r, made, "kernel_output_feature_dimension", &d.kernel_output));
  TT_RETURN_IF_ERROR(part_list(r, made, "kernel_spatial_dimensions", &d.kernel_spatial));
  TT_RETURN_IF_ERROR(part_int(r, made, "output_batch_dimension", &d.output_batch));
  TT_RETURN_IF_ERROR(part_int(r, made, "output_feature_dimension", &d.output_feature));
  TT_RETURN_IF_ERROR(part_list(r, made, "output_spatial_dimensions", &d.output_spatial));
  return add_dims(r, made, TT_HLO_DIMENSION_NUMBERS, TT_HLO_ATTR_CONV, &d, sizeof d);
}

/* ---- dot ---- */

/* A property of type_v1; false when it is another kind. */
static bool part_type(const tt_hlo_bc *r, const tt_hlo_bc_made *made, const char *name,
                      uint32_t *out_type) {
  tt_hlo_bc_head head;
  tt_error *err = tt_hlo_bc_open_vhlo(r, tt_hlo_bc_part(made, name), TT_HLO_VHLO_TYPE, name, &head);
  if (err == NULL)
    err = tt_hlo_bc_type_index(r, &head.fields, out_type);
  bool ok = err == NULL;
  tt_error_free(err);
  return ok;
}

/* `name = f32` */
static tt_error *print_type(const tt_hlo_bc *r, const tt_hlo_bc_made *made, const char *name,
                            tt_bytes *text) {
  uint32_t type = 0;
  const char *spelled = part_type(r, made, name, &type) ? tt_hlo_bc_type_name(r, type) : NULL;
  TT_HLO_BC_CHECK(spelled != NULL, r, made->at, "%s: %s is no type of floats", made->info->name,
                  name);
  tt_bytes_printf(text, "%s = %s, ", name, spelled);
  return NULL;
}

static tt_error *print_int(const tt_hlo_bc *r, const tt_hlo_bc_made *made, const char *name,
                           tt_bytes *text) {
  int64_t value = 0;
  TT_RETURN_IF_ERROR(part_int(r, made, name, &value));
  tt_bytes_printf(text, "%s = %lld, ", name, (long long)value);
  return NULL;
}

/* Since 1.6; properties of type none stand for no algorithm. */
static tt_error *add_algorithm(tt_hlo_bc *r, tt_hlo_bc_made *made) {
  tt_bytes text = {0};
  tt_error *err = NULL;
  uint32_t type = 0;
  bool imprecise = false;
  if (!tt_hlo_bc_has_part(made, "lhs_component_count") ||
      (part_type(r, made, "lhs_component_count", &type) && tt_hlo_bc_is_none(r, type)))
    return NULL;
  tt_bytes_text(&text, "#stablehlo.dot_algorithm<");
  TT_TRY(print_type(r, made, "lhs_precision_type", &text));
  TT_TRY(print_type(r, made, "rhs_precision_type", &text));
  TT_TRY(print_type(r, made, "accumulation_type", &text));
  TT_TRY(print_int(r, made, "lhs_component_count", &text));
  TT_TRY(print_int(r, made, "rhs_component_count", &text));
  TT_TRY(print_int(r, made, "num_primitive_operations", &text));
  TT_TRY(tt_hlo_bc_bool(r, tt_hlo_bc_part(made, "allow_imprecise_accumulation"),
                        "allow_imprecise_accumulation", &imprecise));
  tt_bytes_printf(&text, "allow_imprecise_accumulation = %s>", imprecise ? "true" : "false");
  err = tt_hlo_bc_add_text(r, made, TT_HLO_ALGORITHM, &text);
out:
  tt_bytes_free(&text);
  return err;
}

TT_HLO_BC_FINISH(dot_general) {
  tt_hlo_dot_dims d = {0};
  TT_RETURN_IF_ERROR(part_list(r, made, "lhs_batching_dimensions", &d.lhs_batch));
  TT_RETURN_IF_ERROR(part_list(r, made, "rhs_batching_dimensions", &d.rhs_batch));
  TT_RETURN_IF_ERROR(part_list(r, made, "lhs_contracting_dimensions", &d.lhs_contract));
  TT_RETURN_IF_ERROR(part_list(r, made, "rhs_contracting_dimensions", &d.rhs_contract));
  TT_RETURN_IF_ERROR(
      add_dims(r, made, TT_HLO_DOT_DIMENSION_NUMBERS, TT_HLO_ATTR_DOT, &d, sizeof d));
  return add_algorithm(r, made);
}

/* The last dim of a vector or matrix with the first of another. */
TT_HLO_BC_FINISH(dot) {
  const tt_hlo_op *op = made->op;
  TT_HLO_BC_CHECK(op->operands_count == 2, r, made->at, "dot: expected 2 operands, got %u",
                  op->operands_count);
  const tt_hlo_type *lhs = &op->operands[0]->type, *rhs = &op->operands[1]->type;
  TT_HLO_BC_CHECK(!lhs->token && !rhs->token && lhs->rank >= 1 && lhs->rank <= 2 &&
                      rhs->rank >= 1 && rhs->rank <= 2,
                  r, made->at, "dot: expected vectors or matrices, got %s and %s", TT_HLO_SHOW(lhs),
                  TT_HLO_SHOW(rhs));
  int64_t *axes = tt_arena_array(r->arena, 2, sizeof *axes);
  if (axes == NULL)
    return tt_error_no_memory(2 * sizeof *axes);
  axes[0] = lhs->rank - 1;
  tt_hlo_dot_dims d = {.lhs_contract = {1, &axes[0]}, .rhs_contract = {1, &axes[1]}};
  return add_dims(r, made, TT_HLO_DOT_DIMENSION_NUMBERS, TT_HLO_ATTR_DOT, &d, sizeof d);
}

/* ---- others ---- */

/* broadcast puts its new dims in front. */
TT_HLO_BC_FINISH(broadcast) {
  const tt_hlo_op *op = made->op;
  TT_HLO_BC_CHECK(op->operands_count == 1 && op->results_count == 1 &&
                      !op->operands[0]->type.token && !op->results[0].type.token,
                  r, made->at, "broadcast: expected 1 operand and 1 result");
  int32_t rank = op->operands[0]->type.rank, lead = op->results[0].type.rank - rank;
  TT_HLO_BC_CHECK(lead >= 0, r, made->at, "broadcast: the operand is %s, the result %s",
                  TT_HLO_SHOW(&op->operands[0]->type), TT_HLO_SHOW(&op->results[0].type));
  int64_t *axes = tt_arena_array(r->arena, (size_t)rank, sizeof *axes);
  if (axes == NULL)
    return tt_error_no_memory((size_t)rank * sizeof *axes);
  for (int32_t i = 0; i < rank; i++)
    axes[i] = lead + i;
  tt_hlo_bc_add(made, TT_HLO_BROADCAST_DIMENSIONS, TT_HLO_ATTR_I64S)->i64s =
      (tt_hlo_list){(size_t)rank, axes};
  return NULL;
}

/* A composite is a call with a name of its own. */
TT_HLO_BC_FINISH(call) {
  (void)r;
  tt_hlo_bc_add(made, TT_HLO_NAME, TT_HLO_ATTR_STRING)->text = "func.call";
  return NULL;
}

static tt_hlo_attr *put(tt_hlo_bc_made *made, tt_hlo_attr_name name, tt_hlo_attr_kind kind) {
  for (uint32_t i = 0; i < made->attrs_count; i++)
    if (made->attrs[i].name == name) {
      made->attrs[i] = (tt_hlo_attr){.name = name, .kind = kind};
      return &made->attrs[i];
    }
  return tt_hlo_bc_add(made, name, kind);
}

/* jax gives a typed configuration among the discardable attributes, beside an empty
 * backend_config. In StableHLO proper that is the fourth version of custom calls. */
TT_HLO_BC_FINISH(custom_call) {
  bool found = false;
  uint32_t value = 0;
  tt_hlo_bc_head head = {0};
  const char *text = NULL;
  if (made->has_dict)
    TT_RETURN_IF_ERROR(tt_hlo_bc_dict_find(r, made->dict, "mhlo.backend_config", &found, &value));
  if (found)
    TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, value, &head));
  if (!found || head.dialect != TT_HLO_BC_VHLO || head.code != TT_HLO_VHLO_DICT)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_attr_text(r, value, &text));
  put(made, TT_HLO_BACKEND_CONFIG, TT_HLO_ATTR_TEXT)->text = text;
  put(made, TT_HLO_API_VERSION, TT_HLO_ATTR_I32)->i64 = 4;
  return NULL;
}
