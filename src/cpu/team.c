#include "cpu/team.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cpu/deadline.h"
#include "cpu/kernel.h"
#include "cpu/memory.h"
#include "cpu/op_hash.h"

enum { FAILURE_SIZE = 1000 };
#define TELL_NS INT64_C(5000000000) /* for the word of a failure to reach the others */

/* One operation of one group. In the team's list while somebody is still to come. */
struct tt_cpu_meeting {
  tt_cpu_meeting *next;
  const tt_hlo_op *op; /* of who came first */
  int64_t channel, count;
  int64_t local, came, left; /* of the members in this process */
  uint64_t round;            /* number of the operation on this channel with this group */
  bool whole, failed;        /* all that is needed has come, or never will */
  pthread_cond_t changed;
  void **received;    /* [count]; what other processes sent */
  int64_t *members;   /* [count] */
  bool *here;         /* [count] */
  tt_cpu_post *posts; /* [count] */
};

typedef struct round {
  struct round *next;
  int64_t channel;
  uint64_t group, count;
} round;

/* Fields below `lock` are locked by it, as are all meetings. */
struct tt_cpu_team {
  int64_t replicas, partitions, wait_ns;
  pthread_mutex_t lock;
  int64_t refs;
  int64_t running; /* members that neither wait for others nor are gone */
  bool *gone;      /* [replicas * partitions] */
  tt_error *err;   /* the first */
  tt_cpu_meeting *meetings;
  round *rounds;
  bool begun; /* it has a number, which the other processes know it by */
  bool told;  /* other processes know that it failed */
  /* Fixed: */
  tt_cpu_exchange *exchange; /* NULL: all members are here */
  int32_t *processes;        /* [replicas * partitions] */
  int32_t own;
  uint64_t devices, run;
};

tt_error *tt_cpu_team_new(int64_t replicas, int64_t partitions, int64_t wait_ns,
                          tt_cpu_team **out_team) {
  tt_cpu_team *team = calloc(1, sizeof *team + (size_t)(replicas * partitions));
  *out_team = team;
  if (team == NULL)
    return tt_error_no_memory(sizeof *team);
  team->replicas = replicas;
  team->partitions = partitions;
  team->wait_ns = wait_ns;
  team->refs = 1;
  team->running = replicas * partitions;
  team->gone = (bool *)(team + 1);
  pthread_mutex_init(&team->lock, NULL);
  return NULL;
}

int64_t tt_cpu_team_replicas(const tt_cpu_team *team) { return team == NULL ? 1 : team->replicas; }
int64_t tt_cpu_team_partitions(const tt_cpu_team *team) {
  return team == NULL ? 1 : team->partitions;
}

tt_error *tt_cpu_team_spread(tt_cpu_team *team, tt_cpu_exchange *exchange, const int32_t *processes,
                             int32_t own, uint64_t devices) {
  int64_t count = team->replicas * team->partitions;
  team->processes = malloc((size_t)count * sizeof *processes);
  if (team->processes == NULL)
    return tt_error_no_memory((size_t)count * sizeof *processes);
  memcpy(team->processes, processes, (size_t)count * sizeof *processes);
  team->exchange = exchange;
  team->own = own;
  team->devices = devices;
  team->running = 0;
  for (int64_t i = 0; i < count; i++)
    team->running += processes[i] == own;
  return NULL;
}

tt_error *tt_cpu_team_begin(tt_cpu_team *team) {
  pthread_mutex_lock(&team->lock);
  tt_error *err = team->exchange == NULL || team->begun
                      ? NULL
                      : tt_cpu_exchange_begin_run(team->exchange, team->devices, &team->run);
  team->begun = err == NULL;
  pthread_mutex_unlock(&team->lock);
  return err;
}

tt_cpu_team *tt_cpu_team_retain(tt_cpu_team *team) {
  pthread_mutex_lock(&team->lock);
  team->refs++;
  pthread_mutex_unlock(&team->lock);
  return team;
}

static void free_meeting(tt_cpu_meeting *meeting) {
  for (int64_t i = 0; i < meeting->count; i++) {
    tt_cpu_memory_free(meeting->received[i]);
    if (meeting->posts[i].out == NULL)
      free((void *)(uintptr_t)meeting->posts[i].in);
  }
  pthread_cond_destroy(&meeting->changed);
  free(meeting);
}

void tt_cpu_team_release(tt_cpu_team *team) {
  if (team == NULL)
    return;
  pthread_mutex_lock(&team->lock);
  bool last = --team->refs == 0;
  pthread_mutex_unlock(&team->lock);
  if (!last)
    return;
  while (team->meetings != NULL) {
    tt_cpu_meeting *meeting = team->meetings;
    team->meetings = meeting->next;
    free_meeting(meeting);
  }
  while (team->rounds != NULL) {
    round *r = team->rounds;
    team->rounds = r->next;
    free(r);
  }
  if (team->exchange != NULL && team->begun)
    tt_cpu_exchange_end_run(team->exchange, team->devices, team->run);
  pthread_mutex_destroy(&team->lock);
  tt_error_free(team->err);
  free(team->processes);
  free(team);
}

