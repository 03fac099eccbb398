#include <stdio.h>
#include <string.h>

#include "fleet.h"
#include "test.h"

#define MESH "sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"
#define MODULE(mesh, func) \
  "module @m attributes {mhlo.num_partitions = 4 : i32} {\n" mesh func "\n}\n"
#define DOUBLE(in, out, axes, part, whole)                                                         \
  "sdy.manual_computation(%x) in_shardings=[<@mesh, " in ">] out_shardings=[<@mesh, " out          \
  ">] manual_axes={" axes "} (%a: tensor<" part ">) {\n  %b = stablehlo.add %a, %a : tensor<" part \
  ">\n  sdy.return %b : tensor<" part ">\n} : (tensor<" whole ">) -> tensor<" whole ">"

/* Element i of device d is 100 d + i at first, or i where `whole` says that all have the same. */
typedef struct row {
  const char *name, *text;
  bool whole;
  int count;
  float want[4][8];
} row;

static const row rows[] = {
    {"whole in, whole out",
     MODULE(MESH, "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = " DOUBLE(
                      "[{\"x\", \"y\"}]", "[{\"x\", \"y\"}]", "\"x\", \"y\"", "1xf32",
                      "4xf32") "\nreturn %0 : tensor<4xf32>\n}"),
     true,
     4,
     {{0, 2, 4, 6}, {0, 2, 4, 6}, {0, 2, 4, 6}, {0, 2, 4, 6}}},
    {"parts in, parts out",
     MODULE(MESH,
            "func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\", "
            "\"y\"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\", \"y\"}]>}) "
            "{\n%0 = " DOUBLE("[{\"x\", \"y\"}]", "[{\"x\", \"y\"}]", "\"x\", \"y\"", "1xf32",
                              "4xf32") "\nreturn %0 : tensor<4xf32>\n}"),
     false,
     1,
     {{0}, {200}, {400}, {600}}},
    /* Device 0 has element 0, 1 has 2, 2 has 1, 3 has 3. */
    {"from one division to another",
     MODULE(MESH,
            "func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"y\", "
            "\"x\"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) {\n"
            "%0 = " DOUBLE("[{\"x\", \"y\"}]", "[{\"x\", \"y\"}]", "\"x\", \"y\"", "1xf32",
                           "4xf32") "\nreturn %0 : tensor<4xf32>\n}"),
     false,
     2,
     {{0, 400}, {0, 400}, {200, 600}, {200, 600}}},
    {"some axes are not manual",
     MODULE(MESH, "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = " DOUBLE(
                      "[{\"x\", \"y\"}]", "[{\"x\", \"y\"}]", "\"x\"", "2xf32",
                      "4xf32") "\nreturn %0 : tensor<4xf32>\n}"),
     true,
     4,
     {{0, 2, 4, 6}, {0, 2, 4, 6}, {0, 2, 4, 6}, {0, 2, 4, 6}}},
    {"a mesh in another order",
     MODULE(
         "sdy.mesh @mesh = <[\"x\"=4], device_ids=[3, 2, 1, 0]>\n",
         "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = "
         "#sdy.sharding<@mesh, [{\"x\"}]>}) {\n%0 = " DOUBLE(
             "[{\"x\"}]", "[{\"x\"}]", "\"x\"", "1xf32", "4xf32") "\nreturn %0 : tensor<4xf32>\n}"),
     true,
     1,
     {{6}, {4}, {2}, {0}}},
    {"parts of an axis",
     MODULE(
         "sdy.mesh @mesh = <[\"x\"=4]>\n",
         "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = "
         "#sdy.sharding<@mesh, [{\"x\":(2)2}]>}) {\n%0 = " DOUBLE(
             "[{\"x\"}]", "[{\"x\"}]", "\"x\"", "1xf32", "4xf32") "\nreturn %0 : tensor<4xf32>\n}"),
     true,
     2,
     {{0, 2}, {4, 6}, {0, 2}, {4, 6}}},
    {"what stands outside works on the whole",
     MODULE(MESH,
            "func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\", "
            "\"y\"}]>}) -> tensor<4xf32> {\n%1 = " DOUBLE(
                "[{\"x\", \"y\"}]", "[{\"x\", \"y\"}]", "\"x\", \"y\"", "1xf32",
                "4xf32") "\n%2 = stablehlo.reverse %1, dims = [0] : tensor<4xf32>\n%0 = "
                         "stablehlo.add %2, "
                         "%x : tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}"),
     false,
     4,
     {{600, 500, 400, 300}, {600, 500, 400, 300}, {600, 500, 400, 300}, {600, 500, 400, 300}}},
};

