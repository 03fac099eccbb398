#include "cpu/team.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One operation of one group. In the team's list while somebody is still to come. */
struct tt_cpu_meeting {
  tt_cpu_meeting *next;
  const tt_hlo_op *op; /* of who came first */
  int64_t channel, count, came, left;
  pthread_cond_t changed;
  int64_t *members;   /* [count] */
  bool *here;         /* [count] */
  tt_cpu_post *posts; /* [count] */
};

/* Fields below `lock` are locked by it, as are all meetings. */
struct tt_cpu_team {
  int64_t replicas, partitions, wait_ns;
  pthread_mutex_t lock;
  int64_t refs;
  int64_t running; /* members that neither wait for others nor are gone */
  bool *gone;      /* [replicas * partitions] */
  tt_error *err;   /* the first */
  tt_cpu_meeting *meetings;
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

tt_cpu_team *tt_cpu_team_retain(tt_cpu_team *team) {
  pthread_mutex_lock(&team->lock);
  team->refs++;
  pthread_mutex_unlock(&team->lock);
  return team;
}

static void free_meeting(tt_cpu_meeting *meeting) {
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
  pthread_mutex_destroy(&team->lock);
  tt_error_free(team->err);
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

/* The first member that has not come, and why. */
static tt_error *missing(const tt_cpu_team *team, const tt_cpu_meeting *meeting, tt_code code,
                         const char *why) {
  int64_t i = 0;
  while (i < meeting->count - 1 && meeting->here[i])
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
  pthread_mutex_unlock(&team->lock);
}

/* ---- meeting ---- */

static int64_t channel_of(const tt_hlo_op *op) {
  const tt_hlo_attr *channel = tt_hlo_op_attr(op, TT_HLO_CHANNEL_HANDLE);
  return channel == NULL || channel->i64 < 0 ? 0 : channel->i64;
}

static tt_error *new_meeting(const tt_hlo_op *op, const int64_t *members, int64_t count,
                             tt_cpu_meeting **out_meeting) {
  size_t n = (size_t)count;
  size_t size = sizeof(tt_cpu_meeting) + n * (sizeof(tt_cpu_post) + sizeof(int64_t) + sizeof(bool));
  pthread_condattr_t attr;
  tt_cpu_meeting *m = calloc(1, size);
  *out_meeting = m;
  if (m == NULL)
    return tt_error_no_memory(size);
  m->op = op;
  m->channel = channel_of(op);
  m->count = count;
  m->posts = (tt_cpu_post *)(m + 1);
  m->members = (int64_t *)(m->posts + n);
  m->here = (bool *)(m->members + n);
  memcpy(m->members, members, n * sizeof *members);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&m->changed, &attr);
  pthread_condattr_destroy(&attr);
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
  *at = *out_meeting;
  return err;
}

static tt_error *check_same(const tt_hlo_op *a, const tt_hlo_op *b) {
  if (a == b)
    return NULL;
  bool same = a->code == b->code && a->operands_count == b->operands_count;
  for (uint32_t i = 0; same && i < a->operands_count; i++)
    same = tt_hlo_type_equal(&a->operands[i]->type, &b->operands[i]->type) &&
           tt_hlo_type_equal(&a->results[i].type, &b->results[i].type);
  return same ? NULL
              : tt_error_new(TT_INVALID_ARGUMENT,
                             "devices of one group meet at different operations: %s and %s, or of "
                             "different types",
                             tt_hlo_ops[a->code].mnemonic, tt_hlo_ops[b->code].mnemonic);
}

static void unlink_meeting(tt_cpu_team *team, const tt_cpu_meeting *meeting) {
  tt_cpu_meeting **at = &team->meetings;
  while (*at != meeting)
    at = &(*at)->next;
  *at = meeting->next;
}

static struct timespec deadline_of(int64_t wait_ns) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t ns = t.tv_nsec + wait_ns % 1000000000;
  t.tv_sec += (time_t)(wait_ns / 1000000000 + ns / 1000000000);
  t.tv_nsec = (long)(ns % 1000000000);
  return t;
}

/* Locked. Until all are here, or the team has failed. */
static tt_error *wait_for_all(tt_cpu_team *team, tt_cpu_meeting *m) {
  struct timespec deadline = deadline_of(team->wait_ns);
  team->running--;
  check_stuck(team);
  while (m->came < m->count && team->err == NULL)
    if (pthread_cond_timedwait(&m->changed, &team->lock, &deadline) != 0 && m->came < m->count)
      fail_take(team, missing(team, m, TT_DEADLINE_EXCEEDED, "the time for it is over"));
  return m->came == m->count ? NULL : tt_error_copy(team->err);
}

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
  if (++m->came < m->count)
    return wait_for_all(team, m);
  team->running += m->count - 1;
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
  int64_t count = meeting->count;
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
