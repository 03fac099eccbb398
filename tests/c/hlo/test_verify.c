#include <string.h>

#include "hlo/build.h"
#include "test.h"

/* while (x < 5) x = x + x; and a donated parameter. What the tests then break. */
typedef struct program {
  tt_hlo_module *module;
  tt_hlo_build build;
  tt_hlo_op *loop, *add;
} program;

static tt_error *make(program *p) {
  memset(p, 0, sizeof *p);
  TT_RETURN_IF_ERROR(tt_hlo_module_new(&p->module));
  tt_hlo_build *b = &p->build;
  TT_RETURN_IF_ERROR(tt_hlo_build_begin(p->module, b));
  static const int64_t dims[] = {4};
  tt_hlo_type types[2] = {tt_hlo_scalar_type(TT_S32), {.dtype = TT_F32, .rank = 1, .dims = dims}};
  tt_hlo_value *inits[2] = {NULL}, *results[2] = {NULL};
  inits[0] = tt_hlo_param_add(b, TT_S32, 0, NULL);
  inits[1] = tt_hlo_param_add(b, TT_F32, 1, dims);
  tt_hlo_region *cond = tt_hlo_region_open(b, types, 2);
  tt_hlo_value *less =
      tt_hlo_compare(b, TT_HLO_LT, tt_hlo_region_arg(b, cond, 0), tt_hlo_const_int(b, TT_S32, 5));
  tt_hlo_region_close(b, &less, 1);
  tt_hlo_region *body = tt_hlo_region_open(b, types, 2);
  tt_hlo_value *next[2] = {tt_hlo_region_arg(b, body, 0), tt_hlo_region_arg(b, body, 1)};
  next[0] = tt_hlo_add(b, next[0], next[0]);
  next[1] = tt_hlo_mul(b, next[1], inits[1]);
  p->add = next[0]->op;
  tt_hlo_region_close(b, next, 2);
  tt_hlo_while(b, inits, 2, cond, body, results);
  p->loop = results[0]->op;
  if (p->build.func->params != NULL)
    p->build.func->params[1].alias = 1;
  return tt_hlo_build_finish(b, results, 2);
}

static void drop(program *p) {
  tt_hlo_build_drop(&p->build);
  tt_hlo_module_free(p->module);
}

TEST(hlo_verify, good_program_twice_and_after_printing) {
  program p;
  tt_bytes text = {0};
  REQUIRE_OK(make(&p));
  EXPECT_OK(tt_hlo_module_verify(p.module));
  EXPECT_OK(tt_hlo_module_print(p.module, &text));
  EXPECT_OK(tt_hlo_module_verify(p.module));
out:
  tt_bytes_free(&text);
  drop(&p);
}

/* Each case breaks one thing of a fresh program. */
#define BREAK(name, message, ...)                                               \
  TEST(hlo_verify, name) {                                                      \
    program p;                                                                  \
    REQUIRE_OK(make(&p));                                                       \
    {                                                                           \
      __VA_ARGS__;                                                              \
      EXPECT_ERR(tt_hlo_module_verify(p.module), TT_INVALID_ARGUMENT, message); \
    }                                                                           \
  out:                                                                          \
    drop(&p);                                                                   \
  }

BREAK(no_function, "the module has no function", p.module->funcs = NULL)
BREAK(no_replicas, "num_replicas is 0", p.module->num_replicas = 0)
BREAK(no_name, "a function has no name", p.module->funcs->name = "")
BREAK(no_body, "the body is missing", p.module->funcs->body = NULL)
BREAK(no_return, "a region does not end in a return", p.build.func->body->first = NULL;
      p.build.func->body->last = NULL)
BREAK(wrong_type, "@main: operation 5: add: result 0: expected tensor<i32>, got tensor<f32>",
      p.add->results[0].type.dtype = TT_F32)
BREAK(malformed_type, "add: result 0: rank -1 is not in", p.add->results[0].type.rank = -1)
BREAK(wrong_operand_type, "add: operand types differ", p.add->operands[1] = p.loop->operands[1])
BREAK(missing_operand, "add: operand 1 is not defined before it", p.add->operands[1] = NULL)
BREAK(use_before_definition, "add: operand 0 is not defined before it",
      p.add->operands[0] = &p.add->results[0])
BREAK(use_outside_of_scope, "return: operand 0 is not defined before it",
      p.build.func->body->last->operands[0] = &p.add->results[0])
BREAK(use_of_own_result, "add: operand 0 is not defined before it",
      p.add->operands[0] = &p.loop->results[0])
BREAK(unknown_op, "no operation has the number 9999", p.add->code = (tt_hlo_code)9999)
BREAK(return_in_the_middle, "return: stands before the end of its region",
      p.add->code = TT_HLO_RETURN)
BREAK(wrong_count, "add: expected 2 operands, got 1", p.add->operands_count = 1)
BREAK(wrong_parent, "add: is linked to another region", p.add->parent = NULL)
BREAK(wrong_neighbour, "add: is linked to no next operation", p.add->next->previous = NULL)
BREAK(wrong_result_link, "add: result 0 is linked to another operation",
      p.add->results[0].op = p.loop)
BREAK(wrong_region_link, "while: region 1 is missing or linked elsewhere",
      p.loop->regions[1]->outer = NULL)
BREAK(missing_region, "while: region 0 is missing", p.loop->regions[0] = NULL)
BREAK(wrong_argument_link, "argument 1 of a region is linked elsewhere",
      p.loop->regions[1]->args[1].index = 0)
