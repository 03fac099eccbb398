/* Work whose results nobody holds any more: the events at which it ends. Whether it failed is of no
 * interest to anybody. On a device that works in order only the newest work is looked at, so that a
 * result which is dropped when another has been made of it costs nothing. */
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

static void pop_ready(const tt_pj_plugin *plugin, tt_rt_unheld *u) {
  while (u->count != 0 && tt_pj_event_is_ready(plugin, u->events[u->first])) {
    tt_pj_event_free(plugin, u->events[u->first++]);
    u->count--;
  }
}

/* Room for one more: at the front, where work has ended, else in a larger array. */
static bool make_room(tt_rt_unheld *u) {
  if (u->first + u->count < u->capacity)
    return true;
  if (u->first < u->capacity / 2 || u->capacity == 0) {
    size_t capacity = u->capacity == 0 ? 64 : 2 * u->capacity;
    tt_pj_event **events = realloc(u->events, capacity * sizeof(tt_pj_event *));
    if (events == NULL)
      return false;
    u->events = events;
    u->capacity = capacity;
  }
  memmove(u->events, u->events + u->first, u->count * sizeof(tt_pj_event *));
  u->first = 0;
  return true;
}

/* The event of the work that fills the buffer; NULL when that is done. */
static tt_pj_event *unfinished_event(const tt_pj_plugin *plugin, tt_pj_buffer *buffer) {
  tt_pj_event *event = NULL;
  tt_error_free(tt_pj_buffer_ready(plugin, buffer, &event)); /* donated: none */
  if (event != NULL && tt_pj_event_is_ready(plugin, event)) {
    tt_pj_event_free(plugin, event);
    event = NULL;
  }
  return event;
}

void tt_rt_unheld_add(tt_rt_storage *storage) {
  tt_rt_device *device = storage->device;
  const tt_pj_plugin *plugin = device->rt->plugin;
  tt_rt_unheld *u = &device->unheld;
  bool latest = device->latest == storage;
  if (latest)
    device->latest = NULL;
  if (storage->buffer == NULL || (device->rt->in_order && !latest))
    return;
  tt_pj_event *event = unfinished_event(plugin, storage->buffer);
  if (TT_LIKELY(event == NULL))
    return;
  pop_ready(plugin, u);
  if (!make_room(u)) {
    tt_error_free(tt_pj_event_await_take(plugin, event));
    return;
  }
  u->events[u->first + u->count++] = event;
}

bool tt_rt_unheld_done(tt_rt_device *device) {
  tt_rt_unheld *u = &device->unheld;
  pop_ready(device->rt->plugin, u);
  return u->count == 0 && u->awaiting == 0;
}

void tt_rt_unheld_await(tt_rt_device *device) {
  tt_rt *rt = device->rt;
  tt_rt_unheld taken;
  /* One after the other: what another thread has taken is to be waited for too. */
  pthread_mutex_lock(&device->awaiting);
  pthread_mutex_lock(&rt->lock);
  taken = device->unheld;
  device->unheld = (tt_rt_unheld){.awaiting = taken.count};
  pthread_mutex_unlock(&rt->lock);
  for (size_t i = 0; i < taken.count; i++)
    tt_error_free(tt_pj_event_await_take(rt->plugin, taken.events[taken.first + i]));
  free(taken.events);
  pthread_mutex_lock(&rt->lock);
  device->unheld.awaiting = 0;
  pthread_mutex_unlock(&rt->lock);
  pthread_mutex_unlock(&device->awaiting);
}
