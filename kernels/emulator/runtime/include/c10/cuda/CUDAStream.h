// A stand-in for PyTorch's streams: work is done at once.
#pragma once

#include <c10/core/Device.h>

#include "cuda_runtime.h"

#define C10_CUDA_CHECK(call) \
  do { if ((call) != cudaSuccess) throw std::runtime_error(#call " failed"); } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)

namespace c10 {
namespace cuda {

class CUDAStream {
 public:
  cudaStream_t stream() const { return nullptr; }
  operator cudaStream_t() const { return nullptr; }
  c10::DeviceIndex device_index() const { return 0; }
  void synchronize() const {}
};
inline CUDAStream getCurrentCUDAStream(c10::DeviceIndex = -1) { return {}; }
inline CUDAStream getDefaultCUDAStream(c10::DeviceIndex = -1) { return {}; }
inline c10::DeviceIndex current_device() { return 0; }

class CUDAGuard {
 public:
  explicit CUDAGuard(c10::Device) {}
  explicit CUDAGuard(c10::DeviceIndex) {}
};
class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  template <class Device> explicit OptionalCUDAGuard(Device) {}
};
class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(CUDAStream) {}
};

}  // namespace cuda
}  // namespace c10

namespace at {
namespace cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::CUDAStream;
using c10::cuda::CUDAStreamGuard;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::OptionalCUDAGuard;
inline cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp properties;
  return &properties;
}
inline cudaDeviceProp* getDeviceProperties(c10::DeviceIndex) { return getCurrentDeviceProperties(); }
inline int warp_size() { return 32; }
}  // namespace cuda
}  // namespace at