BREAK(malformed_argument, "argument 0 of a region: no dtype has the number 99",
      p.loop->regions[1]->args[0].type.dtype = (tt_dtype)99)
BREAK(double_attribute, "compare: attribute comparison_direction is there twice",
      tt_hlo_op *compare = p.loop->regions[0]->last->previous;
      compare->attrs[1] = compare->attrs[0])
BREAK(alias_too_large, "@main: parameter 0 aliases result 2 of 2",
      p.build.func->params[0].alias = 2)
BREAK(alias_of_other_type,
      "parameter 0, which is tensor<i32>, aliases result 1, which is tensor<4xf32>",
      p.build.func->params[1].alias = -1;
      p.build.func->params[0].alias = 1)
BREAK(double_name, "@main: two functions have this name", tt_hlo_func second = *p.module->funcs;
      p.module->funcs->next = &second)

TEST(hlo_verify, two_aliases_of_one_result) {
  program p;
  const int64_t dims[] = {4};
  memset(&p, 0, sizeof p);
  if (EXPECT_OK(tt_hlo_module_new(&p.module))) {
    if (EXPECT_OK(tt_hlo_build_begin(p.module, &p.build))) {
      tt_hlo_value *x = tt_hlo_param_add(&p.build, TT_F32, 1, dims);
      tt_hlo_param_add(&p.build, TT_F32, 1, dims);
      if (EXPECT_OK(tt_hlo_build_finish(&p.build, &x, 1))) {
        p.build.func->params[0].alias = 0;
        p.build.func->params[1].alias = 0;
        EXPECT_ERR(tt_hlo_module_verify(p.module), TT_INVALID_ARGUMENT,
                   "two parameters alias result 0");
      }
    }
  }
  drop(&p);
}

/* Nested ifs, deeper than the verifier follows. */
TEST(hlo_verify, deep_nesting) {
  program p;
  memset(&p, 0, sizeof p);
  if (EXPECT_OK(tt_hlo_module_new(&p.module))) {
    if (EXPECT_OK(tt_hlo_build_begin(p.module, &p.build))) {
      tt_hlo_build *b = &p.build;
      tt_hlo_value *pred = tt_hlo_param_add(b, TT_PRED, 0, NULL), *result = pred;
      tt_hlo_region *yes[200] = {NULL};
      for (int i = 0; i < 200; i++)
        yes[i] = tt_hlo_region_open(b, NULL, 0);
      for (int i = 199; i >= 0; i--) {
        tt_hlo_region_close(b, &result, 1);
        tt_hlo_region *no = tt_hlo_region_open(b, NULL, 0);
        tt_hlo_region_close(b, &pred, 1);
        tt_hlo_if(b, pred, yes[i], no, 1, &result);
      }
      tt_error *err = tt_hlo_build_finish(b, &result, 1);
      if (err == NULL) /* a release build does not verify there */
        err = tt_hlo_module_verify(p.module);
      EXPECT_ERR(err, TT_INVALID_ARGUMENT, "regions are nested deeper than 128");
    }
  }
  drop(&p);
}

/* @main calls @impl, which stands behind it, by a composite. The builder makes @main only: names
 * are changed by hand. */
static tt_error *make_composite(program *p) {
  tt_hlo_build other;
  const int64_t dims[] = {4};
  memset(p, 0, sizeof *p);
  TT_RETURN_IF_ERROR(tt_hlo_module_new(&p->module));
  TT_RETURN_IF_ERROR(tt_hlo_build_begin(p->module, &other));
  tt_hlo_value *y = tt_hlo_param_add(&other, TT_F32, 1, dims);
  tt_hlo_op_add(&other, TT_HLO_RETURN, &y, 1, NULL, 0, NULL, 0, NULL, 0);
  other.func->name = "impl";
  if (other.err != NULL)
    return other.err;
  TT_RETURN_IF_ERROR(tt_hlo_build_begin(p->module, &p->build));
  tt_hlo_value *x = tt_hlo_param_add(&p->build, TT_F32, 1, dims);
  tt_hlo_attr attrs[] = {
      {.name = TT_HLO_NAME, .kind = TT_HLO_ATTR_STRING, .text = "my.op"},
      {.name = TT_HLO_DECOMPOSITION, .kind = TT_HLO_ATTR_SYMBOL, .text = "impl"}};
  p->add = tt_hlo_op_add(&p->build, TT_HLO_COMPOSITE, &x, 1, attrs, 2, NULL, 0, &x->type, 1);
  tt_hlo_value *result = p->add == NULL ? p->build.poison : &p->add->results[0];
  return tt_hlo_build_finish(&p->build, &result, 1);
}

TEST(hlo_verify, composite) {
  program p;
  if (EXPECT_OK(make_composite(&p))) {
    tt_hlo_op *op = p.add;
    EXPECT_OK(tt_hlo_module_verify(p.module));
    op->attrs[1].text = "none";
    EXPECT_ERR(tt_hlo_module_verify(p.module), TT_INVALID_ARGUMENT,
               "composite: decomposition: no function is named @none");
    op->attrs[1].text = "impl";
    op->results[0].type.dtype = TT_F64;
    EXPECT_ERR(tt_hlo_module_verify(p.module), TT_INVALID_ARGUMENT,
               "composite: decomposition: result 0 of @impl is not");
    op->results[0].type.dtype = TT_F32;
    op->operands_count = 0;
    EXPECT_ERR(tt_hlo_module_verify(p.module), TT_INVALID_ARGUMENT,
               "composite: decomposition: @impl takes 1 values");
  }
  drop(&p);
}