TEST_WITHOUT_TORTURE(cpu_partition, values) {
  for (size_t i = 0; i < TT_COUNT(rows); i++) {
    const row *r = &rows[i];
    fleet f = {.text = r->text, .replicas = 1, .partitions = 4};
    for (int d = 0; d < 4; d++)
      for (int k = 0; k < FLEET_FLOATS; k++)
        f.in[d][k] = (float)(r->whole ? k : 100 * d + k);
    tt_test_ok(__FILE__, __LINE__, r->name, fleet_run(&f));
    for (int d = 0; d < 4; d++) {
      tt_test_ok(__FILE__, __LINE__, r->name, tt_error_copy(f.errors[d]));
      for (int k = 0; k < r->count; k++)
        tt_test_double(__FILE__, __LINE__, r->name, (double)f.out[d][k], (double)r->want[d][k], 0);
    }
    fleet_free(&f);
  }
}

TEST_WITHOUT_TORTURE(cpu_partition, mistakes) {
  static const struct {
    const char *mesh, *in;
    tt_code code;
    const char *part;
  } bad[] = {
      {"<[\"x\"=4]>", "<@mesh, [{\"z\"}]>", TT_INVALID_ARGUMENT, "no axis \"z\""},
      {"<[\"x\"=4]>", "<@mash, [{\"x\"}]>", TT_INVALID_ARGUMENT, "no mesh is named @mash"},
      {"<[\"x\"=8]>", "<@mesh, [{\"x\"}]>", TT_INVALID_ARGUMENT, "a mesh of 8 devices"},
      {"<[\"x\"=4]>", "<@mesh, [{\"x\":(3)2}]>", TT_INVALID_ARGUMENT, "no part of an axis"},
      {"<[\"x\"=4]>", "<@mesh, [{\"x\", \"x\"}]>", TT_INVALID_ARGUMENT, "axis \"x\" is used twice"},
      {"<[\"x\"=2, \"y\"=2]>", "<@mesh, [{\"x\", \"x\"}]>", TT_INVALID_ARGUMENT,
       "axis \"x\" is used twice"},
      {"<[\"x\"=4]>", "<@mesh, [{\"x\":(2)2, \"x\":(2)2}]>", TT_INVALID_ARGUMENT,
       "axis \"x\" is used twice"},
      {"<[\"x\"=4]>", "<@mesh, [{}]>", TT_INVALID_ARGUMENT, "the shardings make it"},
      {"<[\"x\"=4]>", "<@mesh, [{\"x\"}, {}]>", TT_INVALID_ARGUMENT, "expected ]"},
      {"<[\"x\"=4], device_ids=[0, 0, 1, 2]>", "<@mesh, [{\"x\"}]>", TT_INVALID_ARGUMENT, "twice"},
      {"<[\"x\"=0]>", "<@mesh, [{\"x\"}]>", TT_INVALID_ARGUMENT, "axis 0 has size 0"},
      {"<[\"x\"=99999999999999999999]>", "<@mesh, [{\"x\"}]>", TT_INVALID_ARGUMENT, "a number"},
  };
  for (size_t i = 0; i < TT_COUNT(bad); i++) {
    char text[1024];
    snprintf(text, sizeof text,
             "module @m attributes {mhlo.num_partitions = 4 : i32} {\nsdy.mesh @mesh = %s\n"
             "func.func @main(%%x: tensor<4xf32>) -> tensor<4xf32> {\n"
             "%%0 = sdy.manual_computation(%%x) in_shardings=[%s] out_shardings=[<@mesh, "
             "[{\"x\"}]>] manual_axes={\"x\"} (%%a: tensor<1xf32>) {\n"
             "sdy.return %%a : tensor<1xf32>\n} : (tensor<4xf32>) -> tensor<4xf32>\n"
             "return %%0 : tensor<4xf32>\n}\n}\n",
             bad[i].mesh, bad[i].in);
    fleet f = {.text = text, .replicas = 1, .partitions = 4};
    tt_test_err(__FILE__, __LINE__, bad[i].part, fleet_run(&f), bad[i].code, bad[i].part);
    fleet_free(&f);
  }
}

/* Nobody says here how the devices work on their parts. */
TEST_WITHOUT_TORTURE(cpu_partition, is_not_done_for_programs) {
  fleet f = {.text = "module @m {\n" MESH
                     "func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, "
                     "[{\"x\"}]>}) -> tensor<4xf32> {\n%0 = stablehlo.negate %x : tensor<4xf32>\n"
                     "return %0 : tensor<4xf32>\n}\n}\n",
             .replicas = 1,
             .partitions = 4};
  EXPECT_ERR(fleet_run(&f), TT_UNIMPLEMENTED, "argument 0 is divided among 4 devices");
  fleet_free(&f);
}
