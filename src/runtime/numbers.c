#include <float.h>
#include <math.h>

#include "runtime/internal.h"

/* Errors that the numbers of a call alone make, as PyTorch raises them on the CPU. They are looked
 * for at every call of the few rules that ask for it, as a number may be a parameter of a program
 * that is there already. */

static bool is_number(const tt_rt_arg *arg) {
  return arg->kind == TT_RT_SCALAR || arg->kind == TT_RT_HOST_SCALAR;
}

/* The largest finite value; 0: not known, anything fits. */
static double largest(tt_dtype dtype) {
  switch (dtype) {
    case TT_F64:
      return DBL_MAX;
    case TT_F32:
      return FLT_MAX;
    case TT_BF16:
      return 0x1.fep127;
    case TT_F16:
      return 65504;
    case TT_F8E5M2:
      return 57344;
    case TT_F8E4M3FN:
      return 448;
    default:
      return 0;
  }
}

/* As PyTorch has it: an unsigned dtype takes negative integers down to minus its largest, which
 * wrap, and no negative fractions; a fraction is compared before it is cut off. */
static bool integer_fits(tt_dtype dtype, const tt_rt_arg *number) {
  int bits = tt_dtypes[dtype].bits - tt_dtype_is_signed(dtype);
  double limit = ldexp(1, bits), most = bits > 52 ? nextafter(limit, 0) : limit - 1;
  if (!tt_dtype_is_integer(number->dtype)) /* a NaN is neither */
    return number->real <= most && number->real >= (tt_dtype_is_signed(dtype) ? -limit : 0);
  return bits >= 63 || (number->i < (int64_t)1 << bits &&
                        number->i >= -((int64_t)1 << bits) + tt_dtype_is_unsigned(dtype));
}

static bool fits(tt_dtype dtype, const tt_rt_arg *number) {
  tt_dtype real = tt_dtype_real(dtype);
  double most = largest(real);
  if (dtype == TT_PRED || number->dtype == TT_PRED)
    return true;
  if (tt_dtype_is_complex(number->dtype) && !tt_dtype_is_complex(dtype) && number->imag != 0)
    return false;
  if (tt_dtype_is_integer(dtype))
    return integer_fits(dtype, number);
  return most == 0 || !isfinite(number->real) || fabs(number->real) <= most;
}

/* What the numbers become: the dtype that is asked for, else that of what is written or read. */
static tt_dtype dtype_of(const tt_rt_call *call) {
  for (size_t i = 0; i < call->args_count; i++)
    if (call->args[i].kind == TT_RT_DTYPE)
      return call->args[i].dtype;
  if (call->targets_count != 0 && call->targets[0].storage != NULL)
    return call->targets[0].dtype;
  for (size_t i = 0; i < call->args_count; i++)
    if (call->args[i].kind == TT_RT_TENSOR)
      return call->args[i].tensor.dtype;
  return TT_DTYPE_COUNT;
}

static tt_error *check_fits(const tt_rt_call *call) {
  tt_dtype dtype = dtype_of(call);
  for (size_t i = 0; dtype != TT_DTYPE_COUNT && i < call->args_count; i++) {
    const tt_rt_arg *arg = &call->args[i];
    if (arg->kind == TT_RT_SCALAR && !arg->fixed && !fits(dtype, arg))
      return tt_error_new(TT_INVALID_ARGUMENT,
                          "value cannot be converted to type %s without overflow: %.17g (%s)",
                          tt_dtype_name(dtype), arg->real, call->rule->overload);
  }
  return NULL;
}

/* (integers, an integer number, ...) */
static bool is_of_integers(const tt_rt_call *call) {
  return call->args_count >= 2 && call->args[0].kind == TT_RT_TENSOR &&
         tt_dtype_is_integer(call->args[0].tensor.dtype) && is_number(&call->args[1]) &&
         tt_dtype_is_integer(call->args[1].dtype);
}

static bool rounds(const tt_rt_call *call) {
  return call->args_count < 3 || call->args[2].kind == TT_RT_STRING;
}

tt_error *tt_rt_numbers_check(const tt_rt_call *call) {
  unsigned traits = call->rule->traits;
  if (traits & TT_LOW_FITS)
    return check_fits(call);
  if (!is_of_integers(call))
    return NULL;
  if ((traits & TT_LOW_DIVISOR) && call->args[1].i == 0 && rounds(call))
    return tt_error_new(TT_INVALID_ARGUMENT, "ZeroDivisionError: %s", call->rule->overload);
  if ((traits & TT_LOW_EXPONENT) && call->args[1].i < 0)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "Integers to negative integer powers are not allowed.");
  return NULL;
}