/* ---- failing ---- */

/* Locked. The first error stays. */
static void fail_take(tt_cpu_team *team, tt_error *err) {
  if (team->err != NULL) {
    tt_error_free(err);
    return;
  }
  team->err = err;
  for (tt_cpu_meeting *m = team->meetings; m != NULL; m = m->next)
    pthread_cond_broadcast(&m->changed);
}

static bool is_local(const tt_cpu_team *team, int64_t member) {
  return team->exchange == NULL || team->processes[member] == team->own;
}

/* The first member that has not come, and why. */
static tt_error *missing(const tt_cpu_team *team, const tt_cpu_meeting *meeting, tt_code code,
                         const char *why) {
  int64_t i = 0;
  while (i < meeting->count - 1 && (meeting->here[i] || !is_local(team, meeting->members[i])))
    i++;
  int64_t member = meeting->members[i];
  return tt_error_new(
      code,
      "%s on channel %lld, of %lld devices: %lld came, and replica %lld, partition "
      "%lld did not: %s",
      tt_hlo_ops[meeting->op->code].mnemonic, (long long)meeting->channel,
      (long long)meeting->count, (long long)meeting->came, (long long)(member / team->partitions),
      (long long)(member % team->partitions), team->gone[member] ? "its run has ended" : why);
}

/* Locked. Nobody is left who could come. */
static void check_stuck(tt_cpu_team *team) {
  if (team->running > 0 || team->meetings == NULL || team->err != NULL)
    return;
  fail_take(team,
            missing(team, team->meetings, TT_FAILED_PRECONDITION, "it waits at another operation"));
}

static void tell_others(const tt_cpu_team *team, const tt_error *err) {
  int64_t deadline = tt_cpu_deadline_after(team->wait_ns < TELL_NS ? team->wait_ns : TELL_NS);
  tt_cpu_message_key key = {.devices = team->devices, .run = team->run, .sender = -1};
  const void *text = tt_error_message(err);
  int64_t size = (int64_t)strlen(text), members = team->replicas * team->partitions;
  size = size > FAILURE_SIZE ? FAILURE_SIZE : size;
  for (int64_t i = 0; i < members; i++) {
    bool first = team->processes[i] != team->own;
    for (int64_t k = 0; k < i; k++)
      first = first && team->processes[k] != team->processes[i];
    if (first) /* who cannot be told finds out */
      tt_error_free(tt_cpu_exchange_send(team->exchange, team->processes[i], &key,
                                         (uint64_t)tt_error_code(err), &text, &size, 1, deadline));
  }
}

void tt_cpu_team_leave(tt_cpu_team *team, int64_t member, const tt_error *err) {
  pthread_mutex_lock(&team->lock);
  if (!team->gone[member]) {
    team->gone[member] = true;
    team->running--;
    if (err != NULL)
      fail_take(team, tt_error_wrap_take(tt_error_copy(err), "replica %lld, partition %lld failed",
                                         (long long)(member / team->partitions),
                                         (long long)(member % team->partitions)));
    check_stuck(team);
  }
  bool tell = team->exchange != NULL && team->begun && err != NULL && !team->told;
  team->told = team->told || tell;
  pthread_mutex_unlock(&team->lock);
  if (tell)
    tell_others(team, err);
}

/* ---- meeting ---- */

static int64_t channel_of(const tt_hlo_op *op) {
  const tt_hlo_attr *channel = tt_hlo_op_attr(op, TT_HLO_CHANNEL_HANDLE);
  return channel == NULL || channel->i64 < 0 ? 0 : channel->i64;
}

static tt_error *new_meeting(const tt_hlo_op *op, const int64_t *members, int64_t count,
                             tt_cpu_meeting **out_meeting) {
  size_t n = (size_t)count;
  size_t size = sizeof(tt_cpu_meeting) +
                n * (sizeof(tt_cpu_post) + sizeof(void *) + sizeof(int64_t) + sizeof(bool));
  pthread_condattr_t attr;
  tt_cpu_meeting *m = calloc(1, size);
  *out_meeting = m;
  if (m == NULL)
    return tt_error_no_memory(size);
  m->op = op;
  m->channel = channel_of(op);
  m->count = count;
  m->posts = (tt_cpu_post *)(m + 1);
  m->received = (void **)(m->posts + n);
  m->members = (int64_t *)(m->received + n);
  m->here = (bool *)(m->members + n);
  memcpy(m->members, members, n * sizeof *members);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&m->changed, &attr);
  pthread_condattr_destroy(&attr);
  return NULL;
}

