/* exchange.h: messages between the processes of one program, over TCP.
 *
 * Each process listens at an address of its own, and tells it, with a secret, to the others (by
 * PJRT's key-value store). A process connects to another when it first has something for it.
 *
 * What comes waits for who takes it, up to half of the memory that there is: then no more is read,
 * and who sends waits. Thread-safe. */
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
/* Ends all that waits, CANCELLED, as all does that comes later. NULL is allowed. */
void tt_cpu_exchange_close(tt_cpu_exchange *exchange);
/* Closes it first; nobody may be in a call. NULL is allowed. */
void tt_cpu_exchange_free(tt_cpu_exchange *exchange);
/* Host, port and secret, without blanks; lives as long as the exchange. */
const char *tt_cpu_exchange_address(const tt_cpu_exchange *exchange);
/* Where another process is. */
TT_NODISCARD tt_error *tt_cpu_exchange_introduce(tt_cpu_exchange *exchange, int64_t process,
                                                 const char *address);
/* The number of the next run among these devices. On error the number is not taken. */
TT_NODISCARD tt_error *tt_cpu_exchange_begin_run(tt_cpu_exchange *exchange, uint64_t devices,
                                                 uint64_t *out_run);
/* Drops what has come for a run, and what will come. */
void tt_cpu_exchange_end_run(tt_cpu_exchange *exchange, uint64_t devices, uint64_t run);
/* `kind` says what the sender is at: who receives another kind gets an error. Deadlines are those
 * of deadline.h. A message that went out in part is the last one to that process. */
TT_NODISCARD tt_error *tt_cpu_exchange_send(tt_cpu_exchange *exchange, int64_t process,
                                            const tt_cpu_message_key *key, uint64_t kind,
                                            const void *const *parts, const int64_t *sizes,
                                            int64_t parts_count, int64_t deadline);
/* Waits for a message of `size` bytes; the caller frees it with tt_cpu_memory_free. */
TT_NODISCARD tt_error *tt_cpu_exchange_receive(tt_cpu_exchange *exchange, int64_t process,
                                               const tt_cpu_message_key *key, uint64_t kind,
                                               int64_t size, int64_t deadline, void **out_data);

#endif /* TT_CPU_EXCHANGE_H */
