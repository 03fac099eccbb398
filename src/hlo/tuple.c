#include "hlo/hlo_internal.h"

tt_error *tt_hlo_tuple_new(tt_arena *arena, tt_hlo_value *const *items, uint32_t count,
                           tt_hlo_value **out_value) {
  tt_hlo_tuple *tuple = tt_arena_alloc(arena, sizeof *tuple);
  if (tuple == NULL)
    return tt_error_no_memory(sizeof *tuple);
  tuple->value.index = TT_HLO_TUPLE_INDEX;
  tuple->count = count;
  tuple->items = tt_arena_copy(arena, items, count * sizeof(tt_hlo_value *));
  *out_value = &tuple->value;
  return tuple->items == NULL ? tt_error_no_memory(count * sizeof(tt_hlo_value *)) : NULL;
}
