/* pjrt.h: the client side of PJRT, the face of this module.
 *
 *   plugin.h    find and open a plugin
 *   client.h    its devices and memories; topologies
 *   buffer.h    arrays on a device, transfers, events
 *   program.h   compile, run, store
 *
 * None of them shows pjrt_c_api.h. A plugin's error comes back with its code and its text, behind
 * the name of the PJRT function that gave it. A function that the plugin does not have is
 * UNIMPLEMENTED, naming it. Nothing here prints, and nothing is kept at file scope. */
#ifndef TT_PJRT_PJRT_H
#define TT_PJRT_PJRT_H

#include "pjrt/buffer.h"
#include "pjrt/client.h"
#include "pjrt/plugin.h"
#include "pjrt/program.h"
#include "pjrt/types.h"

#endif /* TT_PJRT_PJRT_H */
