/* async_start, async_done and futures: text, and what is refused. */
#include <stdio.h>
#include <string.h>

#include "test_parse.h"

#define F "tensor<4xf32>"
#define FUTURE "!stablehlo.future<" F ">"
#define PERMUTE(x, type)                \
  "\"stablehlo.collective_permute\"(" x \
  ") {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (" type ") -> (" type ")\n"
#define RETURN(x, type) "\"stablehlo.return\"(" x ") : (" type ") -> ()\n"
#define START_OF(body, type) "%s = \"stablehlo.async_start\"(%x) ({\n" body "}) : " type "\n"
#define START(body) START_OF(body, "(" F ") -> " FUTURE)
#define ARG "^bb0(%a: " F "):\n"
#define DONE "%d = \"stablehlo.async_done\"(%s) : (" FUTURE ") -> " F "\n"
#define PLAIN START(ARG "%p = " PERMUTE("%a", F) RETURN("%p", F))

TEST(hlo_async, reads_and_prints) {
  CHECK_OPS("%x: " F, PLAIN DONE,
            "    %0 = \"stablehlo.async_start\"(%arg0) ({\n"
            "    ^bb0(%arg1: tensor<4xf32>):\n"
            "      %1 = \"stablehlo.collective_permute\"(%arg1) {source_target_pairs = "
            "dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> (tensor<4xf32>)\n"
            "      \"stablehlo.return\"(%1) : (tensor<4xf32>) -> ()\n"
            "    }) : (tensor<4xf32>) -> (!stablehlo.future<tensor<4xf32>>)\n"
            "    %2 = \"stablehlo.async_done\"(%0) : (!stablehlo.future<tensor<4xf32>>) -> "
            "(tensor<4xf32>)\n");
}

/* The op's own region inside, several operands, dims that only the run knows. */
TEST(hlo_async, reads_each_kind) {
  CHECK_OPS("%x: tensor<?x4xf32>",
            START_OF("^bb0(%a: tensor<?x4xf32>):\n"
                     "  %p = \"stablehlo.reduce_scatter\"(%a) ({\n"
                     "  ^bb0(%m: tensor<f32>, %n: tensor<f32>):\n"
                     "    %t = stablehlo.add %m, %n : tensor<f32>\n"
                     "    stablehlo.return %t : tensor<f32>\n"
                     "  }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : "
                     "tensor<1x2xi64>} : (tensor<?x4xf32>) -> tensor<?x2xf32>\n"
                     "  stablehlo.return %p : tensor<?x2xf32>\n",
                     "(tensor<?x4xf32>) -> !stablehlo.future<tensor<?x2xf32>>"),
            "-> (!stablehlo.future<tensor<?x2xf32>>)");
  CHECK_OPS("%x: " F ", %y: tensor<2xf32>, %i: tensor<i32>",
            "%s = \"stablehlo.async_start\"(%x, %y, %i) ({\n"
            "^bb0(%a: " F
            ", %b: tensor<2xf32>, %j: tensor<i32>):\n"
            "  %p = stablehlo.dynamic_update_slice %a, %b, %j : (" F
            ", tensor<2xf32>, tensor<i32>) -> " F
            "\n"
            "  stablehlo.return %p : " F "\n}) : (" F ", tensor<2xf32>, tensor<i32>) -> " FUTURE
            "\n" DONE,
            "\"stablehlo.dynamic_update_slice\"(%arg3, %arg4, %arg5)");
}

/* Futures are what functions may take and return, and a type may have another name. */
TEST(hlo_async, futures_through_calls) {
  tt_bytes text = {0};
  static const char program[] =
      "!f = " FUTURE
      "\n"
      "func.func @main(%x: " F ") -> " F
      " {\n"
      "  %s = call @begin(%x) : (" F
      ") -> !f\n"
      "  %d = call @end(%s) : (!f) -> " F
      "\n"
      "  return %d : " F
      "\n}\n"
      "func.func private @begin(%x: " F ") -> !f {\n" PLAIN
      "return %s : !f\n}\n"
      "func.func private @end(%s: !f) -> " F " {\n" DONE "return %d : " F "\n}\n";
  if (test_parse_print(__FILE__, __LINE__, program, &text))
    EXPECT_CONTAINS(text.data, "@end(%arg0: !stablehlo.future<tensor<4xf32>>) -> (tensor<4xf32>)");
  tt_bytes_free(&text);
}

TEST(hlo_async, wrong_types_are_refused) {
  CHECK_ERROR("func.func @main(%x: !stablehlo.future<tensor<2xf32>, tensor<2xf32>>) {return}",
              TT_UNIMPLEMENTED, "futures of several values");
  CHECK_ERROR("func.func @main(%x: !stablehlo.future<f32>) {return}", TT_INVALID_ARGUMENT,
              "expected the tensor type of a future");
  CHECK_ERROR("func.func @main(%x: !stablehlo.future<!stablehlo.token>) {return}",
              TT_INVALID_ARGUMENT, "expected the tensor type of a future");
  CHECK_ERROR("func.func @main(%x: !stablehlo.future<tensor<2xf32>) {return}", TT_INVALID_ARGUMENT,
              "expected '>'");
  CHECK_ERROR("func.func @main(%x: !stablehlo.future) {return}", TT_INVALID_ARGUMENT,
              "expected '<'");
}

