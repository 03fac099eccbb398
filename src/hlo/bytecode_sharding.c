/* What Shardy adds to StableHLO: meshes, shardings, computations that are partitioned by hand. */
#include "hlo/bytecode_internal.h"

#include <string.h>

/* Codes of sdy's attributes. */
enum {
  SDY_MANUAL_AXES = 0,
  SDY_MESH_AXIS = 1,
  SDY_MESH = 2,
  SDY_SUB_AXIS = 3,
  SDY_AXIS = 4,
  SDY_DIM_SHARDING = 5,
  SDY_SHARDING = 6,
  SDY_PER_VALUE = 7,
  SDY_SHARDING_V2 = 15,
  SDY_PER_VALUE_V2 = 16,
  SDY_SHARDING_V3 = 17
};

/* ---- does it ask for a partition? ---- */

/* Whether one of the dims is divided among axes of the mesh. */
static tt_error *divides(const tt_hlo_bc *r, tt_hlo_bc_span *s, bool *out_divides) {
  size_t dims = 0;
  uint32_t mesh = 0;
  *out_divides = false;
  TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, s, &mesh));
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, s, "dims", &dims));
  TT_HLO_BC_CHECK(dims <= TT_HLO_RANK_MAX, r, s->at, "a sharding of %zu dims", dims);
  for (size_t i = 0; i < dims; i++) {
    uint32_t dim = 0;
    size_t axes = 0;
    tt_hlo_bc_head head;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(r, s, &dim));
    TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, dim, &head));
    TT_HLO_BC_CHECK(head.dialect == TT_HLO_BC_SDY && head.code == SDY_DIM_SHARDING, r, head.at,
                    "a sharding's dim is of kind %u", head.code);
    TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, &head.fields, "axes", &axes));
    *out_divides = *out_divides || axes > 0;
  }
  return NULL;
}

/* GSPMD's text: each device has all of the value, or the program divides it itself. */
static bool whole(const char *text) {
  return strcmp(text, "") == 0 || strcmp(text, "{replicated}") == 0 ||
         strcmp(text, "{manual}") == 0 || strncmp(text, "{maximal", strlen("{maximal")) == 0;
}

tt_error *tt_hlo_bc_check_sharding(tt_hlo_bc *r, uint32_t attr) {
  tt_hlo_bc_head head;
  bool found = true;
  const char *text = NULL;
  if (r->module->num_partitions <= 1)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, attr, &head));
  if (head.dialect != TT_HLO_BC_SDY) {
    TT_RETURN_IF_ERROR(tt_hlo_bc_text(r, attr, "a sharding", &text));
    found = !whole(text);
  } else if (head.code == SDY_SHARDING || head.code == SDY_SHARDING_V2 ||
             head.code == SDY_SHARDING_V3) {
    TT_RETURN_IF_ERROR(divides(r, &head.fields, &found));
  }
  if (!found)
    return NULL;
  if (r->sharded_at == NULL)
    r->sharded_at = head.at;
  return head.dialect == TT_HLO_BC_SDY
             ? NULL
             : tt_hlo_bc_fail(r, head.at, TT_UNIMPLEMENTED,
                              "a sharding that asks for a partition of the program");
}

/* ---- as text ---- */

typedef struct writer {
  tt_hlo_bc *r;
  tt_hlo_bc_span s;
  tt_bytes *text;
  tt_error *(*visit)(void *user, uint32_t attr);
  void *user;
} writer;

static tt_error *write_items(writer *w, const char *begin, const char *end) {
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(w->r, &w->s, "items", &count));
  tt_bytes_text(w->text, begin);
  for (size_t i = 0; i < count; i++) {
    uint32_t item = 0;
    if (i > 0)
      tt_bytes_text(w->text, ", ");
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(w->r, &w->s, &item));
    TT_RETURN_IF_ERROR(w->visit(w->user, item));
  }
  tt_bytes_text(w->text, end);
  return NULL;
}

