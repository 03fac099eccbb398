/* ir.h: the StableHLO program in memory.
 *
 * A module owns one arena and everything in it: functions, operations, values, attributes. Nothing
 * is freed alone. A region has one block. Values are numbered when printed. One thread at a time
 * per module. */
#ifndef TT_HLO_IR_H
#define TT_HLO_IR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/dtype.h"
#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A dim that only the run knows: `?` in text, MLIR's own value for it. */
#define TT_HLO_DYNAMIC INT64_MIN

typedef enum tt_hlo_code {
#define X(id, mnemonic, operands, results, traits, infer) TT_HLO_##id,
#include "hlo/ops.def"
#undef X
  TT_HLO_OP_COUNT
} tt_hlo_code;

/* Traits; ops.def says what they mean. */
enum {
  TT_HLO_ELEMENTWISE = 1,
  TT_HLO_GIVEN = 2,
  TT_HLO_COMMUTES = 4,
  TT_HLO_EFFECT = 8,
  TT_HLO_TOKENS = 16,
  TT_HLO_REGIONS = 32,
  TT_HLO_WIDENS = 64,
  TT_HLO_COLLECTIVE = 128,
  TT_HLO_ALONE = 256,
  TT_HLO_FUTURES = 512
};

/* No tensor has more axes, so that 64 bits hold a set of them. As PyTorch's limit. */
#define TT_HLO_RANK_MAX 64

/* A tensor type; rank 0 is a scalar. `token` stands for the token type, and then the rest is
 * unused. `future` stands for the future of one such tensor, `!stablehlo.future<tensor<4xf32>>`. */
typedef struct tt_hlo_type {
  tt_dtype dtype;
  bool token, future;
  int32_t rank;
  const int64_t *dims; /* [rank], each >= 0 or TT_HLO_DYNAMIC */
} tt_hlo_type;

typedef struct tt_hlo_op tt_hlo_op;
typedef struct tt_hlo_region tt_hlo_region;

typedef struct tt_hlo_value {
  tt_hlo_type type;
  tt_hlo_op *op;   /* that makes it; NULL for an argument of a region */
  uint32_t index;  /* among that op's results or the region's arguments */
  uint32_t number; /* scratch of the printer and of passes */
} tt_hlo_value;

/* ---- attributes ---- */

typedef enum tt_hlo_attr_kind {
  TT_HLO_ATTR_I64,  /* i64 = 3 : i64; axis, dimension, ... */
  TT_HLO_ATTR_I32,  /* api_version */
  TT_HLO_ATTR_I64S, /* array<i64: ...> */
  TT_HLO_ATTR_BOOL,
  TT_HLO_ATTR_BOOLS, /* array<i1: ...>; i64s holds 0 or 1 */
  TT_HLO_ATTR_F32,
  TT_HLO_ATTR_STRING,
  TT_HLO_ATTR_SYMBOL, /* @name */
  TT_HLO_ATTR_ENUM,   /* i64 is the value, of the enum that the name implies */
  TT_HLO_ATTR_ENUMS,  /* precision_config */
  TT_HLO_ATTR_MATRIX, /* dense<...> : tensor<RxCxi64>; i64s row by row, columns in `columns` */
  TT_HLO_ATTR_DENSE,  /* a constant's elements */
  TT_HLO_ATTR_DOT,
  TT_HLO_ATTR_CONV,
  TT_HLO_ATTR_GATHER,
  TT_HLO_ATTR_SCATTER,
  TT_HLO_ATTR_CHANNEL, /* #stablehlo.channel_handle<handle = i64, type = columns> */
  TT_HLO_ATTR_LAYOUTS, /* operand_layouts, result_layouts of a custom call: default (major to minor)
                          for each */
  TT_HLO_ATTR_TEXT     /* printed as it stands; for attributes that nothing here reads */
} tt_hlo_attr_kind;

/* attrs.def X(id, name): the attribute names that operations use. */
typedef enum tt_hlo_attr_name {
#define X(id, name) TT_HLO_##id,
#include "hlo/attrs.def"
#undef X
  TT_HLO_ATTR_NAME_COUNT
} tt_hlo_attr_name;

