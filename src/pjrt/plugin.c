#include "pjrt/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "pjrt/internal.h"

#define PATH_CAPACITY 4096
#define MESSAGE_MAX (1 << 20)

/* ---- errors ---- */

static tt_code code_of(const tt_pj_plugin *plugin, PJRT_Error *error) {
  PJRT_Error_GetCode_Args args = {TT_PJ_SIZE(PJRT_Error_GetCode_Args), .error = error};
  PJRT_Error *failed = plugin->api.PJRT_Error_GetCode(&args);
  if (failed != NULL) {
    PJRT_Error_Destroy_Args destroy = {TT_PJ_SIZE(PJRT_Error_Destroy_Args), .error = failed};
    plugin->api.PJRT_Error_Destroy(&destroy);
    return TT_UNKNOWN;
  }
  /* An error must not turn into success. */
  return args.code >= 1 && (int)args.code <= TT_UNAUTHENTICATED ? (tt_code)args.code : TT_UNKNOWN;
}

tt_error *tt_pj_error_take(const tt_pj_plugin *plugin, PJRT_Error *error, const char *function) {
  PJRT_Error_Message_Args message = {TT_PJ_SIZE(PJRT_Error_Message_Args), .error = error};
  plugin->api.PJRT_Error_Message(&message);
  int size = message.message_size > MESSAGE_MAX ? MESSAGE_MAX : (int)message.message_size;
  const char *text = message.message == NULL ? "" : message.message;
  /* Some texts begin with the function's name already. */
  bool named = function == NULL ||
               (size > (int)strlen(function) && strncmp(text, function, strlen(function)) == 0);
  tt_error *err = tt_error_new(code_of(plugin, error), "%s%s%.*s", named ? "" : function,
                               named ? "" : ": ", size, text);
  PJRT_Error_Destroy_Args destroy = {TT_PJ_SIZE(PJRT_Error_Destroy_Args), .error = error};
  plugin->api.PJRT_Error_Destroy(&destroy);
  return err;
}

tt_error *tt_pj_missing(const tt_pj_plugin *plugin, const char *function) {
  return tt_error_new(TT_UNIMPLEMENTED, "%s: the plugin %s (PJRT %d.%d) does not have it", function,
                      plugin->name, plugin->api.pjrt_api_version.major_version,
                      plugin->api.pjrt_api_version.minor_version);
}

/* ---- opening ---- */

/* Without these there is nothing that this client could do. */
static const struct required {
  const char *name;
  size_t offset;
} required_slots[] = {
#define REQUIRE(slot) {#slot, offsetof(PJRT_Api, slot)}
    REQUIRE(PJRT_Error_Destroy),
    REQUIRE(PJRT_Error_Message),
    REQUIRE(PJRT_Error_GetCode),
    REQUIRE(PJRT_Plugin_Initialize),
    REQUIRE(PJRT_Event_Destroy),
    REQUIRE(PJRT_Event_IsReady),
    REQUIRE(PJRT_Event_Await),
    REQUIRE(PJRT_Event_OnReady),
    REQUIRE(PJRT_Client_Create),
    REQUIRE(PJRT_Client_Destroy),
    REQUIRE(PJRT_Client_AddressableDevices),
    REQUIRE(PJRT_Client_Compile),
    REQUIRE(PJRT_Client_BufferFromHostBuffer),
    REQUIRE(PJRT_DeviceDescription_Id),
    REQUIRE(PJRT_Device_GetDescription),
    REQUIRE(PJRT_Executable_Destroy),
    REQUIRE(PJRT_Executable_NumOutputs),
    REQUIRE(PJRT_LoadedExecutable_Destroy),
    REQUIRE(PJRT_LoadedExecutable_GetExecutable),
    REQUIRE(PJRT_LoadedExecutable_Execute),
    REQUIRE(PJRT_Buffer_Destroy),
    REQUIRE(PJRT_Buffer_ElementType),
    REQUIRE(PJRT_Buffer_Dimensions),
    REQUIRE(PJRT_Buffer_IsDeleted),
    REQUIRE(PJRT_Buffer_ToHostBuffer),
    REQUIRE(PJRT_Buffer_ReadyEvent),
#undef REQUIRE
};

static tt_error *load_table(const char *path, const PJRT_Api **out_api) {
  *out_api = NULL;
  /* Lazy binding: these libraries have tens of thousands of symbols. Never unloaded: threads run in
   * them. */
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (library == NULL)
    return tt_error_new(TT_INVALID_ARGUMENT, "PJRT plugin %s: cannot be loaded: %s", path,
                        dlerror());
  const PJRT_Api *(*get)(void) = NULL;
  void *symbol = dlsym(library, "GetPjrtApi");
  if (symbol != NULL) {
    memcpy(&get, &symbol,
           sizeof get); /* ISO C has no cast from an object's to a function's pointer */
    *out_api = get();
  }
  tt_error *err = NULL;
  if (symbol == NULL)
    err = tt_error_new(TT_INVALID_ARGUMENT,
                       "PJRT plugin %s: not a PJRT plugin: it has no GetPjrtApi", path);
  else if (*out_api == NULL)
    err = tt_error_new(TT_INVALID_ARGUMENT, "PJRT plugin %s: its GetPjrtApi returned NULL", path);
  dlclose(library); /* drops the count only */
  return err;
}

