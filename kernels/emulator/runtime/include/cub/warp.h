#pragma once

#include "cub/operators.h"

namespace cub {
namespace detail {

// The lanes of the part of `width` lanes that the thread is in: others may be elsewhere.
inline unsigned lanes_of_warp(unsigned width) {
  unsigned first = emulator::current().lane() / width * width;
  return (width == 32 ? 0xffffffffu : (1u << (width % 32)) - 1) << first;
}

}  // namespace detail

template <class T, int Width = 32>
class WarpReduce {
 public:
  struct TempStorage {};
  explicit WarpReduce(TempStorage&, EMULATOR_SITE) : site_{file, line} {}

  // As the hardware does it: step by step from the lane above. The result is the first lane's.
  template <class Operation>
  T Reduce(T value, Operation operation, int valid = Width) {
    unsigned lane = emulator::current().lane() % Width;
    unsigned mask = detail::lanes_of_warp(Width);
    for (int step = 1; step < Width; step *= 2) {
      T above = __shfl_down_sync(mask, value, step, Width, site_.file, site_.line);
      if (static_cast<int>(lane) + step < std::min(valid, Width)) value = operation(value, above);
    }
    return value;
  }
  T Sum(T value, int valid = Width) { return Reduce(value, cub::Sum(), valid); }

 private:
  emulator::Site site_;
};

template <class T, int Width = 32>
class WarpScan {
 public:
  struct TempStorage {};
  explicit WarpScan(TempStorage&) {}

  template <class Operation>
  void InclusiveScan(T value, T& result, Operation operation) {
    int lane = static_cast<int>(emulator::current().lane()) % Width;
    for (int step = 1; step < Width; step *= 2) {
      T below = __shfl_up_sync(detail::lanes_of_warp(Width), value, step, Width);
      if (lane >= step) value = operation(below, value);
    }
    result = value;
  }
  template <class Operation>
  void ExclusiveScan(T value, T& result, T initial, Operation operation) {
    T inclusive;
    InclusiveScan(value, inclusive, operation);
    T below = __shfl_up_sync(detail::lanes_of_warp(Width), inclusive, 1, Width);
    result = emulator::current().lane() % Width == 0 ? initial : operation(initial, below);
  }
  void InclusiveSum(T value, T& result) { InclusiveScan(value, result, cub::Sum()); }
  void ExclusiveSum(T value, T& result) { ExclusiveScan(value, result, T(0), cub::Sum()); }
  void InclusiveSum(T value, T& result, T& total) {
    InclusiveSum(value, result);
    total = __shfl_sync(detail::lanes_of_warp(Width), result, Width - 1, Width);
  }
  void ExclusiveSum(T value, T& result, T& total) {
    T inclusive;
    InclusiveSum(value, inclusive);
    total = __shfl_sync(detail::lanes_of_warp(Width), inclusive, Width - 1, Width);
    result = inclusive - value;
  }
};

}  // namespace cub
