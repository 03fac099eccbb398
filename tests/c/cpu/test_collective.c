#include <stdio.h>
#include <string.h>

#include "cpu/deadline.h"
#include "fleet.h"
#include "test.h"

#define SUM                                       \
  "({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n" \
  "  %s = stablehlo.add %a, %b : tensor<f32>\n"   \
  "  stablehlo.return %s : tensor<f32>\n})"
/* No op that a fast path knows. */
#define ODD_SUM                                      \
  "({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"    \
  "  %t = stablehlo.negate %a : tensor<f32>\n"       \
  "  %s = stablehlo.subtract %b, %t : tensor<f32>\n" \
  "  stablehlo.return %s : tensor<f32>\n})"
#define MAIN(in, out, body)                                                                     \
  "func.func @main(%x: tensor<" in ">) -> tensor<" out "> {\n" body "\nreturn %0 : tensor<" out \
  ">\n}\n"
#define CHANNEL(n) "channel_handle = #stablehlo.channel_handle<handle = " #n ", type = 1>"
#define GROUPS(list, type) "replica_groups = dense<" list "> : tensor<" type "xi64>"
/* %o: ones, as many as there are roots, that no pass knows. */
#define ROOTS(n, rest)                                                                         \
  "%k = stablehlo.slice %x [0:1] : (tensor<2xf32>) -> tensor<1xf32>\n"                         \
  "%kk = stablehlo.multiply %k, %k : tensor<1xf32>\n"                                          \
  "%kb = stablehlo.broadcast_in_dim %kk, dims = [0] : (tensor<1xf32>) -> tensor<" n            \
  "xf32>\n"                                                                                    \
  "%ke = stablehlo.compare EQ, %kb, %kb : (tensor<" n "xf32>, tensor<" n "xf32>) -> tensor<" n \
  "xi1>\n"                                                                                     \
  "%o = stablehlo.convert %ke : (tensor<" n "xi1>) -> tensor<" n "xi32>\n" rest
#define START(future, from, to, op)                                                               \
  "%" future " = \"stablehlo.async_start\"(%x) ({\n^bb0(%in: tensor<" from ">):\n" op             \
  "stablehlo.return %p : tensor<" to ">\n}) : (tensor<" from ">) -> !stablehlo.future<tensor<" to \
  ">>\n"
#define DONE(value, future, type)                                                        \
  "%" value " = \"stablehlo.async_done\"(%" future ") : (!stablehlo.future<tensor<" type \
  ">>) -> tensor<" type ">\n"
#define MESH "sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"
#define MESH_GROUPS(mesh, axes) \
  "replica_groups = #stablehlo.replica_group_mesh_axes<mesh = " mesh ", axes = [" axes "]>"
#define AXIS(name) "#stablehlo.axis_ref<name = \"" name "\">"
#define MESH_AXIS(name) "#stablehlo.mesh_axis<name = \"" name "\", size = 2>"
#define AXES_REDUCE(mesh, groups)                                \
  mesh MAIN("2xf32", "2xf32",                                    \
            "%0 = \"stablehlo.all_reduce\"(%x) " SUM " {" groups \
            "} : (tensor<2xf32>) -> tensor<2xf32>")
#define GLOBAL "use_global_device_ids"
#define ALL_EIGHT GROUPS("[[7, 6, 5, 4, 3, 2, 1, 0]]", "1x8")

/* Element i of device d is 100 d + i at first. */
typedef struct row {
  const char *name;
  int64_t replicas, partitions;
  const char *text;
  int count;        /* of results that are looked at */
  float want[4][8]; /* of the first devices */
} row;