static tt_error *write_numbers(writer *w) {
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(w->r, &w->s, "device ids", &count));
  for (size_t i = 0; i < count; i++) {
    int64_t id = 0;
    TT_RETURN_IF_ERROR(tt_hlo_bc_signed(w->r, &w->s, &id));
    tt_bytes_text(w->text, i == 0 ? ", device_ids=[" : ", ");
    tt_hlo_print_int(w->text, id);
  }
  tt_bytes_text(w->text, count > 0 ? "]" : "");
  return NULL;
}

static tt_error *write_name(writer *w) {
  uint32_t index = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_index(w->r, &w->s, "string", w->r->strings_count, &index));
  if (!w->r->strings[index].whole)
    return tt_hlo_bc_fail(w->r, w->s.at, TT_UNIMPLEMENTED, "an axis with a NUL byte in its name");
  tt_hlo_print_string(w->text, w->r->strings[index].text);
  return NULL;
}

/* Names of axes, which are strings of MLIR's own. */
static tt_error *write_axes(writer *w) {
  size_t count = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(w->r, &w->s, "axes", &count));
  tt_bytes_char(w->text, '{');
  for (size_t i = 0; i < count; i++) {
    uint32_t item = 0;
    const char *name = NULL;
    TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(w->r, &w->s, &item));
    TT_RETURN_IF_ERROR(tt_hlo_bc_text(w->r, item, "an axis", &name));
    tt_bytes_text(w->text, i > 0 ? ", " : "");
    tt_hlo_print_string(w->text, name);
  }
  tt_bytes_char(w->text, '}');
  return NULL;
}

static tt_error *write_mesh_axis(writer *w) {
  int64_t size = 0;
  TT_RETURN_IF_ERROR(write_name(w));
  TT_RETURN_IF_ERROR(tt_hlo_bc_signed(w->r, &w->s, &size));
  tt_bytes_printf(w->text, "=%lld", (long long)size);
  return NULL;
}

tt_error *tt_hlo_bc_write_part(tt_hlo_bc *r, tt_hlo_bc_span s, tt_bytes *text) {
  int64_t before = 0, size = 0;
  TT_RETURN_IF_ERROR(tt_hlo_bc_signed(r, &s, &before));
  TT_RETURN_IF_ERROR(tt_hlo_bc_signed(r, &s, &size));
  tt_bytes_printf(text, "(%lld)%lld", (long long)before, (long long)size);
  return NULL;
}

static tt_error *write_axis(writer *w) {
  uint64_t part = 0;
  bool is_part = false;
  const uint8_t *at = w->s.at;
  TT_RETURN_IF_ERROR(write_name(w));
  TT_RETURN_IF_ERROR(tt_hlo_bc_flagged(w->r, &w->s, &part, &is_part));
  if (!is_part)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_check_index(w->r, at, "attribute", w->r->attrs_count, part));
  return w->visit(w->user, (uint32_t)part);
}

/* The mesh by its name, or itself. */
static tt_error *write_sharding(writer *w) {
  uint32_t mesh = 0;
  tt_hlo_bc_head head;
  const char *name = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_attr_index(w->r, &w->s, &mesh));
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(w->r, mesh, &head));
  tt_bytes_char(w->text, '<');
  if (head.dialect == TT_HLO_BC_SDY) {
    tt_bytes_text(w->text, "mesh");
    TT_RETURN_IF_ERROR(w->visit(w->user, mesh));
  } else {
    TT_RETURN_IF_ERROR(tt_hlo_bc_text(w->r, mesh, "a mesh", &name));
    tt_hlo_print_symbol(w->text, name);
  }
  return write_items(w, ", [", "]>");
}