static tt_error *check_version(const char *path, const PJRT_Api *api) {
  size_t header = offsetof(PJRT_Api, PJRT_Error_Destroy);
  if (api->struct_size < header)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "PJRT plugin %s: its PJRT_Api has %zu bytes, fewer than %zu", path,
                        api->struct_size, header);
  int major = api->pjrt_api_version.major_version, minor = api->pjrt_api_version.minor_version;
  if (major == PJRT_API_MAJOR && minor >= TT_PJ_OLDEST_MINOR)
    return NULL;
  return tt_error_new(
      TT_FAILED_PRECONDITION,
      "PJRT plugin %s: has PJRT %d.%d, but this client has %d.%d and needs %d.%d or a later %d.x",
      path, major, minor, PJRT_API_MAJOR, PJRT_API_MINOR, PJRT_API_MAJOR, TT_PJ_OLDEST_MINOR,
      PJRT_API_MAJOR);
}

static tt_error *check_slots(const tt_pj_plugin *plugin) {
  for (size_t i = 0; i < TT_COUNT(required_slots); i++) {
    void (*slot)(void) = NULL;
    memcpy(&slot, (const char *)&plugin->api + required_slots[i].offset, sizeof slot);
    if (slot == NULL)
      return tt_error_new(TT_FAILED_PRECONDITION, "PJRT plugin %s: its table has no %s",
                          plugin->path, required_slots[i].name);
  }
  return NULL;
}

static tt_error *copy_string(const char *from, size_t size, char **out_copy) {
  *out_copy = malloc(size + 1);
  if (*out_copy == NULL)
    return tt_error_no_memory(size + 1);
  memcpy(*out_copy, from, size);
  (*out_copy)[size] = '\0';
  return NULL;
}

static tt_error *name_plugin(tt_pj_plugin *plugin, const char *name_or_path) {
  if (strchr(name_or_path, '/') != NULL) {
    plugin->name = tt_pj_known_by_file(plugin->path);
  } else {
    for (size_t i = 0; tt_pj_plugin_name_at(i) != NULL && plugin->name == NULL; i++)
      if (strcmp(tt_pj_plugin_name_at(i), name_or_path) == 0)
        plugin->name = tt_pj_plugin_name_at(i);
  }
  if (plugin->name != NULL)
    return NULL;
  const char *file = strrchr(plugin->path, '/') + 1;
  TT_RETURN_IF_ERROR(copy_string(file, strcspn(file, "."), &plugin->own_name));
  plugin->name = plugin->own_name;
  return NULL;
}

tt_error *tt_pj_plugin_open(const char *name_or_path, const char *const *dirs, size_t dirs_count,
                            tt_pj_use use, tt_pj_plugin **out_plugin) {
  tt_error *err = NULL;
  tt_pj_plugin *plugin = NULL;
  const PJRT_Api *api = NULL;
  char path[PATH_CAPACITY];
  *out_plugin = NULL;
  TT_TRY(tt_pj_plugin_find(name_or_path, dirs, dirs_count, path, sizeof path));
  plugin = calloc(1, sizeof *plugin);
  if (plugin == NULL)
    TT_TRY(tt_error_no_memory(sizeof *plugin));
  TT_TRY(copy_string(path, strlen(path), &plugin->path));
  TT_TRY(name_plugin(plugin, name_or_path));
  TT_TRY(tt_pj_known_prepare(plugin->name, use));
  TT_TRY(tt_pj_known_options(plugin->name, &plugin->options));
  TT_TRY(load_table(path, &api));
  TT_TRY(check_version(path, api));
  memcpy(&plugin->api, api,
         api->struct_size < sizeof plugin->api ? api->struct_size : sizeof plugin->api);
  TT_TRY(check_slots(plugin));
  {
    PJRT_Plugin_Initialize_Args args = {TT_PJ_SIZE(PJRT_Plugin_Initialize_Args)};
    TT_TRY(tt_error_wrap_take(TT_PJ_CALL(plugin, PJRT_Plugin_Initialize, &args), "PJRT plugin %s",
                              path));
  }
  *out_plugin = plugin;
  plugin = NULL; /* moved to the caller */
out:
  tt_pj_plugin_free(plugin);
  return err;
}

void tt_pj_plugin_free(tt_pj_plugin *plugin) {
  if (plugin == NULL)
    return;
  free(plugin->path);
  free(plugin->own_name);
  tt_bytes_free(&plugin->options.all);
  for (size_t i = 0; i < TT_PJ_HINT_COUNT; i++)
    tt_bytes_free(&plugin->options.hints[i]);
  free(plugin);
}

/* ---- what it is ---- */

const char *tt_pj_plugin_path(const tt_pj_plugin *plugin) { return plugin->path; }

const char *tt_pj_plugin_name(const tt_pj_plugin *plugin) { return plugin->name; }

void tt_pj_plugin_version(const tt_pj_plugin *plugin, int *out_major, int *out_minor) {
  *out_major = plugin->api.pjrt_api_version.major_version;
  *out_minor = plugin->api.pjrt_api_version.minor_version;
}

uint64_t tt_pj_plugin_options_hash(const tt_pj_plugin *plugin) {
  const tt_pj_options *options = &plugin->options;
  uint64_t hash = tt_hash64(options->all.data, options->all.size, 0);
  for (size_t i = 0; i < TT_PJ_HINT_COUNT; i++)
    hash = tt_hash64(options->hints[i].data, options->hints[i].size, hash);
  return hash;
}

tt_error *tt_pj_plugin_attributes(const tt_pj_plugin *plugin, tt_pj_values *out_values) {
  *out_values = (tt_pj_values){0};
  if (plugin->api.PJRT_Plugin_Attributes == NULL)
    return NULL;
  PJRT_Plugin_Attributes_Args args = {TT_PJ_SIZE(PJRT_Plugin_Attributes_Args)};
  TT_RETURN_IF_ERROR(TT_PJ_CALL(plugin, PJRT_Plugin_Attributes, &args));
  *out_values = (tt_pj_values){args.attributes, args.num_attributes};
  return NULL;
}
