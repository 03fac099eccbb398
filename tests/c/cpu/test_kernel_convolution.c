/* convolution: every way of packing and cutting, f32 against f64, which takes patches and gemm. The
 * operands are small integers, so that both are exact. */
#include <stdio.h>
#include <stdlib.h>

#include "test.h"
#include "test_kernel_case.h"

typedef struct conv_case {
  const char *in, *filter, *out; /* dims */
  const char *numbers, *attrs;
  int feature_groups, batch_groups;
} conv_case;

#define NCH "[b, f, 0]x[o, i, 0]->[b, f, 0]"
#define NCHW "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"
#define NHWC "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
#define NCHW_WEIGHT "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]"
#define NHWC_WEIGHT "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]"
#define NCDHW "[b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2]"
#define PAD(h, w) ", padding = dense<[[" h "], [" w "]]> : tensor<2x2xi64>"
#define PAIR(name, h, w) ", " name " = array<i64: " h ", " w ">"

static const conv_case cases[] = {
    /* Positions as vectors: whole images in one run, several runs, gathered. */
    {"2x5x16x16", "17x5x3x3", "2x17x16x16", NCHW, PAD("1, 1", "1, 1"), 1, 1},
    {"3x6x4x4", "15x6x3x3", "3x15x4x4", NCHW, PAD("1, 1", "1, 1"), 1, 1},
    {"9x7x2x2", "29x7x3x3", "9x29x2x2", NCHW, PAD("1, 1", "1, 1"), 1, 1},
    {"2x3x7x9", "5x3x3x2", "2x5x6x9", NCHW, PAD("0, 1", "1, 0"), 1, 1},
    {"2x3x17x19", "33x3x7x7", "2x33x9x10", NCHW,
     PAD("3, 3", "3, 3") PAIR("window_strides", "2", "2"), 1, 1},
    {"2x4x9x9", "3x4x3x3", "2x3x5x5", NCHW, PAIR("rhs_dilation", "2", "2"), 1, 1},
    {"2x4x8x8", "6x4x1x1", "2x6x8x8", NCHW, "", 1, 1},
    {"2x4x8x8", "6x4x3x3", "2x6x4x10", NCHW,
     PAD("-1, -1", "2, 2") ", window_reversal = array<i1: true, false>", 1, 1},
    {"2x4x3x3", "6x4x3x3", "2x6x11x1", NCHW, PAD("5, 5", "-1, 1"), 1, 1},
    /* More ks than a block has: of channels, of taps. */
    {"2x70x6x6", "15x70x3x3", "2x15x4x4", NCHW, "", 1, 1},
    {"2x600x5x5", "4x600x1x1", "2x4x5x5", NCHW, "", 1, 1},
    {"2x3x640", "4x3x600", "2x4x41", NCH, "", 1, 1},
    {"2x3x610", "40x3x600", "2x40x11", NCH, "", 1, 1},
    /* The input dilated: phases, some without taps. */
    {"2x5x4x4", "7x5x3x3", "2x7x8x8", NCHW, PAD("1, 2", "1, 2") PAIR("lhs_dilation", "2", "2"), 1,
     1},
    {"2x5x4x4", "7x5x1x1", "2x7x7x10", NCHW, PAIR("lhs_dilation", "2", "3"), 1, 1},
    {"2x5x4x4", "7x5x3x2", "2x7x6x9", NCHW,
     PAD("1, 0", "0, 1") PAIR("lhs_dilation", "2", "3") PAIR("rhs_dilation", "1", "2"), 1, 1},
    {"2x5x4x4", "7x5x3x3", "2x7x3x3", NCHW,
     PAIR("lhs_dilation", "2", "2") PAIR("window_strides", "2", "2"), 1, 1},
    /* ks as vectors, with few places and with more than are listed. */
    {"3x6x8x8", "3x17x8x8", "17x6x3x3", NCHW_WEIGHT, PAD("1, 1", "1, 1"), 1, 1},
    {"9x5x2x2", "9x30x2x2", "30x5x3x3", NCHW_WEIGHT, PAD("1, 1", "1, 1"), 1, 1},
    {"2x3x24x24", "2x4x16x16", "4x3x9x9", NCHW_WEIGHT, "", 1, 1},
    {"2x5x17x17", "2x6x9x9", "6x5x3x3", NCHW_WEIGHT,
     PAD("1, 1", "1, 1") PAIR("rhs_dilation", "2", "2"), 1, 1},
    {"2x12x7x7", "2x9x7x7", "9x12x1x1", NCHW_WEIGHT, "", 1, 1},
    /* Features side by side. */
    {"2x9x9x33", "3x3x33x40", "2x9x9x40", NHWC, PAD("1, 1", "1, 1"), 1, 1},
    {"2x9x9x3", "3x3x3x20", "2x4x4x20", NHWC, PAIR("window_strides", "2", "2"), 1, 1},
    {"2x5x5x16", "1x1x16x7", "2x5x5x7", NHWC, "", 1, 1},
    {"2x4x4x17", "3x3x17x32", "2x7x7x32", NHWC, PAD("1, 1", "1, 1") PAIR("lhs_dilation", "2", "2"),
     1, 1},
    {"4x9x9x18", "4x9x9x17", "3x3x18x17", NHWC_WEIGHT, PAD("1, 1", "1, 1"), 1, 1},
    {"2x600x1x1", "600x20x1x1", "2x1x1x20", "[b, f, 0, 1]x[i, o, 0, 1]->[b, 0, 1, f]", "", 1, 1},
    /* Groups. */
    {"2x12x6x6", "18x4x3x3", "2x18x6x6", NCHW, PAD("1, 1", "1, 1"), 3, 1},
    {"2x6x6x12", "3x3x4x54", "2x6x6x54", NHWC, PAD("1, 1", "1, 1"), 3, 1},
    {"6x4x6x6", "6x2x6x6", "4x2x3x3", "[f, b, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
     PAD("1, 1", "1, 1"), 1, 1},
    {"6x5x6x6", "9x5x3x3", "2x9x6x6", NCHW, PAD("1, 1", "1, 1"), 1, 3},
    {"2x5x9x9", "5x1x3x3", "2x5x9x9", NCHW, PAD("1, 1", "1, 1"), 5, 1},
    {"2x5x5x5", "5x1x3x3", "2x5x9x9", NCHW, PAD("1, 1", "1, 1") PAIR("lhs_dilation", "2", "2"), 5,
     1},
    {"2x9x9x5", "3x3x1x5", "2x9x9x5", NHWC, PAD("1, 1", "1, 1"), 5, 1},
    /* Depthwise, by rows: of several vectors, cut in the middle, mostly padding; not by rows. */
    {"2x3x5x30", "3x1x3x3", "2x3x5x30", NCHW, PAD("1, 1", "1, 1"), 3, 1},
    {"3x2x21x101", "2x1x5x7", "3x2x21x101", NCHW, PAD("2, 2", "3, 3"), 2, 1},
    {"2x3x7x64", "3x1x3x3", "2x3x3x66", NCHW, PAD("-1, -1", "3, 3") PAIR("rhs_dilation", "1", "2"),
     3, 1},
    {"2x3x9x40", "3x1x3x3", "2x3x5x38", NCHW,
     PAD("1, 1", "0, 0")
         PAIR("window_strides", "2", "1") ", window_reversal = array<i1: true, true>",
     3, 1},
    {"2x3x4x20", "3x1x3x3", "2x3x8x20", NCHW, PAD("1, 2", "1, 1") PAIR("lhs_dilation", "2", "1"), 3,
     1},
    {"2x3x4x20", "3x1x1x1", "2x3x4x43", NCHW, PAD("0, 0", "11, 12"), 3, 1},
    {"2x3x12x20", "3x1x12x20", "2x3x3x21", NCHW, PAD("1, 1", "10, 10"), 3, 1},
    {"2x5x1500", "5x1x4", "2x5x1503", NCH, ", padding = dense<[[3, 3]]> : tensor<1x2xi64>", 5, 1},
    {"2x3x3x5x18", "3x1x2x3x3", "2x3x2x5x16", NCDHW,
     ", padding = dense<[[0, 0], [1, 1], [0, 0]]> : tensor<3x2xi64>", 3, 1},
    {"2x3x9x40", "3x1x3x3", "2x3x5x20", NCHW, PAD("1, 1", "1, 1") PAIR("window_strides", "2", "2"),
     3, 1},
    /* Other ranks. */
    {"3x5x40", "7x5x5", "3x7x40", NCH, ", padding = dense<[[2, 2]]> : tensor<1x2xi64>", 1, 1},
    {"2x3x4x5x6", "7x3x3x2x3", "2x7x2x4x4", NCDHW, "", 1, 1},
    {"33x5", "40x5", "33x40", "[b, f]x[o, i]->[b, f]", "", 1, 1},
    /* Nothing to sum, or all of it outside. */
    {"2x0x4x4", "3x0x3x3", "2x3x2x2", NCHW, "", 1, 1},
    {"2x3x0x4", "3x3x2x2", "2x3x1x3", NCHW, PAD("1, 1", "0, 0"), 1, 1},
    {"2x3x4x4", "0x3x3x3", "2x0x2x2", NCHW, "", 1, 1},
};

