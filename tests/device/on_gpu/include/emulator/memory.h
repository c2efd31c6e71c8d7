// Tensors lie in memory that a GPU and its host both see.
#pragma once

#include "emulator/grid.h"

namespace emulator {

constexpr size_t kRoom = 1 << 16;

inline void wait_for_device() {
  cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

inline int multiprocessors() {
  int count = 0;
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
  return count;
}

inline std::shared_ptr<unsigned char> fresh_memory(size_t bytes) {
  void* memory = nullptr;
  if (cudaMallocManaged(&memory, bytes + 2 * kRoom) != cudaSuccess) throw std::bad_alloc();
  cudaDeviceSynchronize();
  std::memset(memory, schedule().poison(), bytes + 2 * kRoom);
  return {static_cast<unsigned char*>(memory) + kRoom, [](unsigned char* start) {
            cudaDeviceSynchronize();
            cudaFree(start - kRoom);
          }};
}

}  // namespace emulator
