/* special.h: special functions of real numbers that libm lacks, in double. */
#ifndef TT_CPU_KERNELS_SPECIAL_H
#define TT_CPU_KERNELS_SPECIAL_H

double tt_cpu_digamma(double x); /* NaN at 0, -1, -2, ... */
double tt_cpu_lgamma(double x);  /* log |gamma(x)| */
double tt_cpu_erf_inv(double x);
double tt_cpu_bessel_i1e(double x); /* exp(-|x|) I1(x) */
/* Sum over k of (q + k)^-s. */
double tt_cpu_zeta(double s, double q);
double tt_cpu_polygamma(double order, double x);

#endif /* TT_CPU_KERNELS_SPECIAL_H */
