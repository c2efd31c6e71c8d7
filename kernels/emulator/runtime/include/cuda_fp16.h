// half and half2.
#pragma once

#include "cuda_runtime.h"
#include "emulator/small_floats.h"

EMULATOR_SMALL_FLOAT(__half, ::emulator::Half)
EMULATOR_SMALL_FUNCTIONS(__half, ::emulator::Half)
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

inline float __half2float(half a) { return a; }
inline half __float2half(float a) { return half(a); }
inline half __float2half_rn(float a) { return half(a); }
inline half __float2half_rz(float a) { return __half_raw{emulator::Half::round(a, FE_TOWARDZERO)}; }
inline half __float2half_ru(float a) { return __half_raw{emulator::Half::round(a, FE_UPWARD)}; }
inline half __float2half_rd(float a) { return __half_raw{emulator::Half::round(a, FE_DOWNWARD)}; }
inline half __double2half(double a) { return half(a); }
inline half __int2half_rn(int a) { return half(a); }
inline half __uint2half_rn(unsigned a) { return half(a); }
inline half __ll2half_rn(long long a) { return half(a); }
inline int __half2int_rn(half a) { return __float2int_rn(a); }
inline int __half2int_rz(half a) { return __float2int_rz(a); }
inline unsigned __half2uint_rn(half a) { return __float2uint_rn(a); }
inline short __half_as_short(half a) { return static_cast<short>(a.x); }
inline unsigned short __half_as_ushort(half a) { return a.x; }
inline half __short_as_half(short a) { return __half_raw{static_cast<uint16_t>(a)}; }
inline half __ushort_as_half(unsigned short a) { return __half_raw{a}; }
inline half __low2half(half2 a) { return a.x; }
inline half __high2half(half2 a) { return a.y; }
inline float __low2float(half2 a) { return a.x; }
inline float __high2float(half2 a) { return a.y; }
inline half2 __halves2half2(half a, half b) { return {a, b}; }
inline half2 make_half2(half a, half b) { return {a, b}; }
inline half2 __half2half2(half a) { return {a, a}; }
inline half2 __float2half2_rn(float a) { return {half(a), half(a)}; }
inline half2 __floats2half2_rn(float a, float b) { return {half(a), half(b)}; }
inline half2 __float22half2_rn(float2 a) { return {half(a.x), half(a.y)}; }
inline float2 __half22float2(half2 a) { return {float(a.x), float(a.y)}; }
