// NVIDIA's management library for programs that open it by its name, which this library has too:
// one device. Python packages ask it whether there is a GPU before they import their kernels.
#include <cstring>

#include "nvml.h"

namespace {
constexpr int kSuccess = NVML_SUCCESS;
constexpr int kNotFound = NVML_ERROR_NOT_FOUND;
const cudaDeviceProp kProperties;
// What a handle points to does not matter, but it is not null.
int device;
struct Memory {
  unsigned long long total, free, used;
};
}  // namespace

#define EXPORTED(name, ...) extern "C" int emulated_##name(__VA_ARGS__) __asm__(#name); \
  extern "C" int emulated_##name(__VA_ARGS__)

EXPORTED(nvmlInitWithFlags, unsigned) { return kSuccess; }
EXPORTED(nvmlShutdown, void) { return kSuccess; }
EXPORTED(nvmlDeviceGetCount_v2, unsigned* count) {
  *count = 1;
  return kSuccess;
}
EXPORTED(nvmlDeviceGetHandleByIndex_v2, unsigned index, void** handle) {
  *handle = &device;
  return index == 0 ? kSuccess : kNotFound;
}
EXPORTED(nvmlDeviceGetName, void*, char* name, unsigned length) {
  std::strncpy(name, kProperties.name, length);
  return kSuccess;
}
EXPORTED(nvmlDeviceGetUUID, void*, char* name, unsigned length) {
  std::strncpy(name, "GPU-emulated", length);
  return kSuccess;
}
EXPORTED(nvmlDeviceGetCudaComputeCapability, void*, int* major, int* minor) {
  *major = kProperties.major;
  *minor = kProperties.minor;
  return kSuccess;
}
EXPORTED(nvmlDeviceGetMemoryInfo, void*, Memory* memory) {
  *memory = {kProperties.totalGlobalMem, kProperties.totalGlobalMem, 0};
  return kSuccess;
}