static uint64_t group_of(const tt_cpu_meeting *m) {
  return tt_hash64(m->members, (size_t)m->count * sizeof *m->members, 0);
}

/* Locked. Numbers the meeting, and counts who will come to it. */
static tt_error *count_round(tt_cpu_team *team, tt_cpu_meeting *m) {
  for (int64_t i = 0; i < m->count; i++)
    m->local += is_local(team, m->members[i]);
  if (m->local == m->count)
    return NULL;
  uint64_t group = group_of(m);
  round *r = team->rounds;
  while (r != NULL && (r->channel != m->channel || r->group != group))
    r = r->next;
  if (r == NULL) {
    r = malloc(sizeof *r);
    if (r == NULL)
      return tt_error_no_memory(sizeof *r);
    *r = (round){team->rounds, m->channel, group, 0};
    team->rounds = r;
  }
  m->round = r->count++;
  return NULL;
}

/* Locked. The oldest meeting of this group that `position` has not come to, or a new one. */
static tt_error *find_meeting(tt_cpu_team *team, const tt_hlo_op *op, const int64_t *members,
                              int64_t count, int64_t position, tt_cpu_meeting **out_meeting) {
  tt_cpu_meeting **at = &team->meetings;
  int64_t channel = channel_of(op);
  size_t size = (size_t)count * sizeof *members;
  for (; *at != NULL; at = &(*at)->next)
    if ((*at)->channel == channel && (*at)->count == count && !(*at)->here[position] &&
        memcmp((*at)->members, members, size) == 0) {
      *out_meeting = *at;
      return NULL;
    }
  tt_error *err = new_meeting(op, members, count, out_meeting);
  if (err == NULL)
    err = count_round(team, *out_meeting);
  *at = *out_meeting;
  return err;
}

static tt_error *check_same(const tt_hlo_op *a, const tt_hlo_op *b) {
  return a == b || tt_cpu_op_hash(a) == tt_cpu_op_hash(b)
             ? NULL
             : tt_error_new(TT_INVALID_ARGUMENT,
                            "devices of one group meet at different operations: %s and %s, or of "
                            "different types, axes or regions",
                            tt_hlo_ops[a->code].mnemonic, tt_hlo_ops[b->code].mnemonic);
}

static void unlink_meeting(tt_cpu_team *team, const tt_cpu_meeting *meeting) {
  tt_cpu_meeting **at = &team->meetings;
  while (*at != meeting)
    at = &(*at)->next;
  *at = meeting->next;
}

/* Locked. Until all are here, or the team has failed. */
static tt_error *wait_for_all(tt_cpu_team *team, tt_cpu_meeting *m) {
  struct timespec deadline = tt_cpu_deadline_time(tt_cpu_deadline_after(team->wait_ns));
  team->running--;
  check_stuck(team);
  while (m->came < m->local && team->err == NULL)
    if (pthread_cond_timedwait(&m->changed, &team->lock, &deadline) != 0 && m->came < m->local)
      fail_take(team, missing(team, m, TT_DEADLINE_EXCEEDED, "the time for it is over"));
  /* The last one may be sending what this one brought. */
  while (m->came == m->local && !m->whole && !m->failed)
    pthread_cond_wait(&m->changed, &team->lock);
  return m->whole ? NULL : tt_error_copy(team->err);
}

/* ---- members in other processes ---- */

static tt_cpu_message_key key_of(const tt_cpu_team *team, const tt_cpu_meeting *m, int64_t member) {
  return (tt_cpu_message_key){team->devices, team->run, group_of(m), m->round, m->channel, member};
}

/* What one meeting sends and receives. */
typedef struct traffic {
  const int64_t *sizes; /* of the operands */
  uint64_t kind;        /* the op, by its hash */
  int64_t deadline;
} traffic;

static tt_error *send_post(const tt_cpu_team *team, const tt_cpu_meeting *m, int64_t position,
                           const traffic *t) {
  tt_cpu_message_key key = key_of(team, m, m->members[position]);
  for (int64_t i = 0; i < m->count; i++) {
    int32_t process = team->processes[m->members[i]];
    bool first = process != team->own;
    for (int64_t k = 0; k < i; k++)
      first = first && team->processes[m->members[k]] != process;
    if (first)
      TT_RETURN_IF_ERROR(tt_cpu_exchange_send(team->exchange, process, &key, t->kind,
                                              m->posts[position].in, t->sizes,
                                              m->op->operands_count, t->deadline));
  }
  return NULL;
}

