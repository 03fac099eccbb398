#include "pjrt/buffer.h"
#include "pjrt/internal.h"

/* The text of a failed program needs no name of a PJRT function before it. */
static tt_error *await(const tt_pj_plugin *plugin, tt_pj_event *event) {
  PJRT_Event_Await_Args args = {TT_PJ_SIZE(PJRT_Event_Await_Args), .event = event};
  return tt_pj_check(plugin, plugin->api.PJRT_Event_Await(&args), NULL);
}

tt_error *tt_pj_event_await(const tt_pj_plugin *plugin, tt_pj_event *event) {
  return await(plugin, event);
}

tt_error *tt_pj_event_await_take(const tt_pj_plugin *plugin, tt_pj_event *event) {
  if (event == NULL)
    return NULL;
  tt_error *err = await(plugin, event);
  tt_pj_event_free(plugin, event);
  return err;
}

bool tt_pj_event_is_ready(const tt_pj_plugin *plugin, tt_pj_event *event) {
  PJRT_Event_IsReady_Args args = {TT_PJ_SIZE(PJRT_Event_IsReady_Args), .event = event};
  return !tt_pj_ok_take(TT_PJ_CALL(plugin, PJRT_Event_IsReady, &args)) || args.is_ready;
}

void tt_pj_event_free(const tt_pj_plugin *plugin, tt_pj_event *event) {
  if (event == NULL)
    return;
  PJRT_Event_Destroy_Args args = {TT_PJ_SIZE(PJRT_Event_Destroy_Args), .event = event};
  tt_error_free(TT_PJ_CALL(plugin, PJRT_Event_Destroy, &args));
}

static void forward(PJRT_Error *error, void *user_arg) {
  tt_pj_waiter *waiter = user_arg;
  waiter->fn(tt_pj_check(waiter->plugin, error, NULL), waiter->user);
}

tt_error *tt_pj_event_on_ready(const tt_pj_plugin *plugin, tt_pj_event *event,
                               tt_pj_waiter *waiter) {
  waiter->plugin = plugin;
  PJRT_Event_OnReady_Args args = {TT_PJ_SIZE(PJRT_Event_OnReady_Args), .event = event,
                                  .callback = forward, .user_arg = waiter};
  return TT_PJ_CALL(plugin, PJRT_Event_OnReady, &args);
}
