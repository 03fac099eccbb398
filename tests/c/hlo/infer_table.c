#include "infer_table.h"

#include <stdio.h>
#include <string.h>

static uint32_t count_words(const char *text) {
  uint32_t count = 0;
  for (const char *c = text; c != NULL && *c != '\0'; c++)
    count += *c != ' ' && (c == text || c[-1] == ' ');
  return count;
}

static tt_dtype find_dtype(const char *name, size_t size) {
  for (int i = 0; i < TT_DTYPE_COUNT; i++)
    if (strlen(tt_dtypes[i].name) == size && memcmp(tt_dtypes[i].name, name, size) == 0)
      return (tt_dtype)i;
  fprintf(stderr, "infer_table: no dtype %.*s\n", (int)size, name);
  abort();
}

/* Reads one word of `*text` and moves it on. */
static bool read_type(tt_arena *arena, const char **text, tt_hlo_type *out_type) {
  const char *c = *text + strspn(*text, " ");
  size_t size = strcspn(c, " ");
  *text = c + size;
  memset(out_type, 0, sizeof *out_type);
  out_type->token = size == 5 && memcmp(c, "token", 5) == 0;
  if (out_type->token)
    return true;
  const char *end = c + size;
  int64_t *dims = tt_arena_array(arena, size, sizeof *dims);
  if (dims == NULL)
    return false;
  out_type->dims = dims;
  while (*c == '?' || *c == '-' || (*c >= '0' && *c <= '9')) {
    char *after = NULL;
    dims[out_type->rank++] = *c == '?' ? TT_HLO_DYNAMIC : strtoll(c, &after, 10);
    c = (*c == '?' ? c + 1 : after) + 1;
  }
  out_type->dtype = find_dtype(c, (size_t)(end - c));
  return true;
}

static tt_hlo_value *make_values(tt_arena *arena, const char *types, uint32_t count) {
  tt_hlo_value *values = tt_arena_array(arena, count, sizeof *values);
  for (uint32_t i = 0; values != NULL && i < count; i++) {
    values[i].index = i;
    if (types != NULL && !read_type(arena, &types, &values[i].type))
      return NULL;
  }
  return values;
}

static tt_hlo_value **make_operands(tt_arena *arena, const char *types, uint32_t count) {
  tt_hlo_value *values = make_values(arena, types, count);
  tt_hlo_value **operands = tt_arena_array(arena, count, sizeof *operands);
  if (values == NULL || operands == NULL)
    return NULL;
  for (uint32_t i = 0; i < count; i++)
    operands[i] = &values[i];
  return operands;
}

/* A region that holds a return alone. */
static tt_hlo_region *make_region(tt_arena *arena, const char *text) {
  char args[128] = {0};
  const char *arrow = strstr(text, "->");
  tt_hlo_region *region = tt_arena_alloc(arena, sizeof *region);
  tt_hlo_op *end = tt_arena_alloc(arena, sizeof *end);
  if (region == NULL || end == NULL)
    return NULL;
  memcpy(args, text, (size_t)(arrow - text));
  region->args_count = count_words(args);
  region->args = make_values(arena, args, region->args_count);
  end->code = TT_HLO_RETURN;
  end->parent = region;
  end->operands_count = count_words(arrow + 2);
  end->operands = make_operands(arena, arrow + 2, end->operands_count);
  region->first = region->last = end;
  return region->args == NULL || end->operands == NULL ? NULL : region;
}

static uint32_t results_of(const infer_row *row) {
  if (row->results > 0)
    return row->results;
  if (row->given != NULL)
    return count_words(row->given);
  if (tt_hlo_ops[row->code].results >= 0)
    return (uint32_t)tt_hlo_ops[row->code].results;
  return row->want[0] == '!' ? 1 : count_words(row->want);
}

tt_hlo_op *make_op(tt_arena *arena, const infer_row *row) {
  tt_hlo_op *op = tt_arena_alloc(arena, sizeof *op);
  if (op == NULL)
    return NULL;
  op->code = row->code;
  op->operands_count = count_words(row->operands);
  op->operands = make_operands(arena, row->operands, op->operands_count);
  op->results_count = results_of(row);
  op->results = make_values(arena, row->given, op->results_count);
  op->attrs_count = row->attrs_count;
  op->attrs = tt_arena_copy(arena, row->attrs, row->attrs_count * sizeof *op->attrs);
  op->regions = tt_arena_array(arena, TT_COUNT(row->regions), sizeof *op->regions);
  if (op->operands == NULL || op->results == NULL || op->attrs == NULL || op->regions == NULL)
    return NULL;
  for (uint32_t i = 0; i < op->results_count; i++)
    op->results[i].op = op;
  for (; op->regions_count < TT_COUNT(row->regions) && row->regions[op->regions_count] != NULL;
       op->regions_count++) {
    op->regions[op->regions_count] = make_region(arena, row->regions[op->regions_count]);
    if (op->regions[op->regions_count] == NULL)
      return NULL;
  }
  return op;
}

/* "2x3xf32 token" */
static void print_results(const tt_hlo_op *op, tt_bytes *text) {
  for (uint32_t i = 0; i < op->results_count; i++) {
    const tt_hlo_type *type = &op->results[i].type;
    tt_bytes_text(text, i > 0 ? " " : "");
    if (type->token) {
      tt_bytes_text(text, "token");
      continue;
    }
    for (int32_t k = 0; k < type->rank; k++)
      if (type->dims[k] == TT_HLO_DYNAMIC)
        tt_bytes_text(text, "?x");
      else
        tt_bytes_printf(text, "%lldx", (long long)type->dims[k]);
    tt_bytes_text(text, tt_dtype_name(type->dtype));
  }
}

static void check_row(const char *file, const infer_row *row) {
  tt_arena arena = {0};
  tt_bytes text = {0};
  tt_error *err = NULL;
  tt_hlo_op *op = make_op(&arena, row);
  if (!tt_test_true(file, row->line, "memory for the op", op != NULL))
    goto out;
  err = tt_hlo_op_infer(&arena, op);
  if (row->want[0] == '!') {
    tt_test_err(file, row->line, "infer", err, TT_INVALID_ARGUMENT, row->want + 1);
    goto out;
  }
  if (!tt_test_ok(file, row->line, "infer", err))
    goto out;
  print_results(op, &text);
  tt_test_str(file, row->line, "result types", text.data == NULL ? "" : text.data, row->want);
out:
  tt_bytes_free(&text);
  tt_arena_reset(&arena);
}

void check_rows(const char *file, const infer_row *rows, size_t rows_count) {
  for (size_t i = 0; i < rows_count; i++)
    check_row(file, &rows[i]);
}
