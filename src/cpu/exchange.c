#include "cpu/exchange.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cpu/memory.h"

enum { SECRET_SIZE = 16, TEXT_MAX = 256, FAILURE_MAX = 4096, HELLO_SECONDS = 10 };
#define MAGIC UINT64_C(0x31657078755f7474)

/* Both are sent as they are: processes are on hosts of one kind. */
typedef struct hello {
  uint64_t magic;
  int64_t process;
  unsigned char secret[SECRET_SIZE];
} hello;

typedef struct header {
  tt_cpu_message_key key;
  uint64_t kind;
  int64_t size;
} header;

typedef struct message {
  struct message *next;
  int64_t process;
  header head;
  void *data;
} message;

typedef struct peer {
  tt_cpu_exchange *exchange;
  int64_t process;
  char address[TEXT_MAX];
  pthread_mutex_t sending; /* held while a message is sent */
  int out;                 /* the connection to it, locked by `sending`; -1: none yet */
  /* Locked by the exchange's lock: */
  int in; /* the connection from it; -1: none yet */
  bool started, gone;
  pthread_t reader;
} peer;

typedef struct counter {
  struct counter *next;
  uint64_t devices, runs;
} counter;

struct tt_cpu_exchange {
  int64_t own, count;
  int listening;
  unsigned char secret[SECRET_SIZE];
  char address[TEXT_MAX];
  pthread_t acceptor;
  bool accepting;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool closing;      /* locked, as are the lists */
  message *messages; /* in the order of their coming */
  counter *counters;
  peer *peers; /* [count] */
};

/* ---- bytes ---- */

static tt_error *failed(const char *what, int64_t process) {
  return tt_error_new(TT_UNAVAILABLE, "process %lld: %s: %s", (long long)process, what,
                      strerror(errno));
}

