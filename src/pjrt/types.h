/* types.h: the handles and small values that every call of this module shares.
 *
 * Buffers, events, devices and memories are PJRT's own objects, not wrapped: nothing is allocated
 * for them here, and a `tt_pj_buffer *` is a `PJRT_Buffer *`. So each call on one also takes the
 * plugin that made it. */
#ifndef TT_PJRT_TYPES_H
#define TT_PJRT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tt_pj_plugin tt_pj_plugin;
typedef struct tt_pj_client tt_pj_client;
typedef struct tt_pj_topology tt_pj_topology;
typedef struct tt_pj_executable tt_pj_executable;
typedef struct PJRT_Buffer tt_pj_buffer;
typedef struct PJRT_Event tt_pj_event;
typedef struct PJRT_Device tt_pj_device; /* lives as long as its client */
typedef struct PJRT_Memory tt_pj_memory; /* lives as long as its client */

/* Text that its owner keeps; not NUL-terminated. */
typedef struct tt_pj_text {
  const char *data;
  size_t size;
} tt_pj_text;

/* Of a NUL-terminated string; NULL gives the empty text. */
tt_pj_text tt_pj_text_of(const char *string);
bool tt_pj_text_is(tt_pj_text text, const char *string);

typedef enum tt_pj_value_type {
  TT_PJ_STRING,
  TT_PJ_INT64,
  TT_PJ_INT64_LIST,
  TT_PJ_FLOAT,
  TT_PJ_BOOL,
  TT_PJ_VALUE_TYPE_COUNT
} tt_pj_value_type;

/* A named value: an option going in, an attribute or a cost coming out. Outgoing ones point into
 * the plugin. */
typedef struct tt_pj_value {
  tt_pj_text name;
  tt_pj_value_type type; /* TT_PJ_VALUE_TYPE_COUNT: a type that this client does not know */
  union {
    tt_pj_text string;
    int64_t int64;
    float f32;
    bool boolean;
    struct {
      const int64_t *items;
      size_t count;
    } list;
  };
} tt_pj_value;

tt_pj_value tt_pj_value_string(const char *name, const char *string);
tt_pj_value tt_pj_value_int64(const char *name, int64_t value);
tt_pj_value tt_pj_value_float(const char *name, float value);
tt_pj_value tt_pj_value_bool(const char *name, bool value);

/* A plugin's own array of named values, borrowed from what it describes. */
typedef struct tt_pj_values {
  const void *items;
  size_t count;
} tt_pj_values;

tt_pj_value tt_pj_values_at(tt_pj_values values, size_t index); /* index < count */
bool tt_pj_values_find(tt_pj_values values, const char *name, tt_pj_value *out_value);

#ifdef __cplusplus
}
#endif

#endif /* TT_PJRT_TYPES_H */
