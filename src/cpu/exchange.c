#include "cpu/exchange.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/code.h"
#include "cpu/deadline.h"
#include "cpu/memory.h"
#include "cpu/sockets.h"

enum { SECRET_SIZE = 16, TEXT_MAX = 256, FAILURE_MAX = 4096, HELLO_SECONDS = 10, GUESTS_MAX = 64 };
#define HELD_MAX (INT64_C(1) << 33) /* where the memory that there is is not known */
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
  bool broken;             /* locked by `sending`: a message has gone out in part */
  /* Locked by the exchange's lock: */
  int in; /* the connection from it; -1: none yet */
  bool started, gone, overfull;
  pthread_t reader;
} peer;

typedef struct alive {
  struct alive *next;
  uint64_t run;
} alive;

/* Of one set of devices: how many runs have begun, and which of them have not ended. */
typedef struct counter {
  struct counter *next;
  uint64_t devices, runs;
  alive *alive;
} counter;

struct tt_cpu_exchange {
  int64_t own, count;
  int listening, wake; /* `wake` can be read once it closes */
  unsigned char secret[SECRET_SIZE];
  char address[TEXT_MAX];
  pthread_t acceptor;
  bool accepting;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool closing;      /* locked, as are the lists */
  message *messages; /* in the order of their coming */
  int64_t held;      /* bytes of messages that have come or are coming */
  counter *counters;
  peer *peers; /* [count] */
};

static void free_message(message *m) {
  if (m != NULL)
    tt_cpu_memory_free(m->data);
  free(m);
}

/* ---- runs ---- */

/* Locked. */
static counter *counter_of(const tt_cpu_exchange *x, uint64_t devices) {
  counter *c = x->counters;
  while (c != NULL && c->devices != devices)
    c = c->next;
  return c;
}

static alive **find_alive(counter *c, uint64_t run) {
  alive **at = &c->alive;
  while (*at != NULL && (*at)->run != run)
    at = &(*at)->next;
  return at;
}

/* Locked. Of a run that has not ended; it need not have begun. */
static bool is_wanted(const tt_cpu_exchange *x, const tt_cpu_message_key *key) {
  counter *c = counter_of(x, key->devices);
  return c == NULL || key->run >= c->runs || *find_alive(c, key->run) != NULL;
}

/* Locked. */
static tt_error *new_counter(tt_cpu_exchange *x, uint64_t devices, counter **out_counter) {
  *out_counter = calloc(1, sizeof **out_counter);
  if (*out_counter == NULL)
    return tt_error_no_memory(sizeof **out_counter);
  **out_counter = (counter){.next = x->counters, .devices = devices};
  x->counters = *out_counter;
  return NULL;
}

tt_error *tt_cpu_exchange_begin_run(tt_cpu_exchange *x, uint64_t devices, uint64_t *out_run) {
  alive *run = malloc(sizeof *run);
  if (run == NULL)
    return tt_error_no_memory(sizeof *run);
  pthread_mutex_lock(&x->lock);
  counter *c = counter_of(x, devices);
  tt_error *err = c == NULL ? new_counter(x, devices, &c) : NULL;
  if (err == NULL) {
    *out_run = c->runs++;
    *run = (alive){c->alive, *out_run};
    c->alive = run;
    run = NULL; /* moved to the list */
  }
  pthread_mutex_unlock(&x->lock);
  free(run);
  return err;
}

void tt_cpu_exchange_end_run(tt_cpu_exchange *x, uint64_t devices, uint64_t run) {
  pthread_mutex_lock(&x->lock);
  counter *c = counter_of(x, devices);
  alive **at = find_alive(c, run), *ended = *at;
  *at = ended->next;
  free(ended);
  for (message **to = &x->messages; *to != NULL;) {
    message *m = *to;
    if (m->head.key.devices != devices || m->head.key.run != run) {
      to = &m->next;
      continue;
    }
    *to = m->next;
    x->held -= m->head.size;
    free_message(m);
  }
  pthread_cond_broadcast(&x->changed);
  pthread_mutex_unlock(&x->lock);
}

/* ---- receiving ---- */

/* So many bytes may wait here for who takes them. */
static int64_t held_max(void) {
  int64_t limit = tt_cpu_memory_stats_get().limit;
  return limit < 0 ? HELD_MAX : limit / 2;
}

static bool is_sound(const header *h) {
  return h->size >= 0 && h->size < (h->key.sender < 0 ? FAILURE_MAX : INT64_MAX);
}

/* Waits until there is room for a message; false where nobody wants it any more. One that is alone
 * has room, and failures are small. */