static const row rows[] = {
    {"all_reduce of replicas",
     2,
     2,
     MAIN("2xf32", "2xf32",
          "%0 = \"stablehlo.all_reduce\"(%x) " SUM
          " {" GROUPS("[[0, 1]]", "1x2") "} : (tensor<2xf32>) -> tensor<2xf32>"),
     2,
     {{200, 202}, {400, 402}, {200, 202}, {400, 402}}},
    {"all_reduce of replicas and partitions",
     2,
     2,
     MAIN("2xf32", "2xf32",
          "%0 = \"stablehlo.all_reduce\"(%x) " SUM
          " {" GROUPS("[[0], [1]]", "2x1") ", " CHANNEL(1) "} : (tensor<2xf32>) -> tensor<2xf32>"),
     2,
     {{100, 102}, {100, 102}, {500, 502}, {500, 502}}},
    {"all_reduce by flattened ids",
     2,
     2,
     MAIN("2xf32", "2xf32",
          "%0 = \"stablehlo.all_reduce\"(%x) " ODD_SUM " {" GROUPS(
              "[[0, 3], [2, 1]]", "2x2") ", " CHANNEL(1) ", " GLOBAL
                                                         "} : (tensor<2xf32>) -> tensor<2xf32>"),
     2,
     {{300, 302}, {300, 302}, {300, 302}, {300, 302}}},
    {"all_reduce of all, in groups of different sizes",
     3,
     1,
     MAIN("2xf32", "2xf32",
          "%0 = \"stablehlo.all_reduce\"(%x) " SUM
          " {" GROUPS("[[0, 2], [1, -1]]", "2x2") "} : (tensor<2xf32>) -> tensor<2xf32>"),
     2,
     {{200, 202}, {100, 101}, {200, 202}}},
    {"all_reduce along an axis of a mesh",
     4,
     1,
     AXES_REDUCE(MESH, MESH_GROUPS("@mesh", AXIS("x"))),
     2,
     {{200, 202}, {400, 402}, {200, 202}, {400, 402}}},
    {"all_reduce along a part of an axis",
     4,
     1,
     AXES_REDUCE("sdy.mesh @mesh = <[\"x\"=4]>\n",
                 MESH_GROUPS("@mesh", "#stablehlo.axis_ref<name = \"x\", sub_axis_info = (2)2>")),
     2,
     {{100, 102}, {100, 102}, {500, 502}, {500, 502}}},
    {"all_reduce of one device",
     1,
     1,
     AXES_REDUCE("sdy.mesh @mesh = <[], device_ids=[0]>\n", MESH_GROUPS("@mesh", "")),
     2,
     {{0, 1}}},
    {"all_gather along all axes in another order, devices too",
     4,
     1,
     MAIN("1xf32", "4xf32",
          "%0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 0 : i64, " MESH_GROUPS(
              "#stablehlo.mesh<axes = [" MESH_AXIS("x") ", " MESH_AXIS(
                  "y") "], device_ids = dense<[3, 2, 1, 0]> : tensor<4xi64>>",
              AXIS("y") ", " AXIS("x")) "} : (tensor<1xf32>) -> tensor<4xf32>"),
     4,
     {{300, 100, 200, 0}, {300, 100, 200, 0}, {300, 100, 200, 0}, {300, 100, 200, 0}}},
    {"all_gather",
     2,
     1,
     MAIN("2x2xf32", "2x4xf32",
          "%0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 1 : i64, " GROUPS(
              "[[1, 0]]", "1x2") "} : (tensor<2x2xf32>) -> tensor<2x4xf32>"),
     8,
     {{100, 101, 0, 1, 102, 103, 2, 3}, {100, 101, 0, 1, 102, 103, 2, 3}}},
    {"reduce_scatter",
     2,
     1,
     MAIN("2x2xf32", "2x1xf32",
          "%0 = \"stablehlo.reduce_scatter\"(%x) " SUM " {scatter_dimension = 1 : i64, " GROUPS(
              "[[0, 1]]", "1x2") "} : (tensor<2x2xf32>) -> tensor<2x1xf32>"),
     2,
     {{100, 104}, {102, 106}}},
    {"all_to_all of partitions",
     1,
     2,
     MAIN("2x4xf32", "4x2xf32",
          "%0 = \"stablehlo.all_to_all\"(%x) {split_dimension = 1 : i64, concat_dimension = 0 : "
          "i64, split_count = 2 : i64, " GROUPS(
              "[[0, 1]]", "1x2") ", " CHANNEL(1) "} : (tensor<2x4xf32>) -> tensor<4x2xf32>"),
     8,
     {{0, 1, 4, 5, 100, 101, 104, 105}, {2, 3, 6, 7, 102, 103, 106, 107}}},
    {"collective_permute of replicas",
     2,
     2,
     MAIN("2xf32", "2xf32",
          "%0 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[[0, 1]]> : "
          "tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>"),
     2,
     {{0, 0}, {0, 0}, {0, 1}, {100, 101}}},
    {"collective_permute of partitions",
     2,
     2,
     MAIN("2xf32", "2xf32",
          "%0 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[[0, 1], [1, "
          "0]]> : tensor<2x2xi64>, " CHANNEL(1) "} : (tensor<2xf32>) -> tensor<2xf32>"),
     2,
     {{100, 101}, {0, 1}, {300, 301}, {200, 201}}},
    {"collective_broadcast",
     3,
     1,
     MAIN("2xf32", "2xf32",
          "%0 = \"stablehlo.collective_broadcast\"(%x) {" GROUPS(
              "[[2, 0]]", "1x2") "} : (tensor<2xf32>) -> tensor<2xf32>"),
     2,
     {{200, 201}, {0, 0}, {200, 201}}},
    {"collective_broadcast of two values",
     2,
     1,
     MAIN("2xf32", "2xf32",
          "%c = stablehlo.constant dense<100.0> : tensor<2xf32>\n"
          "%y = stablehlo.add %x, %c : tensor<2xf32>\n"
          "%z:2 = \"stablehlo.collective_broadcast\"(%x, %y) {" GROUPS(
              "[[1, 0]]", "1x2") "} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, "
                                 "tensor<2xf32>)\n"
                                 "%0 = stablehlo.add %z#0, %z#1 : tensor<2xf32>"),
     2,
     {{300, 302}, {300, 302}}},
    {"collective_reduce to the first, and zeros",
     4,
     1,
     MAIN("2xf32", "2xf32",
          "%0 = \"stablehlo.collective_reduce\"(%x) " SUM
          " {" GROUPS("[[2, 0, 1]]", "1x3") "} : (tensor<2xf32>) -> tensor<2xf32>"),
     2,
     {{0, 0}, {0, 0}, {300, 303}, {0, 0}}},
    {"collective_reduce of replicas and partitions",
     2,
     2,
     MAIN("2xf32", "2xf32",
          "%0 = \"stablehlo.collective_reduce\"(%x) " ODD_SUM
          " {" GROUPS("[[1], [0]]", "2x1") ", " CHANNEL(1) "} : (tensor<2xf32>) -> tensor<2xf32>"),
     2,
     {{100, 102}, {0, 0}, {500, 502}, {0, 0}}},
    {"collective_broadcast from roots that the run knows",
     3,
     1,
     MAIN("2xf32", "2xf32",
          "%c = stablehlo.constant dense<1000.0> : tensor<2xf32>\n"
          "%y = stablehlo.add %x, %c : tensor<2xf32>\n" ROOTS(
              "2",
              "%v = stablehlo.iota dim = 0 : tensor<2xi32>\n%r = stablehlo.subtract %o, %v : "
              "tensor<2xi32>\n") "%z:2 = \"stablehlo.collective_broadcast\"(%x, %y, %r) "
                                 "{has_dynamic_root, " GROUPS("[[2, 0]]",
                                                              "1x2") "} : (tensor<2xf32>, "
                                                                     "tensor<2xf32>, "
                                                                     "tensor<2xi32>) -> "
                                                                     "(tensor<2xf32>, "
                                                                     "tensor<2xf32>)\n"
                                                                     "%0 = stablehlo.add %z#0, "
                                                                     "%z#1 : tensor<2xf32>"),
     2,
     {{1200, 1202}, {0, 0}, {1200, 1202}}}, /* 0 + 1200, for the first value's root is member 1 */
    {"collective_reduce to roots that the run knows",
     4,
     1,
     MAIN("2xf32", "2xf32",
          "%c = stablehlo.constant dense<1000.0> : tensor<2xf32>\n"
          "%y = stablehlo.add %x, %c : tensor<2xf32>\n" ROOTS(
              "2",
              "%v = stablehlo.iota dim = 0 : tensor<2xi32>\n%r = stablehlo.add %o, %v : "
              "tensor<2xi32>\n") "%z:2 = \"stablehlo.collective_reduce\"(%x, %y, %r) " SUM
                                 " {has_dynamic_root, " GROUPS(
                                     "[[2, 0, 1]]",
                                     "1x3") "} : (tensor<2xf32>, tensor<2xf32>, tensor<2xi32>) -> "
                                            "(tensor<2xf32>, tensor<2xf32>)\n"
                                            "%0 = stablehlo.add %z#0, %z#1 : tensor<2xf32>"),
     2,
     {{300, 303}, {3300, 3303}, {0, 0}, {0, 0}}},
    {"collective_reduce to a root among replicas and partitions",
     2,
     2,
     MAIN(
         "2xf32", "2xf32",
         ROOTS(
             "1",
             "%r = stablehlo.add %o, %o : tensor<1xi32>\n") "%0 = "
                                                            "\"stablehlo.collective_reduce\"(%x, "
                                                            "%r) " ODD_SUM
                                                            " {has_dynamic_root, " GROUPS(
                                                                "[[1, 0]]",
                                                                "1x2") ", " CHANNEL(1) "} : "
                                                                                       "(tensor<"
                                                                                       "2xf32>, "
                                                                                       "tensor<"
                                                                                       "1xi32>) -> "
                                                                                       "tensor<"
                                                                                       "2xf32>"),
     2,
     {{0, 0}, {0, 0}, {0, 0}, {600, 604}}},
    {"started and awaited",
     2,
     1,
     MAIN(
         "2xf32", "2xf32",
         START("f", "2xf32", "2xf32",
               "%p = \"stablehlo.all_reduce\"(%in) " SUM
               " {" GROUPS("[[0, 1]]", "1x2") "} : (tensor<2xf32>) -> tensor<2xf32>\n")
             START(
                 "g", "2xf32", "4xf32",
                 "%p = \"stablehlo.all_gather\"(%in) {all_gather_dim = 0 : i64, " GROUPS(
                     "[[0, 1]]",
                     "1x2") "} : (tensor<2xf32>) -> tensor<4xf32>\n") "%n = stablehlo.negate %x : "
                                                                      "tensor<2xf32>\n" DONE("h",
                                                                                             "g",
                                                                                             "4xf3"
                                                                                             "2")
                                                                          DONE(
                                                                              "e", "f",
                                                                              "2xf32") "%k = "
                                                                                       "stablehlo."
                                                                                       "slice %h "
                                                                                       "[1:3] : "
                                                                                       "(tensor<"
                                                                                       "4xf32>) -> "
                                                                                       "tensor<"
                                                                                       "2xf32>\n"
                                                                                       "%l = "
                                                                                       "stablehlo."
                                                                                       "add %e, %n "
                                                                                       ": "
                                                                                       "tensor<"
                                                                                       "2xf32>\n"
                                                                                       "%0 = "
                                                                                       "stablehlo."
                                                                                       "add %k, %l "
                                                                                       ": "
                                                                                       "tensor<"
                                                                                       "2xf32>"),
     2,
     {{101, 201}, {1, 101}}},
    {"each collective that may be started",
     2,
     1,
     MAIN("2xf32", "2xf32",
          START("f", "2xf32", "2xf32",
                "%p = \"stablehlo.collective_permute\"(%in) {source_target_pairs = dense<[[0, 1], "
                "[1, 0]]> : tensor<2x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>\n")
              DONE("bb", "f", "2xf32") START(
                  "g", "2xf32", "2xf32",
                  "%p = \"stablehlo.all_to_all\"(%in) {split_dimension = 0 : i64, concat_dimension "
                  "= 0 : i64, split_count = 2 : i64, " GROUPS(
                      "[[0, 1]]", "1x2") "} : (tensor<2xf32>) -> tensor<2xf32>\n")
                  DONE("c", "g", "2xf32") START(
                      "h", "2xf32", "1xf32",
                      "%p = \"stablehlo.reduce_scatter\"(%in) " SUM
                      " {scatter_dimension = 0 : i64, " GROUPS(
                          "[[0, 1]]", "1x2") "} : (tensor<2xf32>) -> tensor<1xf32>\n")
                      DONE("d", "h", "1xf32") START(
                          "i", "2xf32", "2xf32",
                          "%p = \"stablehlo.collective_broadcast\"(%in) {" GROUPS(
                              "[[1, 0]]", "1x2") "} : (tensor<2xf32>) -> tensor<2xf32>\n")
                          DONE("e", "i", "2xf32") START(
                              "j", "2xf32", "2xf32",
                              "%p = \"stablehlo.collective_reduce\"(%in) " SUM " {" GROUPS(
                                  "[[1, 0]]", "1x2") "} : (tensor<2xf32>) -> tensor<2xf32>\n")
                              DONE("k", "j", "2xf32") "%l = stablehlo.concatenate %d, %d, dim = 0 "
                                                      ": (tensor<1xf32>, tensor<1xf32>) -> "
                                                      "tensor<2xf32>\n"
                                                      "%m = stablehlo.add %bb, %c : tensor<2xf32>\n"
                                                      "%n = stablehlo.add %l, %e : tensor<2xf32>\n"
                                                      "%q = stablehlo.add %k, %m : tensor<2xf32>\n"
                                                      "%0 = stablehlo.add %n, %q : tensor<2xf32>"),
     2, /* b + c + d + e + k */
     {{100 + 0 + 100 + 100 + 0, 101 + 100 + 100 + 101 + 0},
      {0 + 1 + 102 + 100 + 100, 1 + 101 + 102 + 101 + 102}}},
    {"started in a loop, awaited in a function",
     2,
     1,
     "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
     "%c = stablehlo.constant dense<0> : tensor<i32>\n"
     "%n = stablehlo.constant dense<3> : tensor<i32>\n"
     "%o = stablehlo.constant dense<1> : tensor<i32>\n"
     "%r:2 = stablehlo.while(%i = %c, %v = %x) : tensor<i32>, tensor<2xf32> cond {\n"
     "  %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "  stablehlo.return %p : tensor<i1>\n} do {\n"
     "  %f = call @begin(%v) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>\n"
     "  %j = stablehlo.add %i, %o : tensor<i32>\n"
     "  %w = call @end(%f) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>\n"
     "  stablehlo.return %j, %w : tensor<i32>, tensor<2xf32>\n}\n"
     "return %r#1 : tensor<2xf32>\n}\n"
     "func.func private @begin(%x: tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>> {\n" START(
         "f", "2xf32", "2xf32",
         "%p = \"stablehlo.all_reduce\"(%in) " SUM " {" GROUPS(
             "[[0, 1]]",
             "1x2") "} : (tensor<2xf32>) -> tensor<2xf32>\n") "return %f : "
                                                              "!stablehlo.future<tensor<2xf32>>\n}"
                                                              "\n"
                                                              "func.func private @end(%f: "
                                                              "!stablehlo.future<tensor<2xf32>>) "
                                                              "-> tensor<2xf32> {\n" DONE(
                                                                  "d", "f",
                                                                  "2xf32") "return %d : "
                                                                           "tensor<2xf32>\n}\n",
     2,
     {{400, 408}, {400, 408}}},
    {"started in a manual computation",
     1,
     2,
     "sdy.mesh @mesh = <[\"x\"=2]>\n"
     "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
     "%0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] "
     "manual_axes={\"x\"} (%x0: tensor<2xf32>) {\n"
     "%f = \"stablehlo.async_start\"(%x0) ({\n^bb0(%in: tensor<2xf32>):\n"
     "%p = \"stablehlo.all_reduce\"(%in) " SUM " {" GROUPS("[[0, 1]]", "1x2") ", " CHANNEL(
         1) ", " GLOBAL "} : (tensor<2xf32>) -> tensor<2xf32>\n"
            "stablehlo.return %p : tensor<2xf32>\n"
            "}) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>\n" DONE(
                "d", "f", "2xf32") "sdy.return %d : tensor<2xf32>\n"
                                   "} : (tensor<2xf32>) -> tensor<2xf32>\n"
                                   "return %0 : tensor<2xf32>\n}\n",
     2,
     {{100, 102}, {100, 102}}},
    {"in a loop",
     2,
     1,
     MAIN("2xf32", "2xf32",
          "%c = stablehlo.constant dense<0> : tensor<i32>\n"
          "%n = stablehlo.constant dense<3> : tensor<i32>\n"
          "%o = stablehlo.constant dense<1> : tensor<i32>\n"
          "%r:2 = stablehlo.while(%i = %c, %v = %x) : tensor<i32>, tensor<2xf32> cond {\n"
          "  %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
          "  stablehlo.return %p : tensor<i1>\n} do {\n"
          "  %w = \"stablehlo.all_reduce\"(%v) " SUM " {" GROUPS(
              "[[0, 1]]", "1x2") "} : (tensor<2xf32>) -> tensor<2xf32>\n"
                                 "  %j = stablehlo.add %i, %o : tensor<i32>\n"
                                 "  stablehlo.return %j, %w : tensor<i32>, tensor<2xf32>\n}\n"
                                 "%0 = stablehlo.negate %r#1 : tensor<2xf32>"),
     2,
     {{-400, -408}, {-400, -408}}},
    {"in branches of the same channel",
     2,
     1,
     MAIN("2xf32", "2xf32",
          "%i = stablehlo.replica_id : tensor<ui32>\n"
          "%q = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>\n"
          "%0 = \"stablehlo.case\"(%q) ({\n"
          "  %w = \"stablehlo.all_reduce\"(%x) " SUM " {" GROUPS(
              "[[0, 1]]", "1x2") "} : (tensor<2xf32>) -> tensor<2xf32>\n"
                                 "  stablehlo.return %w : tensor<2xf32>\n}, {\n"
                                 "  %u = stablehlo.negate %x : tensor<2xf32>\n"
                                 "  %w = \"stablehlo.all_reduce\"(%u) " SUM " {" GROUPS(
                                     "[[0, 1]]", "1x2") "} : (tensor<2xf32>) -> tensor<2xf32>\n"
                                                        "  stablehlo.return %w : tensor<2xf32>\n}) "
                                                        ": (tensor<i32>) -> tensor<2xf32>"),
     2,
     {{-100, -100}, {-100, -100}}},
};