static bool read_all(int fd, void *data, size_t size) {
  char *at = data;
  while (size > 0) {
    ssize_t got = recv(fd, at, size, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += got;
    size -= (size_t)got;
  }
  return true;
}

static bool write_all(int fd, const void *data, size_t size) {
  const char *at = data;
  while (size > 0) {
    ssize_t put = send(fd, at, size, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    at += put;
    size -= (size_t)put;
  }
  return true;
}

static void shut(int fd) {
  if (fd >= 0)
    shutdown(fd, SHUT_RDWR);
}

static void close_fd(int fd) {
  if (fd >= 0)
    close(fd);
}

/* ---- receiving ---- */

static void free_message(message *m) {
  tt_cpu_memory_free(m->data);
  free(m);
}

static message *read_message(const peer *p, int fd) {
  message *m = calloc(1, sizeof *m);
  if (m == NULL)
    return NULL;
  m->process = p->process;
  bool ok = read_all(fd, &m->head, sizeof m->head) && m->head.size >= 0;
  if (ok && m->head.key.sender < 0)
    ok = m->head.size < FAILURE_MAX;
  m->data = ok ? tt_cpu_memory_alloc(m->head.size + 1) : NULL;
  if (m->data != NULL && read_all(fd, m->data, (size_t)m->head.size)) {
    ((char *)m->data)[m->head.size] = '\0';
    return m;
  }
  free_message(m);
  return NULL;
}

static void *read_messages(void *user) {
  peer *p = user;
  tt_cpu_exchange *x = p->exchange;
  for (message *m; (m = read_message(p, p->in)) != NULL;) {
    pthread_mutex_lock(&x->lock);
    message **at = &x->messages;
    while (*at != NULL)
      at = &(*at)->next;
    *at = m;
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
  }
  pthread_mutex_lock(&x->lock);
  p->gone = true;
  pthread_cond_broadcast(&x->changed);
  pthread_mutex_unlock(&x->lock);
  return NULL;
}

/* A connection becomes that of the peer that it says it is, when it knows the secret. */
static void greet(tt_cpu_exchange *x, int fd) {
  struct timeval limit = {HELLO_SECONDS, 0}, none = {0, 0};
  hello h;
  unsigned char differs = 0;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  bool ok = read_all(fd, &h, sizeof h) && h.magic == MAGIC && h.process >= 0 &&
            h.process < x->count && h.process != x->own;
  for (int i = 0; ok && i < SECRET_SIZE; i++)
    differs |= (unsigned char)(h.secret[i] ^ x->secret[i]);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
  pthread_mutex_lock(&x->lock);
  peer *p = ok && differs == 0 && !x->closing ? &x->peers[h.process] : NULL;
  if (p != NULL && p->in < 0) {
    p->in = fd;
    p->started = pthread_create(&p->reader, NULL, read_messages, p) == 0;
    if (p->started)
      fd = -1; /* the reader's, which looks at p->in without the lock */
    else
      p->in = -1;
  }
  pthread_mutex_unlock(&x->lock);
  close_fd(fd);
}

static void *accept_all(void *user) {
  tt_cpu_exchange *x = user;
  for (;;) {
    int fd = accept4(x->listening, NULL, NULL, SOCK_CLOEXEC);
    pthread_mutex_lock(&x->lock);
    bool closing = x->closing;
    pthread_mutex_unlock(&x->lock);
    if (closing) {
      close_fd(fd);
      return NULL;
    }
    if (fd >= 0)
      greet(x, fd);
    else if (errno != EINTR && errno != ECONNABORTED)
      usleep(10000); /* no descriptors left, perhaps */
  }
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

/* A port of the system's choice; then the address in full. */
static tt_error *listen_at(tt_cpu_exchange *x, const char *host) {
  struct addrinfo *list = NULL;
  struct sockaddr_storage bound;
  socklen_t size = sizeof bound;
  char port[32] = "", secret[2 * SECRET_SIZE + 1];
  TT_RETURN_IF_ERROR(resolve(host, "0", true, &list));
  x->listening = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool ok = x->listening >= 0 && bind(x->listening, list->ai_addr, list->ai_addrlen) == 0 &&
            listen(x->listening, 128) == 0 &&
            getsockname(x->listening, (struct sockaddr *)(void *)&bound, &size) == 0 &&
            getnameinfo((struct sockaddr *)(void *)&bound, size, NULL, 0, port, sizeof port,
                        NI_NUMERICSERV) == 0;
  freeaddrinfo(list);
  if (!ok || getrandom(x->secret, sizeof x->secret, 0) != (ssize_t)sizeof x->secret)
    return failed("cannot listen", x->own);
  for (int i = 0; i < SECRET_SIZE; i++)
    snprintf(secret + 2 * i, 3, "%02x", x->secret[i]);
  snprintf(x->address, sizeof x->address, "%s/%s/%s", host, port, secret);
  return NULL;
}

static void init(tt_cpu_exchange *x, int64_t own, int64_t count) {
  pthread_condattr_t attr;
  x->own = own;
  x->count = count;
  x->listening = -1;
  pthread_mutex_init(&x->lock, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&x->changed, &attr);
  pthread_condattr_destroy(&attr);
  x->peers = (peer *)(x + 1);
  for (int64_t i = 0; i < count; i++) {
    x->peers[i] = (peer){.exchange = x, .process = i, .out = -1, .in = -1};
    pthread_mutex_init(&x->peers[i].sending, NULL);
  }
}

tt_error *tt_cpu_exchange_new(int64_t own, int64_t processes, const char *host,
                              tt_cpu_exchange **out_exchange) {
  tt_error *err = NULL;
  size_t size = sizeof(tt_cpu_exchange) + (size_t)processes * sizeof(peer);
  tt_cpu_exchange *x = calloc(1, size);
  *out_exchange = NULL;
  if (x == NULL)
    return tt_error_no_memory(size);
  init(x, own, processes);
  if (strlen(host) > 64)
    TT_TRY(tt_error_new(TT_INVALID_ARGUMENT, "address %.64s...: longer than 64", host));
  TT_TRY(listen_at(x, host));
  x->accepting = pthread_create(&x->acceptor, NULL, accept_all, x) == 0;
  if (!x->accepting)
    TT_TRY(tt_error_new(TT_RESOURCE_EXHAUSTED, "no thread can be started"));
  *out_exchange = x;
  x = NULL; /* moved to the caller */
out:
  tt_cpu_exchange_free(x);
  return err;
}

void tt_cpu_exchange_free(tt_cpu_exchange *x) {
  if (x == NULL)
    return;
  pthread_mutex_lock(&x->lock);
  x->closing = true;
  for (int64_t i = 0; i < x->count; i++)
    shut(x->peers[i].in);
  pthread_cond_broadcast(&x->changed);
  pthread_mutex_unlock(&x->lock);
  shut(x->listening);
  if (x->accepting)
    pthread_join(x->acceptor, NULL);
  close_fd(x->listening);
  for (int64_t i = 0; i < x->count; i++) {
    peer *p = &x->peers[i];
    if (p->started)
      pthread_join(p->reader, NULL);
    close_fd(p->in);
    close_fd(p->out);
    pthread_mutex_destroy(&p->sending);
  }
  while (x->messages != NULL) {
    message *m = x->messages;
    x->messages = m->next;
    free_message(m);
  }
  while (x->counters != NULL) {
    counter *c = x->counters;
    x->counters = c->next;
    free(c);
  }
  pthread_mutex_destroy(&x->lock);
  pthread_cond_destroy(&x->changed);
  free(x);
}

const char *tt_cpu_exchange_address(const tt_cpu_exchange *x) { return x->address; }

tt_error *tt_cpu_exchange_introduce(tt_cpu_exchange *x, int64_t process, const char *address) {
  const char *port = strchr(address, '/'), *secret = port == NULL ? NULL : strchr(port + 1, '/');
  if (secret == NULL || strlen(secret + 1) != 2 * SECRET_SIZE || strlen(address) >= TEXT_MAX)
    return tt_error_new(TT_INVALID_ARGUMENT, "process %lld: its address is not one",
                        (long long)process);
  strcpy(x->peers[process].address, address);
  return NULL;
}

uint64_t tt_cpu_exchange_next_run(tt_cpu_exchange *x, uint64_t devices) {
  uint64_t number = 0;
  pthread_mutex_lock(&x->lock);
  counter *c = x->counters;
  while (c != NULL && c->devices != devices)
    c = c->next;
  if (c == NULL && (c = calloc(1, sizeof *c)) != NULL) {
    *c = (counter){x->counters, devices, 0};
    x->counters = c;
  }
  number = c == NULL ? UINT64_MAX : c->runs++;
  pthread_mutex_unlock(&x->lock);
  return number;
}

/* ---- sending ---- */

static void fill_secret(const char *digits, unsigned char *secret) {
  for (int i = 0; i < SECRET_SIZE; i++) {
    unsigned byte = 0;
    sscanf(digits + 2 * i, "%2x", &byte);
    secret[i] = (unsigned char)byte;
  }
}

/* With `sending` held. */
static tt_error *connect_to(const tt_cpu_exchange *x, peer *p) {
  char copy[TEXT_MAX];
  struct addrinfo *list = NULL;
  int one = 1;
  hello h = {.magic = MAGIC, .process = x->own};
  memcpy(copy, p->address, sizeof copy);
  char *port = strchr(copy, '/'), *secret = port == NULL ? NULL : strchr(port + 1, '/');
  if (secret == NULL)
    return tt_error_new(TT_INTERNAL, "process %lld has no address", (long long)p->process);
  *port++ = '\0';
  *secret++ = '\0';
  fill_secret(secret, h.secret);
  TT_RETURN_IF_ERROR(resolve(copy, port, false, &list));
  int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool ok =
      fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) == 0 && write_all(fd, &h, sizeof h);
  tt_error *err = ok ? NULL : failed("cannot connect", p->process);
  freeaddrinfo(list);
  if (ok)
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  else
    close_fd(fd);
  p->out = ok ? fd : -1;
  return err;
}

tt_error *tt_cpu_exchange_send(tt_cpu_exchange *x, int64_t process, const tt_cpu_message_key *key,
                               uint64_t kind, const void *const *parts, const int64_t *sizes,
                               int64_t parts_count) {
  peer *p = &x->peers[process];
  header head = {*key, kind, 0};
  for (int64_t i = 0; i < parts_count; i++)
    head.size += sizes[i];
  pthread_mutex_lock(&p->sending);
  tt_error *err = p->out < 0 ? connect_to(x, p) : NULL;
  bool ok = err == NULL && write_all(p->out, &head, sizeof head);
  for (int64_t i = 0; ok && i < parts_count; i++)
    ok = write_all(p->out, parts[i], (size_t)sizes[i]);
  if (err == NULL && !ok)
    err = failed("cannot send", process);
  pthread_mutex_unlock(&p->sending);
  return err;
}

/* ---- waiting ---- */

/* Locked. The message, or the word that the run has failed. */
static message *take_message(tt_cpu_exchange *x, int64_t process, const tt_cpu_message_key *key,
                             message **out_failure) {
  *out_failure = NULL;
  for (message **at = &x->messages; *at != NULL; at = &(*at)->next) {
    message *m = *at;
    if (m->process == process && memcmp(&m->head.key, key, sizeof *key) == 0) {
      *at = m->next;
      return m;
    }
    if (m->head.key.sender < 0 && m->head.key.devices == key->devices &&
        m->head.key.run == key->run)
      *out_failure = m;
  }
  return NULL;
}

static struct timespec deadline_of(int64_t wait_ns) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t ns = t.tv_nsec + wait_ns % 1000000000;
  t.tv_sec += (time_t)(wait_ns / 1000000000 + ns / 1000000000);
  t.tv_nsec = (long)(ns % 1000000000);
  return t;
}

/* Locked. */
static tt_error *await_message(tt_cpu_exchange *x, int64_t process, const tt_cpu_message_key *key,
                               int64_t wait_ns, message **out_message) {
  struct timespec deadline = deadline_of(wait_ns);
  message *failure = NULL;
  for (int rc = 0;;) {
    *out_message = take_message(x, process, key, &failure);
    if (*out_message != NULL)
      return NULL;
    if (failure != NULL)
      return tt_error_new(
          (tt_code)(failure->head.kind % 17 == 0 ? TT_ABORTED : failure->head.kind % 17),
          "process %lld: %s", (long long)failure->process, (const char *)failure->data);
    if (x->closing)
      return tt_error_new(TT_CANCELLED, "the client is being destroyed");
    if (x->peers[process].gone)
      return tt_error_new(TT_UNAVAILABLE, "process %lld has ended or cannot be reached",
                          (long long)process);
    if (rc != 0)
      return tt_error_new(TT_DEADLINE_EXCEEDED, "process %lld did not come to an operation in time",
                          (long long)process);
    rc = pthread_cond_timedwait(&x->changed, &x->lock, &deadline);
  }
}

tt_error *tt_cpu_exchange_receive(tt_cpu_exchange *x, int64_t process,
                                  const tt_cpu_message_key *key, uint64_t kind, int64_t size,
                                  int64_t wait_ns, void **out_data) {
  message *m = NULL;
  *out_data = NULL;
  pthread_mutex_lock(&x->lock);
  tt_error *err = await_message(x, process, key, wait_ns, &m);
  pthread_mutex_unlock(&x->lock);
  if (err != NULL)
    return err;
  if (m->head.kind != kind || m->head.size != size)
    err = tt_error_new(TT_INVALID_ARGUMENT,
                       "process %lld is at another operation, or one of other sizes: it sends %lld "
                       "bytes, not %lld",
                       (long long)process, (long long)m->head.size, (long long)size);
  else
    *out_data = m->data;
  if (err == NULL)
    m->data = NULL;
  free_message(m);
  return err;
}

void tt_cpu_exchange_forget(tt_cpu_exchange *x, uint64_t devices, uint64_t run) {
  pthread_mutex_lock(&x->lock);
  for (message **at = &x->messages; *at != NULL;) {
    message *m = *at;
    if (m->head.key.devices != devices || m->head.key.run != run) {
      at = &m->next;
      continue;
    }
    *at = m->next;
    free_message(m);
  }
  pthread_mutex_unlock(&x->lock);
}
