/* exchange.h: messages between the processes of one program, over TCP.
 *
 * Each process listens at an address of its own, and tells it, with a secret, to the others (by
 * PJRT's key-value store). A process connects to another when it first has something for it. */
#ifndef TT_CPU_EXCHANGE_H
#define TT_CPU_EXCHANGE_H

#include <stdint.h>

#include "base/error.h"

typedef struct tt_cpu_exchange tt_cpu_exchange;

/* What a message belongs to; equal keys are the same bytes. */
typedef struct tt_cpu_message_key {
  uint64_t devices; /* a hash of those that take part in the run */
  uint64_t run;     /* number of the run among them */
  uint64_t group, round;
  int64_t channel;
  int64_t sender; /* a member; -1: the process itself, whose run has failed */
} tt_cpu_message_key;

/* Listens at `host`, an address that the other processes reach. */
TT_NODISCARD tt_error *tt_cpu_exchange_new(int64_t own, int64_t processes, const char *host,
                                           tt_cpu_exchange **out_exchange);
/* Ends all that waits. NULL is allowed. */
void tt_cpu_exchange_free(tt_cpu_exchange *exchange);
/* Host, port and secret, without blanks; lives as long as the exchange. */
const char *tt_cpu_exchange_address(const tt_cpu_exchange *exchange);
/* Where another process is. */
TT_NODISCARD tt_error *tt_cpu_exchange_introduce(tt_cpu_exchange *exchange, int64_t process,
                                                 const char *address);
/* The number of the next run among these devices. */
uint64_t tt_cpu_exchange_next_run(tt_cpu_exchange *exchange, uint64_t devices);
/* `kind` says what the sender is at: who receives another kind gets an error. */
TT_NODISCARD tt_error *tt_cpu_exchange_send(tt_cpu_exchange *exchange, int64_t process,
                                            const tt_cpu_message_key *key, uint64_t kind,
                                            const void *const *parts, const int64_t *sizes,
                                            int64_t parts_count);
/* Waits for a message of `size` bytes; the caller frees it with tt_cpu_memory_free. */
TT_NODISCARD tt_error *tt_cpu_exchange_receive(tt_cpu_exchange *exchange, int64_t process,
                                               const tt_cpu_message_key *key, uint64_t kind,
                                               int64_t size, int64_t wait_ns, void **out_data);
/* Drops what has come for a run. */
void tt_cpu_exchange_forget(tt_cpu_exchange *exchange, uint64_t devices, uint64_t run);

#endif /* TT_CPU_EXCHANGE_H */
