/* sharding.h: how the devices of a run divide a tensor among them. */
#ifndef TT_CPU_SHARDING_H
#define TT_CPU_SHARDING_H

#include "hlo/hlo.h"

/* Dim `d` is cut in parts[d] equal parts, of which partition p has number
 * index[d * partitions + p]. */
typedef struct tt_cpu_sharding {
  int32_t rank;
  int64_t partitions;
  const int64_t *parts, *index;
} tt_cpu_sharding;

/* What reading a sharding needs. */
typedef struct tt_cpu_sharding_reader {
  tt_arena *arena;
  const tt_hlo_module *module; /* its meshes */
  int64_t partitions;
  const char *axes; /* `{"x", "y"}`: others do not divide; NULL: all do */
} tt_cpu_sharding_reader;

/* Reads `<@mesh, [{"x"}, {}]>` at `*text`, and goes behind it. NULL text: no dim is divided. */
TT_NODISCARD tt_error *tt_cpu_sharding_read(const tt_cpu_sharding_reader *reader, int32_t rank,
                                            const char **text, tt_cpu_sharding *out_sharding);
/* Goes to the next item of a list of them, `[<...>, <...>]`, from before it or behind the last;
 * false at its end. */
bool tt_cpu_sharding_next(const char **text, bool first);
bool tt_cpu_sharding_equal(const tt_cpu_sharding *a, const tt_cpu_sharding *b);
bool tt_cpu_sharding_divides(const tt_cpu_sharding *sharding);
/* In XLA's words: `{devices=[2,1]0,1}`. */
void tt_cpu_sharding_print(const tt_cpu_sharding *sharding, tt_bytes *out_text);

/* Groups of collectives that are axes of a mesh become lists of devices. The module must be
 * verified. */
TT_NODISCARD tt_error *tt_cpu_groups_resolve(tt_hlo_module *module);

/* Rewrites a module that divides its values among several devices by hand (sdy.manual_computation)
 * to what each device runs: @main takes and returns the parts that a device has, the bodies of
 * manual computations stand where those were, and what lies between them works on whole values, on
 * each device the same. UNIMPLEMENTED where a module without such computations wants its values
 * divided. `may_divide`, of each result or one for all: a result of which the program does not say
 * how it is divided may be left so. The module must be verified, and be verified again. */
TT_NODISCARD tt_error *tt_cpu_partition_module(tt_hlo_module *module, int64_t replicas,
                                               int64_t partitions, const bool *may_divide,
                                               size_t may_divide_count);

#endif /* TT_CPU_SHARDING_H */
