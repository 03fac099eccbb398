/* The loop in bytes. System V calls: rdi the pointers, rsi the count. rax counts elements, r11 is
 * where the unrolled loop ends and then the mask of the last vector; rbx points to the constants;
 * addresses of inputs and outputs have a register each while there are some. Vector register 31 (15
 * with AVX2) and mask registers 6 (with folds) and 7 (the last vector) are kept for what takes more
 * than one instruction. */
#include <string.h>

#include "cpu/emit/micro.h"

#define M(name) TT_CPU_MICRO_##name

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
enum { NO_INDEX = -1, LAST = 7, FOLD_MASK = 6, SLOT = 64, FRAME_MAX = 32 << 10 };
enum { POINTERS = 9, BYTES_MAX = 16 }; /* of one instruction */

/* ---- bytes ---- */

typedef struct assembler {
  const tt_cpu_build *b;
  const tt_cpu_allocation *a;
  uint8_t *bytes;
  uint32_t size, capacity;
  bool evex;
  bool last; /* masks loads and stores */
  uint32_t copy;
  uint32_t pointers; /* of inputs that are not scalars, and outputs */
  uint8_t pointer_registers[POINTERS];
  uint32_t registers_count;
  int16_t *pointer_of; /* [ins + outs]: its number among those, or -1 */
} assembler;

static void byte(assembler *s, uint32_t value) {
  if (s->size < s->capacity)
    s->bytes[s->size] = (uint8_t)value;
  s->size++;
}

static void word32(assembler *s, uint32_t value) {
  for (int i = 0; i < 4; i++)
    byte(s, value >> (8 * i));
}

static void text(assembler *s, const char *bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    byte(s, (uint8_t)bytes[i]);
}

/* A register, or memory at base + index * 2^scale + at. */
typedef struct rm {
  bool memory, broadcast;
  uint8_t reg;
  int base, index, scale;
  int32_t at;
  int32_t unit; /* EVEX counts a displacement of one byte in it; 0: it has four */
} rm;

static rm in_register(int reg) { return (rm){.reg = (uint8_t)reg}; }

static void modrm(assembler *s, int reg, const rm *m, int32_t unit) {
  if (!m->memory) {
    byte(s, 0xc0 | (uint32_t)(reg & 7) << 3 | (m->reg & 7));
    return;
  }
  bool none = m->at == 0 && (m->base & 7) != RBP;
  int32_t scaled = unit > 0 ? m->at / unit : 0;
  bool small = !none && unit > 0 && m->at % unit == 0 && scaled >= -128 && scaled <= 127;
  bool sib = m->index != NO_INDEX || (m->base & 7) == RSP;
  byte(s, (none    ? 0u
           : small ? 0x40u
                   : 0x80u) |
              (uint32_t)(reg & 7) << 3 | (sib ? 4u : (uint32_t)(m->base & 7)));
  if (sib)
    byte(s, (uint32_t)m->scale << 6 | (m->index == NO_INDEX ? 4u : (uint32_t)(m->index & 7)) << 3 |
                (uint32_t)(m->base & 7));
  if (small)
    byte(s, (uint32_t)scaled);
  else if (!none)
    word32(s, (uint32_t)m->at);
}

typedef struct opcode {
  uint8_t pp, map, w, op;
} opcode;

