// The bits of a number, so that their order is that of the numbers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace cub {

template <size_t Bytes> struct UnsignedOfSize;
template <> struct UnsignedOfSize<1> { typedef uint8_t type; };
template <> struct UnsignedOfSize<2> { typedef uint16_t type; };
template <> struct UnsignedOfSize<4> { typedef uint32_t type; };
template <> struct UnsignedOfSize<8> { typedef unsigned long long type; };

template <class T>
struct Traits {
  typedef typename UnsignedOfSize<sizeof(T)>::type UnsignedBits;
  static constexpr UnsignedBits HIGH_BIT = UnsignedBits(1) << (sizeof(T) * 8 - 1);

  static UnsignedBits TwiddleIn(UnsignedBits bits) {
    if constexpr (std::is_unsigned<T>::value) return bits;
    if constexpr (std::is_integral<T>::value) return bits ^ HIGH_BIT;
    return bits ^ (bits & HIGH_BIT ? UnsignedBits(-1) : HIGH_BIT);
  }
  static UnsignedBits TwiddleOut(UnsignedBits bits) {
    if constexpr (std::is_unsigned<T>::value) return bits;
    if constexpr (std::is_integral<T>::value) return bits ^ HIGH_BIT;
    return bits ^ (bits & HIGH_BIT ? HIGH_BIT : UnsignedBits(-1));
  }
};

}  // namespace cub
