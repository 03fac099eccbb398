/* runtime.h: runs operator calls on a device: the face of this module.
 *
 * A tt_rt is one plugin with its devices; a process has one. Everything here is thread-safe unless
 * it says otherwise: one lock in tt_rt guards storages, caches and statistics; it is not held while
 * PyTorch is asked (host.h) or a program compiles. */
#ifndef TT_RUNTIME_RUNTIME_H
#define TT_RUNTIME_RUNTIME_H

#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/host.h"
#include "runtime/storage.h"

#endif /* TT_RUNTIME_RUNTIME_H */
