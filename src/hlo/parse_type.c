/* Types: tensors, tokens, futures. */
#include "hlo/parse_internal.h"

static tt_error *find_dtype(tt_hlo_parser *p, tt_hlo_slice word, tt_dtype *out_dtype) {
  for (int d = 0; d < TT_DTYPE_COUNT; d++)
    if (word.size > 0 && word.text[0] == tt_dtypes[d].name[0] &&
        tt_hlo_slice_is(word, tt_dtypes[d].name)) {
      *out_dtype = (tt_dtype)d;
      return NULL;
    }
  return tt_hlo_parse_fail(p, word.text, TT_UNIMPLEMENTED, "elements of type %.*s",
                           (int)(word.size > 32 ? 32 : word.size), word.text);
}

static tt_error *parse_element(tt_hlo_parser *p, tt_dtype *out_dtype) {
  char c = tt_hlo_parse_peek(p);
  if (c == '!') /* !quant.uniform<...> and the like */
    return tt_hlo_parse_fail(
        p, p->at, TT_UNIMPLEMENTED, "%s",
        p->end - p->at > 6 && memcmp(p->at, "!quant", 6) == 0
            ? "quantized types"
            : "elements of a type that is neither a number nor a complex number");
  if (c == '*')
    return tt_hlo_parse_fail(p, p->at, TT_UNIMPLEMENTED, "tensors without a rank");
  tt_hlo_slice word = tt_hlo_parse_word(p);
  if (word.size == 0)
    return tt_hlo_parse_expected(p, "an element type");
  if (!tt_hlo_slice_is(word, "complex"))
    return find_dtype(p, word, out_dtype);
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '<'));
  TT_RETURN_IF_ERROR(find_dtype(p, tt_hlo_parse_word(p), out_dtype));
  if (*out_dtype != TT_F32 && *out_dtype != TT_F64)
    return tt_hlo_parse_fail(p, word.text, TT_UNIMPLEMENTED, "complex numbers of %s",
                             tt_dtype_name(*out_dtype));
  *out_dtype = tt_dtype_complex(*out_dtype);
  return tt_hlo_parse_expect(p, '>');
}

/* `4x?x`, up to the element type. */
static tt_error *parse_dims(tt_hlo_parser *p, int64_t *dims, int32_t *out_rank) {
  for (*out_rank = 0;; p->at++) {
    char c = tt_hlo_parse_peek(p);
    const char *at = p->at;
    int64_t dim = c == '?' ? TT_HLO_DYNAMIC : 0;
    if (c != '?' && !tt_hlo_char_is(c, TT_HLO_CHAR_DIGIT))
      return NULL;
    p->at += c == '?';
    for (; p->at < p->end && c != '?' && tt_hlo_char_is(*p->at, TT_HLO_CHAR_DIGIT); p->at++)
      if (!tt_mul_i64(dim, 10, &dim) || !tt_add_i64(dim, *p->at - '0', &dim))
        return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT, "expected a dim of 63 bits");
    if (*out_rank == TT_HLO_RANK_MAX)
      return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT, "expected at most %d dims",
                               TT_HLO_RANK_MAX);
    dims[(*out_rank)++] = dim;
    if (p->at == p->end || *p->at != 'x')
      return tt_hlo_parse_expected(p, "x behind a dim");
  }
}

/* Only the bounds of dynamic dims, which nothing here reads. */
static tt_error *skip_encoding(tt_hlo_parser *p) {
  static const char *const known[] = {"#stablehlo.bounds<", "#stablehlo.type_extensions<",
                                      "#mhlo.type_extensions<"};
  bool has_alias = false;
  tt_hlo_parse_peek(p);
  for (size_t i = 0; i < TT_COUNT(known); i++)
    if ((size_t)(p->end - p->at) > strlen(known[i]) &&
        memcmp(p->at, known[i], strlen(known[i])) == 0)
      return tt_hlo_parse_skip(p, false, &has_alias);
  return tt_hlo_parse_fail(p, p->at, TT_UNIMPLEMENTED, "tensor encodings other than bounds");
}