tt_error *tt_hlo_bc_sdy_write(tt_hlo_bc *r, const tt_hlo_bc_head *head, tt_bytes *text,
                              tt_error *(*visit)(void *user, uint32_t attr), void *user) {
  writer w = {r, head->fields, text, visit, user};
  switch (head->code) {
    case SDY_MANUAL_AXES:
      tt_bytes_text(text, "#sdy<manual_axes");
      TT_RETURN_IF_ERROR(write_axes(&w));
      tt_bytes_char(text, '>');
      return NULL;
    case SDY_MESH_AXIS:
      return write_mesh_axis(&w);
    case SDY_MESH:
      TT_RETURN_IF_ERROR(write_items(&w, "<[", "]"));
      TT_RETURN_IF_ERROR(write_numbers(&w));
      tt_bytes_char(text, '>');
      return NULL;
    case SDY_SUB_AXIS:
      tt_bytes_char(text, ':');
      return tt_hlo_bc_write_part(r, head->fields, text);
    case SDY_AXIS:
      return write_axis(&w);
    case SDY_DIM_SHARDING:
      return write_items(&w, "{", "}");
    case SDY_SHARDING:
    case SDY_SHARDING_V2:
    case SDY_SHARDING_V3:
      return write_sharding(&w);
    case SDY_PER_VALUE:
    case SDY_PER_VALUE_V2:
      return write_items(&w, "#sdy.sharding_per_value<[", "]>");
    default:
      return tt_hlo_bc_fail(r, head->at, TT_UNIMPLEMENTED, "attribute of kind %u of sdy",
                            head->code);
  }
}

tt_error *tt_hlo_bc_sharding(tt_hlo_bc *r, uint32_t attr, const char **out_text) {
  tt_hlo_bc_head head;
  *out_text = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_open(r, attr, &head));
  return head.dialect == TT_HLO_BC_SDY ? tt_hlo_bc_attr_text(r, attr, out_text) : NULL;
}

/* ---- operations ---- */

#define PART(name) {TT_HLO_BC_PART, name, TT_HLO_ATTR_NAME_COUNT}
#define END {TT_HLO_BC_END, NULL, TT_HLO_ATTR_NAME_COUNT}

tt_error *tt_hlo_bc_mesh(tt_hlo_bc *r, const tt_hlo_bc_op_head *head) {
  static const tt_hlo_bc_property names[] = {PART("mesh"), PART("sym_name"), END};
  uint32_t attrs[TT_COUNT(names)] = {0};
  tt_hlo_mesh *mesh = tt_arena_alloc(r->arena, sizeof *mesh);
  if (mesh == NULL)
    return tt_error_no_memory(sizeof *mesh);
  TT_RETURN_IF_ERROR(tt_hlo_bc_properties(r, head, names, attrs));
  TT_RETURN_IF_ERROR(tt_hlo_bc_sharding(r, attrs[0], &mesh->text));
  TT_RETURN_IF_ERROR(tt_hlo_bc_text(r, attrs[1], "sym_name", &mesh->name));
  TT_HLO_BC_CHECK(mesh->text != NULL, r, head->at, "sdy.mesh @%s: not a mesh", mesh->name);
  mesh->next = r->module->meshes;
  r->module->meshes = mesh;
  return NULL;
}

tt_error *tt_hlo_bc_manual(tt_hlo_bc *r, const tt_hlo_bc_op_head *head, tt_hlo_op *op) {
  static const tt_hlo_bc_property names[] = {PART("in_shardings"), PART("manual_axes"),
                                             PART("out_shardings"), END};
  static const tt_hlo_attr_name kept[] = {TT_HLO_IN_SHARDINGS, TT_HLO_MANUAL_AXES,
                                          TT_HLO_OUT_SHARDINGS};
  uint32_t attrs[TT_COUNT(names)] = {0};
  TT_RETURN_IF_ERROR(tt_hlo_bc_properties(r, head, names, attrs));
  op->attrs = tt_arena_array(r->arena, TT_COUNT(kept), sizeof *op->attrs);
  if (op->attrs == NULL)
    return tt_error_no_memory(TT_COUNT(kept) * sizeof *op->attrs);
  for (; op->attrs_count < TT_COUNT(kept); op->attrs_count++) {
    tt_hlo_attr *attr = &op->attrs[op->attrs_count];
    *attr = (tt_hlo_attr){.name = kept[op->attrs_count], .kind = TT_HLO_ATTR_TEXT};
    TT_RETURN_IF_ERROR(tt_hlo_bc_sharding(r, attrs[op->attrs_count], &attr->text));
    TT_HLO_BC_CHECK(attr->text != NULL, r, head->at, "sdy.manual_computation: no sharding");
  }
  r->manual = true;
  return NULL;
}
