/* rng_bit_generator: the words that JAX 0.10.2 gives on XLA:CPU. */
#include "test.h"
#include "test_kernel_case.h"

#define BITS(algorithm, state, dims, dtype, want)           \
  {"tensor<" dims dtype ">",                                \
   "%s = stablehlo.constant dense<" state                   \
   "> : tensor<2xui64>\n%t, %got = "                        \
   "stablehlo.rng_bit_generator %s, algorithm = " algorithm \
   " : (tensor<2xui64>) -> "                                \
   "(tensor<2xui64>, tensor<" dims dtype ">)",              \
   want, 0}
#define STATE(algorithm, state, dims, dtype, want)          \
  {"tensor<2xui64>",                                        \
   "%s = stablehlo.constant dense<" state                   \
   "> : tensor<2xui64>\n%got, %t = "                        \
   "stablehlo.rng_bit_generator %s, algorithm = " algorithm \
   " : (tensor<2xui64>) -> "                                \
   "(tensor<2xui64>, tensor<" dims dtype ">)",              \
   want, 0}
/* {2^64 - 2, 2^64 - 1}: the counter's low half overflows at once. */
#define LAST "[18446744073709551614, 18446744073709551615]"

static const kernel_case bits[] = {
    BITS("THREE_FRY", "[1, 2]", "2x2x", "ui32",
         "[[43444564, 3979645651], [2150618427, 3745730563]]"),
    BITS("THREE_FRY", "[1, 2]", "5x", "ui32",
         "[43444564, 2150618427, 3979645651, 3745730563, 1672743891]"),
    BITS("THREE_FRY", "[1, 2]", "5x", "ui8", "[0x54, 0x3b, 0xd3, 0x03, 0xd3]"),
    BITS("THREE_FRY", "[1, 2]", "2x", "ui64", "[0x802fd53b0296e954, 0xdf435003ed3492d3]"),
    BITS("THREE_FRY", LAST, "3x", "ui32", "[0xecb9c8f2, 0x5987abc3, 0x971865aa]"),
    STATE("THREE_FRY", LAST, "9x", "ui32", "[18446744073709551614, 4]"),
    STATE("THREE_FRY", "[1, 2]", "3x5x7x", "ui32", "[1, 62]"),
    STATE("THREE_FRY", "[1, 2]", "5x", "ui64", "[1, 7]"),
    BITS("PHILOX", "[1, 2]", "5x", "ui32",
         "[0x7d34a749, 0xa9b8bbe8, 0x7ba423d7, 0x2fb324d9, 0x6cf923fe]"),
    BITS("PHILOX", "[1, 2]", "2x2x", "ui16", "[[0xa749, 0xbbe8], [0x23d7, 0x24d9]]"),
    BITS("PHILOX", "[1, 2]", "3x", "ui64",
         "[0xa9b8bbe87d34a749, 0x2fb324d97ba423d7, 0xbadf79c36cf923fe]"),
    BITS("PHILOX", LAST, "5x", "ui32",
         "[0x7d5ce3c8, 0x1a477084, 0x62da867e, 0x245edcbf, 0x2bda2dd6]"),
    STATE("PHILOX", LAST, "9x", "ui32", "[18446744073709551614, 2]"),
    STATE("DEFAULT", "[1, 2]", "9x", "ui64", "[1, 7]"),
};
TEST(cpu_kernel, random_bits) { CHECK_CASES(bits); }