static void fill(fleet *f) {
  for (int d = 0; d < FLEET_MAX; d++)
    for (int i = 0; i < FLEET_FLOATS; i++)
      f->in[d][i] = (float)(100 * d + i);
}

TEST_WITHOUT_TORTURE(cpu_collective, values) {
  for (size_t i = 0; i < TT_COUNT(rows); i++) {
    const row *r = &rows[i];
    fleet f = {.text = r->text, .replicas = r->replicas, .partitions = r->partitions};
    fill(&f);
    tt_test_ok(__FILE__, __LINE__, r->name, fleet_run(&f));
    for (int d = 0; d < r->replicas * r->partitions; d++) {
      tt_test_ok(__FILE__, __LINE__, r->name, tt_error_copy(f.errors[d]));
      for (int k = 0; k < r->count; k++)
        tt_test_double(__FILE__, __LINE__, r->name, (double)f.out[d][k], (double)r->want[d][k], 0);
    }
    fleet_free(&f);
  }
}

/* Programs whose groups do not fit the devices. */
TEST_WITHOUT_TORTURE(cpu_collective, groups_are_checked) {
  static const struct {
    int64_t replicas, partitions;
    const char *groups, *part;
  } bad[] = {
      {2, 1, "[[0, 2]]", "names device 2 of 2"},
      {3, 1, "[[0, 1]]", "replica 2, partition 0 is in no group"},
      {1, 1, "[[0, 1]]", "names device 1 of 1"},
  };
  for (size_t i = 0; i < TT_COUNT(bad); i++) {
    char text[1024];
    snprintf(text, sizeof text, "%s%s%s",
             "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
             "%0 = \"stablehlo.all_reduce\"(%x) " SUM " {replica_groups = dense<",
             bad[i].groups,
             "> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>\n"
             "return %0 : tensor<2xf32>\n}\n");
    fleet f = {.text = text, .replicas = bad[i].replicas, .partitions = bad[i].partitions};
    EXPECT_ERR(fleet_run(&f), TT_INVALID_ARGUMENT, bad[i].part);
    fleet_free(&f);
  }
}

