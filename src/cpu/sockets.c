#include "cpu/sockets.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cpu/deadline.h"

enum { BACKLOG = 128 };

static tt_error *failed(const char *what) {
  return tt_error_new(TT_UNAVAILABLE, "%s: %s", what, strerror(errno));
}

void tt_cpu_socket_shut(int fd) {
  if (fd >= 0)
    shutdown(fd, SHUT_RDWR);
}

void tt_cpu_socket_close(int fd) {
  if (fd >= 0)
    close(fd);
}

bool tt_cpu_socket_read(int fd, void *data, int64_t size) {
  char *at = data;
  while (size > 0) {
    ssize_t got = recv(fd, at, (size_t)size, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += got;
    size -= got;
  }
  return true;
}

/* Until it can be written. */
static tt_error *await_room(int fd, int wake, int64_t deadline) {
  struct pollfd polled[] = {{fd, POLLOUT, 0}, {wake, POLLIN, 0}};
  while (polled[0].revents == 0) {
    int ms = tt_cpu_deadline_left_ms(deadline);
    if (ms == 0)
      return tt_error_new(TT_DEADLINE_EXCEEDED, "the time for it is over");
    if (poll(polled, 2, ms) < 0 && errno != EINTR)
      return failed("poll");
    if (polled[1].revents != 0)
      return tt_error_new(TT_CANCELLED, "the client is being destroyed");
  }
  return NULL;
}

tt_error *tt_cpu_socket_write(int fd, int wake, int64_t deadline, const void *data, int64_t size,
                              int64_t *out_written) {
  const char *at = data;
  while (size > 0) {
    ssize_t put = send(fd, at, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0 && errno != EAGAIN)
      return failed("cannot send");
    if (put < 0) {
      TT_RETURN_IF_ERROR(await_room(fd, wake, deadline));
      continue;
    }
    at += put;
    size -= put;
    *out_written += put;
  }
  return NULL;
}

/* ---- opening ---- */

static tt_error *resolve(const char *host, const char *port, bool passive,
                         struct addrinfo **out_list) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  int rc = getaddrinfo(host, port, &hints, out_list);
  return rc == 0 ? NULL
                 : tt_error_new(TT_INVALID_ARGUMENT, "address %s: %s", host, gai_strerror(rc));
}

static int new_socket(const struct addrinfo *address) {
  return socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static bool listen_at(const struct addrinfo *address, int fd, char *out_port, size_t room) {
  struct sockaddr_storage bound;
  socklen_t size = sizeof bound;
  struct sockaddr *own = (struct sockaddr *)(void *)&bound;
  return bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0 &&
         getsockname(fd, own, &size) == 0 &&
         getnameinfo(own, size, NULL, 0, out_port, (socklen_t)room, NI_NUMERICSERV) == 0;
}

tt_error *tt_cpu_socket_listen(const char *host, int *out_fd, char *out_port, size_t room) {
  struct addrinfo *list = NULL;
  tt_error *err = NULL;
  *out_fd = -1;
  TT_RETURN_IF_ERROR(resolve(host, "0", true, &list));
  for (const struct addrinfo *a = list; a != NULL && *out_fd < 0; a = a->ai_next) {
    int fd = new_socket(a);
    if (fd >= 0 && listen_at(a, fd, out_port, room)) {
      *out_fd = fd;
      continue;
    }
    tt_error_free(err);
    err = failed("cannot listen");
    tt_cpu_socket_close(fd);
  }
  freeaddrinfo(list);
  if (*out_fd < 0)
    return tt_error_wrap_take(err, "address %s", host);
  tt_error_free(err);
  return NULL;
}

static tt_error *connect_at(const struct addrinfo *address, int fd, int wake, int64_t deadline) {
  int error = 0;
  socklen_t size = sizeof error;
  if (fd < 0)
    return failed("no socket");
  if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
    return NULL;
  if (errno != EINPROGRESS && errno != EINTR)
    return failed("cannot connect");
  TT_RETURN_IF_ERROR(await_room(fd, wake, deadline));
  errno = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
  return errno == 0 ? NULL : failed("cannot connect");
}

tt_error *tt_cpu_socket_connect(const char *host, const char *port, int wake, int64_t deadline,
                                int *out_fd) {
  struct addrinfo *list = NULL;
  tt_error *err = NULL;
  int one = 1;
  *out_fd = -1;
  TT_RETURN_IF_ERROR(resolve(host, port, false, &list));
  for (const struct addrinfo *a = list; a != NULL && *out_fd < 0; a = a->ai_next) {
    int fd = new_socket(a);
    tt_error_free(err);
    err = connect_at(a, fd, wake, deadline);
    *out_fd = err == NULL ? fd : -1;
    if (err != NULL)
      tt_cpu_socket_close(fd);
    else
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (err != NULL && tt_error_code(err) != TT_UNAVAILABLE)
      break;
  }
  freeaddrinfo(list);
  return err;
}