/* A list of dims in an attribute. */
typedef struct tt_hlo_list {
  size_t count;
  const int64_t *items;
} tt_hlo_list;

typedef struct tt_hlo_dot_dims {
  tt_hlo_list lhs_batch, rhs_batch, lhs_contract, rhs_contract;
} tt_hlo_dot_dims;

typedef struct tt_hlo_conv_dims {
  int64_t input_batch, input_feature;
  tt_hlo_list input_spatial;
  int64_t kernel_input, kernel_output;
  tt_hlo_list kernel_spatial;
  int64_t output_batch, output_feature;
  tt_hlo_list output_spatial;
} tt_hlo_conv_dims;

typedef struct tt_hlo_gather_dims {
  tt_hlo_list offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims,
      start_index_map;
  int64_t index_vector_dim;
} tt_hlo_gather_dims;

typedef struct tt_hlo_scatter_dims {
  tt_hlo_list update_window_dims, inserted_window_dims, input_batching_dims,
      scatter_indices_batching_dims, scatter_dims_to_operand_dims;
  int64_t index_vector_dim;
} tt_hlo_scatter_dims;

typedef struct tt_hlo_attr {
  tt_hlo_attr_name name;
  tt_hlo_attr_kind kind;
  int64_t i64;      /* I64 I32 BOOL ENUM CHANNEL */
  int64_t columns;  /* MATRIX CHANNEL */
  double f64;       /* F32 */
  tt_hlo_list i64s; /* I64S BOOLS ENUMS MATRIX */
  const char *text; /* STRING SYMBOL TEXT; NUL-terminated */
  const void *data; /* DENSE: elements in host form, row-major; `splat`: just one */
  bool splat;
  const void *dims; /* DOT CONV GATHER SCATTER: the struct above */
} tt_hlo_attr;

typedef enum tt_hlo_direction {
  TT_HLO_EQ,
  TT_HLO_NE,
  TT_HLO_GE,
  TT_HLO_GT,
  TT_HLO_LE,
  TT_HLO_LT
} tt_hlo_direction;
typedef enum tt_hlo_compare_type {
  TT_HLO_COMPARE_NOTYPE,
  TT_HLO_COMPARE_FLOAT,
  TT_HLO_COMPARE_TOTALORDER,
  TT_HLO_COMPARE_SIGNED,
  TT_HLO_COMPARE_UNSIGNED
} tt_hlo_compare_type;
typedef enum tt_hlo_precision {
  TT_HLO_PRECISION_DEFAULT,
  TT_HLO_PRECISION_HIGH,
  TT_HLO_PRECISION_HIGHEST
} tt_hlo_precision;
typedef enum tt_hlo_fft_type {
  TT_HLO_FFT_FFT,
  TT_HLO_FFT_IFFT,
  TT_HLO_FFT_RFFT,
  TT_HLO_FFT_IRFFT
} tt_hlo_fft_type;
typedef enum tt_hlo_rng { TT_HLO_RNG_DEFAULT, TT_HLO_RNG_THREE_FRY, TT_HLO_RNG_PHILOX } tt_hlo_rng;
typedef enum tt_hlo_distribution {
  TT_HLO_DISTRIBUTION_INVALID,
  TT_HLO_UNIFORM,
  TT_HLO_NORMAL
} tt_hlo_distribution;
typedef enum tt_hlo_transpose_kind {
  TT_HLO_TRANSPOSE_INVALID,
  TT_HLO_NO_TRANSPOSE,
  TT_HLO_TRANSPOSE_PLAIN,
  TT_HLO_ADJOINT
} tt_hlo_transpose_kind;

/* ---- structure ---- */

struct tt_hlo_op {
  tt_hlo_code code;
  uint32_t operands_count, results_count, attrs_count, regions_count;
  tt_hlo_value **operands;
  tt_hlo_value *results; /* [results_count] */
  tt_hlo_attr *attrs;
  tt_hlo_region **regions;
  tt_hlo_op *next, *previous; /* in its region */
  tt_hlo_region *parent;
  const char *location; /* where the user wrote it, or NULL */
};