static tt_error *parse_tensor(tt_hlo_parser *p, tt_hlo_type *out_type) {
  int64_t dims[TT_HLO_RANK_MAX];
  const char *at = p->at;
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '<'));
  TT_RETURN_IF_ERROR(parse_dims(p, dims, &out_type->rank));
  TT_RETURN_IF_ERROR(parse_element(p, &out_type->dtype));
  if (tt_hlo_parse_take(p, ','))
    TT_RETURN_IF_ERROR(skip_encoding(p));
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '>'));
  out_type->dims = dims;
  tt_error *err = tt_hlo_type_check(out_type);
  if (TT_UNLIKELY(err != NULL)) {
    tt_error *placed = tt_hlo_parse_fail(p, at, tt_error_code(err), "%s", tt_error_message(err));
    tt_error_free(err);
    return placed;
  }
  out_type->dims = NULL;
  if (out_type->rank == 0)
    return NULL;
  out_type->dims = tt_arena_copy(&p->module->arena, dims, (size_t)out_type->rank * sizeof *dims);
  return out_type->dims == NULL ? tt_hlo_parse_no_memory(p) : NULL;
}

/* `<tensor<...>>` behind !stablehlo.future */
static tt_error *parse_future(tt_hlo_parser *p, tt_hlo_type *out_type) {
  TT_RETURN_IF_ERROR(tt_hlo_parse_expect(p, '<'));
  if (!tt_hlo_parse_take_word(p, "tensor"))
    return tt_hlo_parse_expected(p, "the tensor type of a future");
  TT_RETURN_IF_ERROR(parse_tensor(p, out_type));
  if (tt_hlo_parse_peek(p) == ',')
    return tt_hlo_parse_fail(p, p->at, TT_UNIMPLEMENTED, "futures of several values");
  out_type->future = true;
  return tt_hlo_parse_expect(p, '>');
}

/* !stablehlo.token, !stablehlo.future or an alias. */
static tt_error *parse_named(tt_hlo_parser *p, tt_hlo_type *out_type) {
  const char *at = p->at++;
  tt_hlo_alias *alias = NULL;
  tt_hlo_slice name = {0};
  TT_RETURN_IF_ERROR(tt_hlo_parse_suffix(p, "a type behind !", &name));
  if (tt_hlo_slice_is(name, "stablehlo.token") || tt_hlo_slice_is(name, "mhlo.token")) {
    out_type->token = true;
    return NULL;
  }
  if (tt_hlo_slice_is(name, "stablehlo.future"))
    return parse_future(p, out_type);
  if (memchr(name.text, '.', name.size) != NULL)
    return tt_hlo_parse_fail(p, at, TT_UNIMPLEMENTED, "type !%.*s",
                             (int)(name.size > 32 ? 32 : name.size), name.text);
  name = (tt_hlo_slice){at, name.size + 1};
  TT_RETURN_IF_ERROR(tt_hlo_parse_alias(p, name, &alias));
  if (alias->kind != TT_HLO_ALIAS_TYPE)
    return tt_hlo_parse_fail(p, at, TT_INVALID_ARGUMENT,
                             "expected a type alias that is defined above, got '%.*s'",
                             (int)(name.size > 32 ? 32 : name.size), name.text);
  *out_type = alias->type;
  return NULL;
}

tt_error *tt_hlo_parse_type(tt_hlo_parser *p, tt_hlo_type *out_type) {
  *out_type = (tt_hlo_type){0};
  if (tt_hlo_parse_peek(p) == '!')
    return parse_named(p, out_type);
  tt_hlo_slice word = tt_hlo_parse_word(p);
  if (TT_LIKELY(tt_hlo_slice_is(word, "tensor")))
    return parse_tensor(p, out_type);
  if (word.size == 0)
    return tt_hlo_parse_expected(p, "a type");
  return tt_hlo_parse_fail(p, word.text, TT_UNIMPLEMENTED, "type %.*s",
                           (int)(word.size > 32 ? 32 : word.size), word.text);
}
