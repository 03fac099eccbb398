/* Meshes and shardings as text, in Shardy's words. The text may come from anywhere. */
#include "cpu/sharding.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/passes/edit.h"

enum { AXES_MAX = 32, USES_MAX = 64 };

/* A part of an axis that divides something: of the axis's digits those that count from `begin` to
 * `end`, as products of the sizes before them. */
typedef struct use {
  size_t axis;
  int64_t begin, end;
} use;

typedef struct slice {
  const char *text;
  size_t size;
} slice;

/* A part of an axis by its name, as products of the sizes before it and of its own; 0: all of it.
 */
typedef struct axis_ref {
  slice name;
  int64_t before, size;
} axis_ref;

/* Devices in the order of the axes, the last one changing fastest. */
typedef struct mesh {
  size_t axes_count;
  slice names[AXES_MAX];
  int64_t sizes[AXES_MAX], strides[AXES_MAX];
  int64_t count;
  const int64_t *places; /* [count] of a device among them; NULL: its own number */
  int64_t only;          /* the device, where there are no axes */
  size_t uses_count;     /* by the sharding that is read */
  use uses[USES_MAX];
} mesh;

static tt_error *malformed(const char *at, const char *what) {
  return tt_error_new(TT_INVALID_ARGUMENT, "sharding: expected %s at '%.40s'", what, at);
}

static const char *skip(const char *at) {
  while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
    at++;
  return at;
}

static bool take(const char **at, const char *word) {
  *at = skip(*at);
  size_t size = strlen(word);
  if (strncmp(*at, word, size) != 0)
    return false;
  *at += size;
  return true;
}

static tt_error *expect(const char **at, const char *word) {
  return take(at, word) ? NULL : malformed(*at, word);
}

/* What is between quotes, as it stands. */
static tt_error *take_name(const char **at, slice *out_name) {
  TT_RETURN_IF_ERROR(expect(at, "\""));
  const char *end = *at;
  while (*end != '"' && *end != '\0')
    end += *end == '\\' && end[1] != '\0' ? 2 : 1;
  *out_name = (slice){*at, (size_t)(end - *at)};
  *at = end;
  return expect(at, "\"");
}

static tt_error *take_number(const char **at, int64_t *out_number) {
  int64_t number = 0;
  *at = skip(*at);
  const char *start = *at;
  while (**at >= '0' && **at <= '9' && number < INT32_MAX)
    number = number * 10 + *(*at)++ - '0';
  *out_number = number;
  return *at == start || number >= INT32_MAX ? malformed(start, "a number") : NULL;
}

/* Behind the bracket that closes the one before `*at`. */
static tt_error *skip_rest(const char **at) {
  slice name;
  for (int depth = 1; depth > 0;) {
    if (**at == '\0')
      return malformed(*at, "a closing bracket");
    if (**at == '"') {
      TT_RETURN_IF_ERROR(take_name(at, &name));
      continue;
    }
    depth += strchr("<[{(", **at) != NULL ? 1 : strchr(">]})", **at) != NULL ? -1 : 0;
    ++*at;
  }
  return NULL;
}

static bool same(slice a, slice b) {
  return a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
}

/* ---- meshes ---- */

/* Behind `dense<`: numbers in brackets or one alone, or all as bytes in hex. */
static tt_error *take_dense(const char **at, int64_t *ids, size_t count) {
  bool hex = take(at, "\"0x") || take(at, "\"0X");
  for (size_t i = 0; i < count; i++) {
    while (!hex && (take(at, "[") || take(at, "]") || take(at, ",")))
      continue;
    if (!hex)
      TT_RETURN_IF_ERROR(take_number(at, &ids[i]));
    for (unsigned k = 0; hex && k < 16; k++, ++*at) {
      unsigned c = (unsigned char)**at,
               digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
      if (digit > 15)
        return malformed(*at, "16 hex digits");
      ids[i] |= (int64_t)((uint64_t)digit << (4 * (k ^ 1)));
    }
  }
  while (take(at, "]"))
    continue;
  return hex && !take(at, "\"") ? malformed(*at, "\"") : expect(at, ">");
}

/* `[1, 0]`, which may be a tensor's elements. */
static tt_error *take_ids(const char **at, int64_t *ids, size_t count) {
  if (take(at, "dense<"))
    return take_dense(at, ids, count);
  TT_RETURN_IF_ERROR(expect(at, "["));
  for (size_t i = 0; i < count; i++) {
    if (i > 0)
      TT_RETURN_IF_ERROR(expect(at, ","));
    TT_RETURN_IF_ERROR(take_number(at, &ids[i]));
  }
  return expect(at, "]");
}

