// Floating-point numbers of 8 bits: conversion with the hardware's rounding, saturating.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace emulator {

// `Digits` of the fraction are stored, `Bias` is the exponent's, `Largest` the largest number's bits.
template <int Digits, int Bias, uint8_t Largest>
struct TinyFloat {
  static constexpr uint8_t kNan = 0x7f;

  static float to_float(uint8_t bits) {
    int magnitude = bits & 0x7f;
    int exponent = magnitude >> Digits;
    int fraction = magnitude & ((1 << Digits) - 1);
    float value;
    if (magnitude > Largest) {
      bool infinite = magnitude == Largest + 1 && Digits == 2;
      value = infinite ? INFINITY : NAN;
    } else if (exponent == 0) {
      value = std::ldexp(static_cast<float>(fraction), 1 - Bias - Digits);
    } else {
      value = std::ldexp(static_cast<float>(fraction + (1 << Digits)), exponent - Bias - Digits);
    }
    return bits & 0x80 ? -value : value;
  }

  // To the nearest, ties to even; what is too large becomes the largest number.
  static uint8_t from_double(double value) {
    if (std::isnan(value)) return kNan;
    uint8_t sign = std::signbit(value) ? 0x80 : 0;
    double magnitude = std::fabs(value);
    if (magnitude == 0) return sign;
    if (magnitude >= to_float(Largest)) return sign | Largest;
    int exponent;
    std::frexp(magnitude, &exponent);
    // Below the smallest normal number the last digit's weight stays the same.
    int weight = std::max(exponent - 1, 1 - Bias) - Digits;
    int steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -weight)));
    // Bits count up through the exponents: a carry out of the fraction is right by itself.
    int first = std::max(exponent - 1, 1 - Bias) + Bias - 1;
    return static_cast<uint8_t>(sign | std::min<int>((first << Digits) + steps, Largest));
  }
};

using Float8E4m3 = TinyFloat<3, 7, 0x7e>;
using Float8E5m2 = TinyFloat<2, 15, 0x7b>;

}  // namespace emulator
