/* Names: of operations and attributes, of values by scope, aliases, and locations. */
#include <stdlib.h>

#include "base/hash.h"
#include "hlo/parse_internal.h"

/* ---- tables of operations and attributes ---- */

static size_t hash_word(const char *text, size_t size) {
  uint32_t hash = 2166136261U;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ (unsigned char)text[i]) * 16777619U;
  return hash ^ hash >> 15;
}

static void fill(uint16_t *slots, size_t mask, const char *name, int value) {
  size_t i = hash_word(name, strlen(name)) & mask;
  while (slots[i] != 0)
    i = (i + 1) & mask;
  slots[i] = (uint16_t)(value + 1);
}

/* Both tables are less than half full, so that a search ends. */
tt_error *tt_hlo_parse_tables(tt_hlo_parser *p) {
  _Static_assert(TT_HLO_OP_COUNT < TT_COUNT(((tt_hlo_parser *)0)->op_slots) / 2, "ops");
  _Static_assert(TT_HLO_ATTR_NAME_COUNT < TT_COUNT(((tt_hlo_parser *)0)->attr_slots) / 2, "attrs");
  for (int i = 0; i < TT_HLO_OP_COUNT; i++)
    fill(p->op_slots, TT_COUNT(p->op_slots) - 1, tt_hlo_ops[i].mnemonic, i);
  for (int i = 0; i < TT_HLO_ATTR_NAME_COUNT; i++)
    fill(p->attr_slots, TT_COUNT(p->attr_slots) - 1, tt_hlo_attr_names[i], i);
  return NULL;
}

int tt_hlo_parse_find_op(const tt_hlo_parser *p, tt_hlo_slice mnemonic) {
  size_t mask = TT_COUNT(p->op_slots) - 1, i = hash_word(mnemonic.text, mnemonic.size) & mask;
  for (; p->op_slots[i] != 0; i = (i + 1) & mask)
    if (tt_hlo_slice_is(mnemonic, tt_hlo_ops[p->op_slots[i] - 1].mnemonic))
      return p->op_slots[i] - 1;
  return -1;
}

int tt_hlo_parse_find_attr(const tt_hlo_parser *p, tt_hlo_slice name) {
  size_t mask = TT_COUNT(p->attr_slots) - 1, i = hash_word(name.text, name.size) & mask;
  for (; p->attr_slots[i] != 0; i = (i + 1) & mask)
    if (tt_hlo_slice_is(name, tt_hlo_attr_names[p->attr_slots[i] - 1]))
      return p->attr_slots[i] - 1;
  return -1;
}

/* ---- values ---- */

static tt_hlo_name *entry_at(const tt_hlo_names *names, uint32_t i) {
  return (tt_hlo_name *)(void *)names->entries.data + i;
}

static tt_error *grow(tt_hlo_parser *p, tt_hlo_names *names, size_t count) {
  if (names->capacity > 0 && count < names->capacity / 2)
    return NULL;
  size_t capacity = names->capacity == 0 ? 256 : names->capacity * 2;
  uint32_t *slots = calloc(capacity, sizeof *slots);
  if (slots == NULL || count >= UINT32_MAX / 2) {
    free(slots);
    return tt_hlo_parse_no_memory(p);
  }
  for (uint32_t k = 0; k < count; k++) {
    size_t i = entry_at(names, k)->hash & (capacity - 1);
    while (slots[i] != 0)
      i = (i + 1) & (capacity - 1);
    slots[i] = k + 1;
  }
  free(names->slots);
  names->slots = slots;
  names->capacity = capacity;
  return NULL;
}

/* The slot of the name: that of its entry, or the free one where it goes. */
static uint32_t *find_slot(const tt_hlo_names *names, tt_hlo_slice name, uint64_t hash) {
  size_t mask = names->capacity - 1, i = hash & mask;
  for (; names->slots[i] != 0; i = (i + 1) & mask) {
    const tt_hlo_name *entry = entry_at(names, names->slots[i] - 1);
    if (entry->hash == hash && entry->slice.size == name.size &&
        memcmp(entry->slice.text, name.text, name.size) == 0)
      break;
  }
  return &names->slots[i];
}