TEST_WITHOUT_TORTURE(cpu_collective, axes_are_checked) {
  static const struct {
    const char *text, *part;
  } bad[] = {
      {AXES_REDUCE(MESH, MESH_GROUPS("@other", AXIS("x"))), "no mesh is named @other"},
      {AXES_REDUCE(MESH, MESH_GROUPS("@mesh", AXIS("z"))), "the mesh has no axis \"z\""},
      {AXES_REDUCE(MESH, MESH_GROUPS("@mesh", AXIS("x") ", " AXIS("x"))), "is used twice"},
      {AXES_REDUCE(MESH, MESH_GROUPS("@mesh", "1")), "expected #stablehlo.axis_ref<"},
      {AXES_REDUCE("sdy.mesh @mesh = <[\"x\"=4]>\n",
                   MESH_GROUPS("@mesh", "#stablehlo.axis_ref<name = \"x\", sub_axis_info = (1)3>")),
       "(1)3 is no part of an axis of 4"},
      {AXES_REDUCE("sdy.mesh @mesh = <[\"x\"=8]>\n", MESH_GROUPS("@mesh", AXIS("x"))),
       "names device 4 of 4"},
      {AXES_REDUCE("", MESH_GROUPS("#stablehlo.mesh<axes = [" MESH_AXIS(
                                       "x") "], device_ids = dense<\"0x00\"> : tensor<2xi64>>",
                                   AXIS("x"))),
       "expected 16 hex digits"},
      {AXES_REDUCE("", MESH_GROUPS("#stablehlo.mesh<axes = [" MESH_AXIS(
                                       "x") "], device_ids = dense<1> : tensor<2xi64>>",
                                   AXIS("x"))),
       "expected a number"},
  };
  for (size_t i = 0; i < TT_COUNT(bad); i++) {
    fleet f = {.text = bad[i].text, .replicas = 4, .partitions = 1};
    EXPECT_ERR(fleet_run(&f), TT_INVALID_ARGUMENT, bad[i].part);
    fleet_free(&f);
  }
}

