// CUDA's mathematical device functions that the C library does not have, and conversions.
// Functions that a GPU approximates (__expf, rsqrtf, ...) are computed as exactly as the C library can.
#pragma once

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#define EMULATOR_MIN_MAX(T)                                   \
  static inline T min(T a, T b) { return b < a ? b : a; }     \
  static inline T max(T a, T b) { return a < b ? b : a; }
#define EMULATOR_MIN_MAX_MIXED(R, A, B)                                              \
  static inline R min(A a, B b) { return min(static_cast<R>(a), static_cast<R>(b)); } \
  static inline R min(B a, A b) { return min(static_cast<R>(a), static_cast<R>(b)); } \
  static inline R max(A a, B b) { return max(static_cast<R>(a), static_cast<R>(b)); } \
  static inline R max(B a, A b) { return max(static_cast<R>(a), static_cast<R>(b)); }

EMULATOR_MIN_MAX(int)
EMULATOR_MIN_MAX(unsigned int)
EMULATOR_MIN_MAX(long)
EMULATOR_MIN_MAX(unsigned long)
EMULATOR_MIN_MAX(long long)
EMULATOR_MIN_MAX(unsigned long long)
// A NaN loses against a number.
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
EMULATOR_MIN_MAX_MIXED(unsigned int, int, unsigned int)
EMULATOR_MIN_MAX_MIXED(unsigned long, long, unsigned long)
EMULATOR_MIN_MAX_MIXED(unsigned long long, long long, unsigned long long)
EMULATOR_MIN_MAX_MIXED(double, float, double)
#undef EMULATOR_MIN_MAX
#undef EMULATOR_MIN_MAX_MIXED

using std::isfinite;
using std::isinf;
using std::isnan;

namespace emulator {

template <class To, class From>
To bits_of(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// A conversion to an integer saturates, and NaN becomes 0 (32 bits) as on a GPU.
template <class Integer, class Real>
Integer saturate(Real value) {
  if (std::isnan(value)) return sizeof(Integer) == 8 ? std::numeric_limits<Integer>::min() : 0;
  constexpr Integer low = std::numeric_limits<Integer>::min();
  constexpr Integer high = std::numeric_limits<Integer>::max();
  if (value <= static_cast<Real>(low)) return low;
  if (value >= static_cast<Real>(high)) return high;
  return static_cast<Integer>(value);
}

// The compiler may not move a computation with this value to before or after a change of rounding.
template <class T>
T opaque(T value) {
  volatile T copy = value;
  return copy;
}

// Evaluate under another rounding of the processor.
template <class Function>
auto rounded(int mode, Function function) {
  int before = std::fegetround();
  std::fesetround(mode);
  auto result = function();
  std::fesetround(before);
  return result;
}

}  // namespace emulator

inline int __float_as_int(float x) { return emulator::bits_of<int>(x); }
inline unsigned __float_as_uint(float x) { return emulator::bits_of<unsigned>(x); }
inline float __int_as_float(int x) { return emulator::bits_of<float>(x); }
inline float __uint_as_float(unsigned x) { return emulator::bits_of<float>(x); }
inline long long __double_as_longlong(double x) { return emulator::bits_of<long long>(x); }
inline double __longlong_as_double(long long x) { return emulator::bits_of<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }

#define EMULATOR_CONVERT(NAME, REAL, INTEGER)                                              \
  inline INTEGER __##NAME##_rn(REAL x) { return emulator::saturate<INTEGER>(std::nearbyint(x)); } \
  inline INTEGER __##NAME##_rz(REAL x) { return emulator::saturate<INTEGER>(std::trunc(x)); }     \
  inline INTEGER __##NAME##_ru(REAL x) { return emulator::saturate<INTEGER>(std::ceil(x)); }      \
  inline INTEGER __##NAME##_rd(REAL x) { return emulator::saturate<INTEGER>(std::floor(x)); }
EMULATOR_CONVERT(float2int, float, int)
EMULATOR_CONVERT(float2uint, float, unsigned)
EMULATOR_CONVERT(float2ll, float, long long)
EMULATOR_CONVERT(float2ull, float, unsigned long long)
EMULATOR_CONVERT(double2int, double, int)
EMULATOR_CONVERT(double2uint, double, unsigned)
EMULATOR_CONVERT(double2ll, double, long long)
EMULATOR_CONVERT(double2ull, double, unsigned long long)
#undef EMULATOR_CONVERT

inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }

#define EMULATOR_DIRECTED(NAME, SUFFIX, MODE, T, FIRST, EXPRESSION)                   \
  inline T NAME##SUFFIX FIRST {                                                       \
    return emulator::rounded(MODE, [=]() -> T { return emulator::opaque<T>(EXPRESSION); }); \
  }
#define EMULATOR_ROUNDED(NAME, T, FIRST, EXPRESSION)                      \
  inline T NAME##_rn FIRST { return EXPRESSION; }                         \
  EMULATOR_DIRECTED(NAME, _rz, FE_TOWARDZERO, T, FIRST, EXPRESSION)       \
  EMULATOR_DIRECTED(NAME, _ru, FE_UPWARD, T, FIRST, EXPRESSION)           \
  EMULATOR_DIRECTED(NAME, _rd, FE_DOWNWARD, T, FIRST, EXPRESSION)
EMULATOR_ROUNDED(__fadd, float, (float a, float b), emulator::opaque(a) + b)
EMULATOR_ROUNDED(__fsub, float, (float a, float b), emulator::opaque(a) - b)
EMULATOR_ROUNDED(__fmul, float, (float a, float b), emulator::opaque(a) * b)
EMULATOR_ROUNDED(__fdiv, float, (float a, float b), emulator::opaque(a) / b)
EMULATOR_ROUNDED(__frcp, float, (float a), 1.0f / emulator::opaque(a))
EMULATOR_ROUNDED(__fsqrt, float, (float a), std::sqrt(emulator::opaque(a)))
EMULATOR_ROUNDED(__fmaf, float, (float a, float b, float c), std::fma(emulator::opaque(a), b, c))
EMULATOR_ROUNDED(__dadd, double, (double a, double b), emulator::opaque(a) + b)
EMULATOR_ROUNDED(__dsub, double, (double a, double b), emulator::opaque(a) - b)
EMULATOR_ROUNDED(__dmul, double, (double a, double b), emulator::opaque(a) * b)
EMULATOR_ROUNDED(__ddiv, double, (double a, double b), emulator::opaque(a) / b)
EMULATOR_ROUNDED(__fma, double, (double a, double b, double c), std::fma(emulator::opaque(a), b, c))
#undef EMULATOR_DIRECTED
#undef EMULATOR_ROUNDED

inline float __saturatef(float x) { return std::isnan(x) ? 0.0f : fminf(fmaxf(x, 0.0f), 1.0f); }
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return static_cast<float>(pow(10.0, x)); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline void __sincosf(float x, float* s, float* c) { *s = sinf(x); *c = cosf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
inline float rsqrtf(float x) { return __frsqrt_rn(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float norm3df(float x, float y, float z) {
  return static_cast<float>(std::sqrt(static_cast<double>(x) * x + static_cast<double>(y) * y + static_cast<double>(z) * z));
}
inline float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline float fdividef(float a, float b) { return a / b; }
inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678118654752f); }
inline float sinpif(float x) { return static_cast<float>(std::sin(x * 3.14159265358979323846)); }
inline float cospif(float x) { return static_cast<float>(std::cos(x * 3.14159265358979323846)); }