static void vex(assembler *s, opcode o, int size, int reg, int vvvv, const rm *m) {
  uint32_t r = (uint32_t)(reg >> 3 & 1), x = 0, b;
  if (m->memory) {
    x = m->index == NO_INDEX ? 0 : (uint32_t)(m->index >> 3 & 1);
    b = (uint32_t)(m->base >> 3 & 1);
  } else {
    b = (uint32_t)(m->reg >> 3 & 1);
  }
  byte(s, 0xc4);
  byte(s, (r ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | o.map);
  byte(s, (uint32_t)o.w << 7 | (~(uint32_t)vvvv & 15) << 3 | (size == 32 ? 4u : 0u) | o.pp);
  byte(s, o.op);
  modrm(s, reg, m, 1);
}

static void evex(assembler *s, opcode o, int size, int reg, int vvvv, const rm *m, int mask,
                 bool zero) {
  uint32_t x, b;
  if (m->memory) {
    x = m->index == NO_INDEX ? 0 : (uint32_t)(m->index >> 3 & 1);
    b = (uint32_t)(m->base >> 3 & 1);
  } else {
    x = (uint32_t)(m->reg >> 4 & 1);
    b = (uint32_t)(m->reg >> 3 & 1);
  }
  byte(s, 0x62);
  byte(s, (~(uint32_t)reg >> 3 & 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 |
              (~(uint32_t)reg >> 4 & 1) << 4 | o.map);
  byte(s, (uint32_t)o.w << 7 | (~(uint32_t)vvvv & 15) << 3 | 4u | o.pp);
  byte(s, (zero ? 0x80u : 0u) |
              (size == 64   ? 2u
               : size == 32 ? 1u
                            : 0u)
                  << 5 |
              (m->broadcast ? 0x10u : 0u) | (~(uint32_t)vvvv >> 4 & 1) << 3 | (uint32_t)mask);
  byte(s, o.op);
  modrm(s, reg, m, m->broadcast ? (o.w ? 8 : 4) : m->unit);
}

static void vector(assembler *s, opcode o, int size, int reg, int vvvv, rm m) {
  if (s->evex)
    evex(s, o, size, reg, vvvv, &m, 0, false);
  else
    vex(s, o, size, reg, vvvv, &m);
}

/* ---- integer instructions ---- */

/* op reg, [base + at] and the like, 64 bits. */
static void wide_op(assembler *s, int op, int reg, rm m) {
  uint32_t r = (uint32_t)(reg >> 3 & 1);
  uint32_t b = (uint32_t)((m.memory ? m.base : m.reg) >> 3 & 1);
  byte(s, 0x48 | r << 2 | b);
  byte(s, (uint32_t)op);
  modrm(s, reg, &m, 1);
}
static rm at_base(int base, int32_t at) {
  return (rm){.memory = true, .base = base, .index = NO_INDEX, .at = at};
}
static void move_register(assembler *s, int to, int from) {
  wide_op(s, 0x8b, to, in_register(from));
}
/* digit: 0 add, 4 and, 5 sub, 7 cmp. */
static void with_immediate(assembler *s, int digit, int reg, int32_t value) {
  byte(s, 0x48 | (uint32_t)(reg >> 3 & 1));
  byte(s, value >= -128 && value <= 127 ? 0x83 : 0x81);
  byte(s, 0xc0 | (uint32_t)digit << 3 | (uint32_t)(reg & 7));
  if (value >= -128 && value <= 127)
    byte(s, (uint32_t)value);
  else
    word32(s, (uint32_t)value);
}
static void push(assembler *s, int reg) {
  if (reg >= 8)
    byte(s, 0x41);
  byte(s, 0x50 | (uint32_t)(reg & 7));
}
static void pop(assembler *s, int reg) {
  if (reg >= 8)
    byte(s, 0x41);
  byte(s, 0x58 | (uint32_t)(reg & 7));
}
enum { JGE = 0x8d, JL = 0x8c, JLE = 0x8e };
/* Returns where its distance stands. */
static uint32_t jump(assembler *s, int condition) {
  byte(s, 0x0f);
  byte(s, (uint32_t)condition);
  word32(s, 0);
  return s->size - 4;
}
static void land(assembler *s, uint32_t at, uint32_t target) {
  uint32_t distance = target - (at + 4);
  if (at + 4 <= s->capacity)
    memcpy(s->bytes + at, &distance, 4);
}

/* ---- operands ---- */

static int reg_of(const assembler *s, uint8_t reg) {
  return reg >= TT_CPU_SHARED ? reg - TT_CPU_SHARED : reg + (int)(s->copy * s->a->each);
}
static int mask_of(const assembler *s, uint8_t reg) {
  return reg >= TT_CPU_SHARED ? reg - TT_CPU_SHARED : 1 + reg + (int)(s->copy * s->a->masks_each);
}
static int size_of(const assembler *s, int lane) { return (int)s->b->lanes << lane; }

static rm constant(const assembler *s, int number) {
  rm m = at_base(RBX, tt_cpu_constant_offset(s->b->isa, number));
  m.broadcast = s->evex;
  return m;
}

static rm slot(const assembler *s, const tt_cpu_machine_op *op) {
  uint32_t at = op->place == TT_CPU_PLACE_SHARED_SLOT
                    ? (uint32_t)op->at
                    : s->a->shared_slots + (uint32_t)op->at * s->a->unroll + s->copy;
  return at_base(RSP, (int32_t)(at * SLOT));
}

static rm operand(const assembler *s, const tt_cpu_machine_op *op, int k) {
  if (op->place == TT_CPU_PLACE_REGISTER)
    return in_register(reg_of(s, op->in[k]));
  return op->place == TT_CPU_PLACE_CONSTANT ? constant(s, op->at) : slot(s, op);
}

/* This copy's first element of an input or output; `part`: the vector's bytes over those in memory.
 */
static rm element(assembler *s, uint32_t number, tt_dtype dtype) {
  uint32_t pointer = (uint32_t)s->pointer_of[number];
  int bytes = tt_dtype_bytes(dtype), base = R10;
  if (pointer < s->registers_count)
    base = s->pointer_registers[pointer];
  else
    wide_op(s, 0x8b, R10, at_base(RDI, (int32_t)(8 * number)));
  return (rm){.memory = true,
              .base = base,
              .index = RAX,
              .scale = bytes == 8 ? 3 : bytes >> 1,
              .at = (int32_t)(s->copy * s->b->lanes) * bytes,
              .unit = (int32_t)s->b->lanes * bytes};
}

/* ---- loads and stores ---- */

/* The extending load of a dtype into lanes. */
static opcode load_opcode(tt_dtype dtype, bool wide_lane) {
  switch (dtype) {
    case TT_S8:
      return (opcode){1, 2, 0, 0x21};
    case TT_U8:
    case TT_PRED:
      return (opcode){1, 2, 0, 0x31};
    case TT_S16:
      return (opcode){1, 2, 0, 0x23};
    case TT_U16:
    case TT_BF16:
      return (opcode){1, 2, 0, 0x33};
    default:
      return wide_lane ? (opcode){1, 1, 1, 0x10} : (opcode){0, 1, 0, 0x10};
  }
}

static void load_wide(assembler *s, const tt_cpu_machine_op *op) {
  tt_dtype dtype = (tt_dtype)op->imm;
  rm m = element(s, (uint32_t)op->at, dtype);
  int mask = s->last ? LAST : 0;
  if (dtype == TT_PRED) {
    if (s->last || s->b->lanes == 16)
      evex(s, (opcode){3, 1, 0, 0x6f}, 16, 31, 0, &m, mask, s->last);
    else
      evex(s, (opcode){1, 1, 1, 0x6e}, 16, 31, 0, &m, 0, false);
    rm loaded = in_register(31);
    evex(s, (opcode){1, 2, 0, 0x26}, 16, mask_of(s, op->dst), 31, &loaded, 0, false);
  } else if (dtype == TT_F16) {
    evex(s, (opcode){3, 1, 1, 0x6f}, size_of(s, 1), reg_of(s, op->dst), 0, &m, mask, s->last);
  } else {
    evex(s, load_opcode(dtype, op->lane == 3), size_of(s, op->lane), reg_of(s, op->dst), 0, &m,
         mask, s->last);
  }
}

static void load_narrow(assembler *s, const tt_cpu_machine_op *op) {
  tt_dtype dtype = (tt_dtype)op->imm;
  rm m = element(s, (uint32_t)op->at, dtype), zero = constant(s, TT_CPU_C_ZERO);
  int dst = reg_of(s, op->dst);
  if (dtype == TT_F16)
    vex(s, (opcode){2, 1, 0, 0x6f}, 16, dst, 0, &m);
  else
    vex(s, load_opcode(dtype, false), 32, dst, 0, &m);
  if (dtype == TT_PRED)
    vex(s, (opcode){1, 1, 0, 0x66}, 32, dst, dst, &zero);
}

static void store_wide(assembler *s, const tt_cpu_machine_op *op) {
  tt_dtype dtype = (tt_dtype)op->imm;
  rm m = element(s, (uint32_t)op->at, dtype);
  int mask = s->last ? LAST : 0, src = dtype == TT_PRED ? 31 : reg_of(s, op->in[0]);
  opcode o = {0, 1, 0, 0x11};
  int size = size_of(s, op->lane);
  if (dtype == TT_PRED) {
    rm bits = in_register(mask_of(s, op->in[0])), bytes = in_register(31);
    evex(s, (opcode){2, 2, 0, 0x28}, 16, 31, 0, &bits, 0, false);
    evex(s, (opcode){1, 2, 0, 0x1c}, 16, 31, 0, &bytes, 0, false);
    o = s->last || s->b->lanes == 16 ? (opcode){3, 1, 0, 0x7f} : (opcode){1, 1, 1, 0xd6};
    size = 16;
  } else if (dtype == TT_F16) {
    o = (opcode){3, 1, 1, 0x7f};
  } else if (op->lane == 3) {
    o = (opcode){1, 1, 1, 0x11};
  } else if (tt_dtype_bytes(dtype) < 4) {
    o = (opcode){2, 2, 0, tt_dtype_bytes(dtype) == 1 ? 0x31 : 0x33};
  }
  evex(s, o, size, src, 0, &m, mask, false);
}

/* 8 lanes of 32 bits to words, then to bytes. */
static void store_narrow(assembler *s, const tt_cpu_machine_op *op) {
  tt_dtype dtype = (tt_dtype)op->imm;
  int bytes = tt_dtype_bytes(dtype), src = reg_of(s, op->in[0]);
  rm m = element(s, (uint32_t)op->at, dtype), packed = in_register(15);
  if (bytes == 4 || dtype == TT_F16) {
    vex(s, dtype == TT_F16 ? (opcode){2, 1, 0, 0x7f} : (opcode){0, 1, 0, 0x11},
        dtype == TT_F16 ? 16 : 32, src, 0, &m);
    return;
  }
  bool positive = dtype == TT_U8 || dtype == TT_U16 || dtype == TT_BF16;
  vex(s, (opcode){1, 3, 0, 0x39}, 32, src, 0, &packed);
  byte(s, 1);
  vex(s, positive ? (opcode){1, 2, 0, 0x2b} : (opcode){1, 1, 0, 0x6b}, 16, 15, src, &packed);
  if (bytes == 1)
    vex(s, (opcode){1, 1, 0, positive ? 0x67 : 0x63}, 16, 15, 15, &packed);
  if (dtype == TT_PRED)
    vex(s, (opcode){1, 2, 0, 0x1c}, 16, 15, 0, &packed);
  vex(s, bytes == 1 ? (opcode){1, 1, 0, 0xd6} : (opcode){2, 1, 0, 0x7f}, 16, 15, 0, &m);
}

/* All lanes from eax. */
static void spread_rax(assembler *s, int dst) {
  rm eax = in_register(RAX), low = in_register(dst);
  if (s->evex) {
    evex(s, (opcode){1, 2, 0, 0x7c}, size_of(s, 2), dst, 0, &eax, 0, false);
    return;
  }
  vex(s, (opcode){1, 1, 0, 0x6e}, 16, dst, 0, &eax);
  vex(s, (opcode){1, 2, 0, 0x58}, 32, dst, 0, &low);
}

static void load_scalar(assembler *s, const tt_cpu_machine_op *op) {
  tt_dtype dtype = (tt_dtype)op->imm;
  wide_op(s, 0x8b, RAX, at_base(RDI, 8 * op->at));
  if (dtype == TT_PRED) {
    text(s, "\x0f\xb6\x00\xf7\xd8\x19\xc0", 7); /* movzx eax, byte [rax]; neg eax; sbb eax, eax */
    rm eax = in_register(RAX);
    if (s->evex)
      vex(s, (opcode){0, 1, 0, 0x92}, 16, mask_of(s, op->dst), 0, &eax);
    else
      spread_rax(s, reg_of(s, op->dst));
    return;
  }
  int dst = reg_of(s, op->dst);
  if (tt_dtype_bytes(dtype) >= 4 || dtype == TT_F16) {
    opcode o = {1, 2, op->lane == 3, op->lane == 3 ? 0x19 : op->lane == 2 ? 0x18 : 0x79};
    vector(s, o, size_of(s, op->lane), dst, 0, at_base(RAX, 0));
    return;
  }
  byte(s, 0x0f); /* movzx or movsx eax, [rax] */
  byte(s, (tt_dtype_is_signed(dtype) ? 0xbeu : 0xb6u) | (tt_dtype_bytes(dtype) == 2));
  byte(s, 0);
  spread_rax(s, dst);
}

/* ---- other instructions ---- */

static void compare(assembler *s, const tt_cpu_machine_op *op) {
  const tt_cpu_micro_info *info = &tt_cpu_micros[op->code];
  int size = size_of(s, op->lane), wide_lane = op->lane == 3;
  rm m = operand(s, op, 1);
  if (s->evex) {
    opcode o = {op->code == M(CMP) ? (uint8_t)wide_lane : 1, info->map, (uint8_t)wide_lane,
                info->op32};
    evex(s, o, size, mask_of(s, op->dst), reg_of(s, op->in[0]), &m, 0, false);
  } else if (op->code == M(CMP)) {
    vex(s, (opcode){0, 1, 0, 0xc2}, size, reg_of(s, op->dst), reg_of(s, op->in[0]), &m);
  } else {
    vex(s, (opcode){1, 1, 0, op->imm == 0 ? 0x76 : 0x66}, size, reg_of(s, op->dst),
        reg_of(s, op->in[0]), &m);
    return;
  }
  byte(s, op->imm);
}

static void select_op(assembler *s, const tt_cpu_machine_op *op) {
  rm m = operand(s, op, 1);
  int dst = reg_of(s, op->dst), no = reg_of(s, op->in[2]);
  if (s->evex) {
    opcode o = {1, 2, op->lane != 2, op->lane == 1 ? 0x66 : 0x65};
    evex(s, o, size_of(s, op->lane), dst, no, &m, mask_of(s, op->in[0]), false);
    return;
  }
  vex(s, (opcode){1, 3, 0, 0x4a}, 32, dst, no, &m);
  byte(s, (uint32_t)reg_of(s, op->in[0]) << 4);
}

static void masked_op(assembler *s, const tt_cpu_machine_op *op) {
  rm m = constant(s, op->at);
  m.broadcast = false;
  if (s->evex)
    evex(s, (opcode){1, 2, op->lane == 3, op->lane == 3 ? 0x19 : 0x18}, size_of(s, op->lane),
         reg_of(s, op->dst), 0, &m, mask_of(s, op->in[0]), true);
  else
    vex(s, (opcode){0, 1, 0, 0x54}, 32, reg_of(s, op->dst), reg_of(s, op->in[0]), &m);
}

static void mask_op(assembler *s, const tt_cpu_machine_op *op) {
  bool invert = op->code == M(MNOT);
  if (s->evex) {
    rm m = in_register(mask_of(s, op->in[invert ? 0 : 1]));
    vex(s, (opcode){0, 1, 0, tt_cpu_micros[op->code].op32}, invert ? 16 : 32, mask_of(s, op->dst),
        invert ? 0 : mask_of(s, op->in[0]), &m);
    return;
  }
  uint8_t code = op->code == M(MAND)    ? 0x54
                 : op->code == M(MANDN) ? 0x55
                 : op->code == M(MOR)   ? 0x56
                                        : 0x57;
  rm m = invert ? constant(s, TT_CPU_C_ALL) : in_register(reg_of(s, op->in[1]));
  vex(s, (opcode){0, 1, 0, code}, 32, reg_of(s, op->dst), reg_of(s, op->in[0]), &m);
}

static void constant_op(assembler *s, const tt_cpu_machine_op *op) {
  rm m = constant(s, op->at);
  bool wide_lane = op->at >= TT_CPU_C_NARROW_COUNT;
  m.broadcast = false;
  if (s->evex)
    m.unit = wide_lane ? 8 : 4;
  opcode o = s->evex ? (opcode){1, 2, wide_lane, wide_lane ? 0x19 : 0x18} : (opcode){0, 1, 0, 0x10};
  vector(s, o, size_of(s, wide_lane ? 3 : 2), reg_of(s, op->dst), 0, m);
}

static opcode opcode_of(const tt_cpu_micro_info *info, bool wide_lane) {
  opcode o = {info->pp, info->map, wide_lane, wide_lane ? info->op64 : info->op32};
  if (info->rule == TT_CPU_FLT)
    o.pp = wide_lane;
  else if (info->rule == TT_CPU_INT)
    o.pp = 1;
  else
    o.w = info->rule == TT_CPU_W1;
  return o;
}

/* What micro.def describes. */
static void table_op(assembler *s, const tt_cpu_machine_op *op) {
  const tt_cpu_micro_info *info = &tt_cpu_micros[op->code];
  opcode o = opcode_of(info, op->lane == 3);
  int size = size_of(s, op->lane), dst = reg_of(s, op->dst);
  if (!s->evex)
    o.w = 0;
  if (info->kind == TT_CPU_RRM) {
    vector(s, o, size, dst, reg_of(s, op->in[0]), operand(s, op, 1));
  } else if (info->kind == TT_CPU_RM) {
    vector(s, o, size, dst, 0, operand(s, op, 0));
  } else {
    vector(s, o, size, info->pp, dst, in_register(reg_of(s, op->in[0])));
    byte(s, op->imm);
    return;
  }
  if (info->map == 3)
    byte(s, op->imm);
}

/* ---- folds ---- */

/* acc = acc (+) m; of maximum and minimum a NaN stays: where one is there the sum, which is NaN. */
static void combine(assembler *s, tt_cpu_fold fold, bool wide_lane, int size, int acc, const rm *m,
                    bool last) {
  uint8_t w = wide_lane;
  int mask = last ? LAST : 0;
  rm sum = in_register(31);
  if (fold == TT_CPU_FOLD_SUM) {
    evex(s, (opcode){w, 1, w, 0x58}, size, acc, acc, m, mask, false);
    return;
  }
  evex(s, (opcode){w, 1, w, 0x58}, size, 31, acc, m, 0, false);
  evex(s, (opcode){w, 1, w, 0xc2}, size, FOLD_MASK, acc, m, mask, false);
  byte(s, 3);
  evex(s, (opcode){1, 3, w, 0x50}, size, acc, acc, m, mask, false);
  byte(s, fold == TT_CPU_FOLD_MAX ? 5 : 4);
  evex(s, (opcode){w, 1, w, 0x28}, size, acc, 0, &sum, FOLD_MASK, false);
}

static void fold_op(assembler *s, const tt_cpu_machine_op *op) {
  rm m = in_register(reg_of(s, op->in[0]));
  combine(s, (tt_cpu_fold)op->imm, op->lane == 3, size_of(s, op->lane), reg_of(s, op->dst), &m,
          s->last);
}

static void begin_folds(assembler *s) {
  static const uint8_t first[][2] = {[TT_CPU_FOLD_SUM] = {TT_CPU_C_ZERO, TT_CPU_C_ZERO_Q},
                                     [TT_CPU_FOLD_MAX] = {TT_CPU_C_MINUS_INF, TT_CPU_C_MINUS_INF_D},
                                     [TT_CPU_FOLD_MIN] = {TT_CPU_C_INF, TT_CPU_C_INF_D}};
  for (uint32_t i = s->a->once; i < s->a->count; i++) {
    const tt_cpu_machine_op *op = &s->a->ops[i];
    tt_cpu_machine_op load = {.code = M(CONST), .dst = op->dst, .place = TT_CPU_PLACE_CONSTANT};
    if (op->code != M(FOLD))
      continue;
    load.at = first[op->imm][op->lane == 3];
    for (s->copy = 0; s->copy < s->a->unroll; s->copy++)
      constant_op(s, &load);
  }
  s->copy = 0;
}

/* The copies to one, then its halves on each other; register 30 has the upper one. */
static void end_fold(assembler *s, const tt_cpu_machine_op *op) {
  tt_cpu_fold fold = (tt_cpu_fold)op->imm;
  bool wide_lane = op->lane == 3;
  int acc = reg_of(s, op->dst);
  rm upper = in_register(30), own = in_register(acc);
  for (uint32_t u = 1; u < s->a->unroll; u++) {
    rm other = in_register(acc + (int)(u * s->a->each));
    combine(s, fold, wide_lane, size_of(s, op->lane), acc, &other, false);
  }
  for (int size = size_of(s, op->lane); size > 16; size /= 2) {
    evex(s, (opcode){1, 3, 0, size == 64 ? 0x1b : 0x19}, size, acc, 0, &upper, 0, false);
    byte(s, 1);
    combine(s, fold, wide_lane, size / 2, acc, &upper, false);
  }
  for (int step = wide_lane; step < 2; step++) {
    evex(s, (opcode){1, 3, wide_lane, wide_lane ? 0x05 : 0x04}, 16, 30, 0, &own, 0, false);
    byte(s, wide_lane ? 1 : step == 0 ? 0x4e : 0xb1);
    combine(s, fold, wide_lane, 16, acc, &upper, false);
  }
  wide_op(s, 0x8b, RAX, at_base(RDI, 8 * ((int32_t)s->b->program->ins + op->at)));
  rm out = at_base(RAX, 0);
  evex(s, wide_lane ? (opcode){3, 1, 1, 0x11} : (opcode){2, 1, 0, 0x11}, 16, acc, 0, &out, 0,
       false);
}

/* ---- one op ---- */

static void assemble_op(assembler *s, const tt_cpu_machine_op *op) {
  const tt_cpu_micro_info *info = &tt_cpu_micros[op->code];
  int size = size_of(s, op->lane);
  rm m;
  switch (op->code) {
    case M(LOAD):
      (s->evex ? load_wide : load_narrow)(s, op);
      return;
    case M(STORE): {
      tt_cpu_machine_op store = *op;
      store.at = (int16_t)(store.at + (int16_t)s->b->program->ins);
      (s->evex ? store_wide : store_narrow)(s, &store);
      return;
    }
    case M(SCALAR):
      load_scalar(s, op);
      return;
    case M(FOLD):
      fold_op(s, op);
      return;
    case M(CONST):
      constant_op(s, op);
      return;
    case M(CMP):
    case M(ICMP):
    case M(UCMP):
      compare(s, op);
      return;
    case M(SELECT):
      select_op(s, op);
      return;
    case M(MASKED):
      masked_op(s, op);
      return;
    case M(MAND):
    case M(MANDN):
    case M(MOR):
    case M(MXOR):
    case M(MNOT):
      mask_op(s, op);
      return;
    case M(F32_F16):
    case M(S64_S32):
      m = in_register(reg_of(s, op->dst));
      vector(s, (opcode){info->pp, info->map, 0, info->op32}, size, reg_of(s, op->in[0]), 0, m);
      if (op->code == M(F32_F16))
        byte(s, 0);
      return;
    case M(FMA132):
    case M(FMA213):
    case M(FMA231):
      vector(s, (opcode){1, 2, op->lane == 3, info->op32}, size, reg_of(s, op->dst),
             reg_of(s, op->in[0]), operand(s, op, 1));
      return;
    case M(COPYSIGN):
      vector(s, (opcode){1, 3, op->lane == 3, info->op32}, size, reg_of(s, op->dst),
             reg_of(s, op->in[0]), operand(s, op, 2));
      byte(s, op->imm);
      return;
    case M(MOVE):
      vector(s, (opcode){0, 1, 0, 0x28}, size, reg_of(s, op->dst), 0,
             in_register(reg_of(s, op->in[0])));
      return;
    case M(SPILL):
    case M(RELOAD):
      m = slot(s, op);
      m.unit = size;
      vector(s, (opcode){0, 1, 0, info->op32}, size,
             reg_of(s, op->code == M(SPILL) ? op->in[0] : op->dst), 0, m);
      return;
    case M(SPILL_MASK):
    case M(RELOAD_MASK):
      m = slot(s, op);
      vex(s, (opcode){0, 1, 0, info->op32}, 16,
          mask_of(s, op->code == M(SPILL_MASK) ? op->in[0] : op->dst), 0, &m);
      return;
    default:
      table_op(s, op);
  }
}

/* ---- the function ---- */

static bool number_pointers(assembler *s) {
  const tt_cpu_emit_program *p = s->b->program;
  static const uint8_t order[POINTERS] = {RCX, RDX, R8, R9, R10, R12, R13, R14, R15};
  s->pointer_of = tt_arena_array(s->b->arena, p->ins + p->outs, sizeof *s->pointer_of);
  if (s->pointer_of == NULL)
    return false;
  for (uint32_t i = 0; i < p->ins + p->outs; i++) {
    bool apart = i < p->ins ? p->in[i].scalar : p->out[i - p->ins].fold != TT_CPU_FOLD_NONE;
    s->pointer_of[i] = (int16_t)(apart ? -1 : (int)s->pointers++);
  }
  bool some_left = s->pointers > POINTERS; /* then r10 is for them */
  for (uint32_t i = 0; i < POINTERS && s->registers_count < s->pointers; i++)
    if (!some_left || order[i] != R10)
      s->pointer_registers[s->registers_count++] = order[i];
  return true;
}

static void load_pointers(assembler *s) {
  const tt_cpu_emit_program *p = s->b->program;
  for (uint32_t i = 0; i < p->ins + p->outs; i++)
    if (s->pointer_of[i] >= 0 && (uint32_t)s->pointer_of[i] < s->registers_count)
      wide_op(s, 0x8b, s->pointer_registers[s->pointer_of[i]], at_base(RDI, (int32_t)(8 * i)));
}

static void save_registers(assembler *s, int32_t frame) {
  uint64_t address = (uint64_t)(uintptr_t)tt_cpu_constants(s->b->isa);
  push(s, RBX);
  for (uint32_t i = 0; i < s->registers_count; i++)
    if (s->pointer_registers[i] >= R12)
      push(s, s->pointer_registers[i]);
  if (frame > 0) {
    push(s, RBP);
    move_register(s, RBP, RSP);
    with_immediate(s, 5, RSP, frame);
    with_immediate(s, 4, RSP, -64);
  }
  byte(s, 0x48); /* mov rbx, imm64 */
  byte(s, 0xb8 | RBX);
  word32(s, (uint32_t)address);
  word32(s, (uint32_t)(address >> 32));
}

static void restore_registers(assembler *s, int32_t frame) {
  if (frame > 0) {
    move_register(s, RSP, RBP);
    pop(s, RBP);
  }
  for (uint32_t i = s->registers_count; i-- > 0;)
    if (s->pointer_registers[i] >= R12)
      pop(s, s->pointer_registers[i]);
  pop(s, RBX);
  text(s, "\xc5\xf8\x77\xc3", 4); /* vzeroupper; ret */
}

static void assemble_body(assembler *s, uint32_t copies) {
  for (uint32_t i = s->a->once; i < s->a->count; i++)
    for (s->copy = 0; s->copy < copies; s->copy++)
      assemble_op(s, &s->a->ops[i]);
  s->copy = 0;
}

/* While `step` elements are left. */
static void unrolled_loop(assembler *s, uint32_t copies) {
  int32_t step = (int32_t)(copies * s->b->lanes);
  move_register(s, R11, RSI);
  with_immediate(s, 5, R11, step);
  wide_op(s, 0x3b, RAX, in_register(R11));
  uint32_t over = jump(s, 0x8f); /* jg */
  while (s->size % 16 != 0)
    byte(s, 0x90);
  uint32_t top = s->size;
  assemble_body(s, copies);
  with_immediate(s, 0, RAX, step);
  wide_op(s, 0x3b, RAX, in_register(R11));
  land(s, jump(s, JLE), top);
  land(s, over, s->size);
}

/* Mask register 7 has a bit for each of the elements left. There are fewer than 256. */
static void last_loop(assembler *s) {
  rm all = constant(s, TT_CPU_C_ALL), r11 = in_register(R11);
  all.broadcast = false;
  wide_op(s, 0x3b, RAX, in_register(RSI));
  uint32_t over = jump(s, JGE), top = s->size;
  move_register(s, R11, RSI);
  wide_op(s, 0x2b, R11, in_register(RAX));
  vex(s, (opcode){0, 2, 0, 0xf5}, 16, R11, R11, &all);               /* bzhi r11d, [all], r11d */
  vex(s, (opcode){s->b->lanes == 8, 1, 0, 0x92}, 16, LAST, 0, &r11); /* kmovw or kmovb */
  s->last = true;
  assemble_body(s, 1);
  s->last = false;
  with_immediate(s, 0, RAX, (int32_t)s->b->lanes);
  wide_op(s, 0x3b, RAX, in_register(RSI));
  land(s, jump(s, JL), top);
  land(s, over, s->size);
}

static void assemble_all(assembler *s, int32_t frame) {
  const tt_cpu_allocation *a = s->a;
  save_registers(s, frame);
  for (uint32_t i = 0; i < a->once; i++)
    assemble_op(s, &a->ops[i]);
  load_pointers(s);
  if (s->evex)
    begin_folds(s);
  text(s, "\x31\xc0", 2); /* xor eax, eax */
  if (a->unroll > 1 || (s->evex && s->b->program->count > TT_CPU_EMIT_FEW))
    unrolled_loop(s, a->unroll);
  if (s->evex)
    last_loop(s);
  else
    unrolled_loop(s, 1);
  for (uint32_t i = a->once; i < a->count; i++)
    if (a->ops[i].code == M(FOLD))
      end_fold(s, &a->ops[i]);
  restore_registers(s, frame);
}

uint8_t *tt_cpu_assemble(const tt_cpu_build *b, const tt_cpu_allocation *a, uint32_t *out_size) {
  assembler s = {.b = b, .a = a, .evex = b->isa == TT_CPU_ISA_AVX512};
  int64_t frame = ((int64_t)a->shared_slots + (int64_t)a->slots * a->unroll) * SLOT;
  uint32_t ops = a->count * (a->unroll + 1) + 64 * (b->program->ins + b->program->outs);
  s.capacity = 512 + 2 * BYTES_MAX * ops;
  s.bytes = tt_arena_alloc(b->arena, s.capacity);
  if (s.bytes == NULL || frame > FRAME_MAX || !number_pointers(&s))
    return NULL;
  assemble_all(&s, (int32_t)frame);
  *out_size = s.size;
  return s.size <= s.capacity ? s.bytes : NULL;
}