/* A different value from each device of eight, and all of them have them. */
TEST_WITHOUT_TORTURE(cpu_collective, roots_among_eight) {
  static const char text[] =
      MAIN("8xf32", "8xf32",
           "%i = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xi32>\n"
           "%h = stablehlo.constant dense<100> : tensor<8xi32>\n"
           "%v = stablehlo.remainder %i, %h : tensor<8xi32>\n" /* 0 to 7 on each */
           "%t = stablehlo.reverse %v, dims = [0] : tensor<8xi32>\n"
           "%r = stablehlo.slice %t [0:2] : (tensor<8xi32>) -> tensor<2xi32>\n" /* 7, 6 */
           "%y = stablehlo.negate %x : tensor<8xf32>\n"
           "%f = \"stablehlo.collective_broadcast\"(%x, %r0) {has_dynamic_root, " ALL_EIGHT
           "} : (tensor<8xf32>, tensor<1xi32>) -> tensor<8xf32>\n"
           "%z:2 = \"stablehlo.collective_broadcast\"(%f, %y, %r) {has_dynamic_root, " ALL_EIGHT
           "} : (tensor<8xf32>, tensor<8xf32>, tensor<2xi32>) -> (tensor<8xf32>, tensor<8xf32>)\n"
           "%0 = stablehlo.add %z#0, %z#1 : tensor<8xf32>");
  static const char slice[] =
      "%r0 = stablehlo.slice %t [2:3] : (tensor<8xi32>) -> "
      "tensor<1xi32>\n%y =";
  char whole[4096];
  const char *at = strstr(text, "%y =");
  snprintf(whole, sizeof whole, "%.*s%s%s", (int)(at - text), text, slice, at + 4);
  fleet f = {.text = whole, .replicas = 8, .partitions = 1};
  fill(&f);
  EXPECT_OK(fleet_run(&f));
  for (int d = 0; d < 8; d++) {
    EXPECT_OK(tt_error_copy(f.errors[d]));
    for (int k = 0; k < 8; k++) /* member 5 is device 2, member 6 is device 1 */
      EXPECT_DOUBLE((double)f.out[d][k], (double)(200 + k - (100 + k)), 0);
  }
  fleet_free(&f);
}