struct tt_hlo_region {
  uint32_t args_count;
  tt_hlo_value *args;
  tt_hlo_op *first, *last; /* the last is a RETURN once the region is whole */
  tt_hlo_region
      *outer; /* the region that holds the op that holds this one; NULL for a function's body */
};

/* What a caller may do with a parameter's buffer. */
typedef struct tt_hlo_param {
  bool donated;         /* jax.buffer_donor */
  int32_t alias;        /* tf.aliasing_output: the result that takes this buffer over; -1 none */
  const char *sharding; /* sdy.sharding as text; NULL: none */
} tt_hlo_param;

typedef struct tt_hlo_func tt_hlo_func;
struct tt_hlo_func {
  const char *name;
  tt_hlo_region *body;
  tt_hlo_param *params;          /* [body->args_count] */
  const char **result_shardings; /* [results], each as of a parameter; or NULL */
  tt_hlo_func *next;
  uint32_t mark; /* scratch of passes */
};

/* sdy.mesh: `<["x"=2, "y"=4]>` */
typedef struct tt_hlo_mesh tt_hlo_mesh;
struct tt_hlo_mesh {
  const char *name, *text;
  tt_hlo_mesh *next;
};

typedef struct tt_hlo_module {
  tt_arena arena;
  const char *name;
  tt_hlo_func *funcs; /* the first is @main */
  tt_hlo_mesh *meshes;
  int64_t num_replicas, num_partitions;
  const char *divided; /* further attributes as text, of what whole values it was made; or NULL */
} tt_hlo_module;

typedef struct tt_hlo_op_info {
  const char *mnemonic;
  int32_t operands, results; /* -1: any number */
  uint32_t traits;
  tt_error *(*infer)(tt_arena *arena, tt_hlo_op *op);
} tt_hlo_op_info;

extern const tt_hlo_op_info tt_hlo_ops[TT_HLO_OP_COUNT];
extern const char *const tt_hlo_attr_names[TT_HLO_ATTR_NAME_COUNT];

TT_NODISCARD tt_error *tt_hlo_module_new(tt_hlo_module **out_module);
void tt_hlo_module_free(tt_hlo_module *module);

/* Fills the result types of `op` from its operands, attributes and regions (ops marked GIVEN have
 * them already), and checks all that the specification asks of this op. The message begins with the
 * mnemonic. New dims are in `arena`. */
TT_NODISCARD tt_error *tt_hlo_op_infer(tt_arena *arena, tt_hlo_op *op);
/* Checks a whole module: every op as tt_hlo_op_infer does with result types equal to the recorded
 * ones, values defined before use and in scope, each region closed by a return of the right types.
 */
TT_NODISCARD tt_error *tt_hlo_module_verify(tt_hlo_module *module);
/* Appends StableHLO text, the generic form of each operation. Constants of more than 16 elements
 * are printed in hex. The text parses again to the same program. */
TT_NODISCARD tt_error *tt_hlo_module_print(tt_hlo_module *module, tt_bytes *out_text);
/* `tensor<4x?xf32>` */
void tt_hlo_type_print(const tt_hlo_type *type, tt_bytes *out_text);

/* The dtype is one, the rank at most TT_HLO_RANK_MAX, no dim negative, and the bytes of the known
 * dims fit in 63 bits. */
TT_NODISCARD tt_error *tt_hlo_type_check(const tt_hlo_type *type);
/* NULL where none has the name. */
const tt_hlo_func *tt_hlo_func_find(const tt_hlo_module *module, const char *name);
/* NULL when the op does not have it. */
const tt_hlo_attr *tt_hlo_op_attr(const tt_hlo_op *op, tt_hlo_attr_name name);
/* Are these replica_groups axes of a mesh, as text? `groups` may be NULL. */
bool tt_hlo_groups_are_axes(const tt_hlo_attr *groups);
/* A tensor, or a token, none of whose dims only the run knows. */
bool tt_hlo_type_is_known(const tt_hlo_type *type);
bool tt_hlo_type_equal(const tt_hlo_type *a, const tt_hlo_type *b);
/* Equal, or compatible where one of two dims is dynamic. */
bool tt_hlo_type_compatible(const tt_hlo_type *a, const tt_hlo_type *b);

#ifdef __cplusplus
}
#endif

#endif /* TT_HLO_IR_H */
