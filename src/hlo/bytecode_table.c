/* The tables of a bytecode file: strings, dialects, names of operations, where attributes, types
 * and properties stand. */
#include "hlo/bytecode_internal.h"

#include <string.h>

static const uint8_t magic[4] = {'M', 'L', 0xEF, 'R'};

bool tt_hlo_is_bytecode(const void *data, size_t size) {
  return size >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

static tt_error *new_table(tt_hlo_bc *r, size_t count, size_t size, void *out_table) {
  void *table = tt_arena_array(&r->scratch, count, size);
  memcpy(out_table, &table, sizeof table);
  return table != NULL ? NULL : tt_error_no_memory(size * count);
}

/* Version, and a producer that says nothing which the names of the operations do not. */
static tt_error *read_header(tt_hlo_bc *r, tt_hlo_bc_span *s) {
  s->at += sizeof magic;
  const uint8_t *at = s->at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &r->version));
  TT_HLO_BC_CHECK(r->version <= TT_HLO_BC_VERSION_MAX, r, at,
                  "bytecode version %llu, the newest known is %d", (unsigned long long)r->version,
                  TT_HLO_BC_VERSION_MAX);
  const uint8_t *nul = memchr(s->at, 0, tt_hlo_bc_left(s));
  TT_HLO_BC_CHECK(nul != NULL, r, s->at, "the producer's name does not end");
  s->at = nul + 1;
  return NULL;
}

static tt_error *read_sections(tt_hlo_bc *r, tt_hlo_bc_span *s) {
  static const struct {
    tt_hlo_bc_section id;
    const char *name;
  } needed[] = {{TT_HLO_BC_STRING, "string"},
                {TT_HLO_BC_DIALECT, "dialect"},
                {TT_HLO_BC_ATTR_TYPE, "attribute"},
                {TT_HLO_BC_ATTR_TYPE_OFFSET, "attribute offset"},
                {TT_HLO_BC_IR, "IR"}};
  while (s->at < s->end) {
    unsigned id = 0;
    tt_hlo_bc_span body = {0};
    const uint8_t *at = s->at;
    TT_RETURN_IF_ERROR(tt_hlo_bc_section_read(r, s, &id, &body));
    TT_RETURN_IF_ERROR(tt_hlo_bc_check_index(r, at, "section", TT_HLO_BC_SECTION_COUNT, id));
    TT_HLO_BC_CHECK(r->sections[id].at == NULL, r, at, "section %u is there twice", id);
    r->sections[id] = body;
  }
  for (size_t i = 0; i < TT_COUNT(needed); i++)
    TT_HLO_BC_CHECK(r->sections[needed[i].id].at != NULL, r, r->data + r->size,
                    "there is no %s section", needed[i].name);
  return NULL;
}

/* Sizes stand in reverse, each with its NUL. */
static tt_error *read_strings(tt_hlo_bc *r) {
  tt_hlo_bc_span s = r->sections[TT_HLO_BC_STRING];
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, &s, "strings", &r->strings_count));
  TT_RETURN_IF_ERROR(new_table(r, r->strings_count, sizeof *r->strings, &r->strings));
  uint64_t sum = 0;
  for (size_t i = r->strings_count; i-- > 0;) {
    uint64_t size = 0;
    const uint8_t *at = s.at;
    TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, &s, &size));
    TT_HLO_BC_CHECK(size > 0 && size <= r->size, r, at, "a string of %llu bytes",
                    (unsigned long long)size);
    r->strings[i].size = (size_t)size - 1;
    sum += size; /* no more than a byte of input for each `size` of at most the input */
    TT_HLO_BC_CHECK(sum <= r->size, r, at, "strings of %llu bytes and more",
                    (unsigned long long)sum);
  }
  TT_HLO_BC_CHECK(sum == tt_hlo_bc_left(&s), r, s.at, "strings of %llu bytes in %zu",
                  (unsigned long long)sum, tt_hlo_bc_left(&s));
  const char *copy = tt_arena_copy(r->arena, s.at, tt_hlo_bc_left(&s));
  if (copy == NULL)
    return tt_error_no_memory((size_t)sum);
  for (size_t i = 0, at = 0; i < r->strings_count; at += r->strings[i++].size + 1) {
    r->strings[i].text = copy + at;
    TT_HLO_BC_CHECK(copy[at + r->strings[i].size] == '\0', r, s.at + at, "string %zu has no end",
                    i);
    r->strings[i].whole = memchr(copy + at, '\0', r->strings[i].size) == NULL;
  }
  return NULL;
}