/* Where each device stands. */
static tt_error *take_places(tt_arena *arena, const char **at, mesh *m) {
  size_t count = (size_t)m->count;
  int64_t *ids = tt_arena_array(arena, count, sizeof *ids);
  int64_t *places = tt_arena_array(arena, count, sizeof *places);
  if (ids == NULL || places == NULL)
    return tt_error_no_memory(count * sizeof *places);
  TT_RETURN_IF_ERROR(take_ids(at, ids, count));
  m->only = ids[0];
  if (m->axes_count == 0)
    return NULL;
  for (size_t i = 0; i < count; i++)
    places[i] = -1;
  for (size_t i = 0; i < count; i++) {
    if (ids[i] < 0 || ids[i] >= m->count || places[ids[i]] >= 0)
      return tt_error_new(TT_INVALID_ARGUMENT, "mesh: device %lld of %lld, or twice",
                          (long long)ids[i], (long long)m->count);
    places[ids[i]] = (int64_t)i;
  }
  m->places = places;
  return NULL;
}

/* `"x"=2` or, in StableHLO's words, `#stablehlo.mesh_axis<name = "x", size = 2>`. */
static tt_error *take_mesh_axis(const char **at, slice *out_name, int64_t *out_size) {
  bool long_form = take(at, "#stablehlo.mesh_axis<");
  if (long_form) {
    TT_RETURN_IF_ERROR(expect(at, "name"));
    TT_RETURN_IF_ERROR(expect(at, "="));
  }
  TT_RETURN_IF_ERROR(take_name(at, out_name));
  if (long_form) {
    TT_RETURN_IF_ERROR(expect(at, ","));
    TT_RETURN_IF_ERROR(expect(at, "size"));
  }
  TT_RETURN_IF_ERROR(expect(at, "="));
  TT_RETURN_IF_ERROR(take_number(at, out_size));
  return long_form ? expect(at, ">") : NULL;
}

static tt_error *take_axes(const char **at, mesh *m) {
  TT_RETURN_IF_ERROR(expect(at, "["));
  m->count = 1;
  for (; !take(at, "]"); m->axes_count++) {
    size_t i = m->axes_count;
    if (i == AXES_MAX)
      return tt_error_new(TT_UNIMPLEMENTED, "mesh: more than %d axes", AXES_MAX);
    if (i > 0)
      TT_RETURN_IF_ERROR(expect(at, ","));
    TT_RETURN_IF_ERROR(take_mesh_axis(at, &m->names[i], &m->sizes[i]));
    if (m->sizes[i] < 1 || m->count > (1 << 20) / m->sizes[i])
      return tt_error_new(TT_INVALID_ARGUMENT, "mesh: axis %zu has size %lld", i,
                          (long long)m->sizes[i]);
    m->count *= m->sizes[i];
  }
  return NULL;
}

/* `<["x"=2, "y"=4], device_ids=[...]>`, or `<axes = [...], device_ids = dense<...>>`. One without
 * axes is one device, and divides nothing. */
static tt_error *take_mesh(const tt_cpu_sharding_reader *reader, const char **at, mesh *m) {
  *m = (mesh){0};
  TT_RETURN_IF_ERROR(expect(at, "<"));
  if (take(at, "axes"))
    TT_RETURN_IF_ERROR(expect(at, "="));
  TT_RETURN_IF_ERROR(take_axes(at, m));
  if (m->axes_count > 0 && reader->partitions > 0 && m->count != reader->partitions)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "a mesh of %lld devices in a program of %lld partitions",
                        (long long)m->count, (long long)reader->partitions);
  for (size_t i = m->axes_count, stride = 1; i-- > 0;) {
    m->strides[i] = (int64_t)stride;
    stride *= (size_t)m->sizes[i];
  }
  if (take(at, ",")) {
    TT_RETURN_IF_ERROR(expect(at, "device_ids"));
    TT_RETURN_IF_ERROR(expect(at, "="));
    TT_RETURN_IF_ERROR(take_places(reader->arena, at, m));
  }
  return skip_rest(at);
}

static bool symbol_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '.' || c == '-';
}