static tt_error *receive_post(const tt_cpu_team *team, tt_cpu_meeting *m, int64_t position,
                              const traffic *t) {
  tt_cpu_message_key key = key_of(team, m, m->members[position]);
  const void **in = calloc(m->op->operands_count + 1, sizeof(void *));
  int64_t size = 0;
  if (in == NULL)
    return tt_error_no_memory(m->op->operands_count * sizeof(void *));
  m->posts[position] = (tt_cpu_post){in, NULL};
  for (uint32_t i = 0; i < m->op->operands_count; i++)
    size += t->sizes[i];
  TT_RETURN_IF_ERROR(tt_cpu_exchange_receive(team->exchange, team->processes[m->members[position]],
                                             &key, t->kind, size, t->deadline,
                                             &m->received[position]));
  const char *at = m->received[position];
  for (uint32_t i = 0; i < m->op->operands_count; i++) {
    in[i] = at;
    at += t->sizes[i];
  }
  return NULL;
}

/* The last member that comes here does it for all, without the lock. */
static tt_error *exchange_posts(const tt_cpu_team *team, tt_cpu_meeting *m) {
  tt_error *err = NULL;
  int64_t *sizes = calloc(m->op->operands_count + 1, sizeof *sizes);
  if (sizes == NULL)
    return tt_error_no_memory(m->op->operands_count * sizeof *sizes);
  for (uint32_t i = 0; i < m->op->operands_count; i++)
    sizes[i] = tt_cpu_bytes(&m->op->operands[i]->type);
  traffic t = {sizes, tt_cpu_op_hash(m->op), tt_cpu_deadline_after(team->wait_ns)};
  for (int64_t i = 0; i < m->count; i++)
    if (is_local(team, m->members[i]))
      TT_TRY(send_post(team, m, i, &t));
  for (int64_t i = 0; i < m->count; i++)
    if (!is_local(team, m->members[i]))
      TT_TRY(receive_post(team, m, i, &t));
out:
  free(sizes);
  return err;
}

/* Locked. */
static tt_error *meet_others(tt_cpu_team *team, tt_cpu_meeting *m) {
  pthread_mutex_unlock(&team->lock);
  tt_error *err = exchange_posts(team, m);
  pthread_mutex_lock(&team->lock);
  if (err == NULL)
    return NULL;
  err = tt_error_wrap_take(err, "%s on channel %lld", tt_hlo_ops[m->op->code].mnemonic,
                           (long long)m->channel);
  fail_take(team, tt_error_copy(err));
  m->failed = true;
  pthread_cond_broadcast(&m->changed);
  return err;
}

/* ---- coming ---- */

/* Locked. */
static tt_error *come(tt_cpu_team *team, tt_cpu_meeting *m, const tt_hlo_op *op, int64_t position,
                      tt_cpu_post post) {
  tt_error *err = check_same(m->op, op);
  if (err != NULL) {
    fail_take(team, tt_error_copy(err));
    return err;
  }
  m->posts[position] = post;
  m->here[position] = true;
  if (++m->came < m->local)
    return wait_for_all(team, m);
  if (m->local < m->count)
    TT_RETURN_IF_ERROR(meet_others(team, m));
  m->whole = true;
  team->running += m->local - 1;
  unlink_meeting(team, m);
  pthread_cond_broadcast(&m->changed);
  return NULL;
}

tt_error *tt_cpu_team_meet(tt_cpu_team *team, const tt_hlo_op *op, const int64_t *members,
                           int64_t count, int64_t position, tt_cpu_post post,
                           tt_cpu_meeting **out_meeting, const tt_cpu_post **out_posts) {
  tt_cpu_meeting *meeting = NULL;
  pthread_mutex_lock(&team->lock);
  tt_error *err = tt_error_copy(team->err);
  if (err == NULL)
    err = find_meeting(team, op, members, count, position, &meeting);
  if (err == NULL)
    err = come(team, meeting, op, position, post);
  pthread_mutex_unlock(&team->lock);
  *out_meeting = err == NULL ? meeting : NULL;
  *out_posts = err == NULL ? meeting->posts : NULL;
  return err;
}

/* The others work on values of the caller until they part: there is no error that ends this wait,
 * and none of them can fail to come. */
void tt_cpu_team_part(tt_cpu_team *team, tt_cpu_meeting *meeting) {
  pthread_mutex_lock(&team->lock);
  int64_t count = meeting->local;
  if (++meeting->left == count)
    pthread_cond_broadcast(&meeting->changed);
  while (meeting->left < count)
    pthread_cond_wait(&meeting->changed, &team->lock);
  /* From `count` on it counts those who have seen that all are done; the last one frees it. */
  bool last = ++meeting->left == 2 * count;
  pthread_mutex_unlock(&team->lock);
  if (last)
    free_meeting(meeting);
}
