#include <stdlib.h>

#include "cpu/plugin/internal.h"

/* A callback, of the client or of this plugin, for when an event is ready. */
struct tt_cpu_waiter {
  PJRT_Event_OnReadyCallback fn;
  void *user;
  tt_cpu_waiter *next;
};

PJRT_Event tt_cpu_event_done = {.refs = 1,
                                .ready = true,
                                .lock = PTHREAD_MUTEX_INITIALIZER,
                                .changed = PTHREAD_COND_INITIALIZER};

PJRT_Event *tt_cpu_event_new(void) {
  PJRT_Event *event = calloc(1, sizeof *event);
  if (event == NULL)
    return NULL;
  atomic_init(&event->refs, 1);
  pthread_mutex_init(&event->lock, NULL);
  pthread_cond_init(&event->changed, NULL);
  return event;
}

PJRT_Event *tt_cpu_event_retain(PJRT_Event *event) {
  if (event != &tt_cpu_event_done)
    atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
  return event;
}

void tt_cpu_event_release(PJRT_Event *event) {
  if (event == NULL || event == &tt_cpu_event_done ||
      atomic_fetch_sub_explicit(&event->refs, 1, memory_order_acq_rel) != 1)
    return;
  pthread_mutex_destroy(&event->lock);
  pthread_cond_destroy(&event->changed);
  tt_error_free(event->err);
  free(event);
}

/* The caller holds a reference, so a callback may destroy its own. */
void tt_cpu_event_complete_take(PJRT_Event *event, tt_error *err) {
  event->err = err;
  pthread_mutex_lock(&event->lock);
  atomic_store_explicit(&event->ready, true, memory_order_release);
  tt_cpu_waiter *waiters = event->waiters;
  event->waiters = NULL;
  pthread_cond_broadcast(&event->changed);
  pthread_mutex_unlock(&event->lock);
  while (waiters != NULL) {
    tt_cpu_waiter *waiter = waiters;
    waiters = waiter->next;
    waiter->fn((PJRT_Error *)tt_error_copy(err), waiter->user);
    free(waiter);
  }
}

void tt_cpu_event_wait(PJRT_Event *event) {
  if (tt_cpu_event_ready(event))
    return;
  pthread_mutex_lock(&event->lock);
  while (!tt_cpu_event_ready(event))
    pthread_cond_wait(&event->changed, &event->lock);
  pthread_mutex_unlock(&event->lock);
}

PJRT_Event *tt_cpu_event_of_take(tt_error *err) {
  if (err == NULL)
    return &tt_cpu_event_done;
  PJRT_Event *event = tt_cpu_event_new();
  if (event == NULL) {
    tt_error_free(err);
    return NULL;
  }
  event->err = err;
  atomic_store_explicit(&event->ready, true, memory_order_release);
  return event;
}

/* ---- PJRT ---- */

tt_error *tt_cpu_event_destroy(PJRT_Event_Destroy_Args *args) {
  tt_cpu_event_release(args->event);
  return NULL;
}

tt_error *tt_cpu_event_is_ready(PJRT_Event_IsReady_Args *args) {
  args->is_ready = tt_cpu_event_ready(args->event);
  return NULL;
}

tt_error *tt_cpu_event_error(PJRT_Event_Error_Args *args) {
  if (!tt_cpu_event_ready(args->event))
    return tt_error_new(TT_FAILED_PRECONDITION, "PJRT_Event_Error: the event is not ready");
  return tt_error_copy(args->event->err);
}

tt_error *tt_cpu_event_await(PJRT_Event_Await_Args *args) {
  tt_cpu_event_wait(args->event);
  return tt_error_copy(args->event->err);
}

/* False where the event is ready already. */
static bool add_waiter(PJRT_Event *event, tt_cpu_waiter *waiter) {
  pthread_mutex_lock(&event->lock);
  bool pending = !tt_cpu_event_ready(event);
  if (pending) {
    /* In the order of registration. */
    tt_cpu_waiter **at = &event->waiters;
    while (*at != NULL)
      at = &(*at)->next;
    *at = waiter;
  }
  pthread_mutex_unlock(&event->lock);
  return pending;
}

tt_error *tt_cpu_event_on_ready(PJRT_Event_OnReady_Args *args) {
  PJRT_Event *event = args->event;
  TT_CPU_GIVEN(args->callback);
  if (!tt_cpu_event_ready(event)) {
    tt_cpu_waiter *waiter = malloc(sizeof *waiter);
    if (waiter == NULL)
      return tt_error_no_memory(sizeof *waiter);
    *waiter = (tt_cpu_waiter){args->callback, args->user_arg, NULL};
    if (add_waiter(event, waiter))
      return NULL;
    free(waiter);
  }
  args->callback((PJRT_Error *)tt_error_copy(event->err), args->user_arg);
  return NULL;
}