static bool reserve(tt_cpu_exchange *x, const header *h) {
  int64_t most = held_max();
  pthread_mutex_lock(&x->lock);
  while (h->key.sender >= 0 && !x->closing && is_wanted(x, &h->key) && x->held > 0 &&
         h->size > most - x->held)
    pthread_cond_wait(&x->changed, &x->lock);
  bool wanted = !x->closing && is_wanted(x, &h->key);
  if (wanted)
    x->held += h->size;
  pthread_mutex_unlock(&x->lock);
  return wanted;
}

static bool skip(int fd, int64_t size) {
  char some[1 << 14];
  bool more = true;
  for (; size > 0 && more; size -= (int64_t)sizeof some)
    more = tt_cpu_socket_read(fd, some, size < (int64_t)sizeof some ? size : (int64_t)sizeof some);
  return more;
}

/* Adds a whole message to the list, or drops it where its run has ended meanwhile. NULL: it did not
 * come. */
static void deliver_take(tt_cpu_exchange *x, const header *h, message *m) {
  pthread_mutex_lock(&x->lock);
  if (m != NULL && is_wanted(x, &h->key)) {
    message **at = &x->messages;
    while (*at != NULL)
      at = &(*at)->next;
    *at = m;
    m = NULL; /* moved to the list */
  } else {
    x->held -= h->size;
  }
  pthread_cond_broadcast(&x->changed);
  pthread_mutex_unlock(&x->lock);
  free_message(m);
}

static bool read_body(peer *p, const header *h) {
  message *m = calloc(1, sizeof *m);
  char *data = m == NULL ? NULL : tt_cpu_memory_alloc(h->size + 1);
  bool whole = data != NULL && tt_cpu_socket_read(p->in, data, h->size);
  if (m != NULL)
    *m = (message){.process = p->process, .head = *h, .data = data};
  if (data == NULL)
    p->overfull = true; /* read once it is gone */
  else
    data[h->size] = '\0';
  if (!whole) {
    free_message(m);
    m = NULL;
  }
  deliver_take(p->exchange, h, m);
  return whole;
}

static void *read_messages(void *user) {
  peer *p = user;
  tt_cpu_exchange *x = p->exchange;
  header h;
  for (bool more = true; more;) {
    more = tt_cpu_socket_read(p->in, &h, sizeof h) && is_sound(&h);
    if (more)
      more = reserve(x, &h) ? read_body(p, &h) : skip(p->in, h.size);
  }
  pthread_mutex_lock(&x->lock);
  tt_cpu_socket_shut(p->in);
  p->gone = true;
  pthread_cond_broadcast(&x->changed);
  pthread_mutex_unlock(&x->lock);
  return NULL;
}

/* ---- who connects ---- */

/* A connection that has not said yet whose it is. */
typedef struct guest {
  int fd;
  int64_t deadline;
  size_t got;
  hello h;
} guest;

typedef struct guests {
  size_t count;
  guest items[GUESTS_MAX]; /* the oldest first */
} guests;

/* Some connection becomes that of the peer that it says it is, when it knows the secret. */
static void welcome(tt_cpu_exchange *x, int fd, const hello *h) {
  unsigned char differs = 0;
  bool ok = h->magic == MAGIC && h->process >= 0 && h->process < x->count && h->process != x->own;
  for (int i = 0; i < SECRET_SIZE; i++)
    differs |= (unsigned char)(h->secret[i] ^ x->secret[i]);
  pthread_mutex_lock(&x->lock);
  peer *p = ok && differs == 0 && !x->closing ? &x->peers[h->process] : NULL;
  if (p != NULL && p->in < 0) {
    p->in = fd;
    p->started = pthread_create(&p->reader, NULL, read_messages, p) == 0;
    if (p->started)
      fd = -1; /* the reader's, which looks at p->in without the lock */
    else
      p->in = -1;
  }
  pthread_mutex_unlock(&x->lock);
  tt_cpu_socket_close(fd);
}

static void remove_guest(guests *all, size_t index) {
  all->count--;
  memmove(&all->items[index], &all->items[index + 1], (all->count - index) * sizeof *all->items);
}

/* Where there are too many the oldest goes: those who have something to say say it at once. */
static void add_guest(guests *all, int fd) {
  if (all->count == GUESTS_MAX) {
    tt_cpu_socket_close(all->items[0].fd);
    remove_guest(all, 0);
  }
  all->items[all->count++] =
      (guest){.fd = fd, .deadline = tt_cpu_deadline_after(HELLO_SECONDS * INT64_C(1000000000))};
}

