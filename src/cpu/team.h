/* team.h: the devices that run one program together, and how they meet at operations among them.
 *
 * A member is a device by its number, replica * partitions + partition. Members meet in two steps:
 * each brings the addresses of its values and waits for the others of its group, then each works on
 * all of them, and none goes on before all are done. Who meets whom is settled by channel and
 * group: the first operation of one member on a channel with a group meets the first of each other.
 *
 * No wait is for ever: it ends with an error when a member fails, when all members wait or are
 * gone, or when the time limit is over. */
#ifndef TT_CPU_TEAM_H
#define TT_CPU_TEAM_H

#include "cpu/exchange.h"
#include "cpu/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every member is expected to run, and to tell when it has ended. `wait_ns` is the time limit of
 * one wait. The caller has one reference. Thread-safe, as are all functions below. */
TT_NODISCARD tt_error *tt_cpu_team_new(int64_t replicas, int64_t partitions, int64_t wait_ns,
                                       tt_cpu_team **out_team);
/* Says that some members are in other processes, before any runs. `processes` of each member is
 * copied; `devices` is a hash of where they are. The exchange is borrowed. */
TT_NODISCARD tt_error *tt_cpu_team_spread(tt_cpu_team *team, tt_cpu_exchange *exchange,
                                          const int32_t *processes, int32_t own, uint64_t devices);
/* Gives the run its number among those of the same devices, by which the processes find each other:
 * to be called, in the same order in all of them, when nothing can keep the members from running.
 * Does nothing the second time. */
TT_NODISCARD tt_error *tt_cpu_team_begin(tt_cpu_team *team);
tt_cpu_team *tt_cpu_team_retain(tt_cpu_team *team);
void tt_cpu_team_release(tt_cpu_team *team); /* NULL is allowed */
int64_t tt_cpu_team_replicas(const tt_cpu_team *team);
int64_t tt_cpu_team_partitions(const tt_cpu_team *team);
/* The run of a member has ended; with an error those of the others end with it too. */
void tt_cpu_team_leave(tt_cpu_team *team, int64_t member, const tt_error *err);

/* What a member brings to an operation. */
typedef struct tt_cpu_post {
  const void *const *in; /* as in tt_cpu_args */
  void *const *out;      /* NULL of a member in another process */
} tt_cpu_post;

typedef struct tt_cpu_meeting tt_cpu_meeting;
/* Waits for all `members` to come; member `position` of them is the caller. `out_posts` has a post
 * for each, until tt_cpu_team_part. On success the caller must part, whatever becomes of its work.
 */
TT_NODISCARD tt_error *tt_cpu_team_meet(tt_cpu_team *team, const tt_hlo_op *op,
                                        const int64_t *members, int64_t count, int64_t position,
                                        tt_cpu_post post, tt_cpu_meeting **out_meeting,
                                        const tt_cpu_post **out_posts);
/* Waits for all to be done. */
void tt_cpu_team_part(tt_cpu_team *team, tt_cpu_meeting *meeting);

/* ---- groups.c ---- */

/* The members of the group of `member` in a collective, in the group's order; of a
 * collective_permute all that send or receive. `out_members` has room for replicas * partitions.
 * `out_position` is -1 where it is in no group. */
TT_NODISCARD tt_error *tt_cpu_group_of(const tt_hlo_op *op, int64_t replicas, int64_t partitions,
                                       int64_t member, int64_t *out_members, int64_t *out_count,
                                       int64_t *out_position);
/* Who sends to `member` in a collective_permute; -1: nobody. */
int64_t tt_cpu_sender_to(const tt_hlo_op *op, int64_t partitions, int64_t member);
/* Checks the groups of all collectives of a module against the number of devices. */
TT_NODISCARD tt_error *tt_cpu_groups_check(const tt_hlo_module *module, int64_t replicas,
                                           int64_t partitions);

#ifdef __cplusplus
}
#endif

#endif /* TT_CPU_TEAM_H */
