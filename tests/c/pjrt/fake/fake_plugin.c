/* Plugins that are wrong in one way each. CMakeLists.txt builds this file once per way, which FAKE
 * names:
 *
 *   GOOD   one device; all that is not needed to find it is refused with UNIMPLEMENTED
 *   SHORT  PJRT 0.30: its table ends before the slots that later versions added
 *   OLD    PJRT 0.28          MAJOR  PJRT 1.81
 *   HOLE   no PJRT_LoadedExecutable_Execute
 *   INIT   PJRT_Plugin_Initialize fails
 *   EMPTY  GetPjrtApi returns NULL
 *   PLAIN  a shared library without GetPjrtApi */
#include <stdlib.h>
#include <string.h>

#include "pjrt_c_api.h"

enum fake { GOOD, SHORT, OLD, MAJOR, HOLE, INIT, EMPTY, PLAIN };

struct PJRT_Error {
  int code;
  const char *message;
};

static PJRT_Error *fail(int code, const char *message) {
  PJRT_Error *error = malloc(sizeof *error);
  if (error == NULL)
    abort();
  *error = (PJRT_Error){code, message};
  return error;
}

static void error_destroy(PJRT_Error_Destroy_Args *args) { free(args->error); }

static void error_message(PJRT_Error_Message_Args *args) {
  args->message = args->error->message;
  args->message_size = strlen(args->message);
}

static PJRT_Error *error_code(PJRT_Error_GetCode_Args *args) {
  args->code = (PJRT_Error_Code)args->error->code;
  return NULL;
}

static PJRT_Error *initialize(PJRT_Plugin_Initialize_Args *args) {
  (void)args;
  return FAKE == INIT ? fail(PJRT_Error_Code_UNAVAILABLE, "no hardware here") : NULL;
}

static PJRT_Error *client_create(PJRT_Client_Create_Args *args) {
  static int client;
  if (args->num_options == 1 && args->create_options[0].type == PJRT_NamedValue_kString)
    return fail(99, args->create_options[0].string_value);
  args->client = (PJRT_Client *)(void *)&client;
  return NULL;
}

static PJRT_Error *client_destroy(PJRT_Client_Destroy_Args *args) {
  (void)args;
  return NULL;
}

static PJRT_Error *client_platform_name(PJRT_Client_PlatformName_Args *args) {
  args->platform_name = "fake";
  args->platform_name_size = 4;
  return NULL;
}

static PJRT_Error *client_devices(PJRT_Client_AddressableDevices_Args *args) {
  static int device;
  static PJRT_Device *devices[1];
  devices[0] = (PJRT_Device *)(void *)&device;
  args->addressable_devices = devices;
  args->num_addressable_devices = 1;
  return NULL;
}

static PJRT_Error *refuse(void *args) {
  (void)args;
  return fail(PJRT_Error_Code_UNIMPLEMENTED, "refused by the fake");
}

static void fill(PJRT_Api *api) {
  PJRT_Error *(*all)(void *) = refuse;
  char *end = (char *)api + sizeof *api;
  for (char *slot = (char *)&api->PJRT_Error_Destroy; slot < end; slot += sizeof all)
    memcpy(slot, &all, sizeof all);
  api->struct_size =
      FAKE == SHORT ? offsetof(PJRT_Api, PJRT_Executable_OutputElementTypes) : PJRT_Api_STRUCT_SIZE;
  api->pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  api->pjrt_api_version.major_version = FAKE == MAJOR ? 1 : 0;
  api->pjrt_api_version.minor_version = FAKE == SHORT ? 30 : FAKE == OLD ? 28 : 81;
  api->PJRT_Error_Destroy = error_destroy;
  api->PJRT_Error_Message = error_message;
  api->PJRT_Error_GetCode = error_code;
  api->PJRT_Plugin_Initialize = initialize;
  api->PJRT_Client_Create = client_create;
  api->PJRT_Client_Destroy = client_destroy;
  api->PJRT_Client_PlatformName = client_platform_name;
  api->PJRT_Client_AddressableDevices = client_devices;
  if (FAKE == HOLE)
    api->PJRT_LoadedExecutable_Execute = NULL;
}

/* PLAIN is built with another name for it. */
#ifndef FAKE_ENTRY
#define FAKE_ENTRY GetPjrtApi
#endif
__attribute__((visibility("default"))) const PJRT_Api *FAKE_ENTRY(void);
const PJRT_Api *FAKE_ENTRY(void) {
  static PJRT_Api api;
  fill(&api);
  return FAKE == EMPTY ? NULL : &api;
}
