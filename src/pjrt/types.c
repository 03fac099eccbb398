#include "pjrt/types.h"

#include <stdlib.h>
#include <string.h>

#include "pjrt/internal.h"

tt_pj_text tt_pj_text_of(const char *string) {
  tt_pj_text text = {string, string == NULL ? 0 : strlen(string)};
  return text;
}

bool tt_pj_text_is(tt_pj_text text, const char *string) {
  return text.size == strlen(string) && memcmp(text.data, string, text.size) == 0;
}

tt_pj_value tt_pj_value_string(const char *name, const char *string) {
  return (tt_pj_value){
      .name = tt_pj_text_of(name), .type = TT_PJ_STRING, .string = tt_pj_text_of(string)};
}

tt_pj_value tt_pj_value_int64(const char *name, int64_t value) {
  return (tt_pj_value){.name = tt_pj_text_of(name), .type = TT_PJ_INT64, .int64 = value};
}

tt_pj_value tt_pj_value_float(const char *name, float value) {
  return (tt_pj_value){.name = tt_pj_text_of(name), .type = TT_PJ_FLOAT, .f32 = value};
}

tt_pj_value tt_pj_value_bool(const char *name, bool value) {
  return (tt_pj_value){.name = tt_pj_text_of(name), .type = TT_PJ_BOOL, .boolean = value};
}

tt_pj_value tt_pj_values_at(tt_pj_values values, size_t index) {
  const PJRT_NamedValue *from = (const PJRT_NamedValue *)values.items + index;
  tt_pj_value to = {.name = {from->name, from->name_size}, .type = TT_PJ_VALUE_TYPE_COUNT};
  switch (from->type) {
    case PJRT_NamedValue_kString:
      to.type = TT_PJ_STRING;
      to.string = (tt_pj_text){from->string_value, from->value_size};
      break;
    case PJRT_NamedValue_kInt64:
      to.type = TT_PJ_INT64;
      to.int64 = from->int64_value;
      break;
    case PJRT_NamedValue_kInt64List:
      to.type = TT_PJ_INT64_LIST;
      to.list.items = from->int64_array_value;
      to.list.count = from->value_size;
      break;
    case PJRT_NamedValue_kFloat:
      to.type = TT_PJ_FLOAT;
      to.f32 = from->float_value;
      break;
    case PJRT_NamedValue_kBool:
      to.type = TT_PJ_BOOL;
      to.boolean = from->bool_value;
      break;
  }
  return to;
}

bool tt_pj_values_find(tt_pj_values values, const char *name, tt_pj_value *out_value) {
  for (size_t i = 0; i < values.count; i++) {
    *out_value = tt_pj_values_at(values, i);
    if (tt_pj_text_is(out_value->name, name))
      return true;
  }
  return false;
}

static tt_error *to_named(const tt_pj_value *from, PJRT_NamedValue *to) {
  *to = (PJRT_NamedValue){TT_PJ_SIZE(PJRT_NamedValue), .name = from->name.data,
                          .name_size = from->name.size, .value_size = 1};
  switch (from->type) {
    case TT_PJ_STRING:
      to->type = PJRT_NamedValue_kString;
      to->string_value = from->string.data;
      to->value_size = from->string.size;
      return NULL;
    case TT_PJ_INT64:
      to->type = PJRT_NamedValue_kInt64;
      to->int64_value = from->int64;
      return NULL;
    case TT_PJ_INT64_LIST:
      to->type = PJRT_NamedValue_kInt64List;
      to->int64_array_value = from->list.items;
      to->value_size = from->list.count;
      return NULL;
    case TT_PJ_FLOAT:
      to->type = PJRT_NamedValue_kFloat;
      to->float_value = from->f32;
      return NULL;
    case TT_PJ_BOOL:
      to->type = PJRT_NamedValue_kBool;
      to->bool_value = from->boolean;
      return NULL;
    case TT_PJ_VALUE_TYPE_COUNT:
      break;
  }
  return tt_error_new(TT_INVALID_ARGUMENT, "option %.*s: unknown type %d", (int)from->name.size,
                      from->name.data, (int)from->type);
}

tt_error *tt_pj_named_values(const tt_pj_value *values, size_t count, PJRT_NamedValue **out_named) {
  *out_named = NULL;
  if (count == 0)
    return NULL;
  PJRT_NamedValue *named = calloc(count, sizeof *named);
  if (named == NULL)
    return tt_error_no_memory(count * sizeof *named);
  for (size_t i = 0; i < count; i++) {
    tt_error *err = to_named(&values[i], &named[i]);
    if (err != NULL) {
      free(named);
      return err;
    }
  }
  *out_named = named;
  return NULL;
}

/* PJRT has no type for these. */
#define PJRT_Buffer_Type_F6E2M3FN PJRT_Buffer_Type_INVALID
#define PJRT_Buffer_Type_F6E3M2FN PJRT_Buffer_Type_INVALID

static const PJRT_Buffer_Type types[TT_DTYPE_COUNT] = {
#define X(id, mlir, bits, kind) [TT_##id] = PJRT_Buffer_Type_##id,
#include "base/dtypes.def"
#undef X
};

tt_error *tt_pj_type_of(tt_dtype dtype, PJRT_Buffer_Type *out_type) {
  *out_type = types[dtype];
  return *out_type != PJRT_Buffer_Type_INVALID
             ? NULL
             : tt_error_new(TT_UNIMPLEMENTED, "PJRT has no type for %s", tt_dtype_name(dtype));
}

tt_error *tt_pj_dtype_of(PJRT_Buffer_Type type, tt_dtype *out_dtype) {
  for (int dtype = 0; dtype < TT_DTYPE_COUNT; dtype++)
    if (types[dtype] == type && type != PJRT_Buffer_Type_INVALID) {
      *out_dtype = (tt_dtype)dtype;
      return NULL;
    }
  return tt_error_new(TT_INTERNAL,
                      "the plugin uses PJRT_Buffer_Type %d, which this client does not know",
                      (int)type);
}