tt_error *tt_hlo_parse_define(tt_hlo_parser *p, tt_hlo_slice name, tt_hlo_value *values,
                              size_t count) {
  tt_hlo_names *names = &p->names;
  size_t entries = names->entries.size / sizeof(tt_hlo_name);
  uint64_t hash = tt_hash64(name.text, name.size, names->seed);
  TT_RETURN_IF_ERROR(grow(p, names, entries));
  uint32_t *slot = find_slot(names, name, hash);
  if (*slot == 0) {
    tt_hlo_name entry = {.slice = name, .hash = hash};
    tt_bytes_append(&names->entries, &entry, sizeof entry);
    if (names->entries.failed)
      return tt_hlo_parse_no_memory(p);
    *slot = (uint32_t)entries + 1;
  }
  tt_hlo_name *entry = entry_at(names, *slot - 1);
  if (entry->values != NULL)
    return tt_hlo_parse_fail(p, name.text, TT_INVALID_ARGUMENT,
                             "expected a new name, got %%%.*s, which is defined already",
                             (int)(name.size > 32 ? 32 : name.size), name.text);
  entry->values = values;
  entry->count = count;
  uint32_t index = *slot - 1;
  tt_bytes_append(&names->bound, &index, sizeof index);
  return names->bound.failed ? tt_hlo_parse_no_memory(p) : NULL;
}

void tt_hlo_parse_leave(tt_hlo_parser *p, size_t height) {
  for (size_t at = height; at < p->names.bound.size; at += sizeof(uint32_t)) {
    uint32_t index = 0;
    memcpy(&index, p->names.bound.data + at, sizeof index);
    entry_at(&p->names, index)->values = NULL;
  }
  p->names.bound.size = height;
}

static tt_error *undefined(tt_hlo_parser *p, tt_hlo_slice name) {
  return tt_hlo_parse_fail(p, name.text - 1, TT_INVALID_ARGUMENT,
                           "expected a value that is defined before, got %%%.*s",
                           (int)(name.size > 32 ? 32 : name.size), name.text);
}

tt_error *tt_hlo_parse_use(tt_hlo_parser *p, tt_hlo_value **out_value) {
  tt_hlo_slice name = {0};
  int64_t index = 0;
  if (!tt_hlo_parse_take(p, '%'))
    return tt_hlo_parse_expected(p, "a value such as %0");
  TT_RETURN_IF_ERROR(tt_hlo_parse_suffix(p, "a name behind %", &name));
  if (p->names.capacity == 0)
    return undefined(p, name);
  uint64_t hash = tt_hash64(name.text, name.size, p->names.seed);
  const uint32_t *slot = find_slot(&p->names, name, hash);
  const tt_hlo_name *entry = *slot == 0 ? NULL : entry_at(&p->names, *slot - 1);
  if (entry == NULL || entry->values == NULL)
    return undefined(p, name);
  if (p->at < p->end && *p->at == '#') {
    p->at++;
    TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &index));
  }
  if (index < 0 || (uint64_t)index >= entry->count)
    return tt_hlo_parse_fail(p, name.text - 1, TT_INVALID_ARGUMENT,
                             "expected one of the %zu values of %%%.*s, got #%lld", entry->count,
                             (int)(name.size > 32 ? 32 : name.size), name.text, (long long)index);
  *out_value = entry->values + index;
  return NULL;
}

/* ---- aliases ---- */

tt_error *tt_hlo_parse_alias(tt_hlo_parser *p, tt_hlo_slice name, tt_hlo_alias **out_alias) {
  uint64_t hash = tt_map_hash(name.text, name.size);
  *out_alias = tt_map_get(&p->aliases, name.text, name.size, hash);
  if (*out_alias != NULL)
    return NULL;
  *out_alias = tt_arena_alloc(&p->module->arena, sizeof **out_alias);
  if (*out_alias == NULL)
    return tt_hlo_parse_no_memory(p);
  return tt_map_put(&p->aliases, name.text, name.size, hash, *out_alias);
}