/* `@mesh`, or the mesh itself. */
static tt_error *find_mesh(const tt_cpu_sharding_reader *reader, const char **at, mesh *m) {
  slice name = {0};
  if (take(at, "mesh") || take(at, "#stablehlo.mesh"))
    return take_mesh(reader, at, m);
  TT_RETURN_IF_ERROR(expect(at, "@"));
  if (**at == '"') {
    TT_RETURN_IF_ERROR(take_name(at, &name));
  } else {
    name.text = *at;
    while (symbol_char(**at))
      ++*at;
    name.size = (size_t)(*at - name.text);
  }
  for (const tt_hlo_mesh *found = reader->module->meshes; found != NULL; found = found->next)
    if (same(name, (slice){found->name, strlen(found->name)})) {
      const char *text = found->text;
      return take_mesh(reader, &text, m);
    }
  return tt_error_new(TT_INVALID_ARGUMENT, "sharding: no mesh is named @%.*s",
                      name.size > 100 ? 100 : (int)name.size, name.text);
}

/* ---- shardings ---- */

/* Is it one of `{"x", "y"}`? */
static bool listed(const char *axes, slice name) {
  slice item = {0};
  if (axes == NULL)
    return true;
  const char *at = strchr(axes, '{');
  if (at == NULL)
    return false;
  for (at++; *skip(at) == '"';) {
    tt_error *err = take_name(&at, &item);
    if (err != NULL) {
      tt_error_free(err);
      return false;
    }
    if (same(item, name))
      return true;
    take(&at, ",");
  }
  return false;
}

/* No two dims, nor one dim twice, are divided along the same part of an axis. */
static tt_error *use_axis(mesh *m, size_t axis, int64_t begin, int64_t size) {
  if (size == 1)
    return NULL;
  for (size_t i = 0; i < m->uses_count; i++) {
    const use *u = &m->uses[i];
    if (u->axis == axis && begin < u->end && u->begin < begin * size)
      return tt_error_new(TT_INVALID_ARGUMENT, "sharding: axis \"%.*s\" is used twice",
                          m->names[axis].size > 100 ? 100 : (int)m->names[axis].size,
                          m->names[axis].text);
  }
  /* Each divides what the others leave of the devices. */
  assert(m->uses_count < TT_COUNT(m->uses));
  m->uses[m->uses_count++] = (use){axis, begin, begin * size};
  return NULL;
}

/* `(2)4` */
static tt_error *take_part(const char **at, axis_ref *ref) {
  const char *start = *at;
  TT_RETURN_IF_ERROR(expect(at, "("));
  TT_RETURN_IF_ERROR(take_number(at, &ref->before));
  TT_RETURN_IF_ERROR(expect(at, ")"));
  TT_RETURN_IF_ERROR(take_number(at, &ref->size));
  return ref->size < 1 ? malformed(start, "a size above 0") : NULL;
}

/* `"x"` or `"x":(2)4` */
static tt_error *take_ref(const char **at, axis_ref *ref) {
  *ref = (axis_ref){.before = 1};
  TT_RETURN_IF_ERROR(take_name(at, &ref->name));
  return take(at, ":") ? take_part(at, ref) : NULL;
}

/* The index of each device grows by its digit in that part of the axis. */
static tt_error *add_axis(const tt_cpu_sharding_reader *reader, mesh *m, const axis_ref *ref,
                          int64_t *parts, int64_t *index) {
  slice name = ref->name;
  size_t i = 0;
  while (i < m->axes_count && !same(m->names[i], name))
    i++;
  if (i == m->axes_count)
    return tt_error_new(TT_INVALID_ARGUMENT, "sharding: the mesh has no axis \"%.*s\"",
                        name.size > 100 ? 100 : (int)name.size, name.text);
  int64_t size = ref->size == 0 ? m->sizes[i] : ref->size, before = ref->before;
  if (before < 1 || m->sizes[i] % (before * size) != 0)
    return tt_error_new(TT_INVALID_ARGUMENT, "sharding: (%lld)%lld is no part of an axis of %lld",
                        (long long)before, (long long)size, (long long)m->sizes[i]);
  TT_RETURN_IF_ERROR(use_axis(m, i, before, size));
  if (!listed(reader->axes, name))
    return NULL;
  if (*parts > reader->partitions / size)
    return tt_error_new(TT_INVALID_ARGUMENT, "sharding: more parts than partitions");
  int64_t stride = m->strides[i] * (m->sizes[i] / (before * size));
  *parts *= size;
  for (int64_t p = 0; p < reader->partitions; p++) {
    int64_t place = m->places == NULL ? p : m->places[p];
    index[p] = index[p] * size + place / stride % size;
  }
  return NULL;
}

