// Where tensors lie, and what their device is asked for. `tests/device/on_gpu` has the same names for
// a real one.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "cuda_runtime.h"
#include "emulator/asan.h"

namespace emulator {

// What is written beside a tensor does not end the process, but where ASan shall see its ends.
#ifdef EMULATOR_ASAN
constexpr size_t kRoom = 0;
#else
constexpr size_t kRoom = 1 << 16;
#endif

// Launches have ended when they return.
inline void wait_for_device() {}

inline int multiprocessors() { return cudaDeviceProp().multiProcessorCount; }

// Memory between two guards, poisoned: a read before the first write is no zero by luck.
inline std::shared_ptr<unsigned char> fresh_memory(size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, bytes + 2 * kRoom) != 0) throw std::bad_alloc();
  std::memset(memory, schedule().poison(), bytes + 2 * kRoom);
  return {static_cast<unsigned char*>(memory) + kRoom, [](unsigned char* start) { std::free(start - kRoom); }};
}

}  // namespace emulator