/* Roots that are none, or not the same for all: each member fails, and nobody waits. */
TEST_WITHOUT_TORTURE(cpu_collective, roots_are_checked) {
  static const struct {
    const char *op, *root, *part;
  } bad[] = {
      {"broadcast", "%u",
       "collective_broadcast: root 0 is 0 for member 0 of the group, and 1 for "
       "member 1"},
      {"broadcast", "%t", "collective_broadcast: root 0 is 2, and the group has 2 members"},
      {"reduce", "%n", "collective_reduce: root 0 is -1, and the group has 2 members"},
      {"reduce", "%u", "collective_reduce: root 0 is 0 for member 0 of the group, and 1 for "},
  };
  for (size_t i = 0; i < TT_COUNT(bad); i++) {
    char text[2048];
    bool reduce = strcmp(bad[i].op, "reduce") == 0;
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<2xf32>) -> tensor<2xf32> {\n"
             "%%i = stablehlo.replica_id : tensor<ui32>\n"
             "%%j = stablehlo.convert %%i : (tensor<ui32>) -> tensor<i32>\n"
             "%%u = stablehlo.reshape %%j : (tensor<i32>) -> tensor<1xi32>\n"
             "%%t = stablehlo.constant dense<2> : tensor<1xi32>\n"
             "%%n = stablehlo.constant dense<-1> : tensor<1xi32>\n"
             "%%0 = \"stablehlo.collective_%s\"(%%x, %s) %s {has_dynamic_root, " GROUPS(
                 "[[0, 1]]", "1x2") "} : (tensor<2xf32>, tensor<1xi32>) -> tensor<2xf32>\n"
                                    "return %%0 : tensor<2xf32>\n}\n",
             bad[i].op, bad[i].root, reduce ? SUM : "");
    fleet f = {.text = text, .replicas = 2, .partitions = 1};
    EXPECT_OK(fleet_run(&f));
    for (int d = 0; d < 2; d++)
      EXPECT_ERR(tt_error_copy(f.errors[d]), TT_INVALID_ARGUMENT, bad[i].part);
    fleet_free(&f);
  }
}

/* What a pair fails with is what the collective does. */
TEST_WITHOUT_TORTURE(cpu_collective, errors_of_what_is_started) {
  static const struct {
    const char *text, *part;
    tt_code code;
  } bad[] = {
      {MAIN("2xf32", "2xf32",
            START("f", "2xf32", "2xf32",
                  "%p = \"stablehlo.all_reduce\"(%in) " SUM
                  " {" GROUPS("[[0, 2]]", "1x2") "} : (tensor<2xf32>) -> tensor<2xf32>\n")
                DONE("0", "f", "2xf32")),
       "names device 2 of 2", TT_INVALID_ARGUMENT},
      {"func.func @main(%x: tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>> {\n" START(
           "f", "2xf32", "2xf32",
           "%p = stablehlo.slice %in [0:2] : (tensor<2xf32>) -> tensor<2xf32>\n") "return %f : "
                                                                                  "!stablehlo."
                                                                                  "future<tensor<"
                                                                                  "2xf32>>\n}\n",
       "@main: result 0 is a future", TT_UNIMPLEMENTED},
      {"func.func @main(%f: !stablehlo.future<tensor<2xf32>>) -> tensor<2xf32> {\n" DONE(
           "0", "f", "2xf32") "return %0 : tensor<2xf32>\n}\n",
       "@main: argument 0 is a future", TT_UNIMPLEMENTED},
      {MAIN(
           "2xf32", "2xf32",
           START(
               "f", "2xf32", "2xf32",
               "%p = stablehlo.slice %in [0:2] : (tensor<2xf32>) -> tensor<2xf32>\n") "%g = "
                                                                                      "stablehlo."
                                                                                      "custom_call "
                                                                                      "@other(%f) "
                                                                                      ": "
                                                                                      "(!stablehlo."
                                                                                      "future<"
                                                                                      "tensor<"
                                                                                      "2xf32>"
                                                                                      ">) -> "
                                                                                      "!stablehlo."
                                                                                      "future<"
                                                                                      "tensor<"
                                                                                      "2xf32>"
                                                                                      ">\n" DONE(
                                                                                          "0", "g",
                                                                                          "2xf32")),
       "stablehlo.custom_call: futures", TT_UNIMPLEMENTED},
  };
  for (size_t i = 0; i < TT_COUNT(bad); i++) {
    fleet f = {.text = bad[i].text, .replicas = 2, .partitions = 1};
    EXPECT_ERR(fleet_run(&f), bad[i].code, bad[i].part);
    fleet_free(&f);
  }
}

