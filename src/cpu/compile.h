/* compile.h: what the files that make a plan's steps share. */
#ifndef TT_CPU_COMPILE_H
#define TT_CPU_COMPILE_H

#include "cpu/plan_internal.h"

enum { TT_CPU_GROUP_OPS = 24 };

/* Elementwise ops of one count, and reductions of its rows or columns with the ops on one element
 * for each row that go with them. It runs where its newest op stands, and is closed when a step
 * outside reads one of its values: so all that it reads is there, and all that read it come later.
 */
struct tt_cpu_group {
  bool open;
  bool coded, codeless; /* it has ops that have machine code, that have none: never both */
  int64_t count;
  int64_t row; /* elements of a row, when it has reductions of them; else 0 */
  uint32_t ops_count;
  const tt_hlo_op *ops[TT_CPU_GROUP_OPS];
};

static inline tt_cpu_value *tt_cpu_value_at(const tt_cpu_maker *m, uint32_t number) {
  return &m->values[number];
}
static inline uint32_t tt_cpu_root_of(const tt_cpu_maker *m, uint32_t number) {
  return m->values[number].root;
}

/* ---- compile.c ---- */

/* Numbers the value and notes its size. */
TT_NODISCARD tt_error *tt_cpu_add_typed(tt_cpu_maker *m, tt_hlo_value *from, tt_cpu_value_kind kind,
                                        tt_cpu_block *block);
TT_NODISCARD tt_error *tt_cpu_new_step(tt_cpu_maker *m, tt_cpu_block *block, const tt_hlo_op *op,
                                       tt_cpu_step **out_step);
TT_NODISCARD tt_error *tt_cpu_size_step(tt_cpu_maker *m, tt_cpu_step *step, uint32_t ins,
                                        uint32_t outs, uint32_t extras);
void tt_cpu_append_step(tt_cpu_block *block, tt_cpu_step *step);
void tt_cpu_insert_step(tt_cpu_step *before, tt_cpu_step *step);
void tt_cpu_remove_step(tt_cpu_block *block, tt_cpu_step *step);
/* A step outside of its group reads the root: the group may not grow any more. */
void tt_cpu_use_root(tt_cpu_maker *m, uint32_t root);

/* ---- group.c ---- */

bool tt_cpu_is_elementwise(const tt_hlo_op *op);
TT_NODISCARD tt_error *tt_cpu_compile_elementwise(tt_cpu_maker *m, tt_hlo_op *op,
                                                  tt_cpu_block *block);
/* True: the reduction has joined a group, or begun one. */
TT_NODISCARD tt_error *tt_cpu_compile_reduce(tt_cpu_maker *m, tt_hlo_op *op, tt_cpu_block *block,
                                             bool *out_done);
/* How an op of `count` elements reads an operand. */
tt_cpu_tile_in tt_cpu_operand_form(const tt_cpu_maker *m, const tt_hlo_value *operand,
                                   int64_t count);
/* Makes the group's program. All that read its values have been seen. */
TT_NODISCARD tt_error *tt_cpu_finish_group(tt_cpu_maker *m, tt_cpu_step *step);
TT_NODISCARD tt_error *tt_cpu_kernel_tile(const tt_cpu_args *args);

/* ---- absorb.c: what a step does besides its op ---- */

/* Where the operand's elements are, when it is only another view of a value that is there: `out`
 * then says how, and that value is returned. NULL: it is read as it is. */
TT_NODISCARD tt_error *tt_cpu_absorb_view(tt_cpu_maker *m, const tt_hlo_value *operand,
                                          tt_cpu_strided *out, const tt_hlo_value **out_base);
/* Additions of a row to a matrix product go into its step. */
TT_NODISCARD tt_error *tt_cpu_absorb_rows(tt_cpu_maker *m, tt_cpu_step *group);

/* ---- attention.c ---- */

/* Products whose result is only read row by row for another product become one step with it. The
 * block's groups are finished. */
TT_NODISCARD tt_error *tt_cpu_join_attention(tt_cpu_maker *m, tt_cpu_block *block);

#endif /* TT_CPU_COMPILE_H */