/* `{"x", "y", ?}p1` */
static tt_error *take_dim(const tt_cpu_sharding_reader *reader, mesh *m, const char **at,
                          int64_t *parts, int64_t *index) {
  int64_t priority = 0;
  TT_RETURN_IF_ERROR(expect(at, "{"));
  for (bool first = true; !take(at, "}"); first = false) {
    if (!first)
      TT_RETURN_IF_ERROR(expect(at, ","));
    axis_ref ref;
    if (take(at, "?"))
      continue;
    TT_RETURN_IF_ERROR(take_ref(at, &ref));
    TT_RETURN_IF_ERROR(add_axis(reader, m, &ref, parts, index));
  }
  return **at == 'p' ? (++*at, take_number(at, &priority)) : NULL;
}

tt_error *tt_cpu_sharding_read(const tt_cpu_sharding_reader *reader, int32_t rank,
                               const char **text, tt_cpu_sharding *out_sharding) {
  size_t dims = (size_t)rank, devices = (size_t)reader->partitions;
  mesh m;
  int64_t *parts = tt_arena_array(reader->arena, dims, sizeof *parts);
  int64_t *index = tt_arena_array(reader->arena, dims * devices, sizeof *index);
  if (parts == NULL || index == NULL)
    return tt_error_no_memory(dims * devices * sizeof *index);
  *out_sharding = (tt_cpu_sharding){rank, reader->partitions, parts, index};
  for (size_t d = 0; d < dims; d++)
    parts[d] = 1;
  if (*text == NULL)
    return NULL;
  take(text, "#sdy.sharding");
  TT_RETURN_IF_ERROR(expect(text, "<"));
  TT_RETURN_IF_ERROR(find_mesh(reader, text, &m));
  TT_RETURN_IF_ERROR(expect(text, ","));
  TT_RETURN_IF_ERROR(expect(text, "["));
  for (size_t d = 0; d < dims; d++) {
    if (d > 0)
      TT_RETURN_IF_ERROR(expect(text, ","));
    TT_RETURN_IF_ERROR(take_dim(reader, &m, text, &parts[d], index + d * devices));
  }
  TT_RETURN_IF_ERROR(expect(text, "]"));
  return skip_rest(text);
}

bool tt_cpu_sharding_next(const char **text, bool first) {
  if (!first)
    return take(text, ",");
  take(text, "#sdy.sharding_per_value");
  take(text, "<");
  take(text, "[");
  *text = skip(*text);
  return **text != ']' && **text != '\0';
}

bool tt_cpu_sharding_equal(const tt_cpu_sharding *a, const tt_cpu_sharding *b) {
  size_t rank = (size_t)a->rank, count = rank * (size_t)a->partitions;
  return a->rank == b->rank && memcmp(a->parts, b->parts, rank * sizeof *a->parts) == 0 &&
         memcmp(a->index, b->index, count * sizeof *a->index) == 0;
}

bool tt_cpu_sharding_divides(const tt_cpu_sharding *sharding) {
  for (int32_t d = 0; d < sharding->rank; d++)
    if (sharding->parts[d] > 1)
      return true;
  return false;
}

/* Does device `a` have part `want`, as a number over all dims, the last fastest? */
static bool has_part(const tt_cpu_sharding *s, int64_t a, int64_t want) {
  for (int32_t d = s->rank; d-- > 0; want /= s->parts[d])
    if (s->index[d * s->partitions + a] != want % s->parts[d])
      return false;
  return true;
}

/* Devices that have the same part stand along one more dim. */
void tt_cpu_sharding_print(const tt_cpu_sharding *s, tt_bytes *out_text) {
  int64_t parts = 1;
  bool first = true;
  if (!tt_cpu_sharding_divides(s)) {
    tt_bytes_text(out_text, "{replicated}");
    return;
  }
  tt_bytes_text(out_text, "{devices=[");
  for (int32_t d = 0; d < s->rank; d++) {
    tt_bytes_printf(out_text, d == 0 ? "%lld" : ",%lld", (long long)s->parts[d]);
    parts *= s->parts[d];
  }
  if (parts < s->partitions)
    tt_bytes_printf(out_text, ",%lld", (long long)(s->partitions / parts));
  tt_bytes_char(out_text, ']');
  for (int64_t k = 0; k < parts; k++)
    for (int64_t device = 0; device < s->partitions; device++)
      if (has_part(s, device, k)) {
        tt_bytes_printf(out_text, first ? "%lld" : ",%lld", (long long)device);
        first = false;
      }
  tt_bytes_text(out_text, parts < s->partitions ? " last_tile_dim_replicate}" : "}");
}

/* ---- groups of devices ---- */