/* ---- locations ---- */

/* "name", or "file":line:column */
static tt_error *parse_place_text(tt_hlo_parser *p, const char **out_text) {
  int64_t line = 0, column = 0;
  TT_RETURN_IF_ERROR(tt_hlo_parse_string(p, out_text));
  if (!tt_hlo_parse_take(p, ':'))
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &line));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, ':'));
  TT_RETURN_IF_ERROR(tt_hlo_parse_i64(p, &column));
  tt_bytes text = {0};
  tt_bytes_printf(&text, "%s:%lld:%lld", *out_text, (long long)line, (long long)column);
  *out_text = text.failed ? NULL : tt_arena_text(&p->module->arena, text.data, text.size);
  tt_bytes_free(&text);
  return *out_text == NULL ? tt_hlo_parse_no_memory(p) : NULL;
}

/* What stands first within callsite(...), fused[...] and fused<...>[...]. */
static tt_error *parse_place(tt_hlo_parser *p, tt_hlo_place *out_place) {
  bool has_alias = false;
  while (tt_hlo_parse_take_word(p, "callsite") || tt_hlo_parse_take_word(p, "fused")) {
    if (tt_hlo_parse_peek(p) == '<')
      TT_RETURN_IF_ERROR(tt_hlo_parse_skip_brackets(p, &has_alias));
    if (!tt_hlo_parse_take(p, '(') && !tt_hlo_parse_take(p, '['))
      return tt_hlo_parse_expected(p, "'(' or '['");
  }
  if (tt_hlo_parse_take_word(p, "unknown") || tt_hlo_parse_peek(p) == ']')
    return NULL;
  if (tt_hlo_parse_peek(p) == '"')
    return parse_place_text(p, &out_place->text);
  const char *at = p->at;
  tt_hlo_slice name = {0};
  if (!tt_hlo_parse_take(p, '#'))
    return tt_hlo_parse_expected(p, "a location");
  TT_RETURN_IF_ERROR(tt_hlo_parse_suffix(p, "a name behind #", &name));
  return tt_hlo_parse_alias(p, (tt_hlo_slice){at, name.size + 1}, &out_place->to);
}

tt_error *tt_hlo_parse_location(tt_hlo_parser *p, tt_hlo_place *out_place) {
  bool has_alias = false;
  *out_place = (tt_hlo_place){0};
  if (tt_hlo_parse_peek(p) != '(')
    return tt_hlo_parse_expected(p, "'('");
  const char *open = p->at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_skip_brackets(p, &has_alias));
  const char *behind = p->at;
  p->at = open + 1;
  TT_RETURN_IF_ERROR(parse_place(p, out_place));
  if (p->at >= behind)
    return tt_hlo_parse_expected(p, "a location that ends with its bracket");
  p->at = behind;
  return NULL;
}

tt_error *tt_hlo_parse_some_location(tt_hlo_parser *p, tt_hlo_place *out_place) {
  *out_place = (tt_hlo_place){0};
  return tt_hlo_parse_take_word(p, "loc") ? tt_hlo_parse_location(p, out_place) : NULL;
}

/* Aliases may name one another in a circle. */
static const char *settle(tt_hlo_place place) {
  enum { STEPS_MAX = 64 };
  for (int i = 0; i < STEPS_MAX && place.text == NULL && place.to != NULL; i++)
    place = place.to->place;
  return place.text;
}

void tt_hlo_parse_set_location(tt_hlo_parser *p, tt_hlo_op *op, tt_hlo_place place) {
  tt_hlo_parse_later later = {op, place.to};
  op->location = settle(place);
  if (op->location == NULL && place.to != NULL)
    tt_bytes_append(&p->later, &later, sizeof later);
}

void tt_hlo_parse_settle_locations(tt_hlo_parser *p) {
  const tt_hlo_parse_later *later = (const void *)p->later.data;
  size_t count = p->later.size / sizeof *later;
  for (size_t i = 0; i < count; i++)
    later[i].op->location = settle((tt_hlo_place){NULL, later[i].alias});
}