/* ---- meetings that do not come about ---- */

#define REDUCE(channel)                            \
  "\"stablehlo.all_reduce\"(%x) " SUM " {" GROUPS( \
      "[[0, 1]]", "1x2") ", " CHANNEL(channel) ", " GLOBAL "} : (tensor<2xf32>) -> tensor<2xf32>"
#define BRANCHES(first, second)                                      \
  MAIN("2xf32", "2xf32",                                             \
       "%i = stablehlo.replica_id : tensor<ui32>\n"                  \
       "%q = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>\n" \
       "%0 = \"stablehlo.case\"(%q) ({\n  %w = " first               \
       "\n  stablehlo.return %w : tensor<2xf32>\n}, {\n"             \
       "  %w = " second                                              \
       "\n  stablehlo.return %w : tensor<2xf32>\n}) : (tensor<i32>) -> tensor<2xf32>")

TEST_WITHOUT_TORTURE(cpu_collective, nobody_waits_for_ever) {
  static const struct {
    const char *text, *part;
    tt_code code;
    int64_t wait_ns;
    bool absent;
  } bad[] = {
      {BRANCHES(REDUCE(1), "stablehlo.negate %x : tensor<2xf32>"), "its run has ended",
       TT_FAILED_PRECONDITION, 0, false},
      {BRANCHES(REDUCE(1), REDUCE(2)), "it waits at another operation", TT_FAILED_PRECONDITION, 0,
       false},
      {MAIN("2xf32", "2xf32", "%0 = " REDUCE(1)), "the time for it is over", TT_DEADLINE_EXCEEDED,
       20000000, true},
      {BRANCHES(REDUCE(1),
                "\"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[[0, "
                "1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>"),
       "it waits at another operation", TT_FAILED_PRECONDITION, 0, false},
  };
  for (size_t i = 0; i < TT_COUNT(bad); i++) {
    fleet f = {.text = bad[i].text, .replicas = 2, .partitions = 1, .wait_ns = bad[i].wait_ns};
    f.absent[1] = bad[i].absent;
    EXPECT_OK(fleet_run(&f));
    EXPECT_ERR(tt_error_copy(f.errors[0]), bad[i].code, bad[i].part);
    fleet_free(&f);
  }
}

TEST_WITHOUT_TORTURE(cpu_collective, different_operations_do_not_meet) {
  fleet f = {
      .text = BRANCHES(
          REDUCE(1), "\"stablehlo.all_gather\"(%y) {all_gather_dim = 0 : i64, " GROUPS(
                         "[[0, 1]]", "1x2") ", " CHANNEL(1) ", " GLOBAL
                                                            "} : (tensor<1xf32>) -> tensor<2xf32>"),
      .replicas = 2,
      .partitions = 1};
  char text[2048];
  const char *body = strchr(f.text, '{') + 2;
  snprintf(text, sizeof text, "%.*s%s%s", (int)(body - f.text), f.text,
           "%y = stablehlo.slice %x [0:1] : (tensor<2xf32>) -> tensor<1xf32>\n", body);
  f.text = text;
  EXPECT_OK(fleet_run(&f));
  for (int d = 0; d < 2; d++)
    EXPECT_ERR(tt_error_copy(f.errors[d]), TT_INVALID_ARGUMENT, "meet at different operations");
  fleet_free(&f);
}

/* Of the same types, but not the same: each would give another result. */
TEST_WITHOUT_TORTURE(cpu_collective, unlike_operations_do_not_meet) {
#define GATHER(axis)                                                                           \
  "\"stablehlo.all_to_all\"(%x) {split_dimension = " #axis " : i64, concat_dimension = " #axis \
  " : i64, split_count = 2 : i64, " GROUPS(                                                    \
      "[[0, 1]]", "1x2") ", " CHANNEL(1) "} : (tensor<2x2xf32>) -> tensor<2x2xf32>"
#define REDUCE_BY(region)                             \
  "\"stablehlo.all_reduce\"(%x) " region " {" GROUPS( \
      "[[0, 1]]", "1x2") ", " CHANNEL(1) ", " GLOBAL "} : (tensor<2xf32>) -> tensor<2xf32>"
#define BY(op)                                    \
  "({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n" \
  "  %s = stablehlo." op                          \
  " : tensor<f32>\n"                              \
  "  stablehlo.return %s : tensor<f32>\n})"
  static const char square[] =
      "func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {\n"
      "%i = stablehlo.partition_id : tensor<ui32>\n"
      "%q = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>\n"
      "%0 = \"stablehlo.case\"(%q) ({\n  %w = " GATHER(
          0) "\n  stablehlo.return %w : tensor<2x2xf32>\n}, {\n  %w = " GATHER(1) "\n  "
                                                                                 "stablehlo.return "
                                                                                 "%w : "
                                                                                 "tensor<2x2xf32>"
                                                                                 "\n}) : "
                                                                                 "(tensor<i32>) -> "
                                                                                 "tensor<2x2xf32>"
                                                                                 "\nreturn %0 : "
                                                                                 "tensor<2x2xf32>"
                                                                                 "\n}\n";
  static const struct {
    const char *text;
    int64_t replicas;
    bool alike;
  } pairs[] = {
      {BRANCHES(REDUCE_BY(BY("add %a, %b")), REDUCE_BY(BY("maximum %a, %b"))), 2, false},
      {BRANCHES(REDUCE_BY(BY("add %a, %b")), REDUCE_BY(BY("add %a, %a"))), 2, false},
      {square, 1, false},
      {BRANCHES(REDUCE_BY(BY("add %a, %b")), REDUCE_BY(BY("add %a, %b"))), 2, true},
  };
  for (size_t i = 0; i < TT_COUNT(pairs); i++) {
    fleet f = {
        .text = pairs[i].text, .replicas = pairs[i].replicas, .partitions = 2 / pairs[i].replicas};
    EXPECT_OK(fleet_run(&f));
    for (int d = 0; d < 2; d++)
      if (pairs[i].alike)
        EXPECT_OK(tt_error_copy(f.errors[d]));
      else
        EXPECT_ERR(tt_error_copy(f.errors[d]), TT_INVALID_ARGUMENT, "meet at different operations");
    fleet_free(&f);
  }
}

