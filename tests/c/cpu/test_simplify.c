/* What the simplifying pass leaves of functions, and what it must not touch. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu/passes/passes.h"
#include "test.h"
#include "test_kernel_case.h"

/* `%x`, `%y`: tensor<4xf32>, `%i`: tensor<4xi32>, `%b`: tensor<4xi1>, `%m`: tensor<2x4xf32>; the
 * result is %got. `left`: the ops of @main, without constants and the return. */
typedef struct simplify_case {
  const char *type, *body, *left;
} simplify_case;

#define F "tensor<4xf32>"
#define I "tensor<4xi32>"
#define S(value, type) "%c = stablehlo.constant dense<" value "> : " type "\n"

static const simplify_case cases[] = {
    /* numbers that change nothing, and such that do: -0 + 0 is 0 */
    {F, S("-0.0", F) "%got = stablehlo.add %x, %c : " F, ""},
    {F, S("0.0", F) "%got = stablehlo.add %x, %c : " F, "add "},
    {F, S("0.0", F) "%got = stablehlo.subtract %x, %c : " F, ""},
    {F, S("-0.0", F) "%got = stablehlo.subtract %x, %c : " F, "subtract "},
    {F, S("0.0", F) "%got = stablehlo.subtract %c, %x : " F, "subtract "},
    {F, S("1.0", F) "%got = stablehlo.multiply %c, %x : " F, ""},
    {F, S("0.0", F) "%got = stablehlo.multiply %c, %x : " F, "multiply "},
    {F, S("1.0", F) "%got = stablehlo.divide %c, %x : " F, "divide "},
    {F,
     S("1.0", "tensor<f32>") "%d = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> " F
                             "\n%got = stablehlo.divide %x, %d : " F,
     ""},
    {I, S("0", I) "%got = stablehlo.add %i, %c : " I, ""},
    {I, S("[0, 0, 0, 1]", I) "%got = stablehlo.add %i, %c : " I, "add "},
    /* twice, and the same twice */
    {F, "%0 = stablehlo.negate %x : " F "\n%got = stablehlo.negate %0 : " F, ""},
    {F, "%got = stablehlo.maximum %x, %x : " F, ""},
    {F, "%got = stablehlo.add %x, %x : " F, "add "},
    {F, "%got = stablehlo.select %b, %y, %y : tensor<4xi1>, " F, ""},
    {F, S("false", "tensor<i1>") "%got = stablehlo.select %c, %x, %y : tensor<i1>, " F, ""},
    /* types and there again: only through what holds every number */
    {I,
     "%0 = stablehlo.convert %i : (" I ") -> tensor<4xi64>\n%got = stablehlo.convert %0 : "
     "(tensor<4xi64>) -> " I,
     ""},
    {I,
     "%0 = stablehlo.convert %i : (" I ") -> tensor<4xui64>\n%got = stablehlo.convert %0 : "
     "(tensor<4xui64>) -> " I,
     "convert convert "},
    {F,
     "%0 = stablehlo.convert %x : (" F ") -> tensor<4xbf16>\n%got = stablehlo.convert %0 : "
     "(tensor<4xbf16>) -> " F,
     "convert convert "},
    /* shapes */
    {F,
     "%0 = stablehlo.reshape %x : (" F ") -> tensor<2x2xf32>\n%got = stablehlo.reshape %0 : "
     "(tensor<2x2xf32>) -> " F,
     ""},
    {"tensor<2x4xf32>",
     "%0 = stablehlo.transpose %m, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>\n"
     "%got = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x2xf32>) -> tensor<2x4xf32>",
     ""},
    {"tensor<3x2x4xf32>",
     "%0 = stablehlo.broadcast_in_dim %x, dims = [1] : (" F ") -> tensor<2x4xf32>\n"
     "%got = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<2x4xf32>) -> "
     "tensor<3x2x4xf32>",
     "broadcast_in_dim "},
    {F, "%got = stablehlo.slice %x [0:4] : (" F ") -> " F, ""},
    {F,
     S("0.0", "tensor<f32>") "%got = stablehlo.pad %x, %c, low = [0], high = [-3], interior = [1] "
                             ": (" F ", tensor<f32>) -> " F,
     "pad "},
    {F,
     S("0", "tensor<i32>") "%got = stablehlo.dynamic_update_slice %x, %y, %c : (" F ", " F
                           ", tensor<i32>) -> " F,
     ""},
    /* the same computation once; a barrier keeps two; a dead one goes */
    {F,
     "%0 = stablehlo.sine %x : " F "\n%1 = stablehlo.sine %x : " F "\n%2 = stablehlo.cosine %y : " F
     "\n%got = stablehlo.add %0, %1 : " F,
     "sine add "},
    {F,
     "%p = stablehlo.optimization_barrier %x : " F "\n%q = stablehlo.optimization_barrier %x : " F
     "\n%0 = stablehlo.sine %p : " F "\n%1 = stablehlo.sine %q : " F
     "\n%got = stablehlo.add %0, %1 : " F,
     "optimization_barrier optimization_barrier sine sine add "},
    /* inside of a branch what is outside is known, and not the other way round */
    {F,
     "%0 = stablehlo.sine %x : " F "\n%p = stablehlo.slice %b [0:1] : (tensor<4xi1>) -> "
     "tensor<1xi1>\n%q = stablehlo.reshape %p : (tensor<1xi1>) -> tensor<i1>\n"
     "%r = \"stablehlo.if\"(%q) ({\n%1 = stablehlo.sine %x : " F "\nstablehlo.return %1 : " F
     "\n}, {\n%2 = stablehlo.cosine %x : " F "\nstablehlo.return %2 : " F
     "\n}) : (tensor<i1>) -> " F "\n%3 = stablehlo.cosine %x : " F
     "\n%4 = stablehlo.add %0, %r : " F "\n%got = stablehlo.add %4, %3 : " F,
     "sine slice reshape if(()(cosine )) cosine add add "},
};

