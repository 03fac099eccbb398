#include "cpu/plugin/layouts.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/plugin/ffi.h"
#include "cpu/plugin/internal.h"

struct tt_cpu_layout {
  size_t size;
  char text[TT_HLO_RANK_MAX * 3 + 3]; /* "{63,62,...}" */
};

static tt_cpu_layout *new_layout(size_t rank) {
  tt_cpu_layout *layout = malloc(sizeof *layout);
  if (layout == NULL)
    return NULL;
  char *at = layout->text;
  *at++ = '{';
  for (size_t axis = rank; axis-- > 0;) {
    if (axis >= 10)
      *at++ = (char)('0' + axis / 10);
    *at++ = (char)('0' + axis % 10);
    if (axis > 0)
      *at++ = ',';
  }
  *at++ = '}';
  *at = '\0';
  layout->size = (size_t)(at - layout->text);
  return layout;
}

static PJRT_Error *give(size_t rank, tt_cpu_layout **out_layout) {
  tt_error *err = NULL;
  *out_layout = NULL;
  if (rank > TT_HLO_RANK_MAX)
    err = tt_error_new(TT_INVALID_ARGUMENT, "an array of rank %zu: at most %d are possible", rank,
                       TT_HLO_RANK_MAX);
  else if ((*out_layout = new_layout(rank)) == NULL)
    err = tt_error_no_memory(sizeof **out_layout);
  return (PJRT_Error *)err;
}

/* Of an argument struct whose last field is `last`, and whose `subject` may not be NULL. */
#define CHECK(type, subject, last)                                                 \
  do {                                                                             \
    if (args->struct_size < PJRT_STRUCT_SIZE(type, last) || args->subject == NULL) \
      return (PJRT_Error *)tt_error_new(TT_INVALID_ARGUMENT,                       \
                                        "layouts: " #subject                       \
                                        " is NULL, or the arguments of "           \
                                        "%zu bytes are too few",                   \
                                        args->struct_size);                        \
  } while (0)

static PJRT_Error *destroy(tt_cpu_layout_destroy_args *args) {
  free(args->layout);
  return NULL;
}

/* The layout is its own serialized form's memory. */
static void delete_nothing(void *serialized) { (void)serialized; }

static PJRT_Error *serialize(tt_cpu_layout_serialize_args *args) {
  CHECK(tt_cpu_layout_serialize_args, layout, serialized_layout_deleter);
  args->serialized_bytes = args->layout->text;
  args->serialized_bytes_size = args->layout->size;
  args->serialized_layout = args->layout;
  args->serialized_layout_deleter = delete_nothing;
  return NULL;
}

static PJRT_Error *default_layout(tt_cpu_layout_default_args *args) {
  CHECK(tt_cpu_layout_default_args, owner, layout);
  return give(args->num_dims, &args->layout);
}

static PJRT_Error *of_buffer(tt_cpu_layout_buffer_args *args) {
  CHECK(tt_cpu_layout_buffer_args, buffer, layout);
  return give((size_t)args->buffer->type.rank, &args->layout);
}

/* Makes the executable's list where it has none yet; its lock is held. */
static PJRT_Error *list(const tt_cpu_slot *slots, size_t count, tt_cpu_layout ***layouts) {
  if (*layouts != NULL)
    return NULL;
  PJRT_Error *error = NULL;
  tt_cpu_layout **made = calloc(count + 1, sizeof *made);
  if (made == NULL)
    return (PJRT_Error *)tt_error_no_memory(count * sizeof *made);
  for (size_t i = 0; i < count && error == NULL; i++)
    error = give(slots[i].type.token ? 0 : (size_t)slots[i].type.rank, &made[i]);
  if (error == NULL)
    *layouts = made;
  else
    tt_cpu_layouts_free(made);
  return error;
}

void tt_cpu_layouts_free(tt_cpu_layout **layouts) {
  for (size_t i = 0; layouts != NULL && layouts[i] != NULL; i++)
    free(layouts[i]);
  free(layouts);
}

static PJRT_Error *outputs(tt_cpu_layout_executable_args *args) {
  CHECK(tt_cpu_layout_executable_args, executable, layouts);
  PJRT_Executable *e = args->executable;
  pthread_mutex_lock(&e->lock);
  PJRT_Error *error = list(e->results, e->results_count, &e->result_layouts);
  pthread_mutex_unlock(&e->lock);
  args->count = e->results_count;
  args->layouts = e->result_layouts;
  return error;
}

static PJRT_Error *parameters(tt_cpu_layout_executable_args *args) {
  CHECK(tt_cpu_layout_executable_args, executable, layouts);
  PJRT_Executable *e = args->executable;
  pthread_mutex_lock(&e->lock);
  PJRT_Error *error = list(e->params, e->params_count, &e->param_layouts);
  pthread_mutex_unlock(&e->lock);
  args->count = e->params_count;
  args->layouts = e->param_layouts;
  return error;
}

tt_cpu_layouts_extension tt_cpu_layouts = {
    .base = {sizeof(tt_cpu_layouts_extension), PJRT_Extension_Type_Layouts, &tt_cpu_ffi.base},
    .destroy = destroy,
    .serialize = serialize,
    .client_default = default_layout,
    .buffer = of_buffer,
    .topology_default = default_layout,
    .outputs = outputs,
    .parameters = parameters,
};
