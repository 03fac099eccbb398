/* processes.c: what the processes of one program tell each other when their clients are made, by
 * the key-value store that the caller gives. Each puts one value, and gets those of all others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/code.h"
#include "cpu/plugin/internal.h"

#define KEY "tt_cpu/process/"
#define FORMAT "tt_cpu 1 devices=%lld address=%s"

static PJRT_Error *new_error(PJRT_Error_Code code, const char *message, size_t size) {
  return (PJRT_Error *)tt_error_new(tt_code_of(code), "%.*s", (int)(size > 4000 ? 4000 : size),
                                    message == NULL ? "" : message);
}

static PJRT_CallbackError make_error = new_error;

static tt_error *put(const PJRT_Client_Create_Args *args, int64_t process, const char *value) {
  char key[64];
  snprintf(key, sizeof key, KEY "%lld", (long long)process);
  PJRT_KeyValuePutCallback_Args call = {.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE,
                                        .key = key,
                                        .key_size = strlen(key),
                                        .value = value,
                                        .value_size = strlen(value),
                                        .callback_error = &make_error,
                                        .user_arg = args->kv_put_user_arg};
  tt_error *err = (tt_error *)args->kv_put_callback(&call);
  return err == NULL ? NULL : tt_error_wrap_take(err, "key-value store: cannot put %s", key);
}

static tt_error *read_value(int64_t process, const char *text, int64_t *out_devices,
                            char *out_address, size_t room) {
  long long devices = 0;
  char address[TT_CPU_ADDRESS_SIZE] = "";
  int end = 0;
  int found = sscanf(text, "tt_cpu 1 devices=%lld address=%255s%n", &devices, address, &end);
  if (found != 2 || text[end] != '\0' || devices < 1 || devices > TT_CPU_DEVICES_MAX)
    return tt_error_new(TT_FAILED_PRECONDITION,
                        "process %lld: its value in the key-value store is none of this plugin's "
                        "version: %.100s",
                        (long long)process, text);
  *out_devices = devices;
  snprintf(out_address, room, "%s", address);
  return NULL;
}

static tt_error *get(const PJRT_Client_Create_Args *args, int64_t process, int64_t wait_ms,
                     int64_t *out_devices, char *out_address, size_t room) {
  char key[64], text[TT_CPU_ADDRESS_SIZE + 64] = "";
  snprintf(key, sizeof key, KEY "%lld", (long long)process);
  PJRT_KeyValueGetCallback_Args call = {
      .struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE,
      .key = key,
      .key_size = strlen(key),
      .timeout_in_ms = wait_ms > INT32_MAX ? INT32_MAX : (int)wait_ms,
      .callback_error = &make_error,
      .user_arg = args->kv_get_user_arg};
  tt_error *err = (tt_error *)args->kv_get_callback(&call);
  if (err != NULL)
    return tt_error_wrap_take(err, "process %lld did not tell of itself (key %s)",
                              (long long)process, key);
  bool fits = call.value != NULL && call.value_size < sizeof text;
  if (fits)
    memcpy(text, call.value, call.value_size);
  if (call.value_deleter_callback != NULL)
    call.value_deleter_callback(call.value);
  if (!fits)
    return tt_error_new(TT_FAILED_PRECONDITION, "key-value store: %s has no value, or a long one",
                        key);
  return read_value(process, text, out_devices, out_address, room);
}

tt_error *tt_cpu_processes_meet(const PJRT_Client_Create_Args *args, tt_cpu_exchange *exchange,
                                const tt_cpu_processes *p, int64_t *out_devices) {
  char text[TT_CPU_ADDRESS_SIZE + 64];
  int64_t total = 0;
  if (args->kv_get_callback == NULL || args->kv_put_callback == NULL)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "create option num_nodes is %lld: the key-value callbacks are NULL, by "
                        "which processes find each other",
                        (long long)p->count);
  snprintf(text, sizeof text, FORMAT, (long long)p->devices, tt_cpu_exchange_address(exchange));
  TT_RETURN_IF_ERROR(put(args, p->own, text));
  for (int64_t i = 0; i < p->count; i++) {
    out_devices[i] = p->devices;
    if (i != p->own) {
      TT_RETURN_IF_ERROR(get(args, i, p->wait_ms, &out_devices[i], text, sizeof text));
      TT_RETURN_IF_ERROR(tt_cpu_exchange_introduce(exchange, i, text));
    }
    total += out_devices[i];
  }
  return total <= TT_CPU_DEVICES_MAX
             ? NULL
             : tt_error_new(TT_INVALID_ARGUMENT, "%lld devices of all processes: at most %d",
                            (long long)total, TT_CPU_DEVICES_MAX);
}
