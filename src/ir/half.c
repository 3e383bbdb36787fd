/* half.c - the two 16-bit float formats, as integers.
 *
 * Both are sign, exponent, fraction with the usual bias, so one pair of functions serves both: a format
 * is its number of fraction bits.  Encoding rounds a double once: the significand is shifted down to
 * the format's quantum and the lost part decides, to nearest, ties to even; a carry out of the
 * fraction runs into the exponent, which is just what it should do, up to infinity. */
#include "half.h"

#include <math.h>
#include <string.h>

enum { F16_FRACTION = 10, BF16_FRACTION = 7 };

static int bias(int fraction) {
    return (1 << (14 - fraction)) - 1; /* 15 bits hold exponent and fraction */
}

static uint16_t encode(double v, int fraction) {
    uint64_t b;
    memcpy(&b, &v, sizeof b);
    uint32_t sign = (uint32_t)(b >> 63) << 15, inf = (uint32_t)(0x7fff >> fraction << fraction);
    int e = (int)(b >> 52 & 0x7ff) - 1023, least = 1 - bias(fraction);
    uint64_t m = b & (UINT64_MAX >> 12);
    if (e == 1024) return (uint16_t)(sign | inf | (m ? 1u << (fraction - 1) : 0));
    if (e == -1023) return (uint16_t)sign; /* zero, or a denormal double: far below either format */
    m |= (uint64_t)1 << 52;
    int at = e < least ? least : e; /* denormals of the format share its least exponent */
    int shift = 52 - fraction + (at - e);
    if (shift > 54) return (uint16_t)sign;
    uint64_t kept = m >> shift, lost = m & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
    kept += lost > half || (lost == half && (kept & 1));
    uint64_t bits = ((uint64_t)(at - least) << fraction) + kept; /* the leading one adds 1 to the exponent */
    return (uint16_t)(sign | (bits > inf ? inf : (uint32_t)bits));
}

static double decode(uint16_t bits, int fraction) {
    int e = (bits & 0x7fff) >> fraction, m = bits & ((1 << fraction) - 1), top = 0x7fff >> fraction;
    double v = e == top ? (m ? (double)NAN : (double)INFINITY)
               : e      ? ldexp(m + (1 << fraction), e - bias(fraction) - fraction)
                        : ldexp(m, 1 - bias(fraction) - fraction);
    return bits >> 15 ? -v : v;
}

double half_from_f16(uint16_t bits) {
    return decode(bits, F16_FRACTION);
}

double half_from_bf16(uint16_t bits) {
    return decode(bits, BF16_FRACTION);
}

uint16_t half_to_f16(double v) {
    return encode(v, F16_FRACTION);
}

uint16_t half_to_bf16(double v) {
    return encode(v, BF16_FRACTION);
}
