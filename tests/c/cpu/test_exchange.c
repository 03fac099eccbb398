/* Messages between processes, here between exchanges of one, and with peers that do not behave. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cpu/deadline.h"
#include "cpu/exchange.h"
#include "cpu/memory.h"
#include "test.h"

#define MS INT64_C(1000000)
enum { LONG_MS = 30000, SILENT = 200 };

static tt_cpu_message_key key_of(uint64_t run) {
  return (tt_cpu_message_key){.devices = 7, .run = run, .sender = 1};
}

static tt_error *send_bytes(tt_cpu_exchange *x, int64_t to, uint64_t run, const void *data,
                            int64_t size, int64_t wait_ms) {
  tt_cpu_message_key key = key_of(run);
  return tt_cpu_exchange_send(x, to, &key, 5, &data, &size, 1, tt_cpu_deadline_after(wait_ms * MS));
}

static tt_error *receive_bytes(tt_cpu_exchange *x, int64_t from, uint64_t run, int64_t size,
                               int64_t wait_ms) {
  tt_cpu_message_key key = key_of(run);
  void *data = NULL;
  tt_error *err =
      tt_cpu_exchange_receive(x, from, &key, 5, size, tt_cpu_deadline_after(wait_ms * MS), &data);
  tt_cpu_memory_free(data);
  return err;
}

/* Two exchanges, the second of which knows the first. */
typedef struct couple {
  tt_cpu_exchange *a, *b;
} couple;

static bool meet(couple *c) {
  *c = (couple){NULL, NULL};
  return EXPECT_OK(tt_cpu_exchange_new(0, 2, "127.0.0.1", &c->a)) &&
         EXPECT_OK(tt_cpu_exchange_new(1, 2, "127.0.0.1", &c->b)) &&
         EXPECT_OK(tt_cpu_exchange_introduce(c->b, 0, tt_cpu_exchange_address(c->a)));
}

static void part(couple *c) {
  tt_cpu_exchange_free(c->a);
  tt_cpu_exchange_free(c->b);
}

static int connect_at(int port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, (const struct sockaddr *)(const void *)&at, sizeof at) == 0)
    return fd;
  close(fd);
  return -1;
}

static int port_of(const tt_cpu_exchange *x) {
  return atoi(strchr(tt_cpu_exchange_address(x), '/') + 1);
}

/* As process 1 of those of `x`, with its secret. */
static int connect_as_peer(const tt_cpu_exchange *x) {
  struct {
    uint64_t magic;
    int64_t process;
    unsigned char secret[16];
  } hello = {UINT64_C(0x31657078755f7474), 1, {0}};
  const char *digits = strrchr(tt_cpu_exchange_address(x), '/') + 1;
  for (int i = 0; i < 16; i++) {
    unsigned byte = 0;
    sscanf(digits + 2 * i, "%2x", &byte);
    hello.secret[i] = (unsigned char)byte;
  }
  int fd = connect_at(port_of(x));
  EXPECT(send(fd, &hello, sizeof hello, 0) == (ssize_t)sizeof hello);
  return fd;
}

/* Listens and takes no connection; `out_address` is what an exchange would tell. */
static int listen_silently(char *out_address, size_t room) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t size = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT(bind(fd, (const struct sockaddr *)(const void *)&at, sizeof at) == 0 &&
         listen(fd, 4) == 0 && getsockname(fd, (struct sockaddr *)(void *)&at, &size) == 0);
  snprintf(out_address, room, "127.0.0.1/%d/00000000000000000000000000000000", ntohs(at.sin_port));
  return fd;
}

/* Who does not read does not keep the sender longer than its time; nothing follows half a message.
 */
TEST_WITHOUT_TORTURE(cpu_exchange, sending_ends) {
  enum { SIZE = 1 << 26 };
  tt_cpu_exchange *x = NULL;
  char address[128], *data = calloc(1, SIZE);
  int fd = listen_silently(address, sizeof address);
  int64_t begin = tt_cpu_now();
  REQUIRE_OK(tt_cpu_exchange_new(1, 2, "127.0.0.1", &x));
  REQUIRE_OK(tt_cpu_exchange_introduce(x, 0, address));
  EXPECT_ERR(send_bytes(x, 0, 0, data, SIZE, 500), TT_DEADLINE_EXCEEDED,
             "process 0: the time for it is over");
  EXPECT_ERR(send_bytes(x, 0, 1, data, 8, LONG_MS), TT_UNAVAILABLE,
             "process 0: the connection to it is broken");
  EXPECT(tt_cpu_now() - begin < 10000 * MS);
out:
  tt_cpu_exchange_free(x);
  close(fd);
  free(data);
}