/* True when it is a guest no longer. */
static bool hear(tt_cpu_exchange *x, guest *g) {
  ssize_t got = recv(g->fd, (char *)&g->h + g->got, sizeof g->h - g->got, MSG_DONTWAIT);
  bool waits = got < 0 && (errno == EAGAIN || errno == EINTR);
  g->got += got > 0 ? (size_t)got : 0;
  if (g->got == sizeof g->h) {
    welcome(x, g->fd, &g->h);
    return true;
  }
  if (got > 0 || (waits && tt_cpu_deadline_left_ms(g->deadline) > 0))
    return false;
  tt_cpu_socket_close(g->fd);
  return true;
}

static void accept_one(tt_cpu_exchange *x, guests *all) {
  int fd = accept4(x->listening, NULL, NULL, SOCK_CLOEXEC);
  if (fd >= 0)
    add_guest(all, fd);
  else if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN)
    usleep(10000); /* no descriptors left, perhaps */
}

static void *accept_all(void *user) {
  tt_cpu_exchange *x = user;
  guests all = {0};
  struct pollfd polled[GUESTS_MAX + 2] = {{x->wake, POLLIN, 0}, {x->listening, POLLIN, 0}};
  while (polled[0].revents == 0) {
    for (size_t i = 0; i < all.count; i++)
      polled[i + 2] = (struct pollfd){all.items[i].fd, POLLIN, 0};
    if (poll(polled, all.count + 2,
             all.count == 0 ? -1 : tt_cpu_deadline_left_ms(all.items[0].deadline)) < 0)
      continue;
    for (size_t i = all.count; i-- > 0;)
      if (hear(x, &all.items[i]))
        remove_guest(&all, i);
    if (polled[1].revents != 0)
      accept_one(x, &all);
  }
  for (size_t i = 0; i < all.count; i++)
    tt_cpu_socket_close(all.items[i].fd);
  return NULL;
}

/* ---- opening ---- */

/* The address in full. */
static tt_error *listen_at(tt_cpu_exchange *x, const char *host) {
  char port[32] = "", secret[2 * SECRET_SIZE + 1];
  TT_RETURN_IF_ERROR(tt_cpu_socket_listen(host, &x->listening, port, sizeof port));
  if (getrandom(x->secret, sizeof x->secret, 0) != (ssize_t)sizeof x->secret)
    return tt_error_new(TT_UNAVAILABLE, "no random bytes: %s", strerror(errno));
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
  x->wake = -1;
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
  x->wake = eventfd(0, EFD_CLOEXEC);
  if (x->wake < 0)
    TT_TRY(tt_error_new(TT_RESOURCE_EXHAUSTED, "eventfd: %s", strerror(errno)));
  x->accepting = pthread_create(&x->acceptor, NULL, accept_all, x) == 0;
  if (!x->accepting)
    TT_TRY(tt_error_new(TT_RESOURCE_EXHAUSTED, "no thread can be started"));
  *out_exchange = x;
  x = NULL; /* moved to the caller */
out:
  tt_cpu_exchange_free(x);
  return err;
}

void tt_cpu_exchange_close(tt_cpu_exchange *x) {
  uint64_t one = 1;
  if (x == NULL)
    return;
  pthread_mutex_lock(&x->lock);
  x->closing = true;
  for (int64_t i = 0; i < x->count; i++)
    tt_cpu_socket_shut(x->peers[i].in);
  pthread_cond_broadcast(&x->changed);
  pthread_mutex_unlock(&x->lock);
  /* Who is sending ends. */
  if (x->wake >= 0 && write(x->wake, &one, sizeof one) < 0)
    assert(false);
  for (int64_t i = 0; i < x->count; i++) {
    pthread_mutex_lock(&x->peers[i].sending);
    tt_cpu_socket_shut(x->peers[i].out);
    pthread_mutex_unlock(&x->peers[i].sending);
  }
}

static void free_counter(counter *c) {
  while (c->alive != NULL) {
    alive *run = c->alive;
    c->alive = run->next;
    free(run);
  }
  free(c);
}

