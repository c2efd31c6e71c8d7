// The 8-bit floating-point types: conversions. They have no arithmetic of their own.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "emulator/tiny_floats.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

#define EMULATOR_TINY_FLOAT(NAME, FORMAT)                                       \
  struct NAME {                                                                 \
    __nv_fp8_storage_t __x;                                                     \
    NAME() = default;                                                           \
    explicit NAME(float v) : __x(FORMAT::from_double(v)) {}                     \
    explicit NAME(double v) : __x(FORMAT::from_double(v)) {}                    \
    explicit NAME(__half v) : NAME(static_cast<float>(v)) {}                    \
    explicit NAME(__nv_bfloat16 v) : NAME(static_cast<float>(v)) {}             \
    explicit NAME(int v) : NAME(static_cast<double>(v)) {}                      \
    explicit NAME(unsigned v) : NAME(static_cast<double>(v)) {}                 \
    explicit operator float() const { return FORMAT::to_float(__x); }           \
    explicit operator double() const { return FORMAT::to_float(__x); }          \
    explicit operator __half() const { return __half(FORMAT::to_float(__x)); }  \
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(FORMAT::to_float(__x)); } \
  };
EMULATOR_TINY_FLOAT(__nv_fp8_e4m3, emulator::Float8E4m3)
EMULATOR_TINY_FLOAT(__nv_fp8_e5m2, emulator::Float8E5m2)
#undef EMULATOR_TINY_FLOAT

struct alignas(2) __nv_fp8x2_e4m3 { __nv_fp8x2_storage_t __x; };
struct alignas(2) __nv_fp8x2_e5m2 { __nv_fp8x2_storage_t __x; };
struct alignas(4) __nv_fp8x4_e4m3 { __nv_fp8x4_storage_t __x; };
struct alignas(4) __nv_fp8x4_e5m2 { __nv_fp8x4_storage_t __x; };

// Without saturation what is too large is no number, or infinite: no source asked for it yet.
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                __nv_fp8_interpretation_t kind) {
  if (saturation != __NV_SATFINITE) emulator::trap("a conversion to 8 bits that does not saturate");
  return kind == __NV_E4M3 ? emulator::Float8E4m3::from_double(x) : emulator::Float8E5m2::from_double(x);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturation,
                                                     __nv_fp8_interpretation_t kind) {
  unsigned low = __nv_cvt_float_to_fp8(x.x, saturation, kind);
  unsigned high = __nv_cvt_float_to_fp8(x.y, saturation, kind);
  return static_cast<__nv_fp8x2_storage_t>(low | high << 8);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                  __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(__half(x), saturation, kind);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturation,
                                                      __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(__nv_bfloat16(x), saturation, kind);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half(kind == __NV_E4M3 ? emulator::Float8E4m3::to_float(x) : emulator::Float8E5m2::to_float(x));
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t kind) {
  auto low = static_cast<__nv_fp8_storage_t>(x & 0xff);
  auto high = static_cast<__nv_fp8_storage_t>(x >> 8);
  return {__nv_cvt_fp8_to_halfraw(low, kind).x, __nv_cvt_fp8_to_halfraw(high, kind).x};
}