typedef struct caller {
  tt_cpu_exchange *x;
  const void *data;
  int64_t size;
  tt_error *err;
} caller;

static void *send_long(void *user) {
  caller *c = user;
  c->err = send_bytes(c->x, 0, 0, c->data, c->size, LONG_MS);
  return NULL;
}

static void *receive_long(void *user) {
  caller *c = user;
  c->err = receive_bytes(c->x, 0, 0, 8, LONG_MS);
  return NULL;
}

TEST_WITHOUT_TORTURE(cpu_exchange, closing_ends_all) {
  enum { SIZE = 1 << 26 };
  tt_cpu_exchange *x = NULL;
  pthread_t threads[2];
  char address[128], *data = calloc(1, SIZE);
  int fd = listen_silently(address, sizeof address);
  int64_t begin = tt_cpu_now();
  REQUIRE_OK(tt_cpu_exchange_new(1, 2, "127.0.0.1", &x));
  REQUIRE_OK(tt_cpu_exchange_introduce(x, 0, address));
  {
    caller callers[] = {{x, data, SIZE, NULL}, {x, NULL, 0, NULL}};
    REQUIRE(pthread_create(&threads[0], NULL, send_long, &callers[0]) == 0);
    REQUIRE(pthread_create(&threads[1], NULL, receive_long, &callers[1]) == 0);
    usleep(50000);
    tt_cpu_exchange_close(x);
    for (int i = 0; i < 2; i++) {
      pthread_join(threads[i], NULL);
      EXPECT_ERR(callers[i].err, TT_CANCELLED, "the client is being destroyed");
    }
  }
  EXPECT(tt_cpu_now() - begin < 10000 * MS);
out:
  tt_cpu_exchange_free(x);
  close(fd);
  free(data);
}

/* Connections that say nothing keep neither a peer waiting nor the end. */
TEST_WITHOUT_TORTURE(cpu_exchange, silent_connections) {
  couple c;
  int fds[SILENT];
  int64_t begin = tt_cpu_now();
  for (int i = 0; i < SILENT; i++)
    fds[i] = -1;
  if (!meet(&c))
    goto out;
  for (int i = 0; i < SILENT; i++)
    fds[i] = connect_at(port_of(c.a));
  EXPECT_OK(send_bytes(c.b, 0, 0, "12345678", 8, LONG_MS));
  EXPECT_OK(receive_bytes(c.a, 1, 0, 8, LONG_MS));
  EXPECT(send(fds[SILENT - 1], "x", 1, 0) == 1); /* or little */
out:
  part(&c);
  EXPECT(tt_cpu_now() - begin < 5000 * MS);
  for (int i = 0; i < SILENT; i++)
    close(fds[i]);
}

/* What comes for runs that have ended is dropped, before and after the end. */
TEST_WITHOUT_TORTURE(cpu_exchange, ended_runs) {
  enum { SIZE = 1 << 20, RUNS = 50 };
  couple c;
  char *data = calloc(1, SIZE);
  uint64_t run = 0;
  int64_t before = 0;
  if (!meet(&c))
    goto out;
  before = tt_cpu_memory_stats_get().in_use;
  for (uint64_t i = 0; i < RUNS; i++) {
    REQUIRE_OK(tt_cpu_exchange_begin_run(c.a, 7, &run));
    EXPECT_INT(run, i);
    if (i % 2 == 0)
      REQUIRE_OK(send_bytes(c.b, 0, run, data, SIZE, LONG_MS));
    tt_cpu_exchange_end_run(c.a, 7, run);
    if (i % 2 == 1)
      REQUIRE_OK(send_bytes(c.b, 0, run, data, SIZE, LONG_MS));
  }
  /* In the order of their sending: all of those have been read. */
  REQUIRE_OK(tt_cpu_exchange_begin_run(c.a, 7, &run));
  REQUIRE_OK(send_bytes(c.b, 0, run, data, 8, LONG_MS));
  EXPECT_OK(receive_bytes(c.a, 1, run, 8, LONG_MS));
  EXPECT(tt_cpu_memory_stats_get().in_use - before < SIZE);
out:
  part(&c);
  free(data);
}