static int64_t count_of(const char *dims) {
  int64_t count = 1;
  for (char *end; *dims != 0; dims = *end == 'x' ? end + 1 : end)
    count *= strtoll(dims, &end, 10);
  return count;
}

/* The operands have (17 i mod 11) - 5 as element i. */
static int print_case(const conv_case *c, const char *element, char *to, size_t size) {
  const char *names[2] = {"x", "k"}, *dims[2] = {c->in, c->filter};
  int at = 0;
  for (int i = 0; i < 2; i++) {
    const char *n = names[i];
    long long count = (long long)count_of(dims[i]);
    at += snprintf(to + at, size - (size_t)at,
                   "%%%s0 = stablehlo.iota dim = 0 : tensor<%lldxi32>\n"
                   "%%%s1 = stablehlo.constant dense<17> : tensor<%lldxi32>\n"
                   "%%%s2 = stablehlo.constant dense<11> : tensor<%lldxi32>\n"
                   "%%%s3 = stablehlo.constant dense<5> : tensor<%lldxi32>\n"
                   "%%%s4 = stablehlo.multiply %%%s0, %%%s1 : tensor<%lldxi32>\n"
                   "%%%s5 = stablehlo.remainder %%%s4, %%%s2 : tensor<%lldxi32>\n"
                   "%%%s6 = stablehlo.subtract %%%s5, %%%s3 : tensor<%lldxi32>\n"
                   "%%%s7 = stablehlo.reshape %%%s6 : (tensor<%lldxi32>) -> tensor<%sxi32>\n"
                   "%%%s = stablehlo.convert %%%s7 : (tensor<%sxi32>) -> tensor<%sx%s>\n"
                   "%%%sw = stablehlo.convert %%%s7 : (tensor<%sxi32>) -> tensor<%sxf64>\n",
                   n, count, n, count, n, count, n, count, n, n, n, count, n, n, n, count, n, n, n,
                   count, n, n, count, dims[i], n, n, dims[i], dims[i], element, n, n, dims[i],
                   dims[i]);
  }
  for (int i = 0; i < 2; i++) {
    const char *w = i == 0 ? "" : "w", *e = i == 0 ? element : "f64";
    at += snprintf(to + at, size - (size_t)at,
                   "%%%s = \"stablehlo.convolution\"(%%x%s, %%k%s) <{batch_group_count = %d : i64, "
                   "feature_group_count = %d : i64, dimension_numbers = #stablehlo.conv<%s>%s}> : "
                   "(tensor<%sx%s>, tensor<%sx%s>) -> tensor<%sx%s>\n",
                   i == 0 ? "got" : "wide", w, w, c->batch_groups, c->feature_groups, c->numbers,
                   c->attrs, c->in, e, c->filter, e, c->out, e);
  }
  return at + snprintf(to + at, size - (size_t)at,
                       "%%want = stablehlo.convert %%wide : (tensor<%sxf64>) -> tensor<%sx%s>\n",
                       c->out, c->out, element);
}

