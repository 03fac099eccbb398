/* scan.h: running sums, products and extremes of an axis: windows from its first element, or its
 * last, to each place. */
#ifndef TT_CPU_KERNELS_SCAN_H
#define TT_CPU_KERNELS_SCAN_H

#include "cpu/kernels/window.h"

/* False, and nothing is written, where the windows are others, or the op or dtype none that it has.
 * Sums and products of f32 are taken in f64, in order. */
bool tt_cpu_scan_run(const tt_cpu_args *args, const tt_cpu_window *window, tt_hlo_code code);

#endif /* TT_CPU_KERNELS_SCAN_H */