/* A string's text; names with a NUL inside compare unequal to all that the reader knows. */
static tt_error *read_name(tt_hlo_bc *r, tt_hlo_bc_span *s, bool flagged, const char **out_name,
                           bool *out_flag) {
  uint64_t index = 0;
  const uint8_t *at = s->at;
  if (flagged)
    TT_RETURN_IF_ERROR(tt_hlo_bc_flagged(r, s, &index, out_flag));
  else
    TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, s, &index));
  TT_RETURN_IF_ERROR(tt_hlo_bc_check_index(r, at, "string", r->strings_count, index));
  *out_name = r->strings[index].text;
  return NULL;
}

static tt_error *read_dialect(tt_hlo_bc *r, tt_hlo_bc_span *s, size_t i) {
  bool versioned = false;
  unsigned id = 0;
  tt_hlo_bc_span version = {0};
  TT_RETURN_IF_ERROR(read_name(r, s, r->version >= 1, &r->dialects[i], &versioned));
  if (!versioned)
    return NULL;
  const uint8_t *at = s->at;
  TT_RETURN_IF_ERROR(tt_hlo_bc_section_read(r, s, &id, &version));
  TT_HLO_BC_CHECK(id == TT_HLO_BC_DIALECT_VERSIONS, r, at, "section %u for a dialect's version",
                  id);
  return NULL;
}

/* Groups of a dialect and its operations, up to the section's end. Before version 4 nothing says
 * how many there are. */
static tt_error *read_op_names(tt_hlo_bc *r, tt_hlo_bc_span *s) {
  size_t total = tt_hlo_bc_left(s);
  if (r->version >= 4)
    TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, s, "operations", &total));
  TT_RETURN_IF_ERROR(new_table(r, total, sizeof *r->names, &r->names));
  while (s->at < s->end) {
    uint32_t dialect = 0;
    size_t count = 0;
    const uint8_t *at = s->at;
    TT_RETURN_IF_ERROR(tt_hlo_bc_index(r, s, "dialect", r->dialects_count, &dialect));
    TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, s, "operations", &count));
    TT_HLO_BC_CHECK(count <= total - r->names_count, r, at, "more than %zu operations", total);
    for (size_t i = 0; i < count; i++) {
      const char *name = NULL;
      bool registered = false;
      TT_RETURN_IF_ERROR(read_name(r, s, r->version >= 5, &name, &registered));
      tt_hlo_bc_find_name(r->dialects[dialect], name, &r->names[r->names_count++]);
    }
  }
  return NULL;
}

static tt_error *read_dialects(tt_hlo_bc *r) {
  tt_hlo_bc_span s = r->sections[TT_HLO_BC_DIALECT];
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, &s, "dialects", &r->dialects_count));
  TT_RETURN_IF_ERROR(new_table(r, r->dialects_count, sizeof *r->dialects, &r->dialects));
  for (size_t i = 0; i < r->dialects_count; i++)
    TT_RETURN_IF_ERROR(read_dialect(r, &s, i));
  return read_op_names(r, &s);
}

static tt_hlo_bc_dialect dialect_of(const char *name) {
  return strcmp(name, "vhlo") == 0      ? TT_HLO_BC_VHLO
         : strcmp(name, "builtin") == 0 ? TT_HLO_BC_BUILTIN
         : strcmp(name, "sdy") == 0     ? TT_HLO_BC_SDY
                                        : TT_HLO_BC_OTHER;
}

