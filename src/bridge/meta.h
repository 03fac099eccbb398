/* meta.h: the types and strides of results, as PyTorch's meta kernels have them. */
#ifndef TT_BRIDGE_META_H
#define TT_BRIDGE_META_H

#include "bridge/bridge.h"

namespace torch_tpu {

/* The runtime's question about a call of ops.cpp; see tt_rt_host. What PyTorch throws is kept in
 * the call, to be thrown again once the runtime has returned. */
tt_error *meta_callback(tt_rt_call *call, tt_arena *arena, tt_rt_meta **out_metas,
                        size_t *out_count);

} // namespace torch_tpu

#endif /* TT_BRIDGE_META_H */
