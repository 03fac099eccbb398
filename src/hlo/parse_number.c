/* Numbers: integers exactly, floats rounded to the nearest double in every locale. */
#include <stdio.h>
#include <stdlib.h>

#include "hlo/parse_internal.h"

/* More digits than any double needs to be rounded right (767); what follows them only breaks ties.
 */
enum { DIGITS_MAX = 800, EXPONENT_MAX = 100000 };

/* The digits of a number without its point, and the power of ten of the last one. */
typedef struct digits {
  char text[DIGITS_MAX + 32];
  int count;
  int64_t exponent;
  uint64_t magnitude;
  bool exact; /* `magnitude` holds all digits */
} digits;

static void add_digit(digits *d, char c, bool fraction) {
  uint64_t digit = (uint64_t)(c - '0');
  if (d->exact && (__builtin_mul_overflow(d->magnitude, 10, &d->magnitude) ||
                   __builtin_add_overflow(d->magnitude, digit, &d->magnitude)))
    d->exact = false;
  if (d->count == DIGITS_MAX) {
    d->exponent += !fraction;
    if (c != '0') /* a tie is none */
      d->text[DIGITS_MAX - 1] = (char)(d->text[DIGITS_MAX - 1] | 1);
    return;
  }
  if (d->count > 0 || c != '0')
    d->text[d->count++] = c;
  d->exponent -= fraction;
}

static void take_digits(tt_hlo_parser *p, digits *d, bool fraction) {
  for (; p->at < p->end && tt_hlo_char_is(*p->at, TT_HLO_CHAR_DIGIT); p->at++)
    add_digit(d, *p->at, fraction);
}

/* e-5, when it is there. */
static bool take_exponent(tt_hlo_parser *p, digits *d) {
  const char *at = p->at;
  if (at == p->end || (*at != 'e' && *at != 'E'))
    return false;
  at++;
  bool negative = at < p->end && *at == '-';
  at += at < p->end && (*at == '-' || *at == '+');
  if (at == p->end || !tt_hlo_char_is(*at, TT_HLO_CHAR_DIGIT))
    return false;
  int64_t exponent = 0;
  for (; at < p->end && tt_hlo_char_is(*at, TT_HLO_CHAR_DIGIT); at++)
    if (exponent < EXPONENT_MAX)
      exponent = exponent * 10 + (*at - '0');
  d->exponent += negative ? -exponent : exponent;
  p->at = at;
  return true;
}

/* Products and quotients of a double's integers and the exact powers of ten are rounded once. The
 * rest goes to strtod, as an integer with an exponent: the point would be the locale's. */
static double value_of(digits *d) {
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (d->count == 0)
    return 0;
  if (d->exact && d->magnitude <= UINT64_C(1) << 53 && d->exponent >= -22 && d->exponent <= 22)
    return d->exponent < 0 ? (double)d->magnitude / tens[-d->exponent]
                           : (double)d->magnitude * tens[d->exponent];
  int64_t exponent = d->exponent < -EXPONENT_MAX  ? -EXPONENT_MAX
                     : d->exponent > EXPONENT_MAX ? EXPONENT_MAX
                                                  : d->exponent;
  snprintf(d->text + d->count, sizeof d->text - (size_t)d->count, "e%lld", (long long)exponent);
  return strtod(d->text, NULL);
}

static tt_error *take_hex(tt_hlo_parser *p, tt_hlo_number *out_number) {
  const char *start = p->at;
  p->at += 2;
  out_number->hex = true;
  for (; p->at < p->end && tt_hlo_char_is(*p->at, TT_HLO_CHAR_HEX); p->at++) {
    unsigned char c = (unsigned char)*p->at;
    int digit = c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
    if (out_number->magnitude >> 60 != 0)
      return tt_hlo_parse_fail(p, start, TT_INVALID_ARGUMENT, "expected at most 64 bits of hex");
    out_number->magnitude = out_number->magnitude << 4 | (uint64_t)digit;
  }
  if (p->at - start == 2)
    return tt_hlo_parse_expected(p, "hex digits");
  out_number->value = (double)out_number->magnitude;
  return NULL;
}

tt_error *tt_hlo_parse_number(tt_hlo_parser *p, tt_hlo_number *out_number) {
  digits d;
  d.count = 0;
  d.exponent = 0;
  d.magnitude = 0;
  d.exact = true;
  *out_number = (tt_hlo_number){.negative = tt_hlo_parse_take(p, '-')};
  if (!tt_hlo_char_is(tt_hlo_parse_peek(p), TT_HLO_CHAR_DIGIT))
    return tt_hlo_parse_expected(p, "a number");
  const char *start = p->at;
  if (*p->at == '0' && p->end - p->at > 1 && p->at[1] == 'x')
    return take_hex(p, out_number);
  take_digits(p, &d, false);
  if (p->end - p->at > 1 && *p->at == '.' && tt_hlo_char_is(p->at[1], TT_HLO_CHAR_DIGIT)) {
    out_number->is_float = true;
    p->at++;
    take_digits(p, &d, true);
  } else if (p->at < p->end && *p->at == '.') { /* MLIR takes `1.` */
    out_number->is_float = true;
    p->at++;
  }
  out_number->is_float = take_exponent(p, &d) || out_number->is_float;
  if (!out_number->is_float && !d.exact)
    return tt_hlo_parse_fail(p, start, TT_INVALID_ARGUMENT, "expected an integer of 64 bits");
  out_number->magnitude = d.magnitude;
  out_number->value = value_of(&d);
  return NULL;
}
