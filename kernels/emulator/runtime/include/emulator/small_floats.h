// Floating-point numbers of 16 bits: conversion with the hardware's rounding, and arithmetic.
//
// Sum, product and quotient of two such numbers, computed in float and rounded again, are rounded
// correctly (a float has more than twice the digits). A fused multiply-add is not: see `fused`.
#pragma once

#include <cmath>
#include <cstdint>

#include "emulator/math_functions.h"

namespace emulator {

// `Digits` of the fraction are stored, `Bias` is the exponent's.
template <int Digits, int Bias>
struct SmallFloat {
  static constexpr int kExponentBits = 15 - Digits;
  static constexpr uint16_t kInfinity = ((1 << kExponentBits) - 1) << Digits;

  static float to_float(uint16_t bits) {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    uint32_t exponent = bits >> Digits & ((1 << kExponentBits) - 1);
    uint32_t fraction = bits & ((1 << Digits) - 1);
    uint32_t shifted = fraction << (23 - Digits);
    if (exponent == (1u << kExponentBits) - 1) return bits_of<float>(sign | 0x7f800000u | shifted);
    if (exponent != 0) return bits_of<float>(sign | (exponent + 127 - Bias) << 23 | shifted);
    float magnitude = std::ldexp(static_cast<float>(fraction), 1 - Bias - Digits);
    return sign ? -magnitude : magnitude;
  }

  // Round to nearest, ties to even. `value` is exact in double.
  static uint16_t from_double(double value) { return round(value, FE_TONEAREST); }

  static uint16_t round(double value, int mode) {
    uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return 0x7fff;
    double magnitude = std::fabs(value);
    if (std::isinf(magnitude)) return sign | kInfinity;
    int exponent;
    std::frexp(magnitude, &exponent);
    // Below the smallest normal number the last digit's weight stays the same.
    int weight = std::max(exponent - 1, 1 - Bias) - Digits;
    double scaled = std::ldexp(magnitude, -weight);
    double whole = std::floor(scaled);
    double rest = scaled - whole;
    bool odd = std::fmod(whole, 2.0) != 0;
    bool up = false;
    if (mode == FE_TONEAREST) up = rest > 0.5 || (rest == 0.5 && odd);
    if (mode == FE_UPWARD) up = rest > 0 && sign == 0;
    if (mode == FE_DOWNWARD) up = rest > 0 && sign != 0;
    double rounded = std::ldexp(whole + up, weight);
    return sign | encode(rounded, mode, sign != 0);
  }

  static uint16_t from_float(float value) { return from_double(value); }

  // a * b + c with one rounding. The sum in double may lose digits; then its last one is made odd,
  // so that the second rounding sees on which side of a tie the exact sum lies.
  static uint16_t fused(uint16_t a, uint16_t b, uint16_t c) {
    double product = static_cast<double>(to_float(a)) * to_float(b);
    double addend = to_float(c);
    double sum = product + addend;
    if (!std::isfinite(sum)) return from_double(sum);
    double part = sum - product;
    double error = (product - (sum - part)) + (addend - part);
    bool even = (bits_of<uint64_t>(sum) & 1) == 0;
    if (error != 0 && even) sum = std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
    return from_double(sum);
  }

 private:
  static uint16_t encode(double magnitude, int mode, bool negative) {
    constexpr int kLargestExponent = (1 << kExponentBits) - 2 - Bias;
    if (magnitude == 0) return 0;
    int exponent;
    std::frexp(magnitude, &exponent);
    --exponent;
    if (exponent > kLargestExponent) {
      bool to_infinity = mode == FE_TONEAREST || (mode == FE_UPWARD && !negative) ||
                         (mode == FE_DOWNWARD && negative);
      return to_infinity ? kInfinity : kInfinity - 1;
    }
    if (exponent < 1 - Bias) {
      return static_cast<uint16_t>(std::ldexp(magnitude, Bias - 1 + Digits));
    }
    auto fraction = static_cast<uint16_t>(std::ldexp(magnitude, Digits - exponent)) & ((1 << Digits) - 1);
    return static_cast<uint16_t>((exponent + Bias) << Digits | fraction);
  }
};

using Half = SmallFloat<10, 15>;
using Bfloat = SmallFloat<7, 127>;

}  // namespace emulator

