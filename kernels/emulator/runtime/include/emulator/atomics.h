// CUDA's atomic functions. Threads never run at the same time, so that each is a plain update.
#pragma once

#include <type_traits>

#include "emulator/grid.h"

namespace emulator {

// A thread may wait for another by asking an atomic again and again: now and then others run.
inline void count_atomic() {
  static unsigned calls = 0;
  unsigned period = schedule().seed > 1 ? 3 : 64;
  if (++calls % period == 0 && running_thread != nullptr) let_others_run();
}

template <class T>
using Same = std::common_type_t<T>;

template <class T, class Update>
T update(T* address, Update update) {
  count_atomic();
  T old = *address;
  *address = update(old);
  return old;
}

template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

}  // namespace emulator

#define EMULATOR_ATOMIC(NAME, EXPRESSION)                                                  \
  template <class T>                                                                       \
  T NAME(T* address, emulator::Same<T> value) {                                            \
    return emulator::update(address, [=](T old) -> T { return EXPRESSION; });              \
  }                                                                                        \
  template <class T>                                                                       \
  T NAME##_block(T* address, emulator::Same<T> value) { return NAME(address, value); }     \
  template <class T>                                                                       \
  T NAME##_system(T* address, emulator::Same<T> value) { return NAME(address, value); }

EMULATOR_ATOMIC(atomicAdd, emulator::wrapping_add(old, value))
EMULATOR_ATOMIC(atomicSub, emulator::wrapping_add<T>(old, static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(value))))
EMULATOR_ATOMIC(atomicMin, value < old ? value : old)
EMULATOR_ATOMIC(atomicMax, old < value ? value : old)
EMULATOR_ATOMIC(atomicExch, value)
EMULATOR_ATOMIC(atomicAnd, old & value)
EMULATOR_ATOMIC(atomicOr, old | value)
EMULATOR_ATOMIC(atomicXor, old ^ value)
// Count up to `value` and begin again; count down from it.
EMULATOR_ATOMIC(atomicInc, old >= value ? T(0) : T(old + 1))
EMULATOR_ATOMIC(atomicDec, old == 0 || old > value ? value : T(old - 1))
#undef EMULATOR_ATOMIC

template <class T>
T atomicCAS(T* address, emulator::Same<T> expected, emulator::Same<T> value) {
  return emulator::update(address, [=](T old) -> T { return old == expected ? value : old; });
}
template <class T>
T atomicCAS_block(T* address, emulator::Same<T> expected, emulator::Same<T> value) {
  return atomicCAS(address, expected, value);
}
template <class T>
T atomicCAS_system(T* address, emulator::Same<T> expected, emulator::Same<T> value) {
  return atomicCAS(address, expected, value);
}