static const struct {
  const char *ops, *part;
} bad[] = {
    {START(ARG "%q = " PERMUTE("%a", F) "%p = " PERMUTE("%q", F) RETURN("%p", F)) DONE,
     "async_start: body: expected one operation and a return"}, /* async_start_c1 */
    {START(ARG RETURN("%a", F)) DONE, "async_start: body: expected one operation and a return"},
    {START(ARG "%p = stablehlo.add %a, %a : " F "\n" RETURN("%p", F)) DONE,
     "async_start: body: expected a collective or a slice, got add"}, /* async_start_c2 */
    {START(ARG "%p = \"stablehlo.async_start\"(%a) ({\n^bb0(%b: " F "):\n%q = " PERMUTE("%b", F)
               RETURN("%q", F) "}) : (" F ") -> " FUTURE "\n" RETURN("%p", FUTURE)) DONE,
     "is a future"}, /* a pair in a pair */
    {START(ARG "%p = \"stablehlo.async_done\"(%f) : (" FUTURE ") -> " F "\n" RETURN("%p", F)) DONE,
     "async_start: body: expected a collective or a slice, got async_done"},
    {START("%p = " PERMUTE("%x", F) RETURN("%p", F)) DONE,
     "async_start: body: expected 1 arguments, got 0"}, /* async_start_c3 */
    {START("^bb0(%a: tensor<4xi32>):\n%p = " PERMUTE("%a", "tensor<4xi32>")
               RETURN("%p", "tensor<4xi32>")) DONE,
     "async_start: body: argument 0: expected tensor<4xf32>, got tensor<4xi32>"},
    {START(ARG "%p = " PERMUTE("%x", F) RETURN("%p", F)) DONE,
     "async_start: body: operand 0 of collective_permute is a value from outside"},
    {START(ARG "%p = " PERMUTE("%a", F) RETURN("%x", F)) DONE,
     "async_start: body: operand 0 of return is a value from outside"},
    {START(ARG "%p = \"stablehlo.all_reduce\"(%a) ({\n"
               "^bb0(%m: tensor<f32>, %n: tensor<f32>):\n"
               "  stablehlo.return %z : tensor<f32>\n"
               "}) {replica_groups = dense<0> : tensor<1x1xi64>} : (" F ") -> " F
               "\n" RETURN("%p", F)) DONE,
     "async_start: body: operand 0 of return is a value from outside"},
    {START(ARG "%p = " PERMUTE("%a", F) RETURN("%p, %p", F ", " F)) DONE,
     "async_start: body: expected 1 result, got 2"},
    {START_OF(ARG "%p = " PERMUTE("%a", F) RETURN("%p", F),
              "(" F ") -> !stablehlo.future<tensor<4xi32>>"),
     "expected !stablehlo.future<tensor<4xf32>>, got !stablehlo.future<tensor<4xi32>>"},
    {START_OF(ARG "%p = " PERMUTE("%a", F) RETURN("%p", F), "(" F ") -> " F),
     "expected !stablehlo.future<tensor<4xf32>>, got tensor<4xf32>"}, /* async_start_c4 */
    {"%s = \"stablehlo.async_start\"(%x) : (" F ") -> " FUTURE "\n" DONE,
     "async_start: expected 1 regions, got 0"},
    {"%d = \"stablehlo.async_done\"(%x) : (" F ") -> " F "\n",
     "async_done: expected a future, got tensor<4xf32>"}, /* async_done_i1 */
    {"%d = \"stablehlo.async_done\"(%f) : (" FUTURE ") -> tensor<4xi32>\n",
     "async_done: result 0: expected tensor<4xf32>, got tensor<4xi32>"}, /* async_done_c1 */
    {"%d = \"stablehlo.async_done\"(%f) : (" FUTURE ") -> " FUTURE "\n",
     "expected tensor<4xf32>, got !stablehlo.future<tensor<4xf32>>"},
    {"%d = \"stablehlo.add\"(%f, %f) : (" FUTURE ", " FUTURE ") -> " FUTURE "\n",
     "add: operand 0 is a future"},
    {"%d = \"stablehlo.case\"(%i) ({\nstablehlo.return %f : " FUTURE
     "\n}) : (tensor<i32>) -> " FUTURE "\n",
     "case: result 0 of region 0 is a future"},
    {"%d = \"stablehlo.while\"(%x) ({\n^bb0(%a: " FUTURE "):\n%c = stablehlo.constant dense<true> "
     ": tensor<i1>\nstablehlo.return %c : tensor<i1>\n}, {\n^bb0(%a: " F
     "):\nstablehlo.return %a : " F "\n}) : (" F ") -> " F "\n",
     "while: argument 0 of region 0 is a future"},
};

TEST(hlo_async, wrong_programs_are_refused) {
  for (size_t i = 0; i < TT_COUNT(bad); i++) {
    char text[4096];
    tt_hlo_module *module = NULL;
    snprintf(text, sizeof text,
             "func.func @main(%%x: " F ", %%f: " FUTURE
             ", %%i: tensor<i32>, %%z: tensor<f32>) {\n%sreturn\n}\n",
             bad[i].ops);
    tt_error *err = tt_hlo_parse(text, strlen(text), &module);
    if (err == NULL)
      err = tt_hlo_module_verify(module);
    tt_test_err(__FILE__, __LINE__, bad[i].ops, err, TT_INVALID_ARGUMENT, bad[i].part);
    tt_hlo_module_free(module);
  }
}