// The type NAME on the format FORMAT, with the operators that CUDA gives it.
#define EMULATOR_SMALL_FLOAT(NAME, FORMAT)                                                   \
  struct NAME##_raw { uint16_t x; };                                                         \
  struct alignas(2) NAME {                                                                   \
    uint16_t x;                                                                              \
    NAME() = default;                                                                        \
    constexpr NAME(NAME##_raw raw) : x(raw.x) {}                                             \
    NAME(float v) : x(FORMAT::from_float(v)) {}                                              \
    NAME(double v) : x(FORMAT::from_double(v)) {}                                            \
    NAME(int v) : x(FORMAT::from_double(v)) {}                                               \
    NAME(unsigned v) : x(FORMAT::from_double(v)) {}                                          \
    NAME(long v) : x(FORMAT::from_double(static_cast<double>(v))) {}                         \
    NAME(long long v) : x(FORMAT::from_double(static_cast<double>(v))) {}                    \
    NAME(unsigned long v) : x(FORMAT::from_double(static_cast<double>(v))) {}                \
    NAME(unsigned long long v) : x(FORMAT::from_double(static_cast<double>(v))) {}           \
    operator float() const { return FORMAT::to_float(x); }                                   \
    operator NAME##_raw() const { return {x}; }                                              \
    NAME& operator+=(NAME o) { return *this = *this + o; }                                   \
    NAME& operator-=(NAME o) { return *this = *this - o; }                                   \
    NAME& operator*=(NAME o) { return *this = *this * o; }                                   \
    NAME& operator/=(NAME o) { return *this = *this / o; }                                   \
    friend NAME operator+(NAME a, NAME b) { return NAME(float(a) + float(b)); }              \
    friend NAME operator-(NAME a, NAME b) { return NAME(float(a) - float(b)); }              \
    friend NAME operator*(NAME a, NAME b) { return NAME(float(a) * float(b)); }              \
    friend NAME operator/(NAME a, NAME b) { return NAME(float(a) / float(b)); }              \
    friend NAME operator-(NAME a) { return NAME##_raw{static_cast<uint16_t>(a.x ^ 0x8000)}; } \
    friend NAME operator+(NAME a) { return a; }                                              \
    friend bool operator==(NAME a, NAME b) { return float(a) == float(b); }                  \
    friend bool operator!=(NAME a, NAME b) { return float(a) != float(b); }                  \
    friend bool operator<(NAME a, NAME b) { return float(a) < float(b); }                    \
    friend bool operator>(NAME a, NAME b) { return float(a) > float(b); }                    \
    friend bool operator<=(NAME a, NAME b) { return float(a) <= float(b); }                  \
    friend bool operator>=(NAME a, NAME b) { return float(a) >= float(b); }                  \
  };                                                                                         \
  struct NAME##2_raw { uint16_t x, y; };                                                     \
  struct alignas(4) NAME##2 {                                                                \
    NAME x, y;                                                                               \
    NAME##2() = default;                                                                     \
    NAME##2(NAME x, NAME y) : x(x), y(y) {}                                                  \
    NAME##2(NAME##2_raw raw) : x(NAME##_raw{raw.x}), y(NAME##_raw{raw.y}) {}                 \
    operator NAME##2_raw() const { return {x.x, y.x}; }                                      \
    friend NAME##2 operator+(NAME##2 a, NAME##2 b) { return {a.x + b.x, a.y + b.y}; }        \
    friend NAME##2 operator-(NAME##2 a, NAME##2 b) { return {a.x - b.x, a.y - b.y}; }        \
    friend NAME##2 operator*(NAME##2 a, NAME##2 b) { return {a.x * b.x, a.y * b.y}; }        \
    friend NAME##2 operator/(NAME##2 a, NAME##2 b) { return {a.x / b.x, a.y / b.y}; }        \
    NAME##2& operator+=(NAME##2 o) { return *this = *this + o; }                             \
    NAME##2& operator-=(NAME##2 o) { return *this = *this - o; }                             \
    NAME##2& operator*=(NAME##2 o) { return *this = *this * o; }                             \
    NAME##2& operator/=(NAME##2 o) { return *this = *this / o; }                             \
  };

// Functions that have the same name for both formats.
#define EMULATOR_SMALL_FUNCTIONS(NAME, FORMAT)                                                  \
  inline NAME __hadd(NAME a, NAME b) { return a + b; }                                          \
  inline NAME __hsub(NAME a, NAME b) { return a - b; }                                          \
  inline NAME __hmul(NAME a, NAME b) { return a * b; }                                          \
  inline NAME __hdiv(NAME a, NAME b) { return a / b; }                                          \
  inline NAME __hadd_rn(NAME a, NAME b) { return a + b; }                                       \
  inline NAME __hsub_rn(NAME a, NAME b) { return a - b; }                                       \
  inline NAME __hmul_rn(NAME a, NAME b) { return a * b; }                                       \
  inline NAME __hneg(NAME a) { return -a; }                                                     \
  inline NAME __habs(NAME a) { return NAME##_raw{static_cast<uint16_t>(a.x & 0x7fff)}; }        \
  inline NAME __hfma(NAME a, NAME b, NAME c) { return NAME##_raw{FORMAT::fused(a.x, b.x, c.x)}; } \
  inline NAME __hadd_sat(NAME a, NAME b) { return NAME(__saturatef(float(a + b))); }            \
  inline NAME __hmul_sat(NAME a, NAME b) { return NAME(__saturatef(float(a * b))); }            \
  inline bool __heq(NAME a, NAME b) { return a == b; }                                          \
  inline bool __hne(NAME a, NAME b) { return a < b || a > b; }                                  \
  inline bool __hlt(NAME a, NAME b) { return a < b; }                                           \
  inline bool __hgt(NAME a, NAME b) { return a > b; }                                           \
  inline bool __hle(NAME a, NAME b) { return a <= b; }                                          \
  inline bool __hge(NAME a, NAME b) { return a >= b; }                                          \
  inline bool __hisnan(NAME a) { return std::isnan(float(a)); }                                 \
  inline int __hisinf(NAME a) { return std::isinf(float(a)) ? (float(a) > 0 ? 1 : -1) : 0; }    \
  inline NAME __hmax(NAME a, NAME b) { return NAME(fmaxf(a, b)); }                              \
  inline NAME __hmin(NAME a, NAME b) { return NAME(fminf(a, b)); }                              \
  inline NAME hsqrt(NAME a) { return NAME(std::sqrt(float(a))); }                               \
  inline NAME hrsqrt(NAME a) { return NAME(1.0 / std::sqrt(double(float(a)))); }                \
  inline NAME hrcp(NAME a) { return NAME(1.0f / float(a)); }                                    \
  inline NAME hexp(NAME a) { return NAME(std::exp(double(float(a)))); }                         \
  inline NAME hexp2(NAME a) { return NAME(std::exp2(double(float(a)))); }                       \
  inline NAME hlog(NAME a) { return NAME(std::log(double(float(a)))); }                         \
  inline NAME hfloor(NAME a) { return NAME(std::floor(float(a))); }                             \
  inline NAME hceil(NAME a) { return NAME(std::ceil(float(a))); }                               \
  inline NAME hrint(NAME a) { return NAME(std::nearbyint(float(a))); }                          \
  inline NAME htrunc(NAME a) { return NAME(std::trunc(float(a))); }                             \
  inline NAME##2 __hadd2(NAME##2 a, NAME##2 b) { return a + b; }                                \
  inline NAME##2 __hsub2(NAME##2 a, NAME##2 b) { return a - b; }                                \
  inline NAME##2 __hmul2(NAME##2 a, NAME##2 b) { return a * b; }                                \
  inline NAME##2 __h2div(NAME##2 a, NAME##2 b) { return a / b; }                                \
  inline NAME##2 __habs2(NAME##2 a) { return {__habs(a.x), __habs(a.y)}; }                      \
  inline NAME##2 __hmax2(NAME##2 a, NAME##2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; } \
  inline NAME##2 __hmin2(NAME##2 a, NAME##2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; } \
  inline NAME##2 __hneg2(NAME##2 a) { return {-a.x, -a.y}; }                                    \
  inline NAME##2 h2exp(NAME##2 a) { return {hexp(a.x), hexp(a.y)}; }                            \
  inline NAME##2 h2exp2(NAME##2 a) { return {hexp2(a.x), hexp2(a.y)}; }                         \
  inline NAME##2 h2rcp(NAME##2 a) { return {hrcp(a.x), hrcp(a.y)}; }                            \
  inline NAME##2 __hfma2(NAME##2 a, NAME##2 b, NAME##2 c) {                                     \
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                                      \
  }
