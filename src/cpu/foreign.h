/* foreign.h: custom calls that run a user's own handler, by XLA's FFI (foreign_abi.h).
 *
 * Handlers and types are the process's and stay for ever. A program finds its handlers when it is
 * compiled; those that are registered later are not for it. */
#ifndef TT_CPU_FOREIGN_H
#define TT_CPU_FOREIGN_H

#include "cpu/foreign_abi.h"
#include "cpu/kernel.h"

/* ALREADY_EXISTS for a second handler of that name that is another one. Thread-safe. */
TT_NODISCARD tt_error *tt_cpu_foreign_register(tt_ffi_span name, tt_ffi_handler execute);
/* NULL: there is none. */
tt_ffi_handler tt_cpu_foreign_find(const char *name);
/* Gives a type an id, or checks that it has this one where `*id` is not 0. Thread-safe. */
TT_NODISCARD tt_error *tt_cpu_foreign_type(tt_ffi_span name, int64_t *id);

/* What a caller gives the handlers of a run: values by type. Reference counted, for runs outlive
 * the call. Values are added by one thread, before any run. */
tt_cpu_context *tt_cpu_context_new(void); /* NULL out of memory */
tt_cpu_context *tt_cpu_context_retain(tt_cpu_context *context);
void tt_cpu_context_release(tt_cpu_context *context); /* NULL is allowed */
/* `deleter` may be NULL; else it is called with the last reference. On error it is not. */
TT_NODISCARD tt_error *tt_cpu_context_add(tt_cpu_context *context, int64_t type_id, void *data,
                                          void (*deleter)(void *data));

/* Is it a call of a handler that can be made? UNIMPLEMENTED says what is in the way. */
TT_NODISCARD tt_error *tt_cpu_foreign_check(const tt_hlo_op *op);
TT_NODISCARD tt_error *tt_cpu_foreign_call(const tt_cpu_args *args);

/* foreign_attrs.c: reads `{a = 1 : i64, ...}`; NULL is the same as {}. In the arena. */
TT_NODISCARD tt_error *tt_cpu_foreign_attrs(tt_arena *arena, const char *text,
                                            tt_ffi_attrs *out_attrs);
int32_t tt_cpu_foreign_dtype(tt_dtype dtype);

#endif /* TT_CPU_FOREIGN_H */
