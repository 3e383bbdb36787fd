/* half.h - f16 and bf16: bit patterns to and from double, one rounding to nearest even. */
#ifndef HALF_H
#define HALF_H

#include <stdint.h>

double half_from_f16(uint16_t bits);
double half_from_bf16(uint16_t bits);
uint16_t half_to_f16(double v);
uint16_t half_to_bf16(double v);

#endif
