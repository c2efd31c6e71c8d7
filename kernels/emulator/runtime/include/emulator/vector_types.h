// CUDA's vector types (int2, float4, ...), dim3, and their make_ functions.
#pragma once

struct dim3;

#define EMULATOR_VECTOR(T, NAME, ALIGN2, ALIGN4)                                       \
  struct NAME##1 { T x; };                                                             \
  struct alignas(ALIGN2) NAME##2 { T x, y; };                                          \
  struct NAME##3 { T x, y, z; };                                                       \
  struct alignas(ALIGN4) NAME##4 { T x, y, z, w; };                                    \
  static inline NAME##1 make_##NAME##1(T x) { return {x}; }                            \
  static inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                    \
  static inline NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }            \
  static inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }

EMULATOR_VECTOR(signed char, char, 2, 4)
EMULATOR_VECTOR(unsigned char, uchar, 2, 4)
EMULATOR_VECTOR(short, short, 4, 8)
EMULATOR_VECTOR(unsigned short, ushort, 4, 8)
EMULATOR_VECTOR(int, int, 8, 16)
EMULATOR_VECTOR(unsigned int, uint, 8, 16)
EMULATOR_VECTOR(long, long, 16, 16)
EMULATOR_VECTOR(unsigned long, ulong, 16, 16)
EMULATOR_VECTOR(long long, longlong, 16, 16)
EMULATOR_VECTOR(unsigned long long, ulonglong, 16, 16)
EMULATOR_VECTOR(float, float, 8, 16)
EMULATOR_VECTOR(double, double, 16, 16)
#undef EMULATOR_VECTOR

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