/* A fold calls its region once an element, on as many threads as it likes. */
TEST_WITHOUT_TORTURE(cpu_collective, not_in_regions_of_folds) {
#define REDUCED(body)                                                                         \
  MAIN("2xf32", "f32",                                                                        \
       "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"                                   \
       "%0 = \"stablehlo.reduce\"(%x, %z) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n" body \
       "\n  stablehlo.return %s : tensor<f32>\n}) {dimensions = array<i64: 0>} : "            \
       "(tensor<2xf32>, tensor<f32>) -> tensor<f32>")
#define INNER                                                                                    \
  "  %s = \"stablehlo.all_reduce\"(%a) ({\n^bb0(%c: tensor<f32>, %d: tensor<f32>):\n"            \
  "  %e = stablehlo.add %c, %d : tensor<f32>\n  stablehlo.return %e : tensor<f32>\n}) {" GROUPS( \
      "[[0, 1]]", "1x2") "} : (tensor<f32>) -> tensor<f32>\n"
  static const char *const texts[] = {
      REDUCED(INNER), REDUCED("  %s = func.call @f(%a) : (tensor<f32>) -> tensor<f32>")
      "func.func private @f(%a: tensor<f32>) -> tensor<f32> {\n" INNER
      "  return %s : tensor<f32>\n}\n"};
  for (size_t i = 0; i < TT_COUNT(texts); i++) {
    fleet f = {.text = texts[i], .replicas = 2, .partitions = 1};
    EXPECT_ERR(fleet_run(&f), TT_UNIMPLEMENTED,
               "stablehlo.all_reduce in a region of stablehlo.reduce");
    fleet_free(&f);
  }
}

/* The time for a program of many devices grows as they do: 16384 of them took some minutes. */
TEST_WITHOUT_TORTURE(cpu_collective, many_devices) {
  enum { DEVICES = 16384 };
  tt_bytes text = {0};
  tt_hlo_module *module = NULL;
  int64_t *members = calloc(DEVICES, sizeof *members), count = 0, position = 0;
  int64_t begin = tt_cpu_now();
  tt_bytes_text(&text,
                "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                "%0 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[");
  for (int i = DEVICES; i-- > 0;)
    tt_bytes_printf(&text, "%s[%d, %d]", i == DEVICES - 1 ? "" : ", ", i, (i + 1) % DEVICES);
  tt_bytes_printf(&text,
                  "]> : tensor<%dx2xi64>} : (tensor<4xf32>) -> tensor<4xf32>\n"
                  "%%1 = \"stablehlo.all_gather\"(%%0) {all_gather_dim = 0 : i64, replica_groups = "
                  "dense<[",
                  DEVICES);
  for (int i = 0; i < DEVICES; i++)
    tt_bytes_printf(&text, "%s[%d]", i == 0 ? "" : ", ", i);
  tt_bytes_printf(&text,
                  "]> : tensor<%dx1xi64>} : (tensor<4xf32>) -> tensor<4xf32>\n"
                  "return %%1 : tensor<4xf32>\n}\n",
                  DEVICES);
  REQUIRE_OK(tt_bytes_status(&text));
  REQUIRE_OK(tt_hlo_parse(text.data, text.size, &module));
  REQUIRE_OK(tt_cpu_groups_check(module, DEVICES, 1));
  REQUIRE_OK(
      tt_cpu_group_of(module->funcs->body->first, DEVICES, 1, 9, members, &count, &position));
  EXPECT_INT(count, DEVICES);
  EXPECT_INT(position, 9);
  EXPECT_INT(members[9], 9);
  EXPECT(tt_cpu_now() - begin < INT64_C(10000000000));
out:
  tt_bytes_free(&text);
  tt_hlo_module_free(module);
  free(members);
}

/* A member whose run fails ends the others' with its own error. */
TEST_WITHOUT_TORTURE(cpu_collective, failure_reaches_all) {
  fleet f = {.text = MAIN("2xf32", "2xf32", "%0 = " REDUCE(1)), .replicas = 2, .partitions = 1};
  tt_cpu_team *team = NULL;
  tt_cpu_meeting *meeting = NULL;
  const tt_cpu_post *posts = NULL;
  const int64_t members[] = {0, 1};
  tt_hlo_module *module = NULL;
  tt_error *why = tt_error_new(TT_RESOURCE_EXHAUSTED, "no memory for it");
  REQUIRE_OK(tt_hlo_parse(f.text, strlen(f.text), &module));
  REQUIRE_OK(tt_cpu_team_new(2, 1, INT64_C(60000000000), &team));
  tt_cpu_team_leave(team, 1, why);
  EXPECT_ERR(tt_cpu_team_meet(team, module->funcs->body->first, members, 2, 0, (tt_cpu_post){0},
                              &meeting, &posts),
             TT_RESOURCE_EXHAUSTED, "replica 1, partition 0 failed: no memory for it");
out:
  tt_cpu_team_release(team);
  tt_hlo_module_free(module);
  tt_error_free(why);
}