/* `#stablehlo.axis_ref<name = "x", sub_axis_info = (2)4>` */
static tt_error *take_group_axis(const char **at, axis_ref *ref) {
  *ref = (axis_ref){.before = 1};
  TT_RETURN_IF_ERROR(expect(at, "#stablehlo.axis_ref<"));
  TT_RETURN_IF_ERROR(expect(at, "name"));
  TT_RETURN_IF_ERROR(expect(at, "="));
  TT_RETURN_IF_ERROR(take_name(at, &ref->name));
  if (take(at, ",")) {
    TT_RETURN_IF_ERROR(expect(at, "sub_axis_info"));
    TT_RETURN_IF_ERROR(expect(at, "="));
    TT_RETURN_IF_ERROR(take_part(at, ref));
  }
  return expect(at, ">");
}

/* The place of the first member of the group of who stands at `place`. */
static int64_t first_of(const mesh *m, int64_t place) {
  int64_t first = place;
  for (size_t i = 0; i < m->uses_count; i++) {
    const use *u = &m->uses[i];
    int64_t stride = m->strides[u->axis] * (m->sizes[u->axis] / u->end);
    first -= place / stride % (u->end / u->begin) * stride;
  }
  return first;
}

/* Members in the order of the axes that groups go along, groups in the order of the mesh. */
static void fill_groups(const mesh *m, int64_t columns, const int64_t *index, int64_t *rows,
                        int64_t *items) {
  int64_t count = 0;
  for (int64_t place = 0; place < m->count; place++)
    if (first_of(m, place) == place)
      rows[place] = count++;
  for (int64_t device = 0; device < m->count; device++) {
    int64_t place = m->places == NULL ? device : m->places[device];
    items[rows[first_of(m, place)] * columns + index[device]] = device;
  }
  if (m->axes_count == 0)
    items[0] = m->only;
}

static tt_error *resolve_groups(const tt_hlo_module *module, tt_arena *arena, tt_hlo_attr *groups) {
  tt_cpu_sharding_reader reader = {.arena = arena, .module = module};
  const char *at = groups->text;
  axis_ref ref;
  mesh m;
  int64_t columns = 1;
  TT_RETURN_IF_ERROR(expect(&at, "#stablehlo.replica_group_mesh_axes<"));
  TT_RETURN_IF_ERROR(expect(&at, "mesh"));
  TT_RETURN_IF_ERROR(expect(&at, "="));
  TT_RETURN_IF_ERROR(find_mesh(&reader, &at, &m));
  reader.partitions = m.count;
  size_t count = (size_t)m.count;
  int64_t *memory = tt_arena_array(arena, 3 * count, sizeof *memory);
  if (memory == NULL)
    return tt_error_no_memory(3 * count * sizeof *memory);
  TT_RETURN_IF_ERROR(expect(&at, ","));
  TT_RETURN_IF_ERROR(expect(&at, "axes"));
  TT_RETURN_IF_ERROR(expect(&at, "="));
  TT_RETURN_IF_ERROR(expect(&at, "["));
  for (bool first = true; !take(&at, "]"); first = false) {
    if (!first)
      TT_RETURN_IF_ERROR(expect(&at, ","));
    TT_RETURN_IF_ERROR(take_group_axis(&at, &ref));
    TT_RETURN_IF_ERROR(add_axis(&reader, &m, &ref, &columns, memory));
  }
  TT_RETURN_IF_ERROR(expect(&at, ">"));
  fill_groups(&m, columns, memory, memory + count, memory + 2 * count);
  groups->kind = TT_HLO_ATTR_MATRIX;
  groups->i64s = (tt_hlo_list){count, memory + 2 * count};
  groups->columns = columns;
  return NULL;
}

static tt_error *resolve_region(tt_hlo_module *module, tt_hlo_region *region) {
  for (tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    tt_hlo_attr *groups = tt_cpu_find_attr(op, TT_HLO_REPLICA_GROUPS);
    if (tt_hlo_groups_are_axes(groups)) {
      tt_error *err = resolve_groups(module, &module->arena, groups);
      if (err != NULL)
        return tt_error_wrap_take(err, "%s: replica_groups", tt_hlo_ops[op->code].mnemonic);
    }
    for (uint32_t i = 0; i < op->regions_count; i++)
      TT_RETURN_IF_ERROR(resolve_region(module, op->regions[i]));
  }
  return NULL;
}

tt_error *tt_cpu_groups_resolve(tt_hlo_module *module) {
  for (tt_hlo_func *func = module->funcs; func != NULL; func = func->next)
    TT_RETURN_IF_ERROR(resolve_region(module, func->body));
  return NULL;
}
