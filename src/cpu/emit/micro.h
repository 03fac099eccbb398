/* micro.h: a program as micro-ops: nearly one instruction each, on values of which each is made
 * once.
 *
 * The way: lower.c and functions.c make micro-ops of ops; allocate.c gives registers, and spills;
 * assemble.c writes the loop. A vector has `lanes` elements whatever their dtype: integers of fewer
 * than 32 bits and bf16 are extended to 32, f16 stays packed, pred is a mask (AVX-512: a mask
 * register; AVX2: a vector of 32-bit lanes of all bits or none). */
#ifndef TT_CPU_EMIT_MICRO_H
#define TT_CPU_EMIT_MICRO_H

#include "cpu/emit/emit.h"

typedef enum tt_cpu_micro_code {
#define X(name, kind, rule, pp, map, op32, op64) TT_CPU_MICRO_##name,
#include "cpu/emit/micro.def"
#undef X
  TT_CPU_MICRO_COUNT
} tt_cpu_micro_code;

typedef enum tt_cpu_micro_kind {
  TT_CPU_RRM,
  TT_CPU_RM,
  TT_CPU_SHIFT,
  TT_CPU_OWN
} tt_cpu_micro_kind;
typedef enum tt_cpu_micro_rule { TT_CPU_FLT, TT_CPU_INT, TT_CPU_W0, TT_CPU_W1 } tt_cpu_micro_rule;
typedef struct tt_cpu_micro_info {
  const char *name;
  uint8_t kind, rule, pp, map, op32, op64;
} tt_cpu_micro_info;
extern const tt_cpu_micro_info tt_cpu_micros[TT_CPU_MICRO_COUNT];

/* Those of 32 bits, then those of 64. */
typedef enum tt_cpu_constant {
#define F(name, value) TT_CPU_C_##name,
#define U(name, value) TT_CPU_C_##name,
#define D(name, value)
#define Q(name, value)
#include "cpu/emit/constants.def"
#undef D
#undef Q
#undef F
#undef U
  TT_CPU_C_NARROW_COUNT,
  TT_CPU_C_BEFORE_WIDE = TT_CPU_C_NARROW_COUNT - 1,
#define F(name, value)
#define U(name, value)
#define D(name, value) TT_CPU_C_##name,
#define Q(name, value) TT_CPU_C_##name,
#include "cpu/emit/constants.def"
#undef D
#undef Q
#undef F
#undef U
  TT_CPU_C_COUNT
} tt_cpu_constant;
/* What code's constant register points to, and the byte there of a constant. */
const void *tt_cpu_constants(tt_cpu_isa isa);
int32_t tt_cpu_constant_offset(tt_cpu_isa isa, int constant);

/* An operand: >= 0 a value, the number of the micro-op that makes it; constants below -1. */
enum { TT_CPU_NO_OPERAND = -1, TT_CPU_CONSTANT_FIRST = -2 };
#define TT_CPU_K(name) (TT_CPU_CONSTANT_FIRST - (int)TT_CPU_C_##name)

typedef struct tt_cpu_micro {
  uint8_t code;
  uint8_t lane; /* log2 of a lane's bytes: 1, 2, 3; of the wider of two */
  uint8_t imm;
  bool mask;      /* makes a mask */
  bool invariant; /* the same for all elements */
  int16_t in[3];
  int16_t last; /* micro-op that reads it; -1: none */
} tt_cpu_micro;

typedef struct tt_cpu_build {
  const tt_cpu_emit_program *program;
  tt_arena *arena;
  tt_cpu_isa isa;
  uint32_t lanes;
  bool failed; /* not here, or no memory */
  tt_cpu_micro *micros;
  uint32_t count, capacity;
  int16_t constants[TT_CPU_C_COUNT]; /* 1 + the micro-op that has it in a register; 0: none */
} tt_cpu_build;

/* FEW: programs of fewer elements get one loop over single vectors. */
enum { TT_CPU_MICROS_MAX = 4000, TT_CPU_EMIT_FEW = 128 };

/* lower.c */
void tt_cpu_build_program(tt_cpu_build *b);
int tt_cpu_micro_add(tt_cpu_build *b, tt_cpu_micro_code code, int lane, int x, int y, int z,
                     int imm);
/* functions.c: of f32; 0 > the result: the op is not one of them. */
int tt_cpu_build_function(tt_cpu_build *b, tt_hlo_code code, int x);
int tt_cpu_build_copysign(tt_cpu_build *b, int lane, int size, int sign);
int tt_cpu_build_select(tt_cpu_build *b, int lane, int mask, int yes, int no);

/* ---- after allocate.c ---- */

/* Registers below 32 are a copy's own: copy u has `x + u * each`. From 64 on they are those
 * less 64. */
enum { TT_CPU_SHARED = 64 };
typedef enum tt_cpu_place {
  TT_CPU_PLACE_REGISTER,
  TT_CPU_PLACE_CONSTANT,
  TT_CPU_PLACE_SLOT,       /* of each copy */
  TT_CPU_PLACE_SHARED_SLOT /* of all */
} tt_cpu_place;

typedef struct tt_cpu_machine_op {
  uint8_t code, lane, imm;
  uint8_t dst;
  uint8_t in[3];
  uint8_t place; /* of the operand that may be memory */
  int16_t at;    /* the constant or the slot; the number of an input or output */
} tt_cpu_machine_op;

typedef struct tt_cpu_allocation {
  tt_cpu_machine_op *ops; /* what is done once, then the loop */
  uint32_t once, count, capacity;
  uint32_t unroll, each, masks_each; /* registers of a copy */
  uint32_t slots, shared_slots;
  bool failed;
} tt_cpu_allocation;

void tt_cpu_allocate(const tt_cpu_build *b, tt_cpu_allocation *out);
/* assemble.c: the bytes, in the arena; NULL out of memory. */
uint8_t *tt_cpu_assemble(const tt_cpu_build *b, const tt_cpu_allocation *a, uint32_t *out_size);

#endif /* TT_CPU_EMIT_MICRO_H */