/* Sizes in groups of one dialect; the entries themselves follow each other in `data`. */
static tt_error *read_offsets(tt_hlo_bc *r, tt_hlo_bc_span *s, tt_hlo_bc_span *data,
                              tt_hlo_bc_entry *entries, size_t total) {
  for (size_t done = 0; done < total;) {
    uint32_t dialect = 0;
    size_t count = 0;
    const uint8_t *at = s->at;
    TT_RETURN_IF_ERROR(tt_hlo_bc_index(r, s, "dialect", r->dialects_count, &dialect));
    TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, s, "entries", &count));
    TT_HLO_BC_CHECK(count > 0 && count <= total - done, r, at, "%zu entries where %zu are left",
                    count, total - done);
    uint8_t known = (uint8_t)dialect_of(r->dialects[dialect]);
    for (size_t i = 0; i < count; i++, done++) {
      uint64_t size = 0;
      TT_RETURN_IF_ERROR(tt_hlo_bc_flagged(r, s, &size, &entries[done].custom));
      entries[done].dialect = known;
      TT_RETURN_IF_ERROR(
          tt_hlo_bc_take(r, data, size, "an attribute or type", &entries[done].span));
    }
  }
  return NULL;
}

static tt_error *read_entries(tt_hlo_bc *r) {
  tt_hlo_bc_span s = r->sections[TT_HLO_BC_ATTR_TYPE_OFFSET];
  tt_hlo_bc_span data = r->sections[TT_HLO_BC_ATTR_TYPE];
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, &s, "attributes", &r->attrs_count));
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, &s, "types", &r->types_count));
  TT_RETURN_IF_ERROR(new_table(r, r->attrs_count, sizeof *r->attrs, &r->attrs));
  TT_RETURN_IF_ERROR(new_table(r, r->types_count, sizeof *r->types, &r->types));
  TT_RETURN_IF_ERROR(read_offsets(r, &s, &data, r->attrs, r->attrs_count));
  TT_RETURN_IF_ERROR(read_offsets(r, &s, &data, r->types, r->types_count));
  TT_RETURN_IF_ERROR(tt_hlo_bc_end(r, &s, "the offset section"));
  return tt_hlo_bc_end(r, &data, "the attribute section");
}

static tt_error *read_properties(tt_hlo_bc *r) {
  tt_hlo_bc_span s = r->sections[TT_HLO_BC_PROPERTIES];
  if (s.at == NULL)
    return NULL;
  TT_RETURN_IF_ERROR(tt_hlo_bc_count(r, &s, "properties", &r->properties_count));
  TT_RETURN_IF_ERROR(new_table(r, r->properties_count, sizeof *r->properties, &r->properties));
  for (size_t i = 0; i < r->properties_count; i++) {
    uint64_t size = 0;
    TT_RETURN_IF_ERROR(tt_hlo_bc_varint(r, &s, &size));
    TT_RETURN_IF_ERROR(tt_hlo_bc_take(r, &s, size, "properties", &r->properties[i]));
  }
  return tt_hlo_bc_end(r, &s, "the properties section");
}

/* Resources are not looked at: an attribute that refers to one is UNIMPLEMENTED where an operation
 * uses it. */
tt_error *tt_hlo_bc_read_tables(tt_hlo_bc *r) {
  TT_HLO_BC_CHECK(tt_hlo_is_bytecode(r->data, r->size), r, r->data, "no MLIR bytecode");
  tt_hlo_bc_span s = {r->data, r->data + r->size};
  TT_RETURN_IF_ERROR(read_header(r, &s));
  TT_RETURN_IF_ERROR(read_sections(r, &s));
  TT_RETURN_IF_ERROR(read_strings(r));
  TT_RETURN_IF_ERROR(read_dialects(r));
  TT_RETURN_IF_ERROR(read_entries(r));
  return read_properties(r);
}
