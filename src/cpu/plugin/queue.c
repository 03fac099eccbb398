/* queue.c: what a device does, one task after another, on a thread of its own. */
#include "cpu/plugin/internal.h"

/* A queue's thread may add tasks (a client does so in a callback), and must not wait for room that
 * only it can make. */
static _Thread_local bool on_queue;

void tt_cpu_queue_init(tt_cpu_queue *queue, size_t bound) {
  *queue = (tt_cpu_queue){.bound = bound};
  queue->last = &queue->first;
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->more, NULL);
  pthread_cond_init(&queue->room, NULL);
}

/* The count goes down before the event fires: who waited for it finds the device idle. */
static void run_task(tt_cpu_queue *queue, tt_cpu_task *task) {
  PJRT_Event *done = task->done;
  tt_error *err = task->run(task);
  pthread_mutex_lock(&queue->lock);
  atomic_fetch_sub_explicit(&queue->count, 1, memory_order_release);
  pthread_cond_signal(&queue->room);
  pthread_mutex_unlock(&queue->lock);
  tt_cpu_event_complete_take(done, err);
  tt_cpu_event_release(done);
}

/* NULL when the queue closes and is empty. */
static tt_cpu_task *next_task(tt_cpu_queue *queue) {
  pthread_mutex_lock(&queue->lock);
  while (queue->first == NULL && !queue->stopping)
    pthread_cond_wait(&queue->more, &queue->lock);
  tt_cpu_task *task = queue->first;
  if (task != NULL) {
    queue->first = task->next;
    if (queue->first == NULL)
      queue->last = &queue->first;
  }
  pthread_mutex_unlock(&queue->lock);
  return task;
}

static void *work(void *user) {
  tt_cpu_queue *queue = user;
  on_queue = true;
  for (tt_cpu_task *task; (task = next_task(queue)) != NULL;)
    run_task(queue, task);
  return NULL;
}

/* Locked. The thread starts with the first task: most clients of many devices use few of them. */
static bool start(tt_cpu_queue *queue) {
  if (!queue->started)
    queue->started = pthread_create(&queue->thread, NULL, work, queue) == 0;
  return queue->started;
}

/* Locked. */
static void wait_for_room(tt_cpu_queue *queue) {
  while (!on_queue && atomic_load(&queue->count) >= queue->bound)
    pthread_cond_wait(&queue->room, &queue->lock);
}

/* Locked. */
static void append(tt_cpu_queue *queue, tt_cpu_task *task) {
  task->next = NULL;
  *queue->last = task;
  queue->last = &task->next;
  pthread_cond_signal(&queue->more);
}

bool tt_cpu_queue_open(tt_cpu_queue *queue) {
  pthread_mutex_lock(&queue->lock);
  bool started = start(queue);
  if (started)
    wait_for_room(queue);
  pthread_mutex_unlock(&queue->lock);
  return started;
}

void tt_cpu_queue_add(tt_cpu_queue *queue, tt_cpu_task *task) {
  pthread_mutex_lock(&queue->lock);
  atomic_fetch_add(&queue->count, 1);
  append(queue, task);
  pthread_mutex_unlock(&queue->lock);
}

void tt_cpu_queue_put(tt_cpu_queue *queue, tt_cpu_task *task) {
  pthread_mutex_lock(&queue->lock);
  bool started = start(queue);
  if (started)
    wait_for_room(queue);
  atomic_fetch_add(&queue->count, 1);
  if (started)
    append(queue, task);
  pthread_mutex_unlock(&queue->lock);
  if (!started)
    run_task(queue, task);
}

void tt_cpu_queue_close(tt_cpu_queue *queue) {
  pthread_mutex_lock(&queue->lock);
  queue->stopping = true;
  pthread_cond_signal(&queue->more);
  pthread_mutex_unlock(&queue->lock);
  if (queue->started)
    pthread_join(queue->thread, NULL);
  pthread_mutex_destroy(&queue->lock);
  pthread_cond_destroy(&queue->more);
  pthread_cond_destroy(&queue->room);
}