/* Who sends much that nobody takes waits, but not for ever; what has come whole can be taken. */
TEST_WITHOUT_TORTURE(cpu_exchange, room_is_bounded) {
  enum { SIZE = 1 << 20, ROOM = 16, RUNS = 100 };
  couple c;
  char *data = calloc(1, SIZE);
  tt_cpu_memory_stats stats = tt_cpu_memory_stats_get();
  tt_error *err = NULL;
  if (!meet(&c))
    goto out;
  tt_cpu_memory_limit_set(stats.in_use + 2 * ROOM * (int64_t)SIZE);
  for (uint64_t i = 0; i < RUNS && err == NULL; i++)
    err = send_bytes(c.b, 0, i, data, SIZE, i < ROOM ? LONG_MS : 500);
  EXPECT_ERR(err, TT_DEADLINE_EXCEEDED, "process 0: the time for it is over");
  EXPECT(tt_cpu_memory_stats_get().in_use < stats.in_use + 3 * ROOM * (int64_t)SIZE / 2);
  for (uint64_t i = 0; i < ROOM; i++)
    EXPECT_OK(receive_bytes(c.a, 1, i, SIZE, LONG_MS));
out:
  tt_cpu_memory_limit_set(stats.limit);
  part(&c);
  free(data);
}

/* Heads that nobody sends who means well. */
TEST_WITHOUT_TORTURE(cpu_exchange, sizes_are_checked) {
  static const struct {
    int64_t size;
    tt_code code;
    const char *part;
  } rows[] = {{INT64_MAX, TT_UNAVAILABLE, "process 1 has ended"},
              {-1, TT_UNAVAILABLE, "process 1 has ended"},
              {INT64_MAX - 1, TT_RESOURCE_EXHAUSTED, "no memory for what process 1 sends"}};
  for (size_t i = 0; i < TT_COUNT(rows); i++) {
    tt_cpu_exchange *x = NULL;
    if (!EXPECT_OK(tt_cpu_exchange_new(0, 2, "127.0.0.1", &x)))
      return;
    struct {
      tt_cpu_message_key key;
      uint64_t kind;
      int64_t size;
    } head = {key_of(0), 5, rows[i].size};
    int fd = connect_as_peer(x);
    EXPECT(send(fd, &head, sizeof head, 0) == (ssize_t)sizeof head);
    EXPECT_ERR(receive_bytes(x, 1, 0, 8, LONG_MS), rows[i].code, rows[i].part);
    tt_cpu_exchange_free(x);
    close(fd);
  }
}

/* `localhost` may have an address that nobody listens at before the one that somebody does. */
TEST_WITHOUT_TORTURE(cpu_exchange, all_addresses_are_tried) {
  couple c;
  char address[256];
  if (!meet(&c))
    goto out;
  snprintf(address, sizeof address, "localhost%s", strchr(tt_cpu_exchange_address(c.a), '/'));
  REQUIRE_OK(tt_cpu_exchange_introduce(c.b, 0, address));
  EXPECT_OK(send_bytes(c.b, 0, 0, "12345678", 8, LONG_MS));
  EXPECT_OK(receive_bytes(c.a, 1, 0, 8, LONG_MS));
out:
  part(&c);
}

/* Out of memory no two runs have the same number. */
TEST(cpu_exchange, numbers) {
  tt_cpu_exchange *x = NULL;
  uint64_t run = 9;
  REQUIRE_OK(tt_cpu_exchange_new(0, 1, "127.0.0.1", &x));
  for (uint64_t i = 0; i < 3; i++) {
    tt_error *err = tt_cpu_exchange_begin_run(x, 3, &run);
    if (err == NULL)
      EXPECT_INT(run, i);
    REQUIRE_OK(err);
  }
  tt_cpu_exchange_end_run(x, 3, 1);
  tt_cpu_exchange_end_run(x, 3, 0);
out:
  tt_cpu_exchange_free(x);
}