void tt_cpu_exchange_free(tt_cpu_exchange *x) {
  if (x == NULL)
    return;
  tt_cpu_exchange_close(x);
  if (x->accepting)
    pthread_join(x->acceptor, NULL);
  tt_cpu_socket_close(x->listening);
  tt_cpu_socket_close(x->wake);
  for (int64_t i = 0; i < x->count; i++) {
    peer *p = &x->peers[i];
    if (p->started)
      pthread_join(p->reader, NULL);
    tt_cpu_socket_close(p->in);
    tt_cpu_socket_close(p->out);
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
    free_counter(c);
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

/* ---- sending ---- */

static void fill_secret(const char *digits, unsigned char *secret) {
  for (int i = 0; i < SECRET_SIZE; i++) {
    unsigned byte = 0;
    sscanf(digits + 2 * i, "%2x", &byte);
    secret[i] = (unsigned char)byte;
  }
}

/* With `sending` held. */
static tt_error *connect_to(const tt_cpu_exchange *x, peer *p, int64_t deadline) {
  char copy[TEXT_MAX];
  hello h = {.magic = MAGIC, .process = x->own};
  int64_t written = 0;
  int fd = -1;
  memcpy(copy, p->address, sizeof copy);
  char *port = strchr(copy, '/'), *secret = port == NULL ? NULL : strchr(port + 1, '/');
  if (secret == NULL)
    return tt_error_new(TT_INTERNAL, "it has no address");
  *port++ = '\0';
  *secret++ = '\0';
  fill_secret(secret, h.secret);
  TT_RETURN_IF_ERROR(tt_cpu_socket_connect(copy, port, x->wake, deadline, &fd));
  tt_error *err = tt_cpu_socket_write(fd, x->wake, deadline, &h, sizeof h, &written);
  if (err != NULL)
    tt_cpu_socket_close(fd);
  p->out = err == NULL ? fd : -1;
  return err;
}

/* With `sending` held. What follows a piece of a message would be taken for the rest of it. */
static tt_error *write_message(const tt_cpu_exchange *x, peer *p, int64_t deadline,
                               const header *head, const void *const *parts, const int64_t *sizes,
                               int64_t parts_count) {
  int64_t written = 0;
  tt_error *err = tt_cpu_socket_write(p->out, x->wake, deadline, head, sizeof *head, &written);
  for (int64_t i = 0; i < parts_count && err == NULL; i++)
    err = tt_cpu_socket_write(p->out, x->wake, deadline, parts[i], sizes[i], &written);
  if (err != NULL && written > 0) {
    p->broken = true;
    tt_cpu_socket_shut(p->out);
  }
  return err;
}

tt_error *tt_cpu_exchange_send(tt_cpu_exchange *x, int64_t process, const tt_cpu_message_key *key,
                               uint64_t kind, const void *const *parts, const int64_t *sizes,
                               int64_t parts_count, int64_t deadline) {
  peer *p = &x->peers[process];
  header head = {*key, kind, 0};
  for (int64_t i = 0; i < parts_count; i++)
    head.size += sizes[i];
  pthread_mutex_lock(&p->sending);
  tt_error *err = NULL;
  if (p->broken)
    err = tt_error_new(TT_UNAVAILABLE, "the connection to it is broken");
  else if (p->out < 0)
    err = connect_to(x, p, deadline);
  if (err == NULL)
    err = write_message(x, p, deadline, &head, parts, sizes, parts_count);
  pthread_mutex_unlock(&p->sending);
  return tt_error_wrap_take(err, "process %lld", (long long)process);
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
      x->held -= m->head.size;
      pthread_cond_broadcast(&x->changed); /* for those who wait for room */
      return m;
    }
    if (m->head.key.sender < 0 && m->head.key.devices == key->devices &&
        m->head.key.run == key->run)
      *out_failure = m;
  }
  return NULL;
}

static tt_error *failure_of(const message *m) {
  return tt_error_new(tt_code_of((int64_t)m->head.kind), "process %lld: %s", (long long)m->process,
                      (const char *)m->data);
}

static tt_error *end_of(const peer *p) {
  return p->overfull ? tt_error_new(TT_RESOURCE_EXHAUSTED, "no memory for what process %lld sends",
                                    (long long)p->process)
                     : tt_error_new(TT_UNAVAILABLE, "process %lld has ended or cannot be reached",
                                    (long long)p->process);
}

/* Locked. */
static tt_error *await_message(tt_cpu_exchange *x, int64_t process, const tt_cpu_message_key *key,
                               int64_t deadline, message **out_message) {
  struct timespec until = tt_cpu_deadline_time(deadline);
  message *failure = NULL;
  for (int rc = 0;;) {
    *out_message = take_message(x, process, key, &failure);
    if (*out_message != NULL)
      return NULL;
    if (failure != NULL)
      return failure_of(failure);
    if (x->closing)
      return tt_error_new(TT_CANCELLED, "the client is being destroyed");
    if (x->peers[process].gone)
      return end_of(&x->peers[process]);
    if (rc != 0)
      return tt_error_new(TT_DEADLINE_EXCEEDED, "process %lld did not come to an operation in time",
                          (long long)process);
    rc = pthread_cond_timedwait(&x->changed, &x->lock, &until);
  }
}

tt_error *tt_cpu_exchange_receive(tt_cpu_exchange *x, int64_t process,
                                  const tt_cpu_message_key *key, uint64_t kind, int64_t size,
                                  int64_t deadline, void **out_data) {
  message *m = NULL;
  *out_data = NULL;
  pthread_mutex_lock(&x->lock);
  tt_error *err = await_message(x, process, key, deadline, &m);
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
