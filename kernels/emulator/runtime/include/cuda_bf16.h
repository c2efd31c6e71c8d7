// bfloat16 and its pairs.
#pragma once

#include "cuda_runtime.h"
#include "emulator/small_floats.h"

EMULATOR_SMALL_FLOAT(__nv_bfloat16, ::emulator::Bfloat)
EMULATOR_SMALL_FUNCTIONS(__nv_bfloat16, ::emulator::Bfloat)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline float __bfloat162float(nv_bfloat16 a) { return a; }
inline nv_bfloat16 __float2bfloat16(float a) { return nv_bfloat16(a); }
inline nv_bfloat16 __float2bfloat16_rn(float a) { return nv_bfloat16(a); }
inline nv_bfloat16 __float2bfloat16_rz(float a) {
  return __nv_bfloat16_raw{emulator::Bfloat::round(a, FE_TOWARDZERO)};
}
inline nv_bfloat16 __double2bfloat16(double a) { return nv_bfloat16(a); }
inline nv_bfloat16 __int2bfloat16_rn(int a) { return nv_bfloat16(a); }
inline int __bfloat162int_rn(nv_bfloat16 a) { return __float2int_rn(a); }
inline short __bfloat16_as_short(nv_bfloat16 a) { return static_cast<short>(a.x); }
inline unsigned short __bfloat16_as_ushort(nv_bfloat16 a) { return a.x; }
inline nv_bfloat16 __ushort_as_bfloat16(unsigned short a) { return __nv_bfloat16_raw{a}; }
inline nv_bfloat16 __low2bfloat16(nv_bfloat162 a) { return a.x; }
inline nv_bfloat16 __high2bfloat16(nv_bfloat162 a) { return a.y; }
inline float __low2float(nv_bfloat162 a) { return a.x; }
inline float __high2float(nv_bfloat162 a) { return a.y; }
inline nv_bfloat162 __halves2bfloat162(nv_bfloat16 a, nv_bfloat16 b) { return {a, b}; }
inline nv_bfloat162 make_bfloat162(nv_bfloat16 a, nv_bfloat16 b) { return {a, b}; }
inline nv_bfloat162 __bfloat162bfloat162(nv_bfloat16 a) { return {a, a}; }
inline nv_bfloat162 __float2bfloat162_rn(float a) { return {nv_bfloat16(a), nv_bfloat16(a)}; }
inline nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {nv_bfloat16(a), nv_bfloat16(b)}; }
inline nv_bfloat162 __float22bfloat162_rn(float2 a) { return {nv_bfloat16(a.x), nv_bfloat16(a.y)}; }
inline float2 __bfloat1622float2(nv_bfloat162 a) { return {float(a.x), float(a.y)}; }