static void check_convolutions(const char *element) {
  for (size_t i = 0; i < TT_COUNT(cases); i++) {
    char body[8192], type[64];
    snprintf(type, sizeof type, "tensor<%sx%s>", cases[i].out, element);
    EXPECT(print_case(&cases[i], element, body, sizeof body) < (int)sizeof body);
    check_case(&(kernel_case){type, body, NULL, 0});
  }
}

TEST(cpu_kernel_convolution, f32) { check_convolutions("f32"); }
TEST(cpu_kernel_convolution, bf16) { check_convolutions("bf16"); }

/* The plan takes a reverse and transposes into the convolution; one that is read elsewhere stays.
 */
static const kernel_case folded[] = {
    {"tensor<1x2x3xf32>",
     "%x = stablehlo.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf32>\n"
     "%k = stablehlo.constant dense<[[[1.0, 10.0], [0.5, 2.0]]]> : tensor<1x2x2xf32>\n"
     "%r = stablehlo.reverse %k, dims = [2] : tensor<1x2x2xf32>\n"
     "%t = stablehlo.transpose %r, dims = [1, 0, 2] : (tensor<1x2x2xf32>) -> tensor<2x1x2xf32>\n"
     "%got = \"stablehlo.convolution\"(%x, %t) <{batch_group_count = 1 : i64, feature_group_count "
     "= 1 : i64, dimension_numbers = #stablehlo.conv<" NCH ">}> : (tensor<1x1x4xf32>, "
     "tensor<2x1x2xf32>) -> tensor<1x2x3xf32>",
     "[[[12.0, 23.0, 34.0], [3.0, 5.5, 8.0]]]", 0},
    {"tensor<1x1x3xf32>",
     "%x = stablehlo.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>\n"
     "%k = stablehlo.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>\n"
     "%u = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<1x4x1xf32>) -> tensor<1x1x4xf32>\n"
     "%r = stablehlo.reverse %k, dims = [2] : tensor<1x1x2xf32>\n"
     "%c = \"stablehlo.convolution\"(%u, %r) <{batch_group_count = 1 : i64, feature_group_count = "
     "1 : i64, dimension_numbers = #stablehlo.conv<" NCH ">, window_reversal = array<i1: true>}> : "
     "(tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> tensor<1x1x3xf32>\n"
     "%s = stablehlo.slice %r [0:1, 0:1, 0:1] : (tensor<1x1x2xf32>) -> tensor<1x1x1xf32>\n"
     "%b = stablehlo.broadcast_in_dim %s, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> "
     "tensor<1x1x3xf32>\n"
     "%got = stablehlo.add %c, %b : tensor<1x1x3xf32>",
     "[[[31.0, 42.0, 53.0]]]", 0},
    /* The result transposed, twice; then one that is read as it is too. */
    {"tensor<2x3x1xf32>",
     "%x = stablehlo.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf32>\n"
     "%k = stablehlo.constant dense<[[[1.0, 10.0]], [[0.5, 2.0]]]> : tensor<2x1x2xf32>\n"
     "%c = \"stablehlo.convolution\"(%x, %k) <{batch_group_count = 1 : i64, feature_group_count = "
     "1 : i64, dimension_numbers = #stablehlo.conv<" NCH ">}> : (tensor<1x1x4xf32>, "
     "tensor<2x1x2xf32>) -> tensor<1x2x3xf32>\n"
     "%t = stablehlo.transpose %c, dims = [0, 2, 1] : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>\n"
     "%got = stablehlo.transpose %t, dims = [2, 1, 0] : (tensor<1x3x2xf32>) -> tensor<2x3x1xf32>",
     "[[[21.0], [32.0], [43.0]], [[4.5], [7.0], [9.5]]]", 0},
    {"tensor<1x2x2xf32>",
     "%x = stablehlo.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>\n"
     "%k = stablehlo.constant dense<[[[1.0, 10.0]], [[0.5, 2.0]]]> : tensor<2x1x2xf32>\n"
     "%c = \"stablehlo.convolution\"(%x, %k) <{batch_group_count = 1 : i64, feature_group_count = "
     "1 : i64, dimension_numbers = #stablehlo.conv<" NCH ">}> : (tensor<1x1x3xf32>, "
     "tensor<2x1x2xf32>) -> tensor<1x2x2xf32>\n"
     "%t = stablehlo.transpose %c, dims = [0, 2, 1] : (tensor<1x2x2xf32>) -> tensor<1x2x2xf32>\n"
     "%got = stablehlo.add %c, %t : tensor<1x2x2xf32>",
     "[[[42.0, 36.5], [36.5, 14.0]]]", 0},
    /* Reversed along the features: not the window's. */
    {"tensor<1x2x2xf32>",
     "%x = stablehlo.constant dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf32>\n"
     "%k = stablehlo.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>\n"
     "%r = stablehlo.reverse %k, dims = [0] : tensor<2x1x1xf32>\n"
     "%got = \"stablehlo.convolution\"(%x, %r) <{batch_group_count = 1 : i64, feature_group_count "
     "= 1 : i64, dimension_numbers = #stablehlo.conv<" NCH ">}> : (tensor<1x1x2xf32>, "
     "tensor<2x1x1xf32>) -> tensor<1x2x2xf32>",
     "[[[10.0, 20.0], [1.0, 2.0]]]", 0},
};
TEST(cpu_kernel_convolution, folded) { CHECK_CASES(folded); }
