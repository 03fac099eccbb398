/* Operations by name: the table of VHLO's, and what the reader does with those of other dialects.
 */
#include "hlo/bytecode_internal.h"

#include <string.h>

#define A(kind, name, attr) {TT_HLO_BC_##kind, name, TT_HLO_##attr},
#define P(kind, name) {TT_HLO_BC_##kind, name, TT_HLO_ATTR_NAME_COUNT},
#define LIST(...)                                               \
  (const tt_hlo_bc_property[]) {                                \
    __VA_ARGS__ { TT_HLO_BC_END, NULL, TT_HLO_ATTR_NAME_COUNT } \
  }
#define OP(name, code, finish, ...) \
  {name, TT_HLO_##code, tt_hlo_bc_finish_##finish, LIST(__VA_ARGS__)},
#define MISSING(name) {name, TT_HLO_OP_COUNT, NULL, NULL},
const tt_hlo_bc_op tt_hlo_bc_ops[] = {
#include "hlo/bytecode_ops.def"
};
#undef A
#undef P
#undef LIST
#undef OP
#undef MISSING
const size_t tt_hlo_bc_ops_count = TT_COUNT(tt_hlo_bc_ops);

static const struct {
  const char *dialect, *name;
  tt_hlo_bc_action action;
  bool sharding;
} others[] = {
    {"builtin", "module", TT_HLO_BC_MODULE, false},
    {"builtin", "unrealized_conversion_cast", TT_HLO_BC_IDENTITY, false},
    {"vhlo", "func_v1", TT_HLO_BC_FUNC, false},
    {"vhlo", "tuple_v1", TT_HLO_BC_TUPLE, false},
    {"vhlo", "get_tuple_element_v1", TT_HLO_BC_TUPLE_ELEMENT, false},
    {"sdy", "manual_computation", TT_HLO_BC_MANUAL, false},
    {"sdy", "mesh", TT_HLO_BC_MESH, false},
    {"sdy", "return", TT_HLO_BC_RETURN, false},
    {"sdy", "sharding_group", TT_HLO_BC_SKIP, false},
    {"sdy", "sharding_constraint", TT_HLO_BC_IDENTITY, true},
    {"sdy", "reshard", TT_HLO_BC_IDENTITY, true},
    {"sdy", "propagation_barrier", TT_HLO_BC_IDENTITY, false},
};

static const tt_hlo_bc_op *find_op(const char *name) {
  size_t low = 0, high = tt_hlo_bc_ops_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(name, tt_hlo_bc_ops[middle].name);
    if (order == 0)
      return &tt_hlo_bc_ops[middle];
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

void tt_hlo_bc_find_name(const char *dialect, const char *name, tt_hlo_bc_name *out_name) {
  *out_name = (tt_hlo_bc_name){.dialect = dialect, .name = name, .action = TT_HLO_BC_UNKNOWN};
  if (strcmp(dialect, "vhlo") == 0)
    out_name->info = find_op(name);
  if (out_name->info != NULL)
    out_name->action = TT_HLO_BC_TABLE;
  for (size_t i = 0; i < TT_COUNT(others) && out_name->info == NULL; i++)
    if (strcmp(dialect, others[i].dialect) == 0 && strcmp(name, others[i].name) == 0) {
      out_name->action = others[i].action;
      out_name->sharding = others[i].sharding;
    }
}
