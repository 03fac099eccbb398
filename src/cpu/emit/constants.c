/* The constants in memory. AVX-512 reads one element and spreads it; AVX2 reads whole vectors. */
#include <math.h>

#include "cpu/emit/micro.h"

static const struct {
#define F(name, value) float name;
#define U(name, value) uint32_t name;
#define D(name, value)
#define Q(name, value)
#include "cpu/emit/constants.def"
#undef D
#undef Q
#undef F
#undef U
#define F(name, value)
#define U(name, value)
#define D(name, value) double name;
#define Q(name, value) uint64_t name;
  _Alignas(8)
#include "cpu/emit/constants.def"
#undef D
#undef Q
#undef F
#undef U
} narrow = {
#define F(name, value) .name = value,
#define U(name, value) .name = value,
#define D(name, value) .name = value,
#define Q(name, value) .name = value,
#include "cpu/emit/constants.def"
#undef D
#undef Q
#undef F
#undef U
};

#define EIGHT(value) {value, value, value, value, value, value, value, value}
static const struct {
#define F(name, value) float name[8];
#define U(name, value) uint32_t name[8];
#define D(name, value)
#define Q(name, value)
  _Alignas(32)
#include "cpu/emit/constants.def"
#undef F
#undef U
} wide = {
#define F(name, value) .name = EIGHT(value),
#define U(name, value) .name = EIGHT(value),
#include "cpu/emit/constants.def"
#undef D
#undef Q
#undef F
#undef U
};

int32_t tt_cpu_constant_offset(tt_cpu_isa isa, int constant) {
  if (isa == TT_CPU_ISA_AVX2)
    return 32 * constant;
  int32_t first = (TT_CPU_C_NARROW_COUNT * 4 + 7) & ~7;
  return constant < TT_CPU_C_NARROW_COUNT ? 4 * constant
                                          : first + 8 * (constant - TT_CPU_C_NARROW_COUNT);
}

const void *tt_cpu_constants(tt_cpu_isa isa) {
  return isa == TT_CPU_ISA_AVX2 ? (const void *)&wide : (const void *)&narrow;
}