static void append_ops(const tt_hlo_region *region, tt_bytes *text) {
  for (const tt_hlo_op *op = region->first; op != NULL; op = op->next) {
    if (op->code == TT_HLO_CONSTANT || op->code == TT_HLO_RETURN)
      continue;
    tt_bytes_text(text, strchr(tt_hlo_ops[op->code].mnemonic, '.') + 1);
    if (op->regions_count > 0)
      tt_bytes_char(text, '(');
    for (uint32_t i = 0; i < op->regions_count; i++) {
      tt_bytes_char(text, '(');
      append_ops(op->regions[i], text);
      tt_bytes_char(text, ')');
    }
    tt_bytes_text(text, op->regions_count > 0 ? ") " : " ");
  }
}

static void check_simplify(const simplify_case *c) {
  tt_hlo_module *module = NULL;
  tt_bytes text = {0};
  tt_bytes_printf(&text,
                  "func.func @main(%%x: " F ", %%y: " F ", %%i: " I
                  ", %%b: tensor<4xi1>, %%m: "
                  "tensor<2x4xf32>) -> %s {\n%s\nreturn %%got : %s\n}",
                  c->type, c->body, c->type);
  REQUIRE_OK(tt_bytes_status(&text));
  REQUIRE_OK(tt_hlo_parse((const char *)text.data, text.size, &module));
  REQUIRE_OK(tt_hlo_module_verify(module));
  REQUIRE_OK(tt_cpu_simplify(module));
  EXPECT_OK(tt_hlo_module_verify(module));
  tt_bytes_clear(&text);
  append_ops(module->funcs->body, &text);
  tt_bytes_char(&text, '\0');
  REQUIRE_OK(tt_bytes_status(&text));
  EXPECT_STR((const char *)text.data, c->left);
out:
  tt_hlo_module_free(module);
  tt_bytes_free(&text);
}

TEST(cpu_simplify, leaves_what_is_needed) {
  for (size_t i = 0; i < TT_COUNT(cases); i++)
    check_simplify(&cases[i]);
}

/* ---- what is written down ---- */

/* Removes the folder's files; returns how many there were, and whether one ends so. */
static int empty_folder(const char *folder, const char *ending, bool *out_found) {
  char path[512];
  int count = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *at; dir != NULL && (at = readdir(dir)) != NULL;) {
    if (at->d_name[0] == '.')
      continue;
    size_t size = strlen(at->d_name), end = strlen(ending);
    *out_found = *out_found || (size >= end && strcmp(at->d_name + size - end, ending) == 0);
    snprintf(path, sizeof path, "%s/%s", folder, at->d_name);
    count += unlink(path) == 0;
  }
  if (dir != NULL)
    closedir(dir);
  return count;
}

TEST(cpu_dump, writes_each_pass_and_the_steps) {
  static const char text[] = "func.func @main(%x: " F ") -> " F "{\n%0 = stablehlo.add %x, %x : " F
                             "\nreturn %0 : " F "\n}";
  char folder[] = "/tmp/tt_cpu_dump_XXXXXX";
  tt_cpu_plan *plan = NULL;
  bool steps = false;
  REQUIRE(mkdtemp(folder) != NULL);
  setenv("TT_CPU_DUMP", folder, 1);
  REQUIRE_OK(plan_of(text, &plan));
  EXPECT_INT(empty_folder(folder, "-steps.txt", &steps), 7);
  EXPECT(steps);
  tt_cpu_plan_free(plan);
  rmdir(folder);
  EXPECT_ERR(plan_of(text, &plan), TT_INVALID_ARGUMENT, "TT_CPU_DUMP: /tmp/tt_cpu_dump_");
out:
  unsetenv("TT_CPU_DUMP");
  empty_folder(folder, "", &steps);
  rmdir(folder);
  tt_cpu_plan_free(plan);
}
