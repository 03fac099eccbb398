/* sockets.h: TCP with time limits. A deadline is as in deadline.h; each wait ends too, CANCELLED,
 * once the descriptor `wake` can be read. What reads blocks until its socket is shut. */
#ifndef TT_CPU_SOCKETS_H
#define TT_CPU_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A port of the system's choice at `host`, written to `out_port`. accept does not wait. */
TT_NODISCARD tt_error *tt_cpu_socket_listen(const char *host, int *out_fd, char *out_port,
                                            size_t room);
/* Tries all addresses that the host has. */
TT_NODISCARD tt_error *tt_cpu_socket_connect(const char *host, const char *port, int wake,
                                             int64_t deadline, int *out_fd);
/* `out_written` counts up by what has gone out, also on error. */
TT_NODISCARD tt_error *tt_cpu_socket_write(int fd, int wake, int64_t deadline, const void *data,
                                           int64_t size, int64_t *out_written);
/* False at the end of what comes. */
bool tt_cpu_socket_read(int fd, void *data, int64_t size);
/* Both directions, of -1 none. */
void tt_cpu_socket_shut(int fd);
void tt_cpu_socket_close(int fd);

#endif /* TT_CPU_SOCKETS_H */
